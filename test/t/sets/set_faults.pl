# Sets that are struck in the middle: a process killed, the extension dropped, several sessions that
# resume; arms that always fail, very many arms; tables to which runs have written.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('set_faults', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\nrestart_after_crash = on\n");
my $scripts = q{
	SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);');
	SELECT bench.define_script('one', 'SELECT 1');
	SELECT bench.define_script('late', $$SELECT pg_advisory_xact_lock_shared(1) FROM bench.runs
		WHERE set_id = (SELECT max(set_id) FROM bench.sets) AND state = 'finished' LIMIT 1$$);
	SELECT bench.define_script('write', 'UPDATE tally SET n = n + 1;');
	SELECT bench.define_script('missing', 'SELECT * FROM not_there;')};
$node->safe_psql(
	'postgres', qq{
	CREATE TABLE tally (n int);
	INSERT INTO tally SELECT generate_series(1, 100);
	CREATE ROLE plain LOGIN;
	GRANT CREATE ON SCHEMA public TO plain;
	GRANT SELECT, UPDATE ON tally TO plain;
	SELECT bench.grant_to('plain');
	$scripts});

sub query { return (finish_sql(start_sql($node, @_)))[0]; }
sub complaints { return (finish_sql(start_sql($node, @_)))[1]; }

# Starts a set whose first run waits at the gate; returns what finish_sql takes and the session that
# keeps the gate.
my $at_gate = "FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted";
sub at_gate
{
	my ($sql) = @_;

	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe('SELECT pg_advisory_lock(1)');
	my $caller = start_sql($node, $sql, name => 'caller');
	wait_for($node, "SELECT count(*) > 0 $at_gate");
	return ($caller, $keeper);
}
sub latest { return query('SELECT max(set_id) FROM bench.sets'); }
# The process that a server has once, and another one after each start.
sub checkpointer { return query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"); }
# Whether the server is up again, without that process.
sub is_up
{
	my ($before) = @_;
	return wait_for($node, "SELECT pid <> $before FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
}

# A process is killed: the server ends all others and recovers, or is gone.
my $made = q([{"name": "a"}, {"name": "b", "setup": "CREATE TABLE made ()", "teardown": "DROP TABLE made"}]);
my $compare = "SELECT * FROM bench.compare('$made', scripts => 'gate', repeats => 2, transactions => 1)";
my @finished;
foreach my $victim ('backend_type = $$pg_selfbench spi client$$', 'backend_type = $$pg_selfbench coordinator$$', 'application_name = $$caller$$', 'postmaster')
{
	my ($caller, $keeper) = at_gate($compare);
	my $set = latest();
	my $before = checkpointer();
	if ($victim eq 'postmaster')
	{
		my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die;
		my @pids = split /\n/, query('SELECT pid FROM pg_stat_activity');
		$node->kill9;
		# The next postmaster does not start before they have ended.
		foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
		{
			last if !kill(0, $postmaster) && !grep { is_running($_) } @pids;
			usleep(10_000);
		}
	}
	else
	{
		kill 'KILL', query("SELECT pid FROM pg_stat_activity WHERE $victim LIMIT 1");
	}
	finish_sql($caller);
	eval { $keeper->quit };
	$node->start if $victim eq 'postmaster';
	ok(is_up($before), "$victim killed: the server is up again");
	is(query("SELECT state FROM bench.set_summary WHERE set_id = $set"), 'lost', "$victim killed: the set is lost");
	# Several sessions resume at the same time.
	my @sessions = map { start_sql($node, "SELECT * FROM bench.resume($set)") } 1 .. 3;
	my @outcomes = map { join ' ', (finish_sql($_))[0, 1] } @sessions;
	is((grep { /^$set\|compare\|6\|/ } @outcomes), 1, "$victim killed: one session resumes the set") || diag(explain(\@outcomes));
	is((grep { /ERROR:  (?:55006: set $set is in progress|22023: set $set is complete)/ } @outcomes), 2, "$victim killed: the others do not");
	is(query("SELECT state, finished_runs FROM bench.set_summary WHERE set_id = $set"), 'finished|6', "$victim killed: all runs are made");
	is(query("SELECT string_agg(arm || runs, ',') FROM bench.arms($set)"), 'a2,b2', "$victim killed: they count");
	is(query("SELECT count(*), count(DISTINCT (arm, round)) FROM bench.runs WHERE set_id = $set AND state = 'finished'"), '6|6', "$victim killed: each once");
	is(query("SELECT count(*) FROM bench.runs WHERE set_id = $set AND teardown_due"), 0, "$victim killed: no teardown is left");
	is(query("SELECT to_regclass('made') IS NULL"), 't', "$victim killed: nothing is left");
}

# The extension is dropped, and created again, in the middle.
foreach my $again ('', '; CREATE EXTENSION pg_selfbench')
{
	foreach my $sql ($compare, $compare =~ s/'gate'/'late'/r, q(SELECT * FROM bench.sweep('{"clients": [1, 2]}', scripts => 'gate', repeats => 1, transactions => 1)),
		q(SELECT * FROM bench.sweep('{"clients": [1, 2]}', scripts => 'late', repeats => 1, transactions => 1)),
		q(SELECT * FROM bench.find_capacity(1000, scripts => 'late', duration => '200 ms')),
		"SELECT * FROM bench.run('gate', transactions => 1, teardown => 'DROP TABLE IF EXISTS made')")
	{
		my $name = 'extension dropped' . ($again && ' and created') . ': ' . ($sql =~ /bench\.(\w+)/)[0];
		my ($caller, $keeper) = at_gate($sql);
		my $dropper = start_sql($node, "DROP EXTENSION pg_selfbench$again", name => 'dropper');
		# It may have to wait for the caller or for the coordinator.
		wait_for($node, "SELECT count(*) = 0 OR bool_or(wait_event_type = 'Lock') FROM pg_stat_activity WHERE application_name = 'dropper'");
		$keeper->query_safe('SELECT pg_advisory_unlock(1)');
		$keeper->quit;
		my ($stdout, $stderr) = finish_sql($caller);
		my (undef, $of_dropper) = finish_sql($dropper);
		unlike("$stderr$of_dropper", qr/timed out|XX000|server closed the connection|panicked/, "$name: the session is told");
		like($stderr, qr/ERROR:  42704: extension "pg_selfbench" was dropped or re-created/, "$name: it says so");
		unlike($stderr, qr/bench\.resume|end of the set|WARNING|arm "|re-created.*re-created/s, "$name: and no more of the set") if $sql !~ /bench\.run/;
		is(query('SELECT (SELECT count(*) FROM bench.runs), (SELECT count(*) FROM bench.sets)'), '0|0', "$name: nothing is stored in the new tables")
		  if $again;
		ok(wait_until_quiet($node), "$name: no process is left");
		query("CREATE EXTENSION IF NOT EXISTS pg_selfbench; $scripts; SELECT bench.grant_to('plain')");
		query('DROP TABLE IF EXISTS made');
		is(query("SELECT state FROM bench.run('one', transactions => 1)"), 'finished', "$name: the next run works");
	}
}

# A run of a dropped extension does not end as the run of the new one that has the same number.
query('DROP EXTENSION pg_selfbench');
query("CREATE EXTENSION pg_selfbench; $scripts");
{
	my ($starter, $keeper) = at_gate("SELECT bench.start('gate', transactions => 1, label => 'old', teardown => 'SELECT 1')");
	is((finish_sql($starter))[0], 1, 'number of the run of the old extension');
	my $log = -s $node->logfile;
	query('DROP EXTENSION pg_selfbench');
	query("CREATE EXTENSION pg_selfbench; $scripts; SELECT bench.grant_to('plain')");
	is(query("SELECT run_id FROM bench.run('one', transactions => 2, label => 'new', teardown => 'DROP TABLE not_there')"), 1, 'the run of the new one has the same');
	ok(wait_until_quiet($node), 'the old run ends by itself');
	$keeper->quit;
	is(query('SELECT label, state, transactions, teardown_due, cardinality(errors) FROM bench.runs'), 'new|finished|2|t|2', 'the row is that of the new run');
	is(query('SELECT name FROM bench.run_scripts'), 'one', 'and so is the script');
	like(substr(slurp_file($node->logfile), $log), qr/run 1 of pg_selfbench: results could not be stored: extension "pg_selfbench" was dropped or re-created/,
		'the log tells of the old run');
	query('SELECT bench.finish_teardown(1, give_up => true)');
}

# Arms that always fail: no run was made, and the error says why.
query('SELECT bench.initialize()');
my ($caller, $keeper) = at_gate(q(SELECT * FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'select-only', repeats => 3, transactions => 1, setup => 'SELECT pg_advisory_xact_lock_shared(1)')));
my $set = latest();
signal_sql($caller, 'INT');
finish_sql($caller);
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$keeper->quit;
query('DROP TABLE pgbench_accounts');
like(complaints("SELECT * FROM bench.resume($set)"), qr/ERROR:  42P01: relation "pgbench_accounts" does not exist/, 'a table is missing');
is(query("SELECT state, error ~ 'pgbench_accounts', finished_runs FROM bench.set_summary WHERE set_id = $set"), 'failed|t|0', 'the state of the set');
query('SELECT bench.initialize()');
my $stderr;
is(query("SELECT set_id, kind, made_runs FROM bench.resume($set)"), "$set|compare|8", 'it can be resumed when the table is there');

# A run that is aborted: an error without a transaction, else a warning; each text is told once.
query(q{SELECT bench.define_script('half', E'\\\\if :client_id = 0\nSELECT * FROM not_there;\n\\\\else\nSELECT 1;\n\\\\endif')});
my %calls = (
	'run' => q{SELECT state FROM bench.run('%s', clients => %s, transactions => 1)},
	'start' => q{SELECT state FROM bench.wait(bench.start('%s', clients => %s, transactions => 1))},
	'compare' => q{SELECT count(*) FROM bench.compare('[{"name": "a"}]', scripts => '%s', clients => %s, repeats => 1, transactions => 1, warmup => 0)},
	'sweep' => q{SELECT count(*) FROM bench.sweep('{"max_tries": [1]}', scripts => '%s', clients => %s, repeats => 1, transactions => 1)},
	'find_capacity' => q{SELECT count(*) FROM bench.find_capacity(10, scripts => '%s', clients => %s, duration => '500 ms')},);
my $text = qr/relation "not_there" does not exist/;
my $once_ok = sub {
	my ($told, $name) = @_;
	is((() = $told =~ /$text/g), 1, "$name: told once") || diag($told);
};
foreach my $function (sort keys %calls)
{
	my $told = complaints(sprintf $calls{$function}, 'missing', 1);
	like($told, qr/ERROR:  57000: no client could finish a transaction\nDETAIL:  .*$text/, "$function: no transaction");
	unlike($told, qr/WARNING/, "$function: no warning");
	$once_ok->($told, "$function: no transaction");
	$told = complaints(sprintf $calls{$function}, 'half', 2);
	like($told, qr/WARNING:  57000: run was aborted for 1 of 2 clients; its results are incomplete\nDETAIL:  .*$text/, "$function: a transaction");
	next if $function ne 'find_capacity';
	my $incomplete = qr/ERROR:  57000: run \d+ of the search is not complete\nDETAIL:  1 of 2 clients were aborted\./;
	like($told, $incomplete, 'a search needs all clients');
	$once_ok->($told, 'a search');
	$set = latest();
	like(complaints("SELECT * FROM bench.resume($set)"), $incomplete, 'a search that cannot be resumed');
}
query(sprintf $calls{compare}, 'missing', 1);
$set = latest();
$stderr = complaints("SELECT * FROM bench.resume($set)");
like($stderr, qr/ERROR:  57000: no client could finish a transaction/, 'resume: no transaction');
$once_ok->($stderr, 'resume');
my ($report) = query(q{SELECT bench.pgbench('-n -t 1 -f missing')});
like($report, qr/number of transactions actually processed: 0\/1/, 'bench.pgbench has its report') || diag($report);

# Very many arms.
my $sets = query('SELECT count(*) FROM bench.sets');
like(complaints(q(SELECT * FROM bench.compare((SELECT jsonb_agg(jsonb_build_object('name', i)) FROM generate_series(1, 10000) i), scripts => 'one', transactions => 1))),
	qr/ERROR:  22023: invalid value for option "arms": 10000 arms\nDETAIL:  .*At most 100 arms/, '10,000 arms');
is(query('SELECT count(*) FROM bench.sets'), $sets, 'nothing has run');

# What a run has written is vacuumed before the next one, by those who may.
my $writes = q(SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'postgres.write', repeats => 1, transactions => 5));
$stderr = complaints($writes);
unlike($stderr, qr/vacuum/, 'who may vacuum');
is(query(q(SELECT count(*) FILTER (WHERE last_vacuum_before IS NOT NULL), count(*) FROM bench.run_tables t JOIN bench.runs r USING (run_id)
	WHERE t.name = 'tally' AND r.set_id = (SELECT max(set_id) FROM bench.sets))), '3|4', 'vacuumed before all runs but the first');
$stderr = complaints($writes, user => 'plain');
is((my @told = $stderr =~ /NOTICE:  .*tables are not vacuumed between runs\nDETAIL:  .*may not vacuum public\.tally\./g), 1, 'who may not is told once') || diag($stderr);
unlike($stderr, qr/ERROR|WARNING/, 'and the set goes on');

# The extension is dropped while tables are loaded.
$keeper = $node->background_psql('postgres');
$keeper->query_safe('BEGIN; LOCK TABLE pgbench_tellers');
$caller = start_sql($node, 'SELECT * FROM bench.initialize()', name => 'caller');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'pgbench_tellers'::regclass AND NOT granted");
query('DROP EXTENSION pg_selfbench');
$keeper->query_safe('COMMIT');
$keeper->quit;
(undef, $stderr) = finish_sql($caller);
like($stderr, qr/ERROR:  42704: extension "pg_selfbench" was dropped or re-created/, 'extension dropped: initialize');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
