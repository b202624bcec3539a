# Sets of runs: their rows, who sees them, what cancels, ended sessions and crashes leave of them, and how they are
# resumed; sweeps.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('sets', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\n");
# Waits while somebody has locked the number of runs of the set that have come to the gate.
my $define_gate = q{SELECT bench.define_script('gate', $$
	SELECT pg_advisory_xact_lock_shared(count(*)) FROM bench.runs
	 WHERE set_id = (SELECT max(set_id) FROM bench.sets) AND 'gate' = ANY (scripts)$$)};
$node->safe_psql(
	'postgres', qq{
	SELECT bench.initialize();
	CREATE ROLE other LOGIN SUPERUSER;
	CREATE ROLE plain LOGIN;
	SELECT bench.grant_to('plain');
	$define_gate});

# Results without notices, and notices alone.
sub query { return (finish_sql(start_sql($node, @_)))[0]; }
sub complaints { return (finish_sql(start_sql($node, @_)))[1]; }

# Starts a set, of whose runs that execute "gate" so many pass, and waits until the next one
# is at the gate.  Returns the caller, who waits in it, the session that keeps the gate, and
# the set's ID.
sub gated
{
	my ($sql, $passed) = @_;

	my $closed = $passed + 1;
	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe("SELECT pg_advisory_lock($closed)");
	my $caller = start_sql($node, $sql, name => 'caller');
	wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = $closed AND NOT granted");
	return ($caller, $keeper, query('SELECT max(set_id) FROM bench.sets'));
}

# A set that is in progress, and one that has finished: state by the view, and what is stored.
my $state = 'SELECT s.state, t.state FROM bench.set_summary s JOIN bench.sets t USING (set_id) WHERE set_id =';
my $by_default = q(SELECT * FROM bench.compare(scripts => 'gate', repeats => 2, transactions => 1));
my ($caller, $keeper, $set) = gated($by_default, 0);
is(query("$state $set"), 'running|running', 'a set in progress');
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$keeper->quit;
my (undef, $stderr) = finish_sql($caller);
is($stderr, '', 'it ends');
is(query("$state $set"), 'finished|finished', 'its state');
is( query("SELECT kind, owner, planned_runs = finished_runs, other_runs, started_at < finished_at, error FROM bench.set_summary WHERE set_id = $set"),
	'compare|' . query('SELECT current_user') . '|t|0|t|',
	'its row');
is( query("SELECT count(*) = planned_runs, count(DISTINCT (arm, round)) = planned_runs FROM bench.run_summary JOIN bench.sets USING (set_id) WHERE set_id = $set GROUP BY planned_runs"),
	't|t',
	'its runs have their places');

# Its session is terminated.
($caller, $keeper, $set) = gated($by_default, 0);
query('SELECT pg_terminate_backend(' . backend_of($node, 'caller') . ')');
(undef, $stderr) = finish_sql($caller);
like($stderr, qr/FATAL:  57P01/, 'a session that is terminated');
is(query("$state $set"), 'lost|running', 'the state of its set');
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$keeper->quit;
ok(wait_until_quiet($node), 'its run has ended');

# Each role sees its own sets.
query("SET ROLE other; SELECT bench.compare(scripts => 'select-only', repeats => 1, transactions => 1, label => 'of another')");
is(query("SELECT owner FROM bench.sets WHERE label = 'of another'"), 'other', 'whose a set is');
is(query("SELECT count(*) FROM bench.$_", user => 'plain'), 0, "$_: no rows of others") foreach qw(sets set_summary);

# A sweep.
is(query(q(SELECT count(*), count(DISTINCT options), min(runs), max(runs), bool_and(tps BETWEEN tps_low AND tps_high), bool_and(latency_p99_ms >= latency_p50_ms), string_agg(DISTINCT verdict, ',')
	FROM bench.arms((SELECT max(set_id) FROM bench.sweep('{"clients": [1, 2], "mode": ["spi", "libpq"], "scripts": "select-only"}', repeats => 2, transactions => 10))))),
	'4|4|2|2|t|t|', 'a sweep');
$set = query('SELECT max(set_id) FROM bench.sets');
is(query("SELECT state, kind, planned_runs, finished_runs, other_runs FROM bench.set_summary WHERE set_id = $set"), 'finished|sweep|9|9|0', 'its set');
is(query("SELECT options->>'clients' || (options->>'mode') FROM bench.arms($set) ORDER BY 1"), "1libpq\n1spi\n2libpq\n2spi", 'its points');
is(query("SELECT count(*) FROM bench.arms($set) p, unnest(p.run_ids) i JOIN bench.runs r ON r.run_id = i WHERE r.clients::text = p.options->>'clients' AND r.mode = p.options->>'mode'"), 8, 'runs belong to their points');
# Rows that a statement has not taken when it ends with an error.
foreach my $failing ("DECLARE c CURSOR FOR SELECT bench.arms($set); FETCH 1 FROM c; SELECT 1 / 0",
	"SAVEPOINT s; DECLARE c CURSOR FOR SELECT bench.arms($set); FETCH 2 FROM c; ROLLBACK TO s; SELECT 1 / 0",
	"SELECT ((bench.arms($set)).arm || 'x')::int")
{
	like(complaints("BEGIN; $failing"), qr/ERROR:  22(012|P02): /, $failing);
}
like(complaints("SELECT * FROM bench.resume($set)"), qr/ERROR:  22023: set $set is complete/, 'nothing is left');

is(query(q(SELECT string_agg(runs || '', ',') FROM bench.sweep(jsonb_build_object('setup', jsonb_build_array('SELECT ' || repeat('1', 40), 'SELECT ' || repeat('1', 41)), 'label', repeat(E'\U0001F600', 50), 'teardown', 'SELECT ' || repeat(E'-', 60) || repeat(E'\U0001F600', 50)), scripts => 'select-only', repeats => 1, transactions => 1))),
	'1,1', 'long values that begin alike are points of their own');

# With scale.
is(query(q(SELECT string_agg(concat_ws(' ', options->>'scale', options->>'clients', runs), ', ' ORDER BY options::text)
	FROM bench.arms((SELECT max(set_id) FROM bench.sweep('{"scale": [2, 1], "clients": [1, 2]}', initialize => true, scripts => 'select-only', repeats => 1, transactions => 5))))),
	'1 1 1, 1 2 1, 2 1 1, 2 2 1', 'a sweep with scale');
is(query("SELECT string_agg(scale || '', ',' ORDER BY run_id) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets)"), '2,2,2,1,1,1', 'scale is the outer loop');

# A scale at which no run succeeds.
my ($rows, $told) = finish_sql(start_sql($node, q(SELECT string_agg(concat_ws(' ', options->>'scale', runs), ', ' ORDER BY options::text)
	FROM bench.arms((SELECT max(set_id) FROM bench.sweep('{"scale": [1, 2]}', initialize => true, sql => 'SELECT 1 / (count(*) - 1) FROM pgbench_branches', repeats => 1, transactions => 5))))));
is($rows, '1 0, 2 1', 'the sweep goes on with the next scale');
like($told, qr/NOTICE:  .*arm "scale=1", round 1: .*division by zero/, 'and says why');
query('SELECT bench.initialize()');

# What is not valid.
my $sets = query('SELECT count(*) FROM bench.sets');
foreach my $case (
	[ q('{"client": [1]}'), qr/ERROR:  22023: arm "client=1": unknown option "client"/ ],
	[ q('{"clients": [0]}'), qr/ERROR:  22023: arm "clients=0": invalid value for option "clients": 0/ ],
	[ q('{"clients": []}'), qr/ERROR:  22023: invalid value for option "grid": "clients" has \[\]/ ],
	[ q('{"clients": [1, 1]}'), qr/ERROR:  22023: invalid value for option "grid": "clients" has \[1,1\]/ ],
	[ q('{"name": ["a", "b"]}'), qr/ERROR:  22023: invalid value for option "grid": "name"\nDETAIL:  .*Options of bench.run/ ],
	[ q('{"clients": [1], "baseline": true}'), qr/ERROR:  22023: invalid value for option "grid": "baseline"/ ],
	[ q('{}'), qr/ERROR:  22023: a grid must be a JSON object/ ],
	[ q('[1]'), qr/ERROR:  22023: a grid must be a JSON object/ ],
	[ q(NULL), qr/ERROR:  22004: grid must not be null/ ],
	[ q('{"scale": [1]}'), qr/ERROR:  22023: a grid with "scale" needs initialize => true/ ],
	[ q('{"clients": [1]}', initialize => true), qr/ERROR:  22023: initialize => true needs "scale" in the grid/ ],
	[ q('{"scale": [0]}', initialize => true), qr/ERROR:  22023: invalid value for option "scale": 0/ ],
	[ q('{"scale": ["x"]}', initialize => true), qr/ERROR:  22023: invalid value for option "scale": "x"/ ],
	[ q((SELECT jsonb_build_object('clients', jsonb_agg(i)) FROM generate_series(1, 1001) i)), qr/ERROR:  22023: invalid value for option "grid": more than 1000 points/ ],
	[ q((SELECT jsonb_build_object('clients', a, 'rate', a, 'latency_limit', a, 'jobs', a) FROM (SELECT jsonb_agg(i) AS a FROM generate_series(1, 900) i) s)), qr/ERROR:  22023: invalid value for option "grid": more than 1000 points/ ])
{
	my ($grid, $error) = @$case;
	like(complaints("SELECT * FROM bench.sweep($grid)"), $error, "not valid: $grid");
}
is(query('SELECT count(*) FROM bench.sets'), $sets, 'nothing has run');
is(query('SELECT count(*) FROM pgbench_branches'), 1, 'and no table was dropped');

# Canceled while its row is stored at the beginning, here by a worker that waits for a lock: before it has the lock, and when
# it has ended, which the caller has not seen yet.
my $locker = $node->background_psql('postgres');
my $lock_rows = 'BEGIN; LOCK TABLE bench.sets IN SHARE MODE';
my $writer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench set writer' AND wait_event_type = 'Lock'";
my $newest = query('SELECT max(set_id) FROM bench.sets');
$locker->query_safe($lock_rows);
$caller = start_sql($node, $by_default, name => 'caller');
wait_for($node, "SELECT EXISTS ($writer)");
my $first_writer = query($writer);
signal_sql($caller, 'INT');
wait_for($node, "SELECT EXISTS ($writer AND pid <> $first_writer)");
$locker->query_safe('ROLLBACK');
$stderr = (finish_sql($caller))[1];
like($stderr, qr/ERROR:  57014/, 'canceled before its row is stored: the error');
unlike($stderr, qr/NOTICE|WARNING/, 'nothing else is told');
is(query('SELECT max(set_id) FROM bench.sets'), $newest, 'there is no row');
$locker->query_safe($lock_rows);
$caller = start_sql($node, $by_default, name => 'caller');
wait_for($node, "SELECT EXISTS ($writer)");
my $backend = backend_of($node, 'caller');
kill 'STOP', $backend;
$locker->query_safe('ROLLBACK');
wait_for($node, "SELECT max(set_id) > $newest FROM bench.sets");
query("SELECT pg_cancel_backend($backend)");
kill 'CONT', $backend;
finish_sql($caller);
is(query("$state (SELECT max(set_id) FROM bench.sets)"), 'canceled|canceled', 'canceled when its row has been stored');

# Ctrl-C once more at the end of the set: while that waits for a lock, and when it is stored, which the caller has not seen
# yet.
for my $is_stored (0, 1)
{
	($caller, $keeper, $set) = gated($by_default, 0);
	$locker->query_safe($lock_rows);
	signal_sql($caller, 'INT');
	wait_for($node, "SELECT EXISTS ($writer)");
	if ($is_stored)
	{
		$backend = backend_of($node, 'caller');
		kill 'STOP', $backend;
		$locker->query_safe('ROLLBACK');
		wait_for($node, "SELECT state = 'canceled' FROM bench.sets WHERE set_id = $set");
		query("SELECT pg_cancel_backend($backend)");
		kill 'CONT', $backend;
	}
	else
	{
		my $blocked = query($writer);
		signal_sql($caller, 'INT');
		wait_for($node, "SELECT EXISTS ($writer AND pid <> $blocked)");
		$locker->query_safe('ROLLBACK');
	}
	$stderr = (finish_sql($caller))[1];
	unlike($stderr, qr/WARNING/, 'no warning of a set that is canceled twice');
	is(query("$state $set"), 'canceled|canceled', 'its state');
	$keeper->query_safe('SELECT pg_advisory_unlock_all()');
	$keeper->quit;
}

# Canceled when all runs have been made, while the end is stored.
($caller, $keeper, $set) = gated(q(SELECT * FROM bench.compare(scripts => 'gate', repeats => 1, transactions => 1)), 1);
$locker->query_safe($lock_rows);
$keeper->query_safe('SELECT pg_advisory_unlock_all()');
$keeper->quit;
wait_for($node, "SELECT EXISTS ($writer)");
my $waiting = query($writer);
signal_sql($caller, 'INT');
wait_for($node, "SELECT EXISTS ($writer AND pid <> $waiting)");
$locker->query_safe('ROLLBACK');
like((finish_sql($caller))[1], qr/ERROR:  57014/, 'canceled while the end of a complete set is stored: the error');
is(query("$state $set"), 'finished|finished', 'its state');
$locker->quit;

# An arm that cannot run: what a finished set has found stays if it is resumed in vain.
query(q(SELECT bench.compare('[{"name": "a"}, {"name": "b", "clients": 100, "client_process": "worker"}]', scripts => 'select-only', repeats => 2, transactions => 1)));
my $found = 'SELECT s.state, s.error, s.result FROM bench.sets s ORDER BY set_id DESC LIMIT 1';
my $before = query($found);
like($before, qr/^finished\|\|.*"b": /, 'an arm cannot run');
like(complaints('SELECT * FROM bench.resume((SELECT max(set_id) FROM bench.sets))'), qr/ERROR:  .*worker/, 'resumed in vain: the error');
is(query($found), $before, 'resumed in vain: its row');

# Resumed after Ctrl-C: options, seeds and places are those of the set.
my $compare = q(SELECT * FROM bench.compare('[{"name": "a"}, {"name": "b", "clients": 2}]', scripts => 'gate', repeats => 2, transactions => 1, label => 'resumed', seed => '42'));
($caller, $keeper, $set) = gated($compare, 2);
like(complaints("SELECT * FROM bench.resume($set)"), qr/ERROR:  55006: set $set is in progress/, 'a set in progress');
signal_sql($caller, 'INT');
(undef, $stderr) = finish_sql($caller);
is(query("$state $set"), 'canceled|canceled', 'the state of a canceled set');
like($stderr,
	qr/NOTICE:  .*set $set is not complete\nDETAIL:  This call has made 2 of 6 runs; .*bench\.arms\($set\).*\nHINT:  .*bench\.resume\($set\).*ERROR:  57014/s,
	'the canceled session is told what there is, and how to go on');
$keeper->query_safe('SELECT pg_advisory_unlock_all()');
$keeper->quit;
like(complaints("SELECT * FROM bench.resume($set)", user => 'other'), qr/ERROR:  42501: permission denied for set $set/, 'not by another superuser');
query("SELECT bench.define_script('gate', 'SELECT 2')");
like(complaints("SELECT * FROM bench.resume($set)"), qr/ERROR:  22023: script "gate" has changed/, 'not with another script');
query($define_gate);
my $left = 6 - query("SELECT finished_runs FROM bench.set_summary WHERE set_id = $set");
like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|compare\|$left\|a: baseline\nb: \w/, 'resumed, with the verdict of each arm');
is(query("SELECT state, finished_runs FROM bench.set_summary WHERE set_id = $set"), 'finished|6', 'its set');
is(query("SELECT string_agg(arm || runs || cardinality(missing), ',') FROM bench.arms($set)"), 'a20,b20', 'its rows');
is(query("SELECT count(DISTINCT seed), bool_and(label = 'resumed'), count(DISTINCT (arm, clients)) FROM bench.runs WHERE set_id = $set"), '3|t|2', 'its runs');
query($compare);
is(query("SELECT count(*) FROM (SELECT arm, round, seed FROM bench.runs WHERE set_id = $set AND state = 'finished' EXCEPT SELECT arm, round, seed FROM bench.runs WHERE set_id <> $set AND label = 'resumed') d"),
	0, 'the same seed makes the same set');

# Nor with other rows of a value set: values that scripts do not use may change.
query(q{INSERT INTO bench.value_sets VALUES ('numbers', 1, '{1,2}');
	SELECT bench.define_script('draws', E'\\\\values numbers a\nSELECT :a, pg_advisory_xact_lock_shared(count(*)) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets)')});
foreach my $sql (q(bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'draws', repeats => 1, transactions => 1)),
	q(bench.sweep('{"clients": [1, 2]}', scripts => 'draws', repeats => 1, transactions => 1)),
	q(bench.find_capacity(1000, scripts => 'draws', duration => '200 ms', tolerance => 1)))
{
	my $name = ($sql =~ /bench\.(\w+)/)[0];
	($caller, $keeper, $set) = gated("SELECT * FROM $sql", 1);
	signal_sql($caller, 'INT');
	finish_sql($caller);
	$keeper->query_safe('SELECT pg_advisory_unlock_all()');
	$keeper->quit;
	query(q{UPDATE bench.value_sets SET values = '{2,2}'});
	like(complaints("SELECT * FROM bench.resume($set)"), qr/ERROR:  22023: value set "numbers" has changed since set $set was made\nHINT:/, "$name: not with other values");
	query(q{UPDATE bench.value_sets SET values = '{1,3}'});
	like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|$name\|[1-9]/, "$name: resumed with the same");
}
like(complaints('SELECT bench.arms()'), qr/ERROR:  22023: set $set is a search by bench\.find_capacity, which has no arms\nHINT:  SELECT bench\.report\(set_ids => $set\) shows/, 'a search has no arms');
like(query("SELECT bench.report(set_ids => $set)"), qr/capacity/i, 'but a report');

# After a crash.
($caller, $keeper, $set) = gated(q(SELECT * FROM bench.sweep('{"clients": [1, 2]}', scripts => 'gate', repeats => 2, transactions => 1)), 2);
$node->stop('immediate');
finish_sql($caller);
eval { $keeper->quit };
$node->start;
is(query("$state $set"), 'lost|running', 'after a crash');
query("SELECT bench.compare(scripts => 'select-only', repeats => 1, transactions => 1)");
is(query("$state $set"), 'lost|lost', 'the next set marks it');
like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|sweep\|[1-5]\|$/, 'resumed after a crash');
is(query("SELECT state FROM bench.set_summary WHERE set_id = $set"), 'finished', 'its state');
is(query("SELECT string_agg(runs || '', ',') FROM bench.arms($set)"), '2,2', 'its points');

# A table is dropped in the middle, and is there again when the set is resumed.
($caller, $keeper, $set) = gated(q(SELECT * FROM bench.compare('[{"name": "gate", "scripts": "gate"}, {"name": "select"}]', scripts => 'select-only', repeats => 3, transactions => 1)), 0);
query('DROP TABLE pgbench_accounts CASCADE');
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$keeper->quit;
finish_sql($caller);
is(query("SELECT s.state, v.runs BETWEEN 0 AND 1 FROM bench.set_summary s, bench.arms($set) v WHERE s.set_id = $set AND v.arm = 'select'"), 'finished|t', 'a table that was dropped');
query('SELECT bench.initialize()');
like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|compare\|[2-4]\|gate: baseline\nselect: /, 'the runs that failed are made again');
is(query("SELECT string_agg(arm || runs, ',') FROM bench.arms($set)"), 'gate3,select3', 'all count');
like(complaints('SELECT * FROM bench.resume(999999)'), qr/ERROR:  42704: set 999999 does not exist/, 'no such set');
like(complaints('SELECT * FROM bench.resume(NULL)'), qr/ERROR:  22004: set_id must not be null/, 'NULL');

# Deleting the runs of a set deletes its row.
query("SELECT bench.delete_runs((SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND round > 1))");
is(query("SELECT count(*) FROM bench.sets WHERE set_id = $set"), 1, 'some runs are deleted');
query("SELECT bench.delete_runs((SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set))");
is(query("SELECT count(*) FROM bench.sets WHERE set_id = $set"), 0, 'all are');
is( query(q(BEGIN; SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'select-only', repeats => 1, transactions => 1, label => 'once');
		SELECT count(*) > 0 FROM bench.delete_runs(label => 'once'); COMMIT; SELECT count(*) FROM bench.sets WHERE label = 'once')),
	"2\nt\n0", 'in the transaction that has made them');

# Two sessions delete half of them each.
query(q(SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'select-only', repeats => 1, transactions => 1)));
$set = query('SELECT max(set_id) FROM bench.sets');
my $half = "SELECT count(*) > 0 FROM bench.delete_runs((SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm =";
my $first = $node->background_psql('postgres');
$first->query_safe("BEGIN; $half 'a'))");
my $second = start_sql($node, "$half 'b'))", name => 'second');
wait_for($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'second' AND wait_event_type = 'Lock'");
$first->query_safe('COMMIT');
$first->quit;
is((finish_sql($second))[0], 't', 'the second session deletes its half');
is(query("SELECT count(*) FROM bench.sets WHERE set_id = $set"), 0, 'and the set');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
