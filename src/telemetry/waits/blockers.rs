//! Blockers of the sessions that wait for locks. They are looked for only while some do, and not often:
//! the server's lock manager is locked for a moment each time.

use crate::backend::transaction::transaction;
use crate::clock;
use crate::error::{Error, Result};
use crate::query;
use crate::security::with_pinned_settings;
use crate::shared::Segment;
use crate::telemetry::period::Period;
use crate::telemetry::target::{Asker, TargetConnection};
use selfbench_model::{RunBlocker, RunStall};
use selfbench_stats::sampling::Counts;
use serde::Deserialize;

/// The time between two looks,
const EVERY_NS: u64 = 1_000_000_000;
/// which is at least this many times that of a look.
const SHARE: u64 = 100;
/// Both during a stall.
const URGENT_EVERY_NS: u64 = 100_000_000;
const URGENT_SHARE: u64 = 20;
/// Maximum number of rows of an interval.
const MAX_ROWS: usize = 50;
/// Maximum number of sessions that are examined.
const MAX_SESSIONS: usize = 1000;

/// Blockers of these processes: for each that waits for a lock, and each process or prepared
/// transaction that holds it, what a [`Row`] has.
///
/// Of the sessions that wait for a row, one waits for the end of the transaction that has changed it
/// and holds the row's own lock, for which the others wait: it stands for all of them, as one does for
/// all that wait for another lock in the same mode. It also tells the table: a transaction's end has
/// none. Who follows the versions of a row does without the row's lock; its table is known if it has
/// locked only one. A process that is only ahead of others in a lock's queue does not count. A prepared
/// transaction has no process, and is found by the lock on its own end.
///
/// Without privileges of pg_read_all_stats, the last value is false, and what belongs to other
/// sessions is not used.
const BLOCKERS: &str = include_str!("blockers.sql");

/// A process that waits, and one that blocks it.
#[derive(Deserialize)]
struct Row(
    /// Process that waits.
    i32,
    /// Type of the lock.
    String,
    /// Mode in which it is wanted.
    String,
    /// Table or index, if it belongs to one.
    Option<String>,
    /// Process that blocks it; 0 if it is a prepared transaction.
    i32,
    /// Its kind.
    String,
    /// Its role.
    Option<String>,
    /// Its application name.
    Option<String>,
    /// Its state.
    Option<String>,
    /// Its statement, or the identifier of the prepared transaction.
    Option<String>,
    /// Whether the role may see that session: its own, or as a member of pg_read_all_stats.
    bool,
    /// Time at which its statement began.
    Option<String>,
);

/// Holder of a lock that a client waits for.
#[derive(Clone)]
pub struct Holder {
    /// The row of the interval.
    found: RunBlocker,
    /// Time at which its statement began.
    statement_at: Option<String>,
}

impl Holder {
    /// Whether it is a client of the run.
    pub fn is_own_client(&self) -> bool {
        self.found.blocker == OWN_CLIENT
    }

    /// Tells it in the row of a stall.
    pub fn tell(self, stall: &mut RunStall) {
        let found = self.found;
        // Of a session, a role that may not see it is told nothing.
        let is_hidden = found.blocker == SESSION && found.blocker_pid.is_none();
        stall.blocker = Some(match is_hidden {
            true => "another role".into(),
            false => found.blocker,
        });
        stall.locktype = Some(found.locktype);
        stall.mode = found.mode;
        stall.relation = found.relation;
        stall.blocker_pid = found.blocker_pid;
        stall.blocker_role = found.blocker_role;
        stall.blocker_application = found.blocker_application;
        stall.blocker_state = found.blocker_state;
        stall.blocker_statement = found.blocker_statement;
        stall.blocker_statement_at = self.statement_at;
    }
}

/// Kinds of blockers: a client of the run, and a session that the role may not see.
const OWN_CLIENT: &str = "own client";
const SESSION: &str = "session";

/// The blockers of the current interval.
pub struct Blockers {
    due_ns: u64,
    /// Clock reading at which they are due during a stall.
    urgent_ns: u64,
    asked_ns: u64,
    /// The finding of the last search.
    holder: Option<Holder>,
    /// Number of searches.
    rounds: i32,
    /// By a row without counts.
    counts: Counts<RunBlocker>,
    /// Number of blockers that there is no room for.
    others: u32,
}

impl Blockers {
    pub fn new() -> Blockers {
        Blockers {
            due_ns: 0,
            urgent_ns: 0,
            asked_ns: 0,
            holder: None,
            rounds: 0,
            counts: Counts::new(MAX_ROWS),
            others: 0,
        }
    }

    /// The holder that the last search has found, another session before a client of the run.
    pub fn take_holder(&mut self) -> Option<Holder> {
        self.holder.take()
    }

    /// Looks for what blocks these processes of this server, unless there are none or it is too early.
    pub fn look_if_due(
        &mut self,
        segment: &Segment,
        pids: &[i32],
        is_urgent: bool,
        now_ns: u64,
    ) -> Result<()> {
        if !self.is_due(pids, is_urgent, now_ns) {
            return Ok(());
        }
        let sql = query_of(pids);
        let answer = transaction(|| with_pinned_settings(|| query::first_column(&sql, 0)))?;
        self.count(segment, answer.first().map_or("[]", String::as_str))
    }

    /// Asks a target for it; returns whether it has.
    pub fn ask_if_due(
        &mut self,
        target: &mut TargetConnection,
        pids: &[i32],
        is_urgent: bool,
        now_ns: u64,
    ) -> Result<bool> {
        if target.is_busy() || !self.is_due(pids, is_urgent, now_ns) {
            return Ok(false);
        }
        // Several statements of one query are one transaction.
        let path = "SET LOCAL search_path = pg_catalog, pg_temp";
        target.ask(Asker::Blockers, &format!("{path}; {}", query_of(pids)))
    }

    /// Counts what a target has answered, if it has.
    pub fn fetch(&mut self, segment: &Segment, target: &mut TargetConnection) -> Result<()> {
        match target.answer(Asker::Blockers)? {
            None => Ok(()),
            Some(row) => {
                let answer = row.into_iter().flatten().next();
                self.count(segment, answer.as_deref().unwrap_or("[]"))
            }
        }
    }

    fn is_due(&mut self, pids: &[i32], is_urgent: bool, now_ns: u64) -> bool {
        let due_ns = if is_urgent {
            self.urgent_ns
        } else {
            self.due_ns
        };
        let is_due = !pids.is_empty() && now_ns >= due_ns;
        if is_due {
            self.asked_ns = clock::now_ns();
        }
        is_due
    }

    fn count(&mut self, segment: &Segment, answer: &str) -> Result<()> {
        let now_ns = clock::now_ns();
        let took_ns = now_ns.saturating_sub(self.asked_ns);
        self.due_ns = now_ns + EVERY_NS.max(took_ns.saturating_mul(SHARE));
        self.urgent_ns = now_ns + URGENT_EVERY_NS.max(took_ns.saturating_mul(URGENT_SHARE));
        let found: Vec<Row> = serde_json::from_str(answer)
            .map_err(|e| Error::Limit(format!("cannot read what blocks sessions: {e}")))?;
        self.rounds += 1;
        for mut found in found {
            let statement_at = found.11.take();
            let row = row(segment, found);
            let is_known = |holder: &Holder| !holder.is_own_client() || row.blocker == OWN_CLIENT;
            if !self.holder.as_ref().is_some_and(is_known) {
                self.holder = Some(Holder {
                    statement_at: statement_at.filter(|_| row.blocker_statement.is_some()),
                    found: row.clone(),
                });
            }
            if !self.counts.add(row, 1) {
                self.others += 1;
            }
        }
        Ok(())
    }

    /// The rows of an interval that ends now.
    pub fn end_interval(&mut self, period: Period) -> Vec<RunBlocker> {
        let rounds = std::mem::take(&mut self.rounds);
        let others = std::mem::take(&mut self.others);
        let rest = RunBlocker {
            locktype: "other".into(),
            blocker: "other".into(),
            ..RunBlocker::default()
        };
        let mut rows: Vec<RunBlocker> = self
            .counts
            .drain()
            .chain((others > 0).then_some((rest, others)))
            .map(|(row, count)| RunBlocker {
                run_id: period.run_id,
                interval_no: period.number,
                samples: count as i32,
                rounds,
                ..row
            })
            .collect();
        rows.sort();
        rows
    }
}

fn query_of(pids: &[i32]) -> String {
    let pids: Vec<String> = pids.iter().take(MAX_SESSIONS).map(i32::to_string).collect();
    BLOCKERS.replace("{PIDS}", &format!("{{{}}}", pids.join(",")))
}

/// The row of what was found, without counts.
fn row(segment: &Segment, found: Row) -> RunBlocker {
    let Row(pid, locktype, mode, relation, by, kind, role, application, state, statement, sees, _) =
        found;
    let client_of = |pid| {
        let mut slots = (0..segment.layout().clients).map(|client| segment.client(client).0);
        slots.find(|slot| pid != 0 && slot.backend_pid() == pid)
    };
    let position = |pid| {
        let position = client_of(pid)?.position()?;
        Some((position.0 as i32, position.1 as i32))
    };
    let waiting = position(pid);
    let common = RunBlocker {
        script_no: waiting.map(|(script, _)| script),
        command_no: waiting.map(|(_, command)| command),
        locktype,
        mode: Some(mode),
        ..RunBlocker::default()
    };
    if client_of(by).is_some() {
        let blocking = position(by);
        return RunBlocker {
            relation,
            blocker: OWN_CLIENT.into(),
            blocker_script_no: blocking.map(|(script, _)| script),
            blocker_command_no: blocking.map(|(_, command)| command),
            ..common
        };
    }
    if !sees {
        return RunBlocker {
            blocker: SESSION.into(),
            ..common
        };
    }
    RunBlocker {
        relation,
        blocker: kind,
        blocker_pid: (by != 0).then_some(by),
        blocker_role: role,
        blocker_application: application.filter(|name| !name.is_empty()),
        blocker_state: state,
        blocker_statement: statement,
        ..common
    }
}
