//! The segment's memory: creating and mapping it, and references to its parts.

use super::client_slot::{ClientSlot, CommandCounters, ScriptCounters};
use super::header::{Header, MAGIC, Phase, TaskKind};
use super::layout::{OUTCOME_BYTES, Offsets, SegmentLayout, ring_stride, stack_stride};
use super::messages::Messages;
use super::ring::{Ring, RingHead};
use super::slots::Worker;
use super::stack_area::{StackArea, StackHead};
use super::statement_rows::StatementRows;
use crate::error::{Error, Report, Result};
use crate::state::session;
use pgrx::pg_sys;
use selfbench_stats::LatencyCounters;
use selfbench_stats::buckets::coarse;
use serde::{Serialize, de::DeserializeOwned};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// A mapped segment.
pub struct Segment {
    base: NonNull<u8>,
    dsm: *mut pg_sys::dsm_segment,
    layout: SegmentLayout,
    offsets: Offsets,
    /// Whether dropping unmaps it; a worker keeps it until it exits.
    owned: AtomicBool,
}

impl Segment {
    /// Makes a segment, all zero but for the header and the specification.
    ///
    /// The mapping belongs to the current resource owner and goes when the value is dropped.
    pub fn create<S: Serialize>(
        kind: TaskKind,
        layout: SegmentLayout,
        spec: &S,
    ) -> Result<Segment> {
        let spec = serde_json::to_vec(spec)
            .map_err(|e| Error::Limit(format!("cannot describe the task: {e}")))?;
        let offsets = layout.offsets(spec.len()).ok_or_else(too_large)?;
        let secret = session::random()
            .ok_or_else(|| Error::Limit("could not generate a random number".into()))?;
        // SAFETY: dsm_create either raises an error or returns a mapped segment of that size.
        let (dsm, base) = unsafe {
            let dsm = pg_sys::dsm_create(offsets.total, 0);
            (dsm, pg_sys::dsm_segment_address(dsm).cast::<u8>())
        };
        let base = NonNull::new(base).ok_or_else(too_large)?;
        // SAFETY: the segment has `total` bytes, starts on a page, and no other process knows it yet.
        // All-zero bytes are valid for every part; the header's plain fields are set once, here.
        unsafe {
            base.as_ptr().write_bytes(0, offsets.total);
            let header = base.as_ptr().cast::<Header>();
            (*header).magic = MAGIC;
            (*header).kind = kind as u32;
            (*header).workers = layout.workers as u32;
            (*header).clients = layout.clients as u32;
            (*header).scripts = layout.scripts as u32;
            (*header).commands = layout.commands as u32;
            (*header).message_bytes = layout.message_bytes as u32;
            (*header).log_bytes = layout.log_bytes as u32;
            (*header).client_histograms = layout.client_histograms;
            (*header).reads = layout.reads;
            (*header).sampled = layout.sampled as u32;
            (*header).stack_bytes = layout.stack_bytes as u32;
            (*header).statements = layout.statements as u32;
            (*header).role = pg_sys::GetUserId().to_u32();
            (*header).secret = secret;
            (*header).spec_len = spec.len() as u64;
            (*header).total_len = offsets.total as u64;
            std::ptr::copy_nonoverlapping(
                spec.as_ptr(),
                base.as_ptr().add(offsets.spec),
                spec.len(),
            );
        }
        let segment = Segment {
            base,
            dsm,
            layout,
            offsets,
            owned: AtomicBool::new(true),
        };
        segment.header().deadline_ns.store(u64::MAX, Relaxed);
        Ok(segment)
    }

    /// Maps the segment of that number; `None` if there is none, or it is not one of ours.
    ///
    /// If this process has it mapped already, as a client that looks at its own run has, the value
    /// uses that mapping and must not outlive it: it is for the duration of a call.
    pub fn attach(handle: u32) -> Option<Segment> {
        // SAFETY: dsm_find_mapping returns null unless this process has mapped the segment, and
        // dsm_attach for a segment that is gone, else a mapping; the header is read only after its
        // size and magic number have been checked, and its plain fields never change after
        // creation.
        unsafe {
            let mapped = pg_sys::dsm_find_mapping(handle);
            let owned = mapped.is_null();
            let dsm = if owned {
                pg_sys::dsm_attach(handle)
            } else {
                mapped
            };
            if dsm.is_null() {
                return None;
            }
            let length = pg_sys::dsm_segment_map_length(dsm);
            let base = NonNull::new(pg_sys::dsm_segment_address(dsm).cast::<u8>());
            let ours = base.and_then(|base| {
                let header = base.as_ptr().cast::<Header>();
                if length < size_of::<Header>()
                    || (*header).magic != MAGIC
                    || (*header).total_len as usize > length
                {
                    return None;
                }
                let header = &*header;
                let layout = SegmentLayout {
                    workers: header.workers as usize,
                    clients: header.clients as usize,
                    scripts: header.scripts as usize,
                    commands: header.commands as usize,
                    message_bytes: header.message_bytes as usize,
                    log_bytes: header.log_bytes as usize,
                    client_histograms: header.client_histograms,
                    reads: header.reads,
                    sampled: header.sampled as usize,
                    stack_bytes: header.stack_bytes as usize,
                    statements: header.statements as usize,
                };
                let offsets = layout.offsets(header.spec_len as usize)?;
                Some(Segment {
                    base,
                    dsm,
                    layout,
                    offsets,
                    owned: AtomicBool::new(owned),
                })
            });
            if ours.is_none() && owned {
                pg_sys::dsm_detach(dsm);
            }
            ours
        }
    }

    /// Keeps the mapping until this process exits; for workers.
    pub fn pin_mapping(self) -> &'static Segment {
        self.owned.store(false, Relaxed);
        // SAFETY: the segment is mapped; pinning only takes the mapping from the resource owner.
        unsafe { pg_sys::dsm_pin_mapping(self.dsm) };
        Box::leak(Box::new(self))
    }

    /// The number by which others attach.
    pub fn handle(&self) -> u32 {
        // SAFETY: the segment is mapped.
        unsafe { pg_sys::dsm_segment_handle(self.dsm) }
    }

    /// Sizes of the parts.
    pub fn layout(&self) -> SegmentLayout {
        self.layout
    }

    /// Head of the segment.
    #[inline]
    pub fn header(&self) -> &Header {
        // SAFETY: the segment starts with a header, and lives as long as `self`.
        unsafe { &*self.base.as_ptr().cast::<Header>() }
    }

    /// The task's specification.
    pub fn spec<S: DeserializeOwned>(&self) -> Result<S> {
        let len = self.header().spec_len as usize;
        // SAFETY: written once, before any other process knew the segment.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.offsets.spec), len) };
        serde_json::from_slice(bytes)
            .map_err(|e| Error::Limit(format!("cannot read the task's specification: {e}")))
    }

    /// Publishes the outcome and moves the task to its last phase; the first call counts.
    pub fn finish<T: Serialize>(&self, outcome: std::result::Result<T, Report>) {
        if self.header().phase() == Phase::Finished {
            return;
        }
        let mut bytes = serde_json::to_vec(&outcome).unwrap_or_default();
        if bytes.len() > OUTCOME_BYTES || bytes.is_empty() {
            let report = Error::Limit("the result is too large for shared memory".into()).report();
            bytes = serde_json::to_vec(&Err::<(), _>(report)).unwrap_or_default();
        }
        // SAFETY: the coordinator is the only writer, and readers wait for the phase.
        unsafe {
            let target = self.base.as_ptr().add(self.offsets.outcome);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        self.header().outcome_len.store(bytes.len() as u64, Release);
        self.header().advance(Phase::Finished);
    }

    /// The outcome; `None` before the task has finished.
    pub fn outcome<T: DeserializeOwned>(&self) -> Option<Result<T>> {
        if self.header().phase() != Phase::Finished {
            return None;
        }
        let len = self.header().outcome_len.load(Acquire) as usize;
        // SAFETY: published before the phase was, and never written again.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                self.base.as_ptr().add(self.offsets.outcome),
                len.min(OUTCOME_BYTES),
            )
        };
        Some(
            match serde_json::from_slice::<std::result::Result<T, Report>>(bytes) {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(report)) => Err(report.into()),
                Err(e) => Err(Error::Limit(format!("cannot read the task's outcome: {e}"))),
            },
        )
    }

    /// Takes the next free worker slot; `None` if all are taken.
    pub fn claim_worker(&self) -> Option<usize> {
        let index = self.header().claimed.fetch_add(1, AcqRel) as usize;
        (index < self.layout.workers).then_some(index)
    }

    /// One worker's slot. Panics if there is no such worker.
    pub fn worker(&self, index: usize) -> &Worker {
        assert!(index < self.layout.workers);
        // SAFETY: in bounds, aligned, and valid for all bytes.
        unsafe {
            &*self
                .base
                .as_ptr()
                .add(self.offsets.workers)
                .cast::<Worker>()
                .add(index)
        }
    }

    /// All workers' slots.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        (0..self.layout.workers).map(|index| self.worker(index))
    }

    /// One client's slot: its head and its counters by script. Panics if there is no such client.
    pub fn client(&self, index: usize) -> (&ClientSlot, &[ScriptCounters]) {
        assert!(index < self.layout.clients);
        // SAFETY: in bounds, aligned (the stride is a multiple of 128), valid for all bytes.
        unsafe {
            let head = self
                .base
                .as_ptr()
                .add(self.offsets.clients + index * self.offsets.client_stride);
            let counters = head.add(size_of::<ClientSlot>()).cast::<ScriptCounters>();
            (
                &*head.cast(),
                std::slice::from_raw_parts(counters, self.layout.scripts),
            )
        }
    }

    /// One client's counters of single commands, those of all scripts one after the other; none
    /// unless they are measured. Panics if there is no such client.
    pub fn commands(&self, client: usize) -> &[CommandCounters] {
        let (_, scripts) = self.client(client);
        // SAFETY: they stand behind the client's other counters, in bounds, and are aligned like
        // those, and valid for all bytes.
        unsafe {
            let first = scripts.as_ptr().add(scripts.len()).cast();
            std::slice::from_raw_parts(first, self.layout.commands)
        }
    }

    /// The messages of each worker; only one process may read them.
    pub fn all_messages(&self) -> impl Iterator<Item = Messages<'_>> {
        (0..self.layout.workers).filter_map(|worker| self.messages(worker))
    }

    /// The messages of a worker; `None` if the task has none, and if there is no such worker.
    pub fn messages(&self, worker: usize) -> Option<Messages<'_>> {
        if worker >= self.layout.workers {
            return None;
        }
        self.ring(self.offsets.messages, self.layout.message_bytes, worker)
            .map(Messages)
    }

    /// The log of a worker; `None` without a log. The coordinator alone reads it.
    pub fn log(&self, worker: usize) -> Option<Ring<'_>> {
        assert!(worker < self.layout.workers);
        self.ring(self.offsets.logs, self.layout.log_bytes, worker)
    }

    /// The area for the stacks of a process; `None` if it is not sampled. The coordinator alone
    /// reads it.
    pub fn stack_area(&self, process: usize) -> Option<StackArea<'_>> {
        if process >= self.layout.sampled {
            return None;
        }
        let bytes = self.layout.stack_bytes;
        let begin = self.offsets.stacks + process * stack_stride(bytes)?;
        // SAFETY: in bounds and aligned (all sizes are multiples of 128), valid for all bytes.
        let head = unsafe { &*self.base.as_ptr().add(begin).cast::<StackHead>() };
        let ring = self.ring(begin + size_of::<StackHead>(), bytes, 0)?;
        Some(StackArea { head, ring })
    }

    /// Statements that match rows, by their numbers.
    pub fn statement_rows(&self) -> &[StatementRows] {
        // SAFETY: in bounds, aligned, valid for all bytes.
        unsafe {
            let first = self.base.as_ptr().add(self.offsets.statement_rows);
            std::slice::from_raw_parts(first.cast(), self.layout.statements)
        }
    }

    fn ring(&self, rings: usize, bytes: usize, worker: usize) -> Option<Ring<'_>> {
        let stride = ring_stride(bytes).filter(|stride| *stride > 0)?;
        // SAFETY: in bounds, aligned (the stride is a multiple of 128), zeroed memory is an empty
        // ring, and the callers say who writes and who reads.
        unsafe {
            let head = self.base.as_ptr().add(rings + worker * stride);
            let content = head.add(size_of::<RingHead>());
            Some(Ring::new(&*head.cast(), content, bytes))
        }
    }

    /// The latency counters of one script in a set, or those of reads, which stand behind the last
    /// script. Panics if there is no such pair.
    pub fn histogram(&self, set: usize, number: usize) -> &LatencyCounters {
        let (sets, each) = (self.layout.histogram_sets(), self.layout.histograms());
        assert!(set < sets && number < each);
        let index = set * each + number;
        // SAFETY: in bounds, aligned, valid for all bytes.
        unsafe {
            let first = self
                .base
                .as_ptr()
                .add(self.offsets.histograms)
                .cast::<LatencyCounters>();
            &*first.add(index)
        }
    }

    /// The latency counters of one command in a set, of two significant digits. Panics if there is
    /// no such pair.
    pub fn command_histogram(&self, set: usize, command: usize) -> &[AtomicU32; coarse::BUCKETS] {
        let (sets, each) = (self.layout.histogram_sets(), self.layout.commands);
        assert!(set < sets && command < each);
        // SAFETY: in bounds, aligned, valid for all bytes.
        unsafe {
            let first = self
                .base
                .as_ptr()
                .add(self.offsets.command_histograms)
                .cast::<[AtomicU32; coarse::BUCKETS]>();
            &*first.add(set * each + command)
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.owned.load(Relaxed) {
            // SAFETY: mapped by us and not pinned.
            unsafe { pg_sys::dsm_detach(self.dsm) };
        }
    }
}

fn too_large() -> Error {
    Error::Limit("the run's counters do not fit into shared memory".into())
}
