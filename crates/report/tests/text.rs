//! Whole reports as text. Figures and layout of those marked as recorded are what pgbench 15.20
//! printed for the same run, with the lines around that this project adds.

use pretty::assert_text;
use selfbench_model::{
    Evidence, Figures, Latency, Mode, PgioRun, Run, RunRecord, RunScript, RunState, RunStatement,
    Setting,
};
use selfbench_report::Style;
use selfbench_stats::{Counts, LatencyHistogram, Moments, Tally};

/// Comparison of long texts that shows the first line in which they differ.
mod pretty {
    pub fn assert_text(actual: &str, expected: &str) {
        for (number, (actual, expected)) in actual.lines().zip(expected.lines()).enumerate() {
            assert_eq!(actual, expected, "line {}", number + 1);
        }
        assert_eq!(actual, expected);
    }
}

/// A series with this average and deviation in milliseconds.
fn moments(count: u64, mean_ms: f64, stddev_ms: f64, max_ms: f64) -> Moments {
    let n = count as f64;
    Moments {
        count,
        sum_ns: n * mean_ms * 1e6,
        sum_sq_ns2: n * (mean_ms * mean_ms + stddev_ms * stddev_ms) * 1e12,
        min_ns: 0,
        max_ns: (max_ms * 1e6) as u64,
    }
}

fn succeeded(transactions: u64, mean_ms: f64, stddev_ms: f64) -> Tally {
    Tally {
        counts: Counts {
            transactions,
            ..Counts::default()
        },
        latency: moments(transactions, mean_ms, stddev_ms, 3.0 * mean_ms),
        ..Tally::default()
    }
}

/// Transactions without latencies.
fn counted(counts: Counts) -> Tally {
    Tally {
        counts,
        ..Tally::default()
    }
}

fn figures(tally: &Tally) -> Figures {
    Figures::of(tally, &LatencyHistogram::new(), 1.0)
}

fn script(description: &str, weight: i64, tally: Tally) -> RunScript {
    RunScript {
        name: description.trim_matches(['<', '>']).to_owned(),
        description: description.to_owned(),
        weight,
        figures: figures(&tally),
        ..RunScript::default()
    }
}

fn statement(
    script_no: i32,
    latency_ms: f64,
    failures: i64,
    retries: i64,
    text: &str,
) -> RunStatement {
    RunStatement {
        script_no,
        command: text.to_owned(),
        failures,
        retries,
        latency: Latency {
            latency_avg_ms: Some(latency_ms),
            ..Latency::default()
        },
        ..RunStatement::default()
    }
}

/// A finished run by one client.
fn run(mode: Mode, server_version: &str, server_version_num: i32, tally: Tally) -> Run {
    Run {
        state: RunState::Finished,
        extension_version: "0.1.0".to_owned(),
        server_version: server_version.to_owned(),
        server_version_num,
        mode,
        protocol: "simple".to_owned(),
        scale: 1,
        clients: 1,
        jobs: 1,
        workers: 1,
        max_tries: 1,
        duration_s: Some(1.0),
        seed: "42".to_owned(),
        figures: figures(&tally),
        seconds: Some(1.0),
        connection_ms: Some(2.016),
        ..Run::default()
    }
}

/// Input of a report.
trait Reported {
    fn record(&self) -> RunRecord;
}

/// A run of select-only.
impl Reported for Run {
    fn record(&self) -> RunRecord {
        let mut script = script("<builtin: select only>", 1, Tally::default());
        script.figures = self.figures.clone();
        RunRecord {
            run: self.clone(),
            scripts: vec![script],
            ..RunRecord::default()
        }
    }
}

impl Reported for RunRecord {
    fn record(&self) -> RunRecord {
        self.clone()
    }
}

fn text(report: &impl Reported) -> String {
    selfbench_report::text(&report.record(), &Evidence::default())
}

fn lines(report: &impl Reported, style: Style) -> Vec<String> {
    selfbench_report::lines(&report.record(), &Evidence::default(), style)
}

fn run_on_15(mode: Mode, tally: Tally) -> Run {
    run(mode, "15.20 (Debian 15.20-0+deb12u1)", 150_020, tally)
}

/// A run with percentiles.
fn with_percentiles(mut run: Run) -> Run {
    let latency = &mut run.figures.latency;
    latency.latency_p50_ms = Some(0.123);
    latency.latency_p90_ms = Some(0.2);
    latency.latency_p95_ms = Some(0.31);
    latency.latency_p99_ms = Some(0.4567);
    latency.latency_p999_ms = Some(1.25);
    run
}

#[test]
fn fixed_number_of_transactions_over_connections() {
    // Recorded: pgbench -n -S -c 2 -j 2 -t 5 -P 10 -M prepared --random-seed=42
    let report = Run {
        protocol: "prepared".to_owned(),
        partition_method: Some("range".to_owned()),
        partitions: Some(3),
        clients: 2,
        jobs: 2,
        workers: 2,
        transactions_per_client: Some(5),
        seconds: Some(10.0 / 6_075.334_143),
        connection_ms: Some(3.568),
        ..run_on_15(Mode::Libpq, succeeded(10, 0.286, 0.350))
    };
    assert_text(
        &text(&report),
        "\
pg_selfbench 0.1.0 (PostgreSQL 15.20 (Debian 15.20-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 1
partition method: range
partitions: 3
query mode: prepared
execution mode: libpq (client/server round trips)
number of clients: 2
number of threads: 2
maximum number of tries: 1
number of transactions per client: 5
number of transactions actually processed: 10/10
number of failed transactions: 0 (0.000%)
latency average = 0.286 ms
latency stddev = 0.350 ms
initial connection time = 3.568 ms
tps = 6075.334143 (without initial connection time)
random seed: 42
",
    );
}

#[test]
fn fewer_processes_than_threads() {
    let report = Run {
        clients: 40,
        jobs: 20,
        workers: 2,
        ..run_on_15(Mode::Libpq, succeeded(10, 0.286, 0.350))
    };
    assert!(text(&report).contains("number of threads: 20\nnumber of processes: 2\n"));
    let pgbench = lines(&report, Style::Pgbench { progress: false });
    assert!(!pgbench.iter().any(|line| line.contains("processes")));
}

#[test]
fn another_server() {
    let report = Run {
        target: Some("host=far port=5432 dbname=bench user=tester".to_owned()),
        ..run_on_15(Mode::Libpq, succeeded(10, 0.286, 0.350))
    };
    assert!(text(&report).contains(
        "\
execution mode: libpq (client/server round trips)
target: host=far port=5432 dbname=bench user=tester
number of clients: 1
"
    ));
}

#[test]
fn connections_for_every_transaction() {
    // Recorded: pgbench -n -S -C -c 1 -T 1 -P 10
    let report = Run {
        reconnect: true,
        seconds: Some(273.0 / 272.801_401),
        connection_ms: Some(2.810),
        ..run_on_15(Mode::Libpq, succeeded(273, 0.855, 0.131))
    };
    let text = text(&report);
    assert!(text.contains(
        "\
duration: 1 s
number of transactions actually processed: 273
number of failed transactions: 0 (0.000%)
latency average = 0.855 ms
latency stddev = 0.131 ms
average connection time = 2.810 ms
tps = 272.801401 (including reconnection times)
"
    ));
}

#[test]
fn a_run_inside_the_server_says_so() {
    let report = Run {
        run_id: 7,
        label: Some("nightly".to_owned()),
        duration_s: Some(2.5),
        seconds: Some(2.5),
        connection_ms: Some(12.3456),
        warmup_s: 5.0,
        warmup_transactions: 12_345,
        ..with_percentiles(run_on_15(Mode::Spi, succeeded(1_000, 0.5, 0.25)))
    };
    assert_text(
        &text(&report),
        "\
pg_selfbench 0.1.0 (PostgreSQL 15.20 (Debian 15.20-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
execution mode: spi (in-server, no round trip)
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 2.5 s
number of transactions actually processed: 1000
number of failed transactions: 0 (0.000%)
latency average = 0.500 ms
latency stddev = 0.250 ms
worker start time = 12.346 ms
tps = 400.000000 (in-server, without worker start time)
latency percentiles (ms): p50 0.123, p90 0.200, p95 0.310, p99 0.457, p99.9 1.250, max 1.500
warm-up: 5 s, 12345 transactions, not included above
random seed: 42
run: 7
label: nightly
",
    );
}

#[test]
fn version_17_has_the_layout_of_15() {
    let on = |version: &str, number| {
        let mut tally = succeeded(75, 1.0, 0.5);
        tally.counts.serialization_failures = 25;
        run(Mode::Libpq, version, number, tally)
    };
    let lines_17 = text(&on("17.6", 170_006));
    let (first, rest) = lines_17.split_once('\n').unwrap();
    assert_eq!(first, "pg_selfbench 0.1.0 (PostgreSQL 17.6)");
    assert_text(
        rest,
        "\
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 75
number of failed transactions: 25 (25.000%)
latency average = 1.000 ms
latency stddev = 0.500 ms
initial connection time = 2.016 ms
tps = 75.000000 (without initial connection time)
warning: transactions failed: 25.0% of the transactions
random seed: 42
",
    );
    let lines_15 = text(&on("15.20", 150_020));
    assert_eq!(lines_15.split_once('\n').unwrap().1, rest);
}

#[test]
fn rate_and_latency_limit_add_their_lines() {
    // Recorded: pgbench -n -c 1 -T 1 -R 100 -L 10 -f slow.sql
    let mut tally = Tally {
        lag: moments(43, 4.202, 1.0, 9.957),
        ..succeeded(43, 24.666, 3.953)
    };
    tally.counts.skipped = 57;
    tally.counts.late = 43;
    let run = Run {
        rate: Some(100.0),
        latency_limit_ms: Some(10.0),
        seconds: Some(43.0 / 42.340_796),
        ..run_on_15(Mode::Libpq, tally)
    };
    let report = RunRecord {
        scripts: vec![script("slow.sql", 1, tally)],
        ..run.record()
    };
    assert_text(
        &text(&report),
        "\
pg_selfbench 0.1.0 (PostgreSQL 15.20 (Debian 15.20-0+deb12u1))
transaction type: slow.sql
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 43
number of failed transactions: 0 (0.000%)
number of transactions skipped: 57 (57.000%)
number of transactions above the 10.0 ms latency limit: 43/43 (100.000%)
latency average = 24.666 ms
latency stddev = 3.953 ms
rate limit schedule lag: avg 4.202 (max 9.957) ms
initial connection time = 2.016 ms
tps = 42.340796 (without initial connection time)
warning: transactions were skipped: 57.0% of the transactions
random seed: 42
",
    );
}

#[test]
fn all_transactions_skipped() {
    let tally = counted(Counts {
        skipped: 100,
        ..Counts::default()
    });
    let report = Run {
        rate: Some(100.0),
        latency_limit_ms: Some(0.001),
        ..run_on_15(Mode::Libpq, tally)
    };
    assert!(text(&report).contains(
        "\
number of failed transactions: 0 (0.000%)
number of transactions skipped: 100 (100.000%)
number of transactions above the 0.0 ms latency limit: 0/0 (0.000%)
initial connection time = 2.016 ms
tps = 0.000000 (without initial connection time)
warning: transactions were skipped: 100.0% of the transactions
random seed: 42
"
    ));
}

/// Three scripts, the last without weight, with retries and every kind of line that a script has.
fn several_scripts(server_version: &str, server_version_num: i32) -> RunRecord {
    let failing = |transactions, mean_ms, stddev_ms| {
        let mut tally = succeeded(transactions, mean_ms, stddev_ms);
        tally.counts.serialization_failures = 34;
        tally.counts.deadlock_failures = 37;
        tally.counts.retried = 71;
        tally.counts.retries = 142;
        tally
    };
    let mut tally = Tally {
        lag: moments(123, 0.785, 1.0, 20.422),
        ..failing(123, 8.247, 10.063)
    };
    tally.counts.late = 1;
    let mut scripts = vec![
        script("mixfail.sql", 3, failing(79, 1.024, 2.831)),
        script("slow.sql", 1, succeeded(44, 21.214, 2.620)),
        script("one.sql", 0, Tally::default()),
    ];
    for (number, script) in scripts.iter_mut().enumerate() {
        script.script_no = number as i32;
    }
    RunRecord {
        run: Run {
            clients: 2,
            max_tries: 3,
            duration_s: Some(2.0),
            rate: Some(100.0),
            latency_limit_ms: Some(30.0),
            failures_detailed: true,
            seed: "1".to_owned(),
            seconds: Some(123.0 / 62.897_842),
            connection_ms: Some(4.296),
            ..run(Mode::Libpq, server_version, server_version_num, tally)
        },
        scripts,
        statements: vec![
            statement(0, 0.002, 0, 0, r"\set r random(1,4)"),
            statement(0, 0.261, 71, 142, "do $$ begin if :r = 1 then"),
            statement(1, 20.383, 0, 0, "select pg_sleep(0.02);"),
            statement(2, 0.0, 0, 0, "select 1;"),
        ],
        ..RunRecord::default()
    }
}

#[test]
fn several_scripts_on_15() {
    // Recorded: pgbench -n -c 2 -T 2 -P 1 -R 100 -L 30 --max-tries=3 --failures-detailed -r
    // -f mixfail.sql@3 -f slow.sql@1 -f one.sql@0 --random-seed=1 (one statement cut short here)
    assert_text(
        &text(&several_scripts("15.20", 150_020)),
        "\
pg_selfbench 0.1.0 (PostgreSQL 15.20)
transaction type: multiple scripts
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 2
number of threads: 1
maximum number of tries: 3
duration: 2 s
number of transactions actually processed: 123
number of failed transactions: 71 (36.598%)
number of serialization failures: 34 (17.526%)
number of deadlock failures: 37 (19.072%)
number of transactions retried: 71 (36.598%)
total number of retries: 142
number of transactions skipped: 0 (0.000%)
number of transactions above the 30.0 ms latency limit: 1/123 (0.813%)
latency average = 8.247 ms
latency stddev = 10.063 ms
rate limit schedule lag: avg 0.785 (max 20.422) ms
initial connection time = 4.296 ms
tps = 62.897842 (without initial connection time)
SQL script 1: mixfail.sql
 - weight: 3 (targets 75.0% of total)
 - 79 transactions (64.2% of total, tps = 40.397801)
 - number of failed transactions: 71 (47.333%)
 - number of serialization failures: 34 (22.667%)
 - number of deadlock failures: 37 (24.667%)
 - number of transactions retried: 71 (47.333%)
 - total number of retries: 142
 - number of transactions skipped: 0 (0.000%)
 - latency average = 1.024 ms
 - latency stddev = 2.831 ms
 - statement latencies in milliseconds, failures and retries:
         0.002           0           0  \\set r random(1,4)
         0.261          71         142  do $$ begin if :r = 1 then
SQL script 2: slow.sql
 - weight: 1 (targets 25.0% of total)
 - 44 transactions (35.8% of total, tps = 22.500041)
 - number of failed transactions: 0 (0.000%)
 - number of serialization failures: 0 (0.000%)
 - number of deadlock failures: 0 (0.000%)
 - number of transactions retried: 0 (0.000%)
 - total number of retries: 0
 - number of transactions skipped: 0 (0.000%)
 - latency average = 21.214 ms
 - latency stddev = 2.620 ms
 - statement latencies in milliseconds, failures and retries:
        20.383           0           0  select pg_sleep(0.02);
SQL script 3: one.sql
 - weight: 0 (targets 0.0% of total)
 - 0 transactions (0.0% of total, tps = 0.000000)
 - number of failed transactions: 0 (0.000%)
 - number of serialization failures: 0 (0.000%)
 - number of deadlock failures: 0 (0.000%)
 - number of transactions retried: 0 (0.000%)
 - total number of retries: 0
 - statement latencies in milliseconds, failures and retries:
         0.000           0           0  select 1;
warning: transactions failed: 36.6% of the transactions
random seed: 1
",
    );
}

#[test]
fn workloads_have_their_name() {
    let mut record = several_scripts("15.20", 150_020);
    let names = ["tpcc:new-order", "tpcc:payment", "/srv/a:b.sql"];
    for (script, name) in record.scripts.iter_mut().zip(names) {
        script.name = name.into();
    }
    let text = text(&record);
    assert!(text.contains("\ntransaction type: multiple scripts\nworkload: tpcc\nscaling factor"));
    let pgbench = lines(&record, Style::Pgbench { progress: true });
    assert!(!pgbench.iter().any(|line| line.starts_with("workload")));
}

#[test]
fn several_scripts_on_18() {
    assert_text(
        &text(&several_scripts("18.6", 180_006)),
        "\
pg_selfbench 0.1.0 (PostgreSQL 18.6)
transaction type: multiple scripts
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 2
number of threads: 1
maximum number of tries: 3
duration: 2 s
number of transactions actually processed: 123
number of failed transactions: 71 (36.598%)
number of serialization failures: 34 (17.526%)
number of deadlock failures: 37 (19.072%)
number of transactions retried: 71 (36.598%)
total number of retries: 142
number of transactions skipped: 0 (0.000%)
number of transactions above the 30.0 ms latency limit: 1/123 (0.813%)
latency average = 8.247 ms
latency stddev = 10.063 ms
rate limit schedule lag: avg 0.785 (max 20.422) ms
initial connection time = 4.296 ms
tps = 62.897842 (without initial connection time)
SQL script 1: mixfail.sql
 - weight: 3 (targets 75.0% of total)
 - 150 transactions (77.3% of total)
 - number of transactions actually processed: 79 (tps = 40.397801)
 - number of failed transactions: 71 (47.333%)
 - number of serialization failures: 34 (22.667%)
 - number of deadlock failures: 37 (24.667%)
 - number of transactions retried: 71 (47.333%)
 - total number of retries: 142
 - number of transactions skipped: 0 (0.000%)
 - latency average = 1.024 ms
 - latency stddev = 2.831 ms
 - statement latencies in milliseconds, failures and retries:
         0.002           0          0 \\set r random(1,4)
         0.261          71        142 do $$ begin if :r = 1 then
SQL script 2: slow.sql
 - weight: 1 (targets 25.0% of total)
 - 44 transactions (22.7% of total)
 - number of transactions actually processed: 44 (tps = 22.500041)
 - number of failed transactions: 0 (0.000%)
 - number of serialization failures: 0 (0.000%)
 - number of deadlock failures: 0 (0.000%)
 - number of transactions retried: 0 (0.000%)
 - total number of retries: 0
 - number of transactions skipped: 0 (0.000%)
 - latency average = 21.214 ms
 - latency stddev = 2.620 ms
 - statement latencies in milliseconds, failures and retries:
        20.383           0          0 select pg_sleep(0.02);
SQL script 3: one.sql
 - weight: 0 (targets 0.0% of total)
 - 0 transactions (0.0% of total)
 - statement latencies in milliseconds, failures and retries:
         0.000           0          0 select 1;
warning: transactions failed: 36.6% of the transactions
random seed: 1
",
    );
}

#[test]
fn statements_of_a_single_script_have_no_heading() {
    let mut report = run_on_15(Mode::Spi, succeeded(4, 0.5, 0.0)).record();
    report.statements = vec![
        statement(0, 0.007, 0, 0, r"\set aid random(1, 100000 * :scale)"),
        statement(0, 0.602, 3, 0, "SELECT abalance"),
    ];
    assert!(text(&report).contains(
        "
tps = 4.000000 (in-server, without worker start time)
statement latencies in milliseconds and failures:
         0.007           0  \\set aid random(1, 100000 * :scale)
         0.602           3  SELECT abalance
random seed: 42
"
    ));
}

#[test]
fn scripts_have_percentiles_of_their_own() {
    let tally = succeeded(4, 0.5, 0.0);
    let mut report = run_on_15(Mode::Spi, tally).record();
    let mut other = script("other", 1, tally);
    other.figures.latency.latency_p50_ms = Some(0.5);
    other.figures.latency.latency_p999_ms = Some(1.0);
    report.scripts.push(other);
    assert!(text(&report).contains(
        "
 - latency average = 0.500 ms
 - latency stddev = 0.000 ms
 - latency percentiles (ms): p50 0.500, p99.9 1.000, max 1.500
random seed: 42
"
    ));
}

#[test]
fn other_failures_appear_once_there_are_any_or_the_version_knows_them() {
    let other = |count, server_version_num| {
        let mut tally = succeeded(9, 1.0, 0.0);
        tally.counts.other_failures = count;
        let report = Run {
            failures_detailed: true,
            ..run(Mode::Spi, "x", server_version_num, tally)
        };
        text(&report)
    };
    let line = "number of deadlock failures: 0 (0.000%)\nnumber of other failures: 1 (10.000%)\n";
    assert!(other(1, 150_020).contains(line));
    assert!(!other(0, 150_020).contains("other failures"));
    assert!(!other(0, 180_006).contains("other failures"));
    assert!(other(0, 190_000).contains("number of other failures: 0 (0.000%)\n"));
}

/// A run in which the only client was aborted at its first transaction.
fn nothing_done(server_version: &str, server_version_num: i32) -> RunRecord {
    let error = "client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero\n";
    let nothing = Tally::default();
    RunRecord {
        run: Run {
            max_tries: 2,
            transactions_per_client: Some(2),
            failures_detailed: true,
            aborted_clients: 1,
            errors: vec![error.to_owned()],
            ..run(Mode::Libpq, server_version, server_version_num, nothing)
        },
        scripts: vec![script("err.sql", 1, nothing)],
        ..RunRecord::default()
    }
}

#[test]
fn no_transaction_on_15() {
    // Recorded: pgbench -n -t 2 -f err.sql --failures-detailed --max-tries=2
    assert_text(
        &text(&nothing_done("15.20", 150_020)),
        "\
pg_selfbench 0.1.0 (PostgreSQL 15.20)
transaction type: err.sql
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 1
number of threads: 1
maximum number of tries: 2
number of transactions per client: 2
number of transactions actually processed: 0/2
number of failed transactions: 0 (0.000%)
number of serialization failures: 0 (0.000%)
number of deadlock failures: 0 (0.000%)
number of transactions retried: 0 (0.000%)
total number of retries: 0
random seed: 42
Run was aborted; the above results are incomplete.
reason: 1 of 1 clients aborted
error: client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero
",
    );
}

#[test]
fn pgbench_has_a_share_of_nothing_that_is_not_a_number() {
    let pgbench = Style::Pgbench { progress: false };
    let all = lines(&nothing_done("15.20", 150_020), pgbench).join("\n");
    assert!(
        all.contains("number of failed transactions: 0 (NaN%)"),
        "{all}"
    );
    let report = Run {
        rate: Some(100.0),
        ..run_on_15(
            Mode::Libpq,
            counted(Counts {
                skipped: 100,
                ..Counts::default()
            }),
        )
    };
    let all = lines(&report, pgbench).join("\n");
    assert!(all.contains("lag: avg NaN (max 0.000) ms"), "{all}");
}

#[test]
fn time_asleep_is_told_apart() {
    let tally = Tally {
        sleep_ns: 40_000_000,
        ..succeeded(4, 12.5, 0.5)
    };
    let line = "latency average without \\sleep = 2.500 ms (10.000 ms of it in \\sleep)";
    let mut report = run_on_15(Mode::Spi, tally).record();
    assert!(text(&report).contains(line), "{}", text(&report));
    let pgbench = lines(&report, Style::Pgbench { progress: true }).join("\n");
    assert!(!pgbench.contains("sleep"));
    report.scripts = vec![
        script("a", 1, tally),
        script("b", 1, succeeded(4, 1.0, 0.0)),
    ];
    assert_eq!(text(&report).matches(line).count(), 2);
    assert!(text(&report).contains(&format!(" - {line}")));
}

#[test]
fn no_transaction_on_18() {
    assert_text(
        &text(&nothing_done("18.6", 180_006)),
        "\
pg_selfbench 0.1.0 (PostgreSQL 18.6)
transaction type: err.sql
scaling factor: 1
query mode: simple
execution mode: libpq (client/server round trips)
number of clients: 1
number of threads: 1
maximum number of tries: 2
number of transactions per client: 2
number of transactions actually processed: 0/2
random seed: 42
Run was aborted; the above results are incomplete.
reason: 1 of 1 clients aborted
error: client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero
",
    );
}

#[test]
fn only_failures_end_the_report_early_on_15_but_not_on_18() {
    let failures = counted(Counts {
        serialization_failures: 2,
        ..Counts::default()
    });
    let rest = |report: &Run| {
        let text = text(report);
        let start = text.find("number of failed").unwrap();
        text[start..].to_owned()
    };
    // Recorded: pgbench -n -t 2 -P 10 -f fail.sql
    assert_text(
        &rest(&run_on_15(Mode::Libpq, failures)),
        "\
number of failed transactions: 2 (100.000%)
warning: transactions failed: 100.0% of the transactions
random seed: 42
",
    );
    assert_text(
        &rest(&run(Mode::Libpq, "18.6", 180_006, failures)),
        "\
number of failed transactions: 2 (100.000%)
initial connection time = 2.016 ms
tps = 0.000000 (without initial connection time)
warning: transactions failed: 100.0% of the transactions
random seed: 42
",
    );
}

#[test]
fn an_incomplete_run_says_why() {
    let end_of = |state, aborted_clients, errors: &[&str]| {
        let report = Run {
            state,
            clients: 8,
            aborted_clients,
            errors: errors.iter().map(|error| (*error).to_owned()).collect(),
            ..run_on_15(Mode::Spi, succeeded(5, 1.0, 0.0))
        };
        let text = text(&report);
        let seed = "random seed: 42\n";
        text[text.find(seed).unwrap() + seed.len()..].to_owned()
    };
    let aborted = "Run was aborted; the above results are incomplete.\n";

    assert_eq!(end_of(RunState::Finished, 0, &[]), "");
    assert_eq!(
        end_of(RunState::Canceled, 0, &[]),
        format!("{aborted}reason: the run was canceled\n")
    );
    assert_eq!(
        end_of(
            RunState::Failed,
            2,
            &["could not start worker", "two\nlines\n"]
        ),
        format!(
            "{aborted}reason: the run failed\nreason: 2 of 8 clients aborted\n\
             error: could not start worker\nerror: two\n    lines\n"
        )
    );
    assert_eq!(
        end_of(RunState::Lost, 0, &[]),
        format!("{aborted}reason: the run was lost\n")
    );
    assert_eq!(
        end_of(RunState::Running, 0, &[]),
        "Run is still in progress; the above results are incomplete.\n"
    );
}

#[test]
fn tries_without_limit_have_no_line_for_it() {
    let report = Run {
        max_tries: 0,
        ..run_on_15(Mode::Spi, succeeded(5, 1.0, 0.0))
    };
    let text = text(&report);
    assert!(!text.contains("maximum number of tries"));
    assert!(text.contains("total number of retries: 0\n"));
}

#[test]
fn pgbench_alone() {
    // Recorded: pgbench -n -S -c 2 -t 5
    let report = Run {
        clients: 2,
        transactions_per_client: Some(5),
        seconds: Some(0.000_915),
        ..with_percentiles(run_on_15(Mode::Libpq, succeeded(10, 0.15, 0.05)))
    };
    let style = |progress| Style::Pgbench { progress };
    let text = |report: &Run, progress| lines(report, style(progress)).join("\n");
    assert_text(
        &text(&report, false),
        "\
pgbench (15.20 (Debian 15.20-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
number of transactions per client: 5
number of transactions actually processed: 10/10
number of failed transactions: 0 (0.000%)
latency average = 0.183 ms
initial connection time = 2.016 ms
tps = 10928.961749 (without initial connection time)",
    );
    // With progress it has measured the latency; figures from within the server keep their label.
    let measured = text(&report, true);
    assert!(measured.contains("latency average = 0.150 ms\nlatency stddev = 0.050 ms\n"));
    let spi = Run {
        mode: Mode::Spi,
        ..report.clone()
    };
    let labelled = text(&spi, false);
    assert!(labelled.contains("\nexecution mode: spi (in-server, no round trip)\n"));
    assert!(labelled.ends_with("(in-server, without worker start time)"));
    let mut failing = report;
    failing.figures.counts.serialization_failures = 10;
    assert!(text(&failing, false).contains("latency average = 0.091 ms (including failures)\n"));
}

#[test]
fn cost_of_the_harness() {
    let with = |mode| Run {
        overhead_us: Some(6.254),
        overhead_share: Some(0.3718),
        ..run_on_15(mode, succeeded(10, 0.286, 0.350))
    };
    let line_after_tps = |report: &Run| {
        let all = lines(report, Style::Full);
        let tps = all.iter().position(|line| line.starts_with("tps = "));
        all[tps.unwrap() + 1].clone()
    };
    assert_eq!(
        line_after_tps(&with(Mode::Libpq)),
        "client workers: 6.25 us of CPU time per transaction, 37.2% of their time"
    );
    assert_eq!(
        line_after_tps(&with(Mode::Spi)),
        "outside executor and commit: 6.25 us per transaction, 37.2% of the clients' time"
    );
    let pgbench = Style::Pgbench { progress: true };
    assert_eq!(
        lines(&with(Mode::Spi), pgbench),
        lines(&run_on_15(Mode::Spi, succeeded(10, 0.286, 0.350)), pgbench)
    );
}

/// A run on two tables of 128 MB, of which all is known.
fn pgio() -> PgioRun {
    PgioRun {
        tables: 2,
        scale: 16_384,
        block_bytes: 8192,
        threads_per_table: 3,
        update_pct: 20,
        work_unit: 255,
        update_work_unit: 8,
        commit_every: 1,
        working_set_pct: 62.5,
        scan: "index".to_owned(),
        working_set_bytes: 160 << 20,
        shared_buffers_bytes: Some(128 << 20),
        memory_bytes: Some(128 << 20),
        cache_hits_per_s: Some(3000.25),
        riops: Some(1000.5),
        device_reads_per_s: Some(250.125),
        device_read_mb_per_s: Some(2.049),
        device_write_mb_per_s: Some(0.5),
        blocks_dirtied_per_s: Some(90.0),
        blocks_written_per_s: Some(12.0),
        wal_bytes_per_s: Some(81_920.0),
        wal_bytes_per_update: Some(819.2),
        read_avg_ms: Some(0.125),
        read_p50_ms: Some(0.1),
        read_p99_ms: Some(1.5),
        ..PgioRun::default()
    }
}

/// The lines of a run of pgio's workload that no other run has.
fn pgio_lines(pgio: PgioRun) -> Vec<String> {
    let plain = run_on_15(Mode::Spi, succeeded(4, 0.5, 0.0)).record();
    let report = RunRecord {
        pgio: Some(pgio),
        ..plain.clone()
    };
    let others = lines(&plain, Style::Full);
    let mut lines = lines(&report, Style::Full);
    lines.retain(|line| !others.contains(line));
    lines
}

#[test]
fn pgio_has_its_parameters_and_figures() {
    assert_eq!(
        pgio_lines(pgio()),
        [
            "number of tables: 2",
            "blocks per table: 16384 (128 MB)",
            "threads per table: 3",
            "updates: 20%",
            "work unit: 255",
            "update work unit: 8",
            "loops per transaction: 1",
            "scan: index",
            "working set: 160 MB (62.5% of the keys)",
            "logical reads: 4000.8 blocks/s (cache hits 3000.2/s, buffer reads 1000.5/s)",
            "device reads: 250.1 blocks/s, 2.049 MB/s, 25.0% of the buffer reads",
            "device writes: 0.500 MB/s",
            "blocks dirtied: 90.0/s, written by the sessions: 12.0/s",
            "WAL: 81920.0 bytes/s, 819.2 bytes per update",
            "block read time (ms): average 0.125, p50 0.100, p99 1.500",
            "RIOPS >1000< CACHE_HITS/s >3000<",
        ]
    );
}

#[test]
fn pgio_may_know_the_average_time_of_reading_alone() {
    let mut average = pgio();
    average.read_p50_ms = None;
    average.read_p99_ms = None;
    assert_eq!(
        pgio_lines(average)[14],
        "block read time (ms): average 0.125"
    );
}

#[test]
fn pgio_says_what_is_measured() {
    let mut fits = pgio();
    fits.memory_bytes = Some(1 << 30);
    assert_eq!(
        pgio_lines(fits)[9],
        "the working set, 160 MB, does not fit into shared_buffers, but into the memory of 1 GB: \
         after the first reads, the run measures the operating system's cache, not storage"
    );
}

#[test]
fn pgio_leaves_out_what_nobody_could_tell() {
    let reads_nothing = PgioRun {
        riops: Some(0.0),
        device_reads_per_s: Some(0.0),
        device_read_mb_per_s: Some(0.0),
        device_write_mb_per_s: Some(0.0),
        wal_bytes_per_update: None,
        read_avg_ms: None,
        ..pgio()
    };
    assert_eq!(
        pgio_lines(reads_nothing)[9..],
        [
            "logical reads: 3000.2 blocks/s (cache hits 3000.2/s, buffer reads 0.0/s)",
            "device reads: 0.0 blocks/s, 0.000 MB/s",
            "device writes: 0.000 MB/s",
            "blocks dirtied: 90.0/s, written by the sessions: 12.0/s",
            "WAL: 81920.0 bytes/s",
            "RIOPS >0< CACHE_HITS/s >3000<",
        ]
    );
    let no_devices = PgioRun {
        device_reads_per_s: None,
        device_read_mb_per_s: None,
        device_write_mb_per_s: None,
        ..pgio()
    };
    let lines = pgio_lines(no_devices);
    assert!(lines.iter().all(|line| !line.contains("device")));
    assert!(lines[10].starts_with("blocks dirtied: "));
    let evicting = PgioRun {
        blocks_evicted_per_s: Some(1000.25),
        ..pgio()
    };
    assert!(
        pgio_lines(evicting).contains(
            &"blocks dirtied: 90.0/s, written by the sessions: 12.0/s, evicted by them: 1000.2/s"
                .into()
        )
    );
    let nothing = PgioRun {
        cache_hits_per_s: None,
        riops: None,
        ..pgio()
    };
    assert_eq!(
        pgio_lines(nothing)[9..],
        ["blocks and WAL of the sessions are not known"]
    );
}

#[test]
fn variables_and_settings() {
    let setting = |name: &str, value: &str, source: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        source: source.to_owned(),
    };
    let report = Run {
        variables: [("scale", "10"), ("text", "two\nlines")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..run_on_15(Mode::Spi, succeeded(200, 0.5, 0.1))
    };
    let settings = [
        setting("DateStyle", "ISO, MDY", "session"),
        setting("lc_messages", "C", "configuration file"),
        setting("log_statement", "all", "database"),
        setting("shared_buffers", "128MB", "configuration file"),
        setting("unix_socket_directories", "/tmp", "command line"),
        setting("wal_buffers", "4MB", "override"),
        setting("work_mem", "64MB", "session"),
        setting("wal_level", "replica", "default"),
    ];
    let evidence = Evidence {
        settings: settings.into(),
        ..Evidence::default()
    };
    let text = selfbench_report::text(&report.record(), &evidence);
    let (_, added) = text.split_once("random seed: 42\n").unwrap();
    assert_text(
        added,
        "\
variable: scale = 10
variable: text = two
    lines
setting: log_statement = all (database)
setting: shared_buffers = 128MB (configuration file)
setting: work_mem = 64MB (session)
",
    );
    let style = Style::Pgbench { progress: true };
    let pgbench = selfbench_report::lines(&report.record(), &evidence, style);
    assert!(!pgbench.iter().any(|line| line.contains("setting")));
}
