//! Filling tables with finished pages, or with rows of workloads: page workers, and the loader, which
//! starts them, does the same itself and ensures that they have exited before it goes on.
//!
//! The loader creates a separate segment for them, with the plan as its specification. All
//! processes take parts of the plan from a counter in the segment's header until none is left.

use crate::backend::identity::connect;
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::process::WorkerHandle;
use crate::backend::transaction::{abort, transaction};
use crate::error::{Error, Result, catch};
use crate::initialize::heap;
use crate::initialize::pages::{AddedKeys, Plan};
use crate::initialize::workload::parts::Parts;
use crate::latch::{self, WaitEvent};
use crate::server;
use crate::shared::{Header, Segment, SegmentLayout, Stop, TaskKind, WorkerState};
use crate::state::session;
use crate::worker::activity::show;
use crate::worker::ending::{self, LiveProcess, Owned, Processes};
use crate::worker::place::Place;
use pgrx::{pg_guard, pg_sys};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Minimum number of pages per worker: filling them takes several times as long as starting a
/// worker.
const PAGES_PER_PROCESS: u64 = 4096;
/// Minimum number of rows of a workload per worker, for the same reason.
const ROWS_PER_PROCESS: u64 = 20_000;
/// Period of the checks of a process while it waits for others.
const TICK: Duration = Duration::from_millis(100);

/// Work that the processes share.
#[derive(Serialize, Deserialize)]
enum Work<'w> {
    /// Fill pages, in one transaction each.
    Pages(Cow<'w, Plan>),
    /// Insert rows of a workload.
    Rows(Cow<'w, Parts>),
}

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_page_worker_main(argument: pg_sys::Datum) {
    let Some(place) = Place::take(argument) else {
        return;
    };
    let outcome = catch(|| {
        let work: Work = place.segment.spec()?;
        let header = place.segment.header();
        let check = &mut || {
            look_around();
            if header.stop() != Stop::No {
                return Err(canceled("on request"));
            }
            Ok(())
        };
        let (identity, wal_compression) = match &work {
            Work::Pages(plan) => (plan.identity, &plan.wal_compression),
            Work::Rows(parts) => (parts.identity, &parts.wal_compression),
        };
        connect(identity);
        show(header, "generating data");
        heap::compress_wal(wal_compression);
        match &work {
            Work::Pages(plan) => transaction(|| take_part(plan, header, check)),
            Work::Rows(parts) => {
                parts.prepare()?;
                take_rows(parts, place.segment, check)
            }
        }
    });
    abort();
    place.leave(outcome.err().map(|error| error.report()));
}

/// Does parts of the plan until none is left. `check` is called after each batch.
fn take_part(plan: &Plan, header: &Header, check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let keys_ns = plan.work(|| header.parts_taken.fetch_add(1, Relaxed), &mut |rows| {
        header.rows_done.fetch_add(rows as u64, Relaxed);
        check()
    })?;
    header.keys_ns.fetch_add(keys_ns, Relaxed);
    Ok(())
}

/// Inserts parts of rows until none is left. `check` is called after each batch, and while a part has to wait
/// for others to be committed, which is outside of a transaction.
fn take_rows(
    parts: &Parts,
    segment: &Segment,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let header = segment.header();
    while let Some(part) = parts.part(header.parts_taken.fetch_add(1, Relaxed)) {
        loop {
            // It clears the latch, so it comes before the look at the number.
            check()?;
            if header.parts_committed.load(Acquire) >= part.after {
                break;
            }
            latch::wait(TICK, WaitEvent::Workers);
        }
        parts.insert(&part, &mut |rows| {
            header.rows_done.fetch_add(rows, Relaxed);
            check()
        })?;
        header.parts_committed.fetch_add(1, Release);
        header.coordinator.wake();
        segment.workers().for_each(|worker| worker.process.wake());
    }
    Ok(())
}

/// Processes interrupts, and exits if the postmaster has died: a process that never waits would
/// miss the postmaster's death and block a restart.
fn look_around() {
    latch::wait(Duration::ZERO, WaitEvent::Workers);
    check_for_interrupts();
}

/// Number of processes that may fill tables, including the loader: `workers` if given, otherwise
/// one per CPU, limited by `max_parallel_maintenance_workers` + 1.
pub fn processes(asked: Option<i32>) -> usize {
    match asked {
        Some(asked) => asked.max(1) as usize,
        None => {
            let workers = session::integer_setting(c"max_parallel_maintenance_workers");
            let processors = server::processors().unwrap_or(1);
            processors.min(workers.max(0) as usize + 1)
        }
    }
}

/// Fills tables by the plan, in the current transaction, with at most that many processes. `task`
/// is the header of the initialization. When it returns or fails, all workers have exited. `keyed`
/// learns of primary keys that were filled, too.
pub fn fill(plan: &Plan, processes: usize, task: &Header, keyed: &mut AddedKeys) -> Result<()> {
    plan.prepare();
    let others = (plan.pages() / PAGES_PER_PROCESS).min(processes as u64 - 1);
    let crew = Crew::start(&Work::Pages(Cow::Borrowed(plan)), others as usize, task)?;
    let header = crew.segment.header();
    take_part(plan, header, &mut || crew.check(task))?;
    crew.wait(task)?;
    let processes = 1 + crew.workers.borrow().len() as u64;
    keyed.spent_ns += header.keys_ns.load(Relaxed) / processes;
    keyed.tables = plan.conclude()?;
    Ok(())
}

/// Inserts the rows of a workload, with at most that many processes, each part in a transaction. `task` is
/// the header of the initialization. When it returns or fails, all workers have exited.
///
/// Must be called outside of a transaction.
pub fn insert(parts: Parts, processes: usize, task: &Header) -> Result<()> {
    let most = (parts.rows() / ROWS_PER_PROCESS).min(parts.count().saturating_sub(1));
    let others = most.min(processes as u64 - 1);
    let work = Work::Rows(Cow::Owned(parts));
    let crew = Crew::start(&work, others as usize, task)?;
    if let Work::Rows(parts) = &work {
        take_rows(parts, &crew.segment, &mut || crew.check(task))?;
    }
    crew.wait(task)
}

/// The page workers of this process.
struct Crew {
    segment: Segment,
    workers: RefCell<Vec<WorkerHandle>>,
    /// Rows of other tables that the task has counted before.
    rows_before: u64,
}

impl Crew {
    /// Starts up to `wanted` workers, as many as there are free slots.
    fn start(work: &Work, wanted: usize, task: &Header) -> Result<Owned<Crew>> {
        let layout = SegmentLayout {
            workers: wanted,
            ..SegmentLayout::default()
        };
        let segment = Segment::create(TaskKind::Pages, layout, work, &[])?;
        segment.header().coordinator.set_to_me();
        let handle = segment.handle();
        let crew = Owned::new(Crew {
            segment,
            workers: RefCell::new(Vec::with_capacity(wanted)),
            rows_before: task.rows_done.load(Relaxed),
        });
        let (function, kind) = TaskKind::Pages.process();
        for number in 0..wanted {
            let name = format!("{kind} {number}");
            match WorkerHandle::register(function, kind, &name, handle) {
                Some(worker) => crew.workers.borrow_mut().push(worker),
                None => break,
            }
        }
        Ok(crew)
    }

    /// Waits until the workers have ended, and their slots are free for others.
    fn wait(&self, task: &Header) -> Result<()> {
        while !ending::are_gone(self) {
            self.check(task)?;
            latch::wait(TICK, WaitEvent::Workers);
        }
        self.check(task)
    }

    /// Reports progress, and fails if the work must not continue.
    fn check(&self, task: &Header) -> Result<()> {
        let rows = self.segment.header().rows_done.load(Relaxed);
        task.rows_done.store(self.rows_before + rows, Relaxed);
        look_around();
        if task.stop() != Stop::No {
            return Err(canceled("on request"));
        }
        for worker in self.segment.workers() {
            if let Some(report) = worker.failure() {
                return Err(report.into());
            }
            if worker.state() == WorkerState::Died {
                return Err(canceled("because a page worker was terminated"));
            }
        }
        Ok(())
    }
}

impl Processes for Crew {
    fn abandon(&self) {
        self.segment.header().request_stop(Stop::Abandoned);
    }

    fn for_each_live(&self, each: &mut dyn FnMut(LiveProcess)) {
        if let Ok(workers) = self.workers.try_borrow() {
            workers
                .iter()
                .filter_map(LiveProcess::of_worker)
                .for_each(each);
        }
    }

    /// If a worker wrote to a file after its removal, the checkpointer would look for the file. So
    /// wait for the workers, even if that takes time.
    fn limit_ns(&self) -> u64 {
        u64::MAX
    }
}

fn canceled(by: &str) -> Error {
    Error::Canceled { by: by.into() }
}
