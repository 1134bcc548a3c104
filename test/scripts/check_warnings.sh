#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The build is one compiler's opinion; clang reads every source as well.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
need_tool clang

flags="-fsyntax-only -Werror -Wall -Wextra -Wshadow -Wconversion"
flags="$flags -Wsign-conversion -std=gnu11 -Iinclude -I. -D_GNU_SOURCE"
flags="$flags -D_LGPL_SOURCE -DWEIR_VERSION=\"0\" -DWEIR_BUILD_DIR=\".\""
flags="$flags -DWEIR_SOURCE_DIR=\".\""

# MPI hides its headers, and so does Java.
hidden=$(pkg-config --cflags-only-I ompi-c 2>/dev/null |
    sed 's/-I\([^ ]*\)/-isystem \1/g') || hidden=
for java in /usr/lib/jvm/*17*/include; do
    hidden="$hidden -isystem $java -isystem $java/linux"
done
flags="$flags $hidden"

# Without others' headers (make setup-scan) libweir-scan is not built either.
arrow=
if [ -d build/arrow/include ]; then
    flags="$flags -isystem build/arrow/include"
else
    arrow='<nanoarrow/|<arrow-adbc/|"(test/unit/)?(services/scan|connectors)/'
fi

# Other libraries are not needed to judge the rest.
have() {
    # shellcheck disable=SC2086 # flags are words
    printf '#include <%s>\n' "$1" |
        clang $hidden -x c -fsyntax-only - 2>/dev/null
}
unread=
for header in criterion/criterion.h mpi.h csv.h jansson.h infiniband/verbs.h \
    jni.h; do
    have "$header" || unread="$unread $header"
done

for source in $(sources '*.c' $program_folders examples test/support \
                        test/unit test/conformance test/integration \
                        test/fuzz); do
    if [ -n "$arrow" ] && grep -qE "#include ($arrow)" "$source"; then
        continue
    fi
    for header in $unread; do
        if grep -q "#include <$header>" "$source"; then
            echo "$source: not read, <$header> is not installed"
            continue 2
        fi
    done
    echo "$source" >>"$tmp/read"
done

# One log for each clang: lines of several would mix in one.
touch "$tmp/read" "$tmp/bad"
export tmp flags
# shellcheck disable=SC2016 # for the inner shell
xargs -P "$(nproc)" -n 8 sh -c '
    clang $flags "$@" 2>"$tmp/log.$$" || echo "clang: error: $*" >>"$tmp/log.$$"
' clang <"$tmp/read"
cat "$tmp"/log.* 2>/dev/null | grep -E '(warning|error):' >"$tmp/bad" || true
verdict "$tmp/bad"
