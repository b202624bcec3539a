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

# Connections of the warm-up are not among those of the transactions that count.  The
# first of these may have been made before.
is( last_of(
		q{SELECT FROM bench.run('{select-only}', mode => 'libpq', reconnect => true,
		                        warmup => '2 s', transactions => 20, label => 'reconnect');
		SELECT connection_ms > 0, connection_ms * (transactions - 1) <= seconds * 1000,
		       warmup_transactions > 0
		FROM bench.runs WHERE label = 'reconnect'}),
	't|t|t',
	'connection time with a warm-up');

# Single commands.
foreach my $mode (qw(spi libpq))
{
	is( last_of(
			qq{SELECT FROM bench.run('{tpcb-like,select-only}', mode => '$mode', clients => 2,
			                         transactions => 100, per_statement => true, label => '$mode commands');
			SELECT count(*), bool_and(executions > 0), bool_and(bench.histogram_count(s.histogram) = executions),
			       bool_and(s.latency_min_ms <= s.latency_p50_ms AND s.latency_p50_ms <= s.latency_p90_ms
			                AND s.latency_p90_ms <= s.latency_p95_ms AND s.latency_p95_ms <= s.latency_p99_ms
			                AND s.latency_p99_ms <= s.latency_p999_ms AND s.latency_p999_ms <= s.latency_max_ms),
			       bool_and(least(greatest(bench.percentile(s.histogram, 95), s.latency_min_ms), s.latency_max_ms)
			                = s.latency_p95_ms),
			       bench.histogram_count(bench.merge(s.histogram)) = sum(executions)
			FROM bench.run_statements s JOIN bench.runs r USING (run_id) WHERE label = '$mode commands'}),
		'13|t|t|t|t|t',
		"$mode: percentiles of single commands");

	# A bucket's value is within 1/256 of those that it counts, or 32 ns.
	is( last_of(
			qq{SELECT FROM bench.run('{sleeper}', mode => '$mode', transactions => 1, per_statement => true,
			                         label => '$mode once');
			SELECT bool_and(abs(bench.percentile(s.histogram, 50) - s.latency_avg_ms)
			                <= greatest(s.latency_avg_ms * (1.0 / 256 + 1.0 / 1024), 0.0001))
			FROM bench.run_statements s JOIN bench.runs r USING (run_id) WHERE label = '$mode once'}),
		't',
		"$mode: they are near what was measured");

	# Time asleep is a part of the latency that is counted beside it.
	is( last_of(
			qq{SELECT FROM bench.run('{sleeper}', mode => '$mode', clients => 2, transactions => 5, label => '$mode sleep');
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
		qr/^latency average = \d+\.\d+ ms\n.*^latency average without \\sleep = \d+\.\d+ ms \(2\d\.\d+ ms of it in \\sleep\)$/ms,
		"$mode: and reported");
	is( last_of(
			qq{SELECT FROM bench.run('{select-only}', mode => '$mode', transactions => 5, label => '$mode awake');
			SELECT sleep_avg_ms IS NULL, bench.report(run_id) ~ 'sleep' FROM bench.runs WHERE label = '$mode awake'}),
		't|f',
		"$mode: without any");
}

my (undef, undef, $error) = $node->psql('postgres',
	"SELECT bench.run('{long}', clients => 4, transactions => 1, per_statement => true)",
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like(
	$error,
	qr/ERROR:  54000: option "per_statement" needs \d+ MB of shared memory for 20000 commands of 4 client processes\nDETAIL:  The limit is 1024 MB\.\nHINT:  Use fewer scripts or clients/,
	'more histograms of commands than are reasonable');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'), 0, 'nothing has started');

done_testing();
