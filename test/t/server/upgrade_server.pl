# pg_upgrade by copy and by link, and pg_dump, to another server.
#
# OLD_PG_CONFIG   pg_config of an earlier server, by default that of the same one.  pg_upgrade looks for the library in the
#                 directories of both, or where Debian's servers are told to look for extensions
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $old_config = $ENV{OLD_PG_CONFIG} // 'pg_config';
my $has_destdir = $ENV{TEMP_CONFIG} && slurp_file($ENV{TEMP_CONFIG}) =~ /^extension_destdir/m;
my ($new_bin, $old_bin) = map { (run_command([ $_, '--bindir' ]))[0] } ('pg_config', $old_config);
foreach my $pg_config ('pg_config', $old_config)
{
	my ($library) = run_command([ $pg_config, '--pkglibdir' ]);
	next if -f "$library/pg_selfbench.so" || $has_destdir && $pg_config eq 'pg_config';
	die "the extension is not installed in $library" if $ENV{OLD_PG_CONFIG};
	plan skip_all => "the extension is not installed in $library";
}

my $old = PostgreSQL::Test::Cluster->new('upgrade_server_old', $old_bin eq $new_bin ? () : (install_path => $old_bin =~ s/\/bin$//r));
{
	# Settings of the new server.
	delete local $ENV{TEMP_CONFIG} if $ENV{OLD_PG_CONFIG};
	$old->init;
}
$old->start;

# What the old server has: runs of all kinds, jobs, alerts, and rows of a role that is dropped. The first role is there so
# that roles have other numbers than in a new server.
$old->safe_psql('postgres', <<'SQL');
CREATE ROLE first; DROP ROLE first;
CREATE ROLE tester LOGIN;
CREATE ROLE leaving LOGIN;
CREATE EXTENSION pg_selfbench;
SELECT bench.grant_to('tester'), bench.grant_to('leaving');
SELECT bench.initialize();
SELECT bench.define_script('mine', 'SELECT :x + 1;');
SELECT bench.run(clients => 2, transactions => 20, per_statement => true, log => true, label => 'spi');
SELECT bench.run(mode => 'libpq', clients => 2, transactions => 20, scripts => 'tpcb-like, mine', variables => '{"x": 1}', label => 'libpq');
SELECT bench.compare('[{}, {"clients": 2}]', repeats => 2, transactions => 5);
SELECT bench.initialize('ycsb', variables => '{"records": 100}');
SELECT bench.define_workload('own', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 1, "index_mb": 1},
	"mixes": [{"name": "own", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE own (t text)', E'-- own: 1 parts of 1 rows\nSELECT ''\\ "'' AS t', '{"s": "SELECT 1;"}');
CREATE VIEW mine AS SELECT run_id, tps, owner FROM bench.run_summary;
SQL
foreach my $role (qw(tester leaving))
{
	$old->safe_psql('postgres', <<'SQL', extra_params => [ '-U', $role ]);
SELECT bench.run(sql => 'SELECT 1', transactions => 20, label => current_user);
SELECT FROM bench.schedule('nightly', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 5, "label": "nightly"}', confirm => 0, figures => '{tps}');
SELECT bench.run_job('nightly');
SQL
	wait_for($old, "SELECT bool_and(state = 'finished') FROM bench.job_runs");
}
ok(wait_until_quiet($old), 'jobs have ended');

# A thousand of each, of which every other one is of the role that leaves.
my %of = (owner => "(ARRAY['tester', 'leaving'])[1 + n % 2]::regrole");
copy_rows($old, 'runs', "label = 'spi'", '1, 1000', %of, label => "'night'", tps => 'CASE WHEN n > 500 THEN 500 ELSE 1000 END + n % 3',
	started_at => "started_at - (1001 - n) * interval '1 day'");
copy_rows($old, 'job_runs', 'job_run_id = 1', '1, 1000', %of, job_run_id => "nextval('bench.job_run_id_seq')");
copy_rows($old, 'jobs', 'job_id = 1', '1, 1000', %of, job_id => "nextval('bench.job_id_seq')", job_name => "'job ' || n");
$old->safe_psql('postgres', <<'SQL');
INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message, label, series, figure, ratio, changed_at, runs_after)
SELECT nextval('bench.alert_id_seq'), owner, job_name, job_run_id, 'slower', 'message', 'night', 'series', 'tps', 0.5, started_at + job_run_id * interval '1 s', run_ids
  FROM bench.job_runs;
DROP OWNED BY leaving;
DROP ROLE leaving;
VACUUM (ANALYZE);
SQL

my $tables = <<'SQL';
SELECT format('SELECT %L, count(*), md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C")) FROM bench.%I t', relname, relname)
  FROM pg_class WHERE relnamespace = 'bench'::regnamespace AND relkind = 'r' ORDER BY 1 \gexec
SELECT last_value, is_called FROM bench.run_id_seq UNION ALL SELECT last_value, is_called FROM bench.alert_id_seq
SQL
my $answers = <<'SQL';
SELECT bench.report(run_id, f) FROM bench.runs, unnest('{text,json,markdown}'::text[]) f WHERE label IN ('spi', 'libpq', 'tester');
SELECT bench.report(set_ids => set_id) FROM bench.sets;
SELECT bench.time_budget(run_id) FROM bench.runs WHERE label = 'spi';
SELECT bench.export_run(run_id) FROM bench.runs WHERE label = 'libpq';
SELECT bench.percentile(histogram, 99) FROM bench.runs WHERE label IN ('spi', 'libpq', 'tester') ORDER BY run_id;
SELECT * FROM bench.trend('night');
SELECT * FROM bench.changes('night');
SELECT * FROM mine;
SELECT job_name, state, run_ids FROM bench.job_summary ORDER BY job_run_id;
SELECT bench.check_workload('own');
SQL
my $as_tester = <<'SQL';
SELECT count(*) FROM bench.runs UNION ALL SELECT count(*) FROM bench.jobs UNION ALL SELECT count(*) FROM bench.job_runs
 UNION ALL SELECT count(*) FROM bench.alerts UNION ALL SELECT count(*) FROM bench.value_sets;
SQL

# What a server has and tells, as pairs of a name and a text.
sub state_of
{
	my ($node) = @_;
	my $answers = $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $answers");
	# Documents say when and where they were made.
	$answers =~ s/^"(exported_at|source)": .*\n//mg;
	return (
		'rows' => $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $tables"),
		'answers' => $answers,
		'rows of a role' => sql_as($node, $as_tester, 'tester'));
}

# That a server tells the same as the old one, and goes on.
my %before = state_of($old);
my $has_checksums = $old->safe_psql('postgres', 'SHOW data_checksums') eq 'on';
my $last = $old->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs');
my $document = $old->safe_psql('postgres', "SELECT bench.export_run(run_id) FROM bench.runs WHERE label = 'spi'");

sub goes_on
{
	my ($node, $name) = @_;

	my %after = state_of($node);
	is(lines_without($after{$_}, $before{$_}) . lines_without($before{$_}, $after{$_}), '', "$name: $_") foreach sort keys %before;
	$node->safe_psql('postgres', 'CREATE DATABASE fresh');
	$node->safe_psql('fresh', "CREATE EXTENSION pg_selfbench; SELECT bench.grant_to('tester')");
	my ($fresh, $upgraded) = map { extension_objects($node, $_) } qw(fresh postgres);
	is(lines_without($fresh, $upgraded), '', "$name: all objects of a fresh installation");
	is(lines_without($upgraded, $fresh), '', '  and no others');
	is($node->safe_psql('fresh', <<"SQL"), 40, "$name: a run of the old server is imported");
SELECT FROM bench.import_run(\$d\$$document\$d\$);
SELECT transactions FROM bench.runs
SQL
	next_run_ok($node, $name);
	is($node->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs'), $last + 2, "$name: numbers of runs go on");
	is($node->safe_psql('postgres', "SELECT state, transactions FROM bench.run('ycsb-a', transactions => 10, verify => true)"),
		'finished|10', "$name: a workload");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.compare_runs(1, ' . ($last + 1) . ')') > 0, 1, "$name: an old run and a new one");
	my $job = sql_as($node, "SELECT bench.run_job('nightly')", 'tester');
	wait_for($node, "SELECT state <> 'running' FROM bench.job_runs WHERE job_run_id = $job");
	is($node->safe_psql('postgres', "SELECT state, owner FROM bench.job_runs WHERE job_run_id = $job"), 'finished|tester', "$name: a job");
	is(sql_as($node, <<'SQL', 'tester'), "\nacknowledged", "$name: an alert");
SELECT bench.acknowledge(min(alert_id)) FROM bench.alerts;
SELECT state FROM bench.alerts WHERE state_at IS NOT NULL
SQL
	is($node->safe_psql('postgres', "SELECT count(*) FROM bench.runs WHERE owner NOT IN (SELECT oid FROM pg_roles)") > 500, 1,
		"$name: runs of a dropped role");
	$node->safe_psql('postgres', 'CREATE ROLE leaving LOGIN; SELECT bench.grant_to(\'leaving\')');
	is(sql_as($node, 'SELECT count(*) FROM bench.runs', 'leaving'), 0, '  are not those of a new one with its name');
	$node->safe_psql('postgres', "SELECT count(*) FROM bench.delete_runs(label => 'night'); CALL bench.prune('1 day', 10)");
	is($node->safe_psql('postgres', "SELECT count(*) FROM bench.runs WHERE label = 'night'"), 0, "$name: old runs are deleted");
	ok(wait_until_quiet($node), "$name: no process is left");
	return;
}

sub new_server
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new("upgrade_server_$name");
	my ($version) = run_command([ 'pg_config', '--version' ]);
	# The old one may have no checksums, which are the default from 18 on.
	$node->init($version =~ /(\d+)/ && $1 >= 18 && !$has_checksums ? (extra => ['--no-data-checksums']) : ());
	return $node;
}

# The dropped role's number is that of no other role there.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
my $dumped = new_server('dump');
$dumped->start;
$dumped->safe_psql('postgres', 'CREATE ROLE tester LOGIN');
$dumped->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $old->connstr('postgres') ], 'pg_dump of the old server');
$dumped->command_ok([ 'pg_restore', '--exit-on-error', '-d', $dumped->connstr('postgres'), $dump ], '  is restored');
goes_on($dumped, 'dump');
$dumped->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.new", '-d', $dumped->connstr('postgres') ], 'pg_dump of the new server');
$dumped->safe_psql('postgres', 'CREATE DATABASE again');
$dumped->command_ok([ 'pg_restore', '--exit-on-error', '-d', $dumped->connstr('again'), "$dump.new" ], '  is restored');
is($dumped->safe_psql('again', $tables), $dumped->safe_psql('postgres', $tables), '  with all rows');
$dumped->stop;
remove_data($dumped);

# Value sets are in no dump.
sql_as($old, <<'SQL', 'tester');
INSERT INTO bench.value_sets (set_name, row_no, values) SELECT 'keys', n, ARRAY[n::text] FROM generate_series(1, 10) n
SQL
%before = state_of($old);
$old->stop;
foreach my $how (qw(copy link))
{
	my $new = new_server($how);
	my $directory = PostgreSQL::Test::Utils::tempdir_short();
	chdir $directory or die $!;
	$new->command_ok(
		[
			"$new_bin/pg_upgrade", $how eq 'link' ? '--link' : (), '-b', $old_bin, '-B', $new_bin, '-d', $old->data_dir, '-D', $new->data_dir,
			'-s', $new->host, '-p', $old->port, '-P', $new->port
		],
		"pg_upgrade by $how");
	$new->start;
	goes_on($new, $how);
	$new->stop;
	remove_data($new);
}
remove_data($old);
done_testing();
