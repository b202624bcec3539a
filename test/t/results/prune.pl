# bench.prune: what is deleted, what stays, and that trends are what they were.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('prune', 'track_io_timing = on');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE tester LOGIN;
SELECT bench.grant_to('tester');
SELECT bench.initialize();
SELECT bench.initialize_pgio(size => '300');
GRANT SELECT ON pgbench_accounts, pgbench_branches TO tester;
-- What no statement of the extension may call.
CREATE SCHEMA shadows;
CREATE FUNCTION shadows.no(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR shadows.< (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = shadows.no);
CREATE FUNCTION shadows.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''-infinity''';
SQL

sub sql { return sql_as($node, @_); }
sub error { return error_as($node, @_); }

# Copies of a run with that label, one a day, which are a year old; other columns are SQL expressions of n.
sub copies
{
	my ($run_id, $label, $n, %columns) = @_;
	my $at = "timestamptz '2020-01-01 UTC' + n * interval '1 day'";
	return copy_rows($node, 'runs', "run_id = $run_id", "1, $n", started_at => $at, created_at => $at, label => "'$label'", %columns);
}

my $run = "aggregate_interval => '100 ms', duration => '1 s', log => true, per_statement => true, vacuum => 'none', label => 'detailed'";
my @runs = map { sql("SELECT run_id FROM bench.run('$_', $run)") } 'select-only', "tpcb-like', profile => 'true";
push @runs, sql("SELECT run_id FROM bench.run_pgio(duration => '1 s', update_pct => 50, label => 'pgio')");
my $young = sql("SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'many')");
my $theirs = sql("SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'many')", 'tester');
sql("SELECT FROM bench.compare('[{\"name\": \"a\"}, {\"name\": \"b\"}]', scripts => 'select-only', repeats => 2, transactions => 5, label => 'set')")
  foreach 1, 2;
my $of_set = sql('SELECT count(*) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets)');
copies($runs[0], 'year', 365, tps => '(CASE WHEN n <= 200 THEN 1000 ELSE 800 END) + 10 * ((7 * n) % 5)');
copies($runs[0], 'many', 30, tps => '1000 + n % 5');
sql("UPDATE bench.runs SET created_at = created_at - interval '100 days' WHERE run_id <> $young");

sql("UPDATE bench.run_server_intervals SET checkpoint_begun = (interval_no = 0) WHERE run_id = $runs[0]");
# Numbers whose sums are too large, and holders of locks in several intervals.
my $large = sql("SELECT min(run_id) FROM bench.runs WHERE label = 'year'");
sql("INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds) SELECT $large, n, 'Client', 'ClientRead', 2000000000, 2000000000 FROM generate_series(0, 1) n");
sql("INSERT INTO bench.run_blockers (run_id, interval_no, locktype, blocker, samples, rounds) SELECT $large, n, 'tuple', 'own client', 3, 5 FROM generate_series(1, 2) n");
sql("INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, wal_bytes) SELECT $large, n, n, 1, 9223372036854775807 FROM generate_series(0, 1) n");
# What stays: the trends, and what bench.changes compares.
my $list = join ',', @runs;
my @figures = qw(tps latency_avg_ms latency_p99_ms cpu_us_per_transaction wal_bytes_per_transaction);
my %kept = (
	(map { my $figure = $_; map { ("$figure of $_" => "SELECT * FROM bench.trend('$_', '$figure')") } qw(detailed year) } @figures),
	'figures of pgio' => "SELECT * FROM bench.trend('pgio', 'riops') UNION ALL SELECT * FROM bench.trend('pgio', 'read_p99_ms')",
	changes => "SELECT * FROM bench.changes('year')",
	differences => "SELECT d::text FROM bench_internal.differences(ARRAY[$runs[0]::bigint], ARRAY[$runs[1]::bigint]) d ORDER BY 1",
	'time budget' => "SELECT * FROM bench.time_budget($runs[1])",
	waits => "SELECT * FROM bench.top_waits($runs[1])",
	sets => 'SELECT a.arm, a.runs, a.tps, a.latency_p99_ms FROM bench.sets s, bench.arms(s.set_id) a ORDER BY s.set_id, a.arm');
my $values = sub { return { map { $_ => sql($kept{$_}) } keys %kept } };
my $before = $values->();
isnt($before->{changes}, '', 'a change in the year');
like($before->{differences}, qr/WAL bytes/, 'differences of WAL');

# Wrong arguments.
like(error('CALL bench.prune(NULL)'), qr/22004: older_than must not be null/, 'no age');
like(error("CALL bench.prune('1 day', NULL)"), qr/22004: keep_per_label must not be null/, 'no number');
like(error("CALL bench.prune('-1 day')"), qr/22023: invalid value for option "older_than"/, 'a negative age');
like(error("CALL bench.prune('1 day', -1)"), qr/22023: invalid value for option "keep_per_label": -1/, 'a negative number');
like(error("CALL bench.prune('100000 years')"), qr/22023: invalid value for option "older_than": "?100000 years"?\nDETAIL:  An interval from 0 to 5000 years\./, 'an age before all time');
my $alone = qr/25001: bench\.prune cannot be called in a transaction block or a function\nHINT:  It commits after each 100 runs\./;
like(error("BEGIN; CALL bench.prune('90 days'); COMMIT"), $alone, 'it commits, which a transaction block does not allow');
sql("CREATE FUNCTION pruning() RETURNS void LANGUAGE plpgsql AS 'BEGIN CALL bench.prune(''90 days''); END'");
like(error("SELECT pruning()"), $alone, 'nor a function');
is(sql('SELECT count(*) FROM bench.runs WHERE thinned_at IS NOT NULL'), 0, 'nothing is done then');
like(sql("SELECT DISTINCT prune FROM bench.storage WHERE table_name IN ('runs', 'run_waits')"), qr/^CALL bench\.prune\(older_than => '90 days'\)$/, 'bench.storage proposes it');

# A role's own runs; a hostile path; details, in transactions of 100 runs.
my $all = sql('SELECT count(*) FROM bench.runs');
sql("CALL bench.prune('90 days')", 'tester');
is(sql('SELECT string_agg(run_id::text, $$ $$) FROM bench.runs WHERE thinned_at IS NOT NULL'), $theirs, "a role thins its own runs");
sql("SET search_path = shadows, pg_catalog; CALL bench.prune('90 days')");
is(sql('SELECT count(*) FROM bench.runs'), $all, 'no run is deleted');
is(sql('SELECT run_id FROM bench.runs WHERE thinned_at IS NULL'), $young, 'all that are old enough are thinned');
is(sql("SELECT count(DISTINCT xmin::text) > 3 FROM bench.runs WHERE label = 'year'"), 't', 'in several transactions');
is(sql(<<"SQL"), '0|0|0|0', 'details are deleted');
SELECT (SELECT count(*) FROM bench.run_intervals WHERE run_id <> $young), (SELECT count(*) FROM bench.transactions),
       (SELECT count(*) FROM bench.run_stacks), (SELECT count(histogram) FROM bench.runs WHERE run_id <> $young)
         + (SELECT count(histogram) FROM bench.run_scripts WHERE run_id <> $young) + (SELECT count(histogram) FROM bench.run_statements)
         + (SELECT count(read_histogram) FROM bench.pgio_runs) + (SELECT count(select_histogram) FROM bench.pgio_sessions)
SQL
is(sql("SELECT max(n) FROM (SELECT count(*) AS n FROM bench.run_server_intervals WHERE run_id <> $young GROUP BY run_id) i"), 1, 'what the server did is one interval');
is(sql("SELECT checkpoint_begun FROM bench.run_server_intervals WHERE run_id = $runs[0]"), 't', 'with whether there was a checkpoint');
is(sql("SELECT severity, evidence ~ '^bench.prune deleted its intervals on 2' FROM bench.advice($runs[0]) WHERE finding = 'findings in the course of the run are not known any more'"),
	'note|t', 'advice says what is missing');
is(sql("SELECT max(interval_no) FROM bench.run_waits WHERE run_id <> $young"), 0, 'as waits are');
my $after = $values->();
is($after->{$_}, $before->{$_}, "as before: $_") foreach sort keys %kept;
like(sql("SELECT bench.report($runs[0])"), qr/^intervals, histograms, stacks and log: deleted on 2/m, 'reports say so');
like(sql("SELECT bench.report($runs[0], 'html')"), qr/intervals, histograms, stacks and log/, 'also as a page');
is(sql("SELECT string_agg(name, ' ' ORDER BY name) FROM bench.charts($runs[0]) WHERE name IN ('tps', 'wal', 'waits', 'latencies', 'cpu')"), '', 'charts over time are gone');
is(sql("SELECT d -> 'run' ? 'thinned_at', d -> 'tables' ? 'run_intervals' FROM (SELECT bench.export_run($runs[0])::jsonb AS d) e"), 't|f', 'exports say so');
my $last = sql('SELECT max(thinned_at) FROM bench.runs');
sql('INSERT INTO bench.sets (set_id, kind, owner, database_name, options, seed, state, started_at)
	SELECT 9990 + n, kind, owner, database_name, options, seed, $$failed$$, now() - n * interval $$60 days$$ FROM generate_series(1, 2) n,
	(SELECT * FROM bench.sets LIMIT 1) s');
sql("CALL bench.prune('90 days')");
is(sql("SELECT samples, rounds FROM bench.run_waits WHERE run_id = $large"), '2147483647|2147483647', 'sums that are too large');
is(sql("SELECT wal_bytes, blocks_read FROM bench.run_server_intervals WHERE run_id = $large"), '9223372036854775807|', 'of server intervals, and none');
is(sql("SELECT interval_no, samples, rounds FROM bench.run_blockers WHERE run_id = $large"), '0|6|10', 'blockers are summed up');
is(sql('SELECT string_agg(set_id::text, $$,$$) FROM bench.sets WHERE set_id > 9990'), '9991', 'old sets without runs are deleted');
sql('DELETE FROM bench.sets WHERE set_id > 9990');
is(sql('SELECT max(thinned_at) FROM bench.runs'), $last, 'again, there is nothing to do');

# Old runs beyond a number; baselines, runs of open alerts, and young runs stay.
my ($first, $second, $third) = split /\n/, sql("SELECT run_id FROM bench.runs WHERE label = 'many' AND created_at < '2020-01-01' ORDER BY run_id LIMIT 3");
sql(<<"SQL");
SELECT bench.set_baseline($first);
INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message, runs_before, runs_after)
SELECT nextval('bench.alert_id_seq'), current_user::regrole, 'job', 1, 'slower', 'm', '{$second}', '{$third}';
INSERT INTO bench.job_runs (job_run_id, job_id, owner, job_name, state, started_at, run_ids)
SELECT nextval('bench.job_run_id_seq'), 1, current_user::regrole, 'job', state, '2020-01-01', run_ids
  FROM (VALUES ('finished', '{$first}'::bigint[]), ('failed', '{}'), ('lost', '{}')) v (state, run_ids);
SQL
my $many = sub { return sql("SELECT string_agg(run_id::text, ' ' ORDER BY run_id) FROM bench.runs WHERE label = 'many' AND owner = current_user::regrole") };
my @newest = split / /, $many->();
@newest = @newest[-10 .. -1];
# By number, the young run is the first of its label.
unlike("@newest", qr/\b$young\b/, 'the newest runs have the highest numbers');
sql("CALL bench.prune('90 days', 10)");
is($many->(), join(' ', sort { $a <=> $b } $young, $first, $second, $third, @newest), 'the newest runs stay, and what is needed');
is(sql("SELECT state FROM bench.job_runs ORDER BY job_run_id"), "finished\nlost", 'runs of jobs that have made nothing are deleted, but the last');
sql("SELECT bench.acknowledge(alert_id) FROM bench.alerts");
sql("CALL bench.prune('90 days', 1)");
is($many->(), join(' ', sort { $a <=> $b } $young, $first, $newest[-1]), 'after the alert, its runs are deleted');
is(sql("SELECT count(*), count(DISTINCT set_id), (SELECT count(*) FROM bench.sets) FROM bench.runs WHERE label = 'set'"), "$of_set|1|1", 'a set counts as one run');
is(sql("SELECT run_id FROM bench.runs WHERE run_id = $theirs"), $theirs, 'each role has its newest runs');
sql("CALL bench.prune('90 days', 0)", 'tester');
is(sql("SELECT count(*) FILTER (WHERE owner = 'tester'::regrole), count(*) > 0 FROM bench.runs"), '0|t', 'a role deletes its own runs');

# A set is pruned as a whole: not with a baseline, a run of an open alert, or a run that is not old enough.
my $compare = sub {
	sql("SELECT FROM bench.compare('[{\"name\": \"a\"}, {\"name\": \"b\"}]', scripts => 'select-only', repeats => 2, transactions => 5, label => 'whole')");
	my $set = sql('SELECT max(set_id) FROM bench.sets');
	sql("UPDATE bench.runs SET created_at = created_at - interval '100 days' WHERE set_id = $set");
	return $set;
};
my @kept = map { $compare->() } 1 .. 3;
my $gone = $compare->();
my @first = map { sql("SELECT min(run_id) FROM bench.runs WHERE set_id = $_ AND round > 0") } @kept;
sql(<<"SQL");
SELECT bench.set_baseline($first[0]);
INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message, runs_before, runs_after)
SELECT nextval('bench.alert_id_seq'), current_user::regrole, 'job', 1, 'slower', 'm', '{NULL}', '{$first[1]}';
UPDATE bench.runs SET created_at = now() WHERE run_id = $first[2];
SQL
my $whole = sub { return sql("SELECT string_agg(set_id || ' ' || n || ' ' || thinned, ', ' ORDER BY set_id) FROM (SELECT set_id, count(*) AS n, count(thinned_at) AS thinned FROM bench.runs WHERE label = 'whole' GROUP BY set_id) s") };
sql("CALL bench.prune('90 days')");
is($whole->(), join(', ', (map { "$_ 6 0" } @kept), "$gone 6 6"), 'a set is thinned as a whole');
sql("CALL bench.prune('90 days', 0)");
is($whole->(), join(', ', map { "$_ 6 0" } @kept), 'and deleted so; an alert with a NULL keeps no other run');
sql("UPDATE bench.runs SET created_at = '2020-01-01', teardown_due = run_id = $first[2] WHERE set_id = $kept[2]");
sql("CALL bench.prune('90 days', 0)");
is($whole->(), join(', ', map { "$_ 6 0" } @kept), 'nor with a run whose teardown is due');
sql("UPDATE bench.runs SET teardown_due = false WHERE set_id = $kept[2]");
sql("UPDATE bench.sets SET state = 'running' WHERE set_id = $kept[2]; UPDATE bench.runs SET created_at = '2020-01-01' WHERE set_id = $kept[2]");
my $locked = sql("SELECT bench_internal.is_locked('sets', $kept[2])");
is($locked, 'f', 'a set that is not in progress');
sql("CALL bench.prune('90 days', 0)");
is($whole->(), join(', ', map { "$_ 6 0" } @kept[0, 1]), 'is pruned when all of its runs are old');

$node->stop;
done_testing();
