//! Statements that match rows, in the transactions that are sampled.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Data on the rows of one statement; all zero is nothing.
#[repr(C)]
pub struct StatementRows {
    /// Executions that neither matched nor returned a row, before one that did.
    in_vain: AtomicU32,
    /// Other than 0 once an execution matched or returned a row.
    matched: AtomicU32,
}

impl StatementRows {
    /// Counts an execution with that many rows. One that had some decides: later ones only look.
    pub fn count(&self, rows: u64) {
        if self.matched.load(Relaxed) != 0 {
            return;
        }
        if rows == 0 {
            self.in_vain.fetch_add(1, Relaxed);
        } else {
            self.matched.store(1, Relaxed);
        }
    }

    /// Number of executions if none had a row; else 0.
    pub fn in_vain(&self) -> u32 {
        match self.matched.load(Relaxed) {
            0 => self.in_vain.load(Relaxed),
            _ => 0,
        }
    }
}
