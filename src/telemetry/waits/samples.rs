//! The samples of the current interval, and the rows that they make.

use super::names::{self, NOT_WAITING, OTHER, WaitNames, WaitNo};
use crate::shared::{Segment, TopWait};
use crate::telemetry::period::Period;
use selfbench_model::RunWait;
use selfbench_stats::sampling::Counts;
use std::collections::HashMap;

/// Maximum number of rows of an interval that tell statements apart.
const MAX_ROWS: usize = 200;

/// State in which a session was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Its wait.
    pub wait: WaitNo,
    /// Script and command of the client.
    pub position: Option<(u32, u32)>,
    /// Identifier of the statement that it executed.
    pub query_id: Option<i64>,
}

/// A session when it was sampled.
struct Sampled {
    wait: WaitNo,
    /// In which execution of a command its client was.
    execution: u64,
    /// Whether that was in the current interval.
    in_interval: bool,
}

/// The samples of the current interval.
pub struct Samples {
    /// Names of waits.
    pub names: WaitNames,
    /// Number of times that the sessions were sampled.
    rounds: u32,
    /// Whether the wait lasted since the last round tells samples apart, too.
    counts: Counts<(Seen, bool)>,
    /// Samples that there is no room for in `counts`, without statements.
    rest: Counts<WaitNo>,
    /// Process IDs of the sessions that waited for a lock in the last round.
    blocked: Vec<i32>,
    /// Each session when it was sampled last, by its process ID.
    before: HashMap<i32, Sampled>,
}

impl Samples {
    /// No samples, of a run with that many clients.
    pub fn new(clients: usize) -> Samples {
        Samples {
            names: WaitNames::new(),
            rounds: 0,
            counts: Counts::new(MAX_ROWS),
            rest: Counts::new(names::MAX_NAMES),
            blocked: Vec::with_capacity(clients),
            before: HashMap::with_capacity(clients),
        }
    }

    /// Process IDs of the sessions that waited for a lock in the last round.
    pub fn blocked(&self) -> &[i32] {
        &self.blocked
    }

    /// Wait of a session in the last round that saw it.
    pub fn last_wait(&self, pid: i32) -> Option<WaitNo> {
        self.before.get(&pid).map(|before| before.wait)
    }

    /// Begins another round.
    pub fn begin_round(&mut self) {
        self.rounds += 1;
        self.blocked.clear();
    }

    /// Counts a session, whose client is at that execution of a command.
    pub fn count(&mut self, pid: i32, seen: Seen, execution: u64) {
        let now = Sampled {
            wait: seen.wait,
            execution,
            in_interval: true,
        };
        let before = self.before.insert(pid, now);
        let is_same = |before: &Sampled| (before.wait, before.execution) == (seen.wait, execution);
        let lasts = before.as_ref().is_some_and(is_same) && seen.wait != NOT_WAITING;
        if self.names.is_lock(seen.wait) {
            self.blocked.push(pid);
        }
        if !self.counts.add((seen, lasts), 1) && !self.rest.add(seen.wait, 1) {
            self.rest.add(OTHER, 1);
        }
    }

    /// The rows of an interval that ends now, the most frequent first.
    pub fn end_interval(&mut self, segment: &Segment, period: Period) -> Vec<RunWait> {
        let rounds = std::mem::take(&mut self.rounds) as i32;
        // With connections of single transactions there are ever new process IDs.
        self.before
            .retain(|_, before| std::mem::take(&mut before.in_interval));
        let rest = self.rest.drain().map(|(wait, count)| {
            let without_statement = Seen {
                wait,
                position: None,
                query_id: None,
            };
            ((without_statement, false), count)
        });
        let mut sums: Vec<u32> = vec![0; names::MAX_NAMES];
        let mut rows: HashMap<Seen, RunWait> = HashMap::new();
        for ((seen, lasts), count) in self.counts.drain().chain(rest) {
            sums[seen.wait as usize] = sums[seen.wait as usize].saturating_add(count);
            let samples = i32::try_from(count).unwrap_or(i32::MAX);
            let (class, event) = self.names.get(seen.wait);
            let row = rows.entry(seen).or_insert_with(|| RunWait {
                run_id: period.run_id,
                interval_no: period.number,
                class: class.to_owned(),
                event: event.map(str::to_owned),
                script_no: seen.position.map(|(script, _)| script as i32),
                command_no: seen.position.map(|(_, command)| command as i32),
                query_id: seen.query_id,
                samples: 0,
                rounds,
                lasting: 0,
            });
            row.samples = row.samples.saturating_add(samples);
            row.lasting = row.lasting.saturating_add(if lasts { samples } else { 0 });
        }
        let mut rows: Vec<RunWait> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
        let top = (0..)
            .zip(sums)
            .filter(|(wait, count)| {
                *wait != NOT_WAITING && *count > 0 && !self.names.is_client_read(*wait)
            })
            .max_by_key(|(_, count)| *count);
        segment.header().top_wait.set(top.map(|(wait, count)| {
            let (class, event) = self.names.get(wait);
            TopWait {
                name: event.map_or(class.to_owned(), |event| format!("{class}:{event}")),
                sessions: f64::from(count) / f64::from(rounds.max(1)),
            }
        }));
        rows
    }
}
