//! Observations of a run's coordinator beside the clients.
//!
//! [`Telemetry`] has all observers: `snapshots` detects snapshots that distort the figures, `server`
//! reads counters in each interval: those of the server by the query in `counters`, those of its
//! machine by `machine`; `environment` is what the run runs on, `tables` are those that it uses,
//! `captured` counts the statements of a captured workload,
//! `processes` the times of the run's processes, of which `times` makes a row. `waits` samples what the
//! clients' sessions wait for. `stacks` reads what sampled processes write, `bystanders` looks at those
//! that are not sampled. `period` is what observers know of an interval, `target` how they ask a target
//! during the run, `last_look` how they look when it has ended. Rows wait in memory until a batch of
//! intervals is stored.
//!
//! An observer that fails is off from then on and leaves a note, see `notes`; it never ends a run.

mod bystanders;
mod captured;
mod counters;
mod environment;
mod last_look;
mod machine;
mod notes;
pub mod period;
pub mod processes;
mod server;
mod snapshots;
mod stacks;
mod tables;
mod target;
mod times;
mod waits;

use crate::clock;
use crate::database::Database;
use crate::error::catch;
use crate::latch::{self, WaitEvent};
use crate::run::RunSpec;
use crate::shared::Segment;
use captured::CapturedStatements;
use last_look::{at_the_end, must_end};
use notes::Notes;
use period::Period;
use processes::Processes;
use selfbench_model::{Observed, Run};
use server::ServerIntervals;
use snapshots::Snapshots;
use stacks::Stacks;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tables::RelationStates;
use target::TargetConnection;
use waits::Waits;

/// Time to wait for a target's last answer.
const LAST_ANSWER_NS: u64 = 1_000_000_000;
/// Period of checks for it.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The observers of one run.
pub struct Telemetry<'r> {
    segment: &'r Segment,
    spec: &'r RunSpec,
    /// The target, if the run has one.
    target: Option<TargetConnection>,
    notes: Notes,
    /// Rows that are not stored yet.
    observed: Observed,
    /// The clock reading at which the first interval begins, until it has begun.
    begins_ns: Option<u64>,
    snapshots: Option<Snapshots>,
    server: Option<ServerIntervals>,
    tables: Option<RelationStates>,
    captured: Option<CapturedStatements>,
    stacks: Option<Stacks<'r>>,
    /// The processes that serve clients when the run starts.
    serving: Vec<i32>,
    processes: Option<Processes>,
    waits: Waits,
}

impl<'r> Telemetry<'r> {
    /// Prepares the observers, before the start barrier opens. `stores` is whether the run is stored;
    /// the database is the coordinator's, which needs it no longer.
    pub fn prepare(
        segment: &'r Segment,
        spec: &'r RunSpec,
        stores: bool,
        mut database: Database,
    ) -> Telemetry<'r> {
        let observes = spec.run.observe;
        let mut telemetry = Telemetry {
            segment,
            spec,
            target: None,
            notes: Notes::default(),
            observed: Observed::default(),
            begins_ns: None,
            snapshots: observes.then(|| Snapshots::before(segment, &mut database)),
            server: None,
            tables: None,
            captured: None,
            stacks: spec.run.profile.then(|| Stacks::new(segment, spec)),
            serving: Vec::new(),
            processes: None,
            waits: Waits::new(segment, spec, &database),
        };
        if observes && stores {
            telemetry.look_before(&mut database);
        }
        if let Database::There(remote) = database {
            telemetry.target = Some(TargetConnection::new(remote));
        }
        telemetry.processes = observes.then(|| Processes::open(segment, spec));
        telemetry
    }

    /// Observes what is observed only before, or before and after the run, and finds out what can be
    /// observed meanwhile.
    fn look_before(&mut self, database: &mut Database) {
        let notes = &mut self.notes;
        let run_id = self.segment.header().run_id.load(Relaxed);
        let environment = notes.attempt(ENVIRONMENT, || environment::observe(run_id, database));
        self.observed.environment = environment.unwrap_or_default();
        self.tables = notes.attempt(TABLES, || RelationStates::before(database));
        for note in self.tables.iter().flat_map(RelationStates::lacks) {
            notes.add(note.into());
        }
        if self
            .tables
            .as_ref()
            .is_some_and(RelationStates::is_not_counted)
        {
            notes.missing("what tables are used for", "track_counts is off");
        }
        let spec = self.spec;
        let captured = notes.attempt(CAPTURED, || {
            CapturedStatements::before(spec, run_id, database)
        });
        self.captured = captured.flatten();
        if let Some(lack) = self.captured.as_ref().and_then(|found| found.lack.as_ref()) {
            notes.missing(CAPTURED, lack);
        }
        let mut missing = Notes::default();
        self.server = notes.attempt(SERVER, || {
            ServerIntervals::prepare(self.spec, database, &mut missing)
        });
        notes.append(missing);
    }

    /// Starts when the start barrier has opened; the first interval begins at the clock reading
    /// `measure_ns`, after the warm-up.
    pub fn begin(&mut self, measure_ns: u64) {
        self.begins_ns = Some(measure_ns);
        let clients = 0..self.segment.layout().clients;
        self.serving = clients
            .map(|client| self.segment.client(client).0.backend_pid())
            .filter(|pid| *pid != 0)
            .collect();
        if let Some(stacks) = &mut self.stacks {
            stacks.begin(measure_ns);
        }
        self.waits.begin(self.segment, self.spec, measure_ns);
        // Now, before the run's row is stored, which may take longer than the run.
        let now_ns = clock::now_ns();
        if measure_ns <= now_ns {
            self.tick(now_ns);
        }
    }

    /// The clock reading at which [`tick`](Self::tick) has something to do.
    pub fn due_ns(&self) -> u64 {
        let begins_ns = self.begins_ns.unwrap_or(u64::MAX);
        let snapshots = self.snapshots.as_ref().map(Snapshots::due_ns);
        let stacks = self.stacks.as_ref().map(Stacks::due_ns);
        let target = self.target.as_ref().map(TargetConnection::due_ns);
        let observers = snapshots.into_iter().chain(stacks).chain(target);
        observers.fold(begins_ns.min(self.waits.due_ns()), u64::min)
    }

    /// Observes what is due at the clock reading `now_ns`.
    pub fn tick(&mut self, now_ns: u64) {
        if self.begins_ns.is_some_and(|begins_ns| begins_ns <= now_ns) {
            self.begins_ns = None;
            let header = self.segment.header();
            let warms_up = header.measure_ns.load(Relaxed) > header.start_ns.load(Relaxed);
            if warms_up && let Some(processes) = &mut self.processes {
                processes.begin();
            }
            if let Some(server) = &mut self.server {
                server.end_interval(None);
            }
        }
        self.advance_server();
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.sample(self.segment, now_ns);
        }
        self.notes
            .guard(&mut self.stacks, STACKS, |stacks| stacks.tick(now_ns));
        let target = self.target.as_mut();
        self.waits
            .tick(self.segment, target, &mut self.notes, now_ns);
    }

    /// Observes the end of an interval.
    pub fn end_interval(&mut self, period: Period) {
        if let Some(processes) = &mut self.processes {
            processes.update(self.segment);
        }
        if let Some(server) = &mut self.server {
            server.end_interval(Some(period));
        }
        let target = self.target.as_mut();
        let rows = self
            .waits
            .end_interval(self.segment, target, &mut self.notes, period);
        self.observed.waits.extend(rows.waits);
        self.observed.blockers.extend(rows.blockers);
        self.observed.stalls.extend(rows.stalls);
        self.advance_server();
    }

    fn advance_server(&mut self) {
        if !self
            .server
            .as_ref()
            .is_some_and(ServerIntervals::is_pending)
        {
            return;
        }
        let used = self
            .processes
            .as_ref()
            .map(Processes::used)
            .unwrap_or_default();
        let row = self.notes.guard(&mut self.server, SERVER, |server| {
            server.advance(self.segment, self.target.as_mut(), &used)
        });
        self.observed.server_intervals.extend(row.flatten());
    }

    /// Whether the server's figures of an interval, or any answer of a target are not there yet.
    fn awaits_answer(&self) -> bool {
        let server = self.server.as_ref();
        let target = self.target.as_ref();
        server.is_some_and(ServerIntervals::is_pending)
            || target.is_some_and(TargetConnection::is_busy)
    }

    /// The rows since the last call, to be stored with a batch of intervals.
    pub fn take_rows(&mut self) -> Observed {
        std::mem::take(&mut self.observed)
    }

    /// The database to look at when the clients have ended. A target may have ended the connection
    /// meanwhile; then it gets another one. If it still owes an answer, it is not asked.
    fn database_after(&mut self) -> Option<Database> {
        let Some(target) = self.target.take() else {
            return Some(Database::Here);
        };
        let Some(remote) = target.into_remote() else {
            let error = "it did not answer";
            self.notes
                .add(selfbench_model::failed_to_observe(TARGET, error));
            return None;
        };
        at_the_end(self.segment, || {
            self.notes.attempt(TARGET, || {
                let mut database = Database::There(remote);
                if catch(|| database.pinned_row("SELECT 1")).is_ok() {
                    return Ok(database);
                }
                drop(database);
                Database::open(self.spec.target.as_ref())
            })
        })
    }

    /// Observes for the last time, when the clients have ended, and sets what the run's row has of
    /// it; the rows that remain to be stored.
    pub fn conclude(mut self, run: &mut Run) -> Observed {
        let end_ns = clock::now_ns() + LAST_ANSWER_NS;
        while self.awaits_answer() && clock::now_ns() < end_ns {
            latch::wait(LOOK_EVERY, WaitEvent::Interval);
            self.advance_server();
            if let Some(target) = &mut self.target {
                self.waits.fetch(self.segment, target, &mut self.notes);
            }
        }
        let mut database = self.database_after();
        if let (Some(snapshots), Some(database)) = (self.snapshots, &mut database) {
            let notes = &mut self.notes;
            let of_target = snapshots.of_target;
            let look = || notes.attempt(SNAPSHOTS, || snapshots.after(self.segment, database, run));
            match of_target {
                false => look(),
                true => at_the_end(self.segment, look),
            };
        }
        if let Some(tables) = self.tables {
            let notes = &mut self.notes;
            let after = database.as_mut().and_then(|database| {
                at_the_end(self.segment, || {
                    notes.attempt(TABLES, || {
                        tables.after(run.run_id, self.segment, &self.serving, database)
                    })
                })
            });
            let is_known = after.is_some();
            let (rows, lacks) =
                after.unwrap_or_else(|| tables.only_before(run.run_id, self.segment));
            self.observed.tables = rows;
            lacks.into_iter().for_each(|note| notes.add(note.into()));
            if !is_known && must_end(self.segment) {
                notes.add(match self.observed.tables.is_empty() {
                    true => "run_tables has no rows, because the run ended early".into(),
                    false => {
                        "run_tables has no figures after the run, because it ended early".into()
                    }
                });
            }
        }
        // Sessions that have ended have counted their last statements.
        if let Some(mut captured) = self.captured {
            let notes = &mut self.notes;
            if let Some(database) = &mut database {
                at_the_end(self.segment, || {
                    notes.attempt(CAPTURED, || captured.after(database, run.backends))
                });
            }
            self.observed.captured_statements = captured.into_rows();
        }
        if let Some(mut processes) = self.processes.take() {
            processes.update(self.segment);
            let seconds = run.seconds.unwrap_or(0.0);
            self.observed.times = Some(times::of_run(self.segment, seconds, &processes.used()));
        }
        if let Some(stacks) = self.stacks.take() {
            let (stacks, profiles) = stacks.conclude(&mut self.notes);
            self.observed.stacks = stacks;
            self.observed.profiles = profiles;
        }
        let stalls = self.waits.conclude(self.segment, &mut self.notes);
        self.observed.stalls.extend(stalls);
        run.notes = self.notes.into_texts();
        self.observed
    }
}

/// Name in notes of the look at a target when its clients have ended.
const TARGET: &str = "the target after the run";
/// Name in notes of what `snapshots` observes.
const SNAPSHOTS: &str = "held snapshots";
/// Name in notes of what `environment` observes.
const ENVIRONMENT: &str = "what the run runs on";
/// Name in notes of what `tables` observes.
const TABLES: &str = "the tables that the run uses";
/// Name in notes of what `captured` observes.
const CAPTURED: &str = "the statements of the captured workload";
/// Name in notes of what `server` observes.
const SERVER: &str = "the server's statistics";
/// Name in notes of what `stacks` observes.
const STACKS: &str = "stacks";
