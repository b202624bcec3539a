//! The interface between a client and the way in which its statements reach the server.

use selfbench_script::{SqlCommand, Variables};

/// How one statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Successfully.
    Done,
    /// With an error.
    Failed(SqlError),
}

/// An error of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// Five characters; empty if the server sent none.
    pub sqlstate: String,
    /// The server's message with its severity, as psql shows it.
    pub message: String,
    /// The session cannot go on.
    pub lost: bool,
}

/// Whether a transaction block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// None.
    None,
    /// Open.
    Open,
    /// Open, and failed: only its end is accepted.
    Failed,
}

/// One client's way to the server. One statement is in progress at a time.
pub trait Session {
    /// Begins to execute a statement with these values. Its outcome comes from
    /// [`Session::poll`], also if it cannot be begun.
    fn submit(&mut self, command: &SqlCommand, variables: &Variables);
    /// Begins to roll back the open transaction block; polled like a statement.
    fn submit_rollback(&mut self);
    /// The outcome of what was submitted; `None` while it is still in progress.
    fn poll(&mut self) -> Option<Outcome>;
    /// Whether a transaction block is open, when no statement is in progress.
    fn block(&self) -> Block;
}
