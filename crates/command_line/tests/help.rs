//! The texts that command lines can ask for.

use selfbench_command_line::{help, list_scripts, parse, show_script, version};
use selfbench_script::builtin;

/// The lines of the help text that start with an option, each up to its description.
fn options(major: u32) -> Vec<String> {
    help(major)
        .lines()
        .filter(|line| line.starts_with("  -"))
        .map(|line| line.get(..27).unwrap_or(line).trim().to_owned())
        .collect()
}

#[test]
fn help_lists_every_option() {
    for major in [15, 16, 17, 18, 19] {
        let listed = options(major);
        for name in include_str!("names.txt")
            .split_whitespace()
            .filter(|name| *name != "nonsense")
            .chain([
                "dbname",
                "exit-on-abort",
                "continue-on-error",
                "mode",
                "report-latencies",
            ])
        {
            let expected = if matches!(name, "scale" | "no-vacuum") {
                2
            } else {
                1
            };
            let count = listed
                .iter()
                .filter(|line| {
                    line.split(['=', ' '])
                        .any(|part| part.strip_prefix("--") == Some(name))
                })
                .count();
            assert_eq!(count, expected, "{name} in {major}");
        }
        assert_eq!(listed.iter().any(|line| line == "-d, --debug"), major < 17);
        assert_eq!(
            listed.iter().any(|line| line == "-d, --dbname=DBNAME"),
            major >= 17
        );
    }
}

#[test]
fn help_has_the_familiar_layout() {
    let text = help(15);
    for line in [
        "Usage:",
        "Initialization options:",
        "Options to select what to run:",
        "Benchmarking options:",
        "Common options:",
        "  -c, --client=NUM         clients that run scripts at the same time (default: 1)",
        "  --progress-timestamp     progress shows seconds since 1970",
        "  -M, --protocol=simple|extended|prepared",
        "                           how statements are sent (default: simple)",
        "  -?, --help               print this text, then exit",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.ends_with('\n'));
    assert!(
        text.lines()
            .all(|line| line.len() < 90 && line == line.trim_end())
    );
}

/// Options take the values that the help text states.
#[test]
fn options_take_values_as_the_help_says() {
    for major in [15, 19] {
        for line in options(major) {
            let (names, takes_value) = match line.split_once('=') {
                Some((names, _)) => (names, true),
                None => (line.as_str(), false),
            };
            for name in names
                .split(", ")
                .filter(|name| !matches!(*name, "-?" | "-V"))
            {
                if matches!(name, "--help" | "--version") {
                    continue;
                }
                let complains = parse(name, major)
                    .is_err_and(|error| error.message.contains("requires an argument"));
                assert_eq!(complains, takes_value, "{name} in {major}");
            }
        }
    }
}

#[test]
fn version_names_both_programs() {
    assert_eq!(
        version("15.20"),
        format!(
            "pgbench (PostgreSQL) 15.20 (pg_selfbench {})\n",
            env!("CARGO_PKG_VERSION")
        )
    );
}

#[test]
fn scripts_are_listed_and_shown() {
    assert_eq!(
        list_scripts(),
        "Available builtin scripts:\n      tpcb-like: <builtin: TPC-B (sort of)>\n  \
         simple-update: <builtin: simple update>\n    select-only: <builtin: select only>\n\n"
    );
    let script = builtin::find_builtin("select").unwrap();
    assert_eq!(
        show_script(script),
        "-- select-only: <builtin: select only>\n\
         \\set aid random(1, 100000 * :scale)\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\n"
    );
}
