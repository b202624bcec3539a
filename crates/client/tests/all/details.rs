//! Details on request: single commands, the log, errors that do not abort.

use crate::common::{
    Bench, Event, MS, at, deadlock, done, extended_script, failed, script, serialization_failure,
};
use selfbench_client::{Ending, Failure, LogEntry, Step, Transaction};

/// Recorded commands: index, milliseconds.
fn executed(bench: &Bench) -> Vec<(usize, u64)> {
    let command = |event: &Event| match event {
        Event::Executed(0, command, ns) => Some((*command, ns / MS)),
        _ => None,
    };
    bench.record.0.iter().filter_map(command).collect()
}

fn logged(bench: &Bench) -> Vec<LogEntry> {
    let entry = |event: &Event| match event {
        Event::Logged(entry) => Some(*entry),
        _ => None,
    };
    bench.record.0.iter().filter_map(entry).collect()
}

#[test]
fn commands_are_measured_one_by_one() {
    let workload = script("\\set x 1\nselect 1;\n\\sleep 5 ms\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.plan.per_statement = true;
    bench.answer_in_turn([done().after_ns(2 * MS), done().after_ns(3 * MS)]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(executed(&bench), [(0, 0), (1, 2), (2, 5), (3, 3)]);
}

#[test]
fn nothing_is_measured_unasked() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([deadlock()]);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.record.0.len(), 2);
    assert!(bench.world.told.borrow().is_empty());
}

#[test]
fn skipped_commands_are_not_measured() {
    let workload = script(
        "\\if 0\nselect 1;\n\\elif 1\nselect 2;\n\\else\nselect 3;\n\\endif\n\
         \\if 0\n\\endif\nselect 4;",
    );
    let mut bench = Bench::new(&workload);
    bench.plan.per_statement = true;
    assert_eq!(bench.run_transactions(1), Step::Finished);
    // The branch that was executed ends at \else; an end of skipped branches does not count.
    assert_eq!(
        executed(&bench)
            .iter()
            .map(|(command, _)| *command)
            .collect::<Vec<_>>(),
        [0, 2, 3, 4, 7, 9]
    );
}

#[test]
fn within_a_pipeline_the_end_takes_the_time() {
    let workload = extended_script("\\startpipeline\nselect 1;\n\\endpipeline");
    let mut bench = Bench::new(&workload);
    bench.plan.per_statement = true;
    bench.answer(|what| match what {
        "<endpipeline>" => done().after_ns(7 * MS),
        _ => done(),
    });
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(executed(&bench), [(0, 0), (1, 0), (2, 7)]);
}

#[test]
fn failures_are_charged_to_their_command() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.plan.per_statement = true;
    bench.plan.max_tries = 2;
    bench.answer_in_turn([done(), deadlock(), serialization_failure()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        bench.record.0,
        [
            Event::Executed(0, 0, 0),
            Event::CommandFailed(0, 1, true),
            Event::CommandFailed(0, 0, false),
            Event::Failed(0, Failure::Serialization, 1),
        ]
    );
}

#[test]
fn commands_of_the_warm_up_do_not_count() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.per_statement = true;
    bench.plan.measure_ns = at(3 * MS);
    bench.answer(|_| done().after_ns(2 * MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(executed(&bench), [(0, 2)]);
}

#[test]
fn every_ending_is_logged() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.log = true;
    bench.plan.max_tries = 2;
    bench.answer_in_turn([
        done().after_ns(2 * MS),
        deadlock(),
        done(),
        deadlock(),
        serialization_failure(),
    ]);
    assert_eq!(bench.run_transactions(3), Step::Finished);
    let entry = |count, ending| LogEntry {
        client: 0,
        count,
        script: 0,
        at_ns: 2 * MS,
        ending,
    };
    assert_eq!(
        logged(&bench),
        [
            entry(
                1,
                Ending::Success(Transaction {
                    latency_ns: 2 * MS,
                    ..Transaction::default()
                })
            ),
            entry(
                2,
                Ending::Success(Transaction {
                    retries: 1,
                    ..Transaction::default()
                })
            ),
            entry(
                3,
                Ending::Failure {
                    failure: Failure::Serialization,
                    retries: 1
                }
            ),
        ]
    );
}

#[test]
fn skipped_transactions_are_logged() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.log = true;
    bench.plan.throttle_us = Some(1000.0);
    bench.plan.latency_limit_ns = Some(MS);
    // Each transaction takes so long that the next ones are late.
    bench.answer(|_| done().after_ns(50 * MS));
    assert_eq!(bench.run_transactions(30), Step::Finished);
    let skipped = logged(&bench)
        .iter()
        .filter(|entry| entry.ending == Ending::Skipped)
        .count();
    assert!(skipped > 0);
    assert_eq!(logged(&bench).len(), 30);
    assert!(logged(&bench).iter().map(|entry| entry.count).eq(1..=30));
}

#[test]
fn a_sample_is_what_pgbench_takes() {
    let workload = script("select 1;");
    let mut bench = Bench::with_seed(&workload, 7);
    bench.plan.log = true;
    bench.plan.sampling_rate = Some(0.3);
    assert_eq!(bench.run_transactions(20), Step::Finished);
    assert_eq!(
        logged(&bench)
            .iter()
            .map(|entry| entry.count)
            .collect::<Vec<_>>(),
        [1, 2, 3, 8, 11, 13, 16, 18, 19, 20]
    );
}

#[test]
fn errors_are_told_if_asked_for() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.verbose_errors = true;
    bench.plan.max_tries = 2;
    bench.plan.latency_limit_ns = Some(200 * MS);
    bench.answer_in_turn([deadlock().after_ns(50 * MS), deadlock().after_ns(25 * MS)]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        *bench.world.told.borrow(),
        [
            "client 0 got an error in command 0 (SQL) of script 0; ERROR:  deadlock detected",
            "client 0 repeats the transaction after the error (try 1/2, 25.000% of the maximum \
             time of tries was used)",
            "client 0 got an error in command 0 (SQL) of script 0; ERROR:  deadlock detected",
            "client 0 ends the failed transaction (try 2/2, 37.500% of the maximum time of tries \
             was used)",
        ]
    );
}

#[test]
fn steps_are_told_if_asked_for() {
    let workload = script("\\set  x random(1, 1)\n\\if :x = 1\nselect :x;\n\\endif\n\\sleep  1 us");
    let mut bench = Bench::new(&workload);
    bench.plan.debug = true;
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        *bench.world.told.borrow(),
        [
            "client 0 executing script \"script 0\"",
            "client 0 executing \\set x",
            "client 0 executing \\if",
            "client 0 sending select 1;",
            "client 0 receiving",
            "client 0 executing \\endif",
            "client 0 executing \\sleep 1 us",
        ]
    );
}

#[test]
fn errors_that_abort_are_not_told_twice() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.verbose_errors = true;
    bench.answer(|_| failed("42P01", "ERROR:  relation does not exist"));
    bench.abort_reason();
    assert!(bench.world.told.borrow().is_empty());
}
