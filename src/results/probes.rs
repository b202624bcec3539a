//! Reading what a search for the highest rate has to know of its runs.

use super::json::query_json;
use crate::error::Result;
use crate::security::as_owner;
use selfbench_model::Probe;

/// The run of that number.
pub fn of_run(run_id: i64, percentile: f64) -> Result<Option<Probe>> {
    Ok(probes("run_id", run_id, percentile)?.into_iter().next())
}

/// The runs of a set that have ended, in the order in which they were made.
pub fn of_set(set_id: i64, percentile: f64) -> Result<Vec<Probe>> {
    probes("set_id", set_id, percentile)
}

fn probes(key: &str, number: i64, percentile: f64) -> Result<Vec<Probe>> {
    let sql = include_str!("probes.sql")
        .replace("{key}", key)
        .replace("{percentile}", &percentile.to_string());
    as_owner(|| query_json(&sql, number))
}
