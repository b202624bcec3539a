# What the coordinator observes beside the clients: rows of the server for the same
# intervals as those of the clients, checkpoints, autovacuum and other sessions in the
# right ones, who may see what, and what is missing on a target.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# A library by which storage does not answer: no file is synchronized while the file "stall" exists.
my ($cc) = grep { !system("command -v $_ >/dev/null 2>&1") } qw(cc gcc clang);
my $stall = PostgreSQL::Test::Utils::tempdir_short() . '/stall';
my $preload;
if (defined $cc && $^O eq 'linux')
{
	my $base = $PostgreSQL::Test::Utils::tmp_check . '/stalling';
	append_to_file("$base.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static void
stall(void)
{
	while (access(STALL, F_OK) == 0)
		usleep(1000);
}

int
fsync(int fd)
{
	stall();
	return ((int (*)(int)) dlsym(RTLD_NEXT, "fsync"))(fd);
}

int
fdatasync(int fd)
{
	stall();
	return ((int (*)(int)) dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
C
	system_or_bail($cc, qw(-O1 -fPIC -shared), "-DSTALL=\"$stall\"", '-o', "$base.so", "$base.c", '-ldl');
	$preload = "$base.so";
}
$ENV{LD_PRELOAD} = $preload if defined $preload;
my $node = new_bench_node('telemetry', <<'CONF');
fsync = on
wal_sync_method = fdatasync
wal_writer_delay = 10s
max_worker_processes = 20
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum_naptime = 1s
deadlock_timeout = 10ms
CONF
delete $ENV{LD_PRELOAD};
$node->safe_psql('postgres', 'SELECT bench.initialize()');
foreach my $table (qw(accounts branches tellers history))
{
	$node->safe_psql('postgres', "ALTER TABLE pgbench_$table SET (autovacuum_enabled = false)");
}
# Vacuuming it takes minutes, with these settings.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE swept WITH (autovacuum_enabled = false, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)
  AS SELECT repeat('x', 1000) FROM generate_series(1, 7000);
DELETE FROM swept;
SQL

# Starts a run that is canceled later, with short intervals; returns its number when it
# has finished transactions.
sub start_run
{
	my ($label, $options) = @_;

	my $run_id = $node->safe_psql('postgres',
		"SELECT bench.start($options, duration => '600 s', aggregate_interval => '100 ms', label => '$label')");
	wait_for_transactions($node, $label);
	return $run_id;
}

# Seconds since a run has started.
sub seconds_of
{
	return $node->safe_psql('postgres', "SELECT seconds FROM bench.progress WHERE run_id = $_[0]");
}

# Waits until several more intervals have ended; returns the seconds since the start.
sub let_it_run
{
	my ($run_id) = @_;

	my $now = seconds_of($run_id);
	wait_for($node, "SELECT seconds > $now + 0.5 FROM bench.progress WHERE run_id = $run_id");
	return seconds_of($run_id);
}

# Waits until the server's figures until now have been read, and those of an interval after that are
# stored; returns the seconds from the start until now.
sub read_until_now
{
	my ($run_id) = @_;

	my $now = seconds_of($run_id);
	wait_for($node, "SELECT count(*) > 0 FROM bench.run_server_intervals WHERE run_id = $run_id AND begins_s > $now");
	return $now;
}

sub end_run
{
	my ($run_id) = @_;

	$node->safe_psql('postgres', "SELECT bench.cancel($run_id); SELECT bench.wait($run_id)");
	return;
}

# How many rows of a run were read between two times, and for how many of them a
# condition holds.
sub rows_between
{
	my ($run_id, $from, $to, $condition) = @_;

	return split /\|/,
	  $node->safe_psql('postgres',
		    "SELECT count(*), count(*) FILTER (WHERE $condition) FROM bench.run_server_intervals"
		  . " WHERE run_id = $run_id AND begins_s + seconds BETWEEN $from AND $to");
}

sub all_between_ok
{
	my ($run_id, $from, $to, $condition, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($rows, $true) = rows_between($run_id, $from, $to, $condition);
	return ok($rows > 0 && $rows == $true, $name)
	  || diag("of $rows rows between $from and $to, $true have $condition: "
		  . $node->safe_psql('postgres',
			"SELECT json_agg(i) FROM bench.run_server_intervals i WHERE run_id = $run_id"));
}

my $requested = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000
  ? 'SELECT num_requested FROM pg_stat_checkpointer'
  : 'SELECT checkpoints_req FROM pg_stat_bgwriter';

# A checkpoint in the middle.
my $run_id = start_run('busy', 'clients => 2');
my $checkpoints = $node->safe_psql('postgres', $requested);
my $before = read_until_now($run_id);
$node->safe_psql('postgres', 'CHECKPOINT');
my $after = seconds_of($run_id);
wait_for($node, "SELECT ($requested) > $checkpoints");

# A table that is vacuumed slowly.
my $unvacuumed = seconds_of($run_id);
$node->safe_psql('postgres', 'ALTER TABLE swept SET (autovacuum_enabled = true)');
my $vacuums = "query LIKE 'autovacuum: VACUUM %public.swept%'";
wait_for($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE $vacuums");
my $worker = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $vacuums");
my $vacuumed = seconds_of($run_id);

# What another role sees of it.
$node->safe_psql('postgres',
	"CREATE ROLE bencher LOGIN; SELECT bench.grant_to('bencher');");
$node->safe_psql('postgres', "SELECT bench.define_script('one', 'SELECT 1')");
sub run_as_bencher
{
	return $node->safe_psql(
		'postgres',
		"SELECT run_id FROM bench.run('postgres.one', duration => '0.5 s', aggregate_interval => '100 ms', vacuum => 'none')",
		extra_params => [ '-U', 'bencher' ]);
}
my $denied = run_as_bencher();
$node->safe_psql('postgres', 'GRANT SELECT ON swept TO bencher');
my $allowed = run_as_bencher();
$node->safe_psql('postgres', 'GRANT pg_read_all_stats TO bencher');
my $member = run_as_bencher();
my $at = $node->safe_psql('postgres',
	"SELECT seconds FROM bench.progress, pg_stat_activity WHERE run_id = $run_id AND pg_stat_activity.pid = $worker AND $vacuums");
ok($at ne '', 'the vacuum is still in progress');
read_until_now($run_id);
$node->safe_psql('postgres', 'ALTER TABLE swept SET (autovacuum_enabled = false)');

# Another session, which sorts on disk, and a deadlock.
my $other = start_sql($node,
	q{SET work_mem = '64kB'; SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i ORDER BY i DESC) s; SELECT pg_sleep(600)},
	name => 'other');
wait_for($node,
	"SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE application_name = 'other'");
my $other_from = seconds_of($run_id);
let_it_run($run_id) foreach 1 .. 3;
my $other_to = read_until_now($run_id);
$node->safe_psql('postgres',
	"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'other'");
finish_sql($other);
my $keeper = $node->background_psql('postgres', on_error_stop => 0);
$keeper->query_safe('SELECT pg_advisory_lock(2)');
my $waiter = start_sql($node, 'SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(2)');
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
$keeper->query('SELECT pg_advisory_lock(1)');
$keeper->quit;
finish_sql($waiter);
wait_for($node, "SELECT sum(deadlocks) = 1 FROM pg_stat_database");
let_it_run($run_id);
end_run($run_id);

is( $node->safe_psql('postgres', <<"SQL"), 't|t|t', 'the same intervals as those of the clients');
SELECT array_agg(c.interval_no ORDER BY c.interval_no) = array_agg(s.interval_no ORDER BY s.interval_no),
       bool_and(abs(s.begins_s + s.seconds - lead) < 1e-6 OR lead IS NULL), min(s.seconds) > 0
  FROM bench.run_intervals c FULL JOIN
       (SELECT *, lead(begins_s) OVER (ORDER BY interval_no) FROM bench.run_server_intervals WHERE run_id = $run_id) s USING (run_id, interval_no)
 WHERE run_id = $run_id
SQL
is( $node->safe_psql('postgres', <<"SQL"), '1|t|1|1|t', 'the checkpoint is in the right interval');
SELECT count(*) FILTER (WHERE checkpoint_begun),
       bool_and(begins_s + seconds >= $before AND begins_s <= $after) FILTER (WHERE checkpoint_begun),
       count(*) FILTER (WHERE checkpoint_ended), sum(checkpoints_requested),
       sum(blocks_written_by_checkpointer) > 0
  FROM bench.run_server_intervals WHERE run_id = $run_id
SQL
my $named = q{autovacuum::text ~ 'VACUUM (ANALYZE )?public\.swept'};
all_between_ok($run_id, $vacuumed, $at, "autovacuum_workers >= 1 AND $named",
	'the autovacuum is in the right intervals');
all_between_ok($run_id, 0, $unvacuumed, "NOT $named", 'and in no earlier one');
all_between_ok($run_id, $other_from, $other_to, 'other_sessions >= 1', 'other sessions');
my $advice = $node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($run_id)");
like($advice,
	qr/^(note\|$_ (took place|was at work) during the run|warning\|$_ slowed the run down)\|in \d+ of \d+ intervals/m,
	"advice: $_")
  foreach 'a checkpoint', 'autovacuum';
is( $node->safe_psql('postgres', <<"SQL"), 't|1|t|t|t|t|t', 'counters');
SELECT sum(temp_bytes) > 0, sum(deadlocks), sum(wal_records) > 0, sum(wal_bytes) >= sum(wal_bytes_by_clients),
       sum(blocks_hit_by_clients) > (SELECT transactions FROM bench.runs WHERE run_id = $run_id),
       sum(cpu_user_ms + cpu_system_ms) > 0 OR NOT bool_or(cpu_user_ms IS NOT NULL),
       sum(sessions_cpu_ms) > 0 OR NOT bool_or(sessions_cpu_ms IS NOT NULL)
  FROM bench.run_server_intervals WHERE run_id = $run_id
SQL
my $seen = "SELECT bool_and(autovacuum_workers >= 1), bool_or($named), bool_and($named) FROM bench.run_server_intervals WHERE run_id =";
is($node->safe_psql('postgres', "$seen $denied"),
	't|f|f', 'a role sees that autovacuum works, not on which tables of others');
is($node->safe_psql('postgres', "$seen $_"), 't|t|t', "except if it may: run $_") foreach $allowed, $member;

# Storage that does not answer.
SKIP:
{
	skip 'there is no C compiler', 4 if !defined $preload;
	$node->safe_psql('postgres',
		"CREATE TABLE appended (i int); SELECT bench.define_script('append', 'INSERT INTO appended VALUES (1)')");
	$run_id = start_run('stall', "'append', clients => 4, wait_sample_rate => 100, vacuum => 'none'");
	let_it_run($run_id) foreach 1 .. 3;
	append_to_file($stall, '');
	wait_for($node, <<'SQL');
SELECT count(*) = 4 FROM pg_stat_activity
 WHERE backend_type = 'pg_selfbench spi client' AND lower(wait_event) IN ('walsync', 'walwrite')
SQL
	my $from = seconds_of($run_id);
	let_it_run($run_id) foreach 1 .. 3;
	my $to = seconds_of($run_id);
	# The figures of the intervals until then have been read.
	let_it_run($run_id);
	unlink $stall or die $!;
	# In most intervals, storage answers.
	wait_for($node, "SELECT seconds > 2 * $to AND interval_tps > 0 FROM bench.progress WHERE run_id = $run_id");
	end_run($run_id);
	is( $node->safe_psql('postgres', <<"SQL"), 't|0|0', 'a stall is in the right intervals');
SELECT count(*) > 0, sum(i.transactions), sum(s.wal_bytes_by_clients)
  FROM bench.run_intervals i JOIN bench.run_server_intervals s USING (run_id, interval_no)
 WHERE run_id = $run_id AND i.begins_s > $from AND i.begins_s + i.seconds < $to
SQL
	is( $node->safe_psql('postgres', <<"SQL"), 't|t', 'its sessions wait for storage there');
SELECT sum(samples) > 0, bool_and(class || ':' || lower(event) IN ('IO:walsync', 'LWLock:walwrite'))
  FROM bench.run_waits w JOIN bench.run_intervals i USING (run_id, interval_no)
 WHERE run_id = $run_id AND i.begins_s > $from AND i.begins_s + i.seconds < $to
SQL
	is( $node->safe_psql('postgres', <<"SQL"), 't|t', 'and others have transactions');
SELECT bool_or(transactions > 0) FILTER (WHERE begins_s + seconds < $from), bool_or(transactions > 0) FILTER (WHERE begins_s > $to)
  FROM bench.run_intervals WHERE run_id = $run_id
SQL
	like($node->safe_psql('postgres', "SELECT severity, finding, evidence FROM bench.advice($run_id)"),
		qr/^warning\|transactions stopped while storage did not answer\|in \d+ of \d+ intervals, first after \d+\.\d s, most sessions waited for storage: /m,
		'a stall is in the advice');
}

# The remainder after the deadline belongs to the last interval.
$node->safe_psql('postgres', q{SELECT bench.define_script('slow', '\sleep 700 ms')});
$run_id = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('slow', duration => '2 s', vacuum => 'none')");
is( $node->safe_psql('postgres', <<"SQL"), 't|t', 'no interval begins after the deadline');
SELECT bool_and(begins_s < 2), max(begins_s + i.seconds) > max(r.seconds) - 0.001
  FROM bench.run_intervals i JOIN bench.runs r USING (run_id) WHERE run_id = $run_id
SQL
figures_ok($node, $run_id, 'with a remainder');

# So does a short remainder before it.
$run_id = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('select-only', duration => '1.04 s', aggregate_interval => '0.5 s', vacuum => 'none')");
is( $node->safe_psql('postgres', "SELECT max(begins_s) <= 1.04 - 0.05, sum(seconds) > 1.03 FROM bench.run_intervals WHERE run_id = $run_id"),
	't|t',
	'no interval is as short as what is left before the deadline');
figures_ok($node, $run_id, 'with a short remainder before the deadline');

# So does what the coordinator sees late: it waits to store that the run has begun while the deadline passes.
$node->safe_psql('postgres', "SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1)')");
my ($gate, $vacuum, $runs) = map { $node->background_psql('postgres') } 1 .. 3;
$gate->query_safe('SELECT pg_advisory_lock(1)');
$vacuum->query_safe('BEGIN; LOCK pgbench_branches IN SHARE MODE');
my $late = start_sql($node,
	q{SELECT run_id, state FROM bench.run('gate', duration => '5 s', aggregate_interval => '100 ms', vacuum => 'always', label => 'late')});
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'pgbench_branches'::regclass AND NOT granted");
$runs->query_safe('BEGIN; LOCK bench.runs IN SHARE MODE');
$vacuum->query_safe('COMMIT');
wait_for($node, "SELECT seconds > 5.1 FROM bench.progress WHERE label = 'late'");
$runs->query_safe('COMMIT');
wait_for($node, "SELECT state = 'running' FROM bench.runs WHERE label = 'late'");
$gate->query_safe('SELECT pg_advisory_unlock(1)');
$_->quit foreach $gate, $vacuum, $runs;
($run_id, my $ended) = split /\|/, (finish_sql($late))[0];
is($ended, 'finished', 'a coordinator that is late');
is( $node->safe_psql('postgres', <<"SQL"), 't|t|1', 'begins no interval after the deadline, either');
SELECT bool_and(begins_s < 5), max(begins_s + seconds) > 5.1, sum(transactions)
  FROM bench.run_intervals WHERE run_id = $run_id
SQL

# The last interval ends with the last client, also if the coordinator notices that late.
$gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
$late = start_sql($node,
	q{SELECT run_id FROM bench.run('gate', transactions => 1, aggregate_interval => '100 ms', progress => '200 ms', vacuum => 'none', label => 'asleep')});
wait_for($node, "SELECT seconds > 0.1 FROM bench.progress WHERE label = 'asleep'");
($run_id, my $coordinator) =
  split /\|/, $node->safe_psql('postgres', "SELECT run_id, coordinator_pid FROM bench.runs WHERE label = 'asleep'");
kill 'STOP', $coordinator;
$gate->query_safe('SELECT pg_advisory_unlock(1)');
$gate->quit;
wait_for($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench spi client'");
my $gone = seconds_of($run_id);
$node->safe_psql('postgres', 'SELECT pg_sleep(1)');
is(seconds_of($run_id), $gone, 'the time of a run in progress ends with its last client');
kill 'CONT', $coordinator;
(undef, my $told) = finish_sql($late);
is(scalar(grep { $_ > $gone + 0.2 } $told =~ /progress: ([0-9.]+) s/g), 0, 'so do lines of progress') or diag($told);
figures_ok($node, $run_id, 'with a coordinator that sleeps');
is( $node->safe_psql('postgres', <<"SQL"), 't|t|t', 'so do the last interval, and samples of waits');
SELECT round(max(i.begins_s + i.seconds)::numeric, 2) = $gone, max(s.begins_s + s.seconds) > $gone + 1,
       (SELECT bool_and(samples = rounds)
          FROM (SELECT sum(samples) AS samples, max(rounds) AS rounds FROM bench.run_waits
                 WHERE run_id = $run_id GROUP BY interval_no) w)
  FROM bench.run_intervals i JOIN bench.run_server_intervals s USING (run_id, interval_no)
 WHERE run_id = $run_id
SQL

# A run of a moment has its row, too.
$node->safe_psql('postgres', "SELECT FROM bench.run('one', transactions => 1, aggregate_interval => '1 h', vacuum => 'none', label => 'moment', warmup => '$_ ms')")
  foreach 0, 0, 0, 20, 20, 50, 50;
is( $node->safe_psql('postgres',
		"SELECT count(i.run_id), count(s.run_id) FROM bench.runs LEFT JOIN bench.run_intervals i USING (run_id) LEFT JOIN bench.run_server_intervals s USING (run_id, interval_no) WHERE label = 'moment'"),
	'7|7', 'runs of a moment');

# Nothing is observed if that is not wanted.
$run_id = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('one', duration => '0.3 s', aggregate_interval => '100 ms', vacuum => 'none', observe => false)"
);
is( $node->safe_psql('postgres', <<"SQL"), 'f|t|{}|0', 'observe => false');
SELECT observe, snapshot_held_s IS NULL, notes,
       (SELECT count(*) FROM bench.run_server_intervals s WHERE s.run_id = r.run_id)
  FROM bench.runs r WHERE run_id = $run_id
SQL

# Functions that read a run fail without one, as all do.
foreach my $function (qw(top_waits top_functions time_budget advice chart))
{
	foreach my $case ([ 'NULL', '22004: run_ids? must not be null' ], [ '999999', '42704: run 999999 does not exist' ])
	{
		my ($argument, $error) = @$case;
		$argument .= ", 'tps'" if $function eq 'chart';
		my (undef, undef, $told) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.$function($argument)");
		like($told, qr/ERROR:  $error/, "bench.$function($argument)");
	}
}

# A lock that another session holds delays a run only for a moment, even if what is observed needs it.
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK pg_inherits');
my $delayed = start_sql($node,
	"SELECT state FROM bench.run('one', duration => '0.3 s', vacuum => 'none', label => 'lock')");
my ($state, $complaint) = finish_sql($delayed);
is($state, 'finished', 'a lock that is held: the run goes on');
like($complaint, qr/could not observe the tables that the run uses: canceling statement due to lock timeout/,
	'a lock that is held: that is said');
$locker->query_safe('ROLLBACK');

# Who terminates the coordinator while it looks at the tables for the last time ends that look; the run has finished.
$gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
$delayed = start_sql($node, "SELECT state FROM bench.run('gate', transactions => 1, vacuum => 'none', label => 'last look')");
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
$locker->query_safe('BEGIN; LOCK pg_inherits');
$gate->quit;
comes_before_end($node,
	"SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock'",
	$delayed);
($state) = finish_sql($delayed);
is($state, 'finished', 'a coordinator that is terminated in its last look');
is(latest_run($node, 'last look')->{state}, 'finished', 'stores the run');
$locker->query_safe('ROLLBACK');
$locker->quit;

# A target shows what its role may see, and the run tells what that does not include.
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', 'CREATE ROLE guest LOGIN; REVOKE SELECT ON pg_stat_wal FROM PUBLIC');
sub on_target
{
	my ($role, $more, $script) = @_;

	$script //= 'one';
	return
	  "bench.run('$script', mode => 'libpq', target => 'host=$host port=$port dbname=postgres user=$role', aggregate_interval => '100 ms', vacuum => 'none', $more)";
}
sub seen_on_target
{
	return $node->safe_psql('postgres', <<"SQL");
SELECT bool_and(wal_bytes IS NOT NULL), bool_or(wal_records IS NOT NULL),
       bool_or(other_sessions IS NOT NULL), bool_or(cpu_user_ms IS NOT NULL), bool_or(checkpoint_begun)
  FROM bench.run_server_intervals WHERE run_id = $_[0]
SQL
}
my ($stdout, $stderr);
# Runs that last until the target has answered in time, more than once.
sub run_on_target
{
	my ($role) = @_;

	return in_time_ok("a target seen by $role", sub {
		(undef, $stdout, $stderr) =
		  $node->psql('postgres', 'SELECT run_id FROM ' . on_target($role, "duration => '$_[0] s'"));
		return $stderr !~ /did not answer/
		  && $node->safe_psql('postgres', "SELECT count(*) > 1 FROM bench.run_server_intervals WHERE run_id = $stdout") eq 't';
	});
}
run_on_target('guest');
is($stderr, '', 'a target with few rights: no complaint');
is(seen_on_target($stdout), 't|f|f|f|', 'a target with few rights: what is seen');
my $notes = $node->safe_psql('postgres', "SELECT unnest(notes) FROM bench.runs WHERE run_id = $stdout");
like($notes, $_, 'a target with few rights: what is missing')
  foreach (
	qr/^not observed: WAL records and full-page images: .*permission denied/m,
	qr/^not observed: other sessions, .*pg_read_all_stats/m,
	qr/^not observed: the target's machine/m);
run_on_target('postgres');
is(seen_on_target($stdout), 't|t|t|f|', 'a target with all rights: what is seen');
is($node->safe_psql('postgres', "SELECT max(other_sessions) FROM bench.run_server_intervals WHERE run_id = $stdout"),
	'0', 'a target that is this server: the processes of the run are no other sessions');

# What a run prints whose only transaction waits while something is done, and for some intervals after it.
sub at_the_gate
{
	my ($role, $label, $do) = @_;

	my $gate = $node->background_psql('postgres');
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	my $caller = start_sql($node,
		'SELECT state FROM ' . on_target($role, "transactions => 1, label => '$label'", 'gate'));
	wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$do->();
	let_it_run($node->safe_psql('postgres', "SELECT run_id FROM bench.progress WHERE label = '$label'"));
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	$gate->quit;
	return finish_sql($caller);
}

# An observer that fails is off, and the run goes on.
($stdout, $stderr) = at_the_gate('guest', 'revoked',
	sub { $node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION pg_current_wal_insert_lsn() FROM PUBLIC') });
is($stdout, 'finished', 'rights are lost in the middle: the run goes on');
like($stderr, qr/NOTICE: .*could not observe the server's statistics: .*permission denied/m,
	'rights are lost in the middle: that is said');

# A target that does not answer delays nothing.
my $mute;
($stdout, $stderr) = at_the_gate(
	'postgres', 'mute',
	sub {
		# Idle, so that it has no lock of the server. The client's session waits at the gate.
		my $observer =
		  "application_name = 'pg_selfbench' AND backend_type = 'client backend' AND wait_event_type IS DISTINCT FROM 'Lock'";
		wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $observer AND state = 'idle'");
		$mute = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $observer");
		kill 'STOP', $mute;
	});
kill 'CONT', $mute;
is($stdout, 'finished', 'a target that does not answer: the run ends');
nothing_left_ok($node, 'telemetry');
$node->stop;

done_testing();
