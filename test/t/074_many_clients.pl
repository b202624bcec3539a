# Many clients of mode libpq, whose statements never end by themselves, are canceled: no session goes
# on executing.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $clients = 60;
my $node = new_bench_node('many_clients',
	"fsync = off\nautovacuum = off\nmax_connections = 100\nmax_worker_processes = 16\nshared_buffers = 16MB\nlog_statement = none\n");
# Each sees cancels in each of its iterations.
$node->safe_psql('postgres', q{SELECT bench.define_script('endless', 'SELECT count(*) FROM (SELECT generate_series(1, 1000000000000000)) s;')});

foreach my $how ('bench.cancel', 'SIGINT')
{
	my $caller = start_sql($node,
		"SELECT bench.run('endless', mode => 'libpq', protocol => 'simple', clients => $clients, duration => '600 s')", name => 'caller');
	wait_for($node,
		"SELECT count(*) = $clients FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM (SELECT generate_series%' AND state = 'active'");
	if ($how eq 'SIGINT')
	{
		signal_sql($caller, 'INT');
	}
	else
	{
		is($node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs'), 't', 'bench.cancel');
	}
	my (undef, $stderr) = finish_sql($caller);
	like($stderr, $how eq 'SIGINT' ? qr/ERROR:  57014: / : qr/WARNING:  57000: .*canceled: on request/s, "$how: the run is canceled");
	nothing_left_ok($node, $how);
}

$node->stop;
done_testing();
