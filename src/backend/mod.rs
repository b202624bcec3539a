//! Behavior of a task's processes as server processes, for all kinds of processes.
//!
//! `identity` is the role and database that it connects to, `settings` copies the settings of the
//! caller's session. `transaction` and `statement` execute SQL, `parallel` lets the server validate
//! foreign keys by parallel plans, `unguarded` declares what a client calls in each transaction,
//! `timeouts` limits statements, `usage` reads the server's counters. `interrupts` handles signals,
//! `notices` receives what would be sent to a client, `events` and `alarm` wait for sockets and
//! clock readings, `horizon` lets a waiting caller keep no dead rows, `descriptors` keeps files
//! open. `process` starts and ends processes, `peer` reads the state of others; `profiler` samples
//! its stacks; `fatal` keeps the FATAL error that ended the process.

pub mod activity;
pub mod aggregate;
pub mod alarm;
pub mod analysis;
pub mod call;
pub mod descriptors;
pub mod events;
pub mod fatal;
pub mod horizon;
pub mod identity;
pub mod interrupts;
pub mod notices;
pub mod parallel;
pub mod peer;
pub mod process;
pub mod profiler;
pub mod settings;
pub mod statement;
pub mod timeouts;
pub mod transaction;
pub mod unguarded;
pub mod usage;
