#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lib.sh SOURCE_DIR weir|plan: libweir alone, or with libweir-plan (preset lib),
# is configured where nothing can be found but what it needs, built, and
# installed; the consumers of run.sh are built with it, also linked statically
# to everything.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
kind=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# What pkg-config finds: of the packages of `tools/setup.sh lib` (and plan) all
# that there is, and no other.
packages="liburcu-bp liburcu-cds libxxhash libssl libcrypto"
with_plan=OFF
if [ "$kind" = plan ]; then
    packages="$packages jansson"
    with_plan=ON
fi
mkdir "$work/pc"
for name in $packages; do
    cp "$(pkg-config --variable=pcfiledir "$name")/$name.pc" "$work/pc"
done

PKG_CONFIG_LIBDIR=$work/pc cmake --preset lib -S "$source" -B "$work/build" \
    -DWEIR_PLAN=$with_plan -DWEIR_SCAN=OFF \
    -DCMAKE_PROJECT_weir_INCLUDE="$here/deny.cmake" \
    >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
cmake --build "$work/build" >"$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    exit 1
}
"$here/run.sh" "$work/build" "$kind"
