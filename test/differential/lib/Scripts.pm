# Generates scripts, and the options to run them with.  All randomness is that of
# Perl's rand, so that srand decides what comes out.
#
# The scripts use the tables and functions of schema() and leave their traces in
# the table "lines".  What several clients do at the same time touches different
# rows, so that the outcome does not depend on who comes first.
#
# Left out are statements that SPI cannot execute, statements without a semicolon
# that end in a variable (behind which the client may send bytes that it has
# forgotten to remove), and what takes effect in the order of time.
package Scripts;

use strict;
use warnings;

use Exporter 'import';
use Expressions qw(pick chance);

our @EXPORT_OK = qw(schema run);

# What has to be there, as SQL.  reset() brings it back to its beginning.
sub schema
{
	return <<'SQL';
CREATE TABLE lines (line text);
CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 1000000));
INSERT INTO t SELECT i, 0 FROM generate_series(0, 199) i;
CREATE SEQUENCE tries_0; CREATE SEQUENCE tries_1; CREATE SEQUENCE tries_2; CREATE SEQUENCE tries_3;
CREATE FUNCTION again(client int, state text, times int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('tries_' || client) % (times + 1) < times THEN
        RAISE EXCEPTION 'try again' USING ERRCODE = state, DETAIL = 'once more', HINT = 'please';
    END IF;
    RETURN client;
END $$;
CREATE FUNCTION reset() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM lines;
    UPDATE t SET v = 0 WHERE v <> 0;
    DELETE FROM t WHERE id > 199;
    FOR i IN 0..3 LOOP PERFORM setval('tries_' || i, 1, false); END LOOP;
END $$;
SQL
}

# What a script is being made for.
my ($protocol, $simple, $alone, $failing, $retrying, $depth, @variables);

# A run, as a hash reference: protocol, clients, jobs, transactions, seed,
# reconnect, max_tries, variables (a hash reference), scripts (a list of [name, weight, body]).
sub run
{
	$protocol = pick(qw(simple simple extended prepared));
	$simple   = $protocol eq 'simple';
	$failing  = chance(0.35);
	$retrying = chance(0.2);
	my $scripts = chance(0.25) ? 2 + int rand 3 : 1;
	my $clients = chance(0.4) ? 2 + int rand 3 : 1;
	# The client prints why a statement cannot be prepared without saying for whom,
	# and messages of several threads get mixed up: what may abort a client is left to
	# runs that are failing.
	$clients = 1 if $failing && ($protocol eq 'prepared' || $scripts > 1);
	$alone = $clients == 1;
	my %run = (
		protocol     => $protocol,
		clients      => $clients,
		# The clients of a thread share the generator that chooses scripts.
		jobs         => $failing ? 1 : $scripts > 1 ? $clients : 1 + int rand $clients,
		transactions => 1 + int rand 4,
		seed         => chance(0.8) ? int rand 2**31 : pick(qw(0 1 18446744073709551615 9223372036854775808)),
		reconnect    => chance(0.12),
		max_tries    => $retrying ? pick(1, 2, 3, 5) : 1,
		variables    => { d_int => int rand 100, d_text => pick("it''s", 'a b', 'x:y', '1.50'), d_true => 'yes',
			d_level => pick('serializable', 'repeatable read'), d_begin => 'begin read write', d_end => pick('commit', 'rollback') },
		scripts      => []);
	# What there would be without them, too.
	$run{variables}{default_seed} = pick(-1, 5432) if chance(0.1);
	$run{variables}{random_seed}  = 'no number'    if chance(0.05);
	$run{variables}{scale}        = 1 + int rand 9 if chance(0.1);
	foreach my $i (0 .. $scripts - 1)
	{
		my $body = script();
		# For a pipeline, the client prepares all statements and prints what is wrong
		# with those that it then does not execute, too.
		$body = mutated($body) if $failing && $alone && $protocol ne 'prepared' && chance(0.4);
		push @{ $run{scripts} }, [ "s$i", pick(1, 1, 2, 5, 0), $body ];
	}
	$run{scripts}[0][1] ||= 1;
	return \%run;
}

sub script
{
	@variables = qw(client_id d_int scale);
	$depth = 0;
	my $text = pick('', '', "-- a script\n", "/* a\n script */\n", "\n\n  ");
	$text .= item() foreach 0 .. 1 + int rand 6;
	$text .= failure() if $failing;
	$text .= insert() if chance(0.7);
	$text .= item() if $failing && chance(0.3);
	# The last statement may lack its semicolon.
	$text =~ s/\);\s*\z/)/ if chance(0.15);
	return $text;
}

# A script in which some character that matters has been lost, doubled or put in
# where it does not belong, but not in the commands of a shell.
sub mutated
{
	my ($body) = @_;

	foreach my $try (1 .. 20)
	{
		my $text = $body;
		foreach (0 .. int rand 2)
		{
			my $at = int rand length $text;
			my $kind = int rand 4;
			substr($text, $at, 1, '')                                    if $kind == 0;
			substr($text, $at, 0, pick(split //, q(''"$();\\-*/:eE,.1{?)))  if $kind == 1;
			substr($text, $at, 1, substr($text, $at, 1) x 2)             if $kind == 2;
			substr($text, $at, 0, pick("\n", "\\\n", "\\set q 1\n", '$$', '--', '/*', '*/', "\\gset\n", "\\if 1\n", "\\endif\n", '\;'))
			  if $kind == 3;
		}
		next if $text =~ /:\w+\s*(?:\\(?![;:])|\z)/ || shells($text) ne shells($body);
		next if sleeps($text) ne sleeps($body);
		# What is left of a character that was cut is no text for the server.
		next if !utf8::decode(my $characters = $text);
		return $text;
	}
	return $body;
}

sub shells { return join '', $_[0] =~ /(shell[^\n]*)/gi }
sub sleeps { return join '', $_[0] =~ /(sleep[^\n]*)/gi }

# One thing that succeeds, with its line end.
sub item
{
	my @items = (
		(\&insert) x 6, (\&set) x 4, (\&condition) x 3, (\&stored) x 3, (\&block) x 3, (\&quotes) x 3,
		\&nap, \&shell, \&routine, \&meta_text, \&update, \&empty, \&blank_line,);
	push @items, (\&together) x 3, \&substituted, \&all_stored, \&all_stored if $simple;
	push @items, (\&pipeline) x 4 if !$simple && $depth == 0;
	push @items, (\&retried) x 4 if $retrying;
	return pick(@items)->();
}

# What ends a statement: its semicolon or the meta command behind it.
sub ended
{
	my ($statement) = @_;

	return $statement . pick(";\n", ";\n", ";\n", " ;\n", "; -- done\n", ";  ", ";\n\n") if chance(0.9);
	return "$statement \\set z 1\n" if $statement =~ /[)'\w]\z/ && $statement !~ /:\w+\z/;
	return "$statement;\n";
}

# An integer for a statement.
sub value
{
	my $name = pick(@variables);
	return $simple && chance(0.5) ? ":$name" : ":$name\::int";
}

# An expression that is an integer.
sub integer
{
	my $a = ':' . pick(@variables);
	return pick(
		int(rand 1000), "random(1, 100)", "random_zipfian(1, 1000, 1.2)", "random_gaussian(-50, 50, 3)",
		"random_exponential(1, 50, 2.5)", "$a + 1", "$a * 3 % 101", "hash($a) % 1000",
		"permute($a, 100, 7)", "case when $a > 50 then 1 else $a - 1 end", "abs($a) # 5",
		"debug(random(1, 10)) + $a", "least($a, 3, random(1, 5))", "int(pi() * $a)",
		"greatest(:d_int, 2) \\\n  + $a",);
}

sub set
{
	my $name = pick(qw(a b c d_e _f G x1));
	my $text = '\\' . pick(qw(set set set SET)) . " $name " . (chance(0.5) ? 'debug(' . integer() . ')' : integer()) . "\n";
	push @variables, $name if $depth == 0 && !grep { $_ eq $name } @variables;
	return $text;
}

sub insert
{
	my $kind = int rand 100;
	return ended("insert into lines values ('$kind ' || " . value() . ')') if chance(0.5);
	return ended("insert into lines select '$kind' || i::text || " . value() . " from generate_series(1, 2) i")
	  if chance(0.4);
	return ended("INSERT INTO lines\n    VALUES ('$kind'),\n  (:client_id::int || ' of ' || " . value() . ')');
}

sub update
{
	return ended("update t set v = v + " . value() . ' % 1000 where id = :client_id::int * 10 + ' . int rand 10);
}

sub empty      { return $simple ? pick(";\n", "/* nothing */;\n", "-- nothing\n;\n") : '' }
# A variable in a comment is a parameter that the server does not find.
sub blank_line
{
	my $variable = $simple || $alone && $failing ? ' :a' : '';
	return pick("\n", "  \n\t\n", "\\\n", "--$variable ; '\n", "/*$variable ; ' \n*/ ");
}


sub condition
{
	return insert() if $depth > 2;
	my @known = @variables;
	$depth++;
	my $condition = sub {
		pick(':client_id % 2 = 0', 'random(0, 1) = 1', '0', '1', 'null', ':d_true', 'not :d_true',
			integer() . ' > 50', ':' . pick(@known) . ' is null', '0.0', 'debug(random(1, 3)) = 2');
	};
	my $text = '\\' . pick(qw(if if IF)) . ' ' . $condition->() . "\n";
	$text .= item() foreach 1 .. int rand 3;
	foreach (1 .. int rand 3)
	{
		$text .= '\elif ' . $condition->() . "\n";
		$text .= item() foreach 1 .. int rand 3;
	}
	if (chance(0.6))
	{
		$text .= "\\else\n";
		$text .= item() foreach 1 .. int rand 3;
	}
	$depth--;
	@variables = @known;
	return "$text\\endif\n";
}

sub nap
{
	return '\sleep '
	  . pick('1 us', '0', '10us', '1 ms', '1ms', ':client_id us', '-1 ms', '100 US', ':d_int us') . "\n";
}

sub shell
{
	my $name = pick(qw(sh_a sh_b));
	push @variables, $name if $depth == 0;
	return pick("\\shell true\n", "\\shell test 1 -eq 1 > /dev/null\n", "\\shell echo :client_id ::x > /dev/null\n")
	  . "\\setshell $name " . pick('echo 7', 'echo -3', 'expr :client_id + 1', "printf '12'", 'echo " 5 "') . "\n";
}

# \gset and \aset.
sub stored
{
	my $prefix = pick('', 'p_', 'Q');
	my $column = pick(qw(one two r_3));
	my $statement = pick(
		"select " . value() . " + 1 as $column",
		"select 5 as $column, 'text' as word, null as nothing, 1.50 as number, true as yes",
		"select max(id) as $column from t where id < 7 + :client_id::int",
		"insert into lines values ('r') returning length(line) as $column",
		"with w as (select 3 as $column) select * from w",
		"show server_version_num",
		"values (" . value() . ')');
	my $gset = pick('gset', 'gset', 'gset', 'aset', 'GSET');
	$column = 'server_version_num' if $statement =~ /^show/;
	$column = 'column1'            if $statement =~ /^values/;
	push @variables, "$prefix$column" if $depth == 0;
	my $text = $statement . pick(' ', ";\n", "\n", ';') . "\\$gset $prefix\n";
	$text =~ s/(?<!:)(:\w+)([ \n]+\\)/($1)$2/;
	return $text . ended("insert into lines values ('stored ' || :$prefix$column)") if $depth == 0;
	return $text;
}

sub all_stored
{
	return "select 1 as a1 \\; select 2 as b1 where false \\; select generate_series(1, 3) as c1 \\aset "
	  . "\n" . ended("insert into lines values (':a1 :b1 :c1')") if chance(0.5);
	return "insert into lines values ('x') \\; select 4 as a2, 5 as b2 \\gset k_\n"
	  . ended("insert into lines values (':k_a2 :k_b2 :k_none')");
}

# Blocks.
sub block
{
	return insert() if $depth > 0;
	$depth++;
	my $text = ended(pick(
			'begin', 'BEGIN', 'start transaction', 'begin isolation level serializable',
			'begin transaction isolation level repeatable read, read write',
			'start transaction isolation level read committed', 'begin work', '/* c */ begin',
			'begin not deferrable', 'start transaction read write'));
	# What is inserted in a transaction that only reads aborts the client.
	my $serializable = 'set transaction isolation level serializable' . ($failing ? ', read only' : ', read write');
	$text .= ended(pick(
			'set transaction isolation level repeatable read', $serializable,
			'set local work_mem to 100', 'lock table t in access share mode', 'set transaction read write',
			'lock table t in row exclusive mode \; set transaction isolation level serializable'))
	  if chance(0.25);
	$text =~ s/ \\; .*/;/ if !$simple;
	my $inside = sub {
		my @items = (
			\&insert, \&insert, \&update, \&set,
			sub { "select current_setting('transaction_isolation') as iso \\gset\n" . ended("insert into lines values ('iso ' || :iso)") =~ s/:iso/$simple ? "':iso'" : ':iso'/er },
			sub { ended('set transaction_read_only to off') },);
		return pick(@items)->();
	};
	$text .= $inside->() foreach 0 .. int rand 3;
	if (chance(0.5))
	{
		$text .= ended('savepoint a1');
		$text .= $inside->();
		$text .= ended(pick('rollback to a1', 'rollback to savepoint a1', 'release a1', 'release savepoint a1', 'ROLLBACK TO a1'));
		$text .= $inside->();
	}
	if (chance(0.2))
	{
		$text .= ended(pick('commit and chain', 'rollback and chain', 'end and chain'));
		$text .= $inside->();
	}
	$text .= ended('set constraints all immediate') if chance(0.1);
	$text .= ended(pick('commit', 'commit', 'end', 'END', 'rollback', 'abort', 'commit work', 'commit and no chain'));
	$depth--;
	return $text;
}

# Quotes, comments and what looks like them.
sub quotes
{
	my $v = $simple ? ':' . pick(@variables) : 'v';
	my @texts = (
		"'it''s $v; \\\\; -- no'", "\$\$ a '; \$ $v \$\$", "\$t\$ \$\$ ; \$t1\$ \$t\$", "E'a\\'; \\\\ b\\n'", "U&'\\0041;'",
		"'a' /* ; ' \$\$ /* nested */ :: */ || 'b'", "'a' -- ; ' \n || 'b'", "'one'\n  'two;'", "e'x\\'y'\n 'z\\';'",
		"'::$v :: x' || 'y'::text", "('a' || (';'))::text", "case when true then ';' end", "'\\;'", "array_to_string(array[1,2]::int[], ';')",
		"B'101'::text", "X'1F'::text", "N'n;'", "quote_ident('a;b')", "concat('(', ')', ';')",
		"(select 'x;' as \"a;b\")", "substr('abc;', 1, 4)", "'caf\xc3\xa9;'", "1.5::text || 1e3 || .5", "'a'::text || \$\$\$\$ || \$a\$x\$a\$");
	# Outside the simple protocol, the server misses the parameter, which aborts the client.
	push @texts, "'a:b' || ':'" if $simple || $failing;
	return ended('insert into lines values (' . pick(@texts) . ')');
}

# Substitution where only the simple protocol has it.
sub substituted
{
	my $v = pick(@variables);
	return pick(
		ended("insert into lines values ('<:$v> :unknown :$v:$v :d_text ::$v :1 a:$v')"),
		ended("insert into lines values (\$x\$:$v :d_text\$x\$) /* :$v */ -- :$v\n"),
		ended("insert into lines values ('\\:$v \\:' || :{?$v}::text)"),
		ended("begin isolation level :d_level") . ended("insert into lines values (':$v ' || current_setting('transaction_isolation'))") . ended('commit'),
		ended("begin") . ended("savepoint s:client_id") . insert() . ended("rollback to s:client_id") . ended('end /* :v */'),
		ended(":d_begin") . insert() . ended(':d_end'),
		ended("set my.own = ':client_id'") . ended("insert into lines values (current_setting('my.own'))") . ended('reset my.own'),
		ended("insert into lines select 'v:$v' || \"id\" from t as \"t:$v\" where id = 1"));
}

# Several statements that are sent together.
sub together
{
	return insert() if $depth > 0;
	my $insert = sub { "insert into lines values ('" . int(rand 100) . " ' || " . value() . ')' };
	my @statements = map { $insert->() } 0 .. 1 + int rand 3;
	if (chance(0.3))
	{
		@statements = ('begin', @statements, pick(qw(commit end rollback)));
	}
	elsif (chance(0.15))
	{
		@statements = ('begin', @statements, 'savepoint s', $insert->(), pick('rollback to s', 'release s'), 'commit');
	}
	elsif (chance(0.15))
	{
		splice @statements, 1, 0, pick('commit', 'rollback', 'begin', '', 'select 1', '/* c */');
		push @statements, 'commit';
	}
	return ended(join pick(' \; ', '\;', " \\;\n"), @statements);
}

# A routine, whose body has semicolons.
sub routine
{
	# Behind a statement without a semicolon, the words that start a routine are not
	# recognized.
	return "select 1;\n"
	  . ended("create or replace function pg_temp.f() returns int begin atomic select 1; select case when true then 2 end; end")
	  . ended("insert into lines values ('f ' || pg_temp.f())")
	  if chance(0.5);
	return ended("do \$\$ begin perform 1; insert into lines values ('do'); end \$\$") if chance(0.5);
	return "select 1;\n"
	  . ended("create or replace procedure pg_temp.p() language sql begin atomic; insert into lines values ('p'); end")
	  . ended("call pg_temp.p()");
}

sub meta_text
{
	return pick("\\  set spaced 5\n", "\\SET Upper 5\n", "   \\set indented 5\n", "\\set dup :d_int \\\n * 2\n");
}

sub pipeline
{
	$depth++;
	my $text = "\\startpipeline\n";
	foreach (0 .. int rand 4)
	{
		$text .= pick(\&insert, \&insert, \&insert, \&update, \&set, \&condition_of_pipeline)->();
	}
	$depth--;
	return "$text\\endpipeline\n";
}

sub condition_of_pipeline
{
	return '\if ' . pick('random(0, 1) = 1', ':client_id = 0') . "\n" . insert() . "\\else\n" . insert() . "\\endif\n";
}

# What fails some times before it succeeds.
sub retried
{
	my $statement = ended('select again(:client_id::int, ' . pick("'40001'", "'40P01'") . ', ' . pick(1, 1, 2, 3) . ')');
	return set() . $statement if $depth > 0 || chance(0.3);
	return set() . ended(pick('begin', 'begin isolation level repeatable read')) . insert() . $statement . insert() . ended('end');
}

# What aborts the client, most of the time.
sub failure
{
	my $sql = sub {
		my $statement = pick(
			'select 1/0', 'select * from missing', 'insert into t values (1, 1)', 'update t set v = 1000000 where id = 1',
			"select 'x'::int", 'selec 1', 'select missing from t', 'select 1 from t where', "do \$\$ begin raise exception 'own %', 1 using detail = 'd', hint = 'h', errcode = '22000'; end \$\$",
			"select again(:client_id::int, '22023', 1000)", "select 'open", 'select (1', 'release nowhere', 'rollback to nowhere', "select length(1)", "insert into lines values (1, 2)",
			"create table t (i int)", "savepoint s", "set statement_timeout = 'x'", "select 1\n  from t\n where missing = 1", 'select $1', 'select :undefined::int',
			"select ':d_int'::int", 'select "no such" from t', "select pg_temp.nothing()", 'commit and chain', "begin isolation level none", 'lock table t', 'set transaction isolation level serializable', 'set nothing.such = 1', 'reset nothing', 'set constraints none deferred');
		$statement =~ s/:undefined/1 + :undefined/;
		return "$statement;\n";
	};
	my $meta = sub {
		pick("\\set x 1/0\n", "\\set x :undefined\n", "\\set 1a 5\n", "\\set y \\\n  :d_text\n", "\\if :undefined\n\\endif\n",
			"\\if 0\n\\elif 1/0\n\\endif\n", "\\sleep :undefined\n", "\\sleep :d_text\n", "\\shell false\n", "\\shell exit 3\n", "\\setshell v echo x\n",
			"\\setshell v true\n", "\\setshell v false\n", "\\setshell v echo 99999999999\n", "\\setshell 1v echo 1\n", "\\shell echo :undefined > /dev/null\n",
			"\\setshell v echo 1 2\n", "\\set x random(5, 1)\n", "\\SET x least(1, true)\n", "\\shell :undefined\n", "\\set x permute(1, 0)\n");
	};
	my $results = sub {
		pick('select 1 where false', 'select generate_series(1, 2)', 'select 1', 'select 1 as "a b"', "insert into lines values ('x')",
			'select 1/0', 'selec', 'begin')
		  . " \\gset\n";
	};
	my $pipelines = sub {
		pick("\\startpipeline\nselect 1;\nselect 1/0;\nselect 2;\n\\endpipeline\n", "\\startpipeline\nselect 1;\n", "\\endpipeline\n",
			"\\startpipeline\nselect 1 \\gset\n\\endpipeline\n", "\\startpipeline\n\\startpipeline\n", "\\startpipeline\ninsert into lines values ('p');\nselect missing;\n\\endpipeline\n",
			"\\startpipeline\n\\set x 1/0\n\\endpipeline\n", "\\startpipeline\nselect again(:client_id::int, '40001', 1000);\n\\endpipeline\n", "\\startpipeline\nbegin;\n\\endpipeline\n",
			"\\startpipeline\ninsert into t values (1, 1);\ninsert into lines values ('q');\n\\endpipeline\n", "\\startpipeline\n\\endpipeline\n");
	};
	my $blocks = sub {
		pick("begin;\n", "begin;\n" . insert(), "begin;\nselect 1/0;\ncommit;\n", "begin;\nsavepoint a;\n" . insert() . "select 1/0;\n",
			"begin;\nbegin;\ncommit;\n", "commit;\n", "rollback;\n", "begin;\nselect missing;\nend;\n" . insert(), "start transaction isolation level serializable;\nselect again(:client_id::int, '40001', 1000);\nend;\n",
			"begin read only;\n" . "insert into lines values ('no');\nend;\n", "begin;\nset transaction isolation level serializable;\nselect 1;\nset transaction isolation level read committed;\nend;\n");
	};
	my $sent = sub {
		pick("select 1 \\; select 1/0 \\; select 2;\n", "insert into lines values ('1') \\; selec \\; select 2;\n", "insert into lines values ('1') \\; insert into t values (1, 1);\n",
			"begin \\; insert into lines values ('b') \\; select 1/0;\n", "select 1 \\; select missing \\gset\n", "select 1 \\; select 1 where false \\gset\n", "begin \\; select 1;\n", "insert into lines values ('1') \\; savepoint s;\n");
	};
	return pick($sql, $sql, $sql, $meta, $meta, $results, $blocks, $blocks, $sent, $simple ? ($sent) : ($pipelines, $pipelines, $pipelines), $pipelines)->();
}

1;
