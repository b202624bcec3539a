//! Finding about the harness: how much of the time is its own.

use super::Finding;
use selfbench_model::{Mode, Run};

/// Share of used time from which on client workers are the limit, in mode libpq.
const BUSY_SHARE: f64 = 0.9;
/// Share of the clients' time from which on the harness shows in the figures, in mode spi.
const OUTSIDE_SHARE: f64 = 0.2;

pub(super) fn finding(run: &Run) -> Option<Finding> {
    match (run.mode, run.overhead_share) {
        (Mode::Libpq, Some(share)) if share > BUSY_SHARE => Some(Finding::warning(
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
        (Mode::Spi, Some(share)) if share > OUTSIDE_SHARE => Some(Finding::warning(
            "the clients spent much time outside of executor and commit",
            format!("{:.0}% of their time", 100.0 * share),
            "The script's meta commands take much of the time: replace them with a statement, or \
             compare with a run of the meta commands alone.",
        )
        .explains(share - OUTSIDE_SHARE)),
        _ => None,
    }
}
