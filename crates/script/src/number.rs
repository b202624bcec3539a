//! Numbers as C reads and writes them: `%.15g` and `%f` out, `strtod`, integers and blanks in.

use std::fmt::{self, Write};

/// The characters that C's `isspace` knows in the C locale.
pub(crate) fn is_c_space(character: char) -> bool {
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

/// How SQL spells a double that has no digits.
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

/// Reads a whole text as C's `strtod` does: leading blanks, sign, decimal or hexadecimal digits,
/// `inf`, `infinity`, `nan`. `None` if characters remain, or on overflow or underflow.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(is_c_space);
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = parse_magnitude(text)?;
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_magnitude(text: &str) -> Option<f64> {
    let lower = |word: &str| text.eq_ignore_ascii_case(word);
    if lower("inf") || lower("infinity") {
        return Some(f64::INFINITY);
    }
    if lower("nan") || is_nan_with_payload(text) {
        return Some(f64::NAN);
    }
    if text.len() > 2 && text.as_bytes()[0] == b'0' && matches!(text.as_bytes()[1], b'x' | b'X') {
        return parse_hexadecimal(&text[2..]);
    }
    parse_decimal(text)
}

/// `nan(...)` with letters, digits and underscores inside.
fn is_nan_with_payload(text: &str) -> bool {
    let Some((head, payload)) = text.split_at_checked(4) else {
        return false;
    };
    head.eq_ignore_ascii_case("nan(")
        && payload.strip_suffix(')').is_some_and(|inner| {
            inner
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// Reads an unsigned decimal number with optional fraction and exponent. `None` if it is
/// malformed, too great, or so small that it loses digits.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    // The library's parser also takes signs and names, which have been dealt with.
    let shaped = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !shaped {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b));
    // A decimal text of a subnormal number is never exact unless it has hundreds of digits.
    (is_zero || value.is_normal()).then_some(value)
}

/// Reads the part of a hexadecimal floating-point number after `0x`.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // `bits` keeps 60 significant bits, its lowest one also standing for everything cut off.
    let mut bits = 0u64;
    let mut exponent = exponent;
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
    scale_exactly(bits, exponent)
}

/// A decimal exponent, saturated far outside the range of doubles.
fn parse_exponent(text: &str) -> Option<i64> {
    const LIMIT: i64 = 1 << 40;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for digit in digits.chars() {
        value = (value * 10 + i64::from(digit.to_digit(10)?)).min(LIMIT);
    }
    Some(if negative { -value } else { value })
}

/// `bits` * 2^`exponent`, correctly rounded; `None` on overflow or if a tiny result loses bits.
fn scale_exactly(bits: u64, exponent: i64) -> Option<f64> {
    const MANTISSA_BITS: i64 = 53;
    const MIN_EXPONENT: i64 = -1074;
    if bits == 0 {
        return Some(0.0);
    }
    let length = i64::from(64 - bits.leading_zeros());
    let top = exponent.checked_add(length)?;
    let lowest = (top - MANTISSA_BITS).max(MIN_EXPONENT);
    let is_tiny = top - MANTISSA_BITS < MIN_EXPONENT;
    let cut = lowest - exponent;
    let (kept, exact) = match cut {
        ..=0 => (bits.checked_shl(u32::try_from(-cut).ok()?)?, true),
        1..=63 => {
            let rest = bits & ((1 << cut) - 1);
            let half = 1u64 << (cut - 1);
            let kept = bits >> cut;
            let up = rest > half || (rest == half && kept & 1 == 1);
            (kept + u64::from(up), rest == 0)
        }
        _ => (0, false),
    };
    if is_tiny && !exact {
        return None;
    }
    if top > 1025 {
        return None;
    }
    // Both factors are powers of two within range, so the products are exact.
    let half = lowest / 2;
    let value = kept as f64 * 2f64.powi(half as i32) * 2f64.powi((lowest - half) as i32);
    value.is_finite().then_some(value)
}

/// The integer at the start of a text as C's `strtol` reads it: blanks, sign, digits, saturated.
/// Also returns the text after it, which is all of it if there are no digits.
pub(crate) fn c_strtol(text: &str) -> (i64, &str) {
    let number = text.trim_start_matches(is_c_space);
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
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
pub(crate) fn c_atoi(text: &str) -> i32 {
    c_strtol(text).0 as i32
}
