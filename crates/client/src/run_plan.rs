//! The plan of a run, its threads, and how transactions end: types that clients and their drivers
//! share.

use crate::session::SqlError;
use selfbench_script::{Rng, ThreadStreams, ValueSets, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Data that all clients of a run share.
#[derive(Clone, Debug)]
pub struct RunPlan<'w> {
    /// The scripts.
    pub workload: &'w Workload,
    /// Number of transactions of each client; those of the warm-up do not count.
    pub transactions: Option<u64>,
    /// Transactions that end before this clock reading are part of the warm-up. It may change while
    /// clients run, from [`UNKNOWN_NS`] to a clock reading in the future.
    pub measure_ns: &'w AtomicU64,
    /// No transaction begins after this clock reading. It is stored before `measure_ns`.
    pub deadline_ns: &'w AtomicU64,
    /// Number of tries of a transaction; 0 means without limit.
    pub max_tries: u32,
    /// With a rate, the average time in µs between two scheduled starts of a schedule.
    pub throttle_us: Option<f64>,
    /// Number of scheduled starts that clients have taken, if all threads share a schedule; without it, each
    /// thread has its own.
    pub starts_taken: Option<&'w AtomicU64>,
    /// Latency above which a transaction is late, is not tried again and, with a rate, is not
    /// begun.
    pub latency_limit_ns: Option<u64>,
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
    /// Whether an error of a statement, other than the loss of the session, ends the transaction
    /// only.
    pub continue_on_error: bool,
    /// Whether the whole run is to end when a client is aborted.
    pub exit_on_abort: bool,
    /// Whether single commands are measured.
    pub per_statement: bool,
    /// Whether errors that do not abort the client are reported.
    pub verbose_errors: bool,
    /// Whether each step of each client is reported.
    pub debug: bool,
    /// Whether transactions are logged.
    pub log: bool,
    /// The part of the transactions that is logged, above 0 and at most 1; all of them, without a
    /// draw, if it is not given.
    pub sampling_rate: Option<f64>,
    /// Number of transactions of a client that share a block, which the client opens and commits;
    /// with 1, scripts open and commit blocks themselves.
    pub commit_every: u32,
    /// Whether each client reads what its session has used, when transactions begin to count and
    /// when it ends.
    pub usage: bool,
    /// Value of the variable `scale`.
    pub scale: i64,
    /// The base seed, value of the variable `random_seed`.
    pub random_seed: u64,
    /// Names and texts of the user's variables, which take precedence over the automatic ones.
    pub variables: &'w BTreeMap<String, String>,
    /// Rows of the value sets that scripts use.
    pub values: ValueSets<'w>,
}

/// A clock reading that is not known yet.
pub const UNKNOWN_NS: u64 = u64::MAX;

impl RunPlan<'_> {
    /// Whether transactions that end at that clock reading count.
    #[inline]
    pub fn measures(&self, now_ns: u64) -> bool {
        now_ns >= self.measure_ns.load(Relaxed)
    }

    /// Time from a transaction's begin to the time in which transactions count.
    pub(crate) fn early_ns(&self, begin_ns: u64) -> u64 {
        self.measure_ns.load(Relaxed).saturating_sub(begin_ns)
    }

    /// No transaction begins after this clock reading.
    #[inline]
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns.load(Relaxed)
    }

    /// Whether it is not known yet when the warm-up ends. If it is known, the deadline is.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.measure_ns.load(Acquire) == UNKNOWN_NS
    }

    /// The average time in µs between two scheduled starts of a schedule, for a `rate` of
    /// transactions per second over that many schedules.
    pub fn throttle_us(rate: f64, schedules: usize) -> f64 {
        1e6 / rate * schedules as f64
    }
}

/// Data that the clients of one thread share: its streams and its schedule, or its copy of the run's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thread {
    /// Chooses the script of each transaction.
    pub choice: Rng,
    throttle: Rng,
    sampling: Rng,
    /// The latest scheduled start, and how many there were up to it.
    trigger_ns: u64,
    starts: u64,
}

impl Thread {
    /// A thread whose schedule begins at `start_ns`, the clock reading of the run's start, with the stream
    /// `throttle`: its own, or the one of a schedule that all threads share.
    pub fn new(streams: &ThreadStreams, throttle: Rng, start_ns: u64) -> Self {
        Self {
            choice: streams.choice,
            throttle,
            sampling: streams.sampling,
            trigger_ns: start_ns,
            starts: 0,
        }
    }

    /// The scheduled start of the next transaction: arrivals of a Poisson process that are
    /// `plan.throttle_us` µs apart on average. Takes one output of the throttle stream for each start up to
    /// it, those that clients of other threads have taken included.
    pub(crate) fn next_start_ns(&mut self, plan: &RunPlan<'_>) -> u64 {
        let center_us = plan.throttle_us.unwrap_or_default();
        let next = match plan.starts_taken {
            Some(taken) => taken.fetch_add(1, Relaxed) + 1,
            None => self.starts + 1,
        };
        while self.starts < next {
            // A delay that does not fit into 64 bits is negative here; it never ends.
            let delay_us =
                u64::try_from(self.throttle.poisson_delay_us(center_us)).unwrap_or(u64::MAX);
            self.trigger_ns = self
                .trigger_ns
                .saturating_add(delay_us.saturating_mul(1000));
            self.starts += 1;
        }
        self.trigger_ns
    }

    /// Whether the next transaction is part of a sample of that rate. Takes one output of the
    /// thread's sampling stream.
    pub(crate) fn samples(&mut self, rate: f64) -> bool {
        self.sampling.unit() <= rate
    }
}

/// A successful transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// From its scheduled start, or its beginning if there is no schedule, to its end, with all
    /// tries.
    pub latency_ns: u64,
    /// From its scheduled start to its beginning, if there is a schedule.
    pub lag_ns: Option<u64>,
    /// Time in `\sleep`, which is part of the latency.
    pub sleep_ns: u64,
    /// Time in `\shell` and `\setshell`, which is, too.
    pub shell_ns: u64,
    /// Tries beyond the first.
    pub retries: u32,
    /// Whether its latency is above the limit, if there is one.
    pub late: bool,
    /// Whether its script rolled it back on purpose.
    pub rolled_back: bool,
    /// Whether its latency without `\sleep` is above the limit of its script, if that has one.
    pub above_limit: bool,
}

/// An entry of the log of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Number of the client.
    pub client: usize,
    /// The client's count of transactions, this one included; it starts from 1.
    pub count: u64,
    /// Index of the script.
    pub script: usize,
    /// Clock reading when the transaction ended, or was skipped.
    pub at_ns: u64,
    /// Outcome.
    pub ending: Ending,
}

/// Outcome of a transaction, or the reason why there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Successfully.
    Success(Transaction),
    /// With a failure, after that many retries.
    Failure {
        /// Why.
        failure: Failure,
        /// Tries beyond the first.
        retries: u32,
    },
    /// The transaction was not started.
    Skipped,
}

/// Why a transaction failed without the client being aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
    /// Any other error of a statement, if the run goes on after those.
    Other,
}

impl Failure {
    /// The failure that may be repaired by another try; `None` for all other errors.
    pub(crate) fn retriable(error: &SqlError) -> Option<Failure> {
        match error.sqlstate.as_str() {
            _ if error.lost => None,
            "40001" => Some(Failure::Serialization),
            "40P01" => Some(Failure::Deadlock),
            _ => None,
        }
    }

    /// The failure that an error is under `plan`; `None` if it aborts the client.
    pub(crate) fn of(error: &SqlError, plan: &RunPlan<'_>) -> Option<Failure> {
        Failure::retriable(error)
            .or((plan.continue_on_error && !error.lost).then_some(Failure::Other))
    }
}
