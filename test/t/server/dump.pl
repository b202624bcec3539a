# Results and scripts survive pg_dump, and run ids go on after them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('dump');
my $label = q(a "label" with 'quotes', a tab	and é);
(my $quoted = $label) =~ s/'/''/g;
$node->safe_psql('postgres', 'SELECT bench.initialize()');
foreach my $mode (qw(spi libpq))
{
	$node->safe_psql('postgres',
		"SELECT bench.run(mode => '$mode', clients => 2, transactions => 20, scripts => 'tpcb-like,select-only', label => '$quoted')"
	);
}
$node->safe_psql('postgres',
	"INSERT INTO bench.scripts (name, description, body) VALUES ('mine', 'a script', 'SELECT 1;')");
$node->safe_psql('postgres', <<'SQL');
SELECT bench.define_workload('own', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 1, "index_mb": 1},
	"mixes": [{"name": "own", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE own (t text)', E'-- own: 1 parts of 1 rows\nSELECT ''\\ "'' AS t', '{"s": "SELECT 1;"}');
INSERT INTO bench.captured_tables (owner, workload, table_schema, table_name, written)
SELECT owner, name, 'a schema', 'a "table"', true FROM bench.workload_definitions;
SQL

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE pgio1 (mykey bigint, scratch bigint, filler char(1024)) WITH (fillfactor = 10);
INSERT INTO pgio1 SELECT k, 0, 'X' FROM generate_series(1, 20) k ORDER BY random();
CREATE INDEX ON pgio1 (mykey);
SELECT bench.run_pgio(threads_per_table => 2, transactions => 20, work_unit => 8, update_pct => 20);
SQL

$node->safe_psql('postgres', 'SELECT bench.compare(repeats => 1, transactions => 5)');

$node->safe_psql('postgres', q(SELECT bench.schedule('every "night"', '0 3 * * *', '{"transactions": 5, "label": "job"}', figures => '{tps}')));
$node->safe_psql('postgres', q(SELECT bench.run_job('every "night"')));
wait_for($node, "SELECT state = 'finished' FROM bench.job_runs");

$node->safe_psql('postgres', <<'SQL');
INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message, runs_after)
SELECT nextval('bench.alert_id_seq'), owner, job_name, job_run_id, 'slower', 'message', run_ids FROM bench.job_runs;
SQL

$node->safe_psql('postgres', "CREATE ROLE granted LOGIN; SELECT bench.grant_to('granted');");

my @tables = qw(sets runs run_scripts run_intervals run_settings scripts workload_definitions captured_tables pgio_runs pgio_sessions jobs job_runs alerts);

sub contents
{
	my ($database) = @_;
	return map {
		$node->safe_psql($database, "SELECT t FROM bench.$_ t ORDER BY t::text")
	} @tables;
}

my @before = contents('postgres');
foreach my $i (0 .. $#tables)
{
	isnt($before[$i], '', "$tables[$i] has rows");
}
my $last = $node->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs');

foreach my $format (qw(plain custom))
{
	my $file = PostgreSQL::Test::Utils::tempdir() . "/dump";
	$node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, 'postgres' ], "pg_dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $format ]
		: [ 'pg_restore', '--exit-on-error', '-d', $format, $file ],
		"restored, $format");
	my @after = contents($format);
	foreach my $i (0 .. $#tables)
	{
		is($after[$i], $before[$i], "$tables[$i], $format");
	}
	is($node->safe_psql($format, 'SELECT run_id FROM bench.run(transactions => 5)'),
		$last + 1, "the next run id, $format");
	is( $node->safe_psql($format, "SELECT bench.define_script('own', 'SELECT 1');
			SELECT state FROM bench.run('own', duration => 0.1)", extra_params => [qw(-U granted)]),
		"\nfinished", "what a role was granted, $format");
	is( $node->safe_psql($format, q(SELECT bench.run_job('every "night"'))), 2, "a restored job runs, $format");
	wait_until_quiet($node);
	is($node->safe_psql($format, "SELECT nextval('bench.alert_id_seq')"), 2, "the next alert, $format");
	foreach my $run_id (1, $last)
	{
		is( $node->safe_psql($format,   "SELECT bench.report($run_id)"),
			$node->safe_psql('postgres', "SELECT bench.report($run_id)"),
			"report of restored run $run_id, $format");
	}
}

# Only the tables themselves are dumped, not the objects of the extension.
my ($schema) = run_command([ 'pg_dump', '--schema-only', '-d', $node->connstr('postgres') ]);
unlike($schema, qr/CREATE (TABLE|FUNCTION|VIEW|SEQUENCE) bench\./, 'objects come with the extension');

$node->stop;
done_testing();
