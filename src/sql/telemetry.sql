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
