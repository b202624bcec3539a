//! A meta command that fails aborts its client, with pgbench's words.

use crate::common::{Bench, plan, script, scripts};
use selfbench_client::Step;
use selfbench_script::Streams;

#[track_caller]
fn check(body: &str, reason: &str) {
    let workload = script(body);
    let mut bench = Bench::new(&workload);
    assert_eq!(bench.abort_reason(), reason, "{body}");
    assert!(bench.record.0.is_empty(), "{body}");
}

#[test]
fn evaluation() {
    check(
        "\\set x 1 / 0",
        "division by zero; client 0 aborted in command 0 (set) of script 0; \
         evaluation of meta-command failed",
    );
    check(
        "select 1;\n\\set x 9223372036854775807 + 1",
        "bigint add out of range; client 0 aborted in command 1 (set) of script 0; \
         evaluation of meta-command failed",
    );
    check(
        "\\set x :nothing",
        "undefined variable \"nothing\"; client 0 aborted in command 0 (set) of script 0; \
         evaluation of meta-command failed",
    );
}

#[test]
fn assignment() {
    check(
        "\\Template 1a #",
        "Template: invalid variable name: \"1a\"; client 0 aborted in command 0 (template) of script 0; \
         assignment of meta-command failed",
    );
    check(
        "\\set 1a 1",
        "set: invalid variable name: \"1a\"; client 0 aborted in command 0 (set) of script 0; \
         assignment of meta-command failed",
    );
}

#[test]
fn conditions() {
    check(
        "\\if random(5, 3)\n\\endif",
        "empty range given to random; client 0 aborted in command 0 (if) of script 0; \
         evaluation of meta-command failed",
    );
    check(
        "\\if 0\nselect 1;\n\\elif 1 / 0\n\\endif",
        "division by zero; client 0 aborted in command 2 (elif) of script 0; \
         evaluation of meta-command failed",
    );
}

#[test]
fn sleep() {
    check(
        "\\sleep :nothing ms",
        "sleep: undefined variable \"nothing\"; client 0 aborted in command 0 (sleep) of script 0; \
         execution of meta-command failed",
    );
    check(
        "\\set x true\n\\sleep :x",
        "sleep: invalid sleep time \"true\" for variable \"x\"; client 0 aborted in command 1 \
         (sleep) of script 0; execution of meta-command failed",
    );
}

#[test]
fn names_are_as_typed_only_where_pgbench_says_so() {
    check(
        "\\SET x 1 / 0",
        "division by zero; client 0 aborted in command 0 (SET) of script 0; \
         evaluation of meta-command failed",
    );
    check(
        "\\SET 1a 1",
        "SET: invalid variable name: \"1a\"; client 0 aborted in command 0 (set) of script 0; \
         assignment of meta-command failed",
    );
    check(
        "\\if 0\n\\ElIf 1 / 0\n\\endif",
        "division by zero; client 0 aborted in command 1 (ElIf) of script 0; \
         evaluation of meta-command failed",
    );
    check(
        "\\SLEEP :nothing",
        "SLEEP: undefined variable \"nothing\"; client 0 aborted in command 0 (sleep) of script 0; \
         execution of meta-command failed",
    );
}

#[test]
fn client_and_script_are_named() {
    let workload = scripts(&[("select 1;", 0), ("select 2;\n\\set x 1 / 0", 1)]);
    let streams = Streams::derive(42, 4, 1, false);
    let mut bench = Bench::of(plan(&workload), 3, &streams);
    assert_eq!(
        bench.abort_reason(),
        "division by zero; client 3 aborted in command 1 (set) of script 1; \
         evaluation of meta-command failed"
    );
}

#[test]
fn an_aborted_client_does_nothing_more() {
    let workload = script("select 1;\n\\set x 1 / 0\nselect 2;");
    let mut bench = Bench::new(&workload);
    bench.abort_reason();
    assert_eq!(bench.advance(), Step::Finished);
    assert_eq!(bench.sent(), ["select 1;"]);
}
