//! Alerts of jobs, in `bench.alerts`: raised at the end of a run of a job, and acknowledged; and the baselines that
//! may follow. Queries find what there is with the rights of the job's owner; rows are written with those of the
//! tables' owner.

use super::jobs::{Job, Made, Row, State};
use super::json::storable;
use crate::backend::statement;
use crate::backend::transaction::transaction;
use crate::check::invalid;
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, is_superuser, with_pinned_settings};
use crate::server;
use crate::state::transaction::{InTransaction, rolled_back, with_snapshot};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// States of alerts.
pub const STATES: [&str; 4] = ["open", "acknowledged", "expected", "fixed"];

/// Longest time of a statement that answers an alert, in milliseconds.
const ANSWER_MS: i32 = 30_000;

/// A new alert.
#[derive(Debug)]
pub struct Alert {
    alert_id: i64,
    message: String,
}

/// Stores what a run of a job that is about to end shows, in the current transaction, which notifies those who listen.
pub fn raise(job: &Job, row: Row, owner: u32, made: &Made) -> Result<Vec<Alert>> {
    let run_ids = match made.state {
        State::Finished => made.run_ids.clone(),
        _ => Vec::new(),
    };
    let failure = (made.state == State::Failed).then(|| made.message.clone().unwrap_or_default());
    let arguments = [
        row.job_run_id.into(),
        row.table.into(),
        run_ids.into(),
        failure.as_deref().map(storable).as_deref().into(),
        job.figures.clone().into(),
        job.least_change.into(),
        made.set_id.filter(|_| made.state == State::Finished).into(),
    ];
    let sql =
        "SELECT jsonb_agg(a)::text FROM bench_internal.found_alerts($1, $2, $3, $4, $5, $6, $7) a";
    let found = with_pinned_settings(|| query::first_value::<String>(sql, &arguments))?;
    let Some(found) = found else {
        return Ok(Vec::new());
    };
    let sql = "WITH raised AS (
                   INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message, cause, label, series,
                                             figure, ratio, changed_at, runs_before, runs_after)
                   SELECT nextval('bench.alert_id_seq'), $1, $2, $3, a.kind, a.message, a.cause, a.label, a.series,
                          a.figure, a.ratio, a.changed_at, coalesce(a.runs_before, '{}'), coalesce(a.runs_after, '{}')
                     FROM jsonb_to_recordset($4::jsonb)
                              a (kind text, message text, cause text, label text, series text, figure text, ratio float8,
                                 changed_at timestamptz, runs_before bigint[], runs_after bigint[])
                   RETURNING alert_id, message)
               SELECT alert_id, message, pg_notify('bench_alert', format('{\"alert_id\": %s}', alert_id))
                 FROM raised ORDER BY alert_id";
    let arguments = [
        pg_sys::Oid::from(owner).into(),
        job.job_name.as_str().into(),
        row.job_run_id.into(),
        found.as_str().into(),
    ];
    as_owner(|| {
        Spi::connect_mut(|client| {
            let alert = |row: SpiHeapTupleData| -> Result<Alert> {
                Ok(Alert {
                    alert_id: row.get::<i64>(1)?.unwrap_or_default(),
                    message: row.get::<String>(2)?.unwrap_or_default(),
                })
            };
            client.update(sql, None, &arguments)?.map(alert).collect()
        })
    })
}

/// Fails unless a text is a statement that can answer alerts, with their number as its only parameter.
pub fn check_answer(sql: &str) -> Result<()> {
    if statement::count(sql)? != 1 {
        return Err(invalid("on_alert", format!("\"{sql}\""), "One statement."));
    }
    let now = InTransaction::current()?;
    let types = [PgBuiltInOids::INT8OID.oid()];
    rolled_back(now, || {
        with_snapshot(now, || {
            Spi::connect(|client| Ok(client.prepare(sql, &types).map(drop)?))
        })
    })
}

impl Alert {
    /// Writes it into the server's log, as one line.
    pub fn warn(&self, job: &Job) {
        let text = format!(
            "job \"{}\": alert {}: {}",
            job.job_name, self.alert_id, self.message
        );
        pgrx::warning!("{}", text.replace(['\n', '\r'], " "));
    }

    /// Executes a statement of the job's owner for it, in a transaction of its own, and stores its error.
    pub fn answer(&self, sql: &str) -> Result<()> {
        let answered = statement::limited_to(ANSWER_MS, || {
            transaction(|| Ok(Spi::run_with_args(sql, &[self.alert_id.into()])?))
        });
        match answered {
            Ok(()) => Ok(()),
            Err(error) => transaction(|| self.store_error(&error.report().one_line())),
        }
    }

    /// Stores why it was not answered, in the current transaction.
    pub fn store_error(&self, error: &str) -> Result<()> {
        let sql = "UPDATE bench.alerts SET on_alert_error = $2 WHERE alert_id = $1";
        let arguments = [self.alert_id.into(), storable(error).as_ref().into()];
        as_owner(|| Ok(Spi::run_with_args(sql, &arguments)?))
    }
}

/// Gives an alert of the current role, or any one for a superuser, another state. One that is expected makes the new
/// level the baseline, and no longer if it gets another state.
pub fn acknowledge(alert_id: i64, state: &str, comment: Option<&str>) -> Result<()> {
    let sql = "WITH alert AS (
                   SELECT a.alert_id, a.state, a.runs_after[1] AS run_id FROM bench.alerts a
                    WHERE a.alert_id = $1 AND ($2 OR a.owner = $3) FOR UPDATE),
               baseline AS (
                   UPDATE bench.runs r SET is_baseline = ($4 = 'expected') FROM alert a
                    WHERE r.run_id = a.run_id AND ($2 OR r.owner = $3) AND 'expected' IN ($4, a.state))
               UPDATE bench.alerts b SET state = $4, comment = coalesce($5, b.comment), state_at = now() FROM alert a
                WHERE b.alert_id = a.alert_id
            RETURNING b.alert_id";
    let more = vec![state.into(), comment.map(storable).as_deref().into()];
    change_own(sql, alert_id, more, Error::UnknownAlert { alert_id })
}

/// Says of a run of the current role, or of any one for a superuser, whether levels begin with it.
pub fn set_baseline(run_id: i64, is_baseline: bool) -> Result<()> {
    let sql = "UPDATE bench.runs SET is_baseline = $4 WHERE run_id = $1 AND ($2 OR owner = $3) RETURNING run_id";
    let more = vec![is_baseline.into()];
    change_own(sql, run_id, more, Error::UnknownRun { run_id })
}

/// Executes a statement that changes the row with that number, its first parameter, if the current role may: it is a
/// superuser, or the owner, the next two.
fn change_own(sql: &str, number: i64, more: Vec<DatumWithOid<'_>>, unknown: Error) -> Result<()> {
    let mut arguments = vec![number.into(), is_superuser().into(), server::role().into()];
    arguments.extend(more);
    let changed = as_owner(|| {
        Ok(Spi::connect_mut(|client| {
            let rows = client.update(sql, None, &arguments)?;
            Ok::<_, pgrx::spi::Error>(rows.len())
        })?)
    })?;
    match changed {
        0 => Err(unknown),
        _ => Ok(()),
    }
}
