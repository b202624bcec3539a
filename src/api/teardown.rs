//! `bench.finish_teardown`: the teardown of a run that is still due.

use super::live::is_in_progress;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::identity::Identity;
use crate::backend::settings;
use crate::check::argument;
use crate::database::target;
use crate::error::{Error, Result};
use crate::results::load::{self, Teardown};
use crate::results::store;
use crate::server;
use crate::shared::Phase;
use crate::worker::coordinator::statements::{Purpose, Statements};
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn finish_teardown(call: Call<'_>) -> bool {
    let horizon = call.horizon();
    (|| {
        let (run_id, target, give_up) = call.read(|arguments| {
            let run_id = argument("run_id", arguments.take("run_id")?)?;
            let target = arguments.take::<Option<String>>("target")?;
            Ok((run_id, target, arguments.take_or("give_up", false)?))
        })?;
        match give_up {
            true => forget(run_id),
            false => finish(run_id, target.as_deref(), &horizon),
        }
    })()
    .or_raise_in(&call)
}

/// Gives up the due teardown of a run of the caller, without executing it; returns whether there
/// was one.
fn forget(run_id: i64) -> Result<bool> {
    let left = left_by(run_id)?;
    if left.is_some() {
        store::give_up_teardown(run_id)?;
    }
    Ok(left.is_some())
}

/// The due teardown of a run of the caller, with its text, if there is one.
fn left_by(run_id: i64) -> Result<Option<(String, Teardown)>> {
    server::require_writable("finish a teardown")?;
    let Some(mut left) = load::teardown(run_id)? else {
        return Err(Error::UnknownRun { run_id });
    };
    let Some(text) = left.text.take() else {
        return Ok(None);
    };
    if !left.is_own {
        return Err(Error::Denied {
            what: format!("the teardown of run {run_id}"),
            hint: "Only the role that ran it may execute or end it.".into(),
        });
    }
    if is_in_progress(run_id, left.segment) {
        return Err(Error::RunInProgress { run_id });
    }
    Ok(Some((text, left)))
}

/// Executes the due teardown of a run of the caller, on the target if it had one; returns
/// whether there was one.
///
/// # Errors
/// If a statement of it fails; it stays with the run then.
pub(super) fn finish(run_id: i64, target: Option<&str>, horizon: &Horizon) -> Result<bool> {
    let Some((text, left)) = left_by(run_id)? else {
        return Ok(false);
    };
    let target = match (&left.target, target) {
        (None, None) => None,
        (Some(_), Some(target)) => Some(target::resolve(target)?),
        (Some(of_run), None) => {
            return Err(Error::OptionConflict {
                message: format!("run {run_id} had a target, which its teardown needs"),
                hint: format!("Name it again, as the second argument: it was {of_run}."),
            });
        }
        (None, Some(_)) => {
            return Err(Error::OptionConflict {
                message: format!("run {run_id} had no target"),
                hint: "Leave the second argument out.".into(),
            });
        }
    };
    let statements = Statements {
        identity: Identity::current(),
        settings: settings::of_session()?,
        target,
        purpose: Purpose::LateTeardown,
        text,
        run_id,
        table: 0,
        described: left.target,
    };
    let task = statements.launch()?;
    task.wait(Phase::Finished, horizon, |_| Ok(()))?;
    let failures: Vec<String> = task.outcome()?;
    match failures.is_empty() {
        true => Ok(true),
        false => Err(Error::TeardownFailed { run_id, failures }),
    }
}
