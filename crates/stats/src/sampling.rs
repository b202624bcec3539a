//! Sampling at random times: when to sample, and counts of what was seen.

use std::collections::HashMap;
use std::hash::Hash;

/// Times of samples: one in each period of the same length, at a random moment of it, so that
/// nothing that repeats regularly is always, or never, seen.
#[derive(Clone, Copy, Debug)]
pub struct SampleTimes {
    begin_ns: u64,
    period_ns: u64,
    /// Number of the period of the next sample.
    period: u64,
    due_ns: u64,
}

impl SampleTimes {
    /// Times of `per_second` samples per second, more than 0, from `begin_ns` on. `unit` is a
    /// random number from 0 to 1, as for [`next`](Self::next).
    pub fn new(begin_ns: u64, per_second: f64, unit: f64) -> SampleTimes {
        let mut times = SampleTimes {
            begin_ns,
            // A conversion from floating point saturates.
            period_ns: ((1e9 / per_second) as u64).max(1),
            period: 0,
            due_ns: 0,
        };
        times.due_ns = times.within_period(unit);
        times
    }

    /// When the next sample is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Goes on to the next sample, which is due after `now_ns`. Those of periods that are over are
    /// omitted.
    pub fn next(&mut self, now_ns: u64, unit: f64) {
        let now = now_ns.saturating_sub(self.begin_ns) / self.period_ns;
        self.period = now.max(self.period.saturating_add(1));
        self.due_ns = self.within_period(unit);
        if self.due_ns <= now_ns {
            self.period = self.period.saturating_add(1);
            self.due_ns = self.within_period(unit);
        }
    }

    fn within_period(&self, unit: f64) -> u64 {
        let begin = self.period.saturating_mul(self.period_ns);
        let jitter = (self.period_ns as f64 * unit) as u64;
        self.begin_ns.saturating_add(begin).saturating_add(jitter)
    }
}

/// Counts of several things, of which only so many are told apart.
#[derive(Debug)]
pub struct Counts<K> {
    counts: HashMap<K, u32>,
    limit: usize,
}

impl<K: Eq + Hash> Counts<K> {
    /// Tells up to that many things apart.
    pub fn new(limit: usize) -> Counts<K> {
        Counts {
            counts: HashMap::with_capacity(limit),
            limit,
        }
    }

    /// Counts something, if it has been counted before or there is room for it; returns whether.
    pub fn add(&mut self, key: K, count: u32) -> bool {
        if let Some(counted) = self.counts.get_mut(&key) {
            *counted = counted.saturating_add(count);
            return true;
        }
        let fits = self.counts.len() < self.limit;
        if fits {
            self.counts.insert(key, count);
        }
        fits
    }

    /// Everything with its count, and nothing is counted any more. Keeps the memory.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, u32)> {
        self.counts.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn every_period_has_one_sample_at_a_random_moment() {
        let mut times = SampleTimes::new(5 * SECOND, 20.0, 0.5);
        assert_eq!(times.due_ns(), 5 * SECOND + 25_000_000);
        times.next(times.due_ns(), 0.0);
        assert_eq!(times.due_ns(), 5 * SECOND + 50_000_000);
        times.next(times.due_ns() + 1, 0.9);
        assert_eq!(times.due_ns(), 5 * SECOND + 145_000_000);
    }

    #[test]
    fn a_late_sampler_omits_samples_and_keeps_to_the_periods() {
        // In the middle of the fourth period, whose moment may be over or not.
        let mut times = SampleTimes::new(0, 10.0, 0.0);
        times.next(350_000_000, 0.9);
        assert_eq!(times.due_ns(), 390_000_000);
        let mut times = SampleTimes::new(0, 10.0, 0.0);
        times.next(350_000_000, 0.2);
        assert_eq!(times.due_ns(), 420_000_000);
        // Two samples never come from one period.
        times.next(421_000_000, 0.99);
        assert_eq!(times.due_ns(), 599_000_000);
    }

    #[test]
    fn the_next_sample_is_in_the_future_at_any_rate() {
        for per_second in [f64::MIN_POSITIVE, 0.01, 1.0, 1000.0, 1e300] {
            let mut times = SampleTimes::new(3, per_second, 0.999);
            for now in [3, 4, 1000, SECOND, 86_400 * SECOND] {
                times.next(now, 0.0);
                assert!(times.due_ns() > now, "{per_second} {now}");
            }
        }
    }

    #[test]
    fn only_so_many_things_are_told_apart() {
        let mut counts = Counts::new(2);
        assert!(counts.add('a', 1) && counts.add('b', 2) && counts.add('a', 3));
        assert!(!counts.add('c', 1));
        let mut all: Vec<_> = counts.drain().collect();
        all.sort_unstable();
        assert_eq!(all, [('a', 4), ('b', 2)]);
        assert!(counts.add('c', 1));
    }
}
