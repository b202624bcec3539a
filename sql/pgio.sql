-- pgio's workload: its options, errors about its tables, and runs of a fixed
-- number of loops.
SET client_min_messages = error;
CREATE SCHEMA pgio;
SET search_path = pgio;

\t on
\pset format unaligned

-- Without tables.
SELECT public.error_of('SELECT bench.run_pgio()');
SELECT public.error_of('SELECT bench.start_pgio(tables => 1)');

\t off
\pset format aligned
CREATE TABLE pgio1 (mykey bigint, scratch bigint, filler char(1024)) WITH (fillfactor = 10);
INSERT INTO pgio1 SELECT k, 0, repeat('X', 1024) FROM generate_series(1, 50) k ORDER BY random();
CREATE INDEX ON pgio1 (mykey);
CREATE TABLE pgio2 (LIKE pgio1) WITH (fillfactor = 10);
INSERT INTO pgio2 TABLE pgio1;
CREATE INDEX ON pgio2 (mykey);
CREATE TABLE pgio4 (LIKE pgio1);
VACUUM ANALYZE pgio1, pgio2;
\t on
\pset format unaligned

-- Each option
SELECT public.error_of(format('SELECT bench.run_pgio(%s)', o)) FROM unnest(ARRAY[
    'tables => 0', 'tables => -1', 'tables => 1025', 'tables => 3', 'tables => 4',
    'threads_per_table => 0', 'threads_per_table => NULL', 'threads_per_table => 10001',
    'tables => 1000, threads_per_table => 263',
    'update_pct => -1', 'update_pct => 101', 'update_pct => NULL',
    'work_unit => -1', 'work_unit => 1000000001', 'work_unit => NULL', 'work_unit => 50',
    'update_work_unit => -1', 'update_work_unit => NULL',
    'update_pct => 100, update_work_unit => 50',
    'commit_every => 0', 'commit_every => NULL',
    'working_set_pct => 0', 'working_set_pct => -1', 'working_set_pct => 100.5',
    'working_set_pct => ''NaN''', 'working_set_pct => NULL', 'working_set_pct => 20, work_unit => 10',
    'scan => ''seq''', 'scan => NULL',
    'duration => ''0''', 'duration => ''1 s'', transactions => 1', 'transactions => 0',
    'mode => ''direct''', 'mode => ''libpq'', client_process => ''worker''',
    'protocol => ''binary''', 'rate => 0', 'seed => ''x''', 'aggregate_interval => ''0''',
    'tables => 1, target => ''dbname=postgres''', 'mode => ''libpq'', target => ''dbname=postgres'''
]) o;

-- start_pgio checks the same.
SELECT public.error_of('SELECT bench.start_pgio(update_pct => 101)');
SELECT public.error_of('SELECT bench.start_pgio(scan => ''seq'')');

-- Locks of the caller's transaction
BEGIN;
UPDATE pgio2 SET scratch = 0 WHERE mykey = 1;
SELECT public.error_of('SELECT bench.run_pgio(update_pct => 1)');
ROLLBACK;

\t off
\pset format aligned

-- Every loop counts, and every update is there.
SELECT state, tables, threads_per_table, scale, selects + updates AS loops, failed,
       working_set_bytes = 2 * 50 * current_setting('block_size')::int AS working_set,
       seconds > 0 AS seconds, logical_reads_per_s = riops + cache_hits_per_s AS logical_reads
  FROM bench.run_pgio(threads_per_table => 2, transactions => 25, update_pct => 40,
                      work_unit => 9, update_work_unit => 3, label => 'regress');
SELECT p.updates * 4 = (SELECT sum(scratch) FROM (TABLE pgio1 UNION ALL TABLE pgio2) t) AS all_updates,
       p.updates > 0 AS updates, p.selects > 0 AS selects, r.transactions, r.mode, r.protocol,
       (SELECT string_agg(name || ' ' || weight, ', ' ORDER BY script_no)
          FROM bench.run_scripts s WHERE s.run_id = r.run_id) AS scripts
  FROM bench.pgio_runs p JOIN bench.runs r USING (run_id) WHERE r.label = 'regress';
SELECT client, table_no, selects + updates AS loops, s.failed,
       bench.histogram_count(select_histogram) = selects AS select_histogram,
       bench.histogram_count(update_histogram) = updates AS update_histogram
  FROM bench.pgio_sessions s JOIN bench.runs USING (run_id) WHERE label = 'regress' ORDER BY client;
SELECT table_no, sessions, t.selects + t.updates AS loops
  FROM bench.pgio_table_summary t JOIN bench.runs USING (run_id) WHERE label = 'regress' ORDER BY table_no;

-- Scripts that cannot be chosen are left out.
SELECT update_pct, tables, selects, updates, update_avg_ms IS NULL AS no_updates, select_avg_ms IS NULL AS no_selects
  FROM unnest(ARRAY[0, 100]) pct,
       LATERAL bench.run_pgio(tables => 1, transactions => 5, update_pct => pct, work_unit => 0, commit_every => 2);

-- The usage of a session only grows.
SELECT blocks_hit > 0 AS blocks_hit, blocks_read >= 0 AS blocks_read, wal_bytes >= 0 AS wal_bytes FROM bench.session_usage();

DROP SCHEMA pgio CASCADE;
