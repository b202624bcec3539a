//! `bench.find_capacity`: the highest rate at which a percentile of the latency stays under a limit.
//!
//! The first run has no rate: clients execute as many transactions as they can. The others are
//! probes, runs with a rate, which [`Search`] chooses. Everything follows from the options of the set
//! and its runs in their order, so a lost search continues where it was.

use super::series::with_seed;
use super::{Set, SetResult, arms};
use crate::api::launch::require_writable;
use crate::api::progress::Progress;
use crate::api::run::conclude;
use crate::api::warnings::{remedy, tell, tell_unused_variables};
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::check::{self, US_PER_SECOND, in_range};
use crate::error::{Error, Result};
use crate::options::{Options, options};
use crate::results::probes;
use crate::results::sets::StoredSet;
use crate::run::{Mode, RunOptions, RunSpec};
use pgrx::prelude::*;
use selfbench_model::{NewSet, Probe, RunState, SetKind};
use selfbench_report::bottleneck;
use selfbench_report::capacity::{Capacity, probed, significant, so_far, verdict};
use selfbench_report::readable;
use selfbench_stats::capacity::{self, Answer, Ended, Plan, Search, Step};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;

/// The arm of the run without a rate.
const WITHOUT_RATE: &str = "without rate";
/// A probe is scheduled to have more transactions than it needs by this factor: their number is random.
const RESERVE: f64 = 1.1;
/// Whether a probe is steady can be told from that many intervals.
const INTERVALS: i64 = 20;
/// The lowest rate that is probed, as a fraction of the transactions per second without a rate; that if the
/// duration is too short for the percentile at such a rate; and the highest one. Clients that contend for rows
/// execute more with a rate than without.
const LOWEST: f64 = 1.0 / 32.0;
const LOWEST_OF_LONG_PROBES: f64 = 1.0 / 4.0;
const HIGHEST: f64 = 16.0;
/// Length of probes from which on the caller is told, before the first, how many there may be.
const TOLD_FROM_S: f64 = 1.0;
/// Length of probes from which on each one is told that takes longer than the duration.
const TOLD_LONG_S: f64 = 10.0;
/// The number of probes at most.
const MAX_PROBES: usize = 40;

options! {
    /// The options of a search; the limit is that of the runs.
    pub struct CapacityOptions, ..run: RunOptions {
        /// The percentile of the latency that stays under the limit.
        percentile: f64 = 99.0;
        /// The search ends when the rate is known up to this fraction.
        tolerance: f64 = 0.05;
    }
}

impl CapacityOptions {
    /// Makes the search; its row, and the number of the set.
    pub(in crate::api) fn perform(self, horizon: &Horizon) -> Result<(Row, Option<i64>)> {
        let seed = check::seed(self.run.seed.as_ref())?;
        let mut stored = self;
        let mut search = FindCapacity::new(stored.clone(), seed);
        // Reports invalid options before the set is stored.
        let spec = search.options.check()?;
        tell_unused_variables(std::iter::once(&spec))?;
        if spec.run.mode == Mode::Libpq {
            stored.run.jobs = Some(spec.jobs() as i32);
            search.options.run.jobs = stored.run.jobs;
        }
        let new = NewSet {
            kind: SetKind::FindCapacity,
            label: stored.run.label.clone(),
            options: stored.to_json(),
            seed,
            planned_runs: None,
            value_sets: super::drawn_sets(std::iter::once(&spec))?,
        };
        super::begin(
            new,
            vec![spec.asked()],
            Progress::default(),
            horizon,
            |set| {
                let set_id = set.id;
                let found = search.perform(set, spec, Vec::new())?;
                Ok(SetResult {
                    rows: (found.rows, set_id),
                    result: found.result,
                })
            },
        )
    }

    /// Checks the options that only a search has, and gives the run without a rate.
    pub(in crate::api) fn check(&self) -> Result<RunSpec> {
        let limit = check::argument("latency_limit", self.run.latency_limit)?;
        check::above_zero("latency_limit", limit)?;
        in_range("percentile", self.percentile, 50.0, 99.99)?;
        in_range("tolerance", self.tolerance, 0.001, 1.0)?;
        arms::require_storable(&self.run)?;
        let spec = self.run.check()?;
        require_writable(&spec)?;
        Ok(spec)
    }

    /// The search, which begins at the number of transactions per second without a rate.
    fn search(&self, without_rate: &RunSpec, tps: f64) -> Option<Search> {
        let percentile = self.percentile / 100.0;
        let min_seconds = without_rate.duration_us().unwrap_or(0) as f64 / US_PER_SECOND as f64;
        // Where latency does not depend on the rate, ever longer probes would not find one that is low enough.
        let with_duration = capacity::transactions(percentile) as f64 / min_seconds;
        Search::new(Plan {
            percentile,
            start: tps,
            lowest: with_duration.clamp(tps * LOWEST, tps * LOWEST_OF_LONG_PROBES),
            highest: tps * HIGHEST,
            precision: self.tolerance,
            max_probes: MAX_PROBES,
            min_seconds,
        })
    }

    /// Result of a probe for the search.
    fn measured(&self, probe: &Probe, rate: f64, allowed: f64) -> capacity::Probe {
        let found = bottleneck(&probe.strain);
        capacity::Probe {
            rate,
            transactions: probe.total(),
            over: probe.counted_over(allowed),
            steady: probe.changes().is_empty(),
            client_bound: found.is_some_and(|found| found.is_clients()),
        }
    }

    /// Tells the caller the result of a new probe.
    fn tell(&self, probe: &Probe, measured: &capacity::Probe, allowed: f64) {
        let text = probed(
            measured.rate,
            self.percentile,
            probe.percentile_ms,
            probe.share_missed(allowed),
        );
        let unsteady = match measured.over <= allowed && !measured.steady {
            true => ", not steady",
            false => "",
        };
        tell(&format!("{text}{unsteady}"));
    }

    fn to_json(&self) -> Value {
        let entries = self.entries().into_iter();
        let members = entries.map(|entry| (entry.name.to_owned(), entry.value));
        Value::Object(members.collect())
    }
}

/// Whether a probe with these mean latencies in its intervals was steady.
#[pg_extern(sql = false)]
fn is_steady(latencies: Vec<Option<f64>>) -> bool {
    let probe = Probe {
        course: latencies,
        ..Probe::default()
    };
    probe.changes().is_empty()
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn find_capacity(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(rate, Option<f64>),
        name!(rate_low, Option<f64>),
        name!(rate_high, Option<f64>),
        name!(latency_ms, Option<f64>),
        name!(tps_without_rate, Option<f64>),
        name!(limited_by, Option<String>),
        name!(evidence, Option<String>),
        name!(verdict, String),
        name!(run_ids, Vec<i64>),
        name!(set_id, Option<i64>),
    ),
> {
    let horizon = call.horizon();
    let (row, set_id) =
        (|| call.read(CapacityOptions::take)?.perform(&horizon))().or_raise_in(&call);
    let figure = |name, value: Option<f64>| value.map(|value| readable(name, value));
    TableIterator::once((
        figure("rate", row.rate),
        figure("rate_low", row.rate_low),
        figure("rate_high", row.rate_high),
        figure("latency_ms", row.latency_ms),
        figure("tps_without_rate", row.tps_without_rate),
        row.limited_by,
        row.evidence,
        row.verdict,
        row.run_ids,
        set_id,
    ))
}

/// Row that a search returns, and that the row of its set keeps.
#[derive(Clone, Debug, Serialize)]
pub(in crate::api) struct Row {
    rate: Option<f64>,
    rate_low: Option<f64>,
    rate_high: Option<f64>,
    latency_ms: Option<f64>,
    tps_without_rate: Option<f64>,
    limited_by: Option<String>,
    evidence: Option<String>,
    pub(super) verdict: String,
    pub(super) run_ids: Vec<i64>,
}

/// A search: all that its runs follow from.
pub(super) struct FindCapacity {
    options: CapacityOptions,
    seed: u64,
}

impl FindCapacity {
    /// Search with these options; what is drawn once for a run is the same in all its runs.
    fn new(options: CapacityOptions, seed: u64) -> FindCapacity {
        let run = with_seed(&options.run, seed);
        FindCapacity {
            options: CapacityOptions { run, ..options },
            seed,
        }
    }

    /// Search of a stored set.
    pub(super) fn stored(set: &StoredSet) -> Result<FindCapacity> {
        let options = CapacityOptions::from_json(&set.options)?;
        Ok(FindCapacity::new(options, set.seed))
    }

    /// Checks its options, and gives the run without a rate.
    pub(super) fn check(&self) -> Result<RunSpec> {
        self.options.check()
    }

    /// Target of its clients.
    pub(super) fn target(&self) -> Option<&str> {
        self.options.run.target.as_deref()
    }

    /// Its runs that were made before and count.
    pub(super) fn made(&self, set_id: i64) -> Result<Vec<Probe>> {
        let mut probes = probes::of_set(set_id, self.options.percentile)?;
        probes.retain(Probe::is_complete);
        Ok(probes)
    }

    /// Makes the runs that were not made before.
    pub(super) fn perform(
        &self,
        set: &mut Set<'_>,
        without_rate: RunSpec,
        made: Vec<Probe>,
    ) -> Result<SetResult<Row>> {
        let options = &self.options;
        let mut runs = Runs {
            set,
            options,
            without_rate,
            seed: self.seed,
            stored: made.into(),
            made: Vec::new(),
        };
        let is_new = runs.stored.is_empty();
        let most = runs.next(runs.without_rate.clone())?;
        let search = options.search(&runs.without_rate, most.tps.unwrap_or_default());
        let mut search = search.ok_or_else(|| Error::AllAborted {
            message: format!("run {} of the search has no transactions", most.run_id),
            first: most.error.clone().unwrap_or_default(),
            hint: None,
        })?;
        runs.set.shows(format!(
            "{} transactions per second without a rate",
            significant(most.tps.unwrap_or_default())
        ));
        let probe_s = runs.without_rate.duration_us().unwrap_or(0) as f64 / US_PER_SECOND as f64;
        if let Step::Probe { rate, seconds, .. } = search.next()
            && is_new
            && probe_s >= TOLD_FROM_S
        {
            tell(&format!(
                "most searches take 10 to 15 probes, some {} in all if the answer is near {} transactions per \
                 second, and longer at lower rates; none takes more than {MAX_PROBES}",
                super::span(13.0 * (RESERVE * seconds + runs.without_rate.run.warmup_s)),
                significant(rate)
            ));
        }
        let answer = loop {
            match search.next() {
                Step::Probe { rate, seconds, .. } => {
                    let is_new = !runs.is_stored(Some(rate));
                    if is_new && seconds >= TOLD_LONG_S.max(2.0 * probe_s) {
                        tell(&format!(
                            "next probe: {} transactions per second, which takes {} to have enough \
                             transactions for the percentile",
                            significant(rate),
                            super::span(RESERVE * seconds)
                        ));
                    }
                    let probe = runs.probe(rate, seconds)?;
                    let measured = options.measured(&probe, rate, search.allowed());
                    search.add(&measured);
                    if is_new {
                        options.tell(&probe, &measured, search.allowed());
                    }
                    runs.set.shows(so_far(options.percentile, &search.answer()));
                    if probe.is_hopeless() {
                        break Answer {
                            ended: Ended::NeverMet,
                            ..search.answer()
                        };
                    }
                }
                Step::Done(answer) => break answer,
            }
        };
        let row = runs.row(&search, &answer, most.tps);
        Ok(SetResult {
            result: serde_json::to_value(&row).ok(),
            rows: row,
        })
    }
}

/// The runs of a search.
struct Runs<'r, 'h> {
    set: &'r mut Set<'h>,
    options: &'r CapacityOptions,
    without_rate: RunSpec,
    seed: u64,
    /// Runs that were made before the set was lost, and were not asked for since.
    stored: VecDeque<Probe>,
    made: Vec<Probe>,
}

impl Runs<'_, '_> {
    /// A probe: a run that takes long enough for the percentile.
    fn probe(&mut self, rate: f64, seconds: f64) -> Result<Probe> {
        let duration_us = (RESERVE * seconds * US_PER_SECOND as f64) as i64;
        let interval_us = (duration_us / INTERVALS).clamp(US_PER_SECOND / 10, US_PER_SECOND);
        let mut spec = self.without_rate.clone();
        spec.run.rate = Some(rate);
        spec.run.duration_s = Some(duration_us as f64 / US_PER_SECOND as f64);
        spec.run.aggregate_interval_s = interval_us as f64 / US_PER_SECOND as f64;
        self.next(spec)
    }

    /// Whether the next run was made before if it has that rate.
    fn is_stored(&self, rate: Option<f64>) -> bool {
        self.stored.front().is_some_and(|probe| probe.rate == rate)
    }

    /// The next run: the one that was made before, or a new one.
    fn next(&mut self, spec: RunSpec) -> Result<Probe> {
        let stored = match self.is_stored(spec.run.rate) {
            true => self.stored.pop_front(),
            false => None,
        };
        let probe = match stored {
            Some(probe) => probe,
            None => {
                // Further stored probes belong to a search that took another course.
                self.stored.clear();
                self.make(spec)?
            }
        };
        let run_id = probe.run_id;
        if !probe.is_complete() {
            return Err(match probe.state {
                RunState::Canceled => Error::Canceled {
                    by: format!("because run {run_id}, a part of it, was canceled"),
                },
                _ => Error::AllAborted {
                    message: format!("run {run_id} of the search is not complete"),
                    first: format!(
                        "{} of {} clients were aborted.",
                        probe.aborted_clients,
                        self.without_rate.clients()
                    ),
                    hint: Some(format!("Check SELECT bench.report({run_id}).")),
                },
            });
        }
        self.made.push(probe.clone());
        Ok(probe)
    }

    fn make(&mut self, spec: RunSpec) -> Result<Probe> {
        let round = self.made.len();
        let seed = self.seed.wrapping_add(round as u64);
        let arm = match spec.run.rate {
            None => WITHOUT_RATE.to_owned(),
            Some(rate) => format!("rate {}", significant(rate)),
        };
        let record = self.set.run(&spec, seed, &arm, round as i32)?;
        conclude(&record.run, remedy(&spec, &record.run)?)?;
        let run_id = record.run.run_id;
        let probe = probes::of_run(run_id, self.options.percentile)?;
        probe.ok_or(Error::RunDeleted { run_id })
    }

    fn row(&self, search: &Search, answer: &Answer, tps: Option<f64>) -> Row {
        let probes = || self.made.iter().filter(|probe| probe.rate.is_some());
        let at = |wanted: f64| probes().filter(move |probe| probe.rate == Some(wanted));
        let rates = probes().filter_map(|probe| probe.rate);
        // The lowest probed rate above the answer shows what limits it.
        let above = rates.filter(|rate| answer.rate.is_none_or(|found| *rate > found));
        let above = above.reduce(f64::min);
        let measured_at = answer.rate.or(above).unwrap_or_default();
        let limit_ms = self.options.run.latency_limit.unwrap_or_default();
        let allowed = search.allowed();
        let is_under = |probe: &Probe| search.is_under(probe.counted_over(allowed));
        let is_doubtful = answer.rate.is_none() && at(measured_at).all(is_under);
        // Without an answer, the probes that were over the limit are the reason.
        let reasons = at(measured_at)
            .filter(|probe| answer.rate.is_some() || is_doubtful || !is_under(probe));
        let percentile_ms = median(
            reasons.map(|probe| probe.percentile_beside(limit_ms, allowed, is_under(probe))),
        );
        let failing = at(above.unwrap_or(measured_at)).next();
        let found = failing.and_then(|probe| bottleneck(&probe.strain));
        Row {
            rate: answer.rate,
            rate_low: answer.low,
            rate_high: answer.high,
            latency_ms: percentile_ms,
            tps_without_rate: tps,
            verdict: verdict(&Capacity {
                percentile: self.options.percentile,
                limit_ms,
                mode: self.without_rate.run.mode,
                clients: self.without_rate.clients() as i32,
                answer: *answer,
                measured_at,
                percentile_ms,
                is_doubtful,
                captured_rate: self.without_rate.captured_rate,
                captured_share: self.without_rate.captured_share,
                bottleneck: found.as_ref(),
            }),
            limited_by: found.as_ref().map(|found| found.name.clone()),
            evidence: found.map(|found| found.evidence),
            run_ids: self.made.iter().map(|probe| probe.run_id).collect(),
        }
    }
}

/// The middle one of several latencies, the higher of the two if their number is even; `None` is above
/// all others.
fn median(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.map(|value| value.unwrap_or(f64::INFINITY)).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied();
    middle.filter(|value| value.is_finite())
}
