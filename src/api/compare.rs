//! `bench.compare`: the same options in each mode, in turn, several times.

use super::progress::Progress;
use super::run::require_transactions;
use super::sets::{self, Found};
use crate::backend::call::Call;
use crate::check;
use crate::error::{OrRaise, Result};
use crate::options::Options;
use crate::run::options::RunOptions;
use crate::run::spec::{MODES, RunSpec};
use pgrx::prelude::*;
use selfbench_model::{Figures, NewSet, Run, RunState, SetKind};
use selfbench_stats::{Spread, summary};

/// Most modes, of which each takes memory of its own.
const MAX_ARMS: usize = 100;

/// One mode, and what it has shown so far.
struct Arm {
    spec: RunSpec,
    /// Its runs, by round: what they have shown, if they count.
    rounds: Vec<(i64, Option<Figures>)>,
}

impl Arm {
    /// One figure of the runs that count.
    fn values(&self, figure: fn(&Figures) -> Option<f64>) -> Vec<f64> {
        let figures = self.rounds.iter().filter_map(|(_, run)| run.as_ref());
        figures.filter_map(figure).collect()
    }

    /// Their tps by that of another arm, by rounds in which both count: the machine may drift
    /// from one to the next.
    fn ratios(&self, to: &Arm) -> Vec<f64> {
        let tps = |round: &(i64, Option<Figures>)| round.1.as_ref()?.tps;
        let pairs = self.rounds.iter().zip(&to.rounds);
        pairs
            .filter_map(|(round, to)| summary::ratio(tps(round)?, tps(to)?))
            .collect()
    }

    /// Ids of the runs that count, or of those that do not.
    fn run_ids(&self, counting: bool) -> Vec<i64> {
        let runs = self.rounds.iter();
        runs.filter(|(_, run)| run.is_some() == counting)
            .map(|(run_id, _)| *run_id)
            .collect()
    }
}

/// The figures of a run that did all that it was asked for, with all of its clients.
fn complete(run: &Run) -> Option<Figures> {
    (run.state == RunState::Finished && run.aborted_clients == 0).then(|| run.figures.clone())
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn compare(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(mode, String),
        name!(runs, i32),
        name!(tps, Option<f64>),
        name!(tps_min, Option<f64>),
        name!(tps_max, Option<f64>),
        name!(latency_avg_ms, Option<f64>),
        name!(latency_p95_ms, Option<f64>),
        name!(ratio, Option<f64>),
        name!(run_ids, Vec<i64>),
        name!(missing, Vec<i64>),
    ),
> {
    let horizon = call.horizon();
    let arms = (|| -> Result<Vec<Arm>> {
        let (names, repeats, options) = call.read(|arguments| {
            Ok((
                arguments.take::<Vec<Option<String>>>("modes")?,
                arguments.take::<i32>("repeats")?,
                RunOptions::take(arguments)?,
            ))
        })?;
        let repeats = check::in_range("repeats", repeats, 1, 1000)?;
        if names.len() > MAX_ARMS {
            return Err(check::invalid(
                "modes",
                format!("{} modes", names.len()),
                &format!("At most {MAX_ARMS} modes."),
            ));
        }
        // Everything is looked up before the first wait: what is wrong is told before anything has
        // run, and what others change meanwhile changes no run.
        let mut arms = Vec::with_capacity(names.len());
        for name in names {
            let name = check::required("modes", name)?;
            check::one_of("modes", &name, MODES.map(|m| (m.name(), m)))?;
            let options = RunOptions {
                mode: name,
                ..options.clone()
            };
            arms.push(Arm {
                spec: options.check()?,
                rounds: Vec::new(),
            });
        }
        if arms.is_empty() {
            return Err(check::invalid("modes", "{}".into(), "At least one mode."));
        }
        let set = NewSet {
            kind: SetKind::Compare,
            label: options.label.clone(),
            options: serde_json::Value::Object(
                options
                    .entries()
                    .into_iter()
                    .map(|entry| (entry.name.to_owned(), entry.value))
                    .collect(),
            ),
            seed: check::seed(options.seed.as_deref())?,
            planned_runs: Some(repeats * arms.len() as i32),
        };
        sets::begin(set, Progress::default(), &horizon, |set| {
            for round in 1..=repeats {
                for arm in &mut arms {
                    arm.spec.seed = check::seed(options.seed.as_deref())?;
                    let record = set.run(&arm.spec, arm.spec.mode.name(), round)?;
                    require_transactions(&arm.spec, &record)?;
                    let run = record.run;
                    arm.rounds.push((run.run_id, complete(&run)));
                }
            }
            Ok(Found {
                rows: (),
                result: None,
            })
        })?;
        Ok(arms)
    })()
    .or_raise();
    let missing: Vec<i64> = arms.iter().flat_map(|arm| arm.run_ids(false)).collect();
    if !missing.is_empty() {
        pgrx::ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_WARNING,
            format!(
                "{} of {} runs are missing in the comparison",
                missing.len(),
                arms.iter().map(|arm| arm.rounds.len()).sum::<usize>()
            ),
            format!("They were canceled or lost clients: {missing:?}.")
        );
    }
    let rows: Vec<_> = arms
        .iter()
        .map(|arm| {
            let tps = Spread::of(&arm.values(|figures| figures.tps));
            (
                arm.spec.mode.name().to_owned(),
                arm.run_ids(true).len() as i32,
                tps.map(|spread| spread.median),
                tps.map(|spread| spread.min),
                tps.map(|spread| spread.max),
                summary::median(&arm.values(|figures| figures.latency.latency_avg_ms)),
                summary::median(&arm.values(|figures| figures.latency.latency_p95_ms)),
                summary::median(&arm.ratios(&arms[0])),
                arm.run_ids(true),
                arm.run_ids(false),
            )
        })
        .collect();
    TableIterator::new(rows)
}
