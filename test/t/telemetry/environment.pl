# What runs ran on: facts about the server and its machine, and the tables that they used.
use strict;
use warnings;

use SelfBench;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_bench_node('environment', "max_worker_processes = 24\nautovacuum = off\nmax_prepared_transactions = 2\n");
$node->safe_psql('postgres', 'SELECT bench.initialize(scale => 1)');

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# A run with these arguments; its number.
sub run_of
{
	return sql("SELECT run_id FROM bench.run($_[0])");
}

# A column of a relation of a run.
sub of_relation
{
	my ($run, $name, $columns) = @_;
	return sql("SELECT $columns FROM bench.run_tables WHERE run_id = $run AND name = '$name'");
}

# What the operating system says, as far as it has these files.
sub file
{
	open my $file, '<', $_[0] or return;
	local $/;
	return scalar <$file>;
}

my $run = run_of("'tpcb-like', transactions => 200, clients => 2");
my %facts = map { split /\|/, $_, 2 }
  split /\n/, sql("SELECT name, value FROM bench.run_environment WHERE run_id = $run AND machine = 'server'");
like($facts{server_build}, qr/^PostgreSQL \d+/, 'the build of the server');
is($facts{data_directory}, $node->data_dir, 'its data directory');
like($facts{server_started_at}, qr/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/, 'when it was started');
SKIP:
{
	my ($kernel, $memory) = map { file($_) } qw(/proc/sys/kernel/osrelease /proc/meminfo);
	skip 'no /proc here', 4 if !defined $kernel || $memory !~ /^MemTotal: +(\d+) kB/m;
	is($facts{memory_bytes}, $1 * 1024, 'the memory of the machine');
	is("$facts{kernel}\n", $kernel, 'its kernel');
	cmp_ok($facts{cpus}, '>=', 1, 'its processors');
	like($facts{data_file_system}, qr/^\w+$/, 'the file system of the data directory');
}
is($facts{wal_file_system}, undef, 'WAL is in the data directory');
is(sql("SELECT count(*) FROM bench.run_environment WHERE run_id = $run AND machine <> 'server'"),
	0, 'and the clients are on this machine');
is( sql(qq{
	SELECT count(*) FROM bench.run_environment a FULL JOIN bench.run_environment b
	ON b.run_id = }
		  . run_of("'select-only', transactions => 10")
		  . q{ AND a.name = b.name
	WHERE a.run_id = } . $run . ' AND a.value IS DISTINCT FROM b.value'),
	0,
	'the same at the next run');

# What plans say, and what counters do.
is( sql(qq{
	SELECT string_agg(name, ' ' ORDER BY name), string_agg(DISTINCT schema_name, ' '), string_agg(DISTINCT known_by, ' ')
	FROM bench.run_tables WHERE run_id = $run}),
	'pgbench_accounts pgbench_accounts_pkey pgbench_branches pgbench_branches_pkey'
	  . ' pgbench_history pgbench_tellers pgbench_tellers_pkey|public|plans',
	'spi: the tables of tpcb-like and their indexes');
is(of_relation($run, 'pgbench_accounts', 'kind, of_table, rows_updated, live_rows_before, bytes_before = 13434880'),
	'table||400|100000|t', 'spi: what was done to a table');
is( of_relation($run, 'pgbench_accounts_pkey', 'kind, of_table, index_scans, rows_updated'),
	'index|pgbench_accounts|800|',
	'spi: what was done to an index');
is(of_relation($run, 'pgbench_history', 'live_rows_before, live_rows_after, rows_inserted, bytes_after > 0'),
	'0|400|400|t', 'spi: a table that grew');
is(of_relation($run, 'pgbench_accounts', 'row_bytes BETWEEN 120 AND 140, last_vacuum_before IS NOT NULL, last_vacuum_after = last_vacuum_before'),
	't|t|t', 'spi: its rows and its last vacuum');
is( of_relation($run, 'pgbench_branches', 'dead_rows_before, dead_rows_after > 0, last_vacuum_before <= now()'),
	'0|t|t',
	'spi: the vacuum at the start belongs to what was before');

# In a run of more than a second, the coordinator has sent what it counted before it, too.
foreach my $arguments (
	"'select-only', mode => 'libpq', transactions => 100, rate => 60",
	"'select-only', protocol => 'simple', transactions => 100",
	"'select-only', mode => 'libpq', reconnect => true, transactions => 20")
{
	my $id = run_of($arguments);
	is(sql("SELECT string_agg(name, ' ' ORDER BY name), string_agg(DISTINCT known_by, ' ') FROM bench.run_tables WHERE run_id = $id"),
		'pgbench_accounts pgbench_accounts_pkey|counters', "by their counters: $arguments");
	is(of_relation($id, 'pgbench_accounts_pkey', 'index_scans'),
		$arguments =~ /transactions => (\d+)/ ? $1 : '', "and by how much: $arguments")
	  if $arguments !~ /reconnect/;
}

# Tables that only functions use, partitions, tables that a session or a prepared transaction has locked.
sql(q{
	CREATE TABLE hidden (i int);
	INSERT INTO hidden SELECT generate_series(1, 10);
	CREATE TABLE idle (i int);
	CREATE TABLE locked (i int);
	CREATE TABLE prepared (i int);
	CREATE TABLE parts (i int PRIMARY KEY) PARTITION BY RANGE (i);
	CREATE TABLE low PARTITION OF parts FOR VALUES FROM (1) TO (10);
	CREATE TABLE high PARTITION OF parts FOR VALUES FROM (10) TO (20);
	INSERT INTO parts SELECT generate_series(1, 19);
	CREATE FUNCTION touch() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM hidden); END';
	SELECT bench.define_script('calls', 'SELECT touch(); SELECT i FROM parts WHERE i = 5;');
	SELECT pg_stat_force_next_flush()});
my $holder = start_sql($node, "BEGIN; LOCK TABLE locked; SELECT pg_sleep(600)", name => 'holder');
backend_of($node, 'holder');
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'locked'::regclass");
sql("BEGIN; LOCK TABLE prepared; PREPARE TRANSACTION 'holder'");
$run = run_of("'calls', transactions => 50");
is( sql("SELECT string_agg(name || ' ' || known_by, ', ' ORDER BY name) FROM bench.run_tables WHERE run_id = $run"),
	'hidden counters, low plans, low_pkey plans',
	'tables that functions use, and partitions');
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'");
finish_sql($holder);
sql("ROLLBACK PREPARED 'holder'");

# Large values are in TOAST tables, which belong to the working set; most TOAST tables are empty.
sql(q{
	CREATE TABLE documents (i int PRIMARY KEY, d text);
	ALTER TABLE documents ALTER d SET STORAGE EXTERNAL;
	INSERT INTO documents SELECT i, repeat('x', 100000) FROM generate_series(1, 100) i;
	CREATE TABLE short (i int, d text);
	INSERT INTO short SELECT 1, 'x';
	SELECT bench.define_script('documents', 'SELECT length(d || i) FROM documents WHERE i = 5; SELECT d FROM short');
	SELECT pg_stat_force_next_flush()});
foreach my $mode (qw(spi libpq))
{
	my $id = run_of("'documents', mode => '$mode', transactions => 10");
	is( sql(qq{
	SELECT string_agg(concat_ws(' ', replace(t.name, 'documents'::regclass::oid::text, 'N'), t.kind,
	                            replace(t.of_table, 'documents'::regclass::oid::text, 'N'), t.known_by), ', ' ORDER BY t.name)
	FROM bench.run_tables t WHERE run_id = $id}),
		join(', ', map { "$_ " . ($mode eq 'spi' ? 'plans' : 'counters') }
			  'documents table', 'documents_pkey index documents', 'pg_toast_N TOAST table public.documents',
			'pg_toast_N_index index pg_toast_N', 'short table'),
		"$mode: the TOAST table of a table");
	is( sql(qq{
	SELECT sum(bytes_before) FILTER (WHERE of_table IN ('documents', 'public.documents') OR name = 'documents') > 100 * 100000,
	       bool_and(bytes_before = bytes_after), bool_and(row_bytes IS NULL) FILTER (WHERE schema_name = 'pg_toast'),
	       min(index_scans) FILTER (WHERE kind = 'TOAST table'), min(index_scans) FILTER (WHERE of_table LIKE 'pg_toast%')
	FROM bench.run_tables WHERE run_id = $id}),
		't|t|t|10|10', "$mode: its size, and how often it was read");
	like(sql("SELECT evidence FROM bench.advice($id) WHERE finding ~ 'memory, not storage'"),
		qr/^the working set, 10\.\d MB, /, "$mode: the working set has it");
}
is(sql(q{
	SELECT string_agg(c.name, ', ') FROM bench.compare_runs(
		(SELECT array_agg(run_id) FROM bench.run_tables WHERE name = 'documents'),
		(SELECT array_agg(run_id) FROM bench.runs r
		  WHERE NOT EXISTS (SELECT FROM bench.run_tables t WHERE t.run_id = r.run_id AND t.name = 'documents'))) c
	WHERE c.aspect = 'size' AND c.name ~ 'TOAST|toast'}),
	'TOAST of public.documents', 'comparisons name it by its table');

# Tables that inherit are used with their parents, at all levels.
sql(q{
	CREATE TABLE parent (i int);
	CREATE TABLE child () INHERITS (parent);
	CREATE TABLE grandchild () INHERITS (child);
	INSERT INTO grandchild SELECT generate_series(1, 10);
	CREATE TABLE deep (i int) PARTITION BY RANGE (i);
	CREATE TABLE middle PARTITION OF deep FOR VALUES FROM (1) TO (10) PARTITION BY RANGE (i);
	CREATE TABLE leaf PARTITION OF middle FOR VALUES FROM (1) TO (5);
	CREATE TABLE other_leaf PARTITION OF middle FOR VALUES FROM (5) TO (10);
	SELECT bench.define_script('inherits', 'SELECT count(*) FROM parent; SELECT count(*) FROM middle WHERE i = 1');
	SELECT pg_stat_force_next_flush()});
is( sql("SELECT string_agg(name || ' ' || known_by, ', ' ORDER BY name) FROM bench.run_tables WHERE run_id = "
		  . run_of("'inherits', transactions => 10")),
	'child plans, grandchild plans, leaf plans, parent plans', 'tables that inherit');

# A canceled run does not wait to look at tables once more. Which partitions it has used is not known.
foreach my $mode (qw(spi libpq))
{
	my $id = sql("SELECT bench.start('documents', mode => '$mode', duration => '1 h', label => 'canceled $mode')");
	wait_for_transactions($node, "canceled $mode");
	sql("SELECT bench.cancel($id)");
	is(sql("SELECT state FROM bench.wait($id)"), 'canceled', "$mode: canceled");
	is( sql(qq{
	SELECT count(*), count(*) FILTER (WHERE known_by = 'plans' AND bytes_before > 0),
	       count(*) FILTER (WHERE bytes_after IS NOT NULL OR sequential_scans IS NOT NULL),
	       (SELECT string_agg(n, ', ') FROM bench.runs, unnest(notes) n WHERE run_id = $id AND n ~ 'run_tables')
	FROM bench.run_tables WHERE run_id = $id}),
		$mode eq 'spi'
		? '5|5|0|run_tables has no figures after the run, because it ended early'
		: '0|0|0|run_tables has no rows, because the run ended early',
		"$mode: what is known of its tables");
	like(sql("SELECT bench.report($id)"), qr/canceled/, "$mode: its report");
}
my $canceled = sql("SELECT bench.start('inherits', duration => '1 h', label => 'canceled partitions')");
wait_for_transactions($node, 'canceled partitions');
sql("SELECT bench.cancel($canceled); SELECT FROM bench.wait($canceled)");
is( sql("SELECT string_agg(name || ' ' || known_by, ', ' ORDER BY name) FROM bench.run_tables WHERE run_id = $canceled"),
	'child plans, grandchild plans, leaf plans, other_leaf plans, parent plans', 'partitions of a canceled run');

# Locks of another database do not matter; of a table that was locked before the run, it is not known
# what was done with it during the run.
$node->safe_psql('template1', 'CREATE DATABASE beside TEMPLATE postgres');
my $beside = start_sql($node, 'BEGIN; LOCK TABLE short; SELECT pg_sleep(600)', name => 'beside', database => 'beside');
wait_for($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'short'::regclass AND mode = 'AccessExclusiveLock')");
$holder = $node->background_psql('postgres');
$holder->query_safe("SET application_name = 'holder'");
$holder->query_safe('BEGIN; LOCK TABLE hidden');
sql("SELECT bench.define_script('gated', 'SELECT count(*) FROM hidden; SELECT count(*) FROM short')");
foreach my $mode (qw(spi libpq))
{
	my $id = sql("SELECT bench.start('gated', mode => '$mode', transactions => 5)");
	wait_for($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'hidden'::regclass AND NOT granted)");
	$holder->query_safe('COMMIT');
	is(sql("SELECT state FROM bench.wait($id)"), 'finished', "$mode: a table that was locked");
	is( sql(qq{
	SELECT string_agg(concat_ws(' ', name, known_by, bytes_before, coalesce(sequential_scans::text, '-')), ', ' ORDER BY name),
	       (SELECT count(*) FROM bench.runs, unnest(notes) n WHERE run_id = $id AND n = 'run_tables may lack tables that other sessions had locked')
	FROM bench.run_tables WHERE run_id = $id}),
		($mode eq 'spi' ? 'hidden plans -, short plans 8192 5|1' : 'short counters 8192 5|1'), "$mode: what is known of it");
	$holder->query_safe('BEGIN; LOCK TABLE hidden') if $mode eq 'spi';
}
$holder->quit;
# A lock for which a session waits makes others wait, too.
$holder = start_sql($node, 'BEGIN; SELECT count(*) FROM hidden; SELECT pg_sleep(600)', name => 'holder');
wait_for($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'hidden'::regclass)");
my $waits = start_sql($node, 'BEGIN; LOCK TABLE hidden', name => 'waits');
wait_for($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'hidden'::regclass AND NOT granted)");
is( sql("SELECT count(*) FILTER (WHERE n ~ 'could not observe'), count(*) FILTER (WHERE n ~ 'had locked') FROM bench.runs, unnest(notes) n WHERE run_id = "
		  . run_of("'documents', transactions => 1")),
	'0|1', 'a lock for which a session waits');
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('holder', 'waits')");
finish_sql($_) foreach $holder, $waits;
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'beside'");
finish_sql($beside);

# Counters that are reset during a run are unknown, and so are rows that nothing has counted since.
$holder = $node->background_psql('postgres');
$holder->query_safe('SELECT pg_advisory_lock(1)');
sql("SELECT bench.define_script('reset', 'SELECT pg_advisory_xact_lock_shared(1); SELECT count(*) FROM documents; UPDATE short SET i = i;')");
foreach my $mode (qw(spi libpq))
{
	my $id = sql("SELECT bench.start('reset', mode => '$mode', transactions => @{[ $mode eq 'spi' ? 5 : 7 ]})");
	wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'");
	sql('SELECT pg_stat_reset()');
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	is(sql("SELECT state FROM bench.wait($id)"), 'finished', "$mode: a reset");
	is( sql(qq{
	SELECT string_agg(name, ' ' ORDER BY name), count(coalesce(sequential_scans, index_scans, rows_inserted, rows_updated)),
	       (SELECT count(*) FROM bench.runs, unnest(notes) n WHERE run_id = $id AND n ~ 'counters were reset')
	FROM bench.run_tables WHERE run_id = $id AND schema_name = 'public'}),
		'documents documents_pkey short|0|1', "$mode: counts are unknown");
	$holder->query_safe('SELECT pg_advisory_lock(1)');
}
$holder->quit;
sql('ANALYZE short; SELECT pg_stat_reset(); UPDATE short SET i = i; SELECT pg_stat_force_next_flush()');
is(of_relation(run_of("'documents', transactions => 1"), 'short', 'live_rows_before IS NULL, dead_rows_before'), 't|1',
	'a number of rows that nothing has counted since a reset');

# What is replaced during a run has its figures from before the run, and no counts: they do not go on.
sql(q{
	CREATE TABLE replaced (i int PRIMARY KEY, d text);
	ALTER TABLE replaced ALTER d SET STORAGE EXTERNAL;
	INSERT INTO replaced SELECT i, repeat('x', 10000) FROM generate_series(1, 100) i;
	CREATE TABLE dropped AS SELECT i FROM generate_series(1, 100) i;
	CREATE INDEX ON dropped (i);
	CREATE MATERIALIZED VIEW seen AS SELECT * FROM replaced;
	ALTER MATERIALIZED VIEW seen ALTER d SET STORAGE EXTERNAL;
	REFRESH MATERIALIZED VIEW seen;
	CREATE TABLE renamed AS SELECT i FROM generate_series(1, 100) i;
	SELECT count(*) FROM replaced WHERE i = 1; SELECT count(*) FROM dropped;
	SELECT pg_stat_force_next_flush()});
# Clients wait before their first statement: locks and snapshots would hold up what is done meanwhile.
my $gate = PostgreSQL::Test::Utils::tempdir_short() . '/gate';
sql(qq{SELECT bench.define_script('replaced', E'\\\\shell while [ -e $gate ]; do sleep 0.01; done\nSELECT i FROM replaced WHERE i = 1;
		SELECT max(i) FROM dropped; SELECT max(length(d)) FROM seen; SELECT count(*) FROM renamed;')});
foreach my $mode (qw(spi libpq))
{
	append_to_file($gate, '');
	my $id = sql("SELECT bench.start('replaced', mode => '$mode', transactions => 5)");
	sql($_) foreach 'REINDEX INDEX CONCURRENTLY replaced_pkey', 'REFRESH MATERIALIZED VIEW seen',
	  'BEGIN; DROP TABLE dropped; CREATE TABLE dropped AS SELECT i FROM generate_series(1, 1000) i; CREATE INDEX ON dropped (i); COMMIT',
	  "BEGIN; ALTER TABLE renamed RENAME TO renamed_$mode; CREATE TABLE renamed (i int); COMMIT";
	unlink $gate;
	is(sql("SELECT state FROM bench.wait($id)"), 'finished', "$mode: tables and indexes that are replaced");
	is( sql(qq{
	SELECT string_agg(concat_ws(' ', CASE schema_name WHEN 'public' THEN name ELSE kind END,
	                            coalesce((bytes_before > 0)::text, 'new'), coalesce(sequential_scans, index_scans)), ', ' ORDER BY schema_name, name),
	       (SELECT count(*) FROM bench.runs, unnest(notes) n WHERE run_id = $id AND n ~ 'were replaced during the run')
	FROM bench.run_tables
	WHERE run_id = $id AND (name IN ('replaced_pkey', 'dropped', 'dropped_i_idx', 'seen', 'renamed') OR of_table = 'public.seen')}),
		'TOAST table true, dropped true, dropped_i_idx true, renamed new 5, replaced_pkey true, seen true 5|1',
		"$mode: figures from before the run, and counts of what is not replaced");
}

# Many tables in plans.
sql(q{
	SELECT format('CREATE TABLE plan_%s (i int)', n) FROM generate_series(1, 200) n \gexec
	SELECT bench.define_script('plans', string_agg(format('SELECT i FROM plan_%s', n), ';' ORDER BY n)) FROM generate_series(1, 200) n});
is(sql("SELECT count(*), count(*) FILTER (WHERE known_by = 'plans') FROM bench.run_tables WHERE run_id = " . run_of("'plans', transactions => 1")),
	'200|200', 'many tables in plans');

# Of many tables, the largest are stored, and nothing is said of their size.
sql(q{
	CREATE TABLE many (i int) PARTITION BY RANGE (i);
	SELECT format('CREATE TABLE part_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', n, n, n + 1)
	  FROM generate_series(1, 520) n \gexec
	INSERT INTO many SELECT generate_series(11, 520);
	SELECT bench.define_script('many', 'SELECT count(*) FROM many');
	SELECT pg_stat_force_next_flush()});
my $many = run_of("'many', transactions => 2");
is( sql(qq{
	SELECT count(*), min(bytes_before), (SELECT count(*) FROM bench.runs, unnest(notes) n WHERE run_id = $many AND n ~ 'largest'),
	       (SELECT count(*) FROM bench.advice($many) WHERE finding ~ 'memory, not storage')
	FROM bench.run_tables WHERE run_id = $many}),
	'500|8192|1|0', 'many tables');
sql('DROP TABLE many');

# observe => false.
$run = run_of("'select-only', transactions => 10, observe => false");
is(sql("SELECT (SELECT count(*) FROM bench.run_tables WHERE run_id = $run), (SELECT count(*) FROM bench.run_environment WHERE run_id = $run)"),
	'0|0', 'nothing without observation');

# A role without privileges.
sql(q{
	CREATE ROLE plain LOGIN;
	SELECT bench.grant_to('plain');
	GRANT SELECT ON pgbench_accounts, pgbench_branches TO plain});
$run = $node->safe_psql('postgres',
	"SET ROLE plain; SELECT run_id FROM bench.run('select-only', transactions => 10)");
is( $node->safe_psql('postgres',
		"SET ROLE plain; SELECT count(*) > 0, count(*) FILTER (WHERE name = 'data_directory'),"
		  . " count(*) FILTER (WHERE value LIKE '%' || (SELECT setting FROM pg_settings WHERE name = 'data_directory') || '%'),"
		  . " (SELECT count(*) FROM bench.run_tables) FROM bench.run_environment"),
	't|0|0|2',
	'a plain role sees its own facts, without paths');
unlike($node->safe_psql('postgres', "SELECT notes FROM bench.runs WHERE run_id = $run"),
	qr/could not observe/, 'nothing failed');

# A target: its machine is not known, that of the clients is.
$run = run_of("'select-only', mode => 'libpq', transactions => 20, target => '"
	  . $node->connstr('postgres') =~ s/'/''/gr
	  . "'");
is( sql("SELECT string_agg(DISTINCT machine, ' ' ORDER BY machine), count(*) FILTER (WHERE machine = 'client' AND name = 'architecture'),"
		  . " count(*) FILTER (WHERE machine = 'server' AND name LIKE 'data_file%') FROM bench.run_environment WHERE run_id = $run"),
	'client server|1|0',
	'a target');
is(sql("SELECT string_agg(name || ' ' || coalesce(index_scans, 0), ', ' ORDER BY name) FROM bench.run_tables WHERE run_id = $run"),
	'pgbench_accounts 20, pgbench_accounts_pkey 20', 'and its tables');

# What all that takes.
is( sql(q{
	SELECT count(*) FILTER (WHERE contents IS NULL), bool_and(bytes >= index_bytes),
	       bool_or(table_name = 'run_tables' AND rows > 0 AND bytes_per_run > 0 AND prune ~ 'bench.prune'),
	       count(*) = (SELECT count(*) FROM pg_tables WHERE schemaname = 'bench')
	FROM bench.storage}),
	'0|t|t|t',
	'storage');
sql("ANALYZE bench.runs; SELECT pg_stat_reset_single_table_counters('bench.runs'::regclass)");
is(sql("SELECT pg_stat_get_live_tuples('bench.runs'::regclass), bytes_per_run > 0 FROM bench.storage WHERE table_name = 'runs'"),
	'0|t', 'storage without counters');
like($node->safe_psql('postgres', "SET ROLE plain; SELECT count(*) FROM bench.storage"), qr/\d/, 'which all roles see');

nothing_left_ok($node, 'at the end');

# WAL elsewhere.
$node->stop;
my $elsewhere = PostgreSQL::Test::Utils::tempdir_short() . '/wal';
rename $node->data_dir . '/pg_wal', $elsewhere
  or system_or_bail('mv', $node->data_dir . '/pg_wal', $elsewhere);
symlink $elsewhere, $node->data_dir . '/pg_wal' or die $!;
$node->start;
$run = run_of("'select-only', transactions => 10");
is(sql("SELECT count(*) FROM bench.run_environment WHERE run_id = $run AND name = 'wal_file_system'"),
	-r '/proc/self/mountinfo' ? 1 : 0, 'where WAL is, too');
done_testing();
