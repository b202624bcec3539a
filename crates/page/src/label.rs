//! Report of a label: its runs over time.

use crate::content::{Block, Picture, Report, Row, Section, decimal, moment};
use crate::source::Source;
use selfbench_chart::{About, CurvePoint, CurveSeries, Unit, curve};
use selfbench_report::counted;

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
            let chart = curve(&about, Unit::Count("run"), unit, &series(&course, column));
            blocks.push(Block::Chart(Picture {
                chart,
                table: None,
                query: String::new(),
            }));
        }
    }
    blocks.extend(changes.map(Block::Table));
    blocks.push(Block::Table(table));
    Ok(Some(Report {
        title: format!("Runs with label {label}"),
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
        let (first, last) = (runs[0], runs[runs.len() - 1]);
        format!(
            "{}Of {}{} from {} to {}, the first has {} {unit}, the last {} {unit}.",
            if several {
                format!("{name}: ")
            } else {
                String::new()
            },
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

/// A figure over the runs in their order, from 1, by the series of the runs.
fn series(course: &[&Row], column: &str) -> Vec<CurveSeries> {
    let mut all: Vec<CurveSeries> = Vec::new();
    for (position, row) in course.iter().enumerate() {
        let Some(value) = row.number(column) else {
            continue;
        };
        let name = row.text("series");
        let point = CurvePoint {
            x: (position + 1) as f64,
            y: value,
            low: None,
            high: None,
        };
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(CurveSeries {
                name: name.to_owned(),
                points: vec![point],
                ..CurveSeries::default()
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
                    "spi: Of 2 finished runs from {moment} to {moment}, the first has 100543 tps, the last 99000 tps."
                ),
                format!(
                    "libpq: Of 1 finished run from {moment} to {moment}, the first has 28638 tps, the last 28638 tps."
                ),
            ]
        );
        assert_eq!(of(&rows[..2]).len(), 1);
        assert!(of(&rows[..2])[0].starts_with("Of 2 finished runs"));
    }
}
