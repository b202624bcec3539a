/* Sets: runs that belong together, such as those of bench.compare. The session that calls the function
   makes one run after the other; a worker of its own stores the row of the set, at its begin and end.

   The session that drives a set holds a lock, by which others see that it does. */

CREATE SEQUENCE bench.set_id_seq;

CREATE TABLE bench.sets (
    set_id        bigint PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('compare', 'sweep', 'find_capacity')),
    owner         regrole NOT NULL,
    database_name name NOT NULL,
    label         text,
    options       jsonb NOT NULL, -- what it was asked for, with the defaults of all options
    seed          text NOT NULL, -- the order of the runs and their seeds follow from it
    planned_runs  int, -- NULL if not known before
    state         text NOT NULL -- bench.set_summary shows which of those that are running are lost
        CHECK (state IN ('running', 'finished', 'canceled', 'failed', 'lost')),
    started_at    timestamptz NOT NULL,
    finished_at   timestamptz,
    error         text,
    result        jsonb -- what it has found, beside its runs
);
COMMENT ON TABLE bench.sets IS 'sets of runs that belong together, made by bench.compare, bench.sweep and bench.find_capacity';

ALTER TABLE bench.runs ADD FOREIGN KEY (set_id) REFERENCES bench.sets;

ALTER TABLE bench.sets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.sets
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.set_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.sets', '');

CREATE VIEW bench.set_summary WITH (security_invoker = true) AS
    SELECT s.set_id, s.kind, s.label,
           CASE WHEN s.state = 'running' AND NOT bench_internal.is_locked('sets', s.set_id) THEN 'lost'
                ELSE s.state END AS state,
           s.planned_runs, r.finished_runs, r.other_runs, s.started_at, s.finished_at, s.owner,
           s.database_name, s.options, s.seed, s.error, s.result
      FROM bench.sets s,
           LATERAL (SELECT count(*) FILTER (WHERE r.state = 'finished' AND r.aborted_clients = 0) AS finished_runs,
                           count(*) FILTER (WHERE r.state <> 'finished' OR r.aborted_clients > 0) AS other_runs
                      FROM bench.runs r WHERE r.set_id = s.set_id) r;
COMMENT ON VIEW bench.set_summary IS 'sets of runs, one row each';

CREATE TYPE bench.arm AS (
    arm                 text,
    options             jsonb, -- of a sweep: those of its grid
    runs                int, -- that count
    tps                 float8, -- geometric mean of the runs, with its interval of 95 %, as the latencies below
    tps_low             float8,
    tps_high            float8,
    ratio               float8, -- of a comparison: of tps to the baseline's in the same rounds; with a rate, of mean latency
    ratio_low           float8,
    ratio_high          float8,
    p_value             float8, -- below 0.05 exactly if the interval of the ratio does not contain 1
    verdict             text, -- of a sweep: why runs are missing
    latency_avg_ms      float8,
    latency_p50_ms      float8,
    latency_p50_low_ms  float8,
    latency_p50_high_ms float8,
    latency_p95_ms      float8,
    latency_p95_low_ms  float8,
    latency_p95_high_ms float8,
    latency_p99_ms      float8,
    latency_p99_low_ms  float8,
    latency_p99_high_ms float8,
    scripts_ratio       float8, -- of several scripts: geometric mean of the ratios of their speed or, with a rate, latency
    run_ids             bigint[],
    missing             bigint[], -- runs that do not count
    set_id              bigint
);
COMMENT ON TYPE bench.arm IS 'result row of bench.arms: an arm of a comparison or a sweep';

CREATE FUNCTION bench.arms(set_id bigint) RETURNS SETOF bench.arm
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'arms_wrapper';
COMMENT ON FUNCTION bench.arms IS 'arms of a stored comparison or sweep, with the figures of their runs';

CREATE TYPE bench.sweep_result AS (
    arm            text,
    runs           int, -- that count
    tps            float8, -- means of the runs
    latency_avg_ms float8,
    latency_p99_ms float8,
    verdict        text, -- why runs are missing
    set_id         bigint
);
COMMENT ON TYPE bench.sweep_result IS 'result row of bench.sweep, rounded: a point of the grid; bench.arms has all figures';

/* The options of bench.run are those of all points. */
CREATE FUNCTION bench.sweep(
    grid jsonb,
    repeats int DEFAULT 3,
    initialize boolean DEFAULT false,
    {{arguments run_options}}
) RETURNS SETOF bench.sweep_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'sweep_wrapper';
COMMENT ON FUNCTION bench.sweep IS 'run every combination of the values that a grid has for options';

CREATE FUNCTION bench.resume(INOUT set_id bigint, OUT kind text, OUT made_runs int) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'resume_wrapper';
COMMENT ON FUNCTION bench.resume IS 'make the runs that a set has left after a cancel, an error or a crash';
