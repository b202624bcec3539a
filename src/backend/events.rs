//! Waiting for sockets beside this process's latch.

use crate::compat;
use crate::latch::WaitEvent;
use pgrx::pg_sys;
use std::ptr::null_mut;

/// Waits up to `timeout_ms` until a socket is readable, or writable, or this process's latch is
/// set; whether the socket is ready. Ends the process if the postmaster has died.
pub fn wait_for_socket(socket: i32, writable: bool, timeout_ms: i64, event: WaitEvent) -> bool {
    let want = if writable {
        pg_sys::WL_SOCKET_WRITEABLE
    } else {
        pg_sys::WL_SOCKET_READABLE
    };
    let events = want | pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: waits on this process's own latch and on a descriptor that is open.
    unsafe {
        let got = pg_sys::WaitLatchOrSocket(
            pg_sys::MyLatch,
            events as i32,
            socket,
            timeout_ms as _,
            event.number(),
        );
        if got as u32 & pg_sys::WL_LATCH_SET != 0 {
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
        got as u32 & want != 0
    }
}

/// Something that a process waited for.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Its latch was set; it has been reset.
    Latch,
    /// One of the sockets is ready.
    Socket {
        index: usize,
        readable: bool,
        writable: bool,
    },
}

/// A set of sockets and this process's latch to wait for. A socket leaves the set by being closed.
///
/// Ends the process if the postmaster dies while it waits.
pub struct EventSet {
    set: *mut pg_sys::WaitEventSet,
    occurred: Vec<pg_sys::WaitEvent>,
}

impl EventSet {
    /// A set with room for that many sockets and an alarm, for the life of the process.
    pub fn new(sockets: usize) -> EventSet {
        let room = sockets as i32 + 3;
        // SAFETY: the set lives in the top context.
        unsafe {
            let set = compat::new_wait_event_set(room);
            let (latch, death) = (pg_sys::WL_LATCH_SET, pg_sys::WL_EXIT_ON_PM_DEATH);
            let none = pg_sys::PGINVALID_SOCKET;
            pg_sys::AddWaitEventToSet(set, latch, none, pg_sys::MyLatch, null_mut());
            pg_sys::AddWaitEventToSet(set, death, none, null_mut(), null_mut());
            EventSet {
                set,
                occurred: vec![std::mem::zeroed(); room as usize],
            }
        }
    }

    /// Adds a socket, waited for to become readable; returns its position.
    pub fn add_socket(&mut self, socket: i32, index: usize) -> i32 {
        // SAFETY: the set has room for it, see `new`; the index travels as the user's pointer and
        // is never followed.
        unsafe {
            let index = std::ptr::without_provenance_mut(index);
            let events = pg_sys::WL_SOCKET_READABLE;
            pg_sys::AddWaitEventToSet(self.set, events, socket, null_mut(), index)
        }
    }

    /// Whether to wait for a socket to become writable as well.
    pub fn want_write(&mut self, position: i32, write: bool) {
        let extra = if write {
            pg_sys::WL_SOCKET_WRITEABLE
        } else {
            0
        };
        let events = pg_sys::WL_SOCKET_READABLE | extra;
        // SAFETY: a position that `add_socket` returned.
        unsafe { pg_sys::ModifyWaitEvent(self.set, position, events, null_mut()) };
    }

    /// Waits up to `timeout_ms`, without limit if it is negative, and gives what happened.
    pub fn wait(&mut self, timeout_ms: i64) -> impl Iterator<Item = Event> + '_ {
        // SAFETY: the buffer has the length given; the latch is this process's own.
        let occurred = unsafe {
            let n = pg_sys::WaitEventSetWait(
                self.set,
                timeout_ms as _,
                self.occurred.as_mut_ptr(),
                self.occurred.len() as i32,
                WaitEvent::Answers.number(),
            );
            let occurred = &self.occurred[..n.max(0) as usize];
            if occurred
                .iter()
                .any(|e| e.events & pg_sys::WL_LATCH_SET != 0)
            {
                pg_sys::ResetLatch(pg_sys::MyLatch);
            }
            occurred
        };
        occurred.iter().map(|event| {
            if event.events & pg_sys::WL_LATCH_SET != 0 {
                Event::Latch
            } else {
                Event::Socket {
                    index: event.user_data.addr(),
                    readable: event.events & pg_sys::WL_SOCKET_READABLE != 0,
                    writable: event.events & pg_sys::WL_SOCKET_WRITEABLE != 0,
                }
            }
        })
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        // SAFETY: freed once. Its sockets must still be open, or have been removed by the system.
        unsafe { pg_sys::FreeWaitEventSet(self.set) };
    }
}
