//! libpq's texts.

use std::ffi::{CStr, c_char};

/// # Safety
/// `text` must be null or end in a zero byte.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().trim_end().to_owned()
}
