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

/* The usage of the calling session since it started; clients of mode libpq query it at start and end.
   Device bytes are NULL if the operating system does not count them, evicted blocks if the server does
   not. */
CREATE TYPE bench.session_usage AS (
    {{attributes Usage}}
);
COMMENT ON TYPE bench.session_usage IS 'result row of bench.session_usage: what a session has used';

CREATE TABLE bench.runs (
    run_id                  bigint PRIMARY KEY,
    owner                   regrole NOT NULL,
    database_name           name NOT NULL, -- database
    set_id                  bigint, -- of bench.sets
    arm                     text, -- arm of the set that it belonged to
    round                   int, -- 0 is a warm-up, which does not count
    state                   text NOT NULL -- how far it has come, or how it ended
        CHECK (state IN ('starting', 'running', 'finished', 'canceled', 'failed', 'lost')),
    -- Options, as they resulted: of a target host, port, dbname and user, never a password; as the connection
    -- of mode libpq to this server socket or tcp; max_warmup_s with a warm-up until steady only.
    {{columns run_options}},
    warmup_steady           boolean, -- false: cut off at max_warmup_s
    backends                int NOT NULL, -- clients of mode spi that ran in backends
    scale                   bigint NOT NULL, -- scale of the tables of initialize; of pgio_runs, blocks of each table
    partition_method        text,
    partitions              int,
    server_version          text NOT NULL,
    server_version_num      int NOT NULL, -- version of the server as a number
    extension_version       text NOT NULL, -- version of the extension that made the run
    created_at              timestamptz NOT NULL, -- when it was called
    started_at              timestamptz, -- start of the measured time or of the warm-up
    finished_at             timestamptz, -- end
    seconds                 float8, -- measured time
    connection_ms           float8, -- time to connect or to start all clients
    harness_us              float8, -- per transaction: CPU time of the client workers (libpq), time outside executor and commit (spi)
    harness_share           float8, -- the same as a fraction of the elapsed time of the client workers
    snapshot_held_s         float8, -- for how long an old snapshot kept the run's dead rows; NULL if unknown
    snapshot_held_by        text, -- sessions of other roles are named only for roles with privileges of pg_read_all_stats
    processors              int, -- CPUs of the server
    other_runs              int NOT NULL, -- in progress on this server at the same time, of all roles
    warmup_transactions     bigint NOT NULL, -- transactions of the warm-up, which count nowhere else
    aborted_clients         int NOT NULL, -- clients that stopped early
    errors                  text[] NOT NULL, -- error messages of clients and of the run
    unmatched               text[] NOT NULL, -- statements that matched or returned no row in any sampled transaction
    notes                   text[] NOT NULL, -- what could not be observed, and why
    teardown_due            boolean NOT NULL DEFAULT false, -- true until the teardown is done; see bench.finish_teardown
    coordinator_pid         int,
    segment                 bigint,
    imported_at             timestamptz, -- NULL: a run of this server
    imported_from           jsonb, -- "source" of the document
    {{columns Figures}}
);
CREATE INDEX ON bench.runs (label, run_id) WHERE label IS NOT NULL;
CREATE INDEX ON bench.runs (set_id) WHERE set_id IS NOT NULL;
CREATE INDEX ON bench.runs (run_id) WHERE state IN ('starting', 'running');
CREATE INDEX ON bench.runs (run_id) WHERE teardown_due;
COMMENT ON TABLE bench.runs IS 'runs, with the figures of all their transactions';

CREATE TABLE bench.run_scripts (
    run_id                  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    script_no               int NOT NULL, -- position of the script in run_scripts
    name                    text NOT NULL,
    description             text NOT NULL,
    body                    text NOT NULL,
    weight                  bigint NOT NULL,
    {{columns Figures}},
    PRIMARY KEY (run_id, script_no)
);
COMMENT ON TABLE bench.run_scripts IS 'scripts of each run, with the figures of their transactions';

CREATE TABLE bench.run_statements (
    run_id            bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    script_no         int NOT NULL, -- position of the script in run_scripts
    command_no        int NOT NULL, -- position of the command in the script
    line              int NOT NULL, -- line of the script
    command           text NOT NULL, -- text of the command
    executions        bigint NOT NULL,
    failures          bigint NOT NULL,
    retries           bigint NOT NULL, -- all retries
    {{columns Latency}},
    histogram         bytea, -- of two significant digits
    PRIMARY KEY (run_id, script_no, command_no)
);
COMMENT ON TABLE bench.run_statements IS 'figures of each command of a run''s scripts, for runs with per_statement';

CREATE TABLE bench.transactions (
    run_id         bigint NOT NULL, -- of bench.runs
    client         int NOT NULL, -- number of the client, from 0
    transaction_no bigint NOT NULL,
    script_no      int NOT NULL, -- position of the script in run_scripts
    outcome        text NOT NULL,
    ended_at       timestamptz NOT NULL,
    latency_ms     float8,
    lag_ms         float8,
    retries        int NOT NULL -- all retries
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
    interval_no             int NOT NULL, -- number of the interval, from 0
    begins_s                float8 NOT NULL, -- from the start of the run
    seconds                 float8 NOT NULL, -- length
    {{columns Figures}},
    blocks_hit              bigint, -- of pgio's workload in mode spi
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
    {{columns PgioRun from seconds}}
);
COMMENT ON TABLE bench.pgio_runs IS 'runs of pgio''s workload, with the figures of all sessions together';

CREATE TABLE bench.pgio_sessions (
    run_id             bigint NOT NULL REFERENCES bench.pgio_runs ON DELETE CASCADE,
    client             int NOT NULL, -- number of the client, from 0
    table_no           int NOT NULL, -- number of the table, from 1
    selects            bigint NOT NULL,
    select_avg_ms      float8,
    select_max_ms      float8,
    select_histogram   bytea, -- latencies of selects
    updates            bigint NOT NULL,
    update_avg_ms      float8,
    update_max_ms      float8,
    update_histogram   bytea, -- latencies of updates
    failed             bigint NOT NULL, -- loops that failed
    seconds            float8 NOT NULL, -- length
    {{attributes Usage}},
    read_histogram     bytea, -- times to read a block
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
