#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# grants.sh BUILD_DIR: what grants of memory cost on rxe and siw, registered
# and as windows, under the instruction clock (bench/micro/verbs_grant_bench.c).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$(cd "$1" && pwd)/bench/verbs_grant_bench
libraries=/usr/lib/x86_64-linux-gnu

for driver in rxe siw; do
    files="$bench $libraries/libibverbs/lib$driver-rdmav34.so"
    files="$files /etc/libibverbs.d/$driver.driver $libraries/libjemalloc.so.2"
    "$here/vm.sh" run --timeout 300 --drivers "$driver" --sealed "$files" \
        -- "$bench" "${driver}0" 1 20
done
