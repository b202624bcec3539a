# The same seed gives the same transactions in both modes, with all protocols, as
# the pgbench program does.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('same_transactions');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# The rows of history, in the order of insertion, or sorted.
sub history
{
	my ($order) = @_;
	return $node->safe_psql('postgres',
		"SELECT tid, bid, aid, delta FROM pgbench_history ORDER BY $order");
}

sub by_pgbench
{
	my ($protocol, $order, @options) = @_;
	$node->command_ok(
		[ 'pgbench', '--protocol', $protocol, '--random-seed', 4711, @options, 'postgres' ],
		"pgbench @options, $protocol");
	return history($order);
}

sub by_bench
{
	my ($options, $order) = @_;
	$node->safe_psql('postgres', "SELECT bench.run($options, seed => '4711')");
	return history($order);
}

# Long lists make diagnostics hard to read.
sub same_ok
{
	my ($got, $expected, $rows, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my @got      = split /\n/, $got;
	my @expected = split /\n/, $expected;
	my ($first)  = grep { ($got[$_] // '') ne ($expected[$_] // '') } 0 .. $#expected;
	ok(!defined $first && @got == $rows && @expected == $rows, $name)
	  or diag sprintf '%d and %d rows, first difference in row %s', scalar @got,
	  scalar @expected, $first // 'none';
	return;
}

# One client: the order of rows is that of the transactions.
my %of_one;
foreach my $protocol (qw(simple extended prepared))
{
	$of_one{$protocol} = by_pgbench($protocol, 'ctid', qw(-t 1000));
	foreach my $mode (qw(spi libpq))
	{
		my $rows = by_bench("mode => '$mode', protocol => '$protocol', transactions => 1000", 'ctid');
		same_ok($rows, $of_one{$protocol}, 1000, "one client, $mode, $protocol");
	}
}
is($of_one{simple}, $of_one{prepared}, 'pgbench itself does not depend on the protocol');

# Several clients: their order depends on chance.
my $sorted   = 'tid, bid, aid, delta';
my $of_four  = by_pgbench('prepared', $sorted, qw(-t 250 -c 4 -j 4));
my $of_three = by_pgbench('prepared', $sorted, qw(-t 250 -c 3 -j 1));
isnt($of_four, $of_three, 'pgbench with other clients does something else');
same_ok(by_bench("mode => 'spi', clients => 4, transactions => 250", $sorted),
	$of_four, 1000, 'four clients, spi');
same_ok(by_bench("mode => 'libpq', clients => 4, jobs => 4, transactions => 250", $sorted),
	$of_four, 1000, 'four clients, libpq');
foreach my $workers (1, 2, 4)
{
	same_ok(
		by_bench("mode => 'libpq', clients => 4, jobs => 4, workers => $workers, transactions => 250", $sorted),
		$of_four, 1000, "four clients of four jobs, libpq, processes: $workers");
	is($node->safe_psql('postgres', 'SELECT jobs, workers FROM bench.runs ORDER BY run_id DESC LIMIT 1'),
		"4|$workers", "processes: $workers");
}
same_ok(by_bench("mode => 'libpq', clients => 3, jobs => 1, transactions => 250", $sorted),
	$of_three, 750, 'three clients of one job, libpq');
same_ok(by_bench("mode => 'spi', clients => 3, transactions => 250", $sorted),
	$of_three, 750, 'three clients, spi: their streams do not depend on jobs');

# The choice between scripts.
my @weighted = qw(-t 500 -b tpcb-like@3 -b select-only@1);
my $weighted = by_pgbench('simple', 'ctid', @weighted);
my $rows     = () = $weighted =~ /$/mg;
foreach my $mode (qw(spi libpq))
{
	same_ok(
		by_bench("mode => '$mode', transactions => 500, scripts => 'tpcb-like\@3,select-only\@1'",
			'ctid'),
		$weighted, $rows, "script choice, $mode");
}
my $weighted_four =
  by_pgbench('prepared', $sorted, qw(-t 100 -c 4 -j 4 -b tpcb-like@3 -b select-only@1));
$rows = () = $weighted_four =~ /$/mg;
same_ok(
	by_bench("mode => 'spi', clients => 4, transactions => 100, scripts => 'tpcb-like\@3,select-only\@1'", $sorted),
	$weighted_four, $rows, 'script choice of four clients, spi');
foreach my $workers (1, 2, 4)
{
	same_ok(
		by_bench("mode => 'libpq', jobs => 4, workers => $workers, clients => 4, transactions => 100, scripts => 'tpcb-like\@3,select-only\@1'", $sorted),
		$weighted_four, $rows, "script choice of four clients, libpq, processes: $workers");
}

# With a rate, the times at which transactions are to start, after the first one, in microseconds.
sub starts
{
	my ($options) = @_;
	my $run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run(sql => 'SELECT 1', rate => 500, clients => 4, transactions => 20, seed => '4711', log => true, $options)");
	return split /,/, $node->safe_psql('postgres', <<SQL);
SELECT string_agg(round((start - least) * 1e6)::text, ',' ORDER BY start)
  FROM (SELECT start, min(start) OVER () AS least
          FROM (SELECT extract(epoch FROM ended_at) - latency_ms / 1e3 AS start
                  FROM bench.transactions WHERE run_id = $run) t) u
SQL
}
my @starts = starts("mode => 'spi'");
foreach my $jobs (1, 2, 4)
{
	my @of_jobs = starts("mode => 'libpq', jobs => $jobs");
	my @differ = grep { abs($starts[$_] - ($of_jobs[$_] // 0)) > 3 } 0 .. $#starts;
	ok(@starts == 80 && @of_jobs == 80 && !@differ, "scheduled starts, spi and libpq with $jobs jobs")
	  or diag("@starts\n@of_jobs");
}

# simple-update
my $simple_update = by_pgbench('prepared', 'ctid', qw(-t 200 -N));
foreach my $mode (qw(spi libpq))
{
	same_ok(by_bench("mode => '$mode', transactions => 200, scripts => 'simple-update'", 'ctid'),
		$simple_update, 200, "simple-update, $mode");
}

# The seed is stored, and a run with the stored seed is the same run.
$node->safe_psql('postgres', "SELECT bench.run(transactions => 50, label => 'unseeded')");
my $unseeded = history('ctid');
my $seed = $node->safe_psql('postgres', "SELECT seed FROM bench.runs WHERE label = 'unseeded'");
like($seed, qr/^\d+$/, 'a seed is stored');
$node->safe_psql('postgres', "SELECT bench.run(transactions => 50, seed => '$seed')");
same_ok(history('ctid'), $unseeded, 50, 'a run with the stored seed');
$node->safe_psql('postgres', "SELECT bench.run(transactions => 50)");
isnt(history('ctid'), $unseeded, 'another run without a seed');

$node->stop;
done_testing();
