# Runs every command of README.md: each line of a ```sh block and each ```sql
# block is one test.  The environment names a server and an empty database for
# the SQL.
#
# What differs from typing the commands in: runs last one second and scale is 1,
# the other server is this one, "make install" goes to a directory of its own, sudo
# is left out, and "make test" is not run by itself.
use strict;
use warnings;

use File::Temp qw(tempdir);
use Test::More;

my $scratch = tempdir(CLEANUP => 1);
@ENV{qw(DEMO_SECONDS DEMO_SCALE DEMO_CLIENTS DESTDIR)} = (1, 1, 1, "$scratch/install");
delete $ENV{KEEP};

write_file("$scratch/sudo", "#!/bin/sh\nexec \"\$@\"\n");
chmod 0755, "$scratch/sudo";
$ENV{PATH} = "$scratch:$ENV{PATH}";

my $this_server = "host=$ENV{PGHOST} port=$ENV{PGPORT} user=$ENV{PGUSER} dbname=$ENV{PGDATABASE}";

my $number = 0;
foreach my $block (blocks('README.md'))
{
	my ($language, $text) = @$block;
	if ($language eq 'sql')
	{
		$text =~ s/\b(duration|timeout)(\s*=>\s*)'[^']*'/$1$2'1 s'/g;
		$text =~ s/\b(scale\s*=>\s*)\d+/${1}1/g;
		$text =~ s/\bhost=db2 dbname=bench\b/$this_server/g;
		my $file = "$scratch/" . ++$number . '.sql';
		write_file($file, $text);
		succeeds("psql -X -v ON_ERROR_STOP=1 -f $file", (split /\n/, $text)[0]);
	}
	elsif ($language eq 'sh')
	{
		succeeds($_, $_) foreach split /\n/, $text;
	}
}
done_testing();

# The fenced blocks of a Markdown file, as [language, text].
sub blocks
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!";
	my @blocks;
	my $inside;
	while (<$in>)
	{
		if (/^```(\w*)$/)
		{
			push @blocks, [ $1, '' ] unless $inside;
			$inside = !$inside;
		}
		elsif ($inside) { $blocks[-1][1] .= $_ }
	}
	return @blocks;
}

# Tests that a shell command succeeds; shows what it printed if not.
sub succeeds
{
	my ($command, $name) = @_;
	if ($command eq 'make test')
	{
		return pass("$name (this is it)");
	}
	write_file("$scratch/command", "$command\n");
	my $output = qx(timeout 900 sh $scratch/command 2>&1 </dev/null);
	return ok($? == 0, $name) || diag($output);
}

sub write_file
{
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	return;
}
