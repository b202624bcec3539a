/* Sets: runs that belong together, such as those of bench.compare. The session that calls the function
   makes one run after the other; a worker of its own stores the row of the set, at its begin and end.

   The session that drives a set holds a lock, by which others see that it does. */

CREATE SEQUENCE bench.set_id_seq;
COMMENT ON SEQUENCE bench.set_id_seq IS 'numbers of sets';

CREATE TABLE bench.sets (
    set_id        bigint PRIMARY KEY, -- number of the set
    kind          text NOT NULL CHECK (kind IN ('compare', 'sweep', 'find_capacity')), -- function that made it: compare, sweep or find_capacity
    owner         regrole NOT NULL, -- role that made the set
    database_name name NOT NULL, -- database in which it was called
    label         text, -- label of the set and its runs
    options       jsonb NOT NULL, -- arguments of the call, with the defaults of all options
    seed          text NOT NULL, -- seed from which the order of the runs and their seeds follow
    planned_runs  int, -- number of runs; NULL if not known before
    state         text NOT NULL -- state as stored: running, finished, canceled, failed or lost; bench.set_summary also sees lost ones
        CHECK (state IN ('running', 'finished', 'canceled', 'failed', 'lost')),
    started_at    timestamptz NOT NULL, -- time of the call
    finished_at   timestamptz, -- end of the set
    error         text, -- error that ended the set
    result        jsonb, -- findings beside the runs
    value_sets    jsonb -- value sets that its scripts draw from: name, columns that are used, and a digest of their values when it was made; NULL without any
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
                ELSE s.state END AS state, -- state: running, finished, canceled, failed or lost
           s.planned_runs,
           r.finished_runs, -- runs that finished without aborted clients
           r.other_runs, -- all other runs of the set
           s.started_at, s.finished_at, s.owner,
           s.database_name, s.options, s.seed, s.error, s.result
      FROM bench.sets s,
           LATERAL (SELECT count(*) FILTER (WHERE r.state = 'finished' AND r.aborted_clients = 0) AS finished_runs,
                           count(*) FILTER (WHERE r.state <> 'finished' OR r.aborted_clients > 0) AS other_runs
                      FROM bench.runs r WHERE r.set_id = s.set_id) r;
COMMENT ON VIEW bench.set_summary IS 'sets of runs, one row each';

CREATE TYPE bench.arm AS (
    arm                 text, -- name of the arm, or point of the grid
    options             jsonb, -- options of the arm; of a sweep, those of its grid
    runs                int, -- runs that count
    tps                 float8, -- geometric mean of the transactions per second of the runs
    tps_low             float8, -- lower end of the 95 % interval of tps
    tps_high            float8, -- upper end of the 95 % interval of tps
    ratio               float8, -- ratio of tps to the baseline's in the same rounds; with a rate, of mean latency; NULL for a sweep
    ratio_low           float8, -- lower end of the 95 % interval of ratio
    ratio_high          float8, -- upper end of the 95 % interval of ratio
    p_value             float8, -- probability of such a ratio without a difference; below 0.05 exactly if the interval of the ratio does not contain 1
    verdict             text, -- comparison with the baseline in words; of a sweep, why runs are missing
    latency_avg_ms      float8, -- geometric mean of the mean latencies of the runs
    latency_p50_ms      float8, -- geometric mean of the medians of the runs
    latency_p50_low_ms  float8, -- lower end of its 95 % interval
    latency_p50_high_ms float8, -- upper end of its 95 % interval
    latency_p95_ms      float8, -- geometric mean of the 95th percentiles of the runs
    latency_p95_low_ms  float8, -- lower end of its 95 % interval
    latency_p95_high_ms float8, -- upper end of its 95 % interval
    latency_p99_ms      float8, -- geometric mean of the 99th percentiles of the runs
    latency_p99_low_ms  float8, -- lower end of its 95 % interval
    latency_p99_high_ms float8, -- upper end of its 95 % interval
    scripts_ratio       float8, -- geometric mean of the ratios of the speed of several scripts or, with a rate, of their latency
    run_ids             bigint[], -- runs that count
    missing             bigint[], -- runs that do not count
    set_id              bigint -- number of the set
);
COMMENT ON TYPE bench.arm IS 'result row of bench.arms: an arm of a comparison or a sweep';

CREATE FUNCTION bench.arms(
    set_id bigint DEFAULT 0 -- number of a comparison or sweep; 0 is the last set
) RETURNS SETOF bench.arm
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'arms_wrapper';
COMMENT ON FUNCTION bench.arms IS 'arms of a stored comparison or sweep, with the figures of their runs';

CREATE TYPE bench.sweep_result AS (
    arm            text, -- point of the grid
    runs           int, -- runs that count
    tps            float8, -- geometric mean of the transactions per second of the runs
    latency_avg_ms float8, -- geometric mean of the mean latencies of the runs
    latency_p99_ms float8, -- geometric mean of the 99th percentiles of the runs
    verdict        text, -- reason why runs are missing
    set_id         bigint -- number of the set
);
COMMENT ON TYPE bench.sweep_result IS 'result row of bench.sweep, rounded: a point of the grid; bench.arms has all figures';

/* The options of bench.run are those of all points. */
CREATE FUNCTION bench.sweep(
    grid jsonb, -- object with an array of values for each option that varies
    repeats int DEFAULT 3, -- runs of each point, 1 to 1000
    initialize boolean DEFAULT false, -- whether the grid may have scale, which drops the tables of the scripts' workload
    {{arguments run_options}}
) RETURNS SETOF bench.sweep_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'sweep_wrapper';
COMMENT ON FUNCTION bench.sweep IS 'run every combination of the values that a grid has for options';

CREATE FUNCTION bench.resume(
    INOUT set_id bigint, -- number of the set
    OUT kind text, -- function that made it: compare, sweep or find_capacity
    OUT made_runs int, -- number of runs that were made now
    OUT verdict text -- that of a search; of a comparison, one line for each arm; of a sweep, why runs are missing
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'resume_wrapper';
COMMENT ON FUNCTION bench.resume IS 'make the runs that a set has left after a cancel, an error or a crash';
