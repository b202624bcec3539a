/* bench.compare and bench.grant_to. At the end, PUBLIC loses its privileges. */

CREATE FUNCTION bench.compare(
    scripts      text     DEFAULT 'tpcb-like',
    modes        text[]   DEFAULT '{spi,libpq}',
    repeats      int      DEFAULT 3,
    clients      int      DEFAULT 1,
    jobs         int      DEFAULT NULL,
    duration     bench.span DEFAULT NULL,
    transactions bigint   DEFAULT NULL,
    protocol     text     DEFAULT 'prepared',
    vacuum       text     DEFAULT 'auto',
    warmup       bench.span DEFAULT '0',
    seed         text     DEFAULT NULL,
    label        text     DEFAULT NULL,
    rate              float8  DEFAULT NULL,
    latency_limit     float8  DEFAULT NULL,
    max_tries         int     DEFAULT 1,
    variables         jsonb   DEFAULT NULL,
    continue_on_error boolean DEFAULT false,
    exit_on_abort     boolean DEFAULT false,
    target       text     DEFAULT NULL,
    OUT mode           text,
    OUT runs           int,
    OUT tps            float8,
    OUT tps_min        float8,
    OUT tps_max        float8,
    OUT latency_avg_ms float8,
    OUT latency_p95_ms float8,
    OUT ratio          float8,
    OUT run_ids        bigint[],
    OUT missing        bigint[]
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'compare_wrapper';
COMMENT ON FUNCTION bench.compare IS 'run the same benchmark in each mode in turn, several times; returns medians, and the ratio of tps to the first mode';

CREATE FUNCTION bench.grant_to(role regrole) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'grant_to_wrapper';
COMMENT ON FUNCTION bench.grant_to IS 'grant a role what it needs to run benchmarks and to see its own runs';

DROP FUNCTION bench_internal.columns_of(regclass, text);
DROP TABLE bench_internal.figures, bench_internal.latency, bench_internal.sums,
    bench_internal.pgio_figures;

/* Rows of a run, in each table with its number, are visible to those who see the run, and dumped. */
DO $$
DECLARE
    part name;
BEGIN
    FOR part IN
        SELECT c.relname
          FROM pg_catalog.pg_class c
          JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'bench'::pg_catalog.regnamespace
           AND c.relkind = 'r' AND a.attname = 'run_id' AND c.relname <> 'runs'
    LOOP
        EXECUTE pg_catalog.format(
            'ALTER TABLE bench.%1$I ENABLE ROW LEVEL SECURITY;
             CREATE POLICY own ON bench.%1$I
                 USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = %1$I.run_id))', part);
        PERFORM pg_catalog.pg_extension_config_dump(
            pg_catalog.format('bench.%I', part)::pg_catalog.regclass, '');
    END LOOP;
END $$;

/* PUBLIC has EXECUTE on new functions by default. */
REVOKE ALL ON ALL ROUTINES IN SCHEMA bench, bench_internal FROM PUBLIC;
