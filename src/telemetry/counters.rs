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
    sql: "SELECT count(*) FILTER (
                     WHERE state = 'active' AND leader_pid IS NULL
                       AND wait_event_type IS DISTINCT FROM 'Extension'
                       AND backend_type NOT IN ('autovacuum worker', 'walsender',
                                                'pg_selfbench coordinator')
                       AND pid <> pg_backend_pid()
                       AND pid NOT IN (SELECT unnest(:pids))) AS other_sessions,
                 count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS autovacuum_workers,
                 coalesce(json_agg(w.does) FILTER (WHERE w.does IS NOT NULL), '[]') AS autovacuum,
                 min(wait_event) FILTER (WHERE backend_type = 'checkpointer'
                                           AND wait_event_type <> 'Activity') AS checkpoint_phase
            FROM pg_stat_get_activity(NULL) a
            LEFT JOIN LATERAL (
                SELECT CASE WHEN pg_has_role(:role, 'pg_read_all_stats', 'USAGE')
                            THEN substr(a.query, length('autovacuum: ') + 1)
                                 || CASE WHEN a.datid <> d.oid THEN
                                        (SELECT format(' in database %I', o.datname)
                                           FROM pg_database o WHERE o.oid = a.datid)
                                    ELSE '' END
                            ELSE (SELECT 'VACUUM ' || v.relid::regclass
                                    FROM pg_stat_get_progress_info('VACUUM') v
                                   WHERE v.pid = a.pid AND v.datid = d.oid
                                     AND has_table_privilege(:role, v.relid, 'SELECT'))
                       END
                  FROM pg_database d WHERE d.datname = current_database()) w (does)
              ON a.backend_type = 'autovacuum worker'",
};

/// Blocks are those of tables and indexes in shared buffers. Before PostgreSQL 16 the server does not
/// count by kind of process who found and read them; blocks that files grow by are writes.
const fn blocks(version_num: i32) -> QueryPart {
    let what = "blocks hit, read and written";
    let sql = match version_num {
        180_000.. => {
            "SELECT sum(hits)::bigint AS blocks_hit,
                    (sum(read_bytes) / b.size)::bigint AS blocks_read,
                    (sum(w.bytes) / b.size)::bigint AS blocks_written,
                    sum(hits) FILTER (WHERE autovacuum)::bigint AS blocks_hit_by_autovacuum,
                    (sum(read_bytes) FILTER (WHERE autovacuum) / b.size)::bigint
                        AS blocks_read_by_autovacuum,
                    (sum(w.bytes) FILTER (WHERE autovacuum) / b.size)::bigint
                        AS blocks_written_by_autovacuum,
                    (sum(w.bytes) FILTER (WHERE backend_type = 'checkpointer') / b.size)::bigint
                        AS blocks_written_by_checkpointer,
                    (sum(w.bytes) FILTER (WHERE backend_type = 'background writer') / b.size)::bigint
                        AS blocks_written_by_bgwriter,
                    (sum(w.bytes) FILTER (WHERE backend_type NOT IN ('checkpointer', 'background writer')
                                            AND NOT autovacuum) / b.size)::bigint
                        AS blocks_written_by_backends
               FROM pg_stat_io,
                    LATERAL (SELECT backend_type LIKE 'autovacuum%') v (autovacuum),
                    LATERAL (SELECT coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) w (bytes),
                    (SELECT current_setting('block_size')::int) b (size)
              WHERE object = 'relation'
              GROUP BY b.size"
        }
        160_000.. => {
            "SELECT sum(hits)::bigint AS blocks_hit,
                    sum(reads)::bigint AS blocks_read,
                    sum(w.blocks)::bigint AS blocks_written,
                    sum(hits) FILTER (WHERE autovacuum)::bigint AS blocks_hit_by_autovacuum,
                    sum(reads) FILTER (WHERE autovacuum)::bigint AS blocks_read_by_autovacuum,
                    sum(w.blocks) FILTER (WHERE autovacuum)::bigint AS blocks_written_by_autovacuum,
                    sum(w.blocks) FILTER (WHERE backend_type = 'checkpointer')::bigint
                        AS blocks_written_by_checkpointer,
                    sum(w.blocks) FILTER (WHERE backend_type = 'background writer')::bigint
                        AS blocks_written_by_bgwriter,
                    sum(w.blocks) FILTER (WHERE backend_type NOT IN ('checkpointer', 'background writer')
                                            AND NOT autovacuum)::bigint
                        AS blocks_written_by_backends
               FROM pg_stat_io,
                    LATERAL (SELECT backend_type LIKE 'autovacuum%') v (autovacuum),
                    LATERAL (SELECT coalesce(writes, 0) + coalesce(extends, 0)) w (blocks)
              WHERE object = 'relation'"
        }
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
