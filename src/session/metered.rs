//! A session whose time is measured, for one turn of a client. Other turns use the session itself,
//! so that they pay nothing for it.

use super::spi::counting_rows;
use crate::clock;
use crate::shared::StatementRows;
use selfbench_client::{Block, Outcome, QueryResult, Session, Usage};
use selfbench_script::{Command, SqlCommand, Variables};

/// A session and the time that was spent in it.
pub struct Metered<'s, S> {
    session: &'s mut S,
    spent_ns: u64,
    rows: &'s [StatementRows],
}

impl<'s, S: Session> Metered<'s, S> {
    /// Measures this session from now on, and counts the rows of its statements.
    pub fn new(session: &'s mut S, rows: &'s [StatementRows]) -> Self {
        Metered {
            session,
            spent_ns: 0,
            rows,
        }
    }

    /// Time spent in it, in nanoseconds.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    fn timed<T>(&mut self, call: impl FnOnce(&mut S) -> T) -> T {
        let begin = clock::now_ns();
        let value = call(self.session);
        self.spent_ns += clock::now_ns().saturating_sub(begin);
        value
    }
}

impl<S: Session> Session for Metered<'_, S> {
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        let rows = self.timed(|session| counting_rows(|| session.submit(command, variables)));
        if let (Some(rows), Some(statement)) = (rows, self.rows.get(command.number)) {
            statement.count(rows);
        }
    }

    fn submit_rollback(&mut self) {
        self.timed(S::submit_rollback);
    }

    fn submit_begin(&mut self) {
        self.timed(S::submit_begin);
    }

    fn submit_commit(&mut self) {
        self.timed(S::submit_commit);
    }

    fn submit_usage(&mut self) {
        self.timed(S::submit_usage);
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
        self.timed(|session| session.start_pipeline(commands));
    }

    fn sync_pipeline(&mut self) {
        self.timed(S::sync_pipeline);
    }

    fn end_pipeline(&mut self) {
        self.timed(S::end_pipeline);
    }

    fn submit_connect(&mut self) {
        self.timed(S::submit_connect);
    }

    fn disconnect(&mut self) {
        self.timed(S::disconnect);
    }
}
