//! What this process shows in `pg_stat_activity`.

use pgrx::pg_sys;
use std::ffi::CStr;

/// From here on, this process is active with that text.
pub fn running(text: &CStr) {
    // SAFETY: the text ends in a zero byte, and is copied.
    unsafe { pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr()) };
}

/// From here on, this process is idle; its last text stays.
pub fn idle() {
    // SAFETY: no text.
    unsafe { pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null()) };
}
