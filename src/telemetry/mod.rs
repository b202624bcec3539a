//! What the coordinator of a run observes beside the clients.
//!
//! [`Telemetry`] has all observers: `snapshots` detects snapshots that distort the figures, `server`
//! reads the server's counters in each interval. `period` is what they know of an interval. Rows wait
//! in memory until a batch of intervals is stored.
//!
//! An observer that fails is off from then on and leaves a note, see `notes`; it never ends a run.

mod notes;
pub mod period;
mod server;
mod snapshots;

use crate::database::Database;
use crate::run::RunSpec;
use crate::shared::Segment;
use notes::Notes;
use period::Period;
use selfbench_model::{Observed, Run};
use server::ServerIntervals;
use snapshots::Snapshots;

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
        Telemetry {
            segment,
            spec,
            stores,
            notes: Notes::default(),
            observed: Observed::default(),
            begins_ns: None,
            snapshots: observes.then(|| Snapshots::before(&mut database)),
            server: None,
            database,
        }
    }

    /// Starts when the start barrier has opened; the first interval begins at the clock reading
    /// `measure_ns`, after the warm-up.
    pub fn begin(&mut self, measure_ns: u64) {
        self.begins_ns = self.spec.switches.observe.then_some(measure_ns);
    }

    /// The clock reading at which [`tick`](Self::tick) has something to do.
    pub fn due_ns(&self) -> u64 {
        let snapshots = self.snapshots.as_ref().map(Snapshots::due_ns);
        snapshots
            .into_iter()
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
    }

    fn begin_intervals(&mut self) {
        if self.stores && matches!(self.database, Database::Here) {
            let mut beginning = Some(());
            self.server = self
                .notes
                .guard(&mut beginning, SERVER, |()| ServerIntervals::begin());
        }
    }

    /// Observes the end of an interval.
    pub fn end_interval(&mut self, period: Period) {
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
        run.notes = self.notes.into_texts();
        self.observed
    }
}

/// What `server` observes, in notes.
const SERVER: &str = "the server's statistics";
