//! Where the time of a run's transactions went.

use super::live;
use crate::check::argument;
use crate::error::OrRaise;
use crate::results::load::{is_observed, load_times, load_waits};
use pgrx::prelude::*;

/// The parts of the mean latency of a run that the caller may see.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn time_budget(
    run_id: Option<i64>,
) -> TableIterator<
    'static,
    (
        name!(component, String),
        name!(us_per_transaction, Option<f64>),
        name!(share, Option<f64>),
        name!(measured, String),
    ),
> {
    let parts = (|| {
        let run_id = argument("run_id", run_id)?;
        let run = live::visible(run_id)?.run;
        let (times, waits) = (load_times(run_id)?, load_waits(run_id)?);
        Ok(selfbench_report::time_budget(
            &run,
            is_observed(run_id)?,
            times.as_ref(),
            waits,
        ))
    })()
    .or_raise();
    let parts = parts.into_iter();
    TableIterator::new(parts.map(|part| (part.component, part.us, part.share, part.measured)))
}
