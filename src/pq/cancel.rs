//! Sending cancel requests without waiting for them.
//!
//! For each request, libpq opens a connection and blocks until the server has closed it, forever if
//! the server hangs. So threads send the requests, several at the same time: a busy server takes a
//! while to accept a connection. The threads must not run code of the server, so they block all
//! signals: their handlers belong to the server. No thread is joined. A process that exits waits for
//! them, but not for long: one that a server keeps waiting is in a system call.

use super::connection::Connection;
use pgrx::{pg_guard, pg_sys};
use pq_sys as pq;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

/// Most threads that send requests at the same time.
const THREADS: usize = 8;
/// Stack size of a thread, which needs little.
const STACK_BYTES: usize = 128 * 1024;
/// Threads that have not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Period and number of an exiting process's checks whether they have ended.
const EXIT_TICK: Duration = Duration::from_millis(5);
const EXIT_TICKS: usize = 200;

/// The data for canceling a connection's statement, independent of the connection.
pub struct Cancel(*mut pq::PGcancel);

// SAFETY: libpq's object is independent of the thread that created it, and its functions may be
// called in any thread.
unsafe impl Send for Cancel {}

impl Cancel {
    /// The data of a connection; `None` if it is lost.
    pub fn of(connection: &Connection) -> Option<Cancel> {
        // SAFETY: the connection exists, or is null, which gives null.
        let cancel = unsafe { pq::PQgetCancel(connection.conn) };
        (!cancel.is_null()).then_some(Cancel(cancel))
    }

    fn ask(&self) {
        let mut error = [0 as c_char; 256];
        // SAFETY: the object exists, and the buffer has the size given.
        unsafe { pq::PQcancel(self.0, error.as_mut_ptr(), error.len() as c_int) };
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { pq::PQfreeCancel(self.0) };
    }
}

/// Requests that are being sent, which each of their threads refers to.
pub struct Requests(Arc<Mutex<Vec<Cancel>>>);

impl Requests {
    /// Whether no thread sends any of them.
    pub fn are_sent(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn next(&self) -> Option<Cancel> {
        self.0.lock().ok()?.pop()
    }
}

/// Sends all requests while this process continues. Only the outcome of its statement shows whether
/// a request arrived in time.
pub fn in_background(cancels: Vec<Cancel>) -> Requests {
    static WAITS_AT_EXIT: Once = Once::new();
    // SAFETY: in a process of the server; the callback stays registered.
    WAITS_AT_EXIT.call_once(|| unsafe {
        pg_sys::on_proc_exit(Some(await_threads), pg_sys::Datum::null());
    });
    let threads = cancels.len().min(THREADS);
    let requests = Requests(Arc::new(Mutex::new(cancels)));
    // SAFETY: all-zero signal sets are valid, and filled in before they are used. A thread inherits
    // the mask of the one that starts it, which gets its own back.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        for _ in 0..threads {
            let of_thread = Requests(Arc::clone(&requests.0));
            RUNNING.fetch_add(1, Relaxed);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let thread = thread.spawn(move || {
                while let Some(cancel) = of_thread.next() {
                    cancel.ask();
                }
                drop(of_thread);
                RUNNING.fetch_sub(1, Release);
            });
            // Without a thread, the connections are only closed.
            if thread.is_err() {
                RUNNING.fetch_sub(1, Relaxed);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
    requests
}

/// Waits for the threads in a process that exits: it takes down what they may use.
#[pg_guard]
unsafe extern "C-unwind" fn await_threads(_code: c_int, _argument: pg_sys::Datum) {
    for _ in 0..EXIT_TICKS {
        if RUNNING.load(Acquire) == 0 {
            return;
        }
        std::thread::sleep(EXIT_TICK);
    }
}
