//! A batch of generated intervals, stored as the coordinator of a run stores them: what a run of a day
//! takes is measured, and its rows are checked, in seconds. The extension does not declare the function
//! in SQL; `make bench` and a test do.

use crate::check::argument;
use crate::error::OrRaise;
use crate::results::store;
use pgrx::prelude::*;
use selfbench_model::{Figures, Observed, RunInterval, RunServerInterval, RunWait, ServerCounts};
use selfbench_stats::{LatencyHistogram, Tally};
use std::sync::LazyLock;

/// Numbers of transactions of the generated intervals: as many as fill a histogram of one of a busy
/// second, and fewer.
const TRANSACTIONS: [u64; 5] = [0, 1, 20, 1000, 10_000];

/// Stores the intervals `first` to `last` of a run: number N has the number of transactions in place
/// N % 5 of [`TRANSACTIONS`], N blocks hit, N million bytes of WAL of the server, and N % 20 waits.
#[pg_extern(sql = false)]
fn store_intervals(run_id: Option<i64>, first: Option<i32>, last: Option<i32>) {
    /// Making a histogram takes longer than storing it.
    static FIGURES: LazyLock<[Figures; 5]> = LazyLock::new(|| TRANSACTIONS.map(figures));
    static COUNTS: LazyLock<ServerCounts> = LazyLock::new(counts);
    (|| {
        let run_id = argument("run_id", run_id)?;
        let numbers = argument("first", first)?..=argument("last", last)?;
        let of_clients = |interval_no: i32| RunInterval {
            run_id,
            interval_no,
            begins_s: f64::from(interval_no),
            seconds: 1.0,
            figures: FIGURES[interval_no.rem_euclid(5) as usize].clone(),
            blocks_hit: Some(i64::from(interval_no)),
            ..RunInterval::default()
        };
        let of_server = |interval_no: i32| RunServerInterval {
            run_id,
            interval_no,
            begins_s: f64::from(interval_no),
            seconds: 1.0,
            counts: ServerCounts {
                wal_bytes: Some(i64::from(interval_no) * 1_000_000),
                ..COUNTS.clone()
            },
            ..RunServerInterval::default()
        };
        let intervals: Vec<RunInterval> = numbers.clone().map(of_clients).collect();
        let of_waits = |interval_no: i32| RunWait {
            run_id,
            interval_no,
            class: "IO".into(),
            event: Some("WALSync".into()),
            samples: interval_no % 20,
            rounds: 20,
            ..RunWait::default()
        };
        let observed = Observed {
            server_intervals: numbers.clone().map(of_server).collect(),
            waits: numbers.map(of_waits).collect(),
            ..Observed::default()
        };
        store::add_intervals(&intervals, &observed)
    })()
    .or_raise()
}

/// Counters that are all known.
fn counts() -> ServerCounts {
    let mut counts = serde_json::to_value(ServerCounts::default()).unwrap_or_default();
    for (_, count) in counts.as_object_mut().into_iter().flatten() {
        *count = 1_000_000.into();
    }
    serde_json::from_value(counts).unwrap_or_default()
}

/// The figures of that many transactions; a few are a hundred times as long as most.
fn figures(transactions: u64) -> Figures {
    let mut tally = Tally::default();
    let mut histogram = LatencyHistogram::new();
    for number in 0..transactions {
        let latency_ns = 50_000 + number * 104_729 % 20_000 * (1 + number % 250);
        tally.counts.transactions += 1;
        tally.latency.record(latency_ns);
        histogram.record(latency_ns);
    }
    Figures::of(&tally, &histogram, 1.0)
}
