#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD_DIR JOBS: clang-tidy over the library and the tools.
set -eu
cd "$(dirname "$0")/../.."
. test/scripts/lib.sh
for dir in $program_folders; do
    if [ -d "$dir" ]; then
        find "$dir" -name '*.c' ! -name '*_mpi*.c'
    fi
done | LC_ALL=C sort | xargs -n 4 -P "$2" clang-tidy -p "$1" --quiet
