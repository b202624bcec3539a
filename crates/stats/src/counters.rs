//! Counters of 32 bits that other processes increment: their totals stay exact when they wrap around.

use std::collections::{HashMap, TryReserveError};

/// Counters must be read at least that often, in nanoseconds: once a minute.
///
/// Each counter belongs to one bucket of a histogram that one process writes: a client of mode
/// `spi`, or a worker that drives any number of clients, 500 of them say, by turns. At a million
/// transactions a second in that one process, all of the same latency, a counter wraps around
/// after 2^32 / 10^6 = 4,295 s. No process comes near [`HIGHEST_RATE`], at which it takes 85 s;
/// one that counts the blocks that a transaction reads does not read faster than memory is copied,
/// some 10^6 to 10^7 blocks a second.
pub const READ_EVERY_NS: u64 = 60_000_000_000;

/// Maximum rate at which one process counts, per second.
pub const HIGHEST_RATE: u64 = 50_000_000;

const _: () = assert!(HIGHEST_RATE * (READ_EVERY_NS / 1_000_000_000) < 1 << 32);

/// Values of an array of counters when it was last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    seen: Vec<u32>,
    /// Number of wraparounds of each counter that had any.
    wraps: HashMap<usize, u64>,
}

impl Counters {
    /// An array of that many counters, all of which are 0.
    ///
    /// # Errors
    /// If there is not enough memory; a large run takes up to 1 GB.
    pub fn new(len: usize) -> Result<Self, TryReserveError> {
        let mut seen = Vec::new();
        seen.try_reserve_exact(len)?;
        seen.resize(len, 0);
        Ok(Self {
            seen,
            wraps: HashMap::new(),
        })
    }

    /// Returns what has been added to a counter since it was last read, if it shows `value` now.
    /// Panics if there is no such counter.
    #[inline]
    pub fn read(&mut self, index: usize, value: u32) -> u64 {
        let seen = std::mem::replace(&mut self.seen[index], value);
        if value < seen {
            *self.wraps.entry(index).or_default() += 1;
        }
        u64::from(value.wrapping_sub(seen))
    }

    /// All that was counted until it was last read. Panics if there is no such counter.
    pub fn count(&self, index: usize) -> u64 {
        // Called for each of many counters; hardly any has wrapped around.
        let wraps = match self.wraps.is_empty() {
            true => 0,
            false => self.wraps.get(&index).copied().unwrap_or(0),
        };
        (wraps << 32) + u64::from(self.seen[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_that_wraps_around_loses_nothing() {
        let mut counters = Counters::new(2).unwrap();
        assert_eq!(counters.read(1, 7), 7);
        assert_eq!(counters.read(1, u32::MAX), u64::from(u32::MAX) - 7);
        // One more would be 0.
        assert_eq!(counters.read(1, 0), 1);
        assert_eq!(counters.count(1), 1 << 32);
        assert_eq!(counters.read(1, 5), 5);
        assert_eq!(counters.read(1, 4), (1 << 32) - 1);
        assert_eq!(counters.count(1), (2 << 32) + 4);
        assert_eq!(counters.read(1, 4), 0);
        assert_eq!(counters.count(0), 0);
    }

    #[test]
    fn an_array_that_does_not_fit_into_memory_is_an_error() {
        assert!(Counters::new(usize::MAX / 8).is_err());
        assert!(Counters::new(usize::MAX).is_err());
        assert!(Counters::new(0).is_ok());
    }

    #[test]
    fn a_day_at_the_highest_rate_is_counted_if_it_is_read_in_time() {
        let (mut counters, mut counter) = (Counters::new(1).unwrap(), 0_u32);
        let minutes = 24 * 60;
        let each = HIGHEST_RATE * (READ_EVERY_NS / 1_000_000_000);
        let read: u64 = (0..minutes)
            .map(|_| {
                counter = counter.wrapping_add(each as u32);
                counters.read(0, counter)
            })
            .sum();
        assert_eq!(read, minutes * each);
        assert_eq!(counters.count(0), minutes * each);
    }

    proptest! {
        #[test]
        fn increments_below_2_to_the_32_add_up(increments: Vec<u32>) {
            let (mut counters, mut counter, mut sum) = (Counters::new(1).unwrap(), 0_u32, 0);
            for increment in increments {
                counter = counter.wrapping_add(increment);
                prop_assert_eq!(counters.read(0, counter), u64::from(increment));
                sum += u64::from(increment);
            }
            prop_assert_eq!(counters.count(0), sum);
        }
    }
}
