# bench.initialize against pgbench -i: the same tables, the same rows in the same
# places, the same number of pages.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $has_auto_explain = has_module('auto_explain');
my $node = new_bench_node('initialize',
	"autovacuum = off" . ($has_auto_explain ? "\nshared_preload_libraries = 'auto_explain'" : ''));
$node->safe_psql('postgres', 'CREATE DATABASE theirs');
$node->safe_psql('postgres', 'CREATE DATABASE ours');
$node->safe_psql('ours',     'CREATE EXTENSION pg_selfbench');
foreach my $name (qw(tables indexes))
{
	my $directory = PostgreSQL::Test::Utils::tempdir();
	$node->safe_psql('postgres', "CREATE TABLESPACE \"the $name\" LOCATION '$directory'");
}

# The definitions of pgbench's tables.
sub definitions
{
	my ($database) = @_;
	my ($stdout, $stderr) =
	  run_command([ 'pg_dump', '--schema-only', '-t', 'pgbench*', '-d', $node->connstr($database) ]);
	is($stderr, '', "definitions in $database");
	# A token that is new each time.
	$stdout =~ s/^\\(un)?restrict .*\n?//mg;
	return $stdout;
}

# COPY extends tables by several pages at once since 16 and may leave empty ones
# behind, which bench does not: pages with rows are compared there.
my $empty_pages = $node->pg_version >= 16;

# All rows with their places, the pages and the storage options of all tables.
sub contents
{
	my ($database) = @_;
	my $tables = $node->safe_psql($database,
		"SELECT oid::regclass FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind = 'r' ORDER BY 1"
	);
	my $queries = '';
	foreach my $table (split /\n/, $tables)
	{
		my $pages = $empty_pages ? 'max((t.ctid::text::point)[0]) + 1' : "pg_relation_size('$table') / 8192";
		$queries .= <<"SQL";
SELECT '$table', count(*), md5(string_agg(t.ctid::text || t::text, ';' ORDER BY t.ctid)),
       $pages
  FROM $table t;
SQL
	}
	return $node->safe_psql($database, $queries . <<'SQL');
SELECT relname, relkind, relpersistence, reloptions, spcname,
       CASE WHEN relkind <> 'r' THEN pg_relation_size(c.oid) / 8192 END,
       CASE WHEN relkind = 'r' AND relname LIKE 'pgbench_accounts%'
            THEN pg_relation_size(c.oid, 'vm') END
  FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace
 WHERE relname LIKE 'pgbench%' ORDER BY relname;
SQL
}

# Bytes of all tables and indexes.
sub size
{
	my ($database) = @_;
	return $node->safe_psql($database,
		"SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i')");
}

# The planner's statistics of the tables after step v.
sub statistics
{
	my ($database) = @_;
	my $pages = $empty_pages ? "CASE WHEN relkind <> 'r' THEN relpages END" : 'relpages';
	return $node->safe_psql($database, <<"SQL");
SELECT relname, $pages, reltuples::bigint, relallvisible
  FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i', 'p') ORDER BY relname
SQL
}

# What the catalogs say of tables, keys and their triggers.
sub catalogs
{
	my ($database) = @_;
	return $node->safe_psql($database, <<'SQL');
SELECT relname, relhasindex, relhastriggers, relchecks, relhassubclass, relispartition
  FROM pg_class WHERE relname LIKE 'pgbench%' ORDER BY relname;
SELECT conname, contype, conrelid::regclass, conindid::regclass, confrelid::regclass, convalidated,
       condeferrable, conparentid <> 0, coninhcount, conislocal, connoinherit, conkey, confkey,
       confupdtype, confdeltype, confmatchtype
  FROM pg_constraint WHERE conrelid::regclass::text LIKE 'pgbench%' ORDER BY conrelid::regclass::text, conname;
SELECT tgrelid::regclass, tgconstrrelid::regclass, tgconstrindid::regclass, conname, tgfoid::regproc, tgtype,
       tgenabled, tgisinternal, tgparentid <> 0
  FROM pg_trigger LEFT JOIN pg_constraint c ON c.oid = tgconstraint
 WHERE tgrelid::regclass::text LIKE 'pgbench%' ORDER BY tgrelid::regclass::text, conname, tgfoid;
SQL
}

foreach my $case (
	[ 'plain', 'scale => 3', [qw(-s 3)] ],
	[   'range partitions',
		'scale => 3, partitions => 4', [qw(-s 3 --partitions=4)] ],
	[   'hash partitions',
		"scale => 3, partitions => 4, partition_method => 'hash'",
		[qw(-s 3 --partitions=4 --partition-method=hash)]
	],
	[   'partitions that do not divide the rows',
		'scale => 1, partitions => 7', [qw(-s 1 --partitions=7)] ],
	[ 'foreign keys', 'scale => 3, foreign_keys => true', [qw(-s 3 --foreign-keys)] ],
	[   'foreign keys of partitions',
		'scale => 2, foreign_keys => true, partitions => 3',
		[qw(-s 2 --foreign-keys --partitions=3)]
	],
	[   'unlogged', 'scale => 1, unlogged => true', [qw(-s 1 --unlogged-tables)] ],
	[   'unlogged partitions',
		'scale => 1, unlogged => true, partitions => 2',
		[qw(-s 1 --unlogged-tables --partitions=2)]
	],
	[ 'fillfactor', 'scale => 1, fillfactor => 80', [qw(-s 1 -F 80)] ],
	[   'fillfactor of partitions',
		'scale => 1, fillfactor => 50, partitions => 2',
		[qw(-s 1 -F 50 --partitions=2)]
	],
	[ 'on the server', "scale => 1, steps => 'dtGvp'", [qw(-s 1 -I dtGvp)] ],
	[ 'all keys first', "scale => 1, steps => 'dtpfgv'", [qw(-s 1 -I dtpfgv)] ],
	[ 'spaces among steps',  "scale => 1, steps => 'd t g p'",  ['-s', 1, '-I', 'd t g p'] ],
	[   'tablespaces',
		"scale => 1, tablespace => 'the tables', index_tablespace => 'the indexes'",
		[ '-s', 1, '--tablespace=the tables', '--index-tablespace=the indexes' ]
	],
	[ 'account numbers of eight bytes', "scale => 20000, steps => 'dt'", [qw(-s 20000 -I dt)] ],
	[   'partitions of eight bytes',
		"scale => 30000, steps => 'dt', partitions => 3",
		[qw(-s 30000 -I dt --partitions=3)]
	],
	[ 'the last scale of four bytes', "scale => 19999, steps => 'dtp'", [qw(-s 19999 -I dtp)] ])
{
	my ($name, $options, $arguments) = @$case;
	$node->command_ok([ 'pgbench', '-i', '-q', @$arguments, 'theirs' ], "$name: pgbench -i");
	my @steps = split /\n/,
	  $node->safe_psql('ours', "SELECT step FROM bench.initialize($options) WHERE seconds >= 0");
	cmp_ok(scalar @steps, '>', 0, "$name: bench.initialize");
	is(definitions('ours'), definitions('theirs'), "$name: definitions");
	is(catalogs('ours'), catalogs('theirs'), "$name: catalogs");
	is(contents('ours'), contents('theirs'), "$name: rows and pages");
	my ($ours, $theirs) = map { size($_) } qw(ours theirs);
	cmp_ok($ours, $empty_pages ? "<=" : "==", $theirs, "$name: bytes");
	is(statistics('ours'), statistics('theirs'), "$name: statistics")
	  if $options !~ /steps/ || $options =~ /v/;
}

# The server validates foreign keys, in parallel if its settings allow that, and finds what
# violates them.
SKIP: foreach my $workers (2, 0)
{
	skip 'no auto_explain here', 2 if !$has_auto_explain;
	local $ENV{PGOPTIONS} = join ' ', map { "-c $_" } "max_parallel_workers_per_gather=$workers",
	  qw(parallel_setup_cost=0 min_parallel_table_scan_size=0 auto_explain.log_min_duration=0
	  auto_explain.log_nested_statements=on auto_explain.log_analyze=on);
	my $before = -s $node->logfile;
	$node->safe_psql('ours', "SELECT count(*) FROM bench.initialize(foreign_keys => true)");
	my $log = slurp_file($node->logfile, $before);
	my $query = qr/SELECT fk."bid" FROM ONLY "public"."pgbench_accounts"/;
	my ($plan) = $log =~ /$query(.*?)(?=LOG:)/s;
	my $launched = qr/Workers Launched: [12]\b/;
	if ($workers) { like($plan, $launched, 'validation by several processes') }
	else          { unlike($plan, $launched, 'validation by one process') }
}
$node->safe_psql('ours', "SELECT count(*) FROM bench.initialize()");
$node->command_ok([qw(pgbench -i -q theirs)], 'without foreign keys');
$node->safe_psql($_, 'UPDATE pgbench_accounts SET bid = 2 WHERE aid = 77777') foreach qw(ours theirs);
my $violation = qr/insert or update on table "pgbench_accounts" violates foreign key constraint "pgbench_accounts_bid_fkey"\nDETAIL:  Key \(bid\)=\(2\) is not present in table "pgbench_branches"/;
my (undef, undef, $error) = $node->psql('ours', <<'SQL');
SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT bench.initialize(steps => 'f')
SQL
like($error, $violation, 'a row that violates a foreign key');
$node->command_fails_like([qw(pgbench -i -I f theirs)], $violation, 'the same with pgbench');
is(catalogs('ours'), catalogs('theirs'), 'the same foreign keys stay');

# Cursors of event triggers go on after their first rows, and back: they have no parallel plans.
$node->safe_psql('ours', <<'SQL');
CREATE FUNCTION fetching() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT aid FROM pgbench_accounts; r record;
BEGIN OPEN c; FETCH c INTO r; FETCH c INTO r; FETCH PRIOR FROM c INTO r; END $$;
CREATE EVENT TRIGGER fetching ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION fetching();
SQL
{
	local $ENV{PGOPTIONS} = join ' ', map { "-c $_" } 'max_parallel_workers_per_gather=2',
	  qw(parallel_setup_cost=0 parallel_tuple_cost=0 min_parallel_table_scan_size=0);
	is($node->safe_psql('ours', 'SELECT count(*) FROM bench.initialize(foreign_keys => true)'), 6, 'cursors of event triggers');
}
$node->safe_psql('ours', 'DROP EVENT TRIGGER fetching; DROP FUNCTION fetching()');

# The steps by name and in order.
is( $node->safe_psql('ours',
		"SELECT string_agg(step, ', ') FROM bench.initialize(steps => 'dtgvp', foreign_keys => true)"
	),
	'drop tables, create tables, generate rows, vacuum, primary keys, foreign keys',
	'names of the steps');
is( $node->safe_psql('ours', "SELECT string_agg(step, ', ') FROM bench.initialize(steps => 'Gv')"),
	'generate rows by SQL, vacuum',
	'filled again');
is( $node->safe_psql('ours',
		'SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_branches)'
	),
	'100000|10|1',
	'rows after that');

# A table with pgbench's columns but another layout counts as pgbench's.
$node->safe_psql('ours', 'SELECT bench.initialize(partitions => 2)');
$node->safe_psql('ours', 'SELECT bench.initialize()');
is($node->safe_psql('ours', "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench_accounts__'"),
	0, 'partitions are dropped with their table');

# Notices to the caller.
my ($status, $stdout, $stderr) =
  $node->psql('ours', 'SELECT count(*) FROM bench.initialize(partitions => 2)');
# Long ones have several lines.
my @notices = $stderr =~ s/\n    / /gr =~ /NOTICE:  (.*)/g;
is(scalar(grep { length > 100 } split /\n/, $stderr =~ s/^psql:<stdin>:\d+: //gmr), 0, 'notices fit a terminal') or diag($stderr);
s/\d+\.\d\d s/N s/g foreach @notices;
is_deeply(
	\@notices,
	[   'tables to be dropped: public.pgbench_accounts (about 100000 rows), public.pgbench_branches (about 1 row), public.pgbench_history, public.pgbench_tellers (about 10 rows)',
		'dropping old tables...',
		'creating tables...',
		'creating 2 partitions...',
		'generating rows...',
		grep({ /tuples/ } @notices),
		'vacuuming...',
		'creating primary keys...',
		grep({ /^done/ } @notices) ],
	'notices') or diag explain \@notices;
like($notices[-1],
	qr/^done in N s \(drop tables N s, create tables N s, generate rows N s, vacuum N s, primary keys N s\)\.?$/,
	'the last notice');

# Into the schema of search_path, while others hold tables of that name.
$node->safe_psql('ours', 'CREATE SCHEMA other');
$node->safe_psql('ours', 'SET search_path = other; SELECT bench.initialize(); SELECT bench.initialize(scale => 2)');
is( $node->safe_psql('ours',
		'SELECT (SELECT count(*) FROM other.pgbench_branches), (SELECT count(*) FROM public.pgbench_branches)'
	),
	'2|1',
	'a schema of its own; tables of another schema are left alone');

# The standard output and standard error of SQL in a schema, as a role.
sub in_schema
{
	my ($path, $sql, $role) = @_;
	my ($status, $stdout, $stderr) = $node->psql('ours',
		"\\set VERBOSITY verbose\nSET search_path = $path;\n$sql",
		defined $role ? (extra_params => [ '-U', $role ]) : ());
	return wantarray ? ($stdout, $stderr) : "$stdout$stderr";
}

# Only the first schema of search_path is used, even if it has no such tables and
# another one does; a notice names the tables that are dropped.
$node->safe_psql('ours', 'CREATE SCHEMA first; CREATE SCHEMA "The \'second"; CREATE SCHEMA third');
$node->safe_psql('ours', 'SELECT bench.initialize()');
(undef, $stderr) = in_schema('first, public', 'SELECT count(*) FROM bench.initialize(scale => 2)');
unlike($stderr, qr/ERROR|tables to be dropped/, 'nothing is dropped');
is( $node->safe_psql('ours',
		'SELECT (SELECT count(*) FROM first.pgbench_branches), (SELECT count(*) FROM public.pgbench_branches)'
	),
	'2|1',
	'tables that search_path finds elsewhere are left alone');
like(in_schema('first, public', 'SELECT bench.initialize()') =~ s/\n    / /gr,
	qr/tables to be dropped: first\.pgbench_accounts \(about 200000 rows\), first\.pgbench_branches \(about 2 rows\)/,
	'tables that are dropped are named');
like( in_schema('third, public', "SELECT bench.initialize(steps => 'dg')"),
	qr/ERROR:  42P01: relation "third\.pgbench_accounts" does not exist/,
	'tables elsewhere are not emptied either');
is($node->safe_psql('ours', 'SELECT count(*) FROM public.pgbench_branches'), 1, 'they have their rows');
unlike(in_schema('third, public', "SELECT bench.initialize(steps => 'gv')"),
	qr/ERROR/, 'steps that neither drop nor create find tables as pgbench does');
unlike(
	in_schema(
		q{"The 'second", public},
		"SELECT bench.initialize(partitions => 2, foreign_keys => true); SELECT bench.initialize(steps => 'dtGvp'); SELECT bench.initialize_pgio(size => '100'); SELECT bench.initialize_pgio(size => '100')"
	),
	qr/ERROR/,
	'a schema whose name has to be quoted');
is($node->safe_psql('ours', q{SELECT count(*) FROM "The 'second".pgbench_accounts}), 100000, 'its rows');
like(in_schema(q{"The 'second", public}, "SELECT bench.initialize_pgio(size => '100')"),
	qr/tables to be dropped: "The 'second"\.pgio1 \(about 100 rows\)/, 'tables of pgio are named, too');
like(in_schema('third, public', "SELECT bench.pgbench('-i')"),
	qr/tables to be dropped: public\.pgbench_accounts \(about 100000 rows\), /,
	'bench.pgbench drops what search_path finds, as pgbench does, and names it');
is( $node->safe_psql('ours',
		"SELECT to_regclass('public.pgbench_accounts') IS NULL, (SELECT count(*) FROM third.pgbench_accounts)"),
	't|100000',
	'and creates tables in the first schema');

# Conflicting names are detected before anything is dropped.
$node->safe_psql('ours', <<'SQL');
CREATE SCHEMA taken;
SET search_path = taken;
SELECT bench.initialize(steps => 'dt');
DROP TABLE pgbench_tellers;
CREATE DOMAIN pgbench_tellers AS int;
SQL
like(in_schema('taken', 'SELECT bench.initialize()'),
	qr/ERROR:  42809: refusing to replace "pgbench_tellers": it is a type/, 'a type');
$node->safe_psql('ours', 'DROP DOMAIN taken.pgbench_tellers; CREATE TABLE taken.pgbench_accounts_2 ()');
like(in_schema('taken', 'SELECT bench.initialize(partitions => 3)'),
	qr/ERROR:  42809: refusing to replace "pgbench_accounts_2": it is not a partition of "pgbench_accounts"/,
	'a name that a partition will need');
is($node->safe_psql('ours', "SELECT to_regclass('taken.pgbench_accounts') IS NOT NULL"),
	't', 'nothing is dropped');
unlike(in_schema('taken', 'SELECT bench.initialize(partitions => 1); SELECT bench.initialize(partitions => 1)'),
	qr/ERROR/, 'a name that no partition will need');

# More than there is room for: an error that says how much, before anything is dropped.
$node->safe_psql('ours', 'CREATE SCHEMA full_disk');
foreach my $case (
	[ '', '', 'pg_default' ],
	[ "tablespace => 'the tables'", '', 'the tables' ],
	[ "index_tablespace => 'the indexes'", '', 'pg_default' ],
	[ 'fillfactor => 40, partitions => 2', '', 'pg_default' ],
	[ "partitions => 2, unlogged => true, partition_method => 'hash'", '', 'pg_default' ],
	[ "steps => 'dtGv'", '', 'pg_default' ],
	[ "tablespace => 'the tables', steps => 'dtgv'", "steps => 'g'", 'the tables' ])
{
	my ($first, $options, $tablespace) = @$case;
	my $name = "no room: $first";
	unlike(in_schema('full_disk', "SELECT bench.initialize($first)"), qr/ERROR/, "$name: one that fits");
	my $bytes = $node->safe_psql('ours',
		"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'full_disk'::regnamespace AND relkind = 'r'");
	my $error = in_schema('full_disk', 'SELECT bench.initialize(' . join(', ', 'scale => 10000000', $options || $first || ()) . ')');
	like($error,
		qr/ERROR:  53100: the tables would not fit into the file system of tablespace "$tablespace"\nDETAIL:  About \d+ TB are needed there.* are free.*\nHINT:  Choose a smaller scale .*force => true/,
		$name);
	my ($needed) = $error =~ /About (\d+) TB/;
	cmp_ok(abs(($needed // 0) / ($bytes * 1e7 / 2**40) - 1), '<', 0.1, "$name: how much is needed");
	is($node->safe_psql('ours', 'SELECT count(*) FROM full_disk.pgbench_accounts'), 100000, "$name: nothing is dropped");
}
like(in_schema('full_disk', q{SELECT bench.pgbench('-i -s 20000000')}), qr/ERROR:  53100: .*would not fit/, 'no room: bench.pgbench');

# Accounts that are a partition, or partitioned below another table.
$node->safe_psql('ours', <<'SQL');
CREATE SCHEMA below;
SET search_path = below;
SELECT bench.initialize(steps => 'dt');
DROP TABLE pgbench_accounts;
CREATE TABLE parent (aid int NOT NULL, bid int, abalance int, filler char(84)) PARTITION BY RANGE (aid);
SQL
foreach my $case (
	[ 'a partition',         '' ],
	[ 'a partitioned table', 'PARTITION BY RANGE (aid)' ])
{
	my ($what, $clause) = @$case;
	foreach my $to (10, 100001)
	{
		$node->safe_psql('ours', <<"SQL");
SET search_path = below;
CREATE TABLE pgbench_accounts PARTITION OF parent FOR VALUES FROM (1) TO ($to) $clause;
SQL
		$node->safe_psql('ours', <<'SQL') if $clause;
SET search_path = below;
CREATE TABLE low PARTITION OF pgbench_accounts FOR VALUES FROM (MINVALUE) TO (50001);
CREATE TABLE high PARTITION OF pgbench_accounts FOR VALUES FROM (50001) TO (MAXVALUE);
SQL
		my ($out, $err) = in_schema('below', "SELECT count(*) FROM bench.initialize(steps => 'g')");
		if ($to == 10)
		{
			like($err, qr/ERROR:  23514: new row for relation "\w+" violates partition constraint/,
				"accounts are $what: no row goes beyond its bounds");
			is(in_schema('below', 'SELECT count(*) FROM parent'), 0, "accounts are $what: nothing is left");
		}
		else
		{
			is($out, 1, "accounts are $what with room for all rows") or diag $err;
			is(in_schema('below', 'SELECT count(*), max(aid) FROM parent'),
				'100000|100000', "accounts are $what: rows");
		}
		$node->safe_psql('ours', 'DROP TABLE below.pgbench_accounts');
	}
}

# Row security is the same for all tables, and as for pgbench.
$node->safe_psql('ours', <<'SQL');
CREATE ROLE filler LOGIN;
CREATE SCHEMA secured;
GRANT USAGE ON SCHEMA bench, secured TO filler;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bench TO filler;
SET search_path = secured;
SELECT bench.initialize();
GRANT ALL ON ALL TABLES IN SCHEMA secured TO filler;
SQL
is((in_schema('secured', "SELECT count(*) FROM bench.initialize(steps => 'g')", 'filler'))[0],
	1, 'a role that may fill tables');
foreach my $table (qw(branches tellers accounts))
{
	$node->safe_psql('ours', "ALTER TABLE secured.pgbench_$table ENABLE ROW LEVEL SECURITY");
	like(
		in_schema('secured', "SELECT bench.initialize(steps => 'g')", 'filler'),
		qr/ERROR:  0A000: cannot fill table "pgbench_$table" with row-level security/,
		"row security of $table");
	like(
		in_schema('secured', "SET row_security = off; SELECT bench.initialize(steps => 'g')", 'filler'),
		qr/ERROR:  42501: query would be affected by row-level security policy for table "pgbench_$table"/,
		"row security of $table, and row_security = off");
	local $ENV{PGOPTIONS} = '-c search_path=secured';
	$node->command_fails_like(
		[ 'pgbench', '-i', '-I', 'g', '-U', 'filler', 'ours' ],
		qr/COPY FROM not supported with row-level security|violates row-level security policy/,
		"row security of $table: pgbench is refused, too");
	is((in_schema('secured', "SELECT count(*) FROM bench.initialize(steps => 'g')"))[0],
		1, "row security of $table does not concern the owner");
	$node->safe_psql('ours', "ALTER TABLE secured.pgbench_$table DISABLE ROW LEVEL SECURITY");
}

# Several at once in the same schema: one after the other, here and on a target.
foreach my $case (
	[ 'bench.initialize',      'bench.initialize()',                             5 ],
	[ 'bench.initialize_pgio', "bench.initialize_pgio(size => '100')",           5 ],
	[ 'bench.pgbench',         "bench.pgbench('-i -q')",                         0 ],
	[   'a target',
		'bench.initialize(target => $$' . $node->connstr('ours') . q{ options='-c search_path=crowd'$$)}, 5 ])
{
	my ($what, $call, $rows) = @$case;
	$node->safe_psql('ours', 'DROP SCHEMA IF EXISTS crowd CASCADE; CREATE SCHEMA crowd');
	foreach my $round ('new tables', 'old tables')
	{
		my @sessions = map {
			start_sql($node, "SET search_path = crowd; SELECT count(*) FROM $call", database => 'ours')
		} 1 .. 3;
		foreach my $session (@sessions)
		{
			my ($out, $err) = finish_sql($session);
			is($out, $rows, "$what, three at once, $round") or diag $err;
		}
	}
}
my $holder = start_sql($node,
	'BEGIN; LOCK TABLE crowd.pgbench_accounts IN ACCESS SHARE MODE; SELECT pg_sleep(600)',
	database => 'ours', name => 'holder');
my $holder_pid = backend_of($node, 'holder');
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE pid = $holder_pid AND mode = 'AccessShareLock' AND relation > 16384");
my $first = start_sql($node, 'SET search_path = crowd; SELECT count(*) FROM bench.initialize()', database => 'ours');
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'");
my $second = start_sql($node, 'SET search_path = crowd; SELECT count(*) FROM bench.initialize()', database => 'ours');
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype = 'object'");
told_ok($second, qr/waiting for another initialization of the same tables/, 'the second one says what it waits for');
signal_sql($second, 'INT');
my ($out, $err) = finish_sql($second);
like($err, qr/ERROR:  57014/, 'and can be canceled');
$node->safe_psql('ours', "SELECT pg_terminate_backend($holder_pid)");
finish_sql($holder);
($out, $err) = finish_sql($first);
is($out, 5, 'the first one goes on') or diag $err;

# Temporary tables would be gone with the loader, and those of the caller hide new ones.
my $where = $node->connstr('ours');
$node->safe_psql('ours', 'DROP SCHEMA crowd CASCADE; CREATE SCHEMA crowd');
foreach my $function ('bench.initialize(1', "bench.initialize_pgio(1, '100'")
{
	foreach my $case (
		[ 'pg_temp', 'SET search_path = pg_temp', '' ],
		[ 'pg_temp behind a missing schema', 'SET search_path = missing, pg_temp, crowd', '' ],
		[ 'pg_temp of a target', 'SELECT', ", target => \$\$$where options='-c search_path=pg_temp'\$\$" ])
	{
		my ($name, $before, $arguments) = @$case;
		my (undef, undef, $error) = $node->psql('ours', "$before; SELECT $function$arguments)");
		like($error, qr/ERROR:  cannot initialize tables in a temporary schema\nHINT/, "$function): $name");
		unlike($error, qr/WARNING/, 'and no other message');
	}
	my ($table) = $function =~ /pgio/ ? 'pgio1' : 'pgbench_history';
	my (undef, undef, $error) = $node->psql('ours', "SET search_path = crowd; CREATE TEMP TABLE $table (); SELECT $function)");
	like($error, qr/ERROR:  refusing to replace "$table": it is a temporary table of this session/, "$function): a temporary table");
	is($node->safe_psql('ours', q{SELECT count(*) FROM pg_class WHERE relnamespace = 'crowd'::regnamespace}), 0, 'nothing was created');
	is($node->safe_psql('ours', "SET search_path = crowd, pg_temp; CREATE TEMP TABLE $table (); SELECT count(*) FROM $function)"),
		5, "$function): a temporary table that hides nothing");
	$node->safe_psql('ours', 'DROP SCHEMA crowd CASCADE; CREATE SCHEMA crowd');
}

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
