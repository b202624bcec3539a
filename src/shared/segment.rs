//! The segment's memory: creating and mapping it, and references to its parts.

use super::client_slot::{ClientSlot, CommandCounters, ScriptCounters};
use super::header::{Header, Mark, Phase, TaskKind};
use super::layout::{CoarseHistogram, OUTCOME_BYTES, Part, Parts, SegmentLayout};
use super::messages::Messages;
use super::ring::{Ring, RingHead};
use super::slots::Worker;
use super::stack_area::StackArea;
use super::statement_rows::StatementRows;
use crate::error::{Error, Report, Result};
use crate::state::session;
use pgrx::pg_sys;
use selfbench_script::{CollectedSet, ValueSets, heads_of_sets};
use selfbench_stats::LatencyCounters;
use serde::{Serialize, de::DeserializeOwned};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::Ordering::*;

/// A mapped segment.
pub struct Segment {
    base: NonNull<u8>,
    mapping: Mapping,
    layout: SegmentLayout,
    parts: Parts,
}

impl Segment {
    /// Makes a segment, all zero but for the header, the specification and the value sets of scripts, which
    /// the layout need not have.
    ///
    /// The mapping goes when the value is dropped.
    pub fn create<S: Serialize>(
        kind: TaskKind,
        layout: SegmentLayout,
        spec: &S,
        values: &[Rc<CollectedSet>],
    ) -> Result<Segment> {
        let heads = heads_of_sets(values);
        let words = values.iter().map(|set| set.words());
        let words: Vec<_> = std::iter::once(&heads[..]).chain(words).collect();
        let texts: Vec<_> = values.iter().map(|set| set.texts().as_bytes()).collect();
        let layout = SegmentLayout {
            value_words: words.iter().map(|words| words.len()).sum(),
            value_bytes: texts.iter().map(|texts| texts.len()).sum(),
            ..layout
        };
        let spec = serde_json::to_vec(spec)
            .map_err(|e| Error::Limit(format!("cannot describe the task: {e}")))?;
        let parts = layout
            .parts(size_of::<Header>(), spec.len())
            .ok_or_else(too_large)?;
        let secret = session::random()
            .ok_or_else(|| Error::Limit("could not generate a random number".into()))?;
        // SAFETY: dsm_create either raises an error or returns a mapped segment of that size.
        let dsm = unsafe { pg_sys::dsm_create(parts.total, 0) };
        let mapping = Mapping::own(dsm);
        let base = mapping.base().ok_or_else(too_large)?;
        // SAFETY: the segment has `total` bytes, starts on a page, and no other process knows it yet.
        // All-zero bytes are valid for every part; the header's plain fields are set once, here.
        unsafe {
            base.as_ptr().write_bytes(0, parts.total);
            let header = base.cast::<Header>().as_ptr();
            (*header).mark.set();
            (*header).kind = kind as u32;
            (*header).layout = layout;
            (*header).role = session::role().to_u32();
            (*header).secret = secret;
            (*header).spec_len = spec.len() as u64;
            let target = base.as_ptr().add(parts.spec.begin);
            std::ptr::copy_nonoverlapping(spec.as_ptr(), target, spec.len());
            copy_all(&words, base.as_ptr().add(parts.value_words.begin).cast());
            copy_all(&texts, base.as_ptr().add(parts.value_texts.begin));
        }
        let segment = Segment {
            base,
            mapping,
            layout,
            parts,
        };
        segment.header().deadline_ns.store(u64::MAX, Relaxed);
        Ok(segment)
    }

    /// Maps the segment of that number for a process of its task; `None` if there is none, it is not one of
    /// ours, or this process has mapped it already.
    pub fn attach(handle: u32) -> Option<Segment> {
        Segment::check(Mapping::attach(handle)?, Mark::refuse)
    }

    /// Passes the segment of that number to `look`; `None` if there is none, or it is not one of ours.
    /// If this process has mapped it, as a client that looks at its own run has, that mapping is used:
    /// it stays at least as long as the call.
    pub fn look<T>(handle: u32, look: impl FnOnce(&Segment) -> T) -> Option<T> {
        let dsm = mapped(handle);
        let mapping = match dsm.is_null() {
            true => Mapping::attach(handle)?,
            false => Mapping { dsm, owned: false },
        };
        Some(look(&Segment::check(mapping, |_| {})?))
    }

    /// The segment of a mapping, if it is one of this version; else its mark is passed to `refuse`.
    fn check(mapping: Mapping, refuse: impl FnOnce(&Mark)) -> Option<Segment> {
        let base = mapping.base()?;
        // SAFETY: the segment is mapped.
        let length = unsafe { pg_sys::dsm_segment_map_length(mapping.dsm) };
        if length < size_of::<Mark>() {
            return None;
        }
        // SAFETY: the mark is at the begin in all versions, and its plain field never changes after creation.
        let mark = unsafe { base.cast::<Mark>().as_ref() };
        if !mark.is_of_this_version() {
            refuse(mark);
            return None;
        }
        if length < size_of::<Header>() {
            return None;
        }
        // SAFETY: the header is read only after its mark has been checked, and its plain fields never
        // change after creation.
        let (layout, spec_len) = unsafe {
            let header = base.cast::<Header>().as_ptr();
            ((*header).layout, (*header).spec_len as usize)
        };
        let parts = layout
            .parts(size_of::<Header>(), spec_len)
            .filter(|parts| parts.total <= length)?;
        Some(Segment {
            base,
            mapping,
            layout,
            parts,
        })
    }

    /// Never drops the value, so that the mapping stays until this process exits; for workers.
    pub fn keep(self) -> &'static Segment {
        Box::leak(Box::new(self))
    }

    /// The number by which others attach.
    pub fn handle(&self) -> u32 {
        // SAFETY: the segment is mapped.
        unsafe { pg_sys::dsm_segment_handle(self.mapping.dsm) }
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
        // Written once, before any other process knew the segment.
        serde_json::from_slice(self.slice(&self.parts.spec))
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
            let target = self.pointer(&self.parts.outcome, 0);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        self.header().outcome_len.store(bytes.len() as u64, Release);
        self.header().advance(Phase::Finished);
    }

    /// The error of a process of the task that has ended without a reason.
    pub fn lost(&self, process: &str) -> Error {
        match self.header().mark.is_refused() {
            true => Error::LibraryReplaced,
            false => Error::WorkerDied {
                what: process.into(),
            },
        }
    }

    /// The outcome; `None` before the task has finished.
    pub fn outcome<T: DeserializeOwned>(&self) -> Option<Result<T>> {
        if self.header().phase() != Phase::Finished {
            return None;
        }
        let len = self.header().outcome_len.load(Acquire) as usize;
        // Published before the phase was, and never written again.
        let bytes = self.slice(&self.parts.outcome);
        Some(
            match serde_json::from_slice::<std::result::Result<T, Report>>(
                &bytes[..len.min(bytes.len())],
            ) {
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
        self.element(&self.parts.workers, index)
    }

    /// All workers' slots.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        (0..self.layout.workers).map(|index| self.worker(index))
    }

    /// One client's slot: its head and its counters by script. Panics if there is no such client.
    pub fn client(&self, index: usize) -> (&ClientSlot, &[ScriptCounters]) {
        let counters = self.behind(&self.parts.clients, index).cast();
        // SAFETY: room for them is behind the slot, aligned like it, and valid for all bytes.
        let counters = unsafe { std::slice::from_raw_parts(counters, self.layout.scripts) };
        (self.element(&self.parts.clients, index), counters)
    }

    /// One client's counters of single commands, those of all scripts one after the other; none
    /// unless they are measured. Panics if there is no such client.
    pub fn commands(&self, client: usize) -> &[CommandCounters] {
        let scripts = self
            .behind(&self.parts.clients, client)
            .cast::<ScriptCounters>();
        // SAFETY: they stand behind the client's other counters, in bounds, and are aligned like
        // those, and valid for all bytes.
        unsafe {
            let first = scripts.add(self.layout.scripts).cast();
            std::slice::from_raw_parts(first, self.layout.commands)
        }
    }

    /// The messages of each worker; only one process may read them.
    pub fn all_messages(&self) -> impl Iterator<Item = Messages<'_>> {
        (0..self.layout.workers).filter_map(|worker| self.messages(worker))
    }

    /// The messages of a worker; `None` if the task has none, and if there is no such worker.
    pub fn messages(&self, worker: usize) -> Option<Messages<'_>> {
        self.ring(&self.parts.messages, worker, |head| head)
            .map(|(_, ring)| Messages(ring))
    }

    /// The log of a worker; `None` without a log. The coordinator alone reads it.
    pub fn log(&self, worker: usize) -> Option<Ring<'_>> {
        self.ring(&self.parts.logs, worker, |head| head)
            .map(|(_, ring)| ring)
    }

    /// The area for the stacks of a process; `None` if it is not sampled. The coordinator alone
    /// reads it.
    pub fn stack_area(&self, process: usize) -> Option<StackArea<'_>> {
        self.ring(&self.parts.stacks, process, |head| &head.ring)
            .map(|(head, ring)| StackArea { head, ring })
    }

    /// Statements that match rows, by their numbers.
    pub fn statement_rows(&self) -> &[StatementRows] {
        self.slice(&self.parts.statement_rows)
    }

    /// The value sets that scripts draw from.
    pub fn values(&self) -> Result<ValueSets<'_>> {
        // Written once, before any other process knew the segment. Looking at all texts also maps their
        // memory, before transactions are measured.
        let texts = std::str::from_utf8(self.slice(&self.parts.value_texts))
            .map_err(|e| Error::Limit(format!("cannot read the value sets: {e}")))?;
        Ok(ValueSets::new(self.slice(&self.parts.value_words), texts))
    }

    /// The latency counters of one script in a set, or those of reads, which stand behind the last
    /// script. Panics if there is no such pair.
    pub fn histogram(&self, set: usize, number: usize) -> &LatencyCounters {
        let each = self.layout.histograms();
        assert!(number < each);
        self.element(&self.parts.histograms, set * each + number)
    }

    /// The latency counters of one command in a set, of two significant digits. Panics if there is
    /// no such pair.
    pub fn command_histogram(&self, set: usize, command: usize) -> &CoarseHistogram {
        let each = self.layout.commands;
        assert!(command < each);
        self.element(&self.parts.command_histograms, set * each + command)
    }

    /// The ring of an element that has the ring's head, with the element; `None` if there is none
    /// with that number.
    fn ring<T>(
        &self,
        part: &Part<T>,
        index: usize,
        head: impl FnOnce(&T) -> &RingHead,
    ) -> Option<(&T, Ring<'_>)> {
        if index >= part.count {
            return None;
        }
        let element = self.element(part, index);
        let bytes = self.behind(part, index);
        // SAFETY: the bytes are behind the element, zeroed memory is an empty ring, and the callers
        // say who writes and who reads.
        let ring = unsafe { Ring::new(head(element), bytes, part.behind) };
        Some((element, ring))
    }

    /// An element of a part. Panics if there is none with that number.
    fn element<T>(&self, part: &Part<T>, index: usize) -> &T {
        // SAFETY: the types of parts are valid for all bytes, and their words are atomic.
        unsafe { &*self.pointer(part, index) }
    }

    /// The elements of a part without bytes behind them.
    fn slice<T>(&self, part: &Part<T>) -> &[T] {
        assert_eq!(part.behind, 0);
        // SAFETY: as for an element; they stand one after the other.
        unsafe {
            let first = self.base.as_ptr().add(part.begin).cast();
            std::slice::from_raw_parts(first, part.count)
        }
    }

    /// The bytes behind an element of a part. Panics if there is no element with that number.
    fn behind<T>(&self, part: &Part<T>, index: usize) -> *mut u8 {
        // SAFETY: the element is within the segment.
        unsafe { self.pointer(part, index).add(1).cast() }
    }

    /// The place of an element of a part, aligned. Panics if there is none with that number.
    fn pointer<T>(&self, part: &Part<T>, index: usize) -> *mut T {
        // SAFETY: all parts are within the segment, as was checked when it was mapped.
        unsafe { self.base.as_ptr().add(part.offset(index)).cast() }
    }
}

/// A segment that is mapped in this process. It goes when the value is dropped, unless another value
/// owns it. It belongs to no resource owner, which would unmap it at the end of a transaction.
struct Mapping {
    dsm: *mut pg_sys::dsm_segment,
    owned: bool,
}

impl Mapping {
    /// Maps a segment that this process has not mapped yet.
    fn attach(handle: u32) -> Option<Mapping> {
        if !mapped(handle).is_null() {
            return None;
        }
        // SAFETY: dsm_attach returns null for a segment that is gone, else a mapping.
        let dsm = unsafe { pg_sys::dsm_attach(handle) };
        (!dsm.is_null()).then(|| Mapping::own(dsm))
    }

    /// Takes care of a segment that has just been mapped.
    fn own(dsm: *mut pg_sys::dsm_segment) -> Mapping {
        // SAFETY: the segment is mapped; pinning only takes the mapping from the resource owner.
        unsafe { pg_sys::dsm_pin_mapping(dsm) };
        Mapping { dsm, owned: true }
    }

    fn base(&self) -> Option<NonNull<u8>> {
        // SAFETY: the segment is mapped.
        NonNull::new(unsafe { pg_sys::dsm_segment_address(self.dsm) }.cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: mapped by us, and only this value detaches it.
            unsafe { pg_sys::dsm_detach(self.dsm) };
        }
    }
}

/// The mapping of a segment in this process; null if there is none.
fn mapped(handle: u32) -> *mut pg_sys::dsm_segment {
    // SAFETY: it only searches the mappings of this process.
    unsafe { pg_sys::dsm_find_mapping(handle) }
}

/// Copies slices to `target`, one after the other.
///
/// # Safety
/// There must be room for all of them.
unsafe fn copy_all<T: Copy>(slices: &[&[T]], mut target: *mut T) {
    for slice in slices {
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(slice.as_ptr(), target, slice.len());
            target = target.add(slice.len());
        }
    }
}

fn too_large() -> Error {
    Error::Limit("the run's counters do not fit into shared memory".into())
}
