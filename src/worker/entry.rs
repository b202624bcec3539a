//! Attaching a process to its task: it maps the task's segment, which is the segment of this
//! process from then on.

use crate::backend::fatal;
use crate::backend::process::begin_worker;
use crate::shared::Segment;
use pgrx::pg_sys;
use std::cell::Cell;

thread_local! {
    /// The segment of this process, for its exit callback.
    static MY_SEGMENT: Cell<Option<&'static Segment>> = const { Cell::new(None) };
}

/// Attaches the segment whose number is a worker's argument and unblocks signals.
///
/// `None` if the segment no longer exists: the task is over, and the worker exits.
pub fn attach(argument: pg_sys::Datum) -> Option<&'static Segment> {
    begin_worker();
    Some(adopt(Segment::attach(argument.value() as u32)?))
}

/// Makes a segment that of this process until the process exits.
pub fn adopt(segment: Segment) -> &'static Segment {
    fatal::watch();
    let segment = segment.pin_mapping();
    MY_SEGMENT.set(Some(segment));
    segment
}

/// The segment of this process, in exit callbacks.
pub fn my_segment() -> Option<&'static Segment> {
    MY_SEGMENT.get()
}

/// The number of the segment of this process, if it is a process of a task.
pub fn own_segment() -> Option<i64> {
    my_segment().map(|segment| i64::from(segment.handle()))
}
