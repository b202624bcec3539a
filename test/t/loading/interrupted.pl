# bench.initialize, ended in each of its steps: it ends, the step is rolled back,
# no process or lock is left, and a second call succeeds.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('cancel_initialize');
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 1)');

# What the loader says it does in each step.
my %activity = (
	d => 'dropping tables',
	t => 'creating tables',
	g => 'generating data',
	v => 'vacuum',
	p => 'primary keys',
	f => 'foreign keys');

# Each step, with the SQL of another session that keeps it waiting, or the
# condition that it is under way.
my $loader = "backend_type = 'pg_selfbench loader'";
my @steps  = (
	[ 'd', 'dtgvp', 'LOCK TABLE pgbench_accounts IN ACCESS SHARE MODE' ],
	[ 't', 'dtgvp', 'CREATE TABLE pgbench_accounts ()' ],
	[ 'g waits', 'g', 'LOCK TABLE pgbench_history IN ACCESS SHARE MODE' ],
	[   'g copies', 'g', undef,
		"SELECT count(*) > 0 FROM pg_stat_progress_copy WHERE relid = 'pgbench_accounts'::regclass AND tuples_processed > 0"
	],
	[   'G', 'G', undef,
		"SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE $loader AND query = 'initialize: generating data' AND mode = 'RowExclusiveLock' AND relation = 'pgbench_accounts'::regclass"
	],
	[ 'v', 'v', 'LOCK TABLE pgbench_history IN SHARE UPDATE EXCLUSIVE MODE' ],
	[ 'p', 'p', 'LOCK TABLE pgbench_branches IN ACCESS SHARE MODE' ],
	[ 'f', 'f', 'LOCK TABLE pgbench_tellers IN ROW EXCLUSIVE MODE' ]);

my %ways = (
	pg_cancel_backend => [
		"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'",
		qr/ERROR:  57014: canceling statement due to user request/
	],
	pg_terminate_backend => [
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'",
		qr/FATAL:  57P01: terminating connection/
	],
	'loader canceled' => [
		"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE $loader",
		qr/ERROR:  57014: canceling statement due to user request/
	],
	'loader terminated' => [
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $loader",
		qr/ERROR:  57014: .*loader was terminated/
	]);

# The state of the tables: their numbers of rows, and the keys.
sub tables
{
	return $node->safe_psql('postgres', <<'SQL');
SELECT format('SELECT %L, count(*) FROM %s', relname, oid::regclass)
  FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind = 'r' ORDER BY relname \gexec
SELECT conname FROM pg_constraint
 WHERE conrelid::regclass::text LIKE 'pgbench%' AND contype <> 'n' ORDER BY 1;
SQL
}

my $initial = tables();

foreach my $step (@steps)
{
	my ($what, $steps, $block, $under_way) = @$step;
	foreach my $way (sort keys %ways)
	{
		# The loader ends in the same way in all waits.
		next if $way =~ /loader/ && $what !~ /^(d|g copies|v)$/;
		my ($end, $error) = @{ $ways{$way} };
		my $name = "$what, $way";
		note "scenario: $name";

		# Keys are created if they are not there.
		if ($what eq 'p' || $what eq 'f')
		{
			$node->safe_psql('postgres', 'SELECT bench.initialize(steps => \''
				  . ($what eq 'p' ? 'dtg' : 'dtgp') . '\')');
		}
		my $before = tables();
		my $locker;
		if ($what eq 't')
		{
			# The tables are gone when this is waited for.
			$node->safe_psql('postgres', 'SELECT bench.initialize(steps => \'dtgvp\')');
			$locker = $node->background_psql('postgres',
				timeout => 3 * $PostgreSQL::Test::Utils::timeout_default);
			$node->safe_psql('postgres',
				'DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history');
			$locker->query_safe('BEGIN');
			$locker->query_safe($block);
		}
		elsif (defined $block)
		{
			$locker = $node->background_psql('postgres',
				timeout => 3 * $PostgreSQL::Test::Utils::timeout_default);
			$locker->query_safe('BEGIN');
			$locker->query_safe($block);
		}
		# What nothing keeps waiting goes on for longer than anything here takes.
		my $scale = defined $block ? 1 : 1000;
		my $caller = start_sql($node,
			"SELECT count(*) FROM bench.initialize(steps => '$steps', scale => $scale, force => true)",
			name => 'caller');
		wait_for($node, $under_way
			  // "SELECT count(*) > 0 FROM pg_stat_activity WHERE $loader AND wait_event_type = 'Lock' AND query = 'initialize: "
			  . $activity{ substr $what, 0, 1 } . "'");
		is($node->safe_psql('postgres', $end), 't', "$name: done to a process that is there");
		my ($stdout, $stderr) = finish_sql($caller);
		like($stderr, $error, "$name: the caller's error");
		is($stdout, '', "$name: no result");
		ok(wait_until_quiet($node), "$name: no process is left");
		if ($locker)
		{
			$locker->query_safe('ROLLBACK');
			$locker->quit;
		}
		nothing_left_ok($node, $name);
		if   ($what eq 't') { is(tables(), 'pgbench_history|0
pgbench_tellers|0', "$name: only what had been created is there") }
		else { is(tables(), $before, "$name: tables are as they were before") }

		is( $node->safe_psql('postgres', 'SELECT count(*) FROM bench.initialize()'),
			5, "$name: a second initialization succeeds");
		is(tables(), $initial, "$name: its tables");
	}
}

# statement_timeout of the caller.
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"SET statement_timeout = '500 ms'; SELECT count(*) FROM bench.initialize(scale => 200)");
like($stderr, qr/canceling statement due to statement timeout/, 'statement_timeout ends it');
nothing_left_ok($node, 'statement_timeout');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.initialize()'),
	5, 'statement_timeout: a second initialization succeeds');

# DROP DATABASE ... WITH (FORCE), in a load and in a run of each mode.
foreach my $what ("bench.initialize(scale => 500)", "bench.initialize('ycsb', 500)",
	map { "bench.run(mode => '$_', clients => 2, duration => '10 min')" } qw(spi libpq))
{
	$node->safe_psql('postgres', 'CREATE DATABASE dropped');
	$node->safe_psql('dropped', 'CREATE EXTENSION pg_selfbench; SELECT bench.initialize()');
	my $caller = start_sql($node, "SELECT $what", database => 'dropped');
	wait_for($node, $what =~ /initialize/
		? "SELECT count(*) > 0 FROM pg_stat_activity WHERE $loader AND query ~ 'generating data'"
		: "SELECT pg_stat_get_db_xact_commit(oid) > 100 FROM pg_database WHERE datname = 'dropped'");
	is(($node->psql('postgres', 'DROP DATABASE dropped WITH (FORCE)'))[2], '', "DROP DATABASE: $what");
	my (undef, $error) = finish_sql($caller);
	like($error, qr/FATAL:  57P01: terminating connection/, "DROP DATABASE: $what: the caller's error");
	nothing_left_ok($node, "DROP DATABASE: $what");
}
is(slurp_file($node->logfile) =~ /PANIC|TRAP|terminated by signal/, '', 'no crash');

$node->stop;
done_testing();
