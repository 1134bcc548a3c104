#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh GROUP...: install the Debian packages of these groups that are
# missing. When none is, this takes milliseconds and touches nothing.
#
#   lib       libweir alone             tool      these, and the weir command
#   plan      libweir-plan              build     that, and what tests need
#   verbs     the transport over RDMA
#
# and check, bench, vm, coverage, cross, scan, duckdb, spark, fresh, cache for
# the targets of the Makefile.
set -eu

lib="gcc libc6-dev make cmake ninja-build pkgconf liburcu-dev libxxhash-dev
     libssl-dev"
plan="libjansson-dev"
verbs="libibverbs-dev librdmacm-dev"
# libjemalloc2 is loaded at run time.
tool="$lib $plan $verbs libjemalloc2"
# util-linux has setarch, iproute2 the commands ip and tc; tests make locales.
build="$tool g++ libcriterion-dev libcsv-dev libsqlite3-dev util-linux
       iproute2 openssl locales"
# libclang-rt-14-dev: sanitizers and libFuzzer of clang
# python3-matplotlib: the report of the benches, which is tested, too
check="clang clang-format clang-tidy libclang-rt-14-dev doxygen spin tcc
       python3-matplotlib"
bench="openmpi-bin libopenmpi-dev iperf3 ucx-utils python3-venv
       python3-matplotlib"
# The guest runs the host's programs, so these are the guest's too. gcc-12 is
# what Debian builds the kernel with.
vm="qemu-system-x86 busybox-static kmod cpio xz-utils gcc-12 iproute2
    ibverbs-providers ibverbs-utils rdmacm-utils perftest"
coverage="gcovr"
# tools/arrow.sh fetches what libweir-scan is made with; its drivers are C++.
scan="python3-venv g++"
# tools/duckdb.sh fetches with it.
duckdb="npm"
# connectors/spark: its tests fetch Spark itself.
spark="openjdk-17-jdk-headless python3-venv"
# test/fresh: roots of Debian.
fresh="mmdebstrap"
# .ci/run: what was compiled once is not compiled again.
cache="ccache"
# tools/sysroot.sh fetches what is linked.
cross="$build gcc-aarch64-linux-gnu libc6-dev-arm64-cross
       libstdc++-12-dev-arm64-cross qemu-user"

wanted=
for group in "${@:-build}"; do
    case $group in
    lib | plan | verbs | tool | build | check | bench | vm | coverage | \
        cross | scan | duckdb | spark | fresh | cache)
        eval "wanted=\"\$wanted \$$group\""
        ;;
    *)
        echo "setup.sh: no group '$group'; see the head of $0" >&2
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
