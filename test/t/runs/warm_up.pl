# Warm-up until the run is steady: warmup => NULL.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('warm_up', "fsync = off\n");
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 1)');

sub query { return $node->safe_psql('postgres', @_); }

sub run
{
	my ($options) = @_;
	my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT run_id FROM bench.run($options)");
	is($status, 0, $options) or diag $stderr;
	return ($stdout, $stderr);
}

sub of_run
{
	my ($run, $columns) = @_;
	return query("SELECT $columns FROM bench.runs r WHERE run_id = $run");
}

# Whether a run gets steady depends on what else the machine does; what is said of it must agree with that.
query(q(SELECT bench.define_script('sleeper', '\sleep 50 ms')));
foreach my $mode (qw(spi libpq))
{
	my ($run, $stderr) = run("'sleeper', mode => '$mode', clients => 2, progress => '100 ms', warmup => NULL, max_warmup => '4 s', duration => '2 s'");
	is( of_run($run,
			'state, warmup_steady IS NOT NULL, max_warmup_s, warmup_s >= 1, warmup_transactions > 0, transactions > 0, seconds > 1.99'),
		'finished|t|4|t|t|t|t', "$mode: until steady");
	like($stderr, qr/progress: [\d.]+ s, warm-up, [\d.]+ tps/, "$mode: progress");
	is(query("SELECT min(begins_s) >= 0, sum(transactions) = (SELECT transactions FROM bench.runs WHERE run_id = $run) FROM bench.run_intervals WHERE run_id = $run"),
		't|t', "$mode: the intervals are those of the measured time");
	my $is_steady = of_run($run, 'warmup_steady') eq 't';
	my $line = $is_steady ? 'until steady' : 'cut off before the run was steady';
	like(query("SELECT bench.report($run)"), qr/^warm-up: [\d.]+ s,? $line, /m, "$mode: report");
	is(scalar($stderr =~ /was not steady when its warm-up was cut off/), !$is_steady, "$mode: notice of a run that is not steady");
	is(query("SELECT count(*) FROM bench.advice($run) WHERE finding ~ 'not steady when its warm-up was cut off'"),
		$is_steady ? 0 : 1, "$mode: advice");

	# The first look would come later than that. Other clients have no transaction yet.
	foreach my $script ('select-only', 'sleep')
	{
		query(q(SELECT bench.define_script('sleep', '\sleep 500 ms')));
		($run, $stderr) = run("'$script', mode => '$mode', clients => 2, warmup => NULL, max_warmup => '200 ms', transactions => 2, log => true");
		is(of_run($run, "state, warmup_steady, max_warmup_s, warmup_s >= 0.2, transactions, (SELECT count(*) FROM bench.transactions WHERE run_id = $run)"),
			'finished|f|0.2|t|4|4', "$mode: $script: cut off");
		like($stderr, qr/NOTICE:  the run was not steady when its warm-up was cut off after [\d.]+ s/, "$mode: notice");
		like(query("SELECT finding FROM bench.advice($run)"),
			qr/^the run was not steady when its warm-up was cut off$/m, "$mode: advice");
	}
	like(query("SELECT bench.report($run)"), qr/^warm-up: [\d.]+ s, cut off before the run was steady, /m, "$mode: report");

	# With a rate so low that clients sleep when the deadline becomes known.
	($run) = run("'select-only', mode => '$mode', rate => 0.001, warmup => NULL, max_warmup => '300 ms', duration => '200 ms'");
	is(of_run($run, 'state, warmup_steady, seconds < 60'), 'finished|f|t', "$mode: clients that sleep learn of the deadline");

	# Canceled within the warm-up.
	$run = query("SELECT bench.start('select-only', mode => '$mode', warmup => NULL, max_warmup => '1 h', duration => '1 h')");
	wait_for($node, "SELECT phase = 'warming up' AND seconds > 0.1 FROM bench.progress WHERE run_id = $run");
	is(query("SELECT phase, done_share, left_s, tps, transactions FROM bench.progress WHERE run_id = $run"),
		'warming up|0.000|||0', "$mode: bench.progress");
	query("SELECT bench.cancel($run), bench.wait($run)");
	is(of_run($run,
			'state, warmup_steady IS NULL, max_warmup_s, warmup_s > 0 AND warmup_s < 3600, seconds, transactions, (SELECT count(*) FROM bench.run_intervals i WHERE i.run_id = r.run_id)'),
		'canceled|t|3600|t|0|0|0', "$mode: canceled");

	# All clients end within the warm-up.
	query(q(SELECT bench.define_script('broken', 'SELECT 1/0;')));
	$run = query("SELECT bench.start('broken', mode => '$mode', clients => 2, warmup => NULL)");
	$node->psql('postgres', "SELECT bench.wait($run)");
	is(of_run($run, 'state, warmup_steady IS NULL, warmup_s < 300, aborted_clients'), 'failed|t|t|2', "$mode: aborted");
}

# With a rate, latency decides. Here, the rate is so low that no transaction waits for another one.
query(q(SELECT bench.define_script('doze', '\sleep 100 ms')));
my ($run) = run("'doze', mode => 'libpq', clients => 20, rate => 50, warmup => NULL, max_warmup => '4 s', duration => '500 ms'");
is(of_run($run, 'state, warmup_steady IS NOT NULL, warmup_s >= 1, warmup_transactions > 0'), 'finished|t|t|t', 'with a rate');

# In documents, null is until steady; an arm's null wins over the argument for all arms, and is stored.
my $arms = q([{"name": "until steady", "warmup": null}, {"name": "fixed"}]);
query("SELECT bench.compare('$arms', scripts => 'sleeper', warmup => 0.1, max_warmup => 0.1, repeats => 1, transactions => 1)");
my $set = query('SELECT max(set_id) FROM bench.sets');
my $rows = "SELECT string_agg(DISTINCT concat_ws(' ', arm, warmup_steady, max_warmup_s), ', ') FROM bench.runs WHERE set_id = $set";
is(query($rows), 'fixed, until steady f 0.1', 'an arm');
query("SELECT bench.delete_runs((SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm = 'until steady'))");
query("UPDATE bench.sets SET state = 'canceled' WHERE set_id = $set; SELECT bench.resume($set)");
is(query($rows), 'fixed, until steady f 0.1', 'the same when the set is resumed');
is(query("SELECT name, of_a, of_b FROM bench.compare_runs((SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm = 'until steady'),
			(SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm = 'fixed')) WHERE name ~ 'warmup' ORDER BY name"),
	"max_warmup_s|0.1|\nwarmup_s||0.1", 'as a difference between runs');
my (undef, undef, $told) = $node->psql('postgres', q(SELECT bench.sweep('{"warmup": [null], "clients": [1, 2]}', scripts => 'sleeper', max_warmup => '4 s', duration => '100 ms', repeats => 1)));
like($told, qr/^(psql:<stdin>:1: )?NOTICE:  3 runs, at most 14 s$/m, 'the estimate of a set');
$set = query('SELECT max(set_id) FROM bench.sets');
is(query("SELECT count(*), count(warmup_steady) FROM bench.runs WHERE set_id = $set AND state = 'finished'"), '3|3', 'a sweep');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
