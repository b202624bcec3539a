/* pgio's workload: random reads and updates of single blocks.

   A loop chooses a random key and reads the rows from this key up to work_unit keys further. In
   update_pct percent of the loops, it updates rows up to update_work_unit keys further instead. Each
   block has one row. */

CREATE TYPE bench.pgio_result AS (
    run_id                bigint, -- number of the run; NULL if it is not stored, on a standby
    state                 text, -- state: starting, running, finished, canceled, failed or lost
    {{attributes PgioRun only tables, threads_per_table, scale, update_pct, work_unit, update_work_unit, commit_every, scan, working_set_bytes}},
    {{attributes PgioRun from seconds to read_max_ms}}
);
COMMENT ON TYPE bench.pgio_result IS 'result row of bench.run_pgio';

CREATE FUNCTION bench.run_pgio(
    {{arguments pgio_options only tables, threads_per_table}},
    {{arguments run_options only duration}},
    {{arguments pgio_options except tables, threads_per_table}},
    {{arguments run_options except scripts, clients, workers, duration, vacuum, max_tries, variables, reconnect, continue_on_error, exit_on_abort, per_statement, failures_detailed, verbose_errors, checkpoint, connection, settings, setup, teardown, verify, undefined_variables, sql, load_factor, allow_writes}}
) RETURNS SETOF bench.pgio_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'run_pgio_wrapper';
COMMENT ON FUNCTION bench.run_pgio IS 'run pgio''s workload on its tables and return the figures';

CREATE FUNCTION bench.start_pgio(
    {{arguments bench.run_pgio}}
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'start_pgio_wrapper';
COMMENT ON FUNCTION bench.start_pgio IS 'start a run of pgio''s workload that continues without the session, and return its run id';

CREATE FUNCTION bench.session_usage() RETURNS bench.session_usage
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'usage_wrapper';
COMMENT ON FUNCTION bench.session_usage IS 'blocks, WAL and device bytes that the session has used since it started';

CREATE VIEW bench.pgio_summary WITH (security_invoker = true) AS
    SELECT p.run_id, r.label, r.state, r.mode,
           r.clients AS sessions, -- number of sessions
           p.tables, p.threads_per_table, p.scale, p.update_pct, p.work_unit, p.update_work_unit,
           p.commit_every, p.working_set_pct, p.scan, p.working_set_bytes,
           p.shared_buffers_bytes, p.memory_bytes, r.created_at,
           {{names p.PgioRun from seconds to read_max_ms}},
           r.owner, r.database_name, r.target
      FROM bench.pgio_runs p
      JOIN bench.runs r USING (run_id);
COMMENT ON VIEW bench.pgio_summary IS 'runs of pgio''s workload, one row each';

/* As in bench.pgio_runs, rates are NULL unless the usage of all sessions is known. */
CREATE VIEW bench.pgio_table_summary WITH (security_invoker = true) AS
    SELECT run_id, table_no,
           sessions, -- number of sessions
           t.selects, t.updates, t.failed,
           t.seconds, -- longest measured time of a session in seconds
           (hit + read) / s AS logical_reads_per_s, hit / s AS cache_hits_per_s, read / s AS riops,
           device_read / s / block_bytes AS device_reads_per_s,
           device_read / s / 1e6 AS device_read_mb_per_s,
           device_write / s / 1e6 AS device_write_mb_per_s, dirtied / s AS blocks_dirtied_per_s,
           written / s AS blocks_written_per_s, evicted / s AS blocks_evicted_per_s,
           wal / s AS wal_bytes_per_s, t.select_max_ms, select_histogram, t.update_max_ms,
           update_histogram, t.read_histogram
      FROM (SELECT run_id, table_no, count(*) AS sessions, sum(selects)::bigint AS selects,
                   sum(updates)::bigint AS updates, sum(failed)::bigint AS failed,
                   max(seconds) AS seconds, nullif(max(seconds), 0) AS s,
                   CASE count(*) WHEN count(blocks_hit) THEN sum(blocks_hit) END AS hit,
                   CASE count(*) WHEN count(blocks_read) THEN sum(blocks_read) END AS read,
                   CASE count(*) WHEN count(blocks_dirtied) THEN sum(blocks_dirtied) END AS dirtied,
                   CASE count(*) WHEN count(blocks_written) THEN sum(blocks_written) END AS written,
                   CASE count(*) WHEN count(blocks_evicted) THEN sum(blocks_evicted) END AS evicted,
                   CASE count(*) WHEN count(wal_bytes) THEN sum(wal_bytes) END AS wal,
                   CASE count(*) WHEN count(device_read_bytes) THEN sum(device_read_bytes) END
                       AS device_read,
                   CASE count(*) WHEN count(device_write_bytes) THEN sum(device_write_bytes) END
                       AS device_write,
                   max(select_max_ms) AS select_max_ms,
                   bench.merge_histograms(select_histogram) AS select_histogram,
                   max(update_max_ms) AS update_max_ms,
                   bench.merge_histograms(update_histogram) AS update_histogram,
                   bench.merge_histograms(read_histogram) AS read_histogram
              FROM bench.pgio_sessions
             GROUP BY run_id, table_no) t
      JOIN bench.pgio_runs USING (run_id);
COMMENT ON VIEW bench.pgio_table_summary IS 'tables of each run of pgio''s workload, with the figures of their sessions';
