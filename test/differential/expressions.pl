# Expressions: both modes give the same values, random numbers and errors as the
# pgbench program, and the same messages for invalid expressions.
#
#   SEED=1,2   seeds of the generator; these without it
#   COUNT=n    expressions for each seed: 3200 with seeds of one's own, else 1600
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Differential;
use Expressions qw(expression broken_expression broken_line chance prelude variables_of_options);
use JSON::PP;
use SelfBench;
use Test::More;

# At most as many clients as errors that a run keeps.
my $clients  = 20;
my $per_run  = 24 * $clients;
my @seeds    = seeds();
my $count    = $ENV{COUNT} || ($ENV{SEED} ? 3200 : 1600);
my $broken   = int($count * 0.25);
my $node     = new_judged_node('expressions');
my %texts    = variables_of_options();
my @defines  = map { ('-D', "$_=$texts{$_}") } sort keys %texts;
my $defines  = quoted(JSON::PP->new->ascii->canonical->encode(\%texts));
my $compared = 0;
my $shown    = 0;

foreach my $seed (@seeds)
{
	srand $seed;
	my (%seen, @broken);
	while (@broken < $broken)
	{
		my $body = chance(0.75) ? '\set r debug(' . broken_expression() . ')' : broken_line();
		# What is left of a character that was cut is no text for the server.
		push @broken, $body if utf8::decode(my $text = $body) && !$seen{$body}++;
	}
	# Only a well-formed expression gives these functions arguments for which C
	# defines what the client does.
	my @queue = grep { !/\b(?:abs|random_\w+)\b/i }
	  map { s/^\\set r debug\((.*)\)$/$1/sr } grep { /^\\set r debug/ } parse_errors($seed, @broken);
	# These are arguments; only some of the others are conditions, too.
	my %argument = map { $_ => 1 } @queue;

	my $left = $count - @broken;
	while (@queue < $left)
	{
		my $text = expression();
		push @queue, $text if !$seen{$text}++;
	}
	# What comes after an error of its client has to wait for the next run.
	@queue = evaluations($seed, \%argument, @queue) while @queue;
}
note("$compared expressions compared");
cmp_ok($compared, '>=', 2500, "$compared expressions were compared")
  if !$ENV{COUNT} && !$ENV{SEED};

ok(wait_until_quiet($node), 'no process is left');
done_testing();

# Compares what becomes of scripts that do not parse, one by one for pgbench.
# Returns those that do.
sub parse_errors
{
	my ($seed, @bodies) = @_;

	my @theirs;
	foreach my $body (@bodies)
	{
		write_script('x', $body);
		my $error = pgbench(undef, '-n', '-f', 'x')->{errors}[0];
		push @theirs, $error =~ /^connection to server/ ? '' : $error;
	}

	my $array = join ', ', map { quoted($_) } @bodies;
	# Names that no variable can have are an error when they are assigned to, not here.
	my $rows = $node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION pg_temp.message(body text) RETURNS text LANGUAGE plpgsql AS \$\$
BEGIN
    PERFORM bench.define_script('x', body);
    RETURN '';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END \$\$;
SELECT json_build_array(pg_temp.message(body), c.message, c.line, c.column_no)
  FROM unnest(ARRAY[$array]) WITH ORDINALITY AS u(body, i)
       LEFT JOIN LATERAL (SELECT * FROM bench.check_script(body) WHERE severity = 'error' AND message !~ 'invalid variable name' LIMIT 1) c ON true
 ORDER BY i
SQL
	my @differences;
	foreach my $row (split /\n/, $rows)
	{
		my ($message, $summary, $line, $column) = @{ JSON::PP->new->latin1->decode($row) };
		my $body   = $bodies[ @differences ];
		my $theirs = parse_error($theirs[ @differences ], 1);
		my $place  = defined $line ? "x:$line: $summary" : $summary // '';
		# What bench.check_script checks has no name but this.
		$place =~ s/script "script"/script "x"/;
		my ($caret) = $theirs =~ /^( *)\^ error found here\z/m;
		my $same =
			 parse_error($message) eq $theirs
		  && substr($message, 0, length $place) eq $place
		  && (defined $column ? $column - 1 : -1) == (defined $caret ? length $caret : -1);
		push @differences, $same ? undef : [ $body, $theirs, join ' ', $message, '(line', $line // '-', 'column', $column // '-' . ')' ];
	}
	$compared += @differences;
	my @different = grep { defined } @differences;
	report("seed $seed: " . scalar(@bodies) . ' scripts that may be wrong', @different);
	is(scalar @differences, scalar @bodies, 'all of them were checked');
	return map { $theirs[$_] eq '' ? $bodies[$_] : () } 0 .. $#bodies;
}

# Compares the values of as many of the expressions as one run evaluates; returns
# the others.
sub evaluations
{
	my ($seed, $argument, @queue) = @_;

	my $queued  = @queue;
	my @lines   = prelude();
	my $command = @lines;
	my @later   = @queue > $per_run ? splice @queue, $per_run : ();
	my @cases;
	foreach my $client (0 .. $clients - 1)
	{
		push @lines, "\\if :client_id = $client\n";
		$command++;
		foreach my $i (grep { $_ % $clients == $client } 0 .. $#queue)
		{
			my $text = $queue[$i];
			my $case = { text => $text, client => $client, first => ++$command };
			if ($i % 17 == 0 && !$argument->{$text})
			{
				push @lines, "\\if $text\n\\set r debug(1)\n\\else\n\\set r debug(0)\n\\endif\n";
				$command += 4;
			}
			else
			{
				push @lines, "\\set r debug($text)\n";
			}
			$case->{last} = $command;
			push @cases, $case;
		}
		push @lines, "\\endif\n";
		$command++;
	}
	my $script = join '', @lines;
	my $random = int rand 2**31;
	write_script('x', $script);
	my $theirs = pgbench($node, '-n', '-f', 'x', '-t', 1, '-c', $clients, '-j', 1, '--random-seed', $random, @defines);
	my %ours;
	foreach my $mode (qw(spi libpq))
	{
		$ours{$mode} = bench(
			$node,
			scripts => [ [ 'x', 1, $script ] ],
			options => "mode => '$mode', clients => $clients, transactions => 1, seed => '$random', variables => $defines");
	}

	my @different;
	foreach my $case (@cases)
	{
		my $answer = answer($theirs, $case);
		if ($answer eq '')
		{
			push @later, $case->{text};
			next;
		}
		$compared++;
		foreach my $mode (qw(spi libpq))
		{
			my $our_answer = answer($ours{$mode}, $case);
			push @different, [ $case->{text}, $answer, "($mode) $our_answer" ] if $our_answer ne $answer;
		}
	}
	report("seed $seed: " . (@cases) . ' expressions', @different);
	die "no expression was evaluated: @{ $theirs->{errors} }\n" if @later == $queued;
	return @later;
}

# What became of a case: what debug() said, and the error.
sub answer
{
	my ($result, $case) = @_;

	my @lines = map { @{ $result->{debug}{"0,$_"} // [] } } $case->{first} .. $case->{last};
	foreach my $error (@{ $result->{errors} })
	{
		push @lines, $error
		  if $error =~ /client (\d+) aborted in command (\d+) /
		  && $1 == $case->{client}
		  && $2 + 1 >= $case->{first}
		  && $2 + 1 <= $case->{last};
	}
	return join "\n", @lines;
}

sub report
{
	my ($name, @different) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok(!@different, $name);
	@different = sort { length $a->[0] <=> length $b->[0] } @different;
	foreach my $case (@different)
	{
		last if $shown++ >= 10;
		diag("expression: $case->[0]\npgbench: $case->[1]\nbench:   $case->[2]\n");
	}
	return;
}
