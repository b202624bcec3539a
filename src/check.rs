//! Checks of single values that functions are given: the value as its type has it, or the error
//! that names the option and says what is valid.

use crate::error::{Error, Result};
use crate::server;
use pgrx::datum::Interval;
use std::collections::HashSet;

/// Longest duration, in seconds; pgbench's.
const MAX_SECONDS: i64 = i32::MAX as i64;
/// The longest label, in bytes; it is the key of an index.
const MAX_LABEL_BYTES: usize = 1024;
/// Microseconds of a second.
pub const US_PER_SECOND: i64 = 1_000_000;

/// The value of an argument that has no default.
pub fn argument<T>(name: &'static str, value: Option<T>) -> Result<T> {
    value.ok_or(Error::NullArgument { name })
}

/// A number within its valid range.
pub fn in_range<T: PartialOrd + std::fmt::Display>(
    option: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<T> {
    // A value that is not a number is in no range.
    if !(&low..=&high).contains(&&value) {
        return Err(invalid(
            option,
            value.to_string(),
            &format!("The valid range is {low} to {high}."),
        ));
    }
    Ok(value)
}

/// A number above zero.
pub fn above_zero(option: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(invalid(
            option,
            value.to_string(),
            "A finite number above 0.",
        ))
    }
}

/// One of a few words.
pub fn one_of<'n, T: Copy + 'n>(
    option: &'static str,
    text: &str,
    valid: impl AsRef<[(&'n str, T)]>,
) -> Result<T> {
    let valid = valid.as_ref();
    match valid.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<_> = valid
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect();
            Err(invalid(
                option,
                format!("\"{text}\""),
                &format!("Valid values are {}.", names.join(", ")),
            ))
        }
    }
}

/// Fails if a label is too long.
pub fn label(label: Option<&str>) -> Result<()> {
    match label {
        Some(label) if label.len() > MAX_LABEL_BYTES => Err(invalid(
            "label",
            format!("{} bytes", label.len()),
            &format!("At most {MAX_LABEL_BYTES} bytes."),
        )),
        _ => Ok(()),
    }
}

/// A base seed as it is given: a number, or the name of a source of numbers.
#[derive(Clone, Debug)]
pub struct Seed(pub String);

/// A base seed; that of the clock unless one is given.
pub fn seed(seed: Option<&Seed>) -> Result<u64> {
    let Some(Seed(text)) = seed else {
        return Ok(server::clock_seed());
    };
    match text.as_str() {
        "time" => Ok(server::clock_seed()),
        "rand" => Ok(server::strong_seed()),
        // Not as C reads it: nothing wraps around.
        _ => text.parse().map_err(|_| {
            invalid(
                "seed",
                format!("\"{text}\""),
                "An integer from 0 to 18446744073709551615, \"time\" or \"rand\".",
            )
        }),
    }
}

/// Numbers of runs or sets as they are given: one, or several as an array or a list.
#[derive(Clone, Debug)]
pub struct Ids(pub String);

/// The numbers that an argument names, at least one, in the order given, each once.
pub fn ids(name: &'static str, Ids(text): &Ids) -> Result<Vec<i64>> {
    let text = text.trim();
    // An array whose first subscript is not 1 begins with its bounds.
    let array = match text.split_once('=') {
        Some((bounds, array)) if bounds.starts_with('[') => array,
        _ => text,
    };
    let list = array.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let (mut ids, mut seen) = (Vec::new(), HashSet::new());
    for part in list.unwrap_or(text).split(',').map(str::trim) {
        if part.eq_ignore_ascii_case("null") {
            return Err(Error::NullElement { name });
        }
        let id: i64 = part.parse().map_err(|_| {
            let valid = "A number, or several such as '41, 43'.";
            invalid(name, format!("\"{text}\""), valid)
        })?;
        if seen.insert(id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The error for an option whose value is not valid; `valid` is a sentence that says what is.
pub fn invalid(option: &'static str, value: String, valid: &str) -> Error {
    Error::Option {
        option,
        value,
        valid: valid.into(),
    }
}

/// A span of time in microseconds, above zero or not below it, and at most what pgbench allows.
pub fn duration(option: &'static str, interval: &Interval, zero: bool) -> Result<i64> {
    let us = microseconds(interval);
    let low = if zero { 0 } else { 1 };
    if us < low || us > i128::from(MAX_SECONDS * US_PER_SECOND) {
        let from = if zero { "0" } else { "above 0" };
        return Err(invalid(
            option,
            interval_text(interval),
            &format!("The valid range is {from} to {MAX_SECONDS} seconds."),
        ));
    }
    Ok(us as i64)
}

/// An age: an interval that is not negative, and that can be subtracted from the current time.
pub fn age(option: &'static str, interval: Interval) -> Result<Interval> {
    const MOST_US: i128 = 5000 * 360 * 86_400 * US_PER_SECOND as i128;
    if !(0..=MOST_US).contains(&microseconds(&interval)) {
        return Err(invalid(
            option,
            interval_text(&interval),
            "An interval from 0 to 5000 years.",
        ));
    }
    Ok(interval)
}

/// Microseconds as EXTRACT(epoch) counts them, but for years: a month is 30 days, a day 24 hours.
fn microseconds(interval: &Interval) -> i128 {
    let days = i64::from(interval.months()) * 30 + i64::from(interval.days());
    i128::from(days) * 86_400 * i128::from(US_PER_SECOND) + i128::from(interval.micros())
}

/// An interval as the server prints it.
pub fn interval_text(interval: &Interval) -> String {
    server::interval_text(interval)
}

/// Values for a message, such as `1, 2`.
pub fn list(values: &[impl ToString]) -> String {
    let texts: Vec<_> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
