# Optional details of a run: single commands, errors that do not abort, failures by
# kind, the log of transactions as rows and as files.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('details', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
my $dir = PostgreSQL::Test::Utils::tempdir;

# A script that fails as often as the sequence says: transactions of client 0
# only, the first of which is tried three times.
$node->safe_psql(
	'postgres', q{
	CREATE SEQUENCE tries;
	CREATE FUNCTION fail_twice() RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval('tries') <= 2 THEN
			RAISE 'not yet' USING ERRCODE = 'serialization_failure';
		END IF;
		RETURN 1;
	END $$;
	SELECT bench.define_script('twice', E'\\\\set x 1\nselect fail_twice();\nselect 2;');
	CREATE ROLE tester LOGIN;
	SELECT bench.grant_to('tester');
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester;});

foreach my $mode (qw(spi libpq))
{
	# Single commands, against the transactions that executed them.
	my $run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run(mode => '$mode', clients => 3, transactions => 50,"
		  . ' per_statement => true)');
	is( $node->safe_psql(
			'postgres', qq{
			SELECT count(*), bool_and(executions = 150), sum(failures + retries),
			       bool_and(latency_min_ms <= latency_avg_ms AND latency_avg_ms <= latency_max_ms),
			       string_agg(line::text, ' ' ORDER BY command_no)
			FROM bench.run_statements WHERE run_id = $run}),
		'11|t|0|t|1 2 3 4 5 6 7 8 9 10 11',
		"$mode: commands are counted");
	is( $node->safe_psql(
			'postgres', qq{
			-- Both are the same if nothing is between commands, but for rounding.
			SELECT sum(executions * latency_avg_ms) <= any_value.all_ms + 1e-6
			FROM bench.run_statements,
			     (SELECT latency_sum_ms AS all_ms FROM bench.runs WHERE run_id = $run) any_value
			WHERE run_id = $run GROUP BY all_ms}),
		't',
		"$mode: commands take no longer than their transactions");
	like(
		$node->safe_psql('postgres', "SELECT bench.report($run)"),
		qr/^statement\ latencies\ in\ milliseconds\ and\ failures:\n
		   (\ {3}\ *\d+\.\d{3}\ {2}\ {9}0\ {1,2}\S.*\n){11}/mx,
		"$mode: commands are reported");

	# Errors that are tried again.
	$node->safe_psql('postgres', "SELECT setval('tries', 1, false)");
	my ($status, $found, $told) = $node->psql(
		'postgres', columns_of('run_id, transactions, retries', "bench.run('twice', mode => '$mode',
			transactions => 2, max_tries => 3, verbose_errors => true, per_statement => true,
			failures_detailed => true, log => true)"));
	($run) = $found =~ /^(\d+)\|2\|2$/ or diag $found;
	my @told = map { s/^.*NOTICE:  //r } grep { /NOTICE/ } split /\n/, $told;
	is_deeply(
		\@told,
		[
			'client 0 got an error in command 1 (SQL) of script 0; ERROR:  not yet',
			'client 0 repeats the transaction after the error (try 1/3)',
			'client 0 got an error in command 1 (SQL) of script 0; ERROR:  not yet',
			'client 0 repeats the transaction after the error (try 2/3)',
		],
		"$mode: errors are told");
	is( $node->safe_psql(
			'postgres', qq{
			SELECT executions, failures, retries FROM bench.run_statements WHERE run_id = $run
			ORDER BY command_no}),
		"4|0|0\n2|0|2\n2|0|0",
		"$mode: retries are charged to their command");
	is( $node->safe_psql(
			'postgres', qq{
			SELECT client, transaction_no, script_no, outcome, retries, latency_ms > 0
			FROM bench.transactions WHERE run_id = $run ORDER BY transaction_no}),
		"0|1|0|success|2|t\n0|2|0|success|0|t",
		"$mode: retries are logged");
	my $report = $node->safe_psql('postgres', "SELECT bench.report($run)");
	like($report, qr/^number of serialization failures: 0 \(0\.000%\)$/m,
		"$mode: failures by kind");
	like($report, qr/^   +\d+\.\d{3}  +0  +2 +select fail_twice\(\);$/m,
		"$mode: retries of commands are reported");

	# Failures are logged with their kind.
	$node->safe_psql('postgres', "SELECT setval('tries', 2, false)");
	is( $node->safe_psql(
			'postgres', qq{
			WITH r AS MATERIALIZED (SELECT run_id FROM bench.run('twice', mode => '$mode',
				transactions => 2, log => true))
			SELECT 1 FROM r;
			SELECT transaction_no, outcome, latency_ms IS NULL FROM bench.transactions
			WHERE run_id = (SELECT max(run_id) FROM bench.runs) ORDER BY 1}),
		"1\n1|serialization|t\n2|success|f",
		"$mode: failures are logged");

	# As many rows as transactions, whatever ends the run.
	in_time_ok("$mode: a log", sub {
		return $node->safe_psql('postgres',
			"SELECT transactions > 0 FROM bench.run('select-only', mode => '$mode', clients => 3,"
			  . " duration => '$_[0] s', warmup => '200 ms', log => true, label => 'log')") eq 't';
	});
	my $session = start_sql($node,
		"SELECT * FROM bench.run('select-only', mode => '$mode', clients => 3,"
		  . " duration => '1000 s', log => true, label => 'canceled log')");
	wait_for_transactions($node, 'canceled log');
	signal_sql($session, 'INT');
	finish_sql($session);
	foreach my $label ('log', 'canceled log')
	{
		my $latest = latest_run($node, $label);
		cmp_ok($latest->{transactions}, '>', 0, "$mode: $label: transactions");
		is( $node->safe_psql(
				'postgres', qq{
				SELECT count(*), count(DISTINCT (client, transaction_no))
				FROM bench.transactions WHERE run_id = $latest->{run_id}}),
			"$latest->{transactions}|$latest->{transactions}",
			"$mode: $label: all of them are logged");
	}

	# What is logged adds up to the figures of the run, whatever there is to log.
	foreach my $how ('', ', rate => 2000')
	{
		$run = $node->safe_psql('postgres',
			"SELECT run_id FROM bench.run('select-only', mode => '$mode', clients => 2,"
			  . " transactions => 200, per_statement => true, log => true$how)");
		is( $node->safe_psql(
				'postgres', qq{
				SELECT count(*) = r.transactions,
					abs(sum(l.latency_ms) - r.latency_sum_ms) < 0.001,
					abs(coalesce(avg(l.lag_ms) - r.lag_avg_ms, 0)) < 0.001 AND (avg(l.lag_ms) IS NULL) = (r.lag_avg_ms IS NULL),
					max(l.latency_ms) = r.latency_max_ms, min(l.ended_at) > r.started_at - interval '1 s',
					max(l.ended_at) < r.finished_at + interval '1 s'
				FROM bench.transactions l JOIN bench.runs r USING (run_id) WHERE run_id = $run
				GROUP BY r.run_id}),
			't|t|t|t|t|t',
			"$mode: figures of the log$how");
	}

	# The sample is the one that pgbench takes; see the specification of its random numbers.
	$run = $node->safe_psql('postgres',
		"SELECT run_id FROM bench.run('select-only', mode => '$mode', transactions => 20,"
		  . " seed => '7', log => true, sampling_rate => 0.3)");
	is( $node->safe_psql(
			'postgres', qq{
			SELECT string_agg(transaction_no::text, ' ' ORDER BY transaction_no)
			FROM bench.transactions WHERE run_id = $run}),
		'1 2 3 8 11 13 16 18 19 20',
		"$mode: sample");

	# Files: one for each job, whatever process drives it, lines as pgbench writes them.
	$node->safe_psql('postgres',
		"SELECT run_id FROM bench.run('select-only', mode => '$mode', clients => 2,"
		  . ($mode eq 'libpq' ? ' jobs => 2, workers => 1,' : '') . " transactions => 30, rate => 10000, max_tries => 2, log => true,"
		  . " log_prefix => '$dir/$mode')");
	my @files = sort glob "$dir/$mode.*";
	is(scalar @files, 2, "$mode: a file for each job");
	my $lines = join '', map { slurp_file($_) } @files;
	my $line = qr/[01] \d+ \d+ 0 \d{10} \d{1,6} \d+ 0\n/;
	like($lines, qr/\A(?:$line){60}\z/, "$mode: lines of files");
	is(scalar(grep { slurp_file($_) =~ /\A(?:(\d) .*\n)(?:\1 .*\n){29}\z/ } @files),
		2, "$mode: each file has the lines of one client");
}
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM bench.transactions'),
	't', 'there is a log');

# Without failed clients there are no notices.
my (undef, undef, $silence) =
  $node->psql('postgres', "SELECT bench.run('select-only', transactions => 1, verbose_errors => true)");
is($silence, '', 'nothing to tell');

# A run without a caller writes its messages to the server's log.
my $offset = -s $node->logfile;
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(1)');
$node->safe_psql('postgres',
	"SELECT bench.define_script('says', E'select pg_advisory_xact_lock_shared(1);\\n\\\\set x debug(1000 + 1)\\nselect 1;')");
my $alone = $node->safe_psql('postgres', "SELECT bench.start('says', transactions => 1)");
$keeper->quit;
$node->safe_psql('postgres', "SELECT bench.wait($alone)");
ok($node->log_contains('LOG:  debug\(script=0,command=2\): int 1001', $offset),
	'a run without a caller tells the server log');

# Very many messages are shown in part, and the others are counted.
$node->safe_psql('postgres',
	"SELECT bench.define_script('talks', E'\\\\set x debug(:client_id * 100000 + 1)')");
foreach my $mode (qw(spi libpq))
{
	my (undef, undef, $lines) = $node->psql('postgres',
		"SELECT bench.run('talks', mode => '$mode', clients => 2, transactions => 5000)");
	my $shown = () = $lines =~ /command=1\): int (?:1|100001)$/mg;
	my $left_out = 0;
	$left_out += $_ foreach $lines =~ /NOTICE:  (\d+) more lines were suppressed$/mg;
	cmp_ok($left_out, '>', 0, "$mode: a flood is not shown whole");
	is($shown + $left_out, 10000, "$mode: the rest of it is counted");
}

# Rights.
my $as_tester = sub {
	my (undef, $stdout, $stderr) =
	  $node->psql('postgres', $_[0], extra_params => [ '-U', 'tester', '-v', 'VERBOSITY=verbose' ]);
	return $stdout . $stderr;
};
like(
	$as_tester->("SELECT bench.run('select-only', log => true, log_prefix => '$dir/tester')"),
	qr/42501: permission denied for log files\nHINT:.*pg_write_server_files/,
	'files need a role');
is(scalar(glob "$dir/tester*"), undef, 'no file');
is( $as_tester->(
		"SELECT transactions FROM bench.run('select-only', transactions => 3, log => true,"
		  . " vacuum => 'none');"
		  . ' SELECT count(*) FROM bench.transactions'),
	"3\n3",
	'everybody sees the own log');

# Wrong values.
foreach (
	[ 'log => true, sampling_rate => 0',        '22023: invalid value for option "sampling_rate": 0' ],
	[ 'log => true, sampling_rate => 1.5',      '22023: invalid value for option "sampling_rate"' ],
	[ "log => true, sampling_rate => 'NaN'",    '22023: invalid value for option "sampling_rate"' ],
	[ 'sampling_rate => 0.5',                   '22023: option "sampling_rate" needs a log' ],
	[ "log_prefix => '/tmp/x'",                 '22023: option "log_prefix" needs a log' ],
	[ "log => true, log_prefix => 'relative'",  '22023: invalid value for option "log_prefix"' ],
	[ "log => true, log_prefix => '$dir/no/x'", '58030: could not write log file' ],
	[ 'log => NULL',                            '22004: option "log" must not be null' ],
	[ 'per_statement => NULL',                  '22004: option "per_statement" must not be null' ],)
{
	my ($options, $error) = @$_;
	my (undef, undef, $stderr) = $node->psql(
		'postgres', "SELECT bench.run('select-only', transactions => 1, $options)",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($stderr, qr/\Q$error\E/, $options);
}

$node->safe_psql('postgres', 'DELETE FROM bench.runs');
is( $node->safe_psql('postgres',
		'SELECT (SELECT count(*) FROM bench.transactions), (SELECT count(*) FROM bench.run_statements)'),
	'0|0',
	'details go with their runs');
nothing_left_ok($node, 'at the end');

done_testing();
