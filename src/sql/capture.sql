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
COMMENT ON FUNCTION bench.capture_workload IS 'make a workload of your statements in pg_stat_statements, or of those of other roles, with values of their tables';

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
COMMENT ON FUNCTION bench.set_parameter IS 'say which values a parameter of a captured statement has, and make the workload again';
