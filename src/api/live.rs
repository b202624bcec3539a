//! A run in progress, as others see it: its segment, if the caller may, and its figures so far.

use crate::clock;
use crate::error::{Error, Result};
use crate::results::load;
use crate::run::RunSpec;
use crate::server;
use crate::shared::ClientState;
use crate::shared::reading;
use crate::shared::{Header, Phase, Segment};
use crate::state::transaction::InTransaction;
use crate::state::{catalog, session};
use pgrx::prelude::*;
use selfbench_model::{Figures, RunRecord, RunState};
use selfbench_stats::{LatencyHistogram, Tally};
use std::sync::atomic::Ordering::Relaxed;

/// Whether row-level security shows the run's row.
fn is_visible(segment: &Segment) -> bool {
    is_own(segment) || InTransaction::current().is_ok_and(|now| !catalog::hides_rows(now, c"runs"))
}

/// Whether the caller is the role that started the run.
pub(super) fn is_own(segment: &Segment) -> bool {
    segment.header().role == session::role().to_u32()
}

/// Passes the segment of a run in progress to `look`, for any caller; `None` if the run is not
/// in progress.
pub(super) fn look_at<T>(
    run_id: i64,
    handle: Option<i64>,
    look: impl FnOnce(&Segment) -> T,
) -> Option<T> {
    Segment::look(u32::try_from(handle?).ok()?, |segment| {
        let header = segment.header();
        let is_it = header.is_run() && header.run_id.load(Relaxed) == run_id && goes_on(segment);
        is_it.then(|| look(segment))
    })?
}

/// Whether a run is in progress, with that segment.
pub(super) fn is_in_progress(run_id: i64, handle: Option<i64>) -> bool {
    look_at(run_id, handle, |_| ()).is_some()
}

/// Whether the run of a segment has not ended.
pub(super) fn goes_on(segment: &Segment) -> bool {
    let header = segment.header();
    header.phase() != Phase::Finished && header.coordinator.pid() != 0
}

/// Whether a run that is stored as in progress, and that the caller may see, may be so: on a standby,
/// its coordinator is on the primary.
#[pg_extern(sql = false)]
fn is_live(run_id: Option<i64>, segment: Option<i64>) -> bool {
    run_id.is_some_and(|id| {
        server::in_recovery() || look_at(id, segment, is_visible).unwrap_or_default()
    })
}

/// A run in progress: phase, seconds since the start barrier opened, transactions, failures,
/// skipped transactions, mean latency in milliseconds; transactions per second and mean latency of
/// the interval that ended last, what most sessions waited for in it, and how many did.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn live_figures(
    run_id: Option<i64>,
    segment: Option<i64>,
) -> TableIterator<
    'static,
    (
        name!(phase, String),
        name!(seconds, Option<f64>),
        name!(transactions, i64),
        name!(failed, i64),
        name!(skipped, i64),
        name!(latency_avg_ms, Option<f64>),
        name!(interval_tps, Option<f64>),
        name!(interval_latency_avg_ms, Option<f64>),
        name!(waits_for, Option<String>),
        name!(waiting_sessions, Option<f64>),
    ),
> {
    let row = run_id.and_then(|run_id| {
        look_at(run_id, segment, |segment| {
            if !is_visible(segment) {
                return None;
            }
            let header = segment.header();
            let tally = reading::read_total(segment);
            let last = header.last_interval.get();
            let (waits_for, waiting) = match header.top_wait.get() {
                Some(top) => (Some(top.name), Some(top.sessions)),
                None => (None, None),
            };
            Some((
                phase(header).to_owned(),
                seconds_since(header.start_ns.load(Relaxed), segment),
                tally.counts.transactions as i64,
                tally.counts.failed() as i64,
                tally.counts.skipped as i64,
                (tally.latency.count > 0).then(|| tally.latency.mean_ms()),
                last.map(|last| last.tps),
                last.and_then(|last| last.latency_avg_ms),
                waits_for,
                waiting,
            ))
        })?
    });
    TableIterator::new(row)
}

fn phase(header: &Header) -> &'static str {
    match header.phase() {
        Phase::Preparing if header.statements_pid.load(Relaxed) != 0 => "setup",
        Phase::Launched | Phase::Preparing => "starting",
        Phase::Running if clock::now_ns() < header.measure_ns.load(Relaxed) => "warming up",
        Phase::Running => "running",
        Phase::Storing | Phase::Finished => "storing",
    }
}

/// Seconds since a clock reading until now, or until the last client ended; `None` if it has not come, or is
/// not known yet.
fn seconds_since(since_ns: u64, segment: &Segment) -> Option<f64> {
    let until_ns = reading::ended_ns(segment).unwrap_or_else(clock::now_ns);
    let passed_ns = until_ns.checked_sub(since_ns)?;
    (since_ns != 0).then_some(passed_ns as f64 / 1e9)
}

/// A run that the caller may see, as [`load`] has it; fails if there is none.
pub(super) fn visible(run_id: i64) -> Result<RunRecord> {
    load(run_id)?.ok_or(Error::UnknownRun { run_id })
}

/// A run that the caller may see, as it is stored; one in progress with its figures so far, and one
/// whose coordinator is gone as lost, whether or not a later run has marked it.
pub(super) fn load(run_id: i64) -> Result<Option<RunRecord>> {
    let in_progress = |found: &&mut RunRecord| found.run.is_in_progress();
    let mut found = load::load(run_id)?;
    let Some(record) = found.as_mut().filter(in_progress) else {
        return Ok(found);
    };
    let looked = look_at(run_id, record.run.segment, |segment| {
        match is_visible(segment) {
            true => add_figures(record, segment),
            false => Ok(()),
        }
    });
    match looked {
        Some(added) => added?,
        // The coordinator of a standby's row is on the primary.
        None if server::in_recovery() => {}
        None => {
            // It may have ended between the two looks.
            found = load::load(run_id)?;
            if let Some(record) = found.as_mut().filter(in_progress) {
                record.run.state = RunState::Lost;
            }
        }
    }
    Ok(found)
}

/// Adds to the stored row of a run in progress what is stored at its end: the scripts, and the
/// figures of this moment.
fn add_figures(found: &mut RunRecord, segment: &Segment) -> Result<()> {
    let run = &mut found.run;
    let spec: RunSpec = segment.spec()?;
    let seconds = seconds_since(segment.header().measure_ns.load(Relaxed), segment);
    let tallies = reading::read_all(segment);
    let histograms = reading::read_latencies(segment);
    let figures = |tally, histogram| Figures::of(tally, histogram, seconds.unwrap_or_default());
    let (mut total, mut all) = (Tally::default(), LatencyHistogram::new());
    found.scripts.clear();
    let clients = spec.clients();
    for (number, script) in spec.scripts.into_iter().enumerate() {
        total.merge(&tallies[number]);
        // The run's end tells if there are too many.
        let _ = all.merge(&histograms[number]);
        let figures = figures(&tallies[number], &histograms[number]);
        found
            .scripts
            .push(script.row(run.run_id, number, figures, tallies[number].above_limit));
    }
    run.figures = figures(&total, &all);
    run.seconds = seconds;
    let heads = || (0..clients).map(|client| segment.client(client).0);
    run.warmup_transactions = heads().map(|head| head.warmup_transactions() as i64).sum();
    let aborted = heads().filter(|head| head.state() == ClientState::Aborted);
    run.aborted_clients = aborted.count() as i32;
    Ok(())
}
