# A connection pooler for tests: connections to it get sessions of a server, of their
# own or, with sharing, one for all of them in turn, as a pool in transaction mode.
# It ignores the startup options of connections.
package FakePooler;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

# Starts a pooler before the server with that socket, for database postgres and that
# user; returns it with its port.
sub start
{
	my ($class, $socket, $user, $sharing) = @_;

	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 100)
	  or die "listen: $!";
	my $self = bless { port => $listener->sockport }, $class;
	$self->{pid} = fork // die "fork: $!";
	if (!$self->{pid})
	{
		$SIG{PIPE} = 'IGNORE';
		eval { serve($listener, $socket, $user, $sharing) };
		require POSIX;
		POSIX::_exit(0);
	}
	return $self;
}

sub port { return shift->{port} }

sub stop
{
	my ($self) = @_;

	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

# A message of the protocol, with its type, which the first one of a connection has not.
sub read_message
{
	my ($from, $typed) = @_;

	my $head = read_bytes($from, $typed ? 5 : 4) // return;
	my $length = unpack('N', substr($head, -4)) - 4;
	my $body = $length ? read_bytes($from, $length) // return : '';
	return $head . $body;
}

sub read_bytes
{
	my ($from, $wanted) = @_;

	my $bytes = '';
	while (length $bytes < $wanted)
	{
		sysread($from, $bytes, $wanted - length $bytes, length $bytes) or return;
	}
	return $bytes;
}

sub write_all
{
	my ($to, $bytes) = @_;

	while (length $bytes)
	{
		my $written = syswrite($to, $bytes) // return;
		substr($bytes, 0, $written) = '';
	}
	return;
}

# A new session of the server, and what the server has told at its start, but for the key to
# cancel it.
sub open_session
{
	my ($socket, $user) = @_;

	my $server = IO::Socket::UNIX->new(Peer => $socket) or die "connect: $!";
	my $startup = pack('N', 196608) . "user\0$user\0database\0postgres\0client_encoding\0UTF8\0\0";
	write_all($server, pack('N', 4 + length $startup) . $startup);
	my $told = '';
	while (defined(my $message = read_message($server, 1)))
	{
		my $type = substr($message, 0, 1);
		$told .= $message if $type =~ /[RS]/;
		last if $type eq 'Z';
	}
	return ($server, $told);
}

sub serve
{
	my ($listener, $socket, $user, $sharing) = @_;

	my $clients = IO::Select->new($listener);
	my ($shared, %session_of, %told);
	my $number = 0;
	while (1)
	{
		foreach my $client ($clients->can_read)
		{
			if ($client == $listener)
			{
				my $new = $listener->accept or next;
				# Requests for encryption are denied; those to cancel are ignored.
				my $first = read_message($new, 0);
				while (defined $first && unpack('N', substr($first, 4, 4)) =~ /^8087710[34]$|^80877104$/)
				{
					write_all($new, 'N');
					$first = read_message($new, 0);
				}
				next if !defined $first || unpack('N', substr($first, 4, 4)) != 196608;
				my ($server, $told);
				if ($sharing && $shared) { ($server, $told) = @$shared }
				else { ($server, $told) = open_session($socket, $user) }
				$shared = [ $server, $told ];
				$session_of{$new} = $server;
				$number++;
				write_all($new, $told . 'K' . pack('NNN', 12, 1_000_000_000 + $number, $number) . "Z\0\0\0\5I");
				$clients->add($new);
				next;
			}
			# All messages up to the one that the server answers with "ready".
			my $server = $session_of{$client};
			my $type = '';
			while ($type !~ /[QSX]/)
			{
				my $message = read_message($client, 1);
				$message = "X\0\0\0\4" if !defined $message;
				$type = substr($message, 0, 1);
				write_all($server, $message) if $type ne 'X';
			}
			if ($type eq 'X')
			{
				$clients->remove($client);
				delete $session_of{$client};
				close $client;
				close $server if !$sharing;
				next;
			}
			while (defined(my $message = read_message($server, 1)))
			{
				write_all($client, $message);
				last if substr($message, 0, 1) eq 'Z';
			}
		}
	}
	return;
}

1;
