//! The options of runs, those of `bench.start` and of sets included: from SQL values to a
//! [`RunSpec`], or the error that tells which option is wrong and what is valid.

use super::loopback::Route;
use super::scripts::{ScriptSpec, user_script};
use super::spec::{ClientProcess, LogSpec, MODES, Mode, RunSpec, UndefinedVariables, Vacuum};
use super::statements;
use super::switches::Switches;
use super::undefined;
use crate::backend::identity::Identity;
use crate::backend::{profiler, settings};
use crate::check::{
    Seed, US_PER_SECOND, above_zero, duration, in_range, interval_text, invalid, label, one_of,
    protocol, seed,
};
use crate::database::target;
use crate::error::{Error, Result};
use crate::options::options;
use crate::pq::ConnectWith;
use crate::security;
use crate::server;
use pgrx::datum::Interval;
use selfbench_script::names::{NameError, parse_list};
use selfbench_script::{MAX_SCRIPT_BYTES, MAX_SCRIPTS, valid_variable_name};
use serde_json::Value;

/// The largest number of clients: what the server could ever have as processes.
pub const MAX_CLIENTS: i32 = 262_143;
/// Scripts of a run that is given neither names nor statements.
pub const DEFAULT_SCRIPTS: &str = "tpcb-like";
/// What a run does that is given neither a duration nor a number of transactions.
const DEFAULT_DURATION_US: i64 = 10 * US_PER_SECOND;
/// Samples of waits per second at most.
const MAX_WAIT_SAMPLE_RATE: f64 = 1000.0;
/// Connections that one libpq worker holds at most, unless the user wants fewer workers.
const CLIENTS_PER_WORKER: usize = 250;

options! {
    /// The options of `bench.run`; other functions have some of them.
    pub struct RunOptions {
        /// Names of scripts, each with an optional `@weight`, separated by commas; NULL for tpcb-like.
        scripts: Option<String>,
        /// Execution mode.
        mode: String = "spi",
        /// Number of clients.
        clients: i32 = 1,
        /// Number of sets of clients that share a random stream, in mode libpq.
        jobs: Option<i32>,
        /// Number of processes that drive the jobs, in mode libpq.
        workers: Option<i32>,
        /// Time during which transactions start.
        duration: Option<Interval>,
        /// Number of transactions per client.
        transactions: Option<i64>,
        /// Query protocol.
        protocol: String = "prepared",
        /// Tables to vacuum before the run.
        vacuum: String = "auto",
        /// Time at the start that does not count; NULL for until the run is steady.
        warmup: Option<Interval> = Interval::from_seconds(0.0),
        /// How long a warm-up until the run is steady lasts at most.
        max_warmup: Interval = Interval::from_seconds(300.0),
        /// Time between progress lines.
        progress: Option<Interval>,
        /// Length of the intervals for which figures are stored.
        aggregate_interval: Interval = Interval::from_seconds(1.0),
        /// Random seed.
        seed: Option<Seed>,
        /// Text that identifies the run.
        label: Option<String>,
        /// Scheduled transactions per second of all clients together.
        rate: Option<f64>,
        /// Latency in milliseconds above which a transaction is late.
        latency_limit: Option<f64>,
        /// Maximum number of tries of a transaction; 0 for any number.
        max_tries: i32 = 1,
        /// Variables of scripts, an object.
        variables: Option<Value>,
        /// What a variable is that scripts mention and nothing sets, unless the protocol is simple.
        undefined_variables: String = "error",
        /// Fraction of the transactions that is logged.
        sampling_rate: Option<f64>,
        /// Path with which the names of log files begin.
        log_prefix: Option<String>,
        /// Connection string or name of a foreign server.
        target: Option<String>,
        /// How connections reach this server in mode libpq: socket, tcp or auto.
        connection: String = "auto",
        /// Session settings of the clients, an object.
        settings: Option<Value>,
        /// SQL statements that are executed before the run.
        setup: Option<String>,
        /// SQL statements that are executed after the run, however it ended.
        teardown: Option<String>,
        /// Processes of clients in mode spi.
        client_process: String = "auto",
        /// How many times a second the clients' sessions are sampled for what they wait for.
        wait_sample_rate: f64 = 20.0,
        /// Statements in pgbench's language, executed instead of stored scripts.
        sql: Option<String>,
        ..switches: Switches,
    }
}

impl RunOptions {
    /// Checks everything that can be checked without the workers, and gives the specification.
    pub fn check(&self) -> Result<RunSpec> {
        self.specify(self.scripts()?)
    }

    /// The same for these scripts, instead of those that are named.
    pub fn specify(&self, scripts: Vec<ScriptSpec>) -> Result<RunSpec> {
        let mode = one_of("mode", &self.mode, MODES.map(|m| (m.name(), m)))?;
        let vacuum = one_of("vacuum", &self.vacuum, Vacuum::ALL.map(|v| (v.as_str(), v)))?;
        let protocol = protocol(&self.protocol)?;
        let clients = in_range("clients", self.clients, 1, MAX_CLIENTS)? as usize;
        let (duration_us, transactions) = self.limits()?;
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
        let rate = match self.rate {
            Some(rate) => Some(above_zero("rate", rate)?),
            None => None,
        };
        let latency_limit_ns = match self.latency_limit {
            // What exceeds the clock is no limit that could be met with.
            Some(ms) => Some((above_zero("latency_limit", ms)? * 1e6).round().max(1.0) as u64),
            None => None,
        };
        let wait_sample_rate = self.wait_sample_rate;
        if !(0.0..=MAX_WAIT_SAMPLE_RATE).contains(&wait_sample_rate) {
            return Err(invalid(
                "wait_sample_rate",
                wait_sample_rate.to_string(),
                &format!("A number from 0, which turns it off, to {MAX_WAIT_SAMPLE_RATE}."),
            ));
        }
        let max_tries = in_range("max_tries", self.max_tries, 0, i32::MAX)?;
        if max_tries == 0 && duration_us.is_none() && latency_limit_ns.is_none() {
            return Err(Error::OptionConflict {
                message: "an unlimited number of tries needs another limit".into(),
                hint: "Give \"latency_limit\" or \"duration\" with max_tries => 0.".into(),
            });
        }
        if self.switches.reconnect && mode == Mode::Spi {
            return Err(Error::OptionConflict {
                message: "option \"reconnect\" needs mode \"libpq\"".into(),
                hint: "Clients of mode \"spi\" have no connections.".into(),
            });
        }
        let variables = self.variables()?;
        let undefined_variables = one_of(
            "undefined_variables",
            &self.undefined_variables,
            UndefinedVariables::ALL.map(|u| (u.as_str(), u)),
        )?;

        server::require_login_role()?;
        let target = self.target(mode)?;
        let client_process = self.client_process(mode)?;
        let route = self.route(mode)?;
        let connection = match mode {
            Mode::Libpq if target.is_none() => {
                security::require_loopback()?;
                route.parameters()?
            }
            Mode::Spi if client_process != ClientProcess::Worker => route.parameters()?,
            _ => Vec::new(),
        };
        statements::check("setup", self.setup.as_deref(), target.is_none())?;
        statements::check("teardown", self.teardown.as_deref(), target.is_none())?;
        let jobs = self.jobs(mode, clients)?;
        let mut spec = RunSpec {
            identity: Identity::current(),
            mode,
            scripts,
            statements: 0,
            clients,
            client_process,
            jobs,
            workers: self.workers(mode, clients, jobs)?,
            duration_us,
            transactions,
            protocol: protocol.as_str().into(),
            rate,
            latency_limit_ns,
            max_tries: max_tries as u32,
            variables,
            undefined_variables,

            switches: self.switches,
            debug: false,
            scale: None,
            log: self.log_spec()?,
            vacuum,
            vacuum_tables: Vec::new(),
            warmup_us,
            max_warmup_us,
            aggregate_interval_us,
            wait_sample_rate,
            seed,
            label: self.label.clone(),
            place: None,
            settings: settings::of_session()?,
            client_settings: match &self.settings {
                Some(given) => super::settings::check(given, target.as_ref())?,
                None => Vec::new(),
            },
            setup: self.setup.clone(),
            teardown: self.teardown.clone(),
            sql: self.sql.clone(),
            connection,
            target,
            pgio: None,
        };
        if spec.switches.profile && !profiler::IS_SUPPORTED {
            return Err(Error::OptionConflict {
                message: "option \"profile\" is not supported on this platform".into(),
                hint: "Stacks can be sampled on Linux on x86_64 and aarch64.".into(),
            });
        }
        // What is wrong with a script is told before anything starts.
        let workload = spec.checked_workload()?;
        if workload.runs_programs() {
            security::require_server_program()?;
        }
        undefined::require_none(&spec, &workload)?;
        spec.statements = workload.sql_commands;
        Ok(spec)
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

    /// What connections to the target are made with, if there is one.
    fn target(&self, mode: Mode) -> Result<Option<ConnectWith>> {
        match &self.target {
            Some(_) if mode == Mode::Spi => Err(Error::OptionConflict {
                message: "option \"target\" needs mode \"libpq\"".into(),
                hint: "Clients of mode \"spi\" run inside this server. Use mode => 'libpq'.".into(),
            }),
            Some(target) => target::resolve(target).map(Some),
            None => Ok(None),
        }
    }

    /// How connections reach this server.
    fn route(&self, mode: Mode) -> Result<Route> {
        let valid = Route::ALL.map(|route| (route.as_str(), route));
        let route = one_of("connection", &self.connection, valid)?;
        let (needs, hint) = match (mode, &self.target) {
            _ if route == Route::Auto => return Ok(route),
            (Mode::Spi, _) => (
                "needs mode \"libpq\"",
                "Clients of mode \"spi\" have no connections.",
            ),
            (Mode::Libpq, Some(_)) => (
                "cannot be combined with option \"target\"",
                "Name the host of the target in its connection string: a directory for a \
                 Unix-domain socket, an address for TCP.",
            ),
            (Mode::Libpq, None) => return Ok(route),
        };
        Err(Error::OptionConflict {
            message: format!("option \"connection\" {needs}"),
            hint: hint.into(),
        })
    }

    fn client_process(&self, mode: Mode) -> Result<ClientProcess> {
        let valid = ClientProcess::ALL.map(|process| (process.as_str(), process));
        let wanted = one_of("client_process", &self.client_process, valid)?;
        match (mode, wanted) {
            (Mode::Libpq, ClientProcess::Auto) => Ok(wanted),
            (Mode::Libpq, _) => Err(Error::OptionConflict {
                message: "option \"client_process\" needs mode \"spi\"".into(),
                hint: "In mode \"libpq\" clients are connections.".into(),
            }),
            // Who may not have backends has workers, or an error that says how many are missing.
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
        let wanted = self.switches.log;
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

    /// The user's variables, by name: texts, as pgbench's option -D has them.
    fn variables(&self) -> Result<Vec<(String, String)>> {
        const VALID: &str = "An object of texts, numbers and booleans; none of the texts is empty.";
        let Some(value) = &self.variables else {
            return Ok(Vec::new());
        };
        let Value::Object(object) = value else {
            return Err(invalid("variables", value.to_string(), VALID));
        };
        let mut variables = Vec::with_capacity(object.len());
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
            variables.push((name.clone(), text));
        }
        Ok(variables)
    }

    /// How often the caller is told about the run's progress, in microseconds.
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

    fn jobs(&self, mode: Mode, clients: usize) -> Result<usize> {
        let jobs = match self.jobs {
            None => None,
            Some(jobs) => Some(in_range("jobs", jobs, 1, MAX_CLIENTS)? as usize),
        };
        Ok(match (mode, jobs) {
            // Each client is a process of its own.
            (Mode::Spi, _) => clients,
            (Mode::Libpq, Some(jobs)) => jobs.min(clients),
            // One process that drives all clients would limit them.
            (Mode::Libpq, None) => processes_for(clients).min(clients),
        })
    }

    /// More processes than processors only take turns; a process takes all clients of its jobs. Without
    /// enough free slots, a process takes several jobs: they are what the default asks for, not the user.
    fn workers(&self, mode: Mode, clients: usize, jobs: usize) -> Result<usize> {
        let workers = match self.workers {
            None => None,
            Some(workers) => Some(in_range("workers", workers, 1, MAX_CLIENTS)? as usize),
        };
        Ok(match (mode, workers) {
            (Mode::Spi, _) => clients,
            (Mode::Libpq, Some(workers)) => workers.min(jobs),
            (Mode::Libpq, None) => {
                let wanted = processes_for(clients).min(jobs);
                // One is the coordinator's.
                let free = server::free_worker_slots().saturating_sub(1);
                let taken = wanted.min(free.max(clients.div_ceil(clients_per_worker())));
                if taken < wanted {
                    pgrx::notice!(
                        "{jobs} jobs share {taken} of the {wanted} background workers that they would \
                         take, because no more are free"
                    );
                }
                taken
            }
        })
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
            let script = super::scripts::find(item)?;
            // Before all of them are in memory.
            bytes += script.body.len();
            if bytes > MAX_SCRIPT_BYTES {
                return Err(invalid(
                    "scripts",
                    format!("more than {MAX_SCRIPT_BYTES} bytes"),
                    "All scripts of a run together have a length of at most 16 MB.",
                ));
            }
            scripts.push(script);
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
