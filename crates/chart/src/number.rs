//! Readable numbers: units that fit a magnitude, figures in sentences.

/// Unit of a figure; values are in the base unit named here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// A number of things, such as `transactions/s`.
    Count(&'static str),
    /// Milliseconds, whatever the magnitude.
    Milliseconds,
    /// Microseconds, whatever the magnitude.
    Microseconds,
    /// Bytes, or with `/s` bytes per second.
    Bytes(&'static str),
    /// A fraction, shown in percent.
    Share(&'static str),
}

impl Unit {
    /// Divisor for values up to this one, and the name of the unit that results.
    pub fn of(self, highest: f64) -> (f64, String) {
        match self {
            Unit::Count(name) => (1.0, name.to_owned()),
            Unit::Milliseconds => (1.0, "ms".to_owned()),
            Unit::Microseconds => (1.0, "\u{b5}s".to_owned()),
            Unit::Bytes(suffix) => {
                let names = ["bytes", "kB", "MB", "GB", "TB"];
                let mut step = 0;
                while step + 1 < names.len() && highest >= 1024_f64.powi(step as i32 + 1) {
                    step += 1;
                }
                (
                    1024_f64.powi(step as i32),
                    format!("{}{suffix}", names[step]),
                )
            }
            Unit::Share(of) => (0.01, format!("%{of}")),
        }
    }

    /// Scale and unit for the labels of an axis, short of zeros: `in 0.001 blocks/s`.
    pub(crate) fn on_axis(self, highest: f64) -> (f64, String) {
        let (mut divisor, name) = self.of(highest);
        let mut part = 1.0;
        let is_time = matches!(self, Unit::Milliseconds | Unit::Microseconds);
        while !is_time && highest > 0.0 && highest / divisor <= 0.01 {
            (divisor, part) = (divisor / 1000.0, part / 1000.0);
        }
        match part {
            1.0 => (divisor, name),
            part => (divisor, format!("in {} {name}", label(part))),
        }
    }

    /// A value with its unit, as in a sentence.
    pub fn with(self, value: f64) -> String {
        with(value, &self.of(value.abs()))
    }
}

/// A value in the unit of an axis, which is what values are divided by and its name.
pub(crate) fn with(value: f64, (divisor, name): &(f64, String)) -> String {
    let value = figure(value / divisor);
    match name.strip_prefix("in ") {
        Some(part) => format!("{value} \u{d7} {part}"),
        None => format!("{value} {name}"),
    }
}

/// A number of at least three significant digits, with commas between thousands.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    let decimals = match value.abs() {
        // Too small for the decimals, such as what rounding leaves of a difference.
        size if size < 5e-7 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size => (2 - size.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.decimals$}");
    match text.as_str() {
        "-0" => "0".to_owned(),
        text => thousands(text),
    }
}

/// Commas between thousands.
pub fn thousands(number: &str) -> String {
    let (whole, rest) = match number.find('.') {
        Some(at) => number.split_at(at),
        None => (number, ""),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// The labels of ticks: the same multiple and the same decimals for all, `0`, `2.5k`, `5k`.
pub fn labels(ticks: &[f64]) -> Vec<String> {
    let highest = ticks
        .iter()
        .fold(0.0_f64, |most, tick| most.max(tick.abs()));
    let (divisor, suffix) = match highest {
        most if most >= 1e9 => (1e9, "G"),
        most if most >= 1e6 => (1e6, "M"),
        most if most >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled: Vec<f64> = ticks.iter().map(|tick| tick / divisor).collect();
    let decimals = (0..6)
        .find(|decimals| {
            let unit = 10_f64.powi(*decimals);
            scaled
                .iter()
                .all(|tick| (tick * unit - (tick * unit).round()).abs() < 1e-6 * (1.0 + tick.abs()))
        })
        .unwrap_or(6) as usize;
    scaled
        .iter()
        .map(|tick| match *tick {
            0.0 => "0".to_owned(),
            tick => format!("{}{suffix}", thousands(&format!("{tick:.decimals$}"))),
        })
        .collect()
}

/// The label of one tick of a log axis: as few digits as it takes.
pub fn label(tick: f64) -> String {
    match tick {
        tick if tick > 0.0 && tick < 0.0009 => format!("{tick:.0e}"),
        tick => labels(&[tick]).remove(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (1234567.0, "1,234,567"),
            (-1234.5, "-1,234"),
            (12.345, "12.3"),
            (1.2345, "1.23"),
            (0.012345, "0.0123"),
            (0.000_001_2, "0.000001"),
            (1e-9, "0"),
            (-1e-9, "0"),
            (99.96, "100"),
            (f64::NAN, "unknown"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn labels_are_alike() {
        assert_eq!(labels(&[0.0, 2500.0, 5000.0]), ["0", "2,500", "5,000"]);
        assert_eq!(labels(&[0.0, 12500.0, 25000.0]), ["0", "12.5k", "25.0k"]);
        assert_eq!(
            labels(&[0.0, 500_000.0, 1_000_000.0]),
            ["0", "0.5M", "1.0M"]
        );
        assert_eq!(labels(&[0.0, 0.05, 0.1]), ["0", "0.05", "0.10"]);
        assert!(labels(&[]).is_empty());
        assert_eq!([label(0.001), label(0.0005)], ["0.001", "5e-4"]);
    }

    #[test]
    fn units_fit_the_magnitude() {
        assert_eq!(Unit::Milliseconds.with(0.0123), "0.0123 ms");
        assert_eq!(Unit::Milliseconds.with(12_300.0), "12,300 ms");
        assert_eq!(Unit::Microseconds.with(12.3), "12.3 \u{b5}s");
        assert_eq!(Unit::Microseconds.with(12_300.0), "12,300 \u{b5}s");
        assert_eq!(Unit::Bytes("/s").with(3.0 * 1024.0 * 1024.0), "3.00 MB/s");
        assert_eq!(Unit::Share("").with(0.5), "50.0 %");
        assert_eq!(Unit::Count("tps").with(1e6), "1,000,000 tps");
        let tps = |highest| Unit::Count("tps").on_axis(highest).1;
        assert_eq!(
            [tps(0.0), tps(0.02), tps(0.01), tps(1e-6)],
            ["tps", "tps", "in 0.001 tps", "in 1e-6 tps"]
        );
        let axis = Unit::Bytes("/s").on_axis(5e6);
        assert_eq!(with(102_400.0, &axis), "0.0977 MB/s");
        let axis = Unit::Count("tps").on_axis(0.01);
        assert_eq!(with(0.004, &axis), "4.00 \u{d7} 0.001 tps");
    }
}
