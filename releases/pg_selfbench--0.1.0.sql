\echo Use "CREATE EXTENSION pg_selfbench" to load this file. \quit
/* The schemas of pg_selfbench. They belong to the extension and must not exist before. */

CREATE SCHEMA bench;
COMMENT ON SCHEMA bench IS 'benchmarks that run inside the server';

/* Functions that only the extension calls, some of them with the privileges of its callers. */
CREATE SCHEMA bench_internal;
COMMENT ON SCHEMA bench_internal IS 'internal functions of pg_selfbench, not for users';

/* The type of arguments that are durations: an interval, or a number of seconds. It exists because
   numbers have no implicit cast to interval, and because overloaded functions would make calls with
   untyped literals ambiguous. */
CREATE TYPE bench.span;
CREATE FUNCTION bench_internal.span_in(cstring, oid, int) RETURNS bench.span
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_in';
CREATE FUNCTION bench_internal.span_out(bench.span) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_out';
CREATE TYPE bench.span (
    INPUT = bench_internal.span_in, OUTPUT = bench_internal.span_out,
    LIKE = pg_catalog.interval, CATEGORY = 'T'
);
COMMENT ON TYPE bench.span IS 'a duration: an interval, or a number of seconds';
CREATE CAST (pg_catalog.interval AS bench.span) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.span AS pg_catalog.interval) WITHOUT FUNCTION AS ASSIGNMENT;

/* One function for each numeric type, because PostgreSQL does not chain implicit casts. Bodies are texts: pg_upgrade would
   create a parsed one before the casts in it. */
CREATE FUNCTION bench_internal.seconds(float8) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(real) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(smallint) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(int) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(bigint) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(numeric) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE CAST (float8 AS bench.span) WITH FUNCTION bench_internal.seconds(float8) AS IMPLICIT;
CREATE CAST (real AS bench.span) WITH FUNCTION bench_internal.seconds(real) AS IMPLICIT;
CREATE CAST (smallint AS bench.span) WITH FUNCTION bench_internal.seconds(smallint) AS IMPLICIT;
CREATE CAST (int AS bench.span) WITH FUNCTION bench_internal.seconds(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.span) WITH FUNCTION bench_internal.seconds(bigint) AS IMPLICIT;
CREATE CAST (numeric AS bench.span) WITH FUNCTION bench_internal.seconds(numeric) AS IMPLICIT;

/* The type of arguments that are seeds: a number from 0 to 2^64 - 1, which bigint does not hold, or a text. */
CREATE TYPE bench.seed;
CREATE FUNCTION bench_internal.seed_in(cstring) RETURNS bench.seed
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION bench_internal.seed_out(bench.seed) RETURNS cstring
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE bench.seed (INPUT = bench_internal.seed_in, OUTPUT = bench_internal.seed_out, LIKE = pg_catalog.text);
COMMENT ON TYPE bench.seed IS 'a random seed: an integer from 0 to 18446744073709551615, "time" or "rand"';
CREATE CAST (pg_catalog.text AS bench.seed) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (varchar AS bench.seed) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.seed AS pg_catalog.text) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION bench_internal.seed(smallint) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(int) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(bigint) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(numeric) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE CAST (smallint AS bench.seed) WITH FUNCTION bench_internal.seed(smallint) AS IMPLICIT;
CREATE CAST (int AS bench.seed) WITH FUNCTION bench_internal.seed(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.seed) WITH FUNCTION bench_internal.seed(bigint) AS IMPLICIT;
CREATE CAST (numeric AS bench.seed) WITH FUNCTION bench_internal.seed(numeric) AS IMPLICIT;

/* The type of arguments that name runs or sets: one number or several. */
CREATE TYPE bench.ids;
CREATE FUNCTION bench_internal.ids_in(cstring) RETURNS bench.ids
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION bench_internal.ids_out(bench.ids) RETURNS cstring
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE bench.ids (INPUT = bench_internal.ids_in, OUTPUT = bench_internal.ids_out, LIKE = pg_catalog.text);
COMMENT ON TYPE bench.ids IS 'numbers of runs or sets: an integer, an array of integers, or a text such as "41, 43"';
CREATE CAST (pg_catalog.text AS bench.ids) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.ids AS pg_catalog.text) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION bench_internal.ids(int) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(bigint) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(int[]) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(bigint[]) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(smallint) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(numeric) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE CAST (varchar AS bench.ids) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (smallint AS bench.ids) WITH FUNCTION bench_internal.ids(smallint) AS IMPLICIT;
CREATE CAST (numeric AS bench.ids) WITH FUNCTION bench_internal.ids(numeric) AS IMPLICIT;
CREATE CAST (int AS bench.ids) WITH FUNCTION bench_internal.ids(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.ids) WITH FUNCTION bench_internal.ids(bigint) AS IMPLICIT;
CREATE CAST (int[] AS bench.ids) WITH FUNCTION bench_internal.ids(int[]) AS IMPLICIT;
CREATE CAST (bigint[] AS bench.ids) WITH FUNCTION bench_internal.ids(bigint[]) AS IMPLICIT;
/* The result tables. Each role sees its own runs; the owner of the tables and superusers see all.

   Runs and scripts belong to roles, not to names of roles: a renamed role keeps them, a new role with
   a dropped role's name does not get them. pg_dump writes a regrole as a name, or, if the role was
   dropped, as a number. */

CREATE SEQUENCE bench.run_id_seq;
COMMENT ON SEQUENCE bench.run_id_seq IS 'numbers of runs';

CREATE TABLE bench.scripts (
    name        text NOT NULL, -- name, unique among the scripts of its owner
    description text, -- text that reports show
    body        text NOT NULL CHECK (octet_length(body) <= 16777216), -- text in pgbench's language, at most the 16 MB of a run
    owner       regrole NOT NULL DEFAULT quote_ident(current_user)::regrole, -- role that stored it
    created_at  timestamptz NOT NULL DEFAULT now(), -- time at which it was stored
    PRIMARY KEY (owner, name)
);
COMMENT ON TABLE bench.scripts IS 'stored benchmark scripts';

CREATE TABLE bench.workload_definitions (
    name       text NOT NULL, -- name, unique among the workloads of its owner
    manifest   jsonb NOT NULL, -- description, unit of the scale, sizes, variables and mixes
    schema     text NOT NULL, -- statements that create tables and routines
    load       text NOT NULL, -- query of the rows of each table
    finish     text NOT NULL, -- statements behind the load
    checks     text NOT NULL, -- query of violating rows for each condition
    scripts    jsonb NOT NULL, -- texts of the scripts by name
    owner      regrole NOT NULL DEFAULT quote_ident(current_user)::regrole, -- role that defined it
    created_at timestamptz NOT NULL DEFAULT now(), -- time at which it was stored
    PRIMARY KEY (owner, name)
);
COMMENT ON TABLE bench.workload_definitions IS 'workloads that roles have defined; each sees its own';

/* Values for scripts, often of a role's own tables: visible to that role and those that bypass row security, and in no
   dump or export. */
CREATE TABLE bench.value_sets (
    set_name text NOT NULL CHECK (set_name ~ '^[^[:space:]]+$'), -- name of the set, without blanks, unique among the sets of its owner
    row_no   int NOT NULL, -- position of the row in the set
    values   text[] NOT NULL CHECK (array_ndims(values) IS NOT DISTINCT FROM 1), -- values as texts, as their types print them
    owner    regrole NOT NULL DEFAULT quote_ident(current_user)::regrole, -- role that it belongs to
    PRIMARY KEY (owner, set_name, row_no)
);
COMMENT ON TABLE bench.value_sets IS 'rows of values for scripts with the command \values; each role sees its own';

/* The usage of the calling session since it started; clients of mode libpq query it at start and end.
   Device bytes are NULL if the operating system does not count them, evicted blocks if the server does
   not. */
CREATE TYPE bench.session_usage AS (
    blocks_hit bigint, -- blocks found in the server's shared buffers
    blocks_read bigint, -- blocks read into shared buffers, from the operating system
    blocks_dirtied bigint, -- blocks that became dirty
    blocks_written bigint, -- blocks that the session wrote: evicted ones, and those that extended a table
    blocks_evicted bigint, -- blocks that the session evicted from shared buffers, written or not; NULL before PostgreSQL 18
    read_ms float8, -- time of reading blocks; 0 unless the server measures it
    write_ms float8, -- time of writing blocks; 0 unless the server measures it
    wal_records bigint, -- records of WAL
    wal_fpi bigint, -- full-page images among the records of WAL
    wal_bytes bigint, -- bytes of WAL
    device_read_bytes bigint, -- bytes read from a block device, not from the operating system's cache
    device_write_bytes bigint -- bytes passed to the operating system for writing
);
COMMENT ON TYPE bench.session_usage IS 'result row of bench.session_usage: what a session has used';

/* What distinguishes series of runs with the same label: runs of a series measure the same. Versions, settings,
   hardware and sizes may differ within it: they are what may have changed. Scripts are known by their weights and
   texts, not by names. It is the key of an index. */
CREATE FUNCTION bench_internal.series(
    mode text, protocol text, connection text, clients int, rate float8, reconnect boolean, max_tries int,
    variables jsonb, target text, scale bigint, scripts_hash text, imported_from jsonb
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN $11 IS NULL THEN NULL
                WHEN length(s.series) <= 200 THEN s.series
                ELSE left(s.series, 150) || '... ' || md5(s.series) END
      FROM concat_ws(', ', $1, $2, $3, $4 || CASE $4 WHEN 1 THEN ' client' ELSE ' clients' END,
                     'scale ' || nullif($10, 0), 'rate ' || trim_scale($5::numeric),
                     CASE WHEN $6 THEN 'reconnect' END, 'max_tries ' || nullif($7, 1), nullif($8, '{}')::text,
                     'target ' || $9, 'server ' || ($12 ->> 'system_identifier'),
                     'scripts ' || left($11, 8)) s (series)
$$;

CREATE TABLE bench.runs (
    run_id                  bigint PRIMARY KEY, -- number of the run
    owner                   regrole NOT NULL, -- role that made the run
    database_name           name NOT NULL, -- database in which it was called
    set_id                  bigint, -- set that it belongs to, in bench.sets
    arm                     text, -- arm of the set that it belongs to
    round                   int, -- round of the set; of bench.compare, 0 is a warm-up, which does not count
    state                   text NOT NULL -- state as stored: starting, running, finished, canceled, failed or lost; after a crash running until the next run begins, see bench.run_summary
        CHECK (state IN ('starting', 'running', 'finished', 'canceled', 'failed', 'lost')),
    -- Options, as they resulted: of a target host, port, dbname and user, never a password; as the connection
    -- of mode libpq to this server socket or tcp; max_warmup_s with a warm-up until steady only.
    scripts text[] NOT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text NOT NULL, -- execution mode: spi or libpq
    clients int NOT NULL, -- number of clients, which execute transactions concurrently
    jobs int NOT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int NOT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration_s float8, -- time during which transactions start
    transactions_per_client bigint, -- number of transactions per client after the warm-up, including failed ones
    protocol text NOT NULL, -- query protocol: simple, extended or prepared
    vacuum text NOT NULL, -- tables to vacuum before the run: auto, always, none or all
    warmup_s float8 NOT NULL, -- time at the start of the run that does not count
    max_warmup_s float8, -- longest warm-up until steady
    aggregate_interval_s float8 NOT NULL, -- length of the intervals in bench.run_intervals, at least 100 ms
    seed text NOT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text, -- text that identifies the run in queries; at most 1024 bytes
    rate float8, -- target rate of all clients together, in transactions per second
    latency_limit_ms float8, -- latency in milliseconds above which a transaction is late
    max_tries int NOT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb NOT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean NOT NULL, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean NOT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean NOT NULL, -- the run stops when a client aborts
    per_statement boolean NOT NULL, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean NOT NULL, -- the report counts failures by kind
    verbose_errors boolean NOT NULL, -- a notice for each error that does not abort the client
    log boolean NOT NULL, -- a row for each transaction, in bench.transactions
    sampling_rate float8, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text, -- path with which the names of log files begin; needs log
    target text, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text NOT NULL, -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean NOT NULL, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean NOT NULL, -- whether the coordinator observes the server beside the clients
    profile boolean NOT NULL, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 NOT NULL, -- samples per second of what the clients' sessions wait for
    connection text, -- way of the connections of mode libpq to this server: socket, tcp or auto
    setup text, -- SQL statements that are executed before the run
    teardown text, -- SQL statements that are executed after the run, however it ends
    verify boolean NOT NULL, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text NOT NULL, -- variables that scripts mention and nothing sets: error or pgbench
    sql text, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    load_factor float8, -- rate as a multiple of the one at which a captured workload was executed, such as 2
    allow_writes boolean NOT NULL, -- whether a captured workload changes the tables that it was captured on, instead of copies of them
    warmup_steady           boolean, -- whether a warm-up until steady became so; false: cut off at max_warmup_s
    backends                int NOT NULL, -- clients of mode spi that ran in backends
    scale                   bigint NOT NULL, -- scale of pgbench's tables; of pgio's workload, blocks of each table
    partition_method        text, -- method of partitioning of pgbench_accounts: range or hash
    partitions              int, -- number of partitions of pgbench_accounts
    server_version          text NOT NULL, -- version of the server that the clients used
    server_version_num      int NOT NULL, -- version of the server as a number
    extension_version       text NOT NULL, -- version of the extension that made the run
    created_at              timestamptz NOT NULL, -- time of the call
    started_at              timestamptz, -- start of the clients
    finished_at             timestamptz, -- end of the last client
    seconds                 float8, -- measured time in seconds, without the warm-up
    connection_ms           float8, -- time until all clients were ready; with reconnect, mean time of connecting for a transaction
    overhead_us              float8, -- overhead of clients per transaction: CPU time of client workers (libpq), time outside executor and commit (spi)
    overhead_share           float8, -- overhead of clients as a fraction of the elapsed time of client workers (libpq) or of transactions (spi)
    snapshot_held_s         float8, -- time for which an old snapshot kept the run's dead rows; NULL if unknown
    snapshot_held_by        text, -- holder of that snapshot; sessions of other roles only with privileges of pg_read_all_stats
    processors              int, -- CPUs of this server that the run could use
    other_runs              int NOT NULL, -- other runs on this server at the same time, of all roles
    disturbances            text[] NOT NULL DEFAULT '{}', -- findings of bench.advice that say what else used the server and its machine
    is_baseline             boolean NOT NULL DEFAULT false, -- whether bench.trend compares it and later runs of its series with no earlier one; see bench.set_baseline
    scripts_hash            text, -- hash of the weights and texts of the scripts; NULL until the run has ended
    series                  text GENERATED ALWAYS AS (bench_internal.series(mode, protocol, connection, clients, rate, reconnect, max_tries, variables, target, scale, scripts_hash, imported_from)) STORED, -- what the run has in common with others of the same series; see bench.trend
    warmup_transactions     bigint NOT NULL, -- transactions that ended during the warm-up, successful or failed; no other figure has them
    aborted_clients         int NOT NULL, -- clients that stopped early
    stalled_clients         int NOT NULL DEFAULT 0, -- clients that completed at most one transaction, while another one completed ten, and ten of the slowest script had time by its median
    errors                  text[] NOT NULL, -- error messages of clients and of the run
    unmatched               text[] NOT NULL, -- statements that matched or returned no row in any sampled transaction
    notes                   text[] NOT NULL, -- observations that were not possible, with reasons
    teardown_due            boolean NOT NULL DEFAULT false, -- whether the teardown is still to be executed; see bench.finish_teardown
    coordinator_pid         int, -- process ID of the coordinator
    segment                 bigint, -- handle of the run's shared memory
    thinned_at              timestamptz, -- time at which bench.prune deleted its intervals, histograms, stacks and log; NULL: they are there, if it had them
    imported_at             timestamptz, -- time at which it was imported; NULL: a run of this server
    imported_from           jsonb, -- origin of an imported run, the "source" of its document
    transactions bigint NOT NULL, -- successful transactions
    failed bigint NOT NULL GENERATED ALWAYS AS (serialization_failures + deadlock_failures + other_failures) STORED, -- failed transactions of all kinds
    serialization_failures bigint NOT NULL, -- transactions given up after a serialization failure, SQLSTATE 40001
    deadlock_failures bigint NOT NULL, -- transactions given up after a deadlock, SQLSTATE 40P01
    other_failures bigint NOT NULL, -- transactions given up after any other error, if a run goes on after errors
    retried bigint NOT NULL, -- transactions, successful or failed, that were tried more than once
    retries bigint NOT NULL, -- tries beyond each transaction's first
    skipped bigint NOT NULL, -- transactions never started because a rate and a latency limit made them pointless
    late bigint NOT NULL, -- successful transactions above the latency limit
    rolled_back bigint NOT NULL, -- successful transactions that their script rolled back on purpose, as the workload says
    tps float8, -- successful transactions per second
    latency_avg_ms float8, -- mean latency
    latency_stddev_ms float8, -- standard deviation of the latency
    latency_min_ms float8, -- shortest latency
    latency_p50_ms float8, -- median latency
    latency_p90_ms float8, -- 90th percentile of the latency
    latency_p95_ms float8, -- 95th percentile of the latency
    latency_p99_ms float8, -- 99th percentile of the latency
    latency_p999_ms float8, -- 99.9th percentile of the latency
    latency_max_ms float8, -- longest latency
    lag_avg_ms float8, -- mean schedule lag
    lag_max_ms float8, -- longest schedule lag
    sleep_avg_ms float8, -- mean time in \sleep, a part of the latency; NULL if no transaction slept
    latency_sum_ms float8 NOT NULL, -- sum of all latencies
    latency_sum_squares_ms2 float8 NOT NULL, -- sum of the squares of all latencies, in milliseconds squared
    histogram bytea -- histogram of the latency, see bench.percentile; NULL if it is empty
);
CREATE INDEX ON bench.runs (label, run_id) WHERE label IS NOT NULL;
CREATE INDEX ON bench.runs (set_id) WHERE set_id IS NOT NULL;
CREATE INDEX ON bench.runs (run_id) WHERE state IN ('starting', 'running');
CREATE INDEX ON bench.runs (run_id) WHERE teardown_due;
COMMENT ON TABLE bench.runs IS 'runs, with the figures of all their transactions';

CREATE TABLE bench.run_scripts (
    run_id                  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    script_no               int NOT NULL, -- number of the script in the run, from 0
    name                    text NOT NULL, -- name of the script
    description             text NOT NULL, -- description of the script
    body                    text NOT NULL, -- text of the script
    weight                  bigint NOT NULL, -- weight with which it was chosen
    p90_limit_ms            float8, -- limit of the 90th percentile of the response time, which is the latency without \sleep, if the workload has one
    above_limit             bigint, -- successful transactions with a response time above that limit
    p90_is_met              boolean GENERATED ALWAYS AS (CASE WHEN transactions > 0 THEN above_limit <= transactions / 10 END) STORED, -- whether at most a tenth of the transactions is above the limit; NULL without transactions
    per_minute              float8, -- successful transactions that were not rolled back, per minute, if the workload counts them so
    per_minute_of           text, -- what the transactions in per_minute are, such as new orders
    transactions bigint NOT NULL, -- successful transactions
    failed bigint NOT NULL GENERATED ALWAYS AS (serialization_failures + deadlock_failures + other_failures) STORED, -- failed transactions of all kinds
    serialization_failures bigint NOT NULL, -- transactions given up after a serialization failure, SQLSTATE 40001
    deadlock_failures bigint NOT NULL, -- transactions given up after a deadlock, SQLSTATE 40P01
    other_failures bigint NOT NULL, -- transactions given up after any other error, if a run goes on after errors
    retried bigint NOT NULL, -- transactions, successful or failed, that were tried more than once
    retries bigint NOT NULL, -- tries beyond each transaction's first
    skipped bigint NOT NULL, -- transactions never started because a rate and a latency limit made them pointless
    late bigint NOT NULL, -- successful transactions above the latency limit
    rolled_back bigint NOT NULL, -- successful transactions that their script rolled back on purpose, as the workload says
    tps float8, -- successful transactions per second
    latency_avg_ms float8, -- mean latency
    latency_stddev_ms float8, -- standard deviation of the latency
    latency_min_ms float8, -- shortest latency
    latency_p50_ms float8, -- median latency
    latency_p90_ms float8, -- 90th percentile of the latency
    latency_p95_ms float8, -- 95th percentile of the latency
    latency_p99_ms float8, -- 99th percentile of the latency
    latency_p999_ms float8, -- 99.9th percentile of the latency
    latency_max_ms float8, -- longest latency
    lag_avg_ms float8, -- mean schedule lag
    lag_max_ms float8, -- longest schedule lag
    sleep_avg_ms float8, -- mean time in \sleep, a part of the latency; NULL if no transaction slept
    latency_sum_ms float8 NOT NULL, -- sum of all latencies
    latency_sum_squares_ms2 float8 NOT NULL, -- sum of the squares of all latencies, in milliseconds squared
    histogram bytea, -- histogram of the latency, see bench.percentile; NULL if it is empty
    PRIMARY KEY (run_id, script_no)
);
COMMENT ON TABLE bench.run_scripts IS 'scripts of each run, with the figures of their transactions';

CREATE TABLE bench.run_statements (
    run_id            bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    script_no         int NOT NULL, -- number of the script, as in bench.run_scripts
    command_no        int NOT NULL, -- position of the command in the script, from 0
    line              int NOT NULL, -- line of the script, from 1
    command           text NOT NULL, -- text of the command
    executions        bigint NOT NULL, -- successful executions
    failures          bigint NOT NULL, -- transactions that failed at this command
    retries           bigint NOT NULL, -- tries that were repeated because of this command
    latency_avg_ms float8, -- mean latency
    latency_stddev_ms float8, -- standard deviation of the latency
    latency_min_ms float8, -- shortest latency
    latency_p50_ms float8, -- median latency
    latency_p90_ms float8, -- 90th percentile of the latency
    latency_p95_ms float8, -- 95th percentile of the latency
    latency_p99_ms float8, -- 99th percentile of the latency
    latency_p999_ms float8, -- 99.9th percentile of the latency
    latency_max_ms float8, -- longest latency
    histogram         bytea, -- times of executions as a histogram of two significant digits, see bench.percentile
    PRIMARY KEY (run_id, script_no, command_no)
);
COMMENT ON TABLE bench.run_statements IS 'figures of each command of a run''s scripts, for runs with per_statement';

CREATE TABLE bench.run_checks (
    run_id      bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    check_no    int NOT NULL, -- position among the conditions of the workload, from 0
    condition   text NOT NULL, -- name of the condition
    description text NOT NULL, -- the condition in words
    holds       boolean, -- whether it holds; NULL if it was not judged
    violations  bigint, -- number of rows that violate it; NULL if it could not be evaluated
    example     text, -- one of these rows, or why it could not be evaluated
    PRIMARY KEY (run_id, check_no)
);
COMMENT ON TABLE bench.run_checks IS 'conditions of each run''s workload, as they were found after runs with verify';

CREATE TABLE bench.transactions (
    run_id         bigint NOT NULL, -- run that it belongs to, in bench.runs
    client         int NOT NULL, -- number of the client, from 0
    transaction_no bigint NOT NULL, -- number of the transaction of the client
    script_no      int NOT NULL, -- number of the script, as in bench.run_scripts
    outcome        text NOT NULL, -- outcome: success, serialization, deadlock, other or skipped
    ended_at       timestamptz NOT NULL, -- time of its end
    latency_ms     float8, -- latency, from the scheduled start if there is a rate; NULL if it was skipped
    lag_ms         float8, -- time from the scheduled to the actual start, with a rate
    retries        int NOT NULL -- tries after the first
);
/* Rows are inserted in the order of their runs, many at a time. Vacuum summarizes them; a log would
   overflow the request queue of autosummarize. */
CREATE INDEX ON bench.transactions USING brin (run_id);
COMMENT ON TABLE bench.transactions IS 'transactions of runs with a log, or a sample of them, one row each';

/* The log of deleted runs goes with them, in one pass: a foreign key would look for the rows of each run by
   itself, in all of the table until a vacuum has summarized it. */
CREATE FUNCTION bench_internal.delete_log() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM bench.transactions WHERE run_id = ANY (ARRAY(SELECT d.run_id FROM deleted d));
    RETURN NULL;
END
$$;
CREATE TRIGGER delete_log AFTER DELETE ON bench.runs REFERENCING OLD TABLE AS deleted
FOR EACH STATEMENT EXECUTE FUNCTION bench_internal.delete_log();

CREATE TABLE bench.run_clients (
    run_id         bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    client_no      int NOT NULL, -- number of the client, from 0, as variable client_id
    transactions   bigint NOT NULL, -- successful transactions
    failed         bigint NOT NULL, -- failed transactions
    skipped        bigint NOT NULL, -- skipped transactions
    latency_avg_ms float8, -- mean latency of the successful transactions
    latency_max_ms float8, -- longest latency of them
    PRIMARY KEY (run_id, client_no)
);
COMMENT ON TABLE bench.run_clients IS 'figures of each client of each run';

CREATE TABLE bench.run_intervals (
    run_id                  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    interval_no             int NOT NULL, -- number of the interval, from 0
    begins_s                float8 NOT NULL, -- start of the interval, in seconds from the start of the run
    seconds                 float8 NOT NULL, -- length of the interval in seconds
    transactions bigint NOT NULL, -- successful transactions
    failed bigint NOT NULL GENERATED ALWAYS AS (serialization_failures + deadlock_failures + other_failures) STORED, -- failed transactions of all kinds
    serialization_failures bigint NOT NULL, -- transactions given up after a serialization failure, SQLSTATE 40001
    deadlock_failures bigint NOT NULL, -- transactions given up after a deadlock, SQLSTATE 40P01
    other_failures bigint NOT NULL, -- transactions given up after any other error, if a run goes on after errors
    retried bigint NOT NULL, -- transactions, successful or failed, that were tried more than once
    retries bigint NOT NULL, -- tries beyond each transaction's first
    skipped bigint NOT NULL, -- transactions never started because a rate and a latency limit made them pointless
    late bigint NOT NULL, -- successful transactions above the latency limit
    rolled_back bigint NOT NULL, -- successful transactions that their script rolled back on purpose, as the workload says
    tps float8, -- successful transactions per second
    latency_avg_ms float8, -- mean latency
    latency_stddev_ms float8, -- standard deviation of the latency
    latency_min_ms float8, -- shortest latency
    latency_p50_ms float8, -- median latency
    latency_p90_ms float8, -- 90th percentile of the latency
    latency_p95_ms float8, -- 95th percentile of the latency
    latency_p99_ms float8, -- 99th percentile of the latency
    latency_p999_ms float8, -- 99.9th percentile of the latency
    latency_max_ms float8, -- longest latency
    lag_avg_ms float8, -- mean schedule lag
    lag_max_ms float8, -- longest schedule lag
    sleep_avg_ms float8, -- mean time in \sleep, a part of the latency; NULL if no transaction slept
    latency_sum_ms float8 NOT NULL, -- sum of all latencies
    latency_sum_squares_ms2 float8 NOT NULL, -- sum of the squares of all latencies, in milliseconds squared
    histogram bytea, -- histogram of the latency, see bench.percentile; NULL if it is empty
    blocks_hit              bigint, -- blocks that pgio's sessions found in shared buffers; mode spi
    blocks_read             bigint, -- blocks that pgio's sessions read into shared buffers; mode spi
    wal_bytes               bigint, -- WAL of pgio's sessions; mode spi
    PRIMARY KEY (run_id, interval_no)
);
COMMENT ON TABLE bench.run_intervals IS 'figures of each run over time, from the start or the end of the warm-up';

CREATE TABLE bench.run_settings (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    name    text NOT NULL, -- name of the setting
    setting text, -- its value with unit, as SHOW prints it
    source  text NOT NULL, -- origin of the value, as in pg_settings
    PRIMARY KEY (run_id, name)
);
COMMENT ON TABLE bench.run_settings IS 'settings of each run: those that differ from their defaults, and some others that affect performance';

CREATE TABLE bench.pgio_runs (
    run_id                bigint PRIMARY KEY REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    tables int NOT NULL, -- number of tables
    threads_per_table int NOT NULL, -- sessions of each table
    update_pct int NOT NULL, -- percentage of loops that update
    work_unit int NOT NULL, -- length of the key range of a loop that reads
    update_work_unit int NOT NULL, -- length of the key range of a loop that updates
    commit_every int NOT NULL, -- loops per transaction
    working_set_pct float8 NOT NULL, -- percentage of each table's keys that was used
    scan text NOT NULL, -- scan by which rows were looked for: index, bitmap or auto
    scale bigint NOT NULL, -- blocks, and so rows and keys, of each table
    block_bytes int NOT NULL, -- bytes of a block
    working_set_bytes bigint NOT NULL, -- bytes of all blocks in use
    shared_buffers_bytes bigint, -- bytes of the server's shared buffers; NULL for a target
    memory_bytes bigint, -- bytes of memory that the server's machine has, or may use; NULL for a target
    seconds float8, -- measured time in seconds, from the start or the end of the warm-up
    selects bigint NOT NULL, -- loops that read
    updates bigint NOT NULL, -- loops that updated
    failed bigint NOT NULL, -- loops that failed
    riops float8, -- blocks read into shared buffers per second, from the operating system's cache or a device: what pgio calls RIOPS
    cache_hits_per_s float8, -- blocks found in shared buffers per second
    logical_reads_per_s float8, -- blocks found in shared buffers or read into them per second
    device_reads_per_s float8, -- bytes read from a block device per second, in blocks
    device_read_mb_per_s float8, -- bytes read from a block device per second, in megabytes of 10^6 bytes
    device_write_mb_per_s float8, -- bytes that the sessions' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes
    blocks_dirtied_per_s float8, -- blocks that became dirty per second
    blocks_written_per_s float8, -- blocks that the sessions wrote per second: to make room for others, or by which a table grew
    blocks_evicted_per_s float8, -- blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18
    wal_bytes_per_s float8, -- bytes of WAL per second
    wal_bytes_per_update float8, -- bytes of WAL per update
    select_avg_ms float8, -- mean time of a loop that reads
    select_p99_ms float8, -- 99th percentile of the time of a loop that reads
    select_max_ms float8, -- longest time of a loop that reads
    update_avg_ms float8, -- mean time of a loop that updates
    update_p99_ms float8, -- 99th percentile of the time of a loop that updates
    update_max_ms float8, -- longest time of a loop that updates
    read_avg_ms float8, -- mean time of reading a block; NULL unless track_io_timing was on
    read_p50_ms float8, -- median time of reading a block
    read_p95_ms float8, -- 95th percentile of the time of reading a block
    read_p99_ms float8, -- 99th percentile of the time of reading a block
    read_max_ms float8, -- longest time of reading a block
    read_histogram bytea -- histogram of the time of reading a block, see bench.percentile
);
COMMENT ON TABLE bench.pgio_runs IS 'runs of pgio''s workload, with the figures of all sessions together';

CREATE TABLE bench.pgio_sessions (
    run_id             bigint NOT NULL REFERENCES bench.pgio_runs ON DELETE CASCADE, -- run that it belongs to
    client             int NOT NULL, -- number of the client, from 0
    table_no           int NOT NULL, -- number of its table, from 1
    selects            bigint NOT NULL, -- loops that read
    select_avg_ms      float8, -- mean time of loops that read
    select_max_ms      float8, -- longest time of a loop that read
    select_histogram   bytea, -- times of loops that read, see bench.percentile
    updates            bigint NOT NULL, -- loops that updated
    update_avg_ms      float8, -- mean time of loops that updated
    update_max_ms      float8, -- longest time of a loop that updated
    update_histogram   bytea, -- times of loops that updated, see bench.percentile
    failed             bigint NOT NULL, -- loops that failed
    seconds            float8 NOT NULL, -- measured time of the session in seconds
    blocks_hit bigint, -- blocks found in the server's shared buffers
    blocks_read bigint, -- blocks read into shared buffers, from the operating system
    blocks_dirtied bigint, -- blocks that became dirty
    blocks_written bigint, -- blocks that the session wrote: evicted ones, and those that extended a table
    blocks_evicted bigint, -- blocks that the session evicted from shared buffers, written or not; NULL before PostgreSQL 18
    read_ms float8, -- time of reading blocks; 0 unless the server measures it
    write_ms float8, -- time of writing blocks; 0 unless the server measures it
    wal_records bigint, -- records of WAL
    wal_fpi bigint, -- full-page images among the records of WAL
    wal_bytes bigint, -- bytes of WAL
    device_read_bytes bigint, -- bytes read from a block device, not from the operating system's cache
    device_write_bytes bigint, -- bytes passed to the operating system for writing
    read_histogram     bytea, -- times to read a block; NULL unless track_io_timing was on
    PRIMARY KEY (run_id, client)
);
COMMENT ON TABLE bench.pgio_sessions IS 'sessions of runs of pgio''s workload, with what each has used';

ALTER TABLE bench.workload_definitions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.workload_definitions
    USING (owner = (SELECT quote_ident(current_user)::regrole));

CREATE TABLE bench.captured_tables (
    owner        regrole NOT NULL, -- role that the workload belongs to
    workload     text NOT NULL, -- captured workload
    table_schema name NOT NULL, -- schema of the table
    table_name   name NOT NULL, -- name of the table or view
    written      boolean NOT NULL, -- whether its statements write to it
    PRIMARY KEY (owner, workload, table_schema, table_name),
    FOREIGN KEY (owner, workload) REFERENCES bench.workload_definitions (owner, name) ON DELETE CASCADE
);
COMMENT ON TABLE bench.captured_tables IS 'tables that the statements of captured workloads use';
ALTER TABLE bench.captured_tables ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.captured_tables
    USING (owner = (SELECT quote_ident(current_user)::regrole));

ALTER TABLE bench.value_sets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.value_sets
    USING (owner = (SELECT quote_ident(current_user)::regrole));

ALTER TABLE bench.runs ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON bench.runs
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.scripts', '');
SELECT pg_catalog.pg_extension_config_dump('bench.workload_definitions', '');
SELECT pg_catalog.pg_extension_config_dump('bench.captured_tables', '');
SELECT pg_catalog.pg_extension_config_dump('bench.runs', '');

CREATE FUNCTION bench_internal.named_run(run_id bigint) RETURNS bigint
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'named_run_wrapper';
COMMENT ON FUNCTION bench_internal.named_run IS 'the run, or the last one for 0; fails unless the caller may see it';
CREATE FUNCTION bench_internal.tell_hidden_waits(run_id bigint) RETURNS void
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'tell_hidden_waits_wrapper';
COMMENT ON FUNCTION bench_internal.tell_hidden_waits IS 'fails unless the caller may see the run, and says if its waits could not be observed';
CREATE FUNCTION bench_internal.require_profile(run_id bigint) RETURNS void
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'require_profile_wrapper';
COMMENT ON FUNCTION bench_internal.require_profile IS 'fails unless the caller may see the run, and says if its stacks were not sampled';
/* Tables of what the coordinator of a run observes beside the clients; none has rows for runs with
   observe => false. */

/* Counters are differences between two readings, which are taken when an interval ends; NULL if one of
   them is not known. They are those of the whole server: a run's own part of them is not known, except
   where a name says so. Processes of the server report statistics at most once a second, and only
   between transactions: "up to 1 s late" is a count that may be in a later row than its cause. */
CREATE TABLE bench.run_server_intervals (
    run_id                         bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    interval_no                    int NOT NULL, -- number of the interval, as in bench.run_intervals
    begins_s                       float8 NOT NULL, -- start of the interval, in seconds from the start of the run
    seconds                        float8 NOT NULL, -- length of the interval in seconds
    wal_bytes                      bigint, -- WAL, from the insert position
    wal_records                    bigint, -- WAL records; up to 1 s late
    wal_fpi                        bigint, -- full-page images in WAL; up to 1 s late
    blocks_hit                     bigint, -- blocks found in shared buffers; up to 1 s late
    blocks_read                    bigint, -- blocks read into shared buffers; up to 1 s late
    blocks_written                 bigint, -- blocks written from shared buffers, or by which files grew; up to 1 s late
    blocks_hit_by_clients          bigint, -- blocks that the run's clients of mode spi found in shared buffers
    blocks_read_by_clients         bigint, -- blocks that the run's clients of mode spi read into shared buffers
    wal_bytes_by_clients           bigint, -- WAL of the run's clients of mode spi
    blocks_hit_by_autovacuum       bigint, -- blocks that autovacuum found in shared buffers; PostgreSQL 16 and later
    blocks_read_by_autovacuum      bigint, -- blocks that autovacuum read into shared buffers; PostgreSQL 16 and later
    blocks_written_by_autovacuum   bigint, -- blocks that autovacuum wrote; PostgreSQL 16 and later
    blocks_written_by_checkpointer bigint, -- blocks that the checkpointer wrote
    blocks_written_by_bgwriter     bigint, -- blocks that the background writer wrote
    blocks_written_by_backends     bigint, -- blocks that all other processes wrote; up to 1 s late
    checkpoints_timed              bigint, -- checkpoints that began because of checkpoint_timeout
    checkpoints_requested          bigint, -- checkpoints that began because of CHECKPOINT or max_wal_size
    checkpoint_write_ms            bigint, -- time in which checkpoints that ended wrote files
    checkpoint_sync_ms             bigint, -- time in which checkpoints that ended synchronized files to disk
    checkpoint_begun               boolean, -- whether a checkpoint began; NULL for targets
    checkpoint_active              boolean, -- whether a checkpoint was in progress at the end of the interval
    checkpoint_ended               boolean, -- whether a checkpoint ended
    checkpoint_phase               text, -- wait event of the checkpointer at the end of the interval; NULL if it was idle or did not wait
    autovacuum_workers             int, -- autovacuum workers at the end of the interval
    autovacuum                     text[], -- commands of these workers
    other_sessions                 int, -- active sessions at the end of the interval that do not belong to the run
    temp_bytes                     bigint, -- bytes written to temporary files; up to 1 s late
    deadlocks                      bigint, -- deadlocks; up to 1 s late
    cpu_user_ms                    bigint, -- time of all CPUs of this server's machine in user mode
    cpu_system_ms                  bigint, -- time of all CPUs in the kernel
    cpu_idle_ms                    bigint, -- time of all CPUs without work
    cpu_iowait_ms                  bigint, -- time of all CPUs without work while a task waited for a device
    cpu_steal_ms                   bigint, -- time that a hypervisor gave to other machines
    sessions_cpu_ms                bigint, -- CPU time of the processes that execute the clients' statements; NULL for targets and with reconnect
    sessions_run_queue_ms          bigint, -- time that these processes waited for a CPU
    workers_cpu_ms                 bigint, -- CPU time of the client workers of mode libpq
    workers_run_queue_ms           bigint, -- time that the client workers waited for a CPU
    coordinator_cpu_ms             bigint, -- CPU time of the coordinator
    device_reads                   bigint, -- reads of the devices that hold the data directory, WAL and tablespaces
    device_read_bytes              bigint, -- bytes read from these devices
    device_writes                  bigint, -- writes to these devices
    device_write_bytes             bigint, -- bytes written to these devices
    psi_cpu_some_ms                bigint, -- time in which some task waited for a CPU
    psi_io_some_ms                 bigint, -- time in which some task waited for a device
    psi_io_full_ms                 bigint, -- time in which all tasks that were not idle waited for a device
    psi_memory_some_ms             bigint, -- time in which some task waited for memory
    psi_memory_full_ms             bigint, -- time in which all tasks that were not idle waited for memory
    PRIMARY KEY (run_id, interval_no)
);
COMMENT ON TABLE bench.run_server_intervals IS 'what the server did in each interval of each run';

/* One row for each fact that is known, as in bench.run_settings: runs compare by name, and other
   versions of the extension may know other facts. Numbers are in the unit that ends their name. */
CREATE TABLE bench.run_environment (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    machine text NOT NULL CHECK (machine IN ('server', 'client')), -- machine: server, or client with a target
    name    text NOT NULL, -- name of the fact; numbers are in the unit that ends it
    value   text NOT NULL, -- value of the fact
    PRIMARY KEY (run_id, machine, name)
);
COMMENT ON TABLE bench.run_environment IS 'what each run ran on: facts about the server and its machine';

CREATE TABLE bench.run_tables (
    run_id              bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    relation            bigint NOT NULL, -- OID of the relation
    schema_name         text NOT NULL, -- schema of the relation
    name                text NOT NULL, -- name of the relation
    kind                text NOT NULL, -- kind: table, index, materialized view or TOAST table
    of_table            text, -- table of an index; of a TOAST table, its table with the schema
    known_by            text NOT NULL, -- plans, of clients in mode spi, or counters, which other sessions move, too
    bytes_before        bigint, -- size of the main fork before the run
    bytes_after         bigint, -- size of the main fork after the run
    live_rows_before    bigint, -- live rows before the run, estimated by the server
    live_rows_after     bigint, -- live rows after the run, estimated by the server
    dead_rows_before    bigint, -- dead rows before the run, estimated by the server
    dead_rows_after     bigint, -- dead rows after the run, estimated by the server
    row_bytes           float8, -- space of a row on its page, estimated from the statistics of ANALYZE
    last_vacuum_before  timestamptz, -- last VACUUM or autovacuum before the run
    last_vacuum_after   timestamptz, -- last VACUUM or autovacuum when the run had ended
    last_analyze_before timestamptz, -- last ANALYZE or autoanalyze before the run
    last_analyze_after  timestamptz, -- last ANALYZE or autoanalyze when the run had ended
    autovacuums         bigint, -- autovacuums during the run
    sequential_scans    bigint, -- sequential scans during the run, of all sessions
    index_scans         bigint, -- index scans during the run, of all sessions
    rows_inserted       bigint, -- rows inserted during the run, by all sessions
    rows_updated        bigint, -- rows updated during the run, by all sessions
    rows_hot_updated    bigint, -- HOT updates during the run, by all sessions
    rows_deleted        bigint, -- rows deleted during the run, by all sessions
    PRIMARY KEY (run_id, relation)
);
COMMENT ON TABLE bench.run_tables IS 'tables and indexes that each run used: sizes and statistics before and after it';

CREATE TABLE bench.run_captured_statements (
    run_id              bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    statement_no        int NOT NULL, -- number of the statement, as in bench.captured_statements
    workload            text NOT NULL, -- captured workload
    query_id            bigint, -- identifier of the statement in pg_stat_statements during the run
    calls               bigint, -- calls from the start of the clients on, warm-up included; NULL, as all counts, if they are not known
    rows                bigint, -- rows that were returned or changed
    total_exec_time_ms  float8, -- execution time
    shared_blks_hit     bigint, -- blocks found in shared buffers
    shared_blks_read    bigint, -- blocks read into shared buffers
    shared_blks_dirtied bigint, -- blocks dirtied
    shared_blks_written bigint, -- blocks written
    wal_bytes           bigint, -- bytes of WAL
    reason              text, -- why there are no counts
    PRIMARY KEY (run_id, statement_no)
);
COMMENT ON TABLE bench.run_captured_statements IS 'what pg_stat_statements counted for the statements of a captured workload during each run of it';

CREATE TABLE bench.run_times (
    run_id                   bigint PRIMARY KEY REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    clients_ms               float8 NOT NULL, -- time of all clients, from the start of the measured time until each ended
    busy_ms                  float8 NOT NULL, -- part of clients_ms within transactions, also failed and unfinished ones, but not of a client whose process was terminated
    shell_ms                 float8, -- time of successful transactions in \shell and \setshell, without CPU time of clients; NULL if they had none
    sessions_cpu_ms          float8, -- CPU time of the processes that executed the statements
    sessions_run_queue_ms    float8, -- time that these processes waited for a CPU
    workers_cpu_ms           float8, -- CPU time of the client workers of mode libpq
    workers_run_queue_ms     float8, -- time that the client workers waited for a CPU
    coordinator_cpu_ms       float8, -- CPU time of the coordinator
    coordinator_run_queue_ms float8, -- time that the coordinator waited for a CPU
    timed_transactions       bigint NOT NULL, -- transactions that were timed part by part; all columns below are about them
    timed_plan_ms            float8 NOT NULL, -- CPU time of parsing and planning, mode spi
    timed_executor_ms        float8 NOT NULL, -- CPU time of the executor, mode spi
    timed_commit_ms          float8 NOT NULL, -- CPU time of commit and abort, mode spi
    timed_session_ms         float8 NOT NULL, -- CPU time of all else around statements, mode spi
    timed_harness_ms         float8 NOT NULL, -- CPU time outside of the session, mode spi
    timed_others_ms          float8 NOT NULL, -- time that answers were there while their worker served other clients, mode libpq
    timed_run_queue_ms       float8 NOT NULL -- time that answers were there while their worker was on the run queue, mode libpq
);
COMMENT ON TABLE bench.run_times IS 'times of each run that bench.time_budget divides among its transactions';
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
COMMENT ON FUNCTION bench.top_functions IS 'functions in the stacks of a run with profile: samples in the function itself, and with what it calls
run_id: run with profile; 0 is the last run
process: kind of process, as in bench.run_profiles
function: name of the function
self_samples: samples in the function itself
self_share: fraction of the samples of these processes
total_samples: samples in the function and in those that it calls
total_share: fraction of the samples of these processes';
/* What sessions of runs waited for, and what blocked them; no rows for runs with observe => false. */

/* What the sessions that serve the clients waited for, sampled wait_sample_rate times a second. */
CREATE TABLE bench.run_waits (
    run_id      bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    interval_no int NOT NULL, -- number of the interval, as in bench.run_intervals
    class       text NOT NULL, -- wait event type, or "not waiting", which does not mean on a CPU
    event       text, -- wait event; NULL if the session did not wait
    script_no   int, -- script that the client executed, as in bench.run_statements; NULL between transactions
    command_no  int, -- position of the command in the script, from 0
    query_id    bigint, -- identifier of the statement that the session executed, with compute_query_id
    samples     int NOT NULL, -- samples with these properties
    rounds      int NOT NULL, -- times that all sessions were sampled in the interval
    lasting     int NOT NULL DEFAULT 0 -- samples in the same wait of the same execution as the sample before
);
CREATE INDEX ON bench.run_waits (run_id, interval_no);
COMMENT ON TABLE bench.run_waits IS 'what the sessions of each run waited for in each interval, sampled';

/* What blocked sessions that waited for locks, looked for at most once a second. What belongs to other
   sessions is NULL unless the role has privileges of pg_read_all_stats. */
CREATE TABLE bench.run_blockers (
    run_id              bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    interval_no         int NOT NULL, -- number of the interval, as in bench.run_intervals
    script_no           int, -- script of the blocked client, as in bench.run_statements
    command_no          int, -- position of its command in the script, from 0
    locktype            text NOT NULL, -- type of the lock, as in pg_locks
    mode                text, -- mode in which the lock was wanted
    relation            text, -- relation of the lock, also of a row that a session waited for, if the server tells it
    blocker             text NOT NULL, -- kind of blocker: own client, prepared transaction, a type of process, session if the role may not see it, or other
    blocker_pid         int, -- process ID of the blocker
    blocker_role        text, -- role of the blocker; of a prepared transaction, its owner
    blocker_application text, -- application_name of the blocker
    blocker_state       text, -- state of the blocker, as in pg_stat_activity
    blocker_statement   text, -- current or last statement of the blocker; identifier of a prepared transaction
    blocker_script_no   int, -- script of a blocker that is an own client
    blocker_command_no  int, -- position of its command in the script, from 0
    samples             int NOT NULL, -- times that a session was seen so
    rounds              int NOT NULL -- times that blockers were looked for in the interval
);
CREATE INDEX ON bench.run_blockers (run_id, interval_no);
COMMENT ON TABLE bench.run_blockers IS 'what blocked the sessions of each run that waited for locks';

/* Stretches in which clients completed at most a tenth of the transactions that were usual in the seconds before, where
   at least ten were to be expected. The clients' own counters are compared some twenty times a second. What belongs to
   other sessions is NULL unless the role has privileges of pg_read_all_stats. */
CREATE TABLE bench.run_stalls (
    run_id               bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE, -- run that it belongs to
    stall_no             int NOT NULL, -- number of the stall, from 0
    begin_s              float8 NOT NULL, -- start of the stall, in seconds from the start of the run
    length_s             float8 NOT NULL, -- length of the stall in seconds
    clients              int NOT NULL, -- clients that were stalled, at most, at the same time
    transactions         bigint NOT NULL, -- transactions that they completed meanwhile
    expected             bigint NOT NULL, -- transactions that they usually complete in that time
    class                text, -- most frequent wait event type of their sessions, "not waiting", or "no answer" of a target
    event                text, -- wait event; NULL if the sessions did not wait
    locktype             text, -- type of the lock that they waited for, as in pg_locks
    mode                 text, -- mode in which the lock was wanted
    relation             text, -- relation of the lock, also of a row that a session waited for, if the server tells it
    blocker              text, -- kind of blocker: own client, another role, prepared transaction, or a type of process
    blocker_pid          int, -- process ID of the blocker
    blocker_role         text, -- role of the blocker; of a prepared transaction, its owner
    blocker_application  text, -- application_name of the blocker
    blocker_state        text, -- state of the blocker, as in pg_stat_activity
    blocker_statement    text, -- current or last statement of the blocker; identifier of a prepared transaction
    blocker_statement_at timestamptz, -- time at which that statement began
    PRIMARY KEY (run_id, stall_no)
);
COMMENT ON TABLE bench.run_stalls IS 'stretches of each run in which clients completed hardly a transaction, and why';

CREATE FUNCTION bench.top_waits(
    run_id bigint DEFAULT 0, -- run with observe; 0 is the last run
    OUT class text, -- wait event type, or "not waiting", which does not mean on a CPU
    OUT event text, -- wait event; NULL if the sessions did not wait
    OUT samples bigint, -- number of samples
    OUT share float8, -- fraction of all samples
    OUT sessions float8 -- mean number of sessions in this state
) RETURNS SETOF record
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT bench_internal.tell_hidden_waits($1);
    WITH w AS MATERIALIZED ( -- reads the rows once: a day has more than a million
        SELECT class, event, sum(samples) AS samples, max(rounds) AS rounds, grouping(interval_no) = 1 AS is_event
          FROM bench.run_waits r
         WHERE r.run_id = (SELECT bench_internal.named_run($1))
         GROUP BY GROUPING SETS ((class, event), (interval_no)))
    SELECT class, event, samples, round(samples / sum(samples) OVER (), 4),
           round(samples::numeric / (SELECT sum(rounds) FROM w WHERE NOT is_event), 4)
      FROM w
     WHERE is_event
     ORDER BY samples DESC, class COLLATE "C", event COLLATE "C" NULLS FIRST
$$;
COMMENT ON FUNCTION bench.top_waits IS 'what the sessions of a run waited for: samples, their share, sessions on average
run_id: run with observe; 0 is the last run
class: wait event type, or "not waiting", which does not mean on a CPU
event: wait event; NULL if the sessions did not wait
samples: number of samples
share: fraction of all samples
sessions: mean number of sessions in this state';
/* Starting runs, waiting for them and canceling them.

   The argument target of these functions, of bench.initialize and of bench.compare is the server to
   connect to: NULL for this one, or a libpq connection string, or the name of a foreign server with
   libpq's options. Non-superusers must provide a password, and the target must ask for it. A password
   in a connection string appears in pg_stat_activity and in the server's log of statements; a password
   in a user mapping does not. */

CREATE TYPE bench.run_result AS (
    run_id         bigint, -- number of the run; NULL if it is not stored, on a standby
    state          text, -- state: starting, running, finished, canceled, failed or lost
    mode           text, -- execution mode: spi or libpq
    transactions   bigint, -- successful transactions
    failed         bigint, -- failed transactions of all kinds
    tps            float8, -- successful transactions per second
    latency_avg_ms float8, -- mean latency
    latency_p99_ms float8 -- 99th percentile of the latency
);
COMMENT ON TYPE bench.run_result IS 'result row of bench.run and bench.wait, rounded; bench.run_summary has all figures';

CREATE FUNCTION bench.run(
    scripts text DEFAULT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    clients int DEFAULT 1, -- number of clients, which execute transactions concurrently
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int DEFAULT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    vacuum text DEFAULT 'auto', -- tables to vacuum before the run: auto, always, none or all
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    max_tries int DEFAULT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb DEFAULT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean DEFAULT false, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean DEFAULT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean DEFAULT false, -- the run stops when a client aborts
    per_statement boolean DEFAULT false, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean DEFAULT false, -- the report counts failures by kind
    verbose_errors boolean DEFAULT false, -- a notice for each error that does not abort the client
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean DEFAULT false, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20, -- samples per second of what the clients' sessions wait for
    connection text DEFAULT 'auto', -- way of the connections of mode libpq to this server: socket, tcp or auto
    settings jsonb DEFAULT NULL, -- session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
    setup text DEFAULT NULL, -- SQL statements that are executed before the run
    teardown text DEFAULT NULL, -- SQL statements that are executed after the run, however it ends
    verify boolean DEFAULT false, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text DEFAULT 'error', -- variables that scripts mention and nothing sets: error or pgbench
    sql text DEFAULT NULL, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    load_factor float8 DEFAULT NULL, -- rate as a multiple of the one at which a captured workload was executed, such as 2
    allow_writes boolean DEFAULT false -- whether a captured workload changes the tables that it was captured on, instead of copies of them
) RETURNS SETOF bench.run_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'run_wrapper';
COMMENT ON FUNCTION bench.run IS 'run a benchmark and return its result
scripts: names of scripts with weights, such as select-only@9, simple-update
mode: execution mode: spi or libpq
clients: number of clients, which execute transactions concurrently
jobs: sets of clients in mode libpq, pgbench''s threads
workers: processes that drive the jobs in mode libpq, at most one per job
duration: time during which transactions start, an interval or a number of seconds
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
vacuum: tables to vacuum before the run: auto, always, none or all
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
max_tries: maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
variables: variables for scripts, a JSON object such as {"scale": 10}
reconnect: a new connection for each transaction; mode libpq only
continue_on_error: errors of statements end their transaction, not their client
exit_on_abort: the run stops when a client aborts
per_statement: figures of each command, in bench.run_statements, with percentiles
failures_detailed: the report counts failures by kind
verbose_errors: a notice for each error that does not abort the client
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
checkpoint: a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for
connection: way of the connections of mode libpq to this server: socket, tcp or auto
settings: session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
setup: SQL statements that are executed before the run
teardown: SQL statements that are executed after the run, however it ends
verify: whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time
undefined_variables: variables that scripts mention and nothing sets: error or pgbench
sql: statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''
load_factor: rate as a multiple of the one at which a captured workload was executed, such as 2
allow_writes: whether a captured workload changes the tables that it was captured on, instead of copies of them';

CREATE FUNCTION bench.start(
    scripts text DEFAULT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    clients int DEFAULT 1, -- number of clients, which execute transactions concurrently
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int DEFAULT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    vacuum text DEFAULT 'auto', -- tables to vacuum before the run: auto, always, none or all
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    max_tries int DEFAULT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb DEFAULT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean DEFAULT false, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean DEFAULT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean DEFAULT false, -- the run stops when a client aborts
    per_statement boolean DEFAULT false, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean DEFAULT false, -- the report counts failures by kind
    verbose_errors boolean DEFAULT false, -- a notice for each error that does not abort the client
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean DEFAULT false, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20, -- samples per second of what the clients' sessions wait for
    connection text DEFAULT 'auto', -- way of the connections of mode libpq to this server: socket, tcp or auto
    settings jsonb DEFAULT NULL, -- session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
    setup text DEFAULT NULL, -- SQL statements that are executed before the run
    teardown text DEFAULT NULL, -- SQL statements that are executed after the run, however it ends
    verify boolean DEFAULT false, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text DEFAULT 'error', -- variables that scripts mention and nothing sets: error or pgbench
    sql text DEFAULT NULL, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    load_factor float8 DEFAULT NULL, -- rate as a multiple of the one at which a captured workload was executed, such as 2
    allow_writes boolean DEFAULT false -- whether a captured workload changes the tables that it was captured on, instead of copies of them
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'start_wrapper';
COMMENT ON FUNCTION bench.start IS 'start a benchmark that continues without the session, and return its run id
scripts: names of scripts with weights, such as select-only@9, simple-update
mode: execution mode: spi or libpq
clients: number of clients, which execute transactions concurrently
jobs: sets of clients in mode libpq, pgbench''s threads
workers: processes that drive the jobs in mode libpq, at most one per job
duration: time during which transactions start, an interval or a number of seconds
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
vacuum: tables to vacuum before the run: auto, always, none or all
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
max_tries: maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
variables: variables for scripts, a JSON object such as {"scale": 10}
reconnect: a new connection for each transaction; mode libpq only
continue_on_error: errors of statements end their transaction, not their client
exit_on_abort: the run stops when a client aborts
per_statement: figures of each command, in bench.run_statements, with percentiles
failures_detailed: the report counts failures by kind
verbose_errors: a notice for each error that does not abort the client
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
checkpoint: a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for
connection: way of the connections of mode libpq to this server: socket, tcp or auto
settings: session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
setup: SQL statements that are executed before the run
teardown: SQL statements that are executed after the run, however it ends
verify: whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time
undefined_variables: variables that scripts mention and nothing sets: error or pgbench
sql: statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''
load_factor: rate as a multiple of the one at which a captured workload was executed, such as 2
allow_writes: whether a captured workload changes the tables that it was captured on, instead of copies of them';

CREATE FUNCTION bench.wait(
    run_id bigint, -- run to wait for
    timeout bench.span DEFAULT NULL -- longest time to wait, an interval or a number of seconds; NULL is no limit
) RETURNS SETOF bench.run_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'wait_wrapper';
COMMENT ON FUNCTION bench.wait IS 'wait for a run and return its result or, after the timeout, its figures so far
run_id: run to wait for
timeout: longest time to wait, an interval or a number of seconds; NULL is no limit';

CREATE FUNCTION bench.cancel(
    run_id bigint -- run to cancel
) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'cancel_wrapper';
COMMENT ON FUNCTION bench.cancel IS 'cancel a run; false if it was not in progress
run_id: run to cancel';

/* Needs the target again if the run had one, except to give up: connection strings are not stored. */
CREATE FUNCTION bench.finish_teardown(
    run_id bigint, -- run whose teardown is due
    target text DEFAULT NULL, -- target of the run, if it had one
    give_up boolean DEFAULT false -- whether the teardown is dropped instead of executed
) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'finish_teardown_wrapper';
COMMENT ON FUNCTION bench.finish_teardown IS 'execute the teardown that a run has left because of an error or a crash, or give it up; false if there is none
run_id: run whose teardown is due
target: target of the run, if it had one
give_up: whether the teardown is dropped instead of executed';

/* The body of a client of mode spi that runs in a backend. Only runs call it: it requires a secret. */
CREATE PROCEDURE bench_internal.spi_client(segment bigint, secret bigint)
LANGUAGE c AS 'MODULE_PATHNAME', 'spi_client_wrapper';

/* Starts to sample the stacks of the calling session, which serves a client of a run with profile. Only
   runs call it: it requires a secret. */
CREATE FUNCTION bench_internal.sample_session(segment bigint, secret bigint, client bigint) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'sample_session_wrapper';

/* Whether a run's coordinator is alive, or may be: on a standby, it is on the primary. */
CREATE FUNCTION bench_internal.is_live(run_id bigint, segment bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'is_live_wrapper';

/* Whether another process has locked a row of a table by its number, or may have, since on a standby it is on the
   primary: that of a set, to drive it, of a job, to run it, or of a run, to execute its teardown. The locks are those of
   src/state/lock.rs, with the lower 32 bits of the number. */
CREATE FUNCTION bench_internal.is_locked(table_name name, number bigint) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_is_in_recovery() OR EXISTS (
        SELECT FROM pg_locks l
         WHERE l.locktype = 'object' AND l.granted AND l.objsubid = 1 AND l.pid IS DISTINCT FROM pg_backend_pid()
           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
           AND l.classid = (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                             WHERE n.nspname = 'bench' AND c.relname = $1)
           AND l.objid = ($2 & 4294967295)::oid)
$$;

/* The figures so far of a run in progress. */
CREATE FUNCTION bench_internal.live_figures(
    run_id bigint, segment bigint,
    OUT phase text, OUT seconds float8, OUT transactions bigint, OUT failed bigint,
    OUT skipped bigint, OUT latency_avg_ms float8, OUT interval_tps float8,
    OUT interval_latency_avg_ms float8, OUT waits_for text, OUT waiting_sessions float8
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'live_figures_wrapper';

/* The calling session's settings for bench.run_settings, without secrets and file names. */
CREATE FUNCTION bench_internal.settings_of_run() RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(jsonb_build_object(
               'name', name, 'setting', current_setting(name), 'source', source))
      FROM (SELECT name, category, source FROM pg_settings
             UNION ALL
            /* Of a library that sessions load, and this process, a worker, does not. */
            SELECT n.name, 'Customized Options', 'unknown'
              FROM (VALUES ('auto_explain.log_min_duration'), ('auto_explain.log_analyze'),
                           ('auto_explain.sample_rate')) n (name)
             WHERE current_setting(n.name, true) IS NOT NULL
               AND n.name NOT IN (SELECT s.name FROM pg_settings s)
               AND EXISTS (SELECT FROM pg_settings s
                            WHERE s.name IN ('session_preload_libraries', 'local_preload_libraries')
                              AND s.setting LIKE '%auto_explain%')) s
     WHERE (category NOT IN ('Customized Options', 'File Locations') OR name LIKE 'auto_explain.%')
       AND name NOT IN ('primary_conninfo', 'archive_command', 'archive_cleanup_command',
                        'restore_command', 'recovery_end_command', 'ssl_passphrase_command',
                        'search_path')
       AND name NOT LIKE 'krb%' AND name NOT LIKE 'ssl%file%'
       AND (source NOT IN ('default', 'override')
            OR name IN ('auto_explain.log_min_duration', 'autovacuum', 'block_size', 'checkpoint_timeout', 'data_checksums',
                        'debug_assertions', 'effective_io_concurrency', 'fsync',
                        'full_page_writes', 'huge_pages', 'jit', 'maintenance_work_mem',
                        'max_connections', 'max_wal_size', 'max_worker_processes',
                        'shared_buffers', 'synchronous_commit', 'synchronous_standby_names',
                        'track_io_timing', 'wal_buffers', 'wal_compression', 'wal_level',
                        'wal_segment_size', 'wal_sync_method', 'work_mem'))
$$;
/* Stored scripts. */

CREATE FUNCTION bench.define_script(
    name text, -- name of the script
    body text, -- text in pgbench's language
    description text DEFAULT NULL -- text that reports show
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'define_script_wrapper';
COMMENT ON FUNCTION bench.define_script IS 'store a benchmark script, or replace one that you own
name: name of the script
body: text in pgbench''s language
description: text that reports show';

CREATE FUNCTION bench.drop_script(
    name text -- name of the script, with the owner in front for another role's
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_script_wrapper';
COMMENT ON FUNCTION bench.drop_script IS 'drop a stored script that you own
name: name of the script, with the owner in front for another role''s';

CREATE FUNCTION bench.check_script(
    body text, -- text in pgbench's language
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    resolve boolean DEFAULT false, -- whether names in statements are looked up
    variables jsonb DEFAULT NULL, -- all variables that a run sets; NULL if they are not known
    OUT line int, -- line of the script, from 1
    OUT column_no int, -- column in the line, from 1
    OUT severity text, -- error, warning or note
    OUT message text, -- finding
    OUT hint text -- proposal
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'check_script_wrapper';
COMMENT ON FUNCTION bench.check_script IS 'errors of a script, and what may be wrong with it; executes nothing
body: text in pgbench''s language
protocol: query protocol: simple, extended or prepared
resolve: whether names in statements are looked up
variables: all variables that a run sets; NULL if they are not known
line: line of the script, from 1
column_no: column in the line, from 1
severity: error, warning or note
message: finding
hint: proposal';
/* Filling pgbench's and pgio's tables.

   If tables and primary keys or indexes do not fit into the file systems of their tablespaces, or their
   WAL into that of pg_wal, nothing is dropped or created, and the functions fail with disk_full, unless
   "force" is true. The file systems of a target are not checked. */

CREATE FUNCTION bench.initialize(
    scale int DEFAULT 1, -- scale: 100,000 accounts, 10 tellers and a branch each
    steps text DEFAULT 'dtgvp', -- letters of steps: drop tables, create tables, generate data (g, or G by SQL on the server), vacuum, primary keys, foreign keys
    fillfactor int DEFAULT 100, -- fill factor of the tables, 10 to 100
    partitions int DEFAULT 0, -- partitions of accounts; 0 is none
    partition_method text DEFAULT NULL, -- method of partitioning: range, which is the default, or hash
    foreign_keys boolean DEFAULT false, -- foreign keys: adds f to the steps
    unlogged boolean DEFAULT false, -- unlogged tables
    tablespace text DEFAULT NULL, -- tablespace of the tables
    index_tablespace text DEFAULT NULL, -- tablespace of the indexes
    target text DEFAULT NULL, -- server to connect to: a connection string or the name of a foreign server
    workers int DEFAULT NULL, -- number of processes that fill accounts, including the loader
    force boolean DEFAULT false, -- whether not to check, before anything is dropped, that there is space
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_wrapper';
COMMENT ON FUNCTION bench.initialize IS 'create and fill pgbench''s tables as pgbench -i does; returns the seconds of each step
scale: scale: 100,000 accounts, 10 tellers and a branch each
steps: letters of steps: drop tables, create tables, generate data (g, or G by SQL on the server), vacuum, primary keys, foreign keys
fillfactor: fill factor of the tables, 10 to 100
partitions: partitions of accounts; 0 is none
partition_method: method of partitioning: range, which is the default, or hash
foreign_keys: foreign keys: adds f to the steps
unlogged: unlogged tables
tablespace: tablespace of the tables
index_tablespace: tablespace of the indexes
target: server to connect to: a connection string or the name of a foreign server
workers: number of processes that fill accounts, including the loader
force: whether not to check, before anything is dropped, that there is space
step: step
seconds: time of the step';

CREATE FUNCTION bench.initialize(
    workload text, -- name of a workload or of a mix of it, see bench.workloads
    scale int DEFAULT 1, -- scale, in units of the workload
    variables jsonb DEFAULT NULL, -- variables of the workload, a JSON object of integers such as {"rows": 1000}
    seed bench.seed DEFAULT NULL, -- random seed, which determines the rows: an integer from 0 to 18446744073709551615, time or rand
    workers int DEFAULT NULL, -- number of processes that fill tables, including the loader
    target text DEFAULT NULL, -- server to connect to: a connection string or the name of a foreign server
    tablespace text DEFAULT NULL, -- tablespace of the tables and their indexes
    unlogged boolean DEFAULT false, -- unlogged tables
    force boolean DEFAULT false, -- whether to drop tables with the names of the workload's that no initialization has made, and not to check, before anything is dropped, that there is space
    steps text DEFAULT NULL, -- steps: d drops the tables only; NULL is all of them
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_workload_wrapper';
COMMENT ON FUNCTION bench.initialize(text, int, jsonb, bench.seed, int, text, text, boolean, boolean, text) IS 'create and fill the tables of a workload in the first schema of search_path; returns the seconds of each step
workload: name of a workload or of a mix of it, see bench.workloads
scale: scale, in units of the workload
variables: variables of the workload, a JSON object of integers such as {"rows": 1000}
seed: random seed, which determines the rows: an integer from 0 to 18446744073709551615, time or rand
workers: number of processes that fill tables, including the loader
target: server to connect to: a connection string or the name of a foreign server
tablespace: tablespace of the tables and their indexes
unlogged: unlogged tables
force: whether to drop tables with the names of the workload''s that no initialization has made, and not to check, before anything is dropped, that there is space
steps: steps: d drops the tables only; NULL is all of them
step: step
seconds: time of the step';

/*
 * Creates tables pgio1, pgio2 and so on in the first schema of search_path.
 * "size" is the size of each table: a number of blocks such as '16384', or bytes
 * such as '128M', '64MB' or '1TB', rounded down to whole blocks.  Existing pgio
 * tables are dropped first.  "seed" determines the order of keys.
 */
CREATE FUNCTION bench.initialize_pgio(
    tables int DEFAULT 1, -- number of tables
    size text DEFAULT '1GB', -- size of each table without its index: a number of blocks, or a number with a unit of pg_size_bytes (64MB, 1.5TB; pgio's M, G, T as well)
    workers int DEFAULT NULL, -- number of processes that fill tables, including the loader
    target text DEFAULT NULL, -- server to connect to: a connection string or the name of a foreign server
    tablespace text DEFAULT NULL, -- tablespace of the tables
    index_tablespace text DEFAULT NULL, -- tablespace of the indexes
    unlogged boolean DEFAULT false, -- unlogged tables
    force boolean DEFAULT false, -- whether not to check, before anything is dropped, that there is space
    seed bench.seed DEFAULT NULL, -- random seed, which determines the order of keys: an integer from 0 to 18446744073709551615, time or rand
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_pgio_wrapper';
COMMENT ON FUNCTION bench.initialize_pgio IS 'create and fill pgio''s tables, one row per block in random key order; size is that of each table, in blocks or as ''64MB''; returns the seconds of each step
tables: number of tables
size: size of each table without its index: a number of blocks, or a number with a unit of pg_size_bytes (64MB, 1.5TB; pgio''s M, G, T as well)
workers: number of processes that fill tables, including the loader
target: server to connect to: a connection string or the name of a foreign server
tablespace: tablespace of the tables
index_tablespace: tablespace of the indexes
unlogged: unlogged tables
force: whether not to check, before anything is dropped, that there is space
seed: random seed, which determines the order of keys: an integer from 0 to 18446744073709551615, time or rand
step: step
seconds: time of the step';
/* The catalog of workloads. Each role sees and uses its own ones only, beside those of the library. */

CREATE FUNCTION bench.define_workload(
    name text, -- name of the workload, of letters, digits, underscores and hyphens
    manifest jsonb, -- description, unit of the scale, sizes, variables and mixes
    schema text, -- CREATE TABLE, FUNCTION and PROCEDURE statements
    load text, -- query of the rows of each table
    scripts jsonb, -- object of the texts of the scripts, in pgbench's language
    finish text DEFAULT '', -- statements behind the load, such as those that create keys
    checks text DEFAULT '' -- query of violating rows for each condition
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'define_workload_wrapper';
COMMENT ON FUNCTION bench.define_workload IS 'store a workload, or replace one that you own; executes nothing
name: name of the workload, of letters, digits, underscores and hyphens
manifest: description, unit of the scale, sizes, variables and mixes
schema: CREATE TABLE, FUNCTION and PROCEDURE statements
load: query of the rows of each table
scripts: object of the texts of the scripts, in pgbench''s language
finish: statements behind the load, such as those that create keys
checks: query of violating rows for each condition';

CREATE FUNCTION bench.drop_workload(
    name text -- name of the workload, with the owner in front for another role's
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_workload_wrapper';
COMMENT ON FUNCTION bench.drop_workload IS 'drop a stored workload that you own; its tables stay
name: name of the workload, with the owner in front for another role''s';

CREATE FUNCTION bench_internal.workloads(
    OUT family text, OUT mix text, OUT description text, OUT unit text, OUT table_bytes bigint,
    OUT index_bytes bigint, OUT tables text[], OUT scripts text[], OUT variables jsonb, OUT options jsonb,
    OUT is_own boolean
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'workloads_wrapper';

CREATE VIEW bench.workloads AS
    SELECT w.family, -- tables, loaded by bench.initialize
           w.mix, -- scripts, executed by bench.run; NULL if the family has functions of its own
           w.description, -- what it does
           w.unit, -- unit of the scale
           w.table_bytes, -- size of the tables for a unit, without what they have whatever the scale is
           w.index_bytes, -- size of the indexes for a unit
           w.tables, -- tables of the family
           w.scripts, -- scripts with their weights, in order: name@weight
           w.variables, -- variables with their defaults and ranges
           w.options, -- defaults of options of bench.run
           CASE WHEN w.is_own THEN quote_ident(current_user)::regrole END AS owner -- role that defined it, the current one; NULL if the library has it
      FROM bench_internal.workloads() w;
COMMENT ON VIEW bench.workloads IS 'workloads that bench.initialize loads and bench.run executes, those of the library and your own: families of tables, and mixes of scripts';

CREATE FUNCTION bench.workload_script(
    mix text, -- name of the mix
    script text, -- name of the script in the mix
    variables jsonb DEFAULT NULL, -- variables, instead of those of the tables
    seed bench.seed DEFAULT NULL, -- random seed of the constants of a run
    OUT body text, -- script, in pgbench's language
    OUT defines text -- options for the pgbench program that set its variables
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'workload_script_wrapper';
COMMENT ON FUNCTION bench.workload_script IS 'text of a script of a workload, and its variables for the loaded tables, to run it by pgbench
mix: name of the mix
script: name of the script in the mix
variables: variables, instead of those of the tables
seed: random seed of the constants of a run
body: script, in pgbench''s language
defines: options for the pgbench program that set its variables';

CREATE FUNCTION bench.check_workload(
    workload text, -- family or mix
    OUT condition text, -- name of the condition
    OUT description text, -- condition in words
    OUT holds boolean, -- whether it holds; NULL if only a load has to keep it, and it does not, or if the tables were not loaded here
    OUT violations bigint, -- rows that violate it
    OUT example text -- one of these rows, or the reason why it is not judged
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 12 AS 'MODULE_PATHNAME', 'check_workload_wrapper';
COMMENT ON FUNCTION bench.check_workload IS 'whether the rows of a workload''s tables are right: its conditions, in one snapshot
workload: family or mix
condition: name of the condition
description: condition in words
holds: whether it holds; NULL if only a load has to keep it, and it does not, or if the tables were not loaded here
violations: rows that violate it
example: one of these rows, or the reason why it is not judged';
/* Workloads captured from pg_stat_statements. */

CREATE TABLE bench.captured_workloads (
    owner              regrole NOT NULL, -- role that captured it
    workload           text NOT NULL, -- name of the workload
    captured_at        timestamptz NOT NULL DEFAULT now(), -- time of the capture
    search_path        text NOT NULL, -- search_path with which statements were analyzed
    seconds            float8 NOT NULL, -- length of the window in seconds
    commits            float8, -- commits in the window; NULL if they are not known
    begins             float8, -- transaction blocks in the window; NULL if they were not counted
    total_exec_time_ms float8 NOT NULL, -- execution time of all top-level statements of the database
    PRIMARY KEY (owner, workload),
    FOREIGN KEY (owner, workload) REFERENCES bench.workload_definitions (owner, name) ON DELETE CASCADE
);
COMMENT ON TABLE bench.captured_workloads IS 'workloads of bench.capture_workload, with facts about their windows; each role sees its own';

CREATE TABLE bench.captured_statements (
    owner               regrole NOT NULL, -- role that captured it
    workload            text NOT NULL, -- name of the workload
    statement_no        int NOT NULL, -- number of the statement in the workload, from 1
    queryid             bigint, -- number in pg_stat_statements; NULL of statements that were left out together
    query               text, -- text in pg_stat_statements, or the number of statements that were left out together
    script              text, -- scripts that execute it
    sql                 text, -- statement as these scripts have it
    status              text NOT NULL CHECK (status IN ('captured', 'left out')), -- captured or left out
    reason              text, -- why it was left out
    approximate         boolean NOT NULL, -- whether its effort may differ from the original's: values, types or transactions were guessed
    time_share          float8, -- share of the execution time of all top-level statements of the database
    calls               bigint NOT NULL, -- calls in the window
    rows                bigint NOT NULL, -- rows that were returned or changed
    total_exec_time_ms  float8 NOT NULL, -- execution time
    shared_blks_hit     bigint NOT NULL, -- blocks found in shared buffers
    shared_blks_read    bigint NOT NULL, -- blocks read into shared buffers
    shared_blks_dirtied bigint NOT NULL, -- blocks dirtied
    shared_blks_written bigint NOT NULL, -- blocks written
    wal_bytes           bigint NOT NULL, -- bytes of WAL
    PRIMARY KEY (owner, workload, statement_no),
    FOREIGN KEY (owner, workload) REFERENCES bench.captured_workloads ON DELETE CASCADE
);
COMMENT ON TABLE bench.captured_statements IS 'statements of captured workloads, with what was counted for them';

CREATE TABLE bench.captured_parameters (
    owner        regrole NOT NULL, -- role that captured it
    workload     text NOT NULL, -- name of the workload
    statement_no int NOT NULL, -- number of the statement in the workload
    parameter_no int NOT NULL, -- number of the parameter in the text
    type         text NOT NULL, -- its type
    column_name  text, -- column or expression that it is compared with or stored in
    role         text NOT NULL, -- what it stands for: equality, range, like, insert, update, limit and others
    source       text NOT NULL, -- where its values come from
    expression   text, -- expression of bench.set_parameter
    reason       text, -- why it has no values
    PRIMARY KEY (owner, workload, statement_no, parameter_no),
    FOREIGN KEY (owner, workload, statement_no) REFERENCES bench.captured_statements ON DELETE CASCADE
);
COMMENT ON TABLE bench.captured_parameters IS 'parameters of the statements of captured workloads, and where their values come from';

CREATE FUNCTION bench_internal.delete_value_sets() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    /* Others with such a name are the user's own. */
    DELETE FROM bench.value_sets v
     WHERE v.owner = OLD.owner AND starts_with(v.set_name, OLD.workload || '.s')
       AND substr(v.set_name, length(OLD.workload) + 3) ~ '^[0-9]+$';
    RETURN NULL;
END
$$;
CREATE TRIGGER delete_value_sets AFTER DELETE ON bench.captured_workloads
FOR EACH ROW EXECUTE FUNCTION bench_internal.delete_value_sets();

ALTER TABLE bench.captured_workloads ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.captured_workloads
    USING (owner = (SELECT quote_ident(current_user)::regrole));

ALTER TABLE bench.captured_statements ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.captured_statements
    USING (owner = (SELECT quote_ident(current_user)::regrole));

ALTER TABLE bench.captured_parameters ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.captured_parameters
    USING (owner = (SELECT quote_ident(current_user)::regrole));

CREATE FUNCTION bench.capture_workload(
    name text, -- name of the workload
    period bench.span DEFAULT '5 min', -- time between two looks at pg_stat_statements; NULL takes the totals since its reset
    top int DEFAULT 50, -- number of statements, those that took most time
    search_path text DEFAULT NULL, -- search_path with which they find their tables; NULL for that of the session
    roles regrole[] DEFAULT NULL, -- roles whose statements are captured, each in a workload of its own; NULL for the current role
    OUT role text, -- role whose workload has the statement
    OUT statement_no int, -- number of the statement
    OUT calls bigint, -- calls in the window
    OUT time_share float8, -- share of the execution time of all top-level statements of the database
    OUT script text, -- scripts that execute it
    OUT status text, -- captured or left out
    OUT reason text, -- why it is left out, or that it is approximate
    OUT query text -- beginning of its text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'capture_workload_wrapper';
COMMENT ON FUNCTION bench.capture_workload IS 'make a workload of your statements in pg_stat_statements, or of those of other roles, with values of their tables
name: name of the workload
period: time between two looks at pg_stat_statements; NULL takes the totals since its reset
top: number of statements, those that took most time
search_path: search_path with which they find their tables; NULL for that of the session
roles: roles whose statements are captured, each in a workload of its own; NULL for the current role
role: role whose workload has the statement
statement_no: number of the statement
calls: calls in the window
time_share: share of the execution time of all top-level statements of the database
script: scripts that execute it
status: captured or left out
reason: why it is left out, or that it is approximate
query: beginning of its text';

CREATE FUNCTION bench.set_parameter(
    workload text, -- name of the captured workload
    statement int, -- number of the statement
    parameter int, -- number of the parameter in its text
    expression text, -- SQL expression or query, executed now, for the values of the parameter; NULL for those that the capture infers
    OUT role text, -- role whose workload has the statement
    OUT statement_no int, -- number of the statement
    OUT calls bigint, -- calls in the window
    OUT time_share float8, -- share of the execution time of all top-level statements of the database
    OUT script text, -- scripts that execute it
    OUT status text, -- captured or left out
    OUT reason text, -- why it is left out, or that it is approximate
    OUT query text -- beginning of its text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'set_parameter_wrapper';
COMMENT ON FUNCTION bench.set_parameter IS 'say which values a parameter of a captured statement has, and make the workload again
workload: name of the captured workload
statement: number of the statement
parameter: number of the parameter in its text
expression: SQL expression or query, executed now, for the values of the parameter; NULL for those that the capture infers
role: role whose workload has the statement
statement_no: number of the statement
calls: calls in the window
time_share: share of the execution time of all top-level statements of the database
script: scripts that execute it
status: captured or left out
reason: why it is left out, or that it is approximate
query: beginning of its text';
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
COMMENT ON FUNCTION bench.validate_workload IS 'compare a run of a captured workload with what was captured, statement by statement
name: name of the captured workload
run_id: run of it; 0 is the last run
statement_no: number of the statement; NULL in the last row, which has the figures of all that were measured
judgement: same, differs, not measured or left out, and why; in the last row the verdict
captured_calls_share: share of the calls of the statements that were measured when it was captured
run_calls_share: share of their calls in the run
captured_mean_ms: mean execution time when it was captured
run_mean_ms: mean execution time in the run
captured_rows: rows per call when it was captured
run_rows: rows per call in the run
captured_blocks: blocks per call that were found in shared buffers or read when it was captured
run_blocks: blocks per call in the run
captured_wal_bytes: bytes of WAL per call when it was captured
run_wal_bytes: bytes of WAL per call in the run
captured_hit_share: share of the blocks that were found in shared buffers when it was captured
run_hit_share: share of the blocks that were found in shared buffers in the run
query: text of the statement';
/* Copies of the tables that a captured workload uses, for runs that write. Everything is done with the rights
   of the caller. */

CREATE FUNCTION bench_internal.set_clone_schema(workload text, schema text) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'set_clone_schema_wrapper';

/* Executes a query in a security-restricted operation, and returns the first value of its row: functions that it calls cannot
   become another role, such as that of a session which has become the current one by SET ROLE. */
CREATE FUNCTION bench_internal.execute_restricted(query text) RETURNS text
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'execute_restricted_wrapper';

/* Relations that a captured workload uses, and other tables; partitions, and what views read. The OID is null if there is none. */
CREATE FUNCTION bench_internal.used_relations(workload text, tables oid[]) RETURNS TABLE (name text, oid oid)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE used (name, oid) AS (
        SELECT t.name, to_regclass(t.name)::oid
          FROM (SELECT format('%I.%I', c.table_schema, c.table_name) AS name FROM bench.captured_tables c
                 WHERE c.owner = quote_ident(current_user)::regrole AND c.workload = $1) t
        UNION
        SELECT t::regclass::text, c.oid FROM unnest($2) t LEFT JOIN pg_class c ON c.oid = t
        UNION
        SELECT n.oid::regclass::text, n.oid
          FROM used u JOIN pg_class c ON c.oid = u.oid,
               LATERAL (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = c.oid AND c.relkind = 'p' AND NOT i.inhdetachpending
                        UNION ALL
                        SELECT d.refobjid FROM pg_rewrite w
                          JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                         WHERE w.ev_class = c.oid AND c.relkind = 'v' AND d.refclassid = 'pg_class'::regclass
                           AND d.refobjid >= 16384) n (oid))
    SELECT u.name, u.oid FROM used u
$$;

/* Locks relations and their schemas with ACCESS SHARE. Fails if the current role may not read a table or a sequence of these; views
   that it may not read are left out. LOCK TABLE would take names, which can have become those of others when the lock is there. */
CREATE FUNCTION bench_internal.lock_relations(relations oid[]) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'lock_relations_wrapper';

/* Executes statements in one snapshot, which is taken at the call; the number of rows of each, and its time. Fails if one uses
   another relation than these. */
CREATE FUNCTION bench_internal.execute_in_one_snapshot(statements text[], relations oid[]) RETURNS TABLE (rows bigint, seconds float8)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'execute_in_one_snapshot_wrapper';

/* The current role and superusers. */
CREATE FUNCTION bench_internal.trusted_roles() RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT w.oid FROM pg_roles w WHERE w.rolsuper OR w.rolname = current_user $$;

/* Roles that are not trusted and own a schema or, if "granted", may create objects in it; 0 is every role. */
CREATE FUNCTION bench_internal.foreign_creators(schema oid, granted boolean) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.oid
      FROM pg_namespace n JOIN pg_database b ON b.datname = current_database(),
           LATERAL (SELECT n.nspowner
                    UNION
                    SELECT e.grantee FROM aclexplode(n.nspacl) e WHERE granted AND e.privilege_type = 'CREATE') g (grantee),
           LATERAL (SELECT CASE g.grantee WHEN 'pg_database_owner'::regrole THEN b.datdba ELSE g.grantee END) r (oid)
     WHERE n.oid = $1 AND r.oid NOT IN (SELECT bench_internal.trusted_roles())
$$;

/* Fails if roles that are not trusted own a schema with copies or something in it, or may create objects there. */
CREATE FUNCTION bench_internal.refuse_foreign_schema(schema oid) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    trusted CONSTANT oid[] := ARRAY(SELECT bench_internal.trusted_roles());
    name CONSTANT text := (SELECT n.nspname FROM pg_namespace n WHERE n.oid = $1);
    found record;
BEGIN
    IF EXISTS (SELECT FROM bench_internal.foreign_creators($1, true)) THEN
        RAISE 'other roles may create objects in schema "%"', name
            USING ERRCODE = 'insufficient_privilege', DETAIL = 'Runs on the copies would use them with your rights.',
            HINT = 'Copy the tables into a new schema.';
    END IF;
    SELECT pg_describe_object(o.class, o.oid, 0) AS object INTO found
      FROM (SELECT 'pg_class'::regclass, c.oid, c.relowner FROM pg_class c WHERE c.relnamespace = $1
            UNION ALL
            SELECT 'pg_proc'::regclass, p.oid, p.proowner FROM pg_proc p WHERE p.pronamespace = $1
            UNION ALL
            SELECT 'pg_operator'::regclass, o.oid, o.oprowner FROM pg_operator o WHERE o.oprnamespace = $1
            UNION ALL
            SELECT 'pg_type'::regclass, t.oid, t.typowner FROM pg_type t WHERE t.typnamespace = $1) o (class, oid, owner)
     WHERE o.owner <> ALL (trusted) ORDER BY 1 LIMIT 1;
    IF found.object IS NOT NULL THEN
        RAISE 'must be owner of %', found.object
            USING ERRCODE = 'insufficient_privilege', DETAIL = 'Runs on the copies would use it with your rights.',
            HINT = 'Copy the tables into a new schema.';
    END IF;
END
$$;

/* Fails if relations, or something that they use, directly or through something else, belong to roles that are not trusted.
   Who owns a function, a type or a schema decides what is called in its name: copies do that with the caller's rights. */
CREATE FUNCTION bench_internal.refuse_foreign_objects(relations oid[], sequences oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    trusted CONSTANT oid[] := ARRAY(SELECT bench_internal.trusted_roles());
    found record;
BEGIN
    WITH RECURSIVE used (class, object, is_named) AS (
        SELECT 'pg_class'::regclass::oid, r, true FROM unnest(relations || sequences) r
        UNION
        SELECT n.class, n.object, n.is_named AND u.is_named
          FROM used u, LATERAL (
               SELECT d.refclassid, d.refobjid, true FROM pg_depend d
                WHERE d.classid = u.class AND d.objid = u.object AND d.deptype <> 'e' AND (u.is_named OR d.refclassid <> 'pg_namespace'::regclass)
               UNION ALL
               -- What belongs to it.
               SELECT d.classid, d.objid, true FROM pg_depend d
                WHERE d.refclassid = u.class AND d.refobjid = u.object AND u.class <> 'pg_namespace'::regclass
                  AND d.deptype IN ('a', 'i')
                  AND CASE d.classid
                      WHEN 'pg_class'::regclass THEN (SELECT c.relkind IN ('i', 'I', 'c') FROM pg_class c WHERE c.oid = d.objid)
                      WHEN 'pg_constraint'::regclass THEN (SELECT n.contype NOT IN ('f', 't') FROM pg_constraint n WHERE n.oid = d.objid)
                      WHEN 'pg_rewrite'::regclass THEN (SELECT c.relkind = 'v' FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE w.oid = d.objid)
                      ELSE d.classid IN ('pg_attrdef'::regclass, 'pg_statistic_ext'::regclass, 'pg_amop'::regclass, 'pg_amproc'::regclass) END
               UNION ALL
               -- The server uses the rest without a dependency and without a name: types of columns and of other types,
               SELECT 'pg_type'::regclass, a.atttypid, false FROM pg_attribute a
                WHERE u.class = 'pg_class'::regclass AND a.attrelid = u.object AND a.attnum > 0 AND NOT a.attisdropped
               UNION ALL
               SELECT u.class, e.oid, false FROM pg_type t, LATERAL (
                      SELECT t.typbasetype UNION ALL SELECT t.typelem
                      UNION ALL
                      SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)) e (oid)
                WHERE u.class = 'pg_type'::regclass AND t.oid = u.object AND e.oid <> 0
               UNION ALL
               -- casts, except those to types of others, who can make them,
               SELECT CASE k.castfunc WHEN 0 THEN u.class ELSE 'pg_proc'::regclass END, CASE k.castfunc WHEN 0 THEN k.casttarget ELSE k.castfunc END, false
                 FROM pg_cast k JOIN pg_type t ON t.oid = k.casttarget
                WHERE u.class = 'pg_type'::regclass AND k.castsource = u.object AND k.oid >= 16384
                  AND (k.castmethod = 'b' OR t.typowner = ANY (trusted))
               UNION ALL
               -- operator classes of types, indexes and partition keys with all of their family, operators of foreign keys, and
               -- operators that stand for another one.
               SELECT 'pg_opclass'::regclass, o.oid, false FROM pg_opclass o
                WHERE u.class = 'pg_type'::regclass AND o.opcintype = u.object AND o.opcdefault
               UNION ALL
               SELECT 'pg_opclass'::regclass, unnest(x.indclass), false FROM pg_index x WHERE u.class = 'pg_class'::regclass AND x.indexrelid = u.object
               UNION ALL
               SELECT 'pg_opclass'::regclass, unnest(t.partclass), false FROM pg_partitioned_table t
                WHERE u.class = 'pg_class'::regclass AND t.partrelid = u.object
               UNION ALL
               SELECT 'pg_opfamily'::regclass, o.opcfamily, false FROM pg_opclass o WHERE u.class = 'pg_opclass'::regclass AND o.oid = u.object
               UNION ALL
               SELECT 'pg_opfamily'::regclass, o.amopfamily, false FROM pg_amop o WHERE u.class = 'pg_operator'::regclass AND o.amopopr = u.object
               UNION ALL
               SELECT 'pg_operator'::regclass, o.amopopr, false FROM pg_amop o
                WHERE u.class = 'pg_opfamily'::regclass AND o.amopfamily = u.object AND o.oid >= 16384
               UNION ALL
               SELECT 'pg_proc'::regclass, o.amproc, false FROM pg_amproc o
                WHERE u.class = 'pg_opfamily'::regclass AND o.amprocfamily = u.object AND o.oid >= 16384
               UNION ALL
               SELECT 'pg_operator'::regclass, unnest(n.conpfeqop || n.conppeqop || n.conffeqop), false FROM pg_constraint n
                WHERE u.class = 'pg_class'::regclass AND n.conrelid = u.object AND n.contype = 'f' AND n.confrelid = ANY (relations)
               UNION ALL
               SELECT u.class, o.oid, false FROM pg_operator p JOIN pg_operator o ON o.oid IN (p.oprcom, p.oprnegate)
                WHERE u.class = 'pg_operator'::regclass AND p.oid = u.object) n (class, object, is_named)),
    owned (class, object, owner) AS (
        SELECT u.class, u.object, o.relowner FROM used u JOIN pg_class o ON u.class = 'pg_class'::regclass AND o.oid = u.object
         WHERE o.relkind NOT IN ('i', 'I')
        UNION ALL
        SELECT u.class, u.object, f FROM used u, bench_internal.foreign_creators(u.object, false) f WHERE u.class = 'pg_namespace'::regclass
        UNION ALL
        SELECT u.class, u.object, o.typowner FROM used u JOIN pg_type o ON u.class = 'pg_type'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.proowner FROM used u JOIN pg_proc o ON u.class = 'pg_proc'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.oprowner FROM used u JOIN pg_operator o ON u.class = 'pg_operator'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.opcowner FROM used u JOIN pg_opclass o ON u.class = 'pg_opclass'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.opfowner FROM used u JOIN pg_opfamily o ON u.class = 'pg_opfamily'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.collowner FROM used u JOIN pg_collation o ON u.class = 'pg_collation'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.lanowner FROM used u JOIN pg_language o ON u.class = 'pg_language'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.stxowner FROM used u JOIN pg_statistic_ext o ON u.class = 'pg_statistic_ext'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.cfgowner FROM used u JOIN pg_ts_config o ON u.class = 'pg_ts_config'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.dictowner FROM used u JOIN pg_ts_dict o ON u.class = 'pg_ts_dict'::regclass AND o.oid = u.object)
    SELECT pg_describe_object(o.class, o.object, 0) AS object, o.class = 'pg_class'::regclass AS is_relation, o.owner::regrole AS role INTO found
      FROM owned o WHERE o.owner <> ALL (trusted)
     ORDER BY 2 DESC, 1 LIMIT 1;
    IF found.role IS NOT NULL THEN
        RAISE 'must be owner of %', found.object USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('Copying may call functions of role %s with your rights.', found.role),
            HINT = CASE WHEN found.is_relation THEN format('Capture and copy the tables as role %s, or change the owner.', found.role)
                        ELSE 'Change the owner to the role that copies the tables, or to a superuser.' END;
    END IF;
END
$$;

/* Fails if copies would use something by a name to which roles that are not trusted could give another meaning: by a function
   or an operator for the same arguments. Expressions of indexes and keys, defaults with sequences, and views are copied as text. */
CREATE FUNCTION bench_internal.refuse_foreign_names(relations oid[], sequences oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    found record;
BEGIN
    WITH written (relation, class, object) AS (
        SELECT x.indrelid, 'pg_class'::regclass::oid, x.indexrelid FROM pg_index x
         WHERE x.indrelid = ANY (relations) AND (x.indexprs IS NOT NULL OR x.indpred IS NOT NULL)
        UNION ALL
        SELECT n.conrelid, 'pg_constraint'::regclass, n.oid FROM pg_constraint n WHERE n.conrelid = ANY (relations) AND n.contype = 'x'
        UNION ALL
        SELECT t.partrelid, 'pg_class'::regclass, t.partrelid FROM pg_partitioned_table t
         WHERE t.partrelid = ANY (relations) AND t.partexprs IS NOT NULL
        UNION ALL
        SELECT a.adrelid, 'pg_attrdef'::regclass, a.oid FROM pg_attrdef a
         WHERE a.adrelid = ANY (relations)
           AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (sequences))
        UNION ALL
        SELECT w.ev_class, 'pg_rewrite'::regclass, w.oid FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class
         WHERE c.oid = ANY (relations) AND c.relkind = 'v'),
    used (relation, class, object) AS (
        SELECT w.relation, d.refclassid, d.refobjid FROM written w JOIN pg_depend d ON d.classid = w.class AND d.objid = w.object
         WHERE d.refobjid >= 16384),
    objects (relation, class, object, schema) AS (
        -- Those of search_path, while the view is made.
        SELECT DISTINCT u.relation, 'pg_namespace'::regclass::oid, c.relnamespace, c.relnamespace
          FROM used u JOIN pg_class c ON u.class = 'pg_class'::regclass AND c.oid = u.object
         WHERE c.oid = ANY (relations) AND c.oid <> u.relation
        UNION ALL
        SELECT u.relation, u.class, p.oid, p.pronamespace
          FROM used u JOIN pg_proc p ON u.class = 'pg_proc'::regclass AND p.oid = u.object
        UNION ALL
        SELECT u.relation, u.class, o.oid, o.oprnamespace
          FROM used u JOIN pg_operator o ON u.class = 'pg_operator'::regclass AND o.oid = u.object)
    SELECT c.oid::regclass AS name, pg_describe_object(o.class, o.object, 0) AS object, w.rolname AS role
      INTO found
      FROM objects o JOIN pg_class c ON c.oid = o.relation,
           LATERAL (SELECT f FROM bench_internal.foreign_creators(o.schema, true) f
                    UNION
                    -- What there is already of others with the same name.
                    SELECT p.proowner FROM pg_proc u JOIN pg_proc p ON p.pronamespace = u.pronamespace AND p.proname = u.proname
                     WHERE o.class = 'pg_proc'::regclass AND u.oid = o.object
                    UNION
                    SELECT p.oprowner FROM pg_operator u JOIN pg_operator p ON p.oprnamespace = u.oprnamespace AND p.oprname = u.oprname
                     WHERE o.class = 'pg_operator'::regclass AND u.oid = o.object
                    UNION
                    -- A call with one argument can be a cast to a type. Domains and the like can be renamed without the privilege
                    -- CREATE, and composite types, the names of whose arrays follow. Those of tables keep their names, but one of a
                    -- function can be found before it, in another schema of search_path, too.
                    SELECT t.typowner
                      FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
                      LEFT JOIN pg_proc p ON o.class = 'pg_proc'::regclass AND p.oid = o.object
                     WHERE t.typnamespace = o.schema
                       AND (o.class = 'pg_namespace'::regclass OR 1 BETWEEN p.pronargs - p.pronargdefaults AND p.pronargs)
                       AND (c.relkind = 'c' OR t.typrelid = 0 AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)
                            OR t.typname IN (SELECT f.proname FROM used k JOIN pg_proc f ON k.class = 'pg_proc'::regclass AND f.oid = k.object
                                              WHERE k.relation = o.relation))) r (oid)
      LEFT JOIN pg_roles w ON w.oid = r.oid
     WHERE r.oid NOT IN (SELECT bench_internal.trusted_roles())
     ORDER BY c.oid::regclass::text, 2, w.rolname LIMIT 1;
    IF found.name IS NOT NULL THEN
        RAISE 'copying "%" would use % by its name', found.name, found.object USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('%s could give this name another meaning, which would have your rights.',
                            coalesce('Role ' || quote_ident(found.role), 'Every role')),
            HINT = 'Revoke the privilege CREATE on the schema, change the owners of what is in it, and wait for the end of transactions in progress.';
    END IF;
END
$$;

/* Fails if one of the relations, sequences included, cannot be copied. */
CREATE FUNCTION bench_internal.refuse_unsupported(relations oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS name, c.relrowsecurity AS has_policies, c.relpersistence = 't' AS is_temporary,
               CASE WHEN c.relkind = 'S' THEN 'sequence' WHEN c.relkind = 'v' THEN 'view' WHEN c.relkind IN ('i', 'I') THEN 'index'
                    ELSE 'table' END AS kind,
               c.relnamespace = 'pg_catalog'::regnamespace AS is_catalog, i.of_column
          FROM pg_class c,
               -- Copies of partitions have no identity columns.
               LATERAL (SELECT c.relkind = 'S' AND EXISTS (
                        SELECT FROM pg_depend d JOIN pg_class t ON t.oid = d.refobjid AND NOT t.relispartition
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                           AND d.refobjid = ANY (relations) AND d.deptype = 'i')) i (of_column)
         WHERE c.oid = ANY (relations)
           AND (c.relrowsecurity OR c.relpersistence = 't' OR c.relnamespace = 'pg_catalog'::regnamespace OR c.relkind IN ('i', 'I') OR i.of_column
                OR c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid))
    LOOP
        RAISE 'cannot copy % "%" %', found.kind, found.name,
              CASE WHEN found.is_catalog THEN 'because it is a system catalog'
                   WHEN found.is_temporary THEN 'because it is temporary'
                   WHEN found.has_policies THEN 'with row-level security'
                   WHEN found.kind = 'index' THEN 'without its table'
                   WHEN found.of_column THEN 'because an identity column owns it'
                   ELSE 'with tables that inherit from it' END
            USING ERRCODE = 'feature_not_supported',
            HINT = CASE WHEN found.is_catalog THEN 'Statements read it where it is.'
                        WHEN found.is_temporary THEN 'Sessions of runs cannot use it either.'
                        WHEN found.kind = 'index' THEN 'Indexes are copied with their tables.'
                        WHEN found.of_column THEN 'The copy of the column gets a sequence of its own, which nothing else can use.'
                        ELSE 'With allow_writes => true, runs change the tables themselves.' END;
    END LOOP;
END
$$;

/* OIDs of the relations that a view reads, except those of the server. */
CREATE FUNCTION bench_internal.view_relations(view oid) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
     WHERE w.ev_class = $1 AND w.rulename = '_RETURN' AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> $1 AND d.refobjid >= 16384
$$;

/* OIDs of the functions and operators of a view, in the order of its tree. Of those of pg_catalog, there are no dependencies. */
CREATE FUNCTION bench_internal.view_routines(view oid) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(m.parts[1] ORDER BY m.place), '{}')
      FROM pg_rewrite w, regexp_matches(w.ev_action::text, ':(?:funcid|aggfnoid|winfnoid|opno|opnos|eqop|sortop) ([0-9]+|\(o [0-9 ]+\))', 'g')
                             WITH ORDINALITY m (parts, place)
     WHERE w.ev_class = $1 AND w.rulename = '_RETURN'
$$;

/* What the guard of a run puts around a sequence that it does not know beforehand. */
CREATE FUNCTION bench_internal.require_copy(sequence regclass) RETURNS regclass
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'require_copy_wrapper';

/* The options of a table or view, of its TOAST table, or of a column, for a WITH clause. */
CREATE FUNCTION bench_internal.options_clause(options text[], prefix text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(prefix || quote_ident(split_part(o, '=', 1)) || ' = '
                      || quote_literal(substr(o, strpos(o, '=') + 1)), ', ')
      FROM unnest(options) o
$$;

/* The statements that make the keys and indexes of a table for its copy in a schema, whose name is quoted; null for one that is being
   renamed. */
CREATE FUNCTION bench_internal.index_statements(relation oid, schema text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT CASE WHEN n.oid IS NOT NULL
                THEN format('ALTER TABLE %s.%I ADD CONSTRAINT %I %s', $2, c.relname, n.conname,
                            CASE n.contype WHEN 'x' THEN pg_get_constraintdef(n.oid)
                                           -- The server leaves storage parameters out.
                                           ELSE concat(regexp_replace(pg_get_constraintdef(n.oid), ' DEFERRABLE( INITIALLY DEFERRED)?$', ''),
                                                       ' WITH (' || bench_internal.options_clause(i.reloptions) || ')',
                                                       substring(pg_get_constraintdef(n.oid)
                                                                 FROM '( DEFERRABLE( INITIALLY DEFERRED)?)$')) END)
                -- The server writes the names of the index and of its table in front.
                ELSE format('CREATE %sINDEX %I ON %s.%I', is_unique, i.relname, $2, c.relname)
                     || CASE WHEN starts_with(definition, prefix || ' USING ')
                             THEN substr(definition, 1 + length(prefix)) END END
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
      LEFT JOIN pg_constraint n ON n.conindid = i.oid AND n.conrelid = c.oid AND n.contype IN ('p', 'u', 'x'),
           LATERAL (SELECT CASE WHEN x.indisunique THEN 'UNIQUE ' END) u (is_unique),
           LATERAL (SELECT pg_get_indexdef(i.oid),
                           format('CREATE %sINDEX %I ON %s%s', is_unique, i.relname,
                                  CASE i.relkind WHEN 'I' THEN 'ONLY ' END, x.indrelid::regclass) OFFSET 0) d (definition, prefix)
     WHERE c.oid = $1 AND x.indisvalid ORDER BY i.relname;
END
$$;

/* bench.clone_tables, which executes it in a security-restricted operation; its rows as a JSON array. */
CREATE FUNCTION bench_internal.copy_tables(workload text, schema text, tables oid[]) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET synchronize_seqscans = off
SET standard_conforming_strings = on
SET datestyle = 'ISO, YMD'
SET intervalstyle = postgres
SET extra_float_digits = 1
SET array_nulls = on
SET quote_all_identifiers = off
AS $$
#variable_conflict use_column
DECLARE
    new_schema text := quote_ident(copy_tables.schema);
    into_schema oid;
    relations oid[];
    locked oid[] := '{}';
    sequences oid[];
    indexes jsonb;
    partitions text[];
    foreign_keys text[];
    filled oid[];
    copies oid[];
    statements text[];
    rows bigint[];
    seconds float8[];
    found record;
    part record;
    begun timestamptz;
    definition text;
    kept text[];
    -- As the server writes it, which never doubles backslashes.
    literal CONSTANT text := $l$'%s'::regclass$l$;
    changed CONSTANT text := 'definitions have changed while tables were copied';
    copied json[] := '{}';
    -- Whether copies of a workload of the caller's are in the schema.
    has_copies boolean := EXISTS (SELECT FROM bench.workload_definitions w
                                   WHERE w.owner = quote_ident(current_user)::regrole
                                     AND w.manifest #>> '{captured,clone_schema}' = copy_tables.schema);
BEGIN
    PERFORM bench_internal.set_clone_schema(copy_tables.workload, copy_tables.schema);
    -- In the others, queries would find the definitions of the transaction's snapshot, and commands those of this moment.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE 'tables cannot be copied with isolation level %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', DETAIL = 'Their definitions may have changed since the snapshot of the transaction.',
            HINT = 'Call it after BEGIN ISOLATION LEVEL READ COMMITTED: the rows of all tables are of one moment.';
    ELSIF EXISTS (SELECT FROM unnest(copy_tables.tables) t WHERE t IS NULL) THEN
        RAISE 'tables must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF copy_tables.schema = '' THEN
        RAISE 'schema must not be empty' USING ERRCODE = 'invalid_parameter_value';
    ELSIF copy_tables.schema = '$user' THEN
        RAISE 'unacceptable schema name "%"', copy_tables.schema USING ERRCODE = 'reserved_name',
            DETAIL = 'In search_path, it stands for the schema that has the name of the role.';
    ELSIF octet_length(copy_tables.schema) > current_setting('max_identifier_length')::int THEN
        RAISE 'name of schema "%" is too long', copy_tables.schema USING ERRCODE = 'name_too_long',
            DETAIL = format('It has %s bytes, and may have %s.', octet_length(copy_tables.schema), current_setting('max_identifier_length'));
    END IF;

    -- All of it can be changed, renamed and dropped until it is locked, so it is looked for again.
    LOOP
        SELECT array_agg(DISTINCT u.oid), array_agg(u.name) FILTER (WHERE u.oid IS NULL) INTO relations, kept
          FROM bench_internal.used_relations(copy_tables.workload, copy_tables.tables) u;
        IF kept <> '{}' THEN
            RAISE 'table % of workload "%" does not exist', kept[1], copy_tables.workload USING ERRCODE = 'undefined_table';
        ELSIF relations IS NULL THEN
            RAISE 'workload "%" uses no tables', copy_tables.workload USING ERRCODE = 'undefined_table',
                HINT = 'Give them as tables => ''{public.orders}''.';
        END IF;
        -- Sequences that columns own or whose defaults use them; those of identity columns come with these.
        sequences := ARRAY(
            SELECT c.oid FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind = 'S'
            UNION
            SELECT d.refobjid FROM pg_attrdef a
              JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_class'::regclass
              JOIN pg_class c ON c.oid = d.refobjid AND c.relkind = 'S'
              JOIN pg_class t ON t.oid = a.adrelid AND t.relkind <> 'v'
             WHERE t.oid = ANY (relations)
            UNION
            SELECT d.objid FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
             WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
               AND d.refobjid = ANY (relations));
        EXIT WHEN relations || sequences <@ locked;
        locked := relations || sequences;
        PERFORM bench_internal.lock_relations(locked);
    END LOOP;
    PERFORM bench_internal.refuse_foreign_objects(relations, sequences);
    PERFORM bench_internal.refuse_foreign_names(relations, sequences);
    PERFORM bench_internal.refuse_unsupported(relations || sequences);
    SELECT string_agg(c.oid::regclass::text, ' and ') AS names INTO found FROM pg_class c
     WHERE c.oid = ANY (relations) GROUP BY c.relname HAVING count(*) > 1 LIMIT 1;
    IF found.names IS NOT NULL THEN
        RAISE 'cannot copy % into one schema', found.names USING ERRCODE = 'duplicate_table';
    END IF;

    SELECT n.oid INTO into_schema FROM pg_namespace n WHERE n.nspname = copy_tables.schema;
    IF into_schema IS NULL THEN
        IF NOT has_database_privilege(current_database(), 'CREATE') THEN
            RAISE 'permission denied for database %', current_database() USING ERRCODE = 'insufficient_privilege',
                HINT = format('Have a role that may create schemas execute CREATE SCHEMA %s AUTHORIZATION %I.', new_schema, current_user);
        END IF;
        EXECUTE 'CREATE SCHEMA ' || new_schema;
        into_schema := new_schema::regnamespace;
    ELSIF EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = into_schema
                     AND d.deptype = 'n') THEN
        RAISE 'schema "%" is not empty', copy_tables.schema USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = CASE WHEN has_copies
                             AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (relations) AND c.relnamespace = into_schema)
                             AND NOT EXISTS (SELECT FROM pg_extension e WHERE e.extnamespace = into_schema)
                        THEN format('Name a new schema, or drop this one, which has copies, with DROP SCHEMA %s CASCADE.', new_schema)
                        ELSE 'Name a new schema, or an empty one.' END;
    ELSIF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.oid = into_schema AND pg_has_role(n.nspowner, 'USAGE')) THEN
        RAISE 'must be owner of schema "%"', copy_tables.schema USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- Default privileges apply to a new one.
    PERFORM bench_internal.refuse_foreign_schema(into_schema);

    FOR found IN
        SELECT c.relname, s.* FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid WHERE c.oid = ANY (sequences)
    LOOP
        EXECUTE 'CREATE SEQUENCE ' || format('%s.%I AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s %s', new_schema, found.relname,
                       format_type(found.seqtypid, NULL), found.seqincrement, found.seqmin, found.seqmax, found.seqstart, found.seqcache,
                       CASE WHEN found.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END);
    END LOOP;

    FOR found IN
        SELECT c.oid, c.relname, c.relispartition AS is_part,
               format('CREATE %s TABLE %s.%I (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING COMMENTS%s)%s%s%s',
                      CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' END, new_schema, c.relname, c.oid::regclass,
                      CASE WHEN c.relispartition THEN ' EXCLUDING IDENTITY' END,
                      ' PARTITION BY ' || pg_get_partkeydef(c.oid),
                      CASE WHEN c.relkind = 'r' THEN ' USING ' || quote_ident(m.amname) END,
                      ' WITH (' || nullif(concat_ws(', ', bench_internal.options_clause(c.reloptions),
                                                    bench_internal.options_clause(t.reloptions, 'toast.')), '') || ')') AS sql
          FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid LEFT JOIN pg_am m ON m.oid = c.relam
         WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE found.sql;
        -- What LIKE leaves out of columns, and sequences.
        FOR part IN
            SELECT a.attname, a.attstattarget AS statistics,
                   bench_internal.options_clause(ARRAY(SELECT o FROM unnest(a.attoptions) o WHERE o ~ '^n_distinct')) AS options,
                   pg_get_expr(d.adbin, d.adrelid) AS expression,
                   ARRAY(SELECT s.refobjid FROM pg_depend s
                          WHERE s.classid = 'pg_attrdef'::regclass AND s.objid = d.oid AND s.refobjid = ANY (sequences)
                            AND s.refclassid = 'pg_class'::regclass) AS of_sequences
              FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
             WHERE a.attrelid = found.oid AND a.attnum > 0 AND NOT a.attisdropped
        LOOP
            definition := format('ALTER TABLE %s.%I ALTER %I ', new_schema, found.relname, part.attname);
            IF part.statistics >= 0 THEN
                EXECUTE definition || 'SET STATISTICS ' || part.statistics;
            END IF;
            IF part.options IS NOT NULL THEN
                EXECUTE definition || 'SET (' || part.options || ')';
            END IF;
            IF part.of_sequences <> '{}' THEN
                EXECUTE definition || 'SET DEFAULT ' || (
                    WITH RECURSIVE replaced (done, expression) AS (
                        SELECT 0, part.expression
                        UNION ALL
                        SELECT r.done + 1, replace(r.expression, format(literal, replace(c.oid::regclass::text, '''', '''''')),
                                                   format(literal, replace(format('%s.%I', new_schema, c.relname), '''', '''''')))
                          FROM replaced r JOIN pg_class c ON c.oid = part.of_sequences[r.done + 1])
                    SELECT r.expression FROM replaced r ORDER BY r.done DESC LIMIT 1);
            END IF;
        END LOOP;
    END LOOP;
    FOR found IN
        SELECT format('ALTER SEQUENCE %s.%I OWNED BY %s.%I.%I', new_schema, s.relname, new_schema, c.relname, a.attname) AS sql
          FROM pg_depend d JOIN pg_class s ON s.oid = d.objid JOIN pg_class c ON c.oid = d.refobjid
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
         WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
           AND d.objid = ANY (sequences) AND d.refobjid = ANY (relations)
    LOOP
        EXECUTE found.sql;
    END LOOP;

    -- What is made after the rows, as it is now: what comes meanwhile, such as an index, may not hold for them.
    SELECT jsonb_object_agg(c.oid, to_jsonb(ARRAY(SELECT bench_internal.index_statements(c.oid, new_schema)))) INTO indexes
      FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p');
    partitions := ARRAY(
        SELECT format('ALTER TABLE %s.%I ATTACH PARTITION %s.%I %s', new_schema, p.relname, new_schema, c.relname,
                      pg_get_expr(c.relpartbound, c.oid))
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition JOIN pg_class p ON p.oid = i.inhparent
         WHERE c.oid = ANY (relations) AND p.oid = ANY (relations) AND c.relkind <> 'f' AND NOT i.inhdetachpending);
    foreign_keys := ARRAY(
        SELECT format('ALTER TABLE %s.%I ADD CONSTRAINT %I %s', new_schema, c.relname, n.conname,
                      replace(pg_get_constraintdef(n.oid), ' REFERENCES ' || n.confrelid::regclass || '(',
                              format(' REFERENCES %s.%I(', new_schema, r.relname)))
          FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid JOIN pg_class r ON r.oid = n.confrelid
         WHERE n.contype = 'f' AND n.conparentid = 0 AND c.oid = ANY (relations) AND r.oid = ANY (relations));
    IF EXISTS (SELECT u.oid FROM bench_internal.used_relations(copy_tables.workload, copy_tables.tables) u EXCEPT SELECT unnest(relations)) THEN
        RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
    END IF;

    -- The rows of all tables are of one moment. Values of sequences are at least those of the rows, so they come later.
    SELECT array_agg(c.oid), array_agg(format('%s.%I', new_schema, c.relname)::regclass::oid),
           array_agg(format('INSERT INTO %s.%I %s SELECT %s FROM ONLY %s', new_schema, c.relname,
                            '(' || c.columns || ') OVERRIDING SYSTEM VALUE', c.columns, c.oid::regclass))
      INTO filled, copies, statements
      FROM (SELECT c.oid, c.relname,
                   (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
              FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind = 'r' ORDER BY c.relname) c;
    SELECT array_agg(r.rows), array_agg(r.seconds) INTO rows, seconds
      FROM bench_internal.execute_in_one_snapshot(statements, filled || copies) r;
    FOR found IN
        SELECT c.oid::regclass AS original, format('%s.%I', new_schema, c.relname) AS copy FROM pg_class c WHERE c.oid = ANY (sequences)
        UNION ALL
        SELECT d.objid::regclass, pg_get_serial_sequence(format('%s.%I', new_schema, c.relname), a.attname)
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
                          AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
         WHERE a.attrelid = ANY (relations) AND a.attidentity <> '' AND NOT c.relispartition
    LOOP
        EXECUTE format('SELECT setval(%L, last_value, is_called) FROM %s', found.copy, found.original);
    END LOOP;

    -- Keys and indexes.
    FOR found IN
        SELECT c.oid, c.relname, c.relkind, c.relispartition AS is_part, array_position(filled, c.oid) AS place
          FROM pg_class c
         WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p') ORDER BY c.relkind, c.relname
    LOOP
        begun := clock_timestamp();
        FOR definition IN SELECT jsonb_array_elements_text(indexes -> found.oid::text)
        LOOP
            -- Functions and types that it names can have been renamed.
            IF (definition IN (SELECT bench_internal.index_statements(found.oid, new_schema))) IS NOT TRUE THEN
                RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
            END IF;
            EXECUTE definition;
        END LOOP;
        IF found.relkind = 'r' THEN
            IF NOT found.is_part THEN
                EXECUTE format('ANALYZE %s.%I', new_schema, found.relname);
            END IF;
            copied := copied || json_build_object('table_name', found.relname, 'rows', coalesce(rows[found.place], 0),
                                                  'seconds', coalesce(seconds[found.place], 0) + extract(epoch FROM clock_timestamp() - begun));
        END IF;
    END LOOP;
    FOREACH definition IN ARRAY partitions
    LOOP
        EXECUTE definition;
    END LOOP;
    FOR found IN
        SELECT format('ANALYZE %s.%I', new_schema, c.relname) AS sql FROM pg_class c
         WHERE c.oid = ANY (relations)
           AND (c.relkind = 'p' AND NOT c.relispartition OR c.relkind <> 'f' AND c.relispartition AND NOT EXISTS (
                SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid AND i.inhparent = ANY (relations)))
    LOOP
        EXECUTE found.sql;
    END LOOP;

    FOREACH definition IN ARRAY foreign_keys
    LOOP
        EXECUTE definition;
    END LOOP;

    IF EXISTS (SELECT unnest(relations) EXCEPT SELECT c.oid FROM pg_class c) THEN
        RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
    END IF;
    -- Views find the copies where they would find the tables; those that are read come first.
    FOR found IN
        WITH RECURSIVE levels (view, level) AS (
            SELECT v.oid, 0 FROM pg_class v WHERE v.oid = ANY (relations) AND v.relkind = 'v'
            UNION
            SELECT w.ev_class, l.level + 1
              FROM levels l JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = l.view
              JOIN pg_rewrite w ON w.oid = d.objid AND w.ev_class = ANY (relations) AND w.ev_class <> l.view AND w.rulename = '_RETURN'
             -- The server lets views read each other in a circle, and refuses to execute them.
             WHERE l.level < cardinality(relations))
        SELECT c.oid, c.oid::regclass AS name, c.relname, coalesce(u.schemas || ', ', '') AS path,
               format('CREATE VIEW %s.%I%s AS ', new_schema, c.relname,
                      ' WITH (' || bench_internal.options_clause(c.reloptions) || ')') AS sql
          FROM pg_class c,
               LATERAL (SELECT string_agg(DISTINCT t.relnamespace::regnamespace::text, ', ') AS schemas
                          FROM bench_internal.view_relations(c.oid) r JOIN pg_class t ON t.oid = r
                         WHERE t.oid = ANY (relations) AND t.relkind IN ('r', 'p', 'v', 'S')) u
         WHERE c.oid = ANY (relations) AND c.relkind = 'v' ORDER BY (SELECT max(l.level) FROM levels l WHERE l.view = c.oid), c.oid
    LOOP
        PERFORM pg_catalog.set_config('search_path', found.path || 'pg_temp', true);
        SELECT pg_catalog.pg_get_viewdef(found.oid) INTO definition;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        definition := found.sql || definition;
        PERFORM set_config('search_path', format('%s, %spg_temp', new_schema, found.path), true);
        EXECUTE definition;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        WITH wanted (oid) AS (
            SELECT CASE WHEN c.relkind IN ('r', 'p', 'v', 'S')
                        THEN (SELECT k.oid FROM pg_class k WHERE c.oid = ANY (relations) AND k.relname = c.relname AND k.relnamespace = into_schema)
                        ELSE c.oid END
              FROM bench_internal.view_relations(found.oid) r JOIN pg_class c ON c.oid = r),
        got (oid) AS (SELECT bench_internal.view_relations(format('%s.%I', new_schema, found.relname)::regclass))
        SELECT EXISTS (SELECT w.oid FROM wanted w EXCEPT SELECT g.oid FROM got g)
               OR EXISTS (SELECT g.oid FROM got g EXCEPT SELECT w.oid FROM wanted w) AS differ INTO part;
        IF part.differ THEN
            RAISE 'cannot copy view "%"', found.name USING ERRCODE = 'feature_not_supported',
                DETAIL = 'Its copy would read other relations than the copies of those that it reads.';
        ELSIF bench_internal.view_routines(found.oid) <> bench_internal.view_routines(format('%s.%I', new_schema, found.relname)::regclass) THEN
            RAISE 'cannot copy view "%"', found.name USING ERRCODE = 'feature_not_supported',
                DETAIL = 'Its copy would call another function or operator than it does.';
        END IF;
    END LOOP;

    -- By default privileges, others may have those that make writes call their functions.
    FOR found IN
        SELECT DISTINCT CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END AS role
          FROM pg_class c, aclexplode(c.relacl) e
         WHERE c.relnamespace = into_schema AND e.privilege_type IN ('TRIGGER', 'REFERENCES') AND e.grantee NOT IN (SELECT bench_internal.trusted_roles())
    LOOP
        EXECUTE format('REVOKE TRIGGER, REFERENCES ON ALL TABLES IN SCHEMA %s FROM %s', new_schema, found.role);
    END LOOP;

    -- What has no copy.
    FOR found IN
        SELECT k.kind, string_agg(k.name, ', ' ORDER BY k.name) AS names
          FROM (SELECT 1, 'triggers', format('%I on %s', t.tgname, t.tgrelid::regclass) FROM pg_trigger t
                 WHERE t.tgrelid = ANY (relations) AND NOT t.tgisinternal AND t.tgparentid = 0
                UNION ALL
                SELECT 2, 'rules', format('%I on %s', w.rulename, w.ev_class::regclass) FROM pg_rewrite w
                 WHERE w.ev_class = ANY (relations) AND w.rulename <> '_RETURN'
                UNION ALL
                SELECT 3, 'foreign keys', format('%I on %s', n.conname, n.conrelid::regclass) FROM pg_constraint n
                 WHERE n.contype = 'f' AND n.conparentid = 0
                   AND (n.conrelid = ANY (relations)) <> (n.confrelid = ANY (relations))
                UNION ALL
                SELECT 4, 'defaults of views', format('%I of %s', a.attname, a.attrelid::regclass)
                  FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum JOIN pg_class c ON c.oid = a.attrelid
                 WHERE c.oid = ANY (relations) AND c.relkind = 'v'
                UNION ALL
                SELECT 5, CASE c.relkind WHEN 'm' THEN 'materialized views' ELSE 'foreign tables' END, c.oid::regclass::text
                  FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind IN ('m', 'f')) k (place, kind, name)
         GROUP BY k.place, k.kind ORDER BY k.place, k.kind
    LOOP
        RAISE NOTICE 'not copied: % %', found.kind, found.names;
    END LOOP;
    RETURN array_to_json(copied);
END
$$;

CREATE FUNCTION bench.clone_tables(
    workload text, -- name of the captured workload
    schema text, -- schema for the copies, which is new or empty
    tables regclass[] DEFAULT '{}', -- tables to copy besides those that the workload uses
    OUT table_name text, -- name of the table in the schema
    OUT rows bigint, -- number of rows
    OUT seconds float8 -- time that rows and indexes took
) RETURNS SETOF record
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.* FROM json_to_recordset(bench_internal.execute_restricted(
                        format('SELECT bench_internal.copy_tables(%L, %L, %L)', $1, $2, $3::oid[]))::json)
                        AS c (table_name text, rows bigint, seconds float8)
$$;
COMMENT ON FUNCTION bench.clone_tables IS 'copy the tables that a captured workload uses into a schema of their own, where its runs write
workload: name of the captured workload
schema: schema for the copies, which is new or empty
tables: tables to copy besides those that the workload uses
table_name: name of the table in the schema
rows: number of rows
seconds: time that rows and indexes took';
/* Random values for rows of workloads. "stream" keeps the columns of a row apart, "row" is the number of
   the row. Each value depends on its arguments alone: the generator is that of pgbench, and its seed
   m(m(m(seed) # stream) # row), where m(x) is the output of splitmix64 for the state x. */

CREATE FUNCTION bench.random_int(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    lo bigint, -- least value
    hi bigint -- greatest value
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_int_wrapper';
COMMENT ON FUNCTION bench.random_int IS 'a random integer for a row, each from lo to hi with the same probability
seed: seed of the load
stream: number of the column
row: number of the row
lo: least value
hi: greatest value';

CREATE FUNCTION bench.random_real(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint -- number of the row
) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_real_wrapper';
COMMENT ON FUNCTION bench.random_real IS 'a random number for a row, from 0 to below 1
seed: seed of the load
stream: number of the column
row: number of the row';

CREATE FUNCTION bench.random_text(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    min int, -- least number of characters
    max int -- greatest number of characters, at most 10485760
) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_text_wrapper';
COMMENT ON FUNCTION bench.random_text IS 'a random text of letters and digits for a row, each length from min to max with the same probability
seed: seed of the load
stream: number of the column
row: number of the row
min: least number of characters
max: greatest number of characters, at most 10485760';

CREATE FUNCTION bench.random_template(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    template text -- text in which # stands for a digit and @ for a lower-case letter
) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_template_wrapper';
COMMENT ON FUNCTION bench.random_template IS 'a template with random digits and letters for a row
seed: seed of the load
stream: number of the column
row: number of the row
template: text in which # stands for a digit and @ for a lower-case letter';

CREATE FUNCTION bench.random_permutation(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    n bigint, -- number of values
    "row" bigint -- number of the row, from 0 to n - 1
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_permutation_wrapper';
COMMENT ON FUNCTION bench.random_permutation IS 'the value for a row in a random order of the numbers from 0 to n - 1
seed: seed of the load
stream: number of the column
n: number of values
row: number of the row, from 0 to n - 1';

CREATE FUNCTION bench.random_special(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    lo bigint, -- least value
    hi bigint -- greatest value
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_special_wrapper';
COMMENT ON FUNCTION bench.random_special IS 'a random integer for a row, of the distribution that sysbench calls special
seed: seed of the load
stream: number of the column
row: number of the row
lo: least value
hi: greatest value';

CREATE FUNCTION bench.random_nurand(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    a bigint, -- constant A of TPC-C's NURand
    lo bigint, -- least value
    hi bigint, -- greatest value
    c bigint -- constant C of TPC-C's NURand
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_nurand_wrapper';
COMMENT ON FUNCTION bench.random_nurand IS 'a random integer for a row, of TPC-C''s non-uniform distribution NURand(a, lo, hi)
seed: seed of the load
stream: number of the column
row: number of the row
a: constant A of TPC-C''s NURand
lo: least value
hi: greatest value
c: constant C of TPC-C''s NURand';

CREATE FUNCTION bench.hash_fnv1a(
    value bigint, -- number to hash
    seed bigint -- seed; 0 is FNV-1a itself
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hash_fnv1a_wrapper';
COMMENT ON FUNCTION bench.hash_fnv1a IS 'the 64-bit FNV-1a hash of the eight bytes of a number, as pgbench has it
value: number to hash
seed: seed; 0 is FNV-1a itself';
/* Reports, advice, histograms and views of results. */

CREATE FUNCTION bench.report(
    run_id bigint DEFAULT 0, -- run to report; 0 is the last run
    format text DEFAULT 'text', -- text, markdown, json or html
    set_ids bench.ids DEFAULT '', -- sets to report
    label text DEFAULT '', -- label of the runs to report
    against bigint DEFAULT 0 -- run to compare run_id with; 0: none
) RETURNS SETOF text
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50 AS 'MODULE_PATHNAME', 'report_wrapper';
COMMENT ON FUNCTION bench.report IS 'report of a run, of a run against another one, of sets of runs, or of the runs with a label; of the last run of this session or role without an argument: text in pgbench''s layout, a row per line; markdown, json or html, one row
run_id: run to report; 0 is the last run
format: text, markdown, json or html
set_ids: sets to report
label: label of the runs to report
against: run to compare run_id with; 0: none';

CREATE FUNCTION bench.dashboard(
    inline int DEFAULT 0 -- number of the newest runs whose reports are part of the page
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dashboard_wrapper';
COMMENT ON FUNCTION bench.dashboard IS 'HTML page over all runs and sets that the caller may see, with the reports of the newest inline runs
inline: number of the newest runs whose reports are part of the page';

CREATE FUNCTION bench.advice(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    OUT severity text, -- error, warning or note
    OUT finding text, -- reason to distrust the figures
    OUT evidence text, -- figures from which this follows
    OUT remedy text -- proposal
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'advice_wrapper';
COMMENT ON FUNCTION bench.advice IS 'reasons to distrust the figures of a run, and what to do; no row if none are known
run_id: number of the run; 0 is the last run
severity: error, warning or note
finding: reason to distrust the figures
evidence: figures from which this follows
remedy: proposal';

CREATE FUNCTION bench.time_budget(
    run_ids bench.ids DEFAULT '', -- runs; of several, the means; 0 or none is the last run
    set_id bigint DEFAULT 0, -- set, for rows of each of its arms
    OUT component text, -- part of the time
    OUT us_per_transaction float8, -- microseconds per transaction; NULL if unknown
    OUT share float8, -- fraction of the mean latency
    OUT measured text, -- source of the figure, or why it is unknown
    OUT arm text, -- arm of the set
    OUT runs bigint -- number of runs
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'time_budget_wrapper';
COMMENT ON FUNCTION bench.time_budget IS 'where the time of transactions went: parts that add up to the mean latency, of a run, as means of several runs, or for each arm of a set
run_ids: runs; of several, the means; 0 or none is the last run
set_id: set, for rows of each of its arms
component: part of the time
us_per_transaction: microseconds per transaction; NULL if unknown
share: fraction of the mean latency
measured: source of the figure, or why it is unknown
arm: arm of the set
runs: number of runs';

/* Deletes runs that match all given arguments: a superuser's call all runs, others their own. */
CREATE FUNCTION bench.delete_runs(
    run_ids bench.ids DEFAULT NULL, -- runs to delete
    older_than bench.span DEFAULT NULL, -- least age, an interval or a number of seconds
    label text DEFAULT NULL, -- label of the runs
    OUT run_id bigint, -- run that was deleted
    OUT run_label text, -- its label
    OUT state text -- its state
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'delete_runs_wrapper';
COMMENT ON FUNCTION bench.delete_runs IS 'delete runs that have ended, with all their rows
run_ids: runs to delete
older_than: least age, an interval or a number of seconds
label: label of the runs
run_id: run that was deleted
run_label: its label
state: its state';

CREATE FUNCTION bench.percentile(
    histogram bytea, -- stored histogram
    p float8 -- percentile, from 0 to 100
) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'percentile_wrapper';
COMMENT ON FUNCTION bench.percentile IS 'percentile of a stored latency histogram, in milliseconds
histogram: stored histogram
p: percentile, from 0 to 100';

CREATE FUNCTION bench.histogram_count(
    histogram bytea -- stored histogram
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'histogram_count_wrapper';
COMMENT ON FUNCTION bench.histogram_count IS 'number of latencies in a stored histogram
histogram: stored histogram';

CREATE FUNCTION bench_internal.add_histogram(internal, bytea) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'add_histogram_wrapper';
CREATE FUNCTION bench_internal.sum_of_histograms(internal) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'sum_of_histograms_wrapper';

CREATE AGGREGATE bench.merge_histograms(histogram bytea) (
    SFUNC = bench_internal.add_histogram,
    STYPE = internal,
    FINALFUNC = bench_internal.sum_of_histograms,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE bench.merge_histograms(bytea) IS 'histogram of all latencies of several stored histograms
histogram: stored histogram';

CREATE VIEW bench.run_summary WITH (security_invoker = true) AS
    SELECT run_id, label, set_id, arm, round,
           CASE WHEN state NOT IN ('starting', 'running') OR bench_internal.is_live(run_id, segment) THEN state
                ELSE 'lost' END AS state, -- state: starting, running, finished, canceled, failed or lost
           mode, scripts, protocol, clients, jobs, scale, created_at, seconds,
           transactions,
           failed,
           serialization_failures,
           deadlock_failures,
           other_failures,
           retried,
           retries,
           skipped,
           late,
           rolled_back,
           tps,
           latency_avg_ms,
           latency_stddev_ms,
           latency_min_ms,
           latency_p50_ms,
           latency_p90_ms,
           latency_p95_ms,
           latency_p99_ms,
           latency_p999_ms,
           latency_max_ms,
           lag_avg_ms,
           lag_max_ms,
           sleep_avg_ms,
           workers,
           duration_s,
           transactions_per_client,
           vacuum,
           warmup_s,
           max_warmup_s,
           aggregate_interval_s,
           seed,
           rate,
           latency_limit_ms,
           max_tries,
           variables,
           reconnect,
           continue_on_error,
           exit_on_abort,
           per_statement,
           failures_detailed,
           verbose_errors,
           log,
           sampling_rate,
           log_prefix,
           target,
           client_process,
           checkpoint,
           observe,
           profile,
           wait_sample_rate,
           connection,
           setup,
           teardown,
           verify,
           undefined_variables,
           sql,
           load_factor,
           allow_writes,
           connection_ms, overhead_us, overhead_share, snapshot_held_s, snapshot_held_by, warmup_steady,
           warmup_transactions, aborted_clients, owner, database_name, server_version_num, started_at, finished_at,
           errors, notes, imported_at, imported_from
      FROM bench.runs;
COMMENT ON VIEW bench.run_summary IS 'runs, one row each';

CREATE VIEW bench.storage WITH (security_invoker = true) AS
    SELECT t.table_name, -- name of the table
           obj_description(t.oid, 'pg_class') AS contents, -- description of its rows
           t.rows, -- number of rows, estimated by the server
           t.bytes, -- size with indexes and TOAST table
           t.index_bytes, -- size of the indexes
           CASE WHEN t.of_runs THEN t.bytes / nullif(t.runs, 0) END AS bytes_per_run, -- size divided by the number of runs
           CASE WHEN t.of_runs OR t.table_name = 'job_runs' THEN 'CALL bench.prune(older_than => ''90 days'')'
                WHEN t.table_name = 'scripts' THEN 'SELECT bench.drop_script(''name'')'
                WHEN t.table_name = 'workload_definitions' OR starts_with(t.table_name, 'captured_') THEN 'SELECT bench.drop_workload(''name'')'
                WHEN t.table_name = 'value_sets' THEN 'DELETE FROM bench.value_sets WHERE set_name = ''name'' AND owner = quote_ident(current_user)::regrole' END AS prune -- statement that deletes rows
      FROM (SELECT c.oid, c.relname::text AS table_name,
                   coalesce(nullif(pg_stat_get_live_tuples(c.oid), 0),
                            greatest(c.reltuples, 0)::bigint) AS rows,
                   pg_total_relation_size(c.oid) AS bytes, pg_indexes_size(c.oid) AS index_bytes,
                   EXISTS (SELECT FROM pg_attribute a
                            WHERE a.attrelid = c.oid AND a.attname = 'run_id') AS of_runs,
                   (SELECT coalesce(nullif(pg_stat_get_live_tuples(r.oid), 0), greatest(r.reltuples, 0)::bigint)
                      FROM pg_class r WHERE r.oid = 'bench.runs'::regclass) AS runs
              FROM pg_class c
             WHERE c.relnamespace = 'bench'::regnamespace AND c.relkind = 'r') t;
COMMENT ON VIEW bench.storage IS 'what the tables of the extension take, and how to prune them';

CREATE VIEW bench.progress WITH (security_invoker = true) AS
    SELECT r.run_id, r.label,
           f.phase, -- phase: starting, setup, warming up, running or storing
           round(least(e.done, 1)::numeric, 3) AS done_share, -- fraction of the warm-up and the duration, or of the number of transactions, that is done
           round((CASE WHEN e.left_s < 0 THEN 0 ELSE e.left_s END)::numeric, 1) AS left_s, -- seconds left, estimated from the rate so far if the run has a number of transactions; NULL if unknown, as during a warm-up until steady
           round((f.transactions / d.measured_s)::numeric, 1) AS tps, -- successful transactions per second since the end of the warm-up
           round(f.latency_avg_ms::numeric, 3) AS latency_avg_ms, -- mean latency since the end of the warm-up
           round(f.interval_tps::numeric, 1) AS interval_tps, -- successful transactions per second of the interval that ended last; aggregate_interval is its length
           f.failed,
           f.waits_for, -- most frequent wait of sessions in this interval, besides for their clients, such as Lock:transactionid; NULL if none waited
           round(f.waiting_sessions::numeric, 1) AS waiting_sessions, -- mean number of sessions that waited for it
           round(f.interval_latency_avg_ms::numeric, 3) AS interval_latency_avg_ms, -- mean latency of this interval
           f.transactions, f.skipped,
           round(f.seconds::numeric, 2) AS seconds -- seconds since the clients started, with the warm-up
      FROM bench.runs r, LATERAL bench_internal.live_figures(r.run_id, r.segment) f,
           /* Unknown during a warm-up until steady. */
           LATERAL (SELECT CASE WHEN r.max_warmup_s IS NULL OR r.warmup_steady IS NOT NULL
                                THEN r.warmup_s END AS warmup_s) w,
           LATERAL (SELECT f.transactions + f.failed + f.skipped AS ended,
                           r.clients::numeric * r.transactions_per_client AS planned,
                           w.warmup_s + r.duration_s AS planned_s,
                           CASE WHEN f.seconds > w.warmup_s THEN f.seconds - w.warmup_s END AS measured_s) d,
           LATERAL (SELECT coalesce(f.seconds / d.planned_s, d.ended / d.planned, 0) AS done,
                           coalesce(d.planned_s - f.seconds,
                                    (d.planned - d.ended) * d.measured_s / nullif(d.ended, 0)) AS left_s) e
     WHERE r.state IN ('starting', 'running');
COMMENT ON VIEW bench.progress IS 'runs in progress, with their current figures, rounded; bench.runs has their options';
/* Jobs: runs and sets that pg_cron starts. A job belongs to a role, which pg_cron runs it as.

   pg_cron executes bench.run_job, which starts a worker and does not wait for it: pg_cron 1.4 runs no other job
   while a worker of its own is busy, and repeats jobs that became due meanwhile. */

CREATE SEQUENCE bench.job_id_seq;
COMMENT ON SEQUENCE bench.job_id_seq IS 'numbers of jobs';
CREATE SEQUENCE bench.job_run_id_seq;
COMMENT ON SEQUENCE bench.job_run_id_seq IS 'numbers of runs of jobs';

CREATE TABLE bench.jobs (
    job_id     bigint NOT NULL, -- number of the job, also of an earlier one with its owner and name
    owner      regrole NOT NULL, -- role that scheduled the job and runs it
    job_name   text NOT NULL, -- name, unique among the jobs of its owner
    schedule   text NOT NULL, -- when it is due, as pg_cron reads it
    options    jsonb NOT NULL, -- options of a run, or an object of options below compare, sweep, find_capacity or pgio
    repeats    int NOT NULL, -- runs each time
    confirm    int NOT NULL, -- further runs or sets at most, while the night is suspect
    least_change float8 NOT NULL, -- least change that counts, as a fraction
    figures    text[], -- figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops
    on_alert   text, -- statement that the job's worker executes for each new alert, with its number as $1
    scheduled_at timestamptz NOT NULL DEFAULT now(), -- time at which it was scheduled
    PRIMARY KEY (owner, job_name)
);
COMMENT ON TABLE bench.jobs IS 'jobs of bench.schedule; each role sees its own';

/* They outlive the job. */
CREATE TABLE bench.job_runs (
    job_run_id  bigint PRIMARY KEY, -- number of the run of the job
    job_id      bigint NOT NULL, -- number of the job
    owner       regrole NOT NULL, -- role that the job belongs to
    job_name    text NOT NULL, -- name of the job
    state       text NOT NULL -- state as stored: running, finished, canceled, failed, skipped or lost; bench.job_summary also sees lost ones
        CHECK (state IN ('running', 'finished', 'canceled', 'failed', 'skipped', 'lost')),
    started_at  timestamptz NOT NULL, -- start of the worker
    finished_at timestamptz, -- end of the last run
    run_ids     bigint[] NOT NULL DEFAULT '{}', -- runs that it made, outside of sets
    set_ids     bigint[] NOT NULL DEFAULT '{}', -- sets that it made
    message     text -- error that ended it, or why it was skipped
);
CREATE INDEX ON bench.job_runs (owner, job_name, job_run_id);
CREATE INDEX ON bench.job_runs (job_id) WHERE state = 'running';
CREATE INDEX ON bench.job_runs (job_run_id) WHERE cardinality(run_ids || set_ids) > 1;
COMMENT ON TABLE bench.job_runs IS 'runs of jobs: what each has made, or why not';

ALTER TABLE bench.jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.jobs
    USING (owner = (SELECT quote_ident(current_user)::regrole));
ALTER TABLE bench.job_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.job_runs
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.job_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.job_run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.jobs', '');
SELECT pg_catalog.pg_extension_config_dump('bench.job_runs', '');

/* The name of a job in pg_cron, where names have at most 63 bytes. That of the database is quoted if it has a colon. */
CREATE FUNCTION bench_internal.cron_name(job_name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $$
    SELECT CASE WHEN octet_length(n.name) < 64 THEN n.name ELSE 'pg_selfbench: ' || md5(n.name) END
      FROM format('pg_selfbench: %I: %s', current_database(), $1) n (name)
$$;

/* The statement that pg_cron executes. */
CREATE FUNCTION bench_internal.cron_command(job_name text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN format('SELECT bench.run_job(%L)', $1);

/* Whether the caller can schedule jobs with the pg_cron of this database. */
CREATE FUNCTION bench_internal.has_cron() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'pg_cron')
           AND coalesce(has_schema_privilege(to_regnamespace('cron')::oid, 'USAGE'), false)
           AND coalesce(has_function_privilege(to_regprocedure('cron.schedule(text,text,text)')::oid, 'EXECUTE'), false)
$$;

/* The jobs of pg_cron in this database that the caller may see and that run jobs of ours. */
CREATE FUNCTION bench_internal.cron_jobs(
    OUT jobid bigint, OUT jobname text, OUT username text, OUT active boolean
) RETURNS SETOF record
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF bench_internal.has_cron() THEN
        RETURN QUERY EXECUTE
            'SELECT jobid, jobname::text, username, active FROM cron.job
              WHERE database = current_database() AND starts_with(command, ''SELECT bench.run_job('')';
    END IF;
END
$$;

/* Schedules a job in pg_cron. Where the caller cannot, cron_jobid is NULL, and the caller is told what to do with the
   statement; cron_database is the database of pg_cron, if the server has it. */
CREATE FUNCTION bench_internal.schedule_in_cron(
    job_name text, schedule text, cron_database text, OUT cron_jobid bigint, OUT statement text
) RETURNS record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text := bench_internal.cron_name(job_name);
    command text := bench_internal.cron_command(job_name);
    existing record;
BEGIN
    IF NOT bench_internal.has_cron() THEN
        IF cron_database IS NULL THEN
            statement := command;
            RAISE NOTICE 'job "%" is stored, but not scheduled', job_name
                USING DETAIL = 'This server does not have pg_cron.',
                      HINT = format('Have another scheduler execute the returned statement in database "%s" as role "%s".',
                                    current_database(), current_user);
        ELSE
            statement := format('SELECT cron.schedule_in_database(%L, %L, %L, %L, %L)',
                                name, schedule, command, current_database(), current_user);
            RAISE NOTICE 'job "%" is stored, but not scheduled', job_name
                USING DETAIL = CASE cron_database WHEN current_database() THEN 'This role may not use pg_cron.'
                                                  ELSE 'pg_cron is in another database.' END,
                      HINT = format('Have a superuser execute the returned statement in database "%s".', cron_database);
        END IF;
        RETURN;
    END IF;
    FOR existing IN
        EXECUTE 'SELECT jobid, command, database FROM cron.job WHERE jobname = $1 AND username = current_user' USING name
    LOOP
        IF NOT starts_with(existing.command, 'SELECT bench.run_job(') THEN
            RAISE EXCEPTION 'job "%" of pg_cron is not a job of pg_selfbench', name
                USING ERRCODE = 'duplicate_object', DETAIL = format('Its command is: %s', existing.command),
                      HINT = format('Remove it with SELECT cron.unschedule(%s), or choose another name.', existing.jobid);
        ELSIF existing.database <> current_database() THEN
            /* cron.schedule would keep its database. */
            EXECUTE 'SELECT cron.unschedule($1)' USING existing.jobid;
        END IF;
    END LOOP;
    statement := format('SELECT cron.schedule(%L, %L, %L)', name, schedule, command);
    EXECUTE statement INTO cron_jobid;
END
$$;

/* Removes a job from pg_cron. Where the caller cannot, cron_jobid is NULL. */
CREATE FUNCTION bench_internal.unschedule_in_cron(
    job_name text, cron_database text, OUT cron_jobid bigint, OUT statement text
) RETURNS record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF bench_internal.has_cron() THEN
        SELECT j.jobid, format('SELECT cron.unschedule(%s)', j.jobid) INTO cron_jobid, statement
          FROM bench_internal.cron_jobs() j
         WHERE j.jobname = bench_internal.cron_name(job_name) AND j.username = current_user;
        IF statement IS NOT NULL THEN
            EXECUTE statement;
        END IF;
    ELSIF cron_database IS NOT NULL THEN
        statement := format('SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND username = %L',
                            bench_internal.cron_name(job_name), current_user);
        RAISE NOTICE 'pg_cron may still have job "%"', job_name
            USING HINT = format('Have a superuser execute the returned statement in database "%s".', cron_database);
    END IF;
END
$$;

CREATE FUNCTION bench.schedule(
    INOUT job_name text, -- name of the job, unique among the caller's
    schedule text, -- when it is due, as pg_cron reads it, such as 30 2 * * *, which is in GMT
    options jsonb, -- options of bench.run, or an object of options below compare, sweep, find_capacity or pgio
    repeats int DEFAULT 1, -- runs each time, one after the other, whose median is the night's value; 1 for sets
    confirm int DEFAULT 2, -- further runs or sets at most, one by one, while bench.trend takes the night for suspect
    least_change float8 DEFAULT 0.03, -- least change that counts, as a fraction
    figures text[] DEFAULT NULL, -- figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops
    on_alert text DEFAULT NULL, -- statement that the job's worker executes for each new alert, with its number as $1, for at most 30 s
    OUT cron_jobid bigint, -- number of the job in pg_cron; NULL if it is not scheduled
    OUT statement text -- statement that has scheduled the job; if it is not scheduled, the one to be executed elsewhere
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'schedule_wrapper';
COMMENT ON FUNCTION bench.schedule IS 'store a job that makes runs or a set, or replace one, and have pg_cron run it
job_name: name of the job, unique among the caller''s
schedule: when it is due, as pg_cron reads it, such as 30 2 * * *, which is in GMT
options: options of bench.run, or an object of options below compare, sweep, find_capacity or pgio
repeats: runs each time, one after the other, whose median is the night''s value; 1 for sets
confirm: further runs or sets at most, one by one, while bench.trend takes the night for suspect
least_change: least change that counts, as a fraction
figures: figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops
on_alert: statement that the job''s worker executes for each new alert, with its number as $1, for at most 30 s
cron_jobid: number of the job in pg_cron; NULL if it is not scheduled
statement: statement that has scheduled the job; if it is not scheduled, the one to be executed elsewhere';

CREATE FUNCTION bench.unschedule(
    INOUT job_name text, -- name of the job
    OUT cron_jobid bigint, -- number that the job had in pg_cron
    OUT statement text -- statement that has removed it from pg_cron, or the one to be executed elsewhere
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'unschedule_wrapper';
COMMENT ON FUNCTION bench.unschedule IS 'remove a job; its runs stay
job_name: name of the job
cron_jobid: number that the job had in pg_cron
statement: statement that has removed it from pg_cron, or the one to be executed elsewhere';

CREATE FUNCTION bench.run_job(
    job_name text -- name of the job
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'run_job_wrapper';
COMMENT ON FUNCTION bench.run_job IS 'start a job now, and return its number in bench.job_runs without waiting for its end
job_name: name of the job';

/* Makes the run or set of a job; its worker calls it at top level. */
CREATE FUNCTION bench_internal.perform_job(options jsonb) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'perform_job_wrapper';

/* When a schedule was due last up to a time; NULL if it is not known. */
CREATE FUNCTION bench_internal.last_due(schedule text, now bigint) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'last_due_wrapper';
/* The time zone of schedules, from pg_cron 1.5 on; NULL before. Only superusers see the setting. */
CREATE FUNCTION bench_internal.cron_timezone() RETURNS text
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'cron_timezone_wrapper';
CREATE FUNCTION bench_internal.due_at(schedule text, until timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT to_timestamp(60 * bench_internal.last_due($1, floor(extract(epoch FROM $2 AT TIME ZONE z.name) / 60)::bigint))
           AT TIME ZONE 'UTC' AT TIME ZONE z.name
      FROM coalesce(bench_internal.cron_timezone(), 'GMT') z (name)
$$;

CREATE VIEW bench.schedules WITH (security_invoker = true) AS
    SELECT j.job_name, j.schedule,
           CASE WHEN c.jobid IS NOT NULL THEN c.active WHEN bench_internal.has_cron() THEN false END
               AS active, -- whether pg_cron runs it; NULL if pg_cron is not in this database, or not for this role
           greatest(s.started_at, j.scheduled_at) < bench_internal.due_at(j.schedule, now() - interval '1 min')
               AS overdue, -- whether it was due since it started or was skipped last, at least a minute ago; NULL if the schedule is not understood
           r.started_at, -- start of its last run
           r.run_ids, -- runs that it made then
           r.set_ids, -- sets that it made then
           CASE WHEN c.jobid IS NULL AND bench_internal.has_cron() THEN 'not scheduled'
                WHEN r.state = 'running' AND NOT bench_internal.is_locked('jobs', j.job_id) THEN 'lost'
                ELSE r.state END
               AS outcome, -- state of its last run: running, finished, canceled, failed or lost; not scheduled if pg_cron does not have it
           r.message, -- error that ended it
           c.jobid AS cron_jobid, -- number of the job in pg_cron
           j.options, j.repeats, j.confirm, j.least_change, j.figures, j.on_alert, j.owner, j.scheduled_at
      FROM bench.jobs j
      LEFT JOIN bench_internal.cron_jobs() c
             ON c.jobname = bench_internal.cron_name(j.job_name) AND c.username = pg_get_userbyid(j.owner)
      LEFT JOIN LATERAL (SELECT * FROM bench.job_runs r WHERE r.owner = j.owner AND r.job_name = j.job_name
                             AND r.state <> 'skipped'
                          ORDER BY r.job_run_id DESC LIMIT 1) r ON true
      LEFT JOIN LATERAL (SELECT s.started_at FROM bench.job_runs s
                          WHERE s.owner = j.owner AND s.job_name = j.job_name
                          ORDER BY s.job_run_id DESC LIMIT 1) s ON true;
COMMENT ON VIEW bench.schedules IS 'jobs, with their last run that was not skipped';

CREATE VIEW bench.job_summary WITH (security_invoker = true) AS
    SELECT r.job_run_id, r.job_name,
           CASE WHEN r.state = 'running' AND NOT bench_internal.is_locked('jobs', r.job_id) THEN 'lost'
                ELSE r.state END AS state, -- state: running, finished, canceled, failed, skipped or lost
           r.started_at, r.finished_at, r.run_ids, r.set_ids, r.message, r.job_id, r.owner
      FROM bench.job_runs r;
COMMENT ON VIEW bench.job_summary IS 'runs of jobs, also of jobs that were removed';
/* Charts of runs: as SVG, and as text for psql. */

CREATE FUNCTION bench.chart(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    name text DEFAULT 'tps', -- chart, one of bench.charts
    against bigint DEFAULT 0 -- run to show beside it; 0: none
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'chart_wrapper';
COMMENT ON FUNCTION bench.chart IS 'a chart of a run, or of two, as a document in SVG; bench.charts lists them
run_id: number of the run; 0 is the last run
name: chart, one of bench.charts
against: run to show beside it; 0: none';

CREATE FUNCTION bench.charts(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    OUT name text, -- name of the chart
    OUT shows text -- contents of the chart
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 13 AS 'MODULE_PATHNAME', 'charts_wrapper';
COMMENT ON FUNCTION bench.charts IS 'charts of a run for which there are data, and what each shows
run_id: number of the run; 0 is the last run
name: name of the chart
shows: contents of the chart';

CREATE FUNCTION bench.plot(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    figure text DEFAULT 'tps', -- figure, such as tps, latency_p99 or wal
    width int DEFAULT 80 -- width in characters, 30 to 1000
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plot_wrapper';
COMMENT ON FUNCTION bench.plot IS 'a figure of a run over time as text
run_id: number of the run; 0 is the last run
figure: figure, such as tps, latency_p99 or wal
width: width in characters, 30 to 1000';
/* Thresholds for scripts: conditions on figures, and an error if one does not hold. */

CREATE FUNCTION bench.require(
    run_id bigint, -- run that has ended
    VARIADIC conditions text[], -- conditions: a column of bench.runs or bench.pgio_runs or p(N), an operator and a value
    OUT condition text, -- condition
    OUT measured text -- figure of the run
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_wrapper';
COMMENT ON FUNCTION bench.require IS 'fail unless a run meets all conditions, such as ''latency_p99_ms < 20''; returns what was measured
run_id: run that has ended
conditions: conditions: a column of bench.runs or bench.pgio_runs or p(N), an operator and a value
condition: condition
measured: figure of the run';

CREATE FUNCTION bench.require_set(
    set_id bigint, -- number of the comparison
    VARIADIC conditions text[], -- conditions: an arm, a colon, a column of bench.arms, an operator and a value
    OUT condition text, -- condition
    OUT measured text -- figure of the arm
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_set_wrapper';
COMMENT ON FUNCTION bench.require_set IS 'fail unless the arms of a stored comparison meet all conditions, such as ''spi: ratio_low > 1.2''
set_id: number of the comparison
conditions: conditions: an arm, a colon, a column of bench.arms, an operator and a value
condition: condition
measured: figure of the arm';
/* Runs as documents, which other servers can import. docs/targets-and-nightly.md describes the format.

   What belongs to a run is found in the catalogs: bench.runs, its log, and the tables of the extension that
   refer to it by run_id, directly or through another one. A new table travels by itself. */

/* Columns of bench.runs that mean something on this server only: they are neither exported nor imported.
   A document must not be able to set them, above all not texts that are executed later. */
CREATE FUNCTION bench_internal.local_columns() RETURNS name[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{run_id,owner,set_id,teardown_due,coordinator_pid,segment,imported_at,imported_from,is_baseline,series}'::pg_catalog.name[];

/* These tables without bench.runs, parents first. */
CREATE FUNCTION bench_internal.tables_of_runs(OUT relation oid, OUT name name, OUT level int) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE t AS (
        SELECT 'bench.runs'::regclass::oid AS relation, 0 AS level
        UNION
        SELECT 'bench.transactions'::regclass::oid, 1
        UNION
        SELECT c.conrelid, t.level + 1
          FROM t JOIN pg_constraint c ON c.confrelid = t.relation AND c.contype = 'f'
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.conrelid
                          AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attname = 'run_id' AND c.conkey = ARRAY[a.attnum]
         WHERE c.conrelid <> c.confrelid AND t.level < 10
    )
    SELECT c.oid, c.relname, max(t.level)
      FROM t JOIN pg_class c ON c.oid = t.relation
     WHERE t.level > 0
     GROUP BY c.oid, c.relname
     ORDER BY 3, 2
$$;

/* The columns of such a table or of bench.runs that travel. */
CREATE FUNCTION bench_internal.columns_of_runs(
    relation oid,
    OUT name name, OUT type text, OUT is_generated boolean, OUT is_required boolean, OUT default_value text
) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', a.attnotnull,
           CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname <> ALL (bench_internal.local_columns())
     ORDER BY a.attnum
$$;

/* Where a run was measured, unless it was imported: the source that its documents name. */
CREATE FUNCTION bench_internal.source_of(run bench.runs) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'system_identifier', (SELECT system_identifier::text FROM pg_control_system()),
               'cluster_name', nullif(current_setting('cluster_name'), ''),
               'server_version', current_setting('server_version'),
               'database', current_database(),
               'owner', (SELECT rolname FROM pg_roles WHERE oid = ($1).owner),
               'run_id', ($1).run_id,
               'label', ($1).label))
$$;

/* VOLATILE, so that it sees a run that the same statement has made. */
CREATE FUNCTION bench.export_run(
    run_id bigint, -- run that has ended
    without text[] DEFAULT '{}' -- tables to leave out
) RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET bytea_output = hex
SET datestyle = 'ISO, YMD'
SET extra_float_digits = 1
SET intervalstyle = postgres
SET max_parallel_workers_per_gather = 0
SET standard_conforming_strings = on
SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    max_bytes CONSTANT numeric := 1e9;
    run bench.runs;
    tables text[] := ARRAY(SELECT name FROM bench_internal.tables_of_runs());
    part record;
    rows bigint;
    bytes numeric := 0;
    selected text;
    content text;
    document text;
    between text := E'\n';
BEGIN
    IF $1 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'run_id must not be null',
            HINT = 'Runs are listed in bench.run_summary.';
    ELSIF NOT coalesce(without, '{}') <@ tables THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for option "without": %s', without),
            DETAIL = format('Valid values are %s.', array_to_string(tables, ', '));
    END IF;
    SELECT * INTO run FROM bench.runs WHERE run_id = $1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('run %s does not exist', $1),
            HINT = 'Runs are listed in bench.run_summary.';
    ELSIF run.state IN ('starting', 'running') THEN
        IF bench_internal.is_live($1, run.segment) THEN
            RAISE object_in_use USING MESSAGE = format('run %s is in progress', $1),
                HINT = 'Cancel it with bench.cancel, or wait for it with bench.wait.';
        END IF;
        run.state := 'lost';
    END IF;

    selected := (SELECT string_agg(quote_ident(c.name), ', ') FROM bench_internal.columns_of_runs('bench.runs'::regclass) c);
    EXECUTE format('SELECT json_strip_nulls(to_json(r)) FROM (SELECT %s FROM (SELECT ($1).*) r) r', selected)
       INTO content USING run;
    document := format(E'{"format": "pg_selfbench run",\n"format_version": 1,\n"extension_version": %s,\n"exported_at": %s,\n'
                       '"source": %s,\n"run": %s,\n"tables": {',
                       to_json((SELECT extversion FROM pg_extension WHERE extname = 'pg_selfbench')),
                       to_json(clock_timestamp()),
                       coalesce(run.imported_from, bench_internal.source_of(run)),
                       content);

    FOR part IN
        SELECT t.name, string_agg(quote_ident(c.name), ', ') AS columns,
               coalesce((SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey, a.attnum))
                           FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                          WHERE i.indrelid = t.relation AND i.indisprimary), 'ctid') AS key
          FROM bench_internal.tables_of_runs() t, LATERAL bench_internal.columns_of_runs(t.relation) c
         WHERE t.name <> ALL (coalesce(without, '{}'))
         GROUP BY t.relation, t.name, t.level
         ORDER BY t.level, t.name
    LOOP
        EXECUTE format('SELECT count(*) FROM bench.%I WHERE run_id = $1', part.name) INTO rows USING $1;
        CONTINUE WHEN rows = 0;
        selected := format('SELECT json_strip_nulls(to_json(r))::text FROM (SELECT %s FROM bench.%I WHERE run_id = $1 ORDER BY %s) r',
                           part.columns, part.name, part.key);
        -- The server cannot build a longer text than 1 GB, which takes a while to find out.
        EXECUTE format('SELECT $2 + $3 * avg(octet_length(r) + 2) FROM (%s LIMIT 1000) t (r)', selected)
           INTO bytes USING $1, bytes, rows;
        IF bytes > max_bytes THEN
            RAISE program_limit_exceeded USING
                MESSAGE = format('run %s is too large for a document', $1),
                DETAIL = format('With table "%s", which has %s rows of the run, the document would have about %s.',
                                part.name, rows, pg_size_pretty(bytes)),
                HINT = format('Leave tables out, such as without => ''{%s}''.', part.name);
        END IF;
        EXECUTE format('SELECT string_agg(r, E'',\n'') FROM (%s) t (r)', selected) INTO content USING $1;
        document := document || format(E'%s%s: [\n%s]', between, to_json(part.name), content);
        between := E',\n';
    END LOOP;
    content := NULL; -- its memory
    RETURN document || '}}';
END
$$;
COMMENT ON FUNCTION bench.export_run IS 'a run with all its rows as a JSON document, which bench.import_run reads
run_id: run that has ended
without: tables to leave out';

CREATE FUNCTION bench.export_schema() RETURNS json
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'export_schema_wrapper';
COMMENT ON FUNCTION bench.export_schema IS 'JSON Schema of the documents of bench.export_run and bench.report';

CREATE FUNCTION bench.import_run(
    document json, -- document of bench.export_run
    label text DEFAULT NULL -- label of the run; NULL is none
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'import_run_wrapper';
COMMENT ON FUNCTION bench.import_run IS 'store the run of a document of bench.export_run, and return its new run id
document: document of bench.export_run
label: label of the run; NULL is none';

/* Stores the run of a document for a role. bench.import_run calls it with the privileges of the owner of
   the tables; with those of another role, it fails. Nothing of a document becomes SQL: names of tables
   and columns are those of the catalogs. */
CREATE FUNCTION bench_internal.store_run(document json, owner regrole, label text) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan -- custom plans have copies of the document
AS $$
#variable_conflict use_variable
DECLARE
    known_version CONSTANT int := 1;
    -- What JSON's numbers hold; sums of a few do not overflow.
    max_number CONSTANT bigint := 9007199254740992;
    max_notes CONSTANT int := 10;
    -- Columns whose values ascend.
    ascending CONSTANT text[] := ARRAY[
        'latency_min_ms', 'latency_p50_ms', 'latency_p90_ms', 'latency_p95_ms', 'latency_p99_ms', 'latency_p999_ms', 'latency_max_ms',
        'lag_avg_ms', 'lag_max_ms',
        'select_p99_ms', 'select_max_ms', 'update_p99_ms', 'update_max_ms',
        'read_p50_ms', 'read_p95_ms', 'read_p99_ms', 'read_max_ms',
        'created_at', 'started_at', 'finished_at'];
    source jsonb;
    run json;
    created_at timestamptz;
    existing bigint;
    new_id bigint;
    part record;
    names text[];
    rows json;
    declared text;
    columns text;
    source_exprs text;
    checks text;
    wrong text;
    unknown text[];
    notes text[] := '{}';
    seen text[] := '{}';
    place text;
    state text; message text; detail text; hint text;
BEGIN
    IF json_typeof(document) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it is not a JSON object';
    END IF;
    IF document ->> 'format' IS DISTINCT FROM 'pg_selfbench run' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"format" is not "pg_selfbench run"';
    ELSIF json_typeof(document -> 'format_version') IS DISTINCT FROM 'number' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"format_version" is not a number';
    ELSIF (document ->> 'format_version')::numeric <> known_version THEN
        RAISE feature_not_supported USING
            MESSAGE = format('format version %s is not supported', left(document ->> 'format_version', 20)),
            DETAIL = format('This version of pg_selfbench reads version %s.', known_version),
            HINT = 'Update the extension on this server.';
    END IF;
    run := document -> 'run';
    IF json_typeof(document -> 'source') IS DISTINCT FROM 'object' OR json_typeof(run) IS DISTINCT FROM 'object'
       OR json_typeof(document -> 'tables') IS DISTINCT FROM 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"source", "run" or "tables" is not an object';
    END IF;

    place := '"source"';
    SELECT jsonb_strip_nulls(to_jsonb(s)) INTO source FROM json_to_record(document -> 'source') AS s (
        system_identifier text, cluster_name text, server_version text, database text, owner text, run_id bigint, label text);
    IF NOT source ?& '{system_identifier,database,run_id}' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"system_identifier", "database" or "run_id" is missing';
    ELSIF octet_length(source::text) > 10000 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it is longer than 10000 bytes';
    END IF;
    place := '"run"';
    IF run ->> 'state' IN ('starting', 'running') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it has not ended';
    ELSIF run ->> 'state' = 'finished' AND run ->> 'started_at' IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = '"started_at" is missing';
    END IF;
    created_at := run ->> 'created_at';

    SELECT r.run_id INTO existing FROM bench.runs r
     WHERE r.owner = owner AND r.created_at = created_at AND r.imported_from -> 'run_id' = source -> 'run_id'
       AND r.imported_from -> 'system_identifier' = source -> 'system_identifier'
       AND r.imported_from -> 'database' = source -> 'database';
    IF FOUND THEN
        RAISE NOTICE 'run % has already been imported as run %', source ->> 'run_id', existing
            USING HINT = format('To import it again, delete it first: SELECT bench.delete_runs(ARRAY[%s]).', existing);
        RETURN existing;
    END IF;

    new_id := nextval('bench.run_id_seq');
    names := ARRAY(SELECT k FROM json_object_keys(document -> 'tables') k);
    -- One table after the other is taken out of the document, which may be large.
    FOR part IN
        SELECT 'runs' AS name, 'bench.runs'::regclass::oid AS relation, 0 AS level
        UNION ALL
        SELECT name, t.relation, t.level
          FROM unnest(names) name LEFT JOIN bench_internal.tables_of_runs() t USING (name)
         ORDER BY level NULLS LAST, name
    LOOP
        place := format('table "%s"', left(part.name, 63));
        IF part.relation IS NULL THEN
            notes := notes || format('not imported: %s', place);
            CONTINUE;
        ELSIF part.name = ANY (seen) THEN
            RAISE invalid_parameter_value USING MESSAGE = 'it occurs twice';
        END IF;
        rows := CASE WHEN part.level = 0 THEN json_build_array(run) ELSE document #> ARRAY['tables', part.name] END;
        IF json_typeof(rows) <> 'array' THEN
            RAISE invalid_parameter_value USING MESSAGE = 'it is not an array';
        END IF;
        seen := seen || part.name;
        SELECT string_agg(format('%I %s', c.name, c.type), ', '),
               string_agg(format('%I', c.name), ', '),
               string_agg(CASE WHEN c.default_value IS NULL THEN format('n.%I', c.name)
                               ELSE format('coalesce(n.%I, %s)', c.name, c.default_value) END, ', ')
          INTO declared, columns, source_exprs
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE NOT c.is_generated AND NOT (part.level = 0 AND c.name = 'label');
        IF part.level = 0 THEN
            EXECUTE format('INSERT INTO bench.runs (run_id, owner, label, imported_at, imported_from, %s)
                            SELECT $2, $3, $4, now(), $5, %s FROM json_array_elements($1) r, json_to_record(r) n (%s)',
                           columns, source_exprs, declared)
              USING rows, new_id, owner, label, source;
        ELSE
            EXECUTE format('INSERT INTO bench.%I (run_id, %s) SELECT $2, %s FROM json_array_elements($1) r, json_to_record(r) n (%s)',
                           part.name, columns, source_exprs, declared)
              USING rows, new_id;
        END IF;

        -- What a run stores is finite and not negative, except for query identifiers. Reports divide and
        -- square figures.
        SELECT string_agg(CASE WHEN c.type = 'double precision'
                               THEN format('WHEN %1$I IN (''NaN'', ''Infinity'', ''-Infinity'') THEN %2$L WHEN %1$I < 0 THEN %3$L'
                                           ' WHEN %1$I <> 0 AND %1$I NOT BETWEEN 1e-30 AND 1e30 THEN %4$L',
                                           c.name, c.name || ' is not finite', c.name || ' is negative', c.name || ' is out of range')
                               WHEN c.type = 'timestamp with time zone'
                               THEN format('WHEN NOT isfinite(%I) THEN %L', c.name, c.name || ' is not finite')
                               ELSE format('WHEN %1$I < 0 THEN %2$L WHEN %1$I > %3$s THEN %4$L', c.name, c.name || ' is negative',
                                           CASE c.name WHEN 'transactions_per_client' THEN 9223372036854775807 ELSE max_number END,
                                           c.name || ' is out of range') END, ' ')
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE c.type IN ('double precision', 'timestamp with time zone', 'smallint', 'integer', 'bigint')
           AND c.name NOT LIKE '%query\_id';
        SELECT concat_ws(' ', checks,
                         string_agg(format('WHEN %I > %I THEN %L', low.name, high.name,
                                           CASE low.type WHEN 'double precision' THEN format('%s is above %s', low.name, high.name)
                                                         ELSE format('%s is before %s', high.name, low.name) END), ' '))
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) low, bench_internal.columns_of_runs(part.relation) high
         WHERE low.type = high.type
           AND array_position(ascending, low.name::text) < array_position(ascending, high.name::text)
           -- The same figure.
           AND split_part(low.name, '_', 1) IN (split_part(high.name, '_', 1), 'created', 'started');
        IF checks <> '' THEN
            EXECUTE format('SELECT w FROM (SELECT CASE %s END FROM bench.%I WHERE run_id = $1) t (w)
                             WHERE w IS NOT NULL LIMIT 1', checks, part.name) INTO wrong USING new_id;
            IF wrong IS NOT NULL THEN
                RAISE invalid_parameter_value USING MESSAGE = wrong;
            END IF;
        END IF;
        -- Reports add up counts, and merge histograms.
        SELECT string_agg(format('WHEN sum(%s) > %s THEN %L',
                                 CASE c.type WHEN 'bytea' THEN format('bench.histogram_count(%I)', c.name) ELSE quote_ident(c.name) END,
                                 CASE c.type WHEN 'bytea' THEN max_number ELSE 9223372036854775807 END,
                                 'the sum of ' || c.name || ' is out of range'), ' ')
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE c.type IN ('bytea', 'bigint') AND c.name NOT LIKE '%query\_id' AND c.name <> 'transaction_no';
        IF checks <> '' THEN
            EXECUTE format('SELECT CASE %s END FROM bench.%I WHERE run_id = $1', checks, part.name) INTO wrong USING new_id;
            IF wrong IS NOT NULL THEN
                RAISE invalid_parameter_value USING MESSAGE = wrong;
            END IF;
        END IF;

        unknown := ARRAY(
            SELECT DISTINCT k FROM json_array_elements(rows) r, json_object_keys(r) k
             WHERE k <> ALL (ARRAY(SELECT c.name::text FROM bench_internal.columns_of_runs(part.relation) c)
                             || bench_internal.local_columns()::text[])
             LIMIT max_notes);
        notes := notes || ARRAY(SELECT format('not imported: column "%s" of %s', left(k, 63), place) FROM unnest(unknown) k ORDER BY k);
    END LOOP;

    IF notes <> '{}' THEN
        notes := notes[:max_notes];
        UPDATE bench.runs r SET notes = r.notes || notes WHERE r.run_id = new_id;
        RAISE NOTICE 'parts of the document are not known to this version of pg_selfbench'
            USING DETAIL = array_to_string(notes, E'\n');
    END IF;
    RETURN new_id;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    detail := concat_ws(' ', 'This is in ' || place || '.', nullif(detail, ''));
    IF detail = '' THEN
        detail := 'A document is a JSON object with "format", "format_version", "source", "run" and "tables".';
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = format('cannot import the document: %s', message), DETAIL = detail,
        HINT = coalesce(nullif(hint, ''), 'Use documents of bench.export_run as they are.');
END
$$;
/* Retention: details of old runs go, and old runs of which there are many. */

/* Deletes the details of runs: their log, intervals, stacks and histograms. What bench.changes compares is summed up in
   one interval. Only the owner of the tables may. */
CREATE FUNCTION bench_internal.thin_runs(run_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    max_count CONSTANT int := 2147483647;
    part record;
BEGIN
    DELETE FROM bench.transactions t WHERE t.run_id = ANY ($1);
    DELETE FROM bench.run_intervals i WHERE i.run_id = ANY ($1);
    DELETE FROM bench.run_stacks s WHERE s.run_id = ANY ($1);
    /* Numbers at the end of an interval are int. */
    SELECT string_agg(quote_ident(a.attname), ', ') AS names, string_agg(format(t.aggregate, a.attname), ', ') AS sums
      INTO part
      FROM pg_attribute a JOIN (VALUES ('bigint'::regtype, 'CASE WHEN count(%1$I) = count(*) THEN least(sum(%1$I), 9223372036854775807) END'), ('int', 'max(%I)'),
                                           ('boolean', 'bool_or(%I)')) t (type, aggregate)
                            ON a.atttypid = t.type
     WHERE a.attrelid = 'bench.run_server_intervals'::regclass AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname NOT IN ('run_id', 'interval_no');
    EXECUTE format('WITH d AS (DELETE FROM bench.run_server_intervals WHERE run_id = ANY ($1) RETURNING *)
                    INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, %s)
                    SELECT run_id, 0, min(begins_s), sum(seconds), %s FROM d GROUP BY run_id', part.names, part.sums)
      USING $1;
    WITH d AS (DELETE FROM bench.run_waits w WHERE w.run_id = ANY ($1) RETURNING *),
         r AS (SELECT i.run_id, least(sum(i.rounds), max_count) AS rounds
                 FROM (SELECT d.run_id, max(d.rounds) AS rounds FROM d GROUP BY d.run_id, d.interval_no) i
                GROUP BY i.run_id)
    INSERT INTO bench.run_waits (run_id, interval_no, class, event, script_no, command_no, query_id, samples, rounds, lasting)
    SELECT d.run_id, 0, d.class, d.event, d.script_no, d.command_no, d.query_id,
           least(sum(d.samples), max_count), r.rounds, least(sum(d.lasting), max_count)
      FROM d JOIN r USING (run_id)
     GROUP BY d.run_id, d.class, d.event, d.script_no, d.command_no, d.query_id, r.rounds;
    /* Waits for locks are split by their holders in the same interval. */
    WITH d AS (DELETE FROM bench.run_blockers b WHERE b.run_id = ANY ($1) RETURNING *),
         r AS (SELECT i.run_id, least(sum(i.rounds), max_count) AS rounds
                 FROM (SELECT d.run_id, max(d.rounds) AS rounds FROM d GROUP BY d.run_id, d.interval_no) i
                GROUP BY i.run_id)
    INSERT INTO bench.run_blockers (run_id, interval_no, script_no, command_no, locktype, mode, relation, blocker, blocker_pid,
                                    blocker_role, blocker_application, blocker_state, blocker_statement, blocker_script_no,
                                    blocker_command_no, samples, rounds)
    SELECT d.run_id, 0, d.script_no, d.command_no, d.locktype, d.mode, d.relation, d.blocker, d.blocker_pid,
           d.blocker_role, d.blocker_application, d.blocker_state, d.blocker_statement, d.blocker_script_no,
           d.blocker_command_no, least(sum(d.samples), max_count), r.rounds
      FROM d JOIN r USING (run_id)
     GROUP BY d.run_id, d.script_no, d.command_no, d.locktype, d.mode, d.relation, d.blocker, d.blocker_pid, d.blocker_role,
              d.blocker_application, d.blocker_state, d.blocker_statement, d.blocker_script_no, d.blocker_command_no, r.rounds;
    FOR part IN
        SELECT t.name, string_agg(format('%I = NULL', a.attname), ', ') AS histograms
          FROM (SELECT relation, name FROM bench_internal.tables_of_runs()
                 UNION ALL
                SELECT 'bench.runs'::regclass::oid, 'runs') t
          JOIN pg_attribute a ON a.attrelid = t.relation AND a.attnum > 0 AND NOT a.attisdropped
                             AND a.atttypid = 'bytea'::regtype
         GROUP BY t.name
    LOOP
        EXECUTE format('UPDATE bench.%I SET %s WHERE run_id = ANY ($1)', part.name, part.histograms) USING $1;
    END LOOP;
    UPDATE bench.runs r SET thinned_at = now() WHERE r.run_id = ANY ($1);
END
$$;

/* The runs that bench.prune prunes, those of each row in a transaction, and whether it deletes or thins them. */
CREATE FUNCTION bench_internal.prunable(
    older_than bench.span, keep_per_label int, OUT run_ids bigint[], OUT deletes boolean
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'prunable_wrapper';

/* Deletes or thins those of them that are still prunable. */
CREATE FUNCTION bench_internal.prune_some(older_than bench.span, run_ids bench.ids, deletes boolean) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'prune_some_wrapper';

/* Deletes old sets and runs of jobs of which no run is left. */
CREATE FUNCTION bench_internal.prune_without_runs(older_than bench.span) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'prune_without_runs_wrapper';

/* A procedure that commits cannot set search_path: it calls functions by their schema alone. */
CREATE PROCEDURE bench.prune(
    older_than bench.span, -- least age of the runs that are pruned, an interval or a number of seconds
    keep_per_label int DEFAULT 1000 -- number of the newest runs of each label, and of those without one, that are never deleted; a set counts as one
)
LANGUAGE plpgsql
AS $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT p.run_ids, p.deletes FROM bench_internal.prunable($1, $2) p LOOP
        PERFORM bench_internal.prune_some($1, part.run_ids, part.deletes);
        COMMIT;
    END LOOP;
    PERFORM bench_internal.prune_without_runs($1);
END
$$;
COMMENT ON PROCEDURE bench.prune IS 'delete old runs beyond a number for each label, and intervals, histograms, stacks and logs of other old runs; commits after each 100
older_than: least age of the runs that are pruned, an interval or a number of seconds
keep_per_label: number of the newest runs of each label, and of those without one, that are never deleted; a set counts as one';
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
COMMENT ON FUNCTION bench.arms IS 'arms of a stored comparison or sweep, with the figures of their runs
set_id: number of a comparison or sweep; 0 is the last set';

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
    scripts text DEFAULT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    clients int DEFAULT 1, -- number of clients, which execute transactions concurrently
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int DEFAULT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    vacuum text DEFAULT 'auto', -- tables to vacuum before the run: auto, always, none or all
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    max_tries int DEFAULT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb DEFAULT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean DEFAULT false, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean DEFAULT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean DEFAULT false, -- the run stops when a client aborts
    per_statement boolean DEFAULT false, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean DEFAULT false, -- the report counts failures by kind
    verbose_errors boolean DEFAULT false, -- a notice for each error that does not abort the client
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean DEFAULT false, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20, -- samples per second of what the clients' sessions wait for
    connection text DEFAULT 'auto', -- way of the connections of mode libpq to this server: socket, tcp or auto
    settings jsonb DEFAULT NULL, -- session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
    setup text DEFAULT NULL, -- SQL statements that are executed before the run
    teardown text DEFAULT NULL, -- SQL statements that are executed after the run, however it ends
    verify boolean DEFAULT false, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text DEFAULT 'error', -- variables that scripts mention and nothing sets: error or pgbench
    sql text DEFAULT NULL, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    load_factor float8 DEFAULT NULL, -- rate as a multiple of the one at which a captured workload was executed, such as 2
    allow_writes boolean DEFAULT false -- whether a captured workload changes the tables that it was captured on, instead of copies of them
) RETURNS SETOF bench.sweep_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'sweep_wrapper';
COMMENT ON FUNCTION bench.sweep IS 'run every combination of the values that a grid has for options
grid: object with an array of values for each option that varies
repeats: runs of each point, 1 to 1000
initialize: whether the grid may have scale, which drops the tables of the scripts'' workload
scripts: names of scripts with weights, such as select-only@9, simple-update
mode: execution mode: spi or libpq
clients: number of clients, which execute transactions concurrently
jobs: sets of clients in mode libpq, pgbench''s threads
workers: processes that drive the jobs in mode libpq, at most one per job
duration: time during which transactions start, an interval or a number of seconds
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
vacuum: tables to vacuum before the run: auto, always, none or all
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
max_tries: maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
variables: variables for scripts, a JSON object such as {"scale": 10}
reconnect: a new connection for each transaction; mode libpq only
continue_on_error: errors of statements end their transaction, not their client
exit_on_abort: the run stops when a client aborts
per_statement: figures of each command, in bench.run_statements, with percentiles
failures_detailed: the report counts failures by kind
verbose_errors: a notice for each error that does not abort the client
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
checkpoint: a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for
connection: way of the connections of mode libpq to this server: socket, tcp or auto
settings: session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
setup: SQL statements that are executed before the run
teardown: SQL statements that are executed after the run, however it ends
verify: whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time
undefined_variables: variables that scripts mention and nothing sets: error or pgbench
sql: statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''
load_factor: rate as a multiple of the one at which a captured workload was executed, such as 2
allow_writes: whether a captured workload changes the tables that it was captured on, instead of copies of them';

CREATE FUNCTION bench.resume(
    INOUT set_id bigint, -- number of the set
    OUT kind text, -- function that made it: compare, sweep or find_capacity
    OUT made_runs int, -- number of runs that were made now
    OUT verdict text -- that of a search; of a comparison, one line for each arm; of a sweep, why runs are missing
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'resume_wrapper';
COMMENT ON FUNCTION bench.resume IS 'make the runs that a set has left after a cancel, an error or a crash
set_id: number of the set
kind: function that made it: compare, sweep or find_capacity
made_runs: number of runs that were made now
verdict: that of a search; of a comparison, one line for each arm; of a sweep, why runs are missing';
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
COMMENT ON FUNCTION bench.trend IS 'a figure of the runs with a label over time, with a level and a state for each night
label: label of the runs
figure: figure: tps, latency_avg_ms, latency_p50_ms to latency_p999_ms, cpu_us_per_transaction, wal_bytes_per_transaction, or a rate, an average or a percentile of bench.pgio_runs
least_change: least change that counts, as a fraction
series: what the runs of the series have in common
started_at: start of the night: of its first run
value: figure of the night; of several runs of a job, their median
state: state: ok, slower, faster, suspect, noisy or no history
level: geometric mean of the nights between the changes or baselines before and after this one, without suspects
level_low: lower end of the 95 % interval of level
level_high: upper end of the 95 % interval of level
run_ids: runs of the night
disturbances: findings of bench.advice for which a night is noisy: it is part of no level';

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
                      'scripts',
                      'mode',
                      'clients',
                      'jobs',
                      'workers',
                      'duration_s',
                      'transactions_per_client',
                      'protocol',
                      'vacuum',
                      'warmup_s',
                      'max_warmup_s',
                      'aggregate_interval_s',
                      'rate',
                      'latency_limit_ms',
                      'max_tries',
                      'variables',
                      'reconnect',
                      'continue_on_error',
                      'exit_on_abort',
                      'per_statement',
                      'failures_detailed',
                      'verbose_errors',
                      'log',
                      'sampling_rate',
                      'log_prefix',
                      'target',
                      'client_process',
                      'checkpoint',
                      'observe',
                      'profile',
                      'wait_sample_rate',
                      'connection',
                      'setup',
                      'teardown',
                      'verify',
                      'undefined_variables',
                      'sql',
                      'load_factor',
                      'allow_writes')
    UNION ALL
    SELECT r.run_id, 'option', 2, o.name, nullif(to_jsonb(p) -> o.name, 'null') #>> '{}'
      FROM runs r JOIN bench.pgio_runs p USING (run_id),
           unnest(ARRAY['tables', 'threads_per_table', 'update_pct', 'work_unit', 'update_work_unit', 'commit_every', 'working_set_pct', 'scan']) o (name)
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
COMMENT ON FUNCTION bench.changes IS 'when runs with a label became slower or faster, by how much, and what changed with it
label: label of the runs
figures: figures to look at, as of bench.trend; the first one that changed stands for the change. NULL: tps, latencies, CPU and WAL per transaction, riops
least_change: least change that counts, as a fraction
series: what the runs of the series have in common
changed_at: start of the first night of the new level
change: slower or faster, of the figure
figure: figure that changed
before: level before, a geometric mean
after: level after
ratio: ratio of after to before
ratio_low: lower end of the 95 % interval of ratio
ratio_high: upper end of the 95 % interval of ratio
cause: likely cause, or unknown
p_value: probability of such a ratio without a change
kind: kind of the change: step or drift
found_at: start of the night that showed it in the first of its figures
figures_changed: all figures that changed in this night or the one before or after, with their change
differences: what differs between the runs before and after, the likeliest cause first, then effects
runs_before: runs of the level before, at most of 50 nights
runs_after: runs of the level after, at most of 50 nights';
/* Alerts: what a run of a job shows that somebody should know. The worker of the job raises them. */

CREATE SEQUENCE bench.alert_id_seq;
COMMENT ON SEQUENCE bench.alert_id_seq IS 'numbers of alerts';

CREATE TABLE bench.alerts (
    alert_id    bigint PRIMARY KEY, -- number of the alert
    owner       regrole NOT NULL, -- role that the job belongs to
    job_name    text NOT NULL, -- name of the job
    job_run_id  bigint NOT NULL, -- run of the job that raised it, in bench.job_runs
    kind        text NOT NULL CHECK (kind IN ('slower', 'faster', 'failing', 'gap')), -- kind: slower or faster, of a figure, failing, or gap
    state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'acknowledged', 'expected', 'fixed')), -- state: open, acknowledged, expected or fixed; see bench.acknowledge
    message     text NOT NULL, -- what has happened
    cause       text, -- likely cause of a change, or unknown
    label       text, -- label of the runs that changed
    series      text, -- series of the runs that changed
    figure      text, -- figure that changed
    ratio       float8, -- level of the figure after the change, divided by the level before
    changed_at  timestamptz, -- start of the first night of the new level
    runs_before bigint[] NOT NULL DEFAULT '{}', -- runs of the level before, at most of 50 nights
    runs_after  bigint[] NOT NULL DEFAULT '{}', -- runs of the new level when the alert was raised
    raised_at   timestamptz NOT NULL DEFAULT now(), -- time at which it was raised
    on_alert_error text, -- error of the statement on_alert of the job
    state_at    timestamptz, -- time of the last call of bench.acknowledge
    comment     text -- comment of bench.acknowledge
);
/* A change raises one alert, whichever jobs make runs with its label, and whenever they do. */
CREATE UNIQUE INDEX ON bench.alerts (owner, changed_at, hashtextextended(label, 0), hashtextextended(series, 0))
    WHERE changed_at IS NOT NULL;
COMMENT ON TABLE bench.alerts IS 'changes of the figures of jobs, repeated failures, and gaps; each role sees its own';

ALTER TABLE bench.alerts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.alerts
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.alert_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.alerts', '');

/* What a run of a job that is about to end shows: changes that were found since the last one that has finished, that
   the job fails repeatedly, and that it was due in between. job_runs is the table of its row: if the extension was
   dropped and created again, there may be another row with its number. */
CREATE FUNCTION bench_internal.found_alerts(
    job_run_id bigint, job_runs oid, run_ids bigint[], failure text, figures text[], least_change float8, set_ids bigint[],
    OUT kind text, OUT message text, OUT cause text, OUT label text, OUT series text, OUT figure text, OUT ratio float8,
    OUT changed_at timestamptz, OUT runs_before bigint[], OUT runs_after bigint[]
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 3
SET search_path = pg_catalog, pg_temp
SET jit = off
SET timezone = 'UTC'
AS $$
    WITH this AS MATERIALIZED (
        SELECT r.* FROM bench.job_runs r WHERE r.job_run_id = $1 AND r.tableoid = $2),
    earlier AS MATERIALIZED (
        SELECT (array_agg(e.started_at ORDER BY e.job_run_id DESC))[1] AS started_at,
               max(e.job_run_id) FILTER (WHERE e.state = 'finished') AS finished,
               coalesce(max(e.job_run_id) FILTER (WHERE e.state IN ('finished', 'canceled')), 0) AS last_good
          FROM this t JOIN bench.job_runs e ON e.owner = t.owner AND e.job_name = t.job_name AND e.job_run_id < t.job_run_id),
    /* The clock may have been set back since; the numbers of runs ascend all the same. */
    seen AS MATERIALIZED (
        SELECT coalesce((SELECT max(r.run_id) FROM earlier e JOIN bench.job_runs j ON j.job_run_id = e.finished
                           JOIN bench.runs r ON r.run_id = ANY (j.run_ids) OR r.set_id = ANY (j.set_ids)),
                        (SELECT min(r.run_id) - 1 FROM bench.runs r WHERE r.run_id = ANY ($3) OR r.set_id = ANY ($7))) AS run_id)
    SELECT c.change, format('runs with label "%s" are %s since %s: %s; likely cause: %s', l.label, c.change,
                            to_char(c.changed_at, 'YYYY-MM-DD HH24:MI TZ'), array_to_string(c.figures_changed, ', '), c.cause),
           c.cause, l.label, c.series, c.figure, c.ratio, c.changed_at, c.runs_before, c.runs_after
      FROM this t CROSS JOIN seen e,
           LATERAL (SELECT r.label, ARRAY(SELECT n.series FROM bench_internal.nights(r.label, '{tps}') n
                                           WHERE n.run_ids && array_agg(r.run_id)) AS series
                      FROM bench.runs r WHERE (r.run_id = ANY ($3) OR r.set_id = ANY ($7)) AND r.label IS NOT NULL GROUP BY r.label) l,
           LATERAL bench.changes(l.label, $5, $6) c
     WHERE c.series = ANY (l.series)
       AND e.run_id < (SELECT min(r.run_id) FROM bench.runs r WHERE r.label = l.label AND r.started_at = c.found_at)
           /* Another job, or a worker that was terminated, may have raised it. Of two at once, the index lets one do so. */
       AND NOT EXISTS (SELECT FROM bench.alerts a WHERE a.owner = t.owner AND a.label = l.label AND a.series = c.series
                                                    AND a.changed_at = c.changed_at)
    UNION ALL
    SELECT 'failing', format('the job has failed %s times in a row: %s', f.times, coalesce($4, 'its worker was lost')),
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM this t CROSS JOIN earlier e,
           /* A worker that was lost has raised none. */
           LATERAL (SELECT count(*) + ($4 IS NOT NULL)::int AS times FROM bench.job_runs b
                     WHERE b.owner = t.owner AND b.job_name = t.job_name AND b.job_run_id < t.job_run_id
                       AND b.job_run_id > e.last_good AND b.state IN ('failed', 'lost')) f
     WHERE f.times >= 2
       AND NOT EXISTS (SELECT FROM bench.alerts a WHERE a.owner = t.owner AND a.job_name = t.job_name
                                                    AND a.kind = 'failing' AND a.job_run_id > e.last_good)
    UNION ALL
    SELECT 'gap', format('first run since %s, although the job was due at %s', to_char(g.since, 'YYYY-MM-DD HH24:MI TZ'),
                         to_char(g.due_at, 'YYYY-MM-DD HH24:MI TZ')), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM this t CROSS JOIN earlier e JOIN bench.jobs j ON j.owner = t.owner AND j.job_name = t.job_name,
           /* The last time is that of this run. */
           LATERAL (SELECT greatest(e.started_at, j.scheduled_at) AS since,
                           bench_internal.due_at(j.schedule, bench_internal.due_at(j.schedule, t.started_at) - interval '1 min') AS due_at) g
     WHERE g.since < g.due_at
$$;

CREATE FUNCTION bench.acknowledge(
    alert_id bigint, -- number of the alert
    state text DEFAULT 'acknowledged', -- new state: acknowledged, fixed, open again, or expected, which makes the new level the baseline
    comment text DEFAULT NULL -- comment; NULL leaves it as it is
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'acknowledge_wrapper';
COMMENT ON FUNCTION bench.acknowledge IS 'give an alert another state and a comment
alert_id: number of the alert
state: new state: acknowledged, fixed, open again, or expected, which makes the new level the baseline
comment: comment; NULL leaves it as it is';

CREATE FUNCTION bench.set_baseline(
    run_id bigint, -- first run of the new level
    is_baseline boolean DEFAULT true -- whether it is a baseline; false: no longer
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'set_baseline_wrapper';
COMMENT ON FUNCTION bench.set_baseline IS 'have bench.trend and bench.changes compare a run and later ones of its series with no earlier run
run_id: first run of the new level
is_baseline: whether it is a baseline; false: no longer';
/* Questions about capacity: the highest rate under a limit of latency, and how throughput grows with the
   number of clients. */

/* bench.find_capacity has the arguments of bench.run, except those that say how long a run is and how
   fast: the search decides that. */
CREATE FUNCTION bench.find_capacity(
    latency_limit float8, -- highest latency in milliseconds
    percentile float8 DEFAULT 99, -- percentile of the latency that must not exceed it, 50 to 99.99
    tolerance float8 DEFAULT 0.05, -- largest relative distance between the highest rate under the limit and the lowest one over it
    scripts text DEFAULT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    clients int DEFAULT 1, -- number of clients, which execute transactions concurrently
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int DEFAULT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration bench.span DEFAULT '10 s', -- time during which transactions start, an interval or a number of seconds
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    vacuum text DEFAULT 'auto', -- tables to vacuum before the run: auto, always, none or all
    warmup bench.span DEFAULT '1 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    max_tries int DEFAULT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb DEFAULT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean DEFAULT false, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean DEFAULT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean DEFAULT false, -- the run stops when a client aborts
    per_statement boolean DEFAULT false, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean DEFAULT false, -- the report counts failures by kind
    verbose_errors boolean DEFAULT false, -- a notice for each error that does not abort the client
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean DEFAULT false, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20, -- samples per second of what the clients' sessions wait for
    connection text DEFAULT 'auto', -- way of the connections of mode libpq to this server: socket, tcp or auto
    settings jsonb DEFAULT NULL, -- session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
    setup text DEFAULT NULL, -- SQL statements that are executed before the run
    teardown text DEFAULT NULL, -- SQL statements that are executed after the run, however it ends
    verify boolean DEFAULT false, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text DEFAULT 'error', -- variables that scripts mention and nothing sets: error or pgbench
    sql text DEFAULT NULL, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    allow_writes boolean DEFAULT false, -- whether a captured workload changes the tables that it was captured on, instead of copies of them
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
COMMENT ON FUNCTION bench.find_capacity IS 'find the highest rate at which a percentile of the latency stays under a limit
latency_limit: highest latency in milliseconds
percentile: percentile of the latency that must not exceed it, 50 to 99.99
tolerance: largest relative distance between the highest rate under the limit and the lowest one over it
scripts: names of scripts with weights, such as select-only@9, simple-update
mode: execution mode: spi or libpq
clients: number of clients, which execute transactions concurrently
jobs: sets of clients in mode libpq, pgbench''s threads
workers: processes that drive the jobs in mode libpq, at most one per job
duration: time during which transactions start, an interval or a number of seconds
protocol: query protocol: simple, extended or prepared
vacuum: tables to vacuum before the run: auto, always, none or all
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
max_tries: maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
variables: variables for scripts, a JSON object such as {"scale": 10}
reconnect: a new connection for each transaction; mode libpq only
continue_on_error: errors of statements end their transaction, not their client
exit_on_abort: the run stops when a client aborts
per_statement: figures of each command, in bench.run_statements, with percentiles
failures_detailed: the report counts failures by kind
verbose_errors: a notice for each error that does not abort the client
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
checkpoint: a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for
connection: way of the connections of mode libpq to this server: socket, tcp or auto
settings: session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
setup: SQL statements that are executed before the run
teardown: SQL statements that are executed after the run, however it ends
verify: whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time
undefined_variables: variables that scripts mention and nothing sets: error or pgbench
sql: statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''
allow_writes: whether a captured workload changes the tables that it was captured on, instead of copies of them
rate: highest rate under the limit, in transactions per second; NULL if there is none
rate_low: highest rate up to it of which no probe was over the limit
rate_high: lowest rate above it at which no probe stayed under the limit
latency_ms: percentile at this rate, or at the lowest rate that was probed
tps_without_rate: transactions per second of the first run, which has no rate
limited_by: limit at the lowest rate over it: CPU, clients, a wait event, or none
evidence: figures from which this follows
verdict: result in words
run_ids: runs in their order
set_id: number of the set';

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
COMMENT ON FUNCTION bench.scaling IS 'how throughput of a sweep grows with the number of clients: the Universal Scalability Law
set_id: number of a sweep over clients; 0 is the last set
options: other options of the grid
clients: numbers of clients
tps: geometric mean of the transactions per second with each number
lambda: transactions per second of one client; NULL with fewer than 4 numbers of clients, as the next eight
lambda_low: lower end of its 95 % interval
lambda_high: upper end of its 95 % interval
sigma: contention: fraction of the work that clients do one after the other
sigma_low: lower end of its 95 % interval
sigma_high: upper end of its 95 % interval
kappa: crosstalk: cost of each pair of clients, as a fraction of the work
kappa_low: lower end of its 95 % interval
kappa_high: upper end of its 95 % interval
r_squared: fraction of the variance that the law explains
fits: whether the law describes the measurements
peak_clients: number of clients with the highest throughput
peak_tps: transactions per second with this number
bend_clients: number of clients from which on latency grows with their number; NULL unless the law fits
verdict: result in words
run_ids: runs of the row';

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
/* pgbench's command line. */

CREATE FUNCTION bench.pgbench(
    arguments text DEFAULT '' -- command line without the name of the program
) RETURNS SETOF text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgbench_wrapper';
COMMENT ON FUNCTION bench.pgbench IS 'execute a pgbench command line and return what pgbench prints
arguments: command line without the name of the program';
/* pgio's workload: random reads and updates of single blocks.

   A loop chooses a random key and reads the rows from this key up to work_unit keys further. In
   update_pct percent of the loops, it updates rows up to update_work_unit keys further instead. Each
   block has one row. */

CREATE TYPE bench.pgio_result AS (
    run_id                bigint, -- number of the run; NULL if it is not stored, on a standby
    state                 text, -- state: starting, running, finished, canceled, failed or lost
    tables int, -- number of tables
    threads_per_table int, -- sessions of each table
    scale bigint, -- blocks, and so rows and keys, of each table
    update_pct int, -- percentage of loops that update
    work_unit int, -- length of the key range of a loop that reads
    update_work_unit int, -- length of the key range of a loop that updates
    commit_every int, -- loops per transaction
    scan text, -- scan by which rows were looked for: index, bitmap or auto
    working_set_bytes bigint, -- bytes of all blocks in use
    seconds float8, -- measured time in seconds, from the start or the end of the warm-up
    selects bigint, -- loops that read
    updates bigint, -- loops that updated
    failed bigint, -- loops that failed
    riops float8, -- blocks read into shared buffers per second, from the operating system's cache or a device: what pgio calls RIOPS
    cache_hits_per_s float8, -- blocks found in shared buffers per second
    logical_reads_per_s float8, -- blocks found in shared buffers or read into them per second
    device_reads_per_s float8, -- bytes read from a block device per second, in blocks
    device_read_mb_per_s float8, -- bytes read from a block device per second, in megabytes of 10^6 bytes
    device_write_mb_per_s float8, -- bytes that the sessions' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes
    blocks_dirtied_per_s float8, -- blocks that became dirty per second
    blocks_written_per_s float8, -- blocks that the sessions wrote per second: to make room for others, or by which a table grew
    blocks_evicted_per_s float8, -- blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18
    wal_bytes_per_s float8, -- bytes of WAL per second
    wal_bytes_per_update float8, -- bytes of WAL per update
    select_avg_ms float8, -- mean time of a loop that reads
    select_p99_ms float8, -- 99th percentile of the time of a loop that reads
    select_max_ms float8, -- longest time of a loop that reads
    update_avg_ms float8, -- mean time of a loop that updates
    update_p99_ms float8, -- 99th percentile of the time of a loop that updates
    update_max_ms float8, -- longest time of a loop that updates
    read_avg_ms float8, -- mean time of reading a block; NULL unless track_io_timing was on
    read_p50_ms float8, -- median time of reading a block
    read_p95_ms float8, -- 95th percentile of the time of reading a block
    read_p99_ms float8, -- 99th percentile of the time of reading a block
    read_max_ms float8 -- longest time of reading a block
);
COMMENT ON TYPE bench.pgio_result IS 'result row of bench.run_pgio';

CREATE FUNCTION bench.run_pgio(
    tables int DEFAULT NULL, -- number of tables to use, from pgio1 on
    threads_per_table int DEFAULT 1, -- sessions of each table
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    update_pct int DEFAULT 0, -- percentage of loops that update, 0 to 100
    work_unit int DEFAULT 255, -- length of the key range of a loop that reads: the number of blocks, minus 1
    update_work_unit int DEFAULT 8, -- length of the key range of a loop that updates, as above
    commit_every int DEFAULT 1, -- loops per transaction
    working_set_pct float8 DEFAULT 100, -- percentage of each table's keys that is used
    scan text DEFAULT 'index', -- scan by which rows are looked for: index, bitmap or auto
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20 -- samples per second of what the clients' sessions wait for
) RETURNS SETOF bench.pgio_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'run_pgio_wrapper';
COMMENT ON FUNCTION bench.run_pgio IS 'run pgio''s workload on its tables and return the figures
tables: number of tables to use, from pgio1 on
threads_per_table: sessions of each table
duration: time during which transactions start, an interval or a number of seconds
update_pct: percentage of loops that update, 0 to 100
work_unit: length of the key range of a loop that reads: the number of blocks, minus 1
update_work_unit: length of the key range of a loop that updates, as above
commit_every: loops per transaction
working_set_pct: percentage of each table''s keys that is used
scan: scan by which rows are looked for: index, bitmap or auto
mode: execution mode: spi or libpq
jobs: sets of clients in mode libpq, pgbench''s threads
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for';

CREATE FUNCTION bench.start_pgio(
    tables int DEFAULT NULL, -- number of tables to use, from pgio1 on
    threads_per_table int DEFAULT 1, -- sessions of each table
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    update_pct int DEFAULT 0, -- percentage of loops that update, 0 to 100
    work_unit int DEFAULT 255, -- length of the key range of a loop that reads: the number of blocks, minus 1
    update_work_unit int DEFAULT 8, -- length of the key range of a loop that updates, as above
    commit_every int DEFAULT 1, -- loops per transaction
    working_set_pct float8 DEFAULT 100, -- percentage of each table's keys that is used
    scan text DEFAULT 'index', -- scan by which rows are looked for: index, bitmap or auto
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20 -- samples per second of what the clients' sessions wait for
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'start_pgio_wrapper';
COMMENT ON FUNCTION bench.start_pgio IS 'start a run of pgio''s workload that continues without the session, and return its run id
tables: number of tables to use, from pgio1 on
threads_per_table: sessions of each table
duration: time during which transactions start, an interval or a number of seconds
update_pct: percentage of loops that update, 0 to 100
work_unit: length of the key range of a loop that reads: the number of blocks, minus 1
update_work_unit: length of the key range of a loop that updates, as above
commit_every: loops per transaction
working_set_pct: percentage of each table''s keys that is used
scan: scan by which rows are looked for: index, bitmap or auto
mode: execution mode: spi or libpq
jobs: sets of clients in mode libpq, pgbench''s threads
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for';

CREATE FUNCTION bench.session_usage() RETURNS bench.session_usage
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'usage_wrapper';
COMMENT ON FUNCTION bench.session_usage IS 'blocks, WAL and device bytes that the session has used since it started';

CREATE VIEW bench.pgio_summary WITH (security_invoker = true) AS
    SELECT p.run_id, r.label, r.state, r.mode,
           r.clients AS sessions, -- number of sessions
           p.tables, p.threads_per_table, p.scale, p.update_pct, p.work_unit, p.update_work_unit,
           p.commit_every, p.working_set_pct, p.scan, p.working_set_bytes,
           p.shared_buffers_bytes, p.memory_bytes, r.created_at,
           p.seconds,
           p.selects,
           p.updates,
           p.failed,
           p.riops,
           p.cache_hits_per_s,
           p.logical_reads_per_s,
           p.device_reads_per_s,
           p.device_read_mb_per_s,
           p.device_write_mb_per_s,
           p.blocks_dirtied_per_s,
           p.blocks_written_per_s,
           p.blocks_evicted_per_s,
           p.wal_bytes_per_s,
           p.wal_bytes_per_update,
           p.select_avg_ms,
           p.select_p99_ms,
           p.select_max_ms,
           p.update_avg_ms,
           p.update_p99_ms,
           p.update_max_ms,
           p.read_avg_ms,
           p.read_p50_ms,
           p.read_p95_ms,
           p.read_p99_ms,
           p.read_max_ms,
           r.owner, r.database_name, r.target
      FROM bench.pgio_runs p
      JOIN bench.runs r USING (run_id);
COMMENT ON VIEW bench.pgio_summary IS 'runs of pgio''s workload, one row each';

/* As in bench.pgio_runs, rates are NULL unless the usage of all sessions is known. */
CREATE VIEW bench.pgio_table_summary WITH (security_invoker = true) AS
    SELECT run_id, table_no,
           sessions, -- number of sessions
           t.selects, t.updates, t.failed,
           t.seconds, -- longest measured time of a session in seconds
           (hit + read) / s AS logical_reads_per_s, hit / s AS cache_hits_per_s, read / s AS riops,
           device_read / s / block_bytes AS device_reads_per_s,
           device_read / s / 1e6 AS device_read_mb_per_s,
           device_write / s / 1e6 AS device_write_mb_per_s, dirtied / s AS blocks_dirtied_per_s,
           written / s AS blocks_written_per_s, evicted / s AS blocks_evicted_per_s,
           wal / s AS wal_bytes_per_s, t.select_max_ms, select_histogram, t.update_max_ms,
           update_histogram, t.read_histogram
      FROM (SELECT run_id, table_no, count(*) AS sessions, sum(selects)::bigint AS selects,
                   sum(updates)::bigint AS updates, sum(failed)::bigint AS failed,
                   max(seconds) AS seconds, nullif(max(seconds), 0) AS s,
                   CASE count(*) WHEN count(blocks_hit) THEN sum(blocks_hit) END AS hit,
                   CASE count(*) WHEN count(blocks_read) THEN sum(blocks_read) END AS read,
                   CASE count(*) WHEN count(blocks_dirtied) THEN sum(blocks_dirtied) END AS dirtied,
                   CASE count(*) WHEN count(blocks_written) THEN sum(blocks_written) END AS written,
                   CASE count(*) WHEN count(blocks_evicted) THEN sum(blocks_evicted) END AS evicted,
                   CASE count(*) WHEN count(wal_bytes) THEN sum(wal_bytes) END AS wal,
                   CASE count(*) WHEN count(device_read_bytes) THEN sum(device_read_bytes) END
                       AS device_read,
                   CASE count(*) WHEN count(device_write_bytes) THEN sum(device_write_bytes) END
                       AS device_write,
                   max(select_max_ms) AS select_max_ms,
                   bench.merge_histograms(select_histogram) AS select_histogram,
                   max(update_max_ms) AS update_max_ms,
                   bench.merge_histograms(update_histogram) AS update_histogram,
                   bench.merge_histograms(read_histogram) AS read_histogram
              FROM bench.pgio_sessions
             GROUP BY run_id, table_no) t
      JOIN bench.pgio_runs USING (run_id);
COMMENT ON VIEW bench.pgio_table_summary IS 'tables of each run of pgio''s workload, with the figures of their sessions';
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
    scripts text DEFAULT NULL, -- names of scripts with weights, such as select-only@9, simple-update
    mode text DEFAULT 'spi', -- execution mode: spi or libpq
    clients int DEFAULT 1, -- number of clients, which execute transactions concurrently
    jobs int DEFAULT NULL, -- sets of clients in mode libpq, pgbench's threads
    workers int DEFAULT NULL, -- processes that drive the jobs in mode libpq, at most one per job
    duration bench.span DEFAULT NULL, -- time during which transactions start, an interval or a number of seconds
    transactions bigint DEFAULT NULL, -- number of transactions per client after the warm-up, including failed ones
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    vacuum text DEFAULT 'auto', -- tables to vacuum before the run: auto, always, none or all
    warmup bench.span DEFAULT '0 s', -- time at the start of the run that does not count, an interval or a number of seconds
    max_warmup bench.span DEFAULT '300 s', -- longest warm-up until steady, an interval or a number of seconds
    progress bench.span DEFAULT NULL, -- time between notices with figures, at least 100 ms, an interval or a number of seconds
    aggregate_interval bench.span DEFAULT '1 s', -- length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
    seed bench.seed DEFAULT NULL, -- random seed: an integer from 0 to 18446744073709551615, time or rand
    label text DEFAULT NULL, -- text that identifies the run in queries; at most 1024 bytes
    rate float8 DEFAULT NULL, -- target rate of all clients together, in transactions per second
    latency_limit float8 DEFAULT NULL, -- latency in milliseconds above which a transaction is late
    max_tries int DEFAULT NULL, -- maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
    variables jsonb DEFAULT NULL, -- variables for scripts, a JSON object such as {"scale": 10}
    reconnect boolean DEFAULT false, -- a new connection for each transaction; mode libpq only
    continue_on_error boolean DEFAULT NULL, -- errors of statements end their transaction, not their client
    exit_on_abort boolean DEFAULT false, -- the run stops when a client aborts
    per_statement boolean DEFAULT false, -- figures of each command, in bench.run_statements, with percentiles
    failures_detailed boolean DEFAULT false, -- the report counts failures by kind
    verbose_errors boolean DEFAULT false, -- a notice for each error that does not abort the client
    log boolean DEFAULT false, -- a row for each transaction, in bench.transactions
    sampling_rate float8 DEFAULT NULL, -- fraction of the transactions to log, above 0 and at most 1; needs log
    log_prefix text DEFAULT NULL, -- path with which the names of log files begin; needs log
    target text DEFAULT NULL, -- server to connect to, in mode libpq: a connection string or the name of a foreign server
    client_process text DEFAULT 'auto', -- processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
    checkpoint boolean DEFAULT false, -- a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
    observe boolean DEFAULT true, -- whether the coordinator observes the server beside the clients
    profile boolean DEFAULT false, -- whether the call stacks of the processes that do the work are sampled
    wait_sample_rate float8 DEFAULT 20, -- samples per second of what the clients' sessions wait for
    connection text DEFAULT 'auto', -- way of the connections of mode libpq to this server: socket, tcp or auto
    settings jsonb DEFAULT NULL, -- session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
    setup text DEFAULT NULL, -- SQL statements that are executed before the run
    teardown text DEFAULT NULL, -- SQL statements that are executed after the run, however it ends
    verify boolean DEFAULT false, -- whether the conditions of the workload's rows are checked after the run, as bench.check_workload does, outside of the measured time
    undefined_variables text DEFAULT 'error', -- variables that scripts mention and nothing sets: error or pgbench
    sql text DEFAULT NULL, -- statements, or a whole script in pgbench's language, to run instead of scripts: sql => 'SELECT count(*) FROM orders'
    load_factor float8 DEFAULT NULL, -- rate as a multiple of the one at which a captured workload was executed, such as 2
    allow_writes boolean DEFAULT false -- whether a captured workload changes the tables that it was captured on, instead of copies of them
) RETURNS SETOF bench.compare_result
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 3 AS 'MODULE_PATHNAME', 'compare_wrapper';
COMMENT ON FUNCTION bench.compare IS 'run arms with different options in turn, several times; return how each compares with the baseline
arms: array of objects of run options, with name and baseline; NULL: in the server, by socket, by TCP
repeats: runs of each arm that count, 1 to 1000
scripts: names of scripts with weights, such as select-only@9, simple-update
mode: execution mode: spi or libpq
clients: number of clients, which execute transactions concurrently
jobs: sets of clients in mode libpq, pgbench''s threads
workers: processes that drive the jobs in mode libpq, at most one per job
duration: time during which transactions start, an interval or a number of seconds
transactions: number of transactions per client after the warm-up, including failed ones
protocol: query protocol: simple, extended or prepared
vacuum: tables to vacuum before the run: auto, always, none or all
warmup: time at the start of the run that does not count, an interval or a number of seconds
max_warmup: longest warm-up until steady, an interval or a number of seconds
progress: time between notices with figures, at least 100 ms, an interval or a number of seconds
aggregate_interval: length of the intervals in bench.run_intervals, at least 100 ms, an interval or a number of seconds
seed: random seed: an integer from 0 to 18446744073709551615, time or rand
label: text that identifies the run in queries; at most 1024 bytes
rate: target rate of all clients together, in transactions per second
latency_limit: latency in milliseconds above which a transaction is late
max_tries: maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit
variables: variables for scripts, a JSON object such as {"scale": 10}
reconnect: a new connection for each transaction; mode libpq only
continue_on_error: errors of statements end their transaction, not their client
exit_on_abort: the run stops when a client aborts
per_statement: figures of each command, in bench.run_statements, with percentiles
failures_detailed: the report counts failures by kind
verbose_errors: a notice for each error that does not abort the client
log: a row for each transaction, in bench.transactions
sampling_rate: fraction of the transactions to log, above 0 and at most 1; needs log
log_prefix: path with which the names of log files begin; needs log
target: server to connect to, in mode libpq: a connection string or the name of a foreign server
client_process: processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)
checkpoint: a checkpoint on the server where the run takes place, after the vacuum and before the first transaction
observe: whether the coordinator observes the server beside the clients
profile: whether the call stacks of the processes that do the work are sampled
wait_sample_rate: samples per second of what the clients'' sessions wait for
connection: way of the connections of mode libpq to this server: socket, tcp or auto
settings: session settings of the clients, a JSON object such as {"synchronous_commit": "off", "work_mem": "64MB"}
setup: SQL statements that are executed before the run
teardown: SQL statements that are executed after the run, however it ends
verify: whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time
undefined_variables: variables that scripts mention and nothing sets: error or pgbench
sql: statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''
load_factor: rate as a multiple of the one at which a captured workload was executed, such as 2
allow_writes: whether a captured workload changes the tables that it was captured on, instead of copies of them';

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
COMMENT ON FUNCTION bench.compare_runs IS 'compare stored runs: figures, and what differed between them
a: runs of one side
b: runs of the other side
aspect: result, option, setting, hardware, size, wait or budget
name: name of the figure or of what differs
of_a: value of a
of_b: value of b
ratio: ratio of b to a
finding: result of the comparison in words';

CREATE FUNCTION bench.grant_to(
    role regrole -- role that gets the privileges
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'grant_to_wrapper';
COMMENT ON FUNCTION bench.grant_to IS 'grant a role what it needs to run benchmarks and to see its own runs
role: role that gets the privileges';

/* Rows of a run, in each table with its number, are visible to those who see the run, and dumped. */
ALTER TABLE bench.run_scripts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_scripts USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_scripts.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_scripts', '');
ALTER TABLE bench.run_statements ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_statements USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_statements.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_statements', '');
ALTER TABLE bench.run_checks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_checks USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_checks.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_checks', '');
ALTER TABLE bench.transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.transactions USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = transactions.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.transactions', '');
ALTER TABLE bench.run_clients ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_clients USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_clients.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_clients', '');
ALTER TABLE bench.run_intervals ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_intervals USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_intervals.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_intervals', '');
ALTER TABLE bench.run_settings ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_settings USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_settings.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_settings', '');
ALTER TABLE bench.pgio_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.pgio_runs USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = pgio_runs.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.pgio_runs', '');
ALTER TABLE bench.pgio_sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.pgio_sessions USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = pgio_sessions.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.pgio_sessions', '');
ALTER TABLE bench.run_server_intervals ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_server_intervals USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_server_intervals.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_server_intervals', '');
ALTER TABLE bench.run_environment ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_environment USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_environment.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_environment', '');
ALTER TABLE bench.run_tables ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_tables USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_tables.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_tables', '');
ALTER TABLE bench.run_captured_statements ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_captured_statements USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_captured_statements.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_captured_statements', '');
ALTER TABLE bench.run_times ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_times USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_times.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_times', '');
ALTER TABLE bench.run_stacks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_stacks USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_stacks.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_stacks', '');
ALTER TABLE bench.run_profiles ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_profiles USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_profiles.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_profiles', '');
ALTER TABLE bench.run_waits ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_waits USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_waits.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_waits', '');
ALTER TABLE bench.run_blockers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_blockers USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_blockers.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_blockers', '');
ALTER TABLE bench.run_stalls ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_stalls USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_stalls.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_stalls', '');

/* PUBLIC has EXECUTE on new functions by default. */
REVOKE ALL ON ALL ROUTINES IN SCHEMA bench, bench_internal FROM PUBLIC;

COMMENT ON COLUMN bench.scripts.name IS 'name, unique among the scripts of its owner';
COMMENT ON COLUMN bench.scripts.description IS 'text that reports show';
COMMENT ON COLUMN bench.scripts.body IS 'text in pgbench''s language, at most the 16 MB of a run';
COMMENT ON COLUMN bench.scripts.owner IS 'role that stored it';
COMMENT ON COLUMN bench.scripts.created_at IS 'time at which it was stored';
COMMENT ON COLUMN bench.workload_definitions.name IS 'name, unique among the workloads of its owner';
COMMENT ON COLUMN bench.workload_definitions.manifest IS 'description, unit of the scale, sizes, variables and mixes';
COMMENT ON COLUMN bench.workload_definitions.schema IS 'statements that create tables and routines';
COMMENT ON COLUMN bench.workload_definitions.load IS 'query of the rows of each table';
COMMENT ON COLUMN bench.workload_definitions.finish IS 'statements behind the load';
COMMENT ON COLUMN bench.workload_definitions.checks IS 'query of violating rows for each condition';
COMMENT ON COLUMN bench.workload_definitions.scripts IS 'texts of the scripts by name';
COMMENT ON COLUMN bench.workload_definitions.owner IS 'role that defined it';
COMMENT ON COLUMN bench.workload_definitions.created_at IS 'time at which it was stored';
COMMENT ON COLUMN bench.value_sets.set_name IS 'name of the set, without blanks, unique among the sets of its owner';
COMMENT ON COLUMN bench.value_sets.row_no IS 'position of the row in the set';
COMMENT ON COLUMN bench.value_sets.values IS 'values as texts, as their types print them';
COMMENT ON COLUMN bench.value_sets.owner IS 'role that it belongs to';
COMMENT ON COLUMN bench.session_usage.blocks_hit IS 'blocks found in the server''s shared buffers';
COMMENT ON COLUMN bench.session_usage.blocks_read IS 'blocks read into shared buffers, from the operating system';
COMMENT ON COLUMN bench.session_usage.blocks_dirtied IS 'blocks that became dirty';
COMMENT ON COLUMN bench.session_usage.blocks_written IS 'blocks that the session wrote: evicted ones, and those that extended a table';
COMMENT ON COLUMN bench.session_usage.blocks_evicted IS 'blocks that the session evicted from shared buffers, written or not; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.session_usage.read_ms IS 'time of reading blocks; 0 unless the server measures it';
COMMENT ON COLUMN bench.session_usage.write_ms IS 'time of writing blocks; 0 unless the server measures it';
COMMENT ON COLUMN bench.session_usage.wal_records IS 'records of WAL';
COMMENT ON COLUMN bench.session_usage.wal_fpi IS 'full-page images among the records of WAL';
COMMENT ON COLUMN bench.session_usage.wal_bytes IS 'bytes of WAL';
COMMENT ON COLUMN bench.session_usage.device_read_bytes IS 'bytes read from a block device, not from the operating system''s cache';
COMMENT ON COLUMN bench.session_usage.device_write_bytes IS 'bytes passed to the operating system for writing';
COMMENT ON COLUMN bench.runs.run_id IS 'number of the run';
COMMENT ON COLUMN bench.runs.owner IS 'role that made the run';
COMMENT ON COLUMN bench.runs.database_name IS 'database in which it was called';
COMMENT ON COLUMN bench.runs.set_id IS 'set that it belongs to, in bench.sets';
COMMENT ON COLUMN bench.runs.arm IS 'arm of the set that it belongs to';
COMMENT ON COLUMN bench.runs.round IS 'round of the set; of bench.compare, 0 is a warm-up, which does not count';
COMMENT ON COLUMN bench.runs.state IS 'state as stored: starting, running, finished, canceled, failed or lost; after a crash running until the next run begins, see bench.run_summary';
COMMENT ON COLUMN bench.runs.scripts IS 'names of scripts with weights, such as select-only@9, simple-update';
COMMENT ON COLUMN bench.runs.mode IS 'execution mode: spi or libpq';
COMMENT ON COLUMN bench.runs.clients IS 'number of clients, which execute transactions concurrently';
COMMENT ON COLUMN bench.runs.jobs IS 'sets of clients in mode libpq, pgbench''s threads';
COMMENT ON COLUMN bench.runs.workers IS 'processes that drive the jobs in mode libpq, at most one per job';
COMMENT ON COLUMN bench.runs.duration_s IS 'time during which transactions start';
COMMENT ON COLUMN bench.runs.transactions_per_client IS 'number of transactions per client after the warm-up, including failed ones';
COMMENT ON COLUMN bench.runs.protocol IS 'query protocol: simple, extended or prepared';
COMMENT ON COLUMN bench.runs.vacuum IS 'tables to vacuum before the run: auto, always, none or all';
COMMENT ON COLUMN bench.runs.warmup_s IS 'time at the start of the run that does not count';
COMMENT ON COLUMN bench.runs.max_warmup_s IS 'longest warm-up until steady';
COMMENT ON COLUMN bench.runs.aggregate_interval_s IS 'length of the intervals in bench.run_intervals, at least 100 ms';
COMMENT ON COLUMN bench.runs.seed IS 'random seed: an integer from 0 to 18446744073709551615, time or rand';
COMMENT ON COLUMN bench.runs.label IS 'text that identifies the run in queries; at most 1024 bytes';
COMMENT ON COLUMN bench.runs.rate IS 'target rate of all clients together, in transactions per second';
COMMENT ON COLUMN bench.runs.latency_limit_ms IS 'latency in milliseconds above which a transaction is late';
COMMENT ON COLUMN bench.runs.max_tries IS 'maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit';
COMMENT ON COLUMN bench.runs.variables IS 'variables for scripts, a JSON object such as {"scale": 10}';
COMMENT ON COLUMN bench.runs.reconnect IS 'a new connection for each transaction; mode libpq only';
COMMENT ON COLUMN bench.runs.continue_on_error IS 'errors of statements end their transaction, not their client';
COMMENT ON COLUMN bench.runs.exit_on_abort IS 'the run stops when a client aborts';
COMMENT ON COLUMN bench.runs.per_statement IS 'figures of each command, in bench.run_statements, with percentiles';
COMMENT ON COLUMN bench.runs.failures_detailed IS 'the report counts failures by kind';
COMMENT ON COLUMN bench.runs.verbose_errors IS 'a notice for each error that does not abort the client';
COMMENT ON COLUMN bench.runs.log IS 'a row for each transaction, in bench.transactions';
COMMENT ON COLUMN bench.runs.sampling_rate IS 'fraction of the transactions to log, above 0 and at most 1; needs log';
COMMENT ON COLUMN bench.runs.log_prefix IS 'path with which the names of log files begin; needs log';
COMMENT ON COLUMN bench.runs.target IS 'server to connect to, in mode libpq: a connection string or the name of a foreign server';
COMMENT ON COLUMN bench.runs.client_process IS 'processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)';
COMMENT ON COLUMN bench.runs.checkpoint IS 'a checkpoint on the server where the run takes place, after the vacuum and before the first transaction';
COMMENT ON COLUMN bench.runs.observe IS 'whether the coordinator observes the server beside the clients';
COMMENT ON COLUMN bench.runs.profile IS 'whether the call stacks of the processes that do the work are sampled';
COMMENT ON COLUMN bench.runs.wait_sample_rate IS 'samples per second of what the clients'' sessions wait for';
COMMENT ON COLUMN bench.runs.connection IS 'way of the connections of mode libpq to this server: socket, tcp or auto';
COMMENT ON COLUMN bench.runs.setup IS 'SQL statements that are executed before the run';
COMMENT ON COLUMN bench.runs.teardown IS 'SQL statements that are executed after the run, however it ends';
COMMENT ON COLUMN bench.runs.verify IS 'whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time';
COMMENT ON COLUMN bench.runs.undefined_variables IS 'variables that scripts mention and nothing sets: error or pgbench';
COMMENT ON COLUMN bench.runs.sql IS 'statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''';
COMMENT ON COLUMN bench.runs.load_factor IS 'rate as a multiple of the one at which a captured workload was executed, such as 2';
COMMENT ON COLUMN bench.runs.allow_writes IS 'whether a captured workload changes the tables that it was captured on, instead of copies of them';
COMMENT ON COLUMN bench.runs.warmup_steady IS 'whether a warm-up until steady became so; false: cut off at max_warmup_s';
COMMENT ON COLUMN bench.runs.backends IS 'clients of mode spi that ran in backends';
COMMENT ON COLUMN bench.runs.scale IS 'scale of pgbench''s tables; of pgio''s workload, blocks of each table';
COMMENT ON COLUMN bench.runs.partition_method IS 'method of partitioning of pgbench_accounts: range or hash';
COMMENT ON COLUMN bench.runs.partitions IS 'number of partitions of pgbench_accounts';
COMMENT ON COLUMN bench.runs.server_version IS 'version of the server that the clients used';
COMMENT ON COLUMN bench.runs.server_version_num IS 'version of the server as a number';
COMMENT ON COLUMN bench.runs.extension_version IS 'version of the extension that made the run';
COMMENT ON COLUMN bench.runs.created_at IS 'time of the call';
COMMENT ON COLUMN bench.runs.started_at IS 'start of the clients';
COMMENT ON COLUMN bench.runs.finished_at IS 'end of the last client';
COMMENT ON COLUMN bench.runs.seconds IS 'measured time in seconds, without the warm-up';
COMMENT ON COLUMN bench.runs.connection_ms IS 'time until all clients were ready; with reconnect, mean time of connecting for a transaction';
COMMENT ON COLUMN bench.runs.overhead_us IS 'overhead of clients per transaction: CPU time of client workers (libpq), time outside executor and commit (spi)';
COMMENT ON COLUMN bench.runs.overhead_share IS 'overhead of clients as a fraction of the elapsed time of client workers (libpq) or of transactions (spi)';
COMMENT ON COLUMN bench.runs.snapshot_held_s IS 'time for which an old snapshot kept the run''s dead rows; NULL if unknown';
COMMENT ON COLUMN bench.runs.snapshot_held_by IS 'holder of that snapshot; sessions of other roles only with privileges of pg_read_all_stats';
COMMENT ON COLUMN bench.runs.processors IS 'CPUs of this server that the run could use';
COMMENT ON COLUMN bench.runs.other_runs IS 'other runs on this server at the same time, of all roles';
COMMENT ON COLUMN bench.runs.disturbances IS 'findings of bench.advice that say what else used the server and its machine';
COMMENT ON COLUMN bench.runs.is_baseline IS 'whether bench.trend compares it and later runs of its series with no earlier one; see bench.set_baseline';
COMMENT ON COLUMN bench.runs.scripts_hash IS 'hash of the weights and texts of the scripts; NULL until the run has ended';
COMMENT ON COLUMN bench.runs.series IS 'what the run has in common with others of the same series; see bench.trend';
COMMENT ON COLUMN bench.runs.warmup_transactions IS 'transactions that ended during the warm-up, successful or failed; no other figure has them';
COMMENT ON COLUMN bench.runs.aborted_clients IS 'clients that stopped early';
COMMENT ON COLUMN bench.runs.stalled_clients IS 'clients that completed at most one transaction, while another one completed ten, and ten of the slowest script had time by its median';
COMMENT ON COLUMN bench.runs.errors IS 'error messages of clients and of the run';
COMMENT ON COLUMN bench.runs.unmatched IS 'statements that matched or returned no row in any sampled transaction';
COMMENT ON COLUMN bench.runs.notes IS 'observations that were not possible, with reasons';
COMMENT ON COLUMN bench.runs.teardown_due IS 'whether the teardown is still to be executed; see bench.finish_teardown';
COMMENT ON COLUMN bench.runs.coordinator_pid IS 'process ID of the coordinator';
COMMENT ON COLUMN bench.runs.segment IS 'handle of the run''s shared memory';
COMMENT ON COLUMN bench.runs.thinned_at IS 'time at which bench.prune deleted its intervals, histograms, stacks and log; NULL: they are there, if it had them';
COMMENT ON COLUMN bench.runs.imported_at IS 'time at which it was imported; NULL: a run of this server';
COMMENT ON COLUMN bench.runs.imported_from IS 'origin of an imported run, the "source" of its document';
COMMENT ON COLUMN bench.runs.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.runs.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.runs.serialization_failures IS 'transactions given up after a serialization failure, SQLSTATE 40001';
COMMENT ON COLUMN bench.runs.deadlock_failures IS 'transactions given up after a deadlock, SQLSTATE 40P01';
COMMENT ON COLUMN bench.runs.other_failures IS 'transactions given up after any other error, if a run goes on after errors';
COMMENT ON COLUMN bench.runs.retried IS 'transactions, successful or failed, that were tried more than once';
COMMENT ON COLUMN bench.runs.retries IS 'tries beyond each transaction''s first';
COMMENT ON COLUMN bench.runs.skipped IS 'transactions never started because a rate and a latency limit made them pointless';
COMMENT ON COLUMN bench.runs.late IS 'successful transactions above the latency limit';
COMMENT ON COLUMN bench.runs.rolled_back IS 'successful transactions that their script rolled back on purpose, as the workload says';
COMMENT ON COLUMN bench.runs.tps IS 'successful transactions per second';
COMMENT ON COLUMN bench.runs.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.runs.latency_stddev_ms IS 'standard deviation of the latency';
COMMENT ON COLUMN bench.runs.latency_min_ms IS 'shortest latency';
COMMENT ON COLUMN bench.runs.latency_p50_ms IS 'median latency';
COMMENT ON COLUMN bench.runs.latency_p90_ms IS '90th percentile of the latency';
COMMENT ON COLUMN bench.runs.latency_p95_ms IS '95th percentile of the latency';
COMMENT ON COLUMN bench.runs.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.runs.latency_p999_ms IS '99.9th percentile of the latency';
COMMENT ON COLUMN bench.runs.latency_max_ms IS 'longest latency';
COMMENT ON COLUMN bench.runs.lag_avg_ms IS 'mean schedule lag';
COMMENT ON COLUMN bench.runs.lag_max_ms IS 'longest schedule lag';
COMMENT ON COLUMN bench.runs.sleep_avg_ms IS 'mean time in \sleep, a part of the latency; NULL if no transaction slept';
COMMENT ON COLUMN bench.runs.latency_sum_ms IS 'sum of all latencies';
COMMENT ON COLUMN bench.runs.latency_sum_squares_ms2 IS 'sum of the squares of all latencies, in milliseconds squared';
COMMENT ON COLUMN bench.runs.histogram IS 'histogram of the latency, see bench.percentile; NULL if it is empty';
COMMENT ON COLUMN bench.run_scripts.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_scripts.script_no IS 'number of the script in the run, from 0';
COMMENT ON COLUMN bench.run_scripts.name IS 'name of the script';
COMMENT ON COLUMN bench.run_scripts.description IS 'description of the script';
COMMENT ON COLUMN bench.run_scripts.body IS 'text of the script';
COMMENT ON COLUMN bench.run_scripts.weight IS 'weight with which it was chosen';
COMMENT ON COLUMN bench.run_scripts.p90_limit_ms IS 'limit of the 90th percentile of the response time, which is the latency without \sleep, if the workload has one';
COMMENT ON COLUMN bench.run_scripts.above_limit IS 'successful transactions with a response time above that limit';
COMMENT ON COLUMN bench.run_scripts.p90_is_met IS 'whether at most a tenth of the transactions is above the limit; NULL without transactions';
COMMENT ON COLUMN bench.run_scripts.per_minute IS 'successful transactions that were not rolled back, per minute, if the workload counts them so';
COMMENT ON COLUMN bench.run_scripts.per_minute_of IS 'what the transactions in per_minute are, such as new orders';
COMMENT ON COLUMN bench.run_scripts.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.run_scripts.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.run_scripts.serialization_failures IS 'transactions given up after a serialization failure, SQLSTATE 40001';
COMMENT ON COLUMN bench.run_scripts.deadlock_failures IS 'transactions given up after a deadlock, SQLSTATE 40P01';
COMMENT ON COLUMN bench.run_scripts.other_failures IS 'transactions given up after any other error, if a run goes on after errors';
COMMENT ON COLUMN bench.run_scripts.retried IS 'transactions, successful or failed, that were tried more than once';
COMMENT ON COLUMN bench.run_scripts.retries IS 'tries beyond each transaction''s first';
COMMENT ON COLUMN bench.run_scripts.skipped IS 'transactions never started because a rate and a latency limit made them pointless';
COMMENT ON COLUMN bench.run_scripts.late IS 'successful transactions above the latency limit';
COMMENT ON COLUMN bench.run_scripts.rolled_back IS 'successful transactions that their script rolled back on purpose, as the workload says';
COMMENT ON COLUMN bench.run_scripts.tps IS 'successful transactions per second';
COMMENT ON COLUMN bench.run_scripts.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.run_scripts.latency_stddev_ms IS 'standard deviation of the latency';
COMMENT ON COLUMN bench.run_scripts.latency_min_ms IS 'shortest latency';
COMMENT ON COLUMN bench.run_scripts.latency_p50_ms IS 'median latency';
COMMENT ON COLUMN bench.run_scripts.latency_p90_ms IS '90th percentile of the latency';
COMMENT ON COLUMN bench.run_scripts.latency_p95_ms IS '95th percentile of the latency';
COMMENT ON COLUMN bench.run_scripts.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.run_scripts.latency_p999_ms IS '99.9th percentile of the latency';
COMMENT ON COLUMN bench.run_scripts.latency_max_ms IS 'longest latency';
COMMENT ON COLUMN bench.run_scripts.lag_avg_ms IS 'mean schedule lag';
COMMENT ON COLUMN bench.run_scripts.lag_max_ms IS 'longest schedule lag';
COMMENT ON COLUMN bench.run_scripts.sleep_avg_ms IS 'mean time in \sleep, a part of the latency; NULL if no transaction slept';
COMMENT ON COLUMN bench.run_scripts.latency_sum_ms IS 'sum of all latencies';
COMMENT ON COLUMN bench.run_scripts.latency_sum_squares_ms2 IS 'sum of the squares of all latencies, in milliseconds squared';
COMMENT ON COLUMN bench.run_scripts.histogram IS 'histogram of the latency, see bench.percentile; NULL if it is empty';
COMMENT ON COLUMN bench.run_statements.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_statements.script_no IS 'number of the script, as in bench.run_scripts';
COMMENT ON COLUMN bench.run_statements.command_no IS 'position of the command in the script, from 0';
COMMENT ON COLUMN bench.run_statements.line IS 'line of the script, from 1';
COMMENT ON COLUMN bench.run_statements.command IS 'text of the command';
COMMENT ON COLUMN bench.run_statements.executions IS 'successful executions';
COMMENT ON COLUMN bench.run_statements.failures IS 'transactions that failed at this command';
COMMENT ON COLUMN bench.run_statements.retries IS 'tries that were repeated because of this command';
COMMENT ON COLUMN bench.run_statements.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.run_statements.latency_stddev_ms IS 'standard deviation of the latency';
COMMENT ON COLUMN bench.run_statements.latency_min_ms IS 'shortest latency';
COMMENT ON COLUMN bench.run_statements.latency_p50_ms IS 'median latency';
COMMENT ON COLUMN bench.run_statements.latency_p90_ms IS '90th percentile of the latency';
COMMENT ON COLUMN bench.run_statements.latency_p95_ms IS '95th percentile of the latency';
COMMENT ON COLUMN bench.run_statements.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.run_statements.latency_p999_ms IS '99.9th percentile of the latency';
COMMENT ON COLUMN bench.run_statements.latency_max_ms IS 'longest latency';
COMMENT ON COLUMN bench.run_statements.histogram IS 'times of executions as a histogram of two significant digits, see bench.percentile';
COMMENT ON COLUMN bench.run_checks.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_checks.check_no IS 'position among the conditions of the workload, from 0';
COMMENT ON COLUMN bench.run_checks.condition IS 'name of the condition';
COMMENT ON COLUMN bench.run_checks.description IS 'the condition in words';
COMMENT ON COLUMN bench.run_checks.holds IS 'whether it holds; NULL if it was not judged';
COMMENT ON COLUMN bench.run_checks.violations IS 'number of rows that violate it; NULL if it could not be evaluated';
COMMENT ON COLUMN bench.run_checks.example IS 'one of these rows, or why it could not be evaluated';
COMMENT ON COLUMN bench.transactions.run_id IS 'run that it belongs to, in bench.runs';
COMMENT ON COLUMN bench.transactions.client IS 'number of the client, from 0';
COMMENT ON COLUMN bench.transactions.transaction_no IS 'number of the transaction of the client';
COMMENT ON COLUMN bench.transactions.script_no IS 'number of the script, as in bench.run_scripts';
COMMENT ON COLUMN bench.transactions.outcome IS 'outcome: success, serialization, deadlock, other or skipped';
COMMENT ON COLUMN bench.transactions.ended_at IS 'time of its end';
COMMENT ON COLUMN bench.transactions.latency_ms IS 'latency, from the scheduled start if there is a rate; NULL if it was skipped';
COMMENT ON COLUMN bench.transactions.lag_ms IS 'time from the scheduled to the actual start, with a rate';
COMMENT ON COLUMN bench.transactions.retries IS 'tries after the first';
COMMENT ON COLUMN bench.run_clients.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_clients.client_no IS 'number of the client, from 0, as variable client_id';
COMMENT ON COLUMN bench.run_clients.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.run_clients.failed IS 'failed transactions';
COMMENT ON COLUMN bench.run_clients.skipped IS 'skipped transactions';
COMMENT ON COLUMN bench.run_clients.latency_avg_ms IS 'mean latency of the successful transactions';
COMMENT ON COLUMN bench.run_clients.latency_max_ms IS 'longest latency of them';
COMMENT ON COLUMN bench.run_intervals.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_intervals.interval_no IS 'number of the interval, from 0';
COMMENT ON COLUMN bench.run_intervals.begins_s IS 'start of the interval, in seconds from the start of the run';
COMMENT ON COLUMN bench.run_intervals.seconds IS 'length of the interval in seconds';
COMMENT ON COLUMN bench.run_intervals.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.run_intervals.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.run_intervals.serialization_failures IS 'transactions given up after a serialization failure, SQLSTATE 40001';
COMMENT ON COLUMN bench.run_intervals.deadlock_failures IS 'transactions given up after a deadlock, SQLSTATE 40P01';
COMMENT ON COLUMN bench.run_intervals.other_failures IS 'transactions given up after any other error, if a run goes on after errors';
COMMENT ON COLUMN bench.run_intervals.retried IS 'transactions, successful or failed, that were tried more than once';
COMMENT ON COLUMN bench.run_intervals.retries IS 'tries beyond each transaction''s first';
COMMENT ON COLUMN bench.run_intervals.skipped IS 'transactions never started because a rate and a latency limit made them pointless';
COMMENT ON COLUMN bench.run_intervals.late IS 'successful transactions above the latency limit';
COMMENT ON COLUMN bench.run_intervals.rolled_back IS 'successful transactions that their script rolled back on purpose, as the workload says';
COMMENT ON COLUMN bench.run_intervals.tps IS 'successful transactions per second';
COMMENT ON COLUMN bench.run_intervals.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.run_intervals.latency_stddev_ms IS 'standard deviation of the latency';
COMMENT ON COLUMN bench.run_intervals.latency_min_ms IS 'shortest latency';
COMMENT ON COLUMN bench.run_intervals.latency_p50_ms IS 'median latency';
COMMENT ON COLUMN bench.run_intervals.latency_p90_ms IS '90th percentile of the latency';
COMMENT ON COLUMN bench.run_intervals.latency_p95_ms IS '95th percentile of the latency';
COMMENT ON COLUMN bench.run_intervals.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.run_intervals.latency_p999_ms IS '99.9th percentile of the latency';
COMMENT ON COLUMN bench.run_intervals.latency_max_ms IS 'longest latency';
COMMENT ON COLUMN bench.run_intervals.lag_avg_ms IS 'mean schedule lag';
COMMENT ON COLUMN bench.run_intervals.lag_max_ms IS 'longest schedule lag';
COMMENT ON COLUMN bench.run_intervals.sleep_avg_ms IS 'mean time in \sleep, a part of the latency; NULL if no transaction slept';
COMMENT ON COLUMN bench.run_intervals.latency_sum_ms IS 'sum of all latencies';
COMMENT ON COLUMN bench.run_intervals.latency_sum_squares_ms2 IS 'sum of the squares of all latencies, in milliseconds squared';
COMMENT ON COLUMN bench.run_intervals.histogram IS 'histogram of the latency, see bench.percentile; NULL if it is empty';
COMMENT ON COLUMN bench.run_intervals.blocks_hit IS 'blocks that pgio''s sessions found in shared buffers; mode spi';
COMMENT ON COLUMN bench.run_intervals.blocks_read IS 'blocks that pgio''s sessions read into shared buffers; mode spi';
COMMENT ON COLUMN bench.run_intervals.wal_bytes IS 'WAL of pgio''s sessions; mode spi';
COMMENT ON COLUMN bench.run_settings.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_settings.name IS 'name of the setting';
COMMENT ON COLUMN bench.run_settings.setting IS 'its value with unit, as SHOW prints it';
COMMENT ON COLUMN bench.run_settings.source IS 'origin of the value, as in pg_settings';
COMMENT ON COLUMN bench.pgio_runs.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.pgio_runs.tables IS 'number of tables';
COMMENT ON COLUMN bench.pgio_runs.threads_per_table IS 'sessions of each table';
COMMENT ON COLUMN bench.pgio_runs.update_pct IS 'percentage of loops that update';
COMMENT ON COLUMN bench.pgio_runs.work_unit IS 'length of the key range of a loop that reads';
COMMENT ON COLUMN bench.pgio_runs.update_work_unit IS 'length of the key range of a loop that updates';
COMMENT ON COLUMN bench.pgio_runs.commit_every IS 'loops per transaction';
COMMENT ON COLUMN bench.pgio_runs.working_set_pct IS 'percentage of each table''s keys that was used';
COMMENT ON COLUMN bench.pgio_runs.scan IS 'scan by which rows were looked for: index, bitmap or auto';
COMMENT ON COLUMN bench.pgio_runs.scale IS 'blocks, and so rows and keys, of each table';
COMMENT ON COLUMN bench.pgio_runs.block_bytes IS 'bytes of a block';
COMMENT ON COLUMN bench.pgio_runs.working_set_bytes IS 'bytes of all blocks in use';
COMMENT ON COLUMN bench.pgio_runs.shared_buffers_bytes IS 'bytes of the server''s shared buffers; NULL for a target';
COMMENT ON COLUMN bench.pgio_runs.memory_bytes IS 'bytes of memory that the server''s machine has, or may use; NULL for a target';
COMMENT ON COLUMN bench.pgio_runs.seconds IS 'measured time in seconds, from the start or the end of the warm-up';
COMMENT ON COLUMN bench.pgio_runs.selects IS 'loops that read';
COMMENT ON COLUMN bench.pgio_runs.updates IS 'loops that updated';
COMMENT ON COLUMN bench.pgio_runs.failed IS 'loops that failed';
COMMENT ON COLUMN bench.pgio_runs.riops IS 'blocks read into shared buffers per second, from the operating system''s cache or a device: what pgio calls RIOPS';
COMMENT ON COLUMN bench.pgio_runs.cache_hits_per_s IS 'blocks found in shared buffers per second';
COMMENT ON COLUMN bench.pgio_runs.logical_reads_per_s IS 'blocks found in shared buffers or read into them per second';
COMMENT ON COLUMN bench.pgio_runs.device_reads_per_s IS 'bytes read from a block device per second, in blocks';
COMMENT ON COLUMN bench.pgio_runs.device_read_mb_per_s IS 'bytes read from a block device per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_runs.device_write_mb_per_s IS 'bytes that the sessions'' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_runs.blocks_dirtied_per_s IS 'blocks that became dirty per second';
COMMENT ON COLUMN bench.pgio_runs.blocks_written_per_s IS 'blocks that the sessions wrote per second: to make room for others, or by which a table grew';
COMMENT ON COLUMN bench.pgio_runs.blocks_evicted_per_s IS 'blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.pgio_runs.wal_bytes_per_s IS 'bytes of WAL per second';
COMMENT ON COLUMN bench.pgio_runs.wal_bytes_per_update IS 'bytes of WAL per update';
COMMENT ON COLUMN bench.pgio_runs.select_avg_ms IS 'mean time of a loop that reads';
COMMENT ON COLUMN bench.pgio_runs.select_p99_ms IS '99th percentile of the time of a loop that reads';
COMMENT ON COLUMN bench.pgio_runs.select_max_ms IS 'longest time of a loop that reads';
COMMENT ON COLUMN bench.pgio_runs.update_avg_ms IS 'mean time of a loop that updates';
COMMENT ON COLUMN bench.pgio_runs.update_p99_ms IS '99th percentile of the time of a loop that updates';
COMMENT ON COLUMN bench.pgio_runs.update_max_ms IS 'longest time of a loop that updates';
COMMENT ON COLUMN bench.pgio_runs.read_avg_ms IS 'mean time of reading a block; NULL unless track_io_timing was on';
COMMENT ON COLUMN bench.pgio_runs.read_p50_ms IS 'median time of reading a block';
COMMENT ON COLUMN bench.pgio_runs.read_p95_ms IS '95th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_runs.read_p99_ms IS '99th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_runs.read_max_ms IS 'longest time of reading a block';
COMMENT ON COLUMN bench.pgio_runs.read_histogram IS 'histogram of the time of reading a block, see bench.percentile';
COMMENT ON COLUMN bench.pgio_sessions.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.pgio_sessions.client IS 'number of the client, from 0';
COMMENT ON COLUMN bench.pgio_sessions.table_no IS 'number of its table, from 1';
COMMENT ON COLUMN bench.pgio_sessions.selects IS 'loops that read';
COMMENT ON COLUMN bench.pgio_sessions.select_avg_ms IS 'mean time of loops that read';
COMMENT ON COLUMN bench.pgio_sessions.select_max_ms IS 'longest time of a loop that read';
COMMENT ON COLUMN bench.pgio_sessions.select_histogram IS 'times of loops that read, see bench.percentile';
COMMENT ON COLUMN bench.pgio_sessions.updates IS 'loops that updated';
COMMENT ON COLUMN bench.pgio_sessions.update_avg_ms IS 'mean time of loops that updated';
COMMENT ON COLUMN bench.pgio_sessions.update_max_ms IS 'longest time of a loop that updated';
COMMENT ON COLUMN bench.pgio_sessions.update_histogram IS 'times of loops that updated, see bench.percentile';
COMMENT ON COLUMN bench.pgio_sessions.failed IS 'loops that failed';
COMMENT ON COLUMN bench.pgio_sessions.seconds IS 'measured time of the session in seconds';
COMMENT ON COLUMN bench.pgio_sessions.blocks_hit IS 'blocks found in the server''s shared buffers';
COMMENT ON COLUMN bench.pgio_sessions.blocks_read IS 'blocks read into shared buffers, from the operating system';
COMMENT ON COLUMN bench.pgio_sessions.blocks_dirtied IS 'blocks that became dirty';
COMMENT ON COLUMN bench.pgio_sessions.blocks_written IS 'blocks that the session wrote: evicted ones, and those that extended a table';
COMMENT ON COLUMN bench.pgio_sessions.blocks_evicted IS 'blocks that the session evicted from shared buffers, written or not; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.pgio_sessions.read_ms IS 'time of reading blocks; 0 unless the server measures it';
COMMENT ON COLUMN bench.pgio_sessions.write_ms IS 'time of writing blocks; 0 unless the server measures it';
COMMENT ON COLUMN bench.pgio_sessions.wal_records IS 'records of WAL';
COMMENT ON COLUMN bench.pgio_sessions.wal_fpi IS 'full-page images among the records of WAL';
COMMENT ON COLUMN bench.pgio_sessions.wal_bytes IS 'bytes of WAL';
COMMENT ON COLUMN bench.pgio_sessions.device_read_bytes IS 'bytes read from a block device, not from the operating system''s cache';
COMMENT ON COLUMN bench.pgio_sessions.device_write_bytes IS 'bytes passed to the operating system for writing';
COMMENT ON COLUMN bench.pgio_sessions.read_histogram IS 'times to read a block; NULL unless track_io_timing was on';
COMMENT ON COLUMN bench.captured_tables.owner IS 'role that the workload belongs to';
COMMENT ON COLUMN bench.captured_tables.workload IS 'captured workload';
COMMENT ON COLUMN bench.captured_tables.table_schema IS 'schema of the table';
COMMENT ON COLUMN bench.captured_tables.table_name IS 'name of the table or view';
COMMENT ON COLUMN bench.captured_tables.written IS 'whether its statements write to it';
COMMENT ON COLUMN bench.run_server_intervals.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_server_intervals.interval_no IS 'number of the interval, as in bench.run_intervals';
COMMENT ON COLUMN bench.run_server_intervals.begins_s IS 'start of the interval, in seconds from the start of the run';
COMMENT ON COLUMN bench.run_server_intervals.seconds IS 'length of the interval in seconds';
COMMENT ON COLUMN bench.run_server_intervals.wal_bytes IS 'WAL, from the insert position';
COMMENT ON COLUMN bench.run_server_intervals.wal_records IS 'WAL records; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.wal_fpi IS 'full-page images in WAL; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.blocks_hit IS 'blocks found in shared buffers; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.blocks_read IS 'blocks read into shared buffers; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.blocks_written IS 'blocks written from shared buffers, or by which files grew; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.blocks_hit_by_clients IS 'blocks that the run''s clients of mode spi found in shared buffers';
COMMENT ON COLUMN bench.run_server_intervals.blocks_read_by_clients IS 'blocks that the run''s clients of mode spi read into shared buffers';
COMMENT ON COLUMN bench.run_server_intervals.wal_bytes_by_clients IS 'WAL of the run''s clients of mode spi';
COMMENT ON COLUMN bench.run_server_intervals.blocks_hit_by_autovacuum IS 'blocks that autovacuum found in shared buffers; PostgreSQL 16 and later';
COMMENT ON COLUMN bench.run_server_intervals.blocks_read_by_autovacuum IS 'blocks that autovacuum read into shared buffers; PostgreSQL 16 and later';
COMMENT ON COLUMN bench.run_server_intervals.blocks_written_by_autovacuum IS 'blocks that autovacuum wrote; PostgreSQL 16 and later';
COMMENT ON COLUMN bench.run_server_intervals.blocks_written_by_checkpointer IS 'blocks that the checkpointer wrote';
COMMENT ON COLUMN bench.run_server_intervals.blocks_written_by_bgwriter IS 'blocks that the background writer wrote';
COMMENT ON COLUMN bench.run_server_intervals.blocks_written_by_backends IS 'blocks that all other processes wrote; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.checkpoints_timed IS 'checkpoints that began because of checkpoint_timeout';
COMMENT ON COLUMN bench.run_server_intervals.checkpoints_requested IS 'checkpoints that began because of CHECKPOINT or max_wal_size';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_write_ms IS 'time in which checkpoints that ended wrote files';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_sync_ms IS 'time in which checkpoints that ended synchronized files to disk';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_begun IS 'whether a checkpoint began; NULL for targets';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_active IS 'whether a checkpoint was in progress at the end of the interval';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_ended IS 'whether a checkpoint ended';
COMMENT ON COLUMN bench.run_server_intervals.checkpoint_phase IS 'wait event of the checkpointer at the end of the interval; NULL if it was idle or did not wait';
COMMENT ON COLUMN bench.run_server_intervals.autovacuum_workers IS 'autovacuum workers at the end of the interval';
COMMENT ON COLUMN bench.run_server_intervals.autovacuum IS 'commands of these workers';
COMMENT ON COLUMN bench.run_server_intervals.other_sessions IS 'active sessions at the end of the interval that do not belong to the run';
COMMENT ON COLUMN bench.run_server_intervals.temp_bytes IS 'bytes written to temporary files; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.deadlocks IS 'deadlocks; up to 1 s late';
COMMENT ON COLUMN bench.run_server_intervals.cpu_user_ms IS 'time of all CPUs of this server''s machine in user mode';
COMMENT ON COLUMN bench.run_server_intervals.cpu_system_ms IS 'time of all CPUs in the kernel';
COMMENT ON COLUMN bench.run_server_intervals.cpu_idle_ms IS 'time of all CPUs without work';
COMMENT ON COLUMN bench.run_server_intervals.cpu_iowait_ms IS 'time of all CPUs without work while a task waited for a device';
COMMENT ON COLUMN bench.run_server_intervals.cpu_steal_ms IS 'time that a hypervisor gave to other machines';
COMMENT ON COLUMN bench.run_server_intervals.sessions_cpu_ms IS 'CPU time of the processes that execute the clients'' statements; NULL for targets and with reconnect';
COMMENT ON COLUMN bench.run_server_intervals.sessions_run_queue_ms IS 'time that these processes waited for a CPU';
COMMENT ON COLUMN bench.run_server_intervals.workers_cpu_ms IS 'CPU time of the client workers of mode libpq';
COMMENT ON COLUMN bench.run_server_intervals.workers_run_queue_ms IS 'time that the client workers waited for a CPU';
COMMENT ON COLUMN bench.run_server_intervals.coordinator_cpu_ms IS 'CPU time of the coordinator';
COMMENT ON COLUMN bench.run_server_intervals.device_reads IS 'reads of the devices that hold the data directory, WAL and tablespaces';
COMMENT ON COLUMN bench.run_server_intervals.device_read_bytes IS 'bytes read from these devices';
COMMENT ON COLUMN bench.run_server_intervals.device_writes IS 'writes to these devices';
COMMENT ON COLUMN bench.run_server_intervals.device_write_bytes IS 'bytes written to these devices';
COMMENT ON COLUMN bench.run_server_intervals.psi_cpu_some_ms IS 'time in which some task waited for a CPU';
COMMENT ON COLUMN bench.run_server_intervals.psi_io_some_ms IS 'time in which some task waited for a device';
COMMENT ON COLUMN bench.run_server_intervals.psi_io_full_ms IS 'time in which all tasks that were not idle waited for a device';
COMMENT ON COLUMN bench.run_server_intervals.psi_memory_some_ms IS 'time in which some task waited for memory';
COMMENT ON COLUMN bench.run_server_intervals.psi_memory_full_ms IS 'time in which all tasks that were not idle waited for memory';
COMMENT ON COLUMN bench.run_environment.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_environment.machine IS 'machine: server, or client with a target';
COMMENT ON COLUMN bench.run_environment.name IS 'name of the fact; numbers are in the unit that ends it';
COMMENT ON COLUMN bench.run_environment.value IS 'value of the fact';
COMMENT ON COLUMN bench.run_tables.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_tables.relation IS 'OID of the relation';
COMMENT ON COLUMN bench.run_tables.schema_name IS 'schema of the relation';
COMMENT ON COLUMN bench.run_tables.name IS 'name of the relation';
COMMENT ON COLUMN bench.run_tables.kind IS 'kind: table, index, materialized view or TOAST table';
COMMENT ON COLUMN bench.run_tables.of_table IS 'table of an index; of a TOAST table, its table with the schema';
COMMENT ON COLUMN bench.run_tables.known_by IS 'plans, of clients in mode spi, or counters, which other sessions move, too';
COMMENT ON COLUMN bench.run_tables.bytes_before IS 'size of the main fork before the run';
COMMENT ON COLUMN bench.run_tables.bytes_after IS 'size of the main fork after the run';
COMMENT ON COLUMN bench.run_tables.live_rows_before IS 'live rows before the run, estimated by the server';
COMMENT ON COLUMN bench.run_tables.live_rows_after IS 'live rows after the run, estimated by the server';
COMMENT ON COLUMN bench.run_tables.dead_rows_before IS 'dead rows before the run, estimated by the server';
COMMENT ON COLUMN bench.run_tables.dead_rows_after IS 'dead rows after the run, estimated by the server';
COMMENT ON COLUMN bench.run_tables.row_bytes IS 'space of a row on its page, estimated from the statistics of ANALYZE';
COMMENT ON COLUMN bench.run_tables.last_vacuum_before IS 'last VACUUM or autovacuum before the run';
COMMENT ON COLUMN bench.run_tables.last_vacuum_after IS 'last VACUUM or autovacuum when the run had ended';
COMMENT ON COLUMN bench.run_tables.last_analyze_before IS 'last ANALYZE or autoanalyze before the run';
COMMENT ON COLUMN bench.run_tables.last_analyze_after IS 'last ANALYZE or autoanalyze when the run had ended';
COMMENT ON COLUMN bench.run_tables.autovacuums IS 'autovacuums during the run';
COMMENT ON COLUMN bench.run_tables.sequential_scans IS 'sequential scans during the run, of all sessions';
COMMENT ON COLUMN bench.run_tables.index_scans IS 'index scans during the run, of all sessions';
COMMENT ON COLUMN bench.run_tables.rows_inserted IS 'rows inserted during the run, by all sessions';
COMMENT ON COLUMN bench.run_tables.rows_updated IS 'rows updated during the run, by all sessions';
COMMENT ON COLUMN bench.run_tables.rows_hot_updated IS 'HOT updates during the run, by all sessions';
COMMENT ON COLUMN bench.run_tables.rows_deleted IS 'rows deleted during the run, by all sessions';
COMMENT ON COLUMN bench.run_captured_statements.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_captured_statements.statement_no IS 'number of the statement, as in bench.captured_statements';
COMMENT ON COLUMN bench.run_captured_statements.workload IS 'captured workload';
COMMENT ON COLUMN bench.run_captured_statements.query_id IS 'identifier of the statement in pg_stat_statements during the run';
COMMENT ON COLUMN bench.run_captured_statements.calls IS 'calls from the start of the clients on, warm-up included; NULL, as all counts, if they are not known';
COMMENT ON COLUMN bench.run_captured_statements.rows IS 'rows that were returned or changed';
COMMENT ON COLUMN bench.run_captured_statements.total_exec_time_ms IS 'execution time';
COMMENT ON COLUMN bench.run_captured_statements.shared_blks_hit IS 'blocks found in shared buffers';
COMMENT ON COLUMN bench.run_captured_statements.shared_blks_read IS 'blocks read into shared buffers';
COMMENT ON COLUMN bench.run_captured_statements.shared_blks_dirtied IS 'blocks dirtied';
COMMENT ON COLUMN bench.run_captured_statements.shared_blks_written IS 'blocks written';
COMMENT ON COLUMN bench.run_captured_statements.wal_bytes IS 'bytes of WAL';
COMMENT ON COLUMN bench.run_captured_statements.reason IS 'why there are no counts';
COMMENT ON COLUMN bench.run_times.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_times.clients_ms IS 'time of all clients, from the start of the measured time until each ended';
COMMENT ON COLUMN bench.run_times.busy_ms IS 'part of clients_ms within transactions, also failed and unfinished ones, but not of a client whose process was terminated';
COMMENT ON COLUMN bench.run_times.shell_ms IS 'time of successful transactions in \shell and \setshell, without CPU time of clients; NULL if they had none';
COMMENT ON COLUMN bench.run_times.sessions_cpu_ms IS 'CPU time of the processes that executed the statements';
COMMENT ON COLUMN bench.run_times.sessions_run_queue_ms IS 'time that these processes waited for a CPU';
COMMENT ON COLUMN bench.run_times.workers_cpu_ms IS 'CPU time of the client workers of mode libpq';
COMMENT ON COLUMN bench.run_times.workers_run_queue_ms IS 'time that the client workers waited for a CPU';
COMMENT ON COLUMN bench.run_times.coordinator_cpu_ms IS 'CPU time of the coordinator';
COMMENT ON COLUMN bench.run_times.coordinator_run_queue_ms IS 'time that the coordinator waited for a CPU';
COMMENT ON COLUMN bench.run_times.timed_transactions IS 'transactions that were timed part by part; all columns below are about them';
COMMENT ON COLUMN bench.run_times.timed_plan_ms IS 'CPU time of parsing and planning, mode spi';
COMMENT ON COLUMN bench.run_times.timed_executor_ms IS 'CPU time of the executor, mode spi';
COMMENT ON COLUMN bench.run_times.timed_commit_ms IS 'CPU time of commit and abort, mode spi';
COMMENT ON COLUMN bench.run_times.timed_session_ms IS 'CPU time of all else around statements, mode spi';
COMMENT ON COLUMN bench.run_times.timed_harness_ms IS 'CPU time outside of the session, mode spi';
COMMENT ON COLUMN bench.run_times.timed_others_ms IS 'time that answers were there while their worker served other clients, mode libpq';
COMMENT ON COLUMN bench.run_times.timed_run_queue_ms IS 'time that answers were there while their worker was on the run queue, mode libpq';
COMMENT ON COLUMN bench.run_stacks.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_stacks.process IS 'kind of process, as in bench.run_profiles';
COMMENT ON COLUMN bench.run_stacks.stack IS 'functions from the root to the leaf, separated by semicolons';
COMMENT ON COLUMN bench.run_stacks.samples IS 'samples with this stack';
COMMENT ON COLUMN bench.run_profiles.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_profiles.process IS 'kind of process: spi client, client backend, libpq client, parallel worker or io worker';
COMMENT ON COLUMN bench.run_profiles.processes IS 'number of processes of this kind';
COMMENT ON COLUMN bench.run_profiles.sampled IS 'whether stacks were sampled; otherwise only CPU time is known';
COMMENT ON COLUMN bench.run_profiles.cpu_ms IS 'CPU time of these processes; of those not sampled, read five times a second';
COMMENT ON COLUMN bench.run_profiles.samples IS 'samples of the measured time, one for each 5 ms of CPU time';
COMMENT ON COLUMN bench.run_profiles.incomplete IS 'samples without the frames of the root';
COMMENT ON COLUMN bench.run_profiles.lost IS 'samples for which there was no room; cpu_ms includes them';
COMMENT ON COLUMN bench.run_profiles.cost_ms IS 'CPU time of sampling, a part of cpu_ms';
COMMENT ON COLUMN bench.run_waits.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_waits.interval_no IS 'number of the interval, as in bench.run_intervals';
COMMENT ON COLUMN bench.run_waits.class IS 'wait event type, or "not waiting", which does not mean on a CPU';
COMMENT ON COLUMN bench.run_waits.event IS 'wait event; NULL if the session did not wait';
COMMENT ON COLUMN bench.run_waits.script_no IS 'script that the client executed, as in bench.run_statements; NULL between transactions';
COMMENT ON COLUMN bench.run_waits.command_no IS 'position of the command in the script, from 0';
COMMENT ON COLUMN bench.run_waits.query_id IS 'identifier of the statement that the session executed, with compute_query_id';
COMMENT ON COLUMN bench.run_waits.samples IS 'samples with these properties';
COMMENT ON COLUMN bench.run_waits.rounds IS 'times that all sessions were sampled in the interval';
COMMENT ON COLUMN bench.run_waits.lasting IS 'samples in the same wait of the same execution as the sample before';
COMMENT ON COLUMN bench.run_blockers.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_blockers.interval_no IS 'number of the interval, as in bench.run_intervals';
COMMENT ON COLUMN bench.run_blockers.script_no IS 'script of the blocked client, as in bench.run_statements';
COMMENT ON COLUMN bench.run_blockers.command_no IS 'position of its command in the script, from 0';
COMMENT ON COLUMN bench.run_blockers.locktype IS 'type of the lock, as in pg_locks';
COMMENT ON COLUMN bench.run_blockers.mode IS 'mode in which the lock was wanted';
COMMENT ON COLUMN bench.run_blockers.relation IS 'relation of the lock, also of a row that a session waited for, if the server tells it';
COMMENT ON COLUMN bench.run_blockers.blocker IS 'kind of blocker: own client, prepared transaction, a type of process, session if the role may not see it, or other';
COMMENT ON COLUMN bench.run_blockers.blocker_pid IS 'process ID of the blocker';
COMMENT ON COLUMN bench.run_blockers.blocker_role IS 'role of the blocker; of a prepared transaction, its owner';
COMMENT ON COLUMN bench.run_blockers.blocker_application IS 'application_name of the blocker';
COMMENT ON COLUMN bench.run_blockers.blocker_state IS 'state of the blocker, as in pg_stat_activity';
COMMENT ON COLUMN bench.run_blockers.blocker_statement IS 'current or last statement of the blocker; identifier of a prepared transaction';
COMMENT ON COLUMN bench.run_blockers.blocker_script_no IS 'script of a blocker that is an own client';
COMMENT ON COLUMN bench.run_blockers.blocker_command_no IS 'position of its command in the script, from 0';
COMMENT ON COLUMN bench.run_blockers.samples IS 'times that a session was seen so';
COMMENT ON COLUMN bench.run_blockers.rounds IS 'times that blockers were looked for in the interval';
COMMENT ON COLUMN bench.run_stalls.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.run_stalls.stall_no IS 'number of the stall, from 0';
COMMENT ON COLUMN bench.run_stalls.begin_s IS 'start of the stall, in seconds from the start of the run';
COMMENT ON COLUMN bench.run_stalls.length_s IS 'length of the stall in seconds';
COMMENT ON COLUMN bench.run_stalls.clients IS 'clients that were stalled, at most, at the same time';
COMMENT ON COLUMN bench.run_stalls.transactions IS 'transactions that they completed meanwhile';
COMMENT ON COLUMN bench.run_stalls.expected IS 'transactions that they usually complete in that time';
COMMENT ON COLUMN bench.run_stalls.class IS 'most frequent wait event type of their sessions, "not waiting", or "no answer" of a target';
COMMENT ON COLUMN bench.run_stalls.event IS 'wait event; NULL if the sessions did not wait';
COMMENT ON COLUMN bench.run_stalls.locktype IS 'type of the lock that they waited for, as in pg_locks';
COMMENT ON COLUMN bench.run_stalls.mode IS 'mode in which the lock was wanted';
COMMENT ON COLUMN bench.run_stalls.relation IS 'relation of the lock, also of a row that a session waited for, if the server tells it';
COMMENT ON COLUMN bench.run_stalls.blocker IS 'kind of blocker: own client, another role, prepared transaction, or a type of process';
COMMENT ON COLUMN bench.run_stalls.blocker_pid IS 'process ID of the blocker';
COMMENT ON COLUMN bench.run_stalls.blocker_role IS 'role of the blocker; of a prepared transaction, its owner';
COMMENT ON COLUMN bench.run_stalls.blocker_application IS 'application_name of the blocker';
COMMENT ON COLUMN bench.run_stalls.blocker_state IS 'state of the blocker, as in pg_stat_activity';
COMMENT ON COLUMN bench.run_stalls.blocker_statement IS 'current or last statement of the blocker; identifier of a prepared transaction';
COMMENT ON COLUMN bench.run_stalls.blocker_statement_at IS 'time at which that statement began';
COMMENT ON COLUMN bench.run_result.run_id IS 'number of the run; NULL if it is not stored, on a standby';
COMMENT ON COLUMN bench.run_result.state IS 'state: starting, running, finished, canceled, failed or lost';
COMMENT ON COLUMN bench.run_result.mode IS 'execution mode: spi or libpq';
COMMENT ON COLUMN bench.run_result.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.run_result.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.run_result.tps IS 'successful transactions per second';
COMMENT ON COLUMN bench.run_result.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.run_result.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.captured_workloads.owner IS 'role that captured it';
COMMENT ON COLUMN bench.captured_workloads.workload IS 'name of the workload';
COMMENT ON COLUMN bench.captured_workloads.captured_at IS 'time of the capture';
COMMENT ON COLUMN bench.captured_workloads.search_path IS 'search_path with which statements were analyzed';
COMMENT ON COLUMN bench.captured_workloads.seconds IS 'length of the window in seconds';
COMMENT ON COLUMN bench.captured_workloads.commits IS 'commits in the window; NULL if they are not known';
COMMENT ON COLUMN bench.captured_workloads.begins IS 'transaction blocks in the window; NULL if they were not counted';
COMMENT ON COLUMN bench.captured_workloads.total_exec_time_ms IS 'execution time of all top-level statements of the database';
COMMENT ON COLUMN bench.captured_statements.owner IS 'role that captured it';
COMMENT ON COLUMN bench.captured_statements.workload IS 'name of the workload';
COMMENT ON COLUMN bench.captured_statements.statement_no IS 'number of the statement in the workload, from 1';
COMMENT ON COLUMN bench.captured_statements.queryid IS 'number in pg_stat_statements; NULL of statements that were left out together';
COMMENT ON COLUMN bench.captured_statements.query IS 'text in pg_stat_statements, or the number of statements that were left out together';
COMMENT ON COLUMN bench.captured_statements.script IS 'scripts that execute it';
COMMENT ON COLUMN bench.captured_statements.sql IS 'statement as these scripts have it';
COMMENT ON COLUMN bench.captured_statements.status IS 'captured or left out';
COMMENT ON COLUMN bench.captured_statements.reason IS 'why it was left out';
COMMENT ON COLUMN bench.captured_statements.approximate IS 'whether its effort may differ from the original''s: values, types or transactions were guessed';
COMMENT ON COLUMN bench.captured_statements.time_share IS 'share of the execution time of all top-level statements of the database';
COMMENT ON COLUMN bench.captured_statements.calls IS 'calls in the window';
COMMENT ON COLUMN bench.captured_statements.rows IS 'rows that were returned or changed';
COMMENT ON COLUMN bench.captured_statements.total_exec_time_ms IS 'execution time';
COMMENT ON COLUMN bench.captured_statements.shared_blks_hit IS 'blocks found in shared buffers';
COMMENT ON COLUMN bench.captured_statements.shared_blks_read IS 'blocks read into shared buffers';
COMMENT ON COLUMN bench.captured_statements.shared_blks_dirtied IS 'blocks dirtied';
COMMENT ON COLUMN bench.captured_statements.shared_blks_written IS 'blocks written';
COMMENT ON COLUMN bench.captured_statements.wal_bytes IS 'bytes of WAL';
COMMENT ON COLUMN bench.captured_parameters.owner IS 'role that captured it';
COMMENT ON COLUMN bench.captured_parameters.workload IS 'name of the workload';
COMMENT ON COLUMN bench.captured_parameters.statement_no IS 'number of the statement in the workload';
COMMENT ON COLUMN bench.captured_parameters.parameter_no IS 'number of the parameter in the text';
COMMENT ON COLUMN bench.captured_parameters.type IS 'its type';
COMMENT ON COLUMN bench.captured_parameters.column_name IS 'column or expression that it is compared with or stored in';
COMMENT ON COLUMN bench.captured_parameters.role IS 'what it stands for: equality, range, like, insert, update, limit and others';
COMMENT ON COLUMN bench.captured_parameters.source IS 'where its values come from';
COMMENT ON COLUMN bench.captured_parameters.expression IS 'expression of bench.set_parameter';
COMMENT ON COLUMN bench.captured_parameters.reason IS 'why it has no values';
COMMENT ON COLUMN bench.jobs.job_id IS 'number of the job, also of an earlier one with its owner and name';
COMMENT ON COLUMN bench.jobs.owner IS 'role that scheduled the job and runs it';
COMMENT ON COLUMN bench.jobs.job_name IS 'name, unique among the jobs of its owner';
COMMENT ON COLUMN bench.jobs.schedule IS 'when it is due, as pg_cron reads it';
COMMENT ON COLUMN bench.jobs.options IS 'options of a run, or an object of options below compare, sweep, find_capacity or pgio';
COMMENT ON COLUMN bench.jobs.repeats IS 'runs each time';
COMMENT ON COLUMN bench.jobs.confirm IS 'further runs or sets at most, while the night is suspect';
COMMENT ON COLUMN bench.jobs.least_change IS 'least change that counts, as a fraction';
COMMENT ON COLUMN bench.jobs.figures IS 'figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops';
COMMENT ON COLUMN bench.jobs.on_alert IS 'statement that the job''s worker executes for each new alert, with its number as $1';
COMMENT ON COLUMN bench.jobs.scheduled_at IS 'time at which it was scheduled';
COMMENT ON COLUMN bench.job_runs.job_run_id IS 'number of the run of the job';
COMMENT ON COLUMN bench.job_runs.job_id IS 'number of the job';
COMMENT ON COLUMN bench.job_runs.owner IS 'role that the job belongs to';
COMMENT ON COLUMN bench.job_runs.job_name IS 'name of the job';
COMMENT ON COLUMN bench.job_runs.state IS 'state as stored: running, finished, canceled, failed, skipped or lost; bench.job_summary also sees lost ones';
COMMENT ON COLUMN bench.job_runs.started_at IS 'start of the worker';
COMMENT ON COLUMN bench.job_runs.finished_at IS 'end of the last run';
COMMENT ON COLUMN bench.job_runs.run_ids IS 'runs that it made, outside of sets';
COMMENT ON COLUMN bench.job_runs.set_ids IS 'sets that it made';
COMMENT ON COLUMN bench.job_runs.message IS 'error that ended it, or why it was skipped';
COMMENT ON COLUMN bench.sets.set_id IS 'number of the set';
COMMENT ON COLUMN bench.sets.kind IS 'function that made it: compare, sweep or find_capacity';
COMMENT ON COLUMN bench.sets.owner IS 'role that made the set';
COMMENT ON COLUMN bench.sets.database_name IS 'database in which it was called';
COMMENT ON COLUMN bench.sets.label IS 'label of the set and its runs';
COMMENT ON COLUMN bench.sets.options IS 'arguments of the call, with the defaults of all options';
COMMENT ON COLUMN bench.sets.seed IS 'seed from which the order of the runs and their seeds follow';
COMMENT ON COLUMN bench.sets.planned_runs IS 'number of runs; NULL if not known before';
COMMENT ON COLUMN bench.sets.state IS 'state as stored: running, finished, canceled, failed or lost; bench.set_summary also sees lost ones';
COMMENT ON COLUMN bench.sets.started_at IS 'time of the call';
COMMENT ON COLUMN bench.sets.finished_at IS 'end of the set';
COMMENT ON COLUMN bench.sets.error IS 'error that ended the set';
COMMENT ON COLUMN bench.sets.result IS 'findings beside the runs';
COMMENT ON COLUMN bench.sets.value_sets IS 'value sets that its scripts draw from: name, columns that are used, and a digest of their values when it was made; NULL without any';
COMMENT ON COLUMN bench.arm.arm IS 'name of the arm, or point of the grid';
COMMENT ON COLUMN bench.arm.options IS 'options of the arm; of a sweep, those of its grid';
COMMENT ON COLUMN bench.arm.runs IS 'runs that count';
COMMENT ON COLUMN bench.arm.tps IS 'geometric mean of the transactions per second of the runs';
COMMENT ON COLUMN bench.arm.tps_low IS 'lower end of the 95 % interval of tps';
COMMENT ON COLUMN bench.arm.tps_high IS 'upper end of the 95 % interval of tps';
COMMENT ON COLUMN bench.arm.ratio IS 'ratio of tps to the baseline''s in the same rounds; with a rate, of mean latency; NULL for a sweep';
COMMENT ON COLUMN bench.arm.ratio_low IS 'lower end of the 95 % interval of ratio';
COMMENT ON COLUMN bench.arm.ratio_high IS 'upper end of the 95 % interval of ratio';
COMMENT ON COLUMN bench.arm.p_value IS 'probability of such a ratio without a difference; below 0.05 exactly if the interval of the ratio does not contain 1';
COMMENT ON COLUMN bench.arm.verdict IS 'comparison with the baseline in words; of a sweep, why runs are missing';
COMMENT ON COLUMN bench.arm.latency_avg_ms IS 'geometric mean of the mean latencies of the runs';
COMMENT ON COLUMN bench.arm.latency_p50_ms IS 'geometric mean of the medians of the runs';
COMMENT ON COLUMN bench.arm.latency_p50_low_ms IS 'lower end of its 95 % interval';
COMMENT ON COLUMN bench.arm.latency_p50_high_ms IS 'upper end of its 95 % interval';
COMMENT ON COLUMN bench.arm.latency_p95_ms IS 'geometric mean of the 95th percentiles of the runs';
COMMENT ON COLUMN bench.arm.latency_p95_low_ms IS 'lower end of its 95 % interval';
COMMENT ON COLUMN bench.arm.latency_p95_high_ms IS 'upper end of its 95 % interval';
COMMENT ON COLUMN bench.arm.latency_p99_ms IS 'geometric mean of the 99th percentiles of the runs';
COMMENT ON COLUMN bench.arm.latency_p99_low_ms IS 'lower end of its 95 % interval';
COMMENT ON COLUMN bench.arm.latency_p99_high_ms IS 'upper end of its 95 % interval';
COMMENT ON COLUMN bench.arm.scripts_ratio IS 'geometric mean of the ratios of the speed of several scripts or, with a rate, of their latency';
COMMENT ON COLUMN bench.arm.run_ids IS 'runs that count';
COMMENT ON COLUMN bench.arm.missing IS 'runs that do not count';
COMMENT ON COLUMN bench.arm.set_id IS 'number of the set';
COMMENT ON COLUMN bench.sweep_result.arm IS 'point of the grid';
COMMENT ON COLUMN bench.sweep_result.runs IS 'runs that count';
COMMENT ON COLUMN bench.sweep_result.tps IS 'geometric mean of the transactions per second of the runs';
COMMENT ON COLUMN bench.sweep_result.latency_avg_ms IS 'geometric mean of the mean latencies of the runs';
COMMENT ON COLUMN bench.sweep_result.latency_p99_ms IS 'geometric mean of the 99th percentiles of the runs';
COMMENT ON COLUMN bench.sweep_result.verdict IS 'reason why runs are missing';
COMMENT ON COLUMN bench.sweep_result.set_id IS 'number of the set';
COMMENT ON COLUMN bench.alerts.alert_id IS 'number of the alert';
COMMENT ON COLUMN bench.alerts.owner IS 'role that the job belongs to';
COMMENT ON COLUMN bench.alerts.job_name IS 'name of the job';
COMMENT ON COLUMN bench.alerts.job_run_id IS 'run of the job that raised it, in bench.job_runs';
COMMENT ON COLUMN bench.alerts.kind IS 'kind: slower or faster, of a figure, failing, or gap';
COMMENT ON COLUMN bench.alerts.state IS 'state: open, acknowledged, expected or fixed; see bench.acknowledge';
COMMENT ON COLUMN bench.alerts.message IS 'what has happened';
COMMENT ON COLUMN bench.alerts.cause IS 'likely cause of a change, or unknown';
COMMENT ON COLUMN bench.alerts.label IS 'label of the runs that changed';
COMMENT ON COLUMN bench.alerts.series IS 'series of the runs that changed';
COMMENT ON COLUMN bench.alerts.figure IS 'figure that changed';
COMMENT ON COLUMN bench.alerts.ratio IS 'level of the figure after the change, divided by the level before';
COMMENT ON COLUMN bench.alerts.changed_at IS 'start of the first night of the new level';
COMMENT ON COLUMN bench.alerts.runs_before IS 'runs of the level before, at most of 50 nights';
COMMENT ON COLUMN bench.alerts.runs_after IS 'runs of the new level when the alert was raised';
COMMENT ON COLUMN bench.alerts.raised_at IS 'time at which it was raised';
COMMENT ON COLUMN bench.alerts.on_alert_error IS 'error of the statement on_alert of the job';
COMMENT ON COLUMN bench.alerts.state_at IS 'time of the last call of bench.acknowledge';
COMMENT ON COLUMN bench.alerts.comment IS 'comment of bench.acknowledge';
COMMENT ON COLUMN bench.pgio_result.run_id IS 'number of the run; NULL if it is not stored, on a standby';
COMMENT ON COLUMN bench.pgio_result.state IS 'state: starting, running, finished, canceled, failed or lost';
COMMENT ON COLUMN bench.pgio_result.tables IS 'number of tables';
COMMENT ON COLUMN bench.pgio_result.threads_per_table IS 'sessions of each table';
COMMENT ON COLUMN bench.pgio_result.scale IS 'blocks, and so rows and keys, of each table';
COMMENT ON COLUMN bench.pgio_result.update_pct IS 'percentage of loops that update';
COMMENT ON COLUMN bench.pgio_result.work_unit IS 'length of the key range of a loop that reads';
COMMENT ON COLUMN bench.pgio_result.update_work_unit IS 'length of the key range of a loop that updates';
COMMENT ON COLUMN bench.pgio_result.commit_every IS 'loops per transaction';
COMMENT ON COLUMN bench.pgio_result.scan IS 'scan by which rows were looked for: index, bitmap or auto';
COMMENT ON COLUMN bench.pgio_result.working_set_bytes IS 'bytes of all blocks in use';
COMMENT ON COLUMN bench.pgio_result.seconds IS 'measured time in seconds, from the start or the end of the warm-up';
COMMENT ON COLUMN bench.pgio_result.selects IS 'loops that read';
COMMENT ON COLUMN bench.pgio_result.updates IS 'loops that updated';
COMMENT ON COLUMN bench.pgio_result.failed IS 'loops that failed';
COMMENT ON COLUMN bench.pgio_result.riops IS 'blocks read into shared buffers per second, from the operating system''s cache or a device: what pgio calls RIOPS';
COMMENT ON COLUMN bench.pgio_result.cache_hits_per_s IS 'blocks found in shared buffers per second';
COMMENT ON COLUMN bench.pgio_result.logical_reads_per_s IS 'blocks found in shared buffers or read into them per second';
COMMENT ON COLUMN bench.pgio_result.device_reads_per_s IS 'bytes read from a block device per second, in blocks';
COMMENT ON COLUMN bench.pgio_result.device_read_mb_per_s IS 'bytes read from a block device per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_result.device_write_mb_per_s IS 'bytes that the sessions'' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_result.blocks_dirtied_per_s IS 'blocks that became dirty per second';
COMMENT ON COLUMN bench.pgio_result.blocks_written_per_s IS 'blocks that the sessions wrote per second: to make room for others, or by which a table grew';
COMMENT ON COLUMN bench.pgio_result.blocks_evicted_per_s IS 'blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.pgio_result.wal_bytes_per_s IS 'bytes of WAL per second';
COMMENT ON COLUMN bench.pgio_result.wal_bytes_per_update IS 'bytes of WAL per update';
COMMENT ON COLUMN bench.pgio_result.select_avg_ms IS 'mean time of a loop that reads';
COMMENT ON COLUMN bench.pgio_result.select_p99_ms IS '99th percentile of the time of a loop that reads';
COMMENT ON COLUMN bench.pgio_result.select_max_ms IS 'longest time of a loop that reads';
COMMENT ON COLUMN bench.pgio_result.update_avg_ms IS 'mean time of a loop that updates';
COMMENT ON COLUMN bench.pgio_result.update_p99_ms IS '99th percentile of the time of a loop that updates';
COMMENT ON COLUMN bench.pgio_result.update_max_ms IS 'longest time of a loop that updates';
COMMENT ON COLUMN bench.pgio_result.read_avg_ms IS 'mean time of reading a block; NULL unless track_io_timing was on';
COMMENT ON COLUMN bench.pgio_result.read_p50_ms IS 'median time of reading a block';
COMMENT ON COLUMN bench.pgio_result.read_p95_ms IS '95th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_result.read_p99_ms IS '99th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_result.read_max_ms IS 'longest time of reading a block';
COMMENT ON COLUMN bench.compare_result.arm IS 'name of the arm';
COMMENT ON COLUMN bench.compare_result.runs IS 'runs that count';
COMMENT ON COLUMN bench.compare_result.tps IS 'geometric mean of the transactions per second of the runs';
COMMENT ON COLUMN bench.compare_result.ratio IS 'ratio of tps to the baseline''s in the same rounds; with a rate, of mean latency';
COMMENT ON COLUMN bench.compare_result.ratio_low IS 'lower end of the 95 % interval of ratio';
COMMENT ON COLUMN bench.compare_result.ratio_high IS 'upper end of the 95 % interval of ratio';
COMMENT ON COLUMN bench.compare_result.verdict IS 'comparison with the baseline in words';
COMMENT ON COLUMN bench.compare_result.set_id IS 'number of the set; NULL on a standby';
COMMENT ON COLUMN bench.workloads.family IS 'tables, loaded by bench.initialize';
COMMENT ON COLUMN bench.workloads.mix IS 'scripts, executed by bench.run; NULL if the family has functions of its own';
COMMENT ON COLUMN bench.workloads.description IS 'what it does';
COMMENT ON COLUMN bench.workloads.unit IS 'unit of the scale';
COMMENT ON COLUMN bench.workloads.table_bytes IS 'size of the tables for a unit, without what they have whatever the scale is';
COMMENT ON COLUMN bench.workloads.index_bytes IS 'size of the indexes for a unit';
COMMENT ON COLUMN bench.workloads.tables IS 'tables of the family';
COMMENT ON COLUMN bench.workloads.scripts IS 'scripts with their weights, in order: name@weight';
COMMENT ON COLUMN bench.workloads.variables IS 'variables with their defaults and ranges';
COMMENT ON COLUMN bench.workloads.options IS 'defaults of options of bench.run';
COMMENT ON COLUMN bench.workloads.owner IS 'role that defined it, the current one; NULL if the library has it';
COMMENT ON COLUMN bench.run_summary.run_id IS 'number of the run';
COMMENT ON COLUMN bench.run_summary.label IS 'text that identifies the run in queries; at most 1024 bytes';
COMMENT ON COLUMN bench.run_summary.set_id IS 'set that it belongs to, in bench.sets';
COMMENT ON COLUMN bench.run_summary.arm IS 'arm of the set that it belongs to';
COMMENT ON COLUMN bench.run_summary.round IS 'round of the set; of bench.compare, 0 is a warm-up, which does not count';
COMMENT ON COLUMN bench.run_summary.state IS 'state: starting, running, finished, canceled, failed or lost';
COMMENT ON COLUMN bench.run_summary.mode IS 'execution mode: spi or libpq';
COMMENT ON COLUMN bench.run_summary.scripts IS 'names of scripts with weights, such as select-only@9, simple-update';
COMMENT ON COLUMN bench.run_summary.protocol IS 'query protocol: simple, extended or prepared';
COMMENT ON COLUMN bench.run_summary.clients IS 'number of clients, which execute transactions concurrently';
COMMENT ON COLUMN bench.run_summary.jobs IS 'sets of clients in mode libpq, pgbench''s threads';
COMMENT ON COLUMN bench.run_summary.scale IS 'scale of pgbench''s tables; of pgio''s workload, blocks of each table';
COMMENT ON COLUMN bench.run_summary.created_at IS 'time of the call';
COMMENT ON COLUMN bench.run_summary.seconds IS 'measured time in seconds, without the warm-up';
COMMENT ON COLUMN bench.run_summary.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.run_summary.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.run_summary.serialization_failures IS 'transactions given up after a serialization failure, SQLSTATE 40001';
COMMENT ON COLUMN bench.run_summary.deadlock_failures IS 'transactions given up after a deadlock, SQLSTATE 40P01';
COMMENT ON COLUMN bench.run_summary.other_failures IS 'transactions given up after any other error, if a run goes on after errors';
COMMENT ON COLUMN bench.run_summary.retried IS 'transactions, successful or failed, that were tried more than once';
COMMENT ON COLUMN bench.run_summary.retries IS 'tries beyond each transaction''s first';
COMMENT ON COLUMN bench.run_summary.skipped IS 'transactions never started because a rate and a latency limit made them pointless';
COMMENT ON COLUMN bench.run_summary.late IS 'successful transactions above the latency limit';
COMMENT ON COLUMN bench.run_summary.rolled_back IS 'successful transactions that their script rolled back on purpose, as the workload says';
COMMENT ON COLUMN bench.run_summary.tps IS 'successful transactions per second';
COMMENT ON COLUMN bench.run_summary.latency_avg_ms IS 'mean latency';
COMMENT ON COLUMN bench.run_summary.latency_stddev_ms IS 'standard deviation of the latency';
COMMENT ON COLUMN bench.run_summary.latency_min_ms IS 'shortest latency';
COMMENT ON COLUMN bench.run_summary.latency_p50_ms IS 'median latency';
COMMENT ON COLUMN bench.run_summary.latency_p90_ms IS '90th percentile of the latency';
COMMENT ON COLUMN bench.run_summary.latency_p95_ms IS '95th percentile of the latency';
COMMENT ON COLUMN bench.run_summary.latency_p99_ms IS '99th percentile of the latency';
COMMENT ON COLUMN bench.run_summary.latency_p999_ms IS '99.9th percentile of the latency';
COMMENT ON COLUMN bench.run_summary.latency_max_ms IS 'longest latency';
COMMENT ON COLUMN bench.run_summary.lag_avg_ms IS 'mean schedule lag';
COMMENT ON COLUMN bench.run_summary.lag_max_ms IS 'longest schedule lag';
COMMENT ON COLUMN bench.run_summary.sleep_avg_ms IS 'mean time in \sleep, a part of the latency; NULL if no transaction slept';
COMMENT ON COLUMN bench.run_summary.workers IS 'processes that drive the jobs in mode libpq, at most one per job';
COMMENT ON COLUMN bench.run_summary.duration_s IS 'time during which transactions start';
COMMENT ON COLUMN bench.run_summary.transactions_per_client IS 'number of transactions per client after the warm-up, including failed ones';
COMMENT ON COLUMN bench.run_summary.vacuum IS 'tables to vacuum before the run: auto, always, none or all';
COMMENT ON COLUMN bench.run_summary.warmup_s IS 'time at the start of the run that does not count';
COMMENT ON COLUMN bench.run_summary.max_warmup_s IS 'longest warm-up until steady';
COMMENT ON COLUMN bench.run_summary.aggregate_interval_s IS 'length of the intervals in bench.run_intervals, at least 100 ms';
COMMENT ON COLUMN bench.run_summary.seed IS 'random seed: an integer from 0 to 18446744073709551615, time or rand';
COMMENT ON COLUMN bench.run_summary.rate IS 'target rate of all clients together, in transactions per second';
COMMENT ON COLUMN bench.run_summary.latency_limit_ms IS 'latency in milliseconds above which a transaction is late';
COMMENT ON COLUMN bench.run_summary.max_tries IS 'maximum number of tries of a transaction after serialization failures and deadlocks; 0 means no limit and needs a duration or a latency limit';
COMMENT ON COLUMN bench.run_summary.variables IS 'variables for scripts, a JSON object such as {"scale": 10}';
COMMENT ON COLUMN bench.run_summary.reconnect IS 'a new connection for each transaction; mode libpq only';
COMMENT ON COLUMN bench.run_summary.continue_on_error IS 'errors of statements end their transaction, not their client';
COMMENT ON COLUMN bench.run_summary.exit_on_abort IS 'the run stops when a client aborts';
COMMENT ON COLUMN bench.run_summary.per_statement IS 'figures of each command, in bench.run_statements, with percentiles';
COMMENT ON COLUMN bench.run_summary.failures_detailed IS 'the report counts failures by kind';
COMMENT ON COLUMN bench.run_summary.verbose_errors IS 'a notice for each error that does not abort the client';
COMMENT ON COLUMN bench.run_summary.log IS 'a row for each transaction, in bench.transactions';
COMMENT ON COLUMN bench.run_summary.sampling_rate IS 'fraction of the transactions to log, above 0 and at most 1; needs log';
COMMENT ON COLUMN bench.run_summary.log_prefix IS 'path with which the names of log files begin; needs log';
COMMENT ON COLUMN bench.run_summary.target IS 'server to connect to, in mode libpq: a connection string or the name of a foreign server';
COMMENT ON COLUMN bench.run_summary.client_process IS 'processes of clients in mode spi: worker, backend, or auto (workers while there are free slots, then, for superusers, backends)';
COMMENT ON COLUMN bench.run_summary.checkpoint IS 'a checkpoint on the server where the run takes place, after the vacuum and before the first transaction';
COMMENT ON COLUMN bench.run_summary.observe IS 'whether the coordinator observes the server beside the clients';
COMMENT ON COLUMN bench.run_summary.profile IS 'whether the call stacks of the processes that do the work are sampled';
COMMENT ON COLUMN bench.run_summary.wait_sample_rate IS 'samples per second of what the clients'' sessions wait for';
COMMENT ON COLUMN bench.run_summary.connection IS 'way of the connections of mode libpq to this server: socket, tcp or auto';
COMMENT ON COLUMN bench.run_summary.setup IS 'SQL statements that are executed before the run';
COMMENT ON COLUMN bench.run_summary.teardown IS 'SQL statements that are executed after the run, however it ends';
COMMENT ON COLUMN bench.run_summary.verify IS 'whether the conditions of the workload''s rows are checked after the run, as bench.check_workload does, outside of the measured time';
COMMENT ON COLUMN bench.run_summary.undefined_variables IS 'variables that scripts mention and nothing sets: error or pgbench';
COMMENT ON COLUMN bench.run_summary.sql IS 'statements, or a whole script in pgbench''s language, to run instead of scripts: sql => ''SELECT count(*) FROM orders''';
COMMENT ON COLUMN bench.run_summary.load_factor IS 'rate as a multiple of the one at which a captured workload was executed, such as 2';
COMMENT ON COLUMN bench.run_summary.allow_writes IS 'whether a captured workload changes the tables that it was captured on, instead of copies of them';
COMMENT ON COLUMN bench.run_summary.connection_ms IS 'time until all clients were ready; with reconnect, mean time of connecting for a transaction';
COMMENT ON COLUMN bench.run_summary.overhead_us IS 'overhead of clients per transaction: CPU time of client workers (libpq), time outside executor and commit (spi)';
COMMENT ON COLUMN bench.run_summary.overhead_share IS 'overhead of clients as a fraction of the elapsed time of client workers (libpq) or of transactions (spi)';
COMMENT ON COLUMN bench.run_summary.snapshot_held_s IS 'time for which an old snapshot kept the run''s dead rows; NULL if unknown';
COMMENT ON COLUMN bench.run_summary.snapshot_held_by IS 'holder of that snapshot; sessions of other roles only with privileges of pg_read_all_stats';
COMMENT ON COLUMN bench.run_summary.warmup_steady IS 'whether a warm-up until steady became so; false: cut off at max_warmup_s';
COMMENT ON COLUMN bench.run_summary.warmup_transactions IS 'transactions that ended during the warm-up, successful or failed; no other figure has them';
COMMENT ON COLUMN bench.run_summary.aborted_clients IS 'clients that stopped early';
COMMENT ON COLUMN bench.run_summary.owner IS 'role that made the run';
COMMENT ON COLUMN bench.run_summary.database_name IS 'database in which it was called';
COMMENT ON COLUMN bench.run_summary.server_version_num IS 'version of the server as a number';
COMMENT ON COLUMN bench.run_summary.started_at IS 'start of the clients';
COMMENT ON COLUMN bench.run_summary.finished_at IS 'end of the last client';
COMMENT ON COLUMN bench.run_summary.errors IS 'error messages of clients and of the run';
COMMENT ON COLUMN bench.run_summary.notes IS 'observations that were not possible, with reasons';
COMMENT ON COLUMN bench.run_summary.imported_at IS 'time at which it was imported; NULL: a run of this server';
COMMENT ON COLUMN bench.run_summary.imported_from IS 'origin of an imported run, the "source" of its document';
COMMENT ON COLUMN bench.storage.table_name IS 'name of the table';
COMMENT ON COLUMN bench.storage.contents IS 'description of its rows';
COMMENT ON COLUMN bench.storage.rows IS 'number of rows, estimated by the server';
COMMENT ON COLUMN bench.storage.bytes IS 'size with indexes and TOAST table';
COMMENT ON COLUMN bench.storage.index_bytes IS 'size of the indexes';
COMMENT ON COLUMN bench.storage.bytes_per_run IS 'size divided by the number of runs';
COMMENT ON COLUMN bench.storage.prune IS 'statement that deletes rows';
COMMENT ON COLUMN bench.progress.run_id IS 'number of the run';
COMMENT ON COLUMN bench.progress.label IS 'text that identifies the run in queries; at most 1024 bytes';
COMMENT ON COLUMN bench.progress.phase IS 'phase: starting, setup, warming up, running or storing';
COMMENT ON COLUMN bench.progress.done_share IS 'fraction of the warm-up and the duration, or of the number of transactions, that is done';
COMMENT ON COLUMN bench.progress.left_s IS 'seconds left, estimated from the rate so far if the run has a number of transactions; NULL if unknown, as during a warm-up until steady';
COMMENT ON COLUMN bench.progress.tps IS 'successful transactions per second since the end of the warm-up';
COMMENT ON COLUMN bench.progress.latency_avg_ms IS 'mean latency since the end of the warm-up';
COMMENT ON COLUMN bench.progress.interval_tps IS 'successful transactions per second of the interval that ended last; aggregate_interval is its length';
COMMENT ON COLUMN bench.progress.failed IS 'failed transactions of all kinds';
COMMENT ON COLUMN bench.progress.waits_for IS 'most frequent wait of sessions in this interval, besides for their clients, such as Lock:transactionid; NULL if none waited';
COMMENT ON COLUMN bench.progress.waiting_sessions IS 'mean number of sessions that waited for it';
COMMENT ON COLUMN bench.progress.interval_latency_avg_ms IS 'mean latency of this interval';
COMMENT ON COLUMN bench.progress.transactions IS 'successful transactions';
COMMENT ON COLUMN bench.progress.skipped IS 'transactions never started because a rate and a latency limit made them pointless';
COMMENT ON COLUMN bench.progress.seconds IS 'seconds since the clients started, with the warm-up';
COMMENT ON COLUMN bench.schedules.job_name IS 'name, unique among the jobs of its owner';
COMMENT ON COLUMN bench.schedules.schedule IS 'when it is due, as pg_cron reads it';
COMMENT ON COLUMN bench.schedules.active IS 'whether pg_cron runs it; NULL if pg_cron is not in this database, or not for this role';
COMMENT ON COLUMN bench.schedules.overdue IS 'whether it was due since it started or was skipped last, at least a minute ago; NULL if the schedule is not understood';
COMMENT ON COLUMN bench.schedules.started_at IS 'start of its last run';
COMMENT ON COLUMN bench.schedules.run_ids IS 'runs that it made then';
COMMENT ON COLUMN bench.schedules.set_ids IS 'sets that it made then';
COMMENT ON COLUMN bench.schedules.outcome IS 'state of its last run: running, finished, canceled, failed or lost; not scheduled if pg_cron does not have it';
COMMENT ON COLUMN bench.schedules.message IS 'error that ended it';
COMMENT ON COLUMN bench.schedules.cron_jobid IS 'number of the job in pg_cron';
COMMENT ON COLUMN bench.schedules.options IS 'options of a run, or an object of options below compare, sweep, find_capacity or pgio';
COMMENT ON COLUMN bench.schedules.repeats IS 'runs each time';
COMMENT ON COLUMN bench.schedules.confirm IS 'further runs or sets at most, while the night is suspect';
COMMENT ON COLUMN bench.schedules.least_change IS 'least change that counts, as a fraction';
COMMENT ON COLUMN bench.schedules.figures IS 'figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops';
COMMENT ON COLUMN bench.schedules.on_alert IS 'statement that the job''s worker executes for each new alert, with its number as $1';
COMMENT ON COLUMN bench.schedules.owner IS 'role that scheduled the job and runs it';
COMMENT ON COLUMN bench.schedules.scheduled_at IS 'time at which it was scheduled';
COMMENT ON COLUMN bench.job_summary.job_run_id IS 'number of the run of the job';
COMMENT ON COLUMN bench.job_summary.job_name IS 'name of the job';
COMMENT ON COLUMN bench.job_summary.state IS 'state: running, finished, canceled, failed, skipped or lost';
COMMENT ON COLUMN bench.job_summary.started_at IS 'start of the worker';
COMMENT ON COLUMN bench.job_summary.finished_at IS 'end of the last run';
COMMENT ON COLUMN bench.job_summary.run_ids IS 'runs that it made, outside of sets';
COMMENT ON COLUMN bench.job_summary.set_ids IS 'sets that it made';
COMMENT ON COLUMN bench.job_summary.message IS 'error that ended it, or why it was skipped';
COMMENT ON COLUMN bench.job_summary.job_id IS 'number of the job';
COMMENT ON COLUMN bench.job_summary.owner IS 'role that the job belongs to';
COMMENT ON COLUMN bench.set_summary.set_id IS 'number of the set';
COMMENT ON COLUMN bench.set_summary.kind IS 'function that made it: compare, sweep or find_capacity';
COMMENT ON COLUMN bench.set_summary.label IS 'label of the set and its runs';
COMMENT ON COLUMN bench.set_summary.state IS 'state: running, finished, canceled, failed or lost';
COMMENT ON COLUMN bench.set_summary.planned_runs IS 'number of runs; NULL if not known before';
COMMENT ON COLUMN bench.set_summary.finished_runs IS 'runs that finished without aborted clients';
COMMENT ON COLUMN bench.set_summary.other_runs IS 'all other runs of the set';
COMMENT ON COLUMN bench.set_summary.started_at IS 'time of the call';
COMMENT ON COLUMN bench.set_summary.finished_at IS 'end of the set';
COMMENT ON COLUMN bench.set_summary.owner IS 'role that made the set';
COMMENT ON COLUMN bench.set_summary.database_name IS 'database in which it was called';
COMMENT ON COLUMN bench.set_summary.options IS 'arguments of the call, with the defaults of all options';
COMMENT ON COLUMN bench.set_summary.seed IS 'seed from which the order of the runs and their seeds follow';
COMMENT ON COLUMN bench.set_summary.error IS 'error that ended the set';
COMMENT ON COLUMN bench.set_summary.result IS 'findings beside the runs';
COMMENT ON COLUMN bench.pgio_summary.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.pgio_summary.label IS 'text that identifies the run in queries; at most 1024 bytes';
COMMENT ON COLUMN bench.pgio_summary.state IS 'state as stored: starting, running, finished, canceled, failed or lost; after a crash running until the next run begins, see bench.run_summary';
COMMENT ON COLUMN bench.pgio_summary.mode IS 'execution mode: spi or libpq';
COMMENT ON COLUMN bench.pgio_summary.sessions IS 'number of sessions';
COMMENT ON COLUMN bench.pgio_summary.tables IS 'number of tables';
COMMENT ON COLUMN bench.pgio_summary.threads_per_table IS 'sessions of each table';
COMMENT ON COLUMN bench.pgio_summary.scale IS 'blocks, and so rows and keys, of each table';
COMMENT ON COLUMN bench.pgio_summary.update_pct IS 'percentage of loops that update';
COMMENT ON COLUMN bench.pgio_summary.work_unit IS 'length of the key range of a loop that reads';
COMMENT ON COLUMN bench.pgio_summary.update_work_unit IS 'length of the key range of a loop that updates';
COMMENT ON COLUMN bench.pgio_summary.commit_every IS 'loops per transaction';
COMMENT ON COLUMN bench.pgio_summary.working_set_pct IS 'percentage of each table''s keys that was used';
COMMENT ON COLUMN bench.pgio_summary.scan IS 'scan by which rows were looked for: index, bitmap or auto';
COMMENT ON COLUMN bench.pgio_summary.working_set_bytes IS 'bytes of all blocks in use';
COMMENT ON COLUMN bench.pgio_summary.shared_buffers_bytes IS 'bytes of the server''s shared buffers; NULL for a target';
COMMENT ON COLUMN bench.pgio_summary.memory_bytes IS 'bytes of memory that the server''s machine has, or may use; NULL for a target';
COMMENT ON COLUMN bench.pgio_summary.created_at IS 'time of the call';
COMMENT ON COLUMN bench.pgio_summary.seconds IS 'measured time in seconds, from the start or the end of the warm-up';
COMMENT ON COLUMN bench.pgio_summary.selects IS 'loops that read';
COMMENT ON COLUMN bench.pgio_summary.updates IS 'loops that updated';
COMMENT ON COLUMN bench.pgio_summary.failed IS 'loops that failed';
COMMENT ON COLUMN bench.pgio_summary.riops IS 'blocks read into shared buffers per second, from the operating system''s cache or a device: what pgio calls RIOPS';
COMMENT ON COLUMN bench.pgio_summary.cache_hits_per_s IS 'blocks found in shared buffers per second';
COMMENT ON COLUMN bench.pgio_summary.logical_reads_per_s IS 'blocks found in shared buffers or read into them per second';
COMMENT ON COLUMN bench.pgio_summary.device_reads_per_s IS 'bytes read from a block device per second, in blocks';
COMMENT ON COLUMN bench.pgio_summary.device_read_mb_per_s IS 'bytes read from a block device per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_summary.device_write_mb_per_s IS 'bytes that the sessions'' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_summary.blocks_dirtied_per_s IS 'blocks that became dirty per second';
COMMENT ON COLUMN bench.pgio_summary.blocks_written_per_s IS 'blocks that the sessions wrote per second: to make room for others, or by which a table grew';
COMMENT ON COLUMN bench.pgio_summary.blocks_evicted_per_s IS 'blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.pgio_summary.wal_bytes_per_s IS 'bytes of WAL per second';
COMMENT ON COLUMN bench.pgio_summary.wal_bytes_per_update IS 'bytes of WAL per update';
COMMENT ON COLUMN bench.pgio_summary.select_avg_ms IS 'mean time of a loop that reads';
COMMENT ON COLUMN bench.pgio_summary.select_p99_ms IS '99th percentile of the time of a loop that reads';
COMMENT ON COLUMN bench.pgio_summary.select_max_ms IS 'longest time of a loop that reads';
COMMENT ON COLUMN bench.pgio_summary.update_avg_ms IS 'mean time of a loop that updates';
COMMENT ON COLUMN bench.pgio_summary.update_p99_ms IS '99th percentile of the time of a loop that updates';
COMMENT ON COLUMN bench.pgio_summary.update_max_ms IS 'longest time of a loop that updates';
COMMENT ON COLUMN bench.pgio_summary.read_avg_ms IS 'mean time of reading a block; NULL unless track_io_timing was on';
COMMENT ON COLUMN bench.pgio_summary.read_p50_ms IS 'median time of reading a block';
COMMENT ON COLUMN bench.pgio_summary.read_p95_ms IS '95th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_summary.read_p99_ms IS '99th percentile of the time of reading a block';
COMMENT ON COLUMN bench.pgio_summary.read_max_ms IS 'longest time of reading a block';
COMMENT ON COLUMN bench.pgio_summary.owner IS 'role that made the run';
COMMENT ON COLUMN bench.pgio_summary.database_name IS 'database in which it was called';
COMMENT ON COLUMN bench.pgio_summary.target IS 'server to connect to, in mode libpq: a connection string or the name of a foreign server';
COMMENT ON COLUMN bench.pgio_table_summary.run_id IS 'run that it belongs to';
COMMENT ON COLUMN bench.pgio_table_summary.table_no IS 'number of its table, from 1';
COMMENT ON COLUMN bench.pgio_table_summary.sessions IS 'number of sessions';
COMMENT ON COLUMN bench.pgio_table_summary.selects IS 'loops that read';
COMMENT ON COLUMN bench.pgio_table_summary.updates IS 'loops that updated';
COMMENT ON COLUMN bench.pgio_table_summary.failed IS 'loops that failed';
COMMENT ON COLUMN bench.pgio_table_summary.seconds IS 'longest measured time of a session in seconds';
COMMENT ON COLUMN bench.pgio_table_summary.logical_reads_per_s IS 'blocks found in shared buffers or read into them per second';
COMMENT ON COLUMN bench.pgio_table_summary.cache_hits_per_s IS 'blocks found in shared buffers per second';
COMMENT ON COLUMN bench.pgio_table_summary.riops IS 'blocks read into shared buffers per second, from the operating system''s cache or a device: what pgio calls RIOPS';
COMMENT ON COLUMN bench.pgio_table_summary.device_reads_per_s IS 'bytes read from a block device per second, in blocks';
COMMENT ON COLUMN bench.pgio_table_summary.device_read_mb_per_s IS 'bytes read from a block device per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_table_summary.device_write_mb_per_s IS 'bytes that the sessions'' processes passed to the operating system for writing per second, in megabytes of 10^6 bytes';
COMMENT ON COLUMN bench.pgio_table_summary.blocks_dirtied_per_s IS 'blocks that became dirty per second';
COMMENT ON COLUMN bench.pgio_table_summary.blocks_written_per_s IS 'blocks that the sessions wrote per second: to make room for others, or by which a table grew';
COMMENT ON COLUMN bench.pgio_table_summary.blocks_evicted_per_s IS 'blocks that the sessions evicted from shared buffers per second; NULL before PostgreSQL 18';
COMMENT ON COLUMN bench.pgio_table_summary.wal_bytes_per_s IS 'bytes of WAL per second';
COMMENT ON COLUMN bench.pgio_table_summary.select_max_ms IS 'longest time of a loop that read';
COMMENT ON COLUMN bench.pgio_table_summary.select_histogram IS 'times of loops that read, see bench.percentile';
COMMENT ON COLUMN bench.pgio_table_summary.update_max_ms IS 'longest time of a loop that updated';
COMMENT ON COLUMN bench.pgio_table_summary.update_histogram IS 'times of loops that updated, see bench.percentile';
COMMENT ON COLUMN bench.pgio_table_summary.read_histogram IS 'times to read a block; NULL unless track_io_timing was on';
