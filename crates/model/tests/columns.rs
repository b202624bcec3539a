//! The rows of this crate have the columns of their tables, neither more nor less, but for those that the
//! server computes.

use selfbench_catalog::{script, tables};
use selfbench_model::{
    PgioRun, PgioSession, Run, RunBlocker, RunCapturedStatement, RunCheck, RunClient,
    RunEnvironment, RunInterval, RunProfile, RunScript, RunServerInterval, RunStack, RunStall,
    RunStatement, RunTable, RunTimes, RunWait,
};
use selfbench_stats::Usage;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tables = tables(&script(&root).expect("the install script"));
    let session = PgioSession {
        usage: Some(Usage::default()),
        ..PgioSession::default()
    };
    let histogram = ["histogram"];
    for (name, fields) in [
        (
            "runs",
            fields(&Run::default(), &["histogram", "is_baseline"]),
        ),
        (
            "run_scripts",
            fields(&RunScript::default(), &["body", "histogram"]),
        ),
        (
            "run_statements",
            fields(&RunStatement::default(), &histogram),
        ),
        ("run_clients", fields(&RunClient::default(), &[])),
        ("run_checks", fields(&RunCheck::default(), &[])),
        ("run_intervals", fields(&RunInterval::default(), &histogram)),
        (
            "run_server_intervals",
            fields(&RunServerInterval::default(), &[]),
        ),
        ("run_environment", fields(&RunEnvironment::default(), &[])),
        ("run_tables", fields(&RunTable::default(), &[])),
        (
            "run_captured_statements",
            fields(&RunCapturedStatement::default(), &[]),
        ),
        ("run_times", fields(&RunTimes::default(), &[])),
        ("run_stacks", fields(&RunStack::default(), &[])),
        ("run_profiles", fields(&RunProfile::default(), &[])),
        ("run_waits", fields(&RunWait::default(), &[])),
        ("run_stalls", fields(&RunStall::default(), &[])),
        ("run_blockers", fields(&RunBlocker::default(), &[])),
        (
            "pgio_runs",
            fields(&PgioRun::default(), &["read_histogram"]),
        ),
        (
            "pgio_sessions",
            fields(
                &session,
                &["select_histogram", "update_histogram", "read_histogram"],
            ),
        ),
    ] {
        let table = tables.iter().find(|table| table.name == name);
        let columns = &table.expect(name).columns;
        let columns = columns.iter().filter(|column| !column.is_computed());
        let columns: BTreeSet<_> = columns.map(|column| column.name.clone()).collect();
        assert_eq!(columns, fields, "{name}");
    }
}
