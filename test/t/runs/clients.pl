# Runs of the built-in scripts in both modes, with all protocols and various
# numbers of clients: all reported transactions happened, and no others, and all
# stored figures agree.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('clients');
is( $node->safe_psql('postgres',
		"SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN ('max_connections', 'max_worker_processes')"
	),
	'100 8',
	'the server has its default settings');

# Runs with those options on fresh tables; the run as a hash reference.
my $number = 0;

sub run_ok
{
	my ($name, $options, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($label, $run_id, $state, $transactions, $failed, $warmup, $aborted, $errors);
	in_time_ok($name, sub {
		my ($seconds) = @_;
		$node->safe_psql('postgres',
			"SELECT bench.initialize(scale => 1, steps => 'dtgp')");
		$label = 'run ' . ++$number;
		my $times = $options =~ s/SECONDS/$seconds/gr;
		my $returned = $node->safe_psql('postgres',
			columns_of('run_id, state, transactions, failed, warmup_transactions, aborted_clients, errors', "bench.run($times, label => '$label')")
		);
		($run_id, $state, $transactions, $failed, $warmup, $aborted, $errors) =
		  split /\|/, $returned;
		return $times eq $options || $transactions > 0 && ($warmup > 0 || $options !~ /warmup/);
	});
	is("$state|$failed|$aborted|$errors", 'finished|0|0|{}', "$name: no failure");
	is($transactions, $expected, "$name: transactions") if defined $expected;
	cmp_ok($transactions, '>', 0, "$name: something happened");
	my $run = latest_run($node, $label);
	is( "$run->{run_id}|$run->{state}|$run->{transactions}|$run->{warmup_transactions}",
		"$run_id|finished|$transactions|$warmup",
		"$name: what is stored is what was returned");
	figures_ok($node, $run_id, $name);
	return $run;
}

sub nothing_else_ok
{
	my ($run, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return invariants_ok($node, $run->{transactions} + $run->{warmup_transactions}, $name);
}

foreach my $case ([ 'spi', 1 ], [ 'spi', 4 ], [ 'libpq', 1 ], [ 'libpq', 4 ], [ 'libpq', 64 ])
{
	my ($mode, $clients) = @$case;
	# Connecting so many clients takes longer than their transactions.
	foreach my $protocol ($clients == 64 ? 'prepared' : qw(simple extended prepared))
	{
		my $name    = "$mode, $clients clients, $protocol";
		my $options = "mode => '$mode', clients => $clients, protocol => '$protocol'";
		my $each    = $clients == 64 ? 5 : 100;
		my $run =
		  run_ok("$name, transactions", "$options, transactions => $each", $clients * $each);
		nothing_else_ok($run, "$name, transactions");
		is($run->{warmup_transactions}, 0, "$name: no warm-up");

		$run = run_ok("$name, duration",
			qq($options, duration => 0.3 * SECONDS, aggregate_interval => '100 ms'));
		nothing_else_ok($run, "$name, duration");
	}

	my $name = "$mode, $clients clients, warm-up";
	my $run  = run_ok($name,
		qq(mode => '$mode', clients => $clients, warmup => 0.2 * SECONDS, duration => 0.3 * SECONDS, aggregate_interval => '100 ms')
	);
	cmp_ok($run->{warmup_transactions}, '>', 0, "$name: transactions in the warm-up");
	nothing_else_ok($run, $name);
}

foreach my $mode (qw(spi libpq))
{
	# Transactions of the warm-up are not counted; all others are.
	my $name = "$mode, warm-up and transactions";
	my $run  = run_ok($name,
		"mode => '$mode', clients => 2, warmup => 0.2 * SECONDS, transactions => 20");
	nothing_else_ok($run, $name);

	# Balances of branches and tellers do not change in simple-update.
	$name = "$mode, simple-update";
	run_ok($name, "mode => '$mode', clients => 3, transactions => 50, scripts => 'simple-update'",
		150);
	my $found = invariants($node);
	is("$found->{history} $found->{tellers} $found->{branches}", '150 0 0', "$name: history");
	is($found->{accounts}, $found->{deltas}, "$name: balances and history agree");

	$name = "$mode, select-only";
	run_ok($name, "mode => '$mode', clients => 3, transactions => 50, scripts => 'select-only'",
		150);
	$found = invariants($node);
	is("@{$found}{qw(history accounts)}", '0 0', "$name: nothing is written");

	$name = "$mode, weights";
	$run  = run_ok($name,
		"mode => '$mode', clients => 3, transactions => 100, scripts => 'tpcb-like\@3,select-only\@1,simple-update\@0', seed => '1'",
		300);
	$found = invariants($node);
	is( $node->safe_psql('postgres',
			"SELECT transactions FROM bench.run_scripts WHERE run_id = $run->{run_id} ORDER BY script_no"
		),
		"$found->{history}\n" . (300 - $found->{history}) . "\n0",
		"$name: transactions of each script");
	ok($found->{equal}, "$name: balances and history agree");
	ok($found->{history} > 150 && $found->{history} < 300, "$name: both were chosen");
	is( $node->safe_psql('postgres',
			"SELECT string_agg(name || ' ' || weight, ', ' ORDER BY script_no) FROM bench.run_scripts WHERE run_id = $run->{run_id}"
		),
		'tpcb-like 3, select-only 1, simple-update 0',
		"$name: scripts");
}

# Tables in partitions.
$node->safe_psql('postgres', 'SELECT bench.initialize(partitions => 3)');
foreach my $mode (qw(spi libpq))
{
	my $run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run(mode => '$mode', clients => 2, transactions => 20, vacuum => 'none')"
	);
	is( $node->safe_psql('postgres',
			"SELECT scale, partition_method, partitions FROM bench.runs WHERE run_id = $run"),
		'1|range|3',
		"$mode, partitions: what is stored of the tables");
}
invariants_ok($node, 80, 'partitions');

# The vacuum before a run.
foreach my $mode (qw(spi libpq))
{
	foreach my $vacuum ([ 'none', 10 + 10 ], [ 'auto', 10 ], [ 'all', 10 ])
	{
		my ($what, $rows) = @$vacuum;
		$node->safe_psql('postgres', "SELECT bench.initialize(steps => 'dtgp')");
		my $errors = $node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
SELECT transactions FROM bench.run(mode => '$mode', transactions => 10, vacuum => 'none');
@{[ columns_of('errors', "bench.run(mode => '$mode', transactions => 10, vacuum => '$what')") ]}
SQL
		is($errors, "10\n{}", "$mode, vacuum $what: no error");
		is(invariants($node)->{history}, $rows, "$mode, vacuum $what: rows of history");
		wait_for($node,
			"SELECT count(*) = @{[ $what eq 'none' ? 0 : 2 ]} FROM pg_stat_user_tables WHERE relname IN ('pgbench_branches', 'pgbench_tellers') AND vacuum_count = 1"
		);
		wait_for($node,
			"SELECT vacuum_count = @{[ $what eq 'all' ? 1 : 0 ]} AND analyze_count = @{[ $what eq 'all' ? 1 : 0 ]} FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'"
		);
	}
}

nothing_left_ok($node, 'at the end');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|WARNING/,
	'nothing to complain about in the log');
done_testing();
