//! The counters of a server, read by one query. All that differs between versions of the server, as
//! far as observing it is concerned, is here: a target may have any version.

use super::notes::Notes;
use selfbench_model::{ServerCounts, ServerState};
use serde::Deserialize;

/// A part of the query, which a server may not have or not allow: a query of one row, whose columns
/// are fields of [`Reading`].
pub struct QueryPart {
    /// Name of what it reads, for a note.
    pub what: &'static str,
    /// Whether it shows what other roles' sessions do.
    pub is_privileged: bool,
    /// The query. `:pids` is an array of process IDs of the run, `:role` the role that it belongs to.
    pub sql: &'static str,
}

/// Values read at some moment.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Totals.
    #[serde(flatten)]
    pub counts: ServerCounts,
    /// The state.
    #[serde(flatten)]
    pub state: ServerState,
    /// Position of the last checkpoint that has ended.
    pub ended_checkpoint: Option<i64>,
    /// Position in WAL from which recovery would start after it.
    pub ended_redo: Option<i64>,
    /// Position in WAL where recovery would start after the checkpoint that has begun last.
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

/// Name of what [`SESSIONS`] reads.
pub const SESSIONS_WHAT: &str =
    "other sessions, autovacuum workers and what the checkpointer waits for";

/// Sessions are active while they execute something, other than waiting in an extension, as those
/// that wait for a run do. A worker's query says what it does; roles
/// without the privilege to see that of other roles see what concerns tables that they may read.
const SESSIONS: QueryPart = QueryPart {
    what: SESSIONS_WHAT,
    is_privileged: true,
    sql: include_str!("sessions.sql"),
};

/// Blocks are those of tables and indexes in shared buffers. Before PostgreSQL 16 the server does not
/// count by kind of process who found and read them; blocks that files grow by are writes.
const fn blocks(version_num: i32) -> QueryPart {
    let what = "blocks hit, read and written";
    let sql = match version_num {
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
    };
    QueryPart {
        what,
        is_privileged: false,
        sql,
    }
}

const fn checkpoints(version_num: i32) -> QueryPart {
    let what = "whether checkpoints were timed or requested";
    let sql = match version_num {
        170_000.. => {
            "SELECT num_timed AS checkpoints_timed, num_requested AS checkpoints_requested
               FROM pg_stat_checkpointer"
        }
        _ => {
            "SELECT checkpoints_timed, checkpoints_req AS checkpoints_requested
               FROM pg_stat_bgwriter"
        }
    };
    QueryPart {
        what,
        is_privileged: false,
        sql,
    }
}

/// The parts of the query for a server of that version; notes what it does not count.
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

/// The query of several parts: one text, an object. It needs `search_path` to be `pg_catalog`.
pub fn query(parts: &[QueryPart]) -> String {
    if parts.is_empty() {
        return "SELECT '{}'".into();
    }
    let number = |(number, part): (usize, &QueryPart)| format!("({}) p{number}", part.sql);
    let from: Vec<_> = parts.iter().enumerate().map(number).collect();
    let merged: Vec<_> = (0..parts.len())
        .map(|number| format!("to_jsonb(p{number})"))
        .collect();
    format!(
        "SELECT ({})::text FROM {}",
        merged.join(" || "),
        from.join(", ")
    )
}
