//! The distributions behind the script functions `random`, `random_exponential`,
//! `random_gaussian` and `random_zipfian`.
//!
//! The order of the floating-point operations is fixed: it decides the bits of the results.

use std::f64::consts::PI;
use std::hint::black_box;

use thiserror::Error;

use crate::number::{Fixed, truncate};
use crate::rng::Rng;

const MIN_GAUSSIAN: f64 = 2.0;
const MIN_ZIPFIAN: f64 = 1.001;
const MAX_ZIPFIAN: f64 = 1000.0;

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

    /// The value at `position`, which is in [0, 1).
    fn at(self, position: f64) -> i64 {
        self.lo.wrapping_add(truncate(self.count as f64 * position))
    }
}
