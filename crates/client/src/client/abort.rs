//! Why clients are aborted, in pgbench's words.

use super::{Client, State, Step};
use crate::session::SqlError;
use crate::store::StoreError;

impl Client<'_> {
    fn abort(&mut self, reason: String) -> Step {
        self.state = State::Ended;
        Step::Aborted { reason }
    }

    pub(super) fn abort_connection(&mut self, error: &SqlError) -> Step {
        self.abort(format!(
            "client {} aborted while establishing connection; {}",
            self.number, error.message
        ))
    }

    pub(super) fn abort_open_pipeline(&mut self) -> Step {
        self.abort(format!(
            "client {} aborted: end of script reached with pipeline open",
            self.number
        ))
    }

    pub(super) fn abort_open_transaction(&mut self) -> Step {
        self.abort(format!(
            "client {} aborted: end of script reached without completing the last transaction",
            self.number
        ))
    }

    pub(super) fn abort_rollback(&mut self, error: &SqlError) -> Step {
        self.abort(format!(
            "client {} aborted while rolling back the transaction after an error; {}",
            self.number, error.message
        ))
    }

    pub(super) fn abort_block(&mut self, what: &str, error: &SqlError) -> Step {
        let number = self.number;
        let message = &error.message;
        self.abort(format!(
            "client {number} aborted while {what} a transaction block; {message}"
        ))
    }

    pub(super) fn abort_statement(&mut self, error: &SqlError) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "client {client} script {script} aborted in command {command} query {}: {}",
            error.query, error.message
        ))
    }

    pub(super) fn abort_store(&mut self, error: StoreError) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        let cause = error.cause.map_or(String::new(), |cause| cause + "; ");
        self.abort(format!(
            "{cause}client {client} script {script} command {command} query {}: {}",
            error.query, error.message
        ))
    }

    /// `message` is the cause, if there is a text for it; `name` what pgbench calls the command: as
    /// typed if an evaluation or assignment failed.
    pub(super) fn abort_meta(&mut self, name: &str, message: &str, summary: &str) -> Step {
        match self.abort_command(name, summary) {
            Step::Aborted { reason } if !message.is_empty() => Step::Aborted {
                reason: format!("{message}; {reason}"),
            },
            other => other,
        }
    }

    pub(super) fn abort_command(&mut self, name: &str, summary: &str) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "client {client} aborted in command {command} ({name}) of script {script}; {summary}"
        ))
    }
}
