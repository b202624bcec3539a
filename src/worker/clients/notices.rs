//! Notices and warnings that the server sends to the clients of a run, such as warnings of their
//! statements. They are forwarded to the caller, as pgbench writes them to its standard error.
//!
//! On connections, libpq's notice receiver gets them. A client of mode spi has no connection: the
//! messages that its process would send to a client arrive here.

use crate::backend::notices::{self, Redirected};
use crate::latch;
use crate::pq;
use crate::worker::attach::my_segment;
use crate::worker::place::Place;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Number of this worker in the segment of this process.
static WORKER: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Forwards notices of the connections of this process.
pub(super) fn of_connections(place: &Place) {
    WORKER.store(place.index, Release);
    pq::pass_notices_to(forward);
}

/// Forwards notices that this process would send to a client, until the value is dropped.
pub(super) fn of_this_process(place: &Place) -> Redirected {
    WORKER.store(place.index, Release);
    notices::redirect_to(forward)
}

/// Forwards a message to the caller that watches the run, if there is one. An exiting process may
/// send debug messages after its segment has been unmapped.
fn forward(text: &str) {
    if latch::is_exiting() {
        return;
    }
    let Some(segment) = my_segment() else { return };
    let header = segment.header();
    if header.caller.pid() != 0
        && let Some(messages) = segment.messages(WORKER.load(Acquire))
    {
        messages.send(header, text);
    }
}
