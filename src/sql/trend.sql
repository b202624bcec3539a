/* Runs with the same label over time: series, levels, changes. Compiling a query takes longer than reading 100,000
   runs.

   A series is what column series of bench.runs says. A night is a run, or the runs that a job has made at a time; runs
   that lost clients are in none. Sets have series of their own: each arm of a comparison and each point of a sweep has
   one, and a search. */

/* Whether a night is disturbed, and which runs it has. */
CREATE TYPE bench_internal.night AS (started_at timestamptz, run_ids bigint[], disturbances text[]);

/* The nights of a label, with a value for each of these figures. What disturbs most nights of a series is as usual
   there, and left out. The nights of a series follow each other by the numbers of their runs, since the clock may have
   been set back; those of imported runs by their start. */
CREATE FUNCTION bench_internal.nights(
    label text, figures text[],
    OUT series text, OUT started_at timestamptz, OUT run_ids bigint[], OUT of_figures float8[], OUT disturbances text[],
    OUT is_baseline boolean, OUT imported_start timestamptz
) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1000
BEGIN ATOMIC
    WITH repeated AS MATERIALIZED (
        SELECT u.run_id, u.set_id, j.job_run_id
          FROM bench.job_runs j, unnest(j.run_ids, j.set_ids) u (run_id, set_id)
         WHERE cardinality(j.run_ids || j.set_ids) > 1),
    runs AS MATERIALIZED (
        SELECT r.run_id, r.series, r.started_at, CASE WHEN r.imported_at IS NOT NULL THEN r.started_at END AS imported_start,
               r.disturbances, r.is_baseline, r.set_id, r.arm, r.round,
               ARRAY(SELECT CASE f.figure
                                WHEN 'tps' THEN r.tps
                                WHEN 'latency_avg_ms' THEN r.latency_avg_ms
                                WHEN 'latency_p50_ms' THEN r.latency_p50_ms
                                WHEN 'latency_p90_ms' THEN r.latency_p90_ms
                                WHEN 'latency_p95_ms' THEN r.latency_p95_ms
                                WHEN 'latency_p99_ms' THEN r.latency_p99_ms
                                WHEN 'latency_p999_ms' THEN r.latency_p999_ms
                                WHEN 'cpu_us_per_transaction'
                                THEN 1000 * t.sessions_cpu_ms / nullif(r.transactions + r.failed, 0)
                                WHEN 'wal_bytes_per_transaction'
                                THEN (SELECT sum(i.wal_bytes_by_clients)::float8 FROM bench.run_server_intervals i WHERE i.run_id = r.run_id)
                                     / nullif(r.transactions + r.failed, 0)
                                ELSE (to_jsonb(p) ->> f.figure)::float8
                            END
                       FROM unnest($2) f (figure)) AS of_figures
          FROM bench.runs r
          LEFT JOIN bench.run_times t ON t.run_id = r.run_id AND 'cpu_us_per_transaction' = ANY ($2)
          LEFT JOIN bench.pgio_runs p ON p.run_id = r.run_id
         WHERE r.label = $1 AND r.state = 'finished' AND r.aborted_clients = 0 AND r.series IS NOT NULL),
    usual AS MATERIALIZED (
        SELECT d.series, d.disturbance
          FROM (SELECT r.series, unnest(r.disturbances) AS disturbance FROM runs r) d
         GROUP BY d.series, d.disturbance
        HAVING 2 * count(*) > (SELECT count(*) FROM runs r WHERE r.series = d.series)),
    single AS NOT MATERIALIZED (
        SELECT j.job_run_id, r.series, r.started_at, r.imported_start, r.run_id, r.of_figures,
               CASE WHEN r.disturbances = '{}' THEN '{}'
                    ELSE ARRAY(SELECT d FROM unnest(r.disturbances) d
                                WHERE (r.series, d) NOT IN (SELECT u.series, u.disturbance FROM usual u)) END AS disturbances,
               r.is_baseline, r.set_id, r.arm, r.round
          FROM runs r LEFT JOIN repeated j ON j.run_id = r.run_id),
    sets AS MATERIALIZED (
        SELECT s.set_id, s.kind, s.result, s.options,
               coalesce((SELECT a.arm ->> 'name' FROM jsonb_array_elements(s.options -> 'arms') a (arm)
                          WHERE a.arm -> 'baseline' = 'true'), s.options #>> '{arms,0,name}') AS baseline,
               coalesce(-j.job_run_id, s.set_id) AS night
          FROM bench.sets s LEFT JOIN repeated j ON j.set_id = s.set_id
         WHERE s.set_id IN (SELECT r.set_id FROM runs r) AND s.state = 'finished'),
    /* What makes a night with others: the night is the negative number of the run of a job that made several, or a set. */
    parts (night, series, started_at, imported_start, run_id, of_figures, disturbances, is_baseline) AS NOT MATERIALIZED (
        SELECT -s.job_run_id, s.series, s.started_at, s.imported_start, s.run_id, s.of_figures, s.disturbances, s.is_baseline
          FROM single s WHERE s.set_id IS NULL AND s.job_run_id IS NOT NULL
        UNION ALL
        /* A point of a sweep. */
        SELECT s.night, format('sweep, %s: %s', r.arm, r.series), r.started_at, r.imported_start, r.run_id, r.of_figures,
               r.disturbances, r.is_baseline
          FROM single r JOIN sets s USING (set_id)
         WHERE s.kind = 'sweep' AND r.round > 0
        UNION ALL
        /* An arm beside the baseline of its round. */
        SELECT s.night, format('comparison, %s / %s: %s', r.arm, s.baseline, r.series)
                        || CASE WHEN b.series <> r.series THEN ' / ' || b.series ELSE '' END,
               r.started_at, r.imported_start, r.run_id,
               ARRAY(SELECT v.of_arm / nullif(v.of_baseline, 0)
                       FROM unnest(r.of_figures, b.of_figures) WITH ORDINALITY v (of_arm, of_baseline, place) ORDER BY v.place),
               CASE WHEN r.disturbances = '{}' THEN b.disturbances ELSE r.disturbances END, r.is_baseline OR b.is_baseline
          FROM single r JOIN sets s USING (set_id)
          JOIN single b ON b.set_id = r.set_id AND b.arm = s.baseline AND b.round = r.round
         WHERE s.kind = 'compare' AND r.round > 0 AND r.arm <> s.baseline
        UNION ALL
        /* The rate that a search has found, beside its first run, which was the one without a rate. */
        SELECT r.night, format('search, p%s under %s ms: %s', r.options ->> 'percentile', r.options ->> 'latency_limit', r.first_series),
               r.started_at, r.imported_start, r.run_id,
               ARRAY(SELECT CASE WHEN f.figure = 'tps' AND r.is_first THEN r.rate END FROM unnest($2) f (figure)),
               r.disturbances, r.is_baseline
          FROM (SELECT r.*, s.night, s.options, (s.result ->> 'rate')::float8 AS rate, first_value(r.series) OVER w AS first_series,
                       r.run_id = first_value(r.run_id) OVER w AS is_first
                  FROM single r JOIN sets s USING (set_id)
                 WHERE s.kind = 'find_capacity' AND s.result ->> 'rate' IS NOT NULL AND 'tps' = ANY ($2)
                WINDOW w AS (PARTITION BY r.set_id ORDER BY r.run_id)) r)
    SELECT s.series, s.started_at, ARRAY[s.run_id], s.of_figures, s.disturbances, s.is_baseline, s.imported_start
      FROM single s WHERE s.set_id IS NULL AND s.job_run_id IS NULL
    UNION ALL
    /* Runs that were disturbed count if all were. */
    SELECT m.series, m.started_at, m.run_ids, array_agg(m.value ORDER BY m.place), m.disturbances, m.is_baseline, m.imported_start
      FROM (SELECT p.night, p.series, f.place, min(p.started_at) AS started_at, array_agg(p.run_id ORDER BY p.run_id) AS run_ids,
                   coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY f.value) FILTER (WHERE p.disturbances = '{}'),
                            percentile_cont(0.5) WITHIN GROUP (ORDER BY f.value)) AS value,
                   CASE WHEN bool_or(p.disturbances = '{}') THEN '{}' ELSE max(p.disturbances) END AS disturbances,
                   bool_or(p.is_baseline) AS is_baseline, min(p.imported_start) AS imported_start
              FROM parts p, unnest(p.of_figures) WITH ORDINALITY f (value, place)
             GROUP BY p.night, p.series, f.place) m
     GROUP BY m.night, m.series, m.started_at, m.run_ids, m.disturbances, m.is_baseline, m.imported_start;
END;

/* The same as arrays in the order of the nights, a row for each series and figure that a night has. */
CREATE FUNCTION bench_internal.series_of(
    label text, figures text[],
    OUT series text, OUT figure text, OUT nights bench_internal.night[], OUT of_nights float8[], OUT disturbed boolean[],
    OUT baselines boolean[]
) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT s.series, f.figure, s.nights, v.of_nights, s.disturbed, s.baselines
      FROM (SELECT n.series, array_agg(ROW(n.started_at, n.run_ids, n.disturbances)::bench_internal.night) AS nights,
                   array_agg(n.of_figures) AS of_figures, array_agg(n.disturbances <> '{}') AS disturbed,
                   array_agg(n.is_baseline) AS baselines
              FROM (SELECT * FROM bench_internal.nights($1, $2) n
                     WHERE $2 <> '{}' ORDER BY n.series, n.imported_start, n.run_ids[1]) n
             GROUP BY n.series) s,
           unnest($2) WITH ORDINALITY f (figure, place),
           LATERAL (SELECT array_agg(u.value) AS of_nights, count(u.value) AS known
                      FROM unnest(s.of_figures[:][f.place:f.place]) u (value)) v
     WHERE v.known > 0;
END;

/* The runs of the nights at these places, which ascend. */
CREATE FUNCTION bench_internal.runs_of(nights bench_internal.night[], places int[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(SELECT unnest(n.run_ids)
               FROM unnest($1[$2[1]:$2[cardinality($2)]]) WITH ORDINALITY n (started_at, run_ids, disturbances, place)
              WHERE n.place + $2[1] - 1 = ANY ($2) ORDER BY n.place);

/* Fails unless it is a figure of trends, and the caller may see runs with the label. */
CREATE FUNCTION bench_internal.require_trend(label text, figure text, least_change float8) RETURNS void
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'require_trend_wrapper';

/* Levels and states of the nights of a series, in their order. */
CREATE FUNCTION bench_internal.judge_nights(
    figure text, nights float8[], disturbed boolean[], baselines boolean[], least_change float8 DEFAULT 0.03,
    OUT level float8, OUT level_low float8, OUT level_high float8, OUT state text
) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT ROWS 1000 AS 'MODULE_PATHNAME', 'judge_nights_wrapper';

CREATE FUNCTION bench.trend(
    label text, -- label of the runs
    figure text DEFAULT 'tps', -- figure: tps, latency_avg_ms, latency_p50_ms to latency_p999_ms, cpu_us_per_transaction, wal_bytes_per_transaction, or a rate, an average or a percentile of bench.pgio_runs
    least_change float8 DEFAULT 0.03, -- least change that counts, as a fraction
    OUT series text, -- what the runs of the series have in common
    OUT started_at timestamptz, -- start of the night: of its first run
    OUT value float8, -- figure of the night; of several runs of a job, their median
    OUT state text, -- state: ok, slower, faster, suspect, noisy or no history
    OUT level float8, -- geometric mean of the nights between the changes or baselines before and after this one, without suspects
    OUT level_low float8, -- lower end of the 95 % interval of level
    OUT level_high float8, -- upper end of the 95 % interval of level
    OUT run_ids bigint[], -- runs of the night
    OUT disturbances text[] -- findings of bench.advice for which a night is noisy: it is part of no level
) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT bench_internal.require_trend($1, $2, $3);
    SELECT s.series, n.started_at, n.value, n.state, n.level, n.level_low, n.level_high, n.run_ids, n.disturbances
      FROM (SELECT * FROM bench_internal.series_of($1, ARRAY[$2]) s ORDER BY s.series COLLATE "C") s,
           /* In the order of the nights. */
           ROWS FROM (unnest(s.nights, s.of_nights), bench_internal.judge_nights($2, s.of_nights, s.disturbed, s.baselines, $3))
               n (started_at, run_ids, disturbances, value, level, level_low, level_high, state)
$$;
COMMENT ON FUNCTION bench.trend IS 'a figure of the runs with a label over time, with a level and a state for each night';

/* Whether one of these runs, or one of these sets, is of a suspect night. */
CREATE FUNCTION bench_internal.is_suspect(run_ids bigint[], set_ids bigint[], figures text[], least_change float8) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT EXISTS (
        SELECT FROM (SELECT r.label, array_agg(r.run_id) AS run_ids FROM bench.runs r
                      WHERE (r.run_id = ANY ($1) OR r.set_id = ANY ($2)) AND r.label IS NOT NULL GROUP BY r.label) l,
               bench_internal.series_of(l.label, coalesce($3, '{tps,latency_avg_ms,riops}')) s,
               ROWS FROM (unnest(s.nights), bench_internal.judge_nights(s.figure, s.of_nights, s.disturbed, s.baselines, $4))
                   n (started_at, run_ids, disturbances, level, level_low, level_high, state)
         WHERE n.state = 'suspect' AND n.run_ids && l.run_ids)
$$;

/* What has one value in a run: options and versions, settings, facts about the machine, sizes. Aspects have a place in
   their order. */
CREATE FUNCTION bench_internal.facts(
    run_ids bigint[], OUT run_id bigint, OUT aspect text, OUT place int, OUT name text, OUT value text
) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH runs AS MATERIALIZED (
        /* How long a warm-up until steady took is not an option. */
        SELECT r.run_id, CASE WHEN r.max_warmup_s IS NULL THEN to_jsonb(r) ELSE to_jsonb(r) - 'warmup_s' END AS run
          FROM bench.runs r WHERE r.run_id = ANY ($1))
    SELECT r.run_id, 'option', 2, o.name, nullif(o.value, 'null') #>> '{}'
      FROM runs r, jsonb_each(r.run) o (name, value)
     WHERE o.name IN ('database_name', 'backends', 'server_version', 'extension_version', 'stalled_clients', 'unmatched',
                      {{literals compared}})
    UNION ALL
    SELECT r.run_id, 'option', 2, o.name, nullif(to_jsonb(p) -> o.name, 'null') #>> '{}'
      FROM runs r JOIN bench.pgio_runs p USING (run_id),
           unnest(ARRAY[{{literals pgio_options}}]) o (name)
    UNION ALL
    SELECT r.run_id, 'setting', 3, s.name, s.setting
      FROM runs r JOIN bench.run_settings s USING (run_id)
    UNION ALL
    SELECT r.run_id, 'hardware', 4, CASE e.machine WHEN 'server' THEN '' ELSE e.machine || ' ' END || e.name, e.value
      FROM runs r JOIN bench.run_environment e USING (run_id)
    UNION ALL
    SELECT r.run_id, 'size', 5, o.name, r.run ->> o.name
      FROM runs r, unnest('{scale,partitions,partition_method}'::text[]) o (name)
    UNION ALL
    /* The name of a TOAST table has the OID of its table; its index is as large as its rows make it. */
    SELECT r.run_id, 'size', 5, CASE t.kind WHEN 'TOAST table' THEN 'TOAST of ' || t.of_table
                                            ELSE t.schema_name || '.' || t.name END,
           pg_size_pretty(t.bytes_before)
      FROM runs r JOIN bench.run_tables t USING (run_id)
     WHERE t.schema_name <> 'pg_toast' OR t.kind = 'TOAST table'
$$;

/* Changes of the level of a series of nights, which have numbers from 1. */
CREATE FUNCTION bench_internal.change_points(
    figure text, nights float8[], disturbed boolean[], baselines boolean[], least_change float8 DEFAULT 0.03,
    OUT kind text, OUT at int, OUT found int, OUT before int[], OUT after int[], OUT level_before float8,
    OUT level_after float8, OUT ratio float8, OUT ratio_low float8, OUT ratio_high float8, OUT p_value float8,
    OUT is_better boolean
) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT ROWS 3 AS 'MODULE_PATHNAME', 'change_points_wrapper';

/* What differs between two groups of runs, as objects that bench_internal.likely_cause reads. What has one value in a
   run differs if most of the runs of either side have the same one; agreement is the smaller share of those. */
CREATE FUNCTION bench_internal.differences(before bigint[], after bigint[]) RETURNS SETOF jsonb
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH runs AS MATERIALIZED (
        SELECT s.is_after, r.run_id, nullif(r.transactions + r.failed, 0)::float8 AS transactions
          FROM (SELECT false AS is_after, unnest($1) AS run_id UNION ALL SELECT true, unnest($2)) s
          JOIN bench.runs r USING (run_id)),
    facts AS MATERIALIZED (SELECT f.run_id, f.aspect, f.name, f.value FROM bench_internal.facts($1 || $2) f
                            WHERE f.aspect <> 'size'),
    usual AS (
        /* An array, so that a fact that a run does not have counts, too. */
        SELECT n.aspect, n.name, r.is_after, (mode() WITHIN GROUP (ORDER BY ARRAY[f.value]))[1] AS value
          FROM (SELECT DISTINCT f.aspect, f.name FROM facts f) n CROSS JOIN runs r
          LEFT JOIN facts f ON f.run_id = r.run_id AND f.aspect = n.aspect AND f.name = n.name
         GROUP BY n.aspect, n.name, r.is_after),
    single AS (
        SELECT b.aspect, b.name, b.value AS before, a.value AS after,
               (SELECT min(s.share)
                  FROM (SELECT avg((f.value IS NOT DISTINCT FROM CASE WHEN r.is_after THEN a.value ELSE b.value END)::int) AS share
                          FROM runs r LEFT JOIN facts f ON f.run_id = r.run_id AND f.aspect = b.aspect AND f.name = b.name
                         GROUP BY r.is_after) s) AS agreement
          FROM usual b JOIN usual a USING (aspect, name)
         WHERE NOT b.is_after AND a.is_after AND b.value IS DISTINCT FROM a.value
           AND (b.aspect <> 'hardware' OR (b.value IS NOT NULL AND a.value IS NOT NULL))),
    tables AS (
        SELECT t.kind, t.schema_name || '.' || t.name AS name, r.is_after, count(*) AS runs, avg(t.bytes_before) AS bytes,
               avg(t.sequential_scans / r.transactions) AS sequential_scans, avg(t.index_scans / r.transactions) AS index_scans
          FROM runs r JOIN bench.run_tables t USING (run_id)
         WHERE t.schema_name <> 'pg_toast' AND t.kind <> 'TOAST table'
         GROUP BY t.kind, t.schema_name, t.name, r.is_after),
    observed AS (
        SELECT r.is_after, count(*) AS runs FROM runs r
         WHERE EXISTS (SELECT FROM bench.run_tables t WHERE t.run_id = r.run_id)
         GROUP BY r.is_after),
    sides AS (
        SELECT n.kind, n.name, coalesce(b.runs, 0) > ob.runs / 2.0 AS was, coalesce(a.runs, 0) > oa.runs / 2.0 AS remains,
               b.bytes AS bytes_before, a.bytes AS bytes_after, b.index_scans AS index_scans_before,
               a.index_scans AS index_scans_after, b.sequential_scans AS sequential_scans_before,
               a.sequential_scans AS sequential_scans_after
          FROM (SELECT DISTINCT t.kind, t.name FROM tables t) n
          JOIN observed ob ON NOT ob.is_after
          JOIN observed oa ON oa.is_after
          LEFT JOIN tables b ON b.kind = n.kind AND b.name = n.name AND NOT b.is_after
          LEFT JOIN tables a ON a.kind = n.kind AND a.name = n.name AND a.is_after),
    /* NULL on a side without samples, which has no change. */
    waits AS (
        SELECT concat_ws(' ', w.class, w.event) AS name,
               (coalesce(sum(w.samples) FILTER (WHERE NOT r.is_after), 0)
                / nullif(sum(sum(w.samples) FILTER (WHERE NOT r.is_after)) OVER (), 0))::float8 AS before,
               (coalesce(sum(w.samples) FILTER (WHERE r.is_after), 0)
                / nullif(sum(sum(w.samples) FILTER (WHERE r.is_after)) OVER (), 0))::float8 AS after
          FROM runs r JOIN bench.run_waits w USING (run_id)
         GROUP BY w.class, w.event),
    budget AS (
        SELECT component AS name, b.us_per_transaction AS before, a.us_per_transaction AS after
          FROM (SELECT * FROM bench.time_budget($1)) b
          FULL JOIN (SELECT * FROM bench.time_budget($2)) a USING (component)
         /* A part that is there is NULL if it could not be measured. */
         WHERE (b IS NULL OR b.us_per_transaction IS NOT NULL) AND (a IS NULL OR a.us_per_transaction IS NOT NULL)),
    work AS (
        SELECT w.name, avg(w.amount) FILTER (WHERE NOT w.is_after) AS before, avg(w.amount) FILTER (WHERE w.is_after) AS after
          FROM (SELECT r.is_after, a.name, a.amount / r.transactions AS amount
                  FROM runs r,
                       LATERAL (SELECT sum(i.temp_bytes) AS temporary, sum(i.blocks_read) AS blocks,
                                       sum(coalesce(i.wal_bytes_by_clients, i.wal_bytes)) AS wal
                                  FROM bench.run_server_intervals i WHERE i.run_id = r.run_id) i,
                       LATERAL (VALUES ('temporary bytes', i.temporary), ('blocks read', i.blocks), ('WAL bytes', i.wal))
                               a (name, amount)) w
         GROUP BY w.name
        /* Only what both sides have observed. */
        HAVING count(w.amount) FILTER (WHERE w.is_after) > 0 AND count(w.amount) FILTER (WHERE NOT w.is_after) > 0
        UNION ALL
        SELECT 'sequential scans of ' || s.name, s.sequential_scans_before, s.sequential_scans_after
          FROM sides s WHERE s.kind <> 'index'
        UNION ALL
        SELECT 'index scans of ' || s.name, s.index_scans_before, s.index_scans_after
          FROM sides s WHERE s.kind <> 'index')
    SELECT jsonb_build_object('aspect', s.aspect, 'name', s.name, 'before', s.before, 'after', s.after, 'agreement', s.agreement)
      FROM single s WHERE s.agreement >= 0.6
    UNION ALL
    SELECT jsonb_build_object('aspect', 'relation', 'name', s.kind || ' ' || s.name,
                              'before', CASE WHEN s.was THEN pg_size_pretty(s.bytes_before) END,
                              'after', CASE WHEN s.remains THEN pg_size_pretty(s.bytes_after) END,
                              'number_before', CASE WHEN s.kind = 'index' THEN s.index_scans_before END,
                              'number_after', CASE WHEN s.kind = 'index' THEN s.index_scans_after END)
      FROM sides s WHERE s.was <> s.remains
    UNION ALL
    SELECT jsonb_build_object('aspect', 'size', 'name', s.kind || ' ' || s.name,
                              'before', pg_size_pretty(s.bytes_before), 'after', pg_size_pretty(s.bytes_after),
                              'number_before', s.bytes_before, 'number_after', s.bytes_after)
      FROM sides s
     WHERE s.was AND s.remains AND s.bytes_before > 0 AND s.bytes_after > 0
       AND abs(ln(s.bytes_after / s.bytes_before)) > 0.02
    UNION ALL
    SELECT jsonb_build_object('aspect', 'wait', 'name', w.name, 'before', round(100 * w.before::numeric, 1) || ' %',
                              'after', round(100 * w.after::numeric, 1) || ' %',
                              'number_before', w.before, 'number_after', w.after)
      FROM waits w WHERE abs(w.before - w.after) >= 0.01
    UNION ALL
    SELECT jsonb_build_object('aspect', 'budget', 'name', b.name, 'before', round(b.before::numeric, 1) || ' us',
                              'after', round(b.after::numeric, 1) || ' us', 'number_before', b.before, 'number_after', b.after)
      FROM budget b
     WHERE abs(coalesce(b.after, 0) - coalesce(b.before, 0)) > 0.02 * (SELECT sum(t.before) FROM budget t)
       AND EXISTS (SELECT FROM budget t WHERE t.after IS NOT NULL)
    UNION ALL
    SELECT jsonb_build_object('aspect', 'work', 'name', w.name, 'before', round(w.before::numeric, 2)::text,
                              'after', round(w.after::numeric, 2)::text, 'number_before', w.before, 'number_after', w.after)
      FROM work w WHERE abs(coalesce(w.after, 0) - coalesce(w.before, 0)) > 0.1 * greatest(w.before, w.after, 0.001)
$$;

/* The likely cause of a change of the time per transaction by a ratio, and the differences in the order of their
   likelihood. */
CREATE FUNCTION bench_internal.likely_cause(time_ratio float8, differences jsonb, OUT cause text, OUT ordered jsonb) RETURNS SETOF record
LANGUAGE c IMMUTABLE ROWS 1 AS 'MODULE_PATHNAME', 'likely_cause_wrapper';

/* The figures that bench.changes looks at by default. */
CREATE FUNCTION bench_internal.figures_of_changes() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{tps,latency_avg_ms,latency_p95_ms,latency_p99_ms,cpu_us_per_transaction,wal_bytes_per_transaction,riops,select_p99_ms,update_p99_ms}'::pg_catalog.text[];

CREATE FUNCTION bench.changes(
    label text, -- label of the runs
    figures text[] DEFAULT NULL, -- figures to look at, as of bench.trend; the first one that changed stands for the change. NULL: tps, latencies, CPU and WAL per transaction, riops
    least_change float8 DEFAULT 0.03, -- least change that counts, as a fraction
    OUT series text, -- what the runs of the series have in common
    OUT changed_at timestamptz, -- start of the first night of the new level
    OUT change text, -- slower or faster, of the figure
    OUT figure text, -- figure that changed
    OUT before float8, -- level before, a geometric mean
    OUT after float8, -- level after
    OUT ratio float8, -- ratio of after to before
    OUT ratio_low float8, -- lower end of the 95 % interval of ratio
    OUT ratio_high float8, -- upper end of the 95 % interval of ratio
    OUT cause text, -- likely cause, or unknown
    OUT p_value float8, -- probability of such a ratio without a change
    OUT kind text, -- kind of the change: step or drift
    OUT found_at timestamptz, -- start of the night that showed it in the first of its figures
    OUT figures_changed text[], -- all figures that changed in this night or the one before or after, with their change
    OUT differences jsonb, -- what differs between the runs before and after, the likeliest cause first, then effects
    OUT runs_before bigint[], -- runs of the level before, at most of 50 nights
    OUT runs_after bigint[] -- runs of the level after, at most of 50 nights
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 3
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT bench_internal.require_trend($1, f.figure, $3) FROM unnest(coalesce($2, bench_internal.figures_of_changes())) f (figure);
    WITH points AS MATERIALIZED (
        SELECT s.series, s.figure, array_position(f.figures, s.figure) AS place, c.kind, c.at, c.level_before, c.level_after,
               c.ratio, c.ratio_low, c.ratio_high, c.p_value, c.is_better, (s.nights[c.at]).started_at AS changed_at,
               (s.nights[c.found]).started_at AS found_at, c.found, bench_internal.runs_of(s.nights, c.before) AS runs_before,
               bench_internal.runs_of(s.nights, c.after) AS runs_after
          FROM (SELECT coalesce($2, bench_internal.figures_of_changes()) AS figures) f,
               bench_internal.series_of($1, f.figures) s,
               bench_internal.change_points(s.figure, s.of_nights, s.disturbed, s.baselines, $3) c),
    grouped AS (
        SELECT p.*, count(*) FILTER (WHERE p.is_same IS NOT TRUE) OVER (PARTITION BY p.series ORDER BY p.at) AS number
          FROM (SELECT p.*, p.at - lag(p.at) OVER (PARTITION BY p.series ORDER BY p.at) <= 1 AS is_same FROM points p) p),
    changes AS (
        SELECT DISTINCT ON (g.series, g.number) g.*,
               first_value(g.found_at) OVER (PARTITION BY g.series, g.number ORDER BY g.found) AS first_found_at,
               array_agg(format('%s %s %%', g.figure, to_char(100 * (g.ratio - 1), 'FMSG999999990.0')))
                   OVER (PARTITION BY g.series, g.number ORDER BY g.place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS figures
          FROM grouped g
         ORDER BY g.series, g.number, g.place)
    SELECT c.series, c.changed_at, CASE WHEN c.is_better THEN 'faster' ELSE 'slower' END, c.figure, c.level_before, c.level_after,
           c.ratio, c.ratio_low, c.ratio_high, l.cause, c.p_value, c.kind, c.first_found_at, c.figures, l.ordered, c.runs_before,
           c.runs_after
      FROM changes c,
           /* The nights next to the change tell most. */
           LATERAL (SELECT coalesce(jsonb_agg(d), '[]') AS found
                      FROM bench_internal.differences(c.runs_before[greatest(cardinality(c.runs_before) - 9, 1):], c.runs_after[:10]) d) d,
           bench_internal.likely_cause(CASE WHEN (c.ratio > 1) = c.is_better THEN 1 / c.ratio ELSE c.ratio END, d.found) l
     ORDER BY c.series COLLATE "C", c.at
$$;
COMMENT ON FUNCTION bench.changes IS 'when runs with a label became slower or faster, by how much, and what changed with it';
