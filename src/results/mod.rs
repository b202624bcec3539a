//! Results of runs: writing their rows, reading them, and returning them as SQL values.

pub mod alerts;
pub mod dashboard;
pub mod delete;
mod insert;
pub mod jobs;
pub mod json;
pub mod load;
pub mod log;
pub mod pgio;
pub mod probes;
pub mod repeat;
pub mod result;
pub mod series;
pub mod sets;
pub mod store;
pub mod travel;
pub mod waits;
