# The same scripts in both modes and in pgbench: the same rows and the same error
# messages.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('scripts', "fsync = off\n");
# Without autovacuum, rows stay in the order in which they were inserted.
$node->safe_psql('postgres', 'CREATE TABLE lines (line text) WITH (autovacuum_enabled = off)');

# Procedures that commit: on their own, in a loop over a query, and in a failing one.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parents (i int PRIMARY KEY);
	CREATE TABLE children (i int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
	CREATE PROCEDURE commits(a int, INOUT b text, INOUT c int = NULL) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO lines VALUES ('committed ' || a || b);
		COMMIT;
		INSERT INTO lines VALUES ('rolled back');
		ROLLBACK;
		INSERT INTO lines VALUES ('at the end');
		b := b || ' ' || a;
	END $$;
	CREATE PROCEDURE loops(last int, divisor int = 1) LANGUAGE plpgsql AS $$
	DECLARE
		i int;
	BEGIN
		FOR i IN SELECT generate_series(1, last) LOOP
			INSERT INTO lines VALUES ('round ' || i);
			COMMIT;
		END LOOP;
		INSERT INTO lines VALUES (1 / divisor);
	END $$;
	CREATE PROCEDURE naps() LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 100 LOOP
			PERFORM pg_sleep(0.05);
			COMMIT;
		END LOOP;
	END $$;
	CREATE PROCEDURE levels() LANGUAGE plpgsql AS $$
	BEGIN
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
		INSERT INTO lines VALUES (current_setting('transaction_isolation'));
		COMMIT AND CHAIN;
		INSERT INTO lines VALUES (current_setting('transaction_isolation'));
		COMMIT;
		INSERT INTO lines VALUES (current_setting('transaction_isolation'));
	END $$;
	CREATE PROCEDURE replaces_itself() LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE pg_get_functiondef('replaces_itself'::regproc);
		COMMIT;
		INSERT INTO lines VALUES ('replaced');
	END $$;
	CREATE PROCEDURE fails_late() LANGUAGE plpgsql AS $$
	BEGIN
		COMMIT;
		INSERT INTO children VALUES (1);
		COMMIT;
	END $$;
	CREATE PROCEDURE commits_in_subtransaction() LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			INSERT INTO lines VALUES ('rolled back');
			COMMIT;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END $$;
	CREATE PROCEDURE commits_as_another() SECURITY DEFINER LANGUAGE plpgsql AS 'BEGIN COMMIT; END'});

# Name, protocols, script.  Two transactions with seed 42.
my @scripts = (
	[ 'gset', 'simple extended prepared', <<'EOS' ],
select 7 as a, null as b \gset p_
\set c :p_a + 1
insert into lines values ('c ' || :c::int::text);
EOS
	[ 'gset as text', 'simple', <<'EOS' ],
select 'x y' as a, null as b, 1.50 as c \gset
insert into lines values (':a <:b> :c');
insert into lines values ('r') returning line as k \gset
insert into lines values (':k:k');
show transaction_isolation \gset
insert into lines values (':transaction_isolation');
EOS
	[ 'aset', 'simple', <<'EOS' ],
select 1 as a \; select 2 as b where false \; select generate_series(1,3) as c \aset q_
insert into lines values (':q_a :q_c :q_b');
EOS
	[ 'one row', 'simple extended prepared', 'select 1 where false \gset' ],
	[ 'name', 'simple extended prepared', 'select 1 \gset' ],
	[ 'statements sent together', 'simple', <<'EOS' ],
\set x random(1, 1000)
begin \; insert into lines values ('block :x') \; end;
insert into lines values ('a') \; savepoint s \; insert into lines values ('b');
EOS
	[ 'blocks', 'simple', <<'EOS' ],
begin;
insert into lines values ('1') \; savepoint s \; insert into lines values ('2') \; rollback to s;
end;
start transaction isolation level serializable \; show transaction_isolation \gset
insert into lines values (':transaction_isolation');
commit and chain;
insert into lines values ('gone');
rollback;
EOS
	[ 'isolation level set in a block', 'simple extended prepared', <<'EOS' ],
begin;
set transaction isolation level repeatable read;
lock table lines in share row exclusive mode;
set transaction isolation level serializable;
insert into lines values (current_setting('transaction_isolation'));
end;
EOS
	[ 'isolation level set too late', 'simple extended prepared', <<'EOS' ],
begin;
insert into lines values ('gone');
set transaction isolation level serializable;
end;
EOS
	[ 'statement_timeout set back', 'simple extended prepared', <<'EOS' ],
set statement_timeout = '600 ms';
set statement_timeout = 0;
select pg_sleep(0.8);
insert into lines values ('not canceled');
EOS
	[ 'statement_timeout set back by a function', 'simple extended prepared', <<'EOS' ],
select set_config('statement_timeout', '600 ms', false);
select set_config('statement_timeout', '0', false);
\sleep 800 ms
insert into lines values ('not canceled');
EOS
	[ 'settings in a pipeline', 'extended prepared', <<'EOS' ],
\startpipeline
set my.own = 'mine';
insert into lines values (current_setting('my.own'));
set local my.own = 'local';
insert into lines values (current_setting('my.own'));
\endpipeline
insert into lines values (current_setting('my.own'));
EOS
	[ 'lock outside of a block', 'simple extended prepared', 'lock table lines;' ],
	[ 'transaction control with variables', 'simple', <<'EOS' ],
\set n random(1, 9)
begin /* :n */;
savepoint s:n;
insert into lines values ('gone');
rollback to s:n;
set my.own = ':n';
insert into lines values (current_setting('my.own'));
end;
EOS
	[ 'parameter in a comment', 'extended prepared', 'begin /* :client_id */; end;' ],
	[ 'error among several', 'simple', <<'EOS' ],
insert into lines values ('1') \; select 1/0 \; insert into lines values ('2');
EOS
	[ 'pipeline', 'extended prepared', <<'EOS' ],
\set x random(1, 1000)
\startpipeline
insert into lines values ('a' || :x::int);
insert into lines values ('b' || (:x + 1)::int);
\endpipeline
begin;
\startpipeline
insert into lines values ('c');
commit;
\endpipeline
EOS
	[ 'error in a pipeline', 'extended prepared', <<'EOS' ],
\startpipeline
insert into lines values ('rolled back');
select 1/0;
insert into lines values ('skipped');
\endpipeline
EOS
	[ 'pipeline left open', 'extended prepared', "\\startpipeline\nselect 1;" ],
	[ 'no pipeline', 'simple', "\\startpipeline\n\\endpipeline" ],
	[ 'parameters in quotes', 'extended', "\\set x 1\nselect ':x';" ],
	[ 'procedure that commits', 'simple extended prepared', <<'EOS' ],
\set x random(1, 1000)
call commits(:x::int, 'x', null);
/* and */ call loops(:x::int % 3 + 1);
call loops(2);
insert into lines values ('after');
EOS
	[ 'row of a procedure that commits', 'simple extended prepared', <<'EOS' ],
\set x random(1, 1000)
\set c 0
call commits(:x::int, 1::text, :x::int + 1) \gset
insert into lines values (:c::int::text);
call commits(1, 'x') \gset p_
EOS
	[ 'text of a procedure that commits', 'simple', <<'EOS' ],
call commits(1, 'x') \aset
insert into lines values (':b <:c>');
EOS
	[ 'no row of a procedure', 'simple extended prepared', 'call loops(1) \gset' ],
	[ 'DO that commits', 'simple extended prepared', <<'EOS' ],
do $$
declare
	a text := 'a';
begin
	insert into lines values (a);
	commit;
	insert into lines values ('gone');
	rollback;
end $$;
EOS
	[ 'isolation levels in a procedure', 'simple extended prepared', 'call levels();' ],
	[ 'isolation level that a DO sets too late', 'simple extended prepared', <<'EOS' ],
do $$ begin set transaction isolation level serializable; end $$;
EOS
	[ 'procedure that replaces itself', 'simple extended prepared', 'call replaces_itself();' ],
	[ 'procedure in a block', 'simple extended prepared', <<'EOS' ],
insert into lines values ('before');
begin;
insert into lines values ('gone');
call loops(1);
end;
EOS
	[ 'procedure in a failed block', 'simple extended prepared', "begin;\n\\set x 1\ncall loops(:x::int);\nend;" ],
	[ 'procedure among several', 'simple', "insert into lines values ('gone') \\; call loops(1);" ],
	[ 'procedure behind a commit', 'simple', "begin \\; end \\; call loops(1);" ],
	[ 'procedures in a pipeline', 'extended prepared', <<'EOS' ],
\startpipeline
call commits(1, 'x', null);
\endpipeline
\startpipeline
call loops(2);
insert into lines values ('rolled back');
select 1/0;
\endpipeline
EOS
	[ 'procedure behind a statement of a pipeline', 'extended prepared', <<'EOS' ],
\startpipeline
insert into lines values ('before');
call loops(2);
select 1/0;
\endpipeline
EOS
	[ 'error in a procedure', 'simple extended prepared', "\\set x 0\ncall loops(2, :x::int);" ],
	[ 'error in a DO', 'simple', 'do $$ begin insert into lines values (1); commit; perform 1/0; end $$;' ],
	[ 'error of a commit in a procedure', 'simple extended prepared', 'call fails_late();' ],
	[ 'commit in a subtransaction', 'simple extended prepared', 'call commits_in_subtransaction();' ],
	[ 'commit as another role', 'simple extended prepared', 'call commits_as_another();' ],
	[ 'no such procedure', 'simple extended', 'call nothing(1);' ],
	[ 'argument of a procedure', 'extended prepared', "select 'x' as x \\gset\ncall loops(:x);" ],
	[ 'statement_timeout of a procedure', 'simple extended prepared', <<'EOS' ],
set statement_timeout = '600 ms';
call naps();
EOS
	[ 'shell', 'simple extended prepared', <<'EOS' ],
\setshell v echo 41
\set v :v + 1
\shell test :v -eq 42
insert into lines values ('v ' || :v::int::text);
EOS
	[ 'shell that fails', 'simple', '\shell false' ],
	[ 'block left open', 'simple', "begin;\nselect 1;" ],);

foreach (@scripts)
{
	my ($name, $protocols, $body) = @$_;
	my $file = PostgreSQL::Test::Utils::tempdir . '/script.sql';
	PostgreSQL::Test::Utils::append_to_file($file, '');
	open my $out, '>', $file or die $!;
	print $out $body;
	close $out;

	foreach my $protocol (split / /, $protocols)
	{
		my ($stdout, $stderr) = ('', '');
		IPC::Run::run(
			[
				$node->installed_command('pgbench'), '-n', '-t', 2, '--random-seed=42', '-M',
				$protocol, '-f', $file, $node->connstr('postgres')
			],
			'>', \$stdout, '2>', \$stderr);
		# pgbench has several lines where there is one reason here.
		my @words = map { s/^pgbench: error: //r } grep { /^pgbench: error: / } split /\n/, $stderr;
		pop @words if @words && $words[-1] =~ /^Run was aborted/;
		# Messages of the server are passed on.
		my $told = $stderr =~ /^(?:NOTICE|WARNING):  /m;
		my $expected = lines($node);

		foreach my $mode (qw(spi libpq))
		{
			my (undef, undef, $complaint) = $node->psql(
				'postgres', qq{
				SET client_min_messages = error;
				SELECT bench.define_script('x', \$body\$$body\$body\$);
				RESET client_min_messages;
				SELECT * FROM bench.run('x', mode => '$mode', protocol => '$protocol',
				                        transactions => 2, seed => '42')});
			is(lines($node), $expected, "$name, $protocol, $mode: rows");
			is_deeply([ grep { index($complaint, $_) < 0 } @words ],
				[], "$name, $protocol, $mode: words")
			  or diag $complaint;
			is($complaint eq '', !@words && !$told, "$name, $protocol, $mode: complaints");
		}
	}
}
# If the server closes a connection, the statement in progress fails.
foreach (
	[ 0, 'select pg_terminate_backend(pg_backend_pid());' ],
	[ 1, 'select 1 \; select pg_terminate_backend(pg_backend_pid());' ])
{
	my ($query, $body) = @$_;
	my (undef, undef, $complaint) = $node->psql(
		'postgres', qq{
		SELECT bench.define_script('x', \$body\$$body\$body\$);
		SELECT * FROM bench.run('x', mode => 'libpq', protocol => 'simple', transactions => 1)});
	like($complaint,
		qr/client 0 script 0 aborted in command 0 query $query: FATAL:  terminating connection/,
		"query $query ends its connection");
}

# Between statements, a cancel request has no effect.
$node->safe_psql('postgres', q{SELECT bench.define_script('naps', E'\\\\sleep :nap s')});
foreach my $mode (qw(spi libpq))
{
	my $client = $mode eq 'spi' ? 'pg_selfbench spi client' : 'client backend';
	my $result;
	in_time_ok(
		"$mode: a client that sleeps",
		sub {
			my $run = $node->safe_psql('postgres',
				"SELECT bench.start('naps', mode => '$mode', transactions => 2, variables => '{\"nap\": $_[0]}')");
			my $phase = "SELECT phase FROM bench.progress WHERE run_id = $run";
			wait_for($node, "SELECT coalesce(($phase), 'ended') IN ('running', 'ended')");
			$node->safe_psql('postgres',
				"SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
				  . " WHERE pid <> pg_backend_pid() AND application_name LIKE 'pg_selfbench%' AND backend_type = '$client'");
			my $is_in_time = $node->safe_psql('postgres', $phase) eq 'running';
			$result = $node->safe_psql('postgres', "SELECT state, transactions FROM bench.wait($run)");
			return $is_in_time;
		});
	is($result, 'finished|2', "$mode: a client that sleeps is not to be canceled");
}

# A statement that has waited for a lock sees what was committed meanwhile.  The first transaction
# makes the plan that the second one executes.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE watched (a int);
	SELECT bench.define_script('watch', 'insert into lines select count(*)::text from watched;'
		'select pg_advisory_xact_lock_shared(1);')});
foreach my $mode (qw(spi libpq))
{
	my $blocked = q{WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = '%s') LOOP
				PERFORM pg_sleep(0.01); END LOOP};
	$node->safe_psql(
		'postgres', sprintf(qq{
		TRUNCATE watched;
		SELECT pg_advisory_lock(1);
		SELECT bench.start('watch', mode => '$mode', transactions => 2, vacuum => 'none') AS run \\gset
		DO \$\$ BEGIN $blocked; END \$\$;
		BEGIN;
		LOCK TABLE watched;
		INSERT INTO watched VALUES (1);
		SELECT pg_advisory_unlock(1);
		DO \$\$ BEGIN $blocked; END \$\$;
		COMMIT;
		SELECT bench.wait(:run)}, 'advisory', 'relation'));
	is(lines($node), "0\n1", "$mode: the snapshot is not older than the locks");
}

# A prepared statement always returns the same columns.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE grows (a int);
	SELECT bench.define_script('grow', 'select * from grows; alter table grows add b int;')});
foreach my $mode (qw(spi libpq))
{
	my (undef, $result) = $node->psql('postgres',
		"SELECT transactions, state FROM bench.run('grow', mode => '$mode', transactions => 2)");
	is($result, '1|failed', "$mode: other columns than when it was prepared");
	like($node->safe_psql('postgres', 'SELECT errors FROM bench.runs ORDER BY run_id DESC LIMIT 1'),
		qr/cached plan must not change result type/, "$mode: the reason");
	$node->safe_psql('postgres', 'ALTER TABLE grows DROP COLUMN b');
}

ok(wait_until_quiet($node), 'no process is left');

# The lines that a script has written, which are removed.
sub lines
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		'WITH gone AS (DELETE FROM lines RETURNING line) SELECT line FROM gone');
}

done_testing();
