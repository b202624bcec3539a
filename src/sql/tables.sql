/* The result tables. Each role sees its own runs; the owner of the tables and superusers see all.

   Runs and scripts belong to roles, not to names of roles: a renamed role keeps them, a new role with
   a dropped role's name does not get them. pg_dump writes a regrole as a name, or, if the role was
   dropped, as a number. */

CREATE SEQUENCE bench.run_id_seq;

CREATE TABLE bench.scripts (
    name        text NOT NULL,
    description text,
    body        text NOT NULL CHECK (octet_length(body) <= 16777216), -- the limit of a run
    owner       regrole NOT NULL DEFAULT quote_ident(current_user)::regrole,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, name)
);
COMMENT ON TABLE bench.scripts IS 'stored benchmark scripts';

/* The list of figures. Tables, result types and views take their columns from these tables, which
   exist only while the extension is created. crates/model and crates/stats have a field of the same
   name for each; crates/model/tests/columns.rs checks that. */

/* A latency in milliseconds. */
CREATE TABLE bench_internal.latency (
    latency_avg_ms          float8,
    latency_stddev_ms       float8,
    latency_min_ms          float8,
    latency_p50_ms          float8,
    latency_p90_ms          float8,
    latency_p95_ms          float8,
    latency_p99_ms          float8,
    latency_p999_ms         float8,
    latency_max_ms          float8
);

/* Figures of a set of transactions. */
CREATE TABLE bench_internal.figures (
    transactions            bigint NOT NULL, -- successful
    failed                  bigint NOT NULL GENERATED ALWAYS AS
        (serialization_failures + deadlock_failures + other_failures) STORED,
    serialization_failures  bigint NOT NULL,
    deadlock_failures       bigint NOT NULL,
    other_failures          bigint NOT NULL,
    retried                 bigint NOT NULL,
    retries                 bigint NOT NULL,
    skipped                 bigint NOT NULL,
    late                    bigint NOT NULL,
    tps                     float8,
    LIKE bench_internal.latency,
    lag_avg_ms              float8,
    lag_max_ms              float8,
    sleep_avg_ms            float8 -- time in \sleep, which is part of the latency; NULL if no transaction slept
);

/* What it takes to merge the latencies of several rows. */
CREATE TABLE bench_internal.sums (
    latency_sum_ms          float8 NOT NULL,
    latency_sum_squares_ms2 float8 NOT NULL,
    histogram               bytea
);

/* Figures of pgio's workload. */
CREATE TABLE bench_internal.pgio_figures (
    seconds               float8,
    selects               bigint NOT NULL,
    updates               bigint NOT NULL,
    failed                bigint NOT NULL,
    riops                 float8, -- blocks read into shared buffers per second, from the operating system's cache or a device
    cache_hits_per_s      float8,
    logical_reads_per_s   float8, -- the sum of both
    device_reads_per_s    float8, -- bytes read from a block device, in blocks
    device_read_mb_per_s  float8,
    device_write_mb_per_s float8,
    blocks_dirtied_per_s  float8,
    blocks_written_per_s  float8,
    blocks_evicted_per_s  float8, -- PostgreSQL 18 and later
    wal_bytes_per_s       float8,
    wal_bytes_per_update  float8,
    select_avg_ms         float8,
    select_p99_ms         float8,
    select_max_ms         float8,
    update_avg_ms         float8,
    update_p99_ms         float8,
    update_max_ms         float8,
    read_avg_ms           float8, -- time to read a block; with track_io_timing
    read_p50_ms           float8,
    read_p95_ms           float8,
    read_p99_ms           float8,
    read_max_ms           float8
);

/* The usage of the calling session since it started; clients of mode libpq query it at start and end.
   Device bytes are NULL if the operating system does not count them, evicted blocks if the server does
   not. */
CREATE TYPE bench.session_usage AS (
    blocks_hit         bigint,
    blocks_read        bigint,
    blocks_dirtied     bigint,
    blocks_written     bigint,
    blocks_evicted     bigint,
    read_ms            float8,
    write_ms           float8,
    wal_records        bigint,
    wal_fpi            bigint,
    wal_bytes          bigint,
    device_read_bytes  bigint,
    device_write_bytes bigint
);
COMMENT ON TYPE bench.session_usage IS 'result row of bench.usage: what a session has used';

/* The columns of a table or type, for use in a list of columns. */
CREATE FUNCTION bench_internal.columns_of(of regclass, format text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format($2, attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
      FROM pg_attribute
     WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
$$;

/* Creates a function of the library. %s in the declaration stands for its arguments, which are those of
   another function, with their types and defaults. */
CREATE FUNCTION bench_internal.create_function(declaration text, arguments text, symbol text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('CREATE FUNCTION ' || $1 || ' LANGUAGE c VOLATILE PARALLEL UNSAFE AS %L, %L',
                   $2, 'MODULE_PATHNAME', $3);
END
$$;

CREATE TABLE bench.runs (
    run_id                  bigint PRIMARY KEY,
    owner                   regrole NOT NULL,
    database_name           name NOT NULL,
    target                  text, -- host, port, dbname and user, never a password; NULL is this server
    label                   text,
    set_id                  bigint, -- of bench.sets, as the two below
    arm                     text,
    round                   int, -- 0 is a warm-up, which does not count
    state                   text NOT NULL
        CHECK (state IN ('starting', 'running', 'finished', 'canceled', 'failed', 'lost')),
    mode                    text NOT NULL,
    protocol                text NOT NULL,
    scripts                 text[] NOT NULL,
    sql                     text, -- option "sql", instead of names of scripts
    clients                 int NOT NULL,
    jobs                    int NOT NULL,
    workers                 int NOT NULL, -- processes that drove the clients
    backends                int NOT NULL,
    duration_s              float8,
    transactions_per_client bigint,
    warmup_s                float8 NOT NULL,
    max_warmup_s            float8,
    warmup_steady           boolean, -- false: cut off at max_warmup_s
    aggregate_interval_s    float8 NOT NULL,
    wait_sample_rate        float8 NOT NULL,
    rate                    float8,
    latency_limit_ms        float8,
    max_tries               int NOT NULL,
    variables               jsonb NOT NULL,
    undefined_variables     text NOT NULL,
    reconnect               boolean NOT NULL,
    continue_on_error       boolean NOT NULL,
    exit_on_abort           boolean NOT NULL,
    checkpoint              boolean NOT NULL,
    observe                 boolean NOT NULL,
    profile                 boolean NOT NULL,
    per_statement           boolean NOT NULL,
    failures_detailed       boolean NOT NULL,
    verbose_errors          boolean NOT NULL,
    log                     boolean NOT NULL,
    sampling_rate           float8,
    log_prefix              text,
    connection              text, -- to this server in mode libpq: socket or tcp
    client_process          text NOT NULL,
    vacuum                  text NOT NULL,
    setup                   text,
    teardown                text,
    seed                    text NOT NULL,
    scale                   bigint NOT NULL,
    partition_method        text,
    partitions              int,
    server_version          text NOT NULL,
    server_version_num      int NOT NULL,
    extension_version       text NOT NULL,
    created_at              timestamptz NOT NULL,
    started_at              timestamptz,
    finished_at             timestamptz,
    seconds                 float8,
    connection_ms           float8,
    harness_us              float8, -- per transaction: CPU time of the client workers (libpq), time outside executor and commit (spi)
    harness_share           float8, -- the same as a fraction of the elapsed time of the client workers
    snapshot_held_s         float8, -- for how long an old snapshot kept the run's dead rows; NULL if unknown
    snapshot_held_by        text, -- sessions of other roles are named only for roles with privileges of pg_read_all_stats
    processors              int,
    other_runs              int NOT NULL, -- in progress on this server at the same time, of all roles
    warmup_transactions     bigint NOT NULL,
    aborted_clients         int NOT NULL,
    errors                  text[] NOT NULL,
    unmatched               text[] NOT NULL, -- statements that matched or returned no row in any sampled transaction
    notes                   text[] NOT NULL, -- what could not be observed, and why
    teardown_due            boolean NOT NULL DEFAULT false, -- true until the teardown is done; see bench.finish_teardown
    coordinator_pid         int,
    segment                 bigint,
    imported_at             timestamptz, -- NULL: a run of this server
    imported_from           jsonb, -- "source" of the document
    LIKE bench_internal.figures INCLUDING GENERATED,
    LIKE bench_internal.sums
);
CREATE INDEX ON bench.runs (label, run_id) WHERE label IS NOT NULL;
CREATE INDEX ON bench.runs (set_id) WHERE set_id IS NOT NULL;
CREATE INDEX ON bench.runs (run_id) WHERE state IN ('starting', 'running');
CREATE INDEX ON bench.runs (run_id) WHERE teardown_due;
COMMENT ON TABLE bench.runs IS 'runs, with the figures of all their transactions';

CREATE TABLE bench.run_scripts (
    run_id                  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    script_no               int NOT NULL,
    name                    text NOT NULL,
    description             text NOT NULL,
    body                    text NOT NULL,
    weight                  bigint NOT NULL,
    LIKE bench_internal.figures INCLUDING GENERATED,
    LIKE bench_internal.sums,
    PRIMARY KEY (run_id, script_no)
);
COMMENT ON TABLE bench.run_scripts IS 'scripts of each run, with the figures of their transactions';

CREATE TABLE bench.run_statements (
    run_id            bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    script_no         int NOT NULL,
    command_no        int NOT NULL,
    line              int NOT NULL,
    command           text NOT NULL,
    executions        bigint NOT NULL,
    failures          bigint NOT NULL,
    retries           bigint NOT NULL,
    LIKE bench_internal.latency,
    histogram         bytea, -- of two significant digits
    PRIMARY KEY (run_id, script_no, command_no)
);
COMMENT ON TABLE bench.run_statements IS 'figures of each command of a run''s scripts, for runs with per_statement';

CREATE TABLE bench.transactions (
    run_id         bigint NOT NULL, -- of bench.runs
    client         int NOT NULL,
    transaction_no bigint NOT NULL,
    script_no      int NOT NULL,
    outcome        text NOT NULL,
    ended_at       timestamptz NOT NULL,
    latency_ms     float8,
    lag_ms         float8,
    retries        int NOT NULL
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

CREATE TABLE bench.run_intervals (
    run_id                  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    interval_no             int NOT NULL,
    begins_s                float8 NOT NULL,
    seconds                 float8 NOT NULL,
    LIKE bench_internal.figures INCLUDING GENERATED,
    LIKE bench_internal.sums,
    blocks_hit              bigint, -- of pgio's workload in mode spi, as the two below
    blocks_read             bigint,
    wal_bytes               bigint,
    PRIMARY KEY (run_id, interval_no)
);
COMMENT ON TABLE bench.run_intervals IS 'figures of each run over time, from the start or the end of the warm-up';

CREATE TABLE bench.run_settings (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    name    text NOT NULL,
    setting text,
    source  text NOT NULL,
    PRIMARY KEY (run_id, name)
);
COMMENT ON TABLE bench.run_settings IS 'settings of each run: those that differ from their defaults, and some others that affect performance';

CREATE TABLE bench.pgio_runs (
    run_id                bigint PRIMARY KEY REFERENCES bench.runs ON DELETE CASCADE,
    tables                int NOT NULL,
    threads_per_table     int NOT NULL,
    update_pct            int NOT NULL,
    work_unit             int NOT NULL,
    update_work_unit      int NOT NULL,
    commit_every          int NOT NULL,
    working_set_pct       float8 NOT NULL,
    scan                  text NOT NULL,
    scale                 bigint NOT NULL, -- blocks, hence rows and keys, of each table
    block_bytes           int NOT NULL,
    working_set_bytes     bigint NOT NULL,
    shared_buffers_bytes  bigint,
    memory_bytes          bigint,
    LIKE bench_internal.pgio_figures,
    read_histogram        bytea
);
COMMENT ON TABLE bench.pgio_runs IS 'runs of pgio''s workload, with the figures of all sessions together';

CREATE TABLE bench.pgio_sessions (
    run_id             bigint NOT NULL REFERENCES bench.pgio_runs ON DELETE CASCADE,
    client             int NOT NULL,
    table_no           int NOT NULL,
    selects            bigint NOT NULL,
    select_avg_ms      float8,
    select_max_ms      float8,
    select_histogram   bytea,
    updates            bigint NOT NULL,
    update_avg_ms      float8,
    update_max_ms      float8,
    update_histogram   bytea,
    failed             bigint NOT NULL,
    seconds            float8 NOT NULL,
    LIKE bench.session_usage,
    read_histogram     bytea,
    PRIMARY KEY (run_id, client)
);
COMMENT ON TABLE bench.pgio_sessions IS 'sessions of runs of pgio''s workload, with what each has used';

ALTER TABLE bench.runs ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON bench.runs
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.scripts', '');
SELECT pg_catalog.pg_extension_config_dump('bench.runs', '');

CREATE FUNCTION bench_internal.require_run(run_id bigint) RETURNS void
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'require_run_wrapper';
COMMENT ON FUNCTION bench_internal.require_run IS 'fails unless the caller may see the run';
CREATE FUNCTION bench_internal.require_profile(run_id bigint) RETURNS void
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'require_profile_wrapper';
COMMENT ON FUNCTION bench_internal.require_profile IS 'fails unless the caller may see the run, and says if its stacks were not sampled';
