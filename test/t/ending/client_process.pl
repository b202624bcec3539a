# Clients of mode spi in backends: if there are not enough worker slots, or on
# request.  They behave like clients in workers.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# One slot for the coordinator, two for clients; one more is the server's own.
my $node = new_bench_node('backends', "fsync = off\nmax_worker_processes = 4\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# A run does the same in backends as in workers.
my $history = q{SELECT string_agg(concat_ws(' ', tid, bid, aid, delta), ',' ORDER BY ctid)
	FROM pgbench_history};
my %found;
foreach my $process (qw(worker backend))
{
	my $run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run(transactions => 100, seed => '42', client_process => '$process')");
	$found{$process} = $node->safe_psql('postgres', $history);
	figures_ok($node, $run, $process);
	is( $node->safe_psql('postgres', "SELECT backends FROM bench.runs WHERE run_id = $run"),
		$process eq 'worker' ? 0 : 1,
		"$process: backends are counted");
}
is($found{backend}, $found{worker}, 'the same transactions');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

my $happened = 0;
my $run = sub {
	my ($options, %with) = @_;
	my (undef, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT state, transactions, failed FROM bench.run($options)", %with);
	return ($stdout, $stderr);
};

# More clients than there are workers.
my ($result, $told) = $run->("clients => 8, transactions => 50");
is($result, 'finished|400|0', 'auto');
like($told, qr/^psql:.*NOTICE:  6 of 8 clients ran in backends/, 'and says so');
invariants_ok($node, 400, 'auto');
($result, $told) = $run->("clients => 2, transactions => 5, vacuum => 'none'");
is("$result$told", 'finished|10|0', 'with workers for all clients there is nothing to say');
($result, $told) = $run->("clients => 4, transactions => 5, client_process => 'worker'");
like($told, qr/ERROR:  not enough background worker slots: 5 needed/, 'worker');
($result, $told) =
  $run->("clients => 4, transactions => 5, client_process => 'backend', vacuum => 'none'");
is("$result$told", 'finished|20|0', 'backend');
invariants_ok($node, 430, 'backend');

# Errors of all kinds, blocks left open, protocols.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (v int);
	SELECT bench.define_script('fails', E'begin;\ninsert into t values (:client_id);\nselect 1 / (:client_id - 2);\nend;'),
	       bench.define_script('open', E'begin;\nselect 1;'),
	       bench.define_script('mixed', E'begin isolation level repeatable read;\nsavepoint s;\ninsert into t values (-1);\nrollback to s;\nselect 7 as seven \\\\gset\ninsert into t values (:seven);\ncommit and chain;\nselect 1;\nrollback;')});
foreach my $protocol (qw(simple extended prepared))
{
	($result, $told) =
	  $run->("'fails', clients => 4, transactions => 3, protocol => '$protocol', client_process => 'backend'");
	if ($protocol eq 'simple')
	{
		is($result, 'finished|9|0', 'a client is aborted, others go on');
		like($told, qr/client 2 script 0 aborted in command 2 query 0: ERROR:  division by zero/,
			'its reason');
		is($node->safe_psql('postgres', 'WITH d AS (DELETE FROM t RETURNING v) SELECT v, count(*) FROM d GROUP BY v ORDER BY v'),
			"0|3\n1|3\n3|3", 'what it did is rolled back');
	}
	($result, $told) =
	  $run->("'mixed', clients => 2, transactions => 3, protocol => '$protocol', client_process => 'backend'");
	is($result, 'finished|6|0', "$protocol: blocks") or diag $told;
	$node->safe_psql('postgres', 'DELETE FROM t WHERE v <> 7');
	is($node->safe_psql('postgres', 'WITH d AS (DELETE FROM t RETURNING v) SELECT count(*) FROM d'),
		6, "$protocol: rows");
}
($result, $told) = $run->("'open', transactions => 1, client_process => 'backend'");
like($told, qr/end of script reached without completing the last transaction/, 'block left open');
# The call of bench.start has that timeout, too.
in_time_ok("statement_timeout is for the client's statements", sub {
	my (undef, $state) = $node->psql(
		'postgres', qq{
		SET statement_timeout = '3 s';
		SELECT bench.start('select-only', duration => 3 + $_[0], client_process => 'backend') AS run \\gset
		RESET statement_timeout;
		SELECT state FROM bench.wait(:run)});
	return $state eq 'finished';
});

# Whatever ends it.
$node->safe_psql('postgres', 'SELECT bench.initialize()');
my $backends = q{FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name = 'pg_selfbench'};
foreach (
	[ 'Ctrl-C',                      sub { signal_sql($_[0], 'INT') } ],
	[ 'bench.cancel', sub { $node->safe_psql('postgres', 'SELECT bench.cancel(run_id) FROM bench.progress') } ],
	[ 'a backend terminated', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $backends LIMIT 1") } ],
	[ 'a statement of a backend canceled', sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $backends") }, 'lives' ],
	[ 'the coordinator terminated', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator'") } ],
	[ 'the caller terminated', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'") } ],)
{
	my ($name, $end, $lives) = @$_;
	my $session = start_sql($node,
		"SELECT * FROM bench.run(clients => 4, duration => '1000 s', vacuum => 'none', label => 'ended',"
		  . " client_process => 'backend')",
		name => 'caller');
	wait_for_transactions($node, 'ended');
	$end->($session);
	# Its clients may all have been aborted by then.
	signal_sql($session, 'INT') if $lives;
	finish_sql($session);
	nothing_left_ok($node, $name);
	my $found = invariants($node);
	ok($found->{equal}, "$name: sums agree") or diag explain $found;
}

# Rights: backends are for superusers, and others have workers.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE tester LOGIN;
	SELECT bench.grant_to('tester');
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester;});
my @tester = (extra_params => [ '-U', 'tester' ]);
($result) = $run->("'select-only', clients => 2, transactions => 2, vacuum => 'none'", @tester);
is($result, 'finished|4|0', 'without rights: workers');
(undef, $told) = $run->("'select-only', clients => 4, transactions => 2", @tester);
like($told, qr/ERROR:  not enough background worker slots/, 'without rights: not enough of them');
(undef, $told) = $run->("'select-only', client_process => 'backend'", @tester);
like($told, qr/ERROR:  permission denied for mode "libpq"/, 'without rights: no backends');

# Only runs can call the procedure: it requires their secret, and a call at top level.
$node->safe_psql('postgres',
	'CREATE PROCEDURE calls() LANGUAGE plpgsql AS $$BEGIN CALL bench_internal.spi_client(1, 1); END$$');
my $outside = 'can only be called at top level';
foreach (
	[ 'CALL bench_internal.spi_client(1, 1)',                    'no run of the current role waits for a client' ],
	[ 'CALL bench_internal.spi_client(NULL, 1)',                 'segment must not be null' ],
	[ 'CALL bench_internal.spi_client(1, NULL)',                 'secret must not be null' ],
	[ 'BEGIN; CALL bench_internal.spi_client(1, 1)',             $outside ],
	[ q(DO $$BEGIN CALL bench_internal.spi_client(1, 1); END$$), $outside ],
	[ 'CALL calls()',                                   $outside ],
	[ q(SELECT bench.run(mode => 'libpq', client_process => 'worker')), 'needs mode "spi"' ],
	[ q(SELECT bench.run(client_process => 'thread')), 'invalid value for option "client_process"' ],)
{
	my ($sql, $error) = @$_;
	my (undef, undef, $stderr) = $node->psql('postgres', $sql);
	like($stderr, qr/ERROR:  .*(?:$error)/, $sql);
}
# Guessing the number of a run that waits for its clients does not give access to it.
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE pgbench_branches IN SHARE UPDATE EXCLUSIVE MODE');
my $waiting = start_sql($node, "SELECT state FROM bench.run(transactions => 5, client_process => 'backend')");
wait_for($node,
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^run \\d+: vacuum\$' AND wait_event_type = 'Lock'");
my $called = q{FROM pg_stat_activity WHERE query LIKE 'CALL bench_internal.spi_client(%' AND backend_type = 'client backend'};
is($node->safe_psql('postgres', "SELECT query $called"),
	'CALL bench_internal.spi_client($1, $2)', 'the activity view does not show the secret');
(undef, undef, $told) = $node->psql('postgres', q{
	SELECT segment FROM bench.runs WHERE state = 'starting' \gset
	CALL bench_internal.spi_client(:segment, 0)});
like($told, qr/ERROR:  no run of the current role waits for a client/, 'without the secret');
$locker->query_safe('ROLLBACK');
$locker->quit;
is((finish_sql($waiting))[0], 'finished', 'and the run does not notice');
nothing_left_ok($node, 'at the end');

done_testing();
