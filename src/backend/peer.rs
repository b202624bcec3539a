//! Another process of this server, as its entries in shared memory show it: what it waits for and
//! which statement it executes. Reading takes no lock and goes through no array. Its statement can be
//! canceled.

use crate::error::{Result, catch};
use crate::private::Entries;
use crate::state::session;
use crate::text::c_text;
use pgrx::pg_sys;
use rustix::process::{Pid, Signal, kill_process_group};
use std::time::Duration;

/// A process of this server.
pub struct Peer(Entries);

/// Activity of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The server's number of what it waits for; 0 if it does not wait.
    pub wait: u32,
    /// Query identifier of the statement that it executes, if the server computes one.
    pub query_id: Option<i64>,
}

impl Peer {
    /// The process with that ID, if it is one that takes part in transactions. This goes through the
    /// server's array of processes, with a lock.
    pub fn find(pid: i32) -> Option<Peer> {
        Entries::find(pid).map(Peer)
    }

    /// Its process ID.
    pub fn pid(&self) -> i32 {
        self.0.pid()
    }

    /// Activity of the process; `None` if it has ended.
    #[inline]
    pub fn activity(&self) -> Option<Activity> {
        let wait = self.0.wait()?;
        let query_id = self.0.query_id();
        Some(Activity { wait, query_id })
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
    let Some(entries) = Entries::find(pid) else {
        return false;
    };
    let since_us = entries.lock_wait_start_us();
    entries.wait().is_some_and(is_lock)
        && since_us != 0
        && session::timestamp_us() - since_us >= limit.as_micros() as i64
}

/// Cancels the statement of a session of this server, as a request for its connection would. A
/// session that has not begun its statement takes no notice.
pub fn cancel_statement(pid: i32) {
    if let (Some(_), Some(pid)) = (Entries::find(pid), Pid::from_raw(pid)) {
        // Its group are it and programs that it executes.
        let _ = kill_process_group(pid, Signal::INT);
    }
}

/// The current statement of a process of this server, if the caller may see it.
pub fn statement_of(pid: i32) -> String {
    // SAFETY: in a transaction; a text that ends in a zero byte, copied at once.
    unsafe { c_text(pg_sys::pgstat_get_backend_current_activity(pid, true)) }
}
