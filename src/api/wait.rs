//! `bench.wait`: waiting for a run that another session may have started.

use super::live;
use super::run::{conclude, once};
use super::warnings::advise;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::interrupts::check_for_interrupts;
use crate::check;
use crate::clock;
use crate::error::{Error, Result};
use crate::latch::{self, WaitEvent};
use crate::results::result::run_result;
use crate::server;
use crate::shared::Segment;
use crate::worker::locks::DeadlockCheck;
use crate::worker::own_segment;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use selfbench_model::{RunRecord, RunState};
use std::time::Duration;

/// A caller that polls with a timeout up to this one, each time in a new transaction, does not
/// affect the run.
const HARMLESS_NS: u64 = 1_000_000_000;
/// Period of `bench.wait`'s checks whether the run has ended.
const TICK: Duration = Duration::from_millis(100);

#[pg_extern(sql = false)]
fn wait(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.run_result")> {
    let horizon = call.horizon();
    let ended = (|| {
        let (run_id, timeout) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<i64>>("run_id")?,
                arguments.take::<Option<Interval>>("timeout")?,
            ))
        })?;
        let run_id = check::argument("run_id", run_id)?;
        let limit = match &timeout {
            None => None,
            Some(timeout) => Some(check::duration("timeout", timeout, true)? as u64 * 1000),
        };
        let ended = await_end(run_id, limit, &horizon);
        call.require_extension()?;
        let run = ended?.run;
        if !run.is_in_progress() {
            conclude(&run, None)?;
        }
        run_result(&run)
    })();
    once(ended.or_raise_in(&call))
}

/// Waits until a run has ended, or for that many nanoseconds; returns the current state of the run.
pub(super) fn await_end(run_id: i64, limit: Option<u64>, horizon: &Horizon) -> Result<RunRecord> {
    let begin = clock::now_ns();
    let found = load_run(run_id)?;
    if !found.run.is_in_progress() {
        return Ok(found);
    }
    if found.run.segment.is_some() && found.run.segment == own_segment() {
        return Err(Error::Misplaced {
            message: format!("a client of run {run_id} cannot wait for the run"),
            hint: "Wait for it in another session.".into(),
        });
    }
    if server::in_recovery() {
        return Err(Error::Misplaced {
            message: format!("run {run_id} is in progress on the primary"),
            hint: "Wait for it there.".into(),
        });
    }
    let wait = |segment: &Segment| -> Result<()> {
        let mut advised = false;
        let mut deadlock_check = DeadlockCheck::new();
        while live::goes_on(segment) {
            let waited = clock::now_ns() - begin;
            if !advised && waited >= HARMLESS_NS {
                advised = true;
                advise(&segment.spec()?, horizon);
            }
            deadlock_check.check(segment)?;
            if limit.is_some_and(|limit| waited >= limit) {
                break;
            }
            latch::end_without_client();
            check_for_interrupts();
            horizon.release();
            latch::wait(TICK, WaitEvent::Task);
        }
        Ok(())
    };
    live::look_at(run_id, found.run.segment, wait).transpose()?;
    load_run(run_id)
}

/// A run that the caller may see; fails if it is lost.
fn load_run(run_id: i64) -> Result<RunRecord> {
    let found = live::visible(run_id)?;
    match found.run.state {
        RunState::Lost => Err(Error::LostRun { run_id }),
        _ => Ok(found),
    }
}
