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

# Runs a script, with ever more transactions until a query with its :run_id returns "t": for what a process
# that stands still for a moment does not see. The options end in the number of transactions. Returns the
# run's number.
sub run_until
{
	my ($query, $script, $options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $run_id;
	in_time_ok("$script, $options", sub {
		$run_id = run_script($script, "$options * $_[0]");
		return value($query =~ s/:run_id/$run_id/gr) eq 't';
	});
	return $run_id;
}

# Runs a script until some of its waits are sampled; returns them like waits_of.
sub sampled
{
	my ($where, $script, $options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $query = "SELECT count(*) > 0 FROM bench.run_waits WHERE run_id = :run_id AND $where";
	return waits_of(run_until($query, $script, $options), $where);
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
	# A short interval, as the last one may be, need not have a sample.
	my $run_id = run_until(<<'SQL', 'nothing@0, sleeps', "mode => '$mode', clients => 2, aggregate_interval => '100 ms', transactions => 6");
SELECT max(samples) FILTER (WHERE event = 'PgSleep') = max(samples)
       AND max(sessions) FILTER (WHERE event = 'PgSleep') > 1
       AND (SELECT count(DISTINCT interval_no) > 2 FROM bench.run_waits WHERE run_id = :run_id)
  FROM bench.top_waits(:run_id)
SQL
	is(waits_of($run_id, "event = 'PgSleep'"),
		'Timeout PgSleep|1|1|t', "$mode: the wait of a statement");
	is( value("SELECT abs(sum(share) - 1) < 1e-3, sum(sessions) < 2.01 FROM bench.top_waits($run_id)"),
		't|t', "$mode: the waits of the run");
	is( value(<<"SQL"), 't|t', "$mode: each interval counts for itself");
SELECT bool_and(w.samples <= 2 * w.rounds), bool_and(w.rounds BETWEEN 1 AND 200 * i.seconds + 2)
  FROM bench.run_waits w JOIN bench.run_intervals i USING (run_id, interval_no)
 WHERE run_id = $run_id
SQL
	is( sampled("class = 'not waiting' AND command_no = 0 AND query_id IS NOT NULL", 'spins', "mode => '$mode', transactions => 30"),
		'not waiting|0|0|t', "$mode: a session that does not wait");
}

# In the statement that runs it, too.
is(value("SELECT bool_or(w.event = 'PgSleep') FROM bench.run('sleeps', transactions => 6, wait_sample_rate => 200) r, bench.top_waits(r.run_id) w"),
	't', 'waits of a run in the same statement');

# In mode libpq, a session waits for its client, which may have a command of its own.
like(sampled("class = 'Client' AND command_no = 1", 'client sleeps', "mode => 'libpq', transactions => 25"),
	qr/^Client ClientRead\|0\|1\|f$/m, 'libpq: the client sleeps');
like(sampled("class = 'Client' AND command_no IS NULL", 'nothing', "mode => 'libpq', rate => 20, transactions => 10"),
	qr/^Client ClientRead\|\|\|f$/m, 'libpq: the schedule');
like(sampled("class = 'Extension' AND command_no = 1", 'client sleeps', 'transactions => 25'),
	qr/^Extension \w+\|0\|1\|f$/m, 'spi: the client sleeps');

# Each transaction may have another session.
is(sampled("event = 'PgSleep'", 'sleeps', "mode => 'libpq', clients => 2, reconnect => true, transactions => 6"),
	'Timeout PgSleep|0|1|t', 'reconnect');

# A client in a backend.
is(sampled("event = 'PgSleep'", 'sleeps', "client_process => 'backend', transactions => 6"),
	'Timeout PgSleep|0|1|t', 'a client in a backend');

# A target is asked over the coordinator's connection, less often. Where a client is when the target is
# asked need not be where its session is soon after.
my $run_id = run_until(<<'SQL', 'sleeps', "mode => 'libpq', clients => 2, target => '$connstr', transactions => 20");
SELECT (class, event, script_no, command_no, query_id IS NOT NULL) = ('Timeout', 'PgSleep', 0, 1, true)
  FROM bench.run_waits WHERE run_id = :run_id
 GROUP BY class, event, script_no, command_no, query_id IS NOT NULL ORDER BY sum(samples) DESC LIMIT 1
SQL
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
# and returns the run's number, what bench.progress said, and a condition on the times of intervals in
# which a client may have waited. Since what blocks them is looked for rarely, the lock must be there
# before the first one waits.
sub held
{
	my ($label, $options, $hold, $release, %with) = @_;

	my ($clients) = $options =~ /clients => (\d+)/;
	my $run = start_sql($node,
		"SELECT run_id FROM bench.run('$user.update', vacuum => 'none', label => '$label', duration => 600, aggregate_interval => '250 ms', $options)",
		%with);
	my $progress = "FROM bench.progress WHERE label = '$label'";
	wait_for($node, "SELECT interval_tps > 0 $progress");
	$hold->();
	my $since = value("SELECT seconds $progress");
	value('INSERT INTO chosen VALUES (1)');
	wait_for($node, "SELECT count(DISTINCT pid) = $clients FROM pg_locks WHERE NOT granted");
	my $blocked = value("SELECT seconds $progress");
	wait_for($node, "SELECT seconds > $blocked + 3 AND waits_for ~ '^Lock:' AND waiting_sessions > 0.5 $progress");
	my $waits_for = value("SELECT waits_for $progress");
	my $released = value("SELECT seconds $progress");
	value('DELETE FROM chosen');
	$release->();
	wait_for($node, "SELECT interval_tps > 0 $progress");
	my $until = value("SELECT seconds $progress");
	wait_for($node, "SELECT seconds > $until + 1 $progress");
	value("SELECT bench.cancel(run_id) $progress");
	finish_sql($run);
	my $id = latest_run($node, $label)->{run_id};
	my $waits = "FROM bench.run_waits JOIN bench.run_intervals i USING (run_id, interval_no) WHERE run_id = $id";
	my $between = "i.begins_s + i.seconds >= $since AND i.begins_s <= $until";
	# A look may fall between two statements.
	is(value("SELECT sum(samples) FILTER (WHERE class = 'Lock') >= 0.9 * sum(samples) $waits AND i.begins_s >= $blocked AND i.begins_s + i.seconds <= $released"),
		't', "$label: sessions wait for the lock while it is held");
	is(value("SELECT count(*) FROM (SELECT $waits AND NOT ($between) GROUP BY interval_no HAVING bool_and(class = 'Lock')) w"),
		'0', "$label: and only then");
	return ($id, $waits_for, $between);
}

# The blockers of a run, except its own clients. A session that releases its lock is active for a
# moment, and then idle; in that one look, each of the three clients may be between two commands.
sub blockers_of
{
	my ($run_id) = @_;
	return value(<<"SQL");
SELECT DISTINCT script_no, command_no, locktype, mode, relation, blocker, blocker_pid IS NOT NULL,
       blocker_role, blocker_application, blocker_state, rtrim(blocker_statement, E';\\n')
  FROM bench.run_blockers WHERE run_id = $run_id AND blocker <> 'own client' AND coalesce(blocker_state, '') NOT IN ('active', 'idle')
   AND (script_no IS NOT NULL OR samples > 3)
 ORDER BY locktype
SQL
}

$user = value('SELECT current_user');
my $holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'holder'");
my $lock_row = sub { $holder->query_safe('BEGIN; UPDATE held SET n = 0 WHERE id = 1') };
my $end = sub { $holder->query_safe('ROLLBACK') };
my $of_holder = "client backend|t|$user|holder|idle in transaction|UPDATE held SET n = 0 WHERE id = 1";

# Clients wait for the end of the transaction that has changed their row.
my ($id, $waits_for, $between) = held('row', 'clients => 3', $lock_row, $end);
my $found = blockers_of($id);
like($found, qr/^0\|1\|transactionid\|ShareLock\|public\.held\|\Q$of_holder\E$/m,
	'row: the session that has changed the row');
is(value("SELECT bool_and($between AND samples BETWEEN 1 AND 3 * rounds) FROM bench.run_blockers JOIN bench.run_intervals i USING (run_id, interval_no) WHERE run_id = $id AND blocker = 'client backend'"),
	't', 'row: the intervals of the blockers');
like($waits_for, qr/^Lock:(tuple|transactionid)$/, 'bench.progress shows what sessions wait for');

# Of clients that come later, one waits for that, and the others for the row. All are in the queue by
# the end of the warm-up, when waits are sampled for the first time.
in_time_ok('queue', sub {
	my $warmup = 2 * $_[0];
	$lock_row->();
	value('INSERT INTO chosen VALUES (1)');
	my $run = start_sql($node,
		"SELECT FROM bench.run('update', vacuum => 'none', label => 'queue', clients => 3, transactions => 5, warmup => '$warmup s')");
	wait_for($node, "SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'tuple' AND NOT granted");
	my $is_early = value("SELECT seconds < $warmup FROM bench.progress WHERE label = 'queue'");
	wait_for($node, "SELECT seconds > $warmup + 2 FROM bench.progress WHERE label = 'queue'");
	$end->();
	finish_sql($run);
	value('DELETE FROM chosen');
	return $is_early eq 't';
});
$found = blockers_of(latest_run($node, 'queue')->{run_id});
is( $found,
	join("\n", map { "0|1|$_|public.held|$of_holder" } 'transactionid|ShareLock', 'tuple|ExclusiveLock'),
	'queue: all are blocked by the session that has changed the row');

# A role without privileges of pg_read_all_stats knows how often, not by whom.
($id) = held('plain role', 'clients => 1', $lock_row, $end, user => 'tester');
is(blockers_of($id), '0|1|transactionid|ShareLock||session|f||||', 'plain role: counts');
my $stall = "length_s > 1, clients, class, locktype, relation, blocker, blocker_application, blocker_statement_at IS NOT NULL FROM bench.run_stalls";
is(value("SELECT $stall WHERE run_id = $id ORDER BY length_s DESC LIMIT 1"),
	't|1|Lock|transactionid||another role||f', 'plain role: a stall, not by whom');
is( $node->safe_psql('postgres',
		"SELECT count(*) > 0 FROM bench.run_waits WHERE run_id = $id", extra_params => [ '-U', 'tester' ]),
	't', 'plain role: it sees its waits');
# A session of its own it may see, as in pg_stat_activity.
my $of_tester = $node->background_psql('postgres', extra_params => [ '-U', 'tester' ]);
$of_tester->query_safe("SET application_name = 'mine'");
($id) = held('own session', 'clients => 1', sub { $of_tester->query_safe('BEGIN; UPDATE held SET n = 0 WHERE id = 1') },
	sub { $of_tester->query_safe('ROLLBACK') }, user => 'tester');
is(value("SELECT $stall WHERE run_id = $id ORDER BY length_s DESC LIMIT 1"),
	't|1|Lock|transactionid|public.held|client backend|mine|t', 'plain role: a session of its own');
$of_tester->quit;
value('GRANT pg_read_all_stats TO tester');
($id) = held('member', 'clients => 1', $lock_row, $end, user => 'tester');
is(blockers_of($id), "0|1|transactionid|ShareLock|public.held|$of_holder", 'a member of pg_read_all_stats');
is(value("SELECT $stall WHERE run_id = $id ORDER BY length_s DESC LIMIT 1"),
	't|1|Lock|transactionid|public.held|client backend|holder|t', 'a member: the stall with its holder');

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
my $blocked = 'DISTINCT command_no, locktype, relation, blocker, blocker_script_no, blocker_command_no, blocker_pid, blocker_statement';
in_time_ok('own clients', sub {
	$run_id = run_script('contended', "clients => 4, duration => 3 * $_[0]");
	return value("SELECT $blocked FROM bench.run_blockers WHERE run_id = $run_id") =~
	  /^1\|(tuple|transactionid)\|public\.held\|own client\|0\|2\|\|$/m;
});

# Everything goes with the run.
value("SELECT FROM bench.delete_runs(older_than => '0')");
is(value('SELECT (SELECT count(*) FROM bench.run_waits), (SELECT count(*) FROM bench.run_blockers), (SELECT count(*) FROM bench.run_stalls)'),
	'0|0|0', 'delete_runs');

nothing_left_ok($node, 'waits');
$node->stop;
done_testing();
