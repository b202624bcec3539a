//! `bench.compare`: the same options in each mode, in turn, several times.

use crate::error::{OrRaise, Result};
use crate::run::horizon::Horizon;
use crate::run::options::{self, RunOptions};
use crate::run::spec::MODES;
use pgrx::datum::{Interval, JsonB};
use pgrx::pg_sys;
use pgrx::prelude::*;
use selfbench_stats::{Spread, summary};

/// What one mode has shown so far.
struct Arm {
    mode: String,
    tps: Vec<f64>,
    latency_avg_ms: Vec<f64>,
    latency_p95_ms: Vec<f64>,
    run_ids: Vec<i64>,
}

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
fn compare(
    scripts: Option<Vec<Option<String>>>,
    modes: Option<Vec<Option<String>>>,
    repeats: Option<i32>,
    clients: Option<i32>,
    jobs: Option<i32>,
    duration: Option<Interval>,
    transactions: Option<i64>,
    protocol: Option<String>,
    vacuum: Option<String>,
    warmup: Option<Interval>,
    seed: Option<String>,
    label: Option<String>,
    rate: Option<f64>,
    latency_limit: Option<f64>,
    max_tries: Option<i32>,
    variables: Option<JsonB>,
    continue_on_error: Option<bool>,
    exit_on_abort: Option<bool>,
    target: Option<String>,
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
    ),
> {
    // SAFETY: the server passes the information on this call.
    let horizon = unsafe { Horizon::of_call(fcinfo) };
    let arms = (|| -> Result<Vec<Arm>> {
        let repeats =
            options::in_range("repeats", options::required("repeats", repeats)?, 1, 1000)?;
        let names = options::required("modes", modes)?;
        let mut arms = Vec::new();
        for name in names {
            let mode = options::one_of("modes", &name, MODES.map(|m| (m.name(), m)))?;
            arms.push(Arm {
                mode: mode.name().into(),
                tps: Vec::new(),
                latency_avg_ms: Vec::new(),
                latency_p95_ms: Vec::new(),
                run_ids: Vec::new(),
            });
        }
        if arms.is_empty() {
            return Err(options::illegal("modes", "{}".into(), "At least one mode."));
        }
        let run_options = |mode: &str| RunOptions {
            scripts: scripts.clone(),
            mode: Some(mode.into()),
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
            variables: variables.as_ref().map(|variables| variables.0.clone()),
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
        // Wrong options are told before anything has run.
        for arm in &arms {
            run_options(&arm.mode).check()?;
        }
        for _ in 0..repeats {
            for arm in &mut arms {
                let finished = super::run::execute(&run_options(&arm.mode), &horizon)?;
                let figures = &finished.run.figures;
                arm.tps.extend(figures.tps);
                arm.latency_avg_ms.extend(figures.latency_avg_ms);
                arm.latency_p95_ms.extend(figures.latency_p95_ms);
                arm.run_ids.push(finished.run.run_id);
            }
        }
        Ok(arms)
    })()
    .or_raise();
    // Repeats are paired: the machine may drift between them.
    let first = arms.first().map(|arm| arm.tps.clone()).unwrap_or_default();
    let rows: Vec<_> = arms
        .into_iter()
        .map(|arm| {
            let tps = Spread::of(&arm.tps);
            let ratios: Vec<f64> = arm
                .tps
                .iter()
                .zip(&first)
                .filter_map(|(tps, first)| summary::ratio(*tps, *first))
                .collect();
            (
                arm.mode,
                arm.run_ids.len() as i32,
                tps.map(|spread| spread.median),
                tps.map(|spread| spread.min),
                tps.map(|spread| spread.max),
                summary::median(&arm.latency_avg_ms),
                summary::median(&arm.latency_p95_ms),
                summary::median(&ratios),
                arm.run_ids,
            )
        })
        .collect();
    TableIterator::new(rows)
}
