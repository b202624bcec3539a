# Runs every command of README.md: each line of a ```sh block and each ```sql
# block is one test.  Then runs the SQL of docs/*.md, one session per page up to each crontab line, the commands of
# these lines and those by which psql writes files, and checks that the pages name all
# functions, that docs/reference.md is up to date, and that the pictures of README.md have the figures of its text.  The
# environment names a server and an empty database for the SQL.
#
# Differences from entering the commands: runs last 0.3 seconds, sets have two rounds, searches
# are rough ones for the 90th percentile, scale is 1 and tables are small, other servers are this one, as its superuser, "make install" installs to
# a temporary directory, the extension and pgbench's tables are created again where they are dropped, jobs are waited for, files are written there, sudo is omitted, and "make test" does not run itself.
use strict;
use warnings;

use File::Temp qw(tempdir);
use Test::More;

my $scratch = tempdir(CLEANUP => 1);
@ENV{qw(DEMO_SECONDS DEMO_SCALE DEMO_CLIENTS DEMO_FILE DEMO_PICTURES DESTDIR)} =
  (1, 1, 1, "$scratch/demo.html", $scratch, "$scratch/install");
delete $ENV{KEEP};

write_file("$scratch/sudo", "#!/bin/sh\nexec \"\$@\"\n");
chmod 0755, "$scratch/sudo";
$ENV{PATH} = "$scratch:$ENV{PATH}";

my $this_server = "host=$ENV{PGHOST} port=$ENV{PGPORT} user=$ENV{PGUSER} dbname=$ENV{PGDATABASE}";
# What not every server has, some only if they are preloaded, and SQL that needs it.
my %optional = (pg_cron => qr/\bcron\b|pg_cron/, pg_stat_statements => qr/pg_stat_statements|\bshop_now\b/, dblink => qr/dblink/, postgres_fdw => qr/postgres_fdw/);
my %has = map { $_ => 1 } split ' ', qx(psql -XAtc "SELECT name FROM pg_available_extensions
  WHERE name NOT IN ('pg_cron', 'pg_stat_statements') OR current_setting('shared_preload_libraries') ~ name");

# A job goes on after the statement that starts it, with workers that the next ones need.
my $jobs_end = q{DO $$ BEGIN WHILE EXISTS (SELECT FROM bench.job_runs WHERE state = 'running') LOOP PERFORM pg_sleep(0.1); END LOOP; END $$;};
my $number = 0;
foreach my $block (blocks('README.md'))
{
	my ($language, $text) = @$block;
	if ($language eq 'sql')
	{
	  SKIP:
		{
			my $name = (split /\n/, $text)[0];
			skip_without($text, $name);
			sql_succeeds(adapted($text), $name);
		}
	}
	elsif ($language eq 'sh')
	{
		shell_succeeds($_, $_) foreach split /\n/, $text;
	}
}
foreach my $page (glob 'docs/*.md')
{
	my $session = '';
	foreach my $block (blocks($page))
	{
		my ($language, $text) = @$block;
		if ($language eq 'cron' && $text =~ /^(?:\S+ ){5}(.*)/)
		{
			my $command = adapted($1);
			sql_succeeds($session, $page) if $session ne '';
			$session = '';
			succeeds($command, "$page: crontab");
			sql_succeeds($jobs_end, "$page: its job ends") if $command =~ /run_job/;
		}
		next if $language ne 'sql';
	  SKIP:
		{
			skip_without($text, $page);
			$session .= adapted($text);
		}
	}
	sql_succeeds($session, $page) if $session ne '';
	foreach my $line (map { $_->[0] eq 'sh' ? split /\n/, $_->[1] : () } blocks($page))
	{
		shell_succeeds($line, "$page: $line") if $line =~ /^psql -XAtc .* > \w/;
	}
}
my $pages = join '', map { slurp($_) } 'README.md', grep { $_ ne 'docs/reference.md' } glob 'docs/*.md';
my @undocumented = grep { $pages !~ /\bbench\.$_\b/ } split ' ',
  qx(psql -XAtc "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'bench'::regnamespace");
is("@undocumented", '', 'every function of schema bench is in README.md or docs/*.md');
is($?, 0, 'functions listed');
# Its errors are those of a source, which cargo test compares.
succeeds("psql -XqAtf tools/reference.sql >$scratch/reference.md || exit 1
sed '/<!-- errors/q' $scratch/reference.md >$scratch/generated.md
sed '/<!-- errors/q' docs/reference.md | diff - $scratch/generated.md", 'docs/reference.md is up to date: make reference');

# What make demo has written: a page, and the pictures of README.md.
like(slurp("$scratch/demo.html"), qr/\A<!DOCTYPE html>.*<h1>Run \d+<\/h1>.*<\/html>\s*\z/s, 'make demo writes a page');
my $readme = slurp('README.md');
my ($picture) = $readme =~ /<picture>(.*?)<\/picture>/s;
my %sources = ($picture // '') =~ /<source media="\(prefers-color-scheme: (\w+)\)" srcset="([^"]+)">/g;
is_deeply(\%sources, { dark => 'docs/demo-dark.svg' }, 'README.md has a dark picture');
like($picture, qr/<img alt="[^"]+" src="docs\/demo-light\.svg">/, 'README.md has a light picture');
# Those of README.md are like those that make demo makes.
foreach my $theme (qw(light dark))
{
	foreach my $file ("docs/demo-$theme.svg", "$scratch/demo-$theme.svg")
	{
		my $svg = slurp($file);
		is(unclosed($svg), '', "$theme picture: elements are closed");
		unlike($svg, qr/<script|<image|<foreignObject|\son\w+=|href=|url\(|\@import|<!/i, "$theme picture: no script, nothing from outside");
		unlike($svg, qr/prefers-color-scheme/, "$theme picture: it does not depend on the browser's theme");
		unlike($svg, qr/[^\n\x20-\x7e]/, "$theme picture: ASCII");
	}
}
# Text and pictures are of one run: latencies, in ms, and how it was run.
my ($percentiles) = $readme =~ /^ latency percentiles \(ms\): (.*)/m;
my %told = $percentiles =~ /(p[\d.]+|max) ([\d.]+)/g;
foreach my $theme (qw(light dark))
{
	my ($title, $finding) = slurp("docs/demo-$theme.svg") =~ /<title>([^<]*)<\/title><desc>([^<]*)<\/desc>/;
	my %in_ms = ('s' => 1000, 'ms' => 1, '&#xB5;s' => 0.001);
	my @drawn = $finding =~ /(p[\d.]+|max) ([\d.]+) (&#xB5;s|ms|s)/g;
	is(scalar @drawn, 15, "$theme picture: five latencies") or diag($finding);
	while (my ($name, $value, $unit) = splice @drawn, 0, 3)
	{
		my $ms = $value * $in_ms{$unit};
		my $differs = abs($ms - ($told{$name} // 'NaN'));
		ok($differs <= 0.0005 + 0.005 * $ms, "$theme picture: $name is that of README.md") or diag("$ms, not $told{$name}");
	}
	my ($mode, $clients) = $title =~ /\(mode (\w+), (\d+) clients\)/;
	like($readme, qr/^ execution mode: $mode \(.*\n number of clients: $clients\n/m, "$theme picture: its run is README.md's");
}
my ($tps) = $readme =~ /^ tps = ([\d.]+)/m;
my ($compared) = $readme =~ /^ select-only \| +(\d+)/m;
is($compared, sprintf('%.0f', $tps), 'the table of README.md is of the same run');
done_testing();

# The fenced blocks of a Markdown file, as [language, text].
sub blocks
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	my @blocks;
	my $inside;
	while (<$in>)
	{
		if (/^ *```(\w*)$/)
		{
			push @blocks, [ $1, '' ] unless $inside;
			$inside = !$inside;
		}
		elsif ($inside) { $blocks[-1][1] .= $_ }
	}
	return @blocks;
}

# A command, changed as described above.
sub adapted
{
	my ($text) = @_;
	$text =~ s/\b((?:duration|timeout|warmup)\s*=>\s*)'[^']*'/$1'300 ms'/g;
	$text =~ s/("(?:duration|warmup)": )"[^"]*"/$1"300 ms"/g;
	$text =~ s/, '10 s'\)/, '300 ms')/g;
	$text =~ s/( -T )\d+/${1}1/g;
	$text =~ s/\b(repeats\s*=>\s*)\d+/${1}2/g;
	$text =~ s/\b(percentile\s*=>\s*)\d+/${1}90, tolerance => 1/g;
	$text =~ s/\b(scale\s*=>\s*)\d+/${1}1/g;
	$text =~ s/\b(size\s*=>\s*)'\d+MB'/$1'8MB'/g;
	$text =~ s/\bhost=db\d dbname=bench\b/$this_server/g;
	$text =~ s/\bhost 'db2', dbname 'bench'/host '$ENV{PGHOST}', port '$ENV{PGPORT}', dbname '$ENV{PGDATABASE}'/;
	$text =~ s/\buser 'tester', password 'a secret'/user '$ENV{PGUSER}'/;
	$text =~ s/^DROP EXTENSION (pg_selfbench);$/DROP EXTENSION $1; CREATE EXTENSION $1; SELECT FROM bench.initialize();/m;
	$text =~ s/^(SELECT bench\.run_job\('\w+'\);)$/$1 $jobs_end/m;
	$text =~ s/ -d bench\b/ -d $ENV{PGDATABASE}/;
	return $text;
}

# Skips one test if the text needs an extension that the server does not have.
sub skip_without
{
	my ($text, $name) = @_;
	my @missing = grep { !$has{$_} && $text =~ $optional{$_} } sort keys %optional;
	skip "$name: the server has no extension @missing", 1 if @missing;
	return;
}

# Tests that SQL succeeds in a new session.
sub sql_succeeds
{
	my ($sql, $name) = @_;
	my $file = "$scratch/" . ++$number . '.sql';
	write_file($file, $sql);
	return succeeds("cd $scratch && psql -X -v ON_ERROR_STOP=1 -f $file", $name);
}

# Tests that a line of a shell succeeds, and what it writes into a file.
sub shell_succeeds
{
	my ($line, $name) = @_;
	my %begins = (html => qr/\A<!DOCTYPE html>/, svg => qr/\A<svg /, json => qr/\A\{"/, md => qr/\A# Run \d/);
	my ($file, $kind) = $line =~ / > (\w+\.(\w+))$/;
	succeeds($line =~ s{ > (?=\w)}{ > $scratch/}r, $name);
	like(slurp("$scratch/$file"), $begins{$kind}, "$name: what it writes") if $file;
	return;
}

# Tests that a shell command succeeds; shows what it printed if not.
sub succeeds
{
	my ($command, $name) = @_;
	if ($command eq 'make test')
	{
		return pass("$name (this is it)");
	}
	write_file("$scratch/command", "$command\n");
	my $output = qx(timeout 900 sh $scratch/command 2>&1 </dev/null);
	return ok($? == 0, $name) || diag($output);
}

# Elements of an XML text that are not closed, or not where they should be.
sub unclosed
{
	my ($xml) = @_;
	my $tag = qr/<(\/?)([A-Za-z]+)(?:\s+[\w:-]+="[^"<]*")*\s*(\/?)>/;
	return '<' if $xml =~ s/$tag//gr =~ /</;
	my @open;
	while ($xml =~ /$tag/g)
	{
		my ($ends, $name, $is_empty) = ($1, $2, $3);
		if ($ends) { return "/$name" if (pop @open // '') ne $name }
		elsif (!$is_empty) { push @open, $name }
	}
	return join ' ', @open;
}

sub slurp
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	local $/;
	return <$in>;
}

sub write_file
{
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	return;
}
