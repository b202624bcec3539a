//! The query that reads a server's counters. A target may have any version, so the query depends on
//! it, not on the version that this library was built for.

use super::notes::Notes;
use selfbench_model::{ServerCounts, ServerState};
use serde::Deserialize;

/// A part of the query: a query of one row, whose columns are fields of [`Reading`]. A server may lack
/// what it reads, or not permit it.
pub struct QueryPart {
    /// Figures that it reads, for a note.
    pub what: &'static str,
    /// Whether it shows what other roles' sessions do, and so needs pg_read_all_stats.
    pub is_privileged: bool,
    /// The query. `:pids` stands for an array of the run's process IDs, `:role` for the run's role.
    pub sql: &'static str,
}

/// Values that the query returns; `None` if no part returned it.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Counters, which grow.
    #[serde(flatten)]
    pub counts: ServerCounts,
    /// State at the moment of the reading.
    #[serde(flatten)]
    pub state: ServerState,
    /// Position in WAL, in bytes, of the record of the last checkpoint that has ended.
    pub ended_checkpoint: Option<i64>,
    /// Position in WAL, in bytes, where recovery from it would start.
    pub ended_redo: Option<i64>,
    /// Position in WAL, in bytes, where recovery from the checkpoint that began last would start. Not of
    /// the query: it is in the shared memory of this server.
    pub redo: Option<i64>,
}

const WAL_POSITION: QueryPart = QueryPart {
    what: "the insert position of WAL",
    is_privileged: false,
    sql: "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal_bytes",
};

const WAL: QueryPart = QueryPart {
    what: "WAL records and full-page images",
    is_privileged: false,
    sql: "SELECT wal_records, wal_fpi FROM pg_stat_wal",
};

const CONTROL: QueryPart = QueryPart {
    what: "the end of checkpoints",
    is_privileged: false,
    sql: "SELECT pg_wal_lsn_diff(checkpoint_lsn, '0/0')::bigint AS ended_checkpoint,
                 pg_wal_lsn_diff(redo_lsn, '0/0')::bigint AS ended_redo
            FROM pg_control_checkpoint()",
};

const DATABASES: QueryPart = QueryPart {
    what: "temporary files and deadlocks",
    is_privileged: false,
    sql: "SELECT sum(temp_bytes)::bigint AS temp_bytes, sum(deadlocks)::bigint AS deadlocks
            FROM pg_stat_database",
};

/// Figures that [`SESSIONS`] reads, for a note.
pub const SESSIONS_WHAT: &str =
    "other sessions, autovacuum workers and what the checkpointer waits for";

/// Other sessions count while they are active and do not wait in an extension, as callers of a run do.
/// An autovacuum worker's query says what it does. A role without privileges of pg_read_all_stats sees
/// only that a table that it may read is vacuumed.
const SESSIONS: QueryPart = QueryPart {
    what: SESSIONS_WHAT,
    is_privileged: true,
    sql: include_str!("sessions.sql"),
};

/// Blocks of tables and indexes in shared buffers. Blocks by which files grow are written ones. Before
/// PostgreSQL 16, hits and reads are not counted by kind of process.
const fn blocks(version_num: i32) -> QueryPart {
    QueryPart {
        what: "blocks hit, read and written",
        is_privileged: false,
        sql: match version_num {
            180_000.. => include_str!("blocks_18.sql"),
            160_000.. => include_str!("blocks_16.sql"),
            _ => {
                "SELECT (SELECT sum(blks_hit)::bigint FROM pg_stat_database) AS blocks_hit,
                        (SELECT sum(blks_read)::bigint FROM pg_stat_database) AS blocks_read,
                        buffers_checkpoint + buffers_clean + buffers_backend AS blocks_written,
                        buffers_checkpoint AS blocks_written_by_checkpointer,
                        buffers_clean AS blocks_written_by_bgwriter,
                        buffers_backend AS blocks_written_by_backends
                   FROM pg_stat_bgwriter"
            }
        },
    }
}

/// Checkpoints by their cause, and the time that they took.
const fn checkpoints(version_num: i32) -> QueryPart {
    QueryPart {
        what: "whether checkpoints were timed or requested, and how long they took",
        is_privileged: false,
        sql: match version_num {
            170_000.. => {
                "SELECT num_timed AS checkpoints_timed, num_requested AS checkpoints_requested,
                        write_time::bigint AS checkpoint_write_ms, sync_time::bigint AS checkpoint_sync_ms
                   FROM pg_stat_checkpointer"
            }
            _ => {
                "SELECT checkpoints_timed, checkpoints_req AS checkpoints_requested,
                        checkpoint_write_time::bigint AS checkpoint_write_ms,
                        checkpoint_sync_time::bigint AS checkpoint_sync_ms
                   FROM pg_stat_bgwriter"
            }
        },
    }
}

/// Parts of the query for a server of this version. Notes what the version does not count.
pub fn parts(version_num: i32, notes: &mut Notes) -> Vec<QueryPart> {
    if version_num < 160_000 {
        notes.missing(
            "blocks of autovacuum workers",
            "before PostgreSQL 16, the server does not count them by kind of process",
        );
    }
    vec![
        WAL_POSITION,
        WAL,
        blocks(version_num),
        checkpoints(version_num),
        CONTROL,
        DATABASES,
        SESSIONS,
    ]
}

/// The query of these parts. It returns a JSON object with their columns, as one text, and must be
/// executed with `search_path` set to `pg_catalog`.
pub fn query(parts: &[QueryPart]) -> String {
    if parts.is_empty() {
        return "SELECT '{}'".into();
    }
    let numbered = || parts.iter().enumerate();
    let objects: Vec<_> = numbered()
        .map(|(no, _)| format!("to_jsonb(p{no})"))
        .collect();
    let tables: Vec<_> = numbered()
        .map(|(no, part)| format!("({}) p{no}", part.sql))
        .collect();
    format!(
        "SELECT ({})::text FROM {}",
        objects.join(" || "),
        tables.join(", ")
    )
}
