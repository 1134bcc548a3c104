# SPDX-License-Identifier: Apache-2.0
# What the checks share. A check is called with the root of a source tree,
# prints one line per violation and exits 0 (none), 1 (some) or 77 (a tool is
# missing).

scripts=$(cd "$(dirname "$0")" && pwd)

# Folders of sources: what makes the library and the programs; all that have a
# rule of layers. A list of words, to be split.
program_folders="core transport operators services connectors chbench launch"
program_folders="$program_folders cli tools bench"
# shellcheck disable=SC2034 # used by the checks
source_folders="include $program_folders examples test"

# enter <root>: all paths are relative to the tree from here on
enter() {
    cd "${1:?usage: $(basename "$0") ROOT}"
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 1' HUP INT TERM
}

# sources <pattern> <dir>...: files below those folders that exist
sources() {
    pattern=$1
    shift
    for dir; do
        if [ -d "$dir" ]; then
            find "$dir" -type f -name "$pattern"
        fi
    done | LC_ALL=C sort
}

# split_code <file>...: "file TAB line TAB code TAB comment" for every line
split_code() {
    awk -f "$scripts/split.awk" "$@" /dev/null
}

need_tool() {
    command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"
}

skip() {
    echo "skipped: $1 (make setup-check installs it)"
    exit 77
}

# verdict <file>: print the violations in it; success if there are none
verdict() {
    if [ -s "$1" ]; then
        cat "$1"
        echo "$(basename "$0" .sh): $(wc -l <"$1") violation(s)"
        exit 1
    fi
}
