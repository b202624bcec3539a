//! Reading queries of our own, without marking the transaction as one that writes.
//!
//! The convenience functions of the SPI binding assign a transaction id first; in the caller's
//! backend that would keep dead rows from being removed for the whole run, and would fail on a
//! standby.

use crate::error::{Error, Result};
use pgrx::datum::{DatumWithOid, FromDatum, IntoDatum};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, CString};

/// The first column of the first row; `None` if there is no row or it is NULL.
pub fn one<T: FromDatum + IntoDatum>(sql: &str, arguments: &[DatumWithOid]) -> Result<Option<T>> {
    Spi::connect(|client| {
        let mut rows = client.select(sql, Some(1), arguments)?;
        match rows.next() {
            None => Ok(None),
            Some(row) => Ok(row.get::<T>(1)?),
        }
    })
}

/// The first row of a query whose columns are all texts; empty if there is no row.
pub fn first_row(sql: &str) -> Result<Vec<Option<String>>> {
    Spi::connect(|client| {
        let mut rows = client.select(sql, Some(1), &[])?;
        match rows.next() {
            None => Ok(Vec::new()),
            Some(row) => Ok((1..=row.columns())
                .map(|column| row.get::<String>(column))
                .collect::<Result<_, _>>()?),
        }
    })
}

/// The first two columns of the first row.
pub fn two<A: FromDatum + IntoDatum, B: FromDatum + IntoDatum>(
    sql: &str,
    arguments: &[DatumWithOid],
) -> Result<(Option<A>, Option<B>)> {
    Spi::connect(|client| {
        let mut rows = client.select(sql, Some(1), arguments)?;
        match rows.next() {
            None => Ok((None, None)),
            Some(row) => Ok((row.get::<A>(1)?, row.get::<B>(2)?)),
        }
    })
}

/// The first column of a query's rows, which are texts, with one parameter of type `bigint`: as
/// they are now, whatever the snapshot of the calling statement is.
pub fn latest(sql: &str, parameter: i64) -> Result<Vec<String>> {
    let sql = CString::new(sql).unwrap_or_default();
    let mut types = [pg_sys::INT8OID];
    let mut values = [pg_sys::Datum::from(parameter)];
    // SAFETY: connected to SPI; one parameter of the type given; the rows are read before the
    // connection ends.
    Spi::connect(|_| unsafe {
        let plan = pg_sys::SPI_prepare(sql.as_ptr(), 1, types.as_mut_ptr());
        if plan.is_null() {
            return Err(Error::Limit(
                "cannot prepare a query on the result tables".into(),
            ));
        }
        pg_sys::SPI_execute_snapshot(
            plan,
            values.as_mut_ptr(),
            std::ptr::null(),
            pg_sys::GetLatestSnapshot(),
            std::ptr::null_mut(),
            true,
            false,
            0,
        );
        let table = pg_sys::SPI_tuptable;
        if table.is_null() {
            return Ok(Vec::new());
        }
        let mut texts = Vec::new();
        for i in 0..(*table).numvals as usize {
            let value = pg_sys::SPI_getvalue(*(*table).vals.add(i), (*table).tupdesc, 1);
            if !value.is_null() {
                texts.push(CStr::from_ptr(value).to_string_lossy().into_owned());
            }
        }
        Ok(texts)
    })
}
