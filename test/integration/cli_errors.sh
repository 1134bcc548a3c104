#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The weir command when it is used wrongly, gets bad input, or fails: exit
# status, message, and nothing left behind. usage: cli_errors.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

# helps COMMAND...: --help exits well, on stdout, and says what the status
# means.
helps()
{
    timeout 20 "$@" --help >out 2>err || fail "$* --help"
    grep -qi 'usage: ' out || fail "no usage: $*"
    [ ! -s err ] || fail "help on stderr: $*"
}

helps "$weir"
for command in demo shuffle run explain gen doctor bench; do
    helps "$weir" $command
done
for kind in two-stage query gen latency stream idle memory sim; do
    helps "$weir" bench $kind
    grep -q json out || fail "bench $kind"
    timeout 20 "$weir" bench --help | grep -q "weir bench $kind  *[a-zA-Z]" ||
        fail "bench --help: $kind"
done
for status in '    0  done' '    1  it failed' '    2  wrong use' \
    '    3  bad input' '  141  nobody reads' '128+n  ended by'; do
    timeout 20 "$weir" --help | grep -q "^$status" || fail "--help: $status"
done
for command in demo shuffle run explain gen doctor bench; do
    timeout 20 "$weir" --help | grep -q "weir $command" || fail "$command"
done
for command in "" demo shuffle run explain gen doctor; do
    # shellcheck disable=SC2086 # nothing for the program itself
    timeout 20 "$weir" $command --version 2>err |
        grep -Eq '^weir [0-9]+\.[0-9]+\.[0-9]+$' || fail "--version $command"
done

printf 'a,b\n1,2\n3,4\n' >good.csv
expect 2 'Usage' "$weir"
expect 2 'no command "nope"' "$weir" nope
expect 2 'no FILE' "$weir" shuffle --by a --out dir
expect 2 'no --by' "$weir" shuffle good.csv --out dir
expect 2 'no --out' "$weir" shuffle --by a good.csv
expect 2 'one FILE only' "$weir" shuffle --by a good.csv good.csv --out dir
expect 2 'must be a number, 1..256' \
    "$weir" shuffle --nodes 0 --by a good.csv --out dir
expect 2 'must be a number' "$weir" shuffle --nodes 2x --by a good.csv --out dir
expect 2 'must be a number' "$weir" shuffle --nodes -1 --by a good.csv --out dir
expect 2 'Usage: weir bench KIND' "$weir" bench
expect 2 'no kind "nope"' "$weir" bench nope
expect 2 'unrecognized option' "$weir" bench memory --seconds 3
expect 2 '"0"; must be a number, 1..1048576' "$weir" bench stream --mib 0
expect 2 'must be a number' "$weir" bench stream --mib ' 5'
expect 2 'must be a number' "$weir" bench stream --mib ''
expect 2 'unexpected argument "x"' "$weir" bench idle x
expect 2 '"shm" is listed twice' "$weir" bench two-stage --transports shm,shm
expect 2 'over 1024' "$weir" shuffle -n 256 -w 64 --by a good.csv --out dir
expect 2 '"udp" must be one of shm, tcp, verbs, auto' \
    "$weir" shuffle -t udp --by a good.csv --out dir
expect 2 \
    '"sim" must be one of shm, tcp, verbs, auto; the simulator .*weir/sim.h' \
    "$weir" run -t sim plan.json
expect 2 'bytes' "$weir" shuffle -m 5X --by a good.csv --out dir
expect 2 'bytes' \
    "$weir" shuffle -m 99999999999999999999 --by a good.csv --out dir
expect 2 'unrecognized' "$weir" shuffle --nope --by a good.csv --out dir
expect 2 'unexpected argument' "$weir" demo now

expect 2 'no column "c"; its columns are: a, b' \
    "$weir" shuffle --by c good.csv --out dir
expect 2 'no column "c"' "$weir" shuffle --by a,c good.csv --out dir
printf 'a,a\n1,2\n' >twice.csv
expect 2 'columns 1 and 2 are both named "a"' \
    "$weir" shuffle --by a twice.csv --out dir

expect 3 'none.csv: No such file' "$weir" shuffle --by a none.csv --out dir
expect 3 'weir shuffle: .: a directory' "$weir" shuffle --by a . --out dir
# Nobody writes to the pipe: nothing may wait for that.
mkfifo pipe
expect 3 'weir shuffle: pipe: a pipe, not a regular file' \
    "$weir" shuffle --by a pipe --out dir
cat >pipe.json <<'JSON'
{"weir": 1, "tables": {"t": {"csv": "pipe"}},
 "operators": [{"name": "t", "op": "scan", "table": "t"}], "result": "t"}
JSON
for command in run explain; do
    expect 3 \
        "weir $command: pipe: a pipe that nobody writes to; start the writer" \
        "$weir" $command pipe
    expect 3 "weir $command: \.: a directory; the file of a plan was expected" \
        "$weir" $command .
    expect 3 'tables.t: ./pipe: a pipe, not a regular file' \
        "$weir" $command pipe.json
done
: >empty.csv
expect 3 'no header line' "$weir" shuffle --by a empty.csv --out dir
printf 'a,b\n1,2\n"x\n\ny",4\n3\n5,6\n' >few.csv
expect 3 'few.csv:6: 1 field, the header has 2' \
    "$weir" shuffle --by a few.csv --out dir
printf 'a,b\n1,2\n3,4,5\n' >many.csv
expect 3 'many.csv:3: 3 fields, the header has 2' \
    "$weir" shuffle --by a many.csv --out dir
printf 'a,b\r\n1,2\r\n3,"x\r\n5,6\r\n' >open.csv
expect 3 'open.csv:3: the quote that opens field 2 .* never closed' \
    "$weir" shuffle --by a open.csv --out dir
printf 'a,b\n1,2\n3,x"y\n' >middle.csv
expect 3 'middle.csv:3: a quote in the middle of field 2' \
    "$weir" shuffle --by a middle.csv --out dir
printf 'a,b\n1,2\n3,"x"y\n' >after.csv
expect 3 'after.csv:3: a quote' "$weir" shuffle --by a after.csv --out dir

# A pipe that somebody writes to is a plan as any file.
one='{"series": {"rows": 1, "columns": [{"name": "n", "type": "int64"}]}}'
sed "s/{\"csv\": \"pipe\"}/$one/" pipe.json >one.json
# shellcheck disable=SC2002 # a pipe is meant
cat one.json | timeout 60 "$weir" explain /dev/stdin >out 2>err ||
    fail "a pipe with a writer"
grep -q 'columns: n int64' out || fail "a plan from a pipe"

# What the machine lacks is not bad input: here, descriptors.
awk 'BEGIN {
    print "{\"weir\": 1, \"tables\": {"
    for (i = 0; i < 60; i++) {
        printf "%s\"t%d\": {\"csv\": \"good.csv\"}", i ? "," : "", i
    }
    print "}, \"operators\": [{\"name\": \"r\", \"op\": \"scan\","
    print "\"table\": \"t0\"}], \"result\": \"r\"}"
}' >many.json
status 0 "$weir" explain many.json
for command in run explain; do
    expect 1 'good.csv: Too many open files' prlimit --nofile=50 \
        "$weir" $command many.json
done

# An output directory that is not empty keeps what it has.
mkdir full
echo mine >full/keep.txt
expect 2 'full is not empty (it holds keep.txt)' \
    "$weir" shuffle --by a good.csv --out full
[ "$(ls -A full)" = keep.txt ] || fail "full was changed"
expect 2 'good.csv: Not a directory' \
    "$weir" shuffle --by a good.csv --out good.csv
expect 1 'make directory no/dir: No such file' \
    "$weir" shuffle --by a good.csv --out no/dir

expect 1 'process . of 4: memory budget too small' \
    "$weir" shuffle -m 4K --by a good.csv --out dir

# ---- processes that die, and files that cannot be written --------------------

awk 'BEGIN {
    print "id,text"
    for (i = 0; i < 1000000; i++) {
        print i ",some text that fills the line of row " i
    }
}' >big.csv

# A process is killed by the kernel at its first write over the limit. tcp: shm
# needs files of its own.
(ulimit -f 64; ulimit -c 0; expect 1 'died of signal .*[Ff]ile size' \
    "$weir" shuffle -t tcp --by id big.csv --out dir)

# The same without the signal is a write that fails, as on a full disk.
(trap '' XFSZ; ulimit -f 64; expect 1 'write part-0000.*: File too large' \
    "$weir" shuffle -t tcp --by id big.csv --out dir)

# A full disk, where a private mount is allowed.
if unshare -m true 2>/dev/null; then
    mkdir disk
    unshare -m sh -euc 'mount -t tmpfs -o size=1m tmpfs disk
        got=0
        timeout 60 "$1" shuffle --by id big.csv --out disk/dir 2>err || got=$?
        [ $got -eq 1 ] && grep -q "No space left" err && [ ! -e disk/dir ]' \
        sh "$weir" || fail "full disk"
else
    echo "not tested: a full disk (no private mounts here)"
fi

if [ ! -r "/proc/$$/task/$$/children" ]; then
    echo "not tested: signals (no list of children in /proc)"
    exit 0
fi

# The processes have written less than all rows of big.csv: none is past the
# last one.
unfinished=rows_are_left
rows_are_left()
{
    [ "$(cat dir/.part-*.tmp 2>/dev/null | wc -c)" -lt "$(wc -c <big.csv)" ]
}

for transport in shm tcp; do
    # One is killed, the others are stopped: the run ends all the same.
    start_stopped 4 "$weir" shuffle -t $transport -n 4 --by id big.csv --out dir
    # shellcheck disable=SC2086 # a list
    set -- $nodes
    kill -KILL "$3"
    got=0
    wait $pid || got=$?
    [ $got -eq 1 ] || fail "status $got after a process was killed"
    grep -q 'died of signal 9 (Killed)' err || fail "does not say who died"
    [ ! -e dir ] || fail "left something behind after a kill"
    for node in "$@"; do
        ! kill -0 "$node" 2>/dev/null || fail "process $node lives on"
    done

    # The command itself is asked to end.
    start_stopped 4 "$weir" shuffle -t $transport -n 4 --by id big.csv --out dir
    ls dir/.part-00000.csv.tmp >/dev/null || fail "no temporary file"
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    [ $got -eq 143 ] || fail "status $got after SIGTERM"
    [ ! -e dir ] || fail "left something behind after SIGTERM"
done

# What a killed command leaves is not taken for a run that goes on, nor for
# anything of the user's. The lock is gone when the last process is.
start_stopped 4 "$weir" shuffle -n 4 --by id big.csv --out dir
got=0
"$weir" shuffle --by a good.csv --out dir >out 2>err || got=$?
[ $got -eq 1 ] || fail "status $got beside another run"
grep -q 'another run is writing' err || fail "does not say who is in the way"
ls dir/.part-00003.csv.tmp >/dev/null || fail "took files of another run"
kill -KILL $pid
wait $pid || true
ls dir/.part-00003.csv.tmp >/dev/null || fail "nothing to remove"
flock dir true
"$weir" shuffle --nodes 2 --by a good.csv --out dir >out 2>err ||
    fail "leftovers are in the way"
# shellcheck disable=SC2012 # names of ours
[ "$(ls -A dir | tr '\n' ' ')" = "part-00000.csv part-00001.csv " ] ||
    fail "leftovers stayed"
echo ok
