# bench.initialize with finished pages: the same rows in the same places as in
# pgbench's tables, valid by the server's own checks, equal on a standby, consistent
# after a crash at any moment, and correct where tables cannot be filled by pages.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(amcheck pageinspect pg_visibility));
use Time::HiRes qw(usleep);

# LOADER=whole tries more fill factors and kills the server more often: make soak.
my $is_whole = ($ENV{LOADER} // '') eq 'whole';

my $page_worker = "backend_type = 'pg_selfbench page worker'";

# Tables and partitions with rows of accounts, by name.
sub heaps
{
	my ($node, $database) = @_;
	return split /\n/, $node->safe_psql($database,
		"SELECT relname FROM pg_class WHERE relname LIKE 'pgbench_accounts%' AND relkind = 'r' ORDER BY 1"
	);
}

# All rows of accounts with their places, and the pages of each file.
sub contents
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, join '', map { <<"SQL" } heaps($node, $database));
SELECT '$_', count(*), sum(hash_record_extended(ROW(t.ctid, t.*), 0)),
       pg_relation_size('$_') / current_setting('block_size')::int, pg_relation_size('$_', 'vm')
  FROM $_ t;
SQL
}

# Tests what the server's own checks say: nothing is wrong with tables and indexes;
# all pages but those of empty tables are visible to all, and frozen.
sub sound_ok
{
	my ($node, $database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $found = $node->safe_psql($database, join '', map { <<"SQL" } heaps($node, $database));
SELECT '$_', * FROM verify_heapam('$_');
SELECT '$_ is not frozen', * FROM pg_check_frozen('$_');
SELECT '$_ is not visible', * FROM pg_check_visible('$_');
SELECT '$_ is not marked', * FROM pg_visibility('$_')
 WHERE NOT (all_visible AND all_frozen AND pd_all_visible);
SQL
	$found .= $node->safe_psql($database, <<'SQL');
SELECT bt_index_check(indexrelid, true) FROM pg_index
 WHERE indrelid::regclass::text LIKE 'pgbench%'
   AND (SELECT relkind = 'i' FROM pg_class WHERE oid = indexrelid)
   AND NOT (pg_is_in_recovery()
            AND (SELECT relpersistence = 'u' FROM pg_class WHERE oid = indexrelid))
SQL
	$found =~ s/^\n*//mg;
	return is($found, '', "$name: tables and indexes are sound");
}

sub create_extensions
{
	my ($node, $database) = @_;
	$node->safe_psql($database, "CREATE EXTENSION IF NOT EXISTS $_")
	  foreach qw(pg_selfbench amcheck pg_visibility pageinspect);
	return;
}

sub initialize
{
	my ($node, $options, $database) = @_;
	return $node->safe_psql($database // 'postgres',
		"SELECT count(*) FROM bench.initialize($options)");
}

# Kills a server's postmaster, and waits until it is gone; other processes may still
# be there.
sub kill_server
{
	my ($node) = @_;
	my $pid = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die;
	$node->kill9;
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if !kill 0, $pid;
		usleep(10_000);
	}
	die "postmaster $pid does not die";
}

# Against pgbench, with WAL, checksums, and a standby.
# COPY of 16 and later adds many pages at once, as far as there are buffers: pgbench's tables would have empty ones.
my ($version) = run_command([ 'pg_config', '--version' ]);
my $buffers = $version =~ /^PostgreSQL 15\b/ ? 'shared_buffers = 64MB' : '';
my $node = new_bench_node(
	'loader',
	"max_worker_processes = 16\nmax_parallel_maintenance_workers = 4\nlog_min_messages = debug1\n"
	  . "autovacuum = off\nmax_wal_size = 512MB\nallow_in_place_tablespaces = on\n$buffers",
	allows_streaming => 1,
	extra            => ['--data-checksums']);
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(ours theirs);
create_extensions($node, $_) foreach qw(ours theirs);
# The slot keeps as much WAL as the standby needs, and no more.
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby', true)");
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('loader_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;
# Within the data directory, so that the standby has one of its own.
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");

sub standby_ok
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->wait_for_catchup($standby);
	is(contents($standby, 'ours'), contents($node, 'ours'), "$name: rows and pages of the standby");
	sound_ok($standby, 'ours', "$name, standby");
	return;
}

foreach my $case (
	[ 'plain',        'scale => 2',                   [qw(-s 2)],  'plain' ],
	[ 'more workers', 'scale => 10, workers => 3',    [qw(-s 10)], 'plain' ],
	[ 'one process',  'scale => 5, workers => 1',     [qw(-s 5)],  'plain' ],
	[ 'range',        'scale => 2, partitions => 3',  [qw(-s 2 --partitions=3)] ],
	[   'range, more workers', 'scale => 10, partitions => 3, workers => 3',
		[qw(-s 10 --partitions=3)] ],
	[   'hash', "scale => 2, partitions => 3, partition_method => 'hash'",
		[qw(-s 2 --partitions=3 --partition-method=hash)] ],
	[   'hash, more workers',
		"scale => 10, partitions => 4, partition_method => 'hash', workers => 3",
		[qw(-s 10 --partitions=4 --partition-method=hash)] ],
	[   'many hash partitions',
		"scale => 1, partitions => 60, partition_method => 'hash'",
		[qw(-s 1 --partitions=60 --partition-method=hash)] ],
	[ 'unlogged', 'scale => 2, unlogged => true', [qw(-s 2 --unlogged-tables)], 'unlogged' ],
	[   'tablespace',
		"scale => 2, tablespace => 'elsewhere'",
		[qw(-s 2 --tablespace=elsewhere)], 'plain' ],
	map { [ "fillfactor $_", "scale => 1, fillfactor => $_, workers => 1", [ '-s', 1, '-F', $_ ], 'plain' ] }
	($is_whole ? (10, 11, 33, 50, 75, 90, 99) : (11, 50, 99)))
{
	my ($name, $options, $arguments, $kind) = @$case;
	my $log = -s $node->logfile;
	initialize($node, $options, 'ours');
	my $workers =
	  () = slurp_file($node->logfile, $log) =~ /starting background worker process "pg_selfbench page worker/g;
	is($workers, $name =~ /more workers/ ? 2 : 0, "$name: page workers");
	$node->command_ok([ 'pgbench', '-i', '-q', @$arguments, 'theirs' ], "$name: pgbench -i");
	my ($ours, $theirs) = map { contents($node, $_) } qw(ours theirs);
	is($ours, $theirs, "$name: rows and pages");
	sound_ok($node, 'ours', $name);
	standby_ok($name) if ($kind // '') ne 'unlogged';

	# To the last bit but for transaction ids and positions in WAL.
	next if !$kind;
	my $bits = <<'SQL';
SELECT md5(string_agg(concat_ws(',', lower, upper, special, flags, prune_xid, lp, lp_off, lp_flags,
         lp_len, t_xmax, t_ctid, t_infomask, t_infomask2, t_hoff, t_data), ';' ORDER BY lp))
  FROM (SELECT pg_relation_size('pgbench_accounts') / current_setting('block_size')::int) n(pages),
       LATERAL (VALUES (0), (7), (pages - 1)) b(block),
       LATERAL get_raw_page('pgbench_accounts', block::int) p,
       page_header(p), heap_page_items(p)
 GROUP BY block ORDER BY block
SQL
	is($node->safe_psql('ours', $bits), $node->safe_psql('theirs', $bits), "$name: every bit");
}

# What the server knows of the tables afterwards.
my $statistics = <<'SQL';
SELECT relname, relpages, reltuples::bigint, relallvisible
  FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i', 'p') ORDER BY relname
SQL
initialize($node, 'scale => 3', 'ours');
$node->command_ok([qw(pgbench -i -q -s 3 theirs)], 'statistics: pgbench -i');
is($node->safe_psql('ours', $statistics),
	$node->safe_psql('theirs', $statistics), 'statistics of the planner');
initialize($node, "scale => 3, steps => 'dtg'", 'ours');
$node->safe_psql('ours', 'SELECT pg_stat_force_next_flush()');
is($node->safe_psql('ours', "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'"),
	300_000, 'inserted rows are counted');
initialize($node, "steps => 'dtg', partitions => 3, partition_method => 'hash'", 'ours');
$node->safe_psql('ours', 'SELECT pg_stat_force_next_flush()');
is( $node->safe_psql('ours',
		"SELECT sum(n_tup_ins) FROM pg_stat_user_tables WHERE relname LIKE 'pgbench_accounts_%'"),
	100_000,
	'inserted rows of partitions are counted');

# The server chooses the partition of a row.
is( $node->safe_psql('ours', <<'SQL'), 0, 'rows in the wrong partition');
SELECT count(*) FROM pgbench_accounts a JOIN pg_class c ON c.oid = a.tableoid
 WHERE NOT satisfies_hash_partition('pgbench_accounts'::regclass, 3,
                                    right(relname, 1)::int - 1, aid)
SQL

# The WAL is a fraction of that of rows.
my %wal;
foreach my $database (qw(ours theirs))
{
	my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	if   ($database eq 'ours') { initialize($node, "scale => 5, steps => 'dtg'", 'ours') }
	else                       { $node->command_ok([qw(pgbench -i -q -s 5 -I dtg theirs)], 'WAL: pgbench -i') }
	$wal{$database} =
	  $node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$from'::pg_lsn");
}
if ($node->safe_psql('postgres',
		"SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'wal_compression'") eq 't')
{
	cmp_ok($wal{ours}, '<', 0.2 * $wal{theirs}, 'WAL against that of pgbench');
}
is($node->safe_psql('postgres', 'SHOW wal_compression'), 'off', 'the setting is left alone');

# Nor is one that somebody has made, in the loader and its workers; the caller is told what it costs.
my $written = sub {
	my ($settings) = @_;
	my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	my (undef, undef, $stderr) = $node->psql('ours', "$settings; SELECT bench.initialize(scale => 5, steps => 'dtg', workers => 2)");
	$stderr =~ s/\n +/ /g; # of a long line
	return ($node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$from'::pg_lsn"),
		join "\n", $stderr =~ /^.*(NOTICE:  "wal_compression" is .*)/mg);
};
$node->safe_psql('postgres', 'ALTER DATABASE ours SET wal_compression = off');
my ($bytes, $told) = $written->('SELECT');
is($told, 'NOTICE:  "wal_compression" is set to off and stays so: WAL is about as large as the tables, with lz4 a fifth of it',
	'wal_compression = off of the database: notice');
cmp_ok($bytes, '>', 0.5 * $wal{theirs}, 'no WAL is compressed');
(undef, $told) = $written->('SET wal_compression = pglz');
like($told, qr/is set to pglz and stays so: it takes more CPU time than lz4/, 'wal_compression = pglz of the session');
$node->safe_psql('postgres', 'ALTER DATABASE ours RESET wal_compression');
($bytes, $told) = $written->('SELECT');
is($told, '', 'no notice for the default');

# Tables that cannot be filled by pages get the same rows.
foreach my $odd (
	[ 'an index', 'CREATE INDEX ON pgbench_accounts (bid)' ],
	[ 'a primary key', 'ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)' ],
	[   'a trigger', <<'SQL', undef, '0' ],
CREATE OR REPLACE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN new.abalance = -1; RETURN new; END';
CREATE TRIGGER noted BEFORE INSERT ON pgbench_accounts FOR EACH ROW EXECUTE FUNCTION noted();
SQL
	[   'a constraint', 'ALTER TABLE pgbench_accounts ADD CHECK (aid < 99999)',
		qr/violates check constraint/ ],
	[ 'text', 'ALTER TABLE pgbench_accounts ALTER filler TYPE text' ],
	[ 'numeric', 'ALTER TABLE pgbench_accounts ALTER aid TYPE numeric' ],
	[ 'plain storage', 'ALTER TABLE pgbench_accounts ALTER filler SET STORAGE plain' ],
	[   'an heir',
		'CREATE TABLE heir () INHERITS (pgbench_accounts)', undef, undef, 'DROP TABLE heir' ],
	[   'a default partition', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY RANGE (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES FROM (500) TO (1000);
CREATE TABLE pgbench_accounts_2 PARTITION OF pgbench_accounts DEFAULT;
SQL
	[   'partitions of partitions', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY HASH (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts
  FOR VALUES WITH (modulus 1, remainder 0) PARTITION BY RANGE (aid);
CREATE TABLE pgbench_accounts_1_1 PARTITION OF pgbench_accounts_1
  FOR VALUES FROM (minvalue) TO (maxvalue);
SQL
	[   'partitions by another column', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY RANGE (bid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts
  FOR VALUES FROM (minvalue) TO (maxvalue);
SQL
	[   'partitions of several sizes', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY HASH (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE pgbench_accounts_2 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 4, remainder 1);
CREATE TABLE pgbench_accounts_3 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 4, remainder 3);
SQL
	[   'too few partitions', <<'SQL', qr/no partition of relation "pgbench_accounts" found for row/ ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY RANGE (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES FROM (1) TO (100000);
SQL
	# These are filled by pages.
	[   'partitions in no order', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid bigint NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY RANGE (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES FROM (60000) TO (200000);
CREATE TABLE pgbench_accounts_2 PARTITION OF pgbench_accounts FOR VALUES FROM (-5) TO (7)
  WITH (fillfactor = 20);
CREATE TABLE pgbench_accounts_3 PARTITION OF pgbench_accounts FOR VALUES FROM (200000) TO (300000);
CREATE TABLE pgbench_accounts_4 PARTITION OF pgbench_accounts FOR VALUES FROM (7) TO (60000);
SQL
	[   'hash of eight bytes', <<'SQL' ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid bigint NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY HASH (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE pgbench_accounts_2 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 2, remainder 1);
SQL
  )
{
	my ($name, $sql, $error, $balance, $cleanup) = @$odd;
	foreach my $database (qw(ours theirs))
	{
		initialize($node, "steps => 'dt'", 'ours') if $database eq 'ours';
		$node->command_ok([qw(pgbench -i -q -I dt theirs)], "$name: pgbench") if $database eq 'theirs';
		$node->safe_psql($database, $sql);
	}
	my ($status, $stdout, $stderr) =
	  $node->psql('ours', "SELECT count(*) FROM bench.initialize(steps => 'g')");
	if ($error)
	{
		like($stderr, $error, "$name: error");
		is($node->safe_psql('ours', 'SELECT count(*) FROM pgbench_accounts'), 0, "$name: no rows");
	}
	else
	{
		is($stdout, 1, "$name: filled") || diag($stderr);
		my @partitioned = $sql =~ /PARTITION BY/ ? '--partitions=1' : ();
		$node->command_ok([ qw(pgbench -i -q -I g), @partitioned, 'theirs' ], "$name: pgbench");
		my ($ours, $theirs) = map { contents($node, $_) } qw(ours theirs);
		# Only plain tables are frozen by COPY, and have a visibility map.
		s/\|\d+$//mg foreach $ours, $theirs;
		is($ours, $theirs, "$name: rows and pages");
		is( $node->safe_psql('ours', 'SELECT count(*), sum(aid), sum(bid) FROM pgbench_accounts'),
			'100000|5000050000|100000', "$name: rows");
	}
	$node->safe_psql($_, $cleanup) foreach $cleanup ? qw(ours theirs) : ();
}

# Ended in the middle: an error, no process is left, and the old rows are back.
initialize($node, "scale => 1, steps => 'dtgv'", 'ours');
my $before = contents($node, 'ours');

# Starts a load and, when its workers are at work, executes SQL; returns the caller and what the SQL did.
sub start_load
{
	my ($on, $scale, $sql) = @_;
	my $caller = start_sql($on, "SELECT count(*) FROM bench.initialize(scale => $scale, steps => 'g', workers => 3, force => true)",
		name => 'caller', database => 'ours');
	my $did = as_soon_as($on, "(SELECT count(*) = 2 FROM pg_stat_activity WHERE $page_worker)", "SELECT pg_sleep(0.05) \\g /dev/null\n$sql");
	return ($caller, $did);
}

foreach my $end (
	[   'worker terminated', "pg_terminate_backend", $page_worker,
		qr/ERROR:  57(P01|014): .*(a page worker was terminated|terminating background worker)/ ],
	[ 'worker canceled', "pg_cancel_backend", $page_worker,
		qr/ERROR:  57014: canceling statement due to user request/ ],
	[ 'caller canceled', "pg_cancel_backend", "application_name = 'caller'",
		qr/ERROR:  57014: canceling statement due to user request/ ],
	[ 'caller terminated', "pg_terminate_backend", "application_name = 'caller'",
		qr/FATAL:  57P01: terminating connection/ ],
	[ 'loader canceled', "pg_cancel_backend", "backend_type = 'pg_selfbench loader'",
		qr/ERROR:  57014: canceling statement due to user request/ ],
	[ 'loader terminated', "pg_terminate_backend", "backend_type = 'pg_selfbench loader'",
		qr/ERROR:  57014: .*its loader was terminated/ ])
{
	my ($name, $function, $process, $error) = @$end;
	# It goes on for longer than anything here takes; a standby fills files up to where the last worker begins.
	my ($caller, $did) = start_load($node, 100, "SELECT $function(pid) FROM pg_stat_activity WHERE $process LIMIT 1");
	is($did, 't', "$name: done to a process that is there");
	my ($stdout, $stderr) = finish_sql($caller);
	like($stderr, $error, "$name: the caller's error");
	is($stdout, '', "$name: no result");
	nothing_left_ok($node, $name);
	is(contents($node, 'ours'), $before, "$name: the old rows are back");
	# Looks for files to sync that must not be gone.
	$node->safe_psql('postgres', 'CHECKPOINT');
}
standby_ok('after loads that failed');

# The server killed at several moments of a load: it recovers with the old rows,
# and another load succeeds.
foreach my $after_ms ($is_whole ? (0, 200, 700) : 200)
{
	my $name   = "killed after $after_ms ms";
	my ($caller) = start_load($node, 100, '');
	my $checkpoint = $after_ms ? start_sql($node, 'CHECKPOINT') : undef;
	usleep($after_ms * 1000);
	kill_server($node);
	finish_sql($_) foreach grep { defined } $caller, $checkpoint;
	ok(start_after_kill($node), "$name: the server starts again");
	# The old rows or, if it was done by then, the new ones.
	my $rows = $node->safe_psql('ours', 'SELECT count(*), sum(aid) FROM pgbench_accounts');
	if ($rows eq '10000000|50000005000000') { pass("$name: the load had been done") }
	else { is(contents($node, 'ours'), $before, "$name: the old rows are back") }
	sound_ok($node, 'ours', $name);
	is(initialize($node, "steps => 'dtgv'", 'ours'), 4, "$name: a second load succeeds");
	is(contents($node, 'ours'), $before, "$name: its rows");
	# What the load has written stays in the directory of the database.
	$node->safe_psql('postgres', "DROP DATABASE ours; CREATE DATABASE ours");
	create_extensions($node, 'ours');
	initialize($node, "steps => 'dtgv'", 'ours');
}
my ($stopped) = start_load($node, 100, '');
$node->stop('immediate');
finish_sql($stopped);
$node->start;
is(contents($node, 'ours'), $before, 'stopped: the old rows are back');
standby_ok('after crashes');
$node->safe_psql('postgres', 'DROP DATABASE ours; CREATE DATABASE ours');
create_extensions($node, 'ours');

# Killed after a load: WAL alone brings back what has not reached the disk. For lack
# of a power failure, the test takes the files away.
$node->safe_psql('postgres', 'CHECKPOINT');
initialize($node, "scale => 5, steps => 'dtgvp', workers => 2", 'ours');
my $loaded = contents($node, 'ours');
my $path   = $node->data_dir . '/'
  . $node->safe_psql('ours', "SELECT pg_relation_filepath('pgbench_accounts')");
kill_server($node);
truncate($_, 0) || die "$_: $!" foreach $path, "${path}_vm";
ok(start_after_kill($node), 'killed after a load: the server starts again');
is(contents($node, 'ours'), $loaded, 'killed after a load: all rows are there');
sound_ok($node, 'ours', 'killed after a load');

# The same with checkpoints during the load; then it is not WAL alone.
my $checkpoints = start_sql($node, 'CHECKPOINT; ' x 30);
initialize($node, "scale => 30, steps => 'dtgv', workers => 3", 'ours');
kill_server($node);
finish_sql($checkpoints);
ok(start_after_kill($node), 'checkpoints during a load: the server starts again');
is( $node->safe_psql('ours', 'SELECT count(*), sum(aid), sum(bid) FROM pgbench_accounts'),
	'3000000|4500001500000|46500000',
	'checkpoints during a load: rows');
sound_ok($node, 'ours', 'checkpoints during a load');

$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums of all pages');
$standby->stop;
remove_data($node, $standby);

# Without WAL, since the server syncs the files when the load commits.
my $minimal = new_bench_node('minimal', 'autovacuum = off');
is($minimal->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'wal_level');
$minimal->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(ours theirs);
create_extensions($minimal, $_) foreach qw(ours theirs);
foreach my $options (
	'scale => 1, partitions => 70',
	'scale => 10, workers => 2',
	"scale => 10, workers => 2, partitions => 2, partition_method => 'hash'")
{
	my $from = $minimal->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	initialize($minimal, "$options, steps => 'dtg'", 'ours');
	cmp_ok(
		$minimal->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$from'::pg_lsn"),
		'<', 1024 * 1024, "minimal, $options: hardly any WAL") if $options =~ /scale => 10/;
	$loaded = contents($minimal, 'ours');
	kill_server($minimal);
	ok(start_after_kill($minimal), "minimal, $options: the server starts again after it was killed");
	is(contents($minimal, 'ours'), $loaded, "minimal, $options: all rows are there");
	sound_ok($minimal, 'ours', "minimal, $options");
}
$minimal->stop;

# Without a free slot, the loader does it alone; and changes that are decoded have rows.
my $logical = new_bench_node('logical', <<'CONF');
wal_level = logical
max_wal_senders = 2
max_worker_processes = 2
log_min_messages = debug1
CONF
initialize($logical, "steps => 'dt'");
$logical->safe_psql('postgres', 'CREATE PUBLICATION accounts FOR TABLE pgbench_accounts');
$logical->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('slot', 'pgoutput')");
initialize($logical, "steps => 'g'");
is( $logical->safe_psql('postgres', <<'SQL'), '100000', 'rows of accounts that are decoded');
SELECT count(*) FROM pg_logical_slot_get_binary_changes('slot', NULL, NULL,
         'proto_version', '1', 'publication_names', 'accounts')
 WHERE get_byte(data, 0) = ascii('I')
SQL
$logical->safe_psql('postgres', "SELECT pg_drop_replication_slot('slot')");
$logical->append_conf('postgresql.conf', "wal_level = replica\n");
$logical->restart;
create_extensions($logical, 'postgres');
initialize($logical, 'scale => 10, workers => 5');
is($logical->safe_psql('postgres', 'SELECT count(*), sum(aid) FROM pgbench_accounts'),
	'1000000|500000500000', 'without a free slot: rows');
sound_ok($logical, 'postgres', 'without a free slot');
unlike(slurp_file($logical->logfile), qr/starting background worker process "pg_selfbench page worker/,
	'without a free slot: no page worker');
nothing_left_ok($logical, 'without a free slot');
$logical->stop;

done_testing();
