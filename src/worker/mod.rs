//! Background workers: which process starts which, and how each attaches to its task and exits.
//!
//! ```text
//! caller's backend ── registers ──> coordinator ── registers ──> client workers
//!        │                               │                              │
//!        └───────────── the task's shared memory segment ───────────────┘
//! ```
//!
//! The caller waits for the task's phase, the coordinator for its workers' states; latches wake up
//! both. Each process marks its own end in the segment, even when it is terminated, so that no
//! process waits for one that has exited. A process that starts others ends them, see `ending`.
//!
//! `launch` is the caller's side; `locks` detects deadlocks with the caller's transaction.
//! `coordinator` runs a benchmark: `client_process` manages the processes of its clients, `tables`
//! checks tables, `harvest` and `figures` collect the clients' counters, `logbook` stores their
//! log, `snapshots` detects snapshots that distort the figures. `spi_client` and `libpq_client` are
//! the clients, `shell` runs their shell commands, `notices` forwards server messages. `loader`
//! runs an initialization. `transaction` and `statement` are how workers use the database, `remote`
//! how they use a target, `database` either; `settings` are the caller's. `fatal` keeps why a
//! process ended.
//!
//! ```text
//! caller's backend ── registers ──> loader ── registers ──> page workers
//!        │                           │  │                        │
//!        └─ segment of the task ─────┘  └── segment of the plan ─┘
//! ```
//!
//! The loader fills accounts and pgio's tables together with its page workers, see `page_worker`.

pub mod client_process;
pub mod coordinator;
pub mod ending;
pub mod figures;
mod fill;
pub mod harvest;
pub mod launch;
pub mod libpq_client;
pub mod loader;
pub mod locks;
pub mod logbook;
mod notices;
pub mod page_worker;
pub mod shell;
pub mod snapshots;
pub mod spi_client;
pub mod tables;

use crate::backend::interrupts::check_between_statements;
use crate::backend::process::{at_exit, begin_worker};
use crate::backend::{fatal, transaction};
use crate::latch;

use crate::error::{Report, Result};
use crate::run::{Mode, RunSpec};
use crate::security;
use crate::server;
use crate::shared::{Header, Phase, Segment, Stop, WorkerState};
use pgrx::pg_sys;
use selfbench_client::{Plan, Thread};
use selfbench_script::{Streams, Workload};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::time::Duration;

/// The segment of this process, for its exit callback.
static MY_SEGMENT: AtomicPtr<Segment> = AtomicPtr::new(std::ptr::null_mut());

/// Attaches the segment whose number is a worker's argument and unblocks signals.
///
/// `None` if the segment is gone: then the task is over, and the worker just ends.
fn attach(argument: pg_sys::Datum) -> Option<&'static Segment> {
    begin_worker();
    Some(keep(Segment::attach(argument.value() as u32)?))
}

/// Makes a segment that of this process until the process exits.
fn keep(segment: Segment) -> &'static Segment {
    fatal::watch();
    let segment = segment.keep();
    MY_SEGMENT.store(std::ptr::from_ref(segment).cast_mut(), Release);
    segment
}

/// The segment of this process, in exit callbacks.
fn my_segment() -> Option<&'static Segment> {
    // SAFETY: `keep` leaked the segment, so that it lives as long as the process.
    unsafe { MY_SEGMENT.load(Acquire).as_ref() }
}

/// The number of the segment of this process, if it is a process of a task.
pub fn own_segment() -> Option<i64> {
    my_segment().map(|segment| i64::from(segment.handle()))
}

/// Data that the clients of a run share after the start barrier has opened.
fn plan<'w>(header: &Header, spec: &'w RunSpec, workload: &'w Workload) -> Plan<'w> {
    Plan {
        workload,
        transactions: spec.transactions.map(|n| n as u64),
        measure_ns: header.measure_ns.load(Relaxed),
        deadline_ns: header.deadline_ns.load(Relaxed),
        max_tries: spec.max_tries,
        throttle_us: spec.rate.map(|rate| Plan::throttle_us(rate, spec.jobs)),
        latency_limit_ns: spec.latency_limit_ns,
        reconnect: spec.reconnect,
        continue_on_error: spec.continue_on_error,
        exit_on_abort: spec.exit_on_abort,
        per_statement: spec.per_statement,
        verbose_errors: spec.verbose_errors,
        debug: spec.debug,
        log: spec.log.is_some(),
        sampling_rate: spec.log.as_ref().and_then(|log| log.sampling_rate),
        commit_every: spec.pgio.as_ref().map_or(1, |pgio| pgio.commit_every),
        usage: spec.pgio.is_some(),
        scale: header.scale.load(Relaxed),
        random_seed: spec.seed,
        variables: &spec.variables,
    }
}

/// The streams of a run, and some of its threads.
fn streams(header: &Header, spec: &RunSpec, threads: Range<usize>) -> (Streams, Vec<Thread>) {
    let streams = Streams::derive(
        spec.seed,
        spec.clients,
        spec.jobs,
        spec.variable("default_seed").is_some(),
    );
    let start_ns = header.start_ns.load(Relaxed);
    let threads = streams.threads[threads]
        .iter()
        .map(|streams| Thread::new(streams, start_ns))
        .collect();
    (streams, threads)
}

/// Checks again in a client worker, although the caller has done so, that the role may run programs
/// if a script does.
fn check_rights(workload: &Workload) -> Result<()> {
    if workload.runs_programs() {
        transaction::transaction(security::require_server_program)?;
    }
    Ok(())
}

/// A client worker's place in its task, taken at the start of the process.
struct Place {
    segment: &'static Segment,
    index: usize,
}

impl Place {
    /// Takes a place; `None` if the task is over.
    fn take(argument: pg_sys::Datum) -> Option<Place> {
        let segment = attach(argument)?;
        Some(Place::occupy(segment, segment.claim_worker()?))
    }

    /// Takes a place for a backend that was called with the number and the secret of the segment.
    /// The run must be in mode spi, belong to the same role and still wait for clients. The secret
    /// proves that the coordinator made the call. A process takes at most one place.
    fn join(handle: u32, secret: u64) -> Option<Place> {
        if my_segment().is_some() {
            return None;
        }
        let segment = Segment::attach(handle)?;
        let header = segment.header();
        let role = server::role().to_u32();
        if !header.is_run()
            || header.secret != secret
            || header.role != role
            || header.phase() != Phase::Preparing
            || segment.spec::<RunSpec>().ok()?.mode != Mode::Spi
        {
            return None;
        }
        let index = segment.claim_worker()?;
        Some(Place::occupy(keep(segment), index))
    }

    fn occupy(segment: &'static Segment, index: usize) -> Place {
        let worker = segment.worker(index);
        worker.process.set_to_me();
        worker.set_state(WorkerState::Attached);
        at_exit(client_worker_exit, index);
        Place { segment, index }
    }

    /// Reports this worker ready and waits for the start barrier; whether the run has started.
    fn wait_for_start(&self) -> bool {
        let header = self.segment.header();
        self.segment
            .worker(self.index)
            .set_state(WorkerState::Ready);
        header.coordinator.wake();
        loop {
            if header.stop() != Stop::No {
                return false;
            }
            if header.phase() >= Phase::Running {
                return true;
            }
            check_between_statements();
            latch::wait(Duration::from_secs(10));
        }
    }

    /// Marks the worker as terminated.
    fn die(&self) {
        self.segment.worker(self.index).set_state(WorkerState::Died);
    }

    /// Marks the worker as ended by the error that kept it from taking part.
    fn leave(&self, failure: Option<Report>) {
        let worker = self.segment.worker(self.index);
        if let Some(report) = failure {
            worker.fail(&report);
        }
        worker.set_state(WorkerState::Done);
        self.segment.header().coordinator.wake();
    }
}

unsafe extern "C-unwind" fn client_worker_exit(_code: i32, index: pg_sys::Datum) {
    shell::end();
    if let Some(segment) = my_segment() {
        let worker = segment.worker(index.value());
        if worker.state() < WorkerState::Done
            && let Some(report) = fatal::report()
        {
            worker.fail(&report);
        }
        worker.set_state(WorkerState::Died);
        worker.process.clear();
        segment.header().coordinator.wake();
    }
}
