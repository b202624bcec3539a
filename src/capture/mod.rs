//! Workloads captured from pg_stat_statements: `statistics` has what was executed in a window, `workload` makes
//! scripts of it with `values` of the caller's `tables`, and `store` keeps all that.
//!
//! A statement is analyzed, never planned or executed; planning evaluates functions.

pub mod statistics;
pub mod store;
mod tables;
mod values;
pub mod workload;

use crate::error::Result;
use crate::run::definitions;
use crate::security::with_search_path;
use selfbench_capture::settled_commits;
use statistics::{BEYOND, LeftOut, Source, Window, current_role};
use std::collections::BTreeMap;
use std::ffi::CString;
use store::{Row, Stored};
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
            role: Some(statement.role),
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
            role: None,
            queryid: None,
            text: Some(format!("{} statements", entry.number)),
            counters: entry.counters,
            reason: Some(entry.what.into()),
            expressions: BTreeMap::new(),
        });
    }
    store::store(name, &facts, &statements, made)
}

/// Sets the expression for the values of a parameter, and makes the workload anew. Returns what became of its
/// statement.
pub fn set_parameter(name: &str, number: i32, parameter: i32, expression: &str) -> Result<Row> {
    let (facts, mut statements) = store::load(name)?;
    store::require_parameter(name, number, parameter)?;
    for statement in statements
        .iter_mut()
        .filter(|statement| statement.number == number)
    {
        statement
            .expressions
            .insert(parameter as usize, expression.to_owned());
    }
    let made = made(name, &facts, &statements)?;
    let rows = store::store(name, &facts, &statements, made)?;
    let mut rows = rows.into_iter();
    rows.find(|row| row.number == number)
        .ok_or_else(|| store::no_statement(name, number))
}

fn made(name: &str, facts: &Facts, statements: &[Stored]) -> Result<Made> {
    let observed: Vec<_> = statements
        .iter()
        .filter(|statement| statement.queryid.is_some())
        .map(|statement| {
            let counters = &statement.counters;
            Observed {
                number: statement.number,
                role: statement.role.unwrap_or_else(current_role),
                text: statement.text.clone(),
                calls: counters.calls,
                rows: counters.rows / counters.calls,
                blocks: (counters.blocks_hit + counters.blocks_read) / counters.calls,
                expressions: statement.expressions.clone(),
            }
        })
        .collect();
    let path = CString::new(facts.search_path.as_str()).unwrap_or_default();
    with_search_path(&path, || make(name, facts, &observed))
}

/// Fails if a workload cannot have that name.
pub fn require_name(name: &str) -> Result<()> {
    definitions::require_free(name)
}
