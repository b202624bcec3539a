# Random ends: one process of a run or of an initialization is ended at a random
# moment, or a run's log has no space.  Two seconds later nothing of it is left: no
# process, no connection, no worker slot, no shared memory.  After an ending of a run of a workload,
# the conditions on its rows hold.
#
# SEED=1  another sequence of endings; COUNT= how many there are, MIX_COUNT= how many for each mix
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(sleep time);

my $seed  = $ENV{SEED}  // 1;
my $count = $ENV{COUNT} // 10;
my $mix_count = $ENV{MIX_COUNT} // 1;
srand $seed;
note "SEED=$seed COUNT=$count MIX_COUNT=$mix_count";

# A machine that is busy with other tests gets more time; what is left after how long is printed.
my $limit = $ENV{LIMIT} // 2 + $PostgreSQL::Test::Utils::timeout_default / 10;

# Shared memory as files of the data directory, so that left-over segments show.
my $node = new_bench_node('soak',
	"fsync = off\ndynamic_shared_memory_type = mmap\nmax_worker_processes = 12\n");
$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT bench.initialize('$_', scale => 2)") foreach qw(pgbench tpcc sysbench ycsb);
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

# Ends a call of that kind at a random moment, or one of its processes; returns what was done.
sub end_at_random
{
	my ($number, $kind, $sql, @victims) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $victim = one_of(@victims);
	my $how    = one_of(qw(pg_terminate_backend pg_cancel_backend TERM));
	($victim, $how) = ('psql', 'KILL')      if $victim eq 'caller' && rand() < 0.5;
	($victim, $how) = ('log',  'disk full') if $kind eq 'log'      && rand() < 0.5;
	# A client's statement that is canceled ends no run.
	$how = 'pg_terminate_backend' if $victim eq 'client' && $how eq 'pg_cancel_backend';
	my $moment = sprintf '%.3f', rand() * rand() * 1.5;
	my $name   = "$number: $kind, $victim, $how after $moment s";

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
	return $name;
}

my @of_run = qw(caller caller coordinator client);
foreach my $number (1 .. $count)
{
	if (rand() < 0.25)
	{
		end_at_random($number, 'initialize', 'bench.initialize(scale => 300, workers => 3)', 'caller', 'loader', 'page worker');
		$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');
	}
	else
	{
		my $kind = one_of(@kinds);
		end_at_random($number, $kind, "bench.run($kinds{$kind})", @of_run);
	}
}

# Each mix of the library, in one of the two modes.
foreach my $mix (split /\n/, $node->safe_psql('postgres', 'SELECT mix FROM bench.workloads WHERE mix IS NOT NULL ORDER BY family, mix'))
{
	my ($run, $right) = ($node->safe_psql('postgres', 'SELECT last_value FROM bench.run_id_seq'), 0);
	foreach my $number (1 .. $mix_count)
	{
		my $mode = one_of('spi', 'libpq');
		my $name = end_at_random($number, "$mix, $mode", "bench.run('$mix', clients => 3, duration => '60 s', mode => '$mode')", @of_run);
		$right += is($node->safe_psql('postgres', "SELECT string_agg(condition, ', ') FROM bench.check_workload('$mix') WHERE NOT holds"),
			'', "$name: the conditions hold");
	}
	note sprintf '%-24s conditions hold after %d of %d endings, %s transactions', $mix, $right, $mix_count,
	  $node->safe_psql('postgres', "SELECT coalesce(sum(transactions), 0) FROM bench.runs WHERE run_id > $run");
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
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
