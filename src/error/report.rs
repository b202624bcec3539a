//! An error in the form in which it crosses process boundaries.

use super::sqlstate::{decode, noted};
use crate::text::c_text;
use pgrx::PgSqlErrorCode as Sqlstate;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReportWithLevel;
use serde::{Deserialize, Serialize};

/// An error as PostgreSQL shows it; the form in which errors cross process boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Five-character SQLSTATE.
    pub sqlstate: String,
    /// Primary message: lower case, no full stop.
    pub message: String,
    /// DETAIL line.
    pub detail: Option<String>,
    /// HINT line.
    pub hint: Option<String>,
}

impl Report {
    /// A report with one of the server's SQLSTATEs, without detail and hint.
    pub fn new(sqlstate: Sqlstate, message: impl Into<String>) -> Report {
        Report {
            sqlstate: decode(sqlstate as i32),
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    /// The report of a lost connection, with libpq's message.
    pub fn of_lost_connection(message: String) -> Report {
        Report::new(Sqlstate::ERRCODE_CONNECTION_FAILURE, message)
    }

    /// Whether it reports that a process was terminated by another one.
    pub fn is_shutdown(&self) -> bool {
        self.sqlstate == decode(Sqlstate::ERRCODE_ADMIN_SHUTDOWN as i32)
    }

    /// The message and, in parentheses, its detail: one line for logs and result tables.
    pub fn one_line(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({})", self.message, detail),
            None => self.message.clone(),
        }
    }
}

impl From<&ErrorReportWithLevel> for Report {
    fn from(report: &ErrorReportWithLevel) -> Self {
        Report {
            sqlstate: noted(report.sql_error_code()),
            message: report.message().to_owned(),
            detail: report.detail().map(str::to_owned),
            hint: report.hint().map(str::to_owned),
        }
    }
}

/// The report of an error of the server.
///
/// # Safety
/// Its texts must end in a zero byte or be null.
pub unsafe fn report_of(error: &pg_sys::ErrorData) -> Report {
    let text = |text: *mut std::ffi::c_char| {
        // SAFETY: the caller's promise.
        (!text.is_null()).then(|| unsafe { c_text(text) })
    };
    Report {
        sqlstate: decode(error.sqlerrcode),
        message: text(error.message).unwrap_or_default(),
        detail: text(error.detail),
        hint: text(error.hint),
    }
}
