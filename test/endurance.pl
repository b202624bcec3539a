# What grows with time, and what must not: a run of each mode for 90 minutes at intervals of 100 ms with all
# that can be observed, then 2,000 short runs of one session. Memory, descriptors, shared memory, temporary files
# and catalogs stay as they are after the first tenth; tables grow with their rows, the server's log by nothing.
# Part of make soak, not of make test.
#
# ENDURANCE_SECONDS=5400 SAMPLE_SECONDS=30 SHORT_RUNS=2000; 0 leaves a part out
# CURVES=  file to which each sample is written: part, seconds or runs, figure, value
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds        = $ENV{ENDURANCE_SECONDS} // 5400;
my $sample_seconds = $ENV{SAMPLE_SECONDS}    // 30;
my $short_runs     = $ENV{SHORT_RUNS}        // 2000;
my $interval_s     = 0.1;
$PostgreSQL::Test::Utils::timeout_default += $seconds + 10 * $short_runs;

# Shared memory as files of the data directory, so that segments can be counted. Autovacuum comes often enough
# for a short test.
my $node = new_bench_node('endurance', <<'CONF');
dynamic_shared_memory_type = mmap
log_statement = none
log_connections = off
log_disconnections = off
max_worker_processes = 24
autovacuum_naptime = '10 s'
CONF
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 5)');
my $curves;
open $curves, '>', $ENV{CURVES} or die "$ENV{CURVES}: $!" if defined $ENV{CURVES};

# Processes by what they are; the largest of a kind counts. Then what the server knows of its tables.
my $processes = <<'SQL';
SELECT CASE WHEN application_name = 'caller' THEN 'caller'
            WHEN backend_type = 'client backend' THEN 'sessions'
            ELSE replace(substr(backend_type, 14), ' ', '_') END, pid
  FROM pg_stat_activity
 WHERE backend_type LIKE 'pg_selfbench %' OR application_name IN ('pg_selfbench', 'caller')
SQL
my $relations = <<'SQL';
SELECT CASE WHEN c.relnamespace = 'bench'::regnamespace THEN 'table ' ELSE 'catalog ' END || c.relname, pg_total_relation_size(c.oid) / 1024
  FROM pg_class c
 WHERE c.relkind = 'r' AND (c.relnamespace = 'bench'::regnamespace OR c.relname IN
       ('pg_class', 'pg_attribute', 'pg_statistic', 'pg_depend', 'pg_shdepend', 'pg_proc', 'pg_type', 'pg_largeobject'))
UNION ALL
SELECT 'dead_rows bench', sum(n_dead_tup) FROM pg_stat_user_tables WHERE schemaname = 'bench'
UNION ALL
SELECT 'dead_rows catalogs', sum(n_dead_tup) FROM pg_stat_sys_tables WHERE schemaname = 'pg_catalog'
UNION ALL
SELECT 'shared_memory taken', (pg_size_bytes(current_setting('shared_memory_size')) - allocated_size) / 1024
  FROM pg_shmem_allocations WHERE name IS NULL
SQL

# Private memory of a process in kB, and its number of open files.
sub memory
{
	my ($pid) = @_;
	my ($kb) = (-r "/proc/$pid/status" ? slurp_file("/proc/$pid/status") : '') =~ /^RssAnon:\s+(\d+)/m;
	my @files = glob "/proc/$pid/fd/*";
	return ($kb // 0, scalar @files);
}

my %samples;

# Takes a sample of everything, at so many seconds of the long runs, or after so many short ones.
sub sample
{
	my ($part, $at) = @_;
	my %now = map { split /\|/ } split /\n/, $node->safe_psql('postgres', $relations);
	foreach my $process ('postmaster|' . $node->{_pid}, split /\n/, $node->safe_psql('postgres', $processes))
	{
		my ($kind, $pid) = split /\|/, $process;
		my ($kb, $files) = memory($pid);
		foreach ([ "memory $kind", $kb ], [ "descriptors $kind", $files ])
		{
			my ($figure, $value) = @$_;
			$now{$figure} = $value if $value > ($now{$figure} // 0);
		}
	}
	my @segments = glob $node->data_dir . '/pg_dynshmem/mmap.*';
	my @temporary = glob $node->data_dir . '/base/pgsql_tmp/* ' . $node->data_dir . '/base/*/t*_*';
	my $log = slurp_file($node->logfile);
	@now{ 'segments number', 'temporary files', 'log lines' } = (scalar @segments, scalar @temporary, scalar($log =~ tr/\n//));
	foreach my $figure (sort keys %now)
	{
		push @{ $samples{$part}{$figure} }, [ $at, $now{$figure} ];
		print {$curves} "$part,$at,$figure,$now{$figure}\n" if $curves;
	}
	$curves->flush if $curves;
	return;
}

# What a figure may be in the last tenth beyond what it was at most in the second one, by its kind, in its unit.
my %slack = (memory => 1024, descriptors => 2, segments => 0, temporary => 0, catalog => 512, shared_memory => 64);

# Prints the curves of a part that ends there, and tests that they are flat or straight.
sub curves_ok
{
	my ($part, $end) = @_;
	diag sprintf '%-40s %10s %10s %10s %10s %10s', $part, qw(0% 25% 50% 75% 100%);
	foreach my $figure (sort keys %{ $samples{$part} })
	{
		my @curve = @{ $samples{$part}{$figure} };
		my $value = sub { my ($share) = @_; return ((grep { $_->[0] >= $share * $end } @curve), $curve[-1])[0][1] };
		my $most = sub {
			my ($from, $to) = @_;
			return (sort { $b <=> $a } map { $_->[1] } grep { $_->[0] >= $from * $end && $_->[0] <= $to * $end } @curve)[0];
		};
		diag sprintf '%-40s %10s %10s %10s %10s %10s', $figure, map { $value->($_) } 0, 0.25, 0.5, 0.75, 1;
		my ($kind, $process) = split / /, $figure;
		# What a process of a short run has depends on when in the run it is looked at.
		next if $part eq 'short' && $kind =~ /^(memory|descriptors)$/ && $process !~ /^(caller|postmaster)$/;
		if (defined(my $slack = $slack{$kind}))
		{
			cmp_ok($most->(0.9, 1), '<=', 1.02 * $most->(0.1, 0.2) + $slack, "$part: $figure stays");
		}
		elsif ($kind eq 'table' && $value->(1) - $value->(0) > 4096)
		{
			my ($first, $second) = ($value->(0.5) - $value->(0), $value->(1) - $value->(0.5));
			ok($second < 1.25 * $first + 1024, "$part: $figure grows in a straight line") or diag "$first kB, then $second kB";
		}
	}
	my @lines = @{ $samples{$part}{'log lines'} };
	return $lines[-1][1] - $lines[0][1];
}

if ($seconds)
{
	my $begin = time;
	my $files = PostgreSQL::Test::Utils::tempdir();
	my %run = map {
		$_ => start_sql($node, <<SQL, name => 'caller') } qw(spi libpq);
SET client_min_messages = warning;
SELECT run_id FROM bench.run(mode => '$_', clients => 5, rate => 50, duration => $seconds, aggregate_interval => $interval_s,
  per_statement => true, log => true, log_prefix => '$files/$_', profile => true, wait_sample_rate => 20, label => '$_', vacuum => 'none')
SQL
	comes_before_end($node, "SELECT transactions > 0 FROM bench.progress WHERE label = '$_'", $run{$_}) foreach sort keys %run;
	while (!grep { has_ended($_) } values %run)
	{
		sample('long', sprintf '%.0f', time - $begin);
		# A stall, with what blocks.
		$node->safe_psql('postgres', 'BEGIN; LOCK TABLE pgbench_accounts; SELECT pg_sleep(0.5); COMMIT');
		sleep $sample_seconds;
	}
	foreach my $mode (sort keys %run)
	{
		my ($run_id, $error) = finish_sql($run{$mode});
		is($error, '', "$mode: no warning");
		# An interval in which the coordinator had to wait for a CPU is longer, and stored as such.
		my ($found, $intervals) = $node->safe_psql('postgres', <<SQL) =~ /^(.*)\|(\d+)$/;
SELECT concat_ws('|', state, errors, c.intervals = c.last + 1,
         c.intervals = (SELECT count(*) FROM bench.run_server_intervals WHERE run_id = r.run_id),
         (SELECT count(*) FROM bench.transactions WHERE run_id = r.run_id) = transactions,
         (SELECT count(*) FROM bench.run_stalls WHERE run_id = r.run_id) > 0), c.intervals
  FROM bench.runs r,
       LATERAL (SELECT count(*), max(interval_no) FROM bench.run_intervals WHERE run_id = r.run_id) c (intervals, last)
 WHERE run_id = $run_id
SQL
		is($found, 'finished|{}|t|t|t|t', "$mode: all rows of intervals, all transactions, and stalls");
		cmp_ok($intervals, '>', 0.9 * $seconds / $interval_s, "$mode: $intervals intervals");
		figures_ok($node, $run_id, $mode);
		diag "$mode: ", $node->safe_psql('postgres', <<SQL);
SELECT format('%s transactions; a row of the log takes %s bytes; %s stalls, %s stacks, overhead %s us', transactions,
         pg_total_relation_size('bench.transactions') / (SELECT count(*) FROM bench.transactions),
         (SELECT count(*) FROM bench.run_stalls WHERE run_id = r.run_id),
         (SELECT count(*) FROM bench.run_stacks WHERE run_id = r.run_id), round(overhead_us))
  FROM bench.runs r WHERE run_id = $run_id
SQL
	}
	my $lines = curves_ok('long', time - $begin);
	cmp_ok($lines, '<', $seconds / $interval_s / 50, "long: no line of the server's log for an interval");
	nothing_left_ok($node, 'long');
}

if ($short_runs)
{
	my @options = ('duration => 0.1', 'transactions => 20', 'transactions => 200, log => true, per_statement => true, profile => true');
	my $calls = join ";\n", map {
		"SELECT state FROM bench.run(mode => '" . (qw(spi libpq)[ $_ % 2 ]) . "', clients => 2, $options[ $_ % @options ])"
	} 1 .. $short_runs;
	my $first = $node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs');
	my $caller = start_sql($node, "SET client_min_messages = warning;\n$calls", name => 'caller');
	while (!has_ended($caller))
	{
		sample('short', $node->safe_psql('postgres', "SELECT count(*) - $first FROM bench.runs"));
		sleep $sample_seconds / 6;
	}
	my ($states, $error) = finish_sql($caller);
	is($error, '', 'short: no warning');
	is(scalar(() = $states =~ /^finished$/mg), $short_runs, 'short: all have finished');
	my $lines = curves_ok('short', $short_runs);
	cmp_ok($lines, '<', $short_runs / 10, "short: no line of the server's log for a run");
	nothing_left_ok($node, 'short');
	# All slots of workers but the coordinator's and that of the launcher of logical replication.
	is($node->safe_psql('postgres', "SELECT state FROM bench.run('select-only', clients => 22, transactions => 5, client_process => 'worker')"),
		'finished', 'short: all worker slots are free');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
$node->stop;
remove_data($node);
done_testing();
