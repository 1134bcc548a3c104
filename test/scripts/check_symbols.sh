#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh ROOT LIBWEIR.SO LIBWEIR.A: the shared library exports what
# include/weir declares with WEIR_API, no less and no more; and the static one
# brings no name into a program that does not begin with weir_ or wi_.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# shellcheck disable=SC2046 # one word per file
split_code $(sources '*.h' include) | awk -F '\t' '
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
nm -D --defined-only "$2" | awk '{ print $3 }' | LC_ALL=C sort >"$tmp/exported"

{
    LC_ALL=C comm -23 "$tmp/declared" "$tmp/exported" |
        sed 's/$/: declared in include\/weir, not in the library/'
    LC_ALL=C comm -13 "$tmp/declared" "$tmp/exported" |
        sed 's/$/: exported, not declared in include\/weir/'
    nm -g --defined-only "$3" |
        awk 'NF == 3 && $3 !~ /^(weir|wi)_/ {
                 print $3 ": a name that a program may want for itself"
             }'
} >"$tmp/bad"
[ -s "$tmp/declared" ] || echo "no WEIR_API found" >>"$tmp/bad"
verdict "$tmp/bad"
