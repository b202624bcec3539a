//! Transactions of a worker: begin, run, commit, or abort and tell why.

use crate::compat;
use crate::error::{Result, catch};
use crate::latch::forget_cancel;
use pgrx::pg_sys;

/// Runs `body` in a transaction of its own with a snapshot, commits if it succeeds and aborts if
/// it fails, whether by a returned error or by one that PostgreSQL raised.
///
/// Its isolation level is READ COMMITTED, and it may write where the server can, whatever the
/// calling session's defaults are: those are for the scripts. Under SERIALIZABLE, keeping the books
/// of a run could fail because of what the run does.
///
/// Must be called outside of a transaction.
pub fn transaction<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = catch(|| {
        // SAFETY: the usual sequence of a background worker; see worker_spi in PostgreSQL's source.
        unsafe {
            pg_sys::SetCurrentStatementStartTimestamp();
            pg_sys::StartTransactionCommand();
            pg_sys::XactIsoLevel = pg_sys::XACT_READ_COMMITTED as i32;
            pg_sys::XactDeferrable = false;
            pg_sys::XactReadOnly = pg_sys::RecoveryInProgress();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        let value = body()?;
        // SAFETY: as above.
        unsafe {
            pg_sys::PopActiveSnapshot();
            pg_sys::CommitTransactionCommand();
        }
        Ok(value)
    });
    settle(result)
}

/// Whether a procedure was called by a `CALL` that a client has sent outside of a transaction
/// block: only then, ending its transaction takes nothing from anybody. In a procedure or DO block
/// the call is not atomic either, but SPI and the language's own state are above it.
///
/// # Safety
/// `fcinfo` must be the call information of the current call.
pub unsafe fn may_leave_call(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: the caller's promise; the context of a call, if it is that of CALL, says so. The
    // active portal is that of the statement that the client has sent, with its statements.
    unsafe {
        let context = (*fcinfo).context;
        let portal = pg_sys::ActivePortal;
        if context.is_null()
            || !pgrx::is_a(context, pg_sys::NodeTag::T_CallContext)
            || (*context.cast::<pg_sys::CallContext>()).atomic
            || pg_sys::IsSubTransaction()
            || pg_sys::MyBackendType != pg_sys::BackendType::B_BACKEND
            || portal.is_null()
        {
            return false;
        }
        let statements = pgrx::PgList::<pg_sys::PlannedStmt>::from_pg((*portal).stmts);
        let (Some(statement), 1) = (statements.get_ptr(0), statements.len()) else {
            return false;
        };
        let call = (*statement).utilityStmt;
        !call.is_null()
            && pgrx::is_a(call, pg_sys::NodeTag::T_CallStmt)
            && (*(*call.cast::<pg_sys::CallStmt>()).funcexpr).funcid == (*(*fcinfo).flinfo).fn_oid
    }
}

/// Commits the transaction of the `CALL` that this backend executes, as a procedure's COMMIT does;
/// from here on, this process begins and ends transactions itself.
pub fn leave_call() {
    // SAFETY: in a procedure that was called in a non-atomic context; what a procedure's COMMIT
    // does, and no timeout of the calling statement must end what the client executes.
    unsafe {
        pg_sys::HoldPinnedPortals();
        pg_sys::ForgetPortalSnapshots();
        pg_sys::CommitTransactionCommand();
        compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
    }
}

/// Begins the transaction in which the `CALL` ends.
pub fn reenter_call() {
    // SAFETY: outside of a transaction.
    unsafe { pg_sys::StartTransactionCommand() };
}

/// Aborts the current transaction, whatever state an error has left it in, and leaves any block.
pub fn abort() {
    // SAFETY: made for being called after an error; does nothing outside of a transaction.
    unsafe { pg_sys::AbortOutOfAnyTransaction() };
}

/// What the server's main loop does after an error: aborts the transaction, of which a block stays
/// open as failed until it is rolled back, and takes back what no transaction owns.
///
/// The main loop also disarms all timeouts. Of those that a client of mode spi arms, the abort ends
/// all but that of the statement; that for the check of the connection must go on, since no other
/// statement comes that would arm it.
pub fn recover() {
    // SAFETY: after an error, outside of any statement. Nothing must interrupt it.
    unsafe {
        pg_sys::InterruptHoldoffCount += 1;
        compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
        forget_cancel();
        // The text may be gone.
        pg_sys::debug_query_string = std::ptr::null();
        pg_sys::AbortCurrentTransaction();
        // Portals of loops in which a procedure has committed.
        pg_sys::PortalErrorCleanup();
        compat::release_replication_slots();
        pg_sys::jit_reset_after_error();
        pg_sys::InterruptHoldoffCount -= 1;
    }
}

/// Ends a transaction that has been committed or has failed: aborts it if it failed, then reports
/// statistics and idleness, as a backend does between transactions.
pub(super) fn settle<T>(result: Result<T>) -> Result<T> {
    if result.is_err() {
        abort();
    }
    // SAFETY: outside of a transaction.
    unsafe {
        pg_sys::pgstat_report_stat(false);
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null());
    }
    result
}
