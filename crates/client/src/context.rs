//! The arguments of a client's step.

use crate::run_plan::{RunPlan, Thread};

/// Context of one call of [`Client::advance`](crate::Client::advance). `S` is a
/// [`Session`](crate::Session), `C` a [`Control`](crate::Control), `R` a [`Record`](crate::Record); `'w`
/// is the lifetime of the workload.
#[derive(Debug)]
pub struct Context<'a, 'w, S, C, R> {
    /// The client's session.
    pub session: &'a mut S,
    /// Plan of the run, the same for all its clients.
    pub plan: &'a RunPlan<'w>,
    /// Streams and schedule of the client's thread, which the thread's clients share.
    pub thread: &'a mut Thread,
    /// Clock, stop request, shell and messages.
    pub control: &'a C,
    /// Destination of the client's figures.
    pub record: &'a mut R,
}
