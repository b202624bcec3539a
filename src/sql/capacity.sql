/* Questions about capacity: the highest rate under a limit of latency, and how throughput grows with the
   number of clients. */

/* bench.find_capacity has the arguments of bench.run, except those that say how long a run is and how
   fast: the search decides that. */
CREATE FUNCTION bench.find_capacity(
    latency_limit float8,
    percentile    float8 DEFAULT 99,
    tolerance     float8 DEFAULT 0.05,
    {{arguments run_options except rate, latency_limit, transactions, progress, aggregate_interval, log, sampling_rate, log_prefix with duration = '10 s', warmup = '1 s'}},
    OUT rate float8, OUT rate_low float8, OUT rate_high float8, OUT latency_ms float8,
    OUT tps_without_rate float8, OUT limited_by text, OUT evidence text,
    OUT verdict text, OUT run_ids bigint[], OUT set_id bigint
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'find_capacity_wrapper';
COMMENT ON FUNCTION bench.find_capacity IS 'find the highest rate at which a percentile of the latency stays under a limit, in milliseconds';

CREATE FUNCTION bench.scaling(
    set_id bigint,
    OUT options jsonb, OUT clients int[], OUT tps float8[],
    OUT lambda float8, OUT lambda_low float8, OUT lambda_high float8, -- tps of one client without the two below
    OUT sigma float8, OUT sigma_low float8, OUT sigma_high float8, -- contention: what is done one after the other
    OUT kappa float8, OUT kappa_low float8, OUT kappa_high float8, -- crosstalk: what grows with pairs of clients
    OUT r_squared float8, OUT fits boolean,
    OUT peak_clients float8, OUT peak_tps float8, OUT bend_clients float8,
    OUT verdict text, OUT run_ids bigint[]
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'scaling_wrapper';
COMMENT ON FUNCTION bench.scaling IS 'how throughput of a sweep grows with the number of clients: the Universal Scalability Law';

/* Reports of several runs as JSON: documents of bench.export_run. */
CREATE FUNCTION bench_internal.export_sets(set_ids bigint[]) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT json_build_object('format', 'pg_selfbench sets', 'format_version', 1, 'sets', json_agg(
               json_build_object(
                   'set', to_json(s),
                   'arms', CASE WHEN s.kind <> 'find_capacity' THEN (SELECT json_agg(a) FROM bench.arms(s.set_id) a) END,
                   'runs', (SELECT json_agg(bench.export_run(r.run_id) ORDER BY r.run_id)
                              FROM bench.runs r WHERE r.set_id = s.set_id))
               ORDER BY i.place))::text
      FROM unnest($1) WITH ORDINALITY i (set_id, place) JOIN bench.set_summary s USING (set_id)
$$;

CREATE FUNCTION bench_internal.export_label(label text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT json_build_object('format', 'pg_selfbench runs', 'format_version', 1, 'label', $1, 'runs',
               json_agg(bench.export_run(r.run_id) ORDER BY r.run_id))::text
      FROM bench.runs r WHERE r.label = $1
$$;
