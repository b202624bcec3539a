# Captured workloads with statements of several roles: each transaction has the rights of its role. Functions of one role
# get no rights of another one, and leave nothing behind that transactions of another role would execute.
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
max_worker_processes = 16
CONF

# SQL as a role: its standard output and standard error.
sub as
{
	my ($role, $sql) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET client_min_messages = warning;\n$sql", extra_params => [ '-U', $role ]);
	return $stdout . $stderr;
}

my $super = $node->safe_psql('postgres', 'SELECT current_user');

# The boss may become "web user", who must not become the boss.
as($super, <<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE ROLE boss LOGIN;
CREATE ROLE "web user" LOGIN;
CREATE ROLE third;
CREATE SCHEMA boss AUTHORIZATION boss;
CREATE SCHEMA web AUTHORIZATION "web user";
CREATE SCHEMA evil AUTHORIZATION "web user";
GRANT USAGE ON SCHEMA boss, web, evil TO PUBLIC;
GRANT CREATE, TEMP ON DATABASE postgres TO boss, "web user";
SELECT bench.grant_to('boss');
CREATE TABLE boss.secret (i int);
CREATE TABLE boss.notes (id int PRIMARY KEY, note text);
INSERT INTO boss.notes SELECT i, 'note' FROM generate_series(1, 100) i;
ALTER TABLE boss.secret OWNER TO boss;
ALTER TABLE boss.notes OWNER TO boss;
SET ROLE "web user";
CREATE TABLE web.items (id int PRIMARY KEY, n int);
CREATE SEQUENCE web.numbers;
INSERT INTO web.items SELECT i, 0 FROM generate_series(1, 100) i;
CREATE TABLE web.log (what text, who text, told text);
GRANT INSERT ON web.log TO PUBLIC;
CREATE PROCEDURE web.commits() LANGUAGE plpgsql AS 'BEGIN COMMIT; INSERT INTO web.log VALUES ($$commits$$, current_user, $$committed$$); END';
CREATE FUNCTION web.attempt(ways text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	way text;
	told text;
BEGIN
	FOREACH way IN ARRAY ways LOOP
		told := 'done';
		BEGIN
			EXECUTE way;
		EXCEPTION WHEN OTHERS THEN
			told := SQLSTATE;
		END;
		INSERT INTO log VALUES (way, current_user, told);
	END LOOP;
END $$;
CREATE FUNCTION web.ways() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY[
	'RESET ROLE', 'SET ROLE boss', 'SET ROLE NONE', 'SET LOCAL ROLE boss', 'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION boss',
	'SET SESSION AUTHORIZATION DEFAULT', 'SET LOCAL SESSION AUTHORIZATION boss', 'DISCARD ALL', 'CALL web.commits()',
	'DO $d$ BEGIN COMMIT; END $d$', 'SELECT set_config(''role'', ''boss'', false)', 'SELECT set_config(''role'', ''none'', true)',
	'SELECT set_config(''session_authorization'', ''boss'', false)', 'INSERT INTO boss.secret VALUES (1)'] $$;
CREATE FUNCTION web.tries() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM web.attempt(web.ways()); RETURN 1; END';
CREATE FUNCTION web.counts() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN nextval((''num'' || ''bers'')::regclass); END';
CREATE FUNCTION web.of_third() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN PERFORM web.attempt(web.ways()); RETURN 2; END';
-- What could be left behind: a search_path, a temporary table, a transaction that may write.
CREATE FUNCTION evil.strike() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN INSERT INTO web.log VALUES ($$evil$$, current_user, NULL); RETURN 3; END';
CREATE VIEW evil.notes AS SELECT evil.strike() AS id, 'x'::text AS note;
GRANT SELECT ON evil.notes TO PUBLIC;
CREATE FUNCTION web.leaves() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'evil, web', false), set_config('default_transaction_read_only', 'off', false),
		set_config('standard_conforming_strings', 'off', false), set_config('my.setting', 'x', false);
	IF to_regclass('pg_temp.notes') IS NULL THEN
		EXECUTE 'CREATE TEMP VIEW notes AS SELECT evil.strike() AS id, $s$x$s$::text AS note';
		EXECUTE 'GRANT SELECT ON pg_temp.notes TO PUBLIC';
	END IF;
	RETURN 4;
EXCEPTION WHEN read_only_sql_transaction THEN
	RETURN 5;
END $$;
CREATE FUNCTION web.deferred() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO web.log VALUES ('deferred', current_user, NULL);
	PERFORM web.attempt(web.ways());
	PERFORM web.leaves();
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deferred AFTER UPDATE ON web.items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION web.deferred();
RESET ROLE;
ALTER FUNCTION web.of_third() OWNER TO third;
SQL

# What the log says: who it was, where something was done.
sub logged
{
	my $log = as($super, q(SELECT string_agg(DISTINCT who, ', ' ORDER BY who), count(*) > 0, count(*) FILTER (WHERE what = 'evil' AND who <> 'web user'),
		string_agg(DISTINCT what, '; ') FILTER (WHERE told = 'done') FROM web.log));
	as($super, 'TRUNCATE web.log');
	return $log;
}

my $path = 'SET search_path = boss, web;';
sub executed
{
	as($super, 'SELECT pg_stat_statements_reset()');
	foreach (1 .. 3)
	{
		as('web user', "$path $_") foreach 'SELECT counts()', 'SELECT leaves()', 'SELECT tries()', 'SELECT of_third()', 'UPDATE items SET n = n + 1 WHERE id = 7', 'SELECT n FROM items WHERE id = 8';
		as('boss', "$path SELECT note FROM notes WHERE id = 5; UPDATE notes SET note = 'b' WHERE id = 6;");
	}
	return;
}

# Statements of deferred triggers are top-level ones to the server.
executed();
logged();
my $capture = q(SELECT status, reason, query FROM bench.capture_workload('both', period => NULL, search_path => 'boss, web', roles => '{web user}') WHERE query !~ '^\d+ statements|web\.' ORDER BY query);
like(as('boss', $capture), qr/ERROR:  42501: permission denied for statements of role "web user"\nHINT:/, 'not a member');
like(as('boss', $capture =~ s/web user/nobody/r), qr/ERROR:  42704: role "nobody" does not exist/, 'no such role');
like(as('boss', $capture =~ s/'\{web user\}'/'{NULL}'/r), qr/ERROR:  22004: roles must not be null/, 'a null');
as($super, 'GRANT "web user" TO boss');
is(as('boss', $capture =~ s/, roles => .*?\)/)/r), "captured||SELECT note FROM notes WHERE id = \$1\ncaptured||UPDATE notes SET note = \$1 WHERE id = \$2", 'own statements only');
is(as('boss', $capture), join("\n", map { "captured||$_" } 'SELECT counts()', 'SELECT leaves()', 'SELECT n FROM items WHERE id = $1', 'SELECT note FROM notes WHERE id = $1',
	'SELECT of_third()', 'SELECT tries()', 'UPDATE items SET n = n + $1 WHERE id = $2', 'UPDATE notes SET note = $1 WHERE id = $2') =~ s/(captured)\|\|(UPDATE items)/$1|approximate|$2/r,
	'statements of both roles');
is(as('boss', q(SELECT role, count(*) FROM bench.captured_statements WHERE queryid IS NOT NULL GROUP BY role ORDER BY 2)), qq(boss|2\n"web user"|8), 'by role');
is(as($super, 'SELECT count(*) FROM web.log'), '0', 'the capture has executed nothing');

# Where there are no workers of this server.
like(as('boss', "SELECT bench.run('both', mode => 'libpq', transactions => 1, allow_writes => true)"),
	qr/ERROR:  22023: the workload has statements of several roles\nHINT:  .*mode => 'spi'/, 'not in mode libpq');

# On the tables themselves.
foreach my $options ('', ", protocol => 'simple'", ", protocol => 'extended', per_statement => true", ', observe => false')
{
	is(as('boss', "SELECT state, transactions, failed FROM bench.run('both', clients => 2, transactions => 200, allow_writes => true$options)"), 'finished|400|0', "run$options");
	is(logged(), 'third, web user|t|0|', "each function had the rights of its role, and no others$options");
}
is(as($super, 'SELECT count(*) FROM boss.secret'), '0', 'the secret is safe');

# On copies.
is(as('boss', "SELECT count(*) FROM bench.clone_tables('both', 'copies', tables => '{web.log,web.numbers}')"), '3', 'copied');
is(as($super, q(SELECT string_agg(p, ',') FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) p WHERE has_table_privilege('web user', 'copies.items', p))),
	'SELECT,INSERT,UPDATE,DELETE', 'with the rights on the originals');
is(as($super, q(SELECT count(*) FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) p WHERE has_table_privilege('web user', 'copies.notes', p))), '0', 'not more');
as($super, 'GRANT USAGE ON SCHEMA copies TO third; GRANT INSERT ON copies.log TO third');
my $originals = q(SELECT (SELECT sum(n) FROM web.items), (SELECT string_agg(note, '' ORDER BY id) FROM boss.notes), (SELECT count(*) FROM web.log), (SELECT last_value FROM web.numbers));
my $before = as($super, $originals);
my $run_id = as('boss', "SELECT run_id FROM bench.run('both', clients => 2, transactions => 200)");
is(as('boss', "SELECT state, transactions, failed FROM bench.runs WHERE run_id = $run_id"), 'finished|400|0', 'run on the copies');
is(as($super, $originals), $before, 'no original has changed');
is(as($super, q(SELECT string_agg(DISTINCT who, ', ' ORDER BY who), EXISTS (SELECT FROM copies.items c JOIN web.items i USING (id) WHERE c.n <> i.n) FROM copies.log)), 'third, web user|t', 'the copies have');
unlike(as('boss', "SELECT judgement FROM bench.validate_workload('both', $run_id)"), qr/not measured/, 'each statement is measured');

# Scripts that were not captured, and what they can do.
sub made
{
	my ($script, $options) = @_;
	my $manifest = q({"description": "x", "unit": "x", "max_scale": 1, "size": {"table_mb": 0, "index_mb": 0},
		"captured": {"search_path": "boss, web", "writes": true},
		"mixes": [{"name": "made", "description": "x", "scripts": [{"name": "a", "weight": 1, "role": "web user"}, {"name": "b", "weight": 1}]}]});
	my $own = "INSERT INTO log VALUES (\$\$own\$\$, current_user, NULL);";
	$script =~ s/'/''/g;
	return as('boss', "SELECT bench.define_workload('made', '$manifest', '', '', jsonb_build_object('a', '$script'::text, 'b', '$own'::text));
		SELECT state, failed > 0 FROM bench.run('made', transactions => 40, seed => 3, allow_writes => true, continue_on_error => true$options);
		SELECT state FROM bench.run('made', transactions => 40, seed => 3, allow_writes => true$options)");
}

my $insert = q(INSERT INTO log VALUES ('a', current_user, NULL););
foreach my $case (
	[ $insert, qr/^finished\|f\nfinished\n?\z/m ],
	[ "BEGIN;\n$insert\nSAVEPOINT a;\n$insert\nROLLBACK TO a;\n$insert\nCOMMIT;", qr/^finished\|f\nfinished\n?\z/m ],
	[ "BEGIN ISOLATION LEVEL SERIALIZABLE;\n$insert\nROLLBACK;", qr/^finished\|f\nfinished\n?\z/m ],
	[ "$insert\nSELECT 1 / 0;", qr/^finished\|t[\s\S]*division by zero/m ],
	[ "BEGIN;\n$insert\nSELECT 1 / 0;\nCOMMIT;", qr/^finished\|t[\s\S]*division by zero/m ],
	[ "\\startpipeline\n$insert\n$insert\n\\endpipeline", qr/^finished\|f\nfinished\n?\z/m, ", protocol => 'extended'" ],
	[ "$insert\\; $insert", qr/^finished\|f\nfinished\n?\z/m, ", protocol => 'simple'" ],
	[ "DO \$\$ BEGIN INSERT INTO log VALUES ('do', current_user, NULL); END \$\$;", qr/^finished\|f\nfinished\n?\z/m ],
	[ "DO \$\$ BEGIN COMMIT; END \$\$;", qr/^finished\|t[\s\S]*invalid transaction termination/m ],
	[ 'CALL commits();', qr/^finished\|t[\s\S]*invalid transaction termination/m ],
	[ 'CALL commits();', qr/^finished\|t[\s\S]*invalid transaction termination/m, ", protocol => 'simple'" ],
	[ "BEGIN;\n$insert\nCOMMIT AND CHAIN;\n$insert\nCOMMIT;", qr/^finished\|t[\s\S]*cannot chain transactions/m ],
	[ "BEGIN;\n$insert\nROLLBACK AND CHAIN;\n$insert\nCOMMIT;", qr/^finished\|t[\s\S]*cannot chain transactions/m ],
	[ 'SET ROLE boss;', qr/^finished\|t[\s\S]*cannot set parameter .*"role/m ],
	[ 'RESET ROLE;', qr/^finished\|t[\s\S]*cannot set parameter .*"role/m ],
	[ 'SET SESSION AUTHORIZATION DEFAULT;', qr/^finished\|t[\s\S]*cannot set parameter .*"session_authorization/m ],
	[ 'DISCARD ALL;', qr/^finished\|t[\s\S]*cannot execute the statement in mode "spi"/m ],
	[ 'SELECT leaves();', qr/^finished\|f\nfinished\n?\z/m ],
	[ 'UPDATE items SET n = 1 WHERE id = 3;', qr/^finished\|f\nfinished\n?\z/m ],
	[ 'LISTEN x;', qr/^finished\|t[\s\S]*cannot execute LISTEN/m ])
{
	my ($script, $expected, $options) = @$case;
	like(made($script, $options // ''), $expected, $script =~ s/\n/ /gr);
	is(as($super, q(SELECT count(*) FROM web.log WHERE who <> CASE what WHEN 'own' THEN 'boss' ELSE 'web user' END)), '0', 'with the rights of its role');
	is(as($super, q(SELECT count(*) > 0 FROM web.log WHERE what = 'own')), 't', 'as have own transactions');
	logged();
}

# The rights are needed when it runs, too.
as($super, 'REVOKE "web user" FROM boss');
like(as('boss', "SELECT bench.run('both', transactions => 1)"), qr/ERROR:  42501: permission denied for statements of role "web user"/, 'no longer a member');
SKIP:
{
	skip('SET is an option of a membership from 16 on', 1) if $node->pg_version < 16;
	as($super, 'GRANT "web user" TO boss WITH SET FALSE');
	like(as('boss', "SELECT bench.run('both', transactions => 1)"), qr/ERROR:  42501: permission denied for statements of role "web user"/, 'a member without SET');
}

nothing_left_ok($node, 'at the end');
done_testing();
