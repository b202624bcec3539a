# A network to the target that refuses, resets, loses the second half or answers with COPY: runs and initializations end with an error that
# says so, keep what is known, and leave nothing. One that hangs: target.pl.
use strict;
use warnings;

use FaultyNetwork;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('network', 'max_worker_processes = 16');
$node->safe_psql('postgres', 'SELECT bench.initialize()');
my $socket = $node->host . '/.s.PGSQL.' . $node->port;
my $user = $node->safe_psql('postgres', 'SELECT CURRENT_USER');

# A network, and the target that leads through it.
sub network
{
	my $network = FaultyNetwork->start($socket);
	return ($network, "'host=127.0.0.1 sslmode=disable dbname=postgres user=$user port=" . $network->port . q('));
}

# What a lost connection is called.
my $lost = qr/connection|server closed/;

foreach my $fault (qw(refuse reset half))
{
	my ($network, $target) = network();
	my $rows = invariants($node)->{history};
	my $run = start_sql($node, columns_of('state, aborted_clients',
			"bench.run(mode => 'libpq', clients => 3, duration => '10 min', vacuum => 'none', label => '$fault', target => $target)"));
	wait_for_transactions($node, $fault);
	$network->fault($fault);
	my ($stdout, $stderr) = finish_sql($run);
	is($stdout, 'failed|3', "$fault: the run fails");
	like($stderr, qr/WARNING:  .*run was aborted for 3 of 3 clients/, "$fault: the caller is told");
	my $row = latest_run($node, $fault);
	like($row->{errors}, $lost, "$fault: the errors of its row");
	figures_ok($node, $row->{run_id}, $fault);
	nothing_left_ok($node, $fault);
	# Of each client, one transaction may have been committed without an answer.
	my $done = invariants($node)->{history} - $rows;
	ok($done >= $row->{transactions} && $done <= $row->{transactions} + 3, "$fault: all transactions are there")
	  or diag "$done rows of $row->{transactions} transactions";
	invariants_ok($node, undef, $fault);
	if ($fault eq 'refuse')
	{
		like(error_as($node, "SELECT bench.run(mode => 'libpq', target => $target)"), qr/ERROR:  08001: could not connect to the target/,
			"$fault: the next run");
	}
	$network->stop;

	($network, $target) = network();
	my $before = $node->safe_psql('postgres', 'SELECT sum(abalance), count(*) FROM pgbench_accounts');
	my $load = start_sql($node, "SELECT bench.initialize(scale => 500, steps => 'g', target => $target)");
	wait_for($node, "SELECT count(*) > 0 FROM pg_stat_progress_copy WHERE relid = 'pgbench_accounts'::regclass AND tuples_processed > 0");
	# The loader says everything, and the server nothing until the end: that is what is halved.
	$network->fault($fault);
	if ($fault eq 'half') { signal_sql($load, 'INT') }
	($stdout, $stderr) = finish_sql($load);
	like($stderr, $fault eq 'half' ? qr/ERROR:  57014/ : qr/ERROR:  (08006|57P0\d): .*$lost/, "$fault: the load");
	nothing_left_ok($node, "$fault, load");
	is($node->safe_psql('postgres', 'SELECT sum(abalance), count(*) FROM pgbench_accounts'), $before, "$fault: the tables are as before");
	$network->stop;
}

# One that says that there are COPY data to read, to the clients and to those who observe them.
my ($network, $target) = network();
my $run = start_sql($node, columns_of('state, aborted_clients',
		"bench.run(mode => 'libpq', clients => 2, duration => '10 min', vacuum => 'none', observe => true, label => 'copy', target => $target)"));
wait_for_transactions($node, 'copy');
$network->fault('copy');
my ($stdout, $stderr) = finish_sql($run);
is($stdout, 'failed|2', 'copy: the run fails');
like($stderr, qr/COPY is not supported/, 'copy: the caller is told');
nothing_left_ok($node, 'copy');
$network->stop;
next_run_ok($node, 'afterwards');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash');
$node->stop;
remove_data($node);
done_testing();
