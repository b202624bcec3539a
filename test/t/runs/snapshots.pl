# What the calling statement's snapshot does to a run, and what a run does with it:
# comparisons, runs that wait for the caller, snapshots that are held meanwhile.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('snapshots',
	"fsync = off\nmax_worker_processes = 16\nmax_prepared_transactions = 2\nautovacuum = off\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
# A script that waits while somebody else holds the lock.
$node->safe_psql('postgres',
	"SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')");

# Runs SQL, and $meanwhile while its first run waits at the gate.
sub at_the_gate
{
	my ($sql, $meanwhile) = @_;

	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe('SELECT pg_advisory_lock(1)');
	my $caller = start_sql($node, $sql, name => 'caller');
	wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$meanwhile->();
	$keeper->query_safe('SELECT pg_advisory_unlock(1)');
	$keeper->quit;
	return finish_sql($caller);
}

# bench.compare looks everything up before its first run, since rows that its
# statement's snapshot sees may be removed while it waits.
my ($stdout, $stderr) = at_the_gate(
	"SELECT arm, runs FROM bench.compare('[{\"mode\": \"spi\"}, {\"mode\": \"libpq\"}]', scripts => 'gate', repeats => 2, transactions => 1, label => 'looked up')",
	sub {
		$node->safe_psql('postgres',
			"SELECT bench.define_script('gate', 'SELECT ''another''')");
		$node->safe_psql('postgres', 'VACUUM bench.scripts');
	});
is($stdout, "mode=spi|2\nmode=libpq|2", 'bench.compare: a script that is replaced meanwhile');
is($stderr, '', 'bench.compare: no complaint');
is( $node->safe_psql('postgres',
		"SELECT count(*), min(body) = max(body), min(body) FROM bench.run_scripts JOIN bench.runs USING (run_id) WHERE label = 'looked up'"
	),
	'6|t|SELECT pg_advisory_xact_lock_shared(1);',
	'bench.compare: all runs have the same script');

# Runs that are not complete do not count, and pairs stay pairs.
$node->safe_psql('postgres',
	"SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')");
($stdout, $stderr) = at_the_gate(
	"SELECT sum(runs), sum(cardinality(run_ids)), sum(cardinality(missing)), bool_or(ratio > 0) FROM bench.arms((SELECT max(set_id) FROM bench.compare('[{\"name\": \"a\"}, {\"name\": \"b\"}]', scripts => 'gate', repeats => 2, transactions => 1, label => 'canceled')))",
	sub {
		# The runs that warm up, and the first one that counts.
		foreach my $number (1 .. 3)
		{
			wait_for($node, "SELECT count(*) = $number AND count(*) FILTER (WHERE state = 'running') = 1 FROM bench.runs WHERE label = 'canceled'");
			my $run_id = latest_run($node, 'canceled')->{run_id};
			$node->safe_psql('postgres', "SELECT bench.cancel($run_id)");
			wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $run_id");
		}
	});
is($stdout, '3|3|1|t', 'bench.compare: a canceled run does not count');
like($stderr, qr/WARNING: .*1 of 4 runs are missing\nDETAIL:  .*: \d+\.$/m,
	'bench.compare: and that is said');
$node->safe_psql('postgres',
	"SELECT bench.define_script('partly', E'\\\\if :client_id = 0\\nSELECT 1 / 0;\\n\\\\endif\\nSELECT 1;')");
(undef, $stdout, $stderr) = $node->psql('postgres',
	"SELECT arm, runs, tps, ratio, cardinality(missing) FROM bench.arms((SELECT max(set_id) FROM bench.compare('[{\"mode\": \"spi\"}, {\"mode\": \"libpq\"}]', scripts => 'partly', clients => 2, repeats => 2, transactions => 5)))");
is($stdout, "mode=spi|0|||2\nmode=libpq|0|||2", 'bench.compare: runs that lost a client do not count');
like($stderr, qr/WARNING:  4 of 4 runs are missing\n/, 'bench.compare: none does');

# Statements that wait for the end of older transactions, and for that of the caller
# if it keeps a snapshot or has a lock.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE indexed (i int PRIMARY KEY);
	SELECT bench.define_script('reindex', 'REINDEX TABLE CONCURRENTLY indexed');
	SELECT bench.define_script('gated reindex', E'SELECT pg_advisory_xact_lock_shared(1);\nREINDEX TABLE CONCURRENTLY indexed;');
	SELECT bench.define_script('write', 'INSERT INTO indexed SELECT max(i) + 1 FROM indexed')});
my $connstr = $node->connstr('postgres') =~ s/'/''/gr;
my $reindex = "bench.run('reindex', mode => 'libpq', transactions => 1";
foreach (
	[ 'expressions on the result', "SELECT state, failed + 0 FROM $reindex)" ],
	[ 'a loop', "SELECT r.state, r.failed FROM generate_series(1, 1) n, LATERAL $reindex, label => n::text) r" ])
{
	my ($name, $sql) = @$_;
	is($node->safe_psql('postgres', $sql), 'finished|0', "REINDEX CONCURRENTLY: $name");
}
my $awaited = qr/ERROR:  55006: the run waits for the calling transaction to end.*\nDETAIL:  Process \d+ waits for .*: REINDEX TABLE CONCURRENTLY indexed;?\nHINT:  Use SELECT/;
foreach (
	[ 'REPEATABLE READ', "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT $reindex)" ],
	[ 'a DO block', "DO \$\$ BEGIN PERFORM $reindex); END \$\$" ],
	[ 'a table that the caller has read', "BEGIN; SELECT FROM indexed; SELECT $reindex)" ],
	[ 'a target that is this server', "DO \$\$ BEGIN PERFORM $reindex, target => '$connstr'); END \$\$" ],
	[ 'a connection for each transaction', "DO \$\$ BEGIN PERFORM $reindex, reconnect => true); END \$\$" ])
{
	my ($name, $sql) = @$_;
	my (undef, $stderr) = finish_sql(start_sql($node, $sql));
	like($stderr, $awaited, "REINDEX CONCURRENTLY: $name");
}
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM bench.runs WHERE state = 'canceled' AND errors[1] LIKE 'canceled: the run waits for the calling transaction to end, which waits for the run (Process %'"),
	5, 'REINDEX CONCURRENTLY: the reason is stored');
my (undef, $complaint) = finish_sql(start_sql($node,
	"BEGIN; LOCK TABLE indexed; SELECT bench.run('write', mode => 'libpq', transactions => 1)"));
like($complaint, qr/ERROR:  55006: the current transaction holds a lock.*\nDETAIL:  It holds a lock that conflicts with RowExclusiveLock on relation "indexed"/,
	'a connection that waits for a lock of the caller');
(undef, $complaint) = finish_sql(start_sql($node,
	"BEGIN; INSERT INTO indexed VALUES (0); SELECT bench.run(sql => 'INSERT INTO indexed VALUES (0)', transactions => 1)"));
like($complaint, qr/NOTICE:  00000: the calling transaction has changes that clients do not see/, 'changes of the caller');
like($complaint, qr/\nDETAIL:  It has changed or locked rows that a client waits for\./, 'a row that the caller has written');
(undef, $complaint) = finish_sql(start_sql($node, 'BEGIN; SELECT bench.initialize(); ROLLBACK'));
like($complaint, qr/NOTICE:  00000: tables are created in other transactions/, 'bench.initialize in a transaction block');

# bench.wait ends then, and the run goes on.
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(1)');
my $run_id = $node->safe_psql('postgres',
	"SELECT bench.start('gated reindex', mode => 'libpq', transactions => 1)");
my $waiting = start_sql($node, "DO \$\$ BEGIN PERFORM bench.wait($run_id); END \$\$", name => 'waiting');
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'waiting' AND backend_xmin IS NOT NULL");
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$keeper->quit;
(undef, $stderr) = finish_sql($waiting);
like($stderr, $awaited, 'REINDEX CONCURRENTLY: bench.wait from another session');
is($node->safe_psql('postgres', "SELECT state FROM bench.wait($run_id)"), 'finished',
	'REINDEX CONCURRENTLY: the run goes on then');
ok(wait_until_quiet($node), 'REINDEX CONCURRENTLY: no process is left');

# Who holds a snapshot during a run is stored, and said.
sub held_ok
{
	my ($sql, $by, $name) = @_;

	my ($run_id, $all, $held_by);
	# A caller has a snapshot until it waits.
	in_time_ok("$name: long enough", sub {
		my $run = "bench.run('simple-update', transactions => 300 * $_[0], vacuum => 'none', label => '$name'";
		$node->safe_psql('postgres', $sql =~ s/RUN\((.*?)\)/$run$1)/r);
		$run_id = latest_run($node, $name)->{run_id};
		($all, $held_by) = split /\|/, $node->safe_psql('postgres',
			"SELECT snapshot_held_s = seconds, snapshot_held_by FROM bench.run_summary WHERE run_id = $run_id"), -1;
		return $held_by =~ $by;
	});
	like($held_by, $by, "$name: by whom");
	is($all, $held_by eq '' ? 'f' : 't', "$name: for how long");
	my $said = $held_by eq '' ? qr/^(?!.*a snapshot was held)/s
	  : qr/^(?:warning: )?a snapshot kept dead rows: figures may be several times too low: a snapshot was held for \d+\.\d s of \d+\.\d s \(held by \Q$held_by\E\)/m;
	like($node->safe_psql('postgres', "SELECT bench.report($run_id)") =~ s/\n    / /gr, $said, "$name: report");
	like($node->safe_psql('postgres', "SELECT finding || ': ' || evidence FROM bench.advice($run_id)"), $said, "$name: advice");
	return;
}
held_ok('SELECT * FROM RUN()', qr/^$/, 'nobody');
held_ok("SELECT * FROM RUN(, mode => 'libpq')", qr/^$/, 'nobody, libpq');
held_ok('DO $$ BEGIN PERFORM RUN(); END $$', qr/^the calling statement$/, 'caller');
held_ok("DO \$\$ BEGIN PERFORM RUN(, mode => 'libpq', target => '$connstr'); END \$\$",
	qr/^process \d+ \(role \w+, snapshots.pl\)$/, 'caller, as the target sees it');
my $holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'holder'");
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
held_ok('SELECT * FROM RUN()', qr/^process \d+ \(role \w+, holder\)$/, 'another session');
$holder->query_safe('COMMIT');
$holder->query_safe("BEGIN; INSERT INTO indexed VALUES (-1)");
held_ok('SELECT * FROM RUN()', qr/^process \d+ \(role \w+, holder\)$/, 'another session that has written');
$holder->query_safe("PREPARE TRANSACTION 'left over'");
$holder->quit;
held_ok('SELECT * FROM RUN()', qr/^prepared transaction 'left over'$/, 'a prepared transaction');
held_ok("SELECT * FROM RUN(, mode => 'libpq', target => '$connstr')", qr/^prepared transaction 'left over'$/, 'on a target');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'left over'");
$run_id = $node->safe_psql('postgres', "SELECT bench.start('simple-update', duration => '10 min', vacuum => 'none')");
$waiting = start_sql($node, "DO \$\$ BEGIN COMMIT; PERFORM bench.wait($run_id); END \$\$", name => 'waiting');
wait_for($node, "SELECT backend_xmin IS NOT NULL AND xact_start < now() - interval '5 s' FROM pg_stat_activity WHERE application_name = 'waiting'");
$node->safe_psql('postgres', "SELECT bench.cancel($run_id)");
finish_sql($waiting);
like($node->safe_psql('postgres', "SELECT snapshot_held_s > 1, snapshot_held_by FROM bench.runs WHERE run_id = $run_id"),
	qr/^t\|process \d+ \(role \w+, waiting\)$/, 'bench.wait in a DO block');

# From when to when, not only between samples: a statement that has begun between two of them, and lasts
# until the run has ended. A sample between its begin and its snapshot is rare.
my ($held, $lasted, $seconds);
foreach (1 .. 3)
{
	$run_id = $node->safe_psql('postgres', "SELECT bench.start('simple-update', duration => '10 min', vacuum => 'none', label => 'middle $_')");
	wait_for_transactions($node, "middle $_");
	my $statement = start_sql($node, "SELECT pg_sleep(1200)", name => 'statement');
	wait_for($node, "SELECT xact_start < now() - interval '3 s' FROM pg_stat_activity WHERE application_name = 'statement'");
	my $begin = $node->safe_psql('postgres', "SELECT extract(epoch FROM xact_start) FROM pg_stat_activity WHERE application_name = 'statement'");
	$node->safe_psql('postgres', "SELECT bench.cancel($run_id); SELECT FROM bench.wait($run_id);");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'statement'");
	finish_sql($statement);
	($held, $lasted, $seconds) = split /\|/, $node->safe_psql('postgres',
		"SELECT snapshot_held_s, extract(epoch FROM started_at) + seconds - $begin, seconds FROM bench.runs WHERE run_id = $run_id");
	last if $held > $lasted - 0.05;
}
cmp_ok($held, '>', $lasted - 0.05, 'held from the begin of a statement to the end of the run');
cmp_ok($held, '<', $seconds, 'and not before');

# Parallel workers of the run's own sessions have their snapshots.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE slow AS SELECT generate_series(1, 40) AS i;
	ALTER TABLE slow SET (parallel_workers = 2);
	CREATE FUNCTION nap(i int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN PERFORM pg_sleep(0.1); RETURN i; END';
	SELECT bench.define_script('parallel', E'SELECT txid_current();\nSELECT count(nap(i)) FROM slow;')});
foreach my $mode (qw(spi libpq))
{
	my $id = $node->safe_psql('postgres', qq{
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
		SELECT bench.start('parallel', mode => '$mode', transactions => 1)});
	wait_for($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND backend_xmin IS NOT NULL");
	is($node->safe_psql('postgres', "SELECT state FROM bench.wait($id)"), 'finished', "$mode: a parallel query");
	is($node->safe_psql('postgres', "SELECT snapshot_held_s, snapshot_held_by, seconds > 3 FROM bench.runs WHERE run_id = $id"),
		'0||t', "$mode: its workers are not other sessions");
}

# While the run's own transaction, or another session, holds a snapshot, all others have the same oldest
# transaction: sessions with short statements do not hold it. A session has one name.
$node->safe_psql('postgres',
	"SELECT bench.define_script('pins', E'BEGIN;\\nINSERT INTO slow VALUES (0);\\n\\\\sleep 4 s\\nCOMMIT;')");
my $short = start_sql($node, join(' ', ('SELECT pg_sleep(0.02);') x 1000), name => 'short');
backend_of($node, 'short');
$node->safe_psql('postgres', "SELECT FROM bench.run('pins', mode => 'libpq', transactions => 1, label => 'pins')");
is($node->safe_psql('postgres', "SELECT snapshot_held_s, snapshot_held_by FROM bench.runs WHERE label = 'pins'"), '0|',
	'sessions with short statements');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'short'");
finish_sql($short);
my $renamed = start_sql($node, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; '
	  . join(' ', map { "SET application_name = 'renamed $_'; SELECT pg_sleep(0.3);" } 1 .. 200));
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name ~ '^renamed'");
$node->safe_psql('postgres', "SELECT FROM bench.run('pins', mode => 'libpq', transactions => 1, label => 'renamed')");
like($node->safe_psql('postgres', "SELECT snapshot_held_s = seconds, snapshot_held_by FROM bench.runs WHERE label = 'renamed'"),
	qr/^t\|process \d+ \(role \w+, renamed \d+\)$/, 'a session that changes its application_name');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^renamed'");
finish_sql($renamed);

# A target is looked at before and after the run only.
$node->safe_psql('postgres',
	"SELECT FROM bench.run('simple-update', mode => 'libpq', target => '$connstr', transactions => 300, vacuum => 'none')");
is($node->safe_psql('postgres', 'SELECT snapshot_held_s IS NULL, snapshot_held_by IS NULL, transactions > 0 FROM bench.runs ORDER BY run_id DESC LIMIT 1'),
	't|t|t', 'a target where nothing was seen: unknown');

# A role sees who it is without further rights, and runs that read are not concerned.
$node->safe_psql('postgres', q{
	CREATE ROLE runner LOGIN;
	SELECT bench.grant_to('runner');
	GRANT SELECT, UPDATE, INSERT ON ALL TABLES IN SCHEMA public TO runner});
held_ok('SET ROLE runner; DO $$ BEGIN PERFORM RUN(); END $$', qr/^the calling statement$/, 'plain role');
$holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'secret'");
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
held_ok('SET ROLE runner; SELECT * FROM RUN()', qr/^another session$/, 'plain role, another session');
my $second = $node->background_psql('postgres');
$second->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
held_ok('SET ROLE runner; SELECT * FROM RUN()', qr/^2 other sessions$/, 'plain role, other sessions');
$second->quit;
$holder->quit;
$holder = $node->background_psql('postgres', extra_params => [ '-U', 'runner' ]);
$holder->query_safe("SET application_name = 'own'");
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
held_ok('SET ROLE runner; SELECT * FROM RUN()', qr/^process \d+ \(role runner, own\)$/, 'plain role, another session of its own');
$holder->quit;
$holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'secret'");
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', 'CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats, runner');
held_ok('SET ROLE monitor; SELECT * FROM RUN()', qr/^process \d+ \(role \w+, secret\)$/, 'member of pg_read_all_stats');
$holder->quit;
is( $node->safe_psql('postgres',
		"DO \$\$ BEGIN PERFORM bench.run('select-only', transactions => 300, label => 'reads'); END \$\$; SELECT snapshot_held_s, snapshot_held_by FROM bench.runs WHERE label = 'reads'"
	),
	'0|',
	'a run that reads');

# What clients cannot see, and what nothing sets.
$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('fresh', 'SELECT FROM fresh');
	SELECT bench.define_script('unset', E'\\\\set x :nothing + 1\nSELECT :x, :more;')});
foreach my $mode (qw(spi libpq))
{
	my (undef, $stderr) = finish_sql(start_sql($node,
		"BEGIN; CREATE TABLE fresh (); SELECT bench.run('fresh', mode => '$mode', transactions => 1)"));
	like($stderr, qr/ERROR: .*\nDETAIL:  .*relation "fresh" does not exist.*HINT:  Clients do not see what the calling transaction has created or changed/s,
		"$mode: a table of the calling transaction");
	(undef, $stderr) = finish_sql(start_sql($node,
		"SELECT bench.run('unset', mode => '$mode', transactions => 1, variables => '{\"more\": 1}', undefined_variables => 'pgbench')"));
	like($stderr, qr/ERROR: .*\nDETAIL:  .*undefined variable "nothing".*\nHINT:  The scripts use undefined variables: "nothing"\. Set them, for example with variables => '\{"nothing": 1\}'\.\n/s,
		"$mode: a variable that nothing sets");
}

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
