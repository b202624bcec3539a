//! Deleting runs, and the details of runs.

use crate::error::Result;
use crate::security::{as_owner, is_superuser};
use crate::server;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// Runs to be deleted: those that match all given criteria.
pub struct Deletion {
    /// Their numbers.
    pub run_ids: Option<Vec<i64>>,
    /// Least age.
    pub older_than: Option<Interval>,
    /// Their label.
    pub label: Option<String>,
}

impl Deletion {
    /// Locks these runs, of the caller's own or, for a superuser, of all: their numbers, and their
    /// segments if their rows say that they are in progress.
    pub fn lock(self) -> Result<Vec<(i64, Option<i64>)>> {
        let (superuser, role) = (is_superuser(), server::role());
        as_owner(|| {
            Spi::connect_mut(|client| {
                client
                    .update(
                        "SELECT run_id,
                                CASE WHEN state IN ('starting', 'running') THEN segment END
                           FROM bench.runs
                          WHERE ($1 OR owner = $2)
                            AND ($3 IS NULL OR run_id = ANY ($3))
                            AND ($4 IS NULL OR created_at < now() - $4)
                            AND ($5 IS NULL OR label = $5)
                          ORDER BY run_id FOR UPDATE",
                        None,
                        &[
                            superuser.into(),
                            role.into(),
                            self.run_ids.into(),
                            self.older_than.into(),
                            self.label.into(),
                        ],
                    )?
                    .map(|row| {
                        let run_id = row.get::<i64>(1)?.unwrap_or_default();
                        Ok((run_id, row.get::<i64>(2)?))
                    })
                    .collect()
            })
        })
    }
}

/// Number of runs that are pruned at once, or a set.
const AT_ONCE: i32 = 100;

/// Whether a run can be pruned, if its set can: it is older than `$3`, not in progress, no baseline, and of no open alert.
const IS_OLD: &str = "(r.created_at < now() - $3 AND r.state NOT IN ('starting', 'running') AND NOT r.is_baseline
                       AND NOT r.teardown_due
                       AND NOT EXISTS (SELECT FROM bench.alerts a, unnest(a.runs_before || a.runs_after) u (run_id)
                                        WHERE a.state = 'open' AND u.run_id = r.run_id))";
/// Whether a set is in progress.
const IN_PROGRESS: &str =
    "EXISTS (SELECT FROM bench.sets s WHERE s.set_id = r.set_id AND s.state = 'running'
                                      AND bench_internal.is_locked('sets', s.set_id))";

/// Runs of the current role, or of all for a superuser, that can be pruned, in the order in which they are to be: those
/// of each element in a transaction, and whether they are deleted, because they are not among the newest of their label,
/// or lose their details. A set is pruned as a whole, and counts as one run.
pub fn prunable(older_than: Interval, keep_per_label: i32) -> Result<Vec<(Vec<i64>, bool)>> {
    let sql = format!(
        "WITH runs AS (
             SELECT r.run_id, r.owner, r.label, r.set_id, r.thinned_at IS NULL AS is_detailed, {IS_OLD} AS is_old
               FROM bench.runs r WHERE $1 OR r.owner = $2),
         units AS (
             SELECT min(r.run_id) AS first, (array_agg(r.owner))[1] AS owner, (array_agg(r.label))[1] AS label, r.set_id,
                    array_agg(r.run_id) AS run_ids, bool_and(r.is_old) AS is_old, bool_or(r.is_detailed) AS is_detailed
               FROM runs r GROUP BY r.set_id, CASE WHEN r.set_id IS NULL THEN r.run_id END),
         placed AS (
             SELECT u.*, row_number() OVER (PARTITION BY u.owner, u.label ORDER BY u.first DESC) > $4 AS is_surplus
               FROM units u),
         due AS (
             SELECT r.*, (sum(cardinality(r.run_ids)) OVER (PARTITION BY r.is_surplus ORDER BY r.first)
                          - cardinality(r.run_ids)) / {AT_ONCE} AS number
               FROM placed r WHERE r.is_old AND (r.is_surplus OR r.is_detailed) AND NOT {IN_PROGRESS})
         SELECT array_agg(u.run_id ORDER BY u.run_id), d.is_surplus FROM due d, unnest(d.run_ids) u (run_id)
          GROUP BY d.is_surplus, d.number ORDER BY d.is_surplus DESC, d.number"
    );
    let arguments = [
        is_superuser().into(),
        server::role().into(),
        older_than.into(),
        keep_per_label.into(),
    ];
    as_owner(|| {
        Spi::connect(|client| {
            let rows = client.select(&sql, None, &arguments)?;
            let part = |row: SpiHeapTupleData| -> Result<(Vec<i64>, bool)> {
                let run_ids = row.get::<Vec<i64>>(1)?.unwrap_or_default();
                Ok((run_ids, row.get::<bool>(2)? == Some(true)))
            };
            rows.map(part).collect()
        })
    })
}

/// Deletes those of these runs that can still be pruned, or their details, in the current transaction.
pub fn prune(older_than: Interval, run_ids: Vec<i64>, deletes: bool) -> Result<()> {
    let sql = format!(
        "SELECT r.run_id FROM bench.runs r
          WHERE ($1 OR r.owner = $2) AND r.run_id = ANY ($4) AND {IS_OLD} AND NOT {IN_PROGRESS}
            AND NOT EXISTS (SELECT FROM (SELECT o.* FROM bench.runs o WHERE o.set_id = r.set_id OFFSET 0) r WHERE NOT {IS_OLD})
          ORDER BY r.run_id FOR UPDATE"
    );
    let arguments = [
        is_superuser().into(),
        server::role().into(),
        older_than.into(),
        run_ids.into(),
    ];
    let run_ids = as_owner(|| {
        Spi::connect_mut(|client| {
            let rows = client.update(&sql, None, &arguments)?;
            let run_id = |row: SpiHeapTupleData| Ok(row.get::<i64>(1)?.unwrap_or_default());
            rows.map(run_id).collect::<Result<Vec<i64>>>()
        })
    })?;
    match deletes {
        true => delete(run_ids).map(drop),
        false => {
            let sql = "SELECT bench_internal.thin_runs($1)";
            as_owner(|| Ok(Spi::run_with_args(sql, &[run_ids.into()])?))
        }
    }
}

/// Deletes old sets without runs, and old runs of jobs of which neither a set nor a run is left, but the last one of
/// each job, which says when it ran.
pub fn prune_without_runs(older_than: Interval) -> Result<()> {
    let of_sets = "DELETE FROM bench.sets s
                    WHERE ($1 OR s.owner = $2) AND s.started_at < now() - $3
                      AND NOT bench_internal.is_locked('sets', s.set_id)
                      AND NOT EXISTS (SELECT FROM bench.runs r WHERE r.set_id = s.set_id)";
    let of_jobs = "DELETE FROM bench.job_runs j
                WHERE ($1 OR j.owner = $2) AND j.started_at < now() - $3 AND j.state <> 'running'
                  AND NOT EXISTS (SELECT FROM bench.runs r WHERE r.run_id = ANY (j.run_ids))
                  AND NOT EXISTS (SELECT FROM bench.sets s WHERE s.set_id = ANY (j.set_ids))
                  AND EXISTS (SELECT FROM bench.job_runs l
                               WHERE l.owner = j.owner AND l.job_name = j.job_name AND l.job_run_id > j.job_run_id)";
    let arguments = [
        is_superuser().into(),
        server::role().into(),
        older_than.into(),
    ];
    as_owner(|| {
        Spi::run_with_args(of_sets, &arguments)?;
        Ok(Spi::run_with_args(of_jobs, &arguments)?)
    })
}

/// Deletes these runs, and sets of which no run is left: number, label and state of each run.
pub fn delete(run_ids: Vec<i64>) -> Result<Vec<(i64, Option<String>, String)>> {
    as_owner(|| {
        Spi::connect_mut(|client| {
            // Two sessions that delete runs of a set do so one after the other; a set in progress stays.
            let set_ids = client
                .update(
                    "SELECT set_id FROM bench.sets
                      WHERE set_id IN (SELECT set_id FROM bench.runs WHERE run_id = ANY ($1))
                        AND NOT bench_internal.is_locked('sets', set_id)
                      ORDER BY set_id FOR NO KEY UPDATE",
                    None,
                    &[run_ids.clone().into()],
                )?
                .map(|row| Ok(row.get::<i64>(1)?.unwrap_or_default()))
                .collect::<Result<Vec<_>>>()?;
            let deleted = client
                .update(
                    "DELETE FROM bench.runs WHERE run_id = ANY ($1) RETURNING run_id, label, state",
                    None,
                    &[run_ids.into()],
                )?
                .map(|row| {
                    let run_id = row.get::<i64>(1)?.unwrap_or_default();
                    let state = row.get::<String>(3)?.unwrap_or_default();
                    Ok((run_id, row.get::<String>(2)?, state))
                })
                .collect::<Result<Vec<_>>>()?;
            client.update(
                "DELETE FROM bench.sets s
                  WHERE s.set_id = ANY ($1) AND NOT bench_internal.is_locked('sets', s.set_id)
                    AND NOT EXISTS (SELECT FROM bench.runs r WHERE r.set_id = s.set_id)",
                None,
                &[set_ids.into()],
            )?;
            Ok(deleted)
        })
    })
}
