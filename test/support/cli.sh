# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the tests of the weir command begin with: `set -eu`, then this, with the
# build folder in $1. They go on in an empty directory that ends with them.
weir=$(cd "$1" && pwd)/weir
[ -x "$weir" ] || { echo "no $weir: built without tools"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
cd "$tmp"

fail() { echo "FAILED: $*"; cat out err 2>/dev/null; exit 1; }

# status EXPECTED COMMAND...: its exit status; what it says is in out and err.
status()
{
    expected=$1
    shift
    got=0
    timeout 60 "$@" >out 2>err || got=$?
    [ "$got" -eq "$expected" ] || fail "status $got, not $expected: $*"
}

# expect STATUS PATTERN COMMAND...: also a line of err, and nothing in dir.
expect()
{
    status=$1
    pattern=$2
    shift 2
    status "$status" "$@"
    grep -q -e "$pattern" err || fail "no \"$pattern\": $*"
    [ ! -e dir ] || fail "left something behind: $*"
}
