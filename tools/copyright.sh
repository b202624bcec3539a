#!/usr/bin/env bash
# Writes debian/copyright: debian/copyright.in with a paragraph for each crate of Cargo.lock. Its holders are those of the
# notices in its license files, else the authors that its metadata name.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

for program in cargo jq; do
    command -v $program >/dev/null || die "$program is needed"
done

# holders NAME DIRECTORY...   of the notices in files of that name there; a license's own text also has lines that begin
# like one
holders() {
    find "${@:2}" -maxdepth 1 -type f -iname "$1*" -exec cat {} + |
        sed -nE 's/^[ \t]*((\(c\) |© ?)?copyright( \(c\)| ©)?|©) *(\(c\) *)?//Ip' |
        sed -E 's/[ \t\r]+$//' |
        grep -E '[[:alpha:]]{3}' |
        grep -viE '^(notice|licen[sc]e|owner|holder|protection|statement|and|law|interest|assignment|s in |year )|yyyy|\[year|name of' |
        LC_ALL=C sort -u || true
}

cargo metadata --quiet --locked --format-version 1 | jq -r '
    [.packages[] | select(.source != null)] | group_by(.name)[]
    | [.[0].name,
       (.[0].license | gsub("\\) AND "; ", and ") | gsub(" OR |/"; " or ") | gsub("[()]"; "")
         | gsub("\\bMIT\\b"; "Expat") | gsub(" WITH LLVM-exception"; " with LLVM exception") | gsub("-or-later"; "+")),
       (.[0].authors | join("\u001f")),
       (map(.manifest_path | rtrimstr("/Cargo.toml")) | join("\u001f"))]
    | join("\u001e")' |
    while IFS=$'\x1e' read -r name license authors directories; do
        IFS=$'\x1f' read -ra directories <<<"$directories"
        found=
        for file in license copying copyright; do
            found=${found:-$(holders $file "${directories[@]}")}
        done
        found=${found:-${authors//$'\x1f'/$'\n'}}
        found=${found:-authors of $name}
        printf 'Files: vendor/%s*/*\nCopyright: %s\nLicense: %s\n\n' "$name" "${found//$'\n'/$'\n '}" "$license"
    done | sed -e '/^@crates@$/{r /dev/stdin' -e 'd}' debian/copyright.in >debian/copyright.new
mv debian/copyright.new debian/copyright
