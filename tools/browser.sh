# Chromium and what drives it; to be sourced after common.sh.
#
#   browser_missing    prints what is missing for the tests of pages; nothing if all is there
#   browser_install    tries to install it: Debian's packages, and the driver and axe-core, whose
#                      versions test/browser/package-lock.json has
#   browser_alone COMMAND...
#                      runs a command with a home of its own, so that Chromium leaves no files
#
# CHROMIUM           the browser, by default one of the PATH
# shellcheck shell=bash

browser_modules=$(realpath -m "${CARGO_TARGET_DIR:-target}/browser")
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
export CHROMIUM

browser_missing() {
    if [ -z "$CHROMIUM" ]; then
        echo "Chromium is not installed"
    elif ! node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null; then
        echo "Node.js 18 or newer is not installed"
    elif ! cmp -s test/browser/package-lock.json "$browser_modules/package-lock.json" ||
        [ ! -d "$browser_modules/node_modules/playwright-core" ]; then
        echo "the driver of Chromium is not installed"
    elif ! browser_alone timeout 60 "$CHROMIUM" --headless --no-sandbox --disable-gpu --dump-dom about:blank \
        >/dev/null 2>&1; then
        echo "Chromium does not start here"
    fi
}

browser_alone() (
    home=$(mktemp -d)
    trap 'rm -rf "$home"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME="$home" TMPDIR="$home" "$@"
)

# Downloads may fail, or take forever; what is missing then, browser_missing tells.
browser_install() {
    local wanted=()
    [ -n "$CHROMIUM" ] || wanted+=(chromium)
    command -v node >/dev/null || wanted+=(nodejs)
    command -v npm >/dev/null || wanted+=(npm)
    if [ ${#wanted[@]} -gt 0 ] && command -v apt-get >/dev/null; then
        say "installing ${wanted[*]}"
        browser_packages "${wanted[@]}" || true
        CHROMIUM=${CHROMIUM:-$(command -v chromium || true)}
    fi
    if [ "$(browser_missing)" = "the driver of Chromium is not installed" ] && command -v npm >/dev/null; then
        say "installing the driver of Chromium"
        mkdir -p "$browser_modules"
        cp test/browser/package*.json "$browser_modules"
        timeout 120 npm ci --prefix "$browser_modules" --ignore-scripts --no-audit --no-fund --no-update-notifier ||
            rm -f "$browser_modules/package-lock.json"
    fi
}

browser_packages() {
    local become=()
    [ "$(id -u)" = 0 ] || become=(sudo -n)
    timeout 120 "${become[@]}" apt-get -q update &&
        timeout 600 "${become[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
            apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}
