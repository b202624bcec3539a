//! The rows of the result tables, field for column. A row goes into its table, and comes out of
//! it, as JSON, by its columns' names.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of a set of transactions: columns that `runs`, `run_scripts` and `run_intervals` share.
///
/// Times are in milliseconds; a figure that does not exist, such as the mean of nothing, is NULL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Successful transactions.
    pub transactions: i64,
    /// Transactions that failed with a serialization failure.
    pub serialization_failures: i64,
    /// Transactions that failed with a deadlock.
    pub deadlock_failures: i64,
    /// Transactions that failed otherwise.
    pub other_failures: i64,
    /// Transactions that were tried again.
    pub retried: i64,
    /// Tries beyond the first.
    pub retries: i64,
    /// Transactions that were due too long ago to begin.
    pub skipped: i64,
    /// Transactions above the latency limit.
    pub late: i64,
    /// Successful transactions per second.
    pub tps: Option<f64>,
    /// Mean latency.
    pub latency_avg_ms: Option<f64>,
    /// Standard deviation of the latency.
    pub latency_stddev_ms: Option<f64>,
    /// Shortest latency.
    pub latency_min_ms: Option<f64>,
    /// Median latency.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile.
    pub latency_p90_ms: Option<f64>,
    /// 95th percentile.
    pub latency_p95_ms: Option<f64>,
    /// 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub latency_p999_ms: Option<f64>,
    /// Longest latency.
    pub latency_max_ms: Option<f64>,
    /// Sum of all latencies.
    pub latency_sum_ms: f64,
    /// Sum of the squares of all latencies.
    pub latency_sum_squares_ms2: f64,
    /// Mean schedule lag.
    pub lag_avg_ms: Option<f64>,
    /// Longest schedule lag.
    pub lag_max_ms: Option<f64>,
    /// Mean time in `\sleep`, a part of the latency; NULL if no transaction slept.
    pub sleep_avg_ms: Option<f64>,
    /// Latency histogram, as `bytea` prints it.
    pub histogram: Option<String>,
}

/// A row of `bench.runs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number of the run; 0 on a standby, which cannot store it.
    pub run_id: i64,
    /// The role that ran it: its number when the row is written, so that it may be renamed or
    /// dropped meanwhile, and its name when it is read.
    pub owner: String,
    /// In which database.
    pub database_name: String,
    /// Host, port, database and user of the target; `None` is this server.
    pub target: Option<String>,
    /// The caller's label.
    pub label: Option<String>,
    /// `starting`, `running`, `finished`, `canceled`, `failed` or `lost`.
    pub state: String,
    /// `spi` or `libpq`.
    pub mode: String,
    /// Query protocol.
    pub protocol: String,
    /// Scripts with their weights, as given.
    pub scripts: Vec<String>,
    /// Number of clients.
    pub clients: i32,
    /// Number of jobs.
    pub jobs: i32,
    /// Clients of mode spi that ran in backends.
    pub backends: i32,
    /// Time limit in seconds.
    pub duration_s: Option<f64>,
    /// Limit of transactions per client.
    pub transactions_per_client: Option<i64>,
    /// Warm-up in seconds.
    pub warmup_s: f64,
    /// Length of an interval in seconds.
    pub interval_s: f64,
    /// Scheduled transactions per second over all clients.
    pub rate: Option<f64>,
    /// Latency in milliseconds above which a transaction is late.
    pub latency_limit_ms: Option<f64>,
    /// Tries of a transaction at most; 0 for any number.
    pub max_tries: i32,
    /// The user's variables, as texts.
    pub variables: BTreeMap<String, String>,
    /// Whether each transaction had a connection of its own.
    pub reconnect: bool,
    /// Whether an error of a statement ended the transaction only.
    pub continue_on_error: bool,
    /// Whether the run was to end when a client was aborted.
    pub exit_on_abort: bool,
    /// Whether single commands were measured.
    pub per_statement: bool,
    /// Whether the report tells failures apart by their kinds.
    pub failures_detailed: bool,
    /// Whether errors that did not abort a client were told.
    pub verbose_errors: bool,
    /// Whether transactions were logged.
    pub log: bool,
    /// The part of the transactions that was logged, if not all.
    pub sampling_rate: Option<f64>,
    /// What the names of log files began with.
    pub log_prefix: Option<String>,
    /// In what processes clients of mode spi were to run.
    pub client_process: String,
    /// What was vacuumed before.
    pub vacuum: String,
    /// Base seed, an unsigned number.
    pub seed: String,
    /// Scale of pgbench's tables.
    pub scale: i64,
    /// How `pgbench_accounts` is partitioned.
    pub partition_method: Option<String>,
    /// Into how many partitions.
    pub partitions: Option<i32>,
    /// The server.
    pub server_version: String,
    /// The server, as a number.
    pub server_version_num: i32,
    /// This extension.
    pub extension_version: String,
    /// When the run was asked for.
    pub created_at: String,
    /// When the start barrier opened.
    pub started_at: Option<String>,
    /// When the last client was done.
    pub finished_at: Option<String>,
    /// From the start, or the end of the warm-up, until the last client was done.
    pub seconds: Option<f64>,
    /// From the first worker's start until all clients were ready; with a connection for each
    /// transaction, the mean time that it took to make one.
    pub connection_ms: Option<f64>,
    /// What the harness itself cost per transaction, in microseconds: CPU time of the client
    /// workers in mode libpq, time outside of executor and commit in mode spi.
    pub harness_us: Option<f64>,
    /// The same as a part of the time that the client workers had, 0 to 1.
    pub harness_share: Option<f64>,
    /// For how long an old snapshot kept the run's dead rows from being removed.
    pub snapshot_held_s: Option<f64>,
    /// By whom, if one did.
    pub snapshot_held_by: Option<String>,
    /// Processors of this server's machine that the run could use.
    pub processors: Option<i32>,
    /// Other runs that were in progress on this server meanwhile, of all roles.
    pub other_runs: i32,
    /// Transactions, successful or failed, that ended during the warm-up.
    pub warmup_transactions: i64,
    /// Clients that gave up.
    pub aborted_clients: i32,
    /// Why the run or a client ended early.
    pub errors: Vec<String>,
    /// Process id of the coordinator.
    pub coordinator_pid: Option<i32>,
    /// Number of the run's shared memory segment.
    pub segment: Option<i64>,
    /// All transactions together.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Run {
    /// Whether the run has not ended, as far as the row tells.
    pub fn is_in_progress(&self) -> bool {
        matches!(self.state.as_str(), "starting" | "running")
    }
}

/// A row of `bench.run_scripts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunScript {
    /// The run.
    pub run_id: i64,
    /// Position among the run's scripts, from 0.
    pub script_no: i32,
    /// Name.
    pub name: String,
    /// As in the report's "transaction type".
    pub description: String,
    /// The script as it was.
    pub body: String,
    /// Weight.
    pub weight: i64,
    /// Its transactions.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A row of `bench.run_statements`: one command of a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStatement {
    /// The run.
    pub run_id: i64,
    /// Position of the script among the run's scripts, from 0.
    pub script_no: i32,
    /// Position among the script's commands, from 0.
    pub command_no: i32,
    /// Line of the script that it begins on, from 1.
    pub line: i32,
    /// All of its text.
    pub command: String,
    /// How often it was executed successfully.
    pub executions: i64,
    /// Transactions that failed for good at this command.
    pub failures: i64,
    /// Transactions that were tried again after it failed.
    pub retries: i64,
    /// Mean time that it took, in milliseconds.
    pub latency_avg_ms: Option<f64>,
    /// Its standard deviation.
    pub latency_stddev_ms: Option<f64>,
    /// Shortest time.
    pub latency_min_ms: Option<f64>,
    /// Median.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile.
    pub latency_p90_ms: Option<f64>,
    /// 95th percentile.
    pub latency_p95_ms: Option<f64>,
    /// 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub latency_p999_ms: Option<f64>,
    /// Longest time.
    pub latency_max_ms: Option<f64>,
    /// Histogram of the times, as `bytea` prints it; of two significant digits.
    pub histogram: Option<String>,
}

/// A row of `bench.run_intervals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInterval {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, from 0.
    pub interval_no: i32,
    /// When it began, in seconds after the start barrier opened.
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

/// A row of `bench.pgio_runs`: what a run of pgio's workload was, and its figures. Rates are per
/// second, over all sessions; what the server or the system does not tell is NULL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PgioRun {
    /// The run.
    pub run_id: i64,
    /// Number of tables.
    pub tables: i32,
    /// Sessions for each table.
    pub threads_per_table: i32,
    /// How many loops in a hundred update.
    pub update_pct: i32,
    /// How many keys further a loop reads.
    pub work_unit: i32,
    /// How many keys further a loop updates.
    pub update_work_unit: i32,
    /// Loops of a transaction.
    pub commit_every: i32,
    /// The part of each table's keys that was used, in percent.
    pub working_set_pct: f64,
    /// How rows were looked for: `index`, `bitmap` or `auto`.
    pub scan: String,
    /// Blocks of each table.
    pub scale: i64,
    /// Bytes of a block.
    pub block_bytes: i32,
    /// Bytes of all blocks in use.
    pub working_set_bytes: i64,
    /// Bytes of the server's shared buffers; NULL for a target.
    pub shared_buffers_bytes: Option<i64>,
    /// Bytes of memory that the server's machine has, or may use; NULL for a target.
    pub memory_bytes: Option<i64>,
    /// From the start, or the end of the warm-up, until the last session was done.
    pub seconds: Option<f64>,
    /// Loops that read.
    pub selects: i64,
    /// Loops that updated.
    pub updates: i64,
    /// Loops that failed.
    pub failed: i64,
    /// Blocks read into shared buffers: what pgio calls RIOPS.
    pub riops: Option<f64>,
    /// Blocks found in shared buffers.
    pub cache_hits_per_s: Option<f64>,
    /// Both together.
    pub logical_reads_per_s: Option<f64>,
    /// Bytes that came from a block device, in blocks.
    pub device_reads_per_s: Option<f64>,
    /// The same in megabytes of 10^6 bytes.
    pub device_read_mb_per_s: Option<f64>,
    /// Bytes that were given to the operating system to be written to a block device, in megabytes.
    pub device_write_mb_per_s: Option<f64>,
    /// Blocks that became dirty.
    pub blocks_dirtied_per_s: Option<f64>,
    /// Blocks that the sessions wrote: to make room for others, or by which a table grew.
    pub blocks_written_per_s: Option<f64>,
    /// Blocks that the sessions threw out of shared buffers to make room for others; NULL before
    /// PostgreSQL 18.
    pub blocks_evicted_per_s: Option<f64>,
    /// Bytes of WAL.
    pub wal_bytes_per_s: Option<f64>,
    /// Bytes of WAL of each update.
    pub wal_bytes_per_update: Option<f64>,
    /// Mean time of a loop that reads.
    pub select_avg_ms: Option<f64>,
    /// Its 99th percentile.
    pub select_p99_ms: Option<f64>,
    /// The longest.
    pub select_max_ms: Option<f64>,
    /// Mean time of a loop that updates.
    pub update_avg_ms: Option<f64>,
    /// Its 99th percentile.
    pub update_p99_ms: Option<f64>,
    /// The longest.
    pub update_max_ms: Option<f64>,
    /// Mean time of reading a block; NULL unless `track_io_timing` was on.
    pub read_avg_ms: Option<f64>,
    /// Its median.
    pub read_p50_ms: Option<f64>,
    /// Its 95th percentile.
    pub read_p95_ms: Option<f64>,
    /// Its 99th percentile.
    pub read_p99_ms: Option<f64>,
    /// The longest mean of a loop.
    pub read_max_ms: Option<f64>,
    /// Histogram of the time of reading a block, as `bytea` prints it.
    pub read_histogram: Option<String>,
}

/// A row of `bench.pgio_sessions`: one session of such a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The longest.
    pub select_max_ms: Option<f64>,
    /// Their histogram, as `bytea` prints it.
    pub select_histogram: Option<String>,
    /// Loops that updated.
    pub updates: i64,
    /// Mean time of these.
    pub update_avg_ms: Option<f64>,
    /// The longest.
    pub update_max_ms: Option<f64>,
    /// Their histogram, as `bytea` prints it.
    pub update_histogram: Option<String>,
    /// Loops that failed.
    pub failed: i64,
    /// The run's time.
    pub seconds: f64,
    /// Blocks found in shared buffers.
    pub blocks_hit: Option<i64>,
    /// Blocks read into them.
    pub blocks_read: Option<i64>,
    /// Blocks that became dirty.
    pub blocks_dirtied: Option<i64>,
    /// Blocks that it wrote: to make room for others, or by which its table grew.
    pub blocks_written: Option<i64>,
    /// Blocks that it threw out of shared buffers to make room for others; NULL before PostgreSQL
    /// 18.
    pub blocks_evicted: Option<i64>,
    /// Time of reading; 0 unless `track_io_timing` was on.
    pub read_ms: Option<f64>,
    /// Time of writing; 0 unless `track_io_timing` was on.
    pub write_ms: Option<f64>,
    /// Records of WAL.
    pub wal_records: Option<i64>,
    /// Images of pages among them.
    pub wal_fpi: Option<i64>,
    /// Bytes of WAL.
    pub wal_bytes: Option<i64>,
    /// Bytes that came from a block device.
    pub device_read_bytes: Option<i64>,
    /// Bytes that were given to the operating system to be written to a block device.
    pub device_write_bytes: Option<i64>,
    /// Histogram of the time of reading a block, as `bytea` prints it; NULL unless
    /// `track_io_timing` was on.
    pub read_histogram: Option<String>,
}

/// What the coordinator of a run answers its caller when it has ended.
#[derive(Serialize, Deserialize)]
pub enum Reply {
    /// The result is stored, under this number.
    Stored(i64),
    /// The result, which is not stored: by a standby, or because of an error that is a part of it.
    NotStored(Box<Finished>),
}

/// A finished run with everything that its report prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The run.
    pub run: Run,
    /// Its scripts in order.
    pub scripts: Vec<RunScript>,
    /// The commands of its scripts in order, if they were measured.
    pub statements: Vec<RunStatement>,
    /// What it was as a run of pgio's workload, if it was one.
    pub pgio: Option<PgioRun>,
}

impl Finished {
    /// The same without what may be large and is needed in tables alone: texts of scripts and
    /// histograms; without its commands, too, if it has more than some.
    pub fn abridged(mut self) -> Finished {
        const MAX_COMMANDS: usize = 500;
        const MAX_COMMAND_BYTES: usize = 64 << 10;
        self.run.figures.histogram = None;
        for script in &mut self.scripts {
            script.body.clear();
            script.figures.histogram = None;
        }
        let bytes: usize = self.statements.iter().map(|s| s.command.len()).sum();
        if self.statements.len() > MAX_COMMANDS || bytes > MAX_COMMAND_BYTES {
            self.statements.clear();
        }
        for statement in &mut self.statements {
            statement.histogram = None;
        }
        if let Some(pgio) = &mut self.pgio {
            pgio.read_histogram = None;
        }
        self
    }
}
