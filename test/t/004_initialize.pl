# bench.initialize against pgbench -i: the same tables, the same rows in the same
# places, the same number of pages.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('initialize');
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

# What the planner knows of the tables after the step v.
sub statistics
{
	my ($database) = @_;
	my $pages = $empty_pages ? "CASE WHEN relkind <> 'r' THEN relpages END" : 'relpages';
	return $node->safe_psql($database, <<"SQL");
SELECT relname, $pages, reltuples::bigint, relallvisible
  FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i', 'p') ORDER BY relname
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
	is(contents('ours'), contents('theirs'), "$name: rows and pages");
	my ($ours, $theirs) = map { size($_) } qw(ours theirs);
	cmp_ok($ours, $empty_pages ? "<=" : "==", $theirs, "$name: bytes");
	is(statistics('ours'), statistics('theirs'), "$name: statistics")
	  if $options !~ /steps/ || $options =~ /v/;
}

# The steps by name and in order.
is( $node->safe_psql('ours',
		"SELECT string_agg(step, ', ') FROM bench.initialize(steps => 'dtgvp', foreign_keys => true)"
	),
	'drop tables, create tables, client-side generate, vacuum, primary keys, foreign keys',
	'names of the steps');
is( $node->safe_psql('ours', "SELECT string_agg(step, ', ') FROM bench.initialize(steps => 'Gv')"),
	'server-side generate, vacuum',
	'filled again');
is( $node->safe_psql('ours',
		'SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_branches)'
	),
	'100000|10|1',
	'rows after that');

# A table of another layout than pgbench's, but with its columns, is pgbench's.
$node->safe_psql('ours', 'SELECT bench.initialize(partitions => 2)');
$node->safe_psql('ours', 'SELECT bench.initialize()');
is($node->safe_psql('ours', "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench_accounts__'"),
	0, 'partitions are dropped with their table');

# What the caller is told.
my ($status, $stdout, $stderr) =
  $node->psql('ours', 'SELECT count(*) FROM bench.initialize(partitions => 2)');
my @notices = $stderr =~ /NOTICE:  (.*)/g;
s/\d+\.\d\d s/N s/g foreach @notices;
is_deeply(
	\@notices,
	[   'dropping old tables...',
		'creating tables...',
		'creating 2 partitions...',
		'generating data (client-side)...',
		grep({ /tuples/ } @notices),
		'vacuuming...',
		'creating primary keys...',
		grep({ /^done/ } @notices) ],
	'notices') or diag explain \@notices;
like($notices[-1],
	qr/^done in N s \(drop tables N s, create tables N s, client-side generate N s, vacuum N s, primary keys N s\)\.?$/,
	'the last notice');

# Into the schema of search_path, while others hold tables of that name.
$node->safe_psql('ours', 'CREATE SCHEMA other');
$node->safe_psql('ours', 'SET search_path = other; SELECT bench.initialize(); SELECT bench.initialize(scale => 2)');
is( $node->safe_psql('ours',
		'SELECT (SELECT count(*) FROM other.pgbench_branches), (SELECT count(*) FROM public.pgbench_branches)'
	),
	'2|1',
	'a schema of its own; tables of another schema are left alone');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
