//! Findings about the server and its machine during a run.

use super::{Finding, is_select_only, setup, writes};
use selfbench_model::{Evidence, RunRecord, ServerMoment};
use selfbench_stats::summary;

/// Time on the run queue that is worth a note, as a fraction of the time of the clients' transactions,
const QUEUE_SHARE: f64 = 0.1;
/// and that makes a difference: it is most of it.
const LONG_QUEUE_SHARE: f64 = 0.5;
/// CPU time that other processes used, as a fraction of all that was used, makes a difference
const OTHERS_SHARE: f64 = 0.2;
/// if hardly any is left: a smaller fraction of all CPUs.
const IDLE_SHARE: f64 = 0.15;
/// Throughput that something leaves, as a fraction of that without it, is lower.
const SLOWED_SHARE: f64 = 0.8;

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    let moments = &evidence.server;
    let mut all = Vec::new();
    all.extend(run_queue(record, evidence));
    all.extend(other_processes(evidence));
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
    let of = match share > LONG_QUEUE_SHARE {
        true => Finding::warning,
        false => Finding::note,
    };
    Some(of(
        "the machine, not the server, may have limited the run: a long run queue",
        measured,
        "Use fewer clients, or a machine with more or idle CPUs.",
    ))
}

/// Whether processes that do not belong to the run used CPUs that it needed.
fn other_processes(evidence: &Evidence) -> Option<Finding> {
    let waited = evidence
        .run_queue_share
        .filter(|share| *share > QUEUE_SHARE)?;
    let known = evidence.server.iter().filter_map(|moment| {
        let (all, steal) = (moment.cpu_ms?, moment.cpu_steal_ms.unwrap_or(0.0));
        Some([all - steal, moment.cpu_idle_ms?, moment.cpu_own_ms?])
    });
    let [all, idle, own] = known.fold([0.0; 3], |sum, one| {
        [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]]
    });
    let used = all - idle;
    let others = summary::ratio((used - own).max(0.0), used)?;
    (others > OTHERS_SHARE && idle < IDLE_SHARE * all).then(|| {
        Finding::warning(
            "other processes used the CPUs",
            format!(
                "{:.0}% of the CPU time, and {:.0}% was left",
                100.0 * others,
                100.0 * idle / all
            ),
            "Repeat the run while nothing else runs on the machine. Parallel workers and background processes of the \
             server are among the others.",
        )
        .explains(others.min(waited))
    })
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
    let intervals_during = during.len();
    let (during, without) = (mean(&during), mean(&without));
    evidence += &format!(", {during:.1} tps in these and {without:.1} tps in the others");
    let share = intervals_during as f64 / intervals as f64;
    Some(match during < SLOWED_SHARE * without {
        true => {
            Finding::warning(slowed, evidence, remedy).explains(share * (1.0 - during / without))
        }
        false => Finding::note(happened, evidence, remedy),
    })
}
