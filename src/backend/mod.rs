//! Behavior of a task's processes as server processes, for all kinds of processes.
//!
//! `identity` is the role and database that it connects to, `settings` copies the settings of the
//! caller's session, `limits` judges what roles may ask for. `transaction` and `statement` execute SQL, `analysis` and `parameters` read it, `parallel` lets the server validate
//! foreign keys by parallel plans, `unguarded` declares what a client calls in each transaction,
//! `timeouts` limits statements, `usage` reads the server's counters. `interrupts` handles signals,
//! `notices` receives what would be sent to a client, `events` and `alarm` wait for sockets and
//! clock readings, `horizon` lets a waiting caller keep no dead rows. `process` starts and ends processes, `peer` reads the state of others; `profiler` samples
//! its stacks; `fatal` keeps the FATAL error that ended the process.

#[allow(unsafe_code)]
pub mod activity;
#[allow(unsafe_code)]
pub mod aggregate;
pub mod alarm;
#[allow(unsafe_code)]
pub mod analysis;
#[allow(unsafe_code)]
pub mod call;
#[allow(unsafe_code)]
pub mod events;
#[allow(unsafe_code)]
pub mod fatal;
#[allow(unsafe_code)]
pub mod horizon;
#[allow(unsafe_code)]
pub mod identity;
#[allow(unsafe_code)]
pub mod interrupts;
pub mod limits;
pub mod notices;
#[allow(unsafe_code)]
pub mod parallel;
#[allow(unsafe_code)]
pub mod parameters;
#[allow(unsafe_code)]
pub mod peer;
#[allow(unsafe_code)]
pub mod process;
pub mod profiler;
#[allow(unsafe_code)]
pub mod settings;
#[allow(unsafe_code)]
pub mod statement;
#[allow(unsafe_code)]
pub mod timeouts;
#[allow(unsafe_code)]
pub mod transaction;
#[allow(unsafe_code)]
pub mod unguarded;
#[allow(unsafe_code)]
pub mod usage;
