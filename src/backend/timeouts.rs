//! The server's timeouts of statements.

use pgrx::pg_sys;
use rustix::process::Signal;
use std::sync::OnceLock;

/// Number of one of the server's timeouts.
pub type TimeoutId = std::ffi::c_uint;
/// The timeout of `statement_timeout`; the same number in all supported versions.
pub const STATEMENT_TIMEOUT: TimeoutId = 3;
/// The timeout of `lock_timeout`; the same number in all supported versions.
const LOCK_TIMEOUT: TimeoutId = 2;
/// At least the least number of a timeout of an extension, in all supported versions; the server chooses one.
const ANY_OF_EXTENSION: TimeoutId = 13;
/// Time for a statement to end after its timeout has canceled it, before this process ends.
const GRACE_MS: i32 = 5_000;

/// Whether one of the timeouts that cancel a statement has come, and the statement has not ended
/// yet. May be called in a signal handler.
pub fn statement_has_timed_out() -> bool {
    has_come(LOCK_TIMEOUT) || has_come(STATEMENT_TIMEOUT)
}

/// Whether a timeout has come, and the statement has not ended yet. May be called in a signal handler.
pub fn has_come(id: TimeoutId) -> bool {
    unsafe extern "C-unwind" {
        /// Whether a timeout has come. Raises no error.
        fn get_timeout_indicator(id: TimeoutId, reset: bool) -> bool;
    }
    // SAFETY: reads a flag of this process.
    unsafe { get_timeout_indicator(id, false) }
}

/// Arms the timeout of a statement, at its beginning.
#[inline]
pub fn arm_statement() {
    // SAFETY: a setting of this process; raises no error.
    unsafe {
        if pg_sys::StatementTimeout > 0 {
            enable_timeout_after(STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
        }
    }
}

/// Arms it for at most that time. A function of the statement can catch the error and go on: then this process ends a
/// while later, until [`disarm_end`].
pub fn arm_at_most(limit_ms: i32) {
    // SAFETY: as above.
    unsafe {
        let delay_ms = match pg_sys::StatementTimeout {
            0 => limit_ms,
            own => own.min(limit_ms),
        };
        enable_timeout_after(STATEMENT_TIMEOUT, delay_ms);
        enable_timeout_after(end_timeout(), delay_ms.saturating_add(GRACE_MS));
    }
}

/// Disarms the end of this process.
pub fn disarm_end() {
    // SAFETY: a timeout that is registered.
    unsafe { disable_timeout(end_timeout(), false) };
}

/// The number of the timeout that ends this process as SIGTERM does.
fn end_timeout() -> TimeoutId {
    static NUMBER: OnceLock<TimeoutId> = OnceLock::new();
    unsafe extern "C-unwind" fn end() {
        // SAFETY: the server's own handler of SIGTERM; that of a timeout is called by a signal, too.
        unsafe { pg_sys::die(Signal::TERM.as_raw()) };
    }
    // SAFETY: once in a process, which has initialized its timeouts.
    *NUMBER.get_or_init(|| unsafe { RegisterTimeout(ANY_OF_EXTENSION, end) })
}

/// Disarms it at the end of the statement. Does not depend on the current setting: the statement may have
/// changed it, and its failure may have reset it.
#[inline]
pub fn disarm_statement() {
    // SAFETY: as above.
    unsafe {
        if pg_sys::StatementTimeout > 0 || get_timeout_active(STATEMENT_TIMEOUT) {
            disable_timeout(STATEMENT_TIMEOUT, false);
        }
    }
}

unsafe extern "C-unwind" {
    /// Adds a timeout, and returns its number. Raises an error if there are too many.
    fn RegisterTimeout(id: TimeoutId, handler: unsafe extern "C-unwind" fn()) -> TimeoutId;
    /// Arms one of the server's timeouts, in milliseconds. Raises no error.
    fn enable_timeout_after(id: TimeoutId, delay_ms: std::ffi::c_int);
    /// Disarms one of the server's timeouts. Raises no error.
    pub fn disable_timeout(id: TimeoutId, keep_indicator: bool);
    /// Whether one of the server's timeouts is armed. Raises no error.
    fn get_timeout_active(id: TimeoutId) -> bool;
}
