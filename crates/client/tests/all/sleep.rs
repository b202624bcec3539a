//! `\sleep` gives the thread to others until its time has come.

use crate::common::{Bench, MS, done, script, serialization_failure};
use selfbench_client::{Control, Step};

#[test]
fn the_client_sleeps_and_resumes() {
    let workload = script("select 1;\n\\sleep 10 ms\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.world.pass(7);
    let sleeping = Step::Sleeping {
        until_ns: 10 * MS + 7,
    };
    assert_eq!(bench.advance(), sleeping);
    assert_eq!(bench.sent(), ["select 1;"]);
    // Too early: the end of the sleep stays where it is.
    bench.world.pass(10 * MS - 1);
    assert_eq!(bench.advance(), sleeping);
    bench.world.pass(1);
    assert_eq!(bench.advance(), Step::Again);
    assert_eq!(bench.sent(), ["select 1;", "select 2;"]);
}

#[test]
fn a_client_that_is_late_does_not_sleep_again() {
    let workload = script("\\sleep 1 ms\n\\sleep 2 ms");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.advance(), Step::Sleeping { until_ns: MS });
    bench.world.pass(100 * MS);
    assert_eq!(bench.advance(), Step::Sleeping { until_ns: 102 * MS });
}

#[test]
fn units_and_variables() {
    let cases = [
        ("\\sleep 3", 3000 * MS),
        ("\\sleep 3 s", 3000 * MS),
        ("\\sleep 3 ms", 3 * MS),
        ("\\sleep 3 us", 3000),
        ("\\set x 3\n\\sleep :x ms", 3 * MS),
        ("\\set x 3.9\n\\sleep :x ms", 3 * MS),
    ];
    for (body, until_ns) in cases {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        assert_eq!(bench.advance(), Step::Sleeping { until_ns }, "{body}");
    }
}

#[test]
fn no_time_is_no_sleep() {
    for body in [
        "\\sleep 0\nselect 1;",
        "\\set x -5\n\\sleep :x ms\nselect 1;",
        "\\sleep 2148 s\nselect 1;",
    ] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        assert_eq!(bench.advance(), Step::Again, "{body}");
        assert_eq!(bench.sent(), ["select 1;"], "{body}");
        assert_eq!(bench.world.now_ns(), 0, "{body}");
    }
}

#[test]
fn the_end_of_time_does_not_overflow() {
    let workload = script("\\sleep 2000 s");
    let mut bench = Bench::new(&workload);
    bench.world.pass(u64::MAX - 1);
    assert_eq!(bench.advance(), Step::Sleeping { until_ns: u64::MAX });
}

#[test]
fn the_time_asleep_is_part_of_the_latency_and_counted_beside_it() {
    let workload = script("select 1;\n\\sleep 10 ms\nselect 2;\n\\sleep 5 ms");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    for transaction in bench.succeeded() {
        assert_eq!(transaction.latency_ns, 17 * MS);
        assert_eq!(transaction.sleep_ns, 15 * MS);
    }
}

#[test]
fn time_asleep_is_that_of_all_tries_and_as_long_as_it_was() {
    let workload = script("\\sleep 10 ms\nselect 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([serialization_failure()]);
    bench.plan.transactions = Some(1);
    assert_eq!(bench.advance(), Step::Sleeping { until_ns: 10 * MS });
    // Others kept the thread busy.
    bench.world.pass(14 * MS);
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.succeeded()[0].sleep_ns, 24 * MS);
    assert_eq!(bench.succeeded()[0].latency_ns, 24 * MS);
}
