//! What a client writes after each transaction, and how others read it while it runs.
//!
//! Each client has one slot with one writer. The writer brackets its stores with a sequence
//! number that is odd while it writes; a reader that sees an odd or changed number reads again.
//! So a reader gets figures that belong together, and the writer never waits.

use super::counters::{
    ClientHead, CommandCounters, CommandTally, ScriptCounters, read, read_moments, write,
};
use super::entry::Entry;
use super::header::{Header, Stop};
use super::ring::Ring;
use super::segment::Segment;
use crate::latch;
use selfbench_client::{Failure, LogEntry, Record, Transaction, Usage};
use selfbench_script::Workload;
use selfbench_stats::buckets::{self, coarse};
use selfbench_stats::{LatencyHistogram, Moments, Tally};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

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
