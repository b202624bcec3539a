//! Time budgets of runs.

use super::last;
use super::live;
use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{self, Ids, argument};
use crate::error::{Error, Result};
use crate::results::load;
use crate::results::sets;
use crate::results::waits::SeenWaits;
use pgrx::prelude::*;
use selfbench_report::readable;
use selfbench_stats::budget::LatencyPart;

/// The parts of the mean latency of runs, or of the runs of each arm of a set, that the caller may see.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn time_budget(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(component, String),
        name!(us_per_transaction, Option<f64>),
        name!(share, Option<f64>),
        name!(measured, String),
        name!(arm, Option<String>),
        name!(runs, i64),
    ),
> {
    let rows = (|| {
        let (run_ids, set_id) = call.read(|arguments| {
            Ok((
                argument("run_ids", arguments.take::<Option<Ids>>("run_ids")?)?,
                argument("set_id", arguments.take::<Option<i64>>("set_id")?)?,
            ))
        })?;
        let is_last = matches!(run_ids.0.trim(), "" | "0");
        let arms = match (is_last, set_id) {
            (true, 0) => vec![(None, vec![last::last_run()?])],
            (true, set_id) => {
                sets::load(set_id)?;
                sets::runs_of_arms(set_id)?
            }
            (false, 0) => vec![(None, check::ids("run_ids", &run_ids)?)],
            (false, _) => {
                return Err(Error::OptionConflict {
                    message: "options \"run_ids\" and \"set_id\" exclude each other".into(),
                    hint: "Give one of them, or none for the last run.".into(),
                });
            }
        };
        let mut rows = Vec::new();
        for (arm, run_ids) in arms {
            let (parts, runs) = means(&run_ids)?;
            rows.extend(parts.into_iter().map(|part| {
                (
                    part.component,
                    part.us.map(|us| readable("us", us)),
                    part.share.map(|share| readable("share", share)),
                    part.measured,
                    arm.clone(),
                    runs,
                )
            }));
        }
        Ok(rows)
    })()
    .or_raise_in(&call);
    TableIterator::new(rows)
}

/// The parts of the mean latency of several runs, as means that add up as those of one do, and the number
/// of these runs: those whose parts are not known are left out if there are others.
fn means(run_ids: &[i64]) -> Result<(Vec<LatencyPart>, i64)> {
    let mut budgets = Vec::new();
    for run_id in run_ids {
        let run = live::visible(*run_id)?.run;
        budgets.push(load::time_budget(&run, &SeenWaits::load_events(*run_id)?)?);
    }
    let is_known = |parts: &Vec<LatencyPart>| parts.iter().any(|part| part.us.is_some());
    if budgets.iter().any(is_known) {
        budgets.retain(is_known);
    }
    let runs = budgets.len();
    let mut means: Vec<LatencyPart> = Vec::new();
    for part in budgets.into_iter().flatten() {
        let known = means
            .iter_mut()
            .find(|mean| mean.component == part.component);
        match known {
            Some(mean) => {
                mean.us = [mean.us, part.us]
                    .into_iter()
                    .flatten()
                    .reduce(|a, b| a + b)
            }
            None => means.push(part),
        }
    }
    if runs > 1 {
        for mean in &mut means {
            mean.us = mean.us.map(|us| us / runs as f64);
        }
        let total: f64 = means.iter().filter_map(|mean| mean.us).sum();
        for mean in &mut means {
            mean.share = mean.us.filter(|_| total > 0.0).map(|us| us / total);
        }
    }
    Ok((means, runs as i64))
}
