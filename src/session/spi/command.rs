//! The transaction command around a statement: what a backend does before and after it.

use super::meter::{self, Part};
use crate::backend::interrupts;
use crate::backend::{timeouts, unguarded};
use crate::error::Result;
use crate::latch;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// The state of this process's transaction command.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandState {
    /// Whether it has been started and not finished.
    pub(super) started: bool,
    /// Whether it stays open after the statement, because a pipeline is open.
    pub(super) stays: bool,
    /// When statistics were last reported.
    pub(super) reported: pg_sys::TimestampTz,
    /// The statement that the activity view shows, by its address, and since when.
    pub(super) shown: Option<(usize, pg_sys::TimestampTz)>,
}

impl CommandState {
    /// Shows a statement that has just started in the activity view, unless the view has shown it
    /// for less than a millisecond: hundreds of short statements fit in that time, and a report
    /// would be a considerable part of each.
    ///
    /// # Safety
    /// Within a guard; see [`unguarded`].
    #[inline]
    pub(super) unsafe fn show(&mut self, text: &CString) {
        const STALE_US: pg_sys::TimestampTz = 1000;
        // SAFETY: reads a variable.
        let now = unsafe { unguarded::GetCurrentStatementStartTimestamp() };
        let place = text.as_ptr() as usize;
        match self.shown {
            Some((shown, since)) if shown == place && now - since < STALE_US => {}
            _ => {
                // SAFETY: the text ends in a zero byte, and is copied.
                unsafe {
                    unguarded::pgstat_report_activity(
                        pg_sys::BackendState::STATE_RUNNING,
                        text.as_ptr(),
                    );
                }
                self.shown = Some((place, now));
            }
        }
    }
}

/// One statement as a backend runs it: start command, body, finish command; within a pipeline the
/// command stays open.
#[inline]
pub(super) fn in_statement<const PARTS: bool>(
    text: &CStr,
    state: &mut CommandState,
    body: impl FnOnce() -> Result<()>,
) -> Result<()> {
    // SAFETY: the sequence of the server's own statement loop, in a process that runs no other
    // statement. An error leaves to `submit`, which aborts.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr());
        pg_sys::debug_query_string = text.as_ptr();
        state.shown = None;
        if !state.started {
            latch::forget_cancel();
            pg_sys::StartTransactionCommand();
            state.started = true;
        }
        timeouts::arm_statement();
        meter::enter::<PARTS>(Part::Plan);
        body()?;
        meter::enter::<PARTS>(Part::Statement);
        timeouts::disarm_statement();
        if state.stays {
            pg_sys::CommandCounterIncrement();
            return Ok(());
        }
        meter::enter::<PARTS>(Part::Commit);
        pg_sys::CommitTransactionCommand();
        meter::enter::<PARTS>(Part::Statement);
        state.started = false;
    }
    end_statement(state);
    Ok(())
}

/// Does what a backend does when it is ready for the next statement. It does not wait for one, so
/// that idleness is reported only by [`SpiSession::rest`](super::SpiSession::rest). There are no
/// notifications, since no client of mode spi can LISTEN.
#[inline]
pub(super) fn end_statement(state: &mut CommandState) {
    /// The server accepts reports at most this often.
    const REPORT_EVERY_US: pg_sys::TimestampTz = 1_000_000;
    // SAFETY: between statements. Only the report may raise an error, and it has a guard.
    unsafe {
        timeouts::disarm_statement();
        // The text may be freed from here on.
        pg_sys::debug_query_string = std::ptr::null();
        if !unguarded::IsTransactionOrTransactionBlock() {
            let now = unguarded::GetCurrentStatementStartTimestamp();
            if now - state.reported >= REPORT_EVERY_US {
                state.reported = now;
                pg_sys::pgstat_report_stat(false);
            }
        }
    }
    // A committed statement must not be reported as canceled.
    interrupts::check_between_statements();
}
