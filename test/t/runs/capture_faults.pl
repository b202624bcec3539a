# Captures where pg_stat_statements is not loaded, counts nothing or all, is reset or evicts; of functions that write,
# raise errors, or execute statements of their own.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_stat_statements));

# SQL on a server: its standard output and standard error.
sub on
{
	my ($node, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return wantarray ? ($stdout, $stderr) : $stdout . $stderr;
}

my $bare = new_bench_node('capture_bare');
on($bare, 'CREATE EXTENSION pg_stat_statements');
like(scalar on($bare, "SELECT bench.capture_workload('mine')"), qr/ERROR:  55000: pg_stat_statements is not loaded\nHINT:  .*"shared_preload_libraries"/, 'not loaded');
$bare->stop;

my $node = new_bench_node('capture_faults', <<'CONF');
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.max = 100
pg_stat_statements.track = all
compute_query_id = on
max_worker_processes = 16
CONF
on($node, 'CREATE DATABASE other');
is(scalar on($node, <<'SQL'), '', 'set up');
CREATE EXTENSION pg_stat_statements;
CREATE TABLE items (id int PRIMARY KEY, name text);
INSERT INTO items SELECT i, 'item ' || i FROM generate_series(1, 50) i;
CREATE TABLE log (id int);
CREATE FUNCTION nested(int) RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT name FROM items WHERE id = $1); END';
CREATE FUNCTION writes(int) RETURNS int LANGUAGE sql AS 'INSERT INTO log VALUES ($1) RETURNING id';
CREATE FUNCTION raises(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN IF i % 2 = 0 THEN RAISE EXCEPTION $$% is even$$, i; END IF; RETURN i; END';
SQL
like(scalar on($node, "SET compute_query_id = off; SELECT bench.capture_workload('mine')"),
	qr/ERROR:  55000: pg_stat_statements counts no statements\nHINT:  .*"compute_query_id"/, 'no identifiers');

sub captured
{
	my (@statements) = @_;
	on($node, "SELECT pg_stat_statements_reset();\n\\o /dev/null\n" . join "\n", map { "$_;\n$_;\n$_;" } @statements);
	return on($node, "SET client_min_messages = warning; SELECT status || coalesce(': ' || reason, ''), calls, query FROM bench.capture_workload('mine', period => NULL)
		WHERE query !~ 'statements\$' ORDER BY query");
}

is(scalar captured('SELECT nested(7)', 'SELECT id FROM items WHERE id = 3'), <<'ROWS' =~ s/\n\z//r, 'statements of functions are not captured');
captured|3|SELECT id FROM items WHERE id = $1
left out: parameter $1: it is an argument of function nested|3|SELECT nested($1)
ROWS
$node->psql('other', "CREATE TABLE items (id int);\n" . "SELECT id FROM items WHERE id = 3;\n" x 3);
like(scalar captured('SELECT id FROM items WHERE id = 4'), qr/^captured\|3\|SELECT id FROM items WHERE id = \$1$/, 'nor those of other databases');

# Functions that write, and that raise errors.
is(scalar captured('SELECT writes(id) FROM items WHERE id = 3'), 'captured|3|SELECT writes(id) FROM items WHERE id = $1', 'a function that writes');
like(scalar on($node, "SELECT bench.run('mine', transactions => 5)"), qr/ERROR:  22023: workload "mine" writes, and its tables have not been copied/, 'needs copies');
my ($stdout, $stderr) = on($node, "SELECT state, transactions, failed FROM bench.run('mine', transactions => 5, allow_writes => true); SELECT count(*) FROM log");
is($stdout, "finished|5|0\n8", 'unless writes are allowed');
is(scalar captured('SELECT raises(id) FROM items WHERE id = 3'), 'captured|3|SELECT raises(id) FROM items WHERE id = $1', 'a function that raises errors');
($stdout, $stderr) = on($node, "SELECT state, transactions + failed, transactions > 0 AND failed > 0 FROM bench.run('mine', transactions => 100, allow_writes => true, seed => 1)");
is($stdout, 'finished|100|t', 'some of its calls fail, and the run goes on');
like($stderr, qr/WARNING:  01000: [0-9]+ of 100 transactions failed, the first with: \d+ is even/, 'which is told');

# Names with a blank that is one of Unicode only, and numbers that no parameter has; parameters whose meaning would be
# of exponential size.
my $name = "\xC2\xA0\$4294967297";
like(scalar captured("SELECT 1 AS $name, to_char(                                        1, '9')"),
	qr/^(?:captured|left out: .*)\|3\|SELECT \$1 AS /, 'a name that looks like a parameter');
my $nested = 'SELECT 0::float8 AS a FROM items';
$nested = "SELECT a + a AS a FROM ($nested OFFSET 0) x" foreach 1 .. 35;
like(scalar captured("SELECT FROM ($nested) y WHERE a = 1.5"), qr/\|3\|SELECT FROM \(/, 'columns of nested subqueries');
my $deep = 'not (' x 2000 . 'id = 5' . ')' x 2000;
like(scalar captured("SELECT id FROM items WHERE $deep", 'SELECT id FROM items WHERE id = 3'), qr/^captured\|.*^left out: stack depth limit exceeded\|/ms,
	'a statement that is too deep is left out');
my $long = join ' + ', ('id') x 300;
like(scalar captured("SELECT $long FROM items WHERE id = 3"), qr/^captured\|/, 'one with many operators is not');

# A statement that differs from those of other numbers.
sub distinct
{
	my ($number) = @_;
	return 'SELECT FROM items WHERE ' . join(' AND ', map { 'name IS ' . (($number >> $_) % 2 ? 'NOT ' : '') . 'NULL' } 0 .. 8) . ";\n";
}

# A reset, and evictions, while a capture waits.
foreach my $case (
	[ 'SELECT pg_stat_statements_reset()', qr/NOTICE:  00000: pg_stat_statements was reset during the capture\nDETAIL:.*\nHINT:  Capture again/ ],
	[ join('', map { distinct($_) } 1 .. 300), qr/NOTICE:  00000: pg_stat_statements has evicted statements during the capture\nDETAIL:.*\nHINT:  .*"pg_stat_statements\.max"/ ])
{
	on($node, 'SELECT pg_stat_statements_reset()');
	my $capture = start_sql($node, "\\set VERBOSITY verbose\nSELECT status, calls FROM bench.capture_workload('window', period => '6 s') WHERE query ~ 'WHERE id = '", name => 'window');
	wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'window' AND wait_event_type = 'Extension'");
	on($node, $case->[0]);
	on($node, 'SELECT name FROM items WHERE id = 3;' x 4);
	($stdout, $stderr) = finish_sql($capture);
	like($stderr, $case->[1], 'told');
	is($stdout, 'captured|4', 'with the calls since then');
}
nothing_left_ok($node, 'capture_faults');
done_testing();
