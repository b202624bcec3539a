# The option connection: how the connections of mode libpq reach this server.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SelfBench;
use Test::More;

my $node = new_bench_node('routes', "fsync = off\n");
my $directory = $node->safe_psql('postgres', 'SHOW unix_socket_directories');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE seen (address inet);
	SELECT bench.define_script('see', 'INSERT INTO seen VALUES (inet_server_addr());')});

# The server's addresses and socket directories are these from here on.
my $listen = sub {
	my ($addresses, $directories) = @_;
	$node->append_conf('postgresql.conf',
		"listen_addresses = '$addresses'\nunix_socket_directories = '$directories'\n");
	$node->restart;
};
# What a run with these options used, and what its sessions saw.
my $used = sub {
	my ($options) = @_;
	my ($status, $stdout, $stderr) = $node->psql(
		'postgres', qq{
		TRUNCATE seen;
		SELECT run_id FROM bench.run('see', clients => 2, transactions => 2, $options) \\gset
		SELECT coalesce(connection, 'none') FROM bench.runs WHERE run_id = :run_id;
		SELECT count(*), count(*) FILTER (WHERE address <<= '127.0.0.0/8' OR address = '::1') FROM seen},
		extra_params => ['-q']);
	return $stderr eq '' ? $stdout =~ s/\n/ /r : $stderr;
};
my $libpq = "mode => 'libpq'";

$listen->('', $directory);
is($used->($libpq), 'socket 4|0', 'only a socket: auto');
is($used->("$libpq, connection => 'socket'"), 'socket 4|0', 'only a socket: socket');
like(
	$used->("$libpq, connection => 'tcp'"),
	qr/ERROR:  the server does not listen on a loopback address\nHINT:  .* add "localhost" to "listen_addresses", which is "", /,
	'only a socket: tcp');
is($used->("mode => 'spi'"), 'none 4|0', 'mode spi has no connections');
like($used->("connection => 'tcp'"), qr/ERROR:  option "connection" needs mode "libpq"/, 'mode spi');
like(
	$used->("$libpq, connection => 'socket', target => 'dbname=postgres'"),
	qr/ERROR:  option "connection" cannot be combined with option "target"\nHINT:  Name the host/,
	'a target');
is($used->("$libpq, target => 'host=$directory dbname=postgres port=' || current_setting('port')"),
	'none 4|0', 'a target by itself');
like($used->("$libpq, connection => 'pipe'"),
	qr/invalid value for option "connection": "pipe"\nDETAIL:  Valid values are "auto", "socket", "tcp"/,
	'an unknown one');

foreach my $addresses ('127.0.0.1', 'localhost', '*', '0.0.0.0')
{
	$listen->($addresses, $directory);
	is($used->("$libpq, connection => 'tcp'"), 'tcp 4|4', "$addresses: tcp");
	is($used->("$libpq, connection => 'tcp', reconnect => true"), 'tcp 4|4', "$addresses: tcp, again and again");
	is($used->("$libpq, connection => 'auto'"), 'socket 4|0', "$addresses: auto");
}

# A server that asks for passwords over TCP only.
my $hba = $node->data_dir . '/pg_hba.conf';
my $before = slurp_file($hba);
open my $file, '>', $hba or die;
print $file "local all all trust\nhost all all all scram-sha-256\n";
close $file;
$node->reload;
is($used->("$libpq, connection => 'socket'"), 'socket 4|0', 'password over TCP: socket');
like(
	$used->("$libpq, connection => 'tcp'"),
	qr/ERROR:  could not connect client [01] .*no password supplied.*HINT:  .*\(connection => 'socket'\)/s,
	'password over TCP: tcp');
open $file, '>', $hba or die;
print $file $before;
close $file;

# The next address of a connection string gets the descriptor of the one before.
$node->reload;
my $closed = PostgreSQL::Test::Cluster::get_free_port();
my $several = sprintf "host=127.0.0.1,127.0.0.1 port=%s,%s dbname=postgres user=%s", $closed, $node->port, $node->safe_psql('postgres', 'SELECT current_user');
is($used->("$libpq, target => '$several', reconnect => true"), 'none 4|4', 'an address that refuses, again and again');

# Without a socket: the tests themselves go over TCP from here on.
$listen->('127.0.0.1', '');
{
	my $port = $node->port;
	my $over = sub {
		my ($sql) = @_;
		my ($stdout, $stderr) = ('', '');
		IPC::Run::run([ 'psql', '-XAtq', '-d', "host=127.0.0.1 port=$port dbname=postgres" ],
			'<', \$sql, '>', \$stdout, '2>', \$stderr);
		return $stdout . $stderr;
	};
	is( $over->(
			"SELECT run_id FROM bench.run('see', transactions => 1, $libpq) \\gset\n"
			  . 'SELECT connection FROM bench.runs WHERE run_id = :run_id'),
		"tcp\n", 'no socket: auto');
	like($over->("SELECT bench.run('see', transactions => 1, $libpq, connection => 'socket')"),
		qr/ERROR:  the server has no Unix-domain socket\nHINT:  .*"unix_socket_directories"/, 'no socket: socket');
}
$listen->('', $directory);
nothing_left_ok($node, 'at the end');

done_testing();
