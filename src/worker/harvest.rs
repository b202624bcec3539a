//! Taking the clients' figures while they run: what has been added since the last time, and the
//! totals.

use crate::shared::Segment;
use crate::shared::recorder;
use selfbench_stats::{LatencyHistogram, Tally, buckets};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// What happened between two readings.
pub struct Interval {
    /// Number of the interval, from 0.
    pub number: i32,
    /// Clock reading at its beginning.
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
/// Latency counters in shared memory have 32 bits and may wrap around in a long run; readings are
/// taken often enough for their differences to be right, and the totals are kept here.
pub struct Harvest {
    /// Latency counters as of the last reading, by set and histogram.
    counters: Vec<u32>,
    /// How often those have wrapped around that have.
    wraps: HashMap<usize, u64>,
    /// Latencies up to the last reading, by script; then those of reads, if they are measured.
    histograms: Vec<LatencyHistogram>,
    /// Figures of all scripts as of the last reading.
    tally: Tally,
    /// What [`Interval::blocks`] counts, as of the last reading.
    blocks: [u64; 3],
    begins_ns: u64,
    number: i32,
}

impl Harvest {
    /// Begins with the clock reading from which transactions count.
    pub fn new(segment: &Segment, measure_ns: u64) -> Harvest {
        let layout = segment.layout();
        Harvest {
            counters: vec![0; layout.histogram_sets() * layout.histograms() * buckets::BUCKETS],
            wraps: HashMap::new(),
            histograms: (0..layout.histograms())
                .map(|_| LatencyHistogram::new())
                .collect(),
            tally: Tally::default(),
            blocks: [0; 3],
            begins_ns: measure_ns,
            number: 0,
        }
    }

    /// Ends the current interval at the clock reading `now_ns`; `None` if it has no length.
    pub fn interval(&mut self, segment: &Segment, now_ns: u64) -> Option<Interval> {
        if now_ns <= self.begins_ns {
            return None;
        }
        let total = recorder::read_total(segment);
        let mut tally = total.minus(&self.tally);
        let histogram = self.latencies(segment);
        let extremes = (0..segment.layout().clients)
            .filter_map(|client| segment.client(client).0.take_interval_extremes())
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        if let Some((min, max)) = extremes {
            tally.latency.min_ns = min;
            tally.latency.max_ns = max;
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
        let seen = &self.counters[first..first + buckets::BUCKETS];
        for (bucket, seen) in seen.iter().enumerate() {
            let wraps = self.wraps.get(&(first + bucket)).copied().unwrap_or(0);
            let count = (wraps << 32) + u64::from(*seen);
            if count > 0 {
                histogram.record_bucket(bucket, count);
            }
        }
        histogram
    }

    /// The times of reading blocks, as of the last reading, if they are measured.
    pub fn reads(&self, segment: &Segment) -> Option<&LatencyHistogram> {
        self.histograms.get(segment.layout().scripts)
    }

    /// The figures of the whole run by script, when all clients have ended; behind the last
    /// script's histogram that of reads, if they are measured.
    pub fn totals(&mut self, segment: &Segment) -> (Vec<Tally>, Vec<LatencyHistogram>) {
        self.latencies(segment);
        (recorder::read_all(segment), self.histograms.clone())
    }

    /// Adds the latencies since the last reading to the totals and returns those of transactions.
    fn latencies(&mut self, segment: &Segment) -> LatencyHistogram {
        let layout = segment.layout();
        let mut new = LatencyHistogram::new();
        for set in 0..layout.histogram_sets() {
            for number in 0..layout.histograms() {
                let first = (set * layout.histograms() + number) * buckets::BUCKETS;
                let seen = &mut self.counters[first..first + buckets::BUCKETS];
                let counters = segment.histogram(set, number);
                for (bucket, (seen, counter)) in seen.iter_mut().zip(counters).enumerate() {
                    let value = counter.load(Relaxed);
                    let added = value.wrapping_sub(*seen);
                    if added != 0 {
                        if value < *seen {
                            *self.wraps.entry(first + bucket).or_default() += 1;
                        }
                        *seen = value;
                        if number < layout.scripts {
                            new.record_bucket(bucket, u64::from(added));
                        }
                        self.histograms[number].record_bucket(bucket, u64::from(added));
                    }
                }
            }
        }
        new
    }
}
