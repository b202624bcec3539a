//! Notices and warnings that the server sends to the clients of a run, such as warnings of their
//! statements. They are forwarded to the caller, as pgbench writes them to its standard error.
//!
//! On connections, libpq's notice receiver gets them. A client of mode spi has no connection: the
//! messages that its process would send to a client arrive here, filtered by `client_min_messages`.

use super::entry::my_segment;
use super::place::Place;
use crate::latch;
use crate::pq;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

/// Number of this worker in the segment of this process.
static WORKER: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The methods for sending messages that were installed before; null if none were replaced.
static BEFORE: AtomicPtr<Methods> = AtomicPtr::new(std::ptr::null_mut());

/// Forwards notices of the connections of this process.
pub(super) fn of_connections(place: &Place) {
    WORKER.store(place.index, Release);
    pq::pass_notices_to(tell);
}

/// Forwards notices that this process would send to a client, until the value is dropped.
pub(super) fn of_this_process(place: &Place) -> Redirected {
    WORKER.store(place.index, Release);
    // SAFETY: variables of this process, which has one thread; the methods live as long as it.
    unsafe {
        let before = Redirected {
            methods: PqCommMethods,
            destination: pg_sys::whereToSendOutput,
            protocol: FrontendProtocol,
        };
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
pub(super) struct Redirected {
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

/// Forwards a message to the caller that watches the run, if there is one. An exiting process may
/// send debug messages after its segment has been unmapped.
fn tell(text: &str) {
    if latch::is_exiting() {
        return;
    }
    let Some(segment) = my_segment() else { return };
    let header = segment.header();
    if header.caller.pid() != 0
        && let Some(messages) = segment.messages(WORKER.load(Acquire))
    {
        messages.send(header, text);
    }
}

/// A message of the server's protocol that is a notice: its severity and text, as psql shows them.
fn notice_text(mut fields: &[u8]) -> String {
    let mut text = String::new();
    while let Some((&code, rest)) = fields.split_first()
        && let Ok(value) = CStr::from_bytes_until_nul(rest)
    {
        let value_text = value.to_string_lossy();
        // In the order in which the server sends them.
        match code {
            b'S' => text = format!("{value_text}:  "),
            b'M' => text += &value_text,
            b'D' => text += &format!("\nDETAIL:  {value_text}"),
            b'H' => text += &format!("\nHINT:  {value_text}"),
            _ => {}
        }
        fields = &rest[value.count_bytes() + 1..];
    }
    text
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
        tell(&notice_text(unsafe {
            std::slice::from_raw_parts(bytes.cast(), length)
        }));
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
