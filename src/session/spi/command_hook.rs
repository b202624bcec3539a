//! The hook of utility commands in processes that execute clients of mode spi: it rejects LISTEN, and what
//! the guard of a captured workload refuses.

use super::guard;
use crate::error::Error;
use pgrx::{PgSqlErrorCode as Sqlstate, pg_guard, pg_sys};
use std::ffi::c_char;
use std::sync::OnceLock;

/// Makes this process reject LISTEN from here on, as the server itself does in workers: it never reads the
/// notification queue, which would fill up for the whole server. If it has a guard, that is asked, too.
pub fn watch_commands() {
    // SAFETY: a hook that only the main thread uses.
    unsafe {
        if PREVIOUS_UTILITY.set(pg_sys::ProcessUtility_hook).is_ok() {
            pg_sys::ProcessUtility_hook = Some(utility);
        }
    }
}

/// The hook that was installed before ours.
static PREVIOUS_UTILITY: OnceLock<pg_sys::ProcessUtility_hook_type> = OnceLock::new();

#[pg_guard]
#[allow(clippy::too_many_arguments)] // the hook's
unsafe extern "C-unwind" fn utility(
    plan: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    receiver: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: the server passes the plan of a utility command that it is about to execute.
    let plan = unsafe { guard::checked_command(plan) };
    // SAFETY: as above.
    if unsafe { pgrx::is_a((*plan).utilityStmt, pg_sys::NodeTag::T_ListenStmt) } {
        Error::server(
            Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot execute LISTEN within a background process",
        )
        .raise();
    }
    let previous = PREVIOUS_UTILITY.get().copied().flatten();
    // SAFETY: as the server would have called it.
    unsafe {
        match previous {
            Some(hook) => hook(
                plan,
                text,
                read_only,
                context,
                parameters,
                environment,
                receiver,
                completion,
            ),
            None => pg_sys::standard_ProcessUtility(
                plan,
                text,
                read_only,
                context,
                parameters,
                environment,
                receiver,
                completion,
            ),
        }
    }
}
