//! Utility commands that run without a snapshot, and their plans.

use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// # Safety
/// In a transaction; the plan is that of a utility command with that text, which is executed
/// without a snapshot.
pub(super) unsafe fn run_utility(plan: *mut pg_sys::PlannedStmt, text: &CString) {
    // SAFETY: the caller's promise; such commands need no receiver of rows. Extensions change the
    // plan, which is to be used again: they get a copy.
    unsafe {
        let mut once = *plan;
        pg_sys::ProcessUtility(
            &mut once,
            text.as_ptr(),
            true,
            pg_sys::ProcessUtilityContext::PROCESS_UTILITY_TOPLEVEL,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            pg_sys::None_Receiver,
            std::ptr::null_mut(),
        );
    }
}

/// The plan of a utility command, in the current memory context: analyzed as any statement is, so
/// that it has an identifier for extensions that count statements.
///
/// # Safety
/// In a transaction; the statement was parsed from `text`, and lives as long as the plan is used.
pub(super) unsafe fn plan_of(raw: *mut pg_sys::RawStmt, text: &CStr) -> *mut pg_sys::PlannedStmt {
    let nothing = std::ptr::null_mut();
    // SAFETY: the caller's promise. A utility command is a single query with a plan.
    unsafe {
        let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw,
            text.as_ptr(),
            std::ptr::null(),
            0,
            nothing,
        );
        let plans = pg_sys::pg_plan_queries(queries, text.as_ptr(), 0, nothing.cast());
        pgrx::PgList::<pg_sys::PlannedStmt>::from_pg(plans)
            .get_ptr(0)
            .unwrap_or(std::ptr::null_mut())
    }
}

/// The plan of a utility command, in the top context.
///
/// # Safety
/// In a transaction; the statement was parsed from `text`.
pub(super) unsafe fn saved_plan_of(
    raw: *mut pg_sys::RawStmt,
    text: &CStr,
) -> *mut pg_sys::PlannedStmt {
    // SAFETY: the caller's promise; the plan is copied.
    unsafe {
        let plan = plan_of(raw, text);
        let outer = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let saved = pg_sys::copyObjectImpl(plan.cast()).cast();
        pg_sys::MemoryContextSwitchTo(outer);
        saved
    }
}
