//! The worker that stores the row of a set, in a transaction of its own: that of the caller may be
//! rolled back, and a transaction ID would keep dead rows from being removed while it waits for runs.

use super::activity::show;
use super::attach;
use super::launch::Task;
use crate::backend::horizon::Horizon;
use crate::backend::identity::{Identity, connect};
use crate::error::Result;
use crate::results::sets::{self, Change};
use crate::shared::{Phase, SegmentLayout, TaskKind};
use pgrx::{pg_guard, pg_sys};
use serde::{Deserialize, Serialize};

/// Task of the worker.
#[derive(Serialize, Deserialize)]
struct Job {
    identity: Identity,
    change: Change,
}

/// Has a worker make a change of a set's row, and waits until it is committed; returns the number of
/// the set.
pub fn write(change: Change, horizon: &Horizon) -> Result<i64> {
    let job = Job {
        identity: Identity::current(),
        change,
    };
    let task = Task::launch(TaskKind::Set, SegmentLayout::default(), &job, 1)?;
    task.wait(Phase::Finished, horizon, |_| Ok(()))?;
    task.outcome()
}

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_set_writer_main(argument: pg_sys::Datum) {
    attach::perform(argument, "the worker that stores its row", |segment| {
        let job: Job = segment.spec()?;
        connect(job.identity);
        show(segment.header(), "storing its row");
        sets::write(&job.change, job.identity.role)
    });
}
