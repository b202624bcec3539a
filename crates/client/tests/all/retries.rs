//! Serialization failures and deadlocks: rolled back, tried again, or counted as failures.

use std::cell::Cell;

use crate::common::{Bench, Event, deadlock, done, failed, script, serialization_failure};
use selfbench_client::{Failure, Step, Transaction};

#[test]
fn an_open_block_is_rolled_back() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done(), deadlock()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent(),
        [
            "begin;",
            "select 1;",
            "ROLLBACK",
            "begin;",
            "select 1;",
            "end;"
        ]
    );
    assert_eq!(
        bench.record.0,
        [
            Event::Failed(0, Failure::Deadlock, 0),
            Event::Succeeded(0, Transaction::default())
        ]
    );
}

#[test]
fn without_a_block_there_is_nothing_to_roll_back() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([serialization_failure()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.sent(), ["select 1;", "select 1;", "select 2;"]);
    assert_eq!(
        bench.record.0[0],
        Event::Failed(0, Failure::Serialization, 0)
    );
}

#[test]
fn failures_do_not_abort() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| serialization_failure());
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.record.0,
        vec![Event::Failed(0, Failure::Serialization, 0); 2]
    );
}

#[test]
fn a_retry_repeats_the_draws_of_templates() {
    let workload = script("\\template t it's @#\nselect :'t';\n\\template t @\nselect :'t';");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([done(), serialization_failure()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    let sent = bench.sent();
    assert_eq!(sent.len(), 6);
    assert_eq!(sent[..2], sent[2..4]);
    assert_ne!(sent[..2], sent[4..]);
    assert!(sent[0].starts_with("select 'it''s "), "{}", sent[0]);
}

#[test]
fn a_retry_repeats_the_random_draws() {
    let workload = script("\\set r random(1, 1000)\nselect :r;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 3;
    bench.answer_in_turn([
        serialization_failure(),
        serialization_failure(),
        done(),
        deadlock(),
    ]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent(),
        [
            "select 653;",
            "select 653;",
            "select 653;",
            "select 836;",
            "select 836;"
        ]
    );
    let retries: Vec<u32> = bench.succeeded().iter().map(|t| t.retries).collect();
    assert_eq!(retries, [2, 1]);
}

#[test]
fn a_failure_does_not_give_the_draws_back() {
    let workload = script("\\set r random(1, 1000)\nselect :r;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| serialization_failure());
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.sent(), ["select 653;", "select 836;"]);
}

#[test]
fn a_retry_does_not_restore_variables() {
    let workload = script("\\set client_id :client_id + 1\nselect :client_id;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 3;
    bench.answer_in_turn([deadlock(), deadlock()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["select 1;", "select 2;", "select 3;"]);
}

#[test]
fn tries_are_limited() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 3;
    let kinds = Cell::new(0);
    bench.answer(move |sql| match sql {
        "select 1;" => {
            kinds.set(kinds.get() + 1);
            match kinds.get() {
                3 => deadlock(),
                _ => serialization_failure(),
            }
        }
        _ => done(),
    });
    assert_eq!(bench.run_transactions(1), Step::Finished);
    // The kind is that of the last error.
    assert_eq!(bench.record.0, [Event::Failed(0, Failure::Deadlock, 2)]);
    assert_eq!(bench.sent().len(), 3 * 3);
}

#[test]
fn each_transaction_has_all_tries() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([
        serialization_failure(),
        done(),
        serialization_failure(),
        done(),
    ]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    let retries: Vec<u32> = bench.succeeded().iter().map(|t| t.retries).collect();
    assert_eq!(retries, [1, 1]);
}

#[test]
fn zero_tries_are_no_limit() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 0;
    bench.answer_in_turn(vec![serialization_failure(); 100]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.succeeded()[0].retries, 100);
}

#[test]
fn a_failing_commit_is_retried_without_rollback() {
    let workload = script("begin;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([done(), serialization_failure()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["begin;", "end;", "begin;", "end;"]);
}

#[test]
fn a_retry_keeps_the_script() {
    let workload = crate::common::scripts(&[("select 0;", 1), ("select 1;", 1)]);
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 0;
    let mut turn = 0;
    bench.answer(move |_| {
        turn += 1;
        if turn % 3 == 0 { done() } else { deadlock() }
    });
    assert_eq!(bench.run_transactions(20), Step::Finished);
    for tries in bench.sent().chunks(3) {
        assert_eq!(tries, [tries[0]; 3]);
    }
}

#[test]
fn a_failing_rollback_aborts() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 0;
    bench.answer_in_turn([done(), deadlock(), failed("XX000", "ERROR:  no")]);
    assert_eq!(
        bench.abort_reason(),
        "client 0 aborted while rolling back the transaction after an error; ERROR:  no"
    );
    assert!(bench.record.0.is_empty());
}
