# The causes of changes that bench.changes names: each is switched between the nights of a label, while three things
# change that matter less. How fast the nights are is set afterwards, so that a busy machine changes nothing.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $count = $ENV{COUNT} // 1;
my $node = new_bench_node('causes', "fsync = on\nautovacuum = off\nwork_mem = '16MB'\nrandom_page_cost = 1.1\nsynchronous_commit = off");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE items (id int PRIMARY KEY, k int NOT NULL, v text NOT NULL);
INSERT INTO items SELECT i, i % 1000, repeat('x', 50) || i FROM generate_series(1, 20000) i;
CREATE INDEX items_k ON items (k);
VACUUM ANALYZE items;
SQL

sub set
{
	my ($name, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $name = '$value'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('$name') = '$value'") or die "$name is not $value";
}

my $decoys = 0;

sub decoys
{
	++$decoys;
	set('log_line_prefix', "%m $decoys ");
	$node->safe_psql('postgres', "CREATE INDEX unused_$decoys ON items (length(v)) WHERE id < $decoys");
	$node->safe_psql('postgres', "INSERT INTO items SELECT i, 5000 + $decoys, repeat('x', 50) || i
		FROM (SELECT max(id) AS last, count(*) AS rows FROM items) m, generate_series(last + 1, last + rows / 20) i");
}

# Each has a name, a script, what switches it, and back, and the cause that is expected.
my @causes = (
	[ 'synchronous_commit', 'UPDATE items SET k = k WHERE id = 1', sub { set('synchronous_commit', 'on') }, sub { set('synchronous_commit', 'off') },
		qr/^synchronous_commit changed from off to on/ ],
	[ 'a dropped index', 'SELECT sum(length(v)) FROM items WHERE k = 7', sub { $node->safe_psql('postgres', 'DROP INDEX items_k') },
		sub { $node->safe_psql('postgres', 'CREATE INDEX items_k ON items (k)') },
		qr/^index public\.items_k is gone \(sequential scans of public\.items per transaction: 0\.00 before, 1\.00 after\)$/ ],
	[ 'work_mem', 'SELECT count(*) FROM (SELECT md5(v) FROM items ORDER BY 1 OFFSET 0) s', sub { set('work_mem', '64kB') }, sub { set('work_mem', '16MB') },
		qr/^work_mem changed from 16MB to 64kB/ ],
	[ 'random_page_cost', 'SELECT sum(length(v)) FROM items WHERE k = 7', sub { set('random_page_cost', '10000') }, sub { set('random_page_cost', '1.1') },
		qr/^random_page_cost changed from 1\.1 to 10000 \(sequential scans of public\.items / ],
	[ 'none but what matters less', 'SELECT sum(length(v)) FROM items WHERE k = 7', sub { }, sub { }, qr/^unknown$/ ]);
my @right = (0) x @causes;

foreach my $repetition (1 .. $count)
{
	foreach my $i (0 .. $#causes)
	{
		my (undef, $script, $switch, $back, $cause) = @{ $causes[$i] };
		my $label = "cause $i of $repetition";
		my $nights = sub {
			$node->safe_psql('postgres', "SELECT bench.run(sql => '$script', duration => '200 ms', vacuum => 'none', label => '$label')") foreach 1 .. 6;
		};
		$nights->();
		$switch->();
		decoys();
		$nights->();
		$back->();
		$node->safe_psql('postgres', "UPDATE bench.runs r SET tps = (CASE WHEN n.night <= 6 THEN 1000 ELSE 600 END) + n.night % 3, disturbances = '{}'
			FROM (SELECT run_id, row_number() OVER (ORDER BY run_id) AS night FROM bench.runs WHERE label = '$label') n WHERE n.run_id = r.run_id");
		my $found = $node->safe_psql('postgres', "SELECT cause FROM bench.changes('$label', '{tps}')");
		my $is_right = $found =~ $cause;
		$right[$i] += $is_right;
		diag("$label: $found\n", $node->safe_psql('postgres', "SELECT jsonb_pretty(differences) FROM bench.changes('$label', '{tps}')")) unless $is_right;
	}
}
cmp_ok($right[$_], '>=', 0.9 * $count, "$causes[$_][0]: $right[$_] of $count right") foreach 0 .. $#causes;

$node->stop;
done_testing();
