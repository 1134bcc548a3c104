#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source says its licence on its first line, or after #!.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

touch "$tmp/bad"
find . \( -name .git -o -path './build*' \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' \
    -o -name '*.py' -o -name '*.cmake' -o -name '*.in' \
    -o -name CMakeLists.txt -o -name Makefile -o -name Doxyfile \
    -o -path './.ci/*' -o -name '.clang-*' -o -name .editorconfig \
    -o -name .gitignore \) -print | LC_ALL=C sort |
    while read -r file; do
        awk 'NR == 1 && /^#!/ { next }
             { found = /SPDX-License-Identifier: Apache-2\.0/; exit }
             END { exit !found }' "$file" ||
            echo "$file:1: no SPDX-License-Identifier: Apache-2.0"
    done >"$tmp/bad"
verdict "$tmp/bad"
