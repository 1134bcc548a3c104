# SPDX-License-Identifier: Apache-2.0
# The tests of suite.sh, one function each; success is their exit code. Set:
# BUILD (build folder), DRIVER, WEIR_TEST_VERBS_ADDR (the device's address).

. "${0%/*}/wait.sh"
address=$WEIR_TEST_VERBS_ADDR
device=${DRIVER}0

# ---- reference programs: if they fail, it is not Weir -----------------------

device_is_up() {
    rdma link show "$device/1" | grep "state ACTIVE" &&
        ibv_devinfo -d "$device" | grep PORT_ACTIVE
}

rping_works() {
    rping -s -a "$address" -C 20 -S 60000 -V &
    server=$!
    until_true 10 is_listening rping &&
        rping -c -a "$address" -C 20 -S 60000 -V -v >out &&
        wait $server && grep -q "ping data: rdma-ping-19" out
}

# perftest_works <program> [option]...
perftest_works() {
    program=$1
    set -- "$@" -R -F -s 65536 -n 500 -d "$device"
    "$@" >server.log 2>&1 &
    server=$!
    until_true 10 is_listening "$program" && "$@" "$address" >out &&
        wait $server && grep '^ 65536 *500 ' out && return
    cat server.log out
    return 1
}

# ---- Weir -------------------------------------------------------------------

# criterion <program>: at least one test has run, and none failed
criterion() {
    "$BUILD/test/$1" --verbose -j2 2>&1 | tee criterion.log
    grep -Eq 'Tested: [1-9][0-9]* \| .*Failing: 0 \| Crashing: 0' criterion.log
}

two_stage() {
    "$BUILD/weir" bench two-stage --nodes "$1" --rows "$2" --repeat 1 \
        --transports verbs --listen "$address" --json
}

# A whole plan, 9 shuffles: its rows over verbs are those over shm.
query_gives_what_shm_gives() {
    "$BUILD/weir" bench query --plan join --warehouses 1 --repeat 1 \
        --nodes "$1" --transports shm,verbs --listen "$address" \
        --timeout 150 --json >report
    result=$?
    cat report
    [ $result -eq 0 ] && grep -q '"answer_rows": [1-9]' report &&
        grep -q '"name": "verbs".*"rows_ok": true' report
}

doctor_is_content() {
    "$BUILD/weir" doctor -t verbs >report || return 1
    cat report
    grep -q "^ok  *port  *$device port 1: ACTIVE" report &&
        grep -q "^0 problems" report
}

doctor_measures_a_peer() {
    "$BUILD/weir" doctor -t verbs "--listen=$address:7077" --once &
    other=$!
    until_true 10 is_listening weir &&
        "$BUILD/weir" doctor -t verbs --timeout 60 --peer "$address:7077" \
            >report
    cat report
    grep -q "^ok  *peer .*round trip .* MB/s, over verbs" report &&
        wait $other
}

# Processes that live long, and real faults. The guest has few processors, so
# silence lasts longer than elsewhere.
soak() {
    "$BUILD/test/soak" --transport verbs --listen "$address:0" --members 3 \
        --detect-ms 3000 --rounds "$1" --seed 1
}

# ---- faults, with the shell's means -----------------------------------------

# fails_with <pattern> <command>...: it ends with an error that says so
fails_with() {
    pattern=$1
    shift
    if "$@" >fails.log 2>&1; then
        echo "it succeeded: $*"
        return 1
    fi
    cat fails.log
    grep -q "$pattern" fails.log
}

# takes_the_signal <pid>: SIGUSR1, number 10, bit 0x200, does not end it any
# more.
takes_the_signal() {
    sed -n 's/^SigCgt:.*[2367abef]..$/yes/p' "/proc/$1/status" | grep -q yes
}

# all_shuffle <processes>: asked, each of the plan's says that query 2, which
# follows the warm-up, is open: all links have carried rows by then.
all_shuffle() {
    kill -USR1 "$plan" 2>/dev/null
    [ "$(grep -o "process [0-9] of $1: query 2: open" plan.log | sort -u |
        wc -l)" -eq "$1" ]
}

# A plan of 4 nodes under way that does not end by itself in time. It leaves the
# processors to others: all are busy with it, and what waits for it here would
# hardly get one on a busy machine.
endless_plan() {
    nice -n 19 "$BUILD/weir" bench two-stage --nodes 4 --rows 100000000000 \
        --repeat 1 --transports verbs --listen "$address" --timeout 200 \
        >plan.log 2>&1 &
    plan=$!
    # It is not told by its queue pairs: Linux 6.1 does not list one that has
    # the number of another that is about to be gone (rdma_restrack_add).
    until_true_or_ended "$plan" takes_the_signal "$plan" &&
        until_true_or_ended "$plan" all_shuffle 4 && return
    cat plan.log
    return 1
}

# The plan has ended with an error that names a peer.
plan_lost_a_peer() {
    if wait "$plan"; then
        echo "the plan ended well"
        return 1
    fi
    grep "^weir bench: " plan.log >error # not what it was asked for
    cat error
    grep -q "process [0-9] of 4: .*process [0-9] of 4" error
}

netdev_of() {
    rdma link show "$device/1" | awk '{ print $NF }'
}

device_removed() {
    netdev=$(netdev_of)
    endless_plan || return 1
    rdma link del "$device"
    plan_lost_a_peer
    result=$?
    rdma link add "$device" type "$DRIVER" netdev "$netdev" &&
        two_stage 2 5000 && return $result
}

# Root may lock what it likes (siw does not know that), so without that right.
little_memlock() {
    # shellcheck disable=SC3045 # dash has it
    ulimit -l 64 &&
        fails_with "limit of locked memory is 65536" \
            setpriv --bounding-set=-ipc_lock "$BUILD/weir" bench two-stage \
            --nodes 2 --rows 1000 --repeat 1 --transports verbs \
            --listen "$address"
}

address_without_device() {
    address=127.0.0.1
    fails_with "no address of an active RDMA device" two_stage 2 1000
}
