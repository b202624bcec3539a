//! Axes: where a value is, and which values have a tick.

use crate::number::{figure, label, labels};

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Position, from 0 to 1.
    pub at: f64,
    /// Label; empty for a minor one.
    pub label: String,
}

/// The values of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear {
        /// The lowest value.
        from: f64,
        /// The highest value, above the lowest.
        to: f64,
    },
    /// Equal distances are equal ratios.
    Log {
        /// The lowest value, above 0.
        from: f64,
        /// The highest value, above the lowest.
        to: f64,
        /// Part of the axis at its begin that stands for 0, which has no place on a log axis; 0 without.
        zero: f64,
    },
}

/// The part of a log axis for values of 0: the height of a label.
const ZERO: f64 = 0.12;

impl Scale {
    /// From 0 to the tick at or above the highest of the values, which need not be finite.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Scale {
        let highest = finite(values).fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = nice_step(highest, 4.0);
        // A value that is a hair above a tick, as a sum of shares, does not take another step.
        let to = (highest / step - 1e-9).ceil() * step;
        Scale::Linear { from: 0.0, to }
    }

    /// A log axis around the values above 0, or a linear one from 0 if there are none.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Scale {
        let (mut lowest, mut highest) = (f64::INFINITY, 0.0_f64);
        for value in finite(values).filter(|value| *value > 0.0) {
            (lowest, highest) = (lowest.min(value), highest.max(value));
        }
        if lowest > highest {
            return Scale::Linear { from: 0.0, to: 1.0 };
        }
        let from = below(lowest);
        let mut to = below(highest);
        while to < highest * (1.0 - 1e-9) || to <= from {
            to = above(to);
        }
        Scale::Log {
            from,
            to,
            zero: 0.0,
        }
    }

    /// A log axis if the values above 0 differ by a factor of more than `ratio`, else a linear one from 0. If
    /// there are values of 0, the log axis has a place for them.
    pub fn fitting(values: &[f64], ratio: f64) -> Scale {
        let above_zero = finite(values.iter().copied()).filter(|value| *value > 0.0);
        let lowest = above_zero.fold(f64::INFINITY, f64::min);
        let highest = finite(values.iter().copied()).fold(0.0, f64::max);
        let has_zero = finite(values.iter().copied()).any(|value| value <= 0.0);
        match Scale::log(values.iter().copied()) {
            Scale::Log { from, to, .. } if highest > lowest * ratio => Scale::Log {
                from,
                to,
                zero: if has_zero { ZERO } else { 0.0 },
            },
            _ => Scale::from_zero(values.iter().copied()),
        }
    }

    /// Position of a value, from 0 to 1; values beyond the ends are at the ends.
    pub fn at(&self, value: f64) -> f64 {
        let at = match *self {
            Scale::Linear { from, to } => (value - from) / (to - from),
            Scale::Log { from, .. } if value < from * (1.0 - 1e-9) => 0.0,
            Scale::Log { from, to, zero } => {
                zero + (1.0 - zero) * (value / from).ln() / (to / from).ln()
            }
        };
        if at.is_nan() { 0.0 } else { at.clamp(0.0, 1.0) }
    }

    /// A value of a time axis, which is in seconds, in the unit of its labels.
    pub fn moment(&self, at: f64) -> String {
        let (Scale::Linear { from, to } | Scale::Log { from, to, .. }) = *self;
        match time_unit(time_step(from, to, TIME_TICKS)) {
            (divisor, unit) if divisor > 1.0 && at.is_finite() => {
                format!("{:.2} {unit}", at / divisor)
            }
            (divisor, unit) => format!("{} {unit}", figure(at / divisor)),
        }
    }

    /// The highest value.
    pub fn to(&self) -> f64 {
        match *self {
            Scale::Linear { to, .. } | Scale::Log { to, .. } => to,
        }
    }

    /// Whether equal distances are equal ratios.
    pub fn is_log(&self) -> bool {
        matches!(self, Scale::Log { .. })
    }

    /// About `wanted` ticks, of values divided by `divisor`.
    pub fn ticks(&self, wanted: f64, divisor: f64) -> Vec<Tick> {
        match *self {
            Scale::Linear { from, to } => {
                let step = nice_step((to - from) / divisor, wanted) * divisor;
                self.ticks_at(&multiples(from, to, step), divisor)
            }
            Scale::Log { from, to, zero } => {
                let mut ticks = self.log_ticks(from / divisor, to / divisor, wanted, divisor);
                if ticks.iter().filter(|tick| !tick.label.is_empty()).count() < 2 {
                    // A narrow range has no power of ten, nor twice or five times one.
                    let step = nice_step((to - from) / divisor, wanted) * divisor;
                    ticks = self.ticks_at(&multiples(from, to, step), divisor);
                }
                if zero > 0.0 {
                    let label = "0".to_owned();
                    ticks.insert(0, Tick { at: 0.0, label });
                }
                ticks
            }
        }
    }

    /// Ticks at whole numbers, for counts.
    pub fn whole_ticks(&self, wanted: f64, divisor: f64) -> Vec<Tick> {
        match *self {
            Scale::Linear { from, to } if divisor == 1.0 && to - from >= 1.0 => {
                let step = match nice_step(to - from, wanted) {
                    step if step < 1.0 => 1.0,
                    step if step < 5.0 && step.fract() != 0.0 => 5.0,
                    step => step,
                };
                self.ticks_at(&multiples(from, to, step), divisor)
            }
            _ => self.ticks(wanted, divisor),
        }
    }

    /// Ticks at these values, labeled with the values divided by `divisor`.
    fn ticks_at(&self, values: &[f64], divisor: f64) -> Vec<Tick> {
        let divided: Vec<f64> = values.iter().map(|value| value / divisor).collect();
        let tick = |(value, label): (&f64, String)| Tick {
            at: self.at(*value),
            label,
        };
        values.iter().zip(labels(&divided)).map(tick).collect()
    }

    fn log_ticks(&self, from: f64, to: f64, wanted: f64, divisor: f64) -> Vec<Tick> {
        let decades = (to / from).log10();
        let labeled: &[u8] = match decades {
            decades if decades * 3.0 <= wanted * 1.3 => &[1, 2, 5],
            _ => &[1],
        };
        let every = (decades / wanted).ceil().max(1.0) as i32;
        let first = from.log10().floor() as i32;
        let last = to.log10().ceil() as i32;
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in [1_u8, 2, 5] {
                let value = f64::from(digit) * 10_f64.powi(power);
                if value < from * (1.0 - 1e-9) || value > to * (1.0 + 1e-9) {
                    continue;
                }
                let is_labeled = labeled.contains(&digit) && (power - first) % every == 0;
                ticks.push(Tick {
                    // A hair below the first value is not 0.
                    at: self.at(value.max(from) * divisor),
                    label: if is_labeled {
                        label(value)
                    } else {
                        String::new()
                    },
                });
            }
        }
        ticks
    }
}

/// Number of ticks of a time axis, about.
pub const TIME_TICKS: f64 = 6.0;

/// Ticks of a time axis in seconds, at round values of a unit from µs to days, and the unit of the labels.
pub fn time_ticks(from: f64, to: f64, wanted: f64) -> (Vec<Tick>, &'static str) {
    let step = time_step(from, to, wanted);
    let (divisor, unit) = time_unit(step);
    let scale = Scale::Linear { from, to };
    (scale.ticks_at(&multiples(from, to, step), divisor), unit)
}

/// Seconds between the ticks of a time axis.
pub(crate) fn time_step(from: f64, to: f64, wanted: f64) -> f64 {
    const STEPS: [f64; 16] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 3600.0, 7200.0,
        10800.0, 21600.0, 43200.0,
    ];
    let span = to - from;
    match span / wanted {
        rough if rough <= 1.0 => nice_step(span, wanted),
        rough => match STEPS.iter().find(|step| **step >= rough) {
            Some(step) => *step,
            None => nice_step(span / 86400.0, wanted).max(1.0) * 86400.0,
        },
    }
}

/// The unit of ticks that are `step` seconds apart, and its seconds. Advice and tables have seconds, so that of a run
/// of up to an hour is seconds.
pub(crate) fn time_unit(step: f64) -> (f64, &'static str) {
    match step {
        step if step >= 86400.0 => (86400.0, "days"),
        step if step >= 3600.0 => (3600.0, "h"),
        step if step >= 0.1 => (1.0, "s"),
        step if step >= 1e-4 => (1e-3, "ms"),
        _ => (1e-6, "\u{b5}s"),
    }
}

fn finite(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.into_iter().filter(|value| value.is_finite())
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that makes at most `wanted` steps.
fn nice_step(span: f64, wanted: f64) -> f64 {
    let rough = span / wanted;
    if !(rough > 0.0 && rough.is_finite()) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0);
    factor * power
}

/// The multiples of a step within two values.
fn multiples(from: f64, to: f64, step: f64) -> Vec<f64> {
    let first = (from / step - 1e-9).ceil();
    let last = (to / step + 1e-9).floor();
    let count = (last - first).clamp(-1.0, 1000.0) as i64;
    (0..=count).map(|i| (first + i as f64) * step).collect()
}

/// The highest of 1, 2, 5 times a power of ten that is not above a value.
fn below(value: f64) -> f64 {
    let power = 10_f64.powf((value.log10() + 1e-9).floor());
    let factor = [5.0, 2.0]
        .into_iter()
        .find(|factor| factor * power <= value * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * power
}

/// The next of them.
fn above(value: f64) -> f64 {
    let power = 10_f64.powf((value.log10() + 1e-9).floor());
    let factor = [2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power > value * (1.0 + 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_axes_end_at_a_tick() {
        let scale = Scale::from_zero([3.0, 8123.0]);
        assert_eq!(scale.to(), 10000.0);
        assert_eq!(
            texts(&scale.ticks(4.0, 1.0)),
            ["0", "2.5k", "5.0k", "7.5k", "10.0k"]
        );
        assert_eq!(Scale::from_zero([]).to(), 1.0);
        assert_eq!(Scale::from_zero([f64::NAN, f64::INFINITY]).to(), 1.0);
        assert_eq!(Scale::from_zero([100.0 + 1e-9]).to(), 100.0);
    }

    #[test]
    fn log_axes_have_labels_within_a_decade_and_over_many() {
        let scale = Scale::log([2.3, 8.0]);
        assert_eq!(
            scale,
            Scale::Log {
                from: 2.0,
                to: 10.0,
                zero: 0.0
            }
        );
        assert_eq!(texts(&scale.ticks(4.0, 1.0)), ["2", "5", "10"]);
        let scale = Scale::log([0.01, 99_000.0]);
        let ticks = scale.ticks(4.0, 1.0);
        let labeled: Vec<_> = texts(&ticks)
            .into_iter()
            .filter(|t| !t.is_empty())
            .collect();
        assert_eq!(labeled, ["0.01", "1", "100", "10k"]);
        assert_eq!(
            Scale::log([5.0]),
            Scale::Log {
                from: 5.0,
                to: 10.0,
                zero: 0.0
            }
        );
        assert_eq!(
            Scale::log([0.0, -1.0]),
            Scale::Linear { from: 0.0, to: 1.0 }
        );
    }

    #[test]
    fn log_axes_of_a_narrow_range_have_labels() {
        for (from, to) in [
            (1250.0, 1410.0),
            (1300.0, 1310.0),
            (900.0, 1200.0),
            (3.0, 4.0),
        ] {
            let scale = Scale::Log {
                from,
                to,
                zero: 0.0,
            };
            let ticks = scale.ticks(5.0, 1000.0);
            let texts = texts(&ticks);
            assert!(
                texts.len() >= 2 && !texts.contains(&""),
                "{from} {to} {texts:?}"
            );
            assert!(
                ticks.is_sorted_by(|a, b| a.at < b.at && a.label != b.label),
                "{ticks:?}"
            );
        }
        let scale = Scale::Log {
            from: 1250.0,
            to: 1410.0,
            zero: 0.0,
        };
        assert_eq!(
            texts(&scale.ticks(5.0, 1000.0)),
            ["1.25", "1.30", "1.35", "1.40"]
        );
    }

    #[test]
    fn log_axes_have_a_place_for_zero() {
        let scale = Scale::fitting(&[0.0, 1.0, 1000.0], 50.0);
        let ticks = scale.ticks(4.0, 1.0);
        assert_eq!((ticks[0].at, ticks[0].label.as_str()), (0.0, "0"));
        let one = ticks.iter().find(|tick| tick.label == "1");
        assert_eq!(one.map(|tick| tick.at), Some(scale.at(1.0)));
        assert!(scale.at(1.0) > scale.at(0.0) + 0.1);
        assert_eq!(scale.at(1000.0), 1.0);
        let without = Scale::fitting(&[1.0, 1000.0], 50.0);
        assert_eq!(without.ticks(4.0, 1.0)[0].label, "1");
    }

    #[test]
    fn moments_have_the_unit_of_the_axis() {
        let moment = |at, to| Scale::Linear { from: 0.0, to }.moment(at);
        assert_eq!(moment(1235.0, 1800.0), "1,235 s");
        assert_eq!(moment(12.5, 60.0), "12.5 s");
        assert_eq!(moment(0.012, 0.06), "12.0 ms");
    }

    #[test]
    fn times_are_round() {
        assert_eq!(
            texts(&time_ticks(0.0, 60.0, 6.0).0),
            ["0", "10", "20", "30", "40", "50", "60"]
        );
        let (ticks, unit) = time_ticks(0.0, 86400.0, 6.0);
        assert_eq!(
            (texts(&ticks), unit),
            (vec!["0", "6", "12", "18", "24"], "h")
        );
        let (ticks, unit) = time_ticks(0.0, 600.0, 6.0);
        assert_eq!(
            (texts(&ticks), unit),
            (vec!["0", "100", "200", "300", "400", "500", "600"], "s")
        );
        let (ticks, unit) = time_ticks(0.0, 0.06, 6.0);
        assert_eq!(
            (texts(&ticks), unit),
            (vec!["0", "10", "20", "30", "40", "50", "60"], "ms")
        );
        let (ticks, unit) = time_ticks(0.0, 0.0002, 6.0);
        assert_eq!(
            (texts(&ticks), unit),
            (vec!["0", "50", "100", "150", "200"], "\u{b5}s")
        );
        assert_eq!(time_ticks(0.0, 0.0, 6.0).0.len(), 1);
    }

    #[test]
    fn positions_are_within_the_axis() {
        let scale = Scale::log([1.0, 100.0]);
        assert_eq!(scale.at(10.0), 0.5);
        assert_eq!(
            (scale.at(0.0), scale.at(1e9), scale.at(f64::NAN)),
            (0.0, 1.0, 0.0)
        );
    }
}
