//! Random values for the rows of a load: each depends on its arguments alone, so rows can be made in any
//! order and by any number of processes.
//!
//! With m(x) = the output of splitmix64 for the state x, the generator of a value is that of
//! [`Rng::from_seed`] for m(m(m(seed) xor stream) xor row). `stream` keeps the columns of a row apart.

pub use selfbench_script::fnv1a;
use selfbench_script::{DistributionError, DrawRange, Rng, permute};
use thiserror::Error;

/// Longest text, in characters: that of `varchar`.
pub const MAX_LENGTH: i32 = 10_485_760;

/// Why there is no random value.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum RandomError {
    /// A range from which nothing can be drawn, or another parameter of a distribution.
    #[error("{0}")]
    Distribution(DistributionError),
    /// The lengths of a text.
    #[error("lengths must be from 0 to {MAX_LENGTH}, the least one first, not {0} and {1}")]
    Length(i32, i32),
    /// The number of values of a permutation.
    #[error("a permutation needs a positive number of values, not {0}")]
    Values(i64),
    /// The row of a permutation.
    #[error("row {row} is not between 0 and {last}")]
    Row {
        /// The row.
        row: i64,
        /// The last one.
        last: i64,
    },
}

impl From<DistributionError> for RandomError {
    fn from(error: DistributionError) -> RandomError {
        RandomError::Distribution(error)
    }
}

/// Output of splitmix64 for that state (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
fn mix(state: u64) -> u64 {
    let mut value = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A number for each stream of a seed.
fn stream_key(seed: i64, stream: i32) -> u64 {
    mix(mix(seed as u64) ^ i64::from(stream) as u64)
}

/// The generator of a value.
fn generator(seed: i64, stream: i32, row: i64) -> Rng {
    Rng::from_seed(mix(stream_key(seed, stream) ^ row as u64))
}

/// An integer from `lo` to `hi`.
///
/// # Errors
/// If `lo` is above `hi`.
pub fn int(seed: i64, stream: i32, row: i64, lo: i64, hi: i64) -> Result<i64, RandomError> {
    match lo > hi {
        true => Err(DistributionError::EmptyRange.into()),
        false => Ok(generator(seed, stream, row).range(lo, hi)),
    }
}

/// A number from 0 to below 1.
pub fn real(seed: i64, stream: i32, row: i64) -> f64 {
    generator(seed, stream, row).unit()
}

/// A text of letters and digits, whose length is from `min` to `max`. 62 of the 64 values of six bits
/// are characters; ten of them are in a draw.
///
/// # Errors
/// If the lengths are not possible.
pub fn text(seed: i64, stream: i32, row: i64, min: i32, max: i32) -> Result<String, RandomError> {
    const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const PER_DRAW: usize = 10;
    if min < 0 || min > max || max > MAX_LENGTH {
        return Err(RandomError::Length(min, max));
    }
    let mut rng = generator(seed, stream, row);
    let length = rng.range(i64::from(min), i64::from(max)) as usize;
    let mut text = String::with_capacity(length);
    'all: while text.len() < length {
        let mut bits = rng.next_u64();
        for _ in 0..PER_DRAW {
            if let Some(character) = CHARACTERS.get((bits & 63) as usize) {
                text.push(char::from(*character));
                if text.len() == length {
                    break 'all;
                }
            }
            bits >>= 6;
        }
    }
    Ok(text)
}

/// The template with a digit for each `#` and a lower-case letter for each `@`.
pub fn template(seed: i64, stream: i32, row: i64, template: &str) -> String {
    let mut rng = generator(seed, stream, row);
    let mut from = |first: u8, count: i64| char::from(first + rng.range(0, count - 1) as u8);
    template
        .chars()
        .map(|character| match character {
            '#' => from(b'0', 10),
            '@' => from(b'a', 26),
            other => other,
        })
        .collect()
}

/// Value `row`, from 0, of a permutation of the numbers from 0 to `n` - 1, that of pgbench's `permute` with
/// m(m(seed) xor stream) as its seed.
///
/// # Errors
/// If there is no such row.
pub fn permutation(seed: i64, stream: i32, n: i64, row: i64) -> Result<i64, RandomError> {
    if !(0..n.max(1)).contains(&row) {
        return Err(RandomError::Row {
            row,
            last: n.max(1) - 1,
        });
    }
    permute(row, n, stream_key(seed, stream) as i64).ok_or(RandomError::Values(n))
}

/// An integer from `lo` to `hi` of sysbench's distribution `special`.
///
/// # Errors
/// If nothing can be drawn from that range.
pub fn special(seed: i64, stream: i32, row: i64, lo: i64, hi: i64) -> Result<i64, RandomError> {
    Ok(DrawRange::new(lo, hi)?.special(&mut generator(seed, stream, row)))
}

/// An integer of TPC-C's NURand(`a`, `lo`, `hi`) with the constant `c`.
///
/// # Errors
/// If nothing can be drawn from that range, or `a` is negative.
pub fn nurand(
    seed: i64,
    stream: i32,
    row: i64,
    a: i64,
    range: (i64, i64),
    c: i64,
) -> Result<i64, RandomError> {
    let range = DrawRange::new(range.0, range.1)?;
    Ok(range.nurand(&mut generator(seed, stream, row), a, c)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ROWS: std::ops::Range<i64> = 0..20_000;

    /// Chi-square of counts that should be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let sum: u64 = counts.iter().sum();
        let expected = sum as f64 / counts.len() as f64;
        let squares = counts.iter().map(|n| (*n as f64 - expected).powi(2));
        squares.sum::<f64>() / expected
    }

    #[test]
    fn values_are_uniform_in_rows_streams_and_seeds() {
        let by: [&dyn Fn(i64) -> i64; 3] = [
            &|n| int(7, 1, n, 0, 99).unwrap(),
            &|n| int(7, n as i32, 1, 0, 99).unwrap(),
            &|n| int(n, 1, 1, 0, 99).unwrap(),
        ];
        for draw in by {
            let mut counts = [0; 100];
            ROWS.for_each(|n| counts[draw(n) as usize] += 1);
            // 99 degrees of freedom: 148.2 has a probability of 0.001.
            assert!(chi_square(&counts) < 148.2, "{counts:?}");
        }
        let mean: f64 = ROWS.map(|n| real(3, 1, n)).sum::<f64>() / ROWS.end as f64;
        assert!((mean - 0.5).abs() < 0.01);
    }

    #[test]
    fn streams_are_independent() {
        let mut counts = [0; 100];
        for row in ROWS {
            let of = |stream| int(42, stream, row, 0, 9).unwrap();
            counts[(of(1) * 10 + of(2)) as usize] += 1;
        }
        assert!(chi_square(&counts) < 148.2, "{counts:?}");
    }

    #[test]
    fn values_stay_what_they_are() {
        assert_eq!(int(1, 2, 3, 0, 999_999), Ok(820_988));
        assert_eq!(text(1, 2, 3, 8, 8).as_deref(), Ok("Lyg0dwTp"));
        assert_eq!(template(1, 2, 3, "a#-@@#"), "a9-oz2");
        assert_eq!(permutation(1, 2, 1000, 3), Ok(280));
    }

    #[test]
    fn texts_have_all_lengths_and_characters() {
        let (mut lengths, mut characters) = (BTreeSet::new(), BTreeSet::new());
        for row in 0..2000 {
            let text = text(5, 1, row, 3, 12).unwrap();
            lengths.insert(text.len());
            characters.extend(text.chars());
        }
        assert_eq!(lengths, (3..=12).collect());
        assert_eq!(characters.len(), 62);
        assert_eq!(text(5, 1, 1, 0, 0).as_deref(), Ok(""));
        let name = template(5, 1, 1, "###-@@ä");
        let (digits, letters) = name.split_once('-').unwrap();
        assert!(digits.len() == 3 && digits.chars().all(|c| c.is_ascii_digit()));
        assert!(letters.ends_with('ä') && letters[..2].chars().all(|c| c.is_ascii_lowercase()));
    }

    #[test]
    fn permutations_have_each_value_once() {
        for n in [1, 2, 7, 1000] {
            let values: BTreeSet<_> = (0..n)
                .map(|row| permutation(9, 1, n, row).unwrap())
                .collect();
            assert_eq!(values, (0..n).collect());
        }
        let first = |stream| permutation(9, stream, 1_000_000, 0).unwrap();
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn bounds_are_checked() {
        assert!(int(1, 1, 1, 2, 1).is_err());
        assert_eq!(int(1, 1, 1, 2, 2), Ok(2));
        assert!(int(1, 1, 1, i64::MIN, i64::MAX).is_ok());
        assert!(text(1, 1, 1, -1, 1).is_err() && text(1, 1, 1, 2, 1).is_err());
        assert!(text(1, 1, 1, 0, MAX_LENGTH + 1).is_err());
        assert!(permutation(1, 1, 0, 0).is_err() && permutation(1, 1, 5, 5).is_err());
        assert!(permutation(1, 1, 5, -1).is_err());
        assert!(special(1, 1, 1, 2, 1).is_err());
        assert!(nurand(1, 1, 1, -1, (1, 5), 0).is_err());
    }

    #[test]
    fn other_distributions_stay_in_their_range() {
        for row in ROWS {
            assert!((1..=10).contains(&special(1, 1, row, 1, 10).unwrap()));
            assert!((1..=3000).contains(&nurand(1, 1, row, 1023, (1, 3000), 259).unwrap()));
        }
    }
}
