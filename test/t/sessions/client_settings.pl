# The option settings: session settings of the clients, checked before anything runs, set
# strictly and read back.
use strict;
use warnings;

use FakePooler;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('settings', "fsync = off\nmax_worker_processes = 16\n");
my $host = $node->host;
my $port = $node->port;
my $target = "host=$host port=$port dbname=postgres";
$node->safe_psql(
	'postgres', q{
	CREATE SCHEMA other;
	CREATE TABLE seen (work_mem text, commit text, own text, path text);
	SELECT bench.define_script('see', $$INSERT INTO public.seen SELECT current_setting('work_mem'),
		current_setting('synchronous_commit'), current_setting('my.own', true), current_setting('search_path')$$);
	ALTER DATABASE postgres SET work_mem = '3MB';
	ALTER ROLE CURRENT_USER SET synchronous_commit = local;});

my $quote = sub { my ($text) = @_; $text =~ s/'/''/g; return "'$text'" };
# What clients of a run with these options saw, or the errors.
my $seen = sub {
	my ($options, %with) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', qq{
		TRUNCATE seen;
		SET work_mem = '5MB';
		SELECT run_id FROM bench.run('see', clients => 2, transactions => 2, $options) \\gset
		SELECT string_agg(DISTINCT concat_ws('|', work_mem, commit, own, path), ' and '), count(*) FROM seen;
		SHOW work_mem}, extra_params => ['-q'], %with);
	return $stderr eq '' ? $stdout : $stderr;
};
my $settings = q{{"WORK_MEM": "65536kB", "synchronous_commit": false, "my.own": "a -c work_mem=1MB \\\\ 'b'", "search_path": "other, public"}};
my $expected = q{64MB|off|a -c work_mem=1MB \ 'b'|other, public};
my %ways = (
	'spi'            => q{mode => 'spi', client_process => 'worker'},
	'backends'       => q{mode => 'spi', client_process => 'backend'},
	'libpq'          => q{mode => 'libpq'},
	'libpq, 2 jobs'  => q{mode => 'libpq', jobs => 2, workers => 2},
	'reconnect'      => q{mode => 'libpq', reconnect => true},
	'target'         => "mode => 'libpq', target => '$target'",
	'target options' => "mode => 'libpq', target => '$target options=''-c work_mem=7MB -c my.own=x'''",
	'reconnect to a target' => "mode => 'libpq', reconnect => true, target => '$target'",);
foreach my $way (sort keys %ways)
{
	is($seen->("$ways{$way}, settings => " . $quote->($settings)), "$expected|4\n5MB",
		"$way: clients have the settings, the caller keeps its own");
	is( $node->safe_psql('postgres', q{
			SELECT string_agg(concat_ws('=', name, setting), ', ' ORDER BY name COLLATE "C") FROM bench.run_settings
			 WHERE source = 'run' AND run_id = (SELECT max(run_id) FROM bench.runs)}),
		q{my.own=a -c work_mem=1MB \ 'b', search_path=other, public, synchronous_commit=off, work_mem=64MB},
		"$way: they are stored");
}
is($seen->("mode => 'libpq'"), qq{5MB|local|"\$user", public|4\n5MB}, 'the next run has the settings of the caller');
is($seen->("mode => 'spi', settings => '{}'"), qq{5MB|local|"\$user", public|4\n5MB}, 'no settings');
is($seen->(q{settings => '{"work_mem": 1024, "my.own": true, "search_path": ""}'}), "1MB|local|on||4\n5MB",
	'numbers and booleans');

# The coordinator looks for tables where the clients do.
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres', 'SET search_path = other; SELECT bench.initialize(scale => 2)');
foreach my $way ('spi', 'libpq', 'target')
{
	is( $node->safe_psql('postgres',
			columns_of('scale', qq{bench.run(transactions => 2, $ways{$way}, settings => '{"search_path": "other"}')})),
		2, "$way: search_path");
}

# What is wrong is an error before anything runs.
my $runs = $node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs');
my $alter = qr/HINT:  Only settings that a session can change are possible\. .*ALTER SYSTEM/;
my $long = 'x' x 9000;
my @wrong = (
	[ '{"nope": 1}', qr/cannot set "nope" for the clients: unrecognized configuration parameter "nope".*HINT:  Settings are listed in pg_settings/s ],
	[ '{"work_mem": "64XB"}', qr/cannot set "work_mem" for the clients: invalid value for parameter "work_mem": "64XB"/ ],
	[ '{"work_mem": "1kB"}', qr/cannot set "work_mem" for the clients: 1 kB is outside the valid range/ ],
	[ '{"shared_buffers": "1GB"}', qr/cannot set "shared_buffers" for the clients: .*without restarting the server.*$alter/s ],
	[ '{"fsync": false}', qr/cannot set "fsync" for the clients: .*cannot be changed now.*$alter/s ],
	[ '{"log_connections": "on"}', qr/cannot set "log_connections" for the clients: .*cannot be set after connection start.*$alter/s ],
	[ '{"server_version": "1"}', qr/cannot set "server_version" for the clients: .*cannot be changed/ ],
	[ '{"Role": "postgres"}', qr/cannot set "Role" for the clients: clients run as the calling role\nHINT/ ],
	[ '{"session_authorization": "postgres"}', qr/cannot set "session_authorization" for the clients: clients run/ ],
	[ '{"client_encoding": "LATIN1"}', qr/cannot set "client_encoding" for the clients: .*UTF8/ ],
	[ '{"transaction_isolation": "serializable"}', qr/single transaction\nHINT:  Use "default_transaction_isolation"/ ],
	[ '{"seed": 0.5}', qr/cannot set "seed" for the clients/ ],
	[ '{"application_name": "x"}', qr/cannot set "application_name" for the clients/ ],
	[ '{"tcp_keepalives_idle": 1}', qr/belongs to a connection/ ],
	[ '{"session_preload_libraries": "auto_explain"}', qr/only applies when a session begins/ ],
	[ q({"work_mem'; DROP TABLE seen; --": 1}), qr/cannot set "work_mem'; DROP TABLE seen; --" for the clients: (?:unrecognized|invalid) configuration parameter/ ],
	[ '{"my.own x": 1}', qr/cannot set "my.own x" for the clients: invalid configuration parameter name/ ],
	[ '{"": 1}', qr/cannot set "" for the clients/ ],
	[ '{"work_mem": null}', qr/setting "work_mem" is null\nDETAIL:  An object of texts, numbers and booleans/ ],
	[ '{"work_mem": ["1MB"]}', qr/setting "work_mem" is \["1MB"\]/ ],
	[ '[]', qr/invalid value for option "settings": \[\]/ ],
	[ '"work_mem"', qr/invalid value for option "settings": "work_mem"/ ],
	[ '{"work_mem": "1MB", "Work_Mem": "2MB"}', qr/"Work_Mem" and "work_mem" are the same setting|"work_mem" and "Work_Mem" are the same setting/ ],
	[ qq({"my.own": "$long"}), qr/more than 8000 bytes/ ],
	[ '{"default_tablespace": "nowhere"}', qr/cannot set "default_tablespace" for the clients/ ],);
foreach my $how ("mode => 'spi'", "mode => 'libpq', target => '$target'")
{
	foreach (@wrong)
	{
		my ($given, $error) = @$_;
		like($seen->("$how, settings => " . $quote->($given)), qr/ERROR:  .*$error/s,
			"$how: " . substr($given, 0, 60));
	}
}
# An error leaves the session as it was.
is( $node->safe_psql('postgres', q{
		DO $$BEGIN PERFORM bench.run('see', settings => '{"work_mem": "64XB"}'); EXCEPTION WHEN OTHERS THEN NULL; END$$;
		SHOW work_mem}), '3MB', 'after an error');
is($node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs'), $runs, 'none of them has begun a run');
is($node->safe_psql('postgres', 'SELECT bench.start(\'see\', transactions => 1, settings => \'{"work_mem": "64MB"}\') > 0'), 't', 'bench.start');
wait_until_quiet($node);

# Rights are those of the calling role.
$node->safe_psql('postgres', q{
	CREATE ROLE plain LOGIN;
	SELECT bench.grant_to('plain');
	GRANT USAGE ON SCHEMA other TO plain;
	GRANT ALL ON seen TO plain;
	GRANT TRUNCATE ON seen TO plain;});
my @plain = (extra_params => [ '-q', '-U', 'plain' ]);
$node->safe_psql('postgres', q{SELECT bench.define_script('see', $$INSERT INTO public.seen SELECT current_setting('work_mem'),
	current_setting('log_min_duration_statement')$$)}, extra_params => [ '-U', 'plain' ]);
is($seen->(q{settings => '{"work_mem": "2MB"}'}, @plain), "2MB|-1|4\n5MB", 'another role');
like($seen->(q{settings => '{"log_min_duration_statement": 100000}'}, @plain),
	qr/ERROR:  cannot set "log_min_duration_statement" for the clients: permission denied to set parameter.*HINT:  Ask a superuser for GRANT SET ON PARAMETER log_min_duration_statement/s,
	'without the privilege');
$node->safe_psql('postgres', 'GRANT SET ON PARAMETER log_min_duration_statement TO plain');
is($seen->(q{settings => '{"log_min_duration_statement": 100000}'}, @plain), "5MB|100s|4\n5MB", 'with it');

# The session that calls shows its own statement, not those that try the settings out.
$node->safe_psql('postgres', q{SELECT bench.define_script('rest', 'SELECT pg_sleep(600)')});
my $session = start_sql($node, qq{SELECT bench.run('rest', transactions => 1, $ways{target}, settings => '{"work_mem": "8MB"}')}, name => 'caller');
wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
is($node->safe_psql('postgres', q{SELECT state, query LIKE 'SELECT bench.run(%' FROM pg_stat_activity WHERE application_name = 'caller'}),
	'active|t', 'the activity of the caller');
signal_sql($session, 'INT');
finish_sql($session);

# Poolers: one that shares sessions is refused; behind one that ignores options, clients set them.
my $user = $node->safe_psql('postgres', 'SELECT CURRENT_USER');
foreach my $sharing (1, 0)
{
	my $pooler = FakePooler->start("$host/.s.PGSQL.$port", $user, $sharing);
	my $over = "mode => 'libpq', target => 'host=127.0.0.1 sslmode=disable gssencmode=disable dbname=postgres user=$user port=" . $pooler->port . "'";
	unlike($seen->($over), qr/ERROR/, 'pooler: without settings') if !$sharing;
	foreach my $reconnect ('false', 'true')
	{
		my $expected = $sharing
		  ? qr/ERROR:  option "settings" needs sessions of its own, and the target is a connection pooler whose connections share sessions\nHINT/
		  : $reconnect eq 'true' ? qr/ERROR:  a client has "3MB" for setting "work_mem" instead of "64MB"\nHINT:  .*pooler/
		  : qr/^64MB\|/;
		like($seen->(qq{$over, reconnect => $reconnect, settings => '{"work_mem": "64MB"}'}), $expected,
			"pooler, sharing $sharing, reconnect $reconnect");
	}
	if (!$sharing)
	{
		# One that ignores cancel requests, too.
		my $run = $node->safe_psql('postgres', "SELECT bench.start('rest', transactions => 1, $over)");
		wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
		$node->safe_psql('postgres', "SELECT bench.cancel($run)");
		like($node->safe_psql('postgres', columns_of('state, errors', "bench.wait($run)")),
			qr/^canceled\|.*1 session did not end when canceled; the server log has the process IDs/,
			'a session that cannot be canceled');
		like(slurp_file($node->logfile), qr/run $run of pg_selfbench: sessions did not end their statements when canceled: PIDs \d+$/m,
			'its process in the log');
		$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
	}
	$pooler->stop;
}
nothing_left_ok($node, 'at the end');

done_testing();
