# SPDX-License-Identifier: Apache-2.0
# The guest's side of vm.sh, read by /bin/sh in the host's file tree. It makes
# the devices that `drivers` names, runs the function `job`, and leaves its
# exit code for the host. The file that sources this one sets:
#
#   drivers   "rxe siw" (each on a dummy device of its own), or "DRIVER:IP":
#             that one on eth0
#   job       what to run

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8
# Where the drivers live: a device is found by its address.
export WEIR_VM_RXE=10.77.1.1 WEIR_VM_SIW=10.77.2.1

leave() {
    echo "$1" >/run/job/exit
    exit
}

die() {
    echo "guest: FAILED: $*"
    leave 125
}

# put_driver <driver> <netdev> <address>: bring the netdev up and RDMA to it
put_driver() {
    if ! ip address add "$3/24" dev "$2" || ! ip link set "$2" up ||
        ! rdma link add "${1}0" type "$1" netdev "$2"; then
        die "no $1 device on $2"
    fi
    rdma link show | grep -q "^link ${1}0/1 state ACTIVE" ||
        die "${1}0 is not active: $(rdma link show)"
}

name_machine() {
    echo "$1" >/proc/sys/kernel/hostname
}

devices() {
    name_machine guest
    ip link set lo up || die "no lo"
    # shellcheck disable=SC2154 # set by whoever sources this
    for driver in $drivers; do
        case $driver in
        *:*)
            name_machine "guest${driver##*.}" # other nodes have other names
            put_driver "${driver%%:*}" eth0 "${driver#*:}"
            mkdir /run/job/shared
            mount -t 9p -o trans=virtio,version=9p2000.L shared \
                /run/job/shared || die "no shared folder"
            ;;
        rxe)
            ip link add dum0 mtu 9000 type dummy || die "no dum0"
            put_driver rxe dum0 $WEIR_VM_RXE
            ;;
        siw)
            ip link add dum1 mtu 65535 type dummy || die "no dum1"
            put_driver siw dum1 $WEIR_VM_SIW
            ;;
        *) die "no driver \"$driver\"" ;;
        esac
    done
}

exec </dev/null >>/run/job/out 2>&1
# shellcheck disable=SC3045 # dash has it
ulimit -l unlimited
# shellcheck disable=SC3045
ulimit -c 0
devices
job
leave $?
