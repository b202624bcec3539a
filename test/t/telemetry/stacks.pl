# Flame graphs: the stacks of runs with profile.  A library of this test has functions that spin:
# one that the library exports, a static one, and one that calls itself.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('main', <<'CONF');
fsync = off
max_worker_processes = 20
CONF

# The library, stripped, so that the names of its static functions are gone.
my $source = $PostgreSQL::Test::Utils::tmp_check . '/spinning.c';
my $library = $PostgreSQL::Test::Utils::tmp_check . '/spinning.so';
open my $file, '>', $source or die $!;
print $file <<'C';
#include "postgres.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

static volatile uint64 sink;

static pg_noinline void
spin(uint64 turns)
{
	for (uint64 i = 0; i < turns; i++)
		sink += i;
}

extern PGDLLEXPORT void spinning_exported(uint64 turns);
extern PGDLLEXPORT void spinning_nested(uint64 turns, int depth);

pg_noinline void
spinning_exported(uint64 turns)
{
	for (uint64 i = 0; i < turns; i++)
		sink += i;
}

pg_noinline void
spinning_nested(uint64 turns, int depth)
{
	if (depth > 0)
		spinning_nested(turns, depth - 1);
	else
		spin(turns);
	sink++;
}

PG_FUNCTION_INFO_V1(spin_exported);
Datum
spin_exported(PG_FUNCTION_ARGS)
{
	spinning_exported(PG_GETARG_INT64(0));
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(spin_nested);
Datum
spin_nested(PG_FUNCTION_ARGS)
{
	spinning_nested(PG_GETARG_INT64(0), PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}
C
close $file;
my $config = $node->config_data('--includedir-server');
my ($cc) = grep { !system("command -v $_ >/dev/null 2>&1") } qw(cc gcc clang);
plan skip_all => 'there is no C compiler' if !defined $cc;
system_or_bail($cc, qw(-O1 -fPIC -shared -s -I), $config, '-o', $library, $source);

$node->safe_psql('postgres', <<SQL);
CREATE FUNCTION spin_exported(bigint) RETURNS void LANGUAGE c PARALLEL SAFE AS '$library';
CREATE FUNCTION spin_nested(bigint, int) RETURNS void LANGUAGE c AS '$library';
SELECT bench.define_script('exported', 'SELECT spin_exported(20000000);'),
       bench.define_script('static', 'SELECT spin_nested(10000000, 3);'),
       bench.define_script('deep', 'SELECT spin_nested(10000000, 300);'),
       bench.define_script('between', E'\\\\shell true\nSELECT spin_exported(5000000);'),
       bench.define_script('one', 'SELECT 1;');
SQL

sub sql { return $node->safe_psql('postgres', $_[0]) }

# Runs with a profile, and returns the id.
sub profiled
{
	my ($arguments) = @_;
	my ($id, $state) = split /\|/,
	  sql("SELECT run_id, state FROM bench.run($arguments, profile => true)");
	is($state, 'finished', "run($arguments)");
	return $id;
}

# What a run says of stacks that are not sampled.
sub notes
{
	return sql("SELECT note FROM bench.runs, unnest(notes) note WHERE run_id = $_[0] AND note LIKE '%stacks%'");
}

# The kinds of processes that were sampled.
sub sampled
{
	return sql("SELECT string_agg(process, ', ' ORDER BY process) FROM bench.run_profiles WHERE run_id = $_[0] AND sampled");
}

# An exported function is at the top with its name, complete down to the root.
my %serves = (spi => 'spi client', libpq => 'client backend');
foreach my $mode (qw(spi libpq))
{
	# What a session does first, such as loading libraries and catalogs, belongs to the warm-up.
	# A coordinator that stands still for a moment loses samples.
	my $run;
	in_time_ok("$mode: all samples", sub {
		$run = profiled("'exported', mode => '$mode', clients => 2, warmup => '1 s', transactions => 100");
		return sql("SELECT sum(lost) FROM bench.run_profiles WHERE run_id = $run") eq '0';
	});
	my $process = "run_id = $run AND process = '$serves{$mode}'";
	is( sql("SELECT function FROM bench.top_functions($run) WHERE process = '$serves{$mode}' LIMIT 1"),
		'spinning_exported [spinning.so]', "$mode: the function that spins is first");
	is( sql("SELECT self_share > 0.8 AND total_share >= self_share FROM bench.top_functions($run)
	          WHERE process = '$serves{$mode}' AND function = 'spinning_exported [spinning.so]'"),
		't', "$mode: with most samples");
	# Before PostgreSQL 16, the postmaster starts workers in a signal handler.
	my $path =
	  $mode eq 'spi' ? '%pg_selfbench_spi_client_main%' : '%;PostmasterMain;%;PostgresMain;%';
	is( sql("SELECT sum(samples) FILTER (WHERE stack LIKE '$path;spin_exported [spinning.so];spinning_exported [spinning.so]')
	                > 0.8 * sum(samples)
	           FROM bench.run_stacks WHERE $process"),
		't', "$mode: below its callers");
	is( sql("SELECT sampled, processes, samples > 20, incomplete < 0.05 * samples, lost, cpu_ms = (samples + lost) * 5,
	                cost_ms > 0 AND cost_ms < cpu_ms
	           FROM bench.run_profiles WHERE $process"),
		't|2|t|t|0|t|t', "$mode: most stacks are complete");
	is( sql("SELECT count(*) FROM bench.run_profiles p
	          WHERE run_id = $run AND sampled AND samples IS DISTINCT FROM
	                (SELECT coalesce(sum(s.samples), 0) FROM bench.run_stacks s
	                  WHERE s.run_id = p.run_id AND s.process = p.process)"),
		'0', "$mode: the stacks are those that were sampled");
	is( sql("SELECT count(*) FROM bench.run_profiles p
	          WHERE run_id = $run AND samples > 0 AND samples <>
	                (SELECT sum(self_samples) FROM bench.top_functions($run) f WHERE f.process = p.process)"),
		'0', "$mode: each sample has a function");
	is(notes($run), '', "$mode: no notes of stacks");

	# Between two commands of the shell, less CPU time passes than between two samples. It is the client's
	# process that starts them.
	in_time_ok("$mode: samples of a process that runs commands of the shell", sub {
		$run = profiled("'between', mode => '$mode', transactions => 100 * $_[0]");
		return sql("SELECT sum(samples) >= 10 FROM bench.run_profiles WHERE run_id = $run AND process = '$mode client'") eq 't';
	});
}
is( sql(q{SELECT string_agg(process, ', ' ORDER BY process) FROM bench.run_profiles
           WHERE sampled AND run_id = (SELECT max(run_id) FROM bench.runs)}),
	'client backend, libpq client', 'mode libpq: the workers of clients are sampled, too');

# In the statement that runs it, too.
is( sql(q{SELECT f.function FROM bench.run('exported', transactions => 100, profile => true) r, bench.top_functions(r.run_id) f LIMIT 1}),
	'spinning_exported [spinning.so]', 'the profile of a run in the same statement');

# Functions without a name get none; a function that calls itself counts once.
my $run = profiled(q{'static', transactions => 100});
is( sql("SELECT function, self_share > 0.8 FROM bench.top_functions($run) LIMIT 1"),
	'[static in spinning.so]|t', 'a static function of a stripped library');
is( sql("SELECT bool_and(stack LIKE '%;spin_nested [spinning.so]' || repeat(';spinning_nested [spinning.so]', 4) || ';[static in spinning.so]')
           FROM (SELECT stack FROM bench.run_stacks WHERE run_id = $run ORDER BY samples DESC LIMIT 1) s"),
	't', 'in its place');
is(sql("SELECT total_share <= 1 FROM bench.top_functions($run) WHERE function = 'spinning_nested [spinning.so]'"),
	't', 'calls of a function by itself count once');

# Of deep stacks, the frames of the root are missing, and that is said.
$run = profiled(q{'deep', transactions => 100});
is( sql("SELECT stack LIKE '[truncated];spinning_nested [spinning.so];%;[static in spinning.so]'
           FROM bench.run_stacks WHERE run_id = $run ORDER BY samples DESC LIMIT 1"),
	't', 'a stack that is too deep');
is(sql("SELECT incomplete > 0.8 * samples FROM bench.run_profiles WHERE run_id = $run AND sampled"), 't', 'is incomplete');

# Samples for which there was no room are lost, and stand for CPU time, too.
in_time_ok('lost samples', sub {
	my ($seconds) = @_;
	$run = sql("SELECT bench.start('deep', duration => '1 h', profile => true, label => 'lost')");
	wait_for_transactions($node, 'lost');
	my $coordinator = sql("SELECT coordinator_pid FROM bench.runs WHERE run_id = $run");
	my $enough = 20 * $seconds + sql("SELECT transactions FROM bench.progress WHERE run_id = $run");
	kill 'STOP', $coordinator;
	wait_for($node, "SELECT transactions > $enough FROM bench.progress WHERE run_id = $run");
	kill 'CONT', $coordinator;
	sql("SELECT bench.cancel($run); SELECT FROM bench.wait($run)");
	return sql("SELECT lost > 0 FROM bench.run_profiles WHERE run_id = $run AND sampled") eq 't';
});
is(sql("SELECT cpu_ms = (samples + lost) * 5 FROM bench.run_profiles WHERE run_id = $run AND sampled"), 't', 'are CPU time');

# Nothing is sampled unless requested.
sql(q{SELECT bench.run('exported', transactions => 20)});
is( sql(q{SELECT (SELECT count(*) FROM bench.run_stacks s WHERE s.run_id = r.run_id),
                 (SELECT count(*) FROM bench.run_profiles p WHERE p.run_id = r.run_id),
                 (SELECT count(*) FROM bench.top_functions(r.run_id))
            FROM (SELECT max(run_id) AS run_id FROM bench.runs) r}),
	'0|0|0', 'no profile without the option');

# Sessions that are not sampled.
$run = profiled(q{'exported', mode => 'libpq', reconnect => true, transactions => 20});
is(notes($run), 'the stacks of sessions with one transaction each are not sampled', 'connections of single transactions');
is(sampled($run), 'libpq client', 'their workers are sampled');
my $target = "host=" . $node->host . " port=" . $node->port . " dbname=postgres";
$run = profiled("'exported', mode => 'libpq', transactions => 20, target => '$target'");
is( notes($run),
	"the stacks of the target's sessions are not sampled: they are processes of another server",
	'a target');
is(sampled($run), 'libpq client', 'its clients are sampled');

# Children of a sampled process get no signals: they would die of the first.
sql(q{SELECT bench.define_script('shell',
	E'SELECT spin_exported(5000000);\n\\\\shell i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done')});
$run = profiled(q{'shell', transactions => 5});
is(sql("SELECT transactions, failed FROM bench.runs WHERE run_id = $run"), '5|0', 'shell commands run undisturbed');

# Parallel workers are named with their CPU time.
sql(q{CREATE TABLE wide AS SELECT g AS n FROM generate_series(1, 20000) g; ANALYZE wide;
      SELECT bench.define_script('parallel', E'SELECT sum(length(spin_exported(n * 0 + 50000)::text)) FROM wide;')});
my $workers;
in_time_ok('parallel workers', sub {
	$run = sql(qq{SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0;
		SELECT run_id FROM bench.run('parallel', duration => 2 * $_[0], profile => true)});
	$workers = "FROM bench.run_profiles WHERE run_id = $run AND process = 'parallel worker'";
	return sql("SELECT processes >= 2 $workers") eq 't';
});
is(sql("SELECT sampled, cpu_ms > 0, samples $workers"), 'f|t|', 'parallel workers');

like(sql("SELECT bench.report($run)") =~ s/\n    / /gr,
	qr/^profile: 1 spi client, \d+ samples, .* of it for sampling[^\n]*\n(?:profile: 3 io workers not sampled, \d+ ms of CPU time\n)?profile: \d+ parallel workers not sampled, \d+ ms of CPU time$/m,
	'the report names them');
is( sql("SELECT count(*) FROM bench.run_profiles WHERE run_id = $run AND process = 'io worker' AND NOT sampled"),
	$node->pg_version >= 18 ? 1 : 0, 'as those of I/O');

# A role that is not a superuser may profile its own runs, and sees only them.
sql(q{CREATE ROLE tester LOGIN; CREATE ROLE other LOGIN;
      SELECT bench.grant_to('tester'), bench.grant_to('other')});
sub as_role
{
	my ($role, $sql) = @_;
	return $node->safe_psql('postgres', $sql, extra_params => [ '-U', $role ]);
}
as_role('tester', q{SELECT bench.define_script('spin', 'SELECT public.spin_exported(5000000);')});
$run = as_role('tester', q{SELECT run_id FROM bench.run('spin', transactions => 100, profile => true)});
is(as_role('tester', "SELECT function FROM bench.top_functions($run) LIMIT 1"),
	'spinning_exported [spinning.so]', 'a role profiles its run');
my (undef, undef, $unseen) =
  $node->psql('postgres', "SELECT * FROM bench.top_functions($run)", extra_params => [ '-U', 'other' ]);
like($unseen, qr/ERROR:  run $run does not exist/, 'others do not see it');
is( as_role('other', "SELECT count(*) FROM bench.run_stacks WHERE run_id = $run"),
	'0', 'nor its stacks');

# Only a run starts the sampling of a session.
my $refused = qr/ERROR:  no run of the current role waits for a session\nHINT:/;
foreach my $case (
	[ 'SELECT bench_internal.sample_session(1, 1, 1)',    $refused ],
	[ 'SELECT bench_internal.sample_session(-1, -1, -1)', $refused ],
	[ 'SELECT bench_internal.sample_session(NULL, 1, 1)', qr/ERROR:  segment must not be null/ ],
	[ 'SELECT bench_internal.sample_session(1, NULL, 1)', qr/ERROR:  secret must not be null/ ],
	[ 'SELECT bench_internal.sample_session(1, 1, NULL)', qr/ERROR:  client must not be null/ ])
{
	my ($call, $expected) = @$case;
	my (undef, undef, $stderr) = $node->psql('postgres', $call);
	like($stderr, $expected, $call);
}

# One that waits for its sessions does not, without its secret.
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(7)');
my $guarded = start_sql($node,
	q{SELECT state FROM bench.run('one', mode => 'libpq', transactions => 1, profile => true, label => 'guarded',
		setup => 'SELECT pg_advisory_xact_lock(7)')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
my $segment = latest_run($node, 'guarded')->{segment};
like($segment, qr/^\d+$/, 'a run that waits for its setup');
foreach my $secret (0, 1, -1)
{
	my (undef, undef, $stderr) = $node->psql('postgres', "SELECT bench_internal.sample_session($segment, $secret, 0)");
	like($stderr, $refused, "another secret: $secret");
}
$keeper->query_safe('SELECT pg_advisory_unlock(7)');
$keeper->quit;
is((finish_sql($guarded))[0], 'finished', 'and has its own');

# A signal that nothing sent for does no harm to a sampled process.
my $session = start_sql($node,
	q{SELECT state FROM bench.run('exported', mode => 'libpq', clients => 2, duration => '600 s', profile => true, label => 'signals')});
# Enough for some samples.
wait_for($node, "SELECT transactions > 200 FROM bench.progress WHERE label = 'signals'");
my @pids = split /\n/, sql(q{SELECT pid FROM pg_stat_activity
	WHERE backend_type = 'pg_selfbench libpq client'
	   OR backend_type = 'client backend' AND application_name = 'pg_selfbench'});
cmp_ok(scalar @pids, '>=', 3, 'processes to signal');
kill 'PROF', @pids foreach 1 .. 50;
is(sql(q{SELECT bench.cancel(run_id) FROM bench.runs WHERE label = 'signals'}), 't', 'the run goes on');
finish_sql($session);
is(sql(q{SELECT state FROM bench.runs WHERE label = 'signals'}), 'canceled', 'to its end');
is( sql(q{SELECT min(samples) > 0 FROM bench.run_profiles JOIN bench.runs USING (run_id)
           WHERE label = 'signals' AND process = 'client backend'}),
	't', 'a canceled run has its stacks');
wait_until_quiet($node);

# Clients in backends, one after the other.
foreach (1 .. 2)
{
	$run = profiled(q{'exported', client_process => 'backend', transactions => 50});
	is(sql("SELECT process, processes FROM bench.run_profiles WHERE run_id = $run AND sampled"), 'spi client|1', 'a client in a backend');
}

# Stacks as an imported document may have them: deep, and with as many samples as there are numbers, or none.
sql("DELETE FROM bench.run_stacks WHERE run_id = $run; INSERT INTO bench.run_stacks VALUES ($run, 'spi client', 'a' || (SELECT string_agg(';f' || n, '') FROM generate_series(1, 20000) n), 9223372036854775807),
	($run, 'spi client', 'a', 9223372036854775807), ($run, 'libpq client', 'a', 0)");
is(sql("SELECT function, self_samples, self_share, total_samples FROM bench.top_functions($run) WHERE process = 'libpq client' OR function IN ('a', 'f20000')"),
	"a|0||0\na|9223372036854775807|0.5|9223372036854775807\nf20000|9223372036854775807|0.5|9223372036854775807", 'imported stacks');
like(sql("SELECT bench.report($run, 'html')"), qr/<\/html>/, 'and their report');

# Deleted with their runs.
sql("SELECT bench.delete_runs(ARRAY[$run])");
is(sql("SELECT count(*) FROM bench.run_stacks WHERE run_id = $run"), '0', 'stacks of a deleted run');

nothing_left_ok($node, 'after all runs');
done_testing();
