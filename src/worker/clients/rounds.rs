//! Time that answers of clients lie ready while their worker serves other clients or waits for a
//! CPU.
//!
//! A worker of mode libpq goes round: it waits for events, then serves the clients whose answers have
//! come. One round in [`EVERY`] is timed. An answer of it has waited
//!
//! * since the wait for events ended: until the worker turned to it;
//! * before, if that wait ended at once: since some moment of the round before, when the worker was
//!   busy; half of that round in the mean;
//! * before, if the worker slept: until it got a CPU, as the kernel counts it. The first answer has
//!   waited all of that time, which ended the sleep, the others half of it in the mean.
//!
//! The worker's time on the run queue within a round is divided among its clients by the time at
//! which each was served. All other rounds have no clock reading.

use crate::clock;
use crate::telemetry::processes::OwnRunQueue;
use selfbench_stats::TurnParts;

/// One of that many rounds is timed.
const EVERY: u64 = 64;
/// A wait for events that ends sooner has not slept.
const SLEEP_NS: u64 = 10_000;

/// A moment in a worker's life.
#[derive(Clone, Copy, Default)]
struct Moment {
    at_ns: u64,
    /// Time on the run queue until then.
    run_queue_ns: u64,
}

impl Moment {
    fn now(run_queue: &OwnRunQueue) -> Moment {
        Moment {
            at_ns: clock::now_ns(),
            run_queue_ns: run_queue.ns(),
        }
    }

    /// Time, and time on the run queue, since an earlier moment.
    fn since(self, earlier: Moment) -> (u64, u64) {
        let run_queue_ns = self.run_queue_ns.saturating_sub(earlier.run_queue_ns);
        (self.at_ns.saturating_sub(earlier.at_ns), run_queue_ns)
    }
}

/// The rounds of a worker.
pub struct Rounds {
    run_queue: OwnRunQueue,
    /// Counts them; `None` if none is timed.
    number: Option<u64>,
    /// Begin of serving clients in the round before the timed one.
    before: Moment,
    /// Begin of the wait for events of the timed round, and its end.
    waits: Moment,
    woke: Moment,
    /// Answers that were served in the timed round, and the times until they were, since it woke.
    answers: u64,
    until_begin_ns: u64,
    until_end_ns: u64,
    /// Times in the measured time.
    pub parts: TurnParts,
}

impl Rounds {
    /// `times` is whether rounds are timed.
    pub fn new(times: bool) -> Rounds {
        Rounds {
            run_queue: times.then(OwnRunQueue::open).unwrap_or_default(),
            number: times.then_some(0),
            before: Moment::default(),
            waits: Moment::default(),
            woke: Moment::default(),
            answers: 0,
            until_begin_ns: 0,
            until_end_ns: 0,
            parts: TurnParts::default(),
        }
    }

    /// Begins a round, before the worker waits for events. Returns whether the round is timed.
    #[inline]
    pub fn waits(&mut self) -> bool {
        let Some(number) = &mut self.number else {
            return false;
        };
        *number += 1;
        let is_timed = number.is_multiple_of(EVERY);
        if is_timed {
            self.waits = Moment::now(&self.run_queue);
        }
        is_timed
    }

    /// Notes that the worker has waited for events.
    #[inline]
    pub fn woke(&mut self, is_timed: bool) {
        if is_timed {
            self.woke = Moment::now(&self.run_queue);
            (self.answers, self.until_begin_ns, self.until_end_ns) = (0, 0, 0);
        } else if self
            .number
            .is_some_and(|number| (number + 1).is_multiple_of(EVERY))
        {
            self.before = Moment::now(&self.run_queue);
        }
    }

    /// The worker turns to a client in the timed round; gives when, since the round woke.
    pub fn turn_begins(&self) -> u64 {
        clock::now_ns().saturating_sub(self.woke.at_ns)
    }

    /// A client was served in the timed round: since `began_ns` if it had an answer; `ended` is whether
    /// a transaction ended.
    pub fn turn_ends(&mut self, began_ns: Option<u64>, ended: bool) {
        self.parts.turns += u64::from(ended);
        if let Some(began_ns) = began_ns {
            self.answers += 1;
            self.until_begin_ns += began_ns;
            self.until_end_ns += clock::now_ns().saturating_sub(self.woke.at_ns);
        }
    }

    /// The timed round is over.
    pub fn ends(&mut self, measure_ns: u64) {
        let (busy_ns, queued_ns) = Moment::now(&self.run_queue).since(self.woke);
        if self.before.at_ns < measure_ns {
            self.parts = TurnParts::default();
            return;
        }
        let answers = self.answers as f64;
        // Until the wait for events ended.
        let (slept_ns, woken_ns) = self.woke.since(self.waits);
        let (mut others_ns, mut run_queue_ns) = (0.0, 0.0);
        if slept_ns < SLEEP_NS {
            let (round_ns, round_queued_ns) = self.woke.since(self.before);
            run_queue_ns += answers * round_queued_ns as f64 / 2.0;
            others_ns += answers * round_ns.saturating_sub(round_queued_ns) as f64 / 2.0;
        } else if answers > 0.0 {
            run_queue_ns += (answers + 1.0) * woken_ns as f64 / 2.0;
        }
        // Since then.
        let queued = match busy_ns {
            0 => 0.0,
            busy_ns => (queued_ns as f64 / busy_ns as f64).min(1.0),
        };
        run_queue_ns += self.until_end_ns as f64 * queued;
        others_ns += self.until_begin_ns as f64 * (1.0 - queued);
        self.parts.others_ns += others_ns as u64;
        self.parts.run_queue_ns += run_queue_ns as u64;
    }
}
