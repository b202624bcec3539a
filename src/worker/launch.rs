//! The caller's side of a task: start its coordinator, wait for it, cancel it.

use super::ending::{self, LiveProcess, Owned, Processes};
use super::locks::DeadlockCheck;
use crate::backend::horizon::Horizon;
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::process::{WorkerHandle, no_slot};
use crate::backend::timeouts;
use crate::clock;
use crate::error::{Result, catch};
use crate::latch::{self, WaitEvent};
use crate::shared::{Phase, Segment, SegmentLayout, Stop, TaskKind};
use crate::state::session;
use crate::state::transaction::InTransaction;
use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Period of the caller's checks of its task while it waits.
const TICK: Duration = Duration::from_millis(100);
/// Period of these checks while the task ends.
const END_TICK: Duration = Duration::from_millis(20);
/// Time to wait for a canceled task to end before its coordinator is terminated.
const CANCEL_GRACE_NS: u64 = 10_000_000_000;
/// Limit of that wait if the caller itself must exit.
const LAST_GRACE_NS: u64 = 1_500_000_000;

/// Why a task ends early if its caller does.
pub const CALLER_ENDED: &str = "the session that waited for it has ended";

/// The coordinator of a task in errors.
const COORDINATOR: &str = "the coordinator";

/// Reason if a timeout ends the caller's statement; the server's message.
const TIMED_OUT: &str = "canceling statement due to statement timeout";

/// A task that this backend has started. Dropping it cancels it unless it has finished, and awaits
/// the end of its coordinator, unless it was detached.
pub struct Task(Owned<Launched>);

struct Launched {
    segment: Segment,
    coordinator: WorkerHandle,
    detached: Cell<bool>,
    abandoned: Cell<bool>,
}

impl Processes for Launched {
    fn end(&self) {
        let header = self.segment.header();
        // The caller may be terminated while it waits here.
        let grace_ns = || match latch::must_end() {
            true => LAST_GRACE_NS,
            false => CANCEL_GRACE_NS,
        };
        if header.phase() != Phase::Finished {
            // A process that is terminated comes here before its exit callback abandons the task.
            if latch::must_end() {
                header.cause.set(CALLER_ENDED);
            } else if timeouts::has_come(timeouts::STATEMENT_TIMEOUT) {
                header.cause.set(TIMED_OUT);
            }
            cancel(&self.segment);
        }
        let begin = clock::now_ns();
        while clock::now_ns() - begin < grace_ns() && !ending::are_gone(self) {
            latch::wait(END_TICK, WaitEvent::Workers);
        }
        if !ending::are_gone(self) {
            self.abandon();
            ending::end(self);
        }
    }

    fn abandon(&self) {
        if self.detached.get() {
            return;
        }
        self.abandoned.set(true);
        let header = self.segment.header();
        header.caller.clear();
        header.request_stop(Stop::Abandoned);
        // A coordinator that owes a teardown ends by itself, without this process.
        if header.owes_teardown.load(Relaxed) {
            header.coordinator.signal(Signal::INT);
            self.detached.set(true);
        }
    }

    fn for_each_live(&self, each: &mut dyn FnMut(LiveProcess)) {
        // A coordinator that stores a run ends by itself, as soon as it gets the locks that it needs.
        let stores = self.abandoned.get() && self.segment.header().phase() == Phase::Storing;
        if !self.detached.get() && !stores {
            LiveProcess::of_worker(&self.coordinator)
                .into_iter()
                .for_each(each);
        }
    }
}

impl Task {
    /// Makes the task's segment and starts its coordinator.
    ///
    /// `needed` is the number of worker slots that the whole task takes, for the error if none is
    /// free.
    pub fn launch<S: Serialize>(
        kind: TaskKind,
        layout: SegmentLayout,
        spec: &S,
        needed: usize,
    ) -> Result<Task> {
        let segment = Segment::create(kind, layout, spec, &[])?;
        Self::start(kind, segment, needed)
    }

    /// Starts the coordinator of the task that a segment has been made for, as
    /// [`launch`](Self::launch) does.
    pub fn start(kind: TaskKind, segment: Segment, needed: usize) -> Result<Task> {
        segment.header().caller.set_to_me();
        let (function, name) = kind.process();
        let coordinator = WorkerHandle::register(function, name, name, segment.handle())
            .ok_or_else(|| no_slot(needed, 0))?;
        Ok(Task(Owned::new(Launched {
            segment,
            coordinator,
            detached: Cell::new(false),
            abandoned: Cell::new(false),
        })))
    }

    /// The task's segment.
    pub fn segment(&self) -> &Segment {
        &self.0.segment
    }

    /// Waits until the task has reached phase `until`, or has finished, and calls `tick` repeatedly
    /// meanwhile. Canceling the query cancels the task and raises the error when it has ended.
    ///
    /// Fails if the task waits for this process's transaction.
    pub fn wait(
        &self,
        until: Phase,
        horizon: &Horizon,
        mut tick: impl FnMut(&Segment) -> Result<()>,
    ) -> Result<()> {
        let mut deadlock_check = DeadlockCheck::new();
        let watched = self.watch(until, |segment| {
            catch(|| tick(segment))
                .and_then(|()| deadlock_check.check(segment))
                .inspect_err(|error| segment.header().cause.set(&error.report().one_line()))?;
            horizon.release();
            Ok(())
        });
        // The caller's next statement must not use what the task has dropped.
        session::accept_changes(InTransaction::current()?);
        watched
    }

    /// Waits like [`wait`](Self::wait), in a process that has no transaction.
    pub fn watch(&self, until: Phase, mut tick: impl FnMut(&Segment) -> Result<()>) -> Result<()> {
        let header = self.segment().header();
        loop {
            latch::end_without_client();
            if latch::interrupted() {
                self.0.end();
                check_for_interrupts();
            }
            // The task may finish between two checks.
            let gone = ending::are_gone(&*self.0);
            let phase = header.phase();
            if phase == Phase::Finished {
                check_for_interrupts();
                return Ok(());
            }
            if gone {
                check_for_interrupts();
                return Err(self.segment().lost(COORDINATOR));
            }
            if phase >= until {
                return Ok(());
            }
            check_for_interrupts();
            tick(self.segment())?;
            latch::wait(TICK, WaitEvent::Task);
        }
    }

    /// The outcome of a task that has finished.
    pub fn outcome<T: DeserializeOwned>(&self) -> Result<T> {
        let segment = self.segment();
        let outcome = segment.outcome();
        outcome.unwrap_or_else(|| Err(segment.lost(COORDINATOR)))
    }

    /// Lets the task continue without this backend.
    pub fn detach(&self) {
        self.segment().header().caller.clear();
        self.0.detached.set(true);
    }
}

/// Asks a task to end: between transactions by its flag, in a long statement by SIGINT.
pub fn cancel(segment: &Segment) {
    segment.header().request_stop(Stop::Requested);
    segment.header().coordinator.signal(Signal::INT);
}
