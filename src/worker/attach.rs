//! Attaching a process to its task: it maps the task's segment, which is the segment of this
//! process from then on. `perform` is all of that for a process that gives the task its outcome.

use crate::backend::fatal;
use crate::backend::process::{at_exit, begin_worker};
use crate::backend::transaction::abort;
use crate::error::{Error, Result, catch};
use crate::shared::{Phase, Segment};
use pgrx::pg_sys;
use serde::Serialize;
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

/// Attaches the process that a task consists of or that starts the others, and executes `body`, of
/// which the outcome of the task is made. However the process ends, the task has an outcome: no
/// process waits for it in vain. `process` is what the error calls it if it is terminated.
pub fn perform<T: Serialize>(
    argument: pg_sys::Datum,
    process: &'static str,
    body: impl FnOnce(&'static Segment) -> Result<T>,
) {
    let Some(segment) = attach(argument) else {
        return;
    };
    let header = segment.header();
    header.coordinator.set_to_me();
    at_exit(move || finish_at_exit(segment, process));
    header.advance(Phase::Preparing);
    let outcome = catch(|| body(segment));
    abort();
    segment.finish(outcome.map_err(|error| error.report()));
}

/// Finishes the task of a process that exits before it has. In an exit callback, which must not
/// raise an error.
fn finish_at_exit(segment: &Segment, process: &str) {
    if segment.header().phase() == Phase::Finished {
        return;
    }
    let report = fatal::failure().unwrap_or_else(|| {
        Error::Canceled {
            by: format!("because {process} was terminated"),
        }
        .report()
    });
    segment.finish(Err::<(), _>(report));
}

/// Makes a segment that of this process until the process exits.
pub fn adopt(segment: Segment) -> &'static Segment {
    fatal::watch();
    let segment = segment.keep();
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
