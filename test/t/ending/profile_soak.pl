# Sampled processes under load: runs with profile of parallel queries, of compiled and of deeply
# nested code, of errors and of shell commands, are canceled, terminated or lose their extension at
# random moments.  The server goes on.
#
# SEED=1  another sequence; PROFILE_SECONDS= how long it takes
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(sleep time);

my $seed    = $ENV{SEED}            // 1;
my $seconds = $ENV{PROFILE_SECONDS} // 4;
srand $seed;
note "SEED=$seed PROFILE_SECONDS=$seconds";

# Shared memory as files of the data directory, so that left-over segments show.
my $node = new_bench_node('main',
	"fsync = off\ndynamic_shared_memory_type = mmap\nmax_worker_processes = 16\n");

sub sql { return $node->safe_psql('postgres', $_[0]) }
sub one_of { return $_[ int rand @_ ] }

sub segments
{
	my @files = glob($node->data_dir . '/pg_dynshmem/mmap.*');
	return scalar @files;
}

sql(<<'SQL');
CREATE TABLE numbers AS SELECT g AS n, g % 100 AS m, repeat('x', 50) AS t FROM generate_series(1, 50000) g;
ANALYZE numbers;
CREATE FUNCTION nested(depth int) RETURNS int LANGUAGE plpgsql AS
  $$BEGIN IF depth = 0 THEN RETURN 0; END IF; RETURN nested(depth - 1) + 1; END$$;
CREATE FUNCTION guarded(n int) RETURNS int LANGUAGE plpgsql AS
  $$BEGIN RETURN n / 0; EXCEPTION WHEN division_by_zero THEN RETURN n; END$$;
SQL
my $scripts = <<'SQL';
SELECT bench.define_script('parallel', 'SELECT m, count(*), sum(n * 2), max(t) FROM numbers GROUP BY m;'),
       bench.define_script('nested', 'SELECT nested(100);'),
       bench.define_script('guarded', 'SELECT count(guarded(n)) FROM generate_series(1, 100) n;'),
       bench.define_script('fails', 'SELECT count(*) / 0 FROM numbers;'),
       bench.define_script('shell', E'\\shell true\nSELECT count(*) FROM numbers;'),
       bench.define_script('notices', 'DO $$BEGIN RAISE NOTICE ''here''; END$$;');
SQL
sql($scripts);
my $started  = sql('SELECT pg_postmaster_start_time()');
my $segments = segments();
my $settings = join ' ', map { "SET $_;" } (
	'client_min_messages = error',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	'jit = on', 'jit_above_cost = 0', 'jit_inline_above_cost = -1', 'jit_optimize_above_cost = -1');
my %kinds = (
	spi      => "mode => 'spi'",
	libpq    => "mode => 'libpq', jobs => 2",
	backends => "client_process => 'backend'",
	many     => "mode => 'libpq', reconnect => true");
my %ends = (
	caller      => q{application_name = 'soak' AND state = 'active'},
	coordinator => q{backend_type = 'pg_selfbench coordinator'},
	client      => q{backend_type ~ '^pg_selfbench (spi|libpq) client'},
	session     => q{application_name = 'pg_selfbench' AND backend_type = 'client backend'},
	parallel    => q{backend_type = 'parallel worker'});

my ($runs, $ends) = (0, time + $seconds);
while (time < $ends)
{
	my $kind   = one_of(sort keys %kinds);
	my $script = join ',', map { one_of(qw(parallel nested guarded fails shell notices)) } 1 .. 3;
	my $end    = one_of('nothing', 'nothing', 'extension', sort keys %ends);
	my $how    = one_of(qw(pg_terminate_backend pg_cancel_backend));
	my $name   = ++$runs . ": $kind, $script, $end, $how";
	my $caller = start_sql($node,
		"$settings SELECT run_id FROM bench.run('$script', $kinds{$kind}, clients => 3, duration => '400 ms',
		   continue_on_error => true, profile => true, warmup => '50 ms')",
		name => 'soak');
	sleep rand 0.4;
	if ($end eq 'extension')
	{
		# It may have to wait too long for the run's locks, or be the victim of a deadlock with it.
		my $status = $node->psql('postgres', "SET client_min_messages = error; SET lock_timeout = '2 s';
		     DROP EXTENSION pg_selfbench CASCADE; CREATE EXTENSION pg_selfbench; $scripts", stderr => \my $why);
		note "$name: the extension stays: $why" if $status;
	}
	elsif ($end ne 'nothing')
	{
		sql("SELECT $how(pid) FROM pg_stat_activity WHERE ($ends{$end}) AND pid <> pg_backend_pid()
		      ORDER BY random() LIMIT 1");
	}
	finish_sql($caller);
	ok(wait_until_quiet($node), "$name: no process is left") or last;
	is(sql('SELECT pg_postmaster_start_time()'), $started, "$name: the server goes on");
}
ok($node->poll_query_until('postgres', "SELECT count(*) <= $segments FROM pg_ls_dir('pg_dynshmem') WHERE pg_ls_dir LIKE 'mmap.%'"),
	'no shared memory is left');

# All of that has left the server able to do the same again.
my $last = sql("$settings SELECT run_id FROM bench.run('parallel', clients => 2, transactions => 5, profile => true)");
is(sql("SELECT state FROM bench.runs WHERE run_id = $last"), 'finished', 'the next run');
is(sql("SELECT samples > 0 FROM bench.run_profiles WHERE run_id = $last AND process = 'spi client'"), 't', 'has samples');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
