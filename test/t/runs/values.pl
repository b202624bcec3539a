# Value sets: rows that scripts draw with \values, in all protocols and both modes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('values', 'max_worker_processes = 16', 'client_min_messages = warning');

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql", extra_params => [ '-U', $role ]);
	return $stdout . ($stderr eq '' ? '' : "\n$stderr");
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
my $sql = sub { $node->safe_psql('postgres', $_[0]) };
$sql->(<<'SQL');
CREATE ROLE runner LOGIN;
CREATE ROLE other LOGIN;
SELECT bench.grant_to(role) FROM unnest('{runner,other}'::regrole[]) role;
CREATE TABLE seen (client int, i int, b bigint, t text, y bytea, n text, d date, a text[]);
GRANT ALL ON seen TO runner;
CREATE FUNCTION fill(name text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO bench.value_sets (set_name, row_no, values)
	SELECT name, 3 * k, ARRAY[k::text, (k * 10000000000)::text, format('it''s \ "%s" é :x $1 -- ', k),
		decode(md5(k::text) || '00ff5c27', 'hex')::text, NULL, (date '2020-01-01' + k)::text, ARRAY['a,b"\', NULL, k::text]::text]
	FROM generate_series(1, 500) k $$;
SQL
my $script = "\\values all i b t y n d a\nINSERT INTO seen VALUES (:client_id, :i, :b, :'t', :'y', :'n', :'d', :'a');";
my $stored = $script =~ s/'/''/gr;
is(as('runner', "SELECT public.fill('all'); SELECT bench.define_script('draw', '$stored')"), "\n", 'a role stores its values and a script');
is(as('runner', "SELECT count(*) FROM bench.check_script('$stored')"), '0', 'check_script finds nothing');
is( as('runner', q{SELECT severity, message FROM bench.check_script(E'\\\\values x a\nSELECT :a, :b;')}),
	q{warning|undefined variable "b", unless option "variables" has it}, 'but an undefined variable');

# What was drawn is what the sets have, in all protocols, modes and processes.
my %drawn;
foreach my $case (
	(map { [ 'runner', "protocol => '$_'" ] } qw(simple extended prepared)),
	(map { [ $super, "protocol => '$_', mode => 'libpq', jobs => 2" ] } qw(simple extended prepared)),
	[ $super, "client_process => 'backend'" ],
	[ $super, "mode => 'libpq', reconnect => true" ],
	[ $super, sprintf(q{mode => 'libpq', target => 'host=%s port=%d dbname=postgres'}, $node->host, $node->port) ])
{
	my ($role, $options) = @$case;
	as($role, "SELECT public.fill('all')") if $role eq $super && !$sql->("SELECT count(*) FROM bench.value_sets WHERE owner = current_user::regrole");
	$sql->('TRUNCATE seen');
	is(as($role, "SELECT state, transactions, failed FROM bench.run(sql => '$stored', clients => 2, transactions => 40, seed => '7', $options)"),
		'finished|80|0', "run with $options");
	is($sql->(<<'SQL'), '80', "its rows are those of the set: $options");
SELECT count(*) FROM seen s JOIN (SELECT DISTINCT values FROM bench.value_sets) v
ON v.values[1:4] = ARRAY[s.i::text, s.b::text, s.t, s.y::text] AND s.n IS NULL AND v.values[6:7] = ARRAY[s.d::text, s.a::text]
SQL
	push @{ $drawn{ $sql->('SELECT string_agg(client || \':\' || i, \' \' ORDER BY client, i) FROM seen') } }, $options;
}
is(scalar(keys %drawn), 1, 'with a seed all of them draw the same rows') or diag explain \%drawn;

# In series of runs, in workloads, and in a run that is repeated from its report.
$sql->('TRUNCATE seen');
is(as('runner', q{SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b", "protocol": "simple"}]', scripts => 'draw', repeats => 2, transactions => 5)}), '2', 'compare');
is(as('runner', q{SELECT count(*) FROM bench.sweep('{"clients": [1, 2]}', scripts => 'draw', repeats => 1, transactions => 5)}), '2', 'sweep');
like(as('runner', q{SELECT verdict FROM bench.find_capacity(1000, percentile => 50, tolerance => 1, scripts => 'draw', duration => 0.2)}), qr/p50 /, 'find_capacity');
is($sql->('SELECT count(*) > 60, count(n), count(DISTINCT i) > 20 FROM seen'), 't|0|t', 'all of which draw');
my $repeat = as('runner', q{SELECT run_id FROM bench.run('draw', transactions => 5, seed => 3); SELECT bench.report(format => 'html')});
my ($call) = $repeat =~ /(SELECT \* FROM bench\.run\([^<]*\));/;
$call =~ s/&#39;|&#x27;|&apos;/'/g;
$call =~ s/=&gt;/=>/g;
$sql->('TRUNCATE seen');
like(as('runner', "$call; $call"), qr/\|.*\|/, 'the statement that repeats a run');
is($sql->('SELECT count(*), count(DISTINCT i) FROM seen'), '10|5', 'and draws the same rows') or diag $call;
is(as('runner', <<'SQL'), "\nfinished|10", 'a workload of one\'s own');
SELECT bench.define_workload('mine', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 1, "index_mb": 1},
	"mixes": [{"name": "mine", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE own (i int)', E'-- own: 1 parts of 1 rows\nSELECT 1', jsonb_build_object('s', E'\\values all i\nSELECT :i;'));
CREATE TEMP TABLE own (i int);
SELECT state, transactions FROM bench.run('mine', transactions => 10);
SQL

# Errors before anything starts.
my $run = sub { return "SELECT bench.run(transactions => 1, sql => E'$_[0]')" };
like( as('runner', $run->('\\\\values none a\nSELECT :a;')),
	qr/ERROR:  42704: value set "none" does not exist\nDETAIL:  Script "sql" takes its values in line 1\.\nHINT:  .*bench\.value_sets/, 'a set without rows');
like(as('other', $run->('SELECT 1;\n\\\\values all a\nSELECT :a;')),
	qr/ERROR:  42704: value set "all" does not exist\nDETAIL:  .* line 2\./, 'the set of another role');
like(as('other', "SELECT bench.run('runner.draw', transactions => 1)"), qr/ERROR:  42704: value set "all"/, 'also in a script of that role');
like(as('runner', $run->('\\\\values all a b c d e f g h\nSELECT :a;')),
	qr/ERROR:  22023: value set "all" has too few values for 8 variables: 7 in row 3\nHINT:  Script "sql" takes its values in line 1\. /, 'too many variables');
like(as('runner', $run->('\\\\values all\nSELECT 1;')), qr/ERROR:  42601: sql:1: missing argument in command "values"/, 'no variable');
like(as('runner', $run->('\\\\values all a 1b\nSELECT 1;')), qr/invalid variable name \(1b\) in command "values"\n/, 'an invalid name');
like(as('runner', "SELECT bench.pgbench('--mode=spi -t 1 -f draw')"), qr/draw:1: invalid command in command "values"/, 'pgbench refuses it');
is($sql->("SELECT count(*) FROM bench.runs WHERE state <> 'finished'"), '0', 'nothing was started');

# Rows that no one else sees or writes.
is(as('other', 'SELECT count(*) FROM bench.value_sets'), '0', 'others do not see them');
like(as('other', q{INSERT INTO bench.value_sets (set_name, row_no, values, owner) VALUES ('x', 1, '{1}', 'runner')}),
	qr/ERROR:  42501: new row violates row-level security policy/, 'nor add any');
is(as('other', "DELETE FROM bench.value_sets; SELECT count(*) FROM bench.value_sets"), '0', 'nor delete them');
is($sql->(q{SELECT count(*) FROM bench.value_sets WHERE owner = 'runner'::regrole}), '500', 'they are still there');
foreach my $values ('{}', '{{1,2},{3,4}}')
{
	like(as('runner', "INSERT INTO bench.value_sets (set_name, row_no, values) VALUES ('x', 1, '$values')"), qr/ERROR:  23514: /, "no row $values");
}
my ($dump) = run_command([ 'pg_dump', '-a', $node->connstr('postgres') ]);
unlike($dump, qr/value_sets|it's \\ "1/, 'not in a dump');
unlike(as('runner', 'SELECT bench.export_run(max(run_id)) FROM bench.runs'), qr/2020-01-0/, 'not in an exported run');
unlike($repeat, qr/2020-01-0/, 'not in a report');

# A set of one row, and one that is large.
$sql->(q{INSERT INTO bench.value_sets (set_name, row_no, values) SELECT 'large', k, ARRAY[repeat('x', 100), k::text] FROM generate_series(1, 200000) k;
	INSERT INTO bench.value_sets (set_name, row_no, values) VALUES ('one', -5, '{1}')});
is($sql->(q{SELECT state, transactions FROM bench.run(clients => 2, transactions => 50, sql => E'\\\\values large x k\n\\\\values one o\nSELECT 1 / (length(:x) - 99 * :o);')}),
	'finished|100', 'a large one and one of a single row');

$node->stop;
done_testing();
