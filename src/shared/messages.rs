//! What clients tell whoever watches their run, line by line: what scripts write, errors, and what
//! the server has to say.
//!
//! No client waits for the watcher. A line that finds no room in the ring of its worker is left
//! out, and the watcher shows a flood of lines in part only; how many were left out is told.

use super::header::Header;
use super::ring::Ring;
use super::segment::Segment;

/// Longer lines are cut, in bytes.
const LINE_BYTES: usize = 4096;
/// The watcher shows that many lines at a stretch,
const BURST: f64 = 2000.0;
/// and, once they are used up, that many in a second.
const LINES_PER_SECOND: f64 = 200.0;
/// How often it tells how many lines were left out.
const SUMMARY_NS: u64 = 1_000_000_000;

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

/// The watcher's side: reads the rings of all workers.
pub struct Watcher {
    /// Lines that may be shown now.
    allowance: f64,
    /// When that was.
    looked_ns: u64,
    /// Lines that were read and not shown.
    hidden: u64,
    /// Lines left out that have been told of, and when.
    told: u64,
    told_ns: u64,
}

impl Watcher {
    /// A watcher from now on, which the clock says.
    pub fn new(now_ns: u64) -> Watcher {
        Watcher {
            allowance: BURST,
            looked_ns: now_ns,
            hidden: 0,
            told: 0,
            told_ns: now_ns,
        }
    }

    /// Passes lines that wait to `show`, as many as may be shown now. One process must read them.
    pub fn pass(&mut self, segment: &Segment, now_ns: u64, mut show: impl FnMut(&str)) {
        let seconds = now_ns.saturating_sub(self.looked_ns) as f64 / 1e9;
        self.allowance = (self.allowance + seconds * LINES_PER_SECOND).min(BURST);
        self.looked_ns = now_ns;
        for messages in segment.all_messages() {
            messages.read(|line| {
                if self.allowance >= 1.0 {
                    self.allowance -= 1.0;
                    show(line);
                } else {
                    self.hidden += 1;
                }
            });
        }
        if now_ns.saturating_sub(self.told_ns) >= SUMMARY_NS {
            self.told_ns = now_ns;
            self.sum_up(segment, show);
        }
    }

    /// The same at the end, when nobody writes any more.
    pub fn end(&mut self, segment: &Segment, now_ns: u64, mut show: impl FnMut(&str)) {
        self.pass(segment, now_ns, &mut show);
        self.sum_up(segment, show);
    }

    /// Tells how many lines were left out since that was told last.
    fn sum_up(&mut self, segment: &Segment, mut show: impl FnMut(&str)) {
        let lost: u64 = segment
            .all_messages()
            .map(|messages| messages.0.lost())
            .sum();
        let left_out = self.hidden + lost - self.told;
        if left_out > 0 {
            show(&format!("{left_out} more lines were suppressed"));
            self.told += left_out;
        }
    }
}
