//! A client that has lost its session is aborted, whatever the error says, and leaves the session
//! alone (which the session checks).

use crate::common::{Bench, deadlock, done, lost, script};
use selfbench_client::Step;

#[test]
fn a_lost_session_aborts_the_client() {
    let workload = script("begin;\nselect 1;\nend;");
    for sqlstate in ["", "57P01", "40001", "40P01"] {
        let mut bench = Bench::new(&workload);
        bench.plan.max_tries = 0;
        bench.answer_in_turn([done(), lost(sqlstate).after_waits(1)]);
        assert_eq!(
            bench.abort_reason(),
            "client 0 script 0 aborted in command 1 query 0: \
             server closed the connection unexpectedly"
        );
        assert_eq!(bench.advance(), Step::Finished);
        assert_eq!(bench.sent(), ["begin;", "select 1;"]);
        assert!(bench.record.0.is_empty());
    }
}

#[test]
fn a_session_may_be_lost_while_it_rolls_back() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 0;
    bench.answer_in_turn([done(), deadlock(), lost("")]);
    assert_eq!(
        bench.abort_reason(),
        "client 0 aborted while rolling back the transaction after an error; \
         server closed the connection unexpectedly"
    );
    assert!(bench.record.0.is_empty());
}
