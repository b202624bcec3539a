#!/usr/bin/env bash
# make fuzz: searches for texts that make the script language's parser or evaluator
# panic, hang or take much memory, with libFuzzer.  A finding stays as a file, whose
# name is printed, and the exit status is not 0.
#
# FUZZ_SECONDS   time for each target
# CARGO_TARGET_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

seconds=${FUZZ_SECONDS:-60}
out=$(realpath -m "${CARGO_TARGET_DIR:-target}/fuzz")
crate=crates/script/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

# The flags of "cargo fuzz -s none", for the stable compiler.  With --target, they do not
# apply to build scripts.
flags=(--cfg fuzzing -Cpasses=sancov-module)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done

RUSTFLAGS="${flags[*]}" cargo build --release --locked --manifest-path "$crate/Cargo.toml" \
    --target "$host" --target-dir "$out"

for target in script expression; do
    say "fuzzing $target for $seconds s"
    mkdir -p "$out/corpus/$target" "$out/found/$target"
    "$out/$host/release/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -max_len=4096 -dict="$crate/words.dict" -artifact_prefix="$out/found/$target/" \
        -print_final_stats=1 "$out/corpus/$target" crates/script/src/builtin 2>"$out/$target.log" || {
        tail -n 40 "$out/$target.log"
        exit 1
    }
    grep '^stat::' "$out/$target.log"
done
