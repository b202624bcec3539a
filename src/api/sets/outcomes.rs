//! Outcomes of the runs of a set: those that were made, and why others could not be.

use crate::error::{Error, Result, message};
use crate::results::load;
use crate::results::sets::StoredSet;
use selfbench_model::RunRecord;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The key under which a set's row keeps the errors of runs that could not be made.
pub const FAILURES: &str = "failures";

/// Outcomes of the runs of a set.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// The runs, by the names of their arms, in their order.
    pub runs: BTreeMap<String, Vec<RunRecord>>,
    /// Why runs could not be made, by the names of their arms: the last error of each.
    pub failures: BTreeMap<String, String>,
    /// The first error of a run.
    pub first: Option<Error>,
    /// Errors of runs that the caller has not been told, a line for each.
    pub untold: Vec<String>,
}

impl Outcomes {
    /// Outcomes of a stored set so far, of runs that the caller may see.
    pub fn stored(set_id: i64, set: &StoredSet) -> Result<Outcomes> {
        let mut outcomes = Outcomes::default();
        for record in load::load_set(set_id)? {
            outcomes.add(record);
        }
        if let Some(Value::Object(failures)) = set.found(FAILURES) {
            let text = |why: &Value| why.as_str().map(str::to_owned);
            let failures = failures.iter();
            outcomes.failures = failures
                .filter_map(|(arm, why)| Some((arm.clone(), text(why)?)))
                .collect();
        }
        Ok(outcomes)
    }

    /// Tells the caller the errors of runs that it has not been told.
    pub fn tell(&mut self) {
        self.untold.drain(..).for_each(|line| message::notice(line));
    }

    /// Adds a run, which has its place in the set.
    pub fn add(&mut self, record: RunRecord) {
        if let Some(arm) = &record.run.arm {
            self.runs.entry(arm.clone()).or_default().push(record);
        }
    }

    /// The runs of an arm that count, by their rounds.
    pub fn counting(&self, arm: &str) -> BTreeMap<i32, &RunRecord> {
        let runs = self.runs.get(arm).into_iter().flatten();
        runs.filter(|record| counts(record))
            .filter_map(|record| Some((record.run.round.filter(|round| *round > 0)?, record)))
            .collect()
    }

    /// The runs of an arm that do not count, of rounds in which no other one does.
    pub fn missing(&self, arm: &str) -> Vec<&RunRecord> {
        let counting = self.counting(arm);
        let runs = self.runs.get(arm).into_iter().flatten();
        runs.filter(|record| {
            let round = record.run.round.unwrap_or_default();
            round > 0 && !counting.contains_key(&round)
        })
        .collect()
    }

    /// Why runs of an arm are missing: the error of the last one, or of one that could not be made.
    pub fn why_missing(&self, arm: &str) -> Option<&str> {
        let missing = self.missing(arm);
        let of_run = missing.last().and_then(|record| record.run.errors.first());
        of_run.or(self.failures.get(arm)).map(String::as_str)
    }

    /// The places of runs that are complete and need not be made again.
    pub fn done(&self) -> BTreeSet<(&str, i32)> {
        let all = self.runs.iter();
        all.flat_map(|(arm, runs)| {
            let complete = runs.iter().filter(|record| counts(record));
            complete.filter_map(|record| Some((arm.as_str(), record.run.round?)))
        })
        .collect()
    }
}

/// Whether a run did all that it was asked for, with all of its clients.
pub fn counts(record: &RunRecord) -> bool {
    record.run.is_complete() && record.run.figures.tps.is_some()
}
