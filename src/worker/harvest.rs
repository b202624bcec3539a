//! Taking the clients' figures while they run: what has been added since the last time, and the
//! totals.

use crate::shared::Segment;
use crate::shared::recorder;
use selfbench_stats::{LatencyHistogram, Tally, buckets};
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
}

/// The state between readings.
///
/// Latency counters in shared memory have 32 bits and may wrap around in a long run; readings are
/// taken often enough for their differences to be right, and the totals are kept here.
pub struct Harvest {
    /// Latency counters as of the last reading, by worker and script.
    counters: Vec<u32>,
    /// Latencies up to the last reading, by script.
    histograms: Vec<LatencyHistogram>,
    /// Figures of all scripts as of the last reading.
    tally: Tally,
    begins_ns: u64,
    number: i32,
}

impl Harvest {
    /// Begins with the clock reading from which transactions count.
    pub fn new(segment: &Segment, measure_ns: u64) -> Harvest {
        let layout = segment.layout();
        Harvest {
            counters: vec![0; layout.workers * layout.scripts * buckets::BUCKETS],
            histograms: (0..layout.scripts)
                .map(|_| LatencyHistogram::new())
                .collect(),
            tally: Tally::default(),
            begins_ns: measure_ns,
            number: 0,
        }
    }

    /// Ends the current interval at the clock reading `now_ns`; `None` if it has no length.
    pub fn interval(&mut self, segment: &Segment, now_ns: u64) -> Option<Interval> {
        if now_ns <= self.begins_ns {
            return None;
        }
        let mut total = Tally::default();
        for script in recorder::read_all(segment) {
            total.merge(&script);
        }
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
        let interval = Interval {
            number: self.number,
            begins_ns: self.begins_ns,
            tally,
            histogram,
        };
        self.number += 1;
        self.begins_ns = now_ns;
        Some(interval)
    }

    /// The figures of the whole run by script, when all clients have ended.
    pub fn totals(&mut self, segment: &Segment) -> (Vec<Tally>, Vec<LatencyHistogram>) {
        self.latencies(segment);
        (recorder::read_all(segment), self.histograms.clone())
    }

    /// Adds the latencies since the last reading to the totals and returns them.
    fn latencies(&mut self, segment: &Segment) -> LatencyHistogram {
        let layout = segment.layout();
        let mut new = LatencyHistogram::new();
        for worker in 0..layout.workers {
            for script in 0..layout.scripts {
                let first = (worker * layout.scripts + script) * buckets::BUCKETS;
                let seen = &mut self.counters[first..first + buckets::BUCKETS];
                let counters = segment.histogram(worker, script);
                for (bucket, (seen, counter)) in seen.iter_mut().zip(counters).enumerate() {
                    let value = counter.load(Relaxed);
                    let added = value.wrapping_sub(*seen);
                    if added != 0 {
                        *seen = value;
                        new.record_bucket(bucket, u64::from(added));
                        self.histograms[script].record_bucket(bucket, u64::from(added));
                    }
                }
            }
        }
        new
    }
}
