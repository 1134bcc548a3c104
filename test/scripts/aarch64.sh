#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh short|long [ctest options]: cross-compile the library with its
# tests, and run them under qemu's user emulation, where threads of the other
# processor are threads of this one. Loops get the portable form there, and from
# the compiler NEON. long: single parts, the engine, rings between processes and
# tcp. short leaves out what takes long and is the same C on any processor.
set -eu
cd "$(dirname "$0")/../.."
form=$1
shift
tools/sysroot.sh build/sysroot-aarch64
[ -e build/aarch64/build.ninja ] || cmake --preset aarch64
cmake --build build/aarch64 -j "$(nproc)" --target weir_checked
# Not those that are long and about other things, or in virtual time.
left_out='_sim$|auto|chbench|offence|scan|seed|sockets|strangers|storm'
if [ "$form" = short ]; then
    left_out="$left_out|operators|refused|identity|tls|api_tcp"
    left_out="$left_out|bench|tools|launch|args"
fi
test/scripts/run_tests.sh build/aarch64 -L 'unit|conformance' -E "$left_out" \
    "$@"
