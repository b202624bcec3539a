//! How transactions ended.

use crate::moments::Moments;
use crate::units::NS_PER_MS;

/// Failed transactions by the kind of their last error.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Failures {
    /// Serialization failures, SQLSTATE 40001.
    pub serialization: u64,
    /// Deadlocks, SQLSTATE 40P01.
    pub deadlock: u64,
    /// Any other error, counted only if a run goes on after errors.
    pub other: u64,
}

impl Failures {
    /// Failures of all kinds.
    pub const fn total(&self) -> u64 {
        self.serialization
            .saturating_add(self.deadlock)
            .saturating_add(self.other)
    }

    /// Adds the failures of another part of a run.
    pub const fn merge(&mut self, other: &Self) {
        self.serialization = self.serialization.saturating_add(other.serialization);
        self.deadlock = self.deadlock.saturating_add(other.deadlock);
        self.other = self.other.saturating_add(other.other);
    }

    /// What has been added since `earlier`, never below zero.
    pub const fn minus(&self, earlier: &Self) -> Self {
        Self {
            serialization: self.serialization.saturating_sub(earlier.serialization),
            deadlock: self.deadlock.saturating_sub(earlier.deadlock),
            other: self.other.saturating_sub(earlier.other),
        }
    }
}

/// The counters of a run, of one of its clients or scripts, or of an interval.
///
/// A transaction is one execution of a script; it is successful, failed or skipped, once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Successful transactions.
    pub transactions: u64,
    /// Transactions that failed, by kind of error.
    pub failed: Failures,
    /// Transactions, successful or failed, that were tried more than once.
    pub retried: u64,
    /// Tries beyond each transaction's first.
    pub retries: u64,
    /// Transactions never started because a rate and a latency limit made them pointless.
    pub skipped: u64,
    /// Successful transactions above the latency limit.
    pub late: u64,
    /// Latencies of the successful transactions, from their scheduled start, all tries included.
    pub latency: Moments,
    /// Schedule lags of the successful transactions: actual minus scheduled start.
    pub lag: Moments,
    /// Time in `\sleep` of the successful transactions, in nanoseconds: a part of their latency.
    pub sleep_ns: u64,
}

impl Tally {
    /// Adds the counters of another client, script or interval.
    pub fn merge(&mut self, other: &Self) {
        self.transactions = self.transactions.saturating_add(other.transactions);
        self.failed.merge(&other.failed);
        self.retried = self.retried.saturating_add(other.retried);
        self.retries = self.retries.saturating_add(other.retries);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.late = self.late.saturating_add(other.late);
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
        self.sleep_ns = self.sleep_ns.saturating_add(other.sleep_ns);
    }

    /// What has been added since `earlier`, an earlier state of the same counters; never below
    /// zero. On lowest and highest latencies see [`Moments::minus`].
    pub fn minus(&self, earlier: &Self) -> Self {
        Self {
            transactions: self.transactions.saturating_sub(earlier.transactions),
            failed: self.failed.minus(&earlier.failed),
            retried: self.retried.saturating_sub(earlier.retried),
            retries: self.retries.saturating_sub(earlier.retries),
            skipped: self.skipped.saturating_sub(earlier.skipped),
            late: self.late.saturating_sub(earlier.late),
            latency: self.latency.minus(&earlier.latency),
            lag: self.lag.minus(&earlier.lag),
            sleep_ns: self.sleep_ns.saturating_sub(earlier.sleep_ns),
        }
    }

    /// Average time in `\sleep` of a successful transaction in milliseconds; `None` if none slept.
    pub fn sleep_mean_ms(&self) -> Option<f64> {
        (self.sleep_ns > 0 && self.transactions > 0)
            .then(|| self.sleep_ns as f64 / self.transactions as f64 / NS_PER_MS)
    }

    /// Transactions of all outcomes: successful, failed and skipped. pgbench's percentages refer
    /// to this number.
    pub const fn total(&self) -> u64 {
        self.transactions
            .saturating_add(self.failed.total())
            .saturating_add(self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(factor: u64) -> Tally {
        let mut latency = Moments::default();
        let mut lag = Moments::default();
        for _ in 0..factor {
            latency.record(1000);
            lag.record(10);
        }
        Tally {
            transactions: factor,
            failed: Failures {
                serialization: 2 * factor,
                deadlock: 3 * factor,
                other: 4 * factor,
            },
            retried: 5 * factor,
            retries: 6 * factor,
            skipped: 7 * factor,
            late: 8 * factor,
            latency,
            lag,
            sleep_ns: 9 * factor,
        }
    }

    #[test]
    fn total_counts_every_outcome_once() {
        assert_eq!(tally(1).total(), 1 + 2 + 3 + 4 + 7);
        assert_eq!(Tally::default().total(), 0);
    }

    #[test]
    fn the_mean_sleep_is_that_of_all_successful_transactions() {
        let slept = Tally {
            transactions: 4,
            sleep_ns: 10_000_000,
            ..Tally::default()
        };
        assert_eq!(slept.sleep_mean_ms(), Some(2.5));
        assert_eq!(Tally::default().sleep_mean_ms(), None);
    }

    #[test]
    fn merging_and_taking_away_are_inverse() {
        let mut sum = tally(2);
        sum.merge(&tally(3));
        assert_eq!(sum, tally(5));
        assert_eq!(sum.minus(&tally(2)), tally(3));
        assert_eq!(tally(2).minus(&tally(3)), Tally::default());
    }
}
