//! A run of pgio's workload, and its sessions.

use selfbench_stats::Usage;
use serde::{Deserialize, Serialize};

/// A row of `bench.pgio_runs`: what a run of pgio's workload was, and its figures. Rates are per
/// second, over all sessions; what the server or the system does not tell is NULL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PgioRun {
    /// The run.
    pub run_id: i64,
    /// Number of tables.
    pub tables: i32,
    /// Sessions of each table.
    pub threads_per_table: i32,
    /// Percentage of loops that update.
    pub update_pct: i32,
    /// Length of the key range of a loop that reads.
    pub work_unit: i32,
    /// Length of the key range of a loop that updates.
    pub update_work_unit: i32,
    /// Loops per transaction.
    pub commit_every: i32,
    /// Percentage of each table's keys that was used.
    pub working_set_pct: f64,
    /// Scan by which rows were looked for: `index`, `bitmap` or `auto`.
    pub scan: String,
    /// Blocks, and so rows and keys, of each table.
    pub scale: i64,
    /// Bytes of a block.
    pub block_bytes: i32,
    /// Bytes of all blocks in use.
    pub working_set_bytes: i64,
    /// Bytes of the server's shared buffers; NULL for a target.
    pub shared_buffers_bytes: Option<i64>,
    /// Bytes of memory that the server's machine has, or may use; NULL for a target.
    pub memory_bytes: Option<i64>,
    /// Measured time in seconds, from the start or the end of the warm-up.
    pub seconds: Option<f64>,
    /// Loops that read.
    pub selects: i64,
    /// Loops that updated.
    pub updates: i64,
    /// Loops that failed.
    pub failed: i64,
    /// Blocks read into shared buffers per second, from the operating system's cache or a device: what pgio calls RIOPS.
    pub riops: Option<f64>,
    /// Blocks found in shared buffers per second.
    pub cache_hits_per_s: Option<f64>,
    /// Blocks found in shared buffers or read into them per second.
    pub logical_reads_per_s: Option<f64>,
    /// Bytes read from a block device per second, in blocks.
    pub device_reads_per_s: Option<f64>,
    /// Bytes read from a block device per second, in megabytes of 10^6 bytes.
    pub device_read_mb_per_s: Option<f64>,
    /// Bytes that the sessions' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes.
    pub device_write_mb_per_s: Option<f64>,
    /// Blocks that became dirty per second.
    pub blocks_dirtied_per_s: Option<f64>,
    /// Blocks that the sessions wrote per second: to make room for others, or by which a table grew.
    pub blocks_written_per_s: Option<f64>,
    /// Blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18.
    pub blocks_evicted_per_s: Option<f64>,
    /// Bytes of WAL per second.
    pub wal_bytes_per_s: Option<f64>,
    /// Bytes of WAL per update.
    pub wal_bytes_per_update: Option<f64>,
    /// Mean time of a loop that reads.
    pub select_avg_ms: Option<f64>,
    /// 99th percentile of the time of a loop that reads.
    pub select_p99_ms: Option<f64>,
    /// Longest time of a loop that reads.
    pub select_max_ms: Option<f64>,
    /// Mean time of a loop that updates.
    pub update_avg_ms: Option<f64>,
    /// 99th percentile of the time of a loop that updates.
    pub update_p99_ms: Option<f64>,
    /// Longest time of a loop that updates.
    pub update_max_ms: Option<f64>,
    /// Mean time of reading a block; NULL unless `track_io_timing` was on.
    pub read_avg_ms: Option<f64>,
    /// Median time of reading a block.
    pub read_p50_ms: Option<f64>,
    /// 95th percentile of the time of reading a block.
    pub read_p95_ms: Option<f64>,
    /// 99th percentile of the time of reading a block.
    pub read_p99_ms: Option<f64>,
    /// Longest time of reading a block.
    pub read_max_ms: Option<f64>,
    /// Histogram of the time of reading a block, see `bench.percentile`.
    #[serde(skip)]
    pub read_histogram: Option<Vec<u8>>,
}

/// A row of `bench.pgio_sessions`: one session of such a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PgioSession {
    /// The run.
    pub run_id: i64,
    /// Number of the session, from 0.
    pub client: i32,
    /// Number of its table, from 1.
    pub table_no: i32,
    /// Loops that read.
    pub selects: i64,
    /// Mean time of these.
    pub select_avg_ms: Option<f64>,
    /// Longest time of a loop that reads.
    pub select_max_ms: Option<f64>,
    /// Their histogram, encoded.
    #[serde(skip)]
    pub select_histogram: Option<Vec<u8>>,
    /// Loops that updated.
    pub updates: i64,
    /// Mean time of these.
    pub update_avg_ms: Option<f64>,
    /// Longest time of a loop that updates.
    pub update_max_ms: Option<f64>,
    /// Their histogram, encoded.
    #[serde(skip)]
    pub update_histogram: Option<Vec<u8>>,
    /// Loops that failed.
    pub failed: i64,
    /// The run's time.
    pub seconds: f64,
    /// Usage of its session, if known.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// Histogram of the time of reading a block, encoded; NULL unless
    /// `track_io_timing` was on.
    #[serde(skip)]
    pub read_histogram: Option<Vec<u8>>,
}
