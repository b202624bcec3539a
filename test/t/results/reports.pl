# Reports in all formats: of all kinds of runs, and with hostile texts in all places where texts come
# from outside.
use strict;
use warnings;

use SelfBench;
use Digest::SHA qw(sha256_base64);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_bench_node('reports', "fsync = off\nmax_worker_processes = 24\n");
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql(
	'postgres', q{
	SELECT bench.define_script('fails', 'SELECT 1 / 0;');
	SELECT bench.define_script('sleeps', 'SELECT pg_sleep(60);')});

# Runs a benchmark; returns its number.
sub run_of
{
	my ($arguments) = @_;
	return $node->safe_psql('postgres', "SELECT run_id FROM bench.run($arguments)");
}

# The number of the last run.
sub last_run
{
	return $node->safe_psql('postgres', 'SELECT max(run_id) FROM bench.runs');
}

# A report.
sub report
{
	my ($run_id, $format) = @_;
	return $node->safe_psql('postgres', "SELECT bench.report($run_id, '$format')");
}

# The report of a run as HTML and Markdown, both checked for what each must have.
sub reports_ok
{
	my ($run_id, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $html = html_ok(report($run_id, 'html'), $name);
	my $markdown = report($run_id, 'markdown');
	like($markdown, qr/^# Run $run_id/, "$name: Markdown");
	return ($html, $markdown);
}

# A document, checked for what each must have.
sub html_ok
{
	my ($html, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	(my $texts = $html) =~ s/<(script|style)>.*?<\/\1>//sg;
	my @found = $html =~ /<([a-z0-9]+)/g;
	my @ended = $html =~ /<\/([a-z0-9]+)/g;
	my %open;
	$open{$_}++ foreach @found;
	$open{$_}-- foreach @ended;
	delete @open{qw(meta br input)};
	is(join(' ', grep { $open{$_} } sort keys %open), '', "$name: all elements are closed");
	unlike($html, qr/[^\x00-\x7f]/, "$name: HTML is ASCII");
	unlike($html =~ s/ href="#[a-z]+(?:-\d+)?"//gr, qr/<[^>]*\s(?:on\w+|style|src|href)=/, "$name: no handler, style or link");
	unlike($texts, qr/\b(?:NaN|Infinity|inf)\b|Some\(/, "$name: no odd values");
	return $html;
}

# What a run of each mode shows.
my $spi = run_of(q{'select-only@2, simple-update', clients => 2, transactions => 100, per_statement => true,
	label => 'both', seed => '42', variables => '{"answer": "42"}', settings => '{"work_mem": "8MB"}',
	setup => 'CREATE TABLE made ()', teardown => 'DROP TABLE made'});
my ($html, $markdown) = reports_ok($spi, 'mode spi');
like($html, qr/<h1>Run $spi: both<\/h1>/, 'title');
like($html, qr/throughput, in-server/,    'in-server figures are marked');
like($html, qr/select-only\@2, simple-update/, 'scripts');
like($html, qr/<h2[^>]*>$_<\/h2>/, "section $_")
  foreach ('Result', 'What was run', 'Scripts and commands', 'Settings and hardware');
like($html, qr/UPDATE pgbench_accounts/, 'commands');
like($markdown, qr/UPDATE pgbench/, 'commands in Markdown');
like($html, qr/<dt>variable answer<\/dt><dd>42<\/dd>/, 'variables');
my $repeat =
  "SELECT * FROM bench.run(scripts => 'select-only\@2, simple-update', clients => 2, transactions => 100, "
  . q{seed => '42', label => 'both', variables => '{"answer":"42"}', per_statement => true, }
  . q{settings => '{"work_mem":"8MB"}', setup => 'CREATE TABLE made ()', teardown => 'DROP TABLE made');};
(my $escaped = $repeat) =~ s/>/&gt;/g;
$escaped =~ s/"/&quot;/g;
like($html, qr/<pre>\Q$escaped\E<\/pre>/, 'statement that repeats the run');
like($markdown, qr/^\Q$repeat\E$/m, 'the same in Markdown');
is( $node->safe_psql(
		'postgres', ($repeat =~ s/;$/ \\gset/r) . qq{
		SELECT r.transactions = o.transactions AND r.label = o.label
		  FROM bench.runs o, bench.runs r WHERE o.run_id = $spi AND r.run_id = :run_id}),
	't',
	'it repeats the run');
is(report($spi, 'text'), $node->safe_psql('postgres', "SELECT bench.report($spi)"), 'text is the default');
is( $node->safe_psql(
		'postgres', "SELECT bench.report($spi, 'json')::jsonb - 'exported_at' = bench.export_run($spi)::jsonb - 'exported_at'"),
	't',
	'JSON is the exported document');

my ($of_label) = $markdown =~ /^\| runs of its label \| (SELECT .*) \|$/m;
is($node->safe_psql('postgres', ($of_label // 'SELECT') =~ s/\\//gr) =~ /<h1>(.*?)<\/h1>/ && $1, 'Runs with label both', 'the query for the runs of its label');

my $libpq = run_of(q{'select-only', mode => 'libpq', clients => 2, transactions => 20, jobs => 2});
($html) = reports_ok($libpq, 'mode libpq');
unlike($html, qr/in-server/, 'figures of mode libpq are not marked');
like($html, qr/jobs =&gt; 2/, 'jobs are repeated');

# What happened comes first in each format, and a text fits a terminal.
sub fits_ok
{
	my ($text, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# Statements are as they are, to be copied.
	my ($wide) = grep { length > 100 && !/^ +(?:[\d.]+ +\d+ |SELECT |SET )/ } split /\n/, $text;
	is($wide, undef, "$name: a text fits a terminal");
	return;
}

# The first paragraph of a text in one line.
sub lead_of
{
	my ($text) = @_;
	return (split /\n\n/, $text)[0] =~ s/\n    / /gr;
}
foreach my $run_id ($spi, $libpq)
{
	my ($lead) = report($run_id, 'html') =~ /<p class="lead">([^<]*)</;
	my $text = report($run_id, 'text');
	is(lead_of($text), $lead, 'the text begins with the lead of the page');
	like(report($run_id, 'markdown') =~ s/\\//gr, qr/\A# .*\n\n.*\n\n## Result\n\n\*\*\Q$lead\E\*\*\n/, 'Markdown, too');
	fits_ok($text, "run $run_id");
}

# The policy allows style sheets and script by their hashes.
foreach my $kind (qw(style script))
{
	my ($allowed) = $html =~ /$kind-src ([^;]*);/;
	my @texts = $html =~ /<$kind>(.*?)<\/$kind>/sg;
	my @hashes = map { my $hash = sha256_base64($_); $hash .= '=' while length($hash) % 4; "'sha256-$hash'" } @texts;
	is($allowed, join(' ', @hashes), "policy for $kind");
}
like($html, qr/default-src 'none'/, 'policy for all else');

# Charts, with the figures that they draw.
my $over_intervals;
# None of them is a moment that has no rate of its own.
in_time_ok('intervals', sub {
	$over_intervals = run_of("'select-only', duration => 2 * $_[0], aggregate_interval => '0.5 s', rate => 50, profile => true");
	return $node->safe_psql('postgres', "SELECT count(*) >= 3 AND min(seconds) > 0.5 * avg(seconds) FROM bench.run_intervals WHERE run_id = $over_intervals") eq 't';
});
($html, $markdown) = reports_ok($over_intervals, 'charts');
foreach my $title ('Throughput', 'Latency', 'CPU', 'WAL', 'Blocks', 'Distribution of latencies',
	'Percentiles of latency', 'Heat map of latencies', 'Time budget')
{
	like($html, qr/<title>$title of run $over_intervals \([^<]*<\/title><desc>[^<]+\.<\/desc>/, "chart: $title");
}
my ($drawn) = $html =~ /<caption>Throughput: as drawn<\/caption>.*?<tbody>(.*?)<\/tbody>/s;
my @rates = map { (/<td>([^<]*)<\/td>/g)[1] =~ tr/,//dr } $drawn =~ /<tr>(.*?)<\/tr>/sg;
my @stored = split /\n/,
  $node->safe_psql('postgres', "SELECT tps FROM bench.run_intervals WHERE run_id = $over_intervals ORDER BY interval_no");
is(scalar @rates, scalar @stored, 'a chart has all intervals of a short run');
is(scalar(grep { abs($rates[$_] - $stored[$_]) > 0.01 * $stored[$_] } 0 .. $#stored),
	0, 'the figures of a chart are those of the intervals')
  or diag("@rates, not @stored");
like($markdown, qr/^SELECT bench\.chart\($over_intervals, 'latency'\)$/m, 'Markdown names charts');
fits_ok(report($over_intervals, 'text'), 'profile and rate');
foreach my $figure ('tps', 'latency_p99', 'wal', 'blocks_read')
{
	my $plot = $node->safe_psql('postgres', "SELECT bench.plot($over_intervals, '$figure')");
	like($markdown, qr/^```\n\Q$plot\E\n```$/m, "Markdown has the plot of $figure");
}
like($html, qr/<title>mean schedule lag: /, 'a run with a rate shows the lag over time');
is(scalar(() = $html =~ /<figcaption><b>[^<]*<\/b> Latency: p50 /g), 1, 'what three charts have in common stands once');
foreach my $title ('Throughput', 'Latency', 'CPU', 'WAL', 'Blocks', 'Distribution of latencies', 'Percentiles of latency',
	'Heat map of latencies')
{
	my ($query) = $html =~ /<caption>$title: as drawn<\/caption>.*?<\/table><\/div><p class="muted">Query: <code>([^<]+)<\/code>/s;
	$query =~ s/&lt;/</g;
	isnt($node->safe_psql('postgres', "$query LIMIT 1"), '', "$title: a table behind the chart, with a query for all of it");
}
# The distribution has counts and their shares.
my ($bins) = $html =~ /<caption>Distribution of latencies: as drawn<\/caption>.*?<tbody>(.*?)<\/tbody>/s;
my $all = $node->safe_psql('postgres', "SELECT transactions FROM bench.runs WHERE run_id = $over_intervals");
my ($sum, @wrong) = (0);
foreach my $bin ($bins =~ /<tr>(.*?)<\/tr>/sg)
{
	my (undef, undef, $count, $share) = map { tr/,//dr } $bin =~ /<td>([^<]*)<\/td>/g;
	$sum += $count;
	push @wrong, $bin if $share !~ /^[\d.]+ %$/ || abs($share =~ s/ %//r - 100 * $count / $all) > 0.06;
}
is("$sum @wrong", "$all ", 'counts of the distribution, and their shares in percent');
# The one-line picture of throughput shows the lowest rate.
my $with_gap = "BEGIN; UPDATE bench.run_intervals SET transactions = 0 WHERE run_id = $over_intervals AND interval_no = 1;";
my $peak = $node->safe_psql('postgres', "$with_gap SELECT max(transactions / seconds) FROM bench.run_intervals WHERE run_id = $over_intervals");
my ($low, $high) = $node->safe_psql('postgres', "$with_gap SELECT bench.report($over_intervals)") =~ /^tps over time: .* (\S+) to (\S+)$/m;
is($low, '0', 'the lowest rate of the picture');
cmp_ok(abs($high - $peak), '<=', 1, 'and the highest one');
# The transactions in the heat map of a page.
sub transactions_in_map
{
	my ($page) = @_;
	my ($cells) = $page =~ /<caption>Heat map of latencies: as drawn<\/caption>.*?<tbody>(.*?)<\/tbody>/s;
	my $in_map = 0;
	$in_map += ($_ =~ /<td>([^<]*)<\/td>/g)[3] =~ tr/,//dr foreach $cells =~ /<tr>(.*?)<\/tr>/sg;
	return $in_map;
}
is(transactions_in_map($html), $node->safe_psql('postgres', "SELECT transactions FROM bench.runs WHERE run_id = $over_intervals"),
	'every transaction is in the heat map');
foreach my $missing (0, 1)
{
	my $gap = "BEGIN; DELETE FROM bench.run_intervals WHERE run_id = $over_intervals AND interval_no = $missing;";
	is( transactions_in_map($node->safe_psql('postgres', "$gap SELECT bench.report($over_intervals, 'html')")),
		$node->safe_psql('postgres', "$gap SELECT sum(bench.histogram_count(histogram)) FROM bench.run_intervals WHERE run_id = $over_intervals"),
		"so if interval $missing is missing");
}

# A last interval of a moment has no rate of its own.
my $moment = "BEGIN; UPDATE bench.run_intervals SET seconds = 1e-5 WHERE run_id = $over_intervals AND interval_no = $#stored;";
my $highest = (sort { $b <=> $a } @stored[ 0 .. $#stored - 1 ])[0];
($drawn) = $node->safe_psql('postgres', "$moment SELECT bench.report($over_intervals, 'html')") =~
  /<caption>Throughput: as drawn<\/caption>.*?<tbody>(.*?)<\/tbody>/s;
@rates = map { (/<td>([^<]*)<\/td>/g)[1] =~ tr/,//dr } $drawn =~ /<tr>(.*?)<\/tr>/sg;
is(scalar @rates, $#stored, 'a last interval of a moment has no rate of its own');
is(scalar(grep { !/^[\d.]+$/ || $_ > 100 * $highest } @rates), 0, 'and makes no peak') or diag("@rates, @stored");

# Runs with little to show.
reports_ok(run_of(q{'select-only', transactions => 1}), 'one transaction');
reports_ok(run_of(q{'select-only', transactions => 1, observe => false}), 'not observed');
reports_ok(run_of(q{'select-only', duration => '1 s', aggregate_interval => '10 s', profile => true}),
	'one interval, profile');
reports_ok(run_of(q{'select-only, simple-update', duration => '1 s', rate => 100, latency_limit => 100}),
	'rate');
$node->psql('postgres', "SELECT bench.run('fails', transactions => 3, label => 'fails')");
my $fails = last_run();
($html, $markdown) = reports_ok($fails, 'no transaction');
like($html, qr/division by zero/, 'error');
like($html, qr/No transaction has ended|None of/, 'no transaction, in words');
$node->psql('postgres', "SELECT bench.run('fails', transactions => 3, continue_on_error => true)");
($html) = reports_ok(last_run(), 'failed transactions');
like($html, qr/None of 3 transactions was successful/, 'failed transactions, in words');

my $progress = $node->safe_psql('postgres', "SELECT bench.start('sleeps', duration => '1000 s', label => 'sleeps')");
wait_for($node, "SELECT state = 'running' FROM bench.runs WHERE run_id = $progress");
($html) = reports_ok($progress, 'in progress');
like($html, qr/The run is in progress/, 'it says so');
like($html, qr/its intervals are stored 60 at a time/, 'and why charts over time may be missing');
$node->safe_psql('postgres', "SELECT bench.cancel($progress)");
wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $progress");
($html) = reports_ok($progress, 'canceled');
like($html, qr/The run was canceled/, 'it says so');

# Charts of what is known of a run in progress: its latencies at once, the others when intervals are stored.
$progress = $node->safe_psql('postgres',
	"SELECT bench.start('select-only', duration => '1000 s', aggregate_interval => '100 ms', label => 'goes on')");
wait_for_transactions($node, 'goes on');
like(($node->safe_psql('postgres', "SELECT string_agg(name, ' ') FROM bench.charts($progress)")), qr/distribution percentiles/,
	'charts of latencies so far');
like($node->safe_psql('postgres', "SELECT bench.chart($progress, 'distribution')"), qr/p50 [0-9]/, 'the distribution so far');
wait_for($node, "SELECT EXISTS (SELECT FROM bench.charts($progress) WHERE name = 'tps')");
($html) = reports_ok($progress, 'in progress, with intervals');
like($html, qr/class="chart".*its intervals are stored 60 at a time/s, 'charts of what is stored');
$node->safe_psql('postgres', "SELECT bench.cancel($progress)");
wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $progress");

$node->safe_psql('postgres', 'SELECT bench.initialize_pgio(tables => 2, size => $$4MB$$)');
my $pgio = $node->safe_psql('postgres', 'SELECT run_id FROM bench.run_pgio(transactions => 10, update_pct => 20)');
($html) = reports_ok($pgio, 'pgio');
like($html, qr/bench\.run_pgio\(tables =&gt; 2, update_pct =&gt; 20, transactions =&gt; 10, /, 'pgio is repeated');
like($html, qr/Tables of pgio's workload/, 'its tables');
fits_ok(report($pgio, 'text'), 'pgio');

# All figures can be unknown.
$node->safe_psql(
	'postgres', qq{
	SELECT bench.import_run(bench.export_run($spi));
	DO \$\$
	DECLARE c record;
	BEGIN
		FOR c IN SELECT attname FROM pg_attribute
		          WHERE attrelid = 'bench.runs'::regclass AND attnum > 0 AND NOT attnotnull
		            AND NOT attisdropped AND attgenerated = ''
		LOOP
			EXECUTE format('UPDATE bench.runs SET %I = NULL WHERE run_id = (SELECT max(run_id) FROM bench.runs)', c.attname);
		END LOOP;
	END \$\$});
reports_ok(last_run(), 'unknown figures');

# Hostile texts: a role's name, a label, names and texts of scripts, errors, variables, settings.
my $hostile =
  q{E'"><script>alert(1)</script><img src=x onerror=alert(1)> '' --> | [a](javascript:alert(1)) `x` ~~~ <!-- @all \\x1b[31m\\u202e\\t'};
my $quoted = q{"<img src=x onerror=alert(2)>|`[b](javascript:alert(2))"};
$node->safe_psql(
	'postgres', qq{
	CREATE ROLE $quoted SUPERUSER LOGIN;
	SET ROLE $quoted;
	SELECT bench.define_script('<img src=x onerror=alert(3)>|`',
		format('/* %s */ DO \$x\$ BEGIN RAISE EXCEPTION %L; END \$x\$;', $hostile, $hostile), $hostile)});
$node->psql(
	'postgres', qq{
	SET ROLE $quoted;
	SET application_name = '<script>alert(4)</script>|`';
	SELECT bench.run('<img src=x onerror=alert(3)>|`, select-only', transactions => 5, label => $hostile, seed => '7', protocol => 'simple',
		per_statement => true, variables => json_build_object('x', $hostile)::jsonb)});
my $attacked = last_run();
is( $node->safe_psql('postgres', "SELECT label = $hostile, errors[1] LIKE '%<script>%' FROM bench.runs WHERE run_id = $attacked"),
	't|t', 'hostile texts are stored');
my %reports = map { $_ => report($attacked, $_) } qw(text markdown json html);
$reports{dashboard} = $node->safe_psql('postgres', 'SELECT bench.dashboard(inline => 1)');
unlike($node->safe_psql('postgres', "SELECT bench.report(label => $hostile, format => 'markdown')"),
	qr/returns one as SVG|```/, 'Markdown of a label has no queries of charts');
$reports{label} = $node->safe_psql('postgres', "SELECT bench.report(label => $hostile, format => 'html')");
foreach my $name (qw(html dashboard label))
{
	my $text = html_ok($reports{$name}, "hostile $name");
	unlike($text, qr/<img|<script>alert|<b>a/, "hostile $name: no element");
	like($text, qr/&lt;script&gt;alert\(1\)/, "hostile $name: texts are shown");
	like($text, qr/\[U\+202E\]/, "hostile $name: direction marks are shown");
}
(my $outside = $reports{markdown}) =~ s/^(`{3,})\n.*?^\1$//msg;
unlike($outside, qr/<(?!\/?details>|\/?summary>|!-- -->)/, 'hostile Markdown: no element');
unlike($outside, qr/(?<!\\)\]\((?!\\)/, 'hostile Markdown: no link');
unlike($outside, qr/(?<!\\)`/, 'hostile Markdown: no code');
unlike($reports{$_}, qr/[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae|\x{202e}/, "hostile $_: nothing that controls a terminal")
  foreach (grep { $_ ne 'json' } sort keys %reports);
unlike($reports{json}, qr/[\x00-\x08\x0b-\x1f\x7f]/, 'hostile json: no control character');

# Wrong arguments.
foreach (
	[ "$spi, 'pdf'", qr/22023.*format.*"pdf".*\n.*"text", "markdown", "json", "html"/s, 'format' ],
	[ "$spi, NULL", qr/22004|22023/, 'no format' ],
	[ "-1, 'html'", qr/42704.*run -1 does not exist/, 'no run' ],
	[ "NULL, 'html'", qr/22004: run_id must not be null/, 'no number' ])
{
	my ($arguments, $error, $name) = @$_;
	my ($status, undef, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bench.report($arguments)");
	like($stderr, $error, "wrong argument: $name");
}

# Sets and labels.
$node->safe_psql(
	'postgres', q{
	SELECT * FROM bench.compare('[{"clients": 1}, {"clients": 2}]', scripts => 'select-only', transactions => 50,
		repeats => 2, label => 'arms');
	SELECT * FROM bench.sweep('{"clients": [1, 2, 3, 4]}', scripts => 'select-only', transactions => 50, repeats => 1,
		label => 'before');
	SELECT * FROM bench.sweep('{"clients": [1, 2], "protocol": ["simple", "prepared"]}', scripts => 'select-only',
		transactions => 50, repeats => 1, label => 'after');
	SELECT * FROM bench.sweep('{"protocol": ["simple", "prepared"]}', scripts => 'select-only', transactions => 50,
		repeats => 1, label => 'no axis');
	-- A search takes long: one that has made three runs.
	INSERT INTO bench.sets (set_id, kind, owner, database_name, label, options, seed, state, started_at, result)
	SELECT nextval('bench.set_id_seq'), 'find_capacity', owner, database_name, 'capacity',
	       '{"latency_limit": 20, "percentile": 99}', '1', 'finished', now(), '{"verdict": "p99 stays under 20 ms"}'
	  FROM bench.sets LIMIT 1;
	UPDATE bench.runs SET rate = transactions / coalesce(duration_s, seconds), late = 0, set_id = (SELECT max(set_id) FROM bench.sets)
	 WHERE run_id IN (SELECT run_id FROM bench.runs WHERE set_id IS NULL AND histogram IS NOT NULL AND transactions > 0 LIMIT 3);
	-- The server was too slow for one of them.
	UPDATE bench.runs SET rate = 2 * rate, skipped = transactions
	 WHERE run_id = (SELECT max(run_id) FROM bench.runs WHERE set_id = (SELECT max(set_id) FROM bench.sets))});
my %sets = split /[|\n]/, $node->safe_psql('postgres', 'SELECT label, set_id FROM bench.sets');

# The report of sets by their labels.
sub report_set
{
	my ($format, @labels) = @_;
	my $ids = join ',', map { $sets{$_} } @labels;
	return $node->safe_psql('postgres', "SELECT bench.report(set_ids => ARRAY[$ids]::bigint[], format => '$format')");
}
foreach my $label (sort keys %sets)
{
	my $html = html_ok(report_set('html', $label), "set $label");
	like($html, qr/<h1>Set $sets{$label}: $label<\/h1>/, "set $label: title");
	like(report_set('markdown', $label), qr/^# Set $sets{$label}/, "set $label: Markdown");
	like(report_set('text', $label), qr/^Set $sets{$label}: $label\n/, "set $label: text");
	fits_ok(report_set('text', $label), "set $label");
}
like(report_set('html', 'arms'), qr/class="chart".*clients=2/s, 'arms are drawn');
like(report_set('text', 'arms'), qr/clients=1: baseline/, 'verdicts as text');
like(report_set('html', 'arms'), qr/Throughput beside the baseline\./, 'ratios of throughput');
foreach my $rated (q('[{"name": "a"}, {"name": "b"}]', rate => 500), q('[{"name": "a"}, {"name": "b", "rate": 500}]'))
{
	my $set = $node->safe_psql('postgres', "SELECT max(set_id) FROM bench.compare($rated, scripts => 'select-only', transactions => 10, repeats => 1)");
	my $drawn = $node->safe_psql('postgres', "SELECT bench.report(set_ids => '{$set}', format => 'html')");
	like($drawn, qr/Latency beside the baseline\..*times the latency of the baseline/s, "ratios of latency: $rated");
	unlike($drawn, qr/Throughput beside the baseline|times the baseline/, "not of throughput: $rated");
}
# Two repeats have no interval: their runs are points.
unlike(report_set('html', 'arms'), qr/class="whisker"|With intervals of 95 %/, 'no interval of two runs');
is(scalar(() = report_set('html', 'arms') =~ /<circle class="run"/g), 4, 'but a point for each');
like(report_set('html', 'arms'), qr/CASE WHEN runs &gt; 2 THEN tps_low END AS tps_low/, 'nor in the table');
like(report_set('html', 'arms'), qr/class="lead".*<ul class="findings">.*\(4 runs; run \d+: .*class="chart"/s, 'reasons for doubt beside the answer, each once');
like(report_set('html', 'capacity'), qr/p99 stays under 20 ms.*limit of 20.*class="chart"|class="chart".*limit of 20/s, 'probes are drawn');
like(report_set('html', 'capacity'), qr/<title>p99, passed [^<]* ms<.*<title>p99, failed [^<]*: beyond the axis</s, 'as the search judges them');
unlike(report_set('text', 'capacity'), qr/[0-9] +failed/, 'a probe that skips half of its transactions has no 99th percentile');
unlike(report_set('html', 'capacity'), qr/transactions were skipped|the rate was missed/, 'a probe that overloads the server on purpose is no reason for doubt');
my $interval_columns = $node->safe_psql('postgres', q{
	SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
	 WHERE attrelid = 'bench.run_intervals'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''});
my $passed = "SELECT min(run_id) FROM bench.runs WHERE set_id = $sets{capacity}";
my $unsteady = $node->safe_psql(
	'postgres', "BEGIN; CREATE TEMP TABLE course AS SELECT * FROM bench.run_intervals LIMIT 1;
	DELETE FROM bench.run_intervals WHERE run_id = ($passed);
	INSERT INTO bench.run_intervals ($interval_columns) SELECT $interval_columns
	  FROM (SELECT (jsonb_populate_record(c, jsonb_build_object('run_id', ($passed), 'interval_no', n, 'latency_avg_ms', 1 + n))).*
	          FROM course c, generate_series(0, 19) n) i;
	SELECT bench.report(set_ids => '{$sets{capacity}}', format => 'html')");
like($unsteady, qr/<td class="text">not steady</, 'a probe that was not steady is not shown as passed');
like($unsteady, qr/<title>p99, not steady /, 'nor drawn as such');
like(report_set('html', 'before'), qr/<th class="text" scope="col">verdict<.*<td class="text">-</s, 'a column of texts that has none is aligned as texts');
like(report_set('text', 'before'), qr/throughput (?:peaks|still rises)|highest throughput/, 'scaling as text');
$html = html_ok(report_set('html', 'before', 'after'), 'two sets');
like($html, qr/Set $sets{after}: after, protocol=simple/, 'series of two sets');
unlike($html, qr/with intervals of 95 %/, 'no interval of a single run');
my @latencies = map { [ /<td[^>]*>([^<]*)</g ] } ($html =~ /<caption>95th percentile of latency by clients<.*?<tbody>(.*?)<\/tbody>/s)[0] =~ /<tr>(.*?)<\/tr>/sg;
is(scalar @latencies, 8, 'their latencies beside throughput');
my $p95 = $node->safe_psql('postgres', "SELECT latency_p95_ms FROM bench.arms($sets{before}) WHERE (options ->> 'clients')::int = 3");
ok((grep { $$_[0] =~ /before/ && $$_[1] == 3 && abs($$_[2] - $p95) <= 0.01 * $p95 } @latencies), 'as bench.arms has them') or diag(explain(\@latencies), $p95);
is(report_set('html', 'arms', 'arms'), report_set('html', 'arms'), 'a set that is named twice is one set');
like(report_set('markdown', 'before'), qr/^\*\*[^:*]/m, 'an answer that says nothing of options that are all the same');

# What was run can be repeated, with what only the rows of sets have.
foreach my $case (
	[ 'before', q(grid => '{"clients":[1,2,3,4]}', label => 'before', repeats => 1, scripts => 'select-only', seed => ') ],
	[ 'no axis', q(grid => '{"protocol":["simple","prepared"]}', label => 'no axis', repeats => 1, ) ],
	[ 'arms', q(arms => '[{"name":"clients=1"},{"clients":2,"name":"clients=2"}]', label => 'arms', repeats => 2, ) ],
	[ 'capacity', q(latency_limit => 20, percentile => 99, seed => '1') ])
{
	my ($label, $part) = @$case;
	like(report_set('markdown', $label), qr/^SELECT \* FROM bench\.\w+\(.*\Q$part\E/m, "$label: the statement that repeats it");
}
$node->safe_psql(
	'postgres', q{
	SELECT * FROM bench.compare('[{"name": "a", "settings": {"work_mem": "8MB"}}, {"name": "b", "baseline": true}]',
		scripts => 'select-only', transactions => 10, repeats => 1, label => 'prepared', setup => 'CREATE TABLE made (x int)',
		teardown => 'DROP TABLE made', variables => '{"name": "it''s"}', seed => '11')});
my $first = $node->safe_psql('postgres', q{SELECT max(set_id) FROM bench.sets});
$sets{prepared} = $first;
my ($statement) = report_set('markdown', 'prepared') =~ /^(SELECT \* FROM bench\.compare.*;)$/m;
$node->safe_psql('postgres', $statement);
is( $node->safe_psql(
		'postgres', "SELECT a.options = b.options, a.seed = b.seed, a.kind = b.kind FROM bench.sets a, bench.sets b"
		  . " WHERE a.set_id = $first AND b.set_id = (SELECT max(set_id) FROM bench.sets)"),
	't|t|t', 'it makes the same set')
  or diag($statement);
# Characters that are not seen are in the statement as escape sequences.
foreach my $hidden ('r\u202Ele', 'zero\u200Bwidth \\\\ it\'\'s', '\u001B[31m \U000E0041')
{
	my $made = $node->safe_psql('postgres',
		"SELECT DISTINCT set_id FROM bench.compare(scripts => 'select-only', transactions => 10, repeats => 1, label => E'$hidden', "
		  . "arms => jsonb_build_array(jsonb_build_object('name', E'$hidden'), '{\"name\": \"b\"}'::jsonb))");
	my ($pasted) = $node->safe_psql('postgres', "SELECT bench.report(set_ids => '{$made}', format => 'markdown')") =~ /^(SELECT \* FROM bench\.compare.*;)$/m;
	unlike($pasted, qr/U\+/, 'no character is replaced');
	$node->safe_psql('postgres', $pasted);
	is( $node->safe_psql(
			'postgres', "SELECT label = E'$hidden', count(DISTINCT set_id), count(DISTINCT arm) FROM bench.runs WHERE set_id >= $made GROUP BY 1"),
		't|2|2', 'the pasted statement makes a set of the same label and arms')
	  or diag($pasted);
	my $run = $node->safe_psql('postgres', "SELECT min(run_id) FROM bench.runs WHERE set_id = $made");
	($pasted) = report($run, 'markdown') =~ /^(SELECT \* FROM bench\.run\(.*;)$/m;
	$node->safe_psql('postgres', $pasted);
	is($node->safe_psql('postgres', "SELECT label = E'$hidden' FROM bench.runs ORDER BY run_id DESC LIMIT 1"), 't', 'that of a run, too')
	  or diag($pasted);
}
my $of_arm = $node->safe_psql('postgres', "SELECT min(run_id) FROM bench.runs WHERE set_id = $first AND arm = 'a'");
like(report($of_arm, 'markdown'), qr/^SELECT \* FROM bench\.run\(.*settings => '\{"work_mem":"8MB"\}', setup => 'CREATE TABLE made \(x int\)', teardown => 'DROP TABLE made'/m,
	'a run of a set, with what its arm has');
my $until_steady = run_of(q{'select-only', warmup => NULL, max_warmup => '0.5 s', transactions => 10});
like(report($until_steady, 'markdown'), qr/^SELECT \* FROM bench\.run\(.*warmup => NULL, max_warmup => '0\.5 s'/m,
	'a warm-up until the run is steady is one again');

my $of_sql = run_of(q{sql => E'\\\\set a 1\nSELECT :a', seed => 7, transactions => 10});
($statement) = report($of_sql, 'markdown') =~ /^(SELECT \* FROM bench\.run\(.*?\);)$/ms;
unlike($statement, qr/scripts =>/, 'statements are not repeated by the name of their script');
$node->safe_psql('postgres', $statement);
is( $node->safe_psql(
		'postgres', "SELECT a.sql = b.sql, a.seed = b.seed, a.scripts = b.scripts FROM bench.runs a, bench.runs b"
		  . " WHERE a.run_id = $of_sql AND b.run_id = (SELECT max(run_id) FROM bench.runs)"),
	't|t|t', 'a run of statements is repeated with them')
  or diag($statement);

# What is repeated has the settings of the session, those that are lists of names as well, and files of any name. Custom
# settings may be secrets.
my $file = PostgreSQL::Test::Utils::tempdir . '/a, b@2.sql';
append_to_file($file, "INSERT INTO told SELECT 'file';\n");
$node->safe_psql('postgres', q{CREATE SCHEMA "a, ""b"""; CREATE TABLE "a, ""b""".told (text text)});
my $lists = q{SET search_path = "a, ""b""", public; SET temp_tablespaces = pg_default, pg_default; SET work_mem = '5MB'; SET DateStyle = 'German, DMY'; SET my.text = 'secret';};
my $as_set = q{DateStyle=German, DMY, search_path="a, ""b""", public, temp_tablespaces=pg_default, pg_default};
my $session_of = q{SELECT string_agg(concat_ws('=', name, setting), ', ' ORDER BY name COLLATE "C") FROM bench.run_settings s
	WHERE s.run_id = r.run_id AND source = 'session' AND name IN ('DateStyle', 'my.text', 'search_path', 'temp_tablespaces', 'work_mem')};
my $statements = qr/^((?:SELECT pg_catalog\.set_config\(.*\);\n)*SELECT \* FROM bench\.(?:run|compare|find_capacity)\(.*\);)$/m;
foreach my $case (
	[ 'lists, spi', $lists, qq{'"$file"\@3, select-only', mode => 'spi'}, qq(\{"\\"$file\\"\@3",select-only}|$as_set, work_mem=5MB) ],
	[ 'lists, libpq', $lists, qq{'"$file"', mode => 'libpq'}, qq(\{"\\"$file\\""}|$as_set, work_mem=5MB) ],
	[ 'empty lists', q{SET search_path = ''; SET temp_tablespaces = '';}, q{sql => 'SELECT 1'}, '{sql}|search_path="", temp_tablespaces=""' ])
{
	my ($name, $session, $arguments, $expected) = @$case;
	my $stored = "SELECT state, aborted_clients, transactions, scripts, ($session_of) FROM bench.runs r ORDER BY run_id DESC LIMIT 1";
	$node->safe_psql('postgres', "$session SELECT bench.run($arguments, transactions => 10, vacuum => 'none')");
	is($node->safe_psql('postgres', $stored), "finished|0|10|$expected", "$name: what a run stores");
	my $run_id = last_run();
	my ($again) = report($run_id, 'markdown') =~ $statements;
	$node->safe_psql('postgres', $again);
	is($node->safe_psql('postgres', $stored), "finished|0|10|$expected", "$name: and the one that repeats it") or diag($again);
	is(last_run(), $run_id + 1, "$name: which is another one");
}
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = pg_catalog, public');
$node->safe_psql('postgres', "SELECT bench.run(sql => 'SELECT 1', transactions => 1)");
is($node->safe_psql('postgres', "SELECT setting, source FROM bench.run_settings WHERE name = 'search_path' AND run_id = " . last_run()),
	'pg_catalog, public|database', 'a search_path of the database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET search_path');
my $of_sessions = $node->safe_psql(
	'postgres', $lists . q{
	SELECT DISTINCT set_id FROM bench.compare('[{"name": "a"}, {"name": "b", "settings": {"work_mem": "6MB"}}]', repeats => 1,
		transactions => 10, sql => 'INSERT INTO told SELECT 1')});
my ($again) = $node->safe_psql('postgres', "SELECT bench.report(set_ids => '{$of_sessions}', format => 'markdown')") =~ $statements;
$node->safe_psql('postgres', $again);
is( $node->safe_psql('postgres', "SELECT count(DISTINCT set_id), arm, sum(aborted_clients), ($session_of) FROM bench.runs r WHERE set_id >= $of_sessions GROUP BY 2, 4 ORDER BY 2"),
	"2|a|0|$as_set, work_mem=5MB\n2|b|0|$as_set", 'a set is repeated with the settings of its session')
  or diag($again);

# The warm-up of a search has a default of its own.
my $search = $node->safe_psql('postgres',
	q{SELECT set_id FROM bench.find_capacity(1000, 90, 1, scripts => 'select-only', clients => 2, duration => '100 ms', warmup => 0, seed => '11')});
($again) = $node->safe_psql('postgres', "SELECT bench.report(set_ids => '{$search}', format => 'markdown')") =~ $statements;
$node->safe_psql('postgres', $again);
is( $node->safe_psql('postgres', "SELECT a.options = b.options, a.seed = b.seed, b.options ->> 'warmup' FROM bench.sets a, bench.sets b"
		  . " WHERE a.set_id = $search AND b.set_id = (SELECT max(set_id) FROM bench.sets WHERE kind = 'find_capacity' AND set_id > $search)"),
	't|t|00:00:00', 'a search without warm-up is one again')
  or diag($again);

is( $node->safe_psql(
		'postgres', qq{
		SELECT d ->> 'format', jsonb_array_length(d -> 'sets'), jsonb_array_length(d #> '{sets,0,arms}'),
		       jsonb_array_length(d #> '{sets,0,runs}') >= 4, d #>> '{sets,1,set,label}', d #>> '{sets,0,runs,0,format}'
		  FROM (SELECT bench.report(set_ids => ARRAY[$sets{before}, $sets{after}], format => 'json')::jsonb AS d) q}),
	'pg_selfbench sets|2|4|t|after|pg_selfbench run',
	'sets as JSON');

my $over_time = sub { return $node->safe_psql('postgres', "SELECT bench.report(label => 'fails', format => '$_[0]')") };
html_ok($over_time->('html'), 'label without a result');
run_of(q{'select-only', transactions => 50, label => 'both'});
my $by_label = $node->safe_psql('postgres', "SELECT bench.report(label => 'both', format => 'html')");
fits_ok($node->safe_psql('postgres', "SELECT bench.report(label => 'both')"), 'label');
html_ok($by_label, 'label');
like($by_label, qr/spi, prepared, 1 client, scale 1, scripts [0-9a-f]{8}</, 'label: series');
is( $node->safe_psql(
		'postgres', "SELECT jsonb_array_length(bench.report(label => 'both', format => 'json')::jsonb -> 'runs') >= 3"),
	't',
	'label as JSON');
# Series on an axis of dates, with what changed.
$node->safe_psql('postgres', "SET work_mem = '$_'; SELECT bench.run('select-only', transactions => 50, label => 'dated')") foreach ('4MB', '8MB');
run_of(q{'select-only', transactions => 50, label => 'dated', mode => 'libpq'});
my $dated = html_ok($node->safe_psql('postgres', "SELECT bench.report(label => 'dated', format => 'html')"), 'dates');
my @tps = split /\n/, $node->safe_psql('postgres', "SELECT to_char(started_at, 'YYYY-MM-DD HH24:MI') || ': ' || tps FROM bench.runs WHERE label = 'dated' ORDER BY run_id");
my @points = $dated =~ /<title>[^<]*? ([-\d]{10} [\d:]{5}: [\d,.]+) tps</g;
is(scalar @points, 3, 'a point for each run');
foreach my $point (@points)
{
	my ($date, $value) = $point =~ tr/,//dr =~ /(.*): (.*)/;
	ok((grep { my ($at, $is) = /(.*): (.*)/; $at eq $date && abs($is - $value) <= 0.01 * $is } @tps), "a point of the rows: $point") or diag("@tps");
}
is(scalar(() = $dated =~ />(?:work_mem 4MB to 8MB)</g), 2, 'a changed setting is marked in both charts');
is(scalar(() = $dated =~ /<p class="lead">(?:spi|libpq), prepared[^<]*\.</g), 2, 'a sentence for each series');
# One thousands separator.
$node->safe_psql('postgres', "UPDATE bench.runs SET tps = 1234567.8, transactions = 2345678 WHERE run_id = (SELECT max(run_id) FROM bench.runs)");
foreach my $format (qw(text markdown html))
{
	my $text = $node->safe_psql('postgres', "SELECT bench.report(label => 'dated', format => '$format')");
	like($text, qr/has 1,234,568 tps\./, "$format: commas in sentences");
	unlike($text, qr/\b1234567/, "$format: and nowhere a number without");
}
foreach (
	[ "bench.report(set_ids => '{0}')",      qr/42704.*set 0 does not exist/,        'no set' ],
	[ "bench.report(set_ids => '{}')",       qr/22023.*set_ids/,                     'an empty array' ],
	[ "bench.report(set_ids => ARRAY(SELECT generate_series(1, 101)))", qr/22023.*101 sets.*From 1 to 100 sets/s, 'very many sets' ],
	[ "bench.report(set_ids => '{NULL}')",   qr/22004: set_ids must not contain nulls\nHINT:  Sets are listed/, 'a set that is NULL' ],
	[ "bench.report(label => 'none')",   qr/42704.*no run with label "none"/,    'no label' ])
{
	my ($call, $error, $name) = @$_;
	my ($status, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT $call");
	like($stderr, $error, "wrong argument: $name");
}

# Roles see their own runs only.
$node->safe_psql('postgres', "CREATE ROLE other LOGIN; SELECT bench.grant_to('other')");
foreach my $format (qw(text markdown json html))
{
	my ($status, undef, $stderr) = $node->psql(
		'postgres', "SELECT bench.report($spi, '$format')",
		extra_params => [ '-U', 'other' ]);
	like($stderr, qr/run $spi does not exist/, "$format: no report of others");
}

wait_until_quiet($node);
$node->stop;
remove_data($node);
done_testing();
