//! Conditions of a workload: whether its rows are right.

use super::workload::{FirstRow, TABLE, has_loads};
use crate::error::Result;
use selfbench_model::RunCheck;
use selfbench_workload::Check;
use std::slice;

/// Evaluates conditions, all in one statement, which has one snapshot.
pub fn evaluate(checks: &[Check], first_row: &mut FirstRow<'_>) -> Result<Vec<RunCheck>> {
    let is_loaded = has_loads(first_row)?;
    let violations = |check: &Check| match !is_loaded && check.sql.contains(TABLE) {
        true => "NULL".to_owned(),
        false => format!(
            "(SELECT pg_catalog.concat(pg_catalog.count(*), ' ', pg_catalog.min(t::pg_catalog.text)) \
             FROM ({}\n) t)",
            check.sql
        ),
    };
    let columns: Vec<String> = checks.iter().map(violations).collect();
    let row = first_row(&format!("SELECT {}", columns.join(",\n")))?;
    let judge = |(check, found): (&Check, Option<String>)| {
        let Some(found) = found else {
            return not_judged(check, "the tables have not been loaded by bench.initialize");
        };
        let (count, example) = found.split_once(' ').unwrap_or((&found, ""));
        let violations: i64 = count.parse().unwrap_or(0);
        RunCheck {
            holds: match violations {
                0 => Some(true),
                _ if check.after_load_only => None,
                _ => Some(false),
            },
            violations: Some(violations),
            example: (!example.is_empty()).then(|| example.to_owned()),
            ..of(check)
        }
    };
    Ok(checks.iter().zip(row).map(judge).collect())
}

/// Evaluates conditions; if that fails, each by itself, and those that fail are not judged.
pub fn evaluate_or_explain(checks: &[Check], first_row: &mut FirstRow<'_>) -> Vec<RunCheck> {
    evaluate(checks, first_row).unwrap_or_else(|_| {
        let each = |check: &Check| match evaluate(slice::from_ref(check), first_row) {
            Ok(mut found) if !found.is_empty() => found.remove(0),
            Ok(_) => not_judged(check, "the query returned no row"),
            Err(error) => not_judged(check, &error.report().one_line()),
        };
        checks.iter().map(each).collect()
    })
}

/// A condition that was not judged.
pub fn not_judged(check: &Check, reason: &str) -> RunCheck {
    RunCheck {
        example: Some(reason.to_owned()),
        ..of(check)
    }
}

fn of(check: &Check) -> RunCheck {
    RunCheck {
        condition: check.name.clone(),
        description: match check.after_load_only {
            true => format!("after a load: {}", check.description),
            false => check.description.clone(),
        },
        ..RunCheck::default()
    }
}
