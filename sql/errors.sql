-- Wrong options, wrong tables, wrong transactions: SQLSTATE, detail and hint of
-- each error.  Nothing of it starts a run or changes a table.
SET client_min_messages = error;

CREATE SCHEMA errors;
SET search_path = errors;

\t on
\pset format unaligned

-- bench.run: each option
SELECT public.error_of(format('SELECT bench.run(%s)', o)) FROM unnest(ARRAY[
    'clients => 0', 'clients => -1', 'clients => 2147483647', 'clients => NULL',
    'mode => ''libpq'', jobs => 0', 'mode => ''libpq'', jobs => -1',
    'mode => ''libpq'', jobs => 2147483647',
    'duration => ''0''', 'duration => ''-1 s''', 'duration => ''100 years''',
    'duration => ''1 s'', transactions => 1',
    'transactions => 0', 'transactions => -1', 'transactions => -9223372036854775808',
    'mode => ''direct''', 'mode => ''SPI''', 'mode => ''''', 'mode => NULL',
    'protocol => ''binary''', 'protocol => NULL',
    'vacuum => ''full''', 'vacuum => NULL',
    'warmup => ''-1 s''', 'warmup => ''100 years''', 'max_warmup => ''0''', 'max_warmup => NULL',
    'progress => ''0''', 'progress => ''-1 s''', 'progress => ''1 ms''',
    'aggregate_interval => ''0''', 'aggregate_interval => ''1 ms''', 'aggregate_interval => ''-1 s''',
    'aggregate_interval => NULL',
    'seed => ''''', 'seed => ''-''', 'seed => ''1x''', 'seed => ''18446744073709551616''',
    'scripts => ''''', 'scripts => ''tpcb-like,''', 'scripts => ''""''',
    'scripts => ''"tpcb-like''', 'scripts => ''"tpcb"-like''', 'scripts => ''{tpcb-like}''',
    'scripts => ''{tpcb-like,select-only@2}''', 'scripts => ''{}''', 'scripts => ''"{}"''',
    'scripts => ''no-such-script''', 'scripts => ''tpcb-like,no-such-script''',
    'scripts => ''t@''', 'scripts => ''tpcb-like@''', 'scripts => ''tpcb-like@-1''',
    'scripts => ''tpcb-like@x''', 'scripts => ''tpcb-like@1.5''',
    'scripts => ''tpcb-like@99999999999999999999''', 'scripts => ''tpcb-like@0''',
    'scripts => ''tpcb-like@0,select-only@0''', 'scripts => ''@1''',
    'connection => ''tcp''', 'connection => ''udp''', 'connection => NULL',
    'target => ''dbname=postgres''', 'mode => ''libpq'', target => ''nonsense''',
    'mode => ''libpq'', target => ''host=h password=a secret''',
    'mode => ''libpq'', target => ''postgresql://u:a@secret@h/d'''
]) o;

-- bench.start checks the same, and does not wait
SELECT public.error_of('SELECT bench.start(clients => 0)');
SELECT public.error_of('SELECT bench.start(progress => ''1 s'')');
SELECT public.error_of('SELECT bench.start_pgio(tables => 1, progress => ''1 s'')');
SELECT public.error_of('SELECT bench.start(duration => ''1 s'', transactions => 1)');

-- bench.compare: its own, and those of bench.run
SELECT public.error_of(format('SELECT bench.compare(%s)', o)) FROM unnest(ARRAY[
    'repeats => 0', 'repeats => -1', 'repeats => NULL', 'repeats => 2147483647',
    'arms => ''{}''', 'arms => ''[]''', 'arms => ''[null]''', 'arms => ''[{"mode": "spi"}, {"mode": "direct"}]''',
    'arms => ''[{"client": 1}]''', 'arms => ''[{"basline": true}]''', 'arms => ''[{"name": "a"}, {"name": "a"}]''', 'arms => ''[{"seed": "1"}]''',
    'mode => ''libpq''',
    'clients => 0', 'transactions => 0', 'target => ''dbname=postgres'''
]) o;

-- bench.find_capacity: its own, and those of bench.run
SELECT public.error_of(format('SELECT bench.find_capacity(%s)', o)) FROM unnest(ARRAY[
    'NULL', '0', '-1', '''NaN''', '''Infinity''',
    '10, percentile => 49', '10, percentile => 100', '10, percentile => ''NaN''', '10, percentile => NULL',
    '10, tolerance => 0', '10, tolerance => 2', '10, tolerance => ''NaN''', '10, tolerance => NULL',
    '10, clients => 0', '10, duration => 0', '10, scripts => ''no-such-script''',
    '10, mode => ''libpq'', target => ''host=h password=a'''
]) o;

-- bench.scaling
SELECT public.error_of(format('SELECT bench.scaling(%s)', o)) FROM unnest('{"NULL",0}'::text[]) o;

-- bench.initialize: each option
SELECT public.error_of(format('SELECT bench.initialize(%s)', o)) FROM unnest(ARRAY[
    'scale => 0', 'scale => -1', 'scale => NULL',
    'fillfactor => 9', 'fillfactor => 101', 'fillfactor => -1', 'fillfactor => NULL',
    'partitions => -1', 'partitions => NULL', 'partitions => 2, partition_method => ''list''',
    'partition_method => ''hash''', 'partitions => 2, partition_method => ''''',
    'steps => ''''', 'steps => '' ''', 'steps => ''x''', 'steps => ''dtgx''', 'steps => ''é''',
    'steps => NULL', 'foreign_keys => NULL', 'unlogged => NULL',
    'tablespace => ''no such tablespace''', 'tablespace => ''''', 'tablespace => ''pg_global''',
    'index_tablespace => ''no such tablespace''', 'target => ''nonsense''',
    'workers => 0', 'workers => -1', 'workers => 262144', 'workers => 2, target => ''dbname=postgres'''
]) o;
SELECT to_regclass('pgbench_accounts') AS nothing_was_created;

-- Runs that do not exist
SELECT public.error_of(format(f, v))
  FROM unnest(ARRAY['SELECT bench.wait(%s)', 'SELECT bench.cancel(%s)', 'SELECT bench.report(%s)']) f,
       unnest(ARRAY['0', '-1', '9223372036854775807', 'NULL']) v;

-- Every function that takes numbers of runs or sets, the other arguments with some value
SELECT public.error_of(format('SELECT bench.%I(%s%s)', p.proname,
           CASE WHEN p.proargtypes[0] = 'bench.ids'::regtype THEN '''{-1}''' ELSE '-1' END,
           CASE p.proname WHEN 'chart' THEN ', ''tps''' WHEN 'compare_runs' THEN ', ''{-1}'''
                WHEN 'require' THEN ', ''tps > 1''' WHEN 'require_set' THEN ', ''tps > 1''' ELSE '' END))
  FROM pg_proc p
 WHERE p.pronamespace = 'bench'::regnamespace AND p.proargnames[1] IN ('run_id', 'run_ids', 'set_id', 'set_ids', 'a')
   AND p.proargtypes[0] IN ('bigint'::regtype, 'bench.ids'::regtype)
 ORDER BY p.proname;
SELECT public.error_of(format('SELECT bench.%s', call))
  FROM unnest(ARRAY['report(set_ids => -1)', 'report(1, set_ids => 1)', 'report(label => ''none'')', 'time_budget(set_id => -1)',
                    'time_budget(1, set_id => 1)', 'time_budget()', 'time_budget(0)', 'time_budget(NULL)', 'time_budget(''1,'')', 'time_budget(''{NULL}'')']) call;
SELECT public.error_of('SELECT bench.wait(1, ''-1 s'')');

-- Missing tables
SELECT public.error_of('SELECT bench.run(transactions => 1)');
SELECT public.error_of('SELECT bench.run(scripts => ''select-only'', transactions => 1)');
SELECT public.error_of('SELECT bench.start(transactions => 1)');
SELECT public.error_of('SELECT bench.initialize(steps => ''g'')');
SELECT public.error_of('SELECT bench.initialize(steps => ''v'')');
SELECT public.error_of('SELECT bench.initialize(steps => ''p'')');

-- One table of the four is missing
\o /dev/null
SELECT bench.initialize(steps => 'dtgp');
\o
DROP TABLE pgbench_history;
SELECT public.error_of('SELECT bench.run(transactions => 1)');

-- Tables without rows
\o /dev/null
SELECT bench.initialize(steps => 'dt');
\o
SELECT public.error_of('SELECT bench.run(transactions => 1)');
SELECT public.error_of('SELECT bench.run(scripts => ''select-only'', transactions => 1)');

-- Primary keys exist
\o /dev/null
SELECT bench.initialize();
\o
SELECT public.error_of('SELECT bench.initialize(steps => ''p'')');

-- Locks of the caller's transaction
BEGIN;
SELECT count(*) FROM pgbench_accounts;
SELECT public.error_of('SELECT bench.initialize()');
ROLLBACK;
BEGIN;
LOCK TABLE pgbench_branches;
SELECT public.error_of('SELECT bench.run(transactions => 1)');
SELECT public.error_of('SELECT bench.start(transactions => 1)');
SELECT public.error_of('SELECT bench.initialize()');
ROLLBACK;
BEGIN;
UPDATE pgbench_branches SET bbalance = 0;
SELECT public.error_of('SELECT bench.run(transactions => 1, vacuum => ''none'')');
ROLLBACK;
BEGIN;
SELECT bid FROM pgbench_branches FOR UPDATE;
SELECT public.error_of('SELECT bench.run(transactions => 1, vacuum => ''none'')');
ROLLBACK;
BEGIN;
SELECT count(*) FROM pgbench_history;
SELECT public.error_of('SELECT bench.run(transactions => 1)');
ROLLBACK;

-- Transactions that must not write
BEGIN READ ONLY;
SELECT public.error_of('SELECT bench.run(transactions => 1)');
SELECT public.error_of('SELECT bench.start(transactions => 1)');
SELECT public.error_of('SELECT bench.initialize()');
ROLLBACK;
SET default_transaction_read_only = on;
SELECT public.error_of('SELECT bench.run(transactions => 1)');
SELECT public.error_of('SELECT bench.initialize()');
BEGIN READ WRITE;
SELECT public.error_of('SELECT bench.run(transactions => 1)');
ROLLBACK;
RESET default_transaction_read_only;

-- Tables that are not pgbench's are not dropped, and neither is any other
ALTER TABLE pgbench_history RENAME TO other;
CREATE VIEW pgbench_history AS SELECT * FROM other;
SELECT public.error_of('SELECT bench.initialize()');
DROP VIEW pgbench_history;
CREATE MATERIALIZED VIEW pgbench_history AS SELECT * FROM other;
SELECT public.error_of('SELECT bench.initialize()');
DROP MATERIALIZED VIEW pgbench_history;
CREATE SEQUENCE pgbench_history;
SELECT public.error_of('SELECT bench.initialize()');
DROP SEQUENCE pgbench_history;
CREATE TABLE pgbench_history (mine text);
INSERT INTO pgbench_history VALUES ('precious');
SELECT public.error_of('SELECT bench.initialize()');
SELECT public.error_of('SELECT bench.initialize(steps => ''g'')');
TABLE pgbench_history;
SELECT count(*) FROM pgbench_accounts;
DROP TABLE pgbench_history;
ALTER TABLE other RENAME TO pgbench_history;

-- A table that depends on pgbench's
CREATE TABLE dependent (bid int REFERENCES pgbench_branches);
SELECT public.error_of('SELECT bench.initialize()');
DROP TABLE dependent;
CREATE VIEW dependent AS SELECT * FROM pgbench_accounts;
SELECT public.error_of('SELECT bench.initialize()');
SELECT count(*) FROM dependent;
DROP VIEW dependent;

-- No schema to create tables in
SET search_path = no_such_schema;
SELECT public.error_of('SELECT bench.initialize()');
SET search_path = '';
SELECT public.error_of('SELECT bench.initialize()');
SELECT public.error_of('SELECT bench.run(transactions => 1)');
RESET search_path;

-- No statement has stored a run.
SELECT count(*) FROM bench.runs WHERE state <> 'failed' AND transactions > 0;
DROP SCHEMA errors CASCADE;

-- Options in a document.
SELECT bench.compare('[{"client": 4}]');
SELECT bench.compare('[{"max_trys": null}]');
SELECT bench.compare('[{"quite another thing": 1}]');
SELECT bench.compare('[{"clients": "many"}]');
SELECT bench.compare('[{"clients": 1.5}]');
SELECT bench.compare('[{"clients": 99999999999}]');
SELECT bench.compare('[{"log": 2}]');
SELECT bench.compare('[{"duration": 10}]');
SELECT bench.compare('[{"duration": "soon"}]');
SELECT bench.compare('[{"rate": {}}]');
SELECT bench.compare('[{"vacuum": "some"}]');
