# Many clients of mode libpq, whose statements never end by themselves, are canceled: no session goes
# on executing, here or on a target.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $clients = 150;
my $node = new_bench_node('many_clients',
	"fsync = off\nautovacuum = off\nmax_connections = 180\nmax_worker_processes = 16\nshared_buffers = 16MB\nlog_statement = none\n");
# Each sees cancels in each of its iterations.
$node->safe_psql('postgres', q{SELECT bench.define_script('endless', 'SELECT count(*) FROM (SELECT generate_series(1, 1000000000000000)) s;')});

my $executing = "FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM (SELECT generate_series%' AND state = 'active'";
foreach my $where ('', ', target => ' . "'" . $node->connstr('postgres') =~ s/'/''/gr . "'")
{
	foreach my $how ('bench.cancel', 'SIGINT')
	{
		my $name = ($where ? 'target' : 'this server') . ", $how";
		my $caller = start_sql($node,
			"SELECT bench.run('endless', mode => 'libpq', protocol => 'simple', clients => $clients, duration => '600 s'$where)", name => 'caller');
		wait_for($node, "SELECT count(*) = $clients $executing");
		if ($how eq 'SIGINT')
		{
			signal_sql($caller, 'INT');
		}
		else
		{
			is($node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs'), 't', "$name: bench.cancel");
		}
		my (undef, $stderr) = finish_sql($caller);
		like($stderr, $how eq 'SIGINT' ? qr/ERROR:  57014: / : qr/WARNING:  57000: .*canceled: on request/s, "$name: the run is canceled");
		nothing_left_ok($node, $name);
	}
}

$node->stop;
done_testing();
