//! Transactions with the rights of another role than the session's, for captured workloads with statements of
//! several roles.
//!
//! A function of that role must not get the rights of the session's role. So a transaction has the identity that
//! the body of a SECURITY DEFINER function has, where the server refuses SET ROLE, RESET ROLE and SET SESSION
//! AUTHORIZATION, from its first statement until it has been committed, with its deferred triggers. An abort
//! restores the identity by itself. Nor must anything that the function leaves behind have an effect on
//! transactions of another role:
//!
//! * Settings are reset behind each transaction to those with which the process began.
//! * `search_path` has temporary tables last, see `run::captured`.
//! * CALL and DO are executed as within a block, and chains are refused (`command_hook`): another transaction
//!   would start with the session's role, or assert that none has been assumed.

use crate::latch;
use pgrx::pg_sys;

/// Starts a statement in a transaction with the rights of a role, and the transaction command unless that
/// `is_started`. The session's role is kept in `session_role`.
pub(super) fn enter(role: pg_sys::Oid, is_started: bool, session_role: &mut Option<pg_sys::Oid>) {
    // SAFETY: the beginning of a statement, as `in_statement` has it; what is left of it there is skipped for a
    // command that has been started. In an aborted block, whose end restores nothing, the identity is not changed.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        if !is_started {
            latch::forget_cancel();
            pg_sys::StartTransactionCommand();
        }
        if pg_sys::IsAbortedTransactionBlockState() {
            return;
        }
        let (mut user, mut context) = (pg_sys::InvalidOid, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        if context == 0 {
            *session_role = Some(user);
        }
        pg_sys::SetUserIdAndSecContext(role, pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
    }
}

/// Restores the identity of the session, whose role this is, and its settings, behind a transaction.
pub(super) fn leave(session_role: pg_sys::Oid) {
    // SAFETY: outside of a transaction; settings of sessions can be reset there.
    unsafe {
        pg_sys::SetUserIdAndSecContext(session_role, 0);
        pg_sys::ResetAllOptions();
    }
}
