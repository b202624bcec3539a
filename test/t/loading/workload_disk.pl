# A disk that is full in each phase of the load of a workload, in this server and in a target: nothing looks
# loaded then, and the next load replaces it. A limit of the size of files takes the place of the disk.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# Files of WAL stay below the limit. With few buffers, those who change pages have to write them.
my $limit = 4 << 20;
my $node  = new_bench_node(
	'disk',
	"autovacuum = off\nshared_buffers = 2MB\nmax_parallel_maintenance_workers = 0\nmax_worker_processes = 16\n",
	extra => ['--wal-segsize=1']);

# A statement waits at a certain point for whoever has the lock. Event triggers are those of a database.
my $points = <<'SQL';
CREATE TABLE point (name text);
INSERT INTO point VALUES ('none');
CREATE FUNCTION pause() RETURNS event_trigger LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
	IF EXISTS (SELECT FROM point WHERE name = TG_EVENT || ' ' || TG_TAG) THEN
		PERFORM pg_advisory_xact_lock(7);
	ELSIF EXISTS (SELECT FROM point WHERE name = 'full ' || TG_TAG) THEN
		RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not create file: No space left on device';
	END IF;
END $$;
CREATE EVENT TRIGGER start ON ddl_command_start EXECUTE FUNCTION pause();
CREATE EVENT TRIGGER ended ON ddl_command_end EXECUTE FUNCTION pause();
SQL
$node->safe_psql('postgres', 'CREATE DATABASE there');

# Limits the size of files for a process, and for those that it will start.
sub limit_files
{
	my ($pid, $bytes) = @_;
	system_or_bail('prlimit', "--pid=$pid", "--fsize=$bytes:unlimited");
	return;
}

my $steps = 'drop tables, create tables, generate rows, create indexes, vacuum';
my $full  = qr/could not (?:extend|write).*: File too large/;
my ($target) = map { s/'/''/gr } $node->connstr('there');
foreach my $where ([ 'postgres', 'here', '' ], [ 'there', 'target', ", target => '$target'" ])
{
	my ($database, $name, $option) = @$where;
	$node->safe_psql($database, $points);
	my $load = "SELECT string_agg(step, ', ') FROM bench.initialize('sysbench', scale => %d$option)";
	my $run =
	  "SELECT state FROM bench.run('sysbench-point-select', transactions => 1" . ($option && ", mode => 'libpq'$option") . ')';
	my $known = "SELECT scale, loaded_at IS NOT NULL FROM bench_workload WHERE family = 'sysbench'";
	is($node->safe_psql('postgres', sprintf $load, 1), $steps, "$name: a load");

	$node->safe_psql($database, "UPDATE point SET name = 'full CREATE TABLE'");
	my (undef, undef, $stderr) = $node->psql('postgres', sprintf $load, 30);
	like($stderr, qr/No space left/, "$name: full when tables are created");
	is($node->safe_psql($database, $known), '1|t', "$name: the tables before are still there");
	is($node->safe_psql('postgres', $run), 'finished', "$name: with their rows");

	foreach my $phase (
		[ 'rows',    'ddl_command_start CREATE TABLE' ],
		[ 'indexes', 'ddl_command_start ALTER TABLE' ],
		[ 'vacuum',  'ddl_command_end CREATE SEQUENCE' ])
	{
		my ($what, $point) = @$phase;
		$node->safe_psql($database, "UPDATE point SET name = '$point'");
		my $holder = $node->background_psql($database);
		$holder->query_safe('SELECT pg_advisory_lock(7)');
		my $caller = start_sql($node, sprintf $load, 30);
		ok( $node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}),
			"$name: before $what");
		my $waiting =
		  $node->safe_psql('postgres', q{SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
		# Page workers are new processes.
		my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die;
		limit_files($_, $limit) foreach $waiting, $postmaster;
		$holder->quit;
		my (undef, $stderr) = finish_sql($caller);
		like($stderr, qr/ERROR:  \w+: $full/, "$name: full in $what");
		limit_files($postmaster, 'unlimited');
		is($node->safe_psql($database, $known), '30|f', "$name: the load is known to be incomplete");
		(undef, undef, $stderr) = $node->psql('postgres', $run);
		like($stderr, qr/load of the tables did not end/, "$name: no run");
		nothing_left_ok($node, "$name: $what");
		$node->safe_psql($database, "UPDATE point SET name = 'none'");
		is($node->safe_psql('postgres', sprintf $load, 1), $steps, "$name: the next load replaces it");
		is($node->safe_psql($database, 'SELECT count(*) FROM sbtest1'), 10_000, "$name: with all rows");
	}
}

done_testing();
