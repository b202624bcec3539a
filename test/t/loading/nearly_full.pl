# An immediate shutdown in the middle of a load that nearly fills its file system, and recovery there: its step is rolled
# back. What is left are the files of tables that were not committed; once their database is dropped, the load succeeds.
#
# LOAD_SCALE=  100 in make soak
use strict;
use warnings;

use Test::More;

# The file system is one in memory, of a name space that this process and all that it starts are in.
BEGIN
{
	my @own = qw(unshare --user --map-current-user --keep-caps --mount);
	my $can = $ENV{OWN_MOUNTS} || system("@own mount -t tmpfs tmpfs /tmp 2>/dev/null") == 0;
	plan skip_all => 'no file system can be mounted here' if !$can;
	if (!$ENV{OWN_MOUNTS})
	{
		$ENV{OWN_MOUNTS} = 1;
		exec @own, $^X, (map { "-I$_" } @INC), $0 or die "unshare: $!";
	}
}

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Time::HiRes qw(usleep);

my $scale = $ENV{LOAD_SCALE} // 20;
my $load  = "SELECT count(*) FROM bench.initialize(scale => $scale, workers => 2)";

my $node = PostgreSQL::Test::Cluster->new('nearly_full');
my $directory = $node->basedir;
my $megabytes = 300 + 17 * $scale;
system_or_bail(qw(mount -t tmpfs -o), "size=${megabytes}m,mode=0700", 'tmpfs', $directory);
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', "autovacuum = off\nmin_wal_size = 8MB\nmax_wal_size = 64MB\nwal_recycle = off\n");
$node->start;

sub new_database
{
	$node->safe_psql('postgres', $_) foreach 'DROP DATABASE IF EXISTS ours', 'CREATE DATABASE ours';
	return $node->safe_psql('ours', 'CREATE EXTENSION pg_selfbench; SELECT count(*) FROM bench.initialize()');
}

# Free kilobytes.
sub free
{
	my ($lines) = run_command([ 'df', '--output=avail', $directory ]);
	return $lines =~ /(\d+)\s*$/ ? $1 : die $lines;
}

# Bytes that files of tables take, which have gaps while two processes write them.
sub written
{
	my $blocks = 0;
	$blocks += (stat)[12] // 0 foreach glob $node->data_dir . '/base/*/*';
	return 512 * $blocks;
}

sub fill
{
	my ($left, $name) = @_;
	system_or_bail('fallocate', '-l', (free() - $left) . 'K', "$directory/$name");
	return;
}

my $rows = 'SELECT count(*), sum(aid) FROM pgbench_accounts';
is(new_database(), 5, 'tables of scale 1');
$node->safe_psql('postgres', 'CHECKPOINT');

# What the load says that it needs, and a twentieth more. It leaves out the files in which a server sorts keys, about as
# large as these, where the loader does not write them.
fill(1000, 'all');
my (undef, undef, $error) = $node->psql('ours', $load);
like($error, qr/About (\d+) MB are needed/, 'a load that does not fit says what it needs');
my $needed = $error =~ /About (\d+) MB are needed/ ? int(1024 * $1 * 1.05) : die $error;
$needed += 3 * 1024 * $scale if !loader_writes_keys($node);
unlink "$directory/all";
fill($needed, 'most');

# Until two fifths of the accounts are written, 13 MB for each unit of scale.
my $before = written();
my $caller = start_sql($node, $load, database => 'ours');
usleep(1000) while written() < $before + 0.4 * 13e6 * $scale && !has_ended($caller);
# What pg_ctl does, without its start-up time.
kill 'QUIT', $node->{_pid};
$node->{_pid} = undef;
finish_sql($caller);
# Recovery has hardly any space.
fill(16 * 1024, 'rest');
ok(start_after_kill($node), 'the server starts again, with 16 MB free');
cmp_ok(free(), '>', 0, '  and more than it needs');
is($node->safe_psql('ours', $rows), '0|', 'its step is rolled back: the tables are empty');
nothing_left_ok($node, 'recovery');

# The file of a table that a crash keeps from being committed stays until its database is dropped.
(undef, undef, $error) = $node->psql('ours', $load);
like($error, qr/About \d+ MB are needed/, 'the next load sees that there is no space');
new_database();
unlink "$directory/rest";
is($node->safe_psql('ours', $load), 5, 'the next load into a new database succeeds');
is($node->safe_psql('ours', $rows), join('|', $scale * 100000, $scale * 50000 * ($scale * 100000 + 1)), '  with all rows');
cmp_ok(free(), '<', $needed / 4, '  and the file system is nearly full');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
