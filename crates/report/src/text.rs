//! A run's report as text: the lines of pgbench's report in their order, then, unless pgbench's
//! alone are asked for, what pgbench has not.
//!
//! The layout is `printResults` of pgbench.c of the server's major version: 15 to 17 alike, 18
//! with a part of its own for what failed.

use selfbench_model::Mode;
use selfbench_stats::{Moments, Tally, summary};

use crate::number::{fixed, shortest};
use crate::pgio;
use crate::settings;
use crate::{Limit, RunReport, RunState, ScriptReport};

/// First major version that reports runs without a successful transaction in full, and scripts by
/// their transactions of all outcomes.
const COUNTS_ALL_OUTCOMES: i32 = 18;

/// First major version that knows failures of other kinds than serialization and deadlock.
const KNOWS_OTHER_FAILURES: i32 = 19;

/// Whose lines a report has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// pgbench's and ours.
    Full,
    /// pgbench's alone, but for the label of figures that were taken in the server.
    Pgbench {
        /// Whether progress was shown during the run, which pgbench needs to know the latency's
        /// standard deviation.
        progress: bool,
    },
}

/// The report of a run as text, every line ended.
pub fn text(report: &RunReport) -> String {
    let mut text = lines(report, Style::Full).join("\n");
    text.push('\n');
    text
}

/// The lines of a run's report.
pub fn lines(report: &RunReport, style: Style) -> Vec<String> {
    let mut lines = Lines {
        lines: Vec::new(),
        style,
    };
    parameters(&mut lines, report);
    results(&mut lines, report);
    if style == Style::Full {
        additions(&mut lines, report);
    }
    lines.lines
}

/// The lines of a report so far.
struct Lines {
    lines: Vec<String>,
    style: Style,
}

impl Lines {
    fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// What was asked for, and how much of it was done.
fn parameters(lines: &mut Lines, report: &RunReport) {
    lines.push(match lines.style {
        Style::Full => format!(
            "pg_selfbench {} (PostgreSQL {})",
            report.extension_version, report.server_version
        ),
        Style::Pgbench { .. } => format!("pgbench ({})", report.server_version),
    });
    let transaction_type = match report.scripts.as_slice() {
        [script] => &script.description,
        _ => "multiple scripts",
    };
    lines.push(format!("transaction type: {transaction_type}"));
    if report.pgio.is_none() {
        lines.push(format!("scaling factor: {}", report.scale));
    }
    if let Some(method) = &report.partition_method {
        lines.push(format!("partition method: {method}"));
        lines.push(format!("partitions: {}", report.partitions.unwrap_or(0)));
    }
    if let Some(pgio) = &report.pgio {
        pgio::parameters(pgio)
            .into_iter()
            .for_each(|line| lines.push(line));
    }
    lines.push(format!("query mode: {}", report.protocol));
    if lines.style == Style::Full || report.mode == Mode::Spi {
        lines.push(format!("execution mode: {}", report.mode.description()));
    }
    if let (Style::Full, Some(target)) = (lines.style, &report.target) {
        lines.push(format!("target: {target}"));
    }
    lines.push(format!("number of clients: {}", report.clients));
    lines.push(format!("number of threads: {}", report.jobs));
    if report.max_tries != 0 {
        lines.push(format!("maximum number of tries: {}", report.max_tries));
    }
    let processed = format!(
        "number of transactions actually processed: {}",
        report.tally.transactions
    );
    match report.limit {
        Limit::Transactions { per_client } => {
            let planned = per_client.saturating_mul(i64::from(report.clients));
            lines.push(format!("number of transactions per client: {per_client}"));
            lines.push(format!("{processed}/{planned}"));
        }
        Limit::Duration { seconds } => {
            lines.push(format!("duration: {} s", shortest(seconds)));
            lines.push(processed);
        }
    }
}

/// The figures, up to the point where this version of pgbench stops for want of transactions.
fn results(lines: &mut Lines, report: &RunReport) {
    let tally = &report.tally;
    if report.server_major() >= COUNTS_ALL_OUTCOMES {
        if tally.total() == 0 {
            return;
        }
        failures(lines, report, tally, "");
    } else {
        failures(lines, report, tally, "");
        if tally.transactions == 0 && tally.skipped == 0 {
            return;
        }
    }
    if report.rate_per_second.is_some() && report.latency_limit_ms.is_some() {
        skipped(lines, tally, "");
    }
    if let Some(limit_ms) = report.latency_limit_ms {
        let late_percent = if tally.transactions > 0 {
            summary::percent(tally.late, tally.transactions)
        } else {
            0.0
        };
        lines.push(format!(
            "number of transactions above the {} ms latency limit: {}/{} ({}%)",
            fixed(limit_ms, 1),
            tally.late,
            tally.transactions,
            fixed(late_percent, 3)
        ));
    }
    match lines.style {
        Style::Pgbench { progress: false }
            if report.rate_per_second.is_none() && report.latency_limit_ms.is_none() =>
        {
            // pgbench has not measured single transactions then.
            let clients_ms = report.seconds * 1000.0 * f64::from(report.clients);
            let average_ms = clients_ms / tally.total() as f64;
            let failures = match tally.failed.total() {
                0 => "",
                _ => " (including failures)",
            };
            let average_ms = fixed(average_ms, 3);
            lines.push(format!("latency average = {average_ms} ms{failures}"));
        }
        _ => latency(lines, &tally.latency, ""),
    }
    if report.rate_per_second.is_some() && (lines.style != Style::Full || !tally.lag.is_empty()) {
        // Without a successful transaction there is no average; pgbench divides 0 by 0 here.
        let average_ms = if tally.lag.is_empty() {
            f64::NAN
        } else {
            tally.lag.mean_ms()
        };
        lines.push(format!(
            "rate limit schedule lag: avg {} (max {}) ms",
            fixed(average_ms, 3),
            fixed(tally.lag.max_ms(), 3)
        ));
    }
    let (time, remark) = match (report.mode, report.reconnect) {
        (Mode::Spi, _) => ("worker start time", "in-server, without worker start time"),
        (Mode::Libpq, true) => ("average connection time", "including reconnection times"),
        (Mode::Libpq, false) => ("initial connection time", "without initial connection time"),
    };
    lines.push(format!(
        "{time} = {} ms",
        fixed(report.connection_time_ms, 3)
    ));
    lines.push(format!("tps = {} ({remark})", fixed(report.tps(), 6)));
    if lines.style == Style::Full {
        harness(lines, report);
    }

    let several = report.scripts.len() > 1;
    for (position, script) in report.scripts.iter().enumerate() {
        if several {
            one_of_several(lines, report, script, position + 1);
        }
        statements(lines, report, script, if several { " - " } else { "" });
    }
}

/// What the harness cost, if that is known.
fn harness(lines: &mut Lines, report: &RunReport) {
    let (Some(us), Some(share)) = (report.harness_us, report.harness_share) else {
        return;
    };
    let (us, percent) = (fixed(us, 2), fixed(100.0 * share, 1));
    lines.push(match report.mode {
        Mode::Libpq => {
            format!("client workers: {us} us of CPU time per transaction, {percent}% of their time")
        }
        Mode::Spi => format!(
            "outside executor and commit: {us} us per transaction, {percent}% of the clients' time"
        ),
    });
}

/// What `part` is of `total`, in percent. pgbench says NaN of 0 transactions.
fn percent(style: Style, part: u64, total: u64) -> f64 {
    match (style, total) {
        (Style::Full, 0) => 0.0,
        _ => summary::percent(part, total),
    }
}

/// Failures and retries of a run or script.
fn failures(lines: &mut Lines, report: &RunReport, tally: &Tally, prefix: &str) {
    let total = tally.total();
    let style = lines.style;
    let share = |part| fixed(percent(style, part, total), 3);
    let failed = &tally.failed;
    lines.push(format!(
        "{prefix}number of failed transactions: {} ({}%)",
        failed.total(),
        share(failed.total())
    ));
    if report.failures_detailed {
        let mut kinds = vec![
            ("serialization", failed.serialization),
            ("deadlock", failed.deadlock),
        ];
        if failed.other > 0 || report.server_major() >= KNOWS_OTHER_FAILURES {
            kinds.push(("other", failed.other));
        }
        for (kind, count) in kinds {
            lines.push(format!(
                "{prefix}number of {kind} failures: {count} ({}%)",
                share(count)
            ));
        }
    }
    if report.max_tries != 1 {
        lines.push(format!(
            "{prefix}number of transactions retried: {} ({}%)",
            tally.retried,
            share(tally.retried)
        ));
        lines.push(format!(
            "{prefix}total number of retries: {}",
            tally.retries
        ));
    }
}

/// Transactions skipped, of a run or script.
fn skipped(lines: &mut Lines, tally: &Tally, prefix: &str) {
    lines.push(format!(
        "{prefix}number of transactions skipped: {} ({}%)",
        tally.skipped,
        fixed(percent(lines.style, tally.skipped, tally.total()), 3)
    ));
}

/// Average and deviation of the latency, nothing without a successful transaction.
fn latency(lines: &mut Lines, latency: &Moments, prefix: &str) {
    if !latency.is_empty() {
        let (average, stddev) = (fixed(latency.mean_ms(), 3), fixed(latency.stddev_ms(), 3));
        lines.push(format!("{prefix}latency average = {average} ms"));
        lines.push(format!("{prefix}latency stddev = {stddev} ms"));
    }
}

/// The part of one of several scripts; `number` counts from 1.
fn one_of_several(lines: &mut Lines, report: &RunReport, script: &ScriptReport, number: usize) {
    let tally = &script.tally;
    let total_weight: i64 = report
        .scripts
        .iter()
        .fold(0, |sum, script| sum.saturating_add(script.weight));
    let tps = fixed(summary::tps(tally.transactions, report.seconds), 6);
    let throttled = report.rate_per_second.is_some() && report.latency_limit_ms.is_some();

    lines.push(format!("SQL script {number}: {}", script.description));
    lines.push(format!(
        " - weight: {} (targets {}% of total)",
        script.weight,
        fixed(100.0 * script.weight as f64 / total_weight as f64, 1)
    ));
    if report.server_major() >= COUNTS_ALL_OUTCOMES {
        lines.push(format!(
            " - {} transactions ({}% of total)",
            tally.total(),
            fixed(percent(lines.style, tally.total(), report.tally.total()), 1)
        ));
        if tally.total() > 0 {
            lines.push(format!(
                " - number of transactions actually processed: {} (tps = {tps})",
                tally.transactions
            ));
            failures(lines, report, tally, " - ");
        }
    } else {
        let of_total = percent(lines.style, tally.transactions, report.tally.transactions);
        lines.push(format!(
            " - {} transactions ({}% of total, tps = {tps})",
            tally.transactions,
            fixed(of_total, 1)
        ));
        failures(lines, report, tally, " - ");
    }
    if throttled && tally.total() > 0 {
        skipped(lines, tally, " - ");
    }
    latency(lines, &tally.latency, " - ");
    if lines.style == Style::Full {
        percentiles(lines, &script.percentiles, &tally.latency, " - ");
        sleep(lines, tally, " - ");
    }
}

/// The figures of a script's commands, if there are any.
fn statements(lines: &mut Lines, report: &RunReport, script: &ScriptReport, prefix: &str) {
    if script.statements.is_empty() {
        return;
    }
    let retries = report.max_tries != 1;
    let gap = if report.server_major() >= COUNTS_ALL_OUTCOMES {
        " "
    } else {
        "  "
    };
    lines.push(format!(
        "{prefix}statement latencies in milliseconds{}:",
        if retries {
            ", failures and retries"
        } else {
            " and failures"
        }
    ));
    for statement in &script.statements {
        let mut line = format!(
            "   {:>11}  {:>10}{gap}",
            fixed(statement.latency_ms, 3),
            statement.failures
        );
        if retries {
            line += &format!("{:>10}{gap}", statement.retries);
        }
        lines.push(line + &statement.text);
    }
}

/// One line of percentiles and the maximum, nothing without percentiles.
fn percentiles(lines: &mut Lines, values: &[(f64, f64)], latency: &Moments, prefix: &str) {
    if values.is_empty() {
        return;
    }
    let mut parts: Vec<String> = values
        .iter()
        .map(|(percent, ms)| format!("p{} {}", shortest(*percent), fixed(*ms, 3)))
        .collect();
    if !latency.is_empty() {
        parts.push(format!("max {}", fixed(latency.max_ms(), 3)));
    }
    lines.push(format!(
        "{prefix}latency percentiles (ms): {}",
        parts.join(", ")
    ));
}

/// What of the latency was time in `\sleep`, nothing if no transaction slept.
fn sleep(lines: &mut Lines, tally: &Tally, prefix: &str) {
    if let Some(sleep_ms) = tally.sleep_mean_ms() {
        lines.push(format!(
            "{prefix}latency average without \\sleep = {} ms ({} ms of it in \\sleep)",
            fixed((tally.latency.mean_ms() - sleep_ms).max(0.0), 3),
            fixed(sleep_ms, 3)
        ));
    }
}

/// What pgbench does not report, and whether the run is complete.
fn additions(lines: &mut Lines, report: &RunReport) {
    percentiles(lines, &report.percentiles, &report.tally.latency, "");
    sleep(lines, &report.tally, "");
    if let Some(pgio) = &report.pgio {
        pgio::figures(pgio)
            .into_iter()
            .for_each(|line| lines.push(line));
    }
    if let Some(held) = report.held_snapshot() {
        lines.push(held);
    }
    if report.warmup_seconds > 0.0 {
        lines.push(format!(
            "warm-up: {} s, {} transactions, not included above",
            shortest(report.warmup_seconds),
            report.warmup_transactions
        ));
    }
    lines.push(format!("random seed: {}", report.seed));
    for (name, value) in &report.variables {
        lines.push(format!("variable: {name} = {}", indented(value)));
    }
    for setting in report
        .settings
        .iter()
        .filter(|setting| settings::is_shown(setting))
    {
        let (name, value) = (&setting.name, indented(&setting.value));
        lines.push(format!("setting: {name} = {value} ({})", setting.source));
    }
    if let Some(run_id) = report.run_id {
        lines.push(format!("run: {run_id}"));
    }
    if let Some(label) = &report.label {
        lines.push(format!("label: {label}"));
    }
    if report.is_complete() {
        return;
    }
    lines.push(if report.state == RunState::Running {
        "Run is still in progress; the above results are incomplete."
    } else {
        "Run was aborted; the above results are incomplete."
    });
    match report.state {
        RunState::Canceled => lines.push("reason: the run was canceled"),
        RunState::Failed => lines.push("reason: the run failed"),
        RunState::Running | RunState::Finished => {}
    }
    if report.aborted_clients > 0 {
        lines.push(format!(
            "reason: {} of {} clients aborted",
            report.aborted_clients, report.clients
        ));
    }
    for error in &report.errors {
        // A server's message may end in a line.
        lines.push(format!("error: {}", indented(error.trim_end())));
    }
}

/// A text that may have several lines, as a part of one.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}
