# Texts that are not ASCII, in databases of other encodings than UTF8, too. Texts of variables in statements: :'name' and
# \template give the same texts in both modes, with all protocols, whatever standard_conforming_strings is.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('texts');
$node->safe_psql('postgres', "CREATE DATABASE texts ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('texts', <<'SQL');
CREATE EXTENSION pg_selfbench;
CREATE TABLE texts (no int GENERATED ALWAYS AS IDENTITY, name text, value text);
SQL

# The value of given has each character that is special in a literal, a parameter or a mention.
my $given = q{it's "C:\dir\new" \'; -- é 日本 :given :'given' $1 $$ %s E'\\\\'};
my $json  = $given =~ s/(["\\])/\\$1/gr;
my $script = <<'EOS';
\template code @@-##'s \ é@
\set sum 1 + :number
INSERT INTO texts (name, value) VALUES ('given', :'given'), ('code', :'code'), ('code', :'code'),
 ('sum', :'sum'), ('kept', $a$:'given'$a$), ('kept', '"' || ':''given''"') /* :'given' */; -- :'given'
SELECT 'it''s ' || chr(92) || chr(233) AS stored, NULL AS nothing, 'a' AS "größe" \gset
INSERT INTO texts (name, value) VALUES ('stored', :'stored'), ('nothing', :'nothing'), (:'größe', :'größe');
UPDATE texts SET value = value || '.' WHERE name = 'given' AND value = :'given'::text;
EOS

# What a run of two transactions stores.
sub stored
{
	my ($options) = @_;

	$node->safe_psql('texts', <<"SQL");
SET client_encoding = 'UTF8';
TRUNCATE texts;
SELECT bench.run(sql => \$sql\$$script\$sql\$, variables => \$json\${"given": "$json", "number": 7}\$json\$::jsonb,
                 transactions => 2, seed => 11, $options);
SQL
	return $node->safe_psql('texts',
		"SET client_encoding = 'UTF8'; SELECT name || '=' || value FROM texts ORDER BY no");
}

my ($first, $code);
foreach my $protocol (qw(simple extended prepared))
{
	foreach my $mode (qw(spi libpq))
	{
		foreach my $standard (qw(on off))
		{
			my $name = "$mode, $protocol, standard_conforming_strings $standard";
			my $got  = stored("mode => '$mode', protocol => '$protocol', settings => '{\"standard_conforming_strings\": \"$standard\"}'");
			if (!defined $first)
			{
				$first = $got;
				my @codes = $got =~ /^code=(.*)/mg;
				like($_, qr/\A[a-z]{2}-[0-9]{2}'s \\ é[a-z]\z/, 'a text of a template') foreach @codes;
				is("@codes[0, 2]", "@codes[1, 3]", 'a text of a template is drawn once');
				isnt($codes[0], $codes[2], 'and anew in the next transaction');
				my @expected = map { ("given=$given.", "code=$_", "code=$_", 'sum=8', "kept=:'given'",
					"kept=\":'given'\"", "stored=it's \\é", 'nothing=', 'a=a') } @codes[0, 2];
				is($got, join("\n", @expected), "$name: the texts");
			}
			is($got, $first, "$name: the same texts");
		}
	}
}

# Retries repeat the draws of templates.
$node->safe_psql('texts', <<'SQL');
TRUNCATE texts;
CREATE SEQUENCE attempts;
CREATE FUNCTION fail_once() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('attempts') % 2 = 1 THEN
        RAISE serialization_failure;
    END IF;
END $$;
SQL
foreach my $mode (qw(spi libpq))
{
	my $tried = 'SELECT set_config($$tried.codes$$, coalesce(current_setting($$tried.codes$$, true), $$$$) || :\'code\' || $$ $$, false);';
	$node->safe_psql('texts', <<"SQL");
SELECT bench.run(mode => '$mode', max_tries => 2, transactions => 3, sql => \$sql\$\\template code @@@@####
$tried
SELECT fail_once();
INSERT INTO texts (name, value) VALUES (:'code', current_setting('tried.codes'));
SELECT set_config('tried.codes', '', false);\$sql\$);
SQL
}
is( $node->safe_psql('texts', "SELECT count(*), count(DISTINCT name) FROM texts WHERE value = format('%s %1\$s ', name)"),
	'6|6', 'a retry repeats the text of a template');

# With standard_conforming_strings off, what looks like a mention may be a part of strings.
$node->safe_psql('texts', 'TRUNCATE texts');
foreach my $mode (qw(spi libpq))
{
	$node->safe_psql('texts', <<"SQL") foreach (qw(simple extended));
SET client_min_messages = error;
SELECT bench.run(sql => \$sql\$INSERT INTO texts (name, value) SELECT '\$\$:', ('a\\' :'like'%:')::text\$sql\$, mode => '$mode', protocol => '$_',
    transactions => 1, settings => '{"standard_conforming_strings": "off"}', variables => '{"like": "x"}');
SQL
}
is($node->safe_psql('texts', q{SELECT count(*) FROM texts WHERE name = '$$:' AND value = 'true'}),
	4, 'strings with escaped quotes');

# Databases of other encodings, and names that are not ASCII.

# What a query that may fail returns to a client that speaks UTF8.
sub value
{
	my ($database, $sql) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql($database, "SET client_encoding = 'UTF8'; $sql");
	note $stderr if $stderr ne '';
	ok($stderr !~ /\d+: .*\n\s+at /, 'no backtrace is sent to the client') if $stderr ne '';
	return $stdout;
}

foreach my $encoding (qw(UTF8 LATIN1 SQL_ASCII EUC_JP))
{
	my $database = lc $encoding;
	$node->safe_psql('postgres',
		"CREATE DATABASE \"$database\" ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql($database, 'CREATE EXTENSION pg_selfbench');
	is($node->safe_psql($database, 'SELECT count(*) FROM bench.initialize()'),
		5, "$encoding: initialize");
	my $text = $encoding eq 'EUC_JP' ? '日本' : 'Zürich, é';

	# Where texts are neither UTF8 nor unconverted, arguments must be ASCII.
	my $any = $encoding =~ /^(UTF8|SQL_ASCII)$/;
	value($database, qq(ALTER DATABASE "$database" SET search_path = "$text", public));
	is(value($database, columns_of('state', "bench.run(sql => 'SELECT 1', transactions => 1, vacuum => 'none', label => 'path')")), 'finished', "$encoding: a search_path");
	like(value($database, "SELECT setting FROM bench.run_settings JOIN bench.runs USING (run_id) WHERE label = 'path' AND name = 'search_path'"),
		$any ? qr/^"\Q$text\E", public$/ : qr/^"[Zrich, ?]+", public$/, "$encoding: its text");
	$node->safe_psql($database, qq(ALTER DATABASE "$database" RESET search_path));
	foreach my $mode (qw(spi libpq))
	{
		foreach my $label ('plain', $any ? $text : 'simple')
		{
			my $name = "$encoding, $mode, $label";
			is( value($database,
					columns_of('state, transactions, label', "bench.run(mode => '$mode', protocol => 'simple', clients => 2, transactions => 5, vacuum => 'none', label => '$label')")
				),
				"finished|10|$label",
				"$name: result");
			is(value($database,
					"SELECT count(*), min(label) FROM bench.runs WHERE label = '$label' AND mode = '$mode'"),
				"1|$label", "$name: stored label");
		}
	}
	invariants_ok($node, 40, $encoding, $database);
	like(
		value($database, 'SELECT bench.report(max(run_id)) FROM bench.runs'),
		qr{actually processed: 10/10}, "$encoding: report");
	# So does the text of an error that a run stores, as far as the encoding allows.
	my $letter = $encoding eq 'UTF8' ? '\u00e9' : $encoding eq 'EUC_JP' ? '\xa4\xa2' : '\xe9';
	$node->safe_psql($database, <<"SQL");
CREATE FUNCTION complain() RETURNS int LANGUAGE plpgsql AS E'BEGIN RAISE EXCEPTION ''oh $letter''; END';
SELECT bench.define_script('complain', 'SELECT complain();');
SQL
	foreach my $mode ($encoding eq 'SQL_ASCII' ? 'spi' : qw(spi libpq))
	{
		my (undef, undef, $complaint) = $node->psql($database,
			"SELECT bench.run('complain', mode => '$mode', transactions => 1, vacuum => 'none')");
		like($complaint, qr/ERROR:  no client could finish a transaction\nDETAIL:  .*: ERROR:  oh /,
			"$encoding, $mode: an error that is not ASCII");
		like(value($database, 'SELECT bench.report()'), qr/number of clients: 1/, "$encoding, $mode: its report");
	}
	# Also if it is that of a teardown, which is added to the row.
	$node->psql($database, "SELECT bench.run('select-only', transactions => 1, vacuum => 'none', teardown => 'SELECT complain()')");
	like(value($database, 'SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1'), qr/oh /, "$encoding: an error of a teardown");
	# So does that of a notice.
	$node->safe_psql($database, <<"SQL");
CREATE FUNCTION remark() RETURNS int LANGUAGE plpgsql AS E'BEGIN RAISE NOTICE ''oh $letter''; RETURN 1; END';
SELECT bench.define_script('remark', 'SELECT remark();');
SQL
	foreach my $mode ($encoding eq 'SQL_ASCII' ? 'spi' : qw(spi libpq))
	{
		my ($status, $stdout, $remark) = $node->psql($database,
			columns_of('state', "bench.run('remark', mode => '$mode', transactions => 1, vacuum => 'none')"));
		is($stdout, 'finished', "$encoding, $mode: a notice that is not ASCII");
		like($remark, qr/NOTICE: .*oh /, "$encoding, $mode: its text");
	}
	# An error's text passes through as well.
	my ($status, $stdout, $stderr) = $node->psql($database,
		"SET client_encoding = 'UTF8'; SELECT bench.run(mode => '$text')");
	like(
		$stderr,
		$any
		? qr/invalid value for option "mode": "\Q$text\E"/
		: qr/ERROR:  argument "mode" is not valid ASCII\nHINT:/,
		"$encoding: text in an error");
	next if $encoding eq 'UTF8';

	# Every function refuses a text argument that cannot be read.
	my $bad = $encoding eq 'EUC_JP' ? q(E'\xb0\xa1') : q(E'\xff');
	my $needed = $encoding eq 'SQL_ASCII' ? 'UTF-8' : 'ASCII';
	foreach my $case (
		[ 'scripts', "bench.run($bad)" ],
		[ 'label', "bench.start(label => $bad)" ],
		[ 'variables', "bench.run(variables => jsonb_build_object('x', $bad))" ],
		[ 'scripts', "bench.compare(scripts => $bad)" ],
		[ 'arms', "bench.compare(jsonb_build_array(jsonb_build_object('name', $bad)))" ],
		[ 'target', "bench.initialize(target => $bad)" ],
		[ 'size', "bench.initialize_pgio(1, $bad)" ],
		[ 'arguments', "bench.pgbench($bad)" ],
		[ 'name', "bench.define_script($bad, 'select 1')" ],
		[ 'body', "bench.define_script('x', $bad)" ],
		[ 'description', "bench.define_script('x', 'select 1', $bad)" ],
		[ 'name', "bench.drop_script($bad)" ],
		[ 'body', "bench.check_script($bad)" ],
		[ 'label', "bench.delete_runs(label => $bad)" ],
		[ 'format', "bench.report(1, $bad)" ],
		[ 'format', "bench.report(set_ids => '{1}', format => $bad)" ],
		[ 'label', "bench.report(label => $bad)" ],
		[ 'format', "bench.report(label => 'x', format => $bad)" ],
		[ 'name', "bench.chart(max(run_id), $bad) FROM bench.runs" ],
		[ 'figure', "bench.plot(max(run_id), $bad) FROM bench.runs" ],
		[ 'target', "bench.finish_teardown(1, $bad)" ])
	{
		my ($argument, $call) = @$case;
		(undef, undef, $stderr) =
		  $node->psql($database, "SELECT $call", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		like($stderr, qr/ERROR:  22021: argument "$argument" is not valid $needed\nHINT:/, "$encoding: $call");
	}
}

# A role, a database and a schema with such names, in both modes.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE "Jörg 's \ role" SUPERUSER LOGIN;
CREATE DATABASE "Köln 's \ db" ENCODING 'UTF8' TEMPLATE template0;
SQL
my $far = start_sql($node, <<'SQL');
\connect "Köln 's \ db"
CREATE EXTENSION pg_selfbench;
CREATE SCHEMA "Straße";
SET ROLE "Jörg 's \ role";
SET search_path = "Straße";
SET client_min_messages = error;
SELECT count(*) FROM bench.initialize();
SELECT state FROM bench.run(transactions => 5);
SELECT state FROM bench.run(mode => 'libpq', transactions => 5);
SELECT DISTINCT owner, database_name FROM bench.runs;
SQL
my ($stdout, $stderr) = finish_sql($far);
is($stdout, "5\nfinished\nfinished\n\"Jörg 's \\ role\"|Köln 's \\ db", 'names that are not ASCII') or diag $stderr;

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
