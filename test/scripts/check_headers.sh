#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header compiles alone and twice; public ones also as strict C11 and as
# C++17.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"

strict="-fsyntax-only -Werror -Wall -Wextra -Wshadow -Wconversion"
strict="$strict -Wsign-conversion -Iinclude"
inside="-std=gnu11 -D_GNU_SOURCE -D_LGPL_SOURCE -I."

# try <name of the language> <header> <compiler and flags>...
# Others' headers for libweir-scan (make setup-scan); without them it is not
# built, and its headers are not read.
scan=
if [ -d build/arrow/include ]; then
    inside="$inside -isystem build/arrow/include"
else
    scan='services/scan/|connectors/adbc/'
fi

try() {
    language=$1
    tried=$2
    shift 2
    printf '#include "%s"\n#include "%s"\n' "$tried" "$tried" >"$tmp/unit"
    # shellcheck disable=SC2086 # flags are words
    if ! "$@" $strict "$tmp/unit" 2>"$tmp/log"; then
        echo "$tried: does not compile alone as $language" >>"$tmp/bad"
        sed -n '/error/{p;q;}' "$tmp/log" >>"$tmp/bad"
    fi
}

touch "$tmp/bad"
for header in $(sources '*.h' include); do
    try C11 "${header#include/}" "${CC:-cc}" -x c -std=c11 -pedantic
    try C++17 "${header#include/}" "${CXX:-c++}" -x c++ -std=c++17 -pedantic
done
for header in $(sources '*.h' $program_folders test/support \
                        test/conformance); do
    if [ -n "$scan" ] && echo "$header" | grep -qE "^($scan)"; then
        continue
    fi
    # shellcheck disable=SC2086 # flags are words
    try C "$header" "${CC:-cc}" -x c $inside
done
verdict "$tmp/bad"
