//! Text of this process in `pg_stat_activity`: what it does for its task or, if it has none to
//! show, its statement.

use pgrx::pg_sys::{self, BackendState};
use scopeguard::defer;
use std::ffi::{CStr, CString};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether this process shows what it does for its task.
static SHOWS_TASK: AtomicBool = AtomicBool::new(false);

/// Shows this process as active with that text, until the next call. Statements and transactions of
/// its own change neither.
pub fn show(text: String) {
    SHOWS_TASK.store(true, Relaxed);
    let text = CString::new(text).unwrap_or_default();
    report(BackendState::STATE_RUNNING, Some(&text));
}

/// Shows this process as active with that statement.
pub fn running(statement: &CStr) {
    if !SHOWS_TASK.load(Relaxed) {
        report(BackendState::STATE_RUNNING, Some(statement));
    }
}

/// Shows this process as idle; its last statement stays.
pub fn idle() {
    if !SHOWS_TASK.load(Relaxed) {
        report(BackendState::STATE_IDLE, None);
    }
}

/// Runs `body`, whose statements this process does not show: what it shows remains.
pub fn unchanged<T>(body: impl FnOnce() -> T) -> T {
    let before = SHOWS_TASK.swap(true, Relaxed);
    defer!(SHOWS_TASK.store(before, Relaxed));
    body()
}

fn report(state: BackendState::Type, text: Option<&CStr>) {
    // SAFETY: no text, or one that ends in a zero byte and is copied.
    unsafe { pg_sys::pgstat_report_activity(state, text.map_or(null(), CStr::as_ptr)) };
}
