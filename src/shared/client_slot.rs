//! A client's slot in shared memory: what the client writes, and other processes read.

use super::once_text::OnceText;
use super::seqlock::{Sequence, SharedWords, WordsOnce};
use super::slots::REASON_BYTES;
use selfbench_stats::{CommandTally, ProcessTimes, Tally, Usage};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};

/// One client's figures for one script, in the bracket of its slot's sequence.
pub type ScriptCounters = SharedWords<{ Tally::WORDS }>;

/// One client's figures for one command of a script. They are read when the client has ended, and
/// need no bracket.
pub type CommandCounters = SharedWords<{ CommandTally::WORDS }>;

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClientState {
    /// Has not ended.
    Active = 0,
    /// Did all its work.
    Finished = 1,
    /// Aborted; the slot has the reason.
    Aborted = 2,
}

/// Bits of a position for the number of commands, and the largest one.
const COUNTER_BITS: u32 = 24;
const COUNTER: u64 = (1 << COUNTER_BITS) - 1;

/// Bytes kept of the message of a client's first statement that failed.
const FAILURE_BYTES: usize = 256;

/// A client's slot. Its counters follow it in memory.
#[repr(C, align(128))]
pub struct ClientSlot {
    /// Brackets writes of the counters.
    pub(super) sequence: Sequence,
    state: AtomicU32,
    backend_pid: AtomicI32,
    /// See [`ClientSlot::position`]: script and command, each from 0 in 16 and 24 bits, the script plus 1
    /// or 0 if there is none; in the lowest bits the number of commands reached so far.
    position: AtomicU64,
    finished_ns: AtomicU64,
    warmup_transactions: AtomicU64,
    warmup_latency_ns: AtomicU64,
    connection_ns: AtomicU64,
    early_ns: AtomicU64,
    unfinished_ns: AtomicU64,
    interval_min_ns: AtomicU64,
    interval_max_ns: AtomicU64,
    interval_lag_max_ns: AtomicU64,
    blocks_hit: AtomicU64,
    blocks_read: AtomicU64,
    wal_bytes: AtomicU64,
    usage_begins: WordsOnce<{ Usage::WORDS }>,
    usage_ends: WordsOnce<{ Usage::WORDS }>,
    times_at_end: WordsOnce<{ ProcessTimes::WORDS }>,
    reason: OnceText<REASON_BYTES>,
    first_failure: OnceText<FAILURE_BYTES>,
}

impl ClientSlot {
    /// Returns the state of the client.
    pub fn state(&self) -> ClientState {
        match self.state.load(Acquire) {
            0 => ClientState::Active,
            1 => ClientState::Finished,
            _ => ClientState::Aborted,
        }
    }

    /// Ends the client; `unfinished_ns` is how much of the measured time its last transaction took if
    /// that has not ended, `reason` tells why it was aborted.
    pub fn end(&self, now_ns: u64, unfinished_ns: u64, reason: Option<&str>) {
        if self.state() != ClientState::Active {
            return;
        }
        self.unfinished_ns.store(unfinished_ns, Relaxed);
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

    /// Sets the process that serves the client; 0 is none.
    pub fn set_backend_pid(&self, pid: i32) {
        self.backend_pid.store(pid, Relaxed);
    }

    /// Process ID of the process that executes the client's statements: the client's own in mode
    /// spi, the one behind its connection in mode libpq, which may be on another server. 0 while
    /// there is none, as between two connections. It is known when the start barrier opens, unless
    /// each transaction has its own connection.
    pub fn backend_pid(&self) -> i32 {
        self.backend_pid.load(Relaxed)
    }

    /// The script and the command of it that the client executes, both from 0; `None` if it waits for
    /// the scheduled start of a transaction, or for that of the run.
    pub fn position(&self) -> Option<(u32, u32)> {
        let position = self.position.load(Relaxed);
        let script = ((position >> 48) as u32).checked_sub(1)?;
        Some((script, (position >> COUNTER_BITS) as u32 & COUNTER as u32))
    }

    /// A number that changes with each command that the client executes.
    pub fn execution(&self) -> u64 {
        self.position.load(Relaxed)
    }

    /// Clock reading at which the client ended; 0 before.
    pub fn finished_ns(&self) -> u64 {
        self.finished_ns.load(Relaxed)
    }

    /// Transactions that ended during the warm-up.
    pub fn warmup_transactions(&self) -> u64 {
        self.warmup_transactions.load(Relaxed)
    }

    /// The sum of their latencies.
    pub fn warmup_latency_ns(&self) -> u64 {
        self.warmup_latency_ns.load(Relaxed)
    }

    /// Time that it took to connect for the transactions that count, all together.
    pub fn connection_ns(&self) -> u64 {
        self.connection_ns.load(Relaxed)
    }

    /// Time of the first transaction that counts before the measured time.
    pub fn early_ns(&self) -> u64 {
        self.early_ns.load(Relaxed)
    }

    /// Time of the transaction that the end of the client has interrupted, within the measured time.
    pub fn unfinished_ns(&self) -> u64 {
        self.unfinished_ns.load(Relaxed)
    }

    /// Blocks hit, blocks read, and bytes of WAL for the transactions that count, so far; only of
    /// clients that record it.
    pub fn blocks_so_far(&self) -> [u64; 3] {
        [&self.blocks_hit, &self.blocks_read, &self.wal_bytes].map(|words| words.load(Relaxed))
    }

    /// Returns the session's usage for the transactions that count; `None` if it was not read both
    /// before and after them.
    pub fn usage(&self) -> Option<Usage> {
        let [begins, ends] = [&self.usage_begins, &self.usage_ends].map(WordsOnce::get);
        Some(Usage::from_words(ends?).minus(&Usage::from_words(begins?)))
    }

    /// The times of the process that served the client, as read when the client ended.
    pub fn times_at_end(&self) -> Option<ProcessTimes> {
        self.times_at_end.get().map(ProcessTimes::from_words)
    }

    /// Stores the times of the process that served the client, which has ended.
    pub fn set_times_at_end(&self, times: ProcessTimes) {
        self.times_at_end.set(times.to_words());
    }

    /// Why the client was aborted.
    pub fn reason(&self) -> Option<String> {
        self.reason.get()
    }

    /// The message of its first statement that failed without aborting it.
    pub fn first_failure(&self) -> Option<String> {
        self.first_failure.get()
    }

    /// Keeps the message of a statement that failed, if it is the first one.
    pub(super) fn statement_failed(&self, message: &str) {
        self.first_failure.set(message);
    }

    /// Shortest and longest latency since the last call, in nanoseconds; `None` if there was no
    /// transaction. For the coordinator alone.
    pub fn take_interval_extremes(&self) -> Option<(u64, u64)> {
        // The shortest is stored with one added, so that zeroed memory means none.
        let min = self.interval_min_ns.swap(0, Relaxed);
        let max = self.interval_max_ns.swap(0, Relaxed);
        (min != 0).then(|| (min - 1, max.max(min - 1)))
    }

    /// Longest lag since the last call, in nanoseconds. For the coordinator alone.
    pub fn take_interval_lag_max(&self) -> u64 {
        self.interval_lag_max_ns.swap(0, Relaxed)
    }

    /// Counts a lag among those of the interval.
    #[inline]
    pub(super) fn note_lag(&self, lag_ns: u64) {
        if lag_ns > self.interval_lag_max_ns.load(Relaxed) {
            self.interval_lag_max_ns.store(lag_ns, Relaxed);
        }
    }

    /// Counts a latency among those of the interval.
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

    /// Returns the session's usage before the transactions that count, once it has been read.
    pub(super) fn used_before(&self) -> Option<Usage> {
        self.usage_begins.get().map(Usage::from_words)
    }

    /// Stores what the session had used before the transactions that count.
    pub(super) fn set_usage_begins(&self, usage: &Usage) {
        self.usage_begins.set(usage.to_words());
    }

    /// Stores what it had used at the end.
    pub(super) fn set_usage_ends(&self, usage: &Usage) {
        self.usage_ends.set(usage.to_words());
    }

    /// Stores what the session has used so far for the transactions that count.
    #[inline]
    pub(super) fn used_blocks(&self, hit: u64, read: u64, wal_bytes: u64) {
        self.blocks_hit.store(hit, Relaxed);
        self.blocks_read.store(read, Relaxed);
        self.wal_bytes.store(wal_bytes, Relaxed);
    }

    /// Sets the script and command that the client executes.
    #[inline]
    pub(super) fn reached(&self, script: usize, command: usize) {
        let next = (self.position.load(Relaxed) + 1) & COUNTER;
        let position = (script as u64 + 1) << 48 | (command as u64) << COUNTER_BITS | next;
        self.position.store(position, Relaxed);
    }

    /// The client executes nothing.
    pub(super) fn left(&self) {
        self.position
            .store(self.position.load(Relaxed) & COUNTER, Relaxed);
    }

    /// The first transaction that counts began so long before the measured time.
    pub(super) fn began_early(&self, early_ns: u64) {
        self.early_ns.store(early_ns, Relaxed);
    }

    /// Counts a transaction that ended during the warm-up with that latency.
    pub(super) fn warmed_up(&self, latency_ns: u64) {
        add(&self.warmup_transactions, 1);
        add(&self.warmup_latency_ns, latency_ns);
    }

    /// Adds the time that a connection took.
    pub(super) fn connected(&self, duration_ns: u64) {
        add(&self.connection_ns, duration_ns);
    }
}

/// Adds to a counter that only this process writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}
