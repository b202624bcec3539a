//! The report of a run of pgio's workload.

use crate::number::{fixed, shortest};
use selfbench_model::PgioRun;

/// The blocks that a run uses, and the memory that they may find a place in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkingSet {
    /// Bytes of all blocks in use.
    pub bytes: i64,
    /// Bytes of the server's shared buffers, if they are known.
    pub shared_buffers_bytes: Option<i64>,
    /// Bytes of memory that the server may use, if they are known.
    pub memory_bytes: Option<i64>,
}

impl WorkingSet {
    /// Returns the working set of a run.
    pub fn of(pgio: &PgioRun) -> WorkingSet {
        WorkingSet {
            bytes: pgio.working_set_bytes,
            shared_buffers_bytes: pgio.shared_buffers_bytes,
            memory_bytes: pgio.memory_bytes,
        }
    }

    /// Says what is measured, if it is not the storage, or not the storage alone.
    pub fn what_is_measured(&self) -> Option<String> {
        let fits = |limit: Option<i64>| limit.filter(|limit| self.bytes <= *limit);
        let bytes = size(self.bytes);
        if let Some(buffers) = fits(self.shared_buffers_bytes) {
            return Some(format!(
                "the working set, {bytes}, fits into shared_buffers, {}: after the first reads, \
                 the run measures the server's buffers, not storage",
                size(buffers)
            ));
        }
        let memory = fits(self.memory_bytes)?;
        Some(format!(
            "the working set, {bytes}, does not fit into shared_buffers, but into the memory of \
             {}: after the first reads, the run measures the operating system's cache, not \
             storage",
            size(memory)
        ))
    }
}

/// Bytes in the largest unit of which there is at least one.
pub(crate) fn size(bytes: i64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let number = if value.fract() == 0.0 {
        shortest(value)
    } else {
        fixed(value, 1)
    };
    format!("{number} {}", units[unit])
}

/// Requested parameters.
pub(crate) fn parameters(pgio: &PgioRun) -> Vec<String> {
    let bytes = pgio.scale.saturating_mul(i64::from(pgio.block_bytes));
    let mut lines = vec![
        format!("number of tables: {}", pgio.tables),
        format!("blocks per table: {} ({})", pgio.scale, size(bytes)),
        format!("threads per table: {}", pgio.threads_per_table),
        format!("updates: {}%", pgio.update_pct),
        format!("work unit: {}", pgio.work_unit),
        format!("update work unit: {}", pgio.update_work_unit),
        format!("loops per transaction: {}", pgio.commit_every),
        format!("scan: {}", pgio.scan),
        format!(
            "working set: {} ({}% of the keys)",
            size(pgio.working_set_bytes),
            shortest(pgio.working_set_pct)
        ),
    ];
    lines.extend(WorkingSet::of(pgio).what_is_measured());
    lines
}

/// The figures; the last line has pgio's own two under their old names.
pub(crate) fn figures(pgio: &PgioRun) -> Vec<String> {
    let (Some(hits), Some(reads)) = (pgio.cache_hits_per_s, pgio.riops) else {
        return vec!["blocks and WAL of the sessions are not known".into()];
    };
    let rate = |value: f64| fixed(value, 1);
    let mut lines = vec![format!(
        "logical reads: {} blocks/s (cache hits {}/s, buffer reads {}/s)",
        rate(hits + reads),
        rate(hits),
        rate(reads)
    )];
    if let (Some(blocks), Some(read_mb)) = (pgio.device_reads_per_s, pgio.device_read_mb_per_s) {
        let share = if reads > 0.0 {
            format!(
                ", {}% of the buffer reads",
                fixed(100.0 * blocks / reads, 1)
            )
        } else {
            String::new()
        };
        lines.push(format!(
            "device reads: {} blocks/s, {} MB/s{share}",
            rate(blocks),
            fixed(read_mb, 3)
        ));
    }
    if let Some(write_mb) = pgio.device_write_mb_per_s {
        lines.push(format!("device writes: {} MB/s", fixed(write_mb, 3)));
    }
    if let (Some(dirtied), Some(written)) = (pgio.blocks_dirtied_per_s, pgio.blocks_written_per_s) {
        let evicted = pgio.blocks_evicted_per_s.map_or(String::new(), |evicted| {
            format!(", evicted by them: {}/s", rate(evicted))
        });
        lines.push(format!(
            "blocks dirtied: {}/s, written by the sessions: {}/s{evicted}",
            rate(dirtied),
            rate(written)
        ));
    }
    if let Some(bytes) = pgio.wal_bytes_per_s {
        let each = pgio.wal_bytes_per_update.map_or(String::new(), |each| {
            format!(", {} bytes per update", rate(each))
        });
        lines.push(format!("WAL: {} bytes/s{each}", rate(bytes)));
    }
    if let Some(mean_ms) = pgio.read_avg_ms {
        let mut line = format!("block read time (ms): average {}", fixed(mean_ms, 3));
        for (percentile, ms) in [
            ("p50", pgio.read_p50_ms),
            ("p95", pgio.read_p95_ms),
            ("p99", pgio.read_p99_ms),
            ("p100", pgio.read_max_ms),
        ] {
            if let Some(ms) = ms {
                line += &format!(", {percentile} {}", fixed(ms, 3));
            }
        }
        lines.push(line);
    }
    lines.push(format!(
        "RIOPS >{}< CACHE_HITS/s >{}<",
        fixed(reads, 0),
        fixed(hits, 0)
    ));
    lines
}
