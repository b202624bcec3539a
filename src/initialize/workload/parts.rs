//! The parts of the rows of a workload, each of which a process inserts in a transaction.

use super::insert::{Arguments, insert};
use super::lines::Lines;
use super::spec::{RowQuery, WorkloadSpec};
use super::tables::{Schema, parsed};
use crate::backend::identity::Identity;
use crate::backend::settings::{self, Settings};
use crate::backend::transaction::transaction;
use crate::database::Database;
use crate::database::remote::Remote;
use crate::error::{Error, Report, Result};
use crate::query::{self, quote_literal};
use crate::state::session::setting;
use pgrx::PgSqlErrorCode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of processes that make rows, on which rows could depend, or the time that they take: each part
/// can be made again, and the initialization is not complete before the server has written what comes
/// after them.
const PINNED: [(&str, &str); 7] = [
    ("search_path", "pg_catalog, pg_temp"),
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
    ("jit", "off"),
    ("synchronous_commit", "off"),
];

/// The rows of a workload, in parts that are numbered from 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parts {
    /// Role and database.
    pub identity: Identity,
    /// The caller's session settings.
    settings: Settings,
    /// Queries.
    queries: Vec<RowQuery>,
    scale: i64,
    seed: i64,
    values: BTreeMap<String, i64>,
    /// WAL compression of all processes.
    pub wal_compression: String,
}

impl Parts {
    /// All rows.
    pub fn of(spec: &WorkloadSpec, schema: &Schema) -> Parts {
        let named = |query: &RowQuery| RowQuery {
            target: schema.table(&query.table),
            ..query.clone()
        };
        Parts {
            identity: spec.identity,
            settings: spec.settings.clone(),
            queries: spec.queries.iter().map(named).collect(),
            scale: spec.scale,
            seed: spec.seed as i64,
            values: spec.values(),
            wal_compression: setting(c"wal_compression").unwrap_or_default(),
        }
    }

    /// Number of parts.
    pub fn count(&self) -> u64 {
        self.queries.iter().map(|query| query.parts).sum()
    }

    /// Number of rows, on average.
    pub fn rows(&self) -> u64 {
        let rows = self.queries.iter().map(|query| query.rows);
        rows.fold(0, u64::saturating_add)
    }

    /// Fails if a query gives more columns than its table has in `database`. With fewer, the other columns
    /// get their defaults; from here on, these are named where rows are copied.
    pub fn check_columns(&mut self, database: &mut Database) -> Result<()> {
        for at in 0..self.queries.len() {
            let RowQuery {
                table, sql, target, ..
            } = &self.queries[at];
            let given = transaction(|| query::columns(sql, &self.arguments(0).datums()))?;
            let found = database.first_row(&format!(
                "SELECT pg_catalog.json_agg(a.attname ORDER BY a.attnum)::pg_catalog.text
                   FROM pg_catalog.pg_attribute a
                  WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass({})
                    AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped",
                quote_literal(target)
            ))?;
            let mut found: Vec<String> = parsed(found.into_iter().next().flatten())?;
            if given.len() > found.len() {
                return Err(Report {
                    detail: Some(format!(
                        "Columns of the query: {}. Columns of the table: {}.",
                        given.join(", "),
                        found.join(", ")
                    )),
                    ..Report::new(
                        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
                        format!(
                            "the query of rows for table \"{table}\" has {} columns, the table {}",
                            given.len(),
                            found.len()
                        ),
                    )
                }
                .into());
            }
            found.truncate(given.len());
            self.queries[at].columns = found;
        }
        Ok(())
    }

    /// Prepares a new process for making rows.
    pub fn prepare(&self) -> Result<()> {
        transaction(|| {
            settings::apply(&self.settings)?;
            settings::apply(&pinned())
        })
    }

    /// Makes rows until no part is left, with those that `next` gives. `done` gets the number of rows
    /// again and again.
    pub fn work(
        &self,
        next: impl Fn() -> u64,
        done: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        while let Some((query, part)) = self.locate(next()) {
            let done = &mut limited(query, done);
            transaction(|| insert(query, self.arguments(part), done))?;
        }
        Ok(())
    }

    /// Makes all rows in this process and copies them into the tables of a target, each table's in one
    /// transaction. `done` gets the number of rows again and again.
    ///
    /// # Errors
    /// If a table is not the one that the load has created: the triggers of another one must not be executed.
    pub fn copy(
        &self,
        remote: &mut Remote,
        schema: &Schema,
        done: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        for query in &self.queries {
            let table = [query.table.as_str()];
            remote.execute("BEGIN")?;
            remote.execute(&schema.lock(&query.table))?;
            schema.require_created(table, &mut |sql| remote.first_row(sql))?;
            for part in 0..query.parts {
                let done = &mut limited(query, done);
                transaction(|| {
                    let lines = Lines::of(&query.sql, self.arguments(part as i64))?;
                    lines.copy(remote, query, done)
                })?;
            }
            remote.execute("COMMIT")?;
        }
        Ok(())
    }

    fn arguments(&self, part: i64) -> Arguments<'_> {
        Arguments {
            part,
            scale: self.scale,
            seed: self.seed,
            values: &self.values,
        }
    }

    /// The query of a part, and its number among those of the query.
    fn locate(&self, number: u64) -> Option<(&RowQuery, i64)> {
        let mut rest = number;
        for query in &self.queries {
            if rest < query.parts {
                return Some((query, rest as i64));
            }
            rest -= query.parts;
        }
        None
    }
}

/// `done`, which fails if a part has more rows than the query is said to give.
fn limited(
    query: &RowQuery,
    done: &mut dyn FnMut(u64) -> Result<()>,
) -> impl FnMut(u64) -> Result<()> {
    let most = query.at_most;
    let mut left = most;
    move |rows| {
        left = left.checked_sub(rows).ok_or_else(|| {
            let table = &query.table;
            Error::Limit(format!(
                "a part of the rows of table {table} has more than {most}"
            ))
        })?;
        done(rows)
    }
}

fn pinned() -> Settings {
    let texts = PINNED.map(|(name, value)| (name.to_owned(), value.to_owned()));
    texts.into()
}

/// Executes `body` with the settings of processes that make rows.
pub fn with_settings<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let kept: Settings = PINNED
        .iter()
        .filter_map(|(name, _)| {
            let c_name = std::ffi::CString::new(*name).ok()?;
            Some(((*name).to_owned(), setting(&c_name)?))
        })
        .collect();
    transaction(|| settings::apply(&pinned()))?;
    let value = body()?;
    transaction(|| settings::apply(&kept))?;
    Ok(value)
}
