//! Ends the processes that this process has started: when the value that owns them is dropped,
//! and in an exit callback, because a FATAL error runs no destructors.
//!
//! Nothing here raises an error: an error while another one unwinds, or in an exit callback, would
//! crash the server.

use crate::backend::process::{WorkerHandle, WorkerStatus, at_exit};
use crate::check::list;
use crate::clock;
use crate::error::message;
use crate::latch::{self, WaitEvent};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Time to wait for processes to exit after SIGTERM.
const LIMIT_NS: u64 = 10_000_000_000;
/// Limit in an exit callback, where this process does not react to SIGTERM itself.
const EXIT_LIMIT_NS: u64 = 6_000_000_000;
/// Time between further SIGTERMs to processes that treat the first one as a request. A coordinator
/// needs some time to end its clients and to store the run.
const INSIST_NS: u64 = 4_000_000_000;
/// Period of checks whether they have exited.
const TICK: Duration = Duration::from_millis(20);

/// Processes that this process has started. No method may raise an error.
pub trait Processes: 'static {
    /// Ends all remaining processes, as on drop.
    fn end(&self) {
        self.abandon();
        end(self);
    }

    /// Tells the processes, in shared memory, that they are no longer needed.
    fn abandon(&self);

    /// Calls `each` for all remaining processes.
    fn for_each_live(&self, each: &mut dyn FnMut(LiveProcess));

    /// Time to wait for them after SIGTERM was sent.
    fn limit_ns(&self) -> u64 {
        match latch::is_exiting() {
            true => EXIT_LIMIT_NS,
            false => LIMIT_NS,
        }
    }
}

/// A process that has not ended.
#[derive(Clone, Copy)]
pub enum LiveProcess<'p> {
    /// A background worker, which may not have begun yet.
    Worker(&'p WorkerHandle),
    /// A backend.
    Backend(Option<Pid>),
}

impl LiveProcess<'_> {
    /// Handle of a worker; `None` if it has ended.
    pub fn of_worker(worker: &WorkerHandle) -> Option<LiveProcess<'_>> {
        (worker.status() != WorkerStatus::Stopped).then_some(LiveProcess::Worker(worker))
    }

    /// Requests the process to exit. The postmaster signals a worker only once.
    pub fn terminate(self) {
        match self {
            LiveProcess::Worker(worker) => worker.terminate(),
            LiveProcess::Backend(_) => self.insist(),
        }
    }

    fn insist(self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    fn pid(self) -> Option<Pid> {
        match self {
            LiveProcess::Worker(worker) => worker.pid(),
            LiveProcess::Backend(pid) => pid,
        }
    }
}

/// Whether all have exited.
pub fn are_gone(processes: &(impl Processes + ?Sized)) -> bool {
    let mut gone = true;
    processes.for_each_live(&mut |_| gone = false);
    gone
}

/// Sends SIGTERM to all remaining processes and waits until they have exited, see [`Termination`].
pub fn end(processes: &(impl Processes + ?Sized)) {
    let mut termination = Termination::begin(processes);
    while !termination.is_over(processes) {
        latch::wait(TICK, WaitEvent::Workers);
    }
}

/// Processes that were requested to exit.
pub struct Termination {
    begin_ns: u64,
    /// Number of further SIGTERMs.
    insisted: u64,
}

impl Termination {
    /// Sends SIGTERM to all remaining processes.
    pub fn begin(processes: &(impl Processes + ?Sized)) -> Termination {
        processes.for_each_live(&mut |process| process.terminate());
        Termination {
            begin_ns: clock::now_ns(),
            insisted: 0,
        }
    }

    /// Whether waiting is over: all have exited, or the time is up. To be called repeatedly.
    pub fn is_over(&mut self, processes: &(impl Processes + ?Sized)) -> bool {
        // Without a postmaster, the states of workers are unknown. Workers notice its death
        // themselves.
        if are_gone(processes) || !latch::postmaster_is_alive() {
            return true;
        }
        let waited = clock::now_ns() - self.begin_ns;
        if waited > INSIST_NS * (self.insisted + 1) {
            self.insisted += 1;
            processes.for_each_live(&mut |process| process.insist());
        }
        if waited <= processes.limit_ns() {
            return false;
        }
        let mut pids = Vec::new();
        processes.for_each_live(&mut |process| pids.extend(process.pid().map(Pid::as_raw_nonzero)));
        message::log(format_args!(
            "benchmark processes did not exit when requested: PIDs {}",
            list(&pids)
        ));
        true
    }
}

thread_local! {
    /// The values whose processes are to end with this process.
    static OWNED: RefCell<Vec<Rc<dyn Processes>>> = const { RefCell::new(Vec::new()) };
    /// Whether the callback has been registered. It stays for good: taking it back would raise an
    /// error if another one had come after it.
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// A value whose processes end when it is dropped, or this process exits.
pub struct Owned<P: Processes>(Rc<P>);

impl<P: Processes> Owned<P> {
    /// Takes care of the processes of a value from here on.
    pub fn new(processes: P) -> Owned<P> {
        if !REGISTERED.replace(true) {
            at_exit(end_all);
        }
        let processes = Rc::new(processes);
        OWNED.with_borrow_mut(|all| all.push(Rc::<P>::clone(&processes)));
        Owned(processes)
    }
}

impl<P: Processes> std::ops::Deref for Owned<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Processes> Drop for Owned<P> {
    fn drop(&mut self) {
        if !are_gone(&*self.0) {
            self.0.end();
        }
        let own = Rc::as_ptr(&self.0);
        OWNED.with_borrow_mut(|all| all.retain(|one| !std::ptr::addr_eq(Rc::as_ptr(one), own)));
    }
}

fn end_all() {
    // A FATAL error leaves nothing borrowed: none is raised while something is.
    let all = OWNED.with(|all| all.try_borrow().map(|all| all.clone()).unwrap_or_default());
    all.iter().for_each(|processes| processes.abandon());
    let mut terminations: Vec<_> = all.iter().map(|p| (p, Termination::begin(&**p))).collect();
    while !terminations
        .iter_mut()
        .all(|(p, termination)| termination.is_over(&***p))
    {
        latch::wait(TICK, WaitEvent::Workers);
    }
}
