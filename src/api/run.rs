//! `bench.run`, `bench.start` and `bench.cancel`.

use super::last;
use super::launch::begin_advised;
use super::live::{is_own, look_at};
use super::progress::{Progress, Ticker};
use super::warnings::{self, advise, remedy};
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::check;
use crate::error::{Error, OrRaise, Result, catch};
use crate::options::Options;
use crate::results::load;
use crate::results::result::run_result;
use crate::run::{RunOptions, RunSpec};
use crate::security;
use crate::server;
use crate::shared::{Phase, Segment};
use crate::state::catalog::own_table;
use crate::state::transaction::InTransaction;
use crate::worker::clients::spi_client;
use crate::worker::launch;
use pgrx::prelude::*;
use selfbench_model::{Reply, Run, RunRecord};
use std::sync::atomic::Ordering::Relaxed;

#[pg_extern(sql = false)]
fn run(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.run_result")> {
    let horizon = call.horizon();
    (|| {
        let options = call.read(RunOptions::take)?;
        let spec = options.check()?;
        warnings::tell_unused_variables(std::iter::once(&spec))?;
        let progress = Progress::of(&options)?;
        let performed = perform(&spec, progress, &horizon);
        call.require_extension()?;
        let record = performed?;
        conclude(&record.run, remedy(&spec, &record.run)?)?;
        warnings::tell_missed_rate(&record.run)?;
        warnings::tell_next(&spec, &record)?;
        Ok(once(run_result(&record.run)?))
    })()
    .or_raise_in(&call)
}

#[pg_extern(sql = false)]
fn start(call: Call<'_>) -> i64 {
    let horizon = call.horizon();
    (|| {
        let options = call.read(RunOptions::take)?;
        detach(&options, &options.check()?, &horizon)
    })()
    .or_raise_in(&call)
}

/// A result as a set of one row. For `SELECT (function(...)).*`, the server calls a set-returning
/// function once, and any other function once per column.
pub(super) fn once<T: 'static>(result: T) -> SetOfIterator<'static, T> {
    SetOfIterator::new(std::iter::once(result))
}

/// Runs a client in this backend, which executes `CALL` at top level.
#[pg_extern(sql = false)]
fn spi_client(segment: Option<i64>, secret: Option<i64>, call: Call<'_>) {
    (|| {
        let segment = check::argument("segment", segment)?;
        let secret = check::argument("secret", secret)?;
        let own = call.at_top_level().ok_or_else(|| Error::Misplaced {
            message: "bench_internal.spi_client can only be called at top level, outside of a \
                      transaction block"
                .into(),
            hint: "This procedure is for internal use by runs.".into(),
        })?;
        spi_client::run_client(own, u32::try_from(segment).unwrap_or(0), secret as u64)
    })()
    .or_raise_in(&call);
}

#[pg_extern(sql = false)]
fn cancel(run_id: Option<i64>) -> bool {
    (|| {
        let run_id = check::argument("run_id", run_id)?;
        let Some(record) = load::load(run_id)? else {
            return Err(Error::UnknownRun { run_id });
        };
        let cancel = |segment: &Segment| {
            // Row-level security hides those of others, unless it does not apply to the caller.
            if !is_own(segment) && !security::is_superuser() {
                return Err(Error::Denied {
                    what: format!("run {run_id}"),
                    hint: "Only the role that started it and superusers may cancel it.".into(),
                });
            }
            launch::cancel(segment);
            Ok(())
        };
        let canceled = look_at(run_id, record.run.segment, cancel);
        Ok(canceled.transpose()?.is_some())
    })()
    .or_raise()
}

/// Starts a run as specified by these options, which continues without the session; returns its ID.
pub(super) fn detach(options: &RunOptions, spec: &RunSpec, horizon: &Horizon) -> Result<i64> {
    if options.progress.is_some() {
        return Err(Error::OptionConflict {
            message: "option \"progress\" needs a call that waits for the run".into(),
            hint: "The call returns when the run has started; bench.progress shows its figures from then on."
                .into(),
        });
    }
    if server::in_recovery() {
        return Err(Error::ReadOnly {
            what: "start a run".into(),
            why: "on a standby, which cannot store its result",
            hint: "Use bench.run, which returns the result.".into(),
        });
    }
    warnings::tell_unused_variables(std::iter::once(spec))?;
    let task = begin_advised(spec)?;
    let waited = task.wait(Phase::Running, horizon, |_| Ok(()));
    last::remember_run(task.segment());
    waited?;
    if let Some(Err(error)) = task.segment().outcome::<Reply>() {
        return Err(error);
    }
    warnings::tell_setup(spec, task.segment());
    warnings::tell_left_teardown(task.segment());
    task.detach();
    Ok(task.segment().header().run_id.load(Relaxed))
}

/// Tells the caller of a run that has ended if it was aborted, or clients waited for most of it.
///
/// # Errors
/// If there are no figures, because no client finished a transaction. Otherwise, it is a warning.
pub(super) fn conclude(run: &Run, hint: Option<String>) -> Result<()> {
    if run.is_void() {
        // Without an aborted client, the first error is that of the run.
        let (message, errors) = match run.errors.split_first() {
            Some((first, others)) if run.aborted_clients == 0 => (first.as_str(), others),
            _ => (
                "no client could finish a transaction",
                run.errors.as_slice(),
            ),
        };
        return Err(Error::AllAborted {
            message: message.into(),
            first: errors.join("\n"),
            hint,
        });
    }
    warnings::tell_errors(run, hint);
    warnings::tell_stalled(run);
    Ok(())
}

/// Runs as specified and waits for the result, even of a run that was aborted: the caller has to
/// [`conclude`].
pub(super) fn perform(spec: &RunSpec, progress: Progress, horizon: &Horizon) -> Result<RunRecord> {
    let table = own_table(InTransaction::current()?, c"runs")?;
    let task = begin_advised(spec)?;
    advise(spec, horizon);
    let mut ticker = Ticker::new(spec, progress);
    let mut told = false;
    let waited = catch(|| {
        Ok(task.wait(Phase::Finished, horizon, |segment| {
            if !told && segment.header().start_ns.load(Relaxed) != 0 {
                warnings::tell_setup(spec, segment);
                warnings::tell_left_teardown(segment);
                told = true;
            }
            ticker.tick(segment);
            Ok(())
        }))
    });
    last::remember_run(task.segment());
    // A cancel of the calling query ends a set, too: it stays an error that is raised.
    waited
        .inspect_err(|error| warnings::tell_canceled(spec, task.segment(), error))
        .or_raise()?;
    ticker.end(task.segment());
    if !told {
        warnings::tell_left_teardown(task.segment());
    }
    let record = match task.outcome()? {
        // Read from the tables, because it may be large, and as their owner, who sees all runs.
        Reply::Stored(run_id) => load::load_any(run_id)?.ok_or(Error::RunDeleted { run_id })?,
        Reply::NotStored(record) => *record,
    };
    // What could not be observed for this reason is not told beside it.
    if own_table(InTransaction::current()?, c"runs")? != table {
        return Err(Error::ExtensionDropped);
    }
    warnings::tell_circumstances(spec, &record.run);
    warnings::tell_not_judged(&record);
    Ok(record)
}
