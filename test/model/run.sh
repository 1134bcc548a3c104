#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [MODEL]: check the models in this folder with spin, each one as it is
# (must hold) and with a planted mistake (must be found). Every search is
# exhaustive: no hashing, no depth limit reached. Prints states and seconds.
#
# A line of the table: model, safety or live, holds or what is found, defines.
# Safety: assertions, and no end but a valid one (nobody is left asleep). Live:
# the model's ltl formula, under weak fairness.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
only=${1:-}

for tool in spin tcc; do
    command -v $tool >/dev/null 2>&1 || {
        echo "FAILED: $tool is not installed (make setup-check installs it)"
        exit 1
    }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

depth=1000000
bad=0
count=0

wrong() {
    echo "FAILED: $*"
    [ ! -s "$tmp/out" ] || tail -n 30 "$tmp/out"
    bad=$((bad + 1))
}

# build MODEL MODE DEFINES...: a checker, $tmp/pan. By tcc, which takes 0.03 s
# where gcc takes 1 to 3.5: more than most searches do, also twice as slow.
build() (
    file=$here/$1.pml
    mode=$2
    shift 2
    cd "$tmp"
    rm -f pan* out ./*.trail
    case $mode in
    safety) flags=-DSAFETY ;;
    live) flags=-DNFAIR=3 && set -- "$@" -DLIVE ;;
    esac
    spin -a "$@" "$file" >spin.log 2>&1 &&
        tcc -DMEMLIM=4096 $flags -o pan pan.c >>spin.log 2>&1
)

# What the checker found: holds, assertion, hang, cycle, or ? if it did not
# look everywhere.
verdict() {
    if grep -qE 'max search depth too small|not completed|memory limit' out &&
        ! grep -q 'errors: 1$' out; then
        echo '?'
    elif grep -q 'errors: 0$' out; then
        echo holds
    elif grep -q '^pan:1: assertion violated' out; then
        echo assertion
    elif grep -q '^pan:1: invalid end state' out; then
        echo hang
    elif grep -q '^pan:1: acceptance cycle' out; then
        echo cycle
    else
        echo '?'
    fi
}

check() {
    model=$1
    mode=$2
    wanted=$3
    shift 3
    [ -z "$only" ] || [ "$only" = "$model" ] || return 0
    count=$((count + 1))
    : >"$tmp/out"
    if ! build "$model" "$mode" "$@"; then
        cat "$tmp/spin.log"
        wrong "$model $*: does not build"
        return
    fi
    how=
    [ "$mode" = safety ] || how='-a -f'
    # shellcheck disable=SC2086 # words
    (cd "$tmp" && timeout 200 ./pan $how -m$depth -w22 >out 2>&1) || true
    got=$(cd "$tmp" && verdict)
    awk -v name="$model $*" -v got="$got" -v mode="$mode" '
        /states, stored/ { states = $1 }
        /elapsed time/ { seconds = $4 }
        END {
            printf "%-44s %-7s%-10s %9d states %6.2f s\n", name, mode, got,
                   states, seconds
        }' "$tmp/out"
    [ "$got" = "$wanted" ] || wrong "$model $*: $got, not $wanted"
}

while read -r line; do
    case $line in
    '' | '#'*) ;;
    *)
        # shellcheck disable=SC2086 # words
        check $line
        ;;
    esac
done <"$here/cases"

[ $count -gt 0 ] || wrong "no case of ${only:-any model}"
[ $bad -eq 0 ] || exit 1
echo "All $count searches ended as they should."
