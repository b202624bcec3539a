//! The process that executes the setup or the teardown of a run: the caller's statements, one after
//! the other, each in a transaction of its own, as the calling role, in this database or on the
//! target.
//!
//! It is a process of its own because statements such as CREATE INDEX CONCURRENTLY cannot be
//! executed in the caller's transaction, and because what they do to their session must not reach
//! the coordinator's.

use super::conduct::leave_cancels;
use crate::backend::fatal;
use crate::backend::identity::{Identity, connect};
use crate::backend::interrupts::was_terminated;
use crate::backend::process::at_exit;
use crate::backend::settings::{self, Settings};
use crate::backend::transaction::{abort, transaction};
use crate::clock;
use crate::database::Database;
use crate::error::{Error, Result, catch};
use crate::pq::ConnectWith;
use crate::results::store;
use crate::run::{RunSpec, statements};
use crate::shared::{Phase, Segment, SegmentLayout, Stop, TaskKind};
use crate::worker::activity::show;
use crate::worker::attach;
use crate::worker::launch::Task;
use pgrx::{PgSqlErrorCode as Sqlstate, pg_guard, pg_sys};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::*;

/// Time in which the process must connect if the coordinator was terminated: DROP DATABASE ... WITH (FORCE)
/// keeps it from connecting, and waits for the coordinator for 5 s.
const CONNECT_NS: u64 = 2_000_000_000;

/// Purpose of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Before the run; the first error ends them.
    Setup,
    /// After the run; an error does not keep those behind it from being executed.
    Teardown,
    /// The teardown of a lost run.
    LateTeardown,
}

impl Purpose {
    /// The name of the option.
    pub fn option(self) -> &'static str {
        match self {
            Purpose::Setup => "setup",
            Purpose::Teardown | Purpose::LateTeardown => "teardown",
        }
    }
}

/// Everything that the process needs to know.
#[derive(Serialize, Deserialize)]
pub struct Statements {
    /// Role and database.
    pub identity: Identity,
    /// The caller's session settings.
    pub settings: Settings,
    /// Target, if not this database.
    pub target: Option<ConnectWith>,
    /// Purpose.
    pub purpose: Purpose,
    /// The statements.
    pub text: String,
    /// The run; 0 if it is not stored.
    pub run_id: i64,
    /// OID of the table in which it is stored; 0 if the caller keeps the table from being dropped.
    pub table: u32,
    /// The target of the run, as its row names it.
    pub described: Option<String>,
}

impl Statements {
    /// Starts the process. The task's outcome is a list of errors.
    pub fn launch(&self) -> Result<Task> {
        let task = Task::launch(TaskKind::Statements, SegmentLayout::default(), self, 1)?;
        task.segment().header().run_id.store(self.run_id, Relaxed);
        Ok(task)
    }
}

/// Executes the setup of a run, if it has one. In its coordinator.
pub fn set_up(segment: &Segment, spec: &RunSpec, run_id: i64) -> Result<()> {
    let Some(text) = &spec.run.setup else {
        return Ok(());
    };
    show(segment.header(), "setup");
    around(segment, spec, run_id, Purpose::Setup, text).map(drop)
}

/// Executes the teardown of a run, if it has one, even if the run is asked to end meanwhile; returns
/// the errors. In its coordinator, which must not be in a transaction.
pub fn tear_down(segment: &Segment, spec: &RunSpec, run_id: i64) -> Vec<String> {
    let Some(text) = &spec.run.teardown else {
        return Vec::new();
    };
    leave_cancels();
    show(segment.header(), "teardown");
    catch(|| around(segment, spec, run_id, Purpose::Teardown, text)).unwrap_or_else(|error| {
        abort();
        vec![format!("teardown failed: {}", error.report().one_line())]
    })
}

fn around(
    segment: &Segment,
    spec: &RunSpec,
    run_id: i64,
    purpose: Purpose,
    text: &str,
) -> Result<Vec<String>> {
    let statements = Statements {
        identity: spec.identity,
        settings: spec.settings.clone(),
        target: spec.target.clone(),
        purpose,
        text: text.to_owned(),
        run_id,
        table: store::table(),
        described: None,
    };
    let header = segment.header();
    let task = statements.launch()?;
    let begun_ns = clock::now_ns();
    let ended = task.watch(Phase::Finished, |executing| {
        let pid = executing.header().statements_pid.load(Relaxed);
        header.statements_pid.store(pid, Relaxed);
        if pid == 0 && was_terminated() && clock::now_ns() - begun_ns > CONNECT_NS {
            return Err(Error::Limit(
                "its process could not connect to the database, which may be being dropped".into(),
            ));
        }
        if purpose == Purpose::Setup && header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "before it started".into(),
            });
        }
        Ok(())
    });
    header.statements_pid.store(0, Relaxed);
    ended?;
    task.outcome()
}

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_statements_main(argument: pg_sys::Datum) {
    attach::perform(argument, "the process of its statements", |segment| {
        let statements: Statements = segment.spec()?;
        connect(statements.identity);
        let pid = std::process::id() as i32;
        segment.header().statements_pid.store(pid, Relaxed);
        store::set_table(statements.table);
        transaction(|| settings::apply(&statements.settings))?;
        execute(segment, &statements)
    });
}

/// Executes all statements; returns the errors of a teardown.
fn execute(segment: &'static Segment, of: &Statements) -> Result<Vec<String>> {
    let header = segment.header();
    let option = of.purpose.option();
    // Again before each statement: one such as DISCARD ALL releases the lock.
    let require_lock =
        || match of.purpose == Purpose::LateTeardown && !store::lock_teardown(of.run_id)? {
            true => Err(Error::TeardownInProgress { run_id: of.run_id }),
            false => Ok(()),
        };
    require_lock()?;
    let mut database = Database::open(of.target.as_ref())?;
    if let Database::There(remote) = &database {
        let pid = remote.connection().backend_pid();
        header.statements_pid.store(pid, Relaxed);
    }
    if of.described.is_some() && of.described != database.description() {
        return Err(Error::OtherTarget {
            wanted: of.described.clone().unwrap_or_default(),
            is: database.description().unwrap_or_default(),
        });
    }
    let failures = Rc::new(RefCell::new(Vec::new()));
    let current = Rc::new(RefCell::new(None));
    at_exit({
        let (failures, current) = (Rc::clone(&failures), Rc::clone(&current));
        let purpose = of.purpose;
        move || finish_after_fatal(segment, purpose, current.take(), failures.take())
    });
    for statement in statements::split(option, &of.text)? {
        if header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "on request".into(),
            });
        }
        require_lock()?;
        current.replace(Some(statement.clone()));
        let executed = catch(|| database.execute_limited(&statement)).and_then(|()| match database
            .is_in_transaction()
        {
            false => Ok(()),
            true => Err(Error::Limit(
                "the statement leaves a transaction open".into(),
            )),
        });
        current.take();
        let Err(error) = executed else { continue };
        if error.is_cancel() && header.stop() != Stop::No {
            return Err(error);
        }
        // Such as that of a statement_timeout which the setup has set: the run was not canceled.
        let error = match error.is_cancel() {
            true => Error::server(Sqlstate::ERRCODE_OPERATOR_INTERVENTION, error.to_string()),
            false => error,
        };
        let error = statements::of_statement(option, &statement, error);
        match of.purpose {
            Purpose::Setup => return Err(error),
            Purpose::Teardown | Purpose::LateTeardown => {
                failures.borrow_mut().push(error.report().one_line());
            }
        }
        // As when a FATAL error ends this process.
        if database.is_lost() {
            break;
        }
    }
    let failures = failures.take();
    if of.purpose != Purpose::Setup && of.run_id != 0 && failures.is_empty() {
        transaction(|| {
            // A timeout set by a statement must not end this process.
            settings::apply(&vec![("transaction_timeout".into(), "0".into())])?;
            store::teardown_done(of.run_id)
        })?;
    }
    Ok(failures)
}

/// Gives the task its outcome if a FATAL error, such as that of `transaction_timeout`, ends this process in a
/// statement. In an exit callback.
fn finish_after_fatal(
    segment: &Segment,
    purpose: Purpose,
    statement: Option<String>,
    mut failures: Vec<String>,
) {
    let (Some(statement), Some(report)) = (statement, fatal::failure()) else {
        return;
    };
    let error = statements::of_statement(purpose.option(), &statement, report.into());
    segment.finish(match purpose {
        Purpose::Setup => Err(error.report()),
        Purpose::Teardown | Purpose::LateTeardown => {
            failures.push(error.report().one_line());
            Ok(failures)
        }
    });
}
