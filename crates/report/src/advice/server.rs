//! Findings about the server and its machine during a run.

use super::{Finding, is_select_only, setup, writes};
use selfbench_model::{Evidence, RunRecord, ServerMoment};

/// Time on the run queue that matters, as a fraction of the time of the clients' transactions.
const QUEUE_SHARE: f64 = 0.1;
/// Throughput that something leaves, as a fraction of that without it, is lower.
const SLOWED_SHARE: f64 = 0.8;

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    let moments = &evidence.server;
    let mut all = Vec::new();
    all.extend(run_queue(record, evidence));
    if !is_select_only(record) {
        let writes = writes(record, evidence);
        all.extend(inside(
            moments,
            writes,
            |moment| moment.checkpoint,
            [
                "a checkpoint slowed the run down",
                "a checkpoint took place during the run",
                "no checkpoint took place during the run",
            ],
            "Compare runs with the same number of checkpoints: begin with checkpoint => true, and \
             run it for several times checkpoint_timeout.",
        ));
        all.extend(inside(
            moments,
            writes,
            |moment| moment.autovacuum,
            [
                "autovacuum slowed the run down",
                "autovacuum was at work during the run",
                "autovacuum was not at work during the run",
            ],
            "In production, autovacuum is part of the load: run it for so long that it takes its \
             usual share.",
        ));
    }
    all
}

/// Whether the sessions waited for CPUs: then the machine is measured, not the server.
fn run_queue(record: &RunRecord, evidence: &Evidence) -> Option<Finding> {
    let share = evidence
        .run_queue_share
        .filter(|share| *share > QUEUE_SHARE)?;
    let mut measured = format!(
        "sessions waited for a CPU for {:.0}% of the time of their transactions",
        100.0 * share
    );
    if let Some(sharing) = setup::sharing(&record.run) {
        measured += &format!("; {sharing}");
    }
    Some(Finding::warning(
        "the machine, not the server, may have limited the run: a long run queue",
        measured,
        "Use fewer clients, or a machine with more or idle CPUs.",
    ))
}

/// Whether something went on during the run, and what throughput it left. `findings` are for something
/// that slowed the run down, did not, or did not happen, which matters to a run that `writes`.
fn inside(
    moments: &[ServerMoment],
    writes: bool,
    went_on: fn(&ServerMoment) -> Option<bool>,
    findings: [&'static str; 3],
    remedy: &'static str,
) -> Option<Finding> {
    let tps = |wanted: bool| -> Vec<f64> {
        let chosen = moments
            .iter()
            .filter(|moment| went_on(moment) == Some(wanted));
        chosen.map(|moment| moment.tps.unwrap_or(0.0)).collect()
    };
    let (during, without) = (tps(true), tps(false));
    let intervals = during.len() + without.len();
    let [slowed, happened, missing] = findings;
    if intervals == 0 {
        return None;
    }
    if during.is_empty() {
        let evidence = format!("in none of {intervals} intervals");
        return writes.then(|| Finding::note(missing, evidence, remedy));
    }
    let mut evidence = format!("in {} of {intervals} intervals", during.len());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    if without.is_empty() {
        return Some(Finding::note(happened, evidence, remedy));
    }
    let (during, without) = (mean(&during), mean(&without));
    evidence += &format!(", {during:.1} tps in these and {without:.1} tps in the others");
    Some(match during < SLOWED_SHARE * without {
        true => Finding::warning(slowed, evidence, remedy),
        false => Finding::note(happened, evidence, remedy),
    })
}
