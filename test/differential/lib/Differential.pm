# Executes the same scripts with the pgbench program and with bench.run, and converts
# the output of both to a common form.
package Differential;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

our @EXPORT = qw(seeds new_judged_node pgbench bench parse_error quoted write_script);

# Seeds of the generators: those of SEED, or always the same, so that no test fails for what
# nobody has changed.  They are printed, so that a failure can be repeated.
sub seeds
{
	my @seeds = split /[ ,]+/, $ENV{SEED} || '1 2';
	note("SEED=$_") foreach @seeds;
	return @seeds;
}

# A server whose log shows all statements and the process that got each.
#   name, further lines of postgresql.conf
sub new_judged_node
{
	my ($name, $conf) = @_;

	my $node = new_bench_node($name, <<"CONF" . ($conf // ''));
fsync = off
autovacuum = off
log_statement = all
log_line_prefix = '<%p %a> '
log_min_messages = log
log_min_error_statement = panic
log_checkpoints = off
max_worker_processes = 60
max_connections = 100
CONF
	return $node;
}

# Writes a script for pgbench, in its working directory; its name is what messages
# call it.
sub write_script
{
	my ($name, $body) = @_;

	open my $file, '>:raw', directory() . "/$name" or die "$name: $!";
	print $file $body;
	close $file;
	return;
}

my $directory;
sub directory { return $directory //= PostgreSQL::Test::Utils::tempdir() }

# A text as a constant of SQL.
sub quoted
{
	my ($text) = @_;

	return defined $text ? "E'" . $text =~ s/\\/\\\\/gr =~ s/'/''/gr =~ s/\r/\\r/gr . "'" : 'NULL';
}

# Runs pgbench with these arguments, in the directory of write_script.  $node may
# be undefined for runs that do not get as far as connecting.  What comes back:
#   status      exit status
#   debug       for each "SCRIPT,COMMAND" the list of lines that debug() wrote
#   errors      its messages, several that belong together as one
#   counts      transactions, failed, retried, retries
#   statements  what the server got, in order, for each connection
sub pgbench
{
	my ($node, @arguments) = @_;

	my $offset = defined $node ? -s $node->logfile : 0;
	local @ENV{qw(PGAPPNAME PGHOST PGPORT PGDATABASE)} =
	  ("pgbench", defined $node ? ($node->host, $node->port) : ("/nowhere", 1), "postgres");
	my $program = defined $node ? $node->installed_command('pgbench') : 'pgbench';
	# Not by IPC::Run, which takes ten times as long for a program that ends at once.
	open my $pipe, '-|', 'sh', '-c', 'cd "$1" && shift && exec "$@" 2>stderr </dev/null',
	  'sh', directory(), $program, @arguments
	  or die "pgbench: $!";
	my $output = do { local $/; <$pipe> } // '';
	close $pipe;
	my $status = $? >> 8;

	my %result = (status => $status, debug => {}, errors => [], counts => counts($output));
	parse_stderr(\%result, slurp(directory() . '/stderr'));
	$result{statements} = statements(log_since($node, $offset), 'pgbench') if defined $node;
	return \%result;
}

sub slurp
{
	my ($path, $offset) = @_;

	open my $file, '<:raw', $path or die "$path: $!";
	seek $file, $offset // 0, 0;
	local $/;
	return <$file> // '';
}

sub parse_stderr
{
	my ($result, $stderr) = @_;
	my $whole;

	foreach my $line (split /\n/, $stderr)
	{
		if ($line =~ /^debug\(script=(\d+),command=(\d+)\): (.*)/)
		{
			push @{ $result->{debug}{"$1,$2"} }, $3;
		}
		elsif ($line =~ /^pgbench: (?:error|fatal): (.*)/)
		{
			next if $1 =~ /^Run was aborted/;
			# A reason comes before the line that says what became of the client.
			if ($whole) { $result->{errors}[-1] .= "; $1" }
			else        { push @{ $result->{errors} }, $1 }
			$whole = $1 !~ /^client \d+ (?:script \d+ )?aborted\b|^client \d+ script \d+ command/;
		}
		elsif ($line !~ /^pgbench: |^pgbench \(|^(?:WARNING|NOTICE):/ && @{ $result->{errors} })
		{
			$result->{errors}[-1] .= "\n$line";
		}
	}
	return;
}

sub counts
{
	my ($report) = @_;

	my %counts = (transactions => 0, failed => 0, retried => 0, retries => 0);
	$counts{transactions} = 0 + $1 if $report =~ /^number of transactions actually processed: (\d+)/m;
	$counts{failed}       = 0 + $1 if $report =~ /^number of failed transactions: (\d+)/m;
	$counts{retried}      = 0 + $1 if $report =~ /^number of transactions retried: (\d+)/m;
	$counts{retries}      = 0 + $1 if $report =~ /^total number of retries: (\d+)/m;
	return \%counts;
}

# The errors of a script, in a comparable form.  The client points as far
# to the right as there are bytes before the place ($in_bytes), bench as there are
# characters.  And the client counts lines from the wrong place when it complains of a misplaced
# \gset; bench tells the line that it is in.
sub parse_error
{
	my ($message, $in_bytes) = @_;

	$message =~ s/^(\w+):\d+: (\\gset must follow )/$1: $2/;
	return $message if !$in_bytes || $message !~ /\A(.*?)\n(.*)\n( *)\^ error found here\z/s;
	my ($first, $source, $bytes) = ($1, $2, length $3);
	my $before = substr $source, 0, $bytes;
	utf8::decode($before);
	return "$first\n$source\n" . ' ' x length($before) . '^ error found here';
}

# What the server's log has got since that offset, as records of process,
# application, severity and text.
sub log_since
{
	my ($node, $offset) = @_;

	my @records;
	foreach my $line (split /\n/, slurp($node->logfile, $offset))
	{
		if ($line =~ /^<(\d+) ([^>]*)> ([A-Z0-9]+):  (.*)/)
		{
			push @records, { pid => $1, application => $2, severity => $3, text => $4 };
		}
		elsif (@records)
		{
			$records[-1]{text} .= "\n" . $line =~ s/^\t//r;
		}
	}
	return \@records;
}

# The statements, their parameters and their errors, as one text for each
# connection of that application.
sub statements
{
	my ($records, $application) = @_;

	my %of;
	foreach my $record (@$records)
	{
		next if $record->{application} !~ /^$application/;
		next if $record->{text} =~ /^debug\(/;
		# A client that is aborted just closes its connection.
		next if $record->{text} =~ /^could not send data to client|^connection to client lost|^unexpected EOF/;
		$of{ $record->{pid} } .= "$record->{severity}: $record->{text}\n";
	}
	return [ sort values %of ];
}

# The lines that debug() wrote in runs of bench.run: the caller gets them as
# notices.  This is the only place that knows where they are.
sub debug_lines
{
	my ($stderr) = @_;

	my %debug;
	push @{ $debug{"$1,$2"} }, $3
	  while $stderr =~ /NOTICE:  debug\(script=(\d+),command=(\d+)\): (.*)/g;
	return \%debug;
}

# The same by bench.run, as pgbench() has it.
#   scripts  names and weights and bodies, as [name, weight, body]
#   options  further arguments of bench.run, as SQL
#   before   SQL to be executed first
#   after    a query of which the result is "rows"
my $runs = 0;

sub bench
{
	my ($node, %run) = @_;

	my $offset = -s $node->logfile;
	my $names = quoted(join ', ', map { "$_->[0]\@$_->[1]" } @{ $run{scripts} });
	my $define = join '', map { 'SELECT bench.define_script(' . quoted($_->[0]) . ', ' . quoted($_->[2]) . ");\n" }
	  @{ $run{scripts} };
	my $after = $run{after} // 'SELECT NULL WHERE false';
	my $label = 'differential ' . ++$runs;
	my $sql = ($run{before} // '') . "DELETE FROM bench.scripts;\n" . <<"SQL";
\\o /dev/null
SET client_min_messages = error;
${define}RESET client_min_messages;
SELECT count(*) FROM bench.run($names, vacuum => 'none', undefined_variables => 'pgbench',
                               label => '$label', $run{options});
\\o
SELECT to_json(r) FROM (SELECT transactions, serialization_failures + deadlock_failures + other_failures AS failed,
                               retried, retries, errors, aborted_clients
                          FROM bench.runs WHERE label = '$label') r;
$after;
SQL
	my ($stdout, $stderr) = ('', '');
	$node->psql('postgres', $sql, stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	my ($json, $rows) = split /\n/, $stdout, 2;
	my $found = eval { JSON::PP->new->decode($json // '') };
	return { status => 1, errors => ["bench.run: $stderr"], debug => {}, counts => {}, statements => [] }
	  if !$found || $found->{aborted_clients} == 0 && $stderr =~ /ERROR/;
	my $records = log_since($node, $offset);
	my %result = (
		status     => $found->{aborted_clients} > 0 ? 2 : 0,
		debug      => debug_lines($stderr),
		# pgbench says that in its report only.
		errors     => [ grep { !/^all transactions failed \(/ } @{ $found->{errors} } ],
		counts     => { map { $_ => $found->{$_} } qw(transactions failed retried retries) },
		statements => statements($records, 'pg_selfbench'),
		rows       => $rows // '',
		stderr     => $stderr);
	return \%result;
}

1;
