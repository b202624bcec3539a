# If a process of a run, or something that it needs, ends for any reason, the other
# processes end as well, and waiting sessions get the reason.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_bench_node('ending', "fsync = off\nmax_worker_processes = 12\n");
$node->safe_psql(
	'postgres', q{
	SELECT bench.initialize();
	CREATE ROLE tester LOGIN;
	SELECT bench.grant_to('tester');
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC;
	SELECT bench.define_script('fails', 'SELECT 1 / 0;'),
	       bench.define_script('nothing', E'\\\\set x 1')});

# The arguments of a run that does not end by itself.
sub endless
{
	my ($label, $options) = @_;
	return "clients => 3, duration => '10 min', vacuum => 'none', label => '$label', $options";
}

sub errors_of
{
	my ($label) = @_;
	return latest_run($node, $label)->{errors};
}

# The caller ends by a FATAL error, which runs no destructors.
foreach (
	[ 'spi',      "mode => 'spi'" ],
	[ 'libpq',    "mode => 'libpq'" ],
	[ 'backends', "client_process => 'backend'" ],
	[ 'messages', "scripts => 'fails', continue_on_error => true, verbose_errors => true", 'untold' ],
	[ 'log',      "log => true" ],)
{
	my ($name, $options, $untold) = @$_;
	my $label  = "caller lost, $name";
	my $caller = start_sql($node, 'SELECT * FROM bench.run(' . endless($label, $options) . ')');
	if ($untold) { wait_for($node, "SELECT failed > 0 FROM bench.progress WHERE label = '$label'") }
	else         { wait_for_transactions($node, $label) }
	signal_sql($caller, 'KILL');
	finish_sql($caller);
	nothing_left_ok($node, $label);
	is(latest_run($node, $label)->{state}, 'canceled', "$label: stored");
	like(errors_of($label), qr/canceled: the session that waited for it has ended/, "$label: why");
}
my $label  = 'caller lost, initialize';
my $caller = start_sql($node, 'SELECT * FROM bench.initialize(scale => 500, workers => 3)');
wait_for($node,
	"SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker' AND query = 'initialize: generating data'");
signal_sql($caller, 'KILL');
finish_sql($caller);
nothing_left_ok($node, $label);
$node->safe_psql('postgres',
	"SELECT bench.initialize(), bench.initialize_pgio(size => '100'); GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC");
foreach (
	[ 'a set' => 'bench.compare(%s, repeats => 2)' ],
	[ 'pgio' => q{bench.run_pgio(duration => '10 min', work_unit => 10, label => 'caller lost, pgio')} ])
{
	my ($name, $call) = @$_;
	$label  = "caller lost, $name";
	$caller = start_sql($node, 'SELECT * FROM ' . sprintf($call, endless($label, "scripts => 'nothing'")));
	wait_for_transactions($node, $label);
	signal_sql($caller, 'KILL');
	finish_sql($caller);
	nothing_left_ok($node, $label);
	like(errors_of($label), qr/canceled: the session that waited for it has ended/, "$label: why");
}
$label = 'caller lost, wait';
$node->safe_psql('postgres', 'SELECT bench.start(' . endless($label, "scripts => 'nothing'") . ')');
wait_for_transactions($node, $label);
$caller = start_sql($node, 'SELECT * FROM bench.wait(' . latest_run($node, $label)->{run_id} . ')', name => 'waiter');
backend_of($node, 'waiter');
signal_sql($caller, 'KILL');
finish_sql($caller);
wait_for($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'waiter'");
is(latest_run($node, $label)->{state}, 'running', "$label: the run goes on");
$node->safe_psql('postgres', 'SELECT bench.cancel(' . latest_run($node, $label)->{run_id} . ')');
nothing_left_ok($node, $label);

# The coordinator cannot store that the run has begun.
$label = 'row locked';
my $tables = $node->background_psql('postgres');
my $rows   = $node->background_psql('postgres');
my $offset = -s $node->logfile;
my ($stdout, $stderr);
in_time_ok(
	$label,
	sub {
		# The row has to be locked before the vacuum has waited for too long.
		my $timeout = 2 * $_[0];
		$tables->query_safe('BEGIN; LOCK TABLE pgbench_branches IN SHARE UPDATE EXCLUSIVE MODE');
		$caller = start_sql($node,
			"SET lock_timeout = '$timeout s'; SELECT state FROM bench.run(clients => 3, duration => '10 min', label => '$label')");
		comes_before_end($node,
			"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock' AND query ~ '^run \\d+: vacuum\$'",
			$caller);
		$rows->query_safe("BEGIN; SELECT FROM bench.runs WHERE label = '$label' FOR UPDATE");
		$tables->query_safe('ROLLBACK');
		($stdout, $stderr) = finish_sql($caller);
		$rows->query_safe('ROLLBACK');
		nothing_left_ok($node, $label);
		# Told to the server's log.
		return slurp_file($node->logfile, $offset) =~
		  /LOG:  run \d+ of pg_selfbench: results could not be stored: canceling statement due to lock timeout/;
	});
like("$stdout$stderr", qr/canceling statement due to lock timeout/, "$label: the caller is told");

# A caller that is terminated does not wait for a lock, and its run is stored with its log when it is free.
foreach my $lock ('bench.runs IN SHARE MODE', 'bench.transactions IN EXCLUSIVE MODE', 'bench.runs')
{
	my $log = $lock =~ /SHARE/ ? 'false' : 'true';
	$label  = "locked: $lock";
	$caller = start_sql($node, 'SELECT * FROM bench.run(' . endless($label, "scripts => 'nothing', log => $log") . ')', name => 'caller');
	wait_for_transactions($node, $label);
	$tables->query_safe("BEGIN; LOCK TABLE $lock");
	wait_for($node,
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock'")
	  if $log eq 'true';
	$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . backend_of($node, 'caller') . ')');
	like((finish_sql($caller))[1], qr/FATAL:  57P01/, "$label: the caller ends");
	wait_for($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'caller'");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator'"),
		1,
		"$label: its coordinator does not");
	$tables->query_safe('ROLLBACK');
	nothing_left_ok($node, $label);
	is(latest_run($node, $label)->{state}, 'canceled', "$label: stored");
	next if $log eq 'false';
	is( $node->safe_psql('postgres',
			"SELECT count(*) - max(r.transactions) FROM bench.transactions JOIN bench.runs r USING (run_id) WHERE label = '$label'"),
		'0', "$label: with its log");
}

# The log cannot be stored, in the middle and at the end.
$node->safe_psql('postgres',
	'ALTER TABLE bench.transactions ADD CONSTRAINT full_disk CHECK (transaction_no <= 100) NOT VALID');
foreach my $mode (qw(spi libpq))
{
	$label = "log, $mode";
	($stdout, $stderr) = finish_sql(
		start_sql($node,
			"SELECT state FROM bench.run(" . endless($label, "scripts => 'nothing', mode => '$mode', log => true") . ')'));
	is($stdout, 'failed', "$label: the run ends") or diag $stderr;
	like($stderr, qr/violates check constraint "full_disk"/, "$label: why");
	nothing_left_ok($node, $label);
	figures_ok($node, latest_run($node, $label)->{run_id}, $label);

	$label = "log at the end, $mode";
	($stdout, $stderr) = finish_sql(
		start_sql($node,
			"SELECT state, transactions FROM bench.run(mode => '$mode', clients => 3, transactions => 200, log => true, label => '$label')"));
	is($stdout, 'finished|600', "$label: the run's figures") or diag $stderr;
	like($stderr, qr/violates check constraint "full_disk"/, "$label: why");
	nothing_left_ok($node, $label);
}
$node->safe_psql('postgres', 'ALTER TABLE bench.transactions DROP CONSTRAINT full_disk');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_class WHERE relname LIKE 'transactions%' AND array_to_string(reloptions, ' ') LIKE '%autosummarize%'"),
	0,
	'storing a log requests no summaries of its index');

# A request to cancel finds a client that waits for room in the log.
$label = 'no room';
$tables->query_safe('BEGIN; LOCK TABLE bench.transactions IN EXCLUSIVE MODE');
$caller = start_sql($node,
	columns_of('state, aborted_clients, failed', "bench.run('nothing', transactions => 1000000, log => true, vacuum => 'none', label => '$label')"));
my $processes = 'SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type =';
wait_for($node, "$processes 'Lock' AND backend_type = 'pg_selfbench coordinator'");
wait_for($node, "$processes 'Extension' AND backend_type = 'pg_selfbench spi client'");
is( $node->safe_psql('postgres',
		"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench spi client'"),
	't',
	"$label: canceled")
  foreach (1 .. 3);
$tables->query_safe('ROLLBACK');
($stdout, $stderr) = finish_sql($caller);
is("$stdout$stderr", 'finished|0|0', "$label: the client goes on");
is( $node->safe_psql('postgres',
		"SELECT count(*) - max(r.transactions), max(transaction_no) - max(r.transactions) FROM bench.transactions JOIN bench.runs r USING (run_id) WHERE label = '$label'"),
	'0|0',
	"$label: no entry is lost");
nothing_left_ok($node, $label);

# Why a process cannot connect, or ends, reaches the caller.
my $tester = $node->background_psql(
	'postgres',
	on_error_stop => 0,
	extra_params  => [qw(-U tester -v VERBOSITY=verbose)]);
sub told_tester
{
	my ($sql) = @_;
	$tester->{stderr} = '';
	$tester->query($sql);
	return $tester->{stderr};
}
my $run = "SELECT state FROM bench.run('select-only', transactions => 1, vacuum => 'none')";
$tester->query_safe('SELECT 1');
my $error =
  qr/ERROR:  42501: permission denied for database "postgres"\nDETAIL:  User does not have CONNECT privilege/;
$node->safe_psql('postgres', 'REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
like(told_tester($run), $error, 'why the coordinator cannot connect');
$node->safe_psql('postgres', 'GRANT CONNECT ON DATABASE postgres TO PUBLIC');
# The coordinator is there when the clients cannot connect.
$tables->query_safe('BEGIN; LOCK TABLE pgbench_branches');
$tester->{stderr} = '';
$tester->{stdin} .= "$run;\n\\warn done\n";
$tester->{run}->pump_nb;
wait_for($node,
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock'"
);
$node->safe_psql('postgres', 'REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
$tables->query_safe('ROLLBACK');
my $patience = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
$patience->start;
$tester->{run}->pump
  while !$patience->is_expired && $tester->{run}->pumpable && $tester->{stderr} !~ /done/;
like($tester->{stderr}, $error, 'why a client cannot connect');
$tester->{stderr} = '';
nothing_left_ok($node, 'no connection');
$node->safe_psql('postgres', 'GRANT CONNECT ON DATABASE postgres TO PUBLIC');
if ($node->pg_version >= 17)
{
	$label = 'transaction_timeout';
	$node->safe_psql('postgres', "SELECT bench.define_script('slow', 'SELECT pg_sleep(1000)')");
	# The call has that timeout, too.
	in_time_ok($label, sub {
		return $node->psql('postgres',
			"SET transaction_timeout = '$_[0] s'; SELECT bench.start(scripts => 'slow', label => '$label')") == 0;
	});
	nothing_left_ok($node, $label);
	like(errors_of($label), qr/a client worker was terminated: terminating connection due to transaction timeout/, $label);
}

# A role that loses its rights meanwhile: its results are stored.
$tester->query_safe("SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')");
foreach (
	[ 'USAGE revoked', 'REVOKE USAGE ON SCHEMA bench, bench_internal FROM tester', q(SELECT bench.grant_to('tester')) ],
	[ 'dropped', 'DROP OWNED BY tester; DROP ROLE tester', '' ],)
{
	my ($what, $do, $undo) = @$_;
	$label = "role, $what";
	# The first transaction waits until that has been done.
	$rows->query_safe('SELECT pg_advisory_lock(1)');
	$tester->query_safe(
		"SELECT bench.start('gate', transactions => 1000, vacuum => 'none', label => '$label', log => true)");
	wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$node->safe_psql('postgres', $do);
	$rows->query_safe('SELECT pg_advisory_unlock(1)');
	nothing_left_ok($node, $label);
	my $found = latest_run($node, $label);
	is($found->{state},  'finished', "$label: stored");
	is($found->{errors}, '{}',       "$label: without complaints");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM bench.transactions WHERE run_id = $found->{run_id}"),
		$found->{transactions},
		"$label: with its log");
	$node->safe_psql('postgres', $undo);
}

# The run ends at its next interval; the server's log shows what cannot be stored.
$label = 'extension dropped';
$offset = -s $node->logfile;
$node->safe_psql('postgres',
	"SELECT bench.start('select-only', duration => '10 min', vacuum => 'none', label => '$label')");
wait_for_transactions($node, $label);
$node->safe_psql('postgres', 'DROP EXTENSION pg_selfbench');
nothing_left_ok($node, $label);
like(slurp_file($node->logfile, $offset),
	qr/LOG:  run \d+ of pg_selfbench: results could not be stored: /, "$label: in the server's log");
$node->safe_psql('postgres', 'CREATE EXTENSION pg_selfbench');

# A backend that cannot run its client.
$tables->query_safe('BEGIN; LOCK TABLE pgbench_branches');
$caller = start_sql($node,
	"SELECT * FROM bench.run('select-only', client_process => 'backend', vacuum => 'none')");
wait_for($node,
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock'"
);
$node->safe_psql('postgres', 'ALTER PROCEDURE bench_internal.spi_client RENAME TO absent');
$tables->query_safe('ROLLBACK');
(undef, $stderr) = finish_sql($caller);
like($stderr, qr/ERROR:  42883: procedure bench_internal.spi_client\(.*\) does not exist/, "a backend's complaint");
nothing_left_ok($node, 'a complaint');
$node->safe_psql('postgres', 'ALTER PROCEDURE bench_internal.absent RENAME TO spi_client');
$_->quit foreach ($tables, $rows);
eval { $tester->quit };

# No process is left that could notify clients that never wait.
foreach my $options ("mode => 'spi'", "mode => 'libpq'", "client_process => 'backend'")
{
	$node->safe_psql('postgres',
		"SELECT bench.start(" . endless('orphans', "scripts => 'select-only', $options") . ')');
	wait_for_transactions($node, 'orphans');
	my @pids = split /\n/, $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'pg_selfbench%' OR application_name = 'pg_selfbench'"
	);
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $coordinator = latest_run($node, 'orphans')->{coordinator_pid};
	# One that is killed while it holds a lock of the server's memory leaves all that wait for it.
	usleep(1000) until slurp_file("/proc/$coordinator/stat") =~ /\) S /;
	kill 'KILL', $postmaster, $coordinator;
	my $left = 1;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$left = grep { is_running($_) } @pids;
		last if !$left;
		usleep(100_000);
	}
	is($left, 0, "postmaster and coordinator killed, $options: no process is left");
	# The node believes that its postmaster lives.
	$node->{_pid} = undef;
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	ok(start_after_kill($node), "postmaster and coordinator killed, $options: the server starts again");
}
next_run_ok($node, 'at the end');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal (?!9)/, 'nothing has crashed');

$node->stop;
done_testing();
