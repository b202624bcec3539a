/* Stacks of the sampled processes of runs with profile => true. */

CREATE TABLE bench.run_stacks (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    process text NOT NULL, -- kind of process
    stack   text NOT NULL, -- functions from the root to the leaf, separated by semicolons
    samples bigint NOT NULL
);
CREATE INDEX ON bench.run_stacks (run_id);
COMMENT ON TABLE bench.run_stacks IS 'call stacks of the processes of runs with profile, and how often each was sampled';

CREATE TABLE bench.run_profiles (
    run_id     bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    process    text NOT NULL,
    processes  int NOT NULL,
    sampled    boolean NOT NULL,
    cpu_ms     float8, -- of all of them; those not sampled are looked at five times a second
    samples    bigint, -- of the measured time, each 5 ms of CPU time
    incomplete bigint, -- samples without the frames of the root
    lost       bigint,
    cost_ms    float8, -- CPU time of sampling, part of cpu_ms
    PRIMARY KEY (run_id, process)
);
COMMENT ON TABLE bench.run_profiles IS 'kinds of processes of runs with profile: how complete their stacks are, and what sampling cost';

/* A function that calls itself counts once per stack. */
CREATE FUNCTION bench.top_functions(
    run_id bigint,
    OUT process text, OUT function text,
    OUT self_samples bigint, OUT self_share float8, OUT total_samples bigint, OUT total_share float8
) RETURNS SETOF record
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT bench_internal.require_profile($1);
    WITH stacks AS (
        SELECT s.process, s.samples, string_to_array(s.stack, ';') AS frames
          FROM bench.run_stacks s WHERE s.run_id = $1
    ), functions AS (
        SELECT s.process, f.function,
               coalesce(sum(s.samples) FILTER (WHERE f.function = s.frames[cardinality(s.frames)]), 0)::bigint AS self,
               sum(s.samples)::bigint AS total
          FROM stacks s, LATERAL (SELECT DISTINCT unnest(s.frames)) f (function)
         GROUP BY s.process, f.function
    ), processes AS (
        SELECT s.process, sum(s.samples)::float8 AS samples FROM stacks s GROUP BY s.process
    )
    SELECT f.process, f.function, f.self, f.self / p.samples, f.total, f.total / p.samples
      FROM functions f JOIN processes p USING (process)
     ORDER BY f.process, f.self DESC, f.total DESC, f.function
$$;
COMMENT ON FUNCTION bench.top_functions IS 'functions in the stacks of a run with profile: samples in the function itself, and with what it calls';
