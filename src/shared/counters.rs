//! What a client's slot has: its head, and its figures by script and by command; and the figures of
//! the interval that ended last.

use super::once_text::OnceText;
use super::slots::REASON_BYTES;
use selfbench_client::Usage;
use selfbench_stats::{Moments, Tally};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*, fence};

/// A reader gives up on a consistent copy after that many tries and takes what it has; a writer
/// that was interrupted in the middle must not hang its readers.
const READ_ATTEMPTS: usize = 10_000;

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClientState {
    /// Has not ended.
    Active = 0,
    /// Did all its work.
    Finished = 1,
    /// Gave up; the reason is beside it.
    Aborted = 2,
}

/// Head of a client's slot.
#[repr(C, align(128))]
pub struct ClientHead {
    pub(super) sequence: AtomicU32,
    pub(super) state: AtomicU32,
    pub(super) backend_pid: AtomicI32,
    pub(super) finished_ns: AtomicU64,
    pub(super) warmup_transactions: AtomicU64,
    pub(super) connection_ns: AtomicU64,
    pub(super) interval_min_ns: AtomicU64,
    pub(super) interval_max_ns: AtomicU64,
    pub(super) blocks_hit: AtomicU64,
    pub(super) blocks_read: AtomicU64,
    pub(super) wal_bytes: AtomicU64,
    pub(super) usage_begins: UsageCell,
    pub(super) usage_ends: UsageCell,
    pub(super) reason: OnceText<REASON_BYTES>,
}

/// What a client's session had used at some moment, written once.
#[repr(C)]
pub(super) struct UsageCell {
    is_set: AtomicU32,
    words: [AtomicU64; Usage::WORDS],
}

impl UsageCell {
    pub(super) fn set(&self, usage: &Usage) {
        for (word, value) in self.words.iter().zip(usage.to_words()) {
            word.store(value, Relaxed);
        }
        self.is_set.store(1, Release);
    }

    pub(super) fn get(&self) -> Option<Usage> {
        let is_set = self.is_set.load(Acquire) != 0;
        is_set.then(|| Usage::from_words(std::array::from_fn(|i| self.words[i].load(Relaxed))))
    }
}

impl ClientHead {
    /// Where the client stands.
    pub fn state(&self) -> ClientState {
        match self.state.load(Acquire) {
            0 => ClientState::Active,
            1 => ClientState::Finished,
            _ => ClientState::Aborted,
        }
    }

    /// Ends the client; `reason` tells why it was aborted.
    pub fn end(&self, now_ns: u64, reason: Option<&str>) {
        if self.state() != ClientState::Active {
            return;
        }
        self.finished_ns.store(now_ns, Relaxed);
        if let Some(reason) = reason {
            self.reason.set(reason);
        }
        let state = if reason.is_some() {
            ClientState::Aborted
        } else {
            ClientState::Finished
        };
        self.state.store(state as u32, Release);
    }

    /// Makes the process known that serves the client's connection; 0 is none.
    pub fn set_backend_pid(&self, pid: i32) {
        self.backend_pid.store(pid, Relaxed);
    }

    /// Process id of the server's process that serves the client's connection, on the server that
    /// this leads to; 0 if none is known.
    pub fn backend_pid(&self) -> i32 {
        self.backend_pid.load(Relaxed)
    }

    /// Clock reading at which the client ended; 0 before.
    pub fn finished_ns(&self) -> u64 {
        self.finished_ns.load(Relaxed)
    }

    /// Transactions that ended during the warm-up.
    pub fn warmup_transactions(&self) -> u64 {
        self.warmup_transactions.load(Relaxed)
    }

    /// Time that it took to connect for the transactions that count, all together.
    pub fn connection_ns(&self) -> u64 {
        self.connection_ns.load(Relaxed)
    }

    /// Blocks hit, blocks read, and bytes of WAL for the transactions that count, so far; only of
    /// clients that record it.
    pub fn blocks_so_far(&self) -> [u64; 3] {
        [&self.blocks_hit, &self.blocks_read, &self.wal_bytes].map(|words| words.load(Relaxed))
    }

    /// What the client's session has used for the transactions that count; `None` if it did not
    /// tell at both ends.
    pub fn usage(&self) -> Option<Usage> {
        Some(self.usage_ends.get()?.since(&self.usage_begins.get()?))
    }

    /// Why the client was aborted.
    pub fn reason(&self) -> Option<String> {
        self.reason.get()
    }

    /// Shortest and longest latency since the last call, in nanoseconds; `None` if there was no
    /// transaction. For the coordinator alone.
    pub fn take_interval_extremes(&self) -> Option<(u64, u64)> {
        // The shortest is stored with one added, so that zeroed memory means none.
        let min = self.interval_min_ns.swap(0, Relaxed);
        let max = self.interval_max_ns.swap(0, Relaxed);
        (min != 0).then(|| (min - 1, max.max(min - 1)))
    }

    #[inline]
    pub(super) fn note_extremes(&self, latency_ns: u64) {
        let min = self.interval_min_ns.load(Relaxed);
        if min == 0 || latency_ns < min - 1 {
            self.interval_min_ns.store(latency_ns + 1, Relaxed);
        }
        if latency_ns > self.interval_max_ns.load(Relaxed) {
            self.interval_max_ns.store(latency_ns, Relaxed);
        }
    }
}

/// The figures of the interval that ended last; the coordinator alone writes them.
#[repr(C)]
pub struct LastInterval {
    pub(super) sequence: AtomicU32,
    tps: AtomicU64,
    latency_avg_ms: AtomicU64,
}

/// Figures of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalFigures {
    /// Transactions per second.
    pub tps: f64,
    /// Mean latency in milliseconds, if there was a transaction.
    pub latency_avg_ms: Option<f64>,
}

impl LastInterval {
    /// Replaces the figures.
    pub fn set(&self, figures: &IntervalFigures) {
        write(&self.sequence, || {
            let latency = figures.latency_avg_ms.unwrap_or(f64::NAN);
            self.tps.store(figures.tps.to_bits(), Relaxed);
            self.latency_avg_ms.store(latency.to_bits(), Relaxed);
        });
    }

    /// The figures; `None` before the first interval has ended.
    pub fn get(&self) -> Option<IntervalFigures> {
        let mut figures = None;
        read(&self.sequence, || {
            let latency = f64::from_bits(self.latency_avg_ms.load(Relaxed));
            figures = Some(IntervalFigures {
                tps: f64::from_bits(self.tps.load(Relaxed)),
                latency_avg_ms: (!latency.is_nan()).then_some(latency),
            });
        });
        figures.filter(|_| self.sequence.load(Relaxed) != 0)
    }
}

/// Brackets the stores of the one writer.
#[inline]
pub(super) fn write(sequence: &AtomicU32, stores: impl FnOnce()) {
    let number = sequence.load(Relaxed);
    sequence.store(number.wrapping_add(1), Relaxed);
    fence(Release);
    stores();
    sequence.store(number.wrapping_add(2), Release);
}

/// Repeats `loads` until what they see belongs together; see [`READ_ATTEMPTS`].
pub(super) fn read(sequence: &AtomicU32, mut loads: impl FnMut()) {
    for _ in 0..READ_ATTEMPTS {
        let before = sequence.load(Acquire);
        loads();
        fence(Acquire);
        if before.is_multiple_of(2) && sequence.load(Relaxed) == before {
            return;
        }
        std::hint::spin_loop();
    }
}

/// One client's figures for one script: the words of a [`Tally`].
#[repr(C)]
pub struct ScriptCounters {
    pub(super) transactions: AtomicU64,
    pub(super) serialization: AtomicU64,
    pub(super) deadlock: AtomicU64,
    pub(super) other: AtomicU64,
    pub(super) retried: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) latency: [AtomicU64; Moments::WORDS],
    pub(super) lag: [AtomicU64; Moments::WORDS],
    pub(super) sleep_ns: AtomicU64,
}

impl ScriptCounters {
    pub(super) fn read(&self) -> Tally {
        let mut tally = Tally {
            transactions: self.transactions.load(Relaxed),
            retried: self.retried.load(Relaxed),
            retries: self.retries.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            late: self.late.load(Relaxed),
            latency: read_moments(&self.latency),
            lag: read_moments(&self.lag),
            sleep_ns: self.sleep_ns.load(Relaxed),
            ..Tally::default()
        };
        tally.failed.serialization = self.serialization.load(Relaxed);
        tally.failed.deadlock = self.deadlock.load(Relaxed);
        tally.failed.other = self.other.load(Relaxed);
        tally
    }
}

/// One client's figures for one command of a script.
///
/// They are read when the client has ended, and need no bracket.
#[repr(C)]
pub struct CommandCounters {
    pub(super) latency: [AtomicU64; Moments::WORDS],
    pub(super) failures: AtomicU64,
    pub(super) retries: AtomicU64,
}

/// The figures of one command, of all clients together.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandTally {
    /// How long it took, whenever it was successful.
    pub latency: Moments,
    /// Transactions that failed for good at this command.
    pub failures: u64,
    /// Transactions that were tried again after it failed.
    pub retries: u64,
}

pub(super) fn read_moments(words: &[AtomicU64; Moments::WORDS]) -> Moments {
    Moments::from_words(std::array::from_fn(|i| words[i].load(Relaxed)))
}
