//! A client reads what its session has used before transactions count, and at its end.

use crate::common::{Bench, Event, MS, at, deadlock, done, failed, plan, script};
use selfbench_client::{RunPlan, Step};
use selfbench_script::{Streams, Workload};

fn bench(workload: &Workload) -> Bench<'_> {
    let mut plan = plan(workload);
    plan.usage = true;
    Bench::of(plan, 0, &Streams::derive(42, 1, 1, false))
}

#[test]
fn it_is_read_before_the_first_transaction_and_after_the_last() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.answer(|_| done().after_waits(1));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent(),
        ["<usage>", "select 1;", "select 1;", "<usage>"]
    );
    assert_eq!(bench.record.0[0], Event::UsageBegins(1));
    assert_eq!(bench.record.0[3], Event::UsageEnds(4));
}

#[test]
fn it_is_none_of_the_latency() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.succeeded()[0].latency_ns, MS);
}

#[test]
fn it_is_read_after_the_warm_up() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.plan.measure_ns = at(2 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    // The second transaction ends when transactions begin to count, and does.
    assert_eq!(bench.sent(), ["select 1;", "select 1;"]);
    assert_eq!(bench.record.0[0], Event::WarmedUp);

    let mut bench = self::bench(&workload);
    bench.plan.measure_ns = at(2 * MS);
    bench.answer(|_| done().after_ns(2 * MS));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent(),
        ["select 1;", "<usage>", "select 1;", "<usage>"]
    );
}

#[test]
fn it_is_read_behind_the_last_block() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.plan.commit_every = 2;
    bench.plan.deadline_ns = at(MS);
    bench.answer(|sent| done().after_ns(if sent == "select 1;" { MS } else { 0 }));
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(
        bench.sent(),
        ["<usage>", "BEGIN", "select 1;", "COMMIT", "<usage>"]
    );
}

#[test]
fn it_is_read_after_a_stop_request_and_after_an_abort() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    assert_eq!(bench.advance(), Step::Again);
    bench.world.request_stop();
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.record.0.last(), Some(&Event::UsageEnds(3)));

    let mut bench = self::bench(&workload);
    bench.answer_in_turn([done(), failed("22012", "ERROR:  division by zero")]);
    bench.abort_reason();
    assert_eq!(bench.record.0.last(), Some(&Event::UsageEnds(3)));
}

#[test]
fn a_session_that_cannot_tell_runs_all_the_same() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.answer_in_turn([failed("42883", "ERROR:  function does not exist")]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["<usage>", "select 1;"]);
    assert_eq!(bench.record.0.len(), 1);
}

#[test]
fn a_session_that_waits_for_its_start_is_read_meanwhile() {
    let workload = script("select 1;");
    // With seed 42 and rate 1000, the first start is at 1.5 ms.
    let mut bench = bench(&workload);
    bench.plan.throttle_us = Some(RunPlan::throttle_us(1000.0, 1));
    bench.plan.measure_ns = at(MS);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["<usage>", "select 1;", "<usage>"]);

    // Nothing is to start before the end.
    let mut bench = self::bench(&workload);
    bench.plan.throttle_us = Some(RunPlan::throttle_us(1000.0, 1));
    (bench.plan.measure_ns, bench.plan.deadline_ns) = (at(MS / 2), at(MS));
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.sent(), ["<usage>", "<usage>"]);
}

#[test]
fn it_is_awaited_after_an_abort() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.plan.exit_on_abort = true;
    bench.answer_in_turn([
        done(),
        failed("22012", "ERROR:  division by zero"),
        done().after_waits(1),
    ]);
    let reason = bench.abort_reason();
    assert!(reason.ends_with("division by zero"), "{reason}");
    assert_eq!(bench.record.0.last(), Some(&Event::UsageEnds(3)));
}

#[test]
fn a_failed_block_is_rolled_back_before() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.plan.commit_every = 2;
    bench.answer_in_turn([done(), done(), deadlock()]);
    assert_eq!(bench.advance(), Step::Again);
    bench.world.request_stop();
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(
        bench.sent(),
        ["<usage>", "BEGIN", "select 1;", "ROLLBACK", "<usage>"]
    );
}

#[test]
fn a_block_that_failed_for_good_is_rolled_back_before_the_last_reading() {
    let workload = script("select 1;");
    let mut bench = bench(&workload);
    bench.plan.commit_every = 2;
    bench.answer_in_turn([done(), done(), failed("22012", "ERROR:  division by zero")]);
    bench.abort_reason();
    assert_eq!(
        bench.sent(),
        ["<usage>", "BEGIN", "select 1;", "ROLLBACK", "<usage>"]
    );
    assert_eq!(bench.record.0, [Event::UsageBegins(1), Event::UsageEnds(5)]);
}
