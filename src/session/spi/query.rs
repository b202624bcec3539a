//! Queries through SPI itself: its preparation, its execution, its result.

use super::errors::check_spi;
use super::plan::ParameterValues;
use crate::error::Result;
use crate::session::column::column_value;
use crate::text::stores_unicode;
use pgrx::pg_sys;
use selfbench_client::{Column, ColumnValue, QueryResult};
use std::ffi::{CStr, CString};

/// Runs `body` connected to SPI and with a snapshot.
#[inline]
pub(super) fn in_spi(body: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: in a transaction; an error skips the end, and the abort of the transaction does the
    // cleaning up.
    unsafe {
        pg_sys::SPI_connect();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        body()?;
        pg_sys::SPI_finish();
        pg_sys::PopActiveSnapshot();
    }
    Ok(())
}

/// # Safety
/// Connected to SPI.
pub(super) unsafe fn prepare(
    sql: &CString,
    parameters: &ParameterValues,
) -> Result<pg_sys::SPIPlanPtr> {
    let mut oids = parameters.types();
    // SAFETY: the caller's promise.
    // Parallel plans are allowed, as for a statement from a client.
    let plan = unsafe {
        pg_sys::SPI_prepare_cursor(
            sql.as_ptr(),
            oids.len() as i32,
            oids.as_mut_ptr(),
            pg_sys::CURSOR_OPT_PARALLEL_OK as i32,
        )
    };
    if plan.is_null() {
        // SAFETY: set by the call that failed.
        check_spi(unsafe { pg_sys::SPI_result }, sql)?;
    }
    Ok(plan)
}

/// Executes a text through SPI, in a statement.
#[inline]
pub(super) fn execute_text(sql: &CString, results: Option<&mut Vec<QueryResult>>) -> Result<()> {
    in_spi(|| {
        // SAFETY: connected to SPI; the text ends in a zero byte.
        unsafe {
            let options = options(std::ptr::null_mut(), results.is_some());
            check_spi(pg_sys::SPI_execute_extended(sql.as_ptr(), &options), sql)?;
            if let Some(results) = results {
                results.push(result_of_spi());
            }
        }
        Ok(())
    })
}

/// Options of an execution with these parameters; `collect` is whether rows are kept.
pub(super) fn options(values: pg_sys::ParamListInfo, collect: bool) -> pg_sys::SPIExecuteOptions {
    pg_sys::SPIExecuteOptions {
        params: values,
        dest: if collect {
            std::ptr::null_mut()
        } else {
            // SAFETY: the receiver that discards rows is always there.
            unsafe { pg_sys::None_Receiver }
        },
        ..Default::default()
    }
}

/// Result of the last SPI execution for `\gset` and `\aset`.
///
/// # Safety
/// Connected to SPI, after an execution that was successful.
pub(super) unsafe fn result_of_spi() -> QueryResult {
    // SAFETY: the caller's promise; the table has as many rows as it says, and names and values
    // are texts that end in a zero byte.
    unsafe {
        let table = pg_sys::SPI_tuptable;
        if table.is_null() {
            return QueryResult::default();
        }
        let rows = (*table).numvals;
        let mut last_row = Vec::new();
        if let Some(row) = usize::try_from(rows).unwrap_or(0).checked_sub(1) {
            let row = *(*table).vals.add(row);
            for column in 1..=(*(*table).tupdesc).natts {
                let name = pg_sys::SPI_fname((*table).tupdesc, column);
                let value = pg_sys::SPI_getvalue(row, (*table).tupdesc, column);
                last_row.push(Column {
                    name: CStr::from_ptr(name).to_string_lossy().into_owned(),
                    value: if value.is_null() {
                        ColumnValue::Null
                    } else {
                        own_value(CStr::from_ptr(value).to_bytes())
                    },
                });
            }
        }
        QueryResult { rows, last_row }
    }
}

/// A value in the encoding of the database.
fn own_value(bytes: &[u8]) -> ColumnValue {
    match bytes.is_ascii() || stores_unicode() {
        true => column_value(bytes),
        false => ColumnValue::NotAscii,
    }
}
