/* Reports, advice, histograms and views of results. */

CREATE FUNCTION bench.report(
    run_id  bigint    DEFAULT NULL,
    format  text      DEFAULT 'text',
    set_ids bench.ids DEFAULT NULL,
    label   text      DEFAULT NULL
) RETURNS SETOF text
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'report_wrapper';
COMMENT ON FUNCTION bench.report IS 'report of a run, of sets of runs, or of the runs with a label; of the last run of this session or role without an argument: text in pgbench''s layout, a row per line; markdown, json or html, one row';

CREATE FUNCTION bench.dashboard(inline int DEFAULT 0) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dashboard_wrapper';
COMMENT ON FUNCTION bench.dashboard IS 'HTML page over all runs and sets that the caller may see, with the reports of the newest inline runs';

CREATE FUNCTION bench.advice(
    run_id bigint,
    OUT severity text, OUT finding text, OUT evidence text, OUT remedy text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'advice_wrapper';
COMMENT ON FUNCTION bench.advice IS 'reasons to distrust the figures of a run, and what to do; no row if none are known';

CREATE FUNCTION bench.time_budget(
    run_ids bench.ids DEFAULT NULL,
    set_id  bigint    DEFAULT NULL,
    OUT component text, OUT us_per_transaction float8, OUT share float8, OUT measured text, OUT arm text, OUT runs bigint
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'time_budget_wrapper';
COMMENT ON FUNCTION bench.time_budget IS 'where the time of transactions went: parts that add up to the mean latency, of a run, as means of several runs, or for each arm of a set';

/* Deletes runs that match all given arguments: a superuser's call all runs, others their own. */
CREATE FUNCTION bench.delete_runs(
    run_ids    bench.ids  DEFAULT NULL,
    older_than bench.span DEFAULT NULL,
    label      text       DEFAULT NULL,
    OUT run_id bigint, OUT run_label text, OUT state text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'delete_runs_wrapper';
COMMENT ON FUNCTION bench.delete_runs IS 'delete runs that have ended, with all their rows';

CREATE FUNCTION bench.percentile(histogram bytea, p float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'percentile_wrapper';
COMMENT ON FUNCTION bench.percentile IS 'percentile (0 to 100) of a stored latency histogram, in milliseconds';

CREATE FUNCTION bench.histogram_count(histogram bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'histogram_count_wrapper';
COMMENT ON FUNCTION bench.histogram_count IS 'number of latencies in a stored histogram';

CREATE FUNCTION bench_internal.add_histogram(internal, bytea) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'add_histogram_wrapper';
CREATE FUNCTION bench_internal.sum_of_histograms(internal) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'sum_of_histograms_wrapper';

CREATE AGGREGATE bench.merge_histograms(bytea) (
    SFUNC = bench_internal.add_histogram,
    STYPE = internal,
    FINALFUNC = bench_internal.sum_of_histograms,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE bench.merge_histograms(bytea) IS 'histogram of all latencies of several stored histograms';

CREATE VIEW bench.run_summary WITH (security_invoker = true) AS
    SELECT run_id, label, set_id, arm, round, state, mode, scripts, protocol, clients, jobs, scale, created_at,
           seconds,
           {{names Figures to sleep_avg_ms}},
           {{names run_options except label, mode, scripts, protocol, clients, jobs}},
           connection_ms, harness_us, harness_share, snapshot_held_s, snapshot_held_by, warmup_steady,
           warmup_transactions, aborted_clients, owner, database_name, server_version_num, started_at, finished_at,
           errors, notes, imported_at, imported_from
      FROM bench.runs;
COMMENT ON VIEW bench.run_summary IS 'runs, one row each';

CREATE VIEW bench.storage WITH (security_invoker = true) AS
    SELECT t.table_name, obj_description(t.oid, 'pg_class') AS contents, t.rows, t.bytes, t.index_bytes,
           CASE WHEN t.of_runs THEN t.bytes / nullif(t.runs, 0) END AS bytes_per_run,
           CASE WHEN t.of_runs THEN 'SELECT * FROM bench.delete_runs(older_than => ''90 days'')'
                WHEN t.table_name = 'scripts' THEN 'SELECT bench.drop_script(''name'')' END AS prune
      FROM (SELECT c.oid, c.relname::text AS table_name,
                   coalesce(nullif(pg_stat_get_live_tuples(c.oid), 0),
                            greatest(c.reltuples, 0)::bigint) AS rows,
                   pg_total_relation_size(c.oid) AS bytes, pg_indexes_size(c.oid) AS index_bytes,
                   EXISTS (SELECT FROM pg_attribute a
                            WHERE a.attrelid = c.oid AND a.attname = 'run_id') AS of_runs,
                   (SELECT coalesce(nullif(pg_stat_get_live_tuples(r.oid), 0), greatest(r.reltuples, 0)::bigint)
                      FROM pg_class r WHERE r.oid = 'bench.runs'::regclass) AS runs
              FROM pg_class c
             WHERE c.relnamespace = 'bench'::regnamespace AND c.relkind = 'r') t;
COMMENT ON VIEW bench.storage IS 'what the tables of the extension take, and how to prune them';

CREATE VIEW bench.progress WITH (security_invoker = true) AS
    SELECT r.run_id, r.label, r.mode, f.phase, round(least(e.done, 1)::numeric, 3) AS done_share,
           round((CASE WHEN e.left_s < 0 THEN 0 ELSE e.left_s END)::numeric, 1) AS left_s,
           f.transactions, f.interval_tps, f.interval_latency_avg_ms, f.waits_for, f.waiting_sessions,
           f.failed, f.skipped, f.seconds, f.transactions / d.measured_s AS tps, f.latency_avg_ms,
           r.scripts, r.clients, r.duration_s, r.transactions_per_client, w.warmup_s, r.coordinator_pid
      FROM bench.runs r, LATERAL bench_internal.live_figures(r.run_id, r.segment) f,
           /* Unknown during a warm-up until steady. */
           LATERAL (SELECT CASE WHEN r.max_warmup_s IS NULL OR r.warmup_steady IS NOT NULL
                                THEN r.warmup_s END AS warmup_s) w,
           LATERAL (SELECT f.transactions + f.failed + f.skipped AS ended,
                           r.clients::numeric * r.transactions_per_client AS planned,
                           w.warmup_s + r.duration_s AS planned_s,
                           CASE WHEN f.seconds > w.warmup_s THEN f.seconds - w.warmup_s END AS measured_s) d,
           LATERAL (SELECT coalesce(f.seconds / d.planned_s, d.ended / d.planned, 0) AS done,
                           coalesce(d.planned_s - f.seconds,
                                    (d.planned - d.ended) * d.measured_s / nullif(d.ended, 0)) AS left_s) e
     WHERE r.state IN ('starting', 'running');
COMMENT ON VIEW bench.progress IS 'runs in progress, with their current figures';
