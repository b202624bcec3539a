# Every function gives the same values whatever the settings of the calling session are.
use strict;
use warnings;

use List::Util qw(pairkeys pairs);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('session_settings', "max_worker_processes = 16");
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE "Another Role";
SELECT bench.initialize();
SELECT bench.initialize_pgio(size => '300');
SELECT bench.initialize('ycsb');
SELECT bench.define_script('mine', E'\\set n random(1, 10)\nSELECT :n;');
SELECT bench.define_workload('captured', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0, "index_mb": 0},
	"captured": {}, "mixes": [{"name": "captured", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}', '', '', '{"s": "SELECT 1;"}');
-- The runs and sets that functions read.
SELECT bench.run('mine, select-only@2', clients => 2, transactions => 50, per_statement => true, log => true,
                 profile => true, label => 'it''s \ "read"', variables => '{"a": "\\ ''"}');
SELECT bench.run(mode => 'libpq', transactions => 50, settings => '{"work_mem": "5555kB"}', label => 'read');
SELECT bench.run_pgio(transactions => 5, label => 'read');
SELECT bench.compare('[{"mode": "spi"}, {"mode": "libpq"}]', scripts => 'mine', repeats => 2, transactions => 20);
SELECT bench.sweep('{"clients": [1, 2, 3, 4]}', scripts => 'mine', repeats => 1, transactions => 20);
INSERT INTO bench.alerts (alert_id, owner, job_name, job_run_id, kind, message) VALUES (1, current_user::regrole, 'job', 1, 'gap', 'm');
INSERT INTO bench.captured_workloads VALUES (current_user::regrole, 'captured', '2020-01-01', 'public', 9.5, 5, 5, 100.5);
INSERT INTO bench.captured_statements (owner, workload, statement_no, queryid, query, status, approximate, calls, rows, total_exec_time_ms,
    shared_blks_hit, shared_blks_read, shared_blks_dirtied, shared_blks_written, wal_bytes)
  SELECT current_user::regrole, 'captured', n, n, 'SELECT ' || n, 'captured', false, 10, 10, 33.3, 100, 7, 0, 0, 300 FROM generate_series(1, 3) n;
INSERT INTO bench.run_captured_statements (run_id, statement_no, workload, query_id, calls, rows, total_exec_time_ms, shared_blks_hit,
    shared_blks_read, shared_blks_dirtied, shared_blks_written, wal_bytes, reason)
  VALUES (1, 1, 'captured', 11, 20, 20, 77.7, 200, 0, 0, 0, 555, NULL), (1, 2, 'captured', 12, 20, 40, 17.7, 333, 1, 0, 0, 555, NULL),
         (1, 3, 'captured', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no');
-- What no statement of the extension may call.
CREATE SCHEMA shadows;
CREATE FUNCTION shadows.no(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR shadows.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadows.no);
-- A row as JSON, in the same formats under all settings.
CREATE FUNCTION row_as_json(r record) RETURNS json LANGUAGE plpgsql PARALLEL SAFE
    SET TimeZone = 'UTC' SET IntervalStyle = postgres SET bytea_output = hex SET extra_float_digits = 1
AS 'BEGIN RETURN to_json(r); END';
CREATE TABLE document AS SELECT bench.export_run(1) AS document;
SQL

# A statement for each function.
my $quick = "transactions => 3, vacuum => 'none'";
my $once  = 'state, mode, transactions, failed';
my @calls = (
	acknowledge  => q(SELECT bench.acknowledge(1, 'expected', 'comment')::text),
	advice       => 'SELECT * FROM bench.advice(1)',
	arms         => 'SELECT * FROM bench.arms(1) UNION ALL SELECT * FROM bench.arms(2)',
	cancel       => 'SELECT bench.cancel(1)',
	# The server has no pg_stat_statements.
	capture_workload => q(SELECT bench.capture_workload('other')),
	changes      => q(SELECT * FROM bench.changes('read')),
	charts       => 'SELECT * FROM bench.charts(1)',
	chart        => 'SELECT bench.chart(1, name) FROM bench.charts(1) UNION ALL SELECT bench.chart(1, against => 2)',
	check_script => q(SELECT * FROM bench.check_script(E'\\\\set x 1 +\nSELECT :x;')),
	check_workload => q(SELECT * FROM bench.check_workload('ycsb')),
	clone_tables => q(SELECT c.table_name, c.rows FROM bench.clone_tables('captured', 'copies_' || txid_current(), '{public.pgbench_branches}') c),
	compare      => qq(SELECT arm, runs FROM bench.compare('[{"mode": "spi"}, {"mode": "libpq"}]', scripts => 'mine', repeats => 1, $quick)),
	compare_runs => 'SELECT * FROM bench.compare_runs(ARRAY[1], ARRAY[2])',
	dashboard    => q(SELECT bench.dashboard() ~ '</html>'),
	define_script => q(SELECT bench.define_script('other', 'SELECT 1;', 'some')::text),
	define_workload => q(SELECT bench.define_workload('other', m, 'CREATE TABLE other (id int)', E'-- other: 1 parts of 1 rows\nSELECT 1', '{"s": "SELECT 1;"}')::text
		FROM jsonb('{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 1, "index_mb": 1},
		"mixes": [{"name": "other", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}') m),
	drop_workload => q(SELECT bench.drop_workload('other')::text),
	drop_script   => q(SELECT bench.drop_script('other')::text),
	export_run    => q(SELECT bench.export_run(1)::jsonb - 'exported_at'),
	export_schema => 'SELECT bench.export_schema()::jsonb',
	hash_fnv1a      => 'SELECT bench.hash_fnv1a(5)',
	find_capacity => q(SELECT bench.find_capacity(10, scripts => 'mine', duration => '1 s', clients => -1)),
	finish_teardown => 'SELECT bench.finish_teardown(1)',
	grant_to        => q(SELECT bench.grant_to('"Another Role"')::text),
	histogram_count => 'SELECT bench.histogram_count(histogram) FROM bench.runs WHERE run_id = 1',
	import_run      => q(SELECT to_jsonb(r) - '{run_id,imported_at,imported_from,label}'::text[] FROM bench.runs r,
		(SELECT bench.import_run(document, 'imported') AS id FROM public.document) i WHERE r.run_id = i.id),
	delete_runs   => q(SELECT run_label, state FROM bench.delete_runs(label => 'imported', older_than => '1 us')),
	initialize      => q(SELECT step FROM bench.initialize(steps => 'v')),
	initialize_pgio => q(SELECT step FROM bench.initialize_pgio(size => '300', seed => '1')),
	merge_histograms => 'SELECT bench.merge_histograms(histogram) FROM bench.run_intervals WHERE run_id = 1',
	random_int      => 'SELECT bench.random_int(1, 2, 3, 4, 500)',
	random_nurand   => 'SELECT bench.random_nurand(1, 2, 3, 255, 0, 999, 44)',
	random_permutation => 'SELECT bench.random_permutation(1, 2, 10, 3)',
	random_real     => 'SELECT bench.random_real(1, 2, 3)',
	random_special  => 'SELECT bench.random_special(1, 2, 3, 4, 500)',
	random_template => q(SELECT bench.random_template(1, 2, 3, '##@ -')),
	random_text     => 'SELECT bench.random_text(1, 2, 3, 4, 50)',
	percentile      => 'SELECT bench.percentile(histogram, 99.9) FROM bench.runs WHERE run_id = 1',
	pgbench         => q(SELECT line FROM bench.pgbench('-n -t 3 -S') line WHERE line ~ 'processed|protocol'),
	plot            => 'SELECT bench.plot(1)',
	report          => q(SELECT regexp_replace(bench.report(1, format), '"exported_at": "[^"]*"', '') FROM unnest('{text,markdown,json,html}'::text[]) format
		UNION ALL SELECT bench.report(label => 'read') UNION ALL SELECT bench.report(set_ids => ARRAY[1, 2]) UNION ALL SELECT bench.report(1, 'html', against => 2)),
	require         => q(SELECT * FROM bench.require(1, 'failed = 0', 'tps > 0.001')),
	require_set     => q(SELECT * FROM bench.require_set(1, 'runs > 0')),
	resume          => 'SELECT * FROM bench.resume(1)',
	run             => qq(SELECT $once FROM bench.run('mine', clients => 2, $quick)),
	run_pgio        => "SELECT selects FROM bench.run_pgio(transactions => 1)",
	schedule        => q(SELECT job_name, cron_jobid, statement FROM bench.schedule('it''s', '0 3 * * *', '{"scripts": "mine", "transactions": 3, "vacuum": "none"}')),
	run_job         => q(SELECT bench.run_job('it''s') > 0),
	unschedule      => q(SELECT * FROM bench.unschedule('it''s')),
	scaling         => 'SELECT * FROM bench.scaling(2)',
	session_usage   => 'SELECT blocks_hit > 0 FROM bench.session_usage()',
	set_baseline    => q(SELECT bench.set_baseline(1)::text),
	set_parameter   => q(SELECT bench.set_parameter('other', 1, 1, '1')),
	start           => qq(SELECT $once FROM bench.start('mine', $quick) run, bench.wait(run)),
	start_pgio      => 'SELECT transactions FROM bench.start_pgio(transactions => 1) run, bench.wait(run)',
	sweep           => qq(SELECT runs FROM bench.sweep('{"clients": [1]}', scripts => 'mine', repeats => 1, $quick)),
	time_budget     => 'SELECT * FROM bench.time_budget(1) UNION ALL SELECT * FROM bench.time_budget(set_id => 1)',
	top_functions   => 'SELECT * FROM bench.top_functions(1)',
	top_waits       => 'SELECT * FROM bench.top_waits(1)',
	trend           => q(SELECT * FROM bench.trend('read')),
	validate_workload => q(SELECT * FROM bench.validate_workload('captured', 1)),
	workload_script => q(SELECT * FROM bench.workload_script('ycsb-a', 'read', seed => 1)),
	wait            => 'SELECT * FROM bench.wait(1)');
is($node->safe_psql('postgres', q(SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'bench'::regnamespace AND prokind <> 'p' ORDER BY 1)),
	join("\n", sort(pairkeys(@calls))), 'each function is called');

my $off = join '; SET ', map { "$_ = off" } split /\n/,
  $node->safe_psql('postgres', q(SELECT name FROM pg_settings WHERE name LIKE 'enable\_%'));
my $parallel = $node->safe_psql('postgres',
	q(SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')));
# All calls are made with each of these. Settings that have nothing to do with each other share a turn.
my @settings = (
	"DateStyle = 'German, DMY'; SET IntervalStyle = sql_standard; SET TimeZone = '<+16>-16'; SET quote_all_identifiers = on"
	  . '; SET geqo_threshold = 2; SET geqo_effort = 1; SET from_collapse_limit = 1; SET join_collapse_limit = 1',
	"DateStyle = 'SQL, MDY'; SET IntervalStyle = iso_8601; SET bytea_output = escape; SET extra_float_digits = -15"
	  . '; SET standard_conforming_strings = off; SET backslash_quote = off; SET plan_cache_mode = force_generic_plan',
	"search_path = ''",
	"search_path = shadows, pg_catalog, public; SET default_text_search_config = 'simple'; SET constraint_exclusion = on"
	  . '; SET transform_null_equals = on; SET array_nulls = off; SET xmloption = document; SET row_security = off',
	"$off; SET jit = off; SET plan_cache_mode = force_custom_plan; SET track_activities = off; SET track_counts = off"
	  . '; SET track_io_timing = on; SET compute_query_id = on',
	'client_encoding = LATIN1',
	'jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = -1; SET jit_optimize_above_cost = -1',
	"$parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
	'default_transaction_isolation = serializable; SET default_transaction_deferrable = on; SET synchronous_commit = off',
	'default_transaction_read_only = on; SET max_parallel_workers_per_gather = 0',
	"session_replication_role = replica; SET check_function_bodies = off; SET work_mem = '64kB'; SET temp_buffers = 100"
	  . "; SET statement_timeout = '1 h'; SET lock_timeout = '1 h'; SET idle_in_transaction_session_timeout = '1 h'");
# Functions that write, that need a schema in search_path, and that draw with characters of the client's
# encoding.
my $writes  = qr/^(acknowledge|capture|clone|define|delete|drop|finish|grant|import|initialize|resume|run_job|schedule|set_baseline|set_parameter|unschedule)/;
my $in_path = qr/^initialize|pgio$|^pgbench$|^check_workload$|^workload_script$/;
my $drawn   = qr/^(plot|report)$/;

# What the calls give under a setting, by name: rows as JSON and messages.
sub results
{
	my ($setting) = @_;
	my $sql = "SET client_min_messages = warning;\n$setting;\n";
	foreach (pairs @calls)
	{
		my ($name, $call) = @$_;
		# clone_tables is refused with other isolation levels than READ COMMITTED.
		next if $setting =~ /serializable/ && $name eq 'clone_tables';
		next if $setting =~ /read_only/ && $name =~ $writes || $setting =~ /encoding/ && $name =~ $drawn || $setting =~ /search_path = ''/ && $name =~ $in_path;
		$call =~ s/\n//g;
		$sql .= "\\echo == $name\n\\warn == $name\nSELECT public.row_as_json(t) FROM ($call) t;\n";
	}
	my ($rc, $stdout, $stderr) = $node->psql('postgres', $sql, on_error_stop => 0);
	my %results;
	$stderr =~ s/^psql:<stdin>:\d+: //gm;
	# The last digits of sums depend on the plan.
	$stdout =~ s/(\d+\.\d{9,}(?:e[-+]\d+)?)/sprintf '%.9g', $1/ge;
	foreach my $text ($stdout, $stderr)
	{
		my (undef, %of) = split /^== (\w+)\n?/m, $text, -1;
		$results{$_} .= $of{$_} foreach keys %of;
	}
	return \%results;
}

# Where two texts begin to differ.
sub difference
{
	my ($name, @texts) = @_;
	($texts[0] ^ $texts[1]) =~ /^(\0*)/;
	my $from = length($1) > 40 ? length($1) - 40 : 0;
	return join "\n  ", "$name: from character $from:", map { substr($_, $from, 300) } @texts;
}

my $expected = results('');
foreach my $setting (@settings)
{
	my $got = results("SET $setting");
	my @differ = grep { $got->{$_} ne $expected->{$_} } sort keys %$got;
	is("@differ", '', $setting)
	  or diag(map { difference($_, $got->{$_}, $expected->{$_}) } @differ);
}

$node->stop;
done_testing();
