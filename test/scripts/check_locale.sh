#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing in a library depends on the locale of the host program: what reads or
# writes decimal points, and what knows letters, is called in a neutral locale,
# in the files named here.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# Within wi_neutral_begin() or with a locale of their own.
neutral="core/base/neutral.h operators/base/neutral.h
operators/base/value_text.c operators/base/value_read.c services/scan/fail.c
connectors/adbc/options.c connectors/adbc/statement.c"

# shellcheck disable=SC2046 # words
set -- $(sources '*.[ch]' core transport operators services connectors)
split_code "$@" | awk -F '\t' -v neutral="$neutral" '
    BEGIN {
        n = split(neutral, file, /[ \n]+/)
        for (i = 1; i <= n; i++) {
            allowed[file[i]] = 1
        }
        calls = "(strto(d|f|ld)(_l)?|atof|v[sf]?n?printf|str(n)?casecmp|" \
            "is(alpha|alnum|digit|space|upper|lower|print|punct|xdigit|graph|" \
            "cntrl|blank)|to(upper|lower)|strcoll|strxfrm|strftime|" \
            "setlocale|localeconv|mbs?r?towcs?|wcs?r?tombs?) *\\("
    }
    $1 in allowed { next }
    match(" " $3, "[^A-Za-z0-9_]" calls) {
        what = substr(" " $3, RSTART + 1, RLENGTH - 1)
        print $1 ":" $2 ": depends on the locale: " what ")"
    }' >"$tmp/bad"

# The text of a float by snprintf itself; of a call, its first three lines.
awk -v neutral=" $(echo $neutral) " '
    index(neutral, " " FILENAME " ") { next }
    FNR == 1 { left = 0 }
    /(^|[^a-z_])[sf]n?printf *\(/ { left = 3 }
    left > 0 {
        left--
        if ($0 ~ /%[-+ #0]*[*0-9]*(\.[*0-9]+)?L?[aefgAEFG]/) {
            print FILENAME ":" FNR ": a float by snprintf"
            left = 0
        }
        if ($0 ~ /;/) {
            left = 0
        }
    }' "$@" /dev/null >>"$tmp/bad"
verdict "$tmp/bad"
