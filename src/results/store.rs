//! Writing the result tables.
//!
//! This happens in the coordinator, in transactions of its own and with the rights of the tables'
//! owner.

use super::insert::{insert, update as update_row};
use super::load;
use crate::backend::interrupts::asked_to_end;
use crate::backend::settings::ClientSetting;
use crate::backend::transaction::transaction;
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, with_lock_timeout, without_triggers};
use crate::server;
use crate::state::catalog::own_table;
use crate::state::lock::{Object, Until};
use crate::state::transaction::InTransaction;
use crate::text::storable;
use pgrx::prelude::*;
use selfbench_model::{Observed, PgioSession, Run, RunCheck, RunClient, RunInterval, RunRecord};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// OID of the table in which the run of this process is stored; 0 in other processes.
static TABLE: AtomicU32 = AtomicU32::new(0);

/// The OID of the table in which the run of this process is stored; 0 if it is not stored.
pub fn table() -> u32 {
    TABLE.load(Relaxed)
}

/// Makes it the table in which the run of this process is stored.
pub fn set_table(table: u32) {
    TABLE.store(table, Relaxed);
}

fn table_of_runs() -> Result<u32> {
    Ok(own_table(InTransaction::current()?, c"runs")?.to_u32())
}

/// Runs `body`, which stores something of the run of this process, with the rights of the tables' owner.
///
/// # Errors
/// If the extension was dropped and created again: a run in the new tables may have the same number.
pub(super) fn as_storer<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    as_owner(|| {
        if table() != 0 {
            // The table stays the same until the end of the transaction.
            Spi::run("LOCK TABLE bench.runs IN ROW SHARE MODE")?;
            if table() != table_of_runs()? {
                return Err(Error::ExtensionDropped);
            }
        }
        body()
    })
}

/// Fails if the tables in which the run of this process is stored are gone.
pub fn require_tables() -> Result<()> {
    transaction(|| match table() {
        0 => Ok(()),
        table if table == table_of_runs()? => Ok(()),
        _ => Err(Error::ExtensionDropped),
    })
}

/// The next run's number; the run will be stored in the present tables.
pub fn next_run_id() -> Result<i64> {
    transaction(|| {
        as_owner(|| {
            let run_id = query::first_value::<i64>("SELECT nextval('bench.run_id_seq')", &[])?
                .ok_or_else(|| Error::Limit("no run number".into()))?;
            set_table(table_of_runs()?);
            Ok(run_id)
        })
    })
}

/// Stores the row of a run that begins.
pub fn begin(run: &Run) -> Result<()> {
    transaction(|| {
        as_storer(|| {
            // Runs whose coordinator is gone will never be finished by it. One that somebody has locked is
            // left for the next run: nobody's transaction holds up those of others.
            Spi::run(
                "UPDATE bench.runs SET state = 'lost'
                  WHERE run_id IN (SELECT run_id FROM bench.runs
                                    WHERE state IN ('starting', 'running')
                                      AND NOT bench_internal.is_live(run_id, segment)
                                      FOR NO KEY UPDATE SKIP LOCKED)",
            )?;
            insert(std::slice::from_ref(run))
        })
    })
}

/// Stores the settings under which a run begins: those of the target if it has one, as
/// [`settings_query`] shows them, else this session's; those of its clients instead where they differ.
pub fn settings(run_id: i64, of_target: Option<&str>, of_clients: &[ClientSetting]) -> Result<()> {
    transaction(|| {
        let settings = match of_target {
            Some(settings) => Some(settings.to_owned()),
            // Which settings may be seen is the caller's right, not the owner's.
            None => query::first_row("SELECT bench_internal.settings_of_run()::pg_catalog.text")?
                .pop()
                .flatten()
                .map(|settings| storable(&settings).into_owned()),
        };
        // The function has a search_path of its own.
        let path = match of_target {
            Some(_) => Vec::new(),
            None => query::first_row(
                "SELECT s.setting, s.source FROM pg_catalog.pg_settings s
                  WHERE s.name OPERATOR(pg_catalog.=) 'search_path'
                    AND s.source OPERATOR(pg_catalog.<>) 'default'",
            )?,
        };
        as_storer(|| {
            Spi::run_with_args(
                "INSERT INTO bench.run_settings (run_id, name, setting, source)
                 SELECT $1, s.name, s.setting, s.source
                   FROM jsonb_populate_recordset(NULL::bench.run_settings, $2::jsonb) s",
                &[run_id.into(), settings.into()],
            )?;
            if let [Some(path), Some(source)] = &path[..] {
                Spi::run_with_args(
                    "INSERT INTO bench.run_settings (run_id, name, setting, source)
                     VALUES ($1, 'search_path', $2, $3)",
                    &[
                        run_id.into(),
                        storable(path).as_ref().into(),
                        source.as_str().into(),
                    ],
                )?;
            }
            for setting in of_clients {
                Spi::run_with_args(
                    "INSERT INTO bench.run_settings (run_id, name, setting, source)
                     VALUES ($1, $2, $3, 'run')
                     ON CONFLICT (run_id, name)
                     DO UPDATE SET setting = excluded.setting, source = excluded.source",
                    &[
                        run_id.into(),
                        setting.name.as_str().into(),
                        setting.shown.as_str().into(),
                    ],
                )?;
            }
            Ok(())
        })
    })
}

/// The query of `bench_internal.settings_of_run`, to be sent to a target. It needs `search_path` to
/// be that of the function.
pub fn settings_query() -> Result<Option<String>> {
    transaction(|| {
        query::first_value::<String>(
            "SELECT p.prosrc FROM pg_catalog.pg_proc p
              WHERE p.oid OPERATOR(pg_catalog.=)
                    'bench_internal.settings_of_run()'::pg_catalog.regprocedure",
            &[],
        )
    })
}

/// Brings the stored row of a run up to date. As all that stores something of a run, fails if its
/// row has been deleted.
pub fn update(run: &Run) -> Result<()> {
    patiently(asked_to_end, || as_storer(|| update_row(run)))
}

/// Stores the end of a run that has ended before it could begin.
pub fn end_early(run: &Run) -> Result<()> {
    patiently(at_shutdown, || as_storer(|| update_row(run)))
}

/// Seconds for which storing the end of a run is tried while the server shuts down, if another
/// session, or a prepared transaction, has locked a table.
const AT_SHUTDOWN_S: u32 = 5;

/// Whether the end of a run is no longer to be stored, if asked once a second.
pub(super) fn at_shutdown() -> bool {
    static WAITED_S: AtomicU32 = AtomicU32::new(0);
    let waits = u32::from(server::shuts_down());
    WAITED_S.fetch_add(waits, Relaxed) + waits >= AT_SHUTDOWN_S
}

/// Runs `body` in a transaction, again while it waits for a lock for too long and `gives_up` does not
/// tell it not to, which it is asked once a second. A `lock_timeout` of the session is the limit.
pub(super) fn patiently<T>(
    mut gives_up: impl FnMut() -> bool,
    mut body: impl FnMut() -> Result<T>,
) -> Result<T> {
    loop {
        let (done, is_limited) = match server::limits_lock_waits() {
            true => (transaction(&mut body), true),
            false => (transaction(|| with_lock_timeout(c"1s", &mut body)), false),
        };
        match done {
            Err(error) if error.is_lock_timeout() && !is_limited && !gives_up() => {}
            done => return done,
        }
    }
}

/// Takes the lock of those who execute the teardown of a run, until this process exits; returns
/// whether it was free, and the teardown is still due: another process may have executed it since that was read.
pub fn lock_teardown(run_id: i64) -> Result<bool> {
    let lock = || Object::Teardown(run_id).lock(InTransaction::current()?, Until::Exit, false);
    let sql = "SELECT teardown_due FROM bench.runs WHERE run_id = $1";
    let is_due = || as_storer(|| query::first_value::<bool>(sql, &[run_id.into()]));
    // In a transaction of its own, which sees what the process before has committed.
    Ok(transaction(lock)? && transaction(is_due)? == Some(true))
}

/// Ends the teardown of a run, without executing it, in the current transaction.
///
/// # Errors
/// If another process executes it.
pub fn give_up_teardown(run_id: i64) -> Result<()> {
    let transaction = InTransaction::current()?;
    match Object::Teardown(run_id).lock(transaction, Until::TransactionEnd, false)? {
        true => teardown_done(run_id),
        false => Err(Error::TeardownInProgress { run_id }),
    }
}

/// Notes in the current transaction that the teardown of a run is not due any more.
pub fn teardown_done(run_id: i64) -> Result<()> {
    as_storer(|| {
        Ok(Spi::run_with_args(
            "UPDATE bench.runs SET teardown_due = false WHERE run_id = $1",
            &[run_id.into()],
        )?)
    })
}

/// Adds errors to those of a stored run.
pub fn add_errors(run_id: i64, errors: &[String]) -> Result<()> {
    let errors: Vec<_> = errors.iter().map(|e| storable(e).into_owned()).collect();
    transaction(|| {
        as_storer(|| {
            Ok(Spi::run_with_args(
                "UPDATE bench.runs SET errors = errors || $2 WHERE run_id = $1",
                &[run_id.into(), errors.into()],
            )?)
        })
    })
}

/// Keeps the row of a run from being deleted until the end of the transaction.
pub(super) fn hold(run_id: i64) -> Result<()> {
    let found = Spi::connect_mut(|client| {
        client
            .update(
                "SELECT FROM bench.runs WHERE run_id = $1 FOR KEY SHARE",
                None,
                &[run_id.into()],
            )
            .map(|rows| rows.len())
    })?;
    match found {
        0 => Err(Error::RunDeleted { run_id }),
        _ => Ok(()),
    }
}

/// Stores intervals with what was observed meanwhile, without waiting for the disk: the end of the
/// run will.
pub fn intervals(rows: &[RunInterval], observed: &Observed) -> Result<()> {
    patiently(asked_to_end, || {
        Spi::run("SET LOCAL synchronous_commit = off")?;
        add_intervals(rows, observed)
    })
}

/// Stores intervals in the current transaction.
pub fn add_intervals(rows: &[RunInterval], observed: &Observed) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    as_storer(|| {
        hold(first.run_id)?;
        insert_rows(rows, observed)
    })
}

/// Rows of the end of a run beside its record.
pub struct RemainingRows {
    /// Intervals that are not stored yet.
    pub intervals: Vec<RunInterval>,
    /// Its clients.
    pub clients: Vec<RunClient>,
    /// Sessions of pgio's workload.
    pub sessions: Vec<PgioSession>,
}

/// Stores the end of a run, as soon as no other session has locked its tables. Returns the disturbances of
/// the run, which follow from all of its rows and are stored, too.
pub fn finish(
    record: &RunRecord,
    rows: &RemainingRows,
    observed: &Observed,
) -> Result<Vec<String>> {
    patiently(at_shutdown, || {
        as_storer(|| {
            update_row(&record.run)?;
            insert(&record.scripts)?;
            insert(&record.statements)?;
            insert(record.pgio.as_slice())?;
            insert(&rows.clients)?;
            insert(&rows.sessions)?;
            insert_rows(&rows.intervals, observed)?;
            let disturbances = load::disturbances(&record.run)?;
            if !disturbances.is_empty() {
                Spi::run_with_args(
                    "UPDATE bench.runs SET disturbances = $2 WHERE run_id = $1",
                    &[record.run.run_id.into(), disturbances.clone().into()],
                )?;
            }
            Ok(disturbances)
        })
    })
}

/// Stores the final state of a run whose figures are stored, with the conditions of its workload.
pub fn verified(run: &Run, checks: &[RunCheck]) -> Result<()> {
    patiently(at_shutdown, || {
        as_storer(|| {
            update_row(run)?;
            insert(checks)
        })
    })
}

/// Inserts intervals and all rows of what was observed, of a run whose row cannot be deleted meanwhile.
fn insert_rows(intervals: &[RunInterval], observed: &Observed) -> Result<()> {
    let Observed {
        server_intervals,
        environment,
        tables,
        captured_statements,
        times,
        stacks,
        profiles,
        waits,
        blockers,
        stalls,
    } = observed;
    // Looking their run up for each of them would take as long as storing them.
    without_triggers(|| {
        insert(intervals)?;
        insert(server_intervals)?;
        insert(environment)?;
        insert(tables)?;
        insert(captured_statements)?;
        insert(times.as_slice())?;
        insert(stacks)?;
        insert(profiles)?;
        insert(waits)?;
        insert(blockers)?;
        insert(stalls)
    })
}
