# Texts of variables in statements: :'name' and \template give the same texts in both modes, with all
# protocols, whatever standard_conforming_strings is.
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

nothing_left_ok($node, 'at the end');
$node->stop;
done_testing();
