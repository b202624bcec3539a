//! The latency of a transaction lasts from its beginning to its end.

use crate::common::{Bench, MS, done, plan, script, serialization_failure};
use selfbench_client::{Step, Transaction};
use selfbench_script::{Protocol, Streams, WorkloadBuilder};

fn latency(latency_ns: u64) -> Transaction {
    Transaction {
        latency_ns,
        sleep_ns: 0,
        shell_ns: 0,
        lag_ns: None,
        late: false,
        rolled_back: false,
        above_limit: false,
        retries: 0,
    }
}

#[test]
fn it_is_the_sum_of_all_commands() {
    let workload = script("select 1;\n\\sleep 5 ms\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().after_ns(3 * MS), done().after_ns(4 * MS + 1)]);
    bench.run_transactions(1);
    let sum = Transaction {
        sleep_ns: 5 * MS,
        ..latency(12 * MS + 1)
    };
    assert_eq!(bench.succeeded(), [sum]);
}

#[test]
fn time_between_transactions_does_not_count() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| done().after_ns(MS));
    for _ in 0..3 {
        bench.world.pass(100 * MS);
        bench.advance();
    }
    assert_eq!(bench.succeeded(), [latency(MS); 3]);
}

#[test]
fn a_client_that_is_alone_begins_where_it_ended() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.world.alone.set(true);
    bench.world.tick_ns.set(MS);
    bench.answer(|_| done());
    for _ in 0..3 {
        bench.advance();
    }
    // One reading at the first beginning, and one at each end.
    assert_eq!(bench.succeeded(), [latency(MS); 3]);
    assert_eq!(selfbench_client::Control::now_ns(&*bench.world), 5 * MS);
}

#[test]
fn a_client_that_is_alone_and_logs_reads_the_clock_at_each_beginning() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.world.alone.set(true);
    bench.plan.log = true;
    bench.answer(|_| done().after_ns(MS));
    for _ in 0..3 {
        bench.world.pass(100 * MS);
        bench.advance();
    }
    assert_eq!(bench.succeeded(), [latency(MS); 3]);
}

#[test]
fn time_until_the_client_is_advanced_counts() {
    let workload = script("select 1;");
    let mut bench = Bench::new(&workload);
    bench.answer(|_| done().after_waits(2));
    bench.advance();
    bench.world.pass(MS);
    bench.advance();
    bench.world.pass(MS);
    bench.advance();
    assert_eq!(bench.succeeded(), [latency(2 * MS)]);
}

#[test]
fn all_tries_and_rollbacks_count() {
    let workload = script("begin;\nselect 1;\nend;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    let ms = |n| done().after_ns(n * MS);
    bench.answer_in_turn([
        ms(1),
        serialization_failure().after_ns(20 * MS),
        ms(300),
        ms(4000),
        ms(50_000),
        ms(600_000),
    ]);
    bench.run_transactions(1);
    assert_eq!(
        bench.succeeded(),
        [Transaction {
            retries: 1,
            ..latency(654_321 * MS)
        }]
    );
}

#[test]
fn time_in_the_shell_is_part_of_the_latency_and_counted_beside_it() {
    let workload = script("\\shell a\nselect 1;\n\\setshell x b");
    let mut bench = Bench::new(&workload);
    *bench.world.shell_output.borrow_mut() = Some("42\n");
    bench.world.shell_takes_ns.set(2 * MS);
    bench.answer(|_| done().after_ns(MS));
    assert_eq!(bench.run_transactions(2), Step::Finished);
    for transaction in bench.succeeded() {
        assert_eq!(transaction.latency_ns, 5 * MS);
        assert_eq!(transaction.shell_ns, 4 * MS);
    }
}

#[test]
fn a_script_that_sets_the_variable_tells_whether_it_rolled_back() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    for (body, weight) in [
        ("\\set n :n + 1\n\\set undone :n % 3\nselect 1;", 1),
        ("select :undone;", 0),
    ] {
        builder.add("s", "s", body, weight).unwrap();
        builder.rolls_back_by("undone");
    }
    let workload = builder.finish().unwrap();
    let sets = workload
        .scripts
        .iter()
        .map(|script| script.rolled_back.is_some());
    assert!(sets.eq([true, false]));
    let variables = [("n".to_owned(), "0".to_owned())].into();
    let mut plan = plan(&workload);
    plan.variables = &variables;
    let mut bench = Bench::of(plan, 0, &Streams::derive(1, 1, 1, false));
    bench.answer(|_| done());
    bench.run_transactions(4);
    let rolled_back = bench
        .succeeded()
        .into_iter()
        .map(|transaction| transaction.rolled_back);
    assert!(rolled_back.eq([true, false, false, true]));
}

#[test]
fn the_limit_of_a_script_is_for_the_latency_without_sleep() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder
        .add("s", "s", "\\sleep 10 ms\nselect 1;", 1)
        .unwrap();
    builder.limits_response(2 * MS);
    let workload = builder.finish().unwrap();
    for (takes_ns, is_above) in [(MS, false), (3 * MS, true)] {
        let mut bench = Bench::new(&workload);
        bench.answer(move |_| done().after_ns(takes_ns));
        bench.run_transactions(1);
        let found = bench.succeeded();
        assert_eq!(found[0].above_limit, is_above, "{:?}", found[0]);
    }
}
