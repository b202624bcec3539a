//! A stop request ends the client at once: nothing more is submitted (which the session checks),
//! and a transaction that has not been executed to its end is not counted.

use std::rc::Rc;

use crate::common::{Bench, MS, Reply, deadlock, done, failed, script};
use selfbench_client::Step;
use selfbench_script::Workload;

/// A client whose stop is requested while the statement `sql`, answered by `reply`, is in progress.
fn stopped_during<'w>(workload: &'w Workload, sql: &'static str, reply: Reply) -> Bench<'w> {
    let mut bench = Bench::new(workload);
    let world = Rc::clone(&bench.world);
    bench.answer(move |statement| {
        if statement == sql {
            world.request_stop();
            return reply.clone();
        }
        if statement == "select 'deadlock';" {
            return deadlock();
        }
        done()
    });
    bench
}

#[test]
fn before_the_first_transaction() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.world.request_stop();
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.sent().is_empty());
    assert!(bench.record.0.is_empty());
}

#[test]
fn between_transactions() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.advance(), Step::Again);
    bench.world.request_stop();
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn within_a_script() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = stopped_during(&workload, "select 1;", done());
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.sent(), ["begin;", "select 1;"]);
    assert!(bench.record.0.is_empty());
}

#[test]
fn after_the_last_command_the_transaction_counts() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = stopped_during(&workload, "end;", done());
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn while_a_statement_is_in_progress() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = stopped_during(&workload, "select 1;", done().after_waits(2));
    assert_eq!(bench.advance(), Step::Waiting);
    assert_eq!(bench.advance(), Step::Waiting);
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.record.0.is_empty());
}

#[test]
fn a_statement_that_is_canceled_by_the_request_aborts_nobody() {
    let canceled = failed("57014", "ERROR:  canceling statement due to user request");
    let workload = script("select 1;");
    let mut bench = stopped_during(&workload, "select 1;", canceled.clone());
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.record.0.is_empty());

    let workload = script("begin;\nselect 'deadlock';");
    let mut bench = stopped_during(&workload, "ROLLBACK", canceled);
    assert_eq!(bench.advance(), Step::Finished);
    assert!(bench.record.0.is_empty());
}

#[test]
fn other_errors_are_still_reported() {
    let workload = script("select 1;");
    let broken = failed("XX001", "ERROR:  invalid page");
    let mut bench = stopped_during(&workload, "select 1;", broken);
    assert_eq!(
        bench.abort_reason(),
        "client 0 script 0 aborted in command 0 query 0: ERROR:  invalid page"
    );
}

#[test]
fn a_failure_is_neither_rolled_back_nor_retried_nor_counted() {
    for body in ["select 1;", "begin;\nselect 1;\nend;"] {
        let workload = script(body);
        let mut bench = stopped_during(&workload, "select 1;", deadlock());
        bench.plan.max_tries = 0;
        assert_eq!(bench.advance(), Step::Finished);
        assert_eq!(bench.sent().last(), Some(&"select 1;"));
        assert!(bench.record.0.is_empty());
    }
}

#[test]
fn during_a_rollback() {
    let workload = script("begin;\nselect 'deadlock';\nend;");
    for max_tries in [0, 1] {
        let mut bench = stopped_during(&workload, "ROLLBACK", done().after_waits(1));
        bench.plan.max_tries = max_tries;
        assert_eq!(bench.advance(), Step::Waiting);
        assert_eq!(bench.advance(), Step::Finished);
        assert_eq!(bench.sent().last(), Some(&"ROLLBACK"));
        assert!(bench.record.0.is_empty());
    }
}

#[test]
fn during_a_sleep() {
    for body in ["\\sleep 1 s\nselect 1;", "\\sleep 1 s"] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        assert!(matches!(bench.advance(), Step::Sleeping { .. }));
        bench.world.pass(MS);
        bench.world.request_stop();
        assert_eq!(bench.advance(), Step::Finished);
        assert!(bench.sent().is_empty());
        assert!(bench.record.0.is_empty());
    }
}

#[test]
fn within_meta_commands() {
    let workload = script("select 1;\n\\set x 1 / 0\nselect 2;");
    let mut bench = stopped_during(&workload, "select 1;", done());
    assert_eq!(bench.advance(), Step::Finished);
}

#[test]
fn after_the_end() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    bench.world.request_stop();
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.succeeded().len(), 1);
}
