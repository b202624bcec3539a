//! The segment's memory: creation, mapping, layout. The only file that knows offsets.

use super::effort::Account;
use super::messages::Messages;
use super::process::ProcessRef;
use super::recorder::{ClientHead, CommandCounters, LastInterval, ScriptCounters};
use super::ring::{Ring, RingHead};
use crate::error::{Error, Report, Result};
use pgrx::pg_sys;
use selfbench_stats::buckets::{self, coarse};
use serde::{Serialize, de::DeserializeOwned};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::*};

/// Marks a segment as ours; changes whenever the layout does.
const MAGIC: u64 = u64::from_be_bytes(*b"selfb\0\0\x06");
/// Room for the outcome: a report with the longest list of scripts fits.
const OUTCOME_BYTES: usize = 512 * 1024;
/// Room for the reason why a worker or a client gave up.
pub const REASON_BYTES: usize = 1024;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A benchmark run.
    Run = 1,
    /// Filling pgbench's or pgio's tables.
    Initialize = 2,
    /// Building pages of tables, as a part of that.
    Pages = 3,
}

impl Kind {
    /// Entry point and name of the process that does it.
    pub fn process(self) -> (&'static str, &'static str) {
        match self {
            Kind::Run => ("pg_selfbench_coordinator_main", "pg_selfbench coordinator"),
            Kind::Initialize => ("pg_selfbench_loader_main", "pg_selfbench loader"),
            Kind::Pages => ("pg_selfbench_page_worker_main", "pg_selfbench page worker"),
        }
    }
}

/// How far a task has come. Only its coordinator or loader moves it, and only forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Phase {
    /// The coordinator has not attached yet.
    Launched = 0,
    /// The coordinator checks, vacuums and starts clients.
    Preparing = 1,
    /// The start barrier is open.
    Running = 2,
    /// Clients are done; results are being stored.
    Storing = 3,
    /// The outcome is there. Nothing changes any more.
    Finished = 4,
}

/// A request to end a task early. It only ever grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Stop {
    /// None.
    No = 0,
    /// `bench.cancel`, or Ctrl-C in the caller.
    Requested = 1,
    /// One of our processes was terminated, or the server shuts down.
    Terminated = 2,
    /// The process that waits for the task, or conducts it, is gone: nobody has a use for a result,
    /// and nothing is left to finish in peace.
    Abandoned = 3,
}

/// Head of the segment.
#[repr(C, align(64))]
pub struct Header {
    magic: u64,
    kind: u32,
    workers: u32,
    clients: u32,
    scripts: u32,
    commands: u32,
    message_bytes: u32,
    log_bytes: u32,
    client_histograms: bool,
    reads: bool,
    /// Oid of the role that the task belongs to.
    pub role: u32,
    /// What only processes of the task know.
    pub secret: u64,
    spec_len: u64,
    total_len: u64,
    phase: AtomicU32,
    stop: AtomicU32,
    /// Workers that have claimed a slot.
    claimed: AtomicU32,
    outcome_len: AtomicU64,
    /// Id of the run, 0 while it has none.
    pub run_id: AtomicI64,
    /// Clock reading when the start barrier opened.
    pub start_ns: AtomicU64,
    /// From when on transactions count: the start plus the warm-up.
    pub measure_ns: AtomicU64,
    /// No transaction starts after this; `u64::MAX` if the run is limited by a count.
    pub deadline_ns: AtomicU64,
    /// The figures of the interval that ended last.
    pub last_interval: LastInterval,
    /// What scripts are told as `scale`: pgbench's, the number of keys of pgio's tables, or what
    /// the user says.
    pub scale: AtomicI64,
    /// Number of the step of an initialization that is under way, from 1; 0 before the first.
    pub step: AtomicU32,
    /// When that step began.
    pub step_ns: AtomicU64,
    /// Rows done and wanted in that step.
    pub rows_done: AtomicU64,
    /// See `rows_done`.
    pub rows_total: AtomicU64,
    /// Parts of the work that processes have taken; of page workers and their loader.
    pub parts_taken: AtomicU64,
    /// The backend that waits for the task, if one does.
    pub caller: ProcessRef,
    /// The task's coordinator, or the loader.
    pub coordinator: ProcessRef,
    /// Why the caller ends the task, unless it was asked to.
    pub cause: Text<REASON_BYTES>,
}

impl Header {
    /// How far the task has come.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Acquire) {
            0 => Phase::Launched,
            1 => Phase::Preparing,
            2 => Phase::Running,
            3 => Phase::Storing,
            _ => Phase::Finished,
        }
    }

    /// Moves the task on and wakes the caller.
    pub fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u32, AcqRel);
        self.caller.wake();
    }

    /// Whether, and how urgently, the task is asked to end.
    pub fn stop(&self) -> Stop {
        match self.stop.load(Relaxed) {
            0 => Stop::No,
            1 => Stop::Requested,
            2 => Stop::Terminated,
            _ => Stop::Abandoned,
        }
    }

    /// Asks the task to end and wakes its coordinator, which wakes the workers.
    pub fn request_stop(&self, stop: Stop) {
        self.stop.fetch_max(stop as u32, AcqRel);
        self.coordinator.wake();
    }

    /// Whether the task is a benchmark run.
    pub fn is_run(&self) -> bool {
        self.kind == Kind::Run as u32
    }
}

/// Where a client worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum WorkerState {
    /// Not there yet.
    Absent = 0,
    /// Attached; connecting and preparing.
    Attached = 1,
    /// Waits at the start barrier.
    Ready = 2,
    /// Ended as it should, or with a reason.
    Done = 3,
    /// Its process ended in the middle.
    Died = 4,
}

/// One client worker process.
#[repr(C, align(64))]
pub struct Worker {
    state: AtomicU32,
    /// The process.
    pub process: ProcessRef,
    /// What it cost.
    pub account: Account,
    failure: Text<REASON_BYTES>,
}

impl Worker {
    /// Where the worker stands.
    pub fn state(&self) -> WorkerState {
        match self.state.load(Acquire) {
            0 => WorkerState::Absent,
            1 => WorkerState::Attached,
            2 => WorkerState::Ready,
            3 => WorkerState::Done,
            _ => WorkerState::Died,
        }
    }

    /// Moves the worker's state on; an ended worker stays ended.
    pub fn set_state(&self, state: WorkerState) {
        let _ = self.state.fetch_update(AcqRel, Acquire, |old| {
            (old < WorkerState::Done as u32).then_some(state as u32)
        });
    }

    /// Leaves the error that ended this worker before the start barrier.
    pub fn fail(&self, report: &Report) {
        // A report that does not fit loses its detail and hint, not its message.
        let full = serde_json::to_string(report).unwrap_or_default();
        if full.len() <= REASON_BYTES {
            self.failure.set(&full);
        } else {
            let message = report.message.chars().take(REASON_BYTES / 8).collect();
            let short = Report {
                message,
                detail: None,
                hint: None,
                ..report.clone()
            };
            self.failure
                .set(&serde_json::to_string(&short).unwrap_or_default());
        }
    }

    /// The error that ended this worker, if any.
    pub fn failure(&self) -> Option<Report> {
        self.failure
            .get()
            .and_then(|text| serde_json::from_str(&text).ok())
    }
}

/// A text that one process writes once and others read afterwards.
#[repr(C)]
pub struct Text<const N: usize> {
    len: AtomicU32,
    bytes: std::cell::UnsafeCell<[u8; N]>,
}

// SAFETY: `set` is called by the one owner of the slot, once; `get` reads the bytes only after it
// has seen the length that `set` published with release ordering.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Text<N> {
    /// Publishes `text`, cut at a character boundary if it is too long. Only the first call counts.
    pub fn set(&self, text: &str) {
        if self.len.load(Acquire) != 0 || text.is_empty() {
            return;
        }
        let mut len = text.len().min(N);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: no reader looks at the bytes before the length is set, and there is one writer.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.bytes.get().cast::<u8>(), len);
        }
        self.len.store(len as u32, Release);
    }

    /// The text, once it has been set.
    pub fn get(&self) -> Option<String> {
        let len = self.len.load(Acquire) as usize;
        if len == 0 {
            return None;
        }
        // SAFETY: the writer has published these bytes and does not touch them again.
        let bytes = unsafe { &(&*self.bytes.get())[..len.min(N)] };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Sizes of the parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Client worker processes.
    pub workers: usize,
    /// Clients, over all workers.
    pub clients: usize,
    /// Scripts of the run.
    pub scripts: usize,
    /// Commands of all scripts together, if they are measured one by one; else 0.
    pub commands: usize,
    /// Room for lines that each worker tells; 0 if none ever does.
    pub message_bytes: usize,
    /// Room for the log of transactions of each worker; 0 without a log.
    pub log_bytes: usize,
    /// Whether each client has histograms of its own, instead of each worker.
    pub client_histograms: bool,
    /// Whether there is a histogram of the time of reading blocks, too.
    pub reads: bool,
}

struct Offsets {
    spec: usize,
    outcome: usize,
    workers: usize,
    clients: usize,
    client_stride: usize,
    histograms: usize,
    command_histograms: usize,
    messages: usize,
    logs: usize,
    total: usize,
}

/// Size of a ring with that many bytes; nothing at all without any.
fn ring_stride(bytes: usize) -> Option<usize> {
    match bytes {
        0 => Some(0),
        _ => Some(bytes.checked_add(size_of::<RingHead>() + 127)? & !127),
    }
}

impl Layout {
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
    /// number is beyond all bounds.
    pub fn command_histogram_bytes(&self) -> Option<usize> {
        self.histogram_sets()
            .checked_mul(self.commands)?
            .checked_mul(size_of::<[AtomicU32; coarse::BUCKETS]>())
    }

    fn offsets(&self, spec_len: usize) -> Option<Offsets> {
        let align = |n: usize| n.checked_add(127).map(|n| n & !127);
        let spec = align(size_of::<Header>())?;
        let outcome = align(spec.checked_add(spec_len)?)?;
        let workers = align(outcome.checked_add(OUTCOME_BYTES)?)?;
        let clients = align(workers.checked_add(self.workers.checked_mul(size_of::<Worker>())?)?)?;
        let client_stride = align(
            size_of::<ClientHead>()
                .checked_add(self.scripts.checked_mul(size_of::<ScriptCounters>())?)?
                .checked_add(self.commands.checked_mul(size_of::<CommandCounters>())?)?,
        )?;
        let histograms = align(clients.checked_add(self.clients.checked_mul(client_stride)?)?)?;
        let counters = self
            .histogram_sets()
            .checked_mul(self.histograms())?
            .checked_mul(buckets::BUCKETS)?
            .checked_mul(4)?;
        let command_histograms = align(histograms.checked_add(counters)?)?;
        let messages = align(command_histograms.checked_add(self.command_histogram_bytes()?)?)?;
        let message_rings = self.workers.checked_mul(ring_stride(self.message_bytes)?)?;
        let logs = messages.checked_add(message_rings)?;
        let log_rings = self.workers.checked_mul(ring_stride(self.log_bytes)?)?;
        let total = logs.checked_add(log_rings)?;
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
            total,
        })
    }
}

/// A mapped segment.
pub struct Segment {
    base: NonNull<u8>,
    dsm: *mut pg_sys::dsm_segment,
    layout: Layout,
    offsets: Offsets,
    /// Whether dropping unmaps it; a worker keeps it until it exits.
    owned: AtomicBool,
}

impl Segment {
    /// Makes a segment, all zero but for the header and the specification.
    ///
    /// The mapping belongs to the current resource owner and goes when the value is dropped.
    pub fn create<S: Serialize>(kind: Kind, layout: Layout, spec: &S) -> Result<Segment> {
        let spec = serde_json::to_vec(spec)
            .map_err(|e| Error::Limit(format!("cannot describe the task: {e}")))?;
        let offsets = layout.offsets(spec.len()).ok_or_else(too_large)?;
        let mut secret = 0u64;
        // SAFETY: fills so many bytes.
        let random =
            unsafe { pg_sys::pg_strong_random((&raw mut secret).cast(), size_of::<u64>()) };
        if !random {
            return Err(Error::Limit("could not generate a random number".into()));
        }
        // SAFETY: dsm_create either raises an error or returns a mapped segment of that size.
        let (dsm, base) = unsafe {
            let dsm = pg_sys::dsm_create(offsets.total, 0);
            (dsm, pg_sys::dsm_segment_address(dsm).cast::<u8>())
        };
        let base = NonNull::new(base).ok_or_else(too_large)?;
        // SAFETY: the segment has `total` bytes, starts on a page, and nobody else knows it yet.
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
            let ours = base.filter(|base| {
                let header = base.as_ptr().cast::<Header>();
                length >= size_of::<Header>()
                    && (*header).magic == MAGIC
                    && (*header).total_len as usize <= length
            });
            let Some(base) = ours else {
                if owned {
                    pg_sys::dsm_detach(dsm);
                }
                return None;
            };
            let header = &*base.as_ptr().cast::<Header>();
            let layout = Layout {
                workers: header.workers as usize,
                clients: header.clients as usize,
                scripts: header.scripts as usize,
                commands: header.commands as usize,
                message_bytes: header.message_bytes as usize,
                log_bytes: header.log_bytes as usize,
                client_histograms: header.client_histograms,
                reads: header.reads,
            };
            let offsets = layout.offsets(header.spec_len as usize)?;
            Some(Segment {
                base,
                dsm,
                layout,
                offsets,
                owned: AtomicBool::new(owned),
            })
        }
    }

    /// Keeps the mapping until this process exits; for workers.
    pub fn keep(self) -> &'static Segment {
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
    pub fn layout(&self) -> Layout {
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
        // SAFETY: written once, before anybody else knew the segment.
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
    pub fn client(&self, index: usize) -> (&ClientHead, &[ScriptCounters]) {
        assert!(index < self.layout.clients);
        // SAFETY: in bounds, aligned (the stride is a multiple of 128), valid for all bytes.
        unsafe {
            let head = self
                .base
                .as_ptr()
                .add(self.offsets.clients + index * self.offsets.client_stride);
            let counters = head.add(size_of::<ClientHead>()).cast::<ScriptCounters>();
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

    /// What each worker tells; one process must read it.
    pub fn all_messages(&self) -> impl Iterator<Item = Messages<'_>> {
        (0..self.layout.workers).filter_map(|worker| self.messages(worker))
    }

    /// What a worker tells; `None` if nothing is to be told, and if there is no such worker.
    pub fn messages(&self, worker: usize) -> Option<Messages<'_>> {
        if worker >= self.layout.workers {
            return None;
        }
        self.ring(self.offsets.messages, self.layout.message_bytes, worker)
            .map(Messages)
    }

    /// The log of a worker; `None` without a log. The coordinator alone reads it.
    pub fn log(&self, worker: usize) -> Option<Ring<'_>> {
        self.ring(self.offsets.logs, self.layout.log_bytes, worker)
    }

    fn ring(&self, rings: usize, bytes: usize, worker: usize) -> Option<Ring<'_>> {
        assert!(worker < self.layout.workers);
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
    pub fn histogram(&self, set: usize, number: usize) -> &[AtomicU32; buckets::BUCKETS] {
        let (sets, each) = (self.layout.histogram_sets(), self.layout.histograms());
        assert!(set < sets && number < each);
        let index = set * each + number;
        // SAFETY: in bounds, aligned, valid for all bytes.
        unsafe {
            let first = self
                .base
                .as_ptr()
                .add(self.offsets.histograms)
                .cast::<[AtomicU32; buckets::BUCKETS]>();
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
