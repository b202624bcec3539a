//! The figures of `bench.compare_runs`: stored runs of two sides, whichever sets they belong to.

use super::outcomes::counts;
use crate::api::live;
use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{self, Ids, list};
use crate::error::Result;
use pgrx::prelude::*;
use selfbench_model::{Figures, RunRecord};
use selfbench_report::readable;
use selfbench_report::verdict::{self, Measure};
use selfbench_stats::compare::{Comparison, geometric_mean};
use std::collections::BTreeMap;

/// A seed of resampling: the same runs get the same verdict.
const SEED: u64 = 1;

/// A figure of runs.
type Figure = fn(&Figures) -> Option<f64>;

/// The figures that are compared.
const FIGURES: [(&str, Figure); 5] = [
    ("tps", |figures| figures.tps),
    ("latency_avg_ms", |figures| figures.latency.latency_avg_ms),
    ("latency_p50_ms", |figures| figures.latency.latency_p50_ms),
    ("latency_p95_ms", |figures| figures.latency.latency_p95_ms),
    ("latency_p99_ms", |figures| figures.latency.latency_p99_ms),
];

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn compare_figures(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(name, String),
        name!(of_a, Option<f64>),
        name!(of_b, Option<f64>),
        name!(ratio, Option<f64>),
        name!(finding, Option<String>),
    ),
> {
    let rows = (|| {
        let (a, b) = call.read(|arguments| {
            Ok((
                side("a", arguments.take("a")?)?,
                side("b", arguments.take("b")?)?,
            ))
        })?;
        let left_out = [&a, &b].map(|side| side.left_out.clone()).concat();
        let mut rows = vec![(
            "runs".to_owned(),
            Some(a.runs.len() as f64),
            Some(b.runs.len() as f64),
            None,
            (!left_out.is_empty()).then(|| format!("runs that do not count: {}", list(&left_out))),
        )];
        let all = a.runs.iter().chain(&b.runs);
        let by_latency = all.clone().any(|record| record.run.rate.is_some());
        let pairs = pairs(&a.runs, &b.runs);
        for (name, figure) in FIGURES {
            let comparison = match &pairs {
                Some(pairs) => {
                    let value =
                        |record: &RunRecord| figure(&record.run.figures).unwrap_or(f64::NAN);
                    let pairs: Vec<_> = pairs.iter().map(|(b, a)| (value(b), value(a))).collect();
                    Comparison::of(&pairs, SEED)
                }
                None => Comparison::of_independent(&b.values(figure), &a.values(figure), SEED),
            };
            let measure = match name {
                "tps" => Measure::Throughput,
                _ => Measure::Latency,
            };
            // One verdict, on what the runs were for; the other figures follow from it, or have
            // intervals of their own.
            let judged = (name == "tps" && !by_latency) || (name == "latency_avg_ms" && by_latency);
            let finding = judged.then(|| match (a.runs.is_empty(), b.runs.is_empty()) {
                (false, false) => format!(
                    "b compared with a: {}",
                    verdict::of_runs(comparison.as_ref(), measure)
                ),
                _ => "a side has no run that counts".into(),
            });
            let mean = |side: &Side| Some(readable(name, geometric_mean(&side.values(figure))?));
            rows.push((
                name.to_owned(),
                mean(&a),
                mean(&b),
                comparison.map(|comparison| comparison.ratio),
                finding,
            ));
        }
        Ok(rows)
    })()
    .or_raise_in(&call);
    TableIterator::new(rows)
}

/// The runs of a side that count, and the numbers of those that do not.
struct Side {
    runs: Vec<RunRecord>,
    left_out: Vec<i64>,
}

impl Side {
    fn values(&self, figure: Figure) -> Vec<f64> {
        let runs = self.runs.iter();
        runs.filter_map(|record| figure(&record.run.figures))
            .collect()
    }
}

fn side(name: &'static str, run_ids: Option<Ids>) -> Result<Side> {
    let mut run_ids = check::ids(name, &check::argument(name, run_ids)?)?;
    run_ids.sort_unstable();
    let mut side = Side {
        runs: Vec::new(),
        left_out: Vec::new(),
    };
    for run_id in run_ids {
        let record = live::visible(run_id)?;
        match counts(&record) {
            true => side.runs.push(record),
            false => side.left_out.push(run_id),
        }
    }
    Ok(side)
}

/// The runs of b and a by the rounds of their set, if all belong to one, and each round has one of each.
fn pairs<'r>(
    a: &'r [RunRecord],
    b: &'r [RunRecord],
) -> Option<Vec<(&'r RunRecord, &'r RunRecord)>> {
    let set_id = a.first()?.run.set_id?;
    let by_round = |runs: &'r [RunRecord]| {
        let mut rounds = BTreeMap::new();
        for record in runs {
            let round = record
                .run
                .round
                .filter(|_| record.run.set_id == Some(set_id))?;
            if rounds.insert(round, record).is_some() {
                return None;
            }
        }
        Some(rounds)
    };
    let (a, b) = (by_round(a)?, by_round(b)?);
    let pairs: Vec<_> = b
        .into_iter()
        .filter_map(|(round, b)| Some((b, *a.get(&round)?)))
        .collect();
    (pairs.len() >= 2).then_some(pairs)
}
