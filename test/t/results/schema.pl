# The JSON Schema of exported documents: it has all columns, documents of all kinds are valid, and what
# does not belong into a document is not.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('schema', "fsync = off\nmax_worker_processes = 24\ntrack_io_timing = on\n");

# A single value.
sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

$node->safe_psql('postgres', 'SELECT bench.initialize()');
my $schema = decode_json(value('SELECT bench.export_schema()'));
my $defs = $schema->{'$defs'};

# Its columns are those of the tables: all of them, and those that each row has.
my @tables;
foreach my $line (
	split /\n/, value(
		q{
		SELECT concat_ws('|', t.name, string_agg(c.name, ' ' ORDER BY c.name COLLATE "C"),
		                 string_agg(c.name, ' ' ORDER BY c.name COLLATE "C") FILTER (WHERE c.is_required),
		                 coalesce(string_agg(c.name, ' ' ORDER BY c.name COLLATE "C") FILTER (WHERE c.type = 'bytea'), ''))
		  FROM (SELECT 'bench.runs'::regclass::oid AS relation, 'runs' AS name
		        UNION ALL SELECT relation, name FROM bench_internal.tables_of_runs()) t,
		       LATERAL bench_internal.columns_of_runs(t.relation) c
		 GROUP BY t.name ORDER BY t.name}))
{
	my ($table, $columns, $required, $histograms) = split /\|/, $line, -1;
	push @tables, $table if $table ne 'runs';
	my $properties = $defs->{$table}{properties};
	is(join(' ', sort keys %$properties), $columns, "$table: columns");
	is(join(' ', sort @{ $defs->{$table}{required} }), $required, "$table: columns of all rows");
	is(join(' ', grep { ($properties->{$_}{'$ref'} // '') eq '#/$defs/histogram' } sort keys %$properties),
		$histograms, "$table: histograms");
}
is(join(' ', sort keys %{ $defs->{tables}{properties} }), "@tables", 'all tables of runs');
foreach (
	[ set => 'bench.set_summary' ],
	[ arm => 'bench.arm' ])
{
	my ($name, $type) = @$_;
	my $columns = value(
		qq{SELECT string_agg(attname, ' ' ORDER BY attname COLLATE "C") FROM pg_attribute
		    WHERE attrelid = '$type'::regclass AND attnum > 0 AND NOT attisdropped});
	is(join(' ', sort keys %{ $defs->{$name}{properties} }), $columns, "$name: columns of $type");
}

# Documents of all kinds.
my %documents;

# Keeps the document of the run that a call makes, or of the last one if that fails.
sub run_of
{
	my ($name, $call) = @_;
	my (undef, $run_id) = $node->psql('postgres', "SELECT run_id FROM bench.$call");
	$run_id = value('SELECT max(run_id) FROM bench.runs') if $run_id !~ /^\d+$/;
	$documents{$name} = value("SELECT bench.export_run($run_id)");
	return $run_id;
}
value(q{SELECT bench.define_script('fails', 'SELECT 1 / 0;'), bench.define_script('sleeps', 'SELECT pg_sleep(600);')});
my $spi = run_of('spi', q{run('tpcb-like@2, simple-update', clients => 2, duration => '1 s', warmup => '0.3 s', label => 'spi',
	per_statement => true, log => true, sampling_rate => 0.02, checkpoint => true, variables => '{"answer": 42}')});
run_of('libpq', q{run('tpcb-like', mode => 'libpq', clients => 2, transactions => 100, per_statement => true, log => true, rate => 500,
	latency_limit => 50, reconnect => true, settings => '{"work_mem": "8MB"}')});
run_of('profile', q{run('select-only', duration => '0.5 s', profile => true)});
run_of('warm-up', q{run('select-only', warmup => NULL, max_warmup => '0.3 s', duration => '0.2 s')});
run_of('not observed', q{run('select-only', transactions => 10, observe => false)});
run_of('failed', q{run('fails', transactions => 10)});
run_of('failures', q{run('fails', transactions => 10, continue_on_error => true, failures_detailed => true)});
run_of('target', sprintf(q{run('select-only', mode => 'libpq', transactions => 20, target => '%s')}, $node->connstr('postgres') =~ s/'/''/gr));
value(q{SELECT bench.initialize_pgio(tables => 1, size => '1MB')});
run_of('pgio', 'run_pgio(transactions => 20, work_unit => 8, update_pct => 20, threads_per_table => 2)');
my $canceled = value(q{SELECT bench.start('sleeps', duration => '600 s', clients => 2)});
wait_for($node, "SELECT state = 'running' FROM bench.runs WHERE run_id = $canceled");
value("SELECT bench.cancel($canceled)");
wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $canceled");
$documents{canceled} = value("SELECT bench.export_run($canceled)");
value("UPDATE bench.runs SET state = 'running', segment = 1 WHERE run_id = $canceled");
$documents{lost} = value("SELECT bench.export_run($canceled)");
my $imported = value("SELECT bench.import_run(bench.export_run($spi), label => 'again')");
$documents{imported} = value("SELECT bench.export_run($imported)");

my $common = q{scripts => 'select-only', repeats => 2, transactions => 20};
value(qq{SELECT * FROM bench.compare('[{"clients": 1}, {"clients": 2}]', $common, label => 'compare')});
value(qq{SELECT * FROM bench.sweep('{"clients": [1, 2, 3]}', $common, label => 'sweep')});
value(
	q{INSERT INTO bench.sets (set_id, kind, owner, database_name, label, options, seed, state, started_at, result)
	  SELECT nextval('bench.set_id_seq'), 'find_capacity', owner, database_name, 'find_capacity', '{"percentile": 99}', '1',
	         'finished', now(), '{"verdict": "none"}' FROM bench.sets LIMIT 1});
foreach my $kind (qw(compare sweep find_capacity))
{
	$documents{$kind} = value("SELECT bench.report(set_ids => array_agg(set_id), format => 'json') FROM bench.sets WHERE kind = '$kind'");
}
$documents{'all sets'} = value("SELECT bench.report(set_ids => array_agg(set_id), format => 'json') FROM bench.sets");
$documents{'run of a set'} = value("SELECT bench.export_run(max(run_id)) FROM bench.runs WHERE arm IS NOT NULL");
$documents{label} = value("SELECT bench.report(label => 'spi', format => 'json')");

# What is not such a document: name, and what makes it of one.
my @wrong = (
	[ 'a column that is not known', sub { $_[0]{run}{unknown} = 1 } ],
	[ 'a column of a row that is not known', sub { $_[0]{tables}{run_intervals}[0]{unknown} = 1 } ],
	[ 'a table that is not known', sub { $_[0]{tables}{run_unknown} = [ { a => 1 } ] } ],
	[ 'a table without rows', sub { $_[0]{tables}{run_intervals} = [] } ],
	[ 'a member that is not known', sub { $_[0]{unknown} = 1 } ],
	[ 'no column that all rows have', sub { delete $_[0]{run}{clients} } ],
	[ 'no source', sub { delete $_[0]{source} } ],
	[ 'a number as a text', sub { $_[0]{run}{tps} = 'fast' } ],
	[ 'a count below 0', sub { $_[0]{run}{transactions} = -1 } ],
	[ 'a part of a transaction', sub { $_[0]{run}{transactions} = 1.5 } ],
	[ 'a text as a number', sub { $_[0]{run}{mode} = 1 } ],
	[ 'an unknown state', sub { $_[0]{run}{state} = 'running' } ],
	[ 'NULL', sub { $_[0]{run}{tps} = undef } ],
	[ 'a histogram that is none', sub { $_[0]{run}{histogram} = '\\x00' } ],
	[ 'a time of another zone', sub { $_[0]{run}{created_at} =~ s/\+00:00/+01:00/ } ],
	[ 'another version', sub { $_[0]{format_version} = 2 } ],
	[ 'another format', sub { $_[0]{format} = 'another' } ]);
my $json = JSON::PP->new->allow_bignum->utf8;
$documents{'read and written'} = $json->encode($json->decode($documents{'warm-up'}));
my %wrong;
foreach (@wrong)
{
	my ($name, $change) = @$_;
	my $document = $json->decode($documents{'warm-up'});
	$change->($document);
	$wrong{$name} = $json->encode($document);
}

SKIP:
{
	my ($python) = grep { IPC::Run::run([ $_, '-c', 'from jsonschema import Draft202012Validator' ], '>&', \my $out) }
	  qw(python3 /usr/bin/python3);
	skip 'Python has no module jsonschema 4', keys(%documents) + keys(%wrong) if !defined $python;

	my $directory = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$directory/schema", encode_json($schema));
	my (%file, $number);
	foreach my $set (\%documents, \%wrong)
	{
		foreach my $name (sort keys %$set)
		{
			$file{$name} = "$directory/" . ++$number;
			append_to_file($file{$name}, $set->{$name});
		}
	}
	my ($errors, $stderr) = ('', '');
	my $done = IPC::Run::run(
		[ $python, "$FindBin::RealBin/../../lib/validate.py", "$directory/schema", sort values %file ],
		'>', \$errors, '2>', \$stderr);
	ok($done, 'all documents are read') or diag($stderr);
	my $errors_of = sub { return join "\n", $errors =~ /^\Q$file{$_[0]}\E: (.*)$/mg };
	is($errors_of->($_), '', "valid: $_") foreach sort keys %documents;
	isnt($errors_of->($_), '', "not valid: $_") foreach sort keys %wrong;
}

$node->stop;
remove_data($node);
done_testing();
