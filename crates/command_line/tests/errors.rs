//! Errors of command lines, in pgbench's words, and which comes first.

use selfbench_command_line::{Error, ErrorKind, parse};

const USAGE: &str = "Try SELECT * FROM bench.pgbench('--help').";
const SCRIPTS: &str = "Available builtin scripts:\n      tpcb-like: <builtin: TPC-B (sort of)>\n  \
                       simple-update: <builtin: simple update>\n    \
                       select-only: <builtin: select only>";

fn error(line: &str) -> Error {
    match parse(line, 15) {
        Err(error) => error,
        Ok(invocation) => panic!("{line}: {invocation:?}"),
    }
}

fn check(kind: ErrorKind, detail: Option<&str>, hint: Option<&str>, cases: &[(&str, &str)]) {
    for (line, message) in cases {
        let expected = Error {
            kind,
            message: (*message).to_owned(),
            detail: detail.map(str::to_owned),
            hint: hint.map(str::to_owned),
        };
        assert_eq!(error(line), expected, "{line}");
    }
}

#[test]
fn words_and_options() {
    check(
        ErrorKind::Syntax,
        None,
        Some(USAGE),
        &[
            ("--foo", "unrecognized option '--foo'"),
            ("--foo=bar", "unrecognized option '--foo=bar'"),
            ("---S", "unrecognized option '---S'"),
            ("-x", "invalid option -- 'x'"),
            ("-Sx5", "invalid option -- 'x'"),
            ("-é", "invalid option -- 'é'"),
            ("-S=1", "invalid option -- '='"),
            ("-S-n", "invalid option -- '-'"),
            ("-c", "option requires an argument -- 'c'"),
            ("-Sc", "option requires an argument -- 'c'"),
            ("--client", "option '--client' requires an argument"),
            ("--cli", "option '--client' requires an argument"),
            ("--mode", "option '--mode' requires an argument"),
            ("--log=x", "option '--log' doesn't allow an argument"),
            ("--conn=", "option '--connect' doesn't allow an argument"),
            (
                "--pro",
                "option '--pro' is ambiguous; possibilities: '--progress' '--protocol' \
                 '--progress-timestamp'",
            ),
            (
                "--part=3",
                "option '--part=3' is ambiguous; possibilities: '--partitions' \
                 '--partition-method'",
            ),
            ("-S --help", "unrecognized option '--help'"),
            ("-S -?", "invalid option -- '?'"),
            ("-S -V", "invalid option -- 'V'"),
            ("-S --version", "unrecognized option '--version'"),
            ("--help=1", "unrecognized option '--help=1'"),
            ("a b", "too many command-line arguments (first is \"b\")"),
            (
                "a -S b c",
                "too many command-line arguments (first is \"b\")",
            ),
            (
                "a -- -S",
                "too many command-line arguments (first is \"-S\")",
            ),
            (
                "--dbname=a b",
                "too many command-line arguments (first is \"b\")",
            ),
        ],
    );
    let unterminated = error("-D 'a=1");
    assert_eq!(unterminated.kind, ErrorKind::Syntax);
    assert_eq!(
        unterminated.message,
        "unterminated quoted string in command line"
    );
}

#[test]
fn integers() {
    for (label, low, high, spellings) in [
        ("-c/--client", 1, i32::MAX, ["-c", "--client"]),
        ("-j/--jobs", 1, i32::MAX, ["-j", "--jobs"]),
        ("-s/--scale", 1, i32::MAX, ["-s", "--scale"]),
        ("-t/--transactions", 1, i32::MAX, ["-t", "--transactions"]),
        ("-T/--time", 1, i32::MAX, ["-T", "--time"]),
        ("-F/--fillfactor", 10, 100, ["-F", "--fillfactor"]),
        ("-P/--progress", 1, i32::MAX, ["-P", "--progress"]),
        (
            "--aggregate-interval",
            1,
            i32::MAX,
            ["--agg", "--aggregate-interval"],
        ),
        (
            "--partitions",
            0,
            i32::MAX,
            ["--partitions", "--partitions"],
        ),
    ] {
        let below = (low - 1).to_string();
        let above = (i64::from(high) + 1).to_string();
        for option in spellings {
            let mut out_of_range = vec![below.as_str(), &above, "99999999999999999999"];
            if low > 0 {
                // Nothing counts as zero.
                out_of_range.extend(["''", "' '"]);
            }
            for value in out_of_range {
                let error = error(&format!("{option} {value}"));
                assert_eq!(error.kind, ErrorKind::InvalidValue);
                assert_eq!(
                    error.message,
                    format!("{label} must be in range {low}..{high}")
                );
            }
            for value in ["x", "1x", "0x5", "1.5", "- 1", "1 1"] {
                let error = error(&format!("{option} '{value}'"));
                assert_eq!(error.kind, ErrorKind::InvalidValue);
                assert_eq!(
                    error.message,
                    format!("invalid value \"{value}\" for option {label}")
                );
            }
            for value in [low, high] {
                // Some of them need other options.
                if let Err(error) = parse(&format!("{option} {value}"), 15) {
                    assert_eq!(error.kind, ErrorKind::Conflict, "{option} {value}");
                }
            }
        }
    }
}

#[test]
fn other_values() {
    check(
        ErrorKind::InvalidValue,
        None,
        None,
        &[
            ("-R 0", "invalid rate limit: \"0\""),
            ("--rate=-1", "invalid rate limit: \"-1\""),
            ("-R x", "invalid rate limit: \"x\""),
            ("-R ''", "invalid rate limit: \"\""),
            ("-R nan", "invalid rate limit: \"nan\""),
            ("-L 0", "invalid latency limit: \"0\""),
            ("--latency-limit=x5", "invalid latency limit: \"x5\""),
            ("-L nan", "invalid latency limit: \"nan\""),
            ("--sampling-rate=0", "invalid sampling rate: \"0\""),
            ("--sampling-rate=1.1", "invalid sampling rate: \"1.1\""),
            ("--sampling-rate=nan", "invalid sampling rate: \"nan\""),
            ("--max-tries=-1", "invalid number of maximum tries: \"-1\""),
            (
                "--max-tries=4294967295",
                "invalid number of maximum tries: \"4294967295\"",
            ),
            ("-M Simple", "invalid query mode (-M): \"Simple\""),
            ("--protocol=", "invalid query mode (-M): \"\""),
            ("-D a", "invalid variable definition: \"a\""),
            ("-D =1", "invalid variable definition: \"=1\""),
            ("--define=a=", "invalid variable definition: \"a=\""),
            ("-D 1a=1", "option: invalid variable name: \"1a\""),
            ("-D 'a b=1'", "option: invalid variable name: \"a b\""),
            ("-I ''", "no initialization steps specified"),
            (
                "--partition-method=list",
                "invalid partition method, expecting \"range\" or \"hash\", got: \"list\"",
            ),
            ("-b tpcb@x", "invalid weight specification: @x"),
            ("-f a@b.sql", "invalid weight specification: @b.sql"),
            ("-b tpcb@", "invalid weight specification: @"),
            (
                "-f a@-1",
                "weight specification out of range (0 .. 2147483647): -1",
            ),
            ("-f a@0", "total script weight must not be zero"),
            ("-f a@0 -b se@0", "total script weight must not be zero"),
        ],
    );
    check(
        ErrorKind::InvalidValue,
        Some("Allowed step characters are: \"dtgGvpf\"."),
        None,
        &[
            ("-I x", "unrecognized initialization step \"x\""),
            ("-i -I 'd tV'", "unrecognized initialization step \"V\""),
            ("-I é", "unrecognized initialization step \"é\""),
        ],
    );
    check(
        ErrorKind::InvalidValue,
        Some(
            "Expecting an unsigned integer, \"time\" or \"rand\".\n\
             error while setting random seed from --random-seed option",
        ),
        None,
        &[
            ("--random-seed=x", "unrecognized random seed option \"x\""),
            ("--random-seed=", "unrecognized random seed option \"\""),
            (
                "--random-seed='1 '",
                "unrecognized random seed option \"1 \"",
            ),
        ],
    );
    check(
        ErrorKind::InvalidValue,
        Some("Execution modes are \"spi\" and \"libpq\"."),
        None,
        &[("--mode=SPI", "invalid execution mode (--mode): \"SPI\"")],
    );
}

#[test]
fn builtin_scripts() {
    check(
        ErrorKind::UnknownScript,
        None,
        Some(SCRIPTS),
        &[
            ("-b x", "no builtin script found for name \"x\""),
            ("-b list@1", "no builtin script found for name \"list\""),
            (
                "--show-script=tpcb@1",
                "no builtin script found for name \"tpcb@1\"",
            ),
        ],
    );
    check(
        ErrorKind::InvalidValue,
        None,
        Some(SCRIPTS),
        &[
            (
                "-b s",
                "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"",
            ),
            (
                "--show-script=",
                "ambiguous builtin name: 3 builtin scripts found for prefix \"\"",
            ),
        ],
    );
    let too_many = error(&format!("{} -c 0", "-f x ".repeat(129)));
    assert_eq!(too_many.kind, ErrorKind::LimitExceeded);
    assert_eq!(too_many.message, "at most 128 SQL scripts are allowed");
    assert!(parse(&"-f x ".repeat(128), 15).is_ok());
}

#[test]
fn conflicts() {
    check(
        ErrorKind::Conflict,
        None,
        None,
        &[
            (
                "-t 1 -T 1",
                "specify either a number of transactions (-t) or a duration (-T), not both",
            ),
            (
                "--sampling-rate=0.5",
                "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
            ),
            (
                "-l --sampling-rate=0.5 --aggregate-interval=1",
                "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be \
                 used at the same time",
            ),
            (
                "--aggregate-interval=1",
                "log aggregation is allowed only when actually logging transactions",
            ),
            (
                "--log-prefix=x",
                "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
            ),
            (
                "-l --aggregate-interval=5 -T 4",
                "number of seconds for aggregation (5) must not be higher than test duration (4)",
            ),
            (
                "-l --aggregate-interval=5 -T 12",
                "duration (12) must be a multiple of aggregation interval (5)",
            ),
            (
                "--progress-timestamp",
                "--progress-timestamp is allowed only under --progress",
            ),
            (
                "--max-tries=0",
                "an unlimited number of transaction tries can only be used with --latency-limit \
                 or a duration (-T)",
            ),
            (
                "-i --partition-method=hash",
                "--partition-method requires greater than zero --partitions",
            ),
        ],
    );
}

/// Each option is legal in initializations, in runs, or in both.
#[test]
fn modes_of_operation() {
    const IN_INITIALIZATION: &str =
        "some of the specified options cannot be used in initialization (-i) mode";
    const IN_RUN: &str = "some of the specified options cannot be used in benchmarking mode";
    for option in [
        "-b tpcb",
        "-b tpcb@0",
        "-c 1",
        "-C",
        "-D a=1",
        "-f x",
        "-j 1",
        "-l",
        "-L 1",
        "-M simple",
        "-N",
        "-P 1",
        "-r",
        "-R 1",
        "-S",
        "-t 1",
        "-T 1",
        "-v",
        "--aggregate-interval=1",
        "--continue-on-error",
        "--exit-on-abort",
        "--failures-detailed",
        "--log-prefix=x",
        "--max-tries=1",
        "--progress-timestamp",
        "--random-seed=1",
        "--report-latencies",
        "--sampling-rate=1",
        "--verbose-errors",
    ] {
        let line = format!("-i {option}");
        check(
            ErrorKind::Conflict,
            None,
            None,
            &[(&line, IN_INITIALIZATION)],
        );
    }
    for option in [
        "-F 10",
        "-I d",
        "-q",
        "--foreign-keys",
        "--index-tablespace=x",
        "--partitions=0",
        "--partition-method=hash",
        "--tablespace=x",
        "--unlogged-tables",
    ] {
        check(ErrorKind::Conflict, None, None, &[(option, IN_RUN)]);
        if option != "--partition-method=hash" {
            assert!(parse(&format!("{option} -i"), 15).is_ok(), "{option}");
        }
    }
    for option in [
        "-d",
        "-h x",
        "-n",
        "-p 1",
        "-s 1",
        "-U x",
        "--dbname=x",
        "--debug",
        "--mode=spi",
        "x",
    ] {
        for line in [option.to_owned(), format!("{option} -i")] {
            assert!(parse(&line, 15).is_ok(), "{line}");
        }
    }
}

/// The first of several errors counts: options from left to right, then what they make together, in
/// a fixed order.
#[test]
fn order() {
    for (line, start) in [
        ("-c 0 -x a b", "-c/--client must be"),
        ("-x -c 0 a b", "invalid option"),
        ("-b x -c 0", "no builtin script"),
        ("-c 0 -b list", "-c/--client must be"),
        ("-b tpcb@0 a b -q", "total script weight"),
        ("a b -q -t 1 -T 1", "too many command-line arguments"),
        (
            "-q -t 1 -T 1",
            "some of the specified options cannot be used in bench",
        ),
        ("-t 1 -T 1 --sampling-rate=1", "specify either"),
        (
            "--sampling-rate=1 --aggregate-interval=2 --log-prefix=x -T 1",
            "log sampling (--sampling-rate) is allowed",
        ),
        (
            "-l --sampling-rate=1 --aggregate-interval=2 -T 1",
            "log sampling (--sampling-rate) and aggregation",
        ),
        (
            "--aggregate-interval=2 --log-prefix=x -T 1",
            "log aggregation",
        ),
        ("--log-prefix=x --progress-timestamp", "log file prefix"),
        (
            "-l --aggregate-interval=2 -T 1 --progress-timestamp",
            "number of seconds",
        ),
        (
            "-l --aggregate-interval=2 -T 3 --progress-timestamp",
            "duration (3)",
        ),
        (
            "--progress-timestamp --max-tries=0",
            "--progress-timestamp is allowed",
        ),
        ("-i -b tpcb@0 a b", "too many command-line arguments"),
        (
            "-i -S --partition-method=hash",
            "some of the specified options cannot be used in init",
        ),
        (
            "-i --partition-method=hash -t 1 -T 1",
            "some of the specified options",
        ),
    ] {
        let message = error(line).message;
        assert!(message.starts_with(start), "{line}: {message}");
    }
}
