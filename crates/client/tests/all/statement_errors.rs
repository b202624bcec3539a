//! A statement that fails for good aborts its client, with pgbench's words.

use crate::common::{Bench, done, failed, plan, script, scripts};
use selfbench_client::Step;
use selfbench_script::Streams;

#[test]
fn the_message_names_client_script_and_command() {
    let workload = script("\\set x 1\nselect :x;\nselect 1 / 0;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done(), failed("22012", "ERROR:  division by zero")]);
    assert_eq!(
        bench.abort_reason(),
        "client 0 script 0 aborted in command 2 query 0: ERROR:  division by zero"
    );
    assert_eq!(bench.sent(), ["select 1;", "select 1 / 0;"]);
    assert!(bench.record.0.is_empty());

    let workload = scripts(&[("select 1;", 0), ("select 2;", 1)]);
    let streams = Streams::derive(42, 5, 2, false);
    let mut bench = Bench::of(plan(&workload), 4, &streams);
    bench.answer(|_| failed("42P01", "ERROR:  no such table"));
    assert_eq!(
        bench.abort_reason(),
        "client 4 script 1 aborted in command 0 query 0: ERROR:  no such table"
    );
}

#[test]
fn earlier_transactions_stay_counted() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done(), done(), failed("XX000", "ERROR:  no")]);
    assert!(matches!(bench.run(), Step::Aborted { .. }));
    assert_eq!(bench.succeeded().len(), 2);
    assert_eq!(bench.record.0.len(), 2);
}

#[test]
fn no_other_error_is_retried() {
    // The last one is what a statement timeout gives, and a stop request that has not been made.
    for sqlstate in ["", "40000", "40002", "40003", "23505", "55P03", "57014"] {
        let workload = script("begin;\nselect 1;\nend;");
        let mut bench = Bench::new(&workload);
        bench.plan.max_tries = 0;
        bench.answer_in_turn([done(), failed(sqlstate, "ERROR:  no")]);
        assert!(bench.abort_reason().ends_with("query 0: ERROR:  no"));
        // The open block ends with the session.
        assert_eq!(bench.sent(), ["begin;", "select 1;"], "{sqlstate}");
        assert!(bench.record.0.is_empty(), "{sqlstate}");
    }
}
