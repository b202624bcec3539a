//! The meaning of a command line.

use std::collections::BTreeMap;

use selfbench_model::InitializeStep;
use selfbench_model::Mode;
use selfbench_script::Protocol;
use selfbench_script::builtin::Builtin;

/// Action that a command line requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// To print [`help`](crate::help()).
    Help,
    /// To print the [`version`](crate::version()).
    Version,
    /// To print [`list_scripts`](crate::list_scripts()).
    ListScripts,
    /// To print [`show_script`](crate::show_script()).
    ShowScript(&'static Builtin),
    /// To create and fill pgbench's tables.
    Initialize(Initialize),
    /// To run scripts.
    Run(Run),
}

/// The connection parameters; libpq decides about missing ones. Texts may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// `-h`: host name, or directory of the socket.
    pub host: Option<String>,
    /// `-p`: port, as text.
    pub port: Option<String>,
    /// `-U`: user name.
    pub user: Option<String>,
    /// Database name or connection string.
    pub dbname: Option<String>,
}

/// An initialization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialize {
    /// Connection.
    pub connection: Connection,
    /// The mode in which statements are executed, if that makes a difference.
    pub mode: Mode,
    /// Whether to print debugging messages.
    pub debug: bool,
    /// Steps, in this order: `-I` without what `-n` takes away, with what `--foreign-keys` adds.
    /// May be empty.
    pub steps: Vec<InitializeStep>,
    /// Scale, 1 or more.
    pub scale: i32,
    /// Fill factor of the tables in percent, 10 to 100.
    pub fillfactor: i32,
    /// Partitioning of accounts, if they are partitioned.
    pub partitioning: Option<Partitioning>,
    /// Whether to report progress less often.
    pub quiet: bool,
    /// Whether tables are unlogged.
    pub unlogged: bool,
    /// The tablespace of tables.
    pub tablespace: Option<String>,
    /// The tablespace of indexes.
    pub index_tablespace: Option<String>,
}

/// Partitioning of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// Number of partitions, 1 or more.
    pub count: i32,
    /// The partitioning method.
    pub method: PartitionMethod,
}

/// The partitioning method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionMethod {
    /// By ranges of the account number.
    #[default]
    Range,
    /// By a hash of the account number.
    Hash,
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Connection.
    pub connection: Connection,
    /// The mode in which transactions are executed.
    pub mode: Mode,
    /// Whether to print debugging messages.
    pub debug: bool,
    /// The scripts to run, 1 to 128, with a sum of weights above 0. Their files have not been
    /// opened.
    pub scripts: Vec<Script>,
    /// Number of clients, 1 or more.
    pub clients: i32,
    /// Number of threads, 1 to the number of clients.
    pub jobs: i32,
    /// When it ends.
    pub limit: Limit,
    /// Protocol of statements.
    pub protocol: Protocol,
    /// The user's variables, texts that are not empty, by name.
    pub variables: BTreeMap<String, String>,
    /// The text of the random seed, which [`parse_seed`](selfbench_script::parse_seed) takes.
    pub seed: Option<String>,
    /// Vacuum before the run.
    pub vacuum: Vacuum,
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
    /// Scheduled transactions per second over all clients, above 0.
    pub rate: Option<f64>,
    /// Latency in microseconds, above 0, from which on a transaction is late.
    pub latency_limit_us: Option<i64>,
    /// Maximum number of tries of a transaction; 0 means no limit.
    pub max_tries: i32,
    /// The scale that is reported and that the variable `scale` has, 1 or more. With builtin
    /// scripts the tables decide.
    pub scale: Option<i32>,
    /// Seconds between reports of progress, 1 or more.
    pub progress_s: Option<i32>,
    /// Whether these show the time of day as seconds since 1970.
    pub progress_timestamp: bool,
    /// Whether and how transactions are logged.
    pub log: Option<Log>,
    /// Whether to report on each command of the scripts.
    pub report_per_command: bool,
    /// Whether failures are reported by their kinds.
    pub failures_detailed: bool,
    /// Whether each error is reported.
    pub verbose_errors: bool,
    /// Whether the run ends when a client is aborted.
    pub exit_on_abort: bool,
    /// Whether an error of a statement ends the transaction only.
    pub continue_on_error: bool,
}

/// A script to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Source.
    pub source: ScriptSource,
    /// Its relative frequency, 0 to 2147483647.
    pub weight: i64,
}

/// Source of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// A builtin script.
    Builtin(&'static Builtin),
    /// A file of that name; `-` is the standard input.
    File(String),
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this number of transactions of each client, 1 or more.
    TransactionsPerClient(i32),
    /// After this number of seconds, 1 or more.
    Seconds(i32),
}

/// Vacuum before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vacuum {
    /// Nothing.
    None,
    /// The small tables; history is emptied.
    #[default]
    Small,
    /// These tables and accounts.
    All,
}

/// Log of transactions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The prefix of the file names.
    pub prefix: Option<String>,
    /// Share of the transactions that is logged, above 0 and at most 1. Not with
    /// `aggregate_interval_s`.
    pub sampling_rate: Option<f64>,
    /// Seconds that a line aggregates, 1 or more; a divisor of the run's duration.
    pub aggregate_interval_s: Option<i32>,
}
