//! What a session remembers about a statement that it has executed.

use super::classify::Kind;
use super::plan::{Parameters, SavedPlan};
use pgrx::pg_sys;
use std::ffi::CString;

/// What is known about a statement after its first execution.
pub(super) enum Known {
    /// BEGIN, COMMIT, SAVEPOINT and their like, and what else must run without a snapshot.
    Utility {
        plan: *mut pg_sys::PlannedStmt,
        kind: Kind,
        text: CString,
    },
    /// Several statements that are sent together, or one of which the kind depends on variables.
    Several,
    /// CALL, DO or DECLARE CURSOR; in the prepared protocol with a plan that stays.
    Call {
        parameters: Parameters,
        plan: Option<SavedPlan>,
        text: CString,
    },
    /// Anything else; in the prepared protocol with a plan that stays.
    Statement {
        parameters: Parameters,
        plan: Option<SavedPlan>,
        text: CString,
    },
}
