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
    {{attributes Usage}}
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
    {{columns run_options}},
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
    {{columns Figures}}
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
    {{columns Figures}},
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
    {{columns Latency}},
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
    {{columns Figures}},
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
    {{columns PgioRun from tables}}
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
    {{attributes Usage}},
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
