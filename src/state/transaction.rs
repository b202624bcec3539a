//! The transaction of this process.
//!
//! Each call of the server brings the handling of its errors along, some hundred instructions. So what does
//! not depend on `body` is in functions of its own: else each use of a generic function would have it again.

use crate::error::{Error, Result, catch};
use pgrx::{PgList, PgMemoryContexts, PgSqlErrorCode as Sqlstate, PgTryBuilder, Spi, pg_sys};
use scopeguard::defer;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// Proof that this process is in a transaction; what needs one takes it as an argument.
#[derive(Clone, Copy)]
pub struct InTransaction(());

impl InTransaction {
    /// The proof.
    ///
    /// # Errors
    /// Outside of a transaction, and in one that has failed.
    #[inline(never)]
    pub fn current() -> Result<InTransaction> {
        // SAFETY: reads the state of this process.
        match unsafe { pg_sys::IsTransactionState() } {
            true => Ok(InTransaction(())),
            false => Err(Error::server(
                Sqlstate::ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
                "there is no transaction in progress",
            )),
        }
    }
}

/// Runs `body` under a snapshot of this moment. If `body` raises an error, the abort of the
/// transaction removes the snapshot.
pub fn with_snapshot<T>(_: InTransaction, body: impl FnOnce() -> T) -> T {
    push_snapshot();
    let result = body();
    pop_snapshot();
    result
}

fn push_snapshot() {
    // SAFETY: in a transaction.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
}

fn pop_snapshot() {
    // SAFETY: the one that was pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
}

/// Executes statements through SPI in one snapshot of this moment, where each would otherwise have its own; the number of rows
/// of each, and its time.
///
/// # Errors
/// A statement that SPI refuses, such as COMMIT, and one that uses another relation than these.
pub fn execute_in_snapshot(
    now: InTransaction,
    statements: &[String],
    relations: &[pg_sys::Oid],
) -> Result<Vec<(u64, Duration)>> {
    let refused = |statement: &str| {
        Error::server(
            Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("cannot execute in one snapshot with others: {statement}"),
        )
    };
    let execute = |statement: &String| {
        let begun = Instant::now();
        let text = CString::new(statement.as_str()).unwrap_or_default();
        // SAFETY: connected to SPI; the text ends in a zero byte, and has no parameters.
        let plan = unsafe { pg_sys::SPI_prepare(text.as_ptr(), 0, null_mut()) };
        if plan.is_null() {
            return Err(refused(statement));
        }
        // SAFETY: a plan of this connection.
        if !unsafe { uses_only(plan, relations) } {
            return Err(Error::server(
                Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("relations have been renamed meanwhile: {statement}"),
            ));
        }
        let (values, nulls, none) = (null_mut(), null(), null_mut());
        // SAFETY: a plan of this connection without parameters, and a snapshot.
        let (code, rows) = unsafe {
            let snapshot = pg_sys::GetActiveSnapshot();
            let code =
                pg_sys::SPI_execute_snapshot(plan, values, nulls, snapshot, none, false, true, 0);
            pg_sys::SPI_freeplan(plan);
            (code, pg_sys::SPI_processed)
        };
        match code {
            0.. => Ok((rows, begun.elapsed())),
            _ => Err(refused(statement)),
        }
    };
    Spi::connect(|_| with_snapshot(now, || statements.iter().map(execute).collect()))
}

/// Whether the statements of a plan use no other relations than these.
///
/// # Safety
/// A plan of the current connection to SPI.
unsafe fn uses_only(plan: pg_sys::SPIPlanPtr, relations: &[pg_sys::Oid]) -> bool {
    // SAFETY: the caller's promise; lists of sources, and of OIDs.
    unsafe {
        PgList::<pg_sys::CachedPlanSource>::from_pg(pg_sys::SPI_plan_get_plan_sources(plan))
            .iter_ptr()
            .all(|source| {
                PgList::<pg_sys::Oid>::from_pg((*source).relationOids)
                    .iter_oid()
                    .all(|relation| relations.contains(&relation))
            })
    }
}

/// Runs `body` in a memory context of its own below the current one. What it returns must not use memory of
/// the context.
///
/// The SPI binding copies values of rows into the parent of the current context: of a connection to SPI, this
/// is the transaction's, and here that of the connection.
pub fn in_own_memory<T>(_: InTransaction, body: impl FnOnce() -> T) -> T {
    let mut rows = PgMemoryContexts::new("pg_selfbench rows");
    // SAFETY: a variable of this process.
    let before = unsafe { pg_sys::CurrentMemoryContext };
    // After an error, too, another context is current before this one is deleted.
    defer! {
        // SAFETY: the context is there as long as the call.
        unsafe { pg_sys::MemoryContextSwitchTo(before) };
    }
    // SAFETY: the new context is current during the call only.
    unsafe { rows.switch_to(|_| body()) }
}

/// Runs `body` in a subtransaction, which is rolled back whether `body` succeeds or fails, so that
/// the transaction can go on after an error.
pub fn tried<T>(transaction: InTransaction, body: impl FnOnce() -> Result<T>) -> Result<T> {
    rolled_back(transaction, || catch(body))
}

/// Runs `body` in a subtransaction, which is rolled back whether `body` succeeds or fails. This
/// releases the locks that `body` has taken, unless they belong to the session.
///
/// `body` allocates memory where its caller does, but what it returns must not use anything else that
/// belongs to the subtransaction, such as the reference of a tuple to its row type.
pub fn rolled_back<T>(_: InTransaction, body: impl FnOnce() -> T) -> T {
    let before = Outer::begin_subtransaction();
    let result = PgTryBuilder::new(AssertUnwindSafe(body))
        .catch_others(|cause| {
            before.roll_back();
            cause.rethrow()
        })
        .execute();
    before.roll_back();
    result
}

/// Memory context and resource owner that were current when a subtransaction began.
struct Outer {
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
}

impl Outer {
    fn begin_subtransaction() -> Outer {
        // SAFETY: in a transaction; what the subtransaction makes current is restored after its end.
        unsafe {
            let context = pg_sys::CurrentMemoryContext;
            let owner = pg_sys::CurrentResourceOwner;
            pg_sys::BeginInternalSubTransaction(std::ptr::null());
            pg_sys::MemoryContextSwitchTo(context);
            Outer { context, owner }
        }
    }

    fn roll_back(&self) {
        // SAFETY: ends the subtransaction that was begun with these.
        unsafe {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            pg_sys::MemoryContextSwitchTo(self.context);
            pg_sys::CurrentResourceOwner = self.owner;
        }
    }
}
