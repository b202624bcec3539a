# Arms with statements before and after their runs, and with settings.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('arms', "fsync = off\nmax_worker_processes = 16\nautovacuum = off\n");
$node->safe_psql(
	'postgres', q{
	CREATE TABLE people (id int PRIMARY KEY, name text);
	INSERT INTO people SELECT i, 'name ' || i FROM generate_series(1, 20000) i;
	ANALYZE people;
	CREATE TABLE seen (setting text);
	CREATE ROLE plain LOGIN;
	SELECT bench.grant_to('plain');
	SELECT bench.define_script('by name', E'\\\\set i random(1, 20000)\nSELECT id FROM people WHERE name = ''name '' || :i;');
	SELECT bench.define_script('tell', 'INSERT INTO seen VALUES (current_setting($$work_mem$$));');
	SELECT bench.define_script('gate', 'SELECT pg_advisory_xact_lock_shared(1);')});

sub query { return (finish_sql(start_sql($node, @_)))[0]; }
sub complaints { return (finish_sql(start_sql($node, @_)))[1]; }

# An index that only one arm has is used by that arm alone.
my $index = q([{"name": "without"}, {"name": "with", "setup": "CREATE INDEX people_name ON people (name)", "teardown": "DROP INDEX people_name"}]);
is(query("SELECT string_agg(arm || ' ' || runs || ' ' || (ratio > 1), ',') FROM bench.compare('$index', scripts => 'by name', repeats => 3, transactions => 200, protocol => 'simple')"),
	'with 3 true', 'an index makes its arm faster');
my $of = 'FROM bench.runs r WHERE set_id = (SELECT max(set_id) FROM bench.sets)';
is(query("SELECT arm, bool_or(used), bool_and(used) FROM (SELECT arm, EXISTS (SELECT FROM bench.run_tables t WHERE t.run_id = r.run_id AND t.name = 'people_name') AS used $of) r GROUP BY arm ORDER BY arm"),
	"with|t|t\nwithout|f|f", 'it is used by that arm alone');
is(query("SELECT count(*) FROM pg_class WHERE relname = 'people_name'"), 0, 'it is dropped');
is(query("SELECT count(*) $of AND teardown_due"), 0, 'no teardown is left');

# A set that is canceled in a run with a teardown.
my $keeper = $node->background_psql('postgres');
$keeper->query_safe('SELECT pg_advisory_lock(1)');
my $caller = start_sql($node, "SELECT * FROM bench.compare('[{\"setup\": \"CREATE TABLE made ()\", \"teardown\": \"DROP TABLE made\"}]', scripts => 'gate', repeats => 2, transactions => 1)", name => 'caller');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted");
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 1, 'a setup');
signal_sql($caller, 'INT');
finish_sql($caller);
wait_for($node, "SELECT NOT bool_or(teardown_due) FROM bench.runs");
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 0, 'its teardown after a cancel');
my $set = query('SELECT max(set_id) FROM bench.sets');

# A crash leaves the teardown to bench.resume.
$caller = start_sql($node, "SELECT * FROM bench.resume($set)", name => 'caller');
wait_for($node, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted");
$node->stop('immediate');
finish_sql($caller);
eval { $keeper->quit };
$node->start;
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 1, 'what a crash leaves');
like(query("SELECT * FROM bench.resume($set)"), qr/^$set\|compare\|3\|/, 'the set is resumed');
is(query("SELECT state, finished_runs FROM bench.set_summary WHERE set_id = $set"), 'finished|3', 'all of its runs are made');
is(query("SELECT count(*) FROM pg_class WHERE relname = 'made'"), 0, 'and nothing is left');

# Settings.
is(query(q(SELECT string_agg(arm || runs, ',') FROM bench.compare('[{"settings": {"work_mem": "4MB"}}, {"settings": {"work_mem": "8MB"}}]', scripts => 'tell', repeats => 1, transactions => 1))),
	'work_mem=4MB1,work_mem=8MB1', 'arms with settings');
is(query("SELECT string_agg(setting || ' ' || n, ',' ORDER BY setting) FROM (SELECT setting, count(*) AS n FROM seen GROUP BY setting) s"), '4MB 2,8MB 2', 'their clients have them');
my $sets = query('SELECT count(*) FROM bench.sets');
foreach my $case (
	[ '{"no_such_setting": "1"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"work_mem": "much"}', qr/ERROR:  22023: arm "x": / ],
	[ '{"shared_buffers": "1GB"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"role": "postgres"}', qr/ERROR:  \w+: arm "x": / ],
	[ '{"session_authorization": "postgres"}', qr/ERROR:  \w+: arm "x": / ])
{
	my ($settings, $error) = @$case;
	like(complaints("SELECT * FROM bench.compare('[{}, {\"name\": \"x\", \"settings\": $settings}]', scripts => 'gate', repeats => 1, transactions => 1)"), $error, "not valid: $settings");
}
like(complaints("SELECT * FROM bench.compare('[{}, {\"name\": \"x\", \"settings\": {\"log_min_messages\": \"panic\"}}]', scripts => 'select-only', repeats => 1, transactions => 1)", user => 'plain'),
	qr/ERROR:  42501: arm "x": .*permission denied to set parameter "log_min_messages"/, 'a setting that needs superuser');
is(query('SELECT count(*) FROM bench.sets'), $sets, 'nothing has run');

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
