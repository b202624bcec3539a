//! Notices that this process would send to its client, such as warnings of its statements.
//!
//! The server filters them by `client_min_messages`. A process without a client, as a background
//! worker is, gets them as well.

use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Receiver of the notices.
static RECEIVER: OnceLock<fn(&str)> = OnceLock::new();
/// The methods for sending messages that were installed before; null if none were replaced.
static BEFORE: AtomicPtr<Methods> = AtomicPtr::new(std::ptr::null_mut());

/// Passes them, formatted as by psql, to a function that must not raise errors, until the value is
/// dropped. A process has one such function.
pub fn redirect_to(receiver: fn(&str)) -> Redirected {
    let _ = RECEIVER.set(receiver);
    // SAFETY: variables that only the main thread uses; the methods live as long as it.
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
        let fields = unsafe { std::slice::from_raw_parts(bytes.cast(), length) };
        if let Some(receiver) = RECEIVER.get() {
            receiver(&notice_text(fields));
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
