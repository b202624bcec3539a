# The server is shut down, or crashes, during a run.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('shutdown', 'max_prepared_transactions = 1');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# Starts a run without a limit.  Returns the session that called bench.run, if any.
sub endless
{
	my ($function, $mode, $label, $options) = @_;

	$options //= '';
	my $arguments =
	  "${options}mode => '$mode', clients => 3, duration => '10 min', vacuum => 'none', label => '$label'";
	my $caller;
	if ($function eq 'run')
	{
		$caller = start_sql($node, "SELECT state FROM bench.run($arguments)");
	}
	else { $node->safe_psql('postgres', "SELECT bench.start($arguments)") }
	wait_for_transactions($node, $label);
	return $caller;
}

foreach my $function (qw(run start))
{
	foreach my $mode (qw(spi libpq))
	{
		my $name   = "fast shutdown, bench.$function, $mode";
		my $caller = endless($function, $mode, $name);
		ok($node->stop('fast', fail_ok => 1), "$name: the server stops");
		finish_sql($caller) if $caller;
		unlike(
			slurp_file($node->logfile),
			qr/PANIC|TRAP|terminated by signal/,
			"$name: nothing crashes");
		$node->start;
		my $run = latest_run($node, $name);
		ok(scalar($run->{state} =~ /^(canceled|finished)$/), "$name: the run is stored as ended")
		  or diag "state: $run->{state}";
		figures_ok($node, $run->{run_id}, $name) if $run->{state} ne 'running';
		invariants_ok($node, undef, $name);
		next_run_ok($node, $name);
	}
}

# A lock that the end of no session releases.
foreach my $lock ('bench.runs IN SHARE MODE', 'bench.transactions IN SHARE MODE', 'bench.runs')
{
	my $offset = -s $node->logfile;
	endless('start', 'spi', $lock, 'log => true, ');
	$node->safe_psql('postgres', "BEGIN; LOCK TABLE $lock; PREPARE TRANSACTION 'lock'");
	ok($node->stop('fast', fail_ok => 1), "a prepared transaction has locked $lock: the server stops");
	like(
		slurp_file($node->logfile, $offset),
		qr/LOG:  run \d+ of pg_selfbench: results could not be stored: canceling statement due to lock timeout/,
		"$lock: the log has why the run is not stored") unless $lock =~ /transactions/;
	$node->start;
	$node->safe_psql('postgres', "ROLLBACK PREPARED 'lock'");
	next_run_ok($node, "$lock: afterwards");
}
like(latest_run($node, 'bench.transactions IN SHARE MODE')->{errors}, qr/canceling statement due to lock timeout/, 'a run whose log alone could not be stored says so');

foreach my $mode (qw(spi libpq))
{
	my $name = "crash, $mode";
	endless('start', $mode, $name);
	$node->stop('immediate');
	$node->start;
	my $run = latest_run($node, $name);
	is($run->{state}, 'running', "$name: nobody could store the end of the run");
	my ($status, $stdout, $stderr) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSELECT bench.wait($run->{run_id})");
	like(
		$stderr,
		qr/ERROR:  55000: run $run->{run_id} was lost\n.*DETAIL:  Its coordinator ended before it stored a result/s,
		"$name: bench.wait says so");
	is($node->safe_psql('postgres', "SELECT bench.cancel($run->{run_id})"),
		'f', "$name: there is nothing to cancel");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'),
		0, "$name: it is not in progress");
	my $advice = $node->safe_psql('postgres', "SELECT finding, remedy FROM bench.advice($run->{run_id})");
	like($advice, qr/^the run was lost\|Check the server log, and repeat the run\.$/m, "$name: its advice says that it is lost");
	unlike($advice, qr/the run was short|few transactions/, "$name: and not that it was short");
	like($node->safe_psql('postgres', "SELECT bench.report($run->{run_id}, 'html')"),
		qr/The run was lost: its processes ended/, "$name: its report says that it is lost");
	is($node->safe_psql('postgres', "SELECT state FROM bench.run_summary WHERE run_id = $run->{run_id}"), 'lost', "$name: so does the summary");
	invariants_ok($node, undef, $name);
	next_run_ok($node, $name);
	is(latest_run($node, $name)->{state}, 'lost', "$name: the next run marks it");
	($status, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT bench.wait($run->{run_id})");
	like($stderr, qr/run $run->{run_id} was lost/, "$name: bench.wait still says so");

	# bench.wait looks at the run, then at its coordinator, then at the run again.  A
	# lock holds it up in the first look, when it has seen a run in progress.
	$node->safe_psql('postgres',
		"UPDATE bench.runs SET state = 'running' WHERE run_id = $run->{run_id}");
	my $locker = $node->background_psql('postgres');
	$locker->query_safe('BEGIN; LOCK TABLE bench.run_scripts');
	my $waiter = start_sql($node, "SELECT bench.wait($run->{run_id})", name => 'waiter');
	wait_for($node,
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE application_name = 'waiter'");
	$locker->query_safe(
		"UPDATE bench.runs SET state = 'lost' WHERE run_id = $run->{run_id}; COMMIT");
	$locker->quit;
	(undef, $stderr) = finish_sql($waiter);
	like(
		$stderr,
		qr/ERROR:  55000: run $run->{run_id} was lost/,
		"$name: bench.wait says so if it is marked meanwhile");
}

# The postmaster is killed without a signal to other processes, which must notice it.
foreach my $mode (qw(spi libpq))
{
	my $name = "killed postmaster, $mode";
	endless('start', $mode, $name);
	my @pids = split /\n/, $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'pg_selfbench%' OR application_name = 'pg_selfbench'"
	);
	cmp_ok(scalar @pids, '>=', 4, "$name: processes before");
	$node->kill9;
	my $left = 1;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$left = grep { is_running($_) } @pids;
		last if !$left;
		usleep(100_000);
	}
	is($left, 0, "$name: its processes end");
	# If the postmaster is not reaped, the next one believes that it is alive.
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	ok(start_after_kill($node), "$name: the server starts again");
	my $run = latest_run($node, $name);
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT bench.wait($run->{run_id})");
	like($stderr, qr/run $run->{run_id} was lost/, "$name: bench.wait tells");
	invariants_ok($node, undef, $name);
	next_run_ok($node, $name);
}

$node->stop;
done_testing();
