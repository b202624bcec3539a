use super::*;
use crate::random::Random;
use proptest::prelude::*;

const ARM: [f64; 7] = [1012.0, 998.0, 1034.0, 1021.0, 987.0, 1009.0, 1045.0];
const BASELINE: [f64; 7] = [961.0, 955.0, 990.0, 948.0, 942.0, 957.0, 1003.0];

fn rounds(arm: &[f64], baseline: &[f64]) -> Vec<(f64, f64)> {
    arm.iter().copied().zip(baseline.iter().copied()).collect()
}

fn near(value: f64, expected: f64, relative: f64) {
    let error = (value - expected).abs();
    assert!(
        error <= relative * expected.abs(),
        "{value} instead of {expected}"
    );
}

/// Rounds of an arm whose figure is `ratio` times the baseline's; each figure has its own noise.
fn noisy(n: usize, ratio: f64, mut noise: impl FnMut() -> f64) -> Vec<(f64, f64)> {
    (0..n)
        .map(|_| (1000.0 * ratio * noise().exp(), 1000.0 * noise().exp()))
        .collect()
}

/// With `d = np.log(ARM / BASELINE)`:
/// `ci = stats.ttest_1samp(d, 0).confidence_interval(.95); np.exp([d.mean(), ci.low, ci.high])`,
/// `stats.ttest_1samp(d, 0).pvalue`,
/// `np.expm1(stats.median_abs_deviation(d, scale='normal'))` of scipy 1.10.1.
#[test]
fn paired_rounds_are_compared_as_scipy_does() {
    let comparison = Comparison::of(&rounds(&ARM, &BASELINE), 1).unwrap();
    assert_eq!(comparison.rounds, 7);
    near(comparison.ratio, 1.0518746353016943, 1e-9);
    near(comparison.low.unwrap(), 1.0409569795123939, 1e-9);
    near(comparison.high.unwrap(), 1.0629067965031107, 1e-9);
    near(comparison.p_value.unwrap(), 0.0000217254493593250, 1e-9);
    near(comparison.noise.unwrap(), 0.00750728729419863, 1e-9);
    assert_eq!(comparison.difference(), Difference::Higher);

    let other = [1016.0, 1004.0, 1009.0, 1034.0, 1009.0, 1001.0, 1030.0];
    let comparison = Comparison::of(&rounds(&ARM, &other), 1).unwrap();
    near(comparison.ratio, 1.0003225289831945, 1e-9);
    near(comparison.low.unwrap(), 0.985476895254513, 1e-9);
    near(comparison.high.unwrap(), 1.0153918035114395, 1e-9);
    near(comparison.p_value.unwrap(), 0.959625594396795, 1e-9);
    assert_eq!(comparison.difference(), Difference::NotSeen);
}

/// The differences of sleep of ten patients: Student (1908), table on page 20. The interval is that of
/// `stats.ttest_1samp(differences, 0).confidence_interval(.95)`.
#[test]
fn students_own_data_have_students_interval() {
    let hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4_f64];
    let ratios: Vec<_> = hours.iter().map(|hours| (hours.exp(), 1.0)).collect();
    let comparison = Comparison::of(&ratios, 1).unwrap();
    near(comparison.ratio.ln(), 1.58, 1e-9);
    near(comparison.low.unwrap().ln(), 0.7001142367452711, 1e-9);
    near(comparison.high.unwrap().ln(), 2.4598857632547286, 1e-9);
    assert_eq!(comparison.outliers, [8]);
}

/// With `x = np.log(ARM)`, `y = np.log(BASELINE[:5])` and `df` by Welch's formula, 8.9055:
/// `np.exp(x.mean() - y.mean() + np.array([-1, 1]) * stats.t.ppf(.975, df) * np.sqrt(vx + vy))`,
/// `stats.ttest_ind(x, y, equal_var=False).pvalue`.
#[test]
fn independent_runs_are_compared_as_scipy_does() {
    let comparison = Comparison::of_independent(&ARM, &BASELINE[..5], 1).unwrap();
    assert_eq!(comparison.rounds, 5);
    near(comparison.ratio, 1.0583037247054463, 1e-9);
    near(comparison.low.unwrap(), 1.0313098831493763, 1e-9);
    near(comparison.high.unwrap(), 1.0860041118826336, 1e-9);
    near(comparison.p_value.unwrap(), 0.000795175364201034, 1e-9);

    let other = [1000.0, 1011.0, 962.0, 1003.0, 995.0];
    let comparison = Comparison::of_independent(&ARM, &other, 1).unwrap();
    near(comparison.p_value.unwrap(), 0.100798457514102, 1e-9);
}

/// With `x` as above and `half = stats.t.ppf(.975, 6) * x.std(ddof=1) * np.sqrt(1 + 1 / 7)`:
/// `np.exp(np.log(value) - x.mean() + half * np.array([-1, 1]))`.
#[test]
fn a_single_run_is_compared_with_what_others_predict() {
    for (value, low, high, p_value) in [
        (
            950.0,
            0.8888717450275803,
            0.9855961138421951,
            0.02021383784966389,
        ),
        (
            965.0,
            0.9029065620543315,
            1.001158157744967,
            0.05387379529795981,
        ),
        (
            1100.0,
            1.029219915295093,
            1.14121655286991,
            0.008848623270062329,
        ),
    ] {
        let single = Comparison::of_independent(&[value], &ARM, 1).unwrap();
        assert_eq!((single.design, single.rounds), (Design::Single, 7));
        near(single.low.unwrap(), low, 1e-9);
        near(single.high.unwrap(), high, 1e-9);
        near(single.p_value.unwrap(), p_value, 1e-9);
        let others = Comparison::of_independent(&ARM, &[value], 1).unwrap();
        near(others.low.unwrap(), 1.0 / high, 1e-9);
        near(others.p_value.unwrap(), p_value, 1e-9);
        assert!((0.03..0.15).contains(&single.smallest_effect().unwrap()));
    }
    let unlike = Comparison::of_independent(&[0.0, 5.0], &[5.0, 4.0, 0.0], 1).unwrap();
    assert_eq!(
        (unlike.design, unlike.left_out),
        (Design::Single, vec![0, 4])
    );
    assert!(
        Comparison::of_independent(&[5.0], &[4.0], 1)
            .unwrap()
            .p_value
            .is_none()
    );
}

/// Whether a p value and an interval say the same.
fn agree(comparison: Option<Comparison>) -> Result<(), TestCaseError> {
    if let Some(Comparison {
        low: Some(low),
        high: Some(high),
        p_value,
        ratio,
        ..
    }) = comparison
    {
        let outside = low > 1.0 || high < 1.0;
        prop_assert_eq!(
            p_value.unwrap() < LEVEL,
            outside,
            "{:?} {} {}",
            p_value,
            low,
            high
        );
        prop_assert!(
            0.0 <= low && low <= ratio && ratio <= high,
            "{low} {ratio} {high}"
        );
    }
    Ok(())
}

proptest! {
    /// Whatever the figures: spread widely or hardly, with ties, and with some that are 0.
    #[test]
    fn p_values_invert_the_intervals(
        figures in prop::collection::vec((0_u32..2000, 1_u32..2000), 1..30),
        base in prop_oneof![Just(0.0), Just(2e3), Just(1e5)],
        shift in 0.9_f64..1.1,
    ) {
        let rounds: Vec<_> = figures
            .iter()
            .map(|(a, b)| ((base + f64::from(*a)) * shift, base + f64::from(*b)))
            .collect();
        agree(Comparison::resampled(&rounds, 199, 1))?;
        let (arm, baseline): (Vec<_>, Vec<_>) = rounds.iter().copied().unzip();
        agree(Comparison::of_independent(&arm, &baseline[..baseline.len().min(19)], 1))?;
        agree(Comparison::of_independent(&arm[..1], &baseline, 1))?;
        let bounds = interval_of_mean(&arm).unwrap();
        if let (Some(low), Some(high)) = (bounds.low, bounds.high) {
            prop_assert!(0.0 < low && low <= bounds.mean && bounds.mean <= high);
        }
    }
}

/// With `rng = np.random.default_rng(1)`, `x = rng.choice(v, (400000, 24))` and `se = stats.sem(v)`:
/// `h = se * np.quantile(np.abs(x.mean(1) - v.mean()) / stats.sem(x, axis=1), .95)`, `v.mean() - h` and
/// `v.mean() + h`.
#[test]
fn many_rounds_are_compared_by_the_bootstrap() {
    let logarithms = [
        0.002, 0.011, -0.004, 0.007, 0.003, 0.0, 0.061, 0.005, 0.009, -0.002, 0.004, 0.012, 0.001,
        0.006, 0.038, 0.008, -0.001, 0.003, 0.010, 0.002, 0.005, 0.024, 0.000, 0.004_f64,
    ];
    let ratios: Vec<_> = logarithms.iter().map(|x| (x.exp(), 1.0)).collect();
    let comparison = Comparison::of(&ratios, 1).unwrap();
    let interval = |comparison: &Comparison| {
        near(comparison.low.unwrap().ln(), -0.0019141, 0.2);
        near(comparison.high.unwrap().ln(), 0.0192474, 0.02);
    };
    interval(&comparison);
    assert!((0.05..0.2).contains(&comparison.p_value.unwrap()));
    assert_eq!(comparison.outliers, [6, 14]);
    assert_eq!(Comparison::of(&ratios, 1).unwrap(), comparison);
    let other = Comparison::of(&ratios, 2).unwrap();
    assert_ne!(other.low, comparison.low);
    interval(&other);
}

/// `1 - stats.nct.cdf(stats.t.ppf(.975, df), df, effect * np.sqrt(n))`, `df = n - 1`, or twice that for groups.
#[test]
fn power_is_that_of_noncentral_t() {
    use Design::{Groups, Rounds};
    for (design, n, effect, expected) in [
        (Rounds, 7, 1.0, 0.6004875222074042),
        (Rounds, 7, 1.5, 0.9076630591858387),
        (Rounds, 7, 2.0, 0.9913016797329401),
        (Rounds, 20, 0.7, 0.8435054957213339),
        (Rounds, 20, 0.9, 0.9681516400095211),
        (Rounds, 100, 0.3, 0.8439466943565018),
        (Groups, 5, 1.5, 0.8348666754397813),
        (Groups, 10, 1.0, 0.848447123099735),
    ] {
        let spread = power::Spread {
            deviation: 1.0,
            freedom: 1.0,
            design,
        };
        near(spread.power(effect, n), expected, 0.01);
    }
}

/// With `U = d.std(ddof=1) * np.sqrt(6 / stats.chi2.ppf(.2, 6))`, 0.015771, the least `n` whose power
/// `1 - stats.nct.cdf(stats.t.ppf(.975, n - 1), n - 1, np.log1p(effect) / U * np.sqrt(n))` is 0.9, and
/// for 7 rounds the effect for which it is: 2.36 %.
#[test]
fn rounds_are_planned_for_an_effect() {
    let comparison = Comparison::of(&rounds(&ARM, &BASELINE), 1).unwrap();
    for (effect, expected) in [(0.05, 4), (0.02, 9), (0.01, 29), (0.005, 108)] {
        let rounds = comparison.rounds_for(effect).unwrap();
        assert!(
            rounds.abs_diff(expected) <= 1,
            "{rounds} instead of {expected}"
        );
    }
    let smallest = comparison.smallest_effect().unwrap();
    near(smallest, 0.0236, 0.01);
    assert_eq!(comparison.rounds_for(smallest * 1.0001), Some(7));
    assert_eq!(comparison.rounds_for(smallest * 0.999), Some(8));
    for effect in [0.0, -0.1, f64::NAN, f64::INFINITY, 1e-9] {
        assert_eq!(comparison.rounds_for(effect), None, "{effect}");
    }
}

#[test]
fn few_rounds_say_little_and_none_says_nothing() {
    assert_eq!(Comparison::of(&[], 1), None);
    assert_eq!(Comparison::of_independent(&[1.0], &[], 1), None);
    let one = Comparison::of(&[(150.0, 100.0)], 1).unwrap();
    near(one.ratio, 1.5, 1e-12);
    assert_eq!(
        (one.low, one.high, one.p_value, one.noise),
        (None, None, None, None)
    );
    assert_eq!(one.difference(), Difference::NotSeen);
    assert_eq!((one.smallest_effect(), one.rounds_for(0.05)), (None, None));
    let two = Comparison::of(&[(150.0, 100.0), (149.0, 101.0)], 1).unwrap();
    assert!(two.low.unwrap() < 1.5 && two.high.unwrap() > 1.5);
    near(two.p_value.unwrap(), 0.0133343720405746, 1e-9);
    assert!(two.smallest_effect().unwrap() > 0.1);
}

#[test]
fn equal_rounds_have_no_noise() {
    for n in [2, 7, 25] {
        let same = Comparison::of(&vec![(3.0, 3.0); n], 1).unwrap();
        assert_eq!(
            (same.ratio, same.low, same.high),
            (1.0, Some(1.0), Some(1.0))
        );
        assert_eq!((same.noise, same.p_value), (Some(0.0), Some(1.0)));
        assert_eq!(same.difference(), Difference::NotSeen);
        assert_eq!(same.smallest_effect(), Some(0.0));
        assert_eq!(same.rounds_for(0.01), Some(2));
        let faster = Comparison::of(&vec![(0.3, 0.1); n], 1).unwrap();
        near(faster.low.unwrap(), 3.0, 1e-9);
        near(faster.high.unwrap(), 3.0, 1e-9);
        assert_eq!(
            (faster.difference(), faster.p_value),
            (Difference::Higher, Some(0.0))
        );
    }
}

#[test]
fn rounds_without_a_ratio_are_left_out() {
    let mut all = rounds(&ARM, &BASELINE);
    let without = Comparison::of(&all, 1).unwrap();
    for bad in [0.0, -0.0, -5.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        all.insert(2, (bad, 1000.0));
        all.push((1000.0, bad));
    }
    let with = Comparison::of(&all, 1).unwrap();
    assert_eq!(with.left_out, [2, 3, 4, 5, 6, 7, 13, 14, 15, 16, 17, 18]);
    assert_eq!(
        (&without.outliers[..], &with.outliers[..]),
        (&[3][..], &[9][..])
    );
    let positions = Comparison {
        left_out: Vec::new(),
        outliers: without.outliers.clone(),
        ..with
    };
    assert_eq!(positions, without);
    assert_eq!(Comparison::of(&[(0.0, 1.0), (1.0, f64::NAN)], 1), None);
    assert_eq!(Comparison::of(&[(1e308, 1e-308)], 1), None);
    let huge = Comparison::of(&[(1e300, 1e10), (1.1e300, 1e10), (1e300, 1.01e10)], 1).unwrap();
    assert!(huge.low.unwrap() > 1e289);
    let tiny = Comparison::of(&[(5e-324, 1.0), (1e-323, 1.0)], 1).unwrap();
    assert!(tiny.ratio > 0.0 && tiny.difference() == Difference::Lower);
}

#[test]
fn outliers_are_named_by_their_position() {
    let mut all = rounds(&ARM, &BASELINE);
    all[3].0 = 500.0;
    all.insert(0, (0.0, 0.0));
    let comparison = Comparison::of(&all, 1).unwrap();
    assert_eq!(
        (comparison.outliers, comparison.left_out),
        (vec![4], vec![0])
    );
}

/// With `x = np.log(ARM)`: `np.exp(stats.t.interval(.95, 6, loc=x.mean(), scale=stats.sem(x)))`
#[test]
fn means_have_intervals() {
    let interval = interval_of_mean(&ARM).unwrap();
    near(interval.mean, 1014.9731729253062, 1e-12);
    near(interval.low.unwrap(), 996.608_029_513_882_7, 1e-9);
    near(interval.high.unwrap(), 1033.6767427616971, 1e-9);
    let two = interval_of_mean(&[100.0, 300.0]).unwrap();
    near(two.low.unwrap(), 0.16119829878228184, 1e-6);
    let one = interval_of_mean(&[5.0]).unwrap();
    near(one.mean, 5.0, 1e-12);
    assert_eq!((one.low, one.high), (None, None));
    let stalled = interval_of_mean(&[0.0, 10.0]).unwrap();
    assert_eq!((stalled.mean, stalled.low, stalled.high), (5.0, None, None));
    for bad in [
        vec![],
        vec![1.0, f64::NAN],
        vec![1.0, -1.0],
        vec![f64::INFINITY],
    ] {
        assert_eq!(interval_of_mean(&bad), None);
    }
    let huge = interval_of_mean(&[f64::MAX, f64::MAX / 2.0]).unwrap();
    assert!(huge.mean.is_finite() && huge.high.is_none());
}

#[test]
fn geometric_means_need_positive_values() {
    near(geometric_mean(&[1.0, 4.0, 16.0]).unwrap(), 4.0, 1e-12);
    near(geometric_mean(&[1e300; 5]).unwrap(), 1e300, 1e-9);
    for bad in [vec![], vec![1.0, 0.0], vec![1.0, -2.0], vec![f64::NAN]] {
        assert_eq!(geometric_mean(&bad), None);
    }
}

/// The share of series whose interval contains the true ratio.
fn coverage(series: usize, n: usize, mut noise: impl FnMut() -> f64) -> f64 {
    let covered = (0..series).filter(|seed| {
        let rounds = noisy(n, 1.3, &mut noise);
        let comparison = Comparison::resampled(&rounds, 399, *seed as u64).unwrap();
        (comparison.low.unwrap()..=comparison.high.unwrap()).contains(&1.3)
    });
    covered.count() as f64 / series as f64
}

#[test]
fn intervals_contain_the_true_ratio_as_often_as_they_say() {
    let mut random = Random::new(5);
    for (series, n) in [(2000, 3), (2000, 7), (1000, 25)] {
        let normal = coverage(series, n, || 0.03 * random.normal());
        assert!((0.93..=0.97).contains(&normal), "normal, {n}: {normal}");
        // Mostly fast, sometimes much slower: throughput of a server.
        let skewed = coverage(series, n, || -0.03 * random.gamma(2));
        assert!((0.93..=0.97).contains(&skewed), "skewed, {n}: {skewed}");
    }
}

#[test]
fn an_arm_does_not_differ_from_itself() {
    let mut random = Random::new(11);
    for n in [3, 7, 21] {
        let differs = (0..40).filter(|seed| {
            let drift = 0.1 * random.normal();
            let rounds = noisy(n, 1.0, || drift + 0.03 * random.normal());
            let comparison = Comparison::resampled(&rounds, 399, *seed).unwrap();
            let differs = comparison.difference() != Difference::NotSeen;
            assert_eq!(comparison.p_value.unwrap() < 0.05, differs);
            differs
        });
        assert!(differs.count() <= 5, "{n} rounds");
    }
}

/// Seven rounds, then as many as these ask for: in 92 % of all series, the effect is found, and the
/// interval contains it.
#[test]
fn the_rounds_that_are_asked_for_show_the_effect() {
    for (seed, deviation) in [(5, 0.01), (6, 0.03), (7, 0.05)] {
        let mut random = Random::new(seed);
        let mut shown = 0;
        for series in 0..200 {
            let mut rounds = noisy(7, 0.95, || deviation * random.normal());
            let first = Comparison::of(&rounds, series).unwrap();
            let more = first.rounds_for(0.05).unwrap().saturating_sub(7);
            rounds.extend(noisy(more, 0.95, || deviation * random.normal()));
            let comparison = Comparison::resampled(&rounds, 399, series).unwrap();
            let covers = (comparison.low.unwrap()..=comparison.high.unwrap()).contains(&0.95);
            shown += usize::from(covers && comparison.difference() == Difference::Lower);
        }
        assert!(shown >= 170, "{shown} of 200 with noise of {deviation}");
    }
}
