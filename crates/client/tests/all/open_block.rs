//! A script has to end the transaction block that it begins.

use crate::common::{Bench, at, plan, script};
use selfbench_client::Step;
use selfbench_script::Streams;

#[test]
fn an_open_block_at_the_end_aborts_the_client() {
    let workload = script("begin;\nselect 1;");
    let streams = Streams::derive(42, 2, 1, false);
    let mut bench = Bench::of(plan(&workload), 1, &streams);
    assert_eq!(
        bench.abort_reason(),
        "client 1 aborted: end of script reached without completing the last transaction"
    );
    assert_eq!(bench.sent(), ["begin;", "select 1;"]);
}

#[test]
fn its_transaction_has_been_processed() {
    let workload = script("begin;\nselect 1;");
    let mut bench = Bench::new(&workload);
    bench.abort_reason();
    assert_eq!(bench.succeeded().len(), 1);
    assert_eq!(bench.record.0.len(), 1);
}

#[test]
fn so_does_one_at_the_deadline() {
    let workload = script("begin;\n\\sleep 1 s");
    let mut bench = Bench::new(&workload);
    bench.plan.deadline_ns = at(1);
    assert!(matches!(bench.run(), Step::Aborted { .. }));
}

#[test]
fn a_script_may_have_several_blocks() {
    let workload = script("begin;\nselect 1;\ncommit;\nselect 2;\nbegin;\nselect 3;\nrollback;");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.succeeded().len(), 2);
}
