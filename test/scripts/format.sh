#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Format every source in place.
set -eu
cd "$(dirname "$0")/../.."
for dir in include core transport operators tools bench examples test; do
    if [ -d "$dir" ]; then
        find "$dir" -name '*.[ch]' -exec clang-format -i {} +
    fi
done
