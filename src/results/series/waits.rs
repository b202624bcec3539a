//! What the sessions of a run waited for, for charts.

use crate::error::Result;
use crate::results::load::{self, query_json};
use selfbench_chart::{Point, Range, Series};
use std::collections::HashMap;

/// Classes of waits that are drawn each by itself; others are added up.
const CLASSES: usize = 7;

/// What a session waits for while its client has the turn.
const BETWEEN: &str = "between statements";

/// Sessions by class of waits, at so many moments at most. What a session waits for between the statements of
/// its client counts as such, as in [`load::load_waits`]. Without MATERIALIZED, a plan made for few rows may
/// compute what is joined again for each moment.
pub fn waits(run_id: i64, moments: i32) -> Result<Vec<Series>> {
    type Row = (f64, f64, Option<f64>, Option<HashMap<String, f64>>);
    let rows = query_json::<Row>(
        &format!(
            "WITH w AS MATERIALIZED (
                 SELECT max(interval_no) / {moments} + 1 AS intervals
                   FROM bench.run_intervals WHERE run_id = $1
             ), seen AS (
                 SELECT r.interval_no / w.intervals AS moment, r.interval_no, r.rounds, r.samples,
                        CASE WHEN {} THEN '{BETWEEN}' ELSE class END AS class
                   FROM bench.run_waits r, w WHERE r.run_id = $1
             ), moments AS (
                 SELECT i.interval_no / w.intervals AS moment, min(i.begins_s) AS begins,
                        max(i.begins_s + i.seconds) AS ends
                   FROM bench.run_intervals i, w WHERE i.run_id = $1 GROUP BY 1
             ), rounds AS MATERIALIZED (
                 SELECT moment, sum(rounds) AS rounds
                   FROM (SELECT moment, max(rounds) AS rounds FROM seen GROUP BY moment, interval_no) r
                  GROUP BY moment
             ), classes AS MATERIALIZED (
                 SELECT moment, jsonb_object_agg(class, samples) AS samples
                   FROM (SELECT moment, class, sum(samples) AS samples FROM seen GROUP BY 1, 2) c
                  GROUP BY moment
             )
             SELECT jsonb_build_array(m.begins, m.ends, r.rounds, c.samples)::text
               FROM moments m LEFT JOIN rounds r USING (moment) LEFT JOIN classes c USING (moment)
              ORDER BY m.moment",
            load::HAS_THE_TURN
        ),
        run_id,
    )?;
    let sessions = |(from, to, rounds, samples): Row| {
        let mut sessions = samples.unwrap_or_default();
        let rounds = rounds.unwrap_or_default().max(1.0);
        sessions.values_mut().for_each(|samples| *samples /= rounds);
        (from, to, sessions)
    };
    let rows: Vec<(f64, f64, HashMap<String, f64>)> = rows.into_iter().map(sessions).collect();
    let mut totals: HashMap<&str, f64> = HashMap::new();
    for (_, _, classes) in &rows {
        for (class, sessions) in classes {
            *totals.entry(class).or_default() += sessions;
        }
    }
    let mut classes: Vec<(&str, f64)> = totals.into_iter().collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let others = classes.split_off(CLASSES.min(classes.len()));
    let of = |name: &str, classes: &[&str]| Series {
        name: name.to_owned(),
        points: rows
            .iter()
            .map(|(from, to, seen)| Point {
                at: (from + to) / 2.0,
                value: Some(Range::of(
                    classes.iter().filter_map(|class| seen.get(*class)).sum(),
                )),
            })
            .collect(),
    };
    let mut series: Vec<Series> = classes
        .iter()
        .map(|(class, _)| of(class, &[class]))
        .collect();
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|(class, _)| *class).collect();
        series.push(of("others", &names));
    }
    // What clients take for themselves is above what the server does.
    series.sort_by_key(|series| series.name == BETWEEN);
    Ok(series)
}
