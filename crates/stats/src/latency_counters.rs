//! A histogram in shared memory: latencies that one process counts and others read meanwhile.

use crate::buckets::{self, BUCKETS};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Buckets of a block, which is read if one of them has ever counted. Latencies of a client lie in few
/// blocks of the many.
const BLOCK: usize = 128;

/// Words with a bit for each block.
const WORDS: usize = BUCKETS.div_ceil(BLOCK).div_ceil(u64::BITS as usize);

/// A counter for each bucket, and which of them may have counted something. All bytes zero is an empty
/// histogram.
///
/// One process counts; counters wrap around, and nothing is ever reset. So a reader that does not see
/// the latest counts, or sees a count and not yet its block, finds them at its next reading, and after
/// the end of the process at the latest: the message that tells the reader of that end orders all counts
/// before it.
#[repr(C)]
#[derive(Debug)]
pub struct LatencyCounters {
    /// Blocks in which something has been counted.
    used: [AtomicU64; WORDS],
    counters: [AtomicU32; BUCKETS],
}

impl LatencyCounters {
    /// Counts a latency `times` times.
    #[inline]
    pub fn count(&self, latency_ns: u64, times: u32) {
        let bucket = buckets::index_of(latency_ns);
        let block = bucket / BLOCK;
        let (word, bit) = (&self.used[block / 64], 1 << (block % 64));
        let used = word.load(Relaxed);
        // Hardly ever: a word that does not change stays in the caches of its readers.
        if used & bit == 0 {
            word.store(used | bit, Relaxed);
        }
        let counter = &self.counters[bucket];
        counter.store(counter.load(Relaxed).wrapping_add(times), Relaxed);
    }

    /// The buckets that may have counted something, by rising latency, with their counters.
    pub fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let words = self.used.iter().enumerate();
        let blocks = words.flat_map(|(word, used)| {
            let used = used.load(Relaxed);
            let is_used = move |bit: &usize| used >> bit & 1 == 1;
            (0..64).filter(is_used).map(move |bit| word * 64 + bit)
        });
        blocks
            .flat_map(buckets_of)
            .map(|bucket| (bucket, self.counters[bucket].load(Relaxed)))
    }
}

impl Default for LatencyCounters {
    fn default() -> Self {
        Self {
            used: [const { AtomicU64::new(0) }; WORDS],
            counters: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }
}

fn buckets_of(block: usize) -> Range<usize> {
    block * BLOCK..((block + 1) * BLOCK).min(BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::{Acquire, Release};

    fn counted(counters: &LatencyCounters) -> Vec<(usize, u32)> {
        counters.used().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn nothing_is_read_where_nothing_was_counted() {
        let counters = LatencyCounters::default();
        assert_eq!(counters.used().count(), 0);
        counters.count(0, 1);
        assert_eq!(counters.used().count(), BLOCK);
        counters.count(buckets::lowest_of(BLOCK - 1), 1);
        assert_eq!(counters.used().count(), BLOCK);
        counters.count(buckets::lowest_of(BLOCK), 1);
        assert_eq!(counters.used().count(), 2 * BLOCK);
    }

    #[test]
    fn every_bucket_is_in_one_block() {
        let counters = LatencyCounters::default();
        for bucket in 0..BUCKETS {
            counters.count(buckets::lowest_of(bucket), bucket as u32 + 1);
        }
        let expected: Vec<_> = (0..BUCKETS).map(|b| (b, b as u32 + 1)).collect();
        assert_eq!(counters.used().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_longest_latency_is_counted() {
        let counters = LatencyCounters::default();
        counters.count(u64::MAX, 3);
        assert_eq!(counted(&counters), [(BUCKETS - 1, 3)]);
    }

    #[test]
    fn a_counter_that_wraps_around_is_still_read() {
        let counters = LatencyCounters::default();
        counters.count(1000, u32::MAX);
        counters.count(1000, 1);
        let bucket = buckets::index_of(1000);
        assert!(counters.used().any(|counter| counter == (bucket, 0)));
    }

    #[test]
    fn a_reader_that_is_late_loses_nothing() {
        const TRANSACTIONS: u64 = 20_000;
        let (counters, ended) = (LatencyCounters::default(), AtomicBool::new(false));
        let latency_ns = |number: u64| number * 104_729 % 1_000_000_007;
        let mut read = Counters::new(BUCKETS).unwrap();
        let mut sum = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..TRANSACTIONS {
                    counters.count(latency_ns(number), 1);
                }
                ended.store(true, Release);
            });
            loop {
                let last = ended.load(Acquire);
                for (bucket, value) in counters.used() {
                    sum += read.read(bucket, value);
                }
                if last {
                    break;
                }
            }
        });
        assert_eq!(sum, TRANSACTIONS);
        let mut expected = vec![0; BUCKETS];
        (0..TRANSACTIONS).for_each(|number| expected[buckets::index_of(latency_ns(number))] += 1);
        let all: Vec<u64> = (0..BUCKETS).map(|bucket| read.count(bucket)).collect();
        assert_eq!(all, expected);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_their_buckets(latencies: Vec<(u64, u16)>) {
            let counters = LatencyCounters::default();
            let mut expected = std::collections::BTreeMap::new();
            for (latency_ns, times) in latencies {
                counters.count(latency_ns, times.into());
                *expected.entry(buckets::index_of(latency_ns)).or_default() += u32::from(times);
            }
            expected.retain(|_, count| *count > 0);
            prop_assert_eq!(counted(&counters), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
