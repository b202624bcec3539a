# On a hot standby: runs that only read work and are not stored; everything else
# fails with the reason.  Also, the effect of its snapshots on runs of the primary.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $primary = new_bench_node('primary', "max_connections = 30\nshared_buffers = 16MB",
	allows_streaming => 1);
$primary->safe_psql('postgres', 'SELECT bench.initialize()');
my $run_id = $primary->safe_psql('postgres',
	"SELECT run_id FROM bench.run(transactions => 5, label => 'primary')");
my $set_id = $primary->safe_psql('postgres',
	q(SELECT max(set_id) FROM bench.compare('[{"name": "a"}, {"name": "b"}]', scripts => 'select-only', repeats => 1, transactions => 5)));
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);

foreach my $mode (qw(spi libpq))
{
	foreach my $protocol (qw(simple extended prepared))
	{
		my ($status, $stdout, $stderr) = $standby->psql('postgres',
			"SELECT run_id IS NULL, state, transactions, failed FROM bench.run(scripts => 'select-only', mode => '$mode', protocol => '$protocol', clients => 2, transactions => 10)"
		);
		is($stdout, 't|finished|20|0', "select-only, $mode, $protocol");
		like($stderr, qr/NOTICE:  the result is not stored, because this server is a standby/,
			"select-only, $mode, $protocol: notice");
	}
	in_time_ok("select-only for a time, $mode", sub {
		return $standby->safe_psql('postgres',
			"SELECT transactions > 0, failed = 0 FROM bench.run(scripts => 'select-only', mode => '$mode', duration => 0.3 * $_[0], warmup => 0.2 * $_[0])"
		) eq 't|t';
	});
}

# Another run is not shown in place of one that is not stored.
{
	my (undef, undef, $stderr) = $standby->psql('postgres',
		"SELECT state FROM bench.run('select-only', transactions => 1); SELECT bench.report()");
	like($stderr, qr/ERROR:  there is no run to report\nHINT:.*one of a standby is not stored/, 'its report');
}

# Setup and teardown, which nothing keeps.
foreach my $teardown ('SELECT 1', 'CREATE TABLE t ()')
{
	my (undef, $stdout, $stderr) = $standby->psql('postgres',
		"SELECT state FROM bench.run('select-only', transactions => 1, setup => 'SELECT 1', teardown => '$teardown', settings => '{\"work_mem\": \"8MB\"}')");
	is($stdout, 'finished', "setup, teardown: $teardown");
	like($stderr, $teardown eq 'SELECT 1' ? qr/^(?!.*WARNING)/s : qr/WARNING:  teardown failed: cannot execute CREATE TABLE in a read-only transaction/,
		"setup, teardown: $teardown: warnings");
}

# Sets: a comparison returns its rows; what the primary has stored can be read, not continued.
my ($set_status, $set_rows, $set_notices) = $standby->psql('postgres',
	"SELECT string_agg(concat_ws(' ', arm, runs, set_id IS NULL), ',') FROM bench.compare('[{\"name\": \"a\"}, {\"name\": \"b\"}]', scripts => 'select-only', repeats => 1, transactions => 5)");
is($set_rows, 'a 1 t,b 1 t', 'bench.compare');
unlike($set_notices, qr/WARNING|ERROR/, 'bench.compare: notices');
is($standby->safe_psql('postgres', "SELECT string_agg(arm || runs, ',') FROM bench.arms($set_id)"), 'a1,b1', 'bench.arms');
like($standby->safe_psql('postgres', "SELECT bench.report(set_ids => ARRAY[$set_id])"), qr/\bb\b/, 'bench.report');
is($standby->safe_psql('postgres', 'SELECT state FROM bench.set_summary'), 'finished', 'bench.set_summary');
# The locks of those in progress are not seen here.
copy_rows($primary, 'sets', "set_id = $set_id", '1, 1', state => "'running'", set_id => '9999');
$primary->wait_for_catchup($standby);
is($primary->safe_psql('postgres', 'SELECT state FROM bench.set_summary WHERE set_id = 9999'), 'lost', 'a lost set on the primary');
is($standby->safe_psql('postgres', 'SELECT state FROM bench.set_summary WHERE set_id = 9999'), 'running', 'it may be in progress there');
$primary->safe_psql('postgres', 'DELETE FROM bench.sets WHERE set_id = 9999');

my %writes = (
	'bench.run, tpcb-like'     => 'SELECT bench.run(transactions => 1)',
	'bench.run, simple-update' =>
	  "SELECT bench.run(scripts => 'simple-update', transactions => 1)",
	'bench.run, a mixture' =>
	  "SELECT bench.run(scripts => 'tpcb-like,select-only', transactions => 1)",
	'bench.run, libpq'   => "SELECT bench.run(mode => 'libpq', transactions => 1)",
	'bench.start'        => 'SELECT bench.start(transactions => 1)',
	'bench.start, reads' => "SELECT bench.start(scripts => 'select-only', transactions => 1)",
	'bench.resume'       => "SELECT bench.resume($set_id)",
	'bench.sweep'        => q(SELECT bench.sweep('{"clients": [1, 2]}', scripts => 'select-only', transactions => 1)),
	'bench.find_capacity' => 'SELECT bench.find_capacity(10)',
	'bench.compare'      => q(SELECT bench.compare('[{"name": "reads", "scripts": "select-only"}, {"name": "writes"}]', transactions => 1)),
	'bench.pgbench'      => q(SELECT bench.pgbench('-t 1')),
	'bench.delete_runs'  => "SELECT bench.delete_runs('{$run_id}')",
	'bench.define_script'   => q(SELECT bench.define_script('x', 'SELECT 1')),
	'bench.drop_script'     => q(SELECT bench.drop_script('x')),
	'bench.finish_teardown' => "SELECT bench.finish_teardown($run_id)",
	'bench.import_run'   => "SELECT bench.import_run(bench.export_run($run_id)::json)",
	'bench.grant_to'     => q(SELECT bench.grant_to('pg_monitor')),
	'bench.schedule'     => q(SELECT bench.schedule('x', '0 3 * * *', '{"transactions": 1}')),
	'bench.unschedule'   => q(SELECT bench.unschedule('x')),
	'bench.run_job'      => q(SELECT bench.run_job('x')),
	'bench.acknowledge'  => 'SELECT bench.acknowledge(1)',
	'bench.set_baseline' => "SELECT bench.set_baseline($run_id)",
	'bench.prune'        => q(CALL bench.prune('1 day')),
	'bench.initialize_pgio' => 'SELECT bench.initialize_pgio()',
	'bench.initialize'   => 'SELECT bench.initialize()');
foreach my $name (sort keys %writes)
{
	my ($status, $stdout, $stderr) =
	  $standby->psql('postgres', "\\set VERBOSITY verbose\n$writes{$name}");
	like($stderr, qr/ERROR:  25006: cannot .*on a standby.*\n.*HINT:/, "$name: clear error");
	is(() = ($stderr =~ /(?:ERROR|WARNING|NOTICE):/g), 1, "$name: once");
}

# Results of the primary can be looked at.
like($standby->safe_psql('postgres', "SELECT bench.report($run_id)"),
	qr/scaling factor: 1/, 'report');
is($standby->safe_psql('postgres', "SELECT state FROM bench.wait($run_id)"),
	'finished', 'bench.wait');
is($standby->safe_psql('postgres', "SELECT label FROM bench.run_summary WHERE set_id IS NULL"), 'primary', 'run_summary');
foreach my $call ("report($run_id, 'html')", "report($run_id, 'markdown')", "report(label => 'primary', format => 'html')",
	"chart($run_id, 'latency')", "plot($run_id)", 'dashboard(inline => 1)')
{
	# But for when a page was made.
	my ($here, $there) = map { $_->safe_psql('postgres', "SELECT bench.$call") =~ s/\d\d:\d\d UTC//r } $standby, $primary;
	cmp_ok(length $here, '>', 100, "bench.$call");
	ok($here eq $there, "bench.$call is that of the primary");
}

# Runs of the primary report the standby's snapshots: by the walsender, or by the
# replication slot, if there is one.
sub held_by_standby
{
	my ($name) = @_;
	$primary->safe_psql('postgres',
		"SELECT bench.run(scripts => 'simple-update', transactions => 300, vacuum => 'none', label => '$name')");
	return $primary->safe_psql('postgres',
		"SELECT snapshot_held_s = seconds, snapshot_held_by FROM bench.runs WHERE label = '$name'");
}
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->reload;
my $reader = $standby->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $xmin = $reader->query_safe('SELECT txid_snapshot_xmin(txid_current_snapshot())');
wait_for($primary, "SELECT backend_xmin::text = '$xmin' FROM pg_stat_replication");
like(held_by_standby('feedback'), qr/^t\|process \d+ \(walsender, role \w+, standby\)$/,
	'a snapshot of the standby');
$primary->safe_psql('postgres', q(SELECT pg_create_physical_replication_slot('of_standby')));
$standby->append_conf('postgresql.conf', 'primary_slot_name = of_standby');
$standby->reload;
wait_for($primary, "SELECT xmin::text = '$xmin' FROM pg_replication_slots");
is(held_by_standby('slot'), 't|replication slot of_standby', 'a snapshot of the standby, by its slot');
$reader->query_safe('COMMIT');
$reader->quit;
# Without a query there, the slot moves on from time to time, but not between all looks at it.
$standby->append_conf('postgresql.conf', 'wal_receiver_status_interval = 4');
$standby->reload;
my $moving = $primary->safe_psql('postgres', "SELECT bench.start('simple-update', duration => '10 min', vacuum => 'none', label => 'moving')");
foreach (1 .. 3)
{
	$xmin = $primary->safe_psql('postgres', 'SELECT xmin FROM pg_replication_slots');
	wait_for($primary, "SELECT xmin::text <> '$xmin' FROM pg_replication_slots");
}
$primary->safe_psql('postgres', "SELECT bench.cancel($moving); SELECT FROM bench.wait($moving)");
unlike($primary->safe_psql('postgres', "SELECT snapshot_held_by FROM bench.runs WHERE run_id = $moving"), qr/walsender|slot/,
	'a standby without a query holds no snapshot');

# A run in progress on the primary is not in progress here.
my $live = $primary->safe_psql('postgres', "SELECT bench.start(duration => '10 min', vacuum => 'none', label => 'live')");
wait_for_transactions($primary, 'live');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $live"),
	'running', 'a run of the primary');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM bench.progress'),
	0, 'it is not in progress here');
is($standby->safe_psql('postgres', "SELECT finding FROM bench.advice($live)"),
	'the run is still in progress', 'but it is not lost');
(undef, undef, my $refused) = $standby->psql('postgres', "SELECT bench.export_run($live)");
like($refused, qr/ERROR:  run $live is in progress/, 'and its document is not that of a lost run');
is($standby->safe_psql('postgres', "SELECT bench.cancel($live)"), 'f', 'nor can it be canceled');
(undef, undef, $refused) = $standby->psql('postgres', "SELECT bench.wait($live)");
like($refused, qr/ERROR:  run $live is in progress on the primary\nHINT:  Wait for it there\./, 'nor waited for');
is($primary->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $live"),
	'running', 'it goes on');

# Canceled on the standby.
my $caller = start_sql($standby,
	"SELECT bench.run(scripts => 'select-only', clients => 2, duration => '10 min')", name => 'caller');
wait_for($standby,
	"SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench spi client'");
signal_sql($caller, 'INT');
my (undef, $stderr) = finish_sql($caller);
like($stderr, qr/57014: canceling statement due to user request/, 'Ctrl-C on the standby');

# Limits of roles hold here, too.
$primary->safe_psql('postgres', <<'SQL');
CREATE ROLE limited LOGIN;
SELECT bench.grant_to('limited');
ALTER ROLE limited SET pg_selfbench.max_clients = 2;
ALTER ROLE limited SET pg_selfbench.max_concurrent_runs = 1;
SELECT bench.schedule('nightly', '0 3 * * *', '{"sql": "SELECT 1", "transactions": 5, "label": "nightly"}');
SQL
$primary->wait_for_catchup($standby);
my @as_limited = (extra_params => [ '-U', 'limited' ]);
my $run = sub { return "SELECT bench.run(sql => 'SELECT pg_sleep(0.1)', clients => $_[0], duration => '10 min')" };
my $first = start_sql($standby, $run->(2), user => 'limited');
wait_for($standby, "SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench spi client'");
(undef, undef, $refused) = $standby->psql('postgres', $run->(3), @as_limited);
like($refused, qr/number of clients \(3\) exceeds limit "pg_selfbench\.max_clients" \(2\)/, 'a limit of the clients');
(undef, undef, $refused) = $standby->psql('postgres', $run->(1), @as_limited);
like($refused, qr/number of runs at the same time \(2\) exceeds limit/, 'and of the runs at the same time');
signal_sql($first, 'INT');
finish_sql($first);

nothing_left_ok($standby, 'standby');

# A promotion in mid-run: each transaction of these runs ends after it.
my $until_promoted = 'DO $$ BEGIN WHILE pg_is_in_recovery() LOOP PERFORM pg_sleep(0.01); END LOOP; END $$';
my %through = map {
	$_ => start_sql($standby, "SELECT run_id IS NULL, state, transactions FROM bench.run(mode => '$_', sql => '$until_promoted', clients => 2, transactions => 2)")
} qw(spi libpq);
wait_for($standby, "SELECT count(*) = 4 FROM pg_stat_activity WHERE query LIKE 'DO%pg_is_in_recovery%' AND state = 'active' AND pid <> pg_backend_pid()");
$primary->stop('immediate');
$standby->promote;
foreach my $mode (sort keys %through)
{
	my ($stdout, $stderr) = finish_sql($through{$mode});
	is($stdout, 't|finished|4', "promotion in mid-run, $mode");
	like($stderr, qr/NOTICE:.*the result is not stored, because this server is a standby/, "promotion in mid-run, $mode: notice");
}
nothing_left_ok($standby, 'promotion in mid-run');
is( $standby->safe_psql('postgres', 'SELECT state, transactions FROM bench.run(transactions => 5)'),
	'finished|5',
	'after promotion it stores runs like any other server');
is($standby->safe_psql('postgres', "SELECT state FROM bench.runs WHERE run_id = $live"),
	'lost', 'and the run that was under way is lost');
$standby->safe_psql('postgres', "SELECT bench.run_job('nightly')");
wait_for($standby, "SELECT state <> 'running' FROM bench.job_runs");
is($standby->safe_psql('postgres', "SELECT j.state, r.state, cardinality(j.run_ids) FROM bench.job_runs j JOIN bench.runs r ON r.run_id = j.run_ids[1] WHERE r.label = 'nightly'"),
	'finished|finished|1', 'jobs go on');
wait_until_quiet($standby);
$standby->stop;
done_testing();
