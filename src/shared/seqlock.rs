//! Values of several words that belong together, with one writer that never waits.
//!
//! The writer brackets its stores with a sequence number that is odd while it writes; a reader that
//! sees an odd or changed number reads again.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};

/// A reader gives up on a consistent copy after that many tries and takes what it has; a writer
/// that was interrupted in the middle must not hang its readers.
const READ_ATTEMPTS: usize = 10_000;

/// The sequence number of such a value.
#[repr(transparent)]
pub struct Sequence(AtomicU32);

impl Sequence {
    /// Brackets the stores of the one writer.
    #[inline]
    pub fn write(&self, stores: impl FnOnce()) {
        let number = self.0.load(Relaxed);
        self.0.store(number.wrapping_add(1), Relaxed);
        fence(Release);
        stores();
        self.0.store(number.wrapping_add(2), Release);
    }

    /// Repeats `loads` until what they see belongs together; see [`READ_ATTEMPTS`].
    pub fn read(&self, mut loads: impl FnMut()) {
        for _ in 0..READ_ATTEMPTS {
            let before = self.0.load(Acquire);
            loads();
            fence(Acquire);
            if before.is_multiple_of(2) && self.0.load(Relaxed) == before {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Whether nothing has been written yet.
    pub fn is_unwritten(&self) -> bool {
        self.0.load(Acquire) == 0
    }
}

/// Some words.
#[repr(transparent)]
pub struct SharedWords<const N: usize>([AtomicU64; N]);

impl<const N: usize> SharedWords<N> {
    /// Replaces them, one after the other.
    #[inline]
    pub fn store(&self, words: [u64; N]) {
        for (shared, word) in self.0.iter().zip(words) {
            shared.store(word, Relaxed);
        }
    }

    /// All of them.
    #[inline]
    pub fn load(&self) -> [u64; N] {
        std::array::from_fn(|i| self.0[i].load(Relaxed))
    }
}

/// Some words that are written once.
#[repr(C)]
pub struct WordsOnce<const N: usize> {
    is_set: AtomicU32,
    words: SharedWords<N>,
}

impl<const N: usize> WordsOnce<N> {
    /// Writes them.
    pub fn set(&self, words: [u64; N]) {
        self.words.store(words);
        self.is_set.store(1, Release);
    }

    /// All of them, once they have been written.
    pub fn get(&self) -> Option<[u64; N]> {
        let is_set = self.is_set.load(Acquire) != 0;
        is_set.then(|| self.words.load())
    }
}
