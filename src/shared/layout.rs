//! Parts of a segment: `SegmentLayout::parts` is the list of them, with the number and the size of their
//! elements. Offsets, checks of indexes and the size of the segment follow from it.

use super::client_slot::{ClientSlot, CommandCounters, ScriptCounters};
use super::ring::RingHead;
use super::slots::Worker;
use super::stack_area::StackHead;
use super::statement_rows::StatementRows;
use selfbench_stats::LatencyCounters;
use selfbench_stats::buckets::coarse;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

/// Room for the outcome: a report with the longest list of scripts fits.
pub(super) const OUTCOME_BYTES: usize = 512 * 1024;

/// Alignment of the parts, and of elements with bytes behind them.
const ALIGN: usize = 128;

/// Bytes of an element of each part, in all.
pub(super) const ELEMENT_BYTES: usize = size_of::<Worker>()
    + size_of::<ClientSlot>()
    + size_of::<ScriptCounters>()
    + size_of::<CommandCounters>()
    + size_of::<LatencyCounters>()
    + size_of::<CoarseHistogram>()
    + size_of::<RingHead>()
    + size_of::<StackHead>()
    + size_of::<StatementRows>();

/// Histogram of two significant digits.
pub type CoarseHistogram = [AtomicU32; coarse::BUCKETS];

/// Sizes of the parts; the header has a copy.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
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
    /// Words and bytes of the value sets that scripts draw from.
    pub value_words: usize,
    pub value_bytes: usize,
}

/// An array in a segment.
pub(super) struct Part<T> {
    pub(super) count: usize,
    /// Bytes that follow each element.
    pub(super) behind: usize,
    pub(super) begin: usize,
    stride: usize,
    elements: PhantomData<T>,
}

impl<T> Part<T> {
    /// Places `count` elements behind `end`, and moves `end` behind them; `None` if a number overflows.
    fn place(end: &mut usize, count: usize, behind: usize) -> Option<Part<T>> {
        const { assert!(align_of::<T>() <= ALIGN) };
        let begin = end.checked_next_multiple_of(ALIGN)?;
        let stride = match behind {
            0 => size_of::<T>(),
            _ => size_of::<T>()
                .checked_add(behind)?
                .checked_next_multiple_of(ALIGN)?,
        };
        *end = begin.checked_add(count.checked_mul(stride)?)?;
        Some(Part {
            count,
            behind,
            begin,
            stride,
            elements: PhantomData,
        })
    }

    /// Offset of an element. Panics if there is none with that number.
    pub(super) fn offset(&self, index: usize) -> usize {
        assert!(index < self.count);
        self.begin + index * self.stride
    }

    fn bytes(&self) -> usize {
        self.count * self.stride
    }
}

/// The parts behind the header. Their types are valid for all bytes.
pub(super) struct Parts {
    /// Text of the specification.
    pub(super) spec: Part<u8>,
    /// Text of the outcome.
    pub(super) outcome: Part<u8>,
    pub(super) workers: Part<Worker>,
    /// Clients, with their counters by script and by command behind them.
    pub(super) clients: Part<ClientSlot>,
    pub(super) histograms: Part<LatencyCounters>,
    pub(super) command_histograms: Part<CoarseHistogram>,
    /// Rings for messages, by worker.
    pub(super) messages: Part<RingHead>,
    /// Rings for the log, by worker.
    pub(super) logs: Part<RingHead>,
    /// Areas for stacks, by sampled process.
    pub(super) stacks: Part<StackHead>,
    pub(super) statement_rows: Part<StatementRows>,
    /// Value sets: words, and the texts of values.
    pub(super) value_words: Part<u64>,
    pub(super) value_texts: Part<u8>,
    /// Size of the segment.
    pub(super) total: usize,
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

    /// Bytes of the histograms of single commands. `None` if the number overflows.
    pub fn command_histogram_bytes(&self) -> Option<usize> {
        Some(self.parts(0, 0)?.command_histograms.bytes())
    }

    /// The parts of a segment with a header and a specification of these lengths, in order. `None` if a
    /// number overflows.
    pub(super) fn parts(&self, header_len: usize, spec_len: usize) -> Option<Parts> {
        let sets = self.histogram_sets();
        let histograms = sets.checked_mul(self.histograms())?;
        let command_histograms = sets.checked_mul(self.commands)?;
        let by_script = self.scripts.checked_mul(size_of::<ScriptCounters>())?;
        let by_command = self.commands.checked_mul(size_of::<CommandCounters>())?;
        let counters = by_script.checked_add(by_command)?;
        let rings = |bytes| if bytes > 0 { self.workers } else { 0 };
        let mut end = header_len;
        let end = &mut end;
        Some(Parts {
            spec: Part::place(end, spec_len, 0)?,
            outcome: Part::place(end, OUTCOME_BYTES, 0)?,
            workers: Part::place(end, self.workers, 0)?,
            clients: Part::place(end, self.clients, counters)?,
            histograms: Part::place(end, histograms, 0)?,
            command_histograms: Part::place(end, command_histograms, 0)?,
            messages: Part::place(end, rings(self.message_bytes), self.message_bytes)?,
            logs: Part::place(end, rings(self.log_bytes), self.log_bytes)?,
            stacks: Part::place(end, self.sampled, self.stack_bytes)?,
            statement_rows: Part::place(end, self.statements, 0)?,
            value_words: Part::place(end, self.value_words, 0)?,
            value_texts: Part::place(end, self.value_bytes, 0)?,
            total: *end,
        })
    }
}
