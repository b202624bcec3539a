//! Waits of a run's sessions, for charts.

use crate::error::Result;
use crate::query;
use crate::results::waits::{BETWEEN, MOMENTS, SeenWaits};
use crate::security::with_pinned_settings;
use selfbench_chart::{Point, Range, Series};
use std::collections::HashMap;

/// Sessions by class of waits, the most frequent first. A session whose client has the turn is idle, and not among
/// them. Without MATERIALIZED, a plan made for few rows may compute what is joined again
/// for each moment.
pub fn series(run_id: i64, seen: &SeenWaits) -> Result<Vec<Series>> {
    let moments = with_pinned_settings(|| {
        query::numbers::<3>(
            &format!(
                "WITH w AS MATERIALIZED (
                     SELECT max(interval_no) / {MOMENTS} + 1 AS intervals
                       FROM bench.run_intervals WHERE run_id = $1)
                 SELECT (interval_no / w.intervals)::float8, min(begins_s), max(begins_s + seconds)
                   FROM bench.run_intervals, w WHERE run_id = $1 GROUP BY 1 ORDER BY 1"
            ),
            run_id,
        )
    })?;
    let row = |[moment, from, to]: [Option<f64>; 3]| {
        let seen = seen.moments.get(&(moment? as i64));
        let sessions = seen.map_or_else(HashMap::new, |seen| {
            let rounds = seen.rounds.max(1) as f64;
            let classes = seen.classes.iter();
            classes
                .filter(|(class, _)| *class != BETWEEN)
                .map(|(class, samples)| (class.as_str(), *samples as f64 / rounds))
                .collect()
        });
        Some((from?, to?, sessions))
    };
    let rows: Vec<(f64, f64, HashMap<&str, f64>)> = moments.into_iter().filter_map(row).collect();
    let mut totals: HashMap<&str, f64> = HashMap::new();
    for (_, _, classes) in &rows {
        for (class, sessions) in classes {
            *totals.entry(class).or_default() += sessions;
        }
    }
    let mut classes: Vec<(&str, f64)> = totals.into_iter().collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let of = |class: &str| Series {
        name: class.to_owned(),
        points: rows
            .iter()
            .map(|(from, to, seen)| Point {
                at: (from + to) / 2.0,
                seconds: to - from,
                value: Some(Range::of(seen.get(class).copied().unwrap_or(0.0))),
            })
            .collect(),
    };
    Ok(classes.iter().map(|(class, _)| of(class)).collect())
}
