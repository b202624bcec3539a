#!/usr/bin/env bash
# Writes debian/copyright: debian/copyright.in with a paragraph for each crate of Cargo.lock, as the crate's metadata say.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

cargo metadata --quiet --locked --format-version 1 | jq -r '
    [.packages[] | select(.source != null)] | unique_by(.name)[]
    | "Files: vendor/\(.name)*/*",
      "Copyright: \(if .authors == [] then "authors of \(.name)" else .authors | join("\n ") end)",
      "License: \(.license | gsub("\\) AND "; ", and ") | gsub(" OR |/"; " or ") | gsub("[()]"; "")
        | gsub("\\bMIT\\b"; "Expat") | gsub(" WITH LLVM-exception"; " with LLVM exception") | gsub("-or-later"; "+"))",
      ""' | sed -e '/^@crates@$/{r /dev/stdin' -e 'd}' debian/copyright.in >debian/copyright.new
mv debian/copyright.new debian/copyright
