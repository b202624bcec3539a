//! The parts of the rows of a workload, each of which a process inserts in a transaction.

use super::insert::{Arguments, insert};
use super::lines::Lines;
use super::spec::{References, RowQuery, WorkloadSpec};
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

/// A part of the rows.
pub struct Part<'p> {
    query: &'p RowQuery,
    /// Its number among those of the query.
    number: i64,
    /// Number of parts that have to be committed before it begins, all of which come before it.
    pub after: u64,
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

    /// Finds the foreign keys of tables of this server, and of their partitions. A key that refers to a table of which
    /// the table is a partition may refer to the table itself.
    pub fn find_references(&mut self) -> Result<()> {
        for query in &mut self.queries {
            let to_itself = transaction(|| {
                query::first_value::<bool>(
                    "SELECT pg_catalog.bool_or(f.confrelid OPERATOR(pg_catalog.=) ANY (t.relations)
                                OR f.confrelid OPERATOR(pg_catalog.=) ANY (
                                    SELECT p.relid::pg_catalog.oid
                                      FROM pg_catalog.pg_partition_ancestors(pg_catalog.to_regclass($1)) p))
                       FROM (SELECT ARRAY(SELECT pg_catalog.to_regclass($1)::pg_catalog.oid
                                          UNION ALL
                                          SELECT p.relid::pg_catalog.oid
                                            FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) p)
                            ) t (relations)
                       JOIN pg_catalog.pg_constraint f
                         ON f.conrelid OPERATOR(pg_catalog.=) ANY (t.relations)
                        AND f.contype OPERATOR(pg_catalog.=) 'f'",
                    &[query.target.as_str().into()],
                )
            })?;
            query.references = match to_itself {
                None => References::Nothing,
                Some(false) => References::Others,
                Some(true) => References::Itself,
            };
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

    /// Makes the rows of a part, in a transaction. `done` gets the number of rows again and again.
    pub fn insert(&self, part: &Part, done: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let done = &mut limited(part.query, done);
        transaction(|| insert(part.query, self.arguments(part.number), done))
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

    /// A part by its number; `None` if there are not that many.
    ///
    /// The check of a foreign key needs committed rows. So a part of a table that has one begins after the parts
    /// of all tables before it, and after the earlier parts of the table itself if the key refers to these. What
    /// comes later begins after the same parts. So none of it is among the first `after` parts to commit, and
    /// the number of commits tells that these parts are there.
    pub fn part(&self, number: u64) -> Option<Part<'_>> {
        let mut first = 0;
        let mut after = 0;
        for query in &self.queries {
            let end = first + query.parts;
            after = match query.references {
                References::Nothing => after,
                References::Others => first,
                References::Itself => number.min(end),
            };
            if number < end {
                return Some(Part {
                    query,
                    number: (number - first) as i64,
                    after,
                });
            }
            first = end;
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
