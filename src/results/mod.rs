//! Results of runs: how their rows go into tables, come out of them, and become SQL results.

pub mod delete;
mod insert;
mod json;
pub mod load;
pub mod log;
pub mod pgio;
pub mod result;
pub mod store;
