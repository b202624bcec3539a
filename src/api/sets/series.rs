//! A series: arms that are run several times, in rounds. Comparisons and sweeps are series.

use super::arms::{self, Arm};
use super::outcomes::{FAILURES, Outcomes};
use super::{Set, SetResult};
use crate::api::launch::require_writable;
use crate::api::run::conclude;
use crate::api::warnings;
use crate::backend::limits::Asked;
use crate::check::{self, Seed, list};
use crate::error::{Report, Result};
use crate::options::Stored;
use crate::results::sets::StoredSet;
use crate::run::{Mode, ReadSets, RunOptions, RunSpec, Vacuum};
use crate::security;
use pgrx::prelude::*;
use selfbench_model::{DrawnSet, NewSet, SetKind};
use selfbench_stats::random::mix;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// Most rounds that count.
const MAX_REPEATS: i32 = 1000;
/// An arm that could not make that many runs one after the other makes no more.
const MAX_FAILURES: usize = 2;
/// The key under which a set's row keeps why arms cannot run.
const CANNOT_RUN: &str = "cannot_run";

/// A run that is planned: the position of its arm, and its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    /// Position of the arm.
    pub arm: usize,
    /// The round, 0 for a warm-up.
    pub round: i32,
}

/// A series: all that its runs follow from.
pub struct Series {
    /// The arms.
    pub arms: Vec<Arm>,
    /// The number of rounds that count.
    pub repeats: i32,
    /// The order of the runs and the seeds of the rounds follow from it.
    pub seed: u64,
}

impl Series {
    /// The series of the arms that a document has, at most `limit`, whose options are checked. `scales` are
    /// those at which tables are loaded before the runs of each arm, if they are.
    ///
    /// Everything is looked up before the first wait: what is wrong is told before anything has run,
    /// and what others change meanwhile changes no run.
    pub fn new(
        document: &Value,
        common: &RunOptions,
        repeats: i32,
        limit: usize,
        scales: &[Option<i32>],
    ) -> Result<Series> {
        let seed = check::seed(common.seed.as_ref())?;
        let mut series = Series {
            repeats: check::in_range("repeats", repeats, 1, MAX_REPEATS)?,
            seed,
            arms: arms::parse(document, &with_seed(common, seed), limit)?,
        };
        series.set_scales(scales);
        series.check()?;
        warnings::tell_unused_variables(series.arms.iter().filter_map(|arm| arm.spec.as_ref()))?;
        Ok(series)
    }

    /// Stored form.
    pub fn document(&self) -> Map<String, Value> {
        let arms: Vec<Value> = self.arms.iter().map(Arm::document).collect();
        let members = [("repeats", json!(self.repeats)), ("arms", json!(arms))];
        members
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect()
    }

    /// Reads what [`document`](Self::document) has stored.
    pub fn stored(set: &StoredSet) -> Result<Series> {
        let repeats = set.option("repeats")?.as_i64();
        let repeats = repeats.and_then(|n| i32::try_from(n).ok());
        let common = with_seed(&RunOptions::default(), set.seed);
        let mut arms = arms::parse(set.option("arms")?, &common, usize::MAX)?;
        for arm in &mut arms {
            let why = set
                .found(CANNOT_RUN)
                .and_then(|cannot| cannot.get(&arm.name));
            arm.cannot = why.and_then(Value::as_str).map(str::to_owned);
        }
        Ok(Series {
            arms,
            repeats: repeats.ok_or_else(StoredSet::unreadable)?,
            seed: set.seed,
        })
    }

    /// Has tables loaded at these scales before the runs of each arm.
    pub fn set_scales(&mut self, scales: &[Option<i32>]) {
        for (arm, scale) in self.arms.iter_mut().zip(scales) {
            arm.scale = *scale;
        }
    }

    /// The set that it is when it begins.
    pub fn new_set(
        &self,
        kind: SetKind,
        common: &RunOptions,
        options: Map<String, Value>,
        planned: usize,
    ) -> Result<NewSet> {
        Ok(NewSet {
            kind,
            label: common.label.clone(),
            options: options.into(),
            seed: self.seed,
            planned_runs: Some(planned as i32),
            value_sets: self.drawn_sets()?,
        })
    }

    /// Demands of its runs.
    pub fn asked(&self) -> Vec<Asked> {
        let specs = self.arms.iter().filter_map(|arm| arm.spec.as_ref());
        specs.map(RunSpec::asked).collect()
    }

    /// The value sets that its scripts draw from.
    pub fn drawn_sets(&self) -> Result<Vec<DrawnSet>> {
        super::drawn_sets(self.arms.iter().filter_map(|arm| arm.spec.as_ref()))
    }

    /// Checks arms, and has a vacuum and a checkpoint before each run that writes: what one run leaves
    /// is not to be paid by the next. Fails if none can run.
    pub fn check(&mut self) -> Result<()> {
        let mut first = None;
        let mut without_checkpoint = false;
        let mut sets = ReadSets::default();
        for arm in &mut self.arms {
            if let Some(error) = arm.check(&mut sets)? {
                first.get_or_insert(error);
                continue;
            }
            let Some(spec) = &mut arm.spec else { continue };
            // The statement that repeats the set has what the default is here.
            if spec.run.mode == Mode::Libpq {
                arm.options.jobs = Some(spec.jobs() as i32);
            }
            if !spec.writes() {
                continue;
            }
            require_writable(spec)?;
            if spec.vacuum() == Vacuum::Auto && spec.uses_pgbench_tables() {
                arm.options.vacuum = Vacuum::All;
                spec.run.vacuum = Vacuum::All.stored();
            }
            // Of a target it is not known whether the role may.
            if !spec.run.checkpoint && spec.target.is_none() {
                let may = security::may_checkpoint()?;
                spec.run.checkpoint = may;
                arm.options.checkpoint = may;
                without_checkpoint |= !may;
            }
        }
        if let Some(error) = first
            && self.arms.iter().all(|arm| arm.spec.is_none())
        {
            return Err(error);
        }
        if without_checkpoint {
            warnings::notice(
                "runs that write do not begin with a checkpoint",
                "This role may not request one. A run may pay for what earlier ones have written.",
                "GRANT pg_checkpoint to the role.",
            );
        }
        Ok(())
    }

    /// The positions of the arms that can run.
    pub fn able(&self) -> impl Iterator<Item = usize> {
        (0..self.arms.len()).filter(|arm| self.arms[*arm].cannot.is_none())
    }

    /// The rounds of some arms, each in a random order of its own, which follows from the seed.
    pub fn rounds(&self, arms: &[usize], rounds: RangeInclusive<i32>) -> Vec<Planned> {
        rounds
            .flat_map(|round| {
                let mut order = arms.to_vec();
                // Fisher and Yates.
                for last in (1..order.len()).rev() {
                    let random = mix(self.seed, &[round as u64, last as u64]);
                    order.swap(last, (random % (last as u64 + 1)) as usize);
                }
                order.into_iter().map(move |arm| Planned { arm, round })
            })
            .collect()
    }

    /// The seed that all runs of a round have: the arms execute the same values.
    fn round_seed(&self, round: i32) -> u64 {
        mix(self.seed, &[round as u64, u64::MAX])
    }

    /// Planned runs that have not been made.
    pub fn left(&self, plan: &[Planned], outcomes: &Outcomes) -> Vec<Planned> {
        let done = outcomes.done();
        let is_left = |planned: &&Planned| {
            let arm = &self.arms[planned.arm];
            !done.contains(&(arm.name.as_str(), planned.round))
        };
        plan.iter().filter(is_left).copied().collect()
    }

    /// Makes planned runs. A run that fails does not end the set: another arm may be able to run, and
    /// so may this one later. The caller is told of it as soon as there is a run that has not failed.
    pub fn perform(&self, set: &mut Set<'_>, plan: &[Planned], outcomes: &mut Outcomes) {
        let mut in_a_row = vec![0; self.arms.len()];
        for planned in plan {
            let arm = &self.arms[planned.arm];
            let spec = arm.spec.as_ref();
            let Some(spec) = spec.filter(|_| in_a_row[planned.arm] < MAX_FAILURES) else {
                set.skip();
                continue;
            };
            let seed = self.round_seed(planned.round);
            let made = set
                .run(spec, seed, &arm.name, planned.round)
                .and_then(|record| {
                    let concluded = warnings::remedy(spec, &record.run)
                        .and_then(|remedy| conclude(&record.run, remedy))
                        .and_then(|()| warnings::tell_missed_rate(&record.run));
                    outcomes.add(record);
                    concluded
                });
            match made {
                Ok(()) => in_a_row[planned.arm] = 0,
                Err(error) => {
                    in_a_row[planned.arm] += 1;
                    let report = error.report().one_line();
                    outcomes.untold.push(format!(
                        "arm \"{}\", round {}: {report}",
                        arm.name, planned.round
                    ));
                    outcomes.failures.insert(arm.name.clone(), report);
                    outcomes.first.get_or_insert(error);
                }
            }
            if !set.is_empty() {
                outcomes.tell();
            }
        }
    }

    /// Result, with its rows. Warns the caller if runs do not count.
    pub fn found<T>(&self, rows: T, outcomes: &Outcomes) -> SetResult<T> {
        self.warn_of_missing(outcomes);
        let cannot: Map<String, Value> = self
            .arms
            .iter()
            .filter_map(|arm| Some((arm.name.clone(), json!(arm.cannot.as_ref()?))))
            .collect();
        SetResult {
            rows,
            result: Some(json!({CANNOT_RUN: cannot, FAILURES: outcomes.failures})),
        }
    }

    fn warn_of_missing(&self, outcomes: &Outcomes) {
        let (mut planned, mut missing, mut run_ids) = (0, 0, Vec::new());
        for arm in self.able().map(|arm| &self.arms[arm]) {
            planned += self.repeats;
            missing += self.missing(outcomes.counting(&arm.name).len());
            let unmade = outcomes.missing(&arm.name);
            run_ids.extend(unmade.iter().map(|record| record.run.run_id));
        }
        if missing > 0 {
            let detail = match run_ids.is_empty() {
                true => "They could not be started.".to_owned(),
                false => format!(
                    "Runs that failed, were canceled or lost clients: {}.",
                    list(&run_ids)
                ),
            };
            let missing = format!("{missing} of {planned} runs are missing");
            Report {
                detail: Some(detail),
                ..Report::new(PgSqlErrorCode::ERRCODE_WARNING, missing)
            }
            .send(PgLogLevel::WARNING);
        }
    }

    /// Number of runs that an arm with `counting` runs lacks.
    pub fn missing(&self, counting: usize) -> usize {
        (self.repeats as usize).saturating_sub(counting)
    }
}

/// The options with the seed of the set: what is drawn once for a run is the same in all arms.
pub fn with_seed(options: &RunOptions, seed: u64) -> RunOptions {
    RunOptions {
        seed: Some(Seed(seed.to_string())),
        ..options.clone()
    }
}
