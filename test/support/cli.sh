# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the tests of the weir command begin with: `set -eu`, then this, with the
# build folder in $1. They go on in an empty directory that ends with them.
weir=$(cd "$1" && pwd)/weir
[ -x "$weir" ] || { echo "no $weir: built without tools"; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
cd "$tmp"

fail()
{
    echo "FAILED: $*"
    head -c 4000 out err 2>/dev/null
    exit 1
}

# status EXPECTED COMMAND...: its exit status; what it says is in out and err.
status()
{
    expected=$1
    shift
    got=0
    timeout 60 "$@" >out 2>err || got=$?
    [ "$got" -eq "$expected" ] || fail "status $got, not $expected: $*"
}

# expect STATUS PATTERN COMMAND...: also a line of err, and nothing in dir.
expect()
{
    status=$1
    pattern=$2
    shift 2
    status "$status" "$@"
    grep -q -e "$pattern" err || fail "no \"$pattern\": $*"
    [ ! -e dir ] || fail "left something behind: $*"
}

# certs NAME ALT[,ALT...]: a certificate with these names (DNS:...) in NAME.crt
# and NAME.key, of the authority in ca.crt, which is made by the first call.
certs()
{
    [ -e ca.crt ] || openssl req -x509 -newkey ec -pkeyopt \
        ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 2 \
        -subj /CN=cluster 2>/dev/null || fail "no authority"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -CA ca.crt -CAkey ca.key -keyout "$1.key" -out "$1.crt" -days 1 \
        -subj "/CN=$1" -addext basicConstraints=critical,CA:FALSE \
        -addext "subjectAltName=$2" 2>/dev/null || fail "no certificate of $1"
    chmod 600 "$1.key"
}

# children PID: its children, by the kernel.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }

# under_way PID...: does each have a node, with a thread of its own? A process
# that is stopped earlier may not have asked to end with its parent yet.
under_way()
{
    for process; do
        # shellcheck disable=SC2012 # numbers
        [ "$(ls "/proc/$process/task" 2>/dev/null | wc -l)" -gt 1 ] || return 1
    done
}

# stopped PID...: wait until each is; false if one has ended instead.
stopped()
{
    for process; do
        while :; do
            state=$(sed 's/.*) \(.\).*/\1/' "/proc/$process/stat" 2>/dev/null)
            case $state in
            T) break ;;
            Z | X | '') return 1 ;;
            esac
        done
    done
}

# start_stopped N COMMAND...: start a run that cannot end: N processes that are
# stopped as soon as they are under way. Sets `pid` and `nodes`. A run that was
# over before is tried again, without the dir that it made; so is one that the
# command in `unfinished`, if it is set, says has nothing left to do.
start_stopped()
{
    n_nodes=$1
    shift
    for try in 1 2 3 4 5 6 7 8 9 last; do
        "$@" >out 2>err &
        pid=$!
        nodes=
        while kill -0 $pid 2>/dev/null; do
            nodes=$(children $pid)
            # shellcheck disable=SC2086 # a list
            if [ "$(echo "$nodes" | wc -w)" -eq "$n_nodes" ] &&
                under_way $nodes; then
                kill -STOP $nodes 2>/dev/null && stopped $nodes &&
                    ${unfinished:-true} && return 0
                # shellcheck disable=SC2086
                kill -CONT $nodes 2>/dev/null || true # over too early
            fi
        done
        wait $pid || fail "the run before it was stopped"
        [ $try != last ] || fail "always over before it was stopped"
        rm -rf dir
    done
}
