//! Functions on stored results: advice, percentiles, deletion.

use super::last;
use super::live;
use super::warnings::notice;
use crate::backend::aggregate;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::transaction::can_end_transaction;
use crate::check::{self, Ids, age, argument, in_range};
use crate::error::{Error, OrRaise, Report, Result};
use crate::results::delete::{self, Deletion};
use crate::results::load::{first_unknown, has_profile, load_evidence};
use crate::results::waits::SeenWaits;
use crate::security;
use crate::server;
use pgrx::Internal;
use pgrx::datum::Interval;
use pgrx::pg_sys;
use pgrx::prelude::*;
use selfbench_report::Finding;
use selfbench_stats::LatencyHistogram;

/// The run that an argument names; for functions in SQL.
#[pg_extern(sql = false)]
fn named_run(run_id: Option<i64>) -> i64 {
    named(run_id).or_raise()
}

/// Tells the caller if the stacks of a run were not sampled.
#[pg_extern(sql = false)]
fn require_profile(run_id: Option<i64>) {
    named(run_id).and_then(tell_without_profile).or_raise();
}

/// Tells the caller if the stacks of a run were not sampled.
pub(super) fn tell_without_profile(run_id: i64) -> Result<()> {
    if !has_profile(run_id)? {
        let message = format!("run {run_id} has no profile");
        Report {
            hint: Some("A run samples stacks with profile => true.".into()),
            ..Report::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
        }
        .send(PgLogLevel::NOTICE);
    }
    Ok(())
}

/// Tells the caller if waits of the sessions of a run could not be observed.
#[pg_extern(sql = false)]
fn tell_hidden_waits(run_id: Option<i64>) {
    (|| {
        let run_id = named(run_id)?;
        if live::visible(run_id)?.run.has_hidden_sessions() {
            notice(
                &format!("waits of the sessions of run {run_id} were not observed"),
                "The target does not show the process IDs that the clients know, as behind a connection pooler.",
                "Connect to the server itself.",
            );
        }
        Ok(())
    })()
    .or_raise();
}

/// The run that an argument names. Fails unless the caller may see it: queries have no row of others.
fn named(run_id: Option<i64>) -> Result<i64> {
    let run_id = last::run(run_id)?;
    match first_unknown(&[run_id])? {
        None => Ok(run_id),
        Some(run_id) => Err(Error::UnknownRun { run_id }),
    }
}

/// Reasons to distrust the figures of a run that the caller may see, and remedies.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn advice(
    run_id: Option<i64>,
) -> TableIterator<
    'static,
    (
        name!(severity, &'static str),
        name!(finding, &'static str),
        name!(evidence, String),
        name!(remedy, &'static str),
    ),
> {
    let found = (|| {
        let run_id = last::run(run_id)?;
        let record = live::visible(run_id)?;
        let evidence = load_evidence(run_id, &SeenWaits::load(run_id)?)?;
        Ok(selfbench_report::advice(&record, &evidence))
    })()
    .or_raise();
    let row = |f: Finding| (f.severity.name(), f.finding, f.evidence, f.remedy);
    TableIterator::new(found.into_iter().map(row))
}

/// Deletes runs that have ended, of the caller's own or, for a superuser, of all.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn delete_runs(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(run_id, i64),
        name!(run_label, Option<String>),
        name!(state, String),
    ),
> {
    let deleted = (|| {
        let (run_ids, older_than, label) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<Ids>>("run_ids")?,
                arguments.take::<Option<Interval>>("older_than")?,
                arguments.take::<Option<String>>("label")?,
            ))
        })?;
        let run_ids = run_ids
            .map(|run_ids| check::ids("run_ids", &run_ids))
            .transpose()?;
        server::require_writable_transaction("delete runs")?;
        if let Some(run_id) = first_unknown(run_ids.as_deref().unwrap_or_default())? {
            return Err(Error::UnknownRun { run_id });
        }
        if run_ids.is_none() && older_than.is_none() && label.is_none() {
            return Err(Error::OptionConflict {
                message: "no runs to delete are specified".into(),
                hint: "Specify \"run_ids\", \"older_than\" or \"label\".".into(),
            });
        }
        let older_than = older_than
            .map(|interval| age("older_than", interval))
            .transpose()?;
        let found = Deletion {
            run_ids,
            older_than,
            label,
        }
        .lock()?;
        if let Some((run_id, _)) = found
            .iter()
            .find(|(run_id, segment)| live::is_in_progress(*run_id, *segment))
        {
            return Err(Error::RunInProgress { run_id: *run_id });
        }
        delete::delete(found.into_iter().map(|(run_id, _)| run_id).collect())
    })()
    .or_raise_in(&call);
    TableIterator::new(deleted)
}

/// The runs that `bench.prune` prunes, by transaction, and whether it deletes them.
#[pg_extern(sql = false)]
fn prunable(
    call: Call<'_>,
) -> TableIterator<'static, (name!(run_ids, Vec<i64>), name!(deletes, bool))> {
    (|| {
        if !can_end_transaction() {
            return Err(Error::TransactionCannotEnd);
        }
        let (older_than, keep_per_label) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<Interval>>("older_than")?,
                arguments.take::<Option<i32>>("keep_per_label")?,
            ))
        })?;
        server::require_writable_transaction("prune runs")?;
        let older_than = age("older_than", argument("older_than", older_than)?)?;
        let keep_per_label = argument("keep_per_label", keep_per_label)?;
        let keep_per_label = in_range("keep_per_label", keep_per_label, 0, i32::MAX)?;
        delete::prunable(older_than, keep_per_label).map(TableIterator::new)
    })()
    .or_raise_in(&call)
}

/// Prunes some of these runs.
#[pg_extern(sql = false)]
fn prune_some(call: Call<'_>) {
    (|| {
        let (older_than, run_ids, deletes) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<Interval>>("older_than")?,
                arguments.take::<Option<Ids>>("run_ids")?,
                arguments.take::<bool>("deletes")?,
            ))
        })?;
        server::require_writable_transaction("prune runs")?;
        let older_than = age("older_than", argument("older_than", older_than)?)?;
        let run_ids = check::ids("run_ids", &argument("run_ids", run_ids)?)?;
        delete::prune(older_than, run_ids, deletes)
    })()
    .or_raise_in(&call)
}

/// Deletes sets and runs of jobs that have made nothing, or of which all is deleted.
#[pg_extern(sql = false)]
fn prune_without_runs(call: Call<'_>) {
    (|| {
        let older_than = call.read(|arguments| arguments.take::<Option<Interval>>("older_than"))?;
        server::require_writable_transaction("prune runs")?;
        delete::prune_without_runs(age("older_than", argument("older_than", older_than)?)?)
    })()
    .or_raise_in(&call)
}

/// The numbers that an argument names; for functions in SQL.
#[pg_extern(sql = false)]
fn numbers_of(call: Call<'_>) -> SetOfIterator<'static, i64> {
    let ids = call.read(|arguments| {
        let ids = argument("ids", arguments.take("ids")?)?;
        check::ids("ids", &ids)
    });
    SetOfIterator::new(ids.or_raise_in(&call))
}

/// Grants a role what it needs to run benchmarks.
#[pg_extern(sql = false)]
fn grant_to(role: Option<pg_sys::Oid>) {
    (|| {
        server::require_writable_transaction("grant privileges")?;
        security::grant_to(argument("role", role)?)
    })()
    .or_raise();
}

/// A percentile of a stored histogram, in milliseconds; NULL if it is empty.
#[pg_extern(sql = false, strict)]
fn percentile(histogram: &[u8], p: f64) -> Option<f64> {
    (|| {
        if !(0.0..=100.0).contains(&p) {
            return Err(Error::Percentile(p));
        }
        Ok(decode(histogram)?.percentile_ms(p))
    })()
    .or_raise()
}

/// Number of latencies in a stored histogram.
#[pg_extern(sql = false, strict)]
fn histogram_count(histogram: &[u8]) -> i64 {
    decode(histogram).or_raise().count() as i64
}

/// Transition function of the aggregate `bench.merge_histograms`. Its state is the decoded sum.
#[pg_extern(sql = false)]
fn add_histogram(state: Internal, histogram: Option<&[u8]>, call: Call<'_>) -> Internal {
    (|| {
        let Some(histogram) = histogram else {
            return Ok(state);
        };
        let next = decode(histogram)?;
        aggregate::change(&call, state, LatencyHistogram::new, |sum| {
            sum.merge(&next).map_err(|e| Error::Limit(e.to_string()))
        })
    })()
    .or_raise()
}

/// Final function of the aggregate.
#[pg_extern(sql = false)]
fn sum_of_histograms(state: Internal) -> Option<Vec<u8>> {
    let sum = aggregate::read::<LatencyHistogram>(&state)?;
    let encoded = sum.encode().map_err(|e| Error::Limit(e.to_string()));
    Some(encoded.or_raise())
}

fn decode(bytes: &[u8]) -> Result<LatencyHistogram> {
    LatencyHistogram::decode(bytes).map_err(|e| Error::BadHistogram(e.to_string()))
}
