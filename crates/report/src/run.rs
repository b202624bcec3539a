//! What there is to report about one run.

use crate::pgio::PgioReport;
use selfbench_model::{Mode, Setting};
use selfbench_stats::{Tally, summary};

/// What a run is to end after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of transactions.
    Transactions {
        /// Transactions of each client, of whatever outcome.
        per_client: i64,
    },
    /// A time.
    Duration {
        /// Seconds from the start barrier on, warm-up excluded.
        seconds: f64,
    },
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunState {
    /// Still going on; the figures are those up to now.
    Running,
    /// Ended by its limit.
    Finished,
    /// Ended by someone's request.
    Canceled,
    /// Ended by an error.
    Failed,
}

/// One statement or meta command of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementReport {
    /// The first line of a statement, or a whole meta command, cut to what is to be shown.
    pub text: String,
    /// Average time in milliseconds of the executions that completed, 0 if there are none.
    pub latency_ms: f64,
    /// Failed transactions that failed here.
    pub failures: u64,
    /// Tries that were repeated because of an error here.
    pub retries: u64,
}

/// One script of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptReport {
    /// Name under which the script was asked for.
    pub name: String,
    /// Description, pgbench's "transaction type", such as `<builtin: select only>`.
    pub description: String,
    /// Weight in the choice among the run's scripts.
    pub weight: i64,
    /// Counters of this script alone.
    pub tally: Tally,
    /// Percentiles of this script's latency: percent and milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Figures of its commands in their order; empty unless asked for.
    pub statements: Vec<StatementReport>,
}

/// Everything that a report of a run says.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Number under which the run is stored, `None` if it is not.
    pub run_id: Option<i64>,
    /// The caller's name for the run.
    pub label: Option<String>,
    /// How far the run has come.
    pub state: RunState,
    /// Version of the extension.
    pub extension_version: String,
    /// Version of the server in its own words, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub server_version: String,
    /// Version of the server as a number, such as 150018. The layout is that of the pgbench of
    /// this major version.
    pub server_version_num: i32,
    /// Which way the transactions took.
    pub mode: Mode,
    /// Host, port, database and user of the server that clients connected to, `None` if it was the
    /// one that made the report.
    pub target: Option<String>,
    /// How statements were submitted.
    pub protocol: String,
    /// The scripts in the order in which they were given.
    pub scripts: Vec<ScriptReport>,
    /// Scale factor.
    pub scale: i64,
    /// Partition method of `pgbench_accounts` (`range` or `hash`), `None` if not partitioned.
    pub partition_method: Option<String>,
    /// Number of partitions of `pgbench_accounts`, `None` if not partitioned.
    pub partitions: Option<i32>,
    /// Number of clients.
    pub clients: i32,
    /// Number of jobs, pgbench's threads: processes that drive the clients.
    pub jobs: i32,
    /// Tries of a transaction at most; 0 if only time limits them.
    pub max_tries: u32,
    /// What the run was to end after.
    pub limit: Limit,
    /// Scheduled transactions per second over all clients, `None` if not limited.
    pub rate_per_second: Option<f64>,
    /// Latency above which a transaction is late, in milliseconds.
    pub latency_limit_ms: Option<f64>,
    /// Whether clients connected anew for every transaction.
    pub reconnect: bool,
    /// Whether failures are to be told apart by kind.
    pub failures_detailed: bool,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The user's variables and their values, as the option `variables` gave them.
    pub variables: Vec<(String, String)>,
    /// The settings under which the run took place.
    pub settings: Vec<Setting>,
    /// Counters of the measured time, all scripts together.
    pub tally: Tally,
    /// Percentiles of the latency, all scripts together: percent and milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Measured time in seconds: from the start barrier, or the end of the warm-up, to the end of
    /// the last client. Rates refer to it.
    pub seconds: f64,
    /// Time in milliseconds that it took before the first transaction could start: from the start
    /// of the first worker until all clients were ready. With [`reconnect`](Self::reconnect) the
    /// average of one connection: time of all of them over successful and failed transactions.
    pub connection_time_ms: f64,
    /// What the harness itself cost per transaction, in microseconds, if that is known: CPU time
    /// of the client workers in mode `libpq`, time outside of executor and commit in mode `spi`.
    pub harness_us: Option<f64>,
    /// The same as a part of the time that the client workers had, 0 to 1.
    pub harness_share: Option<f64>,
    /// For how many seconds an old snapshot kept dead rows from being removed, and by whom it was
    /// held, if one was.
    pub snapshot_held: Option<(f64, String)>,
    /// Processors that the clients could use, if that is known.
    pub processors: Option<i32>,
    /// Other runs that were in progress on this server meanwhile, of all roles.
    pub other_runs: i32,
    /// Warm-up time in seconds before the measured time, 0 if there was none.
    pub warmup_seconds: f64,
    /// Transactions, successful or failed, that ended during the warm-up; no other counter has
    /// them.
    pub warmup_transactions: u64,
    /// Number of clients that an error ended before the run did.
    pub aborted_clients: i32,
    /// The errors that ended clients or the run, one message each.
    pub errors: Vec<String>,
    /// What there is to say of pgio's workload, if it was that.
    pub pgio: Option<PgioReport>,
}

impl RunReport {
    /// Successful transactions per second of measured time. Never to be shown without the mode.
    pub fn tps(&self) -> f64 {
        summary::tps(self.tally.transactions, self.seconds)
    }

    /// Major version of the server, such as 15.
    pub const fn server_major(&self) -> i32 {
        self.server_version_num / 10_000
    }

    /// What an old snapshot did to the run, if it was held for more than a tenth of it.
    pub fn held_snapshot(&self) -> Option<String> {
        let (held_s, by) = self.snapshot_held.as_ref()?;
        (*held_s > 0.1 * self.seconds).then(|| {
            format!(
                "a snapshot was held for {held_s:.1} s of {:.1} s: figures may be several times \
                 too low (held by {by})",
                self.seconds
            )
        })
    }

    /// Whether the run did all that it was asked for: it finished and no client was aborted.
    pub fn is_complete(&self) -> bool {
        self.state == RunState::Finished && self.aborted_clients == 0
    }
}
