# Random ends: one process of a run or of an initialization is ended at a random
# moment, or a run's log has no space.  Two seconds later nothing of it is left: no
# process, no connection, no worker slot, no shared memory.
#
# SEED=1  another sequence of endings; COUNT= how many there are
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(sleep time);

my $seed  = $ENV{SEED}  // 1;
my $count = $ENV{COUNT} // 20;
srand $seed;
note "SEED=$seed COUNT=$count";

# A machine that is busy with other tests gets more time; what is left after how long is printed.
my $limit = $ENV{LIMIT} // 2 + $PostgreSQL::Test::Utils::timeout_default / 10;

# Shared memory as files of the data directory, so that left-over segments show.
my $node = new_bench_node('soak',
	"fsync = off\ndynamic_shared_memory_type = mmap\nmax_worker_processes = 12\n");
$node->safe_psql('postgres', q(SELECT bench.initialize(scale => 2), bench.initialize('tpcc', scale => 1)));
$node->safe_psql('postgres', <<'SQL');
SELECT bench.define_script('fails', E'SELECT 1 / 0;'),
       bench.define_script('sleeps', E'SELECT pg_sleep(100);');
SQL

# One session that looks, so that looking takes no connection.
my $watcher = $node->background_psql('postgres', timeout => 3600);
my $quiet   = <<'SQL';
SELECT count(*) FROM pg_stat_activity
 WHERE backend_type LIKE 'pg_selfbench%' OR application_name IN ('pg_selfbench', 'soak')
SQL
my $segments = segments();

sub segments
{
	my @files = glob($node->data_dir . '/pg_dynshmem/mmap.*');
	return scalar @files;
}

sub one_of { return $_[ int rand @_ ] }

my %kinds = (
	'spi'      => "clients => 3, duration => '60 s', vacuum => 'none', mode => 'spi'",
	'libpq'    => "clients => 3, duration => '60 s', vacuum => 'none', mode => 'libpq', jobs => 2",
	'backends' => "clients => 3, duration => '60 s', vacuum => 'none', client_process => 'backend'",
	'vacuum'   => "clients => 3, duration => '60 s'",
	'log'      => "clients => 3, duration => '60 s', vacuum => 'none', log => true",
	'tpcc'     => "scripts => 'tpcc', clients => 3, duration => '60 s', mode => 'libpq'",
	'tpcc-procedures' => "scripts => 'tpcc-procedures', clients => 3, duration => '60 s'",
	'messages' =>
	  "scripts => 'fails', clients => 2, duration => '60 s', vacuum => 'none', continue_on_error => true, verbose_errors => true",
	'sleeping' => "scripts => 'sleeps', clients => 2, duration => '60 s', vacuum => 'none'");
my @kinds = sort keys %kinds;

# What can be ended, and how.
my %processes = (
	# A request to cancel that comes before the statement is void.
	caller      => "application_name = 'soak' AND state = 'active' AND query LIKE '%FROM bench.%'",
	coordinator => "backend_type = 'pg_selfbench coordinator'",
	client      => "backend_type ~ '^pg_selfbench (spi|libpq) client' OR query LIKE 'CALL bench_internal.spi_client%'",
	loader      => "backend_type = 'pg_selfbench loader'",
	'page worker' => "backend_type = 'pg_selfbench page worker'");

my %left_after;
foreach my $number (1 .. $count)
{
	my $initializes = rand() < 0.25;
	my $kind        = $initializes ? 'initialize' : one_of(@kinds);
	my $victim =
	  $initializes ? one_of('caller', 'loader', 'page worker') : one_of('caller', 'caller', 'coordinator', 'client');
	my $how = one_of(qw(pg_terminate_backend pg_cancel_backend TERM));
	($victim, $how) = ('psql', 'KILL')      if $victim eq 'caller' && rand() < 0.5;
	($victim, $how) = ('log',  'disk full') if $kind eq 'log'      && rand() < 0.5;
	# A client's statement that is canceled ends no run.
	$how = 'pg_terminate_backend' if $victim eq 'client' && $how eq 'pg_cancel_backend';
	my $moment = sprintf '%.3f', rand() * rand() * 1.5;
	my $name   = "$number: $kind, $victim, $how after $moment s";

	my $sql = $initializes ? 'bench.initialize(scale => 300, workers => 3)' : "bench.run($kinds{$kind})";
	my $caller = start_sql(
		$node,
		"SET client_connection_check_interval = '50 ms'; SET client_min_messages = warning; SELECT * FROM $sql",
		name => 'soak');
	sleep $moment;
	my $struck = 1;
	if ($how eq 'KILL') { signal_sql($caller, 'KILL') }
	elsif ($how eq 'disk full')
	{
		$watcher->query_safe('ALTER TABLE bench.transactions ADD CONSTRAINT disk_full CHECK (false) NOT VALID');
	}
	else
	{
		my $condition = "($processes{$victim}) AND pid <> pg_backend_pid()";
		# The process may come a little later.
		foreach (1 .. 100)
		{
			my $found = $watcher->query_safe(
				"SELECT pid FROM pg_stat_activity WHERE $condition ORDER BY random() LIMIT 1");
			$struck = $found =~ /^\d+$/;
			if ($struck)
			{
				if ($how eq 'TERM') { $struck = kill 'TERM', $found }
				else { $struck = $watcher->query_safe("SELECT $how($found)") eq 't' }
			}
			last if $struck;
			sleep 0.02;
		}
	}
	my $begin = time;
	# Nothing happens to a log before there is something to store; then, what is left ends by itself.
	if ($how eq 'disk full' || !$struck)
	{
		signal_sql($caller, 'INT');
	}
	my $left;
	do
	{
		$left = join ' ', $watcher->query_safe($quiet), segments() - $segments;
		sleep 0.01 if $left ne '0 0';
	} while ($left ne '0 0' && time - $begin < $limit);
	my $seconds = time - $begin;
	is($left, '0 0', "$name: nothing is left") or diag $watcher->query_safe(
		'SELECT pid, backend_type, application_name, state, wait_event, query FROM pg_stat_activity');
	push @{ $left_after{ "$victim, $how" } }, $seconds;
	signal_sql($caller, 'KILL') if $left ne '0 0';
	finish_sql($caller);
	$watcher->query_safe('ALTER TABLE bench.transactions DROP CONSTRAINT disk_full')
	  if $how eq 'disk full';
	if ($initializes)
	{
		$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');
	}
}
$watcher->quit;

foreach my $what (sort keys %left_after)
{
	my @seconds = sort { $a <=> $b } @{ $left_after{$what} };
	note sprintf '%-32s %4d endings, nothing left after %.2f s (median), %.2f s (longest)', $what,
	  scalar @seconds, $seconds[ @seconds / 2 ], $seconds[-1];
}
my @all = sort { $a <=> $b } map { @$_ } values %left_after;
note sprintf '%d endings: median %.2f s, 95 %% %.2f s, longest %.2f s; %d took more than 2 s',
  scalar @all, $all[ @all / 2 ], $all[ @all * 0.95 ], $all[-1], scalar grep { $_ > 2 } @all;

# All slots and connections are free, and everything is whole.
is($node->safe_psql('postgres', "SELECT state FROM bench.run('select-only', clients => 10, transactions => 5, client_process => 'worker')"),
	'finished', 'all worker slots are free');
next_run_ok($node, 'at the end');
is($node->safe_psql('postgres', "SELECT string_agg(condition, ', ') FROM bench.check_workload('tpcc') WHERE NOT holds"),
	'', 'the rows of a workload are right');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
