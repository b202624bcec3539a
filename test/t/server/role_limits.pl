# Limits of roles, pg_selfbench.max_clients and others: who sets them, and who cannot.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('role_limits', 'max_worker_processes = 24');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE tester LOGIN;
CREATE ROLE free LOGIN;
GRANT free TO tester;
SELECT bench.grant_to('tester'), bench.grant_to('free');
CREATE SCHEMA tester AUTHORIZATION tester;
GRANT USAGE ON SCHEMA tester TO PUBLIC;
CREATE DATABASE other;
SQL
$node->safe_psql('other', "CREATE EXTENSION pg_selfbench; SELECT bench.grant_to('tester')");

sub sql { return sql_as($node, @_); }
sub error { return error_as($node, @_); }

# A run with that many clients, without the rest of its options.
sub run_of
{
	my ($clients) = @_;
	return "SELECT state FROM bench.run(sql => 'SELECT 1', clients => $clients, transactions => 2)";
}

my $three = run_of(3);
my $refused = qr/ERROR:  53400: number of clients \(3\) exceeds limit "pg_selfbench\.max_clients" \(2\)
DETAIL:  It is the limit of role "tester", set by ALTER ROLE tester SET\.
HINT:  A superuser, or a role with the SET privilege on the parameter, can change it: ALTER ROLE \.\.\. SET pg_selfbench\.max_clients, ALTER DATABASE \.\.\. SET, or the configuration file\./;
is(sql($three, 'tester'), 'finished', 'without a limit');
sql('ALTER ROLE tester SET pg_selfbench.max_clients = 2');
like(error($three, 'tester'), $refused, 'a limit of the role');
is(sql(run_of(2), 'tester'), 'finished', 'what it allows');
is(sql($three), 'finished', 'other roles do not have it');
is(sql("SELECT count(*) FROM bench.runs WHERE clients = 3"), 2, 'a run that is refused is not stored');

# Attempts of the role to get rid of it.
{
	local $ENV{PGOPTIONS} = '-c pg_selfbench.max_clients=100';
	like(error($three, 'tester'), $refused, 'PGOPTIONS');
}
like(error("SET pg_selfbench.max_clients = 100; $three", 'tester'), $refused, 'SET before the library is loaded');
my $loaded = 'SELECT bench.session_usage() IS NULL;';
like(error("$loaded SET pg_selfbench.max_clients = 100", 'tester'), qr/42501: permission denied to set parameter "pg_selfbench.max_clients"/, 'SET when it is');
like(error("$loaded SET pg_selfbench.most = 100", 'tester'), qr/42602: invalid configuration parameter name "pg_selfbench.most"/, 'no other settings');
like(error("SET ROLE free; $three", 'tester'), $refused, 'SET ROLE to a role without a limit');
like(error("SET ROLE tester; $three"), $refused, 'SET ROLE to one with a limit');
sql(<<"SQL");
CREATE FUNCTION tester.as_superuser() RETURNS text SECURITY DEFINER LANGUAGE sql AS \$\$ $three \$\$;
CREATE FUNCTION tester.as_tester() RETURNS text SECURITY DEFINER LANGUAGE sql AS \$\$ $three \$\$;
ALTER FUNCTION tester.as_tester() OWNER TO tester;
SQL
like(error('SELECT tester.as_superuser()', 'tester'), $refused, 'a function of a superuser, SECURITY DEFINER');
like(error('SELECT tester.as_tester()'), $refused, 'such a function of the role, called by a superuser');
my $with_set = "CREATE FUNCTION tester.with_set() RETURNS text SET pg_selfbench.max_clients = 100 LANGUAGE sql AS \$\$ $three \$\$";
like(error($with_set, 'tester'), qr/42501: permission denied to set parameter "pg_selfbench.max_clients"/, "a function's SET");
sql($with_set);
like(error('SELECT tester.with_set()', 'tester'), $refused, "that of a superuser's function");
foreach my $before ('', $loaded)
{
	my $when = $before eq '' ? 'before the library is loaded' : 'after that';
	like(error("$before ALTER ROLE tester SET pg_selfbench.max_clients = 100", 'tester'), qr/42501: permission denied to set parameter/, "ALTER ROLE SET $when");
	like(error("$before ALTER ROLE tester RESET pg_selfbench.max_clients", 'tester'), qr/42501: permission denied to set parameter/, "ALTER ROLE RESET $when");
	sql("$before ALTER ROLE tester RESET ALL", 'tester');
	like(error($three, 'tester'), $refused, "ALTER ROLE RESET ALL $when");
}
like(error("SET pg_selfbench.max_clients = 100; SET ROLE tester; $three"), $refused, 'SET of a superuser does not reach it either');

# Runs within runs of another role, which the workers connect as: the limits of the session user hold.
my $within = "SELECT bench.start(sql => ''SELECT 1'', clients => 3, transactions => 1)";
my $refused_within = qr/number of clients \(3\) exceeds limit "pg_selfbench\.max_clients" \(2\)/;
sql(<<"SQL");
CREATE FUNCTION tester.as_free() RETURNS bigint SECURITY DEFINER LANGUAGE sql AS
\$\$ SELECT run_id FROM bench.run(sql => '$within', transactions => 1) \$\$;
ALTER FUNCTION tester.as_free() OWNER TO free;
SQL
like(error("SET ROLE free; SELECT run_id FROM bench.run(sql => '$within', transactions => 1)", 'tester'), $refused_within, 'a script that makes a run');
like(error("SET ROLE free; SELECT run_id FROM bench.run(sql => 'SELECT 1', setup => '$within', transactions => 1)", 'tester'), $refused_within, 'a setup that does');
sql('GRANT postgres TO tester');
like(error("SET ROLE postgres; SELECT run_id FROM bench.run(sql => '$within', transactions => 1, client_process => 'backend')", 'tester'), $refused_within, 'a script in a backend');
sql('REVOKE postgres FROM tester');
like(error('SELECT tester.as_free()', 'tester'), $refused_within, "a function of another role that does");
sql("SELECT FROM bench.schedule('within', '0 3 * * *', '{\"sql\": \"SELECT 1\", \"clients\": 3, \"transactions\": 1}', confirm => 0)", 'free');
sql("SET ROLE free; SELECT bench.run_job('within')", 'tester');
wait_for($node, "SELECT state <> 'running' FROM bench.job_runs WHERE job_name = 'within'");
like(sql("SELECT message FROM bench.job_runs WHERE job_name = 'within'"), $refused_within, 'a job of another role');
wait_until_quiet($node);
sql("DELETE FROM bench.job_runs; DELETE FROM bench.jobs");

# The SET privilege is that to change it for roles; SET alone has no effect.
sql('GRANT SET ON PARAMETER pg_selfbench.max_clients TO tester');
like(error("$loaded SET pg_selfbench.max_clients = 100; $three", 'tester'), $refused, 'SET with the privilege');
sql('ALTER ROLE tester SET pg_selfbench.max_clients = 3', 'tester');
is(sql($three, 'tester'), 'finished', 'ALTER ROLE with the privilege');
sql('REVOKE SET ON PARAMETER pg_selfbench.max_clients FROM tester');

# What overrides what, as with other settings.
sub limit_of
{
	my ($role, $database) = @_;
	my ($limit) = error(run_of(20), $role, $database) =~ /"pg_selfbench\.max_clients" \((\d+)\)/;
	return $limit;
}
$node->append_conf('postgresql.conf', 'pg_selfbench.max_clients = 8');
$node->restart;
is(limit_of('free'), 8, 'configuration file');
like(error(run_of(20), 'free'), qr/DETAIL:  It is the limit of role "free", set in the configuration file\./, 'the error says so');
sql('ALTER ROLE ALL SET pg_selfbench.max_clients = 7');
is(limit_of('free'), 7, 'ALTER ROLE ALL');
sql('ALTER DATABASE postgres SET pg_selfbench.max_clients = 6');
is(limit_of('free'), 6, 'ALTER DATABASE');
is(limit_of('tester'), 3, 'ALTER ROLE');
sql('ALTER ROLE tester IN DATABASE postgres SET "PG_SELFBENCH.Max_Clients" = 5');
is(limit_of('tester'), 5, 'ALTER ROLE IN DATABASE');
is(limit_of('tester', 'other'), 3, 'not in others');
sql('ALTER ROLE tester IN DATABASE postgres SET pg_selfbench.max_clients = -1');
is(sql(run_of(9), 'tester'), 'finished', 'no limit');
sql("ALTER ROLE tester IN DATABASE postgres SET pg_selfbench.max_clients = 'many'");
like(error(run_of(1), 'tester'), qr/22023: invalid value for parameter "pg_selfbench.max_clients": "many"
DETAIL:  It is the limit of role "tester", set by ALTER ROLE tester IN DATABASE postgres SET\. No run is allowed\./, 'a value that is none allows nothing');
sql('ALTER ROLE tester IN DATABASE postgres RESET ALL; ALTER ROLE tester SET pg_selfbench.max_client = 1');
like(error(run_of(1), 'tester'), qr/42704: unrecognized configuration parameter "pg_selfbench.max_client" of role "tester"/, 'nor does a name that is none');
sql(<<'SQL');
ALTER ROLE tester IN DATABASE postgres RESET ALL;
ALTER ROLE tester RESET ALL;
ALTER DATABASE postgres RESET ALL;
ALTER ROLE ALL RESET ALL;
SQL
$node->append_conf('postgresql.conf', 'pg_selfbench.max_clients = -1');
$node->restart;
is(sql(run_of(9), 'tester'), 'finished', 'without limits');

# Values in the configuration file that are not valid. The server knows that when the library is loaded.
foreach ([ max_clients => 'abc' ], [ max_clients => '2 clients' ], [ max_rows_logged => '-5' ], [ max_concurrent_runs => '99999999999' ],
	[ max_duration => '10 minuts' ], [ allow_profile => 'nope' ])
{
	my ($name, $value) = @$_;
	$node->append_conf('postgresql.conf', "pg_selfbench.$name = '$value'");
	$node->restart;
	like(error(run_of(1), 'free'), qr/22023: invalid value for parameter "pg_selfbench\.$name": "$value"
DETAIL:  It is the limit of role "free", set in the configuration file\. No run is allowed\./, "$name = '$value'");
	$node->append_conf('postgresql.conf', "pg_selfbench.$name = " . ($name eq 'allow_profile' ? 'on' : -1));
}
$node->restart;
is(sql(run_of(1), 'free'), 'finished', 'without them');

# Durations.
sql("ALTER ROLE tester SET pg_selfbench.max_duration = '500 ms'");
like(error("SELECT bench.run(sql => 'SELECT 1', duration => '100 ms')", 'tester'),
	qr/exceeds limit "pg_selfbench\.max_duration" \(0 s\)\nDETAIL:  .* It is rounded to whole seconds; 0 allows no run\./, 'less than a second');
sql("ALTER ROLE tester SET pg_selfbench.max_duration = '2 s'");
like(error("SELECT bench.run(sql => 'SELECT 1', duration => '1 s', warmup => '1500 ms')", 'tester'),
	qr/53400: duration of the run with its warm-up \(2\.5 s\) exceeds limit "pg_selfbench\.max_duration" \(2 s\)/, 'the warm-up counts');
like(error("SELECT bench.run(sql => 'SELECT 1', duration => '1 s', warmup => NULL, max_warmup => '60 s')", 'tester'), qr/with its warm-up \(61 s\) exceeds/, 'also if it ends when the run is steady');
is(sql("SELECT state FROM bench.run(sql => 'SELECT 1', duration => '2 s')", 'tester'), 'finished', 'what is allowed');
my $ended = "SELECT r.state, r.transactions > 0, r.errors[1] FROM bench.runs r WHERE r.run_id = (SELECT max(run_id) FROM bench.runs)";
my $at_most = 'duration of the run exceeds limit "pg_selfbench.max_duration" (2 s)';
sql("SELECT bench.run(sql => 'SELECT pg_sleep(0.01)', transactions => 1000000)", 'tester');
like(sql($ended), qr/^failed\|t\|\Q$at_most\E/, 'a number of transactions ends then');
like(error("SELECT bench.run(sql => 'SELECT pg_sleep(600)', transactions => 1)", 'tester'), qr/ERROR:  57000: \Q$at_most\E/, 'the error says why');
like(sql($ended), qr/^failed\|f\|\Q$at_most\E/, 'also during a statement');
ok(wait_until_quiet($node), 'no process is left');
sql('ALTER ROLE tester RESET ALL');

# The log.
sql('ALTER ROLE tester SET pg_selfbench.max_rows_logged = 10');
like(error("SELECT bench.run(sql => 'SELECT 1', clients => 2, transactions => 6, log => true)", 'tester'),
	qr/53400: number of transactions in the log \(12\) exceeds limit "pg_selfbench\.max_rows_logged" \(10\)/, 'a log that is too long');
is(sql("SELECT state FROM bench.run(sql => 'SELECT 1', clients => 2, transactions => 5, log => true)", 'tester'), 'finished', 'one that is not');
is(sql("SELECT state FROM bench.run(sql => 'SELECT 1', clients => 2, transactions => 6)", 'tester'), 'finished', 'none');
sql("SELECT bench.run(sql => 'SELECT 1', duration => '1 s', log => true)", 'tester');
is(sql('SELECT count(*) FROM bench.transactions WHERE run_id = (SELECT max(run_id) FROM bench.runs)'), 10, 'it ends there');
like(sql("SELECT errors::text FROM bench.runs ORDER BY run_id DESC LIMIT 1"), qr/number of transactions in the log exceeds limit \\"pg_selfbench\.max_rows_logged\\" \(10\)/, 'and the run says so');
sql('ALTER ROLE tester RESET ALL');

# Profiles.
sql('ALTER ROLE tester SET pg_selfbench.allow_profile = off');
like(error("SELECT bench.run(sql => 'SELECT 1', transactions => 1, profile => true)", 'tester'),
	qr/53400: option "profile" is not allowed by "pg_selfbench\.allow_profile"/, 'a profile');
is(sql("SELECT state FROM bench.run(sql => 'SELECT 1', transactions => 1)", 'tester'), 'finished', 'a run without');
sql('ALTER ROLE tester RESET ALL');

# Sets and jobs.
my $job = "SELECT FROM bench.schedule('big', '0 3 * * *', '{\"sql\": \"SELECT 1\", \"clients\": 3, \"transactions\": 1}', confirm => 0)";
sql($job, 'tester');
sql('ALTER ROLE tester SET pg_selfbench.max_clients = 2');
my $runs = sql('SELECT count(*) FROM bench.runs');
my $sets = sql('SELECT count(*) FROM bench.sets');
like(error("SELECT bench.sweep('{\"clients\": [1, 2, 3]}', sql => 'SELECT 1', transactions => 1, repeats => 1)", 'tester'), $refused, 'a sweep');
like(error("SELECT bench.compare('[{\"clients\": 1}, {\"clients\": 3}]', sql => 'SELECT 1', transactions => 1, repeats => 1)", 'tester'), $refused, 'a comparison');
like(error("SELECT bench.find_capacity(sql => 'SELECT 1', clients => 3, latency_limit => 10)", 'tester'), $refused, 'a search');
is(sql('SELECT count(*) FROM bench.runs') - $runs, 0, 'before the first run');
is(sql('SELECT count(*) FROM bench.sets') - $sets, 0, 'and without a row');
like(error($job, 'tester'), $refused, 'a job when it is scheduled');
sql("SELECT bench.run_job('big')", 'tester');
wait_for($node, "SELECT state <> 'running' FROM bench.job_runs");
like(sql('SELECT state, message FROM bench.job_runs'), qr/^failed\|number of clients \(3\) exceeds limit/, 'and when it runs');
wait_until_quiet($node);
sql('ALTER ROLE tester RESET ALL');

# Runs at the same time, of a session user in all databases.
sql('ALTER ROLE tester SET pg_selfbench.max_concurrent_runs = 1');
my $one = "SELECT state FROM bench.run(sql => 'SELECT 1', transactions => 1)";
is(sql("$one; $one; $one; SELECT state FROM bench.wait(bench.start(sql => 'SELECT 1', transactions => 1)); $one", 'tester'),
	join("\n", ('finished') x 5), 'runs one after the other');
is(sql("SELECT sum(runs) FROM bench.compare('[{\"name\": \"a\"}, {\"name\": \"b\"}]', sql => 'SELECT 1', transactions => 1, repeats => 2)", 'tester'), 4, 'those of a set');
my $too_many = qr/53400: number of runs at the same time \(2\) exceeds limit "pg_selfbench\.max_concurrent_runs" \(1\)/;
foreach my $round (1 .. 5)
{
	my @starts = map { start_sql($node, "SELECT bench.start(sql => 'SELECT pg_sleep(0.1)', duration => '1 h')", user => 'tester') } 1, 2;
	my (@ids, @errors);
	foreach my $start (@starts)
	{
		my ($id, $error) = finish_sql($start);
		push @ids, $id if $id ne '';
		push @errors, $error if $error =~ $too_many;
	}
	is(scalar(@ids) . ' ' . scalar(@errors), '1 1', "one of two that start at once, round $round");
	if ($round == 5)
	{
		like(error($one, 'tester'), $too_many, 'a third one');
		like(error($one, 'tester'), qr/HINT:  Wait until a run has ended, or cancel one with bench\.cancel\./, 'what to do');
		like(error($one, 'tester', 'other'), $too_many, 'in another database');
		like(error("SET ROLE free; $one", 'tester'), $too_many, 'as another role');
		is(sql("SET ROLE tester; $one"), 'finished', 'another session user has runs of its own');
	}
	sql("SELECT bench.cancel($_)", 'tester') foreach @ids;
	sql("SELECT FROM bench.wait($_)", 'tester') foreach @ids;
	wait_until_quiet($node);
}
is(sql($one, 'tester'), 'finished', 'then there is room again');

# A trigger of the role that runs in the coordinator cannot end that a run counts.
sql(<<'SQL', 'tester');
CREATE TABLE tester.pgbench_branches();
CREATE TABLE tester.pgbench_tellers();
CREATE TABLE tester.pgbench_history();
CREATE SEQUENCE tester.unlocked;
CREATE FUNCTION tester.unlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tester.unlocked'), pg_advisory_unlock_all(); RETURN NULL; END $$;
CREATE TRIGGER unlock BEFORE TRUNCATE ON tester.pgbench_history EXECUTE FUNCTION tester.unlock();
SQL
my $run_id = sql("SELECT bench.start(sql => 'SELECT pg_sleep(0.1)', duration => '1 h', vacuum => 'always', label => 'unlocked')", 'tester');
wait_for_transactions($node, 'unlocked');
is(sql('SELECT is_called FROM tester.unlocked', 'tester'), 't', 'it has run');
like(error($one, 'tester'), $too_many, 'it still counts');
sql("SELECT bench.cancel($run_id); SELECT FROM bench.wait($run_id)", 'tester');

nothing_left_ok($node, 'role_limits');
$node->stop;
done_testing();
