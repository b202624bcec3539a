# bench.pgbench returns pgbench's report for the same command line, except for the
# figures, and pgbench's messages for wrong command lines; it reads files only with
# the privilege to do so.
use strict;
use warnings;

use Pgbench;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('pgbench', "fsync = off\nmax_worker_processes = 24\n");
my $dir = PostgreSQL::Test::Utils::tempdir;
connect_pgbench($node);

$node->safe_psql('postgres', q{SELECT bench.define_script('own', 'SELECT 1;')});
append_to_file("$dir/sleep.sql", "\\set x random(1, 5)\n\\sleep 1 ms\nSELECT :x\n  AS x;\n");
append_to_file("$dir/mix.sql", "\\if :client_id = 0\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\n");
append_to_file("$dir/a\@b.sql", "SELECT 3;\n");

# Initialization: nothing to report, and tables like pgbench's.
my $tables = q{
	SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, c.reltuples,
	       pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
	       ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
	              WHERE k.conrelid = c.oid ORDER BY 1)
	FROM pg_class c WHERE relname LIKE 'pgbench%' AND relnamespace = 'public'::regnamespace
	ORDER BY 1};
foreach my $arguments ('-i', '-i -s 2', '-i -I dtGvpf -q', '-i --partitions=3 --foreign-keys',
	'-i --partitions=2 --partition-method=hash -F 80',
	'-i --unlogged-tables -n', '--initialize --scale=2 --fillfactor=90')
{
	pgbench($arguments);
	my $expected = $node->safe_psql('postgres', $tables);
	my ($stdout, $told) = bench_pgbench($arguments);
	is($stdout, '', "$arguments: no report");
	my ($tuples) = $arguments =~ /G/ ? () : $told =~ /NOTICE:  (\d+) of \g1 tuples \(100%\)/;
	is($tuples // 0, $arguments =~ /G/ ? 0 : $node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'),
		"$arguments: tuples are counted as pgbench does");
	like($told, qr/NOTICE:  creating tables\.\.\..*NOTICE:  done in [\d.]+ s \(.*\)\.\n?\z/s,
		"$arguments: steps");
	is($node->safe_psql('postgres', $tables), $expected, "$arguments: tables");
}
bench_pgbench('-i -s 2');

# Reports of runs whose counts are certain.
foreach my $arguments (
	'',
	'-S',
	'-N -t 5',
	'-n -c 3 -t 5',
	'-S -N -b tpcb@3 -t 100 --random-seed=42',
	'-c 4 -j 2 -t 10 -r -M prepared',
	'--builtin=select --jobs=2 --client=4 --protocol=extended --transactions=7',
	'-S -C -t 3',
	'-S -t 10 -P 5',
	'-S -t 10 -L 1000000',
	'-S -t 20 -R 1000 --random-seed=1',
	'-t 3 --max-tries=10 --failures-detailed -r',
	"-n -f $dir/sleep.sql -t 4 -r",
	"-n -f $dir/sleep.sql\@2 -f $dir/mix.sql\@5 -S -t 30 --random-seed=7 -c 2 -r -s 5",
	"-n -t 2 -D scale=7 -D x=y -f $dir/a\@b.sql\@1",
	'-v -t 2 -b simple-update',
	'--no-vacuum --select-only --protocol=prepared --client=12 --jobs=12 --transactions=5',
	"-n -M extended -f $dir/mix.sql -t 3 -c 2",
	'-b se -b si@2 -t 20 --random-seed 3 --report-per-command',
	'postgres -t 1 -S',
	"-t 2 'postgres' \"--select-only\"",)
{
	my ($expected, $vacuum) = pgbench($arguments);
	my ($report, $told) = bench_pgbench($arguments);
	is(without_figures($report), without_figures($expected), "report: $arguments");
	is_deeply([ $told =~ /NOTICE:  (starting vacuum.*)/g ], [ $vacuum =~ /^(starting vacuum.*)/mg ], "vacuum: $arguments");
}

# Threads share as many processes as there are processors.
{
	my $arguments = '-S -n -c 40 -j 30 -t 2 -b simple@2 --random-seed=9';
	my ($expected) = pgbench($arguments);
	my ($report, $told) = bench_pgbench($arguments);
	is(without_figures($report), without_figures($expected), "report: $arguments");
	is( $node->safe_psql('postgres', 'SELECT jobs, workers = least(processors, 30)
		FROM bench.runs ORDER BY run_id DESC LIMIT 1'),
		'30|t', 'threads share processes')
	  if $told !~ /NOTICE:  30 jobs share \d+ of the \d+ background workers/;
	like($told, qr/NOTICE:  setting random seed to 9$/m, 'random seed');
}

# Reports of runs that chance or time decides about.
foreach my $arguments (
	'-c 4 -j 2 -T 2 -P 1 -r -M prepared',
	'-S -T 1 -R 300 -L 20 -c 2',
	'-T 1 -c 3 --max-tries=5 -b tpcb@1 -b select@9 -R 200 -L 100 --failures-detailed -r',
	'-T 2 -P 1 --progress-timestamp -N --vacuum-all --rate=100',)
{
	my ($expected, $progress, $report, $told);
	my $shape = sub {
		return ( map { s/[\d.]+/#/gr } $_[0] =~ /(progress: .*)/ )[0] // '';
	};
	# One that stands still for a moment may have no transaction of a script, or no line of progress.
	in_time_ok("the same: $arguments", sub {
		my ($times) = @_;
		my $longer = $arguments =~ s/-T (\d+)/'-T ' . $1 * $times/er;
		($expected, $progress) = pgbench($longer);
		($report, $told) = bench_pgbench($longer);
		return without_counts($report) eq without_counts($expected) && $shape->($told) eq $shape->($progress);
	});
	is(without_counts($report), without_counts($expected), "report: $arguments");
	is($shape->($told), $shape->($progress), "progress: $arguments");
}

# The same transactions.
my $history = q{SELECT string_agg(concat_ws(' ', tid, bid, aid, delta), ',' ORDER BY ctid)
	FROM pgbench_history};
pgbench('-t 20 --random-seed=42');
my $expected = $node->safe_psql('postgres', $history);
foreach my $mode (qw(libpq spi))
{
	my ($report) = bench_pgbench("-t 20 --random-seed=42 --mode=$mode");
	is($node->safe_psql('postgres', $history), $expected, "$mode: the same transactions");
	if ($mode eq 'spi')
	{
		like($report, qr/^execution mode: spi .*^tps = .*\(in-server/ms, 'spi: figures have a label');
	}
	else
	{
		unlike($report, qr/execution mode/, 'libpq: figures need none');
	}
}

# What is printed instead of a run.
foreach my $arguments ('-b list', '--show-script=tpcb-like', '--show-script se')
{
	my (undef, $expected) = pgbench($arguments);
	my ($report) = bench_pgbench($arguments);
	is($report =~ s/\n+\z//r, $expected =~ s/\n+\z//r, $arguments);
}
like((bench_pgbench('--version'))[0],
	qr/^\Q@{[ (pgbench('--version'))[0] =~ s{\n}{}r ]}\E \(pg_selfbench \d+\.\d+\.\d+\)$/m, '--version');
my ($help) = pgbench('--help');
my ($our_help) = bench_pgbench('--help');
foreach my $option ($help =~ /(?<=\s)(--[a-z-]+)/g)
{
	like($our_help, qr/\Q$option\E\b/, "help on $option");
}
foreach my $section ($help =~ /^([A-Z].*:)$/mg)
{
	like($our_help, qr/^\Q$section\E$/m, "help has a section \"$section\"");
}

# The log.
bench_pgbench("-S -t 20 -l --sampling-rate=0.3 --random-seed=7 --log-prefix=$dir/log");
my ($log) = glob "$dir/log.*";
is(join(' ', map { (split)[1] } split /\n/, slurp_file($log)), '1 2 3 8 11 13 16 18 19 20',
	'log of a sample');
bench_pgbench("-S -T 2 -R 50 -l --aggregate-interval=1 --log-prefix=$dir/sums");
($log) = glob "$dir/sums.*";
like(slurp_file($log), qr/\A(\d{10} \d+( \d+){13}\n)+\z/, 'log of intervals');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM bench.transactions WHERE run_id = (SELECT max(run_id) FROM bench.runs)'),
	'0', 'no single transactions beside it');
my (undef, $told) = bench_pgbench('-S -t 2 -l');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM bench.transactions WHERE run_id = (SELECT max(run_id) FROM bench.runs)'),
	'2', 'log without files');

# What goes on, if asked for.
(undef, $expected) = pgbench("-n --debug -M prepared -t 1 --random-seed=5 -f $dir/sleep.sql");
(undef, $told) = bench_pgbench("-n --debug -M prepared -t 1 --random-seed=5 -f $dir/sleep.sql");
is_deeply(
	[ $told =~ /NOTICE:  (pghost: .*|client 0 (?:executing|preparing|sending).*)/g ],
	[ $expected =~ /pgbench: (pghost: .*|client 0 (?:executing|preparing|sending).*)/g ],
	'steps of the client');

# Stored scripts are called by name; reading files requires the privilege.
my $owner = $node->safe_psql('postgres', q(SELECT owner FROM bench.scripts WHERE name = 'own'));
like((bench_pgbench('-n -f own -t 2'))[0], qr/^transaction type: own$/m, 'stored script');
$node->safe_psql('postgres', q{
	CREATE ROLE tester LOGIN;
	SELECT bench.grant_to('tester');
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO tester;});
foreach (
	[ "--mode=spi -n -f $dir/mix.sql", '42501: permission denied for script files' ],
	[ '-S -n', '42501: permission denied for mode "libpq"' ],
	[ '--mode=spi -n -f own -t 2', '58P01: could not open file "own"' ],
	[ "--mode=spi -n -f $owner.own -t 2", undef ],
	[ '--mode=spi -n -S -t 2', undef ],)
{
	my ($arguments, $error) = @$_;
	my (undef, $stdout, $stderr) = $node->psql(
		'postgres', "SELECT * FROM bench.pgbench('$arguments')",
		extra_params => [ '-U', 'tester', '-v', 'VERBOSITY=verbose' ]);
	if (defined $error)
	{
		like($stderr, qr/\Q$error\E/, "without rights: $arguments");
	}
	else
	{
		like($stdout, qr/^tps = /m, "without rights: $arguments");
	}
}

# Wrong command lines: pgbench's message, and nothing has run.
my $runs = $node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs');
append_to_file("$dir/wrong.sql", "SELECT 1;\n\\set x 1 +\n");
append_to_file("$dir/empty.sql", "-- nothing\n");
append_to_file("$dir/endless.sql", "\\if 1\nSELECT 1;\n");
foreach my $arguments (
	'-c 0', '-t x', '-T 1 -t 1', '-i -S', '-F 50', '-M wrong', '-D x', '-D 1x=2', '-b nosuch',
	'-b s', '-R 0', '-L -1', '--max-tries=0 -t 1', '--sampling-rate=2 -l', '--sampling-rate=0.5',
	'-l --aggregate-interval=3 -T 10', '--partition-method=hash -i', '-i -I x', '-S@0',
	'-b se@0', '--random-seed=x', '--nosuch', '-S a b', '--progress-timestamp', '-c', '-f', '--tran',
	'--pro 1', "-f $dir/wrong.sql", "-f $dir/empty.sql", "-f $dir/endless.sql", '-f a@b')
{
	my (undef, $expected) = pgbench($arguments);
	my ($message) = $expected =~ /^pgbench: (?:error: )?(.*)$/m;
	# There it says where the file is wrong; here the error has a position of its own.
	$message =~ s/^\Q$dir\E\S+?:\d+: //;
	my ($report, $told) = bench_pgbench($arguments);
	is($report, '', "no report: $arguments");
	like($told, qr/\Q$message\E/, "message: $arguments");
}
like((bench_pgbench('-S "'))[1], qr/ERROR:  .*quot/, 'unbalanced quotes');
like((bench_pgbench("-f $dir/nosuch.sql"))[1],
	qr/ERROR:  could not open file "\Q$dir\E\/nosuch.sql": No such file or directory/,
	'no such file');
like((bench_pgbench('-f -'))[1], qr/ERROR:  .*standard input/, 'no standard input');
like((bench_pgbench('--mode=spi -h elsewhere -S'))[1],
	qr/ERROR:  .*need mode "libpq"/, 'no target in mode spi');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), $runs, 'nothing has run');

nothing_left_ok($node, 'at the end');

done_testing();
