//! The rows of sets, in `bench.sets`: writing them, in a worker and with the rights of the tables'
//! owner; reading them with the rights of the caller; and the lock of the session that drives a set.

use super::json::{json, query_json};
use crate::backend::transaction::transaction;
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, with_pinned_settings};
use crate::state::lock::{Object, Until};
use crate::state::transaction::InTransaction;
use crate::text::storable;
use pgrx::prelude::*;
use selfbench_model::{DrawnSet, NewSet, SetEnd, SetKind, SetState};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A change of a set's row.
#[derive(Debug, Serialize, Deserialize)]
pub enum Change {
    /// No change: only a number for a set.
    Number,
    /// Its beginning.
    Begin {
        /// Its number.
        set_id: i64,
        /// The new set.
        set: NewSet,
    },
    /// Resuming a lost set.
    Resume {
        /// Its number.
        set_id: i64,
    },
    /// Its end.
    End {
        /// Its number.
        set_id: i64,
        /// Outcome.
        end: SetEnd,
    },
}

/// Makes a change, for a role; returns the number of the set.
pub fn write(change: &Change, role: u32) -> Result<i64> {
    transaction(|| {
        as_owner(|| match change {
            Change::Number => query::first_value::<i64>("SELECT nextval('bench.set_id_seq')", &[])?
                .ok_or_else(|| Error::Limit("no set number".into())),
            Change::Begin { set_id, set } => {
                // Sets whose session is gone go on only if they are resumed. As with runs, locked ones are left.
                Spi::run(
                    "UPDATE bench.sets SET state = 'lost'
                      WHERE set_id IN (SELECT set_id FROM bench.sets
                                        WHERE state = 'running'
                                          AND NOT bench_internal.is_locked('sets', set_id)
                                          FOR NO KEY UPDATE SKIP LOCKED)",
                )?;
                Spi::run_with_args(
                    "INSERT INTO bench.sets (set_id, kind, owner, database_name, label, options,
                                             seed, planned_runs, value_sets, state, started_at)
                     VALUES ($1, $2, $3, current_database(), $4, $5::jsonb, $6, $7,
                             nullif($8::jsonb, '[]'), 'running', clock_timestamp())",
                    &[
                        (*set_id).into(),
                        set.kind.name().into(),
                        pg_sys::Oid::from(role).into(),
                        set.label.as_deref().map(storable).as_deref().into(),
                        json(&set.options)?.into(),
                        set.seed.to_string().into(),
                        set.planned_runs.into(),
                        json(&set.value_sets)?.into(),
                    ],
                )?;
                Ok(*set_id)
            }
            Change::Resume { set_id } => change_row(
                *set_id,
                "UPDATE bench.sets
                    SET state = 'running', error = NULL, finished_at = NULL
                  WHERE set_id = $1
                 RETURNING set_id",
                &[(*set_id).into()],
            ),
            Change::End { set_id, end } => {
                let result = end.result.as_ref().map(json).transpose()?;
                // An end that is stored stays: a caller that is canceled before it has seen that stores
                // it once more. So does the result of a set that was resumed, until there is another.
                change_row(
                    *set_id,
                    "WITH ended AS (
                         UPDATE bench.sets
                            SET state = $2, error = $3, result = coalesce($4::jsonb, result),
                                finished_at = clock_timestamp()
                          WHERE set_id = $1 AND state = 'running')
                     SELECT set_id FROM bench.sets WHERE set_id = $1",
                    &[
                        (*set_id).into(),
                        end.state.name().into(),
                        end.error.as_deref().map(storable).as_deref().into(),
                        result.into(),
                    ],
                )
            }
        })
    })
}

/// Runs a statement that changes the row of a set and returns its number; fails if the row has been
/// deleted.
fn change_row(set_id: i64, sql: &str, arguments: &[pgrx::datum::DatumWithOid<'_>]) -> Result<i64> {
    let rows =
        Spi::connect_mut(|client| client.update(sql, None, arguments).map(|rows| rows.len()))?;
    match rows {
        0 => Err(Error::UnknownSet { set_id }),
        _ => Ok(set_id),
    }
}

/// Takes the lock of the session that drives a set, until the end of the calling transaction; false
/// if another session has it. Every driver has it, so that no two do.
pub fn lock(set_id: i64) -> Result<bool> {
    Object::Set(set_id).lock(InTransaction::current()?, Until::TransactionEnd, false)
}

/// A set as it is stored.
#[derive(Debug, Deserialize)]
pub struct StoredSet {
    /// Kind.
    pub kind: SetKind,
    /// The role that made it, if it still exists.
    pub owner: u32,
    /// Options it was called with.
    pub options: Value,
    /// Its seed.
    #[serde(deserialize_with = "number")]
    pub seed: u64,
    /// State; a lost set may still have `running`.
    pub state: String,
    /// Result, if its runs alone do not tell.
    pub result: Option<Value>,
    /// The value sets that its scripts draw from, as they were when it was made.
    pub value_sets: Option<Vec<DrawnSet>>,
}

impl StoredSet {
    /// Whether all of it has been done.
    pub fn is_finished(&self) -> bool {
        self.state == SetState::Finished.name()
    }

    /// One of the things that it was asked for.
    pub fn option(&self, name: &str) -> Result<&Value> {
        self.options.get(name).ok_or_else(StoredSet::unreadable)
    }

    /// One of the things that it has found.
    pub fn found(&self, name: &str) -> Option<&Value> {
        self.result.as_ref()?.get(name)
    }

    /// The error if it does not have what sets of its kind have.
    pub fn unreadable() -> Error {
        Error::Limit("cannot read the options of a stored set".into())
    }
}

/// An unsigned number, which is stored as a text.
fn number<'de, D: Deserializer<'de>>(text: D) -> std::result::Result<u64, D::Error> {
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Reads a set that the caller may see.
pub fn load(set_id: i64) -> Result<StoredSet> {
    let rows = query_json::<StoredSet>(
        "SELECT jsonb_build_object('kind', kind, 'owner', owner::oid::int8,
                                   'options', options, 'seed', seed, 'state', state,
                                   'result', result, 'value_sets', value_sets)::text
           FROM bench.sets WHERE set_id = $1",
        set_id,
    )?;
    let set = rows.into_iter().next();
    set.ok_or(Error::UnknownSet { set_id })
}

/// Whether there is a set that the caller may see.
pub fn is_visible(set_id: i64) -> Result<bool> {
    let sql = "SELECT true FROM bench.sets WHERE set_id = $1";
    let found = with_pinned_settings(|| query::first_value::<bool>(sql, &[set_id.into()]))?;
    Ok(found.is_some())
}

/// The last set of the current role, if it may see one.
pub fn last_of_caller() -> Result<Option<i64>> {
    let sql = "SELECT max(set_id) FROM bench.sets
                WHERE owner = (SELECT quote_ident(current_user)::regrole)";
    with_pinned_settings(|| query::first_value::<i64>(sql, &[]))
}

/// The arms of a set in the order of their first runs, and the runs of each that count.
pub fn runs_of_arms(set_id: i64) -> Result<Vec<(Option<String>, Vec<i64>)>> {
    query_json(
        "SELECT jsonb_build_array(arm, jsonb_agg(run_id ORDER BY run_id))::text
           FROM bench.runs
          WHERE set_id = $1 AND round > 0 AND state = 'finished' AND aborted_clients = 0 AND transactions > 0
          GROUP BY arm ORDER BY min(run_id)",
        set_id,
    )
}

/// A script that runs of a set have executed.
#[derive(Debug, Deserialize)]
pub struct Executed {
    /// The arm.
    pub arm: String,
    /// Position of the script among those of the run.
    pub script_no: i32,
    /// Digest of its text, as [`digest`] gives it.
    pub digest: String,
}

/// The scripts that the runs of a set have executed.
pub fn scripts(set_id: i64) -> Result<Vec<Executed>> {
    query_json(
        "SELECT DISTINCT jsonb_build_object('arm', r.arm, 'script_no', s.script_no,
                                            'digest', md5(s.body))::text
           FROM bench.run_scripts s JOIN bench.runs r USING (run_id)
          WHERE r.set_id = $1",
        set_id,
    )
}

/// A table to which the last run of a set on this server has written.
#[derive(Debug, Deserialize)]
pub struct Written {
    /// Its name with its schema, quoted for SQL.
    pub table: String,
    /// Whether it is one of pgbench's, by its name.
    pub is_pgbench: bool,
    /// Whether the role may vacuum it.
    pub may_vacuum: bool,
}

/// The tables to which the last run of a set on this server has written, as far as that was observed.
pub fn written(set_id: i64) -> Result<Vec<Written>> {
    query_json(
        "SELECT jsonb_build_object(
                    'table', format('%I.%I', n.nspname, c.relname),
                    'is_pgbench', c.relname ~ '^pgbench_(accounts|branches|tellers|history)$',
                    'may_vacuum', pg_has_role(d.datdba, 'USAGE') OR
                                  CASE WHEN current_setting('server_version_num')::int >= 170000
                                       THEN has_table_privilege(c.oid, 'MAINTAIN')
                                       ELSE pg_has_role(c.relowner, 'USAGE') END)::text
           FROM bench.run_tables t
           JOIN pg_class c ON c.oid = t.relation::oid
           JOIN pg_namespace n ON n.oid = c.relnamespace
           JOIN pg_database d ON d.datname = current_database()
          WHERE t.run_id = (SELECT max(run_id) FROM bench.runs WHERE set_id = $1 AND target IS NULL)
            AND c.relkind = 'r'
            AND greatest(t.rows_inserted, t.rows_updated, t.rows_deleted) > 0
          ORDER BY 1",
        set_id,
    )
}

/// Tells texts of scripts apart, as they are stored.
pub fn digest(body: &str) -> Result<String> {
    let stored = storable(body).into_owned();
    let digest = query::first_value::<String>("SELECT pg_catalog.md5($1)", &[stored.into()])?;
    Ok(digest.unwrap_or_default())
}
