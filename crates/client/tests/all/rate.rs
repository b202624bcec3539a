//! A rate: transactions start when the schedule says, late ones are counted, hopeless ones skipped.

use crate::common::{Bench, Event, MS, at, deadlock, done, plan, script};
use selfbench_client::{Failure, RunPlan, Step, Thread, Transaction, UNKNOWN_NS};
use selfbench_script::Streams;
use std::sync::atomic::Ordering::Relaxed;

/// The bench of a run with that rate, over that many threads.
fn limited(workload: &selfbench_script::Workload, rate: f64, threads: usize) -> Bench<'_> {
    let mut bench = Bench::new(workload);
    bench.plan.throttle_us = Some(RunPlan::throttle_us(rate, threads));
    bench
}

#[test]
fn starts_follow_the_schedule() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.transactions = Some(3);
    let mut starts = Vec::new();
    loop {
        match bench.advance() {
            Step::Sleeping { until_ns } => {
                starts.push(until_ns / 1000);
                let now = selfbench_client::Control::now_ns(&*bench.world);
                bench.world.pass(until_ns - now);
            }
            Step::Again => {}
            step => {
                assert_eq!(step, Step::Finished);
                break;
            }
        }
    }
    // The delays that pgbench draws with seed 42 and rate 1000.
    assert_eq!(starts, [1500, 1500 + 1567, 1500 + 1567 + 3049]);
    assert!(bench.succeeded().iter().all(|t| t.lag_ns == Some(0)));
}

#[test]
fn threads_share_the_rate() {
    assert_eq!(RunPlan::throttle_us(1000.0, 1), 1000.0);
    assert_eq!(RunPlan::throttle_us(1000.0, 4), 4000.0);
}

#[test]
fn threads_share_a_schedule() {
    let workload = script("select 1;");
    let streams = Streams::derive(42, 2, 2, false);
    let taken = at(0);
    let [mut one, mut two] = [0, 1].map(|number| {
        let mut plan = plan(&workload);
        plan.throttle_us = Some(RunPlan::throttle_us(1000.0, 1));
        plan.starts_taken = Some(taken);
        let mut bench = Bench::of(plan, number, &streams);
        bench.thread = Thread::new(&streams.threads[number], streams.threads[0].throttle, 0);
        bench
    });
    let next = |bench: &mut Bench<'_>| {
        let step = bench.advance();
        let Step::Sleeping { until_ns } = step else {
            panic!("{step:?}")
        };
        bench
            .world
            .pass(until_ns - selfbench_client::Control::now_ns(&*bench.world));
        bench.advance();
        until_ns / 1000
    };
    // Those of one thread, whoever takes them.
    let starts = [
        next(&mut one),
        next(&mut two),
        next(&mut two),
        next(&mut one),
    ];
    let mut alone = limited(&workload, 1000.0, 1);
    alone.thread = Thread::new(&streams.threads[0], streams.threads[0].throttle, 0);
    assert_eq!(starts, std::array::from_fn(|_| next(&mut alone)));
}

#[test]
fn latency_counts_from_the_scheduled_start() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.answer(|_| done().after_ns(2 * MS));
    // Scheduled for 1.5 ms and 3.067 ms; the second one has to wait for the first.
    assert_eq!(bench.run_transactions(2), Step::Finished);
    let late_start = 3_500_000 - 3_067_000;
    assert_eq!(
        bench.succeeded(),
        [
            Transaction {
                latency_ns: 2 * MS,
                lag_ns: Some(0),
                ..Transaction::default()
            },
            Transaction {
                latency_ns: 2 * MS + late_start,
                lag_ns: Some(late_start),
                ..Transaction::default()
            },
        ]
    );
}

#[test]
fn a_latency_limit_without_rate_counts_late_transactions() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.latency_limit_ns = Some(MS);
    bench.answer_in_turn([done().after_ns(MS), done().after_ns(MS + 1)]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    let late: Vec<bool> = bench.succeeded().iter().map(|t| t.late).collect();
    assert_eq!(late, [false, true]);
    assert!(bench.succeeded().iter().all(|t| t.lag_ns.is_none()));
}

#[test]
fn hopeless_transactions_are_skipped() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.latency_limit_ns = Some(MS);
    // From 1.5 ms to 11.5 ms: whatever was scheduled before 10.5 ms is skipped.
    bench.answer_in_turn([done().after_ns(10 * MS)]);
    let streams = Streams::derive(42, 1, 1, false);
    let mut throttle = streams.threads[0].throttle;
    let mut at_us = 0;
    let mut skipped = 0;
    while at_us < 10_500 {
        at_us += throttle.poisson_delay_us(1000.0);
        skipped += 1;
    }
    // The first was not skipped, and the last is not.
    skipped -= 2;
    assert!(skipped > 3);
    assert_eq!(bench.run_transactions(skipped as u64 + 2), Step::Finished);
    assert_eq!(bench.sent(), ["select 1;", "select 1;"]);
    let events = &bench.record.0;
    assert!(matches!(events[0], Event::Succeeded(0, t) if t.late));
    assert_eq!(events[1..=skipped], vec![Event::Skipped(0); skipped]);
    assert!(matches!(events[skipped + 1], Event::Succeeded(0, _)));
}

#[test]
fn skipped_transactions_count_towards_the_number_wanted() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.latency_limit_ns = Some(MS);
    bench.world.pass(1_000 * MS);
    assert_eq!(bench.run_transactions(5), Step::Finished);
    assert!(bench.sent().is_empty());
    assert_eq!(bench.record.0, vec![Event::Skipped(0); 5]);
}

#[test]
fn a_rate_beyond_the_clock_can_be_stopped() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1e12, 1);
    bench.plan.latency_limit_ns = Some(MS);
    bench.world.pass(1_000 * MS);
    // No transaction is due: each delay is rounded to nothing.
    for _ in 0..3 {
        assert_eq!(bench.advance(), Step::Again);
    }
    bench.world.request_stop();
    assert_eq!(bench.advance(), Step::Finished);

    let mut bench = limited(&workload, 1e12, 1);
    bench.plan.latency_limit_ns = Some(MS);
    bench.plan.deadline_ns = at(2_000 * MS);
    bench.world.pass(1_000 * MS);
    bench.world.tick_ns.set(MS);
    while bench.advance() == Step::Again {}
    assert!(bench.record.0.len() > 500);
}

#[test]
fn a_tiny_rate_never_starts() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1e-300, 1);
    assert!(matches!(bench.advance(), Step::Sleeping { until_ns } if until_ns > 1 << 62));
    bench.world.request_stop();
    assert_eq!(bench.advance(), Step::Finished);

    let mut bench = limited(&workload, 1e-300, 1);
    bench.plan.deadline_ns = at(1_000 * MS);
    assert_eq!(bench.advance(), Step::Finished);
}

#[test]
fn nothing_starts_after_the_deadline() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.deadline_ns = at(1_499_999);
    assert_eq!(bench.advance(), Step::Finished);

    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.deadline_ns = at(1_600_000);
    assert!(matches!(bench.advance(), Step::Sleeping { .. }));
    bench.world.pass(1_600_000);
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.sent().is_empty());
}

#[test]
fn skips_of_the_warm_up_do_not_count() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 1000.0, 1);
    bench.plan.latency_limit_ns = Some(MS);
    bench.plan.measure_ns = at(100 * MS);
    bench.world.pass(50 * MS);
    bench.run_transactions(1);
    assert!(!bench.record.0.contains(&Event::Skipped(0)));
}

#[test]
fn no_retry_beyond_the_latency_limit() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 0;
    bench.plan.latency_limit_ns = Some(2 * MS);
    bench.answer(|_| deadlock().after_ns(MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    // At 1 ms and at 2 ms there is time, at 3 ms there is none.
    assert_eq!(bench.record.0, [Event::Failed(0, Failure::Deadlock, 2)]);
}

#[test]
fn clients_of_a_thread_share_its_schedule() {
    let workload = script("select 1;");
    let streams = Streams::derive(42, 2, 1, false);
    let mut clients = [0, 1].map(|number| Bench::of(plan(&workload), number, &streams));
    let mut thread = clients[0].thread;
    let mut starts = Vec::new();
    for client in &mut clients {
        client.plan.throttle_us = Some(1000.0);
        client.thread = thread;
        match client.advance() {
            Step::Sleeping { until_ns } => starts.push(until_ns / 1000),
            step => panic!("{step:?}"),
        }
        thread = client.thread;
    }
    let mut throttle = streams.threads[0].throttle;
    let first = throttle.poisson_delay_us(1000.0) as u64;
    let second = first + throttle.poisson_delay_us(1000.0) as u64;
    assert_eq!(starts, [first, second]);
}

#[test]
fn a_client_that_sleeps_learns_of_a_deadline_that_becomes_known() {
    let workload = script("select 1;");
    let mut bench = limited(&workload, 0.001, 1);
    let (measure_ns, deadline_ns) = (at(UNKNOWN_NS), at(UNKNOWN_NS));
    (bench.plan.measure_ns, bench.plan.deadline_ns) = (measure_ns, deadline_ns);
    for until_ns in [100 * MS, 200 * MS] {
        assert_eq!(bench.advance(), Step::Sleeping { until_ns });
        bench.world.pass(100 * MS);
    }
    deadline_ns.store(250 * MS, Relaxed);
    measure_ns.store(210 * MS, Relaxed);
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.record.0.is_empty());
}
