# The overhead that runs report about themselves, and advice on doubtful figures.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('advice', "fsync = off\nlog_statement = none\nmax_worker_processes = 24\ncheckpoint_timeout = 1h\n");
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');

# Nanoseconds of CPU time of a process, as its kernel counts them.
sub cpu_ns
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/schedstat" or return;
	my ($ns) = split ' ', <$file>;
	return $ns;
}

# What overhead_us of a run in mode libpq should be, from outside: CPU time of its
# worker, whose start is seen late, and which is stopped before its end.
sub seen_from_outside
{
	$node->safe_psql('postgres',
		"SELECT bench.start('select-only', mode => 'libpq', clients => 2, jobs => 1,"
		  . " duration => '10 min', label => 'watched')");
	wait_for_transactions($node, 'watched');
	my $worker = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench libpq client'");
	my $first = cpu_ns($worker);
	wait_for($node, "SELECT seconds > 2 FROM bench.progress WHERE label = 'watched'");
	kill 'STOP', $worker;
	my $last = cpu_ns($worker);
	$node->safe_psql('postgres', "SELECT bench.cancel(run_id) FROM bench.progress WHERE label = 'watched'");
	kill 'CONT', $worker;
	wait_until_quiet($node);
	return defined $last ? ($last - $first, $last) : ();
}

foreach my $mode (qw(spi libpq))
{
	my $run;
	# In mode spi, of some turns; one of them may stand still.
	in_time_ok("$mode: the harness takes less than transactions", sub {
		$run = $node->safe_psql('postgres',
			"SELECT run_id FROM bench.run(mode => '$mode', clients => 2, transactions => 400 * $_[0])");
		return $node->safe_psql('postgres',
			"SELECT overhead_us < latency_avg_ms * 1000 FROM bench.run_summary WHERE run_id = $run") eq 't';
	});
	is( $node->safe_psql(
			'postgres', qq{
			SELECT overhead_us > 0, overhead_share > 0, overhead_share <= 1
			FROM bench.run_summary WHERE run_id = $run}),
		't|t|t',
		"$mode: the harness is measured");
	my $line = $mode eq 'spi'
	  ? qr/^outside executor and commit: \d+\.\d\d us per transaction, \d+\.\d% of the clients' time$/m
	  : qr/^client workers: \d+\.\d\d us of CPU time per transaction, \d+\.\d% of their time$/m;
	like($node->safe_psql('postgres', "SELECT bench.report($run)"), $line, "$mode: and reported");
	unlike($node->safe_psql('postgres', "SELECT bench.pgbench('-n -t 10 --mode=$mode')"),
		$line, "$mode: but not where pgbench's report is asked for");

	# The client's work counts as overhead, the server's work does not.
	$node->safe_psql('postgres',
		"SELECT bench.define_script('client', (SELECT string_agg('\\set x random_gaussian(1, 1000, 5)', E'\\n')"
		  . " FROM generate_series(1, 10000)) || E'\\nSELECT :x;'),"
		  . " bench.define_script('server', 'SELECT sum(i) FROM generate_series(1, 100000) i')");
	foreach my $script (qw(client server))
	{
		$node->safe_psql('postgres',
			"SELECT bench.run('$script', mode => '$mode', transactions => 200, label => '$mode $script')");
	}
	is( $node->safe_psql(
			'postgres', qq{
			SELECT c.overhead_share > 2 * s.overhead_share, s.overhead_share < 0.5, c.overhead_us > s.overhead_us
			FROM bench.runs c, bench.runs s
			WHERE c.label = '$mode client' AND s.label = '$mode server'}),
		't|t|t',
		"$mode: work of the client is told from that of the server");
	is($node->safe_psql('postgres', "SELECT bench.drop_script('client'), bench.drop_script('server')"),
		'|', "$mode: scripts dropped");
}

# A client that ends before its first sample has no figure.
is( $node->safe_psql(
		'postgres', q{
		SELECT bench.run(transactions => 3, label => 'few');
		SELECT overhead_us IS NULL, overhead_share IS NULL FROM bench.runs WHERE label = 'few'}) =~ s/.*\n//sr,
	't|t',
	'spi: too few transactions');

SKIP:
{
	my ($at_least, $at_most) = seen_from_outside();
	skip 'no /proc/PID/schedstat here', 1 if !defined $at_least;
	is( $node->safe_psql(
			'postgres', qq{
			SELECT overhead_us * transactions * 1000 BETWEEN $at_least * 0.8 AND $at_most * 1.25
			FROM bench.runs WHERE label = 'watched'}),
		't',
		'libpq: the CPU time is what the kernel says');
}

# The latest run.
my $latest = '(SELECT max(run_id) FROM bench.runs)';

# The findings of a run with these arguments, without those that all runs here may have: they are short and sample few
# turns, on a server whose build may check assertions and whose machine may have few processors.
sub advice
{
	my ($arguments, $before) = @_;
	$before //= '';
	return $node->safe_psql('postgres', qq{
		$before; SELECT run_id FROM bench.run($arguments) \\gset
		SELECT severity, finding, evidence FROM bench.advice(:run_id)
		WHERE finding !~ '^the run was short|^there was no warm-up|^the server checks|^clients of mode spi shared|^the clients spent|^the client workers|^the run measures memory|^the machine,|^other virtual|^no checkpoint|^autovacuum |^other processes|^clients were '}
	) =~ s/^warning\|commits do not wait for the disk\|fsync = off\n?//mr =~ s/\n\z//r;
}

is(advice("'select-only', transactions => 200"), '', 'nothing to say');
like(
	$node->safe_psql('postgres', "SELECT * FROM bench.advice($latest)"),
	qr/^note\|the run was short\|\d\.\d s\|Run it for at least 10 s/m,
	'a short run, with its remedy');
like($node->safe_psql('postgres', "SELECT * FROM bench.advice($latest)"),
	qr/^note\|there was no warm-up\|warmup = 0\|/m, 'no warm-up');
unlike($node->safe_psql('postgres', "SELECT * FROM bench.advice($latest)"),
	qr/fsync/, 'fsync does not matter to a run that reads');
like($node->safe_psql('postgres', "SELECT * FROM bench.advice($latest)"),
	qr/^note\|the run measures memory, not storage\|the working set, \d+\.\d MB, fits into shared_buffers, 128 MB/m,
	'a small working set');
unlike($node->safe_psql('postgres', "SELECT bench.report($latest)"), qr/note:|warm-up/, 'reports leave notes out');
is(advice('transactions => 20'), 'note|few transactions were measured|20 transactions', 'few transactions');
like(
	$node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($latest)"),
	qr/^warning\|commits do not wait for the disk\|fsync = off$/m,
	'fsync matters to a run that writes');
like($node->safe_psql('postgres', "SELECT bench.report($latest)"),
	qr/^warning: commits do not wait for the disk: fsync = off$/m, 'reports have warnings');
# What clients were seen to wait for differs from run to run.
is( advice("clients => 3, transactions => 100, wait_sample_rate => 0"),
	"warning|clients update the same rows of pgbench_branches|scale 2, 3 clients",
	'a small scale');
is(advice("'select-only', clients => 3, transactions => 100"), '', 'which does not matter to readers');
is( advice('transactions => 200', 'SET synchronous_commit = off'),
	'note|commits do not wait for the disk|synchronous_commit = off',
	'synchronous_commit');
is(advice("'select-only', transactions => 200", 'SET synchronous_commit = off'),
	'', 'which does not matter to readers');
is(advice("'select-only', transactions => 200, warmup => '200 ms'"), '', 'a warm-up');
unlike($node->safe_psql('postgres', "SELECT finding FROM bench.advice($latest)"), qr/warm-up/, 'and no word of it');

# Statements that match nothing, in both modes; others of the same script do, insert, or are meta commands.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE matched (a int PRIMARY KEY, b int);
	INSERT INTO matched VALUES (1, 1);
	CREATE FUNCTION in_vain() RETURNS int LANGUAGE plpgsql AS
	'BEGIN PERFORM FROM matched WHERE a = 0; RETURN 1; END';
	SELECT bench.define_script('vain', E'\\\\set a 1\nSELECT b FROM matched WHERE a = :a;\n'
		'UPDATE matched SET b = b + 1 WHERE a = 2;\nSELECT\n  b FROM matched WHERE a = :a + 5;\n'
		'INSERT INTO matched SELECT 3 WHERE false;\nSELECT in_vain();\nDELETE FROM matched WHERE a = 1 AND random() < 0;\n'
		'BEGIN;\nUPDATE matched SET b = 0 WHERE a = 1;\nEND;\nEXPLAIN SELECT b FROM matched;')});
foreach my $mode (qw(spi libpq))
{
	foreach my $protocol (qw(simple extended prepared))
	{
		my $of = sub { qr/^warning\|a statement matched no row\|script "vain", line $_[0], in \d+ sampled executions: $_[1]$/m };
		my $found = advice("'vain', mode => '$mode', protocol => '$protocol', transactions => 600");
		like($found, $of->(3, 'UPDATE matched SET b = b \+ 1 WHERE a = 2;'), "$mode, $protocol: an update");
		like($found, $of->(4, 'SELECT'), "$mode, $protocol: a query");
		like($found, $of->(8, 'DELETE FROM matched WHERE .*'), "$mode, $protocol: a deletion");
		is(scalar(() = $found =~ /matched no row/g), 3, "$mode, $protocol: nothing else");
		unlike(advice("'vain', mode => '$mode', protocol => '$protocol', transactions => 100"),
			qr/matched no row/, "$mode, $protocol: too few executions");
	}
}
$node->safe_psql('postgres', "DROP TABLE matched; DROP FUNCTION in_vain; SELECT bench.drop_script('vain')");

# Logged statements: the server logs what clients send, and those of mode spi send nothing.  What is said of a run
# in each mode is what its log shows.
sub logged_ok
{
	my ($before, $pattern, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	foreach my $mode (qw(spi libpq))
	{
		my $seen = -s $node->logfile;
		is(advice("'select-only', mode => '$mode', transactions => 200", $before), $mode eq 'spi' ? '' : $expected, "$mode: $name");
		my $log = slurp_file($node->logfile, $seen);
		($mode eq 'spi' ? \&unlike : \&like)->($log, $pattern, "$mode: $name, in the log");
	}
	return;
}
logged_ok(
	'SET log_min_duration_statement = 0; SET log_duration = on',
	qr/duration: .*SELECT abalance/,
	'warning|statements are logged|log_min_duration_statement = 0, log_duration = on',
	'logged statements');
logged_ok(q{SET log_statement = 'all'}, qr/execute .*SELECT abalance/,
	'warning|statements are logged|log_statement = all', 'all statements are logged');
is( advice("'select-only', mode => 'libpq', transactions => 200", "SET log_min_duration_statement = '10 s'"),
	'note|slow statements are logged|log_min_duration_statement = 10s',
	'slow statements are logged');

# auto_explain, if the server has it.
my $has_auto_explain = has_module('auto_explain');
SKIP:
{
	skip 'no auto_explain here', 6 if !$has_auto_explain;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'auto_explain'");
	$node->restart;
	is( advice("'select-only', transactions => 200"),
		'note|auto_explain is loaded|auto_explain.log_min_duration = -1, shared_preload_libraries has it',
		'auto_explain');
	is( advice("'select-only', transactions => 200", "SET auto_explain.log_min_duration = '1 s'; SET auto_explain.log_analyze = on"),
		'warning|auto_explain is loaded|auto_explain.log_min_duration = 1s, auto_explain.log_analyze = on, shared_preload_libraries has it',
		'auto_explain that acts');
	# Sessions may load it, workers do not.
	$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 0");
	$node->restart;
	logged_ok('', qr/plan:\s+Query Text: SELECT abalance/,
		'warning|auto_explain is loaded|auto_explain.log_min_duration = 0, session_preload_libraries has it',
		'auto_explain in sessions');
	$node->append_conf('postgresql.conf', "session_preload_libraries = ''\nauto_explain.log_min_duration = -1");
	$node->restart;
}

# Notices at the start of runs that are to take long.
sub told
{
	my ($arguments, $before) = @_;
	my (undef, undef, $told) = $node->psql('postgres',
		($before // '') . "; SELECT bench.cancel(bench.start($arguments))");
	wait_until_quiet($node);
	return $told;
}
like(told("mode => 'libpq', duration => '1 min', clients => 3", 'SET log_duration = on'),
	qr/NOTICE:  clients update the same rows of pgbench_branches\nDETAIL:  scale 2, 3 clients\.\nHINT:  Initialize .*
\S+ NOTICE:  commits do not wait for the disk\nDETAIL:  fsync = off\.\n.*NOTICE:  statements are logged\nDETAIL:  log_duration = on\./s,
	'notices at the start');
unlike(told("'select-only', duration => '1 min', clients => 3"), qr/pgbench_branches|fsync|logged/, 'none without a reason');
unlike(told("duration => '9 s', clients => 3"), qr/pgbench_branches|fsync/, 'none for a trial');

# Bloat before the run, and growth during it.
$node->safe_psql('postgres', q{
	CREATE TABLE bloated (i int, filler text);
	INSERT INTO bloated SELECT i, repeat('x', 500) FROM generate_series(1, 5000) i;
	DELETE FROM bloated WHERE i > 10;
	VACUUM (ANALYZE, TRUNCATE off) bloated;
	SELECT bench.define_script('bloat', 'SELECT count(*) FROM bloated')});
like(advice("'bloat', transactions => 100, vacuum => 'none'"),
	qr/^warning\|tables were bloated before the run\|bloated: 2\.\d MB, of which rows need \d+(\.\d)? kB$/m, 'a bloated table');

# A table that another session reads meanwhile is not one of the run's.
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
my $beside = $node->safe_psql('postgres', q{
	SELECT bench.define_script('gated', E'SELECT pg_advisory_xact_lock_shared(1);\nSELECT abalance FROM pgbench_accounts WHERE aid = 1;') \g /dev/null
	SELECT bench.start('gated', transactions => 100)});
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'");
$node->safe_psql('postgres', 'SELECT count(*) FROM bloated; SELECT pg_stat_force_next_flush()');
$gate->quit;
$node->safe_psql('postgres', "SELECT FROM bench.wait($beside)");
is( $node->safe_psql('postgres', "SELECT name, known_by FROM bench.run_tables WHERE run_id = $beside AND kind = 'table' ORDER BY name"),
	"bloated|counters\npgbench_accounts|plans", 'tables of a run and of another session');
is( $node->safe_psql('postgres', qq{
		SELECT a.finding, (regexp_match(a.evidence, '[0-9.]+ MB'))[1] = round(t.bytes / 1048576.0, 1) || ' MB'
		FROM bench.advice($beside) a, (SELECT sum(bytes_before) AS bytes FROM bench.run_tables
			WHERE run_id = $beside AND known_by = 'plans') t
		WHERE finding ~ 'bloated|memory'}),
	'the run measures memory, not storage|t', 'only its own ones are judged');

# Whether scripts of users write is known from their statements, or from the tables that functions have changed.
$node->safe_psql('postgres', q{
	CREATE TABLE noted (i int);
	CREATE FUNCTION note() RETURNS void LANGUAGE sql AS 'INSERT INTO noted VALUES (1)';
	SELECT bench.define_script('inserts', 'INSERT INTO noted VALUES (1)'), bench.define_script('calls', 'SELECT note()')});
foreach (
	[ 'bloat',   '' ],
	[ 'inserts', 'checkpoint disk' ],
	[ 'calls',   'checkpoint disk' ],
	# It is not known that it does not write.
	[ 'calls', 'disk', 'observe => false' ])
{
	my ($script, $expected, $options) = @$_;
	$options //= 'observe => true';
	is( $node->safe_psql('postgres', qq{
			SELECT run_id FROM bench.run('$script', transactions => 200, vacuum => 'none', $options) \\gset
			SELECT string_agg(DISTINCT w[1], ' ' ORDER BY w[1])
			FROM bench.advice(:run_id), regexp_matches(finding, '(checkpoint|disk\$)') w}),
		$expected,
		"$script, $options: what matters to runs that write");
}

# After a run that was canceled, nobody has looked for changes.
my $writing = $node->safe_psql('postgres', "SELECT bench.start('calls', mode => 'libpq', duration => '1 h', label => 'writing')");
wait_for_transactions($node, 'writing');
$node->safe_psql('postgres', "SELECT bench.cancel($writing); SELECT FROM bench.wait($writing)");
is($node->safe_psql('postgres', "SELECT count(*) FROM bench.advice($writing) WHERE finding ~ 'disk\$'"), '1', 'a canceled run');

# Whoever resets statistics, or a crash, makes the numbers of rows unknown, not 0.
unlike(
	$node->safe_psql('postgres', q{
		SELECT pg_stat_reset();
		SELECT run_id FROM bench.run('select-only', transactions => 10, vacuum => 'none') \gset
		SELECT finding FROM bench.advice(:run_id)}),
	qr/bloated/, 'statistics that were reset');
is( $node->safe_psql('postgres', qq{SELECT live_rows_before IS NULL FROM bench.run_tables
		 WHERE run_id = (SELECT max(run_id) FROM bench.runs) AND name = 'pgbench_accounts'}),
	't', 'their numbers of rows');

# How a run goes: rows that no run of a few seconds has.
$node->safe_psql('postgres', "SELECT bench.run('select-only', transactions => 200, warmup => '100 ms', label => 'course')");
foreach (
	[ '1000 + i * 5', qr/^warning\|the run was not steady: a trend\|throughput changed by \+[45]\d% within 120 s \(Mann-Kendall test\)$/ ],
	[ 'CASE WHEN i < 60 THEN 1000 ELSE 600 END', qr/^warning\|the run was not steady: a step\|throughput was 10\d\d\.\d tps up to 60\.0 s, then 6\d\d\.\d tps \(Pettitt's test\)$/ ],
	[ 'CASE WHEN i % 30 < 4 THEN 100 ELSE 1000 END', qr/^warning\|the run was not steady: a cycle\|throughput goes up and down by \d+% of its mean every 30 s \(Fisher's test\)$/ ],
	[ '1000', qr/^$/ ])
{
	my ($tps, $expected) = @$_;
	$node->safe_psql('postgres', qq{
		DELETE FROM bench.run_intervals WHERE run_id = (SELECT run_id FROM bench.runs WHERE label = 'course');
		INSERT INTO bench.run_intervals (run_id, interval_no, begins_s, seconds, transactions, serialization_failures,
			deadlock_failures, other_failures, retried, retries, skipped, late, rolled_back, latency_sum_ms, latency_sum_squares_ms2, tps)
		SELECT run_id, i, i, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $tps + (i * 7919 % 101) / 2.0
		FROM bench.runs, generate_series(0, 119) i WHERE label = 'course'});
	like($node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.runs r, bench.advice(r.run_id)"
			  . " WHERE label = 'course' AND finding ~ 'steady'"),
		$expected, "a course of $tps");
}

# What is read of a run grows with the number of its intervals, not with its square, even if the server plans it for few
# rows, as before anybody has analyzed the tables: the rows that pass through all nodes of all plans are few for each
# interval, also without the plans that are made for many.
SKIP:
{
	skip 'no auto_explain here', 3 if !$has_auto_explain;
	my $intervals = 4000;
	my $of_course = "(SELECT run_id FROM bench.runs WHERE label = 'course')";
	my ($status, undef, $plans) = $node->psql('postgres', qq{
		LOAD 'auto_explain';
		BEGIN;
		DELETE FROM bench.run_intervals WHERE run_id = $of_course;
		DELETE FROM bench.run_server_intervals WHERE run_id = $of_course;
		DELETE FROM bench.run_waits WHERE run_id = $of_course;
		INSERT INTO bench.run_intervals (run_id, interval_no, begins_s, seconds, transactions, serialization_failures,
			deadlock_failures, other_failures, retried, retries, skipped, late, rolled_back, latency_sum_ms, latency_sum_squares_ms2, tps)
		SELECT $of_course, i, i, 1, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 1000, 1000, 1000 FROM generate_series(0, $intervals - 1) i;
		INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, checkpoint_active, wal_bytes, cpu_user_ms)
		SELECT $of_course, i, i, 1, false, 1, 1 FROM generate_series(0, $intervals - 1) i;
		INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
		SELECT $of_course, i, c, e, 10, 20
		FROM generate_series(0, $intervals - 1) i, (VALUES ('IO', 'DataFileRead'), ('not waiting', NULL)) w (c, e);
		SET auto_explain.log_min_duration = 0;
		SET auto_explain.log_nested_statements = on;
		SET auto_explain.log_analyze = on;
		SET auto_explain.log_timing = off;
		SET auto_explain.log_level = notice;
		SET enable_hashjoin = off;
		SET enable_mergejoin = off;
		SELECT FROM bench.advice($of_course);
		SELECT FROM bench.time_budget($of_course);
		SELECT FROM bench.report($of_course);
		ROLLBACK});
	my ($rows, $loops, $nodes) = (0, 1, 0);
	foreach (split /\n/, $plans)
	{
		if (/\(actual rows=([\d.]+) loops=(\d+)\)/)
		{
			($rows, $loops, $nodes) = ($rows + $1 * $2, $2, $nodes + 1);
		}
		elsif (/Rows Removed by .*: (\d+)/)
		{
			$rows += $1 * $loops;
		}
	}
	is($status, 0, 'what is known of many intervals');
	cmp_ok($rows / $intervals, '<', 100, "rows of $nodes nodes, by interval");
	cmp_ok($rows / $intervals, '>', 10, 'are counted');
}

# What the server did: rows again, since neither a hypervisor nor a checkpoint can be made slow cheaply.
sub course
{
	my ($columns) = @_;
	$node->safe_psql('postgres', qq{
		UPDATE bench.run_scripts SET description = 'writes', body = 'UPDATE written SET i = 1' WHERE run_id = (SELECT run_id FROM bench.runs WHERE label = 'course');
		UPDATE bench.run_intervals i SET tps = 1000 FROM bench.runs r WHERE r.run_id = i.run_id AND label = 'course';
		DELETE FROM bench.run_server_intervals WHERE run_id = (SELECT run_id FROM bench.runs WHERE label = 'course');
		INSERT INTO bench.run_server_intervals SELECT s.* FROM bench.runs r, generate_series(0, 119) i,
			jsonb_populate_record(NULL::bench.run_server_intervals, jsonb_build_object('run_id', run_id, 'interval_no', i,
				'begins_s', i, 'seconds', 1, 'cpu_user_ms', 1000, 'cpu_system_ms', 500, 'cpu_idle_ms', 500,
				'cpu_iowait_ms', 0, 'cpu_steal_ms', 0, 'other_sessions', 0, 'autovacuum_workers', 0,
				'checkpoint_begun', false, 'checkpoint_active', false, 'checkpoint_ended', false) || ($columns)) s
		WHERE label = 'course'});
	return $node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.runs r, bench.advice(r.run_id)"
		  . " WHERE label = 'course' AND finding ~ 'checkpoint|autovacuum|other|machine'");
}
$node->safe_psql('postgres',
	"DELETE FROM bench.run_times WHERE run_id = (SELECT run_id FROM bench.runs WHERE label = 'course')");
is(course("'{}'"),
	"note|no checkpoint took place during the run|in none of 120 intervals\n"
	  . 'note|autovacuum was not at work during the run|in none of 120 intervals',
	'neither a checkpoint nor autovacuum');
is( course("jsonb_build_object('checkpoint_active', i < 12, 'autovacuum_workers', i / 60, 'cpu_steal_ms', 200, 'other_sessions', i % 2 * 3)"),
	"warning|other virtual machines took CPU time|steal time: 9.1% of the time of all CPUs\n"
	  . "warning|other sessions were active|in 50% of the intervals, up to 3 sessions\n"
	  . "note|a checkpoint took place during the run|in 12 of 120 intervals, 1000.0 tps in these and 1000.0 tps in the others\n"
	  . 'note|autovacuum was at work during the run|in 60 of 120 intervals, 1000.0 tps in these and 1000.0 tps in the others',
	'checkpoint, autovacuum, steal time, other sessions');
$node->safe_psql('postgres', q{
	INSERT INTO bench.run_times SELECT t.* FROM bench.runs r, jsonb_populate_record(NULL::bench.run_times, jsonb_build_object(
		'run_id', run_id, 'clients_ms', 1000, 'busy_ms', 1000, 'sessions_run_queue_ms', 300, 'timed_transactions', 0,
		'timed_plan_ms', 0, 'timed_executor_ms', 0, 'timed_commit_ms', 0, 'timed_session_ms', 0, 'timed_harness_ms', 0,
		'timed_others_ms', 0, 'timed_run_queue_ms', 0)) t WHERE label = 'course'});
foreach ([ 300, 'note', '30%' ], [ 600, 'warning', '60%' ], [ 300, 'note', '30%' ])
{
	my ($queue_ms, $severity, $share) = @$_;
	$node->safe_psql('postgres', "UPDATE bench.run_times t SET sessions_run_queue_ms = $queue_ms FROM bench.runs r WHERE r.run_id = t.run_id AND label = 'course'");
	like(course("'{}'"),
		qr/^$severity\|the machine, not the server, may have limited the run: a long run queue\|sessions waited for a CPU for $share of the time of their transactions$/m,
		"a long run queue: $share");
}
foreach ([ 2.5, '20%' ], [ 0, '30%' ])
{
	my ($lag_ms, $share) = @$_;
	$node->safe_psql('postgres', "UPDATE bench.runs SET lag_avg_ms = $lag_ms WHERE label = 'course'");
	like(course("'{}'"), qr/sessions waited for a CPU for $share of the time of their transactions$/m, "schedule lag of $lag_ms ms is time, too");
}

$node->safe_psql('postgres', "UPDATE bench.run_times SET busy_ms = 0 WHERE run_id = (SELECT run_id FROM bench.runs WHERE label = 'course')");
unlike(course("'{}'"), qr/run queue/, 'no part of no time');
my $of_warmup = $node->safe_psql('postgres', "SELECT bench.start('select-only', clients => 4, duration => '10 min', warmup => '10 min')");
wait_for($node, "SELECT count(*) = 1 FROM bench.progress WHERE run_id = $of_warmup AND phase = 'warming up'");
$node->safe_psql('postgres', "SELECT bench.cancel($of_warmup); SELECT FROM bench.wait($of_warmup)");
unlike($node->safe_psql('postgres', "SELECT finding FROM bench.advice($of_warmup)"), qr/run queue/, 'nor of a run that was canceled in its warm-up');

# What sessions waited for: shares of all samples, those that waited for their clients included, as in bench.top_waits.
# The intervals from 10 to 14 are slow.
sub waited
{
	my ($waits, $blockers) = @_;
	$node->safe_psql('postgres', qq{
		CREATE TEMPORARY TABLE of_run AS SELECT run_id, i FROM bench.runs, generate_series(0, 119) i WHERE label = 'course';
		UPDATE bench.run_intervals c SET tps = CASE WHEN i BETWEEN 10 AND 14 THEN 1 ELSE 1000 END
			FROM of_run o WHERE (o.run_id, i) = (c.run_id, interval_no);
		DELETE FROM bench.run_waits WHERE run_id IN (SELECT run_id FROM of_run);
		DELETE FROM bench.run_blockers WHERE run_id IN (SELECT run_id FROM of_run);
		INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
			SELECT run_id, i, w.*, 20 FROM of_run, LATERAL (VALUES $waits) w;
		INSERT INTO bench.run_blockers (run_id, interval_no, locktype, relation, blocker, samples, rounds)
			SELECT run_id, i, b.*, 1 FROM of_run, LATERAL (VALUES $blockers) b});
	return $node->safe_psql('postgres', "SELECT finding, evidence FROM bench.runs r, bench.advice(r.run_id)"
		  . " WHERE label = 'course' AND finding ~ 'lock|each other|storage did not'");
}
is( waited("('Client', 'ClientRead', 80), ('Lock', 'transactionid', 15), ('not waiting', NULL, 5)", "('transactionid', 'rows', 'own client', 1)"),
	'clients wait for each other on few rows|15% of the samples wait for locks (transactionid), on rows',
	'samples of sessions that wait for their clients count');
is( $node->safe_psql('postgres', "SELECT round(100 * share) FROM bench.runs r, bench.top_waits(r.run_id) WHERE label = 'course' AND class = 'Lock'"),
	15, 'as in bench.top_waits');
is(waited("('Client', 'ClientRead', 95), ('Lock', 'transactionid', 5)", "('transactionid', 'rows', 'own client', 1)"), '',
	'few of all samples');
is( waited(
		"('Client', 'ClientRead', CASE WHEN i < 60 THEN 60 ELSE 76 END), ('Lock', 'tuple', CASE WHEN i < 60 THEN 40 ELSE 24 END)",
		"(CASE WHEN i < 60 THEN 'relation' ELSE 'transactionid' END, CASE WHEN i < 60 THEN 'held' ELSE 'rows' END,
		  CASE WHEN i < 60 THEN 'client backend' ELSE 'own client' END, 2), ('other', NULL, 'other', 10)"),
	"other sessions held locks that the run waited for|20% of the samples wait for locks (relation), on held\n"
	  . 'clients wait for each other on few rows|12% of the samples wait for locks (transactionid), on rows',
	'locks of others and of clients');
foreach ([ 45, '' ], [ 55, 'transactions stopped while storage did not answer' ])
{
	my ($samples, $expected) = @$_;
	is( waited("('Client', 'ClientRead', 100 - $samples), ('IO', 'DataFileRead', $samples)", "('other', NULL, 'other', 1)") =~ s/\|.*//r,
		$expected, "$samples% of the samples wait for storage");
}

# A checkpoint and another session during a real run.
$node->safe_psql('postgres', "SELECT bench.define_script('idle', 'SELECT pg_sleep(0.01)'); CREATE TABLE written (i int)");
my $other = start_sql($node, 'SELECT pg_sleep(600)', name => 'other');
backend_of($node, 'other');
my $observed = $node->safe_psql('postgres', "SELECT bench.start('idle', duration => '10 min', aggregate_interval => '200 ms', warmup => '100 ms')");
wait_for($node, "SELECT count(*) = 1 FROM bench.progress WHERE phase = 'running'");
$node->safe_psql('postgres', 'INSERT INTO written VALUES (1); CHECKPOINT');
my $checkpointed = $node->safe_psql('postgres', "SELECT seconds FROM bench.progress WHERE run_id = $observed");
wait_for($node, "SELECT seconds > $checkpointed + 0.5 FROM bench.progress WHERE run_id = $observed");
$node->safe_psql('postgres', "SELECT bench.cancel($observed); SELECT FROM bench.wait($observed)");
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'other'");
finish_sql($other);
my $found = $node->safe_psql('postgres', "SELECT finding FROM bench.advice($observed)");
like($found, qr/^a checkpoint (took place during the run|slowed the run down)$/m, 'a checkpoint during a run');
like($found, qr/^other sessions were active$/m, 'another session during a run');

# Locks: clients of one row, and a lock that another session holds.
$node->safe_psql('postgres', q{
	CREATE TABLE one_row (i int);
	INSERT INTO one_row VALUES (0);
	SELECT bench.define_script('row', E'BEGIN;\\nUPDATE one_row SET i = i + 1;\\nSELECT pg_sleep(0.01);\\nEND;')});
my $told;
in_time_ok('enough samples of locks', sub {
	$told = advice("'row', clients => 4, duration => 2 * $_[0], wait_sample_rate => 50");
	return $told =~ /wait for each other/;
});
like($told, qr/^warning\|clients wait for each other on few rows\|\d+% of the samples wait for locks \(.*transactionid.*\), on \S*one_row$/m,
	'contention on few rows');
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; UPDATE one_row SET i = 0');
$observed = $node->safe_psql('postgres', "SELECT bench.start('row', transactions => 1, wait_sample_rate => 50)");
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'");
# Blockers are looked for once a second.
wait_for($node, "SELECT seconds > 2.5 FROM bench.progress WHERE run_id = $observed");
$holder->query_safe('COMMIT');
$holder->quit;
$node->safe_psql('postgres', "SELECT FROM bench.wait($observed)");
like($node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($observed)"),
	qr/^warning\|other sessions held locks that the run waited for\|\d+% of the samples wait for locks \(transactionid\), on \S*one_row$/m,
	'a lock of another session');

$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('sometimes', E'\\\\set x random(1, 4)\nSELECT 1 / (:x - 1);');
	SELECT bench.define_script('never', 'SELECT 1 / 0')});
like(
	advice("'sometimes', transactions => 400, continue_on_error => true, seed => '1'"),
	qr/^warning\|transactions failed\|\d\d\.\d% of the transactions$/,
	'failed transactions');
like(
	advice("'idle', rate => 1000, latency_limit => 5, duration => '2 s'"),
	qr/^warning\|transactions were skipped\|\d\d\.\d% of the transactions$/m,
	'skipped transactions');
like(advice("'never\@1,select-only\@9', clients => 2, transactions => 200, seed => '1'"),
	qr/^(error\|the run failed\|.*\n)?error\|clients aborted\|\d of 2 clients/, 'aborted clients');

my $of_aborted = $node->safe_psql('postgres', "SELECT bench.start('never', clients => 4)");
wait_until_quiet($node);
my $doubts = $node->safe_psql('postgres', "SELECT finding FROM bench.advice($of_aborted)");
like($doubts, qr/^clients aborted$/m, 'all clients aborted at once');
unlike($doubts, qr/run queue/, 'which measures no run queue');

# Roles that do not own the run, and roles without runs.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE stranger LOGIN;
	GRANT USAGE ON SCHEMA bench TO stranger;
	GRANT SELECT ON ALL TABLES IN SCHEMA bench TO stranger});
my $run = $node->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs');
my (undef, undef, $error) =
  $node->psql('postgres', "SET ROLE stranger; SELECT bench.advice($run)");
like($error, qr/permission denied for function advice/, 'nobody may call it who was not granted it');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION bench.advice TO stranger');
foreach ([ $run, 'of another role' ], [ 9999, 'that does not exist' ])
{
	(undef, undef, $error) =
	  $node->psql('postgres', "SET ROLE stranger; SELECT bench.advice($_->[0])");
	like($error, qr/ERROR:  run $_->[0] does not exist/, "a run $_->[1]");
}

# The caller of a run that is long enough to be a measurement is told where its result is.
(undef, $run, $error) = $node->psql('postgres', "SELECT run_id FROM bench.run('select-only', duration => '10 s')");
$doubts = $node->safe_psql('postgres', "SELECT count(*) FROM bench.advice($run) WHERE severity <> 'note'");
my $also = $doubts == 0 ? '' : qr/, and bench\.advice\($run\), which has $doubts warnings?/;
like($error, qr/NOTICE:  see bench\.report\($run\)$also$/m, 'where the result is');
(undef, $run, $error) = $node->psql('postgres', "SELECT run_id FROM bench.run('select-only', transactions => 100)");
unlike($error, qr/see bench/, 'not of a short run');

# A run that is going on.
$run = $node->safe_psql('postgres',
	"SELECT bench.start('idle', duration => '5 min', label => 'going on')");
wait_for_transactions($node, 'going on');
is($node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($run)"),
	'note|the run is still in progress|state running', 'a run in progress');
$node->safe_psql('postgres', "SELECT bench.cancel($run)");
wait_until_quiet($node);
like($node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($run)"),
	qr/^error\|the run was canceled\|canceled: on request$/m, 'and then is canceled');

done_testing();
