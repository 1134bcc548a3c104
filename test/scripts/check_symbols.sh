#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh ROOT LIBRARY.SO LIBRARY.A [HEADER...]: the shared library
# exports what its headers (of include/weir; without one, all of them) declare
# with WEIR_API, no less and no more; and the static one brings no name into a
# program that does not begin with weir_ or wi_.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
shared=$2
static=$3
shift 3
[ $# -gt 0 ] || set -- $(sources '*.h' include)

split_code "$@" | awk -F '\t' '
    $3 ~ /^ *#/ { next }
    $3 ~ /(^| )WEIR_API / { open = 1; text = "" }
    open {
        text = text " " $3
        if ($3 ~ /[;({[]/) {
            sub(/[;({[].*/, "", text)
            sub(/ +$/, "", text)
            sub(/.*[ *]/, "", text)
            print text
            open = 0
        }
    }' | LC_ALL=C sort >"$tmp/declared"
nm -D --defined-only "$shared" | awk '{ print $3 }' |
    LC_ALL=C sort >"$tmp/exported"

{
    LC_ALL=C comm -23 "$tmp/declared" "$tmp/exported" |
        sed 's/$/: declared in include\/weir, not in the library/'
    LC_ALL=C comm -13 "$tmp/declared" "$tmp/exported" |
        sed 's/$/: exported, not declared in include\/weir/'
    nm -g --defined-only "$static" |
        awk 'NF == 3 && $3 !~ /^(weir|wi)_/ {
                 print $3 ": a name that a program may want for itself"
             }'
} >"$tmp/bad"
[ -s "$tmp/declared" ] || echo "no WEIR_API found" >>"$tmp/bad"
verdict "$tmp/bad"
