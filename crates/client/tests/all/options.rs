//! Variables of the user, errors that end a transaction only, aborts that end the run, the shell,
//! the function `debug`, and connections of single transactions.

use crate::common::{Bench, Event, MS, at, deadlock, done, failed, lost, plan, script, scripts};
use selfbench_client::{Client, Failure, Step};
use selfbench_script::Streams;
use std::collections::BTreeMap;

fn texts(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn user_variables_are_texts() {
    let variables = texts(&[("x", "007"), ("unused", "1"), ("scale", "9")]);
    let workload = script("select :x, :scale, :client_id;\n\\set x :x + 1\nselect :x;");
    let mut plan = plan(&workload);
    plan.variables = &variables;
    let mut bench = Bench::of(plan, 0, &Streams::derive(42, 1, 1, false));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["select 007, 9, 0;", "select 8;"]);
}

#[test]
fn variables_are_not_restored_by_a_retry() {
    let variables = texts(&[("c", "0")]);
    let workload = script("\\set c debug(:c + 1)\nselect :c;");
    let mut plan = plan(&workload);
    plan.variables = &variables;
    plan.max_tries = 3;
    let mut bench = Bench::of(plan, 0, &Streams::derive(42, 1, 1, false));
    bench.answer_in_turn([deadlock(), deadlock()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        *bench.world.told.borrow(),
        [1, 2, 3].map(|c| format!("debug(script=0,command=1): int {c}"))
    );
}

#[test]
fn debug_names_script_and_command() {
    let workload = scripts(&[
        ("select 1;", 0),
        (
            "\\if debug(0.5) is null\n\\elif debug(null) is null\n\\set x debug(true)\n\\endif",
            1,
        ),
    ]);
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        *bench.world.told.borrow(),
        [
            "debug(script=1,command=1): double 0.5",
            "debug(script=1,command=2): null",
            "debug(script=1,command=3): boolean true",
        ]
    );
}

#[test]
fn errors_may_end_the_transaction_only() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.continue_on_error = true;
    bench.plan.max_tries = 0;
    bench.answer_in_turn([done(), failed("22012", "ERROR:  division by zero")]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    // Such an error is not retried.
    assert_eq!(bench.sent()[2..4], ["ROLLBACK", "begin;"]);
    assert_eq!(bench.record.0[0], Event::Failed(0, Failure::Other, 0));
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn some_errors_abort_all_the_same() {
    for (body, reply) in [
        ("select 1;", lost("57P01")),
        ("\\set x 1 / 0", done()),
        ("select 1 as a \\gset", done()),
    ] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        bench.plan.continue_on_error = true;
        bench.answer_in_turn([reply]);
        bench.abort_reason();
        assert!(bench.record.0.is_empty(), "{body}");
    }
}

#[test]
fn an_abort_may_end_the_run() {
    let workload = script("\\set x 1 / 0");
    for exit_on_abort in [false, true] {
        let mut bench = Bench::new(&workload);
        bench.plan.exit_on_abort = exit_on_abort;
        bench.abort_reason();
        assert_eq!(
            selfbench_client::Control::stop(&*bench.world),
            exit_on_abort
        );
    }
}

#[test]
fn shell_commands_get_their_line() {
    let workload = script("\\set x 5\n\\shell echo a :x ::x\n\\setshell y echo :x\nselect :y;");
    let mut bench = Bench::new(&workload);
    *bench.world.shell_output.borrow_mut() = Some("42\nmore\n");
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(*bench.world.shell.borrow(), ["echo a 5 :x", "?echo 5"]);
    assert_eq!(bench.sent(), ["select 42;"]);
}

#[test]
fn failing_shell_commands_abort() {
    for (body, output, reason) in [
        (
            "\\shell false",
            None,
            "false: could not launch shell command; client 0 aborted in command 0 (shell)",
        ),
        (
            "\\setshell x echo",
            Some(""),
            "echo: could not read result of shell command; client 0 aborted in command 0 \
             (setshell)",
        ),
        (
            "\\setshell x echo",
            Some("one\n"),
            "echo: shell command must return an integer (not \"one\n\"); client 0 aborted in \
             command 0 (setshell)",
        ),
        (
            "\\shell echo :x",
            Some(""),
            "echo: undefined variable \":x\"; client 0 aborted in command 0 (shell)",
        ),
    ] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        *bench.world.shell_output.borrow_mut() = output;
        assert_eq!(
            bench.abort_reason(),
            format!("{reason} of script 0; execution of meta-command failed")
        );
    }
}

#[test]
fn a_stop_request_ends_a_shell_command_without_complaint() {
    for body in ["\\shell sleep 1", "\\setshell x sleep 1"] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        bench.world.stop_in_shell.set(true);
        assert_eq!(bench.advance(), Step::Finished);
        assert!(bench.record.0.is_empty());
    }
}

#[test]
fn each_transaction_connects() {
    let workload = script("select 1;");
    let mut bench = Bench::reconnecting(&workload);
    bench.answer(|what| match what {
        "<connect>" => done().after_waits(1).after_ns(3 * MS),
        _ => done().after_ns(MS),
    });
    assert_eq!(bench.run_transactions(2), Step::Finished);
    let one = ["<connect>", "select 1;", "<disconnect>"];
    assert_eq!(bench.sent(), [one, one].concat());
    // Connecting is not part of the latency.
    assert!(bench.succeeded().iter().all(|t| t.latency_ns == MS));
    assert_eq!(bench.record.0[0], Event::Connected(3 * MS));
}

#[test]
fn connections_of_transactions_that_do_not_count_do_not_count() {
    let workload = script("select 1;");
    let mut bench = Bench::reconnecting(&workload);
    bench.plan.measure_ns = at(10 * MS);
    let mut connections = 0;
    bench.answer(move |what| match what {
        "<connect>" => {
            connections += 1;
            done().after_ns(connections * MS)
        }
        _ if connections == 5 => deadlock(),
        _ => done(),
    });
    assert_eq!(bench.run_transactions(2), Step::Finished);
    // The warm-up has connections of 1, 2 and 3 ms; the fifth transaction fails.
    let connected = |event: &&Event| matches!(event, Event::Connected(_));
    let counted: Vec<_> = bench.record.0.iter().filter(connected).collect();
    assert_eq!(
        counted,
        [&Event::Connected(4 * MS), &Event::Connected(5 * MS)]
    );
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn a_retry_keeps_the_connection_a_failure_ends_it() {
    let workload = script("select 1;");
    let mut bench = Bench::reconnecting(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([done(), deadlock(), deadlock()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent()[..5],
        [
            "<connect>",
            "select 1;",
            "select 1;",
            "<disconnect>",
            "<connect>"
        ]
    );
}

#[test]
fn a_connection_that_fails_aborts() {
    let workload = script("select 1;");
    let mut bench = Bench::reconnecting(&workload);
    bench.answer(|_| failed("53300", "FATAL:  sorry, too many clients already"));
    assert_eq!(
        bench.abort_reason(),
        "client 0 aborted while establishing connection; FATAL:  sorry, too many clients already"
    );
}

#[test]
fn connecting_after_a_scheduled_start_is_lag() {
    let workload = script("select 1;");
    let mut bench = Bench::reconnecting(&workload);
    bench.plan.throttle_us = Some(1000.0);
    bench.answer(|what| match what {
        "<connect>" => done().after_ns(3 * MS),
        _ => done(),
    });
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.succeeded()[0].lag_ns, Some(3 * MS));
    assert_eq!(bench.succeeded()[0].latency_ns, 3 * MS);
}

#[test]
fn clients_are_small() {
    // Thousands of them are driven by one process.
    assert!(size_of::<Client<'_>>() < 512);
}
