# If possible, a session that waits for a run does not keep dead rows from being
# removed; otherwise it gets a notice.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('horizon');
$node->safe_psql('postgres', 'SELECT bench.initialize()');
my $notice = qr/NOTICE: .*the calling statement keeps dead rows from being removed during the run/;

# Whether the caller keeps what was dead when that transaction began: between two waits it may look at the
# catalogs, with a snapshot that is newer.
sub keeps
{
	my ($xid) = @_;
	return "(SELECT coalesce(bool_or(age(backend_xmin) >= age('$xid'::xid)), false) FROM pg_stat_activity WHERE application_name = 'caller')";
}

# Runs SQL that calls bench.run or bench.wait, and waits while the run goes on until its caller keeps nothing or, if it
# is to keep its snapshot, until the run has gone on for 500 transactions; tests which of both it does.
sub horizon_ok
{
	my ($sql, $label, $kept, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $caller = start_sql($node, $sql, name => 'caller');
	wait_for_transactions($node, $label);
	my ($xid, $done) = split /\|/, $node->safe_psql('postgres',
		"SELECT pg_current_xact_id(), transactions FROM bench.progress WHERE label = '$label'");
	my $keeps = keeps($xid);
	# What fails takes long, once.
	wait_for($node, $kept ? "SELECT transactions > $done + 500 FROM bench.progress WHERE label = '$label'" : "SELECT NOT $keeps")
	  if PostgreSQL::Test::Utils::all_tests_passing();
	is($node->safe_psql('postgres', "SELECT $keeps"), $kept ? 't' : 'f', "$name: " . ($kept ? 'the snapshot is kept' : 'nothing is kept'));
	$node->safe_psql('postgres',
		"SELECT bench.cancel(run_id) FROM bench.progress WHERE label = '$label'");
	my ($stdout, $stderr) = finish_sql($caller);
	return ($stderr, $stdout);
}

my $run = "bench.run(duration => '10 min', vacuum => 'none', label => '%s')";
my %released = (
	'FROM'            => "SELECT * FROM $run",
	'FROM, columns'   => "SELECT state, transactions FROM $run",
	'SELECT list'     => "SELECT $run",
	'columns of one'  => "SELECT ($run).*",
	'columns as text' => "SELECT state, mode::varchar, to_char(tps, '990'), clock_timestamp() - now() FROM $run",
	'a loop'          => "SELECT n, r.state FROM generate_series(1, 1) n, LATERAL bench.run(clients => n, duration => '10 min', vacuum => 'none', label => '%s') r ORDER BY tps LIMIT 1",
	'a loop of seeds' => "SELECT n, r.state FROM generate_series(1, 1) n, LATERAL bench.run(seed => n, duration => '10 min', vacuum => 'none', label => '%s') r",
	'a list'          => "SELECT v.mode, max(r.state) FROM (VALUES ('spi')) v (mode), LATERAL bench.run(mode => v.mode, duration => '10 min', vacuum => 'none', label => format('%%s', '%s')) r GROUP BY 1",
	'WITH'            => "WITH r AS (SELECT * FROM $run) SELECT state, (SELECT max(transactions) > 0 FROM r) FROM r",
	'UNION ALL'       => "SELECT state FROM $run UNION ALL SELECT 'none'",
	'a report'        => "SELECT state, bench.report(run_id) FROM $run",
	'a transaction'   => "BEGIN; SELECT state FROM $run; COMMIT",
	'with progress'   => "SELECT state FROM bench.run(duration => '10 min', vacuum => 'none', progress => '100 ms', label => '%s')",
	'libpq'           => "SELECT state FROM bench.run(mode => 'libpq', duration => '10 min', vacuum => 'none', label => '%s')");
foreach my $name (sort keys %released)
{
	my ($stderr, $stdout) = horizon_ok(sprintf($released{$name}, $name), $name, 0, $name);
	unlike($stderr, $notice, "$name: no notice");
	like($stdout, qr/canceled/, "$name: result");
}

$node->safe_psql('postgres', sprintf(<<'SQL', $run =~ s/'%s'/label/r));
CREATE PROCEDURE benchmark(label text) LANGUAGE plpgsql AS $$ BEGIN COMMIT; PERFORM %1$s; END $$;
CREATE FUNCTION opening(label text) RETURNS void STABLE LANGUAGE plpgsql AS $$
DECLARE a CURSOR FOR SELECT state FROM %1$s; b CURSOR FOR SELECT count(*) FROM pgbench_branches;
BEGIN a := 'a'; b := 'b'; OPEN a; OPEN b; END $$;
CREATE FUNCTION looping(label text) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN FOR r IN SELECT state FROM %1$s LOOP END LOOP; RETURN count(*) FROM pgbench_branches; END $$
SQL
# An aggregate is immutable for the catalog, whatever its functions read.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION counted(bigint, bigint) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM pgbench_branches';
CREATE AGGREGATE reading(bigint) (sfunc = counted, stype = bigint, initcond = '0');
SQL
my %kept = (
	'an aggregate'    => "SELECT max(state), reading(run_id) FROM $run",
	'another table'   => "SELECT state FROM $run, pgbench_branches",
	'a subquery'      => "SELECT state, (SELECT count(*) FROM pgbench_branches) FROM $run",
	'REPEATABLE READ' => "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT state FROM $run; COMMIT",
	'a cursor of a function' => "BEGIN; SELECT FROM opening('%s'); FETCH FROM a; FETCH FROM b; COMMIT",
	'a loop of a function' => "SELECT looping('%s')",
	'a loop of a DO block' => "DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT state FROM $run LOOP END LOOP; END \$\$",
	'a DO block'      => "DO \$\$ BEGIN PERFORM $run; END \$\$",
	'a subtransaction' => "BEGIN; SAVEPOINT s; SELECT state FROM $run; COMMIT",
	'a reading function' => "SELECT state, pg_get_viewdef('bench.run_summary') <> '' FROM $run",
	'a table below'   => "SELECT state FROM $run UNION ALL (SELECT 'none' FROM pgbench_branches LIMIT 1)",
	'a procedure'     => "CALL benchmark('%s')",
	'an open cursor'  => "BEGIN; DECLARE c CURSOR FOR SELECT * FROM pg_class; FETCH 1 FROM c; SELECT state FROM $run; COMMIT",
	'writing'         => "CREATE TABLE result AS SELECT state FROM $run");
foreach my $name (sort keys %kept)
{
	my ($stderr) = horizon_ok(sprintf($kept{$name}, $name), $name, 1, $name);
	like($stderr, $notice, "$name: notice");
}

# Reading runs leave nothing dead.
my ($stderr) = horizon_ok(
	"SELECT state FROM bench.run(scripts => 'select-only', duration => '10 min', vacuum => 'none', label => 'reads'), pgbench_branches",
	'reads', 1, 'a run that only reads');
unlike($stderr, $notice, 'a run that only reads: no notice');

# A cursor still sees the same rows, although dead rows were removed meanwhile.
$node->safe_psql('postgres',
	'CREATE TABLE seen WITH (autovacuum_enabled = off) AS SELECT generate_series(1, 10000) AS i');
my $reader = start_sql($node, <<'SQL', name => 'caller');
BEGIN;
DECLARE c CURSOR FOR SELECT i FROM seen;
MOVE 1 FROM c;
SELECT state FROM bench.run(duration => '10 min', vacuum => 'none', label => 'cursor');
\o /dev/null
FETCH ALL FROM c;
\o
\echo :ROW_COUNT
COMMIT;
SQL
wait_for_transactions($node, 'cursor');
$node->safe_psql('postgres', 'DELETE FROM seen');
$node->safe_psql('postgres', 'VACUUM seen');
$node->safe_psql('postgres', "SELECT bench.cancel(run_id) FROM bench.progress WHERE label = 'cursor'");
like((finish_sql($reader))[0], qr/^9999$/m, 'a cursor of the caller loses no rows');

# The purpose: dead rows are removed while the caller waits.
$node->safe_psql('postgres',
	'CREATE TABLE gone WITH (autovacuum_enabled = off) AS SELECT generate_series(1, 10000) AS i');
my $caller = start_sql($node, sprintf("SELECT * FROM $run", 'prune'), name => 'caller');
wait_for_transactions($node, 'prune');
$node->safe_psql('postgres', 'DELETE FROM gone');
my $deleted = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
# Clients and others have snapshots for a moment.
wait_for($node, "SELECT NOT bool_or(greatest(age(backend_xmin), age(backend_xid)) >= age('$deleted'::xid)) FROM pg_stat_activity");
$node->safe_psql('postgres', 'VACUUM gone');
is($node->safe_psql('postgres', "SELECT pg_relation_size('gone')"), 0, 'dead rows are removed during a run');
signal_sql($caller, 'INT');
finish_sql($caller);

# bench.wait.
$node->safe_psql('postgres', "SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'waited')");
my $run_id = latest_run($node, 'waited')->{run_id};
($stderr) = horizon_ok("SELECT * FROM bench.wait($run_id)", 'waited', 0, 'bench.wait');
unlike($stderr, $notice, 'bench.wait: no notice');

$node->safe_psql('postgres', "SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'started')");
$run_id = latest_run($node, 'started')->{run_id};
$caller = start_sql($node, "DO \$\$ BEGIN COMMIT; PERFORM bench.wait($run_id); END \$\$", name => 'caller');
$caller->{run}->pump until $caller->{stderr} =~ $notice || $caller->{timer}->is_expired;
like($caller->{stderr}, $notice, 'bench.wait in a DO block: notice');
$node->safe_psql('postgres', "SELECT bench.cancel($run_id)");
finish_sql($caller);

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
