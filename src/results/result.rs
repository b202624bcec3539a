//! Runs as SQL results: composite values, made of rows by the names of their fields.

use super::json::{json, unprintable};
use crate::error::{OrRaise, Result};
use crate::query::{self, Composite};
use crate::security::with_pinned_settings;
use selfbench_model::{PgioRun, Run, RunState};
use selfbench_report::readable;
use serde::Serialize;
use serde_json::Value;

/// A run as `bench.run_result`.
pub fn run_result(run: &Run) -> Result<Composite> {
    #[derive(Serialize)]
    struct RunResult<'r> {
        #[serde(flatten)]
        run: &'r Run,
        // In JSON, the last of two members of the same name counts.
        run_id: Option<i64>,
        failed: u64,
    }
    result(
        "bench.run_result",
        &RunResult {
            run,
            run_id: stored(run.run_id),
            failed: run.figures.counts.failed(),
        },
    )
}

/// A run of pgio's workload as `bench.pgio_result`.
pub fn pgio_result(state: RunState, pgio: &PgioRun) -> Result<Composite> {
    #[derive(Serialize)]
    struct PgioResult<'r> {
        #[serde(flatten)]
        pgio: &'r PgioRun,
        run_id: Option<i64>,
        state: RunState,
    }
    result(
        "bench.pgio_result",
        &PgioResult {
            pgio,
            run_id: stored(pgio.run_id),
            state,
        },
    )
}

/// The number of a run; `None` if it is not stored.
fn stored(run_id: i64) -> Option<i64> {
    (run_id != 0).then_some(run_id)
}

/// Rows of a composite type that people read: figures are rounded to what is known of them.
pub fn results<T: Serialize>(
    type_name: &'static str,
    rows: &[T],
) -> Result<impl Iterator<Item = Composite> + use<T>> {
    let rows: Vec<_> = rows.iter().map(rounded).collect::<Result<_>>()?;
    composites(type_name, &rows)
}

/// Rows of a composite type. Each is made when it is taken: the server drops an iterator of a statement that
/// has failed when its rows can no longer release their row type.
pub fn composites<T: Serialize>(
    type_name: &'static str,
    rows: &[T],
) -> Result<impl Iterator<Item = Composite> + use<T>> {
    let rows: Vec<_> = rows.iter().map(json).collect::<Result<_>>()?;
    let rows = rows.into_iter();
    Ok(rows.map(move |row| composite(type_name, row).or_raise()))
}

/// A row of figures that are rounded.
fn result<T: Serialize>(type_name: &str, row: &T) -> Result<Composite> {
    composite(type_name, json(&rounded(row)?)?)
}

fn rounded<T: Serialize>(row: &T) -> Result<Value> {
    let mut row = serde_json::to_value(row).map_err(unprintable)?;
    for (name, value) in row.as_object_mut().into_iter().flatten() {
        if let Some(number) = value.as_f64().filter(|_| value.is_f64()) {
            *value = readable(name, number).into();
        }
    }
    Ok(row)
}

/// A value of a composite type, made of a JSON object.
fn composite(type_name: &str, value: String) -> Result<Composite> {
    let sql = format!("SELECT jsonb_populate_record(NULL::{type_name}, $1::jsonb)");
    with_pinned_settings(|| query::record(&sql, value))
}
