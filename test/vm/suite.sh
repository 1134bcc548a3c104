#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite.sh BUILD_DIR short|long DRIVER...: in the guest, what runs on real
# verbs, once per driver (siw, rxe). Each test is a function of cases.sh. A line
# says what ran on which driver, and for how long; the exit code is 1 if one
# failed. Nothing is skipped: a driver that is not there is a failure. long has
# all; short leaves out those below that begin with `long`, and programs that
# in_short() does not name.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(cd "$1" && pwd) || exit 2
export BUILD
form=$2
shift 2
cd "$(mktemp -d)" || exit 1
ran=0
failed=0

now() {
    cut -d ' ' -f 1 /proc/uptime
}

# explain <seconds>: what the log says of a test that failed; of a Criterion
# program not what has passed, but what began and did not end
explain() {
    awk '/^\[SKIP\]/ { next }
        /^\[RUN \]/ { running[$3] = 1; next }
        /^\[PASS\]/ { sub(/:$/, "", $2); delete running[$2]; next }
        { print }
        END { for (name in running) { print "began and did not pass: " name } }
        ' log | tail -n 80 | cut -c 1-200 | sed 's/^/    | /'
    [ $status -ne 124 ] || echo "    | not done after $1 s"
}

# test_on <seconds> <title> <case> [argument]...: in a process group of its
# own, of which nothing is left for the next
test_on() {
    limit=$1
    title=$2
    shift 2
    begin=$(now)
    # shellcheck disable=SC2016 # the inner shell expands
    timeout -k 5 "$limit" sh -uc '. "$0"; "$@"' "$here/cases.sh" "$@" \
        >log 2>&1 &
    group=$!
    wait $group
    status=$?
    kill -KILL -- -$group 2>/dev/null
    ran=$((ran + 1))
    result=ok
    [ $status -eq 0 ] || result=FAILED
    printf '%-6s %-3s %6.1f s  %s\n' $result "$DRIVER" \
        "$(now | awk -v begin="$begin" '{ print $1 - begin }')" "$title"
    if [ $status -ne 0 ]; then
        failed=$((failed + 1))
        explain "$limit"
    fi
}

long() {
    [ "$form" = short ] || "$@"
}

# in_short <program>: the transport on both drivers, and faults on one; api and
# region take minutes each
in_short() {
    case $1-$DRIVER in
    conformance.spi_verbs-* | conformance.verbs-siw | \
        integration.fault_kill_verbs-rxe) ;;
    *) return 1 ;;
    esac
}

for DRIVER; do
    case $DRIVER in
    rxe) WEIR_TEST_VERBS_ADDR=$WEIR_VM_RXE ;;
    siw) WEIR_TEST_VERBS_ADDR=$WEIR_VM_SIW ;;
    *) echo "suite.sh: no driver \"$DRIVER\"" >&2 && exit 2 ;;
    esac
    export DRIVER WEIR_TEST_VERBS_ADDR
    test_on 60 "device is up" device_is_up
    test_on 120 "rping: write, read, send, 20 x 60000 bytes, verified" \
        rping_works
    long test_on 120 "ib_send_bw -R -e" perftest_works ib_send_bw -e
    long test_on 120 "ib_write_bw -R" perftest_works ib_write_bw
    # All whose name has "verbs" in it; of these two kinds there are some.
    for path in "$BUILD"/test/conformance.*verbs* \
        "$BUILD"/test/integration.*verbs*; do
        program=${path##*/}
        in_short "$program" || [ "$form" = long ] || continue
        # auto hands everything on, whatever the driver: once is enough.
        [ "$program-$DRIVER" != conformance.spi_auto_verbs-rxe ] || continue
        test_on 900 "$program" criterion "$program"
    done
    test_on 180 "two-stage plan, 4 processes" two_stage 4 50000
    long test_on 180 "two-stage plan, 8 processes" two_stage 8 20000
    long test_on 180 "join query, 3 processes" query_gives_what_shm_gives 3
    long test_on 600 "soak, 3 processes, 40 rounds" soak 40
    test_on 60 "weir doctor" doctor_is_content
    long test_on 120 "weir doctor --peer" doctor_measures_a_peer
    long test_on 120 "memlock of 64 KiB" little_memlock
    long test_on 120 "address without device" address_without_device
    test_on 240 "device removed under load" device_removed
done
echo "$ran tests on $*, $failed failed"
[ $failed -eq 0 ]
