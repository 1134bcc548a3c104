#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a command inherits from whoever started it: signals that are ignored or
# blocked, standard descriptors that are closed, a mask for files. usage:
# cli_inherited.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

cat >good.json <<'JSON'
{"weir": 1,
 "tables": {"n": {"series": {"rows": 20000, "columns": [
   {"name": "n", "type": "int64"}]}}},
 "operators": [{"name": "n", "op": "scan", "table": "n"},
   {"name": "s", "op": "shuffle", "input": "n", "by": "hash", "keys": ["n"]}],
 "result": "s"}
JSON
sed 's/"result": "s"/"result": "f"/
    s|"keys": \["n"\]}\]|"keys": ["n"]},\
   {"name": "f", "op": "filter", "input": "s", "where": "1 / (n - n) > 0"}]|' \
    good.json >bad.json
sed 's/20000/1000000000000/' good.json >endless.json

# ---- signals -----------------------------------------------------------------

# Ignored, SIGCHLD makes the kernel forget how a process ended.
for nodes in 1 2 4; do
    status 3 env --ignore-signal=CHLD "$weir" run bad.json -n $nodes
    grep -q 'division by zero' err || fail "no reason with $nodes processes"
    status 0 env --ignore-signal=CHLD "$weir" run good.json -n $nodes -f csv
    [ "$(wc -l <out)" -eq 20001 ] || fail "rows of $nodes processes"
done
status 1 env --ignore-signal=CHLD "$weir" run endless.json -n 2 -f csv \
    --timeout 1
grep -q 'deadline passed' err || fail "no time limit"
status 0 env --ignore-signal=CHLD "$weir" sim --seeds 1..3

# Killed, a member is missed.
start_stopped 3 env --ignore-signal=CHLD "$weir" run endless.json -n 3 -f csv
# shellcheck disable=SC2086 # a list
set -- $nodes
kill -KILL "$2"
kill -CONT "$1" "$3" 2>/dev/null || true
got=0
wait $pid || got=$?
[ $got -eq 1 ] || fail "status $got after a process was killed"
grep -q 'died of signal 9' err || fail "does not say who died"

# Blocked by whoever started it, SIGTERM ends a command all the same.
start_stopped 2 env --block-signal=TERM --block-signal=INT \
    "$weir" run endless.json -n 2 -f csv
kill -TERM $pid
got=0
wait $pid || got=$?
[ $got -eq 143 ] || fail "status $got after SIGTERM"

# ---- standard descriptors ----------------------------------------------------

for what in '>&-' '<&- >&-' '<&- >&- 2>&-'; do
    for nodes in 1 3; do
        got=0
        sh -c "exec timeout 60 \"$weir\" run good.json -n $nodes -f csv $what" \
            2>err || got=$?
        [ $got -eq 1 ] || fail "status $got of lost rows, $what, $nodes"
        case $what in
        *'2>&-'*) ;;
        *) grep -q 'Bad file descriptor' err || fail "no reason: $what" ;;
        esac
    done
done
for what in '<&-' '2>&-' '<&- 2>&-'; do
    for nodes in 1 3; do
        got=0
        sh -c "exec timeout 60 \"$weir\" run good.json -n $nodes -f csv $what" \
            >out 2>err || got=$?
        [ $got -eq 0 ] || fail "status $got, $what"
        [ "$(wc -l <out)" -eq 20001 ] || fail "rows, $what, $nodes"
    done
done
got=0
sh -c "exec \"$weir\" run - <&-" >out 2>err || got=$?
[ $got -ne 0 ] || fail "a plan from a closed standard input"
got=0
sh -c "exec \"$weir\" --version >&-" 2>err || got=$?
[ $got -eq 1 ] || fail "a version that nobody sees"

# ---- files -------------------------------------------------------------------

# Nothing that a mask takes away is needed between processes.
for transport in shm tcp; do
    (umask 0777 && timeout 60 "$weir" run good.json -n 3 -t $transport -f csv) \
        >out 2>err || fail "under umask 0777, $transport"
    [ "$(wc -l <out)" -eq 20001 ] || fail "rows under umask 0777"
done
echo ok
