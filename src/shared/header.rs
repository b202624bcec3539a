//! The head of a segment: what a task is, how far it has come, and requests to end it.

use super::last_interval::LastInterval;
use super::layout::{ELEMENT_BYTES, SegmentLayout};
use super::once_text::OnceText;
use super::process::ProcessRef;
use super::relations::Relations;
use super::slots::REASON_BYTES;
use super::top_wait::TopWaitSlot;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::*};

/// The first bytes of a segment, the same in all versions: a process that has loaded another one than the process
/// that made the segment can say so.
#[repr(C)]
pub(super) struct Mark {
    magic: u64,
    refused: AtomicU32,
}

/// The upper half of `magic` in all versions.
const OURS: u32 = u32::from_be_bytes(*b"self");
/// `magic` of this version and layout.
const MAGIC: u64 = (OURS as u64) << 32 | fingerprint() as u64;

/// FNV-1a, 32 bits, of the version and of the sizes of the header and of the elements of all parts.
const fn fingerprint() -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    let (version, mut at) = (env!("CARGO_PKG_VERSION").as_bytes(), 0);
    while at < version.len() {
        hash = (hash ^ version[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    let (sizes, mut at) = ([size_of::<Header>(), ELEMENT_BYTES], 0);
    while at < sizes.len() {
        hash = (hash ^ sizes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

impl Mark {
    /// Marks a new segment as one of this version.
    pub(super) fn set(&mut self) {
        self.magic = MAGIC;
    }

    /// Whether it marks a segment of this version.
    pub(super) fn is_of_this_version(&self) -> bool {
        self.magic == MAGIC
    }

    /// Notes that a process of another version was to attach the segment, if it is one of ours.
    pub(super) fn refuse(&self) {
        if (self.magic >> 32) as u32 == OURS {
            self.refused.store(1, Relaxed);
        }
    }

    /// Whether a process of another version was to attach the segment.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Relaxed) != 0
    }
}

/// Kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TaskKind {
    /// A benchmark run.
    Run = 1,
    /// Filling pgbench's or pgio's tables.
    Initialize = 2,
    /// Building pages of tables, as a part of that.
    Pages = 3,
    /// Executing the setup or the teardown of a run.
    Statements = 4,
    /// Storing the row of a set.
    Set = 5,
    /// Making the runs of a job.
    Job = 6,
}

impl TaskKind {
    /// Entry point and name of the process that does it.
    pub fn process(self) -> (&'static str, &'static str) {
        match self {
            TaskKind::Run => ("pg_selfbench_coordinator_main", "pg_selfbench coordinator"),
            TaskKind::Initialize => ("pg_selfbench_loader_main", "pg_selfbench loader"),
            TaskKind::Job => ("pg_selfbench_job_main", "pg_selfbench job"),
            TaskKind::Set => ("pg_selfbench_set_writer_main", "pg_selfbench set writer"),
            TaskKind::Pages => ("pg_selfbench_page_worker_main", "pg_selfbench page worker"),
            TaskKind::Statements => ("pg_selfbench_statements_main", "pg_selfbench statements"),
        }
    }
}

/// Phase of a task. Only its coordinator or loader moves it, and only forward.
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
    /// No request.
    No = 0,
    /// `bench.cancel`, or Ctrl-C in the caller.
    Requested = 1,
    /// One of our processes was terminated, or the server shuts down.
    Terminated = 2,
    /// The process that waits for the task, or its coordinator, is gone: no result is needed.
    Abandoned = 3,
}

/// Head of the segment.
#[repr(C, align(64))]
pub struct Header {
    pub(super) mark: Mark,
    pub(super) spec_len: u64,
    pub(super) kind: u32,
    pub(super) layout: SegmentLayout,
    /// Oid of the role that the task belongs to.
    pub role: u32,
    /// Secret that only processes of the task know.
    pub secret: u64,
    phase: AtomicU32,
    stop: AtomicU32,
    /// Workers that have claimed a slot.
    pub(super) claimed: AtomicU32,
    pub(super) outcome_len: AtomicU64,
    /// Id of the run, or of the run of a job, 0 while it has none.
    pub run_id: AtomicI64,
    /// Clock reading when the start barrier opened.
    pub start_ns: AtomicU64,
    /// Time from which on transactions count: the start plus the warm-up, or `UNKNOWN_NS` until the
    /// run is steady, if that ends the warm-up.
    pub measure_ns: AtomicU64,
    /// No transaction starts after this; `u64::MAX` if the run is limited by a count.
    pub deadline_ns: AtomicU64,
    /// The figures of the interval that ended last.
    pub last_interval: LastInterval,
    /// Most frequent wait in that interval.
    pub top_wait: TopWaitSlot,
    /// Value of the variable `scale`: pgbench's scale, the number of keys of pgio's tables, or what
    /// the user specified.
    pub scale: AtomicI64,
    /// Number of the step of an initialization that is under way, from 1; 0 before the first.
    pub step: AtomicU32,
    /// When that step began.
    pub step_ns: AtomicU64,
    /// Rows done and wanted in that step.
    pub rows_done: AtomicU64,
    /// See `rows_done`.
    pub rows_total: AtomicU64,
    /// Starts of the run's schedule that clients have taken, with a rate.
    pub starts_taken: AtomicU64,
    /// Parts of the work that processes have taken; of page workers and their loader.
    pub parts_taken: AtomicU64,
    /// Parts of rows that they have committed.
    pub parts_committed: AtomicU64,
    /// Time that they spent with primary keys, added up.
    pub keys_ns: AtomicU64,
    /// The backend that waits for the task, if one does.
    pub caller: ProcessRef,
    /// The task's coordinator, or the loader.
    pub coordinator: ProcessRef,
    /// The process of this server that executes the setup or the teardown, or that its connection to
    /// a target names; 0 while there is none.
    pub statements_pid: AtomicI32,
    /// Whether the run's setup may have begun, and its teardown has not ended: its coordinator
    /// outlives the caller.
    pub owes_teardown: AtomicBool,
    /// Whether the run is stored as not canceled, even if a request to cancel it comes in its teardown.
    pub ended: AtomicBool,
    /// Another run of the role whose teardown is still due; 0 if there is none.
    pub left_teardown: AtomicI64,
    /// Sessions that have been given up, because they did not end their statements when canceled.
    pub sessions_left: AtomicU32,
    /// Relations that plans of clients of mode spi use.
    pub relations: Relations,
    /// Why the caller ends the task, unless it was asked to.
    pub cause: OnceText<REASON_BYTES>,
}

impl Header {
    /// Returns the phase of the task.
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

    /// The task's name for `pg_stat_activity`: `run 20`, or `initialize`. A run that is not stored has no
    /// number.
    pub fn name(&self) -> String {
        let of_run = self.is_run() || self.kind == TaskKind::Statements as u32;
        match (of_run, self.run_id.load(Relaxed)) {
            (true, 0) => "run".into(),
            (true, id) => format!("run {id}"),
            (false, _) if self.kind == TaskKind::Set as u32 => "set".into(),
            (false, _) if self.kind == TaskKind::Job as u32 => "job".into(),
            (false, _) => "initialize".into(),
        }
    }

    /// Whether the task is a benchmark run.
    pub fn is_run(&self) -> bool {
        self.kind == TaskKind::Run as u32
    }
}
