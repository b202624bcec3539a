//! Writing and reading the result tables.
//!
//! Writing happens in the coordinator, in transactions of its own and with the rights of the
//! tables' owner. Reading happens with the rights of whoever asks; row security decides.

use crate::backend::transaction::transaction;
use crate::copy::{Target, copy_in};
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, is_superuser, with_pinned_settings, without_triggers};
use crate::server;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use selfbench_model::{
    Finished, LoggedTransaction, PgioRun, PgioSession, Run, RunInterval, RunScript, RunStatement,
    Setting, TransactionOutcome,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::io::Write;

/// The next run's number.
pub fn next_run_id() -> Result<i64> {
    transaction(|| {
        as_owner(|| {
            query::one::<i64>("SELECT nextval('bench.run_id_seq')", &[])?
                .ok_or_else(|| Error::Limit("no run number".into()))
        })
    })
}

/// Stores the row of a run that begins, and the settings under which it does: those of the target
/// if it has one, as [`settings_query`] shows them, else this session's.
pub fn begin(run: &Run, of_target: Option<&str>) -> Result<()> {
    transaction(|| {
        as_owner(|| {
            // Runs whose coordinator is gone will never be finished by it.
            Spi::run(
                "UPDATE bench.runs SET state = 'lost'
                  WHERE state IN ('starting', 'running')
                    AND NOT bench_internal.is_live(run_id, segment)",
            )?;
            insert("bench.runs", run)
        })?;
        let settings = match of_target {
            Some(settings) => Some(settings.to_owned()),
            // Which settings may be seen is the caller's right, not the owner's.
            None => query::one::<String>(
                "SELECT bench_internal.settings_of_run()::pg_catalog.text",
                &[],
            )?,
        };
        as_owner(|| {
            Spi::run_with_args(
                "INSERT INTO bench.run_settings (run_id, name, setting, source)
                 SELECT $1, s.name, s.setting, s.source
                   FROM jsonb_populate_recordset(NULL::bench.run_settings, $2::jsonb) s",
                &[run.run_id.into(), settings.into()],
            )?;
            Ok(())
        })
    })
}

/// The query of `bench_internal.settings_of_run`, to be sent to a target. It needs `search_path` to
/// be that of the function.
pub fn settings_query() -> Result<Option<String>> {
    transaction(|| {
        query::one::<String>(
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
    transaction(|| as_owner(|| update_row(run)))
}

/// Keeps the row of a run from being deleted until the end of the transaction.
fn hold(run_id: i64) -> Result<()> {
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

/// Stores intervals, without waiting for the disk: the end of the run will.
pub fn intervals(rows: &[RunInterval]) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    transaction(|| {
        Spi::run("SET LOCAL synchronous_commit = off")?;
        as_owner(|| {
            hold(first.run_id)?;
            insert_all("bench.run_intervals", rows)
        })
    })
}

/// Stores logged transactions, without waiting for the disk: the end of the run will.
pub fn transactions(run_id: i64, rows: Vec<LoggedTransaction>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let target = Target {
        table: "bench.transactions",
        format: c"binary",
        freeze: false,
    };
    let mut rows = rows.into_iter();
    let mut buffer = BINARY_COPY_HEADER.to_vec();
    let mut taken = 0;
    let mut ended = false;
    let source = move |out: &mut [u8]| {
        while buffer.len() - taken < out.len() && !ended {
            match rows.next() {
                Some(row) => write_transaction(run_id, &row, &mut buffer),
                None => {
                    ended = true;
                    buffer.extend_from_slice(&(-1i16).to_be_bytes());
                }
            }
        }
        let n = out.len().min(buffer.len() - taken);
        out[..n].copy_from_slice(&buffer[taken..taken + n]);
        taken += n;
        if taken == buffer.len() {
            buffer.clear();
            taken = 0;
        }
        n
    };
    transaction(|| {
        Spi::run("SET LOCAL synchronous_commit = off")?;
        as_owner(|| {
            hold(run_id)?;
            // Looking their run up for each of them would take longer than storing them.
            without_triggers(|| copy_in(&target, Box::new(source)))
        })
    })
}

/// Signature, flags and length of the extension: what COPY's binary format begins with.
const BINARY_COPY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Appends a row of `bench.transactions` in COPY's binary format.
fn write_transaction(run_id: i64, row: &LoggedTransaction, out: &mut Vec<u8>) {
    fn field(out: &mut Vec<u8>, value: Option<impl AsRef<[u8]>>) {
        let length = value.as_ref().map_or(-1, |v| v.as_ref().len() as i32);
        out.extend_from_slice(&length.to_be_bytes());
        if let Some(value) = value {
            out.extend_from_slice(value.as_ref());
        }
    }
    let ms = |ns: u64| (ns as f64 / 1e6).to_be_bytes();
    let at_us = row.at_us - server::UNIX_TO_SERVER_US;
    let latency_ns = (row.outcome == TransactionOutcome::Success).then_some(row.latency_ns);
    out.extend_from_slice(&9i16.to_be_bytes());
    field(out, Some(run_id.to_be_bytes()));
    field(out, Some((row.client as i32).to_be_bytes()));
    field(out, Some((row.count as i64).to_be_bytes()));
    field(out, Some(i32::from(row.script).to_be_bytes()));
    field(out, Some(row.outcome.as_str()));
    field(out, Some(at_us.to_be_bytes()));
    field(out, latency_ns.map(ms));
    field(out, row.lag_ns.map(ms));
    field(out, Some((row.retries as i32).to_be_bytes()));
}

/// Stores the end of a run.
pub fn finish(
    finished: &Finished,
    intervals: &[RunInterval],
    sessions: &[PgioSession],
) -> Result<()> {
    transaction(|| {
        as_owner(|| {
            update_row(&finished.run)?;
            insert_all::<RunScript>("bench.run_scripts", &finished.scripts)?;
            insert_all::<RunStatement>("bench.run_statements", &finished.statements)?;
            if let Some(pgio) = &finished.pgio {
                insert("bench.pgio_runs", pgio)?;
            }
            for some in sessions.chunks(SESSIONS_AT_ONCE) {
                insert_all("bench.pgio_sessions", some)?;
            }
            insert_all("bench.run_intervals", intervals)
        })
    })
}

/// Sessions are stored so many at a time: each has histograms, and they travel as one text.
const SESSIONS_AT_ONCE: usize = 100;

/// Reads a run that the caller may see, as it is now, whatever the caller's snapshot is.
pub fn load(run_id: i64) -> Result<Option<Finished>> {
    let run = query_json::<Run>(
        "SELECT to_jsonb(r)::text FROM bench.runs r WHERE run_id = $1",
        run_id,
    )?;
    let Some(run) = run.into_iter().next() else {
        return Ok(None);
    };
    let scripts = query_json::<RunScript>(
        "SELECT to_jsonb(s)::text FROM bench.run_scripts s WHERE run_id = $1 ORDER BY script_no",
        run_id,
    )?;
    let statements = query_json::<RunStatement>(
        "SELECT to_jsonb(s)::text FROM bench.run_statements s WHERE run_id = $1
          ORDER BY script_no, command_no",
        run_id,
    )?;
    let pgio = query_json::<PgioRun>(
        "SELECT to_jsonb(p)::text FROM bench.pgio_runs p WHERE run_id = $1",
        run_id,
    )?;
    Ok(Some(Finished {
        run,
        scripts,
        statements,
        pgio: pgio.into_iter().next(),
    }))
}

/// How many other runs are in progress on this server, of all roles and databases, and how many of
/// this database that have ended since this one started.
pub fn other_runs(run: &Run) -> Result<i32> {
    transaction(|| {
        let recorded = as_owner(|| {
            query::one::<i64>(
                "SELECT count(*) FROM bench.runs r
                  WHERE r.run_id <> $1 AND r.started_at < now()
                    AND coalesce(r.finished_at > $2::timestamptz,
                                 $2 IS NOT NULL AND r.state = 'running')",
                &[run.run_id.into(), run.started_at.as_deref().into()],
            )
        })?;
        Ok(runs_in_progress()?.max(recorded.unwrap_or(0) as i32))
    })
}

/// How many other runs are in progress on this server, of all roles and databases. Reads no table
/// of ours: a caller would keep its lock, and with it block `DROP EXTENSION`, until its run ends.
pub fn runs_in_progress() -> Result<i32> {
    // Not every role sees what others' processes are.
    let count = as_owner(|| {
        query::one::<i64>(
            "SELECT count(*) FROM pg_stat_activity
              WHERE backend_type = 'pg_selfbench coordinator' AND pid <> pg_backend_pid()",
            &[],
        )
    })?;
    Ok(count.unwrap_or(0) as i32)
}

/// The last run of the current role, if it may see one.
pub fn last_run_of_caller() -> Result<Option<i64>> {
    with_pinned_settings(|| {
        query::one::<i64>(
            "SELECT max(run_id) FROM bench.runs
              WHERE owner = (SELECT quote_ident(current_user)::regrole)",
            &[],
        )
    })
}

/// Reads a run with the rights of the tables' owner, whoever the caller is.
pub fn load_any(run_id: i64) -> Result<Option<Finished>> {
    as_owner(|| load(run_id))
}

/// Which runs are to be deleted: those that all that is given applies to.
pub struct Deletion {
    /// Their numbers.
    pub run_ids: Option<Vec<i64>>,
    /// How long ago they were asked for, at least.
    pub older_than: Option<Interval>,
    /// Their label.
    pub label: Option<String>,
}

impl Deletion {
    /// Locks these runs, of the caller's own or, for a superuser, of all: their numbers, and their
    /// segments if their rows say that they are in progress.
    pub fn lock(self) -> Result<Vec<(i64, Option<i64>)>> {
        let (superuser, role) = (is_superuser(), server::role());
        as_owner(|| {
            Spi::connect_mut(|client| {
                client
                    .update(
                        "SELECT run_id,
                                CASE WHEN state IN ('starting', 'running') THEN segment END
                           FROM bench.runs
                          WHERE ($1 OR owner = $2)
                            AND ($3 IS NULL OR run_id = ANY ($3))
                            AND ($4 IS NULL OR created_at < now() - $4)
                            AND ($5 IS NULL OR label = $5)
                          ORDER BY run_id FOR UPDATE",
                        None,
                        &[
                            superuser.into(),
                            role.into(),
                            self.run_ids.into(),
                            self.older_than.into(),
                            self.label.into(),
                        ],
                    )?
                    .map(|row| {
                        let run_id = row.get::<i64>(1)?.unwrap_or_default();
                        Ok((run_id, row.get::<i64>(2)?))
                    })
                    .collect()
            })
        })
    }
}

/// Deletes these runs: number, label and state of each.
pub fn delete(run_ids: Vec<i64>) -> Result<Vec<(i64, Option<String>, String)>> {
    as_owner(|| {
        Spi::connect_mut(|client| {
            client
                .update(
                    "DELETE FROM bench.runs WHERE run_id = ANY ($1)
                     RETURNING run_id, label, state",
                    None,
                    &[run_ids.into()],
                )?
                .map(|row| {
                    let run_id = row.get::<i64>(1)?.unwrap_or_default();
                    let state = row.get::<String>(3)?.unwrap_or_default();
                    Ok((run_id, row.get::<String>(2)?, state))
                })
                .collect()
        })
    })
}

/// The settings under which a run took place that the caller may see, by name.
pub fn load_settings(run_id: i64) -> Result<Vec<Setting>> {
    let settings = query_json::<(String, String, String)>(
        "SELECT jsonb_build_array(name, setting, source)::text FROM bench.run_settings
          WHERE run_id = $1 AND setting IS NOT NULL ORDER BY name COLLATE \"C\"",
        run_id,
    )?;
    let setting = |(name, value, source)| Setting {
        name,
        value,
        source,
    };
    Ok(settings.into_iter().map(setting).collect())
}

fn insert<T: Serialize>(table: &str, row: &T) -> Result<()> {
    Spi::run_with_args(
        &format!(
            "INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, $1::jsonb)"
        ),
        &[json(row)?.into()],
    )?;
    Ok(())
}

fn insert_all<T: Serialize>(table: &str, rows: &[T]) -> Result<()> {
    Spi::run_with_args(
        &format!(
            "INSERT INTO {table} SELECT * FROM jsonb_populate_recordset(NULL::{table}, $1::jsonb)"
        ),
        &[json(&rows)?.into()],
    )?;
    Ok(())
}

fn update_row(run: &Run) -> Result<()> {
    let value = serde_json::to_value(run).map_err(unprintable)?;
    let columns: Vec<String> = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys())
        .filter(|column| *column != "run_id")
        .map(|column| format!("{column} = n.{column}"))
        .collect();
    let sql = format!(
        "UPDATE bench.runs r SET {}
           FROM jsonb_populate_record(NULL::bench.runs, $1::jsonb) n
          WHERE r.run_id = n.run_id
          RETURNING r.run_id",
        columns.join(", ")
    );
    let row = json(run)?;
    let updated = Spi::connect_mut(|client| {
        client
            .update(&sql, None, &[row.into()])
            .map(|rows| rows.len())
    })?;
    match updated {
        0 => Err(Error::RunDeleted { run_id: run.run_id }),
        _ => Ok(()),
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    let mut text = Vec::new();
    let storable = Storable {
        ascii: !server::stores_unicode(),
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, storable);
    value.serialize(&mut serializer).map_err(unprintable)?;
    String::from_utf8(text).map_err(|e| Error::Limit(format!("cannot describe a result: {e}")))
}

/// Leaves zero characters out of texts: they cannot be stored, and no text of ours has a meaning
/// with one. In a database whose encoding may not have a character, or has other bytes for it, a
/// question mark takes the place of all that is not ASCII.
struct Storable {
    ascii: bool,
}

impl Formatter for Storable {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> std::io::Result<()> {
        if !self.ascii || fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        let ascii = fragment.replace(|c: char| !c.is_ascii(), "?");
        writer.write_all(ascii.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> std::io::Result<()> {
        match escape {
            CharEscape::AsciiControl(0) => Ok(()),
            escape => CompactFormatter.write_char_escape(writer, escape),
        }
    }
}

fn unprintable(error: serde_json::Error) -> Error {
    Error::Limit(format!("cannot describe a result: {error}"))
}

/// Rows of a query with one JSON column and one parameter, under the latest snapshot.
fn query_json<T: DeserializeOwned>(sql: &str, parameter: i64) -> Result<Vec<T>> {
    with_pinned_settings(|| {
        let texts = query::latest(sql, parameter)?;
        texts
            .iter()
            .map(|text| {
                serde_json::from_str(text)
                    .map_err(|e| Error::Limit(format!("cannot read a stored result: {e}")))
            })
            .collect()
    })
}
