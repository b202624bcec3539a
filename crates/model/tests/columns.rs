//! The rows of this crate have the columns of their tables, neither more nor less: both are read,
//! the tables from the install script's sources.

use selfbench_model::{
    Figures, Latency, PgioRun, PgioSession, Run, RunBlocker, RunEnvironment, RunInterval,
    RunProfile, RunScript, RunServerInterval, RunStack, RunStatement, RunTable, RunTimes, RunWait,
};
use selfbench_stats::Usage;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The columns in the statement that begins so, those that it takes by LIKE included, without those
/// that the server generates.
fn columns(sql: &str, beginning: &str) -> BTreeSet<String> {
    let start = sql
        .find(beginning)
        .unwrap_or_else(|| panic!("no {beginning}"));
    let body = &sql[start + beginning.len()..];
    let body = &body[..body.find("\n);").expect("an end")];
    let mut columns = BTreeSet::new();
    for line in body.lines().filter(|line| line.starts_with("    ")) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("LIKE") => {
                let other = words.next().unwrap_or_default().trim_end_matches(',');
                let table = format!("CREATE TABLE {other} (");
                let composite = format!("CREATE TYPE {other} AS (");
                columns.extend(self::columns(
                    sql,
                    if sql.contains(&table) {
                        &table
                    } else {
                        &composite
                    },
                ));
            }
            Some(name)
                if name.starts_with(|c: char| c.is_ascii_lowercase())
                    && !line.contains("GENERATED") =>
            {
                columns.insert(name.to_owned());
            }
            _ => {}
        }
    }
    columns
}

/// The declaration of an option that is on or off, as it is aligned.
fn switch(name: &str) -> String {
    format!("    {name:<24}boolean NOT NULL")
}

/// The fields of a row as JSON, and the columns that it has beside it.
fn fields(row: &impl Serialize, beside: &[&str]) -> BTreeSet<String> {
    let serde_json::Value::Object(fields) = serde_json::to_value(row).expect("JSON") else {
        panic!("not an object");
    };
    fields
        .into_iter()
        .map(|(name, _)| name)
        .chain(beside.iter().map(|name| (*name).to_owned()))
        .collect()
}

#[test]
fn every_row_has_the_columns_of_its_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/sql");
    let sql = ["tables.sql", "telemetry.sql", "profile.sql", "waits.sql"]
        .map(|name| fs::read_to_string(folder.join(name)).expect(name))
        .concat();
    let session = PgioSession {
        usage: Some(Usage::default()),
        ..PgioSession::default()
    };
    let histogram = ["histogram"];
    for (beginning, fields) in [
        (
            "CREATE TABLE bench_internal.latency (",
            fields(&Latency::default(), &[]),
        ),
        (
            "CREATE TYPE bench.session_usage AS (",
            fields(&Usage::default(), &[]),
        ),
        (
            "CREATE TABLE bench.runs (",
            fields(&Run::default(), &histogram),
        ),
        (
            "CREATE TABLE bench.run_scripts (",
            fields(&RunScript::default(), &["body", "histogram"]),
        ),
        (
            "CREATE TABLE bench.run_statements (",
            fields(&RunStatement::default(), &histogram),
        ),
        (
            "CREATE TABLE bench.run_intervals (",
            fields(&RunInterval::default(), &histogram),
        ),
        (
            "CREATE TABLE bench.run_server_intervals (",
            fields(&RunServerInterval::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_environment (",
            fields(&RunEnvironment::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_tables (",
            fields(&RunTable::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_times (",
            fields(&RunTimes::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_stacks (",
            fields(&RunStack::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_profiles (",
            fields(&RunProfile::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_waits (",
            fields(&RunWait::default(), &[]),
        ),
        (
            "CREATE TABLE bench.run_blockers (",
            fields(&RunBlocker::default(), &[]),
        ),
        (
            "CREATE TABLE bench.pgio_runs (",
            fields(&PgioRun::default(), &["read_histogram"]),
        ),
        (
            "CREATE TABLE bench.pgio_sessions (",
            fields(
                &session,
                &["select_histogram", "update_histogram", "read_histogram"],
            ),
        ),
    ] {
        let mut columns = columns(&sql, beginning);
        // `sql/catalog.sql` compares the columns of options that are on or off with their list.
        if beginning.contains("runs") {
            columns.retain(|name| fields.contains(name) || !sql.contains(&switch(name)));
        }
        assert_eq!(columns, fields, "{beginning}");
    }
    let both = [
        "CREATE TABLE bench_internal.figures (",
        "CREATE TABLE bench_internal.sums (",
    ];
    let both: BTreeSet<_> = both
        .into_iter()
        .flat_map(|table| columns(&sql, table))
        .collect();
    assert_eq!(both, fields(&Figures::default(), &histogram));
}

#[test]
fn a_missing_column_is_noticed() {
    let sql = "CREATE TABLE a (\n    x int, -- y\n    LIKE b INCLUDING GENERATED,\n    PRIMARY KEY (x)\n);\n\
               CREATE TYPE b AS (\n    z int\n);\n";
    let names: Vec<_> = columns(sql, "CREATE TABLE a (").into_iter().collect();
    assert_eq!(names, ["x", "z"]);
}
