//! All errors that users can get, with SQLSTATE, detail and hint.
//!
//! Errors travel three ways: raised in the caller's backend ([`Error::raise`]), sent from a worker
//! to the backend through shared memory as a [`Report`], and stored with a run as text.

mod document;
#[allow(unsafe_code)]
pub mod message;
#[allow(unsafe_code)]
mod report;
#[allow(unsafe_code)]
mod sqlstate;

pub use document::{problem, reworded};
pub use report::{Report, report_of};
pub use sqlstate::with_callback;

use crate::text::storable;
use pgrx::PgSqlErrorCode as Sqlstate;
use pgrx::PgTryBuilder;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use selfbench_report::condition::{self, ConditionError, Outcome};
use selfbench_report::remedy_of_small_pool;
use selfbench_script::{ScriptError, ScriptErrorKind};
use sqlstate::{decode, encode};
use std::panic::AssertUnwindSafe;

/// The text of an operating system error, without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// All errors of the extension.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option's value is not valid.
    #[error("invalid value for option \"{option}\": {value}")]
    Option {
        option: &'static str,
        value: String,
        valid: String,
    },
    /// No option has this name.
    #[error("unknown option \"{name}\"")]
    UnknownOption {
        name: String,
        nearest: Option<&'static str>,
    },
    /// An option that needs a value is NULL.
    #[error("option \"{option}\" must not be null")]
    NullOption { option: &'static str },
    /// An argument without a default is NULL.
    #[error("{name} must not be null")]
    NullArgument { name: &'static str },
    /// An element of an array is NULL.
    #[error("{name} must not contain nulls")]
    NullElement { name: &'static str },
    /// A percentile outside of its range.
    #[error("percentile value {0} is not between 0 and 100")]
    Percentile(f64),
    /// A condition that cannot be checked.
    #[error("{0}")]
    Condition(ConditionError),
    /// Conditions that do not hold.
    #[error("{what} does not meet {unmet} of {} conditions", .outcomes.len())]
    Unmet {
        what: String,
        unmet: usize,
        outcomes: Vec<Outcome>,
    },
    /// A document with a run that cannot be read.
    #[error("cannot import the document: {0}")]
    Document(String),
    /// Two options that exclude each other, one that needs another, or one that is to be written
    /// otherwise.
    #[error("{message}")]
    OptionConflict { message: String, hint: String },
    /// No script of that name.
    #[error("{message}")]
    UnknownScript { message: String, hint: String },
    /// No workload of that name.
    #[error("workload \"{name}\" does not exist")]
    UnknownWorkload {
        name: String,
        nearest: Option<String>,
    },
    /// The caller has no value set of that name.
    #[error("value set \"{set}\" does not exist")]
    UnknownValueSet { set: String, detail: String },
    /// A script does not parse.
    #[error("{0}")]
    Script(Box<ScriptError>),
    /// Scripts mention variables that nothing sets.
    #[error("{message}")]
    UndefinedVariables {
        message: String,
        detail: String,
        hint: String,
    },
    /// The server has too few background worker slots.
    #[error("not enough background worker slots: {needed} needed, {free} free")]
    WorkerSlots {
        needed: usize,
        free: usize,
        limit: i32,
        /// Least `max_connections` with which the clients could be backends instead.
        connections: Option<i64>,
    },
    /// A run asks for more than a limit of its role, or has reached it.
    #[error("{message}")]
    LimitExceeded {
        message: String,
        detail: String,
        setting: &'static str,
        /// Whether it is a limit of runs in progress.
        runs: bool,
    },
    /// A procedure that commits is called where it cannot.
    #[error("bench.prune cannot be called in a transaction block or a function")]
    TransactionCannotEnd,
    /// Figures of single commands would take too much shared memory.
    #[error(
        "option \"per_statement\" needs {megabytes} MB of shared memory for {commands} commands \
         of {processes} client processes"
    )]
    CommandHistograms {
        commands: usize,
        processes: usize,
        megabytes: usize,
        limit: usize,
    },
    /// The coordinator cannot allocate the counters of a run's latencies.
    #[error("out of memory")]
    CounterMemory { bytes: usize },
    /// The server has too few connections.
    #[error("not enough connections: {needed} needed, {free} free")]
    Connections {
        needed: usize,
        free: usize,
        limit: i32,
        reserved: i32,
    },
    /// A table that the scripts need does not exist.
    #[error("relation \"{table}\" does not exist")]
    TableMissing { table: String, hint: String },
    /// A table that determines the scale has no rows.
    #[error("relation \"{table}\" is empty")]
    TableEmpty { table: String, hint: String },
    /// A relation or type has the name of one of pgbench's or pgio's tables, but is not such a
    /// table.
    #[error("refusing to replace \"{relation}\": {why}")]
    NameTaken { relation: String, why: String },
    /// A relation is not the table that its name stands for, and could execute what others have written.
    #[error("refusing to use \"{relation}\": {why}")]
    NotUsable { relation: String, why: String },
    /// The tables or their WAL are larger than the free space.
    #[error("the tables would not fit into the file system of {place}")]
    DiskFull {
        place: String,
        needed: String,
        free: String,
        freed: Option<String>,
    },
    /// A process of the server with the tables, if it is known, holds the lock for initializing them.
    #[error("another session has locked these tables for an initialization")]
    TablesLocked { pid: Option<String> },
    /// The caller's transaction holds a lock that its workers need.
    #[error("the current transaction holds a lock that the benchmark's workers need")]
    CallerLocks { holds: String },
    /// A client waits for the end of the caller's transaction.
    #[error("the run waits for the calling transaction to end, which waits for the run")]
    CallerAwaited { pid: i32, statement: String },
    /// The server or the session does not allow writing.
    #[error("cannot {what} {why}")]
    ReadOnly {
        what: String,
        why: &'static str,
        hint: String,
    },
    /// A client's session does not have a setting that the run asks for.
    #[error("a client has \"{is}\" for setting \"{name}\" instead of \"{wanted}\"")]
    SettingDiffers {
        name: String,
        wanted: String,
        is: String,
    },
    /// A function is called where or when this is not possible.
    #[error("{message}")]
    Misplaced { message: String, hint: String },
    /// The role cannot be used by background workers.
    #[error("role \"{role}\" is not permitted to log in")]
    RoleCannotLogin { role: String },
    /// Row security applies to the caller in a table that is to be filled by COPY.
    #[error("cannot fill table \"{table}\" with row-level security")]
    RowSecurity { table: String },
    /// The caller lacks a privilege.
    #[error("permission denied for {what}")]
    Denied { what: String, hint: String },
    /// The caller may not open loopback connections.
    #[error("permission denied for mode \"libpq\"")]
    LoopbackDenied,
    /// No such run, or not one that the caller may see.
    #[error("run {run_id} does not exist")]
    UnknownRun { run_id: i64 },
    /// No such set, or not one that the caller may see.
    #[error("set {set_id} does not exist")]
    UnknownSet { set_id: i64 },
    /// The caller has no job of that name.
    #[error("job \"{job_name}\" does not exist")]
    UnknownJob { job_name: String },
    /// No alert of that number, or the caller may not change it.
    #[error("alert {alert_id} does not exist")]
    UnknownAlert { alert_id: i64 },
    /// Another session drives the set.
    #[error("set {set_id} is in progress")]
    SetInProgress { set_id: i64 },
    /// The run's coordinator is gone and it left no result.
    #[error("run {run_id} was lost")]
    LostRun { run_id: i64 },
    /// A run is to be shown without its number, and the caller has none.
    #[error("there is no run to report")]
    NoRun,
    /// A set is to be shown without its number, and the caller has none.
    #[error("there is no set of runs to show")]
    NoSet,
    /// No run that the caller may see has the label.
    #[error("there is no run with label \"{0}\"")]
    UnknownLabel(String),
    /// The extension was dropped during the run or set, and the type of the result with it; it may have been
    /// created again.
    #[error(
        "extension \"pg_selfbench\" was dropped or re-created while the benchmark was in progress"
    )]
    ExtensionDropped,
    /// A worker ended without reporting a reason.
    #[error("{what} ended unexpectedly")]
    WorkerDied { what: String },
    /// A worker has loaded another version of the library than the session that started it.
    #[error("the library of pg_selfbench has been replaced since this session loaded it")]
    LibraryReplaced,
    /// A worker did not exit although it was requested to.
    #[error("{what} did not exit when requested")]
    WorkerStays { what: String },
    /// The run was canceled.
    #[error("benchmark canceled {by}")]
    Canceled { by: String },
    /// A text argument, by its name, in a database whose encoding is not UTF8.
    #[error("argument \"{name}\" is not valid {needed}")]
    UnreadableText {
        name: &'static str,
        needed: &'static str,
    },
    /// A value of a set, in a database whose encoding is not UTF8.
    #[error("row {row} of value set \"{set}\" is not valid {needed}")]
    UnreadableRow {
        set: String,
        row: i32,
        needed: &'static str,
    },
    /// The library and the functions' declarations in SQL do not agree.
    #[error("the library of pg_selfbench {0}")]
    Mismatch(String),
    /// No client finished a transaction.
    #[error("{message}")]
    AllAborted {
        message: String,
        first: String,
        hint: Option<String>,
    },
    /// A client could not connect to the server.
    #[error("could not connect client {client} to the server: {message}")]
    Connect {
        client: usize,
        sqlstate: Option<String>,
        message: String,
    },
    /// A script file cannot be read.
    #[error("could not open file \"{name}\": {message}")]
    ScriptFile { name: String, message: String },
    /// The role does not exist.
    #[error("role with OID {role} does not exist")]
    UnknownRole { role: u32 },
    /// A run cannot be deleted because it has not ended.
    #[error("run {run_id} is in progress")]
    RunInProgress { run_id: i64 },
    /// The row of a run was deleted before the run ended.
    #[error("run {run_id} was deleted while it was in progress")]
    RunDeleted { run_id: i64 },
    /// Another process executes the teardown of a run.
    #[error("the teardown of run {run_id} is in progress")]
    TeardownInProgress { run_id: i64 },
    /// Statements of a due teardown have failed.
    #[error("the teardown of run {run_id} is still not done")]
    TeardownFailed { run_id: i64, failures: Vec<String> },
    /// The target for a teardown is not that of the run.
    #[error("the target is not that of the run")]
    OtherTarget { wanted: String, is: String },
    /// A log file cannot be created or written.
    #[error("could not write log file \"{path}\": {message}")]
    LogFile { path: String, message: String },
    /// The coordinator or the loader could not connect to the target.
    #[error("could not connect to the target: {message}")]
    ConnectTarget {
        sqlstate: Option<String>,
        message: String,
    },
    /// A non-superuser specifies a target without a password.
    #[error("password is required")]
    PasswordNotGiven,
    /// The target accepted a non-superuser without asking for the password.
    #[error("password is required")]
    PasswordNotUsed,
    /// Bytes that are not a stored latency histogram.
    #[error("invalid latency histogram: {0}")]
    BadHistogram(String),
    /// A limit of the design.
    #[error("{0}")]
    Limit(String),
    /// An error that PostgreSQL raised, or that came from another process of the run.
    #[error("{}", .0.message)]
    Server(Box<Report>),
}

impl Error {
    fn sqlstate(&self) -> Sqlstate {
        match self {
            Error::Option { .. } => Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE,
            Error::NullOption { .. } | Error::NullArgument { .. } | Error::NullElement { .. } => {
                Sqlstate::ERRCODE_NULL_VALUE_NOT_ALLOWED
            }
            Error::Percentile(_) | Error::OptionConflict { .. } | Error::UnknownOption { .. } => {
                Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE
            }
            Error::Condition(
                ConditionError::UnknownFigure { .. } | ConditionError::UnknownArm { .. },
            ) => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::Condition(_) | Error::Document(_) => Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE,
            // No other error of the extension has it, and WHEN OTHERS does not catch it.
            Error::Unmet { .. } => Sqlstate::ERRCODE_ASSERT_FAILURE,
            Error::UnknownScript { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::UnknownWorkload { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::UnknownValueSet { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::Script(error) => match error.kind {
                ScriptErrorKind::Syntax => Sqlstate::ERRCODE_SYNTAX_ERROR,
                ScriptErrorKind::Limit => Sqlstate::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                ScriptErrorKind::OutOfMemory => Sqlstate::ERRCODE_OUT_OF_MEMORY,
            },
            Error::UndefinedVariables { .. } => Sqlstate::ERRCODE_UNDEFINED_PARAMETER,
            Error::WorkerSlots { .. } => Sqlstate::ERRCODE_INSUFFICIENT_RESOURCES,
            Error::LimitExceeded { .. } => Sqlstate::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            Error::TransactionCannotEnd => Sqlstate::ERRCODE_ACTIVE_SQL_TRANSACTION,
            Error::CommandHistograms { .. } => Sqlstate::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Error::CounterMemory { .. } => Sqlstate::ERRCODE_OUT_OF_MEMORY,
            Error::Connections { .. } => Sqlstate::ERRCODE_TOO_MANY_CONNECTIONS,
            Error::TableMissing { .. } => Sqlstate::ERRCODE_UNDEFINED_TABLE,
            Error::TableEmpty { .. } => Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Error::NameTaken { .. } | Error::NotUsable { .. } => {
                Sqlstate::ERRCODE_WRONG_OBJECT_TYPE
            }
            Error::DiskFull { .. } => Sqlstate::ERRCODE_DISK_FULL,
            Error::TablesLocked { .. } => Sqlstate::ERRCODE_LOCK_NOT_AVAILABLE,
            Error::CallerLocks { .. } | Error::CallerAwaited { .. } => {
                Sqlstate::ERRCODE_OBJECT_IN_USE
            }
            Error::ReadOnly { .. } => Sqlstate::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            Error::SettingDiffers { .. } => Sqlstate::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
            Error::Misplaced { .. } => Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Error::RoleCannotLogin { .. } => Sqlstate::ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
            Error::Denied { .. } => Sqlstate::ERRCODE_INSUFFICIENT_PRIVILEGE,
            Error::RowSecurity { .. } => Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
            Error::LoopbackDenied => Sqlstate::ERRCODE_INSUFFICIENT_PRIVILEGE,
            Error::UnknownRun { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::UnknownSet { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::UnknownJob { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::UnknownAlert { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::SetInProgress { .. } => Sqlstate::ERRCODE_OBJECT_IN_USE,
            Error::LostRun { .. } => Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Error::NoRun | Error::NoSet | Error::UnknownLabel(_) => {
                Sqlstate::ERRCODE_UNDEFINED_OBJECT
            }
            Error::ExtensionDropped => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::WorkerDied { .. } | Error::WorkerStays { .. } => {
                Sqlstate::ERRCODE_OPERATOR_INTERVENTION
            }
            Error::LibraryReplaced => Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Error::Canceled { .. } => Sqlstate::ERRCODE_QUERY_CANCELED,
            Error::UnreadableText { .. } | Error::UnreadableRow { .. } => {
                Sqlstate::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE
            }
            Error::Mismatch(_) => Sqlstate::ERRCODE_INVALID_FUNCTION_DEFINITION,
            Error::AllAborted { .. } => Sqlstate::ERRCODE_OPERATOR_INTERVENTION,
            Error::ScriptFile { .. } => Sqlstate::ERRCODE_UNDEFINED_FILE,
            Error::UnknownRole { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::RunInProgress { .. } | Error::TeardownInProgress { .. } => {
                Sqlstate::ERRCODE_OBJECT_IN_USE
            }
            Error::TeardownFailed { .. } => Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Error::OtherTarget { .. } => Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE,
            Error::RunDeleted { .. } => Sqlstate::ERRCODE_UNDEFINED_OBJECT,
            Error::LogFile { .. } => Sqlstate::ERRCODE_IO_ERROR,
            Error::Connect { sqlstate, .. } | Error::ConnectTarget { sqlstate, .. } => {
                match sqlstate.as_deref().and_then(encode) {
                    Some(code) => code.into(),
                    None => Sqlstate::ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
                }
            }
            Error::PasswordNotGiven | Error::PasswordNotUsed => {
                Sqlstate::ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED
            }
            Error::BadHistogram(_) => Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE,
            Error::Limit(_) => Sqlstate::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Error::Server(report) => {
                encode(&report.sqlstate).map_or(Sqlstate::ERRCODE_INTERNAL_ERROR, Sqlstate::from)
            }
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            Error::Option { valid, .. } => Some(valid.clone()),
            Error::Condition(
                ConditionError::Syntax { expected: why, .. } | ConditionError::Mismatch { why, .. },
            ) => Some(why.clone()),
            Error::Unmet { outcomes, .. } => Some(condition::lines(outcomes)),
            Error::WorkerSlots { limit, .. } => Some(format!(
                "\"max_worker_processes\" is {limit}; other workers use some of them."
            )),
            Error::LimitExceeded { detail, .. } => Some(detail.clone()),
            Error::CommandHistograms { limit, .. } => Some(format!("The limit is {limit} MB.")),
            Error::CounterMemory { bytes } => {
                Some(format!("The run's latency counters need {bytes} bytes."))
            }
            Error::Connections {
                limit, reserved, ..
            } => Some(format!(
                "\"max_connections\" is {limit}, of which {reserved} are reserved for superusers."
            )),
            Error::DiskFull {
                needed,
                free,
                freed,
                ..
            } => Some(match freed {
                Some(freed) => format!(
                    "About {needed} are needed there; {free} are free, and dropping the existing \
                     tables frees {freed}."
                ),
                None => format!("About {needed} are needed there, and {free} are free."),
            }),
            Error::CallerLocks { holds } => Some(format!("It {holds}.")),
            Error::CallerAwaited { pid, statement } => Some(format!(
                "Process {pid} waits for transactions that hold an older snapshot or use the same \
                 table: {statement}"
            )),
            Error::LoopbackDenied => Some(
                "Loopback connections are authenticated as the server's operating system user; \
                 only superusers may use them."
                    .into(),
            ),
            Error::LostRun { .. } => Some(
                "Its coordinator ended before it stored a result, as at a crash of the server."
                    .into(),
            ),
            Error::UndefinedVariables { detail, .. } | Error::UnknownValueSet { detail, .. } => {
                Some(detail.clone())
            }
            Error::TablesLocked { pid: Some(pid) } => Some(format!(
                "Process {pid} of the server with the tables holds the lock."
            )),
            Error::AllAborted { first, .. } => {
                Some(first.clone()).filter(|first| !first.is_empty())
            }
            Error::TeardownFailed { failures, .. } => Some(failures.join("\n")),
            Error::OtherTarget { wanted, is } => {
                Some(format!("It is {is}, and the run's was {wanted}."))
            }
            Error::PasswordNotGiven => Some("Non-superusers must provide a password.".into()),
            Error::PasswordNotUsed => Some("The target did not ask for the password.".into()),
            Error::Server(report) => report.detail.clone(),
            _ => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Error::NullOption { .. } => Some("Leave the option out to get its default.".into()),
            Error::OptionConflict { hint, .. }
            | Error::UnknownScript { hint, .. }
            | Error::UndefinedVariables { hint, .. }
            | Error::Denied { hint, .. }
            | Error::Misplaced { hint, .. }
            | Error::ReadOnly { hint, .. }
            | Error::TableMissing { hint, .. }
            | Error::TableEmpty { hint, .. } => Some(hint.clone()),
            Error::Condition(error) => Some(match error {
                ConditionError::Syntax { .. } | ConditionError::Mismatch { .. } => {
                    condition::EXAMPLE.into()
                }
                ConditionError::UnknownFigure { known, .. }
                | ConditionError::UnknownArm { known, .. } => known.clone(),
            }),
            Error::Document(_) => Some("Use documents of bench.export_run as they are.".into()),
            Error::Script(error) => error.hint.as_deref().map(str::to_owned),
            Error::WorkerSlots {
                needed,
                free,
                limit,
                connections,
            } => {
                let wanted = *limit as i64 + (*needed as i64 - *free as i64);
                Some(match connections {
                    None => format!(
                        "Use fewer clients or workers, or set \"max_worker_processes\" to at least \
                         {wanted} and restart the server."
                    ),
                    Some(connections) => format!(
                        "Clients need no worker slots with client_process => 'backend' or mode => \
                         'libpq': they take connections, for which \"max_connections\" must be at \
                         least {connections}. Otherwise use fewer clients, or set \
                         \"max_worker_processes\" to at least {wanted} and restart the server."
                    ),
                })
            }
            Error::Connections {
                needed,
                free,
                limit,
                ..
            } => Some(format!(
                "Use fewer clients, or set \"max_connections\" to at least {} and restart the \
                 server.",
                *limit as i64 + (*needed as i64 - *free as i64)
            )),
            Error::CounterMemory { .. } => {
                Some("Use fewer scripts or clients, or fewer workers in mode libpq.".into())
            }
            Error::LimitExceeded { runs: true, .. } => {
                Some("Wait until a run has ended, or cancel one with bench.cancel.".into())
            }
            Error::LimitExceeded { setting, .. } => Some(format!(
                "A superuser, or a role with the SET privilege on the parameter, can change it: ALTER ROLE ... SET \
                 {setting}, ALTER DATABASE ... SET, or the configuration file."
            )),
            Error::TransactionCannotEnd => {
                Some("It commits after each 100 runs. Send CALL bench.prune as a statement of its own.".into())
            }
            Error::CommandHistograms { .. } => Some(
                "Use fewer scripts or clients, or fewer workers in mode libpq, or leave the option \
                 out."
                    .into(),
            ),
            Error::NameTaken { .. } | Error::NotUsable { .. } => Some(
                "Rename or drop it yourself, or set search_path so that another schema comes \
                 first."
                    .into(),
            ),
            Error::TablesLocked { .. } => Some(
                "Wait until its initialization has ended, or end that session if it has none.".into(),
            ),
            Error::DiskFull { .. } => Some(
                "Choose a smaller scale or size, or another tablespace. With force => true, \
                 bench.initialize does not check this; a full disk can then keep the server from \
                 starting."
                    .into(),
            ),
            Error::CallerLocks { .. } => Some(
                "Commit or roll back before the call: workers run in separate transactions."
                    .into(),
            ),
            Error::UnreadableText { .. } | Error::UnreadableRow { .. } => {
                Some("Use a database whose encoding is UTF8 for texts with other characters.".into())
            }
            Error::UnknownOption { nearest, .. } => Some(match nearest {
                Some(name) => format!("Perhaps you meant the option \"{name}\"."),
                None => "Options are those of bench.run.".into(),
            }),
            Error::UnknownWorkload { nearest, .. } => Some(match nearest {
                Some(name) => format!("Perhaps you meant the workload \"{name}\"."),
                None => "Workloads are listed in bench.workloads.".into(),
            }),
            Error::UnknownValueSet { .. } => Some(
                "Its rows are rows of bench.value_sets, of which a run uses those of the calling role \
                 only."
                    .into(),
            ),
            Error::Mismatch(_) => Some(
                "The extension and its library have different versions. Run ALTER EXTENSION \
                 pg_selfbench UPDATE, or reconnect if it has just been updated."
                    .into(),
            ),
            Error::AllAborted { hint, .. } => hint.clone(),
            Error::CallerAwaited { .. } => Some(
                "Use SELECT ... FROM bench.run(...) or bench.wait(...) at top level, in READ \
                 COMMITTED mode, in a separate transaction that reads no table."
                    .into(),
            ),
            Error::RoleCannotLogin { .. } => Some(
                "Background workers run as the calling role; call as a role with the LOGIN \
                 attribute."
                    .into(),
            ),
            Error::RowSecurity { .. } => {
                Some("Call as the owner of the table, or as a role with BYPASSRLS.".into())
            }
            Error::LoopbackDenied => Some(
                "Use mode => 'spi' (--mode=spi with bench.pgbench), or specify a target that asks \
                 for your password."
                    .into(),
            ),
            Error::Connect { message, .. } if message.contains("no password supplied") => Some(
                "The server asks for a password and the clients have none. On this server, \
                 pg_hba.conf decides that for sockets (connection => 'socket') and for TCP \
                 (connection => 'tcp') separately; a target can have a password."
                    .into(),
            ),
            Error::Connect { message, .. } | Error::ConnectTarget { message, .. }
                if message.contains("unsupported startup parameter") =>
            {
                Some(
                    "A connection pooler refuses startup options: those in the connection string, and \
                     those of option \"settings\" with reconnect => true. Leave them out and set them \
                     with ALTER ROLE ... SET, or connect to the server itself."
                        .into(),
                )
            }
            Error::Connect { message, .. } | Error::ConnectTarget { message, .. } => {
                remedy_of_small_pool(message).map(Into::into)
            }
            Error::PasswordNotGiven => Some(
                "Put it into the connection string or, to keep it out of pg_stat_activity, \
                 into the user mapping of a foreign server."
                    .into(),
            ),
            Error::PasswordNotUsed => {
                Some("The target's authentication method for the role must use a password.".into())
            }
            Error::UnknownRun { .. }
            | Error::UnknownLabel(_) => Some("Runs are listed in bench.run_summary.".into()),
            Error::NullArgument {
                name: "run_id" | "run_ids" | "a" | "b" | "against",
            }
            | Error::NullElement {
                name: "run_ids" | "a" | "b",
            } => Some("A query for it may have found none. Runs are listed in bench.run_summary.".into()),
            Error::SettingDiffers { .. } => Some(
                "A connection pooler, a login event trigger, or a library that defines the setting \
                 has changed it."
                    .into(),
            ),
            Error::UnknownSet { .. }
            | Error::NullArgument {
                name: "set_id" | "set_ids",
            }
            | Error::NullElement { name: "set_ids" } => {
                Some("Sets are listed in bench.set_summary.".into())
            }
            Error::UnknownJob { .. } => Some("Your jobs are listed in bench.schedules.".into()),
            Error::UnknownAlert { .. } => Some("Your alerts are listed in bench.alerts.".into()),
            Error::SetInProgress { .. } => {
                Some("Wait until the session that makes its runs has ended.".into())
            }
            Error::LostRun { .. } => Some("Check the server log, then repeat the run.".into()),
            Error::NoRun => {
                Some(
                "Start one with bench.run. An imported run is shown by its number; one of a standby is not stored.".into(),
            )
            }
            Error::NoSet => Some("Make one with bench.compare or bench.sweep.".into()),
            Error::ExtensionDropped => {
                Some("Create the extension again if it is missing, commit, and repeat the benchmark.".into())
            }
            Error::WorkerDied { .. } | Error::WorkerStays { .. } => {
                Some("Check the server log for the reason.".into())
            }
            Error::LibraryReplaced => Some("Reconnect, and repeat the call.".into()),
            Error::ScriptFile { .. } => Some(
                "To use a file on the server, specify a path with a slash. To use a stored script, \
                 specify its name, or owner.name for another role's."
                    .into(),
            ),
            Error::RunInProgress { .. } => {
                Some("Cancel it with bench.cancel, or wait for it with bench.wait.".into())
            }
            Error::TeardownFailed { run_id, .. } => Some(format!(
                "Fix the cause and repeat the call, or end the teardown with SELECT \
                 bench.finish_teardown({run_id}, give_up => true)."
            )),
            Error::RunDeleted { .. } => Some(
                "Use bench.cancel to cancel a run, and bench.delete_runs to delete runs that have \
                 ended."
                    .into(),
            ),
            Error::Server(report) => {
                let hint = report.hint.clone();
                hint.or_else(|| remedy_of_small_pool(&report.message).map(Into::into))
            }
            _ => None,
        }
    }

    /// An error that the server raises as well, with its SQLSTATE and message.
    pub fn server(sqlstate: Sqlstate, message: impl Into<String>) -> Error {
        Report::new(sqlstate, message).into()
    }

    /// Whether the statement was canceled.
    pub fn is_cancel(&self) -> bool {
        matches!(self.sqlstate(), Sqlstate::ERRCODE_QUERY_CANCELED)
    }

    /// Whether the statement waited for a lock for too long.
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self.sqlstate(), Sqlstate::ERRCODE_LOCK_NOT_AVAILABLE)
    }

    /// Whether the statement must not be executed in a transaction block.
    pub fn is_of_transaction_block(&self) -> bool {
        matches!(
            self.sqlstate(),
            Sqlstate::ERRCODE_ACTIVE_SQL_TRANSACTION
                | Sqlstate::ERRCODE_INVALID_TRANSACTION_TERMINATION
        )
    }

    /// The error in the form that crosses process boundaries.
    pub fn report(&self) -> Report {
        Report {
            sqlstate: match self {
                Error::Server(report) => report.sqlstate.clone(),
                _ => decode(self.sqlstate() as i32),
            },
            message: self.to_string(),
            detail: self.detail(),
            hint: self.hint(),
        }
    }

    /// Whether it is not the fault of what was asked for, but of the role's privileges or of the
    /// server's limits.
    pub fn is_of_circumstances(&self) -> bool {
        matches!(
            self,
            Error::Denied { .. }
                | Error::LoopbackDenied
                | Error::WorkerSlots { .. }
                | Error::Connections { .. }
                | Error::Misplaced { .. }
        )
    }

    /// Prefixes the message with a part of the request, such as an arm.
    pub fn within(&self, part: &str) -> Error {
        let mut report = self.report();
        report.message = format!("{part}: {}", report.message);
        report.into()
    }

    /// Raises the error in this backend.
    pub fn raise(self) -> ! {
        if let Error::Server(report) = &self
            && let Some(code) = encode(&report.sqlstate).filter(|code| sqlstate::is_unknown(*code))
        {
            sqlstate::raise_as(code);
        }
        let message = storable(&self.to_string()).into_owned();
        let mut report = ErrorReport::new(self.sqlstate(), message, pgrx::function_name!());
        if let Some(detail) = self.detail() {
            report = report.set_detail(storable(&detail));
        }
        if let Some(hint) = self.hint() {
            report = report.set_hint(storable(&hint));
        }
        std::panic::panic_any(report)
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error::Server(Box::new(report))
    }
}

impl From<ScriptError> for Error {
    fn from(error: ScriptError) -> Self {
        Error::Script(Box::new(error))
    }
}

impl From<pgrx::spi::Error> for Error {
    fn from(error: pgrx::spi::Error) -> Self {
        Error::server(
            Sqlstate::ERRCODE_INTERNAL_ERROR,
            format!("internal query failed: {error}"),
        )
    }
}

/// Raises the error of a result in this backend, or returns its value.
pub trait OrRaise<T> {
    /// Returns the value, or raises the error.
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T> {
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.raise(),
        }
    }
}

/// Runs `body` and turns an ERROR that PostgreSQL raises in it into a value.
///
/// After an error, the caller must abort the current transaction: PostgreSQL's state is that of the
/// moment of the error.
pub fn catch<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let body = || sqlstate::noting(body);
    PgTryBuilder::new(AssertUnwindSafe(body))
        .catch_others(|cause| {
            let report = match &cause {
                CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => report,
                CaughtError::RustPanic { ereport, .. } => ereport,
            };
            Err(Error::from(Report::from(report)))
        })
        .execute()
}
