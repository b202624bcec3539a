//! Statements that SPI does not execute: by their text, and by their parse tree.

use crate::backend::statement::parse;
use pgrx::pg_sys;
use std::ffi::CString;

/// Kind of execution of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// Transaction control; `exits` is whether a failed block accepts it.
    Control { exits: bool },
    /// Utility command that must not have a snapshot: a snapshot fixes what SET TRANSACTION sets,
    /// and LOCK must be able to precede it.
    Bare,
    /// Through a portal at top level: it can commit, or must be in a block.
    Portal,
    /// Through SPI.
    Other,
}

/// Whether a text may hold several statements: it has a semicolon that is not at its end.
pub(super) fn holds_several(text: &str) -> bool {
    text.trim_end()
        .trim_end_matches(';')
        .trim_end()
        .contains(';')
}

/// Whether the first word of a text allows for a statement that SPI does not execute.
pub(super) fn may_be_utility(text: &str) -> bool {
    const WORDS: [&str; 15] = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "prepare",
        "set",
        "reset",
        "lock",
        "call",
        "declare",
        "do",
    ];
    let text = text.trim_start();
    // A comment or a variable may hide any statement.
    text.starts_with("/*")
        || text.starts_with("--")
        || text.starts_with(':')
        || begins_with(text, &WORDS)
}

/// Whether the first word of a text is one of these.
pub(super) fn begins_with(text: &str, words: &[&str]) -> bool {
    let word = text
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The single statement of a text, unless SPI executes it, and its kind; in the current memory
/// context.
///
/// # Safety
/// In a transaction.
pub(super) unsafe fn parse_utility(
    text: &CString,
) -> Option<(*mut pg_sys::RawStmt, StatementKind)> {
    // SAFETY: the caller's promise.
    unsafe {
        let list = parse(text);
        let (Some(raw), 1) = (list.get_ptr(0), list.len()) else {
            return None;
        };
        let kind = kind_of((*raw).stmt);
        (kind != StatementKind::Other).then_some((raw, kind))
    }
}

/// Kind of execution by which the server's own statement loop would execute this statement. A
/// failed block accepts what ends it or returns to a savepoint.
///
/// # Safety
/// The node is a parsed statement.
pub(super) unsafe fn kind_of(statement: *mut pg_sys::Node) -> StatementKind {
    use pg_sys::NodeTag::*;
    use pg_sys::TransactionStmtKind::*;
    // SAFETY: the caller's promise.
    match unsafe { (*statement).type_ } {
        T_TransactionStmt => {
            // SAFETY: the tag tells the type.
            let kind = unsafe { (*statement.cast::<pg_sys::TransactionStmt>()).kind };
            StatementKind::Control {
                exits: matches!(
                    kind,
                    TRANS_STMT_COMMIT
                        | TRANS_STMT_PREPARE
                        | TRANS_STMT_ROLLBACK
                        | TRANS_STMT_ROLLBACK_TO
                ),
            }
        }
        T_VariableSetStmt | T_ConstraintsSetStmt | T_LockStmt => StatementKind::Bare,
        T_CallStmt | T_DoStmt | T_DeclareCursorStmt => StatementKind::Portal,
        _ => StatementKind::Other,
    }
}
