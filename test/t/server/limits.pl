# Too few resources for a run, and servers that reject it: clear errors before
# anything has happened, and the next run works.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('limits', 'max_connections = 20');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

sub fails_ok
{
	my ($node, $sql, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	like($stderr, $pattern, $name) or diag $stdout;
	return;
}

sub works_ok
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	next_run_ok($node, $name);
	nothing_left_ok($node, $name);
	return;
}

# Worker slots: 8, of which the launcher of logical replication takes one.
my $free  = 8 - $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logical replication launcher'");
my $most = $free - 1;
is($node->safe_psql('postgres', "SELECT transactions FROM bench.run(clients => $most, transactions => 1)"),
	$most, 'as many clients as there are slots');
foreach my $function (qw(run start))
{
	foreach my $clients ($most + 1, 100, 1000, 262143)
	{
		fails_ok(
			$node,
			"SELECT bench.$function(clients => $clients, transactions => 1, client_process => 'worker')",
			qr/ERROR:  53000: not enough background worker slots: @{[ $clients + 1 ]} needed, $free free\n.*DETAIL:  "max_worker_processes" is 8.*\n.*HINT:  .*"max_worker_processes" to at least @{[ $clients + 1 + 8 - $free ]}/s,
			"bench.$function: slots for $clients clients");
		works_ok($node, "$function, $clients clients");
	}
}
fails_ok($node, "SELECT bench.run(mode => 'libpq', clients => 10, jobs => 10, workers => 10, transactions => 1)",
	qr/ERROR:  53000: not enough background worker slots: 11 needed, $free free/, 'slots for workers');
works_ok($node, 'workers');
$node->safe_psql('postgres', "CREATE ROLE plain LOGIN; SELECT bench.grant_to('plain')");
fails_ok($node, "SET ROLE plain; SELECT bench.run(clients => 100, client_process => 'worker')",
	qr/not enough background worker slots: 101 needed, $free free/, 'slots as a role that cannot see who has them');

# While another run takes some of them.
my $other = $node->safe_psql('postgres',
	"SELECT bench.start(clients => @{[ $most - 1 ]}, duration => '10 min', vacuum => 'none')");
fails_ok($node, "SELECT bench.run(clients => 3, transactions => 1, client_process => 'worker')",
	qr/ERROR:  53000: not enough background worker slots: 4 needed, 1 free/,
	'slots that another run takes');
is( $node->safe_psql('postgres', "SELECT bench.cancel($other); SELECT state FROM bench.wait($other)"),
	"t\ncanceled", 'the other run');
works_ok($node, 'slots that another run took');

# Mode libpq has a job for each processor by default; without slots for them, jobs share a process.
my $last = "FROM bench.runs ORDER BY run_id DESC LIMIT 1";
my $libpq = "SELECT state, transactions FROM bench.run(mode => 'libpq', clients => 3, transactions => 1)";
is($node->safe_psql('postgres', $libpq), 'finished|3', 'default jobs');
is($node->safe_psql('postgres', "SELECT jobs = least(processors, 3), workers = jobs $last"), 't|t', 'a job for each processor');
is( $node->safe_psql('postgres', "SELECT jobs = 1 OR page LIKE '%jobs =&gt; ' || jobs || '%' FROM (SELECT jobs, bench.report(run_id, 'html') AS page $last) r"),
	't', 'the statement that repeats the run has them');
$other = $node->safe_psql('postgres', "SELECT bench.start(clients => @{[ $most - 2 ]}, duration => '10 min', vacuum => 'none')");
my (undef, $stdout, $stderr) = $node->psql('postgres', $libpq);
is($stdout, 'finished|3', 'jobs that share a process');
is($node->safe_psql('postgres', "SELECT jobs = least(processors, 3), workers $last"), 't|1', 'one process');
like($stderr, qr/NOTICE:  (\d) jobs share 1 of the \g1 background workers that they would take, because no more are free/, 'the caller is told')
  if $node->safe_psql('postgres', "SELECT jobs > 1 $last") eq 't';
is( $node->safe_psql('postgres', "SELECT bench.cancel($other); SET client_min_messages = error; SELECT state FROM bench.wait($other)"),
	"t\ncanceled", 'the other run');

# Connections.
foreach my $clients (21, 1000, 262143)
{
	fails_ok($node,
		"SELECT bench.run(mode => 'libpq', jobs => 1, clients => $clients, transactions => 1)",
		qr/ERROR:  53300: not enough connections: $clients needed, \d+ free\n.*DETAIL:  "max_connections" is 20.*HINT:  .*"max_connections"/s,
		"connections of $clients clients");
}
works_ok($node, 'connections');
is( $node->safe_psql('postgres',
		"SELECT transactions FROM bench.run(mode => 'libpq', clients => 15, transactions => 1)"),
	15, 'nearly as many clients as there are connections');

# A server that rejects connections: the error contains libpq's message.
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', "local all all reject\n");
my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [qw(-v VERBOSITY=verbose)]);
$session->query_safe('SELECT pg_reload_conf()');
foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	# As long as the postmaster has not read it, a connection is let in. Without a statement: psql may have ended before
	# it could be sent.
	last if $node->psql('postgres', undef) != 0;
	usleep(100_000);
}
$session->query("SELECT bench.run(mode => 'libpq', transactions => 1)");
like(
	$session->{stderr},
	qr/ERROR:  08001: could not connect client 0 to the server: .*pg_hba\.conf rejects connection/s,
	'refused connections');
$session->{stderr} = '';
unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', $hba);
$session->query_safe('SELECT pg_reload_conf()');
$session->quit;
wait_for($node, 'SELECT true');
works_ok($node, 'refused connections');
$node->stop;

# Files of one process.
$node->append_conf('postgresql.conf', "max_files_per_process = 64\nmax_connections = 110");
$node->start;
fails_ok($node, "SELECT bench.run(mode => 'libpq', jobs => 1, clients => 100, transactions => 1)",
	qr/this process may open no more connections; use more jobs and workers/, 'files of a client worker');
fails_ok($node, "SELECT bench.run(client_process => 'backend', clients => 100, transactions => 1)",
	qr/this process may open no more connections; use fewer clients/, 'files of a coordinator');
is( $node->safe_psql('postgres',
		"SELECT transactions FROM bench.run('select-only', mode => 'libpq', jobs => 6, clients => 36, transactions => 1)"),
	36, 'jobs share as few processes as their files allow');
works_ok($node, 'files of one process');
$node->stop;

# No slots at all.
$node->append_conf('postgresql.conf', 'max_worker_processes = 1');
$node->start;
fails_ok($node, 'SELECT bench.run(transactions => 1)',
	qr/ERROR:  53000: not enough background worker slots: 2 needed, 0 free/, 'no slot at all');
fails_ok($node, 'SELECT bench.initialize()',
	qr/ERROR:  53000: not enough background worker slots: 1 needed, 0 free/,
	'no slot for an initialization');
nothing_left_ok($node, 'no slot at all');
$node->stop;
done_testing();
