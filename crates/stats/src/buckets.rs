//! The bucket layout of latencies: which counter of a plain array a latency belongs to.
//!
//! The array itself is [`LatencyCounters`](crate::LatencyCounters); this module only gives the
//! arithmetic. The layout is HdrHistogram's (Gil Tene, <http://hdrhistogram.org>)
//! with the bounds below: a first range of 2,048 buckets of 64 ns each, then for every further
//! power of two 1,024 buckets of twice the width of those before. A bucket is never wider than
//! 1/1024 of the values in it, which is what "three significant digits" means here.

/// Lowest discernible latency in nanoseconds: the width of the narrowest bucket. A power of two.
pub const LOWEST_NS: u64 = 1 << UNIT_MAGNITUDE;

/// Highest latency in nanoseconds that is distinguished from higher ones: 24 hours.
pub const HIGHEST_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Significant decimal digits of every latency.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Number of buckets, hence of counters that a caller has to provide. The last one holds 24 hours
/// and everything above.
pub const BUCKETS: usize = index_of(HIGHEST_NS) + 1;

/// Most samples that the counters of a histogram may add up to: 2^53, up to which a percentile's rank
/// is exact in double precision.
pub const MAX_COUNT: u64 = 1 << 53;

/// Binary logarithm of [`LOWEST_NS`].
const UNIT_MAGNITUDE: u32 = 6;

/// Binary logarithm of the number of buckets of one width: the smallest power of two not below
/// `2 * 10^SIGNIFICANT_DIGITS`, so that a step of one is discernible up to that number of units.
const SUB_BUCKET_MAGNITUDE: u32 = 11;

/// Layout with two significant digits and an eighth of the buckets, for figures that are numerous:
/// the time of each command of each client.
///
/// A first range of 256 buckets of 64 ns each, then 128 buckets for every further power of two, none
/// of which is wider than 1/128 of the values in it.
pub mod coarse {
    /// Number of buckets. The last one holds 24 hours and everything above.
    pub const BUCKETS: usize = index_of(super::HIGHEST_NS) + 1;

    const SUB_BUCKET_MAGNITUDE: u32 = 8;

    /// The bucket of a latency in nanoseconds: a number below [`BUCKETS`], for every input.
    #[inline]
    pub const fn index_of(latency_ns: u64) -> usize {
        super::index::<SUB_BUCKET_MAGNITUDE>(latency_ns)
    }

    /// The latency in nanoseconds in the middle of a bucket, which no other in it is further from
    /// than by 1/256 or 32 ns.
    pub const fn middle_of(index: usize) -> u64 {
        let index = if index < BUCKETS { index } else { BUCKETS - 1 };
        super::lowest::<SUB_BUCKET_MAGNITUDE>(index)
            + super::width::<SUB_BUCKET_MAGNITUDE>(index) / 2
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use proptest::prelude::*;

        #[test]
        fn buckets_follow_each_other() {
            for bucket in 0..BUCKETS {
                assert_eq!(index_of(middle_of(bucket)), bucket);
            }
            assert_eq!(index_of(u64::MAX), BUCKETS - 1);
            assert_eq!(middle_of(usize::MAX), middle_of(BUCKETS - 1));
            const { assert!(BUCKETS < super::super::BUCKETS / 7) };
        }

        proptest! {
            #[test]
            fn the_middle_is_near(bits in 0_u32..64, noise: u64) {
                let ns = (noise >> bits).min(super::super::HIGHEST_NS);
                let distance = middle_of(index_of(ns)).abs_diff(ns);
                prop_assert!(distance <= (ns / 256).max(32));
            }
        }
    }
}

/// The bucket of a latency in nanoseconds: a number below [`BUCKETS`], for every input.
///
/// Latencies above [`HIGHEST_NS`] belong to the last bucket. The only branch is that clamp; the
/// power of two comes from counting leading zeros.
#[inline]
pub const fn index_of(latency_ns: u64) -> usize {
    index::<SUB_BUCKET_MAGNITUDE>(latency_ns)
}

/// The lowest latency in nanoseconds that belongs to a bucket.
///
/// An index of [`BUCKETS`] or more counts as the last bucket.
#[inline]
pub const fn lowest_of(index: usize) -> u64 {
    lowest::<SUB_BUCKET_MAGNITUDE>(clamped(index))
}

/// The highest latency in nanoseconds that belongs to a bucket.
///
/// For the last bucket this is the highest value that its width spans; it counts higher latencies
/// as well. An index of [`BUCKETS`] or more counts as the last bucket.
pub const fn highest_of(index: usize) -> u64 {
    lowest_of(index) + (width::<SUB_BUCKET_MAGNITUDE>(clamped(index)) - 1)
}

/// The index, not above the last one.
const fn clamped(index: usize) -> usize {
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// The bucket of a latency where 2^`MAGNITUDE` buckets have the lowest width.
#[inline]
const fn index<const MAGNITUDE: u32>(latency_ns: u64) -> usize {
    let ns = if latency_ns > HIGHEST_NS {
        HIGHEST_NS
    } else {
        latency_ns
    };
    let first_range_highest_ns = (1_u64 << (UNIT_MAGNITUDE + MAGNITUDE)) - 1;
    let doublings =
        first_range_highest_ns.leading_zeros() - (ns | first_range_highest_ns).leading_zeros();
    let within = ns >> (UNIT_MAGNITUDE + doublings);
    // Each further power of two adds the upper half of its range; the lower half is that of the
    // powers before.
    ((doublings as usize) << (MAGNITUDE - 1)) + within as usize
}

/// The lowest latency of a bucket.
#[inline]
const fn lowest<const MAGNITUDE: u32>(index: usize) -> u64 {
    let doublings = doublings::<MAGNITUDE>(index);
    let within = index - ((doublings as usize) << (MAGNITUDE - 1));
    (within as u64) << (UNIT_MAGNITUDE + doublings)
}

/// Number of distinct nanosecond values in a bucket.
const fn width<const MAGNITUDE: u32>(index: usize) -> u64 {
    1 << (UNIT_MAGNITUDE + doublings::<MAGNITUDE>(index))
}

/// Number of doublings of the width up to a bucket.
#[inline]
const fn doublings<const MAGNITUDE: u32>(index: usize) -> u32 {
    (index >> (MAGNITUDE - 1)).saturating_sub(1) as u32
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
