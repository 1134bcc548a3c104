#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spark.sh VERSION: a virtual environment in the user's cache with that Spark,
# from PyPI; prints where it is.
set -eu

venv=${XDG_CACHE_HOME:-$HOME/.cache}/weir/spark-$1
if [ ! -f "$venv/done" ]; then
    echo "Fetching from PyPI: pyspark $1" >&2
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        "pyspark==$1" >&2
    touch "$venv/done"
fi
echo "$venv"
