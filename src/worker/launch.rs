//! The caller's side of a task: start its coordinator, wait for it, cancel it.

use super::check_for_interrupts;
use crate::clock;
use crate::error::{Error, Result};
use crate::run::horizon::Horizon;
use crate::shared::process::{self, WorkerHandle, WorkerStatus, no_slot};
use crate::shared::segment::{Kind, Layout, Phase, Segment, Stop};
use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::time::Duration;

/// How often the caller looks at its task while it waits.
const TICK: Duration = Duration::from_millis(100);
/// A cancelled task gets that long to end by itself; then its coordinator is terminated.
const CANCEL_GRACE_NS: u64 = 10_000_000_000;
/// How long to wait for the coordinator's process to be gone after the task has finished.
const EXIT_LIMIT: Duration = Duration::from_secs(5);
/// How often to look whether workers wait for the caller's locks.
const LOCK_CHECK_NS: u64 = 500_000_000;

/// A task that this backend has started. Dropping it before it has finished cancels it, unless it
/// was detached.
pub struct Task {
    segment: Segment,
    coordinator: WorkerHandle,
    detached: Cell<bool>,
}

impl Task {
    /// Makes the task's segment and starts its coordinator.
    ///
    /// `needed` is the number of worker slots that the whole task takes, for the error if there is
    /// none at all.
    pub fn launch<S: Serialize>(
        kind: Kind,
        layout: Layout,
        spec: &S,
        needed: usize,
    ) -> Result<Task> {
        let segment = Segment::create(kind, layout, spec)?;
        segment.header().caller.set_to_me();
        let (function, name) = kind.process();
        let coordinator = WorkerHandle::register(function, name, name, segment.handle())
            .ok_or_else(|| no_slot(needed, 0))?;
        Ok(Task {
            segment,
            coordinator,
            detached: Cell::new(false),
        })
    }

    /// The task's segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Waits until the task has come to `until`, or has finished. `tick` is called again and again
    /// meanwhile. Cancelling the query cancels the task and raises the error when it has ended.
    pub fn wait(
        &self,
        until: Phase,
        horizon: &Horizon,
        mut tick: impl FnMut(&Segment) -> Result<()>,
    ) -> Result<()> {
        let header = self.segment.header();
        let mut canceled_at = None;
        let mut locks_checked = clock::now_ns();
        loop {
            let phase = header.phase();
            if phase == Phase::Finished {
                self.coordinator.wait_for_exit(EXIT_LIMIT);
                check_for_interrupts();
                return Ok(());
            }
            if self.coordinator.status() == WorkerStatus::Stopped {
                if header.phase() == Phase::Finished {
                    continue;
                }
                check_for_interrupts();
                return Err(Error::WorkerDied {
                    what: "the coordinator".into(),
                });
            }
            let now = clock::now_ns();
            match canceled_at {
                None if process::interrupted() => {
                    cancel(&self.segment);
                    canceled_at = Some(now);
                }
                None => {
                    if phase >= until {
                        return Ok(());
                    }
                    check_for_interrupts();
                    tick(&self.segment)?;
                    if now.saturating_sub(locks_checked) > LOCK_CHECK_NS {
                        locks_checked = now;
                        super::locks::fail_if_workers_wait_for_me(&self.segment)?;
                    }
                }
                Some(at) if now - at > CANCEL_GRACE_NS => {
                    self.coordinator.terminate();
                    check_for_interrupts();
                    return Err(Error::WorkerStays {
                        what: "the coordinator".into(),
                    });
                }
                Some(_) => {}
            }
            horizon.release();
            process::wait(TICK);
        }
    }

    /// The outcome of a task that has finished.
    pub fn outcome<T: DeserializeOwned>(&self) -> Result<T> {
        self.segment.outcome().unwrap_or_else(|| {
            Err(Error::WorkerDied {
                what: "the coordinator".into(),
            })
        })
    }

    /// Lets the task go on without this backend.
    pub fn detach(&self) {
        self.segment.header().caller.clear();
        self.detached.set(true);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.detached.get() {
            self.segment.header().caller.clear();
            if self.segment.header().phase() != Phase::Finished {
                cancel(&self.segment);
            }
        }
    }
}

/// Asks a task to end: between transactions by its flag, in a long statement by SIGINT.
pub fn cancel(segment: &Segment) {
    segment.header().request_stop(Stop::Requested);
    segment.header().coordinator.signal(Signal::INT);
}
