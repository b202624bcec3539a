//! What a client of mode spi times of its transactions.
//!
//! One transaction in [`SAMPLED`] is timed, see [`effort`](crate::shared::effort). In some of these,
//! the CPU time of the parts is measured instead, for the time budget.

use crate::clock;
use crate::session::{Dissected, Metered, SpiSession};
use crate::shared::effort::{Effort, SAMPLED};
use selfbench_client::{Client, Context, Control, Record, Step};
use selfbench_stats::TurnParts;

/// What it takes to time the parts of a short transaction: eight readings of the CPU clock, system
/// calls of 0.4 us each in a virtual machine.
const PARTS_NS: u64 = 3_500;
/// Timing parts takes at most one in so many nanoseconds.
const SHARE: u64 = 1_000;

/// What the client has timed.
#[derive(Default)]
pub struct Timing {
    /// Time of whole transactions, and outside of the session.
    pub effort: Effort,
    /// CPU time of parts, in the measured time.
    pub parts: TurnParts,
    /// Whether parts are timed.
    dissects: bool,
    /// About the median time of a transaction. The mean has the time on the run queue, which many
    /// clients of few CPUs spend in few of their transactions.
    typical_ns: u64,
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
            if plan.measures(begin_ns) {
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
        let of_ns = clock::now_ns() - begin_ns;
        self.effort.add(of_ns, session_ns, ends(&step));
        self.typical_ns = match self.typical_ns {
            0 => of_ns,
            typical if of_ns > typical => typical + typical / 8 + 1,
            typical => typical - typical / 8,
        };
        step
    }

    /// Of the timed transactions, one in so many has its parts timed.
    fn dissect_every(&self) -> u64 {
        (PARTS_NS * SHARE / (SAMPLED * self.typical_ns.max(1))).clamp(2, 64)
    }
}
