# Mixes of the catalog's workloads: their scripts, the values of their variables, both modes and all
# protocols, tables of other tools, wrong names and values.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('workloads');
my $sql = sub { $node->safe_psql('postgres', $_[0]) };
my $error = sub { return ($node->psql('postgres', $_[0]))[2] };

my @families = split /\n/, $sql->(q{SELECT DISTINCT family FROM bench.workloads WHERE family NOT IN ('pgbench', 'pgio') ORDER BY 1});
is("@families", 'sysbench tpcc ycsb', 'families');
is($sql->('SELECT count(*) - count(DISTINCT mix), bool_and(table_bytes > 0 AND index_bytes > 0) FROM bench.workloads'), '1|t', 'mixes');

# Before the tables are there.
like($error->("SELECT * FROM bench.run('tpcc', transactions => 1)"),
	qr/ERROR: .*relation "item" does not exist\nHINT: .*bench\.initialize\('tpcc'\)/, 'tables are missing');
like($error->("SELECT * FROM bench.check_workload('ycsb')"), qr/relation "usertable" does not exist\nHINT: .*bench\.initialize\('ycsb'\)/, 'also for check_workload');
$sql->("SET client_min_messages = warning; SELECT bench.initialize('$_', seed => 1)") foreach @families;

# All mixes in both modes and all protocols: what they have to, and the conditions hold.
foreach my $mix (split /\n/, $sql->(qq{SELECT mix FROM bench.workloads WHERE family = ANY ('{@{[join ',', @families]}}') ORDER BY family, mix}))
{
	foreach my $mode (qw(spi libpq))
	{
		foreach my $protocol (qw(simple extended prepared))
		{
			is( $sql->("SELECT state, transactions + failed FROM bench.run('$mix', mode => '$mode', protocol => '$protocol',
					clients => 2, transactions => 20)"),
				'finished|40', "$mix, $mode, $protocol");
		}
	}
}
foreach my $family (@families)
{
	is($sql->("SELECT string_agg(condition, ', ') FROM bench.check_workload('$family') WHERE NOT holds"),
		'', "$family: all conditions hold");
}
is($sql->(q{SELECT string_agg(condition, ', ') FROM bench.check_workload('tpcc') WHERE holds IS NULL}),
	'condition-11', 'a condition of the load only is not judged');

# Orders that are rolled back on purpose are not counted as new orders; figures of the workload.
foreach my $way ("'tpcc'", "'tpcc-procedures', mode => 'libpq'")
{
	my $orders = 'SELECT sum(d_next_o_id) FROM district';
	my $before = $sql->($orders);
	my $run_id = $sql->("SELECT run_id FROM bench.run($way, clients => 2, transactions => 500, seed => 3)");
	my $new = $sql->($orders) - $before;
	is( $sql->("SELECT s.transactions - rolled_back, rolled_back > 0, per_minute_of, abs(per_minute * r.seconds / 60 - $new) < 0.01, p90_limit_ms, p90_is_met = (s.latency_p90_ms <= 5000)
			FROM bench.run_scripts s JOIN bench.runs r USING (run_id, rolled_back) WHERE run_id = $run_id AND script_no = 0"),
		"$new|t|new orders|t|5000|t", "new orders, $way");
	is( $sql->("SELECT sum(rolled_back), count(per_minute), string_agg(p90_limit_ms::text, ' ' ORDER BY script_no) FROM bench.run_scripts WHERE run_id = $run_id AND script_no > 0"),
		'0|0|5000 5000 5000 20000', 'other transactions');
	foreach my $format (qw(text markdown html))
	{
		like($sql->("SELECT string_agg(line, '\n') FROM bench.report($run_id, '$format') line"), qr/new orders per minute/, "$format, $way");
	}
}

# Conditions after a run: where the clients ran, with their search_path.
my $run = sub {
	my ($arguments) = @_;
	my (undef, $run_id, $told) = $node->psql('postgres', "SELECT run_id FROM bench.run($arguments, verify => true)");
	my $found = $sql->("SELECT count(*) FILTER (WHERE holds), string_agg(condition, ' ' ORDER BY check_no) FILTER (WHERE NOT holds),
		string_agg(condition || ': ' || example, ', ' ORDER BY check_no) FILTER (WHERE violations IS NULL)
		FROM bench.run_checks WHERE run_id = $run_id");
	return ($found, $told, $run_id);
};
my $target = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres user=' . getpwuid($<);
foreach my $way ("'tpcc'", "'tpcc', mode => 'libpq'", "'tpcc', mode => 'libpq', target => '$target'")
{
	is(($run->("$way, transactions => 10"))[0], '11||', "conditions hold, $way");
}
$sql->('CREATE SCHEMA other; CREATE TABLE other.usertable (LIKE public.usertable)');
is(($run->(q{'ycsb-c', transactions => 1, settings => '{"search_path": "other, public"}'}))[0], '3|records|', 'search_path of the run');
like($error->("SELECT bench.run(sql => 'SELECT 1', verify => true)"), qr/option "verify" needs scripts of a workload/, 'scripts of no workload');

# A condition that fails is not judged; the run is not lost.
$sql->('ALTER TABLE history RENAME TO hidden');
my ($found, $told, $run_id) = $run->("'tpcc:order-status', transactions => 1");
my $missing = 'relation "history" does not exist';
is($found, "8||condition-8: $missing, condition-9: $missing, condition-10: $missing", 'conditions that fail');
like($told, qr/^psql:<stdin>:1: NOTICE:  3 conditions of the workload not judged: condition-8: $missing$/m, 'of which its caller is told');
like($sql->("SELECT severity, finding, evidence FROM bench.advice($run_id)"), qr/^warning\|a condition of the workload was not judged\|condition-8: $missing$/m, 'are warnings');
$sql->('ALTER TABLE hidden RENAME TO history');

# So is one that is canceled while it waits.
my $locker = $node->background_psql('postgres');
$locker->query_safe('SELECT pg_advisory_lock(1)');
$sql->(q{SELECT bench.define_script('hold', 'SELECT pg_advisory_xact_lock_shared(1)')});
$run_id = $sql->("SELECT bench.start('tpcc:order-status, hold\@9', transactions => 20, seed => 1, verify => true)");
$locker->query_safe('BEGIN; LOCK TABLE history; SELECT pg_advisory_unlock(1)');
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity JOIN bench.runs ON pid = coordinator_pid WHERE run_id = $run_id")
  or die 'the coordinator does not wait';
is($sql->("SELECT state, phase FROM bench.progress JOIN bench.runs USING (run_id)"), 'running|storing', 'a run is in progress until its conditions are checked');
is($sql->("SELECT bench.cancel($run_id)"), 't', 'cancel');
is($sql->("SELECT state, transactions FROM bench.wait($run_id)"), 'finished|20', 'a run whose check was canceled');
is($sql->("SELECT count(*), bool_and(holds IS NULL AND example LIKE '%cancel%') FROM bench.run_checks WHERE run_id = $run_id"), '12|t', 'has no condition judged');
$locker->quit;

# What the row of a run has.
my $of_run = sub {
	my ($arguments, $columns) = @_;
	$sql->("SELECT bench.run($arguments, transactions => 1)");
	return $sql->("SELECT $columns FROM bench.runs ORDER BY run_id DESC LIMIT 1");
};
# One script, weights, a mix beside a script of one's own.
is( $of_run->(q{'tpcc:payment@3'}, 'scripts'),
	'{tpcc:payment@3}', 'one script of a mix');
is($of_run->(q{'tpcc'}, q{max_tries, continue_on_error}), '10|f', 'options of a mix');
is($of_run->(q{'tpcc', max_tries => 1}, q{max_tries}), '1', 'options of the call');
is($of_run->(q{'sysbench-insert'}, q{continue_on_error}), 't', 'options of another mix');
is($of_run->(q{'tpcc'}, q{scale, variables ->> 'warehouses'}), '1|1', 'scale and variables of the tables');
like($sql->(q{SELECT bench.report(run_id, 'json') FROM bench.run('tpcc', transactions => 1) }), qr/"nurand_last"/, 'constants are stored');

# Wrong names and values.
like($error->("SELECT bench.run('tpc-c')"), qr/script "tpc-c" does not exist\nHINT: .*Perhaps you meant "tpcc"/, 'a misspelt mix');
like($error->("SELECT bench.run('tpcc:pay')"), qr/mix "tpcc" has no script "pay"\nHINT: .*payment/, 'a misspelt script');
like($error->("SELECT bench.run('sysbench')"), qr/is a family of workloads.*\nHINT: .*sysbench-point-select/, 'a family');
like($error->("SELECT bench.run('tpcc, ycsb-a')"), qr/cannot be mixed/, 'two families');
like($error->(q{SELECT bench.run('tpcc', variables => '{"warehouses": "many"}')}), qr/"warehouses".* is not an integer/, 'a text for a variable');
like($error->(q{SELECT bench.run('tpcc', variables => '{"warehouses": 0}')}), qr/must be between 1 and/, 'a variable out of range');
like($error->("SELECT bench.check_workload('tpc')"), qr/workload "tpc" does not exist\nHINT: .*"tpcc"/, 'check_workload of an unknown one');
like($error->("SELECT bench.workload_script('tpcc', NULL)"), qr/script/, 'NULL');
is($sql->(q{SELECT count(*) > 5, count(c.message) FROM bench.workloads, unnest(scripts) s, bench.workload_script(mix, split_part(s, '@', 1)) w
	LEFT JOIN LATERAL bench.check_script(w.body, resolve => true) c ON true WHERE family IN ('tpcc', 'ycsb')}),
	't|0', 'check_script: runs set the variables of the scripts of a workload');

# A load that did not end, and tables of another tool.
$sql->('UPDATE bench_workload SET loaded_at = NULL');
like($error->("SELECT bench.run('ycsb-c')"), qr/HINT: .*did not end/, 'a load that did not end');
$sql->('DROP TABLE bench_workload');
my ($status, $row, $notices) = $node->psql('postgres', "SELECT transactions FROM bench.run('sysbench-read-only', transactions => 5)");
is($row, 5, 'tables without bench_workload');
like($notices, qr/NOTICE: .*not been loaded by bench\.initialize: rows is \d+/, 'are accepted with a notice');

# Violations are found, each by its conditions.
$sql->("SET client_min_messages = warning; SELECT bench.initialize('tpcc', force => true)");
my @violations = (
	[ '1,9', "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1" ],
	[ '1,8', 'UPDATE warehouse SET w_ytd = w_ytd - 1' ],
	[ '2', 'UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 10' ],
	[ '3,5,11', 'DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 2999' ],
	[ '4,6,10,12', 'DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1; UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 1 AND c_id = 1' ],
	[ '5,7', 'UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 1' ],
	[ '6', 'UPDATE orders SET o_ol_cnt = o_ol_cnt + 3 - 2 * o_id WHERE o_d_id = 1 AND o_id IN (1, 2)' ],
	[ '7', 'UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 2 AND ol_amount = 0 AND ol_number = 1' ],
	[ '8,9', 'UPDATE warehouse SET w_ytd = w_ytd + 1; UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1' ],
	[ '9', 'UPDATE district SET d_ytd = d_ytd + 3 - 2 * d_id WHERE d_id IN (1, 2)' ],
	[ '10', 'UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 1 AND c_id = 1' ],
	[ '7,11', 'DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 2101; UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 1 AND o_id = 2101' ],
	[ '12', 'UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 1 AND c_id = 1' ]);
foreach (@violations)
{
	my ($expected, $injection) = @$_;
	is( $sql->("BEGIN; $injection; SELECT string_agg(substr(condition, 11), ',') FROM bench.check_workload('tpcc') WHERE violations > 0"),
		$expected, "$injection: found");
}

# So are they after a run.
$sql->('UPDATE warehouse SET w_ytd = w_ytd + 1');
($found, $told, $run_id) = $run->("'tpcc:order-status', transactions => 1");
like($found, qr/^\d+\|condition-1 condition-8\|/, 'a violation after a run');
like($told, qr/WARNING:  conditions of the workload are violated: condition-1, condition-8/, 'of which its caller is told');
is($sql->("SELECT count(*) FROM bench.advice($run_id) WHERE severity = 'error' AND finding = 'a condition of the workload is violated'"), 2, 'and advice has errors');
foreach my $format (qw(text markdown json html))
{
	like($sql->("SELECT string_agg(line, '\n') FROM bench.report($run_id, '$format') line"), qr/condition-8.*w_ytd\s+is\s+the\s+sum\s+of\s+h_amount/s, "and a report as $format");
}
my $copy = $sql->("SELECT bench.import_run(bench.export_run($run_id))");
is($sql->("SELECT count(*) FROM bench.run_checks WHERE run_id = $copy AND NOT holds"), 2, 'and a copy of the run');

# pgbench's and pgio's tables have loaders of their own.
is($sql->(q{SELECT string_agg(mix, ',' ORDER BY mix), min(unit) FROM bench.workloads WHERE family = 'pgbench'}),
	'select-only,simple-update,tpcb-like|100,000 accounts', 'pgbench is a family');
is($sql->(q{SELECT mix IS NULL, tables FROM bench.workloads WHERE family = 'pgio'}), 't|{pgio1}', 'so is pgio');
my $balances = sub { return $sql->('SELECT condition, holds, violations FROM bench.check_workload($$pgbench$$)') };
my $rows = sub { return $sql->('SELECT sum(hashtextextended(a::text, 0)), (SELECT count(*) FROM pgbench_tellers) FROM pgbench_accounts a') };
$sql->('SET client_min_messages = warning; SELECT bench.initialize(scale => 2)');
my $of_pgbench = $rows->();
$sql->(q{SET client_min_messages = warning; SELECT bench.initialize('tpcb-like', scale => 2, unlogged => true, workers => 1)});
is($rows->(), $of_pgbench, 'its rows are those of bench.initialize(scale)');
is($sql->(q{SELECT relpersistence FROM pg_class WHERE relname = 'pgbench_accounts'}), 'u', 'its options, too');
foreach my $way ("'select-only'", "'tpcb-like', clients => 2", "'tpcb-like', mode => 'libpq'", "'select-only', mode => 'libpq', target => '$target'")
{
	is(($run->("$way, vacuum => 'none', transactions => 20"))[0], '4||', "conditions hold, $way");
}
$sql->(q{SET client_min_messages = warning; SELECT bench.initialize('pgbench', scale => 2)});
is($balances->(), "rows|t|0\nbranches-tellers|t|0\naccounts-branches|t|0\naccounts-history|t|0", 'its conditions hold after a load');
$sql->(q{SELECT bench.run('tpcb-like:tpcb-like', clients => 4, transactions => 50)});
is($sql->('SELECT scripts, variables FROM bench.runs ORDER BY run_id DESC LIMIT 1'), '{tpcb-like}|{}', 'mix:script is the built-in script');
is($balances->(), "rows|t|0\nbranches-tellers|t|0\naccounts-branches|t|0\naccounts-history|t|0", 'and after tpcb-like');
$sql->(q{SELECT bench.run('simple-update', transactions => 50)});
is($balances->(), "rows|t|0\nbranches-tellers|t|0\naccounts-branches||1\naccounts-history||1", 'simple-update changes accounts alone, a vacuum empties history');
$sql->('UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 12; DELETE FROM pgbench_accounts WHERE aid = 7');
is($sql->('SELECT condition, violations, example FROM bench.check_workload($$select-only$$) WHERE NOT holds'),
	$sql->(q{SELECT 'rows|1|(2,2,20,20,199999,1,200000)' UNION ALL SELECT concat('branches-tellers|1|(', s, ',', s + 1, ')') FROM (SELECT sum(bbalance) AS s FROM pgbench_branches) b}),
	'violations are found');
is(($run->("'simple-update, ycsb-c', transactions => 1"))[0], '4|pgbench: rows pgbench: branches-tellers|', 'conditions of two workloads');
is($sql->('SELECT string_agg(condition, \' \' ORDER BY check_no) FROM bench.run_checks WHERE run_id = (SELECT max(run_id) FROM bench.runs) AND holds'),
	'ycsb: keys-distinct ycsb: keys ycsb: fields ycsb: records', 'are told apart');
like($error->("SELECT bench.run('tpcc:payment, ycsb-c', verify => true)"), qr/scripts of the workloads "tpcc" and "ycsb-c" cannot be mixed/, 'other workloads are not mixed');
($found, $told) = $run->("'simple-update', transactions => 1");
like($found, qr/^0\|rows branches-tellers\|/, 'also after a run');
like($told, qr/WARNING:  conditions of the workload are violated: rows, branches-tellers/, 'of which its caller is told');
is($sql->(q{SELECT defines FROM bench.workload_script('select-only', 'select-only')}), '-D scale=2', 'the scale for pgbench');
is($sql->(q{SET client_min_messages = warning; SELECT string_agg(step, ', ') FROM bench.initialize('pgbench', steps => 'd'); SELECT to_regclass('pgbench_accounts') IS NULL}),
	"drop tables\nt", 'step d alone');
like($error->(qq{SELECT bench.initialize('pgbench', seed => 1)}), qr/neither "seed" nor "variables"/, 'no seed');
like($error->(qq{SELECT bench.run('pgbench')}), qr/is a family of workloads.*\nHINT: .*tpcb-like, simple-update, select-only/, 'the family');
like($error->(qq{SELECT bench.$_}), qr/ERROR: .*\nHINT:  bench\.initialize_pgio loads pgio's tables, bench\.run_pgio executes/, $_)
  foreach "initialize('pgio')", "run('pgio')";
like($error->("SELECT bench.initialize('pgio', scale => 3)"), qr/\nHINT: .* bench\.initialize_pgio\(size => '3GB'\)/, 'the function with the scale');
like($error->("SELECT bench.initialize('pgio', steps => 'd')"), qr/\nHINT:  There are no tables to drop/, 'no table of pgio');
$sql->('CREATE TABLE pgio1 (); CREATE TABLE pgio2 ()');
like($error->("SELECT bench.initialize('pgio', steps => 'd')"), qr/\nHINT:  Drop its tables with DROP TABLE pgio1, pgio2\./, 'how to drop them');
$sql->('DROP TABLE pgio1, pgio2');
is($sql->(q{SELECT count(*) FROM bench.check_workload('pgio')}), 0, 'pgio has no conditions');

# A sweep loads the tables of its workload at each scale. Its runs have the values of these tables.
$sql->('DROP TABLE usertable, bench_workload');
my $sweep = sub { return qq{SELECT bench.sweep('$_[0]', initialize => true, repeats => 1, transactions => 5, seed => 9)} };
my $of_set = sub {
	return $sql->("SELECT string_agg(concat_ws(' ', scale, variables ->> 'records', transactions), ', ' ORDER BY run_id) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets)");
};
$sql->('SET client_min_messages = warning; ' . $sweep->('{"scale": [2, 1], "scripts": "ycsb-c"}'));
is($of_set->(), '2 20000 5, 2 20000 5, 1 10000 5, 1 10000 5', 'scales of a workload');
is($sql->(q{SELECT scale, seed FROM bench_workload WHERE family = 'ycsb'}), '1|9', 'loaded with the seed of the set');
$sql->(q{DELETE FROM bench.runs WHERE run_id = (SELECT max(run_id) FROM bench.runs)});
is($sql->(q{SET client_min_messages = warning; SELECT made_runs FROM bench.resume((SELECT max(set_id) FROM bench.sets))}), 2, 'resumed');
is($of_set->(), '2 20000 5, 2 20000 5, 1 10000 5, 1 10000 5, 1 10000 5', 'with the same values');
# Each target of a point gets the tables of its scale.
my $place = sub { return sprintf 'host=%s port=%d user=%s dbname=%s', $node->host, $node->port, $sql->('SELECT current_user'), shift };
$sql->("CREATE DATABASE far_$_") foreach 1, 2;
my $targets = join ', ', map { '"' . $place->("far_$_") . '"' } 1, 2;
$sql->('SET client_min_messages = warning; ' . $sweep->(qq({"scale": [1, 2], "target": [$targets], "scripts": "ycsb-c", "mode": "libpq"})));
is($node->safe_psql("far_$_", 'SELECT count(*) FROM usertable'), 20000, "tables of target $_") foreach 1, 2;
$sql->("DROP DATABASE far_$_") foreach 1, 2;
$sql->('DROP TABLE bench_workload, item, warehouse, district, customer, history, new_order, orders, order_line, stock; DROP ROUTINE '
	  . $sql->("SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc WHERE proname LIKE 'tpcc%'"));
$sql->('SET client_min_messages = warning; ' . $sweep->('{"scale": 1, "scripts": ["tpcc", "tpcc-procedures"], "mode": "libpq"}'));
is($sql->(q{SELECT count(*), bool_and(abs((r.variables ->> 'nurand_last')::int - (w.constants -> 'nurand_last_load')::int) BETWEEN 65 AND 119)
		FROM bench_workload w, bench.runs r WHERE family = 'tpcc' AND r.set_id = (SELECT max(set_id) FROM bench.sets)}),
	'3|t', 'constants of the load');
is($sql->(q{SELECT count(DISTINCT variables) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets)}), 1, 'constants of runs are those of the set');
like($error->($sweep->("{$$_[0]}")), $$_[1], $$_[0])
  foreach ([ '"scale": 1, "scripts": ["ycsb-c", "tpcc"]', qr/cannot have scripts of the workloads "ycsb" and "tpcc"\nHINT: .*each workload/ ],
	[ '"scale": 1, "scripts": ["ycsb-c", "select-only"]', qr/of the workloads "ycsb" and "pgbench"/ ],
	[ '"scale": 2000000000, "scripts": "ycsb-c"', qr/invalid value for option "scale": 2000000000/ ]);

# What another role has forged is not used.
$sql->(<<'SQL');
SET client_min_messages = warning;
SELECT bench.initialize('ycsb', force => true);
CREATE ROLE forger;
CREATE SCHEMA hers AUTHORIZATION forger;
CREATE SCHEMA forged;
CREATE VIEW forged.bench_workload AS TABLE public.bench_workload;
GRANT SELECT ON bench_workload TO forger;
SET ROLE forger;
CREATE TABLE hers.bench_workload (LIKE public.bench_workload);
SQL
like($error->("SET search_path = hers; SELECT bench.initialize('ycsb')"), qr/refusing to replace "bench_workload": it belongs to another role/, 'a table of another role');
foreach my $call ("bench.run('ycsb-c', transactions => 1)", "bench.check_workload('ycsb')", "bench.workload_script('ycsb-c', 'read')")
{
	like($error->("SET search_path = forged, public; SELECT $call"), qr/refusing to use "bench_workload": it is no table/, "a view: $call");
}
$sql->('CREATE SCHEMA typed; CREATE TABLE typed.bench_workload AS TABLE public.bench_workload; ALTER TABLE typed.bench_workload ALTER scale TYPE numeric');
like($error->("SET search_path = typed, public; SELECT bench.check_workload('ycsb')"),
	qr/refusing to use "bench_workload": its columns are \(family text, scale numeric, .*\), not \(family text, scale bigint, /, 'a column of another type');
$sql->(q{UPDATE bench_workload SET constants = '{"x $(id)": 1, "scale": 7}' WHERE family = 'ycsb'});
unlike($sql->("SELECT defines FROM bench.workload_script('ycsb-c', 'read')"), qr/\$|scale=7/, 'constants that the workload does not have');
foreach my $values (q{variables = '{"records": "many"}'}, 'scale = 0', q{constants = 'null'})
{
	like($error->("BEGIN; UPDATE bench_workload SET $values WHERE family = 'ycsb'; SELECT bench.check_workload('ycsb')"),
		qr/its row of workload "ycsb" has invalid values/, $values);
}
like($error->("BEGIN; UPDATE bench_workload SET loaded_at = NULL; SELECT bench.check_workload('ycsb')"), qr/did not end/, 'check_workload of a load that did not end');

done_testing();
