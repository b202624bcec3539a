//! Deleting runs, and the details of runs.

use crate::error::Result;
use crate::security::{as_owner, is_superuser};
use crate::server;
use pgrx::datum::Interval;
use pgrx::prelude::*;

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

/// Number of runs that are pruned at once.
const AT_ONCE: i64 = 100;

/// Runs of the current role, or of all for a superuser, that are old enough to be pruned. Baselines stay, and runs of
/// open alerts.
const OLD: &str = "($1 OR r.owner = $2) AND r.created_at < now() - $3 AND r.state NOT IN ('starting', 'running')
                   AND NOT r.is_baseline
                   AND r.run_id NOT IN (SELECT unnest(a.runs_before || a.runs_after) FROM bench.alerts a WHERE a.state = 'open')";

/// Deletes some runs that are older and not among the newest of their label, or else the details of some older runs, in
/// the current transaction; false if there are none, and runs of jobs that have made none have been deleted.
pub fn prune(older_than: Interval, keep_per_label: i32) -> Result<bool> {
    let (superuser, role) = (is_superuser(), server::role());
    let find = |sql: String, more: Option<i32>| {
        as_owner(|| {
            Spi::connect(|client| {
                let mut arguments = vec![superuser.into(), role.into(), older_than.into()];
                arguments.extend(more.map(Into::into));
                let rows = client.select(&sql, Some(AT_ONCE), &arguments)?;
                rows.map(|row| Ok(row.get::<i64>(1)?.unwrap_or_default()))
                    .collect::<Result<Vec<i64>>>()
            })
        })
    };
    // The runs of a set have one place.
    let surplus = format!(
        "SELECT r.run_id
           FROM (SELECT r.*, dense_rank() OVER (PARTITION BY r.owner, r.label ORDER BY r.unit DESC) AS place
                   FROM (SELECT r.*, CASE WHEN r.set_id IS NULL THEN r.run_id
                                          ELSE min(r.run_id) OVER (PARTITION BY r.set_id) END AS unit
                           FROM (SELECT run_id, owner, label, set_id, created_at, state, is_baseline FROM bench.runs) r) r) r
          WHERE r.place > $4 AND {OLD}
          ORDER BY r.run_id"
    );
    let run_ids = find(surplus, Some(keep_per_label))?;
    if !run_ids.is_empty() {
        return delete(run_ids).map(|_| true);
    }
    let detailed = format!(
        "SELECT r.run_id FROM bench.runs r WHERE r.thinned_at IS NULL AND {OLD} ORDER BY r.run_id"
    );
    let run_ids = find(detailed, None)?;
    if !run_ids.is_empty() {
        let sql = "SELECT bench_internal.thin_runs($1)";
        as_owner(|| Ok(Spi::run_with_args(sql, &[run_ids.into()])?))?;
        return Ok(true);
    }
    // The last one of a job says when it ran.
    let sql = "DELETE FROM bench.job_runs j
                WHERE ($1 OR j.owner = $2) AND j.started_at < now() - $3 AND j.state <> 'running'
                  AND NOT EXISTS (SELECT FROM bench.runs r WHERE r.run_id = ANY (j.run_ids))
                  AND NOT EXISTS (SELECT FROM bench.sets s WHERE s.set_id = j.set_id)
                  AND EXISTS (SELECT FROM bench.job_runs l
                               WHERE l.owner = j.owner AND l.job_name = j.job_name AND l.job_run_id > j.job_run_id)";
    let arguments = [superuser.into(), role.into(), older_than.into()];
    as_owner(|| Ok(Spi::run_with_args(sql, &arguments)?))?;
    Ok(false)
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
