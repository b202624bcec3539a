//! Figures of a run's single clients.

use selfbench_stats::Tally;
use serde::{Deserialize, Serialize};

/// A row of `bench.run_clients`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunClient {
    /// The run.
    pub run_id: i64,
    /// Number of the client, from 0, as the variable `client_id`.
    pub client_no: i32,
    /// Successful transactions.
    pub transactions: i64,
    /// Failed transactions.
    pub failed: i64,
    /// Skipped transactions.
    pub skipped: i64,
    /// Mean latency of the successful ones.
    pub latency_avg_ms: Option<f64>,
    /// Longest latency of them.
    pub latency_max_ms: Option<f64>,
}

impl RunClient {
    /// The row of a client that has counted that.
    pub fn of(run_id: i64, client: usize, tally: &Tally) -> RunClient {
        let (counts, latency) = (&tally.counts, &tally.latency);
        let ms = |ns: f64| (latency.count > 0).then_some(ns / 1e6);
        RunClient {
            run_id,
            client_no: client as i32,
            transactions: counts.transactions as i64,
            failed: counts.failed() as i64,
            skipped: counts.skipped as i64,
            latency_avg_ms: ms(latency.sum_ns / latency.count.max(1) as f64),
            latency_max_ms: ms(latency.max_ns as f64),
        }
    }
}
