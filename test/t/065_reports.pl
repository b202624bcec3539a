# Reports in all formats: of all kinds of runs, and with hostile texts in all places where texts come
# from outside.
use strict;
use warnings;

use SelfBench;
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
	my @found = $html =~ /<([a-z0-9]+)/g;
	my @ended = $html =~ /<\/([a-z0-9]+)/g;
	my %open;
	$open{$_}++ foreach @found;
	$open{$_}-- foreach @ended;
	delete @open{qw(meta br)};
	is(join(' ', grep { $open{$_} } sort keys %open), '', "$name: all elements are closed");
	unlike($html, qr/[^\x00-\x7f]/, "$name: HTML is ASCII");
	unlike($html, qr/<[^>]*\s(?:on\w+|style|src|href)=/, "$name: no handler, style or link");
	unlike($html, qr/\b(?:NaN|Infinity|inf)\b|Some\(|None\b(?! of)/, "$name: no odd values");
	return $html;
}

# What a run of each mode shows.
my $spi = run_of(q{'select-only@2, simple-update', clients => 2, transactions => 100, per_statement => true,
	label => 'both', seed => '42', variables => '{"answer": "42"}'});
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
  . q{seed => '42', label => 'both', variables => '{"answer":"42"}', per_statement => true);};
(my $escaped = $repeat) =~ s/>/&gt;/g;
$escaped =~ s/"/&quot;/g;
like($html, qr/<pre>\Q$escaped\E<\/pre>/, 'statement that repeats the run');
like($markdown, qr/^\Q$repeat\E$/m, 'the same in Markdown');
is( $node->safe_psql(
		'postgres', qq{
		SELECT r.transactions = o.transactions AND r.label = o.label
		  FROM bench.runs o, ($repeat) r WHERE o.run_id = $spi} =~ s/;\) r/) r/r),
	't',
	'it repeats the run');
is(report($spi, 'text'), $node->safe_psql('postgres', "SELECT bench.report($spi)"), 'text is the default');
is( $node->safe_psql(
		'postgres', "SELECT bench.report($spi, 'json')::jsonb - 'exported_at' = bench.export_run($spi)::jsonb - 'exported_at'"),
	't',
	'JSON is the exported document');

my $libpq = run_of(q{'select-only', mode => 'libpq', clients => 2, transactions => 20, jobs => 2});
($html) = reports_ok($libpq, 'mode libpq');
unlike($html, qr/in-server/, 'figures of mode libpq are not marked');
like($html, qr/jobs =&gt; 2/, 'jobs are repeated');

# The policy allows the style sheet by its hash.
my ($style) = $html =~ /<style>(.*?)<\/style>/s;
use Digest::SHA qw(sha256_base64);
my $hash = sha256_base64($style);
$hash .= '=' while length($hash) % 4;
like($html, qr/style-src 'sha256-\Q$hash\E'/, 'policy');
like($html, qr/default-src 'none'/, 'policy for all else');

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
$node->safe_psql('postgres', "SELECT bench.cancel($progress)");
wait_for($node, "SELECT state = 'canceled' FROM bench.runs WHERE run_id = $progress");
($html) = reports_ok($progress, 'canceled');
like($html, qr/The run was canceled/, 'it says so');

$node->safe_psql('postgres', 'SELECT bench.initialize_pgio(tables => 2, size => $$4MB$$)');
my $pgio = $node->safe_psql('postgres', 'SELECT run_id FROM bench.run_pgio(transactions => 10, update_pct => 20)');
($html) = reports_ok($pgio, 'pgio');
like($html, qr/bench\.run_pgio\(tables =&gt; 2, update_pct =&gt; 20, transactions =&gt; 10, /, 'pgio is repeated');
like($html, qr/Tables of pgio's workload/, 'its tables');

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

# Wrong arguments.
foreach (
	[ "$spi, 'pdf'", qr/22023.*format.*"pdf".*\n.*"text", "markdown", "json", "html"/s, 'format' ],
	[ "$spi, NULL", qr/22004|22023/, 'no format' ],
	[ "0, 'html'", qr/42704.*run 0 does not exist/, 'no run' ])
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
	UPDATE bench.runs SET rate = 100 * run_id, set_id = (SELECT max(set_id) FROM bench.sets)
	 WHERE run_id IN (SELECT run_id FROM bench.runs WHERE set_id IS NULL AND histogram IS NOT NULL LIMIT 3)});
my %sets = split /[|\n]/, $node->safe_psql('postgres', 'SELECT label, set_id FROM bench.sets');

# The report of sets by their labels.
sub report_set
{
	my ($format, @labels) = @_;
	my $ids = join ',', map { $sets{$_} } @labels;
	return $node->safe_psql('postgres', "SELECT bench.report_set(ARRAY[$ids]::bigint[], '$format')");
}
foreach my $label (sort keys %sets)
{
	my $html = html_ok(report_set('html', $label), "set $label");
	like($html, qr/<h1>Set $sets{$label}: $label<\/h1>/, "set $label: title");
	like(report_set('markdown', $label), qr/^# Set $sets{$label}/, "set $label: Markdown");
	like(report_set('text', $label), qr/^Set $sets{$label}: $label\n/, "set $label: text");
}
like(report_set('html', 'arms'), qr/class="chart".*clients=2/s, 'arms are drawn');
like(report_set('text', 'arms'), qr/clients=1: baseline/, 'verdicts as text');
like(report_set('html', 'capacity'), qr/p99 stays under 20 ms.*limit of 20.*class="chart"|class="chart".*limit of 20/s, 'probes are drawn');
like(report_set('text', 'before'), qr/throughput (?:peaks|still rises)|highest throughput/, 'scaling as text');
$html = html_ok(report_set('html', 'before', 'after'), 'two sets');
like($html, qr/Set $sets{after}: after, protocol=simple/, 'series of two sets');
is( $node->safe_psql(
		'postgres', qq{
		SELECT d ->> 'format', jsonb_array_length(d -> 'sets'), jsonb_array_length(d #> '{sets,0,points}'),
		       jsonb_array_length(d #> '{sets,0,runs}') >= 4, d #>> '{sets,1,set,label}', d #>> '{sets,0,runs,0,format}'
		  FROM (SELECT bench.report_set(ARRAY[$sets{before}, $sets{after}], 'json')::jsonb AS d) q}),
	'pg_selfbench sets|2|4|t|after|pg_selfbench run',
	'sets as JSON');

my $over_time = sub { return $node->safe_psql('postgres', "SELECT bench.report_label('fails', '$_[0]')") };
html_ok($over_time->('html'), 'label without a result');
run_of(q{'select-only', transactions => 50, label => 'both'});
my $by_label = $node->safe_psql('postgres', "SELECT bench.report_label('both', 'html')");
html_ok($by_label, 'label');
like($by_label, qr/spi, select-only, 1 clients/, 'label: series');
is( $node->safe_psql(
		'postgres', "SELECT jsonb_array_length(bench.report_label('both', 'json')::jsonb -> 'runs') >= 3"),
	't',
	'label as JSON');
foreach (
	[ "bench.report_set('{0}')",      qr/42704.*set 0 does not exist/,        'no set' ],
	[ "bench.report_set('{}')",       qr/22023.*set_ids/,                     'an empty array' ],
	[ "bench.report_set('{NULL}')",   qr/22004.*set_ids/,                     'a set that is NULL' ],
	[ "bench.report_label('none')",   qr/42704.*no run with label "none"/,    'no label' ])
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
