# The options setup and teardown: statements around a run, each committed by itself; the
# teardown is done however the run ends, or kept until it is.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('setups', "fsync = off\nmax_worker_processes = 16\n");
my $host = $node->host;
my $port = $node->port;
my $target = "host=$host port=$port dbname=postgres";
$node->safe_psql(
	'postgres', q{
	CREATE TABLE t (a int, b int);
	INSERT INTO t SELECT n, n FROM generate_series(1, 20000) n;
	CREATE TABLE seen (indexes bigint);
	VACUUM ANALYZE t;
	SELECT bench.define_script('find', $$\set x random(1, 20000)
		SELECT b FROM t WHERE a = :x;
		INSERT INTO seen SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass;$$);
	SELECT bench.define_script('rest', 'SELECT pg_sleep(600)');
	SELECT bench.define_script('one', 'SELECT 1');});

# Output and errors of SQL.
my $psql = sub {
	my ($sql, %with) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', $sql, extra_params => ['-q'], %with);
	return ($stdout, $stderr);
};
my $value = sub { return $node->safe_psql('postgres', $_[0]) };
my $exists = sub { return $value->("SELECT to_regclass('$_[0]') IS NOT NULL") };

# An index that one run has is used by that one alone.
my $with = q{setup => 'CREATE INDEX CONCURRENTLY t_a ON t (a); VACUUM t', teardown => 'DROP INDEX CONCURRENTLY t_a'};
my %ways = (
	'spi'       => q{mode => 'spi'},
	'backends'  => q{mode => 'spi', client_process => 'backend'},
	'libpq'     => q{mode => 'libpq'},
	'reconnect' => q{mode => 'libpq', reconnect => true},
	'target'    => "mode => 'libpq', target => '$target'",);
foreach my $way (sort keys %ways)
{
	foreach my $index (1, 0)
	{
		my ($stdout, $stderr) = $psql->(qq{
			TRUNCATE seen;
			SELECT run_id, state FROM bench.run('find', clients => 2, transactions => 5, $ways{$way} }
			  . ($index ? ", $with" : '') . q{) \gset
			SELECT :'state', count(*), min(indexes), max(indexes) FROM seen;
			SELECT NOT teardown_due, errors FROM bench.runs WHERE run_id = :run_id;
			SELECT count(*) FROM bench.run_tables WHERE run_id = :run_id AND kind = 'index' AND name = 't_a'});
		my $listed = $stdout =~ s/\n(\d)$// ? $1 : '';
		is("$stdout$stderr", "finished|10|$index|$index\nt|{}", "$way: index $index");
		is($listed, $index, "$way: index $index in bench.run_tables") if $way eq 'spi';
		is($exists->('t_a'), 'f', "$way: no index afterwards");
	}
}

# The statements have the settings of the caller, and keep theirs to themselves.
$node->safe_psql('postgres', 'CREATE SCHEMA side');
$node->safe_psql('postgres', q{
	SELECT bench.define_script('settings', $$INSERT INTO side.told VALUES ('client', current_setting('work_mem'))$$)});
my ($stdout, $stderr) = $psql->(q{
	SET search_path = side;
	SET work_mem = '5MB';
	SELECT state FROM bench.run('settings', transactions => 1, settings => '{"work_mem": "7MB"}', setup => $$
		-- the semicolon; of a comment
		CREATE TABLE told (who text DEFAULT ';', what text);
		INSERT INTO told VALUES ('setup', current_setting('work_mem'));
		SET work_mem = '6MB';
		CREATE FUNCTION tell(text) RETURNS void BEGIN ATOMIC INSERT INTO told VALUES ($1, current_setting('work_mem')); SELECT; END;
		SELECT tell('setup');$$, teardown => 'SELECT tell(''teardown'')');
	SELECT * FROM told});
is("$stdout$stderr", "finished\nsetup|5MB\nsetup|6MB\nclient|7MB\nteardown|5MB", 'settings');

# Timeouts that they set limit them.
foreach my $way ('spi', 'target')
{
	(undef, $stderr) = $psql->(qq{SELECT bench.run('one', transactions => 1, $ways{$way},
		setup => 'SET statement_timeout = 10; SELECT pg_sleep(5)')});
	like($stderr, qr/ERROR:  setup failed: canceling statement due to statement timeout\nDETAIL:  Statement: SELECT pg_sleep\(5\)\.$/,
		"$way: statement_timeout");
	(undef, $stderr) = $psql->(qq{BEGIN; LOCK TABLE seen; SELECT bench.run('one', transactions => 1, vacuum => 'none', $ways{$way},
		setup => 'SET lock_timeout = 10; ALTER TABLE seen ADD c int')});
	like($stderr, qr/ERROR:  setup failed: canceling statement due to lock timeout\nDETAIL:  Statement: ALTER/, "$way: lock_timeout");
	($stdout, $stderr) = $psql->(columns_of("state, array_to_string(errors, ' ')", qq{bench.run('one', transactions => 1, $ways{$way},
		setup => 'CREATE TABLE first ()', teardown => 'SET statement_timeout = 10; SELECT pg_sleep(5); RESET statement_timeout; DROP TABLE first')}));
	like($stdout, qr/^finished\|teardown failed: canceling statement due to statement timeout \(Statement: SELECT pg_sleep\(5\)\.\)/,
		"$way: statement_timeout of a teardown");
	is($exists->('first'), 'f', "$way: statements behind it");
	$node->safe_psql('postgres', 'SELECT bench.finish_teardown(run_id, give_up => true) FROM bench.runs WHERE teardown_due');
}

# A FATAL error ends the session that executes them: of a timeout, where the server has it, or of another cause.
foreach my $way ('spi', 'target')
{
	my @fatal;
	push @fatal, [ 'SET transaction_timeout = 100; SELECT pg_sleep(5)', 'SELECT pg_sleep\(5\)', 'transaction timeout' ] if $node->pg_version >= 17;
	push @fatal, [ 'SELECT pg_terminate_backend(pg_backend_pid())', 'SELECT pg_term.*', 'administrator command' ] if $way eq 'target';
	foreach (@fatal)
	{
		my ($sql, $statement, $cause) = @$_;
		my $error = qr/terminating connection due to $cause/;
		(undef, $stderr) = $psql->(qq{SELECT bench.run('one', transactions => 1, label => '$cause $way', $ways{$way},
			setup => 'CREATE TABLE first (); $sql; CREATE TABLE third ()', teardown => 'DROP TABLE first')});
		like($stderr, qr/ERROR:  setup failed: $error\nDETAIL:  Statement: $statement\./, "$way: $cause");
		is($exists->('first') . $exists->('third'), 'ff', "$way: $cause: the teardown is done");
		is($value->("SELECT state, teardown_due FROM bench.runs WHERE label = '$cause $way'"), 'failed|f', "$way: $cause: the run has failed");
		($stdout, $stderr) = $psql->(columns_of("state, array_to_string(errors, ' ')", qq{bench.run('one', transactions => 1, $ways{$way},
			setup => 'CREATE TABLE first ()', teardown => 'DROP TABLE missing; $sql; DROP TABLE first')}));
		like($stdout, qr/^finished\|teardown failed: table "missing" does not exist .* teardown failed: $error \(Statement: $statement\.\) Repeat/,
			"$way: $cause in a teardown");
		is($value->("SELECT bench.finish_teardown(run_id, give_up => true) FROM bench.runs WHERE teardown_due"), 't', "$way: $cause: it is due");
		$node->safe_psql('postgres', 'DROP TABLE first');
	}
}
if ($node->pg_version >= 17)
{
	is($value->(columns_of('state, errors', q{bench.run('one', transactions => 1, setup => 'CREATE TABLE first ()', teardown => 'SET transaction_timeout = 1000; DROP TABLE first')})),
		'finished|{}', 'a transaction_timeout that does not come');
}
# It does not: no statement leaves a transaction open.
is($value->("SELECT state FROM bench.run('one', transactions => 1, $ways{$_}, setup => 'SET idle_in_transaction_session_timeout = 1; SELECT pg_sleep(0.1)')"),
	'finished', "$_: idle_in_transaction_session_timeout") foreach ('spi', 'target');

# Rights are those of the caller.
$node->safe_psql('postgres', q{
	CREATE ROLE tester LOGIN;
	SELECT bench.grant_to('tester');
	CREATE SCHEMA AUTHORIZATION tester;});
my @tester = (extra_params => [ '-q', '-U', 'tester' ]);
$node->safe_psql('postgres', q{SELECT bench.define_script('one', 'SELECT 1')}, @tester);
($stdout, $stderr) = $psql->(q{SELECT state FROM bench.run('one', transactions => 1, setup => 'CREATE TABLE mine ()')}, @tester);
is("$stdout$stderr", 'finished', 'another role');
is($value->(q{SELECT tableowner FROM pg_tables WHERE tablename = 'mine'}), 'tester', 'owns what it creates');
(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1, setup => 'DROP TABLE public.t')}, @tester);
like($stderr, qr/ERROR:  setup failed: must be owner of table t\nDETAIL:  Statement: DROP TABLE public\.t\./, 'and no more');

# What is wrong with the text is an error before anything runs.
my $runs = $value->('SELECT count(*) FROM bench.runs');
foreach (
	[ 'SELEC 1', qr/ failed: syntax error at or near "SELEC"\nDETAIL:  Statement: SELEC 1\./ ],
	[ 'SELECT 1; \d t', qr/invalid value for option "\w+": "\\d t"\nDETAIL:  SQL statements/ ],
	[ 'BEGIN; SELECT 1; COMMIT', qr/ failed: transaction commands are not possible\nDETAIL:  Statement: BEGIN\./ ],
	[ 'COPY t FROM STDIN', qr/ failed: COPY from or to the client is not possible/ ],
	[ 'x' x 1_048_577, qr/invalid value for option|argument/ ],)
{
	my ($text, $error) = @$_;
	foreach my $option ('setup', 'teardown')
	{
		(undef, $stderr) = $psql->("SELECT bench.run('one', transactions => 1, $option => '$text')");
		like($stderr, qr/ERROR:  .*$error/, "$option: " . substr($text, 0, 40));
	}
}
is($value->('SELECT count(*) FROM bench.runs'), $runs, 'none of them has begun a run');
(undef, $stderr) = $psql->("SELECT bench.run('one', transactions => 1, mode => 'libpq', target => '$target', setup => 'BEGIN')");
like($stderr, qr/ERROR:  setup failed: the statement leaves a transaction open/, 'target: a transaction');
(undef, $stderr) = $psql->("SELECT bench.run('one', transactions => 1, mode => 'libpq', target => '$target', setup => 'COPY t FROM STDIN')");
like($stderr, qr/ERROR:  setup failed: COPY was not expected/, 'target: COPY');
is($value->(q{SELECT state FROM bench.run('one', transactions => 1, setup => '', teardown => '-- nothing')}), 'finished', 'no statements');

# An error of the setup ends the run; the teardown is done.
foreach my $way ('spi', 'target')
{
	(undef, $stderr) = $psql->(qq{SELECT bench.run('one', transactions => 1, label => 'error $way', $ways{$way},
		setup => 'CREATE TABLE first (); SELECT 1 / 0; CREATE TABLE third ()', teardown => 'DROP TABLE first')});
	like($stderr, qr{ERROR:  setup failed: division by zero\nDETAIL:  Statement: SELECT 1 / 0\.$}, "$way: an error in the setup");
	is($exists->('first') . $exists->('third'), 'ff', "$way: the teardown is done");
	is( $value->("SELECT state, NOT teardown_due, coordinator_pid IS NULL, errors FROM bench.runs WHERE label = 'error $way'"),
		'failed|t|t|{"setup failed: division by zero (Statement: SELECT 1 / 0.)"}', "$way: the run has failed");
}
# Its SQLSTATE is that of the statement, also if it is not one of the server's.
$node->safe_psql('postgres', q(CREATE FUNCTION own() RETURNS void LANGUAGE plpgsql AS $$BEGIN RAISE 'mine' USING ERRCODE = 'MY001'; END$$));
foreach my $way ('spi', 'target')
{
	foreach (['own()', 'MY001'], ['1 / 0', '22012'])
	{
		my ($expression, $state) = @$_;
		(undef, $stderr) = $psql->(qq{\\set VERBOSITY sqlstate
			SELECT bench.run('one', transactions => 1, $ways{$way}, setup => \$\$SELECT $expression\$\$)});
		like($stderr, qr/ERROR:  $state$/, "$way: SQLSTATE of $expression");
	}
}
# As well as one of the run behind it.
(undef, $stderr) = $psql->(q{SELECT bench.run(transactions => 1, label => 'no tables', setup => 'CREATE TABLE first ()', teardown => 'DROP TABLE first')});
like($stderr, qr/ERROR:  relation "pgbench_branches" does not exist|ERROR:  relation "pgbench_accounts" does not exist/, 'an error after the setup');
is($exists->('first'), 'f', 'the teardown is done');
is($value->(q{SELECT state, NOT teardown_due FROM bench.runs WHERE label = 'no tables'}), 'failed|t', 'the run has failed');
# Tables may come from the setup.
is( $value->(columns_of('state, scale', q{bench.run('select-only', transactions => 1, vacuum => 'none',
		setup => 'CREATE TABLE pgbench_accounts (aid int, abalance int); CREATE TABLE pgbench_branches AS SELECT 1 AS bid',
		teardown => 'DROP TABLE pgbench_accounts, pgbench_branches')})), 'finished|1', 'tables that the setup creates');

# An error of the teardown is a warning, and the teardown stays, until it can be done.
foreach my $way ('spi', 'target')
{
	($stdout, $stderr) = $psql->(qq{SELECT state FROM bench.run('one', transactions => 1, label => 'left $way', $ways{$way},
		setup => 'CREATE TABLE first (); CREATE TABLE third ()', teardown => 'DROP TABLE first; DROP TABLE missing; DROP TABLE IF EXISTS third')});
	my $run = $value->("SELECT run_id FROM bench.runs WHERE label = 'left $way'");
	is($stdout, 'finished', "$way: the run has finished");
	like($stderr, qr/WARNING:  teardown failed: table "missing" does not exist \(Statement: DROP TABLE missing\.\).*bench\.finish_teardown\($run\)/s,
		"$way: an error in the teardown");
	is($exists->('first') . $exists->('third'), 'ff', "$way: the other statements are executed");
	is($value->("SELECT teardown FROM bench.runs WHERE run_id = $run"), 'DROP TABLE first; DROP TABLE missing; DROP TABLE IF EXISTS third', "$way: the teardown stays");
	is($value->("SELECT count(*) FROM bench.advice($run) WHERE finding = 'the teardown of the run is still due'"), 1, "$way: advice");
	(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1)});
	like($stderr, qr/NOTICE:  the teardown of an earlier run is still due\nDETAIL:  Run $run ended without .*\nHINT:  .*bench\.finish_teardown\($run\)/, "$way: the next run tells");
	(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1)}, @tester);
	unlike($stderr, qr/teardown/, "$way: but not those of others");
	(undef, $stderr) = $psql->("SELECT bench.finish_teardown($run)", @tester);
	like($stderr, qr/ERROR:  run $run does not exist/, "$way: who does not see the run");
	my $again = $way eq 'target' ? "$run, '$target'" : $run;
	(undef, $stderr) = $psql->("SELECT bench.finish_teardown($again)");
	like($stderr, qr/ERROR:  the teardown of run $run is still not done\nDETAIL:  teardown failed: table "first" does not exist.*\nteardown failed: table "missing"/,
		"$way: what is missing");
	my ($other, $error) = $way eq 'target' ? ($run, qr/had a target/) : ("$run, '$target'", qr/had no target/);
	(undef, $stderr) = $psql->("SELECT bench.finish_teardown($other)");
	like($stderr, qr/ERROR:  run $run $error/, "$way: the wrong number of targets");
	$node->safe_psql('postgres', 'CREATE TABLE first (); CREATE TABLE missing ()');
	is($value->("SELECT bench.finish_teardown($again)"), 't', "$way: it is done");
	is($exists->('first') . $exists->('missing'), 'ff', "$way: as it says");
	is($value->("SELECT bench.finish_teardown($again)"), 'f', "$way: once");
	(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1)});
	is($stderr, '', "$way: the next run tells nothing");
}
# One that can never be done, because the setup has failed, is tried at once; it can be given up.
foreach my $way ('spi', 'target')
{
	(undef, $stderr) = $psql->(qq{SELECT bench.run('one', transactions => 1, label => 'never $way', $ways{$way},
		setup => 'CREATE INDEX first ON missing (a)', teardown => 'DROP INDEX first')});
	my $run = $value->("SELECT run_id FROM bench.runs WHERE label = 'never $way'");
	my $give_up = "bench.finish_teardown($run, give_up => true)";
	like($stderr, qr/ERROR:  setup failed: relation "missing" does not exist\nDETAIL:  .*\nteardown failed: index "first" does not exist .*\n.*finish_teardown\($run\), or end it with give_up => true\./,
		"$way: setup and teardown fail");
	(undef, $stderr) = $psql->("SELECT bench.finish_teardown($run" . ($way eq 'target' ? ", '$target')" : ')'));
	like($stderr, qr/still not done\nDETAIL:  .*\nHINT:  .*\Q$give_up\E/, "$way: how to end it");
	(undef, $stderr) = $psql->("SELECT $give_up", @tester);
	like($stderr, qr/run $run does not exist/, "$way: who may not");
	is($value->("SELECT $give_up"), 't', "$way: given up");
	is($value->("SELECT $give_up"), 'f', "$way: once");
	is($value->("SELECT teardown_due, teardown FROM bench.runs WHERE run_id = $run"), 'f|DROP INDEX first', "$way: the run stays");
	(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1)});
	is($stderr, '', "$way: the next run tells nothing");
}
# A superuser does not do that for others.
($stdout, $stderr) = $psql->(q{SELECT run_id FROM bench.run('one', transactions => 1, teardown => 'DROP TABLE missing')}, @tester);
(undef, $stderr) = $psql->("SELECT bench.finish_teardown($stdout)");
like($stderr, qr/ERROR:  permission denied for the teardown of run $stdout/, 'another role');
is($value->("SELECT count(*) FROM bench.delete_runs('{$stdout}')"), 1, 'a run can be deleted with its teardown');
($stdout) = $psql->(q{SELECT run_id FROM bench.run('one', transactions => 1)}, @tester);
is($value->("SELECT bench.finish_teardown($stdout)"), 'f', 'a run of another role without a teardown');
(undef, $stderr) = $psql->('SELECT bench.finish_teardown(0)');
like($stderr, qr/ERROR:  run 0 does not exist/, 'no such run');
(undef, $stderr) = $psql->('SELECT bench.finish_teardown(NULL)');
like($stderr, qr/ERROR:  run_id must not be null/, 'no run');

# However the run ends, the teardown is done.
my $around = q{teardown => 'SELECT pg_sleep(0.2); DROP TABLE first'};
my $long = "setup => 'CREATE TABLE first (); SELECT pg_sleep(600)', $around";
my $short = "setup => 'CREATE TABLE first ()', $around";
my $sleeps = sub {
	wait_for($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%pg_sleep(600)%' AND backend_type NOT LIKE '%coordinator'");
};
my $done = sub {
	my ($name, $state) = @_;
	wait_for($node, "SELECT NOT EXISTS (SELECT FROM bench.runs WHERE teardown_due)");
	is($exists->('first'), 'f', "$name: the teardown is done");
	is($value->('SELECT state FROM bench.runs ORDER BY run_id DESC LIMIT 1'), $state, "$name: $state");
	nothing_left_ok($node, $name);
};
foreach my $way ('spi', 'libpq', 'target')
{
	foreach my $when ('setup', 'run')
	{
		my $run = "SELECT bench.run('rest', transactions => 1, $ways{$way}, " . ($when eq 'setup' ? $long : $short) . ')';

		my $session = start_sql($node, $run, name => 'caller');
		$sleeps->();
		my $phase = $when eq 'setup' ? 'setup' : 'running';
		ok(wait_for($node, "SELECT phase = '$phase' FROM bench.progress"), "$way, $when: progress");
		signal_sql($session, 'INT');
		(undef, $stderr) = finish_sql($session);
		like($stderr, qr/canceling statement due to user request/, "$way, $when: canceled by the caller");
		like($stderr, qr/NOTICE: .*run \d+ was canceled@{[$when eq 'setup' ? ' before it began' : '; its results so far: bench.report']}/,
			"$way, $when: the number of the run");
		$done->("$way, $when: canceled by the caller", 'canceled');

		$session = start_sql($node, $run, name => 'caller');
		$sleeps->();
		my $pid = backend_of($node, 'caller');
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
		finish_sql($session);
		$done->("$way, $when: the caller's session has ended", 'canceled');
	}
	my $session = start_sql($node, "SELECT bench.run('rest', transactions => 1, $ways{$way}, $long)");
	$sleeps->();
	$value->("SELECT pg_terminate_backend(coordinator_pid) FROM bench.runs WHERE state = 'starting'");
	(undef, $stderr) = finish_sql($session);
	like($stderr, qr/ERROR:  57014: benchmark canceled before it started: its coordinator was terminated/, "$way, setup: the caller is told");
	$done->("$way, setup: the coordinator was terminated", 'canceled');
	like($value->('SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1'), qr/its coordinator was terminated/, "$way, setup: and the run");
	(undef, $stderr) = $psql->("SET statement_timeout = '1 s'; SELECT bench.run('rest', transactions => 1, $ways{$way}, $long)");
	like($stderr, qr/canceling statement due to statement timeout/, "$way, setup: a timeout of the caller");
	$done->("$way, setup: a timeout of the caller", 'canceled');
	like($value->('SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1'), qr/canceling statement due to statement timeout/, "$way, setup: why");
	(undef, $stderr) = $psql->("SELECT bench.run('rest', transactions => 1, $ways{$way}, setup => 'CREATE TABLE first (); SET statement_timeout = 100; SELECT pg_sleep(600)', $around)");
	like($stderr, qr/ERROR:  setup failed: canceling statement due to statement timeout\n/, "$way, setup: a timeout of its own");
	$done->("$way, setup: a timeout of its own", 'failed');
	(undef, $stderr) = $psql->("SET statement_timeout = '3 s'; SELECT bench.run('one', transactions => 1, $ways{$way}, setup => 'CREATE TABLE first ()', teardown => 'SET statement_timeout = 0; SELECT pg_sleep(4); DROP TABLE first')");
	like($stderr, qr/NOTICE: +run (\d+) had already ended; see bench\.report\(\1\)\n.*ERROR: +canceling statement due to statement timeout/, "$way, teardown: a timeout of the caller");
	$done->("$way, teardown: a timeout of the caller", 'finished');
	my $run = $value->("SELECT bench.start('rest', transactions => 1, $ways{$way}, $short)");
	$value->("SELECT pg_cancel_backend(coordinator_pid) FROM bench.runs WHERE run_id = $run");
	$done->("$way: pg_cancel_backend", 'canceled');
	like($value->("SELECT errors FROM bench.runs WHERE run_id = $run"), qr/canceled: its coordinator was canceled/, "$way: why");
	$run = $value->("SELECT bench.start('rest', transactions => 1, $ways{$way}, $short)");
	is($value->("SELECT bench.cancel($run)"), 't', "$way: bench.cancel");
	$done->("$way: bench.cancel", 'canceled');
	$run = $value->("SELECT bench.start('rest', transactions => 1, $ways{$way}, $short)");
	$value->("SELECT pg_terminate_backend(coordinator_pid) FROM bench.runs WHERE run_id = $run");
	$done->("$way: the coordinator was asked to end", 'canceled');
}

# Waiting for locks of the caller ends with an error, not never.
foreach my $sql (
	q{BEGIN; LOCK TABLE t IN ACCESS SHARE MODE; SELECT bench.run('one', transactions => 1, setup => 'ALTER TABLE t ADD c int', teardown => 'SELECT 1')},
	q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM seen; SELECT bench.run('one', transactions => 1, setup => 'CREATE INDEX CONCURRENTLY t_b ON t (b)', teardown => 'DROP INDEX IF EXISTS t_b')})
{
	(undef, $stderr) = $psql->($sql);
	like($stderr, qr/ERROR:  the (?:current transaction holds a lock|run waits for the calling transaction)/, 'a lock of the caller');
	wait_for($node, "SELECT NOT EXISTS (SELECT FROM bench.runs WHERE teardown_due)");
}

# The caller does not wait forever for a teardown that waits for the caller.
(undef, $stderr) = $psql->(q{BEGIN; LOCK TABLE t IN ACCESS SHARE MODE;
	SELECT bench.run('one', transactions => 1, teardown => 'ALTER TABLE t ADD c int; ALTER TABLE t DROP c')});
like($stderr, qr/ERROR:  the current transaction holds a lock/, 'a teardown that waits for the caller');
wait_for($node, "SELECT NOT EXISTS (SELECT FROM bench.runs WHERE teardown_due)");
nothing_left_ok($node, 'a teardown that waits for the caller');

# A crash leaves the teardown; its owner executes it.
foreach my $how ('immediate', 'fast')
{
	my $run = $value->("SELECT bench.start('rest', transactions => 1, $short)");
	$node->stop($how);
	$node->start;
	is($exists->('first'), 't', "$how shutdown: nothing is torn down");
	(undef, $stderr) = $psql->(q{SELECT bench.run('one', transactions => 1)});
	like($stderr, qr/NOTICE:  the teardown of an earlier run is still due\nDETAIL:  Run $run ended without /, "$how shutdown: the next run tells");
	is($value->("SELECT state IN ('lost', 'canceled', 'failed') FROM bench.runs WHERE run_id = $run"), 't', "$how shutdown: the run is lost");
	my @sessions = map { start_sql($node, "SELECT bench.finish_teardown($run)") } 1 .. 2;
	my @outcomes = map { join '', (finish_sql($_))[ 0, 1 ] } @sessions;
	is((grep { $_ eq 't' } @outcomes), 1, "$how shutdown: one session does it") || diag(explain(\@outcomes));
	is((grep { /^f$|is in progress/ } @outcomes), 1, "$how shutdown: the other does not");
	is($exists->('first'), 'f', "$how shutdown: it is done");
}
# With a canceled attempt before.
my $run = $value->(q{SELECT bench.start('rest', transactions => 1, setup => 'CREATE TABLE first ()', teardown => 'SELECT pg_sleep(600) FROM first; DROP TABLE IF EXISTS first')});
(undef, $stderr) = $psql->("SELECT bench.finish_teardown($run)");
like($stderr, qr/ERROR:  run $run is in progress/, 'not while the run is in progress');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'INSERT INTO first DEFAULT VALUES');
my $session = start_sql($node, "SELECT bench.finish_teardown($run)");
$sleeps->();
(undef, $stderr) = $psql->("SELECT bench.finish_teardown($run, give_up => true)");
like($stderr, qr/ERROR:  the teardown of run $run is in progress/, 'it is not given up meanwhile');
# A run with the same number in another database is not meant.
$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', "CREATE EXTENSION pg_selfbench; SELECT setval('bench.run_id_seq', $run, false)");
$node->psql('second', q{SELECT bench.define_script('one', 'SELECT 1');
	SELECT bench.run('one', transactions => 1, teardown => 'DROP TABLE missing')});
(undef, undef, $stderr) = $node->psql('second', q{SELECT bench.run('one', transactions => 1)});
like($stderr, qr/DETAIL:  Run $run ended /, 'the teardown of a run with the same number in another database is still due');
signal_sql($session, 'INT');
(undef, $stderr) = finish_sql($session);
like($stderr, qr/canceling statement due to user request/, 'an attempt is canceled');
nothing_left_ok($node, 'an attempt is canceled');
is($exists->('first'), 't', 'the teardown is still not done');
$node->safe_psql('postgres', 'DELETE FROM first');
is($value->("SELECT bench.finish_teardown($run)"), 't', 'the next one does it');
# DROP DATABASE ... WITH (FORCE) does not wait for a teardown, which can no longer connect.
$node->safe_psql('postgres', 'DROP DATABASE second');
my @phases = (
	"setup => 'SELECT pg_sleep(600)', teardown => 'SELECT 1'",
	"teardown => 'SELECT 1'",
	"duration => '1 s', teardown => 'SELECT pg_sleep(600)'");
foreach my $phase (@phases)
{
	$node->safe_psql('postgres', 'CREATE DATABASE second');
	$node->safe_psql('second', 'CREATE EXTENSION pg_selfbench');
	$session = start_sql($node, q{SELECT bench.run(sql => 'SELECT pg_sleep(} . ($phase =~ /duration/ ? 0.1 : 600) . ")', $phase)", database => 'second');
	$sleeps->();
	my (undef, undef, $stderr) = $node->psql('postgres', 'DROP DATABASE second WITH (FORCE)');
	is($stderr, '', "DROP DATABASE: $phase");
	finish_sql($session);
	nothing_left_ok($node, "DROP DATABASE: $phase");
}
nothing_left_ok($node, 'at the end');

done_testing();
