//! Executing SQL text at top level in a worker, as if a client had sent it alone.
//!
//! SPI cannot execute VACUUM and other commands that must not run in a function, nor statements
//! that commit; a portal can. Clients of mode spi use portals for CALL and DO.

use super::activity;
use super::timeouts;
use super::transaction::{begin, finish};
use crate::compat;
use crate::error::{Report, Result, catch};
use crate::latch::forget_cancel;
use crate::state::transaction::{InTransaction, tried};
use crate::text::c_text;
use pgrx::{PgList, PgSqlErrorCode, pg_sys};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Executes one statement of the caller's as [`execute_alone`], for as long as `statement_timeout` allows.
pub fn execute_limited(sql: &str) -> Result<()> {
    limited(|| execute_alone(sql))
}

/// Runs `body`, which executes a statement of the caller's, for as long as `statement_timeout` allows.
pub fn limited<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    timeouts::arm_statement();
    until_disarmed(body)
}

/// Runs `body` as [`limited`], and for at most that time: if the statement goes on after its error, this process ends.
pub fn limited_to<T>(limit_ms: i32, body: impl FnOnce() -> Result<T>) -> Result<T> {
    timeouts::arm_at_most(limit_ms);
    let result = until_disarmed(body);
    timeouts::disarm_end();
    result
}

fn until_disarmed<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = body();
    timeouts::disarm_statement();
    // The timeout may have come at the end of the statement.
    forget_cancel();
    result
}

/// Executes one statement in a separate transaction; commands such as VACUUM may start and commit
/// more of them. Discards returned rows.
pub fn execute_alone(sql: &str) -> Result<()> {
    execute_after(|| Ok(()), sql)
}

/// Executes one statement as [`execute_alone`], after `before` in the transaction.
pub fn execute_after(before: impl FnOnce() -> Result<()>, sql: &str) -> Result<()> {
    let result = catch(|| {
        begin();
        before()?;
        execute(sql)?;
        // SAFETY: as in `begin`.
        unsafe { pg_sys::CommitTransactionCommand() };
        Ok(())
    });
    finish(result)
}

/// The memory context for texts and trees of the statement in progress.
///
/// It is not the transaction's, because commands such as VACUUM commit in between. The next
/// statement resets it, so that it survives the abort of a failed statement.
static CONTEXT: AtomicPtr<pg_sys::MemoryContextData> = AtomicPtr::new(std::ptr::null_mut());

/// A memory context of the default size that lives as long as the process.
pub fn new_memory_context(name: &'static std::ffi::CStr) -> pg_sys::MemoryContext {
    // SAFETY: the top context is always there.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::TopMemoryContext,
            name.as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}

/// The statements of a text, as they are parsed. Raises an error of syntax.
pub fn parse(text: &CStr) -> PgList<pg_sys::RawStmt> {
    // SAFETY: the text ends in a zero byte; the parser returns a list of statements.
    unsafe { PgList::from_pg(pg_sys::pg_parse_query(text.as_ptr())) }
}

/// The number of statements of a text, as parsing shows. Raises an error of syntax.
pub fn count(sql: &str) -> Result<usize> {
    tried(InTransaction::current()?, || {
        Ok(parse(&CString::new(sql).unwrap_or_default()).len())
    })
}

/// Fails unless [`execute_alone`] can execute what `sql` says, as far as parsing shows: it raises an
/// error of syntax, and a worker has no client to copy rows from or to.
pub fn require_possible_alone(sql: &str) -> Result<()> {
    let unsupported = |what: &str| {
        let report = Report {
            hint: Some("Each statement is a transaction of its own, and has no client.".into()),
            ..Report::new(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, what)
        };
        Err(report.into())
    };
    tried(InTransaction::current()?, || {
        for statement in parse(&CString::new(sql).unwrap_or_default()).iter_ptr() {
            // SAFETY: nodes are looked at as what they say they are.
            unsafe {
                let node = (*statement).stmt;
                if pgrx::is_a(node, pg_sys::NodeTag::T_TransactionStmt) {
                    return unsupported("transaction commands are not possible");
                }
                if copies_client_data(node) {
                    return unsupported("COPY from or to the client is not possible");
                }
            }
        }
        Ok(())
    })
}

/// The message about [COPY from or to the client](copies_client_data) in a script.
pub const COPY_IN_SCRIPT: &str = "COPY is not supported in a script";

/// Whether a statement is COPY from or to the client.
///
/// # Safety
/// The node is a parsed statement.
pub unsafe fn copies_client_data(statement: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise; the tag tells the type.
    unsafe {
        pgrx::is_a(statement, pg_sys::NodeTag::T_CopyStmt)
            && (*statement.cast::<pg_sys::CopyStmt>()).filename.is_null()
    }
}

/// An object that a statement creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// A table of that name.
    Table(String),
    /// A function or procedure of that name.
    Routine(String),
}

/// The object that a statement creates, as parsing shows; `None` if it is neither a table nor a routine, or one
/// that a schema is named for, or temporary. Raises an error of syntax.
pub fn created(sql: &str) -> Result<Option<Created>> {
    tried(InTransaction::current()?, || {
        let statements = parse(&CString::new(sql).unwrap_or_default());
        let Some(statement) = statements.get_ptr(0) else {
            return Ok(None);
        };
        // SAFETY: nodes are looked at as what they say they are, and names are copied.
        unsafe {
            let node = (*statement).stmt;
            if pgrx::is_a(node, pg_sys::NodeTag::T_CreateStmt) {
                let relation = &*(*node.cast::<pg_sys::CreateStmt>()).relation;
                let is_temporary = relation.relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP;
                let has_schema = !relation.schemaname.is_null();
                let name = c_text(relation.relname);
                return Ok((!has_schema && !is_temporary).then_some(Created::Table(name)));
            }
            if pgrx::is_a(node, pg_sys::NodeTag::T_CreateFunctionStmt) {
                let names = (*node.cast::<pg_sys::CreateFunctionStmt>()).funcname;
                let names = PgList::<pg_sys::String>::from_pg(names);
                let name = names.get_ptr(0).filter(|_| names.len() == 1);
                return Ok(name.map(|name| Created::Routine(c_text((*name).sval))));
            }
        }
        Ok(None)
    })
}

/// Whether a text is one query, as parsing shows. Raises an error of syntax.
pub fn is_query(sql: &str) -> Result<bool> {
    only_is(sql, |node| {
        // SAFETY: nodes are looked at as what they say they are.
        unsafe {
            pgrx::is_a(node, pg_sys::NodeTag::T_SelectStmt)
                && (*node.cast::<pg_sys::SelectStmt>()).intoClause.is_null()
        }
    })
}

/// Whether a text is one statement that can have parameters and be executed by SPI, as parsing shows. Raises an error
/// of syntax.
pub fn can_have_parameters(sql: &str) -> Result<bool> {
    use pg_sys::NodeTag::*;
    only_is(sql, |node| {
        // SAFETY: as above.
        let tag = unsafe { (*node).type_ };
        matches!(
            tag,
            T_SelectStmt | T_InsertStmt | T_UpdateStmt | T_DeleteStmt | T_MergeStmt | T_CallStmt
        )
    })
}

/// Whether a text is one statement, and that is such a node.
fn only_is(sql: &str, is: impl FnOnce(*mut pg_sys::Node) -> bool) -> Result<bool> {
    tried(InTransaction::current()?, || {
        let statements = parse(&CString::new(sql).unwrap_or_default());
        let only = statements.get_ptr(0).filter(|_| statements.len() == 1);
        // SAFETY: a statement that was parsed.
        Ok(only.is_some_and(|statement| is(unsafe { (*statement).stmt })))
    })
}

/// Executes the statements of `sql` in the current transaction, each through a separate portal.
pub fn execute(sql: &str) -> Result<()> {
    InTransaction::current()?;
    let text = CString::new(sql).unwrap_or_default();
    activity::running(&text);
    // SAFETY: parse, analyze, plan and run as the server's simple query protocol does; errors are
    // caught by the caller, which aborts the transaction and with it the portal.
    unsafe {
        let mut context = CONTEXT.load(Relaxed);
        if context.is_null() {
            context = new_memory_context(c"pg_selfbench statement");
            CONTEXT.store(context, Relaxed);
        }
        pg_sys::MemoryContextReset(context);
        pg_sys::MemoryContextSwitchTo(context);
        for statement in parse(&text).iter_ptr() {
            run_portal(statement, &text);
            pg_sys::MemoryContextSwitchTo(context);
        }
        // A new context if the statement has committed, else the previous one.
        pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext);
    }
    Ok(())
}

/// # Safety
/// Inside a transaction, with a statement that was parsed from `text`.
unsafe fn run_portal(statement: *mut pg_sys::RawStmt, text: &CString) {
    // SAFETY: see `execute`.
    unsafe {
        let portal = define_portal(statement, text, &[]);
        pg_sys::PortalStart(portal, std::ptr::null_mut(), 0, std::ptr::null_mut());
        compat::portal_run(portal, std::ffi::c_long::MAX);
        pg_sys::PortalDrop(portal, false);
        pg_sys::CommandCounterIncrement();
    }
}

/// A portal to execute a statement with parameters of these types. Its data is in the current
/// memory context, which must outlive it.
///
/// # Safety
/// Inside a transaction, with a statement that was parsed from `text`.
pub unsafe fn define_portal(
    statement: *mut pg_sys::RawStmt,
    text: &CStr,
    types: &[pg_sys::Oid],
) -> pg_sys::Portal {
    // SAFETY: the caller's promise.
    unsafe {
        let tag = pg_sys::CreateCommandTag((*statement).stmt);
        let snapshot = pg_sys::analyze_requires_snapshot(statement);
        if snapshot {
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
            statement,
            text.as_ptr(),
            types.as_ptr(),
            types.len() as i32,
            std::ptr::null_mut(),
        );
        let plans = pg_sys::pg_plan_queries(
            queries,
            text.as_ptr(),
            pg_sys::CURSOR_OPT_PARALLEL_OK as i32,
            std::ptr::null_mut(),
        );
        if snapshot {
            pg_sys::PopActiveSnapshot();
        }
        let portal = new_portal();
        pg_sys::PortalDefineQuery(
            portal,
            std::ptr::null(),
            text.as_ptr(),
            tag,
            plans,
            std::ptr::null_mut(),
        );
        portal
    }
}

/// A portal that `pg_cursors` does not show. It has a new name, because a backend of a client
/// itself runs in the unnamed portal.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn new_portal() -> pg_sys::Portal {
    // SAFETY: the caller's promise.
    unsafe {
        let portal = pg_sys::CreateNewPortal();
        (*portal).visible = false;
        portal
    }
}
