//! Scripts that each client executes, and their random values.

use crate::common::{Bench, Event, builtin_script, plan, script, scripts};
use selfbench_client::Step;
use selfbench_script::{Streams, Workload};

/// Statements that all clients of a run send, by client.
fn sent(workload: &Workload, seed: u64, clients: usize, threads: usize) -> Vec<Vec<String>> {
    let streams = Streams::derive(seed, clients, threads, false);
    (0..clients)
        .map(|number| {
            let mut bench = Bench::of(plan(workload), number, &streams);
            assert_eq!(bench.run_transactions(6), Step::Finished);
            bench.session.sent
        })
        .collect()
}

#[test]
fn each_client_draws_from_its_own_stream() {
    let workload = script(
        "\\set a random(1, 1000000)\n\
         \\set b random(1, 1000000)\n\
         select :a, :b;",
    );
    let sent = sent(&workload, 42, 3, 1);
    assert_eq!(sent[0][0], "select 668251, 855542;");
    assert_eq!(sent[1][0], "select 844242, 649374;");
    assert_eq!(sent[2][0], "select 802035, 146794;");
}

#[test]
fn scripts_are_chosen_by_weight() {
    let body = |script: usize| format!("\\set x random(1, 1000)\nselect '{script}:' :x;");
    let bodies = [body(0), body(1), body(2)];
    let workload = scripts(&[(&bodies[0], 5), (&bodies[1], 3), (&bodies[2], 0)]);
    let expected = [
        ["0: 850", "0: 364", "0: 23", "1: 939", "0: 869", "1: 395"],
        ["1: 457", "0: 558", "1: 64", "1: 78", "0: 256", "0: 720"],
        ["1: 171", "0: 79", "0: 196", "0: 412", "0: 779", "1: 536"],
    ]
    .map(|client| {
        client
            .map(|transaction| format!("select '{};", transaction.replace(": ", ":' ")))
            .to_vec()
    });
    assert_eq!(sent(&workload, 7, 3, 3), expected);
}

#[test]
fn clients_of_a_thread_take_turns_in_its_stream_of_choices() {
    let workload = scripts(&[("select 0;", 1), ("select 1;", 1)]);
    let streams = Streams::derive(7, 2, 1, false);
    let mut expected_choice = streams.threads[0].choice;
    let mut choice = expected_choice;
    let mut clients = [0, 1].map(|number| Bench::of(plan(&workload), number, &streams));
    for _ in 0..20 {
        for client in &mut clients {
            client.thread.choice = choice;
            assert_eq!(client.advance(), Step::Again);
            choice = client.thread.choice;
            let expected = workload.choose(&mut expected_choice);
            assert_eq!(
                client.session.sent.last(),
                Some(&format!("select {expected};"))
            );
            let Some(Event::Succeeded(script, _)) = client.record.0.last() else {
                panic!("no success");
            };
            assert_eq!(*script, expected);
        }
    }
}

#[test]
fn tpcb_like() {
    let workload = builtin_script("tpcb-like");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(
        bench.sent()[..7],
        [
            "BEGIN;",
            "UPDATE pgbench_accounts SET abalance = abalance + -170 WHERE aid = 83532;",
            "SELECT abalance FROM pgbench_accounts WHERE aid = 83532;",
            "UPDATE pgbench_tellers SET tbalance = tbalance + -170 WHERE tid = 1;",
            "UPDATE pgbench_branches SET bbalance = bbalance + -170 WHERE bid = 1;",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES (1, 1, 83532, -170, CURRENT_TIMESTAMP);",
            "END;",
        ]
    );
    assert_eq!(
        bench.sent()[12],
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
         VALUES (5, 1, 86390, -253, CURRENT_TIMESTAMP);"
    );
}

#[test]
fn simple_update_draws_what_tpcb_like_draws() {
    let workload = builtin_script("simple-update");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(2), Step::Finished);
    assert_eq!(bench.sent().len(), 2 * 5);
    assert_eq!(
        bench.sent()[8],
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
         VALUES (5, 1, 86390, -253, CURRENT_TIMESTAMP);"
    );
}

#[test]
fn select_only_draws_accounts_alone() {
    let workload = builtin_script("select-only");
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(5), Step::Finished);
    let accounts = [83532, 83233, 7682, 38645, 86390];
    let expected = accounts
        .map(|aid| format!("SELECT abalance FROM pgbench_accounts WHERE aid = {aid};"))
        .to_vec();
    assert_eq!(bench.session.sent, expected);
}

#[test]
fn automatic_variables() {
    let workload = script("select :scale, :client_id, :default_seed, :random_seed;");
    let streams = Streams::derive(42, 1, 1, false);
    let mut bench = Bench::of(plan(&workload), 0, &streams);
    bench.run_transactions(1);
    assert_eq!(bench.sent(), ["select 1, 0, 4306334408478191133, 42;"]);

    let mut plan = plan(&workload);
    plan.scale = 70;
    plan.random_seed = u64::MAX;
    let streams = Streams::derive(u64::MAX, 3, 1, true);
    let mut bench = Bench::of(plan, 2, &streams);
    bench.run_transactions(1);
    assert_eq!(bench.sent(), ["select 70, 2, 0, -1;"]);
}
