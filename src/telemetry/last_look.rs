//! Observing when the clients have ended and the run is not stored yet.

use crate::backend::interrupts::{asked_to_end, enter_canceling, leave_canceling};
use crate::latch::forget_cancel;
use crate::shared::{Segment, Stop};

/// Observes something when the clients have ended. It may hang, on a target or at a lock, and the run
/// is stored only afterwards, so a run that must end skips it or cancels it.
pub fn at_the_end<T>(segment: &Segment, observe: impl FnOnce() -> Option<T>) -> Option<T> {
    enter_canceling();
    let found = match must_end(segment) {
        true => None,
        false => observe(),
    };
    leave_canceling();
    forget_cancel();
    found
}

/// Whether the run must end now.
pub fn must_end(segment: &Segment) -> bool {
    asked_to_end() || segment.header().stop() != Stop::No
}
