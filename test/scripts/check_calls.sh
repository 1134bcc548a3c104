#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing in the library or its tests waits by the clock: a sleep or a yield
# is a missing wake-up. The one courtesy before a sleep is in futex.h; preempt.h
# is of builds that look for races.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# shellcheck disable=SC2046 # one word per file
split_code $(sources '*.[ch]' core transport operators services test/support \
                     test/unit test/conformance) | awk -F '\t' '
    $1 == "core/base/futex.h" || $1 == "core/base/preempt.h" { next }
    match($3, "(^|[^A-Za-z0-9_])((u|nano|clock_nano|thrd_)?sleep|" \
              "(sched|thrd|pthread)_yield) *\\(") {
        call = substr($3, RSTART, RLENGTH)
        gsub(/[^a-z_]/, "", call)
        print $1 ":" $2 ": " call "() is not allowed here"
    }' >"$tmp/bad"
verdict "$tmp/bad"
