#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh [lib|plan|verbs|build|check|bench|vm|coverage|cross|scan|duckdb|
#           spark]...: install the Debian packages that Weir needs and that are
# missing: lib for libweir alone, plan for libweir-plan, verbs for the transport
# over RDMA, build for all three and everything that is made of them. When none
# is, this takes milliseconds and touches nothing.
set -eu

# libjemalloc2 is loaded at run time; util-linux has setarch.
lib="gcc libc6-dev make cmake ninja-build pkgconf liburcu-dev libxxhash-dev
     libssl-dev"
plan="libjansson-dev"
verbs="libibverbs-dev librdmacm-dev"
build="$lib $plan $verbs g++ libcriterion-dev libcsv-dev libsqlite3-dev
       libjemalloc2 util-linux"
# libclang-rt-14-dev: sanitizers and libFuzzer of clang
# python3-matplotlib: the report of the benches, which is tested, too
check="clang clang-format clang-tidy libclang-rt-14-dev doxygen spin
       python3-matplotlib"
bench="openmpi-bin libopenmpi-dev iperf3 ucx-utils python3-venv
       python3-matplotlib"
# The guest runs the host's programs, so these are the guest's too. gcc-12 is
# what Debian builds the kernel with.
vm="qemu-system-x86 busybox-static kmod cpio xz-utils gcc-12 iproute2
    ibverbs-providers ibverbs-utils rdmacm-utils perftest"
coverage="gcovr"
# tools/arrow.sh fetches what libweir-scan is made with.
scan="python3-venv"
# tools/duckdb.sh fetches with it.
duckdb="npm"
# connectors/spark: its tests fetch Spark itself.
spark="openjdk-17-jdk-headless maven python3-venv"
# tools/sysroot.sh fetches what is linked.
cross="$build gcc-aarch64-linux-gnu libc6-dev-arm64-cross
       libstdc++-12-dev-arm64-cross qemu-user"

wanted=
for group in "${@:-build}"; do
    case $group in
    lib) wanted="$wanted $lib" ;;
    plan) wanted="$wanted $plan" ;;
    verbs) wanted="$wanted $verbs" ;;
    build) wanted="$wanted $build" ;;
    check) wanted="$wanted $check" ;;
    bench) wanted="$wanted $bench" ;;
    vm) wanted="$wanted $vm" ;;
    coverage) wanted="$wanted $coverage" ;;
    cross) wanted="$wanted $cross" ;;
    scan) wanted="$wanted $scan" ;;
    duckdb) wanted="$wanted $duckdb" ;;
    spark) wanted="$wanted $spark" ;;
    *)
        echo "setup.sh: no group '$group'" \
            "(lib, plan, verbs, build, check, bench, vm, coverage, cross," \
            "scan, duckdb, spark)" >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup.sh: not a Debian system; you need what these packages hold:" \
        $wanted >&2
    exit 0
fi

# shellcheck disable=SC2016,SC2086 # dpkg's variables; one word per package
installed=$(dpkg-query -W -f '${Package}:${db:Status-Status}\n' $wanted \
    2>/dev/null || true)
missing=
for package in $wanted; do
    case "
$installed
" in
    *"
$package:installed
"*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

echo "Installing Debian packages:$missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "setup.sh: neither root nor sudo; have an administrator run:" >&2
    echo "    apt-get update && apt-get install$missing" >&2
    exit 1
fi
# shellcheck disable=SC2086 # words
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends $missing
}
