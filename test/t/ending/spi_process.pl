# A client of mode spi is a server process like others: what it does with requests to
# cancel and to end, with its own run, and after errors.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('spi_process');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nwal_level = replica");
my $counts = has_module('pg_stat_statements');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'") if $counts;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_selfbench');
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
		columns_of('state, transactions, failed, aborted_clients', "bench.run($options)"));
	return ($stdout, $stderr);
}

# Requests to cancel that come at any moment, also while other interrupts are handled,
# never make a transaction that has committed a failed one, and never end a client.
$node->safe_psql('postgres', q{
	CREATE TABLE rows (v int);
	SELECT bench.define_script('insert', 'insert into rows values (:client_id);')});
$node->safe_psql('postgres', qq{
	CREATE FUNCTION disturbed() RETURNS bigint LANGUAGE plpgsql AS \$\$
	DECLARE
		requests bigint = 0;
	BEGIN
		FOR i IN 1..100 LOOP
			requests := requests + (SELECT count(*) FILTER (WHERE pg_log_backend_memory_contexts(pid) AND pg_cancel_backend(pid))
			   FROM pg_stat_activity WHERE $client);
			PERFORM pg_stat_clear_snapshot();
		END LOOP;
		RETURN requests;
	END \$\$});
foreach my $round (1 .. 3)
{
	in_time_ok(
		"round $round: requests to cancel",
		sub {
			my $run = start_sql($node,
				columns_of('state, aborted_clients, transactions', "bench.run('insert', clients => 4, duration => '$_[0] s', continue_on_error => true, vacuum => 'none', label => 'round $round')"));
			my $requests = 0;
			# One that comes before the first transaction cancels the run.
			comes_before_end($node, "SELECT transactions > 0 FROM bench.progress WHERE label = 'round $round'", $run);
			$requests += $node->safe_psql('postgres', 'SELECT disturbed()') while !has_ended($run);
			my ($stdout, $stderr) = finish_sql($run);
			my $rows = $node->safe_psql('postgres', 'WITH d AS (DELETE FROM rows RETURNING v) SELECT count(*) FROM d');
			is($stdout, "finished|0|$rows", "round $round: transactions are rows") or diag $stderr;
			return $requests;
		});
}

# Between statements a request to cancel is void, in \sleep and \shell, too.
my $directory = PostgreSQL::Test::Utils::tempdir;
append_to_file("$directory/command",
	"cd $directory; echo \$\$ >pid; mv pid runs; while [ ! -e goes_on ]; do sleep 0.05; done\n");
$node->safe_psql('postgres', qq{
	SELECT bench.define_script('sleep', E'begin;\\n\\\\sleep :nap s\\nselect 1;\\nend;'),
	       bench.define_script('shell', E'begin;\\n\\\\shell sh $directory/command\\nselect 1;\\nend;'),
	       bench.define_script('leaves', E'\\\\shell yes & true'),
	       bench.define_script('long', 'select pg_sleep(100);')});
my ($run, $result);
in_time_ok(
	'\sleep: requests to cancel',
	sub {
		$run = start_sql($node,
			"SELECT state, transactions FROM bench.run('sleep', transactions => 1, vacuum => 'none', variables => '{\"nap\": $_[0]}')");
		my $sleeps = "FROM pg_stat_activity WHERE $client AND state = 'idle in transaction'";
		if (comes_before_end($node, "SELECT count(*) = 1 $sleeps", $run))
		{
			$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $sleeps") foreach 1 .. 5;
		}
		my $is_in_time = $node->safe_psql('postgres', "SELECT count(*) $sleeps");
		$result = (finish_sql($run))[0];
		return $is_in_time;
	});
is($result, 'finished|1', '\sleep: a request to cancel is void');

foreach my $process (qw(worker backend))
{
	my $shell = "'shell', transactions => 1, vacuum => 'none', client_process => '$process'";
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
	$run = start_sql($node, columns_of('state, errors', "bench.run($shell)"));
	my $group = $command->();
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM ($pid) p");
	like((finish_sql($run))[0], qr/^canceled\|.*a client worker was terminated: terminating /,
		"$process, \\shell: pg_terminate_backend ends the run, and it says why");
	ok(gone($group), "$process, \\shell: the command is gone");
	unlink "$directory/runs";
	nothing_left_ok($node, "$process, \\shell");
	is($node->safe_psql('postgres', "SELECT state, transactions FROM bench.run('leaves', transactions => 2, vacuum => 'none', client_process => '$process')"),
		'finished|2', "$process, \\shell: a process that it leaves behind writes on");

	# A process that ends by itself.
	$node->safe_psql('postgres', "SELECT bench.define_script('ends', 'select pg_terminate_backend(pg_backend_pid());')");
	# Exiting, it has debug messages to send when the shared memory of the run is gone.
	foreach my $level (qw(notice debug5))
	{
		my (undef, $stdout) = $node->psql('postgres',
			"SET client_min_messages = $level; " . columns_of('state, errors', "bench.run('ends', transactions => 1, vacuum => 'none', client_process => '$process')"));
		like($stdout, qr/^canceled\|.*terminating (?:background worker|connection).* due to administrator command/,
			"$process: a client that ends itself says so, messages from $level on");
	}

	# A statement that is canceled fails, and the client is aborted, as for pgbench.
	$run = start_sql($node,
		"SELECT state, failed FROM bench.run('long', clients => 2, transactions => 1, vacuum => 'none', client_process => '$process')");
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
		columns_of('state, errors', "bench.run('too long', transactions => 1, vacuum => 'none')"));
	like($stdout, qr/^canceled\|.*terminating connection due to transaction timeout/, 'transaction_timeout');
}

# Clients that look at their own run, or end it.
$node->safe_psql('postgres', q{
	SELECT bench.define_script('looks', 'select 1 / count(*) from bench.progress;'),
	       bench.define_script('cancels', 'select bench.cancel(run_id) from bench.progress;'),
	       bench.define_script('waits', E'select run_id from bench.progress \\\\gset\nselect bench.wait(:run_id);')});
is((result_of("'looks', clients => 2, transactions => 10, vacuum => 'none'"))[0], 'finished|20|0|0', 'bench.progress of one\'s own run');
like((result_of("'cancels', duration => '10 min', vacuum => 'none'"))[0], qr/^canceled\|/, 'bench.cancel of one\'s own run');
like((result_of("'waits', transactions => 1, vacuum => 'none'"))[1], qr/ERROR:  a client of run \d+ cannot wait for the run/, 'bench.wait for one\'s own run');
nothing_left_ok($node, 'own run');

# No client reads notifications, so that none may LISTEN, on whatever way.
my %listens = (
	listen   => 'listen something;',
	together => 'select 1\;listen something;',
	do       => q{do $$begin listen something; end$$;},
	function => 'select listens();');
$node->safe_psql('postgres',
	q{CREATE FUNCTION listens() RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE 'LISTEN something'; END$$});
foreach my $how (sort keys %listens)
{
	$node->safe_psql('postgres', "SELECT bench.define_script('$how', \$script\$$listens{$how}\$script\$)");
	foreach my $process (qw(worker backend))
	{
		like((result_of("'$how', transactions => 1, vacuum => 'none', protocol => 'simple', client_process => '$process'"))[1],
			qr/ERROR:  cannot execute LISTEN within a background process/, "$process: $how");
	}
}

# What an error releases beside the transaction: a temporary replication slot.
$node->safe_psql('postgres', q{
	SELECT bench.define_script('slot', E'select pg_create_physical_replication_slot(''temporary'', false, true);\ninsert into rows values (1);\nselect 1 / 0;')});
is((result_of("'slot', transactions => 3, continue_on_error => true, vacuum => 'none', protocol => 'simple'"))[0],
	'finished|0|3|0', 'errors, each time');
is($node->safe_psql('postgres', 'WITH d AS (DELETE FROM rows RETURNING v) SELECT count(*) FROM d'), 3,
	'an error drops temporary replication slots');

# Commands that need a block, or must not be in one, in pipelines and alone: as the
# server treats them.
my %commands = (
	lock_first    => "\\startpipeline\nlock table rows;\nselect 1;\n\\endpipeline",
	lock_second   => "\\startpipeline\nselect 1;\nlock table rows;\n\\endpipeline",
	lock_synced   => "\\startpipeline\nselect 1;\n\\syncpipeline\nlock table rows;\n\\endpipeline",
	cursor_first  => "\\startpipeline\ndeclare c cursor for select 1;\nselect 1;\n\\endpipeline",
	cursor_second => "\\startpipeline\nselect 1;\ndeclare c cursor for select 1;\nfetch c;\n\\endpipeline",
	cursor_block  => "begin;\ndeclare c cursor for select 1;\nfetch c;\nclose c;\nend;",
	cursor_alone  => 'declare c cursor for select 1;',
	savepoint     => "\\startpipeline\nselect 1;\nsavepoint s;\n\\endpipeline",
	rollback      => "\\startpipeline\ninsert into rows values (2);\nrollback;\nselect 1;\n\\endpipeline",
	local         => "\\startpipeline\nselect 1;\nset local work_mem = '1MB';\n\\endpipeline");
foreach my $name (sort keys %commands)
{
	$node->safe_psql('postgres', "SELECT bench.define_script('$name', \$script\$$commands{$name}\$script\$)");
	foreach my $protocol (qw(extended prepared))
	{
		my %outcome;
		foreach my $mode (qw(spi libpq))
		{
			my ($stdout, $stderr) =
			  result_of("'$name', transactions => 2, vacuum => 'none', mode => '$mode', protocol => '$protocol'");
			$outcome{$mode} = join ' ', $stdout, $stderr =~ /ERROR:  (?!no client)(.*)/g;
		}
		is($outcome{spi}, $outcome{libpq}, "$name, $protocol: as in mode libpq");
	}
}
is($node->safe_psql('postgres', 'WITH d AS (DELETE FROM rows RETURNING v) SELECT count(*) FROM d'), 0, 'rolled back');

# Statements are counted by pg_stat_statements as those of mode libpq are.
SKIP:
{
	skip 'the server has no pg_stat_statements', 3 if !$counts;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_stat_statements;
		SELECT bench.define_script('counted', E'begin;\nset local work_mem = ''1MB'';\nselect 1 as counted;\nsavepoint s;\nlock table rows;\nrelease s;\ncommit;')});
	foreach my $protocol (qw(simple extended prepared))
	{
		my %counted;
		foreach my $mode (qw(spi libpq))
		{
			$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
			is((result_of("'counted', transactions => 3, vacuum => 'none', mode => '$mode', protocol => '$protocol'"))[0],
				'finished|3|0|0', "counted in mode $mode");
			# Others send some of these, too.
			$counted{$mode} = $node->safe_psql('postgres', q{
				SELECT string_agg(query || ' ' || CASE WHEN query ~ '^(begin|commit)' THEN calls >= 3 ELSE calls = 3 END, '; ' ORDER BY query)
				  FROM pg_stat_statements
				 WHERE query ~ '^(begin|set local work_mem|select .* as counted|savepoint|lock|release|commit)'});
		}
		# pg_stat_statements may count a utility command that a client has prepared once
		# only: it takes the identifier from the plan.
		is($counted{spi}, $counted{libpq}, "$protocol: counted as in mode libpq")
		  if $protocol ne 'prepared';
		unlike($counted{spi}, qr/false/, "$protocol: each of them");
		like($counted{spi}, qr/^begin true; commit true; lock/, "$protocol: with transaction control");
	}
}

done_testing();
