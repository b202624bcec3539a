//! The worker of a scheduled job: it stores the row of the job's run, and executes a statement that makes a run or
//! a set, as a session of the job's owner would, as often as the job says. Then it raises alerts.
//!
//! It is the caller of these runs. A SELECT at top level calls the function that makes them, because only the
//! snapshot of such a statement can be released while it waits.

use super::activity::show;
use super::attach;
use super::launch::Task;
use crate::backend::horizon::Horizon;
use crate::backend::identity::{Identity, connect};
use crate::backend::statement::execute_alone;
use crate::backend::transaction::transaction;
use crate::error::Result;
use crate::query::quote_literal;
use crate::results::alerts;
use crate::results::jobs::{self, Made, State};
use crate::shared::{Phase, Segment, SegmentLayout, TaskKind};
use pgrx::{pg_guard, pg_sys};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

/// Task of the worker.
#[derive(Serialize, Deserialize)]
struct Job {
    identity: Identity,
    job: jobs::Job,
}

thread_local! {
    /// Runs or set of the statement in progress.
    static MADE: RefCell<Made> = RefCell::default();
}

/// Starts a job's worker, and waits until it has stored the row of the job's run; returns its number.
pub fn start(job: &jobs::Job, horizon: &Horizon) -> Result<i64> {
    let spec = Job {
        identity: Identity::current(),
        job: job.clone(),
    };
    let task = Task::launch(TaskKind::Job, SegmentLayout::default(), &spec, 1)?;
    task.wait(Phase::Running, horizon, |_| Ok(()))?;
    match task.segment().header().run_id.load(Relaxed) {
        0 => task
            .outcome::<()>()
            .and(Err(task.segment().lost("the worker of the job"))),
        job_run_id => {
            task.detach();
            Ok(job_run_id)
        }
    }
}

/// Keeps what the statement of this worker has made, for the row of the job's run.
pub fn made(made: Made) {
    MADE.set(made);
}

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_job_main(argument: pg_sys::Datum) {
    attach::perform(argument, "the worker of the job", |segment| {
        let Job { identity, job } = segment.spec()?;
        connect(identity);
        perform(segment, &job, identity.role)
    });
}

fn perform(segment: &'static Segment, job: &jobs::Job, owner: u32) -> Result<()> {
    let header = segment.header();
    show(header, "storing its row");
    let (row, may) = jobs::begin(job, owner)?;
    header.run_id.store(row.job_run_id, Relaxed);
    header.advance(Phase::Running);
    if !may {
        return Ok(());
    }
    show(header, "making its runs");
    let mut made = Made::default();
    if let Err(error) = make(job, row, &mut made) {
        made.fail(&error);
    }
    show(header, "looking for changes");
    let raised = transaction(|| alerts::raise(job, row, owner, &made));
    let raised = raised.unwrap_or_else(|error| {
        made.fail(&error);
        Vec::new()
    });
    show(header, "storing its row");
    jobs::update(row, &made)?;
    raised.iter().for_each(|alert| alert.warn(job));
    match &job.on_alert {
        Some(statement) if !raised.is_empty() => {
            jobs::release(job)?;
            show(header, "executing on_alert");
            alerts::answer(&raised, statement)
        }
        _ => Ok(()),
    }
}

/// Makes the runs or the set of a job, as often as it says, and again while the night is suspect.
fn make(job: &jobs::Job, row: jobs::Row, all: &mut Made) -> Result<()> {
    let statement = format!(
        "SELECT bench_internal.perform_job({}::pg_catalog.jsonb)",
        quote_literal(&job.options)
    );
    let (mut repeats, mut confirm) = (job.repeats, job.confirm);
    loop {
        repeats -= 1;
        let executed = execute_alone(&statement);
        let made = MADE.take();
        all.run_ids.extend(made.run_ids);
        all.set_ids.extend(made.set_ids);
        (all.state, all.message) = (made.state, made.message);
        executed?;
        if all.state != State::Finished {
            return Ok(());
        }
        let so_far = Made {
            state: State::Running,
            ..all.clone()
        };
        jobs::update(row, &so_far)?;
        if repeats > 0 {
            continue;
        }
        if confirm == 0 || !jobs::is_suspect(job, all)? {
            return Ok(());
        }
        (repeats, confirm) = (1, confirm - 1);
    }
}
