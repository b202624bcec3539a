//! Position of a client: the command that it executes.

use crate::common::{Bench, script, scripts, serialization_failure};
use selfbench_client::{RunPlan, Step};

#[test]
fn every_executed_command_is_reached() {
    let workload = script(
        "\\set a 1\n\\if :a\nselect :a;\n\\else\nselect 2;\n\\endif\n\\sleep 1 ms\nselect 3;",
    );
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    // The branch that is not executed ends at its `\endif`, which is not reached.
    let reached: Vec<_> = [0, 1, 2, 3, 6, 7].map(|command| Some((0, command))).into();
    assert_eq!(bench.record.1, reached);
}

#[test]
fn the_script_is_part_of_it() {
    let workload = scripts(&[("select 1;", 0), ("select 2;", 1)]);
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.record.1, [Some((1, 0))]);
}

#[test]
fn another_try_begins_again() {
    let workload = script("select 1;\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([crate::common::done(), serialization_failure()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    let reached: Vec<_> = [0, 1, 0, 1].map(|command| Some((0, command))).into();
    assert_eq!(bench.record.1, reached);
}

#[test]
fn a_client_that_waits_for_its_schedule_is_nowhere() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.throttle_us = Some(RunPlan::throttle_us(1000.0, 1));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.record.1, [None, Some((0, 0)), None, Some((0, 0))]);
}
