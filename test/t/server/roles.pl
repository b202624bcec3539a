# Privileges: nothing without a grant; only a role's own runs; loopback connections
# only for superusers; a caller's code never runs with the owner's privileges.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('roles');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE stranger LOGIN;
CREATE ROLE nologin NOLOGIN;
CREATE ROLE runner LOGIN;
CREATE ROLE other LOGIN;
CREATE SCHEMA AUTHORIZATION runner;
CREATE SCHEMA AUTHORIZATION other;
-- As pgbench, an initialization drops the tables that search_path finds.
ALTER ROLE runner SET search_path = "$user";
SELECT bench.grant_to(role) FROM unnest('{runner,other,nologin}'::regrole[]) role;
SELECT bench.initialize();
SQL

# SQL as a role: its standard output and standard error.
sub as
{
	my ($user, $sql) = @_;
	my ($status, $stdout, $stderr) = $node->psql(
		'postgres', "\\set VERBOSITY verbose\nSET client_min_messages = error;\n$sql",
		extra_params => [ '-U', $user ]);
	return wantarray ? ($stdout, $stderr) : $stdout;
}

sub denied_ok
{
	my ($user, $sql, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($stdout, $stderr) = as($user, $sql);
	like($stderr, $pattern, $name) or diag $stdout;
	return;
}

# The catalogs.
is($node->safe_psql('postgres', <<'SQL'), '', 'nothing is granted to PUBLIC');
SELECT p.oid::regprocedure::text
  FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
 WHERE p.pronamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND a.grantee = 0
UNION ALL
SELECT c.relname
  FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, c.relowner))) a
 WHERE c.relnamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND a.grantee = 0
UNION ALL
SELECT c.relname || '.' || attname
  FROM pg_class c JOIN pg_attribute ON attrelid = c.oid, aclexplode(attacl) a
 WHERE c.relnamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND a.grantee = 0
UNION ALL
SELECT nspname
  FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
 WHERE nspname IN ('bench', 'bench_internal') AND a.grantee = 0
SQL
is($node->safe_psql('postgres',
		"SELECT count(*) FROM pg_proc WHERE pronamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND prosecdef"),
	0,
	'no function runs with the rights of its owner');

# Without grants.
my $denied = qr/ERROR:  42501: permission denied for schema bench/;
denied_ok('stranger', $_, $denied, "without grants: $_")
  foreach (
	'SELECT bench.run(transactions => 1)', 'SELECT bench.start(transactions => 1)',
	'SELECT bench.initialize()',           'SELECT bench.cancel(1)',
	'SELECT bench.wait(1)',                'SELECT bench.report(1)',
	'SELECT * FROM bench.compare()',       'SELECT * FROM bench.runs',
	'SELECT * FROM bench.progress');
$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA bench, bench_internal TO stranger');
denied_ok('stranger', $_, qr/ERROR:  42501: permission denied for (function|table|view|aggregate)/,
	"with USAGE only: $_")
  foreach (
	'SELECT bench.run(transactions => 1)', 'SELECT bench.start(transactions => 1)',
	'SELECT bench.initialize()',           'SELECT bench.cancel(1)',
	'SELECT bench.wait(1)',                'SELECT bench.report(1)',
	'SELECT * FROM bench.compare()',       'SELECT * FROM bench.runs',
	'SELECT * FROM bench.progress',        'SELECT * FROM bench.run_summary',
	'SELECT bench_internal.is_live(1, 1)',          'SELECT * FROM bench_internal.live_figures(1, 1)',
	'SELECT bench_internal.settings_of_run()',
	"SELECT bench.percentile('', 50)");

# With grants, in a schema of its own.
is(as('runner', 'SELECT count(*) FROM bench.initialize()'),
	5, 'a role with grants can initialize tables in its schema');
is($node->safe_psql('postgres',
		"SELECT string_agg(DISTINCT tableowner, ' ') FROM pg_tables WHERE schemaname = 'runner'"),
	'runner',
	'they are its own');
is(as('runner', "SELECT state, transactions FROM bench.run(clients => 2, transactions => 10, label => 'by runner')"),
	'finished|20',
	'it can run scripts through SPI');
is(as('runner', 'SELECT count(*) FROM pgbench_history'), 20, 'on its own tables');
is($node->safe_psql('postgres', 'SELECT count(*) FROM public.pgbench_history'),
	0, 'and on no others');
is($node->safe_psql('postgres', "SELECT owner FROM bench.runs WHERE label = 'by runner'"),
	'runner', 'the run is stored as its own');
denied_ok('other', 'SET search_path = runner; SELECT bench.run(transactions => 1)',
	qr/ERROR:  42\w+: /, 'tables of another role');
is(as('runner', 'SELECT count(*) FROM pgbench_history'), 20, 'nothing happened to them');
denied_ok('other', 'SET search_path = public; SELECT bench.initialize()',
	qr/ERROR:  42501: permission denied/, 'initialization in a schema of another role');
denied_ok('runner', "SELECT bench.run(mode => 'libpq', transactions => 1)",
	qr/ERROR:  42501: permission denied for mode "libpq".*HINT:  Use mode => 'spi'/s,
	'loopback connections are refused');
denied_ok('runner', "SELECT bench.start(mode => 'libpq', transactions => 1)",
	qr/ERROR:  42501: permission denied for mode "libpq"/, 'loopback connections of bench.start');
is( as('runner', "SELECT arm, runs, verdict FROM bench.compare(repeats => 1, transactions => 1) WHERE arm <> 'tcp'"),
	qq(in-server|1|baseline\nsocket|0|cannot run: permission denied for mode "libpq"),
	'loopback connections of bench.compare');
# Workers can be such a role's since 17.
denied_ok('postgres', 'SET ROLE nologin; SELECT bench.run(transactions => 1)',
	$node->pg_version < 17
	? qr/ERROR:  28000: role "nologin" is not permitted to log in.*HINT:/s
	: qr/ERROR:  42501: permission denied for table pgbench_branches/,
	'a role that cannot log in');

# SET ROLE: the run is the current role's, with its rights.
is( as('postgres',
		"SET ROLE runner; SET search_path = runner; SELECT state FROM bench.run(transactions => 1, label => 'set role')"
	),
	'finished', 'a superuser who became another role');
is($node->safe_psql('postgres', "SELECT owner FROM bench.runs WHERE label = 'set role'"),
	'runner', 'the run is the role\'s');
denied_ok('postgres', "SET ROLE runner; SELECT bench.run(mode => 'libpq', transactions => 1)",
	qr/ERROR:  42501: permission denied for mode "libpq"/,
	'a superuser who gave up its rights');

# A role's own runs only.
my $run_id = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.runs WHERE label = 'by runner'");
foreach my $table (qw(runs run_scripts run_intervals run_settings run_summary))
{
	cmp_ok(as('runner', "SELECT count(*) FROM bench.$table WHERE run_id = $run_id"),
		'>', 0, "its own rows of $table");
	is(as('other', "SELECT count(*) FROM bench.$table"), 0, "no rows of $table of others");
	cmp_ok(as('postgres', "SELECT count(*) FROM bench.$table WHERE run_id = $run_id"),
		'>', 0, "a superuser sees all rows of $table");
}
like(as('runner', "SELECT bench.report($run_id)"), qr/number of clients: 2/, 'its own report');
denied_ok('other', "SELECT bench.report($run_id)", qr/ERROR:  42704: run $run_id does not exist/,
	'no report of others');
like(as('postgres', "SELECT bench.report($run_id)"), qr/number of clients: 2/,
	'a superuser sees all reports');
denied_ok('other', "SELECT bench.wait($run_id)", qr/ERROR:  42704: run $run_id does not exist/,
	'no waiting for runs of others');

my $live = as('runner', "SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'live')");
wait_for_transactions($node, 'live');
is(as('runner', 'SELECT count(*) FROM bench.progress'), 1, 'its own progress');
is(as('other',  'SELECT count(*) FROM bench.progress'), 0, 'no progress of others');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'),
	1, 'a superuser sees all progress');
denied_ok('other', "SELECT bench.cancel($live)", qr/ERROR:  42704: run $live does not exist/,
	'runs of others cannot be canceled');
denied_ok('other', "SELECT bench.wait($live, '0')", qr/ERROR:  42704: run $live does not exist/,
	'nor waited for');
my $segment = $node->safe_psql('postgres', "SELECT segment FROM bench.runs WHERE run_id = $live");
is(as('other', "SELECT count(*) FROM bench_internal.live_figures($live, $segment)"),
	0, 'no figures of others, even with the number of their segment');
is(as('other', "SELECT bench_internal.is_live($live, $segment)"), 'f',
	'nor whether they are in progress');
is($node->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $live"),
	'running', 'it goes on');
is(as('runner', "SELECT bench.cancel($live)"), 't', 'its own run can be canceled');
is(as('runner', "SELECT state FROM bench.wait($live)"), 'canceled', 'and waited for');

# Result tables are not written by hand, not even by a role that tries to become
# the author of what it stores.
foreach my $table (qw(sets runs run_scripts run_intervals run_settings scripts jobs job_runs alerts))
{
	foreach my $sql (
		"INSERT INTO bench.$table DEFAULT VALUES",
		"DELETE FROM bench.$table",
		"TRUNCATE bench.$table CASCADE")
	{
		denied_ok('runner', $sql, qr/ERROR:  42501: permission denied for table $table/, $sql);
	}
}
denied_ok('runner', "UPDATE bench.runs SET label = 'mine'",
	qr/ERROR:  42501: permission denied for table runs/, 'runs cannot be changed');
denied_ok('runner', "SELECT nextval('bench.run_id_seq')",
	qr/ERROR:  42501: permission denied for sequence run_id_seq/, 'run ids cannot be taken');

# The caller's code, wherever a search_path or a trigger can cause calls: an
# operator, functions, casts, a trigger on its own tables.  It records the role that
# it runs as.
$node->safe_psql('postgres', 'CREATE SCHEMA hostile AUTHORIZATION runner');
my $hostile = <<'SQL';
SET search_path = hostile, pg_catalog;
CREATE TABLE seen (who name, what text);
GRANT INSERT ON seen TO PUBLIC;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE FUNCTION note(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hostile.seen VALUES (current_user, what);
END $$;
CREATE FUNCTION equal(a bigint, b bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('operator = bigint'); RETURN int8eq(a, b); END $$;
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = equal);
CREATE FUNCTION equal(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('operator = text'); RETURN texteq(a, b); END $$;
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = equal);
CREATE FUNCTION equal(a name, b name) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('operator = name'); RETURN nameeq(a, b); END $$;
CREATE OPERATOR = (LEFTARG = name, RIGHTARG = name, FUNCTION = equal);
CREATE FUNCTION equal(a oid, b oid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('operator = oid'); RETURN oideq(a, b); END $$;
CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = oid, FUNCTION = equal);
CREATE FUNCTION jsonb_populate_record(a anyelement, b jsonb) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('jsonb_populate_record'); RETURN pg_catalog.jsonb_populate_record(a, b); END $$;
CREATE FUNCTION jsonb_populate_recordset(a anyelement, b jsonb) RETURNS SETOF anyelement LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('jsonb_populate_recordset'); RETURN QUERY SELECT * FROM pg_catalog.jsonb_populate_recordset(a, b); END $$;
CREATE FUNCTION nextval(a regclass) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('nextval'); RETURN pg_catalog.nextval(a); END $$;
CREATE FUNCTION current_setting(a text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('current_setting'); RETURN pg_catalog.current_setting(a); END $$;
CREATE FUNCTION to_regclass(a text) RETURNS regclass LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('to_regclass'); RETURN pg_catalog.to_regclass(a); END $$;
CREATE FUNCTION count(a boolean) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('count'); RETURN 1; END $$;
CREATE FUNCTION minus(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: -'); RETURN int4mi(a, b); END $$;
CREATE OPERATOR - (LEFTARG = int, RIGHTARG = int, FUNCTION = minus);
CREATE FUNCTION over(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: /'); RETURN int4div(a, b); END $$;
CREATE OPERATOR / (LEFTARG = int, RIGHTARG = int, FUNCTION = over);
CREATE FUNCTION plus(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: +'); RETURN int4pl(a, b); END $$;
CREATE OPERATOR + (LEFTARG = int, RIGHTARG = int, FUNCTION = plus);
CREATE FUNCTION generate_series(a int, b int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: generate_series'); RETURN QUERY SELECT * FROM pg_catalog.generate_series(a, b); END $$;
CREATE FUNCTION sum_state(a numeric, b bigint) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: sum'); RETURN coalesce(a, 0) OPERATOR(pg_catalog.+) b; END $$;
CREATE AGGREGATE sum(bigint) (SFUNC = sum_state, STYPE = numeric);
CREATE FUNCTION equal_id(a oid, b int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('loader: oid = int'); RETURN oideq(a, b::oid); END $$;
CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = int, FUNCTION = equal_id);
CREATE FUNCTION pg_blocking_pids(a int) RETURNS int[] LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('pg_blocking_pids'); RETURN pg_catalog.pg_blocking_pids(a); END $$;
CREATE VIEW pg_settings AS SELECT * FROM pg_catalog.pg_settings WHERE note('pg_settings') IS NOT NULL;
CREATE VIEW pg_class AS SELECT * FROM pg_catalog.pg_class WHERE note('pg_class') IS NOT NULL;
SQL
my ($out, $err) = as('runner', $hostile);
is($err, '', 'hostile objects are there');
is(as('runner', 'SET search_path = hostile, pg_catalog; SELECT count(*) FROM bench.initialize()'),
	5, 'initialization among hostile objects');
foreach my $call ("bench.initialize(steps => 'dtGvp')", "bench.initialize_pgio(size => '100')",
	"bench.initialize_pgio(size => '100')", 'bench.initialize(partitions => 2)', 'bench.initialize()')
{
	is(as('runner', "SET search_path = hostile, pg_catalog; SELECT count(*) FROM $call"),
		5, "$call among hostile objects");
}
is($node->safe_psql('postgres', 'SELECT DISTINCT what FROM hostile.seen'),
	'', 'the loader calls none of them');
($out, $err) = as('runner', <<'SQL');
SET search_path = hostile, pg_catalog;
CREATE FUNCTION by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('trigger on ' || TG_TABLE_NAME); RETURN NULL; END $$;
CREATE TRIGGER t AFTER INSERT OR UPDATE OR TRUNCATE ON pgbench_history EXECUTE FUNCTION by_trigger();
CREATE FUNCTION of_index(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN PERFORM hostile.note('index'); RETURN a; END $$;
CREATE INDEX ON pgbench_branches (of_index(bbalance));
SQL
is($err, '', 'hostile triggers are there');
my $run = as('runner',
	"SET search_path = hostile, pg_catalog; SELECT run_id FROM bench.run(clients => 2, transactions => 5, label => 'hostile', vacuum => 'all')"
);
like($run, qr/^\d+$/, 'a run among hostile objects');
as('runner', "SET search_path = hostile, pg_catalog; SELECT bench.report($run)");
as('runner', "SET search_path = hostile, pg_catalog; SELECT bench.wait($run)");
as('runner', "SET search_path = hostile, pg_catalog; SELECT bench.cancel($run)");
as('runner', 'SET search_path = hostile, pg_catalog; SELECT * FROM bench.progress');
as('runner', "SET search_path = hostile, pg_catalog; SELECT bench.cancel(bench.start(duration => '10 min'))");
wait_until_quiet($node);
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT who, ' ') FROM hostile.seen"),
	'runner', 'hostile code ran as the caller only')
  or diag $node->safe_psql('postgres', 'SELECT DISTINCT who, what FROM hostile.seen');
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM hostile.seen WHERE what LIKE 'trigger%'"),
	'>', 0, 'hostile code was called at all');
# A superuser in the same schema runs this code in its own statements, but not in
# internal statements of the extension.
$node->safe_psql('postgres', 'TRUNCATE hostile.seen; DROP TRIGGER t ON hostile.pgbench_history;');
$node->safe_psql('postgres', 'DROP INDEX hostile.pgbench_branches_of_index_idx');
$node->safe_psql('postgres',
	'SET search_path = hostile, pg_catalog; SET client_min_messages = error; SELECT bench.run(scripts => \'select-only\', transactions => 1, vacuum => \'none\')');
is( $node->safe_psql('postgres',
		"SELECT DISTINCT who, what FROM hostile.seen WHERE what NOT LIKE 'operator%'"),
	'',
	'a superuser calls no hostile function by mistake');

# Row security of the role, and the switch for it, do not confuse the extension.
is(as('runner', "SET row_security = off; SET search_path = runner; SELECT state FROM bench.run(transactions => 1)"),
	'finished', 'row_security = off');

# A role that may only connect blocks nothing with advisory locks: sets, teardowns, initializations and
# imports have locks that SQL cannot take.
$run_id = $node->safe_psql('postgres', q{
	SET client_min_messages = error;
	SELECT run_id FROM bench.run('select-only', transactions => 1, teardown => 'DROP TABLE missing')});
my $document = $node->safe_psql('postgres', "SELECT bench.export_run(run_id) FROM bench.run('select-only', transactions => 1)");
$node->safe_psql('postgres', "CREATE TABLE documents AS SELECT \$document\$$document\$document\$::json AS document; CREATE TABLE missing ()");
my $keys = $node->safe_psql('postgres', <<'SQL');
SELECT format('SELECT pg_advisory_lock(%s, n) FROM generate_series(1, 100) n;
               SELECT pg_advisory_lock(%s, n) FROM generate_series(1, 100) n;
               SELECT pg_advisory_lock(%s), pg_advisory_lock(%s), pg_advisory_lock(%s, %s);',
              'bench.sets'::regclass::oid, hashtext('bench.finish_teardown'),
              x'7067622d00000000'::bigint + 'public'::regnamespace::oid::bigint,
              x'7067696f00000000'::bigint + 'public'::regnamespace::oid::bigint,
              'bench.runs'::regclass::oid,
              hashtext('postgres'::regrole::oid || jsonb_strip_nulls(to_jsonb(s))::text))
  FROM documents, json_to_record(document -> 'source') AS s (
       system_identifier text, cluster_name text, server_version text, database text, owner text, run_id bigint, label text)
SQL
my $locker = $node->background_psql('postgres', extra_params => [qw(-U stranger)]);
$locker->query_safe($keys);
foreach my $case (
	[ 'a set', q{SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'select-only', repeats => 1, transactions => 1)}, 2 ],
	[ 'initialize', 'SELECT count(*) FROM bench.initialize()', 5 ],
	[ 'initialize_pgio', q{SELECT count(*) FROM bench.initialize_pgio(size => '100')}, 5 ],
	[ 'finish_teardown', "SELECT bench.finish_teardown($run_id)", 't' ],
	[ 'import_run', 'SELECT bench.import_run(document) > 0 FROM documents', 't' ],)
{
	my ($name, $call, $result) = @$case;
	my ($stdout, $stderr) = as('postgres', "SET statement_timeout = '60s'; $call");
	is($stdout, $result, "advisory locks do not block: $name") or diag $stderr;
}
is( $node->safe_psql('postgres', "UPDATE bench.sets SET state = 'running'; SELECT DISTINCT state FROM bench.set_summary"),
	'lost',
	'nor do they make a set seem to be in progress');
$locker->quit;

# Another owner than the bootstrap superuser.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE boss SUPERUSER LOGIN;
CREATE DATABASE owned OWNER runner;
SQL
$node->psql('owned', 'CREATE EXTENSION pg_selfbench', extra_params => [qw(-U boss)]);
is( $node->safe_psql('owned',
		"SELECT count(*) FROM bench.initialize(); SELECT state FROM bench.run(transactions => 1)"),
	"5\nfinished",
	'an extension that another superuser owns');
$node->safe_psql('owned', <<'SQL');
SELECT bench.grant_to('runner');
CREATE SCHEMA AUTHORIZATION runner;
SQL
is( $node->safe_psql('owned',
		'SELECT count(*) FROM bench.initialize(); SELECT state FROM bench.run(transactions => 1)',
		extra_params => [qw(-U runner)]),
	"5\nfinished",
	'and a role with grants in it');

# An owner that is no superuser any more, to which row-level security may even be applied, stores runs of
# all roles, and takes none in progress for lost.
$node->safe_psql('owned', q{
	ALTER ROLE boss NOSUPERUSER;
	SELECT bench.grant_to('other');
	SET ROLE runner;
	SELECT bench.define_script('rest', 'SELECT pg_sleep(600)');
	RESET ROLE; SET ROLE other;
	SELECT bench.define_script('one', 'SELECT 1')});
my $resting = $node->safe_psql('owned', q{SELECT bench.start('rest', transactions => 1)}, extra_params => [qw(-U runner)]);
foreach my $security ('', 'FORCE ROW LEVEL SECURITY')
{
	$node->safe_psql('owned', <<"SQL") if $security;
DO \$\$
DECLARE
    tab regclass;
BEGIN
    FOR tab IN SELECT oid FROM pg_class WHERE relnamespace = 'bench'::regnamespace AND relrowsecurity LOOP
        EXECUTE format('ALTER TABLE %s $security', tab);
    END LOOP;
END \$\$
SQL
	is( $node->safe_psql('owned', q{SELECT state FROM bench.run('one', transactions => 1, log => true)}, extra_params => [qw(-U other)]),
		'finished', "an owner without privileges $security: a run of another role");
	is( $node->safe_psql('owned', "SELECT state FROM bench.runs WHERE run_id = $resting"),
		'running', "an owner without privileges $security: a run in progress");
	is( $node->safe_psql('owned', 'SELECT count(*) FROM bench.delete_runs((SELECT array_agg(run_id) FROM bench.runs))',
			extra_params => [qw(-U other)]),
		1, "an owner without privileges $security: deletes runs of another role");
}
is($node->safe_psql('owned', "SELECT bench.cancel($resting)", extra_params => [qw(-U runner)]), 't', 'it can be canceled');
is( $node->safe_psql('owned', "SELECT state FROM bench.wait($resting)", extra_params => [qw(-U runner)]),
	'canceled', 'and its end is stored');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
