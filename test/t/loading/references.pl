# Tables and routines of a workload that depend on each other: rows with foreign keys come behind the rows that
# these refer to, whatever process inserts them, and the next load drops all, but nothing of others.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('references', "autovacuum = off\nmax_worker_processes = 16\n");

# Defines a workload of some tables and routines.
sub define
{
	my ($name, $schema, $load, $finish) = @_;
	$node->safe_psql('postgres', <<"SQL");
SELECT bench.define_workload('$name',
	manifest => '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0.1, "index_mb": 0.1},
	              "mixes": [{"name": "$name", "description": "d", "scripts": [{"name": "nothing", "weight": 1}]}]}',
	schema => \$text\$$schema\$text\$, load => \$text\$$load\$text\$, finish => \$text\$@{[ $finish // '' ]}\$text\$,
	scripts => '{"nothing": "SELECT 1;"}');
SQL
	return;
}

# The errors of a load.
sub errors
{
	my ($name, $more) = @_;
	my (undef, undef, $stderr) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSET client_min_messages = warning; SELECT bench.initialize('$name'" . ($more // '') . ')');
	return $stderr;
}

# Whether the load of a workload is known to be complete.
sub is_loaded
{
	my ($name) = @_;
	return $node->safe_psql('postgres', "SELECT loaded_at IS NOT NULL FROM bench_workload WHERE family = '$name'");
}

# The first part waits for the gate. Parts whose rows refer to its rows or, in turn, to those of the part before use
# the sequence, which tells that one has begun. With so many rows of a part at most, processes start for them.
$node->safe_psql('postgres', 'CREATE SEQUENCE begun');
define('town',
	'CREATE TABLE house (id bigint PRIMARY KEY); CREATE TABLE street (id bigint); '
	  . 'CREATE TABLE person (id bigint, house bigint REFERENCES house); CREATE TABLE pet (id bigint)',
	<<'LOAD');
-- house: 1 parts of 200000 rows
SELECT id FROM generate_series(1, 100) id, pg_advisory_xact_lock_shared(7);
-- person: 4 parts of 100 rows
SELECT $1 * 100 + n, n FROM nextval('public.begun'), generate_series(1, 100) n;
-- street: 2 parts of 10 rows
SELECT n FROM generate_series(1, 10) n;
-- pet: 2 parts of 10 rows
SELECT n FROM generate_series(1, 10) n;
LOAD
my $chain = <<'LOAD';
5 parts of 100000 rows
SELECT $1 * 10 + n, CASE WHEN $1 > 0 THEN $1 * 10 + n - 10 END
  FROM generate_series(1, 10) n
 WHERE $1 > 0 AND nextval('public.begun') > 0 OR pg_advisory_xact_lock_shared(7) IS NOT NULL;
LOAD
define('tree',
	'CREATE TABLE node (id bigint PRIMARY KEY, parent bigint REFERENCES node)',
	"-- node: $chain");
define('parts',
	'CREATE TABLE place (id bigint PRIMARY KEY); '
	  . 'CREATE TABLE event (id bigint, place bigint) PARTITION BY RANGE (id); '
	  . 'CREATE TABLE event_1 PARTITION OF event (FOREIGN KEY (place) REFERENCES place) FOR VALUES FROM (0) TO (1000)',
	<<'LOAD');
-- place: 1 parts of 200000 rows
SELECT id FROM generate_series(1, 100) id, pg_advisory_xact_lock_shared(7);
-- event: 4 parts of 100 rows
SELECT $1 * 100 + n, n FROM nextval('public.begun'), generate_series(1, 100) n;
LOAD
define('sub',
	'CREATE TABLE fact (id bigint PRIMARY KEY, earlier bigint REFERENCES fact) PARTITION BY RANGE (id); '
	  . 'CREATE TABLE fact_1 PARTITION OF fact FOR VALUES FROM (0) TO (1000)',
	"-- fact_1: $chain");
my %rows = (
	sub => [ 'SELECT count(*), count(earlier) FROM fact', '50|40' ],
	town  => [ 'SELECT (SELECT count(*) FROM house), (SELECT count(*) FROM person), (SELECT count(*) FROM street), (SELECT count(*) FROM pet)', '100|400|20|20' ],
	tree  => [ 'SELECT count(*), count(parent) FROM node', '50|40' ],
	parts => [ 'SELECT (SELECT count(*) FROM place), (SELECT count(*) FROM event)', '100|400' ]);

my $gate = $node->background_psql('postgres');
my $has_part = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted";
my $two_wait = <<"SQL";
SELECT (SELECT is_called FROM begun) OR (SELECT count(*) FROM ($has_part) p) = 1 AND count(*) = 2 FROM pg_stat_activity
 WHERE backend_type IN ('pg_selfbench loader', 'pg_selfbench page worker') AND wait_event_type = 'Extension'
SQL

# Starts a load of three processes, with the gate closed, until two of them wait for the part of the third.
sub start_load
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$gate->query_safe("SELECT pg_advisory_lock(7), setval('begun', 1, false)");
	my $load = start_sql($node, "SET client_min_messages = warning; SELECT count(*) FROM bench.initialize('$name', workers => 3)");
	ok(comes_before_end($node, $two_wait, $load), "$name: two processes wait");
	is($node->safe_psql('postgres', 'SELECT is_called FROM begun'), 'f', "$name: no part of theirs has begun");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg_selfbench%' AND pid NOT IN ($has_part) AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"),
		0, "$name: without a transaction");
	return $load;
}

sub open_gate
{
	$gate->query_safe('SELECT pg_advisory_unlock(7)');
	return;
}

foreach my $name (sort keys %rows)
{
	my ($query, $expected) = @{ $rows{$name} };
	my $load = start_load($name);
	open_gate();
	my ($steps, $stderr) = finish_sql($load);
	is("$steps$stderr", 5, "$name: loaded");
	is($node->safe_psql('postgres', $query), $expected, "$name: its rows");
}

# Processes that end while others wait for their parts, or that wait themselves.
my $terminated = sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM ($_[0]) p") };
my %endings = (
	'the process with the part is terminated' => sub { $terminated->($has_part) },
	'a process that waits is terminated' => sub {
		$terminated->("SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker' AND pid NOT IN ($has_part) LIMIT 1");
		open_gate();
	},
	'the caller is canceled' => sub { signal_sql($_[1], 'INT') });
foreach my $ending (sort keys %endings)
{
	my $load = start_load('town');
	$endings{$ending}->(undef, $load);
	like((finish_sql($load))[1], qr/ERROR:  /, "$ending: an error");
	$gate->query_safe('SELECT pg_advisory_unlock_all()');
	ok(wait_until_quiet($node), "$ending: all processes exit");
	is(is_loaded('town'), 'f', "$ending: not loaded");
	is(errors('town', ', workers => 3'), '', "$ending: the next load");
	is($node->safe_psql('postgres', $rows{town}[0]), $rows{town}[1], "$ending: its rows");
}
$gate->quit;

# A table that depends on routines, and routines that depend on the table and on each other.
define('both', <<'SCHEMA', <<'LOAD', <<'FINISH');
CREATE FUNCTION both_next(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION both_same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE both_rows (id bigint, more bigint DEFAULT both_next(0),
	next bigint GENERATED ALWAYS AS (both_next(id)) STORED, CHECK (both_next(id) > 0));
CREATE FUNCTION both_id(both_rows) RETURNS bigint LANGUAGE sql AS 'SELECT ($1).id';
CREATE FUNCTION both_ids(both_rows[]) RETURNS SETOF both_rows LANGUAGE sql AS 'SELECT * FROM both_rows';
CREATE FUNCTION both_count() RETURNS bigint LANGUAGE sql RETURN (SELECT count(*) FROM both_rows);
CREATE FUNCTION both_more() RETURNS bigint LANGUAGE sql RETURN both_next(both_count());
CREATE PROCEDURE both_nothing(both_rows) LANGUAGE sql AS 'SELECT 1'
SCHEMA
-- both_rows: 2 parts of 10 rows
SELECT $1 * 10 + n FROM generate_series(1, 10) n
LOAD
CREATE INDEX ON both_rows (both_next(id));
CREATE TRIGGER same BEFORE UPDATE ON both_rows FOR EACH ROW EXECUTE FUNCTION both_same()
FINISH
my $found = "SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'both%'), to_regclass('both_rows') IS NOT NULL";
is(errors('both'), '', "load $_") foreach 1 .. 2;
is($node->safe_psql('postgres', $found), '7|t', 'routines and table');
is($node->safe_psql('postgres', 'SELECT both_more(), sum(more), sum(next - id) FROM both_rows'), '21|20|20', 'its rows');

# What others have made of them.
my %others = (
	'CREATE VIEW another AS SELECT id FROM both_rows' => 'VIEW another',
	'CREATE FUNCTION another(both_rows) RETURNS int LANGUAGE sql AS $$SELECT 1$$' => 'FUNCTION another',
	'CREATE TABLE another (id bigint DEFAULT both_next(1))' => 'TABLE another');
foreach my $create (sort keys %others)
{
	$node->safe_psql('postgres', $create);
	like(errors('both', $_), qr/ERROR:  2BP01: cannot drop/, "$create: an error") foreach ('', ", steps => 'd'");
	is(is_loaded('both'), 't', "$create: nothing was dropped");
	$node->safe_psql('postgres', "DROP $others{$create}");
}
is(errors('both', ", steps => 'd'"), '', 'dropping');
is($node->safe_psql('postgres', $found), '0|f', 'nothing is left');

nothing_left_ok($node, 'at the end');
done_testing();
