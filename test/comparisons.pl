# What bench.compare says on this machine, in series: an arm compared with itself, and with one that is
# slowed by 5 % on purpose, in as many rounds as the tool asks for. Part of make soak, not of make test:
# it needs a machine that does nothing else.
#
# EQUAL=40 SLOWED=20  series of each kind
use strict;
use warnings;

use SelfBench;
use Test::More;
use Time::HiRes 'time';

my $equal   = $ENV{EQUAL}  // 40;
my $slowed  = $ENV{SLOWED} // 20;
my $started = time;

# The time of a run; a round has two. The worker of a client has loaded its libraries after the warm-up.
my $short = "duration => 0.2, warmup => 0.05, vacuum => 'none'";
# Rounds of a first comparison: the default of bench.compare.
my $first = 7;

my $node = new_bench_node('comparisons', "log_statement = none\nautovacuum = off\n");
# A transaction of known length. It ends by the clock, not after so many loops: how fast a CPU of a
# virtual machine is may change by a third from one second to the next, and a comparison of 5 % then
# takes hundreds of rounds. A little chance keeps the end of the warm-up from cutting off the same
# part of a transaction in each run of an arm.
$node->safe_psql(
	'postgres', <<'SQL');
SELECT bench.initialize();
CREATE FUNCTION public.spin(us int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ends timestamptz := clock_timestamp() + us * interval '1 microsecond';
BEGIN
    WHILE clock_timestamp() < ends LOOP
    END LOOP;
END $$;
SELECT bench.define_script('spin', E'\\set time random(:us - 100, :us + 100)\nSELECT public.spin(:time);');
SQL

# Compares an arm with a baseline, both objects of options; returns what the row of the arm has.
sub compare
{
	my ($baseline, $arm, $rounds) = @_;
	my $row = $node->safe_psql('postgres', <<SQL);
SET client_min_messages = warning;
SELECT concat_ws('|', ratio, ratio_low, ratio_high, runs, verdict)
  FROM bench.compare('[{"name": "baseline", $baseline}, {"name": "arm", $arm}]', repeats => $rounds, $short)
 WHERE arm = 'arm'
SQL
	my %found;
	@found{qw(ratio low high runs verdict)} = split /\|/, $row;
	return \%found;
}

# A difference is what the verdict calls one: it has no other words for it.
sub is_different { return $_[0]{verdict} =~ /times as fast/ }

sub line
{
	my ($name, $found) = @_;
	diag sprintf '%s: %.4f (%.4f to %.4f) in %d rounds: %s', $name, @{$found}{qw(ratio low high runs verdict)};
	return;
}

# The number of rounds that show 5 %, as verdicts on the plain arm and itself have it.
sub rounds_asked_for
{
	my ($plain) = @_;
	my $rounds = $first;
	foreach (1 .. 20)
	{
		my $verdict = compare($plain, $plain, $rounds)->{verdict};
		my ($seen, $more, $shown) = $verdict =~ /anything under ([\d.]+) %.*?(?:; (\d+) more rounds? would show ([\d.]+) %|$)/;
		# One of twenty calls two equal arms different, and asks for nothing.
		next if !defined $seen;
		return $rounds if $seen < 5;
		die "no number of rounds: $verdict" if !defined $more;
		$rounds += $more;
		return $rounds if $shown <= 5;
	}
	die 'no number of rounds: this machine is never quiet';
}

my $differences = 0;
foreach my $series (1 .. $equal)
{
	my $mode  = $series % 2 ? 'spi' : 'libpq';
	my $same  = qq("scripts": "select-only", "mode": "$mode");
	my $found = compare($same, $same, $first);
	$differences += is_different($found);
	line("equal arms, series $series ($mode)", $found);
}

my $plain = '"scripts": "spin", "variables": {"us": 1000}';
my $slow  = '"scripts": "spin", "variables": {"us": 1050}';
my ($seen, $covered, $both, @rounds) = (0, 0, 0);
foreach my $series (1 .. $slowed)
{
	my $rounds      = rounds_asked_for($plain);
	my $found       = compare($plain, $slow, $rounds);
	my $is_seen     = is_different($found) && $found->{high} < 1;
	my $is_covered  = $found->{low} <= 1 / 1.05 && $found->{high} >= 1 / 1.05;
	$seen    += $is_seen;
	$covered += $is_covered;
	$both    += $is_seen && $is_covered;
	push @rounds, $rounds;
	line("slowed by 5 %, series $series", $found);
}

my ($least, $most) = (sort { $a <=> $b } @rounds)[ 0, -1 ];
diag sprintf '%d differences in %d series of equal arms (at most 5 of 40); of %d series with an arm slowed by 5 %%, '
  . 'in %d to %d rounds, %d found it, %d cover it, %d both (at least 17 of 20); %d s',
  $differences, $equal, $slowed, $least // 0, $most // 0, $seen, $covered, $both, time - $started;

cmp_ok($differences, '<=', $equal * 5 / 40, 'equal arms are rarely called different');
cmp_ok($both, '>=', $slowed * 17 / 20, 'an arm that is slowed is found, and the interval has by how much');

$node->stop;
done_testing();
