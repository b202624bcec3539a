# Another server as the target of mode libpq and of initializations: what happens
# there and not here, who may use it, that passwords do not leak, and that nothing
# hangs if the target does.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(dblink pg_visibility postgres_fdw));

my $secret = 'pW9kq2Zx';

# The operating system user of the server has a password in a file, which is not for
# other roles.  All statements of this test would be logged otherwise.
my $pgpass = "$PostgreSQL::Test::Utils::tmp_check/pgpass";
append_to_file($pgpass, "*:*:*:keeper:$secret\n");
chmod 0600, $pgpass;
$ENV{PGPASSFILE} = $pgpass;
my $here = new_bench_node('here', <<'CONF');
log_statement = 'none'
log_min_duration_statement = -1
log_min_error_statement = 'panic'
max_worker_processes = 20
CONF
delete $ENV{PGPASSFILE};

# The target needs no extension.  It asks some roles for a password.
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
my $hba = slurp_file($far->data_dir . '/pg_hba.conf');
unlink $far->data_dir . '/pg_hba.conf';
append_to_file($far->data_dir . '/pg_hba.conf',
	"local all guest,keeper scram-sha-256\nhost all guest,keeper all scram-sha-256\n$hba");
$far->start;
$far->safe_psql('postgres', <<"SQL");
CREATE ROLE guest LOGIN PASSWORD '$secret';
CREATE ROLE keeper LOGIN PASSWORD '$secret';
CREATE ROLE trusted LOGIN PASSWORD '$secret';
CREATE SCHEMA AUTHORIZATION guest;
CREATE SCHEMA AUTHORIZATION trusted;
ALTER ROLE guest SET search_path = "\$user";
ALTER ROLE trusted SET search_path = "\$user";
CREATE SCHEMA others;
CREATE TABLE others.pgbench_accounts ();
CREATE EXTENSION pg_visibility;
CREATE DATABASE bare;
SQL

# Here, too, a role has a password.
$hba = slurp_file($here->data_dir . '/pg_hba.conf');
unlink $here->data_dir . '/pg_hba.conf';
append_to_file($here->data_dir . '/pg_hba.conf',
	"local all self scram-sha-256\nhost all self all scram-sha-256\n$hba");
$here->safe_psql('postgres', <<"SQL");
CREATE ROLE self LOGIN PASSWORD '$secret';
CREATE SCHEMA AUTHORIZATION self;
ALTER ROLE self SET search_path = "\$user";
SQL
$here->reload;

# Connection strings as SQL literals.
sub literal
{
	my ($text) = @_;
	$text =~ s/'/''/g;
	return "'$text'";
}

sub target
{
	my ($database, $rest) = @_;
	return literal($far->connstr($database // 'postgres') . (defined $rest ? " $rest" : ''));
}

my $target = target();

# SQL in $here: its standard output, and its errors with their SQLSTATE.
sub here
{
	my ($sql, $user) = @_;
	my ($status, $stdout, $stderr) = $here->psql(
		'postgres', "\\set VERBOSITY verbose\nSET client_min_messages = error;\n$sql",
		defined $user ? (extra_params => [ '-U', $user ]) : ());
	unlike($stderr, qr/\Q$secret/, 'no password in an error') if $stderr =~ /\Q$secret/;
	return wantarray ? ($stdout, $stderr) : $stdout;
}

sub fails_ok
{
	my ($sql, $pattern, $name, $user) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($stdout, $stderr) = here($sql, $user);
	return like($stderr, $pattern, $name) || diag($stdout);
}

# What pgbench's tables in the target are.
sub tables
{
	return $far->safe_psql('postgres', <<'SQL');
SELECT count(*), md5(string_agg(t::text, ',' ORDER BY bid)) FROM pgbench_branches t;
SELECT count(*), md5(string_agg(t::text, ',' ORDER BY tid)) FROM pgbench_tellers t;
SELECT count(*), md5(string_agg(t::text, ',' ORDER BY aid)) FROM pgbench_accounts t;
SELECT count(*) FROM pgbench_history;
SQL
}

# Initialization.
is( here("SELECT string_agg(step, ',') FROM bench.initialize(scale => 2, target => $target)"),
	'drop tables,create tables,generate rows,vacuum,primary keys',
	'initialization of the target');
my $tables = tables();
like($tables, qr/^2\|.*\n20\|.*\n200000\|.*\n0$/, 'its rows');
is($here->safe_psql('postgres', "SELECT to_regclass('pgbench_branches') IS NULL"),
	't', 'no table is here');
is( here(
		"SELECT count(*) FROM bench.initialize(scale => 2, steps => 'dtGvp', foreign_keys => true, partitions => 3, partition_method => 'hash', target => $target)"
	),
	6,
	'rows made by the target');
is(tables(), $tables, 'they are the same');
is($far->safe_psql('postgres', <<'SQL'), '3|hash|5', 'partitions and foreign keys');
SELECT (SELECT count(*) FROM pg_inherits WHERE inhparent = 'pgbench_accounts'::regclass),
       (SELECT CASE partstrat WHEN 'h' THEN 'hash' END FROM pg_partitioned_table),
       (SELECT count(*) FROM pg_constraint
         WHERE contype = 'f' AND conparentid = 0 AND conrelid::regclass::text LIKE 'pgbench%')
SQL
like(
	here("SELECT bench.report(run_id) FROM bench.run(mode => 'libpq', transactions => 1, scripts => 'select-only', target => $target)"),
	qr/^scaling factor: 2\npartition method: hash\npartitions: 3\n/m,
	'scale and partitions of a run are the target\'s');
is( here(
		"SELECT count(*) FROM bench.initialize(scale => 2, steps => 'dtg', partitions => 2, target => $target)"
	),
	3,
	'rows copied into partitions');
is(tables(), $tables, 'they are the same, too');
is(here("SELECT count(*) FROM bench.initialize(scale => 2, steps => 'dtg', target => $target)"),
	3, 'rows copied into a table');
is( $far->safe_psql('postgres',
		"SELECT all_frozen > 0 FROM pg_visibility_map_summary('pgbench_accounts')"),
	't',
	'they are frozen');
is(here("SELECT count(*) FROM bench.initialize(scale => 2, steps => 'vp', target => $target)"),
	2, 'the other steps');
fails_ok(
	'SELECT bench.initialize(target => ' . target('postgres', "options='-c search_path=others'") . ')',
	qr/ERROR:  42809: refusing to replace "pgbench_accounts": its columns are \(\)/,
	'a table of the target that is not pgbench\'s');
fails_ok(
	"SELECT bench.initialize(tablespace => 'nowhere', target => $target)",
	qr/ERROR:  42704: tablespace "nowhere" does not exist/,
	'an error of the target in a step');
here("SELECT bench.initialize(scale => 2, target => $target)");

# The target talks back while rows are copied to it, more than any buffer holds.
$far->safe_psql('postgres', <<'SQL');
CREATE FUNCTION talk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE NOTICE '%', repeat('x', 200); RETURN NEW; END $$;
CREATE TRIGGER talk BEFORE INSERT ON pgbench_accounts FOR EACH ROW EXECUTE FUNCTION talk();
SQL
is(here("SELECT count(*) FROM bench.initialize(steps => 'g', scale => 2, target => $target)"),
	1, 'rows copied to a target that talks back');
is(tables(), $tables, 'they are all there');
$far->safe_psql('postgres', 'ALTER TABLE pgbench_tellers ADD CONSTRAINT few CHECK (tid < 10) NOT VALID');
fails_ok(
	"SELECT bench.initialize(steps => 'g', target => $target)",
	qr/ERROR:  23514: new row for relation "pgbench_tellers" violates check constraint "few"\nDETAIL:  Failing row contains/,
	'an error of the target in a COPY');
is(tables(), $tables, 'nothing has changed');
here("SELECT bench.initialize(scale => 2, target => $target)");

# A run.
my $run = "bench.run(mode => 'libpq', clients => 2, jobs => 2, transactions => 50, label => 'far', target => $target)";
foreach my $time ('first', 'second')
{
	is(here(columns_of('state, transactions, scale', $run)), 'finished|100|2', "$time run");
	# The second one has emptied the history of the first.
	is($far->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history'),
		100, "$time run: its transactions happened in the target");
}
my $found = invariants($far);
ok($found->{equal} == 0 && $found->{accounts} == $found->{tellers}, 'both runs changed balances');
my $run_id = latest_run($here, 'far')->{run_id};
figures_ok($here, $run_id, 'run');
my ($host, $port) = ($far->host, $far->port);
# bench.pgbench: options supply what a connection string does not name.
foreach my $line (
	"-h $host -p $port dbname=postgres",
	"-h /nonexistent -p $port \"host=$host dbname=postgres\"",
	"-h $host -p 1 postgresql:///postgres?port=$port")
{
	is( here("SELECT count(*) FROM bench.pgbench('-n -S -t 1 $line') l WHERE l LIKE '%actually processed: 1/1'"),
		1, "bench.pgbench: $line");
	like(here('SELECT target FROM bench.runs ORDER BY run_id DESC LIMIT 1'),
		qr/^host=\Q$host\E port=$port dbname=postgres /, "bench.pgbench: $line: where");
}
is($here->safe_psql('postgres', "SELECT target FROM bench.runs WHERE run_id = $run_id"),
	"host=$host port=$port dbname=postgres user="
	  . $far->safe_psql('postgres', 'SELECT current_user'),
	'the target of the stored run');
like(here("SELECT bench.report($run_id)"),
	qr/^execution mode: libpq.*\ntarget: host=\Q$host\E port=$port dbname=postgres user=\w+\nnumber of clients: 2$/m,
	'the target in the report');
is( $here->safe_psql('postgres',
		"SELECT setting FROM bench.run_settings WHERE run_id = $run_id AND name = 'port'"),
	$port,
	'the settings of the run are the target\'s');
here("SELECT bench.run(mode => 'libpq', transactions => 1, vacuum => 'all', target => $target)");
ok( $far->poll_query_until('postgres',
		"SELECT count(*) = 3 FROM pg_stat_user_tables WHERE vacuum_count >= 2 AND relname ~ '^pgbench_(accounts|branches|tellers)' AND schemaname = 'public'"
	),
	'tables of the target are vacuumed');
is( here("SET search_path = pg_catalog; SELECT state FROM $run"),
	'finished', 'settings of the caller are not those of the target');
is( here("SELECT state, transactions FROM bench.run(mode => 'libpq', transactions => 5, reconnect => true, target => $target)"),
	'finished|5',
	'a connection for each transaction');
# A checkpoint is the target's, and needs the privilege there.
{
	my %offset = map { $_->name => -s $_->logfile } $here, $far;
	my $checkpoints = sub { return scalar(() = slurp_file($_[0]->logfile, $offset{ $_[0]->name }) =~ /checkpoint starting: .*\bforce wait/g) };
	my $as_guest = target(undef, "user=guest password=$secret");
	here("SELECT bench.define_script('one', 'select 1;')");
	my $run = "SELECT state FROM bench.run('one', mode => 'libpq', transactions => 1, checkpoint => true, target =>";
	fails_ok("$run $as_guest)", qr/ERROR:  42501: permission denied for option "checkpoint"/, 'no checkpoint by a role of the target without the privilege');
	is($checkpoints->($far), 0, 'none was made');
	is(here("$run $target)"), 'finished', 'a checkpoint of the target');
	is($checkpoints->($far), 1, 'is made there');
	$far->safe_psql('postgres', 'GRANT pg_checkpoint TO guest');
	is(here("$run $as_guest)"), 'finished', 'with the privilege there');
	is($checkpoints->($far), 2, 'by another role');
	is($checkpoints->($here), 0, 'and not here');
	$far->safe_psql('postgres', 'REVOKE pg_checkpoint FROM guest');
}

is( here("SELECT string_agg(arm || runs, ',') FROM bench.compare('[{\"name\": \"far\", \"mode\": \"libpq\"}]', repeats => 2, transactions => 5, target => $target)"),
	'far2',
	'bench.compare');
my $encoded = $host =~ s/([^\w.])/sprintf '%%%02X', ord $1/egr;
is( here("SELECT state FROM bench.run(mode => 'libpq', transactions => 1, target => 'postgresql:///postgres?host=$encoded&port=$port')"),
	'finished',
	'a URI');
is( here("SELECT state FROM bench.wait(bench.start(mode => 'libpq', transactions => 5, target => $target))"),
	'finished',
	'bench.start');
nothing_left_ok($here, 'runs');
ok(wait_until_quiet($far), 'runs: no connection is left in the target');

# Errors: they leave no row of a run.
my $runs = here('SELECT count(*) FROM bench.runs');
my $invalid = qr/ERROR:  22023: invalid value for option "target": neither a connection string/;
fails_ok("SELECT bench.run(target => $target)",
	qr/ERROR:  22023: option "target" needs mode "libpq".*HINT:  .*mode => 'libpq'/s, 'mode spi');
fails_ok("SELECT * FROM bench.compare(target => $target)",
	qr/ERROR:  22023: arm "in-server": option "target" needs mode "libpq"/s,
	'mode spi in bench.compare');
foreach my $bad ('nonsense', '=', "host=x password=$secret more",
	"host=x password=a $secret", "host=x password='$secret",
	"postgresql://u:$secret/x\@h/db", "postgresql://u:x\@$secret\@h/db",
	"postgresql://u:$secret\@[h/db")
{
	fails_ok("SELECT bench.run(mode => 'libpq', target => " . literal($bad) . ')',
		$invalid, "invalid: $bad");
}
foreach my $function ("bench.run(mode => 'libpq', ", 'bench.initialize(')
{
	fails_ok("SELECT ${function}target => " . target('nowhere') . ')',
		qr/ERROR:  08001: could not connect to the target: .*database "nowhere" does not exist/,
		"$function: no such database");
	fails_ok("SELECT ${function}target => 'host=$host port=1')",
		qr/ERROR:  08001: could not connect to the target: .*No such file/, "$function: no such port");
	fails_ok("SELECT ${function}target => 'host=nowhere.invalid')",
		qr/ERROR:  08001: could not connect to the target: .*nowhere\.invalid/,
		"$function: no such host");
}
fails_ok("SELECT bench.run(mode => 'libpq', target => " . target('bare') . ')',
	qr/ERROR:  42P01: relation "pgbench_accounts" does not exist.*HINT: .*target/s,
	'no tables in the target');
$far->safe_psql('bare', <<'SQL');
CREATE TABLE pgbench_accounts (); CREATE TABLE pgbench_tellers ();
CREATE TABLE pgbench_branches (); CREATE TABLE pgbench_history ();
SQL
fails_ok("SELECT bench.run(mode => 'libpq', target => " . target('bare') . ')',
	qr/ERROR:  55000: relation "pgbench_branches" is empty.*HINT: .*target/s,
	'empty tables in the target');
is(here('SELECT count(*) FROM bench.runs'), $runs, 'errors leave no row');
nothing_left_ok($here, 'errors');
ok(wait_until_quiet($far), 'errors: no connection is left in the target');

# Who may use it.
$here->safe_psql('postgres', <<"SQL");
CREATE ROLE runner LOGIN;
SELECT bench.grant_to('runner');
SQL
my $quick = "SELECT state, transactions FROM bench.run(mode => 'libpq', transactions => 5, target => %s)";
my $not_given = qr/ERROR:  2F003: password is required\nDETAIL:  Non-superusers must provide a password/;
my $not_used  = qr/ERROR:  2F003: password is required\nDETAIL:  The target did not ask for the password/;
sub by_runner { my ($target, $name) = @_; return is(here(sprintf($quick, $target), 'runner'), 'finished|5', $name) }
sub runner_fails { my ($target, $error, $name) = @_; return fails_ok(sprintf($quick, $target), $error, $name, 'runner') }

my $guest = target('postgres', "user=guest password=$secret");
is(here("SELECT count(*) FROM bench.initialize(target => $guest)", 'runner'),
	5, 'a role with a password can initialize');
is( $far->safe_psql('postgres',
		"SELECT string_agg(DISTINCT tableowner, ',') FROM pg_tables WHERE schemaname = 'guest'"),
	'guest',
	'as the role of the target');
by_runner($guest, 'it can run');
by_runner("'postgresql://guest:$secret\@/postgres?host=$encoded&port=$port'", 'with a URI, too');
is( here("SELECT state, transactions FROM bench.run(mode => 'libpq', clients => 2, transactions => 5, reconnect => true, target => $guest)", 'runner'),
	'finished|10',
	'with a connection for each transaction');
runner_fails(target('postgres', 'user=guest'), $not_given, 'without a password');
runner_fails(target('postgres', "user=guest password=''"), $not_given, 'with an empty password');
runner_fails(target('postgres', 'user=trusted'), $not_given, 'without a password, and none needed');
runner_fails(target('postgres', "user=trusted password=$secret"), $not_used,
	'with a password that nobody asks for');
runner_fails(target('postgres', 'user=guest password=wrong'),
	qr/ERROR:  08001: could not connect to the target: .*password authentication failed/,
	'with a wrong password');
fails_ok("SELECT bench.initialize(target => $_->[0])", $_->[1], 'initialization alike', 'runner')
  foreach (
	[ target('postgres', 'user=guest'),                        $not_given ],
	[ target('postgres', "user=trusted password=$secret"), $not_used ]);
fails_ok(sprintf($quick, target('postgres', 'user=keeper')),
	qr/ERROR:  42501: permission denied for table pgbench_branches/,
	'the password file of the server\'s user lets a superuser in, who may not read the tables');
runner_fails(target('postgres', 'user=keeper'), $not_given, 'and no other role');
fails_ok("SELECT bench.run(mode => 'libpq', transactions => 1)",
	qr/ERROR:  42501: permission denied for mode "libpq"/, 'loopback without a target', 'runner');
fails_ok('SET ROLE runner; ' . sprintf($quick, target()), $not_given, 'a superuser who gave up its rights');

# This very server.
my $self = literal($here->connstr('postgres') . " user=self password=$secret");
is(here("SELECT count(*) FROM bench.initialize(target => $self)", 'runner'),
	5, 'this very server: initialization');
by_runner($self, 'this very server');
is($here->safe_psql('postgres', 'SELECT count(*) FROM self.pgbench_history'),
	5, 'this very server: its transactions');
runner_fails(literal($here->connstr('postgres')), $not_given, 'this very server without a password');
runner_fails(literal($here->connstr('postgres') . " password=$secret"),
	$not_used, 'this very server, as whoever the server is');

# The server's other modules that use libpq work beside the extension, in whatever order they
# are loaded: all have the same one.
is( $here->safe_psql('postgres', <<'SQL'), '1', 'modules of the server use the same libpq');
LOAD 'pg_selfbench';
LOAD 'postgres_fdw';
LOAD 'dblink';
LOAD 'libpqwalreceiver';
SELECT count(DISTINCT split_part(line, ' ', -1))
  FROM regexp_split_to_table(pg_read_file('/proc/' || pg_backend_pid() || '/maps', 0, 10000000), '\n') AS line
 WHERE line ~ '/libpq\.so';
SQL

# Foreign servers.
my $options = "OPTIONS (host '$host', port '$port', dbname 'postgres'";
$here->safe_psql('postgres', <<"SQL");
CREATE EXTENSION dblink;
CREATE EXTENSION postgres_fdw;
CREATE FOREIGN DATA WRAPPER unguarded;
CREATE SERVER by_dblink FOREIGN DATA WRAPPER dblink_fdw $options);
CREATE SERVER by_postgres_fdw FOREIGN DATA WRAPPER postgres_fdw $options, fetch_size '7', use_remote_estimate 'true');
CREATE SERVER waived FOREIGN DATA WRAPPER postgres_fdw $options);
CREATE SERVER by_itself FOREIGN DATA WRAPPER unguarded $options);
CREATE SERVER no_password FOREIGN DATA WRAPPER dblink_fdw $options);
CREATE SERVER no_mapping FOREIGN DATA WRAPPER dblink_fdw $options);
CREATE SERVER "Mixed Case" FOREIGN DATA WRAPPER dblink_fdw $options);
CREATE SERVER not_granted FOREIGN DATA WRAPPER dblink_fdw $options);
CREATE USER MAPPING FOR runner SERVER by_dblink OPTIONS (user 'guest', password '$secret');
CREATE USER MAPPING FOR PUBLIC SERVER by_postgres_fdw OPTIONS (user 'guest', password '$secret');
CREATE USER MAPPING FOR runner SERVER waived OPTIONS (user 'trusted', password_required 'false');
CREATE USER MAPPING FOR runner SERVER by_itself OPTIONS (user 'trusted', password_required 'false');
CREATE USER MAPPING FOR runner SERVER no_password OPTIONS (user 'guest');
CREATE USER MAPPING FOR runner SERVER "Mixed Case" OPTIONS (user 'trusted', password '$secret');
CREATE USER MAPPING FOR runner SERVER not_granted OPTIONS (user 'guest', password '$secret');
GRANT USAGE ON FOREIGN SERVER by_dblink, by_postgres_fdw, waived, by_itself, no_password, no_mapping, "Mixed Case" TO runner;
SQL
by_runner("'by_dblink'",       'a foreign server of dblink');
by_runner("'by_postgres_fdw'", 'one of postgres_fdw, with a public mapping');
is(here("SELECT count(*) FROM bench.initialize(target => 'waived')", 'runner'),
	5, 'one whose mapping needs no password, says a superuser: initialization');
by_runner("'waived'", 'and a run');
runner_fails("'by_itself'", $not_given, 'one whose wrapper lets anybody say so');
runner_fails("'no_password'", $not_given, 'a mapping without a password');
runner_fails("'Mixed Case'",  $not_used,  'a password that nobody asks for');
runner_fails("'no_mapping'", qr/ERROR:  42704: user mapping not found for (?:user )?"?runner/,
	'no user mapping');
runner_fails("'not_granted'", qr/ERROR:  42501: permission denied for foreign server "?not_granted/,
	'no USAGE');
# Keywords of files, keys and identities of the server's operating system user.
foreach my $keyword (qw(passfile service sslcert sslkey sslpassword sslrootcert sslcrl sslcrldir requirepeer krbsrvname replication))
{
	my $denied = qr/ERROR:  42501: permission denied for connection parameter "$keyword"/;
	runner_fails(target('postgres', "user=guest password=$secret $keyword=on"), $denied, "$keyword in a connection string");
	my $uri = "'postgresql://guest:$secret\@/postgres?host=$encoded&port=$port&$keyword=on'";
	runner_fails($uri, $denied, "$keyword in a URI") if $keyword =~ /^ssl/;
}
by_runner(target('postgres', "user=guest password=$secret connect_timeout=60 keepalives=1 sslmode=prefer options='-c work_mem=5MB'"),
	'keywords that any role may use');
$here->safe_psql('postgres', q(ALTER USER MAPPING FOR PUBLIC SERVER by_postgres_fdw OPTIONS (ADD sslcert '/none', ADD sslkey '/none');
	ALTER USER MAPPING FOR runner SERVER by_itself OPTIONS (ADD sslcert '/none', ADD sslkey '/none')));
by_runner("'by_postgres_fdw'", 'a certificate of a user mapping that a superuser has set');
is($here->safe_psql('postgres', 'SELECT count(DISTINCT target) FROM bench.runs WHERE owner = \'runner\'::regrole'),
	3, 'targets of the role\'s runs');
nothing_left_ok($here, 'roles');
ok(wait_until_quiet($far), 'roles: no connection is left in the target');

# Passwords do not appear in pg_stat_activity during a run, in tables or in logs.
my $live = here("SELECT bench.start(mode => 'libpq', clients => 2, duration => '10 min', label => 'live', target => $guest)",
	'runner');
wait_for_transactions($here, 'live');
is($here->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity a WHERE pid <> pg_backend_pid() AND a::text LIKE '%' || 'pW9k' || 'q2Zx%'"),
	0, 'no password in pg_stat_activity of a run that was started');
is( $here->safe_psql('postgres',
		"SELECT count(*) FROM bench.progress p WHERE transactions > 0 AND p::text !~ 'pW9kq2Zx'"),
	1,
	'its progress');
is(here("SELECT bench.cancel($live)", 'runner'), 't', 'it can be canceled');
is(here("SELECT state FROM bench.wait($live)", 'runner'), 'canceled', 'and is');
foreach my $table (split /\n/,
	$here->safe_psql('postgres',
		"SELECT oid::regclass FROM pg_class WHERE relnamespace = 'bench'::regnamespace AND relkind IN ('r', 'v')"
	))
{
	is($here->safe_psql('postgres', "SELECT count(*) FROM $table t WHERE t::text LIKE '%$secret%'"),
		0, "no password in $table");
}
unlike(slurp_file($here->logfile), qr/\Q$secret/, 'no password in the server\'s log');

# Canceling.  The statement in progress is canceled on the target, too.
$host = $far->host;
my $canceled = qr/ERROR:  57014: canceling statement due to user request/;
sub canceled_ok
{
	my ($session, $name, $error) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($stdout, $stderr) = finish_sql($session);
	like($stderr, $error // $canceled, "$name: the caller's error");
	ok(wait_until_quiet($far), "$name: no connection is left in the target");
	return nothing_left_ok($here, $name);
}

# Stops what the condition finds in the target, and the target itself, which cannot
# even be asked to cancel then.
sub freeze
{
	my ($condition) = @_;

	my $postmaster = slurp_file($far->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die;
	my @frozen = ($postmaster, split /\n/, $far->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND $condition"));
	kill 'STOP', @frozen;
	return @frozen;
}

my $caller;
foreach my $way ('SIGINT', 'a target that is stuck')
{
	my $label = "run, $way";
	$caller = start_sql($here,
		"SELECT bench.run(mode => 'libpq', clients => 2, duration => '10 min', label => '$label', target => $target)");
	wait_for_transactions($here, $label);
	my @frozen = $way =~ /stuck/ ? freeze('true') : ();
	signal_sql($caller, 'INT');
	my ($stdout, $stderr) = finish_sql($caller);
	like($stderr, $canceled, "$label: the caller's error");
	nothing_left_ok($here, $label);
	kill 'CONT', @frozen;
	ok(wait_until_quiet($far), "$label: no connection is left in the target");
	is(latest_run($here, $label)->{state}, 'canceled', "$label: its row");
}

my $waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND wait_event_type = 'Lock'";
my $locker = $far->background_psql('postgres',
	timeout => 3 * $PostgreSQL::Test::Utils::timeout_default);
foreach my $way ('SIGINT', 'bench.cancel', 'coordinator terminated', 'a target that is stuck')
{
	$locker->query_safe('BEGIN; LOCK TABLE pgbench_history IN ACCESS SHARE MODE;');
	my $label = "vacuum, $way";
	$caller = start_sql($here,
		"SELECT bench.run(mode => 'libpq', duration => '10 min', label => '$label', target => $target)");
	ok($far->poll_query_until('postgres', $waiting), "$label: it waits");
	my @frozen;
	if ($way eq 'bench.cancel')
	{
		is(here("SELECT bench.cancel(run_id) FROM bench.runs WHERE label = '$label'"), 't', $label);
	}
	elsif ($way =~ /terminated/)
	{
		here("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator'");
	}
	else
	{
		@frozen = freeze("wait_event_type = 'Lock'") if $way =~ /stuck/;
		signal_sql($caller, 'INT');
	}
	if (@frozen)
	{
		my ($stdout, $stderr) = finish_sql($caller);
		like($stderr, $canceled, "$label: the caller's error");
		nothing_left_ok($here, $label);
		kill 'CONT', @frozen;
		# Its backend may have been asked too late to cancel, and notices at the end of its wait
		# that nobody is there.
		$locker->query_safe('ROLLBACK');
		ok(wait_until_quiet($far), "$label: it ends when it goes on");
		next;
	}
	else { canceled_ok($caller, $label, qr/ERROR:  57014: /) }
	$locker->query_safe('ROLLBACK');
}

# A target has only advisory locks, which any role can take: the wait for one ends.
my $key = 'SELECT %s(' . (unpack('N', 'pgb-') << 32) . " + 'public'::regnamespace::oid::bigint)";
my $locker_pid = $locker->query_safe('SELECT pg_backend_pid()');
$locker->query_safe(sprintf $key, 'pg_advisory_lock');
fails_ok("SET lock_timeout = '500ms'; SELECT bench.initialize(target => $target)",
	qr/ERROR:  55P03: another session has locked these tables.*\nDETAIL:  Process $locker_pid of the server with the tables/, 'a target whose lock is held');
$locker->query_safe(sprintf $key, 'pg_advisory_unlock');

here("SELECT bench.initialize(target => $target)");
$tables = tables();
foreach my $case (
	[ 'g', "SELECT count(*) > 0 FROM pg_stat_progress_copy WHERE tuples_processed > 0" ],
	[ 'G', "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND query LIKE 'INSERT INTO pgbench_accounts%'" ],
	[ 'v', $waiting ])
{
	my ($step, $under_way) = @$case;
	foreach my $way ('SIGINT', 'loader terminated')
	{
		my $name = "step $step, $way";
		$locker->query_safe('BEGIN; LOCK TABLE pgbench_tellers IN SHARE UPDATE EXCLUSIVE MODE;')
		  if $step eq 'v';
		$caller = start_sql($here,
			"SELECT bench.initialize(scale => 500, steps => '$step', target => $target)");
		ok($far->poll_query_until('postgres', $under_way), "$name: under way");
		if ($way eq 'SIGINT') { signal_sql($caller, 'INT') }
		else
		{
			here("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench loader'");
		}
		canceled_ok($caller, $name, qr/ERROR:  57014: /);
		$locker->query_safe('ROLLBACK') if $step eq 'v';
		is(tables(), $tables, "$name: tables are as they were before");
	}
}
$locker->quit;

# A target that accepts connections and never says anything.
my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', Proto => 'tcp')
  or die "cannot listen: $!";
my $mute = 'host=127.0.0.1 sslmode=disable port=' . $silent->sockport;
fails_ok("SELECT bench.run(mode => 'libpq', target => '$mute connect_timeout=1')",
	qr/ERROR:  08001: could not connect to the target: timeout expired/, 'connect_timeout');
foreach my $function ("bench.run(mode => 'libpq', ", 'bench.initialize(')
{
	$caller = start_sql($here, "SELECT ${function}target => '$mute')");
	wait_for($here, "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type ~ '^pg_selfbench (coordinator|loader)'");
	signal_sql($caller, 'INT');
	canceled_ok($caller, "$function: a silent target");
}
close $silent;

# A target that goes away.
here("SELECT bench.initialize(target => $target)");
$caller = start_sql($here,
	columns_of('state, aborted_clients', "bench.run(mode => 'libpq', clients => 3, duration => '10 min', label => 'gone', target => $target)"));
wait_for_transactions($here, 'gone');
$far->stop('immediate');
my ($stdout, $stderr) = finish_sql($caller);
is($stdout, 'failed|3', 'a target that goes away: the run fails');
like($stderr, qr/WARNING:  .*run was aborted for 3 of 3 clients/, 'the caller is told');
like(latest_run($here, 'gone')->{errors}, qr/connection/, 'the errors of its row');
figures_ok($here, latest_run($here, 'gone')->{run_id}, 'a target that goes away');
nothing_left_ok($here, 'a target that goes away');
fails_ok(sprintf($quick, $target), qr/ERROR:  08001: could not connect to the target/, 'it is gone');
foreach my $step ('g', 'G')
{
	$far->start;
	$caller = start_sql($here, "SELECT bench.initialize(scale => 500, steps => '$step', target => $target)");
	ok( $far->poll_query_until('postgres',
			"SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND query ~ '^(COPY|INSERT INTO) pgbench_accounts'"
		),
		"step $step is under way");
	$far->stop('immediate');
	($stdout, $stderr) = finish_sql($caller);
	like($stderr, qr/ERROR:  (08006|57P0\d): .*connection/, "step $step: the caller's error");
	nothing_left_ok($here, "step $step, the target is gone");
}
unlike(slurp_file($here->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash');

$here->stop;
done_testing();
