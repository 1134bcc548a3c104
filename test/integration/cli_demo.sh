#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir demo: ends well, says what it verified, its figures fit together, and it
# writes no control characters where there is no terminal.
# usage: cli_demo.sh BUILD_DIR
set -eu
weir=$1/weir
[ -x "$weir" ] || { echo "no $weir: built without tools"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C

fail() { echo "FAILED: $*"; cat "$tmp/out" "$tmp/err"; exit 1; }

timeout 120 "$weir" demo >"$tmp/out" 2>"$tmp/err" || fail "status $?"
[ ! -s "$tmp/err" ] || fail "something on stderr"
tr -d '\n -~\200-\377' <"$tmp/out" >"$tmp/control" # trees are UTF-8
[ ! -s "$tmp/control" ] || fail "control characters"

# Rows that the processes counted are the rows of the run; each had some.
awk '/^Main run/ { rows = $6 }
     /^  process/ { n++; sum += $(NF - 1); few = few || $(NF - 1) < 1 }
     END { exit !(n == 4 && rows > 0 && sum == rows && !few) }' "$tmp/out" ||
    fail "counts do not add up"
grep -q '^  Verified: all' "$tmp/out" || fail "nothing verified"
for way in shm tcp sockets; do
    grep -Eq "^  $way +[# ]{32} +[0-9.]+ [kMG] rows/s" "$tmp/out" ||
        fail "no line of $way"
done
[ "$(grep -c '^  shm is .* times as fast' "$tmp/out")" -eq 2 ] ||
    fail "two ratios expected"

# The query: its rows, its tree, a line for each of its exchanges.
grep -q '^(5 rows)$' "$tmp/out" || fail "no rows of the query"
[ "$(grep -c 'join "' "$tmp/out")" -eq 3 ] || fail "three joins expected"
[ "$(grep -Ec '^(shuffle|merge) "' "$tmp/out")" -eq 8 ] ||
    fail "eight exchanges expected"
echo ok
