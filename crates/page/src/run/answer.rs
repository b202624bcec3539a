//! The answer of a run's report: what came out, in words and figures, and what makes it doubtful.

use super::clients;
use crate::content::{Block, Figure, Remark, decimal, grouped};
use selfbench_model::{Evidence, Mode, PgioRun, Run, RunRecord, RunState};
use selfbench_report::{Finding, advice, story};
use selfbench_stats::summary;

/// The answer: what came out, in words and numbers, and what makes it doubtful.
pub(super) fn answer(record: &RunRecord, evidence: &Evidence) -> Vec<Block> {
    let run = &record.run;
    let findings = advice(record, evidence);
    let mut blocks: Vec<Block> = Vec::new();
    blocks.extend(state(run).map(|words| Block::Text(words.into())));
    blocks.push(Block::Lead(told(record, &findings)));
    blocks.push(Block::Figures(figures(record)));
    let remarks = remarks(run, findings);
    if run.is_in_progress() {
        let words = "What makes these figures doubtful, its commands and where its time goes are known when it has ended.";
        blocks.push(Block::Text(words.into()));
    } else {
        blocks.extend(Block::doubts(remarks));
    }
    blocks
}

/// The state of a run whose figures are not those of all of it. One that failed begins with the reason.
fn state(run: &Run) -> Option<&'static str> {
    match run.state {
        RunState::Starting | RunState::Running => {
            Some("The run is in progress: these are its figures so far.")
        }
        RunState::Canceled => Some("The run was canceled: these are its figures until then."),
        RunState::Lost => Some("The run was lost: its processes ended before it stored a result."),
        RunState::Failed | RunState::Finished => None,
    }
}

/// Doubts about the figures of a run.
pub(crate) fn remarks(run: &Run, findings: Vec<Finding>) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = findings
        .into_iter()
        .map(|finding| Remark {
            severity: finding.severity.name(),
            finding: finding.finding.into(),
            evidence: finding.evidence,
            remedy: finding.remedy.into(),
        })
        .collect();
    let is_told = |error: &str| remarks.iter().any(|remark| remark.evidence.contains(error));
    let untold: Vec<&String> = run
        .errors
        .iter()
        .filter(|error| !is_told(error.trim_end()))
        .collect();
    remarks.extend(untold.into_iter().map(|error| Remark {
        severity: "error",
        finding: error.trim_end().into(),
        evidence: String::new(),
        remedy: String::new(),
    }));
    remarks.extend(run.notes.iter().map(|note| Remark {
        severity: "note",
        finding: note.clone(),
        evidence: String::new(),
        remedy: String::new(),
    }));
    remarks
}

/// The state of the run if it is not a whole one, the result in words, and what explains most of it.
pub fn lead(record: &RunRecord, evidence: &Evidence) -> String {
    let state = state(&record.run).map(|words| format!("{words} "));
    state.unwrap_or_default() + &told(record, &advice(record, evidence))
}

fn told(record: &RunRecord, findings: &[Finding]) -> String {
    let run = &record.run;
    let mut sentences = Vec::new();
    if run.state == RunState::Failed {
        let why = run
            .errors
            .first()
            .map_or("its reason is not known", |e| e.trim_end());
        let why = why.lines().next().unwrap_or_default().trim_end_matches('.');
        sentences.push(format!("The run failed: {why}."));
    }
    sentences.push(in_words(run));
    sentences.extend(of_rate(run));
    sentences.extend(record.pgio.as_ref().and_then(of_pgio));
    sentences.extend(story(findings));
    sentences.join(" ")
}

/// The rate that a run was given, and what became of it.
fn of_rate(run: &Run) -> Option<String> {
    let counts = &run.figures.counts;
    let mut words = format!("The rate was {} transactions per second", rate(run.rate?));
    let share = |count| decimal(summary::percent(count, counts.total()));
    if let Some(limit_ms) = run.latency_limit_ms {
        let (late, skipped) = (share(counts.late), share(counts.skipped));
        words += &format!(
            ": {late} % of them took more than {} ms, {skipped} % were skipped",
            decimal(limit_ms)
        );
    }
    Some(words + ".")
}

/// The figures that a run of pgio's workload is about.
fn of_pgio(pgio: &PgioRun) -> Option<String> {
    let reads = grouped(pgio.logical_reads_per_s?);
    let mut words = format!("{reads} logical reads per second");
    if let Some(riops) = pgio.riops {
        words += &format!(
            ", of which {} were read into shared buffers",
            grouped(riops)
        );
    }
    if let Some(device) = pgio.device_reads_per_s {
        words += &format!(", {} of them from a device", grouped(device));
    }
    Some(words + ".")
}

/// The result in one or two sentences.
fn in_words(run: &Run) -> String {
    let counts = &run.figures.counts;
    let latency = &run.figures.latency;
    let seconds = run.seconds.unwrap_or(0.0);
    let place = match run.mode {
        Mode::Spi => "in the server",
        Mode::Libpq => "over connections",
    };
    let (Some(tps), Some(avg_ms)) = (run.figures.tps, latency.latency_avg_ms) else {
        return match counts.total() {
            0 if run.state == RunState::Lost => "Its figures are not known.".into(),
            0 => "No transaction has ended.".into(),
            total => format!(
                "None of {} transactions was successful.",
                grouped(total as f64)
            ),
        };
    };
    let mut words = format!(
        "{} transactions per second on average over {} s, {place}, by {}. A transaction took {} ms on average",
        rate(tps),
        decimal(seconds),
        clients(run),
        decimal(avg_ms)
    );
    if let Some(p95_ms) = latency.latency_p95_ms {
        words += &format!("; 95 of 100 took at most {} ms", decimal(p95_ms));
    }
    words + "."
}

fn figures(record: &RunRecord) -> Vec<Figure> {
    let run = &record.run;
    let figures = &run.figures;
    let (counts, latency) = (&figures.counts, &figures.latency);
    let mut all = Vec::new();
    let mut add = |name: &str, value: Option<String>, unit: &str| {
        all.extend(value.map(|value| Figure {
            name: name.into(),
            value,
            unit: unit.into(),
        }));
    };
    let per_second = match run.mode {
        Mode::Spi => "throughput, in-server",
        Mode::Libpq => "throughput",
    };
    if let Some(pgio) = &record.pgio {
        let grouped = |value: Option<f64>| value.map(grouped);
        add("logical reads", grouped(pgio.logical_reads_per_s), "per s");
        add("RIOPS", grouped(pgio.riops), "per s");
        add("device reads", grouped(pgio.device_reads_per_s), "per s");
    }
    add("rate", run.rate.map(rate), "per s");
    add(per_second, figures.tps.map(rate), "tps");
    for script in &record.scripts {
        if let Some(of) = &script.per_minute_of {
            add(&format!("{of} per minute"), script.per_minute.map(rate), "");
        }
    }
    for (name, value) in [
        ("mean latency", latency.latency_avg_ms),
        ("median", latency.latency_p50_ms),
        ("95th percentile", latency.latency_p95_ms),
        ("99th percentile", latency.latency_p99_ms),
        ("maximum", latency.latency_max_ms),
    ] {
        add(name, value.map(decimal), "ms");
    }
    add(
        "transactions",
        Some(grouped(counts.transactions as f64)),
        "",
    );
    let total = counts.total();
    let share = |count| format!("({:.2} %)", summary::percent(count, total));
    for (name, count) in [
        ("failed", counts.failed()),
        ("retried", counts.retried),
        ("skipped", counts.skipped),
        ("over the limit", counts.late),
        ("rolled back on purpose", counts.rolled_back),
    ] {
        if count > 0 {
            add(name, Some(grouped(count as f64)), &share(count));
        }
    }
    add("mean schedule lag", figures.lag_avg_ms.map(decimal), "ms");
    let overhead = run
        .overhead_share
        .map(|share| format!("{:.1}", 100.0 * share));
    add("overhead, of clients' time", overhead, "%");
    all
}

/// Transactions per second.
pub(crate) fn rate(tps: f64) -> String {
    match tps {
        tps if tps >= 1000.0 => grouped(tps),
        tps => decimal(tps),
    }
}
