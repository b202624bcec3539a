//! Verdict on an arm of a comparison, in one sentence.

use crate::capacity::significant;
use crate::number::counted;
use selfbench_stats::compare::{Comparison, Design, Difference};

/// Noise above this effect, as a fraction, is told in words.
const LARGE: f64 = 1.0;
/// More rounds than that are not suggested.
const MAX_MORE: usize = 1000;
/// Smaller p values are not told apart.
const SMALLEST_P: f64 = 0.0001;
/// Decimals of a ratio at most.
const MAX_DECIMALS: usize = 6;

/// Compared figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Transactions per second: more is faster.
    Throughput,
    /// Latency, of runs with a rate: less is faster.
    Latency,
}

/// The verdict on an arm. `comparison` is that with its baseline, if any round has both.
/// `outlier_rounds` are the numbers of rounds that are named as outliers. `missing` runs of the arm do
/// not count.
///
/// Whether there is a difference is what [`Comparison::difference`] says.
pub fn verdict(
    comparison: Option<&Comparison>,
    measure: Measure,
    outlier_rounds: &[i32],
    missing: usize,
) -> String {
    let mut parts = vec![match comparison {
        None => "no round has transactions of both this arm and the baseline".to_owned(),
        Some(comparison) => judge(comparison, measure),
    }];
    match outlier_rounds {
        [] => {}
        [round] => parts.push(format!("round {round} is an outlier")),
        rounds => {
            let rounds: Vec<String> = rounds.iter().map(i32::to_string).collect();
            parts.push(format!("rounds {} are outliers", rounds.join(", ")));
        }
    }
    parts.extend(comparison.and_then(left_out));
    parts.extend(missing_runs(missing));
    parts.join("; ")
}

/// The verdict on stored runs, with the p value, which has no column of its own.
pub fn of_runs(comparison: Option<&Comparison>, measure: Measure) -> String {
    let Some(comparison) = comparison else {
        return "a side has no run with transactions".to_owned();
    };
    let text = verdict(Some(comparison), measure, &[], 0);
    match comparison.p_value {
        Some(p) if p < SMALLEST_P => format!("{text}; p < {SMALLEST_P}"),
        Some(p) => format!("{text}; p = {}", significant(p)),
        None => text,
    }
}

/// Text in place of a verdict for the baseline.
pub fn of_baseline(missing: usize) -> String {
    let missing = missing_runs(missing).map(|text| format!("; {text}"));
    format!("baseline{}", missing.unwrap_or_default())
}

/// Says how many runs are missing, if any are.
pub fn missing_runs(missing: usize) -> Option<String> {
    match missing {
        0 => None,
        1 => Some("1 run is missing".into()),
        runs => Some(format!("{runs} runs are missing")),
    }
}

/// Says how many rounds or runs had no transactions, if any had none.
fn left_out(comparison: &Comparison) -> Option<String> {
    let (left_out, runs) = match comparison.design {
        Design::Rounds => (comparison.left_out.len(), "round"),
        Design::Groups | Design::Single => (comparison.left_out.len(), "run"),
    };
    let are = if left_out == 1 { "is" } else { "are" };
    let counted = counted(left_out, runs);
    (left_out > 0).then(|| format!("{counted} without transactions {are} left out"))
}

fn judge(comparison: &Comparison, measure: Measure) -> String {
    let (Some(low), Some(high)) = (comparison.low, comparison.high) else {
        return match comparison.design {
            Design::Rounds => "one round shows no noise: repeat at least 3 times",
            _ => "single runs show no noise: give at least 3 of one side",
        }
        .into();
    };
    match comparison.difference() {
        Difference::NotSeen => not_seen(comparison),
        Difference::Higher | Difference::Lower => {
            let times = match measure {
                Measure::Throughput => "times as fast",
                Measure::Latency => "times the latency",
            };
            let difference = format!("{} {times} (95 %)", range(low, high));
            match comparison.design {
                Design::Single => format!(
                    "{difference}; the single run is outside of what the other {} predict",
                    comparison.rounds
                ),
                Design::Rounds | Design::Groups => difference,
            }
        }
    }
}

/// No difference, how large one may still be, and what would show a smaller one.
fn not_seen(comparison: &Comparison) -> String {
    let (seen, runs, each) = match comparison.design {
        Design::Rounds => ("no difference can be seen".to_owned(), "round", ""),
        Design::Groups => (
            "no difference can be seen".to_owned(),
            "run",
            " of each side",
        ),
        Design::Single => (
            format!(
                "the single run is within what the other {} predict",
                comparison.rounds
            ),
            "run",
            "",
        ),
    };
    let Some(smallest) = comparison.smallest_effect() else {
        return format!("{seen}: the noise of this machine hides any");
    };
    if smallest == 0.0 {
        return format!("{seen}: all {runs}s gave the same result");
    }
    if smallest > LARGE {
        return format!(
            "{seen}: this machine's noise hides even twice the speed; use longer runs or more {runs}s"
        );
    }
    let noise = format!(
        "{seen}: anything under {} is below this machine's noise",
        percent(smallest)
    );
    // A rounded figure may be above the smallest effect.
    let half = rounded(50.0 * smallest) / 100.0;
    let rounds = match comparison.design {
        Design::Single => None,
        Design::Rounds | Design::Groups => comparison.rounds_for(half),
    };
    match rounds.map(|rounds| rounds.saturating_sub(comparison.rounds)) {
        Some(more @ 1..=MAX_MORE) => format!(
            "{noise}; {}{each} would show {}",
            counted(more, &format!("more {runs}")),
            percent(half)
        ),
        _ => noise,
    }
}

/// A percentage of a fraction, with one significant digit, or two from 10 % on.
fn percent(fraction: f64) -> String {
    let value = rounded(100.0 * fraction);
    let decimals = (-value.log10().floor()).clamp(0.0, MAX_DECIMALS as f64);
    format!("{value:.*} %", decimals as usize)
}

/// Rounded to one significant digit, or two from 10 on.
fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - if value < 10.0 { 0.0 } else { 1.0 });
    let units = (value / unit).round();
    // Divided by a whole number, a decimal fraction is the nearest one.
    match unit < 1.0 {
        true => units / (1.0 / unit).round(),
        false => units * unit,
    }
}

/// An interval that does not contain 1, with as many decimals as show its width, and that it does not.
pub fn range(low: f64, high: f64) -> String {
    let width = (high - low).max(low * 1e-3);
    let least = if high < 100.0 { 1.0 } else { 0.0 };
    let mut decimals = (-width.log10()).ceil().clamp(least, MAX_DECIMALS as f64) as usize;
    let one = |decimals: usize| format!("{:.decimals$}", 1.0);
    let text = |value: f64, decimals: usize| format!("{value:.decimals$}");
    while decimals < MAX_DECIMALS
        && [low, high]
            .iter()
            .any(|bound| text(*bound, decimals) == one(decimals))
    {
        decimals += 1;
    }
    let (low, high) = (text(low, decimals), text(high, decimals));
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds with these ratios.
    fn of(ratios: &[f64]) -> Comparison {
        let rounds: Vec<(f64, f64)> = ratios.iter().map(|ratio| (ratio * 900.0, 900.0)).collect();
        Comparison::of(&rounds, 1).unwrap()
    }

    fn throughput(ratios: &[f64]) -> String {
        verdict(Some(&of(ratios)), Measure::Throughput, &[], 0)
    }

    #[test]
    fn a_difference_is_an_interval_of_the_ratio() {
        assert_eq!(
            throughput(&[2.9, 3.2, 3.0, 3.3, 3.1, 3.3, 2.9]),
            "2.9 to 3.3 times as fast (95 %)"
        );
        assert_eq!(
            throughput(&[0.95, 0.96, 0.94, 0.95, 0.97]),
            "0.94 to 0.97 times as fast (95 %)"
        );
        let slower = of(&[1.31, 1.36, 1.33]);
        assert_eq!(
            verdict(Some(&slower), Measure::Latency, &[], 0),
            "1.3 to 1.4 times the latency (95 %)"
        );
    }

    #[test]
    fn stored_runs_have_a_p_value_and_a_single_one_a_prediction() {
        let of = |arm: &[f64], baseline: &[f64]| {
            let comparison = Comparison::of_independent(arm, baseline, 1);
            of_runs(comparison.as_ref(), Measure::Throughput)
        };
        let nights = [
            1012.0, 998.0, 1034.0, 1021.0, 987.0, 1009.0, 1045.0, 1003.0, 1018.0, 1001.0, 1022.0,
            1008.0, 995.0, 1013.0,
        ];
        assert_eq!(
            of(&[950.0], &nights),
            "0.91 to 0.97 times as fast (95 %); the single run is outside of what the other 14 predict; \
             p = 0.00156"
        );
        assert_eq!(
            of(&[1000.0], &nights),
            "the single run is within what the other 14 predict: anything under 7 % is below this \
             machine's noise; p = 0.473"
        );
        assert_eq!(
            of(&[500.0, 510.0, 490.0], &nights),
            "0.47 to 0.52 times as fast (95 %); p < 0.0001"
        );
        assert_eq!(
            of(&[0.0, 0.0, 1010.0, 1025.0, 995.0], &nights),
            "no difference can be seen: anything under 10 % is below this machine's noise; 5 more runs of \
             each side would show 5 %; 2 runs without transactions are left out; p = 0.862"
        );
        assert_eq!(
            of(&[950.0], &[1000.0]),
            "single runs show no noise: give at least 3 of one side"
        );
        assert_eq!(of(&[0.0], &nights), "a side has no run with transactions");
    }

    #[test]
    fn bounds_have_the_decimals_that_tell_something() {
        for (low, high, expected) in [
            (1.0004, 1.04, "1.0004 to 1.0400"),
            (0.93, 0.9996, "0.9300 to 0.9996"),
            (0.012, 0.013, "0.0120 to 0.0130"),
            (2.0, 2.0, "2.000"),
            (1234.5, 1300.1, "1234 to 1300"),
            (5.0, 5000.0, "5 to 5000"),
            (1.000_000_1, 1.1, "1.000000 to 1.100000"),
        ] {
            assert_eq!(range(low, high), expected);
        }
    }

    #[test]
    fn no_difference_says_what_would_have_been_seen() {
        assert_eq!(
            throughput(&[1.01, 0.99, 1.02, 0.98, 1.0, 1.015, 0.985]),
            "no difference can be seen: anything under 3 % is below this machine's noise; \
             8 more rounds would show 2 %"
        );
        assert_eq!(
            throughput(&[1.0; 4]),
            "no difference can be seen: all rounds gave the same result"
        );
        let wide = throughput(&[3.0, 0.4, 2.0, 0.5]);
        assert!(wide.contains("hides even twice the speed"), "{wide}");
        let two = throughput(&[1e300, 1e-300]);
        assert_eq!(
            two,
            "no difference can be seen: the noise of this machine hides any"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            throughput(&[1.5]),
            "one round shows no noise: repeat at least 3 times"
        );
        let none = "no round has transactions of both this arm and the baseline";
        assert_eq!(verdict(None, Measure::Latency, &[], 0), none);
        assert_eq!(
            verdict(None, Measure::Throughput, &[], 3),
            format!("{none}; 3 runs are missing")
        );
        let stalled = Comparison::of(&[(0.0, 9.0), (2.0, 1.0), (2.0, 1.0)], 1).unwrap();
        assert_eq!(
            verdict(Some(&stalled), Measure::Throughput, &[], 0),
            "2.000 times as fast (95 %); 1 round without transactions is left out"
        );
        let found = of(&[2.0, 2.0, 2.0, 2.0]);
        assert_eq!(
            verdict(Some(&found), Measure::Throughput, &[4], 1),
            "2.000 times as fast (95 %); round 4 is an outlier; 1 run is missing"
        );
        let many = verdict(Some(&found), Measure::Throughput, &[2, 6], 0);
        assert!(many.ends_with("; rounds 2, 6 are outliers"), "{many}");
        assert_eq!(of_baseline(0), "baseline");
        assert_eq!(of_baseline(2), "baseline; 2 runs are missing");
    }

    #[test]
    fn percentages_are_rounded_to_what_is_known() {
        for (fraction, expected) in [
            (0.04, "4 %"),
            (0.0149, "1 %"),
            (0.123, "12 %"),
            (0.0996, "10 %"),
            (0.00234, "0.2 %"),
            (0.000_5, "0.05 %"),
            (12.34, "1200 %"),
        ] {
            assert_eq!(percent(fraction), expected);
        }
    }
}
