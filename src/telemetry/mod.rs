//! What the coordinator of a run observes beside the clients.
//!
//! `snapshots` detects snapshots that distort the figures.

pub mod snapshots;
