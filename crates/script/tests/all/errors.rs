//! Errors in scripts, as they are printed.

use selfbench_script::{Protocol, ScriptError, WorkloadBuilder};

fn error(body: &str) -> ScriptError {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    match builder.add("F", "F", body, 1) {
        Ok(()) => panic!("accepted: {body}"),
        Err(error) => error,
    }
}

#[track_caller]
fn check(body: &str, lines: &[&str]) {
    assert_eq!(error(body).to_string(), lines.join("\n"), "{body}");
}

#[test]
fn syntax_errors_point_at_the_end_of_the_last_token() {
    check(
        "\\set x 1 +\n",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x 1 +",
            "          ^ error found here",
        ],
    );
    check(
        "\\set x debug(1",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x debug(1",
            "             ^ error found here",
        ],
    );
    check(
        "\\set x 1 + )\n",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x 1 + )",
            "           ^ error found here",
        ],
    );
    check(
        "\\set x\n",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x",
            "      ^ error found here",
        ],
    );
    check(
        "\\if\n",
        &[
            "F:1: syntax error in command \"if\"",
            "\\if",
            "   ^ error found here",
        ],
    );
    check(
        "select 1;\n\\set x hash(1,2,3)\n",
        &[
            "F:2: unexpected number of arguments (hash) in command \"set\"",
            "\\set x hash(1,2,3)",
            "                 ^ error found here",
        ],
    );
    check(
        "\\set x 100000000000000000000 + 1\n",
        &[
            "F:1: bigint constant overflow (100000000000000000000) in command \"set\"",
            "\\set x 100000000000000000000 + 1",
            "                           ^ error found here",
        ],
    );
    check(
        "\\set x 1 é 2\n",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x 1 é 2",
            "         ^ error found here",
        ],
    );
}

#[test]
fn continued_lines_count_as_one() {
    check(
        "\\set x 1 \\\n foo \\\n bar \n",
        &[
            "F:1: syntax error in command \"set\"",
            "\\set x 1 \\",
            " foo \\",
            " bar ",
            "              ^ error found here",
        ],
    );
}

#[test]
fn unreadable_tokens_have_precedence() {
    check(
        "\\set x foo(1) @ 2 ! 3\n",
        &[
            "F:1: unexpected character (!) in command \"set\"",
            "\\set x foo(1) @ 2 ! 3",
            "                  ^ error found here",
        ],
    );
}

#[test]
fn meta_commands_and_their_arguments() {
    check("\\set\n", &["F:1: missing argument in command \"set\""]);
    for (body, message) in [
        ("\\foo 3", "invalid command in command \"foo\""),
        ("\\se\\\nt x 1", "invalid command in command \"se\""),
        ("\\sleep", "missing argument in command \"sleep\""),
        ("\\shell", "missing command in command \"shell\""),
        ("\\setshell v", "missing argument in command \"setshell\""),
        ("\\ELSE 3", "unexpected argument in command \"ELSE\""),
        ("\\endif 3", "unexpected argument in command \"endif\""),
        (
            "\\startpipeline 3",
            "unexpected argument in command \"startpipeline\"",
        ),
        ("\\gset a b", "too many arguments in command \"gset\""),
    ] {
        check(body, &[&format!("F:1: {message}"), body]);
    }
    let words = |count: usize| format!("\\shell true{}", " x".repeat(count));
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    assert!(builder.add("F", "F", &words(254), 1).is_ok());
    check(
        &words(255),
        &["F:1: too many arguments in command \"shell\""],
    );
}

#[test]
fn sleep_arguments() {
    check(
        "\\sleep 1 week\n",
        &[
            "F:1: unrecognized time unit, must be us, ms or s (week) in command \"sleep\"",
            "\\sleep 1 week",
            "         ^ error found here",
        ],
    );
    check(
        "\\sleep 1.5 ms\n",
        &[
            "F:1: invalid sleep time, must be an integer (1.5) in command \"sleep\"",
            "\\sleep 1.5 ms",
            "       ^ error found here",
        ],
    );
    check(
        "\\sleep 1 ms 3\n",
        &[
            "F:1: too many arguments in command \"sleep\"",
            "\\sleep 1 ms 3",
            "            ^ error found here",
        ],
    );
    check(
        "\\sleep 5m\n",
        &[
            "F:1: unrecognized time unit, must be us, ms or s (m) in command \"sleep\"",
            "\\sleep 5m",
            "        ^ error found here",
        ],
    );
    for text in ["ms", "-ms", "5ms us"] {
        let word = text.split(' ').next().unwrap();
        let message = format!("invalid sleep time, must be an integer ({word})");
        assert!(
            error(&format!("\\sleep {text}"))
                .to_string()
                .contains(&message)
        );
    }
}

#[test]
fn results_need_a_statement() {
    check(
        "\\set a 1\n\\gset",
        &["F:2: \\gset must follow an SQL command (\\set a 1)"],
    );
    check("\\aset", &["F:1: \\gset must follow an SQL command"]);
    check(
        "select 1 \\gset\n\\aset",
        &["F:2: \\gset must follow an SQL command"],
    );
}

#[test]
fn conditions_have_to_match() {
    for (body, number, problem) in [
        (
            "\\if 1\n\\else\n\\elif 0\n\\endif",
            3,
            "\\elif after \\else",
        ),
        ("\\if 1\n\\else\n\\else\n\\endif", 3, "\\else after \\else"),
        ("\\endif", 1, "\\endif without matching \\if"),
        ("select 1; \\else", 2, "\\else without matching \\if"),
        ("\\elif 1", 1, "\\elif without matching \\if"),
        ("\\if 1", 2, "\\if without matching \\endif"),
        (
            "\\if 1\n\\if 1\n\\endif",
            4,
            "\\if without matching \\endif",
        ),
    ] {
        let message = format!("condition error in script \"F\" command {number}: {problem}");
        check(body, &[&message]);
    }
}

#[test]
fn scripts_without_commands() {
    for body in ["", "-- hello\n\n", " \n", "\\\n"] {
        check(body, &["empty command list for script \"F\""]);
    }
}

#[test]
fn parts_of_an_error() {
    let error = error("\n\\SET y foo(1)\n");
    assert_eq!(&*error.script, "F");
    assert_eq!(error.line, Some(2));
    assert_eq!(error.column, Some(10));
    assert_eq!(&*error.message, "unexpected function name");
    assert_eq!(error.near.as_deref(), Some("foo"));
    assert_eq!(error.command.as_deref(), Some("SET"));
    assert_eq!(error.source_line.as_deref(), Some("\\SET y foo(1)"));
}
