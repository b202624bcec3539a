//! The state machine of one benchmark client.
//!
//! A client repeats: choose a script, wait for its scheduled start if there is a rate, execute its
//! commands one after the other, record the transaction. It never blocks and knows neither SPI nor
//! sockets: statements go to a [`Session`], which is polled for their outcome, time comes from a
//! [`Control`], options from a [`RunPlan`], figures go to a [`Record`]. A driver of clients passes
//! them as a [`Context`] to [`Client::advance`] and acts on the returned [`Step`].

mod client;
mod context;
mod control;
mod record;
mod run_plan;
mod session;
mod store;
mod usage;

pub use client::{Client, Step};
pub use context::Context;
pub use control::{Control, ShellEnd};
pub use record::Record;
pub use run_plan::{Ending, Failure, LogEntry, RunPlan, Thread, Transaction, UNKNOWN_NS};
pub use selfbench_stats::Usage;
pub use session::{
    Block, Column, ColumnValue, MAX_VALUE_BYTES, Outcome, QueryResult, Session, SqlError,
};
