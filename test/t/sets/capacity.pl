# bench.find_capacity: its row and its runs, a limit that nothing meets, cancel and resume, roles.
# bench.scaling of a sweep.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('capacity', "fsync = off\nmax_worker_processes = 24");
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE tester LOGIN;
SELECT bench.grant_to('tester');
SELECT bench.initialize();
GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester;
SELECT bench.define_script('nap', '\sleep 2 ms');
SELECT bench.define_script('failure', 'SELECT 1/0');
SQL

# The columns of bench.find_capacity with these arguments, as a hash reference.
sub find
{
	my ($arguments, @as) = @_;
	my @columns = qw(rate rate_low rate_high latency_ms tps_without_rate limited_by evidence verdict
	  run_ids set_id);
	my %found;
	@found{@columns} = split /\|/, $node->safe_psql('postgres',
		"SET client_min_messages = warning;\nSELECT "
		  . join(', ', map { $_ eq 'run_ids' ? 'array_length(run_ids, 1)' : $_ } @columns)
		  . " FROM bench.find_capacity($arguments, duration => '500 ms', warmup => 0)",
		extra_params => \@as), -1;
	return \%found;
}

# What is wrong with the runs of a set: none is missing in run_ids, each has its place, the first
# has no rate, and the others are long enough.
sub faults
{
	my ($found, $needed) = @_;
	return $node->safe_psql('postgres', <<"SQL");
SELECT concat_ws(', ',
         CASE WHEN count(*) <> $found->{run_ids} THEN count(*) || ' runs' END,
         CASE WHEN count(*) FILTER (WHERE rate IS NULL) <> 1 THEN 'runs without rate' END,
         CASE WHEN min(run_id) FILTER (WHERE rate IS NULL) <> min(run_id) THEN 'order' END,
         CASE WHEN bool_or(arm IS NULL OR round IS NULL) THEN 'no place' END,
         CASE WHEN min(rate * duration_s) < $needed THEN 'too short: ' || min(rate * duration_s) END,
         CASE WHEN bool_or(state <> 'finished') THEN 'state' END)
  FROM bench.runs WHERE set_id = $found->{set_id}
SQL
}

foreach my $mode (qw(spi libpq))
{
	my $found;
	# On a machine that stands still for a moment, no rate may be found, or not what limits it.
	in_time_ok("$mode: capacity", sub {
		$found = find("20, 90, scripts => 'nap', clients => 4, mode => '$mode'");
		return $found->{rate} ne '' && $found->{limited_by} ne '';
	});
	cmp_ok($found->{rate}, '>', 0, "$mode: a rate");
	# Four clients of which each takes 2 ms; arrivals are random.
	cmp_ok($found->{rate}, '<', 2300, "$mode: not above what the clients can do");
	cmp_ok($found->{latency_ms}, '<=', 20, "$mode: its latency is under the limit");
	cmp_ok($found->{rate_low}, '<=', $found->{rate}, "$mode: lower bound");
	# None if the run without a rate was slowed, so that no probe was over the limit.
	ok( $found->{rate_high} eq ''
		? $found->{verdict} =~ /; (?:no higher rate was tried|stopped after \d+ probes, which contradict each other: .*|above, .*)$/
		: $found->{rate_high} >= $found->{rate},
		"$mode: upper bound") || diag(join '|', map { "$_ $found->{$_}" } sort keys %$found);
	like($found->{limited_by}, qr/^(?:clients|CPU)$/, "$mode: what it is limited by");
	like($found->{evidence}, qr/^clients busy \d+ %/, "$mode: and why");
	like($found->{verdict}, qr/^p90 stays under 20 ms .* in mode $mode with 4 clients/, "$mode: verdict");
	is(faults($found, 1000), '', "$mode: runs");
	is( $node->safe_psql('postgres',
			"SELECT kind, state, result->>'verdict' FROM bench.set_summary WHERE set_id = $found->{set_id}"),
		"find_capacity|finished|$found->{verdict}", "$mode: set");
}

my $never = find("0.001, 90, scripts => 'nap', clients => 4");
is($never->{rate}, '', 'a limit that nothing meets: no rate');
like($never->{verdict}, qr/^p90 does not stay under 0\.001 ms in mode spi with 4 clients: /,
	'a limit that nothing meets: verdict');

# Latency does not depend on the rate: two of three transactions are over the limit at any.
$node->safe_psql('postgres', q{SELECT bench.define_script('uneven', E'\\\\set ms least(random(1, 3), 2) * 15\n\\\\sleep :ms ms')});
$never = find("25, 50, scripts => 'uneven', clients => 4");
is($never->{rate}, '', 'no rate is low enough: no rate');
like($never->{verdict}, qr/^p50 does not stay under 25 ms .*; no lower rate was tried: give a longer duration, a higher latency_limit or a lower percentile$/,
	'no rate is low enough: verdict');
cmp_ok($never->{run_ids}, '<=', 8, 'no rate is low enough: it does not go on with ever lower ones');

my $tester = find("500, 90, scripts => 'select-only'", '-U', 'tester');
cmp_ok($tester->{rate}, '>', 0, 'another role');
is($node->safe_psql('postgres', "SELECT owner FROM bench.sets WHERE set_id = $tester->{set_id}"),
	'tester', 'another role: owns its set');

my ($status, $stdout, $stderr) =
  $node->psql('postgres', "SELECT bench.find_capacity(10, scripts => 'failure', clients => 2)");
like($stderr, qr/ERROR:  no client could finish a transaction/, 'no transaction succeeds');

# Canceled in the middle, and resumed. The third run waits for the test.
$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('gated nap', E'SELECT pg_advisory_xact_lock_shared(count(*)) FROM bench.runs'
		' WHERE set_id = (SELECT max(set_id) FROM bench.sets);\n\\\\sleep 2 ms')});
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(3)');
my $session = start_sql($node,
	"SELECT bench.find_capacity(200, 90, scripts => 'gated nap', clients => 4, duration => '500 ms', warmup => 0, label => 'canceled')",
	name => 'search');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
signal_sql($session, 'INT');
($stdout, $stderr) = finish_sql($session);
$keeper->quit;
like($stderr,
	qr/NOTICE:  00000: set (\d+) is not complete\nDETAIL:  So far: p90 (?:stays|does not stay) under the limit at \d+ transactions per second.*\nHINT:  Continue it with SELECT \* FROM bench\.resume\(\1\)\..*57014: /s,
	'canceled: what is known, and how to go on');
nothing_left_ok($node, 'canceled');
my ($set_id, $runs) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT set_id, (SELECT array_agg(run_id ORDER BY run_id) FROM bench.runs r
                 WHERE r.set_id = s.set_id AND state = 'finished')
  FROM bench.set_summary s WHERE label = 'canceled' AND state = 'canceled'
SQL
my ($resumed, $told) = finish_sql(start_sql($node, "SELECT made_runs, verdict FROM bench.resume($set_id)"));
my ($made, $verdict) = split /\|/, $resumed;
is((() = $told =~ /NOTICE: .* transactions per second: /g), $made, 'resumed: new probes are told, old ones are not');
is( $node->safe_psql('postgres', <<"SQL"), "finished|$verdict|t|t", 'resumed');
SELECT state, result->>'verdict', result->>'verdict' LIKE 'p90 stays under 200 ms%',
       (SELECT array_agg(value::bigint) FROM jsonb_array_elements(result->'run_ids')) \@> '$runs'
  FROM bench.set_summary WHERE set_id = $set_id
SQL

# Scaling: clients that only sleep do not wait for each other.
my $sweep = $node->safe_psql('postgres', <<'SQL');
SELECT DISTINCT set_id FROM bench.sweep('{"clients": [1, 2, 3, 4], "mode": ["spi", "libpq"]}',
  repeats => 2, scripts => 'nap', transactions => 100);
SQL
is( $node->safe_psql('postgres', <<"SQL"), <<'ROWS' =~ s/\n\z//r, 'scaling');
SELECT options, clients, array_length(tps, 1), array_length(run_ids, 1), lambda > 0, sigma >= 0, kappa >= 0,
       lambda BETWEEN lambda_low AND lambda_high, r_squared <= 1, fits IS NOT NULL, peak_tps > 0,
       verdict ~ '^(throughput (peaks|still rises)|the highest throughput measured is) '
  FROM bench.scaling($sweep) ORDER BY options
SQL
{"mode": "libpq"}|{1,2,3,4}|4|8|t|t|t|t|t|t|t|t
{"mode": "spi"}|{1,2,3,4}|4|8|t|t|t|t|t|t|t|t
ROWS
is( $node->safe_psql('postgres',
		"SELECT (SELECT json_agg(r)::text FROM bench.$_() r) = (SELECT json_agg(r)::text FROM bench.$_($sweep) r)"),
	't', "$_: the last set without a number") foreach qw(arms scaling);
is( $node->safe_psql('postgres', <<"SQL"), 8, 'scaling: means are those of bench.arms');
SELECT count(*)
  FROM bench.scaling($sweep) s CROSS JOIN LATERAL unnest(s.clients, s.tps) level (clients, tps)
  JOIN bench.arms($sweep) a ON a.options = s.options || jsonb_build_object('clients', level.clients)
 WHERE abs(a.tps / level.tps - 1) < 1e-9
SQL
is( $node->safe_psql('postgres', <<"SQL"), '{1,2,3,4}||t', 'scaling: a run without transactions');
BEGIN;
UPDATE bench.runs SET tps = 0
 WHERE run_id = (SELECT max(run_id) FROM bench.runs WHERE set_id = $sweep AND mode = 'spi' AND clients = 2);
SELECT clients, lambda, verdict ~ 'the Universal Scalability Law is not fitted, because a run has 0 transactions'
  FROM bench.scaling($sweep) WHERE options->>'mode' = 'spi';
ROLLBACK;
SQL
$node->safe_psql('postgres',
	'SELECT bench.delete_runs(array_agg(run_id)) FROM bench.runs WHERE clients > 2');
is( $node->safe_psql('postgres',
		"SELECT options->>'mode', clients, lambda, fits, verdict ~ 'needs at least 4 numbers of clients' FROM bench.scaling($sweep) ORDER BY 1"),
	"libpq|{1,2}|||t\nspi|{1,2}|||t", 'scaling: too few numbers of clients');
foreach my $set ($tester->{set_id}, -1)
{
	($status, $stdout, $stderr) = $node->psql('postgres', "SELECT bench.scaling($set)");
	like($stderr,
		$set > 0 ? qr/ERROR:  set $set is not a sweep over "clients"/ : qr/ERROR:  set -1 does not exist/,
		"scaling: set $set");
}
($status, $stdout, $stderr) =
  $node->psql('postgres', "SELECT bench.scaling($sweep)", extra_params => [ '-U', 'tester' ]);
like($stderr, qr/ERROR:  set $sweep does not exist/, 'scaling: a set of another role');

$node->stop;
done_testing();
