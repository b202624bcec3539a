//! A statement that takes its time makes the client wait, however often it is advanced.

use crate::common::{Bench, deadlock, done, script};
use selfbench_client::Step;

#[test]
fn a_statement_is_submitted_once() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| done().after_waits(3));
    for _ in 0..3 {
        assert_eq!(bench.advance(), Step::Waiting);
        assert_eq!(bench.sent(), ["select 1;"]);
    }
    for _ in 0..3 {
        assert_eq!(bench.advance(), Step::Waiting);
        assert_eq!(bench.sent(), ["select 1;", "select 2;"]);
    }
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn so_is_a_rollback() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done(), deadlock(), done().after_waits(3)]);
    for _ in 0..3 {
        assert_eq!(bench.advance(), Step::Waiting);
        assert_eq!(bench.sent(), ["begin;", "select 1;", "ROLLBACK"]);
        assert!(bench.record.0.is_empty());
    }
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.record.0.len(), 1);
}

#[test]
fn waiting_clients_do_not_hold_up_others() {
    let workload = script("select 1;");
    let mut slow = Bench::new(&workload);
    slow.answer(|_| done().after_waits(10));
    let mut fast = Bench::new(&workload);
    for _ in 0..10 {
        assert_eq!(slow.advance(), Step::Waiting);
        assert_eq!(fast.advance(), Step::Again);
    }
    assert_eq!(slow.advance(), Step::Again);
    assert_eq!(slow.succeeded().len(), 1);
    assert_eq!(fast.succeeded().len(), 10);
}
