//! Internal queries that only read, without assigning a transaction ID, and under a new snapshot.
//!
//! The convenience functions of the SPI binding assign a transaction ID first. In the caller's
//! backend this would keep dead rows from being removed during the whole run, and it would fail on
//! a standby. The snapshot of the calling statement cannot be used: a caller that has waited no
//! longer advertises it (see `backend::horizon`), so rows that it sees may have been removed.
//!
//! Each query runs in a subtransaction that is rolled back: a caller that waits must not keep the
//! query's locks, which would block maintenance of the catalogs. So a lock that is to be kept cannot
//! be taken by a query here, unless it belongs to the session.

use crate::error::{Error, Result};
use crate::state::transaction::{InTransaction, in_own_memory, rolled_back, with_snapshot};
use crate::text::{AnyText, TextArray};
use pgrx::AllocatedByRust;
use pgrx::datum::{DatumWithOid, FromDatum, IntoDatum};
use pgrx::heap_tuple::PgHeapTuple;
use pgrx::prelude::*;
use pgrx::spi::{OwnedPreparedStatement, Query, SpiHeapTupleData, SpiTupleTable};

/// A row of texts, each of which may be NULL.
pub type Texts = Vec<Option<String>>;

/// The first column of the first row; `None` if there is no row or it is NULL.
pub fn first_value<T: FromDatum + IntoDatum>(
    sql: &str,
    arguments: &[DatumWithOid],
) -> Result<Option<T>> {
    select(sql, Some(1), arguments, |mut rows| match rows.next() {
        None => Ok(None),
        Some(row) => Ok(row.get::<T>(1)?),
    })
}

/// The first row of a query whose columns are all texts; empty if there is no row.
pub fn first_row(sql: &str) -> Result<Vec<Option<String>>> {
    select(sql, Some(1), &[], texts_of_first_row)
}

/// The rows of a query whose columns are all texts.
pub fn rows_of_texts(sql: &str) -> Result<Vec<Texts>> {
    select(sql, None, &[], |rows| rows.map(|row| texts(&row)).collect())
}

/// The rows of a query whose columns are all texts, as many of the first as have at most that many bytes together;
/// whether these are all. They are fetched as they are read: all of them might not fit into memory.
pub fn rows_within(bytes: usize, sql: &str) -> Result<(Vec<Texts>, bool)> {
    /// Rows that are fetched at a time.
    const FEW: i32 = 10;
    rolled_back(InTransaction::current()?, || {
        let cursor = Cursor::open(sql, &[])?;
        let (mut rows, mut left) = (Vec::new(), Some(bytes));
        loop {
            let fetched = cursor.fetch_rows(FEW, |row| {
                let row = texts(&row)?;
                left = left.and_then(|left| left.checked_sub(size(&row)));
                rows.extend(left.map(|_| row));
                Ok(())
            })?;
            pgrx::check_for_interrupts!();
            if fetched == 0 || left.is_none() {
                return Ok((rows, left.is_some()));
            }
        }
    })
}

/// The bytes of the texts of a row.
pub fn size(row: &Texts) -> usize {
    row.iter().flatten().map(String::len).sum()
}

fn texts_of_first_row(mut rows: SpiTupleTable) -> Result<Texts> {
    rows.next().map_or(Ok(Vec::new()), |row| texts(&row))
}

fn texts(row: &SpiHeapTupleData) -> Result<Texts> {
    (1..=row.columns())
        .map(|column| Ok(row.get::<AnyText>(column)?.map(|text| text.0)))
        .collect()
}

/// The first two columns of the first row.
pub fn first_two_values<A: FromDatum + IntoDatum, B: FromDatum + IntoDatum>(
    sql: &str,
    arguments: &[DatumWithOid],
) -> Result<(Option<A>, Option<B>)> {
    select(sql, Some(1), arguments, |mut rows| match rows.next() {
        None => Ok((None, None)),
        Some(row) => Ok((row.get::<A>(1)?, row.get::<B>(2)?)),
    })
}

/// The first column, of type `text`, of a query's rows, with one parameter of type `bigint`. Bytes
/// that are not UTF-8 are replaced, such as those of role names in a database of another encoding.
pub fn first_column(sql: &str, parameter: i64) -> Result<Vec<String>> {
    select(sql, None, &[parameter.into()], texts_of_first_column)
}

fn texts_of_first_column(rows: SpiTupleTable) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for row in rows {
        texts.extend(row.get::<AnyText>(1)?.map(|text| text.0));
    }
    Ok(texts)
}

/// The first column of a query with more columns, and whether each of those is numeric.
pub fn first_column_and_numbers(sql: &str, parameter: i64) -> Result<(Vec<String>, Vec<bool>)> {
    select(sql, None, &[parameter.into()], |rows| {
        let numbers =
            (2..=rows.columns()?).map(|column| Ok(is_number(rows.column_type_oid(column)?)));
        let numbers = numbers.collect::<Result<Vec<bool>>>()?;
        Ok((texts_of_first_column(rows)?, numbers))
    })
}

/// The names of the columns of a query, which is planned and not executed.
pub fn columns(sql: &str, arguments: &[DatumWithOid]) -> Result<Vec<String>> {
    let none = format!("SELECT * FROM ({sql}\n) r LIMIT 0");
    select(none.as_str(), None, arguments, |rows| {
        let names = (1..=rows.columns()?).map(|column| Ok(rows.column_name(column)?));
        names.collect()
    })
}

fn is_number(of: PgOid) -> bool {
    type Kind = PgBuiltInOids;
    matches!(
        of,
        PgOid::BuiltIn(
            Kind::INT2OID
                | Kind::INT4OID
                | Kind::INT8OID
                | Kind::FLOAT4OID
                | Kind::FLOAT8OID
                | Kind::NUMERICOID
        )
    )
}

/// The rows of a query with two columns, a number and bytes.
pub fn numbered_bytes(
    sql: &str,
    arguments: &[DatumWithOid],
    mut each: impl FnMut(i32, &[u8]) -> Result<()>,
) -> Result<()> {
    let now = InTransaction::current()?;
    select(sql, None, arguments, |rows| {
        in_own_memory(now, || {
            for row in rows {
                if let (Some(number), Some(bytes)) = (row.get::<i32>(1)?, row.get::<&[u8]>(2)?) {
                    each(number, bytes)?;
                }
            }
            Ok(())
        })
    })
}

/// Rows of arrays that are fetched at a time.
const BATCH: i32 = 100;

/// The rows of a query with two columns, a number and an array of texts in the encoding of the database. They
/// are fetched as they are read: all of them might not fit into memory.
pub fn text_arrays(
    sql: &str,
    arguments: &[DatumWithOid],
    mut each: impl FnMut(i32, Vec<Option<Vec<u8>>>) -> Result<()>,
) -> Result<()> {
    rolled_back(InTransaction::current()?, || {
        let cursor = Cursor::open(sql, arguments)?;
        let mut read = |row: SpiHeapTupleData| match (row.get(1)?, row.get(2)?) {
            (Some(number), Some(TextArray(texts))) => each(number, texts),
            _ => Ok(()),
        };
        while cursor.fetch_rows(BATCH, &mut read)? > 0 {
            pgrx::check_for_interrupts!();
        }
        Ok(())
    })
}

/// The rows of a query whose columns are all of type `float8`, with one parameter of type `bigint`.
/// Fails if a value is not a finite number.
pub fn numbers<const COLUMNS: usize>(
    sql: &str,
    parameter: i64,
) -> Result<Vec<[Option<f64>; COLUMNS]>> {
    select(sql, None, &[parameter.into()], |rows| {
        rows.map(|row| {
            let mut numbers = [None; COLUMNS];
            for (column, number) in (1..).zip(&mut numbers) {
                *number = row.get::<f64>(column)?;
                if number.is_some_and(|number| !number.is_finite()) {
                    return Err(Error::Limit("a stored number is not finite".into()));
                }
            }
            Ok(numbers)
        })
        .collect()
    })
}

/// A text as an SQL literal that is valid for any value of `standard_conforming_strings`.
pub fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

/// A value of a composite type, which belongs to the memory of the transaction.
pub type Composite = PgHeapTuple<'static, AllocatedByRust>;

/// The only column of the only row of a query with one parameter, which reads no table: a value of a
/// composite type, which refers to this type as long as it lives.
pub fn record(sql: &str, parameter: String) -> Result<Composite> {
    select_and_keep(sql, Some(1), &[parameter.into()], |rows| {
        let record = rows.first().get::<Composite>(1)?;
        record.ok_or_else(|| Error::Limit("cannot form a result".into()))
    })
}

/// A query that is executed often: planned once, its plan kept until this process ends.
pub struct SavedQuery(OwnedPreparedStatement);

impl SavedQuery {
    /// Plans a query with parameters of these types, for executions with the same `search_path`.
    pub fn prepare(sql: &str, types: &[PgOid]) -> Result<SavedQuery> {
        with_snapshot(InTransaction::current()?, || {
            Spi::connect(|client| Ok(SavedQuery(client.prepare(sql, types)?.keep())))
        })
    }

    /// The first row, whose columns are all texts; empty if there is no row.
    pub fn first_row(&self, arguments: &[DatumWithOid]) -> Result<Vec<Option<String>>> {
        select(&self.0, Some(1), arguments, texts_of_first_row)
    }
}

/// The name of a cursor for the rows of a query, in one transaction.
pub struct Cursor(String);

impl Cursor {
    /// Begins to execute a query.
    pub fn open(sql: &str, arguments: &[DatumWithOid]) -> Result<Cursor> {
        with_snapshot(InTransaction::current()?, || {
            Spi::connect(|client| {
                let cursor = client.try_open_cursor(sql, arguments)?;
                Ok(Cursor(cursor.detach_into_name()))
            })
        })
    }

    /// Fetches up to that many rows of one column of bytes; returns their number, 0 at the end.
    pub fn fetch(&self, most: i32, mut each: impl FnMut(&[u8])) -> Result<u64> {
        self.fetch_rows(most, |row| {
            row.get::<&[u8]>(1)?.into_iter().for_each(&mut each);
            Ok(())
        })
    }

    fn fetch_rows(
        &self,
        most: i32,
        mut each: impl FnMut(SpiHeapTupleData) -> Result<()>,
    ) -> Result<u64> {
        let now = InTransaction::current()?;
        // Its end releases the rows and their values.
        Spi::connect(|client| {
            let mut cursor = client.find_cursor(&self.0)?;
            let fetched = cursor.fetch(most.into())?;
            let rows = in_own_memory(now, || {
                let mut rows = 0;
                for row in fetched {
                    each(row)?;
                    rows += 1;
                }
                Ok(rows)
            });
            // Dropped, it would be closed.
            cursor.detach_into_name();
            rows
        })
    }
}

/// Runs a query, reads its rows, and releases its locks.
fn select<T>(
    query: impl for<'conn> Query<'conn>,
    limit: Option<i64>,
    arguments: &[DatumWithOid],
    read: impl FnOnce(SpiTupleTable) -> Result<T>,
) -> Result<T> {
    rolled_back(InTransaction::current()?, || {
        select_and_keep(query, limit, arguments, read)
    })
}

/// Runs a query and reads its rows, which may refer to what belongs to the transaction.
fn select_and_keep<T>(
    query: impl for<'conn> Query<'conn>,
    limit: Option<i64>,
    arguments: &[DatumWithOid],
    read: impl FnOnce(SpiTupleTable) -> Result<T>,
) -> Result<T> {
    with_snapshot(InTransaction::current()?, || {
        Spi::connect(|client| read(client.select(query, limit, arguments)?))
    })
}
