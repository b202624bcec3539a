# A client of mode spi is a server process like others: what it does with requests to
# cancel and to end, with its own run, and after errors.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('spi_process', 'fsync = off');
my $client = "backend_type = 'pg_selfbench spi client'";

# Whether a process is gone, or soon will be.
sub gone
{
	my ($pid) = @_;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		# Nobody may have fetched its status yet.
		return 1 if !kill(0, $pid) || (-r "/proc/$pid/stat" && slurp_file("/proc/$pid/stat") =~ /\) Z/);
		usleep(100_000);
	}
	return 0;
}

sub result_of
{
	my ($options) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres',
		"SELECT state, transactions, failed, aborted_clients FROM bench.run($options)");
	return ($stdout, $stderr);
}

# Requests to cancel that come at any moment, also while other interrupts are handled,
# never make a transaction that has committed a failed one, and never end a client.
$node->safe_psql('postgres', q{
	CREATE TABLE rows (v int);
	SELECT bench.define_script('insert', 'insert into rows values (:client_id);')});
my $disturb = qq{DO \$\$
	BEGIN
		FOR i IN 1..100 LOOP
			PERFORM pg_log_backend_memory_contexts(pid), pg_cancel_backend(pid)
			   FROM pg_stat_activity WHERE $client;
			PERFORM pg_stat_clear_snapshot();
		END LOOP;
	END\$\$};
foreach my $round (1 .. 3)
{
	my $run = start_sql($node,
		"SELECT state, aborted_clients, transactions FROM bench.run('{insert}', clients => 4, duration => '1 s', continue_on_error => true, vacuum => 'none', label => 'round $round')");
	wait_for_transactions($node, "round $round");
	$node->safe_psql('postgres', $disturb)
	  while $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE $client");
	my ($stdout, $stderr) = finish_sql($run);
	my $rows = $node->safe_psql('postgres', 'WITH d AS (DELETE FROM rows RETURNING v) SELECT count(*) FROM d');
	is($stdout, "finished|0|$rows", "round $round: transactions are rows") or diag $stderr;
}

# Between statements a request to cancel is void, in \sleep and \shell, too.
my $directory = PostgreSQL::Test::Utils::tempdir;
append_to_file("$directory/command",
	"cd $directory; echo \$\$ >pid; mv pid runs; while [ ! -e goes_on ]; do sleep 0.05; done\n");
$node->safe_psql('postgres', qq{
	SELECT bench.define_script('sleep', E'begin;\\n\\\\sleep 300 ms\\nselect 1;\\nend;'),
	       bench.define_script('shell', E'begin;\\n\\\\shell sh $directory/command\\nselect 1;\\nend;'),
	       bench.define_script('long', 'select pg_sleep(100);')});
my $run = start_sql($node, "SELECT state, transactions FROM bench.run('{sleep}', transactions => 3, vacuum => 'none')");
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $client AND state = 'idle in transaction'");
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE $client AND state = 'idle in transaction'")
  foreach 1 .. 20;
is((finish_sql($run))[0], 'finished|3', '\sleep: a request to cancel is void');

foreach my $process (qw(worker backend))
{
	my $shell = "'{shell}', transactions => 1, vacuum => 'none', client_process => '$process'";
	my $pid = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND backend_type IN ('client backend', 'pg_selfbench spi client')};
	my $command = sub {
		$node->poll_query_until('postgres', "SELECT (pg_stat_file('$directory/runs', true)).size > 0") or die;
		return slurp_file("$directory/runs") + 0;
	};

	$run = start_sql($node, "SELECT state, transactions FROM bench.run($shell)");
	$command->();
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM ($pid) p") foreach 1 .. 20;
	append_to_file("$directory/goes_on", '');
	is((finish_sql($run))[0], 'finished|1', "$process, \\shell: a request to cancel is void");
	unlink "$directory/goes_on", "$directory/runs";

	# Whatever ends the process ends its command.
	$run = start_sql($node, "SELECT state, errors::text FROM bench.run($shell)");
	my $group = $command->();
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM ($pid) p");
	like((finish_sql($run))[0], qr/^canceled\|.*a client worker was terminated: terminating /,
		"$process, \\shell: pg_terminate_backend ends the run, and it says why");
	ok(gone($group), "$process, \\shell: the command is gone");
	unlink "$directory/runs";
	nothing_left_ok($node, "$process, \\shell");

	# A process that ends by itself.
	$node->safe_psql('postgres', "SELECT bench.define_script('ends', 'select pg_terminate_backend(pg_backend_pid());')");
	my ($stdout) = $node->psql('postgres',
		"SELECT errors FROM bench.run('{ends}', transactions => 1, vacuum => 'none', client_process => '$process')");
	(undef, $stdout) = $node->psql('postgres',
		"SELECT state, errors::text FROM bench.run('{ends}', transactions => 1, vacuum => 'none', client_process => '$process')");
	like($stdout, qr/^canceled\|.*terminating (?:background worker|connection).* due to administrator command/,
		"$process: a client that ends itself says so");

	# A statement that is canceled fails, and the client is aborted, as for pgbench.
	$run = start_sql($node,
		"SELECT state, aborted_clients FROM bench.run('{long}', clients => 2, transactions => 1, vacuum => 'none', client_process => '$process')");
	wait_for($node, 'SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event = \'PgSleep\'');
	$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = \'PgSleep\'');
	like((finish_sql($run))[1], qr/ERROR: .*no client could finish a transaction\n.*canceling statement due to user request/,
		"$process: a statement that is canceled fails");
	nothing_left_ok($node, "$process, statement");
}

# A transaction that takes too long ends its session, where the server has such a limit.
SKIP:
{
	skip 'the server has no transaction_timeout', 1
	  if $node->pg_version < 17;
	$node->safe_psql('postgres',
		"SELECT bench.define_script('too long', E'set transaction_timeout = 100;\\nbegin;\\n\\\\sleep 100 s\\nend;')");
	my (undef, $stdout) = $node->psql('postgres',
		"SELECT state, errors::text FROM bench.run('{too long}', transactions => 1, vacuum => 'none')");
	like($stdout, qr/^canceled\|.*terminating connection due to transaction timeout/, 'transaction_timeout');
}

# Clients that look at their own run, or end it.
$node->safe_psql('postgres', q{
	SELECT bench.define_script('looks', 'select 1 / count(*) from bench.progress;'),
	       bench.define_script('cancels', 'select bench.cancel(run_id) from bench.progress;'),
	       bench.define_script('waits', E'select run_id from bench.progress \\\\gset\nselect bench.wait(:run_id);')});
is((result_of("'{looks}', clients => 2, transactions => 10, vacuum => 'none'"))[0], 'finished|20|0|0', 'bench.progress of one\'s own run');
like((result_of("'{cancels}', duration => '10 min', vacuum => 'none'"))[0], qr/^canceled\|/, 'bench.cancel of one\'s own run');
like((result_of("'{waits}', transactions => 1, vacuum => 'none'"))[1], qr/ERROR:  a client of run \d+ cannot wait for the run/, 'bench.wait for one\'s own run');
nothing_left_ok($node, 'own run');

done_testing();
