# The cases that the developers of pgbench found worth testing: bench.pgbench, in
# both modes, gives the report that pgbench gives, tells the same values, statements
# and retries, and fails with the same words.
use strict;
use warnings;

use Pgbench;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('cases', <<'CONF');
fsync = off
max_worker_processes = 24
deadlock_timeout = 20ms
autovacuum = off
CONF
my $dir = PostgreSQL::Test::Utils::tempdir;
connect_pgbench($node);
delete $ENV{PGBENCH_RANDOM_SEED};

my $scripts = 0;

# Writes scripts, whose names have numbers and may end with a weight, and returns
# the options that name them.
sub files
{
	my (@bodies) = @_;

	my $options = '';
	while (my ($weight, $body) = splice @bodies, 0, 2)
	{
		my $file = "$dir/" . ++$scripts . '.sql';
		append_to_file($file, $body);
		$options .= " -f $file" . ($weight == 1 ? '' : "\@$weight");
	}
	return $options;
}

# Messages about single transactions and commands, of pgbench or of bench.pgbench.
# The order among clients may differ.
sub steps
{
	my ($told) = @_;

	my @debug = $told =~ /^(?:\S+ NOTICE:  )?(debug\(.*)/mg;
	my @steps =
	  $told =~ /(?:NOTICE:  |pgbench: )(client \d (?:executing|preparing|sending|receiving|got|repeats|ends).*)/g;
	s/[\d.]+%/#%/ foreach @steps;
	@steps = sort { substr($a, 0, 8) cmp substr($b, 0, 8) } @steps;
	# pgbench receives in as many pieces as the network has them.
	my $last = '';
	return [ @debug, grep { my $repeated = $_ eq $last && /receiving/; $last = $_; !$repeated } @steps ];
}

# The numbers in lines of a report that match, in their order.
sub numbers
{
	my ($report, @lines) = @_;

	return map { $report =~ /^.*$_/m ? $1 : undef } @lines;
}

# Carries out a command line with scripts by pgbench and by bench.pgbench in some
# modes.  Options:
#   modes   both by default
#   before  SQL to start each of them with
#   other   SQL whose result has to be the same after each of them
# Checks that they agree, and returns what pgbench printed.
sub agree
{
	my ($name, $arguments, %with) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $start = sub { $node->safe_psql('postgres', $with{before}) if defined $with{before} };
	my $other = sub { return defined $with{other} ? $node->safe_psql('postgres', $with{other}) : '' };

	$start->();
	my ($report, $told, $status) = pgbench($arguments);
	my $result = $other->();
	# A statement that cannot be prepared is reported once, with its cause; the message for
	# COPY differs, and the server's notices are not compared.
	my @words = grep {
		!/^(?:pgbench: |starting vacuum|end\.$|Run was aborted|debug|NOTICE|COPY|LINE | *\^$)/
		  && !/prepared statement ".*" does not exist/
	} map { s/^pgbench: (?:error|warning|hint): //r } split /\n/, $told;

	foreach my $mode (split / /, $with{modes} // 'libpq spi')
	{
		$start->();
		my ($ours, $said, $our_status) = bench_pgbench("$arguments --mode=$mode");
		my $expected = $report;
		if ($mode eq 'spi')
		{
			# Each client has a worker of its own, and connects to nothing.
			$ours =~ s/^execution mode: .*\n//m;
			$ours =~ s/^worker start time/initial connection time/m;
			$ours =~ s/^(tps = .*\()in-server, without worker start/$1without initial connection/m;
			s/^number of threads: .*\n//m foreach $ours, $expected;
		}
		# Errors of mode spi have no context.
		my @missing = grep { index($said, $_) < 0 && !($mode eq 'spi' && /^CONTEXT: /) } @words;
		is_deeply(\@missing, [], "$name, $mode: words") or diag $said =~ s/.*NOTICE:  client.*\n//gr;
		is(without_figures($ours), without_figures($expected), "$name, $mode: report");
		is($our_status, $status, "$name, $mode: exit status");
		is_deeply(steps($said), steps($told), "$name, $mode: steps");
		is($other->(), $result, "$name, $mode: result") if defined $with{other};
	}
	return ($report, $told, $status);
}

#
# Before the tables are there.
#
my (undef, $missing) = bench_pgbench('-S -t 1');
like($missing, qr/ERROR:  .*\n(?:.*\n)*HINT:  Perhaps you need to do initialization \("pgbench -i"\) in database "postgres"/,
	'run without tables');
(undef, undef, $missing) = $node->psql('postgres', q{SELECT bench.pgbench('-S -n -t 1 template1')});
like($missing, qr/HINT:  Perhaps you need to do initialization \("pgbench -i"\) in database "template1"\.?$/m, 'missing tables of another database');

#
# Initialization with all options, and steps that are asked for in more than one way.
#
mkdir "$dir/space" or die $!;
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$dir/space'");
my $tables = q{
	SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, c.reltuples, t.spcname,
	       pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
	       ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
	              WHERE k.conrelid = c.oid ORDER BY 1)
	FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
	WHERE relname LIKE 'pgbench%' AND relnamespace = 'public'::regnamespace
	ORDER BY 1};
foreach my $arguments (
	'-i',
	'--initialize --init-steps=dtpvg --scale=1 --unlogged-tables --fillfactor=98 --foreign-keys'
	  . ' --quiet --tablespace=elsewhere --index-tablespace=elsewhere --partitions=2'
	  . ' --partition-method=hash',
	'--initialize --init-steps=dtpvGvv --no-vacuum --foreign-keys --unlogged-tables --partitions=3',
	'-i -I dtGvp -q')
{
	my (undef, $theirs) = pgbench($arguments);
	my $expected = $node->safe_psql('postgres', $tables);
	my ($report, $said) = bench_pgbench($arguments);
	# Tuples are told about as time goes by.
	my $steps = sub {
		return [
			map { s/[\d.]+ s/# s/gr } grep { !/ tuples |does not exist, skipping|^tables to be dropped: / }
			  map { s/^.*NOTICE:  //r } split /\n/, $_[0]
		];
	};
	is($report, '', "$arguments: no report");
	is_deeply($steps->($said), $steps->($theirs), "$arguments: steps");
	is($node->safe_psql('postgres', $tables), $expected, "$arguments: tables");
}

#
# Built-in scripts.
#
agree('tpcb-like', '--transactions=5 -Dfoo=bla --client=2 --protocol=simple --builtin=t --connect'
	  . ' -n -v -n', modes => 'libpq');
agree('simple update', '--transactions=20 --client=5 -M extended --builtin=si -C --no-vacuum -s 1',
	modes => 'libpq');
agree('simple update', '--transactions=20 --client=5 -M extended --builtin=si --no-vacuum -s 1');
agree('select only', '-t 30 -c 7 -M prepared -b se --debug --random-seed=3');
agree(
	'many options', '-n -c 2 -j 2 -t 20 -M prepared -r -P 1000 -L 1000000 -R 100000 --max-tries=3'
	  . ' --failures-detailed --verbose-errors --random-seed=9 -D a=1 -D b=x -b se@3 -b si@1');

#
# Scripts of one's own.
#
agree('weights', '-t 100 -M prepared -n -j 2 --random-seed=11' . files(
	1 => "-- a comment first\n\\set aid random(1, :scale * 100000)\n"
	  . "SELECT abalance::int AS balance\n FROM pgbench_accounts\n WHERE aid = :aid;\n",
	2 => "begin;\n\\set foo 1\nselect :foo::int + :scale::int * :client_id::int as bla;\ncommit;\n"));
foreach my $protocol (qw(simple extended prepared))
{
	agree("blocks, $protocol", "-n -t 10 -c 2 -M $protocol --random-seed=12" . files(
		1 => "\\set aid random(1, 100000 * :scale)\nBEGIN;\n"
		  . "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nCOMMIT;\n"));
}

# Values of all types and all kinds of functions: what is evaluated and what is not.
agree('expressions', '-n -t 2 --random-seed=5432 -Dd=-10.1 -Db=false -Di=+3 -Dn=null -Dt=t -Df=of'
	  . files(1 => <<'EOS'));
\set u debug(random(10, 19))
\set e debug(random_exponential(100, 199, 10.0))
\set g debug(random_gaussian(1000, 1999, 10.0))
\set z debug(random_zipfian(1, 9, 1.3))
\set x debug(abs(-4) + greatest(5, 4, 3, 2) * least(-5, -4) - int(7.3))
\set x debug(17 / (4|1) + (4 + (7 >> 2)) - ~3 # (9 & 13) << 2)
\set x debug(- (7 * 5 - (-(~ 2) + -(~ 1))) / -1 + 5 % -2)
\set y debug(:x + :scale + :i)
\set y debug(sqrt(+1.5 * 6.0) * abs(-0.8E1) / double(2) * :d)
\set y debug(pi() * 4.9 - Ln(Exp(1.0)) + greatest(4, 2, -1.17))
\set y debug(least(-5.18, .0E0, 1.0/0))
\set p debug(pow(-3, 3))
\set p debug(pow(2.0, 10) + pow(0, 0) + pow(0.0, 0.0))
\set p debug(power(-2.0, -3.0) + pow(-2, -3))
\set p debug(pow(9223372036854775807, 2))
\set l debug(1.0 = 0.0 and 1.0 != 0.0)
\set l debug(0 = 1 Or 1.0 = 1 and not 2 <> 3)
\set l debug((1 > 0) and (1 >= 0) and (0.0 < 1) and (0 <= 1.0) and not (false and true) and not :f)
\set c debug(CASE \
        WHEN 1.0 < 0 THEN 1 \
        WHEN :t and not :b THEN 2 \
        ELSE 3 \
    END)
\set c debug(case when false then 1 end)
\set c debug(case when 0.0 then 1 when 2 then 2.5 end)
\set n debug(NULL + NULL * exp(NULL))
\set m debug(:n)
\set m debug(:n is null and :d is not null and :d notnull and not :n is true)
\set m debug(:n isnull and :n is not false)
\set h debug(hash(10, 5432))
\set h debug(hash_fnv1a(10, 5432) = hash_murmur2(10, 5432))
\set h debug(hash(10) - hash(10, :default_seed))
\set zero 0
\set lazy debug(case when :zero = 0 or 1 / :zero < 0 then -1 else 1 / :zero end)
\set lazy debug(:zero > 0 and 1 / :zero < 0)
select :n, :l, :x, :y;
\set min debug(-9223372036854775808)
\set max debug(-(:min + 1))
\set q debug(:scale * 1000 + :client_id)
\set q debug(:random_seed)
\set q debug(permute(0, 4) + permute(1, 4) + permute(2, 4) + permute(3, 4))
\set q debug(permute(:u, :max - 10, 5432) - permute(-1, 16))
EOS
agree('branches', '-n -t 1' . files(1 => <<'EOS'));
\if 1 > 0
\set x debug(1)
\elif 1 / 0
\set x debug(2)
\else
\set x debug(3)
\endif
\if 1 < 0
	select 1 / 0;
	\if true
		select 1 / 0;
	\elif 1 / 0
		select 1 / 0;
	\else
		select 1 / 0;
	\endif
	select 1 / 0;
\elif null
	\if true
		select 1 / 0;
	\endif
\elif 0.5
	\set x debug(4)
	\if false
		select 1 / 0;
	\else
		\set x debug(5)
		select 'right';
	\endif
\else
	\if true
		select 1 / 0;
	\endif
\endif
\if false
\elif 0
\else
\set x debug(6)
\endif
EOS
agree('meta commands', '-n -t 2' . files(1 => <<'EOS'), modes => 'libpq spi');
\set zero 0
\set one 1.0
\sleep :one ms
\sleep 100 us
\sleep 0 s
\sleep :zero
\setshell another\
  echo \
    :one
\set x debug(:another)
\shell test :another -eq 1
EOS
# What the server says about statements, other than their errors.
my $raise = '-n -t 3' . files(1 => <<'EOS');
do $$ begin raise notice 'a word' using detail = 'more of it', hint = 'what to do'; end $$;
commit;
set client_min_messages = error;
commit;
reset client_min_messages;
EOS
my (undef, $said) = pgbench($raise);
my @said = grep { /^(?:NOTICE|WARNING|DETAIL|HINT): / } split /\n/, $said;
is(scalar @said, 12, 'pgbench passes on what the server says');
foreach my $mode (qw(libpq spi))
{
	my (undef, $told) = bench_pgbench("$raise --mode=$mode");
	is_deeply([ $told =~ /^(?:psql:\S+ NOTICE:  )?((?:NOTICE:  a|WARNING:  there|DETAIL:|HINT:).*)/mg ],
		\@said, "notices and warnings, $mode") or diag $told;

	# Very many of them do not keep clients waiting.
	my $flood = '-n -t 1000 -c 2' . files(1 => "do \$\$ begin for i in 1 .. 20 loop raise notice 'flood'; end loop; end \$\$;\n");
	my ($report, $some, $status) = bench_pgbench("$flood --mode=$mode");
	is($status, 0, "flood, $mode: exit status");
	like($report, qr/processed: 2000\/2000$/m, "flood, $mode: all transactions");
	my $shown = () = $some =~ /NOTICE:  flood$/mg;
	my $left_out = 0;
	$left_out += $_ foreach $some =~ /NOTICE:  (\d+) more lines were suppressed$/mg;
	cmp_ok($left_out, '>', 0, "flood, $mode: not all of it is shown");
	is($shown + $left_out, 40000, "flood, $mode: the rest is counted");
}

# The output of a program comes as notices, because there is no standard output.
my $echo = '-n -t 2' . files(1 => "\\set x 7\n\\shell echo one :x ; echo 'two words'\n"
	  . "\\shell echo two errors 1>&2\n\\setshell y echo 5; echo two more 1>&2\n");
my @printed = grep { /^(?:one|two) / } map { split /\n/ } (pgbench($echo))[ 0, 1 ];
is(scalar @printed, 8, 'pgbench passes on what programs print');
foreach my $mode (qw(libpq spi))
{
	my (undef, $told) = bench_pgbench("$echo --mode=$mode");
	is_deeply([ sort $told =~ /NOTICE:  ((?:one|two) .*)/g ], [ sort @printed ], "output of programs, $mode");
}
$node->safe_psql('postgres', 'CREATE TABLE drawn (seed bigint, name text, value bigint)');
agree('seed', '-n -t 2 -c 2 --random-seed=761' . files(1 => <<'EOS'),
\set u random(1000, 1999)
\set e random_exponential(2000, 2999, 2.0)
\set g random_gaussian(3000, 3999, 3.0)
\set z random_zipfian(4000, 4999, 1.5)
insert into drawn values (:random_seed, 'u', :u), (:random_seed, 'e', :e), (:random_seed, 'g', :g),
 (:random_seed, 'z', :z);
EOS
	other => 'WITH gone AS (DELETE FROM drawn RETURNING *) SELECT * FROM gone ORDER BY 1, 2, 3');

# Results.
agree('gset', '-n -t 2' . files(1 => <<'EOS'));
select \gset
select 0 as a \gset
\set x debug(:a)
select 1 as a, 2 as b \gset
\set x debug(:a * 10 + :b)
select 3 as a \gset p_
\set x debug(:p_a)
select 0 as c, 4 as c \gset
\set x debug(:c)
\; \; select 0 as d \; select 5 as d \; \; \gset
\set x debug(:d)
EOS
agree('aset', '-n -t 2' . files(1 => <<'EOS'));
\; select 6 as a \; select 7 as b \; \aset
select 8 as a union select 9 order by 1 desc \aset
\set x debug(:a)
\set x debug(:b)
EOS
agree('aset without a row', '-n -t 2' . files(1 => <<'EOS'));
\; select 1 as a where false \; \aset
\set x debug(:a)
EOS

# Pipelines.
my $ten = "select 1;\n" x 10;
foreach my $protocol (qw(extended prepared))
{
	agree("pipelines, $protocol", "-n -t 3 -c 2 -M $protocol"
		  . files(1 => "\\startpipeline\n\\endpipeline\n\\startpipeline\n$ten\\endpipeline\n"));
	agree("pipelines, serializable, $protocol", "-n -t 10 -c 4 -M $protocol"
		  . files(1 => "\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n${ten}END;\n\\endpipeline\n"));
	foreach (
		[ 'twice',      "\\startpipeline\n\\startpipeline\n" ],
		[ 'no start',   "\\endpipeline\n" ],
		[ 'gset',       "\\startpipeline\nselect 1 as a \\gset f\n\\endpipeline\n" ],
		[ 'aset',       "\\startpipeline\nselect 1 as a \\aset f\n\\endpipeline\n" ],
		[ 'left open',  "\\startpipeline\n" ],)
	{
		my ($what, $body) = @$_;
		my $name = "pipeline, $what, $protocol";
		my (undef, $told) = agree($name, "-n -t 2 -M $protocol" . files(1 => $body));
		like($told, qr/pipeline/, "$name: pgbench complains");
	}
}

# What fails: before the run (1), or in it (2).
foreach (
	[ 2, 'SQL syntax',                "select 1 + ;\n" ],
	[ 1, 'many parameters',           "\\set i 0\nselect least(" . join(', ', (':i') x 256) . ")" ],
	[ 2, 'no program',                '\shell no-such-command 2>/dev/null' ],
	[ 2, 'variable for a program',    '\shell echo ::foo :nosuch' ],
	[ 1, 'shell alone',               '\shell' ],
	[ 1, 'words for a program',       '\shell echo ' . join(' ', ('a') x 255) ],
	[ 1, 'syntax',                    '\set i 1 +' ],
	[ 1, 'no function',               '\set i noSuchFunction()' ],
	[ 2, 'invalid name',              '\set . 1' ],
	[ 2, 'division by zero',          '\set i 1/0' ],
	[ 2, 'no variable',               '\set i :nosuch' ],
	[ 1, 'character',                 '\set i ;' ],
	[ 2, 'many arguments',            '\set i least(' . join(',', 0 .. 16) . ')' ],
	[ 2, 'empty range',               '\set i random(5,3)' ],
	[ 2, 'large range',               '\set i random(:minint, :maxint)' ],
	[ 2, 'gaussian',                  '\set i random_gaussian(0, 10, 1.0)' ],
	[ 2, 'exponential',               '\set i random_exponential(0, 10, 0.0)' ],
	[ 2, 'zipfian, 1',                '\set i random_zipfian(0, 10, 1)' ],
	[ 2, 'zipfian, large',            '\set i random_zipfian(0, 10, 1000000)' ],
	[ 2, 'text is no number',         '\set i :foo + 1' ],
	[ 1, 'no expression',             '\set i' ],
	[ 1, 'set alone',                 '\set' ],
	[ 2, 'no boolean',                '\set b NOT 0.0' ],
	[ 2, 'no int',                    '\set i TRUE + 2' ],
	[ 2, 'no double',                 '\set d ln(TRUE)' ],
	[ 1, 'case',                      '\set i CASE TRUE THEN 1 ELSE 0 END' ],
	[ 2, 'random of booleans',        '\set b random(FALSE, TRUE)' ],
	[ 1, 'number of arguments',       '\set d ln(1.0, 2.0))' ],
	[ 1, 'no argument',               '\set i greatest())' ],
	[ 1, 'least of nothing',          '\set i least()' ],
	[ 1, 'hash of nothing',           '\set i hash()' ],
	[ 1, 'hash of much',              '\set i hash(1,2,3)' ],
	[ 1, 'permute, one',              '\set i permute(1)' ],
	[ 1, 'permute, four',             '\set i permute(1, 2, 3, 4)' ],
	[ 1, 'large integer',             '\set i 100000000000000000000' ],
	[ 1, 'large double',              '\set d 1.0E309' ],
	[ 1, 'large double, no digit',    '\set d .1E310' ],
	[ 2, 'double to int',             '\set i int(1E32)' ],
	[ 2, 'add',                       '\set i (1<<62) + (1<<62)' ],
	[ 2, 'subtract',                  '\set i 0 - (1<<62) - (1<<62) - (1<<62)' ],
	[ 2, 'multiply',                  '\set i 2 * (1<<62)' ],
	[ 2, 'divide',                    '\set i :minint / -1' ],
	[ 2, 'setshell, word',            '\setshell i echo -n one' ],
	[ 1, 'setshell, nothing',         '\setshell var' ],
	[ 2, 'setshell, no program',      '\setshell var no-such-command 2>/dev/null' ],
	[ 2, 'sleep, no variable',        '\sleep :nosuch' ],
	[ 1, 'sleep, words',              '\sleep too many args' ],
	[ 1, 'sleep alone',               '\sleep' ],
	[ 1, 'sleep, unit',               '\sleep 1 week' ],
	[ 1, 'no command',                '\nosuchcommand' ],
	[ 1, 'no script',                 '' ],
	[ 2, 'malformed boolean',         '\set b :badtrue or true' ],
	[ 1, 'function of ours, zipf',    '\set i random_zipf(1, 10, 0.5)' ],
	[ 1, 'function of ours, ycsb',    "select 1;\n\\set i 1 + random_ycsb(1, 10, 0.99)" ],
	[ 1, 'function of ours, hash',    '\set i random_ycsb_scrambled(1, 10)' ],
	[ 1, 'function of ours, special', '\if random_special(1, 10) = 1' ],
	[ 1, 'function of ours, nurand',  '\set i RANDOM_NURAND(255, 0, 999, 7)' ],
	[ 1, 'command of ours, template', '\template i ##-@@' ],
	[ 1, 'command of ours, words',    '\template i ' . join(' ', ('#') x 255) ],
	[ 2, 'permute, size',             '\set i permute(0, 0)' ],
	[ 2, 'gset, no row',              'select where false \gset' ],
	[ 2, 'gset, two rows',            'select 1 as a union select 2 order by 1 \gset' ],
	[ 1, 'gset alone',                '\gset' ],
	[ 1, 'gset after set',            "\\set i +1\n\\gset" ],
	[ 1, 'gset, words',               'select 1 \gset a b' ],
	[ 1, 'gset twice',                "select 1 as i \\gset\n\\gset" ],
	[ 2, 'gset, no rows at all',      'drop table if exists no_such_table \gset' ],
	[ 2, 'gset, no name',             'select 1 \gset' ],
	[ 2, 'gset, name',                'select 1 as "bad name!" \gset' ],
	[ 1, 'no endif',                  '\if 1' ],
	[ 1, 'elif first',                '\elif 1' ],
	[ 1, 'else first',                '\else' ],
	[ 1, 'endif first',               '\endif' ],
	[ 1, 'elif after else',           "\\if 1\n\\else\n\\elif 0\n\\endif" ],
	[ 1, 'else after else',           "\\if 1\n\\else\n\\else\n\\endif" ],
	[ 1, 'if alone',                  "\\if\n\\endif\n" ],
	[ 1, 'elif, syntax',              "\\if 0\n\\elif +\n\\endif\n" ],
	[ 1, 'else, word',                "\\if 0\n\\else BAD\n\\endif\n" ],
	[ 1, 'endif, word',               "\\if 0\n\\endif BAD\n" ],
	[ 2, 'block left open',           'begin;select 1;' ],
	[ 2, 'copy',                      'copy pgbench_accounts from stdin' ],)
{
	my ($expected, $name, $body) = @$_;
	my $options = '-n -t 1 -Dfoo=bla -Dbadtrue=trueXXX -Dmaxint=9223372036854775807'
	  . ' -Dminint=-9223372036854775808 -M prepared' . files(1 => $body);
	my (undef, $told, $status) = agree($name, $options, modes => $expected == 1 ? 'libpq' : 'libpq spi');
	is($status, $expected, "$name: pgbench fails as expected") or diag $told;
}


# In pgbench's language, a colon before a string belongs to SQL: to slices of arrays, or it is an error.
foreach my $protocol (qw(simple extended prepared))
{
	my $options = "-n -t 2 -D foo=7 -M $protocol";
	my $body    = "select (array[1, 2, 3])[1:'2'] as a, length(':''foo''') + length(\$\$:'foo'\$\$) as b /* :'foo' */ -- :'foo'\n\\gset\n"
	  . "\\set x debug(:b)\n";
	my ($report, $told, $status) = agree("colons before strings, $protocol", $options . files(1 => $body));
	is($status, 0, "colons before strings, $protocol: no error") or diag $told;
	foreach my $name (qw(foo nosuch))
	{
		(undef, $told, $status) =
		  agree("quoted variable $name, $protocol", $options . files(1 => "select length(:'$name');"));
		like($told, qr/syntax error at or near ":"/, "quoted variable $name, $protocol: an error");
		is($status, 2, "quoted variable $name, $protocol: fails in the run");
	}
}


#
# Schedules and logs.
#
agree('rate', '-t 100 -S --rate=100000 --latency-limit=1000000 -c 2 -j 2 -n -r');
my $sleeps = files(1 => '\sleep 2ms');
foreach my $mode (qw(libpq spi))
{
	# At that rate, at most the first transaction is not late from the start.
	my ($report) = bench_pgbench("-t 10 --rate=100000 --latency-limit=1 -n -r --mode=$mode$sleeps");
	my ($done, $skipped, $late) = numbers($report, qr/processed: (\d+)\/10\b/,
		qr/transactions skipped: (\d+) /, qr/above the 1\.0 ms latency limit: (\d+)\//);
	cmp_ok($done, '<=', 1, "late schedule, $mode: done") or diag $report;
	is($skipped, 10 - $done, "late schedule, $mode: skipped");
	is($late, $done, "late schedule, $mode: late");

	my $line = qr/[01] \d{1,2} \d+ \d \d{10} \d{1,6}\n/;
	bench_pgbench("-n -S -t 50 -c 2 --log --sampling-rate=0.5 --mode=$mode --log-prefix=$dir/half_$mode");
	my @logs = glob "$dir/half_$mode.*";
	is(scalar @logs, $mode eq 'spi' ? 2 : 1, "sample, $mode: a file for each worker");
	is(scalar(grep { /\.\d+(\.\d+)?\z/ } @logs), scalar @logs, "sample, $mode: their names");
	like(join('', map { slurp_file($_) } @logs), qr/\A(?:$line){8,92}\z/, "sample, $mode: lines");
	bench_pgbench("-n -b select-only -t 10 -l --mode=$mode --log-prefix=$dir/all_$mode");
	@logs = glob "$dir/all_$mode.*";
	like(slurp_file($logs[0]), qr/\A(?:$line){10}\z/, "log, $mode: lines");
}

#
# Clients at the same time: object identifiers, locks, commands beside VACUUM.
#
my $labels = join ',', map { "'l$_'" } 1 .. 300;
agree('object identifiers', '--no-vacuum --client=5 --jobs=5 --protocol=prepared --transactions=15'
	  . files(1 => "CREATE TYPE pg_temp.e AS ENUM ($labels); DROP TYPE pg_temp.e;"));
agree('many clients', '-n -c 20 -j 20 -t 20 -M prepared --random-seed=4'
	  . files(1 => "\\set x random(1, 9)\nselect :x::int;"));

$node->safe_psql('postgres', 'CREATE TABLE granted ()');
my @grants = (
	9 => q{
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(42);
	FOR i IN 1 .. 10 LOOP
		GRANT SELECT ON granted TO PUBLIC;
		REVOKE SELECT ON granted FROM PUBLIC;
	END LOOP;
END $$;
},
	1 => 'VACUUM granted;');
# In rare cases, the server itself rejects one of them.
my ($granted) = bench_pgbench('--no-vacuum --client=5 --protocol=prepared --transactions=50'
	  . ' --continue-on-error' . files(@grants));
like($granted, qr/processed: 2(?:50|4\d)\/250$/m, 'beside VACUUM, libpq');
my (undef, $refused) = bench_pgbench('--no-vacuum -t 1 --mode=spi' . files(@grants[2, 3]));
like($refused, qr/VACUUM granted(?:.*\n)*HINT:.*libpq/, 'VACUUM, spi: what to do instead');

#
# Parameters in the server's log and in its errors.
#
my $long = 'A value that is longer than what a server has been told to show of it, with some to spare';
my $json = files(1 => "select '{ invalid ' as a \\gset\nselect \$\$'$long'\$\$ as b \\gset\n"
	  . "select v::jsonb from (values (:a), (:b)) as q (v);\n");
my $null = files(1 => "select '1' as one \\gset\nselect 1 / (random() / 2)::int, :one::int, :two::int;\n");
my $type = files(1 => "select 42 as a, '1a' as b \\gset\nselect :a::smallint, :b::smallint;\n");
foreach (
	[ 0,  0,  0,  $json ],
	[ 0,  -1, 64, $null ],
	[ 0,  -1, 64, $json ],
	[ -1, 7,  -1, $null ],
	[ 0,  7,  -1, $json ],
	[ 0,  7,  -1, $type ],)
{
	my ($duration, $length, $on_error, $script) = @$_;
	local $ENV{PGOPTIONS} = "-c log_statement=none -c log_min_duration_statement=$duration"
	  . " -c log_parameter_max_length=$length -c log_parameter_max_length_on_error=$on_error";
	my $name = "parameters, $duration, $length, $on_error";
	my $logged = sub {
		my ($offset) = @_;
		return [ slurp_file($node->logfile, $offset) =~ /DETAIL:  ([Pp]arameters: .*)/g ];
	};
	my $offset = -s $node->logfile;
	pgbench("-n -t 1 -M prepared$script");
	my $theirs = $logged->($offset);
	is(scalar @$theirs > 0, $duration == 0 && $length != 0 && $script ne $type,
		"$name: whether pgbench's are logged");
	agree($name, "-n -t 1 -M prepared$script", modes => 'libpq');
	$offset = -s $node->logfile;
	bench_pgbench("-n -t 1 -M prepared$script");
	is_deeply($logged->($offset), $theirs, "$name: the same are logged");
}

#
# Conflicts.  Sequences tell one client how far the other is, since no transaction
# hides them.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE counter (id int PRIMARY KEY, v int);
CREATE SEQUENCE here;
CREATE SEQUENCE there;
CREATE PROCEDURE await(sequence regclass) LANGUAGE plpgsql AS $$
DECLARE
	come bool := false;
BEGIN
	WHILE NOT come LOOP
		EXECUTE format('SELECT is_called FROM %s', sequence) INTO come;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
CREATE SEQUENCE failures;
CREATE FUNCTION fail(code text, times int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('failures') <= times THEN
		RAISE 'not yet' USING ERRCODE = code;
	END IF;
	RETURN 1;
END $$;
SQL
my $fresh = q{
	SELECT setval('here', 1, false), setval('there', 1, false), setval('failures', 1, false);
	TRUNCATE counter;
	INSERT INTO counter VALUES (1, 0)};

# Client 1 has its snapshot when client 0 changes the row and commits.  The second
# try has the same random number.
{
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=repeatable\ read';
	my $run = '-n -c 2 -t 1 --debug --random-seed=31 --verbose-errors --max-tries 2'
	  . files(1 => <<'EOS');
\set delta random(1, 5000)
begin;
select v from counter where id = 1;
\if :client_id = 1
	select nextval('here');
	call await('there');
\else
	call await('here');
\endif
update counter set v = v + :delta where id = 1;
end;
select nextval('there');
EOS
	my ($report, $told) = agree('serialization failure', $run, before => $fresh,
		other => 'SELECT v FROM counter');
	like($report, qr/^number of transactions retried: 1 .*\ntotal number of retries: 1$/m, 'it is retried');
	my @updates = $told =~ /client 1 sending (update counter .*)/g;
	is(scalar @updates, 2, 'it is sent twice');
	is($updates[0], $updates[1], 'with the same number');
}

# Each client holds what the other one wants.
{
	my $run = '-n -c 2 -t 1 --verbose-errors --max-tries 2' . files(1 => <<'EOS');
\set own 10 + :client_id
\set other 11 - :client_id
begin;
select pg_advisory_xact_lock(:own);
\if :client_id = 0
	select nextval('here');
	call await('there');
\else
	select nextval('there');
	call await('here');
\endif
select pg_advisory_xact_lock(:other);
end;
EOS
	foreach my $mode ('pgbench', 'libpq', 'spi')
	{
		$node->safe_psql('postgres', $fresh);
		my ($report, $told) = $mode eq 'pgbench' ? pgbench($run) : bench_pgbench("$run --mode=$mode");
		is_deeply(
			[
				numbers($report,
					qr/processed: (\d+)\/2\b/, qr/transactions retried: (\d+) /, qr/number of retries: (\d+)/)
			],
			[ 2, 1, 1 ], "deadlock, $mode: report");
		is_deeply(
			[ map { s/client [01]/client/r } @{ steps($told) } ],
			[
				'client got an error in command 11 (SQL) of script 0; ERROR:  deadlock detected',
				'client repeats the transaction after the error (try 1/2)'
			],
			"deadlock, $mode: told");
	}
}

# Failures that come too often, and those that a limit or a duration ends.
foreach my $code (qw(40001 40P01))
{
	my $failing = files(1 => "\\set x debug(random(1, 1000))\nselect fail('$code', 5);\nselect 2;");
	foreach my $options ('--max-tries=3 -t 3', '--max-tries=1 -t 6', '--max-tries=0 -t 2 -L 100000')
	{
		my ($report) = agree("$options, $code", "-n $options --random-seed=21 --verbose-errors"
			  . ' --failures-detailed -r' . $failing,
			before => $fresh);
		like($report, qr/processed: [12]\//, "$options, $code: pgbench fails as often");
	}
}
agree('error that is not retried', '-n -t 8 -c 2 -j 2 --max-tries=3 -r'
	  . files(1 => "\\if :client_id\nselect fail('22012', 9);\n\\else\nselect 1;\n\\endif"), before => $fresh);

# What later versions of pgbench do with errors.
foreach my $mode (qw(libpq spi))
{
	my $failing = files(1 => "begin;\nselect fail('22012', 2);\nend;");
	$node->safe_psql('postgres', $fresh);
	my ($report) = bench_pgbench("-n -t 5 --continue-on-error --failures-detailed --mode=$mode$failing");
	like($report, qr/processed: 3\/5\n(?:.*\n)*number of failed transactions: 2 \(40\.000%\)\n/,
		"$mode: continue-on-error");
	$node->safe_psql('postgres', $fresh);
	my ($nothing, $told, $status) = bench_pgbench("-n -T 1000 -c 3 --exit-on-abort --mode=$mode"
		  . files(1 => "\\if :client_id = 2\nselect 1 / 0;\n\\endif\n\\sleep 1 ms"));
	like($told, qr/division by zero/, "$mode: exit-on-abort");
	is($nothing, '', "$mode: exit-on-abort, no report");
	is($status, 2, "$mode: exit-on-abort, exit status");
}

#
# As a user would: conflicts in plenty, Ctrl-C, and once more.
#
pgbench('-i -q');
my $happened = 0;
foreach my $mode (qw(libpq spi))
{
	foreach my $round (1, 2)
	{
		my $name = "serializable, $mode, round $round";
		local $ENV{PGOPTIONS} = '-c default_transaction_isolation=serializable';
		my ($report, $told) =
		  bench_pgbench("-n -c 8 -j 2 -t 200 --max-tries=10 --failures-detailed --mode=$mode");
		my ($done, $failed, $serialization, $deadlock, $retried, $retries) = numbers($report,
			qr/processed: (\d+)\/1600\b/, qr/failed transactions: (\d+) /, qr/serialization failures: (\d+) /,
			qr/deadlock failures: (\d+) /, qr/transactions retried: (\d+) /, qr/number of retries: (\d+)/);
		is($done + $failed, 1600, "$name: every transaction is counted once") or diag $report . $told;
		is($serialization + $deadlock, $failed, "$name: failures by kind");
		cmp_ok($retried, '>', 0, "$name: transactions are retried");
		cmp_ok($retries, '>=', $retried, "$name: retries");
		like($told, qr/NOTICE:  .*predicate locks.*\n.*\n.*BEGIN ISOLATION LEVEL READ COMMITTED/,
			"$name: advice");
		$happened += $done;
		invariants_ok($node, $happened, $name);
	}

	# As many as could not be with predicate locks that stay, if the advice is followed.  Of two
	# clients, one would keep the other's locks for as long as the system lets it wait.
	{
		my (undef, $found, $told) = $node->psql('postgres',
			"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT state, transactions, failed"
			  . " FROM bench.run('select-only', mode => '$mode', transactions => 30000,"
			  . " vacuum => 'none'); END",
			extra_params => [ '-v', 'ON_ERROR_STOP=1' ], connstr => $node->connstr('postgres')
			  . " options='-c default_transaction_isolation=serializable'");
		is($found, 'finished|30000|0', "many serializable transactions, $mode");
		is($told, '', "many serializable transactions, $mode: nothing to tell");
	}

	foreach my $round (1, 2)
	{
		my $session = start_sql($node, "SELECT bench.pgbench('-n -S -c 2 -T 1000 -P 1 --mode=$mode')");
		wait_for($node, q{SELECT count(*) > 0 FROM bench.progress WHERE transactions > 0});
		signal_sql($session, 'INT');
		my ($stdout, $stderr) = finish_sql($session);
		like($stderr, qr/ERROR:  57014: canceling statement due to user request/, "Ctrl-C, $mode, round $round");
		nothing_left_ok($node, "Ctrl-C, $mode, round $round");
	}
}

# Books are kept whatever becomes of the predicate locks.
my $books = start_sql($node, q{
	SET default_transaction_isolation = 'serializable';
	SELECT transactions > 0 FROM bench.run('select-only', clients => 2, duration => '1000 s',
		exit_on_abort => true, vacuum => 'none', label => 'books')});
my (undef, $failure) = finish_sql($books);
like($failure, qr/out of shared memory/, 'predicate locks that stay: why the run ends');
is(latest_run($node, 'books')->{state}, 'failed', 'predicate locks that stay: the result is stored');

# Command lines that make no sense.
foreach ('-T', '-c -1', '-T 0', '-M', '-f', '-b', '-D =1', '-j 0', '-n 5 6', '-P 0 -T 1', '-i -n -I v -s 0')
{
	my (undef, $theirs) = pgbench($_);
	my ($message) = $theirs =~ /^pgbench: (?:error: )?(.*)$/m;
	like((bench_pgbench($_))[1], qr/ERROR:  (?:.*\n)*?.*\Q$message\E/, "wrong: $_");
}
like((bench_pgbench('no-such-database'))[1], qr/ERROR:  (?:.*\n)*.*database "no-such-database" does not exist/,
	'no such database');

nothing_left_ok($node, 'at the end');
done_testing();
