//! The meaning of options: their values, checked one by one from left to right, and their
//! combination, checked at the end.
//!
//! The order of the checks is pgbench's, because only the first error is reported.

use std::collections::BTreeMap;

use selfbench_model::InitializeStep;
use selfbench_model::Mode;
use selfbench_script::builtin::{self, Builtin};
use selfbench_script::{
    BuiltinError, MAX_SCRIPTS, Protocol, WeightError, WorkloadError, c_atof, c_atoi, c_strtol,
    is_c_space, parse_seed, valid_variable_name,
};

use crate::error::{Error, ErrorKind};
use crate::help::list_scripts;
use crate::invocation::{
    Connection, Initialize, Invocation, Limit, Log, PartitionMethod, Partitioning, Run, Script,
    ScriptSource, Vacuum,
};
use crate::options::{Id, OptionSpec};

/// The letters of all steps of an initialization.
const STEPS: &str = "dtgGvpf";
/// The default steps of an initialization.
const DEFAULT_STEPS: &str = "dtgvp";
/// The default number of transactions per client, unless a duration is given.
const DEFAULT_TRANSACTIONS: i32 = 10;

/// The settings of the options read so far. Later options override earlier ones.
#[derive(Default)]
pub(crate) struct Settings {
    /// Words that are not options.
    arguments: Vec<String>,
    /// Whether an option was given that makes sense in initializations only.
    has_initialize_option: bool,
    /// Whether an option was given that makes sense in runs only.
    has_run_option: bool,
    connection: Connection,
    mode: Option<Mode>,
    debug: bool,
    no_vacuum: bool,
    scale: Option<i32>,

    initialize: bool,
    steps: Option<String>,
    fillfactor: Option<i32>,
    foreign_keys: bool,
    partitions: i32,
    partition_method: Option<PartitionMethod>,
    quiet: bool,
    unlogged: bool,
    tablespace: Option<String>,
    index_tablespace: Option<String>,

    scripts: Vec<Script>,
    clients: Option<i32>,
    jobs: Option<i32>,
    transactions: Option<i32>,
    duration_s: Option<i32>,
    protocol: Protocol,
    variables: BTreeMap<String, String>,
    seed: Option<String>,
    vacuum_all: bool,
    reconnect: bool,
    rate: Option<f64>,
    latency_limit_us: Option<i64>,
    max_tries: Option<i32>,
    progress_s: Option<i32>,
    progress_timestamp: bool,
    is_logged: bool,
    log: Log,
    report_per_command: bool,
    failures_detailed: bool,
    verbose_errors: bool,
    exit_on_abort: bool,
    continue_on_error: bool,
}

impl Settings {
    /// Takes a word that is not an option.
    pub(crate) fn argument(&mut self, word: String) {
        self.arguments.push(word);
    }

    /// Takes an option with its value, which is empty if it has none. Some options end the
    /// command line at once: returns their request.
    pub(crate) fn option(
        &mut self,
        option: &OptionSpec,
        value: &str,
    ) -> Result<Option<Invocation>, Error> {
        self.has_initialize_option |= option.only_initializes();
        self.has_run_option |= option.only_runs();
        let text = || Some(value.to_owned());
        let positive = || integer(option, value, 1, i32::MAX).map(Some);
        match option.id {
            Id::Help => return Ok(Some(Invocation::Help)),
            Id::Version => return Ok(Some(Invocation::Version)),
            Id::Builtin if value == "list" => return Ok(Some(Invocation::ListScripts)),
            Id::ShowScript => return Ok(Some(Invocation::ShowScript(find_builtin(value)?))),

            Id::Host => self.connection.host = text(),
            Id::Port => self.connection.port = text(),
            Id::Username => self.connection.user = text(),
            Id::Dbname => self.connection.dbname = text(),
            Id::Mode => self.mode = Some(mode(value)?),
            Id::Debug => self.debug = true,
            Id::NoVacuum => self.no_vacuum = true,
            Id::Scale => self.scale = positive()?,

            Id::Initialize => self.initialize = true,
            Id::InitSteps => {
                check_steps(value)?;
                self.steps = text();
            }
            Id::Fillfactor => self.fillfactor = Some(integer(option, value, 10, 100)?),
            Id::ForeignKeys => self.foreign_keys = true,
            Id::Partitions => self.partitions = integer(option, value, 0, i32::MAX)?,
            Id::PartitionMethod => self.partition_method = Some(partition_method(value)?),
            Id::Quiet => self.quiet = true,
            Id::UnloggedTables => self.unlogged = true,
            Id::Tablespace => self.tablespace = text(),
            Id::IndexTablespace => self.index_tablespace = text(),

            Id::Builtin => {
                let (name, weight) = parse_weight(value)?;
                self.add_script(ScriptSource::Builtin(find_builtin(name)?), weight)?;
            }
            Id::SelectOnly => {
                self.add_script(ScriptSource::Builtin(find_builtin("select-only")?), 1)?;
            }
            Id::SkipSomeUpdates => {
                self.add_script(ScriptSource::Builtin(find_builtin("simple-update")?), 1)?;
            }
            Id::File => {
                let (name, weight) = parse_weight(value)?;
                self.add_script(ScriptSource::File(name.to_owned()), weight)?;
            }

            Id::Client => self.clients = positive()?,
            Id::Jobs => self.jobs = positive()?,
            Id::Transactions => self.transactions = positive()?,
            Id::Time => self.duration_s = positive()?,
            Id::Protocol => {
                self.protocol = value
                    .parse()
                    .map_err(|error| Error::invalid(format!("{error}")))?;
            }
            Id::Define => self.define(value)?,
            Id::RandomSeed => {
                parse_seed(value).map_err(|error| {
                    Error::invalid(error.to_string()).detail(
                        "Expecting an unsigned integer, \"time\" or \"rand\".\n\
                             error while setting random seed from --random-seed option",
                    )
                })?;
                self.seed = text();
            }
            Id::VacuumAll => self.vacuum_all = true,
            Id::Connect => self.reconnect = true,
            Id::Rate => {
                let rate = above_zero("rate limit", value)?;
                // At an infinite rate no transaction would wait.
                self.rate = rate.is_finite().then_some(rate);
            }
            Id::LatencyLimit => {
                let limit_us = (above_zero("latency limit", value)? * 1000.0) as i64;
                // Less than a microsecond means no limit.
                self.latency_limit_us = (limit_us > 0).then_some(limit_us);
            }
            Id::MaxTries => {
                let tries = c_atoi(value);
                if tries < 0 {
                    return Err(Error::invalid(format!(
                        "invalid number of maximum tries: \"{value}\""
                    )));
                }
                self.max_tries = Some(tries);
            }
            Id::Progress => self.progress_s = positive()?,
            Id::ProgressTimestamp => self.progress_timestamp = true,
            Id::Log => self.is_logged = true,
            Id::LogPrefix => self.log.prefix = text(),
            Id::SamplingRate => self.log.sampling_rate = Some(sampling_rate(value)?),
            Id::AggregateInterval => self.log.aggregate_interval_s = positive()?,
            Id::ReportPerCommand => self.report_per_command = true,
            Id::FailuresDetailed => self.failures_detailed = true,
            Id::VerboseErrors => self.verbose_errors = true,
            Id::ExitOnAbort => self.exit_on_abort = true,
            Id::ContinueOnError => self.continue_on_error = true,
        }
        Ok(None)
    }

    fn add_script(&mut self, source: ScriptSource, weight: i64) -> Result<(), Error> {
        if self.scripts.len() == MAX_SCRIPTS {
            let message = WorkloadError::TooManyScripts.to_string();
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        self.scripts.push(Script { source, weight });
        Ok(())
    }

    fn define(&mut self, definition: &str) -> Result<(), Error> {
        let (name, value) = match definition.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => (name, value),
            _ => {
                return Err(Error::invalid(format!(
                    "invalid variable definition: \"{definition}\""
                )));
            }
        };
        if !valid_variable_name(name) {
            return Err(Error::invalid(format!(
                "option: invalid variable name: \"{name}\""
            )));
        }
        self.variables.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// The request of all options together.
    pub(crate) fn finish(mut self) -> Result<Invocation, Error> {
        if !self.initialize {
            if self.scripts.is_empty() {
                let default = ScriptSource::Builtin(&builtin::list()[0]);
                self.add_script(default, 1)?;
            }
            if self.scripts.iter().all(|script| script.weight == 0) {
                return Err(Error::invalid(WorkloadError::ZeroWeight.to_string()));
            }
        }
        let mut arguments = std::mem::take(&mut self.arguments).into_iter();
        if self.connection.dbname.is_none() {
            self.connection.dbname = arguments.next();
        }
        if let Some(word) = arguments.next() {
            return Err(Error::usage(format!(
                "too many command-line arguments (first is \"{word}\")"
            )));
        }
        if self.initialize {
            self.finish_initialize().map(Invocation::Initialize)
        } else {
            self.finish_run().map(Invocation::Run)
        }
    }

    fn finish_initialize(self) -> Result<Initialize, Error> {
        if self.has_run_option {
            return Err(Error::conflict(
                "some of the specified options cannot be used in initialization (-i) mode",
            ));
        }
        if self.partitions == 0 && self.partition_method.is_some() {
            return Err(Error::conflict(
                "--partition-method requires greater than zero --partitions",
            ));
        }
        let mut steps: Vec<InitializeStep> = self
            .steps
            .as_deref()
            .unwrap_or(DEFAULT_STEPS)
            .chars()
            .filter_map(InitializeStep::from_letter)
            .collect();
        if self.no_vacuum {
            steps.retain(|step| *step != InitializeStep::Vacuum);
        }
        if self.foreign_keys && !steps.contains(&InitializeStep::ForeignKeys) {
            steps.push(InitializeStep::ForeignKeys);
        }
        Ok(Initialize {
            connection: self.connection,
            mode: self.mode.unwrap_or(Mode::Libpq),
            debug: self.debug,
            steps,
            scale: self.scale.unwrap_or(1),
            fillfactor: self.fillfactor.unwrap_or(100),
            partitioning: (self.partitions > 0).then_some(Partitioning {
                count: self.partitions,
                method: self.partition_method.unwrap_or_default(),
            }),
            quiet: self.quiet,
            unlogged: self.unlogged,
            tablespace: self.tablespace,
            index_tablespace: self.index_tablespace,
        })
    }

    fn finish_run(self) -> Result<Run, Error> {
        self.check_run()?;
        let clients = self.clients.unwrap_or(1);
        Ok(Run {
            connection: self.connection,
            mode: self.mode.unwrap_or(Mode::Libpq),
            debug: self.debug,
            scripts: self.scripts,
            clients,
            jobs: self.jobs.unwrap_or(1).min(clients),
            limit: match self.duration_s {
                Some(seconds) => Limit::Seconds(seconds),
                None => {
                    Limit::TransactionsPerClient(self.transactions.unwrap_or(DEFAULT_TRANSACTIONS))
                }
            },
            protocol: self.protocol,
            variables: self.variables,
            seed: self.seed,
            vacuum: match (self.no_vacuum, self.vacuum_all) {
                (true, _) => Vacuum::None,
                (false, true) => Vacuum::All,
                (false, false) => Vacuum::Small,
            },
            reconnect: self.reconnect,
            rate: self.rate,
            latency_limit_us: self.latency_limit_us,
            max_tries: self.max_tries.unwrap_or(1),
            scale: self.scale,
            progress_s: self.progress_s,
            progress_timestamp: self.progress_timestamp,
            log: self.is_logged.then_some(self.log),
            report_per_command: self.report_per_command,
            failures_detailed: self.failures_detailed,
            verbose_errors: self.verbose_errors,
            exit_on_abort: self.exit_on_abort,
            continue_on_error: self.continue_on_error,
        })
    }

    /// Checks which options of a run can be combined.
    fn check_run(&self) -> Result<(), Error> {
        let conflict = |message: &str| Err(Error::conflict(message));
        if self.has_initialize_option {
            return conflict("some of the specified options cannot be used in benchmarking mode");
        }
        if self.transactions.is_some() && self.duration_s.is_some() {
            return conflict(
                "specify either a number of transactions (-t) or a duration (-T), not both",
            );
        }
        if self.log.sampling_rate.is_some() {
            if !self.is_logged {
                return conflict(
                    "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
                );
            }
            if self.log.aggregate_interval_s.is_some() {
                return conflict(
                    "log sampling (--sampling-rate) and aggregation (--aggregate-interval) \
                     cannot be used at the same time",
                );
            }
        }
        if self.log.aggregate_interval_s.is_some() && !self.is_logged {
            return conflict("log aggregation is allowed only when actually logging transactions");
        }
        if self.log.prefix.is_some() && !self.is_logged {
            return conflict(
                "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
            );
        }
        if let (Some(duration), Some(interval)) = (self.duration_s, self.log.aggregate_interval_s) {
            if interval > duration {
                return Err(Error::conflict(format!(
                    "number of seconds for aggregation ({interval}) must not be higher than test \
                     duration ({duration})"
                )));
            }
            if duration % interval != 0 {
                return Err(Error::conflict(format!(
                    "duration ({duration}) must be a multiple of aggregation interval ({interval})"
                )));
            }
        }
        if self.progress_timestamp && self.progress_s.is_none() {
            return conflict("--progress-timestamp is allowed only under --progress");
        }
        if self.max_tries == Some(0) && self.latency_limit_us.is_none() && self.duration_s.is_none()
        {
            return conflict(
                "an unlimited number of transaction tries can only be used with --latency-limit \
                 or a duration (-T)",
            );
        }
        Ok(())
    }
}

/// An integer within a range. Blanks around it are taken, and no digits at all count as zero if
/// there is nothing else either.
fn integer(option: &OptionSpec, text: &str, low: i32, high: i32) -> Result<i32, Error> {
    let (value, rest) = c_strtol(text);
    if !rest.chars().all(is_c_space) {
        return Err(Error::invalid(format!(
            "invalid value \"{text}\" for option {}",
            option.label()
        )));
    }
    match i32::try_from(value) {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(Error::invalid(format!(
            "{} must be in range {low}..{high}",
            option.label()
        ))),
    }
}

/// The number at the start of a text, which must be above zero; `what` is for the message.
fn above_zero(what: &str, text: &str) -> Result<f64, Error> {
    let value = c_atof(text);
    if value > 0.0 {
        Ok(value)
    } else {
        Err(Error::invalid(format!("invalid {what}: \"{text}\"")))
    }
}

fn sampling_rate(text: &str) -> Result<f64, Error> {
    let what = "sampling rate";
    match above_zero(what, text)? {
        rate if rate <= 1.0 => Ok(rate),
        _ => Err(Error::invalid(format!("invalid {what}: \"{text}\""))),
    }
}

fn mode(text: &str) -> Result<Mode, Error> {
    [Mode::Spi, Mode::Libpq]
        .into_iter()
        .find(|mode| mode.name() == text)
        .ok_or_else(|| {
            Error::invalid(format!("invalid execution mode (--mode): \"{text}\""))
                .detail("Execution modes are \"spi\" and \"libpq\".")
        })
}

fn partition_method(text: &str) -> Result<PartitionMethod, Error> {
    if text.eq_ignore_ascii_case("range") {
        Ok(PartitionMethod::Range)
    } else if text.eq_ignore_ascii_case("hash") {
        Ok(PartitionMethod::Hash)
    } else {
        Err(Error::invalid(format!(
            "invalid partition method, expecting \"range\" or \"hash\", got: \"{text}\""
        )))
    }
}

fn check_steps(steps: &str) -> Result<(), Error> {
    if steps.is_empty() {
        return Err(Error::invalid("no initialization steps specified"));
    }
    match steps
        .chars()
        .find(|letter| *letter != ' ' && InitializeStep::from_letter(*letter).is_none())
    {
        None => Ok(()),
        Some(letter) => Err(Error::invalid(format!(
            "unrecognized initialization step \"{letter}\""
        ))
        .detail(format!("Allowed step characters are: \"{STEPS}\"."))),
    }
}

fn parse_weight(text: &str) -> Result<(&str, i64), Error> {
    builtin::parse_weight(text).map_err(|error: WeightError| Error::invalid(error.to_string()))
}

fn find_builtin(prefix: &str) -> Result<&'static Builtin, Error> {
    builtin::find_builtin(prefix).map_err(|error| {
        let kind = match error {
            BuiltinError::Unknown(_) => ErrorKind::UnknownScript,
            BuiltinError::Ambiguous { .. } => ErrorKind::InvalidValue,
        };
        Error::new(kind, error.to_string()).hint(list_scripts().trim_end())
    })
}
