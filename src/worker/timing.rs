//! What a client of mode spi times of its transactions.
//!
//! One transaction in [`SAMPLED`] is timed, see [`effort`](crate::shared::effort). In some of these,
//! the CPU time of the parts is measured instead, for the time budget. A reading of the CPU clock is
//! a system call, and there are seven or more of them in a transaction: a thousandth of the time of
//! select-only transactions if their parts are timed in one of 64, as long as transactions are short.

use crate::clock;
use crate::session::{Dissected, Metered, SpiSession};
use crate::shared::effort::{Effort, SAMPLED};
use selfbench_client::{Client, Context, Control, Record, Step};
use selfbench_stats::TurnParts;

/// Of the timed transactions, that many have their parts timed: one in so many.
const SHORT_EVERY: u64 = 8;
/// If transactions are long.
const LONG_EVERY: u64 = 2;
/// Transactions that take longer are long: the readings take less than a hundredth of them.
const LONG_NS: u64 = 100_000;

/// What the client has timed.
#[derive(Default)]
pub struct Timing {
    /// Time of whole transactions, and outside of the session.
    pub effort: Effort,
    /// CPU time of parts, in the measured time.
    pub parts: TurnParts,
    /// Whether parts are timed.
    dissects: bool,
}

impl Timing {
    /// `dissects` is whether parts are timed.
    pub fn new(dissects: bool) -> Timing {
        Timing {
            dissects,
            ..Timing::default()
        }
    }

    /// Advances the client within its transaction with that number, which is a multiple of
    /// [`SAMPLED`].
    #[cold]
    #[inline(never)]
    pub fn advance<'w>(
        &mut self,
        transaction: u64,
        client: &mut Client<'w>,
        context: Context<'_, 'w, SpiSession, impl Control, impl Record>,
    ) -> Step {
        let Context {
            session,
            plan,
            thread,
            control,
            record,
        } = context;
        let begin_ns = clock::now_ns();
        let ends = |step: &Step| !matches!(step, Step::Sleeping { .. });
        if self.dissects && (transaction / SAMPLED).is_multiple_of(self.dissect_every()) {
            let (step, parts) = Dissected::time(session, |session| {
                client.advance(&mut Context {
                    session,
                    plan,
                    thread,
                    control,
                    record,
                })
            });
            if begin_ns >= plan.measure_ns {
                self.parts.merge(&parts);
                self.parts.turns += u64::from(ends(&step));
            }
            return step;
        }
        let mut metered = Metered::new(session);
        let step = client.advance(&mut Context {
            session: &mut metered,
            plan,
            thread,
            control,
            record,
        });
        let session_ns = metered.spent_ns();
        self.effort
            .add(clock::now_ns() - begin_ns, session_ns, ends(&step));
        step
    }

    fn dissect_every(&self) -> u64 {
        match self.effort.of_ns > LONG_NS * self.effort.turns.max(1) {
            true => LONG_EVERY,
            false => SHORT_EVERY,
        }
    }
}
