//! `bench.run_pgio` and `bench.start_pgio`.

use super::progress::Progress;
use super::result::cannot_form;
use super::run;
use crate::backend::call::Call;
use crate::error::{Error, OrRaise, Result};
use crate::options::Options;
use crate::run::PgioOptions;
use pgrx::prelude::*;
use selfbench_model::PgioRun;

/// Runs pgio's workload and waits for the result.
#[pg_extern(sql = false)]
fn run_pgio(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.pgio_result")> {
    let horizon = call.horizon();
    let result = (|| {
        let options = call.read(PgioOptions::take)?;
        let spec = options.check()?;
        let progress = Progress {
            every_us: options.run.progress_us()?,
            ..Progress::default()
        };
        let finished = run::perform(&spec, progress, &horizon)?;
        run::require_transactions(&spec, &finished)?;
        let Some(pgio) = &finished.pgio else {
            return Err(Error::Limit("the run has no pgio figures".into()));
        };
        pgio_result(&finished.run.state, pgio).map_err(|e| cannot_form("bench.pgio_result", e))
    })();
    run::once(result.or_raise())
}

/// Starts a run of pgio's workload that goes on without the session; its id.
#[pg_extern(sql = false)]
fn start_pgio(call: Call<'_>) -> i64 {
    let horizon = call.horizon();
    (|| -> Result<i64> {
        let options = call.read(PgioOptions::take)?;
        run::detach(&options.check()?, &horizon)
    })()
    .or_raise()
}

type PgioResult = pgrx::composite_type!('static, "bench.pgio_result");

fn pgio_result(
    state: &str,
    pgio: &PgioRun,
) -> std::result::Result<PgioResult, Box<dyn std::error::Error>> {
    let mut row = PgHeapTuple::new_composite_type("bench.pgio_result")?;
    if pgio.run_id != 0 {
        row.set_by_name("run_id", pgio.run_id)?;
    }
    row.set_by_name("state", state.to_owned())?;
    for (name, value) in [
        ("tables", pgio.tables),
        ("threads_per_table", pgio.threads_per_table),
        ("update_pct", pgio.update_pct),
        ("work_unit", pgio.work_unit),
        ("update_work_unit", pgio.update_work_unit),
        ("commit_every", pgio.commit_every),
    ] {
        row.set_by_name(name, value)?;
    }
    row.set_by_name("scan", pgio.scan.clone())?;
    for (name, value) in [
        ("scale", pgio.scale),
        ("working_set_bytes", pgio.working_set_bytes),
        ("selects", pgio.selects),
        ("updates", pgio.updates),
        ("failed", pgio.failed),
    ] {
        row.set_by_name(name, value)?;
    }
    for (name, value) in [
        ("seconds", pgio.seconds),
        ("riops", pgio.riops),
        ("cache_hits_per_s", pgio.cache_hits_per_s),
        ("logical_reads_per_s", pgio.logical_reads_per_s),
        ("device_reads_per_s", pgio.device_reads_per_s),
        ("device_read_mb_per_s", pgio.device_read_mb_per_s),
        ("device_write_mb_per_s", pgio.device_write_mb_per_s),
        ("blocks_dirtied_per_s", pgio.blocks_dirtied_per_s),
        ("blocks_written_per_s", pgio.blocks_written_per_s),
        ("blocks_evicted_per_s", pgio.blocks_evicted_per_s),
        ("wal_bytes_per_s", pgio.wal_bytes_per_s),
        ("wal_bytes_per_update", pgio.wal_bytes_per_update),
        ("select_avg_ms", pgio.select_avg_ms),
        ("select_p99_ms", pgio.select_p99_ms),
        ("select_max_ms", pgio.select_max_ms),
        ("update_avg_ms", pgio.update_avg_ms),
        ("update_p99_ms", pgio.update_p99_ms),
        ("update_max_ms", pgio.update_max_ms),
        ("read_avg_ms", pgio.read_avg_ms),
        ("read_p50_ms", pgio.read_p50_ms),
        ("read_p95_ms", pgio.read_p95_ms),
        ("read_p99_ms", pgio.read_p99_ms),
        ("read_max_ms", pgio.read_max_ms),
    ] {
        row.set_by_name(name, value)?;
    }
    Ok(row)
}
