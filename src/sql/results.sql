/* Reports, advice, histograms and views of results. */

CREATE FUNCTION bench.report(
    run_id bigint DEFAULT 0, -- run to report; 0 is the last run
    format text DEFAULT 'text', -- text, markdown, json or html
    set_ids bench.ids DEFAULT '', -- sets to report
    label text DEFAULT '', -- label of the runs to report
    against bigint DEFAULT 0 -- run to compare run_id with; 0: none
) RETURNS SETOF text
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'report_wrapper';
COMMENT ON FUNCTION bench.report IS 'report of a run, of a run against another one, of sets of runs, or of the runs with a label; of the last run of this session or role without an argument: text in pgbench''s layout, a row per line; markdown, json or html, one row';

CREATE FUNCTION bench.dashboard(
    inline int DEFAULT 0 -- number of the newest runs whose reports are part of the page
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dashboard_wrapper';
COMMENT ON FUNCTION bench.dashboard IS 'HTML page over all runs and sets that the caller may see, with the reports of the newest inline runs';

CREATE FUNCTION bench.advice(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    OUT severity text, -- error, warning or note
    OUT finding text, -- reason to distrust the figures
    OUT evidence text, -- figures from which this follows
    OUT remedy text -- proposal
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'advice_wrapper';
COMMENT ON FUNCTION bench.advice IS 'reasons to distrust the figures of a run, and what to do; no row if none are known';

CREATE FUNCTION bench.time_budget(
    run_ids bench.ids DEFAULT '', -- runs; of several, the means; 0 or none is the last run
    set_id bigint DEFAULT 0, -- set, for rows of each of its arms
    OUT component text, -- part of the time
    OUT us_per_transaction float8, -- microseconds per transaction; NULL if unknown
    OUT share float8, -- fraction of the mean latency
    OUT measured text, -- source of the figure, or why it is unknown
    OUT arm text, -- arm of the set
    OUT runs bigint -- number of runs
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'time_budget_wrapper';
COMMENT ON FUNCTION bench.time_budget IS 'where the time of transactions went: parts that add up to the mean latency, of a run, as means of several runs, or for each arm of a set';

/* Deletes runs that match all given arguments: a superuser's call all runs, others their own. */
CREATE FUNCTION bench.delete_runs(
    run_ids bench.ids DEFAULT NULL, -- runs to delete
    older_than bench.span DEFAULT NULL, -- least age, an interval or a number of seconds
    label text DEFAULT NULL, -- label of the runs
    OUT run_id bigint, -- run that was deleted
    OUT run_label text, -- its label
    OUT state text -- its state
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'delete_runs_wrapper';
COMMENT ON FUNCTION bench.delete_runs IS 'delete runs that have ended, with all their rows';

CREATE FUNCTION bench.percentile(
    histogram bytea, -- stored histogram
    p float8 -- percentile, from 0 to 100
) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'percentile_wrapper';
COMMENT ON FUNCTION bench.percentile IS 'percentile of a stored latency histogram, in milliseconds';

CREATE FUNCTION bench.histogram_count(
    histogram bytea -- stored histogram
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'histogram_count_wrapper';
COMMENT ON FUNCTION bench.histogram_count IS 'number of latencies in a stored histogram';

CREATE FUNCTION bench_internal.add_histogram(internal, bytea) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'add_histogram_wrapper';
CREATE FUNCTION bench_internal.sum_of_histograms(internal) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'sum_of_histograms_wrapper';

CREATE AGGREGATE bench.merge_histograms(histogram bytea) (
    SFUNC = bench_internal.add_histogram,
    STYPE = internal,
    FINALFUNC = bench_internal.sum_of_histograms,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE bench.merge_histograms(bytea) IS 'histogram of all latencies of several stored histograms
histogram: stored histogram';

CREATE VIEW bench.run_summary WITH (security_invoker = true) AS
    SELECT run_id, label, set_id, arm, round,
           CASE WHEN state NOT IN ('starting', 'running') OR bench_internal.is_live(run_id, segment) THEN state
                ELSE 'lost' END AS state, -- state: starting, running, finished, canceled, failed or lost
           mode, scripts, protocol, clients, jobs, scale, created_at, seconds,
           {{names Figures to sleep_avg_ms}},
           {{names run_options except label, mode, scripts, protocol, clients, jobs}},
           connection_ms, overhead_us, overhead_share, snapshot_held_s, snapshot_held_by, warmup_steady,
           warmup_transactions, aborted_clients, owner, database_name, server_version_num, started_at, finished_at,
           errors, notes, imported_at, imported_from
      FROM bench.runs;
COMMENT ON VIEW bench.run_summary IS 'runs, one row each';

CREATE VIEW bench.storage WITH (security_invoker = true) AS
    SELECT t.table_name, -- name of the table
           obj_description(t.oid, 'pg_class') AS contents, -- description of its rows
           t.rows, -- number of rows, estimated by the server
           t.bytes, -- size with indexes and TOAST table
           t.index_bytes, -- size of the indexes
           CASE WHEN t.of_runs THEN t.bytes / nullif(t.runs, 0) END AS bytes_per_run, -- size divided by the number of runs
           CASE WHEN t.of_runs OR t.table_name = 'job_runs' THEN 'CALL bench.prune(older_than => ''90 days'')'
                WHEN t.table_name = 'scripts' THEN 'SELECT bench.drop_script(''name'')'
                WHEN t.table_name = 'workload_definitions' OR starts_with(t.table_name, 'captured_') THEN 'SELECT bench.drop_workload(''name'')'
                WHEN t.table_name = 'value_sets' THEN 'DELETE FROM bench.value_sets WHERE set_name = ''name'' AND owner = quote_ident(current_user)::regrole' END AS prune -- statement that deletes rows
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
    SELECT r.run_id, r.label,
           f.phase, -- phase: starting, setup, warming up, running or storing
           round(least(e.done, 1)::numeric, 3) AS done_share, -- fraction of the warm-up and the duration, or of the number of transactions, that is done
           round((CASE WHEN e.left_s < 0 THEN 0 ELSE e.left_s END)::numeric, 1) AS left_s, -- seconds left, estimated from the rate so far if the run has a number of transactions; NULL if unknown, as during a warm-up until steady
           round((f.transactions / d.measured_s)::numeric, 1) AS tps, -- successful transactions per second since the end of the warm-up
           round(f.latency_avg_ms::numeric, 3) AS latency_avg_ms, -- mean latency since the end of the warm-up
           round(f.interval_tps::numeric, 1) AS interval_tps, -- successful transactions per second of the interval that ended last; aggregate_interval is its length
           f.failed,
           f.waits_for, -- most frequent wait of sessions in this interval, besides for their clients, such as Lock:transactionid; NULL if none waited
           round(f.waiting_sessions::numeric, 1) AS waiting_sessions, -- mean number of sessions that waited for it
           round(f.interval_latency_avg_ms::numeric, 3) AS interval_latency_avg_ms, -- mean latency of this interval
           f.transactions, f.skipped,
           round(f.seconds::numeric, 2) AS seconds -- seconds since the clients started, with the warm-up
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
COMMENT ON VIEW bench.progress IS 'runs in progress, with their current figures, rounded; bench.runs has their options';
