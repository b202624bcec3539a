# One client of one seed leaves the same rows in both modes, for each mix, and those of TPC-C, whether its
# statements are sent one by one or by procedures; so does the pgbench program where it has the functions.
#
# SEED="9" seeds; TRANSACTIONS=300 of each run
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my @seeds        = split /[ ,]+/, $ENV{SEED} // '9';
my $transactions = $ENV{TRANSACTIONS}    // 300;

my $node = new_bench_node('same_rows', "fsync = off\nautovacuum = off\n");
my $sql = sub { $node->safe_psql('postgres', "SET client_min_messages = warning; $_[0]") };

# Tables as they are loaded, which each run begins with.
my %tables = map { /(\w+)\|(.*)/ ? ($1 => [ split / /, $2 ]) : () } split /\n/,
  $sql->("SELECT DISTINCT family, array_to_string(tables, ' ') FROM bench.workloads WHERE family NOT IN ('pgbench', 'pgio')");
# Their columns but for times, and the statement that sets sequences back.
my %columns;
my $rewind = '';

sub load
{
	my ($family) = @_;
	$sql->("SELECT bench.initialize('$family', seed => 5)");
	foreach my $table (@{ $tables{$family} })
	{
		$sql->("CREATE TABLE loaded_$table AS TABLE $table");
		$columns{$table} = $sql->(<<"SQL");
SELECT string_agg(CASE WHEN atttypid = 'timestamp'::regtype THEN attname || ' IS NULL' ELSE attname END, ', ' ORDER BY attnum)
  FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0
SQL
	}
	$rewind = $sql->("SELECT concat('SELECT ', string_agg(format('setval(%L, %s)', sequencename, last_value), ', ')) FROM pg_sequences WHERE schemaname = 'public'");
	return;
}

# A sum over the rows that a run leaves; the tables are again what they were.
sub rows_after
{
	my ($family, $run) = @_;
	$run->();
	my @tables = @{ $tables{$family} };
	my @sums   = map { "SELECT '$_', count(*), sum(hashtextextended(row($columns{$_})::text, 0)) FROM $_" } @tables;
	my $rows   = $sql->(join(' UNION ALL ', @sums) . ' ORDER BY 1');
	$sql->(join '; ', 'BEGIN', (map { "TRUNCATE $_; INSERT INTO $_ TABLE loaded_$_" } @tables), $rewind, 'COMMIT');
	return $rows;
}

sub by_run
{
	my ($arguments) = @_;
	return sub { $sql->("SELECT bench.run($arguments, transactions => $transactions)") };
}

sub by_pgbench
{
	my ($mix, $seed) = @_;
	return sub {
		my ($scripts, $defines);
		foreach my $listed (split /,/, $sql->("SELECT array_to_string(scripts, ',') FROM bench.workloads WHERE mix = '$mix'"))
		{
			my ($script, $weight) = split /@/, $listed;
			my $file = $node->basedir . "/$mix-$script.sql";
			open my $out, '>', $file or die;
			print $out $sql->("SELECT body FROM bench.workload_script('$mix', '$script', seed => $seed)");
			close $out;
			push @$scripts, '-f', "$file\@$weight";
			$defines = $sql->("SELECT defines FROM bench.workload_script('$mix', '$script', seed => $seed)");
		}
		$node->command_ok([ 'pgbench', '-n', '-t', $transactions, "--random-seed=$seed", '-M', 'prepared',
				'--max-tries=10', (split ' ', $defines), @$scripts, 'postgres' ],
			"the pgbench program runs $mix");
	};
}

foreach my $family (sort keys %tables)
{
	load($family);
	my $loaded = rows_after($family, sub { });
	foreach my $seed (@seeds)
	{
		my %rows;
		foreach my $mix (split /\n/, $sql->("SELECT mix FROM bench.workloads WHERE family = '$family' ORDER BY 1"))
		{
			my $rows = rows_after($family, by_run("'$mix', seed => $seed"));
			is(rows_after($family, by_run("'$mix', seed => $seed, mode => 'libpq'")), $rows, "$mix, seed $seed: modes");
			is(rows_after($family, by_run("'$mix', seed => $seed, protocol => 'simple', mode => 'libpq'")), $rows, "$mix, seed $seed: protocols")
			  if $seed == $seeds[0];
			is(rows_after($family, by_pgbench($mix, $seed)), $rows, "$mix, seed $seed: the pgbench program") if $mix =~ /^tpcc/;
			$mix =~ /only|select|-c$/ && $mix !~ /write/ ? is($rows, $loaded, "$mix reads") : isnt($rows, $loaded, "$mix writes");
			$rows{$mix} = $rows;
		}
		is($rows{'tpcc-procedures'}, $rows{tpcc}, "seed $seed: statements and procedures") if $family eq 'tpcc';
	}
}
done_testing();
