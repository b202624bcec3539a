//! Inserting and updating rows of the result tables.
//!
//! Rows are passed to the server as JSON, their columns by the names of their fields, several rows at
//! once. Histograms and scripts may be large: they are separate parameters, arrays of as many values.

use super::json::{json, names, storable};
use crate::error::{Error, Result};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use selfbench_model::{
    PgioRun, PgioSession, Run, RunBlocker, RunEnvironment, RunInterval, RunProfile, RunScript,
    RunServerInterval, RunStack, RunStatement, RunTable, RunTimes, RunWait,
};
use serde::Serialize;

/// At most this many rows are inserted by one statement.
const ROWS_AT_ONCE: usize = 100;
/// At most this many bytes of large columns, too, unless a single row has more.
const BYTES_AT_ONCE: usize = 1 << 20;

/// A row of a result table.
pub trait Row: Serialize {
    /// The table.
    const TABLE: &'static str;

    /// The columns that are not in the row's JSON.
    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        Vec::new()
    }

    /// The one of several rows that has all fields which any of them has; what others lack is NULL.
    fn widest(rows: &[Self]) -> Option<&Self>
    where
        Self: Sized,
    {
        rows.first()
    }
}

/// The value of such a column.
pub enum Large<'r> {
    /// A text.
    Text(&'r str),
    /// Bytes.
    Bytes(Option<&'r [u8]>),
}

impl<'r> Large<'r> {
    fn len(&self) -> usize {
        match self {
            Large::Text(text) => text.len(),
            Large::Bytes(bytes) => bytes.map_or(0, <[u8]>::len),
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Large::Text(text) => Some(storable(text).into_owned()),
            Large::Bytes(_) => None,
        }
    }

    fn bytes(&self) -> Option<&'r [u8]> {
        match self {
            Large::Text(_) => None,
            Large::Bytes(bytes) => *bytes,
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Large::Text(_))
    }
}

impl Row for Run {
    const TABLE: &'static str = "bench.runs";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![("histogram", bytes(&self.figures.histogram))]
    }
}

impl Row for RunScript {
    const TABLE: &'static str = "bench.run_scripts";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![
            ("body", Large::Text(&self.body)),
            ("histogram", bytes(&self.figures.histogram)),
        ]
    }
}

impl Row for RunStatement {
    const TABLE: &'static str = "bench.run_statements";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![("histogram", bytes(&self.histogram))]
    }
}

impl Row for RunInterval {
    const TABLE: &'static str = "bench.run_intervals";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![("histogram", bytes(&self.figures.histogram))]
    }
}

impl Row for RunTimes {
    const TABLE: &'static str = "bench.run_times";
}

impl Row for RunServerInterval {
    const TABLE: &'static str = "bench.run_server_intervals";
}

impl Row for RunEnvironment {
    const TABLE: &'static str = "bench.run_environment";
}

impl Row for RunWait {
    const TABLE: &'static str = "bench.run_waits";
}

impl Row for RunTable {
    const TABLE: &'static str = "bench.run_tables";
}

impl Row for RunStack {
    const TABLE: &'static str = "bench.run_stacks";
}

impl Row for RunProfile {
    const TABLE: &'static str = "bench.run_profiles";
}

impl Row for RunBlocker {
    const TABLE: &'static str = "bench.run_blockers";
}

impl Row for PgioRun {
    const TABLE: &'static str = "bench.pgio_runs";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![("read_histogram", bytes(&self.read_histogram))]
    }
}

impl Row for PgioSession {
    const TABLE: &'static str = "bench.pgio_sessions";

    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        vec![
            ("select_histogram", bytes(&self.select_histogram)),
            ("update_histogram", bytes(&self.update_histogram)),
            ("read_histogram", bytes(&self.read_histogram)),
        ]
    }

    fn widest(rows: &[PgioSession]) -> Option<&PgioSession> {
        rows.iter()
            .find(|session| session.usage.is_some())
            .or(rows.first())
    }
}

fn bytes(histogram: &Option<Vec<u8>>) -> Large<'_> {
    Large::Bytes(histogram.as_deref())
}

/// Inserts rows. A statement for many of them takes half the time of one for each.
pub fn insert<R: Row>(rows: &[R]) -> Result<()> {
    let Some(widest) = R::widest(rows) else {
        return Ok(());
    };
    let (names, values): (Vec<_>, Vec<_>) = columns(widest)?.into_iter().unzip();
    let sql = format!(
        "INSERT INTO {} ({}) SELECT {} FROM {}",
        R::TABLE,
        names.join(", "),
        values.join(", "),
        records::<R>()
    );
    Spi::connect_mut(|client| {
        let insert = client.prepare_mut(sql.as_str(), &types(widest))?;
        let mut rows = rows;
        while !rows.is_empty() {
            let (batch, others) = rows.split_at(batch(rows));
            client.update(&insert, None, &arguments(batch)?)?;
            rows = others;
        }
        Ok(())
    })
}

/// How many of these rows, from the first, one statement inserts.
fn batch<R: Row>(rows: &[R]) -> usize {
    let mut bytes = 0;
    let fits = |row: &&R| {
        bytes += row
            .large()
            .iter()
            .map(|(_, value)| value.len())
            .sum::<usize>();
        bytes <= BYTES_AT_ONCE
    };
    rows.iter()
        .take(ROWS_AT_ONCE)
        .take_while(fits)
        .count()
        .max(1)
}

/// Replaces the stored row of a run; fails if it has been deleted.
pub fn update(run: &Run) -> Result<()> {
    let columns: Vec<String> = columns(run)?
        .into_iter()
        .filter(|(name, _)| name != "run_id")
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let sql = format!(
        "UPDATE bench.runs r SET {} FROM {} WHERE r.run_id = n.run_id RETURNING r.run_id",
        columns.join(", "),
        records::<Run>()
    );
    let arguments = arguments(std::slice::from_ref(run))?;
    let updated = Spi::connect_mut(|client| {
        client
            .update(sql.as_str(), None, &arguments)
            .map(|rows| rows.len())
    })?;
    match updated {
        0 => Err(Error::RunDeleted { run_id: run.run_id }),
        _ => Ok(()),
    }
}

/// The records `n` that are made of the first parameter, in its order.
fn records<R: Row>() -> String {
    let table = R::TABLE;
    format!("json_populate_recordset(NULL::{table}, $1::json) WITH ORDINALITY n")
}

/// The columns of a row, and where their values come from: a record, or the element of a parameter of
/// their own that belongs to it.
fn columns<R: Row>(row: &R) -> Result<Vec<(String, String)>> {
    let of_record = names(row)?.into_iter().map(|name| {
        let value = format!("n.{name}");
        (name, value)
    });
    let large = row.large();
    let large = large.iter().enumerate();
    let large = large.map(|(i, (name, _))| ((*name).into(), format!("(${})[n.ordinality]", i + 2)));
    Ok(of_record.chain(large).collect())
}

/// The types of the parameters.
fn types<R: Row>(row: &R) -> Vec<PgOid> {
    let large = row.large();
    let large = large.iter().map(|(_, value)| match value.is_text() {
        true => PgBuiltInOids::TEXTARRAYOID.into(),
        false => PgBuiltInOids::BYTEAARRAYOID.into(),
    });
    std::iter::once(PgBuiltInOids::TEXTOID.into())
        .chain(large)
        .collect()
}

/// The parameters: the rows as JSON, and an array for each large column.
fn arguments<R: Row>(rows: &[R]) -> Result<Vec<DatumWithOid<'static>>> {
    let mut arguments = vec![json(rows)?.into()];
    let large: Vec<_> = rows.iter().map(Row::large).collect();
    for column in 0..large.first().map_or(0, Vec::len) {
        let values = || large.iter().map(|columns| &columns[column].1);
        arguments.push(match values().any(Large::is_text) {
            true => values().map(Large::text).collect::<Vec<_>>().into(),
            false => values().map(Large::bytes).collect::<Vec<_>>().into(),
        });
    }
    Ok(arguments)
}
