//! Text of this process in `pg_stat_activity`: what it does for its task or, if it has none to
//! show, its statement.

use pgrx::pg_sys;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether this process shows what it does for its task.
static SHOWS_TASK: AtomicBool = AtomicBool::new(false);

/// Shows this process as active with that text, until the next call. Statements and transactions of
/// its own change neither.
pub fn show(text: String) {
    SHOWS_TASK.store(true, Relaxed);
    report(&CString::new(text).unwrap_or_default());
}

/// Shows this process as active with that statement.
pub fn running(statement: &CStr) {
    if !SHOWS_TASK.load(Relaxed) {
        report(statement);
    }
}

/// Shows this process as idle; its last statement stays.
pub fn idle() {
    if !SHOWS_TASK.load(Relaxed) {
        // SAFETY: no text.
        unsafe {
            pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null());
        }
    }
}

/// Runs `body`, whose statements this process does not show: what it shows remains.
pub fn unchanged<T>(body: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHOWS_TASK.store(self.0, Relaxed);
        }
    }
    let _restore = Restore(SHOWS_TASK.swap(true, Relaxed));
    body()
}

fn report(text: &CStr) {
    // SAFETY: the text ends in a zero byte, and is copied.
    unsafe { pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr()) };
}
