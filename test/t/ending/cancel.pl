# Runs that end early, for various reasons: the run ends, its row is correct, its
# tables are consistent, no process or lock is left, and the next run works.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

# Shared memory as files of the data directory, so that left-over segments show.
my $node = new_bench_node('cancel', 'dynamic_shared_memory_type = mmap');
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');
my $segments = segments();

my $happened = 0;    # transactions in pgbench_history up to now
my $clients  = 3;

sub segments
{
	my @files = glob($node->data_dir . '/pg_dynshmem/mmap.*');
	return scalar @files;
}

# SQL that sends something to the processes of pg_stat_activity that match.
sub to_processes
{
	my ($function, $condition) = @_;
	return $node->safe_psql('postgres',
		"SELECT count($function(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE $condition LIMIT 1) a"
	);
}

# Starts a run, calls $end while it is in progress, and tests what is left of it.
# Expected results: "error", a pattern of the caller's error, or none if the run's
# row is returned; "state"; "aborted", the number of aborted clients.
# If "times out", the run is ended by statement_timeout; if "held", all clients wait for a
# lock until $end has been called.
sub scenario
{
	my ($name, $mode, $end, %expected) = @_;
	note "scenario: $name";

	my $amount = $expected{amount} // "duration => '10 min'";
	my $sql = columns_of('state, aborted_clients',
		"bench.run(mode => '$mode', clients => $clients, $amount, vacuum => 'none', label => '$name')");
	my ($caller, $locker);
	if ($expected{'times out'})
	{
		in_time_ok(
			$name,
			sub {
				$caller = start_sql($node, "SET statement_timeout = '$_[0] s';\n$sql", name => 'caller');
				return 1
				  if comes_before_end($node,
					"SELECT transactions > 0 FROM bench.progress WHERE label = '$name'", $caller);
				finish_sql($caller);
				$happened = invariants($node)->{history};
				return 0;
			});
	}
	elsif ($expected{held})
	{
		$locker = patient_session();
		$locker->query_safe('BEGIN; LOCK TABLE pgbench_tellers IN SHARE MODE');
		$caller = start_sql($node, $sql, name => 'caller');
		wait_for($node, "SELECT count(*) = $clients FROM pg_locks WHERE NOT granted");
	}
	else
	{
		$caller = start_sql($node, $sql, name => 'caller');
		wait_for_transactions($node, $name);
	}
	$end->($caller, $name);
	if ($locker)
	{
		$locker->query_safe('ROLLBACK');
		$locker->quit;
	}
	my ($stdout, $stderr, $status) = finish_sql($caller);
	my $state   = $expected{state}   // 'canceled';
	my $aborted = $expected{aborted} // 0;

	if (defined $expected{error})
	{
		ok($stderr =~ $expected{error}, "$name: the caller's error")
		  or diag substr $stderr, 0, 200;
		is($stdout, '', "$name: no row");
		like($stderr, qr/NOTICE: .*run (\d+) was canceled; its results so far: bench\.report\(\1\)/, "$name: the number of the run")
		  if $stderr !~ /FATAL/;
		ok($stderr !~ /\n\s+\d+: .*\n\s+at /, "$name: no backtrace is sent to the caller");
	}
	else
	{
		is($stdout, "$state|$aborted", "$name: the caller's row") or diag $stderr;
		like($stderr, qr/WARNING: .*run was aborted(?: for \d of \d clients)?; its results are incomplete/,
			"$name: the caller is warned");
	}
	nothing_left_ok($node, $name);
	is(segments(), $segments, "$name: no shared memory is left");

	my $run = latest_run($node, $name);
	is($run->{state},           $state,   "$name: stored state");
	is($run->{aborted_clients}, $aborted, "$name: aborted clients");
	like($run->{errors}, $expected{reason} // qr/\w/, "$name: a reason is stored");
	is("$run->{coordinator_pid}$run->{segment}", '', "$name: no live process is recorded");
	figures_ok($node, $run->{run_id}, $name);

	# A client whose process or connection is killed may have committed a
	# transaction that was not counted.
	my $found = invariants($node);
	my $extra = $found->{history} - $happened - $run->{transactions};
	ok($found->{equal}, "$name: balances and history agree") or diag explain $found;
	ok( $extra >= 0 && $extra <= ($expected{unseen} // 0),
		"$name: transactions reported are those in history")
	  or diag "$extra more in history than reported";
	$happened = $found->{history};

	next_run_ok($node, $name, $mode);
	$happened += 10;
	return;
}

# A session that continues after another wait has failed.
sub patient_session
{
	return $node->background_psql('postgres',
		timeout => 3 * $PostgreSQL::Test::Utils::timeout_default);
}

foreach my $mode (qw(spi libpq))
{
	# Statements of libpq clients are canceled while they are in progress.
	my $unseen = $mode eq 'libpq' ? $clients : 0;

	scenario("$mode, Ctrl-C", $mode, sub { signal_sql($_[0], 'INT') },
		error => qr/ERROR:  57014: canceling statement due to user request/, unseen => $unseen);
	scenario("$mode, pg_cancel_backend", $mode,
		sub { to_processes('pg_cancel_backend', "application_name = 'caller'") },
		error => qr/ERROR:  57014: canceling statement due to user request/, unseen => $unseen);
	scenario(
		"$mode, bench.cancel", $mode,
		sub {
			# What the processes say they do stays while they execute statements of their own.
			wait_for($node, <<"SQL");
SELECT count(*) = 1 + (r.mode = 'libpq')::int * r.workers
  FROM bench.runs r JOIN pg_stat_activity a ON a.state = 'active' AND
       (backend_type = 'pg_selfbench coordinator' AND query = format('run %s: running, $clients clients', run_id)
        OR backend_type = 'pg_selfbench libpq client' AND query ~ format('^run %s: running, \\d clients?\$', run_id))
 WHERE label = '$_[1]' GROUP BY r.mode, r.workers
SQL
			is( $node->safe_psql('postgres',
					"SELECT bench.cancel(run_id) FROM bench.runs WHERE label = '$_[1]'"),
				't', "$_[1]: bench.cancel returns true");
		},
		reason => qr/canceled: on request/,
		unseen => $unseen);
	scenario(
		"$mode, statement_timeout", $mode, sub { },
		'times out' => 1,
		error  => qr/ERROR:  57014: canceling statement due to statement timeout/,
		reason => qr/canceled: canceling statement due to statement timeout/,
		unseen => $unseen);
	scenario("$mode, caller terminated", $mode,
		sub { to_processes('pg_terminate_backend', "application_name = 'caller'") },
		error  => qr/FATAL:  57P01: terminating connection/,
		reason => qr/canceled: the session that waited for it has ended/,
		unseen => $unseen);
	scenario(
		"$mode, coordinator terminated",
		$mode,
		sub {
			to_processes('pg_terminate_backend', "backend_type = 'pg_selfbench coordinator'");
		},
		reason => qr/canceled: its coordinator was terminated/,
		unseen => $unseen);
	scenario(
		"$mode, client worker terminated",
		$mode,
		sub {
			to_processes('pg_terminate_backend', "backend_type = 'pg_selfbench $mode client'");
		},
		reason => qr/canceled: a client worker was terminated/,
		unseen => $clients);
}

scenario(
	'a connection terminated',
	'libpq',
	sub {
		to_processes('pg_terminate_backend',
			"application_name = 'pg_selfbench' AND backend_type = 'client backend'");
	},
	held    => 1,
	amount  => 'transactions => 100',
	state   => 'finished',
	aborted => 1);

# While the caller is sent notices that its client does not read: the server raises the cancel when it has sent one.
$node->safe_psql('postgres',
	q{SELECT bench.define_script('loud', $$DO 'BEGIN RAISE NOTICE ''%'', repeat(''x'', 1000); END';$$)});
foreach my $mode (qw(spi libpq))
{
	my $name = "$mode, notices that are not read";
	my $call = "bench.run('loud', mode => '$mode', duration => '10 min', vacuum => 'none', label => '$name')";
	# Sends something to the caller while it waits for its client.
	my $to_caller = sub {
		my ($caller, $function) = @_;
		wait_for_transactions($node, $name);
		signal_sql($caller, 'STOP');
		wait_for($node, "SELECT wait_event = 'ClientWrite' FROM pg_stat_activity WHERE application_name = 'caller'");
		to_processes($function, "application_name = 'caller'");
		signal_sql($caller, 'CONT');
	};
	my $caller = start_sql($node, <<"SQL", name => 'caller');
DO \$\$ BEGIN PERFORM $call; EXCEPTION WHEN query_canceled THEN RAISE NOTICE 'caught'; END \$\$;
SELECT count(*) FROM $call;
SQL
	$to_caller->($caller, 'pg_cancel_backend');
	told_ok($caller, qr/NOTICE: .*caught/, "$name: the error is caught");
	$to_caller->($caller, 'pg_cancel_backend');
	my $stderr = (finish_sql($caller))[1];
	like(
		$stderr,
		qr/NOTICE: .*run \d+ was canceled.*ERROR:  57014: canceling statement due to user request/s,
		"$name: the caller's error");
	nothing_left_ok($node, "$name, canceled");

	in_time_ok(
		"$name: timeout",
		sub {
			my ($seconds) = @_;
			$caller = start_sql($node, <<"SQL", name => 'caller');
SET statement_timeout = '$seconds s';
SELECT count(*) FROM ${\ ($call =~ s/'$name'/'$name $seconds'/r)};
SQL
			my $began = comes_before_end($node,
				"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'caller' AND query ~ 'count'", $caller);
			signal_sql($caller, 'STOP') if $began;
			# The call has ended before its client was stopped, or waits for it when the time is up.
			my $unread = "count(*) FILTER (WHERE wait_event = 'ClientWrite')";
			wait_for($node, <<"SQL") if $began;
SELECT $unread = 0 AND coalesce(bool_and(state = 'idle'), true) OR bool_or(now() > query_start + interval '$seconds s') AND $unread = 1
  FROM pg_stat_activity WHERE application_name = 'caller'
SQL
			$unread = $node->safe_psql('postgres', "SELECT $unread = 1 FROM pg_stat_activity WHERE application_name = 'caller'");
			signal_sql($caller, 'CONT') if $began;
			finish_sql($caller);
			return 0 if $unread ne 't';
			is( $node->safe_psql('postgres', "SELECT state, errors FROM bench.runs WHERE label = '$name $seconds'"),
				'canceled|{"canceled: canceling statement due to statement timeout"}',
				"$name: a timeout");
		});

	$caller = start_sql($node, "SELECT count(*) FROM $call", name => 'caller');
	$to_caller->($caller, 'pg_terminate_backend');
	finish_sql($caller);
	nothing_left_ok($node, "$name, terminated");
	is(segments(), $segments, "$name: no shared memory is left");
	is( $node->safe_psql('postgres',
			"SELECT string_agg(state, ' ') FROM bench.runs WHERE label = '$name'"),
		'canceled canceled canceled', "$name: all are canceled");
	next_run_ok($node, $name, $mode);
	$happened += 10;
}

# While all clients wait for a lock.
foreach my $mode (qw(spi libpq))
{
	foreach my $how (qw(bench.cancel pg_cancel_backend pg_terminate_backend coordinator worker))
	{
		my $name   = "$mode waits for a lock, $how";
		my $locker = patient_session();
		my %ends   = (
			'bench.cancel' => sub {
				$node->safe_psql('postgres',
					"SELECT bench.cancel(run_id) FROM bench.runs WHERE label = '$name'");
			},
			pg_cancel_backend => sub {
				to_processes('pg_cancel_backend', "application_name = 'caller'");
			},
			pg_terminate_backend => sub {
				to_processes('pg_terminate_backend', "application_name = 'caller'");
			},
			coordinator => sub {
				to_processes('pg_terminate_backend',
					"backend_type = 'pg_selfbench coordinator'");
			},
			worker => sub {
				to_processes('pg_terminate_backend',
					"backend_type = 'pg_selfbench $mode client'");
			});
		my %errors = (
			pg_cancel_backend    => qr/ERROR:  57014: canceling statement due to user request/,
			pg_terminate_backend => qr/FATAL:  57P01: terminating connection/);
		my %reasons = (
			'bench.cancel' => qr/canceled: on request/,
			coordinator    => qr/canceled: its coordinator was terminated/,
			worker         => qr/canceled: a client worker was terminated/);
		note "scenario: $name";
		my $caller = start_sql($node,
			"SELECT state FROM bench.run(mode => '$mode', clients => $clients, duration => '10 min', vacuum => 'none', label => '$name')",
			name => 'caller');
		wait_for_transactions($node, $name);
		$locker->query_safe('BEGIN; LOCK TABLE pgbench_branches');
		wait_for($node, "SELECT count(*) = $clients FROM pg_locks WHERE NOT granted");
		$ends{$how}->();

		my ($stdout, $stderr) = finish_sql($caller);
		if   ($errors{$how}) { like($stderr, $errors{$how}, "$name: the caller's error") }
		else                 { is($stdout, 'canceled', "$name: the caller's row") }
		# The locker still holds its lock.
		ok(wait_until_quiet($node), "$name: no process and no connection is left");
		$locker->query_safe('ROLLBACK');
		$locker->quit;

		my $run = latest_run($node, $name);
		is($run->{state}, 'canceled', "$name: stored state");
		like($run->{errors}, $reasons{$how} // qr/\w/, "$name: a reason is stored");
		figures_ok($node, $run->{run_id}, $name);
		$happened += $run->{transactions};
		invariants_ok($node, $happened, $name);
		next_run_ok($node, $name, $mode);
		$happened += 10;
	}
}

# Before the start barrier opens: in the vacuum of the run, ...
foreach my $how (qw(bench.cancel pg_cancel_backend pg_terminate_backend coordinator))
{
	my $name   = "vacuum, $how";
	note "scenario: $name";
	my $locker = patient_session();
	$locker->query_safe('BEGIN');
	$locker->query_safe("LOCK TABLE $_ IN SHARE UPDATE EXCLUSIVE MODE")
	  foreach qw(pgbench_branches pgbench_tellers pgbench_history);
	my $caller = start_sql($node,
		"SELECT state FROM bench.run(clients => $clients, duration => '10 min', label => '$name')",
		name => 'caller');
	wait_for($node,
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock' AND query ~ '^run \\d+: vacuum\$'"
	);
	if ($how eq 'coordinator')
	{
		to_processes('pg_terminate_backend', "backend_type = 'pg_selfbench coordinator'");
	}
	elsif ($how eq 'bench.cancel')
	{
		is( $node->safe_psql('postgres',
				"SELECT bench.cancel(run_id) FROM bench.runs WHERE label = '$name'"),
			't', "$name: bench.cancel returns true");
	}
	else { to_processes($how, "application_name = 'caller'") }
	my ($stdout, $stderr) = finish_sql($caller);
	like(
		$stderr,
		{
			'bench.cancel'       => qr/ERROR:  57014: benchmark canceled/,
			pg_cancel_backend    => qr/ERROR:  57014: canceling statement due to user request/,
			pg_terminate_backend => qr/FATAL:  57P01: terminating connection/,
			coordinator          => qr/ERROR:  57014: .*terminated/
		}->{$how},
		"$name: the caller's error");
	ok(wait_until_quiet($node), "$name: no process and no connection is left");
	$locker->query_safe('ROLLBACK');
	$locker->quit;
	is(segments(), $segments, "$name: no shared memory is left");
	invariants_ok($node, $happened, "$name: history was not emptied");

	is(latest_run($node, $name)->{state}, 'canceled', "$name: stored state");
	next_run_ok($node, $name, 'spi');
	$happened += 10;
}

# ... while clients wait at it, which have no statement that could be canceled, ...
foreach my $options (
	"client_process => 'worker'",
	"client_process => 'backend'",
	"mode => 'libpq', jobs => $clients, workers => $clients")
{
	my $name = "at the barrier, $options";
	note "scenario: $name";
	# The run will empty history.
	$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 2)');
	my $locker = patient_session();
	$locker->query_safe('BEGIN; LOCK TABLE pgbench_branches IN SHARE UPDATE EXCLUSIVE MODE');
	my $caller = start_sql($node,
		columns_of('state, transactions, aborted_clients', "bench.run(clients => $clients, transactions => 10, $options)"),
		name => 'caller');
	wait_for($node,
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator' AND wait_event_type = 'Lock' AND query ~ '^run \\d+: vacuum\$'"
	);
	is( $node->safe_psql(
			'postgres', q{
			SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
			 WHERE backend_type ~ '^pg_selfbench (spi|libpq) client'
			    OR backend_type = 'client backend' AND query LIKE 'CALL bench_internal.spi_client%'}),
		$clients,
		"$name: there are clients");
	is( $node->safe_psql('postgres',
			q{SELECT count(*), bool_and(query ~ '^run \d+: ready, 1 client$') FROM pg_stat_activity
			  WHERE backend_type = 'pg_selfbench libpq client'}),
		$options =~ /libpq/ ? "$clients|t" : '0|',
		"$name: what clients of mode libpq say they do");
	# Extensions can name their wait events since 17.
	wait_for($node, <<'SQL');
SELECT coalesce(bool_and(wait_event = CASE WHEN current_setting('server_version_num')::int < 170000
                                           THEN 'Extension' ELSE 'SelfbenchStartBarrier' END), true)
  FROM pg_stat_activity WHERE backend_type ~ '^pg_selfbench (spi|libpq) client'
SQL
	$locker->query_safe('ROLLBACK');
	$locker->quit;
	is((finish_sql($caller))[0], "finished|@{[ 10 * $clients ]}|0", "$name: none is lost");
	$happened = 10 * $clients;
	invariants_ok($node, $happened, $name);
}

# ... and while clients connect, which takes a while.
foreach my $how (qw(pg_cancel_backend pg_terminate_backend coordinator worker))
{
	my $name    = "connecting, $how";
	note "scenario: $name";
	my $control = $node->background_psql('postgres');
	my $starter =
	  $node->background_psql('postgres', on_error_stop => 0, extra_params => [qw(-v VERBOSITY=verbose)]);
	my $pid = $starter->query_safe('SELECT pg_backend_pid()');
	my $offset = -s $node->logfile;
	$control->query_safe('ALTER SYSTEM SET pre_auth_delay = 60');
	$control->query_safe('SELECT pg_reload_conf()');
	$node->wait_for_log(qr/parameter "pre_auth_delay" changed to "60"/, $offset);
	$starter->{stdin} .=
	  "SELECT state FROM bench.run(mode => 'libpq', clients => 2, jobs => 1, duration => '10 min', vacuum => 'none', label => '$name');\n\\warn done\n";
	$starter->{run}->pump_nb;
	my $worker = "backend_type = 'pg_selfbench libpq client'";
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last
		  if $control->query_safe(
			"SELECT count(*) FROM pg_stat_activity WHERE $worker AND datid IS NOT NULL") == 1;
		usleep(10_000);
	}
	my %ends = (
		pg_cancel_backend    => "SELECT pg_cancel_backend($pid)",
		pg_terminate_backend => "SELECT pg_terminate_backend($pid)",
		coordinator =>
		  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench coordinator'",
		worker => "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $worker");
	is($control->query_safe($ends{$how}), 't', "$name: done to a process that is there");
	$control->query_safe('ALTER SYSTEM RESET pre_auth_delay');
	$control->query_safe('SELECT pg_reload_conf()');
	my $patience = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$patience->start;
	$starter->{run}->pump
	  while !$patience->is_expired && $starter->{run}->pumpable && $starter->{stderr} !~ /done/;
	like($starter->{stderr},
		{
			pg_cancel_backend    => qr/ERROR:  57014: canceling statement due to user request/,
			pg_terminate_backend => qr/FATAL:  57P01: terminating connection/,
			coordinator          => qr/ERROR:  57014: .*terminated/,
			worker               => qr/ERROR:  57000: a client worker ended unexpectedly/,
		}->{$how}, "$name: the caller's error");
	eval { $starter->quit };
	nothing_left_ok($node, $name);
	is(segments(), $segments, "$name: no shared memory is left");
	is( $node->safe_psql('postgres', "SELECT count(*) FROM bench.progress"),
		0, "$name: no run is in progress");
	invariants_ok($node, $happened, $name);
	next_run_ok($node, $name, 'libpq');
	$happened += 10;
	$control->quit;
}

is($node->safe_psql('postgres', 'SELECT bench.cancel(max(run_id)) FROM bench.runs'),
	'f', 'a run that has ended cannot be canceled');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM bench.runs WHERE state IN ('starting', 'running')"),
	0,
	'no run is left in progress');

# A segment whose head does not fit together, here by the length of the specification.
$node->safe_psql('postgres', "SELECT bench.start('select-only', duration => '10 min', label => 'torn')");
my $torn = latest_run($node, 'torn');
sub write_length
{
	my ($bytes) = @_;
	my $before;
	open my $file, '+<:raw', $node->data_dir . "/pg_dynshmem/mmap.$torn->{segment}" or die $!;
	seek $file, 16, 0;
	read $file, $before, 8;
	seek $file, 16, 0;
	print $file $bytes;
	close $file;
	return $before;
}
my $length = write_length("\xff" x 8);
my ($status, $stdout, $stderr) =
  $node->psql('postgres', "SELECT bench_internal.is_live($torn->{run_id}, $torn->{segment})");
is("$stdout$stderr", 'f', 'a segment that cannot be used is not kept');
write_length($length);
$node->safe_psql('postgres', "SELECT bench.cancel($torn->{run_id})");
ok(wait_until_quiet($node), 'its run ends');

# Connections that were not authenticated wait for the rest of their delay.
$node->stop('immediate');
done_testing();
