//! An interval of a run, as all figures of intervals count it.

use crate::shared::Header;
use std::sync::atomic::Ordering::Relaxed;

/// An interval that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, from 0.
    pub number: i32,
    /// Begin, in seconds after the start barrier opened.
    pub begins_s: f64,
    /// Its length.
    pub seconds: f64,
}

impl Period {
    /// The interval between two clock readings.
    pub fn new(header: &Header, number: i32, begins_ns: u64, ends_ns: u64) -> Period {
        let since_start_ns = begins_ns.saturating_sub(header.start_ns.load(Relaxed));
        Period {
            run_id: header.run_id.load(Relaxed),
            number,
            begins_s: since_start_ns as f64 / 1e9,
            seconds: ends_ns.saturating_sub(begins_ns) as f64 / 1e9,
        }
    }
}
