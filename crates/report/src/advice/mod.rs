//! Findings: what makes the figures of a run doubtful, as far as that is certain.
//!
//! They are rows of `bench.advice`; reports and notices print the same. `outcome` looks at the figures,
//! `setup` at what is known before a run starts, `disturbances` at what else went on, `harness` at its own
//! cost, `server` at the server, `course` at the
//! run's intervals, `tables` at what it used, `waits` at what sessions waited
//! for, `stalls` at the times when clients completed nothing.

mod course;
mod disturbances;
mod harness;
mod outcome;
mod server;
mod setup;
mod stalls;
mod tables;
mod waits;

use selfbench_model::{Evidence, Run, RunRecord};

pub use disturbances::disturbances;
pub(crate) use outcome::violation;
pub use outcome::{missed_rate, remedy_of_small_pool, stalled_clients};
pub use setup::{Setup, is_measurement, known_before};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Limits what the figures say.
    Note,
    /// Distorts the figures.
    Warning,
    /// The figures are not those of the run that was asked for.
    Error,
}

impl Severity {
    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One reason for doubt, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Finding: the same text for all runs.
    pub finding: &'static str,
    /// The figures of this run that say so.
    pub evidence: String,
    /// Remedy.
    pub remedy: &'static str,
    /// Estimated fraction of the throughput that it explains, or by which it distorts the figures; 0 if that
    /// cannot be told.
    pub effect: f64,
}

/// A smaller effect is not told beside the result.
const TOLD: f64 = 0.02;

impl Finding {
    fn note(finding: &'static str, evidence: String, remedy: &'static str) -> Finding {
        Finding {
            severity: Severity::Note,
            finding,
            evidence,
            remedy,
            effect: 0.0,
        }
    }

    /// It with an effect, a fraction.
    fn explains(self, effect: f64) -> Finding {
        Finding {
            effect: if effect.is_finite() { effect } else { 0.0 },
            ..self
        }
    }

    fn warning(finding: &'static str, evidence: String, remedy: &'static str) -> Finding {
        Finding {
            severity: Severity::Warning,
            ..Finding::note(finding, evidence, remedy)
        }
    }

    fn error(finding: &'static str, evidence: String, remedy: &'static str) -> Finding {
        Finding {
            severity: Severity::Error,
            ..Finding::note(finding, evidence, remedy)
        }
    }
}

/// All reasons for doubt, the gravest first, and of the same severity those that explain most, then what was asked
/// for before what went on meanwhile; none is no proof that all is well.
pub fn advice(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    if record.run.is_in_progress() {
        return vec![outcome::in_progress(&record.run)];
    }
    let mut all = outcome::findings(record, evidence);
    all.extend(pruned(&record.run));
    all.extend(setup::findings(record, evidence));
    all.extend(stalls::finding(&record.run, &evidence.stalls));
    all.extend(waits::findings(evidence));
    all.extend(disturbances(&record.run, &evidence.server));
    all.extend(harness::finding(&record.run));
    all.extend(server::findings(record, evidence));
    all.extend(course::findings(record, evidence));
    all.extend(tables::findings(record, evidence));
    all.sort_by(|a, b| {
        let by_effect = b.effect.total_cmp(&a.effect);
        b.severity.cmp(&a.severity).then(by_effect)
    });
    all
}

/// The finding that explains most of a run's result, as a sentence beside it; `None` if there is none.
pub fn story(findings: &[Finding]) -> Option<String> {
    let told = findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning && finding.effect >= TOLD);
    let first = told.max_by(|a, b| a.effect.total_cmp(&b.effect))?;
    let words = match first.finding {
        stalls::FINDING => first.evidence.clone(),
        finding => format!("{finding}: {}", first.evidence),
    };
    let mut letters = words.chars();
    let capital = letters.next()?.to_uppercase();
    Some(format!("{capital}{}.", letters.as_str()))
}

/// Finding that others cannot be found any more.
fn pruned(run: &Run) -> Option<Finding> {
    let at = run.thinned_at.as_ref()?;
    Some(Finding::note(
        "findings in the course of the run are not known any more",
        format!(
            "bench.prune deleted its intervals on {}",
            at.get(..10).unwrap_or(at)
        ),
        "Column disturbances of bench.runs has what disturbed the run.",
    ))
}

/// Whether all scripts of a run are built-in ones, which call no functions of users.
fn is_builtin(record: &RunRecord) -> bool {
    record
        .scripts
        .iter()
        .all(|script| script.weight == 0 || script.description.starts_with("<builtin: "))
}

/// Whether all scripts of a run are built-in ones that only read.
fn is_select_only(record: &RunRecord) -> bool {
    record
        .scripts
        .iter()
        .all(|script| script.weight == 0 || script.description == "<builtin: select only>")
}

/// Whether a run may have written, as far as is known.
fn writes(record: &RunRecord, evidence: &Evidence) -> bool {
    !is_select_only(record) && evidence.writes != Some(false)
}
