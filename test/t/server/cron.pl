# Runs that pg_cron starts, by themselves and as jobs of bench.schedule.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_cron));

# Jobs come over a connection or in a worker of pg_cron; both wait for the next minute.
my %nodes;
foreach my $how (qw(socket worker))
{
	my $node = PostgreSQL::Test::Cluster->new("cron_$how");
	$node->init;
	my $host = $node->host;
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.host = '$host'
cron.use_background_workers = @{[ $how eq 'worker' ? 'on' : 'off' ]}
max_worker_processes = 60
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_cron; CREATE EXTENSION pg_selfbench;');
	$node->safe_psql('postgres', 'SELECT bench.initialize()');
	foreach my $mode (qw(spi libpq))
	{
		$node->safe_psql('postgres',
			"SELECT cron.schedule('$mode', '* * * * *', \$\$SELECT bench.run(mode => '$mode', clients => 2, transactions => 20, vacuum => 'none', label => '$mode')\$\$)"
		);
	}
	$nodes{$how} = $node;
}

# Jobs of a superuser and of a plain role, which has tables of its own. All are due each minute.
my $node = $nodes{worker};
my ($super) = $node->safe_psql('postgres', 'SELECT current_user');
my $hostile = q(it's "a\b" ä $$ %s);
my %options = (
	run => '{"clients": 2, "transactions": 20, "vacuum": "none", "label": "job run"}',
	$hostile => '{"transactions": 5, "vacuum": "none", "label": "job hostile"}',
	slow => '{"transactions": 5, "vacuum": "none", "label": "job slow", "setup": "SELECT pg_sleep(10)"}',
	failing => '{"sql": "SELECT 1 / 0", "transactions": 5, "label": "job failing"}',
	compare =>
	  '{"compare": {"arms": [{"name": "one"}, {"name": "two", "protocol": "simple"}], "repeats": 2, "transactions": 5, "vacuum": "none", "label": "job compare"}}',
);
my $setup_runs = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(10)')";

# A text as a literal of SQL.
sub literal
{
	my ($text) = @_;
	$text =~ s/(['\\])/$1$1/g;
	return " E'$text'";
}

# Schedules a job as a role; returns whether the name is the same, whether pg_cron has the job, and the statement, or
# the error.
sub scheduled
{
	my ($user, $job, $schedule, $options, $more) = @_;
	my $arguments = join ', ', map { literal($_) } $job, $schedule, $options;
	my ($status, $stdout, $stderr) = $node->psql(
		'postgres',
		'SELECT job_name = ' . literal($job)
		  . ", cron_jobid IS NOT NULL, statement FROM bench.schedule($arguments"
		  . ($more // '') . ')',
		extra_params => [ '-U', $user, '-v', 'VERBOSITY=verbose' ]);
	return $status ? $stderr : $stdout;
}

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE plain LOGIN;
CREATE ROLE other LOGIN;
SELECT bench.grant_to('plain'), bench.grant_to('other');
GRANT USAGE ON SCHEMA cron TO plain;
CREATE SCHEMA plain AUTHORIZATION plain;
SQL
$node->safe_psql('postgres', 'SELECT bench.initialize()', extra_params => [ '-U', 'plain' ]);
$node->safe_psql('postgres', q(SELECT bench.define_script('theirs', 'SELECT 1')), extra_params => [ '-U', 'other' ]);
foreach my $user ($super, 'plain')
{
	like(scheduled($user, $_, '* * * * *', $options{$_}),
		qr/^t\|t\|SELECT cron\.schedule\(/, "$user: job $_ is scheduled")
	  foreach sort keys %options;
}

# A role that loses its rights between scheduling and running.
$node->safe_psql('postgres', q(CREATE ROLE revoked LOGIN; SELECT bench.grant_to('revoked'); GRANT USAGE ON SCHEMA cron TO revoked));
like(scheduled('revoked', 'minutes', '* * * * *', '{"sql": "SELECT 1", "transactions": 5}'), qr/^t\|t\|/, 'revoked: a job is scheduled');
$node->safe_psql('postgres', 'DROP OWNED BY revoked');

# What is wrong is told now.
my %wrong = (
	'{"clients": 0}' => qr/22023: invalid value for option "clients": 0/,
	'{"clinets": 1}' => qr/22023: unknown option "clinets"/,
	'{"compare": {"arms": [{"moed": "spi"}]}}' => qr/unknown option "moed"/,
	'{"compare": {"repeats": 0}}' => qr/invalid value for option "repeats": 0/,
	'{"compare": {}, "clients": 1}' => qr/unknown option "compare"/,
	'{"sweep": {"clients": 2}}' => qr/22004: grid must not be null/,
	'{"find_capacity": {"percentile": 99}}' => qr/latency_limit/,
	'{"pgio": {"tables": 1, "update_pct": 101}}' => qr/invalid value for option "update_pct": 101/,
	'{"label": 1, "figures": ["tps"]}' => qr/unknown option "figures"/,
	'[]' => qr/options must be a JSON object/,
	'{"scripts": "select-only, other.theirs"}' => qr/a job cannot use script "other.theirs", named with its owner/,
	'{"compare": {"arms": [{"scripts": "select-only"}, {"scripts": "other.theirs"}]}}' => qr/cannot use script "other.theirs"/,
	'{"sweep": {"grid": {"scripts": ["other.theirs"]}}}' => qr/cannot use script "other.theirs"/,
	'{"find_capacity": {"scripts": "other.theirs", "latency_limit": 10}}' => qr/cannot use script "other.theirs"/,
	'{"scripts": "no such script"}' => qr/no such script/,
	'{"mode": "libpq", "target": "host=localhost password=secret"}' =>
	  qr/a connection string with a password cannot be stored/,
	'{"compare": {"mode": "libpq", "arms": [{"target": "host=localhost password=secret"}]}}' =>
	  qr/a connection string with a password cannot be stored/,
);
like(scheduled($super, 'wrong', '* * * * *', $_), $wrong{$_}, "refused: $_") foreach sort keys %wrong;
like(scheduled($super, 'wrong', 'at night', '{}'), qr/invalid schedule/, 'a schedule that pg_cron refuses');
like(scheduled($super, 'wrong', '* * * * *', $options{compare}, ', repeats => 2'),
	qr/a job that makes a set cannot repeat it/, 'a set is not repeated');
like(scheduled($super, 'wrong', '* * * * *', '{}', ", figures => '{speed}'"), qr/invalid value for option "figures"/, 'a figure that trends do not have');
like(scheduled('other', 'wrong', '* * * * *', '{"scripts": "select-only"}'), qr/permission denied for table pgbench_branches/, 'tables that are not the role\'s');
like(scheduled($super, 'wrong', '* * * * *', '{"pgio": {"tables": 1}}'), qr/"pgio1" does not exist/, 'tables that do not exist');
my (undef, undef, $missing) = $node->psql('postgres',
	q(SET search_path = pg_catalog; SELECT bench.schedule('wrong', '* * * * *', '{"compare": {"arms": [{"scripts": "select-only"}]}}')));
like($missing, qr/relation "pgbench_accounts" does not exist/, 'the tables of an arm that do not exist');
my (undef, undef, $found) = $node->psql('postgres',
	q(SET search_path = pg_catalog; SELECT bench.schedule('found', '* * * * *', '{"scripts": "select-only", "settings": {"search_path": "public"}}'); SELECT bench.unschedule('found')));
unlike($found, qr/ERROR/, 'tables that settings find');
like(scheduled($super, ' ', '* * * * *', '{}'), qr/invalid value for option "job_name"/, 'a name is needed');
is($node->safe_psql('postgres', "SELECT count(*) FROM bench.jobs WHERE job_name = 'wrong'"),
	0, 'nothing is stored then');

# A job of pg_cron with such a name that is not one of ours.
$node->safe_psql('postgres', q(SELECT cron.schedule('pg_selfbench: postgres: foreign', '0 0 1 1 *', 'SELECT 1')));
like(scheduled($super, 'foreign', '* * * * *', '{}'),
	qr/42710: job "pg_selfbench: postgres: foreign" of pg_cron is not a job of pg_selfbench/,
	'a job that is not ours is not overwritten');
is( $node->safe_psql('postgres', "SELECT command FROM cron.job WHERE jobname = 'pg_selfbench: postgres: foreign'"),
	'SELECT 1', 'it is as it was');

foreach my $how (qw(socket worker))
{
	my $node = $nodes{$how};
	wait_for($node,
		"SELECT count(DISTINCT label) = 2 FROM bench.runs WHERE label IN ('spi', 'libpq') AND state NOT IN ('starting', 'running')");
	my $details = "FROM cron.job_run_details WHERE command ~ 'bench.run[(]' AND end_time IS NOT NULL";
	wait_for($node, "SELECT count(*) >= 2 $details");
	is( $node->safe_psql('postgres',
			"SELECT DISTINCT label, state, transactions FROM bench.runs WHERE label IN ('spi', 'libpq') AND state NOT IN ('starting', 'running') ORDER BY label"),
		"libpq|finished|40\nspi|finished|40",
		"$how: runs are stored");
	is($node->safe_psql('postgres', "SELECT DISTINCT status $details"), 'succeeded', "$how: the jobs have succeeded")
	  or diag $node->safe_psql('postgres', "SELECT return_message $details");
	if ($how eq 'worker')
	{
		jobs_ok();
		wait_for($node, q{SELECT EXISTS (SELECT FROM cron.job_run_details WHERE username = 'revoked' AND status = 'failed')});
	}
	$node->safe_psql('postgres', 'SELECT cron.unschedule(jobid) FROM cron.job');
	ok(wait_until_quiet($node), "$how: no process is left");
	invariants_ok($node, undef, $how);
	$node->stop if $how eq 'socket';
}
is($node->safe_psql('postgres', 'SELECT DISTINCT active, outcome FROM bench.schedules'),
	'f|not scheduled', 'pg_cron does not have jobs that were removed there');
roles_ok();
by_hand_ok();
renamed_ok();
dropped_ok();
done_testing();

# What pg_cron has made of the jobs.
sub jobs_ok
{
	foreach my $user ($super, 'plain')
	{
		my $ended = "owner = '$user'::regrole AND state NOT IN ('running', 'skipped')";
		wait_for($node, "SELECT count(DISTINCT job_name) = 5 FROM bench.job_runs WHERE $ended");
		is( $node->safe_psql('postgres', <<"SQL"),
SELECT DISTINCT job_name, state, set_ids <> '{}', cardinality(run_ids), message
  FROM bench.job_runs WHERE $ended AND job_name IN ('run', 'compare', 'slow') ORDER BY job_name
SQL
			"compare|finished|t|0|\nrun|finished|f|1|\nslow|finished|f|1|", "$user: runs and sets are made");
		is( $node->safe_psql('postgres',
				"SELECT DISTINCT state FROM bench.job_runs WHERE $ended AND job_name = " . literal($hostile)),
			'finished', "$user: so is the job with a hostile name");
		like(
			$node->safe_psql('postgres',
				"SELECT state, message FROM bench.job_runs WHERE $ended AND job_name = 'failing' LIMIT 1"),
			qr/^failed\|.*division by zero/s,
			"$user: a failure is in its row");
		is( $node->safe_psql('postgres', <<"SQL"), 'finished|20', "$user: the run is the owner's");
SELECT DISTINCT state, transactions / clients FROM bench.runs
 WHERE label = 'job run' AND owner = '$user'::regrole
       AND run_id IN (SELECT unnest(run_ids) FROM bench.job_runs WHERE owner = '$user'::regrole)
SQL
	}
	is( $node->safe_psql('postgres', <<'SQL'), 't|succeeded', 'the session of pg_cron ends before the run of its job');
SELECT bool_and(d.end_time < r.finished_at), string_agg(DISTINCT d.status, ',')
  FROM bench.job_runs r JOIN cron.job_run_details d
       ON d.command ~ '''slow''' AND d.username = r.owner::text AND d.start_time < r.started_at
          AND d.start_time > r.started_at - interval '30 s'
 WHERE r.job_name = 'slow' AND r.state = 'finished'
SQL
	is($node->safe_psql('postgres', 'SET quote_all_identifiers = on; SELECT count(*) FROM bench.schedules WHERE NOT active OR cron_jobid IS NULL'),
		0, 'all jobs are active');
	is( $node->safe_psql('postgres',
			'SELECT (SELECT count(*) FROM bench.schedules), (SELECT count(*) FROM bench.jobs), (SELECT count(*) FROM bench.job_runs)',
			extra_params => [ '-U', 'other' ]),
		'0|0|0', 'jobs of other roles are invisible');
	my (undef, undef, $stderr) =
	  $node->psql('postgres', "SELECT bench.run_job('run')", extra_params => [ '-U', 'other' ]);
	like($stderr, qr/job "run" does not exist/, 'and cannot be run');

	is( $node->safe_psql('postgres',
			"SELECT job_name, statement ~ '^SELECT cron.unschedule' FROM bench.unschedule('run')"),
		'run|t', 'a job is removed');
	is($node->safe_psql('postgres', "SELECT count(*) FROM cron.job WHERE command ~ '''run''' AND username = '$super'"),
		0, 'from pg_cron, too');
	is( $node->safe_psql('postgres',
			"SELECT count(*) > 0 FROM bench.job_runs WHERE job_name = 'run' AND owner = '$super'::regrole"),
		't', 'its runs stay');
	return;
}

# Jobs of roles that had no rights, or were dropped, when pg_cron started them.
sub roles_ok
{
	like($node->safe_psql('postgres', "SELECT string_agg(DISTINCT status || ': ' || return_message, '') FROM cron.job_run_details WHERE username = 'revoked'"),
		qr/^failed: ERROR: *permission denied for schema bench\s*$/, 'revoked: pg_cron cannot start the job');
	my $seen = "SELECT owner, outcome, overdue, run_ids FROM bench.schedules WHERE job_name = 'minutes'";
	my $later = "UPDATE bench.jobs SET scheduled_at = now() - interval '5 min' WHERE job_name = 'minutes'";
	is($node->safe_psql('postgres', "$later; $seen"), 'revoked|not scheduled|t|', 'revoked: a superuser sees that nothing has run');
	$node->safe_psql('postgres', "SELECT bench.grant_to('revoked')");
	is(end_of(start_job('minutes', 'revoked')), 'finished|', 'revoked: with rights again, the job runs');
	$node->safe_psql('postgres', "DELETE FROM bench.jobs WHERE owner = 'revoked'::regrole");

	$node->safe_psql('postgres', q(CREATE ROLE dropped LOGIN; SELECT bench.grant_to('dropped'); GRANT USAGE ON SCHEMA cron TO dropped));
	my $owner = $node->safe_psql('postgres', "SELECT 'dropped'::regrole::oid");
	like(scheduled('dropped', 'minutes', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 5}'), qr/^t\|t\|/, 'dropped: a job is scheduled');
	$node->safe_psql('postgres', "DROP OWNED BY dropped; DROP ROLE dropped; UPDATE bench.jobs SET schedule = '* * * * *' WHERE owner = $owner; $later");
	is($node->safe_psql('postgres', $seen), "$owner|not scheduled|t|", 'dropped: a superuser sees that nothing has run');
	ok($node->safe_psql('postgres', 'SELECT bench.dashboard()') =~ /<html/, 'dropped: the dashboard needs no name');
	is($node->safe_psql('postgres', "DELETE FROM bench.jobs WHERE owner = $owner RETURNING job_name"), 'minutes', 'dropped: a superuser removes the job');
	$node->safe_psql('postgres', "SELECT cron.unschedule(jobid) FROM cron.job WHERE username = 'dropped'");
	return;
}

# Starts a job as a role; its number in bench.job_runs.
sub start_job
{
	my ($job, $user) = @_;
	return $node->safe_psql('postgres', 'SELECT bench.run_job(' . literal($job) . ')',
		extra_params => [ '-U', $user // $super ]);
}

# State and message of such a run of a job.
sub state_of
{
	my ($id) = @_;
	return $node->safe_psql('postgres', "SELECT state, message FROM bench.job_runs WHERE job_run_id = $id");
}

# The same when it has ended.
sub end_of
{
	my ($id) = @_;
	wait_for($node, "SELECT state <> 'running' FROM bench.job_runs WHERE job_run_id = $id");
	return state_of($id);
}

# Jobs that nothing but a session starts, without pg_cron from the middle on.
sub by_hand_ok
{
	my $first = start_job('slow');
	wait_for($node, $setup_runs);
	is($node->safe_psql('postgres', "SELECT query, state FROM pg_stat_activity WHERE backend_type = 'pg_selfbench job'"),
		'job: making its runs|active', 'its worker shows what it does');
	$node->safe_psql('postgres', "SELECT bench.unschedule('slow')");
	scheduled($super, 'slow', '0 3 * * *', $options{slow});
	my $outcome = "SELECT outcome, message FROM bench.schedules WHERE job_name = 'slow' AND owner = '$super'::regrole";
	is($node->safe_psql('postgres', $outcome), 'running|', 'a job that was scheduled again while it runs');
	is(state_of(start_job('slow')), "skipped|run $first of the job is in progress", 'a job in progress is skipped');
	is($node->safe_psql('postgres', $outcome), 'running|', 'which does not hide its run');
	my $of_plain = start_job('slow', 'plain');
	is(end_of($_), 'finished|', 'the runs of two roles finish') foreach $first, $of_plain;

	# A set that lacks runs has failed, and says why.
	my %incomplete = (
		compare => '"arms": [{"variables": {"n": 1}}, {"variables": {"n": 0}}]',
		sweep => '"grid": {"variables": [{"n": 1}, {"n": 0}]}');
	foreach my $set (sort keys %incomplete)
	{
		scheduled($super, 'incomplete', '0 3 * * *',
			qq({"$set": {"sql": "SELECT 1 / :n", $incomplete{$set}, "repeats": 1, "transactions": 5, "vacuum": "none"}}));
		like(end_of(start_job('incomplete')), qr/^failed\|n=0: .*division by zero/, "$set: a set that lacks runs");
	}
	my (undef, undef, $told) =
	  $node->psql('postgres', q(SELECT bench.schedule('three', '0 3 * * *', '{"transactions": 5}')));
	like($told, qr/the job repeats nothing when a night is suspect/, 'a label that is missing is told');
	(undef, undef, $told) =
	  $node->psql('postgres', q(SELECT bench.schedule('three', '0 3 * * *', '{"transactions": 5}', confirm => 0)));
	is($told, '', 'unless nothing is to be repeated');
	# Labels and figures of which no alert could ever come are told.
	my $of_arms = '"sql": "SELECT 1", "arms": [{"name": "a", "label": "x"}, {"name": "b", "label": %s}, {"name": "c", "label": "x"}]';
	foreach (
		[ '{"transactions": 5, "label": "x"}', '{tps,riops,latency_p99_ms}', qr/nights of the job lack figures: riops\n/ ],
		[ '{"transactions": 5, "label": "x", "observe": false}', '{cpu_us_per_transaction}', qr/lack figures: cpu_us_per_transaction\n/ ],
		[ '{"transactions": 5, "label": "x"}', '{cpu_us_per_transaction}', qr/^$/ ],
		[ '{"find_capacity": {"latency_limit": 10, "label": "x"}}', '{latency_p99_ms}', qr/lack figures: latency_p99_ms\n.*of a search/s ],
		[ sprintf("{\"compare\": {$of_arms}}", '"y"'), '{tps}', qr/arms of the job have no nights: b\n/ ],
		[ sprintf("{\"compare\": {$of_arms}}", '"x"'), '{tps}', qr/^$/ ])
	{
		my ($options, $figures, $pattern) = @$_;
		(undef, undef, $told) = $node->psql('postgres', "SELECT bench.schedule('three', '0 3 * * *', '$options', figures => '$figures')");
		like($told, $pattern, "nights that there are not: $options, $figures");
	}
	(undef, undef, $told) = $node->psql('postgres',
		q(SELECT bench.schedule('three', '0 3 * * *', '{"compare": {"sql": "SELECT 1"}}')), extra_params => [ '-U', 'plain' ]);
	like($told, qr/arm "tcp" cannot run: /, 'and an arm that cannot run');

	$node->safe_psql('postgres',
		q(SELECT bench.schedule('three', '0 3 * * *', '{"transactions": 5, "vacuum": "none"}', repeats => 3)));
	my $three = start_job('three');
	is(end_of($three), 'finished|', 'a job with three runs finishes');
	is($node->safe_psql('postgres', "SELECT cardinality(run_ids) FROM bench.job_runs WHERE job_run_id = $three"),
		3, 'it has made them');

	# A night that is far from the others is repeated; its runs are one night.
	$node->safe_psql('postgres',
		q(SELECT bench.schedule('odd', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 5, "observe": false, "label": "odd"}', figures => '{tps}')));
	is(end_of(my $odd = start_job('odd')), 'finished|', 'a job without a history finishes');
	my ($names, $values) = split /;/, $node->safe_psql('postgres', <<'SQL');
SELECT string_agg(quote_ident(attname), ',') || ';'
       || string_agg(CASE attname WHEN 'run_id' THEN 'nextval(''bench.run_id_seq'')' WHEN 'tps' THEN '1e9 + 1e6 * n'
                                  WHEN 'disturbances' THEN '''{}''' WHEN 'started_at' THEN 'started_at + (n - 20) * interval ''1 s'''
                                  ELSE quote_ident(attname) END, ',')
  FROM pg_attribute WHERE attrelid = 'bench.runs'::regclass AND attnum > 0 AND attgenerated = ''
SQL
	$node->safe_psql('postgres',
		"INSERT INTO bench.runs ($names) SELECT $values FROM bench.runs, generate_series(1, 12) n WHERE label = 'odd'");
	$node->safe_psql('postgres', "UPDATE bench.runs SET tps = 1e9, disturbances = '{}' WHERE label = 'odd' AND tps < 1e9");
	is(end_of($odd = start_job('odd')), 'finished|', 'a job with an odd night finishes');
	my $runs = $node->safe_psql('postgres', "SELECT run_ids FROM bench.job_runs WHERE job_run_id = $odd");
	like($runs, qr/^\{\d+,\d+,\d+\}$/, 'its run is made twice more');
	is($node->safe_psql('postgres', <<"SQL"), "suspect|$runs|t", 'the runs are one night');
SELECT state, t.run_ids, value = (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY tps) FROM bench.runs WHERE run_id = ANY ('$runs'))
  FROM bench.trend('odd') t ORDER BY started_at DESC LIMIT 1
SQL

	# Without a start, a job is overdue.
	my $overdue = "SELECT overdue FROM bench.schedules WHERE job_name = 'hourly'";
	$node->safe_psql('postgres', q(SELECT bench.schedule('hourly', '0 * * * *', '{"duration": "1 s", "label": "hourly"}', confirm => 0)));
	is($node->safe_psql('postgres', $overdue), 'f', 'a job that was never due is not overdue');
	$node->safe_psql('postgres', "UPDATE bench.jobs SET scheduled_at = now() - interval '62 min' WHERE job_name = 'hourly'");
	is($node->safe_psql('postgres', $overdue), 't', 'a job that did not start is');
	is($node->safe_psql('postgres', <<"SQL"), 'f', 'unless it was skipped');
BEGIN;
INSERT INTO bench.job_runs (job_run_id, job_id, owner, job_name, state, started_at)
SELECT nextval('bench.job_run_id_seq'), job_id, owner, job_name, 'skipped', now() FROM bench.jobs WHERE job_name = 'hourly';
$overdue;
SQL
	end_of(start_job('hourly'));
	is($node->safe_psql('postgres', $overdue), 'f', 'until it has started');
	is( $node->safe_psql('postgres',
			"SELECT coalesce(snapshot_held_by, '') ~ 'pg_selfbench job' FROM bench.runs WHERE label = 'hourly'"),
		'f', 'its worker held no snapshot');

	# Requests to end it: of the run, of the statement of the worker, and of the worker.
	my $worker = "FROM pg_stat_activity WHERE backend_type = 'pg_selfbench job'";
	my @requests = (
		[ "SELECT bench.cancel(max(run_id)) FROM bench.runs WHERE label = 'job slow'", 'canceled', 'a run that is canceled' ],
		[ "SELECT pg_cancel_backend(pid) $worker", 'canceled\|.*cancel', 'a worker that is canceled' ],
		[ "SELECT pg_terminate_backend(pid) $worker", 'lost', 'a worker that is terminated' ]);
	$node->safe_psql('postgres', 'DROP EXTENSION pg_cron');
	foreach my $request (@requests)
	{
		my ($sql, $expected, $name) = @$request;
		start_job('slow');
		wait_for($node, $setup_runs);
		$node->safe_psql('postgres', $sql);
		ok(wait_until_quiet($node), "$name: no process is left");
		like(
			$node->safe_psql('postgres',
				"SELECT outcome, message FROM bench.schedules WHERE job_name = 'slow' AND owner = '$super'::regrole"),
			qr/^$expected/,
			$name);
	}

	my $removed = start_job('slow');
	wait_for($node, $setup_runs);
	$node->safe_psql('postgres', "SELECT bench.unschedule('slow')");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $worker");
	ok(wait_until_quiet($node), 'no process of a removed job is left');
	is($node->safe_psql('postgres', "SELECT state FROM bench.job_summary WHERE job_run_id = $removed"),
		'lost', 'the run of a removed job whose worker is terminated');
	scheduled($super, 'slow', '0 3 * * *', $options{slow});

	is( scheduled($super, 'by hand', '0 3 * * *', '{"transactions": 5}'),
		"t|f|SELECT cron.schedule_in_database('pg_selfbench: postgres: by hand', '0 3 * * *', 'SELECT bench.run_job(''by hand'')', 'postgres', '$super')",
		'the statement is told where pg_cron is not in this database');
	is(end_of(start_job('by hand')), 'finished|', 'such a job runs by hand');
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_cron');
	is( scheduled('plain', 'by hand', '0 3 * * *', '{"transactions": 5}'),
		"t|f|SELECT cron.schedule_in_database('pg_selfbench: postgres: by hand', '0 3 * * *', 'SELECT bench.run_job(''by hand'')', 'postgres', 'plain')",
		'or not for this role');
	$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA cron TO plain');
	return;
}

# Jobs belong to roles and databases by whatever names; those of pg_cron have the old names.
sub renamed_ok
{
	scheduled($_, 'by hand', '0 3 * * *', '{"transactions": 5}') foreach $super, 'plain';
	$node->safe_psql('postgres', 'ALTER ROLE plain RENAME TO "Pläin"; ALTER SCHEMA plain RENAME TO "Pläin"');
	is(end_of(start_job('by hand', 'Pläin')), 'finished|', 'a renamed role has its jobs');
	my $of_role = q(FROM bench.schedules WHERE job_name = 'by hand' AND owner = '"Pläin"'::regrole);
	is($node->safe_psql('postgres', "SELECT active, outcome $of_role"), 'f|not scheduled', 'but pg_cron does not');
	like(scheduled('Pläin', 'by hand', '0 3 * * *', '{"transactions": 5}'), qr/^t\|t\|/, 'until they are scheduled again');
	is($node->safe_psql('postgres', "SELECT active, outcome $of_role"), 't|finished', 'as those of the new role');

	$node->safe_psql('postgres', 'CREATE DATABASE renamed');
	$node->safe_psql('renamed', "CREATE EXTENSION pg_selfbench; SELECT bench.initialize()");
	my $schedule = 'SELECT statement FROM bench.schedule(' . join(', ', map { literal($_) } 'slow', '0 3 * * *', $options{slow}) . ')';
	$node->safe_psql('renamed', $schedule);
	$node->safe_psql('postgres', 'ALTER DATABASE renamed RENAME TO "new ""name"""');
	like($node->safe_psql('new "name"', $schedule),
		qr/'pg_selfbench: "new ""name""": slow', .*, 'new "name"'/, 'a renamed database has its jobs');
	is($node->safe_psql('new "name"', 'SELECT job_name, active FROM bench.schedules'),
		'slow|', 'and does not know what pg_cron has');
	return;
}

# The extension, a database and the server end while a job runs.
sub dropped_ok
{
	my $old = start_job('slow');
	wait_for($node, $setup_runs);
	$node->safe_psql('postgres', <<"SQL");
BEGIN;
DROP EXTENSION pg_selfbench;
CREATE EXTENSION pg_selfbench;
INSERT INTO bench.job_runs (job_run_id, job_id, owner, job_name, state, started_at)
VALUES ($old, 1, '$super'::regrole, 'new', 'skipped', now());
COMMIT;
SQL
	ok(wait_until_quiet($node), 'no process is left when the extension is dropped');
	is(state_of($old), 'skipped|', 'a row of the new extension with the same number is as it was');
	my $command = $node->safe_psql('postgres',
		"SELECT command FROM cron.job WHERE command ~ 'by hand' AND username = '$super'");
	my (undef, undef, $stderr) = $node->psql('postgres', $command);
	like($stderr, qr/job "by hand" does not exist/, 'a new extension has no jobs, as pg_cron is told');
	scheduled($super, 'slow', '0 3 * * *', $options{slow});

	$node->safe_psql('new "name"', "SELECT bench.run_job('slow')");
	wait_for($node, $setup_runs);
	$node->safe_psql('postgres', 'DROP DATABASE "new ""name""" WITH (FORCE)');
	ok(wait_until_quiet($node), 'no process is left when the database is dropped');

	my $last = start_job('slow');
	wait_for($node, $setup_runs);
	$node->restart;
	is($node->safe_psql('postgres', "SELECT outcome FROM bench.schedules WHERE job_name = 'slow'"),
		'lost', 'a job that the end of the server has ended');
	is(end_of(start_job('slow')), 'finished|', 'the next one finishes');
	is(state_of($last), 'lost|', 'and the row of the other one says that it was lost');

	# pg_cron and the launcher of logical replication leave no slot.
	$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
	$node->restart;
	like(state_of(start_job('slow')), qr/^failed\|not enough background worker slots/, 'the row says that no worker could start');
	start_job('slow');
	is($node->safe_psql('postgres', "SELECT job_name, message ~ 'failed 2 times in a row: not enough background worker slots' FROM bench.alerts WHERE kind = 'failing'"),
		'slow|t', 'the second time, there is an alert');
	return;
}
