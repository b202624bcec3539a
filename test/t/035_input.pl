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
	'||scripts have too many commands, variables and operators (maximum is 250000)',
	'too many commands');
is( $node->safe_psql('postgres', "SELECT message FROM bench.check_script(repeat('x', 16777217))"),
	'scripts are too long (maximum is 16777216 bytes)', 'a script that is too long');
like(error_of("SELECT bench.define_script('long', repeat('x', 16777217))"),
	qr/^54000: .*too long/, 'a script that is too long to be stored');
my $nested = "'\\set a ' || repeat('(', 1000000) || 1";
like($node->safe_psql('postgres', "SELECT message FROM bench.check_script($nested)"),
	qr/nested too deeply/, 'deep nesting');
is($node->safe_psql('postgres', "SELECT message FROM bench.check_script(repeat(E'\\\\if 1\\n', 100000))"),
	'condition error in script "script" command 100001: \if without matching \endif',
	'deep nesting of conditions');
$node->safe_psql('postgres', "SELECT bench.define_script('large', repeat('x', 9000000))");
like(error_of("SELECT bench.run(scripts => '{large,large}')"),
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
	"bench.run(scripts => ARRAY[$long])",
	"bench.run(mode => $long)",
	"bench.run(label => $long)",
	"bench.run(seed => $long)",
	"bench.run(target => $long, mode => 'libpq')",
	"bench.run(log_prefix => $long, log => true)",
	"bench.run(variables => jsonb_build_object('a', $long))",
	"bench.compare(label => $long)",
	"bench.compare(variables => jsonb_build_object('a', $long))",
	"bench.compare(modes => array_fill('spi'::text, ARRAY[101]))",
	"bench.start(scripts => array_fill('select-only'::text, ARRAY[100000]))",
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
is(error_of("SELECT bench.run(scripts => array_fill('select-only'::text, ARRAY[129]))"),
	'22023: invalid value for option "scripts": 129 scripts', 'too many scripts');

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
		"SELECT bench.run(scripts => '{wide}', mode => '$mode', protocol => '$protocol', transactions => 1)");
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
		"bench.run(scripts => array_fill('select-only'::text, ARRAY[500000]))",
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
