#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh DIR: the Debian packages of aarch64 that Weir and its tests need,
# unpacked below DIR for a cross-compiler and an emulator. Nothing of the
# system's own packages is touched. When DIR is there, this does nothing.
set -eu

dir=$1
packages="libc6-dev liburcu-dev libxxhash-dev libssl-dev libjansson-dev
          libibverbs-dev librdmacm-dev libcriterion-dev libcsv-dev
          libsqlite3-dev libjemalloc2 libstdc++6"
[ ! -e "$dir" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
: >"$work/status"
fetch()
{
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State::Lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@" >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        exit 1
    }
}
fetch update
# shellcheck disable=SC2086 # words
fetch -y --no-install-recommends --download-only install $packages
for package in "$work"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
mkdir -p "$(dirname "$dir")"
mv "$work/root" "$dir"
