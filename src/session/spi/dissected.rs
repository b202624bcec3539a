//! The session in a transaction whose parts are timed.

use super::hooks::Hooks;
use super::meter::{self, Part, enter};
use super::session::SpiSession;
use selfbench_client::{Block, Outcome, QueryResult, Session, Usage};
use selfbench_script::{Command, SqlCommand, Variables};
use selfbench_stats::TurnParts;

/// A session in a transaction whose parts are timed.
pub struct Dissected<'s>(&'s mut SpiSession);

impl Dissected<'_> {
    fn call<T>(&mut self, call: impl FnOnce(&mut SpiSession) -> T) -> T {
        enter::<true>(Part::Statement);
        let value = call(self.0);
        enter::<true>(Part::Harness);
        value
    }
}

impl Session for Dissected<'_> {
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        self.call(|session| session.submit_as::<true>(command, variables));
    }

    fn submit_rollback(&mut self) {
        self.call(|session| {
            enter::<true>(Part::Commit);
            session.submit_rollback();
        });
    }

    fn submit_begin(&mut self) {
        self.call(SpiSession::submit_begin_as::<true>);
    }

    fn submit_commit(&mut self) {
        self.call(SpiSession::submit_commit_as::<true>);
    }

    fn submit_usage(&mut self) {
        self.call(Session::submit_usage);
    }

    fn usage(&self) -> Option<Usage> {
        self.0.usage()
    }

    fn poll(&mut self) -> Option<Outcome> {
        self.0.poll()
    }

    fn block(&self) -> Block {
        self.0.block()
    }

    fn results(&self) -> &[QueryResult] {
        self.0.results()
    }

    fn start_pipeline(&mut self, commands: &[Command]) {
        self.call(|session| session.start_pipeline(commands));
    }

    fn sync_pipeline(&mut self) {
        self.call(SpiSession::sync_as::<true>);
    }

    fn end_pipeline(&mut self) {
        self.call(SpiSession::end_pipeline_as::<true>);
    }

    fn submit_connect(&mut self) {
        self.call(Session::submit_connect);
    }

    fn disconnect(&mut self) {
        self.call(Session::disconnect);
    }
}

impl<'s> Dissected<'s> {
    /// Executes `turn` of a client with this session, and gives the CPU time of its parts.
    pub fn time<T>(
        session: &'s mut SpiSession,
        turn: impl FnOnce(&mut Dissected<'s>) -> T,
    ) -> (T, TurnParts) {
        let hooks = Hooks::set();
        meter::begin();
        let value = turn(&mut Dissected(session));
        let parts = meter::end();
        drop(hooks);
        (value, parts)
    }
}
