#!/usr/bin/env bash
# Installs missing packages for building and testing pg_selfbench, on Debian and
# its derivatives.  Does not change existing servers and clusters, and creates no
# cluster.
#
# PG_CONFIG     the server to build for
# RUSTUP_INIT   where rustup's installer comes from
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

supported=$(sed -n 's/^PG_VERSIONS *= *//p' Makefile)
newest_first=$(tr ' ' '\n' <<<"$supported" | sort -rn)

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "root or sudo is required to run: $*"
    fi
}

# Package lists are fetched at most once, and only if something is missing.
updated=
update() {
    [ -n "$updated" ] || as_root apt-get -q update
    updated=yes
}

is_offered() {
    apt-cache policy "$1" | grep 'Candidate: [^(]' >/dev/null
}

# Prints those of the given packages that are not installed.
missing() {
    local installed
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
        sed -n 's/ installed$//p') || true
    printf '%s\n' "$@" | grep -vxF "${installed:-none}" || true
}

# Sets major: the version of PG_CONFIG, or of the newest installed server, or of
# the newest available package.
choose_major() {
    if [ -f "$("$PG_CONFIG" --pgxs 2>/dev/null)" ]; then
        major=$(pg_major)
        return
    fi
    for major in $newest_first; do
        [ ! -x "/usr/lib/postgresql/$major/bin/postgres" ] || return 0
    done
    update
    for major in $newest_first; do
        ! is_offered "postgresql-$major" || return 0
    done
    die "apt has no package of PostgreSQL $supported: check the network, or add a repository that has one"
}

drop_in=/etc/postgresql-common/createcluster.d/pg_selfbench.conf
remove_drop_in() {
    as_root rm -f "$drop_in"
    as_root rmdir --ignore-fail-on-non-empty "${drop_in%/*}"
}

install_packages() {
    local status=0
    say "installing $*"
    update

    # A new server package would create and start a cluster "main".
    trap remove_drop_in EXIT
    as_root mkdir -p "${drop_in%/*}"
    echo 'create_main_cluster = false' | as_root tee "$drop_in" >/dev/null

    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" || status=$?

    remove_drop_in
    trap - EXIT
    return "$status"
}

packages() {
    local major server wanted lacking
    wanted=(build-essential pkg-config clang libclang-dev libpq-dev curl ca-certificates libipc-run-perl)

    server=$("$PG_CONFIG" --bindir 2>/dev/null) || server=
    case $server in
    '' | /usr/lib/postgresql/*)
        choose_major
        wanted+=("postgresql-$major" "postgresql-server-dev-$major")
        # For the tests of scheduled runs; not every distribution has it.
        if [ -n "$(missing "postgresql-$major-cron")" ] && is_offered "postgresql-$major-cron"; then
            wanted+=("postgresql-$major-cron")
        fi
        ;;
    esac

    mapfile -t lacking < <(missing "${wanted[@]}")
    [ ${#lacking[@]} = 0 ] || install_packages "${lacking[@]}"

    # The test of the format of documents leaves out a part without it.
    if [ -n "$(missing python3-jsonschema)" ] && is_offered python3-jsonschema; then
        install_packages python3-jsonschema || say "python3-jsonschema could not be installed"
    fi

    # The test of captured workloads has an application of Django's.
    if [ -n "$(missing python3-django python3-psycopg2)" ] && is_offered python3-django; then
        install_packages python3-django python3-psycopg2 || say "python3-django could not be installed"
    fi

    # The test of clocks sets that of its server.
    if [ -n "$(missing libfaketime)" ] && is_offered libfaketime; then
        install_packages libfaketime || say "libfaketime could not be installed"
    fi

    # The test of connection poolers starts its own; the package starts one that nobody needs.
    if [ -n "$(missing pgbouncer)" ] && is_offered pgbouncer; then
        install_packages pgbouncer || say "pgbouncer could not be installed"
        ! command -v systemctl >/dev/null || as_root systemctl disable --now pgbouncer || true
    fi
}

check_server() {
    if ! { [ -x "$("$PG_CONFIG" --bindir)/postgres" ] && [ -f "$("$PG_CONFIG" --pgxs)" ]; } 2>/dev/null; then
        die "\"$PG_CONFIG\" does not belong to a server with PGXS: set PG_CONFIG"
    fi
    case " $supported " in
    *" $(pg_major) "*) ;;
    *) die "$("$PG_CONFIG" --version) is not supported, only $supported: set PG_CONFIG" ;;
    esac
}

needed_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

is_new_enough() { # VERSION
    [ -n "$1" ] && printf '%s\n' "$needed_rust" "$1" | sort -VC
}

rust_is_new_enough() {
    is_new_enough "$(cargo --version 2>/dev/null | cut -d ' ' -f 2)"
}

# Prints the distribution's packages of Rust if they are new enough.  Debian has newer ones, for
# its browsers, which replace the others: nothing is replaced.
rust_packages() {
    local packages
    ! command -v cargo rustc >/dev/null && command -v apt-get >/dev/null || return 0
    for packages in "cargo rustfmt rust-clippy" "cargo-web rustfmt-web rust-web-clippy"; do
        if is_new_enough "$(apt-cache policy "${packages%% *}" | sed -n 's/^ *Candidate: *\([0-9]\)/\1/p')"; then
            echo "$packages"
            return
        fi
    done
}

rustup_init() {
    local installer source=${RUSTUP_INIT:-https://sh.rustup.rs}
    installer=$(mktemp)
    if ! curl --proto '=https' --tlsv1.2 -sSf -o "$installer" "$source"; then
        rm "$installer"
        die "$source could not be fetched: install Rust $needed_rust or newer, and try again"
    fi
    RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$installer" -q -y --no-modify-path \
        --profile minimal --component rustfmt --component clippy
    rm "$installer"
}

rust() {
    local packages
    if ! rust_is_new_enough; then
        say "installing Rust $needed_rust or newer"
        packages=$(rust_packages)
        if command -v rustup >/dev/null; then
            rustup toolchain install stable --profile minimal --component rustfmt,clippy
        elif [ -n "$packages" ]; then
            # shellcheck disable=SC2086 # several packages
            install_packages $packages
        else
            rustup_init
        fi
        rust_is_new_enough || die "cargo is missing or older than $needed_rust: install a newer one, or try \"rustup default stable\""
    fi
    if ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
        if command -v rustup >/dev/null; then
            rustup component add rustfmt clippy
        else
            say "cargo fmt or cargo clippy is missing: \"make test\" needs both"
        fi
    fi
}

if command -v apt-get >/dev/null; then
    packages
else
    say "no apt-get here: a C compiler, clang, libpq and IPC::Run are taken for granted"
fi
check_server
rust
