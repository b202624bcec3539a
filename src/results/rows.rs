//! The rows of the result tables, field for column. A row goes into its table, and comes out of
//! it, as JSON, by its columns' names.

use serde::{Deserialize, Serialize};

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
    /// Latency histogram, as `bytea` prints it.
    pub histogram: Option<String>,
}

/// A row of `bench.runs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number of the run; 0 on a standby, which cannot store it.
    pub run_id: i64,
    /// Who ran it.
    pub role_name: String,
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
    /// Whether each transaction had a connection of its own.
    pub reconnect: bool,
    /// Whether single commands were measured.
    pub per_statement: bool,
    /// Whether the report tells failures apart by their kinds.
    pub failures_detailed: bool,
    /// Whether transactions were logged.
    pub log: bool,
    /// The part of the transactions that was logged, if not all.
    pub sampling_rate: Option<f64>,
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
    /// Transactions that ended during the warm-up.
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
    /// Longest time.
    pub latency_max_ms: Option<f64>,
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
}
