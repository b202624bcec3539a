//! How a process of ours behaves as a server process, whichever part of a task it does.
//!
//! `identity` is under whom it connects, `settings` what it takes over from the caller's session.
//! `transaction` and `statement` are how it uses the database, `interrupts` how it answers signals,
//! `horizon` how a caller that waits holds nothing up. `process` is how it begins and ends, and what
//! it knows of others; `fatal` keeps why it ended.

pub mod fatal;
pub mod horizon;
pub mod identity;
pub mod interrupts;
pub mod process;
pub mod settings;
pub mod statement;
pub mod transaction;
