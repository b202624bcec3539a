/* Starting runs, waiting for them and canceling them.

   The argument target of these functions, of bench.initialize and of bench.compare is the server to
   connect to: NULL for this one, or a libpq connection string, or the name of a foreign server with
   libpq's options. Non-superusers must provide a password, and the target must ask for it. A password
   in a connection string appears in pg_stat_activity and in the server's log of statements; a password
   in a user mapping does not. */

CREATE TYPE bench.run_result AS (
    run_id         bigint, -- number of the run; NULL if it is not stored, on a standby
    state          text, -- state: starting, running, finished, canceled, failed or lost
    mode           text, -- execution mode: spi or libpq
    transactions   bigint, -- successful transactions
    failed         bigint, -- failed transactions of all kinds
    tps            float8, -- successful transactions per second
    latency_avg_ms float8, -- mean latency
    latency_p99_ms float8 -- 99th percentile of the latency
);
COMMENT ON TYPE bench.run_result IS 'result row of bench.run and bench.wait, rounded; bench.run_summary has all figures';

CREATE FUNCTION bench.run(
    {{arguments run_options}}
) RETURNS SETOF bench.run_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'run_wrapper';
COMMENT ON FUNCTION bench.run IS 'run a benchmark and return its result';

CREATE FUNCTION bench.start(
    {{arguments run_options}}
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'start_wrapper';
COMMENT ON FUNCTION bench.start IS 'start a benchmark that continues without the session, and return its run id';

CREATE FUNCTION bench.wait(
    run_id bigint, -- run to wait for
    timeout bench.span DEFAULT NULL -- longest time to wait, an interval or a number of seconds; NULL is no limit
) RETURNS SETOF bench.run_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'wait_wrapper';
COMMENT ON FUNCTION bench.wait IS 'wait for a run and return its result or, after the timeout, its figures so far';

CREATE FUNCTION bench.cancel(
    run_id bigint -- run to cancel
) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'cancel_wrapper';
COMMENT ON FUNCTION bench.cancel IS 'cancel a run; false if it was not in progress';

/* Needs the target again if the run had one, except to give up: connection strings are not stored. */
CREATE FUNCTION bench.finish_teardown(
    run_id bigint, -- run whose teardown is due
    target text DEFAULT NULL, -- target of the run, if it had one
    give_up boolean DEFAULT false -- whether the teardown is dropped instead of executed
) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'finish_teardown_wrapper';
COMMENT ON FUNCTION bench.finish_teardown IS 'execute the teardown that a run has left because of an error or a crash, or give it up; false if there is none';

/* The body of a client of mode spi that runs in a backend. Only runs call it: it requires a secret. */
CREATE PROCEDURE bench_internal.spi_client(segment bigint, secret bigint)
LANGUAGE c AS 'MODULE_PATHNAME', 'spi_client_wrapper';

/* Starts to sample the stacks of the calling session, which serves a client of a run with profile. Only
   runs call it: it requires a secret. */
CREATE FUNCTION bench_internal.sample_session(segment bigint, secret bigint, client bigint) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'sample_session_wrapper';

/* Whether a run's coordinator is alive, or may be: on a standby, it is on the primary. */
CREATE FUNCTION bench_internal.is_live(run_id bigint, segment bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'is_live_wrapper';

/* Whether another process has locked a row of a table by its number, or may have, since on a standby it is on the
   primary: that of a set, to drive it, of a job, to run it, or of a run, to execute its teardown. The locks are those of
   src/state/lock.rs, with the lower 32 bits of the number. */
CREATE FUNCTION bench_internal.is_locked(table_name name, number bigint) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_is_in_recovery() OR EXISTS (
        SELECT FROM pg_locks l
         WHERE l.locktype = 'object' AND l.granted AND l.objsubid = 1 AND l.pid IS DISTINCT FROM pg_backend_pid()
           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
           AND l.classid = (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                             WHERE n.nspname = 'bench' AND c.relname = $1)
           AND l.objid = ($2 & 4294967295)::oid)
$$;

/* The figures so far of a run in progress. */
CREATE FUNCTION bench_internal.live_figures(
    run_id bigint, segment bigint,
    OUT phase text, OUT seconds float8, OUT transactions bigint, OUT failed bigint,
    OUT skipped bigint, OUT latency_avg_ms float8, OUT interval_tps float8,
    OUT interval_latency_avg_ms float8, OUT waits_for text, OUT waiting_sessions float8
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'live_figures_wrapper';

/* The calling session's settings for bench.run_settings, without secrets and file names. */
CREATE FUNCTION bench_internal.settings_of_run() RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(jsonb_build_object(
               'name', name, 'setting', current_setting(name), 'source', source))
      FROM (SELECT name, category, source FROM pg_settings
             UNION ALL
            /* Of a library that sessions load, and this process, a worker, does not. */
            SELECT n.name, 'Customized Options', 'unknown'
              FROM (VALUES ('auto_explain.log_min_duration'), ('auto_explain.log_analyze'),
                           ('auto_explain.sample_rate')) n (name)
             WHERE current_setting(n.name, true) IS NOT NULL
               AND n.name NOT IN (SELECT s.name FROM pg_settings s)
               AND EXISTS (SELECT FROM pg_settings s
                            WHERE s.name IN ('session_preload_libraries', 'local_preload_libraries')
                              AND s.setting LIKE '%auto_explain%')) s
     WHERE (category NOT IN ('Customized Options', 'File Locations') OR name LIKE 'auto_explain.%')
       AND name NOT IN ('primary_conninfo', 'archive_command', 'archive_cleanup_command',
                        'restore_command', 'recovery_end_command', 'ssl_passphrase_command',
                        'search_path')
       AND name NOT LIKE 'krb%' AND name NOT LIKE 'ssl%file%'
       AND (source NOT IN ('default', 'override')
            OR name IN ('auto_explain.log_min_duration', 'autovacuum', 'block_size', 'checkpoint_timeout', 'data_checksums',
                        'debug_assertions', 'effective_io_concurrency', 'fsync',
                        'full_page_writes', 'huge_pages', 'jit', 'maintenance_work_mem',
                        'max_connections', 'max_wal_size', 'max_worker_processes',
                        'shared_buffers', 'synchronous_commit', 'synchronous_standby_names',
                        'track_io_timing', 'wal_buffers', 'wal_compression', 'wal_level',
                        'wal_segment_size', 'wal_sync_method', 'work_mem'))
$$;
