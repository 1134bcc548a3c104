#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Report: how long functions and files are, per folder. Limits: no function
# over 60 lines; of the programs no file over 500, and no other one over 1000.
# A function is what has its braces in the first column, counted from the first
# line of its head.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# shellcheck disable=SC2046,SC2086 # one word per folder and file
split_code $(sources '*.[ch]' $source_folders) |
    awk -F '\t' -f "$scripts/sizes.awk" |
    LC_ALL=C sort -t '	' -k 1,2 -k 3,3n >"$tmp/sizes"

printf '%-22s %8s %7s %7s %7s %8s %9s\n' folder functions median '95%' \
    longest files 'longest'
awk -F '\t' '
    function row() {
        if (folder == "") {
            return
        }
        printf "%-22s %8d %7d %7d %7d %8d %9d\n", folder, n["function"],
            at("function", 0.5), at("function", 0.95), at("function", 1),
            n["file"], at("file", 1)
    }
    function at(kind, part,    i) {
        i = int(n[kind] * part + 0.5)
        return n[kind] ? size[kind, i < 1 ? 1 : i] : 0
    }
    $1 != folder { row(); folder = $1; n["function"] = n["file"] = 0 }
    { size[$2, ++n[$2]] = $3 }
    END { row() }' "$tmp/sizes"

awk -F '\t' -v programs="$program_folders" '
    BEGIN {
        gsub(/ /, "|", programs)
    }
    $2 == "function" {
        limit = 60
    }
    $2 == "file" {
        limit = $4 ~ "^(" programs ")/" ? 500 : 1000
    }
    $3 > limit {
        print $4 ": a " $2 " of " $3 " lines: " $5
    }' "$tmp/sizes" >"$tmp/bad"
verdict "$tmp/bad"
