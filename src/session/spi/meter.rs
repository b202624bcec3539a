//! The CPU time of the parts of a transaction, for the few transactions whose parts are timed.
//!
//! Functions that execute statements have a constant parameter `PARTS` and enter the parts one
//! after the other, so that other transactions have no instruction for it. The executor and utility
//! commands are recognized by the server's hooks, see `hooks`: SPI parses, plans and executes in
//! one call, and only the hooks can tell these apart.
//!
//! Waiting for locks, for the disk or for a CPU is no CPU time and hence in none of the parts.

use crate::clock;
use selfbench_stats::TurnParts;
use std::cell::Cell;

/// A part of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Parsing, rewriting and planning: what a statement does outside of the executor.
    Plan,
    /// The executor and utility commands.
    Executor,
    /// Commit or abort.
    Commit,
    /// Everything else in the session.
    Statement,
    /// Outside of the session.
    Harness,
}

/// The meter of this process.
struct Meter {
    /// The part that time is added to; `None` while nothing is timed.
    part: Cell<Option<Part>>,
    /// Number of executions within each other.
    depth: Cell<u32>,
    /// The part in which the outermost of them began: a commit executes deferred triggers.
    around: Cell<Part>,
    /// The CPU clock where the part was entered.
    since_ns: Cell<u64>,
    /// Cost of a reading of the CPU clock.
    reading_ns: Cell<u64>,
    /// Time of each part.
    spent_ns: [Cell<u64>; 5],
}

thread_local! {
    static METER: Meter = const {
        Meter {
            part: Cell::new(None),
            depth: Cell::new(0),
            around: Cell::new(Part::Plan),
            since_ns: Cell::new(0),
            reading_ns: Cell::new(0),
            spent_ns: [const { Cell::new(0) }; 5],
        }
    };
}

impl Meter {
    fn switch(&self, part: Option<Part>) {
        let now_ns = clock::thread_cpu_ns();
        if let Some(old) = self.part.replace(part) {
            let passed_ns = now_ns.saturating_sub(self.since_ns.get());
            let spent_ns = &self.spent_ns[old as usize];
            let added_ns = passed_ns.saturating_sub(self.reading_ns.get());
            spent_ns.set(spent_ns.get() + added_ns);
        }
        self.since_ns.set(now_ns);
    }
}

/// Enters a part, if the caller belongs to a transaction whose parts are timed.
#[inline(always)]
pub(super) fn enter<const PARTS: bool>(part: Part) {
    if PARTS {
        METER.with(|meter| {
            meter.depth.set(0);
            meter.switch(Some(part));
        });
    }
}

/// Enters a part if the parts of the transaction are timed, as found at run time.
#[cold]
pub(super) fn enter_if_metered(part: Part) {
    if METER.with(|meter| meter.part.get().is_some()) {
        enter::<true>(part);
    }
}

/// Begins to time a transaction, or the part of it that a client executes in one turn.
pub(super) fn begin() {
    METER.with(|meter| {
        if meter.reading_ns.get() == 0 {
            meter.reading_ns.set(reading_ns());
        }
        meter.spent_ns.iter().for_each(|spent_ns| spent_ns.set(0));
        meter.depth.set(0);
        meter.switch(Some(Part::Harness));
    });
}

/// Ends the timing; returns the times since then.
pub(super) fn end() -> TurnParts {
    METER.with(|meter| {
        meter.switch(None);
        let spent_ns = |part| meter.spent_ns[part as usize].get();
        TurnParts {
            plan_ns: spent_ns(Part::Plan),
            executor_ns: spent_ns(Part::Executor),
            commit_ns: spent_ns(Part::Commit),
            session_ns: spent_ns(Part::Statement),
            harness_ns: spent_ns(Part::Harness),
            ..TurnParts::default()
        }
    })
}

/// Cost of a reading of the CPU clock; each part contains one.
fn reading_ns() -> u64 {
    const READINGS: usize = 33;
    let readings: [u64; READINGS] = std::array::from_fn(|_| clock::thread_cpu_ns());
    let mut costs: [u64; READINGS - 1] =
        std::array::from_fn(|i| readings[i + 1].saturating_sub(readings[i]));
    costs.sort_unstable();
    costs[READINGS / 2].max(1)
}

/// The executor, or a utility command, begins.
pub(super) fn begin_execution() {
    METER.with(|meter| {
        if let Some(part) = meter.part.get()
            && meter.depth.replace(meter.depth.get() + 1) == 0
        {
            meter.around.set(part);
            meter.switch(Some(Part::Executor));
        }
    });
}

/// The execution ends. A cursor may end that another transaction has begun.
pub(super) fn end_execution() {
    METER.with(|meter| {
        if meter.part.get() == Some(Part::Executor) {
            let depth = meter.depth.get().saturating_sub(1);
            meter.depth.set(depth);
            if depth == 0 {
                meter.switch(Some(meter.around.get()));
            }
        }
    });
}
