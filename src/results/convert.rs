//! From counters to figures, from rows to a report.

use crate::error::{Error, Result};
use crate::run::pgio::{self, PgioSpec};
use crate::run::spec::MODES;
use crate::server;
use crate::shared::counters::CommandTally;
use selfbench_client::Usage;
use selfbench_model::{Figures, Finished, PgioRun, PgioSession, Run, RunScript, RunStatement};
use selfbench_report::pgio::{PgioReport, WorkingSet};
use selfbench_report::{Limit, RunReport, RunState, ScriptReport, StatementReport};
use selfbench_script::{Command, builtin, report_text};
use selfbench_stats::{LatencyHistogram, Moments, Tally, summary};
use std::fmt::Write;

/// The percentiles that are stored and printed.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// The figures of a set of transactions, from its counters, its latency histogram and the time
/// during which they were counted.
pub fn figures(tally: &Tally, histogram: &LatencyHistogram, seconds: f64) -> Figures {
    let some = |value: f64| (tally.latency.count > 0).then_some(value);
    let percentile = |p: f64| percentile(histogram, &tally.latency, p);
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
        sleep_avg_ms: tally.sleep_mean_ms(),
        histogram: stored(histogram),
    }
}

/// A percentile of latencies with these moments, in milliseconds. A bucket's value may lie beyond all
/// that were counted in it: never print a percentile below the shortest or above the longest latency.
fn percentile(histogram: &LatencyHistogram, latency: &Moments, p: f64) -> Option<f64> {
    let ms = histogram.percentile_ms(p)?;
    Some(match latency.max_ms() {
        max if max > 0.0 => ms.clamp(latency.min_ms().min(max), max),
        _ => ms,
    })
}

/// The figures of one command of a script.
pub fn statement(
    run_id: i64,
    script_no: usize,
    command_no: usize,
    command: &Command,
    tally: &CommandTally,
    histogram: &LatencyHistogram,
) -> RunStatement {
    let latency = &tally.latency;
    let some = |value: f64| (latency.count > 0).then_some(value);
    let percentile = |p: f64| percentile(histogram, latency, p);
    RunStatement {
        run_id,
        script_no: script_no as i32,
        command_no: command_no as i32,
        line: command.line as i32,
        command: command.text.clone(),
        executions: latency.count as i64,
        failures: tally.failures as i64,
        retries: tally.retries as i64,
        latency_avg_ms: some(latency.mean_ms()),
        latency_stddev_ms: some(latency.stddev_ms()),
        latency_min_ms: some(latency.min_ms()),
        latency_p50_ms: percentile(PERCENTILES[0]),
        latency_p90_ms: percentile(PERCENTILES[1]),
        latency_p95_ms: percentile(PERCENTILES[2]),
        latency_p99_ms: percentile(PERCENTILES[3]),
        latency_p999_ms: percentile(PERCENTILES[4]),
        latency_max_ms: some(latency.max_ms()),
        histogram: stored(histogram),
    }
}

/// One session of pgio's workload, as it was counted.
pub struct Session<'s> {
    /// The run.
    pub run_id: i64,
    /// Number of the client.
    pub number: usize,
    /// Number of its table.
    pub table: usize,
    /// Names of the scripts.
    pub scripts: &'s [&'s str],
    /// Its counters by script.
    pub tallies: &'s [Tally],
    /// Its histograms by script; then that of reads, if they were measured.
    pub histograms: &'s [LatencyHistogram],
    /// What it has used, if it could tell.
    pub usage: Option<Usage>,
    /// The time during which that was counted.
    pub seconds: f64,
}

/// The row of a session.
pub fn pgio_session(session: &Session) -> PgioSession {
    let script = |name| session.scripts.iter().position(|script| *script == name);
    let tally = |name| script(name).map(|i| session.tallies[i]).unwrap_or_default();
    let histogram = |name| script(name).and_then(|i| stored(&session.histograms[i]));
    let (selects, updates) = (tally(pgio::SELECT), tally(pgio::UPDATE));
    let some = |tally: &Tally, ms: f64| (tally.latency.count > 0).then_some(ms);
    let known = |word: fn(&Usage) -> Option<u64>| Some(word(&session.usage?)? as i64);
    let used = |word: fn(&Usage) -> u64| session.usage.map(|usage| word(&usage) as i64);
    let ms = |ns: fn(&Usage) -> u64| session.usage.map(|usage| ns(&usage) as f64 / 1e6);
    PgioSession {
        run_id: session.run_id,
        client: session.number as i32,
        table_no: session.table as i32,
        selects: selects.transactions as i64,
        select_avg_ms: some(&selects, selects.latency.mean_ms()),
        select_max_ms: some(&selects, selects.latency.max_ms()),
        select_histogram: histogram(pgio::SELECT),
        updates: updates.transactions as i64,
        update_avg_ms: some(&updates, updates.latency.mean_ms()),
        update_max_ms: some(&updates, updates.latency.max_ms()),
        update_histogram: histogram(pgio::UPDATE),
        failed: (selects.failed.total() + updates.failed.total()) as i64,
        seconds: session.seconds,
        blocks_hit: used(|u| u.blocks_hit),
        blocks_read: used(|u| u.blocks_read),
        blocks_dirtied: used(|u| u.blocks_dirtied),
        blocks_written: used(|u| u.blocks_written),
        blocks_evicted: known(|u| u.blocks_evicted),
        read_ms: ms(|u| u.read_ns),
        write_ms: ms(|u| u.write_ns),
        wal_records: used(|u| u.wal_records),
        wal_fpi: used(|u| u.wal_fpi),
        wal_bytes: used(|u| u.wal_bytes),
        device_read_bytes: known(|u| u.device_read_bytes),
        device_write_bytes: known(|u| u.device_write_bytes),
        read_histogram: session
            .histograms
            .get(session.scripts.len())
            .and_then(stored),
    }
}

/// The row of a run of pgio's workload, from those of the run and its scripts, what all sessions
/// together have used, if all of them could tell, and the times of reading a block.
pub fn pgio_run(
    run: &Run,
    scripts: &[RunScript],
    pgio: &PgioSpec,
    usage: Option<Usage>,
    reads: Option<&LatencyHistogram>,
) -> PgioRun {
    let seconds = run.seconds.filter(|seconds| *seconds > 0.0);
    let block = f64::from(server::BLOCK_BYTES);
    let per_second = |value: fn(&Usage) -> u64| Some(value(&usage?) as f64 / seconds?);
    let known_per_second =
        |value: fn(&Usage) -> Option<u64>| Some(value(&usage?)? as f64 / seconds?);
    let figures = |name| {
        let script = scripts.iter().find(|script| script.name == name);
        script
            .map(|script| script.figures.clone())
            .unwrap_or_default()
    };
    let (selects, updates) = (figures(pgio::SELECT), figures(pgio::UPDATE));
    let failed = |f: &Figures| f.serialization_failures + f.deadlock_failures + f.other_failures;
    let percentile = |p| reads.and_then(|reads| reads.percentile_ms(p));
    let here = run.target.is_none();
    PgioRun {
        run_id: run.run_id,
        tables: pgio.tables as i32,
        threads_per_table: pgio.threads_per_table as i32,
        update_pct: pgio.update_pct,
        work_unit: pgio.work_unit,
        update_work_unit: pgio.update_work_unit,
        commit_every: pgio.commit_every as i32,
        working_set_pct: pgio.working_set_pct,
        scan: pgio.scan.as_str().into(),
        scale: run.scale,
        block_bytes: server::BLOCK_BYTES,
        working_set_bytes: pgio.working_set_bytes(run.scale),
        shared_buffers_bytes: here.then(server::shared_buffers_bytes),
        memory_bytes: here.then(server::memory_bytes).flatten(),
        seconds,
        selects: selects.transactions,
        updates: updates.transactions,
        failed: failed(&selects) + failed(&updates),
        riops: per_second(|u| u.blocks_read),
        cache_hits_per_s: per_second(|u| u.blocks_hit),
        logical_reads_per_s: per_second(|u| u.blocks_hit + u.blocks_read),
        device_reads_per_s: known_per_second(|u| u.device_read_bytes).map(|bytes| bytes / block),
        device_read_mb_per_s: known_per_second(|u| u.device_read_bytes).map(|bytes| bytes / 1e6),
        device_write_mb_per_s: known_per_second(|u| u.device_write_bytes).map(|bytes| bytes / 1e6),
        blocks_dirtied_per_s: per_second(|u| u.blocks_dirtied),
        blocks_written_per_s: per_second(|u| u.blocks_written),
        blocks_evicted_per_s: known_per_second(|u| u.blocks_evicted),
        wal_bytes_per_s: per_second(|u| u.wal_bytes),
        wal_bytes_per_update: usage
            .filter(|_| updates.transactions > 0)
            .map(|usage| usage.wal_bytes as f64 / updates.transactions as f64),
        select_avg_ms: selects.latency_avg_ms,
        select_p99_ms: selects.latency_p99_ms,
        select_max_ms: selects.latency_max_ms,
        update_avg_ms: updates.latency_avg_ms,
        update_p99_ms: updates.latency_p99_ms,
        update_max_ms: updates.latency_max_ms,
        read_avg_ms: usage
            .filter(|usage| usage.read_ns > 0 && usage.blocks_read > 0)
            .map(|usage| usage.read_ns as f64 / usage.blocks_read as f64 / 1e6),
        read_p50_ms: percentile(50.0),
        read_p95_ms: percentile(95.0),
        read_p99_ms: percentile(99.0),
        read_max_ms: percentile(100.0),
        read_histogram: reads.and_then(stored),
    }
}

/// A run's report from its rows, without the settings under which it took place.
pub fn report(finished: &Finished) -> Result<RunReport> {
    let run = &finished.run;
    let mode = MODES.into_iter().find(|mode| mode.name() == run.mode);
    let Some(mode) = mode else {
        let (run_id, mode) = (run.run_id, &run.mode);
        return Err(Error::Limit(format!(
            "run {run_id} has an unknown mode: \"{mode}\""
        )));
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
        scripts: match finished.scripts.as_slice() {
            // They are stored at the end.
            [] => run.scripts.iter().map(|text| named(text)).collect(),
            scripts => scripts
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
        },
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
        variables: run.variables.clone().into_iter().collect(),
        settings: Vec::new(),
        tally: tally(&run.figures),
        percentiles: percentiles(&run.figures),
        harness_us: run.harness_us,
        harness_share: run.harness_share,
        snapshot_held: run.snapshot_held_s.zip(run.snapshot_held_by.clone()),
        processors: run.processors,
        other_runs: run.other_runs,
        warmup_seconds: run.warmup_s,
        warmup_transactions: run.warmup_transactions as u64,
        seconds: run.seconds.unwrap_or(0.0),
        connection_time_ms: run.connection_ms.unwrap_or(0.0),
        aborted_clients: run.aborted_clients as _,
        errors: run.errors.clone(),
        pgio: finished.pgio.as_ref().map(pgio_report),
    })
}

/// A script of which only the name is known, with its weight as it was given.
fn named(text: &str) -> ScriptReport {
    let (name, weight) = builtin::parse_weight(text).unwrap_or((text, 1));
    let description = match builtin::find_builtin(name) {
        Ok(script) if script.name == name => script.description,
        _ => name,
    };
    ScriptReport {
        name: name.into(),
        description: description.into(),
        weight,
        tally: Tally::default(),
        percentiles: Vec::new(),
        statements: Vec::new(),
    }
}

fn pgio_report(pgio: &PgioRun) -> PgioReport {
    let percentiles = [
        (50.0, pgio.read_p50_ms),
        (95.0, pgio.read_p95_ms),
        (99.0, pgio.read_p99_ms),
        (100.0, pgio.read_max_ms),
    ];
    let percentiles = percentiles.into_iter();
    PgioReport {
        tables: pgio.tables,
        blocks: pgio.scale,
        block_bytes: pgio.block_bytes,
        threads_per_table: pgio.threads_per_table,
        update_pct: pgio.update_pct,
        work_unit: pgio.work_unit,
        update_work_unit: pgio.update_work_unit,
        commit_every: pgio.commit_every,
        working_set_pct: pgio.working_set_pct,
        scan: pgio.scan.clone(),
        working_set: WorkingSet {
            bytes: pgio.working_set_bytes,
            shared_buffers_bytes: pgio.shared_buffers_bytes,
            memory_bytes: pgio.memory_bytes,
        },
        cache_hits: pgio.cache_hits_per_s,
        buffer_reads: pgio.riops,
        device_reads: pgio.device_reads_per_s,
        device_read_mb: pgio.device_read_mb_per_s,
        device_write_mb: pgio.device_write_mb_per_s,
        dirtied: pgio.blocks_dirtied_per_s,
        written: pgio.blocks_written_per_s,
        evicted: pgio.blocks_evicted_per_s,
        wal_bytes: pgio.wal_bytes_per_s,
        wal_bytes_per_update: pgio.wal_bytes_per_update,
        reads_ms: pgio.read_avg_ms.map(|mean| {
            (
                mean,
                percentiles.filter_map(|(p, ms)| Some((p, ms?))).collect(),
            )
        }),
    }
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
        sleep_ns: ns(figures.sleep_avg_ms).saturating_mul(figures.transactions as u64),
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

/// A histogram as `bytea` reads it; `None` if it is empty.
fn stored(histogram: &LatencyHistogram) -> Option<String> {
    let bytes = histogram.encode().ok();
    bytes.filter(|_| !histogram.is_empty()).map(|b| hex(&b))
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
