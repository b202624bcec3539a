//! The log of single transactions, and of intervals, in the format of pgbench's log files.

use std::fmt::Write;

use selfbench_model::{LoggedTransaction, TransactionOutcome};
use selfbench_stats::Moments;

/// Properties of a run that decide which fields a line has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LogFormat {
    /// Whether the run has a rate: lines have the schedule lag.
    pub rate: bool,
    /// Whether the run has a latency limit: intervals count skipped transactions.
    pub latency_limit: bool,
    /// Tries of a transaction at most; other than 1, lines have the number of retries.
    pub max_tries: u32,
    /// Whether failures are told apart by kind.
    pub failures_detailed: bool,
    /// Major version of the server whose pgbench is followed; intervals have one field more from
    /// 19 on.
    pub server_major: i32,
}

/// Appends the line of a transaction, as pgbench's option -l has it:
/// `client count latency script seconds microseconds [lag] [retries]`, times in microseconds.
pub fn transaction_line(format: &LogFormat, logged: &LoggedTransaction, out: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(out, "{} {} ", logged.client, logged.count);
    let _ = match logged.outcome {
        TransactionOutcome::Success => write!(out, "{}", us(logged.latency_ns)),
        TransactionOutcome::Skipped => write!(out, "skipped"),
        failure if format.failures_detailed => write!(out, "{}", failure.as_str()),
        _ => write!(out, "failed"),
    };
    let (seconds, rest) = (
        logged.at_us.div_euclid(1_000_000),
        logged.at_us.rem_euclid(1_000_000),
    );
    let _ = write!(out, " {} {seconds} {rest}", logged.script);
    if format.rate {
        let _ = write!(out, " {}", us(logged.lag_ns.unwrap_or(0)));
    }
    if format.max_tries != 1 {
        let _ = write!(out, " {}", logged.retries);
    }
    out.push('\n');
}

/// Whole microseconds, rounded.
const fn us(ns: u64) -> u64 {
    (ns + 500) / 1000
}

/// One file of intervals, as pgbench's option --aggregate-interval has it: the transactions of a
/// thread, summed up over intervals of whole seconds.
#[derive(Clone, Debug)]
pub struct Aggregate {
    format: LogFormat,
    interval_us: i64,
    begins_us: i64,
    latency: Moments,
    lag: Moments,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
    other: u64,
}

impl Aggregate {
    /// Begins with the run, at that many microseconds since 1970; the first interval begins with
    /// the second that this is in.
    pub fn new(format: LogFormat, interval_s: i64, start_us: i64) -> Self {
        Self {
            format,
            interval_us: interval_s.saturating_mul(1_000_000),
            begins_us: start_us.div_euclid(1_000_000) * 1_000_000,
            latency: Moments::default(),
            lag: Moments::default(),
            skipped: 0,
            retried: 0,
            retries: 0,
            serialization: 0,
            deadlock: 0,
            other: 0,
        }
    }

    /// Adds a transaction, after appending the lines of all intervals that had ended before it,
    /// empty ones included.
    pub fn add(&mut self, logged: &LoggedTransaction, out: &mut String) {
        self.advance(logged.at_us, out);
        match logged.outcome {
            TransactionOutcome::Success => {
                self.latency.record(logged.latency_ns);
                self.lag.record(logged.lag_ns.unwrap_or(0));
            }
            TransactionOutcome::Serialization => self.serialization += 1,
            TransactionOutcome::Deadlock => self.deadlock += 1,
            TransactionOutcome::Other => self.other += 1,
            TransactionOutcome::Skipped => self.skipped += 1,
        }
        if logged.retries > 0 {
            self.retried += 1;
            self.retries += u64::from(logged.retries);
        }
    }

    /// Appends the lines of the intervals that have ended at that time. An interval that has not
    /// ended with the run has no line.
    pub fn advance(&mut self, now_us: i64, out: &mut String) {
        loop {
            let next = self.begins_us.saturating_add(self.interval_us);
            if next > now_us {
                return;
            }
            self.line(out);
            *self = Self {
                interval_us: self.interval_us,
                begins_us: next,
                ..Self::new(self.format, 0, 0)
            };
        }
    }

    /// `start, successful transactions, latency: sum, sum of squares, min, max, lag: the same,
    /// skipped retried retries serialization deadlock [other]`; what the run does not have is 0.
    fn line(&self, out: &mut String) {
        let moments = |moments: &Moments| {
            format!(
                "{:.0} {:.0} {:.0} {:.0}",
                moments.sum_ns / 1e3,
                moments.sum_sq_ns2 / 1e6,
                moments.min_ns as f64 / 1e3,
                moments.max_ns as f64 / 1e3
            )
        };
        let only = |shown: bool, value: u64| if shown { value } else { 0 };
        let format = &self.format;
        let lag = if format.rate {
            self.lag
        } else {
            Moments::default()
        };
        let _ = write!(
            out,
            "{} {} {} {} {} {} {} {} {}",
            self.begins_us / 1_000_000,
            self.latency.count,
            moments(&self.latency),
            moments(&lag),
            only(format.latency_limit, self.skipped),
            only(format.max_tries != 1, self.retried),
            only(format.max_tries != 1, self.retries),
            only(format.failures_detailed, self.serialization),
            only(format.failures_detailed, self.deadlock),
        );
        if format.server_major >= 19 {
            let _ = write!(out, " {}", only(format.failures_detailed, self.other));
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: LogFormat = LogFormat {
        rate: false,
        latency_limit: false,
        max_tries: 1,
        failures_detailed: false,
        server_major: 15,
    };

    fn logged(outcome: TransactionOutcome) -> LoggedTransaction {
        LoggedTransaction {
            client: 3,
            count: 17,
            script: 1,
            outcome,
            latency_ns: 1_234_567,
            lag_ns: Some(89_500),
            retries: 2,
            at_us: 1_700_000_000_012_345,
        }
    }

    fn line(format: LogFormat, outcome: TransactionOutcome) -> String {
        let mut out = String::new();
        transaction_line(&format, &logged(outcome), &mut out);
        out
    }

    #[test]
    fn a_transaction_has_six_fields() {
        assert_eq!(
            line(FORMAT, TransactionOutcome::Success),
            "3 17 1235 1 1700000000 12345\n"
        );
        assert_eq!(
            line(FORMAT, TransactionOutcome::Skipped),
            "3 17 skipped 1 1700000000 12345\n"
        );
    }

    #[test]
    fn options_add_fields() {
        let format = LogFormat {
            rate: true,
            max_tries: 3,
            ..FORMAT
        };
        assert_eq!(
            line(format, TransactionOutcome::Success),
            "3 17 1235 1 1700000000 12345 90 2\n"
        );
    }

    #[test]
    fn failures_have_a_word() {
        assert_eq!(
            line(FORMAT, TransactionOutcome::Deadlock),
            "3 17 failed 1 1700000000 12345\n"
        );
        let format = LogFormat {
            failures_detailed: true,
            ..FORMAT
        };
        for (outcome, word) in [
            (TransactionOutcome::Serialization, "serialization"),
            (TransactionOutcome::Deadlock, "deadlock"),
            (TransactionOutcome::Other, "other"),
            (TransactionOutcome::Skipped, "skipped"),
        ] {
            assert_eq!(
                line(format, outcome),
                format!("3 17 {word} 1 1700000000 12345\n")
            );
        }
    }

    #[test]
    fn intervals_are_summed_up() {
        let mut aggregate = Aggregate::new(FORMAT, 2, 1_699_999_999_900_000);
        let mut out = String::new();
        let at = |outcome, at_us| LoggedTransaction {
            at_us,
            ..logged(outcome)
        };
        aggregate.add(
            &at(TransactionOutcome::Success, 1_699_999_999_950_000),
            &mut out,
        );
        aggregate.add(
            &at(TransactionOutcome::Success, 1_700_000_000_950_000),
            &mut out,
        );
        aggregate.add(
            &at(TransactionOutcome::Deadlock, 1_700_000_000_950_001),
            &mut out,
        );
        assert_eq!(out, "");
        // Two intervals have passed, the second of which is empty.
        aggregate.add(
            &at(TransactionOutcome::Success, 1_700_000_003_000_000),
            &mut out,
        );
        assert_eq!(
            out,
            "1699999999 2 2469 3048311 1235 1235 0 0 0 0 0 0 0 0 0\n\
             1700000001 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        out.clear();
        // The last one is lost unless it has ended.
        aggregate.advance(1_700_000_004_999_999, &mut out);
        assert_eq!(out, "");
    }

    #[test]
    fn intervals_have_what_the_run_has() {
        let format = LogFormat {
            rate: true,
            latency_limit: true,
            max_tries: 3,
            failures_detailed: true,
            server_major: 19,
        };
        let mut aggregate = Aggregate::new(format, 1, 1_700_000_000_000_000);
        let mut out = String::new();
        for outcome in [
            TransactionOutcome::Success,
            TransactionOutcome::Serialization,
            TransactionOutcome::Deadlock,
            TransactionOutcome::Other,
            TransactionOutcome::Skipped,
        ] {
            aggregate.add(&logged(outcome), &mut out);
        }
        aggregate.advance(1_700_000_001_000_000, &mut out);
        assert_eq!(
            out,
            "1700000000 1 1235 1524156 1235 1235 90 8010 90 90 1 5 10 1 1 1\n"
        );
    }
}
