/* Tables of what the coordinator of a run observes beside the clients; none has rows for runs with
   observe => false. */

/* Counters are differences between two readings, which are taken when an interval ends; NULL if one of
   them is not known. They are those of the whole server: a run's own part of them is not known, except
   where a name says so. Processes of the server report statistics at most once a second, and only
   between transactions: "up to 1 s late" is a count that may be in a later row than its cause. */
CREATE TABLE bench.run_server_intervals (
    run_id                         bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    interval_no                    int NOT NULL, -- as in bench.run_intervals
    begins_s                       float8 NOT NULL, -- from the start of the run
    seconds                        float8 NOT NULL, -- length
    wal_bytes                      bigint, -- from the insert position
    wal_records                    bigint, -- up to 1 s late
    wal_fpi                        bigint, -- full-page images
    blocks_hit                     bigint, -- in shared buffers
    blocks_read                    bigint,
    blocks_written                 bigint, -- with those by which files grew
    blocks_hit_by_clients          bigint, -- by the run's clients in mode spi
    blocks_read_by_clients         bigint,
    wal_bytes_by_clients           bigint,
    blocks_hit_by_autovacuum       bigint, -- PostgreSQL 16 and later
    blocks_read_by_autovacuum      bigint,
    blocks_written_by_autovacuum   bigint,
    blocks_written_by_checkpointer bigint,
    blocks_written_by_bgwriter     bigint,
    blocks_written_by_backends     bigint, -- by all other processes; up to 1 s late
    checkpoints_timed              bigint, -- counted at the end of a checkpoint if it does not pause between writes
    checkpoints_requested          bigint, -- also because of max_wal_size
    checkpoint_begun               boolean, -- NULL for targets
    checkpoint_active              boolean, -- at the end of the interval
    checkpoint_ended               boolean,
    checkpoint_phase               text, -- what the checkpointer waited for at the end of the interval; NULL if it was idle or did not wait
    autovacuum_workers             int, -- at the end of the interval
    autovacuum                     text[], -- what they did
    other_sessions                 int, -- active ones that do not belong to the run
    temp_bytes                     bigint, -- up to 1 s late
    deadlocks                      bigint,
    cpu_user_ms                    bigint, -- of all CPUs of this server's machine
    cpu_system_ms                  bigint,
    cpu_idle_ms                    bigint,
    cpu_iowait_ms                  bigint,
    cpu_steal_ms                   bigint,
    sessions_cpu_ms                bigint, -- of the processes that execute the clients' statements; NULL for targets
    sessions_run_queue_ms          bigint, -- for which they waited for a CPU
    workers_cpu_ms                 bigint, -- of the client workers of mode libpq
    workers_run_queue_ms           bigint,
    coordinator_cpu_ms             bigint,
    device_reads                   bigint, -- of the devices that hold the data directory, WAL and tablespaces
    device_read_bytes              bigint,
    device_writes                  bigint,
    device_write_bytes             bigint,
    psi_cpu_some_ms                bigint, -- time in which some task waited for a CPU
    psi_io_some_ms                 bigint,
    psi_io_full_ms                 bigint,
    psi_memory_some_ms             bigint,
    psi_memory_full_ms             bigint,
    PRIMARY KEY (run_id, interval_no)
);
COMMENT ON TABLE bench.run_server_intervals IS 'what the server did in each interval of each run';

/* One row for each fact that is known, as in bench.run_settings: runs compare by name, and other
   versions of the extension may know other facts. Numbers are in the unit that ends their name. */
CREATE TABLE bench.run_environment (
    run_id  bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    machine text NOT NULL CHECK (machine IN ('server', 'client')), -- client: with a target
    name    text NOT NULL,
    value   text NOT NULL,
    PRIMARY KEY (run_id, machine, name)
);
COMMENT ON TABLE bench.run_environment IS 'what each run ran on: facts about the server and its machine';

CREATE TABLE bench.run_tables (
    run_id              bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    relation            bigint NOT NULL, -- its OID
    schema_name         text NOT NULL,
    name                text NOT NULL,
    kind                text NOT NULL, -- table, index, materialized view or TOAST table
    of_table            text, -- of an index, its table; of a TOAST table, its table with the schema
    known_by            text NOT NULL, -- plans of clients in mode spi, or counters, which other sessions move, too
    bytes_before        bigint, -- of the main fork
    bytes_after         bigint,
    live_rows_before    bigint, -- estimates of the server
    live_rows_after     bigint,
    dead_rows_before    bigint,
    dead_rows_after     bigint,
    row_bytes           float8, -- that a row takes on its page, estimated from the statistics of ANALYZE
    last_vacuum_before  timestamptz, -- by VACUUM or autovacuum
    last_vacuum_after   timestamptz,
    last_analyze_before timestamptz,
    last_analyze_after  timestamptz,
    autovacuums         bigint, -- during the run; by all sessions, as all that follow
    sequential_scans    bigint,
    index_scans         bigint,
    rows_inserted       bigint,
    rows_updated        bigint,
    rows_hot_updated    bigint,
    rows_deleted        bigint,
    PRIMARY KEY (run_id, relation)
);
COMMENT ON TABLE bench.run_tables IS 'tables and indexes that each run used: sizes and statistics before and after it';

CREATE TABLE bench.run_times (
    run_id                   bigint PRIMARY KEY REFERENCES bench.runs ON DELETE CASCADE,
    clients_ms               float8 NOT NULL, -- of all clients, from the start of the measured time until each ended
    busy_ms                  float8 NOT NULL, -- of it, from begin to end of all their transactions, also of those that failed or did not end, but not of one whose process was terminated
    shell_ms                 float8, -- in \shell and \setshell of the successful ones, without CPU time of clients; NULL if they had none
    sessions_cpu_ms          float8, -- of the processes that executed the statements
    sessions_run_queue_ms    float8,
    workers_cpu_ms           float8, -- of the client workers of mode libpq
    workers_run_queue_ms     float8,
    coordinator_cpu_ms       float8,
    coordinator_run_queue_ms float8,
    timed_transactions       bigint NOT NULL, -- transactions of which parts were timed; the parts follow
    timed_plan_ms            float8 NOT NULL, -- CPU time of clients of mode spi, to timed_harness_ms
    timed_executor_ms        float8 NOT NULL,
    timed_commit_ms          float8 NOT NULL,
    timed_session_ms         float8 NOT NULL,
    timed_harness_ms         float8 NOT NULL,
    timed_others_ms          float8 NOT NULL, -- mode libpq: answers lay ready while their worker served other clients
    timed_run_queue_ms       float8 NOT NULL  -- and while it was on the run queue
);
COMMENT ON TABLE bench.run_times IS 'times of each run that bench.time_budget divides among its transactions';
