//! Reading queries of our own, without marking the transaction as one that writes.
//!
//! The convenience functions of the SPI binding assign a transaction id first; in the caller's
//! backend that would keep dead rows from being removed for the whole run, and would fail on a
//! standby.

use crate::error::Result;
use pgrx::datum::{DatumWithOid, FromDatum, IntoDatum};
use pgrx::prelude::*;

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
