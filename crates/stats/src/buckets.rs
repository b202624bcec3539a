//! The bucket layout of latencies: which counter of a plain array a latency belongs to.
//!
//! The array itself is the caller's (it lives in shared memory, one writer each); this module
//! only gives the arithmetic. The layout is HdrHistogram's (Gil Tene, <http://hdrhistogram.org>)
//! with the bounds below: a first range of 2,048 buckets of 64 ns each, then for every further
//! power of two 1,024 buckets of twice the width of those before. A bucket is never wider than
//! 1/1024 of the values in it, which is what "three significant digits" means here.

/// Lowest discernible latency in nanoseconds: the width of the narrowest bucket. A power of two.
pub const LOWEST_NS: u64 = 1 << UNIT_MAGNITUDE;

/// Highest latency in nanoseconds that is told apart from higher ones: 24 hours.
pub const HIGHEST_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Significant decimal digits of every latency.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Number of buckets, hence of counters that a caller has to provide. The last one holds 24 hours
/// and everything above.
pub const BUCKETS: usize = index_of(HIGHEST_NS) + 1;

/// Binary logarithm of [`LOWEST_NS`].
const UNIT_MAGNITUDE: u32 = 6;

/// Binary logarithm of the number of buckets of one width: the smallest power of two not below
/// `2 * 10^SIGNIFICANT_DIGITS`, so that a step of one is discernible up to that number of units.
const SUB_BUCKET_MAGNITUDE: u32 = 11;

/// Buckets that each further power of two adds: the upper half of its range, the lower half is
/// that of the powers before.
const SUB_BUCKET_HALF_MAGNITUDE: u32 = SUB_BUCKET_MAGNITUDE - 1;

/// Highest latency of the first range, where all buckets are as wide as the lowest latency.
const FIRST_RANGE_HIGHEST_NS: u64 = (1 << (UNIT_MAGNITUDE + SUB_BUCKET_MAGNITUDE)) - 1;

/// The bucket of a latency in nanoseconds: a number below [`BUCKETS`], for every input.
///
/// Latencies above [`HIGHEST_NS`] belong to the last bucket. The only branch is that clamp; the
/// power of two comes from counting leading zeros.
#[inline]
pub const fn index_of(latency_ns: u64) -> usize {
    let ns = if latency_ns > HIGHEST_NS {
        HIGHEST_NS
    } else {
        latency_ns
    };
    let doublings =
        FIRST_RANGE_HIGHEST_NS.leading_zeros() - (ns | FIRST_RANGE_HIGHEST_NS).leading_zeros();
    let within = ns >> (UNIT_MAGNITUDE + doublings);
    ((doublings as usize) << SUB_BUCKET_HALF_MAGNITUDE) + within as usize
}

/// The lowest latency in nanoseconds that belongs to a bucket.
///
/// An index of [`BUCKETS`] or more counts as the last bucket.
#[inline]
pub const fn lowest_of(index: usize) -> u64 {
    let (index, doublings) = locate(index);
    let within = index - ((doublings as usize) << SUB_BUCKET_HALF_MAGNITUDE);
    (within as u64) << (UNIT_MAGNITUDE + doublings)
}

/// The highest latency in nanoseconds that belongs to a bucket.
///
/// For the last bucket this is the highest value that its width spans; it counts higher latencies
/// as well. An index of [`BUCKETS`] or more counts as the last bucket.
#[cfg(test)]
pub(crate) const fn highest_of(index: usize) -> u64 {
    lowest_of(index) + (width_of(index) - 1)
}

/// Number of distinct nanosecond values in a bucket.
#[cfg(test)]
const fn width_of(index: usize) -> u64 {
    let (_, doublings) = locate(index);
    1 << (UNIT_MAGNITUDE + doublings)
}

/// The index, not above the last one, and how often the bucket width has doubled there.
const fn locate(index: usize) -> (usize, u32) {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 };
    let doublings = (index >> SUB_BUCKET_HALF_MAGNITUDE).saturating_sub(1);
    (index, doublings as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    fn reference() -> Histogram<u64> {
        Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS).unwrap()
    }

    fn agrees_with_the_crate(reference: &Histogram<u64>, ns: u64) {
        let index = index_of(ns);
        let ns = ns.min(HIGHEST_NS);
        assert!(index < BUCKETS, "{ns}");
        assert_eq!(lowest_of(index), reference.lowest_equivalent(ns), "{ns}");
        assert_eq!(highest_of(index), reference.highest_equivalent(ns), "{ns}");
    }

    #[test]
    fn edges_agree_with_the_crate() {
        let reference = reference();
        for ns in [0, 1, 63, 64, 65, 127, 128, HIGHEST_NS, u64::MAX] {
            agrees_with_the_crate(&reference, ns);
        }
        for power in 0..64 {
            for ns in [(1_u64 << power) - 1, 1 << power, (1 << power) + 1] {
                agrees_with_the_crate(&reference, ns);
            }
        }
        for ns in HIGHEST_NS - 2..HIGHEST_NS + 2 {
            agrees_with_the_crate(&reference, ns);
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap_or_overlap() {
        assert_eq!(lowest_of(0), 0);
        for index in 0..BUCKETS {
            assert_eq!(index_of(lowest_of(index)), index);
            assert_eq!(index_of(highest_of(index)), index);
            if index + 1 < BUCKETS {
                assert_eq!(highest_of(index) + 1, lowest_of(index + 1));
            }
        }
        assert!(highest_of(BUCKETS - 1) >= HIGHEST_NS);
    }

    #[test]
    fn an_index_that_is_too_high_counts_as_the_last() {
        for index in [BUCKETS, BUCKETS + 1, usize::MAX] {
            assert_eq!(lowest_of(index), lowest_of(BUCKETS - 1));
            assert_eq!(highest_of(index), highest_of(BUCKETS - 1));
        }
    }

    proptest! {
        #[test]
        fn any_latency_agrees_with_the_crate(bits in 0_u32..64, noise: u64) {
            agrees_with_the_crate(&reference(), noise >> bits);
        }

        #[test]
        fn buckets_are_the_crates_array_positions(ns in 0..=HIGHEST_NS) {
            let mut histogram = reference();
            histogram.record(ns).unwrap();
            let steps = histogram
                .iter_all()
                .position(|step| step.count_at_value() > 0)
                .unwrap();
            prop_assert_eq!(index_of(ns), steps);
        }
    }
}
