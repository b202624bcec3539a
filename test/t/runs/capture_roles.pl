# Workloads captured for other roles: whose, with which rights their functions are called, and their runs.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

needs_extensions(qw(pg_stat_statements));

my $node = new_bench_node('capture_roles', <<'CONF');
shared_preload_libraries = 'pg_stat_statements'
compute_query_id = on
max_worker_processes = 20
CONF

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql", extra_params => [ '-U', $role ]);
	return wantarray ? ($stdout, $stderr) : $stdout . $stderr;
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');
my $secret = 'pW9kq2Zx';

# A session that holds the lock on which others wait, and its end.
sub hold
{
	my $holder = start_sql($node, 'SELECT pg_advisory_lock(77), pg_sleep(600)', name => 'holder');
	wait_for($node, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE application_name = 'holder'");
	return $holder;
}

sub release
{
	my ($holder) = @_;
	as($super, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'");
	finish_sql($holder);
	return;
}

is((as($super, <<"SQL"))[1], '', 'set up');
CREATE EXTENSION pg_stat_statements;
CREATE ROLE app LOGIN PASSWORD '$secret';
CREATE ROLE web LOGIN;
CREATE ROLE batch NOLOGIN;
CREATE ROLE member LOGIN;
CREATE ROLE stranger LOGIN;
GRANT app, web, batch TO member;
GRANT CREATE ON DATABASE postgres TO app;
CREATE SCHEMA AUTHORIZATION app;
CREATE SCHEMA AUTHORIZATION web;
SELECT bench.grant_to(role) FROM unnest('{app,web,member,stranger}'::regrole[]) role;
SET ROLE app;
-- Tries to become another role, and to leave a setting behind; returns what it is then.
CREATE FUNCTION app.attempts() RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
    attempt text;
BEGIN
    FOREACH attempt IN ARRAY '{RESET ROLE,SET ROLE NONE,SET ROLE $super,RESET SESSION AUTHORIZATION,SET SESSION AUTHORIZATION $super}'::text[] LOOP
        BEGIN
            EXECUTE attempt;
        EXCEPTION WHEN OTHERS THEN
        END;
        IF current_user <> 'app' THEN
            RETURN attempt || ' made it ' || current_user;
        END IF;
    END LOOP;
    PERFORM set_config('work_mem', '77MB', false);
    RETURN current_user;
END
\$\$;
CREATE FUNCTION app.told(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING \$\$told by %\$\$, app.attempts(); RETURN t; END';
CREATE TABLE app.plain_items (id int PRIMARY KEY);
CREATE SEQUENCE app.numbers;
CREATE TABLE app.seen (who name, login name, attempts text);
CREATE TABLE app.items (id int PRIMARY KEY, name text, code text GENERATED ALWAYS AS (app.told(name)) STORED);
CREATE VIEW app.codes AS SELECT id, app.told(name) AS code FROM app.items;
CREATE FUNCTION app.visit(int) RETURNS int LANGUAGE sql AS 'INSERT INTO app.seen VALUES (current_user, session_user, app.attempts()); SELECT 1';
CREATE TABLE app.notes (id int PRIMARY KEY);
ALTER TABLE app.notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY told ON app.notes USING (app.told(id::text) IS NOT NULL);
SET client_min_messages = error;
INSERT INTO app.items SELECT i, 'item ' || i FROM generate_series(1, 20) i;
SET ROLE web;
CREATE TABLE web.items (id int PRIMARY KEY, name text);
INSERT INTO web.items SELECT i, 'page ' || i FROM generate_series(1, 20) i;
SQL

# Executes statements as a role three times.
sub executed
{
	my ($role, @statements) = @_;
	foreach my $n (1 .. 3)
	{
		my ($stdout, $stderr) = as($role, join "\n", 'SET client_min_messages = error; SET search_path = "$user";', map { my $s = $_; $s =~ s/NNN/10$n/g; "$s;" } @statements);
		is($stderr, '', "executed as $role");
	}
	return;
}
my $reset = sub { as($super, 'SELECT pg_stat_statements_reset()') };
my $capture = sub { my ($roles, $name) = @_; $name ||= 'mine'; return "SELECT role, status, query FROM bench.capture_workload('$name', period => NULL, search_path => '\"\$user\"', roles => $roles) WHERE query !~ 'statements\$' ORDER BY role, query" };

# Who may, and whom.
like(as('stranger', $capture->(q('{app}'))), qr/ERROR:  42501: permission denied for role "app"\nHINT:  .*SET ROLE/, 'not a member');
like(as('member', $capture->(q('{app,stranger}'))), qr/ERROR:  42501: permission denied for role "stranger"/, 'not of each');
like(as($super, $capture->(q('{}'))), qr/ERROR:  22023: invalid value for option "roles": \{\}/, 'no role');
like(as($super, $capture->('ARRAY[NULL]::regrole[]')), qr/ERROR:  22004: roles must not be null/, 'a null');
like(as($super, $capture->(q('{4242}'))), qr/ERROR:  42704: .*4242/, 'a role that does not exist');
like(as('member', $capture->(q('{batch}'))),
	$node->pg_version < 17 ? qr/ERROR:  28000: .*"batch"/ : qr/ERROR:  55000: role "batch": no statement can be captured/, 'a role that cannot log in');
$reset->();
executed('app', 'SELECT visit(id) FROM items WHERE id = 3', "SELECT id FROM codes WHERE code = 'item 7'", 'INSERT INTO notes VALUES (NNN)');
like(as($super, $capture->(q('{app,web}'))), qr/ERROR:  55000: role "web": no statement can be captured/, 'a role without statements');
like(as($super, $capture->(q('{web}'))), qr/ERROR:  55000: role "web": no statement can be captured/, 'a single one, which is named');
is(as($super, 'SELECT count(*) FROM bench.captured_workloads'), '0', 'and nothing of the other');
executed('web', 'SELECT name FROM items WHERE id = 4');

# Values are read as the role, which has no way out of the caller's session.
my $rows = <<'ROWS' =~ s/\n\z//r;
app|captured|INSERT INTO notes VALUES ($1)
app|captured|SELECT id FROM codes WHERE code = $1
app|captured|SELECT visit(id) FROM items WHERE id = $1
web|captured|SELECT name FROM items WHERE id = $1
ROWS
foreach my $caller ($super, 'member')
{
	my ($stdout, $stderr) = as($caller, "SET work_mem = '5MB';" . $capture->(q('{app,web,app}')) . '; SELECT current_user, session_user; SHOW work_mem');
	is($stdout, "$rows\n$caller|$caller\n5MB", "captured by $caller, whose session is as before");
	like($stderr, qr/WARNING:  01000: told by app\n/, 'the view was read as its owner');
	unlike($stderr, qr/told by (?!app\n)/, 'as nobody else');
}
is(as($super, 'SELECT owner, count(*) FROM bench.captured_statements WHERE queryid IS NOT NULL GROUP BY 1 ORDER BY 1'), "app|3\nweb|1", 'each role owns its workload');
is(as('member', 'SELECT count(*) FROM bench.captured_statements'), '0', 'not the caller');
like(as('member', "SELECT bench.run('mine', transactions => 1)"), qr/ERROR: .*mine/, 'who does not run it');

# Runs as the role, from a superuser's session.
as($super, 'TRUNCATE app.seen');
my $run = sub { my ($options) = @_; return "SELECT state, transactions, failed FROM bench.run('mine', $options)" };
my ($stdout, $stderr) = as($super, "SET ROLE app;\n" . $run->('clients => 2, transactions => 60, allow_writes => true'));
is($stdout, 'finished|120|0', 'mode spi');
like($stderr, qr/told by app\n/, 'new keys were looked for as the role');
unlike($stderr, qr/told by (?!app\n)/, 'as nobody else');
like(as($super, "SET ROLE app;\n" . $run->(q(mode => 'libpq', transactions => 1, allow_writes => true))),
	qr/ERROR:  42501: permission denied for mode "libpq"\n.*\nHINT:  .*specify a target that asks for your password/, 'mode libpq needs a target');
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
append_to_file($node->data_dir . '/pg_hba.conf', "local all app scram-sha-256\n$hba");
$node->reload;
my $target = sprintf "host=%s port=%s dbname=postgres user=app password=$secret", $node->host, $node->port;
is((as($super, "SET ROLE app;\n" . $run->("mode => 'libpq', target => '$target', clients => 2, transactions => 60, allow_writes => true")))[0], 'finished|120|0', 'mode libpq');
is(as($super, 'SELECT DISTINCT who, login, attempts FROM app.seen'), 'app|app|app', 'no function has become another role');
is(as($super, 'SELECT count(*) > 20 FROM app.seen'), 't', 'and they were called');

# Both roles at the same time, at the rates of their captures.
is(as($super, <<'SQL'), "finished|20\nfinished|20\napp|20\nweb|20\n20", 'both at once');
SET ROLE web;
SELECT bench.start('mine', transactions => 20) AS of_web \gset
SET ROLE app;
SET client_min_messages = error;
SELECT bench.start('mine', transactions => 20, allow_writes => true) AS of_app \gset
RESET ROLE;
SELECT state, transactions FROM bench.wait(:of_web);
SELECT state, transactions FROM bench.wait(:of_app);
SELECT owner, transactions FROM bench.runs WHERE run_id IN (:of_web, :of_app) ORDER BY owner::text;
SELECT calls FROM bench.run_captured_statements WHERE run_id = :of_web;
SQL

# Expressions and copies.
$stderr = (as($super, "SET ROLE app;\nSELECT status FROM bench.set_parameter('mine', (SELECT statement_no FROM bench.captured_statements WHERE query ~ 'visit'), 1, 'SELECT length(app.told(\$\$x\$\$))')"))[1];
like($stderr, qr/told by app\n/, 'an expression');
unlike($stderr, qr/told by (?!app\n)|ERROR/, 'as nobody else');
$reset->();
$ENV{PGPASSWORD} = $secret;
executed('app', "UPDATE items SET name = 'x' WHERE id = 3");
is((as($super, $capture->(q('{app}'), 'copied')))[0], 'app|captured|UPDATE items SET name = $1 WHERE id = $2', 'one that writes');
($stdout, $stderr) = as($super, "SET ROLE app;\nSELECT table_name, rows FROM bench.clone_tables('copied', 'app_copy')");
is($stdout, 'items|20', 'copied');
like($stderr, qr/told by app\n/, 'with a generated column');
unlike($stderr, qr/told by (?!app\n)/, 'as nobody else');
is((as($super, "SET ROLE app;\nSELECT state, transactions, failed FROM bench.run('copied', transactions => 50)"))[0], 'finished|50|0', 'run on the copy');

# Statements of a superuser that read another role's tables: what the capture adds to them calls none of its functions.
$ENV{PGOPTIONS} = '-c client_min_messages=error';
as($super, <<'SQL');
SET ROLE app;
CREATE FUNCTION app.less(numeric, int) RETURNS numeric LANGUAGE plpgsql AS 'BEGIN PERFORM app.told($$operator$$); RETURN 1; END';
CREATE OPERATOR app.- (LEFTARG = numeric, RIGHTARG = int, FUNCTION = app.less);
CREATE FUNCTION app.times(float8, int) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN PERFORM app.told($$operator$$); RETURN 1; END';
CREATE OPERATOR app.* (LEFTARG = float8, RIGHTARG = int, FUNCTION = app.times);
CREATE FUNCTION app.before(timestamptz, timestamp) RETURNS interval LANGUAGE plpgsql AS 'BEGIN PERFORM app.told($$operator$$); RETURN $$1 s$$; END';
CREATE OPERATOR app.- (LEFTARG = timestamptz, RIGHTARG = timestamp, FUNCTION = app.before);
CREATE TABLE app.events (at timestamp);
INSERT INTO app.events SELECT now() FROM generate_series(1, 9);
CREATE TYPE app.pair AS (a int, b int);
CREATE FUNCTION app.shown(app.pair) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN app.told($$cast$$); END';
CREATE CAST (app.pair AS text) WITH FUNCTION app.shown(app.pair);
CREATE TABLE app.pairs (id int PRIMARY KEY, pair app.pair);
INSERT INTO app.pairs SELECT i, (i, i)::app.pair FROM generate_series(1, 20) i;
SQL
delete $ENV{PGOPTIONS};
$reset->();
executed($super, 'SET search_path = app', "SELECT id FROM pairs WHERE pair = '(1,1)'::pair", 'SELECT pair FROM pairs WHERE id > 5', 'SELECT pair FROM pairs WHERE id = 99',
	"SELECT count(*) FROM events WHERE at > now() - interval '1 day'");
($stdout, $stderr) = as($super, "SELECT status, query FROM bench.capture_workload('own', period => NULL, search_path => 'app') WHERE query ~ 'pairs|events' ORDER BY query");
is($stdout, <<'ROWS' =~ s/\n\z//r, 'a capture of own statements');
captured|SELECT count(*) FROM events WHERE at > now() - interval $1
captured|SELECT id FROM pairs WHERE pair = $1::pair
captured|SELECT pair FROM pairs WHERE id = $1
captured|SELECT pair FROM pairs WHERE id > $1
ROWS
unlike($stderr, qr/told by/, 'calls no function of the owner');
like(as($super, q(SELECT string_agg(v."values"[1], ' ') FROM bench.value_sets v WHERE v.set_name ~ '^own\.')), qr/\(7,7\)/, 'values are as types print them');
($stdout, $stderr) = as($super, "SET search_path = app; SELECT state, failed FROM bench.run('own', transactions => 30)");
is($stdout, 'finished|0', 'and its run');
unlike($stderr, qr/told by/, 'neither');

# Copies call functions of the tables' owners: others cannot make them.
is(as($super, <<'SQL'), '', 'set up');
CREATE TABLE public.shown (id int PRIMARY KEY, v text);
INSERT INTO public.shown SELECT n, n FROM generate_series(1, 20) n;
CREATE TABLE app.of_super (id int PRIMARY KEY);
CREATE VIEW public.through AS SELECT id FROM app.plain_items;
CREATE TABLE public.with_default (id bigint DEFAULT nextval('app.numbers'));
CREATE MATERIALIZED VIEW app.stored AS SELECT 1 AS id;
ALTER MATERIALIZED VIEW app.stored OWNER TO app;
CREATE VIEW public.of_matview AS SELECT id FROM app.stored;
SQL
$reset->();
executed($super, 'SET search_path = public', 'SELECT v FROM shown WHERE id = 3');
is(as($super, "SELECT status FROM bench.capture_workload('super', period => NULL, search_path => 'public') WHERE query ~ 'shown'"), 'captured', 'a capture of own tables');
foreach my $foreign ([ 'app.plain_items', 'table app.plain_items' ], [ 'public.through', 'table app.plain_items' ], [ 'app.numbers', 'sequence app.numbers' ],
	[ 'app.of_super', 'schema app' ], [ 'public.with_default', 'sequence app.numbers' ], [ 'public.of_matview', 'materialized view app.stored' ])
{
	my ($table, $named) = @$foreign;
	my $hint = $named =~ /^schema/ ? 'Change the owner to the role that copies' : 'Capture and copy the tables as role app, or';
	like(as($super, "SELECT FROM bench.clone_tables('super', 'super_copy', '{$table}')"),
		qr/ERROR:  42501: must be owner of $named\nDETAIL:  .*role app with your rights\.\nHINT:  $hint/, "not by a superuser: $table");
}
# What tables use, directly or through something else, can be given another meaning by its owner: bounds of partitions
# by a constraint of a domain, expressions by a cast.
is(as($super, <<'SQL'), '', 'set up');
CREATE SCHEMA used;
SET search_path = used;
SET client_min_messages = warning;
CREATE TYPE app.state AS ENUM ('open', 'shut');
CREATE DOMAIN app.number AS int;
CREATE TYPE app.span AS RANGE (SUBTYPE = int);
CREATE TYPE app.mixed AS (number app.number);
CREATE FUNCTION app.as_int(app.span) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT lower($1)';
ALTER FUNCTION app.as_int OWNER TO app;
CREATE CAST (app.span AS int) WITH FUNCTION app.as_int(app.span);
CREATE DOMAIN over_span AS app.span;
CREATE TYPE over_state AS RANGE (SUBTYPE = app.state);
CREATE DOMAIN over_number AS app.number;
CREATE DOMAIN over_function AS int CHECK (app.told(VALUE::text) IS NOT NULL);
CREATE TABLE bound (a app.number, v text) PARTITION BY LIST (a);
CREATE TABLE bound_1 PARTITION OF bound FOR VALUES IN (1);
CREATE TABLE of_array (a app.number[], v text) PARTITION BY LIST (a);
CREATE TABLE by_cast (r app.span, v text) PARTITION BY LIST ((r::int));
CREATE TABLE by_domain (d over_span);
CREATE INDEX ON by_domain ((d::int));
CREATE TABLE by_range (d over_state);
CREATE TABLE by_field (m app.mixed);
CREATE VIEW by_constant AS SELECT '{1}'::over_number[] AS c FROM public.shown;
CREATE TABLE by_predicate (a int);
CREATE INDEX ON by_predicate (a) WHERE '{1}'::over_number[] IS NOT NULL;
CREATE TABLE by_check (a over_function);
CREATE TABLE by_statistics (a int, b int);
CREATE STATISTICS of_a ON (app.told(a::text)), b FROM by_statistics;
CREATE TYPE pair AS (a int, b int);
CREATE FUNCTION app.compare(pair, pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ($1).a - ($2).a';
CREATE OPERATOR CLASS pair_ops DEFAULT FOR TYPE pair USING btree AS FUNCTION 1 app.compare(pair, pair);
CREATE TABLE by_class (p pair[]);
CREATE INDEX ON by_class (p);
CREATE TYPE code AS (a int);
CREATE FUNCTION app.number(code) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ($1).a';
CREATE CAST (code AS int) WITH FUNCTION app.number(code) AS IMPLICIT;
CREATE TABLE by_implicit_cast (c code REFERENCES public.shown);
CREATE FUNCTION app.differs(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 <> $2';
CREATE OPERATOR app.<%> (LEFTARG = int, RIGHTARG = int, FUNCTION = app.differs);
CREATE OPERATOR =% (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq, NEGATOR = OPERATOR(app.<%>));
CREATE TABLE by_negator (n int CHECK (NOT n OPERATOR(used.=%) 7));
CREATE TYPE own_state AS ENUM ('open', 'shut');
CREATE TABLE by_owner (a own_state);
CREATE FUNCTION app.compare_json(json, json) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0';
CREATE OPERATOR CLASS json_ops DEFAULT FOR TYPE json USING btree AS FUNCTION 1 app.compare_json(json, json);
CREATE TABLE by_class_of_system (v json);
CREATE FUNCTION app.number(xml) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE CAST (xml AS int) WITH FUNCTION app.number(xml) AS IMPLICIT;
CREATE TABLE by_cast_of_system (v xml REFERENCES public.shown);
CREATE FUNCTION app.number(point) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE FUNCTION number(point) RETURNS int LANGUAGE sql IMMUTABLE RETURN app.number($1);
CREATE CAST (point AS int) WITH FUNCTION number(point) AS IMPLICIT;
CREATE TABLE by_body_of_cast (v point REFERENCES public.shown);
CREATE FUNCTION app.equals(int, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = box, FUNCTION = app.equals);
ALTER OPERATOR FAMILY integer_ops USING btree ADD OPERATOR 3 = (int, box), OPERATOR 3 = (box, box);
CREATE TABLE by_family (v box REFERENCES public.shown);
CREATE TYPE app.plain;
CREATE FUNCTION plain_in(cstring) RETURNS app.plain LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION plain_out(app.plain) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE app.plain (INPUT = plain_in, OUTPUT = plain_out, LIKE = text);
CREATE CAST (jsonpath AS app.plain) WITHOUT FUNCTION AS IMPLICIT;
CREATE TABLE by_coercion (v jsonpath);
CREATE FUNCTION app.equal_image(oid) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
ALTER OPERATOR FAMILY jsonb_ops USING btree ADD FUNCTION 4 (jsonb, jsonb) app.equal_image(oid);
CREATE TABLE by_support (v jsonb PRIMARY KEY);
CREATE TYPE app.like_text;
CREATE FUNCTION like_text_in(cstring) RETURNS app.like_text LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION like_text_out(app.like_text) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE app.like_text (INPUT = like_text_in, OUTPUT = like_text_out, LIKE = text);
CREATE CAST (text AS app.like_text) WITHOUT FUNCTION AS IMPLICIT;
CREATE TABLE by_rule (a int);
CREATE RULE ruled AS ON INSERT TO by_rule DO ALSO SELECT app.told('x');
CREATE FUNCTION app.triggered() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE CONSTRAINT TRIGGER triggered AFTER INSERT ON by_rule FOR EACH ROW EXECUTE FUNCTION app.triggered();
ALTER FUNCTION app.triggered OWNER TO app;
CREATE TABLE by_key (a int REFERENCES app.plain_items);
ALTER FUNCTION app.compare OWNER TO app;
ALTER FUNCTION app.number(code) OWNER TO app;
ALTER FUNCTION app.differs OWNER TO app;
ALTER FUNCTION app.compare_json OWNER TO app;
ALTER FUNCTION app.number(xml) OWNER TO app;
ALTER FUNCTION app.number(point) OWNER TO app;
ALTER FUNCTION app.equals OWNER TO app;
ALTER FUNCTION app.equal_image OWNER TO app;
ALTER OPERATOR app.<%> (int, int) OWNER TO app;
ALTER TYPE app.state OWNER TO app;
ALTER TYPE app.plain OWNER TO app;
ALTER TYPE app.number OWNER TO app;
ALTER TYPE app.span OWNER TO app;
ALTER TYPE app.mixed OWNER TO app;
ALTER TYPE own_state OWNER TO app;
SQL
like(as($super, "SELECT FROM bench.clone_tables('super', 'used_copy', '{used.$_}')"),
	qr/ERROR:  42501: must be owner of (function|type|composite type|schema) (app|used\.own_state)\b[^\n]*\nDETAIL:  .*role app with your rights\./, "not by a superuser: $_")
  foreach qw(bound of_array by_cast by_domain by_range by_field by_constant by_predicate by_check by_statistics by_owner by_class by_implicit_cast by_negator by_class_of_system by_cast_of_system by_body_of_cast by_family by_coercion by_support);
is(as($super, 'DROP TABLE used.by_family; ALTER OPERATOR FAMILY integer_ops USING btree DROP OPERATOR 3 (int, box), OPERATOR 3 (box, box)'), '', 'an operator family of the server');
# What changes while the call waits for a lock.
is(as($super, <<'SQL'), '', 'set up');
CREATE TABLE used.late (a int);
CREATE TABLE used.grows (a int) PARTITION BY LIST (a);
CREATE TABLE used.part (a int);
INSERT INTO used.part VALUES (1), (1);
CREATE TABLE app.waits (a int);
CREATE TABLE app.with_policy (a int);
ALTER TABLE app.waits OWNER TO app;
ALTER TABLE app.with_policy OWNER TO app;
SQL
my $holder = hold();
my $blocker = start_sql($node, <<'SQL', name => 'blocker');
BEGIN;
LOCK public.shown, app.waits IN ACCESS EXCLUSIVE MODE;
ALTER TABLE public.shown RENAME TO shown_before;
CREATE TABLE public.shown (LIKE public.shown_before);
INSERT INTO public.shown VALUES (1, 'other');
SELECT pg_advisory_xact_lock(77);
COMMIT
SQL
wait_for($node, "SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE application_name = 'blocker'");
my @waiting = (
	[ 'a check', $super, "SELECT FROM bench.clone_tables('super', 'late_copy', '{used.late}')", qr/ERROR:  42501: must be owner of function app\.told\(text\)\n/ ],
	[ 'names and partitions', $super, "SELECT table_name, rows FROM bench.clone_tables('super', 'now_copy', '{used.grows}') ORDER BY 1", qr/^part\|2\nshown\|1$/m ],
	[ 'policies', 'app', "SELECT FROM bench.clone_tables('copied', 'late_copy', '{app.waits,app.with_policy}')", qr/ERROR:  0A000: cannot copy table "app\.with_policy" with row-level security\n/ ]);
push @$_, start_sql($node, $$_[2], user => $$_[1], name => 'waiting') foreach @waiting;
wait_for($node, "SELECT count(*) = 3 FROM pg_stat_activity WHERE application_name = 'waiting' AND wait_event_type = 'Lock'");
as($super, <<'SQL');
ALTER TABLE used.late ADD CHECK (app.told(a::text) IS NOT NULL);
ALTER TABLE used.grows ATTACH PARTITION used.part FOR VALUES IN (1);
ALTER TABLE app.with_policy ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SQL
release($holder);
finish_sql($blocker);
like(join('', finish_sql($$_[4])), $$_[3], "changes: $$_[0]") foreach @waiting;
is(as($super, 'DROP TABLE public.shown; ALTER TABLE public.shown_before RENAME TO shown'), '', 'names as before');

# All rows are of one moment, and no value of a sequence is behind them.
is(as($super, <<'SQL'), '', 'set up');
CREATE VIEW public.seen AS SELECT id FROM public.shown;
CREATE TABLE used.m_none ();
CREATE TABLE used.m_generated (a int GENERATED ALWAYS AS (1) STORED);
CREATE TABLE used.m_orphan (first int);
INSERT INTO used.m_none DEFAULT VALUES;
INSERT INTO used.m_generated DEFAULT VALUES;
INSERT INTO used.m_orphan VALUES (2), (2);
CREATE FUNCTION used.waited() RETURNS boolean LANGUAGE sql AS 'SELECT pg_advisory_xact_lock_shared(77); SELECT true';
CREATE TABLE used.m_first (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (used.waited()));
CREATE TABLE used.m_second (id serial PRIMARY KEY, first int REFERENCES used.m_first);
INSERT INTO used.m_first DEFAULT VALUES;
INSERT INTO used.m_second (first) VALUES (1);
SQL
$holder = hold();
my $copying = start_sql($node, "SELECT table_name, rows FROM bench.clone_tables('super', 'moment_copy', '{used.m_first,used.m_second,used.m_none,used.m_generated,used.m_orphan}') ORDER BY 1", name => 'waiting');
wait_for($node, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE application_name = 'waiting'");
is(as($super, <<'SQL'), '', 'rows and keys that come meanwhile');
INSERT INTO used.m_second (first) VALUES (1), (1);
DELETE FROM used.m_orphan;
ALTER TABLE used.m_orphan ADD FOREIGN KEY (first) REFERENCES used.m_first;
CREATE UNIQUE INDEX ON used.m_orphan (first);
SQL
release($holder);
like((finish_sql($copying))[0], qr/^m_first\|1\nm_generated\|1\nm_none\|1\nm_orphan\|2\nm_second\|1\nshown\|20$/, 'are not copied');
is(as($super, "SELECT nextval('moment_copy.m_second_id_seq'), nextval(pg_get_serial_sequence('moment_copy.m_first', 'id'))"), '4|2', 'and sequences go on behind them');
like(as($super, "SELECT * FROM bench_internal.execute_in_one_snapshot('{SELECT FROM public.seen}', '{public.seen}'::regclass[]::oid[])"),
	qr/ERROR:  55000: relations have been renamed meanwhile: SELECT FROM public\.seen\n/, 'rows of other relations');
like(as($super, "SELECT * FROM bench_internal.execute_in_one_snapshot('{COMMIT}', '{}')"), qr/ERROR:  0A000: /, 'transaction control');
# What has a name that is no longer the same.
is(as($super, <<'SQL'), '', 'set up');
CREATE SCHEMA named;
CREATE FUNCTION named.same(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE INDEX ON used.m_orphan (named.same(first));
SQL
$holder = hold();
$copying = start_sql($node, "SELECT FROM bench.clone_tables('super', 'late_copy', '{used.m_first,used.m_orphan}')", name => 'waiting');
wait_for($node, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE application_name = 'waiting'");
is(as($super, 'ALTER FUNCTION named.same(int) RENAME TO other'), '', 'a function is renamed');
release($holder);
like((finish_sql($copying))[1], qr/ERROR:  40001: definitions have changed while tables were copied\n/, 'which is an error');
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	like(as($super, "BEGIN ISOLATION LEVEL $level;\nSELECT FROM bench.clone_tables('super', 'late_copy')"), qr/ERROR:  25000: tables cannot be copied with isolation level $level\n/, $level);
}
as($super, 'ALTER DATABASE postgres OWNER TO app');
like(as($super, "SELECT FROM bench.clone_tables('super', 'used_copy')"), qr/ERROR:  42501: must be owner of schema public\nDETAIL:  .*role app with/, 'not in public in a database of another role');
as($super, 'ALTER DATABASE postgres OWNER TO CURRENT_USER; GRANT CREATE ON DATABASE postgres TO app');
is(as($super, "SELECT string_agg(table_name, ' ') FROM bench.clone_tables('super', 'used_copy', '{used.by_rule,used.by_key}')"), 'by_key by_rule shown', 'what is not copied does not matter');
like(as($super, "SELECT FROM bench.clone_tables('super', 'used_copy_2', '{4242}')"), qr/ERROR:  42P01: table 4242 of workload "super" does not exist\n/, 'no table');
like(as($super, "SELECT FROM bench.clone_tables('super', 'used_copy_2', '{NULL}')"), qr/ERROR:  22004: tables must not be null\n/, 'a null');
is(as($super, "CREATE TEMP TABLE shown (a int);\nSELECT string_agg(table_name, ' ') FROM bench.clone_tables('super', 'view_copy', '{{public.seen},{used.by_key}}')"), 'by_key shown', 'an array of arrays, and a temporary table with the name of one that a view reads');
is(as($super, "SELECT table_name, rows FROM bench.clone_tables('super', 'super_copy')"), 'shown|20', 'own tables');
# What is in schemas that the workload does not use, with names that are quoted.
is(as($super, <<'SQL'), '', 'set up');
CREATE SCHEMA far;
CREATE TABLE far."b\s'x" (id serial PRIMARY KEY);
CREATE VIEW far.outside AS SELECT 1 AS id;
CREATE VIEW far.inside AS SELECT id FROM far."b\s'x";
CREATE OR REPLACE VIEW far.outside AS SELECT id FROM far.inside;
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE TABLE far.parted (a int) PARTITION BY LIST (a);
CREATE TABLE far.part PARTITION OF far.parted FOR VALUES IN (1);
CREATE FOREIGN TABLE far.away PARTITION OF far.parted FOR VALUES IN (2) SERVER nowhere;
SQL
is(as($super, "SELECT string_agg(table_name, ' ') FROM bench.clone_tables('super', 'far_copy', '{far.outside,far.parted}')"), "b\\s'x part shown", 'tables of another schema');
is(as($super, <<'SQL'), "nextval('far_copy.\"b\\s''x_id_seq\"'::regclass)|FROM far_copy.inside;|FROM far_copy.\"b\\s'x\";", 'with names of copies');
SELECT column_default, substring(pg_get_viewdef('far_copy.outside'::regclass) FROM 'FROM.*'), substring(pg_get_viewdef('far_copy.inside'::regclass) FROM 'FROM.*')
  FROM information_schema.columns WHERE table_schema = 'far_copy' AND table_name = E'b\\s\'x';
SQL
# A view may read what the role may not: another view, and a type.
is(as($super, <<'SQL'), '', 'set up');
CREATE TYPE used.duo AS (a int, b int);
GRANT USAGE ON SCHEMA used TO app;
CREATE TABLE app.of_duo (id int, p used.duo);
ALTER TABLE app.of_duo OWNER TO app;
CREATE VIEW used.inner_pairs AS SELECT id, (p).b FROM app.of_duo;
CREATE VIEW used.outer_pairs AS SELECT * FROM used.inner_pairs;
GRANT SELECT ON used.outer_pairs TO app;
CREATE TABLE used.unread (id int);
SQL
is((as('app', "SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('copied', 'pair_copy', '{used.outer_pairs}')"))[0], 'items of_duo', 'a view of a view');
like(as('app', "SELECT FROM bench.clone_tables('copied', 'unread_copy', '{used.unread}')"), qr/ERROR:  42501: permission denied for table unread\n/, 'not a table that one may not read');
# Nor do they lead a session back that has become their owner.
as('app', <<'SQL');
SET client_min_messages = error;
CREATE DOMAIN app.tells AS int CHECK (app.told(VALUE::text) IS NOT NULL);
CREATE TYPE app.teller AS (a app.tells);
CREATE VIEW app.constant AS SELECT '(1)'::app.teller AS c;
CREATE TABLE app.by_key (id int) PARTITION BY LIST ((id + ('(1)'::app.teller).a::int));
CREATE TABLE app.preset (id int DEFAULT nextval('app.numbers') + ('(1)'::app.teller).a::int);
CREATE TABLE app.checked (v text CHECK (app.told(v) IS NOT NULL));
INSERT INTO app.checked VALUES ('x');
SQL
($stdout, $stderr) = as($super, "SET ROLE app;\nSELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('copied', 'told_copy', '{app.constant,app.by_key,app.preset,app.checked}')");
is($stdout, 'checked items preset', 'tables whose definitions call functions');
like($stderr, qr/told by app\n/, 'which are called');
unlike($stderr, qr/told by (?!app\n)|ERROR/, 'as their owner');

# Names that others can give to something else.
is(as($super, <<'SQL'), '', 'set up');
CREATE SEQUENCE public.numbers;
CREATE FUNCTION public.lent(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE TABLE public.by_index (v text);
CREATE INDEX ON public.by_index (public.lent(v));
CREATE TABLE public.by_key (v text) PARTITION BY LIST (public.lent(v));
CREATE TABLE public.by_default (v text DEFAULT public.lent(nextval('public.numbers')::text));
CREATE VIEW public.plain_view AS SELECT v FROM public.shown;
CREATE VIEW public.by_view AS SELECT public.lent(v) FROM public.shown;
CREATE SCHEMA once;
CREATE FUNCTION once.lent(anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION once.lent(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
ALTER FUNCTION once.lent(anyelement) OWNER TO web;
CREATE TABLE once.by_other (v text);
CREATE INDEX ON once.by_other (once.lent(v COLLATE "C"));
CREATE VIEW once.of_both AS SELECT v FROM public.shown JOIN once.by_other USING (v);
SQL
my @named = qw(by_index by_key by_default by_view);
my $tables = join ',', map { "public.$_" } @named;
is(as($super, "SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('super', 'named_copy', '{$tables}')"), 'by_default by_index shown', 'names that they cannot give');
foreach my $creator ([ 'PUBLIC', 'Every role' ], [ 'web', 'Role web' ])
{
	as($super, "GRANT CREATE ON SCHEMA public TO $$creator[0]");
	like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{public.$_}')"),
		qr/ERROR:  42501: copying "public\.$_" would use function public\.lent\(text\) by its name\nDETAIL:  $$creator[1] could .*\nHINT:  Revoke the privilege CREATE/, "functions of others may fit better: $$creator[0], $_")
	  foreach @named;
	like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{public.plain_view}')"),
		qr/ERROR:  42501: copying "public\.plain_view" would use schema public by its name\nDETAIL:  $$creator[1] could /, "also if a view uses functions of pg_catalog: $$creator[0]");
	as($super, "REVOKE CREATE ON SCHEMA public FROM $$creator[0]");
}
like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{once.by_other}')"),
	qr/ERROR:  42501: copying "once\.by_other" would use function once\.lent\(text\) by its name\nDETAIL:  Role web could/, 'a function of another role that has the name');
as($super, 'ALTER FUNCTION once.lent(anyelement) OWNER TO CURRENT_USER');
is(as($super, "SELECT string_agg(table_name, ' ') FROM bench.clone_tables('super', 'both_copy', '{once.of_both}')"), 'by_other shown', 'a view of tables in two schemas');
as($super, 'GRANT CREATE ON SCHEMA once TO web; DROP INDEX once.by_other_lent_idx');
like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{once.of_both}')"),
	qr/ERROR:  42501: copying "once\.of_both" would use schema once by its name\nDETAIL:  Role web could/, 'not if one may hide names of the other');
is(as($super, <<'SQL'), '', 'set up');
CREATE SCHEMA typed;
GRANT USAGE, CREATE ON SCHEMA typed TO web;
SET ROLE web;
CREATE DOMAIN typed.harmless AS text;
RESET ROLE;
REVOKE CREATE ON SCHEMA typed FROM web;
CREATE FUNCTION typed.norm(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text)';
CREATE TABLE typed.indexed (v text);
CREATE INDEX ON typed.indexed (typed.norm(v));
CREATE TABLE typed.plain (v text);
CREATE VIEW typed.reads AS SELECT length(v) FROM typed.plain;
SQL
like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{typed.$$_[0]}')"), qr/ERROR:  42501: copying "typed\.$$_[0]" would use $$_[1] by its name\nDETAIL:  Role web could/, "a type that could be renamed: $$_[0]")
  foreach [ 'indexed', qr/function typed\.norm\(anyelement\)/ ], [ 'reads', 'schema typed' ];
is(as($super, <<'SQL'), '', 'set up');
CREATE FUNCTION typed.alike(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2';
CREATE OPERATOR typed.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = typed.alike);
CREATE TABLE typed.alike (v text);
CREATE INDEX ON typed.alike (typed.alike(v, 'x')) WHERE v OPERATOR(typed.===) 'y';
CREATE SCHEMA mixed;
CREATE TABLE mixed.of_web (v text);
ALTER TABLE mixed.of_web OWNER TO web;
CREATE TABLE mixed.counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text);
CREATE VIEW mixed.reads AS SELECT length(v) AS l, v FROM mixed.counted;
ALTER VIEW mixed.reads ALTER v SET DEFAULT nextval('mixed.counted_id_seq');
CREATE SCHEMA called;
CREATE AGGREGATE called._of_web("any") (SFUNC = int8inc_any, STYPE = int8, INITCOND = '0');
CREATE TABLE called.plain (v text);
CREATE VIEW called.reads AS SELECT called._of_web('{(1)}') FROM called.plain;
CREATE VIEW called.of_both AS SELECT called._of_web('{(1)}') FROM called.plain JOIN mixed.counted USING (v);
CREATE TABLE mixed.counted_with (id int DEFAULT nextval('mixed.counted_id_seq'));
SQL
($stdout, $stderr) = as($super, "SET client_min_messages = notice;\nSELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('super', 'mixed_copy', '{typed.alike,mixed.reads}')");
is($stdout, 'alike counted shown', 'calls that cannot be casts, and a view beside a table of another role');
like($stderr, qr/NOTICE:  .*not copied: defaults of views v of mixed\.reads\n/, '  a default that the copy does not have');
is(as($super, "SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('super', 'called_copy', '{called.reads}')"), 'plain shown', 'a call that can be a cast, but has no type with its name in its schema');
like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{called.of_both}')"), qr/ERROR:  42501: copying "called\.of_both" would use schema mixed by its name\nDETAIL:  Role web could/, '  but in another one of the view');
like(as($super, "SELECT FROM bench.clone_tables('super', 'named_copy_2', '{$$_[0]}')"), qr/ERROR:  0A000: cannot copy $$_[1]\n/, "$$_[0]")
  foreach [ 'mixed.counted,mixed.counted_with', qr/sequence "mixed\.counted_id_seq" because an identity column owns it/ ],
  [ 'mixed.counted_pkey', qr/index "mixed\.counted_pkey" without its table/ ];
is(as($super, "SET quote_all_identifiers = on;\nSELECT string_agg(table_name, ' ' ORDER BY table_name) FROM bench.clone_tables('super', 'quoted_copy', '{public.by_default}');\nRESET quote_all_identifiers;\nSELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'quoted_copy.by_default'::regclass"),
	"by_default shown\nlent((nextval('quoted_copy.numbers'::regclass))::text)", 'with names that are quoted always');
# Schemas in which others may create something.
as($super, 'ALTER DEFAULT PRIVILEGES GRANT CREATE ON SCHEMAS TO web');
like(as($super, "SELECT FROM bench.clone_tables('super', 'by_default')"), qr/ERROR:  42501: other roles may create objects in schema "by_default"\n/, 'by default privileges');
as($super, 'ALTER DEFAULT PRIVILEGES REVOKE CREATE ON SCHEMAS FROM web');
as($super, 'CREATE SCHEMA of_web AUTHORIZATION web; CREATE SCHEMA with_web; GRANT CREATE ON SCHEMA with_web TO web');
# Who comes after a schema that has been dropped.
is(as($super, "SELECT FROM bench.clone_tables('super', 'with_web_copy')"), '', 'copies');
my $execute = "SELECT state FROM bench.run('super', transactions => 1)";
is((as($super, $execute))[0], 'finished', '  for a run');
as($super, 'DROP SCHEMA with_web_copy CASCADE; CREATE SCHEMA with_web_copy AUTHORIZATION web');
like(as($super, $execute), qr/ERROR:  42501: other roles may create objects in schema "with_web_copy"\n/, '  but not in a schema of another role');
as($super, 'ALTER SCHEMA with_web_copy OWNER TO CURRENT_USER; CREATE TABLE with_web_copy.shown (LIKE public.shown); ALTER TABLE with_web_copy.shown OWNER TO web');
like(as($super, $execute), qr/ERROR:  42501: must be owner of table with_web_copy\.shown\n/, '  nor with a table of another role');
# Privileges on the copies with which others could have their functions called.
as($super, 'DROP SCHEMA with_web_copy CASCADE; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO web, PUBLIC; CREATE SCHEMA with_web_copy; GRANT USAGE ON SCHEMA with_web_copy TO web');
is(as($super, "SELECT FROM bench.clone_tables('super', 'with_web_copy', '{public.plain_view}')"), '', 'copies, with default privileges');
as($super, 'ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM web, PUBLIC');
is(as($super, "SELECT string_agg(DISTINCT p, ' ') FROM pg_class c, unnest('{INSERT,REFERENCES,TRIGGER}'::text[]) p WHERE relnamespace = 'with_web_copy'::regnamespace AND relkind IN ('r', 'v') AND has_table_privilege('web', c.oid, p)"), 'INSERT', '  but for those');
is((as($super, $execute))[0], 'finished', '  can be used');
like(as($super, "SELECT FROM bench.clone_tables('super', '\$user')"), qr/ERROR:  42939: unacceptable schema name "\$user"\n/, 'a name that stands for another schema');
foreach my $schema ('of_web', 'with_web')
{
	like(as($super, "SELECT FROM bench.clone_tables('super', '$schema')"),
		qr/ERROR:  42501: other roles may create objects in schema "$schema"\n/, "not into schema $schema");
}
like(as($super, "CREATE TEMP TABLE mine (v text);\nSELECT FROM bench.clone_tables('super', 'named_copy_2', '{mine}')"), qr/ERROR:  0A000: cannot copy table "mine" because it is temporary\n/, 'a temporary table');

# Membership is needed each time, also at the end of a window.
$reset->();
my $waiting = start_sql($node, "SELECT FROM bench.capture_workload('mine', period => '5 s', roles => '{app}')", user => 'member', name => 'member');
wait_for($node, "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE application_name = 'member'");
as($super, 'REVOKE app FROM member');
like((finish_sql($waiting))[1], qr/ERROR:  42501: permission denied for role "app"/, 'revoked in the window');
like(as('member', "SET ROLE app;\nSELECT bench.run('mine', transactions => 1)"), qr/ERROR:  42501: permission denied to set role "app"/, 'no longer a member');
like(as('member', $capture->(q('{app}'))), qr/ERROR:  42501: permission denied for role "app"/, 'nor another capture');
nothing_left_ok($node, 'capture_roles');
done_testing();
