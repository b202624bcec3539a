/* Tables of what the coordinator of a run observes beside the clients; none has rows for runs with
   observe => false. */

CREATE TABLE bench.run_server_intervals (
    run_id      bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    interval_no int NOT NULL, -- as in bench.run_intervals
    begins_s    float8 NOT NULL,
    seconds     float8 NOT NULL,
    wal_bytes   bigint, -- inserted by all sessions
    PRIMARY KEY (run_id, interval_no)
);
COMMENT ON TABLE bench.run_server_intervals IS 'what the server did in each interval of each run';

ALTER TABLE bench.run_server_intervals ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON bench.run_server_intervals
    USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_server_intervals.run_id));

SELECT pg_catalog.pg_extension_config_dump('bench.run_server_intervals', '');
