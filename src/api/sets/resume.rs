//! `bench.resume`: continues a set that was canceled, failed or lost.

use super::capacity::FindCapacity;
use super::compare::Comparison;
use super::outcomes::Outcomes;
use super::series::Series;
use super::sweep::Sweep;
use super::verdicts::Row;
use super::{Resumed, Set, drawn_sets};
use crate::api::teardown;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::check;
use crate::error::{Error, Result};
use crate::results::sets::{self, StoredSet};
use crate::run::RunSpec;
use crate::server;
use pgrx::prelude::*;
use selfbench_model::{DrawnSet, RunRecord, SetKind};

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn resume(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(set_id, i64),
        name!(kind, &'static str),
        name!(made_runs, i32),
        name!(verdict, Option<String>),
    ),
> {
    let horizon = call.horizon();
    let row = (|| {
        let set_id = call.read(|arguments| arguments.take::<Option<i64>>("set_id"))?;
        let set_id = check::argument("set_id", set_id)?;
        let (kind, resumed) = go_on(set_id, &horizon)?;
        Ok((set_id, kind.name(), resumed.made, resumed.verdict))
    })();
    TableIterator::once(row.or_raise_in(&call))
}

/// Makes the runs that a set has left; what it is for, and what came of it.
fn go_on(set_id: i64, horizon: &Horizon) -> Result<(SetKind, Resumed)> {
    server::require_writable("resume a set")?;
    let found = sets::load(set_id)?;
    // Not even for a superuser, with whose rights the runs would be made.
    if found.owner != server::role().to_u32() {
        return Err(Error::Denied {
            what: format!("set {set_id}"),
            hint: "Only the role that made a set can resume it.".into(),
        });
    }
    super::require_lock(set_id)?;
    // The session that had the lock may have gone on with it.
    let set = sets::load(set_id)?;
    let finished = set.is_finished();
    let outcomes = Outcomes::stored(set_id, &set)?;
    let resumed = match set.kind {
        SetKind::Compare => {
            let mut comparison = Comparison::stored(&set)?;
            prepare(set_id, &set, &mut comparison.series, &outcomes, horizon)?;
            let left = require_left(set_id, &set, comparison.left(&outcomes).len())?;
            let body = |set: &mut Set<'_>| comparison.perform(set, outcomes);
            super::resume(set_id, finished, Some(left), horizon, body, |rows| {
                verdicts(rows)
            })?
        }
        SetKind::Sweep => {
            let mut sweep = Sweep::stored(&set)?;
            prepare(set_id, &set, &mut sweep.series, &outcomes, horizon)?;
            let left = sweep.left(&outcomes).iter().map(Vec::len).sum();
            let left = require_left(set_id, &set, left)?;
            let body = |set: &mut Set<'_>| sweep.perform(set, outcomes);
            super::resume(set_id, finished, Some(left), horizon, body, |rows| {
                verdicts(rows)
            })?
        }
        SetKind::FindCapacity => {
            // How many runs are left follows from what they show.
            require_left(set_id, &set, 0)?;
            let search = FindCapacity::stored(&set)?;
            let spec = search.check()?;
            require_scripts(set_id, &spec, |_| true)?;
            require_value_sets(set_id, &set, &drawn_sets(std::iter::once(&spec))?)?;
            finish_teardowns(outcomes.runs.values().flatten(), search.target(), horizon)?;
            let made = search.made(set_id)?;
            let body = |set: &mut Set<'_>| search.perform(set, spec, made);
            super::resume(set_id, finished, None, horizon, body, |row| {
                Some(row.verdict.clone())
            })?
        }
    };
    Ok((set.kind, resumed))
}

/// The verdicts of arms that have one, a line for each.
fn verdicts(rows: &[Row]) -> Option<String> {
    let lines: Vec<String> = rows.iter().filter_map(Row::line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Checks arms again, that their scripts are still what earlier runs have executed, and that value sets have
/// the same values. Then executes the teardowns that are still due.
fn prepare(
    set_id: i64,
    set: &StoredSet,
    series: &mut Series,
    outcomes: &Outcomes,
    horizon: &Horizon,
) -> Result<()> {
    series.check()?;
    for arm in &series.arms {
        if let Some(spec) = &arm.spec {
            require_scripts(set_id, spec, |old| old.arm == arm.name)?;
        }
    }
    require_value_sets(set_id, set, &series.drawn_sets()?)?;
    for arm in &series.arms {
        let runs = outcomes.runs.get(&arm.name).into_iter().flatten();
        finish_teardowns(runs, arm.options.target.as_deref(), horizon)?;
    }
    Ok(())
}

/// Executes the teardowns of runs that are still due.
fn finish_teardowns<'r>(
    runs: impl Iterator<Item = &'r RunRecord>,
    target: Option<&str>,
    horizon: &Horizon,
) -> Result<()> {
    for record in runs.filter(|record| record.run.teardown_due) {
        teardown::finish(record.run.run_id, target, horizon)?;
    }
    Ok(())
}

/// Fails if scripts are not what earlier runs of a set have executed, those of one arm or of all.
fn require_scripts(
    set_id: i64,
    spec: &RunSpec,
    of_arm: impl Fn(&sets::Executed) -> bool,
) -> Result<()> {
    let before = sets::scripts(set_id)?;
    for (number, script) in spec.scripts.iter().enumerate() {
        let is_same = |old: &&sets::Executed| of_arm(old) && old.script_no as usize == number;
        if let Some(old) = before.iter().find(is_same)
            && old.digest != sets::digest(&script.body)?
        {
            return Err(Error::OptionConflict {
                message: format!(
                    "script \"{}\" has changed since set {set_id} was made",
                    script.name
                ),
                hint: "Its text is in bench.run_scripts: define the script with it again, or make \
                       a new set."
                    .into(),
            });
        }
    }
    Ok(())
}

/// Fails if value sets do not have the values that they had when a set was made.
fn require_value_sets(set_id: i64, set: &StoredSet, drawn: &[DrawnSet]) -> Result<()> {
    let before = set.value_sets.iter().flatten();
    for old in before {
        if let Some(changed) = drawn.iter().find(|now| now.has_changed(old)) {
            return Err(Error::OptionConflict {
                message: format!(
                    "value set \"{}\" has changed since set {set_id} was made",
                    changed.name
                ),
                hint: "Give its rows in bench.value_sets the same values again, or make a new set."
                    .into(),
            });
        }
    }
    Ok(())
}

fn require_left(set_id: i64, set: &StoredSet, left: usize) -> Result<i32> {
    if left > 0 || !set.is_finished() {
        return Ok(left as i32);
    }
    Err(Error::OptionConflict {
        message: format!("set {set_id} is complete"),
        hint: "Its rows are those of bench.arms; that of a search is in \
               bench.set_summary."
            .into(),
    })
}
