//! What a run of pgio's workload amounts to, as text.

use crate::number::{fixed, shortest};

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
    /// What is measured, if it is not the storage, or not the storage alone.
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
fn size(bytes: i64) -> String {
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

/// What the report of such a run says beyond that of any run. Rates are per second, over all
/// sessions; `None` is what nobody could tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PgioReport {
    /// Number of tables.
    pub tables: i32,
    /// Blocks of each.
    pub blocks: i64,
    /// Bytes of a block.
    pub block_bytes: i32,
    /// Sessions of each.
    pub threads_per_table: i32,
    /// How many loops in a hundred update.
    pub update_pct: i32,
    /// How many keys further a loop reads.
    pub work_unit: i32,
    /// How many keys further a loop updates.
    pub update_work_unit: i32,
    /// Loops of a transaction.
    pub commit_every: i32,
    /// The part of each table that was used, in percent.
    pub working_set_pct: f64,
    /// How rows were looked for.
    pub scan: String,
    /// The blocks in use, and the memory.
    pub working_set: WorkingSet,
    /// Blocks found in shared buffers.
    pub cache_hits: Option<f64>,
    /// Blocks read into shared buffers.
    pub buffer_reads: Option<f64>,
    /// Blocks that came from a block device.
    pub device_reads: Option<f64>,
    /// The same in megabytes.
    pub device_read_mb: Option<f64>,
    /// Megabytes that were given to the system to be written to a block device.
    pub device_write_mb: Option<f64>,
    /// Blocks that became dirty.
    pub dirtied: Option<f64>,
    /// Blocks that the sessions wrote: to make room, or by which tables grew.
    pub written: Option<f64>,
    /// Blocks that they threw out of shared buffers to make room, if the server tells.
    pub evicted: Option<f64>,
    /// Bytes of WAL.
    pub wal_bytes: Option<f64>,
    /// Bytes of WAL of each update, if there were any.
    pub wal_bytes_per_update: Option<f64>,
    /// Mean time of reading a block in milliseconds, and its percentiles: percent and milliseconds;
    /// if they were measured.
    pub reads_ms: Option<(f64, Vec<(f64, f64)>)>,
}

/// What was asked for.
pub(crate) fn parameters(pgio: &PgioReport) -> Vec<String> {
    let bytes = pgio.blocks.saturating_mul(i64::from(pgio.block_bytes));
    let mut lines = vec![
        format!("number of tables: {}", pgio.tables),
        format!("blocks per table: {} ({})", pgio.blocks, size(bytes)),
        format!("threads per table: {}", pgio.threads_per_table),
        format!("updates: {}%", pgio.update_pct),
        format!("work unit: {}", pgio.work_unit),
        format!("update work unit: {}", pgio.update_work_unit),
        format!("loops per transaction: {}", pgio.commit_every),
        format!("scan: {}", pgio.scan),
        format!(
            "working set: {} ({}% of the keys)",
            size(pgio.working_set.bytes),
            shortest(pgio.working_set_pct)
        ),
    ];
    lines.extend(pgio.working_set.what_is_measured());
    lines
}

/// The figures; the last line has pgio's own two under their old names.
pub(crate) fn figures(pgio: &PgioReport) -> Vec<String> {
    let (Some(hits), Some(reads)) = (pgio.cache_hits, pgio.buffer_reads) else {
        return vec!["blocks and WAL of the sessions are not known".into()];
    };
    let rate = |value: f64| fixed(value, 1);
    let mut lines = vec![format!(
        "logical reads: {} blocks/s (cache hits {}/s, buffer reads {}/s)",
        rate(hits + reads),
        rate(hits),
        rate(reads)
    )];
    if let (Some(blocks), Some(read_mb)) = (pgio.device_reads, pgio.device_read_mb) {
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
    if let Some(write_mb) = pgio.device_write_mb {
        lines.push(format!("device writes: {} MB/s", fixed(write_mb, 3)));
    }
    if let (Some(dirtied), Some(written)) = (pgio.dirtied, pgio.written) {
        let evicted = pgio.evicted.map_or(String::new(), |evicted| {
            format!(", evicted by them: {}/s", rate(evicted))
        });
        lines.push(format!(
            "blocks dirtied: {}/s, written by the sessions: {}/s{evicted}",
            rate(dirtied),
            rate(written)
        ));
    }
    if let Some(bytes) = pgio.wal_bytes {
        let each = pgio.wal_bytes_per_update.map_or(String::new(), |each| {
            format!(", {} bytes per update", rate(each))
        });
        lines.push(format!("WAL: {} bytes/s{each}", rate(bytes)));
    }
    if let Some((mean_ms, percentiles)) = &pgio.reads_ms {
        let mut line = format!("block read time (ms): average {}", fixed(*mean_ms, 3));
        for (percent, ms) in percentiles {
            line += &format!(", p{} {}", shortest(*percent), fixed(*ms, 3));
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
