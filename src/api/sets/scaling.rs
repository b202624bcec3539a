//! `bench.scaling`: how the throughput of a sweep grows with the number of clients.

use super::outcomes::Outcomes;
use super::sweep::{GRID, Sweep};
use crate::api::last;
use crate::error::{Error, OrRaise, Result};
use crate::results::sets;
use pgrx::prelude::*;
use selfbench_model::SetKind;
use selfbench_report::scaling::{Level, Scaling};
use selfbench_stats::compare::{Comparison, interval_of_mean};
use selfbench_stats::usl::{self, Coefficient};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The key of a grid over numbers of clients.
const CLIENTS: &str = "clients";

/// Runs of all numbers of clients with the same other options.
struct Group {
    /// The other options of the grid.
    options: Map<String, Value>,
    /// Its runs.
    runs: Vec<LevelRun>,
}

/// A run with some number of clients.
struct LevelRun {
    clients: i32,
    round: i32,
    tps: f64,
    run_id: i64,
}

impl Group {
    /// The numbers of clients, by rising number, with the throughput of each. `seed` is that of resampling.
    fn levels(&self, seed: u64) -> Vec<Level> {
        let mut by_clients: BTreeMap<i32, BTreeMap<i32, f64>> = BTreeMap::new();
        for run in &self.runs {
            let rounds = by_clients.entry(run.clients).or_default();
            rounds.insert(run.round, run.tps);
        }
        let levels = by_clients.iter().filter_map(|(clients, rounds)| {
            let values: Vec<f64> = rounds.values().copied().collect();
            Some((*clients, rounds, interval_of_mean(&values)?.mean))
        });
        let levels: Vec<_> = levels.collect();
        let best = levels.iter().max_by(|a, b| a.2.total_cmp(&b.2));
        let Some((_, of_best, _)) = best else {
            return Vec::new();
        };
        let versus_best = |rounds: &BTreeMap<i32, f64>| {
            let pairs = rounds
                .iter()
                .filter_map(|(round, tps)| Some((*tps, *of_best.get(round)?)));
            let compared = Comparison::of(&pairs.collect::<Vec<_>>(), seed)?;
            compared.low.map(|_| compared.difference())
        };
        levels
            .iter()
            .map(|(clients, rounds, tps)| Level {
                clients: f64::from(*clients),
                tps: *tps,
                versus_best: versus_best(rounds),
            })
            .collect()
    }
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn scaling(
    set_id: Option<i64>,
) -> TableIterator<
    'static,
    (
        name!(options, pgrx::JsonB),
        name!(clients, Vec<i32>),
        name!(tps, Vec<f64>),
        name!(lambda, Option<f64>),
        name!(lambda_low, Option<f64>),
        name!(lambda_high, Option<f64>),
        name!(sigma, Option<f64>),
        name!(sigma_low, Option<f64>),
        name!(sigma_high, Option<f64>),
        name!(kappa, Option<f64>),
        name!(kappa_low, Option<f64>),
        name!(kappa_high, Option<f64>),
        name!(r_squared, Option<f64>),
        name!(fits, Option<bool>),
        name!(peak_clients, Option<f64>),
        name!(peak_tps, Option<f64>),
        name!(bend_clients, Option<f64>),
        name!(verdict, String),
        name!(run_ids, Vec<i64>),
    ),
> {
    let (groups, seed) = (|| groups(last::set(set_id)?))().or_raise();
    let rows = groups.into_iter().map(|group| {
        let points: Vec<_> = group
            .runs
            .iter()
            .map(|run| (f64::from(run.clients), run.tps))
            .collect();
        let scaling = Scaling {
            levels: group.levels(seed),
            law: usl::fit(&points),
        };
        let coefficient = |of: fn(&usl::Usl) -> Coefficient| {
            let found = scaling.law.as_ref().map(of);
            let value = found.map(|found| found.value);
            (value, found.and_then(|f| f.low), found.and_then(|f| f.high))
        };
        let lambda = coefficient(|law| law.lambda);
        let sigma = coefficient(|law| law.sigma);
        let kappa = coefficient(|law| law.kappa);
        let peak = scaling.peak();
        (
            pgrx::JsonB(Value::Object(group.options)),
            scaling
                .levels
                .iter()
                .map(|level| level.clients as i32)
                .collect(),
            scaling.levels.iter().map(|level| level.tps).collect(),
            lambda.0,
            lambda.1,
            lambda.2,
            sigma.0,
            sigma.1,
            sigma.2,
            kappa.0,
            kappa.1,
            kappa.2,
            scaling.law.as_ref().map(|law| law.r_squared),
            scaling.law.as_ref().map(|law| law.fits),
            peak.map(|peak| peak.0),
            peak.map(|peak| peak.1),
            scaling.bend(),
            scaling.verdict(),
            group.runs.iter().map(|run| run.run_id).collect(),
        )
    });
    TableIterator::new(rows.collect::<Vec<_>>())
}

/// The groups of a sweep, and its seed.
fn groups(set_id: i64) -> Result<(Vec<Group>, u64)> {
    let set = sets::load(set_id)?;
    let of_clients = || {
        set.option(GRID)
            .is_ok_and(|grid| grid.get(CLIENTS).is_some())
    };
    if set.kind != SetKind::Sweep || !of_clients() {
        return Err(Error::OptionConflict {
            message: format!("set {set_id} is not a sweep over \"clients\""),
            hint: "Make one with bench.sweep('{\"clients\": [1, 2, 4, 8]}').".into(),
        });
    }
    let outcomes = Outcomes::stored(set_id, &set)?;
    let mut groups: Vec<Group> = Vec::new();
    for (point, arm) in Sweep::stored(&set)?.points() {
        let mut options = point.clone();
        options.remove(CLIENTS);
        let counting = outcomes.counting(&arm.name);
        let runs = counting.iter().filter_map(|(round, record)| {
            let run = &record.run;
            Some(LevelRun {
                clients: run.clients,
                round: *round,
                tps: run.figures.tps?,
                run_id: run.run_id,
            })
        });
        match groups.iter_mut().find(|group| group.options == options) {
            Some(group) => group.runs.extend(runs),
            None => groups.push(Group {
                options,
                runs: runs.collect(),
            }),
        }
    }
    Ok((groups, set.seed))
}
