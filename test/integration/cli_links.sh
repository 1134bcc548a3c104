#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs are linked to, in the order in which names are looked up: where
# jemalloc is carried, libstdc++ and libc stand before it, or C++ drivers that
# are loaded take memory from one allocator and give it to another.
# usage: cli_links.sh BUILD_DIR
set -eu

looked=0
for program in "$1/weir" "$1/test/unit.services.scan"; do
    [ -f "$program" ] || continue
    order=$(readelf -d "$program" |
        sed -n 's/.*(NEEDED).*\[lib\(stdc++\|c\|jemalloc\)\.so.*/\1/p' |
        tr '\n' ' ')
    case $order in
    *jemalloc*) ;;
    *) continue ;;
    esac
    looked=$((looked + 1))
    if [ "$order" != "stdc++ c jemalloc " ]; then
        echo "$program looks names up in: $order"
        exit 1
    fi
done
echo "$looked programs carry jemalloc, all of them behind libstdc++ and libc"
