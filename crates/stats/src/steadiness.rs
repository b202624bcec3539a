//! Whether a series of equally long intervals is steady: trends, steps and cycles in noise.
//!
//! * Trend: the test of Mann (1945) and Kendall (1975), with the slope of Theil (1950) and Sen (1968).
//! * Step: the change-point test of Pettitt (1979).
//! * Cycle: Fisher's (1929) test of the largest ordinate of the periodogram; the period is that of the
//!   autocorrelation, which must confirm it.
//!
//! The first two compare ranks, so that single outliers do not matter, and presume independent values.
//! Throughput of a server is autocorrelated, so the variance of both is corrected as in Yue and Wang
//! (2004) by the autocorrelation that remains without the trend or the step.
//!
//! Each test has a significance level of 1 %, so that noise causes a finding in at most 3 % of all
//! series. What is significant but small is not reported, see [`changes`].

use crate::summary;
use std::f64::consts::TAU;

/// Fewer values do not tell.
pub const MIN_VALUES: usize = 10;
/// Trends and steps of longer series are those of the means of this number of parts.
const MAX_PARTS: usize = 600;
/// Cycles of longer series are those of the middle.
const MAX_CYCLIC: usize = 1200;
/// Significance level of each test.
const LEVEL: f64 = 0.01;
/// A series holds at least this number of periods of a cycle.
const MIN_PERIODS: usize = 3;
/// A cycle's values resemble those one period and two periods later by this autocorrelation.
const RESEMBLANCE: [f64; 2] = [0.3, 0.2];

/// A way in which a series is not steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Rise or fall.
    Trend {
        /// Change from the first to the last value, as a fraction of the median.
        change: f64,
    },
    /// Its level changes once.
    Step {
        /// Number of the first value of the second part.
        at: usize,
        /// The median of the first part.
        before: f64,
        /// The median of the second part.
        after: f64,
    },
    /// Cycle of ups and downs.
    Cycle {
        /// Number of values from one peak to the next.
        period: usize,
        /// The difference between the highest and the lowest point of the mean cycle, as a fraction
        /// of the mean of the series.
        swing: f64,
    },
}

/// Changes of a series: a trend or a step, whichever describes it better, and a cycle. Changes by
/// less than `least`, a fraction of the mean, are left out, and cycles of less than twice that.
///
/// Empty if there are fewer than [`MIN_VALUES`], or if some are not finite.
pub fn changes(values: &[f64], least: f64) -> Vec<Change> {
    if values.len() < MIN_VALUES || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let parts = parts(values);
    let line = trend(&parts, least);
    let level = step(&parts, least);
    let found = match (line, level) {
        (Some(line), Some(level)) if level.rest < line.rest => Some(level),
        (Some(line), _) => Some(line),
        (None, level) => level,
    };
    let mut changes = Vec::new();
    if let Some(found) = found {
        changes.push(match found.change {
            Change::Step { at, before, after } => Change::Step {
                at: at * values.len() / parts.len(),
                before,
                after,
            },
            change => change,
        });
    }
    let from = (values.len() - values.len().min(MAX_CYCLIC)) / 2;
    changes.extend(cycle(
        &values[from..][..values.len().min(MAX_CYCLIC)],
        2.0 * least,
    ));
    changes
}

/// A change that was found.
struct Candidate {
    change: Change,
    /// The sum of squares that it does not explain.
    rest: f64,
}

/// The means of at most [`MAX_PARTS`] equally long parts.
fn parts(values: &[f64]) -> Vec<f64> {
    let parts = values.len().min(MAX_PARTS);
    let begin = |part: usize| part * values.len() / parts;
    (0..parts)
        .map(|part| mean(&values[begin(part)..begin(part + 1)]))
        .collect()
}

/// The test of Mann and Kendall: whether later values tend to be higher, or lower, than earlier ones.
fn trend(values: &[f64], least: f64) -> Option<Candidate> {
    let n = values.len() as f64;
    let score: f64 = pairs(values)
        .map(|(_, earlier, later)| sign(later - earlier))
        .sum();
    let rest = Line::of(values).rest;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * inflation(&rest);
    let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
    if two_sided(z) > LEVEL {
        return None;
    }
    let slopes: Vec<f64> = pairs(values)
        .map(|(distance, earlier, later)| (later - earlier) / distance as f64)
        .collect();
    let change = summary::median(&slopes)? * (n - 1.0) / summary::median(values)?;
    (change.is_finite() && change.abs() >= least).then(|| Candidate {
        change: Change::Trend { change },
        rest: sum_of_squares(&rest),
    })
}

/// The test of Pettitt: whether the values from some point on differ from those before it.
fn step(values: &[f64], least: f64) -> Option<Candidate> {
    let n = values.len() as f64;
    let ranks = ranks(values);
    let (mut at, mut greatest, mut sum) = (0, 0.0, 0.0);
    for (i, rank) in ranks.iter().enumerate() {
        sum += 2.0 * rank - (n + 1.0);
        if f64::abs(sum) > greatest {
            (at, greatest) = (i + 1, f64::abs(sum));
        }
    }
    let (first, second) = values.split_at(at);
    let (before, after) = (summary::median(first)?, summary::median(second)?);
    let rest: Vec<f64> = [first, second]
        .into_iter()
        .flat_map(|part| {
            let mean = mean(part);
            part.iter().map(move |value| value - mean)
        })
        .collect();
    let scale = (n.powi(3) + n.powi(2)) * inflation(&rest);
    let p = 2.0 * (-6.0 * greatest * greatest / scale).exp();
    let change = (after - before).abs() / mean(values).abs();
    (p <= LEVEL && change.is_finite() && change >= least).then(|| Candidate {
        change: Change::Step { at, before, after },
        rest: sum_of_squares(&rest),
    })
}

/// Fisher's test of the periodogram, whose period the autocorrelation tells and confirms.
fn cycle(values: &[f64], least: f64) -> Option<Change> {
    let longest = values.len() / MIN_PERIODS;
    // Slow changes are not cycles.
    let rest = Line::of(values).rest;
    let ordinates: Vec<f64> = (MIN_PERIODS..=(values.len() - 1) / 2)
        .map(|frequency| power(&rest, frequency))
        .collect();
    let share = ordinates.iter().copied().fold(0.0, f64::max) / ordinates.iter().sum::<f64>();
    let m = ordinates.len() as f64;
    // The first term of the exact probability, which is not below it.
    let p = m * (1.0 - share).max(0.0).powf(m - 1.0);
    if p.is_nan() || p > LEVEL {
        return None;
    }
    let alike = |lag| autocorrelation(&rest, lag);
    let peaks: Vec<usize> = (2..=longest)
        .filter(|lag| alike(*lag) >= alike(lag - 1) && alike(*lag) >= alike(lag + 1))
        .collect();
    let highest = peaks.iter().map(|lag| alike(*lag)).fold(0.0, f64::max);
    // A multiple of the period is a peak, too, and may be higher by chance.
    let period = peaks.into_iter().find(|lag| alike(*lag) >= 0.8 * highest)?;
    if alike(period) < RESEMBLANCE[0] || alike(2 * period) < RESEMBLANCE[1] {
        return None;
    }
    let of_phase = |phase: usize| {
        let values: Vec<f64> = rest.iter().skip(phase).step_by(period).copied().collect();
        mean(&values)
    };
    let phases: Vec<f64> = (0..period).map(of_phase).collect();
    let spread = summary::Spread::of(&phases)?;
    let swing = (spread.max - spread.min) / mean(values).abs();
    (swing.is_finite() && swing >= least).then_some(Change::Cycle { period, swing })
}

/// Factor by which autocorrelation raises the variance of a test, from the residuals of the tested
/// change.
pub(crate) fn inflation(rest: &[f64]) -> f64 {
    let (n, r) = (rest.len() as f64, autocorrelation(rest, 1));
    // A bound that independent values exceed in one of twenty cases.
    if r.is_nan() || r < 1.645 / n.sqrt() {
        return 1.0;
    }
    // Short series show too little of it (Marriott and Pope, 1954).
    let r = (n * r + 1.0) / (n - 4.0);
    let r = r.min(0.9);
    (1.0 + r) / (1.0 - r)
}

/// The autocorrelation of a series whose mean is 0.
fn autocorrelation(rest: &[f64], lag: usize) -> f64 {
    let product: f64 = rest.iter().zip(&rest[lag..]).map(|(a, b)| a * b).sum();
    // Fewer products are in the sum of a longer lag.
    product / sum_of_squares(rest) * rest.len() as f64 / (rest.len() - lag) as f64
}

/// An ordinate of the periodogram: how much of a series repeats that many times.
fn power(rest: &[f64], frequency: usize) -> f64 {
    let angle = TAU * frequency as f64 / rest.len() as f64;
    let (mut a, mut b) = (0.0, 0.0);
    for (i, value) in rest.iter().enumerate() {
        let (sin, cos) = (angle * i as f64).sin_cos();
        a += value * cos;
        b += value * sin;
    }
    a * a + b * b
}

/// A straight line, fitted to a series by least squares.
pub(crate) struct Line {
    /// The mean of the series.
    pub mean: f64,
    /// Rise of the line from one value to the next.
    pub slope: f64,
    /// The sum of the squared distances of the positions from the middle.
    pub squares: f64,
    /// Residuals of the values.
    pub rest: Vec<f64>,
}

impl Line {
    pub fn of(values: &[f64]) -> Line {
        let middle = (values.len() as f64 - 1.0) / 2.0;
        let mean = mean(values);
        let (mut products, mut squares) = (0.0, 0.0);
        for (i, value) in values.iter().enumerate() {
            let x = i as f64 - middle;
            products += x * (value - mean);
            squares += x * x;
        }
        let slope = products / squares;
        let rest = |(i, value): (usize, &f64)| value - mean - slope * (i as f64 - middle);
        Line {
            mean,
            slope,
            squares,
            rest: values.iter().enumerate().map(rest).collect(),
        }
    }
}

/// All pairs of values, and the distance of the two.
fn pairs(values: &[f64]) -> impl Iterator<Item = (usize, f64, f64)> {
    values.iter().enumerate().flat_map(|(i, earlier)| {
        let later = values[i + 1..].iter().enumerate();
        later.map(move |(distance, later)| (distance + 1, *earlier, *later))
    })
}

/// The ranks of values, from 1; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = from as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|i| ranks[*i] = rank);
        from += equal.len();
    }
    ranks
}

fn sign(value: f64) -> f64 {
    match value {
        0.0 => 0.0,
        _ => value.signum(),
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// The probability that a standard normal variable is farther from 0 than `z`: Abramowitz and Stegun
/// (1964), 26.2.17, with an error below 1.5e-7.
fn two_sided(z: f64) -> f64 {
    const B: [f64; 5] = [
        0.319381530,
        -0.356563782,
        1.781477937,
        -1.821255978,
        1.330274429,
    ];
    let t = 1.0 / (1.0 + 0.2316419 * z);
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    2.0 * (-z * z / 2.0).exp() / TAU.sqrt() * polynomial
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Noise around 1000, of that deviation, to which `shape` adds something.
    fn series(n: usize, deviation: f64, shape: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Random::new(n as u64);
        (0..n)
            .map(|i| 1000.0 + shape(i) + deviation * random.normal())
            .collect()
    }

    /// Percentage of series in which something is found.
    fn findings(n: usize, rounds: usize, mut next: impl FnMut(&mut Random, f64) -> f64) -> f64 {
        let mut random = Random::new(7);
        let mut found = 0;
        for _ in 0..rounds {
            let mut last = 0.0;
            let series: Vec<f64> = (0..n)
                .map(|_| {
                    last = next(&mut random, last);
                    1000.0 + last
                })
                .collect();
            found += usize::from(!changes(&series, 0.0).is_empty());
        }
        100.0 * found as f64 / rounds as f64
    }

    #[test]
    fn noise_is_steady() {
        for (n, rounds) in [(10, 1000), (30, 500), (100, 200), (600, 40)] {
            let normal = findings(n, rounds, |random, _| 100.0 * random.normal());
            assert!(normal <= 5.0, "normal, {n} values: {normal} %");
            let skewed = findings(n, rounds, |random, _| -100.0 * (1.0 - random.unit()).ln());
            assert!(skewed <= 5.0, "skewed, {n} values: {skewed} %");
            let stalls = findings(n, rounds, |random, _| {
                if random.unit() < 0.05 {
                    -900.0
                } else {
                    10.0 * random.normal()
                }
            });
            assert!(stalls <= 5.0, "random stalls, {n} values: {stalls} %");
        }
        for (n, rounds) in [(60, 400), (600, 40)] {
            let inert = findings(n, rounds, |random, last| {
                0.3 * last + 50.0 * random.normal()
            });
            assert!(inert <= 5.0, "autocorrelated, {n} values: {inert} %");
        }
    }

    #[test]
    fn a_trend_is_found() {
        let rising = series(60, 30.0, |i| 300.0 * i as f64 / 59.0);
        let [Change::Trend { change }] = changes(&rising, 0.05)[..] else {
            panic!("{:?}", changes(&rising, 0.05));
        };
        assert!((change - 300.0 / 1150.0).abs() < 0.05, "{change}");
        let falling: Vec<f64> = rising.into_iter().rev().collect();
        assert!(matches!(changes(&falling, 0.05)[..], [Change::Trend { change }] if change < -0.2));
        // Significant, but small.
        assert_eq!(changes(&series(60, 1.0, |i| i as f64 / 2.0), 0.05), []);
    }

    #[test]
    fn a_step_is_found() {
        let falling = series(60, 30.0, |i| if i < 40 { 0.0 } else { -300.0 });
        let [Change::Step { at, before, after }] = changes(&falling, 0.05)[..] else {
            panic!("{:?}", changes(&falling, 0.05));
        };
        assert!((38..=42).contains(&at), "{at}");
        assert!((before - 1000.0).abs() < 30.0, "{before}");
        assert!((after - 700.0).abs() < 30.0, "{after}");
        assert_eq!(
            changes(&series(60, 1.0, |i| if i < 40 { 0.0 } else { -30.0 }), 0.05),
            []
        );
    }

    #[test]
    fn a_long_series_is_looked_at_in_parts() {
        let n = 86_400;
        let found = changes(
            &series(n, 100.0, |i| if i < n / 4 { 0.0 } else { 200.0 }),
            0.05,
        );
        let [Change::Step { at, .. }] = found[..] else {
            panic!("{found:?}");
        };
        assert!(at.abs_diff(n / 4) < n / 300, "{at}");
    }

    #[test]
    fn a_cycle_is_found() {
        let waves = series(120, 30.0, |i| 150.0 * (TAU * i as f64 / 20.0).sin());
        let [Change::Cycle { period, swing }] = changes(&waves, 0.05)[..] else {
            panic!("{:?}", changes(&waves, 0.05));
        };
        assert!((19..=21).contains(&period), "{period}");
        assert!((swing - 0.3).abs() < 0.08, "{swing}");
        // A stall of two seconds in each half minute.
        let stalls = series(300, 30.0, |i| if i % 30 < 2 { -800.0 } else { 0.0 });
        let found = changes(&stalls, 0.05);
        assert!(
            matches!(found[..], [Change::Cycle { period: 30, swing }] if swing > 0.7),
            "{found:?}"
        );
        // A pattern that occurs only twice is no cycle.
        let twice = series(60, 30.0, |i| if i % 30 < 2 { -800.0 } else { 0.0 });
        assert_eq!(changes(&twice, 0.05), []);
    }

    #[test]
    fn what_cannot_be_judged_is_steady() {
        assert_eq!(
            changes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 0.0),
            []
        );
        assert_eq!(changes(&[0.0; 100], 0.0), []);
        assert_eq!(changes(&[5.0; 100], 0.0), []);
        let mut unknown = [1.0; 20];
        unknown[3] = f64::NAN;
        assert_eq!(changes(&unknown, 0.0), []);
    }

    #[test]
    fn the_normal_distribution_is_known() {
        for (z, p) in [
            (0.0, 1.0),
            (1.0, 0.317_310_5),
            (1.959_964, 0.05),
            (2.575_829, 0.01),
        ] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}");
        }
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
