//! SQLSTATEs. The binding knows those of the server's own list; any other, which a function may raise,
//! it takes for an internal error. So they are read and set where errors pass, in callbacks for the
//! context of errors.

use pgrx::PgSqlErrorCode as Sqlstate;
use pgrx::pg_sys::{self, ErrorContextCallback};
use scopeguard::defer;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The five characters of a SQLSTATE, which PostgreSQL packs into six bits each.
pub fn decode(code: i32) -> String {
    (0..5)
        .map(|i| char::from(((code >> (6 * i)) & 0x3F) as u8 + b'0'))
        .collect()
}

/// The reverse of [`decode`]; `None` unless the text has the five characters of a SQLSTATE.
pub fn encode(sqlstate: &str) -> Option<i32> {
    let bytes = sqlstate.as_bytes();
    let valid = |b: &u8| b.is_ascii_digit() || b.is_ascii_uppercase();
    (bytes.len() == 5 && bytes.iter().all(valid)).then(|| {
        let codes = bytes.iter().rev();
        codes.fold(0i32, |code, b| (code << 6) | i32::from(b - b'0'))
    })
}

/// The code of the last message of the server that has passed [`noting`]; 0 if none has.
static NOTED: AtomicI32 = AtomicI32::new(0);

/// Runs `body`, and notes the codes of the errors that the server raises in it.
#[inline]
pub fn noting<T>(body: impl FnOnce() -> T) -> T {
    unsafe extern "C-unwind" {
        /// The code of the error that is being reported. Raises no error in a callback.
        fn geterrcode() -> c_int;
    }
    extern "C-unwind" fn note(_: *mut c_void) {
        // SAFETY: in a callback.
        NOTED.store(unsafe { geterrcode() }, Relaxed);
    }
    // One thread: no exchange, which would cost more.
    let before = NOTED.load(Relaxed);
    NOTED.store(0, Relaxed);
    let value = with_callback(note, body);
    NOTED.store(before, Relaxed);
    value
}

/// Runs `body` with a callback for the context of the errors that the server raises in it.
#[inline]
pub fn with_callback<T>(
    callback: extern "C-unwind" fn(*mut c_void),
    body: impl FnOnce() -> T,
) -> T {
    // SAFETY: a variable of this process.
    let previous = unsafe { pg_sys::error_context_stack };
    defer! {
        // SAFETY: what was there before, and outlives this call.
        unsafe { pg_sys::error_context_stack = previous };
    }
    let mut frame = ErrorContextCallback {
        previous,
        callback: Some(callback),
        arg: std::ptr::null_mut(),
    };
    // SAFETY: the frame is removed before this function returns or unwinds.
    unsafe { pg_sys::error_context_stack = &raw mut frame };
    body()
}

/// The SQLSTATE of an error of which the binding says `code`.
pub fn noted(code: Sqlstate) -> String {
    let noted = NOTED.load(Relaxed);
    match code {
        Sqlstate::ERRCODE_INTERNAL_ERROR if noted != 0 && is_unknown(noted) => decode(noted),
        code => decode(code as i32),
    }
}

/// Whether the binding does not know a code.
pub fn is_unknown(code: i32) -> bool {
    Sqlstate::from(code) == Sqlstate::ERRCODE_INTERNAL_ERROR
}

/// Gives the error that this process is about to raise a code that the binding does not know.
pub fn raise_as(code: i32) {
    unsafe extern "C-unwind" {
        /// Sets the code of the error that is being reported. Raises no error in a callback.
        fn errcode(code: c_int) -> c_int;
    }
    unsafe extern "C-unwind" fn set(_: *mut c_void) {
        // SAFETY: in a callback.
        unsafe { errcode(NOTED.load(Relaxed)) };
    }
    struct Frame(UnsafeCell<ErrorContextCallback>);
    // SAFETY: a process of the server raises one error at a time, in one thread.
    unsafe impl Sync for Frame {}
    static FRAME: Frame = Frame(UnsafeCell::new(ErrorContextCallback {
        previous: std::ptr::null_mut(),
        callback: Some(set),
        arg: std::ptr::null_mut(),
    }));
    NOTED.store(code, Relaxed);
    // SAFETY: the frame is not in use, since an error removes it: code that catches the error restores what
    // was there.
    unsafe {
        (*FRAME.0.get()).previous = pg_sys::error_context_stack;
        pg_sys::error_context_stack = FRAME.0.get();
    }
}
