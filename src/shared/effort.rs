//! Cost of a client worker: the part of its time that went into the harness and not into what is
//! measured.
//!
//! In mode libpq the worker is nothing but harness: its cost is its CPU time, system calls
//! included. In mode spi the worker is the server as well, so that a CPU clock cannot tell them
//! apart. There one turn of the client in [`SAMPLED`] is timed, as a whole and within the session,
//! where statements are executed and committed; the difference is the harness's: choosing scripts,
//! evaluating expressions, drawing random numbers, recording. All the others pass without a clock
//! reading of their own, so that measuring costs one or two thousandths of a select-only
//! transaction.

use super::seqlock::WordsOnce;
use crate::clock;
use selfbench_stats::{ProcessTimes, TurnParts};
use std::sync::atomic::{AtomicU64, Ordering::*};

/// One of that many turns of an SPI client is timed. A power of two; scripts are chosen at random
/// and take one turn each, so that no script is preferred.
pub const SAMPLED: u64 = 8;

/// A worker's account, written once by the worker when its clients have ended.
#[repr(C)]
pub struct Account {
    harness_ns: AtomicU64,
    of_ns: AtomicU64,
    turns: AtomicU64,
    parts: WordsOnce<{ TurnParts::WORDS }>,
    times_at_end: WordsOnce<{ ProcessTimes::WORDS }>,
}

impl Account {
    /// Publishes what the worker has timed in some of its transactions.
    pub fn set_parts(&self, parts: TurnParts) {
        self.parts.set(parts.to_words());
    }

    /// Times of some of the worker's transactions.
    pub fn parts(&self) -> Option<TurnParts> {
        self.parts.get().map(TurnParts::from_words)
    }

    /// Publishes the times of the worker's process.
    pub fn set_times_at_end(&self, times: ProcessTimes) {
        self.times_at_end.set(times.to_words());
    }

    /// The times of the worker's process, as read when its clients had ended.
    pub fn times_at_end(&self) -> Option<ProcessTimes> {
        self.times_at_end.get().map(ProcessTimes::from_words)
    }

    /// Publishes what the worker has found.
    pub fn set(&self, effort: Effort) {
        self.harness_ns.store(effort.harness_ns, Relaxed);
        self.turns.store(effort.turns, Relaxed);
        self.of_ns.store(effort.of_ns, Release);
    }

    /// The worker's cost; `None` if the worker did not get that far or had nothing to measure.
    pub fn get(&self) -> Option<Effort> {
        let of_ns = self.of_ns.load(Acquire);
        (of_ns > 0).then(|| Effort {
            harness_ns: self.harness_ns.load(Relaxed),
            of_ns,
            turns: self.turns.load(Relaxed),
        })
    }
}

/// Cost of the harness, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Time of the harness: CPU time in mode libpq, time outside of the session in mode spi.
    pub harness_ns: u64,
    /// Time that this is a part of: the time from the start barrier until the clients had ended in
    /// mode libpq, that of the turns that were timed in mode spi.
    pub of_ns: u64,
    /// Transactions that ended in the turns that were timed; 0 in mode libpq, where all time is.
    pub turns: u64,
}

impl Effort {
    /// Adds a turn of a client, and how much of it was spent in the session; `ends` tells whether
    /// a transaction ended with it.
    pub fn add(&mut self, turn_ns: u64, session_ns: u64, ends: bool) {
        self.harness_ns += turn_ns.saturating_sub(session_ns);
        self.of_ns += turn_ns;
        self.turns += u64::from(ends);
    }

    /// The sum of two accounts.
    pub fn plus(self, other: Effort) -> Effort {
        Effort {
            harness_ns: self.harness_ns + other.harness_ns,
            of_ns: self.of_ns + other.of_ns,
            turns: self.turns + other.turns,
        }
    }
}

/// Measures a libpq client worker.
pub struct Stopwatch {
    began_ns: u64,
    cpu_ns: u64,
}

impl Stopwatch {
    /// Starts it.
    pub fn start() -> Stopwatch {
        Stopwatch {
            began_ns: clock::now_ns(),
            cpu_ns: clock::cpu_ns(),
        }
    }

    /// Returns the cost of this process since the start.
    pub fn stop(self) -> Effort {
        Effort {
            harness_ns: clock::cpu_ns().saturating_sub(self.cpu_ns),
            of_ns: clock::now_ns().saturating_sub(self.began_ns),
            turns: 0,
        }
    }
}
