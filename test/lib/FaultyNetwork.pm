# A network between libpq and a server for tests: a port of 127.0.0.1 that leads to the server's socket, until it is told
# a fault.
package FaultyNetwork;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(SOL_SOCKET SO_LINGER);

# Starts it; returns it with its port.
sub start
{
	my ($class, $socket) = @_;

	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 100)
	  or die "listen: $!";
	pipe(my $orders, my $control) or die "pipe: $!";
	my $self = bless { port => $listener->sockport, control => $control }, $class;
	$self->{pid} = fork // die "fork: $!";
	if (!$self->{pid})
	{
		close $control;
		$SIG{PIPE} = 'IGNORE';
		eval { serve($listener, $socket, $orders) };
		require POSIX;
		POSIX::_exit(0);
	}
	close $orders;
	return $self;
}

sub port { return shift->{port} }

# From now on: "refuse" new connections and close those that are open, "reset" all connections, forward "half" of what
# the server says next on each, and then close it, or say instead that the server sends "copy" data; new connections work.
sub fault
{
	my ($self, $fault) = @_;

	syswrite($self->{control}, "$fault\n");
	return;
}

sub stop
{
	my ($self) = @_;

	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

sub serve
{
	my ($listener, $path, $orders) = @_;

	my $ready = IO::Select->new($listener, $orders);
	# The other end of each; whether it is the server's; whether its next bytes are halved.
	my (%other, %is_server, %halved);
	my $copies;
	my $end = sub {
		foreach my $socket ($_[0], $other{ $_[0] })
		{
			$ready->remove($socket);
			delete $_->{$socket} foreach \%is_server, \%halved;
			close $socket;
		}
		delete @other{ $_[0], $other{ $_[0] } };
	};
	while (1)
	{
		foreach my $from ($ready->can_read)
		{
			if ($from == $listener)
			{
				my $client = $listener->accept or next;
				my $server = IO::Socket::UNIX->new(Peer => $path) or next;
				($other{$client}, $other{$server}) = ($server, $client);
				$is_server{$server} = 1;
				$ready->add($client, $server);
			}
			elsif ($from == $orders)
			{
				sysread($orders, my $order, 100) or return;
				my @servers = grep { $is_server{$_} } $ready->handles;
				if ($order =~ /half/) { @halved{@servers} = @servers }
				elsif ($order =~ /copy/) { $copies = 1 }
				else
				{
					foreach my $server (@servers)
					{
						setsockopt($other{$server}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)) if $order =~ /reset/;
						$end->($server);
					}
				}
				if ($order =~ /refuse/)
				{
					$ready->remove($listener);
					close $listener;
				}
			}
			elsif ($other{$from})
			{
				my $length = sysread($from, my $bytes, 65536);
				if ($length && $copies && $is_server{$from})
				{
					# CopyOutResponse, in text format and without columns.
					$bytes = pack('ANCn', 'H', 7, 0, 0);
					$length = length $bytes;
				}
				syswrite($other{$from}, $bytes, $halved{$from} ? int($length / 2) : $length) if $length;
				$end->($from) if !$length || $halved{$from};
			}
		}
	}
	return;
}

1;
