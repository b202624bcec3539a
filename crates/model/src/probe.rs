//! A run of a search for the highest rate under a limit of latency.

use crate::run::RunState;
use crate::strain::Strain;
use selfbench_stats::steadiness::{self, Change};
use serde::{Deserialize, Serialize};

/// The number of transactions is random: it misses the scheduled one by more than that many standard
/// deviations, the square root of it, in one of a thousand runs.
const DEVIATIONS: f64 = 3.0;
/// The mean latency of a steady probe changes by a smaller fraction.
const STEADY_SHARE: f64 = 0.25;

/// Number of transactions over the limit that is not due to chance.
const HOPELESS: u64 = 100;

/// A run of such a search: what decides whether its rate is under the limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The run.
    pub run_id: i64,
    /// Transactions per second as they were scheduled; `None` if clients executed as many as they
    /// could.
    pub rate: Option<f64>,
    /// Outcome.
    pub state: RunState,
    /// Clients that were aborted.
    pub aborted_clients: i32,
    /// The first error.
    pub error: Option<String>,
    /// Time in which transactions were scheduled, in seconds.
    pub duration_s: f64,
    /// Successful transactions.
    pub transactions: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions that were not begun, because they were late already.
    pub skipped: u64,
    /// Successful transactions above the limit.
    pub late: u64,
    /// Successful transactions per second.
    pub tps: Option<f64>,
    /// The percentile of the latency in milliseconds, where transactions that failed or were skipped
    /// count as slower than all others; `None` if it is one of these.
    pub percentile_ms: Option<f64>,
    /// Mean latency in each of its intervals; `None` without a transaction.
    pub course: Vec<Option<f64>>,
    /// Utilization of the resources that it needed.
    pub strain: Strain,
}

impl Probe {
    /// Whether it did all that it was asked for.
    pub fn is_complete(&self) -> bool {
        self.state == RunState::Finished && self.aborted_clients == 0
    }

    /// Transactions that came to an end, one way or another.
    pub fn total(&self) -> u64 {
        self.transactions + self.failed + self.skipped
    }

    /// The part of the transactions that was not under the limit.
    pub fn share_over(&self) -> f64 {
        match self.total() {
            0 => 1.0,
            total => (self.late + self.failed + self.skipped) as f64 / total as f64,
        }
    }

    /// The part of the transactions that counts as over the limit: all of them if the rate is
    /// [missed](Self::misses_rate).
    pub fn counted_over(&self, allowed: f64) -> f64 {
        match self.misses_rate(allowed) {
            true => 1.0,
            false => self.share_over(),
        }
    }

    /// The percentile in milliseconds, on the side of the limit on which it was counted to be: it comes
    /// from a histogram, whose precision may put it on the other one. `None` if the rate is
    /// [missed](Self::misses_rate): transactions that were not started have no latency.
    pub fn percentile_beside(&self, limit_ms: f64, allowed: f64, is_under: bool) -> Option<f64> {
        let ms = self.percentile_ms.filter(|_| !self.misses_rate(allowed))?;
        Some(match is_under {
            true => ms.min(limit_ms),
            false => ms.max(limit_ms),
        })
    }

    /// The part of the scheduled transactions that were skipped, failed or, if the rate is
    /// [missed](Self::misses_rate), not started.
    pub fn share_missed(&self, allowed: f64) -> f64 {
        let all = match self.misses_rate(allowed) {
            true => self.rate.unwrap_or_default() * self.duration_s,
            false => self.total() as f64,
        };
        match all > 0.0 {
            true => 1.0 - self.transactions as f64 / all,
            false => 0.0,
        }
    }

    /// Whether more transactions than that part of the scheduled ones were not even skipped when it
    /// ended: they were still to come, although their time had passed.
    pub fn misses_rate(&self, allowed: f64) -> bool {
        let Some(rate) = self.rate else { return false };
        let due = rate * self.duration_s;
        let missing = due - self.total() as f64;
        missing > DEVIATIONS * due.sqrt() && missing > allowed * due
    }

    /// Whether no rate can be under the limit: not one transaction was, although the clients had most of
    /// their time left.
    pub fn is_hopeless(&self) -> bool {
        let idle = self.strain.clients_busy.is_some_and(|busy| busy < 0.5);
        idle && self.total() >= HOPELESS && self.share_over() == 1.0
    }

    /// Changes of its latency while it lasted. Empty if it was steady, or if it had too few
    /// intervals to tell.
    pub fn changes(&self) -> Vec<Change> {
        let known: Option<Vec<f64>> = self.course.iter().copied().collect();
        steadiness::changes(&known.unwrap_or_default(), STEADY_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        Probe {
            rate: Some(100.0),
            duration_s: 100.0,
            transactions: 10_000,
            ..Probe::default()
        }
    }

    #[test]
    fn what_is_not_executed_in_time_is_over_the_limit() {
        assert_eq!(probe().share_over(), 0.0);
        let over = Probe {
            transactions: 9_970,
            failed: 10,
            skipped: 20,
            late: 70,
            ..probe()
        };
        assert_eq!(over.share_over(), 0.01);
        assert!((over.share_missed(0.01) - 0.003).abs() < 1e-9);
        let unstarted = Probe {
            transactions: 9_000,
            skipped: 200,
            ..probe()
        };
        assert!((unstarted.share_missed(0.01) - 0.1).abs() < 1e-9);
        assert_eq!(Probe::default().share_over(), 1.0);
    }

    #[test]
    fn a_percentile_is_on_the_side_of_the_limit_that_was_counted() {
        let with = |percentile_ms, late| {
            let probe = Probe {
                percentile_ms,
                late,
                ..probe()
            };
            probe.percentile_beside(20.0, 0.01, probe.counted_over(0.01) <= 0.01)
        };
        assert_eq!(with(Some(20.004), 100), Some(20.0));
        assert_eq!(with(Some(19.996), 101), Some(20.0));
        assert_eq!(with(Some(12.0), 100), Some(12.0));
        assert_eq!(with(None, 101), None);
        let unstarted = Probe {
            transactions: 9_000,
            percentile_ms: Some(12.0),
            ..probe()
        };
        assert_eq!(unstarted.counted_over(0.01), 1.0);
        assert_eq!(unstarted.percentile_beside(20.0, 0.01, false), None);
    }

    #[test]
    fn a_limit_is_hopeless_if_idle_clients_do_not_meet_it() {
        let with = |busy, late| Probe {
            late,
            strain: Strain {
                clients_busy: Some(busy),
                ..Strain::default()
            },
            ..probe()
        };
        assert!(with(0.1, 10_000).is_hopeless());
        assert!(!with(0.1, 9_999).is_hopeless());
        assert!(!with(0.9, 10_000).is_hopeless());
        let few = Probe {
            transactions: 20,
            ..with(0.1, 20)
        };
        assert!(!few.is_hopeless());
    }

    #[test]
    fn a_rate_is_missed_by_more_than_chance() {
        let with = |transactions| Probe {
            transactions,
            ..probe()
        };
        assert!(!with(9_701).misses_rate(0.01));
        assert!(with(9_699).misses_rate(0.01));
        assert!(!with(9_699).misses_rate(0.05));
        assert!(!with(12_000).misses_rate(0.01));
        let skipping = Probe {
            skipped: 5_000,
            ..with(5_000)
        };
        assert!(!skipping.misses_rate(0.01));
        let without_rate = Probe {
            rate: None,
            ..with(0)
        };
        assert!(!without_rate.misses_rate(0.01));
    }

    #[test]
    fn a_probe_is_steady_unless_its_intervals_say_otherwise() {
        let course = |values: &mut dyn Iterator<Item = f64>| Probe {
            course: values.map(Some).collect(),
            ..probe()
        };
        let rising = course(&mut (0..20).map(|i| 1.0 + f64::from(i)));
        assert!(matches!(rising.changes()[..], [Change::Trend { change }] if change > 0.0));
        let even = course(&mut (0..20).map(|i| 1.0 + f64::from(i % 2) * 0.01));
        assert!(even.changes().is_empty());
        let mut gaps = rising;
        gaps.course[3] = None;
        assert!(gaps.changes().is_empty());
    }
}
