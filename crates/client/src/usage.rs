//! Readings of a session's resource usage by its client: before the first transaction that counts,
//! and when the client ends. The client's state machine waits meanwhile.

use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::RunPlan;
use crate::session::{Block, Outcome, Session};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing to read, or nothing more.
    Off,
    /// To be read before the first transaction that counts.
    Due,
    /// Being read for the first time.
    ReadFirst,
    /// Read once, and to be read again when the client ends.
    Between,
    /// The client has ended: about to be read for the last time.
    End,
    /// A failed block is being rolled back, after which usage is read for the last time.
    RollBack,
    /// Being read for the last time.
    ReadLast,
}

/// The two readings of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageReader {
    state: State,
}

impl UsageReader {
    /// A reader that reads nothing unless usage is `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        let state = if wanted { State::Due } else { State::Off };
        Self { state }
    }

    /// Whether usage is to be read before a transaction that starts at `start_ns`.
    #[inline]
    pub(crate) fn is_due(&self, start_ns: u64, plan: &RunPlan<'_>) -> bool {
        self.state == State::Due && plan.measures(start_ns)
    }

    /// Begins the first reading; to be followed by [`UsageReader::poll`].
    pub(crate) fn begin(&mut self, session: &mut impl Session) {
        session.submit_usage();
        self.state = State::ReadFirst;
    }

    /// Requests the last reading if there was a first one; gives whether there was.
    pub(crate) fn end(&mut self) -> bool {
        let read = self.state == State::Between;
        self.state = if read { State::End } else { State::Off };
        read
    }

    /// Whether a reading is in progress or requested, so that the session is not available.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(self.state, State::Off | State::Due | State::Between)
    }

    /// Continues a reading; gives whether it is complete.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_, '_, impl Session, impl Control, impl Record>,
    ) -> bool {
        let session = &mut *context.session;
        loop {
            match self.state {
                State::Off | State::Due | State::Between => return true,
                State::End if session.block() == Block::Failed => {
                    session.submit_rollback();
                    self.state = State::RollBack;
                }
                State::End => {
                    session.submit_usage();
                    self.state = State::ReadLast;
                }
                State::ReadFirst | State::RollBack | State::ReadLast => {
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
                            State::ReadLast
                        }
                        (State::ReadFirst, Some(usage)) => {
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
