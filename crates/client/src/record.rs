//! The interface between a client and the place where its figures are counted.

use crate::run_plan::{Failure, LogEntry, Transaction};
use selfbench_stats::Usage;

/// Destination of a client's figures.
pub trait Record {
    /// A transaction of `script` was successful.
    fn succeeded(&mut self, script: usize, transaction: &Transaction);
    /// A transaction of `script` failed finally, after that many retries and that much time since its
    /// begin.
    fn failed(&mut self, script: usize, failure: Failure, retries: u32, duration_ns: u64);
    /// A statement failed with that message, and its transaction with it, at least this time.
    fn statement_failed(&mut self, message: &str);
    /// A transaction of `script` was not begun because it would have been late from the start.
    fn skipped(&mut self, script: usize);
    /// The client's first transaction that counts began so long before the time in which they do.
    fn began_early(&mut self, early_ns: u64);
    /// A transaction ended before transactions count, with that latency.
    fn warmed_up(&mut self, latency_ns: u64);
    /// A connection was made within that time for a transaction that is counted, successful or
    /// failed.
    fn connected(&mut self, duration_ns: u64);
    /// The client executes this command from now on. Called for every command.
    fn reached(&mut self, script: usize, command: usize);
    /// The client waits for the scheduled start of a transaction and executes no command.
    fn left(&mut self);
    /// A command took that time, if commands are measured.
    fn executed(&mut self, script: usize, command: usize, duration_ns: u64);
    /// A command failed, and its transaction is tried `again` or has failed finally; if commands
    /// are measured.
    fn command_failed(&mut self, script: usize, command: usize, again: bool);
    /// Records what the client's session had used before transactions counted.
    fn usage_begins(&mut self, usage: &Usage);
    /// Records what the session had used at the end.
    fn usage_ends(&mut self, usage: &Usage);
    /// A transaction that was counted is to be logged.
    fn log(&mut self, entry: &LogEntry);
}
