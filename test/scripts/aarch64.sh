#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh short|long [ctest options]: cross-compile the library with its
# tests, and run them under qemu's user emulation, where threads of the other
# processor are threads of this one. Loops get the portable form there, and from
# the compiler NEON. long: single parts, the engine, rings between processes and
# tcp. short leaves out what takes long and is the same C on any processor
# (weir_long in cmake/WeirTests.cmake).
set -eu
cd "$(dirname "$0")/../.."
form=$1
shift
tools/sysroot.sh build/sysroot-aarch64
[ -e build/aarch64/build.ninja ] || cmake --preset aarch64
# Not those that are about other things, or in virtual time.
left_out='_sim$|auto|chbench|offence|peer|scan|seed|sockets|strangers|storm'
set -- -L 'unit|conformance' -E "$left_out" "$@"
checked=weir_checked
if [ "$form" = long ]; then
    set -- -C long "$@"
    checked=weir_checked_long
fi
cmake --build build/aarch64 -j "$(nproc)" --target weir_checked $checked
test/scripts/run_tests.sh build/aarch64 "$@"
