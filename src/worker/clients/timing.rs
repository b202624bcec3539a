//! Timing of the transactions of a client of mode spi.
//!
//! One transaction in [`SAMPLED`] is timed, see [`effort`](crate::shared::effort). From some of these on,
//! the CPU time of the parts of a few transactions is measured instead, for the time budget.

use crate::clock;
use crate::session::{SpiSession, Timed};
use crate::shared::StatementRows;
use crate::shared::effort::{Effort, SAMPLED};
use selfbench_client::{Client, Context, Control, Record, Step};
use selfbench_stats::TurnParts;
use std::ops::RangeInclusive;

/// Number of consecutive transactions whose parts are timed.
const BURST: u64 = 4;
/// Number of these that count, the last ones. Timing parts is code of its own, and slow until it is
/// in the processor's caches: in a select-only transaction of 7 us, by more than 1 us.
const COUNTED: u64 = 2;
/// Cost of a burst in short transactions: eight readings of the CPU clock each, system calls of 0.4
/// us in a virtual machine.
const BURST_NS: u64 = BURST * 3_500;
/// Timing parts takes at most one nanosecond in this many.
const SHARE: u64 = 1_000;
/// Transactions between two bursts, in multiples of [`SAMPLED`].
const BURST_EVERY: RangeInclusive<u64> = 2..=256;

/// Times of the client.
#[derive(Default)]
pub struct Timing {
    /// Time of whole transactions, and outside of the session.
    pub effort: Effort,
    /// CPU time of parts, in the measured time.
    pub parts: TurnParts,
    /// Statements that match rows.
    rows: &'static [StatementRows],
    /// Whether parts are timed.
    times_parts: bool,
    /// Number of the next transaction that is timed.
    next: u64,
    /// Number of remaining transactions of a burst, with the next one.
    burst: u64,
    /// Time of the turns that the transaction in progress had.
    turns_ns: u64,
    /// About the median time of a transaction. The mean has the time on the run queue, which many
    /// clients of few CPUs spend in few of their transactions.
    typical_ns: u64,
}

impl Timing {
    /// `times_parts` is whether parts are timed.
    pub fn new(times_parts: bool, rows: &'static [StatementRows]) -> Timing {
        Timing {
            rows,
            times_parts,
            next: SAMPLED,
            ..Timing::default()
        }
    }

    /// Whether that transaction is to be advanced with [`advance`](Self::advance).
    #[inline]
    pub fn is_next(&self, transaction: u64) -> bool {
        transaction == self.next
    }

    /// Advances the client within the [next](Self::is_next) transaction.
    #[cold]
    #[inline(never)]
    pub fn advance<'w>(
        &mut self,
        client: &mut Client<'w>,
        context: Context<'_, 'w, SpiSession, impl Control, impl Record>,
    ) -> Step {
        let begin_ns = clock::now_ns();
        let plan = context.plan;
        let step = if self.burst == 0 {
            let (step, times) = turn::<false>(client, context, self.rows);
            self.add(clock::now_ns() - begin_ns, times.session_ns, ends(&step));
            step
        } else {
            let (step, parts) = turn::<true>(client, context, self.rows);
            if self.burst <= COUNTED && plan.measures(begin_ns) {
                self.parts.merge(&parts);
                self.parts.turns += u64::from(ends(&step));
            }
            step
        };
        if matches!(step, Step::Again) {
            self.burst = self.burst.saturating_sub(1);
            self.next += 1;
            if self.burst == 0 {
                self.next = self.next.next_multiple_of(SAMPLED);
                let is_due = (self.next / SAMPLED).is_multiple_of(self.burst_every());
                self.burst = if self.times_parts && is_due { BURST } else { 0 };
            }
        }
        step
    }

    /// Adds a turn that was timed as a whole; `ends` tells whether the transaction ended with it.
    fn add(&mut self, turn_ns: u64, session_ns: u64, ends: bool) {
        self.effort.add(turn_ns, session_ns, ends);
        self.turns_ns += turn_ns;
        if ends {
            let whole_ns = std::mem::take(&mut self.turns_ns);
            self.typical_ns = match self.typical_ns {
                0 => whole_ns,
                typical if whole_ns > typical => typical + typical / 8 + 1,
                typical => typical - typical / 8,
            };
        }
    }

    fn burst_every(&self) -> u64 {
        (BURST_NS * SHARE / (SAMPLED * self.typical_ns.max(1)))
            .clamp(*BURST_EVERY.start(), *BURST_EVERY.end())
    }
}

/// Advances the client with its session timed.
fn turn<'w, const PARTS: bool>(
    client: &mut Client<'w>,
    context: Context<'_, 'w, SpiSession, impl Control, impl Record>,
    rows: &[StatementRows],
) -> (Step, TurnParts) {
    Timed::<PARTS>::turn(context.session, rows, |session| {
        client.advance(&mut Context {
            session,
            plan: context.plan,
            thread: context.thread,
            control: context.control,
            record: context.record,
        })
    })
}

/// Whether a transaction ends with that step.
fn ends(step: &Step) -> bool {
    !matches!(step, Step::Sleeping { .. })
}
