# What the sessions of a run wait for, and what blocks those that wait for locks: in
# both modes, on this server and on a target.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('waits', <<'CONF');
fsync = off
autovacuum = off
compute_query_id = on
max_worker_processes = 16
max_prepared_transactions = 2
CONF
my $connstr = $node->connstr('postgres') =~ s/'/''/gr;

my $user;

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Runs a script; returns the run's number.
sub run_script
{
	my ($script, $options) = @_;
	return value(
		"SELECT run_id FROM bench.run('$script', vacuum => 'none', wait_sample_rate => 200, $options)"
	);
}

# What the sessions of a run waited for, with their statements, without counts.
sub waits_of
{
	my ($run_id, $where) = @_;
	return value(<<"SQL");
SELECT DISTINCT concat_ws(' ', class, event), script_no, command_no, query_id IS NOT NULL
  FROM bench.run_waits WHERE run_id = $run_id AND $where ORDER BY 1, 2, 3, 4
SQL
}

# Clients change nothing, so that none waits for another, until "chosen" has a row.
value(<<'SQL');
CREATE TABLE held (id int PRIMARY KEY, n int);
INSERT INTO held VALUES (1, 0), (2, 0);
CREATE TABLE chosen (id int);
CREATE FUNCTION change(by int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM public.chosen) THEN
		UPDATE public.held SET n = n + by WHERE id = 1;
	END IF;
END $$;
CREATE ROLE tester LOGIN;
SELECT bench.grant_to('tester');
GRANT SELECT, UPDATE ON held, chosen TO tester;
SELECT bench.define_script('nothing', 'SELECT 1;');
SELECT bench.define_script('sleeps', E'SELECT 1;\nSELECT pg_sleep(0.1);');
SELECT bench.define_script('client sleeps', E'SELECT 1;\n\\sleep 20 ms');
SELECT bench.define_script('spins', 'SELECT count(*) FROM generate_series(1, 100000)');
SELECT bench.define_script('update', E'\\set n 1\nSELECT public.change(:n);');
SQL

# What a statement waits for belongs to its script, command and query identifier.
foreach my $mode (qw(spi libpq))
{
	my $run_id = run_script('nothing@0, sleeps',
		"mode => '$mode', clients => 2, transactions => 6, aggregate_interval => '100 ms'");
	is(waits_of($run_id, "event = 'PgSleep'"),
		'Timeout PgSleep|1|1|t', "$mode: the wait of a statement");
	is( value(<<"SQL"), 't|t|t|t', "$mode: the waits of the run");
SELECT max(samples) FILTER (WHERE event = 'PgSleep') = max(samples), abs(sum(share) - 1) < 1e-9,
       max(sessions) FILTER (WHERE event = 'PgSleep') > 1, sum(sessions) < 2.01
  FROM bench.waits($run_id)
SQL
	# A short interval, as the last one may be, need not have a sample.
	is( value(<<"SQL"), 't|t|t', "$mode: each interval counts for itself");
SELECT bool_and(w.samples <= 2 * w.rounds), count(DISTINCT w.interval_no) > 2,
       bool_and(w.rounds BETWEEN 1 AND 200 * i.seconds + 2)
  FROM bench.run_waits w JOIN bench.run_intervals i USING (run_id, interval_no)
 WHERE run_id = $run_id
SQL
	$run_id = run_script('spins', "mode => '$mode', transactions => 30");
	is(waits_of($run_id, "class = 'not waiting' AND command_no = 0 AND query_id IS NOT NULL"),
		'not waiting|0|0|t', "$mode: a session that does not wait");
}

# In the statement that runs it, too.
is(value("SELECT bool_or(w.event = 'PgSleep') FROM bench.run('sleeps', transactions => 6, wait_sample_rate => 200) r, bench.waits(r.run_id) w"),
	't', 'waits of a run in the same statement');

# In mode libpq, a session waits for its client, which may have a command of its own.
my $run_id = run_script('client sleeps', "mode => 'libpq', transactions => 25");
like(waits_of($run_id, 'true'), qr/^Client ClientRead\|0\|1\|f$/m, 'libpq: the client sleeps');
$run_id = run_script('nothing', "mode => 'libpq', rate => 20, transactions => 10");
like(waits_of($run_id, 'true'), qr/^Client ClientRead\|\|\|f$/m, 'libpq: the schedule');
$run_id = run_script('client sleeps', 'transactions => 25');
like(waits_of($run_id, 'true'), qr/^Extension \w+\|0\|1\|f$/m, 'spi: the client sleeps');

# Each transaction may have another session.
$run_id = run_script('sleeps', "mode => 'libpq', clients => 2, transactions => 6, reconnect => true");
is(waits_of($run_id, "event = 'PgSleep'"), 'Timeout PgSleep|0|1|t', 'reconnect');

# A client in a backend.
$run_id = run_script('sleeps', "client_process => 'backend', transactions => 6");
is(waits_of($run_id, "event = 'PgSleep'"), 'Timeout PgSleep|0|1|t', 'a client in a backend');

# A target is asked over the coordinator's connection, less often.
$run_id = run_script('sleeps', "mode => 'libpq', clients => 2, duration => 2, target => '$connstr'");
# Where a client is when the target is asked need not be where its session is soon after.
is( value("SELECT class, event, script_no, command_no, query_id IS NOT NULL FROM bench.run_waits WHERE run_id = $run_id GROUP BY 1, 2, 3, 4, 5 ORDER BY sum(samples) DESC LIMIT 1"),
	'Timeout|PgSleep|0|1|t', 'target: the wait of a statement');
is(value("SELECT notes::text LIKE '%waits%', bool_and(rounds <= 6 * seconds + 1) FROM bench.runs JOIN bench.run_waits USING (run_id) WHERE run_id = $run_id GROUP BY run_id"),
	'f|t', 'target: it is not asked more often');

# Options.
is( value("SELECT count(*) FROM bench.run_waits WHERE run_id = (SELECT run_id FROM bench.run('sleeps', transactions => 5, wait_sample_rate => 0))"),
	'0', 'no samples');
is( value("SELECT count(*) FROM bench.run_waits WHERE run_id = (SELECT run_id FROM bench.run('sleeps', transactions => 5, observe => false))"),
	'0', 'observe => false');
foreach my $bad (qw(-1 1000.1 NaN Infinity -Infinity))
{
	my (undef, undef, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.run(wait_sample_rate => '$bad')");
	like($stderr, qr/22023: .*"wait_sample_rate".*DETAIL:  A number from 0/s, "wait_sample_rate => $bad");
}

# Starts a run in the background, lets $hold take a lock, lets the clients wait for it for a while,
# and returns the run's number and the first and last interval in which a client waited. Since what
# blocks them is looked for rarely, the lock must be there before the first one waits.
sub held
{
	my ($label, $options, $hold, $release, %with) = @_;

	my $run = start_sql($node,
		"SELECT run_id FROM bench.run('$user.update', vacuum => 'none', label => '$label', duration => 600, $options)",
		%with);
	wait_for($node, "SELECT interval_tps > 0 FROM bench.progress WHERE label = '$label'");
	$hold->();
	my $interval = "SELECT floor(seconds)::int FROM bench.progress WHERE label = '$label'";
	# What happens before an interval ends belongs to it, even if it ends a little late.
	my $since = value($interval);
	value('INSERT INTO chosen VALUES (1)');
	wait_for($node, 'SELECT count(*) > 0 FROM pg_locks WHERE NOT granted');
	# The whole interval after the current one.
	my $middle = value($interval) + 1;
	wait_for($node, "SELECT seconds > $middle + 1.5 FROM bench.progress WHERE label = '$label'");
	my $waits_for =
	  value("SELECT waits_for, waiting_sessions > 0.5 FROM bench.progress WHERE label = '$label'");
	value('DELETE FROM chosen');
	$release->();
	my $until = value($interval);
	wait_for($node, "SELECT interval_tps > 0 AND seconds > $until + 2.5 FROM bench.progress WHERE label = '$label'");
	value("SELECT bench.cancel(run_id) FROM bench.progress WHERE label = '$label'");
	finish_sql($run);
	my $id = latest_run($node, $label)->{run_id};
	is(value("SELECT bool_and(class = 'Lock') FROM bench.run_waits WHERE run_id = $id AND interval_no = $middle"),
		't', "$label: sessions wait for the lock while it is held");
	is(value("SELECT count(*) FROM (SELECT FROM bench.run_waits WHERE run_id = $id AND NOT interval_no BETWEEN $since - 1 AND $until GROUP BY interval_no HAVING bool_and(class = 'Lock')) w"),
		'0', "$label: and only then");
	return ($id, $waits_for, $since, $until);
}

# The blockers of a run, except its own clients. A session that releases its lock is active for a
# moment.
sub blockers_of
{
	my ($run_id) = @_;
	return value(<<"SQL");
SELECT DISTINCT script_no, command_no, locktype, mode, relation, blocker, blocker_pid IS NOT NULL,
       blocker_role, blocker_application, blocker_state, rtrim(blocker_statement, E';\\n')
  FROM bench.run_blockers WHERE run_id = $run_id AND blocker <> 'own client' AND blocker_state IS DISTINCT FROM 'active'
 ORDER BY locktype
SQL
}

$user = value('SELECT current_user');
my $holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'holder'");
my $lock_row = sub { $holder->query_safe('BEGIN; UPDATE held SET n = 0 WHERE id = 1') };
my $end = sub { $holder->query_safe('ROLLBACK') };
my $of_holder = "client backend|t|$user|holder|idle in transaction|UPDATE held SET n = 0 WHERE id = 1";
my @held;

# Clients wait for the end of the transaction that has changed their row.
my ($id, $waits_for);
($id, $waits_for, @held) = held('row', 'clients => 3', $lock_row, $end);
my $found = blockers_of($id);
like($found, qr/^0\|1\|transactionid\|ShareLock\|public\.held\|\Q$of_holder\E$/m,
	'row: the session that has changed the row');
is(value("SELECT bool_and(interval_no BETWEEN $held[0] - 1 AND $held[1] AND samples BETWEEN 1 AND 3 * rounds) FROM bench.run_blockers WHERE run_id = $id AND blocker = 'client backend'"),
	't', 'row: the intervals of the blockers');
like($waits_for, qr/^Lock:(tuple|transactionid)\|t$/, 'bench.progress shows what sessions wait for');

# Of clients that come later, one waits for that, and the others for the row.
$lock_row->();
value('INSERT INTO chosen VALUES (1)');
my $run = start_sql($node,
	"SELECT FROM bench.run('update', vacuum => 'none', label => 'queue', clients => 3, transactions => 5, warmup => '2 s')");
wait_for($node, "SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'tuple' AND NOT granted");
# By the end of the warm-up, when waits are sampled for the first time, all are in the queue.
wait_for($node, "SELECT seconds > 4 FROM bench.progress WHERE label = 'queue'");
$end->();
finish_sql($run);
value('DELETE FROM chosen');
$found = blockers_of(latest_run($node, 'queue')->{run_id});
is( $found,
	join("\n", map { "0|1|$_|public.held|$of_holder" } 'transactionid|ShareLock', 'tuple|ExclusiveLock'),
	'queue: all are blocked by the session that has changed the row');

# A role without privileges of pg_read_all_stats knows how often, not by whom.
($id) = held('plain role', 'clients => 1', $lock_row, $end, user => 'tester');
is(blockers_of($id), '0|1|transactionid|ShareLock||session|f||||', 'plain role: counts');
is( $node->safe_psql('postgres',
		"SELECT count(*) > 0 FROM bench.run_waits WHERE run_id = $id", extra_params => [ '-U', 'tester' ]),
	't', 'plain role: it sees its waits');
value('GRANT pg_read_all_stats TO tester');
($id) = held('member', 'clients => 1', $lock_row, $end, user => 'tester');
is(blockers_of($id), "0|1|transactionid|ShareLock|public.held|$of_holder", 'a member of pg_read_all_stats');

# A lock on the table, which clients take without the lock manager's table.
($id) = held('table', "mode => 'libpq', clients => 2, protocol => 'simple'",
	sub { $holder->query_safe('BEGIN; LOCK TABLE held') }, $end);
is( blockers_of($id),
	"0|1|relation|RowExclusiveLock|public.held|client backend|t|$user|holder|idle in transaction|LOCK TABLE held",
	'table');

# A prepared transaction has no process.
($id) = held('prepared', 'clients => 2',
	sub { value("BEGIN; UPDATE held SET n = 0 WHERE id = 1; PREPARE TRANSACTION 'in doubt'") },
	sub { value("ROLLBACK PREPARED 'in doubt'") });
like(blockers_of($id),
	qr/^0\|1\|transactionid\|ShareLock\|public\.held\|prepared transaction\|f\|$user\|\|\|in doubt$/m,
	'a prepared transaction');

# A target.
($id) = held('target', "mode => 'libpq', clients => 1, target => '$connstr'", $lock_row, $end);
like(blockers_of($id), qr/^0\|1\|transactionid\|ShareLock\|[^|]*\|\Q$of_holder\E$/m, 'target: blockers');
$holder->quit;

# Clients that block each other are told by their commands.
value("SELECT bench.define_script('contended', E'BEGIN;\nUPDATE held SET n = n + 1 WHERE id = 1;\nSELECT pg_sleep(0.02);\nEND;')");
$run_id = run_script('contended', "clients => 4, duration => 3");
like(value("SELECT DISTINCT command_no, locktype, relation, blocker, blocker_script_no, blocker_command_no, blocker_pid, blocker_statement FROM bench.run_blockers WHERE run_id = $run_id"),
	qr/^1\|(tuple|transactionid)\|public\.held\|own client\|0\|2\|\|$/m, 'own clients');

# Everything goes with the run.
value("SELECT FROM bench.delete_runs(older_than => '0')");
is(value('SELECT (SELECT count(*) FROM bench.run_waits), (SELECT count(*) FROM bench.run_blockers)'),
	'0|0', 'delete_runs');

nothing_left_ok($node, 'waits');
$node->stop;
done_testing();
