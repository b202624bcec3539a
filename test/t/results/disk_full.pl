# A disk that is full when results or a log are stored. A limit of the size of files takes the place of the disk.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# Files of WAL stay below the limit, and those of the log and of scripts are above: what is stored there makes them grow.
my $limit = 4 << 20;
my $node = new_bench_node('disk_full', "autovacuum = off\nmax_worker_processes = 16\n", extra => ['--wal-segsize=1']);
# Histograms are stored beside scripts: there is room for some in the file, where a script was that is deleted.
my $make_room = 'VACUUM (TRUNCATE false) bench.run_scripts';
$node->safe_psql('postgres', <<"SQL");
SELECT bench.define_script(name, (SELECT '-- ' || string_agg(md5(n::text), '') FROM generate_series(1, lines) n) || E'\\nSELECT 1;')
  FROM (VALUES ('medium', 5000), ('large', 300000)) s (name, lines);
SELECT bench.define_script('small', 'SELECT 1;');
SELECT bench.run('medium', transactions => 1, label => 'medium');
SELECT bench.run('large', transactions => 1);
SELECT bench.delete_runs(ARRAY[run_id]) FROM bench.runs WHERE label = 'medium';
$make_room;
SELECT bench.run(sql => 'SELECT 1', transactions => 60000, log => true);
SQL

# Starts a run, limits the size of files for its coordinator, and cancels the run; what its caller gets.
sub end_on_full_disk
{
	my ($label, $script, $options) = @_;
	my $run = start_sql($node,
		"SELECT transactions > 0 FROM bench.run('$script', clients => 2, duration => '10 min', label => '$label', $options)");
	wait_for($node, "SELECT seconds > 1 AND transactions > 1000 FROM bench.progress WHERE label = '$label'");
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator'");
	system_or_bail('prlimit', "--pid=$pid", "--fsize=$limit:$limit");
	$node->safe_psql('postgres', 'SELECT bench.cancel(run_id) FROM bench.progress');
	my ($stdout, $stderr) = finish_sql($run);
	is($stdout, 't', "$label: the caller has the result");
	nothing_left_ok($node, $label);
	return $stderr;
}

my $full = qr/could not (extend|write blocks? [\d.]+ in) file ".*"( with FileFallocate\(\))?: File too large/;
foreach my $mode (qw(spi libpq))
{
	my $name = "log, $mode";
	like(end_on_full_disk($name, 'small', "mode => '$mode', log => true"), qr/WARNING:  .*run was aborted.*$full/s, "$name: and is told");
	like(latest_run($node, $name)->{state}, qr/^(canceled|failed)$/, "$name: the result is stored");
	like(latest_run($node, $name)->{errors}, qr/File too large/, '  with the error');
	figures_ok($node, latest_run($node, $name)->{run_id}, $name);

	$name = "results, $mode";
	like(end_on_full_disk($name, 'large', "mode => '$mode'"), qr/results could not be stored: $full/, "$name: and is told");
	like(slurp_file($node->logfile), qr/run \d+ of pg_selfbench: results could not be stored: $full/, '  as the log is');
	is($node->safe_psql('postgres', "SELECT state FROM bench.run(sql => 'SELECT 1', transactions => 100, log => true)"), 'finished',
		"$name: with space again, the next run works");
	is(latest_run($node, $name)->{state}, 'lost', "$name: the run is lost");
	$node->safe_psql('postgres', $make_room);
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash');
$node->stop;
remove_data($node);
done_testing();
