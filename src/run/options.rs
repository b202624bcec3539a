//! The options of runs, those of `bench.start` and of sets included: from SQL values to a
//! [`RunSpec`], or the error that tells which option is wrong and what is valid.

use super::captured::CapturedRun;
use super::loopback::Route;
use super::script::{ScriptSpec, user_script};
use super::spec::{ClientProcess, LogSpec, Mode, Run, RunSpec, UndefinedVariables, Vacuum};
use super::statements;
use super::undefined;
use super::value_sets::ReadSets;
use super::workload;
use crate::backend::identity::Identity;
use crate::backend::{profiler, settings};
use crate::check::{
    Seed, US_PER_SECOND, above_zero, duration, in_range, interval_text, invalid, label, seed,
};
use crate::database::target;
use crate::error::{Error, Result, message};
use crate::options::{Stored, options, seconds};
use crate::pq::ConnectWith;
use crate::security;
use crate::server;
use pgrx::datum::Interval;
use selfbench_script::names::{NameError, parse_list};
use selfbench_script::{MAX_SCRIPT_BYTES, MAX_SCRIPTS, Protocol, valid_variable_name};
use serde_json::Value;
use std::collections::BTreeMap;

/// The largest number of clients: what the server could ever have as processes.
pub const MAX_CLIENTS: i32 = 262_143;
/// Scripts of a run that is given neither names nor statements.
pub const DEFAULT_SCRIPTS: &str = "tpcb-like";
/// Duration of a run that is given neither a duration nor a number of transactions.
const DEFAULT_DURATION_US: i64 = 10 * US_PER_SECOND;
/// Samples of waits per second at most.
const MAX_WAIT_SAMPLE_RATE: f64 = 1000.0;
/// Connections that one libpq worker holds at most, unless the user wants fewer workers.
const CLIENTS_PER_WORKER: usize = 250;

selfbench_catalog::run_options!(options! {
    /// The options of `bench.run`; other functions have some of them.
    pub struct RunOptions
});

/// Makes the row of a run of the options that are stored.
macro_rules! row {
    ({ $(
        #[doc = $first:literal]
        $(#[doc = $more:literal])*
        $option:ident: $type:ty $(= $default:expr)? $(, $pgbench:literal)?
            $(=> $column:ident: $stored:ty $(, $not_compared:ident)?)?;
    )* }) => {
        impl RunOptions {
            /// The row of a run, as far as options tell it by themselves.
            fn row(&self) -> Run {
                Run {
                    $($($column: self.$option.stored(),)?)*
                    ..Run::default()
                }
            }
        }
    };
}

selfbench_catalog::run_options!(row! {});

/// Columns of another type than their options: what is stored is known when all options are.
macro_rules! known_later {
    ($($option:ty => $column:ty,)*) => {$(
        impl Stored<$column> for $option {
            fn stored(&self) -> $column {
                Default::default()
            }
        }
    )*};
}

known_later! {
    Option<String> => Vec<String>,
    Option<bool> => bool,
    Option<i32> => i32,
    Option<Interval> => Option<f64>,
    Option<Interval> => f64,
    Interval => Option<f64>,
    Interval => f64,
    Option<Seed> => String,
    Option<Value> => BTreeMap<String, String>,
    Route => Option<String>,
}

/// The variables of an option, by name: texts, as pgbench's option -D has them.
pub fn variables(value: Option<&Value>) -> Result<BTreeMap<String, String>> {
    const VALID: &str =
        "An object of texts, numbers, booleans and nulls; none of the texts is empty.";
    let Some(value) = value else {
        return Ok(BTreeMap::new());
    };
    let Value::Object(object) = value else {
        return Err(invalid("variables", value.to_string(), VALID));
    };
    let mut variables = BTreeMap::new();
    for (name, value) in object {
        if !valid_variable_name(name) {
            return Err(invalid(
                "variables",
                format!("invalid variable name \"{name}\""),
                "A name has letters, digits and underscores, and does not start with a digit.",
            ));
        }
        let text = match value {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null => "null".into(),
            _ => {
                return Err(invalid(
                    "variables",
                    format!("variable \"{name}\" is {value}"),
                    VALID,
                ));
            }
        };
        variables.insert(name.clone(), text);
    }
    Ok(variables)
}

impl RunOptions {
    /// Checks everything that can be checked without the workers, and gives the specification.
    pub fn check(&self) -> Result<RunSpec> {
        self.check_at(None, &mut ReadSets::default())
    }

    /// Specification of a run on tables that will be loaded at a scale, if there is one, with the seed of the run.
    /// `sets` are the value sets that the call has read before.
    pub fn check_at(&self, scale: Option<i32>, sets: &mut ReadSets) -> Result<RunSpec> {
        self.specify(self.scripts()?, scale, sets)
    }

    /// Checks and specifies a run of these scripts, instead of those that are named, as
    /// [`check_at`](Self::check_at).
    pub fn specify(
        &self,
        scripts: Vec<ScriptSpec>,
        scale: Option<i32>,
        sets: &mut ReadSets,
    ) -> Result<RunSpec> {
        let mode = self.mode;
        let clients = in_range("clients", self.clients, 1, MAX_CLIENTS)? as usize;
        let (duration_us, transactions_per_client) = self.limits()?;
        let warmup_us = match &self.warmup {
            Some(warmup) => Some(duration("warmup", warmup, true)?),
            None => None,
        };
        let max_warmup_us = duration("max_warmup", &self.max_warmup, false)?;
        let interval = &self.aggregate_interval;
        let aggregate_interval_us = duration("aggregate_interval", interval, false)?;
        if aggregate_interval_us < US_PER_SECOND / 10 {
            return Err(invalid(
                "aggregate_interval",
                interval_text(interval),
                "At least 100 ms.",
            ));
        }
        self.progress_us()?;
        let seed = seed(self.seed.as_ref())?;
        label(self.label.as_deref())?;
        for (option, value) in [
            ("rate", self.rate),
            ("latency_limit", self.latency_limit),
            ("load_factor", self.load_factor),
        ] {
            if let Some(value) = value {
                above_zero(option, value)?;
            }
        }
        let wait_sample_rate = self.wait_sample_rate;
        if !(0.0..=MAX_WAIT_SAMPLE_RATE).contains(&wait_sample_rate) {
            return Err(invalid(
                "wait_sample_rate",
                wait_sample_rate.to_string(),
                &format!("A number from 0, which turns it off, to {MAX_WAIT_SAMPLE_RATE}."),
            ));
        }
        let given = [
            ("reconnect", self.reconnect),
            ("jobs", self.jobs.is_some()),
            ("workers", self.workers.is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given && mode == Mode::Spi) {
            return Err(Error::OptionConflict {
                message: format!("option \"{option}\" needs mode \"libpq\""),
                hint: "In mode \"spi\" each client is a process of its own, without a connection."
                    .into(),
            });
        }
        let variables = variables(self.variables.as_ref())?;

        server::require_login_role()?;
        let target = self.target()?;
        let prepared = workload::prepare(&scripts, &variables, seed, target.as_ref(), scale)?;
        let captured = prepared.as_ref().and_then(|prepared| {
            Some(CapturedRun {
                workload: &prepared.family,
                captured: prepared.captured.as_ref()?,
                allow_writes: self.allow_writes,
                mode,
                target: target.as_ref(),
            })
        });
        let rate = self.rate(captured.as_ref())?;
        let clone_schema = match &captured {
            Some(captured) => captured.clone_schema()?,
            None if self.allow_writes => return Err(needs_captured("allow_writes")),
            None => None,
        };
        let settings = match &captured {
            Some(captured) => Some(captured.settings(self.settings.as_ref(), clone_schema)?),
            None => self.settings.clone(),
        };
        let checks = match self.verify {
            true => workload::checks(&scripts)?,
            false => Vec::new(),
        };
        if self.verify && checks.is_empty() {
            return Err(Error::OptionConflict {
                message: "option \"verify\" needs scripts of a workload that has conditions".into(),
                hint: "bench.workloads lists the workloads.".into(),
            });
        }
        let of_mix = prepared.as_ref().map(|prepared| prepared.options);
        let of_mix = of_mix.unwrap_or_default();
        let max_tries = self.max_tries.or(of_mix.max_tries).unwrap_or(1);
        in_range("max_tries", max_tries, 0, i32::MAX)?;
        if max_tries == 0 && duration_us.is_none() && self.latency_limit.is_none() {
            return Err(Error::OptionConflict {
                message: "an unlimited number of tries needs another limit".into(),
                hint: "Give \"latency_limit\" or \"duration\" with max_tries => 0.".into(),
            });
        }
        let client_process = self.client_process()?;
        self.check_route()?;
        let connection = match mode {
            Mode::Libpq if target.is_none() => {
                security::require_loopback()?;
                self.connection.parameters()?
            }
            Mode::Spi if client_process != ClientProcess::Worker => self.connection.parameters()?,
            _ => Vec::new(),
        };
        statements::check("setup", self.setup.as_deref(), target.is_none())?;
        statements::check("teardown", self.teardown.as_deref(), target.is_none())?;
        let jobs = self.jobs(clients)?;
        let s = |us: i64| us as f64 / US_PER_SECOND as f64;
        let mut spec = RunSpec {
            identity: Identity::current(),
            run: Run {
                scripts: scripts.iter().map(ScriptSpec::weighted_name).collect(),
                jobs: jobs as i32,
                workers: self.workers(clients, jobs)? as i32,
                duration_s: duration_us.map(s),
                transactions_per_client,
                rate,
                // Known when it ends, if the run is to be steady by then.
                warmup_s: warmup_us.map_or(0.0, s),
                max_warmup_s: warmup_us.is_none().then_some(s(max_warmup_us)),
                aggregate_interval_s: s(aggregate_interval_us),
                max_tries,
                continue_on_error: self
                    .continue_on_error
                    .or(of_mix.continue_on_error)
                    .unwrap_or_default(),
                variables,
                client_process: client_process.stored(),
                // The string may have a password; the coordinator describes the server.
                target: None,
                teardown_due: self.teardown.is_some(),
                ..self.row()
            },
            scripts,
            statements: 0,
            pgbench_language: false,
            debug: false,
            schedule_per_job: false,
            scale: prepared.as_ref().map(|prepared| prepared.scale),
            values: Vec::new(),
            log: self.log_spec()?,
            vacuum_tables: match (&captured, clone_schema) {
                (Some(captured), Some(schema)) if self.vacuum != Vacuum::None => {
                    captured.never_vacuumed(schema)?
                }
                _ => Vec::new(),
            },
            seed,
            settings: settings::of_session()?,
            client_settings: match &settings {
                Some(given) => super::settings::check(given, target.as_ref())?,
                None => Vec::new(),
            },
            connection,
            guarded_schema: clone_schema
                .filter(|_| mode == Mode::Spi)
                .map(str::to_owned),
            captured_workload: captured
                .as_ref()
                .map(|captured| captured.workload.to_owned()),
            captured_rate: captured
                .as_ref()
                .and_then(|captured| captured.captured.rate),
            captured_share: captured
                .as_ref()
                .and_then(|captured| captured.captured.time_share),
            target: target.clone(),
            checks,
            pgio: None,
        };
        spec.run.connection = spec.route().map(|route| route.stored());
        if self.profile && !profiler::IS_SUPPORTED {
            return Err(Error::OptionConflict {
                message: "option \"profile\" is not supported on this platform".into(),
                hint: "Stacks can be sampled on Linux on x86_64 and aarch64.".into(),
            });
        }
        // Reports errors of scripts before anything starts.
        let workload = spec.checked_workload()?;
        if workload.runs_programs() {
            security::require_server_program()?;
        }
        // Those that no script mentions would be told to be unused.
        let values = prepared.iter().flat_map(|prepared| &prepared.values.0);
        let is_mentioned = |name: &str| name != "scale" && workload.symbols.find(name).is_some();
        for (name, value) in values.filter(|(name, _)| is_mentioned(name)) {
            let variables = &mut spec.run.variables;
            variables
                .entry(name.clone())
                .or_insert_with(|| value.to_string());
        }
        if self.undefined_variables == UndefinedVariables::Error {
            undefined::require_none(&spec, &workload)?;
        }
        spec.statements = workload.sql_commands;
        spec.values = sets.of(&workload)?;
        Ok(spec)
    }

    /// Transactions per second that are scheduled.
    fn rate(&self, captured: Option<&CapturedRun<'_>>) -> Result<Option<f64>> {
        match (self.load_factor, self.rate, captured) {
            (None, rate, _) => Ok(rate),
            (Some(_), Some(_), _) => Err(Error::OptionConflict {
                message: "options \"load_factor\" and \"rate\" exclude each other".into(),
                hint: "Give one of them.".into(),
            }),
            (Some(_), None, None) => Err(needs_captured("load_factor")),
            (Some(factor), None, Some(captured)) => captured.rate(factor).map(Some),
        }
    }

    /// The duration in microseconds and the number of transactions of each client: one of them.
    fn limits(&self) -> Result<(Option<i64>, Option<i64>)> {
        match (&self.duration, self.transactions) {
            (Some(_), Some(_)) => Err(Error::OptionConflict {
                message: "options \"duration\" and \"transactions\" exclude each other".into(),
                hint: "Give one of them.".into(),
            }),
            (Some(interval), None) => Ok((Some(duration("duration", interval, false)?), None)),
            (None, Some(n)) => Ok((None, Some(in_range("transactions", n, 1, i64::MAX)?))),
            (None, None) => Ok((Some(DEFAULT_DURATION_US), None)),
        }
    }

    /// Connection parameters of the target, if there is one.
    fn target(&self) -> Result<Option<ConnectWith>> {
        match &self.target {
            Some(_) if self.mode == Mode::Spi => Err(Error::OptionConflict {
                message: "option \"target\" needs mode \"libpq\"".into(),
                hint: "Clients of mode \"spi\" run inside this server. Use mode => 'libpq'.".into(),
            }),
            Some(target) => target::resolve(target).map(Some),
            None => Ok(None),
        }
    }

    /// Fails if the way to this server is none that the clients take.
    fn check_route(&self) -> Result<()> {
        let (needs, hint) = match (self.mode, &self.target) {
            _ if self.connection == Route::Auto => return Ok(()),
            (Mode::Spi, _) => (
                "needs mode \"libpq\"",
                "Clients of mode \"spi\" have no connections.",
            ),
            (Mode::Libpq, Some(_)) => (
                "cannot be combined with option \"target\"",
                "Name the host of the target in its connection string: a directory for a \
                 Unix-domain socket, an address for TCP.",
            ),
            (Mode::Libpq, None) => return Ok(()),
        };
        Err(Error::OptionConflict {
            message: format!("option \"connection\" {needs}"),
            hint: hint.into(),
        })
    }

    fn client_process(&self) -> Result<ClientProcess> {
        let wanted = self.client_process;
        match (self.mode, wanted) {
            (Mode::Libpq, ClientProcess::Auto) => Ok(wanted),
            (Mode::Libpq, _) => Err(Error::OptionConflict {
                message: "option \"client_process\" needs mode \"spi\"".into(),
                hint: "In mode \"libpq\" clients are connections.".into(),
            }),
            // Roles that may not have backends get workers, or an error with the missing number.
            (Mode::Spi, ClientProcess::Auto) if !security::is_superuser() => {
                Ok(ClientProcess::Worker)
            }
            (Mode::Spi, ClientProcess::Backend) => {
                security::require_loopback()?;
                Ok(wanted)
            }
            (Mode::Spi, _) => Ok(wanted),
        }
    }

    fn log_spec(&self) -> Result<Option<LogSpec>> {
        let wanted = self.log;
        for (option, given) in [
            ("sampling_rate", self.sampling_rate.is_some()),
            ("log_prefix", self.log_prefix.is_some()),
        ] {
            if given && !wanted {
                return Err(Error::OptionConflict {
                    message: format!("option \"{option}\" needs a log"),
                    hint: "Give log => true with it.".into(),
                });
            }
        }
        if !wanted {
            return Ok(None);
        }
        let sampling_rate = match self.sampling_rate {
            Some(rate) if rate > 0.0 && rate <= 1.0 => Some(rate),
            None => None,
            Some(rate) => {
                return Err(invalid(
                    "sampling_rate",
                    rate.to_string(),
                    "A number above 0 and at most 1.",
                ));
            }
        };
        if let Some(prefix) = &self.log_prefix {
            security::require_server_files("write", "log files")?;
            if !prefix.starts_with('/') {
                return Err(invalid(
                    "log_prefix",
                    format!("\"{prefix}\""),
                    "An absolute path on the server, to which the names of the files add \
                     numbers.",
                ));
            }
        }
        Ok(Some(LogSpec {
            sampling_rate,
            prefix: self.log_prefix.clone(),
            aggregate_s: None,
        }))
    }

    /// Time between progress lines for the caller, in microseconds.
    pub fn progress_us(&self) -> Result<Option<i64>> {
        match &self.progress {
            None => Ok(None),
            Some(interval) => {
                let us = duration("progress", interval, false)?;
                if us < US_PER_SECOND / 10 {
                    return Err(invalid(
                        "progress",
                        interval_text(interval),
                        "At least 100 ms.",
                    ));
                }
                Ok(Some(us))
            }
        }
    }

    fn jobs(&self, clients: usize) -> Result<usize> {
        let jobs = match self.jobs {
            None => None,
            Some(jobs) => Some(in_range("jobs", jobs, 1, MAX_CLIENTS)? as usize),
        };
        Ok(match (self.mode, jobs) {
            // Each client is a process of its own.
            (Mode::Spi, _) => clients,
            (Mode::Libpq, Some(jobs)) => jobs.min(clients),
            // One process that drives all clients would limit them.
            (Mode::Libpq, None) => processes_for(clients).min(clients),
        })
    }

    /// More processes than processors only take turns; a process takes all clients of its jobs. Without
    /// enough free slots, a process takes several jobs: they are what the default asks for, not the user.
    fn workers(&self, clients: usize, jobs: usize) -> Result<usize> {
        let workers = match self.workers {
            None => None,
            Some(workers) => Some(in_range("workers", workers, 1, MAX_CLIENTS)? as usize),
        };
        Ok(match (self.mode, workers) {
            (Mode::Spi, _) => clients,
            (Mode::Libpq, Some(workers)) => workers.min(jobs),
            (Mode::Libpq, None) => {
                let wanted = processes_for(clients).min(jobs);
                // One is the coordinator's.
                let free = server::free_worker_slots().saturating_sub(1);
                let taken = wanted.min(free.max(clients.div_ceil(clients_per_worker())));
                if taken < wanted {
                    message::notice(format_args!(
                        "{jobs} jobs share {taken} of the {wanted} background workers that they would \
                         take, because no more are free"
                    ));
                }
                taken
            }
        })
    }

    /// Fails if it names a script with its owner, who could replace it before the run.
    pub fn require_own_scripts(&self) -> Result<()> {
        let names = self.scripts.as_deref().map(parse_list);
        let mut names = names.and_then(Result::ok).into_iter().flatten();
        match names.find(|item| item.name.owner.is_some()) {
            Some(item) => Err(Error::OptionConflict {
                message: format!("a job cannot use script \"{}\", named with its owner", item.text),
                hint: "The owner could replace it before the job executes it. Store it as your own with \
                       bench.define_script, and write its name alone."
                    .into(),
            }),
            None => Ok(()),
        }
    }

    fn scripts(&self) -> Result<Vec<ScriptSpec>> {
        let names = match (&self.scripts, &self.sql) {
            (Some(_), Some(_)) => {
                return Err(Error::OptionConflict {
                    message: "options \"scripts\" and \"sql\" exclude each other".into(),
                    hint:
                        "Give one of them. To mix statements with other scripts, store them with \
                           bench.define_script."
                            .into(),
                });
            }
            (None, Some(sql)) => {
                let name = "sql";
                return Ok(vec![user_script(name, name.into(), sql.clone(), 1)]);
            }
            (names, None) => names.as_deref().unwrap_or(DEFAULT_SCRIPTS),
        };
        let list = parse_list(names).map_err(|error| {
            let valid = match error {
                NameError::Array => {
                    return Error::OptionConflict {
                        message: "option \"scripts\" is a list of names, not an array".into(),
                        hint: "Write it without braces, as in scripts => 'select-only@9, \
                               simple-update'."
                            .into(),
                    };
                }
                NameError::Weight(error) => {
                    format!("{error}; a weight is an integer from 0 to 2147483647.")
                }
                error => format!(
                    "A list such as \"select-only@9, simple-update\" has names with optional \
                     weights: {error}."
                ),
            };
            invalid("scripts", format!("\"{names}\""), &valid)
        })?;
        if list.len() > MAX_SCRIPTS {
            return Err(invalid(
                "scripts",
                format!("{} scripts", list.len()),
                &format!("At most {MAX_SCRIPTS} scripts."),
            ));
        }
        let mut scripts = Vec::with_capacity(list.len());
        let mut bytes = 0;
        for item in &list {
            let found = super::scripts::find(item)?;
            // Before all of them are in memory.
            bytes += found.iter().map(|script| script.body.len()).sum::<usize>();
            if bytes > MAX_SCRIPT_BYTES {
                return Err(invalid(
                    "scripts",
                    format!("more than {MAX_SCRIPT_BYTES} bytes"),
                    "All scripts of a run together have a length of at most 16 MB.",
                ));
            }
            scripts.extend(found);
        }
        if scripts.iter().all(|script| script.weight == 0) {
            return Err(invalid(
                "scripts",
                "all weights are 0".into(),
                "At least one weight above 0.",
            ));
        }
        Ok(scripts)
    }
}

fn needs_captured(option: &str) -> Error {
    Error::OptionConflict {
        message: format!("option \"{option}\" needs a captured workload"),
        hint: "bench.capture_workload makes one.".into(),
    }
}

/// The number of processes that drive clients of mode libpq by default: as many as there are
/// processors, or more if one would have too many connections.
fn processes_for(clients: usize) -> usize {
    let needed = clients.div_ceil(clients_per_worker());
    server::processors().unwrap_or(1).max(needed)
}

/// Connections that one libpq worker may hold: the server leaves a third of the descriptors of a
/// process to such use, without those that it needs itself.
fn clients_per_worker() -> usize {
    (server::files_per_process().saturating_sub(28) / 3).clamp(1, CLIENTS_PER_WORKER)
}
