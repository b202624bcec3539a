//! End of a warm-up: a sequential rule for equally long intervals.
//!
//! * The beginning is cut by MSER-5 (White, Cobb and Spratt, 2000): of the means of 5 intervals each, as
//!   many are cut as minimize the squared standard error of the mean of the others. The optimum must be
//!   in the first half, otherwise the series still changes.
//! * What remains must be shown not to change: the slope of a straight line, by which it rises or falls
//!   from begin to end, and its 95 % confidence bound must be below [`CHANGE`]. MSER-5 alone ends the
//!   warm-up too early if noise hides a slow change: of simulated servers that approach their throughput
//!   with a time constant of 20 to 60 s, noise of 10 %, it stopped most after 10 s, at 60 to 85 % of the
//!   final throughput; with the bound, all series but few end within 1 % of it, or are not steady.
//! * Looks are far apart: each look at noise may err.

use crate::steadiness::{Line, inflation, mean, sum_of_squares};

/// Number of intervals per mean.
const BATCH: usize = 5;
/// The first look is at that number of intervals.
pub const FIRST_LOOK: usize = 100;
/// The next look is at that many times as many.
const NEXT_LOOK: f64 = 1.1;
/// A steady series changes by less than that, as a fraction of its mean.
pub const CHANGE: f64 = 0.05;
/// Quantile of the normal distribution for a one-sided bound.
const BOUND: f64 = 1.645;
/// Fewer means have no slope.
const MIN_MEANS: usize = 8;

/// The series of a warm-up so far.
#[derive(Clone, Debug)]
pub struct WarmUp {
    means: Vec<f64>,
    batch: Vec<f64>,
    /// The number of means of the next look.
    look: usize,
}

impl Default for WarmUp {
    fn default() -> Self {
        Self {
            means: Vec::new(),
            batch: Vec::new(),
            look: FIRST_LOOK / BATCH,
        }
    }
}

impl WarmUp {
    /// Adds the figure of the next interval; returns whether the warm-up is over.
    pub fn add(&mut self, value: f64) -> bool {
        self.batch.push(value);
        if self.batch.len() < BATCH {
            return false;
        }
        self.means.push(mean(&self.batch));
        self.batch.clear();
        if self.means.len() < self.look {
            return false;
        }
        self.look = (self.look + 1).max((self.look as f64 * NEXT_LOOK) as usize);
        is_steady(&self.means)
    }
}

/// The number of values to cut from the beginning: that with the least squared standard error of the
/// mean of those that remain. At least [`MIN_MEANS`] remain, if there are as many. 0 if none or a value
/// that is not finite is there.
pub fn mser(values: &[f64]) -> usize {
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    // Differences from the mean, so that no digits are lost.
    let middle = mean(values);
    for (i, value) in values.iter().enumerate().rev() {
        let value = value - middle;
        sum += value;
        squares += value * value;
        let n = (values.len() - i) as f64;
        let error = (squares - sum * sum / n).max(0.0) / (n * n);
        if values.len() - i >= MIN_MEANS && error <= best.0 {
            best = (error, i);
        }
    }
    best.1
}

fn is_steady(means: &[f64]) -> bool {
    let cut = mser(means);
    let rest = &means[cut..];
    cut <= means.len() / 2 && change_bound(rest).is_some_and(|bound| bound < CHANGE)
}

/// Largest change of a straight line through the values, as a fraction of the mean, with a
/// confidence of 95 %. `None` if that cannot be told.
fn change_bound(values: &[f64]) -> Option<f64> {
    if values.len() < MIN_MEANS {
        return None;
    }
    let line = Line::of(values);
    let left = sum_of_squares(&line.rest);
    let variance = match left > 0.0 {
        true => left / (values.len() as f64 - 2.0) * inflation(&line.rest),
        false => 0.0,
    };
    let bound = line.slope.abs() + BOUND * (variance / line.squares).sqrt();
    let bound = bound * (values.len() as f64 - 1.0) / line.mean.abs();
    bound.is_finite().then_some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A server of 1000 tps that approaches them, with autocorrelated noise: after how many intervals
    /// of 3000 the warm-up is over.
    fn ends(
        random: &mut Random,
        cold: f64,
        constant: f64,
        noise: f64,
        alike: f64,
    ) -> Option<usize> {
        let mut warm_up = WarmUp::default();
        let mut last = 0.0;
        (0..3000)
            .find(|i| {
                last = alike * last + (1.0 - alike * alike).sqrt() * noise * random.normal();
                let level = 1.0 - cold * (-f64::from(*i) / constant).exp();
                warm_up.add(1000.0 * level * (1.0 + last))
            })
            .map(|i| i as usize + 1)
    }

    /// `k = np.arange(n, 0, -1); s, q = suffix sums of y and y**2; np.argmin((q - s*s/k)[:-7] / k**2)`
    #[test]
    fn the_cut_has_the_least_standard_error() {
        let rising: Vec<f64> = (0..40)
            .map(|i| 100.0 * (1.0 - 0.8 * (-f64::from(i) / 3.0).exp()) + f64::from(i * 7 % 5))
            .collect();
        assert_eq!(mser(&rising), 11);
        assert_eq!(mser(&[5.0; 20]), 0);
        assert_eq!(mser(&[]), 0);
        assert_eq!(mser(&[f64::NAN; 20]), 0);
    }

    #[test]
    fn a_steady_server_is_found_soon() {
        let mut random = Random::new(1);
        let mut at_once = 0;
        for _ in 0..50 {
            let steady = ends(&mut random, 0.0, 1.0, 0.02, 0.0).unwrap();
            at_once += usize::from(steady == FIRST_LOOK);
            assert!(steady <= 2 * FIRST_LOOK);
            assert!(ends(&mut random, 0.0, 1.0, 0.1, 0.5).is_some());
            assert!(ends(&mut random, 0.8, 10.0, 0.03, 0.0).unwrap() <= 3 * FIRST_LOOK);
        }
        // Now and then, the noise lets MSER cut more than half.
        assert!(at_once >= 40, "{at_once} of 50");
    }

    /// The level after the end is close to the final one despite any noise.
    #[test]
    fn a_slow_warm_up_is_waited_for() {
        let mut random = Random::new(2);
        for (cold, constant, noise, alike) in [
            (0.5, 50.0, 0.03, 0.0),
            (0.5, 200.0, 0.03, 0.0),
            (0.5, 200.0, 0.1, 0.5),
            (0.5, 600.0, 0.1, 0.5),
            (0.9, 600.0, 0.3, 0.0),
        ] {
            let mut early = 0;
            for _ in 0..50 {
                let end = ends(&mut random, cold, constant, noise, alike);
                let left = cold * (-(end.unwrap_or(3000) as f64) / constant).exp();
                early += usize::from(left > 0.02);
            }
            assert!(
                early <= 2,
                "{early} of 50 with {cold} {constant} {noise} {alike}"
            );
        }
    }

    #[test]
    fn what_never_settles_is_not_steady() {
        let mut falling = WarmUp::default();
        assert!((0..3000).all(|i| !falling.add(1000.0 - 0.3 * f64::from(i))));
        let mut idle = WarmUp::default();
        assert!((0..3000).all(|_| !idle.add(0.0)));
        let mut broken = WarmUp::default();
        assert!((0..3000).all(|i| !broken.add(if i % 7 == 0 { f64::NAN } else { 1.0 })));
    }
}
