# bench.initialize_pgio: tables as pgio creates them, valid by the server's own
# checks, equal if filled by pages or by COPY; an error if there is no space; nothing
# is left of a load that fails.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(amcheck pg_visibility));

my $columns = 'mykey bigint, scratch bigint, filler char(1024)';

my $node = new_bench_node('pgio_tables',
	"max_parallel_maintenance_workers = 4\nautovacuum = off\nallow_in_place_tablespaces = on\n"
	  . "log_min_messages = debug1",
	allows_streaming => 1,
	extra            => ['--data-checksums']);
$node->safe_psql('postgres', "CREATE TABLESPACE \"the $_\" LOCATION ''") foreach qw(tables indexes);
$node->safe_psql('postgres', 'CREATE DATABASE theirs');
create_extensions($node, $_) foreach qw(postgres theirs);

sub create_extensions
{
	my ($on, $database) = @_;
	$on->safe_psql($database, "CREATE EXTENSION IF NOT EXISTS $_") foreach qw(amcheck pg_visibility);
	return;
}

sub initialize
{
	my ($on, $options) = @_;
	return $on->safe_psql('postgres', "SELECT count(*) FROM bench.initialize_pgio($options)");
}

# All rows with their places.
sub contents
{
	my ($on, $table) = @_;
	return $on->safe_psql('postgres',
		"SELECT count(*), md5(string_agg(t.ctid::text || t::text, ';' ORDER BY t.ctid)) FROM $table t");
}

# pgio's tables and indexes, by name.
sub relations
{
	my ($on) = @_;
	return $on->safe_psql('postgres', <<'SQL');
SELECT relname, relkind, relpersistence, reloptions, spcname
  FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace
 WHERE relname LIKE 'pgio%' AND relnamespace = 'public'::regnamespace
 ORDER BY relname COLLATE "C"
SQL
}

# Tests that there are so many tables of so many blocks, each block with one row, each
# key once, in an order without a pattern, with nothing left to do or to complain of.
sub tables_ok
{
	my ($on, $tables, $blocks, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# Some times the standard error of what is looked at.
	my $chance   = 5 / sqrt $blocks;
	my $found    = '';
	my $expected = '';
	foreach my $table (map { "pgio$_" } 1 .. $tables)
	{
		$found .= $on->safe_psql('postgres', <<"SQL") . "\n";
SELECT '$table', pg_relation_size('$table') / current_setting('block_size')::int, count(*),
       count(DISTINCT mykey), min(mykey), max(mykey),
       count(DISTINCT (t.ctid::text::point)[0]), max((t.ctid::text::point)[1]),
       sum(scratch), min(octet_length(filler)), count(filler)
  FROM $table t;
SELECT relpages, reltuples::bigint, relallvisible FROM pg_class WHERE oid = '$table'::regclass;
SELECT relpages > 1, reltuples::bigint FROM pg_class WHERE oid = '${table}_mykey_idx'::regclass;
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = '$table';
SELECT 'a pattern', correlation FROM pg_stats
 WHERE schemaname = 'public' AND tablename = '$table' AND attname = 'mykey'
   AND abs(correlation) > $chance;
SELECT 'a pattern', sum(abs(mykey - before)) / count(*) FROM (
    SELECT mykey, lag(mykey) OVER (ORDER BY ctid) AS before FROM $table) t
HAVING abs(sum(abs(mykey - before)) / count(*) * 3 / $blocks - 1) > $chance;
SELECT * FROM verify_heapam('$table');
SELECT * FROM pg_check_frozen('$table');
SELECT * FROM pg_check_visible('$table');
SELECT * FROM pg_visibility('$table') WHERE NOT (all_visible AND all_frozen AND pd_all_visible);
SELECT bt_index_check('${table}_mykey_idx', true)::text;
SQL
		$expected .= <<"EXPECTED";
$table|$blocks|$blocks|$blocks|1|$blocks|$blocks|1|0|1024|$blocks
$blocks|$blocks|$blocks
t|$blocks
CREATE INDEX ${table}_mykey_idx ON public.$table USING btree (mykey)

EXPECTED
	}
	return is($found, $expected, "$name: tables");
}

# Tests that no process is left, and no file that belongs to nothing.
sub clean_ok
{
	my ($on, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	nothing_left_ok($on, $name);
	$on->safe_psql('postgres', 'CHECKPOINT');
	return is($on->safe_psql('postgres', <<'SQL'), '', "$name: no file is left");
SELECT file FROM pg_database d, pg_ls_dir('base/' || d.oid) file
 WHERE datname = current_database() AND file ~ '^\d{5}'
   AND pg_filenode_relation(0, substring(file FROM '^\d+')::oid) IS NULL
SQL
}

# By several processes, side by side.
my $blocks = 10_000;
my $log = -s $node->logfile;
initialize($node, "tables => 3, size => '$blocks', workers => 3");
my $workers =
  () = slurp_file($node->logfile, $log) =~ /starting background worker process "pg_selfbench page worker/g;
is($workers, 2, 'page workers');
tables_ok($node, 3, $blocks, 'pages');
is( $node->safe_psql('postgres',
		'SELECT count(*) < 30 FROM pgio1 JOIN pgio2 ON pgio1.ctid = pgio2.ctid WHERE pgio1.mykey = pgio2.mykey'),
	't', 'each table has an order of its own');

# As pgio makes them, by SQL.
$node->safe_psql('theirs', <<"SQL");
CREATE TABLE pgio1 ($columns) WITH (fillfactor = 10);
INSERT INTO pgio1 SELECT k, 0, '' FROM generate_series(1, $blocks) k ORDER BY random();
CREATE INDEX ON pgio1 (mykey);
VACUUM ANALYZE pgio1;
SQL
my $sizes = <<'SQL';
SELECT relname, relkind, relpages, reltuples, relallvisible, pg_relation_size(oid)
  FROM pg_class WHERE relname IN ('pgio1', 'pgio1_mykey_idx') ORDER BY relname
SQL
is($node->safe_psql('postgres', $sizes), $node->safe_psql('theirs', $sizes), 'pages, by SQL');
sub definitions
{
	my ($database) = @_;
	my ($stdout, $stderr) =
	  run_command([ 'pg_dump', '--schema-only', '-t', 'pgio1', '-d', $node->connstr($database) ]);
	is($stderr, '', "definitions in $database");
	# A token that is new each time.
	$stdout =~ s/^\\(un)?restrict .*\n?//mg;
	return $stdout;
}
is(definitions('postgres'), definitions('theirs'), 'definitions, by SQL');

# Smaller, twice in a row, unlogged, and elsewhere.
initialize($node, "tables => 2, size => '1MB', unlogged => true") foreach 1, 2;
tables_ok($node, 2, 128, 'unlogged');
is(relations($node), <<'EXPECTED' =~ s/\n\z//r, 'unlogged');
pgio1|r|u|{fillfactor=10}|
pgio1_mykey_idx|i|u||
pgio2|r|u|{fillfactor=10}|
pgio2_mykey_idx|i|u||
EXPECTED
initialize($node,
	"size => '$blocks', tablespace => 'the tables', index_tablespace => 'the indexes'");
tables_ok($node, 1, $blocks, 'tablespaces');
is(relations($node), <<'EXPECTED' =~ s/\n\z//r, 'tablespaces');
pgio1|r|p|{fillfactor=10}|the tables
pgio1_mykey_idx|i|p||the indexes
EXPECTED

# Notices to the caller.
my ($status, $stdout, $stderr) =
  $node->psql('postgres', "SELECT step FROM bench.initialize_pgio(2, '$blocks')");
is($stdout, "drop tables\ncreate tables\ngenerate rows\ncreate indexes\nvacuum", 'steps');
my @notices = $stderr =~ s/\n    / /gr =~ /NOTICE:  (.*)/g;
s/\d+\.\d\d s/N s/g foreach @notices;
is_deeply(
	\@notices,
	[   "tables to be dropped: public.pgio1 (about $blocks rows)",
		'dropping old tables...',
		'creating tables...',
		'generating rows...',
		grep({ /tuples/ } @notices),
		'creating indexes...',
		'vacuuming...',
		grep({ /^done/ } @notices) ],
	'notices') or diag explain \@notices;
is((grep { /tuples/ } @notices)[-1] =~ s/ of pgio's tables//r,
	'20000 of 20000 tuples (100%) done (elapsed N s, remaining N s)',
	'rows of all tables');
is($notices[-1],
	'done in N s (drop tables N s, create tables N s, generate rows N s, create indexes N s, vacuum N s).',
	'the last notice');

# COPY, here and into a target, makes the same rows in the same places.
my $of_two = "tables => 2, size => '300', seed => '17'";
initialize($node, $of_two);
my @by_pages = map { contents($node, "pgio$_") } 1, 2;
isnt($by_pages[0], $by_pages[1], 'contents differ between tables');
my $target = $node->connstr('postgres') =~ s/'/''/gr;
initialize($node, "$of_two, target => '$target'");
is_deeply([ map { contents($node, "pgio$_") } 1, 2 ], \@by_pages, 'target: the same rows');
tables_ok($node, 2, 300, 'target');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_check_frozen('pgio1')"),
	0, 'target: rows are frozen');
$node->safe_psql('postgres', 'CREATE SCHEMA "a ""schema"""');
$node->safe_psql('postgres', qq{ALTER ROLE CURRENT_USER SET search_path = 'a "schema"'});
foreach my $where ('', ", target => '$target'")
{
	$node->safe_psql('postgres', "SELECT bench.initialize_pgio($of_two$where)");
	is(contents($node, '"a ""schema""".pgio2'), $by_pages[1], "a schema that needs quotes$where");
	$node->safe_psql('postgres', 'DROP TABLE "a ""schema""".pgio1, "a ""schema""".pgio2');
}
$node->safe_psql('postgres', 'ALTER ROLE CURRENT_USER RESET search_path');

# A role without any rights but those that it needs.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE alice LOGIN;
CREATE SCHEMA alice AUTHORIZATION alice;
GRANT USAGE ON SCHEMA bench TO alice;
SQL
my $as_alice = 'SET search_path = alice;';
(undef, undef, $stderr) = $node->psql('postgres',
	"$as_alice SELECT bench.initialize_pgio($of_two)", extra_params => [qw(-U alice)]);
like($stderr, qr/permission denied for function initialize_pgio/, 'a role without rights');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION bench.initialize_pgio TO alice');
$node->safe_psql('postgres', "$as_alice SELECT bench.initialize_pgio($of_two)",
	extra_params => [qw(-U alice)]);
is(contents($node, 'alice.pgio2'), $by_pages[1], 'a role with the right to call it');
(undef, undef, $stderr) = $node->psql('postgres',
	"SET search_path = public; SELECT bench.initialize_pgio($of_two)", extra_params => [qw(-U alice)]);
like($stderr, qr/permission denied for schema "?public|must be owner of table/, 'tables of others');
(undef, undef, $stderr) = $node->psql(
	'postgres',
	"$as_alice SELECT bench.initialize_pgio(tablespace => 'the tables')",
	extra_params => [qw(-U alice)]);
like($stderr, qr/permission denied for tablespace "the tables"/, 'a tablespace of others');

# More than there is room for; nothing is dropped.
my $before = relations($node);
foreach my $options (
	"tables => 1024, size => '31TB'",
	"tables => 1024, size => '31TB', tablespace => 'the tables'",
	"tables => 1024, size => '31TB', index_tablespace => 'the indexes'")
{
	my $tablespace = $options =~ / tablespace => '(.*)'/ ? $1 : 'pg_default';
	(undef, undef, $stderr) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSELECT bench.initialize_pgio($options)");
	like(
		$stderr,
		qr/ERROR:  53100: the tables would not fit into the file system of tablespace "$tablespace"\nDETAIL:  About \d+ [TP]B are needed there; .*are free, and dropping the existing tables frees .*\.\nHINT:  Choose .*force => true/,
		"no space: $options");
}
is(relations($node), $before, 'no space: nothing is dropped');
is(contents($node, 'pgio1'), $by_pages[0], 'no space: no row is gone');

# Ended in the middle of each step: an error, no process, no table and no file.
my $large = "bench.initialize_pgio(tables => 2, size => '1TB', workers => 3, force => true)";
foreach my $end (
	[ 'canceled', 'pg_cancel_backend', "application_name = 'caller'",
		qr/ERROR:  57014: canceling statement due to user request/ ],
	[ 'terminated', 'pg_terminate_backend', "application_name = 'caller'",
		qr/FATAL:  57P01: terminating connection/ ],
	[ 'loader terminated', 'pg_terminate_backend', "backend_type = 'pg_selfbench loader'",
		qr/ERROR:  57014: .*its loader was terminated/ ],
	[   'worker terminated', 'pg_terminate_backend', "backend_type = 'pg_selfbench page worker'",
		qr/ERROR:  57(P01|014): .*(a page worker was terminated|terminating background worker)/ ])
{
	my ($name, $function, $process, $error) = @$end;
	initialize($node, "size => '2'");
	my $caller = start_sql($node, "SELECT count(*) FROM $large", name => 'caller');
	as_soon_as($node, "(SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker')",
		"SELECT $function(pid) FROM pg_stat_activity WHERE $process LIMIT 1");
	($stdout, $stderr) = finish_sql($caller);
	like($stderr, $error, "$name: error");
	is($stdout, '', "$name: no result");
	clean_ok($node, $name);
	is(relations($node), '', "$name: no table is left");
}
# An index takes a moment only: who cancels looks all the time, and does so once more if it came too late.
$node->safe_psql('postgres', <<'SQL');
CREATE PROCEDURE cancel_index() LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'caller' AND state = 'active') LOOP
		PERFORM pg_cancel_backend(pid) FROM pg_stat_activity
		  WHERE application_name = 'caller' AND EXISTS (SELECT FROM pg_stat_progress_create_index);
		COMMIT;
		PERFORM pg_sleep(0.002);
	END LOOP;
END $$;
SQL
my $error;
foreach (1 .. 20)
{
	my $caller = start_sql($node, "SELECT count(*) FROM bench.initialize_pgio(2, '512MB')", name => 'caller');
	$node->safe_psql('postgres', 'CALL cancel_index()')
	  if comes_before_end($node, "SELECT state = 'active' FROM pg_stat_activity WHERE application_name = 'caller'", $caller);
	$error = (finish_sql($caller))[1];
	last if $error =~ /ERROR/ && $error !~ /vacuuming/;
}
like($error, qr/ERROR:  57014/, 'canceled while it made an index: error');
clean_ok($node, 'canceled while it made an index');
is(relations($node), '', 'canceled while it made an index: no table is left');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums of all pages');

# Changes that are decoded have rows; and another access method.
my $logical = new_bench_node('pgio_logical', "wal_level = logical\nmax_wal_senders = 2\nautovacuum = off");
create_extensions($logical, 'postgres');
$logical->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
$logical->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('slot', 'pgoutput')");
initialize($logical, $of_two);
is_deeply([ map { contents($logical, "pgio$_") } 1, 2 ], \@by_pages, 'logical: the same rows');
is( $logical->safe_psql('postgres', <<'SQL'), '600', 'logical: rows that are decoded');
SELECT count(*) FROM pg_logical_slot_get_binary_changes('slot', NULL, NULL,
         'proto_version', '1', 'publication_names', 'everything')
 WHERE get_byte(data, 0) = ascii('I')
SQL
$logical->safe_psql('postgres', "SELECT pg_drop_replication_slot('slot')");
initialize($logical, "size => '$blocks'");
tables_ok($logical, 1, $blocks, 'logical');
$logical->safe_psql('postgres', 'CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler');
$logical->safe_psql('postgres', "SET default_table_access_method = other; SELECT bench.initialize_pgio($of_two)");
is_deeply([ map { contents($logical, "pgio$_") } 1, 2 ], \@by_pages, 'another access method: the same rows');
$logical->stop;

# Without WAL.
my $minimal = new_bench_node('pgio_minimal');
create_extensions($minimal, 'postgres');
is($minimal->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'wal_level');
initialize($minimal, "size => '$blocks', workers => 2");
my $loaded = contents($minimal, 'pgio1');
$minimal->stop('immediate');
$minimal->start;
is(contents($minimal, 'pgio1'), $loaded, 'minimal: all rows are there after a crash');
tables_ok($minimal, 1, $blocks, 'minimal, after a crash');
$minimal->stop;

done_testing();
