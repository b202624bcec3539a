# The measurements of "make bench": pg_selfbench and its peers, in turn.
#
# test/bench/run starts a scratch server and calls this program with PGHOST etc. in
# the environment, and
#   BENCH_BINDIR         where psql and pgbench are
#   BENCH_LIBPQ_MEMORY   the program made of libpq_memory.c
# See there for QUICK, SMOKE, BENCH_ONLY, BENCH_OUT and BENCH_PGBENCH.  The exit status is 0 if every
# row has its figures, whether they meet their targets or not.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Handle;
use JSON::PP;
use List::Util qw(any first max min sum);
use POSIX qw(strftime);
use Time::HiRes qw(sleep time);

STDOUT->autoflush;

my $bindir       = $ENV{BENCH_BINDIR};
my $pgbench      = $ENV{BENCH_PGBENCH} || "$bindir/pgbench";
my $libpq_memory = $ENV{BENCH_LIBPQ_MEMORY};
my $only         = $ENV{BENCH_ONLY} // '.';
my $out          = $ENV{BENCH_OUT} || 'bench.json';

# How much is measured.
#   repeats, seconds          of each measurement
#   pairs                     of measurements whose ratio is close to its target
#   most_clients              of the largest measurements
#   logged                    seconds of those that log, which take time to fill the log
#   load_scale, load_repeats  of filling tables
#   growth                    seconds of each measurement of how costs grow
#   grown_scales              scales of filling tables there
#   pgio_blocks               blocks of each of pgio's tables
#   day                       minutes of intervals that are stored, read and reported
my %profiles = (
	full => {
		repeats => 7, pairs => 30, most_clients => 1000, seconds => 2, logged => 5, load_scale => 100, load_repeats => 7,
		growth => 2, grown_scales => [ 10, 50, 100 ],
		pgio_blocks => 16_384, day => 1440
	},
	quick => {
		repeats => 2, pairs => 2, most_clients => 1000, seconds => 1, logged => 2, load_scale => 20, load_repeats => 2,
		growth => 1, grown_scales => [ 5, 10, 20 ],
		pgio_blocks => 4096, day => 144
	},
	smoke => {
		repeats => 1, pairs => 1, most_clients => 20, seconds => 0.2, logged => 0.2, load_scale => 1, load_repeats => 1,
		growth => 0.2, grown_scales => [1], pgio_blocks => 512, day => 2
	});
my $kind    = $ENV{SMOKE} ? 'smoke' : $ENV{QUICK} ? 'quick' : 'full';
my $profile = $profiles{$kind};

# Scale of the tables that transactions use.
my $scale = $kind eq 'smoke' ? 1 : 10;
# Rows of pgbench_accounts for each unit of scale.
my $accounts = 100_000;
# Connections of a worker whose memory is compared.
my ($few, $many) = (8, 136);

my (@rows, @growth, %settings, $failures);

prepare();
loads();
in_process();
writes();
connections();
details();
observation();
budget();
day();
dashboard();
pgio();
pgio_device();
memory();
grow();
show();
save();
exit($failures ? 1 : 0);

# --- the measurements -------------------------------------------------------

sub prepare
{
	%settings = %{ json_of(
			sql('SELECT json_object_agg(name, current_setting(name)) FROM pg_settings'
				  . q{ WHERE source NOT IN ('default', 'override', 'client', 'environment variable')}
				  . q{ AND name !~ 'path|director|destdir|config|^lc_|TimeZone|^port$|text_search'}
				  . q{ OR name IN ('server_version', 'fsync', 'synchronous_commit', 'wal_compression',}
				  . q{ 'wal_level', 'max_wal_size', 'data_checksums', 'debug_assertions', 'huge_pages')}
		)) };
	say_it(join ', ', map { "$_ = $settings{$_}" } sort keys %settings);
	say_it('QUICK: few, short measurements on small tables; no figures to quote') if $kind eq 'quick';
	say_it('SMOKE: whether every row can be measured; its figures mean nothing') if $kind eq 'smoke';

	sql('CREATE DATABASE load');
	sql('CREATE EXTENSION pg_selfbench', database => $_) foreach qw(postgres load);
	sql("SELECT bench.initialize(scale => $scale)");
	sql(<<'SQL');
CREATE FUNCTION spi_loop(statement text, parameters int, seconds float8, reports boolean)
RETURNS float8 LANGUAGE c AS 'spi_loop';

-- Both loops end after a time, and return their transactions per second.
CREATE PROCEDURE committing_loop(parameters int, seconds float8, INOUT tps float8) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp(); elapsed float8; done int := 0; number int; balance int;
BEGIN
    LOOP
        FOR i IN 1..64 LOOP
            number := 1 + floor(random() * parameters);
            SELECT abalance INTO balance FROM pgbench_accounts WHERE aid = number;
            COMMIT;
        END LOOP;
        done := done + 64;
        elapsed := extract(epoch FROM clock_timestamp() - began);
        EXIT WHEN elapsed >= seconds;
    END LOOP;
    tps := done / elapsed;
END $$;

CREATE PROCEDURE plain_loop(parameters int, seconds float8, INOUT tps float8) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp(); elapsed float8; done int := 0; number int; balance int;
BEGIN
    LOOP
        FOR i IN 1..64 LOOP
            number := 1 + floor(random() * parameters);
            SELECT abalance INTO balance FROM pgbench_accounts WHERE aid = number;
        END LOOP;
        done := done + 64;
        elapsed := extract(epoch FROM clock_timestamp() - began);
        EXIT WHEN elapsed >= seconds;
    END LOOP;
    tps := done / elapsed;
END $$;

-- Scripts with known parts.
CREATE FUNCTION spin(ms float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + ms * interval '1 ms';
BEGIN
    WHILE clock_timestamp() < until LOOP END LOOP;
END $$;
SELECT bench.define_script('bench_known', E'SELECT spin(1);\nSELECT pg_sleep(0.005);'),
       bench.define_script('bench_less', E'SELECT spin(0);\nSELECT pg_sleep(0.005);'),
       bench.define_script('bench_hold', E'SELECT pg_advisory_lock(1);\nSELECT pg_sleep(0.02);\nSELECT pg_advisory_unlock(1);');
SQL
	# After that, all data is in memory, so the first one has no disadvantage.
	ours("'select-only'", $profile->{seconds}, 'clients => 2');
	return;
}

# Filling tables, in a database of their own.
sub loads
{
	my $n = $profile->{load_scale};

	compare(
		repeats => $profile->{load_repeats},
		arms    => {
			ours => sub { load($n, "SELECT bench.initialize(scale => $n, steps => 'dtg')") },
			peer => sub { load($n, [ '-I', 'dtg' ]) }
		},
		rows => [
			{
				name => 'generate', what => "generating data, scale $n: seconds, against pgbench -i -I dtg",
				figure => 'seconds', faster => 1, target => '>= 6'
			},
			{
				name => 'wal', what => "the same: MB of WAL", figure => 'wal_mb', target => '<= 0.2'
			}
		]);
	compare(
		repeats => $profile->{load_repeats},
		arms    => {
			ours => sub { load($n, "SELECT bench.initialize(scale => $n)") },
			peer => sub { load($n, []) }
		},
		rows => [
			{
				name => 'initialize', what => "whole initialize, scale $n: seconds, against pgbench -i",
				figure => 'seconds', faster => 1, target => '>= 4'
			},
			{
				name => 'initialize_wal', what => "the same: MB of WAL", figure => 'wal_mb', target => '<= 0.22'
			}
		]);
	compare(
		repeats => $profile->{load_repeats},
		arms    => {
			ours => sub { load($n, "SELECT bench.initialize(scale => $n, foreign_keys => true)") },
			peer => sub { load($n, ['--foreign-keys']) }
		},
		rows => [
			{
				name => 'initialize_foreign_keys',
				what => 'initialize with foreign keys, against pgbench -i --foreign-keys',
				figure => 'seconds', faster => 1, target => '>= 3'
			}
		]);
	return;
}

# One client that reads, without a connection of its own.
sub in_process
{
	my $s = $profile->{seconds};
	my $all = $scale * $accounts;
	my $statement = 'SELECT abalance FROM pgbench_accounts WHERE aid = $1;';
	my @first = (what => 'SPI select-only, 1 client: tps, against', figure => 'tps');
	my $loop = sub { +{ tps => number(last_line(sql(@_))) } };

	compare(
		arms => {
			ours     => sub { ours("'select-only'", $s) },
			bare     => sub { $loop->("SELECT spi_loop('$statement', $all, $s, false)") },
			reports  => sub { $loop->("SELECT spi_loop('$statement', $all, $s, true)") },
			commits  => sub { $loop->("CALL committing_loop($all, $s, NULL)") },
			plain    => sub { $loop->("CALL plain_loop($all, $s, NULL)") },
			pgbench  => sub { pgbench(1, 1, $s, qw(-n -S)) },
			backend  => sub { ours("'select-only'", $s, q{client_process => 'backend'}) }
		},
		rows => [
			row_of(@first, 'spi_bare', 'bare', 'a bare SPI loop', '>= 0.95'),
			row_of(@first, 'spi_reports', 'reports', 'an SPI loop that reports its activity'),
			row_of(@first, 'spi_commits', 'commits', 'a PL/pgSQL loop that commits', '>= 1.25'),
			row_of(@first, 'spi_plain', 'plain', 'a PL/pgSQL loop in one transaction'),
			row_of(@first, 'spi_pgbench', 'pgbench', 'pgbench', '>= 4'),
			row_of(@first, 'spi_backend', 'backend', q{client_process => 'backend'})
		]);
	return;
}

# Two clients that write.
sub writes
{
	my $s = $profile->{seconds};
	local $ENV{PGOPTIONS} = '-c synchronous_commit=off';

	compare(
		arms => {
			ours => sub { ours("'tpcb-like'", $s, 'clients => 2') },
			peer => sub { pgbench(2, 2, $s) }
		},
		rows => [
			{
				name => 'spi_tpcb',
				what => 'SPI tpcb-like, 2 clients, synchronous_commit off: tps, against pgbench',
				figure => 'tps', target => '>= 1.8'
			}
		]);
	return;
}

# Clients with connections, as many as pgbench's.
sub connections
{
	my ($few_pairs, $many_pairs) = @{$profile}{qw(repeats pairs)};
	foreach (
		[ 1, 1, $many_pairs, '0.97' ], [ 8, 2, $many_pairs, '0.97' ], [ 64, 2, $many_pairs, '1.05' ],
		[ 64, 16, $many_pairs, '0.97' ], [ 200, 2, $many_pairs, '1.05' ], [ 200, 20, $many_pairs, '0.97' ],
		[ 1000, 50, $few_pairs, '0.97' ])
	{
		my ($clients, $jobs, $repeats, $target) = @$_;
		my $name = $jobs <= 2 ? $clients : "${clients}_$jobs";
		$clients = min($clients, $profile->{most_clients});
		$jobs    = min($clients, $jobs);
		# pgbench counts connecting as part of the time that it is given, and has no figure if all of
		# that is spent so.
		my $s = $clients <= 200 ? $profile->{seconds} : 5 * $profile->{seconds};
		my $what = "libpq select-only, $clients/$jobs clients/jobs";
		my $started;
		compare(
			repeats => $repeats,
			arms => {
				ours => sub { ours("'select-only'", $s, "mode => 'libpq'", "clients => $clients", "jobs => $jobs") },
				peer => sub {
					# Starting and connecting is not part of a transaction.
					$started //= pgbench_run($clients, $jobs, [ -t => 1 ], qw(-n -S))->{cpu_us};
					my $run = pgbench($clients, $jobs, $s, qw(-n -S));
					$run->{cpu} = positive(($run->{cpu_us} - $started) / $run->{transactions});
					return $run;
				}
			},
			rows => [
				{
					name => "libpq_$name", what => "$what: tps, against pgbench", figure => 'tps',
					target => ">= $target"
				},
				{
					name => "libpq_cpu_$name", what => 'the same: us of client CPU time per transaction',
					figure => 'cpu', target => '<= 0.9'
				}
			]);
		# A log takes time, so these runs are not those whose tps are compared.
		compare(
			repeats => min(3, $few_pairs),
			arms    => {
				ours => sub { logged($clients, $jobs, $s) },
				peer => sub { pgbench_logged($clients, $jobs, $s, qw(-n -S)) }
			},
			rows => [
				{
					name => "libpq_p99_$name", what => "$what: p99 of latencies in ms, against pgbench's",
					figure => 'p99', faster => 1
				},
				{
					name => "libpq_spread_$name",
					what => 'the same: standard deviation of transactions per client, as part of the mean',
					figure => 'spread', faster => 1
				}
			]);
	}
	my $clients = min(100, $profile->{most_clients});
	compare(
		arms => {
			ours => sub {
				ours("'select-only'", $profile->{seconds}, "mode => 'libpq'", "clients => $clients", 'jobs => 10',
					'reconnect => true');
			},
			peer => sub { pgbench($clients, 10, $profile->{seconds}, qw(-n -S -C)) }
		},
		rows => [
			{
				name => 'libpq_reconnect', what => "libpq select-only, $clients/10, reconnect: tps, against pgbench -C",
				figure => 'tps', target => '>= 0.97'
			}
		]);
	return;
}

# The cost of detailed measurements.
sub details
{
	my @on = ('per_statement => true', 'log => true', q{aggregate_interval => '1 s'});
	my @off = (q{aggregate_interval => '1 h'});
	my $s = $profile->{logged};
	foreach ([ 'SPI', 1 ], [ 'libpq', 8 ])
	{
		my ($mode, $clients) = @$_;
		my @how = ("'select-only'", $s, "mode => '\L$mode\E'", "clients => $clients");
		push @how, 'jobs => 2' if $mode eq 'libpq';
		compare(
			arms => {
				ours => sub { ours(@how, @on) },
				peer => sub { ours(@how, @off) }
			},
			rows => [
				{
					name => "details_\L$mode",
					what => "$mode select-only, $clients client(s), per_statement, log, 1 s intervals: tps, against none",
					figure => 'tps', target => '>= 0.97'
				}
			]);
	}
	return;
}

# The cost of what the coordinator observes beside the clients, and of stacks.
sub observation
{
	my $s = $profile->{seconds};
	foreach ([ 'SPI', 1 ], [ 'SPI', 8 ], [ 'libpq', 1 ], [ 'libpq', 8 ])
	{
		my ($mode, $clients) = @$_;
		my @how = ("'select-only'", $s, "mode => '\L$mode\E'", "clients => $clients");
		push @how, 'jobs => ' . min(2, $clients) if $mode eq 'libpq';
		foreach ([ 'observe', '0.98' ], [ 'profile', '0.97' ])
		{
			my ($option, $target) = @$_;
			compare(
				repeats => $profile->{pairs},
				arms    => {
					ours => sub { ours(@how, "$option => true") },
					peer => sub { ours(@how, "$option => false") }
				},
				rows => [
					{
						name => "${option}_\L$mode\E_$clients",
						what => "$mode select-only, $clients client(s), $option: tps, against $option => false",
						figure => 'tps', target => ">= $target"
					}
				]);
		}
	}
	return;
}

# Whether a time budget shows what a script is known to do, in microseconds: it spins for 1 ms and
# sleeps for 5 ms; of two clients that hold a lock for 20 ms, each waits 20 ms for the other.
sub budget
{
	# Parts are timed in some of every 16 transactions, of which a busy machine may execute only some in 0.2 s.
	my $s = max(1, $profile->{seconds});
	my %known = (spin => 1000, sleep => 5000, lock => 20_000, sum => 1);
	foreach my $mode (qw(spi libpq))
	{
		my @how = ($s, "mode => '$mode'", 'wait_sample_rate => 200');
		my ($cpu, $wait) = $mode eq 'spi' ? ('executor', 'wait: ') : ('server: CPU', 'server: wait ');
		my $parts = sub {
			my ($script) = @_;
			ours("'$script'", @how, $script eq 'bench_hold' ? 'clients => 2' : ());
			return json_of(sql(
				q{SELECT json_object_agg(component, us_per_transaction)::jsonb
				         || jsonb_build_object('sum', sum(us_per_transaction) / max(1000 * latency_avg_ms))
				    FROM (SELECT * FROM bench.runs ORDER BY run_id DESC LIMIT 1) r, bench.time_budget(run_id)}));
		};
		my $row = sub {
			my ($figure, $what, $target) = @_;
			return { name => "budget_${mode}_$figure", what => "time budget, $mode: $what, against what is known",
				figure => $figure, target => $target };
		};
		compare(
			arms => {
				ours => sub {
					# The statements take CPU time of their own.
					my ($less, $found) = map { $parts->($_) } qw(bench_less bench_known);
					return { spin => $found->{$cpu} - $less->{$cpu}, sleep => $found->{"${wait}Timeout"}, sum => $found->{sum} };
				},
				peer => sub { return {%known} }
			},
			rows => [
				$row->('spin', 'us that spinning adds', '0.9..1.1'),
				$row->('sleep', 'us of pg_sleep', '0.9..1.1'),
				$row->('sum', 'sum of the parts', '0.95..1.05')
			]);
		compare(
			arms => {
				ours => sub { return { lock => $parts->('bench_hold')->{"${wait}Lock"} } },
				peer => sub { return {%known} }
			},
			rows => [ $row->('lock', 'us of waiting for a lock', '0.9..1.1') ]);
	}
	return;
}

# How many seconds it takes to store a day of intervals, in batches as the coordinator of a run does,
# to read all of them, with advice and reports, and to make an HTML report of it; and how large that is.
# The statistics of the tables are of the day before: autovacuum may not have come by yet.
sub day
{
	return if !grep { /$only/ } qw(day_store day_read day_report day_report_mb);
	my @tables = qw(run_intervals run_server_intervals run_waits run_times);
	my $new_run = sub {
		ours("'select-only'", 0.2);
		return sql('SELECT max(run_id) FROM bench.runs');
	};
	my $store = sub {
		my ($run) = @_;
		return "DO \$\$ BEGIN FOR batch IN 1..$profile->{day} LOOP SET LOCAL synchronous_commit = off;"
		  . " PERFORM store_intervals($run, batch * 60, batch * 60 + 59); COMMIT; END LOOP; END \$\$";
	};
	sql(q{CREATE FUNCTION store_intervals(bigint, int, int) RETURNS void LANGUAGE c AS 'pg_selfbench', 'store_intervals_wrapper'});
	sql("ALTER TABLE bench.$_ SET (autovacuum_enabled = false)") foreach @tables;
	my $before = $new_run->();
	sql($store->($before));
	sql("ANALYZE bench.$_") foreach @tables;
	compare(
		repeats => min(3, $profile->{repeats}),
		arms    => {
			ours => sub {
				my $run = $new_run->();
				my %seconds;
				my $timed = sub {
					my ($what, $sql) = @_;
					my $began = time;
					sql($sql);
					$seconds{$what} += time - $began;
				};
								$timed->('store', $store->($run));
				sql("INSERT INTO bench.run_stalls (run_id, stall_no, begin_s, length_s, clients, transactions, expected)"
					  . " SELECT $run, n, 60 * n, 2.5, 1, 0, 2500 FROM generate_series(0, 19) n");

				$timed->('read', "COPY (SELECT * FROM bench.$_ WHERE run_id = $run) TO '/dev/null'") foreach @tables;
				$timed->('read', "SELECT * FROM bench.$_($run)") foreach qw(advice time_budget report top_waits);
				my $page = timed_page("SELECT bench.report($run, 'html')");
				sql("SELECT * FROM bench.delete_runs(run_ids => '{$run}')");
				return { %seconds, %$page };
			},
			# One second, one megabyte.
			peer => sub { return { store => 1, read => 1, seconds => 1, mb => 1 } }
		},
		rows => [
			{
				name => 'day_store', what => "seconds to store @{[60 * $profile->{day}]} intervals of each kind",
				figure => 'store', target => '<= 5'
			},
			{
				name => 'day_read', what => 'seconds to read them, with advice, report, time budget and waits',
				figure => 'read', target => '<= 5'
			},
			{
				name => 'day_report', what => 'seconds to make an HTML report of them',
				figure => 'seconds', target => '<= 5'
			},
			{
				name => 'day_report_mb', what => 'megabytes of that report',
				figure => 'mb', target => '<= 2'
			}
		]);
	sql("SELECT * FROM bench.delete_runs(run_ids => '{$before}')");
	sql("ALTER TABLE bench.$_ RESET (autovacuum_enabled)") foreach @tables;
	return;
}

# The seconds that a page takes until psql has it, and its megabytes.
sub timed_page
{
	my ($sql) = @_;
	my $began = time;
	my $page = sql($sql);
	return { seconds => time - $began, mb => length($page) / 1e6 };
}

# How many seconds a page over many runs takes, and how large it is.
sub dashboard
{
	return if !grep { /$only/ } qw(dashboard_5000 dashboard_5000_mb);
	my $runs = $kind eq 'smoke' ? 50 : 5000;
	my $columns = sql(q{SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute}
		  . q{ WHERE attrelid = 'bench.runs'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''});
	my %changed = (run_id => q{nextval('bench.run_id_seq')}, label => q{'dashboard ' || n % 50}, set_id => 'NULL',
		tps => '1000 + n % 7', latency_p95_ms => '1 + n % 5');
	my $copied = join ', ', map { $changed{$_} // $_ } split /, /, $columns;
	compare(
		repeats => min(3, $profile->{repeats}),
		arms    => {
			ours => sub {
				ours("'select-only'", 0.2);
				sql("INSERT INTO bench.runs ($columns) SELECT $copied FROM bench.runs, generate_series(1, $runs) n"
					  . ' WHERE run_id = (SELECT max(run_id) FROM bench.runs)');
				my $page = timed_page('SELECT bench.dashboard()');
				sql("DELETE FROM bench.runs WHERE label LIKE 'dashboard %'");
				return $page;
			},
			# One second, one megabyte.
			peer => sub { return { seconds => 1, mb => 1 } }
		},
		rows => [
			{
				name => 'dashboard_5000', what => "seconds to make a page over $runs runs",
				figure => 'seconds', target => '<= 5'
			},
			{
				name => 'dashboard_5000_mb', what => 'megabytes of that page',
				figure => 'mb', target => '<= 5'
			}
		]);
	return;
}

# pgio's workload, two sessions with a table each.
sub pgio
{
	foreach my $work_unit (255, 8)
	{
		my $select = sub { pgio_run($work_unit, 0, @_) };
		compare(
			arms => {
				ours => $select,
				peer => sub { pgio_loops($work_unit, 0) }
			},
			rows => [
				{
					name => "pgio_select_$work_unit",
					what => "pgio, work unit $work_unit: cache hits/s, against its own loop",
					figure => 'hits', target => '>= 1.2'
				}
			]);
		my @updates = (what => "pgio, work unit $work_unit, 20% updates: loops/s, against", figure => 'loops');
		compare(
			arms => {
				ours => sub { pgio_fresh(); pgio_run($work_unit, 20) },
				once => sub { pgio_fresh(); pgio_run($work_unit, 20, 'commit_every => 2147483647') },
				peer => sub { pgio_fresh(); pgio_loops($work_unit, 20) }
			},
			rows => [
				row_of(@updates, "pgio_update_$work_unit", 'peer', 'its own loop, which commits once'),
				row_of(@updates, "pgio_commit_$work_unit", 'once', 'committing once')
			]);
	}
	return;
}

# Bytes from the device as sessions count them, against the kernel's figures of that device. The
# tables come from the disk: nothing of them is in the server's buffers or in the page cache.
sub pgio_device
{
	my $name = 'pgio_device';
	return if $name !~ /$only/;
	my ($device, $why_not) = block_device();
	if (!defined $device)
	{
		say_it("left out: $name: $why_not");
		return;
	}
	my $read;
	compare(
		repeats => min(3, $profile->{repeats}),
		arms    => {
			ours => sub {
				pgio_tables();
				sql('DROP DATABASE IF EXISTS device');
				# Copied by the file, not through buffers.
				sql('CREATE DATABASE device TEMPLATE pgio STRATEGY file_copy');
				# Read programs and catalogs before, so that they do not count.
				my @in = (database => 'device');
				my $run = 'SELECT * FROM bench.run_pgio(tables => 2,';
				sql("$run transactions => 1, work_unit => 0)", @in);
				forget_files('device');
				my $before = device_bytes($device);
				sql("$run duration => '$profile->{logged} s')", @in);
				$read = device_bytes($device) - $before;
				return { bytes => sql('SELECT sum(device_read_bytes) FROM bench.pgio_sessions'
						  . ' WHERE run_id = (SELECT max(run_id) FROM bench.pgio_runs)', @in) };
			},
			peer => sub { { bytes => $read } }
		},
		rows => [
			{
				name => $name, what => "pgio on a cold cache: bytes read from the device, against /proc/diskstats",
				figure => 'bytes', target => '0.98..1.02'
			}
		]);
	sql('DROP DATABASE IF EXISTS device');
	return;
}

# Memory that a client takes in its worker.
sub memory
{
	compare(
		arms => {
			ours => sub {
				my ($with_few, $with_many) = map { workers_memory('libpq', $_, 1) } $few, $many;
				return { kb => ($with_many - $with_few) / ($many - $few) };
			},
			peer => sub { { kb => number(capture($libpq_memory, 'dbname=postgres', $few, $many)) } }
		},
		rows => [
			{
				name => 'memory', what => "kB for each of $few to $many clients of a libpq worker, beyond libpq's own",
				figure => 'kb', beyond => 1, target => '<= 16'
			}
		]);
	return;
}

# How costs grow with the number of clients and with the scale.
sub grow
{
	my $s = $profile->{growth};
	my %worker_kb;
	foreach ([ libpq => 1, 2, 8, 32, 128 ], [ spi => 1, 2, 4, 8 ])
	{
		my ($mode, @counts) = @$_;
		foreach my $clients (@counts)
		{
			my $workers = $mode eq 'spi' ? $clients : min($clients, 2);
			growth(
				"${mode}_$clients",
				sub {
					my @jobs = $mode eq 'libpq' ? "jobs => $workers" : ();
					my $run = ours("'select-only'", $s, "mode => '$mode'", "clients => $clients", @jobs);
					my $kb = workers_memory($mode, $clients, $workers);
					# The first run tells what a worker with one client takes.
					my $first = $worker_kb{$mode} //= $kb;
					my $per_client = $mode eq 'spi' ? $kb / $clients
					  : $clients > $workers ? ($kb - $first * $workers) / ($clients - $workers) : undef;
					return {
						mode => $mode, clients => $clients, workers => $workers, tps => $run->{tps},
						overhead_us => $run->{overhead_us}, overhead_share => $run->{overhead_share},
						private_kb => $kb, kb_per_client => $per_client
					};
				});
		}
	}
	foreach my $n (@{ $profile->{grown_scales} })
	{
		growth("scale_$n", sub {
			my $run = load($n, "SELECT bench.initialize(scale => $n)");
			return { scale => $n, seconds => $run->{seconds}, wal_mb => $run->{wal_mb} };
		});
	}
	return;
}

# --- taking one measurement -------------------------------------------------

# A run of ours.  Scripts and further arguments are SQL.
sub ours
{
	my ($scripts, $seconds, @arguments) = @_;
	my $list = join ', ', "scripts => $scripts", "duration => '$seconds s'", @arguments;
	sql("SELECT run_id FROM bench.run($list)");
	return checked_run();
}

# The row of the latest run, which must have succeeded.
sub checked_run
{
	my $run = json_of(sql(q{SELECT to_jsonb(r) - 'histogram' FROM bench.runs r ORDER BY run_id DESC LIMIT 1}));
	my $lost = sum(@{$run}{qw(serialization_failures deadlock_failures other_failures skipped aborted_clients)});
	die "run $run->{run_id}: $run->{state}, $lost lost, @{$run->{errors}}\n"
	  if $run->{state} ne 'finished' || $lost || @{ $run->{errors} };
	positive($run->{transactions});
	return { tps => positive($run->{tps}), cpu => $run->{overhead_us}, map { $_ => $run->{$_} } qw(overhead_us overhead_share) };
}

# pgio's two tables, in a database of their own, with its loop; made once.
sub pgio_tables
{
	our $made;
	return if $made++;
	my @in = (database => 'pgio');
	sql('CREATE DATABASE pgio');
	sql('CREATE EXTENSION pg_selfbench', @in);
	capture(psql_command('SELECT', @in), '-f', dirname($0) . '/pgio_loop.sql');
	foreach my $table (qw(pgio1 pgio2))
	{
		sql("CREATE TABLE $table (mykey bigint, scratch bigint, filler char(1024)) WITH (fillfactor = 10);"
			  . "INSERT INTO $table SELECT k, 0, repeat('X', 1024)"
			  . " FROM generate_series(1, $profile->{pgio_blocks}) k ORDER BY random();"
			  . "CREATE INDEX ON $table (mykey)", @in);
	}
	sql('VACUUM ANALYZE', @in);
	return;
}

# Updates find no dead rows, and every block is written to WAL as a whole once.
sub pgio_fresh
{
	pgio_tables();
	sql('VACUUM pgio1, pgio2', database => 'pgio');
	sql('CHECKPOINT');
	return;
}

# A run of pgio's workload.
sub pgio_run
{
	my ($work_unit, $update_pct, @arguments) = @_;
	pgio_tables();
	my @in = (database => 'pgio');
	my $run;
	# A machine that stands still executes nothing within a moment.
	foreach my $longer (1, 10)
	{
		my $seconds = $longer * $profile->{seconds};
		my $list = join ', ', 'tables => 2', "duration => '$seconds s'", "work_unit => $work_unit",
		  "update_pct => $update_pct", @arguments;
		sql("SELECT * FROM bench.run_pgio($list)", @in);
		$run = json_of(
			sql('SELECT json_build_object($$state$$, state, $$failed$$, failed, $$hits$$, cache_hits_per_s,'
				  . ' $$loops$$, (selects + updates) / seconds) FROM bench.pgio_summary ORDER BY run_id DESC LIMIT 1', @in));
		die "run of pgio's workload: $run->{state}, $run->{failed} failed\n"
		  if $run->{state} ne 'finished' || $run->{failed};
		last if $run->{loops} > 0;
	}
	return $run;
}

# The same by pgio's own loop, in two sessions at a time.
sub pgio_loops
{
	my ($work_unit, $update_pct) = @_;
	pgio_tables();
	my @sessions = map {
		my @command = psql_command("SELECT to_json(l) FROM pgio_loop('pgio$_', $profile->{seconds},"
			  . " $update_pct, $work_unit, 8, $profile->{pgio_blocks}) l", database => 'pgio');
		open my $pipe, '-|', @command or die "$command[0]: $!\n";
		$pipe
	} 1, 2;
	my %sum;
	foreach my $pipe (@sessions)
	{
		my $text = do { local $/; <$pipe> } // '';
		close $pipe or die "pgio's loop has failed\n";
		my $session = json_of($text);
		$sum{$_} += $session->{$_} foreach keys %$session;
	}
	return \%sum;
}

# The block device that the data directory is on, as /proc/diskstats names it; or nothing, and the
# reason why what comes from it cannot be compared.
sub block_device
{
	my @stat = stat sql('SHOW data_directory') or return (undef, "the data directory is not seen: $!");
	my ($major, $minor) = ($stat[0] >> 8 & 0xfff, $stat[0] & 0xff | $stat[0] >> 12 & 0xfff00);
	open my $stats, '<', '/proc/diskstats' or return (undef, "/proc/diskstats: $!");
	my ($name) = map { /^\s*$major\s+$minor\s+(\S+)/ ? $1 : () } <$stats>;
	return (undef, "the data directory's file system is on no block device of its own") if !defined $name;
	return $name;
}

# Makes the kernel write the files of a database, and drop them from its page cache.
sub forget_files
{
	my ($database) = @_;
	my $directory = sql("SELECT current_setting('data_directory') || '/base/' || oid"
		  . " FROM pg_database WHERE datname = '$database'");
	system('sync') == 0 or die "sync has failed\n";
	foreach my $file (glob "$directory/*")
	{
		system('dd', "if=$file", qw(iflag=nocache count=0 status=none)) == 0 or die "dd has failed\n";
	}
	return;
}

# Bytes that have been read from a block device.
sub device_bytes
{
	my ($device) = @_;
	open my $stats, '<', '/proc/diskstats' or die "/proc/diskstats: $!\n";
	# The kernel's sectors have 512 bytes, whatever the device's have.
	my ($sectors) = map { /^\s*\d+\s+\d+\s+\Q$device\E\s+\d+\s+\d+\s+(\d+)/ ? $1 : () } <$stats>;
	return 512 * number($sectors);
}

# A run of pgbench for that time.
sub pgbench
{
	my ($clients, $jobs, $seconds, @arguments) = @_;
	# pgbench supports only whole seconds.
	my $few = any { $_ eq '-C' } @arguments;
	my @limit = $seconds >= 1 ? (-T => $seconds) : (-t => $few ? 2 : int(6000 / $clients) + 1);
	return pgbench_run($clients, $jobs, \@limit, @arguments);
}

# A run of ours with a log: p99 of the latencies in ms, and how unlike its clients are.
sub logged
{
	my ($clients, $jobs, $seconds) = @_;
	ours("'select-only'", $seconds, "mode => 'libpq'", "clients => $clients", "jobs => $jobs", 'log => true');
	my $counts = sql('SELECT client, count(*) FROM bench.transactions'
		  . ' WHERE run_id = (SELECT max(run_id) FROM bench.runs) GROUP BY 1');
	my %by_client = map { split /\|/ } split /\n/, $counts;
	my $p99 = sql('SELECT latency_p99_ms FROM bench.runs ORDER BY run_id DESC LIMIT 1');
	sql('TRUNCATE bench.transactions');
	return { p99 => positive($p99), spread => spread($clients, \%by_client) };
}

# The same of pgbench.
sub pgbench_logged
{
	my ($clients, $jobs, $seconds, @arguments) = @_;
	my $directory = tempdir(CLEANUP => 1);
	pgbench($clients, $jobs, $seconds, @arguments, '-l', "--log-prefix=$directory/log");
	my (%by_client, @latencies);
	foreach my $name (glob "$directory/log.*")
	{
		open my $log, '<', $name or die "$name: $!\n";
		while (my $line = <$log>)
		{
			my ($client, undef, $us) = split / /, $line;
			$by_client{$client}++;
			push @latencies, $us;
		}
		close $log;
		unlink $name;
	}
	@latencies = sort { $a <=> $b } @latencies;
	return { p99 => positive($latencies[ 0.99 * @latencies ] / 1000), spread => spread($clients, \%by_client) };
}

# Standard deviation of the clients' numbers of transactions, as part of their mean; one client has
# none, and a run with too few transactions may have none either.
sub spread
{
	my ($clients, $by_client) = @_;
	my @counts = map { $by_client->{$_} // 0 } 0 .. $clients - 1;
	my $mean   = sum(@counts) / $clients;
	return sqrt(sum(map { ($_ - $mean)**2 } @counts) / $clients) / $mean || 0.001;
}

# tps, CPU time of the process in us, transactions.
sub pgbench_run
{
	my ($clients, $jobs, $limit, @arguments) = @_;
	my $text = capture(
		'bash', '-c', 'TIMEFORMAT="cpu %U %S"; time "$@"', 'bash', $pgbench,
		qw(-M prepared -c), $clients, '-j', $jobs, @$limit, @arguments);
	die "pgbench: $text\n" if $text !~ /^number of failed transactions: 0 /m || $text =~ /aborted/;
	my %run;
	($run{tps})          = $text =~ /^tps = ([\d.]+) \((?:without|including)/m;
	($run{transactions}) = $text =~ /actually processed: (\d+)/;
	$run{cpu_us} = 1e6 * ($1 + $2) if $text =~ /^cpu ([\d.]+) ([\d.]+)/m;
	positive($run{$_}) foreach qw(tps transactions cpu_us);
	return \%run;
}

# Fills the tables of database load, by SQL or by the arguments of pgbench -i, and
# checks that they are full.  Both are timed from outside, by the same clock.
sub load
{
	my ($n, $how) = @_;
	my @in = (database => 'load');
	sql('DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers', @in);
	sql('CHECKPOINT', @in);
	my $lsn = sql('SELECT pg_current_wal_lsn()', @in);
	my $began = time;
	if (ref $how)
	{
		capture($pgbench, '-i', '-s', $n, @$how, 'load');
	}
	else
	{
		sql($how, @in);
	}
	my $seconds = time - $began;
	my $bytes   = sql("SELECT pg_current_wal_lsn() - '$lsn'", @in);
	my $found   = sql('SELECT count(*) FROM pgbench_accounts', @in);
	die "$found accounts at scale $n\n" if $found != $n * $accounts;
	return { seconds => positive($seconds), wal_mb => positive($bytes / 1e6) };
}

# Private memory of the workers of a select-only run, in kB by process id: when each
# client has done several transactions.  A rate leaves time to look.
sub workers_memory
{
	my ($mode, $clients, $workers) = @_;
	my $jobs = $mode eq 'libpq' ? ", jobs => $workers" : '';
	my $run = sql("SELECT bench.start('select-only', mode => '$mode', clients => $clients$jobs,"
		  . " rate => 3000, duration => '5 min')");
	my $query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_selfbench $mode client'";
	my %kb;
	eval {
		my $deadline = time + 60;
		while (sql('SELECT coalesce(sum(transactions), 0) FROM bench.progress') < 5 * $clients)
		{
			die "clients do not start\n" if time > $deadline;
			sleep 0.05;
		}
		$kb{$_} = private_kb($_) foreach split /\n/, sql($query);
		die keys(%kb) . " of $workers workers were found\n" if keys %kb != $workers;
		1;
	} or my $error = $@;
	sql("SELECT bench.cancel($run)");
	sleep 0.05 while sql('SELECT count(*) FROM bench.progress') > 0;
	die $error if $error;
	return sum(values %kb);
}

# Private memory of a process in kB, such as its heap.
sub private_kb
{
	my ($pid) = @_;
	my $kb;
	open my $status, '<', "/proc/$pid/status" or die "/proc/$pid/status: $!\n";
	while (my $line = <$status>) { $kb = $1 if $line =~ /^RssAnon:\s+(\d+) kB/ }
	close $status;
	return positive($kb);
}

# --- comparing --------------------------------------------------------------

sub row_of
{
	my (undef, $what, undef, $figure, $name, $peer, $whom, $target) = @_;
	return { name => $name, what => "$what $whom", figure => $figure, peer => $peer, target => $target };
}

# Takes all arms in turn, as often as asked for, "ours" first, then makes the rows.
#   arms   what to measure by name; each returns a hash reference of figures
#   rows   hash references with
#     name, what   for programs and for people
#     figure       which one is compared
#     peer         with which arm; "peer" if not given
#     target       ">= n", "<= n" or "n..m" for the ratio of ours to the peer's; none
#                  if the row is there to be read only
#     faster       the ratio is that of the peer's to ours
#     beyond       it is the difference
sub compare
{
	my (%do) = @_;
	my @rows_here = grep { $_->{name} =~ /$only/ } @{ $do{rows} } or return;
	my %needed = (ours => 1, map { ($_->{peer} //= 'peer') => 1 } @rows_here);
	my @arms = sort { ($b eq 'ours') <=> ($a eq 'ours') || $a cmp $b } keys %needed;
	my (%found, %error);

	say_it($rows_here[0]{what});
	foreach my $round (1 .. $do{repeats} // $profile->{repeats})
	{
		# Who comes first changes, so that no arm is always the one after the other.
		foreach my $arm ($round % 2 ? @arms : reverse @arms)
		{
			next if $error{$arm};
			my $figures = eval { $do{arms}{$arm}->() };
			if   ($figures) { push @{ $found{$arm} }, $figures }
			else            { $error{$arm} = one_line($@) }
		}
	}
	push @rows, map { conclude($_, \%found, \%error) } @rows_here;
	return;
}

# A row with its figures, or with the reason why it has none.
sub conclude
{
	my ($row, $found, $error) = @_;
	my %row = (%$row, error => $error->{ours} // $error->{ $row->{peer} });
	if (!defined $row{error})
	{
		eval {
			my @ours = map { positive($_->{ $row{figure} }) } @{ $found->{ours} };
			my @peer = map { positive($_->{ $row{figure} }) } @{ $found->{ $row{peer} } };
			my @ratios = map {
				    $row{beyond} ? $ours[$_] - $peer[$_]
				  : $row{faster} ? $peer[$_] / $ours[$_]
				  : $ours[$_] / $peer[$_]
			} 0 .. $#ours;
			die "nothing was measured\n" if !@ratios;
			@row{qw(ours peers ratios)} = (\@ours, \@peer, \@ratios);
			@row{qw(ours_median peer_median ratio low high)} =
			  (median(@ours), median(@peer), median(@ratios), interval(@ratios));
			1;
		} or $row{error} = one_line($@);
	}
	if (defined $row{error})
	{
		delete @row{qw(ours peers ratios ours_median peer_median ratio low high)};
		$failures++;
		say_it("FAILED: $row{what}: $row{error}");
	}
	elsif (defined $row{target})
	{
		my ($least, $most) =
		    $row{target} =~ /^>= (.+)/        ? ($1, 9**9**9)
		  : $row{target} =~ /^<= (.+)/        ? (-9**9**9, $1)
		  : $row{target} =~ /^(.+)\.\.(.+)$/ ? ($1, $2)
		  :                                     die "not a target: $row{target}\n";
		my $met = $row{ratio} >= $least && $row{ratio} <= $most;
		$row{met} = $met ? JSON::PP::true : JSON::PP::false;
	}
	delete @row{qw(faster beyond)};
	return \%row;
}

sub growth
{
	my ($name, $measure) = @_;
	return if "growth_$name" !~ /$only/;
	say_it("growth: $name");
	my $figures = eval { $measure->() };
	if (!$figures)
	{
		$figures = { error => one_line($@) };
		$failures++;
		say_it("FAILED: growth: $name: $figures->{error}");
	}
	push @growth, { name => $name, %$figures };
	return;
}

# --- showing ----------------------------------------------------------------

sub show
{
	my $width = max(4, map { length $_->{what} } @rows);
	print "\n";
	printf "%-${width}s %11s %11s  %-24s %-10s %s\n", 'what', 'ours', 'peer', 'ratio (95 %)', 'target', 'met';
	foreach my $row (@rows)
	{
		my @verdict = ($row->{target} // '-', !defined $row->{met} ? '-' : $row->{met} ? 'yes' : 'no');
		if (defined $row->{error})
		{
			printf "%-${width}s %11s %11s  %-24s %-10s %s\n", $row->{what}, '-', '-', 'FAILED', @verdict;
			next;
		}
		printf "%-${width}s %11s %11s  %-24s %-10s %s\n", $row->{what}, shown($row->{ours_median}),
		  shown($row->{peer_median}),
		  sprintf('%.3f (%.3f to %.3f)', @{$row}{qw(ratio low high)}), @verdict;
	}

	my @by_clients = grep { $_->{mode} } @growth;
	my @by_scale = grep { $_->{scale} } @growth;
	printf "\n%-6s %8s %8s %11s %22s %20s %18s\n", 'mode', 'clients', 'workers', 'tps',
	  'harness us/transaction', 'workers\' private kB', 'kB per client'
	  if @by_clients;
	foreach my $g (@by_clients)
	{
		printf "%-6s %8d %8d %11s %22s %20d %18s\n", @{$g}{qw(mode clients workers)},
		  shown($g->{tps}), shown($g->{overhead_us}), $g->{private_kb}, shown($g->{kb_per_client});
	}
	printf "\n%-12s %10s %10s\n", 'initialize', 'seconds', 'MB of WAL' if @by_scale;
	printf "scale %-6d %10s %10s\n", $_->{scale}, shown($_->{seconds}), shown($_->{wal_mb})
	  foreach @by_scale;

	my @with_target = grep { defined $_->{met} } @rows;
	print "\n";
	printf "%d of %d targets met, %d failed\n", scalar(grep { $_->{met} } @with_target),
	  scalar(grep { defined $_->{target} } @rows), $failures // 0;
	print "QUICK: too few and too short measurements for figures to quote\n" if $kind eq 'quick';
	print "SMOKE: the figures mean nothing\n" if $kind eq 'smoke';
	return;
}

# A number with some three digits that matter.
sub shown
{
	my ($value) = @_;
	return '-' if !defined $value;
	return sprintf $value >= 100 ? '%.0f' : $value >= 10 ? '%.1f' : '%.2f', $value;
}

sub save
{
	my %all = (
		kind => $kind, profile => $profile, at => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime),
		version => sql(q{SELECT extversion FROM pg_extension WHERE extname = 'pg_selfbench'}),
		settings => \%settings, rows => \@rows, growth => \@growth);
	chomp(my $commit = qx(git describe --always --dirty 2>/dev/null) // '');
	$all{commit} = $commit if $commit ne '';
	open my $file, '>', $out or die "$out: $!\n";
	print $file JSON::PP->new->canonical->pretty->encode(\%all);
	close $file or die "$out: $!\n";
	print "figures: $out\n";
	return;
}

# --- tools ------------------------------------------------------------------

sub say_it
{
	printf "== %5.1f s: %s\n", time - $^T, $_[0];
	return;
}

# Runs a command: what it printed to both of its outputs.  Dies if it fails.
sub capture
{
	my (@command) = @_;
	open my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @command or die "$command[0]: $!\n";
	my $text = do { local $/; <$pipe> } // '';
	close $pipe or die "$command[0] has failed: $text\n";
	chomp $text;
	return $text;
}

sub psql_command
{
	my ($sql, %with) = @_;
	return ("$bindir/psql", qw(-XAtq -v ON_ERROR_STOP=1 -d), $with{database} // 'postgres', '-c', $sql);
}

# Executes SQL: what it returned.
sub sql
{
	local $ENV{PGOPTIONS} = ($ENV{PGOPTIONS} // '') . ' -c client_min_messages=warning';
	return capture(psql_command(@_));
}

sub json_of { return JSON::PP->new->utf8->decode($_[0]) }
sub last_line { return (split /\n/, $_[0])[-1] }
sub one_line { my ($text) = @_; $text =~ s/\s+/ /g; return $text =~ s/ $//r }

sub number
{
	my ($text) = @_;
	die "not a number: " . ($text // 'nothing') . "\n" if ($text // '') !~ /^\s*-?\d+(\.\d+)?(e[-+]?\d+)?\s*$/;
	return $text + 0;
}

# A ratio of anything else would mean nothing.
sub positive
{
	my ($value) = @_;
	die "not a figure to compare: " . ($value // 'nothing') . "\n" if !defined $value || number($value) <= 0;
	return $value;
}

# The interval in which the median lies with a probability of at least 95 %, whatever the
# distribution: that many of the smallest and of the largest values are left out for which fewer than
# 2.5 % of all series of as many coin tosses show so few heads. Below six values it is their range.
sub interval
{
	my @sorted = sort { $a <=> $b } @_;
	my ($left_out, $tail, $part) = (0, 0, 0.5**@sorted);
	while ($tail + $part <= 0.025 && 2 * $left_out + 2 < @sorted)
	{
		$tail += $part;
		$left_out++;
		$part *= (@sorted - $left_out + 1) / $left_out;
	}
	$left_out = max(0, $left_out - 1);
	return ($sorted[$left_out], $sorted[ -1 - $left_out ]);
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$half] : ($sorted[ $half - 1 ] + $sorted[$half]) / 2;
}
