//! Reading the clients' figures while they run: the differences since the last reading, and the
//! totals.

use crate::clock;
use crate::error::{Error, Result};
use crate::shared::Segment;
use crate::shared::reading;
use selfbench_stats::buckets::{self, coarse};
use selfbench_stats::counters::READ_EVERY_NS;
use selfbench_stats::{Counters, LatencyHistogram, Tally};
use std::sync::atomic::Ordering::Relaxed;

/// The figures of the time between two readings.
pub struct Interval {
    /// Number of the interval, from 0.
    pub number: i32,
    /// Clock reading at its start.
    pub begins_ns: u64,
    /// Figures of all scripts together.
    pub tally: Tally,
    /// Their latencies.
    pub histogram: LatencyHistogram,
    /// Blocks hit, blocks read, and bytes of WAL, as far as clients record them.
    pub blocks: [u64; 3],
}

/// The state between readings.
///
/// Latency counters in shared memory have 32 bits and may wrap around in a long run. So they are
/// read at least every [`READ_EVERY_NS`], even if an interval is longer, and the totals are kept
/// here.
pub struct Harvest {
    /// Latency counters, by set and histogram.
    counters: Counters,
    /// Latency counters of single commands, by set and command.
    command_counters: Counters,
    /// Latencies up to the last reading, by script; then those of reads, if they are measured.
    histograms: Vec<LatencyHistogram>,
    /// Latencies of transactions up to the last reading, since the current interval began.
    interval: LatencyHistogram,
    /// When the counters were last read.
    read_ns: u64,
    /// Figures of all scripts at the start of the current interval.
    tally: Tally,
    /// Values of [`Interval::blocks`] at that time.
    blocks: [u64; 3],
    begins_ns: u64,
    number: i32,
}

impl Harvest {
    /// Allocates the memory that the readings take.
    pub fn new(segment: &Segment) -> Result<Harvest> {
        let layout = segment.layout();
        let sets = layout.histogram_sets();
        let counters = |len| {
            Counters::new(len).map_err(|_| Error::CounterMemory {
                bytes: len.saturating_mul(size_of::<u32>()),
            })
        };
        Ok(Harvest {
            counters: counters(sets * layout.histograms() * buckets::BUCKETS)?,
            command_counters: counters(sets * layout.commands * coarse::BUCKETS)?,
            histograms: vec![LatencyHistogram::new(); layout.histograms()],
            interval: LatencyHistogram::new(),
            read_ns: 0,
            tally: Tally::default(),
            blocks: [0; 3],
            begins_ns: 0,
            number: 0,
        })
    }

    /// Starts at the clock reading from which transactions count.
    pub fn begin(&mut self, measure_ns: u64) {
        self.read_ns = measure_ns;
        self.begins_ns = measure_ns;
    }

    /// The clock reading at which the counters must be read, if no interval ends before.
    pub fn due_ns(&self) -> u64 {
        self.read_ns.saturating_add(READ_EVERY_NS)
    }

    /// Reads the counters at the clock reading `now_ns`.
    pub fn read(&mut self, segment: &Segment, now_ns: u64) {
        self.read_ns = now_ns;
        self.read_latencies(segment);
        self.read_commands(segment);
    }

    /// Ends the current interval at the clock reading `now_ns`; `None` if it has no length.
    pub fn interval(&mut self, segment: &Segment, now_ns: u64) -> Option<Interval> {
        if now_ns <= self.begins_ns {
            return None;
        }
        let total = reading::read_total(segment);
        let mut tally = total.minus(&self.tally);
        self.read_latencies(segment);
        let histogram = std::mem::take(&mut self.interval);
        let extremes = (0..segment.layout().clients)
            .filter_map(|client| segment.client(client).0.take_interval_extremes())
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        // A client notes extremes after it has counted: those of a single transaction may be missing, or of
        // another one that ended in between.
        if let Some((min, max)) = extremes
            && tally.latency.count != 1
        {
            tally.latency.min_ns = min;
            tally.latency.max_ns = max;
        }
        let lag_max_ns = (0..segment.layout().clients)
            .map(|client| segment.client(client).0.take_interval_lag_max())
            .max();
        if let Some(max_ns) = lag_max_ns
            && tally.lag.count != 1
        {
            tally.lag.max_ns = max_ns;
        }
        self.tally = total;
        let mut blocks = [0; 3];
        for client in 0..segment.layout().clients {
            let (head, _) = segment.client(client);
            for (sum, one) in blocks.iter_mut().zip(head.blocks_so_far()) {
                *sum += one;
            }
        }
        let before = std::mem::replace(&mut self.blocks, blocks);
        let interval = Interval {
            number: self.number,
            begins_ns: self.begins_ns,
            tally,
            histogram,
            blocks: std::array::from_fn(|i| blocks[i].saturating_sub(before[i])),
        };
        self.number += 1;
        self.begins_ns = now_ns;
        Some(interval)
    }

    /// One histogram of one set, as of the last reading.
    pub fn of_set(&self, segment: &Segment, set: usize, number: usize) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        let first = (set * segment.layout().histograms() + number) * buckets::BUCKETS;
        for bucket in 0..buckets::BUCKETS {
            let count = self.counters.count(first + bucket);
            if count > 0 {
                histogram.record_bucket(bucket, count);
            }
        }
        histogram
    }

    /// The latencies of one command of all scripts', as of the last reading, if commands are
    /// measured.
    pub fn of_command(&self, segment: &Segment, command: usize) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        let layout = segment.layout();
        for set in 0..layout.histogram_sets() {
            let first = (set * layout.commands + command) * coarse::BUCKETS;
            for bucket in 0..coarse::BUCKETS {
                let count = self.command_counters.count(first + bucket);
                if count > 0 {
                    let middle_ns = coarse::middle_of(bucket);
                    histogram.record_bucket(buckets::index_of(middle_ns), count);
                }
            }
        }
        histogram
    }

    /// The times of reading blocks, as of the last reading, if they are measured.
    pub fn reads(&self, segment: &Segment) -> Option<&LatencyHistogram> {
        self.histograms.get(segment.layout().scripts)
    }

    /// The figures of the whole run by script, when all clients have ended. The histogram of reads,
    /// if they are measured, follows the last script's.
    pub fn totals(&mut self, segment: &Segment) -> (Vec<Tally>, Vec<LatencyHistogram>) {
        self.read(segment, clock::now_ns());
        (reading::read_all(segment), self.histograms.clone())
    }

    /// Adds the latencies since the last reading to the totals and to the current interval.
    fn read_latencies(&mut self, segment: &Segment) {
        let layout = segment.layout();
        for set in 0..layout.histogram_sets() {
            for number in 0..layout.histograms() {
                let first = (set * layout.histograms() + number) * buckets::BUCKETS;
                for (bucket, value) in segment.histogram(set, number).used() {
                    let added = self.counters.read(first + bucket, value);
                    if added != 0 {
                        if number < layout.scripts {
                            self.interval.record_bucket(bucket, added);
                        }
                        self.histograms[number].record_bucket(bucket, added);
                    }
                }
            }
        }
    }

    /// Adds the changes of the counters of commands, which are not part of intervals.
    fn read_commands(&mut self, segment: &Segment) {
        let layout = segment.layout();
        for set in 0..layout.histogram_sets() {
            for command in 0..layout.commands {
                let first = (set * layout.commands + command) * coarse::BUCKETS;
                let counters = segment.command_histogram(set, command);
                for (bucket, counter) in counters.iter().enumerate() {
                    self.command_counters
                        .read(first + bucket, counter.load(Relaxed));
                }
            }
        }
    }
}
