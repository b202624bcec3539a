//! The runs of arms in rounds: their order, their seeds, and what came of them.

use super::Set;
use super::arms::Arm;
use crate::error::Result;
use selfbench_model::RunRecord;
use selfbench_stats::random::mix;
use std::collections::{BTreeMap, BTreeSet};

/// An arm that could not make that many runs one after the other makes no more.
const MAX_FAILURES: usize = 2;

/// A run that is planned: the position of its arm, and its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    /// Position of the arm.
    pub arm: usize,
    /// The round, 0 for a warm-up.
    pub round: i32,
}

/// The rounds of some arms, each in a random order of its own, which follows from the seed.
pub fn rounds(arms: &[usize], rounds: std::ops::RangeInclusive<i32>, seed: u64) -> Vec<Planned> {
    rounds
        .flat_map(|round| {
            let mut order = arms.to_vec();
            // Fisher and Yates.
            for last in (1..order.len()).rev() {
                let random = mix(seed, &[round as u64, last as u64]);
                order.swap(last, (random % (last as u64 + 1)) as usize);
            }
            order.into_iter().map(move |arm| Planned { arm, round })
        })
        .collect()
}

/// The seed that all runs of a round have: the arms execute the same values.
pub fn round_seed(seed: u64, round: i32) -> u64 {
    mix(seed, &[round as u64, u64::MAX])
}

/// What has come of the runs of a set.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// The runs, by the names of their arms, in their order.
    pub runs: BTreeMap<String, Vec<RunRecord>>,
    /// Why runs could not be made, by the names of their arms: the last error of each.
    pub failures: BTreeMap<String, String>,
}

impl Outcomes {
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

    /// The places of runs that are complete and need not be made again.
    fn done(&self) -> BTreeSet<(&str, i32)> {
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

/// Which planned runs have not been made.
pub fn left(plan: &[Planned], arms: &[Arm], outcomes: &Outcomes) -> Vec<Planned> {
    let done = outcomes.done();
    let is_left =
        |planned: &&Planned| !done.contains(&(arms[planned.arm].name.as_str(), planned.round));
    plan.iter().filter(is_left).copied().collect()
}

/// Makes planned runs. A run that fails does not end the set: another arm may be able to run, and so
/// may this one later.
pub fn perform(
    set: &mut Set<'_>,
    arms: &[Arm],
    plan: &[Planned],
    seed: u64,
    outcomes: &mut Outcomes,
) -> Result<()> {
    let mut in_a_row = vec![0; arms.len()];
    let mut first = None;
    for planned in plan {
        let arm = &arms[planned.arm];
        let Some(spec) = arm
            .spec
            .as_ref()
            .filter(|_| in_a_row[planned.arm] < MAX_FAILURES)
        else {
            set.skip();
            continue;
        };
        let mut spec = spec.clone();
        spec.seed = round_seed(seed, planned.round);
        match set.run(&spec, &arm.name, planned.round) {
            Ok(record) => {
                in_a_row[planned.arm] = 0;
                outcomes.add(record);
            }
            Err(error) => {
                in_a_row[planned.arm] += 1;
                let report = error.report().one_line();
                pgrx::notice!("arm \"{}\", round {}: {report}", arm.name, planned.round);
                outcomes.failures.insert(arm.name.clone(), report);
                first.get_or_insert(error);
            }
        }
    }
    match first {
        // There is nothing to return.
        Some(error) if outcomes.runs.is_empty() => Err(error),
        _ => Ok(()),
    }
}
