//! No transaction begins after the deadline; one that has begun goes on.

use crate::common::{Bench, MS, at, done, script, serialization_failure};
use selfbench_client::Step;

#[test]
fn no_transaction_begins_at_the_deadline() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(10 * MS);
    bench.world.pass(10 * MS);
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.sent().is_empty());
    assert!(bench.record.0.is_empty());
}

#[test]
fn a_running_script_is_not_interrupted() {
    let workload = script("select 1;\n\\sleep 5 ms\nselect 2;\nselect 3;");
    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(2 * MS);
    bench.answer(|_| done().after_waits(1).after_ns(MS));
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.sent(), ["select 1;", "select 2;", "select 3;"]);
    let latencies: Vec<u64> = bench.succeeded().iter().map(|t| t.latency_ns).collect();
    assert_eq!(latencies, [8 * MS]);
}

#[test]
fn a_transaction_that_ends_at_the_deadline_is_the_last() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(2 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.succeeded().len(), 2);
}

#[test]
fn whichever_limit_comes_first_ends_the_client() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(5 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(3), Step::Finished);
    assert_eq!(bench.succeeded().len(), 3);

    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(5 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(30), Step::Finished);
    assert_eq!(bench.succeeded().len(), 5);
}

#[test]
fn a_failure_after_the_deadline_is_neither_retried_nor_counted() {
    let workload = script("begin;\nselect 1;\nend;");
    for max_tries in [0, 1, 5] {
        let mut bench = Bench::new(&workload);
        bench.plan.deadline_ns = at(MS);
        bench.plan.max_tries = max_tries;
        bench.answer_in_turn([done(), serialization_failure().after_ns(MS)]);
        assert_eq!(bench.run(), Step::Finished);
        assert_eq!(bench.sent(), ["begin;", "select 1;", "ROLLBACK"]);
        assert!(bench.record.0.is_empty());
    }
}
