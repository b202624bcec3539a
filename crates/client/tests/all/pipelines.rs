//! Pipelines: statements are not waited for, errors show at the end.

use crate::common::{Bench, Event, deadlock, done, extended_script, failed, script};
use selfbench_client::{Failure, Step};

const PIPELINE: &str = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline";

#[test]
fn statements_are_not_waited_for() {
    let workload = extended_script(PIPELINE);
    let mut bench = Bench::new(&workload);
    bench.answer(|what| match what {
        "<startpipeline>" | "<endpipeline>" => done().after_waits(1),
        _ => done(),
    });
    assert_eq!(bench.advance(), Step::Waiting);
    assert_eq!(bench.sent(), ["<startpipeline>"]);
    assert_eq!(bench.advance(), Step::Waiting);
    assert_eq!(
        bench.sent(),
        ["<startpipeline>", "select 1;", "select 2;", "<endpipeline>"]
    );
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.succeeded().len(), 1);
}

#[test]
fn an_error_is_that_of_the_end() {
    let workload =
        extended_script("\\startpipeline\nselect 1;\nselect 1/0;\nselect 2;\n\\endpipeline");
    let mut bench = Bench::new(&workload);
    bench.answer(|what| match what {
        "select 1/0;" => failed("22012", "ERROR:  division by zero"),
        _ => done(),
    });
    assert_eq!(
        bench.abort_reason(),
        "client 0 script 0 aborted in command 4 query 0: ERROR:  division by zero"
    );
}

#[test]
fn a_failure_is_retried_from_the_start() {
    let workload = extended_script("\\startpipeline\nbegin;\nselect 1;\nend;\n\\endpipeline");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    let mut tries = 0;
    bench.answer(move |what| {
        tries += usize::from(what == "select 1;");
        match what {
            "select 1;" if tries != 2 => deadlock(),
            _ => done(),
        }
    });
    assert_eq!(bench.run_transactions(1), Step::Finished);
    let sent = bench.sent();
    assert_eq!(sent[5], "ROLLBACK");
    assert_eq!(sent[..5], sent[6..]);
    assert_eq!(bench.succeeded()[0].retries, 1);

    // Without another try, the next transaction starts outside of the pipeline.
    bench.plan.max_tries = 1;
    bench.plan.transactions = Some(2);
    let mut bench = Bench::new(&workload);
    bench.answer(|what| match what {
        "select 1;" => deadlock(),
        _ => done(),
    });
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.record.0,
        vec![Event::Failed(0, Failure::Deadlock, 0); 2]
    );
}

#[test]
fn syncs_are_passed_on() {
    let workload =
        extended_script("\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[2], "<syncpipeline>");
}

#[test]
fn misuse_aborts() {
    for (body, reason) in [
        (
            "\\endpipeline",
            "client 0 aborted in command 0 (endpipeline) of script 0; not in pipeline mode",
        ),
        (
            "select 1;\n\\syncpipeline",
            "client 0 aborted in command 1 (syncpipeline) of script 0; not in pipeline mode",
        ),
        (
            "\\startpipeline\n\\startpipeline\n\\endpipeline",
            "client 0 aborted in command 1 (startpipeline) of script 0; already in pipeline mode",
        ),
        (
            "\\startpipeline\nselect 1 as a \\gset\n\\endpipeline",
            "client 0 aborted in command 1 (gset) of script 0; \\gset is not allowed in pipeline \
             mode",
        ),
        (
            "\\startpipeline\nselect 1 as a \\aset\n\\endpipeline",
            "client 0 aborted in command 1 (aset) of script 0; \\aset is not allowed in pipeline \
             mode",
        ),
        (
            "\\startpipeline\nselect 1;\n\\if 0\n\\endpipeline\n\\endif",
            "client 0 aborted: end of script reached with pipeline open",
        ),
    ] {
        let workload = extended_script(body);
        let mut bench = Bench::new(&workload);
        assert_eq!(bench.abort_reason(), reason, "{body}");
        assert!(bench.record.0.is_empty(), "{body}");
    }
    let workload = script(PIPELINE);
    assert_eq!(
        Bench::new(&workload).abort_reason(),
        "client 0 aborted in command 0 (startpipeline) of script 0; cannot use pipeline mode with \
         the simple query protocol"
    );
}
