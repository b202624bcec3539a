//! When a run's figures are doubtful, and when they are not.

use selfbench_model::{
    Blocked, CourseInterval, Evidence, Figures, LARGEST_TABLES, LOCKED_TABLES, Latency, LockWaits,
    Mode, PgioRun, Run, RunCheck, RunClient, RunRecord, RunScript, RunStall, RunState,
    RunStatement, RunTable, ServerMoment, Setting, Waited,
};
use selfbench_report::pgio::WorkingSet;
use selfbench_report::{Setup, Severity, advice, known_before, story};
use selfbench_stats::Counts;

const SELECT_ONLY: &str = "<builtin: select only>";
const TPCB_LIKE: &str = "<builtin: TPC-B (sort of)>";

/// A run of one minute with nothing to say about it.
fn run(mode: Mode, description: &str) -> RunRecord {
    let figures = Figures {
        counts: Counts {
            transactions: 100_000,
            ..Counts::default()
        },
        ..Figures::default()
    };
    RunRecord {
        run: Run {
            run_id: 1,
            state: RunState::Finished,
            server_version_num: 170_000,
            mode,
            scale: 10,
            clients: 10,
            jobs: 2,
            workers: 2,
            max_tries: 1,
            duration_s: Some(60.0),
            seconds: Some(60.0),
            overhead_us: Some(5.0),
            overhead_share: Some(0.1),
            processors: Some(10),
            warmup_s: 5.0,
            figures: figures.clone(),
            ..Run::default()
        },
        scripts: vec![RunScript {
            description: description.to_owned(),
            weight: 1,
            figures,
            ..RunScript::default()
        }],
        ..RunRecord::default()
    }
}

/// Applies a change to a record.
fn changed(mut record: RunRecord, change: impl FnOnce(&mut Run)) -> RunRecord {
    change(&mut record.run);
    record
}

/// Findings about a run, with its evidence.
fn said_with(report: &RunRecord, evidence: &Evidence) -> Vec<String> {
    let said = advice(report, evidence);
    assert!(said.iter().all(|f| f.remedy.ends_with('.')), "{said:?}");
    assert!(said.iter().all(|f| !f.finding.ends_with('.')), "{said:?}");
    assert!(said.is_sorted_by_key(|f| std::cmp::Reverse(f.severity)));
    said.into_iter()
        .map(|f| format!("{}: {}", f.finding, f.evidence))
        .collect()
}

fn said(report: &RunRecord) -> Vec<String> {
    said_with(report, &Evidence::default())
}

/// These settings, and nothing else.
fn under(settings: &[(&str, &str)]) -> Evidence {
    let setting = |(name, value): &(&str, &str)| Setting {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        source: "configuration file".to_owned(),
    };
    Evidence {
        settings: settings.iter().map(setting).collect(),
        ..Evidence::default()
    }
}

/// Tests that one thing is said about a run, which contains `part`.
#[track_caller]
fn assert_one(report: &RunRecord, part: &str) {
    assert_one_with(report, &Evidence::default(), part);
}

#[track_caller]
fn assert_one_with(report: &RunRecord, evidence: &Evidence, part: &str) {
    let said = said_with(report, evidence);
    assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
}

#[test]
fn held_snapshots() {
    let mut report = run(Mode::Spi, SELECT_ONLY);
    report.run.snapshot_held_s = Some(6.1);
    report.run.snapshot_held_by = Some("the calling statement".to_owned());
    assert_one(
        &report,
        "figures may be several times too low: a snapshot was held for 6.1 s of 60.0 s (held by \
         the calling statement)",
    );
    report.run.snapshot_held_s = Some(6.0);
    assert!(said(&report).is_empty());
}

#[test]
fn nothing_to_say() {
    for mode in [Mode::Spi, Mode::Libpq] {
        assert!(said(&run(mode, TPCB_LIKE)).is_empty());
        assert!(said(&run(mode, SELECT_ONLY)).is_empty());
        let unknown = changed(run(mode, TPCB_LIKE), |run| {
            run.overhead_us = None;
            run.overhead_share = None;
        });
        assert!(said(&unknown).is_empty());
    }
}

#[test]
fn the_limits_themselves_are_no_reason() {
    let mut report = run(Mode::Libpq, TPCB_LIKE);
    report.run.overhead_share = Some(0.9);
    report.run.seconds = Some(10.0);
    report.run.figures.counts.transactions = 99;
    report.run.figures.counts.deadlock_failures = 1;
    assert_eq!(
        said(&report),
        ["few transactions were measured: 99 transactions"]
    );
    report.run.figures.counts.transactions = 100;
    report.run.figures.counts.deadlock_failures = 0;
    assert!(said(&report).is_empty());
}

#[test]
fn a_harness_that_is_the_limit() {
    let busy = |mode, share| {
        changed(run(mode, SELECT_ONLY), |run| {
            run.overhead_share = Some(share);
        })
    };
    assert_one(&busy(Mode::Libpq, 0.93), "busy for 93% of the time");
    assert_one(
        &busy(Mode::Spi, 0.25),
        "outside of executor and commit: 25% of their time",
    );
    let few_workers = advice(&busy(Mode::Libpq, 0.95), &Evidence::default());
    assert!(few_workers[0].remedy.contains("more workers"));
    let all_workers = changed(busy(Mode::Libpq, 0.95), |run| {
        run.jobs = 10;
        run.workers = 10;
    });
    assert!(
        !advice(&all_workers, &Evidence::default())[0]
            .remedy
            .contains("more workers")
    );
}

#[test]
fn runs_that_are_not_complete() {
    let ended = |state| {
        changed(run(Mode::Spi, SELECT_ONLY), |run| {
            run.state = state;
        })
    };
    assert_one(&ended(RunState::Canceled), "was canceled");
    assert_one(&ended(RunState::Failed), "failed");
    let mut running = ended(RunState::Running);
    running.run.figures = Figures::default();
    running.run.seconds = None;
    assert_one(&running, "still in progress");
    let aborted = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.aborted_clients = 3;
    });
    assert_one(&aborted, "clients aborted: 3 of 10 clients");
}

#[test]
fn lost_transactions() {
    let mut failing = run(Mode::Spi, SELECT_ONLY);
    failing.run.figures.counts.serialization_failures = 2_000;
    assert_one(&failing, "transactions failed: 2.0% of the transactions");
    let mut skipping = run(Mode::Spi, SELECT_ONLY);
    skipping.run.figures.counts.skipped = 100_000;
    assert_one(
        &skipping,
        "transactions were skipped: 50.0% of the transactions",
    );
}

#[test]
fn scale_and_clients() {
    let small = |description| {
        changed(run(Mode::Spi, description), |run| {
            run.scale = 9;
        })
    };
    assert_one(&small(TPCB_LIKE), "pgbench_branches: scale 9, 10 clients");
    assert!(said(&small(SELECT_ONLY)).is_empty());
    assert!(said(&small("mine")).is_empty());
    let mut never_chosen = small(TPCB_LIKE);
    never_chosen.scripts[0].weight = 0;
    assert!(said(&never_chosen).is_empty());
}

#[test]
fn settings_that_matter() {
    let off = under(&[
        ("fsync", "off"),
        ("full_page_writes", "off"),
        ("synchronous_commit", "off"),
    ]);
    assert_eq!(
        said_with(&run(Mode::Spi, TPCB_LIKE), &off),
        [
            "commits do not wait for the disk: fsync = off",
            "the server writes less WAL than in a safe configuration: full_page_writes = off",
            "commits do not wait for the disk: synchronous_commit = off",
        ]
    );
    assert!(said_with(&run(Mode::Spi, SELECT_ONLY), &off).is_empty());
    // What a script of the user's does is known when the run has ended.
    let mut known = off;
    for (writes, findings) in [(None, 3), (Some(true), 3), (Some(false), 0)] {
        known.writes = writes;
        let said = said_with(&run(Mode::Spi, "mine"), &known);
        assert_eq!(said.len(), findings, "{writes:?}: {said:?}");
    }
    assert_one_with(
        &run(Mode::Spi, SELECT_ONLY),
        &under(&[("debug_assertions", "on")]),
        "the server checks assertions",
    );
}

#[test]
fn logged_statements() {
    let reads = run(Mode::Libpq, SELECT_ONLY);
    for (name, value) in [
        ("log_statement", "all"),
        ("log_min_duration_statement", "0"),
        ("log_duration", "on"),
        ("log_executor_stats", "on"),
    ] {
        let expected = format!("statements are logged: {name} = {value}");
        assert_eq!(said_with(&reads, &under(&[(name, value)])), [expected]);
    }
    assert!(said_with(&reads, &under(&[("log_statement", "mod")])).is_empty());
    assert_one_with(
        &run(Mode::Libpq, TPCB_LIKE),
        &under(&[("log_statement", "mod")]),
        "log_statement = mod",
    );
    for quiet in [
        ("log_statement", "ddl"),
        ("log_min_duration_statement", "-1"),
    ] {
        assert!(said_with(&reads, &under(&[quiet])).is_empty());
    }
    let slow = under(&[("log_min_duration_statement", "250ms")]);
    assert_one_with(&reads, &slow, "slow statements are logged");
    assert_eq!(advice(&reads, &slow)[0].severity, Severity::Note);

    // The server logs what clients send, and those of mode spi send nothing.
    let inside = run(Mode::Spi, SELECT_ONLY);
    for (name, value) in [
        ("log_statement", "all"),
        ("log_min_duration_statement", "0"),
        ("log_min_duration_statement", "250ms"),
        ("log_min_duration_sample", "0"),
        ("log_duration", "on"),
        ("log_statement_stats", "on"),
    ] {
        assert!(said_with(&inside, &under(&[(name, value)])).is_empty());
    }
    assert_one_with(
        &inside,
        &under(&[("log_planner_stats", "on")]),
        "statements are logged: log_planner_stats = on",
    );
}

#[test]
fn auto_explain() {
    let reads = run(Mode::Spi, SELECT_ONLY);
    let loaded = under(&[(
        "shared_preload_libraries",
        "pg_stat_statements, auto_explain",
    )]);
    assert_one_with(
        &reads,
        &loaded,
        "auto_explain is loaded: shared_preload_libraries has it",
    );
    assert_eq!(advice(&reads, &loaded)[0].severity, Severity::Note);
    let acts = under(&[
        ("auto_explain.log_min_duration", "1s"),
        ("auto_explain.log_analyze", "on"),
    ]);
    assert_one_with(
        &reads,
        &acts,
        "auto_explain.log_min_duration = 1s, auto_explain.log_analyze = on",
    );
    assert_eq!(advice(&reads, &acts)[0].severity, Severity::Warning);
    let idle = under(&[("auto_explain.log_min_duration", "-1")]);
    assert_eq!(advice(&reads, &idle)[0].severity, Severity::Note);
    // Workers do not load the libraries of sessions.
    let of_sessions = under(&[
        ("auto_explain.log_min_duration", "1s"),
        ("session_preload_libraries", "auto_explain"),
    ]);
    assert!(said_with(&reads, &of_sessions).is_empty());
    let connected = run(Mode::Libpq, SELECT_ONLY);
    assert_one_with(&connected, &of_sessions, "session_preload_libraries has it");
}

#[test]
fn what_is_known_before_a_run() {
    let before = |scripts: &[&str], clients, seconds| {
        let setup = Setup {
            mode: Mode::Libpq,
            scripts,
            writes: scripts != [SELECT_ONLY],
            clients,
            scale: 5,
            setting: &|name| {
                ["fsync", "synchronous_commit"]
                    .contains(&name)
                    .then(|| "off".to_owned())
            },
        };
        let findings = known_before(&setup, seconds);
        findings.into_iter().map(|f| f.evidence).collect::<Vec<_>>()
    };
    assert_eq!(
        before(&[TPCB_LIKE], 6, Some(10.0)),
        ["scale 5, 6 clients", "fsync = off"]
    );
    assert!(before(&[SELECT_ONLY], 6, Some(10.0)).is_empty());
    // A trial.
    assert!(before(&[TPCB_LIKE], 6, Some(9.9)).is_empty());
    assert!(before(&[TPCB_LIKE], 6, None).is_empty());
}

/// Intervals of one second with this throughput.
fn course(tps: impl IntoIterator<Item = f64>) -> Evidence {
    let intervals = tps.into_iter().enumerate().map(|(i, tps)| CourseInterval {
        begins_s: i as f64,
        seconds: 1.0,
        tps: Some(tps),
        latency_avg_ms: Some(1000.0 / tps),
        storage_share: None,
    });
    Evidence {
        course: intervals.collect(),
        ..Evidence::default()
    }
}

/// Noise of 3 %, the same at each run.
fn noise(i: usize) -> f64 {
    30.0 * ((i * 7919 % 101) as f64 / 50.0 - 1.0)
}

#[test]
fn warm_up() {
    let cold = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.warmup_s = 0.0;
    });
    assert_one(&cold, "there was no warm-up: warmup = 0");
    assert_eq!(
        advice(&cold, &Evidence::default())[0].severity,
        Severity::Note
    );
    let slow = course([800.0, 1000.0, 990.0, 1010.0, 1005.0, 995.0]);
    assert_one_with(
        &cold,
        &slow,
        "the figures include a warm-up: no warm-up; 800.0 tps in the first interval, 1000.0 tps in the \
         median of the others",
    );
    assert!(said_with(&run(Mode::Spi, SELECT_ONLY), &slow).is_empty());
    // Hardly a run begins as fast as it goes on: it matters if the whole run is slower for it.
    let severity = |evidence: &Evidence| advice(&cold, evidence)[0].severity;
    assert_eq!(severity(&slow), Severity::Note);
    let slower = course([600.0, 1000.0, 990.0, 1010.0, 1005.0, 995.0]);
    assert_eq!(severity(&slower), Severity::Warning);
    let usual = course([950.0, 1000.0, 990.0, 1010.0, 1005.0, 995.0]);
    assert_one_with(&cold, &usual, "there was no warm-up");
}

#[test]
fn a_first_interval_that_is_slower_by_chance() {
    let first_of = |clients, tps: &[f64]| {
        let cold = changed(run(Mode::Libpq, "mine"), |run| {
            run.warmup_s = 0.0;
            run.clients = clients;
        });
        said_with(&cold, &course(tps.iter().copied()))
    };
    let warms_up = |clients, tps: &[f64]| {
        let said = first_of(clients, tps);
        assert_eq!(said.len(), 1, "{said:?}");
        said[0].starts_with("the figures include a warm-up")
    };
    // Transactions of 0.6 s, of one client: the first interval has one less.
    assert!(!warms_up(1, &[1.0, 2.0, 1.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0]));
    // Each of many clients is within a transaction at its end.
    assert!(!warms_up(100, &[300.0, 400.0, 400.0, 400.0, 400.0, 400.0]));
    assert!(warms_up(10, &[300.0, 400.0, 400.0, 400.0, 400.0, 400.0]));
    // Small counts differ by chance, even if these do not.
    assert!(!warms_up(1, &[80.0, 100.0, 100.0, 100.0, 100.0, 100.0]));
    assert!(warms_up(1, &[60.0, 100.0, 100.0, 100.0, 100.0, 100.0]));
    // And so do large ones, if the others do.
    let noisy = [
        800.0, 900.0, 1100.0, 1000.0, 1150.0, 850.0, 1000.0, 1050.0, 950.0,
    ];
    assert!(!warms_up(1, &noisy));
    let slower = [&[400.0], &noisy[1..]].concat();
    assert!(warms_up(1, &slower));
}

#[test]
fn unsteady_runs() {
    let report = run(Mode::Spi, SELECT_ONLY);
    let steady = |i| 1000.0 + noise(i);
    assert!(said_with(&report, &course((0..60).map(steady))).is_empty());
    assert_one_with(
        &report,
        &course((0..60).map(|i| steady(i) - 5.0 * i as f64)),
        "a trend: throughput changed by -3",
    );
    assert_one_with(
        &report,
        &course((0..60).map(|i| steady(i) - if i < 20 { 0.0 } else { 400.0 })),
        "up to 20.0 s, then ",
    );
    assert_one_with(
        &report,
        &course((0..120).map(|i| steady(i) - if i % 30 < 4 { 900.0 } else { 0.0 })),
        "of its mean every 30 s (Fisher's test)",
    );
    // With a rate, latency tells.
    let throttled = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.rate = Some(100_000.0 / 60.0);
    });
    assert_one_with(
        &throttled,
        &course((0..60).map(|i| steady(i) - if i < 20 { 0.0 } else { 600.0 })),
        "latency was 1.0 ms up to 20.0 s, then 2.5 ms",
    );
}

/// A table with these sizes and rows before and after.
fn table(name: &str, bytes: [i64; 2], rows: [i64; 2]) -> RunTable {
    RunTable {
        name: name.to_owned(),
        kind: "table".to_owned(),
        bytes_before: Some(bytes[0]),
        bytes_after: Some(bytes[1]),
        live_rows_before: Some(rows[0]),
        live_rows_after: Some(rows[1]),
        row_bytes: Some(100.0),
        ..RunTable::default()
    }
}

#[test]
fn tables() {
    let report = run(Mode::Spi, TPCB_LIKE);
    let with = |tables: &[RunTable]| Evidence {
        tables: tables.to_vec(),
        ..Evidence::default()
    };
    let mb = 1 << 20;
    let fine = table("fine", [2 * mb, 4 * mb], [20_000, 40_000]);
    assert!(said_with(&report, &with(std::slice::from_ref(&fine))).is_empty());
    assert_one_with(
        &report,
        &with(&[fine.clone(), table("small", [3 * mb, 3 * mb], [10, 10])]),
        "tables were bloated before the run: small: 3 MB, of which rows need 8 kB",
    );
    assert_one_with(
        &report,
        &with(&[fine.clone(), table("grew", [mb, 9 * mb], [10_000, 20_000])]),
        "tables grew by more than their rows during the run: grew: 8 MB, of which rows need 976.6 kB",
    );
    // Updates make each table grow that autovacuum has no reason to look at.
    for (after, findings) in [(119 * mb, 0), (120 * mb, 1)] {
        let grown = table("updated", [100 * mb, after], [1 << 20, 1 << 20]);
        assert_eq!(said_with(&report, &with(&[grown])).len(), findings);
    }
    // Of indexes and of tables that nobody has analyzed, nothing is known.
    let unknown = RunTable {
        row_bytes: None,
        ..table("unknown", [900 * mb, 900 * mb], [1, 1])
    };
    assert!(said_with(&report, &with(&[unknown])).is_empty());

    let mut small = with(&[fine]);
    small.settings = under(&[("shared_buffers", "128MB")]).settings;
    assert_one_with(
        &report,
        &small,
        "the working set, 2 MB, fits into shared_buffers, 128 MB",
    );
    small.settings = under(&[("shared_buffers", "1MB")]).settings;
    assert!(said_with(&report, &small).is_empty());
    small.facts = [("memory_bytes".to_owned(), "1073741824".to_owned())].into();
    assert_one_with(&report, &small, "but into the memory of 1 GB");
    small
        .facts
        .insert("cgroup_memory_limit_bytes".to_owned(), "1048576".to_owned());
    assert!(said_with(&report, &small).is_empty());
}

/// Tables as in a run of which plans tell some.
fn known_by(known_by: &str, table: RunTable) -> RunTable {
    RunTable {
        known_by: known_by.to_owned(),
        ..table
    }
}

#[test]
fn tables_of_other_sessions() {
    let mb = 1 << 20;
    let evidence = |tables: &[&RunTable], shared_buffers: &str| Evidence {
        tables: tables.iter().copied().cloned().collect(),
        settings: under(&[("shared_buffers", shared_buffers)]).settings,
        facts: [("memory_bytes".to_owned(), "1073741824".to_owned())].into(),
        ..Evidence::default()
    };
    let used = known_by("plans", table("used", [80 * mb; 2], [800_000; 2]));
    let index = RunTable {
        kind: "index".to_owned(),
        of_table: Some("used".to_owned()),
        row_bytes: None,
        ..known_by("plans", table("used_i", [10 * mb; 2], [800_000; 2]))
    };
    let toast = RunTable {
        kind: "TOAST table".to_owned(),
        of_table: Some("used".to_owned()),
        row_bytes: None,
        // It says nothing of bloat.
        ..known_by("plans", table("pg_toast_1", [30 * mb; 2], [10; 2]))
    };
    let bloated = table("bloated", [260 * mb; 2], [10; 2]);
    let grew = table("grew", [mb, 90 * mb], [10_000; 2]);
    let others = [&bloated, &grew].map(|table| known_by("counters", table.clone()));
    let of_others = evidence(&[&others[0], &others[1], &used, &index, &toast], "128MB");
    assert_one_with(
        &run(Mode::Spi, SELECT_ONLY),
        &of_others,
        "the working set, 120 MB, fits into shared_buffers, 128 MB",
    );
    // Functions of scripts of users may use these, so that nothing is certain.
    let mine = run(Mode::Spi, "mine");
    assert!(said_with(&mine, &of_others).is_empty());
    let large_buffers = evidence(&[&others[0], &used, &index, &toast], "1GB");
    assert_one_with(&mine, &large_buffers, "the working set, 120 MB, fits into");
    // Large values that nothing has read do not count.
    let unread = RunTable {
        schema_name: "pg_toast".to_owned(),
        index_scans: Some(0),
        sequential_scans: Some(0),
        rows_inserted: Some(0),
        ..toast.clone()
    };
    let read = RunTable {
        index_scans: Some(1),
        ..unread.clone()
    };
    for (toast, size) in [(&unread, 90), (&read, 120)] {
        let said = format!("the working set, {size} MB, fits into");
        assert_one_with(&mine, &evidence(&[&used, &index, toast], "1GB"), &said);
    }
    // Nor do indexes, but a run that writes has written to them.
    let unused = RunTable {
        index_scans: Some(0),
        ..index.clone()
    };
    for (writes, size) in [(Some(false), 80), (Some(true), 90), (None, 90)] {
        let indexed = Evidence {
            writes,
            ..evidence(&[&used, &unused], "1GB")
        };
        let said = format!("the working set, {size} MB, fits into");
        assert_one_with(&mine, &indexed, &said);
    }
    // Nothing is said if tables are missing, or it is not known what was used of them.
    for note in [LARGEST_TABLES, LOCKED_TABLES] {
        let mut partly = mine.clone();
        partly.run.notes.push(note.to_owned());
        assert!(said_with(&partly, &large_buffers).is_empty());
    }
    let before = [&used, &index].map(|table| RunTable {
        bytes_after: None,
        ..table.clone()
    });
    let canceled = evidence(&[&before[0], &before[1]], "1GB");
    assert!(said_with(&mine, &canceled).is_empty());
    assert_one_with(&run(Mode::Spi, SELECT_ONLY), &canceled, "90 MB, fits into");
    let small_buffers = evidence(&[&others[0], &used, &index, &toast], "100MB");
    assert_one_with(&mine, &small_buffers, "120 MB, does not fit into shared");
    // What plans tell is certain.
    let own = [&bloated, &grew].map(|table| known_by("plans", table.clone()));
    let of_run = evidence(&[&own[0], &own[1]], "1MB");
    let said = said_with(&mine, &of_run);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("tables were bloated before the run: bloated: 260 MB"));
    assert!(said[1].starts_with("tables grew by more than their rows during the run: grew"));
    // Where no plans are known, as in mode libpq, all tables count.
    let without_plans = evidence(&[&others[0], &others[1]], "1MB");
    assert_eq!(said_with(&mine, &without_plans).len(), 3);
}

#[test]
fn latencies_beyond_the_histogram() {
    let mut report = run(Mode::Spi, SELECT_ONLY);
    report.run.figures.latency.latency_max_ms = Some(86_400_000.0);
    assert!(said(&report).is_empty());
    report.run.figures.latency.latency_max_ms = Some(86_400_001.0);
    assert_one(&report, "latencies exceed the range of the histogram");
}

#[test]
fn a_working_set_that_fits_into_memory() {
    let of = |bytes, shared_buffers_bytes, memory_bytes| WorkingSet {
        bytes,
        shared_buffers_bytes,
        memory_bytes,
    };
    let told = |set: WorkingSet| set.what_is_measured();
    let (mb, gb) = (1 << 20, 1 << 30);

    assert_eq!(
        told(of(100 * mb, Some(128 * mb), Some(gb))).as_deref(),
        Some(
            "the working set, 100 MB, fits into shared_buffers, 128 MB: after the first reads, \
             the run measures the server's buffers, not storage"
        )
    );
    assert_eq!(
        told(of(3 * gb / 2, Some(128 * mb), Some(23 * gb))).as_deref(),
        Some(
            "the working set, 1.5 GB, does not fit into shared_buffers, but into the memory of \
             23 GB: after the first reads, the run measures the operating system's cache, \
             not storage"
        )
    );
    // The limits themselves fit, and one byte more does not.
    assert!(told(of(128 * mb, Some(128 * mb), None)).is_some_and(|t| t.contains("fits into")));
    assert!(told(of(128 * mb + 1, Some(128 * mb), Some(gb))).is_some_and(|t| t.contains("but")));
    assert_eq!(told(of(gb + 1, Some(128 * mb), Some(gb))), None);
    // Nothing is said of what is not known.
    assert_eq!(told(of(1, None, None)), None);
    assert_eq!(told(of(gb, Some(128 * mb), None)), None);
    assert!(told(of(8192, Some(mb), None)).is_some_and(|t| t.contains(", 8 kB, fits")));

    let with = |set: WorkingSet| RunRecord {
        pgio: Some(PgioRun {
            working_set_bytes: set.bytes,
            shared_buffers_bytes: set.shared_buffers_bytes,
            memory_bytes: set.memory_bytes,
            ..PgioRun::default()
        }),
        ..run(Mode::Spi, "<pgio: select>")
    };
    assert_one(&with(of(mb, Some(gb), None)), "fits into shared_buffers");
    assert!(said(&with(of(2 * gb, Some(gb), Some(gb)))).is_empty());
}

#[test]
fn runs_at_the_same_time() {
    let with = |other_runs| {
        changed(run(Mode::Libpq, SELECT_ONLY), |run| {
            run.other_runs = other_runs;
        })
    };
    assert_one(&with(1), "another run was in progress on this server");
    assert_one(&with(2), "2 other runs were in progress on this server");
}

#[test]
fn more_clients_than_processors() {
    let of = |mode, clients| {
        changed(run(mode, SELECT_ONLY), |run| {
            run.clients = clients;
        })
    };
    assert!(said(&of(Mode::Spi, 10)).is_empty());
    assert_one(
        &of(Mode::Spi, 11),
        "clients of mode spi shared processors: 11 clients, processors: 10",
    );
    assert!(said(&of(Mode::Libpq, 11)).is_empty());
    let unknown = changed(of(Mode::Spi, 100), |run| {
        run.processors = None;
    });
    assert!(said(&unknown).is_empty());
    // Where the time was measured for which they waited for one, that tells.
    let measured = |share| Evidence {
        run_queue_share: Some(share),
        ..Evidence::default()
    };
    assert!(said_with(&of(Mode::Spi, 11), &measured(0.012)).is_empty());
    assert_one_with(
        &of(Mode::Spi, 11),
        &measured(0.3),
        "a long run queue: sessions waited for a CPU for 30% of the time of their transactions; 11 clients, \
         processors: 10",
    );
    // Clients that mostly sleep need no processor of their own.
    let mut sleeping = of(Mode::Spi, 100);
    sleeping.run.figures.latency_sum_ms = 100.0;
    sleeping.run.figures.sleep_avg_ms = Some(51.0 / 100_000.0);
    assert!(said(&sleeping).is_empty());
    let throttled = changed(of(Mode::Spi, 100), |run| {
        run.rate = Some(100_000.0 / 60.0);
    });
    assert!(said(&throttled).is_empty());
}

#[test]
fn statements_that_matched_no_row() {
    let in_vain = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.unmatched = vec!["script \"a\", line 2, in 20 sampled executions: SELECT".into()];
    });
    assert_one(
        &in_vain,
        "a statement matched no row: script \"a\", line 2, in 20 sampled executions: SELECT",
    );
}

#[test]
fn clients_and_waits_behind_a_pooler() {
    let pooled = changed(run(Mode::Libpq, SELECT_ONLY), |run| run.stalled_clients = 3);
    let evidence = format!("{} of {} clients, at most one each", 3, pooled.run.clients);
    assert_one(
        &pooled,
        &format!("clients completed hardly any transaction: {evidence}"),
    );
    let hidden = changed(run(Mode::Libpq, SELECT_ONLY), |run| {
        run.notes.push(selfbench_model::HIDDEN_SESSIONS.into());
    });
    let said = advice(&hidden, &Evidence::default());
    assert!(
        said.iter()
            .any(|finding| finding.finding == "waits of sessions were not observed")
    );
    let mut waited = hidden;
    waited.scripts[0].figures.latency.latency_avg_ms = Some(10.0);
    let statement = |command_no, command: &str, ms| RunStatement {
        command_no,
        command: command.into(),
        latency: Latency {
            latency_avg_ms: Some(ms),
            ..Latency::default()
        },
        ..RunStatement::default()
    };
    waited.statements = vec![statement(0, "BEGIN;", 8.0), statement(1, "END;", 7.0)];
    let said = advice(&waited, &Evidence::default());
    assert!(
        !said
            .iter()
            .any(|finding| finding.finding.starts_with("clients waited"))
    );
    waited.statements[1] = statement(1, "END;", 2.0);
    let said = advice(&waited, &Evidence::default());
    assert_eq!(
        said[0].finding,
        "clients waited for sessions of the connection pooler"
    );
    assert_eq!(said[0].evidence, "BEGIN takes 8.0 of 10.0 ms");
}

#[test]
fn conditions_of_the_workload() {
    let mut record = run(Mode::Spi, SELECT_ONLY);
    let check = RunCheck {
        condition: "sums".into(),
        description: "the sums are equal".into(),
        holds: Some(true),
        violations: Some(0),
        ..RunCheck::default()
    };
    let with = |holds, violations, example: &str| RunCheck {
        holds,
        violations,
        example: Some(example.into()),
        ..check.clone()
    };
    let after_load_only = with(None, Some(3), "(3)");
    record.checks = vec![check.clone(), after_load_only];
    assert!(said(&record).is_empty());
    record.checks.push(with(None, None, "permission denied"));
    assert_one(
        &record,
        "a condition of the workload was not judged: sums: permission denied",
    );
    record.checks.pop();
    record.checks.push(with(Some(false), Some(2), "(1,2)"));
    assert_one(
        &record,
        "a condition of the workload is violated: sums (the sums are equal): 2 rows, such as (1,2)",
    );
    let text = selfbench_report::text(&record, &Evidence::default());
    assert!(text.contains(
        "conditions after the run: 1 hold, 1 violated, 1 not judged\n\
         violated: sums (the sums are equal): 2 rows, such as (1,2)\n"
    ));
}

#[test]
fn limits_of_the_workload() {
    let mut record = run(Mode::Spi, "New-Order");
    let script = &mut record.scripts[0];
    (script.p90_limit_ms, script.above_limit) = (Some(5000.0), Some(40));
    (script.per_minute, script.per_minute_of) = (Some(1234.56), Some("new orders".into()));
    let counts = &mut script.figures.counts;
    (counts.transactions, counts.rolled_back) = (400, 4);
    let lines = |record: &RunRecord| {
        let text = selfbench_report::text(record, &Evidence::default());
        let lines = text.lines().filter(|line| {
            line.contains("on purpose") || line.contains("limit") || line.contains("per minute")
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut expected = [
        "number of transactions rolled back on purpose: 4 (1.000%)",
        "limit of the 90th percentile: 5000 ms (met)",
        "new orders per minute: 1234.6 (not comparable with published results)",
    ];
    assert_eq!(lines(&record), expected);
    record.scripts[0].above_limit = Some(41);
    expected[1] = "limit of the 90th percentile: 5000 ms (exceeded)";
    assert_eq!(lines(&record)[..3], expected);
    let finding = "a latency limit of the workload is exceeded: New-Order: 41 of 400 transactions took more than 5000 ms, without \\sleep";
    assert!(said(&record).iter().any(|line| line.contains(finding)));
}

#[test]
fn a_rate_that_was_missed() {
    let at = |rate, transactions| {
        let mut report = changed(run(Mode::Spi, SELECT_ONLY), |run| {
            run.rate = Some(rate);
        });
        report.run.figures.counts.transactions = transactions;
        report
    };
    assert_one(
        &at(1000.0, 6_000),
        "the rate was missed: by 90%: 100.0 instead of 1000.0 transactions per second",
    );
    assert_one(&at(500.0, 28_368), "missed: by 5%: 472.8 instead of 500.0");
    assert_one(&at(1000.0, 59_200), "missed: by 1%");
    assert!(said(&at(1000.0, 59_500)).is_empty());
    // Few arrivals deviate by more than that.
    assert!(said(&at(2.0, 105)).is_empty());
    // What was skipped was begun in time, as far as the schedule goes.
    let mut skipping = at(1000.0, 59_500);
    skipping.run.figures.counts.skipped = 500;
    assert!(said(&skipping).is_empty());
    // Of a number of transactions, the client with the slowest schedule is the last.
    let mut counted = at(1000.0, 59_000);
    (counted.run.transactions_per_client, counted.run.clients) = (Some(1_000), 60);
    assert!(said(&counted).is_empty());
    // The last transaction of a run may take long.
    let late = changed(at(1000.0, 60_000), |run| {
        run.seconds = Some(90.0);
    });
    assert!(said(&late).is_empty());
}

/// Intervals in which the server and its machine did this.
fn moments(n: usize, moment: impl Fn(usize) -> ServerMoment) -> Evidence {
    Evidence {
        server: (0..n).map(moment).collect(),
        ..Evidence::default()
    }
}

/// An interval in which nothing of interest happened.
fn quiet() -> ServerMoment {
    ServerMoment {
        tps: Some(1000.0),
        checkpoint: Some(false),
        autovacuum: Some(true),
        other_sessions: Some(0.0),
        cpu_ms: Some(2000.0),
        cpu_steal_ms: Some(40.0),
        ..ServerMoment::default()
    }
}

#[test]
fn what_the_server_did() {
    let (reads, writes) = (run(Mode::Spi, SELECT_ONLY), run(Mode::Spi, TPCB_LIKE));
    assert!(said_with(&reads, &moments(60, |_| quiet())).is_empty());
    assert_eq!(
        said_with(&writes, &moments(60, |_| quiet())),
        [
            "no checkpoint took place during the run: in none of 60 intervals",
            "autovacuum was at work during the run: in 60 of 60 intervals",
        ]
    );
    let checkpoint = |tps| {
        moments(60, move |i| match i {
            20..30 => ServerMoment {
                tps: Some(tps),
                checkpoint: Some(true),
                autovacuum: None,
                ..quiet()
            },
            _ => ServerMoment {
                autovacuum: None,
                ..quiet()
            },
        })
    };
    assert_one_with(
        &writes,
        &checkpoint(799.0),
        "a checkpoint slowed the run down: in 10 of 60 intervals, 799.0 tps in these and 1000.0 tps in the others",
    );
    assert_eq!(
        advice(&writes, &checkpoint(799.0))[0].severity,
        Severity::Warning
    );
    assert_one_with(
        &writes,
        &checkpoint(800.0),
        "a checkpoint took place during the run",
    );
    assert_eq!(
        advice(&writes, &checkpoint(800.0))[0].severity,
        Severity::Note
    );
    assert!(said_with(&reads, &checkpoint(100.0)).is_empty());
    // What never happens does not matter to scripts that only read.
    let known_to_read = |evidence| Evidence {
        writes: Some(false),
        ..evidence
    };
    let mine = run(Mode::Spi, "mine");
    assert_one_with(
        &mine,
        &known_to_read(checkpoint(100.0)),
        "a checkpoint slowed the run down",
    );
    assert_one_with(
        &mine,
        &known_to_read(moments(60, |_| quiet())),
        "autovacuum was at work",
    );
    // Of a target, little is known.
    assert!(said_with(&writes, &moments(60, |_| ServerMoment::default())).is_empty());
}

#[test]
fn the_machine() {
    let reads = run(Mode::Spi, SELECT_ONLY);
    let stolen = moments(10, |_| ServerMoment {
        cpu_steal_ms: Some(50.0),
        ..quiet()
    });
    assert_one_with(
        &reads,
        &stolen,
        "took CPU time: steal time: 2.5% of the time of all CPUs",
    );
    let others = |n, sessions| {
        moments(10, move |i| ServerMoment {
            other_sessions: Some(if i < n { sessions } else { 0.0 }),
            ..quiet()
        })
    };
    assert!(said_with(&reads, &others(2, 3.0)).is_empty());
    assert_one_with(
        &reads,
        &others(3, 3.0),
        "other sessions were active: in 30% of the intervals, up to 3 sessions",
    );
    assert_one_with(
        &reads,
        &others(10, 1.0),
        "other sessions were active: in 100% of the intervals, up to 1 session",
    );
    let queue = |share| Evidence {
        run_queue_share: Some(share),
        ..Evidence::default()
    };
    assert!(said_with(&reads, &queue(0.1)).is_empty());
    assert_one_with(
        &reads,
        &queue(0.25),
        "a long run queue: sessions waited for a CPU for 25% of the time",
    );
}

#[test]
fn waits_for_locks() {
    let report = run(Mode::Spi, "mine");
    let waits = |locks, others| {
        [
            ("Lock", Some("transactionid"), locks),
            ("Lock", Some("tuple"), 1),
            ("not waiting", None, others),
        ]
        .map(|(class, event, samples)| Waited {
            class: class.to_owned(),
            event: event.map(str::to_owned),
            samples,
        })
        .to_vec()
    };
    // All within one interval.
    let with_waits = |waits: Vec<Waited>, blocked: &[(Option<&str>, bool, i64)]| {
        let held = |own| {
            let samples = blocked.iter().filter(|b| b.1 == own).map(|b| b.2);
            samples.sum::<i64>() as f64
        };
        let locks = waits.iter().filter(|wait| wait.class == "Lock");
        let lock_waits = LockWaits {
            samples: locks.map(|wait| wait.samples).sum::<i64>() as f64,
            own: held(true),
            others: held(false),
        };
        let kind = |i: usize| if i == 0 { "tuple" } else { "transactionid" };
        Evidence {
            waits,
            lock_waits: vec![lock_waits],
            blocked: blocked
                .iter()
                .enumerate()
                .map(|(i, (relation, own, samples))| Blocked {
                    relation: relation.map(str::to_owned),
                    locktype: kind(i).to_owned(),
                    own: *own,
                    samples: *samples,
                })
                .collect(),
            ..Evidence::default()
        }
    };
    let with = |locks, blocked: &[_]| with_waits(waits(locks, 90), blocked);
    assert!(said_with(&report, &with(9, &[])).is_empty());
    // A few samples of a short run say nothing, whatever their share.
    let few = with_waits(waits(8, 1), &[(Some("held"), false, 1)]);
    assert!(said_with(&report, &few).is_empty());
    assert_eq!(said_with(&report, &with_waits(waits(9, 1), &[])).len(), 1);
    assert_one_with(
        &report,
        &with(90, &[]),
        "clients wait for each other on few rows: 50% of the samples wait for locks (transactionid, tuple)",
    );
    let own = [
        (Some("pgbench_tellers"), true, 1),
        (Some("pgbench_branches"), true, 7),
        (None, true, 3),
    ];
    assert_one_with(
        &report,
        &with(90, &own),
        "on few rows: 50% of the samples wait for locks (transactionid, tuple), on pgbench_branches, pgbench_tellers",
    );
    // Whatever the order of the rows, those that are named are the same.
    let equal = ["d", "b", "c", "a"].map(|name| (Some(name), true, 2));
    assert_one_with(&report, &with(90, &equal), ", on a, b, c");
    assert_one_with(
        &report,
        &with(90, &[(Some("held"), false, 1)]),
        "other sessions held locks that the run waited for: 50% of the samples wait for locks (tuple), on held",
    );
    assert_eq!(
        said_with(
            &report,
            &with(90, &[(None, false, 1), (Some("rows"), true, 1)])
        )
        .len(),
        2
    );
}

#[test]
fn waits_for_locks_by_who_held_them() {
    let report = run(Mode::Spi, "mine");
    let blocked = |relation: &str, locktype: &str, own| Blocked {
        relation: Some(relation.to_owned()),
        locktype: locktype.to_owned(),
        own,
        samples: 9,
    };
    // Of intervals of 40 samples: how many waited for locks, and for whose as far as that was seen.
    let with = |intervals: &[[f64; 3]]| {
        let locked: f64 = intervals.iter().map(|interval| interval[0]).sum();
        let waited = |class: &str, event: Option<&str>, samples: f64| Waited {
            class: class.to_owned(),
            event: event.map(str::to_owned),
            samples: samples as i64,
        };
        Evidence {
            waits: vec![
                waited("Lock", Some("relation"), locked),
                waited("not waiting", None, 40.0 * intervals.len() as f64 - locked),
            ],
            lock_waits: intervals
                .iter()
                .map(|&[samples, own, others]| LockWaits {
                    samples,
                    own,
                    others,
                })
                .collect(),
            blocked: vec![
                blocked("rows", "transactionid", true),
                blocked("locked", "relation", false),
            ],
            ..Evidence::default()
        }
    };
    let few = [4.0, 1.0, 0.0];
    let all = [40.0, 0.0, 2.0];
    // A lock of 3 of 11 s: holders are seen as often where few sessions wait as where many do.
    let mut intervals = [few; 11];
    intervals[4..7].fill(all);
    assert_eq!(
        said_with(&report, &with(&intervals)),
        [
            "other sessions held locks that the run waited for: 27% of the samples wait for locks (relation), on \
             locked"
        ]
    );
    // Both matter.
    let more = [20.0, 1.0, 0.0];
    let intervals = intervals.map(|interval| if interval == few { more } else { interval });
    assert_eq!(
        said_with(&report, &with(&intervals)),
        [
            "clients wait for each other on few rows: 36% of the samples wait for locks (transactionid), on rows",
            "other sessions held locks that the run waited for: 27% of the samples wait for locks (relation), on \
             locked"
        ]
    );
    // A short lock of another session among clients that wait for each other all the time.
    let mut intervals = [[32.0, 7.0, 0.0]; 10];
    intervals[5] = [36.0, 0.0, 8.0];
    assert_eq!(
        said_with(&report, &with(&intervals)),
        [
            "clients wait for each other on few rows: 72% of the samples wait for locks (transactionid), on rows"
        ]
    );
    // Within an interval, as they were seen.
    assert_eq!(
        said_with(&report, &with(&[[40.0, 1.0, 3.0]; 3])),
        [
            "other sessions held locks that the run waited for: 75% of the samples wait for locks (relation), on \
             locked",
            "clients wait for each other on few rows: 25% of the samples wait for locks (transactionid), on rows"
        ]
    );
    // Holders are looked for once a second: intervals without are like the one before, the first ones like that
    // after them.
    let unseen = [30.0, 0.0, 0.0];
    let own = [30.0, 3.0, 0.0];
    let others = [30.0, 0.0, 3.0];
    assert_eq!(
        said_with(
            &report,
            &with(&[unseen, others, unseen, unseen, own, unseen])
        ),
        [
            "other sessions held locks that the run waited for: 50% of the samples wait for locks (relation), on \
             locked",
            "clients wait for each other on few rows: 25% of the samples wait for locks (transactionid), on rows"
        ]
    );
    // Each part is a few samples.
    assert!(said_with(&report, &with(&[[18.0, 1.0, 1.0]])).is_empty());
}

#[test]
fn storage_stalls() {
    let report = run(Mode::Spi, "mine");
    let with = |tps: f64, share: f64| {
        let mut evidence = course((0..9).map(|i| if i == 4 || i == 5 { tps } else { 100.0 }));
        for (i, interval) in evidence.course.iter_mut().enumerate() {
            // Without a stall, sessions wait for storage, too.
            interval.storage_share = Some(if i == 4 || i == 5 { share } else { 0.6 });
        }
        evidence
    };
    assert!(said_with(&report, &with(60.0, 1.0)).is_empty());
    assert!(said_with(&report, &with(0.0, 0.4)).is_empty());
    assert_one_with(
        &report,
        &with(1.0, 0.9),
        "transactions stopped while storage did not answer: in 2 of 9 intervals, first after 4.0 s, most sessions \
         waited for storage: 1.0 tps in these, 100.0 tps in the median",
    );
}

/// The stall of the two clients of a run.
fn stall() -> RunStall {
    RunStall {
        begin_s: 5.52,
        length_s: 3.1,
        clients: 2,
        expected: 900,
        class: Some("Lock".into()),
        event: Some("relation".into()),
        locktype: Some("relation".into()),
        relation: Some("pgbench_accounts".into()),
        ..RunStall::default()
    }
}

#[test]
fn stalls_are_told_with_their_cause() {
    let report = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.clients = 2;
        run.figures.counts.transactions = 20_000;
    });
    let told = |stalls: &[RunStall]| {
        let evidence = Evidence {
            stalls: stalls.to_vec(),
            ..Evidence::default()
        };
        story(&advice(&report, &evidence)).unwrap_or_default()
    };
    let by = |change: fn(&mut RunStall)| {
        let mut stall = stall();
        change(&mut stall);
        told(&[stall])
            .strip_prefix("No transaction for 3.1 s from 5.5 s on: ")
            .expect("a stall")
            .to_owned()
    };
    assert_eq!(told(&[]), "");
    assert_eq!(by(|_| ()), "sessions waited for locks.");
    assert_eq!(
        by(|stall| {
            stall.blocker = Some("client backend".into());
            stall.blocker_application = Some("locker".into());
            stall.blocker_state = Some("active".into());
            stall.blocker_statement = Some("LOCK TABLE\n  pgbench_accounts ;\n".into());
        }),
        "LOCK TABLE pgbench_accounts by application locker."
    );
    assert_eq!(
        by(|stall| stall.blocker = Some("another role".into())),
        "a lock on pgbench_accounts (relation) held by another role."
    );
    assert_eq!(
        by(|stall| {
            stall.blocker = Some("autovacuum worker".into());
            stall.blocker_statement = Some("autovacuum: VACUUM public.t".into());
        }),
        "autovacuum: VACUUM public.t by autovacuum worker."
    );
    assert_eq!(
        by(|stall| {
            stall.blocker = Some("prepared transaction".into());
            stall.blocker_statement = Some("in doubt".into());
        }),
        "a lock on pgbench_accounts (relation) held by the prepared transaction in doubt."
    );
    assert_eq!(
        by(|stall| stall.class = Some("no answer".into())),
        "the target did not answer."
    );
    let some = RunStall {
        clients: 1,
        transactions: 4,
        class: Some("IO".into()),
        event: Some("WALSync".into()),
        ..stall()
    };
    assert_eq!(
        told(&[
            some.clone(),
            RunStall {
                length_s: 1.0,
                expected: 290,
                ..some
            }
        ]),
        "Only 4 transactions by 1 of 2 clients for 3.1 s from 5.5 s on: sessions waited for IO:WALSync; 2 stalls in \
         all, 4.1 s together."
    );
    // A short one is a note.
    assert_eq!(
        told(&[RunStall {
            length_s: 0.3,
            expected: 90,
            ..stall()
        }]),
        ""
    );
}

#[test]
fn stalls_at_the_same_time_count_once() {
    let report = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.clients = 2;
        run.figures.counts.transactions = 9000;
    });
    let effect = |stalls: Vec<RunStall>| {
        let evidence = Evidence {
            stalls,
            ..Evidence::default()
        };
        let found = advice(&report, &evidence);
        let of_stalls = found.iter().find(|f| f.finding == "clients were stalled");
        of_stalls.expect("a stall").effect
    };
    let of = |begin_s, length_s, expected| RunStall {
        begin_s,
        length_s,
        expected,
        ..stall()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");
    // 1,000 of 10,000 transactions.
    near(effect(vec![of(5.0, 4.0, 1000)]), 0.1);
    // Some clients within that time, and for as long again behind it.
    near(effect(vec![of(5.0, 4.0, 1000), of(6.0, 2.0, 250)]), 0.1);
    let behind = effect(vec![of(5.0, 4.0, 1000), of(7.0, 4.0, 500)]);
    near(behind, 1250.0 / 10_250.0);
    // One after the other.
    let apart = effect(vec![of(5.0, 4.0, 1000), of(20.0, 4.0, 1000)]);
    near(apart, 2000.0 / 11_000.0);
}

#[test]
fn what_explains_most_comes_first() {
    let report = changed(run(Mode::Spi, SELECT_ONLY), |run| {
        run.clients = 2;
        run.other_runs = 1;
    });
    let evidence = Evidence {
        stalls: vec![RunStall {
            length_s: 30.0,
            expected: 100_000,
            ..stall()
        }],
        run_queue_share: Some(0.9),
        ..Evidence::default()
    };
    let findings = advice(&report, &evidence);
    let warnings = findings.iter().filter(|f| f.severity == Severity::Warning);
    assert_eq!(
        warnings.map(|f| f.finding).collect::<Vec<_>>(),
        [
            "clients were stalled",
            "this run and others slowed each other down",
            "the machine, not the server, may have limited the run: a long run queue"
        ]
    );
}

#[test]
fn clients_of_unequal_luck() {
    let of = |transactions: &[i64]| {
        let client = |(client_no, transactions): (i32, &i64)| RunClient {
            client_no,
            transactions: *transactions,
            ..RunClient::default()
        };
        let evidence = Evidence {
            clients: (0..).zip(transactions).map(client).collect(),
            ..Evidence::default()
        };
        said_with(&run(Mode::Spi, SELECT_ONLY), &evidence)
    };
    assert_eq!(
        of(&[1000, 300, 900]),
        ["clients were of unequal luck: client 1 completed 300 transactions, others up to 1000"]
    );
    assert!(of(&[1000, 600]).is_empty());
    assert!(of(&[90, 3]).is_empty());
}

#[test]
fn a_rate_that_is_missed_for_want_of_clients() {
    let report = changed(run(Mode::Libpq, SELECT_ONLY), |run| run.rate = Some(1e6));
    let first = |waits: &[(&str, Option<&str>, i64)]| {
        let waited = |(class, event, samples): &(&str, Option<&str>, i64)| Waited {
            class: (*class).into(),
            event: event.map(str::to_owned),
            samples: *samples,
        };
        let evidence = Evidence {
            waits: waits.iter().map(waited).collect(),
            ..Evidence::default()
        };
        advice(&report, &evidence)[0].finding
    };
    let turn = ("Client", Some("ClientRead"), 50);
    let few = "the rate was missed: too few clients";
    assert_eq!(first(&[turn, ("Timeout", Some("PgSleep"), 50)]), few);
    assert_eq!(
        first(&[("IO", Some("WALSync"), 70), ("not waiting", None, 30)]),
        few
    );
    assert_eq!(
        first(&[turn, ("not waiting", None, 50)]),
        "the rate was missed"
    );
    assert_eq!(first(&[("Lock", Some("tuple"), 90)]), "the rate was missed");
    assert_eq!(first(&[]), "the rate was missed");
}
