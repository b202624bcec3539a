//! What makes the figures of a run doubtful, as far as that is certain.

use crate::pgio::WorkingSet;
use selfbench_model::{Mode, Run, RunRecord, RunState};
use selfbench_stats::summary;

/// In mode libpq: client workers that used more of the time that they had were the limit.
const BUSY_SHARE: f64 = 0.9;
/// In mode spi: a harness that takes more of the clients' time shows in the figures.
const OUTSIDE_SHARE: f64 = 0.2;
/// Shorter runs say more about their beginning than about anything else.
const SHORT_SECONDS: f64 = 10.0;
/// Fewer transactions have no percentiles to speak of.
const FEW_TRANSACTIONS: u64 = 100;
/// More transactions in a hundred that did not succeed are not an accident.
const LOST_PERCENT: f64 = 1.0;

/// Rates that are missed by more do not do so by chance.
const MISSED_SHARE: f64 = 0.05;
/// Arrivals are random: their number deviates by more than this many standard deviations, the square
/// root of it, in one of a thousand runs.
const DEVIATIONS: f64 = 3.0;

/// Transactions per second that were begun or skipped, and that were to be, of a run that missed its
/// rate.
fn missed_rate(run: &Run) -> Option<(f64, f64)> {
    let wanted = run.rate?;
    let all = run.seconds.unwrap_or(0.0);
    // The last transactions may end long after the last one was due.
    let seconds = match (run.transactions_per_client, run.duration_s) {
        (None, Some(seconds)) => seconds.min(all),
        _ => all,
    };
    let (due, done) = (wanted * seconds, run.figures.counts.total() as f64);
    let missed = due - done;
    (missed > MISSED_SHARE * due && missed > DEVIATIONS * due.sqrt())
        .then(|| (done / seconds, wanted))
}

/// What an old snapshot did to the run, if it was held for more than a tenth of it.
pub(crate) fn held_snapshot(run: &Run) -> Option<String> {
    let (held_s, by) = (run.snapshot_held_s?, run.snapshot_held_by.as_ref()?);
    let seconds = run.seconds.unwrap_or(0.0);
    (held_s > 0.1 * seconds).then(|| {
        format!(
            "a snapshot was held for {held_s:.1} s of {seconds:.1} s: figures may be several times \
             too low (held by {by})"
        )
    })
}

/// One reason for doubt, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advice {
    /// What is doubtful, with the figures that say so.
    pub advice: String,
    /// What to do.
    pub hint: String,
}

/// All reasons for doubt, the gravest first; none is no proof that all is well.
///
/// `setting` gives a server setting under which the run took place, in its text form, or `None` if
/// that is not known.
pub fn advice<'s>(record: &RunRecord, setting: impl Fn(&str) -> Option<&'s str>) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut add = |advice: String, hint: &str| {
        all.push(Advice {
            advice,
            hint: hint.to_owned(),
        });
    };
    let run = &record.run;
    let figures = &run.figures;
    let counts = &figures.counts;
    let seconds = run.seconds.unwrap_or(0.0);

    match run.state {
        RunState::Finished => {}
        RunState::Starting | RunState::Running => {
            add(
                "the run is still in progress".into(),
                "Wait for it with bench.wait.",
            );
            return all;
        }
        RunState::Canceled | RunState::Failed | RunState::Lost => add(
            format!(
                "the run {}",
                if run.state == RunState::Canceled {
                    "was canceled"
                } else {
                    "failed"
                }
            ),
            "Check the errors in its report, and repeat the run.",
        ),
    }
    if run.aborted_clients > 0 {
        add(
            format!("{} of {} clients aborted", run.aborted_clients, run.clients),
            "Check the errors in its report. With continue_on_error, an error ends only the \
             transaction.",
        );
    }
    if let Some(held) = held_snapshot(run) {
        add(
            held,
            "Rows that died during the run could not be removed. End the transaction or drop the \
             slot that is named, and repeat the run; SELECT ... FROM bench.run(...) at top level \
             holds no snapshot.",
        );
    }
    if run.other_runs > 0 {
        let runs = match run.other_runs {
            1 => "another run was".into(),
            runs => format!("{runs} other runs were"),
        };
        add(
            format!(
                "{runs} in progress on this server at the same time: the runs slowed each other down"
            ),
            "Execute one run after the other; bench.wait waits for a run.",
        );
    }
    match (run.mode, run.harness_share) {
        (Mode::Libpq, Some(share)) if share > BUSY_SHARE => add(
            format!(
                "the client workers were busy for {:.0}% of the time: they, not the server, may \
                 have limited the run",
                100.0 * share
            ),
            if run.workers < run.clients {
                "Use more workers and jobs, if there are idle processors, or run from another \
                 server with target."
            } else {
                "Each client already has its own worker: run from another server with target, or \
                 use mode => 'spi'."
            },
        ),
        (Mode::Spi, Some(share)) if share > OUTSIDE_SHARE => add(
            format!(
                "the clients spent {:.0}% of their time outside of executor and commit",
                100.0 * share
            ),
            "The script's meta commands take much of the time: replace them with a statement, or \
             compare with a run of the meta commands alone.",
        ),
        _ => {}
    }
    if counts.transactions < FEW_TRANSACTIONS {
        add(
            format!("only {} transactions were measured", counts.transactions),
            "Run it for a longer time: percentiles need many transactions.",
        );
    }
    if seconds < SHORT_SECONDS {
        add(
            format!("the run took only {:.1} s", seconds),
            "Run it for at least 10 s, or longer to include checkpoints and autovacuum.",
        );
    }
    for (what, count, hint) in [
        (
            "failed",
            counts.failed(),
            "The figures do not include failed transactions: raise max_tries, or show their \
             errors with verbose_errors.",
        ),
        (
            "were skipped",
            counts.skipped,
            "The server does not keep up with the rate within the latency limit: lower the rate.",
        ),
    ] {
        let percent = summary::percent(count, counts.total());
        if percent > LOST_PERCENT {
            add(format!("{percent:.1}% of the transactions {what}"), hint);
        }
    }
    if let Some((done, wanted)) = missed_rate(run) {
        add(
            format!(
                "the rate was missed by {:.0}%: {done:.1} instead of {wanted:.1} transactions per \
                 second",
                100.0 * (1.0 - done / wanted)
            ),
            "The clients did not keep up: use more clients, or a lower rate. Latency counts from \
             the scheduled start, so it includes the delay.",
        );
    }
    if let Some(processors) = run.processors
        && run.mode == Mode::Spi
        && run.clients > processors
        && run.rate.is_none()
        && figures.sleep_avg_ms.unwrap_or(0.0) * counts.transactions as f64
            <= figures.latency_sum_ms / 2.0
    {
        add(
            format!(
                "{} clients of mode spi shared {processors} {}: latency includes the time that \
                 they waited for a processor",
                run.clients,
                if processors == 1 {
                    "processor"
                } else {
                    "processors"
                }
            ),
            "Use at most as many clients as processors, or a rate. More clients help only if \
             transactions wait for locks or for the disk.",
        );
    }
    let is = |name: &str| {
        record
            .scripts
            .iter()
            .any(|script| script.weight > 0 && script.description == name)
    };
    if is("<builtin: TPC-B (sort of)>") && run.scale < i64::from(run.clients) {
        add(
            format!(
                "the scale, {}, is smaller than the number of clients, {}: clients wait for each \
                 other's locks on rows of pgbench_branches",
                run.scale, run.clients
            ),
            "Initialize with a scale of at least the number of clients.",
        );
    }
    let reads_only = record
        .scripts
        .iter()
        .all(|script| script.weight == 0 || script.description == "<builtin: select only>");
    for (name, doubtful, advice, hint) in [
        (
            "fsync",
            !reads_only,
            "fsync was off: commits did not wait for the disk",
            "Set fsync = on; without it, a crash can corrupt the database.",
        ),
        (
            "full_page_writes",
            !reads_only,
            "full_page_writes was off: the server wrote less WAL than in a safe configuration",
            "Set full_page_writes = on, unless the storage prevents torn pages.",
        ),
        (
            "synchronous_commit",
            !reads_only,
            "synchronous_commit was off: commits did not wait for the disk",
            "Compare it only with runs with the same setting, or SET synchronous_commit = on.",
        ),
    ] {
        if doubtful && setting(name) == Some("off") {
            add(advice.into(), hint);
        }
    }
    if let Some(measured) = record
        .pgio
        .as_ref()
        .and_then(|pgio| WorkingSet::of(pgio).what_is_measured())
    {
        add(
            measured,
            "To measure storage, use tables that are larger than the memory, or a larger \
             working_set_pct.",
        );
    }
    if setting("debug_assertions") == Some("on") {
        add(
            "the server checks assertions".into(),
            "Use a server that was built without --enable-cassert; assertions make it much slower.",
        );
    }
    all
}
