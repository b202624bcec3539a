//! What the coordinator of a run has observed beside its clients.

use crate::profile::{RunProfile, RunStack};
use crate::times::RunTimes;
use serde::{Deserialize, Serialize};

/// Rows of what was observed, to be stored together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// What the server did in each interval.
    pub server_intervals: Vec<RunServerInterval>,
    /// What the run ran on.
    pub environment: Vec<RunEnvironment>,
    /// The tables and indexes that it used.
    pub tables: Vec<RunTable>,
    /// Where the time of the run went.
    pub times: Option<RunTimes>,
    /// Stacks of the sampled processes.
    pub stacks: Vec<RunStack>,
    /// How complete these are.
    pub profiles: Vec<RunProfile>,
}

/// A row of `bench.run_tables`: a table or an index that a run used, before and after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTable {
    /// The run.
    pub run_id: i64,
    /// Its Oid.
    pub relation: i64,
    /// Its schema.
    pub schema_name: String,
    /// Its name.
    pub name: String,
    /// `table`, `index` or `materialized view`.
    pub kind: String,
    /// Of an index, its table.
    pub of_table: Option<String>,
    /// `plans` of the run's clients, or `counters`, which other sessions move, too.
    pub known_by: String,
    /// Bytes of its main fork before the run.
    pub bytes_before: Option<i64>,
    /// The same after the run.
    pub bytes_after: Option<i64>,
    /// Live rows as the server estimates them, before.
    pub live_rows_before: Option<i64>,
    /// The same after.
    pub live_rows_after: Option<i64>,
    /// Dead rows as the server estimates them, before.
    pub dead_rows_before: Option<i64>,
    /// The same after.
    pub dead_rows_after: Option<i64>,
    /// Bytes that a row takes on its page, estimated from the statistics of ANALYZE.
    pub row_bytes: Option<f64>,
    /// The last VACUUM or autovacuum before.
    pub last_vacuum_before: Option<String>,
    /// The same after.
    pub last_vacuum_after: Option<String>,
    /// The last ANALYZE or autoanalyze before.
    pub last_analyze_before: Option<String>,
    /// The same after.
    pub last_analyze_after: Option<String>,
    /// Autovacuums that ended during the run.
    pub autovacuums: Option<i64>,
    /// Sequential scans begun during the run, by all sessions, as all that follow.
    pub sequential_scans: Option<i64>,
    /// Index scans.
    pub index_scans: Option<i64>,
    /// Rows inserted.
    pub rows_inserted: Option<i64>,
    /// Rows updated.
    pub rows_updated: Option<i64>,
    /// Rows updated without new entries in indexes.
    pub rows_hot_updated: Option<i64>,
    /// Rows deleted.
    pub rows_deleted: Option<i64>,
}

/// A row of `bench.run_environment`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnvironment {
    /// The run.
    pub run_id: i64,
    /// `server`, or `client` for the machine of clients whose target is elsewhere.
    pub machine: String,
    /// What is known; ends with its unit if it has one.
    pub name: String,
    /// Its value.
    pub value: String,
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
