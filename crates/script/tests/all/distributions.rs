//! The random functions, draw by draw.

use crate::common::{Client, shown};

/// The first five values of an expression.
fn five(seed: u64, text: &str) -> [i64; 5] {
    let mut client = Client::with_seed(seed);
    std::array::from_fn(|_| client.int(text))
}

#[test]
fn first_values() {
    for (seed, text, values) in [
        (42, "random(1,100)", [82, 82, 8, 38, 85]),
        (42, "random_gaussian(1,100,2.5)", [77, 40, 65, 35, 51]),
        (42, "random_exponential(1,100,3.0)", [32, 50, 31, 2, 11]),
        (42, "random_zipfian(1,100,1.5)", [2, 12, 1, 2, 10]),
        (42, "random(-5000,5000)", [-4040, -170, -416, -253, -4944]),
        (42, "random(1,100000)", [83532, 83233, 7682, 38645, 86390]),
        (
            42,
            "random(0,9223372036854775806)",
            [
                5877992980655297398,
                7525418634410924710,
                5856949038362152274,
                540529971561384147,
                2719338880657079980,
            ],
        ),
        (
            42,
            "random_zipfian(1,1000000,1.07)",
            [656, 134, 5, 24622, 2010],
        ),
        (
            1,
            "random_gaussian(0,1000000,2.0)",
            [838312, 521975, 545985, 405417, 583339],
        ),
        (
            1,
            "random_exponential(0,1000000,0.001)",
            [786301, 639804, 13864, 588013, 789967],
        ),
        (
            1,
            "random_exponential(0,1000000,50)",
            [30871, 20428, 279, 17741, 31217],
        ),
        (1, "random_zipfian(1,10,1.001)", [2, 8, 1, 2, 2]),
    ] {
        assert_eq!(five(seed, text), values, "{text}");
    }
}

#[test]
fn one_stream_feeds_all_functions() {
    let mut client = Client::with_seed(5432);
    let drawn = [
        client.int("random(10,19)"),
        client.int("random_exponential(100,199,10.0)"),
        client.int("random_gaussian(1000,1999,10.0)"),
        client.int("random_zipfian(1,9,1.3)"),
    ];
    assert_eq!(drawn, [17, 104, 1498, 3]);
}

#[test]
fn operands_draw_from_left_to_right() {
    let mut client = Client::with_seed(42);
    assert_eq!(client.int("random(1,10) + random(1,10)*100"), 501);
}

#[test]
fn a_saved_generator_repeats_its_draws() {
    let mut client = Client::with_seed(42);
    let saved = client.rng;
    for _ in 0..3 {
        client.rng = saved;
        assert_eq!(client.int("random(1,1000)"), 653);
    }
    assert_eq!(client.int("random(1,1000)"), 836);
}

#[test]
fn draws_of_the_default_script() {
    let mut client = Client::with_seed(42);
    let mut transaction = || {
        [
            client.int("random(1, 100000 * 1)"),
            client.int("random(1, 1 * 1)"),
            client.int("random(1, 10 * 1)"),
            client.int("random(-5000, 5000)"),
        ]
    };
    assert_eq!(transaction(), [83532, 1, 1, -170]);
    assert_eq!(transaction(), [86390, 1, 5, -253]);
}

#[test]
fn null_arguments_draw_nothing() {
    let mut client = Client::with_seed(42);
    for text in [
        "random(null,100)",
        "random(1,null)",
        "random_gaussian(1,100,null)",
    ] {
        assert_eq!(client.eval(text), Ok(selfbench_script::Value::Null));
    }
    assert_eq!(client.int("random(1,100)"), 82);
}

#[test]
fn bounds_and_parameters_are_checked() {
    for (text, message) in [
        ("random(5,3)", "empty range given to random"),
        ("random(0,9223372036854775807)", "random range is too large"),
        (
            "random(-9223372036854775808,1)",
            "random range is too large",
        ),
        (
            "random_zipf(1,10,0)",
            "zipf exponent must be greater than 0 and at most 1000 (not 0.000000)",
        ),
        (
            "random_zipf(1,10,1001)",
            "zipf exponent must be greater than 0 and at most 1000 (not 1001.000000)",
        ),
        (
            "random_ycsb(1,10,1)",
            "ycsb parameter must be between 0 and 1, both excluded (not 1.000000)",
        ),
        ("random_ycsb_scrambled(2,1)", "empty range given to random"),
        ("random_special(2,1)", "empty range given to random"),
        ("random_nurand(-1,1,2,0)", "empty range given to random"),
        (
            "random_gaussian(0,10,1.9)",
            "gaussian parameter must be at least 2.000000 (not 1.900000)",
        ),
        (
            "random_exponential(0,10,0)",
            "exponential parameter must be greater than zero (not 0.000000)",
        ),
        (
            "random_zipfian(0,10,1.0)",
            "zipfian parameter must be in range [1.001, 1000] (not 1.000000)",
        ),
        ("random_gaussian(5,3,true)", "empty range given to random"),
        ("random(true,3)", "cannot coerce boolean to int"),
        (
            "random_gaussian(1,3,true)",
            "cannot coerce boolean to double",
        ),
        // pgbench has undefined results here, or never comes to an end.
        (
            "random_zipfian(1,10,0.0/0)",
            "zipfian parameter must be in range [1.001, 1000] (not NaN)",
        ),
        ("random_gaussian(1,1,1.0/0)", "int -9223372036854775807"),
        ("random_exponential(1,10,0.0/0)", "int -9223372036854775807"),
        ("random_exponential(1,10,1.0/0)", "int 1"),
    ] {
        assert_eq!(shown(text), message, "{text}");
    }
}

/// Fails if 200,000 values of an expression, from 1 on, do not have these probabilities (chi-square, with
/// one chance in 10,000 of a false alarm if the seed were not fixed).
fn has_probabilities(text: &str, probabilities: &[f64]) {
    has_probabilities_in(|value| value as usize - 1, text, probabilities);
}

/// Fails unless cells, to which values belong, have these probabilities.
fn has_probabilities_in(cell: impl Fn(i64) -> usize, text: &str, probabilities: &[f64]) {
    const DRAWS: usize = 200_000;
    let mut client = Client::with_seed(20);
    let mut counts = vec![0.0; probabilities.len()];
    for _ in 0..DRAWS {
        counts[cell(client.int(text))] += 1.0;
    }
    let total: f64 = probabilities.iter().sum();
    assert!((total - 1.0).abs() < 1e-9, "{text}: {total}");
    let mut statistic = 0.0;
    let mut cells = 0;
    for (count, probability) in counts.iter().zip(probabilities) {
        let expected = probability * DRAWS as f64;
        if expected == 0.0 {
            assert_eq!(*count, 0.0, "{text}");
        } else {
            statistic += (count - expected) * (count - expected) / expected;
            cells += 1;
        }
    }
    let degrees = f64::from(cells - 1);
    // Wilson and Hilferty, "The distribution of chi-square", 1931; 3.72 is the normal quantile.
    let spread = 2.0 / (9.0 * degrees);
    let most = degrees * (1.0 - spread + 3.72 * spread.sqrt()).powi(3);
    assert!(statistic < most, "{text}: {statistic} of {most}");
}

#[test]
fn zipf_of_any_exponent() {
    for exponent in [0.1, 0.5, 0.99, 1.0, 1.001, 1.5, 3.0] {
        let weights: Vec<f64> = (1..=100).map(|k| f64::from(k).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let probabilities: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        has_probabilities(&format!("random_zipf(1, 100, {exponent})"), &probabilities);
    }
    let mut client = Client::with_seed(1);
    for (text, lo, hi) in [
        ("random_zipf(5, 5, 0.5)", 5, 5),
        (
            "random_zipf(-3, 9223372036854775803, 0.000001)",
            -3,
            i64::MAX - 4,
        ),
        ("random_zipf(0, 9223372036854775806, 1000)", 0, 0),
    ] {
        for _ in 0..1_000 {
            let value = client.int(text);
            assert!((lo..=hi).contains(&value), "{text}: {value}");
        }
    }
}

/// Gray's generator has intervals of its own: the probability of each rank is the length of the part of
/// (0, 1) that it maps to the rank.
#[test]
fn ycsb_by_its_intervals() {
    let (count, theta) = (1000, 0.99);
    let zeta: f64 = (1..=count).map(|i| f64::from(i).powf(-theta)).sum();
    let n = f64::from(count);
    let second = 1.0 + 0.5f64.powf(theta);
    let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - second / zeta);
    // Where the rank becomes at least k.
    let begin = |k: i32| match k {
        0 => 0.0,
        1 => 1.0 / zeta,
        k => {
            let u = ((f64::from(k) / n).powf(1.0 - theta) - 1.0 + eta) / eta;
            u.max(second / zeta)
        }
    };
    let end = |k: i32| if k + 1 == count { 1.0 } else { begin(k + 1) };
    let mut probabilities: Vec<f64> = (0..count).map(|k| end(k) - begin(k)).collect();
    probabilities[1] = begin(2).max(second / zeta) - begin(1);
    has_probabilities("random_ycsb(1, 1000, 0.99)", &probabilities);
    for text in ["random_ycsb(1, 1, 0.5)", "random_ycsb(1, 2, 0.5)"] {
        let mut client = Client::with_seed(1);
        assert!((0..1_000).all(|_| (1..=2).contains(&client.int(text))));
    }
}

/// The most frequent of any number of keys has 3.78 % of all draws, as rank 0 of 10^10 items.
#[test]
fn scrambled_ycsb_has_one_hot_key() {
    let mut client = Client::with_seed(3);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..100_000 {
        *counts
            .entry(client.int("random_ycsb_scrambled(1, 1000000)"))
            .or_insert(0) += 1;
    }
    let hottest = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
    // 1 + the hash of rank 0, modulo the number of keys.
    assert_eq!(
        hottest.0,
        1 + client.int("mod(abs(hash_fnv1a(0, 0)), 1000000)")
    );
    // 3,778 expected, with a standard deviation of 60.
    assert!((3_500..4_050).contains(&hottest.1), "{}", hottest.1);
}

#[test]
fn special_has_a_hot_center() {
    // 10001 values: the width is 10000, the center begins at 4950 and is 101 wide.
    let mut client = Client::with_seed(4);
    let (mut hot, mut cold) = (0, 0);
    for _ in 0..100_000 {
        match client.int("random_special(0, 10000)") {
            4975..=5051 => hot += 1,
            value => {
                assert!((0..=10_000).contains(&value));
                cold += 1;
            }
        }
    }
    // A mean of twelve uniform draws has a standard deviation of 833, so some fall into the center, too:
    // 0.75 + 0.25 * 0.0368 are hot.
    let share = f64::from(hot) / f64::from(hot + cold);
    assert!((0.754..0.764).contains(&share), "{share}");
    for text in ["random_special(7, 7)", "random_special(7, 8)"] {
        assert!((0..1_000).all(|_| (7..=8).contains(&client.int(text))));
    }
}

/// Probability that the sum of twelve uniform draws from (0, 1) is below `x` (Irwin and Hall).
fn sum_of_twelve(x: f64) -> f64 {
    if x > 6.0 {
        return 1.0 - sum_of_twelve(12.0 - x);
    }
    let (mut sum, mut binomial, mut factorial) = (0.0, 1.0, 1.0);
    for k in 0..12 {
        let k = f64::from(k);
        sum += binomial * (x - k).max(0.0).powi(12);
        binomial *= (k - 12.0) / (k + 1.0);
        factorial *= k + 1.0;
    }
    sum / factorial
}

#[test]
fn special_by_its_two_parts() {
    // 10001 values. The hot part is uniform from 4950 + 101 / 4 to 4950 + 101: 75 values, and three
    // quarters of the one before them. All values near it are cells of their own.
    let hot = |x: f64| ((x - 4950.0) / 101.0).clamp(0.25, 1.0) - 0.25;
    let cold = |x: f64| 0.25 * sum_of_twelve((x * 12.0 / 10_000.0).min(12.0));
    let below = |value: i64| hot(value as f64) + cold(value as f64);
    let mut begins = vec![0, 2500, 3000, 3500, 3750, 4000, 4250, 4500, 4750, 4900];
    begins.extend(4960..=5060);
    begins.extend([5100, 5250, 5500, 5750, 6000, 6250, 6500, 7000, 7500]);
    let ends = begins[1..].iter().chain(&[10_001]);
    let probabilities: Vec<f64> = std::iter::zip(&begins, ends)
        .map(|(begin, end)| below(*end) - below(*begin))
        .collect();
    let cell = |value: i64| begins.partition_point(|begin| *begin <= value) - 1;
    has_probabilities_in(cell, "random_special(0, 10000)", &probabilities);
}

#[test]
fn nurand_by_enumeration() {
    // NURand(3, 1, 10) with C = 5: all pairs of draws.
    let mut probabilities = vec![0.0; 10];
    for a in 0..=3 {
        for x in 1..=10 {
            probabilities[((a | x) + 5) % 10] += 1.0 / 40.0;
        }
    }
    has_probabilities("random_nurand(3, 1, 10, 5)", &probabilities);
}
