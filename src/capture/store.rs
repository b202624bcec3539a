//! Captured statements in the tables of the extension; each role sees and uses its own.

use super::statistics::Counters;
use super::values::Given;
use super::workload::{Facts, Made, Outcome};
use crate::error::{Error, Report, Result};
use crate::query;
use crate::run::definitions::{self, Definition};
use crate::run::workload;
use crate::security::as_owner;
use crate::server;
use pgrx::datum::DatumWithOid;
use pgrx::spi::Spi;
use pgrx::{JsonB, PgSqlErrorCode as Sqlstate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A statement of a capture, or statements that are left out together.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its number, from 1.
    pub number: i32,
    /// Its number in pg_stat_statements; `None` of statements that are left out together.
    pub queryid: Option<i64>,
    /// Its text.
    pub text: Option<String>,
    /// Its counters.
    pub counters: Counters,
    /// Why statements are left out together.
    pub reason: Option<String>,
    /// Expressions of `bench.set_parameter`, by parameter.
    pub expressions: BTreeMap<usize, Given>,
}

/// Outcome for a statement, for the user.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its number.
    pub number: i32,
    /// Calls.
    pub calls: i64,
    /// Share of the time of all statements.
    pub time_share: Option<f64>,
    /// Scripts that have it.
    pub script: Option<String>,
    /// Whether it was captured.
    pub status: &'static str,
    /// Why it was left out, or that it is approximate.
    pub reason: Option<String>,
    /// Whether it was left out because a parameter has no values.
    pub lacks_values: bool,
    /// Its text.
    pub query: Option<String>,
}

/// Fails if the role has value sets with names that the capture of a workload gives to its own, and that are not
/// of an earlier capture.
pub fn require_sets(name: &str) -> Result<()> {
    let role = server::role();
    let set = as_owner(|| {
        query::first_value::<String>(
            "SELECT min(v.set_name) FROM bench.value_sets v
              WHERE v.owner = $1 AND starts_with(v.set_name, $2 || '.s')
                AND substr(v.set_name, length($2) + 3) ~ '^[0-9]+$'
                AND NOT EXISTS (SELECT FROM bench.workload_definitions d
                                 WHERE d.owner = $1 AND d.name = $2 AND d.manifest ? 'captured')",
            &[role.into(), name.into()],
        )
    })?;
    let Some(set) = set else { return Ok(()) };
    let message = format!("value set \"{set}\" already exists");
    Err(Report {
        detail: Some("A capture gives such names to the values of its statements.".into()),
        hint: Some("Choose another name for the workload, or delete the rows of the set.".into()),
        ..Report::new(Sqlstate::ERRCODE_DUPLICATE_OBJECT, message)
    }
    .into())
}

/// Stores a workload, or replaces it.
pub fn store(name: &str, facts: &Facts, statements: &[Stored], made: Made) -> Result<Vec<Row>> {
    let Made {
        mut manifest,
        scripts,
        outcomes,
    } = made;
    let mut outcomes = outcomes.into_iter();
    let (mut rows, mut documents) = (Vec::new(), Vec::new());
    let (mut captured, mut captured_share) = (0, 0.0);
    let mut sets = Vec::new();
    let (mut parameters, mut tables) = (Vec::new(), BTreeMap::new());
    for statement in statements {
        let outcome = match statement.queryid {
            Some(_) => outcomes.next().unwrap_or_default(),
            None => Outcome {
                reason: statement.reason.clone(),
                ..Outcome::default()
            },
        };
        captured += outcome.scripts.len();
        let row = row(statement, &outcome, facts);
        for origin in &outcome.origins {
            parameters.push(json!({
                "statement_no": statement.number,
                "parameter_no": origin.number,
                "type": origin.type_name,
                "column_name": origin.column,
                "role": origin.role,
                "source": if origin.reason.is_some() { "unknown" } else { &origin.source },
                "expression": statement.expressions.get(&origin.number).map(|given| &given.text),
                "reason": origin.reason,
            }));
        }
        if !outcome.scripts.is_empty() {
            captured_share += row.time_share.unwrap_or(0.0);
            for (table, written) in outcome.tables {
                *tables.entry(table).or_insert(false) |= written;
            }
            sets.push((format!("{name}.s{}", statement.number), outcome.values));
        }
        documents.push(document(statement, &row, outcome.approximate, outcome.sql));
        rows.push(row);
    }
    // Values for parameters can be given later.
    let lacks_values = |parameter: &Value| !parameter["reason"].is_null();
    if captured == 0 && !parameters.iter().any(lacks_values) {
        return Err(nothing(&rows));
    }
    manifest["captured"]["time_share"] = json!(captured_share);
    definitions::define(&Definition {
        name: name.to_owned(),
        manifest,
        schema: String::new(),
        load: String::new(),
        finish: String::new(),
        checks: String::new(),
        scripts,
    })?;
    let tables: Vec<_> = tables
        .iter()
        .map(|((schema, name), written)| {
            json!({"table_schema": schema, "table_name": name, "written": written})
        })
        .collect();
    let role = server::role();
    let of_capture = json!({
        "captured_at": server::wall_clock(),
        "search_path": facts.search_path,
        "seconds": facts.seconds,
        "commits": facts.commits,
        "begins": facts.begins,
        "total_exec_time_ms": facts.total_exec_time_ms,
    });
    let run = |sql: &str, arguments: &[DatumWithOid]| Spi::run_with_args(sql, arguments);
    as_owner(|| {
        let key = || [DatumWithOid::from(role), name.into()];
        for table in ["workloads", "tables"] {
            run(
                &format!(
                    "DELETE FROM bench.captured_{table} c WHERE c.owner = $1 AND c.workload = $2"
                ),
                &key(),
            )?;
        }
        for (table, records) in [
            ("workloads", json!([of_capture])),
            ("statements", json!(documents)),
            ("parameters", json!(parameters)),
            ("tables", json!(tables)),
        ] {
            let [owner, workload] = key();
            run(
                &format!(
                    "INSERT INTO bench.captured_{table}
                     SELECT r.* FROM jsonb_array_elements($3) e,
                            jsonb_populate_record(NULL::bench.captured_{table},
                                e || jsonb_build_object('owner', $1, 'workload', $2)) r"
                ),
                &[owner, workload, JsonB(records).into()],
            )?;
        }
        let names: Vec<_> = sets.iter().map(|(set, _)| set.as_str()).collect();
        // Those of an earlier capture, copied after a restore, which has no row of it.
        run(
            "DELETE FROM bench.value_sets v WHERE v.owner = $1 AND v.set_name = ANY($2)",
            &[role.into(), names.into()],
        )?;
        for (set, values) in &sets {
            run(
                "INSERT INTO bench.value_sets (owner, set_name, row_no, values)
                 SELECT $1, $2, e.number, ARRAY(SELECT jsonb_array_elements_text(e.row))
                   FROM jsonb_array_elements($3) WITH ORDINALITY e (row, number)",
                &[
                    role.into(),
                    set.as_str().into(),
                    JsonB(json!(values)).into(),
                ],
            )?;
        }
        Ok(())
    })?;
    Ok(rows)
}

fn row(statement: &Stored, outcome: &Outcome, facts: &Facts) -> Row {
    let is_captured = !outcome.scripts.is_empty();
    let share = statement.counters.total_exec_time_ms / facts.total_exec_time_ms;
    Row {
        number: statement.number,
        calls: statement.counters.calls as i64,
        time_share: share.is_finite().then_some(share),
        script: is_captured.then(|| outcome.scripts.join(", ")),
        status: if is_captured { "captured" } else { "left out" },
        reason: match is_captured {
            true => outcome.approximate.then(|| "approximate".into()),
            false => outcome.reason.clone(),
        },
        lacks_values: !is_captured && outcome.origins.iter().any(|origin| origin.reason.is_some()),
        query: statement.text.clone(),
    }
}

fn document(statement: &Stored, row: &Row, approximate: bool, sql: Option<String>) -> Value {
    let counters = &statement.counters;
    json!({
        "statement_no": statement.number,
        "queryid": statement.queryid,
        "query": statement.text,
        "script": row.script,
        "sql": sql,
        "status": row.status,
        "reason": row.reason.as_ref().filter(|_| row.script.is_none()),
        "approximate": approximate,
        "time_share": row.time_share,
        "calls": counters.calls as i64,
        "rows": counters.rows as i64,
        "total_exec_time_ms": counters.total_exec_time_ms,
        "shared_blks_hit": counters.blocks_hit as i64,
        "shared_blks_read": counters.blocks_read as i64,
        "shared_blks_dirtied": counters.blocks_dirtied as i64,
        "shared_blks_written": counters.blocks_written as i64,
        "wal_bytes": counters.wal_bytes as i64,
    })
}

/// The error for a window without a statement that can be executed again.
fn nothing(rows: &[Row]) -> Error {
    let reasons: Vec<_> = rows
        .iter()
        .map(|row| {
            let query: String = row
                .query
                .as_deref()
                .unwrap_or_default()
                .chars()
                .take(60)
                .collect();
            match &row.reason {
                Some(reason) => format!("{query}: {reason}"),
                None => query,
            }
        })
        .take(10)
        .collect();
    let report = Report::new(
        Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "no statement can be captured",
    );
    Report {
        detail: Some(match reasons.is_empty() {
            true => "pg_stat_statements has counted no statement in the window.".into(),
            false => reasons.join("\n"),
        }),
        hint: Some(
            "Capture while your application works, as the role that it uses; statements that are executed once \
             are left out."
                .into(),
        ),
        ..report
    }
    .into()
}

/// Stored statement.
#[derive(Deserialize)]
struct Loaded {
    statement_no: i32,
    queryid: Option<i64>,
    query: Option<String>,
    reason: Option<String>,
    calls: f64,
    rows: f64,
    total_exec_time_ms: f64,
    shared_blks_hit: f64,
    shared_blks_read: f64,
    shared_blks_dirtied: f64,
    shared_blks_written: f64,
    wal_bytes: f64,
    expressions: Option<BTreeMap<usize, Given>>,
}

/// The captured statements of a workload of the caller's.
pub fn load(name: &str) -> Result<(Facts, Vec<Stored>)> {
    if let Some(found) = find(name)? {
        return Ok(found);
    }
    workload::named(name)?;
    Err(Error::OptionConflict {
        message: format!("workload \"{name}\" was not captured"),
        hint: "Captured workloads are listed in bench.captured_workloads.".into(),
    })
}

/// The captured statements of a workload of the caller's, if there is one.
pub fn find(name: &str) -> Result<Option<(Facts, Vec<Stored>)>> {
    let role = server::role();
    let found = as_owner(|| {
        query::first_two_values::<String, String>(
            "SELECT (to_jsonb(w) || jsonb_build_object('clone_schema', d.manifest #> '{captured,clone_schema}'))::text,
                    (SELECT jsonb_agg(to_jsonb(s) || jsonb_build_object('expressions',
                                (SELECT jsonb_object_agg(p.parameter_no, p.expression)
                                   FROM bench.captured_parameters p
                                  WHERE p.owner = s.owner AND p.workload = s.workload
                                    AND p.statement_no = s.statement_no AND p.expression IS NOT NULL))
                                ORDER BY s.statement_no)::text
                       FROM bench.captured_statements s
                      WHERE s.owner = w.owner AND s.workload = w.workload)
               FROM bench.captured_workloads w
               JOIN bench.workload_definitions d ON d.owner = w.owner AND d.name = w.workload
              WHERE w.owner = $1 AND w.workload = $2",
            &[role.into(), name.into()],
        )
    })?;
    let (Some(facts), Some(statements)) = found else {
        return Ok(None);
    };
    let unreadable = |error: serde_json::Error| Error::Limit(crate::error::problem(&error));
    let facts: Facts = serde_json::from_str(&facts).map_err(unreadable)?;
    let statements: Vec<Loaded> = serde_json::from_str(&statements).map_err(unreadable)?;
    let statements = statements.into_iter().map(|s| Stored {
        number: s.statement_no,
        queryid: s.queryid,
        text: s.query,
        reason: s.reason.filter(|_| s.queryid.is_none()),
        counters: Counters {
            calls: s.calls,
            rows: s.rows,
            total_exec_time_ms: s.total_exec_time_ms,
            blocks_hit: s.shared_blks_hit,
            blocks_read: s.shared_blks_read,
            blocks_dirtied: s.shared_blks_dirtied,
            blocks_written: s.shared_blks_written,
            wal_bytes: s.wal_bytes,
        },
        expressions: s.expressions.unwrap_or_default(),
    });
    Ok(Some((facts, statements.collect())))
}

/// The type of a parameter of a captured statement; fails if there is none.
pub fn type_of_parameter(name: &str, number: i32, parameter: i32) -> Result<String> {
    let role = server::role();
    let (statement, type_name) = as_owner(|| {
        query::first_two_values::<bool, String>(
            "SELECT bool_or(s.queryid IS NOT NULL), max(p.type) FILTER (WHERE p.parameter_no = $4)
               FROM bench.captured_statements s LEFT JOIN bench.captured_parameters p
                    USING (owner, workload, statement_no)
              WHERE s.owner = $1 AND s.workload = $2 AND s.statement_no = $3",
            &[role.into(), name.into(), number.into(), parameter.into()],
        )
    })?;
    match (statement, type_name) {
        (Some(true), Some(type_name)) => Ok(type_name),
        (Some(true), _) => Err(missing(
            format!("statement {number} of workload \"{name}\" has no parameter ${parameter}"),
            "bench.captured_parameters lists the parameters.",
        )),
        _ => Err(no_statement(name, number)),
    }
}

/// The error for a statement that a workload does not have.
pub fn no_statement(name: &str, number: i32) -> Error {
    missing(
        format!("workload \"{name}\" has no captured statement {number}"),
        "bench.captured_statements lists the statements.",
    )
}

fn missing(message: String, hint: &str) -> Error {
    let report = Report::new(Sqlstate::ERRCODE_UNDEFINED_OBJECT, message);
    Report {
        hint: Some(hint.into()),
        ..report
    }
    .into()
}
