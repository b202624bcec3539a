//! Disturbances: what else used the server and its machine during a run, and does not belong to what it
//! measures. The nights of a trend that have one do not count.

use super::Finding;
use crate::number::counted;
use selfbench_model::{Run, ServerMoment};
use selfbench_stats::summary;

/// A snapshot that is held for a smaller part of the run does not matter much.
const HELD_SHARE: f64 = 0.1;
/// Fraction of the throughput that an old snapshot, or another run, may take: a guess.
const OLD_SNAPSHOT: f64 = 0.3;
const OTHER_RUN: f64 = 0.3;
/// Time that the hypervisor took, as a fraction of the time of all CPUs.
const STEAL_SHARE: f64 = 0.02;
/// Other sessions that are active in fewer intervals are an accident.
const OTHERS_SHARE: f64 = 0.2;

/// The disturbances of a run, of whose server these moments are known.
pub fn disturbances(run: &Run, moments: &[ServerMoment]) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(held_snapshot(run));
    all.extend(other_runs(run));
    all.extend(steal(moments));
    all.extend(other_sessions(moments));
    all
}

/// Effect of an old snapshot that was held for a considerable part of the run.
fn held_snapshot(run: &Run) -> Option<Finding> {
    let (held_s, by) = (run.snapshot_held_s?, run.snapshot_held_by.as_ref()?);
    let seconds = run.seconds.unwrap_or(0.0);
    (held_s > HELD_SHARE * seconds).then(|| {
        Finding::warning(
            "a snapshot kept dead rows: figures may be several times too low",
            format!("a snapshot was held for {held_s:.1} s of {seconds:.1} s (held by {by})"),
            "Rows that died during the run could not be removed. End the transaction or drop the \
             slot, and repeat the run; roles with privileges of pg_read_all_stats are told which \
             session it is. SELECT ... FROM bench.run(...) at top level holds no snapshot.",
        )
        .explains(OLD_SNAPSHOT * held_s / seconds)
    })
}

fn other_runs(run: &Run) -> Option<Finding> {
    (run.other_runs > 0).then(|| {
        Finding::warning(
            "this run and others slowed each other down",
            match run.other_runs {
                1 => "another run was in progress on this server at the same time".into(),
                runs => {
                    format!("{runs} other runs were in progress on this server at the same time")
                }
            },
            "Execute one run after the other; bench.wait waits for a run.",
        )
        .explains(OTHER_RUN)
    })
}

fn steal(moments: &[ServerMoment]) -> Option<Finding> {
    let sum = |of: fn(&ServerMoment) -> Option<f64>| moments.iter().filter_map(of).sum::<f64>();
    let share = summary::ratio(
        sum(|moment| moment.cpu_steal_ms),
        sum(|moment| moment.cpu_ms),
    )?;
    (share > STEAL_SHARE).then(|| {
        Finding::warning(
            "other virtual machines took CPU time",
            format!("steal time: {:.1}% of the time of all CPUs", 100.0 * share),
            "Repeat the run at another time, or on a machine of its own.",
        )
        .explains(share)
    })
}

fn other_sessions(moments: &[ServerMoment]) -> Option<Finding> {
    let known: Vec<f64> = moments
        .iter()
        .filter_map(|moment| moment.other_sessions)
        .collect();
    let active = known.iter().filter(|sessions| **sessions > 0.0).count();
    let share = summary::ratio(active as f64, known.len() as f64)?;
    let most = known.iter().copied().fold(0.0, f64::max);
    (share > OTHERS_SHARE).then(|| {
        Finding::warning(
            "other sessions were active",
            format!(
                "in {:.0}% of the intervals, up to {}",
                100.0 * share,
                counted(most, "session")
            ),
            "Repeat the run when nobody else uses the server; bench.run_server_intervals shows when \
             they were active.",
        )
    })
}
