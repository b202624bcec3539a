//! Conditions of a workload, as they were found after a run.

use serde::{Deserialize, Serialize};

/// A row of `bench.run_checks`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCheck {
    /// The run.
    pub run_id: i64,
    /// Position among the conditions of the workload, from 0.
    pub check_no: i32,
    /// Name of the condition.
    pub condition: String,
    /// The condition in words.
    pub description: String,
    /// Whether it holds; `None` if it was not judged.
    pub holds: Option<bool>,
    /// Number of rows that violate it; `None` if it could not be evaluated.
    pub violations: Option<i64>,
    /// One of these rows, or why it could not be evaluated.
    pub example: Option<String>,
}

impl RunCheck {
    /// Whether it could not be evaluated.
    pub fn has_failed(&self) -> bool {
        self.violations.is_none()
    }
}
