//! A text in shared memory that is written once.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// Length of a text that is being written.
const WRITING: u32 = u32::MAX;

/// A text that one process writes once and others read afterwards.
#[repr(C)]
pub struct OnceText<const N: usize> {
    len: AtomicU32,
    bytes: std::cell::UnsafeCell<[u8; N]>,
}

// SAFETY: one call of `set` writes, the one that has found no length; `get` reads the bytes only after
// it has seen the length that `set` published with release ordering.
unsafe impl<const N: usize> Sync for OnceText<N> {}

impl<const N: usize> OnceText<N> {
    /// Publishes `text`, cut at a character boundary if it is too long. Only the first call counts.
    pub fn set(&self, text: &str) {
        let claim = |len: &AtomicU32| len.compare_exchange(0, WRITING, Relaxed, Relaxed).is_ok();
        if text.is_empty() || !claim(&self.len) {
            return;
        }
        let mut len = text.len().min(N);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: no reader looks at the bytes before the length is set, and this is the only writer.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.bytes.get().cast::<u8>(), len);
        }
        self.len.store(len as u32, Release);
    }

    /// The text, once it has been set.
    pub fn get(&self) -> Option<String> {
        let len = match self.len.load(Acquire) {
            0 | WRITING => return None,
            len => len as usize,
        };
        // SAFETY: the writer has published these bytes and does not touch them again.
        let bytes = unsafe { &(&*self.bytes.get())[..len.min(N)] };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
