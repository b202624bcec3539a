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
COMMENT ON PROCEDURE bench.prune IS 'delete old runs beyond a number for each label, and intervals, histograms, stacks and logs of other old runs; commits after each 100';
