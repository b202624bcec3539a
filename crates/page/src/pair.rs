//! Report of two runs beside each other: which is faster, whether what they varied by explains it, and what differs.

use crate::content::{Block, Report, Row, Rows, Section, Table, decimal};
use crate::pictures::Pictures;
use crate::run::answer::{rate, remarks};
use crate::run::{OF_SERVER, OVER_TIME, illustrated, subtitle};
use crate::source::Source;
use selfbench_chart::run::{RunChart, RunData, RunFigure};
use selfbench_model::{Evidence, Run, RunRecord, RunState};
use selfbench_report::{advice, verdict};
use selfbench_stats::compare::{Comparison, Difference};
use serde_json::json;

/// Fewer intervals of a run do not show how much it varied.
const LEAST_INTERVALS: usize = 10;

/// Parts of a run whose means are compared. Intervals that follow each other resemble each other; longer parts do so
/// less.
const PARTS: usize = 10;

/// Seed of resampling: the same runs get the same sentence.
const SEED: u64 = 1;

/// A run of the report.
pub struct Side<'a> {
    /// Its record.
    pub record: &'a RunRecord,
    /// Observations beside it.
    pub evidence: Evidence,
    /// Data of its charts.
    pub data: RunData,
}

impl Side<'_> {
    /// Its name without its label.
    fn name(&self) -> String {
        format!("run {}", self.record.run.run_id)
    }

    /// Figure that is compared: of runs with a rate, the mean latency, otherwise the throughput.
    fn figure(&self, by_latency: bool) -> Option<f64> {
        let figures = &self.record.run.figures;
        let value = match by_latency {
            true => figures.latency.latency_avg_ms,
            false => figures.tps,
        };
        value.filter(|value| *value > 0.0)
    }

    /// Means of parts of the run, by the length of their intervals; `None` of a run of few intervals.
    fn parts(&self, by_latency: bool) -> Option<Vec<f64>> {
        let figure = match by_latency {
            true => RunFigure::LatencyAvg,
            false => RunFigure::Tps,
        };
        let points = &self.data.figure(figure)?.points;
        let known: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| Some((point.seconds, point.value?.mean)))
            .collect();
        let part = |i: usize| {
            let part = &known[i * known.len() / PARTS..(i + 1) * known.len() / PARTS];
            let seconds: f64 = part.iter().map(|(seconds, _)| seconds).sum();
            part.iter()
                .map(|(seconds, value)| seconds * value)
                .sum::<f64>()
                / seconds
        };
        (known.len() >= LEAST_INTERVALS).then(|| (0..PARTS).map(part).collect())
    }

    /// Reason why its figures are not those of a whole run.
    fn state(&self) -> Option<String> {
        let name = self.name();
        let run = &self.record.run;
        Some(match run.state {
            RunState::Starting | RunState::Running => {
                format!("{name} is in progress: these are its figures so far.")
            }
            RunState::Canceled => format!("{name} was canceled."),
            RunState::Lost => format!("{name} was lost before it stored a result."),
            RunState::Failed => format!("{name} failed."),
            RunState::Finished if !run.is_complete() => {
                format!("{name} lost clients before its end.")
            }
            RunState::Finished => return None,
        })
    }
}

/// The report of a run against another one, `charts` those for which both have data.
pub fn report<S: Source>(
    sides: &[Side<'_>; 2],
    charts: &[RunChart],
    source: &mut S,
) -> Result<Report, S::Error> {
    let [run, against] = sides;
    let [name, of] = [run, against].map(Side::name);
    let [run_id, other_id] = [run, against].map(|side| side.record.run.run_id);
    let runs = [&run.data, &against.data];
    let pictures = Pictures {
        runs: &runs,
        charts,
    };
    let mut differing = |caption: &str, columns: &str, condition: &str| {
        let query = format!(
            "SELECT {columns}, of_b AS run_{run_id}, of_a AS run_{other_id}, ratio \
             FROM bench.compare_runs('{{{other_id}}}', '{{{run_id}}}') WHERE {condition}"
        );
        source.table(caption, query)
    };
    let mut answer = vec![Block::Lead(lead(run, against))];
    answer.extend(figures(run, against).map(Block::Table));
    let of_side = |side: &Side| {
        let found = remarks(&side.record.run, advice(side.record, &side.evidence));
        let name = side.name();
        let named = move |mut remark: crate::Remark| {
            remark.finding = format!("{name}: {}", remark.finding);
            remark
        };
        found.into_iter().map(named).collect::<Vec<_>>()
    };
    answer.extend(Block::doubts([run, against].map(of_side).concat()));
    let facts = sides
        .iter()
        .map(|side| (side.data.name(), subtitle(side.record)));
    let reports = sides.iter().map(|side| {
        let run_id = side.record.run.run_id;
        let query = format!("SELECT bench.report({run_id}, format => 'html')");
        (format!("report of {}", side.name()), query)
    });
    let mut sections = vec![
        Section {
            heading: "Result".into(),
            blocks: answer,
        },
        Section {
            heading: "Runs".into(),
            blocks: vec![Block::Facts(facts.chain(reports).collect())],
        },
    ];
    let differs = differing(
        "Options, versions, settings, hardware and sizes that differ",
        "name, aspect",
        &format!(
            "(aspect IN ('option', 'setting', 'hardware') OR aspect = 'size' AND (of_a || of_b IS NOT NULL \
             OR 2 = (SELECT count(DISTINCT run_id) FROM bench.run_tables WHERE run_id IN ({run_id}, {other_id}))))"
        ),
    )?;
    sections.push(Section {
        heading: "What differs".into(),
        blocks: vec![differs.map_or_else(
            || {
                Block::Text(
                    "No option, version, setting, hardware or size that is known differs.".into(),
                )
            },
            Block::Table,
        )],
    });
    let mut add = |heading: &str, charts: &[RunChart], words: Option<Section>| {
        sections.extend(illustrated(heading, pictures.of(charts), words));
    };
    let of_table = |caption: &str, table: Option<Table>| {
        table.map(|table| Section {
            heading: caption.into(),
            blocks: vec![Block::Table(table)],
        })
    };
    add(OVER_TIME, &[RunChart::Tps, RunChart::Latency], None);
    add("The server at the same time", &OF_SERVER, None);
    let waits = differing(
        "Wait events whose shares of the samples differ",
        "name",
        "aspect = 'wait'",
    )?;
    add("Waits", &[RunChart::Waits], of_table("Waits", waits));
    let latencies = [RunChart::Distribution, RunChart::Percentiles];
    add("Latency of the transactions", &latencies, None);
    let parts = |run_id: i64| {
        format!(
            "bench.time_budget('{{{run_id}}}') WITH ORDINALITY f (component, us, share, measured, arm, runs, place)"
        )
    };
    let budgets = source.table(
        "Parts of the mean latency",
        format!(
            "SELECT component, r.us AS run_{run_id}_us, o.us AS run_{other_id}_us, r.us / nullif(o.us, 0) AS ratio \
             FROM (SELECT component, us, place FROM {}) r FULL JOIN (SELECT component, us, place FROM {}) o USING (component) \
             WHERE coalesce(r.us, o.us) IS NOT NULL ORDER BY least(r.place, o.place), component",
            parts(run_id),
            parts(other_id)
        ),
    )?;
    let budgets = of_table("Where the time goes", budgets);
    add("Where the time goes", &[RunChart::TimeBudget], budgets);
    add("Profile", &[RunChart::FlameGraph], None);
    Ok(Report {
        title: format!("R{} against {of}", &name[1..]),
        state: None,
        subtitle:
            "Ratios are those of the first run to the second. Charts begin where the warm-up ends."
                .into(),
        sections,
        footer: format!(
            "Made by pg_selfbench {} of runs {run_id} and {other_id}. Everything here is in the tables of schema bench.",
            run.record.run.extension_version
        ),
    })
}

/// Figures of both runs, those of a run in progress so far; `None` if neither has any.
fn figures(run: &Side, against: &Side) -> Option<Table> {
    const NAMES: [&str; 5] = [
        "tps",
        "latency_avg_ms",
        "latency_p50_ms",
        "latency_p95_ms",
        "latency_p99_ms",
    ];
    let [of_run, of_other] = [run, against].map(|side| {
        let figures = &side.record.run.figures;
        let latency = &figures.latency;
        [
            figures.tps,
            latency.latency_avg_ms,
            latency.latency_p50_ms,
            latency.latency_p95_ms,
            latency.latency_p99_ms,
        ]
    });
    let [run_id, other_id] = [run, against].map(|side| side.record.run.run_id);
    let row = |i: usize| {
        let (value, other): (Option<f64>, Option<f64>) = (of_run[i], of_other[i]);
        let ratio = value.zip(other.filter(|other| *other > 0.0));
        value.or(other)?;
        Some(Row(vec![
            ("name".to_owned(), json!(NAMES[i])),
            (format!("run_{run_id}"), json!(value)),
            (format!("run_{other_id}"), json!(other)),
            (
                "ratio".to_owned(),
                json!(ratio.map(|(value, other)| value / other)),
            ),
        ]))
    };
    let query = format!(
        "SELECT run_id, {} FROM bench.run_summary WHERE run_id IN ({run_id}, {other_id})",
        NAMES.join(", ")
    );
    let rows = Rows {
        numbers: vec![false, true, true, true],
        rows: (0..NAMES.len()).filter_map(row).collect(),
    };
    Table::of("Figures", query, rows)
}

/// Which run is faster by how much, and whether what they varied by explains it.
fn lead(run: &Side, against: &Side) -> String {
    let mut sentences: Vec<String> = [run, against].into_iter().filter_map(Side::state).collect();
    let is_whole = sentences.is_empty();
    let (name, of) = (run.name(), against.name());
    let by_latency = [run, against]
        .iter()
        .any(|side| side.record.run.rate.is_some());
    let value = |value: f64| match by_latency {
        true => format!("{} ms", decimal(value)),
        false => format!("{} tps", rate(value)),
    };
    let figure = match by_latency {
        true => "mean latency",
        false => "throughput",
    };
    let modes = [run, against].map(|side| side.record.run.mode);
    let named = |side: &Side| match modes[0] == modes[1] {
        true => side.name(),
        false => format!("{} (mode {})", side.name(), side.record.run.mode.name()),
    };
    let values = [run, against].map(|side| side.figure(by_latency));
    let [Some(a), Some(b)] = values else {
        let without = [run, against].into_iter().zip(values);
        let names: Vec<String> = without
            .filter(|(_, value)| value.is_none())
            .map(|(side, _)| side.name())
            .collect();
        sentences.push(format!(
            "Nothing can be compared: the {figure} of {} is not known.",
            names.join(" and ")
        ));
        return text(sentences);
    };
    let records = [run, against].map(|side| side.record);
    // The hash is known once a run has ended.
    let hashes = records.map(|record| record.run.scripts_hash.as_deref());
    let is_same_work = (hashes[0] == hashes[1] || hashes.contains(&None))
        && records[0].pgio.is_some() == records[1].pgio.is_some();
    let differs: Option<String> = match (is_same_work, run.record.run.rate, against.record.run.rate)
    {
        (false, _, _) => {
            Some("They executed different scripts: their transactions are not the same work".into())
        }
        (true, a, b) if a == b => None,
        (true, Some(_), Some(_)) => {
            Some("They had different rates: their servers had not the same load".into())
        }
        (true, a, _) => {
            let with = if a.is_some() { &name } else { &of };
            Some(format!(
                "Only {with} had a rate: their servers had not the same load"
            ))
        }
    };
    if let Some(differs) = differs {
        sentences.push(format!(
            "The {figure} of {} is {}, that of {} {}. {differs}. So this does not say which is faster.",
            named(run),
            value(a),
            named(against),
            value(b)
        ));
        return text(sentences);
    }
    let ratio = decimal(a / b);
    sentences.push(format!(
        "{} has {ratio} times the {figure} of {}: {} against {}.",
        named(run),
        named(against),
        value(a),
        value(b)
    ));
    sentences.extend(load(&run.record.run, &against.record.run));
    let parts = [run, against].map(|side| side.parts(by_latency));
    let comparison = match &parts {
        [Some(arm), Some(baseline)] if is_whole => Comparison::of_independent(arm, baseline, SEED),
        _ => None,
    };
    sentences.push(match (is_whole, comparison) {
        (false, _) => "Not both are whole runs, so this does not say which is faster.".into(),
        (true, Some(comparison)) => noise(&comparison, &name, by_latency),
        (true, None) => format!(
            "Whether noise explains that is not known: {name} or {of} has fewer than {LEAST_INTERVALS} intervals."
        ),
    });
    if is_whole {
        sentences.push(
            "Two single runs do not show how much runs differ from each other; bench.compare repeats them in turn."
                .into(),
        );
    }
    text(sentences)
}

/// Differences between two runs in the load of their servers.
fn load(run: &Run, against: &Run) -> Option<String> {
    let clients = (run.clients != against.clients)
        .then(|| format!("clients ({} and {})", run.clients, against.clients));
    let scale = (run.scale != against.scale)
        .then(|| format!("scale ({} and {})", run.scale, against.scale));
    let differ: Vec<String> = [clients, scale].into_iter().flatten().collect();
    (!differ.is_empty()).then(|| format!("They differ in {}.", differ.join(" and ")))
}

/// Whether what two runs varied by over time explains their difference.
fn noise(comparison: &Comparison, name: &str, by_latency: bool) -> String {
    let faster = match (comparison.difference(), by_latency) {
        (Difference::NotSeen, _) => None,
        (Difference::Higher, false) | (Difference::Lower, true) => Some("faster"),
        (Difference::Lower, false) | (Difference::Higher, true) => Some("slower"),
    };
    match (faster, comparison.low, comparison.high) {
        (Some(faster), Some(low), Some(high)) => format!(
            "{name} was {faster}: what both varied by over time does not explain the difference; by it, the ratio is {} \
             (95 %).",
            verdict::range(low, high)
        ),
        _ => "What both varied by over time explains that: no difference can be seen.".into(),
    }
}

/// Sentences, each with a capital letter.
fn text(sentences: Vec<String>) -> String {
    let capital = |sentence: String| match sentence.split_at_checked(1) {
        Some((first, rest)) => first.to_uppercase() + rest,
        None => sentence,
    };
    let sentences: Vec<String> = sentences.into_iter().map(capital).collect();
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lead on two runs with these states and throughputs, whose scripts have these hashes.
    fn lead_of(runs: [(RunState, f64, Option<&str>); 2]) -> String {
        let records = runs.map(|(state, tps, hash)| {
            let mut record = RunRecord::default();
            record.run.state = state;
            record.run.figures.tps = Some(tps);
            record.run.scripts_hash = hash.map(str::to_owned);
            record
        });
        let [run, against] = [0, 1].map(|i| Side {
            record: &records[i],
            evidence: Evidence::default(),
            data: RunData::default(),
        });
        lead(&run, &against)
    }

    #[test]
    fn scripts_of_a_run_in_progress_are_not_known() {
        let finished = (RunState::Finished, 100.0, Some("a"));
        let other = lead_of([finished, (RunState::Finished, 50.0, Some("b"))]);
        assert!(other.contains("They executed different scripts"), "{other}");
        let running = lead_of([finished, (RunState::Running, 50.0, None)]);
        assert_eq!(
            running,
            "Run 0 is in progress: these are its figures so far. Run 0 has 2.000 times the throughput of run 0: \
             100.0 tps against 50.00 tps. Not both are whole runs, so this does not say which is faster."
        );
    }

    #[test]
    fn a_run_without_transactions_is_named() {
        let finished = (RunState::Finished, 100.0, Some("a"));
        let none = lead_of([finished, (RunState::Finished, 0.0, Some("a"))]);
        assert_eq!(
            none,
            "Nothing can be compared: the throughput of run 0 is not known."
        );
    }
}
