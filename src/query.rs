//! Reading queries of our own, without marking the transaction as one that writes, and under a
//! snapshot of this moment.
//!
//! The convenience functions of the SPI binding assign a transaction id first; in the caller's
//! backend that would keep dead rows from being removed for the whole run, and would fail on a
//! standby. The snapshot of the calling statement is of no use: a caller that has waited no longer
//! advertises it (see `backend::horizon`), so that rows which it sees may be gone.

use crate::error::Result;
use pgrx::datum::{DatumWithOid, FromDatum, IntoDatum};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::SpiTupleTable;
use std::ffi::CStr;

/// The first column of the first row; `None` if there is no row or it is NULL.
pub fn one<T: FromDatum + IntoDatum>(sql: &str, arguments: &[DatumWithOid]) -> Result<Option<T>> {
    select(sql, Some(1), arguments, |mut rows| match rows.next() {
        None => Ok(None),
        Some(row) => Ok(row.get::<T>(1)?),
    })
}

/// The first row of a query whose columns are all texts; empty if there is no row.
pub fn first_row(sql: &str) -> Result<Vec<Option<String>>> {
    select(sql, Some(1), &[], |mut rows| match rows.next() {
        None => Ok(Vec::new()),
        Some(row) => Ok((1..=row.columns())
            .map(|column| row.get::<String>(column))
            .collect::<Result<_, _>>()?),
    })
}

/// The first two columns of the first row.
pub fn two<A: FromDatum + IntoDatum, B: FromDatum + IntoDatum>(
    sql: &str,
    arguments: &[DatumWithOid],
) -> Result<(Option<A>, Option<B>)> {
    select(sql, Some(1), arguments, |mut rows| match rows.next() {
        None => Ok((None, None)),
        Some(row) => Ok((row.get::<A>(1)?, row.get::<B>(2)?)),
    })
}

/// The first column of a query's rows, which are texts, with one parameter of type `bigint`. What is
/// not UTF-8 in them, such as the name of a role in a database of another encoding, is replaced.
pub fn latest(sql: &str, parameter: i64) -> Result<Vec<String>> {
    select(sql, None, &[parameter.into()], |rows| {
        let mut texts = Vec::new();
        for row in rows {
            texts.extend(row.get::<AnyText>(1)?.map(|text| text.0));
        }
        Ok(texts)
    })
}

/// A text in whatever encoding the database has.
struct AnyText(String);

impl FromDatum for AnyText {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _oid: pg_sys::Oid,
    ) -> Option<AnyText> {
        if is_null {
            return None;
        }
        // SAFETY: the caller promises a value of that type; the copy ends in a zero byte.
        unsafe {
            let copy = pg_sys::text_to_cstring(datum.cast_mut_ptr());
            let text = CStr::from_ptr(copy).to_string_lossy().into_owned();
            pg_sys::pfree(copy.cast());
            Some(AnyText(text))
        }
    }
}

impl IntoDatum for AnyText {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        None
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TEXTOID
    }
}

/// Runs a query and reads its rows.
fn select<T>(
    sql: &str,
    limit: Option<i64>,
    arguments: &[DatumWithOid],
    read: impl FnOnce(SpiTupleTable) -> Result<T>,
) -> Result<T> {
    // SAFETY: in a transaction. An error that the server raises leaves the snapshot to the abort of
    // the transaction; whatever else happens, it is taken from the stack again.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
    let result = Spi::connect(|client| read(client.select(sql, limit, arguments)?));
    // SAFETY: the one that was pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
    result
}
