#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .clang-format decides, `make format` obeys. Versions differ in taste, so only
# the one of Debian 12 is asked.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
need_tool clang-format
clang-format --version | grep -q 'version 14\.' || skip "clang-format 14"

# shellcheck disable=SC2046,SC2086 # one word per folder and file
set -- $(sources '*.[ch]' $source_folders)
status=0
clang-format --dry-run --Werror "$@" 2>"$tmp/log" || status=$?
awk -F : '
    / error: / {
        first[$1] = n[$1]++ ? first[$1] : $2
    }
    END {
        for (file in n) {
            print file ": " n[file] " place(s) differ from .clang-format, " \
                "first at line " first[file] "; run make format"
        }
    }' "$tmp/log" | LC_ALL=C sort >"$tmp/bad"
if [ $status -ne 0 ] && [ ! -s "$tmp/bad" ]; then
    cp "$tmp/log" "$tmp/bad"
fi
verdict "$tmp/bad"
