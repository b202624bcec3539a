//! The report of the FATAL error that ends this process.
//!
//! A FATAL error ends a process immediately, and only the server's log has its text. Processes of a
//! task keep the report for their exit callbacks, which store it in the segment.

use crate::error::{Report, report_of};
use pgrx::{pg_guard, pg_sys};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// The first FATAL of this process.
static REPORT: OnceLock<Report> = OnceLock::new();
/// Whether this process has connected to its database.
static CONNECTED: AtomicBool = AtomicBool::new(false);
/// The hook that was installed before ours, once ours is.
static PREVIOUS: Mutex<Option<pg_sys::emit_log_hook_type>> = Mutex::new(None);

/// Keeps the report of a FATAL error from here on. The hook does not get FATAL errors that the
/// server does not log (`log_min_messages = panic`).
pub fn watch() {
    let Ok(mut previous) = PREVIOUS.lock() else {
        return;
    };
    if previous.is_none() {
        // SAFETY: a hook that only the main thread uses.
        unsafe {
            *previous = Some(pg_sys::emit_log_hook);
            pg_sys::emit_log_hook = Some(on_log);
        }
    }
}

/// Marks this process as connected: a later FATAL error is not a failure to connect.
pub fn has_connected() {
    CONNECTED.store(true, Relaxed);
}

/// The report of the FATAL error that ends this process, if any. May be called in exit callbacks.
pub fn report() -> Option<Report> {
    let mut report = REPORT.get()?.clone();
    if !CONNECTED.load(Relaxed) && report.hint.is_none() {
        report.hint = Some("Background workers connect as the role that calls a benchmark.".into());
    }
    Some(report)
}

/// [`report`], unless this process was terminated from outside.
pub fn failure() -> Option<Report> {
    report().filter(|report| !report.is_shutdown())
}

#[pg_guard]
unsafe extern "C-unwind" fn on_log(error: *mut pg_sys::ErrorData) {
    // SAFETY: the server passes the error that it is about to log, with texts that end in a zero
    // byte.
    unsafe {
        if (*error).elevel >= pg_sys::FATAL as i32 {
            let _ = REPORT.set(report_of(&*error));
        }
    }
    let previous = PREVIOUS.lock().ok().and_then(|previous| *previous);
    if let Some(Some(hook)) = previous {
        // SAFETY: as the server would have called it.
        unsafe { hook(error) };
    }
}
