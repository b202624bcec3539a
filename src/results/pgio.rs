//! The rows of pgio's workload, from what its sessions have counted and used.

use crate::options::Stored;
use crate::run::pgio::{PgioSpec, SELECT, UPDATE};
use crate::server;
use selfbench_model::{PgioRun, PgioSession, Run, RunScript, encoded};
use selfbench_stats::{LatencyHistogram, Tally, Usage};

/// One session of pgio's workload, as it was counted.
pub struct SessionFigures<'s> {
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
    /// Usage of the session, if known.
    pub usage: Option<Usage>,
    /// The time during which that was counted.
    pub seconds: f64,
}

/// The row of a session.
pub fn session_row(session: &SessionFigures) -> PgioSession {
    let script = |name| session.scripts.iter().position(|script| *script == name);
    let tally = |name| script(name).map(|i| session.tallies[i]).unwrap_or_default();
    let histogram = |name| script(name).and_then(|i| encoded(&session.histograms[i]));
    let (selects, updates) = (tally(SELECT), tally(UPDATE));
    let some = |tally: &Tally, ms: f64| (tally.latency.count > 0).then_some(ms);
    PgioSession {
        run_id: session.run_id,
        client: session.number as i32,
        table_no: session.table as i32,
        selects: selects.counts.transactions as i64,
        select_avg_ms: some(&selects, selects.latency.mean_ms()),
        select_max_ms: some(&selects, selects.latency.max_ms()),
        select_histogram: histogram(SELECT),
        updates: updates.counts.transactions as i64,
        update_avg_ms: some(&updates, updates.latency.mean_ms()),
        update_max_ms: some(&updates, updates.latency.max_ms()),
        update_histogram: histogram(UPDATE),
        failed: (selects.counts.failed() + updates.counts.failed()) as i64,
        seconds: session.seconds,
        usage: session.usage,
        read_histogram: session
            .histograms
            .get(session.scripts.len())
            .and_then(encoded),
    }
}

/// The row of a run of pgio's workload, from those of the run and its scripts, what all sessions
/// together have used, if all of them could tell, and the times of reading a block.
pub fn run_row(
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
    let (selects, updates) = (figures(SELECT), figures(UPDATE));
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
        scan: pgio.scan.stored(),
        scale: run.scale,
        block_bytes: server::BLOCK_BYTES,
        working_set_bytes: pgio.working_set_bytes(run.scale),
        shared_buffers_bytes: here.then(server::shared_buffers_bytes),
        memory_bytes: here.then(server::memory_bytes).flatten(),
        seconds,
        selects: selects.counts.transactions as i64,
        updates: updates.counts.transactions as i64,
        failed: (selects.counts.failed() + updates.counts.failed()) as i64,
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
            .filter(|_| updates.counts.transactions > 0)
            .map(|usage| usage.wal_bytes as f64 / updates.counts.transactions as f64),
        select_avg_ms: selects.latency.latency_avg_ms,
        select_p99_ms: selects.latency.latency_p99_ms,
        select_max_ms: selects.latency.latency_max_ms,
        update_avg_ms: updates.latency.latency_avg_ms,
        update_p99_ms: updates.latency.latency_p99_ms,
        update_max_ms: updates.latency.latency_max_ms,
        read_avg_ms: usage
            .filter(|usage| usage.read_ns > 0 && usage.blocks_read > 0)
            .map(|usage| usage.read_ns as f64 / usage.blocks_read as f64 / 1e6),
        read_p50_ms: percentile(50.0),
        read_p95_ms: percentile(95.0),
        read_p99_ms: percentile(99.0),
        read_max_ms: percentile(100.0),
        read_histogram: reads.and_then(encoded),
    }
}
