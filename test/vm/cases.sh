# SPDX-License-Identifier: Apache-2.0
# The tests of suite.sh, one function each; success is their exit code. Set:
# BUILD (build folder), DRIVER, WEIR_TEST_VERBS_ADDR (the device's address).

address=$WEIR_TEST_VERBS_ADDR
device=${DRIVER}0

# until_true <seconds> <command>...: try until it succeeds
until_true() {
    tries=$(($1 * 10))
    shift
    until "$@"; do
        tries=$((tries - 1))
        if [ $tries -eq 0 ]; then
            echo "never came true: $*"
            return 1
        fi
        sleep 0.1
    done
}

# A program of that name has a listening identifier.
is_listening() {
    rdma resource show cm_id | grep -q "state LISTEN .*comm $1 "
}

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
