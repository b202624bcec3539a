# Settings of the calling session are those of its clients.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('settings');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# Tables in a schema with a name that needs quotes, whose history notes the
# settings under which each row gets there.
my $schema = 'a "schema", with \\ and spaces';
my $path   = q("a ""schema"", with \ and spaces");
$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA $path;
SET search_path = $path;
SELECT bench.initialize();
CREATE TABLE noted (name text, value text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \$f\$
BEGIN
    INSERT INTO noted SELECT n, current_setting(n, true)
      FROM unnest(ARRAY['search_path', 'synchronous_commit', 'work_mem', 'DateStyle', 'TimeZone',
                        'extra_float_digits', 'default_transaction_isolation', 'my.own',
                        'statement_timeout', 'application_name', 'session_replication_role']) n
    UNION ALL SELECT 'user', current_user
    UNION ALL SELECT 'isolation', current_setting('transaction_isolation');
    RETURN NULL;
END \$f\$;
CREATE TRIGGER note AFTER INSERT ON pgbench_history FOR EACH ROW EXECUTE FUNCTION note();
ALTER TABLE pgbench_history ENABLE ALWAYS TRIGGER note;
SQL

my $settings = <<"SQL";
SET search_path = $path;
SET synchronous_commit = off;
SET work_mem = '5555kB';
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Asia/Tokyo';
SET extra_float_digits = 2;
SET default_transaction_isolation = 'repeatable read';
SET my.own = 'it''s "mine" \\ ü';
SET statement_timeout = '100 s';
SET session_replication_role = replica;
SQL
my %expected = (
	search_path                   => $path,
	synchronous_commit            => 'off',
	work_mem                      => '5555kB',
	DateStyle                     => 'SQL, DMY',
	TimeZone                      => 'Asia/Tokyo',
	extra_float_digits            => 2,
	default_transaction_isolation => 'repeatable read',
	isolation                     => 'repeatable read',
	'my.own'                      => q(it's "mine" \\ ü),
	statement_timeout             => '100s',
	application_name              => 'pg_selfbench',
	session_replication_role      => 'replica',
	user => $node->safe_psql('postgres', 'SELECT current_user'));

foreach my $mode (qw(spi libpq))
{
	foreach my $protocol (qw(simple prepared))
	{
		my $name = "$mode, $protocol";
		is( $node->safe_psql('postgres',
				$settings . columns_of('state, transactions, aborted_clients, errors', "bench.run(mode => '$mode', protocol => '$protocol', transactions => 3, vacuum => 'none', label => '$name')")
			),
			'finished|3|0|{}',
			"$name: result");
		my $noted = $node->safe_psql('postgres',
			"SELECT name, string_agg(DISTINCT value, ' or ') FROM $path.noted GROUP BY name");
		my %noted = map { split /\|/, $_, 2 } split /\n/, $noted;
		is($noted{$_}, $expected{$_}, "$name: $_") foreach sort keys %expected;
		is($node->safe_psql('postgres', "SELECT count(*), sum((SELECT count(*) FROM public.pgbench_history)) FROM $path.noted WHERE name = 'user'"),
			'3|0', "$name: in the right schema");
		$node->safe_psql('postgres', "TRUNCATE $path.noted");
		my $stored = $node->safe_psql('postgres',
			"SELECT string_agg(setting, ' ' ORDER BY name) FROM bench.run_settings JOIN bench.runs USING (run_id) WHERE label = '$name' AND name IN ('work_mem', 'synchronous_commit')"
		);
		is($stored, 'off 5555kB', "$name: stored settings");
	}
}

# Settings of a function, of a transaction, of the role and of the connection.
$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION f(mode text) RETURNS text LANGUAGE sql SET work_mem = '6666kB' SET search_path = $path
AS \$f\$ SELECT state FROM bench.run(mode => mode, transactions => 1, vacuum => 'none') \$f\$;
SQL
foreach my $mode (qw(spi libpq))
{
	my %ways = (
		'SET of a function' => "SELECT f('$mode');",
		'SET LOCAL'         =>
		  "BEGIN; SET LOCAL work_mem = '6666kB'; SET LOCAL search_path = $path; SELECT state FROM bench.run(mode => '$mode', transactions => 1, vacuum => 'none'); COMMIT;"
	);
	foreach my $name (sort keys %ways)
	{
		is($node->safe_psql('postgres', "SET client_min_messages = error; $ways{$name}"),
			'finished', "$mode, $name");
		is( $node->safe_psql('postgres',
				"SELECT string_agg(value, ' ') FROM $path.noted WHERE name = 'work_mem'"),
			'6666kB', "$mode, $name: work_mem of the client");
		$node->safe_psql('postgres', "TRUNCATE $path.noted");
	}
	{
		local $ENV{PGOPTIONS} = '-c work_mem=7777kB';
		is( $node->safe_psql('postgres',
				"SET search_path = $path; SELECT state FROM bench.run(mode => '$mode', transactions => 1, vacuum => 'none')"
			),
			'finished', "$mode, PGOPTIONS");
	}
	is( $node->safe_psql('postgres',
			"SELECT string_agg(value, ' ') FROM $path.noted WHERE name = 'work_mem'"),
		'7777kB', "$mode, PGOPTIONS: work_mem of the client");
	$node->safe_psql('postgres', "TRUNCATE $path.noted");
}

# A statement_timeout ends a client's transaction, and the error says so.
$node->safe_psql('postgres', 'SELECT bench.initialize()');
foreach my $mode (qw(spi libpq))
{
	my $locker = $node->background_psql('postgres');
	$locker->query_safe('BEGIN; SELECT * FROM pgbench_branches FOR UPDATE');
	my ($status, $stdout, $stderr) = $node->psql('postgres',
		"SET search_path = public; SELECT bench.start(mode => '$mode', transactions => 1, vacuum => 'none', label => 'timeout') FROM set_config('statement_timeout', '300 ms', false)"
	);
	$locker->query_safe("SELECT 1");
	wait_for($node,
		"SELECT state NOT IN ('starting', 'running') FROM bench.runs WHERE label = 'timeout' ORDER BY run_id DESC LIMIT 1"
	);
	my $run = latest_run($node, 'timeout');
	is($run->{aborted_clients}, 1, "$mode, statement_timeout: aborted clients");
	like($run->{errors}, qr/canceling statement due to statement timeout/,
		"$mode, statement_timeout: the reason");
	$locker->quit;
}

# A read-only session: the run is stored nevertheless.
foreach my $mode (qw(spi libpq))
{
	is( $node->safe_psql(
			'postgres', qq{
			SET default_transaction_read_only = on;
			SELECT state, transactions, run_id > 0
			FROM bench.run('select-only', mode => '$mode', transactions => 3, vacuum => 'none')}),
		'finished|3|t',
		"$mode: read-only by default");
}

# A statement may be planned for parallel execution, in any mode and protocol: the workers of a
# parallel query count rows, and its leader does not.
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION pid() RETURNS int LANGUAGE internal VOLATILE PARALLEL SAFE AS 'pg_backend_pid';
	CREATE TABLE counted (rows bigint);
	SELECT bench.define_script('parallel', $$
		SELECT pg_backend_pid() AS leader \gset
		SELECT count(*) AS by_workers FROM pgbench_accounts WHERE pid() <> :leader \gset
		INSERT INTO counted VALUES (:by_workers);
	$$)});
foreach my $mode (qw(spi libpq))
{
	foreach my $protocol (qw(simple extended prepared))
	{
		$node->safe_psql(
			'postgres', qq{
			SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
			SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
			SELECT bench.run('parallel', mode => '$mode', protocol => '$protocol', transactions => 1)});
		is( $node->safe_psql('postgres', 'DELETE FROM counted RETURNING rows'),
			100000, "$mode, $protocol: rows that parallel workers have counted");
	}
}

# What changes in the configuration files reaches clients while they run, unless the session has set
# it for itself.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE seen (a text, b text, PRIMARY KEY (a, b));
	SELECT bench.define_script('sees', $$
		INSERT INTO seen VALUES (current_setting('work_mem'), current_setting('random_page_cost'))
		ON CONFLICT DO NOTHING;
	$$)});
foreach my $how ("mode => 'spi'", "mode => 'spi', rate => 50", "mode => 'spi', client_process => 'backend'", "mode => 'libpq'")
{
	my $run = $node->safe_psql('postgres',
		"SET random_page_cost = 2; SELECT bench.start('sees', $how, duration => '600 s', vacuum => 'none')");
	my $sees = sub { wait_for($node, "SELECT EXISTS (SELECT FROM seen WHERE (a, b) = ('$_[0]', '2'))") };
	$sees->('4MB');
	$node->safe_psql('postgres', $_)
	  foreach q(ALTER SYSTEM SET work_mem = '3MB'), 'ALTER SYSTEM SET random_page_cost = 3', 'SELECT pg_reload_conf()';
	$sees->('3MB');
	$node->safe_psql('postgres', $_)
	  foreach "SELECT bench.cancel($run)", "SELECT bench.wait($run)", 'ALTER SYSTEM RESET ALL', 'SELECT pg_reload_conf()';
	my $gone = 'WITH gone AS (DELETE FROM seen RETURNING a, b) SELECT * FROM gone ORDER BY a DESC';
	is($node->safe_psql('postgres', $gone), "4MB|2\n3MB|2", "$how: configuration");
	wait_for($node, "SELECT current_setting('work_mem') = '4MB'");
}

# Formats that a role or a database has set are for their own statements: figures are
# stored and read with all their 15 digits.
my $role = $node->safe_psql('postgres', 'SELECT quote_ident(current_user)');
my %formats = (
	array_nulls        => 'off',
	bytea_output       => 'escape',
	DateStyle          => 'SQL, DMY',
	extra_float_digits => -15,
	IntervalStyle      => 'sql_standard',
	lc_numeric         => 'C',
	TimeZone           => '<+16>-16');
foreach my $name (sort keys %formats)
{
	my $of = $name =~ /^[A-Z]/ ? "ROLE $role" : 'DATABASE postgres';
	$node->safe_psql('postgres', "ALTER $of SET $name = '$formats{$name}'");
}
foreach my $mode (qw(spi libpq))
{
	my (undef, $stdout, $stderr) = $node->psql('postgres', qq{
		CREATE TEMP TABLE result AS SELECT * FROM bench.run(mode => '$mode', clients => 2, transactions => 20,
			per_statement => true, log => true, rate => 1000);
		SELECT concat_ws(' ', r = w, abs(r.tps / s.tps - 1) < 1e-4, abs(s.tps * s.seconds / s.transactions - 1) < 1e-14,
		       t.measured::float8 = s.tps, l.measured::float8 = s.latency_stddev_ms,
		       s.finished_at BETWEEN s.started_at AND clock_timestamp(), octet_length(s.histogram) > 0)
		  FROM result r JOIN bench.runs s USING (run_id), bench.wait(r.run_id) w,
		       bench.require(r.run_id, 'tps > 0') t, bench.require(r.run_id, 'latency_stddev_ms >= 0') l});
	is($stdout, join(' ', ('t') x 7), "$mode: hostile formats lose nothing") or diag $stderr;
	my $report = sub {
		my $id = '(SELECT max(run_id) FROM bench.runs)';
		return $node->safe_psql('postgres', "$_[0]; SELECT bench.report($id); SELECT a::text FROM bench.advice($id) a");
	};
	is( $report->(''),
		$report->(join '; ', 'SET extra_float_digits = 1', "SET TimeZone = 'UTC'", 'SET DateStyle = ISO',
			'SET IntervalStyle = postgres', 'SET bytea_output = hex', 'SET array_nulls = on'),
		"$mode: the same report whatever the formats are");
}
is($node->safe_psql('postgres',
		q(SELECT string_agg(name || ' ' || setting, ', ' ORDER BY name COLLATE "C") FROM bench.run_settings
		   WHERE run_id = (SELECT max(run_id) FROM bench.runs WHERE mode = 'spi') AND name IN ('TimeZone', 'extra_float_digits'))),
	'TimeZone <+16>-16, extra_float_digits -15', "stored settings are the session's");

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
