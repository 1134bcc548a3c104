#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory order: spelled in core/base/atomic.h only (examples, which see the
# public headers alone, use the compiler's own); every acquire and release
# site names its edge (E1, E2, ...) in a comment on its line, within the three
# lines above, or in a comment that ends there; every edge has both ends and a
# row in docs/concurrency.md, and every row an edge.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# shellcheck disable=SC2046,SC2086 # one word per folder and file
split_code $(sources '*.[ch]' include $program_folders test) >"$tmp/code"
awk -F '\t' '
    $1 == "core/base/atomic.h" { next }
    match($3, "memory_order_[a-z_]*|atomic_(thread|signal)_fence|" \
              "__atomic_[a-z_]*|__sync_[a-z_]*|" \
              "(^|[^a-z_])atomic_(load|store|exchange|fetch|compare)[a-z_]*") {
        what = substr($3, RSTART, RLENGTH)
        gsub(/[^a-z_]/, "", what)
        print $1 ":" $2 ": " what " belongs into core/base/atomic.h"
    }' "$tmp/code" >"$tmp/bad"

# The table: rows that begin with a label.
touch "$tmp/rows"
if [ -f docs/concurrency.md ]; then
    sed -n 's/^|[ *`]*\(E[0-9][0-9]*[a-z]*\)[^A-Za-z0-9].*/\1/p' \
        docs/concurrency.md >"$tmp/rows"
else
    echo "docs/concurrency.md: missing" >>"$tmp/bad"
fi
LC_ALL=C sort "$tmp/rows" | uniq -d |
    sed 's/^/docs\/concurrency.md: two rows for /' >>"$tmp/bad"

# Tests may use the operations without naming an edge of the library.
grep -v '^test/' "$tmp/code" |
    awk -F '\t' -v rows="$tmp/rows" -f "$scripts/edges.awk" >>"$tmp/bad"
verdict "$tmp/bad"
