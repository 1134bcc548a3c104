#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm.sh: commands in a virtual machine with real RDMA drivers, on a machine
# that has none. The guest is a Debian kernel under QEMU's emulation and sees
# this machine's file tree, copy on write; siw (Soft-iWARP) and rxe (Soft-RoCE)
# are loaded, each on a network device of its own.
#
#   vm.sh prepare
#   vm.sh run [options] [--] COMMAND...
#   vm.sh pair [options] -- COMMAND_A... -- COMMAND_B...
#
#   --drivers "rxe siw"   what run loads (both)
#   --driver siw|rxe      what pair loads on eth0, in both guests (siw)
#   --clock               instruction clock: one vCPU, 1 ns per instruction
#   --sealed "FILE..."    run with the clock, and without the host's files but
#                         these programs and libraries: repeats exactly; output
#                         comes at the end
#   --mem MiB             memory of a guest (4096; pair: 2048)
#   --timeout S           wall seconds (300), after which it is a failure
#   --keep DIR            leave console and output there
#
# Output is the command's, live (pair: each line begins with the driver and "A:
# " or "B: "); so is the exit code (pair: A's; B, unless destroyed, must exit
# with 0). 125: the guest did not come up, broke down or ran out of time; the
# end of its console is printed then. When vm.sh ends, however it ends, so do
# its guests.
#
# In a pair, A is 10.77.3.1 and B is 10.77.3.2; each sees /run/job/shared, a
# folder that both may write, to wait for one another. A line of theirs that is
# one of these is carried out:
#
#   vm: pull the plug     of A's network device: A sees the carrier go, B sees
#                         nothing but silence
#   vm: plug in           again
#   vm: destroy B         the machine vanishes without a word
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/wait.sh"
cache=${WEIR_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weir/vm}

usage() {
    sed -n '/^#   vm.sh/,/^set -eu/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

die() {
    echo "vm: FAILED: $*" >&2
    exit 125
}

# ---- jobs -------------------------------------------------------------------

# quote <word>...: the words again, for a shell to read
quote() {
    for word; do
        printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
    done
}

# write_job <folder> <drivers> <command>...: what guest.sh is told. Variables
# whose name begins with WEIR_ go along.
write_job() {
    folder=$1
    on=$2
    shift 2
    mkdir -p "$folder"
    : >"$folder/out"
    {
        echo "drivers='$on'"
        export -p | sed -n '/^export WEIR_[A-Z_]*=/p'
        echo "job() {"
        echo "    cd $(quote "$PWD")&& $(quote "$@")"
        echo "}"
        cat "$here/guest.sh"
    } >"$folder/guest"
}

# ---- machines ---------------------------------------------------------------

pids=
share=security_model=none,multidevs=remap
cleanup() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    [ -n "$keep" ] || rm -rf "$jobs"
}

# seal <folder>: the files of $sealed, the libraries that they need and the job
# become an initramfs. Names are sorted and times are zero, so that the same
# files give the same bytes.
seal() {
    root=$1/root
    for file in /usr/bin/sh ip rdma $sealed; do
        command -v "$file" >>"$1/programs" || die "no $file to seal in"
    done
    while read -r program; do
        echo "$program"
        ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true
    done <"$1/programs" | sort -u >"$1/files"
    while read -r file; do
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file"
    done <"$1/files"
    mkdir -p "$root/run/job" "$root/tmp" "$root$PWD"
    cp "$1/guest" "$root/run/job/"
    {
        cat "$image/initrd"
        cd "$root"
        find . -exec touch -d @0 {} +
        find . | LC_ALL=C sort |
            cpio -o -H newc -R 0:0 --reproducible --quiet | gzip -1n
    } >"$1/initrd"
}

# boot <folder> <qemu option>...: start a guest; its process is $pid
boot() {
    folder=$1
    initrd=$image/initrd
    shift
    if [ -n "$sealed" ]; then
        seal "$folder"
        initrd=$folder/initrd
        set -- "$@" -serial "file:$folder/out" -serial "file:$folder/exit"
    else
        set -- "$@" \
            -virtfs "local,path=/,mount_tag=host,readonly=on,$share" \
            -virtfs "local,path=$folder,mount_tag=job,$share"
    fi
    cpu=max
    if [ -n "$clock" ]; then
        set -- "$@" -accel tcg,thread=single -icount shift=0,sleep=off -smp 1 \
            -seed 1 -rtc base=2026-01-01,clock=vm
        kernel="nokaslr norandmaps"
    else
        set -- "$@" -accel tcg,thread=multi -smp 2
        # Without them Linux clears and copies eight bytes at a step, not one:
        # under emulation steps are what takes time.
        cpu=max,-erms,-fsrm
        # Does the timer tick as fast as it should? Not on a busy machine, and
        # the kernel would give up.
        kernel=no_timer_check
    fi
    # Each dies with who started it, also if that was killed.
    setpriv --pdeathsig TERM timeout -k 5 "$limit" \
        setpriv --pdeathsig KILL qemu-system-x86_64 -cpu "$cpu" -m "$mem" \
        -serial "file:$folder/console" "$@" \
        -display none -monitor none -no-reboot \
        -pidfile "$folder/pid" \
        -kernel "$image/vmlinuz" -initrd "$initrd" -append \
        "console=ttyS0 quiet panic=-1 oops=panic edd=off net.ifnames=0 \
$kernel" \
        </dev/null >"$folder/qemu" 2>&1 &
    pid=$!
    pids="$pids $pid"
}

# verdict <folder> <status of qemu>: print and return how the guest ended
verdict() {
    guest=${1##*/} # guest, A or B
    if [ "$2" -eq 0 ] && [ -s "$1/exit" ]; then
        code=$(cat "$1/exit")
        # Whoever made 125 has said why; the console may say more.
        [ "$code" -eq 125 ] || return "$code"
    elif [ "$2" -eq 124 ]; then
        echo "vm: FAILED: $guest had not ended after $limit s" >&2
    else
        echo "vm: FAILED: $guest ended without an exit code" >&2
    fi
    echo "vm: the end of its console:" >&2
    tail -n 25 "$1/qemu" "$1/console" | tr -d '\r' >&2
    return 125
}

# ---- commands ---------------------------------------------------------------

run() {
    [ $# -gt 0 ] || usage
    write_job "$jobs/guest" "$drivers" "$@"
    boot "$jobs/guest" -nic none
    tail -n +1 -s 0.2 --pid="$pid" -f "$jobs/guest/out" &
    printer=$!
    status=0
    wait "$pid" || status=$?
    wait "$printer"
    verdict "$jobs/guest" "$status"
}

# pair_boot <A or B> <last number of address> <on or off: server> <command>...
pair_boot() {
    guest=$1
    number=$2
    server=$3
    shift 3
    write_job "$jobs/$guest" "$driver:10.77.3.$number" "$@"
    mkfifo "$jobs/$guest/monitor.in" "$jobs/$guest/monitor.out"
    boot "$jobs/$guest" \
        -netdev "stream,id=n0,server=$server,addr.type=unix,\
addr.path=$jobs/wire" \
        -device "virtio-net-pci,netdev=n0,mac=52:54:00:77:03:0$number" \
        -chardev "pipe,id=monitor,path=$jobs/$guest/monitor" \
        -mon monitor \
        -virtfs "local,path=$jobs/shared,mount_tag=shared,$share"
}

# monitor <A or B> <command>: opened for reading, too, which does not wait for
# a guest that may have ended
monitor() {
    echo "$2" 1<>"$jobs/$1/monitor.in"
}

# follow <A or B> <pid>: print what a guest says, and do what it asks for
follow() {
    tail -n +1 -s 0.2 --pid="$2" -f "$jobs/$1/out" | while IFS= read -r line; do
        printf '%s %s: %s\n' "$driver" "$1" "$line"
        case $line in
        "vm: pull the plug") monitor A "set_link n0 off" ;;
        "vm: plug in") monitor A "set_link n0 on" ;;
        "vm: destroy B")
            : >"$jobs/destroyed"
            kill -KILL "$(cat "$jobs/B/pid")"
            ;;
        esac
    done
}

pair() {
    [ "${1:-}" = -- ] || usage
    shift
    # Words up to the next "--" are A's, the rest is B's.
    n=0
    for word; do
        [ "$word" != -- ] || break
        n=$((n + 1))
    done
    if [ $n -eq 0 ] || [ $# -le $((n + 1)) ]; then
        usage
    fi
    mkdir -p "$jobs/shared"
    words_a=
    while [ "$1" != -- ]; do
        words_a="$words_a$(quote "$1")"
        shift
    done
    shift
    pair_boot A 1 on sh -c "$words_a"
    pid_a=$pid
    until_true 20 test -S "$jobs/wire" || die "guest A does not start"
    pair_boot B 2 off "$@"
    pid_b=$pid
    follow A "$pid_a" &
    printer_a=$!
    follow B "$pid_b" &
    printer_b=$!
    status_a=0
    status_b=0
    wait "$pid_a" || status_a=$?
    wait "$pid_b" || status_b=$?
    wait "$printer_a" "$printer_b"
    code_a=0
    code_b=0
    verdict "$jobs/A" $status_a || code_a=$?
    [ -e "$jobs/destroyed" ] || verdict "$jobs/B" $status_b || code_b=$?
    [ $code_a -ne 0 ] || [ $code_b -eq 0 ] ||
        die "guest A exited with 0, guest B with $code_b"
    return $code_a
}

# ---- arguments --------------------------------------------------------------

verb=${1:-}
[ $# -eq 0 ] || shift
drivers="rxe siw"
driver=siw
clock=
sealed=
mem=
limit=300
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --clock)
        clock=1
        shift
        continue
        ;;
    --drivers | --driver | --sealed | --mem | --timeout | --keep)
        [ $# -gt 1 ] || usage
        ;;
    *) break ;;
    esac
    case $1 in
    --drivers) drivers=$2 ;;
    --driver) driver=$2 ;;
    --sealed)
        sealed=$2
        clock=1
        ;;
    --mem) mem=$2 ;;
    --timeout) limit=$2 ;;
    --keep) keep=$2 ;;
    esac
    shift 2
done
case $verb in
prepare | run | pair) ;;
*) usage ;;
esac

image=$("$here/prepare.sh" "$cache") || die "no kernel and initramfs"
[ "$verb" != prepare ] || exit 0
jobs=${keep:-$(mktemp -d)}
mkdir -p "$jobs"
jobs=$(cd "$jobs" && pwd)
trap cleanup EXIT
trap 'exit 130' HUP INT TERM
case $verb in
run)
    : "${mem:=4096}"
    [ "${1:-}" != -- ] || shift
    run "$@"
    ;;
pair)
    : "${mem:=2048}"
    pair "$@"
    ;;
esac
