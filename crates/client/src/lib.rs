//! The state machine of one benchmark client.
//!
//! A client repeats: choose a script, wait for its scheduled start if there is a rate, execute its
//! commands one after the other, record the transaction. It never blocks and knows neither SPI nor
//! sockets: statements go to a [`Session`], which is polled for their outcome, time comes from a
//! [`Control`], figures go to a [`Record`]. Whoever drives clients calls [`Client::advance`] and
//! does what the returned [`Step`] says.

mod client;
mod plan;
mod session;
mod store;

pub use client::{Client, Step};
pub use plan::{Ending, Failure, LogEntry, Plan, Thread, Transaction};
pub use session::{
    Block, Column, ColumnValue, MAX_VALUE_BYTES, Outcome, QueryResult, Session, SqlError, Usage,
};

/// What a client needs of the world outside.
pub trait Control {
    /// Monotonic clock in nanoseconds, the same for all clients of a run.
    fn now_ns(&self) -> u64;
    /// Whether the client's driver has no other client and advances it again as soon as a
    /// transaction has ended: then the next one begins at the clock reading at which that one has
    /// ended.
    fn is_alone(&self) -> bool {
        false
    }
    /// Whether the run is being cancelled; no further statement is submitted then.
    fn stop(&self) -> bool;
    /// Ends the whole run, since a client was aborted.
    fn request_stop(&self);
    /// Runs a command line in the system's shell and waits for its end. With `output`, appends its
    /// standard output, of which the first line is enough, and gives whether it could be run;
    /// without, tells its lines and gives whether it ended with status 0. A stop request ends it.
    fn shell(&self, line: &str, output: Option<&mut Vec<u8>>) -> bool;
    /// Tells whoever watches the run a line: what the function `debug` writes, and errors that do
    /// not abort the client, if they are to be told.
    fn tell(&self, line: &str);
}

/// Where a client's figures go.
pub trait Record {
    /// A transaction of `script` was successful.
    fn succeeded(&mut self, script: usize, transaction: &Transaction);
    /// A transaction of `script` failed for good, after that many retries.
    fn failed(&mut self, script: usize, failure: Failure, retries: u32);
    /// A transaction of `script` was not begun, since it would have been late from the start.
    fn skipped(&mut self, script: usize);
    /// A transaction ended before transactions count.
    fn warmed_up(&mut self);
    /// A connection was made within that time for a transaction that is counted, successful or
    /// failed.
    fn connected(&mut self, duration_ns: u64);
    /// A command was executed within that time, if commands are measured.
    fn executed(&mut self, script: usize, command: usize, duration_ns: u64);
    /// A command failed, and its transaction is tried `again` or has failed for good; if commands
    /// are measured.
    fn command_failed(&mut self, script: usize, command: usize, again: bool);
    /// What the client's session had used before transactions counted.
    fn usage_begins(&mut self, usage: &Usage);
    /// What it had used at the end.
    fn usage_ends(&mut self, usage: &Usage);
    /// A transaction that was counted is to be logged.
    fn log(&mut self, entry: &LogEntry);
}
