#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public function says what goes wrong, whether it blocks, who may call
# it and who owns what. Declarations without a blank line between them share
# one comment.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# shellcheck disable=SC2046 # one word per file
split_code $(sources '*.h' include) | awk -F '\t' '
    $3 ~ /^ *#/ { doc = ""; next }
    $3 == "" && $4 == "" { doc = ""; next }
    $3 == "" {
        doc = (fresh($4) ? "" : doc) $4
        next
    }
    $3 ~ /(^| )WEIR_API / {
        missing = ""
        n = split("Errors Blocks Threads Ownership", word, " ")
        for (i = 1; i <= n; i++) {
            if (index(doc, word[i] ":") == 0) {
                missing = missing " " word[i] ":"
            }
        }
        if (missing != "") {
            what = $3
            sub(/.*WEIR_API */, "", what)
            print $1 ":" $2 ": " what ": comment lacks" missing
        }
    }
    function fresh(comment) { return comment ~ /^ *\/\*/ }' >"$tmp/bad"
verdict "$tmp/bad"
