//! Readings of a session's resource usage by its client: before the first transaction that counts,
//! and when the client ends. The client does nothing else meanwhile.

use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::RunPlan;
use crate::session::{Block, Outcome, Session};

/// Progress of the two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not wanted, complete, or failed.
    Off,
    /// Waiting for the first transaction that counts.
    FirstDue,
    /// The first reading is in progress.
    First,
    /// Waiting for the end of the client.
    Between,
    /// The client has ended, the last reading has to be submitted.
    LastDue,
    /// A failed block is being rolled back; usage cannot be read in it.
    RollBack,
    /// The last reading is in progress.
    Last,
}

/// The two readings of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageReader {
    state: State,
}

impl UsageReader {
    /// A reader that reads nothing unless usage is `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        let state = if wanted { State::FirstDue } else { State::Off };
        Self { state }
    }

    /// Whether the first reading is due before a transaction that starts at `start_ns`.
    #[inline]
    pub(crate) fn is_due(&self, start_ns: u64, plan: &RunPlan<'_>) -> bool {
        self.state == State::FirstDue && plan.measures(start_ns)
    }

    /// Begins the first reading, which [`UsageReader::poll`] continues.
    pub(crate) fn begin_first(&mut self, session: &mut impl Session) {
        session.submit_usage();
        self.state = State::First;
    }

    /// Requests the last reading, which [`UsageReader::poll`] begins. Returns `false` if there is none,
    /// because there was no first one.
    pub(crate) fn request_last(&mut self) -> bool {
        let read = self.state == State::Between;
        self.state = if read { State::LastDue } else { State::Off };
        read
    }

    /// Whether a reading is requested or in progress, so that the client must not use the session.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(self.state, State::Off | State::FirstDue | State::Between)
    }

    /// Continues a reading. Returns whether it is over; one that failed is not recorded.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_, '_, impl Session, impl Control, impl Record>,
    ) -> bool {
        let session = &mut *context.session;
        loop {
            match self.state {
                State::Off | State::FirstDue | State::Between => return true,
                State::LastDue if session.block() == Block::Failed => {
                    session.submit_rollback();
                    self.state = State::RollBack;
                }
                State::LastDue => {
                    session.submit_usage();
                    self.state = State::Last;
                }
                State::First | State::RollBack | State::Last => {
                    let Some(outcome) = session.poll() else {
                        return false;
                    };
                    let usage = match outcome {
                        Outcome::Done => session.usage(),
                        Outcome::Failed(_) => None,
                    };
                    self.state = match (self.state, usage) {
                        (State::RollBack, _) => {
                            session.submit_usage();
                            State::Last
                        }
                        (State::First, Some(usage)) => {
                            context.record.usage_begins(&usage);
                            State::Between
                        }
                        (_, Some(usage)) => {
                            context.record.usage_ends(&usage);
                            State::Off
                        }
                        (_, None) => State::Off,
                    };
                }
            }
        }
    }
}
