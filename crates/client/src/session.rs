//! The interface through which a client's statements reach the server.

use selfbench_script::{Command, SqlCommand, Variables};
use selfbench_stats::Usage;

/// Maximum length of a value that is stored in a variable, in bytes: every client that stores a value
/// copies it several times before the next statement is sent.
pub const MAX_VALUE_BYTES: usize = 16 << 20;

/// Outcome of a statement, or of another request to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Successfully.
    Done,
    /// With an error.
    Failed(SqlError),
}

/// An error of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlError {
    /// Five characters; empty if the server sent none.
    pub sqlstate: String,
    /// The server's message with its severity, as psql shows it.
    pub message: String,
    /// The session cannot go on.
    pub lost: bool,
    /// Index of the failed statement among those sent together, from 0.
    pub query: usize,
}

/// Whether a transaction block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// No block.
    None,
    /// Open.
    Open,
    /// Open, and failed: only its end is accepted.
    Failed,
}

/// Result of one statement, as far as `\gset` and `\aset` need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// The number of rows; 0 for a statement that returns none by its nature.
    pub rows: u64,
    /// The columns of the last row; empty if there is no row.
    pub last_row: Vec<Column>,
}

/// One column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Value.
    pub value: ColumnValue,
}

/// The value of a column in text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValue {
    /// SQL NULL.
    Null,
    /// Any other value.
    Text(String),
    /// A value of that many bytes, which is more than [`MAX_VALUE_BYTES`].
    TooLong(usize),
    /// A value that is not ASCII, of a database whose encoding is not UTF-8.
    NotAscii,
}

/// One client's connection to the server. At most one request is in progress at a time.
pub trait Session {
    /// Begins to execute a statement with these values. Its outcome comes from
    /// [`Session::poll`], also if it cannot be begun. Within a pipeline it is not polled: errors
    /// are part of the outcome of the pipeline.
    fn submit(&mut self, command: &SqlCommand, variables: &Variables);
    /// Begins to roll back the open transaction block; polled like a statement.
    fn submit_rollback(&mut self);
    /// Begins to open a transaction block; polled like a statement.
    fn submit_begin(&mut self);
    /// Begins to commit the open transaction block; polled like a statement.
    fn submit_commit(&mut self);
    /// Begins to read what the session has used; polled like a statement. It does not belong to the
    /// run's statements and is submitted after a stop request, too.
    fn submit_usage(&mut self);
    /// Returns the usage that was read last; `None` if it could not be read.
    fn usage(&self) -> Option<Usage>;
    /// The outcome of what was submitted; `None` while it is still in progress.
    fn poll(&mut self) -> Option<Outcome>;
    /// Whether a transaction block is open, when nothing is in progress.
    fn block(&self) -> Block;
    /// Returns the results of the statement polled last, up to its error if it failed: one entry
    /// per statement sent together. Only for commands that store results.
    fn results(&self) -> &[QueryResult];
    /// Begins a pipeline; polled like a statement. `commands` are those that follow in the script:
    /// statements up to the pipeline's end that need preparation are prepared first.
    fn start_pipeline(&mut self, commands: &[Command]);
    /// Ends an implicit transaction within the pipeline. Not polled.
    fn sync_pipeline(&mut self);
    /// Begins to end the pipeline; polled like a statement. The outcome comes when the pipeline
    /// is over, with the first error of its statements if there was one.
    fn end_pipeline(&mut self);
    /// Begins to connect a session that is not connected; polled like a statement.
    fn submit_connect(&mut self);
    /// Closes the connection and forgets what was prepared.
    fn disconnect(&mut self);
}
