//! A client does as many transactions as it is told to, and then no more.

use crate::common::{Bench, Event, done, script, serialization_failure};
use selfbench_client::Step;

#[test]
fn the_limit_is_met_exactly() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.plan.transactions = Some(3);
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.succeeded().len(), 3);
    assert_eq!(bench.sent().len(), 6);
}

#[test]
fn failed_transactions_count_towards_the_limit() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done(), serialization_failure(), done()]);
    assert_eq!(bench.run_transactions(3), Step::Finished);
    assert_eq!(bench.sent().len(), 3);
    assert_eq!(bench.succeeded().len(), 2);
    assert!(matches!(bench.record.0[1], Event::Failed(..)));
}

#[test]
fn nothing_happens_after_the_end() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.sent().len(), 1);
    assert_eq!(bench.record.0.len(), 1);
}
