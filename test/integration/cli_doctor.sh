#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir doctor on systems that are made up below a directory, and between two
# processes: levels, fixes, exit status. usage: cli_doctor.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"
chmod 755 .
cp "$weir" . # where a user without rights can start it
weir=$tmp/weir

has() { grep -q -e "$1" out || fail "no \"$1\""; }
hasnt() { ! grep -q -e "$1" out || fail "\"$1\" is there"; }

# line LEVEL CHECK TEXT [FIX]: a finding, and the line below it.
line()
{
    if [ $# -lt 4 ]; then
        has "^$1  *$2  *.*$3"
    else
        grep -A1 -e "^$1  *$2  *.*$3" out | grep -q -F -e "$4" ||
            fail "no \"$3\" with \"$4\""
    fi
}

# ---- made-up systems ---------------------------------------------------------

put() { mkdir -p "$(dirname "$1")" && printf '%s\n' "$2" >"$1"; }

# netdev ROOT NAME FLAGS MTU MAC [TYPE]
netdev()
{
    put "$1/sys/class/net/$2/flags" "$3"
    put "$1/sys/class/net/$2/mtu" "$4"
    put "$1/sys/class/net/$2/address" "$5"
    put "$1/sys/class/net/$2/type" "${6:-1}"
}

# device ROOT NAME TYPE STATE LAYER GID UVERBS
device()
{
    d=$1/sys/class/infiniband/$2
    put "$d/node_type" "$3"
    put "$d/node_guid" 0000:0000:0000:0000
    put "$d/ports/1/state" "$4"
    put "$d/ports/1/link_layer" "$5"
    put "$d/ports/1/gids/0" "$6"
    put "$d/ports/1/gids/1" 0000:0000:0000:0000:0000:0000:0000:0000
    put "$1/sys/class/infiniband_verbs/$7/ibdev" "$2"
}

no_gid=0000:0000:0000:0000:0000:0000:0000:0000
a_gid=0000:0000:0000:0000:0000:ffff:0a00:0001

# Two devices: one as it should be, one with a port that is down, without an
# address, and with a device file that this user may not open.
netdev two lo 0x9 65536 00:00:00:00:00:00 772
netdev two eth0 0x1043 9000 02:00:00:00:00:01
netdev two eth1 0x1002 1500 02:00:00:00:00:02
netdev two eth2 0x1043 1500 02:00:00:00:00:03
device two mlx5_0 '1: CA' '4: ACTIVE' Ethernet $a_gid uverbs0
device two mlx5_1 '1: CA' '1: DOWN' Ethernet $no_gid uverbs1
put two/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0 eth0
mkdir -p two/sys/class/infiniband/mlx5_1/device/net/eth1
put two/dev/infiniband/uverbs0 ''
put two/dev/infiniband/uverbs1 ''
put two/dev/infiniband/rdma_cm ''
chmod 666 two/dev/infiniband/*
chmod 000 two/dev/infiniband/uverbs1
put two/proc/meminfo 'HugePages_Total:     512
HugePages_Free:      500
Hugepagesize:       2048 kB'
mkdir -p two/dev/shm
put two/proc/sys/vm/max_map_count 65530

# Somebody whom limits and modes hold back.
plain=
if [ "$(id -u)" -eq 0 ]; then
    plain="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
    $plain true || { echo "skipped: setpriv does not work here"; exit 77; }
fi

# shellcheck disable=SC2086 # words
status 1 $plain "$weir" doctor --sysroot two
line ok transports 'auto: shm, '
line ok port 'mlx5_0 port 1: ACTIVE, Ethernet, network device eth0'
line ok gid "mlx5_0 port 1: 1, first $a_gid"
line ok mtu 'mlx5_0 port 1: packets of 4096 bytes over eth0, MTU 9000'
line problem port 'mlx5_1 port 1: DOWN, .*eth1 which is down' \
    'ip link set eth1 up'
hasnt 'gid .*mlx5_1' # follows from the port
line ok 'device file' 'uverbs0 (mlx5_0) can be opened'
line problem 'device file' 'uverbs1 (mlx5_1) may not be read' \
    'chmod a+rw /dev/infiniband/uverbs1'
line ok 'device file' 'rdma_cm'
line ok netdev 'eth0: up, MTU 9000, RDMA device: mlx5_0'
line note netdev 'eth2: up, MTU 1500, RDMA device: none' \
    'rdma link add rxe_eth2 type rxe netdev eth2'
hasnt 'netdev  *lo'
line ok 'huge pages' '512 of 2.0 MiB, 500 free'
line ok mappings '65530 of a process'
hasnt 'max_map_count='
has '^[23] problems$' # memlock, where the limit here is small

# The port comes up, but nobody gave it an address; files are missing.
put two/sys/class/infiniband/mlx5_1/ports/1/state '4: ACTIVE'
put two/sys/class/net/eth1/flags 0x1043
rm -f two/dev/infiniband/uverbs1 two/dev/infiniband/rdma_cm
put two/proc/sys/vm/max_map_count 1000
# shellcheck disable=SC2086 # words
status 1 $plain "$weir" doctor --sysroot two
line problem gid 'mlx5_1 port 1 has none' 'ip addr add 192.0.2.1/24 dev eth1'
line note mtu 'mlx5_1 port 1: packets of 1024 bytes over eth1' \
    'ip link set eth1 mtu 4200'
line problem 'device file' 'uverbs1 (mlx5_1) is not there' 'modprobe ib_uverbs'
line problem 'device file' 'rdma_cm .* is not there' 'modprobe rdma_ucm'
line note mappings '1000 of a process' 'sysctl -w vm.max_map_count=262144'

# Limits, with and without the right to raise them.
# shellcheck disable=SC2086 # words
status 1 $plain sh -c "ulimit -S -l 64; ulimit -S -n 100;
    exec $weir doctor --sysroot two"
line problem memlock 'soft limit 64 KiB'
hard=$(ulimit -H -l)
if [ "$hard" = unlimited ] || [ "$hard" -gt 65536 ]; then
    line problem memlock 'soft limit 64 KiB' 'ulimit -l $(ulimit -H -l)'
fi
line problem 'open files' 'limit 100' 'ulimit -n $(ulimit -H -n)'
# shellcheck disable=SC2086 # words
status 1 $plain sh -c "ulimit -l 64; exec $weir doctor --sysroot two"
line problem memlock 'soft limit 64 KiB, hard limit 64 KiB' \
    '/etc/security/limits.d/weir.conf'

# iWARP is found by the network device's address; InfiniBand without manager.
netdev other eth7 0x1043 1500 02:11:22:33:44:55
device other siw0 '4: RNIC' '4: ACTIVE' Ethernet $a_gid uverbs0
put other/sys/class/infiniband/siw0/node_guid 0011:22ff:fe33:4455
device other ib0 '1: CA' '2: INIT' InfiniBand $a_gid uverbs1
put other/dev/infiniband/uverbs0 ''
put other/dev/infiniband/uverbs1 ''
put other/dev/infiniband/rdma_cm ''
chmod 666 other/dev/infiniband/*
status 1 "$weir" doctor --sysroot other
line ok device 'siw0: iWARP, 1 port'
line ok port 'siw0 port 1: ACTIVE, Ethernet, network device eth7'
line ok mtu 'siw0 port 1: segments of TCP over eth7, MTU 1500'
line problem port 'ib0 port 1: INIT, InfiniBand' 'systemctl start opensm'

# No device: what to load, or to install; a problem only for who needs one.
netdev none eth5 0x1043 1500 02:00:00:00:00:05
put "none/lib/modules/$(uname -r)/modules.dep" \
    'kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz: kernel/net/x.ko'
status 0 "$weir" doctor --sysroot none
line note device 'no RDMA device: links run over shm and tcp' \
    'modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth5'
status 1 "$weir" doctor --sysroot none -t verbs
line problem device 'no RDMA device' 'modprobe rdma_rxe && rdma link add rxe0'
rm -r none/lib
status 0 "$weir" doctor --sysroot none
line note device 'no module for a software device' \
    'apt-get install linux-image-amd64'
mkdir -p empty
status 0 "$weir" doctor --sysroot empty # nothing at all can be read
line note device 'no RDMA device'

# Nothing that a device calls itself gets out of hand.
device odd rxe0 '1: CA' '1: DOWN' Ethernet $no_gid uverbs0
printf 'a\033[2Jb\377c\n' >odd/sys/class/infiniband/rxe0/node_desc
status 1 "$weir" doctor --sysroot odd
line ok device 'rxe0: .*, a?\[2Jb?c$'
status 1 "$weir" doctor --sysroot odd --json
has 'a?\[2Jb?c"'

# Where no node opens, nobody knows what one would need.
status 1 "$weir" doctor --sysroot none -t pigeon
line problem transports 'no transport "pigeon"'
line note memlock 'not known'
hasnt '0 bytes'

status 0 "$weir" doctor --sysroot none --json
has '"problems": 0'
has '"level": "note"'
has '"check": "memlock"'
has '"fix": "apt-get install'

# ---- peers -------------------------------------------------------------------

# listen ARGS...: start the other end; its address in $address.
listen()
{
    rm -f heard
    mkfifo heard
    timeout 60 "$weir" doctor --listen=127.0.0.1:0 --once "$@" >heard 2>&1 &
    listener=$!
    exec 3<heard
    read -r first <&3 || fail "the listener says nothing"
    address=${first##* }
    case $first in
    ok*listen*:*) ;;
    *) fail "the listener says: $first $(cat <&3)" ;;
    esac
}

# served: the listener ended well and says so.
served()
{
    cat <&3 >out
    wait $listener || fail "the listener failed"
    line ok peer 'served'
}

listen
status 0 "$weir" doctor --why "$address"
line ok why 'shm: same host'
status 0 "$weir" doctor --peer "$address"
line ok peer 'round trip [0-9.]* us, [0-9]* MB/s, over shm: same host'
served

# Who serves several peers says where it is each time that this changes.
rm -f heard
mkfifo heard
timeout 60 "$weir" doctor -t tcp --listen=127.0.0.1:0 >heard 2>&1 &
listener=$!
exec 3<heard
for n in 1 2 3; do
    read -r said <&3 || fail "the listener says nothing"
    case $said in
    ok*listen*tcp:127.0.0.1:*) ;;
    *) fail "peer $n would not know where to: $said" ;;
    esac
    status 0 "$weir" doctor -t tcp --peer "${said##* }"
    read -r said <&3 || fail "the listener has gone"
done
kill $listener

listen -t tcp
status 0 "$weir" doctor -t tcp --peer "${address#tcp:}" --json
has '"transport": "tcp"'
has '"round_trip_us": [0-9]'
has '"mb_per_s": [0-9]'
served
# Peers go where it says, not to where it listens.
listen -t tcp --listen=0.0.0.0:0 --advertise 127.0.0.5:0
case $address in
tcp:127.0.0.5:[1-9]*) ;;
*) fail "advertises $address" ;;
esac
status 0 "$weir" doctor -t tcp --peer "${address#tcp:}"
served

# Both ends need the secret, and who has none is told so.
printf '%s\n' 0123456789abcdef0123456789abcdef >secret
chmod 600 secret
listen -t tcp --secret-file secret
status 0 "$weir" doctor -t tcp --peer "${address#tcp:}"
line ok peer 'answered .*the peer wants TLS'
status 0 "$weir" doctor -t tcp --secret-file secret --peer "${address#tcp:}"
status 0 "$weir" doctor --secret-file secret
line ok identity 'secret: a secret that others cannot read'
line ok identity 'TLS over tcp, by keys from the secret'
status 0 "$weir" doctor --secret-file secret --plain
line note identity 'plain: whoever is on the way'
served
status 0 "$weir" doctor
line note identity 'take whoever reaches them for a peer' 'openssl rand -hex 32'
chmod 644 secret
status 1 "$weir" doctor --secret-file secret
line problem transports 'has mode 644'
hasnt 0123456789

# The same where nothing but TLS will do, and nobody without.
chmod 600 secret
listen -t tcp --secret-file secret --tls-psk
status 0 "$weir" doctor -t tcp --secret-file secret --plain \
    --peer "${address#tcp:}"
line ok peer 'answered .*the peer wants TLS'
status 0 "$weir" doctor -t tcp --secret-file secret --tls-psk \
    --peer "${address#tcp:}"
line ok peer 'round trip [0-9.]* us, [0-9]* MB/s, over tcp'
status 0 "$weir" doctor -t tcp --secret-file secret --tls-psk
line ok identity 'TLS over tcp, by keys from the secret'
served
status 2 "$weir" doctor --tls-psk
grep -q 'belongs to --secret-file' err || fail "keys of no secret"
hasnt 0123456789

# Both ends need certificates of their names.
certs a DNS:a
certs b DNS:b
listen -t tcp --name a --tls-cert a.crt --tls-key a.key --tls-ca ca.crt
set -- --name b --tls-cert b.crt --tls-key b.key --tls-ca ca.crt
status 0 "$weir" doctor -t tcp --peer "${address#tcp:}"
line ok peer 'answered .*the peer wants TLS'
status 0 "$weir" doctor -t tcp "$@" --peer "${address#tcp:}"
line ok peer 'answered .*127.0.0.1 is expected there, the certificate is of "a"'
set -- "$@" --server-name a
status 0 "$weir" doctor -t tcp "$@" --peer "${address#tcp:}"
line ok peer 'round trip [0-9.]* us, [0-9]* MB/s, over tcp'
status 0 "$weir" doctor -t tcp "$@"
line ok identity 'b.crt: a certificate of this name, with its key'
served
status 1 "$weir" doctor -t tcp "$@" --name c
line problem transports 'is not of c'
status 2 "$weir" doctor --tls-cert b.crt --tls-key b.key
grep -q 'belong together' err || fail "two files of three"
status 2 "$weir" doctor "$@" --tls-psk --secret-file secret
grep -q 'exclude each other' err || fail "both ways of TLS"

# Nobody listens at port 1; the one that was just given back may have a new
# owner.
status 1 "$weir" doctor --peer tcp:127.0.0.1:1 --timeout 2
line problem peer 'not reached: .*Connection refused' 'weir doctor --listen'

status 0 "$weir" doctor --why localhost
line ok why 'localhost is this machine: shm: same host'
status 0 "$weir" doctor --why 192.0.2.77:5
line ok why '192.0.2.77 is another machine: tcp: no shm (another host)'
status 1 "$weir" doctor --why auto:0000000000000000-1\;tcp=127.0.0.1:1
line problem why 'no way there; none: .*at loopback there' \
    'weir doctor --listen'
status 1 "$weir" doctor --why no-such-host.invalid
line problem why 'is no known host' 'getent hosts no-such-host.invalid'

if unshare -n true 2>/dev/null; then
    listen
    status 1 unshare -n "$weir" doctor --why "$address"
    line problem why 'no shm (same host, other network namespace)'
    status 0 "$weir" doctor --peer "$address"
    served
    # As behind a firewall that drops: no connection opens, and none is refused.
    # shellcheck disable=SC2016 # expanded by the inner shell
    status 1 unshare -n sh -c 'ip link add weir0 type veth peer name weir1 &&
        ip addr add 192.0.2.1/24 dev weir0 && ip link set weir0 up &&
        ip link set weir1 up &&
        exec "$0" doctor -t tcp --peer tcp:192.0.2.77:5 --timeout 0.5' "$weir"
    line problem peer 'not reached: .*nothing answers' 'weir doctor --listen'
fi

# ---- wrong use ---------------------------------------------------------------

status 2 "$weir" doctor --peer a --why b
status 2 "$weir" doctor --timeout never
status 2 "$weir" doctor surplus
status 2 "$weir" doctor --once
status 1 "$weir" doctor --peer 'auto:0;tcp=;x' --timeout 0.1
status 0 "$weir" doctor --help
has 'Exit status: 0 no problem; 1 problems; 2 wrong use'
hasnt sysroot
echo ok
