# Targets behind PgBouncer, with pools in session and in transaction mode: runs in all protocols,
# settings, setup and teardown, initialization and cancels work there, or an error says what does.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'there is no pgbouncer' if !defined $pgbouncer;

my $node = new_bench_node('pooled', "fsync = off\nmax_worker_processes = 16\n");
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT CURRENT_USER');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE seen (work_mem text, path text);
	SELECT bench.initialize();
	SELECT bench.define_script('see', $$INSERT INTO public.seen SELECT current_setting('work_mem'), current_setting('search_path')$$);
	SELECT bench.define_script('rest', 'SELECT pg_sleep(600)');
	ALTER DATABASE postgres SET work_mem = '3MB'});

# From 1.21 on, PgBouncer can keep the prepared statements of connections apart.
my ($major, $minor) = `$pgbouncer --version` =~ /(\d+)\.(\d+)/;
my $mixed = $major > 1 || $minor >= 21 ? 'max_prepared_statements = 0' : '';

# Poolers on ports of their own, by what they do with startup options.
my (%port_of, %pid_of);
foreach my $options ('refuses', 'ignores')
{
	my $directory = PostgreSQL::Test::Utils::tempdir;
	$port_of{$options} = PostgreSQL::Test::Cluster::get_free_port();
	my $ignored = $options eq 'ignores' ? 'ignore_startup_parameters = options' : '';
	append_to_file("$directory/users.txt", qq{"$user" ""\n});
	append_to_file("$directory/pgbouncer.ini", <<"EOF");
[databases]
session = host=$host port=$port dbname=postgres pool_mode=session
shared = host=$host port=$port dbname=postgres pool_mode=transaction
small = host=$host port=$port dbname=postgres pool_mode=session pool_size=3
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port_of{$options}
unix_socket_dir =
auth_type = trust
auth_file = $directory/users.txt
logfile = $directory/log
$ignored
$mixed
EOF
	$pid_of{$options} = fork // die "fork: $!";
	if (!$pid_of{$options})
	{
		exec $pgbouncer, '-q', "$directory/pgbouncer.ini";
		die "exec: $!";
	}
}

END
{
	local $?;
	kill 'KILL', values %pid_of if %pid_of;
	waitpid $_, 0 foreach values %pid_of;
}

sub target
{
	my ($mode, $options) = @_;
	return "host=127.0.0.1 sslmode=disable gssencmode=disable dbname=$mode user=$user port=" . $port_of{ $options // 'refuses' };
}

# Output and errors of SQL.
sub told
{
	my ($sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', $sql, extra_params => ['-q']);
	return "$stdout$stderr";
}
foreach my $options (keys %port_of)
{
	my $connected = 0;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		# Without a statement: psql may have ended before it could be sent.
		$connected = $node->psql('postgres', undef, connstr => target('session', $options)) == 0;
		last if $connected;
		usleep(100_000);
	}
	ok($connected, "the pooler that $options startup options");
}

my $shared = 'the target is a connection pooler whose connections share sessions';
foreach my $mode ('session', 'shared')
{
	my $over = "mode => 'libpq', clients => 2, target => '" . target($mode) . "'";

	# The protocols, with what a run does beside its clients: vacuum, observation, setup and teardown.
	foreach my $protocol ('simple', 'extended', 'prepared')
	{
		foreach my $reconnect ('false', 'true')
		{
			my $told = told("SELECT state, transactions, failed FROM bench.run('tpcb-like', $over, transactions => 5,
				protocol => '$protocol', reconnect => $reconnect, setup => 'CREATE TABLE made ()', teardown => 'DROP TABLE made')");
			my $name = "$mode, $protocol, reconnect $reconnect";
			if ($mode eq 'shared' && $protocol eq 'prepared')
			{
				like($told, qr/ERROR:  protocol "prepared" needs sessions of its own, and $shared\nHINT:  Use protocol => 'extended' or 'simple'/, $name);
				next;
			}
			is($told, 'finished|10|0', $name);
			is(told(q{SELECT aborted_clients, errors, NOT teardown_due, to_regclass('made') IS NULL FROM bench.runs ORDER BY run_id DESC LIMIT 1}),
				'0|{}|t|t', "$name: its row");
			is(told('SELECT count(*) > 0 FROM bench.run_server_intervals WHERE run_id = (SELECT max(run_id) FROM bench.runs)'), 't', "$name: observed");
		}
	}
	is(told("SELECT bench.run('see', $over, transactions => 5, protocol => 'extended', observe => false)") =~ /ERROR|WARNING/ ? 1 : 0, 0, "$mode: a script of one's own");

	# An initialization has locks.
	my $told = told("SELECT count(*) > 0 FROM bench.initialize(target => '" . target($mode) . "')");
	like($told, $mode eq 'session' ? qr/^t.*NOTICE:  done in/s : qr/ERROR:  an initialization needs sessions of its own, and $shared\nHINT:  Connect to the server itself, or use a pool in session mode/,
		"$mode: initialize");
}

# Settings: by startup options, or by SET.
foreach my $options ('refuses', 'ignores')
{
	foreach my $reconnect ('false', 'true')
	{
		my $name = "options: $options, reconnect $reconnect";
		my $run = sub {
			my ($mode) = @_;
			return told("TRUNCATE seen; SELECT state FROM bench.run('see', clients => 2, transactions => 2, mode => 'libpq', reconnect => $reconnect,"
				  . " protocol => 'extended', target => '" . target($mode, $options) . q{', settings => '{"work_mem": "7MB", "search_path": "pg_temp"}'); SELECT DISTINCT * FROM seen});
		};
		my $error = $options eq 'refuses' ? qr/unsupported startup parameter.*HINT:  A connection pooler refuses startup options: .* reconnect => true/s
		  : qr/ERROR:  a client has ".*" for setting "(?:work_mem|search_path)" instead of ".*"\nHINT:  .*pooler/;
		like($run->('session'), $reconnect eq 'true' ? $error : qr/^finished\n7MB\|pg_temp$/, "session, $name");
		like($run->('shared'), qr/ERROR:  option "settings" needs sessions of its own, and $shared\nHINT:  Connect to the server itself, use a pool in session mode, or use ALTER ROLE \.\.\. SET\./,
			"shared, $name");
	}
}
like(told(q{SELECT bench.run('see', mode => 'libpq', target => $$} . target('session') . q{ options='-c work_mem=1MB'$$)}),
	qr/ERROR:  .*unsupported startup parameter.*HINT:  A connection pooler refuses startup options: those in the connection string/s,
	'options in the connection string');
is(told("SELECT work_mem FROM pg_stat_activity, LATERAL (SELECT current_setting('work_mem') AS work_mem) s WHERE pid = pg_backend_pid()"), '3MB', 'no setting stays');

# A pool of fewer sessions than the run needs: three, of which the coordinator has one.
my $stalled = told("SELECT state FROM bench.run('select-only', mode => 'libpq', clients => 4, duration => '2 s', target => '" . target('small') . "')");
like($stalled, qr/^finished/, 'a small pool');
like($stalled, qr/NOTICE:  clients completed hardly any transaction\nDETAIL:  2 of 4 clients, at most one each\.\nHINT:  A connection pooler in session mode needs one session more/, 'says so');
is(told('SELECT stalled_clients FROM bench.runs ORDER BY run_id DESC LIMIT 1'), 2, 'clients that waited for a session');
like(told("SELECT severity, finding, evidence FROM bench.advice()"),
	qr/warning\|clients completed hardly any transaction\|2 of 4 clients, at most one each\n.*note\|waits of sessions were not observed\|/s, 'are told, and what is not known');
my $unseen = qr/the target does not show the process IDs that the clients know, as behind a connection pooler/i;
like(told('SELECT * FROM bench.top_waits()'), qr/NOTICE:  waits of the sessions of run \d+ were not observed\nDETAIL:  $unseen/, 'so says top_waits');
like(told("SELECT bench.report(format => 'markdown')"), qr/## Waits\n+Waits of sessions were not observed: $unseen/, 'and the report');
is(told("SELECT bench.run('select-only', mode => 'libpq', target => '" . target('small') . "', clients => 4, transactions => 1)") =~ /completed hardly/, '', 'not with one transaction each');
told("SELECT bench.start('select-only', mode => 'libpq', clients => 4, rate => 200, duration => '2 s', target => '" . target('small') . "')");
like(told("SELECT state FROM bench.wait((SELECT max(run_id) FROM bench.runs))"), qr/NOTICE:  clients completed hardly any transaction\n/, 'says so who waits for it');
is(told('SELECT stalled_clients FROM bench.runs ORDER BY run_id DESC LIMIT 1'), 2, 'with a rate');
like(told(q{SELECT FROM bench.compare('[{"name": "one", "clients": 1}, {"name": "four"}]', scripts => 'select-only', mode => 'libpq', clients => 4, duration => '1 s', repeats => 2, target => '} . target('small') . "')"),
	qr/NOTICE:  clients of arm "four" completed hardly any transaction/, 'which arm');

# pgio's settings of the planner.
$node->safe_psql('postgres', "SELECT bench.initialize_pgio(tables => 1, size => '8MB')");
unlike(told("SELECT bench.run_pgio(tables => 1, mode => 'libpq', scan => 'index', transactions => 5, target => '" . target('session') . "')"), qr/ERROR|WARNING/, 'pgio');

# A long run, canceled: its statements end. PgBouncer 1.18 may fail when a request to cancel arrives, so
# this comes last, each time with another one.
foreach ([ 'session', 'refuses' ], [ 'shared', 'ignores' ])
{
	my ($mode, $options) = @$_;
	my $run = $node->safe_psql('postgres',
		"SELECT bench.start('rest', mode => 'libpq', clients => 2, target => '" . target($mode, $options) . "', transactions => 1, protocol => 'simple', aggregate_interval => '0.1 s')");
	my $sleeping = q{FROM pg_stat_activity WHERE wait_event = 'PgSleep'};
	wait_for($node, "SELECT count(*) = 2 $sleeping");
	usleep(500_000);
	$node->safe_psql('postgres', "SELECT bench.cancel($run)");
	is(told("SET client_min_messages = error; SELECT state FROM bench.wait($run)"), 'canceled', "$mode: canceled");
	ok(wait_for($node, "SELECT count(*) = 0 $sleeping"), "$mode: nothing sleeps any more");
	# There are two clients; the test's own session may be seen.
	is(told("SELECT count(*) > 0, max(other_sessions) < 2 FROM bench.run_server_intervals WHERE run_id = $run"), 't|t', "$mode: its clients are no other sessions");
}

# Their sessions end with them.
kill 'TERM', values %pid_of;
waitpid $_, 0 foreach values %pid_of;
%pid_of = ();
nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
