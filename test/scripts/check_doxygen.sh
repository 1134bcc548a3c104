#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Doxygen understands every public comment: no unknown parameter, no broken
# reference.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
need_tool doxygen

{
    cat docs/Doxyfile
    echo "OUTPUT_DIRECTORY = $tmp/out"
} >"$tmp/Doxyfile"
mkdir "$tmp/out"
doxygen "$tmp/Doxyfile" >"$tmp/log" 2>&1 || {
    grep -E '(warning|error):' "$tmp/log" || tail -n 5 "$tmp/log"
    exit 1
}
