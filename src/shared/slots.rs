//! The slots of client workers in a segment.

use super::effort::Account;
use super::once_text::OnceText;
use super::process::ProcessRef;
use crate::error::Report;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Room for the reason why a worker or a client gave up.
pub const REASON_BYTES: usize = 1024;

/// State of a client worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum WorkerState {
    /// The process has not started.
    Absent = 0,
    /// Attached; connecting and preparing.
    Attached = 1,
    /// Waits at the start barrier.
    Ready = 2,
    /// Ended as it should, or with a reason.
    Done = 3,
    /// Its process ended in the middle.
    Died = 4,
}

/// One client worker process.
#[repr(C, align(64))]
pub struct Worker {
    state: AtomicU32,
    /// The process.
    pub process: ProcessRef,
    /// Its cost.
    pub account: Account,
    failure: OnceText<REASON_BYTES>,
}

impl Worker {
    /// Returns the state of the worker.
    pub fn state(&self) -> WorkerState {
        match self.state.load(Acquire) {
            0 => WorkerState::Absent,
            1 => WorkerState::Attached,
            2 => WorkerState::Ready,
            3 => WorkerState::Done,
            _ => WorkerState::Died,
        }
    }

    /// Moves the worker's state on; an ended worker stays ended.
    #[allow(deprecated, reason = "the new name, try_update, needs Rust 1.95")]
    pub fn set_state(&self, state: WorkerState) {
        let _ = self.state.fetch_update(AcqRel, Acquire, |old| {
            (old < WorkerState::Done as u32).then_some(state as u32)
        });
    }

    /// Leaves the error that ended this worker before the start barrier.
    pub fn fail(&self, report: &Report) {
        // A report that does not fit loses its detail and hint, not its message.
        let full = serde_json::to_string(report).unwrap_or_default();
        if full.len() <= REASON_BYTES {
            self.failure.set(&full);
        } else {
            let message = report.message.chars().take(REASON_BYTES / 8).collect();
            let short = Report {
                message,
                detail: None,
                hint: None,
                ..report.clone()
            };
            self.failure
                .set(&serde_json::to_string(&short).unwrap_or_default());
        }
    }

    /// The error that ended this worker, if any.
    pub fn failure(&self) -> Option<Report> {
        self.failure
            .get()
            .and_then(|text| serde_json::from_str(&text).ok())
    }
}
