#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# duckdb.sh DIR: DIR/libduckdb.so, a whole DuckDB with an ADBC driver in it
# (entry duckdb_adbc_init), which tests of libweir-scan load and `weir serve`
# may. It is part of a package of npm, fetched by npm at one version and checked
# by its hash; 23 MB, once.
set -eu

dir=$1
package=@duckdb/node-bindings-linux-x64
version=1.5.6-r.1
hash=1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff
name="$package $version, 1"
if [ -f "$dir/name" ] && [ "$(cat "$dir/name")" = "$name" ]; then
    exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "duckdb.sh: $package is for x86-64; tests do without it" >&2
    exit 0
fi

echo "Fetching from npm: $package $version"
rm -rf "$dir"
mkdir -p "$dir/work"
(cd "$dir/work" && npm pack --silent "$package@$version" >/dev/null)
file=$(echo "$dir"/work/*.tgz)
if ! echo "$hash  $file" | sha256sum --check --status; then
    echo "duckdb.sh: $package $version is not what it was" >&2
    exit 1
fi
tar -xf "$file" -C "$dir/work"
cp "$dir/work/package/libduckdb.so" "$dir/work/package/LICENSE" "$dir"
rm -rf "$dir/work"
echo "$name" >"$dir/name"
