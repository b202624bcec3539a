//! Verdicts of a comparison: a row for each arm. The same rows are made of runs that have just
//! ended and of stored ones.

use super::arms::{Arm, baseline};
use super::outcomes::Outcomes;
use super::series::Series;
use selfbench_model::{Figures, RunRecord};
use selfbench_report::verdict::{self, Measure};
use selfbench_stats::compare::{Comparison, Interval, geometric_mean, interval_of_mean};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A row of `bench.arm`: fields as its columns.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name of the arm.
    pub arm: String,
    options: Option<Map<String, Value>>,
    /// Number of its runs that count.
    pub runs: usize,
    /// Mean of its runs.
    pub tps: Option<f64>,
    tps_low: Option<f64>,
    tps_high: Option<f64>,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    p_value: Option<f64>,
    /// Its verdict.
    pub verdict: Option<String>,
    latency_avg_ms: Option<f64>,
    #[serde(flatten)]
    latencies: Latencies,
    scripts_ratio: Option<f64>,
    run_ids: Vec<i64>,
    missing: Vec<i64>,
    set_id: Option<i64>,
}

impl Row {
    /// The row of an arm that is compared with no other.
    pub fn of(set_id: Option<i64>, arm: &Arm, outcomes: &Outcomes) -> Row {
        let counting = outcomes.counting(&arm.name);
        let unmade = outcomes.missing(&arm.name);
        let tps = mean(&counting, |figures| figures.tps);
        Row {
            arm: arm.name.clone(),
            options: None,
            runs: counting.len(),
            tps: tps.0,
            tps_low: tps.1,
            tps_high: tps.2,
            ratio: None,
            ratio_low: None,
            ratio_high: None,
            p_value: None,
            verdict: None,
            latency_avg_ms: mean(&counting, |figures| figures.latency.latency_avg_ms).0,
            latencies: Latencies::of(&counting),
            scripts_ratio: None,
            run_ids: counting.values().map(|record| record.run.run_id).collect(),
            missing: unmade.iter().map(|record| record.run.run_id).collect(),
            set_id,
        }
    }

    /// Its verdict with the name of the arm, if it has one.
    pub fn line(&self) -> Option<String> {
        let verdict = self.verdict.as_ref()?;
        Some(format!("{}: {verdict}", self.arm))
    }

    /// The row of a point of a grid: its options, and why runs are missing.
    pub fn of_point(self, options: Map<String, Value>, note: Option<String>) -> Row {
        Row {
            options: Some(options),
            verdict: note,
            ..self
        }
    }
}

/// Percentiles of runs that count: their means, with intervals.
#[derive(Debug, Serialize)]
struct Latencies {
    latency_p50_ms: Option<f64>,
    latency_p50_low_ms: Option<f64>,
    latency_p50_high_ms: Option<f64>,
    latency_p95_ms: Option<f64>,
    latency_p95_low_ms: Option<f64>,
    latency_p95_high_ms: Option<f64>,
    latency_p99_ms: Option<f64>,
    latency_p99_low_ms: Option<f64>,
    latency_p99_high_ms: Option<f64>,
}

impl Latencies {
    /// Mean latencies of runs.
    fn of(runs: &BTreeMap<i32, &RunRecord>) -> Latencies {
        let p50 = mean(runs, |figures| figures.latency.latency_p50_ms);
        let p95 = mean(runs, |figures| figures.latency.latency_p95_ms);
        let p99 = mean(runs, |figures| figures.latency.latency_p99_ms);
        Latencies {
            latency_p50_ms: p50.0,
            latency_p50_low_ms: p50.1,
            latency_p50_high_ms: p50.2,
            latency_p95_ms: p95.0,
            latency_p95_low_ms: p95.1,
            latency_p95_high_ms: p95.2,
            latency_p99_ms: p99.0,
            latency_p99_low_ms: p99.1,
            latency_p99_high_ms: p99.2,
        }
    }
}

/// The rows of all arms, compared with the one marked as the baseline, or the first.
pub fn rows(set_id: Option<i64>, series: &Series, outcomes: &Outcomes) -> Vec<Row> {
    let arms = &series.arms;
    let Some(baseline) = baseline(arms) else {
        return Vec::new();
    };
    let has_rate = |arm: &Arm| arm.options.rate.is_some() || arm.options.load_factor.is_some();
    let measure = match arms.iter().any(has_rate) {
        true => Measure::Latency,
        false => Measure::Throughput,
    };
    let base = outcomes.counting(&baseline.name);
    arms.iter()
        .map(|arm| {
            let counting = outcomes.counting(&arm.name);
            let rounds: Vec<(i32, &RunRecord, &RunRecord)> = counting
                .iter()
                .filter_map(|(round, run)| Some((*round, *run, *base.get(round)?)))
                .collect();
            let is_baseline = arm.name == baseline.name;
            let comparison = match is_baseline {
                true => None,
                false => compare(&rounds, measure, series.seed),
            };
            let missing = series.missing(counting.len());
            let text = match &arm.cannot {
                Some(why) => format!("cannot run: {why}"),
                None => {
                    let text = match is_baseline {
                        true => verdict::of_baseline(missing),
                        false => {
                            let outliers = comparison.iter().flat_map(|c| &c.outliers);
                            let outliers: Vec<i32> =
                                outliers.filter_map(|at| Some(rounds.get(*at)?.0)).collect();
                            verdict::verdict(comparison.as_ref(), measure, &outliers, missing)
                        }
                    };
                    match outcomes.why_missing(&arm.name) {
                        Some(why) if missing > 0 => format!("{text} ({why})"),
                        _ => text,
                    }
                }
            };
            let found = comparison.as_ref();
            Row {
                ratio: found.map(|found| found.ratio),
                ratio_low: found.and_then(|found| found.low),
                ratio_high: found.and_then(|found| found.high),
                p_value: found.and_then(|found| found.p_value),
                verdict: Some(text),
                scripts_ratio: (!is_baseline)
                    .then(|| of_scripts(&rounds, measure))
                    .flatten(),
                ..Row::of(set_id, arm, outcomes)
            }
        })
        .collect()
}

/// An arm and its baseline, by rounds that have a run of both.
fn compare(
    rounds: &[(i32, &RunRecord, &RunRecord)],
    measure: Measure,
    seed: u64,
) -> Option<Comparison> {
    let figure = |record: &RunRecord| match measure {
        Measure::Throughput => record.run.figures.tps,
        Measure::Latency => record.run.figures.latency.latency_avg_ms,
    };
    let pairs: Vec<(f64, f64)> = rounds
        .iter()
        .map(|(_, run, base)| {
            // Missing figures are NaN, which the comparison leaves out.
            let value = |record| figure(record).unwrap_or(f64::NAN);
            (value(run), value(base))
        })
        .collect();
    Comparison::of(&pairs, seed)
}

/// The geometric mean of the ratios of all scripts' mean latencies, if there are several, and the same
/// in all runs: how fast a mix is says little about scripts that are rarely chosen or short.
fn of_scripts(rounds: &[(i32, &RunRecord, &RunRecord)], measure: Measure) -> Option<f64> {
    let mut ratios = Vec::new();
    for (_, run, base) in rounds {
        if run.scripts.len() < 2 || run.scripts.len() != base.scripts.len() {
            return None;
        }
        for (script, of_base) in run.scripts.iter().zip(&base.scripts) {
            if script.name != of_base.name {
                return None;
            }
            let latency = |figures: &Figures| figures.latency.latency_avg_ms;
            let (latency, base) = (latency(&script.figures)?, latency(&of_base.figures)?);
            ratios.push(match measure {
                Measure::Throughput => base / latency,
                Measure::Latency => latency / base,
            });
        }
    }
    geometric_mean(&ratios)
}

/// The mean of a figure of runs, and the bounds of its interval.
fn mean(
    runs: &BTreeMap<i32, &RunRecord>,
    figure: fn(&Figures) -> Option<f64>,
) -> (Option<f64>, Option<f64>, Option<f64>) {
    let values: Option<Vec<f64>> = runs
        .values()
        .map(|record| figure(&record.run.figures))
        .collect();
    let interval = values.as_deref().and_then(interval_of_mean);
    match interval {
        Some(Interval { mean, low, high }) => (Some(mean), low, high),
        None => (None, None, None),
    }
}
