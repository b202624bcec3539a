//! Whatever a session answers and however a client is driven, it never panics, it ends soon after
//! a stop request, and its figures agree with what the session has seen. The session itself
//! checks that there is one statement at a time, and none after a stop request.

use crate::common::{
    Bench, Event, Reply, at, deadlock, done, failed, lost, scripts, serialization_failure,
};
use proptest::prelude::*;
use selfbench_client::{Control, Outcome, Step};
use selfbench_script::Workload;

/// Every script ends in a statement that contains `last`, and contains it once.
fn workload() -> Workload {
    scripts(&[
        ("select 'last';", 1),
        ("begin;\nselect 1;\nend;\nselect 'last';", 2),
        (
            "\\sleep 3 us\nbegin;\nend;\n\\sleep 2 us\nselect 'last';",
            1,
        ),
        (
            "\\set r random(1, 2)\n\
             \\if :r = 1\nselect :r;\n\\elif random(1, 2) = 1\nbegin;\nselect 2;\ncommit;\n\
             \\else\n\\sleep :r us\n\\endif\nselect 'last';",
            2,
        ),
    ])
}

fn reply(with_aborts: bool) -> impl Strategy<Value = Reply> {
    let aborts = u32::from(with_aborts);
    let outcome = prop_oneof![
        60 => Just(done()),
        8 => Just(serialization_failure()),
        8 => Just(deadlock()),
        aborts => Just(failed("57014", "ERROR:  canceling statement")),
        aborts => Just(failed("22012", "ERROR:  division by zero")),
        aborts => Just(lost("")),
        aborts => Just(lost("40001")),
    ];
    (outcome, 0..4usize, 0..5_000u64)
        .prop_map(|(reply, waits, ns)| reply.after_waits(waits).after_ns(ns))
}

/// Answers with these replies over and over. Now and then there are as many successes in a row as
/// it takes to roll back and execute the longest script, so that retries come to an end.
fn answers(replies: Vec<Reply>, rollbacks_succeed: bool) -> impl FnMut(&str) -> Reply {
    let mut turn = 0;
    move |sql| {
        turn += 1;
        let reply = &replies[turn % replies.len()];
        if turn % 50 < 5 || (rollbacks_succeed && sql == "ROLLBACK") {
            done().after_waits(reply.waits).after_ns(reply.ns)
        } else {
            reply.clone()
        }
    }
}

/// An action of a client's driver.
#[derive(Clone, Debug)]
enum Act {
    Advance,
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Advance),
        1 => (0..10_000u64).prop_map(Act::Pass),
    ]
}

fn is_end(step: &Step) -> bool {
    matches!(step, Step::Finished | Step::Aborted { .. })
}

/// Executions of scripts to their end, as the session has seen them.
fn ended_scripts(bench: &Bench) -> usize {
    let statements = bench.session.sent.iter().zip(&bench.session.outcomes);
    statements
        .filter(|(sql, outcome)| sql.contains("last") && **outcome == Outcome::Done)
        .count()
}

fn counted(bench: &Bench) -> usize {
    let counts = |event: &&Event| !matches!(event, Event::WarmedUp);
    bench.record.0.iter().filter(counts).count()
}

proptest! {
    #[test]
    fn any_interleaving(
        replies in prop::collection::vec(reply(true), 1..40),
        acts in prop::collection::vec(act(), 0..200),
        max_tries in 0..4u32,
        transactions in prop::option::of(1..20u64),
        measure_ns in prop_oneof![Just(0), 0..50_000u64],
        deadline_ns in prop_oneof![Just(u64::MAX), 0..200_000u64],
    ) {
        let workload = workload();
        let mut bench = Bench::new(&workload);
        bench.plan.max_tries = max_tries;
        bench.plan.transactions = transactions;
        bench.plan.measure_ns = at(measure_ns);
        bench.plan.deadline_ns = at(deadline_ns);
        bench.answer(answers(replies, false));

        let mut last = None;
        for act in acts {
            match act {
                Act::Pass(ns) => bench.world.pass(ns),
                Act::Advance => {
                    let before = bench.record.0.len();
                    let step = bench.advance();
                    let recorded = bench.record.0.len() - before;
                    match &step {
                        Step::Again => prop_assert_eq!(recorded, 1),
                        Step::Waiting | Step::Aborted { .. } => prop_assert_eq!(recorded, 0),
                        Step::Sleeping { until_ns } => {
                            prop_assert_eq!(recorded, 0);
                            prop_assert!(*until_ns > bench.world.now_ns());
                        }
                        Step::Finished => prop_assert!(recorded <= 1),
                    }
                    if is_end(&step) {
                        last = Some(step);
                        break;
                    }
                }
            }
        }
        if last == Some(Step::Finished) && bench.world.now_ns() < deadline_ns {
            prop_assert_eq!(Some(counted(&bench) as u64), transactions);
        }

        bench.world.request_stop();
        let sent = bench.sent().len();
        if last.is_none() {
            // A statement in progress says so three times at most.
            prop_assert!((0..6).any(|_| is_end(&bench.advance())), "does not end");
        }
        let events = bench.record.0.len();
        prop_assert_eq!(bench.advance(), Step::Finished);
        prop_assert_eq!(bench.sent().len(), sent);
        prop_assert_eq!(bench.record.0.len(), events);

        let failures = |event: &&Event| matches!(event, Event::Failed(..));
        let failures = bench.record.0.iter().filter(failures).count();
        prop_assert_eq!(counted(&bench), bench.succeeded().len() + failures);
        if measure_ns == 0 {
            prop_assert_eq!(bench.succeeded().len(), ended_scripts(&bench));
        } else {
            prop_assert!(bench.succeeded().len() <= ended_scripts(&bench));
            prop_assert!(events >= ended_scripts(&bench));
        }
        if let Some(transactions) = transactions {
            prop_assert!(counted(&bench) as u64 <= transactions);
        }
        for event in &bench.record.0 {
            match event {
                Event::Failed(_, _, retries) => prop_assert_eq!(retries + 1, max_tries),
                Event::Succeeded(_, transaction) => {
                    prop_assert!(max_tries == 0 || transaction.retries < max_tries);
                }
                Event::WarmedUp => {}
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn every_error_is_a_retry_or_a_failure(
        replies in prop::collection::vec(reply(false), 1..40),
        max_tries in 0..4u32,
        transactions in 1..30u64,
    ) {
        let workload = workload();
        let mut bench = Bench::new(&workload);
        bench.plan.max_tries = max_tries;
        // A rollback that fails would abort.
        bench.answer(answers(replies, true));
        prop_assert_eq!(bench.run_transactions(transactions), Step::Finished);
        prop_assert_eq!(counted(&bench) as u64, transactions);
        prop_assert_eq!(bench.record.0.len() as u64, transactions);
        let errors = bench.session.outcomes.iter().filter(|o| **o != Outcome::Done).count();
        let explained: u32 = bench
            .record
            .0
            .iter()
            .map(|event| match event {
                Event::Succeeded(_, transaction) => transaction.retries,
                Event::Failed(_, _, retries) => retries + 1,
                _ => 0,
            })
            .sum();
        prop_assert_eq!(errors as u32, explained);
    }
}
