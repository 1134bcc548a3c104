#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Format every source in place.
set -eu
cd "$(dirname "$0")/../.."
. test/scripts/lib.sh
for dir in $source_folders; do
    if [ -d "$dir" ]; then
        find "$dir" -name '*.[ch]' -exec clang-format -i {} +
    fi
done
