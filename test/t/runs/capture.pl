# Workloads captured from pg_stat_statements: what becomes of each statement, where values come from, runs in both
# modes, and bad input.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_stat_statements));

my $node = new_bench_node('capture', <<'CONF');
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.max = 15000
compute_query_id = on
max_prepared_transactions = 5
max_worker_processes = 16
CONF

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => [ '-U', $role ]);
	return wantarray ? ($stdout, $stderr) : $stdout . $stderr;
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
my $sql = sub { my $text = as($super, $_[0]); return $text };

# Executes a statement with its parameters a few times, as an application does, after a reset.
sub executed
{
	my ($role, @statements) = @_;
	$sql->('SELECT pg_stat_statements_reset()');
	my (undef, undef, $stderr) = $node->psql('postgres', join("\n", 'SET client_min_messages = warning;', map { ("$_;") x 3 } @statements), extra_params => [ '-U', $role ]);
	is($stderr, '', 'executed');
	return;
}

# Captures the totals since the reset; statuses and reasons in the order of statements.
sub captured
{
	my ($role) = @_;
	return as($role, <<'SQL');
SET client_min_messages = warning;
SELECT status || coalesce(': ' || reason, '') FROM bench.capture_workload('mine', period => NULL) WHERE query !~ '^\d+ statements' ORDER BY query, statement_no;
SQL
}

like($sql->("SELECT bench.capture_workload('mine')"),
	qr/ERROR:  55000: extension "pg_stat_statements" does not exist in this database\nHINT:  .*CREATE EXTENSION/, 'without the extension');
$sql->(<<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE ROLE app LOGIN;
CREATE ROLE other LOGIN;
CREATE SCHEMA AUTHORIZATION app;
SELECT bench.grant_to(role) FROM unnest('{app,other}'::regrole[]) role;
SET ROLE app;
CREATE TYPE app.mood AS ENUM ('fine', 'so so');
CREATE TABLE app.items (id bigint PRIMARY KEY, name text NOT NULL, price numeric, sold date, mood app.mood, tags int[], photo bytea);
INSERT INTO app.items
  SELECT i, 'item ' || i, i / 7.0, date '2020-01-01' + i % 1000, CASE WHEN i % 3 = 0 THEN 'fine' ELSE 'so so' END::app.mood,
         ARRAY[i, i + 1], decode(md5(i::text), 'hex')
    FROM generate_series(1, 2000) i;
CREATE TABLE app.empty (id int PRIMARY KEY, t text);
ANALYZE app.items;
SQL

# Bad input.
like($sql->('SELECT bench.capture_workload(NULL)'), qr/ERROR:  22004: name must not be null/, 'no name');
like($sql->("SELECT bench.capture_workload('a b')"), qr/ERROR:  22023: invalid name of a workload: "a b"/, 'no name of a workload');
like($sql->("SELECT bench.capture_workload('tpcb-like')"), qr/ERROR:  22023: invalid name of a workload: .*reserved/, 'a name that is taken');
like($sql->("SELECT bench.capture_workload('mine', period => '-1 s')"), qr/ERROR:  22023: invalid value for option "period"/, 'a negative period');
like($sql->("SELECT bench.capture_workload('mine', top => 0)"), qr/ERROR:  22023: invalid value for option "top"/, 'no statements');
like($sql->("SET pg_stat_statements.track = none; SELECT bench.capture_workload('mine', period => '1 s')"),
	qr/ERROR:  55000: pg_stat_statements counts no statements/, 'nothing is tracked');
like(as('other', "SELECT bench.capture_workload('mine', period => '1 ms')"), qr/ERROR:  55000: no statement can be captured\nDETAIL:  pg_stat_statements has counted no statement/,
	'nothing was executed');
like($sql->("BEGIN READ ONLY; SELECT bench.capture_workload('mine')"), qr/ERROR:  25006: cannot capture workloads/, 'read-only');
like($sql->("SELECT bench.set_parameter('mine', 1, 1, '1')"), qr/ERROR:  42704: workload "mine" does not exist/, 'no workload');
like($sql->("SELECT bench.set_parameter('tpcc', 1, 1, '1')"), qr/ERROR:  22023: workload "tpcc" was not captured\nHINT:  .*bench\.captured_workloads/, 'another workload');
like($sql->("SELECT bench.validate_workload('nope')"), qr/ERROR:  42704: captured workload "nope" does not exist/, 'nothing to validate');

# Equality, a range, lists, patterns, limits, functions, types.
executed('app',
	'SELECT name FROM items WHERE id = 17',
	'SELECT name FROM items WHERE id BETWEEN 100 AND 109',
	"SELECT name FROM items WHERE id IN (1, 2, 3)",
	"SELECT id FROM items WHERE name LIKE 'item 12%'",
	"SELECT id FROM items WHERE upper(name) = 'ITEM 5' LIMIT 3",
	"SELECT count(*) FROM items WHERE mood = 'fine' AND sold = date '2020-02-01'",
	"SELECT extract(year FROM sold), count(*) FROM items GROUP BY extract(year FROM sold)",
	'SELECT id FROM items WHERE id = ANY (ARRAY[7, 8])',
	"SELECT name FROM items WHERE photo = '\\xc4ca4238a0b923820dcc509a6f75849b'",
	'SELECT i.name FROM (SELECT * FROM items) i WHERE i.price = 3',
	'WITH i AS (SELECT id, name FROM items) SELECT name FROM i WHERE id = 4');
my $rows = captured('app');
is(scalar(() = $rows =~ /^captured/mg), 11, 'captured');
is($rows =~ /left out: (?!\z)/ ? $rows : '', '', 'all of them');
is( as('app', "SELECT string_agg(DISTINCT column_name, ', ' ORDER BY column_name) FROM bench.captured_parameters WHERE role <> 'limit'"),
	'app.items.id, app.items.mood, app.items.name, app.items.photo, app.items.price, app.items.sold, app.items.upper(t.name)', 'columns');
like(as('app', 'SELECT * FROM bench.captured_tables'), qr/^app\|mine\|app\|items\|f$/, 'its table');

is(as('app', "SET client_min_messages = warning; SELECT string_agg(DISTINCT state || ' ' || failed, ',') FROM bench.run('mine', transactions => 2000, seed => 1)"), 'finished 0', 'run');
is(as('app', 'SELECT count(*) FROM bench.runs r WHERE unmatched <> \'{}\''), 0, 'each statement finds rows');
like($sql->("SELECT count(*) FROM bench.advice(1)"), qr/^[1-9]\d*$/, 'advice on a run of another role');
like($sql->("SELECT max(judgement) FROM bench.validate_workload('mine', 1)"), qr/^same/, 'and its comparison');
like($sql->("SELECT bench.validate_workload('other')"), qr/ERROR:  42704: captured workload "other" does not exist/, 'no workload to compare');

# What has no values is listed, and filled in.
executed('app', 'SELECT repeat(\'x\', 3)', 'SELECT 1');
is(captured('app'), "captured\nleft out: parameter \$1: it is an argument of function repeat", 'an unknown parameter');
is(as('app', "SELECT parameter_no, type, role, source FROM bench.captured_parameters WHERE reason IS NOT NULL"), "1|text|argument|unknown\n2|integer|argument|unknown", 'both are listed')
  or diag as('app', 'SELECT * FROM bench.captured_parameters');
my $no = as('app', "SELECT statement_no FROM bench.captured_parameters WHERE parameter_no = 2");
like(as('app', "SELECT bench.set_parameter('mine', $no, 3, '1')"), qr/ERROR:  42704: statement $no of workload "mine" has no parameter \$3/, 'no such parameter');
like(as('app', "SELECT bench.set_parameter('mine', 99, 3, '1')"), qr/ERROR:  42704: workload "mine" has no captured statement 99/, 'no such statement');
as('app', 'CREATE SEQUENCE app.live');
foreach my $case (
	[ 'no_function()', qr/ERROR:  42883: function no_function\(\) does not exist/ ],
	[ 'random( * 10', qr/ERROR:  42601: syntax error at or near "10"/ ],
	[ '1 +', qr/ERROR:  42601: syntax error at end of input/ ],
	[ '1; SELECT 2', qr/ERROR:  42601: "expression" is neither an SQL expression nor one query/ ],
	[ 'SELECT id, name FROM items', qr/ERROR:  42601: subquery must return only one column/ ],
	[ 'SELECT name FROM items WHERE id < 0', qr/ERROR:  22023: the query returns no row/ ],
	[ 'SELECT i.name FROM items i, generate_series(1, 3)', qr/ERROR:  22023: the query returns more than 5000 rows\nDETAIL:.*\nHINT:  .*LIMIT 5000/ ],
	[ "SELECT repeat('x', 6000000) FROM generate_series(1, 3)", qr/ERROR:  54000: the values of the expression have more than 16 MB\nHINT:  .*LIMIT/ ],
	[ "nextval('app.live')::text", qr/ERROR:  25006: cannot execute nextval\(\) in a read-only transaction/ ])
{
	like(as('app', "SELECT bench.set_parameter('mine', $no, 1, \$\$$case->[0]\$\$)"), $case->[1], "refused: $case->[0]");
}
is($sql->('SELECT is_called FROM app.live'), 'f', 'no sequence has moved');
is(as('app', 'SELECT count(expression) FROM bench.captured_parameters'), '0', 'and nothing has changed');
is(as('app', "SELECT status, reason FROM bench.set_parameter('mine', $no, 1, \$\$SELECT name FROM items ORDER BY id LIMIT 3\$\$)"),
	'left out|parameter $2: it is an argument of function repeat', 'a query');
is(as('app', "SELECT status, reason FROM bench.set_parameter('mine', $no, 2, 'random() * 10')"), 'captured|', 'an expression');
like(as('app', "BEGIN; SELECT bench.set_parameter('mine', $no, 2, 'NULL'); ROLLBACK"), qr/NOTICE:  00000: the expression returns only nulls/, 'only nulls');
is(as('app', "BEGIN; SELECT status, reason FROM bench.set_parameter('mine', $no, 2, NULL); ROLLBACK"),
	'left out|parameter $2: it is an argument of function repeat', 'no longer an expression');
is(as('app', "SELECT count(DISTINCT values[1]), count(DISTINCT values[2]) > 5 FROM bench.value_sets WHERE set_name = 'mine.s$no'"), '3|t', 'their values');
like(as('app', "SELECT state, failed FROM bench.run('mine', transactions => 100)"),
	qr/^finished\|0.*NOTICE:  \S+ workload "mine" has statements that took [\d.]+ % of the execution time when it was captured\n/s, 'run with them');

# So it is if no statement could be captured.
executed('app', 'SELECT repeat(\'x\', 3)');
like(as('app', "BEGIN; SELECT bench.capture_workload('mine', period => NULL); ROLLBACK"),
	qr/NOTICE:  00000: the new capture replaces an earlier one\nDETAIL:  .* the expressions of its parameters\.\nHINT:.*NOTICE:  00000: statements are left out because .*\nDETAIL:.*: 1\.\nHINT:  .*bench\.set_parameter/s,
	'it says what is discarded, and what lacks values');
is(captured('app'), 'left out: parameter $1: it is an argument of function repeat', 'no statement can be executed');
like(as('app', "SELECT bench.run('mine', transactions => 1)"), qr/ERROR:  22023: no statement of workload "mine" can be executed\nHINT:  .*bench\.set_parameter/,
	'no run without values');
$no = as('app', 'SELECT statement_no FROM bench.captured_parameters WHERE parameter_no = 2');
as('app', "SELECT bench.set_parameter('mine', $no, 1, \$\$'x'\$\$)");
is(as('app', "SELECT status FROM bench.set_parameter('mine', $no, 2, '2')"), 'captured', 'with values');
is(as('app', "SET client_min_messages = warning; SELECT state, failed FROM bench.run('mine', transactions => 10)"), 'finished|0', 'run with them');

# An expression of another statement that fails now: its statement is named.
as('app', 'CREATE VIEW app.lengths AS SELECT 3 AS n');
executed('app', 'SELECT repeat(\'x\', 3)', 'SELECT rpad(\'y\', 4)');
captured('app');
my %number = map { reverse split /\|/ } split /\n/, as('app', q{SELECT statement_no, substring(query FROM 'repeat|rpad') FROM bench.captured_statements WHERE queryid IS NOT NULL});
as('app', "SELECT bench.set_parameter('mine', $number{repeat}, 2, 'SELECT n FROM lengths')");
as('app', 'CREATE OR REPLACE VIEW app.lengths AS SELECT 3 AS n FROM pg_sleep(600)');
like(as('app', "SET statement_timeout = '1 s'; SELECT bench.set_parameter('mine', $number{rpad}, 1, \$\$'y'\$\$)"),
	qr/ERROR:  57014: .*\nDETAIL:  It comes from the expression of parameter \$2 of statement $number{repeat}\./, 'it is canceled');
as('app', 'DROP VIEW app.lengths');
like(as('app', "SELECT bench.set_parameter('mine', $number{rpad}, 1, \$\$'y'\$\$)"),
	qr/NOTICE:  00000: other statements are left out because their expressions fail\nDETAIL:  statement $number{repeat}, parameter \$2: relation "lengths" does not exist\.\n/, 'it fails');

# OFFSET is a guess. A name may begin like that of a built-in script.
executed('app', 'SELECT id FROM items ORDER BY id LIMIT 5 OFFSET 3');
is(as('app', "SELECT status, reason FROM bench.capture_workload('select', period => NULL) WHERE query ~ 'OFFSET'"), 'captured|approximate', 'OFFSET');
is(as('app', "SET client_min_messages = warning; SELECT state, transactions, failed FROM bench.run('select', transactions => 5)"), 'finished|5|0', 'its run');
as('app', "SELECT bench.drop_workload('select')");

# Left out, with reasons.
$sql->(<<'SQL');
CREATE FUNCTION app.writes() RETURNS void LANGUAGE sql AS 'INSERT INTO app.empty VALUES ((random() * 1e9)::int)';
CREATE EXTENSION IF NOT EXISTS file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE app.far (id int) SERVER files OPTIONS (filename '/dev/null');
GRANT SELECT ON app.far TO app;
CREATE TABLE app.gone (id int);
ALTER TABLE app.gone OWNER TO app;
SQL
executed('app',
	'SELECT id FROM gone WHERE id = 1',
	'SELECT count(*) FROM far',
	'UPDATE app.items SET price = 1 WHERE id = 5',
	'SELECT id FROM items WHERE id = 5',
	'DELETE FROM items WHERE id BETWEEN 5 AND 6; INSERT INTO items (id, name) VALUES (5, \'item 5\'), (6, \'item 6\')',
	'SELECT pg_advisory_lock(7)',
	'DELETE FROM items WHERE id IN (SELECT id FROM items WHERE name = \'item 2000\')',
	'SELECT relname FROM pg_class WHERE oid = 1259',
	'SELECT count(*) FROM pg_locks',
	'SELECT count(*) FROM information_schema.tables WHERE table_name = \'items\'',
	'SELECT bench_internal.require_copy(NULL)',
	'SELECT t FROM empty WHERE id = 4',
	'DROP TABLE IF EXISTS pg_temp.temp; CREATE TEMP TABLE temp (id int)',
	'SELECT id FROM temp WHERE id = 2',
	'LISTEN a');
$sql->('DROP TABLE app.gone');
$rows = captured('app');
like($rows, qr/^left out: relation "gone" does not exist$/m, 'a dropped table');
like($rows, qr/^left out: it uses the foreign table app\.far$/m, 'a foreign table');
like($rows, qr/^left out: it writes a table whose schema it names/m, 'a schema in the text');
like($rows, qr/^left out: it deletes rows/m, 'deleted rows');
like($rows, qr/^left out: it deletes rows whose key is not compared with a parameter/m, 'found by a subquery');
is(scalar(() = $rows =~ /^left out: it reads system catalogs only$/mg), 3, 'catalogs');
is(as('app', "SELECT query, calls FROM bench.captured_statements WHERE reason = 'of pg_selfbench' OR query ~ 'bench'") =~ s/^\d+ statements\|.*\z//r, '', 'internal functions');
like($rows, qr/^left out: it calls pg_advisory_lock/m, 'a lock of the session');
like($rows, qr/^left out: relation "temp" does not exist$/m, 'a temporary table');
like($rows, qr/^left out: parameter \$1: app\.empty has no rows for it$/m, 'an empty table');
like(as('app', 'SELECT query, reason FROM bench.captured_statements WHERE queryid IS NULL'), qr/^\d+ statements\|utility commands$/m, 'utility commands');

# Tables and types of other kinds.
is($sql->(<<'SQL'), '', 'created');
CREATE TABLE app.policed (id int PRIMARY KEY, who text);
INSERT INTO app.policed SELECT i, CASE WHEN i % 2 = 0 THEN 'app' ELSE 'other' END FROM generate_series(1, 100) i;
ALTER TABLE app.policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.policed USING (who = current_user);
GRANT SELECT, UPDATE ON app.policed TO app;
SET ROLE app;
CREATE DOMAIN app.code AS text CHECK (VALUE ~ '^c[0-9]+$');
CREATE TYPE app.pair AS (a int, b text);
CREATE TABLE app.parts (id int, at date, v text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE app.parts_1 PARTITION OF app.parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE app.parts_2 PARTITION OF app.parts FOR VALUES FROM ('2021-01-01') TO ('2031-01-01');
INSERT INTO app.parts SELECT i, date '2020-01-01' + i, 'v' || i FROM generate_series(1, 700) i;
CREATE TABLE app.shapes (id int PRIMARY KEY, code app.code, place app.pair, moods app.mood[]);
INSERT INTO app.shapes SELECT i, 'c' || i, ROW(i, 'b "' || i)::app.pair, '{fine}'::app.mood[] FROM generate_series(1, 50) i;
CREATE VIEW app.cheap AS SELECT id, name FROM app.items WHERE price < 100;
CREATE TABLE app.ruled (id bigint PRIMARY KEY, note text);
CREATE TABLE app.told (id bigint);
CREATE RULE tell AS ON INSERT TO app.ruled DO ALSO INSERT INTO app.told VALUES (NEW.id);
INSERT INTO app.ruled VALUES (1, 'x');
ANALYZE app.parts;
SQL
$sql->('SELECT pg_stat_statements_reset()');
is(as('app', $_), '', 'executed') foreach map { my $n = $_; join("\n", 'SET client_min_messages = warning;', map { "\\o /dev/null\n$_;" }
	"SELECT v FROM parts WHERE id = 5 AND at = '2020-01-06'",
	"UPDATE parts SET v = 'w' WHERE id = 6 AND at = '2020-01-07'",
	"INSERT INTO parts VALUES (${n}000, '2021-05-05', 'v')",
	"SELECT id FROM shapes WHERE code = 'c7'",
	"SELECT id FROM shapes WHERE place = ROW(8, 'b \"8')::pair",
	"SELECT id FROM shapes WHERE moods = '{fine}' AND id = 9",
	'SELECT who FROM policed WHERE id = 4',
	"UPDATE policed SET who = 'app' WHERE id = 6",
	'SELECT name FROM cheap WHERE id = 3',
	"INSERT INTO ruled VALUES (10$n, 'y')",
	'SELECT name FROM items WHERE id = 11 FOR UPDATE',
	'SELECT id FROM empty',
	"BEGIN; DECLARE c CURSOR FOR SELECT id FROM items; FETCH 2 FROM c; COMMIT",
	"COPY (SELECT 1) TO STDOUT",
	"BEGIN; LOCK TABLE told; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'",
	'LISTEN a', 'SELECT pg_advisory_xact_lock(7)', 'SELECT pg_try_advisory_lock(8)', 'SELECT pg_advisory_unlock(8)') } 1 .. 3;
$rows = as('app', <<'SQL');
SET client_min_messages = warning;
SELECT CASE WHEN status = 'captured' THEN status ELSE status || ': ' || reason END, query FROM bench.capture_workload('mine', period => NULL)
WHERE query !~ 'statements$' ORDER BY query COLLATE "C";
SQL
is($rows, <<'EXPECTED' =~ s/\n\z//r, 'each is captured, or left out with its reason');
captured|INSERT INTO parts VALUES ($1, $2, $3)
captured|INSERT INTO ruled VALUES ($1, $2)
captured|SELECT id FROM empty
captured|SELECT id FROM shapes WHERE code = $1
captured|SELECT id FROM shapes WHERE moods = $1 AND id = $2
left out: parameter $1: it is neither compared with a column nor stored in one|SELECT id FROM shapes WHERE place = ROW($1, $2)::pair
captured|SELECT name FROM cheap WHERE id = $1
captured|SELECT name FROM items WHERE id = $1 FOR UPDATE
left out: it calls pg_advisory_unlock, whose effect does not end with the transaction|SELECT pg_advisory_unlock($1)
left out: parameter $1: it is an argument of function pg_advisory_xact_lock|SELECT pg_advisory_xact_lock($1)
left out: it calls pg_try_advisory_lock, whose effect does not end with the transaction|SELECT pg_try_advisory_lock($1)
captured|SELECT v FROM parts WHERE id = $1 AND at = $2
captured|SELECT who FROM policed WHERE id = $1
captured|UPDATE parts SET v = $1 WHERE id = $2 AND at = $3
captured|UPDATE policed SET who = $1 WHERE id = $2
EXPECTED
like(as('app', 'SELECT query, reason, calls FROM bench.captured_statements WHERE queryid IS NULL'), qr/^(?:[89]|1\d) statements\|utility commands\|[2-9]\d$/m,
	'cursors, COPY, LISTEN, transactions');
my $hidden = $sql->('SELECT count(*) FROM app.policed WHERE who <> $$app$$');
is(as('app', "SET client_min_messages = warning; SELECT state, transactions, failed FROM bench.run('mine', clients => 2, transactions => 300, allow_writes => true)"), 'finished|600|0', 'their run');
is($sql->('SELECT count(*) FROM app.policed WHERE who <> $$app$$'), $hidden, 'rows that a policy hides are not read as values');
is(as('app', "SELECT count(*) FROM bench.value_sets s, unnest(s.values) v WHERE s.set_name = (SELECT 'mine.s' || statement_no FROM bench.captured_statements
	WHERE query ~ '^SELECT who') AND v::int % 2 = 1"), '0', 'nor stored');
as('app', "SELECT bench.drop_workload('mine')");

# Statements that write run on copies: new keys, and rows that were inserted before.
$sql->(<<'SQL');
SET ROLE app;
CREATE TABLE app.orders (id bigserial PRIMARY KEY, code uuid UNIQUE, item bigint REFERENCES app.items, note text UNIQUE, at timestamptz DEFAULT now());
INSERT INTO app.orders (code, item, note) SELECT gen_random_uuid(), i, 'note ' || i FROM generate_series(1, 100) i;
SQL
$sql->('SELECT pg_stat_statements_reset()');
as('app', join "\n", map { <<"SQL" } 1000 .. 1002);
INSERT INTO orders (id, code, item, note) VALUES ($_, gen_random_uuid(), 7, 'note $_') RETURNING id;
UPDATE items SET price = price + 1, name = 'x' WHERE id = 3;
DELETE FROM orders WHERE id = $_;
SQL
is(captured('app'), "captured: approximate\ncaptured\ncaptured: approximate", 'statements that write');
is(as('app', "SELECT string_agg(table_name, ', ' ORDER BY 1) FROM bench.captured_tables WHERE written"), 'items, orders', 'written tables');
my $originals = 'SELECT (SELECT md5(string_agg(i::text, \'\' ORDER BY id)) FROM app.items i), (SELECT md5(string_agg(o::text, \'\' ORDER BY id)) FROM app.orders o)';
my $before = $sql->($originals);
like(as('app', "SELECT bench.run('mine', transactions => 10)"), qr/ERROR:  22023: workload "mine" writes/, 'no run without copies');
foreach my $case (
	[ 'app_copy', qr/ERROR:  42501: permission denied for database postgres\nHINT:  .*CREATE SCHEMA app_copy AUTHORIZATION app\./ ],
	[ '', qr/ERROR:  22023: schema must not be empty/ ],
	[ 'x' x 64, qr/ERROR:  42622: name of schema "x+" is too long\nDETAIL:  It has 64 bytes, and may have 63\./ ],
	[ 'app', qr/ERROR:  55000: schema "app" is not empty\nHINT:  Name a new schema, or an empty one\./ ])
{
	like(as('app', "SELECT bench.clone_tables('mine', '$case->[0]')"), $case->[1], "no copies in schema \"$case->[0]\"");
}
as($super, 'GRANT CREATE ON DATABASE postgres TO app');
like(as('app', "SELECT count(*) FROM bench.clone_tables('mine', 'app_copy')"), qr/^2$/m, 'copied');
foreach my $seed (1, 1)
{
	is(as('app', "SET client_min_messages = warning; SELECT state, transactions, failed FROM bench.run('mine', clients => 3, transactions => 300, seed => $seed)"), 'finished|900|0', 'run on the copies');
}
is($sql->($originals), $before, 'the originals are as before');
is(as('app', 'SELECT count(*) > 100 FROM app_copy.orders'), 't', 'rows were inserted');
is(as('app', "SELECT DISTINCT status FROM bench.set_parameter('mine', 1, 1, '1') WHERE query !~ '^\\d+ statements'"), 'captured', 'made again');
is(as('app', "SELECT manifest #>> '{captured,clone_schema}' FROM bench.workload_definitions"), 'app_copy', 'with its copies');

# Keys of short columns: values that fit, or none.
$sql->(<<'SQL');
SET ROLE app;
CREATE TABLE app.codes (code varchar(6) PRIMARY KEY, note text);
CREATE TABLE app.pairs (pair varchar(2) PRIMARY KEY);
INSERT INTO app.codes SELECT 'c' || i, 'x' FROM generate_series(1, 50) i;
INSERT INTO app.pairs VALUES ('a');
SQL
$sql->('SELECT pg_stat_statements_reset()');
as('app', join "\n", map { "INSERT INTO codes VALUES ('12$_', 'x'); INSERT INTO pairs VALUES ('b$_');" } 1 .. 3);
is(captured('app'), "captured\nleft out: parameter \$1: its values of type character varying must be new", 'keys of short columns');
as('app', 'DROP SCHEMA app_copy CASCADE');
as('app', "SELECT bench.clone_tables('mine', 'app_copy')");
is(as('app', "SET client_min_messages = warning; SELECT state, transactions, failed FROM bench.run('mine', clients => 2, transactions => 50)"), 'finished|100|0', 'they fit');
# Value sets of the user's own with such a name stay.
as('app', "INSERT INTO bench.value_sets (set_name, row_no, \"values\") VALUES ('mine.sizes', 1, '{1}')");
as('app', "SELECT bench.drop_workload('mine')");
is(as('app', "DELETE FROM bench.value_sets WHERE set_name = 'mine.sizes' RETURNING row_no"), '1', 'a value set of the user');
is(as('app', 'SELECT (SELECT count(*) FROM bench.captured_statements), (SELECT count(*) FROM bench.captured_tables), (SELECT count(*) FROM bench.value_sets)'),
	'0|0|0', 'dropped with all that belongs to it');

# Large values.
$sql->(<<'SQL');
SET ROLE app;
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
CREATE TABLE app.huge (id int PRIMARY KEY, body text);
ALTER TABLE app.docs ALTER body SET STORAGE EXTERNAL;
INSERT INTO app.docs SELECT i, repeat('x', 400000) FROM generate_series(1, 100) i;
INSERT INTO app.huge VALUES (1, repeat('x', 17000000));
SQL
executed('app', "SELECT id FROM huge WHERE body = 'a'", "UPDATE docs SET body = 'y' WHERE id = 1");
is(captured('app'), "left out: parameter \$1: rows of app.huge have more than 16 MB\ncaptured", 'rows that are too large, and large rows');
is(as('app', "SELECT count(*) BETWEEN 30 AND 43 FROM bench.value_sets"), 't', 'fewer values if they are large')
  or diag as('app', "SELECT set_name, count(*), sum(octet_length(values::text)) FROM bench.value_sets GROUP BY 1");

# A restored workload, whose value sets have been copied, is captured again.
as('app', 'CREATE TABLE app.copied AS SELECT * FROM bench.value_sets');
$sql->('DELETE FROM bench.captured_workloads');
as('app', 'INSERT INTO bench.value_sets SELECT * FROM app.copied; DROP TABLE app.copied, app.huge');
like(captured('app'), qr/\ncaptured\z/, 'captured again after a restore');
as('app', "SELECT bench.drop_workload('mine')");
as('app', "INSERT INTO bench.value_sets (set_name, row_no, \"values\") VALUES ('mine.s1', 1, '{1}')");
like(as('app', "SELECT bench.capture_workload('mine')"),
	qr/ERROR:  42710: value set "mine\.s1" already exists\nDETAIL:  .*\nHINT:  Choose another name/, 'a value set of the user with the name of one of a capture');
as('app', 'DELETE FROM bench.value_sets; DROP TABLE app.docs');

# Locks of rows are writes; storage parameters of keys are copied; tables may be found without a search_path.
$sql->("SET ROLE app; CREATE TABLE app.kept (id int, v text, PRIMARY KEY (id) WITH (fillfactor = 50), UNIQUE (v) WITH (fillfactor = 60) DEFERRABLE INITIALLY DEFERRED);
	INSERT INTO app.kept SELECT i, i FROM generate_series(1, 9) i");
executed('app', 'SELECT v FROM kept WHERE id = 2 FOR UPDATE');
is(as('app', "SELECT status FROM bench.capture_workload('mine', period => NULL) WHERE query ~ 'kept'"), 'captured', 'a lock of rows');
like(as('app', "SELECT bench.run('mine', transactions => 10)"), qr/ERROR:  22023: workload "mine" writes/, 'it is a write');
as('app', "SELECT bench.drop_workload('mine')");
executed('app', 'SET search_path = \'\'', 'SELECT v FROM app.kept WHERE id = 3 FOR UPDATE', 'SELECT v FROM app.kept WHERE id = 4',
	'SELECT 1 FROM (SELECT id FROM app.kept k JOIN app.items USING (id) FOR SHARE OF k) k WHERE id = 5');
is(as('app', "SELECT string_agg(status, ', ' ORDER BY query ~ 'FOR', query ~ 'SHARE') FROM bench.capture_workload('mine', period => NULL, search_path => '') WHERE query ~ 'app.kept'"),
	'captured, left out, left out', 'locks of rows of tables whose schema is in the text');
as('app', "SELECT bench.clone_tables('mine', 'kept_copy', '{app.kept}')");
is(as('app', "SELECT string_agg(pg_get_indexdef(oid), ' ' ORDER BY relname) ~ 'fillfactor=.50.+fillfactor=.60.', (SELECT condeferred FROM pg_constraint WHERE conrelid = 'kept_copy.kept'::regclass AND contype = 'u')
	FROM pg_class WHERE relnamespace = 'kept_copy'::regnamespace AND relkind = 'i'"), 't|t', 'its indexes');
like(as('app', "SELECT bench.run('mine', transactions => 10)"), qr/^(?!.*search_path)/s, 'an empty search_path');
as('app', "SELECT bench.drop_workload('mine'); DROP SCHEMA kept_copy CASCADE; DROP TABLE app.kept");

# pgbench's tpcb-like by its own program, in a window, and again in both modes.
$node->run_log([ 'pgbench', '-i', '-q', '-s', '1', '-d', $node->connstr('postgres') ]);
my $capture = start_sql($node, "SELECT script || '|' || status FROM bench.capture_workload('bank', period => '8 s')", name => 'window');
my $waits = "FROM pg_stat_activity WHERE application_name = 'window' AND wait_event_type = 'Extension'";
wait_for($node, "SELECT count(*) = 1 $waits");
$node->run_log([ 'pgbench', '-n', '-M', 'prepared', '-c', '2', '-t', '500', '-d', $node->connstr('postgres') ]);
my ($stdout, $stderr) = finish_sql($capture);
is($stderr, '', 'captured in a window');
is(scalar(() = $stdout =~ /^transaction\|captured$/mg), 5, 'five statements of a transaction') or diag $stdout;
is($sql->("SELECT round((manifest #>> '{captured,statements_per_transaction}')::numeric) FROM bench.workload_definitions WHERE name = 'bank'"), '5', 'five in a transaction');
foreach my $mode ('spi', 'libpq')
{
	is($sql->("SET client_min_messages = warning; TRUNCATE pgbench_history; SELECT state, transactions, failed FROM bench.run('bank', mode => '$mode', clients => 2, transactions => 200, allow_writes => true)"),
		'finished|400|0', "tpcb-like in mode $mode");
	is($sql->('SELECT count(*) FROM pgbench_history'), '400', 'each with an insert');
}

# A cancel request ends the wait.
$capture = start_sql($node, "SELECT bench.capture_workload('late', period => '1 h')", name => 'window');
wait_for($node, "SELECT count(*) = 1 $waits AND backend_xmin IS NULL");
is($sql->("SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND pid = (SELECT pid $waits)"), '0', 'no lock while it waits');
$sql->("SELECT pg_cancel_backend(pid) $waits");
(undef, $stderr) = finish_sql($capture);
like($stderr, qr/ERROR:  57014: canceling statement due to user request/, 'canceled');

# Ten thousand statements, and one of a megabyte.
$sql->('SELECT pg_stat_statements_reset()');
$sql->(<<'SQL');
\o /dev/null
SELECT 'SELECT id FROM app.items WHERE id = 1 AND ' || string_agg('price IS ' || CASE WHEN (i >> b) % 2 = 0 THEN 'NOT ' ELSE '' END || 'NULL', ' AND ')
  FROM generate_series(1, 10000) i, generate_series(0, 13) b, generate_series(1, 2) r GROUP BY r, i \gexec
SQL
my $long = 'SELECT id FROM app.items WHERE id = 1 AND (' . join(' OR ', map { "name IS NULL" } 1 .. 66_000) . ')';
$rows = $sql->("SELECT status, reason, query FROM bench.capture_workload('many', period => NULL, top => 100) ORDER BY statement_no");
like($rows, qr/^left out\|beyond the top\|99[0-9]{2} statements$/m, 'many statements');
$sql->("SELECT pg_stat_statements_reset(); $long;$long");
like($sql->("SELECT status, reason, query FROM bench.capture_workload('many', period => NULL)"),
	qr/^captured\|\|SELECT id FROM app\.items WHERE id = \$1 AND \(name IS NULL OR/m, 'a long one');
nothing_left_ok($node, 'capture');
done_testing();
