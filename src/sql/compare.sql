/* bench.compare, its verdicts, and what differs between stored runs; bench.grant_to. At the end, PUBLIC
   loses its privileges. */

CREATE TYPE bench.compare_result AS (
    arm        text, -- name of the arm
    runs       int, -- runs that count
    tps        float8, -- geometric mean of the transactions per second of the runs
    ratio      float8, -- ratio of tps to the baseline's in the same rounds; with a rate, of mean latency
    ratio_low  float8, -- lower end of the 95 % interval of ratio
    ratio_high float8, -- upper end of the 95 % interval of ratio
    verdict    text, -- comparison with the baseline in words
    set_id     bigint -- number of the set; NULL on a standby
);
COMMENT ON TYPE bench.compare_result IS 'result row of bench.compare, rounded: an arm, and how it compares with the baseline; bench.arms has all figures';

/* The options of bench.run are those of all arms. */
CREATE FUNCTION bench.compare(
    arms jsonb DEFAULT NULL, -- array of objects of run options, with name and baseline; NULL: in the server, by socket, by TCP
    repeats int DEFAULT 7, -- runs of each arm that count, 1 to 1000
    {{arguments run_options}}
) RETURNS SETOF bench.compare_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 3 AS 'MODULE_PATHNAME', 'compare_wrapper';
COMMENT ON FUNCTION bench.compare IS 'run arms with different options in turn, several times; return how each compares with the baseline';

CREATE FUNCTION bench_internal.numbers_of(ids bench.ids) RETURNS SETOF bigint
LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'numbers_of_wrapper';

/* Figures of runs of two sides, and what can be said of their difference. */
CREATE FUNCTION bench_internal.compare_figures(
    a bench.ids, b bench.ids,
    OUT name text, OUT of_a float8, OUT of_b float8, OUT ratio float8, OUT finding text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 6 AS 'MODULE_PATHNAME', 'compare_figures_wrapper';

CREATE FUNCTION bench.compare_runs(
    a bench.ids, -- runs of one side
    b bench.ids, -- runs of the other side
    OUT aspect text, -- result, option, setting, hardware, size, wait or budget
    OUT name text, -- name of the figure or of what differs
    OUT of_a text, -- value of a
    OUT of_b text, -- value of b
    OUT ratio float8, -- ratio of b to a
    OUT finding text -- result of the comparison in words
) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
    WITH runs AS MATERIALIZED (
        SELECT 'a' AS side, bench_internal.numbers_of($1) AS run_id
        UNION SELECT 'b', bench_internal.numbers_of($2)),
    facts (aspect, place, name, side, run_id, value) AS (
        SELECT f.aspect, f.place, f.name, r.side, r.run_id, f.value
          FROM runs r JOIN bench_internal.facts(ARRAY(SELECT run_id FROM runs)) f USING (run_id)),
    known AS (
        SELECT f.aspect, f.side, count(DISTINCT f.run_id) AS runs
          FROM facts f WHERE f.aspect IN ('option', 'setting') GROUP BY f.aspect, f.side),
    /* Runs may lack an option or setting that others of their side have. */
    values_of_sides AS (
        SELECT f.aspect, f.place, f.name, f.side,
               string_agg(DISTINCT f.value, ', ')
                   || CASE WHEN count(DISTINCT f.run_id) FILTER (WHERE f.value IS NOT NULL) < k.runs
                           THEN format(' (%s of %s runs)', count(DISTINCT f.run_id) FILTER (WHERE f.value IS NOT NULL), k.runs)
                           ELSE '' END AS value
          FROM facts f LEFT JOIN known k USING (aspect, side)
         GROUP BY f.aspect, f.place, f.name, f.side, k.runs),
    differences AS (
        SELECT v.aspect, v.place, v.name,
               max(v.value) FILTER (WHERE v.side = 'a') AS of_a,
               max(v.value) FILTER (WHERE v.side = 'b') AS of_b
          FROM values_of_sides v GROUP BY v.aspect, v.place, v.name),
    /* NULL on a side without samples. */
    waits AS (
        SELECT concat_ws(' ', w.class, w.event) AS name,
               100.0 * coalesce(sum(w.samples) FILTER (WHERE r.side = 'a'), 0)
                   / nullif(sum(sum(w.samples) FILTER (WHERE r.side = 'a')) OVER (), 0) AS of_a,
               100.0 * coalesce(sum(w.samples) FILTER (WHERE r.side = 'b'), 0)
                   / nullif(sum(sum(w.samples) FILTER (WHERE r.side = 'b')) OVER (), 0) AS of_b
          FROM runs r JOIN bench.run_waits w USING (run_id)
         GROUP BY w.class, w.event),
    budgets AS (
        SELECT component AS name, min(b.place) AS place, max(b.us) FILTER (WHERE b.side = 'a') AS of_a,
               max(b.us) FILTER (WHERE b.side = 'b') AS of_b
          FROM (SELECT 'a' AS side, a.* FROM bench.time_budget($1) WITH ORDINALITY a (component, us, share, measured, arm, runs, place)
                UNION ALL
                SELECT 'b', b.* FROM bench.time_budget($2) WITH ORDINALITY b (component, us, share, measured, arm, runs, place)) b
         GROUP BY component)
    SELECT d.aspect, d.name, d.of_a, d.of_b, d.ratio, d.finding
      FROM (SELECT 'result' AS aspect, 1 AS place, f.place AS number, f.name, f.of_a::numeric::text AS of_a,
                   f.of_b::numeric::text AS of_b, f.ratio, f.finding
              FROM bench_internal.compare_figures($1, $2) WITH ORDINALITY
                       f (name, of_a, of_b, ratio, finding, place)
            UNION ALL
            SELECT d.aspect, d.place, 0, d.name, d.of_a, d.of_b, NULL, NULL
              FROM differences d
             WHERE d.of_a IS DISTINCT FROM d.of_b
                   /* In mode spi, each client is a job and a worker. */
                   AND NOT (d.name IN ('jobs', 'workers')
                            AND EXISTS (SELECT FROM differences c
                                         WHERE c.name = 'clients' AND c.of_a IS NOT DISTINCT FROM d.of_a
                                           AND c.of_b IS NOT DISTINCT FROM d.of_b))
            UNION ALL
            SELECT 'wait', 6, 0, w.name, round(w.of_a, 1) || ' %', round(w.of_b, 1) || ' %',
                   w.of_b / nullif(w.of_a, 0), NULL
              FROM waits w WHERE abs(coalesce(w.of_a, 0) - coalesce(w.of_b, 0)) >= 1
            UNION ALL
            SELECT 'budget', 7, b.place, b.name, round(b.of_a::numeric, 1) || ' us',
                   round(b.of_b::numeric, 1) || ' us', b.of_b / nullif(b.of_a, 0), NULL
              FROM budgets b) d
     ORDER BY d.place, d.number, d.name COLLATE "C"
$$;
COMMENT ON FUNCTION bench.compare_runs IS 'compare stored runs: figures, and what differed between them';

CREATE FUNCTION bench.grant_to(
    role regrole -- role that gets the privileges
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'grant_to_wrapper';
COMMENT ON FUNCTION bench.grant_to IS 'grant a role what it needs to run benchmarks and to see its own runs';

/* Rows of a run, in each table with its number, are visible to those who see the run, and dumped. */
{{each table of runs}}
ALTER TABLE bench.{{table}} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.{{table}} USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = {{table}}.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.{{table}}', '');
{{end}}

/* PUBLIC has EXECUTE on new functions by default. */
REVOKE ALL ON ALL ROUTINES IN SCHEMA bench, bench_internal FROM PUBLIC;
