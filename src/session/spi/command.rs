//! The transaction command around a statement, and what a backend does at its beginning and end.

use crate::backend::interrupts;
use crate::compat::{self, unguarded};
use crate::error::Result;
use crate::latch;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// How far the transaction command of this process has come.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandState {
    /// Whether it has been started and not been finished.
    pub(super) started: bool,
    /// Whether it is to stay so after a statement, since a pipeline is open.
    pub(super) stays: bool,
    /// When statistics were last reported.
    pub(super) reported: pg_sys::TimestampTz,
    /// The statement that the activity view shows, by its place, and since when.
    pub(super) shown: Option<(usize, pg_sys::TimestampTz)>,
}

impl CommandState {
    /// Shows a statement that has just begun in the activity view, unless it shows that one since
    /// less than a millisecond: short statements come by hundreds in that time, and each report
    /// takes as long as several of their parts.
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
pub(super) fn in_statement(
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
        arm_statement_timeout();
        body()?;
        disarm_statement_timeout();
        if state.stays {
            pg_sys::CommandCounterIncrement();
            return Ok(());
        }
        pg_sys::CommitTransactionCommand();
        state.started = false;
    }
    end_statement(state);
    Ok(())
}

/// # Safety
/// At the beginning of a statement.
#[inline]
pub(super) unsafe fn arm_statement_timeout() {
    // SAFETY: the caller's promise; raises no error.
    unsafe {
        if pg_sys::StatementTimeout > 0 {
            compat::enable_timeout_after(compat::STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
        }
    }
}

/// Whatever the setting is by now: the statement may have changed it, and its failure may have set
/// it back.
///
/// # Safety
/// At the end of a statement.
#[inline]
pub(super) unsafe fn disarm_statement_timeout() {
    // SAFETY: the caller's promise; raises no error.
    unsafe {
        if pg_sys::StatementTimeout > 0 || compat::get_timeout_active(compat::STATEMENT_TIMEOUT) {
            compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
        }
    }
}

/// What a backend does when it is ready for the next statement. There is no wait for it, and
/// nothing to report, unless the client says so: see [`SpiSession::rest`]. No notifications come,
/// since no client of mode spi can LISTEN.
#[inline]
pub(super) fn end_statement(state: &mut CommandState) {
    /// As often as the server takes them, at most.
    const REPORT_EVERY_US: pg_sys::TimestampTz = 1_000_000;
    // SAFETY: between statements. Only the report may raise an error, and it has a guard.
    unsafe {
        disarm_statement_timeout();
        // The text may go.
        pg_sys::debug_query_string = std::ptr::null();
        if !unguarded::IsTransactionOrTransactionBlock() {
            let now = unguarded::GetCurrentStatementStartTimestamp();
            if now - state.reported >= REPORT_EVERY_US {
                state.reported = now;
                pg_sys::pgstat_report_stat(false);
            }
        }
    }
    // What has committed must not be reported as canceled.
    interrupts::check_between_statements();
}
