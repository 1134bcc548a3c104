#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [weir|plan]: install that build into an empty folder, move
# the folder (an installed tree must not remember where it was), then build and
# run consumers by find_package and by pkg-config, in C and C++, shared and
# static: one of libweir, one of libweir-plan, one of libweir-scan if the build
# has it. What was installed is hardened (hardened.sh), if the build is.
# weir, plan: the build has no more than libweir, or both libraries, and no
# verbs, so that consumers can be linked statically to everything.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
kind=${2-all}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
built=0

die() {
    echo "$*"
    exit 1
}

# quiet <command>...: its output only if it fails
quiet() {
    if ! "$@" >"$work/log" 2>&1; then
        cat "$work/log"
        die "failed: $*"
    fi
}

# without <library> <file>: the file must not need it
without() {
    if ldd "$2" | grep "$1"; then
        die "$2 needs $1"
    fi
}

# libweir_alone <prefix>: nothing of libweir-plan is there
libweir_alone() {
    if (cd "$1" && find . | grep -i -e plan -e 'run\.h' -e 'table\.h'); then
        die "more than libweir"
    fi
}

# try <folder> <consumer>: run what was built of it
try() {
    for how in c_shared c_static cxx_shared cxx_static; do
        "$1/$2_$how"
        [ "$2" = plan_consumer ] || without libjansson "$1/$2_$how"
        built=$((built + 1))
    done
    without libweir "$1/$2_c_static"
    without libweir "$1/$2_cxx_static"
}

# by_cmake <prefix> <ON|OFF: with libweir-plan>
by_cmake() {
    rm -rf "$work/cmake"
    scan=OFF
    [ ! -e "$1/include/weir/scan.h" ] || scan=ON
    quiet cmake -S "$here" -B "$work/cmake" -G Ninja -DPLAN="$2" \
        -DSCAN=$scan -DCMAKE_PREFIX_PATH="$1" -DCMAKE_BUILD_TYPE=Debug
    quiet cmake --build "$work/cmake"
    try "$work/cmake" consumer
    [ "$2" = OFF ] || try "$work/cmake" plan_consumer
    [ $scan = OFF ] || try "$work/cmake" scan_consumer
}

# by_pkg_config <package> <consumer>
by_pkg_config() {
    mkdir -p "$work/pc"
    source=$here/$2
    to=$work/pc/$2
    cflags=$(pkg-config --cflags "$1")
    libs=$(pkg-config --libs "$1")
    static_libs=$(pkg-config --static --libs "$1" |
        sed 's/-l\(weir[a-z-]*\)/-l:lib\1.a/g')
    warn="-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Werror"
    # shellcheck disable=SC2086 # flags are words
    {
        quiet "${CC:-cc}" -std=c11 $warn "$source.c" $cflags $libs \
            -o "${to}_c_shared"
        quiet "${CC:-cc}" "$source.c" $cflags $static_libs -o "${to}_c_static"
        quiet "${CXX:-c++}" -std=c++17 "${source}_cxx.cc" $cflags $libs \
            -o "${to}_cxx_shared"
        quiet "${CXX:-c++}" "${source}_cxx.cc" $cflags $static_libs \
            -o "${to}_cxx_static"
    }
    try "$work/pc" "$2"
}

# all_static <package> <consumer>
all_static() {
    # shellcheck disable=SC2046 # flags are words
    quiet "${CC:-cc}" -static "$here/$2.c" \
        $(pkg-config --static --cflags --libs "$1") -o "$work/pc/$2_all_static"
    "$work/pc/$2_all_static"
    if ldd "$work/pc/$2_all_static" >/dev/null 2>&1; then
        die "-static is not"
    fi
    built=$((built + 1))
}

quiet cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
lib=$(dirname "$(find "$prefix" -name 'libweir.so')")

[ -f "$prefix/include/weir/weir.h" ] || die "no headers"
case $kind in
all) [ -f "$prefix/bin/weir" ] || die "no weir command" ;;
*) [ ! -e "$prefix/bin" ] || die "more than the libraries" ;;
esac
without libjansson "$lib/libweir.so"
if grep -q '^CMAKE_BUILD_TYPE:STRING=Release' "$build/CMakeCache.txt" &&
    grep -q '^WEIR_HARDEN:BOOL=ON' "$build/CMakeCache.txt"; then
    find "$prefix" -name '*.a' -o -name '*.so' -o -path '*/bin/*' |
        xargs "$here/hardened.sh" >"$work/log" || die "$(cat "$work/log")"
fi

PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
if [ "$kind" = weir ]; then
    libweir_alone "$prefix"
    by_cmake "$prefix" OFF
else
    by_cmake "$prefix" ON
fi

LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH
by_pkg_config weir consumer
[ "$kind" = weir ] || by_pkg_config weir-plan plan_consumer
[ ! -e "$lib/libweir-scan.so" ] || by_pkg_config weir-scan scan_consumer
if [ "$kind" != all ]; then
    all_static weir consumer
    [ "$kind" = weir ] || all_static weir-plan plan_consumer
fi
unset LD_LIBRARY_PATH

# Of a build that has more, the component weir is libweir, and all of it.
quiet cmake --install "$build" --component weir --prefix "$work/alone"
libweir_alone "$work/alone"
[ ! -e "$work/alone/include/weir/scan.h" ] || die "more than libweir"
by_cmake "$work/alone" OFF
if cmake -S "$here" -B "$work/cmake" -DPLAN=ON \
    -DCMAKE_PREFIX_PATH="$work/alone" >"$work/log" 2>&1; then
    die "find_package finds a libweir-plan that is not there"
fi
grep -q 'libweir-plan is not installed' "$work/log" || {
    cat "$work/log"
    die "another reason was expected"
}
echo "$built consumers built and run"
