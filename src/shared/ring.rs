//! A ring of bytes in shared memory, from one writer to one reader.
//!
//! A client worker writes its messages, or its log of transactions; the caller's backend or the
//! coordinator reads. Neither ever waits for a lock. What is written at once is read
//! at once, so that no reader sees a part of an entry.

use crate::latch::{self, WaitEvent};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

/// Time that a writer waits for room before it tries again.
const ROOM_WAIT: Duration = Duration::from_millis(10);

/// The counters in front of a ring's bytes: each on a cache line of its own, since another process
/// writes it.
#[repr(C, align(128))]
pub(super) struct RingHead {
    /// Bytes written since the beginning.
    written: Padded,
    /// Bytes read since the beginning.
    read: Padded,
    /// Entries for which there was no room.
    lost: Padded,
}

#[repr(C, align(128))]
struct Padded(AtomicU64);

/// One ring.
#[derive(Clone, Copy)]
pub struct Ring<'s> {
    head: &'s RingHead,
    bytes: *mut u8,
    capacity: usize,
    segment: PhantomData<&'s u8>,
}

impl<'s> Ring<'s> {
    /// The ring with that head and `capacity` bytes at `bytes`.
    ///
    /// # Safety
    /// The bytes must be valid as long as `'s`, and used through rings with this head only, of
    /// which one process writes and one reads.
    pub(super) unsafe fn new(head: &'s RingHead, bytes: *mut u8, capacity: usize) -> Ring<'s> {
        Ring {
            head,
            bytes,
            capacity,
            segment: PhantomData,
        }
    }

    /// Number of bytes that wait to be read.
    pub fn waiting(&self) -> usize {
        let written = self.head.written.0.load(Acquire);
        written.wrapping_sub(self.head.read.0.load(Acquire)) as usize
    }

    /// Whether the reader should come soon: half of the ring is full.
    pub fn is_half_full(&self) -> bool {
        self.waiting() * 2 >= self.capacity
    }

    /// Writes an entry; `false`, without having written anything, if there is no room for all of
    /// it. For the one writer.
    #[inline]
    pub fn write(&self, entry: &[u8]) -> bool {
        let written = self.head.written.0.load(Relaxed);
        let waiting = written.wrapping_sub(self.head.read.0.load(Acquire)) as usize;
        if entry.len() > self.capacity - waiting.min(self.capacity) {
            return false;
        }
        let start = (written % self.capacity as u64) as usize;
        let first = entry.len().min(self.capacity - start);
        // SAFETY: both parts are within the ring, and the reader does not look at them before
        // `written` says so.
        unsafe {
            std::ptr::copy_nonoverlapping(entry.as_ptr(), self.bytes.add(start), first);
            std::ptr::copy_nonoverlapping(
                entry.as_ptr().add(first),
                self.bytes,
                entry.len() - first,
            );
        }
        self.head
            .written
            .0
            .store(written + entry.len() as u64, Release);
        true
    }

    /// Writes an entry, or counts it as lost. For the one writer.
    pub fn write_or_count(&self, entry: &[u8]) {
        if !self.write(entry) {
            self.head.lost.0.fetch_add(1, Relaxed);
        }
    }

    /// Number of entries lost for lack of room.
    pub fn lost(&self) -> u64 {
        self.head.lost.0.load(Relaxed)
    }

    /// Writes an entry, waiting for room if need be; `wake` wakes the reader. Gives up, and the
    /// entry is lost, once `give_up` says that it is not worth waiting for or this process is to
    /// end. Whether it had to wait.
    ///
    /// A request to cancel does not end the wait: it is for statements.
    #[inline]
    pub fn write_or_wait(&self, entry: &[u8], wake: impl Fn(), give_up: impl Fn() -> bool) -> bool {
        if entry.len() > self.capacity || self.write(entry) {
            return false;
        }
        while !give_up() && !latch::must_end() {
            wake();
            latch::wait(ROOM_WAIT, WaitEvent::LogRoom);
            if self.write(entry) {
                break;
            }
        }
        // Wake-ups that arrived meanwhile were for the main loop of this process.
        latch::wake_myself();
        true
    }

    /// Appends everything that has arrived to `into`. For the one reader.
    pub fn read(&self, into: &mut Vec<u8>) {
        let read = self.head.read.0.load(Relaxed);
        let waiting = self.head.written.0.load(Acquire).wrapping_sub(read) as usize;
        if waiting == 0 {
            return;
        }
        let start = (read % self.capacity as u64) as usize;
        let first = waiting.min(self.capacity - start);
        // SAFETY: the writer has published these bytes and does not touch them before `read` says
        // that they have been read.
        unsafe {
            into.extend_from_slice(std::slice::from_raw_parts(self.bytes.add(start), first));
            into.extend_from_slice(std::slice::from_raw_parts(self.bytes, waiting - first));
        }
        self.head.read.0.store(read + waiting as u64, Release);
    }
}
