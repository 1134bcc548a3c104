#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh DIR: the Debian packages of aarch64 that Weir and its tests need,
# unpacked for a cross-compiler and an emulator, in the user's cache; DIR is a
# link to them. Nothing of the system's own packages is touched.
set -eu

link=$1
packages="libc6-dev liburcu-dev libxxhash-dev libssl-dev libjansson-dev
          libibverbs-dev librdmacm-dev libcriterion-dev libcsv-dev
          libsqlite3-dev libjemalloc2 libstdc++6"

# Another list of packages, or another Debian, is another folder.
name=sysroot-aarch64-$({
    cat "$0" /etc/os-release
} | sha256sum | cut -c 1-12)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/weir/$name
mkdir -p "$(dirname "$link")"
[ -L "$link" ] || rm -rf "$link" # of before it was a link
ln -sfn "$dir" "$link"
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
