# Callers of runs: transactions that roll back, DO blocks, functions, several
# sessions at the same time, dblink; and what other sessions see of a run.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('callers');

sub quietly
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', "SET client_min_messages = error;\n$sql");
}

# Initialization inside of blocks.
is(quietly("DO \$\$ BEGIN PERFORM bench.initialize(scale => 2); END \$\$; SELECT count(*) FROM pgbench_branches"),
	2, 'initialize in a DO block');
is(quietly('BEGIN; SELECT count(*) FROM bench.initialize(); ROLLBACK; SELECT count(*) FROM pgbench_branches'),
	"5\n1", 'initialize is not rolled back');
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"DO \$\$ BEGIN PERFORM count(*) FROM pgbench_accounts; PERFORM bench.initialize(); END \$\$");
like($stderr, qr/the current transaction holds a lock/, 'initialize after a look at the tables');

# Runs inside of blocks.
my $happened = 0;
foreach my $mode (qw(spi libpq))
{
	my $run = "bench.run(mode => '$mode', clients => 2, transactions => 5, vacuum => 'none', label => '$mode')";
	is(quietly("BEGIN; SELECT state FROM $run; ROLLBACK;"), 'finished', "$mode: rolled back");
	is(quietly("BEGIN; SAVEPOINT s; SELECT state FROM $run; ROLLBACK TO s; SELECT state FROM $run; COMMIT;"),
		"finished\nfinished", "$mode: in a subtransaction");
	is(quietly("DO \$\$ DECLARE r bench.run_result; BEGIN r := $run; IF r.transactions <> 10 THEN RAISE 'no'; END IF; END \$\$; SELECT 'done'"),
		'done', "$mode: in a DO block");
	is( quietly(
			"CREATE OR REPLACE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS \$\$ DECLARE n bigint; BEGIN SELECT transactions INTO n FROM $run; RETURN n; EXCEPTION WHEN division_by_zero THEN RETURN 0; END \$\$; SELECT f()"
		),
		10, "$mode: in a function with an exception block");
	is(quietly("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT state, transactions FROM $run; COMMIT;"),
		"1\nfinished|10", "$mode: in REPEATABLE READ");
	is(quietly("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; SELECT state, transactions FROM $run; COMMIT;"),
		"1\nfinished|10", "$mode: in SERIALIZABLE");
	is(quietly("CREATE TEMP TABLE t AS SELECT * FROM $run; SELECT state, mode FROM t;"),
		"finished|$mode", "$mode: into a table");
	is(quietly("SELECT sum(r.transactions) FROM generate_series(1, 1) n, LATERAL bench.run(mode => '$mode', clients => n, transactions => 5, vacuum => 'none', label => '$mode') r"),
		5, "$mode: below an aggregate");
	like(quietly("SELECT (bench.run(mode => '$mode', transactions => 5, vacuum => 'none', label => '$mode')).*"),
		qr/^\d+\|finished\|$mode\|/, "$mode: all columns of a call in the SELECT list, which is one");
	$happened += 8 * 10 + 2 * 5;
	is($node->safe_psql('postgres',
			"SELECT count(*), count(DISTINCT run_id), sum(transactions), string_agg(DISTINCT state, ' ') FROM bench.runs WHERE label = '$mode'"
		),
		'10|10|90|finished',
		"$mode: all of them are stored");
	invariants_ok($node, $happened, $mode);
}

# The caller's transaction may have changed something else before.
is(quietly("BEGIN; CREATE TABLE mine (i int); INSERT INTO mine VALUES (1); SELECT state FROM bench.run(transactions => 5, vacuum => 'none'); COMMIT; SELECT * FROM mine"),
	"finished\n1", 'in a transaction that writes');
$happened += 5;

# The caller takes a lock, and then a worker waits for it where no check looks.
($status, $stdout, $stderr) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nBEGIN; SELECT pg_advisory_xact_lock(1); INSERT INTO bench.scripts (name, description, body) VALUES ('x', 'x', 'x'); LOCK TABLE bench.runs IN SHARE MODE; SELECT bench.run(transactions => 1, vacuum => 'none');"
);
like($stderr, qr/ERROR:  55006: the current transaction holds a lock that the benchmark's workers need/,
	'a lock on the result tables');
ok(wait_until_quiet($node), 'a lock on the result tables: no process is left');

# Two runs at once.
my @sessions = map {
	start_sql($node,
		"SELECT run_id, state, transactions FROM bench.run(mode => '$_', clients => 2, transactions => 400, vacuum => 'none')")
} qw(spi libpq);
my %ids;
foreach my $session (@sessions)
{
	my ($out, $err) = finish_sql($session);
	my ($run_id, $result) = split /\|/, $out, 2;
	is($result, 'finished|800', 'a run beside another');
	$ids{$run_id} = 1;
	figures_ok($node, $run_id, 'a run beside another');
}
is(scalar keys %ids, 2, 'they have ids of their own');
$happened += 1600;
invariants_ok($node, $happened, 'two runs at once');

# A run in progress.
my $run_id = $node->safe_psql('postgres',
	"SELECT bench.start(clients => 2, duration => '10 min', vacuum => 'none', label => 'live')");
wait_for_transactions($node, 'live');
is( $node->safe_psql('postgres',
		"SELECT run_id, p.label, mode, phase, p.failed, p.transactions > 0, p.seconds > 0, p.tps > 0, p.latency_avg_ms > 0, coordinator_pid IN (SELECT pid FROM pg_stat_activity) FROM bench.progress p JOIN bench.runs USING (run_id)"
	),
	"$run_id|live|spi|running|0|t|t|t|t|t",
	'bench.progress');
is($node->safe_psql('postgres', "SELECT state, transactions FROM bench.run_summary WHERE run_id = $run_id"),
	'running|0', 'bench.run_summary has no figures yet');
foreach my $timeout ('200 ms', '0')
{
	is( $node->safe_psql('postgres', qq{
			SELECT run_id, state, transactions > 0, tps > 0, latency_avg_ms > 0
			FROM bench.wait($run_id, '$timeout')}),
		"$run_id|running|t|t|t",
		"bench.wait returns the figures so far after $timeout");
}
my $waiter = start_sql($node,
	"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT state FROM bench.wait($run_id); COMMIT",
	name => 'waiter');
wait_for($node,
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'waiter' AND query LIKE '%bench.wait%' AND state = 'active'"
);
is($node->safe_psql('postgres', "SELECT bench.cancel($run_id)"), 't', 'bench.cancel');
is((finish_sql($waiter))[0], "1\ncanceled", 'bench.wait in REPEATABLE READ sees the end');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'), 0, 'bench.progress is empty');
$happened += latest_run($node, 'live')->{transactions};
invariants_ok($node, $happened, 'a run in progress');

# Canceling a session in bench.wait does not cancel the run.
$run_id = $node->safe_psql('postgres',
	"SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'waited for')");
wait_for_transactions($node, 'waited for');
$waiter = start_sql($node, "SELECT bench.wait($run_id)", name => 'waiter');
backend_of($node, 'waiter');
wait_for($node,
	"SELECT count(pg_cancel_backend(pid)) = 1 FROM pg_stat_activity WHERE application_name = 'waiter' AND state = 'active'"
);
like((finish_sql($waiter))[1], qr/57014: canceling statement/, 'bench.wait can be canceled');
is(latest_run($node, 'waited for')->{state}, 'running', 'the run goes on');
is($node->safe_psql('postgres', "SELECT bench.cancel($run_id); SELECT state FROM bench.wait($run_id)"),
	"t\ncanceled", 'until it is canceled');

# The report.
foreach my $mode (qw(spi libpq))
{
	$run_id = quietly(
		"SELECT run_id FROM bench.run(mode => '$mode', clients => 2, transactions => 30, protocol => 'extended')"
	);
	my $report = quietly("SELECT bench.report($run_id)");
	like($report, $_, "report of $mode: $_") foreach (
		qr/^transaction type: <builtin: TPC-B \(sort of\)>$/m,
		qr/^scaling factor: 1$/m,
		qr/^query mode: extended$/m,
		qr/^number of clients: 2$/m,
		qr/^number of transactions per client: 30$/m,
		qr{^number of transactions actually processed: 60/60$}m,
		qr/^number of failed transactions: 0 \(0\.000%\)$/m,
		qr/^latency average = \d+\.\d{3} ms$/m,
		qr/^(initial connection|worker start) time = \d/m,
		qr/tps = \d/,
		qr/\b$mode\b/);
}
$run_id = quietly(
	"SELECT run_id FROM bench.run(duration => '300 ms', scripts => 'select-only\@3,simple-update')");
my $report = quietly("SELECT bench.report($run_id)");
like($report, $_, "report of several scripts: $_") foreach (
	qr/^transaction type: multiple scripts$/m,
	qr/^duration: /m,
	qr/^SQL script 1: <builtin: select only>$/m,
	qr/^ - weight: 3 \(targets 75\.0% of total\)$/m,
	qr/^SQL script 2: <builtin: simple update>$/m);

# bench.compare
is( quietly(
		"SELECT arm, runs, cardinality(run_ids), ratio BETWEEN ratio_low AND ratio_high, tps BETWEEN tps_low AND tps_high FROM bench.arms((SELECT max(set_id) FROM bench.compare(repeats => 2, transactions => 10))) WHERE arm <> 'tcp'"
	),
	"in-server|2|2||t\nsocket|2|2|t|t",
	'bench.compare');

# Of another database, and of the same one, through dblink.
SKIP:
{
	skip('the server has no extension dblink', 11)
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink'") == 0;
	$node->safe_psql('postgres', 'SELECT bench.initialize()');
	$node->safe_psql('postgres', 'CREATE DATABASE far');
	$node->safe_psql('far', 'CREATE EXTENSION dblink');
	my $connection = $node->connstr('postgres');
	$connection =~ s/'/''/g;

	my $run_id = $node->safe_psql('far',
		"SELECT * FROM dblink('$connection', \$\$SELECT bench.start(clients => 2, transactions => 50, label => 'far')\$\$) AS t (run_id bigint)"
	);
	like($run_id, qr/^\d+$/, 'bench.start returns a run id');
	is( $node->safe_psql('far',
			"SELECT * FROM dblink('$connection', 'SELECT run_id, state, mode, transactions FROM bench.wait($run_id)') AS t (run_id bigint, state text, mode text, transactions bigint)"
		),
		"$run_id|finished|spi|100",
		'bench.wait returns its row');
	invariants_ok($node, 100, 'dblink');
	figures_ok($node, $run_id, 'dblink');

	# In the background of the calling session.
	is( $node->safe_psql('far', <<"SQL"),
SELECT dblink_connect('c', '$connection');
SELECT dblink_send_query('c', 'SELECT state, transactions FROM bench.run(transactions => 20, vacuum => ''none'')');
SELECT * FROM dblink_get_result('c') AS t (state text, transactions bigint);
SQL
		"OK\n1\nfinished|20",
		'bench.run in the background');
	invariants_ok($node, 120, 'in the background');

	# A run whose script database drops its session goes on.
	$run_id = $node->safe_psql('far', <<"SQL");
SELECT * FROM dblink('$connection', \$\$SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'goes on')\$\$) AS t (run_id bigint)
SQL
	wait_for_transactions($node, 'goes on');
	is($node->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $run_id"),
		'running', 'bench.start goes on without its session');
	is($node->safe_psql('postgres', "SELECT bench.cancel($run_id)"), 't', 'until it is canceled');
	is($node->safe_psql('postgres', "SELECT state FROM bench.wait($run_id)"), 'canceled', 'its state');
}

nothing_left_ok($node, 'at the end');

# The extension is dropped while its function waits for a run, or replaced by another one, with types and
# functions of the same names.
foreach my $case (
	[ "SELECT bench.run('select-only', transactions => 1)", 'DROP EXTENSION pg_selfbench' ],
	[ "SELECT bench.run('select-only', transactions => 1)", 'DROP EXTENSION pg_selfbench; CREATE EXTENSION pg_selfbench' ],
	[ "SELECT * FROM bench.run('select-only', transactions => 1)", 'DROP EXTENSION pg_selfbench; CREATE EXTENSION pg_selfbench' ])
{
	my ($call, $drop) = @$case;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_selfbench');
	my $locker = $node->background_psql('postgres');
	$locker->query_safe('BEGIN; LOCK TABLE pgbench_accounts');
	my $caller = start_sql($node, $call, name => 'caller');
	wait_for($node,
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench spi client' AND wait_event_type = 'Lock'"
	);
	$node->safe_psql('postgres', $drop);
	$locker->quit;
	like(
		(finish_sql($caller))[1],
		qr/ERROR:  42704: extension "pg_selfbench" was dropped or re-created while the benchmark was in progress\n.*HINT:  Create/s,
		"$call: $drop");
	nothing_left_ok($node, 'the extension is dropped');
}
$node->stop;
done_testing();
