//! Notices to the caller while it waits for a run: messages of clients and progress lines.

use super::warnings;
use crate::clock;
use crate::error::{Result, message};
use crate::latch;
use crate::run::{PgioSpec, RunOptions, RunSpec, Vacuum};
use crate::server;
use crate::shared::reading;
use crate::shared::watcher::Watcher;
use crate::shared::{Phase, Segment};
use selfbench_report::pgio::WorkingSet;
use selfbench_report::progress::{self, At, ProgressOptions};
use selfbench_stats::Tally;
use std::sync::atomic::Ordering::Relaxed;

/// Notices for the caller while it waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The time between progress lines, in microseconds; by default there are none.
    pub every_us: Option<i64>,
    /// Whether it shows the clock time instead of the time since the start.
    pub timestamp: bool,
    /// Whether lines are those of pgbench, which also announces the vacuum before the run without progress lines.
    pub in_pgbench: bool,
}

impl Progress {
    /// Notices that run options ask for.
    pub fn of(options: &RunOptions) -> Result<Progress> {
        Ok(Progress {
            every_us: options.progress_us()?,
            ..Progress::default()
        })
    }
}

/// Shows the caller a message of a client, unless the call is canceled: there may be many, and the
/// caller's client may be slow to read them.
fn show(line: &str) {
    if !latch::interrupted() {
        message::notice(line);
    }
}

/// Shows the caller messages of clients and, like pgbench, a progress line at every multiple of the
/// given time.
pub(super) struct Ticker {
    watcher: Watcher,
    every_ns: Option<u64>,
    /// Whether lines show the clock time.
    timestamp: bool,
    in_pgbench: bool,
    options: ProgressOptions,
    /// The multiple of the given time that has passed last: the next line is due one later.
    last_ns: u64,
    /// Time up to which lines have told what happened: that of the last one, which may have come late, or the end of
    /// the warm-up.
    told_ns: u64,
    /// Figures that they have told.
    tally: Tally,
    /// The vacuum before the run, until it has been announced.
    vacuum: Option<Vacuum>,
    /// Transactions of the warm-up that earlier lines have included.
    warmup_transactions: u64,
    /// pgio's workload, until the caller knows whether it fits into memory.
    pgio: Option<PgioSpec>,
}

impl Ticker {
    pub fn new(spec: &RunSpec, progress: Progress) -> Ticker {
        Ticker {
            watcher: Watcher::new(clock::now_ns()),
            every_ns: progress.every_us.map(|us| us as u64 * 1000),
            timestamp: progress.timestamp,
            options: ProgressOptions {
                mode: spec.run.mode,
                rate: spec.run.rate.is_some(),
                latency_limit: spec.latency_limit_ns().is_some(),
                max_tries: spec.max_tries(),
            },
            last_ns: 0,
            told_ns: 0,
            tally: Tally::default(),
            in_pgbench: progress.in_pgbench,
            vacuum: (progress.in_pgbench || progress.every_us.is_some())
                .then_some(spec.vacuum())
                .filter(|_| spec.vacuums())
                // A standby has nothing to vacuum.
                .filter(|_| spec.target.is_some() || !server::in_recovery()),
            warmup_transactions: 0,
            pgio: spec.pgio.clone().filter(|_| spec.target.is_none()),
        }
    }

    pub fn tick(&mut self, segment: &Segment) {
        self.tell_vacuum(segment);
        self.watcher.pass(segment, clock::now_ns(), show);
        self.tell_what_is_measured(segment);
        let Some(every) = self.every_ns else { return };
        let header = segment.header();
        if header.phase() != Phase::Running {
            return;
        }
        let (start, measure) = (
            header.start_ns.load(Relaxed),
            header.measure_ns.load(Relaxed),
        );
        if self.last_ns == 0 {
            self.last_ns = start;
            self.told_ns = start;
        }
        // The run ends with its last client, whose process may take longer.
        let now = reading::ended_ns(segment).unwrap_or_else(clock::now_ns);
        if self.last_ns < measure {
            // No line covers both the warm-up and the measured time.
            let end = now.min(measure);
            if end >= self.last_ns + every {
                self.tell_warmup(segment, end);
                self.last_ns = start + (end - start) / every * every;
            }
            if now >= measure {
                self.last_ns = measure;
                self.told_ns = measure;
            }
        }
        if now >= measure && now >= self.last_ns + every {
            self.tell(segment, now);
            // The next line is due at the next multiple, even if this one is late.
            self.last_ns = measure + (now - measure) / every * every;
        }
    }

    /// Prints the last line, if its time has come with the end of the run.
    pub fn end(&mut self, segment: &Segment) {
        // A short run may have ended before the first check.
        self.tell_vacuum(segment);
        self.watcher.end(segment, clock::now_ns(), show);
        self.tell_what_is_measured(segment);
        let Some(every) = self.every_ns else { return };
        let last = reading::ended_ns(segment).unwrap_or(0);
        let measure = segment.header().measure_ns.load(Relaxed);
        let begin = self.last_ns.max(measure);
        if self.last_ns != 0 && last >= begin.saturating_add(every) {
            self.told_ns = self.told_ns.max(measure);
            self.tell(segment, last);
        }
    }

    /// Announces the vacuum, after the start barrier has opened.
    fn tell_vacuum(&mut self, segment: &Segment) {
        let started = segment.header().start_ns.load(Relaxed) != 0;
        let Some(vacuum) = self.vacuum.take_if(|_| started) else {
            return;
        };
        message::notice("starting vacuum...end.");
        if vacuum == Vacuum::All {
            message::notice("starting vacuum pgbench_accounts...end.");
        }
    }

    /// Reports, after the start barrier has opened, if the blocks of pgio's workload fit into
    /// memory, and what the run measures in this case.
    fn tell_what_is_measured(&mut self, segment: &Segment) {
        let header = segment.header();
        let Some(pgio) = self.pgio.take_if(|_| header.start_ns.load(Relaxed) != 0) else {
            return;
        };
        let working_set = WorkingSet {
            bytes: pgio.working_set_bytes(header.scale.load(Relaxed)),
            shared_buffers_bytes: Some(server::shared_buffers_bytes()),
            memory_bytes: server::memory_bytes(),
        };
        if let Some(measured) = working_set.what_is_measured() {
            message::notice(measured);
        }
    }

    fn at(&self, segment: &Segment, now: u64) -> At {
        if self.timestamp {
            At::Epoch(server::epoch_us() as f64 / 1e6)
        } else {
            At::Elapsed((now - segment.header().start_ns.load(Relaxed)) as f64 / 1e9)
        }
    }

    fn tell_warmup(&mut self, segment: &Segment, now: u64) {
        let transactions = (0..segment.layout().clients)
            .map(|client| segment.client(client).0.warmup_transactions())
            .sum();
        let line = progress::warmup_line(
            self.at(segment, now),
            (now - self.told_ns) as f64 / 1e9,
            transactions - self.warmup_transactions,
            self.options.mode,
        );
        message::notice(line);
        self.warmup_transactions = transactions;
        self.told_ns = now;
    }

    fn tell(&mut self, segment: &Segment, now: u64) {
        let tally = reading::read_total(segment);
        let line = progress::line(
            self.at(segment, now),
            (now - self.told_ns) as f64 / 1e9,
            &tally.minus(&self.tally),
            self.options,
        );
        match self.in_pgbench {
            true => show(&line),
            false => warnings::tell(&line),
        }
        self.tally = tally;
        self.told_ns = now;
    }
}
