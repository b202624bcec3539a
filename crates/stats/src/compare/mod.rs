//! Whether two arms of a benchmark differ, by how much, and what could have been seen.
//!
//! A machine drifts: one round may be slower than the next for both arms. So the arms are compared
//! within each round, by the logarithm of the ratio of their figures, which makes "twice" and "half"
//! equally far from 1:
//!
//! * The ratio is the geometric mean of the rounds' ratios. Its interval is Student's t (1908) on the
//!   logarithms, from [`BOOTSTRAP_FROM`] rounds on the symmetric bootstrap-t of Hall (1988), which does
//!   not presume normal noise. For 20 to 40 rounds with skewed noise, or with one stalled round in ten,
//!   it contains the true ratio in 92 to 97 % of all simulated series, Student's t in 91 to 96 %, the
//!   bootstraps with unequal tails (bootstrap-t, BCa) in 90 to 96 %.
//! * The p value inverts the interval: it is below 0.05 exactly if the interval does not contain 1.
//! * The answer comes from the interval alone: there is a difference if it does not contain 1.
//! * What could have been seen: [`Comparison::smallest_effect`] and [`Comparison::rounds_for`].
//!
//! Runs that were not made in rounds are compared as two independent groups: Welch (1947). A single run
//! is compared with what several others predict for it: their mean and a deviation of
//! `s sqrt(1 + 1 / n)` by Student's t with `n - 1` degrees of freedom (Hahn and Meeker, Statistical
//! Intervals, 1991, section 4.8).

mod power;
mod resample;

use crate::summary;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability that an interval does not contain the true value; smaller p values show a difference.
const LEVEL: f64 = 0.05;
/// Probability that an interval contains the true value.
pub const CONFIDENCE: f64 = 1.0 - LEVEL;
/// Number of rounds from which on intervals are those of the bootstrap.
pub const BOOTSTRAP_FROM: usize = 20;
/// Least number of values with which one can be an outlier.
const OUTLIERS_FROM: usize = 5;
/// More than that many deviations from the median is an outlier (Iglewicz and Hoaglin, 1993).
const OUTLIER: f64 = 3.5;
/// The median absolute deviation of normal values, as a fraction of their standard deviation.
const MAD_OF_NORMAL: f64 = 0.674_489_750_196_081_7;

/// Difference that an interval shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The arm's figure is higher than the baseline's.
    Higher,
    /// Lower than the baseline's.
    Lower,
    /// The interval contains 1, or there is none.
    NotSeen,
}

/// Grouping of the compared runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// In rounds, each with a run of both.
    Rounds,
    /// Two independent groups.
    Groups,
    /// A single run, and several others that predict it.
    Single,
}

/// An arm compared with its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Design of the comparison.
    pub design: Design,
    /// Number of rounds that are compared; of independent groups, the number of runs of the smaller one;
    /// of a single run, that of the others.
    pub rounds: usize,
    /// Geometric mean of the arm's figure divided by the baseline's.
    pub ratio: f64,
    /// Lower bound of the ratio's interval, see [`CONFIDENCE`]; `None` with a single round, or a single
    /// run on both sides.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Probability of a ratio that is as far from 1, compared with its error, if there is no difference:
    /// below 0.05 exactly if the interval does not contain 1.
    pub p_value: Option<f64>,
    /// Relative deviation of the ratio of a single round: robust against outliers, the scaled
    /// median absolute deviation.
    pub noise: Option<f64>,
    /// Rounds, by their position in what was given, whose ratio is far from all others'.
    pub outliers: Vec<usize>,
    /// Rounds, by their position, that have no ratio: a figure is 0, negative or not finite. Of runs that
    /// were not made in rounds, their positions among the arm's, then the baseline's.
    pub left_out: Vec<usize>,
    /// Spread, needed to plan more rounds.
    spread: Option<power::Spread>,
}

impl Comparison {
    /// Compares an arm with its baseline by rounds in which both have a figure: `(arm, baseline)`.
    /// `seed` is that of resampling. `None` if no round can be compared.
    pub fn of(rounds: &[(f64, f64)], seed: u64) -> Option<Self> {
        Self::resampled(rounds, resample::SAMPLES, seed)
    }

    /// Compares with another number of samples.
    fn resampled(rounds: &[(f64, f64)], samples: usize, seed: u64) -> Option<Self> {
        let logarithms = rounds
            .iter()
            .map(|(arm, baseline)| log_ratio(*arm, *baseline));
        let (places, values) = usable(logarithms);
        let mut comparison = Self::of_groups(&[&values], samples, seed)?;
        comparison.outliers = outliers(&values).into_iter().map(|i| places[i]).collect();
        comparison.left_out = rest(rounds.len(), &places);
        Some(comparison)
    }

    /// Compares figures of runs that were not made in rounds. Outliers are not named. `None` if one side
    /// has no figure above 0.
    pub fn of_independent(arm: &[f64], baseline: &[f64], seed: u64) -> Option<Self> {
        let figures = [arm, baseline].concat();
        let (places, values) = usable(figures.iter().map(|figure| log_ratio(*figure, 1.0)));
        let of_arm = places.iter().filter(|place| **place < arm.len()).count();
        let (arm, baseline) = values.split_at(of_arm);
        let mut comparison = Self::of_groups(&[arm, baseline], resample::SAMPLES, seed)?;
        comparison.left_out = rest(figures.len(), &places);
        Some(comparison)
    }

    /// Compares the mean of one group with 0, or with the mean of a second group.
    fn of_groups(groups: &[&[f64]], samples: usize, seed: u64) -> Option<Self> {
        if groups.iter().any(|group| group.is_empty()) {
            return None;
        }
        let sizes = || groups.iter().map(|group| group.len());
        let (fewest, most) = (sizes().min()?, sizes().max()?);
        let design = match groups.len() {
            1 => Design::Rounds,
            _ if fewest == 1 && most > 1 => Design::Single,
            _ => Design::Groups,
        };
        let estimate = Estimate::of(groups, design);
        let ratio = estimate.mean.exp();
        if !ratio.is_finite() || ratio <= 0.0 {
            return None;
        }
        let found = estimate.error.map(|error| {
            let errors = match fewest < BOOTSTRAP_FROM {
                true => Errors::Student(estimate.freedom),
                false => Errors::Resampled(resample::errors(groups, &estimate, samples, seed)),
            };
            let half = errors.half_width(error);
            let bounds = [estimate.mean - half, estimate.mean + half].map(f64::exp);
            (bounds, errors.p_value_of(estimate.mean, error))
        });
        let variance: f64 = groups.iter().filter_map(|group| variance(group)).sum();
        let noise: f64 = groups
            .iter()
            .map(|group| robust_deviation(group).powi(2))
            .sum();
        Some(Self {
            design,
            rounds: match design {
                Design::Rounds | Design::Groups => fewest,
                Design::Single => most,
            },
            ratio,
            low: found.map(|([low, _], _)| low),
            high: found.map(|([_, high], _)| high),
            p_value: found.map(|(_, p_value)| p_value),
            noise: found.map(|_| noise.sqrt().exp_m1()),
            outliers: Vec::new(),
            left_out: Vec::new(),
            spread: found.map(|_| power::Spread {
                deviation: variance.sqrt(),
                freedom: estimate.freedom,
                design,
            }),
        })
    }

    /// Difference according to the interval alone.
    pub fn difference(&self) -> Difference {
        match (self.low, self.high) {
            (Some(low), _) if low > 1.0 => Difference::Higher,
            (_, Some(high)) if high < 1.0 => Difference::Lower,
            _ => Difference::NotSeen,
        }
    }

    /// The number of rounds, those made included, that would show a difference by `effect`, a
    /// fraction such as 0.05. `None` if that cannot be told from a single round, or if `effect` is
    /// not above 0, or would take more than a million rounds.
    ///
    /// It is enough with a probability of 0.9 even if the true noise is above the 80 % confidence
    /// limit of what the rounds have shown (Browne, 1995): a few rounds tell little about noise.
    pub fn rounds_for(&self, effect: f64) -> Option<usize> {
        self.spread.as_ref()?.rounds_for(effect)
    }

    /// The smallest difference, a fraction, that this number of rounds shows as reliably as
    /// [`rounds_for`](Self::rounds_for) presumes; 0 if all rounds are equal.
    pub fn smallest_effect(&self) -> Option<f64> {
        self.spread.as_ref()?.smallest_effect(self.rounds)
    }
}

/// A mean and the interval that contains the true one, see [`CONFIDENCE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower bound; `None` with a single value.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}

/// The geometric mean of figures such as tps, with an interval of Student's t on their logarithms; the
/// arithmetic mean without an interval if a figure is 0. `None` if there are none, or one is negative or
/// not finite.
pub fn interval_of_mean(values: &[f64]) -> Option<Interval> {
    let is_figure = |value: &f64| value.is_finite() && *value >= 0.0;
    if values.is_empty() || !values.iter().all(is_figure) {
        return None;
    }
    if values.contains(&0.0) {
        return Some(Interval {
            mean: mean(values),
            low: None,
            high: None,
        });
    }
    let (_, logarithms) = usable(values.iter().map(|value| log_ratio(*value, 1.0)));
    let estimate = Estimate::of(&[&logarithms], Design::Rounds);
    let half = estimate
        .error
        .map(|error| error * t_quantile(estimate.freedom));
    let finite = |bound: f64| bound.is_finite().then_some(bound);
    Some(Interval {
        mean: estimate.mean.exp(),
        low: half.and_then(|half| finite((estimate.mean - half).exp())),
        high: half.and_then(|half| finite((estimate.mean + half).exp())),
    })
}

/// The geometric mean, as of one figure of several scripts. `None` if there are none, or one is not
/// above 0 or not finite.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let (places, logarithms) = usable(values.iter().map(|value| log_ratio(*value, 1.0)));
    (!values.is_empty() && places.len() == values.len()).then(|| mean(&logarithms).exp())
}

/// The difference of the means of two groups of logarithms, of at least two values each: the second group's
/// minus the first one's.
pub(crate) struct LevelTest<'v> {
    before: &'v [f64],
    after: &'v [f64],
    welch: Estimate,
}

impl<'v> LevelTest<'v> {
    /// Compares two groups.
    pub(crate) fn of(before: &'v [f64], after: &'v [f64]) -> Self {
        Self {
            before,
            after,
            welch: Estimate::of(&[after, before], Design::Groups),
        }
    }

    /// The second group's values as a ratio to the first one's.
    pub(crate) fn ratio(&self) -> f64 {
        self.welch.mean.exp()
    }

    /// The bounds of the ratio's interval, see [`CONFIDENCE`].
    pub(crate) fn bounds(&self) -> [f64; 2] {
        let errors = Errors::Student(self.welch.freedom);
        let half = self
            .welch
            .error
            .map_or(f64::NAN, |error| errors.half_width(error));
        [self.welch.mean - half, self.welch.mean + half].map(f64::exp)
    }

    /// The probability of a ratio that is as far from 1 if there is no difference, by Welch's t-test; 1 with
    /// a single value in a group.
    pub(crate) fn p_value(&self) -> f64 {
        let errors = Errors::Student(self.welch.freedom);
        let p_value = |error| errors.p_value_of(self.welch.mean, error);
        self.welch.error.map_or(1.0, p_value)
    }

    /// Comparison by Student's t-test, with the variance of both groups together: a few values that are alike
    /// by chance do not make it small.
    pub(crate) fn pooled_p_value(&self) -> f64 {
        let [n, m] = [self.before, self.after].map(|group| group.len() as f64);
        let squares = [(self.before, n), (self.after, m)]
            .map(|(group, n)| variance(group).unwrap_or(0.0) * (n - 1.0));
        let freedom = n + m - 2.0;
        let error = (squares.iter().sum::<f64>() / freedom * (1.0 / n + 1.0 / m)).sqrt();
        Errors::Student(freedom).p_value_of(self.welch.mean, error)
    }
}

/// A mean, or the difference of two, and how far it may be from the true one.
struct Estimate {
    mean: f64,
    /// Its standard error; `None` if a group has a single value only.
    error: Option<f64>,
    /// Degrees of freedom of the error.
    freedom: f64,
}

impl Estimate {
    /// Estimates the mean of one group, or of the first of two minus the second.
    fn of(groups: &[&[f64]], design: Design) -> Self {
        let (mut difference, mut squared, mut rest) = (0.0, Some(0.0), 0.0);
        // A single run is presumed to have the noise of the others.
        let of_others = groups.iter().find_map(|group| variance(group));
        for (group, sign) in groups.iter().zip([1.0, -1.0]) {
            let n = group.len() as f64;
            difference += sign * mean(group);
            let part = match design {
                Design::Single => of_others,
                Design::Rounds | Design::Groups => variance(group),
            };
            let part = part.map(|variance| variance / n);
            squared = squared.zip(part).map(|(sum, part)| sum + part);
            rest += part.map_or(0.0, |part| part * part / (n - 1.0));
        }
        let freedom = match squared {
            Some(squared) if rest > 0.0 && design != Design::Single => squared * squared / rest,
            // Nothing varies, or all degrees are those of the others.
            _ => groups.iter().map(|group| group.len() as f64 - 1.0).sum(),
        };
        Self {
            mean: difference,
            error: squared.map(f64::sqrt),
            freedom,
        }
    }
}

/// Errors of a mean, in standard errors: intervals and p values are both taken from it.
enum Errors {
    /// Student's t with that many degrees of freedom.
    Student(f64),
    /// Errors of samples, without their signs, in rising order.
    Resampled(Vec<f64>),
}

impl Errors {
    /// The largest error that an interval covers: larger ones have a p value below [`LEVEL`].
    fn quantile(&self) -> f64 {
        match self {
            Errors::Student(freedom) => t_quantile(*freedom),
            Errors::Resampled(errors) => {
                let covers = |at: &usize| share(errors.len() - at - 1, errors.len()) < LEVEL;
                let largest = (0..errors.len()).find(covers);
                largest.map_or(f64::INFINITY, |at| errors[at])
            }
        }
    }

    /// Half the width of the interval of a mean with that standard error.
    fn half_width(&self, error: f64) -> f64 {
        match error > 0.0 {
            true => self.quantile() * error,
            false => 0.0,
        }
    }

    /// The probability that a mean with that standard error is as far from 0, if the true one is 0.
    fn p_value_of(&self, mean: f64, error: f64) -> f64 {
        match (error > 0.0, mean == 0.0) {
            (true, _) => self.p_value(mean.abs() / error),
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }

    /// The probability of an error that is at least as large.
    fn p_value(&self, error: f64) -> f64 {
        match self {
            Errors::Student(freedom) => StudentsT::new(0.0, 1.0, *freedom)
                .map_or(f64::NAN, |student| 2.0 * student.sf(error)),
            Errors::Resampled(errors) => {
                let smaller = errors.partition_point(|sample| *sample < error);
                share(errors.len() - smaller, errors.len())
            }
        }
    }
}

/// The probability that so many of all samples show, the one that was observed added (Phipson and Smyth,
/// 2010).
fn share(far: usize, samples: usize) -> f64 {
    (far + 1) as f64 / (samples + 1) as f64
}

/// The quantile of Student's t for an interval with equal tails.
pub(crate) fn t_quantile(freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom);
    student.map_or(f64::NAN, |t| t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)))
}

/// The logarithm of a ratio; not finite if the ratio is none of two positive numbers.
fn log_ratio(value: f64, base: f64) -> f64 {
    match value > 0.0 && base > 0.0 {
        true => value.ln() - base.ln(),
        false => f64::NAN,
    }
}

/// The finite ones of values, with their positions.
fn usable(values: impl Iterator<Item = f64>) -> (Vec<usize>, Vec<f64>) {
    values
        .enumerate()
        .filter(|(_, value)| value.is_finite())
        .unzip()
}

/// The positions below `count` that are not among these.
fn rest(count: usize, places: &[usize]) -> Vec<usize> {
    (0..count).filter(|i| !places.contains(i)).collect()
}

fn mean(values: &[f64]) -> f64 {
    // Scaled first, so that large values do not overflow.
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// The variance of the population that a sample is from; `None` with fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    if values.len() < 2 {
        return None;
    }
    // Equal values do not vary, whatever their mean is rounded to.
    if values.iter().all(|value| *value == first) {
        return Some(0.0);
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() as f64 - 1.0))
}

/// The distances of values from their median.
fn distances(values: &[f64]) -> Vec<f64> {
    let median = summary::median(values).unwrap_or(0.0);
    values.iter().map(|value| (value - median).abs()).collect()
}

/// The standard deviation of normal values that have the same median absolute deviation. Where more
/// than half of the values are equal, the standard deviation itself.
fn robust_deviation(values: &[f64]) -> f64 {
    match summary::median(&distances(values)) {
        Some(mad) if mad > 0.0 => mad / MAD_OF_NORMAL,
        _ => variance(values).unwrap_or(0.0).sqrt(),
    }
}

/// Positions of values that are far from the median of all.
fn outliers(values: &[f64]) -> Vec<usize> {
    let distances = distances(values);
    let mad = summary::median(&distances).unwrap_or(0.0);
    if values.len() < OUTLIERS_FROM || mad == 0.0 {
        return Vec::new();
    }
    let far = |i: &usize| MAD_OF_NORMAL * distances[*i] / mad > OUTLIER;
    (0..values.len()).filter(far).collect()
}

#[cfg(test)]
mod tests;
