# A run that pg_cron starts.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_cron));

# Jobs come over a connection or in a worker of pg_cron; both wait for the next minute.
my %nodes;
foreach my $how (qw(socket worker))
{
	my $node = PostgreSQL::Test::Cluster->new("cron_$how");
	$node->init;
	my $host = $node->host;
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.host = '$host'
cron.use_background_workers = @{[ $how eq 'worker' ? 'on' : 'off' ]}
max_worker_processes = 16
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_cron; CREATE EXTENSION pg_selfbench;');
	$node->safe_psql('postgres', 'SELECT bench.initialize()');
	foreach my $mode (qw(spi libpq))
	{
		$node->safe_psql('postgres',
			"SELECT cron.schedule('$mode', '* * * * *', \$\$SELECT bench.run(mode => '$mode', clients => 2, transactions => 20, vacuum => 'none', label => '$mode')\$\$)"
		);
	}
	$nodes{$how} = $node;
}

foreach my $how (qw(socket worker))
{
	my $node = $nodes{$how};
	wait_for($node,
		"SELECT count(DISTINCT label) = 2 FROM bench.runs WHERE state NOT IN ('starting', 'running')");
	wait_for($node, "SELECT count(*) >= 2 FROM cron.job_run_details WHERE end_time IS NOT NULL");
	is( $node->safe_psql('postgres',
			"SELECT DISTINCT label, state, transactions FROM bench.runs WHERE state NOT IN ('starting', 'running') ORDER BY label"),
		"libpq|finished|40\nspi|finished|40",
		"$how: runs are stored");
	is($node->safe_psql('postgres',
			"SELECT DISTINCT status FROM cron.job_run_details WHERE end_time IS NOT NULL"),
		'succeeded', "$how: the jobs have succeeded")
	  or diag $node->safe_psql('postgres', 'SELECT return_message FROM cron.job_run_details');
	invariants_ok($node, undef, $how);
	$node->safe_psql('postgres', "SELECT cron.unschedule(jobname::text) FROM cron.job");
	ok(wait_until_quiet($node), "$how: no process is left");
	$node->stop;
}
done_testing();
