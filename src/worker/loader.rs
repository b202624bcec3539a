//! The loader: the worker that initializes pgbench's tables, each step in transactions of its own,
//! in this server or in a target.

use super::database::Database;
use super::transaction::transaction;
use super::{at_exit, attach, connect, my_segment, page_worker, settings};
use crate::clock;
use crate::error::{Error, Result, catch};
use crate::initialize::rows::Table;
use crate::initialize::{InitializeSpec, heap, steps};
use crate::shared::segment::{Header, Phase, Stop};
use pgrx::{pg_guard, pg_sys};
use std::sync::atomic::Ordering::*;

/// What the loader returns: letters of the steps and the seconds that each took.
pub type StepSeconds = Vec<(char, f64)>;

/// Entry point of the process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_loader_main(argument: pg_sys::Datum) {
    let Some(segment) = attach(argument) else {
        return;
    };
    let header = segment.header();
    header.coordinator.set_to_me();
    at_exit(loader_exit, 0);
    header.advance(Phase::Preparing);
    let outcome = catch(|| {
        let spec: InitializeSpec = segment.spec()?;
        connect(spec.identity);
        page_worker::end_workers_at_exit();
        transaction(|| settings::apply(&spec.settings))?;
        // Of what it fills, and of the keys.
        heap::compress_wal();
        initialize(header, &spec)
    });
    super::transaction::abort();
    segment.finish(outcome.map_err(|error| error.report()));
}

unsafe extern "C-unwind" fn loader_exit(_code: i32, _argument: pg_sys::Datum) {
    if let Some(segment) = my_segment() {
        let error = Error::Canceled {
            by: "because its loader was terminated".into(),
        };
        segment.finish(Err::<(), _>(error.report()));
    }
}

fn initialize(header: &'static Header, spec: &InitializeSpec) -> Result<StepSeconds> {
    let mut database = Database::open(spec.target.as_ref())?;
    // Before anything is dropped or emptied.
    steps::require_pgbench_tables(&mut database)?;
    let mut seconds = StepSeconds::new();
    header.advance(Phase::Running);
    for (number, letter) in spec.steps.chars().enumerate() {
        if header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "on request".into(),
            });
        }
        let begin = clock::now_ns();
        header.rows_done.store(0, Relaxed);
        header.rows_total.store(spec.rows() as u64, Relaxed);
        header.step_ns.store(begin, Relaxed);
        header.step.store(number as u32 + 1, Release);
        header.caller.wake();
        step(header, spec, &mut database, letter)?;
        seconds.push((letter, (clock::now_ns() - begin) as f64 / 1e9));
    }
    Ok(seconds)
}

fn step(
    header: &'static Header,
    spec: &InitializeSpec,
    database: &mut Database,
    letter: char,
) -> Result<()> {
    match letter {
        'd' => database.execute_alone(steps::DROP),
        't' => steps::create(spec, database.version_num())
            .try_for_each(|statement| database.execute_alone(&statement)),
        'g' => database.transaction(|database| {
            database.execute(steps::TRUNCATE)?;
            for table in [Table::Branches, Table::Tellers] {
                database.copy(table, spec.scale, &header.rows_done)?;
            }
            database.fill_accounts(spec, header)
        }),
        'G' => database.transaction(|database| {
            database.execute(steps::TRUNCATE)?;
            steps::generate_on_server(spec)
                .iter()
                .try_for_each(|statement| database.execute(statement))
        }),
        'v' => steps::VACUUM
            .iter()
            .try_for_each(|statement| database.execute_alone(statement)),
        'p' => steps::primary_keys(spec)
            .iter()
            .try_for_each(|statement| database.execute_alone(statement)),
        _ => steps::foreign_keys()
            .iter()
            .try_for_each(|statement| database.execute_alone(statement)),
    }
}
