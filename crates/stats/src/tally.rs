//! Outcomes of transactions and commands, as clients count them.

use crate::moments::Moments;
use crate::units::NS_PER_MS;
use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// Transactions by their outcome, of a run, of one of its clients or scripts, or of an interval.
    /// These are columns of the result tables, too.
    ///
    /// A transaction is one execution of a script; it is successful, failed or skipped, once.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct Counts {
        /// Successful transactions.
        pub transactions: u64,
        /// Transactions given up after a serialization failure, SQLSTATE 40001.
        pub serialization_failures: u64,
        /// Transactions given up after a deadlock, SQLSTATE 40P01.
        pub deadlock_failures: u64,
        /// Transactions given up after any other error, if a run goes on after errors.
        pub other_failures: u64,
        /// Transactions, successful or failed, that were tried more than once.
        pub retried: u64,
        /// Tries beyond each transaction's first.
        pub retries: u64,
        /// Transactions never started because a rate and a latency limit made them pointless.
        pub skipped: u64,
        /// Successful transactions above the latency limit.
        pub late: u64,
        /// Successful transactions that their script rolled back on purpose, as the workload says.
        pub rolled_back: u64,
    }
}

impl Counts {
    /// Failed transactions of all kinds.
    pub const fn failed(&self) -> u64 {
        self.serialization_failures
            .saturating_add(self.deadlock_failures)
            .saturating_add(self.other_failures)
    }

    /// Transactions of all outcomes: successful, failed and skipped. pgbench's percentages refer
    /// to this number.
    pub const fn total(&self) -> u64 {
        self.transactions
            .saturating_add(self.failed())
            .saturating_add(self.skipped)
    }
}

words! {
    /// The counters of a run, of one of its clients or scripts, or of an interval.
    pub struct Tally {
        /// Transactions by their outcome.
        pub counts: Counts,
        /// Latencies of the successful transactions, from their scheduled start, all tries included.
        pub latency: Moments,
        /// Schedule lags of the successful transactions: actual minus scheduled start.
        pub lag: Moments,
        /// Time in `\sleep` of the successful transactions, in nanoseconds: a part of their latency.
        pub sleep_ns: u64,
        /// Time in `\shell` and `\setshell` of the successful transactions, another part of it.
        pub shell_ns: u64,
        /// Time from begin to end of the failed transactions, in nanoseconds.
        pub failed_ns: u64,
        /// Successful transactions whose latency without `\sleep` is above the limit of their script.
        pub above_limit: u64,
    }
}

impl Tally {
    /// Time from begin to end of all transactions, failed ones included, in nanoseconds. The latency
    /// of a successful one counts from its scheduled start, which is its lag earlier.
    pub fn busy_ns(&self) -> f64 {
        (self.latency.sum_ns - self.lag.sum_ns).max(0.0) + self.failed_ns as f64
    }

    /// Average time in `\sleep` of a successful transaction in milliseconds; `None` if none slept.
    pub fn sleep_mean_ms(&self) -> Option<f64> {
        (self.sleep_ns > 0 && self.counts.transactions > 0)
            .then(|| self.sleep_ns as f64 / self.counts.transactions as f64 / NS_PER_MS)
    }
}

words! {
    /// The counters of one command of a script.
    pub struct CommandTally {
        /// Times of its successful executions.
        pub latency: Moments,
        /// Transactions that failed for good at this command.
        pub failures: u64,
        /// Transactions that were tried again after it failed.
        pub retries: u64,
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
            counts: Counts::from_words(std::array::from_fn(|i| factor * (i as u64 + 1))),
            latency,
            lag,
            sleep_ns: 9 * factor,
            shell_ns: 7 * factor,
            failed_ns: 8 * factor,
            above_limit: 6 * factor,
        }
    }

    #[test]
    fn total_counts_every_outcome_once() {
        let counts = Counts {
            transactions: 1,
            serialization_failures: 2,
            deadlock_failures: 3,
            other_failures: 4,
            retried: 100,
            skipped: 7,
            ..Counts::default()
        };
        assert_eq!(counts.total(), 1 + 2 + 3 + 4 + 7);
        assert_eq!(Counts::default().total(), 0);
    }

    #[test]
    fn the_mean_sleep_is_that_of_all_successful_transactions() {
        let slept = Tally {
            counts: Counts {
                transactions: 4,
                ..Counts::default()
            },
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

    #[test]
    fn words_are_those_of_the_fields_in_their_order() {
        let words = tally(3).to_words();
        let (counts, rest) = words.split_at(Counts::WORDS);
        assert_eq!(counts, tally(3).counts.to_words());
        assert_eq!(counts[..3], [3, 6, 9]);
        assert_eq!(rest[..5], tally(3).latency.to_words());
        assert_eq!(rest[10..], [27, 21, 24, 18]);
        assert_eq!(Tally::from_words(words), tally(3));
    }
}
