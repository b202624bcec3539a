//! The specification of a run: everything its workers need to know, as it travels through shared
//! memory.

use super::loopback::Route;
use super::pgio::PgioSpec;
use super::script::ScriptSpec;
use crate::backend::call::Choice;
use crate::backend::identity::Identity;
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::limits::Asked;
use crate::backend::settings::{self, ClientSetting, Settings};
use crate::check::US_PER_SECOND;
use crate::error::Result;
use crate::options::choice;
use crate::pq::ConnectWith;
pub use selfbench_model::{Mode, Run};
use selfbench_script::{
    CollectedSet, Dialect, Protocol, Workload, WorkloadBuilder, clients_per_thread,
};
use selfbench_workload::Check;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::rc::Rc;

choice! {
    /// Processes in which the clients of mode spi run.
    pub enum ClientProcess {
        /// In background workers while there are any, then in backends if the caller may have those.
        Auto = "auto",
        /// In background workers.
        Worker = "worker",
        /// In backends.
        Backend = "backend",
    }
}

choice! {
    /// Vacuum before a run.
    pub enum Vacuum {
        /// The small tables, and history is emptied, if a built-in script uses them.
        Auto = "auto",
        /// Nothing.
        None = "none",
        /// Accounts as well, with any scripts.
        All = "all",
        /// Like `Auto`, with any scripts: pgbench's default.
        Always = "always",
    }
}

choice! {
    /// Treatment of variables that scripts mention and nothing sets, in the protocols extended and
    /// prepared.
    pub enum UndefinedVariables {
        /// An error at the start of the run.
        Error = "error",
        /// NULL in statements, and an error in meta commands when they are executed.
        Pgbench = "pgbench",
    }
}

/// The log of transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogSpec {
    /// The part of the transactions that is logged; all of them if it is not given.
    pub sampling_rate: Option<f64>,
    /// Prefix of the names of files in pgbench's format; without it there are no files.
    pub prefix: Option<String>,
    /// Seconds of an interval, if the files have a line for each interval and not for each transaction.
    /// Single transactions are not stored then.
    pub aggregate_s: Option<i64>,
}

/// Everything that the workers of a run need to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// Role and database.
    pub identity: Identity,
    /// The row of the run as it is before the start: its options, and its place in a set.
    pub run: Run,
    /// Scripts in the order given.
    pub scripts: Vec<ScriptSpec>,
    /// Number of statements in the scripts.
    pub statements: usize,
    /// Whether the scripts are in pgbench's language, without what it lacks.
    pub pgbench_language: bool,
    /// Whether each step of each client is told.
    pub debug: bool,
    /// Whether each thread has a schedule of its own with a rate, as pgbench's have.
    pub schedule_per_job: bool,
    /// The scale that the scripts are told and the report shows, if no table says another.
    pub scale: Option<i64>,
    /// Rows of the value sets that the scripts draw from, until they are in shared memory: a process that
    /// reads the specification there finds them in the segment.
    #[serde(skip)]
    pub values: Vec<Rc<CollectedSet>>,
    /// The log of transactions, if there is one.
    pub log: Option<LogSpec>,
    /// Tables of this server that are vacuumed, too, quoted for SQL.
    pub vacuum_tables: Vec<String>,
    /// The base seed.
    pub seed: u64,
    /// The caller's session settings.
    pub settings: Settings,
    /// Settings that the clients have in place of those of the caller's session or of a target.
    pub client_settings: Vec<ClientSetting>,
    /// libpq's parameters for connections to this server, in mode libpq and for clients in
    /// backends.
    pub connection: Vec<(String, String)>,
    /// Target of the clients, if it is not this server over loopback.
    pub target: Option<ConnectWith>,
    /// The only schema whose tables clients of mode spi may change, if the workload was captured.
    pub guarded_schema: Option<String>,
    /// The workload that the run executes, if it was captured.
    pub captured_workload: Option<String>,
    /// Transactions per second while the workload was captured.
    pub captured_rate: Option<f64>,
    /// Share of the captured execution time that its statements took then.
    pub captured_share: Option<f64>,
    /// Conditions of the workload to check after the run; empty without `verify`.
    pub checks: Vec<Check>,
    /// pgio's workload, if it is that. The scripts are those of its first table then.
    pub pgio: Option<PgioSpec>,
}

impl RunSpec {
    /// Number of clients.
    pub fn clients(&self) -> usize {
        self.run.clients as usize
    }

    /// Number of threads in pgbench's sense: sets of clients that share a stream of script choices.
    /// In mode spi each client is one.
    pub fn jobs(&self) -> usize {
        self.run.jobs as usize
    }

    /// Number of schedules of transactions with a rate. One for all clients, so that a transaction starts
    /// late only if no client is idle, and both modes have the same; or one for each thread.
    pub fn schedules(&self) -> usize {
        match self.schedule_per_job {
            true => self.jobs().max(1),
            false => 1,
        }
    }

    /// Number of client processes: one for each client in mode spi; in mode libpq each drives one or
    /// several threads.
    pub fn workers(&self) -> usize {
        self.run.workers as usize
    }

    /// Time during which transactions may start, in microseconds.
    pub fn duration_us(&self) -> Option<i64> {
        self.run.duration_s.map(us)
    }

    /// Time before transactions count, in microseconds; `None` is until the run is steady.
    pub fn warmup_us(&self) -> Option<i64> {
        let is_fixed = self.run.max_warmup_s.is_none();
        is_fixed.then(|| us(self.run.warmup_s))
    }

    /// The longest time until the run is steady, in microseconds.
    pub fn max_warmup_us(&self) -> i64 {
        self.run.max_warmup_s.map_or(0, us)
    }

    /// Demands that limits are for.
    pub fn asked(&self) -> Asked {
        let run = &self.run;
        let is_logged = self
            .log
            .as_ref()
            .is_some_and(|log| log.aggregate_s.is_none() && log.sampling_rate.is_none());
        let transactions = run.transactions_per_client.filter(|_| is_logged);
        let warmup_s = run.max_warmup_s.unwrap_or(run.warmup_s);
        Asked {
            clients: self.clients() as u32,
            duration_s: run.duration_s.map(|duration_s| duration_s + warmup_s),
            rows_logged: transactions.map(|n| (n as u64).saturating_mul(self.clients() as u64)),
            profile: run.profile,
        }
    }

    /// Length of the intervals that are stored, in microseconds.
    pub fn aggregate_interval_us(&self) -> i64 {
        us(self.run.aggregate_interval_s)
    }

    /// Latency above which a transaction is late.
    pub fn latency_limit_ns(&self) -> Option<u64> {
        // A limit beyond the range of the clock is never exceeded.
        self.run
            .latency_limit_ms
            .map(|ms| (ms * 1e6).round().max(1.0) as u64)
    }

    /// Tries of a transaction at most; 0 for any number.
    pub fn max_tries(&self) -> u32 {
        self.run.max_tries as u32
    }

    /// Vacuum before the run.
    pub fn vacuum(&self) -> Vacuum {
        Vacuum::named(&self.run.vacuum)
    }

    /// Processes in which clients of mode spi run; `Auto` and `Backend` only if the caller may have
    /// backends.
    pub fn client_process(&self) -> ClientProcess {
        ClientProcess::named(&self.run.client_process)
    }

    /// The threads that a client worker drives.
    pub fn threads(&self, worker: usize) -> Range<usize> {
        clients_per_thread(self.jobs(), self.workers())
            .nth(worker)
            .unwrap_or(0..0)
    }

    /// Connection parameters of each client, in mode libpq. Over loopback the caller's session
    /// settings are those of its clients; a target is another server and has its own.
    pub fn connect_with(&self) -> ConnectWith {
        match &self.target {
            Some(target) => {
                // But for those that make pgio what it is.
                let pgio = self.pgio.as_ref().map(|pgio| pgio.scan.settings());
                with_settings(target, &pgio.unwrap_or_default(), &self.client_settings)
            }
            None => {
                let here = ConnectWith {
                    parameters: self.connection.clone(),
                    password_required: false,
                };
                with_settings(&here, &self.settings, &self.client_settings)
            }
        }
    }

    /// The settings that clients' sessions must have.
    pub fn settings_of_sessions(&self) -> Vec<ClientSetting> {
        let of_pgio = self.target.as_ref().and(self.pgio.as_ref());
        let of_pgio = of_pgio.map(|pgio| pgio.scan.settings()).unwrap_or_default();
        let is_given = |name: &str| self.client_settings.iter().any(|given| given.name == name);
        let of_pgio = of_pgio.into_iter().filter(|(name, _)| !is_given(name));
        let of_pgio = of_pgio.map(|(name, value)| ClientSetting {
            shown: value.clone(),
            name,
            value,
        });
        of_pgio
            .chain(self.client_settings.iter().cloned())
            .collect()
    }

    /// The settings of clients that the coordinator has, too: it must find the same tables.
    pub fn look_up_settings(&self) -> impl Iterator<Item = &ClientSetting> {
        let settings = self.client_settings.iter();
        settings.filter(|setting| setting.name == "search_path")
    }

    /// Path of the clients' connections to this server, in mode libpq without a target.
    pub fn route(&self) -> Option<Route> {
        if self.run.mode != Mode::Libpq || self.target.is_some() {
            return None;
        }
        let (_, host) = self.connection.iter().find(|(name, _)| name == "host")?;
        Some(Route::to_host(host))
    }

    /// The scripts, parsed. Every process parses for itself; the result is the same.
    pub fn workload(&self) -> Result<Workload> {
        let builder = WorkloadBuilder::new(self.protocol());
        parse(&self.scripts, builder.in_dialect(self.dialect()))
    }

    /// The parsed scripts in the calling backend, which handles interrupts meanwhile. A worker does
    /// not: what it parses has been parsed before, and a request to cancel means nothing to it.
    pub fn checked_workload(&self) -> Result<Workload> {
        let builder = WorkloadBuilder::checking(self.protocol(), check_for_interrupts);
        parse(&self.scripts, builder.in_dialect(self.dialect()))
    }

    fn dialect(&self) -> Dialect {
        match self.pgbench_language {
            true => Dialect::Pgbench,
            false => Dialect::Extended,
        }
    }

    /// Number of the set of scripts that a client executes: they differ in the table that they use,
    /// and are alike otherwise.
    pub fn variant(&self, client: usize) -> usize {
        self.pgio.as_ref().map_or(0, |pgio| pgio.table_of(client))
    }

    /// One of these sets, parsed.
    pub fn workload_of(&self, variant: usize) -> Result<Workload> {
        match &self.pgio {
            None => self.workload(),
            Some(pgio) => parse(
                &pgio.scripts(variant),
                WorkloadBuilder::new(self.protocol()),
            ),
        }
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        Protocol::named(&self.run.protocol)
    }

    /// The text of a variable that the user gives.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.run.variables.get(name).map(String::as_str)
    }

    /// Whether tables are vacuumed first.
    pub fn vacuums(&self) -> bool {
        match self.vacuum() {
            Vacuum::None => false,
            Vacuum::Auto => self.uses_pgbench_tables(),
            Vacuum::All | Vacuum::Always => true,
        }
    }

    /// Whether any script is one of pgbench's own, which need its tables.
    pub fn uses_pgbench_tables(&self) -> bool {
        self.scripts.iter().any(|script| script.builtin)
    }

    /// Whether any script that may be chosen is known to write.
    pub fn writes(&self) -> bool {
        self.scripts
            .iter()
            .any(|script| script.writes && script.weight > 0)
    }
}

fn us(seconds: f64) -> i64 {
    (seconds * US_PER_SECOND as f64).round() as i64
}

fn with_settings<'s>(
    with: &ConnectWith,
    weak: &Settings,
    strong: impl IntoIterator<Item = &'s ClientSetting>,
) -> ConnectWith {
    ConnectWith {
        parameters: settings::add_to_connection(with.parameters.clone(), weak, strong),
        password_required: with.password_required,
    }
}

/// Fails if pgbench cannot parse the scripts, with its message.
pub fn require_pgbench_scripts(scripts: &[ScriptSpec], protocol: Protocol) -> Result<()> {
    let builder = WorkloadBuilder::checking(protocol, check_for_interrupts);
    parse(scripts, builder.in_dialect(Dialect::Pgbench)).map(drop)
}

fn parse(scripts: &[ScriptSpec], mut builder: WorkloadBuilder) -> Result<Workload> {
    for script in scripts {
        builder.add(
            &script.name,
            &script.description,
            &script.body,
            script.weight,
        )?;
        if let Some(variable) = script
            .workload
            .as_ref()
            .and_then(|mix| mix.rolled_back.as_ref())
        {
            builder.rolls_back_by(variable);
        }
        if let Some(limit_ms) = script.limit_ms() {
            builder.limits_response((limit_ms * 1e6) as u64);
        }
    }
    Ok(builder.finish()?)
}
