//! Report of a label: its runs over time.

use crate::content::{Block, Picture, Report, Row, Section, decimal, moment};
use crate::source::Source;
use selfbench_chart::{About, Across, CurvePoint, CurveSeries, Mark, Unit, curve};
use selfbench_report::counted;
use serde_json::Value;

/// The report of the runs with a label. `literal` is the label as SQL. `None` without runs.
pub fn report<S: Source>(
    label: &str,
    literal: &str,
    source: &mut S,
) -> Result<Option<Report>, S::Error> {
    let runs = source.table(
        "Runs, the last one first",
        format!(
            "SELECT run_id, started_at, mode, array_to_string(scripts, ', ') AS scripts, clients, r.state, t.state AS trend, \
             tps, t.level AS tps_level, latency_avg_ms, latency_p50_ms, latency_p95_ms, latency_p99_ms, latency_max_ms, \
             failed, server_version, extension_version, r.series FROM bench.runs r LEFT JOIN (SELECT unnest(run_ids) AS run_id, \
             series, state, level FROM bench.trend({literal})) t USING (run_id, series) WHERE label = {literal} ORDER BY run_id DESC"
        ),
    )?;
    let Some(table) = runs else {
        return Ok(None);
    };
    let changes = source.table(
        "Changes, the last one first",
        format!(
            "SELECT changed_at, change, figure, before, after, ratio, ratio_low, ratio_high, cause, \
             array_to_string(figures_changed, ', ') AS figures, series FROM bench.changes({literal}) ORDER BY changed_at DESC"
        ),
    )?;
    let mut blocks = Vec::new();
    let measured = |row: &&Row| row.text("state") == "finished" && row.number("tps").is_some();
    let course: Vec<&Row> = table.rows.iter().rev().filter(measured).collect();
    if !course.is_empty() {
        let sentences = |column, unit| sentences(&course, table.is_cut, column, unit);
        blocks.extend(sentences("tps", "tps").into_iter().map(Block::Lead));
        if let Some(change) = changes.as_ref().and_then(|changes| changes.rows.first()) {
            blocks.push(Block::Lead(format!(
                "{} since {}: {} changed by {}. Likely cause: {}.",
                match change.text("change") {
                    "slower" => "Slower",
                    _ => "Faster",
                },
                moment(change.text("changed_at")),
                change.text("figure"),
                change.number("ratio").map_or("-".into(), |ratio| format!(
                    "{:+.1} %",
                    100.0 * (ratio - 1.0)
                )),
                change.text("cause")
            )));
        }
        let drawn = source.rows(&course_query(literal))?;
        let mut marks: Vec<Mark> = source
            .rows(&events_query(literal))?
            .iter()
            .map(event)
            .collect();
        marks.extend(
            changes
                .iter()
                .flat_map(|table| table.rows.iter().filter_map(|row| change(row, &drawn))),
        );
        for (title, column, unit, name) in [
            ("Throughput of the runs.", "tps", Unit::Count("tps"), "tps"),
            (
                "95th percentile of latency.",
                "latency_p95_ms",
                Unit::Milliseconds,
                "ms",
            ),
        ] {
            let about = About {
                title: title.into(),
                finding: sentences(column, name).join(" "),
            };
            let across = Across::Dates(marks.clone());
            let chart = curve(&about, &across, unit, &series(&drawn, column));
            blocks.push(Block::Chart(Picture::of(chart, None)));
        }
    }
    blocks.extend(changes.map(Block::Table));
    blocks.push(Block::Table(table));
    Ok(Some(Report {
        title: format!("Runs with label {label}"),
        state: None,
        subtitle: String::new(),
        sections: vec![Section {
            heading: "Results over time".into(),
            blocks,
        }],
        footer: "Made by pg_selfbench. Everything here is in the tables of schema bench.".into(),
    }))
}

/// A sentence for each series with its first and its last value: those of different series do not compare.
fn sentences(course: &[&Row], is_cut: bool, column: &str, unit: &str) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in course {
        let name = row.text("series");
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, runs)) => runs.push(row),
            None => all.push((name, vec![row])),
        }
    }
    let several = all.len() > 1;
    let value = |row: &Row| row.number(column).map_or("-".into(), decimal);
    let sentence = |(name, runs): (&str, Vec<&Row>)| {
        let of = if several {
            format!("{name}: ")
        } else {
            String::new()
        };
        let (first, last) = (runs[0], runs[runs.len() - 1]);
        if let [only] = runs[..] {
            let started_at = moment(only.text("started_at"));
            return format!(
                "{of}The only finished run, of {started_at}, has {} {unit}.",
                value(only)
            );
        }
        format!(
            "{of}Of {}{} from {} to {}, the first has {} {unit}, the last {} {unit}.",
            if is_cut { "the last " } else { "" },
            counted(runs.len(), "finished run"),
            moment(first.text("started_at")),
            moment(last.text("started_at")),
            value(first),
            value(last)
        )
    };
    all.into_iter().map(sentence).collect()
}

/// Runs of charts at most, the newest.
const MAX_DRAWN: i64 = 500;

/// The finished runs of charts with the time of the session's time zone in seconds since 1970, a row for each series,
/// that with most runs first.
fn course_query(literal: &str) -> String {
    format!(
        "SELECT r.series, jsonb_agg(jsonb_build_object('at', extract(epoch FROM r.started_at::timestamp), \
         'started_at', r.started_at, 'tps', r.tps, 'latency_p95_ms', r.latency_p95_ms) ORDER BY r.started_at, r.run_id) AS runs \
         FROM (SELECT * FROM bench.runs WHERE label = {literal} AND state = 'finished' AND tps IS NOT NULL \
         ORDER BY run_id DESC LIMIT {MAX_DRAWN}) r GROUP BY r.series ORDER BY count(*) DESC, r.series COLLATE \"C\""
    )
}

/// Versions and settings that differ from those of the run before in its series, a row for each time. Where a run
/// has none stored, they are not known.
fn events_query(literal: &str) -> String {
    format!(
        "WITH runs AS MATERIALIZED (SELECT run_id, started_at, \
         lag(run_id) OVER (PARTITION BY series ORDER BY started_at, run_id) AS before \
         FROM (SELECT * FROM bench.runs WHERE label = {literal} AND state = 'finished' AND tps IS NOT NULL \
         ORDER BY run_id DESC LIMIT {MAX_DRAWN}) r), \
         facts AS MATERIALIZED (SELECT f.run_id, f.aspect, f.name, f.value \
         FROM bench_internal.facts(ARRAY(SELECT run_id FROM runs)) f \
         WHERE f.aspect = 'setting' OR f.name IN ('server_version', 'extension_version')), \
         known AS MATERIALIZED (SELECT DISTINCT run_id, aspect FROM facts) \
         SELECT extract(epoch FROM min(c.started_at)::timestamp)::float8 AS at, c.changed FROM (\
         SELECT r.run_id, r.started_at, string_agg(concat(CASE n.name WHEN 'server_version' THEN 'PostgreSQL' \
         WHEN 'extension_version' THEN 'pg_selfbench' ELSE n.name END, ' ', coalesce(b.value, 'default'), ' to ', \
         coalesce(a.value, 'default')), ', ' ORDER BY n.name COLLATE \"C\") AS changed \
         FROM runs r JOIN known ka ON ka.run_id = r.run_id JOIN known kb ON kb.run_id = r.before AND kb.aspect = ka.aspect \
         JOIN (SELECT DISTINCT aspect, name FROM facts) n ON n.aspect = ka.aspect \
         LEFT JOIN facts a ON a.run_id = r.run_id AND a.name = n.name \
         LEFT JOIN facts b ON b.run_id = r.before AND b.name = n.name \
         WHERE a.value IS DISTINCT FROM b.value GROUP BY r.run_id, r.started_at) c \
         GROUP BY c.changed, date_trunc('hour', c.started_at) ORDER BY 1 DESC LIMIT {MAX_EVENTS}"
    )
}

/// Marks of charts at most, the newest.
const MAX_EVENTS: i64 = 20;

/// A mark with a name that fits a narrow page.
fn mark(at: f64, says: String) -> Mark {
    const LONGEST: usize = 24;
    match says.chars().count() {
        0..=LONGEST => Mark {
            at,
            name: says,
            says: String::new(),
        },
        _ => Mark {
            at,
            name: says
                .chars()
                .take(LONGEST - 3)
                .chain("...".chars())
                .collect(),
            says,
        },
    }
}

/// A changed version or setting.
fn event(row: &Row) -> Mark {
    mark(
        row.number("at").unwrap_or(0.0),
        row.text("changed").to_owned(),
    )
}

/// A change of the level of a series, where the first run of the new one is drawn.
fn change(row: &Row, drawn: &[Row]) -> Option<Mark> {
    let of_series = drawn
        .iter()
        .find(|drawn| drawn.text("series") == row.text("series"))?;
    let first = runs(of_series).find(|run| {
        run.get("started_at").and_then(Value::as_str) == Some(row.text("changed_at"))
    })?;
    let percent = 100.0 * (row.number("ratio")? - 1.0);
    let says = format!(
        "{}: {} {percent:+.1} %",
        row.text("change"),
        row.text("figure")
    );
    Some(mark(first.get("at")?.as_f64()?, says))
}

/// The runs of a series.
fn runs(row: &Row) -> impl Iterator<Item = &Value> {
    let found = row.0.iter().find(|(name, _)| name == "runs");
    found
        .and_then(|(_, runs)| runs.as_array())
        .into_iter()
        .flatten()
}

/// A figure of the runs over time, by series.
fn series(drawn: &[Row], column: &str) -> Vec<CurveSeries> {
    let point = |run: &Value| {
        Some(CurvePoint {
            x: run.get("at")?.as_f64()?,
            y: run.get(column)?.as_f64()?,
            low: None,
            high: None,
        })
    };
    let of_series = drawn.iter().map(|row| CurveSeries {
        name: row.text("series").to_owned(),
        points: runs(row).filter_map(point).collect(),
        ..CurveSeries::default()
    });
    of_series
        .filter(|series| !series.points.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn charts_have_dates_and_what_changed() {
        let run = |at: f64, started_at: &str, tps: f64| json!({"at": at, "started_at": started_at, "tps": tps});
        let of = |series: &str, runs: Value| {
            Row(vec![
                ("series".into(), json!(series)),
                ("runs".into(), runs),
            ])
        };
        let drawn = [
            of(
                "spi",
                json!([run(86400.0, "a", 10.0), run(172800.0, "b", 5.0)]),
            ),
            of("libpq", json!([run(90000.0, "b", 3.0)])),
        ];
        let lines = series(&drawn, "tps");
        let places =
            |line: &CurveSeries| line.points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>();
        assert_eq!(places(&lines[0]), [(86400.0, 10.0), (172800.0, 5.0)]);
        assert_eq!(places(&lines[1]), [(90000.0, 3.0)]);
        let changed = Row(vec![
            ("changed_at".into(), json!("b")),
            ("series".into(), json!("spi")),
            ("change".into(), json!("slower")),
            ("figure".into(), json!("tps")),
            ("ratio".into(), json!(0.5)),
        ]);
        let marked = change(&changed, &drawn).unwrap();
        assert_eq!(
            (marked.at, marked.name.as_str()),
            (172800.0, "slower: tps -50.0 %")
        );
        assert_eq!(mark(1.0, "x".repeat(40)).name, "x".repeat(21) + "...");
    }

    #[test]
    fn series_are_not_compared_with_each_other() {
        let row = |series: &str, tps: f64| {
            Row(vec![
                ("started_at".into(), json!("2026-11-22T12:06:15+00:00")),
                ("tps".into(), json!(tps)),
                ("series".into(), json!(series)),
            ])
        };
        let rows = [
            row("spi", 100543.0),
            row("spi", 99000.0),
            row("libpq", 28638.0),
        ];
        let of = |rows: &[Row]| sentences(&rows.iter().collect::<Vec<_>>(), false, "tps", "tps");
        let moment = "2026-11-22 12:06:15 +00:00";
        assert_eq!(
            of(&rows),
            [
                format!(
                    "spi: Of 2 finished runs from {moment} to {moment}, the first has 100,543 tps, the last 99,000 tps."
                ),
                format!("libpq: The only finished run, of {moment}, has 28,638 tps."),
            ]
        );
        assert_eq!(of(&rows[..2]).len(), 1);
        assert!(of(&rows[..2])[0].starts_with("Of 2 finished runs"));
    }
}
