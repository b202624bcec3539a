//! Lines that clients send to the process that watches their run: output of scripts, errors, and the
//! server's notices.
//!
//! No client waits for the watcher. A line for which the ring of its worker has no room is dropped,
//! and the watcher limits how many lines it shows; it reports how many were suppressed.

use super::header::Header;
use super::ring::Ring;

/// Longer lines are cut, in bytes.
const LINE_BYTES: usize = 4096;
/// Bytes of each worker's ring: room for what its clients send between two readings.
pub fn room(workers: usize) -> usize {
    const ALL: usize = 4 << 20;
    (ALL / workers.max(1)).clamp(16 << 10, 1 << 20)
}

/// The ring through which a client worker sends lines.
#[derive(Clone, Copy)]
pub struct Messages<'s>(pub(super) Ring<'s>);

impl Messages<'_> {
    /// Sends a line, or drops it if there is no room. Only the worker of these messages calls it.
    pub fn send(&self, header: &Header, line: &str) {
        let mut length = line.len().min(LINE_BYTES);
        while !line.is_char_boundary(length) {
            length -= 1;
        }
        let mut entry = Vec::with_capacity(4 + length);
        entry.extend_from_slice(&(length as u32).to_ne_bytes());
        entry.extend_from_slice(&line.as_bytes()[..length]);
        let was_half_full = self.0.is_half_full();
        self.0.write_or_count(&entry);
        // The watcher reads often enough for fewer lines.
        if !was_half_full && self.0.is_half_full() {
            header.caller.wake();
            if header.caller.pid() == 0 {
                header.coordinator.wake();
            }
        }
    }

    /// Passes the lines that have arrived, without zero bytes, to `line`. For the one reader.
    pub fn read(&self, mut line: impl FnMut(&str)) {
        let mut bytes = Vec::new();
        self.0.read(&mut bytes);
        let mut rest = bytes.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = (u32::from_ne_bytes(*length) as usize).min(after.len());
            let (text, after) = after.split_at(length);
            line(&String::from_utf8_lossy(text).replace('\0', ""));
            rest = after;
        }
    }
}
