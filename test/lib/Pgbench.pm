# Common code of tests that compare bench.pgbench with the pgbench program: running
# both with the same command line, and reports without the parts that always differ.
package Pgbench;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();

our @EXPORT = qw(connect_pgbench pgbench bench_pgbench without_figures without_counts);

my $node;

# Sets the server for everything below, which needs a database postgres with the
# extension, and the environment that pgbench connects by.
sub connect_pgbench
{
	($node) = @_;
	@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
	$ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');
	return;
}

# What pgbench prints for a command line: standard output, standard error; and its
# exit status.
sub pgbench
{
	my ($arguments) = @_;

	my ($stdout, $stderr) = ('', '');
	IPC::Run::run(
		[ 'sh', '-c', 'exec ' . $node->installed_command('pgbench') . " $arguments" ],
		'>', \$stdout, '2>', \$stderr);
	my $status = $? >> 8;
	# Older minor versions have a slip here.
	$stderr =~ s{-c/--clients}{-c/--client}g;
	return ($stdout, $stderr, $status);
}

# The output of bench.pgbench, its notices, and the corresponding exit status of
# pgbench: 1 after an error, 2 after a warning of SQLSTATE 57000.
sub bench_pgbench
{
	my ($arguments) = @_;

	my (undef, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT * FROM bench.pgbench(\$args\$$arguments\$args\$)",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my $status = $stderr =~ /^psql:\S+ (?:ERROR|FATAL): /m ? 1 : $stderr =~ /^psql:\S+ WARNING:  57000: /m ? 2 : 0;
	$stderr =~ s/^LOCATION: .*\n?//mg;
	$stderr =~ s/^(psql:\S+ [A-Z]+:  )[0-9A-Z]{5}: /$1/mg;
	return ("$stdout\n" =~ s/^\n\z//r, $stderr, $status);
}

# A report without its figures, except for the counts of transactions.
sub without_figures
{
	my ($report) = @_;

	$report =~ s/(?<= = )[\d.]+|(?<=\(tps = )[\d.]+|(?<=avg )[\d.]+|(?<=\(max )[\d.]+/#/g;
	$report =~ s/^ {3} *[\d.]+(?=  )/#/mg;
	return $report;
}

# The same without the parts that depend on a duration, a rate or chance.
sub without_counts
{
	my ($report) = @_;

	$report =~ s/(?<=processed: )\d++(?!\/)/#/g;
	$report =~ s/(?<=: )\d+(\/\d+)? \([\d.]+%\)/#/g;
	$report =~ s/^ - \d+ transactions \([\d.]+% of total/ - # transactions (#/mg;
	$report =~ s/(?<=number of retries: )\d+/#/g;
	return without_figures($report);
}

1;
