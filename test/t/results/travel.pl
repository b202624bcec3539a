# Runs travel between servers as documents: nothing is lost, nothing of the other
# server's takes part in what this one knows of its own runs, and no document does harm.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# PostgreSQL::Test::Cluster gives each server its name as cluster_name.
my $here  = new_bench_node("here", 'track_io_timing = on');
my $there = new_bench_node('there');
my $file = PostgreSQL::Test::Utils::tempdir() . '/document';

# The document of a run, as text.
sub document
{
	my ($node, $run_id, @psql) = @_;
	return $node->safe_psql('postgres', "SELECT bench.export_run($run_id)", extra_params => \@psql);
}

# Gives a server's session a function with the text of a document: document(path, value)
# returns it with that value at that path.
sub give
{
	my ($node, $document) = @_;
	append_to_file("$file.new", $document);
	rename "$file.new", $file;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS public.documents;
CREATE TABLE public.documents AS SELECT pg_read_file('$file')::json AS document;
GRANT SELECT ON public.documents TO PUBLIC;
CREATE OR REPLACE FUNCTION public.document(path text[] DEFAULT '{}', value jsonb DEFAULT NULL) RETURNS json
LANGUAGE sql AS 'SELECT CASE WHEN path = ''{}'' THEN document ELSE jsonb_set(document::jsonb, path, value)::json END FROM public.documents';
SQL
	return;
}

# The new number of the run of the document that was given.
sub import_run
{
	my ($node, %with) = @_;
	return $node->safe_psql($with{database} // 'postgres',
		'SELECT bench.import_run(document()' . ($with{arguments} // '') . ')',
		extra_params => $with{psql} // []);
}

# The first error of SQL with its detail; empty if there is none.
sub error_of
{
	my ($node, $sql, @psql) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => \@psql);
	return '' if $stderr !~ /ERROR:  (.*)/;
	my $error = $1;
	$error .= " | $1" if $stderr =~ /DETAIL:  (.*)/;
	return $error;
}

# Deletes all runs of a server.
sub delete_runs
{
	$_[0]->safe_psql('postgres', "SELECT bench.delete_runs(older_than => '0')");
	return;
}

# All rows of a run in all tables, without what differs between servers.
sub rows
{
	my ($node, $run_id) = @_;
	my $of_tables = $node->safe_psql('postgres', <<"SQL");
SELECT string_agg(format('SELECT %L, (to_jsonb(t) - ''run_id'')::text FROM bench.%I t WHERE run_id = $run_id', name, name), ' UNION ALL ')
  FROM bench_internal.tables_of_runs()
SQL
	return $node->safe_psql('postgres', <<"SQL");
SELECT * FROM (
    SELECT 'runs' AS name, (to_jsonb(r) - 'label' - bench_internal.local_columns()::text[])::text AS row FROM bench.runs r WHERE run_id = $run_id
    UNION ALL $of_tables) t ORDER BY 1, 2
SQL
}

# What is made of a run, without its number and label, and the line that says that it was imported.
sub answers
{
	my ($node, $run_id) = @_;
	my $text = $node->safe_psql('postgres', <<"SQL");
SELECT bench.report($run_id);
SELECT * FROM bench.advice($run_id);
SELECT * FROM bench.time_budget($run_id);
SELECT * FROM bench.top_functions($run_id);
SELECT * FROM bench.top_waits($run_id);
SELECT bench.percentile(histogram, 99) FROM bench.runs WHERE run_id = $run_id;
SELECT bench.percentile(bench.merge_histograms(histogram), 90) FROM bench.run_intervals WHERE run_id = $run_id;
SELECT * FROM bench.require($run_id, 'state = finished', 'transactions > 0', 'p(90) > 0');
SQL
	$text =~ s/^(imported|run|label): .*\n//mg;
	$text =~ s/bench\.advice\(\d+\)/bench.advice()/;
	return $text;
}

$here->safe_psql('postgres', 'SELECT bench.initialize()');
my $long_name = 'a script; \\ é' . ('x' x 100);
$here->safe_psql('postgres', <<"SQL");
SELECT bench.define_script('$long_name', E'\\\\set a random(1, 10)\nSELECT :a, E''\\t\\\\ "é"'';\nSELECT pg_sleep(0.001);', 'it''s');
SELECT bench.run(scripts => '"$long_name", tpcb-like', clients => 2, duration => '1 s', aggregate_interval => '100 ms',
                 per_statement => true, log => true, profile => true, variables => '{"v": "\\\\ \\" é"}', label => 'nightly', seed => '18446744073709551615');
SQL
my $run = latest_run($here, 'nightly')->{run_id};
$here->safe_psql('postgres', "SELECT bench.initialize_pgio(tables => 1, size => '1MB')");
my $pgio = $here->safe_psql('postgres', 'SELECT run_id FROM bench.run_pgio(transactions => 20, work_unit => 8, update_pct => 20, threads_per_table => 2)');

# Numbers of runs differ between the servers.
$there->safe_psql('postgres', "SELECT setval('bench.run_id_seq', 100)");
my %imported;
foreach my $case ([ $run, 'a run' ], [ $pgio, 'a run of pgio' ])
{
	my ($run_id, $name) = @$case;
	give($there, document($here, $run_id));
	my $new = $imported{$run_id} = import_run($there);
	cmp_ok($new, '>', 100, "$name has a new number");
	is(rows($there, $new), rows($here, $run_id), "$name: all rows");
	is(answers($there, $new), answers($here, $run_id), "$name: reports, advice, budget, profile, percentiles");
}
my @tables = split /\n/, $here->safe_psql('postgres', 'SELECT name FROM bench_internal.tables_of_runs()');
foreach my $table (qw(run_scripts run_clients run_statements run_intervals run_settings transactions run_server_intervals
	run_environment run_tables run_waits run_blockers run_stalls run_times run_stacks run_profiles pgio_runs pgio_sessions))
{
	ok((grep { $_ eq $table } @tables), "$table travels");
}
is($there->safe_psql('postgres',
		"SELECT count(*) FROM bench.runs WHERE histogram IS NOT NULL AND EXISTS (SELECT FROM bench.transactions t WHERE t.run_id = runs.run_id)"),
	1, 'with histogram and log');

# Where it comes from.
my ($system, $created) = split /\|/, $here->safe_psql('postgres',
	"SELECT system_identifier, created_at FROM pg_control_system(), bench.runs WHERE run_id = $run");
is( $there->safe_psql('postgres', <<"SQL"),
SELECT imported_from ->> 'system_identifier', imported_from ->> 'cluster_name', imported_from ->> 'database',
       imported_from ->> 'run_id', imported_from ->> 'label', imported_from ->> 'owner', label IS NULL, created_at = '$created', imported_at > created_at
  FROM bench.runs WHERE run_id = $imported{$run}
SQL
	"$system|here|postgres|$run|nightly|" . $here->safe_psql('postgres', 'SELECT current_user') . '|t|t|t',
	'its origin');
like($there->safe_psql('postgres', "SELECT bench.report($imported{$run})"),
	qr/^imported: run $run of database "postgres", cluster "here", system $system$/m, 'in its report');

# Imported runs are not this server's.
like(error_of($there, 'SELECT bench.report()'), qr/there is no run to report/, 'not the last run of the role');
$there->safe_psql('postgres', "UPDATE bench.runs SET finished_at = 'infinity' WHERE run_id = $imported{$run}");
$there->safe_psql('postgres', "SELECT bench.define_script('one', 'SELECT 1')");
$there->safe_psql('postgres', "SELECT bench.run('one', transactions => 1, label => 'one')");
is($there->safe_psql('postgres', "SELECT other_runs FROM bench.runs WHERE label = 'one'"), 0, 'nor another run at the same time');
$there->safe_psql('postgres', "SELECT bench.delete_runs(ARRAY[$imported{$run}])");
give($there, document($here, $run));
my $labeled = import_run($there, arguments => ", label => 'db1 nightly'");
is($there->safe_psql('postgres', "SELECT label FROM bench.runs WHERE run_id = $labeled"), 'db1 nightly', 'a label of its own');

# Twice.
my ($status, $stdout, $stderr) = $there->psql('postgres', 'SELECT bench.import_run(document())');
is($stdout, $labeled, 'the run that is there');
like($stderr, qr/NOTICE:  run $run has already been imported as run $labeled/, 'a notice says so');
# From a server that has imported it itself, and back to where it was measured.
$there->safe_psql('postgres', "CREATE DATABASE second");
$there->safe_psql('second', "CREATE EXTENSION pg_selfbench; SET bytea_output = escape");
give($here, document($there, $labeled));
my $back = import_run($here);
is(rows($here, $back), rows($here, $run), 'back again');
is($here->safe_psql('postgres', "SELECT imported_from ->> 'run_id', imported_from ->> 'system_identifier' FROM bench.runs WHERE run_id = $back"),
	"$run|$system", 'the origin is the first one');
give($here, document($here, $run));
is(import_run($here), $back, 'which is found again');
give($there, document($here, $back));
is(import_run($there), $labeled, 'everywhere');

# Settings of a session do not change a document.
my $document = document($here, $run);
(my $other = $here->safe_psql('postgres', <<"SQL")) =~ s/"exported_at": "[^"]*"//;
SET bytea_output = escape; SET extra_float_digits = -5; SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata';
SET intervalstyle = iso_8601; SET search_path = ''; SELECT bench.export_run($run);
SQL
(my $plain = $document) =~ s/"exported_at": "[^"]*"//;
is($other, $plain, 'settings of a session do not matter');

# Roles.
foreach my $node ($here, $there)
{
	$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT bench.grant_to('$_')") foreach qw(tester other);
}
like(error_of($here, "SELECT bench.export_run($run)", '-U', 'tester'), qr/42704: run $run does not exist/, "another role's run");
my $of_tester = import_run($there, psql => [qw(-U tester)]);
isnt($of_tester, $labeled, 'each role imports for itself');
is($there->safe_psql('postgres', "SELECT owner, state FROM bench.runs WHERE run_id = $of_tester"), 'tester|finished', 'its owner');
is($there->safe_psql('postgres', 'SELECT count(*) FROM bench.runs', extra_params => [qw(-U other)]), 0, 'whom others do not see');
is(document($there, $of_tester, qw(-U tester)) =~ s/"(exported_at)": "[^"]*"//r,
	document($there, $of_tester) =~ s/"(exported_at)": "[^"]*"//r, 'it can export it');
like(error_of($there, "SELECT bench_internal.store_run(document(), 'postgres'::regrole, NULL)", '-U', 'tester'),
	qr/42501: .*permission denied/, 'no role can import for another');
like(error_of($there, 'SET default_transaction_read_only = on; SELECT bench.import_run(document())'),
	qr/25006: cannot import runs/, 'a session that may not write');

# Runs that have not ended, and that were lost.
$here->safe_psql('postgres', "SELECT bench.define_script('one', 'SELECT 1')");
$here->safe_psql('postgres', "SELECT bench.start('one', duration => '600 s', label => 'running')");
wait_for_transactions($here, 'running');
my $running = latest_run($here, 'running')->{run_id};
like(error_of($here, "SELECT bench.export_run($running)"), qr/55006: run $running is in progress/, 'a run in progress');
$here->safe_psql('postgres', "SELECT bench.cancel($running); SELECT bench.wait($running)");
$here->safe_psql('postgres', "UPDATE bench.runs SET state = 'running', segment = 1 WHERE run_id = $running");
like(document($here, $running), qr/"state":"lost"/, 'a lost run');
like(error_of($here, "SELECT bench.export_run($run, without => '{runs}')"), qr/22023: .*Valid values are .*transactions/, 'a table that cannot be left out');
unlike($here->safe_psql('postgres', "SELECT bench.export_run($run, without => '{transactions}')"), qr/"transactions": \[/, 'tables can be left out');

# What a newer version may have added is left out, and said.
delete_runs($there);
($status, $stdout, $stderr) = $there->psql('postgres', <<'SQL');
SELECT bench.import_run(jsonb_set(jsonb_set(document()::jsonb, '{tables,"x\";"}', '[{"a": 1}]'), '{tables,run_scripts,0,later}', '1')::json);
SQL
is($status, 0, 'unknown tables and columns');
like($stderr, qr/NOTICE:  parts of the document are not known.*not imported: column "later" of table "run_scripts"\nnot imported: table "x";"/s, 'a notice names them');
is($there->safe_psql('postgres', "SELECT notes[cardinality(notes) - 1:] FROM bench.runs WHERE imported_at IS NOT NULL"),
	'{"not imported: column \"later\" of table \"run_scripts\"","not imported: table \"x\";\""}', 'and the notes of the run');
delete_runs($there);

# What only this server can know is not taken from a document.
$there->safe_psql('postgres', <<'SQL');
SELECT bench.import_run((document()::jsonb || jsonb_build_object('run', document()::jsonb -> 'run' ||
    '{"run_id": 7, "owner": "other", "set_id": 1, "segment": 5, "coordinator_pid": 1, "teardown": "DROP TABLE x", "teardown_due": true, "imported_at": null, "imported_from": {"a": 1}}'))::json);
SQL
is($there->safe_psql('postgres', "SELECT run_id > 100, owner = current_user::regrole, segment IS NULL, coordinator_pid IS NULL, imported_at IS NOT NULL, imported_from ? 'run_id', teardown_due, to_jsonb(runs) ->> 'set_id' IS NULL FROM bench.runs"),
	't|t|t|t|t|t|f|t', 'values of the other server');
delete_runs($there);

# Hostile documents: an error, and nothing is left of them.
foreach my $case (
	[ "'5'", '22023: .*not a JSON object' ],
	[ "'[]'", '22023: .*not a JSON object' ],
	[ "'null'", '22023: .*not a JSON object' ],
	[ "'{}'", '22023: .*"format" is not' ],
	[ 'NULL', '22004: document must not be null' ],
	[ "document(), repeat('x', 1025)", '22023: invalid value for option "label"' ],
	[ [ '{format}', '"another"' ], '22023: .*"format" is not' ],
	[ [ '{format_version}', '2' ], '0A000: .*format version 2 is not supported.*reads version 1' ],
	[ [ '{format_version}', '1.5' ], '0A000: .*format version 1.5' ],
	[ [ '{format_version}', '"1"' ], '22023: .*not a number' ],
	[ [ '{source}', '[]' ], '22023: .*not an object' ],
	[ [ '{source}', '{}' ], '22023: .*is missing' ],
	[ [ '{source,run_id}', '"x"' ], '22P02: .*invalid input syntax.*This is in "source"' ],
	[ [ '{source,cluster_name}', q(to_jsonb(repeat('x', 20000))) ], '22023: .*longer than' ],
	[ [ '{run}', 'null' ], '22023: .*not an object' ],
	[ [ '{run}', '{}' ], '23502: .*null value in column.*This is in table "runs"' ],
	[ [ '{run,state}', '"running"' ], '22023: .*not ended' ],
	[ [ '{run,state}', '"x"' ], '23514: .*This is in table "runs"' ],
	[ [ '{run,mode}', '"x"' ], '22023: cannot import the document: .*"x" is not valid .valid: "spi" or "libpq".' ],
	[ [ '{run,clients}', '"two"' ], '22P02: .*invalid input syntax for type integer.*This is in table "runs"' ],
	[ [ '{run,clients}', '-1' ], '22023: .*clients is negative' ],
	[ [ '{run,clients}', '1e20' ], '22003: .*table "runs"' ],
	[ [ '{run,transactions}', '-5' ], '22023: .*transactions is negative' ],
	[ [ '{run,serialization_failures}', '9223372036854775808' ], '22003: ' ],
	[ [ '{run,serialization_failures}', '9223372036854775807' ], '22023: .*is out of range' ],
	[ [ '{run,started_at}', 'null' ], '22023: .*"started_at" is missing' ],
	[ [ '{run,tps}', '"NaN"' ], '22023: .*tps is not finite' ],
	[ [ '{run,tps}', '-1' ], '22023: .*: tps is negative.*This is in table "runs"' ],
	[ [ '{run,latency_p50_ms}', '1e9' ], '22023: .*: latency_p50_ms is above latency_(p90|max)_ms.*This is in table "runs"' ],
	[ [ '{run,latency_min_ms}', '1e9' ], '22023: .*: latency_min_ms is above latency_' ],
	[ [ '{run,finished_at}', '"2001-01-01"' ], '22023: .*: finished_at is before (created|started)_at.*This is in table "runs"' ],
	[ [ '{tables,run_scripts,0,latency_p99_ms}', '1e9' ], '22023: .*: latency_p99_ms is above latency_.*This is in table "run_scripts"' ],
	[ [ '{run,latency_max_ms}', '1.7976931348623157e308' ], '22023: .*: latency_max_ms is out of range.*This is in table "runs"' ],
	[ [ '{tables,run_intervals,0,seconds}', '5e-324' ], '22023: .*: seconds is out of range.*This is in table "run_intervals"' ],
	[ [ '{tables,run_intervals,0,seconds}', '-1' ], '22023: .*: seconds is negative.*This is in table "run_intervals"' ],
	[ [ '{run,tps}', '"-Infinity"' ], '22023: .*tps is not finite' ],
	[ [ '{run,created_at}', '"infinity"' ], '22023: .*created_at is not finite' ],
	[ [ '{run,created_at}', '"yesterday or so"' ], '22007: ' ],
	[ [ '{run,scripts}', '{"a": 1}' ], '22P02: .*table "runs"' ],
	[ [ '{run,variables}', '[1]' ], '22023: .*an array is not valid' ],
	[ [ '{run,histogram}', '"garbage"' ], '22023: .*invalid latency histogram' ],
	[ [ '{run,histogram}', '"\\\\x1c849314"' ], '22023: .*invalid latency histogram' ],
	[ [ '{run,histogram}', '"\\\\xzz"' ], '22023: .*hexadecimal' ],
	[ [ '{run,label}', '"\\u0000"' ], '22P05: ' ],
	[ [ '{run,errors}', '"{unclosed"' ], '22P02: ' ],
	[ [ '{tables}', '[]' ], '22023: .*not an object' ],
	[ [ '{tables,run_scripts}', '5' ], '22023: .*not an array.*table "run_scripts"' ],
	[ [ '{tables,run_scripts}', '[5]' ], '22023: .*table "run_scripts"' ],
	[ [ '{tables,run_scripts}', '[[]]' ], '22023: .*table "run_scripts"' ],
	[ [ '{tables,run_scripts}', '[{}]' ], '23502: .*table "run_scripts"' ],
	[ [ '{tables,run_scripts,0,histogram}', '"\\\\x00"' ], '22023: .*invalid latency histogram.*table "run_scripts"' ],
	[ [ '{tables,run_scripts,0,transactions}', '-1' ], '22023: .*transactions is negative' ],
	[ [ '{tables,run_scripts,1,script_no}', '0' ], '23505: .*table "run_scripts"' ],
	[ [ '{tables,pgio_sessions}', '[{"client": 0, "table_no": 1, "selects": 1, "updates": 1, "failed": 0, "seconds": 1}]' ], '23503: .*table "pgio_sessions"' ],
	[ [ '{tables,run_intervals,0,interval_no}', '99999999999' ], '22003: .*table "run_intervals"' ],
	[ [ '{tables,run_environment,0,machine}', '"x"' ], '23514: .*table "run_environment"' ],
	[ [ '{tables,run_stacks}', q{to_jsonb(ARRAY(SELECT jsonb_build_object('process', 'x', 'stack', n, 'samples', 1::bigint << 53) FROM generate_series(1, 1024) n))} ],
		'22023: .*the sum of samples is out of range.*table "run_stacks"' ],
	[ [ '{tables,run_waits}', '[{"interval_no": 0, "class": "x", "samples": -1, "rounds": 1}]' ], '22023: .*samples is negative' ])
{
	my ($argument, $expected) = @$case;
	my $name = ref $argument ? join ' := ', @$argument : $argument;
	if (ref $argument)
	{
		my ($path, $value) = @$argument;
		$value = "'$value'" if $value !~ /^to_jsonb/;
		$argument = "document('$path', $value)";
		# jsonb cannot hold a zero character.
		$argument = q(replace(document('{run,label}', '"@zero@"')::text, '@zero@', '\u0000')::json) if $expected =~ /^22P05/;
	}
	like(error_of($there, "SELECT bench.import_run($argument)"), qr/^$expected/, $name);
}
foreach my $case (
	[ "repeat('[', 100000) || repeat(']', 100000)", '(54001|22023): ' ],
	[ "replace(document()::text, '\"variables\":{', '\"variables\":{\"a\":' || repeat('[', 3000) || repeat(']', 3000) || ',')", '22023: cannot import' ],
	[ "replace(document()::text, '\"run_scripts\": [', '\"run_scripts\": [{}], \"run_scripts\": [')", '22023: .*occurs twice|23502: ' ],
	[ "left(document()::text, 1000)", '22P02: ' ],
	[ "replace(document()::text, '\"state\":\"finished\"', '\"state\":\"finished''; DROP TABLE bench.runs; --\"')", '23514: ' ])
{
	my ($text, $expected) = @$case;
	like(error_of($there, "SELECT bench.import_run(($text)::json)"), qr/^$expected/, $text);
}
is($there->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), 0, 'nothing is left of them');
is($there->safe_psql('postgres', 'SELECT count(*) FROM bench.' . $_), 0, "nor in $_") foreach grep { $_ ne 'runs' } @tables;

# Of two sessions with the same document, one imports it.
my $holder = start_sql($there, 'SELECT pg_advisory_lock(7); SELECT pg_sleep(600)', name => 'holder');
wait_for($there, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE application_name = 'holder'");
my $first = start_sql($there, 'BEGIN; SELECT bench.import_run(document()); SELECT 1 FROM pg_advisory_xact_lock(7); COMMIT', name => 'first');
wait_for($there, "SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE application_name = 'first'");
my $second = start_sql($there, 'SELECT bench.import_run(document())', name => 'second');
wait_for($there, "SELECT wait_event = 'object' FROM pg_stat_activity WHERE application_name = 'second'");
$there->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'");
finish_sql($holder);
($stdout, $stderr, $status) = finish_sql($first);
ok(!$status, 'the first of two') || diag($stderr);
($stdout, $stderr, $status) = finish_sql($second);
like($stderr, qr/has already been imported as run $stdout\b/, 'the second one');
is($there->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), 1, 'one run');

# All of it is rolled back with its transaction.
delete_runs($there);
$there->safe_psql('postgres', "BEGIN; SELECT bench.import_run(document()); ROLLBACK");
is($there->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), 0, 'rolled back');

# A database of another encoding.
$there->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
$there->safe_psql('latin', 'CREATE EXTENSION pg_selfbench');
is($there->safe_psql('latin', "SELECT bench.import_run(convert_from(pg_read_binary_file('$file'), 'UTF8')::json) > 0"), 't', 'LATIN1');

$_->stop foreach $here, $there;
done_testing();
