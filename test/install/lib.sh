#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lib.sh SOURCE_DIR: the library alone (preset lib) is configured where nothing
# can be found but what it needs, built, and installed; the consumers of run.sh
# are built with it, and one that is linked statically to everything.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# What pkg-config finds: of the packages of `tools/setup.sh lib` all that there
# is, and no other.
mkdir "$work/pc"
for name in liburcu-bp liburcu-cds libxxhash jansson; do
    cp "$(pkg-config --variable=pcfiledir $name)/$name.pc" "$work/pc"
done

PKG_CONFIG_LIBDIR=$work/pc cmake --preset lib -S "$source" -B "$work/build" \
    -DCMAKE_PROJECT_weir_INCLUDE="$here/deny.cmake" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
cmake --build "$work/build" >"$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    exit 1
}
"$here/run.sh" "$work/build" lib
