//! Statements through SPI: executed where they are submitted, in this very process.
//!
//! Each statement is handled as a backend handles one from a client: start timestamp, entry in the
//! activity view, `statement_timeout`, a transaction of its own unless a block is open, and
//! statistics are reported at the end of the transaction. The protocols mirror the wire's:
//! *simple* parses and plans the substituted text each time, *extended* parses and plans with
//! parameters each time, *prepared* keeps a plan per statement, which the executor executes without
//! SPI where it can. Rows that no command stores are discarded.
//!
//! Transaction control is executed by the server's own implementation, as a utility command, so that
//! blocks, savepoints, isolation levels and chains behave as in any session. CALL, DO and DECLARE
//! CURSOR go through a portal of their own instead of SPI: a procedure can commit as it can where a
//! client calls it, and a cursor must be in a block.
//!
//! Statements of a pipeline share a transaction up to the next sync, and once one has failed the
//! others up to there are skipped. Statements that are sent together (`\;`) are executed one by one
//! in an implicit transaction block, as the server's simple query protocol does.
//!
//! `session` is the interface to the client. `examine` parses a statement before its first
//! execution, with the help of `classify`; `execute` executes it: through a saved `plan`, as a
//! `query` of SPI, as a `utility` command, as a `call` or as one of `several`. `command` starts and
//! finishes the transaction command around each statement, `errors` forms the errors, `command_hook`
//! rejects LISTEN. `timed` is the session of the transactions that are sampled, as a whole or, by `meter`
//! and the server's `hooks`, in parts. `guard` keeps a captured workload from changing what is not a copy.

#[allow(unsafe_code)]
mod call;
#[allow(unsafe_code)]
mod classify;
#[allow(unsafe_code)]
mod command;
#[allow(unsafe_code)]
mod command_hook;
#[allow(unsafe_code)]
mod errors;
#[allow(unsafe_code)]
mod examine;
#[allow(unsafe_code)]
mod execute;
#[allow(unsafe_code)]
pub mod guard;
#[allow(unsafe_code)]
mod hooks;
mod meter;
#[allow(unsafe_code)]
mod plan;
#[allow(unsafe_code)]
mod query;
#[allow(unsafe_code)]
mod session;
#[allow(unsafe_code)]
mod several;
mod timed;
#[allow(unsafe_code)]
mod utility;

pub use command_hook::watch_commands;
pub use session::SpiSession;
pub use timed::Timed;
