#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_probes.sh ROOT: for every pointer that a public function takes, and for
# every number of a worker, a member, a destination, ..., test/unit/args says
# what a NULL, or a number out of range, gives: REFUSES(function, argument, ...)
# or one of its kin. Not for where messages go (err) and what only passes
# through (arg).
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# function TAB argument
# shellcheck disable=SC2046 # one word per file
split_code $(sources '*.h' include) | awk -F '\t' '
    $3 ~ /^ *#/ { next }
    $3 ~ /(^| )WEIR_API / { open = 1; text = "" }
    open { text = text " " $3 }
    open && $3 ~ /;/ {
        open = 0
        name = text
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        list = text
        sub(/^[^(]*\(/, "", list)
        sub(/\) *;.*/, "", list)
        n = split(list, param, ",")
        for (i = 1; i <= n; i++) {
            what = param[i]
            sub(/ *$/, "", what)
            sub(/.*[ *]/, "", what)
            pointer = param[i] ~ /\*|_fn / && what !~ /^(err|arg)$/
            idx = what ~ /^(worker|member|idx|dest|column|node|a|b)$/
            if (pointer || idx) {
                print name "\t" what
            }
        }
    }' >"$tmp/wanted"

# shellcheck disable=SC2046 # one word per file
cat /dev/null $(sources '*.c' test/unit/args) | tr -s ' \n' '  ' |
    grep -oE '(REFUSES|CODE|ANSWERS|ALLOWS|ABORTS)\( ?\w+, ?\w+,' |
    sed -E 's/^[A-Z]+\( ?//; s/, ?/\t/; s/,$//' |
    LC_ALL=C sort -u >"$tmp/probed"
LC_ALL=C sort -u "$tmp/wanted" | LC_ALL=C comm -23 - "$tmp/probed" |
    sed 's/\t/: no probe in test\/unit\/args for its argument /' >"$tmp/bad"
[ -s "$tmp/wanted" ] || echo "no WEIR_API found" >>"$tmp/bad"
verdict "$tmp/bad"
