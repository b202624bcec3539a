# What is stored and who owns it: runs and scripts of roles that are renamed,
# dropped or missing, and names of scripts that stand for something else.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('store');
my $dir  = PostgreSQL::Test::Utils::tempdir();
my $database = 'postgres';

# SQL as a role: what it printed and what it complained about.
sub as
{
	my ($user, $sql) = @_;
	my ($status, $stdout, $stderr) = $node->psql(
		$database, "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql",
		extra_params => [ '-U', $user ]);
	return wantarray ? ($stdout, $stderr) : $stdout;
}

sub fails_ok
{
	my ($user, $sql, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($stdout, $stderr) = as($user, $sql);
	like($stderr, $pattern, $name) or diag $stdout;
	return;
}

sub grants
{
	return map { "SELECT bench.grant_to('$_');" } @_;
}

my $quick = "transactions => 2, vacuum => 'none'";
my $root = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', join "\n",
	map({ "CREATE ROLE $_ LOGIN;" } qw(tester mallory "Odd.Name")),
	'CREATE TABLE loot (who name); GRANT INSERT, SELECT ON loot TO PUBLIC;',
	'SELECT bench.initialize();',
	'GRANT SELECT ON pgbench_accounts, pgbench_branches TO PUBLIC;',
	grants(qw(tester mallory "Odd.Name")));

# A script of another role's is never taken for something else.
my $trojan = q(insert into loot values (current_user););
append_to_file("$dir/x.sql", 'SELECT 1;');
foreach my $name ('select', 'sel', 's', 't', 'select-only', 'tpcb-like', '')
{
	fails_ok('mallory', "SELECT bench.define_script('$name', '$trojan')",
		qr/ERROR:  22023: (?:script name "\Q$name\E" is reserved for built-in scripts|invalid script name)/,
		"\"$name\" cannot be defined");
}
foreach my $name ("$dir/x.sql", 'dir/x', 'x.sql', "$root.mine", 'a@1', "a\nb", 'n' x 256)
{
	fails_ok('mallory', "SELECT bench.define_script('$name', '$trojan')",
		qr/ERROR:  22023: invalid script name/, "\"$name\" cannot be defined");
}
is(as('mallory', "SELECT bench.define_script('nightly', '$trojan')"), '', 'but others can');
# A dump of another version may hold any name.
$node->safe_psql('postgres', join '', map { "
	INSERT INTO bench.scripts (owner, name, body) VALUES ('mallory', '$_', '$trojan');" }
	'select', 'sel', 'tpcb-like', "$dir/x.sql");
foreach my $script ('select', 'sel', 'select-only', "$dir/x.sql")
{
	is(as($root, "SELECT state FROM bench.run('$script', $quick)"),
		'finished', "a superuser runs $script");
}
is(as($root, "SELECT count(*) > 0 FROM bench.pgbench('--mode=spi -n -t 2 $_')"), 't', "and pgbench's $_")
  foreach ('-b select', '-b tpcb', '-S', "-f $dir/x.sql");
fails_ok($root, "SELECT bench.run('nightly', $quick)",
	qr/ERROR:  42704: script "nightly" does not exist.*HINT:.*owner\.name/s,
	'nor does a bare name mean a script of another role');
fails_ok($root, "SELECT bench.pgbench('--mode=spi -n -f $_')",
	qr/ERROR:  58P01: /, "nor after -f: $_") foreach ('nightly', 'select', 'x.sql');
fails_ok('tester', "SELECT bench.run('$dir/x.sql', $quick)",
	qr/ERROR:  42501: permission denied for script files/, 'files are for those who may read them');
is($node->safe_psql('postgres', 'SELECT count(*) FROM loot'), 0, 'no trojan was executed');
is(as('tester', "SELECT state FROM bench.run('mallory.nightly', $quick)"),
	'finished', 'unless somebody asks for it');
is(as('tester', "SELECT count(*) > 0 FROM bench.pgbench('--mode=spi -n -t 2 -f mallory.nightly')"),
	't', 'by owner.name');
is(as('mallory', "SELECT state FROM bench.run('mallory.select', $quick)"), 'finished',
	'a stored script that a built-in one hides');
is($node->safe_psql('postgres', "SELECT string_agg(who || '=' || n, ' ' ORDER BY who) FROM (SELECT who, count(*) n FROM loot GROUP BY who) l"),
	'mallory=2 tester=4', 'with the rights of the role that runs it');
# Each role has names of its own.
foreach my $role (qw(tester Odd.Name))
{
	is(as($role, "SELECT bench.define_script('nightly', 'select 1;'); SELECT state FROM bench.run('nightly', $quick)"),
		"\nfinished", "the same name of another role: $role");
}
is(as('tester', "SELECT state FROM bench.run('\"Odd.Name\".nightly', $quick)"),
	'finished', 'a name in quotes');
fails_ok('tester', "SELECT bench.run('Odd.Name.nightly', $quick)", qr/ERROR:  42704: /,
	'and without');
fails_ok('tester', "SELECT bench.drop_script('mallory.nightly')",
	qr/ERROR:  42501: permission denied for script "mallory.nightly"/, 'another role cannot drop it');
is(as($root, "SELECT bench.drop_script('mallory.sel')"), '', 'a superuser can');
$node->safe_psql('postgres', 'GRANT mallory TO tester');
is(as('tester', "SELECT bench.drop_script('mallory.select')"), '', 'and a member of the role');
$node->safe_psql('postgres', 'REVOKE mallory FROM tester');

# A role keeps what it has when it is renamed; another one does not get it with
# the name.
my $run = "SELECT run_id FROM bench.run('select-only', $quick, label => 'before')";
is(as('tester', $run) =~ /^\d+$/, 1, 'a run');
sub owned
{
	my ($role) = @_;
	return as($role, "SELECT (SELECT count(*) FROM bench.runs WHERE label = 'before'), "
		  . '(SELECT count(*) FROM bench.run_scripts), '
		  . '(SELECT count(*) FROM bench.scripts WHERE owner::text = quote_ident(current_user))');
}
my $before = owned('tester');
like($before, qr/^1\|[1-9]\d*\|1$/, 'a role has a run and a script');
$node->safe_psql('postgres', 'ALTER ROLE tester RENAME TO renamed');
is(owned('renamed'), $before, 'renamed, it has them still');
is(as('renamed', "SELECT state FROM bench.run('nightly', $quick)"), 'finished', 'runs its script');
is(as('renamed', "SELECT bench.define_script('nightly', 'select 2;')"), '', 'and replaces it');
my $live = as('renamed', "SELECT bench.start('nightly', duration => '10 min', label => 'live')");
$node->safe_psql('postgres', 'ALTER ROLE renamed RENAME TO again');
is(as('again', "SELECT bench.cancel($live)"), 't', 'renamed during a run');
is(as('again', "SELECT state FROM bench.wait($live)"), 'canceled', 'which is stored as its own');
$node->safe_psql('postgres', 'DROP OWNED BY again; DROP ROLE again');
$node->safe_psql('postgres', join "\n", 'CREATE ROLE tester LOGIN; CREATE ROLE again LOGIN;', grants(qw(tester again)));
is(owned($_), '0|0|0', "a new role with its name, $_, has nothing") foreach qw(tester again);
fails_ok('tester', "SELECT bench.run('nightly', $quick)", qr/ERROR:  42704: /, 'not even its script');
my $number = $node->safe_psql('postgres', "SELECT owner FROM bench.runs WHERE label = 'before'");
like($number, qr/^\d+$/, 'the owner of its runs is a number');
is(as($root, "SELECT state FROM bench.run('$number.nightly', $quick)"), 'finished',
	'with which a superuser can run its script');

# Dumps have names of roles.  One whose role was dropped has a number, and belongs
# to superusers then.
as('Odd.Name', $run);
$node->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", 'postgres' ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'psql', qw(-X -q -v ON_ERROR_STOP=1 -f), "$dir/dump.sql", 'copy' ], 'restored');
my $contents = 'SELECT owner, label FROM bench.runs ORDER BY run_id; SELECT owner, name FROM bench.scripts ORDER BY 1, 2';
is($node->safe_psql('copy', $contents), $node->safe_psql('postgres', $contents), 'with the same owners');
$database = 'copy';
is(owned('Odd.Name'), '1|2|1', 'a role sees what is its own') or diag as($root, $contents);
is(owned('tester'), '0|0|0', 'and no other does');
is( as($root, "SELECT count(*) FROM bench.runs WHERE owner::text = '$number'"),
	$node->safe_psql('postgres', "SELECT count(*) FROM bench.runs WHERE owner::text = '$number'"),
	'a superuser sees rows of a dropped role');
is(as($root, "SELECT bench.drop_script('$number.nightly')"), '', 'and drops its script');

# A run can be repeated from its row.
$database = 'postgres';
as($root, q(SELECT bench.define_script('options', 'SELECT :a, 1')));
my $result = as($root, columns_of('run_id, rate', q(bench.run('options', transactions => 2, rate => 1000, seed => '18446744073709551615', variables => '{"a": 1, "b": "it''s\n", "c": "\"\\\\ \t{}"}'::jsonb, continue_on_error => true, exit_on_abort => true, verbose_errors => true, client_process => 'worker', label => '\u0000'))));
like($result, qr/^(\d+)\|1000$/, 'options of many kinds');
my ($first) = $result =~ /^(\d+)/;
my $options = "SELECT scripts, mode, clients, transactions_per_client, rate, seed, variables, continue_on_error, exit_on_abort, verbose_errors, client_process, label FROM bench.runs";
my $row = as($root, "$options WHERE run_id = $first");
is($row, q({options}|spi|1|2|1000|18446744073709551615|{"a": "1", "b": "it's\n", "c": "\"\\\\ \t{}"}|t|t|t|worker|\u0000), 'are stored');
my $second = as($root, "SELECT (bench.run(array_to_string(scripts, ', '), mode, clients, transactions => transactions_per_client, rate => rate, seed => seed, variables => variables, continue_on_error => continue_on_error, exit_on_abort => exit_on_abort, verbose_errors => verbose_errors, client_process => client_process, label => label)).run_id FROM bench.runs WHERE run_id = $first");
is(as($root, "$options WHERE run_id = $second"), $row, 'and can be given again');

# Texts with what JSON escapes.
as($root, q(SELECT bench.define_script('escapes', 'SELECT ''\u0000\\u0000'', ''' || E'\b\f\x7f' || ''';')));
like(as($root, "SELECT run_id FROM bench.run('escapes', transactions => 1)"), qr/^\d+$/, 'a script with escapes');
is(as($root, "SELECT body = (SELECT body FROM bench.scripts WHERE name = 'escapes') FROM bench.run_scripts WHERE name = 'escapes'"),
	't', 'is stored as it is');

# What cannot be stored is refused before anything starts.
my $runs = as($root, 'SELECT count(*) FROM bench.runs');
fails_ok($root, "SELECT bench.run('select-only', transactions => 1, label => repeat('é', 513))",
	qr/ERROR:  22023: invalid value for option "label": 1026 bytes.*DETAIL:  At most 1024 bytes/s, 'a long label');
foreach my $seed ('-1', '18446744073709551616', '1.5', '', ' 1', 'x')
{
	fails_ok($root, "SELECT bench.run('select-only', transactions => 1, seed => '$seed')",
		qr/ERROR:  22023: invalid value for option "seed": "\Q$seed\E"/, "seed \"$seed\"");
}
like(as($root, "SELECT bench.pgbench('-S -n -t 1 --mode=spi --random-seed=-1')"), qr/tps/, 'pgbench takes -1');
is(as($root, "SELECT seed FROM bench.runs ORDER BY run_id DESC LIMIT 1"), '18446744073709551615', 'as C does');
is(as($root, 'SELECT count(*) FROM bench.runs'), $runs + 1, 'nothing else ran');
is(as($root, "SELECT state FROM bench.run('select-only', $quick, label => repeat(md5(random()::text), 32))"),
	'finished', 'a label as long as possible');

# What is read is what is stored, to the last digit.
my $exact = as($root, 'SELECT max(run_id) FROM bench.runs');
foreach my $tps ('18031.748231682694', '30918.282929205878', '4050.1910527545156')
{
	is(as($root, "UPDATE bench.runs SET tps = $tps WHERE run_id = $exact; SELECT measured FROM bench.require($exact, 'tps > 0')"),
		$tps, "a figure of many digits: $tps");
}

# Deleting a run in progress leaves nothing of it behind.
foreach my $log ('false', 'true')
{
	my $session = start_sql($node,
		qq{SELECT state FROM bench.run('select-only', duration => '10 min', aggregate_interval => '0.1 s', vacuum => 'none', log => $log, label => 'deleted')});
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM bench.progress WHERE label = 'deleted' AND transactions > 0"),
		"log $log: a run in progress");
	my $id = as($root, "DELETE FROM bench.runs WHERE label = 'deleted' RETURNING run_id");
	like($id, qr/^\d+$/, "log $log: deleted");
	my ($out, $err) = finish_sql($session);
	like("$out$err", qr/run $id was deleted while it was in progress/, "log $log: the caller is told");
	unlike("$out$err", qr/foreign key/, "log $log: in plain words");
	is(as($root, join ' UNION ALL ', map { "SELECT * FROM (SELECT '$_' FROM bench.$_ WHERE run_id = $id LIMIT 1) x" }
				qw(runs run_scripts run_statements run_intervals run_settings transactions)),
		'', "log $log: nothing is left of it");
}
ok(wait_until_quiet($node), 'no process is left');

# Runs and sets whose processes are gone are marked by the next ones, which wait for nobody who has locked their rows.
as($root, "SELECT bench.compare('[{\"name\": \"gone\"}]', scripts => 'select-only', repeats => 1, $quick)");
my ($gone, $gone_set) = map { scalar as($root, "UPDATE bench.$_->[0] SET state = 'running' WHERE $_->[1] = (SELECT max($_->[1]) FROM bench.$_->[0]) RETURNING $_->[1]") }
	[ runs => 'run_id' ], [ sets => 'set_id' ];
my $states = "SELECT (SELECT state FROM bench.runs WHERE run_id = $gone), (SELECT state FROM bench.sets WHERE set_id = $gone_set)";
my $locking = start_sql($node, "BEGIN; UPDATE bench.runs SET label = label WHERE run_id = $gone; UPDATE bench.sets SET label = label WHERE set_id = $gone_set; SELECT pg_sleep(1000)",
	name => 'locking');
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'locking' AND wait_event = 'PgSleep'");
my $next = "SET statement_timeout = '60 s'; SELECT state FROM bench.run('select-only', $quick); SELECT runs FROM bench.compare('[{}]', scripts => 'select-only', repeats => 1, $quick)";
is(as('tester', $next), "finished\n1", 'a run and a set of another role while the rows of lost ones are locked');
is(as($root, $states), 'running|running', 'which leave these as they are');
signal_sql($locking, 'INT');
finish_sql($locking);
is(as('tester', $next), "finished\n1", 'the next run and set');
is(as($root, $states), 'lost|lost', 'mark them');

# A result that is larger than the memory which caller and coordinator share, of a
# caller that may see nothing of what is stored, or has an old snapshot.
as($root, q(SELECT bench.define_script('large', 'SELECT ''' || repeat('x', 700000) || ''';'), bench.define_script('many', repeat(E'SELECT 1;\n', 3000))));
is(as($root, "SELECT state, transactions FROM bench.run('large', transactions => 2)"),
	'finished|2', 'a large script');
is(as($root, 'SELECT length(body) FROM bench.run_scripts ORDER BY run_id DESC LIMIT 1'), 700010, 'is stored');
is(as($root, "SELECT count(*) FROM bench.pgbench('--mode=spi -n -t 1 -r -f many') line WHERE line ~ 'SELECT 1;'"),
	3000, 'many commands in a report');
is(as($root, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT state, transactions FROM bench.run('large', transactions => 2); COMMIT"),
	"1\nfinished|2", 'under an old snapshot');
$node->safe_psql('postgres', 'CREATE ROLE blind LOGIN; GRANT USAGE ON SCHEMA bench, bench_internal TO blind; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bench, bench_internal TO blind');
is(as('blind', "SELECT state, transactions FROM bench.run('$root.large', transactions => 2)"),
	'finished|2', 'of a role that may not read the tables');

# Deleting runs: one's own, and none in progress.
$node->safe_psql('postgres', 'CREATE ROLE cleaner LOGIN; CREATE ROLE "Clean Er" LOGIN');
fails_ok('cleaner', 'SELECT bench.delete_runs()', qr/ERROR:  42501: permission denied for schema bench/, 'without grants');
fails_ok('mallory', "SELECT bench.grant_to('mallory')", qr/ERROR:  42501: permission denied for schema bench\n/,
	'a role cannot grant itself anything');
fails_ok($root, 'SELECT bench.grant_to(4000000000)', qr/ERROR:  42704: role with OID 4000000000 does not exist/, 'no role');
is(as($root, q(SELECT bench.grant_to('cleaner'), bench.grant_to('"Clean Er"'))), '|', 'bench.grant_to');
fails_ok('cleaner', 'SELECT bench.delete_runs()', qr/ERROR:  22023: no runs to delete are specified/, 'nothing says which runs');
fails_ok('cleaner', "SELECT bench.delete_runs(older_than => '-1 day')", qr/ERROR:  22023: invalid value for option "older_than"/,
	'a negative age, which all runs have');
foreach ('cleaner', 'Clean Er')
{
	my (undef, $err) = as($_, "SELECT bench.run('select-only', $quick, label => '$_')");
	is($err, '', "a role with grants can run: $_");
}
my ($mine, $theirs) = map {
	scalar as($root, "SELECT run_id FROM bench.runs WHERE label = '$_'")
} ('cleaner', 'Clean Er');
fails_ok('cleaner', "SELECT * FROM bench.delete_runs(run_ids => '{$mine,$theirs}')", qr/ERROR:  42704: run $theirs does not exist/,
	'not what others have');
is(as('cleaner', "SELECT * FROM bench.delete_runs(older_than => 86400)"), '', 'nothing is old');
fails_ok('cleaner', "SELECT bench.delete_runs(run_ids => '{NULL,$mine}')", qr/ERROR:  22004: run_ids must not contain nulls/,
	'a run id that is null');
fails_ok('cleaner', "SELECT bench.delete_runs($_)", qr/ERROR:  54000: argument "\w+" has \d+ bytes/, 'an argument that is too long')
	foreach ("array_fill(1::bigint, ARRAY[600000])", "label => repeat('x', 1048577)");
is(as('cleaner', "SELECT * FROM bench.delete_runs(label => 'x', run_ids => '{$mine}')"), '', 'both must apply');
is(as('cleaner', "SELECT * FROM bench.delete_runs(label => 'cleaner', older_than => '0')"),
	"$mine|cleaner|finished", 'its own');
my $going = as('cleaner', "SELECT bench.start('select-only', duration => '10 min', vacuum => 'none', label => 'going')");
fails_ok($_, "SELECT bench.delete_runs(run_ids => '{$going}')",
	qr/ERROR:  55006: run $going is in progress.*HINT:  Cancel it with bench\.cancel/s, "one in progress: $_") foreach ('cleaner', $root);
# A caller that waits in a run locks no result table.
my $waiting = start_sql($node, "SELECT state FROM bench.run('select-only', duration => '10 min', vacuum => 'none', label => 'waiting')");
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM bench.runs WHERE label = 'waiting' AND state = 'running'");
is($node->safe_psql('postgres',
		"SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation = 'bench.runs'::regclass AND backend_type = 'client backend' AND pid <> pg_backend_pid()"),
	0, 'a caller that waits does not lock the runs');
$node->safe_psql('postgres', "SELECT bench.cancel(run_id) FROM bench.runs WHERE label = 'waiting'");
finish_sql($waiting);
as('cleaner', "SELECT bench.cancel($going); SELECT state FROM bench.wait($going)");
is(as('cleaner', "SELECT * FROM bench.delete_runs(label => 'going')"), "$going|going|canceled", 'when it has ended');
is(as($root, "SELECT * FROM bench.delete_runs(run_ids => '{$theirs}')"), "$theirs|Clean Er|finished", 'a superuser deletes any');
is(as($root, join ' UNION ALL ', map { "SELECT '$_' FROM bench.$_ WHERE run_id IN ($mine, $theirs, $going)" }
			qw(run_scripts run_statements run_intervals run_settings transactions)),
	'', 'nothing is left of them');

# However many runs are deleted, the log of transactions is looked through once.
as($root, "SELECT bench.run('select-only', $quick, log => true, label => 'logged') FROM generate_series(1, 5)");
my ($scans) = as($root, q(
	BEGIN;
	DO $$ BEGIN PERFORM * FROM bench.delete_runs(label => 'logged'); END $$;
	SELECT 'scans: ' || seq_scan + idx_scan FROM pg_stat_xact_user_tables WHERE relid = 'bench.transactions'::regclass;
	COMMIT)) =~ /^scans: (\d+)$/m;
is($scans, 1, 'deleted logs are found at once');

# Many intervals: batches of rows and of their histograms keep their order.
my $long = as($root, "SELECT run_id FROM bench.run('select-only', $quick)");
$node->safe_psql('postgres', qq(
	CREATE FUNCTION store_intervals(bigint, int, int) RETURNS void LANGUAGE c AS 'pg_selfbench', 'store_intervals_wrapper';
	SELECT store_intervals($long, 1, 250), store_intervals($long, 251, 251), store_intervals($long, 252, 1000)));
is(as($root, qq(
	SELECT count(*), sum(i.interval_no), bool_and(i.transactions = ('{0,1,20,1000,10000}'::int[])[i.interval_no % 5 + 1]
	         AND i.transactions = coalesce(bench.histogram_count(i.histogram), 0)
	         AND (i.histogram IS NULL) = (i.transactions = 0) AND (i.tps IS NOT DISTINCT FROM i.transactions)
	         AND (i.latency_p99_ms IS NOT DISTINCT FROM least(bench.percentile(i.histogram, 99), i.latency_max_ms))
	         AND i.blocks_hit = i.interval_no AND s.wal_bytes = i.interval_no * 1000000::bigint AND i.begins_s = i.interval_no
	         AND s.begins_s = i.begins_s AND s.cpu_idle_ms = 1000000 AND s.checkpoint_begun IS NULL
	         AND w.samples = i.interval_no % 20)
	  FROM bench.run_intervals i JOIN bench.run_server_intervals s USING (run_id, interval_no)
	  JOIN bench.run_waits w USING (run_id, interval_no)
	 WHERE run_id = $long AND interval_no > 0)),
	'1000|500500|t', 'many intervals');
fails_ok($root, "SELECT store_intervals($long, 7, 7)", qr/ERROR:  23505: /, 'none twice');
fails_ok($root, "SELECT store_intervals($long + 1, 1, 1)", qr/ERROR:  .*run \d+ was deleted/, 'none without a run');
as($root, "SELECT bench.delete_runs(run_ids => '{$long}')");
is(as($root, "SELECT (SELECT count(*) FROM bench.run_intervals WHERE run_id = $long), (SELECT count(*) FROM bench.run_server_intervals WHERE run_id = $long)"),
	'0|0', 'they go with their run');

# Statistics from before a run make plans for one row of it. No query reads all rows again for each row.
$node->safe_psql('postgres', 'CREATE DATABASE stale');
$database = 'stale';
as($root, q(CREATE EXTENSION pg_selfbench; SELECT bench.initialize();
	CREATE FUNCTION store_intervals(bigint, int, int) RETURNS void LANGUAGE c AS 'pg_selfbench', 'store_intervals_wrapper'));
as($root, "ALTER TABLE bench.$_ SET (autovacuum_enabled = false)") foreach qw(run_intervals run_server_intervals run_waits);
my ($known, $new) = map
{
	my $run = as($root, "SELECT run_id FROM bench.run('select-only', $quick)");
	as($root, "SELECT store_intervals($run, 1, 1000)");
	as($root, 'ANALYZE') if $_ eq 'known';
	$run
} ('known', 'new');
foreach my $query ("bench.report($new, 'html')", "bench.report($new)", "bench.advice($new)", "bench.time_budget($new)",
	"bench.top_waits($new)", "bench.charts($new), bench.chart($new, name)", "bench.plot($new)", "bench.dashboard(1)",
	"bench.compare_runs('{$known}', '{$new}')", "bench.export_run($new)")
{
	my ($rows) = as($root, qq(
		BEGIN;
		DO \$\$ BEGIN PERFORM * FROM $query; END \$\$;
		SELECT 'rows: ' || max(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
		 WHERE relid IN ('bench.run_intervals'::regclass, 'bench.run_server_intervals'::regclass, 'bench.run_waits'::regclass);
		COMMIT)) =~ /^rows: (\d+)$/m;
	ok($rows >= 1000 && $rows < 100_000, "rows read of 1000 of each kind: $query") or diag("$rows rows");
}
# The waits of a day are more than a million rows: each function reads them once.
my $waits = as($root, "SELECT count(*) FROM bench.run_waits WHERE run_id = $new");
foreach my $query ("bench.report($new, 'html')", "bench.report($new, 'markdown')", "bench.report($new)",
	"bench.advice($new)", "bench.time_budget($new)", "bench.top_waits($new)", "bench.chart($new, 'waits')")
{
	my ($rows) = as($root, qq(
		SET enable_seqscan = off; -- which reads other runs, too
		BEGIN;
		DO \$\$ BEGIN PERFORM * FROM $query; END \$\$;
		SELECT 'rows: ' || seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
		 WHERE relid = 'bench.run_waits'::regclass;
		COMMIT)) =~ /^rows: (\d+)$/m;
	ok($rows >= $waits && $rows < 1.5 * $waits, "waits are read once: $query") or diag("$rows of $waits rows");
}
$database = 'postgres';

# What a role lacks is said.
$node->safe_psql('postgres', 'CREATE SCHEMA closed; SET search_path = closed; SELECT bench.initialize(); GRANT USAGE ON SCHEMA closed TO cleaner');
fails_ok('cleaner', "SET search_path = closed; SELECT bench.run('select-only', $quick)",
	qr/ERROR:  42501: permission denied for table pgbench_branches.*HINT:  The scale is the number of its rows/s, 'the scale');
fails_ok('cleaner', "SELECT * FROM bench.compare('[{\"mode\": \"libpq\"}]', scripts => 'select-only', repeats => 1, transactions => 1)",
	qr/ERROR:  42501: permission denied for mode "libpq".*HINT:  Use mode => 'spi'/s, 'what to give bench.compare');
ok(wait_until_quiet($node), 'no process is left');

# Roles come first: where one is missing, nothing of the table is restored, as
# the error says.
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->start;
my (undef, $complaint) = ('', '');
IPC::Run::run(
	[ $other->installed_command('psql'), qw(-X -q -f), "$dir/dump.sql", '-d', $other->connstr('postgres') ],
	'>', \my $ignored, '2>', \$complaint);
like($complaint, qr/ERROR:  role "(mallory|Odd.Name)" does not exist.*COPY runs, line \d+, column owner/s,
	'a role is missing where a dump is restored');
is($other->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), 0, 'no run is restored to another one');
$other->safe_psql('postgres',
	'DROP EXTENSION pg_selfbench; DROP TABLE IF EXISTS loot, pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers');
$other->safe_psql('postgres', 'CREATE ROLE mallory; CREATE ROLE "Odd.Name"; CREATE ROLE tester; CREATE ROLE again');
$other->command_ok([ 'psql', qw(-X -q -v ON_ERROR_STOP=1 -f), "$dir/dump.sql", 'postgres' ],
	'restored where the roles are');
is( $other->safe_psql('postgres', q(SELECT count(*) FROM bench.runs WHERE owner = '"Odd.Name"'::regrole)),
	$node->safe_psql('postgres', q(SELECT count(*) FROM bench.runs WHERE owner = '"Odd.Name"'::regrole)),
	'with other numbers of roles');
$other->stop;

# A run can be repeated from its report.
$node->safe_psql('postgres', q(ALTER DATABASE postgres SET synchronous_commit = off));
my $report = as($root, qq(SET work_mem = '7MB'; SET TimeZone = 'UTC';
	SELECT bench.report(run_id) FROM bench.run('select-only', $quick, variables => '{"scale": 1, "word": "two\\nlines"}')));
like($report, qr/^random seed: \d+\nvariable: scale = 1\nvariable: word = two\n    lines\nsetting: /m,
	'a report has the variables');
like($report, qr/^setting: work_mem = 7MB \(session\)$/m, "settings of the session");
like($report, qr/^setting: synchronous_commit = off \(database\)$/m, 'and those of the database');
unlike($report, qr/^setting: (?:\w+ = .* \((?:default|override)\)$|TimeZone|application_name|lc_|log_line_prefix|port|unix_socket)/m,
	'and no others');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET synchronous_commit');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
