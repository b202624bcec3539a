//! Private state of the server: variables and fields that it keeps for itself, and promises to no
//! extension. All code that reads or changes them is here, with its assumptions on the server's source.
//!
//! | state | why | assumptions in the server's source |
//! |---|---|---|
//! | `MyProc->xmin` | a waiting call must not keep dead rows: `backend::horizon` | `SnapshotResetXmin` in `snapmgr.c` clears it without a lock, and `ComputeXidHorizons` in `procarray.c` reads it without one; `GetSnapshotData` sets it for the next snapshot if it is clear |
//! | `MyProc->delayChkptFlags` | pages of the loader are not in shared buffers: `initialize::heap` | `CreateCheckPoint` in `xlog.c` waits for processes with `DELAY_CHKPT_START`; `proc.h` says what it means; `ProcArrayEndTransaction` in `procarray.c` clears it at an abort |
//! | `PqCommMethods`, `FrontendProtocol` | no hook gets notices as clients do, after `client_min_messages`: `backend::notices` | `send_message_to_frontend` in `elog.c` sends by these methods, which `libpq.h` declares; `pq_redirect_to_shm_mq` in `pqmq.c` replaces them for parallel workers |
//! | `MyBEEntry`, `PGPROC` | sampling other processes must take no lock: `backend::peer` | `pgstat_beinit` in `backend_status.c` gives processes entries in the order of their numbers; `PGSTAT_BEGIN_WRITE_ACTIVITY` in `backend_status.h` says how to read one; `InitProcGlobal` in `proc.c` makes the processes' places, which never move |
//! | `fixed_result` | SPI does not promise what `PREPARE` does: `session::spi` | `RevalidateCachedQuery` in `plancache.c` raises an error if it is set and the columns change; `CompleteCachedPlan`, which SPI calls, leaves it unset |

use crate::compat;
use pgrx::pg_sys;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::*, fence};

// The server loads a library only if it was built for its major version.
const _: () = assert!(
    matches!(pg_sys::PG_MAJORVERSION_NUM, 15..=18),
    "compare the table in src/private.rs with the source of this version of PostgreSQL"
);

/// Resets the `xmin` that this process advertises, until its next snapshot.
///
/// # Safety
/// Nothing may be read any more with a snapshot that this process has.
pub unsafe fn reset_xmin() {
    // SAFETY: a single aligned word that only this process writes.
    unsafe { (&raw mut (*pg_sys::MyProc).xmin).write_volatile(pg_sys::InvalidTransactionId) };
}

/// While it lives, checkpoints whose redo position lies behind WAL that this process has written
/// since wait.
pub struct DelayedCheckpoints(());

impl DelayedCheckpoints {
    const FLAG: c_int = pg_sys::DELAY_CHKPT_START as c_int;

    /// Keeps them from going on.
    ///
    /// # Safety
    /// This process has no other value, and commits nothing and sets no hint bits while this one lives:
    /// that uses the same flag.
    pub unsafe fn new() -> DelayedCheckpoints {
        // SAFETY: the caller's promise; this process's own entry, whose flags others only read. They
        // need no lock, since writing WAL takes one.
        unsafe { (*pg_sys::MyProc).delayChkptFlags |= Self::FLAG };
        DelayedCheckpoints(())
    }
}

impl Drop for DelayedCheckpoints {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (*pg_sys::MyProc).delayChkptFlags &= !Self::FLAG };
    }
}

/// Makes executions of a plan fail if the columns of its result would be others, as those of a
/// prepared statement do.
pub fn fix_result(source: &mut pg_sys::CachedPlanSource) {
    source.fixed_result = true;
}

/// Entries of a process in the server's arrays of processes and of their states, which never move
/// and are never freed. When the process has ended, its places may be given to others, so each
/// reading compares the process ID.
pub struct Entries {
    pid: i32,
    proc: *const pg_sys::PGPROC,
    status: *const pg_sys::PgBackendStatus,
}

impl Entries {
    /// The entries of the process with that ID, if it takes part in transactions. This goes through
    /// the server's array of processes, with a lock.
    pub fn find(pid: i32) -> Option<Entries> {
        // SAFETY: null, or points into the array. The array of states is not visible to extensions:
        // an entry is found by its distance from this process's.
        unsafe {
            let proc = pg_sys::BackendPidGetProc(pid).cast_const();
            if proc.is_null() || pg_sys::MyBEEntry.is_null() {
                return None;
            }
            let status = pg_sys::MyBEEntry.offset(compat::entry_distance(proc)?);
            Some(Entries { pid, proc, status })
        }
    }

    /// The process ID.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The server's number of what the process waits for, 0 if it does not wait; `None` if it has
    /// ended.
    #[inline]
    pub fn wait(&self) -> Option<u32> {
        // SAFETY: see the type's comment; single words, read as the activity views read them. The ID
        // is read last: a place that was given to another process has another ID by then.
        unsafe {
            let wait = (&raw const (*self.proc).wait_event_info).read_volatile();
            fence(Acquire);
            let pid = (&raw const (*self.proc).pid).read_volatile();
            (pid == self.pid).then_some(wait)
        }
    }

    /// When its wait for a lock of the server's lock manager began, as a time stamp; 0 if it does
    /// not wait for one.
    pub fn lock_wait_start_us(&self) -> i64 {
        // SAFETY: as in `wait`.
        unsafe { (&raw const (*self.proc).waitStart.value).read_volatile() as i64 }
    }

    /// Query identifier of the statement that it executes; `None` if there is none, and if the process
    /// changes its state at this moment.
    #[inline]
    pub fn query_id(&self) -> Option<i64> {
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

/// Receiver of the fields of notices, as messages of the server's protocol have them.
static RECEIVER: OnceLock<fn(&[u8])> = OnceLock::new();
/// The methods for sending messages that were installed before; null if none were replaced.
static BEFORE: AtomicPtr<Methods> = AtomicPtr::new(std::ptr::null_mut());

/// Passes the notices that this process would send to its client to a function that must not raise
/// errors, until the value is dropped. A process has one such function.
pub fn redirect_notices(receiver: fn(&[u8])) -> Redirected {
    let _ = RECEIVER.set(receiver);
    // SAFETY: variables that only the main thread uses; the methods live as long as it.
    unsafe {
        let before = Redirected {
            methods: PqCommMethods,
            destination: pg_sys::whereToSendOutput,
            protocol: FrontendProtocol,
        };
        assert!(
            !std::ptr::eq(before.methods, &METHODS),
            "notices are redirected twice"
        );
        if before.destination == pg_sys::CommandDest::DestRemote {
            BEFORE.store(before.methods.cast_mut(), Release);
        } else {
            FrontendProtocol = PROTOCOL_3;
            pg_sys::whereToSendOutput = pg_sys::CommandDest::DestRemote;
        }
        PqCommMethods = &raw const METHODS;
        before
    }
}

/// The previous methods for sending messages, which are restored when the value is dropped.
pub struct Redirected {
    methods: *const Methods,
    destination: pg_sys::CommandDest::Type,
    protocol: u32,
}

impl Drop for Redirected {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe {
            PqCommMethods = self.methods;
            pg_sys::whereToSendOutput = self.destination;
            FrontendProtocol = self.protocol;
        }
        BEFORE.store(std::ptr::null_mut(), Release);
    }
}

/// Version 3.0 of the server's protocol.
const PROTOCOL_3: u32 = 3 << 16;
/// The type of messages that are notices.
const NOTICE: c_char = b'N' as c_char;

/// The methods by which a process sends messages: `PQcommMethods` of `libpq/libpq.h`, the same in
/// all supported versions.
#[repr(C)]
struct Methods {
    comm_reset: unsafe extern "C-unwind" fn(),
    flush: unsafe extern "C-unwind" fn() -> c_int,
    flush_if_writable: unsafe extern "C-unwind" fn() -> c_int,
    is_send_pending: unsafe extern "C-unwind" fn() -> bool,
    put_message: unsafe extern "C-unwind" fn(c_char, *const c_char, usize) -> c_int,
    put_message_noblock: unsafe extern "C-unwind" fn(c_char, *const c_char, usize),
}

unsafe extern "C-unwind" {
    static mut PqCommMethods: *const Methods;
    static mut FrontendProtocol: u32;
}

/// Our methods: they forward notices, and pass all other messages to the previous methods, if any.
static METHODS: Methods = Methods {
    comm_reset,
    flush,
    flush_if_writable,
    is_send_pending,
    put_message,
    put_message_noblock,
};

fn before() -> Option<&'static Methods> {
    // SAFETY: null, or the server's own methods, which are static.
    unsafe { BEFORE.load(Acquire).as_ref() }
}

unsafe extern "C-unwind" fn comm_reset() {
    if let Some(methods) = before() {
        // SAFETY: called as the server would have called it, here and below.
        unsafe { (methods.comm_reset)() };
    }
}

unsafe extern "C-unwind" fn flush() -> c_int {
    // SAFETY: see above.
    before().map_or(0, |methods| unsafe { (methods.flush)() })
}

unsafe extern "C-unwind" fn flush_if_writable() -> c_int {
    // SAFETY: see above.
    before().map_or(0, |methods| unsafe { (methods.flush_if_writable)() })
}

unsafe extern "C-unwind" fn is_send_pending() -> bool {
    // SAFETY: see above.
    before().is_some_and(|methods| unsafe { (methods.is_send_pending)() })
}

unsafe extern "C-unwind" fn put_message(
    kind: c_char,
    bytes: *const c_char,
    length: usize,
) -> c_int {
    if kind == NOTICE {
        // SAFETY: the server passes a message of that length.
        let fields = unsafe { std::slice::from_raw_parts(bytes.cast(), length) };
        if let Some(receiver) = RECEIVER.get() {
            // No panic may pass the server's code.
            let _ = std::panic::catch_unwind(|| receiver(fields));
        }
        return 0;
    }
    // SAFETY: see above.
    before().map_or(0, |methods| unsafe {
        (methods.put_message)(kind, bytes, length)
    })
}

unsafe extern "C-unwind" fn put_message_noblock(kind: c_char, bytes: *const c_char, length: usize) {
    if kind != NOTICE
        && let Some(methods) = before()
    {
        // SAFETY: see above.
        unsafe { (methods.put_message_noblock)(kind, bytes, length) };
    }
}
