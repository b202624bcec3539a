//! Differences between versions of pgbench.

use selfbench_command_line::{Invocation, Run, parse};

const VERSIONS: [u32; 5] = [15, 16, 17, 18, 19];

fn run(line: &str, major: u32) -> Run {
    match parse(line, major) {
        Ok(Invocation::Run(run)) => run,
        other => panic!("{line} in {major}: {other:?}"),
    }
}

fn message(line: &str, major: u32) -> String {
    match parse(line, major) {
        Err(error) => error.message,
        Ok(invocation) => panic!("{line} in {major}: {invocation:?}"),
    }
}

#[test]
fn d_is_debug_and_then_dbname() {
    for major in VERSIONS {
        let is_dbname = major >= 17;
        for line in ["-d db", "db -d"] {
            if is_dbname && line == "db -d" {
                assert_eq!(message(line, major), "option requires an argument -- 'd'");
                continue;
            }
            let run = run(line, major);
            assert_eq!(run.connection.dbname.as_deref(), Some("db"));
            assert_eq!(run.debug, !is_dbname);
        }
        if is_dbname {
            assert_eq!(
                message("-d a b", major),
                "too many command-line arguments (first is \"b\")"
            );
            assert_eq!(run("-d ''", major).connection.dbname.as_deref(), Some(""));
        }
        assert!(run("--debug", major).debug);
        assert!(run("--deb", major).debug);
        let by_name = run("--dbname=db", major).connection.dbname;
        assert_eq!(by_name.as_deref(), Some("db"));
    }
}

#[test]
fn options_of_other_versions_are_known() {
    for major in VERSIONS {
        assert!(run("--exit-on-abort", major).exit_on_abort);
        assert!(run("--continue-on-error", major).continue_on_error);
        assert!(run("--report-latencies", major).report_per_command);
        assert_eq!(run("--mode=spi", major).mode.name(), "spi");
    }
}

#[test]
fn abbreviations_are_those_of_the_version() {
    for major in VERSIONS {
        // No option of another version makes these ambiguous.
        assert_eq!(run("--m=3", major).max_tries, 3);
        assert!(run("--rep", major).report_per_command);
        if major < 19 {
            assert!(run("--con", major).reconnect);
        } else {
            assert_eq!(
                message("--con", major),
                "option '--con' is ambiguous; possibilities: '--connect' '--continue-on-error'"
            );
        }
        let possible = if major < 17 {
            "'--debug' '--define'"
        } else {
            "'--dbname' '--define' '--debug'"
        };
        assert_eq!(
            message("--d", major),
            format!("option '--d' is ambiguous; possibilities: {possible}")
        );
        assert!(run("--e", major).exit_on_abort);
    }
}

#[test]
fn messages_are_the_same() {
    for line in ["-c 0", "-i -S", "--foo", "-b x", "a b", "-S --help"] {
        for major in VERSIONS {
            assert_eq!(message(line, major), message(line, 15));
        }
    }
}
