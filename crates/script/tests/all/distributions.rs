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
