//! Report of sets: comparisons with their arms, sweeps with their curves, searches for capacity
//! with their probes. Several sets are drawn over each other.

mod overlaid;

use crate::content::{Block, Picture, Remark, Report, Row, Section, decimal, moment};
use crate::source::Source;
use overlaid::overlaid;
use selfbench_chart::{
    About, Across, BudgetArm, CurvePoint, CurveSeries, Interval, Marks, Part, PercentileCurve,
    Unit, budget, curve, intervals, percentiles,
};
use selfbench_report::counted;
use serde_json::Value;

const TPS: Unit = Unit::Count("tps");

/// The report of sets that the caller may see, with the statement that repeats each; `None` if one of them
/// does not exist.
pub fn report<S: Source>(
    set_ids: &[i64],
    repeats: &[String],
    source: &mut S,
) -> Result<Option<Report>, S::Error> {
    let mut sets = Vec::new();
    for (set_id, repeat) in set_ids.iter().zip(repeats) {
        let rows = source.rows(&format!(
            "SELECT set_id, kind, label, state, planned_runs, finished_runs, other_runs, started_at, \
             finished_at, owner, database_name AS database, seed, error, result ->> 'verdict' AS verdict, \
             options -> 'grid' AS grid, options -> 'repeats' AS repeats, \
             options -> 'latency_limit' AS latency_limit_ms, options -> 'percentile' AS percentile, \
             result -> 'rate_low' AS rate_low, result -> 'rate_high' AS rate_high \
             FROM bench.set_summary WHERE set_id = {set_id}"
        ))?;
        match rows.into_iter().next() {
            Some(row) => sets.push(Set {
                id: *set_id,
                repeat: repeat.clone(),
                row,
            }),
            None => return Ok(None),
        }
    }
    let names: Vec<String> = sets.iter().map(Set::name).collect();
    let mut sections = Vec::new();
    let curves = overlaid(&sets, source)?;
    if !curves.is_empty() {
        sections.push(Section {
            heading: "Throughput and latency".into(),
            blocks: curves.into_iter().map(Block::Chart).collect(),
        });
    }
    for set in &sets {
        // The title names the only set.
        let heading = match sets.len() {
            1 => "Result".to_owned(),
            _ => set.name(),
        };
        sections.push(section(set, heading, source)?);
    }
    Ok(Some(Report {
        title: names.join(", "),
        state: None,
        subtitle: match sets.len() {
            1 => format!("bench.{}", sets[0].row.text("kind")),
            count => format!("{count} sets of runs"),
        },
        sections,
        footer: "Made by pg_selfbench. Everything here is in the tables of schema bench.".into(),
    }))
}

struct Set {
    id: i64,
    repeat: String,
    row: Row,
}

impl Set {
    fn name(&self) -> String {
        match self.row.text("label") {
            "" => format!("Set {}", self.id),
            label => format!("Set {}: {label}", self.id),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.row.text("kind") == kind
    }

    /// Whether it is a sweep over that option.
    fn varies(&self, option: &str) -> bool {
        let grid = self.row.0.iter().find(|(column, _)| column == "grid");
        grid.is_some_and(|(_, grid)| grid.get(option).is_some())
    }
}

/// Section of a set.
fn section<S: Source>(set: &Set, heading: String, source: &mut S) -> Result<Section, S::Error> {
    let mut blocks = Vec::new();
    match set.row.text("state") {
        "finished" => {}
        state => blocks.push(Block::Text(format!(
            "The set is {state}: not all of its runs were made."
        ))),
    }
    if !set.row.text("error").is_empty() {
        blocks.push(Block::Code(set.row.text("error").to_owned()));
    }
    match set.row.text("kind") {
        "compare" => compared(set, source, &mut blocks)?,
        "sweep" => swept(set, source, &mut blocks)?,
        _ => searched(set, source, &mut blocks)?,
    }
    let words = |block: &Block| matches!(block, Block::Text(_) | Block::Code(_) | Block::Lead(_));
    let answer = blocks.iter().take_while(|block| words(block)).count();
    blocks.splice(answer..answer, doubts(set, source)?);
    let facts = |(name, value): &(String, Value)| {
        let text = match value {
            Value::Null => return None,
            Value::String(text) if name.ends_with("_at") => moment(text),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((name.replace('_', " "), text))
    };
    let facts = set.row.0.iter().filter_map(facts).collect();
    blocks.push(Block::Heading("What was run".into()));
    blocks.push(Block::Code(set.repeat.clone()));
    blocks.push(Block::Facts(facts));
    let runs = source.table(
        "Runs of the set",
        format!(
            "SELECT run_id, arm, round, state, aborted_clients, seconds, transactions, failed, tps, \
             latency_avg_ms, latency_p95_ms, latency_p99_ms FROM bench.runs WHERE set_id = {} ORDER BY run_id",
            set.id
        ),
    )?;
    blocks.extend(runs.map(|table| Block::Folded("Runs".into(), vec![Block::Table(table)])));
    Ok(Section { heading, blocks })
}

/// Reasons to doubt the figures of its runs, each once.
fn doubts<S: Source>(set: &Set, source: &mut S) -> Result<Vec<Block>, S::Error> {
    let rows = source.rows(&format!(
        "SELECT a.severity, a.finding, count(*) AS runs, min(r.run_id) AS run_id, \
         (array_agg(a.evidence ORDER BY r.run_id))[1] AS evidence, \
         (array_agg(a.remedy ORDER BY r.run_id))[1] AS remedy \
         FROM bench.runs r, LATERAL bench.advice(r.run_id) a WHERE r.set_id = {} AND r.round IS DISTINCT FROM 0{} \
         GROUP BY a.severity, a.finding \
         ORDER BY array_position('{{error,warning,note}}', a.severity), count(*) DESC, a.finding",
        set.id,
        // A search overloads the server on purpose.
        match set.is("find_capacity") {
            true =>
                " AND (r.rate IS NULL OR a.finding NOT IN ('transactions were skipped', 'the rate was missed'))",
            false => "",
        }
    ))?;
    let remark = |row: &Row| Remark {
        severity: match row.text("severity") {
            "error" => "error",
            "warning" => "warning",
            _ => "note",
        },
        finding: row.text("finding").to_owned(),
        evidence: format!(
            "{}; run {}: {}",
            counted(row.number("runs").unwrap_or(0.0), "run"),
            row.number("run_id").unwrap_or(0.0),
            row.text("evidence")
        ),
        remedy: row.text("remedy").to_owned(),
    };
    Ok(Block::doubts(rows.iter().map(remark).collect()))
}

fn compared<S: Source>(set: &Set, source: &mut S, blocks: &mut Vec<Block>) -> Result<(), S::Error> {
    let [low, high] = ["tps_low", "tps_high"].map(of_several);
    let [ratio_low, ratio_high] = ["ratio_low", "ratio_high"].map(of_several);
    let verdicts = source.table(
        "Arms with intervals of 95 %",
        format!(
            "SELECT arm, verdict, runs, tps, {low}, {high}, ratio, {ratio_low}, {ratio_high}, p_value, \
             latency_p50_ms, latency_p95_ms, latency_p99_ms FROM bench.arms({})",
            set.id
        ),
    )?;
    let mut order: Vec<String> = Vec::new();
    if let Some(table) = verdicts {
        order.extend(table.rows.iter().map(|row| row.text("arm").to_owned()));
        let sentence = |row: &Row| format!("{}: {}", row.text("arm"), row.text("verdict"));
        let sentences: Vec<String> = table.rows.iter().map(sentence).collect();
        let runs = source.rows(&format!(
            "SELECT arm, jsonb_agg(tps ORDER BY run_id) AS tps FROM bench.runs WHERE set_id = {} AND round > 0 \
             AND state = 'finished' AND aborted_clients = 0 AND tps IS NOT NULL GROUP BY arm",
            set.id
        ))?;
        let runs_of = |arm: &str| {
            let of_arm = runs.iter().find(|row| row.text("arm") == arm);
            let tps = of_arm.and_then(|row| row.0.iter().find(|(name, _)| name == "tps"));
            let tps = tps
                .and_then(|(_, tps)| tps.as_array())
                .into_iter()
                .flatten();
            tps.filter_map(Value::as_f64).collect()
        };
        let drawn = |row: &Row, figure: &str| Interval {
            name: row.text("arm").to_owned(),
            value: row.number(figure),
            low: row.number(&format!("{figure}_low")),
            high: row.number(&format!("{figure}_high")),
            ..Interval::default()
        };
        let arms = table.rows.iter().map(|row| Interval {
            runs: runs_of(row.text("arm")),
            ..drawn(row, "tps")
        });
        let arms: Vec<Interval> = arms.collect();
        let ratios = table
            .rows
            .iter()
            .filter(|row| row.number("ratio").is_some());
        let ratios = ratios.filter(|row| !row.text("verdict").starts_with("baseline"));
        let ratios: Vec<Interval> = ratios.map(|row| drawn(row, "ratio")).collect();
        let baseline = table
            .rows
            .iter()
            .find(|row| row.text("verdict").starts_with("baseline"));
        let about = About {
            title: "Throughput of the arms.".into(),
            finding: format!(
                "{} {}.",
                match arms.iter().any(|arm| arm.low.is_some()) {
                    true => "With intervals of 95 %; each run is a point.",
                    false => "Each run is a point.",
                },
                sentences.join("; ")
            ),
        };
        blocks.extend(sentences.into_iter().map(Block::Lead));
        let chart = intervals(
            &about,
            TPS,
            &arms,
            baseline.and_then(|row| row.number("tps")),
        );
        blocks.push(Block::Chart(Picture::of(chart, None)));
        blocks.push(Block::Table(table));
        if !ratios.is_empty() {
            let (measure, unit) = match compares_latency(set, source)? {
                true => ("Latency", "times the latency of the baseline"),
                false => ("Throughput", "times the baseline"),
            };
            let about = About {
                title: format!("{measure} beside the baseline."),
                finding: match ratios.iter().any(|arm| arm.low.is_some()) {
                    true => "An arm differs if its interval of 95 % does not contain 1.".into(),
                    false => "Of two runs, there is no interval.".into(),
                },
            };
            blocks.push(Block::Chart(Picture::of(
                intervals(&about, Unit::Count(unit), &ratios, Some(1.0)),
                None,
            )));
        }
        blocks.extend(latencies(set, &order, source)?);
    }
    let budgets = source.table(
        "Time budget of a transaction in each arm",
        format!(
            "SELECT arm, component, us_per_transaction, share FROM bench.time_budget(set_id => {})",
            set.id
        ),
    )?;
    if let Some(table) = budgets {
        let mut arms: Vec<BudgetArm> = Vec::new();
        for row in &table.rows {
            let part = Part {
                name: row.text("component").to_owned(),
                value: row.number("us_per_transaction"),
            };
            match arms.iter_mut().find(|arm| arm.name == row.text("arm")) {
                Some(arm) => arm.parts.push(part),
                None => arms.push(BudgetArm {
                    name: row.text("arm").to_owned(),
                    parts: vec![part],
                }),
            }
        }
        arms.sort_by_key(|arm| order.iter().position(|name| *name == arm.name));
        let about = About {
            title: "Where the time of a transaction goes.".into(),
            finding: "The parts of each arm add up to its mean latency.".into(),
        };
        blocks.push(Block::Chart(Picture::of(
            budget(&about, Unit::Microseconds, &arms),
            Some(table),
        )));
    }
    Ok(())
}

/// Whether ratios are those of latencies: an arm has a rate.
fn compares_latency<S: Source>(set: &Set, source: &mut S) -> Result<bool, S::Error> {
    let rows = source.rows(&format!(
        "SELECT bool_or(coalesce(a.arm ->> 'rate', a.arm ->> 'load_factor') IS NOT NULL) AS found \
         FROM bench.sets s, jsonb_array_elements(s.options -> 'arms') a (arm) WHERE s.set_id = {}",
        set.id
    ))?;
    let found = |row: &Row| row.0.iter().any(|(_, found)| *found == Value::Bool(true));
    Ok(rows.iter().any(found))
}

/// An end of the 95 % interval of a figure of `bench.arms`. Two runs have none that tells anything.
fn of_several(end: &str) -> String {
    format!("CASE WHEN runs > 2 THEN {end} END AS {end}")
}

/// The latencies of all transactions of each arm, over each other.
fn latencies<S: Source>(
    set: &Set,
    order: &[String],
    source: &mut S,
) -> Result<Option<Block>, S::Error> {
    let rows = source.rows(&format!(
        "SELECT a.arm, jsonb_agg(jsonb_build_array(p.p, bench.percentile(a.histogram, p.p)) ORDER BY p.p) AS curve \
         FROM (SELECT arm, bench.merge_histograms(histogram) AS histogram, sum(transactions) AS transactions FROM bench.runs \
         WHERE set_id = {} AND round > 0 AND state = 'finished' AND aborted_clients = 0 AND histogram IS NOT NULL GROUP BY arm) a, \
         unnest('{{0,10,20,30,40,50,60,70,80,90,95,98,99,99.5,99.9,99.99}}'::float8[]) p (p) \
         WHERE a.transactions * (100 - p.p) >= 100 GROUP BY a.arm",
        set.id
    ))?;
    let mut curves: Vec<PercentileCurve> = Vec::new();
    for row in &rows {
        let curve = row.0.iter().find(|(name, _)| name == "curve");
        let points = curve
            .and_then(|(_, points)| points.as_array())
            .into_iter()
            .flatten();
        let point = |point: &Value| Some((point.get(0)?.as_f64()?, point.get(1)?.as_f64()?));
        curves.push(PercentileCurve {
            name: row.text("arm").to_owned(),
            points: points.filter_map(point).collect(),
        });
    }
    curves.sort_by_key(|curve| order.iter().position(|name| *name == curve.name));
    let about = About {
        title: "Latency by percentile.".into(),
        finding: "All transactions of each arm.".into(),
    };
    Ok((!curves.is_empty()).then(|| Block::Chart(Picture::of(percentiles(&about, &curves), None))))
}

fn swept<S: Source>(set: &Set, source: &mut S, blocks: &mut Vec<Block>) -> Result<(), S::Error> {
    let scaling = match set.varies("clients") {
        true => source.table(
            "The Universal Scalability Law of each series",
            scaling_query(set.id),
        )?,
        false => None,
    };
    if let Some(table) = scaling {
        let lead = |row: &Row| match options(row, "options").as_str() {
            "" => Block::Lead(row.text("verdict").to_owned()),
            series => Block::Lead(format!("{series}: {}", row.text("verdict"))),
        };
        blocks.extend(table.rows.iter().map(lead));
        blocks.push(Block::Table(table));
    }
    let points = source.table("Points of the grid", points_query(set.id))?;
    blocks.extend(points.map(Block::Table));
    Ok(())
}

fn points_query(set_id: i64) -> String {
    let [low, high] = ["tps_low", "tps_high"].map(of_several);
    format!(
        "SELECT arm, options, runs, tps, {low}, {high}, latency_avg_ms, latency_p50_ms, latency_p95_ms, \
         latency_p99_ms, verdict FROM bench.arms({set_id})"
    )
}

fn scaling_query(set_id: i64) -> String {
    format!(
        "SELECT options, verdict, lambda, sigma, kappa, r_squared, fits, peak_clients, peak_tps \
         FROM bench.scaling({set_id})"
    )
}

fn searched<S: Source>(set: &Set, source: &mut S, blocks: &mut Vec<Block>) -> Result<(), S::Error> {
    if !set.row.text("verdict").is_empty() {
        blocks.push(Block::Lead(set.row.text("verdict").to_owned()));
    }
    let percentile = set.row.number("percentile").unwrap_or(99.0);
    let Some(table) = source.table("Probes", probes_query(set.id, percentile))? else {
        return Ok(());
    };
    let about = About {
        title: "Latency by rate.".into(),
        finding: set.row.text("verdict").to_owned(),
    };
    let rate = Unit::Count("transactions/s");
    let series = probes(&set.row, &table.rows, percentile);
    blocks.push(Block::Chart(Picture::of(
        curve(&about, &Across::Numbers(rate), Unit::Milliseconds, &series),
        None,
    )));
    blocks.push(Block::Table(table));
    Ok(())
}

/// The probes of a search as it judges them: transactions that failed or were skipped are slower than all others,
/// and a probe that did not start what was due has failed. One that was not steady has not passed.
fn probes_query(set_id: i64, percentile: f64) -> String {
    let over = ((100.0 - percentile) * 1e4).round() / 1e6;
    format!(
        "SELECT run_id, rate, tps, CASE WHEN p <= 100 THEN bench.percentile(histogram, p) END AS \"p{percentile}_ms\", \
         CASE WHEN state IN ('starting', 'running') THEN NULL \
         WHEN transactions = 0 OR late + skipped + failed > {over} * ended \
         OR due - ended > greatest(3 * sqrt(due), {over} * due) THEN 'failed' \
         WHEN bench_internal.is_steady(ARRAY(SELECT i.latency_avg_ms FROM bench.run_intervals i \
         WHERE i.run_id = r.run_id ORDER BY i.interval_no)) THEN 'passed' ELSE 'not steady' END AS probe, \
         late, skipped, failed, seconds FROM bench.runs r, \
         LATERAL (SELECT transactions + failed + skipped AS ended, rate * coalesce(duration_s, seconds, 0) AS due) n, \
         LATERAL (SELECT {percentile} * ended / nullif(transactions, 0)::float8 AS p) p \
         WHERE set_id = {set_id} AND rate IS NOT NULL ORDER BY run_id"
    )
}

/// Probes of a search, those that passed and those that failed, the median of each rate, the limit, and the rates
/// between which the capacity is. A percentile that is not known is beyond the axis.
fn probes(set: &Row, rows: &[Row], percentile: f64) -> Vec<CurveSeries> {
    let point = |x, y| CurvePoint {
        x,
        y,
        low: None,
        high: None,
    };
    let mut judged: Vec<(&str, CurvePoint)> = rows
        .iter()
        .filter(|row| !row.text("probe").is_empty())
        .filter_map(|row| {
            let ms = row.number(&format!("p{percentile}_ms"));
            let point = point(row.number("rate")?, ms.unwrap_or(f64::INFINITY));
            Some((row.text("probe"), point))
        })
        .collect();
    judged.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let of = |probe: &str| -> Vec<CurvePoint> {
        let of_kind = judged.iter().filter(|(kind, _)| *kind == probe);
        of_kind.map(|(_, point)| *point).collect()
    };
    let median = |of_rate: &[(&str, CurvePoint)]| {
        let middle = [(of_rate.len() - 1) / 2, of_rate.len() / 2].map(|i| of_rate[i].1);
        point(middle[0].x, (middle[0].y + middle[1].y) / 2.0)
    };
    let medians: Vec<CurvePoint> = judged.chunk_by(|a, b| a.1.x == b.1.x).map(median).collect();
    let mut lines = vec![
        (format!("p{percentile}, passed"), of("passed"), Marks::Dots),
        (format!("p{percentile}, failed"), of("failed"), Marks::Rings),
    ];
    if let ([first, ..], [.., last]) = (medians.as_slice(), medians.as_slice())
        && let Some(limit_ms) = set.number("latency_limit_ms")
    {
        let limit = [first, last].map(|end| point(end.x, limit_ms));
        let name = format!("limit of {} ms", decimal(limit_ms));
        lines.push((name, limit.to_vec(), Marks::Line));
    }
    lines.push(("median".to_owned(), medians, Marks::Line));
    let unsteady = of("not steady");
    if !unsteady.is_empty() {
        lines.push((format!("p{percentile}, not steady"), unsteady, Marks::Rings));
    }
    if let (Some(low), Some(high)) = (set.number("rate_low"), set.number("rate_high")) {
        let ends = [low, high].map(|rate| point(rate, 0.0));
        lines.push(("bracket".to_owned(), ends.to_vec(), Marks::Shade));
    }
    let series = lines.into_iter().map(|(name, points, marks)| CurveSeries {
        name,
        points,
        marks,
        ..CurveSeries::default()
    });
    series.collect()
}

/// Options of a point or series as a text, without one of them.
fn options(row: &Row, column: &str) -> String {
    without(row, column, "")
}

fn without(row: &Row, column: &str, left_out: &str) -> String {
    let found = row.0.iter().find(|(name, _)| name == column);
    let Some((_, Value::Object(members))) = found else {
        return String::new();
    };
    let others = members.iter().filter(|(name, _)| *name != left_out);
    let texts: Vec<String> = others
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn probes_are_drawn_as_they_are_judged() {
        let row = |rate: f64, ms: Value, probe: &str| {
            Row(vec![
                ("rate".into(), json!(rate)),
                ("p95_ms".into(), ms),
                ("probe".into(), json!(probe)),
            ])
        };
        let rows = [
            row(200.0, json!(19.0), "passed"),
            row(200.0, Value::Null, "failed"),
            row(100.0, json!(10.0), "passed"),
            row(200.0, json!(15.0), "passed"),
            row(400.0, Value::Null, "failed"),
            row(100.0, json!(12.0), "not steady"),
        ];
        let set = Row(vec![
            ("latency_limit_ms".into(), json!(20)),
            ("rate_low".into(), json!(100.0)),
            ("rate_high".into(), json!(400.0)),
        ]);
        let series = probes(&set, &rows, 95.0);
        let drawn = |i: usize| -> Vec<(f64, f64)> {
            let points = series[i].points.iter();
            points.map(|point| (point.x, point.y)).collect()
        };
        let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
        let expected = [
            "p95, passed",
            "p95, failed",
            "limit of 20.00 ms",
            "median",
            "p95, not steady",
            "bracket",
        ];
        assert_eq!(names, expected);
        assert_eq!(drawn(0), [(100.0, 10.0), (200.0, 15.0), (200.0, 19.0)]);
        assert_eq!(drawn(1), [(200.0, f64::INFINITY), (400.0, f64::INFINITY)]);
        assert_eq!(drawn(2), [(100.0, 20.0), (400.0, 20.0)]);
        // One of three probes at 200 failed.
        assert_eq!(
            drawn(3),
            [(100.0, 11.0), (200.0, 19.0), (400.0, f64::INFINITY)]
        );
        assert_eq!(drawn(4), [(100.0, 12.0)]);
        assert_eq!(drawn(5), [(100.0, 0.0), (400.0, 0.0)]);
    }
}
