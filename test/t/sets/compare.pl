# Comparisons: arms, rounds, verdicts, stored ones; what goes wrong in the middle of them;
# options that are not valid; arms with statements before and after their runs, and with settings.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('compare', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\n", allows_streaming => 1);
$node->safe_psql(
	'postgres', q{
	SELECT bench.initialize();
	CREATE ROLE plain LOGIN;
	SELECT bench.grant_to('plain');
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain;
	SELECT bench.define_script('short', 'SELECT 1;');
	SELECT bench.define_script('long', E'SELECT 1;\n\\\\sleep 50 ms\n');
	SELECT bench.define_script('partly', E'\\\\if :client_id = 0\nSELECT 1 / 0;\n\\\\endif\nSELECT 1;')});

# Results without notices, and notices alone.
sub query { return (finish_sql(start_sql($node, @_)))[0]; }
sub complaints { return (finish_sql(start_sql($node, @_)))[1]; }

# The arms by default.
my $default = query("SELECT string_agg(arm || ' ' || runs || ' ' || (ratio > 0), ', '), count(DISTINCT set_id), min(verdict) FILTER (WHERE ratio IS NULL)
	FROM bench.compare(repeats => 3, transactions => 20)");
like($default, qr/socket 3 true/, 'arms by default');
like($default, qr/\|1\|baseline$/, 'one set, compared with the first arm');

# What each run was: arms in every round, one seed for a round, in a random order, after
# a vacuum and a checkpoint if it writes.
my $set = query('SELECT max(set_id) FROM bench.sets');
is(query("SELECT string_agg(DISTINCT n::text, ','), string_agg(DISTINCT seeds::text, ',') FROM (
	SELECT count(*) AS n, count(DISTINCT seed) AS seeds FROM bench.runs WHERE set_id = $set GROUP BY round) r"),
	query("SELECT count(DISTINCT arm) FROM bench.runs WHERE set_id = $set") . '|1', 'rounds');
is(query("SELECT count(DISTINCT seed), min(round), max(round) FROM bench.runs WHERE set_id = $set"),
	'4|0|3', 'rounds have seeds of their own, and one warms up');
is(query("SELECT DISTINCT vacuum, checkpoint FROM bench.runs WHERE set_id = $set"), 'all|t', 'vacuum and checkpoint');
query("SELECT bench.compare('[{}, {}]', scripts => 'select-only', repeats => 9, transactions => 1, seed => '1')");
cmp_ok(query('SELECT count(DISTINCT arms) FROM (SELECT string_agg(arm, $$,$$ ORDER BY run_id) AS arms
	FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets) GROUP BY round) r'),
	'>', 1, 'arms take turns in a random order');
is(query('SELECT DISTINCT arm, checkpoint FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets) ORDER BY 1'),
	"arm 1|f\narm 2|f", 'runs that only read need no checkpoint');

is(query(q(SELECT string_agg(arm || runs, ',') FROM bench.compare('[{"name": "arm 2"}, {}, {}]', scripts => 'short', repeats => 1, transactions => 1))),
	"arm 21,arm 2'1,arm 31", 'a name that is given is not given to another arm');

# Stored ones.
foreach my $call (
	q(bench.compare('[{"clients": 1}, {"clients": 2}]', repeats => 4, scripts => 'select-only', transactions => 10)),
	q(bench.compare('[{"name": "slow", "scripts": "long"}, {"name": "fast", "baseline": true}]', repeats => 9, scripts => 'short', transactions => 10)),
	q(bench.compare('[{"name": "a"}, {"name": "b"}]', repeats => 3, scripts => 'short', transactions => 20, rate => 500)))
{
	my $figures = join ', ', map { "to_char($_, '9.9999EEEE')::float8" } qw(tps ratio ratio_low ratio_high);
	my $made = query("SELECT arm, runs, tps, ratio, ratio_low, ratio_high, verdict, set_id FROM $call");
	is(query("SELECT arm, runs, $figures, verdict, set_id FROM bench.arms((SELECT max(set_id) FROM bench.sets))"), $made, "stored: $call");
}
my $of = "FROM bench.arms((SELECT set_id FROM bench.sets WHERE options @> '{\"arms\": [{\"name\": \"slow\"}]}'))";
is(query("SELECT arm, verdict $of WHERE ratio IS NULL"), 'fast|baseline', 'an arm marked as the baseline');
is(query("SELECT ratio < 1 AND ratio_low <= ratio AND ratio <= ratio_high AND ratio_high < 1, verdict ~ 'times as fast' $of WHERE arm = 'slow'"),
	't|t', 'an arm that is slower');
is(query("SELECT tps_low <= tps AND tps <= tps_high AND p_value BETWEEN 0 AND 1 AND latency_p50_ms BETWEEN latency_p50_low_ms AND latency_p50_high_ms AND latency_p99_ms >= latency_p50_ms, cardinality(run_ids), missing $of WHERE arm = 'slow'"),
	't|9|{}', 'intervals');
is(query("SELECT bool_and((p_value < 0.05) = (ratio_low > 1 OR ratio_high < 1)) FROM bench.sets, bench.arms(set_id) WHERE kind = 'compare' AND ratio_low IS NOT NULL"),
	't', 'p values and intervals say the same');
like(query("SELECT verdict FROM bench.arms((SELECT max(set_id) FROM bench.sets)) WHERE arm = 'b'"),
	qr/latency|no difference/, 'with a rate, latencies are compared');
is(query("SELECT scripts_ratio > 0, ratio > 0 FROM bench.arms((SELECT max(set_id) FROM bench.compare('[{\"clients\": 1}, {\"clients\": 2}]', scripts => 'short, long\@2', repeats => 2, transactions => 20))) WHERE ratio IS NOT NULL"),
	't|t', 'a geometric mean of several scripts');

# Names, and options of an arm and of all.
is(query(q(SELECT string_agg(arm, '; ') FROM bench.compare('[{"clients": 1, "protocol": "simple"}, {"clients": 2, "protocol": "simple"}, {"clients": 2, "name": "'';DROP TABLE bench.runs; --"}, {"variables": {"x": "y"}}]', scripts => 'short', protocol => 'simple', repeats => 1, transactions => 1))),
	q(clients=1; clients=2; ';DROP TABLE bench.runs; --; clients=1, x=y), 'names');
is(query(q(SELECT protocol, clients, count(*) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets) GROUP BY 1, 2 ORDER BY 2)),
	"simple|1|4\nsimple|2|4", 'options');

# Budgets of the arms.
query(q(SELECT bench.compare('[{"mode": "spi"}, {"mode": "libpq"}]', scripts => 'select-only', repeats => 2, transactions => 2000)));
is(query(q(SELECT string_agg(t.fits::text, ',') FROM (
	SELECT b.arm, abs(sum(us_per_transaction) / 1000 / v.latency - 1) < 0.01 AND abs(sum(share) - 1) < 0.001 AND min(b.runs) = 2 AS fits
	FROM bench.time_budget(set_id => (SELECT max(set_id) FROM bench.sets)) b JOIN (
		SELECT arm, avg(latency_avg_ms) AS latency FROM bench.runs
		WHERE set_id = (SELECT max(set_id) FROM bench.sets) AND round > 0 GROUP BY arm) v USING (arm)
	GROUP BY b.arm, v.latency) t)), 'true,true', 'time budgets of the arms add up to their latency');

# Arms that cannot run say why, and others go on.
my $plain = query("SELECT string_agg(arm || ': ' || runs || ' ' || verdict, '; ' ORDER BY arm) FROM bench.compare(scripts => 'select-only', repeats => 1, transactions => 5)", user => 'plain');
like($plain, qr/in-server: 1 baseline; socket: 0 cannot run: permission denied for mode "libpq"/, 'an arm that cannot run');
like(query("SELECT string_agg(verdict, '; ' ORDER BY arm) FROM bench.arms((SELECT max(set_id) FROM bench.sets))", user => 'plain'),
	qr/^baseline; cannot run: permission denied for mode "libpq"/, 'the same of the stored set');
like(complaints("SELECT * FROM bench.compare('[{\"mode\": \"libpq\"}]', repeats => 1, transactions => 5)", user => 'plain'),
	qr/ERROR:  42501: permission denied for mode "libpq"/, 'if none can, that is an error');
is(query("SELECT count(*) FROM bench.sets WHERE owner::text = 'plain' AND state <> 'finished'"), 0, 'and no set');

# Runs that lose a client do not count.
my $partly = query(q(SELECT string_agg(concat_ws(' ', arm, runs, cardinality(missing), verdict), '; ') FROM bench.arms((SELECT max(set_id) FROM bench.compare('[{"name": "good", "scripts": "short"}, {"name": "bad"}]', scripts => 'partly', clients => 2, repeats => 2, transactions => 5)))));
like($partly, qr/^good 2 0 baseline; bad 0 2 no round .*2 runs are missing \(.*division by zero/, 'runs that lost clients');

# A table is dropped in the middle.
$node->safe_psql('postgres', 'CREATE TABLE vanishing (i int); INSERT INTO vanishing VALUES (1)');
$node->safe_psql('postgres', "SELECT bench.define_script('drops', 'SELECT count(*) FROM vanishing; DROP TABLE IF EXISTS pgbench_accounts CASCADE;')");
my $dropped = query(q(SELECT string_agg(concat_ws(' ', arm, runs, verdict), E'\n' ORDER BY arm) FROM bench.compare('[{"name": "drops", "scripts": "drops"}, {"name": "needs", "scripts": "select-only"}]', repeats => 3, transactions => 5)));
like($dropped, qr/^drops 3 baseline\nneeds \d .*runs? (is|are) missing \(relation "pgbench_accounts" does not exist/, 'a table that an arm drops');
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# Options that are not valid: nothing has run.
my $sets = query('SELECT count(*) FROM bench.sets');
foreach my $case (
	[ q('[{"client": 1}]'), qr/ERROR:  22023: arm 1: unknown option "client".*clients/s ],
	[ q('[{"name": "x", "clients": "many"}]'), qr/ERROR:  22023: arm "x": invalid value for option "clients": "many"/ ],
	[ q('[{"clients": 1}, {"clients": 0}]'), qr/ERROR:  22023: arm "clients=0": invalid value for option "clients": 0/ ],
	[ q('[{"name": "y", "clients": [1]}]'), qr/ERROR:  22023: arm "y": invalid value for option "clients"/ ],
	[ q('[{"name": "a"}, {"name": "a"}]'), qr/ERROR:  22023: two arms have the name "a"/ ],
	[ q('[{"name": ""}]'), qr/ERROR:  22023: arm 1: invalid value for option "name"/ ],
	[ q('[{"name": 5}]'), qr/ERROR:  22023: arm 1: invalid value for option "name": 5/ ],
	[ q('[{"baseline": 1}]'), qr/ERROR:  22023: arm 1: invalid value for option "baseline": 1/ ],
	[ q('[{"baseline": true}, {"baseline": true}]'), qr/ERROR:  22023: several arms are marked as the baseline/ ],
	[ q('[{"seed": "1"}]'), qr/ERROR:  22023: arm 1: option "seed" is the same for all/ ],
	[ q('[]'), qr/ERROR:  22023: invalid value for option "arms": \[\]/ ],
	[ q('{}'), qr/ERROR:  22023: arms must be a JSON array of objects/ ],
	[ q('[1]'), qr/ERROR:  22023: arms must be a JSON array of objects/ ],
	[ q('null'), qr/ERROR:  22023: arms must be a JSON array of objects/ ],
	[ q((SELECT jsonb_agg('{}'::jsonb) FROM generate_series(1, 10000))), qr/ERROR:  22023: invalid value for option "arms": 10000 arms.*At most 100 arms/s ],
	[ q('[{"scripts": "x''; DROP TABLE bench.runs; --"}]'), qr/ERROR:  42704: arm "arm 1": .*DROP TABLE/ ],
	[ q('[{"mode": "libpq", "target": "host=/nowhere password=secret"}]'), qr/ERROR:  22023: arm "arm 1": a connection string with a password cannot be stored/ ],
	[ q('[{"mode": "libpq", "target": "postgresql://u:secret@localhost/x"}]'), qr/ERROR:  22023: arm "arm 1": a connection string with a password cannot be stored/ ],
	[ q(NULL, mode => 'libpq'), qr/ERROR:  22023: the arms of bench.compare differ in their mode/ ],
	[ q(NULL, repeats => 0), qr/ERROR:  22023: invalid value for option "repeats": 0/ ])
{
	my ($arms, $error) = @$case;
	my $said = complaints("SELECT * FROM bench.compare($arms)");
	like($said, $error, "not valid: $arms");
	unlike($said, qr/secret.*secret/s, 'no password is repeated');
}
is(query('SELECT count(*) FROM bench.sets'), $sets, 'nothing has run');
is(query("SELECT count(*) FROM bench.sets WHERE options::text LIKE '%secret%'"), 0, 'no password is stored');

# Stored runs.
my ($first, $second) = split /\|/, query("SELECT (array_agg(run_id ORDER BY run_id))[1], (array_agg(run_id ORDER BY run_id))[2] FROM bench.runs WHERE state = 'finished' AND aborted_clients = 0");
query("SELECT bench.compare('[{\"clients\": 1}, {\"clients\": 3}]', scripts => 'select-only', repeats => 3, transactions => 30)");
$set = query('SELECT max(set_id) FROM bench.sets');
my $sides = join ', ', map { "(SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm = 'clients=$_' AND round > 0)" } 1, 3;
is(query("SELECT name, of_a, of_b FROM bench.compare_runs($sides) WHERE aspect = 'option'"), 'clients|1|3', 'compare_runs: options, each difference once');
is( query(qq{
	BEGIN;
	UPDATE bench.runs SET tps = 98765.4321, latency_avg_ms = 0.0081234, latency_p99_ms = 12.34567 WHERE run_id = $first;
	SELECT string_agg(concat_ws(' ', name, of_a), E'\n' ORDER BY name) FROM bench.compare_runs('{$first}', '{$second}')
	 WHERE aspect = 'result' AND name IN ('runs', 'tps', 'latency_avg_ms', 'latency_p99_ms');
	ROLLBACK}), "latency_avg_ms 0.00812\nlatency_p99_ms 12.346\nruns 1\ntps 98765", 'compare_runs: figures of as many digits as those of runs');
is(query("SELECT c.ratio = v.ratio, starts_with(c.finding, 'b compared with a: ' || v.verdict || '; p ') FROM bench.compare_runs($sides) c, bench.arms($set) v WHERE c.name = 'tps' AND v.ratio IS NOT NULL"),
	't|t', 'compare_runs: runs of the same rounds are compared by rounds');
is(query("SELECT DISTINCT aspect FROM bench.compare_runs($sides) WHERE aspect IN ('result', 'option', 'budget') ORDER BY 1"), "budget\noption\nresult", 'compare_runs: aspects');
query("SELECT bench.compare('[{\"mode\": \"spi\"}, {\"mode\": \"libpq\"}]', scripts => 'select-only', repeats => 1, transactions => 100)");
my $of_modes = query('SELECT max(set_id) FROM bench.sets');
my $modes = join ', ', map { "(SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $of_modes AND arm = 'mode=$_' AND round > 0)" } qw(spi libpq);
is( query("SELECT name, of_a IS NULL, of_b IS NULL FROM bench.compare_runs($modes) WHERE aspect = 'budget' AND name IN ('other', 'wake-ups and socket') ORDER BY 1"),
	"other|f|t\nwake-ups and socket|t|f", 'compare_runs: a mode does not have the parts of the other');
like(query("SELECT finding FROM bench.compare_runs('{$first}', '{$second}') WHERE name = 'tps'"), qr/^b compared with a: single runs show no noise/, 'compare_runs: single runs');
is(query("SELECT c FROM bench.compare_runs($first, $second) c"), query("SELECT c FROM bench.compare_runs(ARRAY[$first], '$second')  c"), 'compare_runs: numbers, arrays and texts');
like(complaints("SELECT * FROM bench.compare_runs('1, x', $first)"), qr/ERROR:  22023: invalid value for option "a": "1, x"/, 'compare_runs: no number');
my $nights = "(SELECT array_agg(run_id) FROM bench.runs WHERE set_id = $set AND arm = 'clients=3' AND round > 0)";
like(query("SELECT finding FROM bench.compare_runs($nights, '{$first}') WHERE name = 'tps'"),
	qr/the single run is (within|outside of) what the other 3 predict.*; p [=<] [\d.]+$/, 'compare_runs: one run and several others');
like(complaints("SELECT * FROM bench.compare_runs('{$first}', '{999999}')"), qr/ERROR:  42704: run 999999 does not exist/, 'compare_runs: no such run');
like(complaints("SELECT * FROM bench.compare_runs('{}', '{$first}')"), qr/ERROR:  22023: invalid value for option "a": "\{\}"/, 'compare_runs: no run');
like(complaints("SELECT * FROM bench.compare_runs('{$first}', '{}')"), qr/ERROR:  22023: invalid value for option "b": "\{\}"/, 'compare_runs: no run of b');
is(query(qq{
	BEGIN;
	UPDATE bench.runs SET log_prefix = 'prefix', failures_detailed = true, verbose_errors = true WHERE run_id = $second;
	SELECT string_agg(concat_ws(' ', name, of_b), E'\n' ORDER BY name) FROM bench.compare_runs('{$first}', '{$second}')
	 WHERE aspect = 'option' AND name ~ 'prefix|failures|verbose';
	ROLLBACK}), "failures_detailed true\nlog_prefix prefix\nverbose_errors true", 'compare_runs: options');
my $third = query("SELECT (array_agg(run_id ORDER BY run_id))[3] FROM bench.runs WHERE state = 'finished' AND aborted_clients = 0");
is(query(qq{
	BEGIN;
	UPDATE bench.runs SET log_prefix = CASE WHEN run_id <> $third THEN 'prefix' END WHERE run_id IN ($first, $second, $third);
	DELETE FROM bench.run_settings WHERE name = 'work_mem';
	INSERT INTO bench.run_settings (run_id, name, setting, source)
	VALUES ($first, 'made.up', '1', 'session'), ($second, 'made.up', '1', 'session'), ($third, 'made.up', '1', 'session'),
	       ($first, 'work_mem', '8MB', 'session'), ($second, 'work_mem', '8MB', 'session');
	SELECT name, of_a, of_b FROM bench.compare_runs('$first, $third', $second) WHERE name IN ('log_prefix', 'made.up', 'work_mem');
	ROLLBACK}), "log_prefix|prefix (1 of 2 runs)|prefix\nwork_mem|8MB (1 of 2 runs)|8MB", 'compare_runs: what only some runs of a side have');
# Waits of a side without samples are not known.
my $changes = "SELECT count(*) FROM bench_internal.differences(ARRAY[$first], ARRAY[$second]) d WHERE d ->> 'aspect' = 'wait'";
is(query(qq{
	BEGIN;
	DELETE FROM bench.run_waits WHERE run_id IN ($first, $second);
	INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
	VALUES ($first, 0, 'not waiting', NULL, 70, 100), ($first, 0, 'IO', 'WALSync', 30, 100);
	SELECT name, of_a, of_b, ratio FROM bench.compare_runs($first, $second) WHERE aspect = 'wait';
	SELECT name, of_a, of_b, ratio FROM bench.compare_runs($second, $first) WHERE aspect = 'wait';
	$changes;
	INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
	VALUES ($second, 0, 'not waiting', NULL, 140, 100), ($second, 0, 'Lock', 'tuple', 60, 100);
	SELECT name, of_a, of_b, ratio FROM bench.compare_runs($first, $second) WHERE aspect = 'wait';
	$changes;
	ROLLBACK}), <<'ROWS' =~ s/\n\z//r, 'compare_runs: waits of a side without samples');
IO WALSync|30.0 %||
not waiting|70.0 %||
IO WALSync||30.0 %|
not waiting||70.0 %|
0
IO WALSync|30.0 %|0.0 %|0
Lock tuple|0.0 %|30.0 %|
2
ROWS
my ($observed, $not_observed) = map { query("SELECT run_id FROM bench.run('tpcb-like', transactions => 50, observe => $_)") } qw(true false);
foreach my $sides ("$observed], ARRAY[$not_observed", "$not_observed], ARRAY[$observed")
{
	is(query("SELECT string_agg(concat_ws(' ', d ->> 'aspect', d ->> 'name'), ', ') FROM bench_internal.differences(ARRAY[$sides]) d
		WHERE d ->> 'aspect' IN ('wait', 'budget', 'work')"), '', 'what one side has not observed is no difference');
}
like(complaints("SELECT * FROM bench.compare_runs(NULL, '{1}')"), qr/ERROR:  22004: a must not be null/, 'compare_runs: NULL');
like(complaints("SELECT * FROM bench.compare_runs('{$first}', '{$second}')", user => 'plain'), qr/ERROR:  42704: run $first does not exist/, 'compare_runs: runs of others');
like(complaints("SELECT * FROM bench.arms($set)", user => 'plain'), qr/ERROR:  42704: set $set does not exist/, 'verdicts of others');
like(complaints("SELECT * FROM bench.time_budget(set_id => $set)", user => 'plain'), qr/ERROR:  42704: set $set does not exist/, 'budgets of others');
like(complaints("SELECT * FROM bench.time_budget($first, set_id => $set)"), qr/ERROR:  22023: options "run_ids" and "set_id" exclude each other/, 'budgets of both');
like(complaints("SELECT * FROM bench.time_budget($_)"), qr/ERROR:  22004: \w+ must not be null/, "budgets of $_") foreach 'NULL', 'set_id => NULL';
is(query("SELECT (SELECT sum(us_per_transaction) FROM bench.time_budget(ARRAY[$first, $second])) > 0, (SELECT min(runs) FROM bench.time_budget('$first, $second'))"),
	't|2', 'a budget of several runs');
my $unobserved = query("SELECT run_id FROM bench.run('select-only', transactions => 10, observe => false)");
is(query("SELECT count(*) FROM (SELECT * FROM bench.time_budget('$first, $unobserved') EXCEPT SELECT * FROM bench.time_budget($first)) d"), 0,
	'runs whose budget is not known are left out');
is(query("SELECT count(DISTINCT t::text) FROM (VALUES (1)) v, LATERAL (SELECT array_agg(b.component) FROM bench.time_budget('[0:0]={$first}'::bigint[]) b
	UNION ALL SELECT array_agg(b.component) FROM bench.time_budget(${first}::numeric) b UNION ALL SELECT array_agg(b.component) FROM bench.time_budget('$first'::varchar) b) t"),
	1, 'numbers of any type');
query(q(SELECT bench.compare('[{"mode": "spi"}, {"mode": "libpq"}]', scripts => 'select-only', clients => 2, jobs => 1, repeats => 1, transactions => 5)));
is(query('SELECT DISTINCT arm, jobs FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets) ORDER BY 1'), "mode=libpq|1\nmode=spi|2",
	'options of a mode are those of the arms that have it');

# Statements before and after the runs of an arm, and its settings.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE people (id int PRIMARY KEY, name text);
	INSERT INTO people SELECT i, 'name ' || i FROM generate_series(1, 20000) i;
	ANALYZE people;
	CREATE TABLE seen (setting text);
	SELECT bench.define_script('by name', E'\\\\set i random(1, 20000)\nSELECT id FROM people WHERE name = ''name '' || :i;');
	SELECT bench.define_script('tell', 'INSERT INTO seen VALUES (current_setting($$work_mem$$));');
	SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')});

# An index that only one arm has is used by that arm alone.
my $index = q([{"name": "without"}, {"name": "with", "setup": "CREATE INDEX people_name ON people (name)", "teardown": "DROP INDEX people_name"}]);
is(query("SELECT string_agg(arm || ' ' || runs || ' ' || (ratio > 1), ',') FROM bench.compare('$index', scripts => 'by name', repeats => 3, transactions => 200, protocol => 'simple')"),
	'with 3 true', 'an index makes its arm faster');
my $latest = 'FROM bench.runs r WHERE set_id = (SELECT max(set_id) FROM bench.sets)';
is(query("SELECT arm, bool_or(used), bool_and(used) FROM (SELECT arm, EXISTS (SELECT FROM bench.run_tables t WHERE t.run_id = r.run_id AND t.name = 'people_name') AS used $latest) r GROUP BY arm ORDER BY arm"),
	"with|t|t\nwithout|f|f", 'it is used by that arm alone');
is(query("SELECT count(*) FROM pg_class WHERE relname = 'people_name'"), 0, 'it is dropped');
is(query("SELECT count(*) $latest AND teardown_due"), 0, 'no teardown is left');

# A set that is canceled in a run with a teardown.
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(1)');
my $caller = start_sql($node, "SELECT * FROM bench.compare('[{\"setup\": \"CREATE TABLE made ()\", \"teardown\": \"DROP TABLE made\"}]', scripts => 'gate', repeats => 2, transactions => 1)", name => 'caller');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted");
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 1, 'a setup');
signal_sql($caller, 'INT');
finish_sql($caller);
wait_for($node, "SELECT NOT bool_or(teardown_due) FROM bench.runs");
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 0, 'its teardown after a cancel');
$set = query('SELECT max(set_id) FROM bench.sets');

# A crash leaves the teardown to bench.resume.
$caller = start_sql($node, "SELECT * FROM bench.resume($set)", name => 'caller');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted");
$node->stop('immediate');
finish_sql($caller);
eval { $keeper->quit };
$node->start;
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 1, 'what a crash leaves');
like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|compare\|3\|/, 'the set is resumed');
is(query("SELECT state, finished_runs FROM bench.set_summary WHERE set_id = $set"), 'finished|3', 'all of its runs are made');
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 0, 'and nothing is left');

# Settings.
is(query(q(SELECT string_agg(arm || runs, ',') FROM bench.compare('[{"settings": {"work_mem": "4MB"}}, {"settings": {"work_mem": "8MB"}}]', scripts => 'tell', repeats => 1, transactions => 1))),
	'work_mem=4MB1,work_mem=8MB1', 'arms with settings');
is(query("SELECT string_agg(setting || ' ' || n, ',' ORDER BY setting) FROM (SELECT setting, count(*) AS n FROM seen GROUP BY setting) s"), '4MB 2,8MB 2', 'their clients have them');
$sets = query('SELECT count(*) FROM bench.sets');
foreach my $case (
	[ '{"no_such_setting": "1"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"work_mem": "much"}', qr/ERROR:  22023: arm "x": / ],
	[ '{"shared_buffers": "1GB"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"role": "postgres"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"session_authorization": "postgres"}', qr/ERROR:  \w+: arm "x": / ])
{
	my ($settings, $error) = @$case;
	like(complaints("SELECT * FROM bench.compare('[{}, {\"name\": \"x\", \"settings\": $settings}]', scripts => 'gate', repeats => 1, transactions => 1)"), $error, "not valid: $settings");
}
like(complaints("SELECT * FROM bench.compare('[{}, {\"name\": \"x\", \"settings\": {\"log_min_messages\": \"panic\"}}]', scripts => 'select-only', repeats => 1, transactions => 1)", user => 'plain'),
	qr/ERROR:  42501: arm "x": .*permission denied to set parameter "log_min_messages"/, 'a setting that needs superuser');
is(query('SELECT count(*) FROM bench.sets'), $sets, 'nothing has run');

# On a standby nothing is stored, and the rows are there.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is((finish_sql(start_sql($standby, "SELECT arm, runs, set_id, ratio > 0 FROM bench.compare('[{\"clients\": 1}, {\"clients\": 2}]', scripts => 'select-only', repeats => 2, transactions => 5)")))[0],
	"clients=1|2||\nclients=2|2||t", 'on a standby');
$standby->stop;

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
