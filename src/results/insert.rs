//! Inserting and updating rows of the result tables.
//!
//! A row is passed to the server as JSON, its columns by the names of its fields. Histograms and
//! scripts may be large: they are separate parameters.

use super::json::{json, names, storable};
use crate::error::{Error, Result};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use selfbench_model::{
    PgioRun, PgioSession, Run, RunBlocker, RunEnvironment, RunInterval, RunProfile, RunScript,
    RunServerInterval, RunStack, RunStatement, RunTable, RunTimes, RunWait,
};
use serde::Serialize;

/// Rows without large columns that one statement inserts.
const ROWS_AT_ONCE: usize = 100;

/// A row of a result table.
pub trait Row: Serialize {
    /// The table.
    const TABLE: &'static str;

    /// The columns that are not in the row's JSON.
    fn large(&self) -> Vec<(&'static str, Large<'_>)> {
        Vec::new()
    }
}

/// The value of such a column.
pub enum Large<'r> {
    /// A text.
    Text(&'r str),
    /// Bytes.
    Bytes(Option<&'r [u8]>),
}

impl Large<'_> {
    fn type_oid(&self) -> PgOid {
        match self {
            Large::Text(_) => PgBuiltInOids::TEXTOID.into(),
            Large::Bytes(_) => PgBuiltInOids::BYTEAOID.into(),
        }
    }

    fn datum(&self) -> DatumWithOid<'static> {
        match self {
            Large::Text(text) => storable(text).into_owned().into(),
            Large::Bytes(bytes) => bytes.map(<[u8]>::to_vec).into(),
        }
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
}

fn bytes(histogram: &Option<Vec<u8>>) -> Large<'_> {
    Large::Bytes(histogram.as_deref())
}

/// Inserts rows: small ones several at once, which takes half the time, those with large columns one
/// after the other, so that no more than one is in memory as JSON.
pub fn insert<R: Row>(rows: &[R]) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let mut columns = Columns::default();
    for row in rows {
        // A row may lack fields that others have: they are NULL.
        columns = columns.max(Columns::of(row)?);
    }
    let (table, (names, values)) = (
        R::TABLE,
        columns.0.into_iter().unzip::<_, _, Vec<_>, Vec<_>>(),
    );
    let sql = format!(
        "INSERT INTO {table} ({}) SELECT {} FROM jsonb_populate_recordset(NULL::{table}, $1::jsonb) n",
        names.join(", "),
        values.join(", ")
    );
    Spi::connect_mut(|client| {
        let insert = client.prepare_mut(sql.as_str(), &types(first))?;
        let at_once = match first.large().is_empty() {
            true => ROWS_AT_ONCE,
            false => 1,
        };
        for rows in rows.chunks(at_once) {
            client.update(&insert, None, &arguments(rows, &rows[0])?)?;
        }
        Ok(())
    })
}

/// Replaces the stored row of a run; fails if it has been deleted.
pub fn update(run: &Run) -> Result<()> {
    let columns: Vec<String> = Columns::of(run)?
        .0
        .into_iter()
        .filter(|(name, _)| name != "run_id")
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let sql = format!(
        "UPDATE bench.runs r SET {}
           FROM jsonb_populate_record(NULL::bench.runs, $1::jsonb) n
          WHERE r.run_id = n.run_id
          RETURNING r.run_id",
        columns.join(", ")
    );
    let arguments = arguments(run, run)?;
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

/// The columns of a row, and where their values come from: the record `n`, which is made of the
/// first parameter, or a parameter of their own.
#[derive(Default)]
struct Columns(Vec<(String, String)>);

impl Columns {
    fn of<R: Row>(row: &R) -> Result<Columns> {
        let of_record = names(row)?.into_iter().map(|name| {
            let value = format!("n.{name}");
            (name, value)
        });
        let large = row.large();
        let large = large.iter().enumerate();
        let large = large.map(|(i, (name, _))| ((*name).to_owned(), format!("${}", i + 2)));
        Ok(Columns(of_record.chain(large).collect()))
    }

    /// The longer list of the two.
    fn max(self, other: Columns) -> Columns {
        if other.0.len() > self.0.len() {
            other
        } else {
            self
        }
    }
}

fn types<R: Row>(row: &R) -> Vec<PgOid> {
    let large = row.large();
    let large = large.iter().map(|(_, value)| value.type_oid());
    std::iter::once(PgBuiltInOids::TEXTOID.into())
        .chain(large)
        .collect()
}

/// The record or records as JSON, and the large columns of the one that has them.
fn arguments<R: Row>(
    records: &(impl Serialize + ?Sized),
    row: &R,
) -> Result<Vec<DatumWithOid<'static>>> {
    let large = row.large();
    let large = large.iter().map(|(_, value)| value.datum());
    Ok(std::iter::once(json(records)?.into())
        .chain(large)
        .collect())
}
