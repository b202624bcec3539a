#!/usr/bin/env bash
# make demo: a scratch server benchmarks itself in both modes.
#
# DEMO_SECONDS, DEMO_SCALE, DEMO_CLIENTS   length of a run, scale, clients
# KEEP=1                                   leaves the server running
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh

tools/prerequisites.sh
. tools/scratch.sh

scratch_create
say "building"
scratch_install
say "starting a server in $scratch"
scratch_start

"$bindir/psql" -X -q -v ON_ERROR_STOP=1 \
    -v seconds="${DEMO_SECONDS:-5}" -v scale="${DEMO_SCALE:-10}" -v clients="${DEMO_CLIENTS:-2}" \
    <tools/demo.sql
