//! Several transactions may share a block that the client opens and commits.

use crate::common::{Bench, Event, MS, at, deadlock, done, failed, script, serialization_failure};
use selfbench_client::{Failure, Step};

#[test]
fn a_block_is_committed_after_so_many_transactions() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 2;
    assert_eq!(bench.run_transactions(4), Step::Finished);
    let block = ["BEGIN", "select 1;", "select 1;", "COMMIT"];
    assert_eq!(bench.sent(), [block, block].concat());
    assert_eq!(bench.succeeded().len(), 4);
}

#[test]
fn the_last_transaction_ends_its_block() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 5;
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["BEGIN", "select 1;", "COMMIT"]);
}

#[test]
fn the_deadline_does() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 100;
    bench.plan.deadline_ns = at(2 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.sent(), ["BEGIN", "select 1;", "COMMIT"]);
}

#[test]
fn opening_and_committing_are_part_of_the_latency() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 2;
    bench.answer(|_| done().after_ns(MS).after_waits(1));
    assert_eq!(bench.run_transactions(4), Step::Finished);
    assert!(bench.succeeded().iter().all(|t| t.latency_ns == 2 * MS));
}

#[test]
fn a_stop_request_leaves_the_block_to_the_end_of_the_session() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 10;
    assert_eq!(bench.advance(), Step::Again);
    bench.world.request_stop();
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.sent(), ["BEGIN", "select 1;"]);
}

#[test]
fn a_failure_ends_the_block() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 2;
    bench.answer_in_turn([done(), done(), deadlock()]);
    assert_eq!(bench.run_transactions(3), Step::Finished);
    assert_eq!(
        bench.sent(),
        [
            "BEGIN",
            "select 1;",
            "select 1;",
            "ROLLBACK",
            "BEGIN",
            "select 1;",
            "COMMIT"
        ]
    );
    assert_eq!(bench.record.0[1], Event::Failed(0, Failure::Deadlock, 0));
}

#[test]
fn a_commit_may_fail() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 2;
    bench.plan.max_tries = 2;
    bench.answer_in_turn([done(), done(), done(), serialization_failure()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent(),
        [
            "BEGIN",
            "select 1;",
            "select 1;",
            "COMMIT",
            "BEGIN",
            "select 1;",
            "COMMIT"
        ]
    );
    assert_eq!(bench.succeeded()[1].retries, 1);
}

#[test]
fn a_block_that_cannot_be_opened_aborts_the_client() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.commit_every = 2;
    bench.answer(|_| failed("08P01", "ERROR:  no"));
    assert_eq!(
        bench.abort_reason(),
        "client 0 aborted while opening a transaction block; ERROR:  no"
    );
}
