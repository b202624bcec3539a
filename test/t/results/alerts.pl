# bench.alerts: what jobs raise, who is told, and what follows from it; bench.set_baseline.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('alerts', 'max_worker_processes = 24');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE tester LOGIN;
CREATE ROLE other LOGIN;
SELECT bench.grant_to('tester'), bench.grant_to('other');
CREATE TABLE told (alert_id bigint, role name, at timestamptz DEFAULT clock_timestamp());
GRANT SELECT, INSERT ON told TO tester;
SQL

sub sql { return sql_as($node, @_); }
sub error { return error_as($node, @_); }

# Stores a job of the tester, with more arguments.
sub scheduled
{
	my ($job, $schedule, $options, $more) = @_;
	return sql("SELECT FROM bench.schedule('$job', '$schedule', \$o\$$options\$o\$, confirm => 0, $more)", 'tester');
}

# Runs a job of the tester until nothing of it is left; the state of its run.
sub end_of
{
	my ($job) = @_;
	my $id = sql("SET statement_timeout = 0; SELECT bench.run_job('$job')", 'tester');
	wait_for($node, "SELECT state <> 'running' FROM bench.job_runs WHERE job_run_id = $id");
	wait_until_quiet($node);
	return sql("SELECT state FROM bench.job_runs WHERE job_run_id = $id");
}

# Nights of a label: copies of its first run with other columns, which are SQL expressions of n.
sub nights
{
	my ($label, $n, %columns) = @_;
	return copy_rows($node, 'runs', "run_id = (SELECT min(run_id) FROM bench.runs WHERE label = '$label')", "1, $n", %columns);
}

# A level of 20 nights before the first run of a job; the job runs again after ten nights of another level.
my $nightly = '{"sql": "SELECT 1", "transactions": 5, "observe": false, "label": "nightly"}';
scheduled('nightly', '0 3 * * *', $nightly,
	q(figures => '{tps}', on_alert => 'INSERT INTO public.told VALUES ($1, current_user)'));
is(end_of('nightly'), 'finished', 'a job');
sql("UPDATE bench.runs SET tps = 1000, disturbances = '{}'");
nights('nightly', 20, tps => '1000 + n % 3', started_at => "started_at - (21 - n) * interval '1 day'");
is(end_of('nightly'), 'finished', 'its next run');
is(sql('SELECT count(*) FROM bench.alerts'), 0, 'raises no alert: nothing has changed');
sql("UPDATE bench.runs SET tps = 1001, disturbances = '{}' WHERE tps NOT BETWEEN 1000 AND 1002");
nights('nightly', 10, tps => '500 + n % 3', started_at => "clock_timestamp() + n * interval '1 us'");
my $told = sql(<<'SQL', 'tester');
LISTEN bench_alert;
SELECT bench.run_job('nightly') > 0;
DO $$ BEGIN WHILE EXISTS (SELECT FROM bench.job_runs WHERE state = 'running') LOOP PERFORM pg_sleep(0.1); END LOOP; END $$;
SELECT 1;
SELECT 2;
SQL
like($told, qr/notification "bench_alert" with payload "\{"alert_id": 1\}"/, 'a notification has the number alone');
ok(wait_until_quiet($node), 'no process is left');
is(sql(<<'SQL', 'tester'), '1|nightly|slower|open|nightly|tps|t|t|22|t|', 'an alert');
SELECT alert_id, job_name, kind, state, label, figure, ratio < 0.95, job_run_id = (SELECT max(job_run_id) FROM bench.job_runs),
       cardinality(runs_before), changed_at = (SELECT started_at FROM bench.runs WHERE run_id = runs_after[1]), on_alert_error
  FROM bench.alerts
SQL
is(sql("SELECT cause, message ~ '^runs with label \"nightly\" are slower since 2.* UTC: tps -[0-9.]+ %; likely cause: unknown\$' FROM bench.alerts"),
	'unknown|t', 'says what has happened');
is(sql('SELECT alert_id, role FROM told'), '1|tester', 'its statement is executed as the owner');
my @lines = slurp_file($node->logfile) =~ /^.*alert.*$/mg;
@lines = grep { /WARNING/ } @lines;
is(scalar @lines, 1, 'one line in the log');
like($lines[0], qr/WARNING:  job "nightly": alert 1: runs with label "nightly" are slower since/, 'says so, too');
my $settle = "UPDATE bench.runs SET tps = 501, disturbances = '{}' WHERE tps NOT BETWEEN 500 AND 502 AND tps NOT BETWEEN 1000 AND 1002";
sql($settle);
is(end_of('nightly'), 'finished', 'one more run');
sql($settle);
is(sql('SELECT count(*) FROM bench.alerts'), 1, 'a change raises one alert');

# Who may do what with it.
is(sql('SELECT count(*) FROM bench.alerts', 'other'), 0, 'alerts of other roles are invisible');
my $unknown = qr/ERROR:  42704: alert 1 does not exist\nHINT:  Your alerts are listed in bench.alerts./;
like(error('SELECT bench.acknowledge(1)', 'other'), $unknown, 'and cannot be acknowledged');
like(error('UPDATE bench.alerts SET state = state', 'tester'), qr/permission denied for table alerts/, 'only functions change them');
like(error('SELECT bench.acknowledge(NULL)'), qr/ERROR:  22004: alert_id must not be null/, 'no alert');
like(error("SELECT bench.acknowledge(1, 'closed')"), qr/22023: invalid value for option "state": "closed"\nDETAIL:  Valid values are "open", "acknowledged", "expected", "fixed"\./, 'no state');
like(error('BEGIN READ ONLY; SELECT bench.acknowledge(1)'), qr/25006: cannot acknowledge an alert/, 'in a transaction that only reads');
my $answer = sub { return sql('SELECT state, comment, state_at > raised_at FROM bench.alerts WHERE alert_id = 1') };
sql("SELECT bench.acknowledge(1, comment => 'I see')", 'tester');
is($answer->(), 'acknowledged|I see|t', 'its owner acknowledges it');
sql("SELECT bench.acknowledge(1, 'fixed')");
is($answer->(), 'fixed|I see|t', 'or a superuser');

# A worker with several alerts: the log has all of them, and each statement a new session. One that catches its timeout
# ends with the worker, and its error is stored.
sql(<<'SQL');
CREATE ROLE helper;
GRANT helper TO tester;
GRANT INSERT ON told TO helper;
CREATE FUNCTION stubborn() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        BEGIN
            PERFORM pg_sleep(600);
        EXCEPTION WHEN query_canceled THEN NULL;
        END;
    END LOOP;
END
$$;
CREATE FUNCTION leave_traces() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text := concat_ws(' ', current_user, current_setting('work_mem'), current_setting('application_name'));
BEGIN
    SET ROLE helper;
    SET work_mem = '123 kB';
    SET application_name = 'other';
    RETURN found;
END
$$;
CREATE TABLE traces (alert_id bigint, found text);
GRANT SELECT, INSERT ON traces TO PUBLIC;
SQL
my $two = sub {
	my ($job, $on_alert) = @_;
	scheduled($job, '0 * * * *', '{"sql": "SELECT 1 / 0", "transactions": 1}', "on_alert => '$on_alert'");
	end_of($job);
	# The second failure, long after a time at which it was due.
	sql(<<"SQL");
UPDATE bench.jobs SET scheduled_at = scheduled_at - interval '5 h' WHERE job_name = '$job';
UPDATE bench.job_runs SET started_at = started_at - interval '4 h', finished_at = finished_at - interval '4 h' WHERE job_name = '$job';
SQL
	end_of($job);
};
$two->('twice', 'INSERT INTO public.traces VALUES ($1, public.leave_traces())');
is(sql("SELECT string_agg(kind || ' ' || coalesce(on_alert_error, 'none'), ', ' ORDER BY kind) FROM bench.alerts WHERE job_name = 'twice'"),
	'failing none, gap none', 'two alerts of a worker');
is(sql('SELECT string_agg(DISTINCT found, $$; $$), count(*) FROM traces'), 'tester 4MB pg_selfbench|2', 'each statement has a new session');
my $log_size = -s $node->logfile;
sql("ALTER ROLE tester SET statement_timeout = '1 s'");
$two->('stubborn', 'SELECT public.stubborn()');
sql('ALTER ROLE tester RESET statement_timeout');
is(sql("SELECT string_agg(on_alert_error, '; ') FROM bench.alerts WHERE job_name = 'stubborn'"),
	join('; ', ('the worker of the job was terminated before the statement had ended') x 2), 'a statement that catches its timeout');
my $log = substr(slurp_file($node->logfile), $log_size);
my @told = $log =~ /WARNING:  job "stubborn": alert \d+: (first|the job)/g;
is("@{[ sort @told ]}", 'first the job', 'the log has both alerts');

sql("CREATE PROCEDURE committing(bigint) LANGUAGE plpgsql AS 'BEGIN COMMIT; END'");
$two->('committing', 'CALL public.committing($1)');
is(sql("SELECT DISTINCT on_alert_error FROM bench.alerts WHERE job_name = 'committing'"),
	'invalid transaction termination (A procedure that answers an alert cannot commit.)', 'a procedure that commits');

# What is expected, is a baseline.
my $states = sub { return sql("SELECT string_agg(state || ' ' || n, ', ' ORDER BY first)
	FROM (SELECT state, count(*) AS n, min(started_at) AS first FROM bench.trend('nightly') GROUP BY state) s", 'tester') };
my $changes = sub { return sql("SELECT count(*) FROM bench.changes('nightly', '{tps}')", 'tester') };
is($states->(), 'no history 5, ok 17, slower 12', 'nights of a change');
is($changes->(), 1, 'which is one');
sql("SELECT bench.acknowledge(1, 'expected', 'more rows')", 'tester');
is($states->(), 'no history 10, ok 24', 'if it is expected, a new history begins');
is($changes->(), 0, 'without a change');
is(sql('SELECT round(min(level)) || $$ $$ || round(max(level)) FROM bench.trend($$nightly$$)'), '501 1001', 'and with another level');
sql("SELECT bench.acknowledge(1, 'open')", 'tester');
is($changes->(), 1, 'until it is not expected');
my $first = sql('SELECT runs_after[1] FROM bench.alerts WHERE alert_id = 1');
like(error("SELECT bench.set_baseline($first)", 'other'), qr/42704: run $first does not exist/, 'a run of another role');
sql("SELECT bench.set_baseline($first)", 'tester');
is($states->(), 'no history 10, ok 24', 'a baseline by hand');
sql("SELECT bench.set_baseline($first, false)");
is($changes->(), 1, 'is taken back');
like(error('SELECT bench.set_baseline(NULL)'), qr/22004: run_id must not be null/, 'no run');
is(sql("SELECT bench.export_run($first)::jsonb -> 'run' ? 'is_baseline'"), 'f', 'it does not travel');

# A set: the arm of a comparison that became slower than its baseline.
my $compared = '{"compare": {"arms": [{"name": "a"}, {"name": "b"}], "sql": "SELECT 1", "transactions": 5, "observe": false, "repeats": 1, "label": "arms"}}';
scheduled('arms', '0 3 * * *', $compared, q(figures => '{tps}', on_alert => NULL));
is(end_of('arms'), 'finished', 'a job that compares');
my $set = sql('SELECT max(set_id) FROM bench.sets');
my $nights_of_set = sub {
	my ($from, $to, $tps, $at) = @_;
	my %columns = (set_id => '1000 * set_id + n', started_at => $at, tps => $tps);
	copy_rows($node, $_, "set_id = $set", "$from, $to", %columns) foreach qw(sets runs);
};
sql("UPDATE bench.runs SET tps = 1000, disturbances = '{}' WHERE set_id = $set");
$nights_of_set->(1, 20, '1000 + n % 3', "started_at - (21 - n) * interval '1 day'");
$nights_of_set->(21, 30, "CASE WHEN arm = 'a' THEN 1000 ELSE 500 + n % 3 END", "clock_timestamp() + n * interval '1 us'");
is(end_of('arms'), 'finished', 'ten nights later');
is(sql("SELECT split_part(series, ':', 1), kind, figure, job_run_id = (SELECT max(job_run_id) FROM bench.job_runs) FROM bench.alerts WHERE label = 'arms'"),
	'comparison, b / a|slower|tps|t', 'the arm raises an alert');

# An arm that is far from its level: the set is made again, and the sets of the job are one night.
my $odd = $compared =~ s/"label": "arms"/"label": "odd"/r;
sql("SELECT FROM bench.schedule('odd', '0 3 * * *', '$odd', figures => '{tps}')", 'tester');
is(end_of('odd'), 'finished', 'a job that compares and confirms');
$set = sql("SELECT max(set_id) FROM bench.sets WHERE label = 'odd'");
sql("UPDATE bench.runs SET tps = CASE arm WHEN 'a' THEN 1 ELSE 1e9 END, disturbances = '{}' WHERE set_id = $set");
$nights_of_set->(1, 12, "CASE arm WHEN 'a' THEN 1 ELSE 1e9 + 1e6 * n END", "started_at - (21 - n) * interval '1 day'");
is(end_of('odd'), 'finished', 'an odd night');
is(sql(<<'SQL'), '3|0|3', 'is confirmed by two more sets');
SELECT cardinality(set_ids), cardinality(run_ids), (SELECT count(*) FROM bench.sets WHERE set_id = ANY (set_ids))
  FROM bench.job_runs WHERE job_run_id = (SELECT max(job_run_id) FROM bench.job_runs)
SQL
is(sql(<<'SQL'), 'suspect|t|t', 'which are one night, with the median of all rounds');
SELECT t.state, t.run_ids = m.run_ids, t.value = m.value
  FROM (SELECT * FROM bench.trend('odd') WITH ORDINALITY t ORDER BY t.ordinality DESC LIMIT 1) t,
       (SELECT array_agg(b.run_id ORDER BY b.run_id) AS run_ids, percentile_cont(0.5) WITHIN GROUP (ORDER BY b.tps / a.tps) AS value
          FROM bench.job_runs j JOIN bench.runs b ON b.set_id = ANY (j.set_ids) AND b.arm = 'b'
          JOIN bench.runs a ON a.set_id = b.set_id AND a.arm = 'a' AND a.round = b.round AND a.round > 0
         WHERE j.job_run_id = (SELECT max(job_run_id) FROM bench.job_runs)) m
SQL

# Two jobs that find a change at the same time raise one alert: the second insertion waits for the first.
my $copy = "INSERT INTO bench.alerts SELECT (jsonb_populate_record(a, '{\"alert_id\": 1000000, \"job_name\": \"other\"}')).* FROM bench.alerts a WHERE label = 'arms' AND kind = 'slower'";
like(error($copy), qr/23505: duplicate key value/, 'a change raises one alert, whatever the job');

# Expectations that make no level.
my $no_change = sql("SELECT min(alert_id) FROM bench.alerts WHERE kind = 'failing'");
like(error("SELECT bench.acknowledge($no_change, 'expected')"),
	qr/55000: alert $no_change cannot be expected\nDETAIL:  Its kind is "failing"; only a change makes a new level\./, 'a failure cannot be expected');
sql("UPDATE bench.alerts SET runs_after = '{987654}' WHERE label = 'arms'");
like(error("SELECT bench.acknowledge(alert_id, 'expected') FROM bench.alerts WHERE label = 'arms'"),
	qr/55000: alert \d+ cannot be expected\nDETAIL:  Run 987654, the first one of the new level, does not exist\./, 'nor a change whose run is gone');
my %unfit = ("state = 'failed'" => qr/Its state is "failed"/, "state = 'finished' AND label IS NULL" => qr/It has no label/);
sql("SELECT FROM bench.run(sql => 'SELECT 1', transactions => 1)", 'tester');
foreach my $of (sort keys %unfit)
{
	my $run = sql("SELECT max(run_id) FROM bench.runs WHERE $of");
	like(error("SELECT bench.set_baseline($run)"), qr/55000: run $run cannot be a baseline\nDETAIL:  $unfit{$of}/, "no baseline: $of");
	is(error("SELECT bench.set_baseline($run, false)"), '', 'but it can cease to be one');
}

# Failures.
my $failing = '{"sql": "SELECT 1 / 0", "transactions": 1}';
my $failures = sub { return sql("SELECT count(*) FROM bench.alerts WHERE job_name = 'failing'") };
scheduled('failing', '0 3 * * *', $failing, q(on_alert => 'SELECT 1 / ($1 - $1)'));
is(end_of('failing'), 'failed', 'a job fails');
is($failures->(), 0, 'once');
is(end_of('failing'), 'failed', 'and twice');
is(sql("SELECT kind, message ~ 'failed 2 times in a row: .*division by zero', on_alert_error FROM bench.alerts WHERE job_name = 'failing'"),
	'failing|t|division by zero', 'an alert, with the error of its statement');
is(end_of('failing'), 'failed', 'the third time');
is($failures->(), 1, 'raises none');
scheduled('failing', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 1}', q(on_alert => 'SELECT pg_sleep(600)'));
is(end_of('failing'), 'finished', 'a run that finishes');
scheduled('failing', '0 3 * * *', $failing, q(on_alert => 'SELECT pg_sleep(600)'));
sql("ALTER ROLE tester SET statement_timeout = '2 s'");
is(end_of('failing'), 'failed', 'begins anew');
is($failures->(), 1, 'one failure');
is(end_of('failing'), 'failed', 'and another one');
sql('ALTER ROLE tester RESET statement_timeout');
is($failures->(), 2, 'raise an alert again');
is(sql("SELECT on_alert_error FROM bench.alerts WHERE job_name = 'failing' ORDER BY alert_id DESC LIMIT 1"),
	'canceling statement due to statement timeout', 'whose statement takes too long');

# A worker that is lost raises no alert; the next one does.
sql("INSERT INTO bench.job_runs SELECT nextval('bench.job_run_id_seq'), job_id, owner, 'failing', 'lost', now()
	FROM bench.job_runs, generate_series(1, 2) WHERE job_run_id = (SELECT max(job_run_id) FROM bench.job_runs)");
is($failures->(), 2, 'a job that is lost');
scheduled('failing', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 1}', 'on_alert => NULL');
is(end_of('failing'), 'finished', 'until it finishes');
is($failures->(), 2, 'goes on with failures that have raised an alert');
sql("INSERT INTO bench.job_runs SELECT nextval('bench.job_run_id_seq'), job_id, owner, 'failing', 'lost', now()
	FROM bench.job_runs, generate_series(1, 2) WHERE job_run_id = (SELECT max(job_run_id) FROM bench.job_runs)");
is(end_of('failing'), 'finished', 'lost workers after it');
is(sql("SELECT message FROM bench.alerts WHERE job_name = 'failing' ORDER BY alert_id DESC LIMIT 1"),
	'the job has failed 2 times in a row: its worker was lost', 'raise one');

# Gaps.
my $gaps = "SELECT kind, message ~ '^first run since .* UTC, although the job was due at .*:00 UTC\$' FROM bench.alerts WHERE job_name = 'hourly'";
scheduled('hourly', '0 * * * *', '{"sql": "SELECT 1", "transactions": 1}', 'on_alert => NULL');
is(end_of('hourly'), 'finished', 'an hourly job');
is(end_of('hourly'), 'finished', 'is run again');
is(sql($gaps), '', 'no gap');
sql(<<'SQL');
UPDATE bench.jobs SET scheduled_at = scheduled_at - interval '5 h' WHERE job_name = 'hourly';
UPDATE bench.job_runs SET started_at = started_at - interval '4 h', finished_at = finished_at - interval '4 h' WHERE job_name = 'hourly';
SQL
is(end_of('hourly'), 'finished', 'after four hours');
is(sql($gaps), 'gap|t', 'there was a gap');
is(end_of('hourly'), 'finished', 'at once');
is(sql($gaps), 'gap|t', 'there was none');

# Errors name what was given.
like(error("SELECT bench.schedule('wrong', '0 3 * * *', '{\"pgio\": {\"xyzzy\": 1}}')"), qr/HINT:  Options are those of bench\.run_pgio\./, 'an unknown option of pgio');

# Statements that cannot be executed are refused.
my %wrong = (
	'SELEC' => qr/42601: syntax error/,
	'' => qr/22023: invalid value for option "on_alert": ""\nDETAIL:  One statement: SELECT, INSERT, UPDATE, DELETE, MERGE or CALL\./,
	(map { $_ => qr/22023: invalid value for option "on_alert"/ } 'COMMIT', 'BEGIN', 'COPY told TO STDOUT', 'VACUUM', 'LISTEN x', 'DO $$BEGIN COMMIT; END$$'),
	'SELECT 1; SELECT 2' => qr/22023: invalid value for option "on_alert"/,
	'SELECT $2' => qr/42P02: there is no parameter \$2/,
	'INSERT INTO missing VALUES ($1)' => qr/42P01: relation "missing" does not exist/);
foreach my $statement (sort keys %wrong)
{
	like(error("SELECT bench.schedule('wrong', '0 3 * * *', '$failing', on_alert => '$statement')", 'tester'), $wrong{$statement}, "refused: $statement");
}
is(sql("SELECT count(*) FROM bench.jobs WHERE job_name = 'wrong'"), 0, 'nothing is stored then');

nothing_left_ok($node, 'alerts');
$node->stop;
done_testing();
