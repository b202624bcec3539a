//! A set: runs that belong together, as the tables have it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

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
    /// The value sets that its scripts draw from.
    pub value_sets: Vec<DrawnSet>,
}

/// A value set that scripts draw from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnSet {
    /// Its name.
    pub name: String,
    /// Number of values that are used of each row, from the first on.
    pub columns: usize,
    /// Digest of these values.
    pub digest: String,
}

impl DrawnSet {
    /// The set with these values, as words and texts.
    pub fn new(name: String, columns: usize, words: &[u64], texts: &str) -> DrawnSet {
        let mut digest = Sha256::new();
        for word in words {
            digest.update(word.to_le_bytes());
        }
        digest.update(texts);
        DrawnSet {
            name,
            columns,
            digest: format!("{:x}", digest.finalize()),
        }
    }

    /// Whether it is the same set as another one, with other values.
    pub fn has_changed(&self, before: &DrawnSet) -> bool {
        self.name == before.name && self.columns == before.columns && self.digest != before.digest
    }
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
