//! The transaction of this process.

use crate::error::{Error, Result};
use pgrx::{PgSqlErrorCode as Sqlstate, pg_sys};

/// Proof that this process is in a transaction; what needs one takes it as an argument.
#[derive(Clone, Copy)]
pub struct InTransaction(());

impl InTransaction {
    /// The proof.
    ///
    /// # Errors
    /// Outside of a transaction, and in one that has failed.
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
    // SAFETY: in a transaction.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
    let result = body();
    // SAFETY: the one that was pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
    result
}
