//! `bench.trend` and `bench.changes`: the statistics of series of nights.

use crate::check::{argument, in_range, one_of};
use crate::error::{Error, OrRaise, Result, problem};
use crate::query;
use crate::results::json::stored;
use crate::security::with_pinned_settings;
use pgrx::JsonB;
use pgrx::prelude::*;
use selfbench_report::cause::Cause;
use selfbench_stats::trend::{Better, Change, Night, Trend, changes_of};

/// The figures of trends, each with the direction in which it is better.
const FIGURES: [(&str, Better); 22] = [
    ("tps", Better::Higher),
    ("latency_avg_ms", Better::Lower),
    ("latency_p50_ms", Better::Lower),
    ("latency_p90_ms", Better::Lower),
    ("latency_p95_ms", Better::Lower),
    ("latency_p99_ms", Better::Lower),
    ("latency_p999_ms", Better::Lower),
    ("cpu_us_per_transaction", Better::Lower),
    ("wal_bytes_per_transaction", Better::Lower),
    ("riops", Better::Higher),
    ("cache_hits_per_s", Better::Higher),
    ("logical_reads_per_s", Better::Higher),
    ("device_reads_per_s", Better::Higher),
    ("wal_bytes_per_update", Better::Lower),
    ("select_avg_ms", Better::Lower),
    ("select_p99_ms", Better::Lower),
    ("update_avg_ms", Better::Lower),
    ("update_p99_ms", Better::Lower),
    ("read_avg_ms", Better::Lower),
    ("read_p50_ms", Better::Lower),
    ("read_p95_ms", Better::Lower),
    ("read_p99_ms", Better::Lower),
];

/// Fails unless trends have such a figure.
pub(super) fn require_figure(option: &'static str, figure: &str) -> Result<()> {
    one_of(option, figure, FIGURES).map(drop)
}

/// Whether runs have a figure of trends: some are those of pgio, some come from observing the server.
pub(super) fn has_figure(figure: &str, is_pgio: bool, observes: bool) -> bool {
    match figure {
        "cpu_us_per_transaction" | "wal_bytes_per_transaction" => observes,
        _ => is_pgio || figure == "tps" || figure.starts_with("latency_"),
    }
}

/// Fails unless a change by that fraction can count.
pub(super) fn require_least_change(least_change: f64) -> Result<f64> {
    in_range("least_change", least_change, 0.0, 1.0)
}

/// Fails unless there is such a figure, and runs with the label that the caller may see.
#[pg_extern(sql = false)]
fn require_trend(label: Option<&str>, figure: Option<&str>, least_change: Option<f64>) {
    (|| {
        require_figure("figure", argument("figure", figure)?)?;
        require_least_change(argument("least_change", least_change)?)?;
        let label = argument("label", label)?;
        let sql = "SELECT EXISTS (SELECT FROM bench.runs WHERE label = $1)";
        let exists = with_pinned_settings(|| query::first_value::<bool>(sql, &[label.into()]))?;
        match exists {
            Some(true) => Ok(()),
            _ => Err(Error::UnknownLabel(label.to_owned())),
        }
    })()
    .or_raise();
}

/// The level of each night of a series, with its interval, and the state of the night.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn judge_nights(
    figure: &str,
    nights: Vec<Option<f64>>,
    disturbed: Vec<bool>,
    baselines: Vec<bool>,
    least_change: f64,
) -> TableIterator<
    'static,
    (
        name!(level, Option<f64>),
        name!(level_low, Option<f64>),
        name!(level_high, Option<f64>),
        name!(state, &'static str),
    ),
> {
    let better = one_of("figure", figure, FIGURES).or_raise();
    let nights = series(nights, disturbed, baselines).or_raise();
    let trend = Trend::of(&nights, better, least_change);
    TableIterator::new(trend.nights.into_iter().map(|(level, state)| {
        (
            level.map(|level| level.mean),
            level.and_then(|level| level.low),
            level.and_then(|level| level.high),
            state.name(),
        )
    }))
}

/// The changes of the level of a series; nights have numbers from 1.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn change_points(
    figure: &str,
    nights: Vec<Option<f64>>,
    disturbed: Vec<bool>,
    baselines: Vec<bool>,
    least_change: f64,
) -> TableIterator<
    'static,
    (
        name!(kind, &'static str),
        name!(at, i32),
        name!(found, i32),
        name!(before, Vec<i32>),
        name!(after, Vec<i32>),
        name!(level_before, f64),
        name!(level_after, f64),
        name!(ratio, f64),
        name!(ratio_low, f64),
        name!(ratio_high, f64),
        name!(p_value, f64),
        name!(is_better, bool),
    ),
> {
    let number = |place: &usize| *place as i32 + 1;
    let numbers = move |places: &[usize]| places.iter().map(number).collect();
    let found = (|| {
        let better = one_of("figure", figure, FIGURES)?;
        let changes = changes_of(&series(nights, disturbed, baselines)?, least_change);
        let row = |change: Change| {
            (
                change.kind.name(),
                number(&change.at),
                number(&change.found),
                numbers(&change.before),
                numbers(&change.after),
                change.level_before,
                change.level_after,
                change.ratio,
                change.low,
                change.high,
                change.p_value,
                change.is_better(better),
            )
        };
        Ok(changes.into_iter().map(row).collect::<Vec<_>>())
    })();
    TableIterator::new(found.or_raise())
}

/// The likely cause of a change of the time per transaction, and the differences in their order.
#[pg_extern(sql = false)]
fn likely_cause(
    time_ratio: f64,
    differences: JsonB,
) -> TableIterator<'static, (name!(cause, String), name!(ordered, JsonB))> {
    let found = (|| {
        let differences = serde_json::from_value(differences.0).map_err(|error| {
            Error::Limit(format!("cannot read differences: {}", problem(&error)))
        })?;
        let Cause { cause, differences } = Cause::of(time_ratio, differences);
        Ok((cause, JsonB(stored(&differences)?)))
    })();
    TableIterator::once(found.or_raise())
}

/// Most nights of a series: what is computed of them cannot be canceled.
const MAX_NIGHTS: usize = 100_000;

fn series(
    nights: Vec<Option<f64>>,
    disturbed: Vec<bool>,
    baselines: Vec<bool>,
) -> Result<Vec<Night>> {
    if nights.len() > MAX_NIGHTS {
        return Err(Error::Limit(format!(
            "a trend has at most {MAX_NIGHTS} nights"
        )));
    }
    let nights = nights.into_iter().zip(disturbed).zip(baselines);
    let night = |((value, is_disturbed), is_baseline): ((Option<f64>, bool), bool)| Night {
        value: value.unwrap_or(f64::NAN),
        is_disturbed,
        is_baseline,
    };
    Ok(nights.map(night).collect())
}
