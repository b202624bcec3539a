//! Several statements that are sent together (`\;`).

use super::call::{call, define_portal};
use super::classify::{StatementKind, kind_of, parse_utility};
use super::command::{CommandState, in_statement};
use super::errors::{refuse_in_failed_block, zero_terminated};
use super::query::execute_text;
use super::utility::{plan_of, run_utility};
use crate::backend::statement::parse;
use crate::error::Result;
use pgrx::pg_sys;
use selfbench_client::QueryResult;
use std::ffi::CString;

/// Statements that are sent together, as the server's simple query protocol executes them: in an
/// implicit transaction block, unless transaction control among them says otherwise. `query` is set
/// to the position of the statement in progress.
pub(super) fn execute_several<const PARTS: bool>(
    sql: &CString,
    state: &mut CommandState,
    memory: pg_sys::MemoryContext,
    query: &mut usize,
    mut results: Option<&mut Vec<QueryResult>>,
) -> Result<()> {
    let mut statements = Vec::new();
    // A command of its own, so that nothing of the parser's outlives it. What does not parse is
    // not executed at all.
    in_statement::<PARTS>(
        sql,
        &mut CommandState {
            stays: true,
            ..*state
        },
        || {
            // SAFETY: in a transaction; only copies of the statements are kept.
            statements = unsafe { split(sql) }?;
            Ok(())
        },
    )?;
    state.started = true;
    let several = statements.len() > 1;
    let last = statements.len().saturating_sub(1);
    for (i, statement) in statements.iter().enumerate() {
        *query = i;
        state.stays = i < last && !matches!(statement.kind, StatementKind::Control { .. });
        in_statement::<PARTS>(&statement.text, state, || {
            refuse_in_failed_block(statement.kind)?;
            if several {
                // SAFETY: in a transaction; does nothing in a block.
                unsafe { pg_sys::BeginImplicitTransactionBlock() };
            }
            match statement.kind {
                StatementKind::Other => execute_text(&statement.text, results.as_deref_mut())?,
                // SAFETY: in a transaction; no parameters.
                StatementKind::Portal => unsafe {
                    call(memory, std::ptr::null_mut(), results.as_deref_mut(), || {
                        define_portal(&statement.text, &[])
                    });
                },
                StatementKind::Control { .. } | StatementKind::Bare => {
                    // SAFETY: in a transaction, with whose memory the plan goes.
                    unsafe {
                        if let Some((command, _)) = parse_utility(&statement.text) {
                            run_utility(plan_of(command, &statement.text), &statement.text);
                        }
                    }
                    if let Some(results) = results.as_deref_mut() {
                        results.push(QueryResult::default());
                    }
                }
            }
            if several && i == last {
                // SAFETY: as above.
                unsafe { pg_sys::EndImplicitTransactionBlock() };
            }
            Ok(())
        })?;
    }
    if statements.is_empty() {
        state.stays = false;
        return in_statement::<PARTS>(sql, state, || Ok(()));
    }
    Ok(())
}

/// One of the statements that are sent together.
struct SentStatement {
    text: CString,
    kind: StatementKind,
}

/// The statements of a text, without empty ones.
///
/// # Safety
/// In a transaction.
unsafe fn split(sql: &CString) -> Result<Vec<SentStatement>> {
    let mut statements = Vec::new();
    // SAFETY: the caller's promise. Places are offsets into the text.
    unsafe {
        for raw in parse(sql).iter_ptr() {
            let statement = (*raw).stmt;
            let rest = &sql.as_bytes()[usize::try_from((*raw).stmt_location).unwrap_or(0)..];
            // The last statement may have no length.
            let text = match usize::try_from((*raw).stmt_len) {
                Ok(length) if length > 0 => &rest[..length.min(rest.len())],
                _ => rest,
            };
            statements.push(SentStatement {
                text: zero_terminated(String::from_utf8_lossy(text).into_owned())?,
                kind: kind_of(statement),
            });
        }
    }
    Ok(statements)
}
