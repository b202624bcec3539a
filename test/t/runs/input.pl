# Input that is too large: an error, whatever memory there is, and never the end of
# the server.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('input', 'log_min_messages = log');

# The first error of SQL, with its SQLSTATE; empty if there is none.
sub error_of
{
	my ($sql) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = error;\n$sql");
	return $stderr =~ /ERROR:  (.*)/ ? $1 : '';
}

# The limits.
is($node->safe_psql('postgres', "SELECT message FROM bench.check_script(repeat(';', 250000))"),
	'', 'as many commands as there may be');
is( $node->safe_psql('postgres', "SELECT * FROM bench.check_script(repeat(';', 250001))"),
	'||error|scripts have too many commands, variables and operators (maximum is 250000)|',
	'too many commands');
is( $node->safe_psql('postgres', "SELECT message FROM bench.check_script(repeat('x', 16777217))"),
	'scripts are too long (maximum is 16777216 bytes)', 'a script that is too long');
like(error_of("SELECT bench.define_script('long', repeat('x', 16777217))"),
	qr/^54000: .*too long/, 'a script that is too long to be stored');
like(error_of("INSERT INTO bench.scripts (name, body) VALUES ('long', repeat('x', 16777217))"),
	qr/^23514: .*"scripts_body_check"/, 'not even by somebody who may write the table');
my $nested = "'\\set a ' || repeat('(', 1000000) || 1";
like($node->safe_psql('postgres', "SELECT message FROM bench.check_script($nested)"),
	qr/nested too deeply/, 'deep nesting');
is($node->safe_psql('postgres', "SELECT message FROM bench.check_script(repeat(E'\\\\if 1\\n', 100000))"),
	'condition error in script "script" command 100001: \if without matching \endif',
	'deep nesting of conditions');
$node->safe_psql('postgres', "SELECT bench.define_script('large', repeat('x', 9000000))");
like(error_of("SELECT bench.run(scripts => 'large,large')"),
	qr/^22023: invalid value for option "scripts": more than 16777216 bytes/,
	'scripts that are too long together');
$node->safe_psql('postgres', "SELECT bench.drop_script('large')");

# What is interrupted: a timeout comes while a script is parsed, not after it.
like(
	error_of(
		"SET statement_timeout = 1; SELECT count(*) FROM generate_series(1, 100), bench.check_script(repeat(';', 250000))"
	),
	qr/^57014: /,
	'parsing answers interrupts');

# What is too large for any argument.
my $long = "repeat('x', 1048577)";
foreach my $call (
	"bench.define_script($long, 'SELECT 1')",
	"bench.define_script('x', 'SELECT 1', $long)",
	"bench.drop_script($long)",
	"bench.run(scripts => $long)",
	"bench.run(mode => $long)",
	"bench.run(label => $long)",
	"bench.run(seed => $long)",
	"bench.run(target => $long, mode => 'libpq')",
	"bench.run(log_prefix => $long, log => true)",
	"bench.run(variables => jsonb_build_object('a', $long))",
	"bench.compare(label => $long)",
	"bench.compare(variables => jsonb_build_object('a', $long))",
	"bench.compare((SELECT jsonb_agg(jsonb_build_object('name', i::text)) FROM generate_series(1, 101) i))",
	"bench.start(scripts => repeat('select-only, ', 50000) || 'select-only')",
	"bench.run_pgio(label => $long)",
	"bench.start_pgio(scan => $long)",
	"bench.initialize(steps => $long)",
	"bench.initialize(tablespace => $long)",
	"bench.initialize_pgio(size => $long)",
	"bench.pgbench($long)")
{
	my $name = $call =~ s/\Q$long\E/a long text/r;
	like(error_of("SELECT $call"), qr/^(54000: argument .*maximum is 1048576|22023: )/, $name);
}
like(error_of("SET my.setting = '" . 'x' x 100 . "'; SELECT set_config('my.setting', repeat('x', 17000000), false); SELECT bench.start()"),
	qr/^54000: the settings of this session have \d+ bytes/, 'a long setting of the session');
is(error_of("SELECT bench.run(scripts => repeat('select-only, ', 128) || 'select-only')"),
	'22023: invalid value for option "scripts": 129 scripts', 'too many scripts');

# What is out of range is refused before tables are dropped, or anything starts.
$node->safe_psql('postgres', q{
	SELECT bench.initialize(); SELECT bench.initialize_pgio(size => '64'); UPDATE pgbench_branches SET bbalance = 7;
	CREATE FUNCTION refused(function text, arguments text[], OUT argument text, OUT why text) RETURNS SETOF record AS $$
	BEGIN
		FOREACH argument IN ARRAY arguments LOOP
			BEGIN
				EXECUTE format('SELECT bench.%s(%s)', function, argument);
				why := 'nothing is wrong';
			EXCEPTION WHEN OTHERS THEN
				why := concat_ws(' ', SQLSTATE, SQLERRM);
			END;
			RETURN NEXT;
		END LOOP;
	END $$ LANGUAGE plpgsql});
my %numbers = (
	initialize => {
		scale => [qw(0 -1)], fillfactor => [qw(9 101 -2147483648)], partitions => [-1], workers => [qw(0 262144)] },
	initialize_pgio => {
		tables => [qw(0 -1 1025)], workers => [qw(0 262144)],
		size => [map { "'$_'" } '', '1', '-1', 'NaN', 'Infinity', '2147483648MB', '4294967295', '99999999999999999999', 'MB'],
		seed => [map { "'$_'" } '', '-1', '18446744073709551616'] },
	run_pgio => {
		tables => [qw(0 1025)], threads_per_table => [qw(0 10001)], update_pct => [qw(-1 101)],
		work_unit => [qw(-1 64 1000000001)], update_work_unit => [qw(-1 1000000001)], commit_every => [0],
		working_set_pct => [qw(0 -1 100.01 'NaN' 'Infinity')], jobs => [0], transactions => [qw(0 -1)],
		rate => [qw(0 -1 'NaN' 'Infinity')], latency_limit => [qw(0 'NaN' '-Infinity')],
		duration => [qw(0 -1 2147483648 1e300 'NaN'::float8 'Infinity'::float8)], warmup => [qw(-1 2147483648)], max_warmup => [qw(0 -1 2147483648)],
		progress => [qw(0 0.05)], aggregate_interval => [qw(0 0.05)] },);
my %nulls = (
	initialize      => [qw(scale steps fillfactor partitions foreign_keys unlogged)],
	initialize_pgio => [qw(tables size unlogged force)],
	run_pgio        => [qw(threads_per_table update_pct work_unit update_work_unit commit_every working_set_pct scan
		  mode protocol max_warmup aggregate_interval log client_process)],);
my %texts = (
	initialize      => [qw(steps partition_method tablespace index_tablespace)],
	initialize_pgio => [qw(tablespace index_tablespace)],
	run_pgio        => [qw(scan mode protocol client_process)],);
foreach my $function (sort keys %numbers)
{
	my $values = $numbers{$function};
	my @arguments = (
		(map { my $name = $_; map { "$name => $_" } @{ $values->{$name} } } sort keys %$values),
		(map { "$_ => NULL" } @{ $nulls{$function} }),
		map { "$_ => ''" } @{ $texts{$function} });
	my $quoted = join ', ', map { s/'/''/gr =~ s/.*/'$&'/r } @arguments;
	is($node->safe_psql('postgres',
			qq{SELECT * FROM refused('$function', ARRAY[$quoted])
			   WHERE why !~ '^22(004 option|023 (invalid value for )?option|008 interval out of range)'}),
		'', "$function: values out of range");
}
is($node->safe_psql('postgres', 'SELECT bbalance, (SELECT count(*) FROM pgio1), (SELECT count(*) FROM bench.runs) FROM pgbench_branches'),
	'7|64|0', 'nothing was dropped, nothing ran');

# Documents that PostgreSQL accepts and a parser of ours does not.
foreach my $document (q('{"a": 1e400}'), "(repeat('[', 1000) || repeat(']', 1000))::jsonb")
{
	like(error_of("SELECT bench.run(variables => $document)"),
		qr/^22023: invalid value for option "variables": /, "variables => $document");
}

# A statement that variables make longer than the server takes.
my $wide = 'SELECT repeat($$x$$, 16000000) AS v \\\\gset\\n' . 'SELECT length(:v)' . ', :v' x 99;
$node->safe_psql('postgres', "SELECT bench.define_script('wide', E'$wide;\n')");
foreach my $case ([qw(spi simple)], [qw(libpq simple)], [qw(libpq extended)], [qw(libpq prepared)])
{
	my ($mode, $protocol) = @$case;
	my ($status, $stdout, $stderr) = $node->psql('postgres',
		"SELECT bench.run(scripts => 'wide', mode => '$mode', protocol => '$protocol', transactions => 1)");
	like($stderr, qr/the statement with the texts of its variables is too long/,
		"texts of variables that are too long together, $mode, $protocol");
}

# Files.
like(error_of("SELECT bench.pgbench('-n -t 1 -f /dev/zero')"),
	qr/it is not a regular file/, 'a device');
my $pipe = $node->basedir . '/pipe';
system_or_bail('mkfifo', $pipe);
like(error_of("SELECT bench.pgbench('-n -t 1 -f $pipe')"),
	qr/it is not a regular file/, 'a pipe');
my $file = $node->basedir . '/long';
append_to_file($file, 'x' x 16777217);
like(error_of("SELECT bench.pgbench('-n -t 1 -f $file')"),
	qr/it is longer than 16777216 bytes/, 'a file that is too long');

# With little memory: each statement in a session that may have 64 MB more than at
# its start, and goes on after it.
my $limit = <<'SQL';
SELECT count(*) FROM bench.check_script('SELECT 1');
COPY (SELECT) TO PROGRAM 'size=$(sed -n "s/^VmSize:[^0-9]*\([0-9]*\).*/\1/p" /proc/$PPID/status) && prlimit --pid $PPID --as=$(( (size + 65536) * 1024 ))';
SQL

foreach my $case (
	[   'a script of many commands',
		"bench.check_script(repeat(';', 12000000))",
		'out of memory while parsing the script'
	],
	[ 'a long script', "bench.check_script(repeat('x', 16000000))", 'out of memory' ],
	[ 'a script that is too long', "bench.check_script(repeat('x', 20000000))", 'too long' ],
	[   'many variables', "bench.check_script((SELECT string_agg(':a' || i, ' ') FROM generate_series(1, 300000) i))",
		'out of memory'
	],
	[   'a script to be stored',
		"bench.define_script('x', repeat(';', 12000000))",
		'out of memory while parsing the script'
	],
	[ 'a long name', "bench.drop_script(repeat('x', 20000000))", 'maximum is 1048576' ],
	[ 'a long label', "bench.run(label => repeat('x', 20000000))", 'maximum is 1048576' ],
	[   'many scripts',
		"bench.run(scripts => repeat('select-only, ', 500000))",
		'maximum is 1048576'
	],
	[   'large variables',
		"bench.run(variables => jsonb_build_object('a', repeat('x', 10000000)))",
		'maximum is 1048576'
	],
	[ 'a long command line', "bench.pgbench(repeat(' -n', 6000000))", 'maximum is 1048576' ],
	[ 'a long histogram',    "bench.percentile(decode(repeat('00', 8000000), 'hex'), 50)", 'invalid latency histogram' ])
{
	my ($name, $call, $expected) = @$case;
	my ($status, $stdout, $stderr) = $node->psql('postgres',
		"${limit}SELECT * FROM $call;\nSELECT 'still here';", on_error_stop => 0);
	like("$stdout\n$stderr", qr/\Q$expected\E/, "$name with little memory: refused");
	like($stdout, qr/^still here$/m, "$name with little memory: the session goes on");
}
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'no process has crashed');

done_testing();
