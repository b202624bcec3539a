//! `\gset` and `\aset`: results become variables.

use crate::common::{Bench, Event, done, failed, rows, script, serialization_failure};
use selfbench_client::{Column, ColumnValue, QueryResult, Step};

#[test]
fn gset_stores_the_row() {
    let workload = script("select 7 as a, 'x y' as b \\gset p_\nselect :p_a, ':p_b', :p_c;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([rows(
        1,
        &[("a", Some("7")), ("b", Some("x y")), ("unused", Some("z"))],
    )])]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[1], "select 7, 'x y', :p_c;");
}

#[test]
fn stored_texts_are_quoted() {
    let workload = script("select 1 \\gset\nselect :'a', :'b', :'null', :'c';");
    let mut bench = Bench::new(&workload);
    let row = rows(
        1,
        &[("a", Some("it's")), ("b", Some("C:\\é")), ("null", None)],
    );
    bench.answer_in_turn([done().returning([row])]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[1], r"select 'it''s', E'C:\\é', '', :'c';");
}

#[test]
fn gset_looks_at_the_last_result_only() {
    let workload = script("select 1 as a \\; select 2 as a \\gset\nselect :a;");
    let mut bench = Bench::new(&workload);
    let results = [rows(3, &[("a", Some("1"))]), rows(1, &[("a", Some("2"))])];
    bench.answer_in_turn([done().returning(results)]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[1], "select 2;");
}

#[test]
fn gset_wants_exactly_one_row() {
    let workload = script("select 1 where false \\gset");
    for (results, query, got) in [
        (vec![rows(0, &[])], 0, 0),
        (vec![rows(2, &[("a", Some("1"))])], 0, 2),
        (vec![rows(1, &[("a", Some("1"))]), rows(0, &[])], 1, 0),
        (vec![], 0, 0),
    ] {
        let mut bench = Bench::new(&workload);
        bench.plan.max_tries = 0;
        bench.plan.continue_on_error = true;
        bench.answer_in_turn([done().returning(results)]);
        assert_eq!(
            bench.abort_reason(),
            format!("client 0 script 0 command 0 query {query}: expected one row, got {got}")
        );
    }
}

#[test]
fn aset_stores_the_last_row_of_each_result() {
    let workload = script(
        "select 1 as a \\; select 2 as b where false \\; select generate_series(1,3) as c \
         \\aset q_\n\
         select :q_a, :q_b, :q_c;",
    );
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([
        rows(1, &[("a", Some("1"))]),
        rows(0, &[]),
        rows(3, &[("c", Some("3"))]),
    ])]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[1], "select 1, :q_b, 3;");
}

#[test]
fn null_is_no_value_and_aborts_without_a_cause() {
    let workload = script("select null as n \\gset\n\\set x :n + 1");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([rows(1, &[("n", None)])])]);
    assert_eq!(
        bench.abort_reason(),
        "client 0 aborted in command 1 (set) of script 0; evaluation of meta-command failed"
    );
}

#[test]
fn null_is_stored_as_an_empty_text() {
    let workload = script("select null as n \\gset\nselect ':n';");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([rows(1, &[("n", None)])])]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent()[1], "select '';");

    let workload = script("select null as n \\gset\n\\set x :n + 1");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([rows(1, &[("n", None)])])]);
    assert!(
        bench
            .abort_reason()
            .ends_with("evaluation of meta-command failed")
    );
}

#[test]
fn an_invalid_name_aborts() {
    for (command, body) in [("gset", "select 1 \\gset"), ("aset", "select 1 \\aset")] {
        let workload = script(body);
        let mut bench = Bench::new(&workload);
        bench.answer_in_turn([done().returning([rows(1, &[("?column?", Some("1"))])])]);
        assert_eq!(
            bench.abort_reason(),
            format!(
                "{command}: invalid variable name: \"?column?\"; client 0 script 0 command 0 \
                 query 0: error storing into variable ?column?"
            )
        );
    }
}

#[test]
fn a_value_that_is_too_long_aborts_if_a_script_reads_it() {
    let long = QueryResult {
        rows: 1,
        last_row: vec![Column {
            name: "a".to_owned(),
            value: ColumnValue::TooLong(1 << 30),
        }],
    };
    let workload = script("select 1 as a \\gset\nselect :a;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([long.clone()])]);
    assert_eq!(
        bench.abort_reason(),
        "gset: value of 1073741824 bytes is too long for a variable (maximum is 16777216); \
         client 0 script 0 command 0 query 0: error storing into variable a"
    );

    let workload = script("select 1 as a \\gset\nselect 1;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([done().returning([long])]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
}

#[test]
fn what_came_before_an_error_is_stored_by_aset_alone() {
    let replies = || {
        [
            serialization_failure()
                .in_query(1)
                .returning([rows(1, &[("a", Some("1"))])]),
            done(),
        ]
    };
    let workload = script("select 1 as a \\; select 2 as b \\aset\nselect :a, :b;");
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn(replies());
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent().last(), Some(&"select 1, :b;"));

    let workload = script("select 1 as a \\; select 2 as b \\gset\nselect :a, :b;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn(replies());
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert!(matches!(bench.record.0[0], Event::Failed(..)));
}

#[test]
fn errors_name_the_statement() {
    let workload = script("select 1 \\; select 1 / 0;");
    let mut bench = Bench::new(&workload);
    bench.answer_in_turn([failed("22012", "ERROR:  division by zero").in_query(1)]);
    assert_eq!(
        bench.abort_reason(),
        "client 0 script 0 aborted in command 0 query 1: ERROR:  division by zero"
    );
}
