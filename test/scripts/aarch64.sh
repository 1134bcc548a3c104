#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh BUILD_DIR: cross-compile the rooms that have loops for certain
# processors, partition and format, with their unit tests, and run those under
# qemu's user emulation. What such a machine gets of these loops is the portable
# form, and from the compiler NEON.
set -eu
cd "$(dirname "$0")/../.."
dir=$1
cross=aarch64-linux-gnu
objects=$dir/objects
mkdir -p "$objects"

sources="core/base/err.c core/base/isa.c core/format/*.c core/partition/*.c
         test/unit/core/base/isa_test.c test/unit/core/format/*.c
         test/unit/core/partition/*.c test/support/nest.c
         test/support/relaid.c
         test/sanitizer/runner.c test/aarch64/criterion.c"
# Headers of Criterion and xxHash are the same for all machines; those of the C
# library come first, and are the other machine's.
flags="-O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion
       -Wsign-conversion -Werror -Iinclude -I. -idirafter /usr/include"

rm -f "$objects"/*.o
# shellcheck disable=SC2086 # words, patterns
printf '%s\n' $sources | xargs -P "$(nproc)" -I '{}' \
    sh -c '"$0" "$@" -c {} -o "'"$objects"'/$(echo {} | tr / _).o"' \
    $cross-gcc $flags
$cross-gcc "$objects"/*.o -o "$dir/tests" -lm
qemu-aarch64 -L /usr/$cross "$dir/tests"
