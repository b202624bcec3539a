# Thresholds: bench.require fails a script of psql, sees what its caller sees, and no run
# that has not ended.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('require');
my $psql = [ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres') ];
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT bench.grant_to('$_')") foreach qw(tester other);

# A script of psql ends with an exit status of its own, and what follows is not executed.
sub pipeline
{
	my ($condition) = @_;
	my ($stdout, $stderr);
	my $script = <<"SQL";
\\set VERBOSITY verbose
SELECT run_id FROM bench.run('select-only', transactions => 10, vacuum => 'none') \\gset
SELECT * FROM bench.require(:run_id, 'transactions = 10', '$condition');
SELECT 'after it';
SQL
	IPC::Run::run([ @$psql, '-v', 'ON_ERROR_STOP=1' ], '<', \$script, '>', \$stdout, '2>', \$stderr);
	return ($? >> 8, $stdout, $stderr);
}

my ($status, $stdout, $stderr) = pipeline('failed = 0');
is($status, 0, 'conditions that hold');
is($stdout, "transactions = 10|10\nfailed = 0|0\nafter it\n", 'what was measured');
($status, $stdout, $stderr) = pipeline('tps < 1');
is($status, 3, 'a condition that does not hold ends the script');
is($stdout, '', 'nothing after it was executed');
like($stderr, qr/ERROR:  P0004: run \d+ does not meet 1 of 2 conditions\n/, 'one error');
like($stderr, qr/DETAIL:  transactions = 10: 10, met\ntps < 1: [\d.]+, not met\n/, 'with all conditions');

# PL/pgSQL does not take it for any other error.
($status, $stdout, $stderr) = $node->psql('postgres', <<'SQL');
DO $$ BEGIN PERFORM bench.require(1, 'tps < 1'); EXCEPTION WHEN OTHERS THEN NULL; END $$
SQL
like($stderr, qr/run 1 does not meet 1 of 1 conditions/, 'WHEN OTHERS does not catch it');

# Only those who see a run can tell what it has done.
$node->safe_psql('postgres', 'GRANT SELECT ON pgbench_accounts, pgbench_branches TO tester');
my $run_id = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none')",
	extra_params => [qw(-U tester)]);
is( $node->safe_psql('postgres', "SELECT * FROM bench.require($run_id, 'transactions = 5')", extra_params => [qw(-U tester)]),
	'transactions = 5|5', 'its owner');
is($node->safe_psql('postgres', "SELECT * FROM bench.require($run_id, 'transactions = 5')"),
	'transactions = 5|5', 'a superuser');
($status, $stdout, $stderr) =
  $node->psql('postgres', "SELECT bench.require($run_id, 'transactions = 5')", extra_params => [qw(-U other)]);
like($stderr, qr/run $run_id does not exist/, 'another role');

# Runs without a successful transaction have no latency, and no condition holds for it.
$node->safe_psql('postgres', "SELECT bench.define_script('failing', 'SELECT 1/0;')");
$node->psql('postgres',
	"SELECT bench.run('failing', transactions => 2, continue_on_error => true, label => 'failing')");
my $failing = latest_run($node, 'failing')->{run_id};
($status, $stdout, $stderr) = $node->psql('postgres',
	"SELECT bench.require($failing, 'p(99) < 1000', 'p(99) >= 0', 'latency_max_ms <> 1', 'other_failures = 2', 'failed = 2')");
like($stderr, qr/does not meet 3 of 5 conditions/, 'no latency');
like($stderr, qr/p\(99\) < 1000: unknown, not met/, 'which is said');

# Runs of pgio's workload have its figures, too.
$node->safe_psql('postgres', "SELECT bench.initialize_pgio(tables => 1, size => '1MB')");
is( $node->safe_psql('postgres',
		"SELECT m.* FROM bench.run_pgio(transactions => 10, work_unit => 8, update_pct => 0) r, bench.require(r.run_id, 'selects = 10', 'updates = 0', 'clients = 1') m"
	),
	"selects = 10|10\nupdates = 0|0\nclients = 1|1",
	'a run of pgio');

# The arms of a comparison, by names of any kind.
my $set_id = $node->safe_psql('postgres', <<'SQL');
SELECT max(set_id) FROM bench.compare('[{"name": "one"}, {"name": "a: \"b\""}]', scripts => 'select-only',
                                      repeats => 2, transactions => 20, vacuum => 'none')
SQL
is( $node->safe_psql('postgres', <<"SQL"), <<'CONDITIONS' =~ s/\n\z//r, 'conditions on arms');
SELECT condition FROM bench.require_set($set_id, 'tps > 0', '"a: ""b""": runs = 2', 'one: verdict = baseline', 'ratio > 0')
SQL
one: tps > 0
"a: ""b""": tps > 0
"a: ""b""": runs = 2
one: verdict = baseline
"a: ""b""": ratio > 0
CONDITIONS
my $sweep = $node->safe_psql('postgres',
	q(SELECT max(set_id) FROM bench.sweep('{"clients": [1, 2]}', scripts => 'select-only', repeats => 1, transactions => 5)));
is($node->safe_psql('postgres', qq(SELECT * FROM bench.require_set($sweep, 'tps > 0', '"clients=2": runs = 1') LIMIT 3 OFFSET 2)),
	'"clients=2": runs = 1|1', 'conditions on the points of a sweep');
foreach my $case (
	[ "$set_id, 'one: runs = 2', 'runs > 2'", qr/P0004: set $set_id does not meet 2 of 3 conditions/ ],
	[ "$set_id, 'one: ratio = 1'", qr/one: ratio = 1: unknown, not met/ ],
	[ "$set_id, 'two: runs = 2'", qr/42704: arm "two" does not exist\nHINT:  Arms are one, "a: ""b"""\./ ],
	[ "$set_id, 'p(99) < 5'", qr/22023: arms have no percentiles/ ],
	[ "0, 'runs = 2'", qr/42704: set 0 does not exist/ ])
{
	my ($arguments, $expected) = @$case;
	($status, $stdout, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.require_set($arguments)");
	like($stderr, $expected, $arguments);
}

# A run in progress is none to judge, nor one that was lost.
my $running = $node->safe_psql('postgres',
	"SELECT bench.start('select-only', duration => '600 s', label => 'running')");
wait_for_transactions($node, 'running');
($status, $stdout, $stderr) =
  $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.require($running, 'tps > 0')");
like($stderr, qr/55006: run $running is in progress/, 'a run in progress');
$node->safe_psql('postgres', "SELECT bench.cancel($running); SELECT bench.wait($running)");
is( $node->safe_psql('postgres', "SELECT * FROM bench.require($running, 'state = canceled')"),
	'state = canceled|canceled', 'when it has ended');
$node->safe_psql('postgres', "UPDATE bench.runs SET state = 'running', segment = 1 WHERE run_id = $running");
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT bench.require($running, 'tps > 0')");
like($stderr, qr/run $running was lost/, 'a lost run');

$node->stop;
done_testing();
