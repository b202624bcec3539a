//! Number of rounds that show a difference, and the difference that some rounds can show.

use super::{Design, t_quantile};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Probability that rounds show a difference which they are said to show.
const POWER: f64 = 0.9;
/// Confidence that noise is not above what is presumed.
const ASSURANCE: f64 = 0.8;
/// More rounds are as good as infinitely many.
const MAX_ROUNDS: usize = 1_000_000;

/// Spread of the logarithms of ratios.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    /// Standard deviation of one round.
    pub(super) deviation: f64,
    /// Degrees of freedom of that deviation.
    pub(super) freedom: f64,
    /// Design, which says what a round adds: in [`Design::Groups`] a run to each, in
    /// [`Design::Single`] one to the others.
    pub(super) design: Design,
}

impl Spread {
    /// Number of rounds that show a relative difference.
    pub(super) fn rounds_for(&self, effect: f64) -> Option<usize> {
        let log_effect = effect.ln_1p();
        if !(log_effect > 0.0 && log_effect.is_finite()) {
            return None;
        }
        let deviation = self.presumed()?;
        let shows = |rounds: usize| self.power(log_effect / deviation, rounds) >= POWER;
        if deviation == 0.0 {
            return Some(2);
        }
        let mut most = 2;
        while !shows(most) {
            most *= 2;
            if most > MAX_ROUNDS {
                return None;
            }
        }
        let mut least = most / 2;
        while most - least > 1 {
            let middle = usize::midpoint(least, most);
            match shows(middle) {
                true => most = middle,
                false => least = middle,
            }
        }
        Some(most.max(2))
    }

    /// The smallest relative difference that a number of rounds shows.
    pub(super) fn smallest_effect(&self, rounds: usize) -> Option<f64> {
        let deviation = self.presumed()?;
        // Doubling and halving: power rises with the effect.
        let mut high = 1.0;
        while self.power(high, rounds) < POWER {
            high *= 2.0;
            if high > 1e6 {
                return None;
            }
        }
        let mut low = 0.0;
        while high - low > 1e-9 * high {
            let middle = f64::midpoint(low, high);
            match self.power(middle, rounds) >= POWER {
                true => high = middle,
                false => low = middle,
            }
        }
        let effect = (high * deviation).exp_m1();
        effect.is_finite().then_some(effect)
    }

    /// The upper confidence limit of the deviation.
    fn presumed(&self) -> Option<f64> {
        let chi_squared = ChiSquared::new(self.freedom).ok()?;
        let deviation =
            self.deviation * (self.freedom / chi_squared.inverse_cdf(1.0 - ASSURANCE)).sqrt();
        deviation.is_finite().then_some(deviation)
    }

    /// The probability that an interval of so many rounds does not contain 0 if the true mean is
    /// `effect` standard deviations: noncentral t, approximated by Abramowitz and Stegun (1964),
    /// 26.7.10.
    pub(super) fn power(&self, effect: f64, rounds: usize) -> f64 {
        let n = rounds as f64;
        let (shift, freedom) = match self.design {
            Design::Rounds => (effect * n.sqrt(), n - 1.0),
            Design::Groups => (effect * n.sqrt(), 2.0 * (n - 1.0)),
            Design::Single => (effect / (1.0 + 1.0 / n).sqrt(), n - 1.0),
        };
        if freedom < 1.0 {
            return 0.0;
        }
        let t = t_quantile(freedom);
        let z =
            (shift - t * (1.0 - 1.0 / (4.0 * freedom))) / (1.0 + t * t / (2.0 * freedom)).sqrt();
        Normal::standard().cdf(z)
    }
}
