# Runs of captured workloads are like what they were captured from: pgbench's, sysbench's, and a Django application's.
# bench.validate_workload says so, and says what differs and what could not be measured.
use strict;
use warnings;

use File::Basename qw(dirname);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_stat_statements));

my $node = new_bench_node('capture_faithful', <<'CONF');
shared_preload_libraries = 'pg_stat_statements'
max_worker_processes = 32
CONF

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => [ '-U', $role ]);
	return wantarray ? ($stdout, $stderr) : $stdout . $stderr;
}

# Executes a run as a role, and returns its number.
sub run_of
{
	my ($role, $arguments) = @_;
	my ($run_id, $told) = as($role, "SELECT run_id FROM bench.run($arguments)");
	note($told) if $told ne '';
	return $run_id;
}

# Starts a program that uses the server, and waits until it has executed so many statements.
sub started
{
	my ($role, $calls, @command) = @_;
	local $ENV{PGUSER} = $role;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'postgres';
	as($role, 'SELECT pg_stat_statements_reset()');
	my $program = { output => '' };
	$program->{run} = IPC::Run::start(\@command, '<', \undef, '>&', \$program->{output});
	wait_for($node, "SELECT sum(calls) > $calls FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = '$role'");
	return $program;
}

sub stop
{
	my ($program) = @_;
	$program->{run}->signal('TERM');
	eval { $program->{run}->finish };
	return;
}

sub validated
{
	my ($role, $workload, $run_id) = @_;
	return as($role, "SELECT statement_no, judgement, captured_mean_ms, run_mean_ms, captured_blocks, run_blocks, left(query, 60)
		FROM bench.validate_workload('$workload', $run_id)");
}

# The run is as what was captured: the share of each statement in the calls, its rows and blocks per call, the commits per
# statement, and which statements are slower than others.
sub faithful_ok
{
	my ($role, $workload, $run_id, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows = validated($role, $workload, $run_id);
	my @odd = grep { /^\d/ && !/^\d+\|same\|/ } split /\n/, $rows;
	is(join("\n", @odd), '', "$what: each statement is the same");
	like($rows, qr/^\|faithful: (\d+) of \1 statements are the same; they cover 100\.0 % of the calls and [\d.]+ % /m, "$what: faithful") or diag($rows);
	is(swapped($rows), 0, "$what: slow statements are slow") or diag($rows);
	note($rows);
	return;
}

# Number of statements that were clearly slower than another one in the capture, and clearly faster in the run.
sub swapped
{
	my ($rows) = @_;
	my @times = map { [ (split /\|/)[ 2, 3 ] ] } grep { /^\d/ } split /\n/, $rows;
	return scalar(grep { my $slow = $_; grep { $slow->[0] > 5 * $_->[0] && 2 * $slow->[1] < $_->[1] } @times } @times);
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
as($super, <<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE ROLE writer LOGIN;
SQL

# pgbench's transactions, as its program executes them, on its tables. One client waits for no lock. Pages have space, so that
# a new version of a row is on the same page, and no page is known to be visible to all, which an update has to take back:
# blocks per call do not depend on how often rows have been updated before.
as($super, <<'SQL');
SELECT bench.initialize(scale => 1, fillfactor => 50);
ALTER TABLE pgbench_accounts SET (autovacuum_enabled = off);
UPDATE pgbench_accounts SET abalance = abalance;
SQL
my $program = started($super, 1000, $node->installed_command('pgbench'), qw(-n -M prepared -R 200 -T 3600 postgres));
# A snapshot that another process holds for long, on a busy machine, keeps dead rows from being pruned, so that the few
# rows of tellers and branches move to other pages, where they stay: written anew, and tried again.
my $compact = 'VACUUM (FULL) %1$s.pgbench_tellers, %1$s.pgbench_branches';
my $captured;
foreach my $attempt (1 .. 3)
{
	as($super, sprintf($compact, 'public'));
	$captured = as($super, "SELECT count(*), count(*) FILTER (WHERE status = 'captured') FROM bench.capture_workload('bank', period => '10 s')
		WHERE query ~ '^(UPDATE|SELECT|INSERT)'");
	# On a busy machine, the transactions at both ends of the window are many of all: statements seem to be left out by some.
	last if as($super, "SELECT scripts ->> 'transaction' FROM bench.workload_definitions WHERE name = 'bank'") !~ /^.if /m
		&& as($super, "SELECT max(pg_relation_size(t)) FROM unnest('{pgbench_tellers, pgbench_branches}'::regclass[]) t") eq 8192;
}
is($captured, '5|5', 'pgbench captured');
stop($program);
# The account that it updates is the one that it reads.
like(as($super, "SELECT scripts ->> 'transaction' FROM bench.workload_definitions WHERE name = 'bank'"),
	qr/UPDATE pgbench_accounts [^;]+ = :'k1';\nSELECT abalance [^;]+ = :'k1';/, 'statements of one row');
as($super, <<'SQL');
SELECT bench.clone_tables('bank', 'bank_copy');
GRANT USAGE ON SCHEMA bank_copy TO writer;
GRANT ALL ON ALL TABLES IN SCHEMA bank_copy TO writer;
SQL
my $sums = 'SELECT sum(abalance), count(*) FROM public.pgbench_accounts, (SELECT count(*) FROM public.pgbench_history) h';
my $before = as($super, $sums);
my $faithful_run = sub {
	my ($arguments) = @_;
	my $run_id;
	foreach my $attempt (1 .. 3)
	{
		as($super, sprintf($compact, 'bank_copy'));
		$run_id = run_of($super, $arguments);
		# One execution that another process of the machine delays makes a mean of microseconds a large one.
		my $rows = validated($super, 'bank', $run_id);
		last if $rows =~ /^\|faithful/m && swapped($rows) == 0;
	}
	return $run_id;
};
my %run;
$run{spi} = $faithful_run->("'bank', load_factor => 1, duration => '4 s'");
faithful_ok($super, 'bank', $run{spi}, 'pgbench, mode spi');
unlike(as($super, "SELECT verdict FROM bench.compare('[{\"load_factor\": 1}, {\"load_factor\": 4}]', scripts => 'bank', repeats => 3, duration => '500 ms')"),
	qr/as fast|ERROR/, 'a comparison at rates of the capture is one of latencies');
my $target = 'target => ' . "'host=" . $node->host . ' port=' . $node->port . " dbname=postgres user=writer'";
foreach my $protocol (qw(prepared simple extended))
{
	$run{$protocol} = $faithful_run->("'bank', mode => 'libpq', $target, protocol => '$protocol', load_factor => 1, duration => '2 s'");
	faithful_ok($super, 'bank', $run{$protocol}, "pgbench, mode libpq, protocol $protocol");
}
is(as($super, $sums), $before, 'no original row changed');

# Reports say so.
like(as($super, "SELECT bench.report($run{spi})"), qr/^ ?captured workload: faithful: 5 of 5 statements are the same;/m, 'in the report');
ok(as($super, "SELECT bench.report($run{spi}, 'html')") =~ /Captured workload.*faithful: 5 of 5/s, 'in the HTML report');

# What differs. A page that is added to pgbench_history reads some more blocks, which many transactions share.
as($super, 'ALTER TABLE bank_copy.pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey');
as($super, sprintf($compact, 'bank_copy'));
my $slow = run_of($super, "'bank', transactions => 100");
my $rows = as($super, "SELECT judgement, query FROM bench.validate_workload('bank', $slow)");
like($rows, qr/^differs: \d{4}\.\d blocks per call instead of \d+\.\d\|SELECT abalance/m, 'more blocks');
like($rows, qr/^differs: 3 of 5 statements are the same;/m, 'verdict');
like(as($super, "SELECT bench.report($slow)"), qr/^ ?statement \d: differs: \d+\.\d blocks per call instead of/m, 'in the report');

# What could not be measured.
my $unobserved = run_of($super, "'bank', transactions => 2, observe => false");
like(as($super, "SELECT bench.validate_workload('bank', $unobserved)"), qr/ERROR:  55000: run $unobserved cannot be compared/, 'not observed');
my ($off) = as($super, "SET pg_stat_statements.track = none; SELECT run_id FROM bench.run('bank', transactions => 2)");
is(as($super, "SELECT DISTINCT judgement FROM bench.validate_workload('bank', $off)"), 'not measured: "pg_stat_statements.track" is none', 'nothing is tracked');
my $reset = run_of($super, "'bank', transactions => 2, teardown => 'SELECT 1', setup => 'SELECT 1'");
is(as($super, "SELECT count(*) FROM bench.run_captured_statements WHERE run_id = $reset AND calls = 2"), 5, 'calls');
my $backends = run_of($super, "'bank', transactions => 2, client_process => 'backend'");
like(as($super, "SELECT DISTINCT judgement FROM bench.validate_workload('bank', $backends)"),
	qr/^not measured: statements of clients in backends are not counted at top level.*$/, 'clients in backends');
my $run = start_sql($node, "SELECT run_id FROM bench.run('bank', duration => '3 s', label => 'reset')");
wait_for_transactions($node, 'reset');
as($super, 'SELECT pg_stat_statements_reset()');
($reset) = finish_sql($run);
is(as($super, "SELECT DISTINCT judgement FROM bench.validate_workload('bank', $reset)"),
	'not measured: pg_stat_statements was reset during the run', 'reset meanwhile');
like(as($super, 'SELECT bench.validate_workload(NULL, 1)'), qr/ERROR:  22004: name must not be null/, 'no name');
like(as($super, "SELECT bench.validate_workload('bank', 12345)"), qr/ERROR:  42704: run 12345 does not exist/, 'no run');
like(as($super, "SELECT bench.validate_workload('tpcc', $slow)"), qr/ERROR:  42704: captured workload "tpcc" does not exist/, 'no captured workload');

# Exported, imported, deleted with the run.
my $copy = as($super, "SELECT bench.import_run(bench.export_run($slow))");
is(as($super, "SELECT count(*) FROM bench.run_captured_statements WHERE run_id = $copy AND calls = 100"), 5, 'imported');
like(as($super, "SELECT bench.validate_workload('bank', $copy)"), qr/ERROR:  55000: run $copy cannot be compared/, 'not of this server');
as($super, "SELECT bench.delete_runs($slow)");
is(as($super, "SELECT count(*) FROM bench.run_captured_statements WHERE run_id = $slow"), 0, 'deleted');
is(as('writer', 'SELECT 1 FROM bench.run_captured_statements') =~ /permission denied/, 1, 'not for others');

# sysbench's reads, by its program if there is one, else by pgbench.
as($super, "SELECT bench.initialize('sysbench', scale => 1)");
my $sysbench = grep { -x "$_/sysbench" } split /:/, $ENV{PATH};
if ($sysbench)
{
	$program = started($super, 1000, qw(sysbench oltp_read_only --db-driver=pgsql --tables=1 --table-size=10000 --threads=2 --time=3600),
		'--pgsql-host=' . $node->host, '--pgsql-port=' . $node->port, "--pgsql-user=$super", '--pgsql-db=postgres', 'run');
}
else
{
	my $reads = PostgreSQL::Test::Utils::tempdir() . '/reads.sql';
	append_to_file($reads, "BEGIN;\n" . "\\set id random(1, 10000)\nSELECT c FROM sbtest1 WHERE id = :id;\n" x 10);
	append_to_file($reads, "\\set low random(1, 9900)\n\\set high :low + 99\nSELECT $_;\n")
	  foreach 'c FROM sbtest1 WHERE id BETWEEN :low AND :high', 'SUM(k) FROM sbtest1 WHERE id BETWEEN :low AND :high',
	  'c FROM sbtest1 WHERE id BETWEEN :low AND :high ORDER BY c', 'DISTINCT c FROM sbtest1 WHERE id BETWEEN :low AND :high ORDER BY c';
	append_to_file($reads, "COMMIT;\n");
	$program = started($super, 1000, $node->installed_command('pgbench'), qw(-n -M prepared -c 2 -T 3600 -f), $reads, 'postgres');
}
like(as($super, "SELECT count(*) FROM bench.capture_workload('reads', period => '3 s') WHERE status = 'captured'"), qr/^5$/, 'sysbench captured');
stop($program);
foreach my $mode (qw(spi libpq))
{
	my $run_id = run_of($super, "'reads', mode => '$mode', clients => 2, duration => '3 s'");
	faithful_ok($super, 'reads', $run_id, "sysbench, mode $mode");
}

# An application.
SKIP:
{
	my ($python) = grep { run_log([ $_, '-c', 'import django, psycopg2' ]) } qw(python3 /usr/bin/python3);
	skip('python3-django and python3-psycopg2 are not installed', 7) if !$python;
	my $shop = dirname(__FILE__) . '/../../lib/shop.py';
	my $where = 'dbname=postgres user=shop host=' . $node->host . ' port=' . $node->port;
	as($super, <<'SQL');
CREATE ROLE shop LOGIN;
CREATE SCHEMA AUTHORIZATION shop;
SELECT bench.grant_to('shop');
GRANT CREATE ON DATABASE postgres TO shop;
SQL
	ok(run_log([ $python, $shop, 'load', $where ]), 'loaded');
	$program = started('shop', 1000, $python, $shop, 'drive', $where, 1_000_000, 1);
	# Long enough for what is rare; what comes once in a session, and these looks, are not counted.
	my $deletes = q(SET pg_stat_statements.track = none; SELECT coalesce(sum(calls), 0) >= %d FROM pg_stat_statements WHERE query LIKE 'DELETE FROM "review"%%');
	wait_for($node, sprintf $deletes, 1);
	as($super, 'SELECT pg_stat_statements_reset()');
	wait_for($node, sprintf $deletes, 10);
	my $captured = as('shop', q(SELECT status, time_share, coalesce(reason, '-'), query FROM bench.capture_workload('shop', period => NULL, search_path => 'shop')));
	stop($program);
	note($captured);
	is(join("\n", grep { /^left out\|[\d.]*\|-\|[A-Z]/ } split /\n/, $captured), '', 'each statement that is left out has a reason');
	like($captured, qr/^left out\|[\d.]*\|it deletes rows.*DELETE FROM "review"/m, 'a DELETE is left out');
	like($captured, qr/^left out\|[\d.]*\|the server executes it to check a foreign key/m, 'as are checks of foreign keys');
	as('shop', "SELECT bench.clone_tables('shop', 'shop_copy')");
	my $checksums = join(' UNION ALL ', map { "SELECT '$_', count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM shop.$_ t" }
		qw(customer category product purchase line review));
	$before = as('shop', $checksums);
	my $run_id = run_of('shop', "'shop', clients => 2, duration => '5 s'");
	my $rows = as('shop', "SELECT statement_no, judgement, captured_calls_share, run_calls_share, captured_mean_ms, run_mean_ms, captured_rows, run_rows,
		captured_blocks, run_blocks, left(query, 150) FROM bench.validate_workload('shop', $run_id)");
	note($rows);
	my ($covered) = $rows =~ /they cover ([\d.]+) % of the calls and [\d.]+ % of the execution time/;
	cmp_ok($covered // 0, '>=', 60, 'calls are covered') or diag("$captured\n$rows");
	is(as('shop', $checksums), $before, 'no original row changed');
	is(as('shop', "SELECT failed FROM bench.run_summary WHERE run_id = $run_id"), 0, 'no transaction failed');
}

nothing_left_ok($node, 'at the end');
done_testing();
