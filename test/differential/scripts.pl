# Whole scripts: the same rows, statements, values, errors and counts as with the
# pgbench program, in both modes.
#
#   SEED=1,2   seeds of the generator; these without it
#   COUNT=n    scripts for each seed: 150 with seeds of one's own, else 75
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Differential;
use JSON::PP;
use Scripts;
use SelfBench;
use Test::More;

my @seeds    = seeds();
my $count    = $ENV{COUNT} || ($ENV{SEED} ? 150 : 75);
my $node     = new_judged_node('scripts');
my $compared = 0;
my $shown    = 0;
my $rows     = 'SELECT line FROM lines ORDER BY 1; SELECT id, v FROM t WHERE v <> 0 ORDER BY 1';
$node->safe_psql('postgres', Scripts::schema());

foreach my $seed (@seeds)
{
	srand $seed;
	my ($done, $runs) = (0, 0);
	my @different;
	while ($done < $count)
	{
		my $run = Scripts::run();
		push @different, differences($run);
		$done += @{ $run->{scripts} };
		$runs++;
	}
	$compared += $done;
	ok(!@different, "seed $seed: $done scripts in $runs runs") or show(@different);
}
note("$compared scripts compared");
cmp_ok($compared, '>=', 150, "$compared scripts were compared") if !$ENV{COUNT} && !$ENV{SEED};

ok(wait_until_quiet($node), 'no process is left');
done_testing();

# Executes a run by pgbench and in both modes: [run, mode, what, theirs, ours] for
# each thing that differs.
sub differences
{
	my ($run) = @_;

	my @files;
	foreach my $script (@{ $run->{scripts} })
	{
		write_script($script->[0], $script->[2]);
		push @files, '-f', "$script->[0]\@$script->[1]";
	}
	my %defines = %{ $run->{variables} };
	$node->safe_psql('postgres', 'SELECT reset()');
	my $theirs = pgbench(
		$node, '-n', '-M', $run->{protocol}, '-c', $run->{clients}, '-j', $run->{jobs}, '-t', $run->{transactions},
		'--random-seed', $run->{seed}, '--max-tries', $run->{max_tries}, ($run->{reconnect} ? '-C' : ()), (map { ('-D', "$_=$defines{$_}") } sort keys %defines), @files);
	$theirs->{rows} = $node->safe_psql('postgres', $rows);

	@{ $theirs->{errors} } = map { parse_error($_, 1) } @{ $theirs->{errors} } if $theirs->{status} == 1;
	blame_preparation($theirs) if $run->{protocol} eq 'prepared';

	my @different;
	foreach my $mode (qw(spi libpq))
	{
		# In mode spi, there are neither jobs nor connections.
		my $options = $mode eq 'spi' ? '' : "jobs => $run->{jobs}, reconnect => " . ($run->{reconnect} ? 'true,' : 'false,');
		my $ours = bench(
			$node,
			scripts => $run->{scripts},
			before  => 'SELECT reset() \g /dev/null' . "\n",
			options => "mode => '$mode', protocol => '$run->{protocol}', clients => $run->{clients}, $options"
			  . " transactions => $run->{transactions}, seed => '$run->{seed}', max_tries => $run->{max_tries},"
			  . ' variables => ' . quoted(JSON::PP->new->ascii->canonical->encode(\%defines)),
			after => $rows);
		my @what = qw(rows counts status errors);
		if ($theirs->{status} == 1)
		{
			# It does not parse.
			@what = 'errors';
			s/^bench\.run: psql:[^ ]* ERROR:  (.*?)(?:\npsql:.*)?\z/$1/s foreach @{ $ours->{errors} };
			$_ = parse_error($_) foreach @{ $ours->{errors} };
		}
		# The client's threads write the pieces of these lines as they come.
		push @what, 'debug'      if $run->{jobs} == 1   && $theirs->{status} != 1;
		push @what, 'statements' if $mode eq 'libpq' && $theirs->{status} != 1;
		foreach my $what (@what)
		{
			my ($their, $our) = map { comparable($what, $_, $mode) } $theirs->{$what}, $ours->{$what};
			next if $their eq $our;
			next
			  if $what eq 'statements'
			  && $theirs->{status} == 2
			  && both_begin_alike($theirs->{statements}, $ours->{statements});
			push @different, [ $run, $mode, $what, $their, $our ];
		}
	}
	return @different;
}

# When a statement cannot be prepared, the client prints the reason, goes on to
# execute it and reports that it does not exist.  bench reports the reason.
sub blame_preparation
{
	my ($theirs) = @_;
	my $nowhere = qr/ERROR:  prepared statement "P_\d+" does not exist/;

	s/^(ERROR:  .*); (client \d+ [^\n]*): $nowhere$/$2: $1/s foreach @{ $theirs->{errors} };
	s/^ERROR: prepared statement "P_\d+" does not exist\n//mg foreach @{ $theirs->{statements} };
	return;
}

# Whether of each two connections one got what the other got first, if they used
# pipelines: when a client leaves with a pipeline open, it is chance how far the
# server has come by then.
sub both_begin_alike
{
	my ($theirs, $ours) = @_;

	return 0 if @$theirs != @$ours || !grep { /execute/ } @$theirs;
	foreach my $i (0 .. $#$theirs)
	{
		my $length = length $theirs->[$i] < length $ours->[$i] ? length $theirs->[$i] : length $ours->[$i];
		return 0 if substr($theirs->[$i], 0, $length) ne substr($ours->[$i], 0, $length);
	}
	return 1;
}

# One of the results, as a text.
sub comparable
{
	my ($what, $result, $mode) = @_;

	return $result if !ref $result;
	if ($what eq 'errors' && $mode eq 'spi')
	{
		# In mode spi, an error has neither its place in the statement nor its context.
		return join "\n--\n",
		  sort map { s/\nLINE \d+: .*\n *\^//r =~ s/\n(?:CONTEXT|QUERY):  .*//sr } @$result;
	}
	if ($what eq 'debug')
	{
		# Which of several clients came first is chance.
		return join '', map { "$_: @{[ sort @{ $result->{$_} } ]}\n" } sort keys %$result;
	}
	return join "\n--\n", sort @$result if ref $result eq 'ARRAY';
	return JSON::PP->new->canonical->encode($result);
}

# The differences, those of the shortest scripts first.
sub show
{
	my @different = @_;

	my $length = sub { length join '', map { $_->[2] } @{ $_[0][0]{scripts} } };
	foreach my $case (sort { $length->($a) <=> $length->($b) } @different)
	{
		last if $shown++ >= ($ENV{SHOW} || 6);
		my ($run, $mode, $what, $their, $our) = @$case;
		my $scripts = join '', map { "--- $_->[0], weight $_->[1]\n$_->[2]\n" } @{ $run->{scripts} };
		my $options = join ' ', map { "$_=$run->{$_}" } qw(protocol clients jobs transactions seed reconnect max_tries);
		diag("mode $mode, $what differ: $options\n$scripts=== pgbench:\n$their\n=== bench:\n$our\n");
	}
	return;
}
