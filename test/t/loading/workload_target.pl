# Workloads in another server: their tables are those that a load of this server creates, also with texts
# that COPY quotes; what is replaced there; who may load them; loads that do not end; runs on them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $secret = 'pW9kq2Zx';
my $here   = new_bench_node('here', "autovacuum = off\nmax_worker_processes = 16\n");

# The target needs no extension, and asks a role for a password.
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "autovacuum = off\nlog_min_messages = fatal\n");
my $hba = slurp_file($far->data_dir . '/pg_hba.conf');
unlink $far->data_dir . '/pg_hba.conf';
append_to_file($far->data_dir . '/pg_hba.conf', "local all guest scram-sha-256\n$hba");
$far->start;
$far->safe_psql('postgres', <<"SQL");
CREATE ROLE guest LOGIN PASSWORD '$secret';
CREATE ROLE trusted LOGIN PASSWORD '$secret';
CREATE SCHEMA AUTHORIZATION guest;
CREATE SCHEMA AUTHORIZATION trusted;
SQL

sub target
{
	my ($rest) = @_;
	my $text = $far->connstr('postgres') . ($rest // '');
	$text =~ s/'/''/g;
	return "'$text'";
}
my $target = target();

# SQL here: its standard output, and its notices and errors.
sub here
{
	my ($sql, $user) = @_;
	my ($status, $stdout, $stderr) =
	  $here->psql('postgres', $sql, defined $user ? (extra_params => [ '-U', $user ]) : ());
	return wantarray ? ($stdout, $stderr) : $stdout;
}

sub fails_ok
{
	my ($sql, $pattern, $name, $user) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($stdout, $stderr) = here($sql, $user);
	return like($stderr, $pattern, $name) || diag($stdout);
}

# Loads a family; the names of its steps and the notices.
sub initialize
{
	my ($arguments, $user) = @_;
	return here("SELECT string_agg(step, ', ') FROM bench.initialize($arguments)", $user);
}
my $steps = 'drop tables, create tables, generate rows, create indexes, vacuum';

# A sum over the rows of each table.
sub rows_of
{
	my ($node, @tables) = @_;
	my @sums = map { "SELECT '$_', count(*), sum(hashtextextended(t::text, 0)) FROM $_ t" } @tables;
	return $node->safe_psql('postgres', join(' UNION ALL ', @sums) . ' ORDER BY 1');
}

# Columns, indexes, defaults and procedures, and whether tables have been vacuumed and analyzed.
sub objects_of
{
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'SQL');
SELECT c.relname, c.relpersistence, c.reltuples, a.attname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'bench_workload' ORDER BY 1, a.attnum;
SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indrelid
 WHERE relnamespace = 'public'::regnamespace ORDER BY 1;
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1;
SELECT family, scale, variables, seed, constants, loaded_at > started_at FROM bench_workload ORDER BY 1;
SQL
}

sub incomplete_ok
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($far->safe_psql('postgres', "SELECT loaded_at IS NULL FROM bench_workload WHERE family = 'sysbench'"),
		't', "$name: the load is known to be incomplete");
	fails_ok("SELECT bench.run('sysbench-point-select', mode => 'libpq', transactions => 1, target => $target)",
		qr/load of the tables did not end/, "$name: no run on it");
	is((initialize("'sysbench', target => $target"))[0], $steps, "$name: the next load replaces it");
	return;
}

my %families = (
	tpcc     => [ 1, qw(customer district history item new_order order_line orders stock warehouse) ],
	sysbench => [ 3, 'sbtest1' ],
	ycsb     => [ 1, 'usertable' ]);
my @all = map { my (undef, @tables) = @$_; @tables } values %families;

foreach my $family (sort keys %families)
{
	my ($scale, @tables) = @{ $families{$family} };
	my $arguments = "'$family', scale => $scale, seed => '42'";
	foreach my $where ('', ", target => $target")
	{
		my ($done, $stderr) = initialize($arguments . $where);
		is($done, $steps, "$family$where");
		my $count = join ' + ', map { "(SELECT count(*) FROM $_)" } @tables;
		$count = ($where ? $far : $here)->safe_psql('postgres', "SELECT $count");
		like($stderr, qr/ $count of $count tuples \(100%\)/, 'the last notice of rows counts them');
	}
	is(rows_of($far, @tables), rows_of($here, @tables), "$family: the same rows");
}
is_deeply([ split /\n/, objects_of($far) ], [ split /\n/, objects_of($here) ],
	'the same tables, indexes, sequences, procedures and values');

# A run takes its values from the target.
here("SELECT bench.initialize('ycsb', scale => 2, target => $target)");
foreach my $mix (qw(tpcc tpcc-procedures sysbench-read-write ycsb-a))
{
	is( here("SELECT state, transactions, failed FROM bench.run('$mix', mode => 'libpq', clients => 2, transactions => 10, target => $target)"),
		'finished|20|0', "$mix runs on the target");
}
is(here("SELECT variables ->> 'records' FROM bench.runs ORDER BY run_id DESC LIMIT 1"), '20000', 'with its variables');

# Texts that COPY quotes, and NULL.
my $random_text = $here->safe_psql('postgres',
	"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'random_text' AND pronamespace = 'bench'::regnamespace");
my ($head) = $random_text =~ /^(.*?\)\n RETURNS text\n)/s or die $random_text;
$here->safe_psql('postgres', $head . <<'SQL');
LANGUAGE sql IMMUTABLE AS $$
SELECT (ARRAY[NULL, '', ' ', '\N', '\.', '"', '""', 'a,b', '(a)', E'a\nb\tc\r\n', '\', '\\"\n', '''', U&'\20AC\00FC', 'NULL'])
       [1 + mod($2 * 7 + $3, 15)]
$$
SQL
foreach my $where ('', ", target => $target")
{
	my ($done, $stderr) = initialize("'ycsb', seed => '1', variables => '{\"records\": 2500}'$where");
	is($done, $steps, "texts of all kinds$where") or diag $stderr;
}
is(rows_of($far, 'usertable'), rows_of($here, 'usertable'), 'they arrive as they are');
is($far->safe_psql('postgres', 'SELECT count(*) FROM usertable WHERE field0 IS NULL'), 167, 'NULL among them');
$here->safe_psql('postgres', $random_text);

# Options.
initialize("'ycsb', unlogged => true, target => $target");
is($far->safe_psql('postgres', "SELECT relpersistence FROM pg_class WHERE relname = 'usertable'"), 'u', 'unlogged');
mkdir $far->basedir . '/other' or die;
$far->safe_psql('postgres', "CREATE TABLESPACE other LOCATION '" . $far->basedir . "/other'");
initialize("'ycsb', tablespace => 'other', target => $target");
is( $far->safe_psql('postgres',
		"SELECT count(*) FROM pg_class JOIN pg_tablespace t ON t.oid = reltablespace WHERE spcname = 'other' AND relname ~ '^usertable'"),
	2,
	'table and index in a tablespace of the target');
my $kept = rows_of($far, @all);
my %errors = (
	"'ycsb', tablespace => 'nowhere', target => $target" => qr/invalid value.*"default_tablespace".*"nowhere"/s,
	"'ycsb', workers => 2, target => $target" => qr/"workers" and "target" exclude each other/,
	"'ycsb', target => " . target(" options='-c search_path=nowhere'") => qr/No schema of search_path exists/,
	"'ycsb', target => " . target(" options='-c search_path=pg_temp'") => qr/temporary schema|No schema/,
	"'ycsb', target => 'host=nowhere.invalid'" => qr/could not connect to the target/);
fails_ok("SELECT bench.initialize($_)", $errors{$_}, "error of $_") foreach sort keys %errors;
$far->safe_psql('postgres', 'CREATE SCHEMA s; CREATE TABLE s.usertable (a int)');
my $in_s = target(" options='-c search_path=s'");
fails_ok("SELECT bench.initialize('ycsb', target => $in_s)", qr/refusing to replace "usertable"/, 'a table of others');
is((initialize("'ycsb', force => true, target => $in_s"))[0], $steps, 'by force');
$far->safe_psql('postgres', 'DROP SCHEMA s CASCADE; CREATE SCHEMA s; CREATE VIEW s.usertable AS SELECT 1');
fails_ok("SELECT bench.initialize('ycsb', force => true, target => $in_s)", qr/it is a view/, 'not a view');
is(rows_of($far, @all), $kept, 'errors drop nothing');

# Roles, also without privileges that roles have by default.
$_->safe_psql('postgres', "SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', oid::regprocedure) FROM pg_proc WHERE proname = 'pg_logical_emit_message' \\gexec")
  foreach $here, $far;
$here->safe_psql('postgres', "CREATE ROLE runner LOGIN; SELECT bench.grant_to('runner')");
my $guest = target(" user=guest password=$secret");
is((initialize("'ycsb', target => $guest", 'runner'))[0], $steps, 'a role with a password');
is($far->safe_psql('postgres', "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'guest'"),
	'guest', 'as the role of the target');
is( here("SELECT state, transactions FROM bench.run('ycsb-a', mode => 'libpq', transactions => 5, target => $guest)", 'runner'),
	'finished|5', 'and a run of it');
is((initialize("'ycsb', target => " . target(" user=guest password=$secret options='-c synchronous_commit=off'"), 'runner'))[0],
	$steps, 'commits that do not wait');
is($far->safe_psql('postgres', "SELECT relallvisible > relpages / 2 FROM pg_class WHERE oid = 'guest.usertable'::regclass"),
	't', 'pages are all-visible');
fails_ok("SELECT bench.initialize('ycsb', target => " . target(' user=guest') . ')',
	qr/password is required/, 'without a password', 'runner');
fails_ok("SELECT bench.initialize('ycsb', target => " . target(" user=trusted password=$secret") . ')',
	qr/The target did not ask for the password/, 'with one that is not asked for', 'runner');

# The target fails in a COPY.
$far->safe_psql('postgres', <<'SQL');
CREATE FUNCTION change() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.sbtest1') THEN
		ALTER TABLE public.sbtest1 ADD CHECK (id < 20000);
	END IF;
END $$;
CREATE EVENT TRIGGER change ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION change();
SQL
fails_ok("SELECT bench.initialize('sysbench', scale => 3, target => $target)",
	qr/violates check constraint "sbtest1_id_check"/, 'a row that the table does not take');
$far->safe_psql('postgres', 'DROP EVENT TRIGGER change');
is($far->safe_psql('postgres', 'SELECT count(*) FROM sbtest1'), 0, 'leaves no row of that table');
incomplete_ok('an error');

# The table of a target lacks a column of the query, or has more.
$far->safe_psql('postgres', <<'SQL');
CREATE FUNCTION change_columns() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.usertable') THEN
		ALTER TABLE public.usertable DROP field9;
	ELSIF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.sbtest1') THEN
		ALTER TABLE public.sbtest1 ADD more int DEFAULT 7;
	END IF;
END $$;
CREATE EVENT TRIGGER change_columns ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION change_columns();
SQL
fails_ok("SELECT bench.initialize('ycsb', target => $target)",
	qr/ERROR:  the query of rows for table "usertable" has 11 columns, the table 10\nDETAIL:  Columns of the query: ycsb_key, .*, field9\. Columns of the table: ycsb_key, .*, field8\./,
	'a column less');
is((initialize("'sysbench', target => $target"))[0], $steps, 'a column more');
is($far->safe_psql('postgres', 'SELECT count(*) FROM sbtest1 WHERE more = 7'), 10_000, 'has its default');
$far->safe_psql('postgres', 'DROP EVENT TRIGGER change_columns');

# A load here and one by a target that leads here do not create the same tables at once.
my $near = $here->connstr('postgres');
$near =~ s/'/''/g;
here(<<'SQL');
SELECT bench.define_workload('gated',
	'{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0.01, "index_mb": 0}, "mixes": [{"name": "gated", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE gated (i int)', E'-- gated: 1 parts of 1 rows\nSELECT 1 FROM pg_advisory_lock_shared(5)', scripts => '{"s": "SELECT 1;"}');
SQL
my $gate = $here->background_psql('postgres');
my @ways = (
	[ 'a load here', '', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench loader'" ],
	[ 'one by a target', ", target => '$near'", "SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_selfbench' AND backend_type = 'client backend'" ]);
foreach my $first (0, 1)
{
	my ($name, $way, $holder) = @{ $ways[$first] };
	$gate->query_safe('SELECT pg_advisory_lock(5)');
	my $load = start_sql($here, "SELECT bench.initialize('gated'$way)");
	wait_for($here, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 5 AND NOT granted");
	my $pid = $here->safe_psql('postgres', $holder);
	my $second = "SELECT bench.initialize('gated'$ways[1 - $first][1])";
	fails_ok("SET lock_timeout = '300ms'; $second",
		qr/waiting for another initialization of the same tables\n.*ERROR:  another session has locked these tables for an initialization\nDETAIL:  Process $pid of the server with the tables/s,
		"$name goes first");
	my $waiting = start_sql($here, $second);
	told_ok($waiting, qr/waiting for another initialization/, 'the other one waits');
	$gate->query_safe('SELECT pg_advisory_unlock(5)');
	unlike((finish_sql($_))[1], qr/ERROR/, 'both end') foreach $load, $waiting;
}
is(here("SELECT count(*), bool_and(loaded_at IS NOT NULL) FROM gated, bench_workload WHERE family = 'gated'"), '1|t', 'one after the other');

# The time for which a load waits for another kind of load begins when it has waited for one of its own kind.
$gate->query_safe('SELECT pg_advisory_lock(5)');
my $load = start_sql($here, "SELECT bench.initialize('gated')");
wait_for($here, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 5 AND NOT granted");
my $waiting = start_sql($here, "SET lock_timeout = '6s'; SELECT bench.initialize('gated')");
told_ok($waiting, qr/waiting for another initialization/, 'a load waits for another one');
my $key = unpack('N', 'wkld') . "::bigint << 32 | 'public'::regnamespace::oid::bigint";
$gate->query_safe("SELECT pg_sleep(4), pg_advisory_lock($key)");
$gate->query_safe('SELECT pg_advisory_unlock(5)');
unlike((finish_sql($load))[1], qr/ERROR/, 'which ends');
$gate->query_safe("SELECT pg_sleep(3.5), pg_advisory_unlock($key)");
unlike((finish_sql($waiting))[1], qr/ERROR/, 'then for the session of another server');

# The memory of a loader does not grow with the rows of a part.
here(<<'SQL');
SELECT bench.define_workload('long',
	'{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0.01, "index_mb": 0}, "mixes": [{"name": "long", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE long (i int, t text)', E'-- long: 1 parts of 100000 rows\nSELECT i, repeat(md5(i::text), 10) FROM generate_series(1, 100000) i WHERE i < 100000 OR pg_advisory_lock_shared(5) IS NOT NULL', scripts => '{"s": "SELECT 1;"}');
SQL
$gate->query_safe('SELECT pg_advisory_lock(5)');
$load = start_sql($here, "SELECT bench.initialize('long', target => $target)");
wait_for($here, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 5 AND NOT granted");
my $log = -s $here->logfile;
here("SELECT pg_log_backend_memory_contexts(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench loader'");
$here->wait_for_log(qr/Grand total: \d+ bytes/, $log);
my ($bytes) = substr(slurp_file($here->logfile), $log) =~ /Grand total: (\d+) bytes/;
ok($bytes < 20_000_000, 'memory of a loader after 100,000 rows') or diag "$bytes bytes";
$gate->query_safe('SELECT pg_advisory_unlock(5)');
finish_sql($load);
is($far->safe_psql('postgres', 'SELECT count(*) FROM long'), 100_000, 'all rows');

# Tables that are replaced during a load: before their rows come, when these are there, and bench_workload.
here(<<'SQL');
SELECT bench.define_workload('swapped',
	'{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0.01, "index_mb": 0}, "mixes": [{"name": "swapped", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE swapped (i int); CREATE TABLE swapped_next (i int)',
	E'-- swapped: 1 parts of 1 rows\nSELECT 1 FROM pg_advisory_lock_shared(5);\n-- swapped_next: 1 parts of 1 rows\nSELECT 2',
	finish => 'SELECT pg_advisory_lock_shared(6); INSERT INTO swapped_next VALUES (3); VACUUM swapped_next', scripts => '{"s": "SELECT 1;"}');
SQL
my %nodes = ('' => $here, ", target => $target" => $far);
foreach my $way (sort keys %nodes)
{
	my $node = $nodes{$way};
	my $keeper = $node->background_psql('postgres');
	foreach my $case ([ 5, 'swapped_next' ], [ 6, 'bench_workload' ])
	{
		my ($number, $table) = @$case;
		my $name = "$table is replaced at $number" . ($way && ', on a target');
		my $gate_of = $number == 5 ? $gate : $keeper;
		$gate_of->query_safe("SELECT pg_advisory_lock($number)");
		my $load = start_sql($here, "SELECT bench.initialize('swapped'$way)");
		wait_for($number == 5 ? $here : $node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = $number AND NOT granted");
		# By the same role, and with all rows.
		$node->safe_psql('postgres', "CREATE TABLE another AS TABLE $table; ALTER TABLE $table RENAME TO ${table}_old; ALTER TABLE another RENAME TO $table");
		$gate_of->query_safe("SELECT pg_advisory_unlock($number)");
		like((finish_sql($load))[1], qr/ERROR:  42809: refusing to use "$table": another one has replaced it during the load/, $name);
		is($node->safe_psql('postgres', "SELECT count(*) FROM bench_workload WHERE family = 'swapped' AND loaded_at IS NOT NULL"), 0, 'it is not taken for loaded');
		$node->safe_psql('postgres', "DROP TABLE $table; ALTER TABLE ${table}_old RENAME TO $table");
	}
	is((initialize("'swapped'$way"))[0], $steps, 'the next load replaces what is there');

	# By another role, while the load waits for the table: its triggers are not executed by the loader's role.
	$node->safe_psql('postgres', q{CREATE ROLE squatter; CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN RAISE LOG 'struck as %', current_user; RETURN new; END$$});
	foreach my $case ([ 5, 'swapped_next' ], [ 6, 'swapped_next' ], [ 6, 'bench_workload' ])
	{
		my ($number, $table) = @$case;
		my $gate_of = $number == 5 ? $gate : $keeper;
		$gate_of->query_safe("SELECT pg_advisory_lock($number)");
		my $load = start_sql($here, "SELECT bench.initialize('swapped'$way)");
		wait_for($number == 5 ? $here : $node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = $number AND NOT granted");
		# It commits when the load waits for the table. A statement of `finish` has locked it: the next one waits.
		my $squatter = start_sql($node, "BEGIN; ALTER TABLE $table RENAME TO ${table}_old; CREATE TABLE $table AS TABLE ${table}_old;
			CREATE TRIGGER strikes BEFORE INSERT OR UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION strike(); ALTER TABLE $table OWNER TO squatter;
			DO \$\$BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END\$\$; COMMIT");
		wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE relation = '$table'::regclass AND mode = 'AccessExclusiveLock'");
		$gate_of->query_safe("SELECT pg_advisory_unlock($number)");
		is((finish_sql($squatter))[1], '', "$table is replaced at $number");
		like((finish_sql($load))[1], qr/ERROR:  42809: refusing to (?:use|replace) "$table": /, "$table is replaced by another role" . ($way && ', on a target'));
		unlike(slurp_file($node->logfile), qr/LOG: .* struck as/, 'whose trigger is not executed');
		$node->safe_psql('postgres', "DROP TABLE $table; ALTER TABLE ${table}_old RENAME TO $table");
	}
	# By a view, before the load has looked at the table of this role: its functions are not executed.
	my $squatter = start_sql($node, q{BEGIN; ALTER TABLE bench_workload RENAME TO bench_workload_old;
		CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE LOG 'struck as %', current_user; RETURN true; END$$;
		CREATE VIEW bench_workload AS SELECT * FROM bench_workload_old WHERE look();
		DO $$BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END$$; COMMIT});
	wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'bench_workload'::regclass AND mode = 'AccessExclusiveLock'");
	like((initialize("'swapped'$way"))[1], qr/ERROR:  refusing to replace "bench_workload": it is a view/, 'a view in its place' . ($way && ', on a target'));
	is((finish_sql($squatter))[1], '', 'which was created while the load waited');
	unlike(slurp_file($node->logfile), qr/LOG: .* struck as/, 'whose function is not executed');
	$node->safe_psql('postgres', 'DROP VIEW bench_workload; ALTER TABLE bench_workload_old RENAME TO bench_workload; DROP FUNCTION look, strike; DROP ROLE squatter');
	$keeper->quit;
}
$gate->quit;

# Loads that do not end.
my %endings = (
	'Ctrl-C' => [ sub { signal_sql($_[0], 'INT') }, qr/57014: canceling statement due to user request/ ],
	'the loader is terminated' => [
		sub { here("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'pg_selfbench loader'") },
		qr/57014: / ],
	'the session of the target is terminated' => [
		sub { $far->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pg_selfbench'") },
		qr/57P01: terminating connection due to administrator command|08006: / ],
	'the target is killed' => [ sub { $far->stop('immediate'); $far->start }, qr/08006: |57P0\d: / ]);
foreach my $ending (sort keys %endings)
{
	my ($end, $error) = @{ $endings{$ending} };
	my $caller = start_sql($here, "SELECT bench.initialize('sysbench', scale => 1000, target => $target)");
	ok( $far->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_progress_copy WHERE tuples_processed > 0'),
		"$ending: rows are copied");
	$end->($caller);
	my (undef, $stderr) = finish_sql($caller);
	like($stderr, qr/ERROR:  $error/, "$ending: the error");
	ok(wait_until_quiet($far), "$ending: no session is left in the target");
	nothing_left_ok($here, $ending);
	incomplete_ok($ending);
}

done_testing();
