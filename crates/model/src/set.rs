//! A set: runs that belong together, as the tables have it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a set.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetKind {
    /// Arms that are compared with each other.
    Compare,
    /// The points of a grid of options.
    Sweep,
    /// Probes for the highest rate under a limit of latency.
    FindCapacity,
}

impl SetKind {
    /// The name of the function that makes such sets, which tables use, too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compare => "compare",
            Self::Sweep => "sweep",
            Self::FindCapacity => "find_capacity",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<SetKind> {
        [Self::Compare, Self::Sweep, Self::FindCapacity]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// State of a set.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetState {
    /// Running; lost, if no session drives it.
    Running,
    /// All runs have been made.
    Finished,
    /// Ended by an error.
    Failed,
    /// Ended by a request to cancel.
    Canceled,
}

impl SetState {
    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// Data of a set when it begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewSet {
    /// Kind.
    pub kind: SetKind,
    /// The caller's label.
    pub label: Option<String>,
    /// Everything that it was asked for, with all defaults resolved.
    pub options: Value,
    /// The seed from which the order of its runs and the seeds of their rounds follow.
    pub seed: u64,
    /// Number of its runs, if that is known.
    pub planned_runs: Option<i32>,
}

/// End of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetEnd {
    /// Finished, failed or canceled.
    pub state: SetState,
    /// The error that ended it.
    pub error: Option<String>,
    /// Result, if its runs alone do not tell.
    pub result: Option<Value>,
}
