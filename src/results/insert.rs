//! Inserting rows into the result tables, and updating that of a run.
//!
//! Rows are inserted by COPY, their columns by the names of their fields: a day of intervals has many. A table may
//! be of an older version of the extension and lack some of them.
//! The row of a run is replaced by one that is passed as JSON. Both are made of the same values.

use super::json::fields;
use crate::copy::{CopyTarget, copy_in};
use crate::error::{Error, Result};
use crate::state::catalog;
use crate::state::transaction::InTransaction;
use crate::text::storable;
use pgrx::prelude::*;
use selfbench_model::{
    PgioRun, PgioSession, Run, RunBlocker, RunCapturedStatement, RunCheck, RunClient,
    RunEnvironment, RunInterval, RunProfile, RunScript, RunServerInterval, RunStack, RunStall,
    RunStatement, RunTable, RunTimes, RunWait, bytea, push_copy_line,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::mem::take;

/// Bytes of rows to copy at once; a few more are possible.
const BYTES_AT_ONCE: usize = 1 << 20;

/// A row of a result table.
pub trait Row: Serialize {
    /// The table, in schema `bench`.
    const TABLE: &'static str;

    /// The columns that are not among the row's fields.
    fn large(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

impl Row for Run {
    const TABLE: &'static str = "runs";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![("histogram", bytes(&self.figures.histogram))]
    }
}

impl Row for RunScript {
    const TABLE: &'static str = "run_scripts";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("body", storable(&self.body).into()),
            ("histogram", bytes(&self.figures.histogram)),
        ]
    }
}

impl Row for RunStatement {
    const TABLE: &'static str = "run_statements";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![("histogram", bytes(&self.histogram))]
    }
}

impl Row for RunCheck {
    const TABLE: &'static str = "run_checks";
}

impl Row for RunClient {
    const TABLE: &'static str = "run_clients";
}

impl Row for RunInterval {
    const TABLE: &'static str = "run_intervals";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![("histogram", bytes(&self.figures.histogram))]
    }
}

impl Row for RunTimes {
    const TABLE: &'static str = "run_times";
}

impl Row for RunServerInterval {
    const TABLE: &'static str = "run_server_intervals";
}

impl Row for RunEnvironment {
    const TABLE: &'static str = "run_environment";
}

impl Row for RunWait {
    const TABLE: &'static str = "run_waits";
}

impl Row for RunTable {
    const TABLE: &'static str = "run_tables";
}

impl Row for RunCapturedStatement {
    const TABLE: &'static str = "run_captured_statements";
}

impl Row for RunStack {
    const TABLE: &'static str = "run_stacks";
}

impl Row for RunProfile {
    const TABLE: &'static str = "run_profiles";
}

impl Row for RunBlocker {
    const TABLE: &'static str = "run_blockers";
}

impl Row for RunStall {
    const TABLE: &'static str = "run_stalls";
}

impl Row for PgioRun {
    const TABLE: &'static str = "pgio_runs";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![("read_histogram", bytes(&self.read_histogram))]
    }
}

impl Row for PgioSession {
    const TABLE: &'static str = "pgio_sessions";

    fn large(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("select_histogram", bytes(&self.select_histogram)),
            ("update_histogram", bytes(&self.update_histogram)),
            ("read_histogram", bytes(&self.read_histogram)),
        ]
    }
}

fn bytes(histogram: &Option<Vec<u8>>) -> Value {
    histogram.as_deref().map_or(Value::Null, bytea)
}

/// The columns of a row, those that its table `has`.
fn columns<R: Row>(row: &R, has: &BTreeSet<String>) -> Result<Map<String, Value>> {
    let mut columns = fields(row)?;
    columns.extend(
        row.large()
            .into_iter()
            .map(|(name, value)| (name.into(), value)),
    );
    columns.retain(|name, _| has.contains(name));
    Ok(columns)
}

/// The columns of the table of such rows.
pub(super) fn columns_of_table<R: Row>() -> Result<BTreeSet<String>> {
    Ok(catalog::own_columns(InTransaction::current()?, R::TABLE))
}

/// Names of columns, with a comma in between.
fn names(columns: &Map<String, Value>) -> String {
    let names: Vec<&str> = columns.keys().map(String::as_str).collect();
    names.join(",")
}

/// Inserts rows; none if the extension's version has no such table yet.
pub fn insert<R: Row>(rows: &[R]) -> Result<()> {
    let has = match rows {
        [] => return Ok(()),
        _ => columns_of_table::<R>()?,
    };
    if has.is_empty() {
        return Ok(());
    }
    let (mut names_of_lines, mut lines) = (String::new(), String::new());
    for row in rows {
        let columns = columns(row, &has)?;
        let names = names(&columns);
        // Rows may lack fields, which are NULL then.
        if names != names_of_lines || lines.len() >= BYTES_AT_ONCE {
            copy::<R>(&names_of_lines, take(&mut lines))?;
            names_of_lines = names;
        }
        push_copy_line(columns.values(), &mut lines);
    }
    copy::<R>(&names_of_lines, lines)
}

/// Copies lines into a table.
fn copy<R: Row>(columns: &str, lines: String) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let target = CopyTarget {
        table: &format!("bench.{}", R::TABLE),
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
    let mut columns = columns(run, &columns_of_table::<Run>()?)?;
    columns.remove("run_id");
    let names = names(&columns);
    let sql = format!(
        "UPDATE bench.runs
            SET ({names}) = (SELECT {names} FROM json_populate_record(NULL::bench.runs, $1::json))
          WHERE run_id = $2 RETURNING run_id"
    );
    let arguments = [Value::from(columns).to_string().into(), run.run_id.into()];
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
