//! Usage of the server by this process, from the server's own counters.

use crate::compat;
use pgrx::pg_sys;

/// Blocks and WAL that this process has used since it began.
pub fn usage() -> selfbench_stats::Usage {
    let (buffers, wal) = counters();
    let (read, write) = compat::read_and_write_time(&buffers);
    selfbench_stats::Usage {
        blocks_hit: buffers.shared_blks_hit as u64,
        blocks_read: buffers.shared_blks_read as u64,
        blocks_dirtied: buffers.shared_blks_dirtied as u64,
        blocks_written: buffers.shared_blks_written as u64,
        blocks_evicted: compat::blocks_evicted(),
        read_ns: compat::nanoseconds(read),
        write_ns: compat::nanoseconds(write),
        wal_records: wal.wal_records as u64,
        wal_fpi: wal.wal_fpi as u64,
        wal_bytes: wal.wal_bytes,
        ..selfbench_stats::Usage::default()
    }
}

/// The part of [`usage`] that is looked at after each transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks {
    /// Blocks found in shared buffers.
    pub hit: u64,
    /// Blocks read into them.
    pub read: u64,
    /// Nanoseconds that this took; 0 unless `track_io_timing` is on.
    pub read_ns: u64,
    /// Bytes of WAL.
    pub wal_bytes: u64,
}

/// Blocks that this process has used since it began.
#[inline]
pub fn blocks() -> Blocks {
    let (buffers, wal) = counters();
    Blocks {
        hit: buffers.shared_blks_hit as u64,
        read: buffers.shared_blks_read as u64,
        read_ns: compat::nanoseconds(compat::read_and_write_time(&buffers).0),
        wal_bytes: wal.wal_bytes,
    }
}

#[inline(always)]
fn counters() -> (pg_sys::BufferUsage, pg_sys::WalUsage) {
    // SAFETY: counters of this process alone, which is not within a change of them.
    unsafe { (pg_sys::pgBufferUsage, pg_sys::pgWalUsage) }
}
