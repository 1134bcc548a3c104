#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pair.sh BUILD_DIR DRIVER: in two guests joined by a wire: rping, weir doctor,
# and a machine that vanishes without a FIN. Guest A runs "pair.sh A BUILD_DIR",
# guest B "pair.sh B BUILD_DIR"; the tests are one after the other.
set -u
here=$(cd "$(dirname "$0")" && pwd)
ip_a=10.77.3.1
ip_b=10.77.3.2
shared=/run/job/shared

# wait_for <seconds> <command>...
wait_for() {
    tries=$(($1 * 5))
    shift
    until "$@"; do
        tries=$((tries - 1))
        if [ $tries -eq 0 ]; then
            echo "never came true: $*"
            exit 1
        fi
        sleep 0.2
    done
}

is_listening() {
    rdma resource show cm_id | grep -q "state LISTEN .*comm $1 "
}

say() {
    touch "$shared/$1"
}

ok() {
    echo "ok     $*"
}

fail() {
    echo "FAILED $*"
    exit 1
}

all_listen() {
    [ -e $shared/m0 ] && [ -e $shared/m1 ] && [ -e $shared/m2 ]
}

# member <self>: one of the three of member.c
member() {
    { wait_for 60 all_listen >&2 && echo go; } |
        "$build/test/vm.member" "$1" "verbs:$ip_a:7100" "verbs:$ip_a:7101" \
            "verbs:$ip_b:7102" "$shared/m$1"
}

guest_a() {
    wait_for 60 test -e $shared/rping
    rping -c -a $ip_b -C 10 -S 20000 -V || fail "rping to the other guest"
    ok "rping to the other guest"

    wait_for 60 test -e $shared/doctor
    "$build/weir" doctor -t verbs --timeout 20 --peer $ip_b:7077 >report
    cat report
    grep -q "^ok  *peer .*round trip .* MB/s, over verbs" report ||
        fail "weir doctor --peer to the other guest"
    ok "weir doctor --peer to the other guest"

    member 1 >member_1 2>&1 &
    other=$!
    member 0 | tee member_0
    wait $other
    other=$?
    cat member_1
    if [ $other -ne 0 ] || ! cat member_0 member_1 | awk '
            /^sums / { made += $2; got += $3; n++ }
            END { exit !(n == 2 && made == got && made == 40000) }'; then
        fail "the other guest vanishes"
    fi
    ok "the other guest vanishes: its query failed, the other one is exact"
}

guest_b() {
    rping -s -a $ip_b -C 10 -S 20000 -V &
    wait_for 20 is_listening rping
    say rping
    wait $! || fail "rping, server"
    "$build/weir" doctor -t verbs --listen=$ip_b:7077 --once &
    wait_for 20 is_listening weir
    say doctor
    wait $! || fail "weir doctor --listen"
    member 2
}

case $1 in
A | B)
    build=$2
    cd "$(mktemp -d)" || exit 1
    if [ "$1" = A ]; then
        guest_a
    else
        guest_b
    fi
    ;;
*)
    build=$(cd "$1" && pwd) || exit 2
    echo "two guests on $2"
    "$here/vm.sh" pair --driver "$2" --timeout 300 \
        --destroy-b-after "destroy member 2" -- \
        "$here/pair.sh" A "$build" -- "$here/pair.sh" B "$build"
    ;;
esac
