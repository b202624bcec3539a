//! `bench.run`, `bench.start` and `bench.cancel`.

use super::arguments::Arguments;
use super::launch::begin_advised;
use super::live::live_segment;
use super::progress::{Progress, Ticker};
use super::result::{self, run_result};
use super::warnings::{advise, remedy, warn};
use crate::backend::horizon::Horizon;
use crate::backend::transaction;
use crate::check;
use crate::error::{Error, OrRaise, Result};
use crate::results::store;
use crate::run::RunSpec;
use crate::server;
use crate::shared::Phase;
use crate::worker::{launch, spi_client};
use pgrx::pg_sys;
use pgrx::prelude::*;
use selfbench_model::{Finished, Reply};
use std::sync::atomic::Ordering::Relaxed;

#[pg_extern(sql = false)]
fn run(
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.run_result")> {
    // SAFETY: the server passes the information on this call.
    let (horizon, mut arguments) =
        unsafe { (Horizon::of_call(fcinfo), Arguments::of_call(fcinfo)) };
    let options = arguments.take_run_options();
    (|| {
        let spec = options.check()?;
        let progress = Progress {
            every_us: options.progress_us()?,
            ..Progress::default()
        };
        let finished = perform(&spec, progress, &horizon)?;
        require_transactions(&spec, &finished)?;
        Ok(once(run_result(&finished)?))
    })()
    .or_raise()
}

#[pg_extern(sql = false)]
fn start(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    // SAFETY: the server passes the information on this call.
    let (horizon, mut arguments) =
        unsafe { (Horizon::of_call(fcinfo), Arguments::of_call(fcinfo)) };
    let options = arguments.take_run_options();
    (|| detach(&options.check()?, &horizon))().or_raise()
}

/// A result as a set of one row. For `SELECT (function(...)).*`, the server calls a set-returning
/// function once, and any other function once per column.
pub(super) fn once<T: 'static>(result: T) -> SetOfIterator<'static, T> {
    SetOfIterator::new(std::iter::once(result))
}

/// Runs a client in this backend, which executes `CALL` at top level.
#[pg_extern(sql = false)]
fn spi_client(segment: Option<i64>, secret: Option<i64>, fcinfo: pg_sys::FunctionCallInfo) {
    (|| {
        let segment = check::argument("segment", segment)?;
        let secret = check::argument("secret", secret)?;
        // SAFETY: the server passes the information on this call.
        if !unsafe { transaction::may_leave_call(fcinfo) } {
            return Err(Error::Misplaced {
                message: "bench_internal.spi_client can only be called at top level, outside of a \
                          transaction block"
                    .into(),
                hint: "This procedure is for internal use by runs.".into(),
            });
        }
        spi_client::serve(u32::try_from(segment).unwrap_or(0), secret as u64)
    })()
    .or_raise();
}

#[pg_extern(sql = false)]
fn cancel(run_id: Option<i64>) -> bool {
    (|| {
        let run_id = check::argument("run_id", run_id)?;
        // Row-level security determines which runs the caller can cancel.
        let Some(finished) = store::load(run_id)? else {
            return Err(Error::UnknownRun { run_id });
        };
        let Some(segment) = live_segment(run_id, finished.run.segment) else {
            return Ok(false);
        };
        launch::cancel(&segment);
        Ok(true)
    })()
    .or_raise()
}

/// Starts a run as specified, which continues without the session; returns its ID.
pub(super) fn detach(spec: &RunSpec, horizon: &Horizon) -> Result<i64> {
    if server::in_recovery() {
        return Err(Error::ReadOnly {
            what: "start a run".into(),
            why: "on a standby, which cannot store its result",
            hint: "Use bench.run, which returns the result.".into(),
        });
    }
    let task = begin_advised(spec)?;
    let waited = task.wait(Phase::Running, horizon, |_| Ok(()));
    result::remember(task.segment());
    waited?;
    if let Some(Err(error)) = task.segment().outcome::<Reply>() {
        return Err(error);
    }
    task.detach();
    Ok(task.segment().header().run_id.load(Relaxed))
}

/// Fails if no client finished a transaction, so that there are no figures.
pub(super) fn require_transactions(spec: &RunSpec, finished: &Finished) -> Result<()> {
    let run = &finished.run;
    if run.state == "failed" && run.figures.transactions == 0 {
        return Err(Error::AllAborted {
            message: "no client could finish a transaction".into(),
            first: run.errors.first().cloned().unwrap_or_default(),
            hint: remedy(spec),
        });
    }
    Ok(())
}

/// Runs as specified and waits for the result, even of a failed run.
pub(super) fn perform(spec: &RunSpec, progress: Progress, horizon: &Horizon) -> Result<Finished> {
    let task = begin_advised(spec)?;
    advise(spec, horizon);
    let mut ticker = Ticker::new(spec, progress);
    let waited = task.wait(Phase::Finished, horizon, |segment| {
        ticker.tick(segment);
        Ok(())
    });
    result::remember(task.segment());
    waited?;
    ticker.end(task.segment());
    let finished = match task.outcome()? {
        // Read from the tables, because it may be large, and as their owner, who sees all runs.
        Reply::Stored(run_id) => store::load_any(run_id)?.ok_or(Error::RunDeleted { run_id })?,
        Reply::NotStored(finished) => *finished,
    };
    warn(spec, &finished);
    Ok(finished)
}
