#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No line is over 80 columns: sources, scripts, what configures the build.
# Documents have tables, and what pkg-config reads has one line per field.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

find . \( -path ./build -o -path ./.git \) -prune -o -type f \( \
    -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' -o \
    -name '*.py' -o -name '*.pml' -o -name '*.cmake' -o -name '*.cmake.in' -o \
    -name CMakeLists.txt -o -name CMakePresets.json -o -name Makefile -o \
    -path './.ci/*' -o -path './.clang-*' -o -path ./test/vm/init -o \
    -path ./test/model/cases \) -print | sed 's|^\./||' | LC_ALL=C sort |
    LC_ALL=C xargs awk '{
        line = $0
        gsub(/[\200-\277]/, "", line) # what goes on with a UTF-8 character
        if (length(line) > 80) {
            print FILENAME ":" FNR ": " length(line) " columns"
        }
    }' >"$tmp/bad"
verdict "$tmp/bad"
