#!/usr/bin/env bash
# make demo: a scratch server benchmarks itself in both modes.
#
# DEMO_SECONDS, DEMO_SCALE, DEMO_CLIENTS   length of a run, scale, clients
# DEMO_FILE                                where the HTML report goes: demo.html
# DEMO_PICTURES=docs                       where the pictures of README.md go; without it, none
# KEEP=1                                   leaves the server running
set -euo pipefail
page=$(realpath -m "${DEMO_FILE:-demo.html}")
pictures=${DEMO_PICTURES:+$(realpath -m "$DEMO_PICTURES")}
cd "$(dirname "$0")/.."
. tools/common.sh

tools/prerequisites.sh
. tools/scratch.sh

scratch_create
[ -d "${CARGO_TARGET_DIR:-target}" ] || require_space 1500 "$PWD"
require_space 500 "$scratch"
say "building"
scratch_install
say "starting a server in $scratch"
scratch_start

sql() {
    "$bindir/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}
sql -v seconds="${DEMO_SECONDS:-5}" -v scale="${DEMO_SCALE:-10}" -v clients="${DEMO_CLIENTS:-2}" \
    <tools/demo.sql

# psql writes it, as the user who called: the server could not.
sql -At -c "SELECT bench.report(max(run_id), 'html') FROM bench.runs WHERE mode = 'spi'" >"$page"
say "the report of tpcb-like in mode spi as a page: open file://$page in a browser"

# A chart follows the theme of the browser; these have one each, for the theme that a page chooses.
if [ -n "$pictures" ]; then
    chart=$(sql -At -c "SELECT bench.chart(min(run_id), 'distribution') FROM bench.runs")
    echo "${chart//(prefers-color-scheme: dark)/not all}" >"$pictures/demo-light.svg"
    echo "${chart//(prefers-color-scheme: dark)/all}" >"$pictures/demo-dark.svg"
    say "pictures of the first run: $pictures/demo-light.svg and demo-dark.svg"
fi
