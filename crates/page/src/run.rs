//! Report of a run.

pub(crate) mod answer;
mod details;

use crate::content::{Block, Report, Section, moment};
use crate::pictures::Pictures;
use crate::source::Source;
use answer::answer;
use details::{
    Tables, background, captured, conditions, profile, scripts, time, waits, what_was_run,
};
use selfbench_chart::run::{RunChart, RunData};
use selfbench_model::{Evidence, INTERVALS_PER_BATCH, Run, RunRecord, RunState};
use selfbench_report::counted;
use selfbench_stats::budget::LatencyPart;

pub use answer::lead;

/// The heading of charts of intervals.
pub(crate) const OVER_TIME: &str = "Throughput and latency over time";

/// The charts of what the server did.
pub(crate) const OF_SERVER: [RunChart; 4] = [
    RunChart::Cpu,
    RunChart::Wal,
    RunChart::Blocks,
    RunChart::Device,
];

/// The report of a run. `repeat` are statements that repeat it, `charts` those that `data` has rows for,
/// `budget` the parts of the mean latency.
pub fn report<S: Source>(
    record: &RunRecord,
    evidence: &Evidence,
    repeat: &str,
    data: &RunData,
    charts: &[RunChart],
    budget: &[LatencyPart],
    source: &mut S,
) -> Result<Report, S::Error> {
    let run = &record.run;
    let pictures = Pictures {
        runs: &[data],
        charts,
    };
    let mut tables = Tables {
        run_id: run.run_id,
        source,
    };
    let mut sections = vec![
        Section {
            heading: "Result".into(),
            blocks: answer(record, evidence),
        },
        what_was_run(record, repeat, &mut tables)?,
    ];
    let drawn =
        |heading: &str, charts: &[RunChart]| illustrated(heading, pictures.of(charts), None);
    sections.extend(illustrated(
        OVER_TIME,
        pictures.of(&[RunChart::Tps, RunChart::Latency]),
        run.is_in_progress().then(intervals_so_far),
    ));
    sections.extend(drawn("The server at the same time", &OF_SERVER));
    let waits = waits(run, evidence, &mut tables)?;
    sections.extend(illustrated("Waits", pictures.of(&[RunChart::Waits]), waits));
    sections.extend(drawn(
        "Latency of the transactions",
        &[
            RunChart::Distribution,
            RunChart::Percentiles,
            RunChart::Heatmap,
        ],
    ));
    sections.extend(conditions(record, &mut tables)?);
    sections.extend(captured(evidence, &mut tables)?);
    let scripts = scripts(record, &mut tables)?;
    sections.extend(illustrated(
        "Scripts and commands",
        pictures.of(&[RunChart::Statements]),
        scripts,
    ));
    sections.extend(illustrated(
        "Where the time goes",
        pictures.of(&[RunChart::TimeBudget]),
        time(run.run_id, budget),
    ));
    let profile = profile(record, &mut tables)?;
    sections.extend(illustrated(
        "Profile",
        pictures.of(&[RunChart::FlameGraph]),
        profile,
    ));
    sections.push(background(&mut tables)?);
    let label = run.label.as_deref().unwrap_or_default();
    Ok(Report {
        title: match label {
            "" => format!("Run {}", run.run_id),
            label => format!("Run {}: {label}", run.run_id),
        },
        state: (run.state != RunState::Finished).then(|| run.state.name()),
        subtitle: subtitle(record),
        sections,
        footer: format!(
            "Made by pg_selfbench {} of run {}. Everything here is in the tables of schema bench; \
             bench.export_run({}) returns all of it as JSON.",
            run.extension_version, run.run_id, run.run_id
        ),
    })
}

/// Why charts over time end before the present.
fn intervals_so_far() -> Section {
    let words = format!(
        "While a run is in progress, its intervals are stored {INTERVALS_PER_BATCH} at a time, and the rest at \
         its end. Charts over time have those that are stored. Commands and the time budget are stored at the \
         end, too."
    );
    Section {
        heading: OVER_TIME.into(),
        blocks: vec![Block::Text(words)],
    }
}

/// A section that begins with charts, if it has anything.
pub(crate) fn illustrated(
    heading: &str,
    charts: Vec<Block>,
    words: Option<Section>,
) -> Option<Section> {
    let mut blocks = charts;
    blocks.extend(words.into_iter().flat_map(|section| section.blocks));
    (!blocks.is_empty()).then(|| Section {
        heading: heading.into(),
        blocks,
    })
}

pub(crate) fn subtitle(record: &RunRecord) -> String {
    let run = &record.run;
    let mut parts = vec![
        named(&run.scripts),
        clients(run),
        format!("mode {}", run.mode.description()),
        format!("PostgreSQL {}", run.server_version),
    ];
    parts.extend(run.target.clone());
    parts.extend(run.started_at.as_deref().map(moment));
    parts.join(", ")
}

fn clients(run: &Run) -> String {
    counted(run.clients, "client")
}

/// The first of some names, and how many there are more.
fn named(names: &[String]) -> String {
    const MOST: usize = 5;
    match names.split_at_checked(MOST) {
        Some((first, more)) if !more.is_empty() => {
            format!("{} and {} more", first.join(", "), more.len())
        }
        _ => names.join(", "),
    }
}
