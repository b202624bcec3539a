//! Transactions that end before the measurement begins are executed, but not counted.

use crate::common::{Bench, Event, MS, at, done, script, serialization_failure};
use selfbench_client::{Failure, Step, Transaction, UNKNOWN_NS};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn the_end_of_a_transaction_decides() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = at(5 * MS);
    bench.answer(|_| done().after_ns(2 * MS));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    // Ends at 2, 4, 6 and 8 ms; the third begins before the measurement, with its whole latency.
    let counted = Event::Succeeded(
        0,
        Transaction {
            latency_ns: 2 * MS,
            ..Transaction::default()
        },
    );
    assert_eq!(
        bench.record.0,
        [Event::WarmedUp, Event::WarmedUp, counted.clone(), counted]
    );
}

#[test]
fn a_transaction_that_ends_when_the_measurement_begins_counts() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = at(MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.succeeded().len(), 1);
    assert_eq!(bench.record.0.len(), 1);
}

#[test]
fn failures_during_the_warm_up_do_not_count() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = at(2 * MS);
    bench.answer(|_| serialization_failure().after_ns(MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        bench.record.0,
        [Event::WarmedUp, Event::Failed(0, Failure::Serialization, 0)]
    );
}

#[test]
fn a_run_may_end_within_its_warm_up() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = at(10 * MS);
    bench.plan.deadline_ns = at(3 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.record.0, vec![Event::WarmedUp; 3]);
}

#[test]
fn the_warm_up_may_end_while_clients_run() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    let measure_ns = at(UNKNOWN_NS);
    (bench.plan.measure_ns, bench.plan.deadline_ns) = (measure_ns, at(UNKNOWN_NS));
    bench.plan.transactions = Some(1);
    bench.answer(|_| done().after_ns(MS));
    while bench.record.0.len() < 3 {
        bench.advance();
    }
    measure_ns.store(5 * MS, Relaxed);
    assert_eq!(bench.run(), Step::Finished);
    // The fifth ends when the measurement begins.
    assert_eq!(bench.record.0[..4], vec![Event::WarmedUp; 4]);
    assert_eq!((bench.succeeded().len(), bench.record.0.len()), (1, 5));
}

#[test]
fn the_first_that_counts_tells_how_long_before_the_measurement_it_began() {
    let workload = script("select 1;");
    for (measure_ns, early_ns) in [(0, 0), (3 * MS, MS), (4 * MS, 2 * MS)] {
        let mut bench = Bench::new(&workload);
        bench.plan.measure_ns = at(measure_ns);
        bench.plan.deadline_ns = at(20 * MS);
        bench.answer(|_| done().after_ns(2 * MS));
        assert_eq!(bench.run(), Step::Finished);
        assert_eq!(bench.record.2, Some(early_ns), "{measure_ns}");
    }
}

#[test]
fn so_does_one_that_fails_with_all_its_tries() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = at(4 * MS);
    bench.plan.max_tries = 3;
    bench.answer(|_| serialization_failure().after_ns(2 * MS));
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(
        bench.record.0,
        [Event::Failed(0, Failure::Serialization, 2)]
    );
    assert_eq!(bench.record.2, Some(4 * MS));
}

#[test]
fn a_transaction_in_progress_has_taken_the_time_since_the_measurement_began() {
    let workload = script("select 1;\n\\sleep 5 ms");
    let measure_ns = at(UNKNOWN_NS);
    let mut bench = Bench::new(&workload);
    bench.plan.measure_ns = measure_ns;
    assert_eq!(bench.unfinished_ns(), 0);
    bench.answer(|_| done().after_ns(3 * MS));
    while !matches!(bench.advance(), Step::Sleeping { .. }) {}
    assert_eq!(bench.unfinished_ns(), 0);
    for (begins_ns, unfinished_ns) in [(0, 3 * MS), (2 * MS, MS), (9 * MS, 0)] {
        measure_ns.store(begins_ns, Relaxed);
        assert_eq!(bench.unfinished_ns(), unfinished_ns, "{begins_ns}");
    }
    bench.plan.transactions = Some(1);
    assert_eq!(bench.run(), Step::Finished);
    assert_eq!(bench.unfinished_ns(), 0);
}
