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
COMMENT ON FUNCTION bench.top_waits IS 'what the sessions of a run waited for: samples, their share, sessions on average';
