//! Numbers as C reads and writes them: `%.15g` and `%f` out, `strtod`, integers and blanks in.

use std::fmt::{self, Write};

/// The characters that C's `isspace` knows in the C locale.
pub fn is_c_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// The integer part, or what the processor's conversion gives for a double that has none in 64
/// bits.
pub(crate) fn truncate(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// A double in the form of C's `%f`; infinities and NaN the way SQL spells them.
pub(crate) struct Fixed(pub f64);

impl fmt::Display for Fixed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match special_name(self.0) {
            Some(name) => out.write_str(name),
            None => write!(out, "{:.6}", self.0),
        }
    }
}

/// SQL's spelling of a double that has no digits.
fn special_name(value: f64) -> Option<&'static str> {
    if value.is_finite() {
        return None;
    }
    Some(if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    })
}

/// Writes a double in the form of C's `%.15g`; infinities and NaN the way SQL spells them.
pub(crate) fn write_double(value: f64, out: &mut dyn Write) -> fmt::Result {
    const PRECISION: i32 = 15;
    if let Some(name) = special_name(value) {
        return out.write_str(name);
    }
    let mut scientific = ShortText::default();
    write!(scientific, "{:.14e}", value)?;
    let (mantissa, exponent) = scientific.as_str().split_once('e').ok_or(fmt::Error)?;
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let mut digits = ShortText::default();
    for part in mantissa.split('.') {
        digits.write_str(part)?;
    }
    let digits = digits.as_str().trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    out.write_str(sign)?;
    if !(-4..PRECISION).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        out.write_str(first)?;
        if !rest.is_empty() {
            write!(out, ".{rest}")?;
        }
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "e{exponent_sign}{:02}", exponent.unsigned_abs());
    }
    match usize::try_from(exponent + 1) {
        Ok(whole @ 1..) if digits.len() > whole => {
            let (integer, fraction) = digits.split_at(whole);
            write!(out, "{integer}.{fraction}")
        }
        Ok(whole @ 1..) => write!(out, "{digits:0<whole$}"),
        _ => {
            let zeros = exponent.unsigned_abs() as usize - 1;
            write!(out, "0.{:0<zeros$}{digits}", "")
        }
    }
}

/// A fixed buffer that is long enough for any double in scientific form.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 32],
    length: usize,
}

impl ShortText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let target = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// A double read from the start of a text.
struct Scanned<'a> {
    value: f64,
    /// Whether the value is neither too great nor so small that it lost digits.
    in_range: bool,
    /// The text after it.
    rest: &'a str,
}

impl<'a> Scanned<'a> {
    fn exactly(value: f64, rest: &'a str) -> Self {
        Self {
            value,
            in_range: true,
            rest,
        }
    }

    /// The value if it is all of the text, and in range.
    fn whole(self) -> Option<f64> {
        (self.rest.is_empty() && self.in_range).then_some(self.value)
    }
}

/// Reads a whole text as C's `strtod` does: leading blanks, sign, decimal or hexadecimal digits,
/// `inf`, `infinity`, `nan`. `None` if characters remain, or on overflow or underflow.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    scan_double(text)?.whole()
}

/// The double at the start of a text as C's `atof` reads it: what [`parse_double`] takes, infinite
/// on overflow; zero if there is none.
pub fn c_atof(text: &str) -> f64 {
    scan_double(text).map_or(0.0, |scanned| scanned.value)
}

fn scan_double(text: &str) -> Option<Scanned<'_>> {
    let text = text.trim_start_matches(is_c_space);
    let (negative, text) = split_sign(text);
    let mut scanned = scan_magnitude(text)?;
    if negative {
        scanned.value = -scanned.value;
    }
    Some(scanned)
}

/// Whether the text has a minus, and what follows its sign.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn scan_magnitude(text: &str) -> Option<Scanned<'_>> {
    for (name, value) in [
        ("infinity", f64::INFINITY),
        ("inf", f64::INFINITY),
        ("nan", f64::NAN),
    ] {
        if let Some(rest) = strip_name(text, name) {
            let rest = if value.is_nan() {
                strip_payload(rest)
            } else {
                rest
            };
            return Some(Scanned::exactly(value, rest));
        }
    }
    strip_name(text, "0x")
        .and_then(scan_hexadecimal)
        .or_else(|| scan_decimal(text))
}

/// Rest of a text behind `name` at its start, in small or capital letters.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then_some(rest)
}

/// Rest of a text behind the `(...)` that NaN may have, with letters, digits and underscores
/// inside.
fn strip_payload(text: &str) -> &str {
    text.strip_prefix('(')
        .and_then(|inner| {
            inner
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
                .strip_prefix(')')
        })
        .unwrap_or(text)
}

/// Reads an unsigned decimal number with optional fraction and exponent. `None` if it is
/// malformed, too great, or so small that it loses digits.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    scan_decimal(text)?.whole()
}

fn scan_decimal(text: &str) -> Option<Scanned<'_>> {
    let (mantissa, after) = split_mantissa(text, |c| c.is_ascii_digit())?;
    let rest = split_exponent(after, ['e', 'E']).map_or(after, |(_, rest)| rest);
    let value: f64 = text[..text.len() - rest.len()].parse().ok()?;
    let is_zero = !mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b));
    Some(Scanned {
        value,
        // A decimal text of a subnormal number is never exact unless it has hundreds of digits.
        in_range: is_zero || value.is_normal(),
        rest,
    })
}

/// Splits off digits with at most one point among them, `None` if there is no digit.
fn split_mantissa(text: &str, is_digit: fn(&char) -> bool) -> Option<(&str, &str)> {
    let digits = |text: &str| text.chars().take_while(is_digit).count();
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map(digits);
    match (whole, fraction) {
        (0, None | Some(0)) => None,
        (_, fraction) => Some(text.split_at(whole + fraction.map_or(0, |count| count + 1))),
    }
}

/// The exponent behind one of the letters, saturated far outside the range of doubles, and the
/// text after it; `None` if there is none.
fn split_exponent(text: &str, letters: [char; 2]) -> Option<(i64, &str)> {
    const LIMIT: i64 = 1 << 40;
    let (negative, number) = split_sign(text.strip_prefix(letters)?);
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (value, rest) = c_strtol(number);
    let value = value.min(LIMIT);
    Some((if negative { -value } else { value }, rest))
}

/// Reads the part of a hexadecimal floating-point number after `0x`.
fn scan_hexadecimal(text: &str) -> Option<Scanned<'_>> {
    let (mantissa, after) = split_mantissa(text, |c| c.is_ascii_hexdigit())?;
    let (mut exponent, rest) = split_exponent(after, ['p', 'P']).unwrap_or((0, after));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // `bits` keeps 60 significant bits, its lowest one also standing for everything cut off.
    let mut bits = 0u64;
    let digits = whole
        .chars()
        .map(|digit| (digit, 0))
        .chain(fraction.chars().map(|digit| (digit, 4)));
    for (digit, weight) in digits {
        let digit = u64::from(digit.to_digit(16)?);
        if bits >> 56 == 0 {
            bits = bits << 4 | digit;
            exponent -= weight;
        } else {
            bits |= u64::from(digit != 0);
            exponent += 4 - weight;
        }
    }
    let (value, in_range) = scale(bits, exponent);
    Some(Scanned {
        value,
        in_range,
        rest,
    })
}

/// `bits` * 2^`exponent`, correctly rounded, and whether it neither overflows nor is tiny and
/// loses bits.
fn scale(bits: u64, exponent: i64) -> (f64, bool) {
    const MANTISSA_BITS: i64 = 53;
    const MIN_EXPONENT: i64 = -1074;
    if bits == 0 {
        return (0.0, true);
    }
    let length = i64::from(64 - bits.leading_zeros());
    let top = exponent.saturating_add(length);
    if top > 1025 {
        return (f64::INFINITY, false);
    }
    let lowest = (top - MANTISSA_BITS).max(MIN_EXPONENT);
    let is_tiny = top - MANTISSA_BITS < MIN_EXPONENT;
    let cut = lowest - exponent;
    let (kept, exact) = match cut {
        ..=0 => (bits << -cut, true),
        1..=63 => {
            let rest = bits & ((1 << cut) - 1);
            let half = 1u64 << (cut - 1);
            let kept = bits >> cut;
            let up = rest > half || (rest == half && kept & 1 == 1);
            (kept + u64::from(up), rest == 0)
        }
        _ => (0, false),
    };
    // Both factors are powers of two within range, so the products are exact.
    let half = lowest / 2;
    let value = kept as f64 * 2f64.powi(half as i32) * 2f64.powi((lowest - half) as i32);
    (value, value.is_finite() && (exact || !is_tiny))
}

/// The integer at the start of a text as C's `strtol` reads it: blanks, sign, digits, saturated.
/// Also returns the text after it, which is all of it if there are no digits.
pub fn c_strtol(text: &str) -> (i64, &str) {
    let number = text.trim_start_matches(is_c_space);
    let (negative, digits) = split_sign(number);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &digits[..digits.len() - rest.len()];
    if digits.is_empty() {
        return (0, text);
    }
    let value = digits.bytes().fold(0i64, |value, digit| {
        let digit = i64::from(digit - b'0');
        let shifted = value.saturating_mul(10);
        if negative {
            shifted.saturating_sub(digit)
        } else {
            shifted.saturating_add(digit)
        }
    });
    (value, rest)
}

/// The integer at the start of a text as C's `atoi` reads it: cut to 32 bits.
pub fn c_atoi(text: &str) -> i32 {
    c_strtol(text).0 as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atof_reads_the_start_of_a_text() {
        for (text, value) in [
            ("", 0.0),
            ("x", 0.0),
            (".", 0.0),
            ("-", 0.0),
            ("1.5x", 1.5),
            (" \t\n+.5.5", 0.5),
            ("-2.e1", -20.0),
            ("1e", 1.0),
            ("1e+", 1.0),
            ("1e+1e", 10.0),
            ("1e99999999999999999999", f64::INFINITY),
            ("1e-400", 0.0),
            ("4e-320x", 4e-320),
            ("0x", 0.0),
            ("0x.p1", 0.0),
            ("0x1.8p1z", 3.0),
            ("0xAp", 10.0),
            ("0x1p-1074", 5e-324),
            ("0x1p-1080", 0.0),
            ("0x1p1024", f64::INFINITY),
            ("0x1p99999999999999999999", f64::INFINITY),
            ("0x1p-99999999999999999999", 0.0),
            ("INFinite", f64::INFINITY),
            ("-infinityy", f64::NEG_INFINITY),
        ] {
            assert_eq!(c_atof(text), value, "{text}");
        }
        assert!(c_atof("nan").is_nan());
        assert!(c_atof("nan(x").is_nan());
    }
}
