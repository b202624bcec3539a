//! Figures that a client writes after each transaction.

use super::client_slot::{ClientSlot, CommandCounters, ScriptCounters};
use super::header::{Header, Stop};
use super::layout::CoarseHistogram;
use super::log_entry::RingEntry;
use super::ring::Ring;
use super::segment::Segment;
use crate::latch;
use selfbench_client::{Failure, LogEntry, Record, Transaction};
use selfbench_script::Workload;
use selfbench_stats::buckets::coarse;
use selfbench_stats::{CommandTally, Counts, LatencyCounters, Tally, Usage};
use std::sync::atomic::Ordering::Relaxed;

/// The writer of one client's slot. It counts in memory of its own, and copies that into the slot.
pub struct Recorder<'s> {
    slot: &'s ClientSlot,
    counters: &'s [ScriptCounters],
    tallies: Vec<Tally>,
    histograms: Vec<&'s LatencyCounters>,
    reads: Option<&'s LatencyCounters>,
    commands: &'s [CommandCounters],
    command_tallies: Vec<CommandTally>,
    command_histograms: Vec<&'s CoarseHistogram>,
    /// Index of each script's first command among all commands.
    first_commands: Vec<usize>,
    log: Option<Ring<'s>>,
    header: &'s Header,
}

impl<'s> Recorder<'s> {
    /// The writer for `client`, which `worker` drives. There must be one per client.
    pub fn new(segment: &'s Segment, workload: &Workload, worker: usize, client: usize) -> Self {
        let (slot, counters) = segment.client(client);
        let layout = segment.layout();
        let scripts = layout.scripts;
        let set = layout.histogram_set(worker, client);
        Recorder {
            slot,
            counters,
            tallies: vec![Tally::default(); scripts],
            histograms: (0..scripts).map(|s| segment.histogram(set, s)).collect(),
            reads: layout.reads.then(|| segment.histogram(set, scripts)),
            commands: segment.commands(client),
            command_tallies: vec![CommandTally::default(); layout.commands],
            command_histograms: (0..layout.commands)
                .map(|command| segment.command_histogram(set, command))
                .collect(),
            first_commands: first_commands(workload),
            log: segment.log(worker),
            header: segment.header(),
        }
    }

    /// Returns the session's usage before the transactions that count, once it has been read.
    pub fn used_before(&self) -> Option<Usage> {
        self.slot.used_before()
    }

    /// Records what the session has used so far for the transactions that count.
    #[inline]
    pub fn used_blocks(&self, hit: u64, read: u64, wal_bytes: u64) {
        self.slot.used_blocks(hit, read, wal_bytes);
    }

    /// Records that this many blocks were read one after the other within that time, if the run's
    /// layout has counters for it.
    pub fn read_blocks(&self, blocks: u64, duration_ns: u64) {
        if let (Some(reads), Some(each_ns)) = (self.reads, duration_ns.checked_div(blocks)) {
            reads.count(each_ns, blocks as u32);
        }
    }

    /// Counts a transaction of a script.
    #[inline]
    fn count(&mut self, script: usize, count: impl FnOnce(&mut Tally)) {
        let tally = &mut self.tallies[script];
        count(tally);
        let (words, counters) = (tally.to_words(), &self.counters[script]);
        self.slot.sequence.write(|| counters.store(words));
    }

    /// Counts an execution of a command; gives its index among all commands.
    #[inline]
    fn count_command(
        &mut self,
        script: usize,
        command: usize,
        count: impl FnOnce(&mut CommandTally),
    ) -> usize {
        let index = self.first_commands[script] + command;
        let tally = &mut self.command_tallies[index];
        count(tally);
        self.commands[index].store(tally.to_words());
        index
    }
}

/// The index of each script's first command, when the commands of all scripts are counted one
/// after the other.
fn first_commands(workload: &Workload) -> Vec<usize> {
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

/// Counts tries beyond the first.
#[inline]
fn count_retries(counts: &mut Counts, retries: u32) {
    counts.retried += u64::from(retries > 0);
    counts.retries += u64::from(retries);
}

impl Record for Recorder<'_> {
    #[inline]
    fn succeeded(&mut self, script: usize, transaction: &Transaction) {
        self.count(script, |tally| {
            tally.counts.transactions += 1;
            count_retries(&mut tally.counts, transaction.retries);
            tally.counts.late += u64::from(transaction.late);
            tally.counts.rolled_back += u64::from(transaction.rolled_back);
            tally.latency.record(transaction.latency_ns);
            if let Some(lag_ns) = transaction.lag_ns {
                tally.lag.record(lag_ns);
            }
            tally.sleep_ns += transaction.sleep_ns;
            tally.shell_ns += transaction.shell_ns;
            tally.above_limit += u64::from(transaction.above_limit);
        });
        self.slot.note_extremes(transaction.latency_ns);
        if let Some(lag_ns) = transaction.lag_ns {
            self.slot.note_lag(lag_ns);
        }
        // Clients that share a histogram are run by one process.
        self.histograms[script].count(transaction.latency_ns, 1);
    }

    fn failed(&mut self, script: usize, failure: Failure, retries: u32, duration_ns: u64) {
        self.count(script, |tally| {
            tally.failed_ns += duration_ns;
            let counts = &mut tally.counts;
            *match failure {
                Failure::Serialization => &mut counts.serialization_failures,
                Failure::Deadlock => &mut counts.deadlock_failures,
                Failure::Other => &mut counts.other_failures,
            } += 1;
            count_retries(counts, retries);
        });
    }

    fn statement_failed(&mut self, message: &str) {
        self.slot.statement_failed(message);
    }

    fn skipped(&mut self, script: usize) {
        self.count(script, |tally| tally.counts.skipped += 1);
    }

    fn usage_begins(&mut self, usage: &Usage) {
        self.slot.set_usage_begins(usage);
    }

    fn usage_ends(&mut self, usage: &Usage) {
        self.slot.set_usage_ends(usage);
    }

    fn connected(&mut self, duration_ns: u64) {
        self.slot.connected(duration_ns);
    }

    fn began_early(&mut self, early_ns: u64) {
        self.slot.began_early(early_ns);
    }

    fn warmed_up(&mut self, latency_ns: u64) {
        self.slot.warmed_up(latency_ns);
    }

    #[inline]
    fn reached(&mut self, script: usize, command: usize) {
        self.slot.reached(script, command);
    }

    fn left(&mut self) {
        self.slot.left();
    }

    #[inline]
    fn executed(&mut self, script: usize, command: usize, duration_ns: u64) {
        let index = self.count_command(script, command, |tally| tally.latency.record(duration_ns));
        let bucket = &self.command_histograms[index][coarse::index_of(duration_ns)];
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn command_failed(&mut self, script: usize, command: usize, again: bool) {
        self.count_command(script, command, |tally| {
            *if again {
                &mut tally.retries
            } else {
                &mut tally.failures
            } += 1;
        });
    }

    #[inline]
    fn log(&mut self, entry: &LogEntry) {
        let Some(ring) = self.log else { return };
        let was_half_full = ring.is_half_full();
        let (bytes, length) = RingEntry::of(entry).to_bytes();
        // The log is complete: a client waits between two transactions if the coordinator
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
