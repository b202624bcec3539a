# Many clients of mode libpq, whose statements never end by themselves, are canceled: no session goes
# on executing, on this server or on a target.
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

# The sessions of a target, which has many more of them than CPUs.
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_connections = 200\nshared_buffers = 16MB\nlog_statement = none\n");
$far->start;
my $target = $far->connstr('postgres') . ' application_name=client';
my $active = "FROM pg_stat_activity WHERE application_name = 'client' AND state = 'active'";
my $ours = "backend_type LIKE 'pg_selfbench%'";
$clients = 150;
$node->safe_psql('postgres', q{SELECT bench.define_script('asleep', 'SELECT pg_sleep(10000);')});

foreach my $case (
	[ 'endless', 'bench.cancel', 'SELECT bench.cancel(max(run_id)) FROM bench.runs' ],
	[ 'asleep', 'all processes are terminated', "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE $ours" ],
	[ 'asleep', 'the caller is terminated', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'" ])
{
	my ($script, $how, $sql) = @$case;
	my $caller = start_sql($node,
		"SELECT bench.run('$script', mode => 'libpq', clients => $clients, duration => '600 s', vacuum => 'none', target => \$\$$target\$\$)",
		name => 'caller');
	ok($far->poll_query_until('postgres', "SELECT count(*) >= $clients $active"), "$how: the clients are executing");
	$node->safe_psql('postgres', $sql);
	# Whoever is impatient repeats it.
	$node->poll_query_until('postgres', "SELECT count(pg_terminate_backend(pid)) = 0 FROM pg_stat_activity WHERE $ours")
	  if $how =~ /^all/;
	finish_sql($caller);
	ok($far->poll_query_until('postgres', "SELECT count(*) = 0 $active"), "$how: no session of the target is executing")
	  || $far->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $active");
	nothing_left_ok($node, "target, $how");
	is($node->safe_psql('postgres', 'SELECT aborted_clients FROM bench.runs ORDER BY run_id DESC LIMIT 1'), 0,
		"$how: clients whose sessions the run terminates are not aborted");
}

# A target that refuses to terminate sessions is not asked all the time.
$far->safe_psql('postgres', <<'SQL');
CREATE ROLE refused LOGIN;
REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC;
CREATE FUNCTION stay() RETURNS void LANGUAGE plpgsql AS
$$BEGIN LOOP BEGIN PERFORM pg_sleep(0.1); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END$$;
SQL
$node->safe_psql('postgres', q{SELECT bench.define_script('stay', 'SELECT stay();')});
my $offset = -s $far->logfile;
my $caller = start_sql($node,
	"SELECT bench.run('stay', mode => 'libpq', clients => 2, jobs => 1, duration => '600 s', vacuum => 'none', target => \$\$$target user=refused\$\$)",
	name => 'caller');
ok($far->poll_query_until('postgres', "SELECT count(*) = 2 $active"), 'refused: the clients are executing');
$node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs');
finish_sql($caller);
my $refused = () = slurp_file($far->logfile, $offset) =~ /permission denied for function pg_terminate_backend/g;
ok($refused > 0 && $refused <= 16, "refused: asked at intervals, $refused times");
$far->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $active");
nothing_left_ok($node, 'refused');

$far->stop;
$node->stop;
done_testing();
