//! The scripts of a run and their commands.

use crate::figures::{Figures, Latency};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A row of `bench.run_scripts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunScript {
    /// The run.
    pub run_id: i64,
    /// Position among the run's scripts, from 0.
    pub script_no: i32,
    /// Name.
    pub name: String,
    /// Description, the "transaction type" of the report.
    pub description: String,
    /// The script as it was.
    #[serde(skip)]
    pub body: String,
    /// Weight.
    pub weight: i64,
    /// Limit of the 90th percentile of its response time, the latency without `\sleep`, if its workload has
    /// one.
    pub p90_limit_ms: Option<f64>,
    /// Successful transactions whose response time is above that limit.
    pub above_limit: Option<i64>,
    /// Successful transactions that were not rolled back, per minute, if its workload counts them so.
    pub per_minute: Option<f64>,
    /// Name of these transactions, such as `new orders`.
    pub per_minute_of: Option<String>,
    /// Its transactions.
    #[serde(flatten)]
    pub figures: Figures,
}

impl RunScript {
    /// Name of the mix of a workload that it is of: no other name has a colon, but paths and those that are
    /// quoted or have blanks.
    pub fn mix(&self) -> Option<&str> {
        let (mix, _) = self.name.split_once(':')?;
        (!self.name.contains(['/', '"', ' '])).then_some(mix)
    }

    /// Whether the 90th percentile of its response time is within the limit, if there is one and there were
    /// transactions.
    pub fn p90_is_met(&self) -> Option<bool> {
        let above_limit = u64::try_from(self.above_limit?).unwrap_or(0);
        let transactions = self.figures.counts.transactions;
        (transactions > 0).then_some(above_limit <= transactions / 10)
    }
}

/// A hash of the weights and texts of scripts, the same in any order and with any names: the beginning of
/// SHA-256 in hexadecimal digits.
pub fn scripts_hash(scripts: &[RunScript]) -> String {
    let of_script = |script: &RunScript| {
        let hash = Sha256::digest(&script.body);
        (hash.to_vec(), script.weight)
    };
    let mut hashes: Vec<_> = scripts.iter().map(of_script).collect();
    hashes.sort_unstable();
    let mut all = Sha256::new();
    for (hash, weight) in hashes {
        all.update(hash);
        all.update(weight.to_le_bytes());
    }
    let hash = all.finalize();
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A row of `bench.run_statements`: one command of a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStatement {
    /// The run.
    pub run_id: i64,
    /// Position of the script among the run's scripts, from 0.
    pub script_no: i32,
    /// Position among the script's commands, from 0.
    pub command_no: i32,
    /// Line of the script that it begins on, from 1.
    pub line: i32,
    /// All of its text.
    pub command: String,
    /// Number of successful executions.
    pub executions: i64,
    /// Transactions that failed for good at this command.
    pub failures: i64,
    /// Transactions that were tried again after it failed.
    pub retries: i64,
    /// Time of its successful executions.
    #[serde(flatten)]
    pub latency: Latency,
    /// Histogram of these times, encoded, with two significant digits.
    #[serde(skip)]
    pub histogram: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_by_weights_and_texts() {
        let script = |name: &str, body: &str, weight| RunScript {
            name: name.into(),
            body: body.into(),
            weight,
            ..RunScript::default()
        };
        let hash = scripts_hash(&[script("a", "SELECT 1;", 1), script("b", "SELECT 2;", 2)]);
        assert_eq!(hash.len(), 32);
        let renamed = [script("c", "SELECT 2;", 2), script("a", "SELECT 1;", 1)];
        assert_eq!(scripts_hash(&renamed), hash);
        let weighted = [script("a", "SELECT 1;", 2), script("b", "SELECT 2;", 1)];
        assert_ne!(scripts_hash(&weighted), hash);
        let changed = [script("a", "SELECT 1 ;", 1), script("b", "SELECT 2;", 2)];
        assert_ne!(scripts_hash(&changed), hash);
    }
}
