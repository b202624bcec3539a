//! The rows of jobs and of their runs, in `bench.jobs` and `bench.job_runs`, which are written with the rights of the
//! tables' owner.

use crate::backend::transaction::transaction;
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, with_pinned_settings};
use crate::state::lock::{Object, Until};
use crate::state::session;
use crate::state::transaction::InTransaction;
use crate::text::storable;
use pgrx::prelude::*;
use serde::{Deserialize, Serialize};

/// A job of the current role.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub job_id: i64,
    /// Its name.
    pub job_name: String,
    /// Its options, a document.
    pub options: String,
    /// Runs each time.
    pub repeats: i32,
    /// Further runs or sets at most, while the night is suspect.
    pub confirm: i32,
    /// Least change that counts, as a fraction.
    pub least_change: f64,
    /// Figures whose changes are alerts, and in which a night may be suspect, unless they are the default ones.
    pub figures: Option<Vec<String>>,
    /// Statement that is executed for each new alert, with its number as a parameter.
    pub on_alert: Option<String>,
}

/// Stores a job of the current role, or replaces the one of that name. It has the number of earlier runs of that name:
/// one may be in progress, though its job was removed.
pub fn store(job: &Job, schedule: &str) -> Result<()> {
    let owner = session::role();
    as_owner(|| {
        Ok(Spi::run_with_args(
            "INSERT INTO bench.jobs (job_id, owner, job_name, schedule, options, repeats, confirm, least_change, figures,
                                     on_alert)
             VALUES (coalesce((SELECT r.job_id FROM bench.job_runs r WHERE r.owner = $1 AND r.job_name = $2
                                ORDER BY r.job_run_id DESC LIMIT 1), nextval('bench.job_id_seq')),
                     $1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9)
             ON CONFLICT (owner, job_name) DO UPDATE
                SET schedule = excluded.schedule, options = excluded.options, repeats = excluded.repeats,
                    confirm = excluded.confirm, least_change = excluded.least_change, figures = excluded.figures,
                    on_alert = excluded.on_alert, scheduled_at = now()",
            &[
                owner.into(),
                job.job_name.as_str().into(),
                schedule.into(),
                job.options.as_str().into(),
                job.repeats.into(),
                job.confirm.into(),
                job.least_change.into(),
                job.figures.clone().into(),
                job.on_alert.as_deref().into(),
            ],
        )?)
    })
}

/// Removes a job of the current role.
pub fn delete(job_name: &str) -> Result<()> {
    let owner = session::role();
    let deleted = as_owner(|| {
        Ok(Spi::connect_mut(|client| {
            let sql = "DELETE FROM bench.jobs WHERE owner = $1 AND job_name = $2 RETURNING job_id";
            let rows = client.update(sql, None, &[owner.into(), job_name.into()])?;
            Ok::<_, pgrx::spi::Error>(rows.len())
        })?)
    })?;
    match deleted {
        0 => Err(unknown(job_name)),
        _ => Ok(()),
    }
}

/// The job of the current role with that name.
pub fn find(job_name: &str) -> Result<Job> {
    let sql = "SELECT jsonb_build_object('job_id', job_id, 'job_name', job_name, 'options', options::text,
                                         'repeats', repeats, 'confirm', confirm, 'least_change', least_change,
                                         'figures', figures, 'on_alert', on_alert)::text
                 FROM bench.jobs
                WHERE owner = (SELECT quote_ident(current_user)::regrole) AND job_name = $1";
    let row = with_pinned_settings(|| query::first_value::<String>(sql, &[job_name.into()]))?;
    let row = row.ok_or_else(|| unknown(job_name))?;
    serde_json::from_str(&row).map_err(|_| Error::Limit("cannot read a stored job".into()))
}

fn unknown(job_name: &str) -> Error {
    Error::UnknownJob {
        job_name: job_name.to_owned(),
    }
}

/// The database of pg_cron, if the server has it. Only privileged roles see its setting.
pub fn cron_database() -> Result<Option<String>> {
    cron_setting("cron.database_name")
}

/// The time zone of pg_cron's schedules, if it has one, for any role.
pub fn cron_timezone() -> Result<Option<String>> {
    cron_setting("cron.timezone")
}

fn cron_setting(name: &str) -> Result<Option<String>> {
    let sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = $1";
    as_owner(|| query::first_value::<String>(sql, &[name.into()]))
}

/// The state of a run of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// In progress.
    Running,
    /// Ended without an error.
    #[default]
    Finished,
    /// Ended by a request to cancel.
    Canceled,
    /// Ended by an error.
    Failed,
    /// Not begun: the run before was in progress.
    Skipped,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Finished => "finished",
            State::Canceled => "canceled",
            State::Failed => "failed",
            State::Skipped => "skipped",
        }
    }
}

/// Outcome of a run of a job.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// State.
    pub state: State,
    /// Runs that it made, outside of sets.
    pub run_ids: Vec<i64>,
    /// Sets that it made.
    pub set_ids: Vec<i64>,
    /// Why it ended.
    pub message: Option<String>,
}

impl Made {
    /// Takes over an error that ended it.
    pub fn fail(&mut self, error: &Error) {
        self.state = match error.is_cancel() {
            true => State::Canceled,
            false => State::Failed,
        };
        self.message = Some(error.report().one_line());
    }
}

/// Row of a run of a job.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub job_run_id: i64,
    /// The OID of its table: another one if the extension was dropped and created again.
    pub(super) table: pg_sys::Oid,
}

/// Stores the beginning of a run of a job, in a transaction of its own; its row, and whether it may go on: it may
/// not while another process runs the job. Otherwise, this process has the lock of the job until it exits.
pub fn begin(job: &Job, owner: u32) -> Result<(Row, bool)> {
    let may = transaction(|| {
        Object::Job(job.job_id).lock(InTransaction::current()?, Until::Exit, false)
    })?;
    let row = transaction(|| {
        as_owner(|| {
            if !may {
                return skip(job, owner);
            }
            Spi::run_with_args(
                "UPDATE bench.job_runs SET state = 'lost' WHERE job_id = $1 AND state = 'running'",
                &[job.job_id.into()],
            )?;
            insert(job, owner, State::Running, None)
        })
    })?;
    Ok((row, may))
}

/// Releases the lock of a job before this process exits: its next run need not wait for that.
pub fn release(job: &Job) -> Result<()> {
    transaction(|| Object::Job(job.job_id).unlock(InTransaction::current()?))
}

/// Stores a run of a job that could not begin, in the current transaction; its row, and whether it failed: it is
/// skipped while another process runs the job.
pub fn fail(job: &Job, message: &str) -> Result<(Row, bool)> {
    let owner = session::role().to_u32();
    let failed = Object::Job(job.job_id).holders(InTransaction::current()?)? == 0;
    let row = as_owner(|| match failed {
        true => insert(job, owner, State::Failed, Some(message)),
        false => skip(job, owner),
    })?;
    Ok((row, failed))
}

/// Stores that a job is not run, because a run of it is in progress.
fn skip(job: &Job, owner: u32) -> Result<Row> {
    let last = query::first_value::<i64>(
        "SELECT max(job_run_id) FROM bench.job_runs WHERE job_id = $1 AND state = 'running'",
        &[job.job_id.into()],
    )?;
    let reason = match last {
        Some(last) => format!("run {last} of the job is in progress"),
        None => "a run of the job is in progress".into(),
    };
    insert(job, owner, State::Skipped, Some(&reason))
}

fn insert(job: &Job, owner: u32, state: State, message: Option<&str>) -> Result<Row> {
    let (job_run_id, table) = Spi::get_two_with_args::<i64, pg_sys::Oid>(
        "INSERT INTO bench.job_runs (job_run_id, job_id, owner, job_name, state, started_at, finished_at, message)
         VALUES (nextval('bench.job_run_id_seq'), $1, $2, $3, $4, clock_timestamp(),
                 CASE WHEN $4 <> 'running' THEN clock_timestamp() END, $5)
         RETURNING job_run_id, tableoid",
        &[
            job.job_id.into(),
            pg_sys::Oid::from(owner).into(),
            job.job_name.as_str().into(),
            state.name().into(),
            message.map(storable).as_deref().into(),
        ],
    )?;
    let row = job_run_id.zip(table);
    let row = row.map(|(job_run_id, table)| Row { job_run_id, table });
    row.ok_or_else(|| Error::Limit("no number for the run of a job".into()))
}

/// Stores what a run of a job has made so far, in a transaction of its own.
///
/// # Errors
/// If its row is gone, also with the extension.
pub fn update(row: Row, made: &Made) -> Result<()> {
    let sql = "UPDATE bench.job_runs
                  SET state = $2, run_ids = $3, set_ids = $4, message = $5,
                      finished_at = CASE WHEN $2 <> 'running' THEN clock_timestamp() END
                WHERE job_run_id = $1 AND tableoid = $6
            RETURNING job_run_id";
    let stored = transaction(|| {
        let arguments = [
            row.job_run_id.into(),
            made.state.name().into(),
            made.run_ids.clone().into(),
            made.set_ids.clone().into(),
            made.message.as_deref().map(storable).as_deref().into(),
            row.table.into(),
        ];
        as_owner(|| {
            Ok(Spi::connect_mut(|client| {
                client.update(sql, None, &arguments).map(|rows| rows.len())
            })?)
        })
    })?;
    match stored {
        0 => Err(Error::ExtensionDropped),
        _ => Ok(()),
    }
}

/// Whether a night of what a job has made is suspect.
pub fn is_suspect(job: &Job, made: &Made) -> Result<bool> {
    let is_suspect = transaction(|| {
        let arguments = [
            made.run_ids.clone().into(),
            made.set_ids.clone().into(),
            job.figures.clone().into(),
            job.least_change.into(),
        ];
        let sql = "SELECT bench_internal.is_suspect($1, $2, $3, $4)";
        with_pinned_settings(|| query::first_value::<bool>(sql, &arguments))
    })?;
    Ok(is_suspect == Some(true))
}
