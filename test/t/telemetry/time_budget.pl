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
	SELECT bench.define_script('sleep', 'SELECT pg_sleep(0.02);');
	SELECT bench.define_script('spin', 'SELECT spin(5);');
	SELECT bench.define_script('both', E'SELECT pg_sleep(0.02);\nSELECT spin(10);');
	SELECT bench.define_script('fails', E'SELECT 1 / (CASE WHEN random() < 0.5 THEN 0 ELSE 1 END);\nSELECT spin(1);');
	SELECT bench.define_script('pause', E'SELECT 1;\n\\\\sleep 5 ms\nSELECT 2;');
	SELECT bench.define_script('shell', E'\\\\shell sleep 0.02\nSELECT 1;');
	SELECT bench.define_script('answer and sleeps', E'SELECT 1;\n' || repeat(E'\\\\sleep 1 us\n', 200));
	SELECT bench.define_script('long', 'SELECT spin(300);');
	CREATE TABLE deferred (a int);
	CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM spin(1); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER fire AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fire();
	SELECT bench.define_script('deferred', 'INSERT INTO deferred VALUES (1);');
	SELECT bench.define_script('rested', E'\\\\sleep 1 ms\nSELECT spin(5);');
	SELECT bench.define_script('nothing', E'\\\\set x 1');
	SELECT bench.define_script('waits', 'SELECT pg_sleep(60);');
	SELECT bench.define_script('hot', E'SELECT pg_advisory_lock(1);\nSELECT pg_sleep(0.02);\nSELECT pg_advisory_unlock(1);')});

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

# The sum of some parts in microseconds.
sub us
{
	my ($parts, $pattern) = @_;
	my $sum = 0;
	$sum += $parts->{$_}[0] || 0 foreach grep { /$pattern/ } keys %$parts;
	return $sum;
}

# The mean latency of a command of the first script, in microseconds.
sub command_us
{
	my ($run_id, $command_no) = @_;
	return $node->safe_psql('postgres',
		"SELECT 1000 * latency_avg_ms FROM bench.run_statements WHERE run_id = $run_id AND command_no = $command_no");
}

# Tests that a part is what a column of the run has in milliseconds, up to rounding.
sub same_us_ok
{
	my ($run_id, $us, $column, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $expected = $node->safe_psql('postgres', "SELECT 1000 * $column FROM bench.runs WHERE run_id = $run_id");
	# Rounded to five digits.
	return cmp_ok(abs($us - $expected), '<=', 1e-4 * $expected, $name);
}

# On a busy machine, a statement takes longer than its script says, by the run queue and by wake-ups.  So
# a part is compared with the time that the script is known to take at least, and with the time that its
# statement has taken.

my $counts = -e '/proc/self/schedstat';

foreach my $mode (qw(spi libpq))
{
	my $server = $mode eq 'spi' ? '' : 'server: ';
	my $wait = $mode eq 'spi' ? 'wait: ' : 'server: wait ';
	my $cpu = $mode eq 'spi' ? qr/^(parse and plan|executor|commit|session|harness)$/ : qr/^server: CPU$/;
	my $queue = qr/^(server: )?run queue$/;
	my ($locks, $sleeps) = map { qr/wait:? $_$/ } qw(Lock Timeout);

	# A function that spins is CPU time, or its process waits for a CPU; a sleeping one is not.
	my $run_id = run("'spin', mode => '$mode', transactions => 100");
	my $parts = budget_ok($run_id, "$mode: spin");
	cmp_ok(us($parts, $cpu) + us($parts, $queue), '>', 0.8 * 5000, "$mode: a spinning function is CPU time") if $counts;
	cmp_ok($parts->{executor}[0], '>', 0.9 * ($parts->{$_}[0] || 0), "$mode: of the executor, not of $_")
	  foreach $mode eq 'spi' ? ('parse and plan', 'commit', 'session', 'harness') : ();
	in_time_ok("$mode: a sleeping function waits", sub {
		$run_id = run("'sleep', mode => '$mode', transactions => 20 * $_[0], wait_sample_rate => 500");
		$parts = budget_ok($run_id, "$mode: sleep");
		return us($parts, $sleeps) > 0.7 * 20_000;
	});
	cmp_ok(us($parts, $cpu), '<', 0.2 * us($parts, $sleeps), "$mode: a sleeping function is not CPU time") if $counts;

	# Parts of a transaction.
	in_time_ok("$mode: sleep and spin", sub {
		$run_id = run("'both', mode => '$mode', transactions => 40 * $_[0], per_statement => true, wait_sample_rate => 500");
		$parts = budget_ok($run_id, "$mode: sleep and spin");
		return us($parts, $sleeps) > 0.6 * 20_000;
	});
	if ($counts)
	{
		cmp_ok(us($parts, $cpu) + us($parts, $queue), '>', 0.7 * 10_000, "$mode: spinning takes its time");
		cmp_ok(us($parts, $cpu), '<', 1.4 * command_us($run_id, 1), "$mode: and not more than its statement");
	}
	cmp_ok(us($parts, $sleeps), '<', 1.4 * command_us($run_id, 0), "$mode: sleeping takes not more than its statement");
	like($parts->{"${wait}Timeout"}[1], qr/^sampled \d+ of \d+ times/, "$mode: how that was measured");

	# With a schedule, the lag is a part.
	$run_id = run("'select-only', mode => '$mode', rate => 500, duration => '1 s'");
	$parts = budget_ok($run_id, "$mode: rate");
	same_us_ok($run_id, $parts->{'schedule lag'}[0], 'lag_avg_ms', "$mode: schedule lag");

	# Waiting for that, and for answers, takes no CPU time.
	$run_id = run("'sleep', mode => '$mode', rate => 20, transactions => 20");
	$parts = budget_ok($run_id, "$mode: rate and sleep");
	is( $node->safe_psql('postgres',
			"SELECT workers_cpu_ms < 0.2 * busy_ms FROM bench.run_times WHERE run_id = $run_id"),
		't',
		"$mode: a client sleeps while its session executes")
	  if $mode eq 'libpq';

	# Transactions of several turns are timed, too.
	$run_id = run("'rested', mode => '$mode', transactions => 40");
	$parts = budget_ok($run_id, "$mode: several turns");
	is( $node->safe_psql('postgres', "SELECT timed_transactions > 0 FROM bench.run_times WHERE run_id = $run_id"),
		't', "$mode: parts of transactions that sleep are timed")
	  if $mode eq 'spi';

	# The measured time begins within a transaction.
	$run_id = run("'long', mode => '$mode', warmup => '100 ms', transactions => 3");
	$parts = budget_ok($run_id, "$mode: begun in the warm-up");
	is( $node->safe_psql('postgres', "SELECT busy_ms <= clients_ms FROM bench.run_times WHERE run_id = $run_id"),
		't', "$mode: of a transaction begun in the warm-up, the time after it counts");

	# Commands of the shell.
	$run_id = run("'shell', mode => '$mode', transactions => 20");
	$parts = budget_ok($run_id, "$mode: shell");
	cmp_ok($parts->{'\shell'}[0], '>', 0.8 * 20_000, "$mode: time in \\shell");

	# Deferred triggers are executed by the commit.
	if ($mode eq 'spi')
	{
		$run_id = run("'deferred', transactions => 200");
		$parts = budget_ok($run_id, 'deferred trigger');
		cmp_ok($parts->{'parse and plan'}[0], '<', $parts->{commit}[0], 'a deferred trigger is not parsed and planned');
	}

	# \sleep is a part, too.
	$run_id = run("'pause', mode => '$mode', transactions => 20");
	$parts = budget_ok($run_id, "$mode: pause");
	same_us_ok($run_id, $parts->{'\sleep'}[0], 'sleep_avg_ms', "$mode: time in \\sleep");

	# Several clients, a warm-up, each protocol, failures, scripts without statements.
	budget_ok(run("'select-only', mode => '$mode', clients => 4, transactions => 500, warmup => '100 ms'" . ($mode eq 'libpq' ? ', jobs => 1' : '')),
		"$mode: several clients of a worker");
	budget_ok(run("'tpcb-like', mode => '$mode', protocol => '$_', clients => 2, transactions => 200"), "$mode: $_")
	  foreach qw(simple extended prepared);
	budget_ok(run("'fails', mode => '$mode', transactions => 200, continue_on_error => true"), "$mode: failures");
	budget_ok(run("'nothing', mode => '$mode', transactions => 100"), "$mode: no statement");

	# One answer, and many turns after it for which no answer lies ready. How long it does is a part of the
	# statement's time.
	if ($mode eq 'libpq')
	{
		$run_id = run("'answer and sleeps', mode => 'libpq', clients => 8, jobs => 1, transactions => 400, per_statement => true");
		$parts = budget_ok($run_id, "$mode: several clients that sleep");
		cmp_ok(us($parts, qr/^client worker: (other clients|run queue)$/), '<', command_us($run_id, 0),
			"$mode: an answer is waited for once")
		  or diag($node->safe_psql('postgres', "SELECT * FROM bench.time_budget($run_id)"));
	}

	# A connection for each transaction.
	if ($mode eq 'libpq')
	{
		$parts = budget_ok(run("'select-only', mode => 'libpq', reconnect => true, transactions => 20"), 'reconnect');
		is($parts->{'server: CPU'}[1], 'unknown: each transaction has its own session', 'reconnect: what is not known');
	}

	# Clients that wait for each other: the lock goes to the one that waits for it.
	in_time_ok("$mode: they wait as long as the other one sleeps", sub {
		$run_id = run("'hot', mode => '$mode', clients => 2, transactions => 20 * $_[0], per_statement => true, wait_sample_rate => 500");
		$parts = budget_ok($run_id, "$mode: locks");
		return us($parts, $locks) > 0.5 * 20_000;
	});
	cmp_ok(us($parts, $locks), '<', 1.4 * command_us($run_id, 0), "$mode: not more than their statement");
	is( $node->safe_psql('postgres', "SELECT sum(lasting) > 0, bool_and(lasting <= samples), coalesce(sum(lasting) FILTER (WHERE event IS NULL), 0) FROM bench.run_waits WHERE run_id = $run_id"),
		't|t|0', "$mode: samples of a wait that lasts");
	cmp_ok(us($parts, $cpu), '<', 0.2 * us($parts, $locks), "$mode: waiting is not CPU time") if $counts;

	# No samples.
	$parts = budget_ok(run("'select-only', mode => '$mode', transactions => 50, wait_sample_rate => 0"), "$mode: no samples");
	is($parts->{"${server}waits"}[1], 'unknown: waits were not sampled', "$mode: no samples");

	# Nothing to divide.
	foreach my $case (
		[ "'select-only', transactions => 5, observe => false", 'the run was not observed (observe => false)' ],
		[ "'waits', duration => '10 min'", 'no transaction was successful' ])
	{
		my ($arguments, $reason) = @$case;
		my $session = start_sql($node, "SET client_min_messages = error; SELECT state FROM bench.run($arguments, mode => '$mode')");
		if ($arguments =~ /waits/)
		{
			wait_for_sleep($node);
			$node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs');
		}
		finish_sql($session);
		is( $node->safe_psql(
				'postgres', q{
				SELECT busy_ms > 0, busy_ms <= clients_ms FROM bench.run_times
				 WHERE run_id = (SELECT max(run_id) FROM bench.runs)}),
			't|t',
			"$mode: a transaction that has not ended took its time")
		  if $arguments =~ /waits/;
		is( $node->safe_psql('postgres', 'SELECT component, us_per_transaction, share, measured FROM bench.time_budget((SELECT max(run_id) FROM bench.runs))'),
			"latency|||unknown: $reason",
			"$mode: $reason");
	}
}

# Whether the last run has begun.
sub wait_for_sleep
{
	my ($node) = @_;
	$node->poll_query_until('postgres',
		q{SELECT EXISTS (SELECT FROM bench.progress WHERE phase = 'running')
		     AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')})
	  or die 'no transaction begins';
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
