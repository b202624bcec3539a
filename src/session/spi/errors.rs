//! The errors of mode "spi".

use super::classify::{StatementKind, begins_with};
use crate::backend::statement::COPY_IN_SCRIPT;
use crate::error::{Error, Report, Result};
use pgrx::{PgSqlErrorCode as Sqlstate, pg_sys};
use selfbench_script::{SqlCommand, Variables};
use std::ffi::CString;

/// Turns an error code of SPI into an error that shows the statement.
#[inline]
pub(super) fn check_spi(code: i32, sql: &CString) -> Result<()> {
    if code >= 0 {
        return Ok(());
    }
    let message = match code {
        pg_sys::SPI_ERROR_COPY => COPY_IN_SCRIPT,
        pg_sys::SPI_ERROR_TRANSACTION => {
            "cannot combine transaction control with other statements in mode \"spi\""
        }
        _ => "cannot execute the statement in mode \"spi\"",
    };
    let mut report = unsupported(message, &sql.to_string_lossy());
    if code == pg_sys::SPI_ERROR_COPY {
        // Nor does mode libpq support it.
        report.hint = None;
    }
    Err(report.into())
}

/// Rejects all but the end of a failed block, as the server does.
#[inline]
pub(super) fn refuse_in_failed_block(kind: StatementKind) -> Result<()> {
    // SAFETY: reads this process's transaction state.
    let failed = unsafe { pg_sys::IsAbortedTransactionBlockState() };
    if failed && kind != (StatementKind::Control { exits: true }) {
        return Err(Error::server(
            Sqlstate::ERRCODE_IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ));
    }
    Ok(())
}

/// The text of a command with the values of its variables.
pub(super) fn fill_in(
    command: &SqlCommand,
    variables: &Variables,
    text: &mut String,
) -> Result<()> {
    command
        .simple_text(variables, text)
        .map_err(|error| Error::Limit(error.to_string()))
}

/// A text with a zero byte at its end; an error if it contains one.
pub(super) fn zero_terminated(text: String) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Limit("a statement contains a zero byte".into()))
}

/// Names the statement in the error of one that SPI cannot run, such as VACUUM: outside of a block
/// there is no other reason for "active SQL transaction", unless it comes from within CALL or DO.
pub(super) fn explain(report: Report, statement: &str, in_block: bool) -> Report {
    if report.sqlstate != "25001" || in_block || begins_with(statement, &["call", "do"]) {
        return report;
    }
    unsupported("cannot execute the statement in mode \"spi\"", statement)
}

/// The error for a statement that mode "spi" does not support.
pub(super) fn unsupported(message: &str, statement: &str) -> Report {
    let first_line = statement.lines().next().unwrap_or_default();
    Report {
        detail: Some(format!("The statement is: {first_line}")),
        hint: Some("Use mode => 'libpq'.".into()),
        ..Report::new(Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED, message)
    }
}

/// An error as libpq would show it.
pub(super) fn as_sent(report: &Report) -> String {
    let mut text = format!("ERROR:  {}", report.message);
    if let Some(detail) = &report.detail {
        text.push_str("\nDETAIL:  ");
        text.push_str(detail);
    }
    if let Some(hint) = &report.hint {
        text.push_str("\nHINT:  ");
        text.push_str(hint);
    }
    text
}
