//! What the server does in each interval of a run, as differences of its counters: nothing is ever
//! reset.

use super::period::Period;
use crate::backend::transaction::transaction;
use crate::error::{Error, Result};
use crate::query;
use crate::security::as_owner;
use selfbench_model::RunServerInterval;
use serde::Deserialize;

/// The counters of a server.
const COUNTERS: &str = "
SELECT json_build_object('wal_position', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'))::text";

/// Counters at some moment.
#[derive(Clone, Deserialize)]
struct Sample {
    wal_position: Option<i64>,
}

impl Sample {
    fn take() -> Result<Sample> {
        let row = transaction(|| as_owner(|| query::first_row(COUNTERS)))?;
        let text = row.into_iter().flatten().next().unwrap_or_default();
        serde_json::from_str(&text)
            .map_err(|e| Error::Limit(format!("cannot read the server's counters: {e}")))
    }
}

/// The counters at the end of the last interval.
pub struct ServerIntervals {
    last: Sample,
}

impl ServerIntervals {
    /// Reads the counters where the first interval begins.
    pub fn begin() -> Result<ServerIntervals> {
        Ok(ServerIntervals {
            last: Sample::take()?,
        })
    }

    /// What happened in an interval that ends now.
    pub fn end_interval(&mut self, period: Period) -> Result<RunServerInterval> {
        let sample = Sample::take()?;
        let last = std::mem::replace(&mut self.last, sample);
        Ok(RunServerInterval {
            run_id: period.run_id,
            interval_no: period.number,
            begins_s: period.begins_s,
            seconds: period.seconds,
            wal_bytes: difference(last.wal_position, self.last.wal_position),
        })
    }
}

/// By how much a counter has grown; `None` unless it is known and has not been reset.
fn difference(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    after?.checked_sub(before?).filter(|grown| *grown >= 0)
}
