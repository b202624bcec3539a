//! From counters to figures, from rows to a report.

use super::rows::{Figures, Finished};
use crate::error::{Error, Result};
use selfbench_report::{Limit, Mode, RunReport, RunState, ScriptReport, StatementReport};
use selfbench_script::report_text;
use selfbench_stats::{LatencyHistogram, Moments, Tally, summary};
use std::fmt::Write;

/// The percentiles that are stored and printed.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// The figures of a set of transactions, from its counters, its latency histogram and the time
/// during which they were counted.
pub fn figures(tally: &Tally, histogram: &LatencyHistogram, seconds: f64) -> Figures {
    let some = |value: f64| (tally.latency.count > 0).then_some(value);
    // A percentile is the upper end of its bucket; never print it above the longest latency.
    let percentile = |p: f64| {
        let max = tally.latency.max_ms();
        histogram
            .percentile_ms(p)
            .map(|ms| if max > 0.0 { ms.min(max) } else { ms })
    };
    let lag = |value: f64| (tally.lag.count > 0).then_some(value);
    Figures {
        transactions: tally.transactions as i64,
        serialization_failures: tally.failed.serialization as i64,
        deadlock_failures: tally.failed.deadlock as i64,
        other_failures: tally.failed.other as i64,
        retried: tally.retried as i64,
        retries: tally.retries as i64,
        skipped: tally.skipped as i64,
        late: tally.late as i64,
        tps: (seconds > 0.0).then(|| summary::tps(tally.transactions, seconds)),
        latency_avg_ms: some(tally.latency.mean_ms()),
        latency_stddev_ms: some(tally.latency.stddev_ms()),
        latency_min_ms: some(tally.latency.min_ms()),
        latency_p50_ms: percentile(PERCENTILES[0]),
        latency_p90_ms: percentile(PERCENTILES[1]),
        latency_p95_ms: percentile(PERCENTILES[2]),
        latency_p99_ms: percentile(PERCENTILES[3]),
        latency_p999_ms: percentile(PERCENTILES[4]),
        latency_max_ms: some(tally.latency.max_ms()),
        latency_sum_ms: tally.latency.sum_ns / 1e6,
        latency_sum_squares_ms2: tally.latency.sum_sq_ns2 / 1e12,
        lag_avg_ms: lag(tally.lag.mean_ms()),
        lag_max_ms: lag(tally.lag.max_ms()),
        histogram: histogram
            .encode()
            .ok()
            .filter(|_| !histogram.is_empty())
            .map(|b| hex(&b)),
    }
}

/// A run's report from its rows.
pub fn report(finished: &Finished) -> Result<RunReport> {
    let run = &finished.run;
    let unreadable = |what: &str, value: &str| {
        Error::Limit(format!(
            "run {} has an unknown {what}: \"{value}\"",
            run.run_id
        ))
    };
    let mode = match run.mode.as_str() {
        "spi" => Mode::Spi,
        "libpq" => Mode::Libpq,
        other => return Err(unreadable("mode", other)),
    };
    let state = match run.state.as_str() {
        "finished" => RunState::Finished,
        "canceled" => RunState::Canceled,
        "failed" | "lost" => RunState::Failed,
        _ => RunState::Running,
    };
    Ok(RunReport {
        run_id: (run.run_id != 0).then_some(run.run_id),
        label: run.label.clone(),
        state,
        extension_version: run.extension_version.clone(),
        server_version: run.server_version.clone(),
        server_version_num: run.server_version_num,
        target: run.target.clone(),
        mode,
        protocol: run.protocol.clone(),
        scripts: finished
            .scripts
            .iter()
            .map(|script| ScriptReport {
                name: script.name.clone(),
                description: script.description.clone(),
                weight: script.weight,
                tally: tally(&script.figures),
                percentiles: percentiles(&script.figures),
                statements: finished
                    .statements
                    .iter()
                    .filter(|statement| statement.script_no == script.script_no)
                    .map(|statement| StatementReport {
                        latency_ms: statement.latency_avg_ms.unwrap_or(0.0),
                        failures: statement.failures as u64,
                        retries: statement.retries as u64,
                        text: report_text(&statement.command).to_owned(),
                    })
                    .collect(),
            })
            .collect(),
        scale: run.scale,
        partition_method: run.partition_method.clone(),
        partitions: run.partitions,
        clients: run.clients,
        jobs: run.jobs,
        max_tries: u32::try_from(run.max_tries).unwrap_or(1),
        limit: match (run.transactions_per_client, run.duration_s) {
            (Some(per_client), _) => Limit::Transactions { per_client },
            (None, seconds) => Limit::Duration {
                seconds: seconds.unwrap_or(0.0),
            },
        },
        rate_per_second: run.rate,
        latency_limit_ms: run.latency_limit_ms,
        reconnect: run.reconnect,
        failures_detailed: run.failures_detailed,
        seed: run.seed.parse().unwrap_or(0),
        tally: tally(&run.figures),
        percentiles: percentiles(&run.figures),
        harness_us: run.harness_us,
        harness_share: run.harness_share,
        warmup_seconds: run.warmup_s,
        warmup_transactions: run.warmup_transactions as u64,
        seconds: run.seconds.unwrap_or(0.0),
        connection_time_ms: run.connection_ms.unwrap_or(0.0),
        aborted_clients: run.aborted_clients as _,
        errors: run.errors.clone(),
    })
}

fn percentiles(figures: &Figures) -> Vec<(f64, f64)> {
    let values = [
        figures.latency_p50_ms,
        figures.latency_p90_ms,
        figures.latency_p95_ms,
        figures.latency_p99_ms,
        figures.latency_p999_ms,
    ];
    PERCENTILES
        .iter()
        .zip(values)
        .filter_map(|(p, ms)| Some((*p, ms?)))
        .collect()
}

fn tally(figures: &Figures) -> Tally {
    let mut tally = Tally {
        transactions: figures.transactions as u64,
        retried: figures.retried as u64,
        retries: figures.retries as u64,
        skipped: figures.skipped as u64,
        late: figures.late as u64,
        latency: Moments {
            count: figures.transactions as u64,
            sum_ns: figures.latency_sum_ms * 1e6,
            sum_sq_ns2: figures.latency_sum_squares_ms2 * 1e12,
            min_ns: ns(figures.latency_min_ms),
            max_ns: ns(figures.latency_max_ms),
        },
        // Its deviation is not stored, and not printed.
        lag: figures
            .lag_avg_ms
            .map_or(Moments::default(), |avg_ms| Moments {
                count: figures.transactions as u64,
                sum_ns: avg_ms * 1e6 * figures.transactions as f64,
                max_ns: ns(figures.lag_max_ms),
                ..Moments::default()
            }),
        ..Tally::default()
    };
    tally.failed.serialization = figures.serialization_failures as u64;
    tally.failed.deadlock = figures.deadlock_failures as u64;
    tally.failed.other = figures.other_failures as u64;
    tally
}

fn ns(ms: Option<f64>) -> u64 {
    ms.map_or(0, |ms| (ms * 1e6).round() as u64)
}

/// Bytes as `bytea` reads them.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
