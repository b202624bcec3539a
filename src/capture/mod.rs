//! Workloads captured from pg_stat_statements: `statistics` has what was executed in a window, `workload` makes
//! scripts of it with `values` of the caller's `tables`, and `store` keeps all that.
//!
//! A statement is analyzed, never planned or executed; planning evaluates functions.

pub mod statistics;
pub mod store;
mod tables;
mod values;
pub mod workload;

use crate::error::{Error, Report, Result};
use crate::run::definitions;
use crate::security::with_search_path;
use pgrx::PgSqlErrorCode as Sqlstate;
use selfbench_capture::settled_commits;
use statistics::{BEYOND, LeftOut, Source, Window};
use std::collections::BTreeMap;
use std::ffi::CString;
use store::{Row, Stored};
use tables::SAMPLE_ROWS;
use values::Given;
use workload::{Facts, Made, Observed, make};

/// Captures the statements of a window, and stores the workload. Returns what became of each.
pub fn capture(
    name: &str,
    source: &Source,
    mut window: Window,
    top: usize,
    search_path: String,
) -> Result<Vec<Row>> {
    let mut left_out = std::mem::take(&mut window.left_out);
    let beyond = window
        .statements
        .split_off(top.min(window.statements.len()));
    if !beyond.is_empty() {
        let mut entry = LeftOut {
            what: BEYOND,
            number: beyond.len(),
            counters: Default::default(),
        };
        for statement in &beyond {
            entry.counters.add(&statement.counters);
        }
        left_out.push(entry);
    }
    let texts = source.texts(&window.statements.iter().collect::<Vec<_>>())?;
    let mut statements: Vec<Stored> = Vec::new();
    for statement in &window.statements {
        statements.push(Stored {
            number: statements.len() as i32 + 1,
            queryid: Some(statement.queryid),
            text: texts.get(&statement.key()).cloned(),
            counters: statement.counters,
            reason: None,
            expressions: BTreeMap::new(),
        });
    }
    let calls = window.statements.iter().map(|s| s.counters.calls);
    let commits = window.commits;
    let facts = Facts {
        search_path,
        seconds: window.seconds,
        commits: commits.map(|commits| settled_commits(commits, window.seconds, calls)),
        begins: window.begins,
        total_exec_time_ms: window.total_exec_time_ms,
        clone_schema: None,
    };
    let made = made(name, &facts, &statements)?;
    for entry in left_out {
        statements.push(Stored {
            number: statements.len() as i32 + 1,
            queryid: None,
            text: Some(format!("{} statements", entry.number)),
            counters: entry.counters,
            reason: Some(entry.what.into()),
            expressions: BTreeMap::new(),
        });
    }
    store::store(name, &facts, &statements, made)
}

/// Loss by a new capture of that name: the number of expressions of `bench.set_parameter`, and the schema
/// with copies of the tables.
pub fn discarded(name: &str) -> Result<(usize, Option<String>)> {
    Ok(match store::find(name)? {
        Some((facts, statements)) => {
            let expressions = statements
                .iter()
                .map(|statement| statement.expressions.len());
            (expressions.sum(), facts.clone_schema)
        }
        None => (0, None),
    })
}

/// Outcome of setting an expression.
pub struct Set {
    /// Outcome of its statement.
    pub row: Row,
    /// Whether the expression has only NULLs.
    pub only_nulls: bool,
    /// Failures of expressions of other statements, which have been evaluated again.
    pub failed: Vec<String>,
}

/// Sets the expression for the values of a parameter, or none, and makes the workload anew.
///
/// # Errors
/// Errors of the expression.
pub fn set_parameter(
    name: &str,
    number: i32,
    parameter: i32,
    expression: Option<String>,
) -> Result<Set> {
    let (facts, mut statements) = store::load(name)?;
    let type_name = store::type_of_parameter(name, number, parameter)?;
    let Some(statement) = statements
        .iter_mut()
        .find(|statement| statement.number == number)
    else {
        return Err(store::no_statement(name, number));
    };
    let mut only_nulls = false;
    match expression {
        Some(text) => {
            let values = with_path(&facts, || values::drawn_from(&text, &type_name))?;
            if values.is_empty() || values.len() > SAMPLE_ROWS {
                return Err(wrong_number(&text, values.is_empty()));
            }
            only_nulls = values.iter().all(Option::is_none);
            let given = Given {
                text,
                values: Some(values),
            };
            statement.expressions.insert(parameter as usize, given);
        }
        None => {
            statement.expressions.remove(&(parameter as usize));
        }
    }
    let made = made(name, &facts, &statements)?;
    let mut failed = Vec::new();
    for (statement, outcome) in analyzed(&statements).zip(&made.outcomes) {
        for origin in &outcome.origins {
            if let (Some(reason), "expression") = (&origin.reason, origin.source.as_str())
                && statement.number != number
            {
                failed.push(format!(
                    "statement {}, parameter ${}: {reason}",
                    statement.number, origin.number
                ));
            }
        }
    }
    let rows = store::store(name, &facts, &statements, made)?;
    let row = rows.into_iter().find(|row| row.number == number);
    Ok(Set {
        row: row.ok_or_else(|| store::no_statement(name, number))?,
        only_nulls,
        failed,
    })
}

/// The error for a query that returns no row, or more than a parameter may have values.
fn wrong_number(query: &str, is_empty: bool) -> Error {
    let (message, hint) = match is_empty {
        true => (
            "the query returns no row".to_owned(),
            "A parameter needs at least one value.".to_owned(),
        ),
        false => (
            format!("the query returns more than {SAMPLE_ROWS} rows"),
            format!("Choose among them, as with ORDER BY random() LIMIT {SAMPLE_ROWS}."),
        ),
    };
    let report = Report::new(Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE, message);
    Report {
        detail: Some(format!("Query: {query}")),
        hint: Some(hint),
        ..report
    }
    .into()
}

/// Runs `body` with the `search_path` of the window.
fn with_path<T>(facts: &Facts, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = CString::new(facts.search_path.as_str()).unwrap_or_default();
    with_search_path(&path, body)
}

/// The statements that may be executed.
fn analyzed(statements: &[Stored]) -> impl Iterator<Item = &Stored> {
    statements
        .iter()
        .filter(|statement| statement.queryid.is_some())
}

fn made(name: &str, facts: &Facts, statements: &[Stored]) -> Result<Made> {
    let observed: Vec<_> = analyzed(statements)
        .map(|statement| {
            let counters = &statement.counters;
            Observed {
                number: statement.number,
                text: statement.text.clone(),
                calls: counters.calls,
                rows: counters.rows / counters.calls,
                blocks: (counters.blocks_hit + counters.blocks_read) / counters.calls,
                expressions: statement.expressions.clone(),
            }
        })
        .collect();
    with_path(facts, || make(name, facts, &observed))
}

/// Fails if a workload cannot have that name, or its value sets could not have theirs.
pub fn require_name(name: &str) -> Result<()> {
    definitions::require_free(name)?;
    store::require_sets(name)
}
