# Common code of the TAP tests: servers with the extension, SQL that runs in the
# background, pgbench's invariants, figures of a run that must agree, and waiting
# until the extension's processes have exited.
package SelfBench;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(needs_extensions has_module new_bench_node start_sql finish_sql has_ended signal_sql told_ok backend_of remove_data
  wait_for as_soon_as wait_for_transactions in_time_ok comes_before_end latest_run columns_of copy_rows sql_as error_as extension_objects lines_without
  start_after_kill invariants invariants_ok figures_ok next_run_ok wait_until_quiet nothing_left_ok
  is_running loader_writes_keys);

# How long to wait for anything, also in a session of background_psql in all: a busy machine
# takes minutes for what takes seconds.
$PostgreSQL::Test::Utils::timeout_default = 600 if !$ENV{PG_TEST_TIMEOUT_DEFAULT};
$ENV{PGCTLTIMEOUT} //= 600;

# Skips the whole test unless these optional extensions are installed.
sub needs_extensions
{
	my ($directory) = run_command([ 'pg_config', '--sharedir' ]);
	my @missing = grep { !-f "$directory/extension/$_.control" } @_;
	plan skip_all => 'the server has no extension ' . join(', ', @missing) if @missing;
	return;
}

# Whether the server has this module, which may be one without an extension.
sub has_module
{
	my ($name) = @_;
	my ($directory) = run_command([ 'pg_config', '--pkglibdir' ]);
	return -f "$directory/$name.so";
}

# Whether the loader knows the pages of the server's B-trees, and writes primary keys itself.
sub loader_writes_keys
{
	my ($node) = @_;
	my %known = map { $_ => 1 } 15, 17, 18;
	return $known{ int $node->pg_version };
}

# A running server with the extension created in database postgres.
#   name, lines of postgresql.conf, named arguments of PostgreSQL::Test::Cluster's init
sub new_bench_node
{
	my ($name, $conf, %init) = @_;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_selfbench');
	return $node;
}

# Starts a server whose postmaster was killed, when its other processes have noticed; returns whether
# it starts.
sub start_after_kill
{
	my ($node) = @_;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $node->start(fail_ok => 1);
		# It takes the process that was killed for a running server.
		$node->{_pid} = undef;
		usleep(100_000);
	}
	return 0;
}

# Removes the data of servers that have been stopped, which take much space, unless a test has
# failed.
sub remove_data
{
	$_->clean_node foreach PostgreSQL::Test::Utils::all_tests_passing() ? @_ : ();
	return;
}

# Starts SQL in a separate psql and returns immediately.  Named arguments:
#   name      application_name of the session
#   database  postgres by default
#   user      the role; the superuser by default
# To be ended with finish_sql.  Errors are shown with their SQLSTATE.
sub start_sql
{
	my ($node, $sql, %with) = @_;

	my $connection = $node->connstr($with{database} // 'postgres');
	$sql .= ";\n\\q\n";
	$connection .= " user=$with{user}" if defined $with{user};
	$connection .= " application_name=$with{name}" if defined $with{name};
	my %session = (stdout => '', stderr => '', name => $with{name}, node => $node);
	$session{timer} = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$session{run} = IPC::Run::start(
		[
			$node->installed_command('psql'), qw(-XAtq -v VERBOSITY=verbose),
			qw(-v ON_ERROR_STOP=1 -f - -d), $connection
		],
		'<', \$sql, '>', \$session{stdout}, '2>', \$session{stderr}, $session{timer});
	$session{run}->pump while length $sql;
	return \%session;
}

# Waits for it; returns its standard output, standard error and exit status.  If it
# exceeds the timeout of PostgreSQL::Test::Cluster, it is killed, and its standard
# error ends with "timed out".
sub finish_sql
{
	my ($session) = @_;

	while ($session->{run}->pumpable)
	{
		if ($session->{timer}->is_expired)
		{
			$session->{run}->kill_kill;
			$session->{stderr} .= 'timed out';
			last;
		}
		eval { $session->{run}->pump; 1 } or last;
	}
	eval { $session->{run}->finish };
	chomp @{$session}{qw(stdout stderr)};
	return (@{$session}{qw(stdout stderr)}, $session->{run}->result // -1);
}

# Whether it has ended, so that finish_sql returns at once.
sub has_ended
{
	my ($session) = @_;

	eval { $session->{run}->pump_nb };
	return !$session->{run}->pumpable;
}

# Sends a signal to the psql of start_sql; INT is Ctrl-C.
sub signal_sql
{
	my ($session, $signal) = @_;

	$session->{run}->signal($signal);
	return;
}

# Waits until it has printed something on its standard error, such as a notice.
sub told_ok
{
	my ($session, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	while ($session->{stderr} !~ $pattern && $session->{run}->pumpable && !$session->{timer}->is_expired)
	{
		eval { $session->{run}->pump; 1 } or last;
	}
	return like($session->{stderr}, $pattern, $name);
}

# Waits for a session with that application_name; returns the process ID of its
# backend.
sub backend_of
{
	my ($node, $name) = @_;

	wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$name'");
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = '$name'");
}

# Waits until a query in database postgres returns "t".
sub wait_for
{
	my ($node, $query) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $came = comes($node, $query);
	$came || fail("waiting for: $query");
	return $came;
}

# Executes SQL in database postgres as soon as a condition holds there, in one session: what goes on while others start
# writes much. Returns its output.
sub as_soon_as
{
	my ($node, $condition, $sql) = @_;

	return $node->safe_psql('postgres', <<"SQL");
SET statement_timeout = '$PostgreSQL::Test::Utils::timeout_default s';
DO \$\$ BEGIN WHILE NOT ($condition) LOOP PERFORM pg_stat_clear_snapshot(), pg_sleep(0.002); END LOOP; END \$\$;
$sql
SQL
}

# Whether a query in database postgres returns "t" before a session of start_sql ends: for what
# can be over before it is seen.
sub comes_before_end
{
	my ($node, $query, $session) = @_;

	return comes($node, $query, sub { return has_ended($session) });
}

# Whether a query in database postgres returns "t", before a function returns true if there is one.
sub comes
{
	my ($node, $query, $ended) = @_;

	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;
	my ($stdout, $stderr);
	foreach (1 .. $tries)
	{
		# A server that crashes is gone for good.
		my $is_last = $ended && $ended->() || defined $node->{_pid} && !is_running($node->{_pid});
		# By an option: where the server is down, psql may have ended before it could be sent.
		$node->psql('postgres', undef, stdout => \$stdout, stderr => \$stderr, extra_params => [ '-c', $query ]);
		return 1 if $stdout eq 't' && $stderr eq '';
		return 0 if $is_last;
		usleep(100_000);
	}
	diag("timed out: $query\nlast output: $stdout\n$stderr");
	return 0;
}

# Does something that has to be done while a run or a timeout lasts: calls a function with so many
# seconds, ever more, until it returns true.
sub in_time_ok
{
	my ($name, $do) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	foreach my $seconds (1, 4, 16, 64, 256)
	{
		return 1 if $do->($seconds);
		note("$name: not within $seconds s");
	}
	return fail("$name: in time");
}

# Waits until the run of that label has finished transactions, and its row says that it is running.
sub wait_for_transactions
{
	my ($node, $label) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return wait_for($node,
		"SELECT p.transactions > 0 AND r.state = 'running' FROM bench.progress p JOIN bench.runs r USING (run_id) WHERE p.label = '$label'");
}

# The latest run of that label, as a hash reference of columns of bench.runs.
sub latest_run
{
	my ($node, $label) = @_;

	my @columns = qw(run_id state aborted_clients transactions warmup_transactions errors
	  coordinator_pid segment);
	my %run;
	@run{@columns} = split /\|/,
	  $node->safe_psql('postgres',
		    'SELECT ' . join(', ', @columns)
		  . " FROM bench.runs WHERE label = '$label' ORDER BY run_id DESC LIMIT 1"),
	  -1;
	return \%run;
}

# Standard output of SQL as a role, by default the one that runs the tests.
sub sql_as
{
	my ($node, $sql, $role, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql, extra_params => [ defined $role ? ('-U', $role) : () ]);
}

# Standard error of SQL as a role, with SQLSTATEs, up to the first error.
sub error_as
{
	my ($node, $sql, $role, $database) = @_;
	my (undef, undef, $error) = $node->psql($database // 'postgres', "\\set VERBOSITY verbose\n$sql",
		extra_params => [ '-v', 'ON_ERROR_STOP=1', defined $role ? ('-U', $role) : () ]);
	return $error;
}

# Inserts copies of rows of a table of results, for each a number n of a list in SQL, with other columns, which are SQL
# expressions of n.
sub copy_rows
{
	my ($node, $table, $where, $numbers, %columns) = @_;
	my $names = $node->safe_psql('postgres', <<"SQL");
SELECT string_agg(quote_ident(attname), ',' ORDER BY attnum) FROM pg_attribute
 WHERE attrelid = 'bench.$table'::regclass AND attnum > 0 AND attgenerated = ''
SQL
	%columns = (run_id => "nextval('bench.run_id_seq')", disturbances => "'{}'", %columns);
	my $values = join ',', map { $columns{$_} // $_ } split /,/, $names;
	return $node->safe_psql('postgres',
		"INSERT INTO bench.$table ($names) SELECT $values FROM bench.$table, generate_series($numbers) n WHERE $where ORDER BY n, $table.ctid");
}

# All objects of the extension in a database, a line each with all that can be different, but for privileges: those are
# of the roles that a test grants them to.
sub extension_objects
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<'SQL');
SET search_path = pg_catalog;
WITH members AS (
	SELECT d.classid, d.objid, pg_identify_object(d.classid, d.objid, 0) AS object
	  FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'pg_selfbench')
SELECT (m.object).type || ' ' || (m.object).identity, replace(obj_description(m.objid, (SELECT c.relname FROM pg_class c WHERE c.oid = m.classid)), E'\n', ' '),
       (SELECT i.initprivs::text FROM pg_init_privs i WHERE (i.classoid, i.objoid, i.objsubid) = (m.classid, m.objid, 0)),
       coalesce((SELECT replace(pg_get_functiondef(p.oid), E'\n', ' ') FROM pg_proc p WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid AND p.prokind <> 'a'), ''),
       coalesce((SELECT array(SELECT a::text FROM unnest(p.proacl) a ORDER BY 1)::text FROM pg_proc p WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid), ''),
       coalesce((SELECT array(SELECT a::text FROM unnest(c.relacl) a ORDER BY 1)::text FROM pg_class c WHERE m.classid = 'pg_class'::regclass AND c.oid = m.objid), '')
  FROM members m
UNION ALL
SELECT concat('relation ', c.oid::regclass), c.relkind::text, c.relrowsecurity::text, c.reloptions::text,
       replace(pg_get_viewdef(CASE c.relkind WHEN 'v' THEN c.oid END), E'\n', ' '), NULL
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('bench', 'bench_internal')
UNION ALL
SELECT concat_ws(' ', 'column', a.attrelid::regclass, a.attnum), a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated),
       pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum), NULL
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
 WHERE n.nspname IN ('bench', 'bench_internal') AND a.attnum > 0
UNION ALL
SELECT concat_ws(' ', 'constraint', c.conrelid::regclass, c.conname), pg_get_constraintdef(c.oid), NULL, NULL, NULL, NULL
  FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname IN ('bench', 'bench_internal')
UNION ALL
SELECT 'index ' || pg_get_indexdef(i.indexrelid), NULL, NULL, NULL, NULL, NULL
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname LIKE 'bench%'
UNION ALL
SELECT concat_ws(' ', 'policy', p.polrelid::regclass, p.polname), pg_get_expr(p.polqual, p.polrelid), p.polcmd::text, NULL, NULL, NULL
  FROM pg_policy p
UNION ALL
SELECT 'trigger ' || pg_get_triggerdef(t.oid), NULL, NULL, NULL, NULL, NULL FROM pg_trigger t WHERE NOT t.tgisinternal
UNION ALL
SELECT concat('dumped ', t.relation::regclass), t.condition, NULL, NULL, NULL, NULL
  FROM pg_extension e, unnest(e.extconfig, e.extcondition) t (relation, condition) WHERE e.extname = 'pg_selfbench'
ORDER BY 1, 2
SQL
}

# Lines that one text has and another one has not.
sub lines_without
{
	my %other = map { $_ => 1 } split /\n/, $_[1];
	return join "\n", grep { !$other{$_} } split /\n/, $_[0];
}

# SQL for psql that makes a run and selects columns of its row in bench.runs, most of which the
# function does not return.
sub columns_of
{
	my ($columns, $run) = @_;
	return "SELECT run_id FROM $run \\gset\nSELECT $columns FROM bench.runs WHERE run_id = :run_id";
}

# The state of the tables of tpcb-like since they were filled, as a hash reference:
# the sums of "accounts", "tellers", "branches" and "deltas", the number of rows in
# "history", and whether the four sums are "equal", as they are if all transactions
# were atomic.
# A run empties the history first unless it has vacuum => 'none'.
sub invariants
{
	my ($node, $database) = @_;

	my %found;
	@found{qw(accounts tellers branches deltas history)} =
	  split /\|/, $node->safe_psql($database // 'postgres', <<'SQL');
SELECT (SELECT coalesce(sum(abalance), 0) FROM pgbench_accounts),
       (SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers),
       (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches),
       coalesce(sum(delta), 0), count(*)
FROM pgbench_history
SQL
	$found{equal} =
	  !grep { $_ != $found{deltas} } @found{qw(accounts tellers branches)};
	return \%found;
}

# Tests the invariants, and the number of $transactions if defined.
sub invariants_ok
{
	my ($node, $transactions, $name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $found = invariants($node, $database);
	my $ok = ok($found->{equal}, "$name: balances and history agree")
	  || diag(explain($found));
	return $ok if !defined $transactions;
	return is($found->{history}, $transactions, "$name: transactions in history") && $ok;
}

# Tests that the figures of a stored run agree with each other: those of its
# scripts, of its intervals and of its histograms with its transactions.
sub figures_ok
{
	my ($node, $run_id, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $figures = $node->safe_psql('postgres', <<"SQL");
SELECT concat_ws(' ',
         'scripts', (SELECT sum(transactions) FROM bench.run_scripts WHERE run_id = r.run_id),
         'intervals', (SELECT sum(transactions) FROM bench.run_intervals WHERE run_id = r.run_id),
         'histogram', bench.histogram_count(histogram),
         'script histograms', (SELECT bench.histogram_count(bench.merge_histograms(histogram))
                                 FROM bench.run_scripts WHERE run_id = r.run_id),
         'interval histograms', (SELECT bench.histogram_count(bench.merge_histograms(histogram))
                                   FROM bench.run_intervals WHERE run_id = r.run_id)),
       transactions,
       (SELECT abs(sum(i.seconds) - r.seconds) < 0.001 FROM bench.run_intervals i WHERE run_id = r.run_id)
  FROM bench.runs r WHERE run_id = $run_id
SQL
	my ($found, $n, $same_time) = split /\|/, $figures;
	return is("$found $same_time",
		"scripts $n intervals $n histogram $n script histograms $n interval histograms $n t",
		"$name: figures agree");
}

# Tests that runs still work, in each of @modes, or in both.
sub next_run_ok
{
	my ($node, $name, @modes) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	foreach my $mode (@modes ? @modes : qw(spi libpq))
	{
		is( $node->safe_psql('postgres',
				"SELECT state, transactions FROM bench.run(mode => '$mode', clients => 2, transactions => 5, vacuum => 'none')"
			),
			'finished|10',
			"$name: the next run works ($mode)");
	}
	return;
}

# That the extension has no process and no connection left.
my $quiet = <<'SQL';
NOT EXISTS (SELECT FROM pg_stat_activity
             WHERE backend_type LIKE 'pg_selfbench%' OR application_name LIKE 'pg_selfbench%')
SQL

# Waits for that; returns false after the timeout of PostgreSQL::Test::Cluster.
sub wait_until_quiet
{
	my ($node) = @_;

	return comes($node, "SELECT $quiet");
}

# Tests that the extension has left no process, no connection and no lock.
sub nothing_left_ok
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# A process of the server that is just starting, such as an autovacuum worker, has locks for a moment,
	# and is not in the view yet.
	my $locks = <<'SQL';
SELECT locktype, mode, relation::regclass, backend_type
  FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
 WHERE pid IS DISTINCT FROM pg_backend_pid() AND locktype <> 'virtualxid'
   AND backend_type IS DISTINCT FROM 'autovacuum worker'
SQL
	my $nothing = comes($node, "SELECT $quiet AND NOT EXISTS ($locks)");
	my $ok = ok($nothing || wait_until_quiet($node), "$name: no process and no connection is left");
	return is($nothing ? '' : $node->safe_psql('postgres', $locks), '', "$name: no lock is left") && $ok;
}

# Whether such a process exists and is not a zombie.
sub is_running
{
	my ($pid) = @_;

	open my $stat, '<', "/proc/$pid/stat" or return 0;
	my $line = <$stat>;
	close $stat;
	return defined $line && $line !~ /\) Z /;
}

1;
