//! The pseudo-random generator and the streams that a run derives from its seed.
//!
//! Not here: the distributions that scripts draw from (`distribution.rs`).

use std::ops::Range;

use thiserror::Error;

use crate::number::{is_c_space, truncate};

/// A xoroshiro128** generator. Copying it saves its state, which is how a retried transaction
/// repeats its draws.
///
/// Algorithm: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2018.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng {
    s0: u64,
    s1: u64,
}

impl Rng {
    /// The generator whose state is the first two splitmix64 outputs for `seed`.
    pub fn from_seed(seed: u64) -> Self {
        let mut state = seed;
        let s0 = splitmix64(&mut state);
        let s1 = splitmix64(&mut state);
        if s0 == 0 && s1 == 0 {
            // The all-zero state is a fixed point of the generator.
            return Self {
                s0: 0x5851_F42D_4C95_7F2D,
                s1: 0x1405_7B7E_F767_814F,
            };
        }
        Self { s0, s1 }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let output = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = self.s1 ^ self.s0;
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        output
    }

    /// An independent generator, seeded with one output of this one.
    pub fn fork(&mut self) -> Self {
        Self::from_seed(self.next_u64())
    }

    /// A double in [0, 1) with 52 random bits; takes one output.
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 52) as f64;
        (self.next_u64() >> 12) as f64 * SCALE
    }

    /// An integer in [`lo`, `hi`], both included; `lo`, without taking any output, if `hi <= lo`.
    pub fn range(&mut self, lo: i64, hi: i64) -> i64 {
        if hi <= lo {
            return lo;
        }
        let range = hi.wrapping_sub(lo) as u64;
        let shift = range.leading_zeros();
        loop {
            let value = self.next_u64() >> shift;
            if value <= range {
                return lo.wrapping_add(value as i64);
            }
        }
    }

    /// The waiting time, in µs, until the next arrival of a Poisson process whose arrivals are
    /// `center_us` µs apart on average; takes one output.
    pub fn poisson_delay_us(&mut self, center_us: f64) -> i64 {
        truncate(-(1.0 - self.unit()).ln() * center_us + 0.5)
    }

    /// The two words of the state, for tests.
    #[cfg(test)]
    pub(crate) fn state(&self) -> (u64, u64) {
        (self.s0, self.s1)
    }
}

/// One step of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The generators that belong to one thread of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStreams {
    /// Chooses the script of each transaction.
    pub choice: Rng,
    /// Draws the delays of a rate-limited run.
    pub throttle: Rng,
    /// Decides which transactions are logged.
    pub sampling: Rng,
}

/// Every generator of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// The seed that everything else was derived from. The variable `random_seed` holds it,
    /// reinterpreted as `i64`.
    pub base_seed: u64,
    /// The value of the variable `default_seed`; 0, and not drawn, if the user gave that variable.
    pub default_seed: i64,
    /// The generator of the script functions, for each client.
    pub clients: Vec<Rng>,
    /// The generators of each thread.
    pub threads: Vec<ThreadStreams>,
}

impl Streams {
    /// Derives the streams for `clients` clients and at most as many threads.
    ///
    /// The order of the derivation is part of the contract: it makes runs repeatable across
    /// programs. `default_seed_given` says that the user set the variable `default_seed`.
    pub fn derive(seed: u64, clients: usize, threads: usize, default_seed_given: bool) -> Self {
        let mut base = Rng::from_seed(seed);
        let clients: Vec<Rng> = (0..clients).map(|_| base.fork()).collect();
        let default_seed = if default_seed_given {
            0
        } else {
            base.next_u64() as i64
        };
        let threads = (0..threads.min(clients.len()))
            .map(|_| ThreadStreams {
                choice: base.fork(),
                throttle: base.fork(),
                sampling: base.fork(),
            })
            .collect();
        Self {
            base_seed: seed,
            default_seed,
            clients,
            threads,
        }
    }
}

/// The consecutive clients of each thread, in thread order. There are at most as many threads as
/// clients, and earlier threads take the larger shares.
pub fn clients_per_thread(clients: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
    let threads = threads.min(clients);
    let mut start = 0;
    (0..threads).map(move |thread| {
        let share = (clients - start).div_ceil(threads - thread);
        let range = start..start + share;
        start = range.end;
        range
    })
}

/// The source of a run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// The clock, in µs.
    Time,
    /// A source of strong randomness.
    Rand,
    /// The user.
    Value(u64),
}

/// A seed option that is neither a keyword nor a number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unrecognized random seed option \"{0}\"")]
pub struct SeedError(pub String);

/// Reads a seed option: `time`, `rand`, or a decimal number as C's `scanf("%lu")` takes it, with
/// leading blanks, an optional sign (negation wraps around) and saturation at 2^64 - 1.
///
/// # Errors
/// For anything else, trailing characters included.
pub fn parse_seed(text: &str) -> Result<Seed, SeedError> {
    match text {
        "time" => return Ok(Seed::Time),
        "rand" => return Ok(Seed::Rand),
        _ => {}
    }
    let error = || SeedError(text.to_owned());
    let unsigned = text.trim_start_matches(is_c_space);
    let (negative, digits) = match unsigned.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, unsigned.strip_prefix('+').unwrap_or(unsigned)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error());
    }
    Ok(Seed::Value(match digits.parse::<u64>() {
        Ok(value) if negative => value.wrapping_neg(),
        Ok(value) => value,
        Err(_) => u64::MAX,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeding_fills_both_words() {
        assert_eq!(
            Rng::from_seed(0).state(),
            (0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4)
        );
        assert_eq!(
            Rng::from_seed(42).state(),
            (0xbdd7_3226_2feb_6e95, 0x28ef_e333_b266_f103)
        );
    }

    #[test]
    fn an_empty_range_takes_no_output() {
        let mut rng = Rng::from_seed(1);
        let before = rng;
        assert_eq!(rng.range(5, 5), 5);
        assert_eq!(rng.range(5, -5), 5);
        assert_eq!(rng, before);
        rng.range(i64::MIN, i64::MAX);
        assert_ne!(rng, before);
    }
}
