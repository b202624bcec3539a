# Runs of another database, and of the same one, through dblink.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(dblink));

my $node = new_bench_node('dblink');
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far',      'CREATE EXTENSION dblink');
my $connection = $node->connstr('postgres');
$connection =~ s/'/''/g;

my $run_id = $node->safe_psql('far',
	"SELECT * FROM dblink('$connection', \$\$SELECT bench.start(clients => 2, transactions => 50, label => 'far')\$\$) AS t (run_id bigint)"
);
like($run_id, qr/^\d+$/, 'bench.start returns a run id');
is( $node->safe_psql('far',
		"SELECT * FROM dblink('$connection', 'SELECT run_id, state, mode, transactions FROM bench.wait($run_id)') AS t (run_id bigint, state text, mode text, transactions bigint)"
	),
	"$run_id|finished|spi|100",
	'bench.wait returns its row');
invariants_ok($node, 100, 'dblink');
figures_ok($node, $run_id, 'dblink');

# In the background of the calling session.
is( $node->safe_psql('far', <<"SQL"),
SELECT dblink_connect('c', '$connection');
SELECT dblink_send_query('c', 'SELECT state, transactions FROM bench.run(transactions => 20, vacuum => ''none'')');
SELECT * FROM dblink_get_result('c') AS t (state text, transactions bigint);
SQL
	"OK\n1\nfinished|20",
	'bench.run in the background');
invariants_ok($node, 120, 'in the background');

# A run whose script database drops its session goes on.
$run_id = $node->safe_psql('far', <<"SQL");
SELECT * FROM dblink('$connection', \$\$SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'goes on')\$\$) AS t (run_id bigint)
SQL
wait_for_transactions($node, 'goes on');
is($node->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $run_id"),
	'running', 'bench.start goes on without its session');
is($node->safe_psql('postgres', "SELECT bench.cancel($run_id)"), 't', 'until it is canceled');
is($node->safe_psql('postgres', "SELECT state FROM bench.wait($run_id)"), 'canceled', 'its state');
nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
