//! Context of a client while it is advanced.

use crate::run_plan::{RunPlan, Thread};

/// Context of a client while it is advanced: its session, what it shares with other clients, and
/// where its figures go.
#[derive(Debug)]
pub struct Context<'a, 'w, S, C, R> {
    /// The client's session.
    pub session: &'a mut S,
    /// Data that all clients of the run share.
    pub plan: &'a RunPlan<'w>,
    /// The client's thread, which it shares with the thread's other clients.
    pub thread: &'a mut Thread,
    /// Clock, stop request, shell and messages.
    pub control: &'a C,
    /// Destination of the client's figures.
    pub record: &'a mut R,
}
