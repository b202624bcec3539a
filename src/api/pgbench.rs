//! `bench.pgbench`: a command line of pgbench, carried out here.
//!
//! `crates/command_line` parses the command line. Here it becomes the options of
//! a run or an initialization, and the result the lines that pgbench prints.

use super::initialize::{self, Telling};
use super::progress::Progress;
use super::run;
use super::warnings;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::check::{self, argument};
use crate::error::{Error, Report, Result, message};
use crate::initialize::InitializeOptions;
use crate::options::seconds;
use crate::pq::conninfo;
use crate::run::script::built_in;
use crate::run::spec::{UndefinedVariables, require_pgbench_scripts};
use crate::run::{
    self as runs, LogSpec, Mode, ReadSets, Route, RunOptions, RunSpec, ScriptSpec, scripts,
};
use crate::server;
use pgrx::prelude::*;
use selfbench_command_line::{
    Connection, ErrorKind, Initialize, Invocation, Limit, PartitionMethod, Run, ScriptSource,
    Vacuum, help, list_scripts, parse, show_script, version,
};
use selfbench_model::Evidence;
use selfbench_report::Style;
use selfbench_script::names::ScriptName;
use selfbench_script::{Seed, parse_seed};

/// SQLSTATE of a run whose tables are not there.
const UNDEFINED_TABLE: &str = "42P01";

#[pg_extern(sql = false)]
fn pgbench(call: Call<'_>) -> SetOfIterator<'static, String> {
    let horizon = call.horizon();
    let lines = (|| {
        let arguments: Option<String> = call.read(|arguments| arguments.take("arguments"))?;
        let arguments = argument("arguments", arguments)?;
        let major = server::version_num() / 10_000;
        match parse(&arguments, major as u32)? {
            Invocation::Help => Ok(split(&help(major as u32))),
            Invocation::Version => Ok(split(&version(&server::version()))),
            Invocation::ListScripts => Ok(split(&list_scripts())),
            Invocation::ShowScript(script) => Ok(split(&show_script(script))),
            Invocation::Initialize(initialize) => {
                initialize_tables(&initialize, &horizon)?;
                Ok(Vec::new())
            }
            Invocation::Run(run) => perform(&run, &horizon),
        }
    })()
    .or_raise_in(&call);
    SetOfIterator::new(lines)
}

fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

impl From<selfbench_command_line::Error> for Error {
    fn from(error: selfbench_command_line::Error) -> Error {
        let sqlstate = match error.kind {
            ErrorKind::Syntax => PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            ErrorKind::InvalidValue | ErrorKind::Conflict => {
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE
            }
            ErrorKind::UnknownScript => PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            ErrorKind::LimitExceeded => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        };
        Error::from(Report {
            detail: error.detail,
            hint: error.hint,
            ..Report::new(sqlstate, error.message)
        })
    }
}

fn initialize_tables(wanted: &Initialize, horizon: &Horizon) -> Result<()> {
    let steps = wanted.steps.iter();
    let options = InitializeOptions {
        scale: wanted.scale,
        steps: steps.filter_map(|step| step.letter()).collect(),
        fillfactor: wanted.fillfactor,
        partitions: wanted.partitioning.map_or(0, |by| by.count),
        partition_method: wanted.partitioning.map(|by| {
            match by.method {
                PartitionMethod::Range => "range",
                PartitionMethod::Hash => "hash",
            }
            .into()
        }),
        unlogged: wanted.unlogged,
        tablespace: wanted.tablespace.clone(),
        index_tablespace: wanted.index_tablespace.clone(),
        target: target(&wanted.connection)?,
        ..InitializeOptions::default()
    };
    let telling = Telling {
        quiet: wanted.quiet,
        in_pgbench: true,
    };
    initialize::execute(&options.check(true)?, telling, horizon)?;
    Ok(())
}

fn perform(wanted: &Run, horizon: &Horizon) -> Result<Vec<String>> {
    let spec = specify(wanted)?;
    let progress = Progress {
        every_us: wanted.progress_s.map(|s| i64::from(s) * 1_000_000),
        timestamp: wanted.progress_timestamp,
        in_pgbench: true,
    };
    if wanted.debug && wanted.mode == Mode::Libpq {
        tell_connection(wanted, &spec);
    }
    let performed = run::perform(&spec, progress, horizon);
    let record = performed.map_err(|error| point_to_initialization(error, &spec))?;
    // pgbench says that in its report only.
    if !record.run.is_complete() || !record.run.all_failed() {
        warnings::tell_errors(&record.run, warnings::remedy(&spec, &record.run)?);
    }
    if wanted.scale.is_some() && spec.uses_pgbench_tables() {
        message::warning(format_args!(
            "scale option ignored, using count from pgbench_branches table ({})",
            record.run.scale
        ));
    }
    if record.run.run_id != 0 {
        message::notice(format_args!(
            "results are stored as run {}",
            record.run.run_id
        ));
    }
    if wanted.exit_on_abort && record.run.aborted_clients > 0 {
        // pgbench exits on the spot. The result is stored.
        return Ok(Vec::new());
    }
    let style = Style::Pgbench {
        progress: wanted.progress_s.is_some(),
    };
    Ok(selfbench_report::lines(
        &record,
        &Evidence::default(),
        style,
    ))
}

/// Tells where clients connect to and what for.
fn tell_connection(wanted: &Run, spec: &RunSpec) {
    let connection = spec.connect_with();
    let parameter = |keyword| connection.get(keyword).unwrap_or_default();
    let (kind, limit) = match wanted.limit {
        Limit::Seconds(seconds) => ("duration", seconds),
        Limit::TransactionsPerClient(number) => ("nxacts", number),
    };
    message::notice(format_args!(
        "pghost: {} pgport: {} nclients: {} {kind}: {limit} dbName: {}",
        parameter("host"),
        parameter("port"),
        wanted.clients,
        parameter("dbname")
    ));
}

/// Adds the hint of pgbench to an error about missing tables.
fn point_to_initialization(error: Error, spec: &RunSpec) -> Error {
    match error {
        Error::Server(mut report) if report.sqlstate == UNDEFINED_TABLE => {
            let (database, here) = match &spec.target {
                Some(target) => (target.get("dbname").unwrap_or_default().to_owned(), ""),
                None => (
                    server::database_name(),
                    " Here, that is bench.pgbench('-i').",
                ),
            };
            report.hint = Some(format!(
                "Perhaps you need to do initialization (\"pgbench -i\") in database \
                 \"{database}\".{here}"
            ));
            Error::Server(report)
        }
        other => other,
    }
}

fn specify(wanted: &Run) -> Result<RunSpec> {
    let (duration, transactions) = match wanted.limit {
        Limit::Seconds(s) => (Some(seconds(s)), None),
        Limit::TransactionsPerClient(n) => (None, Some(i64::from(n))),
    };
    let log = wanted.log.as_ref();
    let aggregate = log.and_then(|log| log.aggregate_interval_s);
    let prefix = log.and_then(|log| log.prefix.clone());
    if let Some(prefix) = &prefix
        && !prefix.starts_with('/')
    {
        message::notice(format_args!(
            "log prefix \"{prefix}\" is not an absolute path: the log is only stored in tables"
        ));
    }
    let variables = wanted.variables.iter();
    let options = RunOptions {
        mode: wanted.mode,
        clients: wanted.clients,
        jobs: (wanted.mode == Mode::Libpq).then_some(wanted.jobs),
        duration,
        transactions,
        protocol: wanted.protocol,
        vacuum: match wanted.vacuum {
            Vacuum::None => runs::Vacuum::None,
            Vacuum::Small => runs::Vacuum::Always,
            Vacuum::All => runs::Vacuum::All,
        },
        aggregate_interval: seconds(aggregate.unwrap_or(1)),
        // As C reads it: -1 is the largest number.
        seed: wanted.seed.as_ref().map(|text| match parse_seed(text) {
            Ok(Seed::Value(value)) => check::Seed(value.to_string()),
            _ => check::Seed(text.clone()),
        }),
        rate: wanted.rate,
        latency_limit: wanted.latency_limit_us.map(|us| us as f64 / 1000.0),
        max_tries: Some(wanted.max_tries),
        variables: Some(
            variables
                .map(|(name, text)| (name.clone(), text.clone().into()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        ),
        undefined_variables: UndefinedVariables::Pgbench,
        sampling_rate: log.and_then(|log| log.sampling_rate),
        log_prefix: prefix.filter(|prefix| prefix.starts_with('/')),
        target: match wanted.mode {
            Mode::Libpq => target(&wanted.connection)?,
            Mode::Spi => here(&wanted.connection).map(|()| None)?,
        },
        reconnect: wanted.reconnect,
        continue_on_error: Some(wanted.continue_on_error),
        exit_on_abort: wanted.exit_on_abort,
        per_statement: wanted.report_per_command,
        failures_detailed: wanted.failures_detailed,
        verbose_errors: wanted.verbose_errors,
        log: log.is_some(),
        ..RunOptions::default()
    };
    let mut found = Vec::with_capacity(wanted.scripts.len());
    for script in &wanted.scripts {
        found.push(match &script.source {
            ScriptSource::Builtin(builtin) => built_in(builtin, script.weight),
            ScriptSource::File(name) => stored_or_file(name, script.weight)?,
        });
    }
    require_pgbench_scripts(&found, options.protocol)?;
    let mut spec = options.specify(found, None, &mut ReadSets::default())?;
    if wanted.seed.is_some() {
        message::notice(format_args!("setting random seed to {}", spec.seed));
    }
    spec.pgbench_language = true;
    spec.debug = wanted.debug;
    spec.schedule_per_job = true;
    spec.scale = Some(wanted.scale.map_or(1, i64::from));
    if let Some(LogSpec { aggregate_s, .. }) = &mut spec.log {
        *aggregate_s = aggregate.map(i64::from);
    }
    Ok(spec)
}

/// Script that -f names.
fn stored_or_file(name: &str, weight: i64) -> Result<ScriptSpec> {
    let found = match ScriptName::parse(name) {
        Ok(parsed) => scripts::stored_or_file(name, &parsed, weight)?,
        Err(_) => None,
    };
    found.ok_or_else(|| Error::ScriptFile {
        name: name.to_owned(),
        message: match name {
            "-" => "the server has no standard input".into(),
            _ => "No such file or directory".into(),
        },
    })
}

/// The connection string of what -h, -p, -U and the database name say; nothing if they say nothing
/// but where the caller is already.
fn target(connection: &Connection) -> Result<Option<String>> {
    let Connection {
        host,
        port,
        user,
        dbname,
    } = connection;
    let given = [host, port, user, dbname]
        .iter()
        .any(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
    if !given {
        return Ok(None);
    }
    let options = [("host", host), ("port", port), ("user", user)].map(|(key, value)| {
        let value = value.as_deref().filter(|value| !value.is_empty());
        (key, value)
    });
    // A connection string in the place of the database name has the last word; the options are for
    // what it does not say.
    if let Some(dbname) = dbname
        && (dbname.contains('=')
            || dbname.starts_with("postgres://")
            || dbname.starts_with("postgresql://"))
    {
        let Some(mut parameters) = conninfo::parse(dbname) else {
            // The attempt to connect reports what is invalid in it.
            return Ok(Some(dbname.clone()));
        };
        for (key, value) in options {
            if let Some(value) = value
                && !parameters.iter().any(|(name, _)| name == key)
            {
                parameters.push((key.into(), value.into()));
            }
        }
        return Ok(Some(connection_string(&parameters)));
    }
    // Missing parameters are those of this server and session, as libpq takes them from its own
    // environment.
    let here = Route::Auto.parameters()?;
    let mut parameters = here.clone();
    let dbname = dbname.as_deref().filter(|value| !value.is_empty());
    for (key, value) in options.into_iter().chain([("dbname", dbname)]) {
        if let Some(value) = value
            && let Some(parameter) = parameters.iter_mut().find(|(name, _)| name == key)
        {
            parameter.1 = value.into();
        }
    }
    if parameters == here {
        return Ok(None);
    }
    parameters.retain(|(key, _)| matches!(key.as_str(), "host" | "port" | "user" | "dbname"));
    Ok(Some(connection_string(&parameters)))
}

fn connection_string(parameters: &[(String, String)]) -> String {
    let quoted: Vec<String> = parameters
        .iter()
        .map(|(key, value)| format!("{key}={}", conninfo::quoted(value)))
        .collect();
    quoted.join(" ")
}

/// Fails if the connection is not to this database as this role: there is no other in the server.
fn here(connection: &Connection) -> Result<()> {
    let same = |value: &Option<String>, own: String| value.as_ref().is_none_or(|v| *v == own);
    let elsewhere = connection.host.is_some()
        || connection.port.is_some()
        || !same(&connection.dbname, server::database_name())
        || !same(&connection.user, server::role_name());
    if elsewhere {
        return Err(Error::OptionConflict {
            message: "options -h, -p, -U and the database name need mode \"libpq\"".into(),
            hint: "In mode \"spi\" transactions run in the current database as the current role."
                .into(),
        });
    }
    Ok(())
}
