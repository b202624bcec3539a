//! When a run's figures are doubtful, and when they are not.

use selfbench_model::{Figures, Mode, PgioRun, Run, RunRecord, RunScript, RunState};
use selfbench_report::advice;
use selfbench_report::pgio::WorkingSet;
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
            harness_us: Some(5.0),
            harness_share: Some(0.1),
            processors: Some(10),
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

/// The same with some change.
fn changed(mut record: RunRecord, change: impl FnOnce(&mut Run)) -> RunRecord {
    change(&mut record.run);
    record
}

/// What is said about a run, under settings that are all `value`.
fn said(report: &RunRecord, value: Option<&str>) -> Vec<String> {
    let said = advice(report, |_| value);
    assert!(said.iter().all(|a| a.hint.ends_with('.')), "{said:?}");
    assert!(said.iter().all(|a| !a.advice.ends_with('.')), "{said:?}");
    said.into_iter().map(|a| a.advice).collect()
}

/// Tests that one thing is said about a run, which contains `part`.
#[track_caller]
fn assert_one(report: &RunRecord, part: &str) {
    let said = said(report, None);
    assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
}

#[test]
fn held_snapshots() {
    let mut report = run(Mode::Spi, SELECT_ONLY);
    report.run.snapshot_held_s = Some(6.1);
    report.run.snapshot_held_by = Some("the calling statement".to_owned());
    assert_one(
        &report,
        "a snapshot was held for 6.1 s of 60.0 s: figures may be several times too low (held by \
         the calling statement)",
    );
    report.run.snapshot_held_s = Some(6.0);
    assert!(said(&report, None).is_empty());
}

#[test]
fn nothing_to_say() {
    for mode in [Mode::Spi, Mode::Libpq] {
        assert!(said(&run(mode, TPCB_LIKE), None).is_empty());
        assert!(said(&run(mode, SELECT_ONLY), None).is_empty());
        let unknown = changed(run(mode, TPCB_LIKE), |run| {
            run.harness_us = None;
            run.harness_share = None;
        });
        assert!(said(&unknown, None).is_empty());
    }
}

#[test]
fn the_limits_themselves_are_no_reason() {
    let mut report = run(Mode::Libpq, TPCB_LIKE);
    report.run.harness_share = Some(0.9);
    report.run.seconds = Some(10.0);
    report.run.figures.counts.transactions = 99;
    report.run.figures.counts.deadlock_failures = 1;
    assert_eq!(said(&report, None), ["only 99 transactions were measured"]);
    report.run.figures.counts.transactions = 100;
    report.run.figures.counts.deadlock_failures = 0;
    assert!(said(&report, None).is_empty());
}

#[test]
fn a_harness_that_is_the_limit() {
    let busy = |mode, share| {
        changed(run(mode, SELECT_ONLY), |run| {
            run.harness_share = Some(share);
        })
    };
    assert_one(&busy(Mode::Libpq, 0.93), "busy for 93% of the time");
    assert_one(&busy(Mode::Spi, 0.25), "25% of their time outside");
    let few_workers = advice(&busy(Mode::Libpq, 0.95), |_| None);
    assert!(few_workers[0].hint.contains("more workers"));
    let all_workers = changed(busy(Mode::Libpq, 0.95), |run| {
        run.jobs = 10;
        run.workers = 10;
    });
    assert!(
        !advice(&all_workers, |_| None)[0]
            .hint
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
    assert_one(&aborted, "3 of 10 clients aborted");
}

#[test]
fn lost_transactions() {
    let mut failing = run(Mode::Spi, SELECT_ONLY);
    failing.run.figures.counts.serialization_failures = 2_000;
    assert_one(&failing, "2.0% of the transactions failed");
    let mut skipping = run(Mode::Spi, SELECT_ONLY);
    skipping.run.figures.counts.skipped = 100_000;
    assert_one(&skipping, "50.0% of the transactions were skipped");
}

#[test]
fn scale_and_clients() {
    let small = |description| {
        changed(run(Mode::Spi, description), |run| {
            run.scale = 9;
        })
    };
    assert_one(&small(TPCB_LIKE), "the scale, 9, is smaller");
    assert!(said(&small(SELECT_ONLY), None).is_empty());
    assert!(said(&small("mine"), None).is_empty());
    let mut never_chosen = small(TPCB_LIKE);
    never_chosen.scripts[0].weight = 0;
    assert!(said(&never_chosen, None).is_empty());
}

#[test]
fn settings_that_matter() {
    let writes = said(&run(Mode::Spi, TPCB_LIKE), Some("off"));
    let names: Vec<_> = writes.iter().filter_map(|a| a.split(' ').next()).collect();
    assert_eq!(names, ["fsync", "full_page_writes", "synchronous_commit"]);
    assert!(said(&run(Mode::Spi, SELECT_ONLY), Some("off")).is_empty());
    assert_eq!(
        said(&run(Mode::Spi, SELECT_ONLY), Some("on")),
        ["the server checks assertions"]
    );
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
    assert!(said(&with(of(2 * gb, Some(gb), Some(gb))), None).is_empty());
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
    assert!(said(&of(Mode::Spi, 10), None).is_empty());
    assert_one(
        &of(Mode::Spi, 11),
        "11 clients of mode spi shared 10 processors",
    );
    assert!(said(&of(Mode::Libpq, 11), None).is_empty());
    let unknown = changed(of(Mode::Spi, 100), |run| {
        run.processors = None;
    });
    assert!(said(&unknown, None).is_empty());
    // Clients that mostly sleep need no processor of their own.
    let mut sleeping = of(Mode::Spi, 100);
    sleeping.run.figures.latency_sum_ms = 100.0;
    sleeping.run.figures.sleep_avg_ms = Some(51.0 / 100_000.0);
    assert!(said(&sleeping, None).is_empty());
    let throttled = changed(of(Mode::Spi, 100), |run| {
        run.rate = Some(100_000.0 / 60.0);
    });
    assert!(said(&throttled, None).is_empty());
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
        "the rate was missed by 90%: 100.0 instead of 1000.0 transactions per second",
    );
    assert_one(&at(1000.0, 56_900), "missed by 5%");
    assert!(said(&at(1000.0, 57_100), None).is_empty());
    // Few arrivals deviate by more than that.
    assert!(said(&at(2.0, 105), None).is_empty());
    // What was skipped was begun in time, as far as the schedule goes.
    let mut skipping = at(1000.0, 59_500);
    skipping.run.figures.counts.skipped = 500;
    assert!(said(&skipping, None).is_empty());
    // The last transaction of a run may take long.
    let late = changed(at(1000.0, 60_000), |run| {
        run.seconds = Some(90.0);
    });
    assert!(said(&late, None).is_empty());
}
