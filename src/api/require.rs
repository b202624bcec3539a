//! `bench.require`: conditions that the figures of a run must meet.

use super::wait::await_end;
use crate::backend::call::{Arguments, Call, OrRaiseIn};
use crate::check::argument;
use crate::error::{Error, Result};
use crate::results::load::{load_arms, load_figures, load_histogram};
use crate::results::sets;
use pgrx::prelude::*;
use selfbench_model::Latency;
use selfbench_report::condition::{Condition, Outcome, percentile_name};

/// Returns the conditions with what was measured, or raises one error with all of them.
#[pg_extern(sql = false)]
fn require(
    call: Call<'_>,
) -> TableIterator<'static, (name!(condition, String), name!(measured, Option<String>))> {
    let outcomes = (|| {
        let (run_id, conditions) = call.read(|arguments| {
            Ok((
                argument("run_id", arguments.take::<Option<i64>>("run_id")?)?,
                conditions(arguments)?,
            ))
        })?;
        for condition in &conditions {
            condition.require_no_arm().map_err(Error::Condition)?;
        }
        let ended = await_end(run_id, Some(0), &call.horizon())?.run;
        if ended.is_in_progress() {
            return Err(Error::RunInProgress { run_id });
        }
        let mut figures = load_figures(run_id)?;
        let mut percentiles = conditions
            .iter()
            .filter_map(Condition::percentile)
            .peekable();
        if percentiles.peek().is_some() {
            let histogram = load_histogram(run_id)?;
            let latency: Latency = ended.figures.latency;
            for p in percentiles {
                let ms = histogram.as_ref().and_then(|h| latency.percentile(h, p));
                figures.insert(percentile_name(p), ms.into());
            }
        }
        let outcomes: Result<Vec<Outcome>, _> = conditions
            .iter()
            .map(|condition| condition.check(&figures))
            .collect();
        all_met(format!("run {run_id}"), outcomes.map_err(Error::Condition)?)
    })()
    .or_raise_in(&call);
    TableIterator::new(
        outcomes
            .into_iter()
            .map(|outcome| (outcome.condition, outcome.measured)),
    )
}

/// Checks conditions on the arms of a stored comparison.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn require_set(
    call: Call<'_>,
) -> TableIterator<'static, (name!(condition, String), name!(measured, Option<String>))> {
    let outcomes = (|| {
        let (set_id, conditions) = call.read(|arguments| {
            Ok((
                argument("set_id", arguments.take::<Option<i64>>("set_id")?)?,
                conditions(arguments)?,
            ))
        })?;
        if conditions.iter().any(|c| c.percentile().is_some()) {
            return Err(Error::OptionConflict {
                message: "arms have no percentiles but those of their columns".into(),
                hint: "Use latency_p50_ms, latency_p95_ms or latency_p99_ms.".into(),
            });
        }
        // A query would take 0 for the last set, as the functions that show one do.
        if !sets::is_visible(set_id)? {
            return Err(Error::UnknownSet { set_id });
        }
        let arms = load_arms(set_id)?;
        let mut outcomes = Vec::new();
        for condition in &conditions {
            outcomes.extend(condition.check_arms(&arms).map_err(Error::Condition)?);
        }
        all_met(format!("set {set_id}"), outcomes)
    })()
    .or_raise_in(&call);
    TableIterator::new(outcomes.into_iter().map(|o| (o.condition, o.measured)))
}

/// The conditions that a function is given, of which there must be one.
fn conditions(arguments: &mut Arguments<'_>) -> Result<Vec<Condition>> {
    let texts: Option<Vec<Option<String>>> = arguments.take("conditions")?;
    let texts: Vec<String> = argument(
        "conditions",
        texts.and_then(|texts| texts.into_iter().collect()),
    )?;
    if texts.is_empty() {
        return Err(Error::OptionConflict {
            message: "no conditions are specified".into(),
            hint: "Specify at least one, such as 'failed = 0'.".into(),
        });
    }
    let conditions: Result<_, _> = texts.iter().map(|text| Condition::parse(text)).collect();
    conditions.map_err(Error::Condition)
}

/// The outcomes if all conditions hold; otherwise the error that says which do not.
fn all_met(what: String, outcomes: Vec<Outcome>) -> Result<Vec<Outcome>> {
    match outcomes.iter().filter(|outcome| !outcome.met).count() {
        0 => Ok(outcomes),
        unmet => Err(Error::Unmet {
            what,
            unmet,
            outcomes,
        }),
    }
}
