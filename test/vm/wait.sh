# SPDX-License-Identifier: Apache-2.0
# For conditions of the kernel's that tell nobody when they come true. Read by
# the shells of the guest and of vm.sh.

# until_true <seconds> <command>...: try until it succeeds
until_true() {
    tries=$(($1 * 10))
    shift
    until "$@"; do
        tries=$((tries - 1))
        if [ $tries -le 0 ]; then
            echo "never came true: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# until_true_or_ended <pid> <command>...: try until it succeeds, or this child,
# without which it cannot, has ended. The child is to end by itself.
until_true_or_ended() {
    child=$1
    shift
    until "$@"; do
        if ! kill -0 "$child" 2>/dev/null; then
            echo "ended before it came true: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# A program of that name has a listening identifier of rdma_cm.
is_listening() {
    rdma resource show cm_id | grep -q "state LISTEN .*comm $1 "
}
