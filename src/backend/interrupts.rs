//! Signals: when a process of a task processes interrupts, and when SIGTERM and SIGINT only request
//! it to end its task.

use super::timeouts;
use crate::clock;
use crate::compat;
use crate::latch::forget_cancel;
use pgrx::pg_sys;
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// Set while a coordinator or a libpq client worker is in its own wait loop, where SIGTERM only
/// requests it to end the run.
static COOPERATIVE: AtomicBool = AtomicBool::new(false);
/// Set while a request also cancels the statement in progress.
static CANCELS: AtomicBool = AtomicBool::new(false);
/// Set by SIGTERM or SIGINT while cooperative.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);
/// Set by each SIGINT that is a request to cancel.
static CANCELED: AtomicBool = AtomicBool::new(false);
/// When the first SIGTERM came while cooperative; 0 before. A later one ends the process.
static TERMINATED_NS: AtomicU64 = AtomicU64::new(0);
/// Set if a later SIGTERM does not end the process either.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);

/// Time in which further SIGTERMs are the same request. At a shutdown, the postmaster signals each
/// process and then its process group, and a caller that ends signals its coordinator, which may be
/// about to store the run by then.
const SAME_REQUEST_NS: u64 = 3_000_000_000;

/// Installs the handlers of SIGTERM and SIGINT, and unblocks signals, which are blocked at the
/// start of a worker.
pub fn unblock_signals() {
    // SAFETY: at the start of a worker; the handlers do what the server's do.
    unsafe {
        compat::set_signal_handler(Signal::TERM, on_sigterm);
        compat::set_signal_handler(Signal::INT, on_sigint);
        pg_sys::BackgroundWorkerUnblockSignals();
    }
}

/// Makes SIGTERM and SIGINT requests to end the task instead of ending this process immediately. A
/// SIGTERM that comes later than [`SAME_REQUEST_NS`] ends the process, because its current
/// operation may take forever.
pub fn enter_cooperative() {
    COOPERATIVE.store(true, Release);
}

/// Enters the mode of [`enter_cooperative`] for a process that ends its task in limited time after
/// the first SIGTERM and must use it: later ones do not end the process.
pub fn enter_ending_itself() {
    ENDS_ITSELF.store(true, Release);
    enter_cooperative();
}

/// Makes requests also cancel the statement in progress, without which the task can end, until
/// [`leave_canceling`].
pub fn enter_canceling() {
    CANCELS.store(true, Release);
}

/// Undoes [`enter_canceling`].
pub fn leave_canceling() {
    CANCELS.store(false, Release);
}

/// Treats a cancel request that arrived before as a request to end the task: there may have been no
/// statement to cancel, or one whose failure does not matter.
pub fn end_task_if_canceled() {
    if CANCELED.load(Acquire) {
        ASKED_TO_END.store(true, Release);
    }
    if asked_to_end() {
        forget_cancel();
    }
}

/// Whether a signal asked this process to end the task.
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Acquire)
}

/// Whether a SIGTERM did, not a SIGINT alone.
pub fn was_terminated() -> bool {
    TERMINATED_NS.load(Acquire) != 0
}

unsafe extern "C-unwind" fn on_sigterm(signal: i32) {
    let is_request = || {
        let now = clock::now_ns();
        let first = TERMINATED_NS.compare_exchange(0, now, AcqRel, Acquire);
        let first = first.err().unwrap_or(now);
        now - first < SAME_REQUEST_NS || ENDS_ITSELF.load(Acquire)
    };
    if COOPERATIVE.load(Acquire) && is_request() {
        note_request(signal);
    } else {
        // SAFETY: the server's own handler for this signal.
        unsafe { pg_sys::die(signal) };
    }
}

unsafe extern "C-unwind" fn on_sigint(signal: i32) {
    // The server's timeouts cancel a statement by this signal, too.
    let asked = !timeouts::statement_has_timed_out();
    if asked {
        CANCELED.store(true, Release);
    }
    if asked && COOPERATIVE.load(Acquire) {
        note_request(signal);
    } else {
        // SAFETY: the server's own handler for this signal.
        unsafe { pg_sys::StatementCancelHandler(signal) };
    }
}

/// Handles a signal that requests the end of the task.
fn note_request(signal: i32) {
    ASKED_TO_END.store(true, Release);
    // SAFETY: the server's own handler of SIGINT, and setting one's own latch, are allowed in a signal
    // handler.
    unsafe {
        match CANCELS.load(Acquire) {
            true => pg_sys::StatementCancelHandler(signal),
            false => pg_sys::SetLatch(pg_sys::MyLatch),
        }
    }
}

/// Processes pending interrupts.
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}

/// Processes the interrupts of a client between its statements. Cancel requests that arrive there
/// are ignored, as in an idle backend, including those that arrive while other interrupts are
/// processed.
#[inline]
pub fn check_between_statements() {
    // SAFETY: flags and a counter of this process, which executes no statement. An error sets the
    // counter back to zero.
    unsafe {
        let before = pg_sys::QueryCancelHoldoffCount;
        pg_sys::QueryCancelHoldoffCount = before + 1;
        check_for_interrupts();
        pg_sys::QueryCancelHoldoffCount = before;
    }
    forget_cancel();
}

/// Ignores cancel requests from here on, in a process that executes no statements itself.
pub fn ignore_cancels() {
    unsafe extern "C-unwind" fn ignore(_signal: i32) {}
    // SAFETY: that handler does nothing.
    unsafe { compat::set_signal_handler(Signal::INT, ignore) };
}
