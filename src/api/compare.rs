//! `bench.compare`: the same options in each mode, in turn, several times.

use super::arguments::Arguments;
use super::progress::Progress;
use super::run::{perform, require_transactions};
use crate::backend::horizon::Horizon;
use crate::check;
use crate::error::{OrRaise, Result};
use crate::run::options::RunOptions;
use crate::run::spec::{MODES, RunSpec};
use pgrx::datum::Interval;
use pgrx::pg_sys;
use pgrx::prelude::*;
use selfbench_model::{Figures, Run};
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
    (run.state == "finished" && run.aborted_clients == 0).then(|| run.figures.clone())
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn compare(
    fcinfo: pg_sys::FunctionCallInfo,
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
    // SAFETY: the server passes the information on this call.
    let (horizon, mut arguments) =
        unsafe { (Horizon::of_call(fcinfo), Arguments::of_call(fcinfo)) };
    let scripts: Option<Vec<Option<String>>> = arguments.take();
    let modes: Option<Vec<Option<String>>> = arguments.take();
    let repeats: Option<i32> = arguments.take();
    let clients: Option<i32> = arguments.take();
    let jobs: Option<i32> = arguments.take();
    let duration: Option<Interval> = arguments.take();
    let transactions: Option<i64> = arguments.take();
    let protocol: Option<String> = arguments.take();
    let vacuum: Option<String> = arguments.take();
    let warmup: Option<Interval> = arguments.take();
    let seed: Option<String> = arguments.take();
    let label: Option<String> = arguments.take();
    let rate: Option<f64> = arguments.take();
    let latency_limit: Option<f64> = arguments.take();
    let max_tries: Option<i32> = arguments.take();
    let variables = arguments.take_variables();
    let continue_on_error: Option<bool> = arguments.take();
    let exit_on_abort: Option<bool> = arguments.take();
    let target: Option<String> = arguments.take();
    let arms = (|| -> Result<Vec<Arm>> {
        let repeats = check::in_range("repeats", check::required("repeats", repeats)?, 1, 1000)?;
        let names = check::required("modes", modes)?;
        if names.len() > MAX_ARMS {
            return Err(check::invalid(
                "modes",
                format!("{} modes", names.len()),
                &format!("At most {MAX_ARMS} modes."),
            ));
        }
        let run_options = |mode: Option<String>| RunOptions {
            scripts: scripts.clone(),
            mode,
            clients,
            jobs,
            duration,
            transactions,
            protocol: protocol.clone(),
            vacuum: vacuum.clone(),
            warmup,
            progress: None,
            interval: Interval::from_seconds(1.0).into(),
            seed: seed.clone(),
            label: label.clone(),
            rate,
            latency_limit,
            max_tries,
            variables: variables.clone(),
            reconnect: Some(false),
            continue_on_error,
            exit_on_abort,
            per_statement: Some(false),
            failures_detailed: Some(false),
            verbose_errors: Some(false),
            log: Some(false),
            sampling_rate: None,
            log_prefix: None,
            target: target.clone(),
            client_process: Some("auto".into()),
        };
        // Everything is looked up before the first wait: what is wrong is told before anything has
        // run, and what others change meanwhile changes no run.
        let mut arms = Vec::with_capacity(names.len());
        for name in names {
            check::one_of("modes", &name, MODES.map(|m| (m.name(), m)))?;
            arms.push(Arm {
                spec: run_options(name).check()?,
                rounds: Vec::new(),
            });
        }
        if arms.is_empty() {
            return Err(check::invalid("modes", "{}".into(), "At least one mode."));
        }
        for _ in 0..repeats {
            for arm in &mut arms {
                arm.spec.seed = check::seed(seed.as_deref())?;
                let finished = perform(&arm.spec, Progress::default(), &horizon)?;
                require_transactions(&arm.spec, &finished)?;
                let run = finished.run;
                arm.rounds.push((run.run_id, complete(&run)));
            }
        }
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
                summary::median(&arm.values(|figures| figures.latency_avg_ms)),
                summary::median(&arm.values(|figures| figures.latency_p95_ms)),
                summary::median(&arm.ratios(&arms[0])),
                arm.run_ids(true),
                arm.run_ids(false),
            )
        })
        .collect();
    TableIterator::new(rows)
}
