//! The stacks of the sampled processes of a run.

use serde::{Deserialize, Serialize};

/// A row of `bench.run_stacks`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStack {
    /// The run.
    pub run_id: i64,
    /// The kind of process.
    pub process: String,
    /// The names of functions from the root to the leaf, separated by semicolons.
    pub stack: String,
    /// Number of samples.
    pub samples: i64,
}

/// A row of `bench.run_profiles`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunProfile {
    /// The run.
    pub run_id: i64,
    /// The kind of process.
    pub process: String,
    /// Number of them.
    pub processes: i32,
    /// Whether they were sampled.
    pub sampled: bool,
    /// CPU time that they used.
    pub cpu_ms: Option<f64>,
    /// Samples of their stacks.
    pub samples: Option<i64>,
    /// Samples of which frames of the root are missing.
    pub incomplete: Option<i64>,
    /// Samples for which there was no room.
    pub lost: Option<i64>,
    /// CPU time that sampling took them.
    pub cost_ms: Option<f64>,
}
