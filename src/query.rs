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
