# A run of tpcb-like in each mode: all counted transactions happened, and no others,
# and no process is left.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('run');
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');

my $happened = 0;
foreach my $mode (qw(spi libpq))
{
	is( $node->safe_psql(
			'postgres',
			"SELECT state, mode, transactions
			 FROM bench.run(mode => '$mode', clients => 3, transactions => 50, vacuum => 'none')"
		),
		"finished|$mode|150",
		"$mode: result of the run");
	$happened += 150;
	invariants_ok($node, $happened, $mode);
	ok(wait_until_quiet($node), "$mode: no process is left");
}

done_testing();
