//! Notices of servers over the connections of this process.

use super::text::text;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// Receiver of the notices of this process's connections.
static NOTICES: OnceLock<fn(&str)> = OnceLock::new();

/// Passes notices of all connections of this process, formatted as by psql, to a function that must
/// not raise errors. Without this call, notices are discarded.
pub fn pass_notices_to(receiver: fn(&str)) {
    let _ = NOTICES.set(receiver);
}

pub(super) unsafe extern "C" fn on_notice(_: *mut c_void, message: *const c_char) {
    if let Some(receiver) = NOTICES.get() {
        // SAFETY: libpq passes a text that ends in a zero byte.
        let message = unsafe { text(message) };
        // No panic may pass libpq's code.
        let _ = std::panic::catch_unwind(|| receiver(&message));
    }
}
