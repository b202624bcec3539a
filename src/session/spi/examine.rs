//! Parsing a statement before its first execution: its kind, and the types of its parameters.

use super::classify::{StatementKind, holds_several, may_be_utility, parse_utility};
use super::command::{CommandState, in_statement};
use super::errors::{refuse_in_failed_block, zero_terminated};
use super::plan::{ParameterValues, SavedPlan};
use super::utility::saved_plan_of;
use crate::backend::analysis::analyze;
use crate::error::{Error, Result};
use pgrx::{PgSqlErrorCode as Sqlstate, pg_sys};
use selfbench_script::{Protocol, SqlCommand};
use std::ffi::CString;

/// A statement that has been examined.
pub(super) enum ExaminedStatement {
    /// BEGIN, COMMIT, SAVEPOINT and similar, and other commands that must run without a snapshot.
    Utility {
        plan: *mut pg_sys::PlannedStmt,
        kind: StatementKind,
        text: CString,
    },
    /// Several statements that are sent together, or one of which the kind depends on variables.
    Several,
    /// CALL, DO or DECLARE CURSOR; with a saved plan in the prepared protocol.
    Call {
        parameters: ParameterValues,
        plan: Option<SavedPlan>,
        text: CString,
    },
    /// Anything else; with a saved plan in the prepared protocol.
    Statement {
        parameters: ParameterValues,
        plan: Option<SavedPlan>,
        text: CString,
    },
}

/// Parses a statement for the first time: how is it executed, and which types do its parameters
/// have? `state` is that of the transaction command in progress.
pub(super) fn examine(
    command: &SqlCommand,
    protocol: Protocol,
    state: CommandState,
) -> Result<ExaminedStatement> {
    if protocol == Protocol::Simple {
        let text = command.text();
        // Its kind depends on the values of its variables.
        if holds_several(text) || (text.contains(':') && may_be_utility(text)) {
            return Ok(ExaminedStatement::Several);
        }
    }
    let sql = match protocol {
        // Parsed again at each execution, with its values; here only its kind matters.
        Protocol::Simple => command.text(),
        Protocol::Extended | Protocol::Prepared => command.parameterized(),
    };
    let text = zero_terminated(sql.to_owned())?;
    let mut examined = None;
    // Unless a command has been started, one of its own: a pipeline begins with what is
    // executed.
    let mut state = CommandState {
        stays: state.started,
        ..state
    };
    in_statement::<false>(&text, &mut state, || {
        // SAFETY: in a transaction. What must outlive it is copied to the top context, once
        // per statement of the script.
        unsafe {
            let parsed = if may_be_utility(sql) {
                parse_utility(&text)
            } else {
                None
            };
            if let Some((raw, kind)) = parsed
                && kind != StatementKind::Portal
            {
                if protocol != Protocol::Simple {
                    refuse_in_failed_block(kind)?;
                    require_parameters(command, protocol, 0)?;
                }
                examined = Some(ExaminedStatement::Utility {
                    plan: saved_plan_of(raw, &text),
                    kind,
                    text: text.clone(),
                });
                return Ok(());
            }
            let mut types = Vec::new();
            if protocol != Protocol::Simple {
                refuse_in_failed_block(StatementKind::Other)?;
                types = analyze(&text)?.parameters;
                require_parameters(command, protocol, types.len())?;
            }
            let (parameters, plan) = (ParameterValues::look_up(&types), None);
            let text = text.clone();
            examined = Some(match parsed {
                Some(_) => ExaminedStatement::Call {
                    parameters,
                    plan,
                    text,
                },
                None => ExaminedStatement::Statement {
                    parameters,
                    plan,
                    text,
                },
            });
        }
        Ok(())
    })?;
    examined.ok_or_else(|| Error::Limit("statement was not examined".into()))
}

/// Variables within quotes are parameters for the client, but not for the server, which therefore
/// rejects the statement.
fn require_parameters(command: &SqlCommand, protocol: Protocol, required: usize) -> Result<()> {
    let supplied = command.parameters().len();
    if supplied == required {
        return Ok(());
    }
    let name = match protocol {
        Protocol::Prepared => command.prepared_name(),
        _ => String::new(),
    };
    Err(Error::server(
        Sqlstate::ERRCODE_PROTOCOL_VIOLATION,
        format!(
            "bind message supplies {supplied} parameters, but prepared statement \"{name}\" \
             requires {required}"
        ),
    ))
}
