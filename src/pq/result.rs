//! A result; dropping it frees it.

use super::text::text;
use pq_sys as pq;
use std::ffi::c_int;

/// Status of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A command without rows, or an empty query.
    Command,
    /// Rows.
    Rows,
    /// COPY, in either direction.
    Copy,
    /// The end of an implicit transaction of a pipeline.
    Sync,
    /// Not executed, because an earlier command of the pipeline has failed.
    Skipped,
    /// An error.
    Error,
}

/// A result. Dropping it frees it.
pub struct PqResult(pub(super) *mut pq::PGresult);

impl PqResult {
    /// Status.
    #[inline]
    pub fn status(&self) -> Status {
        use pq::ExecStatusType::*;
        match self.ask(pq::PQresultStatus) {
            PGRES_COMMAND_OK | PGRES_EMPTY_QUERY => Status::Command,
            PGRES_PIPELINE_SYNC => Status::Sync,
            PGRES_PIPELINE_ABORTED => Status::Skipped,
            PGRES_TUPLES_OK | PGRES_SINGLE_TUPLE => Status::Rows,
            PGRES_COPY_IN | PGRES_COPY_OUT | PGRES_COPY_BOTH => Status::Copy,
            _ => Status::Error,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.ask(pq::PQntuples)).unwrap_or(0)
    }

    /// The command and the number of its rows, as psql shows them; empty after an error.
    pub fn command_tag(&self) -> String {
        // SAFETY: libpq returns a text that lives as long as the result.
        unsafe { text(pq::PQcmdStatus(self.0)) }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        usize::try_from(self.ask(pq::PQnfields)).unwrap_or(0)
    }

    /// The name of a column.
    pub fn column_name(&self, column: usize) -> String {
        // SAFETY: libpq returns a text that lives as long as the result, or null for a column that
        // does not exist.
        unsafe { text(pq::PQfname(self.0, column as c_int)) }
    }

    /// A value in text form, which lives as long as the result; `None` for NULL, and for a place
    /// outside of the result.
    pub fn value(&self, row: usize, column: usize) -> Option<&[u8]> {
        let (row, column) = (row as c_int, column as c_int);
        // SAFETY: the result exists; places outside of it are NULL. The value has the length that
        // libpq tells.
        unsafe {
            if pq::PQgetisnull(self.0, row, column) != 0 {
                return None;
            }
            let bytes = pq::PQgetvalue(self.0, row, column).cast::<u8>();
            let length = usize::try_from(pq::PQgetlength(self.0, row, column)).unwrap_or(0);
            Some(std::slice::from_raw_parts(bytes, length))
        }
    }

    /// The server's message, as psql shows it.
    pub fn error_message(&self) -> String {
        // SAFETY: libpq returns a text that lives as long as the result.
        unsafe { text(pq::PQresultErrorMessage(self.0)) }
    }

    /// SQLSTATE of an error, if the server sent one.
    pub fn sqlstate(&self) -> Option<String> {
        self.error_field(b'C')
    }

    /// The message of an error alone, without the severity before it and the details after it.
    pub fn primary_message(&self) -> Option<String> {
        self.error_field(b'M')
    }

    /// The detail of an error.
    pub fn detail(&self) -> Option<String> {
        self.error_field(b'D')
    }

    /// The hint of an error.
    pub fn hint(&self) -> Option<String> {
        self.error_field(b'H')
    }

    fn error_field(&self, code: u8) -> Option<String> {
        // SAFETY: null if there is no such field, else a text that lives as long as the result.
        unsafe {
            let field = pq::PQresultErrorField(self.0, c_int::from(code));
            (!field.is_null()).then(|| text(field))
        }
    }

    /// A property of the result, by libpq's function for it.
    #[inline(always)]
    fn ask<T>(&self, function: unsafe extern "C" fn(*const pq::PGresult) -> T) -> T {
        // SAFETY: the result exists.
        unsafe { function(self.0) }
    }
}

impl Drop for PqResult {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { pq::PQclear(self.0) };
    }
}
