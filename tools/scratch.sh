# A scratch server; to be sourced after common.sh.
#
#   scratch_create     a private directory, $scratch
#   scratch_install    builds the extension and installs it below $scratch
#   scratch_start      creates and starts a cluster, sets PGHOST, PGPORT, PGUSER;
#                      arguments are lines of its postgresql.conf
#   scratch_beside_standby COMMAND...
#                      runs a command while the server has a hot standby at port STANDBY_PORT
#
# The server listens on a socket in a directory that no other user can enter.
# When the script exits, it stops the server and removes everything, unless KEEP
# is set.  Servers refuse to run as root: root starts them as $server_user.
# shellcheck shell=bash

scratch=
sockets=
bindir=$("$PG_CONFIG" --bindir)
server_user=
if [ "$(id -u)" = 0 ]; then
    server_user=nobody
    ! id -u postgres >/dev/null 2>&1 || server_user=postgres
fi

become=()
if [ -n "$server_user" ]; then
    become=(setpriv "--reuid=$server_user" "--regid=$(id -g "$server_user")" --init-groups)
fi

# Runs a command as the user that the server runs as.
as_server() {
    (cd "$scratch" && HOME=$scratch "${become[@]}" "$@")
}

# Directory that the server's user can reach.
private_directory() {
    local directory
    directory=$(mktemp -d "$1/selfbench.XXXXXX")
    [ -z "$server_user" ] || chown "$server_user": "$directory"
    echo "$directory"
}

scratch_create() {
    trap scratch_remove EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    # /var/tmp, because /tmp may be in memory and a benchmark should use the disk.
    scratch=$(private_directory "${TMPDIR:-/var/tmp}")
    if ! as_server test -x "$scratch" 2>/dev/null; then
        rmdir "$scratch"
        scratch=$(private_directory /var/tmp)
    fi
    # A socket's path must not exceed 107 bytes.
    sockets=$(private_directory /tmp)
}

scratch_remove() {
    [ ! -f "$scratch/standby/postmaster.pid" ] || scratch_stop standby
    if [ -f "$scratch/data/postmaster.pid" ] && [ -z "${KEEP-}" ]; then
        scratch_stop data
    fi
    if [ -n "${KEEP-}" ]; then
        scratch_kept
    else
        rm -rf "$scratch" "$sockets"
    fi
}

scratch_stop() { # DIRECTORY
    as_server "$bindir/pg_ctl" -D "$1" -m fast stop >/dev/null ||
        as_server "$bindir/pg_ctl" -D "$1" -m immediate stop >/dev/null || true
}

# Prints what KEEP has kept and how to remove it.
scratch_kept() {
    local stop=
    if [ -f "$scratch/data/postmaster.pid" ]; then
        stop="${become[*]}${become:+ }$bindir/pg_ctl -D $scratch/data stop && "
        echo "connect:  $bindir/psql -h $sockets -p $PGPORT -U postgres"
    fi
    echo "clean up: cd / && ${stop}rm -rf $scratch $sockets"
}

# Settings by which a server finds an extension below $scratch/install.
scratch_settings() {
    echo "dynamic_library_path = '$scratch/install$("$PG_CONFIG" --pkglibdir):\$libdir'"
    if [ "$(pg_major)" -ge 18 ]; then
        echo "extension_control_path = '$scratch/install$("$PG_CONFIG" --sharedir):\$system'"
    elif has_extension_destdir; then
        echo "extension_destdir = '$scratch/install'"
    fi
}

# Debian's servers before 18 have a setting for this.
has_extension_destdir() {
    "$bindir/postgres" --describe-config | grep '^extension_destdir' >/dev/null
}

scratch_install() {
    if [ "$(pg_major)" -ge 18 ] || has_extension_destdir; then
        "${MAKE:-make}" -s install DESTDIR="$scratch/install"
    else
        say "this server finds extensions only in its own directories: installing there"
        [ -w "$("$PG_CONFIG" --pkglibdir)" ] ||
            die "$("$PG_CONFIG" --pkglibdir) cannot be written: run this as its owner, or set PG_CONFIG to another server"
        "${MAKE:-make}" -s install DESTDIR=
    fi
}

# shellcheck disable=SC2120 # the settings are optional
scratch_start() {
    # The port only names the socket.  It is not 5432, so that connections to the
    # default port by mistake fail instead of reaching another server.
    export PGHOST=$sockets PGPORT=55432 PGUSER=postgres PGDATABASE=postgres
    unset PGSERVICE PGOPTIONS PGPASSWORD PGHOSTADDR

    as_server "$bindir/initdb" -D data -U postgres -A trust --locale=C.UTF-8 -E UTF8 >/dev/null
    {
        scratch_settings
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$sockets'"
        echo "port = $PGPORT"
        [ $# = 0 ] || printf '%s\n' "$@"
    } | as_server tee -a data/postgresql.conf >/dev/null
    if ! as_server "$bindir/pg_ctl" -D data -l server.log -w start >/dev/null; then
        tail -n 20 "$scratch/server.log" >&2
        return 1
    fi
}

scratch_beside_standby() {
    local status=0
    export STANDBY_PORT=$((PGPORT + 1))
    as_server "$bindir/pg_basebackup" -D standby -R -c fast --no-sync
    {
        echo "port = $STANDBY_PORT"
        # Queries take as long as they take.
        echo "max_standby_streaming_delay = -1"
    } | as_server tee -a standby/postgresql.conf >/dev/null
    if ! as_server "$bindir/pg_ctl" -D standby -l standby.log -w start >/dev/null; then
        tail -n 20 "$scratch/standby.log" >&2
        return 1
    fi
    "$@" || status=$?
    scratch_stop standby
    return "$status"
}
