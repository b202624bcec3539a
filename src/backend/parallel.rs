//! Parallel plans for the queries by which the server validates foreign keys.
//!
//! The server plans these queries for one process, like all that it prepares for later executions,
//! and would not execute them in parallel either, because it asks for a single row: a parallel plan
//! cannot be continued after its first rows. Validation never continues it. Cursors of what is executed
//! meanwhile, such as event triggers, are continued: they have the server's plans, and its limits.

use crate::compat;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::{pg_guard, pg_sys};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// The planner of another library.
static NEXT: OnceLock<pg_sys::planner_hook_type> = OnceLock::new();

/// Makes this process consider parallel plans for every query that is planned without options, and
/// execute them in parallel where SPI wants a single row. The settings for parallel query apply.
pub fn consider_parallel_plans() {
    // SAFETY: a variable that only the main thread uses.
    unsafe {
        if NEXT.set(pg_sys::planner_hook).is_ok() {
            pg_sys::planner_hook = Some(plan);
            compat::set_run_hook(run);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn plan(
    query: *mut pg_sys::Query,
    text: *const c_char,
    options: c_int,
    parameters: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    let options = match options {
        0 => pg_sys::CURSOR_OPT_PARALLEL_OK as c_int,
        of_cursor => of_cursor,
    };
    // SAFETY: what the server passes to planners.
    unsafe {
        match NEXT.get() {
            Some(Some(next)) => pg_guard_ffi_boundary(|| next(query, text, options, parameters)),
            _ => pg_sys::standard_planner(query, text, options, parameters),
        }
    }
}

/// Receives the first row of an execution for SPI, and no other.
#[repr(C)]
struct FirstRow {
    /// Receiver as the server sees it.
    receiver: pg_sys::DestReceiver,
    spi: *mut pg_sys::DestReceiver,
    received: u64,
}

/// Runs an execution without the limit that would prevent parallel workers.
unsafe fn run(execution: *mut pg_sys::QueryDesc, rows: u64, run: &dyn Fn(u64)) {
    // SAFETY: an execution that has been started, the portal that is active, if there is one, and the
    // receiver, which is put back before the execution ends; after an error, nothing is sent to either.
    unsafe {
        let portal = pg_sys::ActivePortal;
        let is_cursor = !portal.is_null() && (*portal).queryDesc == execution;
        let spi = (*execution).dest;
        let in_parallel = (*(*execution).plannedstmt).parallelModeNeeded;
        if !in_parallel || is_cursor || rows != 1 || (*spi).mydest != pg_sys::CommandDest::DestSPI {
            return run(rows);
        }
        let mut first = FirstRow {
            receiver: *spi,
            spi,
            received: 0,
        };
        first.receiver.receiveSlot = Some(receive);
        let first = &raw mut first;
        (*execution).dest = first.cast();
        run(0);
        (*execution).dest = spi;
        // A row at which the receiver ends the execution is not counted.
        (*(*execution).estate).es_processed = (*first).received;
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(
    row: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    let first = receiver.cast::<FirstRow>();
    // SAFETY: the receiver is the beginning of one; SPI's has the function.
    unsafe {
        (*first).received += 1;
        if let Some(receive) = (*(*first).spi).receiveSlot {
            pg_guard_ffi_boundary(|| receive(row, (*first).spi));
        }
    }
    false
}
