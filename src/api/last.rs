//! The run or the set that a function shows: the one that its argument names, or else the last one.

use crate::check::argument;
use crate::error::{Error, Result};
use crate::results::load::{first_unknown, last_run_of_caller};
use crate::results::sets;
use crate::server;
use crate::shared::Segment;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The default of arguments that name a run or a set: the last one.
const LAST: i64 = 0;

/// A run that is not stored, on a standby.
const NOT_STORED: i64 = -1;

/// The last run of this session, 0 before its first.
static LAST_RUN: AtomicI64 = AtomicI64::new(0);
/// The last set of this session, 0 before its first.
static LAST_SET: AtomicI64 = AtomicI64::new(0);

/// Remembers a run as the last one of this session, if it has begun.
pub(super) fn remember_run(segment: &Segment) {
    match segment.header().run_id.load(Relaxed) {
        0 if server::in_recovery() => LAST_RUN.store(NOT_STORED, Relaxed),
        0 => {}
        run_id => LAST_RUN.store(run_id, Relaxed),
    }
}

/// Remembers a set as the last one of this session.
pub(super) fn remember_set(set_id: i64) {
    LAST_SET.store(set_id, Relaxed);
}

/// The last run and the last set since the last call, for a process that remembers each once.
pub(super) fn take() -> (Option<i64>, Option<i64>) {
    let stored = |last: &AtomicI64| Some(last.swap(0, Relaxed)).filter(|number| *number > 0);
    (stored(&LAST_RUN), stored(&LAST_SET))
}

/// The number of the run that an argument `run_id` names. NULL is no default: it is what a query finds that
/// finds nothing.
pub(super) fn run(run_id: Option<i64>) -> Result<i64> {
    match argument("run_id", run_id)? {
        LAST => last_run(),
        run_id => Ok(run_id),
    }
}

/// The last run of this session; if it has none that the caller may see, the caller's last one.
///
/// # Errors
/// If there is none, or that of the session is not stored: another run would be taken for it.
pub(super) fn last_run() -> Result<i64> {
    match LAST_RUN.load(Relaxed) {
        NOT_STORED => Err(Error::NoRun),
        of_session if of_session != 0 && first_unknown(&[of_session])?.is_none() => Ok(of_session),
        _ => last_run_of_caller()?.ok_or(Error::NoRun),
    }
}

/// The number of the set that an argument `set_id` names, as [`run`] does for runs.
pub(super) fn set(set_id: Option<i64>) -> Result<i64> {
    match argument("set_id", set_id)? {
        LAST => match LAST_SET.load(Relaxed) {
            of_session if of_session != 0 && sets::is_visible(of_session)? => Ok(of_session),
            _ => sets::last_of_caller()?.ok_or(Error::NoSet),
        },
        set_id => Ok(set_id),
    }
}
