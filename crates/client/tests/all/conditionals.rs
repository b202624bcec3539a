//! `\if`, `\elif`, `\else` and `\endif`: which branch is executed, and which condition evaluated.

use crate::common::{Bench, script};
use selfbench_client::Step;

/// Statements that a script sends in its only transaction.
fn sent(body: &str) -> Vec<String> {
    let workload = script(body);
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.run_transactions(1), Step::Finished, "{body}");
    assert_eq!(bench.succeeded().len(), 1, "{body}");
    bench.session.sent
}

#[test]
fn the_first_condition_that_holds_selects_the_branch() {
    let cases = [
        ("1", "1", "if"),
        ("1", "0", "if"),
        ("0", "1", "elif"),
        ("0", "0", "else"),
        ("null", "false", "else"),
        ("0.0", "0.5", "elif"),
        ("true", "null", "if"),
    ];
    for (first, second, branch) in cases {
        let body = format!(
            "select 'before';\n\
             \\if {first}\n select 'if';\n select 'if';\n\
             \\elif {second}\n select 'elif';\n select 'elif';\n\
             \\else\n select 'else';\n select 'else';\n\
             \\endif\n\
             select 'after';"
        );
        let branch = format!("select '{branch}';");
        assert_eq!(
            sent(&body),
            ["select 'before';", &branch, &branch, "select 'after';"],
            "{first} {second}"
        );
    }
}

#[test]
fn without_else_nothing_may_be_executed() {
    assert_eq!(sent("\\if 0\nselect 1;\n\\endif\nselect 2;"), ["select 2;"]);
    assert_eq!(
        sent("\\if 0\nselect 1;\n\\elif 0\nselect 2;\n\\endif\nselect 3;"),
        ["select 3;"]
    );
    assert!(sent("\\if 0\nselect 1;\n\\endif").is_empty());
}

#[test]
fn branches_may_be_empty() {
    assert!(sent("\\if 1\n\\endif").is_empty());
    assert!(sent("\\if 1\n\\elif 1\n\\else\n\\endif").is_empty());
    assert!(sent("\\if 0\n\\elif 1\n\\else\n\\endif").is_empty());
    assert!(sent("\\if 0\n\\elif 0\n\\else\n\\endif").is_empty());
}

#[test]
fn only_one_of_many_elifs_is_taken() {
    for taken in 0..5 {
        let mut body = format!("\\set v {taken}\n\\if :v = 0\nselect 0;\n");
        for n in 1..4 {
            body += &format!("\\elif :v = {n}\nselect {n};\n");
        }
        body += "\\else\nselect 4;\n\\endif";
        assert_eq!(sent(&body), [format!("select {taken};")]);
    }
}

#[test]
fn an_elif_is_not_evaluated_after_a_taken_branch() {
    assert_eq!(
        sent("\\if 1\nselect 1;\n\\elif 1 / 0\nselect 2;\n\\elif :unknown\n\\endif"),
        ["select 1;"]
    );
    assert_eq!(
        sent("\\if 0\nselect 1;\n\\elif 1\nselect 2;\n\\elif 1 / 0\nselect 3;\n\\endif"),
        ["select 2;"]
    );
    // An evaluation would draw.
    assert_eq!(
        sent("\\if 1\n\\elif random(1, 1000) > 0\n\\endif\n\\set r random(1, 1000)\nselect :r;"),
        ["select 653;"]
    );
}

#[test]
fn conditions_before_the_taken_branch_are_evaluated_once_each() {
    assert_eq!(
        sent(
            "\\if random(1, 1000) < 0\n\\elif random(1, 1000) < 0\n\\endif\n\
             \\set r random(1, 1000)\nselect :r;"
        ),
        sent(
            "\\set r random(1, 1000)\n\\set r random(1, 1000)\n\
             \\set r random(1, 1000)\nselect :r;"
        )
    );
}

#[test]
fn nothing_is_evaluated_in_a_skipped_branch() {
    assert_eq!(
        sent(
            "\\set a 1\n\
             \\if 0\n\
               \\set a 1 / 0\n\
               \\sleep :unknown\n\
               \\if 1 / 0\n select 1;\n \\elif 1 / 0\n select 2;\n \\else\n select 3;\n \\endif\n\
               select 4;\n\
             \\else\n\
               select :a;\n\
             \\endif"
        ),
        ["select 1;"]
    );
}

#[test]
fn conditionals_nest() {
    for outer in [0, 1] {
        for inner in [0, 1] {
            let body = format!(
                "\\if {outer}\n\
                   \\if {inner}\n select 11;\n \\else\n select 10;\n \\endif\n\
                   select 1;\n\
                 \\else\n\
                   \\if {inner}\n select 01;\n \\elif 1\n select 00;\n \\endif\n\
                   select 0;\n\
                 \\endif\n\
                 select 2;"
            );
            assert_eq!(
                sent(&body),
                [
                    format!("select {outer}{inner};"),
                    format!("select {outer};"),
                    "select 2;".to_owned()
                ]
            );
        }
    }
}

#[test]
fn a_retry_begins_outside_of_any_branch() {
    let workload = script(
        "\\set client_id :client_id + 1\n\
         \\if :client_id = 1\n select 'if';\n\
         \\else\n select 'else';\n\
         \\endif",
    );
    let mut bench = Bench::new(&workload);
    bench.plan.max_tries = 2;
    bench.answer_in_turn([crate::common::deadlock()]);
    assert_eq!(bench.run_transactions(1), Step::Finished);
    assert_eq!(bench.sent(), ["select 'if';", "select 'else';"]);
}
