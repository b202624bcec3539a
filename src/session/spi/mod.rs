//! Statements through SPI: executed where they are submitted, in this very process.
//!
//! Each statement gets what a backend gives to one that a client sent: a start timestamp, an entry
//! in the activity view, `statement_timeout`, a transaction of its own unless a block is open, and
//! at the end of the transaction the statistics are reported. The protocols mirror the wire's:
//! *simple* parses and plans the substituted text each time, *extended* parses and plans with
//! parameters each time, *prepared* keeps a plan per statement, which the executor executes without
//! SPI where it can. Rows that no command stores are thrown away as they come.
//!
//! Transaction control goes to the server's own implementation as a utility command, so that
//! blocks, savepoints, isolation levels and chains mean here what they mean there. CALL, DO and DECLARE
//! CURSOR go through a portal of their own instead of SPI: a procedure can commit as it can where a
//! client calls it, and a cursor must be in a block.
//!
//! Statements of a pipeline share a transaction up to the next sync, and once one has failed the
//! others up to there are skipped. Statements that are sent together (`\;`) are executed one by one
//! in an implicit transaction block, as the server's simple query protocol does.
//!
//! `session` is what the client sees. `examine` looks at a statement before its first execution,
//! with the help of `classify`; `execute` executes it, by a `plan` that stays, by a `query` of SPI,
//! as a `utility` command, by a `call` or as one of `several`. `command` is what is around each of
//! them, `errors` what becomes of their failures, `listen` what no client may do.

mod call;
mod classify;
mod command;
mod errors;
mod examine;
mod execute;
mod listen;
mod plan;
mod query;
mod session;
mod several;
mod utility;

pub use listen::refuse_listen;
pub use session::SpiSession;
