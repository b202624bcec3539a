//! A client worker's place in its task: taking it, waiting for the start, and leaving it.

use super::attach::{adopt, attach, my_segment};
use super::clients::shell;
use crate::backend::fatal;
use crate::backend::interrupts::check_between_statements;
use crate::backend::process::at_exit;
use crate::error::Report;
use crate::latch::{self, WaitEvent};
use crate::run::{Mode, RunSpec};
use crate::server;
use crate::shared::{Phase, Segment, Stop, WorkerState};
use pgrx::pg_sys;
use std::time::Duration;

/// A client worker's place in its task, taken at the start of the process.
pub struct Place {
    pub segment: &'static Segment,
    pub index: usize,
}

impl Place {
    /// Takes a place; `None` if the task is over.
    pub fn take(argument: pg_sys::Datum) -> Option<Place> {
        let segment = attach(argument)?;
        Some(Place::occupy(segment, segment.claim_worker()?))
    }

    /// Takes a place for a backend that was called with the number and the secret of the segment.
    /// The run must be in mode spi, belong to the same role and still wait for clients. The secret
    /// proves that the coordinator made the call. A process takes at most one place.
    pub fn join(handle: u32, secret: u64) -> Option<Place> {
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
            || segment.spec::<RunSpec>().ok()?.run.mode != Mode::Spi
        {
            return None;
        }
        let index = segment.claim_worker()?;
        Some(Place::occupy(adopt(segment), index))
    }

    fn occupy(segment: &'static Segment, index: usize) -> Place {
        let worker = segment.worker(index);
        worker.process.set_to_me();
        worker.set_state(WorkerState::Attached);
        at_exit(move || client_worker_exit(index));
        Place { segment, index }
    }

    /// Reports this worker ready and waits for the start barrier; returns whether the run has
    /// started.
    pub fn wait_for_start(&self) -> bool {
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
            latch::wait(Duration::from_secs(10), WaitEvent::StartBarrier);
        }
    }

    /// Marks the worker as terminated.
    pub fn die(&self) {
        self.segment.worker(self.index).set_state(WorkerState::Died);
    }

    /// Marks the worker as ended by the error that kept it from taking part.
    pub fn leave(&self, failure: Option<Report>) {
        let worker = self.segment.worker(self.index);
        if let Some(report) = failure {
            worker.fail(&report);
        }
        worker.set_state(WorkerState::Done);
        self.segment.header().coordinator.wake();
    }
}

fn client_worker_exit(index: usize) {
    shell::end();
    if let Some(segment) = my_segment() {
        let worker = segment.worker(index);
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
