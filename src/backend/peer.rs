//! Another process of this server, as its entries in shared memory show it: what it waits for and
//! which statement it executes. Reading takes no lock and goes through no array. Its statement can be
//! canceled.

use crate::compat;
use crate::error::{Result, catch};
use crate::state::text::c_text;
use pgrx::pg_sys;
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::atomic::{Ordering::Acquire, fence};
use std::time::Duration;

/// A process of this server.
///
/// Holds pointers into the server's arrays of processes and of their states, which never move and are
/// never freed. When the process has ended, its places may be given to others, so each reading
/// compares the process ID.
pub struct Peer {
    pid: i32,
    proc: *const pg_sys::PGPROC,
    status: *const pg_sys::PgBackendStatus,
}

/// Activity of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// The server's number of what it waits for; 0 if it does not wait.
    pub wait: u32,
    /// Query identifier of the statement that it executes, if the server computes one.
    pub query_id: Option<i64>,
}

impl Peer {
    /// The process with that ID, if it is one that takes part in transactions. This goes through the
    /// server's array of processes, with a lock.
    pub fn find(pid: i32) -> Option<Peer> {
        // SAFETY: null, or points into ProcGlobal. The status has the same position in its array.
        unsafe {
            let proc = pg_sys::BackendPidGetProc(pid);
            if proc.is_null() {
                return None;
            }
            Some(Peer {
                pid,
                proc,
                status: compat::status_of(proc)?,
            })
        }
    }

    /// Its process ID.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Activity of the process; `None` if it has ended.
    #[inline]
    pub fn doing(&self) -> Option<Doing> {
        // SAFETY: see the type's comment; single words, read as the activity views read them. The ID
        // is read last: a place that was given to another process has another ID by then.
        unsafe {
            let wait = (&raw const (*self.proc).wait_event_info).read_volatile();
            fence(Acquire);
            let pid = (&raw const (*self.proc).pid).read_volatile();
            (pid == self.pid).then(|| Doing {
                wait,
                query_id: self.query_id(),
            })
        }
    }

    /// Query identifier of the statement that it executes; `None` if there is none, and if the process
    /// changes its state at this moment.
    #[inline]
    fn query_id(&self) -> Option<i64> {
        // SAFETY: see the type's comment. The writer increments the counter before and after it
        // changes anything, so that an odd or changed value means that what was read may not belong
        // together.
        unsafe {
            let counter = &raw const (*self.status).st_changecount;
            let before = counter.read_volatile();
            fence(Acquire);
            let pid = (&raw const (*self.status).st_procpid).read_volatile();
            let state = (&raw const (*self.status).st_state).read_volatile();
            // Unsigned before PostgreSQL 18.
            let query_id = (&raw const (*self.status).st_query_id).read_volatile();
            let query_id = i64::from_ne_bytes(query_id.to_ne_bytes());
            fence(Acquire);
            let is_whole = before % 2 == 0 && counter.read_volatile() == before;
            let runs = state == pg_sys::BackendState::STATE_RUNNING;
            (is_whole && pid == self.pid && runs && query_id != 0).then_some(query_id)
        }
    }
}

/// Whether a number of a wait means a lock of the server's lock manager.
#[inline]
pub fn is_lock(wait: u32) -> bool {
    wait & 0xFF00_0000 == pg_sys::PG_WAIT_LOCK
}

/// The server's names for a wait: its class and its event.
pub fn wait_names(wait: u32) -> Result<(String, String)> {
    catch(|| {
        // SAFETY: texts that end in a zero byte; the server may raise an error for the number of an
        // extension's event that it does not know.
        unsafe {
            Ok((
                c_text(pg_sys::pgstat_get_wait_event_type(wait)),
                c_text(pg_sys::pgstat_get_wait_event(wait)),
            ))
        }
    })
}

/// Whether a process of this server has waited for a lock of the server's lock manager for at least
/// `limit`.
pub fn waits_for_lock(pid: i32, limit: Duration) -> bool {
    // SAFETY: null, or points into ProcGlobal, whose places never move; the words are read as the
    // activity views read them, without a lock.
    unsafe {
        let proc = pg_sys::BackendPidGetProc(pid);
        if proc.is_null() {
            return false;
        }
        let info = (&raw const (*proc).wait_event_info).read_volatile();
        let since_us = (&raw const (*proc).waitStart.value).read_volatile() as i64;
        let waited_us = pg_sys::GetCurrentTimestamp() - since_us;
        is_lock(info) && since_us != 0 && waited_us >= limit.as_micros() as i64
    }
}

/// Cancels the statement of a session of this server, as a request for its connection would. A
/// session that has not begun its statement takes no notice.
pub fn cancel_statement(pid: i32) {
    // SAFETY: null, or points into ProcGlobal.
    let exists = unsafe { !pg_sys::BackendPidGetProc(pid).is_null() };
    if let (true, Some(pid)) = (exists, Pid::from_raw(pid)) {
        // Its group are it and programs that it executes.
        let _ = kill_process_group(pid, Signal::INT);
    }
}

/// The current statement of a process of this server, if the caller may see it.
pub fn statement_of(pid: i32) -> String {
    // SAFETY: in a transaction; a text that ends in a zero byte, copied at once.
    unsafe { c_text(pg_sys::pgstat_get_backend_current_activity(pid, true)) }
}
