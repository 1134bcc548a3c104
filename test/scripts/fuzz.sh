#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD_DIR SECONDS [TARGET...]: feed each fuzz target that long, two
# at a time, beginning with its corpus in the tree. An input that fails is left
# in BUILD_DIR/findings; new inputs that reach new code in BUILD_DIR/corpus:
#
#   BUILD_DIR/test/fuzz.NAME -merge=1 test/fuzz/corpus/NAME \
#       BUILD_DIR/corpus/NAME
#
# takes over those that the tree lacks.
set -eu

dir=$1
seconds=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ $# -eq 0 ]; then
    set -- $(cd "$root/test/fuzz" && ls ./*_fuzz.c |
        sed 's|^\./\(.*\)_fuzz\.c$|\1|')
fi
mkdir -p "$dir/findings" "$dir/fuzz-log"

run() {
    mkdir -p "$dir/corpus/$1"
    words="$root/test/fuzz/$1.dict"
    [ -f "$words" ] && words="-dict=$words" || words=
    # Looked for after each run, leaks are what RCU has not freed yet; asan
    # builds look for them at the end of a replay.
    leaks=1
    [ "$1" = peer ] && leaks=0
    UBSAN_OPTIONS=print_stacktrace=1 \
        "$dir/test/fuzz.$1" -max_total_time="$seconds" -timeout=20 \
        -rss_limit_mb=2048 -artifact_prefix="$dir/findings/$1-" \
        -detect_leaks=$leaks ${words:+"$words"} \
        "$dir/corpus/$1" "$root/test/fuzz/corpus/$1" \
        >"$dir/fuzz-log/$1" 2>&1
}

failed=0
reap() { # PID NAME
    if wait "$1"; then
        echo "$2: $(sed -n 's/^Done \(.*\)$/\1/p' "$dir/fuzz-log/$2")"
    else
        failed=1
        echo "$2: FAILED, see $dir/fuzz-log/$2:"
        grep -E -m 3 'ERROR|SUMMARY|runtime error|_fuzz\.c:[0-9]+: ' \
            "$dir/fuzz-log/$2" || tail -n 5 "$dir/fuzz-log/$2"
        ls "$dir/findings/$2-"* 2>/dev/null || true
    fi
}

while [ $# -gt 0 ]; do
    run "$1" &
    first=$!
    second=
    if [ $# -gt 1 ]; then
        run "$2" &
        second=$!
    fi
    reap "$first" "$1"
    [ -z "$second" ] || reap "$second" "$2"
    shift
    [ $# -eq 0 ] || shift
done
exit $failed
