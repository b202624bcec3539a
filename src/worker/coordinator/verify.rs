//! The option `verify`: whether the conditions of a run's workload hold after it. The coordinator
//! evaluates them as the run's role, where the clients' statements were executed.

use crate::backend::interrupts::asked_to_end;
use crate::backend::settings;
use crate::backend::transaction::{abort, transaction};
use crate::database::Database;
use crate::error::{Error, Result, catch};
use crate::run::{RunSpec, checks};
use crate::shared::Segment;
use crate::worker::activity::show;
use selfbench_model::{Run, RunCheck, RunState};

/// Evaluates the conditions after a run whose clients have ended. What fails is a row that says
/// why. Signals must cancel statements meanwhile.
pub fn verify(segment: &Segment, spec: &RunSpec, run: &Run) -> Vec<RunCheck> {
    let explained = |reason: &str| -> Vec<RunCheck> {
        let checks = spec.checks.iter();
        checks
            .map(|check| checks::not_judged(check, reason))
            .collect()
    };
    if run.state == RunState::Canceled {
        return numbered(run, explained("the run was canceled"));
    }
    show(segment.header(), "verifying");
    let found = catch(|| {
        // A long check must not end this process.
        let unlimited = vec![("transaction_timeout".into(), "0".into())];
        transaction(|| settings::apply(&unlimited))?;
        let mut database = Database::open(spec.target.as_ref())?;
        if let Database::There(remote) = &mut database {
            remote.set(spec.look_up_settings())?;
        }
        Ok(checks::evaluate_or_explain(&spec.checks, &mut |sql| {
            first_row(&mut database, sql)
        }))
    });
    let found = found.unwrap_or_else(|error| {
        abort();
        explained(&error.report().one_line())
    });
    numbered(run, found)
}

fn first_row(database: &mut Database, sql: &str) -> Result<Vec<Option<String>>> {
    if asked_to_end() {
        return Err(Error::Canceled {
            by: "while its conditions were checked".into(),
        });
    }
    let row = catch(|| database.first_row_limited(sql));
    if row.is_err() {
        abort();
    }
    row
}

fn numbered(run: &Run, mut found: Vec<RunCheck>) -> Vec<RunCheck> {
    for (number, check) in found.iter_mut().enumerate() {
        (check.run_id, check.check_no) = (run.run_id, number as i32);
    }
    found
}
