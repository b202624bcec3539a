//! Other processes: references to them in shared memory, waking and signalling them, and waiting
//! to be woken.

use crate::compat;
use crate::error::Error;
use pgrx::pg_sys;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::*};
use std::time::Duration;

/// A process of this server that may be woken or signalled by others.
///
/// Holds a pointer into the server's array of processes, which never moves and is never freed. If
/// the process is gone, its place may have been given to another; that one is woken for nothing.
#[repr(C)]
pub struct ProcessRef {
    proc: AtomicPtr<pg_sys::PGPROC>,
    pid: AtomicI32,
}

impl ProcessRef {
    /// Makes this process known.
    pub fn set_to_me(&self) {
        // SAFETY: MyProc and MyProcPid are set in every process that runs our code.
        let (proc, pid) = unsafe { (pg_sys::MyProc, pg_sys::MyProcPid) };
        self.pid.store(pid, Relaxed);
        self.proc.store(proc, Release);
    }

    /// Forgets the process.
    pub fn clear(&self) {
        self.proc.store(std::ptr::null_mut(), Release);
        self.pid.store(0, Relaxed);
    }

    /// Process id; 0 if none is known.
    pub fn pid(&self) -> i32 {
        self.pid.load(Relaxed)
    }

    /// Sets the process's latch.
    pub fn wake(&self) {
        let proc = self.proc.load(Acquire);
        if !proc.is_null() {
            // SAFETY: points into ProcGlobal, see the type's comment; SetLatch may be called on
            // any process's latch.
            unsafe { pg_sys::SetLatch(&raw mut (*proc).procLatch) };
        }
    }

    /// Sends a signal; nothing happens if the process is gone.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid()) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Whether a process of this server has waited for a lock of the server's lock manager for at least
/// `limit`.
pub fn waits_for_lock(pid: i32, limit: Duration) -> bool {
    // SAFETY: null, or points into ProcGlobal, see [`ProcessRef`]; the words are read as the
    // activity views read them, without a lock.
    unsafe {
        let proc = pg_sys::BackendPidGetProc(pid);
        if proc.is_null() {
            return false;
        }
        let info = (&raw const (*proc).wait_event_info).read_volatile();
        let since_us = (&raw const (*proc).waitStart.value).read_volatile() as i64;
        let waited_us = pg_sys::GetCurrentTimestamp() - since_us;
        info & 0xFF00_0000 == pg_sys::PG_WAIT_LOCK
            && since_us != 0
            && waited_us >= limit.as_micros() as i64
    }
}

/// What a process of this server executes now, as far as the caller may know.
pub fn statement_of(pid: i32) -> String {
    // SAFETY: in a transaction; a text that ends in a zero byte, copied at once.
    unsafe {
        let text = pg_sys::pgstat_get_backend_current_activity(pid, true);
        std::ffi::CStr::from_ptr(text)
            .to_string_lossy()
            .into_owned()
    }
}

/// Longer waits end early; the server counts them in 32 bits.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The shortest time that the server can wait for.
const TICK_NS: u64 = 1_000_000;

/// Waits until this process's latch is set or the clock has come to `until_ns`, more precisely than
/// [`wait`] can; may end early.
pub fn wait_until(until_ns: u64) {
    let left = until_ns.saturating_sub(crate::clock::now_ns());
    if left >= TICK_NS {
        wait(Duration::from_nanos(left - left % TICK_NS));
    } else if left > 0 {
        // Too short to keep anybody waiting who wakes this process meanwhile.
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Waits until this process's latch is set or `timeout` has passed, and clears the latch.
///
/// Ends the process if the postmaster has died; one that is about to exit just returns. Does not
/// look at interrupts: the caller does.
pub fn wait(timeout: Duration) {
    // A process may be woken often; rounding up keeps it from spinning at the end.
    let ms = timeout.min(LONGEST_WAIT).as_micros().div_ceil(1000) as i64;
    let death = match is_exiting() {
        true => pg_sys::WL_POSTMASTER_DEATH,
        false => pg_sys::WL_EXIT_ON_PM_DEATH,
    };
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | death;
    // SAFETY: waits on this process's own latch.
    unsafe {
        pg_sys::WaitLatch(
            pg_sys::MyLatch,
            events as i32,
            ms as _,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// Makes the next wait of this process end at once.
pub fn wake_myself() {
    // SAFETY: sets this process's own latch.
    unsafe { pg_sys::SetLatch(pg_sys::MyLatch) };
}

/// Whether this backend's query was cancelled or the backend is to end.
pub fn interrupted() -> bool {
    // SAFETY: a signal flag, read as CHECK_FOR_INTERRUPTS reads it.
    must_end() || unsafe { (&raw const pg_sys::QueryCancelPending).read_volatile() != 0 }
}

/// At the beginning of a statement: a request to cancel meant what was before it.
#[inline]
pub fn forget_cancel() {
    // SAFETY: a flag of this process, which executes no statement.
    unsafe { (&raw mut pg_sys::QueryCancelPending).write_volatile(0) };
}

/// Whether this process was told to end.
pub fn must_end() -> bool {
    // SAFETY: a signal flag, read as CHECK_FOR_INTERRUPTS reads it.
    unsafe { (&raw const pg_sys::ProcDiePending).read_volatile() != 0 }
}

/// Whether this process is about to exit: its exit callbacks run.
pub fn is_exiting() -> bool {
    // SAFETY: a plain variable of this process.
    unsafe { pg_sys::proc_exit_inprogress }
}

/// Ends this process if the postmaster has died, for loops that never wait: a process that goes on
/// would block the next start of the server.
#[inline]
pub fn exit_with_postmaster() {
    // It may be dead until somebody has asked, which no process that never waits has.
    if compat::postmaster_may_be_dead() && !compat::postmaster_is_alive() {
        wait(Duration::ZERO);
    }
}

/// The status of a background worker that this process registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// Registered or running.
    Alive,
    /// Ended, and its slot is free.
    Stopped,
}

/// A background worker that this process registered.
pub struct WorkerHandle(*mut pg_sys::BackgroundWorkerHandle);

impl WorkerHandle {
    /// Registers a worker of ours.
    ///
    /// `function` is one of the entry points in `src/worker`, `kind` its `backend_type`, `argument`
    /// the number of the task's segment. `None` if no worker slot is free.
    pub fn register(function: &str, kind: &str, name: &str, argument: u32) -> Option<WorkerHandle> {
        // SAFETY: all-zero is a valid BackgroundWorker; every text is cut to its field. The handle
        // is allocated in the top context, so that it outlives the current one.
        unsafe {
            let mut worker: pg_sys::BackgroundWorker = std::mem::zeroed();
            copy_name(&mut worker.bgw_name, name);
            copy_name(&mut worker.bgw_type, kind);
            copy_name(&mut worker.bgw_library_name, "$libdir/pg_selfbench");
            copy_name(&mut worker.bgw_function_name, function);
            worker.bgw_flags =
                (pg_sys::BGWORKER_SHMEM_ACCESS | pg_sys::BGWORKER_BACKEND_DATABASE_CONNECTION) as _;
            worker.bgw_start_time = pg_sys::BgWorkerStartTime::BgWorkerStart_ConsistentState;
            worker.bgw_restart_time = pg_sys::BGW_NEVER_RESTART;
            worker.bgw_main_arg = pg_sys::Datum::from(argument);
            worker.bgw_notify_pid = pg_sys::MyProcPid;
            let mut handle = std::ptr::null_mut();
            let previous = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            let registered = pg_sys::RegisterDynamicBackgroundWorker(&mut worker, &mut handle);
            pg_sys::MemoryContextSwitchTo(previous);
            registered.then(|| WorkerHandle(handle))
        }
    }

    /// Whether the worker is still there.
    pub fn status(&self) -> WorkerStatus {
        self.look().0
    }

    /// Its process id, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        self.look().1
    }

    fn look(&self) -> (WorkerStatus, Option<Pid>) {
        let mut pid = 0;
        // SAFETY: the handle comes from a successful registration by this process.
        match unsafe { pg_sys::GetBackgroundWorkerPid(self.0, &mut pid) } {
            pg_sys::BgwHandleStatus::BGWH_STOPPED
            | pg_sys::BgwHandleStatus::BGWH_POSTMASTER_DIED => (WorkerStatus::Stopped, None),
            pg_sys::BgwHandleStatus::BGWH_STARTED => (WorkerStatus::Alive, Pid::from_raw(pid)),
            _ => (WorkerStatus::Alive, None),
        }
    }

    /// Asks the postmaster to end the worker, or not to start it.
    pub fn terminate(&self) {
        // SAFETY: as for `status`.
        unsafe { pg_sys::TerminateBackgroundWorker(self.0) };
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        // SAFETY: allocated by `register`, freed once.
        unsafe { pg_sys::pfree(self.0.cast()) };
    }
}

/// The error of a registration that found no free slot, after `free` others did; `needed` are those
/// of the whole task.
pub fn no_slot(needed: usize, free: usize) -> Error {
    // SAFETY: a plain setting.
    let limit = unsafe { pg_sys::max_worker_processes };
    Error::WorkerSlots {
        needed,
        free,
        limit,
        connections: None,
    }
}

fn copy_name(field: &mut [std::ffi::c_char], text: &str) {
    let room = field.len() - 1;
    for (to, from) in field.iter_mut().zip(text.bytes().take(room)) {
        *to = from as std::ffi::c_char;
    }
}
