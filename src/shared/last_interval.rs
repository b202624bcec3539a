//! The figures of the interval that ended last, for processes that watch a run.

use super::seqlock::Sequence;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// The figures of the interval that ended last; the coordinator alone writes them.
#[repr(C)]
pub struct LastInterval {
    sequence: Sequence,
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
        self.sequence.write(|| {
            let latency = figures.latency_avg_ms.unwrap_or(f64::NAN);
            self.tps.store(figures.tps.to_bits(), Relaxed);
            self.latency_avg_ms.store(latency.to_bits(), Relaxed);
        });
    }

    /// The figures; `None` before the first interval has ended.
    pub fn get(&self) -> Option<IntervalFigures> {
        // Before they are read: what is read next belongs to a write.
        if self.sequence.is_unwritten() {
            return None;
        }
        let mut figures = None;
        self.sequence.read(|| {
            let latency = f64::from_bits(self.latency_avg_ms.load(Relaxed));
            figures = Some(IntervalFigures {
                tps: f64::from_bits(self.tps.load(Relaxed)),
                latency_avg_ms: (!latency.is_nan()).then_some(latency),
            });
        });
        figures
    }
}
