//! One line of progress while a run goes on.

use std::fmt::{self, Display, Formatter};

use selfbench_model::Mode;
use selfbench_stats::{Tally, summary};

use crate::number::fixed;

/// Properties of a run that decide which figures a progress line has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProgressOptions {
    /// Mode of the run, at the end of every line.
    pub mode: Mode,
    /// Whether the run has a rate: shows the schedule lag.
    pub rate: bool,
    /// Whether the run has a latency limit: with a rate, shows skipped transactions.
    pub latency_limit: bool,
    /// Tries of a transaction at most, 0 for any number; other than 1 it shows retries.
    pub max_tries: u32,
}

/// The moment that a progress line is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// Seconds since the run began.
    Elapsed(f64),
    /// Seconds since 1970, as with pgbench's `--progress-timestamp`.
    Epoch(f64),
}

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&match *self {
            At::Elapsed(seconds) => fixed(seconds, 1),
            At::Epoch(seconds) => fixed(seconds, 3),
        })
    }
}

/// The progress line of an interval as pgbench prints it with `-P`, in mode `spi` followed by the
/// mode in brackets, without a line end.
///
/// `at` is the end of the interval, `interval_seconds` the length of the interval
/// that ends now and `interval` what was counted in it. Averages are 0 if there was no successful
/// transaction.
pub fn line(at: At, interval_seconds: f64, interval: &Tally, options: ProgressOptions) -> String {
    let counts = &interval.counts;
    let mut line = format!(
        "progress: {at} s, {} tps, lat {} ms stddev {}, {} failed",
        fixed(summary::tps(counts.transactions, interval_seconds), 1),
        fixed(interval.latency.mean_ms(), 3),
        fixed(interval.latency.stddev_ms(), 3),
        counts.failed(),
    );
    if options.rate {
        line += &format!(", lag {} ms", fixed(interval.lag.mean_ms(), 3));
        if options.latency_limit {
            line += &format!(", {} skipped", counts.skipped);
        }
    }
    if options.max_tries != 1 {
        line += &format!(", {} retried, {} retries", counts.retried, counts.retries);
    }
    labelled(line, options.mode)
}

/// The progress line of an interval of the warm-up, whose transactions do not count.
pub fn warmup_line(at: At, interval_seconds: f64, transactions: u64, mode: Mode) -> String {
    let tps = fixed(summary::tps(transactions, interval_seconds), 1);
    labelled(format!("progress: {at} s, warm-up, {tps} tps"), mode)
}

/// A line with the mode behind it: what pgbench prints must not be mistaken for what was measured
/// inside of the server.
fn labelled(line: String, mode: Mode) -> String {
    match mode {
        Mode::Spi => line + &format!(" ({})", mode.name()),
        Mode::Libpq => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selfbench_stats::{Counts, Moments};

    fn interval() -> Tally {
        let mut latency = Moments::default();
        let mut lag = Moments::default();
        for ns in [1_000_000, 2_000_000, 3_000_000] {
            latency.record(ns);
            lag.record(ns / 10);
        }
        Tally {
            counts: Counts {
                transactions: 3,
                serialization_failures: 1,
                deadlock_failures: 2,
                other_failures: 4,
                retried: 5,
                retries: 6,
                skipped: 8,
                ..Counts::default()
            },
            latency,
            lag,
            ..Tally::default()
        }
    }

    const PLAIN: ProgressOptions = ProgressOptions {
        mode: Mode::Spi,
        rate: false,
        latency_limit: false,
        max_tries: 1,
    };

    #[test]
    fn a_plain_line_has_latency_and_failures() {
        assert_eq!(
            line(At::Elapsed(1.04), 2.0, &interval(), PLAIN),
            "progress: 1.0 s, 1.5 tps, lat 2.000 ms stddev 0.816, 7 failed (spi)"
        );
    }

    #[test]
    fn rate_limit_and_tries_add_their_figures() {
        let rate = ProgressOptions {
            mode: Mode::Libpq,
            rate: true,
            ..PLAIN
        };
        let start = "progress: 10.0 s, 3.0 tps, lat 2.000 ms stddev 0.816, 7 failed";
        assert_eq!(
            line(At::Elapsed(10.0), 1.0, &interval(), rate),
            format!("{start}, lag 0.200 ms")
        );
        let all = ProgressOptions {
            latency_limit: true,
            max_tries: 0,
            ..rate
        };
        assert_eq!(
            line(At::Elapsed(10.0), 1.0, &interval(), all),
            format!("{start}, lag 0.200 ms, 8 skipped, 5 retried, 6 retries")
        );
        let limit_alone = ProgressOptions {
            latency_limit: true,
            ..PLAIN
        };
        assert_eq!(
            line(At::Elapsed(10.0), 1.0, &interval(), limit_alone),
            format!("{start} (spi)")
        );
    }

    #[test]
    fn the_time_may_be_that_of_the_clock() {
        let epoch = line(At::Epoch(1_700_000_000.25), 1.0, &interval(), PLAIN);
        assert!(epoch.starts_with("progress: 1700000000.250 s, 3.0 tps"));
    }

    #[test]
    fn the_warm_up_has_lines_of_its_own() {
        assert_eq!(
            warmup_line(At::Elapsed(2.0), 2.0, 5, Mode::Spi),
            "progress: 2.0 s, warm-up, 2.5 tps (spi)"
        );
        assert_eq!(
            warmup_line(At::Epoch(1.0), 0.0, 0, Mode::Libpq),
            "progress: 1.000 s, warm-up, 0.0 tps"
        );
    }

    #[test]
    fn an_interval_without_transactions_is_all_zeros() {
        assert_eq!(
            line(At::Elapsed(3.0), 0.0, &Tally::default(), PLAIN),
            "progress: 3.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed (spi)"
        );
    }
}
