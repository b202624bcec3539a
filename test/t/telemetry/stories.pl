# Eleven stories made on purpose: the report of each run names first what happened in it, and that of a run in which
# nothing happened names nothing.
#
# COUNT=10 is how often each story is made in each mode, of which nine in ten have to be told; by default it is
# tried until it is told once.  STORY= is a regular expression for names.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(sleep);

my $count  = $ENV{COUNT};
my $chosen = $ENV{STORY} // '';
my $tries  = 4;

# Files of WAL are smaller than the limit that takes the place of a full disk.
my $node = new_bench_node(
	'stories',
	"fsync = off\nautovacuum_naptime = 1s\nautovacuum_max_workers = 2\ncheckpoint_timeout = 1h\nmax_worker_processes = 32\nshared_buffers = 2MB\n",
	extra => ['--wal-segsize=1']);
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$far->start;
my ($target) = map { s/'/''/gr } $far->connstr('postgres');

# A transaction of some milliseconds takes several times as long while the flag is set.
$node->safe_psql('postgres', $_) foreach (<<'SQL', <<'SQL');
SET client_min_messages = warning;
SELECT bench.initialize(scale => 1);
CREATE TABLE flag (slow boolean) WITH (autovacuum_enabled = false);
INSERT INTO flag VALUES (false);
CREATE TABLE swept WITH (autovacuum_enabled = false, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)
    AS SELECT i FROM generate_series(1, 50000) i;
DELETE FROM swept;
CREATE TABLE held AS SELECT 1 AS i;
CREATE TABLE filler (t text) WITH (autovacuum_enabled = false);
SQL
SELECT bench.define_script('flagged', 'SELECT pg_sleep(CASE WHEN slow THEN 0.04 ELSE 0.01 END) FROM flag;'),
       bench.define_script('long', 'SELECT pg_sleep(0.1);'),
       bench.define_script('unequal', E'\\if :client_id = 0\nSELECT pg_sleep(0.1);\n\\else\nSELECT pg_sleep(0.01);\n\\endif'),
       bench.define_script('fill', 'INSERT INTO filler SELECT repeat(''x'', 1000) FROM generate_series(1, 200);'),
       bench.define_script('reads', 'SELECT pg_sleep(0.01) FROM held;'),
       bench.define_script('compute', 'SELECT count(*) FROM generate_series(1, 200);'),
       bench.define_script('steady', 'SELECT pg_sleep(0.01);');
SQL

sub value { return $node->safe_psql('postgres', $_[0]) }

sub flag { return value("UPDATE flag SET slow = $_[0]") }

# Waits until the run has lasted so many seconds.
sub after
{
	my ($seconds) = @_;
	return wait_for($node, "SELECT bool_or(seconds > $seconds) FROM bench.progress");
}

# Stops or resumes all sessions of the target.
sub signal_far
{
	my ($signal, @pids) = @_;
	@pids = split /\n/, $far->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	  if !@pids;
	kill $signal, @pids;
	return @pids;
}

sub limit_files
{
	my ($bytes) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	system_or_bail('prlimit', "--pid=$pid", "--fsize=$bytes:unlimited");
	return;
}

my $holder = $node->background_psql('postgres');
$holder->set_query_timer_restart; # with COUNT, it is used for longer
$holder->query_safe("SET application_name = 'locker'");

# Each story: its name; script and options of its run; what happens meanwhile, in a run of $_[0] times the usual length;
# what the report says; the modes if not both.
my @stories = (
	[
		'a lock',
		"'reads', clients => 2, duration => 5 * TIMES",
		sub {
			after(1);
			$holder->query_safe('BEGIN; LOCK TABLE held');
			sleep(1.5 * $_[0]);
			$holder->query_safe('COMMIT');
		},
		qr/^(No transaction|Only \d+ transactions?) for \d+\.\d s from \d+\.\d s on: LOCK TABLE held by application locker, idle in transaction/
	],
	[
		'a checkpoint',
		"'flagged', clients => 2, duration => 4 * TIMES, aggregate_interval => '500 ms'",
		sub {
			after(1.5);
			flag('true');
			# One in each interval.
			foreach (1 .. 15 * $_[0])
			{
				value('CHECKPOINT');
				sleep(0.1);
			}
			flag('false');
		},
		qr/^A checkpoint slowed the run down: in \d+ of \d+ intervals/
	],
	[
		'an autovacuum',
		"'flagged', clients => 2, duration => 7 * TIMES, aggregate_interval => '500 ms'",
		sub {
			after(1);
			value('ALTER TABLE swept SET (autovacuum_enabled = true)');
			my $vacuums = "FROM pg_stat_activity WHERE query LIKE 'autovacuum: VACUUM %public.swept%'";
			wait_for($node, "SELECT count(*) > 0 $vacuums");
			flag('true');
			sleep(2 * $_[0]);
			value('ALTER TABLE swept SET (autovacuum_enabled = false)');
			value("SELECT pg_terminate_backend(pid) $vacuums");
			flag('false');
		},
		qr/^Autovacuum slowed the run down: in \d+ of \d+ intervals/
	],
	[
		'a CPU hog',
		"'select-only', vacuum => 'none', clients => 2, duration => 4 * TIMES, warmup => 1",
		undef,
		qr/^Other processes used the CPUs: \d+% of the CPU time/
	],
	[
		'a full disk',
		"'fill', clients => 2, duration => 60",
		sub { },
		qr/The run failed: .*could not (extend|write)/
	],
	[
		'a target that stops',
		"'steady', mode => 'libpq', target => '$target', clients => 2, duration => 5 * TIMES",
		sub {
			after(1.5);
			my @pids = signal_far('STOP');
			sleep(2 * $_[0]);
			signal_far('CONT', @pids);
		},
		qr/^(No transaction|Only \d+ transactions?) for \d+\.\d s from \d+\.\d s on: the target did not answer/,
		'libpq'
	],
	[
		'overload at a rate',
		"'compute', clients => 4, rate => 3000000, duration => 3 * TIMES, warmup => 1",
		undef,
		qr/^The rate was missed: by \d+%/
	],
	[
		'a cold start',
		"'flagged', clients => 2, duration => 8 * TIMES",
		sub {
			after(1.2);
			flag('false');
		},
		qr/^The figures include a warm-up: no warm-up; [\d.]+ tps in the first interval/
	],
	[
		'too few clients',
		"'long', clients => 1, rate => 200, duration => 4 * TIMES",
		undef,
		qr/^The rate was missed: too few clients: by \d+%/
	],
	[
		'clients of unequal luck',
		"'unequal', clients => 4, duration => 4 * TIMES, warmup => 1",
		undef,
		qr/^Clients were of unequal luck: client 0 completed \d+ transactions, others up to \d+/
	],
	[
		'nothing at all',
		"'steady', clients => 2, duration => 4 * TIMES, warmup => 1",
		undef,
		# A machine that others use is told, since it is true.
		qr/^(Other (processes|virtual machines) .*)?$/
	]);

# Processes that keep all CPUs busy, until they are ended.
sub hogs
{
	return map { IPC::Run::start([ $^X, '-e', '1 while getppid() != 1' ]) } 1 .. 6;
}

# Makes a story in a run of so many times the usual length; what its report names first.
sub told_by
{
	my ($name, $run, $happens, $mode, $times) = @_;
	my $arguments = $run =~ s/(\d+) \* TIMES/$1 * $times/er;
	$arguments .= ", mode => '$mode'" if $run !~ /mode =>/;
	flag($name eq 'a cold start' ? 'true' : 'false');
	my @hogs = $name eq 'a CPU hog' ? hogs() : ();
	limit_files(8 << 20) if $name eq 'a full disk';
	my $session = start_sql($node, "SELECT state FROM bench.run($arguments, label => '$name')");
	$happens->($times) if defined $happens;
	my (undef, $stderr) = finish_sql($session);
	if ($name eq 'a full disk')
	{
		limit_files('unlimited');
		value('TRUNCATE filler');
	}
	$_->kill_kill foreach @hogs;
	my $id = latest_run($node, $name)->{run_id};
	diag("$name, $mode: $stderr") if !$id;
	my $markdown = value("SELECT bench.report($id, 'markdown')");
	# Markdown escapes some characters.
	my ($lead) = $markdown =~ /^## Result\n\n(.*?)\n\n/ms;
	$lead =~ s/\\|\*\*//g;
	# Behind the figures, and what became of the rate.
	return $lead =~ s/^\d.*?ms on average(?:; 95 of 100 took at most [\d.,]+ ms)?\. ?//sr =~ s/^The rate was [^:]*? per second\. ?//r;
}

foreach my $story (@stories)
{
	my ($name, $run, $happens, $told, @modes) = @$story;
	next if $name !~ /$chosen/;
	foreach my $mode (@modes ? @modes : qw(spi libpq))
	{
		my $good = 0;
		foreach my $try (1 .. $count // $tries)
		{
			my $first = told_by($name, $run, $happens, $mode, defined $count ? 1 : $try);
			my $is_good = $first =~ $told;
			note("$name, $mode: $first");
			$good += $is_good;
			last if $good && !defined $count;
		}
		cmp_ok($good, '>=', defined $count ? 0.9 * $count : 1, "$name, $mode: told first");
	}
}

# The rows of stalls and clients.
if ('a lock' =~ /$chosen/)
{
	is( value(<<'SQL'), 't|t|t|t|t|Lock|relation|public.held|client backend|locker|t', 'run_stalls');
SELECT s.length_s > 1, s.begin_s >= 0, s.clients = 2, s.transactions <= 0.1 * s.expected, s.blocker_pid > 0,
       s.class, s.event, s.relation, s.blocker, s.blocker_application, s.blocker_statement_at <= r.finished_at
  FROM bench.run_stalls s JOIN bench.runs r USING (run_id)
 WHERE label = 'a lock' AND blocker_application = 'locker' ORDER BY run_id DESC, length_s DESC LIMIT 1
SQL
	is( value(<<'SQL'), 't', 'run_clients has the transactions of the run');
SELECT bool_and(ok) FROM (
    SELECT sum(c.transactions) = r.transactions AND count(*) = r.clients AND sum(c.failed) = r.failed AS ok
      FROM bench.runs r JOIN bench.run_clients c USING (run_id) GROUP BY run_id) r
SQL
	like(value("SELECT bench.chart(max(run_id), 'tps') FROM bench.runs WHERE label = 'a lock'"),
		qr/<title>stall, /, 'charts over time mark stalls');
}

$holder->quit;
nothing_left_ok($node, 'stories');
$far->stop;
$node->stop;
done_testing();
