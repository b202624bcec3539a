//! libpq's texts.

use crate::text::c_text;
use std::ffi::c_char;

/// A copy of a text of libpq, without the line's end.
///
/// # Safety
/// `text` must be null or end in a zero byte.
pub(super) unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { c_text(text) }.trim_end().to_owned()
}
