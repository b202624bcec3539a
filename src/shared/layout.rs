//! Parts of a segment, and their offsets.

use super::client_slot::{ClientSlot, CommandCounters, ScriptCounters};
use super::header::Header;
use super::ring::RingHead;
use super::slots::Worker;
use super::stack_area::StackHead;
use super::statement_rows::StatementRows;
use selfbench_stats::LatencyCounters;
use selfbench_stats::buckets::coarse;
use std::sync::atomic::AtomicU32;

/// Room for the outcome: a report with the longest list of scripts fits.
pub(super) const OUTCOME_BYTES: usize = 512 * 1024;

/// Sizes of the parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentLayout {
    /// Client worker processes.
    pub workers: usize,
    /// Clients, over all workers.
    pub clients: usize,
    /// Scripts of the run.
    pub scripts: usize,
    /// Commands of all scripts together, if they are measured one by one; else 0.
    pub commands: usize,
    /// Room for the messages of each worker; 0 without messages.
    pub message_bytes: usize,
    /// Room for the log of transactions of each worker; 0 without a log.
    pub log_bytes: usize,
    /// Whether each client has histograms of its own, instead of each worker.
    pub client_histograms: bool,
    /// Whether there is a histogram of the time of reading blocks, too.
    pub reads: bool,
    /// Processes whose stacks are sampled: the workers, then the sessions of clients.
    pub sampled: usize,
    /// Room for the stacks of each of them.
    pub stack_bytes: usize,
    /// Statements of all scripts together.
    pub statements: usize,
}

pub(super) struct Offsets {
    pub(super) spec: usize,
    pub(super) outcome: usize,
    pub(super) workers: usize,
    pub(super) clients: usize,
    pub(super) client_stride: usize,
    pub(super) histograms: usize,
    pub(super) command_histograms: usize,
    pub(super) messages: usize,
    pub(super) logs: usize,
    pub(super) stacks: usize,
    pub(super) statement_rows: usize,
    pub(super) total: usize,
}

/// Size of a ring with that many bytes; 0 without any.
pub(super) fn ring_stride(bytes: usize) -> Option<usize> {
    match bytes {
        0 => Some(0),
        _ => Some(bytes.checked_add(size_of::<RingHead>() + 127)? & !127),
    }
}

/// Size of an area for stacks with that many bytes.
pub(super) fn stack_stride(bytes: usize) -> Option<usize> {
    size_of::<StackHead>().checked_add(ring_stride(bytes)?)
}

impl SegmentLayout {
    /// The sampled process that serves a client over a connection.
    pub fn sampled_session(&self, client: usize) -> usize {
        self.workers + client
    }

    /// Number of sets of histograms.
    pub fn histogram_sets(&self) -> usize {
        if self.client_histograms {
            self.clients
        } else {
            self.workers
        }
    }

    /// The set that a client writes to, which `worker` drives.
    pub fn histogram_set(&self, worker: usize, client: usize) -> usize {
        if self.client_histograms {
            client
        } else {
            worker
        }
    }

    /// Histograms in each set: one for each script, and the one of reads behind them.
    pub fn histograms(&self) -> usize {
        self.scripts + usize::from(self.reads)
    }

    /// Bytes of the histograms of single commands: one in each set for each command. `None` if the
    /// number overflows.
    pub fn command_histogram_bytes(&self) -> Option<usize> {
        self.histogram_sets()
            .checked_mul(self.commands)?
            .checked_mul(size_of::<[AtomicU32; coarse::BUCKETS]>())
    }

    pub(super) fn offsets(&self, spec_len: usize) -> Option<Offsets> {
        let align = |n: usize| n.checked_add(127).map(|n| n & !127);
        let spec = align(size_of::<Header>())?;
        let outcome = align(spec.checked_add(spec_len)?)?;
        let workers = align(outcome.checked_add(OUTCOME_BYTES)?)?;
        let clients = align(workers.checked_add(self.workers.checked_mul(size_of::<Worker>())?)?)?;
        let client_stride = align(
            size_of::<ClientSlot>()
                .checked_add(self.scripts.checked_mul(size_of::<ScriptCounters>())?)?
                .checked_add(self.commands.checked_mul(size_of::<CommandCounters>())?)?,
        )?;
        let histograms = align(clients.checked_add(self.clients.checked_mul(client_stride)?)?)?;
        let counters = self
            .histogram_sets()
            .checked_mul(self.histograms())?
            .checked_mul(size_of::<LatencyCounters>())?;
        let command_histograms = align(histograms.checked_add(counters)?)?;
        let messages = align(command_histograms.checked_add(self.command_histogram_bytes()?)?)?;
        let message_rings = self.workers.checked_mul(ring_stride(self.message_bytes)?)?;
        let logs = messages.checked_add(message_rings)?;
        let log_rings = self.workers.checked_mul(ring_stride(self.log_bytes)?)?;
        let stacks = logs.checked_add(log_rings)?;
        let areas = self.sampled.checked_mul(stack_stride(self.stack_bytes)?)?;
        let statement_rows = align(stacks.checked_add(areas)?)?;
        let rows = self.statements.checked_mul(size_of::<StatementRows>())?;
        let total = statement_rows.checked_add(rows)?;
        Some(Offsets {
            spec,
            outcome,
            workers,
            clients,
            client_stride,
            histograms,
            command_histograms,
            messages,
            logs,
            stacks,
            statement_rows,
            total,
        })
    }
}
