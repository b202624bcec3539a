//! Questions to a target while a run goes on, over the coordinator's connection: one at a time, and
//! without waiting for the answer, so that a target that hangs delays nothing.

use crate::clock;
use crate::database::remote::Remote;
use crate::error::{Error, Result};

/// Period of checks whether an answer has arrived.
const LOOK_EVERY_NS: u64 = 5_000_000;

/// Longest answer of a target that is read.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Observer that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Activity of the server in each interval.
    Server,
    /// Waits of sessions.
    Waits,
    /// Blockers of sessions.
    Blockers,
}

/// The connection to a target, and the question that the target has not answered.
pub struct TargetConnection {
    remote: Box<Remote>,
    open: Option<Asker>,
    asked_ns: u64,
    looked_ns: u64,
}

impl TargetConnection {
    /// Takes over a connection without an open question.
    pub fn new(remote: Box<Remote>) -> TargetConnection {
        TargetConnection {
            remote,
            open: None,
            asked_ns: 0,
            looked_ns: 0,
        }
    }

    /// Whether a question is open.
    pub fn is_busy(&self) -> bool {
        self.open.is_some()
    }

    /// Time for which the open question has not been answered at the clock reading `now_ns`.
    pub fn silent_ns(&self, now_ns: u64) -> u64 {
        self.open
            .map_or(0, |_| now_ns.saturating_sub(self.asked_ns))
    }

    /// Asks, unless another question is open; whether it has asked. The first row of the query's
    /// last statement is the answer, as texts. The query must not depend on `search_path`, which is that
    /// of the role.
    pub fn ask(&mut self, asker: Asker, sql: &str) -> Result<bool> {
        if self.open.is_some() {
            return Ok(false);
        }
        self.remote.ask(sql)?;
        self.open = Some(asker);
        self.asked_ns = clock::now_ns();
        self.looked_ns = self.asked_ns;
        Ok(true)
    }

    /// The answer to a question of this asker, if it has arrived.
    pub fn answer(&mut self, asker: Asker) -> Result<Option<Vec<Option<String>>>> {
        if self.open != Some(asker) {
            return Ok(None);
        }
        self.looked_ns = clock::now_ns();
        let answer = self.remote.answer();
        // An error ends the question, too.
        if !matches!(answer, Ok(None)) {
            self.open = None;
        }
        let row = answer?;
        let bytes = row
            .iter()
            .flatten()
            .flatten()
            .map(String::len)
            .sum::<usize>();
        match bytes > MAX_ANSWER_BYTES {
            true => Err(Error::Limit("the target's answer is too long".into())),
            false => Ok(row),
        }
    }

    /// The clock reading at which to look for an answer; `u64::MAX` if no question is open.
    pub fn due_ns(&self) -> u64 {
        match self.open {
            Some(_) => self.looked_ns + LOOK_EVERY_NS,
            None => u64::MAX,
        }
    }

    /// The connection, for questions that wait for their answer, after the run; `None` if the target
    /// still owes an answer, as one that hangs does.
    pub fn into_remote(self) -> Option<Box<Remote>> {
        self.open.is_none().then_some(self.remote)
    }
}
