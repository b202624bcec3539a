//! References to other processes in shared memory, by which they are woken and signalled.

use pgrx::pg_sys;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::*};

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
