//! Activity of the server and its machine in each interval of a run, as differences of counters:
//! nothing is ever reset.
//!
//! Counters are read when an interval ends. A target is asked without waiting for it: its answer
//! arrives later, and if that takes longer than an interval, a row covers several.

use super::counters::{self, QueryPart, Reading};
use super::machine::Machine;
use super::notes::Notes;
use super::period::Period;
use super::processes::Used;
use super::target::{Asker, TargetConnection};
use crate::backend::transaction::{abort, transaction};
use crate::clock;
use crate::database::Database;
use crate::error::{Error, Result, catch};
use crate::query::{self, SavedQuery};
use crate::run::{Mode, RunSpec};
use crate::security::as_owner;
use crate::server;
use crate::shared::Segment;
use pgrx::PgOid;
use pgrx::pg_sys;
use selfbench_model::{RunServerInterval, ServerCounts};
use selfbench_stats::ProcessTimes;
use std::sync::atomic::Ordering::Relaxed;

/// Query for the server's counters.
enum Query {
    /// On this server, with the rights of the extension's owner: roles see their runs' rows only, and
    /// of other sessions' secrets only what [`counters`] gives them.
    Here {
        saved: SavedQuery,
        role: pg_sys::Oid,
        machine: Machine,
    },
    /// On a target, with the rights of the role there.
    There { sql: String, is_here: bool },
}

/// A reading and its clock reading.
struct Sample {
    at_ns: u64,
    reading: Reading,
}

/// The observer.
pub struct ServerIntervals {
    query: Query,
    /// Whether clients count what they use of the server.
    counts_clients: bool,
    own: OwnPids,
    /// The counters where the current interval began.
    last: Option<Sample>,
    /// The interval that has ended and whose counters have not been read; the inner `None` is the
    /// time before the first one.
    ended: Option<Option<Period>>,
    /// The interval for whose counters the target was asked, and when.
    asked: Option<(Option<Period>, u64)>,
}

impl ServerIntervals {
    /// Finds out, before the run, what the server lets this role read.
    pub fn prepare(
        spec: &RunSpec,
        database: &mut Database,
        notes: &mut Notes,
    ) -> Result<ServerIntervals> {
        let mut parts = counters::parts(database.version_num(), notes);
        if !is_privileged(database)? {
            parts.retain(|part| !part.is_privileged);
            notes.missing(
                counters::SESSIONS_WHAT,
                "that needs privileges of pg_read_all_stats",
            );
        }
        if catch(|| try_parts(database, &parts)).is_err() {
            abort();
            parts = usable_parts(database, parts, notes);
        }
        let query = match database {
            Database::Here => Query::Here {
                saved: saved(&parts)?,
                role: server::role(),
                machine: Machine::new(notes),
            },
            Database::There(_) => {
                notes.missing("begins of checkpoints", "a target does not show them");
                notes.missing(
                    "the target's machine",
                    "only processes there could read /proc",
                );
                let sql = there(&parts);
                let is_here = is_this_server(database).unwrap_or(false);
                Query::There { sql, is_here }
            }
        };
        Ok(ServerIntervals {
            query,
            counts_clients: spec.run.mode == Mode::Spi,
            own: OwnPids {
                before: Vec::new(),
                reconnect: spec.run.reconnect,
            },
            last: None,
            ended: None,
            asked: None,
        })
    }

    /// Notes that an interval ends now, or, without one, that the first begins.
    pub fn end_interval(&mut self, period: Option<Period>) {
        self.ended = Some(period);
    }

    /// Whether counters remain to be read.
    pub fn is_pending(&self) -> bool {
        self.ended.is_some() || self.asked.is_some()
    }

    /// Reads the counters if an interval has ended; its row, unless the target's answer has not
    /// arrived.
    pub fn advance(
        &mut self,
        segment: &Segment,
        target: Option<&mut TargetConnection>,
        used: &Used,
    ) -> Result<Option<RunServerInterval>> {
        let mut answered = None;
        match (&self.query, target) {
            (Query::Here { saved, role, .. }, _) => {
                if let Some(period) = self.ended.take() {
                    let at_ns = clock::now_ns();
                    let row = transaction(|| {
                        // An array is made with what the catalogs say about its elements.
                        let arguments = [self.own.now(segment, true).into(), (*role).into()];
                        as_owner(|| saved.first_row(&arguments))
                    })?;
                    answered = Some((period, at_ns, row));
                }
            }
            (Query::There { sql, is_here }, Some(target)) => {
                if let Some((period, at_ns)) = self.asked
                    && let Some(row) = target.answer(Asker::Server)?
                {
                    self.asked = None;
                    answered = Some((period, at_ns, row));
                }
                if self.asked.is_none()
                    && let Some(period) = self.ended
                    && target.ask(
                        Asker::Server,
                        &with_pids(sql, &self.own.now(segment, *is_here)),
                    )?
                {
                    self.ended = None;
                    self.asked = Some((period, clock::now_ns()));
                }
            }
            (Query::There { .. }, None) => {}
        }
        let Some((period, at_ns, row)) = answered else {
            return Ok(None);
        };
        let sample = Sample {
            at_ns,
            reading: self.complete(parse(row)?, segment, used),
        };
        let row = match (&self.last, period) {
            (Some(last), Some(period)) => Some(self::row(segment, period, last, &sample)),
            _ => None,
        };
        self.last = Some(sample);
        Ok(row)
    }

    /// Adds what the server does not tell.
    fn complete(&self, mut reading: Reading, segment: &Segment, used: &Used) -> Reading {
        if let Query::Here { machine, .. } = &self.query {
            machine.read(&mut reading.counts);
            reading.redo = Some(server::redo_position());
        }
        if self.counts_clients {
            add_clients(segment, &mut reading.counts);
        }
        add_processes(used, &mut reading.counts);
        reading
    }
}

/// The row of an interval that begins and ends with these readings.
fn row(segment: &Segment, period: Period, begin: &Sample, end: &Sample) -> RunServerInterval {
    let (before, after) = (&begin.reading, &end.reading);
    let moved = |before: Option<i64>, after: Option<i64>| Some(after? != before?);
    let mut state = after.state.clone();
    state.checkpoint_active = moved(after.ended_redo, after.redo);
    let start_ns = segment.header().start_ns.load(Relaxed);
    RunServerInterval {
        run_id: period.run_id,
        interval_no: period.number,
        begins_s: begin.at_ns.saturating_sub(start_ns) as f64 / 1e9,
        seconds: end.at_ns.saturating_sub(begin.at_ns) as f64 / 1e9,
        counts: after.counts.since(&before.counts),
        checkpoint_begun: moved(before.redo, after.redo),
        checkpoint_ended: moved(before.ended_checkpoint, after.ended_checkpoint),
        state,
    }
}

/// Adds what clients of mode spi have counted themselves.
fn add_clients(segment: &Segment, counts: &mut ServerCounts) {
    let clients = 0..segment.layout().clients;
    let used = clients.map(|client| segment.client(client).0.blocks_so_far());
    let [hit, read, wal_bytes] =
        used.fold([0; 3], |sum, one| std::array::from_fn(|i| sum[i] + one[i]));
    counts.blocks_hit_by_clients = Some(hit as i64);
    counts.blocks_read_by_clients = Some(read as i64);
    counts.wal_bytes_by_clients = Some(wal_bytes as i64);
}

/// Adds the times of the run's processes.
fn add_processes(used: &Used, counts: &mut ServerCounts) {
    let ms = |ns: u64| (ns / 1_000_000) as i64;
    let cpu = |times: Option<ProcessTimes>| times.map(|times| ms(times.cpu_ns));
    let run_queue = |times: Option<ProcessTimes>| times?.run_queue_ns.map(ms);
    counts.sessions_cpu_ms = cpu(used.sessions);
    counts.sessions_run_queue_ms = run_queue(used.sessions);
    counts.workers_cpu_ms = cpu(used.workers);
    counts.workers_run_queue_ms = run_queue(used.workers);
    counts.coordinator_cpu_ms = cpu(used.coordinator);
}

/// The processes of a run on the server that its clients' statements run on, as of the last reading.
struct OwnPids {
    before: Vec<i32>,
    /// Whether each transaction has a process of its own.
    reconnect: bool,
}

impl OwnPids {
    /// The backends of the run's clients and, if the server is this one, its coordinator, workers and
    /// caller: another server may have processes of the same numbers. With those of the last reading: a
    /// process that exits leaves the segment before it leaves the list of the server's sessions. With 0 if each
    /// transaction has a process of its own: there are ones that are not among them yet.
    fn now(&mut self, segment: &Segment, is_here: bool) -> Vec<i32> {
        let clients = 0..segment.layout().clients;
        let mut pids: Vec<i32> = clients
            .map(|client| segment.client(client).0.backend_pid())
            .collect();
        if is_here {
            pids.extend([std::process::id() as i32, segment.header().caller.pid()]);
            pids.extend(segment.workers().map(|worker| worker.process.pid()));
        }
        pids.retain(|pid| *pid != 0);
        let before = std::mem::replace(&mut self.before, pids.clone());
        pids.extend(before);
        pids.extend(self.reconnect.then_some(0));
        pids
    }
}

/// Whether a target is this server. A copy of it has the same identifier, but another start.
fn is_this_server(target: &mut Database) -> Result<bool> {
    const QUERY: &str = "SELECT pg_catalog.concat_ws(' ', c.system_identifier,
               (1000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()))::pg_catalog.int8)
          FROM pg_catalog.pg_control_system() c";
    let here = Database::Here.first_row(QUERY)?;
    Ok(target.first_row(QUERY)? == here)
}

fn with_pids(sql: &str, pids: &[i32]) -> String {
    let pids: Vec<_> = pids.iter().map(i32::to_string).collect();
    sql.replace(":pids", &format!("'{{{}}}'::int[]", pids.join(",")))
}

fn parse(row: Vec<Option<String>>) -> Result<Reading> {
    let text = row.into_iter().next().flatten().unwrap_or_default();
    serde_json::from_str(&text).map_err(|e| Error::Limit(format!("unexpected answer: {e}")))
}

/// The query for this server.
fn saved(parts: &[QueryPart]) -> Result<SavedQuery> {
    let sql = counters::query(parts);
    let sql = sql.replace(":pids", "$1").replace(":role", "$2");
    let types = [pg_sys::INT4ARRAYOID, pg_sys::OIDOID].map(PgOid::from);
    transaction(|| as_owner(|| SavedQuery::prepare(&sql, &types)))
}

/// The query for a target. Both statements are one transaction.
fn there(parts: &[QueryPart]) -> String {
    let sql = counters::query(parts).replace(":role", "current_user");
    format!("SET LOCAL search_path = pg_catalog, pg_temp; {sql}")
}

/// Whether the role with whose rights the counters are read may see other roles' sessions.
fn is_privileged(database: &mut Database) -> Result<bool> {
    const QUERY: &str =
        "SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')::pg_catalog.text";
    let row = match database {
        Database::Here => transaction(|| as_owner(|| query::first_row(QUERY)))?,
        Database::There(_) => database.first_row(QUERY)?,
    };
    Ok(row
        .first()
        .is_some_and(|may| may.as_deref() == Some("true")))
}

/// Fails unless the server answers the query of these parts.
fn try_parts(database: &mut Database, parts: &[QueryPart]) -> Result<()> {
    let row = match database {
        Database::Here => {
            let (saved, role) = (saved(parts)?, server::role());
            transaction(|| as_owner(|| saved.first_row(&[Vec::<i32>::new().into(), role.into()])))?
        }
        Database::There(_) => {
            let sql = there(parts).replace(":pids", "'{}'::int[]");
            database.first_row(&sql)?
        }
    };
    parse(row).map(drop)
}

/// The parts that the server answers; the others are noted.
fn usable_parts(
    database: &mut Database,
    parts: Vec<QueryPart>,
    notes: &mut Notes,
) -> Vec<QueryPart> {
    let usable = |part: &QueryPart| match catch(|| try_parts(database, std::slice::from_ref(part)))
    {
        Ok(()) => true,
        Err(error) => {
            abort();
            notes.missing(part.what, &error.report().one_line());
            false
        }
    };
    let mut parts = parts;
    parts.retain(usable);
    parts
}
