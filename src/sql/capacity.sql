/* Questions about capacity: the highest rate under a limit of latency, and how throughput grows with the
   number of clients. */

/* bench.find_capacity has the arguments of bench.run, except those that say how long a run is and how
   fast: the search decides that. */
CREATE FUNCTION bench.find_capacity(
    latency_limit float8, -- highest latency in milliseconds
    percentile float8 DEFAULT 99, -- percentile of the latency that must not exceed it, 50 to 99.99
    tolerance float8 DEFAULT 0.05, -- largest relative distance between the highest rate under the limit and the lowest one over it
    {{arguments run_options except rate, latency_limit, transactions, progress, aggregate_interval, log, sampling_rate, log_prefix, load_factor with duration = '10 s', warmup = '1 s'}},
    OUT rate float8, -- highest rate under the limit, in transactions per second; NULL if there is none
    OUT rate_low float8, -- highest rate up to it of which no probe was over the limit
    OUT rate_high float8, -- lowest rate above it at which no probe stayed under the limit
    OUT latency_ms float8, -- percentile at this rate, or at the lowest rate that was probed
    OUT tps_without_rate float8, -- transactions per second of the first run, which has no rate
    OUT limited_by text, -- limit at the lowest rate over it: CPU, clients, a wait event, or none
    OUT evidence text, -- figures from which this follows
    OUT verdict text, -- result in words
    OUT run_ids bigint[], -- runs in their order
    OUT set_id bigint -- number of the set
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'find_capacity_wrapper';
COMMENT ON FUNCTION bench.find_capacity IS 'find the highest rate at which a percentile of the latency stays under a limit';

CREATE FUNCTION bench.scaling(
    set_id bigint DEFAULT 0, -- number of a sweep over clients; 0 is the last set
    OUT options jsonb, -- other options of the grid
    OUT clients int[], -- numbers of clients
    OUT tps float8[], -- geometric mean of the transactions per second with each number
    OUT lambda float8, -- transactions per second of one client; NULL with fewer than 4 numbers of clients, as the next eight
    OUT lambda_low float8, -- lower end of its 95 % interval
    OUT lambda_high float8, -- upper end of its 95 % interval
    OUT sigma float8, -- contention: fraction of the work that clients do one after the other
    OUT sigma_low float8, -- lower end of its 95 % interval
    OUT sigma_high float8, -- upper end of its 95 % interval
    OUT kappa float8, -- crosstalk: cost of each pair of clients, as a fraction of the work
    OUT kappa_low float8, -- lower end of its 95 % interval
    OUT kappa_high float8, -- upper end of its 95 % interval
    OUT r_squared float8, -- fraction of the variance that the law explains
    OUT fits boolean, -- whether the law describes the measurements
    OUT peak_clients float8, -- number of clients with the highest throughput
    OUT peak_tps float8, -- transactions per second with this number
    OUT bend_clients float8, -- number of clients from which on latency grows with their number; NULL unless the law fits
    OUT verdict text, -- result in words
    OUT run_ids bigint[] -- runs of the row
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'scaling_wrapper';
COMMENT ON FUNCTION bench.scaling IS 'how throughput of a sweep grows with the number of clients: the Universal Scalability Law';

/* Whether a probe of a search was steady, by the mean latencies of its intervals. */
CREATE FUNCTION bench_internal.is_steady(latencies float8[]) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'is_steady_wrapper';

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
