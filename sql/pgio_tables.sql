-- bench.initialize_pgio: wrong options, names that are taken, and the tables that it
-- makes.
SET client_min_messages = error;

CREATE SCHEMA pgio;
SET search_path = pgio;

\t on
\pset format unaligned

-- Each option
SELECT public.error_of(format('SELECT bench.initialize_pgio(%s)', o)) FROM unnest(ARRAY[
    'tables => 0', 'tables => -1', 'tables => 1025', 'tables => NULL',
    'size => ''''', 'size => '' ''', 'size => ''0''', 'size => ''1''', 'size => ''-2''',
    'size => ''1 block''', 'size => ''MB''', 'size => ''2.5''', 'size => ''15kB''',
    'size => ''1PB''', 'size => ''64MBB''', 'size => ''-1MB''', 'size => ''é''', 'size => ''4294967295''', 'size => ''32TB''',
    'size => ''18446744073709551616''', 'size => ''18446744073709551615GB''', 'size => NULL',
    'unlogged => NULL', 'force => NULL',
    'seed => ''''', 'seed => ''1x''',
    'tablespace => ''no such tablespace''', 'tablespace => ''''',
    'index_tablespace => ''no such tablespace''', 'index_tablespace => ''pg_global''', 'target => ''nonsense''',
    'workers => 0', 'workers => -1', 'workers => 262144', 'workers => 2, target => ''dbname=postgres'''
]) o;

-- No place for tables
SET search_path = no_such_schema;
SELECT public.error_of('SELECT bench.initialize_pgio(size => ''2'')');
SET search_path = pgio;

-- Names that are taken, and nothing is dropped
CREATE TABLE pgio1 (mykey bigint, scratch bigint, filler char(1024));
CREATE VIEW pgio2 AS SELECT 1 AS mykey;
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP VIEW pgio2;
CREATE MATERIALIZED VIEW pgio2 AS SELECT 1 AS mykey;
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP MATERIALIZED VIEW pgio2;
CREATE TABLE pgio2 (mykey bigint, scratch bigint, filler char(1024)) PARTITION BY RANGE (mykey);
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP TABLE pgio2;
CREATE TABLE pgio2 (mykey bigint, scratch bigint, filler text);
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP TABLE pgio2;
CREATE TABLE pgio2 (mykey int, scratch bigint, filler char(1024));
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP TABLE pgio2;
CREATE SEQUENCE pgio2;
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP SEQUENCE pgio2;
CREATE DOMAIN pgio2 AS int;
SELECT public.error_of('SELECT bench.initialize_pgio(2, ''2'')');
DROP DOMAIN pgio2;
-- Nor while another object depends on an old table
CREATE VIEW needs AS SELECT * FROM pgio1;
SELECT public.error_of('SELECT bench.initialize_pgio(size => ''2'')');
DROP VIEW needs;
SELECT count(*) AS "the old one" FROM pg_class WHERE oid = 'pgio1'::regclass AND reloptions IS NULL;

-- A lock of the caller that its loader would wait for
BEGIN;
LOCK pgio1 IN ACCESS SHARE MODE;
SELECT public.error_of('SELECT bench.initialize_pgio(size => ''2'')');
ROLLBACK;
BEGIN READ ONLY;
SELECT public.error_of('SELECT bench.initialize_pgio(size => ''2'')');
ROLLBACK;

-- Other tables are not dropped if their names are not needed; old pgio tables are dropped,
-- with any number
CREATE TABLE pgio6 (mykey bigint, scratch bigint, filler char(1024));
CREATE TABLE pgio40 (mykey bigint, scratch bigint, filler char(1024));
CREATE TABLE pgio7 (mykey bigint);
CREATE TABLE pgio01 (mykey bigint, scratch bigint, filler char(1024));
CREATE TABLE pgiox (mykey bigint, scratch bigint, filler char(1024));
CREATE VIEW pgio8 AS SELECT 1 AS mykey;
CREATE TABLE pgbench_accounts (aid int);

\t off
\pset format aligned
SELECT step FROM bench.initialize_pgio(tables => 3, size => '200') WHERE seconds >= 0;
SELECT relname, relkind, reloptions, relpages FROM pg_class
 WHERE relnamespace = 'pgio'::regnamespace AND relkind IN ('r', 'i', 'v') ORDER BY relname COLLATE "C";
\d pgio1

-- One row in each block, and each key once
SELECT tableoid::regclass AS "table", count(*) AS rows, count(DISTINCT mykey) AS keys,
       min(mykey), max(mykey),
       count(DISTINCT (ctid::text::point)[0]) AS blocks, max((ctid::text::point)[1]) AS most_in_a_block,
       pg_relation_size(tableoid) / current_setting('block_size')::int AS size,
       sum(scratch) AS scratch, min(octet_length(filler)) AS filler
  FROM (SELECT tableoid, ctid, * FROM pgio1 UNION ALL SELECT tableoid, ctid, * FROM pgio2
        UNION ALL SELECT tableoid, ctid, * FROM pgio3) t
 GROUP BY tableoid ORDER BY 1;

-- In another order for each table
SELECT bool_and(abs(correlation) < 0.5) AS random FROM pg_stats
 WHERE schemaname = 'pgio' AND tablename IN ('pgio1', 'pgio2', 'pgio3') AND attname = 'mykey';
SELECT count(*) < 20 AS different FROM pgio1 JOIN pgio2 ON pgio1.ctid = pgio2.ctid
 WHERE pgio1.mykey = pgio2.mykey;

-- The same seed, the same order
CREATE TABLE first AS SELECT ctid AS place, mykey FROM pgio1;
SELECT count(*) FROM bench.initialize_pgio(size => '200', seed => '42');
CREATE TABLE second AS SELECT ctid AS place, mykey FROM pgio1;
SELECT count(*) FROM bench.initialize_pgio(tables => 2, size => '200', seed => '42');
SELECT count(*) FROM pgio1 JOIN second ON place = pgio1.ctid WHERE pgio1.mykey = second.mykey;
SELECT count(*) < 20 AS different FROM first JOIN second USING (place) WHERE first.mykey = second.mykey;

-- Sizes
CREATE FUNCTION pg_temp.blocks_of(size text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM bench.initialize_pgio(size => size);
    RETURN (SELECT relpages FROM pg_class
             WHERE relnamespace = 'pgio'::regnamespace AND relname = 'pgio1');
END $$;
SELECT s AS size, pg_temp.blocks_of(s) AS blocks
  FROM unnest(ARRAY['2', ' 3 ', '16kB', '63kB', '1MB', '1 mb', '1M', '2m', '0.5MB', '20000 bytes']) s;
SELECT relname FROM pg_class
 WHERE relnamespace = 'pgio'::regnamespace AND relkind IN ('r', 'v') ORDER BY relname COLLATE "C";

-- Neither initialization drops the tables of the other
DROP TABLE pgbench_accounts;
SELECT count(*) FROM bench.initialize();
SELECT count(*) FROM bench.initialize_pgio(size => '2');
SELECT count(*) FROM pgio1;
SELECT count(*) FROM pgbench_accounts;

DROP SCHEMA pgio CASCADE;
