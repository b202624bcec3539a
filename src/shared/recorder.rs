//! What a client writes after each transaction, and how others read it while it runs.
//!
//! Each client has one slot with one writer. The writer brackets its stores with a sequence
//! number that is odd while it writes; a reader that sees an odd or changed number reads again.
//! So a reader gets figures that belong together, and the writer never waits.

use super::entry::Entry;
use super::header::{Header, Stop};
use super::once_text::OnceText;
use super::ring::Ring;
use super::segment::Segment;
use super::slots::REASON_BYTES;
use crate::latch;
use selfbench_client::{Failure, LogEntry, Record, Transaction, Usage};
use selfbench_script::Workload;
use selfbench_stats::buckets::{self, coarse};
use selfbench_stats::{LatencyHistogram, Moments, Tally};
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
    sequence: AtomicU32,
    state: AtomicU32,
    backend_pid: AtomicI32,
    finished_ns: AtomicU64,
    warmup_transactions: AtomicU64,
    connection_ns: AtomicU64,
    interval_min_ns: AtomicU64,
    interval_max_ns: AtomicU64,
    blocks_hit: AtomicU64,
    blocks_read: AtomicU64,
    wal_bytes: AtomicU64,
    usage_begins: UsageCell,
    usage_ends: UsageCell,
    reason: OnceText<REASON_BYTES>,
}

/// What a client's session had used at some moment, written once.
#[repr(C)]
struct UsageCell {
    is_set: AtomicU32,
    words: [AtomicU64; Usage::WORDS],
}

impl UsageCell {
    fn set(&self, usage: &Usage) {
        for (word, value) in self.words.iter().zip(usage.to_words()) {
            word.store(value, Relaxed);
        }
        self.is_set.store(1, Release);
    }

    fn get(&self) -> Option<Usage> {
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
    fn note_extremes(&self, latency_ns: u64) {
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
    sequence: AtomicU32,
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
fn write(sequence: &AtomicU32, stores: impl FnOnce()) {
    let number = sequence.load(Relaxed);
    sequence.store(number.wrapping_add(1), Relaxed);
    fence(Release);
    stores();
    sequence.store(number.wrapping_add(2), Release);
}

/// Repeats `loads` until what they see belongs together; see [`READ_ATTEMPTS`].
fn read(sequence: &AtomicU32, mut loads: impl FnMut()) {
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
    transactions: AtomicU64,
    serialization: AtomicU64,
    deadlock: AtomicU64,
    other: AtomicU64,
    retried: AtomicU64,
    retries: AtomicU64,
    skipped: AtomicU64,
    late: AtomicU64,
    latency: [AtomicU64; Moments::WORDS],
    lag: [AtomicU64; Moments::WORDS],
    sleep_ns: AtomicU64,
}

impl ScriptCounters {
    fn read(&self) -> Tally {
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
    latency: [AtomicU64; Moments::WORDS],
    failures: AtomicU64,
    retries: AtomicU64,
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

/// Sum of the figures of all clients, by command; empty unless commands are measured.
pub fn read_commands(segment: &Segment) -> Vec<CommandTally> {
    let mut sum = vec![CommandTally::default(); segment.layout().commands];
    for client in 0..segment.layout().clients {
        for (sum, counters) in sum.iter_mut().zip(segment.commands(client)) {
            sum.latency.merge(&read_moments(&counters.latency));
            sum.failures += counters.failures.load(Relaxed);
            sum.retries += counters.retries.load(Relaxed);
        }
    }
    sum
}

fn read_moments(words: &[AtomicU64; Moments::WORDS]) -> Moments {
    Moments::from_words(std::array::from_fn(|i| words[i].load(Relaxed)))
}

/// Copies a client's figures, one [`Tally`] for each script, into `into`; they belong together
/// unless the writer was interrupted, see [`READ_ATTEMPTS`].
pub fn read_client(segment: &Segment, client: usize, into: &mut [Tally]) {
    let (head, counters) = segment.client(client);
    read(&head.sequence, || {
        for (tally, counters) in into.iter_mut().zip(counters) {
            *tally = counters.read();
        }
    });
}

/// Sum of the figures of all clients, by script.
pub fn read_all(segment: &Segment) -> Vec<Tally> {
    let scripts = segment.layout().scripts;
    let mut sum = vec![Tally::default(); scripts];
    let mut one = vec![Tally::default(); scripts];
    for client in 0..segment.layout().clients {
        read_client(segment, client, &mut one);
        for (sum, one) in sum.iter_mut().zip(&one) {
            sum.merge(one);
        }
    }
    sum
}

/// Latencies of all clients at this moment, by script. Those that a counter has wrapped around over
/// are missing, which takes more than an hour.
pub fn read_latencies(segment: &Segment) -> Vec<LatencyHistogram> {
    let layout = segment.layout();
    let of_script = |script| {
        let mut sum = LatencyHistogram::new();
        for set in 0..layout.histogram_sets() {
            for (bucket, counter) in segment.histogram(set, script).iter().enumerate() {
                match counter.load(Relaxed) {
                    0 => {}
                    count => sum.record_bucket(bucket, u64::from(count)),
                }
            }
        }
        sum
    };
    (0..layout.scripts).map(of_script).collect()
}

/// Sum of the figures of all clients and scripts.
pub fn read_total(segment: &Segment) -> Tally {
    let mut total = Tally::default();
    for script in read_all(segment) {
        total.merge(&script);
    }
    total
}

/// The writing end of one client's slot.
pub struct Recorder<'s> {
    head: &'s ClientHead,
    counters: &'s [ScriptCounters],
    histograms: Vec<&'s [AtomicU32; buckets::BUCKETS]>,
    reads: Option<&'s [AtomicU32; buckets::BUCKETS]>,
    latency: Vec<Moments>,
    lag: Vec<Moments>,
    commands: &'s [CommandCounters],
    command_histograms: Vec<&'s [AtomicU32; coarse::BUCKETS]>,
    /// Index of each script's first command among all commands.
    first_commands: Vec<usize>,
    command_latency: Vec<Moments>,
    log: Option<Ring<'s>>,
    header: &'s Header,
}

impl<'s> Recorder<'s> {
    /// The writer for `client`, which `worker` drives. There must be one per client.
    pub fn new(segment: &'s Segment, workload: &Workload, worker: usize, client: usize) -> Self {
        let (head, counters) = segment.client(client);
        let layout = segment.layout();
        let scripts = layout.scripts;
        let set = layout.histogram_set(worker, client);
        Recorder {
            commands: segment.commands(client),
            command_histograms: (0..layout.commands)
                .map(|command| segment.command_histogram(set, command))
                .collect(),
            first_commands: first_commands(workload),
            command_latency: vec![Moments::default(); segment.layout().commands],
            log: segment.log(worker),
            header: segment.header(),
            head,
            counters,
            histograms: (0..scripts).map(|s| segment.histogram(set, s)).collect(),
            reads: layout.reads.then(|| segment.histogram(set, scripts)),
            latency: vec![Moments::default(); scripts],
            lag: vec![Moments::default(); scripts],
        }
    }

    /// What the session had used before the transactions that count, once it has been read.
    pub fn used_before(&self) -> Option<Usage> {
        self.head.usage_begins.get()
    }

    /// Records what the session has used so far for the transactions that count.
    #[inline]
    pub fn used_blocks(&self, hit: u64, read: u64, wal_bytes: u64) {
        self.head.blocks_hit.store(hit, Relaxed);
        self.head.blocks_read.store(read, Relaxed);
        self.head.wal_bytes.store(wal_bytes, Relaxed);
    }

    /// Records that so many blocks were read one after the other within that time, if the run's
    /// layout has a place for it.
    pub fn read_blocks(&self, blocks: u64, duration_ns: u64) {
        if let (Some(reads), Some(each_ns)) = (self.reads, duration_ns.checked_div(blocks)) {
            let bucket = &reads[buckets::index_of(each_ns)];
            bucket.store(bucket.load(Relaxed).wrapping_add(blocks as u32), Relaxed);
        }
    }

    #[inline]
    fn write(&self, stores: impl FnOnce()) {
        write(&self.head.sequence, stores);
    }
}

/// The index of each script's first command, when the commands of all scripts are counted one
/// after the other.
pub fn first_commands(workload: &Workload) -> Vec<usize> {
    workload
        .scripts
        .iter()
        .scan(0, |next, script| {
            let first = *next;
            *next += script.commands.len();
            Some(first)
        })
        .collect()
}

/// Adds to a counter that only this process writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

#[inline]
fn publish(words: &[AtomicU64; Moments::WORDS], moments: &Moments) {
    for (word, value) in words.iter().zip(moments.to_words()) {
        word.store(value, Relaxed);
    }
}

impl Record for Recorder<'_> {
    #[inline]
    fn succeeded(&mut self, script: usize, transaction: &Transaction) {
        let counters = &self.counters[script];
        self.latency[script].record(transaction.latency_ns);
        if let Some(lag_ns) = transaction.lag_ns {
            self.lag[script].record(lag_ns);
        }
        self.write(|| {
            add(&counters.transactions, 1);
            publish(&counters.latency, &self.latency[script]);
            if transaction.lag_ns.is_some() {
                publish(&counters.lag, &self.lag[script]);
            }
            if transaction.sleep_ns > 0 {
                add(&counters.sleep_ns, transaction.sleep_ns);
            }
            if transaction.retries > 0 {
                add(&counters.retried, 1);
                add(&counters.retries, u64::from(transaction.retries));
            }
            if transaction.late {
                add(&counters.late, 1);
            }
        });
        self.head.note_extremes(transaction.latency_ns);
        // Clients that share a histogram are run by one process.
        let bucket = &self.histograms[script][buckets::index_of(transaction.latency_ns)];
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn failed(&mut self, script: usize, failure: Failure, retries: u32) {
        let counters = &self.counters[script];
        self.write(|| {
            add(
                match failure {
                    Failure::Serialization => &counters.serialization,
                    Failure::Deadlock => &counters.deadlock,
                    Failure::Other => &counters.other,
                },
                1,
            );
            if retries > 0 {
                add(&counters.retried, 1);
                add(&counters.retries, u64::from(retries));
            }
        });
    }

    fn skipped(&mut self, script: usize) {
        let counters = &self.counters[script];
        self.write(|| add(&counters.skipped, 1));
    }

    fn usage_begins(&mut self, usage: &Usage) {
        self.head.usage_begins.set(usage);
    }

    fn usage_ends(&mut self, usage: &Usage) {
        self.head.usage_ends.set(usage);
    }

    fn connected(&mut self, duration_ns: u64) {
        add(&self.head.connection_ns, duration_ns);
    }

    fn warmed_up(&mut self) {
        add(&self.head.warmup_transactions, 1);
    }

    #[inline]
    fn executed(&mut self, script: usize, command: usize, duration_ns: u64) {
        let index = self.first_commands[script] + command;
        self.command_latency[index].record(duration_ns);
        publish(&self.commands[index].latency, &self.command_latency[index]);
        let bucket = &self.command_histograms[index][coarse::index_of(duration_ns)];
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn command_failed(&mut self, script: usize, command: usize, again: bool) {
        let counters = &self.commands[self.first_commands[script] + command];
        let counter = if again {
            &counters.retries
        } else {
            &counters.failures
        };
        add(counter, 1);
    }

    #[inline]
    fn log(&mut self, entry: &LogEntry) {
        let Some(ring) = self.log else { return };
        let was_half_full = ring.is_half_full();
        let (bytes, length) = Entry::of(entry).to_bytes();
        // What is logged is complete: a client waits between two transactions if the coordinator
        // is behind.
        let waited = ring.write_or_wait(
            &bytes[..length],
            || self.header.coordinator.wake(),
            || self.header.stop() >= Stop::Terminated,
        );
        if waited {
            // There was no statement that it could have been meant for.
            latch::forget_cancel();
        }
        if !was_half_full && ring.is_half_full() {
            self.header.coordinator.wake();
        }
    }
}
