# Generates expressions of the script language: well-formed ones, of which most
# can be evaluated and some fail on purpose, and broken ones.  All randomness is
# that of Perl's rand, so that srand decides what comes out.
#
# Left out, because C does not define what the client does there and it depends on
# how the client was compiled: abs of a boolean, and a parameter of a random
# distribution that is not finite (with NaN, random_zipfian never returns).  Left
# out of broken expressions are bytes beyond ASCII, of which the client shows one
# although the character has several.
package Expressions;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(expression broken_expression broken_line pick chance
  variables_of_options prelude);

# Variables that are texts, which get their types when an expression reads them.
my %texts = (
	int => {
		t_int => '7', t_blank => ' 7', t_plus => '+5', t_zero => '-0',
		t_min => '-9223372036854775808', t_digits => '007',
	},
	double => {
		t_double => '1.5', t_hex => '0x10', t_inf => 'inf', t_dot => '1.', t_exp => '-1e3',
		t_nan => 'nan', t_big => '1e308', t_hexfloat => '0x1.8p3',
	},
	boolean => { t_true => 'tr', t_yes => 'YE', t_on => 'on', t_of => 'of', t_no => 'N' },
	null    => { t_null => 'nUlL' },
	bad     => {
		t_o => 'o', t_nul => 'nul', t_yess => 'yess', t_under => '1_000', t_after => '7 ',
		t_huge => '1e400', t_range => '9223372036854775808', t_sign => '-', t_word => 'word',
		t_tiny => '1e-400', t_quote => q(it's), t_comma => '1,5', t_e => '1e',
	},);

# Variables that are set at the start of the script, by \set.
my %set = (
	int => {
		v_int => '42', v_neg => '-7', v_max => '9223372036854775807',
		v_min => '-9223372036854775808', v_zero => '0'
	},
	double => {
		v_double => '2.5', v_inf => '1/0.0', v_nan => '0.0/0', v_negzero => '0.0 * -1',
		v_large  => '9223372036854775807.0'
	},
	boolean => { v_true => 'true', v_false => 'false' },
	null    => { v_null => 'null' },);

my %automatic = (int => [qw(client_id scale random_seed default_seed)]);

my @int_edges = qw(0 1 2 3 5 7 10 31 32 63 64 65 100 127 128 255 256 1000 65535 65536 99999
  2147483647 2147483648 4294967295 4294967296 1000000007 4611686018427387904
  9223372036854775806 9223372036854775807 -1 -2 -7 -63 -64 -65 -128 -2147483648
  -4611686018427387904 -9223372036854775807 -9223372036854775808 007 0001);
my @double_edges = qw(0.0 1.0 1. .5 0.1 0.2 2.5 3.5 1.5 1e3 1.e3 1E+2 1e-5 1e15 1e16 123456.789
  9007199254740993.0 9223372036854775807.0 9223372036854775808.0 1e18 1e19 1e100 1e308
  1.7976931348623157e308 2.2250738585072014e-308 1e-300 3.141592653589793 0.30000000000000004
  -0.0 -1.5 -2.5 -1e308 -1e-5 -.5 00.5 1e0 1e00);

# How likely an operand is of a type that its operator refuses.
my $wrong = 0.015;

sub pick   { return $_[ int(rand(scalar @_)) ] }
sub chance { return rand() < $_[0] }

# The arguments of the client's -D, by name.
sub variables_of_options
{
	return map { %$_ } values %texts;
}

# The commands that set variables.
sub prelude
{
	my %all = map { %$_ } values %set;
	return map { "\\set $_ $all{$_}\n" } sort keys %all;
}

# A well-formed expression.
sub expression
{
	my $type = pick(qw(int int int double double boolean boolean any));
	return blank(of_type($type, 1 + int rand 5));
}

sub of_type
{
	my ($type, $depth) = @_;

	$type = one_type($type);
	$type = pick(qw(int double boolean null)) if chance($wrong);
	return 'debug(' . of_type($type, $depth - 1) . ')' if $depth > 0 && chance(0.03);
	return leaf($type) if $depth <= 0 || chance(0.1);
	return case($type, $depth) if chance(0.06);
	return leaf('null') if chance(0.01);
	return '(' . of_type($type, $depth - 1) . ')' if chance(0.1);
	return int_of($depth) if $type eq 'int';
	return double_of($depth) if $type eq 'double';
	return boolean_of($depth) if $type eq 'boolean';
	return null_of($depth);
}

sub one_type
{
	my ($type) = @_;

	return pick(qw(int int double double boolean boolean null)) if $type eq 'any';
	return $type eq 'number' ? pick(qw(int double)) : $type;
}

sub leaf
{
	my $type = one_type($_[0]);

	return ':' . variable($type) if chance(0.2);
	return pick(@int_edges)    if $type eq 'int' && chance(0.6);
	return int(rand 1000) - 300 if $type eq 'int';
	return pick(@double_edges) if $type eq 'double' && chance(0.7);
	return sprintf('%.*f', int(rand 6) + 1, rand(2000) - 1000) if $type eq 'double';
	return anycase(pick(qw(true false))) if $type eq 'boolean';
	return anycase('null');
}

sub variable
{
	my ($type) = @_;

	return pick('undefined', 'x y', '1', "\xc3\xa9") =~ s/ .*//r if chance(0.01);
	return pick(sort keys %{ $texts{bad} }) if chance(0.015);
	return pick(sort(keys %{ $texts{$type} }, keys %{ $set{$type} }), @{ $automatic{$type} // [] });
}

sub int_of
{
	my ($depth) = @_;
	my $sub = sub { of_type($_[0] // 'int', $depth - 1) };

	# Products and sums of edge values overflow; that is an outcome, too, but not
	# the one to have most of the time.
	return '(' . $sub->() . ') % ' . pick(7, 1000, 65536, -13) . sign() . int(rand 50) if chance(0.15);
	return chain($depth) if chance(0.4);
	return unary($sub->()) if chance(0.15);
	return call($depth);
}

# Operators without parentheses, which shows precedence and associativity.
sub chain
{
	my ($depth) = @_;
	my @operators = split ' ', chance(0.7) ? '+ - * / % | # & << >>' : '+ - * / %';
	my $text = small($depth);
	foreach (0 .. int rand 4)
	{
		my $operator = pick(@operators);
		my $right = small($depth);
		# A literal zero divides seldom.
		$right = int(rand 20) + 1 if $operator =~ m{[/%]} && chance(0.8);
		$right = int(rand 70) if $operator =~ m{<<|>>} && chance(0.8);
		$text .= gap() . $operator . gap() . $right;
	}
	return $text;
}

# An operand of a chain, mostly so small that the chain does not overflow.
sub small
{
	my ($depth) = @_;

	return '(' . of_type('int', $depth - 2) . ')' if chance(0.15);
	return leaf('int') if chance(0.15);
	return unary(int rand 100) if chance(0.2);
	return pick('random(1, 100)', 'hash(3) % 100', ':client_id', 'abs(-5)', 'int(2.5)') if chance(0.1);
	return int rand 1000;
}

sub unary
{
	my ($operand) = @_;

	my $signs = join '', map { pick('-', '- ', '+', '~ ', '-', '(-') } 0 .. int rand 3;
	my $open = () = $signs =~ /\(/g;
	# ~ binds less than what can stand before it, but for another ~.
	$signs =~ s/(?<=[-+] )~|(?<=[-+])~/-/g;
	return pick('', '(') eq '('
	  ? "($signs($operand)" . ')' x ($open + 1)
	  : $signs . ($operand =~ /^[\w:.]+$/ ? $operand : "($operand)") . ')' x $open;
}

sub sign { return pick(' + ', ' - ', '+', '-', ' * ') }

sub case
{
	my ($type, $depth) = @_;

	my $condition = sub { of_type(pick(qw(boolean boolean int double any)), $depth - 2) };
	my $text = anycase('case');
	$text .=
		' '
	  . anycase('when') . ' '
	  . $condition->() . ' '
	  . anycase('then') . ' '
	  . of_type($type, $depth - 1)
	  foreach 0 .. int rand 2;
	$text .= ' ' . anycase('else') . ' ' . of_type($type, $depth - 1) if chance(0.7);
	return "$text " . anycase('end');
}

sub call
{
	my ($depth) = @_;
	my $sub = sub { of_type($_[0] // 'int', $depth - 1) };
	my $list = sub {
		join pick(',', ', ', ' , '), map { $sub->(pick($_[0], $_[0], 'number')) } 0 .. int rand 4;
	};
	my ($low, $high) = (int(rand 2000) - 1000, int rand 5000);
	my $bounds = chance(0.9) ? "$low, " . ($low + $high) : $sub->() . ', ' . $sub->();
	my $narrow = chance(0.95) ? "$low, " . ($low + $high) : '10, 5';
	my $seed = chance(0.5) ? ', ' . $sub->(pick('int', 'number')) : '';
	my $size = chance(0.95) ? int(rand 1000) + 1 : leaf('int');

	my %calls = (
		int      => sub { 'int(' . $sub->(chance(0.3) ? 'int' : 'double') . ')' },
		intsmall => sub { 'int(' . (rand(2000) - 1000) . ')' },
		# Its argument must not turn out boolean.
		abs      => sub { 'abs(' . leaf_number() . ')' },
		mod      => sub { 'mod(' . $sub->('number') . ', ' . (chance(0.8) ? int(rand 99) - 120 : $sub->()) . ')' },
		least    => sub { 'least(' . $list->('int') . ')' },
		greatest => sub { 'greatest(' . $list->('int') . ')' },
		hash     => sub { 'hash(' . $sub->('number') . "$seed)" },
		murmur2  => sub { 'hash_murmur2(' . $sub->('number') . "$seed)" },
		fnv1a    => sub { 'hash_fnv1a(' . $sub->('number') . "$seed)" },
		permute  => sub { 'permute(' . $sub->('int') . ", $size" . (chance(0.7) ? $seed : '') . ')' },
		permute2 => sub { 'permute(' . pick(@int_edges) . ', ' . pick(grep { $_ > 0 } @int_edges) . ', ' . pick(@int_edges) . ')' },
		random   => sub { "random($bounds)" },
		random2  => sub { "random($bounds) + random(1, 10) * 1000" },
		exponential => sub { "random_exponential($bounds, " . parameter(0.001, 50, qw(0 -1 1e-9 1e300)) . ')' },
		gaussian => sub { "random_gaussian($bounds, " . parameter(2, 20, qw(1.9 2.0 0 -5 1e300)) . ')' },
		zipfian  => sub { "random_zipfian($narrow, " . parameter(1.001, 3, qw(1 1.001 1000 1000.1 0.5 2 1)) . ')' },);
	return anycase_function($calls{ pick(sort keys %calls) }->());
}

# A parameter of a distribution: finite, mostly in range.
sub parameter
{
	my ($low, $high, @edges) = @_;

	return pick(@edges) if chance(0.15);
	return ($low < 2 ? 2 : int($low)) + int rand($high - 1) if chance(0.2);
	return sprintf '%.4f', $low + 0.0001 + rand($high - $low);
}

sub leaf_number
{
	return pick(@int_edges, @double_edges, ':v_int', ':v_min', ':v_nan', ':v_negzero', ':t_int', ':t_inf',
		'-5 * 2', '- 0.5');
}

sub double_of
{
	my ($depth) = @_;
	my $sub = sub { of_type($_[0] // 'double', $depth - 1) };

	my @forms = (
		sub { $sub->() . gap() . pick(qw(+ - * /)) . gap() . operand('number', $depth) },
		sub { operand('number', $depth) . gap() . pick(qw(+ - * /)) . gap() . operand('double', $depth) },
		sub { pick('-', '+', '- ') . operand('double', $depth) },
		sub { 'double(' . $sub->('number') . ')' },
		sub { 'sqrt(' . $sub->('number') . ')' },
		sub { 'ln(' . $sub->('number') . ')' },
		sub { 'exp(' . $sub->('number') . ')' },
		sub { pick('pow', 'power') . '(' . $sub->('number') . ', ' . $sub->('number') . ')' },
		sub { 'pow(' . pick(2, 10, -5.0, 0, '-0.0', 1.5) . ', ' . pick(0, 0.5, -1, 3, 1023, 1024, '(1/0.0)') . ')' },
		sub { 'pi()' },
		sub { 'abs(' . leaf_number() . ') * 1.0' },
		sub { pick('least', 'greatest') . '(' . join(', ', map { $sub->('number') } 0 .. int rand 4) . ', 1.5)' },
		sub { '1.0 * ' . operand('int', $depth) },);
	return anycase_function(pick(@forms)->());
}

sub operand
{
	my ($type, $depth) = @_;

	return chance(0.5) ? leaf($type)
	  : '(' . of_type($type, $depth - 1) . ')';
}

sub boolean_of
{
	my ($depth) = @_;
	my $sub = sub { of_type($_[0] // 'boolean', $depth - 1) };

	my @forms = (
		sub { comparison($depth) },
		sub { comparison($depth) },
		sub { anycase('not') . ' ' . $sub->() },
		sub { comparison($depth) . ' ' . anycase(pick(qw(and or))) . ' ' . comparison($depth) },
		sub {
			join ' ' . anycase(pick(qw(and or))) . ' ',
			  map { chance(0.2) ? anycase('not') . ' ' . comparison($depth) : operand('boolean', $depth) } 0 .. 2;
		},
		sub { pick('true or ', 'false and ', 'null and ', 'false or ') . '(1/0 = 1)' },
		sub { pick('true', 'false', 'null') . ' ' . pick('and', 'or') . ' ' . pick('true', 'false', 'null') },
		sub { test(operand('any', $depth)) },
		sub { test(operand('number', $depth) . ' ' . pick('=', '<', '<>', '+', '#') . ' ' . operand('int', $depth)) },
		sub { anycase('not') . ' ' . test(operand('any', $depth)) },);
	return pick(@forms)->();
}

sub comparison
{
	my ($depth) = @_;

	my $text =
		operand('number', $depth)
	  . gap()
	  . pick(qw(< > = <= >= <> !=))
	  . gap()
	  . (chance(0.3) ? chain($depth) : operand('number', $depth));
	return chance(0.6) ? $text : "($text)";
}

sub test
{
	my ($operand) = @_;

	return "$operand " . anycase(pick('isnull', 'notnull')) if chance(0.3);
	return "$operand " . anycase('is ' . pick('', 'not ') . pick('null', 'true', 'false'));
}

sub null_of
{
	my ($depth) = @_;

	my @forms = (
		sub { 'null' . gap() . pick(qw(+ - * / % < = & <<)) . gap() . operand('any', $depth) },
		sub { operand('number', $depth) . gap() . pick(qw(+ - * <> |)) . gap() . 'null' },
		sub { 'greatest(null, ' . operand('any', $depth) . ')' },
		sub { 'random(null, random(1, 5))' },
		sub { 'random_zipfian(1, null, 0)' },
		sub { 'hash(null, random(1, 3))' },
		sub { 'not null' },
		sub { '-null' },
		sub { '~ null' },
		sub { 'case when null then 1 end' },
		sub { 'permute(1, null)' },
		sub { 'null and (1/0 = 1)' },);
	return pick(@forms)->();
}

# Blanks where none are needed.
sub gap { return pick('', ' ', ' ', ' ', '  ', "\t") }

# Another spelling of blanks: tabs, and lines that go on.
sub blank
{
	my ($text) = @_;

	$text =~ s/ /chance(0.03) ? pick("\t", "\f ", "\\\n", " \\\n  ", "\\\r\n") : ' '/ge;
	return $text;
}

sub anycase
{
	my ($word) = @_;

	return chance(0.8) ? $word : chance(0.5) ? uc $word : ucfirst $word;
}

sub anycase_function
{
	my ($call) = @_;

	return chance(0.9) ? $call : $call =~ s/^([a-z_0-9]+)(?=\()/uc $1/er;
}

# What tokens broken expressions have beside those of well-formed ones.
my @tokens = (@int_edges, @double_edges, split ' ', <<'EOT');
+ - * / % < > = <= >= <> != | # & ~ << >> ( ) , :v_int :v_null :undefined : :: :1 :=
and or not is isnull notnull case when then else end true false null AND Case
random hash least greatest abs pi debug permute random_gaussian sqrt int double mod foo bar
random( hash( least( greatest( abs( pi( debug( permute( pow( foo( case)
! @ $ ^ ? " ' ` ; [ ] { } \ \x ~~ <=> == && || ** . .. e1 1e 1e+ 1.5.5 1a 1_0 0x10 0b1 $1 'a' "a"
9223372036854775808 9223372036854775809 99999999999999999999 1e400 1e-400 4.9e-324 1e309
-9223372036854775808
EOT

# An expression that has something wrong with it, most of the time.
sub broken_expression
{
	my $form = int rand 10;
	return join pick(' ', ' ', ''), map { pick(@tokens) } 0 .. int rand 8 if $form < 3;
	return wrong_arguments() if $form < 5;

	my @tokens_of = split /(?<=[^\w.:])|(?=[^\w.:])/, of_type(pick(qw(int double boolean any)), 1 + int rand 3);
	my $at = int rand @tokens_of;
	if ($form < 7)
	{
		splice @tokens_of, $at, 1;
	}
	elsif ($form < 8)
	{
		splice @tokens_of, $at, 0, ' ', pick(@tokens), ' ';
	}
	elsif ($form < 9)
	{
		$tokens_of[$at] = ' ' . pick(@tokens) . ' ';
	}
	else
	{
		$#tokens_of = $at;
	}
	return blank(join '', @tokens_of);
}

# Calls with arguments that a function does not take, and operators that do not
# associate.
sub wrong_arguments
{
	my @some = map { leaf(pick(qw(int double))) } 0 .. int rand 5;
	@some = map { int rand 9 } 0 .. 16 + int rand 3 if chance(0.08);
	return pick(
		pick(qw(abs debug double exp greatest hash hash_fnv1a hash_murmur2 int least ln mod permute pi pow power random
			  random_exponential random_gaussian random_zipfian sqrt ABS Foo nextval))
		  . '('
		  . join(pick(',', ', '), @some) . ')',
		'least()',
		'greatest( )',
		pick(qw(least pi hash)) . '(, 1)',
		'1 ' . pick(qw(= < <= <>)) . ' 2 ' . pick(qw(= > >= !=)) . ' 3',
		'null is null is ' . pick('null', 'not true'),
		'1 isnull ' . pick('notnull', 'isnull', 'is true'),
		'5 - 9223372036854775808',
		'- ' . pick('', '(', '-') . '9223372036854775808',
		'case ' . leaf('int') . ' when 1 then 2 end',
		'case when 1 then 2' . pick('', ' else', ' else 3 else 4 end', ' end end'),
		'case end', 'case when true end', 'case else 1 end',
		'1 is ' . leaf('int'), 'is null', '1 is not', 'not', 'true not', '~', '1 ~ 2',
		'- ~ 1', '2 * ~1', '(' x 5 . '1' . ')' x 4, '(' x 4 . '1' . ')' x 5, '()',);
}

# A meta command with arguments that it does not take.
sub broken_line
{
	my @words = map { pick(qw(1 2 a b_c :v us ms s 1.5 -1 5ms 10us 1week week x= p_ \\ 0 "q" 'r'), "\t", '') } 0 .. int rand 4;
	my $command = pick(
		'set', 'set x', 'set 1a 5', 'set', 'if', 'elif 1', 'else', 'endif', 'sleep', 'sleep 1', 'sleep :v',
		'shell', 'setshell', 'setshell x', 'gset', 'aset', 'startpipeline', 'endpipeline', 'unknown',
		'SET x', 'Sleep 5', '', ' ', 'set x 1', 'if 1', 'g', 'q', '?', 'set-x 1', 'echo', 'GSET');
	my $around = pick('%s', '%s', "select 1;\n%s", "%s\nselect 1;", "select 1 %s\n", "\\if 1\n%s\n\\endif",
		"\\if 0\n\\else\n%s\n\\endif", "\\if 1\n%s", "%s\n\\endif", "-- only a comment\n%s",
		"\\set a 1\n\n\n   %s", "select 1 \\gset\n%s");
	return sprintf $around, "\\$command @words";
}

1;
