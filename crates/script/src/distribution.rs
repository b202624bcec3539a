//! The distributions behind the script functions whose names begin with `random`: pgbench's, and those
//! of other benchmarks.
//!
//! The order of the floating-point operations is fixed: it decides the bits of the results.

use std::f64::consts::PI;
use std::hint::black_box;

use thiserror::Error;

use crate::hash;
use crate::number::{Fixed, truncate};
use crate::rng::Rng;

const MIN_GAUSSIAN: f64 = 2.0;
const MIN_ZIPFIAN: f64 = 1.001;
const MAX_ZIPFIAN: f64 = 1000.0;
/// Items from which YCSB's scrambled form draws for any number of keys.
const SCRAMBLED_ITEMS: f64 = 1e10;
/// The exponent of that draw.
const SCRAMBLED_THETA: f64 = 0.99;
/// The sum of i^-0.99 over these items, as in YCSB.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// Why nothing can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum DistributionError {
    /// The lower bound is above the upper one.
    #[error("empty range given to random")]
    EmptyRange,
    /// The number of values does not fit 63 bits.
    #[error("random range is too large")]
    RangeTooLarge,
    /// The parameter of `random_gaussian` is too small.
    #[error("gaussian parameter must be at least {} (not {})", Fixed(MIN_GAUSSIAN), Fixed(*.0))]
    GaussianParameter(f64),
    /// The parameter of `random_exponential` is not positive.
    #[error("exponential parameter must be greater than zero (not {})", Fixed(*.0))]
    ExponentialParameter(f64),
    /// The parameter of `random_zipfian` is out of its range.
    #[error("zipfian parameter must be in range [1.001, 1000] (not {})", Fixed(*.0))]
    ZipfianParameter(f64),
    /// The exponent of `random_zipf` is out of its range.
    #[error("zipf exponent must be greater than 0 and at most 1000 (not {})", Fixed(*.0))]
    ZipfExponent(f64),
    /// The parameter of `random_ycsb` is out of its range.
    #[error("ycsb parameter must be between 0 and 1, both excluded (not {})", Fixed(*.0))]
    YcsbParameter(f64),
}

/// A checked, non-empty range of integers to draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawRange {
    lo: i64,
    hi: i64,
    /// hi - lo + 1.
    count: i64,
}

impl DrawRange {
    /// The range [`lo`, `hi`], both included.
    ///
    /// # Errors
    /// If it is empty or holds 2^63 values or more.
    pub fn new(lo: i64, hi: i64) -> Result<Self, DistributionError> {
        if lo > hi {
            return Err(DistributionError::EmptyRange);
        }
        let count = hi
            .checked_sub(lo)
            .and_then(|width| width.checked_add(1))
            .ok_or(DistributionError::RangeTooLarge)?;
        Ok(Self { lo, hi, count })
    }

    /// A uniform draw.
    pub fn uniform(self, rng: &mut Rng) -> i64 {
        self.lo
            .wrapping_add(rng.range(0, self.hi.wrapping_sub(self.lo)))
    }

    /// A draw from the exponential distribution truncated to the range; the greater `parameter`,
    /// the more often values near the lower bound come.
    ///
    /// # Errors
    /// Unless `parameter` > 0.
    pub fn exponential(self, rng: &mut Rng, parameter: f64) -> Result<i64, DistributionError> {
        if parameter <= 0.0 {
            return Err(DistributionError::ExponentialParameter(parameter));
        }
        let cut = (-parameter).exp();
        let uniform = 1.0 - rng.unit();
        let position = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        Ok(self.at(position))
    }

    /// A draw from the normal distribution around the middle of the range, truncated to
    /// `parameter` standard deviations on either side (Box-Muller transform).
    ///
    /// # Errors
    /// Unless `parameter` >= 2.
    pub fn gaussian(self, rng: &mut Rng, parameter: f64) -> Result<i64, DistributionError> {
        if parameter < MIN_GAUSSIAN {
            return Err(DistributionError::GaussianParameter(parameter));
        }
        let deviation = loop {
            let first = 1.0 - rng.unit();
            let second = 1.0 - rng.unit();
            let deviation = (-2.0 * first.ln()).sqrt() * (2.0 * PI * second).sin();
            let outside = deviation < -parameter || deviation >= parameter;
            if !outside {
                break deviation;
            }
        };
        Ok(self.at((deviation + parameter) / (parameter * 2.0)))
    }

    /// A draw from the Zipfian distribution: the k-th value of the range comes with a probability
    /// proportional to k^-`parameter`.
    ///
    /// Method: L. Devroye, "Non-Uniform Random Variate Generation", 1986, page 550.
    ///
    /// # Errors
    /// Unless 1.001 <= `parameter` <= 1000.
    pub fn zipfian(self, rng: &mut Rng, parameter: f64) -> Result<i64, DistributionError> {
        // With NaN, every candidate would be rejected, forever.
        if !(MIN_ZIPFIAN..=MAX_ZIPFIAN).contains(&parameter) {
            return Err(DistributionError::ZipfianParameter(parameter));
        }
        if self.count <= 1 {
            return Ok(self.lo);
        }
        let power = parameter - 1.0;
        // The compiler would call exp2 for a known base, whose last bit can differ.
        let b = black_box(2f64).powf(power);
        let limit = self.count as f64;
        let rank = loop {
            let u = rng.unit();
            let v = rng.unit();
            let x = u.powf(-1.0 / power).floor();
            let t = (1.0 + 1.0 / x).powf(power);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= limit {
                break x;
            }
        };
        Ok(self.lo.wrapping_sub(1).wrapping_add(rank as i64))
    }

    /// A draw from the Zipf distribution with any exponent: the k-th value of the range comes with a
    /// probability proportional to k^-`exponent`.
    ///
    /// Method: W. Hoermann and G. Derflinger, "Rejection-inversion to generate variates from monotone
    /// discrete distributions", ACM TOMACS 6(3), 1996. It needs no sum over the range.
    ///
    /// # Errors
    /// Unless 0 < `exponent` <= 1000.
    pub fn zipf(self, rng: &mut Rng, exponent: f64) -> Result<i64, DistributionError> {
        if !(exponent > 0.0 && exponent <= MAX_ZIPFIAN) {
            return Err(DistributionError::ZipfExponent(exponent));
        }
        let power = 1.0 - exponent;
        // The integral of x^-exponent from 1, and its inverse; precise where the power is almost 0.
        let integral = |x: f64| match power {
            0.0 => x.ln(),
            power => (power * x.ln()).exp_m1() / power,
        };
        let inverse = |y: f64| match power {
            0.0 => y.exp(),
            power => ((power * y).ln_1p() / power).exp(),
        };
        let density = |x: f64| x.powf(-exponent);
        let first = integral(1.5) - 1.0;
        let last = integral(self.count as f64 + 0.5);
        let accepted = 2.0 - inverse(integral(2.5) - density(2.0));
        loop {
            let y = last + (1.0 - rng.unit()) * (first - last);
            let x = inverse(y);
            let rank = ((x + 0.5) as i64).clamp(1, self.count);
            let k = rank as f64;
            if k - x <= accepted || y >= integral(k + 0.5) - density(k) {
                return Ok(self.lo.wrapping_add(rank - 1));
            }
        }
    }

    /// A draw as YCSB makes it. The first two values have the probabilities of Zipf's distribution, the
    /// others approximate ones: the third of a million comes 19 % too often with a `theta` of 0.99.
    ///
    /// Method: J. Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994.
    ///
    /// # Errors
    /// Unless 0 < `theta` < 1.
    pub fn ycsb(self, rng: &mut Rng, theta: f64) -> Result<i64, DistributionError> {
        if !(theta > 0.0 && theta < 1.0) {
            return Err(DistributionError::YcsbParameter(theta));
        }
        let items = self.count as f64;
        let rank = gray(rng, items, theta, zeta(self.count, theta));
        Ok(self.lo.wrapping_add(rank.min(self.count - 1)))
    }

    /// A draw as YCSB's scrambled form makes it: the hash of one of 10^10 items, drawn by Gray's method
    /// with a theta of 0.99, modulo the number of values. So the values that come often are spread over
    /// the range, and the most frequent one has 3.78 % of all draws, however many values there are.
    pub fn ycsb_scrambled(self, rng: &mut Rng) -> i64 {
        let item = gray(rng, SCRAMBLED_ITEMS, SCRAMBLED_THETA, SCRAMBLED_ZETA);
        let hash = hash::fnv1a(item, 0).unsigned_abs();
        self.lo.wrapping_add((hash % self.count as u64) as i64)
    }

    /// A draw from the distribution that sysbench calls special: three of four draws are from the upper
    /// three quarters of the central hundredth of the range, the others are means of twelve uniform ones.
    pub fn special(self, rng: &mut Rng) -> i64 {
        const MEAN_OF: usize = 12;
        let width = self.count as f64 - 1.0;
        let u = rng.unit();
        let offset = match u < 0.25 {
            true => {
                let sum: f64 = (0..MEAN_OF).map(|_| rng.unit()).sum();
                width * (sum / MEAN_OF as f64)
            }
            false => u * (0.01 * width + 1.0) + width / 2.0 - width / 200.0,
        };
        self.lo.wrapping_add(truncate(offset).min(self.count - 1))
    }

    /// A draw from TPC-C's non-uniform distribution NURand(`a`, lo, hi) with the constant `c`: clause
    /// 2.1.6 of its specification.
    ///
    /// # Errors
    /// If `a` is negative or 2^63 - 1.
    pub fn nurand(self, rng: &mut Rng, a: i64, c: i64) -> Result<i64, DistributionError> {
        let mask = DrawRange::new(0, a)?.uniform(rng);
        let sum = i128::from(mask | self.uniform(rng)) + i128::from(c);
        let offset = sum.rem_euclid(i128::from(self.count)) as i64;
        Ok(self.lo.wrapping_add(offset))
    }

    /// The value at `position`, which is in [0, 1).
    fn at(self, position: f64) -> i64 {
        self.lo.wrapping_add(truncate(self.count as f64 * position))
    }
}

/// Rank, from 0, of an item that Gray's method draws from as many; `zeta` is the sum of i^-`theta` over
/// all ranks i, from 1.
fn gray(rng: &mut Rng, items: f64, theta: f64, zeta: f64) -> i64 {
    let second = 1.0 + 0.5f64.powf(theta);
    let u = rng.unit();
    let share = u * zeta;
    if share < 1.0 {
        return 0;
    }
    if share < second {
        return 1;
    }
    let eta = (1.0 - (2.0 / items).powf(1.0 - theta)) / (1.0 - second / zeta);
    truncate(items * (eta * u - eta + 1.0).powf(1.0 / (1.0 - theta)))
}

/// The sum of i^-`theta` for i from 1 to `count`, with `theta` between 0 and 1.
///
/// Formula: Euler-Maclaurin from the 16th term on, up to the eighth Bernoulli number. The remainder is
/// below 1e-14: |B10| / 10! times the ninth derivative at 16.
fn zeta(count: i64, theta: f64) -> f64 {
    const FIRST: i64 = 16;
    /// B2k / (2k)!.
    const COEFFICIENTS: [f64; 4] = [1.0 / 12.0, -1.0 / 720.0, 1.0 / 30_240.0, -1.0 / 1_209_600.0];
    let term = |x: f64| x.powf(-theta);
    let plain: f64 = (1..=count.min(FIRST)).map(|i| term(i as f64)).sum();
    if count <= FIRST {
        return plain;
    }
    let (from, to) = (FIRST as f64, count as f64);
    let power = 1.0 - theta;
    let integral = (to.powf(power) - from.powf(power)) / power;
    let mut sum = plain + integral + (term(to) - term(from)) / 2.0;
    // The odd derivatives, which are negative, at both ends.
    let mut factor = theta;
    for (k, coefficient) in COEFFICIENTS.iter().enumerate() {
        let order = 2.0 * k as f64 + 1.0;
        let derivative = |x: f64| -factor * x.powf(-theta - order);
        sum += coefficient * (derivative(to) - derivative(from));
        factor *= (theta + order) * (theta + order + 1.0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.01, 0.5, 0.99, 0.999] {
            for count in [1, 2, 15, 16, 17, 18, 1_000, 1_000_000] {
                let sum: f64 = (1..=count).rev().map(|i| (i as f64).powf(-theta)).sum();
                let error = (zeta(count, theta) / sum - 1.0).abs();
                assert!(error < 1e-12, "{count} {theta}: {error}");
            }
        }
        // YCSB's constant, as precise as YCSB has it.
        let scrambled = zeta(SCRAMBLED_ITEMS as i64, SCRAMBLED_THETA);
        assert!((scrambled - SCRAMBLED_ZETA).abs() < 1e-6, "{scrambled}");
    }
}
