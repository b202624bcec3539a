//! The area for the stacks of one sampled process.
//!
//! The process, in a signal handler, writes samples to a ring that the coordinator reads, so that
//! what it has written survives it. Nothing waits: a sample for which there is no room is lost, and
//! counted.

use super::once_text::OnceText;
use super::ring::{Ring, RingHead};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Bytes of the ring of each of that many processes: samples of more than 300 ms of CPU time, even of
/// deep stacks. The more processes there are, the less CPU time each of them gets.
pub fn room(processes: usize) -> usize {
    const ALL: usize = 64 << 20;
    (ALL / processes.max(1)).clamp(16 << 10, 64 << 10)
}

/// Room for the reason why a process is not sampled.
const REASON_BYTES: usize = 256;

/// The head of an area.
#[repr(C, align(128))]
pub(super) struct StackHead {
    sampled: AtomicU32,
    cost_ns: AtomicU64,
    lost: AtomicU64,
    failure: OnceText<REASON_BYTES>,
    pub(super) ring: RingHead,
}

/// One area.
#[derive(Clone, Copy)]
pub struct StackArea<'s> {
    pub(super) head: &'s StackHead,
    pub(super) ring: Ring<'s>,
}

impl StackArea<'_> {
    /// Marks the process as sampled.
    pub fn begin(&self) {
        self.head.sampled.store(1, Release);
    }

    /// Whether the process is or was sampled.
    pub fn is_used(&self) -> bool {
        self.head.sampled.load(Acquire) != 0
    }

    /// Leaves the reason why the process is not sampled; the first one counts.
    pub fn fail(&self, reason: &str) {
        self.head.failure.set(reason);
    }

    /// Why the process is not sampled.
    pub fn failure(&self) -> Option<String> {
        self.head.failure.get()
    }

    /// Writes a record; `false` if there is no room. For the one writer, also in a signal handler.
    #[inline]
    pub fn write(&self, record: &[u8]) -> bool {
        self.ring.write(record)
    }

    /// Counts a sample that took the process that long; `lost` are the expiries of the timer for
    /// which there was no room.
    #[inline]
    pub fn count(&self, cost_ns: u64, lost: u64) {
        self.head.cost_ns.fetch_add(cost_ns, Relaxed);
        if lost > 0 {
            self.head.lost.fetch_add(lost, Relaxed);
        }
    }

    /// The time that sampling took the process so far, in nanoseconds.
    pub fn cost_ns(&self) -> u64 {
        self.head.cost_ns.load(Relaxed)
    }

    /// Expiries of the timer whose samples were lost.
    pub fn lost(&self) -> u64 {
        self.head.lost.load(Relaxed)
    }

    /// Appends the records that have arrived to `into`. For the one reader.
    pub fn read(&self, into: &mut Vec<u8>) {
        self.ring.read(into);
    }
}
