-- Stored scripts, checking scripts, and invalid options.
CREATE EXTENSION IF NOT EXISTS pg_selfbench;
\set VERBOSITY default

-- The first error of a script, or none.
SELECT * FROM bench.check_script(E'\\set x 1\nselect :x;');
SELECT * FROM bench.check_script(E'select 1;\n\\set x 1 +\n');
SELECT * FROM bench.check_script(E'\\set a 1\n\\gset');
SELECT * FROM bench.check_script(E'\\if 1\n\\else\n\\elif 0\n\\endif');
SELECT * FROM bench.check_script('');
SELECT * FROM bench.check_script(NULL);

-- Statements are parsed, with variables as parameters; the simple protocol inserts their texts anywhere.
SELECT * FROM bench.check_script('SELEC 1;');
SELECT * FROM bench.check_script(E'\\set n 1\n\n-- é\nSELECT :n, ''\\;é'',\n  FROM t WHERE a = :n);\nSELECT 1;\nSELECT (2;');
SELECT * FROM bench.check_script(E'\\set n 1\nSELECT * FROM t_:n;');
SELECT * FROM bench.check_script(E'\\set n 1\nSELECT * FROM t_:n;\nSELECT 1 \\; SELEC 2;', protocol => 'simple');
SELECT * FROM bench.check_script(E'SELECT 1 \\; SELECT 2;');
SELECT * FROM bench.check_script(E'COPY t FROM ''/file'';\nCOPY t FROM STDIN;');
SELECT * FROM bench.check_script('SELECT 1 \; COPY t TO STDOUT;', protocol => 'simple');
SELECT * FROM bench.check_script(E'\\set aid 1\nSELECT :adi,\n to_char(now(), ''HH24:MI'');\n\\sleep :ms ms');
SELECT * FROM bench.check_script(E'\\set aid 1\nSELECT :adi,\n to_char(now(), ''HH24:MI'');\n\\sleep :ms ms', protocol => 'simple');
-- Variables that the run sets are no fault; no hint takes them for others if they are not known.
SELECT * FROM bench.check_script(E'\\set customer random(1, :customers)\nSELECT :customer, :custmers;');
SELECT * FROM bench.check_script(E'\\set customer random(1, :customers)\nSELECT :customer, :custmers;', variables => '{"customers": 10}');
SELECT * FROM bench.check_script('SELECT :a', variables => '{"1a": 10}');
-- What pgbench lacks: random functions, \template, and variables as quoted literals.
SELECT * FROM bench.check_script(E'\\set z random_zipf(1, 10, 0.5)\n\\template t ##-@@\nSELECT :''t'', :z;');
SELECT * FROM bench.check_script(E'\\template t #\nSELECT '':''''t'' AS a,\n :''tt'', :''t'' AS b FROM;');
SELECT * FROM bench.check_script(E'\\template 1a #\n\\template t');
SELECT * FROM bench.check_script(E'\\template 1a #\nSELECT :''t''');
SELECT p AS protocol, line, column_no, message
FROM unnest('{simple,extended,prepared}'::text[]) p, LATERAL bench.check_script(E'SELECT 1;\nSELECT :''x'', ''a'':''x'' FROM', protocol => p);
-- Parameters of the script's own, and names that no variable can have: pgbench parses these, and its clients abort.
SELECT * FROM bench.check_script(
    E'\\set a 1\nSELECT :a, $1, ''é'', $2;\nPREPARE p AS SELECT $1;\nEXPLAIN SELECT $1;\nCALL p((SELECT $3));\nSELECT ''$1'', a$1 FROM t');
SELECT * FROM bench.check_script('SELECT 1; SELECT $1', protocol => 'simple');
SELECT * FROM bench.check_script(E'\\set 1a 1\n\\setshell b-c echo 1\nSELECT 1 \\gset\nSELECT 1 AS a, 2 AS b \\gset 1\nSELECT 1 AS a \\aset x_');
SELECT * FROM bench.check_script('SELECT 1', protocol => 'binary');
SELECT * FROM bench.check_script('SELECT 1', resolve => NULL);
-- Names are looked up on request; nothing is executed, planned or locked.
SELECT count(*) FROM bench.check_script('SELECT a FROM missing; SELECT missing(); CREATE TABLE missing (); ALTER TABLE gone ADD b int;');
SELECT message, severity FROM unnest(ARRAY[
    $$SELECT set_config('search_path', 'x', true)$$, $$SELECT FROM t WHERE pg_catalog.set_config(lower('A'), a, true) > ''$$,
    $$SET "SEARCH_PATH" = x$$, $$SELECT set_config('a.user', 'x', true)$$]) first,
    LATERAL bench.check_script(first || E';\nSELECT * FROM missing', resolve => true) WHERE line = 2;
CREATE TABLE looked_up (a int);
CREATE FUNCTION fails() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RAISE ''executed''; END';
BEGIN;
SELECT * FROM bench.check_script(
    E'\\set b 1\nUPDATE looked_up SET a = :b WHERE fails() = 1;\nSELECT a,\n  c FROM looked_up;\nSELECT missing(:b);\n'
    'EXPLAIN SELECT 1 FROM missing;\nSELECT ''x''::int;\nSELECT :b IS NULL;\n'
    'CREATE TABLE missing (); INSERT INTO missing VALUES (:b); SELEC;\nDROP TABLE looked_up', resolve => true);
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'looked_up'::regclass;
COMMIT;
DROP TABLE looked_up;
DROP FUNCTION fails();

-- Stored scripts can be parsed, and their names cannot mean a built-in script, a file or another role's script.
SELECT bench.define_script('broken', E'select 1;\n  \\sleep 1 week');
SELECT bench.define_script('doubtful', E'SELECT :a;\nSELEC 2;'), bench.define_script('doubtful', E'\\set 1a 1');
SELECT bench.drop_script('doubtful');
SELECT bench.define_script('select-only', 'select 1;');
SELECT bench.define_script('sel', 'select 1;');
SELECT bench.define_script('s', 'select 1;');
SELECT bench.define_script('a@2', 'select 1;');
SELECT bench.define_script('/tmp/x.sql', 'select 1;');
SELECT bench.define_script('x.sql', 'select 1;');
SELECT bench.define_script('', 'select 1;');
SELECT bench.define_script('a,b', 'select 1;');
SELECT bench.define_script('"a"', 'select 1;');
SELECT bench.define_script(' a', 'select 1;');
SELECT bench.define_script('one', NULL);
SELECT bench.drop_script('one');

SELECT bench.define_script('mine', E'select 1 as one \\gset\nselect :one;', 'my script');
SELECT run_id FROM bench.run('mine', transactions => 5) \gset
SELECT state, scripts, transactions, skipped, late, retried, lag_avg_ms FROM bench.runs WHERE run_id = :run_id;
SELECT bench.define_script('mine', 'select 2;');
SELECT name, description, body FROM bench.scripts;
SELECT * FROM bench.run('s', transactions => 1);
SELECT * FROM bench.run('nothing', transactions => 1);
SELECT * FROM bench.run('/nothing', transactions => 1);
-- Lists: spaces, weights, and names in quotes, which are not folded to lower case.
SELECT bench.define_script('Two words', 'select 2;');
SELECT run_id FROM bench.run(E' mine@2 ,"Two words"@0,\n Two words @ 3 ', transactions => 1) \gset
SELECT scripts FROM bench.runs WHERE run_id = :run_id;
SELECT run_id FROM bench.run(current_user::regrole || '."Two words"', transactions => 1) \gset
SELECT scripts FROM bench.runs WHERE run_id = :run_id \gset
SELECT :'scripts' = format('{%s}', to_json(current_user::regrole || '."Two words"')) AS as_written;
SELECT * FROM bench.run('two words', transactions => 1);
SELECT * FROM bench.run('mine, "mine', transactions => 1);
SELECT * FROM bench.run('"/no, such@file"', transactions => 1);
SELECT bench.drop_script('"Two words"');
SELECT bench.drop_script('"mine');
SELECT bench.drop_script('mine');

-- Variables that nothing sets are an error before anything starts; simple leaves texts as they are.
SELECT bench.define_script('misspelt', E'\\set aid random(1, 10)\nSELECT 1\n WHERE 1 = :adi;');
SELECT bench.define_script('two', E'SELECT :one, :tow, :ix;\nSELECT 1 AS one, 2 AS two \\gset p_\nSELECT 1 AS one, 2 AS two \\gset');
SELECT bench.define_script('clock', $$SELECT to_char(now(), 'HH24:MI');$$);
SELECT bench.define_script('unknown', E'SELECT * FROM missing \\gset\nSELECT :a;');
SELECT bench.define_script('sure', E'\\set a :scale + :client_id\nSELECT 1 AS b \\aset p_\nSELECT :a, :p_b, :given, :random_seed;');
SELECT public.error_of(sql) FROM unnest(ARRAY[
    $$SELECT bench.run('misspelt')$$, $$SELECT bench.run('misspelt', mode => 'libpq', protocol => 'extended')$$,
    $$SELECT bench.start('misspelt')$$, $$SELECT bench.compare('[{}, {}]', scripts => 'misspelt')$$,
    $$SELECT bench.sweep('{"clients": [1, 2]}', scripts => 'misspelt')$$, $$SELECT bench.find_capacity(10, scripts => 'misspelt')$$,
    $$SELECT bench.run('two')$$, $$SELECT bench.run('clock')$$, $$SELECT bench.run('sure')$$,
    $$SELECT bench.run('misspelt', undefined_variables => 'null')$$]) sql;
SELECT state, transactions FROM bench.run('misspelt', transactions => 1, undefined_variables => 'pgbench');
SELECT state, transactions FROM bench.run('clock', transactions => 1, protocol => 'simple');
SELECT state, transactions FROM bench.run('sure', transactions => 1, variables => '{"given": 1}');
SELECT undefined_variables FROM bench.run_summary ORDER BY run_id DESC LIMIT 3;
-- The analysis of a statement keeps no lock, and is not decisive where it fails or where tables may differ.
SET client_min_messages = error;
SELECT e FROM public.error_of($$SELECT bench.run('unknown', transactions => 1)$$) e WHERE e ~ 'undefined variable';
RESET client_min_messages;
CREATE TABLE locked AS SELECT 1 AS a;
SELECT bench.define_script('locks', E'SELECT * FROM locked \\gset\nSELECT :a, :b;');
BEGIN;
SELECT public.error_of($$SELECT bench.run('locks')$$);
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'locked'::regclass;
COMMIT;
SELECT state FROM bench.run('locks', transactions => 1, setup => 'ALTER TABLE locked ADD b int DEFAULT 1');
DROP TABLE locked;
SELECT count(bench.drop_script(name)) FROM unnest('{misspelt,two,clock,unknown,sure,locks}'::text[]) name;

-- Variables as quoted literals, in all protocols.
SELECT p AS protocol, state, transactions
FROM unnest('{simple,extended,prepared}'::text[]) p,
     LATERAL bench.run(sql => E'\\template t #@\'s\nSELECT 1 / (length(:''t'') = 4 AND :''v'' = chr(92) || \'\'\'\')::int', mode => 'spi',
                       transactions => 2, protocol => p, variables => jsonb_build_object('v', E'\\\''));
SELECT public.error_of($$SELECT bench.run(sql => E'\\template name @\nSELECT :''nam'', '':''''nam''''''')$$);

-- Variables that no script mentions, once for all runs of a set.
SELECT transactions FROM bench.run(sql => E'\\set b 1\nSELECT :a', transactions => 1, variables => '{"a": 1, "b": 2, "c": 3, "scale": 4}');
SELECT count(*) FROM bench.compare('[{"sql": "SELECT :a"}, {"sql": "SELECT :b"}]', transactions => 1, repeats => 1,
                                   variables => '{"a": 1, "b": 2, "c": 3}');

-- Relations that clients do not find, and runs whose transactions have all failed.
SELECT bench.run(sql => 'SELECT FROM not_there', transactions => 1);
CREATE TEMP TABLE "Only here" ();
SELECT bench.run(sql => 'SELECT FROM "Only here"', transactions => 1);
SELECT transactions, failed FROM bench.run(sql => 'SELECT FROM "Only here"', transactions => 5, continue_on_error => true);
SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1;
DROP TABLE "Only here";

-- Each role has scripts of its own; another role's is named with its owner.
SELECT bench.define_script('admins', 'select 1;'), bench.define_script('shell', E'\\shell true');
SELECT owner || '.admins' AS admins, owner || '.shell' AS shell FROM bench.scripts WHERE name = 'admins' \gset
CREATE ROLE selfbench_user LOGIN;
GRANT USAGE ON SCHEMA bench, bench_internal TO selfbench_user;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bench, bench_internal TO selfbench_user;
SET ROLE selfbench_user;
SELECT bench.drop_script('admins');
\set VERBOSITY sqlstate
SELECT bench.drop_script(:'admins');
\set VERBOSITY default
SELECT * FROM bench.run('admins', transactions => 1);
SELECT bench.define_script('users', 'select 1;');
SELECT state, transactions FROM bench.run(:'admins' || ', users', transactions => 5);
SELECT bench.define_script('admins', 'select 2;');
SELECT state, transactions FROM bench.run('admins', transactions => 5);
-- Programs run as the server's user.
SELECT * FROM bench.run(:'shell', transactions => 1);
RESET ROLE;
GRANT pg_execute_server_program TO selfbench_user;
SET ROLE selfbench_user;
SELECT state, transactions FROM bench.run(:'shell', transactions => 2);
RESET ROLE;
SELECT name, owner::text = current_user AS mine FROM bench.scripts ORDER BY name, mine;
SELECT * FROM bench.run('users', transactions => 1);
SELECT state, transactions FROM bench.run('selfbench_user.users', transactions => 5);
SELECT bench.drop_script('selfbench_user.users'), bench.drop_script('selfbench_user.admins'), bench.drop_script('admins'), bench.drop_script('shell');
DROP OWNED BY selfbench_user;
DROP ROLE selfbench_user;

-- Options.
SELECT * FROM bench.run(rate => 0);
SELECT * FROM bench.run(rate => 'infinity');
SELECT * FROM bench.run(latency_limit => 'nan');
SELECT * FROM bench.run(max_tries => -1);
SELECT * FROM bench.run(max_tries => 0, transactions => 1);
SELECT * FROM bench.run(reconnect => true);
SELECT * FROM bench.run(reconnect => NULL);
SELECT * FROM bench.run(variables => '[1]');
SELECT * FROM bench.run(variables => '{"1a": 1}');
SELECT * FROM bench.run(variables => '{"a": ""}');
SELECT * FROM bench.run(variables => '{"a": {}}');

-- Statements instead of names of scripts.
SELECT run_id FROM bench.run(sql => 'SELECT 1', transactions => 3) \gset
SELECT state, transactions, scripts FROM bench.runs WHERE run_id = :run_id;
SELECT state, transactions, p AS protocol
FROM unnest('{simple,extended,prepared}'::text[]) p,
     LATERAL bench.run(sql => E'\\set a random(1, 9)\nSELECT :a;\nSELECT :a + 1', mode => 'spi', clients => 2, transactions => 5, protocol => p);
SELECT r.sql, s.name, s.description, s.body, s.transactions
FROM bench.runs r JOIN bench.run_scripts s USING (run_id) ORDER BY run_id DESC LIMIT 1;
SELECT line AS report FROM bench.run(sql => E'SELECT\n' || repeat('1 + ', 40) || '1', transactions => 1), bench.report(run_id) line
 WHERE line LIKE 'transaction type%';
SELECT * FROM bench.run('select-only', sql => 'SELECT 1');
SELECT * FROM bench.run(sql => '');
SELECT * FROM bench.run(sql => E'SELECT 1;\n\\set a random(1');
SELECT arm, runs FROM bench.compare('[{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]', repeats => 1, transactions => 5) ORDER BY arm;
SELECT arm, runs FROM bench.sweep('{"sql": ["SELECT 1", "SELECT 2"]}', repeats => 1, transactions => 5) ORDER BY arm;
SELECT arm FROM bench.compare('[{"sql": "SELECT 1"}, {}]', scripts => 'select-only', transactions => 5);

-- Seeds are numbers or texts.
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => 42);
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => '43');
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => 44::smallint);
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => '45'::varchar);
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => 9223372036854775807);
SELECT count(*) FROM bench.run(sql => 'SELECT 1', transactions => 1, seed => 18446744073709551615);
SELECT seed FROM bench.runs ORDER BY run_id DESC LIMIT 6;
SELECT * FROM bench.run(sql => 'SELECT 1', seed => -1);
SELECT * FROM bench.run(sql => 'SELECT 1', seed => 18446744073709551616);
SELECT * FROM bench.run(sql => 'SELECT 1', seed => 0.5);
