//! The lists of options. Each is a macro that passes its entries to another macro, behind given tokens:
//! structs are made of them, and here tables.
//!
//! An entry is `name: type = default, "pgbench's option" => column: type, not_compared;`. Without a
//! default, an `Option` is NULL; a type other than `Option` does not allow NULL. The column is that of
//! `bench.runs` which stores the option; `bench.compare_runs` compares it unless that differs from run to
//! run. The first sentence of a description is its short form; all of it is in the documentation.

use crate::Opt;

/// The options of `bench.run`; other functions have some of them.
#[macro_export]
macro_rules! run_options {
    ($make:ident! { $($before:tt)* }) => {
        $make! { $($before)* {
            /// Names of scripts with weights, such as `select-only@9, simple-update`. They are separated by
            /// commas; without `@`, the weight is 1. NULL is `tpcb-like`. A name is `tpcb-like`, `simple-update` or
            /// `select-only`; else a mix of a [workload](workloads.md), such as `tpcc`, or a script of one,
            /// `tpcc:payment`; else the beginning of one of the first three; else the name of a script that you
            /// stored with `bench.define_script`; `owner.name` for one that another role stored, with the
            /// owner as `regrole` prints it; with a slash, a file on the server (`pg_read_server_files`).
            /// Names are not folded to lower case. One with commas, dots, `@`, double quotes or surrounding
            /// braces is written in double quotes, like an identifier: `"/tmp/a, b.sql"@2`.
            scripts: Option<String>, "-b, -f" => scripts: Vec<String>;
            /// Execution mode: `spi` or `libpq`.
            mode: Mode = Mode::Spi => mode: Mode;
            /// Number of clients, which execute transactions concurrently.
            clients: i32 = 1, "-c" => clients: i32;
            /// Sets of clients in mode libpq, pgbench's threads. Each has its own random stream and its own
            /// log file. NULL: as many as there are CPUs, at most one per
            /// client, or more if a job would have over 250 clients. `bench.pgbench` has 1, like pgbench.
            jobs: Option<i32>, "-j" => jobs: i32;
            /// Processes that drive the jobs in mode libpq, at most one per job. NULL: as few as there are
            /// CPUs, as far as worker slots are free, which a notice tells, or more if a process would have
            /// over 250 clients, or a third of `max_files_per_process`. More processes than CPUs take turns.
            /// In mode spi each client is a separate process.
            workers: Option<i32> => workers: i32;
            /// Time during which transactions start. An interval, or a number of seconds; `10 s` unless
            /// `transactions` is given.
            duration: Option<Interval>, "-T" => duration_s: Option<f64>;
            /// Number of transactions per client after the warm-up, including failed ones.
            transactions: Option<i64>, "-t" => transactions_per_client: Option<i64>;
            /// Query protocol: `simple`, `extended` or `prepared`. pgbench's default is `simple`.
            protocol: Protocol = Protocol::Prepared, "-M" => protocol: String;
            /// Tables to vacuum before the run: `auto`, `always`, `none` or `all`. `auto`: branches and tellers, and history is emptied, if it
            /// has a built-in script; `always`: for all scripts (pgbench's default); `none`: nothing
            /// (`-n`); `all`: accounts as well (`-v`).
            vacuum: Vacuum = Vacuum::Auto => vacuum: String;
            /// Time at the start of the run that does not count. An interval, or a number of seconds.
            /// Transactions that end in it do not count, and `duration` starts after it. NULL is until the run
            /// is steady, see [Warm-up until steady](#warm-up-until-steady).
            warmup: Option<Interval> = seconds(0) => warmup_s: f64;
            /// Longest warm-up until steady. With `warmup => NULL`, the warm-up ends after that time even if
            /// the run is not steady.
            max_warmup: Interval = seconds(300) => max_warmup_s: Option<f64>;
            /// Time between notices with figures, at least 100 ms. During the warm-up, the notices say so and
            /// show only tps. Not for `bench.start` and `bench.start_pgio`, which do not wait.
            progress: Option<Interval>, "-P";
            /// Length of the intervals in `bench.run_intervals`, at least 100 ms. Work of clients after the
            /// end of `duration` belongs to the last interval, which ends with the last client; so does what
            /// is left of `duration`, if that is shorter than a tenth of an interval.
            aggregate_interval: Interval = seconds(1), "--aggregate-interval" => aggregate_interval_s: f64;
            /// Random seed: an integer from 0 to 18446744073709551615, `time` or `rand`. NULL is `time`.
            seed: Option<Seed>, "--random-seed" => seed: String, not_compared;
            /// Text that identifies the run in queries; at most 1024 bytes.
            label: Option<String> => label: Option<String>, not_compared;
            /// Target rate of all clients together, in transactions per second. Transactions are scheduled at
            /// random times (a Poisson process), the same for a seed in both modes and with any number of jobs:
            /// one schedule, of which each client takes the next start. `bench.pgbench` has one for each job,
            /// with its share of the rate, like pgbench: the more jobs, the longer transactions wait for their
            /// start.
            rate: Option<f64>, "-R" => rate: Option<f64>;
            /// Latency in milliseconds above which a transaction is late. With a rate, transactions that are
            /// already late before they start are skipped.
            latency_limit: Option<f64>, "-L" => latency_limit_ms: Option<f64>;
            /// Maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no
            /// limit and needs a duration or a latency limit. NULL: 1, or what the workload of the scripts says.
            max_tries: Option<i32>, "--max-tries" => max_tries: i32;
            /// Variables for scripts, a JSON object such as `{"scale": 10}`.
            variables: Option<Value>, "-D" => variables: BTreeMap<String, String>;
            /// A new connection for each transaction; mode libpq only.
            reconnect: bool = false, "-C" => reconnect: bool;
            /// Errors of statements end their transaction, not their client. NULL: false, or what the workload of
            /// the scripts says.
            continue_on_error: Option<bool>, "--continue-on-error" => continue_on_error: bool;
            /// The run stops when a client aborts.
            exit_on_abort: bool = false, "--exit-on-abort" => exit_on_abort: bool;
            /// Figures of each command, in `bench.run_statements`, with percentiles. Takes 17 kB of shared
            /// memory per command and client process, at most 1 GB.
            per_statement: bool = false, "-r" => per_statement: bool;
            /// The report counts failures by kind.
            failures_detailed: bool = false, "--failures-detailed" => failures_detailed: bool;
            /// A notice for each error that does not abort the client.
            verbose_errors: bool = false, "--verbose-errors" => verbose_errors: bool;
            /// A row for each transaction, in `bench.transactions`.
            log: bool = false, "-l" => log: bool;
            /// Fraction of the transactions to log, above 0 and at most 1; needs `log`.
            sampling_rate: Option<f64>, "--sampling-rate" => sampling_rate: Option<f64>;
            /// Path with which the names of log files begin; needs `log`. Writes files in pgbench's format, too
            /// (`pg_write_server_files`): an absolute path on the server, to which the coordinator's process
            /// ID is appended.
            log_prefix: Option<String>, "--log-prefix" => log_prefix: Option<String>;
            /// Server to connect to, in mode libpq: a connection string or the name of a foreign server. NULL
            /// is this server.
            target: Option<String>, "-h, -p, -U, database" => target: Option<String>;
            /// Processes of clients in mode spi: `worker`, `backend`, or `auto` (workers while there are free
            /// slots, then, for superusers, backends).
            client_process: ClientProcess = ClientProcess::Auto => client_process: String;
            /// A checkpoint on the server where the run takes place, after the vacuum and before the first
            /// transaction. So each run is as far from the next checkpoint. Needs privileges of
            /// `pg_checkpoint` there (before PostgreSQL 15: a superuser). On a standby, it is a restartpoint.
            checkpoint: bool = false => checkpoint: bool;
            /// Whether the coordinator observes the server beside the clients. This gives
            /// `bench.run_server_intervals`, `bench.run_environment`, `bench.run_tables`, `bench.run_waits`,
            /// `bench.run_stalls`, held snapshots
            /// ([where-time-goes.md](where-time-goes.md#the-server-interval-by-interval)). `false` turns all of
            /// that off, to measure what it costs.
            observe: bool = true => observe: bool;
            /// Whether the call stacks of the processes that do the work are sampled. See `bench.run_stacks`,
            /// `bench.top_functions` and [Profiles](where-time-goes.md#profiles). Linux on x86_64 and aarch64.
            profile: bool = false => profile: bool;
            /// Samples per second of what the clients' sessions wait for. From 0, which turns it off, to 1000,
            /// at random times; on a `target` at most 5. See
            /// [Waits](where-time-goes.md#waits).
            wait_sample_rate: f64 = 20.0 => wait_sample_rate: f64;
            /// Way of the connections of mode libpq to this server: `socket`, `tcp` or `auto`. `socket`: the first of
            /// `unix_socket_directories`; `tcp`: the first loopback address of `listen_addresses`, with TLS if
            /// the server offers it, as pgbench does; `auto`: `socket` if the server has one, else `tcp`.
            /// `bench.runs.connection` shows which one it was. Not with a `target`, whose connection string
            /// names the host.
            connection: Route = Route::Auto => connection: Option<String>;
            /// Session settings of the clients, a JSON object such as
            /// `{"synchronous_commit": "off", "work_mem": "64MB"}`. See [below](#settings-setup-and-teardown).
            settings: Option<Value>;
            /// SQL statements that are executed before the run. See [below](#settings-setup-and-teardown).
            setup: Option<String> => setup: Option<String>;
            /// SQL statements that are executed after the run, however it ends. See
            /// [below](#settings-setup-and-teardown).
            teardown: Option<String> => teardown: Option<String>;
            /// Whether the conditions of the workload's rows are checked after the run, as `bench.check_workload`
            /// does, outside of the measured time. See `bench.run_checks`. Scripts of a workload only, or
            /// built-in ones.
            verify: bool = false => verify: bool;
            /// Variables that scripts mention and nothing sets: `error` or `pgbench`. In the protocols extended
            /// and prepared, `error`: an error before the run starts; `pgbench`: NULL in statements, as in pgbench. See
            /// [above](#undefined-variables).
            undefined_variables: UndefinedVariables = UndefinedVariables::Error => undefined_variables: String;
            /// Statements, or a whole script in pgbench's language, to run instead of `scripts`:
            /// `sql => 'SELECT count(*) FROM orders'`. They are stored with the run.
            sql: Option<String> => sql: Option<String>;
            /// Rate as a multiple of the one at which a captured workload was executed, such as 2. Instead of
            /// `rate`. See [Captured workloads](workloads.md#captured-workloads).
            load_factor: Option<f64> => load_factor: Option<f64>;
            /// Whether a captured workload changes the tables that it was captured on, instead of copies of
            /// them. See [Captured workloads](workloads.md#captured-workloads).
            allow_writes: bool = false => allow_writes: bool;
        } }
    };
}

/// The options that `bench.run_pgio` has besides those of `bench.run`.
#[macro_export]
macro_rules! pgio_options {
    ($make:ident! { $($before:tt)* }) => {
        $make! { $($before)* {
            /// Number of tables to use, from `pgio1` on. NULL: all up to the first number that is missing; with a
            /// `target`, it must be given.
            tables: Option<i32>;
            /// Sessions of each table.
            threads_per_table: i32 = 1;
            /// Percentage of loops that update, 0 to 100.
            update_pct: i32 = 0;
            /// Length of the key range of a loop that reads: the number of blocks, minus 1.
            work_unit: i32 = 255;
            /// Length of the key range of a loop that updates, as above.
            update_work_unit: i32 = 8;
            /// Loops per transaction.
            commit_every: i32 = 1;
            /// Percentage of each table's keys that is used.
            working_set_pct: f64 = 100.0;
            /// Scan by which rows are looked for: `index`, `bitmap` or `auto`. `index`: an index scan, one
            /// block after the other, in the order of keys. `bitmap`: a bitmap heap scan, in the order of
            /// blocks, which prefetches as `effective_io_concurrency` allows. `auto`: the planner decides.
            scan: Scan = Scan::Index;
        } }
    };
}

/// The options of `bench.initialize`.
#[macro_export]
macro_rules! initialize_options {
    ($make:ident! { $($before:tt)* }) => {
        $make! { $($before)* {
            /// Scale: 100,000 accounts, 10 tellers and a branch each.
            scale: i32 = 1, "-s";
            /// Letters of steps: drop tables, create tables, generate data (`g`, or `G` by SQL on the server),
            /// vacuum, primary keys, foreign keys. The `seconds` of `p` include the time of step `g` that built
            /// the primary key of accounts.
            steps: String = "dtgvp", "-I";
            /// Fill factor of the tables, 10 to 100.
            fillfactor: i32 = 100, "-F";
            /// Partitions of accounts; 0 is none. Filling and dropping accounts locks all partitions at once:
            /// thousands of them need a larger `max_locks_per_transaction`.
            partitions: i32 = 0, "--partitions";
            /// Method of partitioning: `range`, which is the default, or `hash`.
            partition_method: Option<String>, "--partition-method";
            /// Foreign keys: adds `f` to the steps. The server validates them, in parallel according to
            /// `max_parallel_workers_per_gather`.
            foreign_keys: bool = false, "--foreign-keys";
            /// Unlogged tables.
            unlogged: bool = false, "--unlogged-tables";
            /// Tablespace of the tables.
            tablespace: Option<String>, "--tablespace";
            /// Tablespace of the indexes.
            index_tablespace: Option<String>, "--index-tablespace";
            /// Server to connect to: a connection string or the name of a foreign server. NULL is this server.
            target: Option<String>, "-h, -p, -U, database";
            /// Number of processes that fill accounts, including the loader. NULL: one per CPU, at most
            /// `max_parallel_maintenance_workers` + 1.
            workers: Option<i32>;
            /// Whether not to check, before anything is dropped, that there is space. Tables, primary keys and
            /// their WAL must fit into the file systems of their tablespaces and of `pg_wal`. The file systems
            /// of a target are not checked. A load that fills the disk can keep the server from starting:
            /// recovery needs the same space.
            force: bool = false;
        } }
    };
}

/// The options of `bench.initialize_pgio`.
#[macro_export]
macro_rules! initialize_pgio_options {
    ($make:ident! { $($before:tt)* }) => {
        $make! { $($before)* {
            /// Number of tables.
            tables: i32 = 1;
            /// Size of each table without its index: a number of blocks, or a number with a unit of
            /// `pg_size_bytes` (`64MB`, `1.5TB`; pgio's `M`, `G`, `T` as well).
            size: String = "1GB";
            /// Number of processes that fill tables, including the loader. NULL: one per CPU, at most
            /// `max_parallel_maintenance_workers` + 1.
            workers: Option<i32>;
            /// Server to connect to: a connection string or the name of a foreign server. NULL is this server.
            target: Option<String>;
            /// Tablespace of the tables.
            tablespace: Option<String>;
            /// Tablespace of the indexes.
            index_tablespace: Option<String>;
            /// Unlogged tables.
            unlogged: bool = false;
            /// Whether not to check, before anything is dropped, that there is space.
            force: bool = false;
            /// Random seed, which determines the order of keys: an integer from 0 to 18446744073709551615,
            /// `time` or `rand`. NULL is `time`.
            seed: Option<Seed>;
        } }
    };
}

/// The options of `bench.initialize` for a workload.
#[macro_export]
macro_rules! initialize_workload_options {
    ($make:ident! { $($before:tt)* }) => {
        $make! { $($before)* {
            /// Scale, in units of the workload.
            scale: i32 = 1;
            /// Variables of the workload, a JSON object of integers such as `{"rows": 1000}`.
            variables: Option<Value>;
            /// Random seed, which determines the rows: an integer from 0 to 18446744073709551615,
            /// `time` or `rand`. NULL is `time`.
            seed: Option<Seed>;
            /// Number of processes that fill tables, including the loader. NULL: one per CPU, at most
            /// `max_parallel_maintenance_workers` + 1.
            workers: Option<i32>;
            /// Server to connect to: a connection string or the name of a foreign server. NULL is this server.
            target: Option<String>;
            /// Tablespace of the tables and their indexes.
            tablespace: Option<String>;
            /// Unlogged tables.
            unlogged: bool = false;
            /// Whether to drop tables with the names of the workload's that no initialization has made, and not
            /// to check, before anything is dropped, that there is space.
            force: bool = false;
            /// Steps: `d` drops the tables only; NULL is all of them.
            steps: Option<String>;
        } }
    };
}

/// Makes a table of a list.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        $table:ident {
            $(
                #[doc = $first:literal]
                $(#[doc = $more:literal])*
                $option:ident: $type:ty $(= $default:expr)? $(, $pgbench:literal)?
                    $(=> $column:ident: $stored:ty $(, $not_compared:ident)?)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        pub const $table: &[Opt] = &[$(Opt {
            name: stringify!($option),
            of_type: stringify!($type),
            default: first(&[$(stringify!($default))?]),
            description: &[$first $(, $more)*],
            pgbench: first(&[$($pgbench)?]),
            column: first(&[$(stringify!($column))?]),
            column_type: first(&[$(stringify!($stored))?]),
            is_compared: first(&[$($(stringify!($not_compared))?)?]).is_none(),
        }),*];
    };
}

const fn first(of: &[&'static str]) -> Option<&'static str> {
    match of {
        [one, ..] => Some(one),
        [] => None,
    }
}

run_options!(table! {
    /// The options of `bench.run`, in the order of its arguments.
    RUN
});
pgio_options!(table! {
    /// The options that `bench.run_pgio` has besides.
    PGIO
});
initialize_options!(table! {
    /// The options of `bench.initialize`.
    INITIALIZE
});
initialize_pgio_options!(table! {
    /// The options of `bench.initialize_pgio`.
    INITIALIZE_PGIO
});
initialize_workload_options!(table! {
    /// The options of `bench.initialize` for a workload.
    INITIALIZE_WORKLOAD
});
