//! A warm-up that ends when the run is steady: the coordinator looks at the figures of short intervals.
//!
//! An interval is a 3000th of `max_warmup`, so that the first look is after a 30th of it: the longer a
//! warm-up may take, the slower are the changes that are looked for.

use crate::run::RunSpec;
use crate::shared::Segment;
use selfbench_stats::warm_up::WarmUp;
use std::sync::atomic::Ordering::Relaxed;

/// Number of intervals of the longest warm-up.
const INTERVALS: u64 = 3000;
const SHORTEST_NS: u64 = 10_000_000;
const LONGEST_NS: u64 = 1_000_000_000;

/// End of a warm-up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WarmUpEnd {
    /// The run is steady.
    Steady,
    /// The time is over.
    CutOff,
}

/// A warm-up in progress.
pub struct WarmingUp<'s> {
    segment: &'s Segment,
    /// Whether latency is looked at: with a rate, throughput says little. Its inverse is, since a short
    /// stall makes the mean latency of an interval many times as high, and the inverse only small.
    of_latency: bool,
    series: WarmUp,
    every_ns: u64,
    /// The clock reading of the last look.
    last_ns: u64,
    ends_ns: u64,
    transactions: u64,
    latency_ns: u64,
}

impl<'s> WarmingUp<'s> {
    /// Starts when the start barrier has opened; `None` if the length of the warm-up is fixed.
    pub fn new(segment: &'s Segment, spec: &RunSpec) -> Option<Self> {
        if spec.warmup_us().is_some() {
            return None;
        }
        let start_ns = segment.header().start_ns.load(Relaxed);
        let longest_ns = spec.max_warmup_us() as u64 * 1000;
        Some(Self {
            segment,
            of_latency: spec.run.rate.is_some(),
            series: WarmUp::default(),
            every_ns: (longest_ns / INTERVALS).clamp(SHORTEST_NS, LONGEST_NS),
            last_ns: start_ns,
            ends_ns: start_ns + longest_ns,
            transactions: 0,
            latency_ns: 0,
        })
    }

    /// The clock reading at which [`look`](Self::look) is due.
    pub fn due_ns(&self) -> u64 {
        (self.last_ns + self.every_ns).min(self.ends_ns)
    }

    /// End of the warm-up, if it comes at the clock reading `now_ns`.
    pub fn look(&mut self, now_ns: u64) -> Option<WarmUpEnd> {
        if now_ns < self.due_ns() {
            return None;
        }
        let (mut transactions, mut latency_ns) = (0, 0);
        for client in 0..self.segment.layout().clients {
            let (head, _) = self.segment.client(client);
            transactions += head.warmup_transactions();
            latency_ns += head.warmup_latency_ns();
        }
        let added = transactions.saturating_sub(self.transactions) as f64;
        let seconds = now_ns.saturating_sub(self.last_ns) as f64 / 1e9;
        self.last_ns = now_ns;
        let latency_s = latency_ns.wrapping_sub(self.latency_ns) as f64 / 1e9;
        let figure = match self.of_latency {
            // No latency without transactions.
            true if added == 0.0 => None,
            true => Some(added / latency_s),
            false => Some(added / seconds),
        };
        (self.transactions, self.latency_ns) = (transactions, latency_ns);
        if figure.is_some_and(|figure| self.series.add(figure)) {
            return Some(WarmUpEnd::Steady);
        }
        (now_ns >= self.ends_ns).then_some(WarmUpEnd::CutOff)
    }
}
