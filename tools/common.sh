# Common start of all scripts of tools/ and test/; to be sourced by bash.
# shellcheck shell=bash

PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
PG_CONFIG=${PG_CONFIG:-pg_config}
export PATH PG_CONFIG

# initdb and Perl need an existing locale.  The user that servers run as must be
# able to read files.
unset LC_ALL LANGUAGE
export LANG=C.UTF-8
umask 022

say() {
    printf '== %s\n' "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# require_space MB DIRECTORY   fails if a file system has less free space than is needed
require_space() {
    local free
    free=$(df -Pm "$2" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] || die "$1 MB are needed in $2, where $free MB are free"
}

# The server's major version: 15 of "PostgreSQL 15.4 (Debian ...)" or "16beta1".
pg_major() {
    "$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/'
}
