//! When a series of nights changed, and what state each night is in.
//!
//! A night has one value. Values are compared by their logarithms, so that changes are ratios. Each
//! night is judged once, as the newest one, by those before it: what has been found does not change when
//! more nights follow.
//!
//! * A step: of the last [`WINDOW`] nights since the last change, the split with the largest divergence of
//!   Matteson and James (A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data,
//!   Journal of the American Statistical Association 109, 2014, E-divisive), tested by Welch's t-test
//!   instead of permutations, as Fleming et al. do with Student's (Hunter: Using Change Point Detection to
//!   Hunt for Performance Regressions, ICPE 2023). Each part has at least [`SHORTEST`] nights, p is below
//!   [`LARGEST_P`], and the ratio of the levels at least the least change. Since the split was chosen, three
//!   nights that are alike by chance would often have a small p; so Student's test must agree.
//! * A drift: the last [`RECENT`] nights are tested in the same way against the first [`BASELINE`] nights
//!   since the last change.
//! * A suspect: a night that is farther from the median of up to [`WINDOW`] nights before it than the outer
//!   fence of their own distances, the third quartile plus three interquartile ranges (Tukey, Exploratory Data
//!   Analysis, 1977, section 2D), and than the least change. A single night changes nothing.
//!
//! A level also begins with a night that is a baseline: it and later nights are not compared with those before.

use crate::compare::{Interval, LevelTest, interval_of_mean};
use crate::steadiness::mean;
use crate::summary::{median, quartiles};
use std::ops::Range;

/// Number of the newest nights in which a step is looked for, and for which a change is news.
pub const WINDOW: usize = 50;
/// Least number of nights on each side of a step.
pub const SHORTEST: usize = 3;
/// A change has a smaller p value.
pub const LARGEST_P: f64 = 0.001;
/// Number of the newest nights that show a drift.
pub const RECENT: usize = 10;
/// Number of nights that are the level from which values drift away.
pub const BASELINE: usize = 20;
/// Least number of nights by which another one can be judged.
pub const HISTORY: usize = 5;

/// A night of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Night {
    /// Its value, above 0.
    pub value: f64,
    /// Whether the machine was disturbed: then the value says nothing of the level.
    pub is_disturbed: bool,
    /// Whether it is a baseline: a level begins with it, without a change.
    pub is_baseline: bool,
}

impl Night {
    /// Whether it can be part of a level.
    fn counts(&self) -> bool {
        !self.is_disturbed && self.value > 0.0 && self.value.is_finite()
    }
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Such as throughput.
    Higher,
    /// Such as latency.
    Lower,
}

/// State of a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Too few nights before it.
    NoHistory,
    /// Usual night.
    Ok,
    /// Its level is worse than the one before, since at most [`WINDOW`] nights.
    Slower,
    /// Its level is better than the one before, since at most [`WINDOW`] nights.
    Faster,
    /// Far from its level: to be repeated.
    Suspect,
    /// The machine was disturbed, or there is no value above 0.
    Noisy,
}

impl State {
    /// The name that SQL uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoHistory => "no history",
            Self::Ok => "ok",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Suspect => "suspect",
            Self::Noisy => "noisy",
        }
    }
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From one night to the next.
    Step,
    /// Little by little.
    Drift,
}

impl Kind {
    /// The name that SQL uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Drift => "drift",
        }
    }
}

/// A change of the level. Nights are named by their positions in the series.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Step or drift.
    pub kind: Kind,
    /// First night of the new level; of a drift, first of the [`RECENT`] nights that showed it.
    pub at: usize,
    /// Night after which it was found.
    pub found: usize,
    /// Nights of the level before, at most [`WINDOW`]; of a drift, the first [`BASELINE`].
    pub before: Vec<usize>,
    /// Nights of the new level, at most [`WINDOW`].
    pub after: Vec<usize>,
    /// Level of the nights before: their geometric mean.
    pub level_before: f64,
    /// Level of the nights after.
    pub level_after: f64,
    /// The new level divided by the one before.
    pub ratio: f64,
    /// Lower bound of the ratio's 95 % interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Probability of a ratio that is as far from 1 if there is no change.
    pub p_value: f64,
}

impl Change {
    /// Whether the figure became better.
    pub fn is_better(&self, better: Better) -> bool {
        (self.ratio > 1.0) == (better == Better::Higher)
    }
}

/// A series with its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// Changes, the oldest first.
    pub changes: Vec<Change>,
    /// The level of the stretch of each night, without suspects, and its state. Nights that do not count have
    /// the level of the stretch around them.
    pub nights: Vec<(Option<Interval>, State)>,
}

impl Trend {
    /// Judges a series, the oldest night first. Changes are at least `least_change`, a fraction.
    pub fn of(nights: &[Night], better: Better, least_change: f64) -> Self {
        let stretches = Stretches::of(nights, least_change);
        let changes: Vec<Option<Change>> = stretches.changes().collect();
        let nights = stretches.judged(nights, &changes, better, least_change);
        let changes = changes.into_iter().flatten().collect();
        Self { changes, nights }
    }
}

/// The changes of a series, as [`Trend::of`] finds them.
pub fn changes_of(nights: &[Night], least_change: f64) -> Vec<Change> {
    let stretches = Stretches::of(nights, least_change);
    stretches.changes().flatten().collect()
}

/// The nights of a series that count, in stretches of one level.
struct Stretches {
    /// Their positions in the series.
    places: Vec<usize>,
    /// Logarithms of their values.
    logs: Vec<f64>,
    /// The beginnings of all levels but the first one.
    found: Vec<Found>,
}

impl Stretches {
    fn of(nights: &[Night], least_change: f64) -> Self {
        let places: Vec<usize> = (0..nights.len()).filter(|i| nights[*i].counts()).collect();
        let logs: Vec<f64> = places.iter().map(|i| nights[*i].value.ln()).collect();
        let mut next = 0;
        let begins: Vec<bool> = places
            .iter()
            .map(|place| {
                // One that does not count is the baseline of the nights behind it.
                let since = &nights[next..=*place];
                next = place + 1;
                since.iter().any(|night| night.is_baseline)
            })
            .collect();
        let found = changes(&logs, &begins, least_change);
        Self {
            places,
            logs,
            found,
        }
    }

    /// The stretch with that number: where it begins and ends among the nights that count.
    fn stretch(&self, number: usize) -> Range<usize> {
        let start = |number: usize| self.found.get(number).map(|found| found.at);
        let begin = number.checked_sub(1).and_then(start).unwrap_or(0);
        begin..start(number).unwrap_or(self.logs.len())
    }

    /// The change at the beginning of each stretch but the first one; `None` at a baseline.
    fn changes(&self) -> impl Iterator<Item = Option<Change>> {
        self.found.iter().enumerate().map(|(number, change)| {
            let (before, after) = (self.stretch(number), self.stretch(number + 1));
            let kind = change.kind?;
            let before = match kind {
                Kind::Step => before.start.max(before.end.saturating_sub(WINDOW))..before.end,
                Kind::Drift => before.start..before.start + BASELINE,
            };
            let after = after.start..after.end.min(after.start + WINDOW);
            let test = LevelTest::of(&self.logs[before.clone()], &self.logs[after.clone()]);
            let [low, high] = test.bounds();
            let level = |of: &Range<usize>| mean(&self.logs[of.clone()]).exp();
            Some(Change {
                kind,
                at: self.places[change.at],
                found: self.places[change.found],
                level_before: level(&before),
                level_after: level(&after),
                before: self.places[before].to_vec(),
                after: self.places[after].to_vec(),
                ratio: test.ratio(),
                low,
                high,
                p_value: test.p_value(),
            })
        })
    }

    /// The level and the state of each night.
    fn judged(
        &self,
        nights: &[Night],
        changes: &[Option<Change>],
        better: Better,
        least_change: f64,
    ) -> Vec<(Option<Interval>, State)> {
        let numbers = 0..=self.found.len();
        let suspects: Vec<bool> = numbers
            .clone()
            .flat_map(|number| {
                let of = self.stretch(number);
                of.clone().map(move |at| (of.start, at))
            })
            .map(|(start, at)| is_suspect(&self.logs, start, at, least_change))
            .collect();
        let levels: Vec<Option<Interval>> = numbers
            .map(|number| {
                let usual = self.stretch(number).filter(|at| !suspects[*at]);
                let values: Vec<f64> = usual.map(|at| nights[self.places[at]].value).collect();
                interval_of_mean(&values)
            })
            .collect();
        let mut number = 0;
        let mut counted = 0;
        let judged = nights.iter().map(|night| {
            if !night.counts() {
                return (levels[number], State::Noisy);
            }
            let at = counted;
            counted += 1;
            number += usize::from(self.found.get(number).is_some_and(|found| found.at == at));
            let change = changes.get(number.wrapping_sub(1)).and_then(Option::as_ref);
            let age = at - self.stretch(number).start;
            let state = if suspects[at] {
                State::Suspect
            } else if let Some(change) = change.filter(|_| age < WINDOW) {
                match change.is_better(better) {
                    true => State::Faster,
                    false => State::Slower,
                }
            } else if age < HISTORY {
                State::NoHistory
            } else {
                State::Ok
            };
            (levels[number], state)
        });
        judged.collect()
    }
}

/// The beginning of a level among values that count.
struct Found {
    /// `None`: a baseline.
    kind: Option<Kind>,
    at: usize,
    found: usize,
}

/// Judges each value as the newest one. A level also begins with those that `begins` says.
fn changes(logs: &[f64], begins: &[bool], least_change: f64) -> Vec<Found> {
    let mut changes: Vec<Found> = Vec::new();
    let mut start = 0;
    for end in 1..=logs.len() {
        if end > 1 && begins[end - 1] {
            start = end - 1;
            changes.push(Found {
                kind: None,
                at: start,
                found: start,
            });
        }
        let from = start.max(end.saturating_sub(WINDOW));
        let step = step(&logs[from..end], least_change).map(|at| (Kind::Step, from + at));
        let drift = || {
            let baseline = start..start + BASELINE;
            let recent = end.saturating_sub(RECENT)..end;
            let drifts = recent.start >= baseline.end
                && differs(&logs[baseline], &logs[recent.clone()], least_change);
            drifts.then_some((Kind::Drift, recent.start))
        };
        if let Some((kind, at)) = step.or_else(drift) {
            changes.push(Found {
                kind: Some(kind),
                at,
                found: end - 1,
            });
            start = at;
        }
    }
    changes
}

/// The first value of the second part, if the parts with the largest divergence differ.
fn step(logs: &[f64], least_change: f64) -> Option<usize> {
    let last = logs.len().checked_sub(SHORTEST)?;
    let allowed = |at: usize| (SHORTEST..=last).contains(&at);
    // On most nights, no split is worth a closer look: the least logarithm of a large ratio is that of 1 + least_change.
    let least = least_change.ln_1p() - f64::EPSILON;
    let all: f64 = logs.iter().sum();
    let mut first = 0.0;
    let mut differences = logs.iter().enumerate().map(|(at, value)| {
        let (before, after) = (first / at as f64, (all - first) / (logs.len() - at) as f64);
        first += value;
        (at, after - before)
    });
    if !differences.any(|(at, difference)| allowed(at) && difference.abs() >= least) {
        return None;
    }
    let splits = divergences(logs).into_iter().enumerate();
    let (at, _) = splits
        .filter(|(at, _)| allowed(*at))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let (before, after) = logs.split_at(at);
    differs(before, after, least_change).then_some(at)
}

/// The divergence of the two parts into which values are split before each position: `Q` of Matteson and
/// James, equation 8, with absolute distances; 0 at position 0.
fn divergences(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    // Sums of the distances of each value to those before it, and to those behind it.
    let (mut to_earlier, mut to_later) = (vec![0.0; n], vec![0.0; n]);
    for (later, value) in values.iter().enumerate() {
        for (earlier, other) in values[..later].iter().enumerate() {
            let distance = (value - other).abs();
            to_earlier[later] += distance;
            to_later[earlier] += distance;
        }
    }
    let all: f64 = to_later.iter().sum();
    // Sums of distances within the parts.
    let (mut within_first, mut within_second) = (0.0, all);
    let mean = |sum: f64, pairs: f64| if pairs > 0.0 { sum / pairs } else { 0.0 };
    (0..n)
        .map(|at| {
            if at == 0 {
                return 0.0;
            }
            within_first += to_earlier[at - 1];
            within_second -= to_later[at - 1];
            let between = all - within_first - within_second;
            let (a, b) = (at as f64, (n - at) as f64);
            let energy = 2.0 * mean(between, a * b)
                - mean(within_first, a * (a - 1.0) / 2.0)
                - mean(within_second, b * (b - 1.0) / 2.0);
            a * b / (a + b) * energy
        })
        .collect()
}

/// Whether the levels of two groups differ by at least the least change.
fn differs(before: &[f64], after: &[f64], least_change: f64) -> bool {
    let test = LevelTest::of(before, after);
    is_large(test.ratio(), least_change)
        && test.p_value() < LARGEST_P
        && test.pooled_p_value() < LARGEST_P
}

/// Whether a ratio is at least the least change away from 1.
fn is_large(ratio: f64, least_change: f64) -> bool {
    (ratio - 1.0).abs() >= least_change
}

/// Whether a value lies far outside of those before it since `start`.
fn is_suspect(logs: &[f64], start: usize, at: usize, least_change: f64) -> bool {
    let before = &logs[start.max(at.saturating_sub(WINDOW))..at];
    if before.len() < HISTORY {
        return false;
    }
    let center = median(before).unwrap_or(f64::NAN);
    let distance = logs[at] - center;
    if !is_large(distance.exp(), least_change) {
        return false;
    }
    let distances: Vec<f64> = before.iter().map(|value| (value - center).abs()).collect();
    quartiles(&distances)
        .is_some_and(|[first, third]| distance.abs() > third + 3.0 * (third - first))
}

#[cfg(test)]
mod tests;
