# bench.initialize with primary keys as finished pages: byte for byte those that the
# server builds, sound by its own checks, all there or not at all after a crash at any
# moment, equal on a standby; and built by the server where pages are no way.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;
use Time::HiRes qw(usleep);

needs_extensions(qw(amcheck pageinspect));

# KEYS_KILLS=30 kills the server so many times at random moments, compares at scale 100,
# too, and a standby after 30 s of transactions: make soak.
my $kills = $ENV{KEYS_KILLS};

sub create_extensions
{
	my ($node) = @_;
	$node->safe_psql('postgres', "CREATE EXTENSION $_") foreach qw(amcheck pageinspect);
	return;
}

# Indexes of accounts or its partitions, by name.
sub indexes
{
	my ($node) = @_;
	return split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT indexrelid::regclass FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
 WHERE indrelid::regclass::text LIKE 'pgbench_accounts%' AND relkind = 'i' ORDER BY 1
SQL
}

# Every page of these indexes without its position in WAL and its checksum, and what
# the catalog says of index and table.
sub pages
{
	my ($node, $part) = @_;
	$part //= 'substring(page FROM 11)';
	return $node->safe_psql('postgres', join '', map { <<"SQL" } indexes($node));
SELECT '$_', block, md5($part)
  FROM generate_series(0, pg_relation_size('$_') / current_setting('block_size')::int - 1) block,
       get_raw_page('$_', block::int) page, page_header(page);
SELECT c.relname, c.relpages, c.reltuples, c.relallvisible, indisvalid, indcheckxmin, conname
  FROM pg_index JOIN pg_class c ON c.oid IN (indrelid, indexrelid)
  LEFT JOIN pg_constraint ON conindid = indexrelid
 WHERE indexrelid = '$_'::regclass ORDER BY 1;
SQL
}

# The same without the space between line pointers and items, which WAL does not have.
sub pages_in_wal
{
	my ($node) = @_;
	return pages($node, 'substring(page FROM 11 FOR lower - 10) || substring(page FROM upper + 1)');
}

# Every row of pgbench's tables, as it is stored, and every page of their visibility
# maps, on a primary and its standby alike. Left out is what is changed without WAL: hint
# bits, but for those that say that a row is frozen, and the command that stored a row.
sub stored_rows
{
	my ($node) = @_;
	my $tables = $node->safe_psql('postgres',
		"SELECT relname FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind = 'r' ORDER BY 1");
	return $node->safe_psql('postgres', join '', map { <<"SQL" } split /\n/, $tables);
SELECT '$_', block, md5(string_agg(concat_ws(',', lp, lp_off, lp_flags, lp_len, t_xmin, t_xmax, t_ctid, t_infomask2,
         t_infomask & ~(CASE WHEN t_infomask & 768 = 768 THEN 3072 ELSE 3840 END), t_bits, t_data), ';' ORDER BY lp))
  FROM generate_series(0, pg_relation_size('$_') / current_setting('block_size')::int - 1) block,
       heap_page_items(get_raw_page('$_', block::int))
 GROUP BY block ORDER BY block;
SELECT '$_ map', block, md5(substring(get_raw_page('$_', 'vm', block::int) FROM 11))
  FROM generate_series(0, pg_relation_size('$_', 'vm') / current_setting('block_size')::int - 1) block
 ORDER BY block;
SQL
}

# Tests what the server's own checks say of tables and keys.
sub sound_ok
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $check = $node->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't'
	  ? sub { "SELECT bt_index_check('$_[0]', true)" }
	  : sub { "SELECT bt_index_parent_check('$_[0]', true, true)" };
	my $found = $node->safe_psql('postgres', join '', map { $check->($_) . ";\n" } indexes($node));
	$found .= $node->safe_psql('postgres', <<'SQL');
SELECT r.* FROM pg_class c, verify_heapam(c.oid) r
 WHERE c.relname LIKE 'pgbench%' AND c.relkind = 'r'
SQL
	$found =~ s/^\n*//mg;
	return is($found, '', "$name: tables and keys are sound");
}

my $node = new_bench_node(
	'keys',
	"max_worker_processes = 16\nmax_parallel_maintenance_workers = 4\nlog_min_messages = debug1\n"
	  . "autovacuum = off\nmax_wal_size = 1GB\nwal_keep_size = 1GB\nallow_in_place_tablespaces = on\nshared_buffers = 64MB",
	allows_streaming => 1,
	extra            => ['--data-checksums']);
create_extensions($node);
# A standby whose primary has crashed asks for the beginning of a record again, which may be in the segment before those
# that its slot keeps, however far behind it is: wal_keep_size keeps more than all loads of this test write while it lags.
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby', true)");
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('keys_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");
my $is_known = loader_writes_keys($node);

sub initialize
{
	my ($options, $on) = @_;
	return ($on // $node)
	  ->safe_psql('postgres', "SELECT count(*) FROM bench.initialize($options)");
}

# Whether keys of accounts were created by the transaction that emptied the tables: "t"
# if all were, "f" if none was.
sub created_together
{
	my ($on) = @_;
	return ($on // $node)->safe_psql('postgres', <<'SQL');
SELECT DISTINCT t.xmin = i.xmin FROM pg_index x
  JOIN pg_class t ON t.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
 WHERE t.relname LIKE 'pgbench_accounts%' AND t.relkind = 'r' AND indisprimary
SQL
}

foreach my $case (
	[ 'scale 1', 'scale => 1' ],
	[ 'scale 7', 'scale => 7, workers => 3' ],
	$kills ? [ 'scale 100', 'scale => 100, workers => 3' ] : (),
	[ 'range', 'scale => 3, partitions => 7' ],
	[ 'hash', "scale => 3, partitions => 3, partition_method => 'hash'" ],
	[ 'many hash partitions', "scale => 2, partitions => 60, partition_method => 'hash', workers => 1" ],
	[ 'unlogged', 'scale => 2, unlogged => true' ],
	[ 'fill factor', 'scale => 1, fillfactor => 13' ],
	[ 'tablespace', "scale => 1, index_tablespace => 'elsewhere'" ],
	[ 'bigint', "scale => 3, steps => 'gvp'", 'ALTER TABLE pgbench_accounts ALTER aid TYPE bigint' ],
	[   'bigint, hash', "scale => 2, steps => 'gp'", <<'SQL', ", partitions => 2, partition_method => 'hash'" ],
DROP TABLE pgbench_accounts;
CREATE TABLE pgbench_accounts (aid bigint NOT NULL, bid int, abalance int, filler char(84))
  PARTITION BY HASH (aid);
CREATE TABLE pgbench_accounts_1 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE pgbench_accounts_2 PARTITION OF pgbench_accounts FOR VALUES WITH (modulus 2, remainder 1);
SQL
	)
{
	my ($name, $options, $sql, $more) = @$case;
	if ($sql)
	{
		initialize("steps => 'dt'" . ($more // ''));
		$node->safe_psql('postgres', $sql);
	}
	initialize($options);
	is(created_together(), $is_known ? 't' : 'f', "$name: who has built the keys");
	my $ours = pages($node);
	sound_ok($node, $name);
	$node->safe_psql('postgres', 'REINDEX TABLE pgbench_accounts');
	is($ours, pages($node), "$name: every byte of the keys and what the catalog says");
}

# Where pages are no way, or the step comes later, the server builds the keys.
foreach my $case (
	[ 'two calls', [ "steps => 'dtg'", "steps => 'vp'" ] ],
	[ 'rows of the server', ["steps => 'dtGvp'"] ],
	[ 'other steps between', [ "steps => 'dt'", "steps => 'gdtvp'" ] ],
	[   'another layout', [ "steps => 'dt'", "steps => 'gvp'" ],
		'CREATE INDEX other ON pgbench_accounts (bid)' ])
{
	my ($name, $calls, $sql) = @$case;
	initialize($calls->[0]);
	$node->safe_psql('postgres', $sql) if $sql;
	initialize($calls->[1]) if $calls->[1];
	is(created_together(), 'f', "$name: the server builds the keys");
	sound_ok($node, $name);
}

# A role that may fill tables, but does not own them: rows stay, as without the keys.
initialize("steps => 'dtgv'");
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE filler LOGIN;
GRANT USAGE ON SCHEMA bench TO filler;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bench TO filler;
GRANT SELECT, INSERT, TRUNCATE ON pgbench_accounts, pgbench_branches, pgbench_tellers,
  pgbench_history TO filler;
SQL
my ($status, $stdout, $stderr) = $node->psql(
	'postgres',
	"SELECT bench.initialize(scale => 2, steps => 'gp')",
	extra_params => [ '-U', 'filler' ]);
like($stderr, qr/must be owner of table pgbench_branches/, 'a role that does not own the tables');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'), 200_000, 'its rows stay');

# Something that plans statements for the tables while they have keys and no rows.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION plans() RETURNS event_trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM FROM pgbench_accounts WHERE aid = 7; END';
CREATE EVENT TRIGGER plans ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION plans();
SQL
initialize("scale => 2");
is(created_together(), $is_known ? 't' : 'f', 'planned meanwhile: who has built the keys');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM pgbench_accounts WHERE aid IN (1, 7, 200000)'),
	3, 'planned meanwhile: rows are found');
sound_ok($node, 'planned meanwhile');
# Or even adds a row: the server fills the tables.
$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION plans() RETURNS event_trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO pgbench_accounts SELECT -1 WHERE NOT EXISTS (SELECT FROM pgbench_accounts WHERE aid = -1); END';
SQL
initialize('');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*), min(aid) FROM pgbench_accounts WHERE aid < 1000000'),
	'100001|-1', 'a row added meanwhile: all are found');
sound_ok($node, 'a row added meanwhile');
$node->safe_psql('postgres', 'DROP EVENT TRIGGER plans');

# On a standby: the same pages, also after they have been changed.
initialize("scale => 7, partitions => 2, partition_method => 'hash', workers => 2");
$node->wait_for_catchup($standby);
is(pages_in_wal($standby), pages_in_wal($node), 'every page of the standby');
sound_ok($standby, 'standby');
initialize('scale => 7');
my $amount = $kills ? "duration => '30 s'" : 'transactions => 1000';
$node->safe_psql('postgres', "SELECT bench.run(clients => 2, $amount)");
$node->wait_for_catchup($standby);
my $items = <<'SQL';
SELECT block, md5(string_agg(concat_ws(',', itemoffset, ctid, itemlen, data), ';' ORDER BY itemoffset))
  FROM generate_series(1, pg_relation_size('pgbench_accounts_pkey') / current_setting('block_size')::int - 1) block,
       bt_page_items('pgbench_accounts_pkey', block::int)
 GROUP BY block ORDER BY block
SQL
is($standby->safe_psql('postgres', $items), $node->safe_psql('postgres', $items),
	'every entry of the standby after transactions');
if ($kills)
{
	# Not as a text to show: it has a line for each page.
	my $rows = stored_rows($node);
	cmp_ok(($rows =~ tr/\n//), '>', 7 * 1600, 'pages with rows');
	ok(stored_rows($standby) eq $rows, 'every row and map of the standby after transactions');
}
sound_ok($_, 'after transactions') foreach $node, $standby;

# Kills a server's postmaster, and starts the server when its other processes have
# noticed; whether it starts.
sub kill_and_start
{
	my ($node, $between) = @_;
	my $pid = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ? $1 : die;
	$node->kill9;
	foreach (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if !kill 0, $pid;
		usleep(10_000);
	}
	$between->() if $between;
	return start_after_kill($node);
}

# Takes away the files of accounts and their keys.
sub truncate_files
{
	my ($node, @paths) = @_;
	truncate($node->data_dir . "/$_", 0) || die "$_: $!" foreach @paths;
	return;
}

# Killed after a load: WAL alone brings back what has not reached the disk. For lack
# of a power failure, the test takes the files away.
sub comes_back_ok
{
	my ($node, $name, $options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', 'CHECKPOINT');
	initialize($options, $node);
	is(created_together($node), $is_known ? 't' : 'f', "$name: who has built the keys");
	my $loaded = pages_in_wal($node);
	my @paths = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT pg_relation_filepath(oid) FROM pg_class
 WHERE relname LIKE 'pgbench_accounts%' AND relkind IN ('r', 'i')
SQL
	ok(kill_and_start($node, sub { truncate_files($node, @paths) }), "$name: the server starts again");
	is(pages_in_wal($node), $loaded, "$name: every page is there");
	return sound_ok($node, $name);
}
comes_back_ok($node, 'killed after a load', "scale => 3, steps => 'dtgp', workers => 2");
comes_back_ok($node, 'killed after a load, hash',
	"scale => 3, steps => 'dtgp', partitions => 2, partition_method => 'hash'");

# Killed in the middle, also with checkpoints: old rows without keys, or new ones with
# them.  The server builds keys in a later transaction, before which new rows have none.
foreach my $after_ms ($kills ? map { int rand 1500 } 1 .. $kills : (0, 300, 1000))
{
	my $name = "killed after $after_ms ms";
	initialize("steps => 'dtgv'");
	my $old = $node->safe_psql('postgres', 'SELECT count(*), sum(aid) FROM pgbench_accounts');
	my $caller = start_sql($node,
		"SELECT count(*) FROM bench.initialize(scale => 40, steps => 'gvp', workers => 3)");
	comes_before_end($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker'", $caller);
	my $checkpoint = start_sql($node, 'CHECKPOINT');
	usleep($after_ms * 1000);
	ok(kill_and_start($node), "$name: the server starts again");
	finish_sql($_) foreach $caller, $checkpoint;
	my $rows = $node->safe_psql('postgres', 'SELECT count(*), sum(aid) FROM pgbench_accounts');
	my $keys = indexes($node);
	note "$name: $rows, $keys keys";
	my $new = '4000000|8000002000000';
	if ($keys == 0 && ($is_known || $rows ne $new)) { is($rows, $old, "$name: old rows, without keys") }
	else { is($rows, $new, "$name: new rows, with keys") }
	sound_ok($node, $name);
}
initialize("scale => 2");
sound_ok($node, 'after all that');
my $files = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_ls_dir('base/' || (SELECT oid FROM pg_database WHERE datname = 'postgres'))});

# Canceled in the middle: nothing is left.
initialize("steps => 'dtgv'");
my $caller = start_sql($node,
	"SELECT count(*) FROM bench.initialize(scale => 100, steps => 'gvp', workers => 3, force => true)", name => 'caller');
as_soon_as($node, "EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_selfbench page worker')",
	"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'");
($stdout, $stderr) = finish_sql($caller);
like($stderr, qr/ERROR:  57014/, 'canceled: the error');
nothing_left_ok($node, 'canceled');
is(scalar(indexes($node)), 0, 'canceled: no key');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'), 100_000, 'canceled: old rows');
$node->wait_for_catchup($standby);
sound_ok($standby, 'standby after all that');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums of all pages');
$standby->stop;
remove_data($node, $standby);

# Without WAL, or with that which the server writes at commit.
my $minimal = new_bench_node('minimal', "max_wal_senders = 0\nautovacuum = off");
is($minimal->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'minimal: wal_level');
create_extensions($minimal);
foreach my $threshold ('0', '1GB')
{
	my $name = "minimal, threshold $threshold";
	$minimal->append_conf('postgresql.conf', "wal_skip_threshold = $threshold");
	$minimal->reload;
	wait_for($minimal, "SELECT (setting = '0') = ('$threshold' = '0') FROM pg_settings WHERE name = 'wal_skip_threshold'");
	foreach my $options (
		'scale => 2', "scale => 2, partitions => 2, partition_method => 'hash'", 'unlogged => true')
	{
		my $from = $minimal->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
		initialize("$options, steps => 'dtgp', workers => 2", $minimal);
		is(created_together($minimal), $is_known ? 't' : 'f', "$name, $options: who has built the keys");
		my $ours = pages($minimal);
		sound_ok($minimal, "$name, $options");
		if ($options !~ /unlogged/)
		{
			ok(kill_and_start($minimal), "$name, $options: the server starts again");
			is(pages($minimal), $ours, "$name, $options: every page is there");
			sound_ok($minimal, "$name, $options, after a crash");
		}
		$minimal->safe_psql('postgres', 'REINDEX TABLE pgbench_accounts');
		is($ours, pages($minimal), "$name, $options: every byte of the keys");
	}
	# What is unlogged is there after an orderly stop, and empty after a crash.
	$minimal->restart;
	is($minimal->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'), 100_000, "$name, unlogged: rows");
	sound_ok($minimal, "$name, unlogged, restarted");
	ok(kill_and_start($minimal), "$name, unlogged: the server starts again");
	is($minimal->safe_psql('postgres', 'SELECT count(*) FROM pgbench_accounts'), 0, "$name, unlogged: no rows");
	$minimal->safe_psql('postgres', 'INSERT INTO pgbench_accounts SELECT generate_series(1, 1000)');
	sound_ok($minimal, "$name, unlogged, filled again");
}
$minimal->stop;

# Rows that may be decoded must be inserted by the server, which then builds the keys, too;
# those of unlogged tables never are.
my $logical = new_bench_node('logical', "wal_level = logical\nmax_wal_senders = 2");
create_extensions($logical);
initialize('', $logical);
is(created_together($logical), 'f', 'logical: the server builds the keys');
sound_ok($logical, 'logical');
$logical->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('slot', 'test_decoding')");
initialize('unlogged => true', $logical);
is(created_together($logical), $is_known ? 't' : 'f', 'logical, unlogged: who has built the keys');
sound_ok($logical, 'logical, unlogged');
is( $logical->safe_psql('postgres', <<'SQL'), '0', 'logical, unlogged: nothing of accounts is decoded');
SELECT count(*) FROM pg_logical_slot_get_changes('slot', NULL, NULL)
 WHERE data LIKE '%pgbench_accounts:%'
SQL
$logical->safe_psql('postgres', "SELECT pg_drop_replication_slot('slot')");
$logical->stop;

done_testing();
