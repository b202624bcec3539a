use super::*;
use crate::random::Random;

mod otava;

/// Throughput of 300 runs of select-only in mode spi at scale 1, one after the other, of 0.5 s each, relative to their
/// mean, on a machine with two CPUs and nothing beside. It was made by as many
/// `bench.run('select-only', duration => '500 ms', vacuum => 'none', observe => false, label => 'noise')`, and
/// `SELECT round((tps / avg(tps) OVER ())::numeric, 4) FROM bench.runs WHERE label = 'noise' ORDER BY run_id`.
const MEASURED: &str = include_str!("tests/measured.txt");
/// Length of a block of measured noise, in nights: neighbors stay together, as far as their noise depends on each other.
const BLOCK: usize = 10;

/// Nights of a simulated series.
const NIGHTS: usize = 200;
/// Coefficients of variation of simulated noise.
const VARIATIONS: [f64; 3] = [0.01, 0.02, 0.03];

/// Least change, as a fraction.
const LEAST_CHANGE: f64 = 0.03;
/// Number of simulated series of each kind.
const SERIES: u64 = 100;

fn nights(values: &[f64]) -> Vec<Night> {
    let night = |value: &f64| Night {
        value: *value,
        is_disturbed: false,
        is_baseline: false,
    };
    values.iter().map(night).collect()
}

fn trend(values: &[f64]) -> Trend {
    Trend::of(&nights(values), Better::Higher, LEAST_CHANGE)
}

/// Values with normal noise, which `shape` multiplies.
fn noisy(seed: u64, variation: f64, shape: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let value = |night| 1000.0 * shape(night) * (1.0 + variation * random.normal());
    (0..NIGHTS).map(value).collect()
}

/// Number of all series that do what is asked of them.
fn share(variation: f64, is_so: impl Fn(u64) -> bool) -> f64 {
    let seeds = 0..SERIES;
    let seeds = seeds.map(|seed| seed + (1e5 * variation) as u64 * 1000);
    seeds.filter(|seed| is_so(*seed)).count() as f64 / SERIES as f64
}

#[test]
fn noise_gives_few_alerts() {
    for variation in VARIATIONS {
        let (mut alerts, mut suspects) = (0, 0);
        for seed in 0..SERIES {
            let found = trend(&noisy(seed, variation, |_| 1.0));
            alerts += found.changes.len();
            let states = found.nights.iter();
            suspects += states.filter(|(_, state)| *state == State::Suspect).count();
        }
        let mean = |count: usize| count as f64 / SERIES as f64;
        println!(
            "noise of {variation}: {} alerts and {} suspects per series",
            mean(alerts),
            mean(suspects)
        );
        assert!(mean(alerts) <= 2.0, "{variation}: {}", mean(alerts));
        assert!(mean(suspects) <= 4.0, "{variation}: {}", mean(suspects));
    }
}

/// The autocorrelation of values at a lag.
fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let center = mean(values);
    let product = |(a, b): (&f64, &f64)| (a - center) * (b - center);
    let all: f64 = values.iter().zip(values).map(product).sum();
    values.iter().zip(&values[lag..]).map(product).sum::<f64>() / all
}

/// Noise of a machine, of which each series has blocks at random places (Kuensch, The Jackknife and the Bootstrap for
/// General Stationary Observations, Annals of Statistics 17, 1989).
#[test]
fn measured_noise_in_blocks() {
    let measured: Vec<f64> = MEASURED.lines().map(|line| line.parse().unwrap()).collect();
    let resampled = |seed| -> Vec<f64> {
        let mut random = Random::new(seed);
        let blocks = (0..NIGHTS / BLOCK).map(|_| random.below(measured.len() - BLOCK + 1));
        blocks
            .flat_map(|at| &measured[at..at + BLOCK])
            .copied()
            .collect()
    };
    let (mut alerts, mut correlations) = (0, [0.0; 5]);
    for seed in 0..SERIES {
        let values = resampled(seed);
        assert_eq!(values.len(), NIGHTS);
        alerts += trend(&values).changes.len();
        for (lag, sum) in (1..).zip(&mut correlations) {
            *sum += autocorrelation(&values, lag) / SERIES as f64;
        }
    }
    let deviation = measured
        .iter()
        .map(|value| (value - 1.0).powi(2))
        .sum::<f64>()
        / measured.len() as f64;
    println!(
        "measured noise of {:.3} in blocks of {BLOCK}: {} alerts per series, autocorrelation at lags 1 to 5 {correlations:.2?}, before resampling {:.2?}",
        deviation.sqrt(),
        alerts as f64 / SERIES as f64,
        [1, 2, 3, 4, 5].map(|lag| autocorrelation(&measured, lag)),
    );
    // Blocks keep neighbors together.
    let of_measured = autocorrelation(&measured, 1);
    assert!(
        (correlations[0] - of_measured).abs() < 0.25,
        "{correlations:?}, {of_measured}"
    );
}

#[test]
fn a_step_is_found_within_a_week_at_its_place() {
    for variation in VARIATIONS {
        let drop = 1.0 - f64::max(4.0 * variation, 0.05);
        let found = share(variation, |seed| {
            let at = 40 + (seed % 120) as usize;
            let found = trend(&noisy(
                seed,
                variation,
                |night| if night < at { 1.0 } else { drop },
            ));
            found.changes.iter().any(|change| {
                change.at.abs_diff(at) <= 1 && change.ratio < 1.0 && change.found < at + 7
            })
        });
        println!("step with noise of {variation}: {found}");
        assert!(found >= 0.95, "{variation}: {found}");
    }
}

#[test]
fn a_drift_is_found_before_its_end() {
    for variation in VARIATIONS {
        let found = share(variation, |seed| {
            let slowed = |night: usize| 1.0 - 0.1 * night.saturating_sub(100) as f64 / 100.0;
            let found = trend(&noisy(seed, variation, slowed));
            let mut changes = found.changes.iter();
            changes.any(|change| change.ratio < 1.0 && change.found > 100)
        });
        println!("drift with noise of {variation}: {found}");
        assert!(found >= 0.95, "{variation}: {found}");
    }
}

#[test]
fn one_odd_night_gives_no_alert() {
    for variation in VARIATIONS {
        let alerts = share(variation, |seed| {
            let spike = |night| if night == 100 { 0.7 } else { 1.0 };
            let odd = trend(&noisy(seed, variation, spike));
            let starts = odd.changes.iter().map(|change| change.at);
            let has_history = starts.filter(|at| *at <= 100).all(|at| at + HISTORY <= 100);
            assert!(odd.nights[100].1 == State::Suspect || !has_history);
            let after = |trend: &Trend| {
                let found = trend.changes.iter().map(|change| change.found);
                found.filter(|found| (100..150).contains(found)).count()
            };
            after(&odd) > after(&trend(&noisy(seed, variation, |_| 1.0)))
        });
        println!("spike with noise of {variation}: {alerts}");
        assert!(alerts <= 0.02, "{variation}: {alerts}");
    }
}

#[test]
fn a_level_that_falls_is_slower_until_it_is_usual() {
    let mut values = vec![100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0];
    let fallen = values.len();
    values.extend((0..WINDOW + 2).map(|night| 80.0 + f64::from(night as u32 % 3)));
    let found = trend(&values);
    let [change] = &found.changes[..] else {
        panic!("{:?}", found.changes);
    };
    assert_eq!((change.kind, change.at), (Kind::Step, fallen));
    assert!(change.found < fallen + 4, "{}", change.found);
    assert_eq!(change.before, (0..fallen).collect::<Vec<_>>());
    assert_eq!(change.after.len(), WINDOW);
    assert!(change.low < 0.81 && change.ratio > 0.80 && change.high < 0.83);
    assert!(change.p_value < LARGEST_P);
    let states: Vec<State> = found.nights.iter().map(|(_, state)| *state).collect();
    assert_eq!(states[..HISTORY], [State::NoHistory; HISTORY]);
    assert_eq!(states[HISTORY..fallen], [State::Ok; 3]);
    assert_eq!(states[fallen..fallen + WINDOW], [State::Slower; WINDOW]);
    assert_eq!(states[fallen + WINDOW..], [State::Ok; 2]);
    let (level, _) = found.nights[fallen];
    assert!((80.0..82.0).contains(&level.unwrap().mean));
    let lower = Trend::of(&nights(&values), Better::Lower, LEAST_CHANGE);
    assert_eq!(lower.nights[fallen].1, State::Faster);
    let (level, state) = trend(&values[..fallen + 1]).nights[fallen];
    assert_eq!(state, State::Suspect);
    // It is no part of the level.
    assert!((99.0..101.0).contains(&level.unwrap().mean));
    assert!(trend(&values[..fallen + 2]).changes.is_empty());
}

#[test]
fn nights_on_a_disturbed_machine_do_not_count() {
    let mut disturbed = nights(&noisy(1, 0.01, |_| 1.0));
    for night in [20, 21, 22, 23, 24, 25, 26, 27, 28, 29] {
        disturbed[night].value = 500.0;
        disturbed[night].is_disturbed = true;
    }
    disturbed[30].value = 0.0;
    let found = Trend::of(&disturbed, Better::Higher, LEAST_CHANGE);
    assert!(found.changes.is_empty());
    assert!(
        found.nights[20..=30]
            .iter()
            .all(|(_, state)| *state == State::Noisy)
    );
    let level = found.nights[25].0.unwrap();
    assert!((990.0..1010.0).contains(&level.mean));
    let mut counting = disturbed;
    counting
        .iter_mut()
        .for_each(|night| night.is_disturbed = false);
    let found = Trend::of(&counting, Better::Higher, LEAST_CHANGE);
    let places: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
    // The night without a value is left out.
    assert_eq!(places, [20, 31]);
}

#[test]
fn a_baseline_begins_a_level_without_a_change() {
    let level = |level: f64| (0..20).map(move |night| level + f64::from(night % 3));
    let values: Vec<f64> = level(100.0).chain(level(80.0)).chain(level(60.0)).collect();
    let at =
        |found: &Trend| -> Vec<usize> { found.changes.iter().map(|change| change.at).collect() };
    assert_eq!(at(&trend(&values)), [20, 40]);
    let mut expected = nights(&values);
    expected[20].is_baseline = true;
    // The first night is one anyway.
    expected[0].is_baseline = true;
    let found = Trend::of(&expected, Better::Higher, LEAST_CHANGE);
    assert_eq!(at(&found), [40]);
    assert_eq!(found.changes[0].before, (20..40).collect::<Vec<_>>());
    let states: Vec<State> = found.nights.iter().map(|(_, state)| *state).collect();
    assert_eq!(states[20..25], [State::NoHistory; HISTORY]);
    assert_eq!(states[25..40], [State::Ok; 15]);
    assert_eq!(states[40..], [State::Slower; 20]);
    let level = |night: usize| found.nights[night].0.unwrap().mean.round();
    assert_eq!([level(19), level(20)], [101.0, 81.0]);
    // A night that does not count is the baseline of those behind it.
    expected[20].is_disturbed = true;
    let found = Trend::of(&expected, Better::Higher, LEAST_CHANGE);
    assert_eq!(at(&found), [40]);
    assert_eq!(found.nights[20].1, State::Noisy);
    assert_eq!(found.nights[21].1, State::NoHistory);
}

#[test]
fn small_changes_and_short_series_are_none() {
    let small = |night| if night < 100 { 1.0 } else { 0.98 };
    assert!(trend(&noisy(1, 0.001, small)).changes.is_empty());
    let found = Trend::of(&nights(&noisy(1, 0.001, small)), Better::Higher, 0.01);
    assert_eq!(found.changes.len(), 1);
    assert!(trend(&[]).nights.is_empty());
    assert_eq!(trend(&[5.0]).nights[0].1, State::NoHistory);
    assert!(trend(&[5.0, 1.0, 5.0, 1.0, 1.0]).changes.is_empty());
    // Values that never vary, and then differ.
    let found = trend(&[[8.0; 6], [4.0; 6]].concat());
    assert_eq!((found.changes[0].at, found.changes[0].p_value), (6, 0.0));
    let huge = trend(&[[1e300; 6], [1e-300; 6]].concat());
    assert_eq!(huge.changes.len(), 1);
}

#[test]
fn what_was_found_does_not_change_with_later_nights() {
    let values = noisy(3, 0.02, |night| if night < 80 { 1.0 } else { 0.9 });
    let places = |nights: usize| -> Vec<usize> {
        let found = trend(&values[..nights]);
        found.changes.iter().map(|change| change.at).collect()
    };
    for nights in 0..NIGHTS {
        let (earlier, later) = (places(nights), places(nights + 1));
        assert_eq!(later[..earlier.len()], earlier);
    }
}
