# Runs on a server under valgrind: in the extension and in what it calls, no use of freed or unwritten memory of malloc. Of
# palloc it sees whole blocks only. Part of make soak, not of make test.
#
# RUNS=10  runs, of both modes in turn
use strict;
use warnings;

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

plan skip_all => 'valgrind is not installed' if !grep { -x "$_/valgrind" } split /:/, $ENV{PATH};
my $runs = $ENV{RUNS} // 10;
$PostgreSQL::Test::Utils::timeout_default *= 4;

# Processes are slow to answer; autovacuum would only take time.
my $node = new_bench_node('valgrind', "autovacuum = off\nlog_statement = none\nauthentication_timeout = '5 min'\n");
$node->stop;
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
my $logs = $PostgreSQL::Test::Utils::log_path . '/valgrind';
mkdir $logs;
my $suppressions = File::Spec->rel2abs("test/valgrind.supp");
my $wrapper = PostgreSQL::Test::Utils::tempdir() . '/postgres';
append_to_file($wrapper, <<"SH");
#!/bin/sh
exec valgrind --quiet --vgdb=no --leak-check=no --num-callers=50 --error-limit=no --gen-suppressions=all --suppressions=$suppressions \\
  --log-file=$logs/%p $bindir/postgres "\$@"
SH
chmod 0700, $wrapper;
system_or_bail('pg_ctl', '--wait', '-p', $wrapper, '--pgdata' => $node->data_dir, '--log' => $node->logfile, 'start');
$node->_update_pid(1);

sub sql { return $node->safe_psql('postgres', "SET client_min_messages = warning; $_[0]") }
is(sql('SELECT count(*) FROM bench.initialize(scale => 1)'), 5, 'tables');
sql("SELECT bench.define_script('fails', E'\\\\set n random(0, 1)\nBEGIN;\nSELECT 1 / :n;\nCOMMIT;')");
foreach my $number (1 .. $runs)
{
	my ($mode, $script) = (qw(spi libpq)[ $number % 2 ], $number % 5 ? 'tpcb-like' : 'fails');
	is(sql("SELECT state FROM bench.run('$script', mode => '$mode', clients => 2, transactions => 100, vacuum => 'none', label => '$number',
	          per_statement => true, log => true, profile => true, continue_on_error => true, wait_sample_rate => 50, aggregate_interval => 0.1)"),
		'finished', "run $number, $mode, $script");
}
like(sql("SELECT bench.report(); SELECT bench.report(format => 'html')"), qr/number of transactions.*<svg/s, 'reports');
sql("SELECT * FROM bench.compare('[{}, {\"mode\": \"libpq\"}]', repeats => 2, transactions => 20)");
$node->stop;

my ($processes, @errors) = (0);
foreach my $log (glob "$logs/*")
{
	$processes++;
	push @errors, grep { /pg_selfbench\.so|\.rs:\d/ } split /^==\d+== \n/m, slurp_file($log);
}
cmp_ok($processes, '>', 4 * $runs, "valgrind looked at $processes processes");
is(scalar @errors, 0, 'valgrind finds nothing') or diag @errors[ 0 .. ($#errors < 20 ? $#errors : 20) ];
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
done_testing();
