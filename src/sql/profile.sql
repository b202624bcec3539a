/* Stacks of the sampled processes of runs with profile => true. */

CREATE TABLE bench.run_stacks (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    process text NOT NULL, -- kind of process, as in bench.run_profiles
    stack   text NOT NULL, -- functions from the root to the leaf, separated by semicolons
    samples bigint NOT NULL -- samples with this stack
);
CREATE INDEX ON bench.run_stacks (run_id);
COMMENT ON TABLE bench.run_stacks IS 'call stacks of the processes of runs with profile, and how often each was sampled';

CREATE TABLE bench.run_profiles (
    run_id     bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    process    text NOT NULL, -- kind of process: spi client, client backend, libpq client, parallel worker or io worker
    processes  int NOT NULL, -- number of processes of this kind
    sampled    boolean NOT NULL, -- whether stacks were sampled; otherwise only CPU time is known
    cpu_ms     float8, -- CPU time of these processes; of those not sampled, read five times a second
    samples    bigint, -- samples of the measured time, one for each 5 ms of CPU time
    incomplete bigint, -- samples without the frames of the root
    lost       bigint, -- samples for which there was no room; cpu_ms includes them
    cost_ms    float8, -- CPU time of sampling, a part of cpu_ms
    PRIMARY KEY (run_id, process)
);
COMMENT ON TABLE bench.run_profiles IS 'kinds of processes of runs with profile: how complete their stacks are, and what sampling cost';

/* A function that calls itself counts once per stack. */
CREATE FUNCTION bench.top_functions(
    run_id bigint DEFAULT 0, -- run with profile; 0 is the last run
    OUT process text, -- kind of process, as in bench.run_profiles
    OUT function text, -- name of the function
    OUT self_samples bigint, -- samples in the function itself
    OUT self_share float8, -- fraction of the samples of these processes
    OUT total_samples bigint, -- samples in the function and in those that it calls
    OUT total_share float8 -- fraction of the samples of these processes
) RETURNS SETOF record
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT bench_internal.require_profile($1);
    WITH stacks AS (
        SELECT s.process, s.samples, s.stack, split_part(s.stack, ';', -1) AS own
          FROM bench.run_stacks s WHERE s.run_id = (SELECT bench_internal.named_run($1))
    ), functions AS (
        SELECT s.process, f.function,
               least(coalesce(sum(s.samples) FILTER (WHERE f.function = s.own), 0), 9223372036854775807)::bigint AS self,
               least(sum(s.samples), 9223372036854775807)::bigint AS total
          FROM stacks s, LATERAL (SELECT DISTINCT string_to_table(s.stack, ';')) f (function)
         GROUP BY s.process, f.function
    ), processes AS (
        SELECT s.process, nullif(sum(s.samples), 0)::float8 AS samples FROM stacks s GROUP BY s.process
    )
    SELECT f.process, f.function, f.self, f.self / p.samples, f.total, f.total / p.samples
      FROM functions f JOIN processes p USING (process)
     ORDER BY f.process, f.self DESC, f.total DESC, f.function
$$;
COMMENT ON FUNCTION bench.top_functions IS 'functions in the stacks of a run with profile: samples in the function itself, and with what it calls';
