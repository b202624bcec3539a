//! What clients tell whoever watches their run, line by line: what scripts write, errors, and what
//! the server has to say.
//!
//! No client waits for the watcher. A line that finds no room in the ring of its worker is left
//! out, and the watcher shows a flood of lines in part only; how many were left out is told.

use super::header::Header;
use super::ring::Ring;

/// Longer lines are cut, in bytes.
const LINE_BYTES: usize = 4096;
/// Bytes of each worker's ring: room for what its clients tell while the watcher looks elsewhere.
pub fn room(workers: usize) -> usize {
    const ALL: usize = 4 << 20;
    (ALL / workers.max(1)).clamp(16 << 10, 1 << 20)
}

/// The ring through which a client worker tells its lines.
#[derive(Clone, Copy)]
pub struct Messages<'s>(pub(super) Ring<'s>);

impl Messages<'_> {
    /// Tells a line, or leaves it out if there is no room. For the one writer.
    pub fn tell(&self, header: &Header, line: &str) {
        let mut length = line.len().min(LINE_BYTES);
        while !line.is_char_boundary(length) {
            length -= 1;
        }
        let mut entry = Vec::with_capacity(4 + length);
        entry.extend_from_slice(&(length as u32).to_ne_bytes());
        entry.extend_from_slice(&line.as_bytes()[..length]);
        let was_half_full = self.0.is_half_full();
        self.0.write_or_count(&entry);
        // The watcher looks often enough for fewer lines.
        if !was_half_full && self.0.is_half_full() {
            header.caller.wake();
            if header.caller.pid() == 0 {
                header.coordinator.wake();
            }
        }
    }

    /// Passes the lines that wait, without zero bytes, to `line`. For the one reader.
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
