# A clock that is set back and forth by an hour: during runs, between the nights of a job, and under pg_cron.
use strict;
use warnings;

use Config;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my ($faketime) = grep { -f } glob '/usr/{,local/}lib{,64,/*}/faketime/libfaketime.so.1';
plan skip_all => 'libfaketime is not installed' unless defined $faketime;

# The postmaster of PostgreSQL 15 starts workers in a signal handler, mostly while it waits in select. libfaketime fakes
# nothing while its select waits, and so never in a process that was forked there: select is left to libc.
my $directory = PostgreSQL::Test::Utils::tempdir();
my ($select, $offset) = ("$directory/select", "$directory/offset");
append_to_file("$select.c", <<'C');
#include <sys/select.h>
extern int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t) { return __select(n, r, w, e, t); }
C
system_or_bail $Config{cc}, '-shared', '-fPIC', '-o', "$select.so", "$select.c";

# The server reads the offset of its clock, in seconds, from a file. The clock of durations is not changed.
sub set_clock
{
	my ($seconds) = @_;

	open my $file, '>', "$offset.new" or die $!;
	printf $file "%+d\n", $seconds;
	close $file;
	return rename "$offset.new", $offset;
}

set_clock(0);
my $has_cron = has_module('pg_cron');
my %faked = (LD_PRELOAD => "$select.so:$faketime", FAKETIME_TIMESTAMP_FILE => $offset, FAKETIME_NO_CACHE => 1,
	FAKETIME_DONT_FAKE_MONOTONIC => 1);

# Does something with the server's environment.
sub faked
{
	my ($do) = @_;

	local @ENV{keys %faked} = values %faked;
	return $do->();
}

my $node = faked(sub { return new_bench_node('clock', <<"CONF") });
max_worker_processes = 30
@{[ $has_cron ? "shared_preload_libraries = 'pg_cron'\ncron.use_background_workers = on" : '' ]}
CONF

sub sql { return sql_as($node, @_); }

# During a run: its figures are those of the clock of durations.
my $of = 'FROM bench.runs r JOIN bench.run_intervals i USING (run_id) WHERE r.label';
foreach my $mode (qw(spi libpq))
{
	sql("SELECT bench.start(sql => 'SELECT 1', mode => '$mode', duration => '10 min', rate => 500, log => true, aggregate_interval => '100 ms', label => '$mode')");
	foreach my $seconds (0, -3600, 3600, 0)
	{
		set_clock($seconds);
		my $before = sql("SELECT transactions FROM bench.progress WHERE label = '$mode'");
		wait_for($node, "SELECT transactions > @{[ ($before || 0) + 200 ]} FROM bench.progress WHERE label = '$mode'");
	}
	my $run = sql("SELECT run_id FROM bench.runs WHERE label = '$mode'");
	sql("SELECT bench.cancel($run)");
	is(sql("SELECT state FROM bench.wait($run)"), 'canceled', "$mode: the run goes on until it is canceled");
	is(sql("SELECT sum(i.transactions) = max(r.transactions), bool_and(i.begins_s BETWEEN 0 AND 600 AND i.seconds > 0 AND i.seconds < 300) $of = '$mode'"),
		't|t', "$mode: its intervals follow each other");
	is(sql(<<"SQL"), 't|t|t', "$mode: its log does, too");
SELECT count(*) = max(r.transactions), bool_and(t.latency_ms BETWEEN 0 AND 300000 AND t.lag_ms BETWEEN 0 AND 300000),
       max(t.ended_at) - min(t.ended_at) < interval '10 min'
  FROM bench.transactions t JOIN bench.runs r USING (run_id) WHERE r.label = '$mode'
SQL
	is(sql("SELECT tps BETWEEN 1 AND 1000, latency_max_ms < 300000 FROM bench.runs WHERE run_id = $run"), 't|t', "$mode: so do its figures");
	like(sql("SELECT string_agg(line, E'\\n') FROM bench.report($run) line"), qr/tps = /, "$mode: its report");
}
my $set = sql("SELECT max(set_id) FROM bench.compare('[{}, {\"mode\": \"libpq\"}]', sql => 'SELECT 1', repeats => 2, transactions => 50, setup => 'SELECT pg_sleep(0.1)')");
is(sql("SELECT state FROM bench.set_summary WHERE set_id = $set"), 'finished', 'a comparison');

# Between the nights of a job. The last one is made at the time of the first ones.
sub end_of_job
{
	my $id = sql("SELECT bench.run_job('hourly')");
	wait_for($node, "SELECT state <> 'running' FROM bench.job_runs WHERE job_run_id = $id");
	wait_until_quiet($node);
	return sql("SELECT state, message FROM bench.job_runs WHERE job_run_id = $id");
}
sql(q(SELECT FROM bench.schedule('hourly', '0 * * * *', '{"sql": "SELECT 1", "transactions": 5, "label": "hourly"}', confirm => 0)));
foreach my $seconds (0, -3600, 0, 3600, 0)
{
	set_clock($seconds);
	my $now = time + $seconds;
	is(end_of_job(), 'finished|', "a job with a clock at $seconds s");
	is(sql("SELECT j.started_at BETWEEN to_timestamp($now - 1) AND to_timestamp($now + 600) AND r.started_at >= j.started_at
	          FROM bench.job_runs j JOIN bench.runs r ON r.run_id = j.run_ids[1] ORDER BY job_run_id DESC LIMIT 1"), 't', 'is of this time');
	is(sql("SELECT outcome, overdue FROM bench.schedules"), 'finished|f', 'and not overdue');
}
is(sql("SELECT array_agg(t.run_ids[1] ORDER BY t.ordinality) = array_agg(t.run_ids[1] ORDER BY t.run_ids[1]), count(*) FROM bench.trend('hourly') WITH ORDINALITY t"),
	't|5', 'nights follow each other by their numbers');
is(sql('SELECT count(*) FROM bench.alerts'), 0, 'no alert tells of a gap');
sql("CALL bench.prune('3 hours', 1)");
is(sql("SELECT count(*) FROM bench.runs WHERE label = 'hourly'"), 5, 'runs that are not older stay');
set_clock(4 * 3600);
sql("CALL bench.prune('2 hours', 1)");
is(sql("SELECT count(*) FROM bench.runs WHERE label = 'hourly'"), 1, 'and go when the clock says so');
set_clock(0);

# pg_cron, which waits for the clock to catch up if it is set back, as above, unless it is started again.
SKIP:
{
	skip 'pg_cron is not installed', 2 unless $has_cron;
	sql('CREATE EXTENSION pg_cron');
	sql(q(SELECT bench.schedule('minutes', '* * * * *', '{"sql": "SELECT 1", "transactions": 5, "label": "minutes"}', confirm => 0)));
	faked(sub { $node->restart });
	foreach my $seconds (3600, -3600)
	{
		my $runs = sql("SELECT count(*) FROM bench.job_runs WHERE job_name = 'minutes'");
		# The minute is over soon.
		set_clock($seconds + 55 - time % 60);
		faked(sub { $node->restart }) if $seconds < 0;
		ok(wait_for($node, "SELECT count(*) > $runs AND bool_and(state = 'finished') FROM bench.job_runs WHERE job_name = 'minutes'"),
			"pg_cron runs a job with a clock at $seconds s");
	}
	sql(q(SELECT bench.unschedule('minutes')));
}
nothing_left_ok($node, 'clock');
$node->stop;
done_testing();
