//! What the coordinator of a run observes beside the clients.
//!
//! [`Telemetry`] has all observers: `snapshots` detects snapshots that distort the figures, `server`
//! reads the server's counters in each interval, `environment` what the run runs on,
//! `tables` the tables that it uses, `processes` the times of the run's processes, of which `times`
//! makes a row. `stacks` reads what sampled processes write, `bystanders` looks at those that are not
//! sampled. `period` is what they know of an interval. Rows wait
//! in memory until a batch of intervals is stored.
//!
//! An observer that fails is off from then on and leaves a note, see `notes`; it never ends a run.

mod bystanders;
mod environment;
mod last_look;
mod notes;
pub mod period;
pub mod processes;
mod server;
mod snapshots;
mod stacks;
mod tables;
mod times;

use crate::database::Database;
use crate::run::RunSpec;
use crate::shared::Segment;
use last_look::at_the_end;
use notes::Notes;
use period::Period;
use processes::Processes;
use selfbench_model::{Observed, Run};
use server::ServerIntervals;
use snapshots::Snapshots;
use stacks::Stacks;
use std::sync::atomic::Ordering::Relaxed;
use tables::Tables;

/// The observers of one run.
pub struct Telemetry<'r> {
    segment: &'r Segment,
    spec: &'r RunSpec,
    /// Whether the run is stored.
    stores: bool,
    /// The coordinator's: this server's, or the target's over a connection of its own.
    database: Database,
    notes: Notes,
    /// Rows that are not stored yet.
    observed: Observed,
    /// The clock reading at which the first interval begins, until it has begun.
    begins_ns: Option<u64>,
    snapshots: Option<Snapshots>,
    server: Option<ServerIntervals>,
    tables: Option<Tables>,
    stacks: Option<Stacks<'r>>,
    /// The processes that serve clients when the run starts.
    serving: Vec<i32>,
    processes: Option<Processes>,
}

impl<'r> Telemetry<'r> {
    /// Prepares the observers, before the start barrier opens.
    pub fn prepare(
        segment: &'r Segment,
        spec: &'r RunSpec,
        stores: bool,
        mut database: Database,
    ) -> Telemetry<'r> {
        let observes = spec.switches.observe;
        let mut telemetry = Telemetry {
            segment,
            spec,
            stores,
            notes: Notes::default(),
            observed: Observed::default(),
            begins_ns: None,
            snapshots: observes.then(|| Snapshots::before(&mut database)),
            server: None,
            tables: None,
            stacks: spec.switches.profile.then(|| Stacks::new(segment, spec)),
            serving: Vec::new(),
            processes: None,
            database,
        };
        if observes && stores {
            telemetry.look_before();
        }
        telemetry.processes = observes.then(|| Processes::open(segment, spec));
        telemetry
    }

    /// Observes what is observed only before, or before and after the run.
    fn look_before(&mut self) {
        let (notes, database) = (&mut self.notes, &mut self.database);
        let run_id = self.segment.header().run_id.load(Relaxed);
        let environment = notes.attempt(ENVIRONMENT, || environment::observe(run_id, database));
        self.observed.environment = environment.unwrap_or_default();
        self.tables = notes.attempt(TABLES, || Tables::before(database));
        if self.tables.as_ref().is_some_and(Tables::is_full) {
            notes.add("run_tables has only the largest tables and indexes of the database".into());
        }
    }

    /// Starts when the start barrier has opened; the first interval begins at the clock reading
    /// `measure_ns`, after the warm-up.
    pub fn begin(&mut self, measure_ns: u64) {
        self.begins_ns = self.spec.switches.observe.then_some(measure_ns);
        let clients = 0..self.spec.clients;
        self.serving = clients
            .map(|client| self.segment.client(client).0.backend_pid())
            .filter(|pid| *pid != 0)
            .collect();
        if let Some(stacks) = &mut self.stacks {
            stacks.begin(measure_ns);
        }
    }

    /// The clock reading at which [`tick`](Self::tick) has something to do.
    pub fn due_ns(&self) -> u64 {
        let snapshots = self.snapshots.as_ref().map(Snapshots::due_ns);
        let stacks = self.stacks.as_ref().map(Stacks::due_ns);
        snapshots
            .into_iter()
            .chain(stacks)
            .chain(self.begins_ns)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Observes what is due at the clock reading `now_ns`.
    pub fn tick(&mut self, now_ns: u64) {
        if self
            .begins_ns
            .take_if(|begins_ns| *begins_ns <= now_ns)
            .is_some()
        {
            self.begin_intervals();
        }
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.sample(self.segment, now_ns);
        }
        self.notes
            .guard(&mut self.stacks, STACKS, |stacks| stacks.tick(now_ns));
    }

    fn begin_intervals(&mut self) {
        if self.spec.warmup_us > 0
            && let Some(processes) = &mut self.processes
        {
            processes.begin();
        }
        if self.stores && matches!(self.database, Database::Here) {
            self.server = self.notes.attempt(SERVER, ServerIntervals::begin);
        }
    }

    /// Observes the end of an interval.
    pub fn end_interval(&mut self, period: Period) {
        if let Some(processes) = &mut self.processes {
            processes.update(self.segment);
        }
        let interval = self.notes.guard(&mut self.server, SERVER, |server| {
            server.end_interval(period)
        });
        self.observed.server_intervals.extend(interval);
    }

    /// The rows since the last call, to be stored with a batch of intervals.
    pub fn take_rows(&mut self) -> Observed {
        std::mem::take(&mut self.observed)
    }

    /// Observes for the last time, when the clients have ended, and sets what the run's row has of
    /// it; the rows that remain to be stored.
    pub fn conclude(mut self, run: &mut Run) -> Observed {
        if let Some(snapshots) = self.snapshots.take() {
            snapshots.after(self.segment, &mut self.database, run);
        }
        if let Some(tables) = self.tables.take() {
            self.observed.tables = at_the_end(self.segment, || {
                self.notes.attempt(TABLES, || {
                    let database = &mut self.database;
                    tables.after(run.run_id, self.segment, &self.serving, database)
                })
            })
            .unwrap_or_default();
        }
        if let Some(mut processes) = self.processes.take() {
            processes.update(self.segment);
            self.observed.times = Some(times::of_run(self.segment, &processes.used()));
        }
        if let Some(stacks) = self.stacks.take() {
            let (stacks, profiles) = stacks.conclude(&mut self.notes);
            self.observed.stacks = stacks;
            self.observed.profiles = profiles;
        }
        run.notes = self.notes.into_texts();
        self.observed
    }
}

/// What `environment` observes, in notes.
const ENVIRONMENT: &str = "what the run runs on";
/// What `tables` observes, in notes.
const TABLES: &str = "the tables that the run uses";
/// What `server` observes, in notes.
const SERVER: &str = "the server's statistics";
/// What `stacks` observes, in notes.
const STACKS: &str = "stacks";
