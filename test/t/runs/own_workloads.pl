# Workloads that roles define: their texts are checked when they are stored, they are used as those of the
# library, by their owner alone, and a load that fails leaves nothing that looks loaded.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('own_workloads', "max_worker_processes = 16");

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql",
		extra_params => [ '-U', $role ]);
	return wantarray ? ($stdout, $stderr) : $stdout . $stderr;
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
my $sql = sub { as($super, $_[0]) };
$sql->(<<'SQL');
CREATE ROLE runner LOGIN;
CREATE ROLE other LOGIN;
CREATE SCHEMA AUTHORIZATION runner;
CREATE SCHEMA AUTHORIZATION other;
SELECT bench.grant_to(role) FROM unnest('{runner,other}'::regrole[]) role;
-- The texts of a workload with a table, in parts that can be replaced.
CREATE TABLE public.texts (name text PRIMARY KEY, value text);
INSERT INTO texts VALUES
('name', 'mine'),
('manifest', '{"description": "d", "unit": "100 rows", "max_scale": 10, "size": {"table_mb": 0.01, "index_mb": 0.01},
  "variables": [{"name": "rows", "description": "rows", "default": "100 * :scale", "min": 1, "max": 100000}],
  "mixes": [{"name": "mine", "description": "add", "scripts": [{"name": "add", "weight": 2}, {"name": "read", "weight": 1}],
             "options": {"max_tries": 5}}]}'),
('schema', 'CREATE TABLE mine (id bigint NOT NULL, n bigint NOT NULL);
            CREATE FUNCTION mine_next(bigint) RETURNS bigint LANGUAGE sql AS ''SELECT $1 + 1''; -- the end'),
('load', E'-- mine: (:rows + 49) / 50 parts of 50 rows\nSELECT id, 0 FROM generate_series($1 * 50 + 1, least($1 * 50 + 50, ($4->>''rows'')::bigint)) id -- the end'),
('finish', 'ALTER TABLE mine ADD PRIMARY KEY (id); -- the end'),
('checks', E'-- ids: ids are from 1 on\nSELECT * FROM mine WHERE id < 1 -- the end\n-- zero (after load only): n is 0\nSELECT * FROM mine WHERE n <> 0;'),
('scripts', '{"add": "\\set id random(1, :rows)\nUPDATE mine SET n = mine_next(n) WHERE id = :id;",
              "read": "\\set id random(1, :rows)\nSELECT n FROM mine WHERE id = :id;"}');
GRANT SELECT ON texts TO PUBLIC;
-- Defines the workload, with one text replaced.
CREATE FUNCTION define(replaced text DEFAULT NULL, by text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v jsonb := (SELECT jsonb_object_agg(name, value) FROM public.texts) || CASE WHEN replaced IS NULL THEN '{}' ELSE jsonb_build_object(replaced, by) END;
BEGIN
	PERFORM bench.define_workload(v->>'name', manifest => (v->>'manifest')::jsonb, schema => v->>'schema', load => v->>'load',
		finish => v->>'finish', checks => v->>'checks', scripts => (v->>'scripts')::jsonb);
END $$;
-- The manifest with a value at a path.
CREATE FUNCTION with_value(path text, value jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT jsonb_set(t.value::jsonb, path::text[], with_value.value)::text FROM texts t WHERE name = 'manifest' $$;
SQL

# Used as one of the library.
is(as('runner', 'SELECT define()'), '', 'defined');
is( as('runner', 'SELECT family, mix, unit, tables, scripts, owner FROM bench.workloads WHERE owner IS NOT NULL'),
	'mine|mine|100 rows|{mine}|{add@2,read@1}|runner', 'listed');
like(as('runner', "SELECT * FROM bench.check_workload('mine')"), qr/ERROR:  42P01: relation "mine" does not exist/, 'not loaded');
like(as('runner', "SELECT bench.run('mine', transactions => 1)"), qr/ERROR:  42P01: .*\nHINT:.*bench\.initialize\('mine'\)/s, 'no run before it is loaded');
is(as('runner', "SELECT count(*) FROM bench.initialize('mine', scale => 2, seed => 1)"), 5, 'loaded');
is(as('runner', 'SELECT count(*), min(id), max(id) FROM mine'), '200|1|200', 'its rows');
is(as('runner', "SELECT string_agg(condition || ' ' || holds, ', ') FROM bench.check_workload('mine')"), 'ids true, zero true', 'its conditions');
is( as('runner', "SELECT state, transactions FROM bench.run('mine', clients => 2, transactions => 50)"), 'finished|100', 'run');
is(as('runner', q{SELECT scripts, max_tries, scale, variables FROM bench.runs}), '{mine:add@2,mine:read}|5|2|{"rows": "200"}', 'its options');
is(as('runner', "SELECT string_agg(condition || ' ' || coalesce(holds::text, 'NULL'), ', ') FROM bench.check_workload('mine')"), 'ids true, zero NULL', 'a condition of the load');
is(as('runner', "SELECT bench.run('mine:add', transactions => 2)") =~ /ERROR/, '', 'one script of it');
is(as('runner', "SELECT defines FROM bench.workload_script('mine', 'read')"), '-D rows=200 -D scale=2', 'workload_script');
is(as('runner', q{SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b", "protocol": "simple"}]', scripts => 'mine', repeats => 1, transactions => 5)}), 2, 'compare');
is(as('runner', q{SELECT count(*) FROM bench.sweep('{"clients": [1, 2]}', scripts => 'mine', repeats => 1, transactions => 5)}), 2, 'sweep');
# What is drawn once for a run is the same in all runs of a set, and follows from its seed.
as($super, q{CREATE TABLE kept AS SELECT manifest, scripts FROM bench.workload_definitions WHERE name = 'mine';
	UPDATE bench.workload_definitions SET manifest = manifest || '{"run_constants": [{"name": "drawn", "value": "random(1, 1000000000)"}]}',
		scripts = scripts || jsonb_build_object('read', scripts->>'read' || ' SELECT :drawn;') WHERE name = 'mine'});
my $searched = as('runner', "SELECT set_id FROM bench.find_capacity(1000, scripts => 'mine', duration => '200 ms', tolerance => 1)");
my $seed = as('runner', "SELECT seed FROM bench.sets WHERE set_id = $searched");
as('runner', "SELECT bench.run('mine', transactions => 1, seed => '$seed', label => 'with the seed')");
is(as('runner', "SELECT count(*) > 1, count(DISTINCT variables->>'drawn') FROM bench.runs WHERE set_id = $searched OR label = 'with the seed'"), 't|1', 'find_capacity');
as($super, q{UPDATE bench.workload_definitions SET (manifest, scripts) = (SELECT manifest, scripts FROM kept) WHERE name = 'mine'; DROP TABLE kept});
like(as('runner', "SELECT bench.run('min')"), qr/HINT:  Perhaps you meant "mine"/, 'a misspelt one');

# Replaced; the tables stay until the next load.
is(as('runner', q{SELECT define('scripts', '{"add": "SELECT 1;", "read": "SELECT 2;"}'); SELECT body FROM bench.workload_script('mine', 'add')}), "\nSELECT 1;", 'replaced');
is(as('runner', 'SELECT define()'), '', 'and back');

# Nobody else sees or uses it, not even a superuser, who may drop it.
foreach my $role ('other', $super)
{
	like(as($role, 'SELECT bench.initialize(\'mine\')'), qr/ERROR:  42704: workload "mine" does not exist/, "$role cannot load it");
	like(as($role, "SELECT bench.run('mine')"), qr/ERROR:  42704: script "mine" does not exist/, "$role cannot run it");
	is(as($role, 'SELECT count(*) FROM bench.workloads WHERE owner IS NOT NULL'), 0, "$role does not see it");
	like(as($role, "SELECT bench.drop_workload('mine')"), qr/ERROR:  42704: workload "mine" does not exist/, "$role has none of that name");
}
is(as('other', 'SELECT count(*) FROM bench.workload_definitions'), 0, 'nor its row');
is(as($super, 'SELECT count(*) FROM bench.workload_definitions'), 1, 'a superuser sees rows');
like(as('other', "SELECT bench.drop_workload('runner.mine')"), qr/ERROR:  42501: permission denied.*\nHINT:  Only its owner/, 'another role cannot drop it');
is(as('other', "SELECT define(); SELECT bench.drop_workload('mine')"), "\n", 'another role may have one of that name');
is(as($super, "SELECT define(); SELECT bench.drop_workload('mine'); SELECT bench.drop_workload('runner.mine')"), "\n\n", 'a superuser drops it');
is(as('runner', 'SELECT count(*) FROM bench.workload_definitions; SELECT define();'), "0\n", 'it is gone');

# Names that are taken.
like(as('runner', "SELECT bench.define_script('$_', 'SELECT 1;')"), qr/ERROR:  22023: .*script name/, "no script \"$_\"") foreach qw(mine tpcc sysbench mine:add);
is(as('runner', "SELECT bench.drop_workload('mine'); SELECT bench.define_script('mine', 'SELECT 1;')"), "\n", 'a script of that name');
like(as('runner', 'SELECT define()'), qr/ERROR:  22023: .*you have stored a script with the name "mine"/, 'no workload then');
$sql->("INSERT INTO bench.scripts (name, body, owner) VALUES ('tpcc', 'SELECT 1;', 'runner')");
like(as('runner', "SELECT bench.run('tpcc')"), qr/ERROR:  22023: script "tpcc" is ambiguous/, 'a script and a mix of one name');
is(as('runner', "SELECT transactions FROM bench.run('runner.tpcc', transactions => 2)"), 2, 'the script by its owner');
as('runner', "SELECT bench.drop_script('mine'), bench.drop_script('tpcc'), define()");

# What define_workload refuses: a text, its replacement, the error.
my $value = sub { my ($path, $json) = @_; return "with_value('$path', '$json')" };
my @refused;
foreach my $name ('a:b', 'a@2', 'a,b', 'a.b', 'a/b', '', 'a b', q{a''b}, 'a"b', "a\\b", 'x' x 64)
{
	push @refused, [ name => "'$name'", qr/22023: .*invalid name of a workload/ ];
	push @refused, [ manifest => $value->('{mixes,0,name}', '"' . ($name =~ s/(["\\])/\\$1/gr) . '"'), qr/22023: .*invalid name of a mix/ ];
}
push @refused, (
	[ name => "'tpcc'", qr/the name "tpcc" is used by workload "tpcc"/ ],
	[ name => "'sysbench-insert'", qr/is used by workload "sysbench"/ ],
	[ name => "'select-only'", qr/reserved for built-in scripts/ ],
	[ manifest => $value->('{mixes,0,name}', '"ycsb-a"'), qr/is used by workload "ycsb"/ ],
	[ name => "'second'", qr/the name "mine" is used by workload "mine"/ ],
	[ manifest => $value->('{unti}', '1'), qr/invalid manifest: unknown field "unti"/ ],
	[ manifest => $value->('{max_scale}', '"many"'), qr/invalid manifest: "many" is not valid \("max_scale": "many"\)/ ],
	[ manifest => $value->('{max_scale}', '0'), qr/"max_scale" is 0, not above 0/ ],
	[ manifest => $value->('{loader}', '"pgbench"'), qr/"loader" and "tables" are for workloads of the library/ ],
	[ manifest => "'{}'", qr/missing field "description"/ ],
	[ manifest => "'[]'", qr/invalid manifest/ ],
	[ manifest => $value->('{size,table_mb}', '-1'), qr/"size" has a number below 0/ ],
	[ manifest => $value->('{mixes}', '[]'), qr/no mix/ ],
	[ manifest => $value->('{mixes,0,scripts}', '[]'), qr/mix "mine" has no scripts/ ],
	[ manifest => $value->('{mixes,0,scripts,0,weight}', '0'), qr/script "add" of mix "mine" has the weight 0/ ],
	[ manifest => $value->('{mixes,0,scripts,0,name}', '"gone"'), qr/script "gone" is missing/ ],
	[ manifest => $value->('{mixes,0,scripts}', '[{"name": "add", "weight": 1}]'), qr/no mix has script "read"/ ],
	[ manifest => $value->('{mixes,0,options,max_tries}', '0'), qr/"max_tries" of mix "mine" is not above 0/ ],
	[ manifest => $value->('{variables,0,default}', '"100 * :scal"'), qr/invalid value of "rows": .*"?scal/ ],
	[ manifest => $value->('{variables,0,default}', '"1 +"'), qr/invalid value of "rows"/ ],
	[ manifest => $value->('{variables,0,min}', '101'), qr/variable "rows" must be between 101 and 100000, not 100/ ],
	[ manifest => $value->('{variables,0,max}', '0'), qr/has a "min" above its "max"/ ],
	[ manifest => $value->('{variables,0,detect}', '"SELECT max(id) FORM mine"'), qr/42601: invalid "detect" of variable "rows": syntax error/ ],
	[ manifest => $value->('{variables,0,detect}', '"SELECT 1); DROP TABLE texts; SELECT (1"'), qr/"detect" of variable "rows" is not one query/ ],
	[ manifest => $value->('{variables,0,name}', '"scale"'), qr/"scale" cannot be the name of a variable/ ],
	[ manifest => $value->('{variables,0,name}', '"a b"'), qr/"a b" cannot be the name of a variable/ ],
	[ manifest => $value->('{variables,0,name}', '"row"'), qr/22023: /],
	[ manifest => $value->('{load_constants}', '[{"name": "rows", "value": "1"}]'), qr/two of variable "rows"/ ],
	[ manifest => $value->('{load_constants}', '[{"name": "c", "value": "1 / 0"}]'), qr/invalid value of "c": division by zero/ ],
	[ scripts => q('{"add": "SELECT :row;", "read": "SELECT 1;"}'), qr/script "add" of mix "mine" mentions "row" in line 1/ ],
	[ scripts => q('{"add": "SELECT 1;\n\\\\set a 1 +", "read": "SELECT 1;"}'), qr/ERROR:  42601: add:2: syntax error.*\n.*set a 1 \+/s ],
	[ scripts => q('{"add": 1}'), qr/invalid value for option "scripts"/ ],
	[ scripts => q('["add"]'), qr/invalid value for option "scripts"/ ],
	[ scripts => q('{"add": "a\u0000b"}'), qr/22P05: / ],
	[ schema => "'CREATE TABLE mine (id bigint'", qr/42601: invalid schema: syntax error/ ],
	[ schema => "'CREATE TABLE public.mine (id bigint)'", qr/22023: .*is not CREATE TABLE, .*: CREATE TABLE public\.mine/ ],
	[ schema => "'CREATE TEMP TABLE mine (id bigint)'", qr/is not CREATE TABLE/ ],
	[ schema => "'CREATE TABLE mine (id bigint); DROP TABLE texts'", qr/is not CREATE TABLE.*: DROP TABLE texts/ ],
	[ schema => "'CREATE TABLE mine AS SELECT 1'", qr/is not CREATE TABLE/ ],
	[ schema => "'CREATE TABLE yours (id bigint)'", qr/schema does not create table "mine"/ ],
	[ schema => q('CREATE TABLE mine (id bigint) \\; DROP TABLE texts'), qr/schema joins statements by "\\;", which is not possible: CREATE TABLE mine/ ],
	[ finish => q('SELECT 1 \\; VACUUM mine'), qr/finish joins statements by "\\;"/ ],
	[ schema => q('\\d mine'), qr/invalid schema\.sql: a backslash/ ],
	[ load => "'SELECT 1'", qr/invalid load\.sql: no header such as/ ],
	[ load => "''", qr/no query of rows/ ],
	[ load => q(E'-- mine: 1 parts of 1 rows\nSELECT 1; SELECT 2'), qr/invalid load\.sql: 2 statements below/ ],
	[ load => q(E'-- mine: 1 parts of 1 rows\nDELETE FROM mine'), qr/the query of table "mine" is not a SELECT/ ],
	[ load => q(E'-- mine: 1 parts of 1 rows\nSELEC 1'), qr/42601: invalid query of table "mine": syntax error/ ],
	[ load => q(E'-- mine: -1 parts of 1 rows\nSELECT 1'), qr/number of parts of mine is -1/ ],
	[ load => q(E'-- mine: :row parts of 1 rows\nSELECT 1'), qr/invalid value of "parts of mine"/ ],
	[ load => q(E'-- mine"; DROP TABLE texts: 1 parts of 1 rows\nSELECT 1'), qr/schema does not create table "mine"; DROP TABLE texts"/ ],
	[ finish => "'COMMIT'", qr/0A000: invalid finish: transaction commands are not possible/ ],
	[ finish => "'COPY mine FROM STDIN'", qr/0A000: invalid finish: COPY/ ],
	[ finish => "'ALTER TABL mine'", qr/42601: invalid finish: syntax error/ ],
	[ checks => "'SELECT 1'", qr/invalid checks\.sql: no header such as/ ],
	[ checks => q(E'-- a: a\nSELECT 1;\n-- a: b\nSELECT 1;'), qr/two of condition "a"/ ],
	[ checks => q[E'-- a: a\nSELECT 1) t; DROP TABLE texts'], qr/invalid/ ],
	[ checks => q(E'-- a: a\nDELETE FROM mine RETURNING 1'), qr/the query of condition "a" is not a SELECT/ ],
	[ checks => q(E'-- a: a\nSELECT 1 INTO made'), qr/the query of condition "a" is not a SELECT/ ]);
foreach (@refused)
{
	my ($what, $by, $expected) = @$_;
	like(as('runner', "SELECT define('$what', $by)"), $expected, "$what: " . substr($by, 0, 60));
}
like(as('runner', "BEGIN READ ONLY; SELECT define()"), qr/25006: /, 'read-only transaction');
like(as('runner', "SELECT bench.define_workload('x', '{}', '', '', NULL)"), qr/scripts must not be null/, 'NULL');
is(as('runner', 'SELECT count(*) FROM bench.workload_definitions'), 1, 'nothing of that was stored');

# Queries that do not give what they are said to give. In FROM, generate_series would fill the disk.
sub fails_to_load
{
	my ($what, $by, $expected, $name, $before) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(as('runner', "SELECT define('$what', $by)"), '', "$name: defined");
	like(as('runner', ($before // '') . "SELECT bench.initialize('mine')"), $expected, $name);
	is(as('runner', "SELECT count(*) FROM bench_workload WHERE loaded_at IS NOT NULL"), 0, "$name: not loaded");
	like(as('runner', "SELECT bench.run('mine', transactions => 1)"), qr/ERROR:  .*\nHINT:.*did not end/s, "$name: no run");
}
my $of = sub { my ($query) = @_; return "E'-- mine: 1 parts of 10 rows\\n$query'" };
fails_to_load('load', $of->('SELECT 1, 2, 3'), qr/42601: the query of rows for table "mine" has 3 columns, the table 2\nDETAIL:  Columns of the query: .*\. Columns of the table: id, n\./, 'too many columns');
fails_to_load('load', $of->(q{SELECT ''a'', ''b''}), qr/ERROR:  (42804|22P02): /, 'other types');
fails_to_load('load', $of->('SELECT NULL::bigint, 1'), qr/23502: null value in column "id"/, 'a NULL');
fails_to_load('load', $of->('SELECT 1'), qr/23502: null value in column "n"/, 'a column that is missing');
fails_to_load('load', $of->('SELECT 1, 1 UNION ALL SELECT 1, 1'), qr/23505: /, 'keys that are not unique');
fails_to_load('load', $of->('SELECT 1, n FROM generate_series(1, 1 / $1) n'), qr/22012: division by zero/, 'an error');
fails_to_load('load', $of->('SELECT n, n FROM missing n'), qr/42P01: relation "missing" does not exist/, 'a table that is missing');
fails_to_load('load', $of->('SELECT generate_series(1, 9000000000000000000), 1'), qr/54000: a part of the rows of table .*mine.* has more than 10/, 'rows without end');
fails_to_load('load', $of->('SELECT count(*), 1 FROM (SELECT generate_series(1, 9000000000000000000)) n'), qr/57014: /, 'a query without end', "SET statement_timeout = '1 s';");
fails_to_load('finish', "'SELECT 1 / 0'", qr/22012: division by zero/, 'an error at the end');
is(as('runner', "SELECT define(); SELECT count(*) FROM bench.initialize('mine')"), "\n5", 'the next load replaces what there is');
is(as('runner', "SELECT define('load', E'-- mine: 0 parts of 5 rows\\nSELECT 1, 1'); SELECT count(*) FROM bench.initialize('mine'); SELECT count(*) FROM mine"), "\n5\n0", 'no rows');

# A table that is replaced during the load.
is(as('runner', <<'SQL'), '', 'a load that waits');
SELECT bench.define_workload('swap', with_value('{mixes,0,name}', '"swap"')::jsonb, schema => 'CREATE TABLE mine (id bigint, n bigint); CREATE TABLE swapped (id bigint)',
	load => E'-- mine: 1 parts of 1 rows\nSELECT 1, 1 FROM pg_advisory_lock_shared(5)\n-- swapped: 1 parts of 1 rows\nSELECT 1',
	scripts => '{"add": "SELECT 1;", "read": "SELECT 1;"}');
SQL
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(5)');
my $waits = sub { return wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 5 AND NOT granted") };
my $load = start_sql($node, "SET client_min_messages = warning; SELECT bench.initialize('swap', force => true)", user => 'runner');
$waits->();
$sql->('ALTER TABLE runner.swapped RENAME TO kept; CREATE TABLE runner.swapped (id bigint)');
$gate->query_safe('SELECT pg_advisory_unlock(5)');
like((finish_sql($load))[1], qr/ERROR:  42809: refusing to use "swapped": another one has replaced it during the load/, 'names the table');
is($sql->('SELECT count(*) FROM runner.swapped; DROP TABLE runner.swapped; ALTER TABLE runner.kept RENAME TO swapped; SELECT count(*) FROM runner.swapped'), "0\n0", 'and gives it no rows');

# The number of transactions above the limit of a script.
is(as('runner', "SELECT define('manifest', with_value('{mixes,0,scripts}', '[{\"name\": \"add\", \"weight\": 1, \"limit_ms\": 0.000001}, {\"name\": \"read\", \"weight\": 1, \"limit_ms\": 1e9}]')); SELECT count(*) FROM bench.initialize('mine', force => true)"), "\n5", 'scripts with limits');
is(as('runner', q{SELECT count(*) FROM bench.run('mine', transactions => 40, seed => 1); SELECT bool_and(above_limit = CASE name WHEN 'mine:add' THEN s.transactions ELSE 0 END), string_agg(p90_is_met::text, ' ' ORDER BY script_no) FROM bench.run_scripts s WHERE run_id = (SELECT max(run_id) FROM bench.runs)}),
	"1\nt|false true", 'their limits') or diag as('runner', 'SELECT name, s.transactions, above_limit, p90_is_met FROM bench.run_scripts s');

# Names of tables and texts with all kinds of characters.
is(as('runner', <<'SQL'), "\n5\n1\nt\n1", 'odd names');
SELECT bench.define_workload('odd', with_value('{mixes,0,name}', '"odd"')::jsonb,
	schema => $q$CREATE TABLE "o""dd 't' \ é" (id bigint, n text)$q$,
	load => $q$-- o"dd 't' \ é: 1 parts of 1 rows
SELECT 1, 'a'$q$,
	scripts => jsonb_build_object('add', $q$SELECT n FROM "o""dd 't' \ é";$q$, 'read', 'SELECT 1;'));
SELECT count(*) FROM bench.initialize('odd');
SELECT count(*) FROM "o""dd 't' \ é";
SELECT tables = ARRAY[$q$o"dd 't' \ é$q$] FROM bench.workloads WHERE family = 'odd';
SELECT transactions FROM bench.run('odd:add', transactions => 1);
SQL
done_testing();
