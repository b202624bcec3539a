//! The bootstrap.

use super::{Design, Estimate};
use crate::random::Random;

/// Number of samples.
pub(super) const SAMPLES: usize = 9_999;

/// Errors of the means of resampled groups, whose true mean is known, in standard errors, without
/// signs and in rising order.
pub(super) fn errors(groups: &[&[f64]], estimate: &Estimate, count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut samples: Vec<Vec<f64>> = groups.iter().map(|group| group.to_vec()).collect();
    let mut errors = Vec::with_capacity(count);
    for _ in 0..count {
        for (sample, group) in samples.iter_mut().zip(groups) {
            sample.fill_with(|| group[random.below(group.len())]);
        }
        let slices: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        // No group has a single value.
        let sample = Estimate::of(&slices, Design::Groups);
        let error = (sample.mean - estimate.mean) / sample.error.unwrap_or(0.0);
        // A sample of equal values tells nothing.
        if error.is_finite() {
            errors.push(error.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    errors
}
