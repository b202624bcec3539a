//! Time budgets of readings whose parts are known, and of any readings.

use proptest::prelude::*;
use selfbench_stats::budget::{LatencyPart, Reading, Readings, Waits, budget};
use selfbench_stats::{ProcessTimes, TurnParts};

fn times(cpu_ns: u64, run_queue_ns: u64) -> Reading<ProcessTimes> {
    Ok(ProcessTimes {
        cpu_ns,
        run_queue_ns: Some(run_queue_ns),
    })
}

/// 1,000 transactions of 10 ms each of one client: 6 ms in a lock, 2 ms in `pg_sleep`, 1 ms on
/// the CPU, 1 ms on the run queue.
fn known() -> Readings {
    Readings {
        in_server: true,
        latency_us: 10_000.0,
        lag_us: None,
        sleep_us: 0.0,
        shell_us: 0.0,
        unsuccessful: 0.0,
        busy_ns: 10e9,
        clients_ns: 10e9,
        shares_workers: false,
        sessions: times(1_000_000_000, 1_000_000_000),
        workers: Err("there are none"),
        timed: TurnParts {
            turns: 10,
            plan_ns: 1_000_000,
            executor_ns: 6_000_000,
            commit_ns: 2_000_000,
            session_ns: 500_000,
            harness_ns: 500_000,
            ..TurnParts::default()
        },
        waits: Ok(Waits {
            samples: 200,
            classes: vec![("Lock".into(), 121, 0), ("Timeout".into(), 40, 0)],
        }),
    }
}

fn us(parts: &[LatencyPart], component: &str) -> f64 {
    let part = parts.iter().find(|part| part.component == component);
    part.unwrap_or_else(|| panic!("no {component} in {parts:#?}"))
        .us
        .expect("known")
}

fn sum(parts: &[LatencyPart]) -> f64 {
    parts.iter().filter_map(|part| part.us).sum()
}

fn is_near(value: f64, expected: f64, fraction: f64) -> bool {
    (value - expected).abs() <= fraction * expected
}

#[test]
fn known_parts_of_mode_spi_come_out() {
    let parts = budget(&known());
    for (component, expected) in [
        ("parse and plan", 100.0),
        ("executor", 600.0),
        ("commit", 200.0),
        ("session", 50.0),
        ("harness", 50.0),
        ("run queue", 1000.0),
        ("wait: Lock", 6000.0),
        ("wait: Timeout", 2000.0),
    ] {
        let found = us(&parts, component);
        assert!(is_near(found, expected, 0.02), "{component} {found}");
    }
    assert!(us(&parts, "other") < 1e-6);
    assert!(is_near(sum(&parts), 10_000.0, 1e-9));
}

#[test]
fn waits_without_an_event_stay_apart() {
    let parts = budget(&Readings {
        waits: Ok(Waits {
            samples: 200,
            classes: vec![("Lock".into(), 40, 0)],
        }),
        ..known()
    });
    assert!(is_near(us(&parts, "wait: Lock"), 2000.0, 1e-9));
    assert!(is_near(us(&parts, "other"), 6000.0, 1e-9));
}

#[test]
fn waits_that_run_are_cpu_time() {
    // Reads from the operating system's cache: sampled as waits, counted as CPU time.
    let parts = budget(&Readings {
        sessions: times(9_000_000_000, 0),
        waits: Ok(Waits {
            samples: 200,
            classes: vec![("IO".into(), 100, 0)],
        }),
        ..known()
    });
    assert!(is_near(us(&parts, "wait: IO"), 1000.0, 1e-9));
    assert!(is_near(us(&parts, "executor"), 5400.0, 1e-9));
}

#[test]
fn known_parts_of_mode_libpq_come_out() {
    // Two clients of one worker.
    let parts = budget(&Readings {
        in_server: false,
        busy_ns: 20e9,
        clients_ns: 20e9,
        shares_workers: true,
        sessions: times(2_000_000_000, 1_000_000_000),
        workers: times(1_000_000_000, 400_000_000),
        timed: TurnParts {
            turns: 100,
            others_ns: 30_000_000,
            run_queue_ns: 25_000_000,
            ..TurnParts::default()
        },
        waits: Ok(Waits {
            samples: 400,
            classes: vec![("Lock".into(), 200, 0)],
        }),
        ..known()
    });
    for (component, expected) in [
        ("server: CPU", 1000.0),
        ("server: run queue", 500.0),
        ("server: wait Lock", 5000.0),
        ("client worker: CPU", 500.0),
        ("client worker: run queue", 250.0),
        ("client worker: other clients", 300.0),
        ("wake-ups and socket", 2450.0),
    ] {
        let found = us(&parts, component);
        assert!(is_near(found, expected, 1e-9), "{component} {found}");
    }
    assert!(is_near(sum(&parts), 10_000.0, 1e-9));
}

#[test]
fn waits_that_outlast_themselves_on_the_run_queue_share_what_is_left() {
    let parts = budget(&Readings {
        in_server: false,
        sessions: times(1_000_000_000, 5_000_000_000),
        workers: times(1_000_000_000, 0),
        waits: Ok(Waits {
            samples: 100,
            classes: vec![("Lock".into(), 40, 0), ("Timeout".into(), 20, 0)],
        }),
        ..known()
    });
    // The session was on the run queue while the client worker still ran, for up to 1 ms.
    assert!(is_near(us(&parts, "server: run queue"), 4000.0, 1e-9));
    assert!(is_near(us(&parts, "server: wait Lock"), 8000.0 / 3.0, 1e-9));
    assert!(is_near(
        us(&parts, "server: wait Timeout"),
        4000.0 / 3.0,
        1e-9
    ));
}

/// A lock is held for 4 of 10 s, and a client waits for it. In the other 6 s, a hundred times shorter waits are
/// followed by the run queue, on which a session still shows its wait.
#[test]
fn a_long_wait_counts_in_full() {
    let readings = |in_server| Readings {
        in_server,
        latency_us: 1_000.0,
        sessions: times(1_000_000_000, 3_000_000_000),
        workers: times(0, 0),
        waits: Ok(Waits {
            samples: 100,
            classes: vec![
                ("IO".into(), 10, 9),
                ("LWLock".into(), 30, 0),
                ("Lock".into(), 40, 39),
            ],
        }),
        ..known()
    };
    for (in_server, prefix) in [(true, "wait: "), (false, "server: wait ")] {
        let parts = budget(&readings(in_server));
        let of = |class: &str| us(&parts, &format!("{prefix}{class}"));
        // Less the part of one sample, which may belong to a short wait.
        assert!(is_near(of("Lock"), 400.0, 0.02), "{parts:#?}");
        assert!(is_near(of("LWLock"), 3.0 * of("IO"), 1e-9), "{parts:#?}");
        assert!(is_near(of("Lock") + of("LWLock") + of("IO"), 600.0, 1e-9));
        assert!(is_near(sum(&parts), 1_000.0, 1e-9));
    }
    // More than is left cannot have been seen.
    let parts = budget(&Readings {
        sessions: times(8_000_000_000, 0),
        ..readings(true)
    });
    assert!(is_near(us(&parts, "wait: Lock"), 200.0, 1e-9));
    assert!(us(&parts, "wait: LWLock") < 1e-9);
}

#[test]
fn waiting_for_the_cpu_of_the_process_that_sent_the_message_counts_once() {
    // All on one CPU: 2 ms of the session, 1 ms of the client worker, 7 ms in `pg_sleep`. Each waits until
    // the other one sleeps, for half of its CPU time.
    let readings = |samples| Readings {
        in_server: false,
        sessions: times(2_000_000_000, 500_000_000),
        workers: times(1_000_000_000, 1_000_000_000),
        waits: Ok(Waits {
            samples: 1000,
            classes: vec![("Timeout".into(), samples, 0)],
        }),
        ..known()
    };
    let parts = budget(&readings(700));
    assert!(is_near(us(&parts, "server: wait Timeout"), 7000.0, 1e-9));
    assert!(us(&parts, "server: run queue") < 1e-6);
    assert!(us(&parts, "client worker: run queue") < 1e-6);
    assert!(is_near(sum(&parts), 10_000.0, 1e-9));
    // On a CPU each, what they waited for is known.
    let parts = budget(&readings(500));
    assert!(is_near(us(&parts, "server: wait Timeout"), 5000.0, 1e-9));
    assert!(is_near(us(&parts, "server: run queue"), 500.0, 1e-9));
    assert!(is_near(
        us(&parts, "client worker: run queue"),
        1000.0,
        1e-9
    ));
    assert!(is_near(us(&parts, "wake-ups and socket"), 500.0, 1e-9));
}

#[test]
fn schedule_lag_and_sleep_are_parts_of_their_own() {
    let parts = budget(&Readings {
        latency_us: 15_000.0,
        lag_us: Some(5000.0),
        sleep_us: 2000.0,
        waits: Ok(Waits {
            samples: 200,
            classes: vec![("Lock".into(), 120, 0)],
        }),
        ..known()
    });
    assert_eq!(us(&parts, "schedule lag"), 5000.0);
    assert_eq!(us(&parts, "\\sleep"), 2000.0);
    assert!(is_near(us(&parts, "wait: Lock"), 6000.0, 0.02));
    let run_queue = parts.iter().find(|part| part.component == "run queue");
    assert_eq!(run_queue.map(|part| part.us), Some(None), "it may be lag");
    assert!(is_near(sum(&parts), 15_000.0, 1e-9));
}

#[test]
fn time_in_the_shell_is_a_part_of_its_own() {
    for in_server in [true, false] {
        let parts = budget(&Readings {
            in_server,
            shell_us: 4000.0,
            workers: times(0, 0),
            waits: Ok(Waits {
                samples: 200,
                classes: vec![("Timeout".into(), 80, 0)],
            }),
            ..known()
        });
        assert_eq!(us(&parts, "\\shell"), 4000.0);
        let wait = if in_server {
            "wait: Timeout"
        } else {
            "server: wait Timeout"
        };
        assert!(is_near(us(&parts, wait), 4000.0, 1e-9));
    }
}

#[test]
fn much_time_in_transactions_that_do_not_count_is_told() {
    let told = |unsuccessful| {
        let parts = budget(&Readings {
            unsuccessful,
            ..known()
        });
        parts.last().expect("there is one").measured.clone()
    };
    let word = "; transactions that failed or did not end, 90 % of the time, count as if they had the same parts";
    assert!(told(0.9).ends_with(word), "{}", told(0.9));
    assert!(!told(0.05).contains("failed"));
}

#[test]
fn failed_transactions_have_their_part_of_the_totals() {
    // As many failed as succeeded, which took as long.
    let parts = budget(&Readings {
        busy_ns: 20e9,
        clients_ns: 20e9,
        sessions: times(2_000_000_000, 2_000_000_000),
        ..known()
    });
    assert!(is_near(us(&parts, "executor"), 600.0, 1e-9));
    assert!(is_near(us(&parts, "run queue"), 1000.0, 1e-9));
}

#[test]
fn what_is_not_known_is_named() {
    let parts = budget(&Readings {
        in_server: false,
        sessions: Err("the sessions are on another server"),
        workers: Ok(ProcessTimes {
            cpu_ns: 1_000_000_000,
            run_queue_ns: None,
        }),
        waits: Err("waits were not sampled"),
        ..known()
    });
    let measured = |component: &str| {
        let part = parts.iter().find(|part| part.component == component);
        let part = part.unwrap_or_else(|| panic!("no {component}"));
        (part.us, part.measured.as_str())
    };
    let elsewhere = "unknown: the sessions are on another server";
    assert_eq!(measured("server: CPU"), (None, elsewhere));
    assert_eq!(measured("server: run queue"), (None, elsewhere));
    assert_eq!(
        measured("client worker: run queue"),
        (None, "unknown: the kernel does not count it")
    );
    assert_eq!(
        measured("server: waits"),
        (None, "unknown: waits were not sampled")
    );
    assert_eq!(
        measured("wake-ups and socket").1,
        "by difference, with all that is unknown"
    );
    assert!(is_near(sum(&parts), 10_000.0, 1e-9));
}

#[test]
fn a_run_without_transactions_has_no_shares() {
    let parts = budget(&Readings {
        latency_us: 0.0,
        busy_ns: 0.0,
        ..known()
    });
    assert!(parts.iter().all(|part| part.share.is_none()), "{parts:?}");
    assert_eq!(sum(&parts), 0.0);
}

fn reading() -> impl Strategy<Value = Reading<ProcessTimes>> {
    let known = (0_u64..1 << 40, proptest::option::of(0_u64..1 << 40));
    proptest::option::of(known).prop_map(|times| {
        let (cpu_ns, run_queue_ns) = times.ok_or("not read")?;
        Ok(ProcessTimes {
            cpu_ns,
            run_queue_ns,
        })
    })
}

proptest! {
    #[test]
    fn no_part_is_negative_and_they_add_up(
        in_server: bool,
        shares_workers: bool,
        latency_us in 0.0_f64..1e9,
        lag in proptest::option::of(0.0_f64..1.5),
        sleep in 0.0_f64..1.5,
        shell in 0.0_f64..1.5,
        unsuccessful in 0.0_f64..1.0,
        busy_ns in prop_oneof![Just(0.0), 0.0_f64..1e12],
        clients_ns in 0.0_f64..1e12,
        sessions in reading(),
        workers in reading(),
        timed in proptest::array::uniform8(0_u64..1 << 40),
        samples in proptest::collection::vec(0_u64..1 << 20, 0..5),
        others in 0_u64..1 << 20,
    ) {
        let classes: Vec<_> = samples.iter().map(|n| (format!("class {n}"), *n, *n / 2)).collect();
        let parts = budget(&Readings {
            in_server,
            latency_us,
            lag_us: lag.map(|lag| lag * latency_us),
            sleep_us: sleep * latency_us,
            shell_us: shell * latency_us,
            unsuccessful,
            busy_ns,
            clients_ns,
            shares_workers,
            sessions,
            workers,
            timed: TurnParts::from_words(timed),
            waits: Ok(Waits {
                samples: others + samples.iter().sum::<u64>(),
                classes,
            }),
        });
        for part in &parts {
            prop_assert!(part.us.is_none_or(|us| us >= 0.0 && us.is_finite()), "{part:?}");
        }
        prop_assert!((sum(&parts) - latency_us).abs() <= 1e-6 * latency_us, "{parts:#?}");
    }
}
