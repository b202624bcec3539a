//! Count, sum, sum of squares, lowest and highest of a series of latencies.

use crate::units::NS_PER_MS;

/// Sums for the exact average, standard deviation and range of latencies.
///
/// The default, all zeros, is the empty series, so zeroed memory is one, too.
///
/// Every field is one 64-bit word ([`to_words`](Self::to_words)), which a single writer can keep
/// in shared memory. The sums are doubles for the sake of overload: with a rate, latency counts
/// from the scheduled start, so a client that lags half an hour adds half an hour per
/// transaction, and an unsigned 64-bit sum of nanoseconds overflows within a quarter of an hour
/// at 100,000 transactions a second. A double never does, and it is exact wherever an integer
/// would be of use: one client without a rate adds at most its own run time, and whole
/// nanoseconds are exact up to 2^53 (104 days). Beyond that, and in the sum of squares, each
/// addition errs by at most one part in 2^53: at the very worst by a millionth over a day at
/// 150,000 transactions a second (1.3 * 10^10 additions), and usually far less as the errors
/// cancel out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Number of latencies.
    pub count: u64,
    /// Sum of the latencies in nanoseconds.
    pub sum_ns: f64,
    /// Sum of the squared latencies in square nanoseconds.
    pub sum_sq_ns2: f64,
    /// Lowest latency in nanoseconds, 0 if there is none.
    pub min_ns: u64,
    /// Highest latency in nanoseconds, 0 if there is none.
    pub max_ns: u64,
}

impl Moments {
    /// Number of words of [`to_words`](Self::to_words).
    pub const WORDS: usize = 5;

    /// Adds one latency in nanoseconds.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        let value = latency_ns as f64;
        if self.count == 0 || latency_ns < self.min_ns {
            self.min_ns = latency_ns;
        }
        if latency_ns > self.max_ns {
            self.max_ns = latency_ns;
        }
        self.count += 1;
        self.sum_ns += value;
        self.sum_sq_ns2 += value * value;
    }

    /// Adds another series.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = *other;
            return;
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns += other.sum_ns;
        self.sum_sq_ns2 += other.sum_sq_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns what has been added since `earlier`, an earlier state of the same series.
    ///
    /// Count and sums are those of the difference and never below zero. Lowest and highest latency
    /// of a difference cannot be told from two totals: those of `self` are kept, which bound it
    /// but are not its own (see a histogram of the interval for those). A single latency is the sum.
    pub fn minus(&self, earlier: &Self) -> Self {
        let count = self.count.saturating_sub(earlier.count);
        if count == 0 {
            return Self::default();
        }
        let sum_ns = (self.sum_ns - earlier.sum_ns).max(0.0);
        let (min_ns, max_ns) = match count {
            1 => (sum_ns as u64, sum_ns as u64),
            _ => (self.min_ns, self.max_ns),
        };
        Self {
            count,
            sum_ns,
            sum_sq_ns2: (self.sum_sq_ns2 - earlier.sum_sq_ns2).max(0.0),
            min_ns,
            max_ns,
        }
    }

    /// Whether the series has no latency.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Average in milliseconds, 0 if the series is empty.
    pub fn mean_ms(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        self.sum_ns / self.count as f64 / NS_PER_MS
    }

    /// Standard deviation in milliseconds, 0 if the series is empty.
    ///
    /// `sqrt(sum of squares / n - mean^2)`, the deviation of the whole population, as pgbench has
    /// it (`printSimpleStats` in pgbench.c); 0 where rounding takes the difference below zero.
    pub fn stddev_ms(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let n = self.count as f64;
        let mean_ns = self.sum_ns / n;
        (self.sum_sq_ns2 / n - mean_ns * mean_ns).max(0.0).sqrt() / NS_PER_MS
    }

    /// Lowest latency in milliseconds, 0 if the series is empty.
    pub fn min_ms(&self) -> f64 {
        self.min_ns as f64 / NS_PER_MS
    }

    /// Highest latency in milliseconds, 0 if the series is empty.
    pub fn max_ms(&self) -> f64 {
        self.max_ns as f64 / NS_PER_MS
    }

    /// The fields as 64-bit words in the order of their declaration, doubles by their bits.
    pub const fn to_words(&self) -> [u64; Self::WORDS] {
        [
            self.count,
            self.sum_ns.to_bits(),
            self.sum_sq_ns2.to_bits(),
            self.min_ns,
            self.max_ns,
        ]
    }

    /// The series whose [`to_words`](Self::to_words) these are.
    pub const fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [count, sum_ns, sum_sq_ns2, min_ns, max_ns] = words;
        Self {
            count,
            sum_ns: f64::from_bits(sum_ns),
            sum_sq_ns2: f64::from_bits(sum_sq_ns2),
            min_ns,
            max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moments(latencies_ns: &[u64]) -> Moments {
        let mut moments = Moments::default();
        for ns in latencies_ns {
            moments.record(*ns);
        }
        moments
    }

    #[test]
    fn average_and_deviation_are_those_of_the_population() {
        let moments = moments(&[
            2_000_000, 4_000_000, 4_000_000, 4_000_000, 5_000_000, 5_000_000, 7_000_000, 9_000_000,
        ]);
        assert_eq!(moments.mean_ms(), 5.0);
        assert_eq!(moments.stddev_ms(), 2.0);
        assert_eq!(moments.min_ms(), 2.0);
        assert_eq!(moments.max_ms(), 9.0);
    }

    #[test]
    fn the_empty_series_is_all_zeros() {
        let empty = Moments::default();
        assert!(empty.is_empty());
        assert_eq!(empty.mean_ms(), 0.0);
        assert_eq!(empty.stddev_ms(), 0.0);
        assert_eq!(empty.to_words(), [0; Moments::WORDS]);
        assert_eq!(Moments::from_words([0; Moments::WORDS]), empty);
        let mut merged = moments(&[7]);
        merged.merge(&empty);
        assert_eq!(merged, moments(&[7]));
        let mut merged = empty;
        merged.merge(&moments(&[7]));
        assert_eq!(merged, moments(&[7]));
        assert_eq!(moments(&[7]).minus(&moments(&[7])), empty);
        assert_eq!(empty.minus(&moments(&[7])), empty);
    }

    #[test]
    fn a_single_latency_since_an_earlier_state_is_both_extremes() {
        let single = moments(&[9, 1, 5]).minus(&moments(&[9, 1]));
        assert_eq!((single.min_ns, single.max_ns), (5, 5));
        let several = moments(&[9, 1, 5, 6]).minus(&moments(&[9, 1]));
        assert_eq!((several.min_ns, several.max_ns), (1, 9));
    }

    #[test]
    fn equal_latencies_do_not_deviate() {
        assert_eq!(moments(&[123_456_789; 1000]).stddev_ms(), 0.0);
    }

    #[test]
    fn a_day_in_overload_neither_overflows_nor_loses_digits() {
        // 150,000 transactions a second for a day, each scheduled half a day before its end.
        let one = moments(&[43_200_000_000_000, 43_200_000_000_002]);
        let mut day = Moments::default();
        for _ in 0..24 {
            let mut hour = Moments::default();
            for _ in 0..1000 {
                let factor = 270_000_u32;
                hour.merge(&Moments {
                    count: one.count * u64::from(factor),
                    sum_ns: one.sum_ns * f64::from(factor),
                    sum_sq_ns2: one.sum_sq_ns2 * f64::from(factor),
                    ..one
                });
            }
            day.merge(&hour);
        }
        assert_eq!(day.count, 24 * 3600 * 150_000);
        assert!((day.mean_ms() - 43_200_000.0).abs() < 1e-3);
        assert!(day.stddev_ms().is_finite());
    }

    proptest! {
        #[test]
        fn merging_and_taking_away_are_exact(
            a in prop::collection::vec(0_u64..1 << 22, 0..50),
            b in prop::collection::vec(0_u64..1 << 22, 1..50),
        ) {
            let (earlier, added) = (moments(&a), moments(&b));
            let mut later = earlier;
            later.merge(&added);
            prop_assert_eq!(later, moments(&[a, b].concat()));
            let difference = later.minus(&earlier);
            prop_assert_eq!(difference.count, added.count);
            prop_assert_eq!(difference.sum_ns, added.sum_ns);
            prop_assert_eq!(difference.sum_sq_ns2, added.sum_sq_ns2);
            prop_assert!(difference.min_ns <= added.min_ns && added.max_ns <= difference.max_ns);
            prop_assert_eq!(Moments::from_words(later.to_words()), later);
        }
    }
}
