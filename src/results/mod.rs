//! Results of runs: rows as they are stored, where they come from, and what is made of them.

pub mod convert;
pub mod store;
