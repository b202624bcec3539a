# Value sets: rows that scripts draw with \values, in all protocols and both modes. Then captured workloads: copies of
# the tables that they use, and a guard that lets them change nothing else.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('values', 'max_worker_processes = 16', 'client_min_messages = warning');

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql", extra_params => [ '-U', $role ]);
	return $stdout . ($stderr eq '' ? '' : "\n$stderr");
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
my $sql = sub { $node->safe_psql('postgres', $_[0]) };
$sql->(<<'SQL');
CREATE ROLE runner LOGIN;
CREATE ROLE other LOGIN;
SELECT bench.grant_to(role) FROM unnest('{runner,other}'::regrole[]) role;
CREATE TABLE seen (client int, i int, b bigint, t text, y bytea, n text, d date, a text[]);
GRANT ALL ON seen TO runner;
CREATE FUNCTION fill(name text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO bench.value_sets (set_name, row_no, values)
	SELECT name, 3 * k, ARRAY[k::text, (k * 10000000000)::text, format('it''s \ "%s" é :x $1 -- ', k),
		decode(md5(k::text) || '00ff5c27', 'hex')::text, NULL, (date '2020-01-01' + k)::text, ARRAY['a,b"\', NULL, k::text]::text]
	FROM generate_series(1, 500) k $$;
SQL
my $script = "\\values all i b t y n d a\nINSERT INTO seen VALUES (:client_id, :i, :b, :'t', :'y', :'n', :'d', :'a');";
my $stored = $script =~ s/'/''/gr;
is(as('runner', "SELECT public.fill('all'); SELECT bench.define_script('draw', '$stored')"), "\n", 'a role stores its values and a script');
is(as('runner', "SELECT count(*) FROM bench.check_script('$stored')"), '0', 'check_script finds nothing');
is( as('runner', q{SELECT severity, message FROM bench.check_script(E'\\\\values x a\nSELECT :a, :b;')}),
	q{warning|undefined variable "b", unless option "variables" has it}, 'but an undefined variable');

# What was drawn is what the sets have, in all protocols, modes and processes.
my %drawn;
foreach my $case (
	(map { [ 'runner', "protocol => '$_'" ] } qw(simple extended prepared)),
	(map { [ $super, "protocol => '$_', mode => 'libpq', jobs => 2" ] } qw(simple extended prepared)),
	[ $super, "client_process => 'backend'" ],
	[ $super, "mode => 'libpq', reconnect => true" ],
	[ $super, sprintf(q{mode => 'libpq', target => 'host=%s port=%d dbname=postgres'}, $node->host, $node->port) ])
{
	my ($role, $options) = @$case;
	as($role, "SELECT public.fill('all')") if $role eq $super && !$sql->("SELECT count(*) FROM bench.value_sets WHERE owner = current_user::regrole");
	$sql->('TRUNCATE seen');
	is(as($role, "SELECT state, transactions, failed FROM bench.run(sql => '$stored', clients => 2, transactions => 40, seed => '7', $options)"),
		'finished|80|0', "run with $options");
	is($sql->(<<'SQL'), '80', "its rows are those of the set: $options");
SELECT count(*) FROM seen s JOIN (SELECT DISTINCT values FROM bench.value_sets) v
ON v.values[1:4] = ARRAY[s.i::text, s.b::text, s.t, s.y::text] AND s.n IS NULL AND v.values[6:7] = ARRAY[s.d::text, s.a::text]
SQL
	push @{ $drawn{ $sql->('SELECT string_agg(client || \':\' || i, \' \' ORDER BY client, i) FROM seen') } }, $options;
}
is(scalar(keys %drawn), 1, 'with a seed all of them draw the same rows') or diag explain \%drawn;

# In series of runs, in workloads, and in a run that is repeated from its report.
$sql->('TRUNCATE seen');
is(as('runner', q{SELECT count(*) FROM bench.compare('[{"name": "a"}, {"name": "b", "protocol": "simple"}]', scripts => 'draw', repeats => 2, transactions => 5)}), '2', 'compare');
is(as('runner', q{SELECT count(*) FROM bench.sweep('{"clients": [1, 2]}', scripts => 'draw', repeats => 1, transactions => 5)}), '2', 'sweep');
like(as('runner', q{SELECT verdict FROM bench.find_capacity(1000, percentile => 50, tolerance => 1, scripts => 'draw', duration => 0.2)}), qr/p50 /, 'find_capacity');
is($sql->('SELECT count(*) > 60, count(n), count(DISTINCT i) > 20 FROM seen'), 't|0|t', 'all of which draw');
my $repeat = as('runner', q{SELECT run_id FROM bench.run('draw', transactions => 5, seed => 3); SELECT bench.report(format => 'html')});
my ($call) = $repeat =~ /(SELECT \* FROM bench\.run\([^<]*\));/;
$call =~ s/&#39;|&#x27;|&apos;/'/g;
$call =~ s/=&gt;/=>/g;
$sql->('TRUNCATE seen');
like(as('runner', "$call; $call"), qr/\|.*\|/, 'the statement that repeats a run');
is($sql->('SELECT count(*), count(DISTINCT i) FROM seen'), '10|5', 'and draws the same rows') or diag $call;
is(as('runner', <<'SQL'), "\nfinished|10", 'a workload of one\'s own');
SELECT bench.define_workload('mine', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 1, "index_mb": 1},
	"mixes": [{"name": "mine", "description": "d", "scripts": [{"name": "s", "weight": 1}]}]}',
	'CREATE TABLE own (i int)', E'-- own: 1 parts of 1 rows\nSELECT 1', jsonb_build_object('s', E'\\values all i\nSELECT :i;'));
CREATE TEMP TABLE own (i int);
SELECT state, transactions FROM bench.run('mine', transactions => 10);
SQL

# Errors before anything starts.
my $run = sub { return "SELECT bench.run(transactions => 1, sql => E'$_[0]')" };
like( as('runner', $run->('\\\\values none a\nSELECT :a;')),
	qr/ERROR:  42704: value set "none" does not exist\nDETAIL:  Script "sql" takes its values in line 1\.\nHINT:  .*bench\.value_sets/, 'a set without rows');
like(as('other', $run->('SELECT 1;\n\\\\values all a\nSELECT :a;')),
	qr/ERROR:  42704: value set "all" does not exist\nDETAIL:  .* line 2\./, 'the set of another role');
like(as('other', "SELECT bench.run('runner.draw', transactions => 1)"), qr/ERROR:  42704: value set "all"/, 'also in a script of that role');
like(as('runner', $run->('\\\\values all a b c d e f g h\nSELECT :a;')),
	qr/ERROR:  22023: row 3 of value set "all" has too few values: 7 of 8\nHINT:  Script "sql" takes its values in line 1\. /, 'too many variables');
like(as('runner', $run->('\\\\values all\nSELECT 1;')), qr/ERROR:  42601: sql:1: missing argument in command "values"/, 'no variable');
like(as('runner', $run->('\\\\values all a 1b\nSELECT 1;')), qr/invalid variable name \(1b\) in command "values"\n/, 'an invalid name');
like(as('runner', "SELECT bench.pgbench('--mode=spi -t 1 -f draw')"), qr/draw:1: invalid command in command "values"/, 'pgbench refuses it');
is($sql->("SELECT count(*) FROM bench.runs WHERE state <> 'finished'"), '0', 'nothing was started');

# Rows that no one else sees or writes.
is(as('other', 'SELECT count(*) FROM bench.value_sets'), '0', 'others do not see them');
like(as('other', q{INSERT INTO bench.value_sets (set_name, row_no, values, owner) VALUES ('x', 1, '{1}', 'runner')}),
	qr/ERROR:  42501: new row violates row-level security policy/, 'nor add any');
is(as('other', "DELETE FROM bench.value_sets; SELECT count(*) FROM bench.value_sets"), '0', 'nor delete them');
is($sql->(q{SELECT count(*) FROM bench.value_sets WHERE owner = 'runner'::regrole}), '500', 'they are still there');
foreach my $values ('{}', '{{1,2},{3,4}}')
{
	like(as('runner', "INSERT INTO bench.value_sets (set_name, row_no, values) VALUES ('x', 1, '$values')"), qr/ERROR:  23514: /, "no row $values");
}
foreach my $name ('', 'two words', "line\n")
{
	like(as('runner', "INSERT INTO bench.value_sets (set_name, row_no, values) VALUES ('$name', 1, '{1}')"), qr/ERROR:  23514: /, "no name of a set: \"$name\"");
}
my ($dump) = run_command([ 'pg_dump', '-a', $node->connstr('postgres') ]);
unlike($dump, qr/bench\.value_sets|it's \\ "1/, 'not in a dump');
unlike(as('runner', 'SELECT bench.export_run(max(run_id)) FROM bench.runs'), qr/2020-01-0/, 'not in an exported run');
unlike($repeat, qr/2020-01-0/, 'not in a report');

# A set of one row, and one that is large.
$sql->(q{INSERT INTO bench.value_sets (set_name, row_no, values) SELECT 'large', k, ARRAY[repeat('x', 100), k::text] FROM generate_series(1, 200000) k;
	INSERT INTO bench.value_sets (set_name, row_no, values) VALUES ('one', -5, '{1}')});
is($sql->(q{SELECT state, transactions FROM bench.run(clients => 2, transactions => 50, sql => E'\\\\values large x k\n\\\\values one o\nSELECT 1 / (length(:x) - 99 * :o);')}),
	'finished|100', 'a large one and one of a single row');

# The arms of a series share one copy in the caller: its peak of memory, in kB, hardly grows with their number.
my $arms = sub { return $sql->("SELECT count(*) FROM bench.sweep('{\"clients\": [$_[0]]}', sql => E'\\\\values large x k\\nSELECT :k;', repeats => 1, transactions => 1);
	SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\\s+(\\d+)'))[1]") =~ s/^\d+\n//r };
SKIP:
{
	skip 'no /proc', 1 if !-r '/proc/self/status';
	my ($few, $many) = ($arms->('1, 2'), $arms->('1, 2, 3, 4, 5, 6, 7, 8'));
	cmp_ok($many - $few, '<', 50 * 1024, "peak with 8 arms, after $few kB with 2");
}

# A superuser sees the sets of all roles; the statement that bench.storage has deletes those of one's own.
$sql->(q{INSERT INTO bench.value_sets (set_name, row_no, values, owner) SELECT 'name', 1, '{1}', role FROM unnest(ARRAY['runner', quote_ident(current_user)]::regrole[]) role});
$sql->($sql->(q{SELECT prune FROM bench.storage WHERE table_name = 'value_sets'}));
is($sql->(q{SELECT string_agg(owner::text, ',') FROM bench.value_sets WHERE set_name = 'name'}), 'runner', 'sets of other roles are not pruned');

# Texts are UTF-8. Those of other databases are refused before the setup, unless the script does not take them.
foreach my $case ([ 'LATIN1', 'ASCII', 'A', '\xc3,\xa9', '\xe9,A', '\xc3\xa9,A' ], [ 'SQL_ASCII', 'UTF-8', '\xc3\xa9', '\xc3,\xa9', '\xe9,A' ])
{
	my ($encoding, $needed, $good, @bad) = @$case;
	$sql->("CREATE DATABASE $encoding ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	my $there = sub { return $node->safe_psql(lc $encoding, $_[0]) };
	$there->('CREATE EXTENSION pg_selfbench; CREATE TABLE seen (t text)');
	my $store = sub { $there->("DELETE FROM bench.value_sets; INSERT INTO bench.value_sets (set_name, row_no, values) SELECT 'odd', 7, string_to_array(E'$_[0]', ',')") };
	my $drawn = "SELECT state FROM bench.run(sql => E'\\\\values odd v\\nINSERT INTO seen VALUES (:v);', transactions => 1, setup => 'CREATE TABLE was_set_up ()')";
	foreach my $values (@bad)
	{
		$store->($values);
		my (undef, undef, $stderr) = $node->psql(lc $encoding, $drawn =~ s/odd v/odd v w/r, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		like($stderr, qr/ERROR:  22021: row 7 of value set "odd" is not valid $needed\nHINT:  Use a database whose encoding is UTF8/, "$encoding: $values");
	}
	is($there->(q{SELECT to_regclass('was_set_up') IS NULL AND NOT EXISTS (SELECT FROM bench.runs)}), 't', "$encoding: nothing was started");
	$store->("$good,$bad[0]");
	is($there->("$drawn; SELECT t = E'$good' FROM seen"), "finished\nt", "$encoding: what can be read");
}

# The tables of an application.
$sql->(<<'SQL');
CREATE SCHEMA app AUTHORIZATION runner;
CREATE TYPE app.mood AS ENUM ('good', 'bad');
CREATE SEQUENCE app.numbers START 100 INCREMENT 10;
CREATE TABLE app.customers (id serial PRIMARY KEY, name text NOT NULL CONSTRAINT "one Name" UNIQUE, mood app.mood DEFAULT 'good',
	gone int, CHECK (id > 0)) WITH (fillfactor = 70, autovacuum_enabled = off, toast.autovacuum_enabled = off);
ALTER TABLE app.customers DROP gone, ALTER name SET STATISTICS 7, ALTER name SET (n_distinct = -0.5);
CREATE STATISTICS app.together ON name, mood FROM app.customers;
INSERT INTO app.customers (name) SELECT 'c' || k FROM generate_series(1, 300) k;
CREATE TABLE app."Orders" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint DEFAULT nextval('app.numbers'),
	customer int NOT NULL CONSTRAINT by_customer REFERENCES app.customers (id) ON DELETE CASCADE, amount numeric(10, 2) DEFAULT 1.5,
	doubled numeric GENERATED ALWAYS AS (amount * 2) STORED, day date DEFAULT '2024-06-01');
INSERT INTO app."Orders" (customer) SELECT k FROM generate_series(1, 300) k;
CREATE INDEX "a ON b" ON app."Orders" (lower(number::text), customer DESC) INCLUDE (day) WITH (fillfactor = 60) WHERE amount > 0;
CREATE TABLE app.events (at date NOT NULL, kind text, PRIMARY KEY (at, kind)) PARTITION BY RANGE (at);
CREATE TABLE app.events_1 PARTITION OF app.events FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE app.events_2 PARTITION OF app.events DEFAULT PARTITION BY LIST (kind);
CREATE TABLE app.events_2_a PARTITION OF app.events_2 FOR VALUES IN ('a', 'b');
CREATE INDEX ON app.events (kind);
INSERT INTO app.events SELECT date '2024-01-01' + k, chr(97 + k % 2) FROM generate_series(0, 59) k;
CREATE TABLE app.log (id serial, line text);
INSERT INTO app.log (line) VALUES ('first');
ALTER TABLE app.log ADD FOREIGN KEY (id) REFERENCES app.customers;
CREATE VIEW app.totals WITH (security_barrier) AS SELECT c.name, sum(o.amount) AS total FROM app.customers c JOIN app."Orders" o ON o.customer = c.id GROUP BY c.name;
CREATE VIEW app.names AS SELECT id, name FROM app.customers;
CREATE FUNCTION app.audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1, 'audit'); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER INSERT ON app.customers FOR EACH ROW EXECUTE FUNCTION app.audit();
CREATE RULE noted AS ON DELETE TO app.customers DO ALSO NOTHING;
CREATE FUNCTION app.add_line() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1, 'function'); END $$;
CREATE FUNCTION app.add_inlined() RETURNS SETOF int LANGUAGE sql AS $$ INSERT INTO app.log VALUES (1, 'sql') RETURNING id $$;
CREATE FUNCTION app.next_of(name text) RETURNS bigint LANGUAGE sql AS $$ SELECT NEXTVAL(name::regclass) $$;
CREATE FUNCTION app.next_atomic(name text) RETURNS bigint LANGUAGE sql RETURN nextval(name::regclass);
CREATE FUNCTION app.next_simple(name text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN n := nextval(name); RETURN n; END $$;
CREATE FUNCTION app.away() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', 'app', false); UPDATE customers SET mood = 'bad' WHERE id = 1; END $$;
CREATE PROCEDURE app.take(n bigint) LANGUAGE sql AS '';
CREATE PROCEDURE app.work(n bigint) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO customers (name) VALUES ('by a procedure ' || n || random()); COMMIT; UPDATE app.log SET line = 'changed'; END $$;
DO $$ DECLARE r record; BEGIN
	FOR r IN SELECT c.oid::regclass AS name, relkind FROM pg_class c WHERE relnamespace = 'app'::regnamespace AND relkind IN ('r', 'p', 'S', 'v') LOOP
		EXECUTE format('ALTER %s %s OWNER TO runner', CASE r.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, r.name);
	END LOOP;
EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
SQL
$sql->(<<'SQL');
DO $$ DECLARE r record; BEGIN
	FOR r IN SELECT c.oid::regclass AS name, relkind FROM pg_class c WHERE relnamespace = 'app'::regnamespace AND relkind IN ('r', 'p', 'v')
	LOOP EXECUTE format('ALTER TABLE %s OWNER TO runner', r.name); END LOOP; END $$;
ALTER SEQUENCE app.numbers OWNER TO runner;
GRANT CREATE ON DATABASE postgres TO runner;
SQL
# Rows and sequences of the originals.
sub originals
{
	return $sql->(join ' UNION ALL ', map { "SELECT '$_', md5(string_agg(t::text, ';' ORDER BY t::text)) FROM (SELECT * FROM $_) t" }
		qw(app.customers app."Orders" app.events app.log app.numbers app.customers_id_seq app."Orders_id_seq" app.log_id_seq));
}
my $originals = originals();

# A script for each way to change an original, with the beginning of its error.
my %ways = (
	'trigger' => [ q{INSERT INTO "Orders" (customer) VALUES (1);}, 'change table "app.log"' ],
	'rule' => [ q{UPDATE customers SET mood = 'bad' WHERE id = 1;}, 'change table "app.log"' ],
	'view' => [ q{UPDATE names SET name = 'x' WHERE id = 1;}, 'change table "app.customers"' ],
	'function' => [ 'SELECT app.add_line();', 'change table "app.log"' ],
	'function-sql' => [ 'SELECT * FROM app.add_inlined();', 'change table "app.log"' ],
	'do' => [ q{DO $$ BEGIN DELETE FROM app.log; END $$;}, 'change table "app.log"' ],
	'sequence' => [ q{SELECT nextval('app.log_id_seq');}, 'change sequence "app.log_id_seq"' ],
	'sequence-set' => [ q{SELECT setval('app.log_id_seq', 7), setval('app.log_id_seq', 7, true);}, 'change sequence "app.log_id_seq"' ],
	'sequence-parameter' => [ q{\\template s app.log_id_seq} . "\n" . q{SELECT nextval(:'s');}, 'change sequence "app.log_id_seq"' ],
	'sequence-inlined' => [ q{SELECT app.next_of('app.log_id_seq');}, 'change sequence "app.log_id_seq"' ],
	'sequence-atomic' => [ q{SELECT app.next_atomic('app.log_id_seq');}, 'change sequence "app.log_id_seq"' ],
	'sequence-simple' => [ q{SELECT app.next_simple('app.log_id_seq');}, 'change sequence "app.log_id_seq"' ],
	'sequence-call' => [ q{CALL app.work(nextval('app.log_id_seq'));}, 'change sequence "app.log_id_seq"' ],
	'qualified' => [ q{UPDATE app.customers SET mood = 'bad' WHERE id = 1;}, 'change table "app.customers"' ],
	'partition' => [ q{UPDATE app.events SET kind = 'b';}, 'change table "app.events' ],
	'with' => [ 'WITH gone AS (DELETE FROM app.log RETURNING *) SELECT * FROM gone;', 'change table "app.log"' ],
	'merge' => [ 'MERGE INTO app.log USING customers c ON c.id = log.id WHEN MATCHED THEN DELETE;', 'change table "app.log"' ],
	'lock-rows' => [ 'SELECT * FROM app.log FOR UPDATE;', 'lock rows of table "app.log"' ],
	'search-path' => [ 'SET search_path = app;', 'execute SET' ],
	'search-path-local' => [ "BEGIN;\nSET LOCAL search_path = app;", 'execute SET' ],
	'search-path-function' => [ 'SELECT app.away();', 'change table "app.customers"' ],
	'reset' => [ 'RESET ALL;', 'execute RESET' ],
	'role' => [ 'SET ROLE runner;', 'execute SET' ],
	'procedure' => [ 'CALL app.work(1);', 'change table "app.log"' ],
	'truncate' => [ 'TRUNCATE app.log;', 'execute TRUNCATE TABLE' ],
	'create' => [ 'CREATE TABLE app.more AS SELECT 1;', 'execute CREATE TABLE AS' ],
	'lock' => [ 'LOCK app.log;', 'execute LOCK TABLE' ],
	'vacuum' => [ 'ANALYZE app.log;', 'execute ANALYZE' ]);
my $shop = "\\values all i\n" . <<'SCRIPT';
BEGIN;
INSERT INTO customers (name) VALUES (:'i' || '-' || :client_id || '-' || random()) RETURNING id \gset
INSERT INTO "Orders" (customer) VALUES (:id);
UPDATE events SET kind = kind WHERE at = '2024-02-10';
SELECT * FROM totals WHERE name = 'c1';
SELECT nextval('numbers'), nextval('num' || 'bers'), app.next_of('numbers'), app.next_simple('numbers');
CALL app.take(nextval('num' || 'bers'));
SAVEPOINT a;
SELECT id FROM customers WHERE id = :id FOR UPDATE;
DO $$ BEGIN UPDATE "Orders" SET amount = 2 WHERE id = 1; END $$;
SET LOCAL work_mem = '8MB';
END;
SCRIPT
sub define
{
	my ($name, $captured, %scripts) = @_;
	my $mixes = join ',', map { qq({"name": "$_", "description": "d", "scripts": [{"name": "$_", "weight": 1}]}) } sort keys %scripts;
	my $texts = join ', ', map { "'$_', \$t\$$scripts{$_}\$t\$" } sort keys %scripts;
	return qq{SELECT bench.define_workload('$name', '{"description": "d", "unit": "u", "max_scale": 1, "size": {"table_mb": 0, "index_mb": 0},
		"captured": $captured, "mixes": [$mixes]}', '', '', jsonb_build_object($texts));};
}
my $captured = '{"search_path": "app, public", "rate": 200, "writes": true}';
foreach my $role ('runner', $super)
{
	is(as($role, define('shop_family', $captured, shop => $shop, map { ("via-$_" => $ways{$_}[0]) } keys %ways)), '', "$role has a captured workload");
	is(as($role, define("reads_family", '{"search_path": "app", "writes": false}', reads => 'SELECT * FROM customers WHERE id = 1;',
				'reads-writing' => 'SELECT add_line();')), '', 'and one that reads');
	$sql->("INSERT INTO bench.captured_tables (owner, workload, table_schema, table_name, written)
		SELECT '$role', 'shop_family', 'app', t, t <> 'totals' FROM unnest('{customers,Orders,events,totals}'::text[]) t");
}
like(as('runner', "SELECT bench.initialize('shop_family')"), qr/22023: workload "shop_family" was captured and has no tables of its own\nHINT:  bench\.clone_tables/, 'no load');
like(as('runner', "SELECT bench.run('shop', transactions => 1)"),
	qr/22023: workload "shop_family" writes, and its tables have not been copied\nHINT:  .*bench\.clone_tables\('shop_family', .*allow_writes/, 'no run before its tables are copied');

# Copies.
my $copied = as('runner', "SET client_min_messages = notice; SET search_path = pg_catalog;
	SELECT table_name, rows, seconds >= 0 FROM bench.clone_tables('shop_family', 'The copy')");
is(join("\n", grep { /\|/ } split /\n/, $copied), "Orders|300|t\ncustomers|300|t\nevents_1|31|t\nevents_2_a|29|t", 'copied');
like($copied, qr/NOTICE:  00000: not copied: triggers audit on app\.customers\n/, 'not the triggers');
like($copied, qr/NOTICE:  00000: not copied: rules noted on app\.customers\n/, 'nor rules');
like($copied, qr/NOTICE:  00000: not copied: foreign keys log_id_fkey on app\.log\n/, 'nor foreign keys of other tables');
# What \d says of a table, without names of schemas.
my $described = sub { my ($schema) = @_; return $sql->(<<SQL) =~ s/"The copy"|\bapp\b/S/gr };
SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, t.reloptions, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), c.relispartition
FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.relnamespace = '$schema'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND c.relname <> 'log' AND c.relname <> 'names' ORDER BY 1;
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstattarget, a.attoptions::text ~ 'n_distinct=-0.5', pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = '$schema'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND c.relname <> 'log' AND c.relname <> 'names' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2;
SELECT conrelid::regclass, conname, contype, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
WHERE r.relnamespace = '$schema'::regnamespace AND r.relname <> 'log' ORDER BY r.relname, 2;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '$schema'::regnamespace AND relname <> 'log') ORDER BY 1;
SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value FROM pg_sequences WHERE schemaname = trim('"' FROM '$schema') AND sequencename <> 'log_id_seq' ORDER BY 1;
SELECT pg_get_serial_sequence('$schema.customers', 'id'), pg_get_serial_sequence('$schema."Orders"', 'id'), count(*) FROM pg_statistic_ext WHERE stxrelid = '$schema.customers'::regclass;
SELECT pg_get_viewdef('$schema.totals'::regclass);
SELECT md5(string_agg(t::text, ';' ORDER BY t)) FROM $schema.customers t;
SELECT md5(string_agg(t::text, ';' ORDER BY t)) FROM $schema."Orders" t;
SELECT md5(string_agg(t::text, ';' ORDER BY t)) FROM $schema.events t;
SQL
is($described->('"The copy"'), $described->('app'), 'they are like the originals');
is($sql->(q{SELECT count(*) > 3 FROM pg_stats WHERE schemaname = 'The copy' AND tablename = 'customers' OR tablename = 'events'}), 't', 'and analyzed');
is(originals(), $originals, 'which are as before');
is(as('runner', q{SELECT manifest #>> '{captured,clone_schema}' FROM bench.workload_definitions WHERE name = 'shop_family'}), 'The copy', 'the workload knows where they are');

# What is refused, with nothing left behind.
foreach my $case (
	[ "'nothing', 'x'", qr/42704: workload "nothing" does not exist/ ],
	[ "'shop_family', 'The copy'", qr/55000: schema "The copy" is not empty\nHINT:  .*DROP SCHEMA "The copy" CASCADE/ ],
	[ "'mine', 'x'", qr/22023: workload "mine" was not captured/ ],
	[ "'reads_family', 'x'", qr/42P01: workload "reads_family" uses no tables\nHINT:  .*tables =>/ ],
	[ "'shop_family', 'x', '{policed}'", qr/0A000: cannot copy table "public.policed" with row-level security\nHINT:  .*allow_writes/ ],
	[ "'shop_family', 'x', '{parent}'", qr/0A000: cannot copy table "public.parent" with tables that inherit from it/ ],
	[ "'shop_family', 'x', '{public.customers}'", qr/42P07: cannot copy (?:app|public)\.customers and (?:app|public)\.customers into one schema/ ],
	[ "'shop_family', 'other_schema'", qr/42501: must be owner of schema "other_schema"/ ])
{
	$sql->('CREATE TABLE IF NOT EXISTS policed (i int); ALTER TABLE policed ENABLE ROW LEVEL SECURITY; CREATE TABLE IF NOT EXISTS parent (i int);
		CREATE TABLE IF NOT EXISTS child () INHERITS (parent); CREATE TABLE IF NOT EXISTS public.customers (i int); CREATE SCHEMA IF NOT EXISTS other_schema;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO runner');
	like(as('runner', "SELECT bench.clone_tables($case->[0])"), $case->[1], "refused: $case->[0]");
}
$sql->('DROP TABLE policed, child, parent, public.customers; DROP SCHEMA other_schema');
is($sql->(q{SELECT count(*) FROM pg_namespace WHERE nspname = 'x'}), '0', 'no schema is left');
like(as('runner', q{SELECT string_agg(table_name, ',' ORDER BY table_name) FROM bench.clone_tables('reads_family', 'x', tables => '{app.log,app.customers}'); DROP SCHEMA x CASCADE}),
	qr/^customers,log$/m, 'given tables');
is(as('runner', q{SELECT bench.define_workload('reads_family', w.manifest #- '{captured,clone_schema}', '', '', w.scripts) FROM bench.workload_definitions w WHERE name = 'reads_family'}), '', 'without copies again');
like(as($super, "SELECT bench.clone_tables('shop_family', 'super_copy')"),
	qr/42501: must be owner of (sequence|table) app\..*\nDETAIL:  .*\nHINT:  Capture and copy the tables as role runner, or/, 'not by a superuser');
is(as($super, "ALTER ROLE runner SUPERUSER; SELECT count(*) > 3 FROM bench.clone_tables('shop_family', 'super_copy'); ALTER ROLE runner NOSUPERUSER"),
	't', 'unless they belong to one');

# Runs change the copies only.
foreach my $protocol (qw(simple extended prepared))
{
	is(as('runner', "SELECT state, transactions, failed FROM bench.run('shop', clients => 2, transactions => 10, protocol => '$protocol')"), 'finished|20|0', "run, $protocol");
}
is($sql->(q{SELECT count(*) FROM "The copy".customers}), '360', 'rows of the copies');
is(as($super, "SELECT state, transactions FROM bench.run('shop', transactions => 10, client_process => 'backend')"), 'finished|10', 'in a backend');
is(originals(), $originals, 'no original has changed');
is($sql->(q{SELECT bool_and(relallvisible > 0) FROM pg_class WHERE relnamespace = '"The copy"'::regnamespace AND relkind = 'r' AND relpages > 0 AND relname LIKE 'events%'}), 't', 'the copies were vacuumed');

# Ways to change an original.
foreach my $schema ('"The copy"', 'super_copy')
{
	$sql->("CREATE TRIGGER audit AFTER INSERT ON $schema.\"Orders\" FOR EACH ROW EXECUTE FUNCTION app.audit();
		CREATE RULE logged AS ON UPDATE TO $schema.customers DO ALSO INSERT INTO app.log VALUES (1, 'rule');");
}
foreach my $way (sort keys %ways)
{
	my $error = qr/cannot \Q$ways{$way}[1]\E.* in a run of a captured workload/;
	foreach my $case (
		[ 'runner', '' ], [ $super, ", protocol => 'simple', client_process => 'backend'" ])
	{
		like(as($case->[0], "SELECT bench.run('via-$way', transactions => 2$case->[1])"), $error, "refused: $way$case->[1]");
	}
	is(originals(), $originals, "no original has changed: $way");
}
like(as('runner', "SELECT bench.run('via-qualified', transactions => 1); SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1"),
	qr/25006|cannot change table "app\.customers"/, 'the error says what to do');
is(as('runner', q{SELECT count(*) FROM bench.runs WHERE transactions > 0 AND scripts::text LIKE '%via-%'}), '0', 'none has made a transaction');

# On the originals, and where no hook is.
my $here = sprintf 'host=%s port=%d dbname=postgres', $node->host, $node->port;
like(as('runner', "SELECT bench.run('shop', transactions => 1, mode => 'libpq')"), qr/42501: permission denied for mode "libpq"/, 'a role that is no superuser');
like(as($super, "SELECT bench.run('shop', transactions => 1, mode => 'libpq')"),
	qr/55000: role "\Q$super\E" is a superuser, who may write to all tables\nHINT:  .*mode => 'spi'.*allow_writes/, 'connections of a superuser');
like(as($super, "SELECT bench.run('shop', transactions => 1, mode => 'libpq', target => '$here user=runner')"),
	qr/55000: role "runner" may write to tables that are not copies: app\."Orders", app\.customers, app\.events/, 'a role with rights on the originals');
$sql->('GRANT USAGE ON SCHEMA app, super_copy TO other; GRANT SELECT ON ALL TABLES IN SCHEMA app TO other; GRANT ALL ON ALL TABLES IN SCHEMA super_copy TO other; GRANT ALL ON ALL SEQUENCES IN SCHEMA super_copy TO other; DROP TRIGGER audit ON super_copy."Orders"');
is(as($super, "SELECT state, transactions FROM bench.run('shop', transactions => 5, mode => 'libpq', target => '$here user=other')"), 'finished|5', 'a role without');
is(originals(), $originals, 'no original has changed');
my $told = as('runner', "SET client_min_messages = notice; SELECT state FROM bench.run('shop', transactions => 1, allow_writes => true)");
like($told, qr/NOTICE:  00000: the run changes the tables of workload "shop_family" themselves: app\."Orders", app\.customers, app\.events\n/, 'a notice names the tables');
like($told, qr/^finished$/m, 'with allow_writes');
isnt(originals(), $originals, 'that run has changed them');
$originals = originals();

# A workload that reads has read-only transactions, in both modes.
foreach my $mode (qw(spi libpq))
{
	is(as($super, "SELECT state, transactions FROM bench.run('reads', transactions => 3, mode => '$mode')"), 'finished|3', "reads, $mode");
	like(as($super, "SELECT bench.run('reads-writing', transactions => 3, mode => '$mode')"), qr/cannot execute INSERT in a read-only transaction/, "and does not write, $mode");
}
is(originals(), $originals, 'no original has changed');

# Rates, and a run that is repeated.
is(as('runner', "ALTER TABLE \"The copy\".\"Orders\" DISABLE TRIGGER audit; DROP RULE logged ON \"The copy\".customers;
	SELECT state FROM bench.run('shop', transactions => 5, load_factor => 2.5)"), 'finished', 'load_factor');
is(as('runner', 'SELECT rate, load_factor, allow_writes FROM bench.run_summary ORDER BY run_id DESC LIMIT 1'), '500|2.5|f', 'the rate that follows');
($call) = as('runner', "SELECT bench.report(format => 'markdown')") =~ /(SELECT \* FROM bench\.run\(.*\));/;
like($call, qr/load_factor => 2\.5/, 'the statement that repeats the run');
like(as('runner', $call), qr/^\d+\|finished\|/m, 'works');
like(as('runner', "SELECT state FROM bench.run('shop, via-qualified', transactions => 30, seed => 1, continue_on_error => true)"),
	qr/WARNING:  \S+ [1-9]\d* of 30 transactions failed, the first with: cannot change table "app\.customers"/, 'some are refused, which a warning tells');
like(as('runner', "SELECT bench.run(sql => 'SELECT 1', $_)"), qr/22023: option "\w+" needs a captured workload/, "$_ needs a captured workload")
	foreach 'load_factor => 2', 'allow_writes => true';
like(as('runner', "SELECT bench.run('shop', load_factor => 2, rate => 5)"), qr/22023: options "load_factor" and "rate" exclude each other/, 'not with rate');
like(as('runner', "SELECT bench.run('shop', load_factor => 0)"), qr/22023: invalid value for option "load_factor": 0/, 'above 0');
like(as($super, "SELECT bench.run('reads', load_factor => 2)"), qr/22023: the rate of workload "reads_family" is not known/, 'a rate that is not known');
like(as('runner', q{SELECT bench.run('shop', settings => '{"search_path": "public"}')}), qr/22023: a run of workload "shop_family" has its own "search_path"/, 'no other search_path');
# Other load can make a search end without a rate, since its probes are not steady.
my $verdict;
foreach (1 .. 3)
{
	$verdict = as('runner', q{SELECT verdict FROM bench.find_capacity(1000, percentile => 50, tolerance => 1, scripts => 'shop', duration => 0.2)});
	last if $verdict =~ /^p50 stays/;
}
like($verdict, qr/, [0-9.]+ times the captured 200\b/, 'find_capacity');
is(as('runner', q{SELECT count(*) FROM bench.compare('[{"load_factor": 5}, {"load_factor": 10}]', scripts => 'shop', repeats => 1, transactions => 2)}), '2', 'compare');
is(as('runner', 'DROP SCHEMA "The copy" CASCADE') =~ s/^NOTICE.*//rs, '', 'the copies are dropped');
like(as('runner', "SELECT bench.run('shop', transactions => 1)"), qr/22023: workload "shop_family" writes, and schema "The copy", with copies of its tables, does not exist/, 'no run after that');

$node->stop;
done_testing();
