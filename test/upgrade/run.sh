#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: clusters of processes that were built from different versions.
#
# now:       this tree
# previous:  the last release (the newest tag v*); before there is one, the
#            commit in test/upgrade/previous
# other:     this tree with a wire version that nothing else speaks
#
# Members of now and previous, mixed, run a query whose rows have to be exact.
# Where they have no wire version in common, and with a member of other in any
# case, it has to fail, and the text has to name both versions.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/upgrade
rows=300000
sum=44999850000
bad=0
mkdir -p "$work"

# build <name> <sources>: libweir.so, and the peer that uses it
build() {
    {
        cmake -S "$2" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
            -DWEIR_TESTS=OFF -DWEIR_EXAMPLES=OFF -DWEIR_TOOLS=OFF &&
            cmake --build "$work/$1" --target weir_shared
    } >"$work/$1.log" 2>&1 || {
        tail -n 30 "$work/$1.log"
        exit 1
    }
    cc -std=gnu11 -O1 -g -Wall -Wextra -Werror -I "$2/include" \
        test/upgrade/peer.c -o "$work/$1/peer" -L "$work/$1" -lweir \
        -Wl,-rpath,"$work/$1"
}

# sources <name> <commit>: its tree in $work/<name>-tree
sources() {
    rm -rf "$work/$1-tree"
    mkdir "$work/$1-tree"
    git archive "$2" | tar x -C "$work/$1-tree"
}

# members <transport> <build> <build> <build>: what they print, in
# $work/said.N; the result is how many failed
members() {
    transport=$1
    shift
    rm -f "$work"/in.? "$work"/out.? "$work"/said.?
    pids=
    i=0
    for name in "$@"; do
        mkfifo "$work/in.$i" "$work/out.$i"
        timeout 60 "$work/$name/peer" "$transport" upgrade-$$ $i \
            <"$work/in.$i" >"$work/out.$i" 2>"$work/log.$i" &
        pids="$pids $!"
        i=$((i + 1))
    done
    exec 3>"$work/in.0" 4>"$work/in.1" 5>"$work/in.2"
    exec 6<"$work/out.0" 7<"$work/out.1" 8<"$work/out.2"
    read -r _ a0 <&6
    read -r _ a1 <&7
    read -r _ a2 <&8
    for fd in 3 4 5; do
        echo "$a0 $a1 $a2" >&$fd
    done
    exec 3>&- 4>&- 5>&-
    cat <&6 >"$work/said.0"
    cat <&7 >"$work/said.1"
    cat <&8 >"$work/said.2"
    exec 6<&- 7<&- 8<&-
    failed=0
    for pid in $pids; do
        wait "$pid" || failed=$((failed + 1))
    done
    return $failed
}

# verdict <ok or FAILED> <what>
verdict() {
    echo "$1: $2"
    [ "$1" = ok ] && return
    bad=1
    cat "$work"/said.? "$work"/log.?
}

exact() {
    if members "$@" && cat "$work"/said.? | awk -v rows=$rows -v sum=$sum '
        { r += $2; s += $4 }
        END { exit !(NR == 3 && r == rows && s == sum) }'; then
        verdict ok "$*: exact"
    else
        verdict FAILED "$*: must be exact"
    fi
}

# refused <lowest> <highest> <lowest> <highest> <transport> <builds>: the wire
# versions of the two that have none in common. Either of them may be the one
# that looks first and says so; the other one is told its text.
refused() {
    one="speaks wire versions $1 to $2, this node $3 to $4"
    two="speaks wire versions $3 to $4, this node $1 to $2"
    shift 4
    if members "$@"; then
        verdict FAILED "$*: must be refused"
    elif text=$(grep -hoe "$one" -e "$two" "$work"/said.?); then
        verdict ok "$*: refused: $(echo "$text" | head -n 1)"
    else
        verdict FAILED "$*: must be refused with both versions named"
    fi
}

range() {
    sed -n 's/^#define WI_WIRE_VERSION_M[INAX]* \([0-9]*\)u$/\1/p' \
        "$1/core/format/wire.h" | tr '\n' ' '
}

commit=$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null) ||
    commit=$(cat test/upgrade/previous)
sources previous "$commit"
sources other HEAD
sed -i 's/^\(#define WI_WIRE_VERSION_M[INAX]*\) .*/\1 77u/' \
    "$work/other-tree/core/format/wire.h"
build now .
build previous "$work/previous-tree"
build other "$work/other-tree"

# shellcheck disable=SC2046 # words
set -- $(range .) $(range "$work/previous-tree")
echo "now speaks wire versions $1 to $2, previous ($commit) $3 to $4"
for transport in shm tcp; do
    exact $transport now now now
    if [ "$1" -le "$4" ] && [ "$3" -le "$2" ]; then
        exact $transport now previous now
        exact $transport previous now previous
    else
        refused "$@" $transport now previous now
    fi
    refused "$1" "$2" 77 77 $transport now now other
done
[ $bad -eq 0 ] && echo "all as they must be" || echo "FAILED"
exit $bad
