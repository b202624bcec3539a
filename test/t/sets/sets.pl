# Sets of runs: their rows, who sees them, and what cancels, ended sessions and crashes
# leave of them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('sets', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\n");
$node->safe_psql(
	'postgres', q{
	SELECT bench.initialize();
	CREATE ROLE runner LOGIN SUPERUSER;
	CREATE ROLE other LOGIN;
	SELECT bench.grant_to('runner');
	SELECT bench.grant_to('other');
	SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')});

sub query { return $node->safe_psql('postgres', @_); }

# Starts a comparison that waits at the gate in its first run, and returns what
# finish_sql takes, the session that keeps the gate, and the set's ID.
sub gated
{
	my ($label) = @_;

	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe('SELECT pg_advisory_lock(1)');
	my $caller = start_sql($node,
		"SELECT * FROM bench.compare(scripts => 'gate', repeats => 2, transactions => 1, label => '$label')",
		name => 'caller');
	wait_for($node,
		"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted");
	return ($caller, $keeper, query("SELECT set_id FROM bench.sets WHERE label = '$label'"));
}

sub open_gate
{
	my ($keeper) = @_;
	$keeper->query_safe('SELECT pg_advisory_unlock(1)');
	return $keeper->quit;
}

my $shown = 'SELECT s.state, t.state FROM bench.set_summary s JOIN bench.sets t USING (set_id) WHERE set_id =';

# A set that is in progress, and one that has finished.
my ($caller, $keeper, $set_id) = gated('whole');
is(query("$shown $set_id"), 'running|running', 'a set in progress');
open_gate($keeper);
my ($stdout, $stderr) = finish_sql($caller);
is($stderr, '', 'it ends');
is(query("$shown $set_id"), 'finished|finished', 'its state');
is( query("SELECT kind, owner, planned_runs = finished_runs, other_runs, started_at < finished_at, error FROM bench.set_summary WHERE set_id = $set_id"),
	'compare|' . query('SELECT current_user') . '|t|0|t|',
	'its row');
is( query("SELECT count(*) = planned_runs, count(DISTINCT (arm, round)) = planned_runs FROM bench.run_summary JOIN bench.sets USING (set_id) WHERE set_id = $set_id GROUP BY planned_runs"),
	't|t',
	'its runs have their places');

# Canceled by Ctrl-C.
($caller, $keeper, $set_id) = gated('canceled');
signal_sql($caller, 'INT');
($stdout, $stderr) = finish_sql($caller);
like($stderr, qr/ERROR:  57014: canceling statement due to user request/, 'a canceled set');
is(query("$shown $set_id"), 'canceled|canceled', 'its state');
open_gate($keeper);

# The session is terminated.
($caller, $keeper, $set_id) = gated('terminated');
query("SELECT pg_terminate_backend(" . backend_of($node, 'caller') . ')');
($stdout, $stderr) = finish_sql($caller);
like($stderr, qr/FATAL:  57P01/, 'a session that is terminated');
is(query("$shown $set_id"), 'lost|running', 'the state of its set');
open_gate($keeper);
ok(wait_until_quiet($node), 'its run has ended');

# A crash.
($caller, $keeper, $set_id) = gated('crashed');
$node->stop('immediate');
finish_sql($caller);
eval { $keeper->quit };
$node->start;
is(query("$shown $set_id"), 'lost|running', 'the state of a set after a crash');
query("SELECT bench.compare(scripts => 'select-only', repeats => 1, transactions => 1)");
is(query("$shown $set_id"), 'lost|lost', 'the next set marks it');

# Each role sees its own sets.
query("SET ROLE runner; SELECT bench.compare(scripts => 'select-only', repeats => 1, transactions => 1, label => 'of runner')");
is(query("SELECT owner FROM bench.sets WHERE label = 'of runner'"), 'runner', 'whose a set is');
foreach my $table (qw(sets set_summary))
{
	is(query("SELECT count(*) FROM bench.$table", extra_params => [qw(-U other)]),
		0, "$table: no rows of others");
}

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
