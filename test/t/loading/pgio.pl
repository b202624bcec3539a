# pgio's workload: its effects on its tables; that its figures equal the server's
# counters, cover exactly the run, and agree with each other; its errors.
use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

# More than these buffers can hold is in "large"; deadlocks are found at once.
my $node = new_bench_node('pgio', <<'CONF', allows_streaming => 1);
fsync = off
autovacuum = off
shared_buffers = 8MB
max_worker_processes = 32
max_connections = 60
deadlock_timeout = '10ms'
CONF

# Blocks of each table of a schema.
my %blocks = (small => 300, large => 1500);
foreach my $schema (sort keys %blocks)
{
	$node->safe_psql('postgres', "CREATE SCHEMA $schema");
	make_tables('postgres', $schema, 2, $blocks{$schema});
}

# Servers count evictions per process since version 18.
my $evictions = $node->pg_version >= 18;

# For all kinds of client processes.
my %modes = (
	spi     => "mode => 'spi', client_process => 'worker'",
	backend => "mode => 'spi', client_process => 'backend'",
	libpq   => "mode => 'libpq'");
my @modes = sort keys %modes;

# Intervals; one for all of a run disturbs the server's counters least.
my $whole  = q{aggregate_interval => '1 h'};
my $tenths = q{aggregate_interval => '100 ms'};

# pgio's tables, as many as asked for, of so many blocks and rows each.
sub make_tables
{
	my ($database, $schema, $tables, $blocks) = @_;
	foreach my $table (map { "$schema.pgio$_" } 1 .. $tables)
	{
		$node->safe_psql($database, <<"SQL");
CREATE TABLE $table (mykey bigint, scratch bigint, filler char(1024)) WITH (fillfactor = 10);
INSERT INTO $table SELECT k, 0, repeat('X', 1024) FROM generate_series(1, $blocks) k ORDER BY random();
CREATE INDEX ON $table (mykey);
VACUUM ANALYZE $table;
SQL
	}
	return;
}

# A run: its row as a hash reference, and what the server told meanwhile.  Named:
#   schema     that of the tables; "small" if it is not given
#   before     SQL of the same session
sub pgio
{
	my ($options, %with) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($status, $stdout, $stderr) = told($options, %with);
	is($status, 0, "run_pgio($options)") or BAIL_OUT($stderr);
	return (JSON::PP->new->decode($stdout), $stderr);
}

# The same for runs that may fail.
sub told
{
	my ($options, %with) = @_;
	my $schema = $with{schema} // 'small';
	my $before = $with{before} // '';
	return $node->psql('postgres',
		"\\set VERBOSITY verbose\nSET search_path = $schema;$before\nSELECT to_json(r) FROM bench.run_pgio($options) r",
		%{ $with{how} // {} });
}

sub fails_ok
{
	my ($options, $pattern, $name, %with) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $stdout, $stderr) = told($options, %with);
	like($stderr, $pattern, $name) or diag $stdout;
	unlike($stderr, qr/WARNING/, "$name: nothing is told twice");
	return;
}

sub sql { return $node->safe_psql('postgres', join ';', @_) }

# How often rows of a schema were updated.
sub scratches
{
	my ($schema) = @_;
	return sql("SELECT (SELECT sum(scratch) FROM $schema.pgio1) + (SELECT sum(scratch) FROM $schema.pgio2)");
}

sub near_ok
{
	my ($found, $expected, $percent, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(abs($found - $expected) <= $expected * $percent / 100, "$name within $percent%")
	  || diag "found $found, expected $expected";
}

# Tests that all that is stored of a run agrees with its row.
sub agrees_ok
{
	my ($row, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $id = $row->{run_id};

	figures_ok($node, $id, $name);
	my $expected = join '|', @{$row}{qw(selects updates failed)};
	my @checks;
	my $counts = 'sum(selects), sum(updates), sum(failed)';
	push @checks, [ "SELECT selects, updates, failed FROM bench.pgio_runs WHERE run_id = $id", $expected, "$name: pgio_runs" ];
	push @checks, [ "SELECT $counts FROM bench.pgio_sessions WHERE run_id = $id", $expected, "$name: pgio_sessions" ];
	push @checks, [ "SELECT $counts FROM bench.pgio_table_summary WHERE run_id = $id", $expected, "$name: pgio_tables" ];
	push @checks, [ "SELECT count(*), count(DISTINCT table_no) FROM bench.pgio_sessions WHERE run_id = $id",
		$row->{tables} * $row->{threads_per_table} . "|$row->{tables}", "$name: sessions" ];
	push @checks, [ "SELECT transactions = $row->{selects} + $row->{updates}, failed = $row->{failed} FROM bench.run_summary WHERE run_id = $id",
		't|t', "$name: the run" ];
	push @checks, [ "SELECT coalesce(sum(transactions) FILTER (WHERE name = 'pgio-select'), 0),
			coalesce(sum(transactions) FILTER (WHERE name = 'pgio-update'), 0)
			FROM bench.run_scripts WHERE run_id = $id",
		"$row->{selects}|$row->{updates}", "$name: the scripts" ];
	push @checks, [ "SELECT bool_and(coalesce(bench.histogram_count(select_histogram), 0) = selects
			AND coalesce(bench.histogram_count(update_histogram), 0) = updates)
			FROM bench.pgio_sessions WHERE run_id = $id",
		't', "$name: histograms of sessions" ];
	push @checks, [ "SELECT coalesce(bench.histogram_count(bench.merge_histograms(select_histogram)), 0) = $row->{selects}
			AND coalesce(bench.histogram_count(bench.merge_histograms(update_histogram)), 0) = $row->{updates}
			FROM bench.pgio_table_summary WHERE run_id = $id",
		't', "$name: histograms of tables" ];
	push @checks, [ "SELECT coalesce(bool_and(i.hit = s.hit AND i.read = s.read AND i.wal = s.wal), true)
			FROM (SELECT sum(blocks_hit) AS hit, sum(blocks_read) AS read, sum(wal_bytes) AS wal
				FROM bench.run_intervals WHERE run_id = $id HAVING count(blocks_hit) > 0) i,
			(SELECT sum(blocks_hit) AS hit, sum(blocks_read) AS read, sum(wal_bytes) AS wal
				FROM bench.pgio_sessions WHERE run_id = $id) s",
		't', "$name: blocks of intervals" ];
	push @checks, [ "SELECT string_agg(w, ' ') FROM (
			SELECT unnest(ARRAY['riops', 'hits', 'logical', 'dirtied', 'written', 'wal', 'device', 'MB', 'MB written']) AS w,
			       unnest(ARRAY[p.riops, p.cache_hits_per_s, p.logical_reads_per_s, p.blocks_dirtied_per_s, p.blocks_written_per_s,
			         p.wal_bytes_per_s, p.device_reads_per_s, p.device_read_mb_per_s, p.device_write_mb_per_s]) AS run,
			       unnest(ARRAY[sum(t.riops), sum(t.cache_hits_per_s), sum(t.logical_reads_per_s), sum(t.blocks_dirtied_per_s),
			         sum(t.blocks_written_per_s), sum(t.wal_bytes_per_s), sum(t.device_reads_per_s), sum(t.device_read_mb_per_s),
			         sum(t.device_write_mb_per_s)]) AS tables
			  FROM bench.pgio_runs p JOIN bench.pgio_table_summary t USING (run_id) WHERE run_id = $id GROUP BY p.run_id) r
			WHERE abs(run - tables) <= run * 1e-9",
		'riops hits logical dirtied written wal device MB MB written', "$name: rates of tables" ];
	# Rates are counts by the time of the run, whatever its time was.
	push @checks, [ "SELECT string_agg(w, ' ') FROM (
			SELECT unnest(ARRAY['riops', 'hits', 'logical', 'dirtied', 'written', 'wal', 'device', 'evicted']) AS w,
			       unnest(ARRAY[riops, cache_hits_per_s, logical_reads_per_s, blocks_dirtied_per_s, blocks_written_per_s,
			         wal_bytes_per_s, device_reads_per_s * block_bytes, blocks_evicted_per_s]) * seconds AS rate,
			       unnest(ARRAY[r, h, h + r, d, w, b, v, e]) AS count
			  FROM bench.pgio_runs, (SELECT sum(blocks_read) AS r, sum(blocks_hit) AS h, sum(blocks_dirtied) AS d,
			         sum(blocks_written) AS w, sum(wal_bytes) AS b, sum(device_read_bytes) AS v, sum(blocks_evicted) AS e,
			         max(seconds) AS s, count(DISTINCT seconds) AS n
			         FROM bench.pgio_sessions WHERE run_id = $id) sessions
			 WHERE run_id = $id AND s = seconds AND n = 1) w
			WHERE abs(rate - count) < 0.5",
		'riops hits logical dirtied written wal device' . ($evictions ? ' evicted' : ''), "$name: rates of sessions" ];
	# One session for all, since it is asked of many runs.
	my @found = split /\n/, sql(map { $_->[0] } @checks), -1;
	is($found[$_], $checks[$_][1], $checks[$_][2]) foreach 0 .. $#checks;
	is(scalar @found, scalar @checks, "$name: each query has a row");
	return;
}

# How a run with these options, of small.pgio1, looks for rows.
sub scan_of
{
	my ($options, %with) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# Index scans count the rows that they fetch through the index; bitmap scans do not.
	my $scans = "SELECT i.idx_scan, i.idx_tup_fetch, t.seq_scan FROM pg_stat_user_indexes i
		JOIN pg_stat_user_tables t USING (relid) WHERE relid = 'small.pgio1'::regclass";
	wait_until_quiet($node);
	my @before = split /\|/, sql($scans);
	pgio("transactions => 10, work_unit => 20, $options", %with);
	wait_until_quiet($node);
	my @after = split /\|/, sql($scans);
	my ($index, $fetched, $sequential) = map { $after[$_] - $before[$_] } 0 .. 2;
	# Finding the largest key takes one row.
	return
	    $sequential >= 10 ? 'sequential'
	  : $fetched >= 210   ? 'index'
	  : $index >= 10      ? 'bitmap'
	  :                     "unknown: $index, $fetched, $sequential";
}

# Tests that a loop that reads takes the blocks of its rows and some of the index.
sub loops_ok
{
	my ($row, $name, $cut) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $blocks = used($row, 'blocks_hit + blocks_read') / $row->{selects};
	my $least  = 256 * (1 - ($cut // 0) / $row->{selects});
	return ok($blocks > $least && $blocks < 264, "$name: blocks of each loop") || diag $blocks;
}

# What sessions have used, in all.
sub used
{
	my ($row, $what) = @_;
	return sql("SELECT sum($what) FROM bench.pgio_sessions WHERE run_id = $row->{run_id}");
}

# Blocks of pgio's tables and their indexes that were hit and read, and the position of WAL; when
# all processes that count have told what they counted.
sub server_counters
{
	wait_until_quiet($node);
	my %counters;
	@counters{qw(hit read wal)} = split /\|/, sql(
		"SELECT sum(heap_blks_hit + idx_blks_hit), sum(heap_blks_read + idx_blks_read), pg_current_wal_insert_lsn() - '0/0'
		   FROM pg_statio_user_tables WHERE relname ~ '^pgio[12]\$'");
	return \%counters;
}

# The server's counters agree with the run's, which have also the catalogs that sessions read
# meanwhile.  Those of the whole database would have another 9,000 blocks of catalogs for each
# call, which its processes read to start, prepare and store a run.
foreach my $mode (@modes)
{
	foreach ([ small => 2000 ], [ large => 2500 ])
	{
		my ($schema, $transactions) = @$_;
		my $name = "$mode, $schema";
		my $before = server_counters();
		my ($row) = pgio("transactions => $transactions, $whole, $modes{$mode}", schema => $schema);
		my $after = server_counters();
		my ($hit, $read) = map { $after->{$_} - $before->{$_} } qw(hit read);
		is($row->{state}, 'finished', "$name: state");
		is($row->{selects}, 2 * $transactions, "$name: selects");
		near_ok(used($row, 'blocks_hit + blocks_read'), $hit + $read, 1, "$name: blocks hit and read");
		near_ok(used($row, 'blocks_read'), $read, 1, "$name: blocks read") if $schema eq 'large';
		# What is read takes the place of something else.
		is(used($row, 'blocks_evicted'), '', "$name: blocks evicted") if !$evictions;
		near_ok(used($row, 'blocks_evicted'), $read, 2, "$name: blocks evicted") if $evictions && $schema eq 'large';
		loops_ok($row, $name);
		agrees_ok($row, $name);
	}
}

# Every update that counts is in the table, and no other; WAL is that of the updates.
sql('CHECKPOINT');
foreach my $mode (@modes)
{
	foreach ([ 1, 51 ], [ 1, 100 ], [ 4000, 100 ])
	{
		my ($commit_every, $update_pct) = @$_;
		my $name = "$mode, commit every $commit_every, $update_pct% updates";
		my $scratches = scratches('small');
		my $before = server_counters();
		my ($row) = pgio("transactions => 700, update_pct => $update_pct, commit_every => $commit_every,"
			  . " work_unit => 1, $whole, $modes{$mode}");
		my $after = server_counters();
		is($row->{selects} + $row->{updates}, 1400, "$name: loops");
		ok($row->{updates} >= 1400 * ($update_pct - 10) / 100 && ($row->{selects} > 0) == ($update_pct < 100),
			"$name: updates")
		  or diag $row->{updates};
		is(scratches('small') - $scratches, $row->{updates} * 9, "$name: rows");
		agrees_ok($row, $name);
		# Records begin at multiples of eight bytes, and pages have headers.
		my ($run, $server) = (used($row, 'wal_bytes'), $after->{wal} - $before->{wal});
		ok($run <= $server && $run >= 0.93 * $server, "$name: WAL") or diag "$run of $server";
		# Rounded to five digits.
		ok(abs($row->{wal_bytes_per_update} * $row->{updates} - $run) < $run / 10000, "$name: WAL of each update");
		# Each flush writes whole blocks of WAL, and now and then there is a new segment.
		my $most = used($row, 'blocks_written + 2') * 8192 + $run + 1400 * 2 * 8192 + (64 << 20);
		cmp_ok(used($row, 'device_write_bytes'), '<=', $most, "$name: bytes written") if -e '/proc/self/io';
	}
}

# A slow start does not affect the rates.  Sessions wait for each other, and the clock
# and the counters start when all are ready.
{
	# One row in each block again.
	$node->safe_psql('postgres', "VACUUM FULL ANALYZE small.pgio$_") foreach 1, 2;
	my $fixed = "transactions => 20, seed => '7', $whole";
	my %quick = map { $_ => (pgio("$fixed, $modes{$_}"))[0] } @modes;
	my ($one) = pgio("$fixed, tables => 1");
	my ($many) = pgio("$fixed, tables => 1, threads_per_table => 20");
	is($many->{selects}, 20 * $one->{selects}, '20 sessions of a table: selects');
	near_ok(used($many, 'blocks_hit + blocks_read'), 20 * used($one, 'blocks_hit + blocks_read'),
		2, '20 sessions of a table: blocks');
	agrees_ok($many, '20 sessions of a table');

	sql('ALTER SYSTEM SET post_auth_delay = 1');
	$node->reload;
	wait_for($node, "SELECT current_setting('post_auth_delay') = '1s'");
	my %slow = map { $_ => (pgio("$fixed, $modes{$_}"))[0] } @modes;
	sql('ALTER SYSTEM RESET post_auth_delay');
	$node->reload;
	wait_for($node, "SELECT current_setting('post_auth_delay') = '0'");
	foreach my $mode (@modes)
	{
		my $slow = $slow{$mode};
		near_ok(used($slow, 'blocks_hit + blocks_read'), used($quick{$mode}, 'blocks_hit + blocks_read'),
			2, "$mode, slow launch: blocks");
		is( sql("SELECT started_at - created_at >= '1 s', seconds <= extract(epoch FROM finished_at - started_at) + 0.01
				FROM bench.runs WHERE run_id = $slow->{run_id}"),
			't|t', "$mode, slow launch: not in the time");
		agrees_ok($slow, "$mode, slow launch");
	}
}

# Which rows, and how they are found.
{
	my $keys = "SELECT md5(string_agg(scratch::text, ',' ORDER BY mykey)) FROM small.pgio1";
	my @found;
	foreach my $mode ('spi', 'spi', 'libpq')
	{
		sql('UPDATE small.pgio1 SET scratch = 0', 'UPDATE small.pgio2 SET scratch = 0');
		pgio("tables => 1, transactions => 300, seed => '42', update_pct => 50, update_work_unit => 3, $modes{$mode}");
		push @found, sql($keys);
	}
	is($found[1], $found[0], 'the same seed, the same rows');
	is($found[2], $found[0], 'the same rows in both modes');

	sql('UPDATE small.pgio1 SET scratch = 0');
	my ($row) = pgio("tables => 1, transactions => 500, seed => '1', update_pct => 100, working_set_pct => 10");
	is(sql('SELECT min(mykey), max(mykey) FROM small.pgio1 WHERE scratch > 0'), '1|30', 'working_set_pct: keys');
	is($row->{working_set_bytes}, 30 * 8192, 'working_set_pct: bytes');
	is(sql('SELECT count(*) FROM small.pgio2 WHERE scratch > 0'), 0, 'tables beyond the number asked for');
	sql('UPDATE small.pgio1 SET scratch = 0');
	pgio('tables => 1, transactions => 3, update_pct => 100, update_work_unit => 299');
	is(sql('SELECT min(scratch), max(scratch) FROM small.pgio1'), '3|3', 'a work unit of all keys');
	sql('UPDATE small.pgio1 SET scratch = 0');
	pgio("tables => 1, transactions => 3000, seed => '1', update_pct => 100, update_work_unit => 0, commit_every => 500");
	is(sql('SELECT count(*) FROM small.pgio1 WHERE scratch = 0'), 0, 'single keys: each of them, in time');

	my $off = 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;';
	foreach (
		[ "scan => 'index'",  '',                           'index' ],
		[ "scan => 'bitmap'", '',                           'bitmap' ],
		[ "scan => 'auto'",   'SET enable_bitmapscan = off; SET enable_seqscan = off;', 'index' ],
		[ "scan => 'auto'",   'SET enable_indexscan = off; SET enable_seqscan = off;', 'bitmap' ],
		[ "scan => 'auto'",   $off,                         'sequential' ],
		[ "scan => 'index'",  'SET enable_indexscan = off; SET enable_bitmapscan = on;', 'bitmap' ],)
	{
		my ($scan, $settings, $expected) = @$_;
		foreach my $mode (qw(spi libpq))
		{
			my $how = scan_of("tables => 1, $scan, $modes{$mode}", before => $settings);
			is($how, $expected, "$scan $settings $mode");
		}
	}
	is(sql('SET search_path = small', "SELECT device_reads_per_s FROM bench.run_pgio(tables => 1, transactions => 3, scan => 'auto')"), '', 'parallel workers may read');
}

# Options of runs.
{
	my ($row, $stderr) = pgio("transactions => 20, rate => 2000, log => true, update_pct => 30, label => 'all'");
	agrees_ok($row, 'with a rate and a log');
	is(sql("SELECT count(*) FILTER (WHERE outcome = 'success'), count(*) FROM bench.transactions WHERE run_id = $row->{run_id}"),
		'40|40', 'log');
	is(sql("SELECT lag_avg_ms > 0, label FROM bench.runs WHERE run_id = $row->{run_id}"), 't|all', 'rate, label');
	in_time_ok('with a warm-up', sub {
		($row, $stderr) = pgio("duration => 0.5 * $_[0], warmup => 0.3 * $_[0], progress => '100 ms', $tenths",
			schema => 'large');
		return $row->{selects} > 0
		  && sql("SELECT warmup_transactions > 0, (SELECT count(*) > 2 FROM bench.run_intervals i WHERE i.run_id = r.run_id)
				FROM bench.runs r WHERE run_id = $row->{run_id}") eq 't|t';
	});
	# A loop that began in the warm-up and ended after it counts; its blocks do not. There are two sessions.
	loops_ok($row, 'with a warm-up', 2);
	agrees_ok($row, 'with a warm-up, for a time');
	like($stderr, qr/NOTICE:  .*progress: \d+\.\d+ s,/, 'progress');
	like($stderr, qr/NOTICE:  .*the working set, 23\.4 MB, does not fit into shared_buffers, but into the memory/,
		'notice of a working set that fits into memory');
	unlike(sql("SELECT bench.report($row->{run_id})"), qr/fits into shared_buffers/, 'report');
	my $logical = sprintf '%.0f', $row->{riops};
	my $hits = sprintf '%.0f', $row->{cache_hits_per_s};
	like(sql("SELECT bench.report($row->{run_id})"), qr/^RIOPS >$logical< CACHE_HITS\/s >$hits<$/m, 'the old figures');
	like(sql("SELECT evidence FROM bench.advice($row->{run_id})"), qr/does not fit into shared_buffers, but/, 'advice');
	($row, $stderr) = pgio('transactions => 2');
	my $fits = qr/the working set, 4\.7 MB, fits into shared_buffers, 8 MB/;
	like($stderr, qr/NOTICE:  .*$fits/, 'notice of a working set that fits into buffers');
	like(sql("SELECT bench.report($row->{run_id})"), $fits, 'report of one');
	like(sql("SELECT evidence FROM bench.advice($row->{run_id})"), $fits, 'advice about one');

	# With a rate, sessions may wait for a start that counts since before the warm-up's end; a loop that
	# is under way then counts without its blocks.
	foreach my $mode (@modes)
	{
		my ($throttled) = pgio("duration => '1 s', warmup => '200 ms', rate => 10, tables => 1, threads_per_table => 4, $modes{$mode}");
		my $blocks = used($throttled, 'blocks_hit + blocks_read');
		ok(defined $blocks && $blocks >= 256 * ($throttled->{selects} - 4), "$mode, a warm-up and a low rate: blocks")
		  or diag $blocks // 'unknown', " for $throttled->{selects}";
	}

	# Times of reading.
	($row) = pgio('transactions => 50', schema => 'large', before => 'SET track_io_timing = on;');
	is(used($row, 'bench.histogram_count(read_histogram)'), used($row, 'blocks_read'), 'times of reading');
	is(sql("SELECT bench.histogram_count(read_histogram) FROM bench.pgio_runs WHERE run_id = $row->{run_id}"),
		used($row, 'blocks_read'), 'of all sessions');
	ok($row->{read_max_ms} >= $row->{read_p50_ms} && $row->{read_avg_ms} > 0, 'their percentiles');
	($row) = pgio("transactions => 50, mode => 'libpq'", schema => 'large', before => 'SET track_io_timing = on;');
	ok($row->{read_avg_ms} > 0 && !defined $row->{read_p50_ms}, 'libpq: the average alone');
	($row) = pgio('transactions => 50', schema => 'large');
	ok(!defined $row->{read_avg_ms}, 'not unless they are measured');

	# Called as the notice about dead rows asks for, it has none to give.
	my (undef, $stdout, $notices) = $node->psql('postgres',
		'SET search_path = small; SELECT * FROM bench.run_pgio(transactions => 2, update_pct => 100)');
	like($stdout, qr/^\d+\|finished\|/, 'every column');
	unlike($notices, qr/dead rows/, 'by itself at top level');
	(undef, $stderr) = pgio('transactions => 2, update_pct => 100');
	like($stderr, qr/NOTICE:  .*keeps dead rows from being removed/, 'within an expression');

	# Without the session.
	my $run_id = sql('SET search_path = small',
		"SELECT bench.start_pgio(transactions => 30, update_pct => 20)");
	is(sql("SELECT state FROM bench.wait($run_id)"), 'finished', 'start_pgio');
	$row = JSON::PP->new->decode(sql("SELECT to_json(p) FROM bench.pgio_summary p WHERE run_id = $run_id"));
	agrees_ok($row, 'start_pgio');
	like(sql("SELECT bench.report($run_id)"), qr/^RIOPS >/m, 'start_pgio: report');
}

# Errors are reported before anything starts.
{
	my $missing = qr/HINT:  Create pgio's tables with SELECT \* FROM bench.initialize_pgio\(\)/;
	fails_ok('transactions => 1', qr/ERROR:  42P01: relation "pgio1" does not exist\n$missing/, 'no tables', schema => 'public');
	fails_ok('tables => 3', qr/ERROR:  42P01: relation "pgio3" does not exist\n$missing/, 'too few tables');
	sql('CREATE SCHEMA odd', 'CREATE TABLE odd.pgio1 AS TABLE small.pgio1', 'CREATE TABLE odd.pgio3 AS TABLE small.pgio1');
	fails_ok('tables => 3', qr/42P01: relation "pgio2" does not exist/, 'one is missing in the middle', schema => 'odd');
	is((pgio('transactions => 1', schema => 'odd'))[0]{tables}, 1, 'tables up to a gap');
	sql('CREATE TABLE odd.pgio2 (LIKE small.pgio1)');
	fails_ok('transactions => 1', qr/ERROR:  .*"pgio2" is empty/, 'an empty table', schema => 'odd');
	sql('ALTER TABLE odd.pgio2 RENAME mykey TO my_key');
	fails_ok('transactions => 1', qr/ERROR:  42703: column "mykey" does not exist/, 'another column', schema => 'odd');
	sql('ALTER TABLE odd.pgio1 RENAME scratch TO other');
	fails_ok('tables => 1, transactions => 1', qr/no client could finish a transaction\n.*column "scratch" does not exist/,
		'another column to add up', schema => 'odd');
	fails_ok('work_unit => 300', qr/ERROR:  22023: option "work_unit" is 300, but each table has 300 keys in use/,
		'too long a work unit');
	fails_ok('working_set_pct => 1, work_unit => 1, update_pct => 1', qr/"update_work_unit" is 8, but each table has 3 keys/, 'too small a working set');
	is((pgio('working_set_pct => 1, work_unit => 1, transactions => 1'))[0]{state}, 'finished', 'an unused work unit');
	fails_ok("target => 'dbname=postgres', mode => 'libpq'", qr/option "target" needs the number of tables/, 'a target');
	foreach ([ 'EXCLUSIVE', 50 ], [ 'ACCESS EXCLUSIVE', 0 ])
	{
		my ($lock, $update_pct) = @$_;
		fails_ok("update_pct => $update_pct", qr/ERROR:  55006: .*holds a lock.*\n.*relation "pgio2"/, "$lock",
			before => "BEGIN; LOCK TABLE pgio2 IN $lock MODE;");
	}
	is((pgio('transactions => 1', before => 'BEGIN; LOCK TABLE pgio2 IN EXCLUSIVE MODE;'))[0]{state},
		'finished', 'a lock that lets readers pass');
	nothing_left_ok($node, 'errors');
}

# Sessions that lock the same rows in another order: after a deadlock, the session's
# transaction fails, and the session continues.  With a rate, transactions stay open for
# long, so that conflicts occur.
foreach my $mode (qw(spi libpq))
{
	my $scratches = scratches('small');
	my ($row) = pgio("tables => 1, threads_per_table => 4, transactions => 200, update_pct => 100, update_work_unit => 0,"
		  . " working_set_pct => 2, commit_every => 20, rate => 2000, $modes{$mode}");
	is($row->{state}, 'finished', "$mode, deadlocks: state");
	is($row->{updates} + $row->{failed}, 800, "$mode, deadlocks: updates");
	cmp_ok($row->{failed}, '>', 0, "$mode, deadlocks: there were some");
	is(sql("SELECT deadlock_failures, aborted_clients FROM bench.runs WHERE run_id = $row->{run_id}"),
		"$row->{failed}|0", "$mode, deadlocks: they count as such");
	agrees_ok($row, "$mode, deadlocks");
	my $done = scratches('small') - $scratches;
	ok($done <= $row->{updates} && $done >= $row->{updates} - 19 * $row->{failed}, "$mode, deadlocks: rows")
	  or diag "$done of $row->{updates}, $row->{failed} failed";
}

# The figures of an aborted session cover the time until it aborted.
sql('CREATE SCHEMA checked');
make_tables('postgres', 'checked', 2, 300);
sql('ALTER TABLE checked.pgio2 ADD CHECK (scratch < 3)');
foreach my $mode (@modes)
{
	foreach my $commit_every (1, 5)
	{
		my $name = "$mode, commit every $commit_every, aborted";
		sql('UPDATE checked.pgio1 SET scratch = 0', 'UPDATE checked.pgio2 SET scratch = 0');
		my ($row, $stderr) = pgio("transactions => 300, update_pct => 100, commit_every => $commit_every, $modes{$mode}",
			schema => 'checked');
		like($stderr, qr/WARNING: .*run was aborted for 1 of 2 clients; its results are incomplete\n.*client 1 .*violates check constraint/, $name);
		agrees_ok($row, $name);
		is(sql("SELECT count(*) FROM bench.pgio_table_summary WHERE run_id = $row->{run_id} AND wal_bytes_per_s > 0"), 2,
			"$name: figures of both");
	}
}

# Canceled: the loops in progress may have committed.
foreach my $mode (@modes)
{
	foreach (
		[ 'Ctrl-C',       1,  sub { signal_sql($_[0], 'INT') } ],
		[ 'bench.cancel', 50, sub { sql("SELECT bench.cancel(run_id) FROM bench.progress") } ],)
	{
		my ($how, $commit_every, $cancel) = @$_;
		my $name = "$mode, $how";
		my $scratches = scratches('small');
		my $session = start_sql($node, "SET search_path = small; SELECT bench.run_pgio(duration => '1000 s', update_pct => 100,"
			  . " commit_every => $commit_every, label => '$name', $modes{$mode})");
		wait_for_transactions($node, $name);
		$cancel->($session);
		my (undef, $stderr) = finish_sql($session);
		like($stderr, $how eq 'Ctrl-C' ? qr/ERROR:  57014/ : qr/WARNING: .*run was aborted/, $name);
		nothing_left_ok($node, $name);
		my $run = latest_run($node, $name);
		is($run->{state}, 'canceled', "$name: state");
		my $row = JSON::PP->new->decode(sql("SELECT to_json(p) FROM bench.pgio_summary p WHERE run_id = $run->{run_id}"));
		agrees_ok($row, $name);
		my $done = scratches('small') - $scratches;
		# Two sessions, with one update or one block each.
		my ($least, $most) = map { $_ * 9 } $row->{updates} - 2 * ($commit_every - 1), $row->{updates} + 2;
		ok($done >= $least && $done <= $most, "$name: rows") or diag "$done, not $least to $most";
	}
}

# Roles.
{
	my $secret = 'pW9kq2Zx';
	my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
	unlink $node->data_dir . '/pg_hba.conf';
	append_to_file($node->data_dir . '/pg_hba.conf', "local all self scram-sha-256\nhost all self all scram-sha-256\n$hba");
	sql("CREATE ROLE self LOGIN PASSWORD '$secret'", 'CREATE ROLE other LOGIN',
		q(SELECT bench.grant_to('self'), bench.grant_to('other')),
		'GRANT USAGE ON SCHEMA small TO self, other',
		'GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA small TO self, other');
	$node->reload;
	my %self = (how => { extra_params => [ '-U', 'self' ] });
	local $ENV{PGPASSWORD} = $secret;
	my ($row) = pgio('transactions => 5, update_pct => 50', %self);
	is($row->{selects} + $row->{updates}, 10, 'without superuser');
	agrees_ok($row, 'without superuser');
	fails_ok("transactions => 5, mode => 'libpq'", qr/ERROR:  .*permission denied for mode "libpq"/, 'libpq needs a password', %self);
	(my $target = $node->connstr('postgres') . " user=self password=$secret options='-c search_path=small'") =~ s/'/''/g;
	my $by_password = "transactions => 5, mode => 'libpq', tables => 2, target => '$target'";
	($row) = pgio($by_password, %self);
	agrees_ok($row, 'by password');
	ok($row->{logical_reads_per_s} > 0, 'by password: figures');
	is( $node->safe_psql('postgres', "SELECT count(*) FROM bench.pgio_runs; SELECT count(*) FROM bench.pgio_sessions", extra_params => [ '-U', 'other' ]),
		"0\n0", "another's runs are not seen");
	sql('REVOKE EXECUTE ON FUNCTION bench.session_usage FROM self');
	($row) = pgio($by_password, %self);
	is("$row->{selects} " . ($row->{riops} // 'unknown'), '10 unknown', 'who may not ask is not told');
	like(sql("SELECT bench.report($row->{run_id})"), qr/^blocks and WAL of the sessions are not known$/m, 'nor is the report');

	# Targets without the extension cannot tell what was used.
	$node->safe_psql('postgres', 'CREATE DATABASE bare');
	make_tables('bare', 'public', 2, 300);
	foreach ([ postgres => " options='-c search_path=small'" ], [ bare => '' ])
	{
		my ($database, $more) = @$_;
		($target = $node->connstr($database) . $more) =~ s/'/''/g;
		my ($row, $stderr) = pgio("tables => 2, transactions => 20, update_pct => 50, mode => 'libpq', target => '$target'");
		is($row->{state}, 'finished', "target $database: state") or diag $stderr;
		is($row->{selects} + $row->{updates}, 40, "target $database: loops");
		my @known = grep { defined $row->{$_} }
		  qw(riops cache_hits_per_s logical_reads_per_s device_reads_per_s wal_bytes_per_s wal_bytes_per_update);
		is(scalar @known, $database eq 'bare' ? 0 : 6, "target $database: figures");
		unlike($stderr, qr/working set/, "target $database: nothing is known of its memory");
		ok(defined $row->{update_p99_ms}, "target $database: latencies");
		next if $database eq 'bare';
		foreach my $scan (qw(index bitmap))
		{
			is(scan_of("tables => 1, scan => '$scan', mode => 'libpq', target => '$target'"), $scan,
				"target with options: scan $scan");
		}
	}
	fails_ok("tables => 3, mode => 'libpq', target => '$target'",
		qr/42P01: relation "pgio3" does not exist\nHINT:  Create pgio's tables in the target/, 'a table missing there');
	nothing_left_ok($node, 'targets');
}

# On a standby: runs that only read work and are not stored.
{
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->start;
	$node->wait_for_catchup($standby);
	foreach my $mode (@modes)
	{
		my (undef, $stdout, $stderr) = $standby->psql('postgres',
			"SET search_path = small; SELECT run_id IS NULL, state, selects, riops >= 0, cache_hits_per_s > 0
			   FROM bench.run_pgio(transactions => 10, $modes{$mode})");
		is($stdout, 't|finished|20|t|t', "standby: $mode") or diag $stderr;
		like($stderr, qr/NOTICE: .*not stored, because this server is a standby/, "standby: $mode, notice");
	}
	foreach ('run_pgio(update_pct => 1)', 'start_pgio()')
	{
		my (undef, undef, $stderr) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSET search_path = small; SELECT bench.$_");
		like($stderr, qr/ERROR:  25006: cannot .* on a standby/, "standby: $_");
	}
	nothing_left_ok($standby, 'standby');
	$standby->stop;
}

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
