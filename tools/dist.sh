#!/usr/bin/env bash
# make dist: pg_selfbench-VERSION.zip for PGXN and for builds without network, of the last commit: the sources, the
# install script, and all crates that are compiled on Linux. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

version=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" pg_selfbench.control)
name=pg_selfbench-$version
out=$PWD/$name.zip
for program in git zip cargo; do
    command -v $program >/dev/null || die "$program is needed"
done
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git archive --prefix="$name/" HEAD | tar -x -C "$tree"
time=$(git log -1 --format=%ct)
cd "$tree/$name"

CARGO_TARGET_DIR=$tree/target make -s "pg_selfbench--$version.sql"
mkdir .cargo
cargo vendor --quiet --locked vendor >/dev/null
cat >.cargo/config.toml <<END
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
END
# Crates of other systems: cargo wants to find them, and compiles nothing of them.
used=$(cargo tree --quiet --locked --offline --workspace --edges all --all-features --prefix none --format '{p}' \
    --target x86_64-unknown-linux-gnu --target aarch64-unknown-linux-gnu | cut -d ' ' -f 1 | sort -u)
for crate in vendor/*; do
    package=$(sed -n '/^\[package\]/,/^\[/s/^name = "\(.*\)"/\1/p' "$crate/Cargo.toml")
    if ! grep -qxF "$package" <<<"$used"; then
        library=$(sed -n '/^\[lib\]/,/^\[/s/^path = "\(.*\)"/\1/p' "$crate/Cargo.toml")
        library=${library:-src/lib.rs}
        find "$crate" -mindepth 1 ! -name Cargo.toml ! -name .cargo-checksum.json -delete 2>/dev/null || true
        mkdir -p "$crate/$(dirname "$library")"
        : >"$crate/$library"
        sed -i 's/"files":{[^}]*}/"files":{}/' "$crate/.cargo-checksum.json"
    fi
done

cd "$tree"
find "$name" -exec touch -h -d "@$time" {} +
rm -f "$out"
find "$name" -type f -o -type l | LC_ALL=C sort | TZ=UTC zip -q -X -@ "$out"
say "$out, $(du -m "$out" | cut -f 1) MB"
