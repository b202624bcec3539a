# Tables of workloads: their rows do not depend on the number of processes or on how they are inserted;
# what is replaced and what is not; errors before anything is dropped; cancels, failures and crashes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('workload', "autovacuum = off\nmax_worker_processes = 16\n");

# Families with a scale that takes moments, units that make a larger one, and their tables.
my %families = (
	tpcc     => [ 1, 1, qw(customer district history item new_order order_line orders stock warehouse) ],
	sysbench => [ 3, 7, 'sbtest1' ],
	ycsb     => [ 1, 2, 'usertable' ]);

# Calls bench.initialize; the names of its steps.
sub initialize
{
	my ($arguments, $before) = @_;
	return $node->safe_psql('postgres',
		($before // '') . ";SELECT string_agg(step, ', ') FROM bench.initialize($arguments)");
}

# The error of such a call.
sub refused
{
	my ($arguments, $before) = @_;
	my (undef, undef, $stderr) =
	  $node->psql('postgres', ($before // '') . ";SELECT bench.initialize($arguments)");
	return $stderr;
}

# A sum over the rows of each table of a family.
sub rows_of
{
	my ($family, $schema) = @_;
	my (undef, undef, @tables) = @{ $families{$family} };
	my @sums = map {
		"SELECT '$_', count(*), sum(hashtextextended(t::text, 0)) FROM "
		  . ($schema // 'public')
		  . ".$_ t"
	} @tables;
	# Parallel processes return them in any order.
	return $node->safe_psql('postgres', join(' UNION ALL ', @sums) . ' ORDER BY 1');
}

# Bytes of the tables of a family, and of their indexes.
sub sizes_of
{
	my ($family) = @_;
	my (undef, undef, @tables) = @{ $families{$family} };
	my $sizes = $node->safe_psql('postgres',
		'SELECT sum(pg_table_size(t)), sum(pg_indexes_size(t)) FROM unnest(ARRAY['
		  . join(', ', map { "'$_'" } @tables) . ']::regclass[]) t');
	return split /\|/, $sizes;
}

# The row of a family.
sub loaded
{
	my ($family) = @_;
	return $node->safe_psql('postgres',
		"SELECT scale, seed, loaded_at > started_at FROM bench_workload WHERE family = '$family'");
}

my $steps = 'drop tables, create tables, generate rows, create indexes, vacuum';

foreach my $family (sort keys %families)
{
	my ($scale, $units, @tables) = @{ $families{$family} };
	my %rows;
	foreach my $workers (1, 2, 5)
	{
		is(initialize("'$family', scale => $scale, seed => '42', workers => $workers"),
			$steps, "$family by $workers processes");
		$rows{ rows_of($family) } = $workers;
		is(loaded($family), "$scale|42|t", 'its row is complete');
	}
	is(keys %rows, 1, 'rows do not depend on the number of processes')
	  or diag(join("\n", keys %rows));

	# A check on each table: rows are inserted one by one.
	$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA checked;
CREATE FUNCTION checked.add() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE t record;
BEGIN
	FOR t IN SELECT objid::regclass AS name FROM pg_event_trigger_ddl_commands()
	          WHERE command_tag = 'CREATE TABLE' AND object_identity !~ 'bench_workload' LOOP
		EXECUTE format('ALTER TABLE %s ADD CHECK (true)', t.name);
	END LOOP;
END $$;
CREATE EVENT TRIGGER add ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION checked.add();
SQL
	initialize("'$family', scale => $scale, seed => '42', workers => 2", 'SET search_path = checked');
	like(
		$node->safe_psql('postgres',
			"SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'checked'::regnamespace"),
		qr/^[1-9]/,
		'tables have checks');
	is(rows_of($family, 'checked'), (keys %rows)[0], 'rows of tables with checks are the same');
	$node->safe_psql('postgres', 'DROP EVENT TRIGGER add; DROP SCHEMA checked CASCADE');

	initialize("'$family', scale => $scale, seed => '43'");
	isnt(rows_of($family), (keys %rows)[0], 'another seed gives other rows');

	# The size of a unit, from which the check of the space is made.
	my @before = sizes_of($family);
	initialize("'$family', scale => " . ($scale + $units) . ", seed => '42'");
	my @after = sizes_of($family);
	my @unit  = split /\|/,
	  $node->safe_psql('postgres', "SELECT DISTINCT table_bytes, index_bytes FROM bench.workloads WHERE family = '$family'");
	foreach my $kind (0, 1)
	{
		my $ratio = ($after[$kind] - $before[$kind]) / $units / $unit[$kind];
		ok($ratio > 0.9 && $ratio < 1.1, "size of a unit of $family: " . (qw(tables indexes))[$kind])
		  or diag("ratio $ratio");
	}
}

# Step d drops the tables with their rows of bench_workload, which goes with the last one.
is(initialize("'tpcc', steps => 'd'"), 'drop tables', 'dropping');
is( $node->safe_psql('postgres',
		"SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('warehouse', 'order_line')), (SELECT count(*) FROM pg_proc WHERE proname = 'tpcc_payment'), string_agg(family, ' ' ORDER BY family) FROM bench_workload"),
	'0|0|sysbench ycsb', 'tables, procedures and the row are gone');
initialize("'$_', steps => 'd'") foreach qw(ycsb sysbench);
is($node->safe_psql('postgres', "SELECT to_regclass('bench_workload'), to_regclass('sbtest1')"), '|', 'so is bench_workload, with the last one');
is(initialize("'ycsb', steps => 'd'"), 'drop tables', 'nothing to drop');
like(refused("'ycsb', steps => 'dt'"), qr/invalid value for option "steps": "dt"/, 'other steps');
$node->safe_psql('postgres', 'CREATE TABLE usertable (i int)');
like(refused("'ycsb', steps => 'd'"), qr/"usertable".*\n?.*force => true/s, 'a table of others stays');
$node->safe_psql('postgres', 'DROP TABLE usertable');

# Options.
initialize("'ycsb', unlogged => true");
is( $node->safe_psql('postgres',
		"SELECT relpersistence FROM pg_class WHERE relname IN ('usertable', 'bench_workload') ORDER BY relname"),
	"p\nu",
	'tables are unlogged, the list of workloads is not');
my $run = q{SELECT state FROM bench.run('ycsb-c', transactions => 1)};
is($node->safe_psql('postgres', $run), 'finished', 'a run on unlogged tables');
$node->stop('immediate');
$node->start;
my (undef, undef, $emptied) = $node->psql('postgres', $run);
like($emptied, qr/relation "usertable" is empty\nHINT:.*lost their rows.*bench\.initialize\('ycsb'\)/,
	'after a crash, they are empty');
my $other = $node->basedir . '/other';
mkdir $other or die;
$node->safe_psql('postgres', "CREATE TABLESPACE other LOCATION '$other'");
initialize("'ycsb', tablespace => 'other'");
is( $node->safe_psql('postgres', <<'SQL'), '2|t', 'table and index are in the tablespace');
SELECT count(*), bool_and(spcname = 'other') FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace
 WHERE c.oid = 'usertable'::regclass
    OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'usertable'::regclass)
SQL
like(refused(q{'ycsb', variables => '{"records": 1001}'}), qr/^$|NOTICE/, 'a variable is given');
is($node->safe_psql('postgres', 'SELECT count(*) FROM usertable'), 1001, 'and used');

# VACUUM marks pages as all-visible, also of rows whose commits did not wait for their WAL.
initialize("'ycsb'", 'SET synchronous_commit = off');
initialize("'tpcc'", 'SET synchronous_commit = off');
is( $node->safe_psql('postgres',
		"SELECT string_agg(relname, ' ') FROM pg_class WHERE relname IN ('usertable', 'customer', 'stock', 'order_line') AND relallvisible <= relpages / 2"),
	'', 'pages are all-visible');
initialize("'tpcc', steps => 'd'");
initialize(q{'ycsb', variables => '{"records": 1001}'});

# Errors come before anything is dropped.
my $kept = rows_of('ycsb');
my %errors = (
	q{'ycbs'} => qr/workload "ycbs" does not exist\nHINT:.*"ycsb"/,
	q{'what is this'} => qr/does not exist\nHINT:  Workloads are listed/,
	q{workload => NULL} => qr/workload must not be null/,
	q{'ycsb', scale => 0} => qr/"scale": 0/,
	q{'ycsb', scale => -5} => qr/"scale": -5/,
	q{'ycsb', scale => 2000000000} => qr/"scale": 2000000000|would not fit/,
	q{'ycsb', variables => '{"record": 5}'} => qr/unknown variable "record".*"records"/s,
	q{'ycsb', variables => '{"records": "5"}'} => qr/"records" is "5"/,
	q{'ycsb', variables => '{"records": 0}'} => qr/"records" is 0.*valid range/s,
	q{'ycsb', variables => '{"records": 1e30}'} => qr/"variables"/,
	q{'ycsb', variables => '7'} => qr/"variables": 7/,
	q{'ycsb', seed => 'x'} => qr/"seed": "x"/,
	q{'ycsb', workers => 0} => qr/"workers": 0/,
	q{'ycsb', tablespace => 'nowhere'} => qr/"tablespace": "nowhere"/);
like(refused($_), $errors{$_}, "error of $_") foreach sort keys %errors;
is(rows_of('ycsb'), $kept, 'nothing was dropped');
like(refused(q{'ycsb'}, 'SET search_path = nowhere'), qr/No schema of search_path exists/, 'no schema');
like(
	refused(q{'ycsb'}, 'SET search_path = pg_temp; CREATE TEMP TABLE x ()'),
	qr/temporary|No schema/,
	'a temporary schema');
like(
	refused(q{'ycsb'}, 'BEGIN; SELECT count(*) FROM usertable'),
	qr/current transaction holds a lock/,
	'a lock of the caller');

# What others have made.
sub in_schema
{
	my ($sql) = @_;
	$node->safe_psql('postgres', "DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s; SET search_path = s; $sql");
	return 'SET search_path = s';
}
my $in = in_schema('CREATE TABLE usertable (a int)');
my $hint = qr/refusing to replace "usertable": bench_workload does not say that a load of workload "ycsb" has created it \((bench\.initialize\('ycsb', force => true\)) replaces it\)/;
like(refused(q{'ycsb'}, $in), $hint, 'a table');
my $sweep = qq{$in; SELECT bench.sweep('{"scale": [1]}', initialize => true, scripts => 'ycsb-c', transactions => 1, repeats => 1)};
my (undef, undef, $of_sweep) = $node->psql('postgres', $sweep);
like($of_sweep, $hint, 'a sweep does not replace it');
$of_sweep =~ $hint;
$node->safe_psql('postgres', "$in; SELECT $1");
is($node->psql('postgres', $sweep), 0, 'it does what its error says');
$in = in_schema('CREATE TABLE usertable (a int)');
is(initialize(q{'ycsb', force => true}, $in), $steps, 'a table, by force');
like(refused(q{'ycsb'}, $in), qr/tables to be dropped: s\.usertable \(about 10000 rows\)/,
	'tables of ours are dropped, and named before');
foreach my $force ('', ', force => true')
{
	$in = in_schema('CREATE VIEW usertable AS SELECT 1');
	like(refused("'ycsb'$force", $in), qr/"usertable": it is a view/, "a view$force");
	$in = in_schema('CREATE FOREIGN DATA WRAPPER f; CREATE SERVER f FOREIGN DATA WRAPPER f; '
		  . 'CREATE FOREIGN TABLE usertable (a int) SERVER f');
	like(refused("'ycsb'$force", $in), qr/"usertable": it is a foreign table/, "a foreign table$force");
	$node->safe_psql('postgres', 'DROP FOREIGN DATA WRAPPER f CASCADE');
	$in = in_schema('CREATE SEQUENCE usertable');
	like(refused("'ycsb'$force", $in), qr/"usertable": it is not a table/, "a sequence$force");
	$in = in_schema("CREATE TYPE usertable AS ENUM ('a')");
	like(refused("'ycsb'$force", $in), qr/"usertable": it is a type/, "a type$force");
	$in = in_schema('CREATE TABLE bench_workload (a int)');
	like(refused("'ycsb'$force", $in), qr/"bench_workload": its columns are/, "another list$force");
	$in = in_schema('CREATE VIEW bench_workload AS SELECT 1');
	like(refused("'ycsb'$force", $in), qr/"bench_workload": it is a view/, "a view as list$force");
}

# What others have made beside what a load has created.
$in = in_schema('SET quote_all_identifiers = on');
is(initialize(q{'tpcc'}, "$in; SET quote_all_identifiers = on"), $steps, 'a load');
is( $node->safe_psql('postgres', q{SELECT created @> '["warehouse", "order_line"]', created::text LIKE '%"tpcc_payment(integer,%', created @> '["bench_workload"]' FROM s.bench_workload}),
	't|t|f', 'its row lists what it has created');
is(initialize(q{'tpcc'}, $in), $steps, 'which the next one replaces');
$node->safe_psql('postgres', "$in; CREATE FUNCTION tpcc_payment(text) RETURNS text LANGUAGE sql AS 'SELECT \$1'");
foreach my $drops ('', q{, steps => 'd'})
{
	like(refused("'tpcc'$drops", $in),
		qr/refusing to replace "tpcc_payment\(text\)": bench_workload does not say that a load of workload "tpcc" has created it/,
		"a function that it has not created$drops");
}
is($node->safe_psql('postgres', "$in; SELECT tpcc_payment('here'), count(*) > 0 FROM warehouse"), 'here|t', 'nothing is dropped');
my (undef, undef, $dropped) = $node->psql('postgres', "$in; SELECT bench.initialize('tpcc', force => true)");
like($dropped, qr/NOTICE:  functions and procedures to be dropped: tpcc_payment\(text\)$/m, 'by force, and named before');
$node->safe_psql('postgres', "$in; SELECT bench.initialize('ycsb')");
foreach my $created ('[]', '["tpcc"]', '{}', '[1]', 'null')
{
	$node->safe_psql('postgres', "$in; UPDATE bench_workload SET created = '$created' WHERE family = 'ycsb'");
	like(refused(q{'ycsb'}, $in), $hint, "a table that the row of the workload does not list: $created");
}

# Workloads that share a name, and a function with the name of one of the server, in a schema that gets another name.
$in = in_schema('SELECT 1');
foreach my $sharing ([ 'sharing_a', 10 ], [ 'sharing_b', 20 ])
{
	my ($name, $rows) = @$sharing;
	$node->safe_psql('postgres', <<"SQL");
SELECT bench.define_workload('$name',
	'{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0.01, "index_mb": 0}, "mixes": [{"name": "$name", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE shared_table (i bigint); CREATE FUNCTION lower(a bigint) RETURNS bigint LANGUAGE sql AS \$f\$SELECT a\$f\$',
	E'-- shared_table: 1 parts of $rows rows\\nSELECT i FROM generate_series(1, $rows) i', scripts => '{"s": "SELECT 1;"}');
SQL
}
is(initialize(q{'sharing_a'}, $in), $steps, 'a workload');
is($node->safe_psql('postgres', 'SELECT created FROM s.bench_workload'), '["shared_table", "lower(bigint)"]', 'what it has created');
like(refused(q{'sharing_b'}, $in), qr/refusing to replace "shared_table": bench_workload does not say that a load of workload "sharing_b"/, 'another one with the same names');
is(initialize(q{'sharing_b', force => true}, $in), $steps, 'by force');
like(refused(q{'sharing_a'}, $in), qr/refusing to replace "shared_table"/, 'they are no longer of the first one');
$node->safe_psql('postgres', 'DROP SCHEMA IF EXISTS "t ""u" CASCADE; ALTER SCHEMA s RENAME TO "t ""u"');
is(initialize(q{'sharing_b'}, 'SET search_path = "t ""u"'), $steps, 'in a schema that was renamed');
$node->safe_psql('postgres', 'ALTER SCHEMA "t ""u" RENAME TO s');

# Functions of another role in the schema that fit better than those of the server: they are not executed.
$in = in_schema('CREATE FUNCTION setval(text, int) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION $q$executed$q$; END$$; '
	  . 'CREATE FUNCTION nextval(text) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION $q$executed$q$; END$$');
is(initialize(q{'sysbench'}, $in), $steps, 'functions of the schema are not executed');
is($node->safe_psql('postgres', "INSERT INTO s.sbtest1 (k, c, pad) VALUES (1, '', '') RETURNING id"), 10_001, 'nor for defaults');

# A role.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE loader LOGIN;
CREATE SCHEMA loader AUTHORIZATION loader;
GRANT USAGE ON SCHEMA bench TO loader;
GRANT EXECUTE ON FUNCTION bench.initialize(text, int, jsonb, bench.seed, int, text, text, boolean, boolean, text) TO loader;
SQL
my $as = 'SET ROLE loader; SET search_path = loader';
like(refused(q{'ycsb'}, $as), qr/permission denied for function bench\..*\nHINT:.*bench\.grant_to/,
	'functions are not granted');
$node->safe_psql('postgres', <<'SQL');
SELECT bench.grant_to('loader');
SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', oid::regprocedure) FROM pg_proc WHERE proname = 'pg_logical_emit_message' \gexec
SQL
foreach my $family (sort keys %families)
{
	is(initialize("'$family'", $as), $steps, "a role loads $family");
	my ($mix) = split /\|/,
	  $node->safe_psql('postgres', "SELECT mix FROM bench.workloads WHERE family = '$family' ORDER BY 1 LIMIT 1");
	is($node->safe_psql('postgres', "$as; SELECT state, failed FROM bench.run('$mix', transactions => 10)"),
		'finished|0', 'runs it');
	is($node->safe_psql('postgres', "$as; SELECT bool_and(holds) FROM bench.check_workload('$family')"), 't', 'and checks it');
	$node->safe_psql('postgres', "$as; DROP TABLE " . join(', ', @{ $families{$family} }[2 .. $#{ $families{$family} }]))
	  if $family ne 'ycsb';
}
is($node->safe_psql('postgres', q{SELECT tableowner FROM pg_tables WHERE schemaname = 'loader'}),
	"loader\nloader", 'the tables are its own');
like(refused(q{'ycsb'}, 'SET ROLE loader; SET search_path = public'), qr/permission denied/, 'in its own schemas');
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO loader');
like(
	refused(q{'ycsb', force => true}, 'SET ROLE loader; SET search_path = public'),
	qr/"bench_workload": it belongs to another role/,
	'not in the list of another role');

# Rows that the table does not take.
sub with_command
{
	my ($command) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE OR REPLACE FUNCTION public.change() RETURNS event_trigger LANGUAGE plpgsql AS \$\$
BEGIN
	IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 's.usertable') THEN
		$command;
	END IF;
END \$\$;
CREATE EVENT TRIGGER change ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.change();
SQL
	my $stderr = refused(q{'ycsb', workers => 2}, in_schema(''));
	$node->safe_psql('postgres', 'DROP EVENT TRIGGER change');
	is($node->safe_psql('postgres', 'SELECT loaded_at IS NULL FROM s.bench_workload'),
		't', 'the load is known to be incomplete');
	return $stderr;
}
my $null = qr/null value in column "more" of relation "usertable" violates not-null constraint/;
like(with_command('ALTER TABLE s.usertable ADD more int NOT NULL'), $null, 'NULL');
like(with_command('ALTER TABLE s.usertable ADD more int NOT NULL, ADD CHECK (true)'), $null, 'NULL, one by one');
like(with_command('ALTER TABLE s.usertable ADD CHECK (false)'), qr/violates check constraint/, 'a check');
like(with_command('ALTER TABLE s.usertable DROP field9'), qr/the query of rows for table "usertable" has 11 columns, the table 10\n/, 'a column less');
like(with_command('ALTER TABLE s.usertable ALTER field3 TYPE varchar(20)'), qr/value too long/, 'a value too long');
is(initialize(q{'ycsb'}, 'SET search_path = s'), $steps, 'the next load replaces them');

# A load that does not end.
my %endings = (
	'the caller is canceled' => sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend($_[0])") },
	'the caller is terminated' => sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])") },
	'the loader is terminated' => sub {
		$node->safe_psql('postgres',
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench loader'");
	},
	'a worker is terminated' => sub {
		$node->safe_psql('postgres',
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker'");
	},
	'the server is killed' => sub { $node->stop('immediate'); $node->start });
foreach my $ending (sort keys %endings)
{
	my $caller = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $caller->query_safe('SELECT pg_backend_pid()');
	$caller->query_until(qr/begun/, "\\echo begun\nSELECT bench.initialize('sysbench', scale => 300, workers => 2);\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker'")
	  or die 'no worker';
	$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM sbtest1') or die 'no row';
	$endings{$ending}->($pid);
	eval { $caller->quit };
	wait_until_quiet($node);
	is( $node->safe_psql('postgres', "SELECT loaded_at IS NULL FROM bench_workload WHERE family = 'sysbench'"),
		't', "$ending: the load is known to be incomplete");
	is(initialize(q{'sysbench', scale => 1}), $steps, 'the next load replaces it');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM sbtest1'), 10_000, 'with all rows');
}

# Two at once take turns.
my @loads = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_until(qr/begun/, "\\echo begun\nSELECT bench.initialize('ycsb');\n") foreach @loads;
$_->quit foreach @loads;
is($node->safe_psql('postgres', 'SELECT count(*) FROM usertable'), 10_000, 'two loads at once');

nothing_left_ok($node, 'at the end');
done_testing();
