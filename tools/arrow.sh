#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arrow.sh DIR: the sources of others that libweir-scan and the weir command are
# made with, below DIR/include: nanoarrow, with what writes Arrow files (and
# flatcc, which that needs), and adbc.h; and a driver that tests load, SQLite's.
# Debian 12 has none of them, so they come from PyPI, by pip, at one version
# each and checked by their hashes (tools/pip); under a minute, once.
set -eu

dir=$1
lists=$(cd "$(dirname "$0")/pip" && pwd)
version() { # PACKAGE: that the lists have of it
    sed -n "s/^$1==\([^ ]*\).*/\1/p" "$lists/sources.txt"
}
nanoarrow=$(version nanoarrow)
adbc=$(version adbc-driver-manager)
name="nanoarrow $nanoarrow, adbc $adbc, 3"
if [ -f "$dir/name" ] && [ "$(cat "$dir/name")" = "$name" ]; then
    exit 0
fi

echo "Fetching from PyPI: nanoarrow $nanoarrow, adbc-driver-manager $adbc"
rm -rf "$dir"
mkdir -p "$dir/work" "$dir/include/nanoarrow" "$dir/include/arrow-adbc"
python3 -m venv "$dir/work/venv"
# pip asks each package's build backend for its metadata, and would first build
# what that is made with (Cython, for minutes). Only the files are wanted, so a
# stand-in of both backends answers with what the package itself brings.
mkdir -p "$dir/work/stand-in/setuptools"
: >"$dir/work/stand-in/setuptools/__init__.py"
cat >"$dir/work/stand-in/mesonpy.py" <<'PY'
import email
import os
import shutil


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with open("PKG-INFO") as file:
        said = email.message_from_file(file)
    name = said["Name"].replace("-", "_") + "-" + said["Version"]
    info = name + ".dist-info"
    os.mkdir(os.path.join(folder, info))
    shutil.copy("PKG-INFO", os.path.join(folder, info, "METADATA"))
    return info
PY
cp "$dir/work/stand-in/mesonpy.py" \
    "$dir/work/stand-in/setuptools/build_meta.py"
PYTHONPATH=$(cd "$dir/work/stand-in" && pwd) \
    "$dir/work/venv/bin/pip" download --quiet \
    --disable-pip-version-check --no-deps --no-build-isolation \
    --no-binary nanoarrow,adbc-driver-manager --require-hashes \
    -r "$lists/sources.txt" -d "$dir/work"
# For other processors than x86-64 it is another file: tests do without it.
if [ "$(uname -m)" = x86_64 ]; then
    "$dir/work/venv/bin/pip" download --quiet --disable-pip-version-check \
        --no-deps --only-binary :all: --require-hashes \
        -r "$lists/drivers.txt" -d "$dir/work"
    (cd "$dir/work" && python3 -m zipfile -e adbc_driver_sqlite-*.whl wheel)
    cp "$dir/work/wheel/adbc_driver_sqlite/libadbc_driver_sqlite.so" "$dir"
fi
for file in "$dir"/work/*.tar.gz; do
    tar -xf "$file" -C "$dir/work"
done

from=$dir/work/nanoarrow-$nanoarrow/subprojects/arrow-nanoarrow/src/nanoarrow
cp -r "$from/nanoarrow.h" "$from/nanoarrow_ipc.h" "$from/common" "$from/ipc" \
    "$dir/include/nanoarrow"
cp -r "$dir/work/nanoarrow-$nanoarrow"/subprojects/flatcc-*/include/flatcc \
    "$dir/include"
cp -r "$dir/work/nanoarrow-$nanoarrow"/subprojects/flatcc-*/src/runtime \
    "$dir/include/flatcc"
# Symbols are ours, and none is exported.
sed -e "s/@NANOARROW_VERSION@/$nanoarrow/" \
    -e "s/@NANOARROW_VERSION_MAJOR@/${nanoarrow%%.*}/" \
    -e "s/@NANOARROW_VERSION_MINOR@/$(echo $nanoarrow | cut -d. -f2)/" \
    -e "s/@NANOARROW_VERSION_PATCH@/${nanoarrow##*.}/" \
    -e 's/@NANOARROW_NAMESPACE_DEFINE@/#define NANOARROW_NAMESPACE wi_\
#define NANOARROW_DLL/' \
    "$from/nanoarrow_config.h.in" >"$dir/include/nanoarrow/nanoarrow_config.h"
cp "$dir/work/adbc_driver_manager-$adbc/adbc_driver_manager/arrow-adbc/adbc.h" \
    "$dir/include/arrow-adbc"
rm -rf "$dir/work"
echo "$name" >"$dir/name"
