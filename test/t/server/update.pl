# Updates of the extension, and a library that is newer than the extension.
#
# test/versions has the scripts of a version before and of one after this one, which never were.
use strict;
use warnings;

use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# A directory of extensions of the test's own: the installed files, and those of the other versions.
my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
my ($libdir) = run_command([ 'pg_config', '--pkglibdir' ]);
my $installed = '';
my $setting = '';
if ($ENV{TEMP_CONFIG} && slurp_file($ENV{TEMP_CONFIG}) =~ /^(extension_(?:destdir|control_path)) = '(.*?)(?:\Q$sharedir\E:\$system)?'$/m)
{
	($setting, $installed) = ($1, $2);
}
plan skip_all => 'the server finds extensions in its own directories only' if $setting eq '';

my $own = PostgreSQL::Test::Utils::tempdir();
my ($extensions, $library) = ("$own$sharedir/extension", "$own$libdir/pg_selfbench.so");
system_or_bail('mkdir', '-p', $extensions, "$own$libdir");
my ($script) = glob "$installed$sharedir/extension/pg_selfbench--*.*.*.sql";
my ($version) = $script =~ /pg_selfbench--(.*)\.sql$/;
copy("$installed$libdir/pg_selfbench.so", $library) or die $!;
foreach my $file ($script, "$installed$sharedir/extension/pg_selfbench.control", glob 'test/versions/*.sql')
{
	(my $name = $file) =~ s/.*\///;
	$name =~ s/now/$version/;
	copy($file, "$extensions/$name") or die $!;
}

my $node = PostgreSQL::Test::Cluster->new('update');
$node->init;
$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->append_conf('postgresql.conf',
	$setting eq 'extension_destdir'
	? "extension_destdir = '$own'"
	: "extension_control_path = '$own$sharedir:\$system'\ndynamic_library_path = '$own$libdir:\$libdir'");
$node->start;

my $grants = "SELECT bench.grant_to('user_of_it'); GRANT EXECUTE ON FUNCTION bench.run TO heir WITH GRANT OPTION;";
$node->safe_psql('postgres', 'CREATE ROLE user_of_it LOGIN; CREATE ROLE heir; CREATE DATABASE fresh; CREATE DATABASE old');

# A fresh installation, and an updated one.
$node->safe_psql('fresh', "CREATE EXTENSION pg_selfbench VERSION next; $grants");
$node->safe_psql('postgres', "CREATE EXTENSION pg_selfbench; $grants");
$node->safe_psql('postgres', <<'SQL');
SELECT bench.initialize();
SELECT bench.run(transactions => 20, label => 'before');
CREATE VIEW mine AS SELECT run_id, tps FROM bench.run_summary;
CREATE FUNCTION mine() RETURNS SETOF float8 LANGUAGE sql AS $$ SELECT tps FROM bench.run(transactions => 5) $$;
CREATE VIEW in_the_way AS SELECT * FROM bench.run(transactions => 5);
SQL
my $before = $node->safe_psql('postgres', 'SELECT * FROM mine');
(my $document = $node->safe_psql('postgres', 'SELECT bench.export_run(1)')) =~ s/'/''/g;
$node->safe_psql('fresh', "SELECT bench.import_run('$document')");
is($node->safe_psql('fresh', 'SELECT transactions, spare_ms, spare FROM bench.runs'), '20|0|', 'a later version imports a document of this one');
my $of_objects = extension_objects($node, 'postgres');
my $error = error_as($node, 'ALTER EXTENSION pg_selfbench UPDATE TO next');
like($error, qr/view public\.in_the_way depends on function bench\.run/, 'an update names the view that it would drop');
is(extension_objects($node, 'postgres'), $of_objects, '  and changes nothing');
$node->safe_psql('postgres', 'DROP VIEW in_the_way; ALTER EXTENSION pg_selfbench UPDATE TO next');

my ($fresh, $updated) = map { extension_objects($node, $_) } qw(fresh postgres);
is(lines_without($fresh, $updated), '', 'an updated extension has all that a fresh one has');
is(lines_without($updated, $fresh), '', '  and nothing else');
cmp_ok(scalar(split /\n/, $fresh), '>', 1000, '  of many objects');
is($node->safe_psql('postgres', 'SELECT * FROM mine'), $before, "a user's view goes on");
like($node->safe_psql('postgres', "SELECT string_agg(l, E'\n') FROM bench.report(1) l"), qr/before/, 'stored runs are reported');
is($node->safe_psql('postgres', 'SELECT bench.spare(7)', extra_params => [ '-U', 'user_of_it' ]), 7, 'a role that uses the extension may use what is new');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.run_spares', extra_params => [ '-U', 'user_of_it' ]), 0, '  tables as well');
my $dump = sub { my ($out) = run_command([ 'pg_dump', '-s', '-d', $node->connstr($_[0]) ]); return join "\n", sort grep { /GRANT/ } split /\n/, $out };
is(lines_without($dump->('fresh'), $dump->('postgres')), '', 'pg_dump writes the grants on functions that were created again');
is(lines_without($dump->('postgres'), $dump->('fresh')), '', '  and no others');

# The library is older than the extension.
like(error_as($node, 'SELECT * FROM bench.run(transactions => 1)'),
	qr/does not know argument "spare"/, 'an older library refuses a function with more arguments');

# The library is newer than the extension: between the update of a package and ALTER EXTENSION. The version before
# has neither all figures nor all options.
$node->safe_psql('old', "CREATE EXTENSION pg_selfbench VERSION previous; $grants");
unlike($node->safe_psql('old', 'SELECT pg_get_function_arguments(p) FROM unnest(ARRAY[\'bench.run\'::regproc]) p'), qr/client_process/,
	'the version before has an option less');
$node->safe_psql('old', 'SELECT bench.initialize()');
foreach my $mode (qw(spi libpq))
{
	my ($run, $state, $transactions) = split /\|/, $node->safe_psql('old',
		"SELECT run_id, state, transactions FROM bench.run(mode => '$mode', clients => 2, transactions => 30, per_statement => true)");
	is("$state $transactions", 'finished 60', "mode $mode: an older extension makes a run");
	is($node->safe_psql('old', "SELECT count(*) FROM bench.run_intervals WHERE run_id = $run") > 0, 1, '  stores it');
	foreach my $format (qw(text json html markdown))
	{
		cmp_ok(length $node->safe_psql('old', "SELECT string_agg(l, E'\n') FROM bench.report($run, '$format') l"), '>', 500, "  reports it as $format");
	}
	ok($node->safe_psql('old', "SELECT count(*) FROM bench.time_budget('{$run}')") > 0, '  has a time budget');
	$node->safe_psql('old', "SELECT * FROM bench.advice($run)");
}
is($node->safe_psql('old', "SELECT count(*) FROM bench.compare('[{}, {\"clients\": 2}]', repeats => 2, transactions => 5)"), 2, 'a comparison');

# The library is replaced while a session has loaded it. Another version is marked by another number in the file.
my $session = $node->background_psql('old', on_error_stop => 0);
$session->query_safe('SELECT bench.random_int(1, 1, 1, 1, 9)');
$node->safe_psql('old', "SELECT bench.start(duration => '10 min')");
my ($mark) = grep { /^....fles$/s } map { substr slurp_file($_), 0, 8 } glob $node->data_dir . '/pg_dynshmem/mmap.*';
$node->safe_psql('old', 'SELECT bench.cancel(max(run_id)) FROM bench.runs');
my $bytes = slurp_file($library);
my $other = ("\x01" ^ substr($mark, 0, 1)) . substr($mark, 1);
cmp_ok($bytes =~ s/\Q$mark\E/$other/g, '>', 0, 'the library has the mark of its version');
open my $file, '>:raw', "$library.new" or die $!;
print $file $bytes;
close $file;
rename "$library.new", $library or die $!;
$session->query('SELECT bench.run(transactions => 1)');
like($session->{stderr}, qr/ERROR:  the library of pg_selfbench has been replaced since this session loaded it\nHINT:  Reconnect/,
	'a session with an older library is told');
$session->quit;
is($node->safe_psql('old', "SELECT state FROM bench.run(transactions => 1)"), 'finished', '  a new one works');

nothing_left_ok($node, 'nothing is left');
$node->stop;
remove_data($node);
done_testing();
