//! Samples of the sessions on a target, over the coordinator's connection: one query for all of them.
//! A target that answers late is asked less often.

use super::names::NOT_WAITING;
use super::samples::{Samples, Seen};
use crate::database::remote::Remote;
use crate::error::{Error, Result};
use crate::shared::Segment;
use crate::telemetry::notes::Notes;
use crate::telemetry::target::{Asker, TargetConnection};
use serde::Deserialize;
use std::collections::HashMap;

/// A target is asked at most this often per second.
pub const MAX_RATE: f64 = 5.0;
/// The first version with query identifiers in the activity view.
const HAS_QUERY_ID: i32 = 140_000;

/// A row of the target's activity view: process ID, class and event of the wait, query identifier,
/// whether the role may see what the session does.
#[derive(Deserialize)]
struct Row(i32, Option<String>, Option<String>, Option<i64>, bool);

/// Name in notes of what a target may not show.
pub const WHAT: &str = "waits of the target's sessions";
pub const HIDDEN: &str = "the role may not see what they do";

/// The sessions on a target.
pub struct TargetSessions {
    /// Expression of the column of query identifiers.
    query_id: &'static str,
    /// Position of each process's client when the target was asked, and its execution.
    asked: HashMap<i32, (Option<(u32, u32)>, u64)>,
    /// Whether the target has shown any of the processes, and whether it was ever asked for them.
    has_shown: bool,
    has_asked: bool,
}

impl TargetSessions {
    pub fn new(remote: &Remote) -> TargetSessions {
        let has_query_id = remote.connection().server_version_num() >= HAS_QUERY_ID;
        TargetSessions {
            query_id: if has_query_id { "query_id" } else { "NULL" },
            asked: HashMap::new(),
            has_shown: false,
            has_asked: false,
        }
    }

    /// Asks for the sessions, if there are any.
    pub fn ask(&mut self, target: &mut TargetConnection, segment: &Segment) -> Result<()> {
        if target.is_busy() {
            return Ok(());
        }
        self.asked.clear();
        let slots = (0..segment.layout().clients).map(|client| segment.client(client).0);
        for slot in slots {
            match slot.backend_pid() {
                0 => {}
                pid => drop(self.asked.insert(pid, (slot.position(), slot.execution()))),
            }
        }
        if self.asked.is_empty() {
            return Ok(());
        }
        let pids: Vec<String> = self.asked.keys().map(i32::to_string).collect();
        let sql = format!(
            "SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
                        pid, wait_event_type, wait_event,
                        CASE WHEN state OPERATOR(pg_catalog.=) 'active' THEN {} END,
                        state IS NOT NULL))
               FROM pg_catalog.pg_stat_activity
              WHERE pid OPERATOR(pg_catalog.=) ANY ('{{{}}}'::pg_catalog.int4[])",
            self.query_id,
            pids.join(",")
        );
        self.has_asked |= target.ask(Asker::Waits, &sql)?;
        Ok(())
    }

    /// Counts what the target has answered, if it has. Returns whether it hides sessions.
    pub fn fetch(&mut self, target: &mut TargetConnection, samples: &mut Samples) -> Result<bool> {
        let Some(row) = target.answer(Asker::Waits)? else {
            return Ok(false);
        };
        let answer = row.into_iter().flatten().next();
        let rows: Vec<Row> = serde_json::from_str(answer.as_deref().unwrap_or("[]"))
            .map_err(|e| Error::Limit(format!("cannot read the target's sessions: {e}")))?;
        samples.begin_round();
        let mut hides = false;
        for Row(pid, class, event, query_id, is_visible) in rows {
            self.has_shown = true;
            if !is_visible {
                hides = true;
                continue;
            }
            let wait = match (class, event) {
                (Some(class), Some(event)) => samples.names.of_names(&class, &event),
                _ => NOT_WAITING,
            };
            let (position, execution) = self.asked.get(&pid).copied().unwrap_or_default();
            let seen = Seen {
                wait,
                position,
                query_id,
            };
            samples.count(pid, seen, execution);
        }
        Ok(hides)
    }

    /// Notes that nothing was seen during the whole run.
    pub fn conclude(self, notes: &mut Notes) {
        if self.has_asked && !self.has_shown {
            notes.add(selfbench_model::HIDDEN_SESSIONS.into());
        }
    }
}
