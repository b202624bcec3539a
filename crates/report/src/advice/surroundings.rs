//! Findings about what ran beside a run: snapshots, other runs, the harness.

use super::Finding;
use selfbench_model::{Mode, Run, RunRecord};

/// Share of used time from which on client workers are the limit, in mode libpq.
const BUSY_SHARE: f64 = 0.9;
/// Share of the clients' time from which on the harness shows in the figures, in mode spi.
const OUTSIDE_SHARE: f64 = 0.2;
/// A snapshot that is held for a smaller part of the run does not matter much.
const HELD_SHARE: f64 = 0.1;

pub(super) fn findings(record: &RunRecord) -> Vec<Finding> {
    let run = &record.run;
    let mut all = Vec::new();
    all.extend(held_snapshot(run));
    if run.other_runs > 0 {
        all.push(Finding::warning(
            "this run and others slowed each other down",
            match run.other_runs {
                1 => "another run was in progress on this server at the same time".into(),
                runs => {
                    format!("{runs} other runs were in progress on this server at the same time")
                }
            },
            "Execute one run after the other; bench.wait waits for a run.",
        ));
    }
    match (run.mode, run.overhead_share) {
        (Mode::Libpq, Some(share)) if share > BUSY_SHARE => all.push(Finding::warning(
            "the client workers, not the server, may have limited the run",
            format!("they were busy for {:.0}% of the time", 100.0 * share),
            if run.workers < run.clients {
                "Use more workers and jobs, if there are idle processors, or run from another \
                 server with target."
            } else {
                "Each client already has its own worker: run from another server with target, or \
                 use mode => 'spi'."
            },
        )),
        (Mode::Spi, Some(share)) if share > OUTSIDE_SHARE => all.push(Finding::warning(
            "the clients spent much time outside of executor and commit",
            format!("{:.0}% of their time", 100.0 * share),
            "The script's meta commands take much of the time: replace them with a statement, or \
             compare with a run of the meta commands alone.",
        )),
        _ => {}
    }
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
    })
}
