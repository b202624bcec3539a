//! The session in a turn that is sampled: other turns use the session itself, so that they pay nothing
//! for it.

use super::hooks::{Hooks, counting_rows};
use super::meter::{self, Part, enter};
use super::session::SpiSession;
use crate::clock;
use crate::shared::StatementRows;
use selfbench_client::{Block, Outcome, QueryResult, Session, Usage};
use selfbench_script::{Command, SqlCommand, Variables};
use selfbench_stats::TurnParts;

/// A session that is timed: with `PARTS`, the CPU time of its parts and of the rest of the turn;
/// otherwise its time as a whole, and the rows of its statements are counted.
pub struct Timed<'s, const PARTS: bool> {
    session: &'s mut SpiSession,
    rows: &'s [StatementRows],
    spent_ns: u64,
}

impl<'s, const PARTS: bool> Timed<'s, PARTS> {
    /// Executes a turn of a client with this session, and gives the CPU time of its parts, or the time
    /// in the session as `session_ns`.
    pub fn turn<T>(
        session: &'s mut SpiSession,
        rows: &'s [StatementRows],
        turn: impl FnOnce(&mut Self) -> T,
    ) -> (T, TurnParts) {
        let mut timed = Timed {
            session,
            rows,
            spent_ns: 0,
        };
        if PARTS {
            let _hooks = Hooks::set();
            meter::begin();
            return (turn(&mut timed), meter::end());
        }
        let value = turn(&mut timed);
        let parts = TurnParts {
            session_ns: timed.spent_ns,
            ..TurnParts::default()
        };
        (value, parts)
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut SpiSession) -> T) -> T {
        let begin_ns = if PARTS { 0 } else { clock::now_ns() };
        enter::<PARTS>(Part::Statement);
        let value = call(self.session);
        enter::<PARTS>(Part::Harness);
        if !PARTS {
            self.spent_ns += clock::now_ns().saturating_sub(begin_ns);
        }
        value
    }
}

impl<const PARTS: bool> Session for Timed<'_, PARTS> {
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        let submit = |session: &mut SpiSession| session.submit_as::<PARTS>(command, variables);
        if PARTS {
            return self.call(submit);
        }
        let rows = self.call(|session| counting_rows(|| submit(session)));
        if let (Some(rows), Some(statement)) = (rows, self.rows.get(command.number)) {
            statement.count(rows);
        }
    }

    fn submit_rollback(&mut self) {
        self.call(|session| {
            enter::<PARTS>(Part::Commit);
            session.submit_rollback();
        });
    }

    fn submit_begin(&mut self) {
        self.call(SpiSession::submit_begin_as::<PARTS>);
    }

    fn submit_commit(&mut self) {
        self.call(SpiSession::submit_commit_as::<PARTS>);
    }

    fn submit_usage(&mut self) {
        self.call(Session::submit_usage);
    }

    fn usage(&self) -> Option<Usage> {
        self.session.usage()
    }

    fn poll(&mut self) -> Option<Outcome> {
        self.session.poll()
    }

    fn block(&self) -> Block {
        self.session.block()
    }

    fn results(&self) -> &[QueryResult] {
        self.session.results()
    }

    fn start_pipeline(&mut self, commands: &[Command]) {
        self.call(|session| session.start_pipeline(commands));
    }

    fn sync_pipeline(&mut self) {
        self.call(SpiSession::sync_as::<PARTS>);
    }

    fn end_pipeline(&mut self) {
        self.call(SpiSession::end_pipeline_as::<PARTS>);
    }

    fn submit_connect(&mut self) {
        self.call(Session::submit_connect);
    }

    fn disconnect(&mut self) {
        self.call(Session::disconnect);
    }
}
