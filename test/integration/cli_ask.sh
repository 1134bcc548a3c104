#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGUSR1 to a command that runs: each of its processes says who waits for whom,
# and goes on. usage: cli_ask.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

if [ ! -r "/proc/$$/task/$$/children" ]; then
    echo "not tested: no list of children in /proc"
    exit 77
fi

# ask PATTERN: ask the command until somebody has said it.
ask()
{
    until grep -q -e "$1" err; do
        kill -USR1 "$pid" 2>/dev/null || fail "over before it said \"$1\""
    done
}

# No row comes out, so the processes stay busy with each other. One of them is
# stopped once the others have sent it rows, so that they come to wait for room
# there: stopped earlier, it may not have answered them, and they would wait for
# its link until they give it up.
cat >silent.json <<'JSON'
{"weir": 1,
 "tables": {"n": {"series": {"rows": 1000000000000, "columns": [
   {"name": "n", "type": "int64"}]}}},
 "operators": [{"name": "n", "op": "scan", "table": "n"},
   {"name": "s", "op": "shuffle", "input": "n", "by": "hash", "keys": ["n"]},
   {"name": "f", "op": "filter", "input": "s", "where": "n < 0"}],
 "result": "f"}
JSON
for transport in shm tcp; do
    start_stopped 3 "$weir" run silent.json -t $transport -n 3
    # shellcheck disable=SC2086 # a list
    set -- $nodes
    kill -CONT "$1" "$2" "$3"
    for node in 0 1; do
        ask "^weir: process $node of 3: node: 1 query, "
        ask "^weir: process $node of 3: query [0-9]* shuffle [0-9]* .s. \
worker 0 writer: .*process 2 of 3 worker 0.* not released"
    done
    kill -STOP "$3"
    stopped "$3" || fail "process 2 of 3 is over"
    for node in 0 1; do
        ask "^weir: process $node of 3: query [0-9]* shuffle [0-9]* .s. \
worker 0 writer: waits for room at process 2 of 3 worker 0, ring full for "
    done
    # What a stopped process says, it says later: only then is there more of it.
    said=$(grep -c '^weir: process 2 of 3: node: ' err || true)
    kill -CONT "$3"
    until [ "$(grep -c '^weir: process 2 of 3: node: ' err)" -gt "$said" ]; do
        kill -USR1 "$pid" 2>/dev/null || fail "over before process 2 went on"
    done
    kill -KILL $pid
    wait $pid || true
done
echo ok
