//! Inserting rows into the result tables, and updating that of a run.
//!
//! Rows are inserted by COPY, their columns by the names of their fields: a day of intervals has many.
//! The row of a run is replaced by one that is passed as JSON.

use super::json::{json, names, unprintable};
use crate::copy::{CopyTarget, copy_in};
use crate::error::{Error, Result};
use crate::server;
use pgrx::prelude::*;
use selfbench_model::{
    CopyLine, PgioRun, PgioSession, Run, RunBlocker, RunEnvironment, RunInterval, RunProfile,
    RunScript, RunServerInterval, RunStack, RunStatement, RunTable, RunTimes, RunWait,
};
use serde::Serialize;
use std::io::{Cursor, Read};

/// Bytes of rows to copy at once; a few more are possible.
const BYTES_AT_ONCE: usize = 1 << 20;

/// A row of a result table.
pub trait Row: Serialize {
    /// The table.
    const TABLE: &'static str;

    /// The columns that are not among the row's fields.
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

/// Inserts rows.
pub fn insert<R: Row>(rows: &[R]) -> Result<()> {
    let (mut columns, mut lines) = (String::new(), Vec::new());
    for row in rows {
        let line = line(row)?;
        // Rows may lack fields, which are NULL then.
        if line.columns != columns || lines.len() >= BYTES_AT_ONCE {
            copy::<R>(&columns, std::mem::take(&mut lines))?;
            columns = line.columns;
        }
        lines.extend(line.values);
        lines.push(b'\n');
    }
    copy::<R>(&columns, lines)
}

/// A row as a line for COPY.
fn line<R: Row>(row: &R) -> Result<CopyLine> {
    let mut line = CopyLine::of(row, !server::stores_unicode()).map_err(unprintable)?;
    for (name, value) in row.large() {
        match value {
            Large::Text(text) => line.push_text(name, text).map_err(unprintable)?,
            Large::Bytes(bytes) => line.push_bytes(name, bytes),
        }
    }
    Ok(line)
}

/// Copies lines into a table.
fn copy<R: Row>(columns: &str, lines: Vec<u8>) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let target = CopyTarget {
        table: R::TABLE,
        columns,
        format: c"text",
        freeze: false,
    };
    let mut rest = Cursor::new(lines);
    // Reading from memory does not fail.
    copy_in(&target, Box::new(move |out| rest.read(out).unwrap_or(0)))
}

/// Replaces the stored row of a run; fails if it has been deleted.
pub fn update(run: &Run) -> Result<()> {
    let columns: Vec<String> = names(run)?
        .iter()
        .filter(|name| *name != "run_id")
        .map(|name| format!("{name} = n.{name}"))
        .collect();
    let sql = format!(
        "UPDATE bench.runs r SET {}, histogram = $2
           FROM json_populate_record(NULL::bench.runs, $1::json) n
          WHERE r.run_id = n.run_id RETURNING r.run_id",
        columns.join(", ")
    );
    let histogram = run.figures.histogram.as_deref();
    let arguments = [json(run)?.into(), histogram.into()];
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
