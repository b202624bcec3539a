//! The state machine of one benchmark client.
//!
//! A client repeats: choose a script, execute its commands one after the other, record the
//! transaction. It never blocks and knows neither SPI nor sockets: statements go to a [`Session`],
//! which is polled for their outcome, time comes from a [`Control`], figures go to a [`Record`].
//! Whoever drives clients calls [`Client::advance`] and does what the returned [`Step`] says.

mod client;
mod session;

pub use client::{Client, Failure, Plan, Step, Transaction};
pub use session::{Block, Outcome, Session, SqlError};

/// What a client needs to know of the world outside.
pub trait Control {
    /// Monotonic clock in nanoseconds, the same for all clients of a run.
    fn now_ns(&self) -> u64;
    /// Whether the run is being cancelled; no further statement is submitted then.
    fn stop(&self) -> bool;
}

/// Where a client's figures go.
pub trait Record {
    /// A transaction of `script` was successful.
    fn succeeded(&mut self, script: usize, transaction: &Transaction);
    /// A transaction of `script` failed for good, after that many retries.
    fn failed(&mut self, script: usize, failure: Failure, retries: u32);
    /// A transaction ended before transactions count.
    fn warmed_up(&mut self);
}
