//! A run's report as text: the lines of pgbench's report in their order, then, unless pgbench's
//! alone are asked for, what pgbench has not.
//!
//! The layout is `printResults` of pgbench.c of the server's major version: 15 to 17 alike, 18
//! with a part of its own for what failed.

use crate::advice::{Finding, Severity, advice, violation};
use crate::number::{counted, fixed, shortest};
use crate::{pgio, profile, settings};
use selfbench_model::{
    Evidence, Figures, Latency, Mode, Run, RunCheck, RunRecord, RunScript, RunState, Validation,
};
use selfbench_script::report_text;
use selfbench_stats::{Counts, summary};

/// First major version that reports runs without a successful transaction in full, and scripts by
/// their transactions of all outcomes.
const COUNTS_ALL_OUTCOMES: i32 = 18;

/// First major version that knows failures of other kinds than serialization and deadlock.
const KNOWS_OTHER_FAILURES: i32 = 19;
/// Number of warnings that a report has; the rest is in `bench.advice`.
const UNFOLDED_WARNINGS: usize = 3;
/// Number of shown characters of a run's option "sql".
const MAX_SQL_CHARS: usize = 72;

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
pub fn text(record: &RunRecord, evidence: &Evidence) -> String {
    let mut text = lines(record, evidence, Style::Full).join("\n");
    text.push('\n');
    text
}

/// The lines of a run's report.
pub fn lines(record: &RunRecord, evidence: &Evidence, style: Style) -> Vec<String> {
    let mut lines = Lines {
        lines: Vec::new(),
        style,
    };
    parameters(&mut lines, record);
    results(&mut lines, record);
    if style == Style::Full {
        additions(&mut lines, record, evidence);
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

/// The start of some statements, in one line.
fn start_of(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SQL_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Writes what was asked for, and how much of it was done.
fn parameters(lines: &mut Lines, record: &RunRecord) {
    let run = &record.run;
    lines.push(match lines.style {
        Style::Full => format!(
            "pg_selfbench {} (PostgreSQL {})",
            run.extension_version, run.server_version
        ),
        Style::Pgbench { .. } => format!("pgbench ({})", run.server_version),
    });
    let transaction_type = match (&run.sql, record.scripts.as_slice()) {
        (Some(sql), _) => start_of(sql),
        (None, [script]) => script.description.clone(),
        (None, _) => "multiple scripts".into(),
    };
    lines.push(format!("transaction type: {transaction_type}"));
    let mut mixes: Vec<&str> = record.scripts.iter().filter_map(RunScript::mix).collect();
    mixes.dedup();
    if lines.style == Style::Full && !mixes.is_empty() {
        lines.push(format!("workload: {}", mixes.join(", ")));
    }
    if record.pgio.is_none() {
        lines.push(format!("scaling factor: {}", run.scale));
    }
    if let Some(method) = &run.partition_method {
        lines.push(format!("partition method: {method}"));
        lines.push(format!("partitions: {}", run.partitions.unwrap_or(0)));
    }
    if let Some(pgio) = &record.pgio {
        pgio::parameters(pgio)
            .into_iter()
            .for_each(|line| lines.push(line));
    }
    lines.push(format!("query mode: {}", run.protocol));
    if lines.style == Style::Full || run.mode == Mode::Spi {
        lines.push(format!("execution mode: {}", run.mode.description()));
    }
    if let (Style::Full, Some(target)) = (lines.style, &run.target) {
        lines.push(format!("target: {target}"));
    }
    if let (Style::Full, Some(origin)) = (lines.style, &run.imported_from) {
        let cluster = origin.cluster_name.iter();
        let cluster: String = cluster
            .map(|name| format!(", cluster \"{name}\""))
            .collect();
        lines.push(format!(
            "imported: run {} of database \"{}\"{cluster}, system {}",
            origin.run_id, origin.database, origin.system_identifier
        ));
    }
    if let (Style::Full, Some(at)) = (lines.style, &run.thinned_at) {
        let date = at.get(..10).unwrap_or(at);
        lines.push(format!(
            "intervals, histograms, stacks and log: deleted on {date}"
        ));
    }
    lines.push(format!("number of clients: {}", run.clients));
    lines.push(format!("number of threads: {}", run.jobs));
    if lines.style == Style::Full && run.workers != run.jobs {
        lines.push(format!("number of processes: {}", run.workers));
    }
    if run.max_tries != 0 {
        lines.push(format!("maximum number of tries: {}", run.max_tries));
    }
    let processed = format!(
        "number of transactions actually processed: {}",
        run.figures.counts.transactions
    );
    match run.transactions_per_client {
        Some(per_client) => {
            let planned = per_client.saturating_mul(i64::from(run.clients));
            lines.push(format!("number of transactions per client: {per_client}"));
            lines.push(format!("{processed}/{planned}"));
        }
        None => {
            let seconds = run.duration_s.unwrap_or(0.0);
            lines.push(format!("duration: {} s", shortest(seconds)));
            lines.push(processed);
        }
    }
}

/// The figures, up to the point where this version of pgbench stops for want of transactions.
fn results(lines: &mut Lines, record: &RunRecord) {
    let run = &record.run;
    let figures = &run.figures;
    let counts = &figures.counts;
    let seconds = run.seconds.unwrap_or(0.0);
    if run.server_major() >= COUNTS_ALL_OUTCOMES {
        if counts.total() == 0 {
            return;
        }
        failures(lines, run, counts, "");
    } else {
        failures(lines, run, counts, "");
        if counts.transactions == 0 && counts.skipped == 0 {
            return;
        }
    }
    if run.rate.is_some() && run.latency_limit_ms.is_some() {
        skipped(lines, counts, "");
    }
    if let Some(limit_ms) = run.latency_limit_ms {
        let late_percent = if counts.transactions > 0 {
            summary::percent(counts.late, counts.transactions)
        } else {
            0.0
        };
        lines.push(format!(
            "number of transactions above the {} ms latency limit: {}/{} ({}%)",
            fixed(limit_ms, 1),
            counts.late,
            counts.transactions,
            fixed(late_percent, 3)
        ));
    }
    match lines.style {
        Style::Pgbench { progress: false }
            if run.rate.is_none() && run.latency_limit_ms.is_none() =>
        {
            // pgbench has not measured single transactions then.
            let clients_ms = seconds * 1000.0 * f64::from(run.clients);
            let average_ms = clients_ms / counts.total() as f64;
            let failures = match counts.failed() {
                0 => "",
                _ => " (including failures)",
            };
            let average_ms = fixed(average_ms, 3);
            lines.push(format!("latency average = {average_ms} ms{failures}"));
        }
        _ => latency(lines, &figures.latency, ""),
    }
    if run.rate.is_some() && (lines.style != Style::Full || figures.lag_avg_ms.is_some()) {
        // Without a successful transaction there is no average; pgbench divides 0 by 0 here.
        lines.push(format!(
            "rate limit schedule lag: avg {} (max {}) ms",
            fixed(figures.lag_avg_ms.unwrap_or(f64::NAN), 3),
            fixed(figures.lag_max_ms.unwrap_or(0.0), 3)
        ));
    }
    let (time, remark) = match (run.mode, run.reconnect) {
        (Mode::Spi, _) => ("worker start time", "in-server, without worker start time"),
        (Mode::Libpq, true) => ("average connection time", "including reconnection times"),
        (Mode::Libpq, false) => ("initial connection time", "without initial connection time"),
    };
    lines.push(format!(
        "{time} = {} ms",
        fixed(run.connection_ms.unwrap_or(0.0), 3)
    ));
    let tps = summary::tps(counts.transactions, seconds);
    lines.push(format!("tps = {} ({remark})", fixed(tps, 6)));
    if lines.style == Style::Full {
        harness(lines, run);
    }

    let several = record.scripts.len() > 1;
    for (position, script) in record.scripts.iter().enumerate() {
        if several {
            one_of_several(lines, record, script, position + 1);
        }
        let prefix = if several { " - " } else { "" };
        if lines.style == Style::Full {
            of_workload(lines, script, prefix);
        }
        statements(lines, record, script, prefix);
    }
}

/// Writes the cost of the harness, if known.
fn harness(lines: &mut Lines, run: &Run) {
    let (Some(us), Some(share)) = (run.overhead_us, run.overhead_share) else {
        return;
    };
    let (us, percent) = (fixed(us, 2), fixed(100.0 * share, 1));
    lines.push(match run.mode {
        Mode::Libpq => {
            format!("client workers: {us} us of CPU time per transaction, {percent}% of their time")
        }
        Mode::Spi => format!(
            "outside executor and commit: {us} us per transaction, {percent}% of the clients' time"
        ),
    });
}

/// Share of `part` in `total`, in percent. pgbench says NaN of 0 transactions.
fn percent(style: Style, part: u64, total: u64) -> f64 {
    match (style, total) {
        (Style::Full, 0) => 0.0,
        _ => summary::percent(part, total),
    }
}

/// Failures and retries of a run or script.
fn failures(lines: &mut Lines, run: &Run, counts: &Counts, prefix: &str) {
    let total = counts.total();
    let style = lines.style;
    let share = |part| fixed(percent(style, part, total), 3);
    lines.push(format!(
        "{prefix}number of failed transactions: {} ({}%)",
        counts.failed(),
        share(counts.failed())
    ));
    if run.failures_detailed {
        let mut kinds = vec![
            ("serialization", counts.serialization_failures),
            ("deadlock", counts.deadlock_failures),
        ];
        if counts.other_failures > 0 || run.server_major() >= KNOWS_OTHER_FAILURES {
            kinds.push(("other", counts.other_failures));
        }
        for (kind, count) in kinds {
            lines.push(format!(
                "{prefix}number of {kind} failures: {count} ({}%)",
                share(count)
            ));
        }
    }
    if run.max_tries != 1 {
        lines.push(format!(
            "{prefix}number of transactions retried: {} ({}%)",
            counts.retried,
            share(counts.retried)
        ));
        lines.push(format!(
            "{prefix}total number of retries: {}",
            counts.retries
        ));
    }
}

/// Transactions skipped, of a run or script.
fn skipped(lines: &mut Lines, counts: &Counts, prefix: &str) {
    lines.push(format!(
        "{prefix}number of transactions skipped: {} ({}%)",
        counts.skipped,
        fixed(percent(lines.style, counts.skipped, counts.total()), 3)
    ));
}

/// Average and deviation of the latency, nothing without a successful transaction.
fn latency(lines: &mut Lines, latency: &Latency, prefix: &str) {
    if let (Some(average), Some(stddev)) = (latency.latency_avg_ms, latency.latency_stddev_ms) {
        let (average, stddev) = (fixed(average, 3), fixed(stddev, 3));
        lines.push(format!("{prefix}latency average = {average} ms"));
        lines.push(format!("{prefix}latency stddev = {stddev} ms"));
    }
}

/// The part of one of several scripts; `number` counts from 1.
fn one_of_several(lines: &mut Lines, record: &RunRecord, script: &RunScript, number: usize) {
    let run = &record.run;
    let counts = &script.figures.counts;
    let total_weight: i64 = record
        .scripts
        .iter()
        .fold(0, |sum, script| sum.saturating_add(script.weight));
    let tps = summary::tps(counts.transactions, run.seconds.unwrap_or(0.0));
    let tps = fixed(tps, 6);
    let throttled = run.rate.is_some() && run.latency_limit_ms.is_some();

    lines.push(format!("SQL script {number}: {}", script.description));
    lines.push(format!(
        " - weight: {} (targets {}% of total)",
        script.weight,
        fixed(100.0 * script.weight as f64 / total_weight as f64, 1)
    ));
    let all = &run.figures.counts;
    if run.server_major() >= COUNTS_ALL_OUTCOMES {
        lines.push(format!(
            " - {} transactions ({}% of total)",
            counts.total(),
            fixed(percent(lines.style, counts.total(), all.total()), 1)
        ));
        if counts.total() > 0 {
            lines.push(format!(
                " - number of transactions actually processed: {} (tps = {tps})",
                counts.transactions
            ));
            failures(lines, run, counts, " - ");
        }
    } else {
        let of_total = percent(lines.style, counts.transactions, all.transactions);
        lines.push(format!(
            " - {} transactions ({}% of total, tps = {tps})",
            counts.transactions,
            fixed(of_total, 1)
        ));
        failures(lines, run, counts, " - ");
    }
    if throttled && counts.total() > 0 {
        skipped(lines, counts, " - ");
    }
    latency(lines, &script.figures.latency, " - ");
    if lines.style == Style::Full {
        percentiles(lines, &script.figures.latency, " - ");
        sleep(lines, &script.figures, " - ");
    }
}

/// Further figures that the workload of a script asks for, if any.
fn of_workload(lines: &mut Lines, script: &RunScript, prefix: &str) {
    let counts = &script.figures.counts;
    if counts.rolled_back > 0 {
        let percent = summary::percent(counts.rolled_back, counts.transactions);
        lines.push(format!(
            "{prefix}number of transactions rolled back on purpose: {} ({}%)",
            counts.rolled_back,
            fixed(percent, 3)
        ));
    }
    if let (Some(limit_ms), Some(is_met)) = (script.p90_limit_ms, script.p90_is_met()) {
        let verdict = if is_met { "met" } else { "exceeded" };
        lines.push(format!(
            "{prefix}limit of the 90th percentile: {} ms ({verdict})",
            shortest(limit_ms)
        ));
    }
    if let (Some(per_minute), Some(of)) = (script.per_minute, &script.per_minute_of) {
        lines.push(format!(
            "{prefix}{of} per minute: {} (not comparable with published results)",
            fixed(per_minute, 1)
        ));
    }
}

/// The figures of a script's commands, if there are any.
fn statements(lines: &mut Lines, record: &RunRecord, script: &RunScript, prefix: &str) {
    let run = &record.run;
    let mut statements = record
        .statements
        .iter()
        .filter(|statement| statement.script_no == script.script_no)
        .peekable();
    if statements.peek().is_none() {
        return;
    }
    let retries = run.max_tries != 1;
    let gap = if run.server_major() >= COUNTS_ALL_OUTCOMES {
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
    for statement in statements {
        let mut line = format!(
            "   {:>11}  {:>10}{gap}",
            fixed(statement.latency.latency_avg_ms.unwrap_or(0.0), 3),
            statement.failures
        );
        if retries {
            line += &format!("{:>10}{gap}", statement.retries);
        }
        lines.push(line + report_text(&statement.command));
    }
}

/// One line of percentiles and the maximum, nothing without percentiles.
fn percentiles(lines: &mut Lines, latency: &Latency, prefix: &str) {
    let values = latency.percentiles();
    if values.is_empty() {
        return;
    }
    let mut parts: Vec<String> = values
        .iter()
        .map(|(percent, ms)| format!("p{} {}", shortest(*percent), fixed(*ms, 3)))
        .collect();
    if let Some(max) = latency.latency_max_ms {
        parts.push(format!("max {}", fixed(max, 3)));
    }
    lines.push(format!(
        "{prefix}latency percentiles (ms): {}",
        parts.join(", ")
    ));
}

/// Writes the part of the latency spent in `\sleep`; nothing if no transaction slept.
fn sleep(lines: &mut Lines, figures: &Figures, prefix: &str) {
    if let Some(sleep_ms) = figures.sleep_avg_ms {
        let average_ms = figures.latency.latency_avg_ms.unwrap_or(0.0);
        lines.push(format!(
            "{prefix}latency average without \\sleep = {} ms ({} ms of it in \\sleep)",
            fixed((average_ms - sleep_ms).max(0.0), 3),
            fixed(sleep_ms, 3)
        ));
    }
}

/// Writes what pgbench does not report, and whether the run is complete.
fn additions(lines: &mut Lines, record: &RunRecord, evidence: &Evidence) {
    let run = &record.run;
    percentiles(lines, &run.figures.latency, "");
    sleep(lines, &run.figures, "");
    if let Some(pgio) = &record.pgio {
        pgio::figures(pgio)
            .into_iter()
            .for_each(|line| lines.push(line));
    }
    checks(lines, &record.checks);
    if let Some(validation) = &evidence.validation {
        captured(lines, validation);
    }
    // Notes are less important, and the errors follow.
    let findings = advice(record, evidence);
    let warnings = |finding: &&Finding| finding.severity == Severity::Warning;
    let mut warnings: Vec<&Finding> = findings.iter().filter(warnings).collect();
    let others = warnings.split_off(warnings.len().min(UNFOLDED_WARNINGS));
    for warning in warnings {
        lines.push(format!(
            "warning: {}: {}",
            warning.finding, warning.evidence
        ));
    }
    if !others.is_empty() {
        lines.push(format!(
            "{}: SELECT * FROM bench.advice({})",
            counted(others.len(), "more warning"),
            run.run_id
        ));
    }
    profile::lines(&record.profiles).for_each(|line| lines.push(line));
    if run.warmup_s > 0.0 {
        lines.push(format!(
            "warm-up: {} s{}, {} transactions, not included above",
            shortest(run.warmup_s),
            run.warmup_ended(),
            run.warmup_transactions
        ));
    }
    lines.push(format!("random seed: {}", run.seed));
    for (name, value) in &run.variables {
        lines.push(format!("variable: {name} = {}", indented(value)));
    }
    for setting in evidence
        .settings
        .iter()
        .filter(|setting| settings::is_shown(setting))
    {
        let (name, value) = (&setting.name, indented(&setting.value));
        lines.push(format!("setting: {name} = {value} ({})", setting.source));
    }
    if run.run_id != 0 {
        lines.push(format!("run: {}", run.run_id));
    }
    if let Some(label) = &run.label {
        lines.push(format!("label: {label}"));
    }
    if run.is_complete() {
        return;
    }
    lines.push(if run.is_in_progress() {
        "Run is still in progress; the above results are incomplete."
    } else {
        "Run was aborted; the above results are incomplete."
    });
    match run.state {
        RunState::Canceled => lines.push("reason: the run was canceled"),
        RunState::Failed => lines.push("reason: the run failed"),
        RunState::Lost => lines.push("reason: the run was lost"),
        RunState::Starting | RunState::Running | RunState::Finished => {}
    }
    if run.aborted_clients > 0 {
        lines.push(format!(
            "reason: {} of {} clients aborted",
            run.aborted_clients, run.clients
        ));
    }
    for error in &run.errors {
        // A server's message may end in a line.
        lines.push(format!("error: {}", indented(error.trim_end())));
    }
}

/// Writes what was found of the conditions of the workload; nothing if they were not checked.
fn checks(lines: &mut Lines, checks: &[RunCheck]) {
    if checks.is_empty() {
        return;
    }
    let count = |holds| checks.iter().filter(|check| check.holds == holds).count();
    lines.push(format!(
        "conditions after the run: {} hold, {} violated, {} not judged",
        count(Some(true)),
        count(Some(false)),
        count(None)
    ));
    for check in checks.iter().filter(|check| check.holds == Some(false)) {
        lines.push(format!("violated: {}", indented(&violation(check))));
    }
}

/// Writes whether the run is like what its workload was captured from.
fn captured(lines: &mut Lines, validation: &Validation) {
    lines.push(format!("captured workload: {}", validation.verdict));
    for (number, judgement) in &validation.others {
        lines.push(format!("statement {number}: {}", indented(judgement)));
    }
}

/// A text that may have several lines, as a part of one.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}
