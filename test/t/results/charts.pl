# Charts of runs: each from the rows of its run, marked spans, long runs, runs without data, hostile texts,
# rights.
use strict;
use warnings;

use SelfBench;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_bench_node('charts', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');

# A single value.
sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

# The number of a new run.
sub run_of
{
	return value("SELECT run_id FROM bench.run($_[0])");
}

# A chart, checked for what each must have.
sub chart
{
	my ($run_id, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $svg = value("SELECT bench.chart($run_id, '$name')");
	my $marks = $svg =~ s/<style>.*?<\/style>//sr;
	my %open;
	$open{$1}++ while $marks =~ /<([a-z]+)/g;
	$open{$1}-- while $marks =~ /<\/([a-z]+)/g;
	is(join(' ', grep { $open{$_} } sort keys %open), '', "$name: all elements are closed");
	unlike($svg, qr/[^\x00-\x7f]/, "$name: ASCII");
	unlike($marks, qr/<script|<[^>]*\s(on[a-z]+|style|href)=|<[^>]*(NaN|inf)/, "$name: no script, no style, no number that is none");
	like($marks, qr/<title>[^<]+<\/title><desc>[^<]+\.<\/desc>/, "$name: a text alternative");
	return $marks;
}

# All charts of a run.
my $run_id;
# None of its intervals is a moment that has no rate of its own.
in_time_ok('intervals', sub {
	$run_id = run_of("duration => 2 * $_[0], warmup => '1 s', clients => 2, per_statement => true, profile => true, checkpoint => true");
	return value("SELECT count(*) >= 2 AND min(seconds) > 0.5 * avg(seconds) FROM bench.run_intervals WHERE run_id = $run_id") eq 't';
});
my @listed = split /\n/, value("SELECT name FROM bench.charts($run_id)");
# Not every file system is on a device.
my @names = ((grep { $_ ne 'device' } @listed), 'device');
is("@names",
	'tps latency waits wal blocks cpu heatmap distribution percentiles statements time_budget flamegraph device',
	'charts of a run with everything');
my %charts = map { $_ => chart($run_id, $_) } @names;
unlike($charts{$_}, qr/no data/, "$_ has data") foreach grep { $_ ne 'flamegraph' } @listed;
like($charts{tps}, qr/class="span warm"/, 'the warm-up is marked');
# The areas of waits are the sessions that do not wait for their client.
my %sampled = map { split /\|/ } split /\n/, value("SELECT class, sum(sessions) FROM bench.top_waits($run_id)
	WHERE (event LIKE 'Selfbench%' OR (class, event) IN (('Client', 'ClientRead'), ('Extension', 'Extension'))) IS NOT TRUE GROUP BY class");
my %areas = $charts{waits} =~ /<title>([^<:]+): ([\d.]+) sessions on average</g;
is_deeply([ grep { !exists $sampled{$_} } sort keys %areas ], [], 'no area of idle sessions');
is_deeply([ grep { $sampled{$_} > 0.1 && !exists $areas{$_} } sort keys %sampled ], [], 'an area for each class of waits');
like($charts{statements}, qr/<title>UPDATE pgbench_accounts SET[^<]*: [\d.]+ /, 'statements have their time');
is(value("SELECT count(*) FROM bench.charts($run_id) WHERE shows = ''"), 0, 'charts are described');

# The figures are those of the rows.
my ($mean) = $charts{tps} =~ /Throughput: ([\d,]+) transactions\/s on average/;
$mean =~ tr/,//d;
my $expected = value("SELECT sum(transactions) / sum(seconds) FROM bench.run_intervals WHERE run_id = $run_id");
cmp_ok(abs($mean - $expected), '<=', 1 + 0.005 * $expected, 'mean of the intervals, by their length');
my ($p99) = $charts{latency} =~ /The 99th percentile: ([\d.,]+) ms of all transactions/;
$expected = value("SELECT bench.percentile(histogram, 99) FROM bench.runs WHERE run_id = $run_id");
cmp_ok(abs($p99 - $expected), '<=', 0.01 * $expected, 'percentile of all transactions');
my ($median) = value(
	"SELECT (regexp_match(bench.chart($run_id, 'distribution'), 'p50 ([0-9.]+ [^,]*),'))[1]");
like($median, qr/^[\d.]+ ms$/, 'percentiles of the distribution');

# The server's counters arrive once a second: shorter intervals are drawn together.
my $short = value("SELECT run_id FROM bench.run('select-only', duration => '3 s', aggregate_interval => '0.1 s', vacuum => 'none')");
my $seconds = value("SELECT ceil(seconds) FROM bench.runs WHERE run_id = $short");
cmp_ok(value("SELECT count(*) FROM bench.run_server_intervals WHERE run_id = $short"), '>', 2 * $seconds, 'intervals below a second');
my ($path) = chart($short, 'blocks') =~ /<path class="line s0" d="([^"]+)"/;
my $points = () = $path =~ /[ML]/g;
ok($points > 1 && $points <= $seconds + 1, "a moment for each second: $points in $seconds s");

# What a line says has the unit of its axis, and the values of the rows.
my ($wal_unit) = $charts{wal} =~ /<text class="unit"[^>]*>([^<]+)</;
my ($highest, $its_unit) = $charts{wal} =~ /<title>WAL: [\d,.]+ \S+ to ([\d,.]+) (\S+)<\/title>/;
is($its_unit, $wal_unit, 'the unit of a line is that of its axis');
my %bytes = ('bytes/s' => 1, 'kB/s' => 1024, 'MB/s' => 1024**2, 'GB/s' => 1024**3);
$expected = value("SELECT max(wal_bytes / seconds) FROM bench.run_server_intervals WHERE run_id = $run_id AND seconds > 0.1") / $bytes{$wal_unit};
cmp_ok(abs($highest =~ tr/,//dr - $expected), '<=', 0.01 * $expected + 0.01, 'the highest value of a line');

# As text.
my $plot = value("SET client_encoding = 'UTF8'; SELECT bench.plot($run_id)");
my @rows = split /\n/, $plot;
my $marks = grep { /^[ \w-]{8} [ =]+$/ } @rows;
is(scalar(grep { /\xe2\x94[\xa4\x82]/ } @rows), @rows - $marks - 3, 'a title, rows, an axis with marks and labels') or diag($plot);
like($plot, qr/^ warm-up =+$/m, 'the warm-up is marked');
my @ticks = grep { $rows[$_] =~ /\xe2\x94\xa4/ } 0 .. $#rows;
my %gaps = map { $ticks[$_] - $ticks[ $_ - 1 ] => 1 } 1 .. $#ticks;
is(scalar(keys %gaps), 1, 'ticks are even') or diag($plot);
like($plot, qr/\xe2[\xa0-\xa3]/, 'Braille patterns');
my $ascii = value("SET client_encoding = 'LATIN1'; SELECT bench.plot($run_id, 'latency_p99', 40)");
like($ascii, qr/\A[\n -~]+\*[\n -~]+\z/, 'ASCII where the client has no Braille patterns');
cmp_ok((sort { $b <=> $a } map { length } split /\n/, $ascii)[0], '<=', 40, 'no wider than it is to be');
foreach my $figure (qw(tps failed retried lag cpu_run cpu_other latency_avg latency_max wal blocks_hit cpu_user device_write))
{
	like(value("SELECT bench.plot($run_id, '$figure')"), qr/^$figure of run $run_id( \(|: no data)/, "plot of $figure");
}

# All that a terminal shows fits it.
my ($shown, $wide);
$node->psql('postgres', "SELECT 1 FROM bench.run('select-only', clients => 2, duration => '3 s', rate => 100, latency_limit => 100, max_tries => 3,
	progress => '1 s')", stderr => \$shown);
like($shown, qr/progress: .* retries \(spi\)/s, 'progress');
$shown =~ s/^psql:<stdin>:\d+: //gm;
is((($wide) = grep { length > 100 } split /\n/, $shown), 0, 'lines of progress fit a terminal') or diag($wide);
$plot = value("SET client_encoding = 'LATIN1'; SELECT bench.plot($run_id)");
is((($wide) = grep { length > 100 } split /\n/, $plot), 0, 'a plot fits a terminal') or diag($wide);

# Errors.
foreach my $case (
	[ "bench.chart($run_id, 'nothing')", qr/invalid value for option "name": "nothing"/ ],
	[ "bench.plot($run_id, 'nothing')", qr/invalid value for option "figure": "nothing"/ ],
	[ "bench.plot($run_id, 'tps', 10)", qr/invalid value for option "width": 10/ ],
	[ "bench.chart(NULL, 'tps')", qr/run_id must not be null/ ])
{
	my ($call, $error) = @$case;
	my ($status, undef, $stderr) = $node->psql('postgres', "SELECT $call");
	like($stderr, $error, $call);
	unlike($stderr, qr/Leave the option out/, "$call: no hint that does not help");
}

# Without stacks, the caller is told how to get them.
my $plain = $node->safe_psql('postgres', q(SELECT run_id FROM bench.run(sql => 'SELECT 1', transactions => 1)));
foreach my $call ("SELECT length(bench.chart($plain, 'flamegraph'))", "SELECT count(*) FROM bench.top_functions($plain)")
{
	my (undef, undef, $stderr) = $node->psql('postgres', $call);
	like($stderr, qr/NOTICE:  run $plain has no profile\nHINT:  A run samples stacks with profile => true\./, $call);
	(undef, undef, $stderr) = $node->psql('postgres', $call =~ s/\b$plain\b/$run_id/r);
	is($stderr, '', "$call: not if it has");
}

# Runs without a transaction, of one, without what is observed.
$node->safe_psql('postgres', q{SELECT bench.define_script('fails', 'SELECT 1 / 0;')});
foreach my $arguments ("'fails', transactions => 1, vacuum => 'none', per_statement => true",
	"'select-only', transactions => 1, observe => false")
{
	$node->psql('postgres', "SELECT bench.run($arguments)");
	my $odd = value('SELECT max(run_id) FROM bench.runs');
	chart($odd, $_) foreach @names;
	my $plot = value("SELECT bench.plot($odd, 'latency_p99')");
	ok($plot ne '', "$arguments: a plot");
}
my $unobserved = value('SELECT max(run_id) FROM bench.runs');
is(value("SELECT string_agg(name, ' ') FROM bench.charts($unobserved)"),
	'tps latency heatmap distribution percentiles', 'charts of a run that was not observed');

# Rows as they may be: a day of seconds with one spike, checkpoints and autovacuum, not a number, hostile
# texts, a canceled run.
my $hostile = q{</title><script>alert(1)</script>" onload="alert(1)} . "\x1b[31m";
my $columns = value(q{
	SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
	 WHERE attrelid = 'bench.runs'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''});
my $interval_columns = value(q{
	SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
	 WHERE attrelid = 'bench.run_intervals'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''});
# Columns of a copy, with other values for some of them.
sub replaced
{
	my ($columns, %values) = @_;
	return join ', ', map { $values{$_} // $_ } split /, /, $columns;
}
my $copied = replaced($columns, run_id => '1000000', state => "'canceled'", duration_s => '100000', warmup_s => '0');
my $day = replaced($interval_columns,
	run_id => '1000000', interval_no => 'n', begins_s => 'n', seconds => '1',
	latency_max_ms => 'CASE n WHEN 50000 THEN 7777 ELSE 2 END',
	latency_p99_ms => q{CASE n WHEN 3 THEN 'NaN' WHEN 4 THEN NULL ELSE 1.5 END});
$node->safe_psql(
	'postgres', qq{
	INSERT INTO bench.runs ($columns) SELECT $copied FROM bench.runs WHERE run_id = $run_id;
	INSERT INTO bench.run_intervals ($interval_columns)
		SELECT $day FROM (SELECT * FROM bench.run_intervals WHERE run_id = $run_id ORDER BY interval_no LIMIT 1) i,
		       generate_series(0, 86399) n;
	INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, wal_bytes, checkpoint_active, autovacuum_workers)
		SELECT 1000000, n, n, 1, 1000, n / 300 % 2 = 1, n / 60 % 2 FROM generate_series(0, 86399) n;
	INSERT INTO bench.run_waits (run_id, interval_no, class, event, samples, rounds)
		SELECT 1000000, n, c, c, 10, 20 FROM generate_series(0, 86399) n, unnest('{IO,Lock,\$\$<b>\$\$}'::text[]) c WHERE n % 10 = 0;
	INSERT INTO bench.run_stacks VALUES (1000000, 'spi client', \$hostile\$main;$hostile;x\$hostile\$, 5);
	INSERT INTO bench.run_statements (run_id, script_no, command_no, line, command, executions, failures, retries, latency_avg_ms)
		VALUES (1000000, 0, 0, 1, \$hostile\$$hostile\$hostile\$, 1, 0, 0, 1)});
foreach my $name (@names)
{
	my $svg = chart(1000000, $name);
	cmp_ok(length $svg, '<', 200_000, "$name of a day is small");
	like($svg, qr/class="span $_"/, "$name: $_ is marked") foreach $name =~ /^(tps|latency|wal|waits)$/ ? qw(checkpoint autovacuum canceled) : ();
	like($svg, qr/class="span canceled".*canceled, 24\.00 h to 27\.78 h</s, "$name: when it was canceled") if $name =~ /^(tps|heatmap)$/;
	like($svg, qr/7,7[78]\d ms, at [\d.]+ h/, 'the spike is told') if $name eq 'latency';
	like($svg, qr/&lt;script&gt;alert\(1\).*\[U\+001B\]/s, "$name: hostile texts are escaped") if $name =~ /^(statements|flamegraph)$/;
}

# A checkpoint is as long as the statistics say, and begins where an interval saw it.
my $marked = '';
foreach my $case (
	[ 'between', "n = 3, n = 5, n IN (3, 4)", 'CASE n WHEN 5 THEN 1680 ELSE 0 END', '3.32 s to 5.00 s' ],
	[ 'within an interval, known in the next', 'n = 7, n = 7, false', 'CASE n WHEN 8 THEN 180 ELSE 0 END', '7.00 s to 7.18 s' ],
	[ 'no longer than seen', 'n = 3, n = 3, false', 'CASE n WHEN 3 THEN 9000 ELSE 0 END', '3.00 s to 4.00 s' ],
	[ 'at the end', 'n = 8, false, n >= 8', '0', '8.00 s to 10.0 s' ],
	[ 'of a target', 'NULL, n = 5, false', 'CASE n WHEN 5 THEN 2000 ELSE 0 END', '3.00 s to 5.00 s' ],
	[ 'of unknown length', 'n = 3, n = 5, n IN (3, 4)', 'NULL', '3.00 s to 6.00 s' ])
{
	my ($name, $states, $ms, $expected) = @$case;
	my $svg = value(
		"BEGIN; DELETE FROM bench.run_server_intervals WHERE run_id = $run_id;
		UPDATE bench.run_intervals SET begins_s = interval_no, seconds = 1 WHERE run_id = $run_id;
		INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, wal_bytes, checkpoint_begun, checkpoint_ended,
			checkpoint_active, checkpoint_write_ms, checkpoint_sync_ms)
		SELECT $run_id, n, n, 1, 1000, $states, $ms, $ms * 0 FROM generate_series(0, 9) n;
		SELECT bench.chart($run_id, 'wal'); SELECT bench.plot($run_id, 'wal')");
	$marked ||= $svg;
	like($svg, qr/<title>checkpoint, \Q$expected\E</, "a checkpoint $name");
}
like($marked, qr/^    ckpt +={10,}$/m, 'plots mark it, too');
# A chart of rows that are made up; each interval is a second.
sub chart_of
{
	my ($name, $columns, $values, $intervals) = @_;
	return value(
		"BEGIN; DELETE FROM bench.run_server_intervals WHERE run_id = $run_id;
		INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, $columns)
		SELECT $run_id, n, n, 1, $values FROM generate_series(0, $intervals - 1) n;
		SELECT bench.chart($run_id, '$name')");
}
# CPU time is in the unit of its axis: of two CPUs, the run has 400 of 2,000 ms.
my $cpus = chart_of('cpu', 'cpu_user_ms, cpu_system_ms, cpu_idle_ms, cpu_iowait_ms, cpu_steal_ms, sessions_cpu_ms', '500, 100, 1380, 20, 0, 400', 10);
like($cpus, qr/class="unit"[^>]*>% of all CPUs</, 'the unit of CPUs');
like($cpus, qr/<title>\Q$_\E of all CPUs on average</, $_) foreach 'the run: 20.0 %', 'other processes: 10.0 %', 'I/O wait: 1.00 %';
like($cpus, qr/<desc>Processes of the run: 20\.0 % of all CPUs on average\.</, 'and a sentence with it');
# On a log axis, 0 has a place of its own.
my $log = chart_of('blocks', 'blocks_hit, blocks_read', '5000, CASE n WHEN 5 THEN 0 ELSE 1 END', 10);
like($log, qr/blocks\/s, log scale</, 'a log axis');
my %place = map { $_ => $log =~ /<text class="tick left"[^>]* y="([\d.]+)"[^>]*>$_</ } 0, 1;
cmp_ok($place{0} // 0, '>', ($place{1} // 1e9) + 10, '0 is below 1') or diag(explain(\%place));
my ($drawn_low) = $log =~ /<path class="line s1" d="([^"]+)"/;
my @drawn = map { s/^\d+ //r } split /L/, ($drawn_low // '') =~ s/^M//r;
is(scalar(@drawn), 10, 'a point for each interval');
cmp_ok($drawn[5], '>', $drawn[$_] + 10, "0 is drawn below interval $_") foreach 4, 6;
# A run of 20 minutes has seconds on its axis, as in sentences.
my $long = chart_of('wal', 'wal_bytes', 'CASE n WHEN 1234 THEN 9e6 ELSE 1e6 END', 1235);
like($long, qr/>time, s</, 'an axis of 1,235 s');
like($long, qr/<desc>[^<]* at 1,2[34]\d s\.</, 'and a moment of it in the sentence');
# Of a run, they are those of the server.
my $with_checkpoint = value("SELECT bench.start('simple-update', duration => '4 s', vacuum => 'none', label => 'checkpoint')");
wait_for_transactions($node, 'checkpoint');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', "SELECT bench.wait($with_checkpoint)");
my ($seen) = chart($with_checkpoint, 'tps') =~ /<title>checkpoint, ([^<]*)</;
my $length = value(
	"SELECT sum(checkpoint_write_ms + checkpoint_sync_ms) / 1000.0 FROM bench.run_server_intervals WHERE run_id = $with_checkpoint");
my ($from, $to) = ($seen // '') =~ /^([\d.]+) s to ([\d.]+) s$/;
ok(defined $to && $to - $from <= $length + 0.02, "the checkpoint of a run: $length s") or diag($seen // 'none');
# Of very many stacks with as many samples, the same are drawn, in whatever order they are stored.
my @flames = map
{
	$node->safe_psql(
		'postgres', qq{
		DELETE FROM bench.run_stacks WHERE run_id = 1000000;
		INSERT INTO bench.run_stacks SELECT 1000000, 'spi client', 'main;' || CASE WHEN n <= 15000 THEN 'a' ELSE 'b' END || ';' || n, 1
		  FROM generate_series(1, 30000) n ORDER BY n $_});
	chart(1000000, 'flamegraph');
} qw(ASC DESC);
is($flames[0], $flames[1], 'flamegraph of very many stacks');
like(value("SET client_encoding = 'LATIN1'; SELECT bench.report(1000000)"), qr/\ntps over time: [!-~ ]+ to \S+\n*\z/, 'a report in text ends in a plot of one line');
like(value("SELECT bench.plot(1000000, 'latency_max')"), qr/^latency_max of run 1000000 \(ms\)/, 'a plot of a day');

# Others do not see them.
$node->safe_psql('postgres', "CREATE ROLE other LOGIN; SELECT bench.grant_to('other')");
foreach my $call ("chart($run_id, 'tps')", "charts($run_id)", "plot($run_id)")
{
	my ($status, undef, $stderr) =
	  $node->psql('postgres', "SELECT bench.$call", extra_params => [qw(-U other)]);
	like($stderr, qr/run $run_id does not exist/, "$call of another role");
}

done_testing();
