#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh BUILD_DIR: the two-stage plan over real verbs on siw against tcp and
# sockets, and one pair of nodes, streaming and reading, against perftest, under
# the instruction clock.
# docs/measuring.md explains the figures. Boots twice, at a time, and compares.
#
#   WEIR_BENCH_ROWS   that each of the 8 nodes makes (4000000)
#   WEIR_BENCH_MIB    of the stream between one pair (64)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
weir=$build/weir
: "${WEIR_BENCH_ROWS:=4000000}" "${WEIR_BENCH_MIB:=64}"
export WEIR_BENCH_ROWS WEIR_BENCH_MIB
libraries=/usr/lib/x86_64-linux-gnu

# bench.sh is its own guest program: "bench.sh BUILD_DIR guest" runs there.
if [ "${2:-}" = guest ]; then
    . "$here/wait.sh"
    # The figures of perftest: MB/s on average, of 10^6 bytes as it says.
    perftest() {
        program=$1
        shift
        "$program" "$@" >/dev/null &
        server=$!
        until_true 10 is_listening "$program"
        "$program" "$@" "$WEIR_VM_SIW" >figures
        wait $server
        awk -v program="$program" '$1 == 65536 { print program, $4 }' figures
    }
    cd /dev/shm
    "$weir" bench two-stage --nodes 8 --workers 1 --rows "$WEIR_BENCH_ROWS" \
        --transports shm,verbs,tcp,sockets --listen "$WEIR_VM_SIW" \
        --repeat 1 --timeout 600 --json
    "$weir" bench stream --transport verbs --listen "$WEIR_VM_SIW" \
        --mib "$WEIR_BENCH_MIB" --frame-bytes 65536 --json
    set -- -R -F -d siw0 -s 65536 -n $((WEIR_BENCH_MIB * 16)) --report_gbits
    perftest ib_send_bw -e "$@"
    perftest ib_write_bw "$@"
    "$weir" bench get --transport verbs --listen "$WEIR_VM_SIW" \
        --bytes 65536 --region 4M --ms 250 --repeat 1 --json
    perftest ib_read_bw "$@" -e
    exit
fi

# boot <folder>: run the guest, sealed; its output is in the folder
boot() {
    files="$weir $here/bench.sh $here/wait.sh"
    files="$files ib_send_bw ib_write_bw ib_read_bw"
    files="$files $libraries/libibverbs/libsiw-rdmav34.so"
    files="$files /etc/libibverbs.d/siw.driver $libraries/libjemalloc.so.2"
    "$here/vm.sh" run --timeout 900 --drivers siw --keep "$1" \
        --sealed "$files" \
        -- sh -e "$here/bench.sh" "$build" guest >"$1/output"
}

# field <benchmark> <name> <key>: a number of a result in the JSON lines
field() {
    # shellcheck disable=SC2020 # each of three characters
    grep "\"benchmark\": \"$1\"" "$folder/1/output" | tr '{},' '\n\n\n' |
        awk -F '[ "]*: *' -v name="$2" -v key="$3" '
            { sub(/^[ "]*/, ""); gsub(/"/, "") }
            $1 == "name" || $1 == "transport" { at = $2 }
            $1 == key && at == name { print $2 }'
}

report() {
    echo "two-stage, 8 nodes x 1 worker, $WEIR_BENCH_ROWS rows per node," \
        "verbs on siw; ns = instructions"
    printf '%-10s%30s\n' '' 'ns per row and stage'
    printf '%-10s%10s%10s%10s\n' '' all user kernel
    for name in shm verbs tcp sockets; do
        echo "$name $(field two-stage $name median_s)" \
            "$(field two-stage $name user_s)"
    done >"$folder/table"
    awk -v rows="$WEIR_BENCH_ROWS" '
        { ns = 1e9 / (rows * 8 * 2)
          printf "%-10s%10.2f%10.2f%10.2f\n", $1, $2 * ns, $3 * ns,
              ($2 - $3) * ns
          all[$1] = $2; user[$1] = $3 }
        END {
          printf "\nsockets/verbs %.2f\n", all["sockets"] / all["verbs"]
          printf "tcp/verbs %.2f\n", all["tcp"] / all["verbs"]
          printf "user verbs/user shm %.2f\n", user["verbs"] / user["shm"] }' \
        "$folder/table"
    awk -v weir="$(field stream verbs mb_per_s)" '
        /^ib_(send|write)_bw/ {
          mb[$1] = $2 * 125; best = mb[$1] > best ? mb[$1] : best }
        END {
          printf "\none pair, 64 KiB: weir %.1f MB/s of payload, " \
              "ib_send_bw -e %.1f, ib_write_bw (polling) %.1f\n", weir,
              mb["ib_send_bw"], mb["ib_write_bw"]
          printf "weir/perftest %.2f\n", weir / best }' "$folder/1/output"
    report_gets
}

# Gets of 64 KiB, into memory of the program.
report_gets() {
    copied=$(sed -n 's/.*"copied": {[^}]*"mb_per_s": \([0-9.]*\).*/\1/p' \
        "$folder/1/output")
    lent=$(sed -n 's/.*"lent": {[^}]*"mb_per_s": \([0-9.]*\).*/\1/p' \
        "$folder/1/output")
    awk -v copied="$copied" -v lent="$lent" '
        $1 == "ib_read_bw" {
          mb = $2 * 125
          printf "\ngets of 64 KiB: weir %.1f MB/s, lent %.1f, " \
              "ib_read_bw -e %.1f\n", copied, lent, mb
          printf "weir/ib_read_bw %.2f\n", copied / mb }' "$folder/1/output"
}

# The largest difference of a figure between the two boots, in percent.
spread() {
    for boot in 1 2; do
        tr -c '0-9.\n' '\n' <"$folder/$boot/output" | grep '[0-9]' \
            >"$folder/$boot/figures"
    done
    paste "$folder/1/figures" "$folder/2/figures" | awk '
        { d = $1 > $2 ? $1 - $2 : $2 - $1
          if ($1 + $2 > 0 && 200 * d / ($1 + $2) > most) {
              most = 200 * d / ($1 + $2) } }
        END { printf "\nspread of two boots %.1f %%\n", most }'
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' HUP INT TERM
mkdir "$folder/1" "$folder/2"
boot "$folder/1" &
first=$!
failed=0
boot "$folder/2" || failed=1
wait $first || failed=1
if [ $failed -ne 0 ]; then
    tail -n 40 "$folder/1/output"
    echo "bench.sh: FAILED" >&2
    exit 1
fi
report
spread
cmp -s "$folder/1/output" "$folder/2/output" ||
    echo "the two boots did NOT give the same figures"
