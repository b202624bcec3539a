//! Where the time of a run's transactions went.

use super::live;
use crate::check::argument;
use crate::error::OrRaise;
use crate::results::load;
use crate::results::waits::SeenWaits;
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
        load::time_budget(&run, &SeenWaits::load(run_id)?)
    })()
    .or_raise();
    let parts = parts.into_iter();
    TableIterator::new(parts.map(|part| (part.component, part.us, part.share, part.measured)))
}
