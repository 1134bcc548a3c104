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
touch "$tmp/bad"
for file; do
    clang-format --dry-run --Werror "$file" 2>"$tmp/log" ||
        echo "$file: $(grep -c 'error:' "$tmp/log") place(s) differ from" \
            ".clang-format, first at line" \
            "$(sed -n 's/^[^:]*:\([0-9]*\):.*error:.*/\1/p;' "$tmp/log" |
                head -n 1); run make format" >>"$tmp/bad"
done
verdict "$tmp/bad"
