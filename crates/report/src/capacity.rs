//! Result of a search for the highest rate under a limit of latency, in one sentence.

use crate::bottleneck::Bottleneck;
use crate::number::{counted, percentage, shortest};
use selfbench_model::Mode;
use selfbench_stats::capacity::{Answer, Ended};

/// A search and its result.
#[derive(Clone, Debug)]
pub struct Capacity<'a> {
    /// The percentile that was to stay under the limit.
    pub percentile: f64,
    /// The limit in milliseconds.
    pub limit_ms: f64,
    /// Path of transactions to the server.
    pub mode: Mode,
    /// Number of clients.
    pub clients: i32,
    /// Result, in transactions per second.
    pub answer: Answer,
    /// The rate of the answer or, without one, the lowest that was probed.
    pub measured_at: f64,
    /// The percentile there, in milliseconds; `None` if too many transactions had no latency.
    pub percentile_ms: Option<f64>,
    /// Whether no probe there was over the limit: they were not steady or too short.
    pub is_doubtful: bool,
    /// Transactions per second while the workload was captured, if it was.
    pub captured_rate: Option<f64>,
    /// Share of the captured execution time that its statements took.
    pub captured_share: Option<f64>,
    /// Bottleneck of the lowest rate over the limit.
    pub bottleneck: Option<&'a Bottleneck>,
}

/// The sentence.
pub fn verdict(capacity: &Capacity<'_>) -> String {
    let (p, limit) = (shortest(capacity.percentile), shortest(capacity.limit_ms));
    let clients = counted(capacity.clients, "client");
    let place = format!("in mode {} with {clients}", capacity.mode.name());
    let at = significant(capacity.measured_at);
    let mut parts = vec![match (capacity.answer.rate, capacity.percentile_ms) {
        (Some(_), _) => {
            let up_to = match (capacity.answer.low, capacity.answer.high) {
                (Some(low), Some(high)) => {
                    format!(
                        "{at} transactions per second ({} to {})",
                        significant(low),
                        significant(high)
                    )
                }
                _ => format!("{at} transactions per second"),
            };
            let times = capacity
                .captured_rate
                .filter(|rate| *rate > 0.0)
                .map(|rate| {
                    let times = significant(capacity.measured_at / rate);
                    let share = capacity
                        .captured_share
                        .map(|share| format!(" ({} of the execution time)", percentage(share)));
                    let share = share.unwrap_or_default();
                    format!(", {times} times the captured {}{share}", significant(rate))
                });
            let times = times.unwrap_or_default();
            format!("p{p} stays under {limit} ms up to {up_to} {place}{times}")
        }
        (None, Some(ms)) if capacity.is_doubtful => format!(
            "p{p} is {} ms {place} at {at} transactions per second, but these probes were not steady \
             or too short",
            significant(ms)
        ),
        (None, Some(ms)) => format!(
            "p{p} does not stay under {limit} ms {place}: it is {} ms at {at} transactions per second",
            significant(ms)
        ),
        (None, None) => format!(
            "p{p} does not stay under {limit} ms {place}: more than {} % of the transactions are \
             skipped, fail or are not started at {at} transactions per second",
            allowed(capacity.percentile)
        ),
    }];
    let because = capacity.bottleneck.map(|bottleneck| &bottleneck.meaning);
    match (capacity.answer.ended, because) {
        (Ended::NeverBroken, _) => parts.push("no higher rate was tried".into()),
        (Ended::NeverMet, _) if capacity.is_doubtful => {
            parts.push("no lower rate was tried: give a longer duration".into());
        }
        (Ended::NeverMet, _) => parts.push(
            "no lower rate was tried: give a longer duration, a higher latency_limit or a lower percentile".into(),
        ),
        (Ended::OutOfProbes, _) => parts.push(format!(
            "stopped after {} probes, which contradict each other: give a longer duration or a higher \
             tolerance",
            capacity.answer.probes
        )),
        (Ended::Found | Ended::ClientBound, Some(meaning)) => {
            parts.push(format!("above, {meaning}"))
        }
        _ => {}
    }
    parts.join("; ")
}

/// The percentage of transactions that may be above a percentile.
fn allowed(percentile: f64) -> String {
    shortest(((100.0 - percentile) * 1e4).round() / 1e4)
}

/// Result of the probe of a rate. `missed` is the part of the scheduled transactions that were
/// skipped, failed or not started.
pub fn probed(rate: f64, percentile: f64, percentile_ms: Option<f64>, missed: f64) -> String {
    let found =
        percentile_ms.map(|ms| format!("p{} is {} ms", shortest(percentile), significant(ms)));
    let missed_percent = 100.0 * missed;
    let missed = (missed_percent > 100.0 - percentile).then(|| {
        format!(
            "{} % of the transactions were skipped, failed or not started, more than {} %",
            significant(missed_percent),
            allowed(percentile)
        )
    });
    let parts: Vec<String> = [found, missed].into_iter().flatten().collect();
    format!(
        "{} transactions per second: {}",
        significant(rate),
        parts.join(", ")
    )
}

/// Knowledge of a search before it has ended.
pub fn so_far(percentile: f64, answer: &Answer) -> String {
    let p = shortest(percentile);
    let met = answer.rate.map(significant);
    let missed = answer.high.map(significant);
    match (met, missed) {
        (Some(met), Some(missed)) => format!(
            "p{p} stays under the limit at {met} transactions per second, and not at {missed}"
        ),
        (Some(met), None) => format!(
            "p{p} stays under the limit at {met} transactions per second; no rate is known that is too high"
        ),
        (None, Some(missed)) => format!(
            "p{p} does not stay under the limit at {missed} transactions per second; no rate is known that meets it"
        ),
        (None, None) => format!("p{p} is not known at any rate"),
    }
}

/// A number with three significant digits, or more if its integral part has them.
pub fn significant(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return shortest(value);
    }
    let decimals = 2 - value.log10().floor() as i32;
    match decimals {
        ..=0 => {
            let unit = 10_f64.powi(-decimals);
            format!("{:.0}", (value / unit).round() * unit)
        }
        _ => format!("{value:.*}", decimals.min(9) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(rate: Option<f64>) -> Capacity<'static> {
        Capacity {
            percentile: 99.0,
            limit_ms: 10.0,
            mode: Mode::Spi,
            clients: 8,
            answer: Answer {
                rate,
                low: Some(3001.0),
                high: Some(3256.0),
                ended: Ended::Found,
                probes: 9,
            },
            captured_rate: None,
            captured_share: None,
            measured_at: rate.unwrap_or(12.345),
            percentile_ms: Some(9.87),
            is_doubtful: false,
            bottleneck: None,
        }
    }

    #[test]
    fn what_was_found_is_a_sentence() {
        let found = capacity(Some(3123.4));
        assert_eq!(
            verdict(&found),
            "p99 stays under 10 ms up to 3120 transactions per second (3000 to 3260) in mode spi \
             with 8 clients"
        );
        let bottleneck = Bottleneck {
            name: "CPU".into(),
            meaning: "the CPUs are 97 % busy".into(),
            evidence: String::new(),
        };
        let told = Capacity {
            bottleneck: Some(&bottleneck),
            clients: 1,
            percentile: 99.9,
            ..found.clone()
        };
        assert_eq!(
            verdict(&told),
            "p99.9 stays under 10 ms up to 3120 transactions per second (3000 to 3260) in mode \
             spi with 1 client; above, the CPUs are 97 % busy"
        );
        let captured = Capacity {
            captured_rate: Some(400.0),
            captured_share: Some(0.096),
            ..found.clone()
        };
        assert_eq!(
            verdict(&captured),
            "p99 stays under 10 ms up to 3120 transactions per second (3000 to 3260) in mode spi \
             with 8 clients, 7.81 times the captured 400 (9.6 % of the execution time)"
        );
        let ended = |ended, high| {
            verdict(&Capacity {
                answer: Answer {
                    ended,
                    high,
                    ..found.answer
                },
                ..found.clone()
            })
        };
        assert_eq!(
            ended(Ended::NeverBroken, None),
            "p99 stays under 10 ms up to 3120 transactions per second in mode spi with 8 clients; \
             no higher rate was tried"
        );
        assert!(ended(Ended::OutOfProbes, None).ends_with(
            "; stopped after 9 probes, which contradict each other: give a longer duration or a higher tolerance"
        ));
    }

    #[test]
    fn a_limit_that_no_rate_meets_is_told_with_what_was_measured() {
        let below = |percentile_ms| {
            let mut never = capacity(None);
            never.answer.ended = Ended::NeverMet;
            verdict(&Capacity {
                percentile_ms,
                ..never
            })
        };
        let tried = "; no lower rate was tried: give a longer duration, a higher latency_limit or a lower percentile";
        assert_eq!(
            below(Some(23.456)),
            format!(
                "p99 does not stay under 10 ms in mode spi with 8 clients: it is 23.5 ms at 12.3 \
                 transactions per second{tried}"
            )
        );
        assert_eq!(
            below(None),
            format!(
                "p99 does not stay under 10 ms in mode spi with 8 clients: more than 1 % of the \
                 transactions are skipped, fail or are not started at 12.3 transactions per second{tried}"
            )
        );
    }

    #[test]
    fn probes_that_are_not_steady_are_not_said_to_be_over_the_limit() {
        let mut never = capacity(None);
        never.answer.ended = Ended::NeverMet;
        let doubtful = Capacity {
            percentile_ms: Some(9.87),
            is_doubtful: true,
            ..never
        };
        assert_eq!(
            verdict(&doubtful),
            "p99 is 9.87 ms in mode spi with 8 clients at 12.3 transactions per second, but these probes \
             were not steady or too short; no lower rate was tried: give a longer duration"
        );
    }

    #[test]
    fn a_search_that_is_canceled_tells_the_rates_between_which_it_was() {
        let told = |rate, high| {
            let answer = Answer {
                rate,
                high,
                ..capacity(None).answer
            };
            so_far(99.9, &answer)
        };
        assert_eq!(
            told(Some(3001.0), Some(3256.0)),
            "p99.9 stays under the limit at 3000 transactions per second, and not at 3260"
        );
        assert_eq!(
            told(Some(3001.0), None),
            "p99.9 stays under the limit at 3000 transactions per second; no rate is known that is too high"
        );
        assert_eq!(
            told(None, Some(3256.0)),
            "p99.9 does not stay under the limit at 3260 transactions per second; no rate is known that meets it"
        );
        assert_eq!(told(None, None), "p99.9 is not known at any rate");
    }

    #[test]
    fn a_probe_says_why_its_percentile_is_not_known() {
        assert_eq!(
            probed(12_345.0, 99.0, Some(9.87), 0.01),
            "12300 transactions per second: p99 is 9.87 ms"
        );
        assert_eq!(
            probed(12_345.0, 99.9, None, 0.0345),
            "12300 transactions per second: 3.45 % of the transactions were skipped, failed or not \
             started, more than 0.1 %"
        );
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, expected) in [
            (123_456.0, "123000"),
            (999.6, "1000"),
            (123.4, "123"),
            (9.996, "10.00"),
            (0.012_345, "0.0123"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(value), expected);
        }
    }
}
