#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [lib]: install that build into an empty folder, move the folder
# (an installed tree must not remember where it was), then build and run a
# consumer by find_package and by pkg-config, in C and C++, shared and static.
# lib: the library alone and without verbs, so that a consumer can be linked
# statically to everything.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
kind=${2-all}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# quiet <command>...: its output only if it fails
quiet() {
    if ! "$@" >"$work/log" 2>&1; then
        cat "$work/log"
        echo "failed: $*"
        exit 1
    fi
}

# static_means_static <program>: it must not need libweir.so
static_means_static() {
    if ldd "$1" | grep libweir; then
        echo "$1 is linked to the shared library"
        exit 1
    fi
}

quiet cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
lib=$(dirname "$(find "$prefix" -name 'libweir.so')")

[ -f "$prefix/include/weir/weir.h" ] || { echo "no headers"; exit 1; }
if [ "$kind" = lib ]; then
    [ ! -e "$prefix/bin" ] || { echo "more than the library"; exit 1; }
else
    [ -f "$prefix/bin/weir" ] || { echo "no weir command"; exit 1; }
fi

quiet cmake -S "$here" -B "$work/cmake" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug
quiet cmake --build "$work/cmake"
for program in c_shared c_static cxx_shared cxx_static; do
    "$work/cmake/$program"
done
static_means_static "$work/cmake/c_static"
static_means_static "$work/cmake/cxx_static"

PKG_CONFIG_PATH=$lib/pkgconfig
LD_LIBRARY_PATH=$lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH
mkdir "$work/pc"
cflags=$(pkg-config --cflags weir)
libs=$(pkg-config --libs weir)
static_libs=$(pkg-config --static --libs weir | sed 's/-lweir/-l:libweir.a/')
warn="-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Werror"
# shellcheck disable=SC2086 # flags are words
{
    quiet "${CC:-cc}" -std=c11 $warn "$here/consumer.c" $cflags $libs \
        -o "$work/pc/c_shared"
    quiet "${CC:-cc}" "$here/consumer.c" $cflags $static_libs \
        -o "$work/pc/c_static"
    quiet "${CXX:-c++}" -std=c++17 "$here/consumer_cxx.cc" $cflags $libs \
        -o "$work/pc/cxx_shared"
    quiet "${CXX:-c++}" "$here/consumer_cxx.cc" $cflags $static_libs \
        -o "$work/pc/cxx_static"
}
for program in c_shared c_static cxx_shared cxx_static; do
    "$work/pc/$program"
done
static_means_static "$work/pc/c_static"
static_means_static "$work/pc/cxx_static"

if [ "$kind" = lib ]; then
    # shellcheck disable=SC2046 # flags are words
    quiet "${CC:-cc}" -static "$here/consumer.c" \
        $(pkg-config --static --cflags --libs weir) -o "$work/pc/c_all_static"
    "$work/pc/c_all_static"
    if ldd "$work/pc/c_all_static" >/dev/null 2>&1; then
        echo "-static is not"
        exit 1
    fi
fi
echo "8 consumers built and run"
