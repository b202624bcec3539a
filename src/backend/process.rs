//! Processes of this server: the start of a worker, exit callbacks, registering background workers.

use super::interrupts;
use crate::error::{Error, catch, message};
use crate::state::session;
use pgrx::pg_sys;
use rustix::process::Pid;

/// Start of a worker, before anything else: unblocks signals, and creates a resource owner for what
/// it does outside of transactions.
pub fn begin_worker() {
    interrupts::unblock_signals();
    // SAFETY: at the start of a worker; the one made here lives as long as the process.
    unsafe {
        if pg_sys::CurrentResourceOwner.is_null() {
            pg_sys::CurrentResourceOwner =
                pg_sys::ResourceOwnerCreate(std::ptr::null_mut(), c"pg_selfbench".as_ptr());
        }
    }
}

/// Calls `callback` when this process exits, however it does.
///
/// An error in it is logged and ends there: above it are frames of C, and the callbacks that the
/// server has registered must still run.
pub fn at_exit<F: FnOnce() + 'static>(callback: F) {
    unsafe extern "C-unwind" fn call<F: FnOnce() + 'static>(_code: i32, callback: pg_sys::Datum) {
        // SAFETY: made below for this function, which the server calls once.
        let callback = unsafe { Box::from_raw(callback.cast_mut_ptr::<F>()) };
        let called = catch(|| {
            callback();
            Ok(())
        });
        if let Err(error) = called {
            message::log(format_args!(
                "a benchmark process failed while it exited: {error}"
            ));
        }
    }
    let callback = Box::into_raw(Box::new(callback));
    // SAFETY: the callback belongs to the server from here on. Shared memory is unmapped later.
    unsafe { pg_sys::before_shmem_exit(Some(call::<F>), pg_sys::Datum::from(callback)) };
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
    /// Registers a worker.
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

    /// Whether the worker still exists.
    pub fn status(&self) -> WorkerStatus {
        self.status_and_pid().0
    }

    /// Its process id, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        self.status_and_pid().1
    }

    fn status_and_pid(&self) -> (WorkerStatus, Option<Pid>) {
        let mut pid = 0;
        // SAFETY: the handle comes from a successful registration by this process.
        match unsafe { pg_sys::GetBackgroundWorkerPid(self.0, &mut pid) } {
            pg_sys::BgwHandleStatus::BGWH_STOPPED
            | pg_sys::BgwHandleStatus::BGWH_POSTMASTER_DIED => (WorkerStatus::Stopped, None),
            pg_sys::BgwHandleStatus::BGWH_STARTED => (WorkerStatus::Alive, Pid::from_raw(pid)),
            _ => (WorkerStatus::Alive, None),
        }
    }

    /// Requests the postmaster to end the worker, or not to start it.
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

/// The error of a registration without a free slot, after `free` successful ones; `needed` is the
/// number of slots of the whole task.
pub fn no_slot(needed: usize, free: usize) -> Error {
    Error::WorkerSlots {
        needed,
        free,
        limit: session::integer_setting(c"max_worker_processes"),
        connections: None,
    }
}

fn copy_name(field: &mut [std::ffi::c_char], text: &str) {
    let room = field.len() - 1;
    for (to, from) in field.iter_mut().zip(text.bytes().take(room)) {
        *to = from as std::ffi::c_char;
    }
}
