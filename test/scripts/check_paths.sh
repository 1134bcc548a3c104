#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Documents name files that are there: every link, every path that begins with a
# folder of the tree, and every name.c or folder/name.c that is the end of a
# path in it. Not files that a document tells the reader to write, nor the
# kernel's.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

# docs/add-a-transport.md, docs/embed.md, docs/measuring.md
others='/null/null\.c|/null_test\.c| prog\.c| siw_[a-z_]*\.c'

find . \( -path ./build -o -path ./.git \) -prune -o -type f -print |
    sed 's|^\./||' >"$tmp/tree"
find . -maxdepth 1 -name README.md -o -maxdepth 1 -name CONTRIBUTING.md |
    sed 's|^\./||' >"$tmp/documents"
sources '*.md' docs bench >>"$tmp/documents"
# shellcheck disable=SC2046 # one word per file
awk -v tree="$tmp/tree" -f "$scripts/paths.awk" $(cat "$tmp/documents") \
    /dev/null >"$tmp/all"
grep -vE "$others" "$tmp/all" >"$tmp/bad" || true
verdict "$tmp/bad"
