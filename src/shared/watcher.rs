//! The reader of what clients tell whoever watches their run; see `messages`.

use super::segment::Segment;

/// The watcher shows that many lines at a stretch,
const BURST: f64 = 2000.0;
/// and, once they are used up, that many in a second.
const LINES_PER_SECOND: f64 = 200.0;
/// How often it tells how many lines were left out.
const SUMMARY_NS: u64 = 1_000_000_000;

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
