//! Bootstrap and tests by permutation.

use super::{CONFIDENCE, Estimate, mean};
use crate::random::Random;

/// Number of bootstrap samples, and of permutations if not all are tried: one less than a multiple of
/// 40, so that the quantiles are samples (Davison and Hinkley, 1997, section 5.2.3).
pub(super) const SAMPLES: usize = 9_999;
/// Up to that number of rounds, all combinations of signs are tried.
const MAX_SIGNS: usize = 15;
/// Up to that number of values in two groups, all divisions of them are tried.
const MAX_EXCHANGED: usize = 16;
/// Sums that differ by less are equal.
const ROUNDING: f64 = 1e-9;

/// How many standard errors the mean is from the true one at most, with the probability of
/// [`CONFIDENCE`]: the quantile of resampled groups, whose true mean is known.
pub(super) fn quantile(
    groups: &[&[f64]],
    estimate: &Estimate,
    count: usize,
    random: &mut Random,
) -> f64 {
    let mut samples: Vec<Vec<f64>> = groups.iter().map(|group| group.to_vec()).collect();
    let mut errors = Vec::with_capacity(count);
    for _ in 0..count {
        for (sample, group) in samples.iter_mut().zip(groups) {
            sample.fill_with(|| group[random.below(group.len())]);
        }
        let slices: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let sample = Estimate::of(&slices);
        let error = (sample.mean - estimate.mean) / sample.error.unwrap_or(0.0);
        // A sample of equal values tells nothing.
        if error.is_finite() {
            errors.push(error.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    let rank = ((errors.len() as f64 + 1.0) * CONFIDENCE).round() as usize;
    // No errors: all values are equal.
    errors.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

/// The probability of a sum as far from 0 if each value might as well have the other sign.
pub(super) fn flipped_signs(values: &[f64], count: usize, random: &mut Random) -> f64 {
    let sum = |minus: &mut dyn FnMut(usize) -> bool| {
        let signed = values.iter().enumerate().map(|(i, value)| match minus(i) {
            true => -value,
            false => *value,
        });
        signed.sum::<f64>().abs()
    };
    let observed = sum(&mut |_| false) * (1.0 - ROUNDING);
    if values.len() <= MAX_SIGNS {
        let all = 1_u32 << values.len();
        let far = (0..all).filter(|signs| sum(&mut |i| signs >> i & 1 == 1) >= observed);
        return far.count() as f64 / f64::from(all);
    }
    let far = (0..count).filter(|_| sum(&mut |_| random.bits() >> 63 == 1) >= observed);
    share(far.count(), count)
}

/// The probability of means as far apart if each value might as well be of the other group.
pub(super) fn exchanged(a: &[f64], b: &[f64], count: usize, random: &mut Random) -> f64 {
    let mut all = [a, b].concat();
    let total: f64 = all.iter().sum();
    // How far the means are apart follows from the sum of the first group.
    let expected = total * a.len() as f64 / all.len() as f64;
    let scale: f64 = all.iter().map(|value| value.abs()).sum();
    let observed = (a.iter().sum::<f64>() - expected).abs() - ROUNDING * scale;
    if all.len() <= MAX_EXCHANGED {
        let divisions = 0_u32..1 << all.len();
        let (mut number, mut far) = (0, 0);
        for division in divisions.filter(|division| division.count_ones() as usize == a.len()) {
            let of_first = all
                .iter()
                .enumerate()
                .filter(|(i, _)| division >> i & 1 == 1);
            let sum: f64 = of_first.map(|(_, value)| value).sum();
            number += 1;
            far += usize::from((sum - expected).abs() >= observed);
        }
        return far as f64 / f64::from(number);
    }
    let mut far = 0;
    for _ in 0..count {
        for i in 0..a.len() {
            let other = i + random.below(all.len() - i);
            all.swap(i, other);
        }
        let sum = mean(&all[..a.len()]) * a.len() as f64;
        far += usize::from((sum - expected).abs() >= observed);
    }
    share(far, count)
}

/// The p value if `far` of so many permutations are as far, the observed one added (Phipson and Smyth,
/// 2010).
fn share(far: usize, count: usize) -> f64 {
    (far + 1) as f64 / (count + 1) as f64
}
