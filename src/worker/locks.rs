//! Deadlocks between workers and the caller's transaction: workers may wait for its locks or, as
//! CREATE INDEX CONCURRENTLY does, for its end.
//!
//! The server does not detect such a deadlock, because the caller waits for its workers on a latch,
//! not on a lock. So the caller's locks are checked before a task starts, and while the caller
//! waits, it checks whether one of its workers waits for it.

use crate::backend::peer;
use crate::clock;
use crate::error::{Error, Result};
use crate::query;
use crate::shared::Segment;
use crate::shared::process::ProcessRef;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A lock of this session on a table or one of its partitions, except locks of some modes: its
/// relation and its mode.
const LOCK_HELD: &str = "
SELECT c.oid::pg_catalog.regclass::pg_catalog.text, l.mode
  FROM pg_catalog.pg_locks l
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.relation
 WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()
   AND l.locktype OPERATOR(pg_catalog.=) 'relation'
   AND l.granted
   AND (c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)
        OR EXISTS (SELECT FROM pg_catalog.pg_inherits i
                    WHERE i.inhrelid OPERATOR(pg_catalog.=) c.oid
                      AND i.inhparent OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)))
   AND NOT l.mode OPERATOR(pg_catalog.=) ANY ($2)
 LIMIT 1";

/// Access of a task to a table, which decides which of the caller's locks conflict with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Drops or truncates it: every lock conflicts.
    Replace,
    /// Writes or vacuums it: every lock except those for reading conflicts.
    Write,
    /// Reads it: an exclusive lock conflicts.
    Read,
}

/// Fails if the current transaction holds a lock on a table of that name, or on one of its
/// partitions, that conflicts with that access.
pub fn require_none(tables: &[(&str, Access)]) -> Result<()> {
    for (table, access) in tables {
        let harmless: &[&str] = match access {
            Access::Replace => &[],
            Access::Write => &["AccessShareLock"],
            Access::Read => &[
                "AccessShareLock",
                "RowShareLock",
                "RowExclusiveLock",
                "ShareUpdateExclusiveLock",
                "ShareLock",
                "ShareRowExclusiveLock",
                "ExclusiveLock",
            ],
        };
        let harmless: Vec<String> = harmless.iter().map(|mode| (*mode).to_owned()).collect();
        let found = query::first_two_values::<String, String>(
            LOCK_HELD,
            &[(*table).into(), harmless.into()],
        )?;
        if let (Some(relation), Some(lock)) = found {
            return Err(Error::CallerLocks {
                holds: format!("holds {lock} on relation \"{relation}\""),
            });
        }
    }
    Ok(())
}

/// Period of checks whether workers wait for the caller's locks.
const CHECK_NS: u64 = 500_000_000;
/// The time between checks is at least this many times that of a check: if hundreds of clients wait
/// for locks, a check takes long and slows down the lock manager that they use.
const SHARE: u64 = 100;

/// The caller's checks, while it waits for a task, whether the task waits for the caller.
pub struct DeadlockCheck {
    due_ns: u64,
}

impl DeadlockCheck {
    /// Starts now.
    pub fn new() -> DeadlockCheck {
        DeadlockCheck {
            due_ns: clock::now_ns() + CHECK_NS,
        }
    }

    /// Checks, if it is time to; fails as [`fail_if_workers_wait_for_me`].
    pub fn check(&mut self, segment: &Segment) -> Result<()> {
        let begin = clock::now_ns();
        if begin < self.due_ns {
            return Ok(());
        }
        let checked = fail_if_workers_wait_for_me(segment);
        let end = clock::now_ns();
        self.due_ns = end + CHECK_NS.max((end - begin) * SHARE);
        checked
    }
}

/// Fails if one of the task's processes, or one that serves a client's connection, waits for this
/// backend's transaction, or for another process that does.
///
/// The process ID of a client's session on another server may also exist here. It is mistaken for a
/// process here only if that process waits for this backend, too.
fn fail_if_workers_wait_for_me(segment: &Segment) -> Result<()> {
    let clients = 0..segment.layout().clients;
    let waiting: Vec<i32> = std::iter::once(&segment.header().coordinator)
        .chain(segment.workers().map(|worker| &worker.process))
        .map(ProcessRef::pid)
        .chain(std::iter::once(
            segment.header().statements_pid.load(Relaxed),
        ))
        .chain(clients.map(|client| segment.client(client).0.backend_pid()))
        .filter(|pid| *pid != 0 && peer::waits_for_lock(*pid, LONG_WAIT))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let Some(pid) = query::first_value::<i32>(WAITS_FOR_ME, &[waiting.into()])? else {
        return Ok(());
    };
    let found = query::first_two_values::<String, String>(
        "SELECT coalesce(relation::pg_catalog.regclass::pg_catalog.text, locktype), mode
           FROM pg_catalog.pg_locks
          WHERE pid OPERATOR(pg_catalog.=) $1 AND NOT granted LIMIT 1",
        &[pid.into()],
    )?;
    match found {
        (Some(lock), _) if lock == "virtualxid" => Err(Error::CallerAwaited {
            pid,
            statement: peer::statement_of(pid),
        }),
        (Some(lock), _) if lock == "transactionid" || lock == "tuple" => Err(Error::CallerLocks {
            holds: "has changed or locked rows that a client waits for".into(),
        }),
        (Some(relation), Some(lock)) => Err(Error::CallerLocks {
            holds: format!("holds a lock that conflicts with {lock} on relation \"{relation}\""),
        }),
        _ => Ok(()),
    }
}

/// Shorter waits are not examined.
const LONG_WAIT: Duration = Duration::from_millis(500);

/// The process that waits for this backend and that is one of these processes or blocks one of
/// them. Each process is examined once: all waiters in a lock queue wait for all that are before
/// them.
const WAITS_FOR_ME: &str = "
WITH RECURSIVE waits (pid) AS (
    SELECT pg_catalog.unnest($1::pg_catalog.int4[])
     UNION
    SELECT b.pid FROM waits w, pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b (pid))
SELECT w.pid FROM waits w
 WHERE EXISTS (SELECT FROM waits m WHERE m.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid())
   AND pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) ANY (pg_catalog.pg_blocking_pids(w.pid))
 LIMIT 1";
