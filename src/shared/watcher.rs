//! The process that watches a run: reads the lines that clients send; see `messages`.

use super::segment::Segment;

/// The watcher shows at most this many lines at once,
const BURST: f64 = 2000.0;
/// and after these at most this many per second.
const LINES_PER_SECOND: f64 = 200.0;
/// Time between reports of the number of suppressed lines.
const SUMMARY_NS: u64 = 1_000_000_000;

/// Reads the rings of all workers.
pub struct Watcher {
    /// Lines that may be shown now.
    allowance: f64,
    /// When they were last read.
    read_ns: u64,
    /// Lines that were read and not shown.
    hidden: u64,
    /// Suppressed lines that have been reported, and when.
    reported: u64,
    reported_ns: u64,
}

impl Watcher {
    /// A watcher that starts at this clock reading.
    pub fn new(now_ns: u64) -> Watcher {
        Watcher {
            allowance: BURST,
            read_ns: now_ns,
            hidden: 0,
            reported: 0,
            reported_ns: now_ns,
        }
    }

    /// Passes lines that have arrived to `show`, as many as may be shown now. Only one process may read
    /// them.
    pub fn pass(&mut self, segment: &Segment, now_ns: u64, mut show: impl FnMut(&str)) {
        let seconds = now_ns.saturating_sub(self.read_ns) as f64 / 1e9;
        self.allowance = (self.allowance + seconds * LINES_PER_SECOND).min(BURST);
        self.read_ns = now_ns;
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
        if now_ns.saturating_sub(self.reported_ns) >= SUMMARY_NS {
            self.reported_ns = now_ns;
            self.report_suppressed(segment, show);
        }
    }

    /// Passes the last lines, when all writers have ended.
    pub fn end(&mut self, segment: &Segment, now_ns: u64, mut show: impl FnMut(&str)) {
        self.pass(segment, now_ns, &mut show);
        self.report_suppressed(segment, show);
    }

    /// Reports how many lines were suppressed since the last report.
    fn report_suppressed(&mut self, segment: &Segment, mut show: impl FnMut(&str)) {
        let lost: u64 = segment
            .all_messages()
            .map(|messages| messages.0.lost())
            .sum();
        let suppressed = self.hidden + lost - self.reported;
        if suppressed > 0 {
            show(&format!("{suppressed} more lines were suppressed"));
            self.reported += suppressed;
        }
    }
}
