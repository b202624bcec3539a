//! A text in shared memory that is written once.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// A text that one process writes once and others read afterwards.
#[repr(C)]
pub struct OnceText<const N: usize> {
    len: AtomicU32,
    bytes: std::cell::UnsafeCell<[u8; N]>,
}

// SAFETY: `set` is called by the one owner of the slot, once; `get` reads the bytes only after it
// has seen the length that `set` published with release ordering.
unsafe impl<const N: usize> Sync for OnceText<N> {}

impl<const N: usize> OnceText<N> {
    /// Publishes `text`, cut at a character boundary if it is too long. Only the first call counts.
    pub fn set(&self, text: &str) {
        if self.len.load(Acquire) != 0 || text.is_empty() {
            return;
        }
        let mut len = text.len().min(N);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: no reader looks at the bytes before the length is set, and there is one writer.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.bytes.get().cast::<u8>(), len);
        }
        self.len.store(len as u32, Release);
    }

    /// The text, once it has been set.
    pub fn get(&self) -> Option<String> {
        let len = self.len.load(Acquire) as usize;
        if len == 0 {
            return None;
        }
        // SAFETY: the writer has published these bytes and does not touch them again.
        let bytes = unsafe { &(&*self.bytes.get())[..len.min(N)] };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
