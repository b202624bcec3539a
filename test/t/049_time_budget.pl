# Where the time of transactions went: the parts of bench.time_budget add up to
# the mean latency, none is negative, and what is not known is named.
use strict;
use warnings;

use SelfBench;
use Test::More;

my $node = new_bench_node('budget', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION spin(ms float8) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE until timestamptz := clock_timestamp() + ms * interval '1 ms';
	BEGIN
		WHILE clock_timestamp() < until LOOP END LOOP;
	END $$;
	CREATE TABLE row_to_lock AS SELECT 1 AS id;
	SELECT bench.define_script('sleep', 'SELECT pg_sleep(0.02);');
	SELECT bench.define_script('spin', 'SELECT spin(5);');
	SELECT bench.define_script('both', E'SELECT pg_sleep(0.02);\nSELECT spin(10);');
	SELECT bench.define_script('fails', E'SELECT 1 / (CASE WHEN random() < 0.5 THEN 0 ELSE 1 END);\nSELECT spin(1);');
	SELECT bench.define_script('pause', E'SELECT 1;\n\\\\sleep 5 ms\nSELECT 2;');
	SELECT bench.define_script('nothing', E'\\\\set x 1');
	SELECT bench.define_script('waits', 'SELECT pg_sleep(60);');
	SELECT bench.define_script('hot', E'BEGIN;\nSELECT FROM row_to_lock WHERE id = 1 FOR UPDATE;\nSELECT pg_sleep(0.02);\nEND;')});

# Runs a benchmark; returns its number.
sub run
{
	my ($arguments) = @_;
	return $node->safe_psql('postgres', "SELECT run_id FROM bench.run($arguments)");
}

# The parts of a run: microseconds (empty if unknown) and how they were measured,
# by component.  They add up, and none is negative.
sub budget_ok
{
	my ($run_id, $name) = @_;
	is( $node->safe_psql(
			'postgres', qq{
			SELECT count(*) > 0, bool_and(us_per_transaction >= 0) IS NOT FALSE,
			       bool_and((us_per_transaction IS NULL) = (measured LIKE 'unknown: %')),
			       bool_and((share IS NULL) = (us_per_transaction IS NULL)),
			       abs(sum(us_per_transaction) - 1000 * r.latency_avg_ms) <= 1e-3 * 1000 * r.latency_avg_ms,
			       abs(sum(share) - 1) <= 1e-3
			  FROM bench.runs r, bench.time_budget(r.run_id) WHERE r.run_id = $run_id GROUP BY r.run_id}),
		't|t|t|t|t|t',
		"$name: parts add up") or diag($node->safe_psql('postgres', "SELECT * FROM bench.time_budget($run_id)"));
	my %parts = map { my ($component, $us, $measured) = split /\|/, $_, 3; ($component => [ $us, $measured ]) }
	  split /\n/,
	  $node->safe_psql('postgres', "SELECT component, us_per_transaction, measured FROM bench.time_budget($run_id)");
	return \%parts;
}

# The mean latency of a run's transactions in microseconds.
sub latency_us
{
	return $node->safe_psql('postgres', "SELECT 1000 * latency_avg_ms FROM bench.runs WHERE run_id = $_[0]");
}

# The sum of some parts as a fraction of the latency.
sub share
{
	my ($run_id, $parts, $pattern) = @_;
	my $sum = 0;
	$sum += $parts->{$_}[0] || 0 foreach grep { /$pattern/ } keys %$parts;
	return $sum / latency_us($run_id);
}

my $counts = -e '/proc/self/schedstat';

foreach my $mode (qw(spi libpq))
{
	my $server = $mode eq 'spi' ? '' : 'server: ';
	my $cpu = $mode eq 'spi' ? qr/^(parse and plan|executor|commit|session|harness|run queue)$/ : qr/^server: (CPU|run queue)$/;

	# A function that spins is CPU time; a sleeping one is not.
	my $run_id = run("'spin', mode => '$mode', transactions => 100");
	my $parts = budget_ok($run_id, "$mode: spin");
	cmp_ok(share($run_id, $parts, $cpu), '>', 0.8, "$mode: a spinning function is CPU time") if $counts;
	cmp_ok($parts->{executor}[0], '>', 0.9 * ($parts->{$_}[0] || 0), "$mode: of the executor, not of $_")
	  foreach $mode eq 'spi' ? ('parse and plan', 'commit', 'session', 'harness') : ();
	$run_id = run("'sleep', mode => '$mode', transactions => 20");
	$parts = budget_ok($run_id, "$mode: sleep");
	cmp_ok(share($run_id, $parts, $cpu), '<', 0.2, "$mode: a sleeping function is not") if $counts;

	# Parts of a transaction in proportion.
	$run_id = run("'both', mode => '$mode', transactions => 40, per_statement => true");
	$parts = budget_ok($run_id, "$mode: sleep and spin");
	my $spun = $node->safe_psql('postgres',
		"SELECT latency_avg_ms / sum(latency_avg_ms) OVER () FROM bench.run_statements WHERE run_id = $run_id ORDER BY command_no DESC LIMIT 1");
	if ($counts)
	{
		cmp_ok(share($run_id, $parts, $cpu), '>', 0.7 * $spun, "$mode: CPU time is not less than what the statement took");
		# On a busy machine, the run queue has its part in how long the sleep takes.
		cmp_ok(share($run_id, $parts, $cpu) - share($run_id, $parts, qr/run queue$/), '<', 1.4 * $spun, "$mode: nor more");
	}

	# With a schedule, the lag is a part.
	$run_id = run("'select-only', mode => '$mode', rate => 500, duration => '1 s'");
	$parts = budget_ok($run_id, "$mode: rate");
	is( sprintf('%.3f', $parts->{'schedule lag'}[0]),
		$node->safe_psql('postgres', "SELECT round((1000 * lag_avg_ms)::numeric, 3) FROM bench.runs WHERE run_id = $run_id"),
		"$mode: schedule lag");

	# So is \sleep.
	$run_id = run("'pause', mode => '$mode', transactions => 20");
	$parts = budget_ok($run_id, "$mode: pause");
	is( sprintf('%.3f', $parts->{'\sleep'}[0]),
		$node->safe_psql('postgres', "SELECT round((1000 * sleep_avg_ms)::numeric, 3) FROM bench.runs WHERE run_id = $run_id"),
		"$mode: time in \\sleep");

	# Several clients, a warm-up, each protocol, failures, scripts without statements.
	budget_ok(run("'select-only', mode => '$mode', clients => 4, jobs => 1, transactions => 500, warmup => '100 ms'"),
		"$mode: several clients of a worker");
	budget_ok(run("'tpcb-like', mode => '$mode', protocol => '$_', clients => 2, transactions => 200"), "$mode: $_")
	  foreach qw(simple extended prepared);
	budget_ok(run("'fails', mode => '$mode', transactions => 200, continue_on_error => true"), "$mode: failures");
	budget_ok(run("'nothing', mode => '$mode', transactions => 100"), "$mode: no statement");

	# A connection for each transaction.
	if ($mode eq 'libpq')
	{
		$parts = budget_ok(run("'select-only', mode => 'libpq', reconnect => true, transactions => 20"), 'reconnect');
		is($parts->{'server: CPU'}[1], 'unknown: each transaction has its own session', 'reconnect: what is not known');
	}

	# Transactions that wait for each other.
	$run_id = run("'hot', mode => '$mode', clients => 2, transactions => 20");
	$parts = budget_ok($run_id, "$mode: locks");
	cmp_ok(share($run_id, $parts, $cpu), '<', 0.2, "$mode: waiting is not CPU time") if $counts;

	# Nothing to divide.
	foreach my $case (
		[ "'select-only', transactions => 5, observe => false", 'the run was not observed until its end' ],
		[ "'waits', duration => '100 ms', latency_limit => 1", 'no transaction was successful' ])
	{
		my ($arguments, $reason) = @$case;
		my $session = start_sql($node, "SET client_min_messages = error; SELECT state FROM bench.run($arguments, mode => '$mode')");
		if ($arguments =~ /waits/)
		{
			wait_for_state($node);
			$node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs');
		}
		finish_sql($session);
		is( $node->safe_psql('postgres', 'SELECT b.* FROM bench.time_budget((SELECT max(run_id) FROM bench.runs)) b'),
			"latency|||unknown: $reason",
			"$mode: $reason");
	}
}

# Whether the last run has begun.
sub wait_for_state
{
	my ($node) = @_;
	$node->poll_query_until('postgres',
		q{SELECT EXISTS (SELECT FROM bench.progress WHERE phase = 'running')})
	  or die 'the run does not begin';
}

# A target: its processes are not ours.
my $target = "host=" . $node->host . " port=" . $node->port . " dbname=postgres";
my $run_id = run("'select-only', mode => 'libpq', target => '$target', transactions => 200");
my $parts = budget_ok($run_id, 'target');
is($parts->{'server: CPU'}[1], 'unknown: the sessions are on another server', 'target: CPU time');
is($parts->{'server: run queue'}[1], 'unknown: the sessions are on another server', 'target: run queue');
like($parts->{'wake-ups and socket'}[1], qr/^by difference, with all that is unknown$/, 'target: the rest');

# The readings are stored with the run, and only its role sees them.
is( $node->safe_psql('postgres',
		"SELECT timed_transactions >= 0, busy_ms > 0, clients_ms >= busy_ms * 0.9 FROM bench.run_times WHERE run_id = $run_id"),
	't|t|t',
	'stored readings');
$node->safe_psql('postgres', q{CREATE ROLE stranger; SELECT bench.grant_to('stranger')});
my ($status, undef, $error) = $node->psql('postgres', "SET ROLE stranger; SELECT bench.time_budget($run_id)");
isnt($status, 0, 'a run of another role');
like($error, qr/ERROR:  (there is no run|run) $run_id|does not exist/, 'is not visible');
is($node->safe_psql('postgres', "SET ROLE stranger; SELECT count(*) FROM bench.run_times"), '0', 'nor its readings');

done_testing();
