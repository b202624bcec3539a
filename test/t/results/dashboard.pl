# bench.dashboard: a page over all runs and sets that the caller may see.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('dashboard');
$node->safe_psql('postgres', 'SELECT bench.initialize()');
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT bench.grant_to('$_'); GRANT SELECT ON pgbench_accounts, pgbench_branches TO $_")
  foreach qw(tester other);

sub dashboard
{
	my ($role) = @_;
	return $node->safe_psql('postgres', 'SELECT bench.dashboard()',
		extra_params => [ defined $role ? ('-U', $role) : () ]);
}

# The cells of the rows of a section, as texts.
sub rows
{
	my ($html, $id) = @_;
	my ($section) = $html =~ m{<h2 id="$id">(.*?)</section>}s or return ();
	my ($body) = $section =~ m{<tbody>(.*?)</tbody>}s or return ();
	return map { [ map { s/<[^>]*>//gr } m{<td[^>]*>(.*?)</td>}gs ] } $body =~ m{<tr>(.*?)</tr>}gs;
}

# Copies of a run with other columns, which are SQL expressions of n.
sub copies
{
	my ($run_id, $n, %columns) = @_;
	return copy_rows($node, 'runs', "run_id = $run_id", "1, $n", %columns);
}

my $html = dashboard();
like($html, qr/\A<!DOCTYPE html>/, 'without runs, a page');
like($html, qr/0 runs, 0 sets, 0 workloads with a label\./, 'that says so');
is_deeply([ rows($html, 'runs') ], [], 'and has no row');

# Runs of each kind.
my $run = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'nightly')");
$node->safe_psql('postgres', <<'SQL');
SELECT FROM bench.compare('[{"name": "one"}, {"name": "two"}]', scripts => 'select-only', repeats => 2,
                          transactions => 20, vacuum => 'none', label => 'arms')
SQL
$html = dashboard();
my $seven = $node->safe_psql('postgres', 'SELECT count(*) FROM bench.runs');
# The report of a label shows the last of very many runs, and says so.
copies($run, 201, run_id => '500000 + n', label => "'very many'");
my $of_label = $node->safe_psql('postgres', "SELECT bench.report(label => 'very many')");
like($of_label, qr/Of the last 200 finished runs from /, 'runs that are drawn');
like($of_label, qr/\b500201\b/, 'the last one');
unlike($of_label, qr/\b500001\b/, 'not the first one');
$node->safe_psql('postgres', 'DELETE FROM bench.runs WHERE run_id > 500000');
is(scalar(rows($html, 'runs')), $seven, 'a row for each run');
is_deeply(
	[ (map { [ @$_[ 0 .. 4 ] ] } rows($html, 'runs'))[-1] ],
	[ [ $run, 'nightly', '-', 'finished', 'select-only: spi, prepared, 1 client, scale 1' ] ],
	'of the first run');
is(
	(rows($html, 'runs'))[-1][-1],
	"SELECT bench.report($run, 'html')",
	'with the query for its report');
my @sets = rows($html, 'sets');
is(scalar @sets, 1, 'a row for the set');
like("@{$sets[0]}", qr/^1 compare arms finished \d of \d /, 'with its label and state');
my @arms = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', 'SELECT arm, tps, verdict FROM bench.arms(1)');
my @tps = $sets[0][6] =~ /^one: ([\d.,]+) tps, \Q$arms[0][2]\E; two: ([\d.,]+) tps, \Q$arms[1][2]\E$/;
tr/,//d foreach @tps;
is(scalar(grep { abs($tps[$_] - $arms[$_][1]) <= 0.005 * $tps[$_] } 0 .. $#tps), 2, 'with the figures and verdicts of bench.arms')
  or diag($sets[0][6]);
is_deeply([ map { [ $$_[0], $$_[1] =~ /(comparison, two \/ one)/ ] } rows($html, 'labels') ], [ [ 'arms', 'comparison, two / one' ], ['nightly'] ],
	'a series of a label, and one of a set');
is($node->safe_psql('postgres', "SELECT bench.dashboard() = convert_from(convert_to(bench.dashboard(), 'SQL_ASCII'), 'SQL_ASCII')"), 't', 'ASCII');

# A figure on the page is that of the table.
is( (rows($html, 'runs'))[-1][10],
	$node->safe_psql('postgres', "SELECT failed FROM bench.runs WHERE run_id = $run"),
	'failed transactions');

# A label that got slower, and one that did not.
copies($run, 8, label => "'steady'", tps => '1000 + n', latency_p95_ms => '2.0');
copies($run, 8, label => "'slow'", tps => 'CASE n WHEN 8 THEN 500 ELSE 1000 + n END', latency_p95_ms => '2.0');
$html = dashboard();
is_deeply(
	[ map { [ @$_[ 0, 2, 3, 5 .. 8 ] ] } rows($html, 'slower') ],
	[ [ 'slow', 'tps', 'suspect: far from its level', '1,004', '500.0', '-50.2 %', "SELECT * FROM bench.changes('slow')" ] ],
	'a last night that is far from the others');
like($html, qr/Of 2 with enough runs, 1 got slower\./, 'which comes first in words');
copies($run, 8, label => "'slow'", tps => '500 + n', latency_p95_ms => '2.0');
$html = dashboard();
my $since = $node->safe_psql('postgres', "SELECT min(run_id) FROM bench.runs WHERE label = 'slow' AND tps < 600");
is_deeply(
	[ map { [ @$_[ 0, 2 .. 7 ] ] } rows($html, 'slower') ],
	[ [ 'slow', 'tps', "slower since run $since", $since, '1,004', '504.0', '-49.8 %' ] ],
	'a level that got lower');
my $of_slow = $node->safe_psql('postgres', "SELECT bench.report(label => 'slow')");
like($of_slow, qr/Slower since \S+ \S+ \S+: tps changed by -49\.8 %\. Likely cause: unknown\./, 'which the report of the label says first');
# A run that failed is not compared.
copies($run, 1, label => "'steady'", tps => 1, state => "'failed'");
is(scalar(rows(dashboard(), 'slower')), 1, 'a failed run does not count');

# Hostile texts.
my @hostile = ('<script>alert(1)</script>', '" onmouseover="alert(1)', "\\', (SELECT 1)) --", "\e[31m\x{202e}", '&lt;b&gt;');
foreach my $text (@hostile)
{
	utf8::encode(my $literal = $text);
	copies($run, 1, label => "\$hostile\$$literal\$hostile\$", scripts => "ARRAY[\$hostile\$$literal\$hostile\$]");
}
$html = dashboard();
unlike($html, qr/<script>alert|" onmouseover="|\e/, 'texts are texts');
like($html, qr/\[U\+001B\]\[31m\[U\+202E\]/, 'hidden characters are visible');
like($html, qr/&amp;lt;b/, 'references are texts, too');
unlike($html, qr/<[^>]* (on[a-z]+|style)=/, 'no event handler, no style attribute');
like($html, qr/bench\.report\(label =&gt; ?E'\\\\'', \(SELECT 1\)\) --', format =&gt; 'html'\)/, 'a query quotes its label');
like($html, qr/content="default-src 'none'; style-src( 'sha256-[^']+')+; script-src 'sha256-[^']+';/, 'the policy');

# Rights.
my $own = $node->safe_psql('postgres',
	"SELECT run_id FROM bench.run('select-only', transactions => 5, vacuum => 'none', label => 'secret project')",
	extra_params => [qw(-U tester)]);
is_deeply([ map { $_->[0] } rows(dashboard('tester'), 'runs') ], [$own], 'a role sees its own runs');
unlike(dashboard('other'), qr/secret project|nightly/, 'and nobody else does');
like(dashboard(), qr/secret project/, 'but a superuser');
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
my (undef, undef, $error) = $node->psql('postgres', 'SELECT bench.dashboard()', extra_params => [qw(-U nobody)]);
like($error, qr/permission denied/, 'a role without privileges');

# A run in progress, and one that was lost.
my $running = $node->safe_psql('postgres', "SELECT bench.start('select-only', duration => '600 s', label => 'running')");
wait_for_transactions($node, 'running');
is((rows(dashboard(), 'runs'))[0][3], 'running', 'a run in progress');
$node->safe_psql('postgres', "CREATE ROLE auditor LOGIN BYPASSRLS; SELECT bench.grant_to('auditor')");
is((rows(dashboard('auditor'), 'runs'))[0][3], 'running', 'to a role that sees all runs, too');
is($node->safe_psql('postgres', "SELECT state, transactions > 0 FROM bench.wait($running, '1 ms')", extra_params => [qw(-U auditor)]),
	'running|t', 'which can wait for it');
is($node->safe_psql('postgres', 'SELECT phase FROM bench.progress', extra_params => [qw(-U auditor)]), 'running', 'and see its progress');
(undef, undef, $error) = $node->psql('postgres', "SELECT bench.export_run($running)", extra_params => [qw(-U auditor)]);
like($error, qr/run $running is in progress/, 'but not export it');
(undef, undef, $error) = $node->psql('postgres', "SELECT bench.cancel($running)", extra_params => [qw(-U auditor)]);
like($error, qr/ERROR:  permission denied for run $running/, 'nor cancel it');
$node->safe_psql('postgres', "SELECT bench.cancel($running); SELECT bench.wait($running)");
is((rows(dashboard(), 'runs'))[0][3], 'canceled', 'a canceled run');
$node->safe_psql('postgres', "UPDATE bench.runs SET state = 'running', segment = 1 WHERE run_id = $running");
is((rows(dashboard(), 'runs'))[0][3], 'lost', 'a lost run');

# Many runs.
copies($run, 6000, label => "'label ' || n % 40", tps => '1000 + n % 7', latency_p95_ms => '1 + n % 5');
$html = dashboard();
my $all = $node->safe_psql('postgres', "SELECT to_char(count(*), 'FM999,999') FROM bench.runs");
is(scalar(rows($html, 'runs')), 5000, 'the newest 5,000 runs');
like($html, qr/The newest 5,000 of $all runs\./, 'which is said');
cmp_ok(length $html, '<', 5_000_000, 'in less than 5 MB');

$node->stop;
done_testing();
