# What a session that waits for a task does not keep: locks of its own queries, and what it knew of
# tables that the task has dropped.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('waiting', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\n");
$node->safe_psql(
	'postgres', q{
	SELECT bench.initialize();
	SELECT bench.initialize_pgio(size => '100');
	CREATE TABLE held ();
	CREATE TABLE indexed AS SELECT generate_series(1, 100) AS i;
	SELECT bench.define_script('nap', E'SELECT 1;\n\\\\sleep 10 ms')});

# The calls that wait, each with what prepares it in another session, if anything.
my $nap   = "scripts => 'nap', duration => '10 min'";
my @calls = (
	[ 'run'           => "bench.run($nap)" ],
	[ 'compare'       => "bench.compare($nap, repeats => 2)" ],
	[ 'sweep'         => "bench.sweep(grid => '{\"clients\": [1, 2]}', $nap, repeats => 1)" ],
	[ 'find_capacity' => "bench.find_capacity(20, 90, $nap)" ],
	[ 'resume' => 'bench.resume((SELECT max(set_id) FROM bench.sets))' ],
	[ 'run_pgio' => "bench.run_pgio(duration => '10 min', work_unit => 10)" ],
	[ 'pgbench' => "bench.pgbench('-n -S -T 600')" ],
	[ 'wait' => "bench.wait((SELECT max(run_id) FROM bench.runs))", "SELECT bench.start($nap)" ],
	[ 'initialize' => 'bench.initialize()' ],
	[ 'initialize_pgio' => "bench.initialize_pgio(size => '100')" ]);

# Sessions that exist before maintenance, which keeps new ones waiting for a moment.
my $watcher = $node->background_psql('postgres');
my $gate    = $node->background_psql('postgres');

# Starts a call in a session, after other statements, and waits until it waits for its task.
# Returns the session and the process ID of its backend.
sub begin
{
	my ($call, $before) = @_;
	my ($name, $sql, $prepare) = @$call;

	$node->safe_psql('postgres', $prepare) if defined $prepare;
	# The argument is not to be read by the statement that waits.
	$sql =~ s/\((\(SELECT .*\))\)$/'(' . $node->safe_psql('postgres', "SELECT $1") . ')'/e;
	$gate->query_safe('BEGIN');
	$gate->query_safe('LOCK TABLE pgbench_accounts, pgio1 IN ACCESS SHARE MODE') if $name =~ /initialize/;
	my $caller = start_sql($node, "$before SELECT * FROM $sql", name => 'caller');
	my $pid = backend_of($node, 'caller');
	wait_for($node, $name =~ /initialize/
		? "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation IN ('pgbench_accounts'::regclass, 'pgio1'::regclass)"
		: 'SELECT count(*) > 0 FROM bench.progress WHERE transactions > 0');
	return ($caller, $pid);
}

# Ends everything that goes on. The gate stays until the caller has ended: the loader must not go on.
sub finish
{
	my ($caller) = @_;

	signal_sql($caller, 'INT');
	finish_sql($caller);
	$gate->query_safe('ROLLBACK');
	$node->safe_psql('postgres', 'SELECT bench.cancel(run_id) FROM bench.progress');
	return ok(wait_until_quiet($node), 'nothing goes on');
}

# The locks of a session but those of its own transaction; of those that come and go with what the
# session looks at, the fewest that were seen.
sub locks_of
{
	my ($pid, $expected) = @_;

	my $found;
	foreach (1 .. 100)
	{
		$found = $watcher->query_safe(<<"SQL");
SELECT concat_ws(' ', locktype, relation::regclass, mode) FROM pg_locks
 WHERE pid = $pid AND locktype IN ('relation', 'transactionid') ORDER BY 1
SQL
		last if $found eq $expected;
		usleep(50_000);
	}
	return $found;
}

# Waits until a statement of maintenance has ended, or waits for another process as it seems for good;
# returns whether that process is this one, and whether the statement has ended.
sub waits_for
{
	my ($pid, $session) = @_;

	my %seen = (caller => 0, other => 0);
	until (has_ended($session))
	{
		my $for = $watcher->query_safe(<<"SQL");
SELECT CASE WHEN $pid = ANY (pids) THEN 'caller' WHEN pids <> '{}' THEN 'other' ELSE 'none' END
  FROM pg_stat_activity, pg_blocking_pids(pid) AS pids WHERE application_name = 'maintenance'
SQL
		# What the caller looks at meanwhile may block for a moment.
		$seen{$_} = $for eq $_ ? $seen{$_} + 1 : 0 foreach keys %seen;
		last if $seen{caller} == 100 || $seen{other} == 100;
		usleep(20_000);
	}
	return ($seen{caller} == 100, has_ended($session));
}

my @maintenance = (
	'REINDEX SYSTEM postgres',
	'VACUUM FULL pg_namespace',
	'VACUUM FULL pg_class',
	'CREATE INDEX CONCURRENTLY ON indexed (i)');
foreach my $call (@calls)
{
	my $name = $call->[0];
	my ($caller, $pid) = begin($call, 'BEGIN; LOCK TABLE held IN ACCESS SHARE MODE;');
	is(locks_of($pid, 'relation held AccessShareLock'),
		'relation held AccessShareLock', "$name: no lock but the one from before");
	foreach my $statement (@maintenance)
	{
		my $session = start_sql($node, $statement, name => 'maintenance');
		my ($waits, $ended) = waits_for($pid, $session);
		ok(!$waits, "$name: $statement does not wait for it");
		# It may wait for the loader.
		signal_sql($session, 'INT') if !$ended;
		my ($stdout, $stderr) = finish_sql($session);
		is($stderr, '', "$name: $statement ends") if $name !~ /initialize/;
	}
	finish($caller);
}

# Tables that the task has dropped. The session knows only their names, from its look at its own locks.
foreach (
	[ 'initialize',      'bench.initialize()',                  'pgbench_accounts' ],
	[ 'initialize_pgio', "bench.initialize_pgio(size => '100')", 'pgio1' ])
{
	my ($name, $call, $table) = @$_;
	is( $node->safe_psql('postgres', <<"SQL"),
SET client_min_messages = warning;
BEGIN; SELECT count(*) > 0 FROM $call; TRUNCATE $table; SELECT count(*) FROM $table; ROLLBACK
SQL
		"t\n0", "$name: the next statement of the transaction finds the new table");
}

$watcher->quit;
$gate->quit;
$node->stop;
done_testing();
