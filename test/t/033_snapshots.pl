# What the calling statement's snapshot does to a run, and what a run does with it:
# comparisons, runs that wait for the caller, snapshots that are held meanwhile.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('snapshots',
	"fsync = off\nmax_worker_processes = 16\nmax_prepared_transactions = 2\nautovacuum = off\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
# A script that waits while somebody else holds the lock.
$node->safe_psql('postgres',
	"SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')");

# Runs SQL, and $meanwhile while its first run waits at the gate.
sub at_the_gate
{
	my ($sql, $meanwhile) = @_;

	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe('SELECT pg_advisory_lock(1)');
	my $caller = start_sql($node, $sql, name => 'caller');
	wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$meanwhile->();
	$keeper->query_safe('SELECT pg_advisory_unlock(1)');
	$keeper->quit;
	return finish_sql($caller);
}

# bench.compare looks everything up before its first run, since rows that its
# statement's snapshot sees may be removed while it waits.
my ($stdout, $stderr) = at_the_gate(
	"SELECT mode, runs, missing FROM bench.compare('{gate}', repeats => 2, transactions => 1, label => 'looked up')",
	sub {
		$node->safe_psql('postgres',
			"SELECT bench.define_script('gate', 'SELECT ''another''')");
		$node->safe_psql('postgres', 'VACUUM bench.scripts');
	});
is($stdout, "spi|2|{}\nlibpq|2|{}", 'bench.compare: a script that is replaced meanwhile');
is($stderr, '', 'bench.compare: no complaint');
is( $node->safe_psql('postgres',
		"SELECT count(*), min(body) = max(body), min(body) FROM bench.run_scripts JOIN bench.runs USING (run_id) WHERE label = 'looked up'"
	),
	'4|t|SELECT pg_advisory_xact_lock_shared(1);',
	'bench.compare: all runs have the same script');

# Runs that are not complete do not count, and pairs stay pairs.
$node->safe_psql('postgres',
	"SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')");
($stdout, $stderr) = at_the_gate(
	"SELECT mode, runs, cardinality(run_ids), cardinality(missing), ratio > 0, tps = tps_max FROM bench.compare('{gate}', repeats => 2, transactions => 1, label => 'canceled')",
	sub {
		my $run_id = latest_run($node, 'canceled')->{run_id};
		$node->safe_psql('postgres', "SELECT bench.cancel($run_id)");
		wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $run_id");
	});
like($stdout, qr/^spi\|1\|1\|1\|t\|t\nlibpq\|2\|2\|0\|t\|[tf]$/, 'bench.compare: a canceled run does not count');
like($stderr, qr/WARNING: .*1 of 4 runs are missing in the comparison\nDETAIL:  .*: \[\d+\]/,
	'bench.compare: and that is said');
$node->safe_psql('postgres',
	"SELECT bench.define_script('partly', E'\\\\if :client_id = 0\\nSELECT 1 / 0;\\n\\\\endif\\nSELECT 1;')");
(undef, $stdout, $stderr) = $node->psql('postgres',
	"SELECT mode, runs, tps, ratio, cardinality(missing) FROM bench.compare('{partly}', clients => 2, repeats => 2, transactions => 5)");
is($stdout, "spi|0|||2\nlibpq|0|||2", 'bench.compare: runs that lost a client do not count');
like($stderr, qr/WARNING:  4 of 4 runs are missing in the comparison/, 'bench.compare: none does');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
