//! Transactions of a worker: begin, run, commit, or abort and return the error.

use super::activity;
use super::timeouts;
use crate::compat;
use crate::error::{Result, catch};
use crate::latch::forget_cancel;
use pgrx::pg_sys;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Runs `body` in a new transaction with a snapshot, outside of any other, commits if it succeeds and aborts if it fails,
/// whether by a returned error or by one that PostgreSQL raised.
///
/// The isolation level is READ COMMITTED, and the transaction may write if the server allows it.
/// The calling session's defaults apply only to scripts. Under SERIALIZABLE, storing a run could
/// fail because of conflicts with the run's transactions.
pub fn transaction<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = catch(|| {
        begin_with_snapshot();
        let value = body()?;
        commit_with_snapshot();
        Ok(value)
    });
    finish(result)
}

fn begin_with_snapshot() {
    begin();
    // SAFETY: as in `begin`.
    unsafe {
        pg_sys::XactIsoLevel = pg_sys::XACT_READ_COMMITTED as i32;
        pg_sys::XactDeferrable = false;
        pg_sys::XactReadOnly = pg_sys::RecoveryInProgress();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
    }
}

fn commit_with_snapshot() {
    // SAFETY: ends what the function above has begun.
    unsafe {
        pg_sys::PopActiveSnapshot();
        pg_sys::CommitTransactionCommand();
    }
}

/// Begins a transaction without a snapshot. Raises an error in a transaction.
pub(super) fn begin() {
    // SAFETY: the usual sequence of a background worker; see worker_spi in PostgreSQL's source.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
    }
}

/// Whether the session's transaction is SERIALIZABLE.
pub fn is_serializable() -> bool {
    // SAFETY: a plain variable of this session.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// Whether the session is in a transaction block.
pub fn is_in_block() -> bool {
    // SAFETY: reads the state of this session's transaction.
    unsafe { pg_sys::IsTransactionBlock() }
}

/// Whether the procedure that calls this function may end its transaction.
pub fn can_end_transaction() -> bool {
    // SAFETY: reads the state of SPI in this process.
    unsafe { pg_sys::SPI_inside_nonatomic_context() }
}

/// Whether the session's transaction has changed something.
pub fn has_written() -> bool {
    // SAFETY: plain variables of this session.
    unsafe { pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId }
}

/// A `CALL` that a client has sent outside of a transaction block: only then, the procedure may end
/// its transaction. A call in a procedure or DO block is not atomic either, but SPI and the state of
/// the procedural language depend on its transaction.
pub struct TopLevelCall<'call>(PhantomData<&'call ()>);

/// A `CALL` whose transaction has ended: this process begins and ends transactions itself.
pub struct LeftCall<'call>(PhantomData<&'call ()>);

/// Whether this process has left its call.
static HAS_LEFT: AtomicBool = AtomicBool::new(false);

impl<'call> TopLevelCall<'call> {
    /// The call of the procedure, if it is at top level.
    ///
    /// # Safety
    /// `fcinfo` must be the call information of the current call, which lasts for `'call`.
    pub unsafe fn find(fcinfo: pg_sys::FunctionCallInfo) -> Option<TopLevelCall<'call>> {
        // SAFETY: the caller's promise.
        unsafe { is_top_level_call(fcinfo) }.then_some(TopLevelCall(PhantomData))
    }

    /// Commits its transaction, as a procedure's COMMIT does.
    pub fn leave(self) -> LeftCall<'call> {
        // SAFETY: what a procedure's COMMIT does in such a call, and no timeout of the calling
        // statement must end what the client executes.
        unsafe {
            pg_sys::HoldPinnedPortals();
            pg_sys::ForgetPortalSnapshots();
            pg_sys::CommitTransactionCommand();
            timeouts::disable_timeout(timeouts::STATEMENT_TIMEOUT, false);
        }
        HAS_LEFT.store(true, Relaxed);
        LeftCall(PhantomData)
    }
}

impl LeftCall<'_> {
    /// Begins the transaction in which the `CALL` ends. Raises an error in a transaction.
    pub fn reenter(self) {
        // SAFETY: in a call that the client has sent, as its statements begin.
        unsafe { pg_sys::StartTransactionCommand() };
    }
}

impl Drop for LeftCall<'_> {
    fn drop(&mut self) {
        HAS_LEFT.store(false, Relaxed);
    }
}

/// # Safety
/// `fcinfo` must be the call information of the current call.
unsafe fn is_top_level_call(fcinfo: pg_sys::FunctionCallInfo) -> bool {
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

/// Aborts the current transaction, in any state after an error, and leaves any transaction block. Only
/// a worker can do that, or a backend that [has left its call](LeftCall): elsewhere, the transaction is
/// that of the calling statement.
pub fn abort() {
    // SAFETY: made for being called after an error; does nothing outside of a transaction.
    unsafe {
        let is_own = pg_sys::MyBackendType != pg_sys::BackendType::B_BACKEND;
        assert!(
            is_own || HAS_LEFT.load(Relaxed),
            "the transaction is the caller's"
        );
        pg_sys::AbortOutOfAnyTransaction();
    }
}

/// Recovers from an error as the server's main loop does: aborts the transaction, whose block stays
/// open as failed until it is rolled back, and releases resources that no transaction owns.
///
/// The main loop also disables all timeouts. The abort disables those that a client of mode spi
/// enables, except the statement's. The timeout that checks the connection must stay enabled,
/// because no other statement would enable it again.
///
/// # Safety
/// In a process that executes statements at top level, after the error of one of them: nothing that
/// belongs to the transaction may be used any more.
pub unsafe fn recover() {
    // SAFETY: the caller's promise. Nothing must interrupt it.
    unsafe {
        pg_sys::InterruptHoldoffCount += 1;
        timeouts::disable_timeout(timeouts::STATEMENT_TIMEOUT, false);
        forget_cancel();
        // The text may have been freed.
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
/// statistics and the idle state, as a backend does between transactions.
pub(super) fn finish<T>(result: Result<T>) -> Result<T> {
    if result.is_err() {
        abort();
    }
    // SAFETY: outside of a transaction.
    unsafe { pg_sys::pgstat_report_stat(false) };
    activity::idle();
    result
}
