//! Deleting runs.

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
