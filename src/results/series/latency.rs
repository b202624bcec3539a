//! Latencies of a run for charts: their distribution, percentiles, and the map of them over time.
//!
//! The map takes the histogram of every interval, 86,400 for a day of seconds, so that each transaction
//! is in it.

use crate::error::{Error, Result};
use crate::query;
use crate::results::json::query_json;
use crate::results::load;
use crate::security::with_pinned_settings;
use selfbench_chart::{Bin, HeatMap};
use selfbench_model::Run;
use selfbench_stats::{LatencyHistogram, StoredHistograms, buckets};

/// Columns and rows of a map of latencies, at most.
const HEAT_COLUMNS: i32 = 120;
const HEAT_ROWS: u8 = 40;

/// Bins of a distribution, at most.
const BINS: u8 = 90;

/// Intervals whose histograms are read at once.
const BATCH: i32 = 2000;

/// Bins, and latencies in milliseconds by percentile.
pub type Latencies = (Vec<Bin>, Vec<(f64, f64)>);

/// The distribution of a run's latencies, and their percentiles. Its bins fit those of another run, too.
pub fn latencies(run: &Run, other: Option<&Run>) -> Result<Latencies> {
    let so_far = run.figures.histogram.as_deref();
    let histogram = match so_far.and_then(|bytes| LatencyHistogram::decode(bytes).ok()) {
        Some(histogram) => Some(histogram),
        None => load::load_histogram(run.run_id)?,
    };
    let Some(histogram) = histogram else {
        return Ok((Vec::new(), Vec::new()));
    };
    let count = histogram.count() as f64;
    // In thousandths: 0, 1 and so on up to 99 %, then as many nines as there are transactions for.
    let percentiles = (0..=99)
        .map(|percent| percent * 1000)
        .chain((1..=9).map(|tenth| 99_000 + tenth * 100))
        .chain((1..=9).map(|hundredth| 99_900 + hundredth * 10))
        .chain((1..=9).map(|thousandth| 99_990 + thousandth));
    let known = |thousandths: i32| {
        let percentile = f64::from(thousandths) / 1000.0;
        let is_enough = percentile <= 99.0 || count * (100.0 - percentile) >= 100.0;
        Some((
            percentile,
            histogram.percentile_ms(percentile).filter(|_| is_enough)?,
        ))
    };
    let mut percentiles: Vec<(f64, f64)> = percentiles.filter_map(known).collect();
    let latency = &run.figures.latency;
    percentiles.extend(latency.latency_max_ms.map(|ms| (100.0, ms)));
    let Some(rows) = Rows::of([run].into_iter().chain(other), BINS) else {
        return Ok((Vec::new(), percentiles));
    };
    let mut counts = rows.counts();
    histogram
        .recorded()
        .for_each(|(bucket, count)| rows.add(bucket, count, &mut counts));
    let bins = rows
        .bounds
        .windows(2)
        .zip(counts)
        .map(|(bounds, count)| Bin {
            from_ms: bounds[0],
            to_ms: bounds[1],
            count,
        });
    Ok((bins.collect(), percentiles))
}

/// Ranges of latencies, each by the same factor above the one before.
struct Rows {
    /// Bounds of the rows in milliseconds, one more than rows.
    bounds: Vec<f64>,
    /// The row of each bucket of a histogram: a logarithm for each bucket in use of each histogram took
    /// most of the time of a chart.
    of_bucket: Vec<u8>,
}

impl Rows {
    /// The narrowest range, so that none is narrower than the buckets of a histogram.
    const NARROWEST: f64 = 1.04;

    /// Lowest latency that is told apart: some buckets of a histogram.
    const LOWEST_MS: f64 = 0.001;

    /// At most that many ranges for the latencies of runs; `None` if there are none, or if one is out
    /// of all bounds.
    fn of<'r>(runs: impl IntoIterator<Item = &'r Run>, most: u8) -> Option<Rows> {
        let latencies = runs.into_iter().map(|run| &run.figures.latency);
        let (lowest, highest): (Vec<f64>, Vec<f64>) = latencies
            .filter_map(|latency| Some((latency.latency_min_ms?, latency.latency_max_ms?)))
            .unzip();
        let lowest_ms = lowest.into_iter().reduce(f64::min)?.max(Rows::LOWEST_MS);
        let highest_ms = highest.into_iter().fold(lowest_ms, f64::max) * 1.001;
        if !(highest_ms / lowest_ms).is_finite() {
            return None;
        }
        let most = f64::from(most);
        let width = (highest_ms / lowest_ms)
            .powf(1.0 / most)
            .max(Rows::NARROWEST)
            .ln();
        let count = ((highest_ms / lowest_ms).ln() / width)
            .ceil()
            .clamp(1.0, most);
        let row = |bucket| {
            let middle_ns = (buckets::lowest_of(bucket) + buckets::highest_of(bucket)).div_ceil(2);
            let row = (middle_ns as f64 / 1e6 / lowest_ms).ln() / width;
            row.floor().clamp(0.0, count - 1.0) as u8
        };
        Some(Rows {
            bounds: (0..=count as i32)
                .map(|i| lowest_ms * (f64::from(i) * width).exp())
                .collect(),
            of_bucket: (0..buckets::BUCKETS).map(row).collect(),
        })
    }

    /// A count for each row.
    fn counts(&self) -> Vec<u64> {
        vec![0; self.bounds.len() - 1]
    }

    /// Adds a bucket of a histogram to the counts of the rows.
    fn add(&self, bucket: usize, count: u64, counts: &mut [u64]) {
        if let Some(row) = self.of_bucket.get(bucket) {
            counts[usize::from(*row)] += count;
        }
    }
}

/// Numbers of transactions by time and latency. Without MATERIALIZED, a plan made for few rows may
/// compute the width of the columns again for each interval.
pub fn heat(run: &Run) -> Result<HeatMap> {
    let Some(rows) = Rows::of([run], HEAT_ROWS) else {
        return Ok(HeatMap::default());
    };
    let known = query_json::<(i32, usize, f64, f64)>(
        &format!(
            "WITH w AS MATERIALIZED (
                 SELECT max(interval_no) / {HEAT_COLUMNS} + 1 AS intervals
                   FROM bench.run_intervals WHERE run_id = $1)
             SELECT jsonb_build_array(w.intervals, i.interval_no / w.intervals, min(i.begins_s),
                                      max(i.begins_s + i.seconds))::text
               FROM bench.run_intervals i, w
              WHERE i.run_id = $1 GROUP BY w.intervals, i.interval_no / w.intervals
              ORDER BY i.interval_no / w.intervals"
        ),
        run.run_id,
    )?;
    let Some(&(intervals, first, ..)) = known.first() else {
        return Ok(HeatMap::default());
    };
    // Where intervals are missing, columns are empty.
    let mut times: Vec<f64> = Vec::new();
    let mut ended = None;
    for (_, column, begin, end) in known {
        times.extend(std::iter::repeat_n(
            ended.unwrap_or(begin),
            (column - first).saturating_sub(times.len()),
        ));
        times.push(begin);
        ended = Some(end);
    }
    let mut counts = vec![rows.counts(); times.len()];
    times.extend(ended);
    let mut stored = StoredHistograms::default();
    let mut next = Some(0);
    while let Some(from) = next.take() {
        let mut read = 0;
        with_pinned_settings(|| {
            query::numbered_bytes(
                "SELECT interval_no, histogram FROM bench.run_intervals
                  WHERE run_id = $1 AND interval_no >= $2 AND histogram IS NOT NULL
                  ORDER BY interval_no LIMIT $3",
                &[run.run_id.into(), from.into(), BATCH.into()],
                |interval, histogram| {
                    read += 1;
                    next = interval.checked_add(1).filter(|_| read == BATCH);
                    match counts.get_mut((interval / intervals) as usize - first) {
                        Some(column) => stored
                            .for_each(histogram, |bucket, count| rows.add(bucket, count, column))
                            .map_err(|e| Error::BadHistogram(e.to_string())),
                        None => Ok(()),
                    }
                },
            )
        })?;
    }
    Ok(HeatMap {
        times,
        latencies_ms: rows.bounds,
        counts,
    })
}
