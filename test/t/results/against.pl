# Two runs beside each other: reports and charts with against.
use strict;
use warnings;

use SelfBench;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_bench_node('against', "fsync = off\nmax_worker_processes = 24\n");
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

# A report of two runs, checked for what each must have.
sub report
{
	my ($run_id, $against, $format) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $text = value("SELECT bench.report($run_id, '$format', against => $against)");
	like($text, qr/Run $run_id against run $against\b/, "$format: title");
	return $text if $format ne 'html';
	(my $markup = $text) =~ s/<(script|style)>.*?<\/\1>//sg;
	my %open;
	$open{$1}++ while $markup =~ /<([a-z0-9]+)/g;
	$open{$1}-- while $markup =~ /<\/([a-z0-9]+)/g;
	delete @open{qw(meta br)};
	is(join(' ', grep { $open{$_} } sort keys %open), '', 'all elements are closed');
	unlike($markup =~ s/ href="#part-\d+"//gr, qr/<[^>]*\s(?:on\w+|style|src|href)=/, 'no handler, style or link');
	unlike($markup, qr/\b(?:NaN|Infinity|inf)\b|Some\(/, 'no odd values');
	return $text;
}

# The lead of a report.
sub lead
{
	my ($run_id, $against) = @_;
	my ($lead) = report($run_id, $against, 'markdown') =~ /^\*\*(.*)\*\*$/m;
	return ($lead // 'none') =~ s/\\//gr;
}

# A copy of a run as if it had another throughput in each interval, and other columns.
sub copy_of
{
	my ($run_id, $tps, $columns) = @_;
	my $copy = value("SELECT bench.import_run(bench.export_run($run_id))");
	$node->safe_psql(
		'postgres', qq{
		UPDATE bench.run_intervals SET transactions = seconds * $tps, histogram = NULL WHERE run_id = $copy;
		UPDATE bench.runs SET tps = (SELECT avg(transactions / seconds) FROM bench.run_intervals WHERE run_id = $copy),
		       imported_from = NULL, imported_at = NULL, $columns
		 WHERE run_id = $copy});
	return $copy;
}

my $run = run_of(
	"'select-only', duration => '3 s', aggregate_interval => '200 ms', clients => 2, profile => true, label => 'nightly'");
my $hostile = q{E'"><script>alert(1)</script><img src=x> | [a](javascript:alert(1)) `x` \\u202e\\t'};
my $fast = copy_of($run, '(100000 + 100 * (interval_no % 3))', "label = $hostile, duration_s = 4");
my $slow = copy_of($run, '(50000 + 50 * (interval_no % 3))', "label = NULL, warmup_s = 0");
my $same = copy_of($run, '(100000 + 1000 * (interval_no % 3) - 900)', 'label = NULL');

# Which is faster, and whether noise explains it.
my $lead = lead($fast, $slow);
like($lead, qr/^Run $fast has (?:1\.99\d|2\.0\d+) times the throughput of run $slow: 100,\d{3} tps against 50,\d{3} tps\. Run $fast was faster: .* the ratio is (?:1\.99\d*|2\.0\d*)(?: to 2\.0\d*)? \(95 %\)/,
	'the faster run');
like($lead, qr/Two single runs do not show how much runs differ/, 'no certainty that two runs do not give');
like(lead($slow, $fast), qr/^Run $slow has 0\.(?:499|500|501) times .* Run $slow was slower:/, 'the slower run');
like(lead($fast, $same), qr/What both varied by over time explains that: no difference can be seen\./, 'noise');
my $short = run_of("'select-only', transactions => 20, clients => 2, vacuum => 'none'");
like(lead($fast, $short), qr/Whether noise explains that is not known: run $fast or run $short has fewer than 10 intervals\./, 'a short run');

# What cannot be compared is said.
my $failed = copy_of($run, '100', "state = 'failed', errors = '{out of memory}'");
like(lead($fast, $failed), qr/^Run $failed failed\. .*Not both are whole runs, so this does not say which is faster\.$/, 'a failed run');
my $canceled = copy_of($run, '100', "state = 'canceled'");
like(report($canceled, $fast, 'markdown'), qr/^\| tps \| (?:100|99)\.\d+ \| (?:100|99),\d{3} \| 0\.00/m, 'a canceled run has its figures in the table, too');
like(lead($canceled, $fast), qr/^Run $canceled was canceled\..*Not both are whole runs, so this does not say which is faster\.$/, 'a canceled run');
my $other = run_of("'simple-update', mode => 'libpq', transactions => 20, clients => 2");
like(lead($fast, $other), qr/^The throughput of run $fast \(mode spi\) is .*, that of run $other \(mode libpq\) .* They executed different scripts/, 'other scripts, other mode');
my $rate = copy_of($run, '100', 'rate = 100');
like(lead($fast, $rate), qr/^The mean latency of .* Only run $rate had a rate:/, 'a rate');
like(lead($rate, copy_of($run, '100', 'rate = 200')), qr/ They had different rates:/, 'two rates');
like(lead($fast, copy_of($run, '(50000 + 50 * (interval_no % 3))', 'clients = 7, scale = 9')), qr/ They differ in clients \(\d+ and 7\) and scale \(\d+ and 9\)\. /, 'another load');
my $lost = copy_of($run, '100', "state = 'lost'");
$node->safe_psql('postgres', "UPDATE bench.runs SET tps = NULL, latency_avg_ms = NULL, transactions = 0 WHERE run_id = $lost");
like(lead($fast, $lost), qr/^Run $lost was lost before it stored a result\. Nothing can be compared: the throughput of run $lost is not known\.$/, 'a lost run');
like(value("SELECT string_agg(l, ' ') FROM bench.report($lost) l"), qr/^ *The run was lost: .* Its figures are not known\./, 'its own report');
$node->safe_psql('postgres', "SELECT bench.initialize_pgio(tables => 1, size => '4MB')");
my $pgio = value("SELECT run_id FROM bench.run_pgio(transactions => 20)");
like(lead($pgio, $fast), qr/They executed different scripts/, "pgio's workload");
my $in_progress = value("SELECT bench.start('select-only', duration => '600 s', label => 'goes on')");
wait_for_transactions($node, 'goes on');
like(lead($in_progress, $fast), qr/^Run $in_progress is in progress: these are its figures so far\. Run $in_progress has [^ ]+ times .*Not both are whole runs, so this does not say which is faster\.$/, 'a run in progress');
$node->safe_psql('postgres', "SELECT bench.cancel($in_progress)");
$node->psql('postgres', "SELECT bench.wait($in_progress)");

# The page: what differs, and charts with both.
my $html = report($fast, $slow, 'html');
like($html, qr/<h2[^>]*>$_<\/h2>/, "section $_")
  foreach ('Result', 'Runs', 'What differs', 'Throughput and latency over time', 'Latency of the transactions', 'Where the time goes');
like($html, qr/<td class="text">duration_s<\/td><td class="text">option<\/td><td class="text">4<\/td><td class="text">3<\/td>/, 'a difference');
like($html, qr/<td[^>]*>tps<\/td><td class="number">100,\d{3}<\/td><td class="number">50,\d{3}<\/td>/, 'figures have separators');
my ($part, $us) = split /\|/, value("SELECT component, us_per_transaction FROM bench.time_budget('$fast') WHERE us_per_transaction BETWEEN 0.1 AND 0.999 LIMIT 1");
my ($shown) = $html =~ /<td class="text">\Q$part\E<\/td><td class="number">([^<]*)</;
is($shown, sprintf('%.3f', $us), "a part of the latency is as exact as in bench.time_budget: $part");
like($html, qr/<th[^>]*>component<\/th><th[^>]*>run $fast us<\/th>/, 'parts of the latency have their unit in the head');
like($html, qr/<title>$_ of run $fast \([^<]*\) and run $slow \([^<]*\)<\/title><desc>Run $fast: [^<]+ Run $slow: [^<]+\.<\/desc>/, "chart: $_")
  foreach ('Throughput', 'Latency', 'CPU', 'WAL', 'Distribution of latencies', 'Percentiles of latency', 'Time budget');
like($html, qr/&lt;script&gt;alert\(1\)/, 'hostile label: the text is shown');
unlike($html, qr/<img|<script>alert/, 'hostile label: no element');
my ($drawn) = $html =~ /<caption>Throughput: as drawn<\/caption>.*?<tbody>(.*?)<\/tbody>/s;
my @rows = map { [ /<td>([^<]*)<\/td>/g ] } $drawn =~ /<tr>(.*?)<\/tr>/sg;
is(scalar @rows, value("SELECT count(*) FROM bench.run_intervals WHERE run_id = $fast"), 'a row for each interval of both');
is(scalar(grep { $_->[1] !~ /^(?:100|99),\d{3}$/ || $_->[2] !~ /^(?:50|49),\d{3}$/ } @rows), 0, 'with the figures of both');
my ($query) = $html =~ /Query: <code>(SELECT name, aspect, .*?)<\/code>/;
like(value($query), qr/^duration_s\|option\|4\|3\|$/m, 'the query of what differs');
my $markdown = report($fast, $slow, 'markdown');
like($markdown, qr/^SELECT bench\.chart\($fast, 'latency', against => $slow\)$/m, 'Markdown names charts');
unlike($markdown, qr/<script|<img/, 'hostile label: no element in Markdown');
my $text = report($fast, $slow, 'text');
like($text, qr/^ duration_s +\| option +\| 4 +\| 3 /m, 'what differs as text');
unlike($text, qr/Throughput and latency over time/, 'no heading without text');

# Of a run with a warm-up, charts begin where it ends.
my $warm = copy_of($run, '1000', 'warmup_s = 100');
$node->safe_psql('postgres', "UPDATE bench.run_intervals SET begins_s = begins_s + 100 WHERE run_id = $warm");
my $svg = value("SELECT bench.chart($warm, 'tps', against => $run)");
unlike($svg, qr/class="span|>50<|>100</, 'no mark, and no time of the warm-up');
is(() = $svg =~ /<path class="line s[01]"/g, 2, 'a line for each run');

# Single charts.
my @charts = grep { $_ !~ /^(?:device|statements|heatmap)$/ } split /\n/, value("SELECT name FROM bench.charts($run)");
foreach my $name (@charts)
{
	like(value("SELECT bench.chart($run, '$name', against => $slow)"), qr/<title>[^<]* of run $run \(.*? run $slow \(/, "chart $name");
}

# A flame graph tells how shares changed: of a run that has twice as many samples, nothing did.
foreach my $case ([ $slow, 200, 'main;b', 1, 'main;c', 1 ], [ $fast, 400, 'main;b', 3, 'main;pg_fsync', 1 ])
{
	my ($run_id, $times, @stacks) = @$case;
	$node->safe_psql('postgres', "DELETE FROM bench.run_stacks WHERE run_id = $run_id;
		INSERT INTO bench.run_stacks VALUES ($run_id, 'spi client', '$stacks[0]', $times * $stacks[1]),
			($run_id, 'spi client', '$stacks[2]', $times * $stacks[3])");
}
$svg = value("SELECT bench.chart($fast, 'flamegraph', against => $slow)");
like($svg, qr/<desc>From run $slow to run $fast: more time in b \+25\.0 points, pg_fsync \+25\.0 points; less in c -50\.0 points; gone: c \(50\.0 %\)\.<\/desc>/,
	'what changed');
like($svg, qr/<svg class="frame most"[^>]* width="75%"[^>]* data-points="25\.00"><title>b, 1,200 samples, 75\.0 %, \+25\.0 points</, 'a frame that grew');
like($svg, qr/<svg class="frame same"[^>]*><title>main, 1,600 samples, 100 %</, 'one that did not');
unlike($svg, qr/<title>c, /, 'none that is gone');

# Wrong arguments.
$node->safe_psql('postgres', "CREATE ROLE other LOGIN; SELECT bench.grant_to('other')");
foreach (
	[ "report($run, against => $run)",         qr/22023.*run $run cannot be shown against itself\nHINT/,     'the same run' ],
	[ "report($run, against => -1)",           qr/42704.*run -1 does not exist/,                             'no run' ],
	[ "report($run, against => NULL)",         qr/22004.*against must not be null\nHINT/,                    'NULL' ],
	[ "report($run, 'json', against => $fast)", qr/22023.*format "json" is of a single run\nHINT/,           'JSON' ],
	[ "report(set_ids => '{1}', against => $run)", qr/22023.*"against" is for a single run\nHINT/,           'sets' ],
	[ "report(label => 'nightly', against => $run)", qr/22023.*"against" is for a single run\nHINT/,         'a label' ],
	[ "chart($run, 'heatmap', against => $fast)", qr/22023.*chart "heatmap" does not show two runs\nHINT:  Charts that do are tps, latency,/, 'another chart' ],
	[ "chart($run, against => $run)",          qr/22023.*run $run cannot be shown against itself\nHINT/,     'a chart of the same run' ])
{
	my ($call, $error, $name) = @$_;
	my ($status, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.$call");
	like($stderr, $error, "wrong argument: $name");
}

# Both runs must be those that the caller may see.
$node->safe_psql('postgres', 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO other');
my $own = $node->safe_psql('postgres', "SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none')",
	extra_params => [qw(-U other)]);
foreach my $call ("report($own, 'html', against => $run)", "report($run, 'html', against => $own)",
	"chart($own, 'tps', against => $run)")
{
	my ($status, undef, $stderr) = $node->psql('postgres', "SELECT bench.$call", extra_params => [qw(-U other)]);
	like($stderr, qr/run $run does not exist/, "$call of another role");
}

wait_until_quiet($node);
$node->stop;
remove_data($node);
done_testing();
