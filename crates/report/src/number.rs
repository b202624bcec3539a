//! Numbers as PostgreSQL's `printf` prints them, and numbers of things.

use std::fmt::Display;

/// A number with that many decimals, C's `%.Nf` of PostgreSQL's `src/port/snprintf.c`: rounded to
/// nearest from the exact binary value; `NaN` without a sign, `Infinity` spelt out.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    format!("{value:.decimals$}")
}

/// A number with as many decimals as it takes, none for a whole one.
pub fn shortest(value: f64) -> String {
    if value.is_infinite() {
        return fixed(value, 0);
    }
    format!("{value}")
}

/// A figure of that name with the digits that repeated runs could confirm: milliseconds to the
/// microsecond, or to three digits below one, all others to five digits.
pub fn readable(name: &str, value: f64) -> f64 {
    let decimals = match value.abs() {
        size if size > 0.0 => {
            let (digits, least) = match name.ends_with("_ms") {
                true => (2.0, 3.0),
                false => (4.0, 0.0),
            };
            (digits - size.log10().floor()).clamp(least, 12.0) as usize
        }
        _ => 0,
    };
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// A share as a percentage, to a tenth.
pub fn percentage(share: f64) -> String {
    format!("{} %", shortest((share * 1000.0).round() / 10.0))
}

/// A number of things, of which `noun` is one.
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_read_as_in_c() {
        assert_eq!(fixed(f64::NAN, 3), "NaN");
        assert_eq!(fixed(-f64::NAN, 3), "NaN");
        assert_eq!(fixed(f64::INFINITY, 3), "Infinity");
        assert_eq!(fixed(f64::NEG_INFINITY, 3), "-Infinity");
    }

    #[test]
    fn rounding_is_to_nearest_of_the_binary_value() {
        assert_eq!(fixed(0.0005, 3), "0.001");
        assert_eq!(fixed(0.0625, 3), "0.062");
        assert_eq!(fixed(123.456_789_4, 6), "123.456789");
    }

    #[test]
    fn shortest_has_no_needless_decimals() {
        assert_eq!(shortest(99.9), "99.9");
        assert_eq!(shortest(60.0), "60");
    }

    #[test]
    fn a_figure_has_the_digits_that_are_known() {
        assert_eq!(readable("tps", 229_578.123), 229_578.0);
        assert_eq!(readable("ratio", 0.123_456), 0.123_46);
        assert_eq!(readable("latency_ms", 12.345_678), 12.346);
        assert_eq!(readable("latency_ms", 0.001_234_5), 0.001_23);
        assert_eq!(readable("tps", 0.0), 0.0);
        assert!(readable("tps", f64::NAN).is_nan());
    }

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(counted(0, "client"), "0 clients");
        assert_eq!(counted(1, "client"), "1 client");
        assert_eq!(counted(1.0, "session"), "1 session");
        assert_eq!(counted(1.5, "session"), "1.5 sessions");
    }
}
