# The overhead that runs report about themselves, and advice on doubtful figures.
use strict;
use warnings;

use SelfBench;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_bench_node('advice', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');

# Nanoseconds of CPU time of a process, as its kernel counts them.
sub cpu_ns
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/schedstat" or return;
	my ($ns) = split ' ', <$file>;
	return $ns;
}

# What harness_us of a run in mode libpq should be, from outside: CPU time of its
# worker, whose start and end are seen late and early.
sub seen_from_outside
{
	$node->safe_psql('postgres',
		"SELECT bench.start('select-only', mode => 'libpq', clients => 2, jobs => 1,"
		  . " duration => '4 s', label => 'watched')");
	wait_for_transactions($node, 'watched');
	my $worker = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench libpq client'");
	my ($first, $last);
	while (defined(my $now = cpu_ns($worker)))
	{
		$first //= $now;
		$last = $now;
		sleep 0.01;
	}
	wait_until_quiet($node);
	return defined $first ? ($last - $first, $last) : ();
}

foreach my $mode (qw(spi libpq))
{
	my $run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run(mode => '$mode', clients => 2, transactions => 400)");
	is( $node->safe_psql(
			'postgres', qq{
			SELECT harness_us > 0, harness_share > 0, harness_share <= 1,
			       harness_us < latency_avg_ms * 1000
			FROM bench.run_summary WHERE run_id = $run}),
		't|t|t|t',
		"$mode: the harness is measured");
	my $line = $mode eq 'spi'
	  ? qr/^outside executor and commit: \d+\.\d\d us per transaction, \d+\.\d% of the clients' time$/m
	  : qr/^client workers: \d+\.\d\d us of CPU time per transaction, \d+\.\d% of their time$/m;
	like($node->safe_psql('postgres', "SELECT bench.report($run)"), $line, "$mode: and reported");
	unlike($node->safe_psql('postgres', "SELECT bench.pgbench('-n -t 10 --mode=$mode')"),
		$line, "$mode: but not where pgbench's report is asked for");

	# The client's work counts as overhead, the server's work does not.
	$node->safe_psql('postgres',
		"SELECT bench.define_script('client', (SELECT string_agg('\\set x random_gaussian(1, 1000, 5)', E'\\n')"
		  . " FROM generate_series(1, 10000)) || E'\\nSELECT :x;'),"
		  . " bench.define_script('server', 'SELECT sum(i) FROM generate_series(1, 100000) i')");
	foreach my $script (qw(client server))
	{
		$node->safe_psql('postgres',
			"SELECT bench.run('$script', mode => '$mode', transactions => 200, label => '$mode $script')");
	}
	is( $node->safe_psql(
			'postgres', qq{
			SELECT c.harness_share > 2 * s.harness_share, s.harness_share < 0.5, c.harness_us > s.harness_us
			FROM bench.runs c, bench.runs s
			WHERE c.label = '$mode client' AND s.label = '$mode server'}),
		't|t|t',
		"$mode: work of the client is told from that of the server");
	is($node->safe_psql('postgres', "SELECT bench.drop_script('client'), bench.drop_script('server')"),
		'|', "$mode: scripts dropped");
}

# A client that ends before its first sample has no figure.
is( $node->safe_psql(
		'postgres', q{
		SELECT bench.run(transactions => 3, label => 'few');
		SELECT harness_us IS NULL, harness_share IS NULL FROM bench.runs WHERE label = 'few'}) =~ s/.*\n//sr,
	't|t',
	'spi: too few transactions');

SKIP:
{
	my ($at_least, $at_most) = seen_from_outside();
	skip 'no /proc/PID/schedstat here', 1 if !defined $at_least;
	is( $node->safe_psql(
			'postgres', qq{
			SELECT harness_us * transactions * 1000 BETWEEN $at_least * 0.8 AND $at_most * 1.25
			FROM bench.runs WHERE label = 'watched'}),
		't',
		'libpq: the CPU time is what the kernel says');
}

# Each piece of advice, and that it is not given without a reason.
sub advice
{
	my ($arguments, $before) = @_;
	$before //= '';
	my $found = $node->safe_psql('postgres',
		"$before; SELECT run_id FROM bench.run($arguments); SELECT advice FROM bench.advice((SELECT max(run_id) FROM bench.runs))");
	# They are all short and sample few turns, on a server without fsync, whose build may check assertions and whose
	# machine may have few processors.
	my @advice =
	  grep { !/^the run took only|^fsync was off|^the server checks|clients of mode spi shared|^the clients spent/ } split /\n/, $found;
	shift @advice;
	return join "\n", @advice;
}

is(advice("'select-only', transactions => 200"), '', 'nothing to say');
like(
	$node->safe_psql('postgres',
		'SELECT a.* FROM bench.advice((SELECT max(run_id) FROM bench.runs)) a'),
	qr/^the run took only \d\.\d s\|Run it for at least 10 s/m,
	'a short run, with its hint');
unlike(
	$node->safe_psql('postgres',
		'SELECT a.* FROM bench.advice((SELECT max(run_id) FROM bench.runs)) a'),
	qr/fsync/,
	'fsync does not matter to a run that reads');
is(advice('transactions => 20'), 'only 20 transactions were measured', 'few transactions');
like(
	$node->safe_psql('postgres',
		'SELECT advice FROM bench.advice((SELECT max(run_id) FROM bench.runs))'),
	qr/^fsync was off: /m,
	'fsync matters to a run that writes');
is( advice("clients => 3, transactions => 100"),
	"the scale, 2, is smaller than the number of clients, 3: clients wait for each other's locks on rows of pgbench_branches",
	'a small scale');
is(advice("'select-only', clients => 3, transactions => 100"), '', 'which does not matter to readers');
is( advice('transactions => 200', 'SET synchronous_commit = off'),
	'synchronous_commit was off: commits did not wait for the disk',
	'synchronous_commit');
is(advice("'select-only', transactions => 200", 'SET synchronous_commit = off'),
	'', 'which does not matter to readers');

$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('sometimes', E'\\\\set x random(1, 4)\nSELECT 1 / (:x - 1);');
	SELECT bench.define_script('never', 'SELECT 1 / 0');
	SELECT bench.define_script('idle', 'SELECT pg_sleep(0.01)')});
like(
	advice("'sometimes', transactions => 400, continue_on_error => true, seed => '1'"),
	qr/^\d\d\.\d% of the transactions failed$/,
	'failed transactions');
like(
	advice("'idle', rate => 1000, latency_limit => 5, duration => '2 s'"),
	qr/^\d\d\.\d% of the transactions were skipped$/m,
	'skipped transactions');
like(advice("'never\@1,select-only\@9', clients => 2, transactions => 200, seed => '1'"),
	qr/^(the run failed\n)?\d of 2 clients aborted/, 'aborted clients');

# Roles that do not own the run, and roles without runs.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE stranger LOGIN;
	GRANT USAGE ON SCHEMA bench TO stranger;
	GRANT SELECT ON ALL TABLES IN SCHEMA bench TO stranger});
my $run = $node->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs');
my (undef, undef, $error) =
  $node->psql('postgres', "SET ROLE stranger; SELECT bench.advice($run)");
like($error, qr/permission denied for function advice/, 'nobody may call it who was not granted it');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION bench.advice TO stranger');
foreach ([ $run, 'of another role' ], [ 9999, 'that does not exist' ])
{
	(undef, undef, $error) =
	  $node->psql('postgres', "SET ROLE stranger; SELECT bench.advice($_->[0])");
	like($error, qr/ERROR:  run $_->[0] does not exist/, "a run $_->[1]");
}

# A run that is going on.
$run = $node->safe_psql('postgres',
	"SELECT bench.start('idle', duration => '5 min', label => 'going on')");
wait_for_transactions($node, 'going on');
is($node->safe_psql('postgres', "SELECT advice FROM bench.advice($run)"),
	'the run is still in progress', 'a run in progress');
$node->safe_psql('postgres', "SELECT bench.cancel($run)");
wait_until_quiet($node);
like($node->safe_psql('postgres', "SELECT advice FROM bench.advice($run)"),
	qr/^the run was canceled$/m, 'and then is canceled');

done_testing();
