#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How runs of weir run end before their time: one message, the same in every
# run, or none; and no process stays. usage: cli_run_ends.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

# always STATUS MESSAGE COMMAND...: whatever process is the first to speak, it
# says this and nothing else.
always()
{
    expected=$1
    printf 'weir run: %s\n' "$2" >message
    shift 2
    for _ in 1 2 3 4; do
        status "$expected" "$@"
        cmp err message || fail "another message: $*"
    done
}

# ---- faults of plans and data ------------------------------------------------

# One process of three reads the faulty row.
mkdir data
awk 'BEGIN {
    print "k,price"
    for (i = 2; i <= 30000; i++) {
        print i % 97 "," (i == 25001 ? "1.x0" : "1.50")
    }
}' >data/sales.csv
cat >csv.json <<'JSON'
{"weir": 1,
 "tables": {"sales": {"csv": "sales.csv", "columns": [
   {"name": "k", "type": "int64"}, {"name": "price", "type": "decimal(8,2)"}]}},
 "operators": [
   {"name": "l", "op": "scan", "table": "sales"},
   {"name": "by_k", "op": "shuffle", "input": "l", "by": "hash", "keys": ["k"]},
   {"name": "sum", "op": "aggregate", "input": "by_k", "groups": ["k"],
    "aggregates": [{"name": "total", "expr": "sum(price)"}]}],
 "result": "sum"}
JSON
always 3 'operator l: data/sales.csv:25001: column "price": '\
'"1.x0" is no decimal(8,2)' \
    "$weir" run csv.json -d data --nodes 3

# 10^37 * 9 twice is over 38 digits, on the worker of that key.
cat >overflow.json <<'JSON'
{"weir": 1,
 "tables": {"t": {"columns": [
    {"name": "k", "type": "int64"}, {"name": "v", "type": "decimal(38,0)"}],
  "rows": [[1, "90000000000000000000000000000000000000"], [2, "1"],
           [1, "90000000000000000000000000000000000000"]]}},
 "operators": [
   {"name": "t", "op": "scan", "table": "t"},
   {"name": "by_k", "op": "shuffle", "input": "t", "by": "hash", "keys": ["k"]},
   {"name": "sums", "op": "aggregate", "input": "by_k", "groups": ["k"],
    "aggregates": [{"name": "total", "expr": "sum(v)"}]}],
 "result": "sums"}
JSON
always 3 'operator sums: sum, output "total": overflow: '\
'a value does not fit decimal(38,0)' \
    "$weir" run overflow.json --nodes 3

# All processes at a time.
cat >division.json <<'JSON'
{"weir": 1,
 "tables": {"n": {"series": {"rows": 100000, "columns": [
   {"name": "n", "type": "int64"}]}}},
 "operators": [{"name": "n", "op": "scan", "table": "n"},
   {"name": "s", "op": "shuffle", "input": "n", "by": "hash", "keys": ["n"]},
   {"name": "f", "op": "filter", "input": "s", "where": "1 / (n - n) > 0"}],
 "result": "f"}
JSON
# shellcheck disable=SC2016 # no command is meant
always 3 'operator f: 1 / 0: division by zero, in `1 / (n - n) > 0`' \
    "$weir" run division.json --nodes 3

sed 's/"by_k", "op"/"sum", "op"/' csv.json >twice.json
always 3 'twice.json: line 7, column 13: $.operators[2].name of "sum": '\
'$.operators[1] is called "sum", too' \
    "$weir" run twice.json -d data --nodes 3

# ---- whoever reads the rows --------------------------------------------------

# Rows without end: what ends is ended.
cat >endless.json <<'JSON'
{"weir": 1,
 "tables": {"n": {"series": {"rows": 1000000000000, "columns": [
   {"name": "n", "type": "int64"}]}}},
 "operators": [{"name": "n", "op": "scan", "table": "n"},
   {"name": "s", "op": "shuffle", "input": "n", "by": "hash", "keys": ["n"]},
   {"name": "f", "op": "filter", "input": "s", "where": "n >= 0"}],
 "result": "f"}
JSON

# A reader that has had enough ends the run, and nothing is said.
for format in csv json; do
    {
        got=0
        timeout 60 "$weir" run endless.json -n 4 -f $format 2>err || got=$?
        echo $got >got
    } | head -2 >out
    [ "$(wc -l <out)" -eq 2 ] || fail "rows for head, $format"
    [ "$(cat got)" -eq 141 ] || fail "status $(cat got) of a closed pipe"
    [ ! -s err ] || fail "a closed pipe is spoken of"
done

# Anything else that is in the way of the rows is the run's failure.
sed 's/1000000000000/10/' endless.json >ten.json
for plan in endless ten; do
    expected='weir run: write the rows: No space left on device'
    for try in 1 2 3; do
        got=0
        timeout 60 "$weir" run $plan.json -n $try -f csv >/dev/full 2>err ||
            got=$?
        [ $got -eq 1 ] || fail "status $got of a full disk, $plan"
        [ "$(cat err)" = "$expected" ] || fail "a full disk, $plan"
    done
done

# ---- threads that are not to be had ------------------------------------------

# Root may have any number, so somebody else runs it. No number of threads makes
# it bad input, or a signal.
printf '%s' '{"weir": 1,
 "tables": {"one": {"columns": [{"name": "k", "type": "int64"}],
                    "rows": [[1]]}},
 "operators": [{"name": "rows", "op": "scan", "table": "one"}],
 "result": "rows"}' >one.json
status 0 "$weir" run one.json
# A copy that he may execute: the build may lie below a folder of root's alone.
other() { setpriv --reuid 54321 --clear-groups "$@"; }
chmod 711 .
cp "$weir" theirs
if other ./theirs explain - <one.json >out 2>err; then
    lacked=0
    for threads in 2 3 4 5 6 7 8 9 10 11 12; do
        found=0
        other prlimit --nproc="$threads" ./theirs run --workers 4 - <one.json \
            >out 2>err || found=$?
        [ "$found" -le 1 ] || fail "$threads threads: status $found: $(cat err)"
        if grep -q 'no thread for worker' err; then lacked=1; fi
    done
    [ "$lacked" = 1 ] || fail 'no run lacked the thread of a worker'
    [ "$found" = 0 ] || fail "12 threads: $(cat err)"
fi

# ---- processes that are ended ------------------------------------------------

status 1 "$weir" run endless.json -n 2 -f csv --timeout 1
case $(cat err) in
'weir run: deadline passed: shuffle '*' "'*'": process '*) ;;
*) fail "after the time limit" ;;
esac

if [ ! -r "/proc/$$/task/$$/children" ]; then
    echo "not tested: signals (no list of children in /proc)"
    exit 0
fi

# No row comes out, so the processes stay busy with each other.
sed 's/n >= 0/n < 0/' endless.json >silent.json

# Who is stopped keeps all waiting: each is told of, once, and the run goes on.
start_stopped 2 "$weir" run silent.json -n 2 --stopped 1
# shellcheck disable=SC2086 # a list
set -- $nodes
until [ "$(wc -l <err)" -ge 2 ]; do
    kill -0 $pid || fail "ended before it told who is stopped"
done
for i in 0 1; do
    eval "stopped=\$$((i + 1))"
    told="^weir: process $i of 2 (pid $stopped) is stopped by signal [0-9]*"
    told="$told (Stopped (signal)), and all wait for it: kill -CONT $stopped"
    told="$told lets it go on, kill -KILL $stopped ends the run\$"
    grep -q "$told" err ||
        fail "does not say that process $i is stopped"
done
kill -KILL "$1"
wait $pid || true
[ "$(grep -c stopped err)" -eq 2 ] || fail "says twice who is stopped"
mkfifo held
for transport in shm tcp; do
    # One is killed, the others are stopped: the run ends all the same.
    start_stopped 4 "$weir" run silent.json -t $transport -n 4
    # shellcheck disable=SC2086 # a list
    set -- $nodes
    kill -KILL "$3"
    got=0
    wait $pid || got=$?
    [ $got -eq 1 ] || fail "status $got after a process was killed"
    grep -q '^weir run: process [0-3] of 4 died of signal 9 (Killed)$' err ||
        fail "does not say who died"
    for node in "$@"; do
        ! kill -0 "$node" 2>/dev/null || fail "process $node lives on"
    done

    # The command itself is asked to end. Its processes go with it: only then
    # the reader of what they all hold sees an end.
    cat held &
    reader=$!
    exec 3>held
    start_stopped 4 "$weir" run silent.json -t $transport -n 4
    exec 3>&-
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    [ $got -eq 143 ] || fail "status $got after SIGTERM"
    wait $reader
done
echo ok
