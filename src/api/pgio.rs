//! `bench.run_pgio` and `bench.start_pgio`.

use super::progress::Progress;
use super::run;
use super::warnings::remedy;
use crate::backend::call::{Call, OrRaiseIn};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::results::result::pgio_result;
use crate::run::PgioOptions;
use pgrx::prelude::*;

/// Runs pgio's workload and waits for the result.
#[pg_extern(sql = false)]
fn run_pgio(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.pgio_result")> {
    let horizon = call.horizon();
    let result = (|| {
        let options = call.read(PgioOptions::take)?;
        let spec = options.check()?;
        let progress = Progress::of(&options.run)?;
        let performed = run::perform(&spec, progress, &horizon);
        call.require_extension()?;
        let record = performed?;
        run::conclude(&record.run, remedy(&spec, &record.run)?)?;
        let Some(pgio) = &record.pgio else {
            return Err(Error::Limit("the run has no pgio figures".into()));
        };
        pgio_result(record.run.state, pgio)
    })();
    run::once(result.or_raise_in(&call))
}

/// Starts a run of pgio's workload that goes on without the session; its id.
#[pg_extern(sql = false)]
fn start_pgio(call: Call<'_>) -> i64 {
    let horizon = call.horizon();
    (|| -> Result<i64> {
        let options = call.read(PgioOptions::take)?;
        run::detach(&options.run, &options.check()?, &horizon)
    })()
    .or_raise_in(&call)
}
