//! Alerts of jobs, in `bench.alerts`: raised at the end of a run of a job, and acknowledged; and the baselines that
//! may follow. Queries find what there is with the rights of the job's owner; rows are written with those of the
//! tables' owner.

use super::jobs::{Job, Made, Row, State};
use crate::backend::statement;
use crate::backend::transaction::transaction;
use crate::check::invalid;
use crate::error::{Error, Report, Result, message};
use crate::query;
use crate::security::{as_owner, is_superuser, with_pinned_settings};
use crate::server;
use crate::state::transaction::{InTransaction, rolled_back, with_snapshot};
use crate::text::storable;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// States of alerts.
pub const STATES: [&str; 4] = ["open", "acknowledged", "expected", "fixed"];

/// Longest time of a statement that answers an alert, in milliseconds.
const ANSWER_MS: i32 = 30_000;
/// The error of such a statement until it has ended.
const TERMINATED: &str = "the worker of the job was terminated before the statement had ended";
/// Statements that make the session of a worker new, as far as statements of alerts can see; each alone. Locks stay.
const NEW_SESSION: [&str; 4] = [
    "SET SESSION AUTHORIZATION DEFAULT",
    "RESET ROLE",
    "RESET ALL",
    "SET application_name = 'pg_selfbench'",
];

/// A new alert.
#[derive(Debug)]
pub struct Alert {
    alert_id: i64,
    message: String,
}

/// Stores what a run of a job that is about to end shows, in the current transaction, which notifies those who listen.
pub fn raise(job: &Job, row: Row, owner: u32, made: &Made) -> Result<Vec<Alert>> {
    let (run_ids, set_ids) = match made.state {
        State::Finished => (made.run_ids.clone(), made.set_ids.clone()),
        _ => Default::default(),
    };
    let failure = (made.state == State::Failed).then(|| made.message.clone().unwrap_or_default());
    let arguments = [
        row.job_run_id.into(),
        row.table.into(),
        run_ids.into(),
        failure.as_deref().map(storable).as_deref().into(),
        job.figures.clone().into(),
        job.least_change.into(),
        set_ids.into(),
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
                   ON CONFLICT DO NOTHING
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
    if !statement::can_have_parameters(sql)? {
        let valid = "One statement: SELECT, INSERT, UPDATE, DELETE, MERGE or CALL.";
        return Err(invalid("on_alert", format!("\"{sql}\""), valid));
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
        message::warning(text.replace(['\n', '\r'], " "));
    }

    /// Executes a statement of the job's owner for it, as in a new session and in a transaction of its own, and stores
    /// its error.
    fn answer(&self, sql: &str) -> Result<()> {
        let renewed = NEW_SESSION
            .iter()
            .try_for_each(|sql| statement::execute_alone(sql));
        let answered = renewed.and_then(|()| {
            statement::limited_to(ANSWER_MS, || {
                transaction(|| Ok(Spi::run_with_args(sql, &[self.alert_id.into()])?))
            })
        });
        let error = answered.err().map(|error| {
            let mut report = error.report();
            if report.sqlstate == "2D000" {
                report.detail = Some("A procedure that answers an alert cannot commit.".into());
            }
            report.one_line()
        });
        transaction(|| self.store_error(error.as_deref()))
    }

    /// Stores why it was not answered, in the current transaction.
    pub fn store_error(&self, error: Option<&str>) -> Result<()> {
        let sql = "UPDATE bench.alerts SET on_alert_error = $2 WHERE alert_id = $1";
        let arguments = [self.alert_id.into(), error.map(storable).as_deref().into()];
        as_owner(|| Ok(Spi::run_with_args(sql, &arguments)?))
    }
}

/// Executes a statement of the job's owner for each of these alerts. Until it has ended, they have an error that says so.
pub fn answer(alerts: &[Alert], sql: &str) -> Result<()> {
    transaction(|| {
        alerts
            .iter()
            .try_for_each(|alert| alert.store_error(Some(TERMINATED)))
    })?;
    let answered: Vec<Result<()>> = alerts.iter().map(|alert| alert.answer(sql)).collect();
    answered.into_iter().collect()
}

/// Gives an alert of the current role, or any one for a superuser, another state. One that is expected makes the new
/// level the baseline, and no longer if it gets another state.
///
/// # Errors
/// If it is expected, and no change, or the first run of the new level is gone.
pub fn acknowledge(alert_id: i64, state: &str, comment: Option<&str>) -> Result<()> {
    let obstacle = "SELECT CASE WHEN $4 <> 'expected' THEN NULL
                                WHEN a.runs_after = '{}' THEN format('Its kind is \"%s\"; only a change makes a new level.', a.kind)
                                WHEN NOT EXISTS (SELECT FROM bench.runs r WHERE r.run_id = a.runs_after[1] AND ($2 OR r.owner = $3))
                                THEN format('Run %s, the first one of the new level, does not exist.', a.runs_after[1]) END
                      FROM bench.alerts a
                     WHERE a.alert_id = $1 AND ($2 OR a.owner = $3) FOR UPDATE";
    let change = "WITH alert AS (
                      SELECT a.alert_id, a.state, a.runs_after[1] AS run_id FROM bench.alerts a WHERE a.alert_id = $1),
                  baseline AS (
                      UPDATE bench.runs r SET is_baseline = ($4 = 'expected') FROM alert a
                       WHERE r.run_id = a.run_id AND ($2 OR r.owner = $3) AND 'expected' IN ($4, a.state))
                  UPDATE bench.alerts b SET state = $4, comment = coalesce($5, b.comment), state_at = now() FROM alert a
                   WHERE b.alert_id = a.alert_id";
    let more = vec![state.into(), comment.map(storable).as_deref().into()];
    let unknown = Error::UnknownAlert { alert_id };
    let message = format!("alert {alert_id} cannot be expected");
    change_own(obstacle, change, alert_id, more, unknown, message)
}

/// Says of a run of the current role, or of any one for a superuser, whether levels begin with it.
///
/// # Errors
/// If they are to begin with a run that is in no series.
pub fn set_baseline(run_id: i64, is_baseline: bool) -> Result<()> {
    let obstacle = "SELECT CASE WHEN NOT $4 THEN NULL
                                WHEN r.state <> 'finished' THEN format('Its state is \"%s\".', r.state)
                                WHEN r.aborted_clients > 0 THEN 'Clients of it were aborted.'
                                WHEN r.label IS NULL THEN 'It has no label.'
                                WHEN r.series IS NULL THEN 'It is in no series.'
                                WHEN r.round = 0 AND s.kind IN ('compare', 'sweep') THEN 'It warms up a set.'
                                WHEN s.state <> 'finished' THEN format('The state of its set is \"%s\".', s.state) END
                      FROM bench.runs r LEFT JOIN bench.sets s USING (set_id)
                     WHERE r.run_id = $1 AND ($2 OR r.owner = $3) FOR UPDATE OF r";
    let change = "UPDATE bench.runs SET is_baseline = $4 WHERE run_id = $1";
    let more = vec![is_baseline.into()];
    let unknown = Error::UnknownRun { run_id };
    let message = format!("run {run_id} cannot be a baseline");
    change_own(obstacle, change, run_id, more, unknown, message)
}

/// Executes a statement that changes the row with that number, its first parameter, if a query finds that the current
/// role may, which is a superuser, or the owner, the next two; and unless the query finds an obstacle, a sentence.
///
/// # Errors
/// `unknown` if there is no such row; with `message` and the obstacle as detail if there is one.
fn change_own(
    obstacle: &str,
    change: &str,
    number: i64,
    more: Vec<DatumWithOid<'_>>,
    unknown: Error,
    message: String,
) -> Result<()> {
    let mut arguments = vec![number.into(), is_superuser().into(), server::role().into()];
    arguments.extend(more);
    let looked = as_owner(|| {
        Spi::connect_mut(|client| {
            let rows = client.update(obstacle, Some(1), &arguments)?;
            let found = rows.map(|row| Ok(row.get::<String>(1)?));
            found.collect::<Result<Vec<Option<String>>>>()
        })
    });
    if let Some(obstacle) = looked?.pop().ok_or(unknown)? {
        let state = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
        let report = Report {
            detail: Some(obstacle),
            ..Report::new(state, message)
        };
        return Err(report.into());
    }
    as_owner(|| Ok(Spi::run_with_args(change, &arguments)?))
}
