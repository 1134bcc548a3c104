#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir demo: ends well, says what it verified, its figures fit together, and it
# writes no control characters where there is no terminal.
# usage: cli_demo.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

timeout 120 "$weir" demo >out 2>err || fail "status $?"
[ ! -s err ] || fail "something on stderr"
tr -d '\n -~\200-\377' <out >control # trees are UTF-8
[ ! -s control ] || fail "control characters"

# Rows that the processes counted are the rows of the run; each had some.
awk '/^Main run/ { rows = $6 }
     /^  process/ { n++; sum += $(NF - 1); few = few || $(NF - 1) < 1 }
     END { exit !(n == 4 && rows > 0 && sum == rows && !few) }' out ||
    fail "counts do not add up"
grep -q '^  Verified: all' out || fail "nothing verified"
for way in shm tcp sockets; do
    grep -Eq "^  $way +[# ]{32} +[0-9.]+ [kMG] rows/s" out ||
        fail "no line of $way"
done
[ "$(grep -c '^  shm is .* times as fast' out)" -eq 2 ] ||
    fail "two ratios expected"

# The query: its rows, its tree, a line for each of its exchanges.
grep -q '^(5 rows)$' out || fail "no rows of the query"
[ "$(grep -c 'join "' out)" -eq 3 ] || fail "three joins expected"
[ "$(grep -Ec '^(shuffle|merge) "' out)" -eq 8 ] ||
    fail "eight exchanges expected"
echo ok
