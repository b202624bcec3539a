//! The server's hooks around the executor and utility commands, while a transaction is timed.

use super::meter::{begin_execution, end_execution};
use pgrx::pg_sys;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

/// One of the server's hooks: what it was before it was ours.
struct Previous<F> {
    hook: Cell<Option<F>>,
    /// Whether another library has set the hook meanwhile, and calls ours. Then ours remains.
    chained: Cell<bool>,
}

impl<F: Copy + PartialEq> Previous<F> {
    const fn new() -> Self {
        Previous {
            hook: Cell::new(None),
            chained: Cell::new(false),
        }
    }

    /// # Safety
    /// `hook` points to the server's variable, in which all functions have this type.
    unsafe fn set(&self, hook: *mut Option<F>, ours: F) {
        if !self.chained.get() {
            // SAFETY: the caller's promise; only the main thread uses it.
            self.hook.set(unsafe { hook.replace(Some(ours)) });
        }
    }

    /// # Safety
    /// The obligations of [`set`](Self::set).
    unsafe fn restore(&self, hook: *mut Option<F>, ours: F) {
        if self.chained.get() {
            return;
        }
        // SAFETY: as above.
        unsafe {
            if hook.read() == Some(ours) {
                hook.write(self.hook.get());
            } else {
                self.chained.set(true);
            }
        }
    }
}

type Start = unsafe extern "C-unwind" fn(*mut pg_sys::QueryDesc, c_int);
type End = unsafe extern "C-unwind" fn(*mut pg_sys::QueryDesc);
type Utility = unsafe extern "C-unwind" fn(
    *mut pg_sys::PlannedStmt,
    *const c_char,
    bool,
    pg_sys::ProcessUtilityContext::Type,
    pg_sys::ParamListInfo,
    *mut pg_sys::QueryEnvironment,
    *mut pg_sys::DestReceiver,
    *mut pg_sys::QueryCompletion,
);

thread_local! {
    static START: Previous<Start> = const { Previous::new() };
    static END: Previous<End> = const { Previous::new() };
    static UTILITY: Previous<Utility> = const { Previous::new() };
    static COUNTING: Previous<End> = const { Previous::new() };
    /// Rows of the statement that is being counted.
    static ROWS: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The server's functions, without the guard that errors would be caught by: they pass through to
/// the guard around the statement, as there is nothing to be dropped in between.
mod server {
    use super::{c_char, c_int, pg_sys};

    unsafe extern "C-unwind" {
        pub fn standard_ExecutorStart(execution: *mut pg_sys::QueryDesc, flags: c_int);
        pub fn standard_ExecutorEnd(execution: *mut pg_sys::QueryDesc);
        pub fn standard_ProcessUtility(
            statement: *mut pg_sys::PlannedStmt,
            text: *const c_char,
            read_only: bool,
            context: pg_sys::ProcessUtilityContext::Type,
            parameters: pg_sys::ParamListInfo,
            environment: *mut pg_sys::QueryEnvironment,
            receiver: *mut pg_sys::DestReceiver,
            completion: *mut pg_sys::QueryCompletion,
        );
    }
}

unsafe extern "C-unwind" fn start(execution: *mut pg_sys::QueryDesc, flags: c_int) {
    begin_execution();
    let previous = START.with(|hook| hook.hook.get());
    // SAFETY: called by the server in place of these.
    unsafe { previous.unwrap_or(server::standard_ExecutorStart)(execution, flags) };
}

unsafe extern "C-unwind" fn end(execution: *mut pg_sys::QueryDesc) {
    let previous = END.with(|hook| hook.hook.get());
    // SAFETY: called by the server in place of these.
    unsafe { previous.unwrap_or(server::standard_ExecutorEnd)(execution) };
    end_execution();
}

unsafe extern "C-unwind" fn utility(
    statement: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    receiver: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    begin_execution();
    let previous = UTILITY.with(|hook| hook.hook.get());
    // SAFETY: called by the server in place of these.
    unsafe {
        previous.unwrap_or(server::standard_ProcessUtility)(
            statement,
            text,
            read_only,
            context,
            parameters,
            environment,
            receiver,
            completion,
        );
    }
    end_execution();
}

/// Number of rows that an execution matched or returned, if it is one of the statement that the
/// client sent and not of a function or trigger that it calls, and does not insert.
///
/// # Safety
/// The execution has run.
unsafe fn rows_of(execution: *mut pg_sys::QueryDesc) -> Option<u64> {
    use pg_sys::CmdType::{CMD_DELETE, CMD_MERGE, CMD_SELECT, CMD_UPDATE};
    // SAFETY: the caller's promise; texts end in a zero byte.
    unsafe {
        let execution = &*execution;
        let sent = pg_sys::debug_query_string;
        let is_counted = matches!(
            execution.operation,
            CMD_SELECT | CMD_UPDATE | CMD_DELETE | CMD_MERGE
        ) && !execution.estate.is_null()
            && (*execution.estate).es_top_eflags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 == 0
            && !execution.sourceText.is_null()
            && !sent.is_null()
            && CStr::from_ptr(execution.sourceText) == CStr::from_ptr(sent);
        is_counted.then(|| (*execution.estate).es_processed)
    }
}

unsafe extern "C-unwind" fn count(execution: *mut pg_sys::QueryDesc) {
    // SAFETY: called by the server before the execution ends, in place of these.
    unsafe {
        if let Some(rows) = rows_of(execution) {
            ROWS.set(Some(ROWS.get().unwrap_or(0) + rows));
        }
        let previous = COUNTING.with(|hook| hook.hook.get());
        previous.unwrap_or(server::standard_ExecutorEnd)(execution);
    }
}

/// Executes a statement and counts the rows that it matches or returns; `None` if it is of a kind that
/// does neither, or inserts.
pub fn counting_rows(execute: impl FnOnce()) -> Option<u64> {
    ROWS.set(None);
    // SAFETY: the server's variable.
    unsafe {
        COUNTING.with(|hook| hook.set(&raw mut pg_sys::ExecutorEnd_hook, count));
        execute();
        COUNTING.with(|hook| hook.restore(&raw mut pg_sys::ExecutorEnd_hook, count));
    }
    ROWS.take()
}

/// The server's hooks while they are ours.
pub(super) struct Hooks;

impl Hooks {
    /// Sets them; drop restores them.
    pub(super) fn set() -> Hooks {
        // SAFETY: the server's variables.
        unsafe {
            START.with(|hook| hook.set(&raw mut pg_sys::ExecutorStart_hook, start));
            END.with(|hook| hook.set(&raw mut pg_sys::ExecutorEnd_hook, end));
            UTILITY.with(|hook| hook.set(&raw mut pg_sys::ProcessUtility_hook, utility));
        }
        Hooks
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // SAFETY: the server's variables.
        unsafe {
            START.with(|hook| hook.restore(&raw mut pg_sys::ExecutorStart_hook, start));
            END.with(|hook| hook.restore(&raw mut pg_sys::ExecutorEnd_hook, end));
            UTILITY.with(|hook| hook.restore(&raw mut pg_sys::ProcessUtility_hook, utility));
        }
    }
}
