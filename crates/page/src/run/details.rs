//! The details of a run's report: what was run, and the tables that stand beside charts.

use super::named;
use crate::content::{Block, Row, Rows, Section, Table, decimal, moment};
use crate::source::Source;
use selfbench_model::{Evidence, Run, RunRecord, Waited};
use selfbench_stats::budget::LatencyPart;

/// The tables of a run's report.
pub(super) struct Tables<'a, S> {
    pub run_id: i64,
    pub source: &'a mut S,
}

impl<S: Source> Tables<'_, S> {
    /// A query of the run, which is `$1`.
    fn of_run(&self, query: &str) -> String {
        query.replace("$1", &self.run_id.to_string())
    }

    fn table(&mut self, caption: &str, query: &str) -> Result<Option<Table>, S::Error> {
        let query = self.of_run(query);
        self.source.table(caption, query)
    }
}

/// Section of all that is needed to repeat the run.
pub(super) fn what_was_run<S: Source>(
    record: &RunRecord,
    repeat: &str,
    tables: &mut Tables<'_, S>,
) -> Result<Section, S::Error> {
    let run = &record.run;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let scripts = record.scripts.iter();
    let scripts: Vec<String> = scripts.map(|script| script.description.clone()).collect();
    add("scripts", Some(named(&scripts)));
    add("mode", Some(run.mode.description().into()));
    add("connection", run.connection.clone());
    add("target", run.target.clone());
    add("query protocol", Some(run.protocol.clone()));
    add("clients", Some(run.clients.to_string()));
    add("processes that drove them", Some(run.workers.to_string()));
    add("duration", run.duration_s.map(|s| format!("{s} s")));
    add(
        "transactions per client",
        run.transactions_per_client.map(|n| n.to_string()),
    );
    add("measured", run.seconds.map(|s| format!("{} s", decimal(s))));
    add(
        "warm-up",
        (run.warmup_s > 0.0).then(|| format!("{} s{}", run.warmup_s, run.warmup_ended())),
    );
    add(
        "rate",
        run.rate
            .map(|rate| format!("{rate} transactions per second")),
    );
    add(
        "latency limit",
        run.latency_limit_ms.map(|ms| format!("{ms} ms")),
    );
    add(
        "maximum number of tries",
        (run.max_tries != 1).then(|| run.max_tries.to_string()),
    );
    if record.pgio.is_none() {
        add("scale", Some(run.scale.to_string()));
    }
    add("random seed", Some(run.seed.clone()));
    for (name, value) in &run.variables {
        add(&format!("variable {name}"), Some(value.clone()));
    }
    add("started", run.started_at.as_deref().map(moment));
    add("finished", run.finished_at.as_deref().map(moment));
    let report = |of: String| format!("SELECT bench.report({of}, format => 'html')");
    add(
        "runs of its set",
        run.set_id
            .map(|set_id| report(format!("set_ids => '{{{set_id}}}'"))),
    );
    add(
        "runs of its label",
        run.label.as_ref().map(|_| {
            let run_id = run.run_id;
            report(format!(
                "label => (SELECT label FROM bench.runs WHERE run_id = {run_id})"
            ))
        }),
    );
    add("state", Some(run.state.name().into()));
    add("role", Some(run.owner.clone()));
    add("database", Some(run.database_name.clone()));
    add("server", Some(format!("PostgreSQL {}", run.server_version)));
    add(
        "extension",
        Some(format!("pg_selfbench {}", run.extension_version)),
    );
    add(
        "intervals, histograms, stacks and log",
        run.thinned_at
            .as_deref()
            .map(|at| format!("deleted at {}", moment(at))),
    );
    if let Some(origin) = &run.imported_from {
        let words = format!(
            "run {} of database {}, system {}",
            origin.run_id, origin.database, origin.system_identifier
        );
        add("imported from", Some(words));
    }
    let mut blocks = vec![Block::Code(repeat.to_owned()), Block::Facts(facts)];
    let bodies = tables.of_run(
        "SELECT name, body FROM bench.run_scripts WHERE run_id = $1 AND body <> '' ORDER BY script_no",
    );
    let bodies = tables.source.rows(&bodies)?;
    if !bodies.is_empty() {
        let blocks_of = |row: &Row| {
            [
                Block::Heading(row.text("name").to_owned()),
                Block::Code(row.text("body").to_owned()),
            ]
        };
        blocks.push(Block::Folded(
            "Texts of the scripts".into(),
            bodies.iter().flat_map(blocks_of).collect(),
        ));
    }
    Ok(Section {
        heading: "What was run".into(),
        blocks,
    })
}

pub(super) fn scripts<S: Source>(
    record: &RunRecord,
    tables: &mut Tables<'_, S>,
) -> Result<Option<Section>, S::Error> {
    let mut blocks = Vec::new();
    if record.scripts.len() > 1 {
        let table = tables.table(
            "Scripts",
            "SELECT name, weight, transactions, failed, tps, latency_avg_ms, latency_p50_ms, \
             latency_p95_ms, latency_p99_ms, latency_max_ms FROM bench.run_scripts WHERE run_id = $1 \
             ORDER BY script_no",
        )?;
        blocks.extend(table.map(Block::Table));
    }
    if record
        .scripts
        .iter()
        .any(|script| script.p90_limit_ms.is_some())
    {
        let table = tables.table(
            "Transactions of the workload: response times without \\sleep, limits of the 90th percentile",
            "SELECT description AS transaction, transactions, rolled_back, per_minute, per_minute_of, \
             latency_avg_ms - coalesce(sleep_avg_ms, 0) AS response_avg_ms, latency_p90_ms, p90_limit_ms, \
             above_limit, p90_is_met FROM bench.run_scripts WHERE run_id = $1 ORDER BY script_no",
        )?;
        blocks.extend(table.map(Block::Table));
    }
    if !record.statements.is_empty() {
        let table = tables.table(
            "Commands of the scripts",
            "SELECT script_no, line, command, executions, failures, retries, latency_avg_ms, \
             latency_p50_ms, latency_p95_ms, latency_p99_ms, latency_max_ms FROM bench.run_statements \
             WHERE run_id = $1 ORDER BY script_no, command_no",
        )?;
        blocks.extend(table.map(Block::Table));
    }
    if record.pgio.is_some() {
        let table = tables.table(
            "Tables of pgio's workload",
            "SELECT table_no, sessions, selects, updates, failed, logical_reads_per_s, \
             cache_hits_per_s, riops, device_reads_per_s, wal_bytes_per_s, select_max_ms, update_max_ms \
             FROM bench.pgio_table_summary WHERE run_id = $1 ORDER BY table_no",
        )?;
        blocks.extend(table.map(Block::Table));
    }
    Ok((!blocks.is_empty()).then(|| Section {
        heading: "Scripts and commands".into(),
        blocks,
    }))
}

/// Section of the conditions of the workload, if they were checked.
pub(super) fn conditions<S: Source>(
    record: &RunRecord,
    tables: &mut Tables<'_, S>,
) -> Result<Option<Section>, S::Error> {
    if record.checks.is_empty() {
        return Ok(None);
    }
    let table = tables.table(
        "Conditions of the workload",
        "SELECT condition, description, holds, violations, example FROM bench.run_checks \
         WHERE run_id = $1 ORDER BY check_no",
    )?;
    Ok(table.map(|table| {
        let words = "Conditions that the rows of the workload must keep, checked after the run.";
        Section::of("Conditions", words, table)
    }))
}

/// Section of the statements of a captured workload, if the run is of one.
pub(super) fn captured<S: Source>(
    evidence: &Evidence,
    tables: &mut Tables<'_, S>,
) -> Result<Option<Section>, S::Error> {
    let Some(validation) = &evidence.validation else {
        return Ok(None);
    };
    let name = validation.workload.replace('\'', "''");
    let table = tables.table(
        "Statements when they were captured and in the run",
        &format!(
            "SELECT statement_no, judgement, captured_calls_share, run_calls_share, captured_mean_ms, run_mean_ms, \
             captured_rows, run_rows, captured_blocks, run_blocks, query \
             FROM bench.validate_workload('{name}', $1) WHERE statement_no IS NOT NULL"
        ),
    )?;
    Ok(table.map(|table| Section::of("Captured workload", &validation.verdict, table)))
}

pub(super) fn time(run_id: i64, budget: &[LatencyPart]) -> Option<Section> {
    let row = |part: &LatencyPart| {
        Row(vec![
            ("component".into(), part.component.as_str().into()),
            ("us_per_transaction".into(), part.us.into()),
            ("share".into(), part.share.into()),
            ("measured".into(), part.measured.as_str().into()),
        ])
    };
    let rows = Rows {
        numbers: vec![false, true, true, false],
        rows: budget.iter().map(row).collect(),
    };
    let query = format!(
        "SELECT component, us_per_transaction, share, measured FROM bench.time_budget({run_id})"
    );
    let table = Table::of("Time budget of a transaction", query, rows)?;
    Some(Section::of(
        "Where the time goes",
        "These parts of a transaction's time add up to its mean latency.",
        table,
    ))
}

pub(super) fn waits<S: Source>(
    run: &Run,
    evidence: &Evidence,
    tables: &mut Tables<'_, S>,
) -> Result<Option<Section>, S::Error> {
    let all: i64 = evidence.waits.iter().map(|waited| waited.samples).sum();
    let row = |waited: &Waited| {
        let samples = waited.samples as f64;
        Row(vec![
            ("class".into(), waited.class.as_str().into()),
            ("event".into(), waited.event.as_deref().into()),
            ("samples".into(), waited.samples.into()),
            ("share".into(), (samples / all as f64).into()),
            (
                "sessions".into(),
                (samples / evidence.wait_rounds as f64).into(),
            ),
        ])
    };
    let rows = Rows {
        numbers: vec![false, false, true, true, true],
        rows: evidence.waits.iter().map(row).collect(),
    };
    let query =
        tables.of_run("SELECT class, event, samples, share, sessions FROM bench.top_waits($1)");
    let section = Table::of("Wait events", query, rows).map(|table| {
        Section::of(
            "Waits",
            "What the sessions that serve the clients waited for, sampled. A session that does not wait is \
             not always on a CPU.",
            table,
        )
    });
    let section = section.or_else(|| {
        run.has_hidden_sessions().then(|| Section {
            heading: "Waits".into(),
            blocks: vec![Block::Text(
                "Waits of sessions were not observed: the target does not show the process IDs that the \
                 clients know, as behind a connection pooler."
                    .into(),
            )],
        })
    });
    let blockers = tables.table(
        "What blocked sessions that waited for locks",
        "SELECT locktype, mode, relation, blocker, blocker_role, blocker_application, blocker_state, \
         blocker_statement, sum(samples) AS samples FROM bench.run_blockers WHERE run_id = $1 \
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY samples DESC, 1, 2, 3, 4, 5, 6, 7, 8",
    )?;
    Ok(section.map(|mut section| {
        section.blocks.extend(blockers.map(Block::Table));
        section
    }))
}

pub(super) fn profile<S: Source>(
    record: &RunRecord,
    tables: &mut Tables<'_, S>,
) -> Result<Option<Section>, S::Error> {
    if record.profiles.is_empty() {
        return Ok(None);
    }
    let mut blocks = Vec::new();
    let processes = tables.table(
        "Sampled processes",
        "SELECT process, processes, sampled, cpu_ms, samples, incomplete, lost, cost_ms \
         FROM bench.run_profiles WHERE run_id = $1 ORDER BY sampled DESC, process",
    )?;
    blocks.extend(processes.map(Block::Table));
    let functions = tables.table(
        "Functions by the CPU time that they take",
        "SELECT process, function, self_samples, self_share, total_samples, total_share \
         FROM bench.top_functions($1) ORDER BY self_samples DESC, total_samples DESC, process, function",
    )?;
    blocks.extend(
        functions.map(|table| Block::Folded("Functions".into(), vec![Block::Table(table)])),
    );
    Ok(Some(Section {
        heading: "Profile".into(),
        blocks,
    }))
}

/// Section of details.
pub(super) fn background<S: Source>(tables: &mut Tables<'_, S>) -> Result<Section, S::Error> {
    let mut blocks = Vec::new();
    for (summary, caption, query) in [
        (
            "Tables and indexes",
            "Tables and indexes that the run used",
            "SELECT schema_name, name, kind, of_table, bytes_before, bytes_after, live_rows_after, dead_rows_after, \
             autovacuums, sequential_scans, index_scans, rows_inserted, rows_updated, rows_hot_updated, \
             rows_deleted FROM bench.run_tables WHERE run_id = $1 ORDER BY bytes_after DESC NULLS LAST, \
             schema_name, name",
        ),
        (
            "Settings",
            "Settings of the run",
            "SELECT name, setting, source FROM bench.run_settings WHERE run_id = $1 ORDER BY name COLLATE \"C\"",
        ),
        (
            "Hardware and operating system",
            "What the run ran on",
            "SELECT machine, name, value FROM bench.run_environment WHERE run_id = $1 \
             ORDER BY machine DESC, name COLLATE \"C\"",
        ),
        (
            "All figures",
            "The row of the run",
            "SELECT f.name, f.value FROM bench.run_summary r, json_each_text(row_to_json(r)) \
             WITH ORDINALITY f (name, value, place) WHERE run_id = $1 AND f.value IS NOT NULL \
             ORDER BY f.place",
        ),
    ] {
        let table = tables.table(caption, query)?;
        blocks.extend(table.map(|table| Block::Folded(summary.into(), vec![Block::Table(table)])));
    }
    Ok(Section {
        heading: "Settings and hardware".into(),
        blocks,
    })
}
