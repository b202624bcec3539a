//! An interval of a run.

use crate::figures::Figures;
use serde::{Deserialize, Serialize};

/// Intervals are stored in batches, so that storing them disturbs the run less.
pub const INTERVALS_PER_BATCH: usize = 60;

/// A row of `bench.run_intervals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInterval {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, from 0.
    pub interval_no: i32,
    /// Begin, in seconds after the start barrier opened.
    pub begins_s: f64,
    /// Its length.
    pub seconds: f64,
    /// Its transactions.
    #[serde(flatten)]
    pub figures: Figures,
    /// Blocks found in shared buffers; only of pgio's workload in mode spi, as those below.
    pub blocks_hit: Option<i64>,
    /// Blocks read into shared buffers.
    pub blocks_read: Option<i64>,
    /// Bytes of WAL.
    pub wal_bytes: Option<i64>,
}
