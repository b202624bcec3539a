# Rates, retries, errors that end a transaction or a run, connections of single
# transactions, variables, and programs that are stopped, in both modes.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('options', "fsync = off\nmax_worker_processes = 24\ncheckpoint_timeout = 1h\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres',
	'CREATE TABLE lines (line text);'
	  . ' CREATE TABLE used (bytes bigint);'
	  . ' CREATE TABLE taken (i int PRIMARY KEY); INSERT INTO taken VALUES (1)');
# Both commit: one before it fails, within a loop over a query; one before it updates what others
# update, too.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE counters (i int PRIMARY KEY, n int); INSERT INTO counters VALUES (1, 0);
	CREATE PROCEDURE fails(a int, INOUT b text) LANGUAGE plpgsql AS $$
	DECLARE
		i int;
	BEGIN
		FOR i IN SELECT generate_series(1, 3) LOOP
			COMMIT;
			INSERT INTO taken VALUES (a);
		END LOOP;
	END $$;
	CREATE PROCEDURE counts() LANGUAGE plpgsql AS $$
	BEGIN
		COMMIT;
		PERFORM n FROM counters;
		PERFORM pg_sleep(0.001);
		UPDATE counters SET n = n + 1;
	END $$});
$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('sometimes', E'\\\\set x random(0, 1)\nbegin;\nselect 1 / :x;\nend;'),
	       bench.define_script('never', 'select 1 / 0;'),
	       bench.define_script('sleeps', E'\\\\shell sleep 300'),
	       bench.define_script('fails', 'insert into taken values (1);'),
	       bench.define_script('fails in a procedure', E'\\\\set one 1\ncall fails(:one::int, \'x\');'),
	       bench.define_script('counts', 'call counts();'),
	       bench.define_script('measures', $$
	         -- The first level and the next; levels begin at 1 since 18.
	         insert into used select sum(used_bytes) from pg_backend_memory_contexts
	          where level < 2 + (current_setting('server_version_num')::int >= 180000)::int;$$),
	       bench.define_script('variables', 'insert into lines values (:a || :b || :scale);')});

# A checkpoint, which has ended before the first transaction begins.
$node->safe_psql('postgres', q{
	CREATE TABLE redone (after boolean);
	CREATE ROLE tester LOGIN; SELECT bench.grant_to('tester'); GRANT INSERT ON redone TO tester;
	GRANT EXECUTE ON FUNCTION pg_control_checkpoint() TO tester;
	SELECT bench.define_script('redo', 'insert into redone select redo_lsn > :before::pg_lsn from pg_control_checkpoint();')});
foreach my $mode (qw(spi libpq))
{
	foreach my $wanted (qw(true false))
	{
		my $before = $node->safe_psql('postgres', 'TRUNCATE redone; SELECT pg_current_wal_insert_lsn()');
		$node->safe_psql('postgres', 'CREATE TABLE written (); DROP TABLE written');
		my $offset = -s $node->logfile;
		is( $node->safe_psql('postgres', qq{
				SELECT transactions FROM bench.run('redo', mode => '$mode', clients => 2, transactions => 5,
				       checkpoint => $wanted, variables => '{"before": "$before"}')}),
			10, "$mode: a run with checkpoint => $wanted");
		my $checkpoints = () = slurp_file($node->logfile, $offset) =~ /checkpoint starting: .*\bforce wait/g;
		is($checkpoints, $wanted eq 'true' ? 1 : 0, "$mode: its checkpoints");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM redone WHERE after'), $wanted eq 'true' ? 10 : 0,
			"$mode: transactions after it");
		is($node->safe_psql('postgres', 'SELECT checkpoint FROM bench.run_summary ORDER BY run_id DESC LIMIT 1'),
			substr($wanted, 0, 1), "$mode: stored");
	}
}
$node->safe_psql('postgres', q{SELECT bench.define_script('own', 'select 1;')}, extra_params => [qw(-U tester)]);
foreach my $call ('run', 'start')
{
	my ($status, $stdout, $stderr) = $node->psql(
		'postgres', "SELECT bench.$call('own', transactions => 1, checkpoint => true)",
		extra_params => [qw(-U tester)]);
	like($stderr, qr/ERROR:  permission denied for option "checkpoint"\nHINT:/, "bench.$call without the privilege");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM bench.runs WHERE owner = 'tester'::regrole"), 0, 'before anything starts');
$node->safe_psql('postgres', 'GRANT pg_checkpoint TO tester');
my ($status, $stdout, $stderr) = $node->psql(
	'postgres', q{SELECT state FROM bench.run('own', transactions => 1, checkpoint => true)},
	extra_params => [qw(-U tester)]);
is($stdout, 'finished', 'and with it') or diag $stderr;

my $happened = 0;
foreach my $mode (qw(spi libpq))
{
	my $run = sub {
		my ($columns, $options) = @_;
		return $node->safe_psql('postgres',
			columns_of($columns, "bench.run(mode => '$mode', vacuum => 'none', $options)"));
	};

	# A schedule.  All of them start, since nothing limits their latency.
	is( $run->(
			'state, transactions, skipped, lag_avg_ms > 0, seconds > 0.05',
			"scripts => 'select-only', clients => 2, transactions => 100, rate => 1000"),
		'finished|200|0|t|t',
		"$mode: rate");
	# A higher rate than possible: nearly all transactions are late or skipped.
	is( $run->(
			'state, transactions + skipped, skipped > 0',
			"scripts => 'select-only', transactions => 20000, rate => 1e7, latency_limit => 0.5"),
		'finished|20000|t',
		"$mode: skipped");
	is( $run->('late = transactions', "scripts => 'select-only', transactions => 10,"
			  . ' latency_limit => 0.000001'),
		't',
		"$mode: late");

	# Serialization failures.
	my ($done, $failed, $retries) = split /\|/, $node->safe_psql(
		'postgres', "SET default_transaction_isolation = 'repeatable read'; " . columns_of('transactions, failed, retries',
		"bench.run(mode => '$mode', clients => 4, max_tries => 5, transactions => 100, vacuum => 'none')"));
	is($done + $failed, 400, "$mode: every transaction is counted once");
	cmp_ok($retries, '>', 0, "$mode: transactions are retried");
	$happened += $done;
	invariants_ok($node, $happened, "$mode: retries");

	# Those in procedures that have committed, which begin anew.
	($done, $failed, $retries) = split /\|/, $node->safe_psql(
		'postgres', "SET default_transaction_isolation = 'repeatable read'; " . columns_of('transactions, failed, retries',
		"bench.run('counts', mode => '$mode', clients => 4, max_tries => 5, transactions => 50, vacuum => 'none')"));
	is($done + $failed, 200, "$mode: every call is counted once");
	cmp_ok($retries, '>', 0, "$mode: calls are retried");
	is($node->safe_psql('postgres', 'WITH old AS (SELECT n FROM counters), new AS (UPDATE counters SET n = 0)'
			  . ' SELECT n FROM old'),
		$done, "$mode: what is counted has been done");

	# Errors that end the transaction, and those that end the run.
	is( $run->(
			'state, transactions + failed, transactions > 0, failed > 0, errors',
			"scripts => 'sometimes', transactions => 100, protocol => 'simple',"
			  . ' continue_on_error => true'),
		'finished|100|t|t|{}',
		"$mode: continue_on_error");
	is( $run->(
			'state, aborted_clients > 0, seconds < 600',
			q(scripts => 'never@1,select-only@100', clients => 3, duration => '1000 s', seed => '42',
			  exit_on_abort => true)),
		'failed|t|t',
		"$mode: exit_on_abort");

	# They leave no memory behind: the process notes its own now and then.
	foreach my $script ('fails', 'fails in a procedure')
	{
		foreach my $protocol (qw(simple extended prepared))
		{
			$run->('1', "scripts => '$script\@99,measures\@1', transactions => 20000,"
				  . " protocol => '$protocol', continue_on_error => true, seed => '42'");
			is($node->safe_psql('postgres',
					'WITH d AS (DELETE FROM used RETURNING bytes)'
					  . ' SELECT count(*) > 100, max(bytes) - min(bytes) < 300000 FROM d'),
				't|t', "$mode, $protocol: errors leave no memory behind: $script");
		}
	}

	$run->('1', q(scripts => 'variables', transactions => 1, protocol => 'extended',
	              variables => '{"a": "x''y", "b": 1.5, "scale": 7}'));
	is($node->safe_psql('postgres', 'DELETE FROM lines RETURNING line'), "x'y1.57",
		"$mode: variables");

	# A program ends with the run.
	my (undef, undef, $complaint) = $node->psql('postgres',
		"SET statement_timeout = '1s'; SELECT * FROM bench.run('sleeps', mode => '$mode')");
	like($complaint, qr/statement timeout/, "$mode: a program can be stopped");
	ok(wait_until_quiet($node), "$mode: no process is left");
}

# Connections of single transactions.
my $reconnecting = $node->safe_psql(
	'postgres', columns_of('state, transactions, connection_ms > 0',
		"bench.run('select-only', mode => 'libpq', clients => 5, jobs => 2, transactions => 20, reconnect => true)"));
is($reconnecting, 'finished|100|t', 'libpq: reconnect');
like($node->safe_psql('postgres', 'SELECT bench.report(max(run_id)) FROM bench.runs'),
	qr/average connection time = .*including reconnection times/s,
	'libpq: report of reconnections');
ok(wait_until_quiet($node), 'no process is left');

done_testing();
