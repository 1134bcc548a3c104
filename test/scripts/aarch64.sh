#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh [ctest options]: cross-compile the library with its tests, and run
# those of single parts, of the engine, of rings between processes and of tcp
# under qemu's user emulation, where threads of the other processor are threads
# of this one. Loops get the portable form there, and from the compiler NEON.
set -eu
cd "$(dirname "$0")/../.."
tools/sysroot.sh build/sysroot-aarch64
[ -e build/aarch64/build.ninja ] || cmake --preset aarch64
cmake --build build/aarch64 -j "$(nproc)" --target weir_checked
# Not those that are long and about other things, or in virtual time.
test/scripts/run_tests.sh build/aarch64 -L 'unit|conformance' \
    -E '_sim$|auto|chbench|offence|scan|seed|sockets|strangers|storm' "$@"
