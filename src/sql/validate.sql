/* Runs of captured workloads, compared with what was captured. */

/* The workload of a run, if it is as it was when the run started: captured by the run's owner, and neither captured
   again nor changed since. No row otherwise. */
CREATE FUNCTION bench_internal.captured_workload_of(run_id bigint) RETURNS SETOF bench.captured_workloads
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.*
      FROM bench.runs r JOIN bench.captured_workloads c ON c.owner = r.owner AND c.captured_at <= r.started_at
     WHERE r.run_id = $1 AND r.imported_at IS NULL
       AND c.workload = (SELECT min(s.workload) FROM bench.run_captured_statements s WHERE s.run_id = $1)
$$;
COMMENT ON FUNCTION bench_internal.captured_workload_of IS 'captured workload of a run that has not changed since';

/* VOLATILE, so that it sees a run that the same statement has made. */
CREATE FUNCTION bench.validate_workload(
    name text, -- name of the captured workload
    run_id bigint DEFAULT 0, -- run of it; 0 is the last run
    OUT statement_no int, -- number of the statement; NULL in the last row, which has the figures of all that were measured
    OUT judgement text, -- same, differs, not measured or left out, and why; in the last row the verdict
    OUT captured_calls_share float8, -- share of the calls of the statements that were measured when it was captured
    OUT run_calls_share float8, -- share of their calls in the run
    OUT captured_mean_ms float8, -- mean execution time when it was captured
    OUT run_mean_ms float8, -- mean execution time in the run
    OUT captured_rows float8, -- rows per call when it was captured
    OUT run_rows float8, -- rows per call in the run
    OUT captured_blocks float8, -- blocks per call that were found in shared buffers or read when it was captured
    OUT run_blocks float8, -- blocks per call in the run
    OUT captured_wal_bytes float8, -- bytes of WAL per call when it was captured
    OUT run_wal_bytes float8, -- bytes of WAL per call in the run
    OUT captured_hit_share float8, -- share of the blocks that were found in shared buffers when it was captured
    OUT run_hit_share float8, -- share of the blocks that were found in shared buffers in the run
    OUT query text -- text of the statement
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    -- Differences up to these are none: of the share of calls, of rows, blocks and commits as fractions.
    mix CONSTANT float8 := 0.02;
    few CONSTANT float8 := 0.05;
    many CONSTANT float8 := 0.10;
    -- Statements are of different speed if the mean time of one is so many times that of another one.
    slower CONSTANT float8 := 1.5;
    captured bench.captured_workloads;
    run bigint;
    commits float8;
BEGIN
    IF $1 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'name must not be null';
    END IF;
    -- Reports of others' runs are made by roles that see others' workloads.
    IF NOT EXISTS (SELECT FROM bench.captured_workloads c WHERE c.workload = $1) THEN
        RAISE undefined_object USING MESSAGE = format('captured workload "%s" does not exist', $1),
            HINT = 'Your captured workloads are listed in bench.captured_workloads.';
    END IF;
    run := bench_internal.named_run($2);
    SELECT * INTO captured FROM bench_internal.captured_workload_of(run) c WHERE c.workload = $1;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('run %s cannot be compared with workload "%s"', run, $1),
            DETAIL = 'It must be a run of that workload on this server, since it was captured or changed, that has '
                     'ended and has option "observe".',
            HINT = 'Run the workload again.';
    END IF;
    commits := (SELECT r.transactions + r.warmup_transactions FROM bench.runs r WHERE r.run_id = run);
    RETURN QUERY
    WITH s AS (
        -- Statements that have one identifier in the run are compared together.
        SELECT c.statement_no AS no, c.status, c.query, c.queryid,
               CASE WHEN c.status = 'captured' THEN coalesce(r.reason, CASE WHEN r.calls = 0 THEN 'the run has not executed it' END)
                    ELSE c.reason END AS reason,
               c.calls, c.total_exec_time_ms AS ms, max(r.calls) OVER w > 0 AS covered, r.calls > 0 AS measured,
               sum(c.calls) OVER w::float8 AS calls_0, sum(c.rows) OVER w::float8 AS rows_0,
               sum(c.total_exec_time_ms) OVER w AS ms_0, sum(c.shared_blks_hit) OVER w::float8 AS hit_0,
               sum(c.shared_blks_hit + c.shared_blks_read) OVER w::float8 AS blocks_0, sum(c.wal_bytes) OVER w::float8 AS wal_0,
               r.calls::float8 AS calls_1, r.rows::float8 AS rows_1, r.total_exec_time_ms AS ms_1, r.shared_blks_hit::float8 AS hit_1,
               (r.shared_blks_hit + r.shared_blks_read)::float8 AS blocks_1, r.wal_bytes::float8 AS wal_1
          FROM bench.captured_statements c
          LEFT JOIN bench.run_captured_statements r ON r.run_id = run AND r.statement_no = c.statement_no
         WHERE c.owner = captured.owner AND c.workload = captured.workload
        WINDOW w AS (PARTITION BY c.status, coalesce(r.query_id::text, 'statement ' || c.statement_no))
    ), f AS (
        SELECT s.*,
               CASE WHEN measured THEN calls_0 / sum(calls_0) FILTER (WHERE measured) OVER () END AS share_0,
               CASE WHEN measured THEN calls_1 / sum(calls_1) FILTER (WHERE measured) OVER () END AS share_1
          FROM s
    ), p AS (
        SELECT f.no, f.status, f.reason, f.query, f.measured, f.share_0, f.share_1, x.*,
               array_to_string(ARRAY[
                   CASE WHEN abs(share_1 - share_0) > mix
                        THEN format('%s %% of the calls instead of %s %%', round((100 * share_1)::numeric, 1), round((100 * share_0)::numeric, 1)) END,
                   CASE WHEN abs(x.rows_1 - x.rows_0) > few * greatest(x.rows_0, 1)
                        THEN format('%s rows per call instead of %s', round(x.rows_1::numeric, 2), round(x.rows_0::numeric, 2)) END,
                   CASE WHEN abs(x.blocks_1 - x.blocks_0) > many * greatest(x.blocks_0, 1)
                        THEN format('%s blocks per call instead of %s', round(x.blocks_1::numeric, 1), round(x.blocks_0::numeric, 1)) END],
                   ', ') AS differences
          FROM f
         CROSS JOIN LATERAL (
               SELECT f.ms_0 / nullif(f.calls_0, 0) AS ms_0, f.ms_1 / nullif(f.calls_1, 0) AS ms_1,
                      f.rows_0 / nullif(f.calls_0, 0) AS rows_0, f.rows_1 / nullif(f.calls_1, 0) AS rows_1,
                      f.blocks_0 / nullif(f.calls_0, 0) AS blocks_0, f.blocks_1 / nullif(f.calls_1, 0) AS blocks_1,
                      f.wal_0 / nullif(f.calls_0, 0) AS wal_0, f.wal_1 / nullif(f.calls_1, 0) AS wal_1,
                      f.hit_0 / nullif(f.blocks_0, 0) AS hit_0, f.hit_1 / nullif(f.blocks_1, 0) AS hit_1) x
    ), t AS (
        SELECT sum(calls) FILTER (WHERE covered) / nullif(sum(calls), 0)::float8 AS calls_share,
               coalesce(sum(ms) FILTER (WHERE covered), 0) / nullif(captured.total_exec_time_ms, 0) AS time_share,
               captured.commits / nullif(sum(calls) FILTER (WHERE queryid IS NOT NULL), 0) AS commits_0,
               commits / nullif(sum(calls_1) FILTER (WHERE measured), 0) AS commits_1,
               sum(calls_0) FILTER (WHERE measured) AS calls_0, sum(calls_1) FILTER (WHERE measured) AS calls_1,
               sum(ms_0) FILTER (WHERE measured) AS ms_0, sum(ms_1) FILTER (WHERE measured) AS ms_1,
               sum(rows_0) FILTER (WHERE measured) AS rows_0, sum(rows_1) FILTER (WHERE measured) AS rows_1,
               sum(hit_0) FILTER (WHERE measured) AS hit_0, sum(hit_1) FILTER (WHERE measured) AS hit_1,
               sum(blocks_0) FILTER (WHERE measured) AS blocks_0, sum(blocks_1) FILTER (WHERE measured) AS blocks_1,
               sum(wal_0) FILTER (WHERE measured) AS wal_0, sum(wal_1) FILTER (WHERE measured) AS wal_1
          FROM s
    ), v AS (
        SELECT count(*) FILTER (WHERE p.measured) AS measured,
               count(*) FILTER (WHERE p.measured AND p.differences = '') AS same,
               min(p.reason) FILTER (WHERE p.status = 'captured') AS reason,
               (SELECT count(*) FROM p a JOIN p b ON a.measured AND b.measured AND a.ms_0 > slower * b.ms_0 AND a.ms_1 < b.ms_1) AS swapped,
               coalesce((SELECT abs(t.commits_1 - t.commits_0) <= many * t.commits_0 FROM t), true) AS commits_same
          FROM p
    ), lines AS (
        SELECT p.no,
               CASE WHEN p.status <> 'captured' THEN 'left out' || coalesce(': ' || p.reason, '')
                    WHEN p.measured IS NOT TRUE THEN 'not measured' || coalesce(': ' || p.reason, '')
                    WHEN p.differences = '' THEN 'same'
                    ELSE 'differs: ' || p.differences END AS words,
               p.share_0, p.share_1, p.ms_0, p.ms_1, p.rows_0, p.rows_1, p.blocks_0, p.blocks_1, p.wal_0, p.wal_1,
               p.hit_0, p.hit_1, p.query
          FROM p
        UNION ALL
        SELECT NULL,
               CASE WHEN v.measured = 0 THEN 'not measured' || coalesce(': ' || v.reason, '')
                    ELSE concat_ws('; ',
                        format('%s: %s of %s statements are the same',
                               CASE WHEN v.same = v.measured AND v.commits_same THEN 'faithful' ELSE 'differs' END,
                               v.same, v.measured),
                        format('they cover %s %% of the calls and %s %% of the execution time',
                               round((100 * t.calls_share)::numeric, 1), round((100 * t.time_share)::numeric, 1)),
                        format('%s commits per statement instead of %s',
                               round(t.commits_1::numeric, 3), coalesce(round(t.commits_0::numeric, 3)::text, 'an unknown number')),
                        format('%s bytes of WAL per statement instead of %s',
                               round((t.wal_1 / t.calls_1)::numeric), round((t.wal_0 / t.calls_0)::numeric)),
                        CASE v.swapped WHEN 0 THEN 'ranked alike by mean time'
                             ELSE format('ranked differently by mean time in %s pairs of statements', v.swapped) END) END,
               t.calls_share, NULL, t.ms_0 / t.calls_0, t.ms_1 / t.calls_1, t.rows_0 / t.calls_0, t.rows_1 / t.calls_1,
               t.blocks_0 / t.calls_0, t.blocks_1 / t.calls_1, t.wal_0 / t.calls_0, t.wal_1 / t.calls_1,
               t.hit_0 / nullif(t.blocks_0, 0), t.hit_1 / nullif(t.blocks_1, 0), NULL
          FROM t, v
    )
    SELECT l.no, l.words,
           round(l.share_0::numeric, 4)::float8, round(l.share_1::numeric, 4)::float8,
           round(l.ms_0::numeric, 4)::float8, round(l.ms_1::numeric, 4)::float8,
           round(l.rows_0::numeric, 3)::float8, round(l.rows_1::numeric, 3)::float8,
           round(l.blocks_0::numeric, 2)::float8, round(l.blocks_1::numeric, 2)::float8,
           round(l.wal_0::numeric, 1)::float8, round(l.wal_1::numeric, 1)::float8,
           round(l.hit_0::numeric, 4)::float8, round(l.hit_1::numeric, 4)::float8,
           l.query
      FROM lines l
     ORDER BY l.no NULLS LAST;
END
$$;
COMMENT ON FUNCTION bench.validate_workload IS 'compare a run of a captured workload with what was captured, statement by statement';
