//! The specification of a run: everything its workers need to know, as it travels through shared
//! memory.

use super::loopback::Route;
use super::pgio::PgioSpec;
use super::scripts::ScriptSpec;
use super::switches::Switches;
use crate::backend::identity::Identity;
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::settings::{self, ClientSetting, Settings};
use crate::error::Result;
use crate::pq::ConnectWith;
pub use selfbench_model::Mode;
use selfbench_script::{Protocol, Workload, WorkloadBuilder, clients_per_thread};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The execution modes, in the order in which they are offered.
pub const MODES: [Mode; 2] = [Mode::Spi, Mode::Libpq];

/// In what processes the clients of mode spi run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientProcess {
    /// In background workers while there are any, then in backends if the caller may have those.
    Auto,
    /// In background workers.
    Worker,
    /// In backends.
    Backend,
}

impl ClientProcess {
    /// All of them, in the order in which they are offered.
    pub const ALL: [ClientProcess; 3] = [
        ClientProcess::Auto,
        ClientProcess::Worker,
        ClientProcess::Backend,
    ];

    /// Name in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            ClientProcess::Auto => "auto",
            ClientProcess::Worker => "worker",
            ClientProcess::Backend => "backend",
        }
    }
}

/// What is vacuumed before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vacuum {
    /// The small tables, and history is emptied, if a built-in script uses them.
    Auto,
    /// Nothing.
    None,
    /// Accounts as well, whatever the scripts are.
    All,
    /// As `Auto`, whatever the scripts are: what pgbench does by default.
    Always,
}

impl Vacuum {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Vacuum; 4] = [Vacuum::Auto, Vacuum::None, Vacuum::All, Vacuum::Always];

    /// Name in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Vacuum::Auto => "auto",
            Vacuum::None => "none",
            Vacuum::All => "all",
            Vacuum::Always => "always",
        }
    }
}

/// What variables are that scripts mention and nothing sets, in the protocols extended and prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UndefinedVariables {
    /// An error at the start of the run.
    Error,
    /// NULL in statements, and an error in meta commands when they are executed.
    Pgbench,
}

impl UndefinedVariables {
    /// All of them, in the order in which they are offered.
    pub const ALL: [UndefinedVariables; 2] =
        [UndefinedVariables::Error, UndefinedVariables::Pgbench];

    /// Name in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            UndefinedVariables::Error => "error",
            UndefinedVariables::Pgbench => "pgbench",
        }
    }
}

/// The log of transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogSpec {
    /// The part of the transactions that is logged; all of them if it is not given.
    pub sampling_rate: Option<f64>,
    /// What the names of files in pgbench's format begin with; without it there are no files.
    pub prefix: Option<String>,
    /// Whether the files have a line for each so many seconds instead of one for each transaction.
    /// Single transactions are not stored then.
    pub aggregate_s: Option<i64>,
}

/// Where in a set a run belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The set; `None` if it is not stored, as on a standby.
    pub set_id: Option<i64>,
    /// The arm.
    pub arm: String,
    /// The round; 0 is a warm-up.
    pub round: i32,
}

/// Everything that the workers of a run need to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// Who runs, and where.
    pub identity: Identity,
    /// Execution mode.
    pub mode: Mode,
    /// Scripts in the order given.
    pub scripts: Vec<ScriptSpec>,
    /// Number of statements in the scripts.
    pub statements: usize,
    /// Number of clients.
    pub clients: usize,
    /// In what processes they run, in mode spi; `Auto` and `Backend` only if the caller may have
    /// backends.
    pub client_process: ClientProcess,
    /// Number of threads in pgbench's sense: sets of clients that share a stream of script choices.
    /// In mode spi each client is one.
    pub jobs: usize,
    /// Number of client processes: one for each client in mode spi; in mode libpq each drives one or
    /// several threads.
    pub workers: usize,
    /// Time during which transactions may start, in microseconds.
    pub duration_us: Option<i64>,
    /// Transactions per client.
    pub transactions: Option<i64>,
    /// How statements reach the parser and the planner.
    pub protocol: String,
    /// Scheduled transactions per second over all clients.
    pub rate: Option<f64>,
    /// Latency above which a transaction is late.
    pub latency_limit_ns: Option<u64>,
    /// Tries of a transaction at most; 0 for any number.
    pub max_tries: u32,
    /// Names and texts of the user's variables.
    pub variables: Vec<(String, String)>,
    /// What variables are that nothing sets.
    pub undefined_variables: UndefinedVariables,
    /// What is on or off.
    pub switches: Switches,
    /// Whether each step of each client is told.
    pub debug: bool,
    /// The scale that the scripts are told and the report shows, if no table says another.
    pub scale: Option<i64>,
    /// The log of transactions, if there is one.
    pub log: Option<LogSpec>,
    /// What is vacuumed first.
    pub vacuum: Vacuum,
    /// Tables of this server that are vacuumed, too, quoted for SQL.
    pub vacuum_tables: Vec<String>,
    /// Time before transactions count, in microseconds; until the run is steady if there is none.
    pub warmup_us: Option<i64>,
    /// The longest time until then.
    pub max_warmup_us: i64,
    /// Length of the intervals that are stored, in microseconds.
    pub aggregate_interval_us: i64,
    /// How many times a second the clients' sessions are sampled; 0 for never.
    pub wait_sample_rate: f64,
    /// The base seed.
    pub seed: u64,
    /// Whatever the caller wants to find the run by.
    pub label: Option<String>,
    /// Its place in a set, if it belongs to one.
    pub place: Option<Place>,
    /// The caller's session settings.
    pub settings: Settings,
    /// Settings that the clients have, whatever the caller's session and a target have.
    pub client_settings: Vec<ClientSetting>,
    /// Statements that are executed before the run.
    pub setup: Option<String>,
    /// Statements that are executed after the run.
    pub teardown: Option<String>,
    /// libpq's parameters for connections to this server, in mode libpq and for clients in
    /// backends.
    pub connection: Vec<(String, String)>,
    /// What the clients connect to, if it is not this server over loopback.
    pub target: Option<ConnectWith>,
    /// The option "sql", whose statements are the only script then.
    pub sql: Option<String>,
    /// pgio's workload, if it is that. The scripts are those of its first table then.
    pub pgio: Option<PgioSpec>,
}

impl RunSpec {
    /// The threads that a client worker drives.
    pub fn threads(&self, worker: usize) -> Range<usize> {
        clients_per_thread(self.jobs, self.workers)
            .nth(worker)
            .unwrap_or(0..0)
    }

    /// What each client connects with, in mode libpq. Over loopback the caller's session settings
    /// are those of its clients; a target is another server and has its own.
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

    /// How the clients' connections reach this server, in mode libpq without a target.
    pub fn route(&self) -> Option<Route> {
        if self.mode != Mode::Libpq || self.target.is_some() {
            return None;
        }
        let (_, host) = self.connection.iter().find(|(name, _)| name == "host")?;
        Some(Route::to_host(host))
    }

    /// The scripts, parsed. Every process parses for itself; the result is the same.
    pub fn workload(&self) -> Result<Workload> {
        parse(&self.scripts, WorkloadBuilder::new(self.protocol()))
    }

    /// The same in the calling backend, which looks at interrupts meanwhile. A worker does not:
    /// what it parses has been parsed before, and a request to cancel means nothing to it.
    pub fn checked_workload(&self) -> Result<Workload> {
        let builder = WorkloadBuilder::checking(self.protocol(), check_for_interrupts);
        parse(&self.scripts, builder)
    }

    /// Which of several sets of scripts a client executes: they differ in the table that they use,
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
        self.protocol.parse().unwrap_or(Protocol::Prepared)
    }

    /// The text of a variable that the user gives.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let given = self.variables.iter().find(|(given, _)| given == name)?;
        Some(&given.1)
    }

    /// Whether tables are vacuumed first.
    pub fn vacuums(&self) -> bool {
        match self.vacuum {
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

fn parse(scripts: &[ScriptSpec], mut builder: WorkloadBuilder) -> Result<Workload> {
    for script in scripts {
        builder.add(
            &script.name,
            &script.description,
            &script.body,
            script.weight,
        )?;
    }
    Ok(builder.finish()?)
}
