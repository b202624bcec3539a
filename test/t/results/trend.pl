# bench.trend and bench.changes: series of runs with a label, their levels and what changed.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('trend', "track_io_timing = on\nshared_buffers = '1MB'");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT bench.grant_to('$_')") foreach qw(tester other);

sub sql { return sql_as($node, @_); }
sub error { return error_as($node, @_); }

# Nights of a label: copies of a run, one a day, with other columns, which are SQL expressions of n.
sub nights
{
	my ($run_id, $n, %columns) = @_;
	return copies('runs', "run_id = $run_id", $n, %columns);
}

# Nights of the set with a label, whose runs have other columns.
sub nights_of_set
{
	my ($label, $n, %columns) = @_;
	my $set_id = sql("SELECT set_id FROM bench.sets WHERE label = '$label'");
	sql("UPDATE bench.runs SET tps = 1000 WHERE set_id = $set_id; UPDATE bench.sets SET result = jsonb_set(result, '{rate}', '400') WHERE set_id = $set_id");
	my $result = delete $columns{result} // 'result';
	copies('sets', "set_id = $set_id", $n, set_id => '1000 * set_id + n', result => $result);
	return copies('runs', "set_id = $set_id", $n, set_id => '1000 * set_id + n', %columns);
}

# Copies of rows of a table, one a day.
sub copies
{
	my ($table, $where, $n, %columns) = @_;
	return copy_rows($node, $table, $where, "1, $n", started_at => "timestamptz '2030-01-01 UTC' + n * interval '1 day'", %columns);
}

# What distinguishes series.
my $quick = "transactions => 1, vacuum => 'none', label => 'series'";
sql("SELECT bench.define_script('$_->[0]', '$_->[1]')") foreach [ 'one', 'SELECT 1;' ], [ 'also one', 'SELECT 1;' ], [ 'two', 'SELECT 2;' ];
sql("SELECT bench.run('one', $quick)");
my $series = sub { return sql("SELECT count(DISTINCT series) FROM bench.trend('series')") };
sql("SELECT bench.run('$_', $quick)")
  foreach q(also one', seed => '7), q(one', settings => '{"work_mem": "5MB"}), q(one', duration => NULL, warmup => '1 ms), q(one@1);
is($series->(), 1, 'names of scripts, seeds, settings and lengths are not part of a series');
my $known = 1;
foreach my $other (
	q(two'), q(one, two'), q(one, two@2'), q(one', mode => 'libpq'),
	q(one', protocol => 'simple'), q(one', clients => 2), q(one', rate => 1000), q(one', mode => 'libpq', reconnect => true),
	q(one', max_tries => 2), q(one', variables => '{"a": 1}'))
{
	$node->psql('postgres', "SELECT bench.run('$other, $quick)");
	is($series->(), ++$known, "$other is another series");
}
nights(sql("SELECT max(run_id) FROM bench.runs WHERE mode = 'libpq'"), 1, connection => "'tcp'");
is($series->(), ++$known, 'so is another way of the connections');
like(sql("SELECT DISTINCT series FROM bench.trend('series') WHERE series LIKE '%2 clients%'"), qr/^spi, prepared, 2 clients, scale 1, scripts [0-9a-f]{8}$/, 'its name');
sql(q(SELECT bench.run('one', transactions => 1, label => 'series', variables => jsonb_build_object('a', repeat('x', 3000)))));
is($series->(), ++$known, 'a long variable');
is(sql("SELECT max(length(series)) < 200 FROM bench.trend('series')"), 't', 'does not make a long name');
sql(q(SELECT bench.import_run(json_build_object('format', d ->> 'format', 'format_version', 1, 'extension_version', '0.1.0',
        'exported_at', d ->> 'exported_at', 'source', jsonb_set(d -> 'source', '{system_identifier}', '"77"'), 'run', d -> 'run', 'tables', d -> 'tables'), label => 'series')
        FROM (SELECT bench.export_run(max(run_id))::jsonb AS d FROM bench.runs WHERE scripts = '{two}') e));
is($series->(), ++$known, 'so is a run of another server');
my $all = sql("SELECT count(*) FROM bench.trend('series')");
sql(q(SELECT FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'one', repeats => 1, transactions => 1, label => 'series')));
is(sql("SELECT count(*) FROM bench.trend('series')"), $all + 1, 'runs of sets are in none, but the set is');

# Sets have series of their own.
my $of_set = "scripts => 'one', label => 'sets', transactions => 1, repeats => 2";
sql(qq(SELECT FROM bench.compare('[{"name": "a"}, {"name": "b", "baseline": true}, {"name": "c", "clients": 2}]', $of_set)));
nights_of_set('sets', 30, tps => "n * (1000 + CASE WHEN arm = 'b' THEN 0 ELSE n % 3 END + CASE WHEN arm = 'a' AND n > 20 THEN 200 ELSE 0 END)");
is(sql("SELECT DISTINCT regexp_replace(series, '[0-9a-f]{8}', 'S', 'g') FROM bench.trend('sets') ORDER BY 1"), <<'SQL' =~ s/\n\z//r, 'an arm is beside the baseline');
comparison, a / b: spi, prepared, 1 client, scale 1, scripts S
comparison, c / b: spi, prepared, 2 clients, scale 1, scripts S / spi, prepared, 1 client, scale 1, scripts S
SQL
is(sql("SELECT value, cardinality(run_ids) FROM bench.trend('sets') WHERE series LIKE '% a / b:%' ORDER BY started_at DESC LIMIT 1"), '1.2|2', 'its value is a ratio');
is(sql("SELECT c.series ~ ' a / b:', change, figure, started_at = changed_at, round(ratio::numeric, 2) FROM bench.changes('sets', '{tps}') c JOIN bench.runs ON run_id = runs_after[1]"),
	't|faster|tps|t|1.20', 'which changes, though both have changed more');
sql(qq(SELECT FROM bench.sweep('{"clients": [1, 2]}', scripts => 'one', transactions => 1, repeats => 2, label => 'points')));
nights_of_set('points', 30, tps => 'CASE WHEN clients = 2 AND n > 20 THEN 800 ELSE 1000 END + n % 3 + round');
is(sql("SELECT split_part(series, ':', 1), change, round(after::numeric) FROM bench.changes('points', '{tps}')"), 'sweep, clients=2|slower|802', 'a point of a sweep');
is(sql("SELECT count(*) FROM bench.trend('points')"), 62, 'each has a night');
sql("SELECT FROM bench.find_capacity(scripts => 'one', duration => '100 ms', warmup => '0', clients => 2, latency_limit => 1000, percentile => 90, tolerance => 1, label => 'search')");
nights_of_set('search', 30, result => "jsonb_set(result, '{rate}', to_jsonb(CASE WHEN n > 20 THEN 300 ELSE 400 END + n % 3))");
is(sql("SELECT regexp_replace(series, ':.*', ''), change, figure, round(before::numeric), round(after::numeric) FROM bench.changes('search')"),
	'search, p90 under 1000 ms|slower|tps|401|301', 'a search');
is(sql("SELECT count(*) FROM bench.trend('search', 'latency_avg_ms')"), 0, 'has a rate only');
is(sql("SELECT count(*) FROM bench.trend('points', 'riops')"), 0, 'a figure that no run has');
sql("SELECT bench.report(label => 'sets', format => 'html'), bench.dashboard()");

# States and levels.
my $run = sql("SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'template')");
my $noise = '(1000 + 10 * ((7 * n) % 5 - 2))';
nights($run, 60, label => "'nightly'", tps => "CASE WHEN n <= 30 THEN $noise ELSE 0.8 * $noise END", latency_avg_ms => '1', latency_p95_ms => "CASE WHEN n <= 30 THEN 2 ELSE 3 END", latency_p99_ms => '5');
my $states = sub { return sql("SELECT string_agg(state || ' ' || n, ', ' ORDER BY first)
	FROM (SELECT state, count(*) AS n, min(started_at) AS first FROM bench.trend('$_[0]') GROUP BY state) s") };
is($states->('nightly'), 'no history 5, ok 25, slower 30', 'states of nights');
is(sql("SELECT string_agg(DISTINCT round(level::numeric, -1)::text, ' ') FROM bench.trend('nightly')"), '1000 800', 'levels');
is(sql("SELECT bool_and(level_low < level AND level < level_high AND cardinality(run_ids) = 1) FROM bench.trend('nightly')"), 't', 'with intervals');
is(sql("SELECT bool_and(t.value = r.tps) FROM bench.trend('nightly') t JOIN bench.runs r ON r.run_id = t.run_ids[1]"), 't', 'values are those of the runs');
is(sql("SELECT DISTINCT value FROM bench.trend('nightly', 'latency_p99_ms')"), '5', 'of the figure that is asked for');
is($states->("nightly', least_change => '0.3"), 'no history 5, ok 55', 'a change that is less than the least one');
nights($run, 1, label => "'nightly'", tps => 400, latency_avg_ms => 1, latency_p95_ms => 3, latency_p99_ms => 5, started_at => "'2030-04-01'");
is(sql("SELECT state FROM bench.trend('nightly') ORDER BY started_at DESC LIMIT 1"), 'suspect', 'one odd night');

# Changes.
my $changes = 'SELECT change, figure, round(ratio::numeric, 2), ratio_low < ratio AND ratio < ratio_high, p_value < 0.001, kind,
	changed_at::date, cardinality(runs_before), cardinality(runs_after), figures_changed, cause FROM bench.changes';
is(sql("SET TimeZone = 'UTC'; $changes('nightly')"),
	'slower|tps|0.78|t|t|step|2030-02-01|30|31|{"tps -21.8 %","latency_p95_ms +50.0 %"}|unknown', 'a change of two figures is one');
is(sql("SELECT runs_before[30] < runs_after[1] AND found_at > changed_at FROM bench.changes('nightly')"), 't', 'the runs on both sides');
is(sql("SELECT count(*) FROM bench.changes('nightly', figures => '{latency_p99_ms}')"), 0, 'a figure that has not changed');

# The clock was set back after each run. Nights follow each other by the numbers of their runs; those of imported runs by
# their start.
my %back = (tps => "CASE WHEN n <= 20 THEN $noise ELSE 0.8 * $noise END", started_at => "timestamptz '2030-01-01' - n * interval '1 h'");
my $first_after = "SELECT change, changed_at = (SELECT started_at FROM bench.runs WHERE run_id = runs_after[1])";
nights($run, 40, label => "'clock'", %back);
is(sql("$first_after FROM bench.changes('clock', '{tps}')"), 'slower|t', 'a clock that was set back');
is(sql("SELECT bool_and(run_ids[1] > last) FROM (SELECT *, lag(run_ids[1]) OVER (ORDER BY t.ordinality) AS last FROM bench.trend('clock') WITH ORDINALITY t) t"), 't', 'and the order of the nights');
nights($run, 40, label => "'imported'", imported_at => 'now()', %back);
is(sql("$first_after FROM bench.changes('imported', '{tps}')"), 'faster|t', 'imported runs');

# Its cause.
my $sides = "(SELECT (CASE WHEN side = 'before' THEN runs_before[cardinality(runs_before) - 9:] ELSE runs_after[:10] END) AS ids, side = 'after' AS after
	FROM bench.changes('nightly'), unnest('{before,after}'::text[]) side) s, unnest(ids) run_id";
sql(<<SQL);
CREATE TABLE sides AS SELECT run_id, after FROM $sides;
INSERT INTO bench.run_settings
SELECT run_id, n, CASE WHEN after THEN a ELSE b END, 'configuration file'
  FROM sides, (VALUES ('synchronous_commit', 'off', 'on'), ('log_line_prefix', '%m', '%t'), ('fsync', 'on', 'on')) v (n, b, a);
INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
SELECT run_id, 1, 'not waiting', NULL, 100, 100 FROM sides UNION ALL SELECT run_id, 1, 'IO', 'WALSync', 100, 100 FROM sides WHERE after;
SQL
is(sql("SELECT cause FROM bench.changes('nightly')"), 'synchronous_commit changed from off to on (IO WALSync of the waits: 0.0 % before, 50.0 % after)', 'the cause');
is(sql("SELECT string_agg(d ->> 'name', ', ') FROM bench.changes('nightly'), jsonb_array_elements(differences) d WHERE d ->> 'aspect' = 'setting'"),
	'synchronous_commit, log_line_prefix', 'others that changed there, by their likelihood');
sql("DELETE FROM bench.run_settings USING sides s WHERE run_settings.run_id = s.run_id AND name = 'synchronous_commit'");
is(sql("SELECT cause FROM bench.changes('nightly')"), 'unknown', 'none that is likely');
sql(<<SQL);
INSERT INTO bench.run_tables (run_id, relation, schema_name, name, kind, of_table, known_by, bytes_before, sequential_scans, index_scans)
SELECT run_id, k.relation, 'public', k.name, k.kind, 't', 'plans', CASE WHEN after THEN 105e6 ELSE 100e6 END,
       CASE WHEN kind = 'table' AND after THEN 5 ELSE 0 END, CASE WHEN k.name = 'unused' OR after THEN 0 ELSE 5 END
  FROM sides, (VALUES (1, 't', 'table'), (2, 'used', 'index'), (3, 'unused', 'index')) k (relation, name, kind)
 WHERE k.name = 't' OR after = (k.name = 'unused');
SQL
is(sql("SELECT cause FROM bench.changes('nightly')"), 'index public.used is gone (sequential scans of public.t per transaction: 0.00 before, 1.00 after)', 'an index that was used');

# Disturbances.
nights($run, 40, label => "'disturbed'", tps => "CASE WHEN n BETWEEN 21 AND 30 THEN 500 ELSE $noise END",
	disturbances => "CASE WHEN n BETWEEN 21 AND 30 THEN '{other sessions were active}'::text[] ELSE '{}' END");
is($states->('disturbed'), 'no history 5, ok 25, noisy 10', 'nights on a disturbed machine');
is(sql("SELECT DISTINCT disturbances FROM bench.trend('disturbed') WHERE state = 'noisy'"), '{"other sessions were active"}', 'say what disturbed them');
is(sql("SELECT count(*) FROM bench.changes('disturbed')"), 0, 'and are no change');
sql("UPDATE bench.runs SET disturbances = '{other sessions were active}' WHERE label = 'disturbed'");
is(sql("SELECT count(*) FROM bench.changes('disturbed')"), 2, 'unless most nights are so');
my $first = sql(q(SELECT bench.start('select-only', duration => '600 s', label => 'at once')));
wait_for_transactions($node, 'at once');
sql(q(SELECT bench.run('select-only', transactions => 5, vacuum => 'none', label => 'at once')));
sql("SELECT bench.cancel($first); SELECT bench.wait($first)");
is(sql("SELECT 'this run and others slowed each other down' = ANY (disturbances) FROM bench.runs WHERE label = 'at once' AND state = 'finished'"), 't',
	'a run stores its own');

# All figures have values.
sql("SELECT bench.initialize_pgio(size => '2000')");
sql("SELECT bench.run_pgio(duration => '1 s', update_pct => 50, label => 'pgio')");
foreach my $figure (qw(tps latency_avg_ms latency_p50_ms latency_p90_ms latency_p95_ms latency_p99_ms latency_p999_ms cpu_us_per_transaction
	wal_bytes_per_transaction riops cache_hits_per_s logical_reads_per_s wal_bytes_per_update select_avg_ms select_p99_ms
	update_avg_ms update_p99_ms read_avg_ms read_p50_ms read_p95_ms read_p99_ms))
{
	is(sql("SELECT count(value) FROM bench.trend('pgio', '$figure')"), 1, "a value of $figure");
}

# Runs that do not count.
nights($run, 10, label => "'failed'", state => "CASE WHEN n < 4 THEN 'failed' WHEN n < 7 THEN 'canceled' ELSE 'finished' END", aborted_clients => 'n / 9');
is(sql("SELECT count(*) FROM bench.trend('failed')"), 2, 'runs that failed or lost clients are left out');

# Errors.
like(error("SELECT bench.trend('none')"), qr/ERROR:  42704: there is no run with label "none"/, 'an unknown label');
like(error("SELECT bench.changes('none')"), qr/ERROR:  42704: there is no run with label "none"/, 'of changes, too');
like(error('SELECT bench.trend(NULL)'), qr/ERROR:  22004: label must not be null/, 'no label');
like(error("SELECT bench.trend('nightly', 'speed')"), qr/ERROR:  22023: invalid value for option "figure": "speed"\nDETAIL:  Valid values are "tps",/, 'an unknown figure');
like(error("SELECT bench.changes('nightly', '{tps,speed}')"), qr/ERROR:  22023: invalid value for option "figure": "speed"/, 'among others');
like(error("SELECT bench.trend('nightly', least_change => $_)"), qr/ERROR:  22023: invalid value for option "least_change": /, "least_change $_") foreach "'NaN'", -1, 2;

# Rights.
sql('GRANT SELECT ON pgbench_accounts, pgbench_branches TO tester');
my $own = sql("SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'nightly')", 'tester');
is(sql("SELECT run_ids FROM bench.trend('nightly')", 'tester'), "{$own}", 'a role sees its own runs');
is(sql("SELECT count(*) FROM bench.changes('nightly')", 'tester'), 0, 'and no changes of others');
like(error("SELECT bench.trend('nightly')", 'other'), qr/ERROR:  42704: there is no run with label "nightly"/, 'a role without runs');

$node->stop;
done_testing();
