//! Processes that work for a run's sessions without being sampled: their parallel workers, and the
//! server's I/O workers. A run with `profile` names them with the CPU time that they used while it
//! looked, which for processes that live shortly is less than all of it.

use super::processes;
use crate::backend::transaction::transaction;
use crate::error::Result;
use crate::query;
use crate::security::as_owner;
use crate::shared::Segment;
use selfbench_model::RunProfile;
use std::collections::BTreeMap;

/// All parallel workers with their leaders, and all I/O workers.
const WORKERS: &str = "
SELECT coalesce(json_agg(json_build_array(pid, backend_type, coalesce(leader_pid, 0)))::text, '[]')
  FROM pg_stat_activity WHERE backend_type IN ('parallel worker', 'io worker')";

/// Processes seen so far.
#[derive(Default)]
pub struct Bystanders {
    /// Processes of the last look. Parallel workers come and go with each statement.
    seen: BTreeMap<i32, Seen>,
    /// Rows of processes that have ended since, by kind.
    ended: BTreeMap<String, RunProfile>,
    looked: bool,
}

/// A process.
struct Seen {
    kind: String,
    /// Its CPU time when it was seen first, and when it was seen last; unknown without /proc.
    cpu_ns: Option<(u64, u64)>,
}

impl Bystanders {
    /// Looks for them.
    pub fn look(&mut self, segment: &Segment) -> Result<()> {
        let row = transaction(|| as_owner(|| query::first_row(WORKERS)))?;
        let text = row.into_iter().flatten().next().unwrap_or_default();
        let found: Vec<(i32, String, i32)> = serde_json::from_str(&text).unwrap_or_default();
        self.seen.retain(|pid, seen| {
            let is_there = found.iter().any(|(found, ..)| found == pid);
            if !is_there {
                count(&mut self.ended, seen);
            }
            is_there
        });
        if found.is_empty() && self.looked {
            return Ok(());
        }
        let clients = 0..segment.layout().clients;
        let sessions: Vec<i32> = clients
            .map(|client| segment.client(client).0.backend_pid())
            .collect();
        for (pid, kind, leader) in found {
            if leader != 0 && !sessions.contains(&leader) {
                continue;
            }
            let now = processes::read(pid).map(|times| times.cpu_ns);
            // A parallel worker that is new has done all its work since the last look.
            let begin = match (leader, self.looked) {
                (0, _) | (_, false) => now,
                _ => now.map(|_| 0),
            };
            let seen = self.seen.entry(pid).or_insert(Seen {
                kind,
                cpu_ns: begin.zip(now),
            });
            if let (Some((_, last)), Some(now)) = (&mut seen.cpu_ns, now) {
                *last = now.max(*last);
            }
        }
        self.looked = true;
        Ok(())
    }

    /// A row for each kind.
    pub fn into_rows(mut self, run_id: i64) -> impl Iterator<Item = RunProfile> {
        for seen in self.seen.values() {
            count(&mut self.ended, seen);
        }
        self.ended
            .into_values()
            .map(move |row| RunProfile { run_id, ..row })
    }
}

/// Adds a process to the row of its kind.
fn count(rows: &mut BTreeMap<String, RunProfile>, seen: &Seen) {
    let row = rows.entry(seen.kind.clone()).or_insert_with(|| RunProfile {
        process: seen.kind.clone(),
        cpu_ms: Some(0.0),
        ..RunProfile::default()
    });
    row.processes += 1;
    let used = seen.cpu_ns.map(|(begin, end)| end - begin);
    row.cpu_ms = row.cpu_ms.zip(used).map(|(sum, ns)| sum + ns as f64 / 1e6);
}
