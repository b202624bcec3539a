//! Counts of pg_stat_statements for the statements of a captured workload during a run of it, by which
//! `bench.validate_workload` tells whether the run is like what was captured.
//!
//! A statement has another identifier here than where it was captured if it finds a copy of its table or
//! has parameters in the place of constants. So this asks the server for the identifier of what clients
//! send: by its analysis of the text, on a target by what `pg_stat_activity` shows of a session that has
//! had it parsed.

use crate::backend::analysis;
use crate::backend::transaction::{abort, transaction};
use crate::capture::statistics::{Counters, counters_of};
use crate::database::Database;
use crate::database::remote::Remote;
use crate::error::{Error, Result, catch};
use crate::query::{self, quote_literal};
use crate::run::RunSpec;
use crate::security::{as_owner, with_lock_timeout};
use crate::server;
use selfbench_model::RunCapturedStatement;
use selfbench_script::{Action, Protocol, WorkloadBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::CString;

/// The schema of the extension, and settings without which it counts nothing. The first version that tells
/// top-level statements from others is 1.9.
const SOURCE: &str = "
SELECT (SELECT quote_ident(n.nspname)
          FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
         WHERE e.extname = 'pg_stat_statements'
           AND string_to_array(e.extversion, '.')::int[] >= '{1,9}'),
       current_setting('pg_stat_statements.track', true),
       current_setting('compute_query_id', true)";

/// Counters of the statements with the identifiers `IDS`, executed by the session's role in its database.
/// The schema of the extension is `SCHEMA`, `COLUMNS` are those of [`Counters`].
const COUNTERS: &str = "
SELECT json_build_object(
           'reset', i.stats_reset::text,
           'evictions', i.dealloc,
           'statements', coalesce((
               SELECT json_object_agg(s.queryid, json_build_array(COLUMNS))
                 FROM SCHEMA.pg_stat_statements(false) s
                WHERE s.toplevel AND s.queryid = ANY ('{IDS}')
                  AND s.userid = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user)
                  AND s.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())), '{}'))::text
  FROM SCHEMA.pg_stat_statements_info() i";

/// Writes what was counted for a statement into its row.
fn fill(row: &mut RunCapturedStatement, counted: &Counters) {
    row.calls = Some(counted.calls as i64);
    row.rows = Some(counted.rows as i64);
    row.total_exec_time_ms = Some(counted.total_exec_time_ms);
    row.shared_blks_hit = Some(counted.blocks_hit as i64);
    row.shared_blks_read = Some(counted.blocks_read as i64);
    row.shared_blks_dirtied = Some(counted.blocks_dirtied as i64);
    row.shared_blks_written = Some(counted.blocks_written as i64);
    row.wal_bytes = Some(counted.wal_bytes as i64);
}

/// Counters at a moment, by identifier.
#[derive(Deserialize)]
struct Look {
    reset: Option<String>,
    evictions: i64,
    statements: BTreeMap<String, Counters>,
}

/// The statements of the captured workload that a run executes.
pub struct CapturedStatements {
    rows: Vec<RunCapturedStatement>,
    /// The query of the counters, with them as they were before the run.
    before: Option<(String, Look)>,
    /// Why none of them is counted.
    pub lack: Option<String>,
}

impl CapturedStatements {
    /// Looks before the run; `None` if its workload was not captured.
    pub fn before(
        spec: &RunSpec,
        run_id: i64,
        database: &mut Database,
    ) -> Result<Option<CapturedStatements>> {
        let Some(workload) = &spec.captured_workload else {
            return Ok(None);
        };
        let statements = statements(workload)?;
        let row = |(number, _): &(i32, Option<String>)| RunCapturedStatement {
            run_id,
            statement_no: *number,
            workload: workload.clone(),
            ..RunCapturedStatement::default()
        };
        let mut found = CapturedStatements {
            rows: statements.iter().map(row).collect(),
            before: None,
            lack: None,
        };
        let looked = catch(|| {
            Ok(match source(database)? {
                Ok(schema) => Ok(found.look_first(spec, &statements, &schema, database)?),
                Err(reason) => Err(reason),
            })
        });
        match looked {
            Ok(Ok(before)) => found.before = Some(before),
            Ok(Err(reason)) => found.lack = Some(reason),
            Err(error) => {
                abort();
                found.lack = Some(error.report().one_line());
            }
        }
        Ok(Some(found))
    }

    /// Finds the identifiers and the counters before the run.
    fn look_first(
        &mut self,
        spec: &RunSpec,
        statements: &[(i32, Option<String>)],
        schema: &str,
        database: &mut Database,
    ) -> Result<(String, Look)> {
        let texts: Vec<_> = statements
            .iter()
            .map(|(_, sql)| sent(spec, sql.as_deref()))
            .collect();
        let found = match database {
            Database::Here => here(&texts)?,
            Database::There(_) => there(spec, &texts, database)?,
        };
        let mut numbers = BTreeMap::new();
        for (row, found) in self.rows.iter_mut().zip(found) {
            match found {
                Ok(id) => {
                    row.query_id = Some(id);
                    let first = *numbers.entry(id).or_insert(row.statement_no);
                    if first != row.statement_no {
                        row.reason = Some(format!("it is counted with statement {first}"));
                    }
                }
                Err(reason) => row.reason = Some(reason),
            }
        }
        let ids: Vec<_> = numbers.keys().map(i64::to_string).collect();
        let sql = COUNTERS
            .replace("SCHEMA", schema)
            .replace("COLUMNS", &counters_of("s"))
            .replace("IDS", &ids.join(","));
        let before = look(database, &sql)?;
        Ok((sql, before))
    }

    /// Looks after the run, of whose clients so many were sessions of this server in mode spi.
    pub fn after(&mut self, database: &mut Database, backends: i32) -> Result<()> {
        let Some((sql, before)) = &self.before else {
            return Ok(());
        };
        let after = look(database, sql)?;
        let is_reset = after.reset != before.reset;
        let evicts = after.evictions > before.evictions;
        for row in self.rows.iter_mut().filter(|row| row.reason.is_none()) {
            let id = row.query_id.unwrap_or_default().to_string();
            let counters = |look: &Look| look.statements.get(&id).copied();
            let counted = match (counters(&after), counters(before)) {
                _ if backends > 0 => Err(NOT_TOP),
                _ if is_reset => Err("pg_stat_statements was reset during the run"),
                (None, None) if !evicts => Ok(Counters::default()),
                (Some(last), Some(first)) => last.since(&first).ok_or(EVICTED),
                (Some(last), None) if !evicts => Ok(last),
                (_, None) | (None, _) => Err(EVICTED),
            };
            match counted {
                Ok(counted) => fill(row, &counted),
                Err(reason) => row.reason = Some(reason.into()),
            }
        }
        Ok(())
    }

    /// The rows to store.
    pub fn into_rows(mut self) -> Vec<RunCapturedStatement> {
        let lack = self.lack.as_deref().unwrap_or("the run ended early");
        for row in self.rows.iter_mut().filter(|row| row.calls.is_none()) {
            row.reason.get_or_insert_with(|| lack.to_owned());
        }
        self.rows
    }
}

/// Reason for statements of clients that call a procedure in a session.
const NOT_TOP: &str = "statements of clients in backends are not counted at top level; use client_process => 'worker'";
/// Reason for the entry of a statement that is gone, or was made again.
const EVICTED: &str = "pg_stat_statements may have evicted it during the run";

/// The statements of a captured workload of this role, as its scripts have them.
fn statements(workload: &str) -> Result<Vec<(i32, Option<String>)>> {
    let sql = format!(
        "SELECT s.statement_no::text, s.sql FROM bench.captured_statements s
          WHERE s.owner = {}::oid AND s.workload = {} AND s.status = 'captured' ORDER BY s.statement_no",
        server::role().to_u32(),
        quote_literal(workload)
    );
    let rows = transaction(|| as_owner(|| query::rows_of_texts(&sql)))?;
    let row = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        Some((row.next()??.parse().ok()?, row.next()?))
    };
    Ok(rows.into_iter().filter_map(row).collect())
}

/// The schema of pg_stat_statements; the reason if it counts nothing.
fn source(database: &mut Database) -> Result<Known<String>> {
    let row = database.pinned_row(SOURCE)?;
    let [schema, track, compute] = row.as_slice() else {
        return Err(Error::Limit("cannot look for pg_stat_statements".into()));
    };
    Ok(match (schema, track.as_deref(), compute.as_deref()) {
        (None, _, _) => {
            Err("pg_stat_statements 1.9 or later does not exist in the database".into())
        }
        (_, None, _) => Err("pg_stat_statements is not loaded".into()),
        (_, Some("none"), _) => Err("\"pg_stat_statements.track\" is none".into()),
        (_, _, Some("off")) => Err("\"compute_query_id\" is off".into()),
        (Some(schema), ..) => Ok(schema.clone()),
    })
}

/// The text that clients send for a statement of a script. In the protocol simple, NULLs are in the place
/// of values: constants have no part in the identifier but for their types, which are those of the
/// columns.
fn sent(spec: &RunSpec, sql: Option<&str>) -> Known<String> {
    let sql = sql.ok_or("its text is not known")?;
    let protocol = spec.protocol();
    let mut builder = WorkloadBuilder::new(protocol);
    let parsed = builder
        .add("statement", "statement", &format!("{sql};"), 1)
        .and_then(|()| builder.finish())
        .map_err(|error| error.to_string())?;
    let command = parsed.each_command().next();
    let Some(Action::Sql(command)) = command.map(|(_, command)| &command.action) else {
        return Err("its text is not a statement".into());
    };
    let text = command.parameterized();
    Ok(match protocol {
        Protocol::Simple => selfbench_capture::statement(text, |_| Some("NULL".into())),
        Protocol::Extended | Protocol::Prepared => text.to_owned(),
    })
}

/// Knowledge about a statement, or why there is none.
type Known<T> = std::result::Result<T, String>;

/// Reason for a statement without identifier.
const NO_ID: &str = "the server does not tell its identifier";

/// The identifiers of statements on this server.
fn here(texts: &[Known<String>]) -> Result<Vec<Known<i64>>> {
    transaction(|| {
        with_lock_timeout(c"200ms", || {
            let id = |text: &Known<String>| match text {
                Err(reason) => Err(reason.clone()),
                Ok(text) => match analysis::query_id(text) {
                    Ok(Some(id)) => Ok(id),
                    Ok(None) => Err(NO_ID.into()),
                    Err(error) => Err(error.report().one_line()),
                },
            };
            Ok(texts.iter().map(id).collect())
        })
    })
}

/// The identifiers of statements on a target, which another session there tells of the one that parses
/// them.
fn there(
    spec: &RunSpec,
    texts: &[Known<String>],
    database: &mut Database,
) -> Result<Vec<Known<i64>>> {
    let mut session = Remote::connect(&spec.connect_with())?;
    session.set(&spec.settings_of_sessions())?;
    let seen = format!(
        "SELECT query_id::text FROM pg_stat_activity WHERE pid = {}",
        session.connection().backend_pid()
    );
    let mut ids = Vec::new();
    for text in texts {
        ids.push(match text {
            Err(reason) => Err(reason.clone()),
            Ok(text) => {
                let text = CString::new(text.as_str()).unwrap_or_default();
                match session.prepare(c"", &text) {
                    Err(error) => Err(error.report().one_line()),
                    Ok(()) => {
                        let row = database.pinned_row(&seen)?;
                        let id = row.into_iter().next().flatten();
                        id.and_then(|id| id.parse().ok()).ok_or(NO_ID.into())
                    }
                }
            }
        });
    }
    Ok(ids)
}

fn look(database: &mut Database, sql: &str) -> Result<Look> {
    let row = database.pinned_row(sql)?;
    let text = row.into_iter().flatten().next().unwrap_or_default();
    serde_json::from_str(&text)
        .map_err(|e| Error::Limit(format!("cannot read pg_stat_statements: {e}")))
}
