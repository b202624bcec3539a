//! What the coordinator of a run has observed beside its clients.

use serde::{Deserialize, Serialize};

/// Rows of what was observed, to be stored together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// What the server did in each interval.
    pub server_intervals: Vec<RunServerInterval>,
}

/// A row of `bench.run_server_intervals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunServerInterval {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, as in `bench.run_intervals`.
    pub interval_no: i32,
    /// When it began, in seconds after the start barrier opened.
    pub begins_s: f64,
    /// Its length.
    pub seconds: f64,
    /// Bytes of WAL that all sessions inserted.
    pub wal_bytes: Option<i64>,
}
