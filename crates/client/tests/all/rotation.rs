//! After each transaction the other clients of the thread have their turn, also if no statement
//! makes a client wait.

use crate::common::{Bench, plan, script, serialization_failure};
use selfbench_client::Step;
use selfbench_script::Streams;

#[test]
fn scripts_of_meta_commands_rotate() {
    let workload = script("\\set x 1\n\\if :x\n\\set x 2\n\\endif");
    let streams = Streams::derive(42, 3, 1, false);
    let mut clients = [0, 1, 2].map(|number| Bench::of(plan(&workload), number, &streams));
    for round in 1..=5 {
        for client in &mut clients {
            assert_eq!(client.advance(), Step::Again);
            assert_eq!(client.succeeded().len(), round);
        }
    }
}

#[test]
fn statements_that_do_not_wait_rotate() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    for round in 1..=5 {
        assert_eq!(bench.advance(), Step::Again);
        assert_eq!(bench.succeeded().len(), round);
    }
}

#[test]
fn failed_transactions_rotate() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| serialization_failure());
    for round in 1..=5 {
        assert_eq!(bench.advance(), Step::Again);
        assert_eq!(bench.record.0.len(), round);
    }
}
