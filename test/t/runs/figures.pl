# What runs tell of themselves: which transactions the figures cover, single
# commands, time asleep, runs that go on or never began.
use strict;
use warnings;

use SelfBench;
use Test::More;

my $node = new_bench_node('figures', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('sleeper', E'SELECT 1;\n\\\\sleep 20 ms\nSELECT 2;');
	SELECT bench.define_script('long', repeat(E'SELECT 1;\n', 20000))});

# The last line of what a sequence of statements returns.
sub last_of
{
	return (split /\n/, $node->safe_psql('postgres', shift))[-1];
}

# Connections of the warm-up, which take most of its 2 s, are not among those of the
# transactions that count.  The first of these may have been made before.
in_time_ok('connection time with a warm-up', sub {
	return last_of(
		qq{SELECT FROM bench.run('select-only', mode => 'libpq', reconnect => true,
		                        warmup => 2 * $_[0], transactions => 20, label => 'reconnect $_[0]');
		SELECT connection_ms > 0, connection_ms * transactions <= seconds * 1000 + 1000,
		       warmup_transactions > 0
		FROM bench.runs WHERE label = 'reconnect $_[0]'}) eq 't|t|t';
});

# Single commands.
foreach my $mode (qw(spi libpq))
{
	is( last_of(
			qq{SELECT FROM bench.run('tpcb-like,select-only', mode => '$mode', clients => 2,
			                         transactions => 100, per_statement => true, label => '$mode commands');
			SELECT count(*), bool_and(executions > 0), bool_and(bench.histogram_count(s.histogram) = executions),
			       bool_and(s.latency_min_ms <= s.latency_p50_ms AND s.latency_p50_ms <= s.latency_p90_ms
			                AND s.latency_p90_ms <= s.latency_p95_ms AND s.latency_p95_ms <= s.latency_p99_ms
			                AND s.latency_p99_ms <= s.latency_p999_ms AND s.latency_p999_ms <= s.latency_max_ms),
			       bool_and(least(greatest(bench.percentile(s.histogram, 95), s.latency_min_ms), s.latency_max_ms)
			                = s.latency_p95_ms),
			       bench.histogram_count(bench.merge_histograms(s.histogram)) = sum(executions)
			FROM bench.run_statements s JOIN bench.runs r USING (run_id) WHERE label = '$mode commands'}),
		'13|t|t|t|t|t',
		"$mode: percentiles of single commands");

	# A bucket's value is within 1/256 of those that it counts, or 32 ns.
	is( last_of(
			qq{SELECT FROM bench.run('sleeper', mode => '$mode', transactions => 1, per_statement => true,
			                         label => '$mode once');
			SELECT bool_and(abs(bench.percentile(s.histogram, 50) - s.latency_avg_ms)
			                <= greatest(s.latency_avg_ms * (1.0 / 256 + 1.0 / 1024), 0.0001))
			FROM bench.run_statements s JOIN bench.runs r USING (run_id) WHERE label = '$mode once'}),
		't',
		"$mode: they are near what was measured");

	# Time asleep is a part of the latency that is counted beside it.
	is( last_of(
			qq{SELECT FROM bench.run('sleeper', mode => '$mode', clients => 2, transactions => 5, label => '$mode sleep');
			SELECT r.sleep_avg_ms >= 20, r.sleep_avg_ms < r.latency_avg_ms,
			       abs(s.sleep_avg_ms - r.sleep_avg_ms) < 1e-6,
			       abs((SELECT sum(i.sleep_avg_ms * i.transactions) FROM bench.run_intervals i
			             WHERE i.run_id = r.run_id) - r.sleep_avg_ms * r.transactions) < 1e-3
			FROM bench.runs r JOIN bench.run_scripts s USING (run_id) WHERE label = '$mode sleep'}),
		't|t|t|t',
		"$mode: time asleep");
	like(
		$node->safe_psql('postgres',
			"SELECT bench.report(run_id) FROM bench.runs WHERE label = '$mode sleep'"),
		qr/^latency average = \d+\.\d+ ms\n.*^latency average without \\sleep = \d+\.\d+ ms \(\d+\.\d+ ms of it in \\sleep\)$/ms,
		"$mode: and reported");
	is( last_of(
			qq{SELECT FROM bench.run('select-only', mode => '$mode', transactions => 5, label => '$mode awake');
			SELECT sleep_avg_ms IS NULL, (SELECT bool_or(line ~ 'sleep') FROM bench.report(run_id) line) FROM bench.runs WHERE label = '$mode awake'}),
		't|f',
		"$mode: without any");
}

my (undef, undef, $error) = $node->psql('postgres',
	"SELECT bench.run('long', clients => 4, transactions => 1, per_statement => true)",
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like(
	$error,
	qr/ERROR:  54000: option "per_statement" needs \d+ MB of shared memory for 20000 commands of 4 client processes\nDETAIL:  The limit is 1024 MB\.\nHINT:  Use fewer scripts or clients/,
	'more histograms of commands than are reasonable');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'), 0, 'nothing has started');


# A run that warms up, then counts, seen from outside.
my $columns = 'phase, done_share BETWEEN 0 AND 1, left_s >= 0, tps > 0';
my $run = $node->safe_psql('postgres',
	"SELECT bench.start('select-only', warmup => '5 min', duration => '5 min', label => 'warms up')");
wait_for($node, "SELECT phase = 'warming up' AND seconds > 0.1 FROM bench.progress WHERE run_id = $run");
is($node->safe_psql('postgres', "SELECT $columns, transactions, interval_tps FROM bench.progress"),
	'warming up|t|t||0|', 'bench.progress during the warm-up has no tps');
$node->safe_psql('postgres', "SELECT bench.cancel($run)");
wait_until_quiet($node);

$run = $node->safe_psql('postgres',
	q{SELECT bench.start('select-only', clients => 2, duration => '5 min', aggregate_interval => '100 ms', label => 'counts')});
ok( wait_for($node,
		"SELECT ($columns, interval_latency_avg_ms > 0, abs(300 - seconds - left_s) < 0.1, done_share < 0.5)::text = '(running,t,t,t,t,t,t)' FROM bench.progress"),
	'bench.progress has the last interval, percent and time left');

# Its report.
my $report = $node->safe_psql('postgres', "SELECT bench.report($run)");
like($report, qr/^transaction type: <builtin: select only>\n/m, 'a running run: its script');
like($report, qr/^number of transactions actually processed: [1-9]\d*\nnumber of failed transactions: 0 \(0\.000%\)\nlatency average = .*^tps = .*^latency percentiles \(ms\): p50.*^Run is still in progress; the above results are incomplete\.$/ms,
	'its figures so far');
$node->safe_psql('postgres', "SELECT bench.cancel($run)");
wait_until_quiet($node);
$run = $node->safe_psql('postgres',
	q{SELECT bench.start('sleeper', clients => 2, transactions => 100000, aggregate_interval => '100 ms', label => 'limited')});
wait_for($node, 'SELECT transactions > 0 AND interval_tps > 0 FROM bench.progress');
is($node->safe_psql('postgres', "SELECT $columns, done_share < 0.5 FROM bench.progress"),
	'running|t|t|t|t', 'bench.progress of a run that counts transactions');
like($node->safe_psql('postgres', "SELECT bench.report($run)"),
	qr/^transaction type: sleeper\n/m, 'a stored script has its name');
$node->safe_psql('postgres', "SELECT bench.cancel($run)");
wait_until_quiet($node);

# A run that was canceled before it started.
$node->safe_psql('postgres', "SELECT bench.define_script('described', 'SELECT 1', 'what it is for')");
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE pgbench_branches IN SHARE MODE');
my $caller = start_sql($node,
	"SELECT bench.run('described,tpcb-like\@3', duration => '5 min', label => 'never')",
	name => 'caller');
wait_for($node, "SELECT count(*) = 1 FROM bench.runs WHERE label = 'never' AND state = 'starting'");
is($node->safe_psql('postgres', "SELECT phase, done_share, left_s FROM bench.progress"),
	'starting|0.000|', 'bench.progress before the start: nothing is done');
wait_for($node,
	"SELECT count(pg_cancel_backend(pid)) = 1 FROM pg_stat_activity WHERE application_name = 'caller' AND state = 'active'");
finish_sql($caller);
$locker->query_safe('ROLLBACK');
$locker->quit;
$report = $node->safe_psql('postgres', "SELECT bench.report(run_id) FROM bench.runs WHERE label = 'never'");
unlike($report, qr/NaN/, 'canceled before start: nothing that is not a number');
# From 18 on, pgbench says no more of failures than of the rest if nothing was processed.
my $failures = $node->pg_version < 18 ? qr/number of failed transactions: 0 \(0\.000%\)\n/ : qr//;
like($report, qr/^transaction type: multiple scripts\n.*actually processed: 0\n$failures.*the run was canceled/ms,
	'but what it would have been');

# The last run of the session, else of the role.
$node->safe_psql('postgres', "SELECT bench.run('described', transactions => 3, label => 'last')");
like($node->safe_psql('postgres', 'SELECT bench.report()'),
	qr/^transaction type: described\n.*^label: last$/ms, 'the last run, a stored script by its name');
my $session = $node->background_psql('postgres');
$session->query_safe("SELECT bench.run('select-only', transactions => 3, label => 'of the session')");
$node->safe_psql('postgres', "SELECT bench.run('select-only', transactions => 3, label => 'of another')");
like($session->query_safe('SELECT bench.report()'),
	qr/^label: of the session$/m, 'the last run of the session, although another one came later');
my $last = $node->safe_psql('postgres', "SELECT run_id FROM bench.runs WHERE label = 'of the session'");
$session->query_safe('SET client_min_messages = warning');
like($session->query_safe("SELECT bench.$_()"), qr/\bof run $last\b/, "$_: the last run of the session") foreach qw(chart plot);
my @shown = qw(advice charts time_budget top_functions top_waits);
is( $session->query_safe("SELECT (SELECT json_agg(r)::text FROM bench.$_() r) IS NOT DISTINCT FROM (SELECT json_agg(r)::text FROM bench.$_($last) r)"),
	't', "$_: the last run of the session") foreach @shown;
$session->quit;
$node->safe_psql(
	'postgres', q{
	CREATE ROLE newcomer LOGIN;
	SELECT bench.grant_to('newcomer')});
foreach my $function ('report', 'chart', 'plot', @shown)
{
	(undef, undef, $error) = $node->psql('postgres',
		"SET ROLE newcomer; SELECT bench.$function()", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  42704: there is no run to report\nHINT:  Start one with bench\.run\./, "$function: none yet");
}

# What makes figures doubtful, at the start and afterwards; another role's run counts,
# and nothing of it shows.
$node->safe_psql('postgres', "SELECT bench.define_script('quick', 'SELECT 1')");
my $beside = $node->safe_psql('postgres',
	"SELECT bench.start('sleeper', duration => '10 min', label => 'beside')");
$node->safe_psql('postgres', 'CREATE TABLE of_newcomer (i int); GRANT ALL ON of_newcomer TO newcomer');
foreach my $role ('newcomer', $node->safe_psql('postgres', 'SELECT current_user'))
{
	my ($status, $advice, $told) = $node->psql('postgres',
		qq{SET ROLE "$role"; SELECT bench.define_script('mine', 'SELECT 1');
		SELECT bench.advice(run_id) FROM bench.run('mine', transactions => 200)});
	like($told, qr/NOTICE:  another run is in progress on this server\nDETAIL:  Runs in progress, of all roles and databases: 1\.\nHINT:  The runs share the server or, if that one has a target,/,
		"$role: told of another run");
	like($advice, qr/another run was in progress on this server at the same time/, "$role: advised on it");
	unlike($advice . $told, qr/beside|sleeper/, "$role: nothing of it shows");
}
like(
	(
		$node->psql('postgres', sprintf(q{SELECT bench.run('mine', transactions => 1, mode => 'libpq', target => 'host=%s port=%s dbname=postgres')},
				$node->host, $node->port))
	)[2],
	qr/another run is in progress .*\nHINT:  The load generators share this machine, so/s,
	'with a target, only the load generators share something');
$node->safe_psql('postgres', "SELECT bench.cancel($beside)");
wait_until_quiet($node);
is($node->safe_psql('postgres', "SELECT other_runs > 0 FROM bench.runs WHERE run_id = $beside"),
	't', 'the other one knows, although those have ended before');
is( last_of("SELECT bench.run('quick', transactions => 200, label => 'alone'); SELECT other_runs FROM bench.runs WHERE label = 'alone'"),
	0, 'a run alone');

my $processors = $node->safe_psql('postgres', "SELECT processors FROM bench.runs WHERE label = 'alone'");
cmp_ok($processors, '>', 0, 'the number of processors is stored');
SKIP:
{
	skip "too many processors for this test: $processors", 3 if $processors > 4;
	my $clients = 4 * $processors + 1;
	my $advice = "SELECT finding || ': ' || evidence FROM bench.advice((SELECT max(run_id) FROM bench.runs)) WHERE finding ~ 'processor'";
	(undef, my $out, $error) = $node->psql('postgres',
		"SELECT transactions FROM bench.run('quick', clients => $clients, transactions => 100, observe => false); $advice");
	like($out, qr/^clients of mode spi shared processors: $clients clients, processors: $processors$/m, 'more clients than processors');
	like($error, qr/NOTICE:  there are many more clients than processors\nDETAIL:  $clients clients share $processors processors\./,
		'and a notice if they are many more');
	# Nothing else is said of them, but if they hardly slept because they stood still.
	in_time_ok('which does not matter to clients that sleep', sub {
		return last_of("SELECT transactions FROM bench.run('sleeper', clients => $clients, transactions => 5 * $_[0]); $advice") eq
		  5 * $_[0] * $clients;
	});
}
like(
	last_of(
		q{SELECT FROM bench.run('sleeper', rate => 1000, duration => '2 s');
		SELECT finding || ': ' || evidence FROM bench.advice((SELECT max(run_id) FROM bench.runs)) WHERE finding ~ '^the rate'}),
	qr/^the rate was missed: (?:too few clients: )?by (?:9\d|100)%: \d+\.\d instead of 1000\.0 transactions per second$/,
	'a rate that was missed');
foreach my $case (
	[ "bench.run('sleeper', rate => 1000, duration => '1 s')", 1 ],
	[ "bench.compare('[{}, {}]', scripts => 'sleeper', rate => 1000, repeats => 2, duration => '1 s')", 1 ],
	[ "bench.run('sleeper', rate => 1000, transactions => 20)", 1 ],
	[ "bench.run('sleeper', rate => 5, transactions => 5)", 0 ],
	[ "bench.pgbench('-n -T 1 -R 1000 -f sleeper')", 0 ])
{
	my ($call, $times) = @$case;
	(undef, undef, $error) = $node->psql('postgres', "SELECT * FROM $call");
	my @told = $error =~ /NOTICE:  the rate was missed\nDETAIL:  (?:Run \d+|Arm "[^"]+", run \d+,) missed it by \d+%: \d+\.\d instead of 1000\.0 transactions per second\.(?: Limited by (?!none)\S+: .*\.)?$/gm;
	is(@told, $times, "notices of a missed rate: $call") or diag($error);
}

# What clients need, and what would do instead.
(undef, undef, $error) = $node->psql('postgres', 'SELECT bench.run(clients => 300)');
like($error,
	qr/not enough background worker slots: 301 needed.*HINT:  Clients need no worker slots with client_process => 'backend' or mode => 'libpq': they take connections, for which "max_connections" must be at least 30\d\. .*"max_worker_processes" to at least 30\d /s,
	'what 300 clients need');

# Spans of time are intervals or numbers of seconds.
foreach my $mode (qw(spi libpq))
{
	(undef, my $out, $error) = $node->psql('postgres',
		qq{SELECT count(*) FROM bench.run('simple-update', mode => '$mode', duration => 1, warmup => 0.5, aggregate_interval => 0.2::float8, label => '$mode seconds');
		SELECT duration_s, warmup_s, aggregate_interval_s FROM bench.runs WHERE label = '$mode seconds'});
	is($out, "1\n1|0.5|0.2", "$mode: seconds as numbers");
	is($error, '', "$mode: the call still holds no snapshot");
}
is( last_of(
		q{DO $$ DECLARE t interval = '1 s'; i bigint = 1; id bigint; BEGIN
			id := bench.start('quick', duration => t);
			PERFORM bench.wait(id, i);
			PERFORM bench.wait(id, NULL);
		END $$;
		SELECT state FROM bench.wait((SELECT max(run_id) FROM bench.runs), interval '1 min')}),
	'finished', 'variables of other types');
foreach my $wrong ('-1', '0', "'x'", '2147483648', '1e10', "'NaN'::float8")
{
	(undef, undef, $error) = $node->psql('postgres', "SELECT bench.run(duration => $wrong)");
	like($error, qr/ERROR:  (invalid value for option "duration"|invalid input syntax|interval out of range)/, "duration => $wrong");
}
is($node->safe_psql('postgres', "SELECT string_agg(n::text, ' ') FROM (VALUES (2::smallint::bench.span), (2::bigint::bench.span), (2::real::bench.span), (2.5::bench.span)) v (n)"),
	'00:00:02 00:00:02 00:00:02 00:00:02.5', 'numbers of every type');
like(($node->psql('postgres', 'SELECT 1e308::bench.span'))[2], qr/interval out of range/, 'too many seconds');
is($node->safe_psql('postgres', q{SELECT now() - interval '1 s' < now(), 5 + 5, interval '1 s' * 2, pg_sleep(0)}),
	't|10|00:00:02|', 'nothing else changes');

# Lines of progress: the warm-up has its own.
my @progress;
# Clients that stand still have 0 tps.
in_time_ok('progress', sub {
	(undef, undef, $error) = $node->psql('postgres',
		"SELECT bench.run('select-only', warmup => 1 * $_[0], duration => 1 * $_[0], progress => 0.4 * $_[0])");
	@progress = $error =~ /NOTICE:  (progress: .*)$/mg;
	return !grep { / 0\.0 tps/ } @progress;
});
my @warmup = grep { /^progress: [\d.]+ s, warm-up, [1-9][\d.]* tps \(spi\)$/ } @progress;
my @measured = grep { /^progress: [\d.]+ s, [1-9][\d.]* tps, lat [\d.]+ ms stddev [\d.]+, 0 failed \(spi\)$/ } @progress;
cmp_ok(scalar @warmup, '>=', 1, 'lines of the warm-up');
cmp_ok(scalar @measured, '>=', 1, 'lines of the time that counts');
is(scalar @warmup + @measured, scalar @progress, 'no others');
is_deeply([ @warmup, @measured ], \@progress, 'one after the other');
ok((!grep { (/progress: ([\d.]+) s/)[0] < 1.4 } @measured), 'the latter cover nothing of the former');

# A client that is late catches up: each interval has the lag of its own transactions.
$node->safe_psql('postgres', 'CREATE SEQUENCE turns');
is( $node->safe_psql(
		'postgres', q{
		SELECT state FROM bench.run(sql => $$SELECT pg_sleep(CASE nextval('turns') WHEN 1 THEN 0.7 ELSE 0 END)$$, rate => 100, duration => '2 s', progress => '200 ms');
		SELECT EXISTS (SELECT FROM bench.run_intervals a JOIN bench.run_intervals b USING (run_id)
		                WHERE run_id = (SELECT max(run_id) FROM bench.runs) AND a.interval_no < b.interval_no AND b.transactions > 1 AND b.lag_max_ms < a.lag_max_ms)}),
	"finished\nt", 'lags of intervals');

# Their rates are those of the time since the line before: together, they are all transactions.
my (undef, $transactions, $lines) = $node->psql('postgres',
	"SELECT transactions FROM bench.run('select-only', rate => 3000, duration => 3, progress => '150 ms', vacuum => 'none')");
my ($told, $before) = (0, 0);
while ($lines =~ /progress: ([\d.]+) s, ([\d.]+) tps/g)
{
	($told, $before) = ($told + $2 * ($1 - $before), $1);
}
cmp_ok(abs($told / $transactions - $before / 3), '<', 0.06, 'the rates of lines add up');

done_testing();
