//! The figures of a set of transactions: what runs, scripts and intervals have in common.

use selfbench_stats::{Counts, LatencyHistogram, Moments, Tally, summary};
use serde::{Deserialize, Serialize};

/// The percentiles that are stored and printed.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// Figures of a set of transactions: columns that `runs`, `run_scripts`, `run_intervals` and the result of
/// a run share.
///
/// Times are in milliseconds; a figure that does not exist, such as the mean of nothing, is NULL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Transactions by their outcome.
    #[serde(flatten)]
    pub counts: Counts,
    /// Successful transactions per second.
    pub tps: Option<f64>,
    /// Latency of the successful transactions.
    #[serde(flatten)]
    pub latency: Latency,
    /// Mean schedule lag.
    pub lag_avg_ms: Option<f64>,
    /// Longest schedule lag.
    pub lag_max_ms: Option<f64>,
    /// Mean time in `\sleep`, a part of the latency; NULL if no transaction slept.
    pub sleep_avg_ms: Option<f64>,
    /// Sum of all latencies.
    pub latency_sum_ms: f64,
    /// Sum of the squares of all latencies, in milliseconds squared.
    pub latency_sum_squares_ms2: f64,
    /// Histogram of the latency, see `bench.percentile`; NULL if it is empty.
    #[serde(skip)]
    pub histogram: Option<Vec<u8>>,
}

impl Figures {
    /// The figures of transactions that were counted within that time.
    pub fn of(tally: &Tally, histogram: &LatencyHistogram, seconds: f64) -> Figures {
        let lag = |value: f64| (tally.lag.count > 0).then_some(value);
        Figures {
            counts: tally.counts,
            tps: (seconds > 0.0).then(|| summary::tps(tally.counts.transactions, seconds)),
            latency: Latency::of(&tally.latency, histogram),
            latency_sum_ms: tally.latency.sum_ns / 1e6,
            latency_sum_squares_ms2: tally.latency.sum_sq_ns2 / 1e12,
            lag_avg_ms: lag(tally.lag.mean_ms()),
            lag_max_ms: lag(tally.lag.max_ms()),
            sleep_avg_ms: tally.sleep_mean_ms(),
            histogram: encoded(histogram),
        }
    }
}

/// A latency in milliseconds: columns that these and `run_statements` have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean latency.
    pub latency_avg_ms: Option<f64>,
    /// Standard deviation of the latency.
    pub latency_stddev_ms: Option<f64>,
    /// Shortest latency.
    pub latency_min_ms: Option<f64>,
    /// Median latency.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile of the latency.
    pub latency_p90_ms: Option<f64>,
    /// 95th percentile of the latency.
    pub latency_p95_ms: Option<f64>,
    /// 99th percentile of the latency.
    pub latency_p99_ms: Option<f64>,
    /// 99.9th percentile of the latency.
    pub latency_p999_ms: Option<f64>,
    /// Longest latency.
    pub latency_max_ms: Option<f64>,
}

impl Latency {
    /// The figures of latencies from their moments and their histogram.
    pub fn of(moments: &Moments, histogram: &LatencyHistogram) -> Latency {
        let some = |value: f64| (moments.count > 0).then_some(value);
        let (min, max) = (moments.min_ms(), moments.max_ms());
        let [p50, p90, p95, p99, p999] = PERCENTILES.map(|p| percentile(histogram, min, max, p));
        Latency {
            latency_avg_ms: some(moments.mean_ms()),
            latency_stddev_ms: some(moments.stddev_ms()),
            latency_min_ms: some(moments.min_ms()),
            latency_p50_ms: p50,
            latency_p90_ms: p90,
            latency_p95_ms: p95,
            latency_p99_ms: p99,
            latency_p999_ms: p999,
            latency_max_ms: some(moments.max_ms()),
        }
    }

    /// A percentile of these latencies, whose histogram this is, in milliseconds.
    pub fn percentile(&self, histogram: &LatencyHistogram, p: f64) -> Option<f64> {
        let (min, max) = (self.latency_min_ms, self.latency_max_ms);
        percentile(histogram, min.unwrap_or(0.0), max.unwrap_or(0.0), p)
    }

    /// The percentiles that are known: percent and milliseconds.
    pub fn percentiles(&self) -> Vec<(f64, f64)> {
        let values = [
            self.latency_p50_ms,
            self.latency_p90_ms,
            self.latency_p95_ms,
            self.latency_p99_ms,
            self.latency_p999_ms,
        ];
        let known = PERCENTILES.into_iter().zip(values);
        known.filter_map(|(p, ms)| Some((p, ms?))).collect()
    }
}

/// A percentile of latencies between these, in milliseconds. A bucket's value may lie beyond all that
/// were counted in it: never give a percentile below the shortest or above the longest latency.
fn percentile(histogram: &LatencyHistogram, min: f64, max: f64, p: f64) -> Option<f64> {
    let ms = histogram.percentile_ms(p)?;
    Some(match max > 0.0 {
        true => ms.clamp(min.min(max), max),
        false => ms,
    })
}

/// A histogram as it is stored; `None` if it is empty.
pub fn encoded(histogram: &LatencyHistogram) -> Option<Vec<u8>> {
    (!histogram.is_empty()).then(|| histogram.encode().ok())?
}
