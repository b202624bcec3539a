//! Sets of runs: `bench.compare` and others that make one run after the other.
//!
//! The caller's backend drives a set: it has a lock that shows others that it does, has a worker
//! store the row of the set at its begin and end, and performs one run after the other, which their
//! coordinators store with their place in the set. What is left after a cancel or a crash follows
//! from the row of the set and the rows of its runs.

pub(super) mod arms;
pub(super) mod capacity;
pub(super) mod compare;
mod outcomes;
mod resume;
mod scaling;
mod series;
pub(super) mod stored_arms;
mod stored_runs;
pub(super) mod sweep;
pub(super) mod verdicts;

use super::last;
use super::progress::Progress;
use super::run::perform;
use super::warnings;
use crate::backend::horizon::Horizon;
use crate::backend::limits::{self, Asked};
use crate::clock;
use crate::error::{Error, OrRaise, Report, Result, catch, message};
use crate::results::sets::{self, Change};
use crate::run::{Run, RunSpec, Vacuum};
use crate::server;
use crate::state::catalog::own_table;
use crate::state::transaction::InTransaction;
use crate::worker::set_writer;
use outcomes::Outcomes;
use pgrx::pg_sys;
use pgrx::prelude::*;
use selfbench_model::{DrawnSet, NewSet, RunRecord, SetEnd, SetKind, SetState};
use serde_json::Value;

/// The time between notices of how far a set has come, at least.
const TELL_NS: u64 = 10_000_000_000;
/// Time that a run takes beside its duration, for the estimate before the first one: its workers
/// start, and results are stored.
const OVERHEAD_S: f64 = 0.5;

/// A set that this session drives.
pub(super) struct Set<'h> {
    /// Its number; `None` on a standby, where nothing is stored.
    pub id: Option<i64>,
    /// The OID of the table of sets.
    table: pg_sys::Oid,
    horizon: &'h Horizon<'h>,
    progress: Progress,
    begun_ns: u64,
    told_ns: u64,
    /// Runs that are planned and runs that have ended.
    planned: Option<usize>,
    done: usize,
    /// Of these, those that could be made and have figures.
    made: usize,
    /// Findings of its runs so far, for a caller who cancels it.
    so_far: Option<String>,
}

/// Result of a set: rows to be returned, and what its row keeps beside its runs.
pub(super) struct SetResult<T> {
    /// Rows that the function returns.
    pub rows: T,
    /// Stored result.
    pub result: Option<Value>,
}

/// Outcome of a set that was driven again.
pub(super) struct Resumed {
    /// Number of runs that were made.
    pub made: i32,
    /// Its verdict, if it has one.
    pub verdict: Option<String>,
}

/// Drives a new set: stores its row, lets `body` make its runs, and stores how it ended. Its runs ask for these.
pub(super) fn begin<T>(
    new: NewSet,
    asked: Vec<Asked>,
    progress: Progress,
    horizon: &Horizon,
    body: impl FnOnce(&mut Set<'_>) -> Result<SetResult<T>>,
) -> Result<T> {
    limits::foresee(&asked)?;
    let (planned, kind) = (new.planned_runs, new.kind);
    let first = if server::in_recovery() {
        if kind != SetKind::Compare {
            return Err(Error::ReadOnly {
                what: format!("call bench.{}", kind.name()),
                why: "on a standby, which cannot store its runs",
                hint: "Use bench.compare or bench.run, which return their results.".into(),
            });
        }
        None
    } else {
        // The number comes first: without the lock, the set would seem to be lost. A worker takes it, because nextval may
        // assign a transaction ID to the caller, which would hold back vacuum as long as the set goes on.
        let set_id = set_writer::write(Change::Number, horizon)?;
        require_lock(set_id)?;
        Some((set_id, Change::Begin { set_id, set: new }))
    };
    drive(first, false, planned, progress, horizon, body).map(|(rows, _)| rows)
}

/// Drives a stored set again. The caller has its lock. `verdict` is that of its rows. A set that `was_finished`
/// is so again if no run is added.
pub(super) fn resume<T>(
    set_id: i64,
    was_finished: bool,
    planned: Option<i32>,
    horizon: &Horizon,
    body: impl FnOnce(&mut Set<'_>) -> Result<SetResult<T>>,
    verdict: impl FnOnce(&T) -> Option<String>,
) -> Result<Resumed> {
    let first = Some((set_id, Change::Resume { set_id }));
    let progress = Progress::default();
    let (rows, made) = drive(first, was_finished, planned, progress, horizon, body)?;
    Ok(Resumed {
        made: made as i32,
        verdict: verdict(&rows),
    })
}

/// The value sets that the scripts of runs draw from.
pub(super) fn drawn_sets<'s>(specs: impl Iterator<Item = &'s RunSpec>) -> Result<Vec<DrawnSet>> {
    let mut drawn: Vec<DrawnSet> = Vec::new();
    for spec in specs {
        let used = spec.checked_workload()?.value_sets;
        for (set, rows) in used.into_iter().zip(&spec.values) {
            let is_it = |known: &DrawnSet| known.name == set.name && known.columns == set.columns;
            if !drawn.iter().any(is_it) {
                let (words, texts) = (rows.words(), rows.texts());
                drawn.push(DrawnSet::new(set.name, set.columns, words, texts));
            }
        }
    }
    Ok(drawn)
}

/// Fails if another session drives a set.
pub(super) fn require_lock(set_id: i64) -> Result<()> {
    match sets::lock(set_id)? {
        true => Ok(()),
        false => Err(Error::SetInProgress { set_id }),
    }
}

/// Drives a set. `first` is its number with the change of its row at the beginning, unless it is not
/// stored. Returns the rows, and how many runs were made.
fn drive<T>(
    first: Option<(i64, Change)>,
    was_finished: bool,
    planned: Option<i32>,
    progress: Progress,
    horizon: &Horizon,
    body: impl FnOnce(&mut Set<'_>) -> Result<SetResult<T>>,
) -> Result<(T, usize)> {
    let now = clock::now_ns();
    let (id, first) = first.unzip();
    let mut set = Set {
        id,
        table: table_of_sets()?,
        horizon,
        progress,
        begun_ns: now,
        told_ns: now,
        planned: planned.and_then(|planned| usize::try_from(planned).ok()),
        done: 0,
        made: 0,
        so_far: None,
    };
    let begun = catch(|| first.map_or(Ok(()), |first| set_writer::write(first, horizon).map(drop)));
    // The row may be there even if the caller was canceled while it waited for it.
    let begun = match begun {
        Err(error) if !error.is_cancel() => return Err(error),
        begun => begun,
    };
    let has_begun = begun.is_ok();
    if let Some(set_id) = id.filter(|_| has_begun) {
        last::remember_set(set_id);
    }
    let _each_once = warnings::each_once();
    let ended = begun.and_then(|()| catch(|| body(&mut set)));
    set.require_extension()?;
    match ended {
        Ok(found) => {
            let end = SetEnd {
                state: SetState::Finished,
                error: None,
                result: found.result,
            };
            let (stored, canceled) = store_end(id, &end, horizon);
            stored?;
            canceled.map_or(Ok((found.rows, set.made)), Err)
        }
        Err(error) => {
            let state = match error.is_cancel() {
                _ if was_finished && set.is_empty() => SetState::Finished,
                true => SetState::Canceled,
                false => SetState::Failed,
            };
            let end = SetEnd {
                state,
                error: (state != SetState::Finished).then(|| error.report().one_line()),
                result: None,
            };
            // The error is what the caller is told, even if the row cannot be stored: without its end,
            // the set is a lost one.
            if let (Err(unstored), _) = store_end(id, &end, horizon)
                && has_begun
            {
                message::warning(format_args!(
                    "the end of the set could not be stored: {unstored}"
                ));
            }
            set.tell_incomplete();
            Err(error)
        }
    }
}

/// The OID of the table of sets: another one if the extension was dropped and created again.
fn table_of_sets() -> Result<pg_sys::Oid> {
    own_table(InTransaction::current()?, c"sets")
}

/// Stores the end of a set, even if the caller is canceled meanwhile, which is returned, too: such a cancel, as of
/// Ctrl-C pressed twice, meant the runs. One more ends a wait for a lock here.
fn store_end(id: Option<i64>, end: &SetEnd, horizon: &Horizon) -> (Result<()>, Option<Error>) {
    let Some(set_id) = id else {
        return (Ok(()), None);
    };
    let store = || {
        let end = end.clone();
        catch(|| set_writer::write(Change::End { set_id, end }, horizon).map(drop))
    };
    match store() {
        Err(cancel) if cancel.is_cancel() => (store(), Some(cancel)),
        stored => (stored, None),
    }
}

impl Set<'_> {
    /// Fails if the tables are not those in which the set has begun.
    fn require_extension(&self) -> Result<()> {
        match table_of_sets()? == self.table {
            true => Ok(()),
            false => Err(Error::ExtensionDropped),
        }
    }

    /// Makes a run of the set with a seed, and returns it even if it failed or was canceled. An error
    /// says why it could not be made; a cancel of the calling query is raised, and so is the error if
    /// there is no set any more.
    pub fn run(&mut self, spec: &RunSpec, seed: u64, arm: &str, round: i32) -> Result<RunRecord> {
        self.require_extension().or_raise();
        self.tell(spec);
        let spec = RunSpec {
            vacuum_tables: [spec.vacuum_tables.clone(), self.tables_to_vacuum(spec)?].concat(),
            seed,
            run: Run {
                set_id: self.id,
                arm: Some(arm.to_owned()),
                round: Some(round),
                ..spec.run.clone()
            },
            ..spec.clone()
        };
        let record = perform(&spec, self.progress, self.horizon);
        // That a run failed for this reason is not told beside it.
        self.require_extension().or_raise();
        self.done += 1;
        self.made += usize::from(record.as_ref().is_ok_and(|record| !record.run.is_void()));
        record
    }

    /// The tables to which the run before has written: what it leaves is not to be paid by this one.
    fn tables_to_vacuum(&self, spec: &RunSpec) -> Result<Vec<String>> {
        let (Some(set_id), None, true) = (self.id, &spec.target, spec.vacuum() != Vacuum::None)
        else {
            return Ok(Vec::new());
        };
        let written = sets::written(set_id)?.into_iter();
        let others = written.filter(|written| !(written.is_pgbench && spec.vacuums()));
        let (may, may_not): (Vec<_>, Vec<_>) = others.partition(|written| written.may_vacuum);
        if !may_not.is_empty() {
            let tables: Vec<_> = may_not.into_iter().map(|written| written.table).collect();
            warnings::notice(
                "tables are not vacuumed between runs",
                &format!(
                    "This role may not vacuum {}. A run may pay for what earlier ones have written.",
                    tables.join(", ")
                ),
                "Call it as the owner of the tables, or GRANT MAINTAIN on them from PostgreSQL 17 on.",
            );
        }
        Ok(may.into_iter().map(|written| written.table).collect())
    }

    /// Says what the set has shown so far, for a caller who cancels it.
    pub fn shows(&mut self, so_far: String) {
        self.so_far = Some(so_far);
    }

    /// Tells the caller of a set that has ended early what is known, and how to go on.
    fn tell_incomplete(&self) {
        let Some(set_id) = self.id.filter(|_| self.done > 0) else {
            return;
        };
        let so_far = match (&self.so_far, self.planned) {
            (Some(so_far), _) => format!("So far: {so_far}."),
            (None, Some(planned)) => format!(
                "This call has made {} of {planned} runs; SELECT * FROM bench.arms({set_id}) has the \
                 figures so far.",
                self.made
            ),
            (None, None) => "It has not made its first run.".into(),
        };
        Report {
            detail: Some(so_far),
            hint: Some(format!(
                "Continue it with SELECT * FROM bench.resume({set_id})."
            )),
            ..Report::new(
                PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
                format!("set {set_id} is not complete"),
            )
        }
        .send(PgLogLevel::NOTICE);
    }

    /// Horizon for the waits of the set.
    pub fn horizon(&self) -> &Horizon<'_> {
        self.horizon
    }

    /// Whether no run could be made so far.
    pub fn is_empty(&self) -> bool {
        self.made == 0
    }

    /// Fails with the first error of its runs if none could be made: there is nothing to return, or nothing
    /// more than before.
    pub fn require_runs(&self, outcomes: &mut Outcomes) -> Result<()> {
        match outcomes.first.take() {
            Some(error) if self.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Leaves a planned run out.
    pub fn skip(&mut self) {
        if let Some(planned) = &mut self.planned {
            *planned = planned.saturating_sub(1);
        }
    }

    /// Tells the caller before the first run how long the set will take, and later, not too often,
    /// how much is left.
    fn tell(&mut self, next: &RunSpec) {
        let now = clock::now_ns();
        let Some(planned) = self.planned else { return };
        let left = planned.saturating_sub(self.done);
        if self.done == 0 {
            // Without a duration nothing is known yet.
            let warmup_us = next.warmup_us().unwrap_or(next.max_warmup_us());
            let us = next.duration_us().map_or(0, |us| us + warmup_us);
            let seconds = (us as f64 / 1e6 + OVERHEAD_S) * left as f64;
            if us > 0 && seconds >= TELL_NS as f64 / 1e9 {
                let about = match next.warmup_us() {
                    Some(_) => "about",
                    None => "at most",
                };
                message::notice(format_args!("{planned} runs, {about} {}", span(seconds)));
            }
        } else if now - self.told_ns >= TELL_NS {
            self.told_ns = now;
            let each = (now - self.begun_ns) as f64 / 1e9 / self.done as f64;
            message::notice(format_args!(
                "run {} of {planned}, about {} left",
                self.done + 1,
                span(each * left as f64)
            ));
        }
    }
}

/// A span of time in the units that people use.
fn span(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
